/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the chain programs have in common.
 *
 * How to read a program.  The loop queue's instructions come first, then the
 * client queue's, so the answer has a fixed place.  The head, WAIT for the
 * request and SEND_EN of the gate, is enabled by the instance before it and
 * armed by the request before; all else is armed by the instance's own
 * request.  The gate, a SEND_EN of the body, is the first of these: until the
 * request has armed it, it carries the count of a lap ago and enables nothing.
 * So a receive entry that completes without a request, when the connection
 * breaks and the queue is flushed, opens the head and runs nothing.  From there
 * on a SEND_EN stands where a patch has just been waited for, and goes
 * as far as the next instruction that somebody still has to patch.
 */
#ifndef WRC_PROG_PARTS_H
#define WRC_PROG_PARTS_H

#include "../core/build.h"

/*
 * Head and gate; returns the gate, whose target the program sets.  With
 * recycle=node there is no gate, and it is the head's SEND_EN.
 */
int wrc_prog_head(struct wrc_build *b);
/*
 * Translation in the NIC: READs the key map for a wrc_umr(), and copies the
 * request's tt_addr to where segment 0 of what it returns is to point.  What comes
 * next runs behind both, in the reach of *body, which is open again.
 */
int wrc_prog_ask(struct wrc_build *b, int *body);
/*
 * The client queue with its one instruction, the answer: page_len bytes from
 * a page, and the request's id; it is left out when the request asks to, or with
 * recycle=node the one before.  Sets the target of SEND_EN go.  The loop queue's
 * end, if there is one, comes before it.  flags: WRC_I_SIGNALED where the
 * chain uses a page that it has looked up, so that the node can tell when none of
 * those that were looked up is in use any more.
 */
int wrc_prog_answer(struct wrc_build *b, int go, __u32 page_len, __u8 flags);
/*
 * What every request brings: tt_addr, and where the answer goes.  With
 * recycle=node the upper half of tt_addr is what ends a store of page exchange.
 */
void wrc_prog_args(struct wrc_build *b, int tt_access, int answer);
/*
 * Invalidate: a READ of the page register, of which segments 1 and 2 are to go
 * over the opcodes of the advance and the WRITE; the rest is lost.
 */
int wrc_prog_decide(struct wrc_build *b, struct wrc_ref page);

/* wrc_prog_build(), but that clients may recycle, too. */
int wrc_prog_of(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		struct wrc_prog *prog);

int wrc_prog_load(const struct wrc_opts *opts, struct wrc_prog *prog);
int wrc_prog_invalidate(const struct wrc_opts *opts, struct wrc_prog *prog);

/* Page exchange: prog/exchange.c.  -EINVAL: a load, which stays as it is. */
int wrc_prog_exchange(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		      struct wrc_prog *prog);
/* Translation in the NIC: the same file.  -EINVAL: loads and mapped stores, which
 * need no chain. */
int wrc_prog_keyed(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		   struct wrc_prog *prog);

#endif /* WRC_PROG_PARTS_H */
