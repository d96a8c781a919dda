// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The decoder; see decode.h. */
#include "decode.h"

#define WHY_SHORT "it is longer than its memory"
#define WHY_LENGTH "its length does not fit its opcode"
#define WHY_RESERVED "a reserved byte is not 0"

static __u64 get64(__be64 v)
{
	return be64_to_cpu(v);
}

/* The control segment; returns the complaint. */
static const char *get_ctrl(const __u8 *from, int shape, struct wrc_wr *wr,
			    const struct wrc_opdef **ret_def)
{
	const struct wrc_opdef *def;
	struct wrc_wqe_ctrl ctrl;

	memcpy(&ctrl, from, sizeof(ctrl));
	wr->op = ctrl.opcode;
	wr->shape = shape == WRC_OWN_SHAPE ? ctrl.opcode : shape;
	wr->index = ctrl.index[0] << 8 | ctrl.index[1];
	wr->qpn = (__u32)ctrl.qpn[0] << 16 | ctrl.qpn[1] << 8 | ctrl.qpn[2];
	wr->flags = ctrl.fm_ce_se;
	wr->ds = ctrl.ds;
	wr->imm = be32_to_cpu(ctrl.imm);

	def = wrc_opdef(wr->shape);
	if (!def || !wrc_opdef(wr->op))
		return "its opcode is unknown";
	if (wr->op != wr->shape && wr->op != WRC_WQE_NOP)
		return "it has another opcode than its program says";
	if (ctrl.opmod != def->opmod)
		return "its opcode modifier is not that of its opcode";
	if (!ctrl.ds || ctrl.ds > WRC_WQE_MAX_DS)
		return WHY_LENGTH;
	if (ctrl.signature || ctrl.resv[0] || ctrl.resv[1])
		return WHY_RESERVED;
	if (wr->flags & ~(WRC_WQE_SE | WRC_WQE_CE_MASK | WRC_WQE_FM_MASK))
		return WHY_RESERVED;
	if (wr->imm && !(def->flags & (WRC_OP_IMM | WRC_OP_KEY)))
		return "it has an immediate and its opcode has none";
	*ret_def = def;
	return NULL;
}

static const char *get_raddr(const __u8 *from, struct wrc_wr *wr)
{
	struct wrc_wqe_raddr seg;

	memcpy(&seg, from, sizeof(seg));
	wr->raddr = get64(seg.addr);
	wr->rkey = be32_to_cpu(seg.rkey);
	return seg.resv ? WHY_RESERVED : NULL;
}

static const char *get_wait_en(const __u8 *from, struct wrc_wr *wr)
{
	struct wrc_wqe_wait_en seg;

	memcpy(&seg, from, sizeof(seg));
	wr->count = be32_to_cpu(seg.index);
	wr->obj = be32_to_cpu(seg.obj);
	return seg.resv ? WHY_RESERVED : NULL;
}

/* A pair of operands, and for a masked CS their masks behind it. */
static void get_operands(const __u8 *from, bool masks, struct wrc_wr *wr)
{
	struct wrc_wqe_masked_cs seg;

	memset(&seg, 0, sizeof(seg));
	memcpy(&seg, from, masks ? sizeof(seg) : sizeof(seg) / 2);
	wr->swap = get64(seg.swap);
	wr->compare = get64(seg.compare);
	wr->swap_mask = get64(seg.swap_mask);
	wr->compare_mask = get64(seg.compare_mask);
}

/* What no field is of must be as put_umr() has it. */
static const char *get_umr(const __u8 *from, struct wrc_wr *wr)
{
	struct wrc_wqe_umr seg, want;

	memcpy(&seg, from, sizeof(seg));
	memset(&want, 0, sizeof(want));
	want.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET;
	want.octowords = cpu_to_be16(WRC_KSM_GROUP);
	want.offset_low = seg.offset_low;
	wr->offset = be16_to_cpu(seg.offset_low);
	return memcmp(&seg, &want, sizeof(seg)) ?
		       "it changes more than a group of entries" : NULL;
}

static const char *get_mkc(const __u8 *from)
{
	unsigned int i;

	for (i = 0; i < sizeof(struct wrc_wqe_mkc); i++)
		if (from[i])
			return WHY_RESERVED;
	return NULL;
}

static const char *get_xlt(const __u8 *from, struct wrc_wr *wr)
{
	struct wrc_wqe_xlt seg;
	unsigned int i;

	memcpy(&seg, from, sizeof(seg));
	wr->page_key = be32_to_cpu(seg.entry[0].key);
	wr->page = get64(seg.entry[0].addr);
	for (i = 0; i < WRC_KSM_GROUP; i++)
		if (seg.entry[i].resv ||
		    (i && (seg.entry[i].key || seg.entry[i].addr)))
			return "it maps more than one page";
	return NULL;
}

