/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Instructions of a chain program: what a work request does, with places
 * named instead of addressed.  The linker turns places into addresses.
 */
#ifndef WRC_INSN_H
#define WRC_INSN_H

#include "opdef.h"

/* The two managed send queues an instance spans; see wrc.h. */
enum wrc_queue {
	WRC_LOOP,
	WRC_CLIENT,
	WRC_NR_QUEUES,
};

/* Memory that a place can be in. */
enum wrc_space {
	WRC_SP_NONE,
	WRC_SP_FIELD,		/* a field of an instruction of this instance */
	WRC_SP_REG,		/* this instance's scratch register */
	WRC_SP_DBR,		/* receive doorbell record of the client QP */
	WRC_SP_BUF,		/* this instance's page buffer */
	WRC_SP_TT,		/* translation table; address comes at run time */
	WRC_SP_HEAD,		/* counters of the free ring */
	WRC_SP_TAIL,
	WRC_SP_SLOT,		/* a slot of the free ring; at run time */
	WRC_SP_POOL,		/* a page; at run time */
	WRC_SP_PEER,		/* the CNode's memory; address and key at run time */
	WRC_SP_CELL,		/* a counter of a chain that re-arms itself */
	WRC_SP_RECV,		/* where the receive entry puts the page: its address */
	WRC_SP_EMPTY,		/* address 0 of the table; whatever is not 0 fails */
	WRC_SP_KEYMAP,		/* where a slot is in its key; address comes at run time */
	WRC_SP_TURN,		/* recycle=node: a row; it names the next one */
	WRC_SP_CHOICE,		/* the same: an opcode; the request says which */
	WRC_NR_SPACES,
};

/* Which key opens a space. */
enum wrc_class {
	WRC_CL_NONE,
	WRC_CL_ARENA,
	WRC_CL_BUF,
	WRC_CL_TT,
	WRC_CL_FREE,
	WRC_CL_POOL,
	WRC_CL_PEER,
	WRC_CL_TURN,
	WRC_CL_KEYMAP,
};

/* Scratch registers of an instance: byte offsets in its scratch line. */
enum wrc_reg {
	WRC_REG_SLOT	= 0,	/* counter as fetched: slot address, host order */
	WRC_REG_PAGE	= 8,	/* page address */
	WRC_REG_TRASH	= 16,	/* what nobody reads */
	WRC_REG_TT	= 24,	/* table address, host order (paper/ladder.c) */
	WRC_REG_POST	= 32,	/* what the receive record is to be (prog/exchange.c) */
};

#define WRC_SCRATCH 64		/* bytes of one instance's scratch line */

struct wrc_ref {
	__u8 space;		/* enum wrc_space */
	__u8 at;		/* FIELD: instruction.  REG: enum wrc_reg */
	__u8 field;		/* FIELD: enum wrc_field */
	__u8 sge;		/* FIELD: which data segment */
	__u8 off;		/* first byte */
	__s8 delta;		/* FIELD: of another instance, so many behind */
};

/* A data segment by name. */
struct wrc_operand {
	struct wrc_ref at;
	__u32 len;
};

#define WRC_INSN_SGE	WRC_MAX_SGE

#define WRC_I_FENCE	0x08	/* not before all READs and atomics are done */
#define WRC_I_SIGNALED	0x01	/* makes a CQE, whatever its opcode becomes */
#define WRC_I_MAYBE	0x02	/* written as NOP; its opcode comes at run time */
#define WRC_I_ANSWER	0x04	/* the request says: its opcode, or the quiet one */
#define WRC_I_EXCHANGE	0x10	/* maps the page that the instance receives into */

/* Pseudo-instruction numbers. */
#define WRC_RECV	0xff	/* WAIT for it: the request itself */
#define WRC_NEXT_HEAD	0xfe	/* SEND_EN up to the end of the next head */

/**
 * struct wrc_insn - one work request of an instance
 * @op:		enum wrc_wqe_opcode
 * @queue:	enum wrc_queue
 * @flags:	WRC_I_*
 * @quiet:	WRC_I_ANSWER: opcode when the request wants no answer; or, when
 *		another follows, when it wants this one to be an answer
 * @nr_sge:	data segments
 * @target:	WAIT: the instruction whose CQE is waited for, or WRC_RECV.
 *		SEND_EN: the last instruction to enable, or WRC_NEXT_HEAD
 * @remote:	of RDMA operations
 * @swap, @compare, @swap_mask, @compare_mask: of atomics; swap is also add.
 *		What a MASKED_FA adds, and its boundary, come from the counter it
 *		works on
 * @bb, @nr_bb:	linked: where it lies in its instance, in basic blocks
 * @cqe:	linked: number of its CQE within the instance, each queue for itself
 */
struct wrc_insn {
	__u8 op;
	__u8 queue;
	__u8 flags;
	__u8 quiet;
	__u8 nr_sge;
	__u8 target;
	struct wrc_ref remote;
	struct wrc_operand sge[WRC_INSN_SGE];
	__u64 swap, compare, swap_mask, compare_mask;
	__u8 bb, nr_bb;
	__u8 cqe;
};

/* Where an instruction's data go or come from, by class. */
enum wrc_class wrc_space_class(enum wrc_space space);
/* False: the address is written at run time, by another WR or the request. */
bool wrc_space_static(enum wrc_space space);

static inline bool wrc_same_place(struct wrc_ref a, struct wrc_ref b)
{
	return a.space == b.space && a.at == b.at && a.field == b.field &&
	       a.sge == b.sge && a.off == b.off && a.delta == b.delta;
}

static inline struct wrc_ref wrc_at(enum wrc_space space)
{
	struct wrc_ref ref = { .space = space };

	return ref;
}

static inline struct wrc_ref wrc_reg(enum wrc_reg reg, __u8 off)
{
	struct wrc_ref ref = { .space = WRC_SP_REG, .at = reg, .off = off };

	return ref;
}

static inline struct wrc_ref wrc_field(int insn, enum wrc_field field, __u8 off)
{
	struct wrc_ref ref = {
		.space = WRC_SP_FIELD, .at = insn, .field = field, .off = off,
	};

	return ref;
}

#endif /* WRC_INSN_H */
