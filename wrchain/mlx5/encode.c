// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The encoder; see encode.h. */
#include "encode.h"

#define MAX_24 0xffffffu

static int check_sges(const struct wrc_sge *sge, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!sge[i].len || sge[i].len & WRC_WQE_INLINE)
			return -EINVAL;
	return 0;
}

/* Does the request fit its opcode, and its numbers their fields? */
static int wr_check(const struct wrc_wr *wr, const struct wrc_opdef *def)
{
	if (!def || (wr->op != wr->shape && wr->op != WRC_WQE_NOP))
		return -EINVAL;
	if (wr->qpn > MAX_24)
		return -EINVAL;
	if (wr->flags & ~(WRC_WQE_SE | WRC_WQE_CE_MASK | WRC_WQE_FM_MASK))
		return -EINVAL;
	if (wr->imm && !(def->flags & (WRC_OP_IMM | WRC_OP_KEY)))
		return -EINVAL;
	if (wr->inl_len)
		return def->flags & WRC_OP_GATHER && !wr->nr_sge ? 0 : -EINVAL;
	if (wr->nr_sge < def->min_sge || wr->nr_sge > def->max_sge)
		return -EINVAL;
	return check_sges(wr->sge, wr->nr_sge);
}

static __u32 data_len(const struct wrc_wr *wr)
{
	__u32 len = wr->nr_sge * sizeof(struct wrc_wqe_data);

	if (wr->inl_len) {
		len = sizeof(struct wrc_wqe_inline) + wr->inl_len;
		len = (len + WRC_WQE_DS - 1) / WRC_WQE_DS * WRC_WQE_DS;
	}
	return len;
}

static int wqe_len(const struct wrc_wr *wr, const struct wrc_opdef *def)
{
	__u32 len;
	unsigned int i;

	if (wr->inl_len > WRC_WQE_MAX_DS * WRC_WQE_DS)
		return -ENOSPC;
	len = data_len(wr);
	for (i = 0; i < def->nr_segs; i++)
		len += wrc_seg_len((enum wrc_seg)def->segs[i]);
	if (wr->shape == WRC_WQE_NOP && wr->ds)
		len = wr->ds * WRC_WQE_DS;
	return len > WRC_WQE_MAX_DS * WRC_WQE_DS ? -ENOSPC : (int)len;
}

static void put_ctrl(const struct wrc_wr *wr, const struct wrc_opdef *def,
		     __u32 len, __u8 *to)
{
	struct wrc_wqe_ctrl ctrl = {
		.opmod = def->opmod,
		.index = { wr->index >> 8, wr->index & 0xff },
		.opcode = wr->op,
		.qpn = { wr->qpn >> 16, wr->qpn >> 8 & 0xff, wr->qpn & 0xff },
		.ds = len / WRC_WQE_DS,
		.fm_ce_se = wr->flags,
		.imm = cpu_to_be32(wr->imm),
	};

	memcpy(to, &ctrl, sizeof(ctrl));
}

static void put_sge(const struct wrc_sge *sge, __u8 *to)
{
	struct wrc_wqe_data data = {
		.byte_count = cpu_to_be32(sge->len),
		.lkey = cpu_to_be32(sge->lkey),
		.addr = cpu_to_be64(sge->addr),
	};

	memcpy(to, &data, sizeof(data));
}

static void put_inline(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_inline inl = {
		.byte_count = cpu_to_be32(wr->inl_len | WRC_WQE_INLINE),
	};

	memcpy(to, &inl, sizeof(inl));
	memcpy(to + sizeof(inl), wr->inl, wr->inl_len);
}

static void put_atomic(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_atomic seg = {
		.swap_add = cpu_to_be64(wr->swap),
		.compare = cpu_to_be64(wr->compare),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_masked_fa(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_masked_fa seg = {
		.add = cpu_to_be64(wr->swap),
		.boundary = cpu_to_be64(wr->compare),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_masked_cs(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_masked_cs seg = {
		.swap = cpu_to_be64(wr->swap),
		.compare = cpu_to_be64(wr->compare),
		.swap_mask = cpu_to_be64(wr->swap_mask),
		.compare_mask = cpu_to_be64(wr->compare_mask),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_raddr(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_raddr seg = {
		.addr = cpu_to_be64(wr->raddr),
		.rkey = cpu_to_be32(wr->rkey),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_wait_en(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_wait_en seg = {
		.index = cpu_to_be32(wr->count),
		.obj = cpu_to_be32(wr->obj),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_umr(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_umr seg = {
		.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET,
		.octowords = cpu_to_be16(WRC_KSM_GROUP),
		.offset_low = cpu_to_be16(wr->offset),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_xlt(const struct wrc_wr *wr, __u8 *to)
{
	struct wrc_wqe_xlt seg = {
		.entry[0].key = cpu_to_be32(wr->page_key),
		.entry[0].addr = cpu_to_be64(wr->page),
	};

	memcpy(to, &seg, sizeof(seg));
}

static void put_seg(const struct wrc_wr *wr, const struct wrc_opdef *def,
		    enum wrc_seg seg, __u32 len, __u8 *to)
{
	switch (seg) {
	case WRC_SEG_CTRL:
		put_ctrl(wr, def, len, to);
		break;
	case WRC_SEG_RADDR:
		put_raddr(wr, to);
		break;
	case WRC_SEG_ATOMIC:
		put_atomic(wr, to);
		break;
	case WRC_SEG_MASKED_FA:
		put_masked_fa(wr, to);
		break;
	case WRC_SEG_MASKED_CS:
		put_masked_cs(wr, to);
		break;
	case WRC_SEG_WAIT_EN:
		put_wait_en(wr, to);
		break;
	case WRC_SEG_UMR:
		put_umr(wr, to);
		break;
	case WRC_SEG_XLT:
		put_xlt(wr, to);
		break;
	case WRC_SEG_MKC:
	case WRC_SEG_DATA:
		break;
	}
}

int wrc_encode(const struct wrc_wr *wr, void *ret_wqe, size_t len)
{
	const struct wrc_opdef *def = wrc_opdef(wr->shape);
	__u8 *to = ret_wqe;
	unsigned int i;
	int n;

	n = wr_check(wr, def);
	if (n)
		return n;
	n = wqe_len(wr, def);
	if (n < 0)
		return n;
	if ((size_t)n > len)
		return -ENOSPC;
	memset(to, 0, n);
	for (i = 0; i < def->nr_segs; i++) {
		put_seg(wr, def, (enum wrc_seg)def->segs[i], n, to);
		to += wrc_seg_len((enum wrc_seg)def->segs[i]);
	}
	if (wr->inl_len)
		put_inline(wr, to);
	for (i = 0; i < wr->nr_sge; i++, to += sizeof(struct wrc_wqe_data))
		put_sge(&wr->sge[i], to);
	return n;
}

int wrc_encode_recv(const struct wrc_sge *sge, unsigned int nr_sge,
		    void *ret_entry, size_t stride)
{
	struct wrc_sge end = { .lkey = WRC_WQE_END_LKEY };
	__u8 *to = ret_entry;
	unsigned int i;
	int err;

	if (nr_sge > stride / sizeof(struct wrc_wqe_data))
		return -ENOSPC;
	err = check_sges(sge, nr_sge);
	if (err)
		return err;
	memset(to, 0, stride);
	for (i = 0; i < nr_sge; i++, to += sizeof(struct wrc_wqe_data))
		put_sge(&sge[i], to);
	if (nr_sge < stride / sizeof(struct wrc_wqe_data))
		put_sge(&end, to);
	return 0;
}
