// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule move: a page is in one place (I1).
 *
 * Rule flow says that what a WRITE puts into the table or a slot is a page that
 * was moved.  Here is that each page that was moved goes to one such place:
 *
 *  - whoever takes a page out of the table or a slot has one WRITE put it, or a
 *    copy of it, to the table or a slot, or makes it the instance's own; what a
 *    swap has brought becomes that, or is nothing (rule own), and nobody puts it;
 *  - a counter that advances to a slot has one atomic take from it, or one WRITE
 *    fill it: the head and the tail, never the other way round;
 *  - where an empty entry makes NOPs of them, it makes both NOPs, and it is the
 *    entry of the page in question;
 *  - wrc_held_of() looks for the page, and for the slot, between the right
 *    instructions and in the right places.
 *
 * What was in the entry that is written to, or in the slot at the tail, is not
 * known here: that these are empty follows from what clients and the agent do.
 */
#include "check.h"

#define RULE WRC_RULE_MOVE

/* What there is of each kind, at most one; WRC_NONE: there is none. */
struct move {
	struct wrc_check *c;
	const struct wrc_prog *prog;
	__u8 take, step, put;
	bool many;		/* or there are more, which no hold can name */
};

/* ---- who is who --------------------------------------------------------------- */

static bool is_at_page(const struct wrc_insn *i)
{
	return i->remote.space == WRC_SP_TT || i->remote.space == WRC_SP_SLOT;
}

/* The swap of page exchange moves the instance's own page, too: rule own. */
static bool is_swap(const struct wrc_prog *prog, unsigned int insn)
{
	return wrc_has_register(prog) &&
	       prog->insn[insn].flags & WRC_I_EXCHANGE;
}

static bool is_take(const struct wrc_insn *i)
{
	return i->op == WRC_WQE_MASKED_CS && is_at_page(i);
}

static bool is_step(const struct wrc_insn *i)
{
	return i->op == WRC_WQE_MASKED_FA &&
	       (i->remote.space == WRC_SP_HEAD ||
		i->remote.space == WRC_SP_TAIL);
}

static bool is_put(const struct wrc_insn *i)
{
	__u8 flags = wrc_opdef(i->op)->flags;

	return flags & WRC_OP_RWRITE && !(flags & WRC_OP_RREAD) &&
	       is_at_page(i) && i->nr_sge;
}

static void source_find(struct move *m, __u8 *found, unsigned int insn)
{
	m->many |= *found != WRC_NONE;
	*found = insn;
}

static void find_all(struct move *m)
{
	unsigned int i;

	for (i = 0; i < m->prog->nr_insn; i++) {
		const struct wrc_insn *insn = &m->prog->insn[i];

		if (is_take(insn) && !is_swap(m->prog, i))
			source_find(m, &m->take, i);
		if (is_step(insn))
			source_find(m, &m->step, i);
		if (is_put(insn))
			source_find(m, &m->put, i);
	}
}

/* ---- what comes from where ------------------------------------------------------ */

/* The one instruction that writes a place; WRC_NONE: none, or more, or a request. */
static __u8 source_of(const struct wrc_prog *prog, struct wrc_ref at)
{
	__u8 found = WRC_NONE;
	unsigned int i;
	bool alone;	/* rule flow */

	if (at.space == WRC_SP_REG)
		return wrc_check_writer(prog, at, &alone);
	for (i = 0; at.space == WRC_SP_FIELD && i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->insn != at.at || p->field != at.field ||
		    p->sge != at.sge || p->source == found)
			continue;
		if (p->source == WRC_RECV || found != WRC_NONE)
			return WRC_NONE;
		found = p->source;
	}
	return found;
}

/* The WR whose result stands there in the end: READs within the chain only copy. */
static __u8 ref_origin(const struct wrc_prog *prog, struct wrc_ref at)
{
	unsigned int n;

	for (n = 0; n < prog->nr_insn; n++) {
		__u8 source = source_of(prog, at);

		if (source == WRC_NONE ||
		    prog->insn[source].op != WRC_WQE_READ ||
		    wrc_space_class((enum wrc_space)
				    prog->insn[source].remote.space) !=
			    WRC_CL_ARENA)
			return source;
		at = prog->insn[source].remote;
	}
	return WRC_NONE;	/* round in a circle */
}

static __u8 origin_of(const struct wrc_prog *prog, unsigned int insn,
		      enum wrc_field field)
{
	return ref_origin(prog, wrc_field(insn, field, 0));
}

/* The page that a WRITE puts. */
static __u8 page_of(const struct wrc_prog *prog, unsigned int put)
{
	const struct wrc_insn *i = &prog->insn[put];

	return i->nr_sge == 1 ? ref_origin(prog, i->sge[0].at) : WRC_NONE;
}

/* ---- one place ------------------------------------------------------------------ */

