// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The opcode and field tables. */
#include "opdef.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define SEG(s) WRC_SEG_ ## s

/* By opcode: the verifier asks for every byte of an image. */
static const struct wrc_opdef opdefs[] = {
	[WRC_WQE_NOP] = { "nop", WRC_WQE_NOP, 0, 0, 1, { SEG(CTRL) }, 0, 0 },
	[WRC_WQE_WRITE] = { "write", WRC_WQE_WRITE, 0,
	  WRC_OP_REMOTE | WRC_OP_RWRITE | WRC_OP_GATHER,
	  2, { SEG(CTRL), SEG(RADDR) }, 0, WRC_MAX_SGE },
	[WRC_WQE_WRITE_IMM] = { "write_imm", WRC_WQE_WRITE_IMM, 0,
	  WRC_OP_REMOTE | WRC_OP_RWRITE | WRC_OP_GATHER | WRC_OP_IMM,
	  2, { SEG(CTRL), SEG(RADDR) }, 0, WRC_MAX_SGE },
	[WRC_WQE_SEND] = { "send", WRC_WQE_SEND, 0, WRC_OP_GATHER,
	  1, { SEG(CTRL) }, 0, WRC_MAX_SGE },
	[WRC_WQE_SEND_IMM] = { "send_imm", WRC_WQE_SEND_IMM, 0,
	  WRC_OP_GATHER | WRC_OP_IMM,
	  1, { SEG(CTRL) }, 0, WRC_MAX_SGE },
	[WRC_WQE_WAIT] = { "wait", WRC_WQE_WAIT, 0, 0,
	  2, { SEG(CTRL), SEG(WAIT_EN) }, 0, 0 },
	[WRC_WQE_READ] = { "read", WRC_WQE_READ, 0,
	  WRC_OP_REMOTE | WRC_OP_RREAD | WRC_OP_SCATTER,
	  2, { SEG(CTRL), SEG(RADDR) }, 0, WRC_MAX_SGE },
	[WRC_WQE_CS] = { "cs", WRC_WQE_CS, 0, WRC_OP_ATOMIC,
	  3, { SEG(CTRL), SEG(RADDR), SEG(ATOMIC) }, 1, 1 },
	[WRC_WQE_FA] = { "fa", WRC_WQE_FA, 0, WRC_OP_ATOMIC,
	  3, { SEG(CTRL), SEG(RADDR), SEG(ATOMIC) }, 1, 1 },
	[WRC_WQE_MASKED_CS] = { "masked_cs", WRC_WQE_MASKED_CS,
	  WRC_WQE_OPMOD_MASKED_8, WRC_OP_ATOMIC,
	  3, { SEG(CTRL), SEG(RADDR), SEG(MASKED_CS) }, 1, 1 },
	[WRC_WQE_MASKED_FA] = { "masked_fa", WRC_WQE_MASKED_FA,
	  WRC_WQE_OPMOD_MASKED_8, WRC_OP_ATOMIC,
	  3, { SEG(CTRL), SEG(RADDR), SEG(MASKED_FA) }, 1, 1 },
	[WRC_WQE_RECV_EN] = { "recv_en", WRC_WQE_RECV_EN, 0, 0,
	  2, { SEG(CTRL), SEG(WAIT_EN) }, 0, 0 },
	[WRC_WQE_SEND_EN] = { "send_en", WRC_WQE_SEND_EN, 0, 0,
	  2, { SEG(CTRL), SEG(WAIT_EN) }, 0, 0 },
	[WRC_WQE_UMR] = { "umr", WRC_WQE_UMR, 0, WRC_OP_KEY,
	  4, { SEG(CTRL), SEG(UMR), SEG(MKC), SEG(XLT) }, 0, 0 },
};