static const char *get_seg(enum wrc_seg seg, const __u8 *from,
			   struct wrc_wr *wr)
{
	switch (seg) {
	case WRC_SEG_RADDR:
		return get_raddr(from, wr);
	case WRC_SEG_WAIT_EN:
		return get_wait_en(from, wr);
	case WRC_SEG_ATOMIC:
	case WRC_SEG_MASKED_FA:
		get_operands(from, false, wr);
		return NULL;
	case WRC_SEG_MASKED_CS:
		get_operands(from, true, wr);
		return NULL;
	case WRC_SEG_UMR:
		return get_umr(from, wr);
	case WRC_SEG_MKC:
		return get_mkc(from);
	case WRC_SEG_XLT:
		return get_xlt(from, wr);
	case WRC_SEG_CTRL:
	case WRC_SEG_DATA:
		break;
	}
	return NULL;
}

static struct wrc_sge get_sge(const __u8 *from)
{
	struct wrc_wqe_data data;
	struct wrc_sge sge;

	memcpy(&data, from, sizeof(data));
	sge.len = be32_to_cpu(data.byte_count);
	sge.lkey = be32_to_cpu(data.lkey);
	sge.addr = get64(data.addr);
	return sge;
}

static const char *get_inline(const __u8 *from, __u32 len, struct wrc_wr *wr)
{
	struct wrc_wqe_inline inl;
	__u32 want;

	memcpy(&inl, from, sizeof(inl));
	wr->inl_len = be32_to_cpu(inl.byte_count) & ~WRC_WQE_INLINE;
	wr->inl = from + sizeof(inl);
	if (!wr->inl_len || wr->inl_len > len)
		return WHY_LENGTH;
	want = sizeof(inl) + wr->inl_len;
	want = (want + WRC_WQE_DS - 1) / WRC_WQE_DS * WRC_WQE_DS;
	if (want != len)
		return WHY_LENGTH;
	for (want = sizeof(inl) + wr->inl_len; want < len; want++)
		if (from[want])
			return WHY_RESERVED;
	return NULL;
}

/* What follows the fixed segments: inline data, or data segments. */
static const char *get_data(const struct wrc_opdef *def, const __u8 *from,
			    __u32 len, struct wrc_wr *wr)
{
	unsigned int i;

	if (len && def->flags & WRC_OP_GATHER &&
	    from[0] & (WRC_WQE_INLINE >> 24))
		return get_inline(from, len, wr);
	wr->nr_sge = len / sizeof(struct wrc_wqe_data);
	if (wr->nr_sge < def->min_sge || wr->nr_sge > def->max_sge)
		return WHY_LENGTH;
	for (i = 0; i < wr->nr_sge; i++) {
		wr->sge[i] = get_sge(from + i * sizeof(struct wrc_wqe_data));
		if (!wr->sge[i].len)
			return "a data segment's length is 0, which is 2 GiB";
		if (wr->sge[i].len & WRC_WQE_INLINE)
			return "a data segment is inline";
	}
	return NULL;
}

static const char *wqe_decode(const void *wqe, size_t len, int shape,
			      struct wrc_wr *wr)
{
	const struct wrc_opdef *def;
	const __u8 *from = wqe;
	const char *why;
	__u32 n, off;
	unsigned int i;

	memset(wr, 0, sizeof(*wr));
	if (len < sizeof(struct wrc_wqe_ctrl))
		return WHY_SHORT;
	why = get_ctrl(from, shape, wr, &def);
	if (why)
		return why;
	n = wr->ds * WRC_WQE_DS;
	if (n > len)
		return WHY_SHORT;
	if (wr->shape == WRC_WQE_NOP)
		return NULL;
	for (i = 0, off = 0; !why && i < def->nr_segs; i++) {
		__u32 seg = wrc_seg_len((enum wrc_seg)def->segs[i]);

		if (off + seg > n)
			return WHY_LENGTH;
		why = get_seg((enum wrc_seg)def->segs[i], from + off, wr);
		off += seg;
	}
	return why ? why : get_data(def, from + off, n - off, wr);
}

int wrc_decode(const void *wqe, size_t len, int shape, struct wrc_wr *ret_wr)
{
	if (wqe_decode(wqe, len, shape, ret_wr))
		return -EINVAL;
	return ret_wr->ds * WRC_WQE_DS;
}

const char *wrc_decode_why(const void *wqe, size_t len, int shape)
{
	struct wrc_wr wr;

	return wqe_decode(wqe, len, shape, &wr);
}

int wrc_decode_recv(const void *entry, size_t stride,
		    struct wrc_sge sge[WRC_MAX_RECV_SGE])
{
	const __u8 *from = entry;
	unsigned int n;

	for (n = 0; n < stride / sizeof(struct wrc_wqe_data); n++) {
		struct wrc_sge s;

		s = get_sge(from + n * sizeof(struct wrc_wqe_data));
		if (!s.len && s.lkey == WRC_WQE_END_LKEY && !s.addr)
			break;
		if (!s.len || s.len & WRC_WQE_INLINE || n == WRC_MAX_RECV_SGE)
			return -EINVAL;
		sge[n] = s;
	}
	return n;
}
