/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chains of the ODRP paper, and what it started from: Figure 12.
 *
 * They are a yardstick, built by the same compiler from four switches, and run
 * on the software NIC.  They are faithful in what costs time, so they lack what
 * our chains have for safety, and wrc_image_check() refuses them:
 *
 *  - a fence where ours WAIT.  The paper counts 3, 4 and 5 WAITs and ENABLEs in
 *    load, mapped and unmapped store; that is one WAIT for the request, and a
 *    SEND_EN before each group of WQEs that somebody patches, and no WAIT else;
 *  - no gate;
 *  - the answer is let go when the page's WRITE is on its way, not when it is
 *    done: no fence waits for a WRITE;
 *  - below WRC_V_RECYCLE_HELPER the chain re-arms itself: for each recycle word
 *    a counter (a cell), a FAA and a READ that reverses its bytes.  It does so
 *    before it answers, or else the paper could not have won 16 us by leaving
 *    it out.  Only the last SEND_EN's turn comes after that.
 *
 * wrc_variant_excused() says which rules of the verifier do not apply.
 */
#ifndef WRC_PAPER_LADDER_H
#define WRC_PAPER_LADDER_H

#include "../core/build.h"
#include "paper.h"

struct ladder {
	struct wrc_build b;
	bool decided;		/* StoreDecision */
	bool calc;		/* CalcTTAddr */
	bool helper;		/* RecycleHelper */
	bool swap;		/* EndianSwap */
	int head;		/* the SEND_EN that lets the body start */
};

/* -EINVAL: strict, recycled by the node, or with order=fence. */
int wrc_prog_ladder(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		    struct wrc_prog *ret_prog);

/* ---- what the programs share --------------------------------------------- */

/* Waits for all READs and atomics before it. */
int ladder_fence(struct ladder *l, int insn);
/*
 * WAIT for the request and let the body start.  Unless the client computes
 * tt_addr, the body starts with the addition; ladder_tt() takes the result.
 */
void ladder_head(struct ladder *l);
/* A READ that puts tt_addr, in the right order, into a raddr to be set. */
int ladder_tt(struct ladder *l);
/* A READ of len bytes at from, reversed; ladder_set_swapped() says where to. */
int ladder_swap(struct ladder *l, struct wrc_ref from, unsigned int len);
/* The same of the ring's counter: eight READs until the last rung. */
int ladder_swap_slot(struct ladder *l, struct wrc_ref from);
void ladder_set_swapped(struct ladder *l, int swap, struct wrc_ref at);
/*
 * Re-arms, lets the answer go (a SEND_EN, behind a fence if asked to) and
 * answers.  tt_user: whose raddr tt_addr is, if the client sends it.
 */
int ladder_answer(struct ladder *l, bool fence, __u32 page_len, int tt_user);

int ladder_load(struct ladder *l);
int ladder_mapped_store(struct ladder *l);
int ladder_unmapped_store(struct ladder *l);
int ladder_any_store(struct ladder *l);
int ladder_invalidate(struct ladder *l);

#endif /* WRC_PAPER_LADDER_H */
