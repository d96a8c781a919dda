// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule grace: the agent counts whoever may use a page that others can
 * get (I3).
 *
 * A page that leaves a session waits until every chain of the session that looks
 * pages up has completed as many requests on the client queue as it had received
 * (mnode/session/queue.c, queue_passed()).  So:
 *
 *  - a message with a page in it is signaled.  Its completion is the client's
 *    acknowledgement; until then the NIC may send the page again;
 *  - a program that does not own its pages (rule own) has a signaled answer, which
 *    goes when what it does to pages on the loop queue is known to be done.
 *
 * That the WQEs are signaled as the program says is rule form's.
 */
#include "check.h"

#define RULE WRC_RULE_GRACE

/* Lets the client queue's last message go. */
static bool lets_go(const struct wrc_prog *prog, unsigned int insn)
{
	return prog->insn[insn].op == WRC_WQE_SEND_EN &&
	       prog->insn[insn].target == prog->nr_insn - 1;
}

/* Is insn of the loop queue over when a message goes that is counted? */
static bool is_counted(const struct wrc_check *c, unsigned int insn)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	if (!(prog->insn[prog->nr_insn - 1].flags & WRC_I_SIGNALED))
		return false;
	if (wrc_opdef(prog->insn[insn].op)->flags & WRC_OP_RWRITE)
		return true;	/* an effect: rule answer */
	/* The first that lets it go; rule balance refuses a second one. */
	for (i = 0; i < prog->nr_insn; i++)
		if (lets_go(prog, i))
			return wrc_check_known(c, insn, i);
	return false;
}

int wrc_check_grace(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		if (!wrc_check_touches_page(insn))
			continue;
		if (insn->queue == WRC_CLIENT &&
		    !(insn->flags & WRC_I_SIGNALED))
			return wrc_refuse(c, RULE, 0, i,
					  "sends a page and makes no completion");
		if (insn->queue == WRC_LOOP && !wrc_owns(prog) &&
		    !is_counted(c, i))
			return wrc_refuse(c, RULE, 0, i,
					  "uses a page, and no completion behind it says so");
	}
	return 0;
}
