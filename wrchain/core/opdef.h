/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The instruction set as a table: for each opcode its name, its segments and
 * what it does with memory; for each field where it lies and who may patch it.
 * Builder, encoder, decoder, disassembler and verifier all read this table and
 * know no opcode by themselves.
 */
#ifndef WRC_OPDEF_H
#define WRC_OPDEF_H

#include "port.h"
#include "wqe.h"

enum wrc_seg {
	WRC_SEG_CTRL,
	WRC_SEG_RADDR,
	WRC_SEG_ATOMIC,
	WRC_SEG_MASKED_FA,
	WRC_SEG_MASKED_CS,
	WRC_SEG_WAIT_EN,
	WRC_SEG_UMR,
	WRC_SEG_MKC,
	WRC_SEG_XLT,
	WRC_SEG_DATA,		/* always last, any number */
};

enum wrc_field {
	WRC_F_OPMOD, WRC_F_INDEX, WRC_F_OPCODE, WRC_F_QPN, WRC_F_DS,
	WRC_F_SIGNATURE, WRC_F_FLAGS, WRC_F_IMM,
	WRC_F_RADDR, WRC_F_RKEY,
	WRC_F_SWAP_ADD, WRC_F_COMPARE,
	WRC_F_ADD, WRC_F_BOUNDARY,
	WRC_F_MSWAP, WRC_F_MCOMPARE, WRC_F_SWAP_MASK, WRC_F_COMPARE_MASK,
	WRC_F_COUNT, WRC_F_OBJ,
	WRC_F_OFFSET, WRC_F_PAGE_KEY, WRC_F_PAGE,
	WRC_F_LEN, WRC_F_LKEY, WRC_F_ADDR,
	WRC_NR_FIELDS,
};

/* The writers that a field of a WQE may have while the WQE lies armed in its ring. */
enum wrc_patchable {
	WRC_PATCH_NEVER,	/* it would become another WR: nobody */
	WRC_PATCH_DECLARED,	/* only where the program says so */
	WRC_PATCH_CLIENT_KEY,	/* only the key of the client's own memory */
	WRC_PATCH_COUNT,	/* only the request's recycle words */
	WRC_PATCH_SPOT,		/* only by what the key map says */
	WRC_PATCH_VALUE,	/* any WR of the same instance, and the request */
};

struct wrc_fielddef {
	const char *name;
	__u8 seg;		/* enum wrc_seg */
	__u8 off;		/* in the segment */
	__u8 width;
	__u8 patchable;		/* enum wrc_patchable */
};

#define WRC_OP_REMOTE	0x01	/* has a remote address */
#define WRC_OP_RREAD	0x02	/* reads remote memory */
#define WRC_OP_RWRITE	0x04	/* writes remote memory */
#define WRC_OP_GATHER	0x08	/* its data segments are read */
#define WRC_OP_SCATTER	0x10	/* its data segments are written */
#define WRC_OP_IMM	0x20	/* carries an immediate */
#define WRC_OP_KEY	0x40	/* changes the key that stands in its place */
#define WRC_OP_ATOMIC	(WRC_OP_REMOTE | WRC_OP_RREAD | WRC_OP_RWRITE | \
			 WRC_OP_SCATTER)

#define WRC_MAX_SGE	30	/* of a send WQE: what every mlx5 device takes */
#define WRC_MAX_RECV_SGE 48	/* of a receive entry, by our own choice */

struct wrc_opdef {
	const char *name;
	__u8 op;		/* enum wrc_wqe_opcode */
	__u8 opmod;
	__u8 flags;		/* WRC_OP_* */
	__u8 nr_segs;		/* fixed segments, with ctrl */
	__u8 segs[4];		/* enum wrc_seg */
	__u8 min_sge, max_sge;
};

/* NULL: no such opcode. */
const struct wrc_opdef *wrc_opdef(__u8 op);
const struct wrc_fielddef *wrc_fielddef(enum wrc_field field);

/* Bytes of a segment. */
__u32 wrc_seg_len(enum wrc_seg seg);

/*
 * Where a field lies in a WQE of opcode op; sge counts the data segments.
 * Negative: that opcode has no such field.
 */
int wrc_field_at(__u8 op, enum wrc_field field, unsigned int sge);

/**
 * struct wrc_byte - what one byte of a WQE belongs to
 * @field:	enum wrc_field; WRC_NR_FIELDS: reserved or unused
 * @sge:	which data segment
 * @off:	which byte of the field
 */
struct wrc_byte {
	__u8 field;
	__u8 sge;
	__u8 off;
};

struct wrc_byte wrc_byte_at(__u8 op, __u32 off);

#endif /* WRC_OPDEF_H */
