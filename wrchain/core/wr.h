/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A work request with all its numbers: what the encoder writes and the decoder
 * reads back.
 */
#ifndef WRC_WR_H
#define WRC_WR_H

#include "opdef.h"

struct wrc_sge {
	__u32 len;
	__u32 lkey;
	__u64 addr;
};

/**
 * struct wrc_wr - one WQE
 * @op:		the opcode byte
 * @shape:	the opcode whose segments it has: op, unless op is NOP and
 *		another WR may turn it into shape
 * @flags:	ctrl.fm_ce_se
 * @ds:		length in 16 bytes; the encoder computes it, except of a NOP
 * @count, @obj: of WAIT, SEND_EN, RECV_EN
 * @swap:	CS, MASKED_CS: swap; FA, MASKED_FA: add
 * @compare:	CS, MASKED_CS: compare; MASKED_FA: boundary
 * @imm:	of UMR: the key that it changes
 * @offset:	UMR: where in the key's table, in entries
 * @page_key, @page: UMR: the first entry of the group that it writes; the others
 *		are 0
 * @inl, @inl_len: inline data instead of data segments; decoded: points into
 *		the WQE
 */
struct wrc_wr {
	__u8 op;
	__u8 shape;
	__u8 flags;
	__u8 ds;
	__u8 nr_sge;
	__u16 index;
	__u32 qpn;
	__u32 imm;
	__u32 rkey;
	__u64 raddr;
	__u32 count;
	__u32 obj;
	__u64 swap, compare, swap_mask, compare_mask;
	__u16 offset;
	__u32 page_key;
	__u64 page;
	const void *inl;
	__u32 inl_len;
	struct wrc_sge sge[WRC_MAX_SGE];
};

#endif /* WRC_WR_H */