/* A READ that makes the page the instance's own; that it is done well: rule own. */
static bool read_keeps_page(const struct wrc_prog *prog, unsigned int insn, __u8 take)
{
	const struct wrc_insn *i = &prog->insn[insn];
	unsigned int j;

	if (i->op != WRC_WQE_READ || !wrc_has_register(prog) ||
	    ref_origin(prog, i->remote) != take)
		return false;
	for (j = 0; j < i->nr_sge; j++) {
		struct wrc_ref at = i->sge[j].at;

		if (at.space == WRC_SP_RECV ||
		    (at.space == WRC_SP_FIELD && at.field == WRC_F_MSWAP))
			return true;
	}
	return false;
}

static int check_take(const struct move *m, unsigned int take)
{
	const struct wrc_prog *prog = m->prog;
	unsigned int i, puts = 0, want = is_swap(prog, take) ? 0 : 1;
	bool kept = false;

	for (i = 0; i < prog->nr_insn; i++) {
		puts += is_put(&prog->insn[i]) && page_of(prog, i) == take;
		kept |= read_keeps_page(prog, i, take);
	}
	puts += kept && want;
	if (puts == want)
		return 0;
	return wrc_refuse(m->c, RULE, 0, take,
			  "takes a page that goes to %u places instead of %u",
			  puts, want);
}

static int check_step(const struct move *m, unsigned int step)
{
	const struct wrc_prog *prog = m->prog;
	unsigned int i, users = 0;

	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		if (insn->remote.space != WRC_SP_SLOT ||
		    origin_of(prog, i, WRC_F_RADDR) != step)
			continue;
		if (prog->insn[step].remote.space == WRC_SP_HEAD ?
		    !is_take(insn) : !is_put(insn))
			return wrc_refuse(m->c, RULE, 0, i,
					  "is at the wrong end of the ring");
		users++;
	}
	if (users == 1)
		return 0;
	return wrc_refuse(m->c, RULE, 0, step,
			  "advances to a slot that %u use instead of one",
			  users);
}

/* ---- or none --------------------------------------------------------------------- */

static bool is_maybe(const struct wrc_prog *prog, unsigned int insn)
{
	return prog->insn[insn].flags & WRC_I_MAYBE;
}

static int check_condition(const struct move *m, unsigned int insn, __u8 page)
{
	if (!is_maybe(m->prog, insn) ||
	    origin_of(m->prog, insn, WRC_F_OPCODE) == page)
		return 0;
	return wrc_refuse(m->c, RULE, 0, insn,
			  "depends on what is not the page that it moves");
}

static int check_put(const struct move *m, unsigned int put)
{
	__u8 page = page_of(m->prog, put), step;
	int err;

	if (page == WRC_NONE)
		return wrc_refuse(m->c, RULE, 0, put,
				  "puts a page that more than one brings");
	err = check_condition(m, put, page);
	if (err || m->prog->insn[put].remote.space != WRC_SP_SLOT)
		return err;
	step = origin_of(m->prog, put, WRC_F_RADDR);
	if (step == WRC_NONE)	/* whose it is has no user */
		return 0;
	if (is_maybe(m->prog, put) != is_maybe(m->prog, step))
		return wrc_refuse(m->c, RULE, 0, put,
				  "does not depend on what its slot's advance depends on");
	return check_condition(m, step, page);
}

/* ---- as held.c sees it ------------------------------------------------------------- */

static bool is_held(const struct move *m, __u8 named, struct wrc_ref at,
		    __u8 insn)
{
	return named == insn &&
	       (insn == WRC_NONE ||
		wrc_same_place(at, m->prog->insn[insn].sge[0].at));
}

static bool is_found(const struct move *m)
{
	const struct wrc_hold *h = &m->prog->hold;
	bool from_tt, to_tt;

	if (m->many || !is_held(m, h->slot_taken, h->slot, m->step))
		return false;
	if (wrc_has_register(m->prog))	/* its pages: rule own */
		return true;
	if (h->swapped != WRC_NONE)
		return false;
	if (!is_held(m, h->page_taken, h->page, m->take))
		return false;
	if (m->take == WRC_NONE)
		return h->page_put == WRC_NONE && !h->lent;
	if (h->page_put != m->put)
		return false;
	from_tt = m->prog->insn[m->take].remote.space == WRC_SP_TT;
	to_tt = m->prog->insn[m->put].remote.space == WRC_SP_TT;
	if (h->freeing != (from_tt && !to_tt) || h->lent != (from_tt && to_tt))
		return false;
	if (h->freeing)
		return m->take < m->step;
	return !h->lent ||
	       wrc_same_place(h->tt, wrc_field(m->take, WRC_F_RADDR, 0));
}

int wrc_check_move(struct wrc_check *c)
{
	struct move m = {
		.c = c, .prog = c->ctx.prog,
		.take = WRC_NONE, .step = WRC_NONE, .put = WRC_NONE,
	};
	unsigned int i;
	int err = 0;

	find_all(&m);
	for (i = 0; !err && i < m.prog->nr_insn; i++) {
		const struct wrc_insn *insn = &m.prog->insn[i];

		if (is_take(insn))
			err = check_take(&m, i);
		else if (is_step(insn))
			err = check_step(&m, i);
		else if (is_put(insn))
			err = check_put(&m, i);
	}
	if (!err && !is_found(&m))
		return wrc_refuse_all(c, RULE,
				      "a stop would leave a page or a slot that nobody knows of");
	return err;
}