static const struct wrc_fielddef fielddefs[WRC_NR_FIELDS] = {
	[WRC_F_OPMOD] = { "opmod", SEG(CTRL), 0, 1, WRC_PATCH_NEVER },
	[WRC_F_INDEX] = { "index", SEG(CTRL), 1, 2, WRC_PATCH_COUNT },
	[WRC_F_OPCODE] = { "opcode", SEG(CTRL), 3, 1, WRC_PATCH_DECLARED },
	[WRC_F_QPN] = { "qpn", SEG(CTRL), 4, 3, WRC_PATCH_NEVER },
	[WRC_F_DS] = { "ds", SEG(CTRL), 7, 1, WRC_PATCH_NEVER },
	[WRC_F_SIGNATURE] = { "signature", SEG(CTRL), 8, 1, WRC_PATCH_NEVER },
	[WRC_F_FLAGS] = { "flags", SEG(CTRL), 11, 1, WRC_PATCH_NEVER },
	[WRC_F_IMM] = { "imm", SEG(CTRL), 12, 4, WRC_PATCH_VALUE },
	[WRC_F_RADDR] = { "raddr", SEG(RADDR), 0, 8, WRC_PATCH_VALUE },
	[WRC_F_RKEY] = { "rkey", SEG(RADDR), 8, 4, WRC_PATCH_CLIENT_KEY },
	[WRC_F_SWAP_ADD] = { "swap_add", SEG(ATOMIC), 0, 8, WRC_PATCH_VALUE },
	[WRC_F_COMPARE] = { "compare", SEG(ATOMIC), 8, 8, WRC_PATCH_VALUE },
	[WRC_F_ADD] = { "add", SEG(MASKED_FA), 0, 8, WRC_PATCH_VALUE },
	[WRC_F_BOUNDARY] = { "boundary", SEG(MASKED_FA), 8, 8,
			     WRC_PATCH_NEVER },
	[WRC_F_MSWAP] = { "swap", SEG(MASKED_CS), 0, 8, WRC_PATCH_VALUE },
	[WRC_F_MCOMPARE] = { "compare", SEG(MASKED_CS), 8, 8,
			     WRC_PATCH_VALUE },
	[WRC_F_SWAP_MASK] = { "swap_mask", SEG(MASKED_CS), 16, 8,
			      WRC_PATCH_NEVER },
	[WRC_F_COMPARE_MASK] = { "compare_mask", SEG(MASKED_CS), 24, 8,
				 WRC_PATCH_NEVER },
	[WRC_F_COUNT] = { "count", SEG(WAIT_EN), 8, 4, WRC_PATCH_COUNT },
	[WRC_F_OBJ] = { "obj", SEG(WAIT_EN), 12, 4, WRC_PATCH_NEVER },
	[WRC_F_OFFSET] = { "offset", SEG(UMR), 6, 2, WRC_PATCH_SPOT },
	[WRC_F_PAGE_KEY] = { "page_key", SEG(XLT), 4, 4, WRC_PATCH_NEVER },
	[WRC_F_PAGE] = { "page", SEG(XLT), 8, 8, WRC_PATCH_VALUE },
	[WRC_F_LEN] = { "len", SEG(DATA), 0, 4, WRC_PATCH_NEVER },
	[WRC_F_LKEY] = { "lkey", SEG(DATA), 4, 4, WRC_PATCH_NEVER },
	[WRC_F_ADDR] = { "addr", SEG(DATA), 8, 8, WRC_PATCH_VALUE },
};

const struct wrc_opdef *wrc_opdef(__u8 op)
{
	return op < ARRAY_LEN(opdefs) && opdefs[op].name ? &opdefs[op] : NULL;
}

const struct wrc_fielddef *wrc_fielddef(enum wrc_field field)
{
	return &fielddefs[field];
}

__u32 wrc_seg_len(enum wrc_seg seg)
{
	switch (seg) {
	case WRC_SEG_MASKED_CS:
		return sizeof(struct wrc_wqe_masked_cs);
	case WRC_SEG_UMR:
		return sizeof(struct wrc_wqe_umr);
	case WRC_SEG_MKC:
		return sizeof(struct wrc_wqe_mkc);
	case WRC_SEG_XLT:
		return sizeof(struct wrc_wqe_xlt);
	default:
		return WRC_WQE_DS;
	}
}

/* Offset of a fixed segment, negative: the opcode has none. */
static int seg_at(const struct wrc_opdef *def, enum wrc_seg seg)
{
	unsigned int i;
	int off = 0;

	for (i = 0; i < def->nr_segs; i++) {
		if (def->segs[i] == seg)
			return off;
		off += wrc_seg_len((enum wrc_seg)def->segs[i]);
	}
	return seg == WRC_SEG_DATA && def->max_sge ? off : -1;
}

int wrc_field_at(__u8 op, enum wrc_field field, unsigned int sge)
{
	const struct wrc_opdef *def = wrc_opdef(op);
	const struct wrc_fielddef *f = &fielddefs[field];
	int seg;

	if (!def)
		return -1;
	seg = seg_at(def, (enum wrc_seg)f->seg);
	if (seg < 0)
		return -1;
	if (f->seg == WRC_SEG_DATA) {
		if (sge >= def->max_sge)
			return -1;
		seg += sge * wrc_seg_len(WRC_SEG_DATA);
	}
	return seg + f->off;
}

/* The segment that has a byte; *off becomes the byte's place in it. */
static bool find_seg(const struct wrc_opdef *def, __u32 *off, __u8 *ret_seg,
		     __u8 *ret_sge)
{
	__u32 len = wrc_seg_len(WRC_SEG_DATA);
	unsigned int i;

	for (i = 0; i < def->nr_segs; i++) {
		__u32 fixed = wrc_seg_len((enum wrc_seg)def->segs[i]);

		*ret_seg = def->segs[i];
		if (*off < fixed)
			return true;
		*off -= fixed;
	}
	*ret_seg = WRC_SEG_DATA;
	if (!def->max_sge || *off / len >= def->max_sge)
		return false;
	*ret_sge = *off / len;
	*off %= len;
	return true;
}

struct wrc_byte wrc_byte_at(__u8 op, __u32 off)
{
	struct wrc_byte b = { WRC_NR_FIELDS, 0, 0 };
	const struct wrc_opdef *def = wrc_opdef(op);
	unsigned int i;
	__u8 seg;

	if (!def || !find_seg(def, &off, &seg, &b.sge))
		return b;
	for (i = 0; i < WRC_NR_FIELDS; i++) {
		const struct wrc_fielddef *f = &fielddefs[i];

		if (f->seg != seg || off < f->off || off - f->off >= f->width)
			continue;
		b.field = i;
		b.off = off - f->off;
		break;
	}
	return b;
}
