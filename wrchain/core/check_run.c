// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier: rules balance, index, order and answer.
 *
 * A machine that knows only queues, limits and CQE numbers runs single
 * instances, with the counts the recycle words will have given them.  It keeps
 * whole numbers where the NIC has 16 or 24 bits.  If an instance that starts
 * in the state all instances start in ends in that state of the next one, the
 * queue runs for ever; so it is enough to try one lap and the neighbourhoods
 * of all wraps.
 */
#include "check.h"

/**
 * struct run - one instance, executed
 * @enabled_by:	the SEND_EN that enabled each instruction; WRC_NONE: the one of
 *		the instance before
 * @head_by:	the SEND_EN that enabled the next head
 * @waits:	loop CQE (number within the instance) a WAIT waits for; WRC_RECV:
 *		the request
 */
struct run {
	__u8 enabled_by[WRC_MAX_INSN];
	__u8 waits[WRC_MAX_INSN];
	__u8 head_by;
};

/* The whole number near `near` whose low bits are value. */
static __u64 index_unwrap(__u32 value, __u64 near, __u32 mask)
{
	__u64 half = ((__u64)mask + 1) / 2;
	__u64 ahead = (value - near) & mask;

	return ahead < half ? near + ahead : near + ahead - mask - 1;
}

/* The count of a WAIT or SEND_EN when request r has armed it. */
static bool count_at(const struct wrc_check *c, unsigned int insn, __u64 r,
		     __u32 *ret_count)
{
	enum wrc_word_kind kind = WRC_WORD_ENABLE;
	int w;

	if (c->ctx.prog->insn[insn].op == WRC_WQE_WAIT)
		kind = WRC_WORD_WAIT;
	if (c->ctx.prog->node)
		return wrc_check_turn_word(c, insn, kind, r, ret_count);
	w = wrc_check_word_of(c, insn, kind);
	if (w < 0)
		return false;
	*ret_count = wrc_check_word(c, w, (__s64)r - c->ctx.prog->word[w].delta);
	return true;
}

struct machine {
	struct wrc_check *c;
	struct run *run;
	__u64 r;		/* request */
	__u32 instance;
	__u64 limit, client_limit;	/* blocks enabled */
	__u64 cqes;		/* of the loop queue's CQ, when all complete */
	__u64 client_cqes;	/* the same of the client queue's */
};

#define RULE WRC_RULE_BALANCE

static bool waits_for_message(const struct wrc_prog *prog, unsigned int insn)
{
	__u8 target = prog->insn[insn].target;

	return target < prog->nr_insn &&
	       prog->insn[target].queue == WRC_CLIENT;
}

/* For a message of this request's, which has been let go. */
static int run_wait_client(struct machine *m, unsigned int insn,
			   const struct wrc_wr *wr, __u32 count)
{
	__u64 first = m->r * m->c->ctx.prog->client_cqes;
	__u64 cqe = index_unwrap(count, m->client_cqes, WRC_WQE_WAIT_MASK);

	if (wr->obj != m->c->ctx.bind->client_scqn)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "waits on completion queue 0x%x, not on its messages'",
				  wr->obj);
	if (cqe >= m->client_cqes || cqe < first)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "waits for message %llu, request %llu lets go those below %llu",
				  (unsigned long long)cqe,
				  (unsigned long long)m->r,
				  (unsigned long long)m->client_cqes);
	return 0;
}

static int run_wait(struct machine *m, unsigned int insn,
		    const struct wrc_wr *wr, __u32 count)
{
	const struct wrc_bind *bind = m->c->ctx.bind;
	__u64 first = m->r * m->c->ctx.prog->cqes, cqe;

	if (waits_for_message(m->c->ctx.prog, insn))
		return run_wait_client(m, insn, wr, count);
	if (wr->obj == bind->client_rcqn && wr->obj != bind->loop_scqn) {
		cqe = index_unwrap(count, m->r, WRC_WQE_WAIT_MASK);
		if (cqe != m->r)
			return wrc_refuse(m->c, RULE, m->instance, insn,
					  "waits for request %llu and serves %llu",
					  (unsigned long long)cqe,
					  (unsigned long long)m->r);
		m->run->waits[insn] = WRC_RECV;
		return 0;
	}
	if (wr->obj != bind->loop_scqn)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "waits on completion queue 0x%x, which is not its own",
				  wr->obj);
	cqe = index_unwrap(count, m->cqes, WRC_WQE_WAIT_MASK);
	if (cqe >= m->cqes)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "waits for completion %llu when only %llu can exist",
				  (unsigned long long)cqe,
				  (unsigned long long)m->cqes);
	if (cqe < first)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "waits for completion %llu, older than request %llu",
				  (unsigned long long)cqe,
				  (unsigned long long)m->r);
	m->run->waits[insn] = cqe - first;
	return 0;
}

/* Marks what a SEND_EN of the loop queue enables. */
static void enabled_mark(struct machine *m, unsigned int insn, __u64 from, __u64 to)
{
	const struct wrc_prog *prog = m->c->ctx.prog;
	__u64 base = m->r * prog->bb[WRC_LOOP];
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *t = &prog->insn[i];

		if (t->queue == WRC_LOOP && base + t->bb >= from &&
		    base + t->bb < to)
			m->run->enabled_by[i] = insn;
	}
	if (to > base + prog->bb[WRC_LOOP])
		m->run->head_by = insn;
}

static int run_loop_en(struct machine *m, unsigned int insn, __u32 count)
{
	const struct wrc_geom *geom = m->c->ctx.geom;
	__u64 to = index_unwrap(count, m->limit, WRC_WQE_EN_MASK);
	__u64 most = (m->r + 1) * geom->loop_bb + geom->start_bb;

	if (to <= m->limit)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "enables up to %llu, and %llu is enabled already",
				  (unsigned long long)to,
				  (unsigned long long)m->limit);
	if (to > most)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "enables up to %llu, beyond the next head's end %llu",
				  (unsigned long long)to,
				  (unsigned long long)most);
	enabled_mark(m, insn, m->limit, to);
	m->limit = to;
	return 0;
}

/* Are there several instructions in the client queue, that may be enabled one
 * after the other, by WAITs for those before? */
static bool in_steps(const struct wrc_prog *prog)
{
	unsigned int i, n = 0;

	for (i = 0; i < prog->nr_insn; i++)
		n += prog->insn[i].queue == WRC_CLIENT;
	return n > 1 && prog->client_cqes;
}

/* Others know a completion by its number within the instance. */
static bool is_numbered(const struct wrc_insn *i, __u64 cqes, __u64 r,
			__u8 per_request)
{
	return r * per_request + i->cqe == cqes;
}

static int refuse_number(struct machine *m, unsigned int insn)
{
	return wrc_refuse(m->c, RULE, m->instance, insn,
			  "makes another completion than number %u of request %llu",
			  m->c->ctx.prog->insn[insn].cqe,
			  (unsigned long long)m->r);
}

static int run_client_en(struct machine *m, unsigned int insn, __u32 count)
{
	const struct wrc_prog *prog = m->c->ctx.prog;
	__u64 to = index_unwrap(count, m->client_limit, WRC_WQE_EN_MASK);
	__u64 base = m->r * prog->bb[WRC_CLIENT];
	__u64 want = base + prog->bb[WRC_CLIENT];
	unsigned int i;

	/* All of it, unless a page goes before the answer. */
	if (to <= m->client_limit)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "enables the client queue up to %llu, and "
				  "%llu is enabled already",
				  (unsigned long long)to,
				  (unsigned long long)m->client_limit);
	if (to > want || (to < want && !in_steps(prog)))
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "enables the client queue up to %llu instead of %llu",
				  (unsigned long long)to,
				  (unsigned long long)want);
	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *t = &prog->insn[i];

		if (t->queue != WRC_CLIENT || base + t->bb >= to ||
		    base + t->bb < m->client_limit)
			continue;
		m->run->enabled_by[i] = insn;
		if (!(t->flags & WRC_I_SIGNALED))
			continue;
		if (!is_numbered(t, m->client_cqes, m->r, prog->client_cqes))
			return refuse_number(m, i);
		m->client_cqes++;
	}
	m->client_limit = to;
	return 0;
}

static int run_control(struct machine *m, unsigned int insn)
{
	const struct wrc_bind *bind = m->c->ctx.bind;
	struct wrc_wr wr;
	__u32 count;

	if (!wrc_check_decode(m->c, m->instance, insn, &wr))
		return 0;
	if (!count_at(m->c, insn, m->r, &count))
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "is armed by no word of any request");
	if (wr.shape == WRC_WQE_WAIT)
		return run_wait(m, insn, &wr, count);
	if (wr.obj == bind->loop_qpn)
		return run_loop_en(m, insn, count);
	if (wr.obj == bind->client_qpn)
		return run_client_en(m, insn, count);
	return wrc_refuse(m->c, RULE, m->instance, insn,
			  "enables queue 0x%x, which is not its own", wr.obj);
}

static int run_insn(struct machine *m, unsigned int insn)
{
	const struct wrc_prog *prog = m->c->ctx.prog;
	const struct wrc_insn *i = &prog->insn[insn];
	__u64 at = m->r * prog->bb[WRC_LOOP] + i->bb;
	int err = 0;

	if (at + i->nr_bb > m->limit)
		return wrc_refuse(m->c, RULE, m->instance, insn,
				  "is never enabled: the queue stops at %llu",
				  (unsigned long long)m->limit);
	if (i->op == WRC_WQE_WAIT || i->op == WRC_WQE_SEND_EN)
		err = run_control(m, insn);
	if (err || !(i->flags & WRC_I_SIGNALED))
		return err;
	if (!is_numbered(i, m->cqes, m->r, prog->cqes))
		return refuse_number(m, insn);
	m->cqes++;
	return 0;
}

static int run_request(struct wrc_check *c, __u64 r, struct run *run)
{
	const struct wrc_prog *prog = c->ctx.prog;
	const struct wrc_geom *geom = c->ctx.geom;
	struct machine m = {
		.c = c,
		.run = run,
		.r = r,
		.instance = r & (geom->depth - 1),
		.limit = r * geom->loop_bb + geom->start_bb,
		.client_limit = r * geom->client_bb,
		.cqes = r * prog->cqes,
		.client_cqes = r * prog->client_cqes,
	};
	unsigned int i;
	int err;

	memset(run, WRC_NONE, sizeof(*run));
	for (i = 0; i < prog->nr_insn; i++) {
		if (prog->insn[i].queue != WRC_LOOP)
			break;
		err = run_insn(&m, i);
		if (err)
			return err;
	}
	for (; i < prog->nr_insn; i++)
		if (prog->insn[i].op == WRC_WQE_WAIT ||
		    prog->insn[i].op == WRC_WQE_SEND_EN)
			return wrc_refuse(c, RULE, m.instance, i,
					  "controls queues from the client's queue");
	if (m.limit != (r + 1) * geom->loop_bb + geom->start_bb)
		return wrc_refuse_all(c, RULE,
				      "request %llu enables up to %llu, not to %llu",
				      (unsigned long long)r,
				      (unsigned long long)m.limit,
				      (unsigned long long)(r + 1) *
						      geom->loop_bb +
					      geom->start_bb);
	if (m.client_limit != (r + 1) * geom->client_bb)
		return wrc_refuse_all(c, RULE,
				      "request %llu is never answered",
				      (unsigned long long)r);
	if (m.cqes != (r + 1) * prog->cqes ||
	    m.client_cqes != (r + 1) * prog->client_cqes)
		return wrc_refuse_all(c, RULE,
				      "request %llu makes %llu and %llu completions, not %u and %u",
				      (unsigned long long)r,
				      (unsigned long long)(m.cqes - r * prog->cqes),
				      (unsigned long long)(m.client_cqes -
							   r * prog->client_cqes),
				      prog->cqes, prog->client_cqes);
	return 0;
}

#undef RULE

/* One lap and a bit, and around each number at which something wraps. */
static int balance_check(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u64 wraps[] = {
		0x10000 / prog->bb[WRC_LOOP], 0x10000,
		prog->cqes ? 0x1000000 / prog->cqes : 0, 0x1000000,
		0x10000 / prog->bb[WRC_CLIENT],
	};
	struct run run;
	unsigned int i;
	__u64 r;
	int err = 0;

	for (r = 0; !err && r < c->ctx.geom->depth + 2ull; r++)
		err = run_request(c, r, &run);
	for (i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++)
		for (r = wraps[i] < 4 ? 0 : wraps[i] - 4;
		     !err && r < wraps[i] + 4; r++)
			err = run_request(c, r, &run);
	return err;
}

/* ---- index ---------------------------------------------------------------- */

#define RULE WRC_RULE_INDEX

/* The word must lie in the request where a relocation takes it from. */
bool wrc_check_word_lands(const struct wrc_prog *prog, const struct wrc_word *w)
{
	struct wrc_ref to = wrc_word_ref(w);
	unsigned int i;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->source == WRC_RECV && p->off == w->off &&
		    p->width == w->width && p->insn == w->insn &&
		    p->field == to.field && p->field_off == to.off &&
		    p->delta == w->delta)
			return true;
	}
	return false;
}

static int check_word(struct wrc_check *c, unsigned int insn, __u32 instance,
		      enum wrc_word_kind kind, __u32 value)
{
	const struct wrc_prog *prog = c->ctx.prog;
	int w = wrc_check_word_of(c, insn, kind);
	__u32 want;

	if (prog->node) {
		if (!wrc_check_turn_word(c, insn, kind, instance, &want))
			return wrc_refuse(c, RULE, instance, insn,
					  "has its %s renewed by no row",
					  wrc_word_name(kind));
		goto compare;
	}
	if (w < 0 || !wrc_check_word_lands(prog, &prog->word[w]))
		return wrc_refuse(c, RULE, instance, insn,
				  "has its %s re-armed by no word",
				  wrc_word_name(kind));
	want = wrc_check_word(c, w, (__s64)instance - prog->word[w].delta);
	if (wrc_is_gate(prog, insn) && kind == WRC_WORD_ENABLE)
		want = wrc_check_word(c, w, (__s64)instance -
				      c->ctx.geom->depth);
compare:
	if (value != want)
		return wrc_refuse(c, RULE, instance, insn,
				  "has %s %u, and on this lap it is %u",
				  wrc_word_name(kind), value, want);
	return 0;
}

static int index_wqe(struct wrc_check *c, __u32 instance, unsigned int insn)
{
	const struct wrc_prog *prog = c->ctx.prog;
	const struct wrc_insn *i = &prog->insn[insn];
	struct wrc_wr wr;
	__u16 want = instance * prog->bb[i->queue] + i->bb;
	int err = 0;

	if (!wrc_check_decode(c, instance, insn, &wr))
		return 0;
	if (wr.index != want)
		return wrc_refuse(c, RULE, instance, insn,
				  "has index %u and lies at %u", wr.index,
				  want);
	if (prog->strict)
		err = check_word(c, insn, instance, WRC_WORD_INDEX,
				 wr.index);
	if (!err && i->op == WRC_WQE_WAIT)
		err = check_word(c, insn, instance, WRC_WORD_WAIT,
				 wr.count);
	if (!err && i->op == WRC_WQE_SEND_EN)
		err = check_word(c, insn, instance, WRC_WORD_ENABLE,
				 wr.count);
	if (!err && i->flags & WRC_I_ANSWER && !prog->node)	/* rule table */
		err = check_word(c, insn, instance,
				 i->op == WRC_WQE_WRITE ?
					 WRC_WORD_PAGE :
					 WRC_WORD_ANSWER, wr.op);
	return err;
}

static int indices_check(struct wrc_check *c)
{
	unsigned int i;
	__u32 instance;
	int err = 0;

	for (instance = 0; instance < c->ctx.geom->depth; instance++)
		for (i = 0; !err && i < c->ctx.prog->nr_insn; i++)
			err = index_wqe(c, instance, i);
	return err;
}

#undef RULE

/* ---- order and answer -------------------------------------------------------- */

/* Is what `source` writes known to have arrived when `at` executes? */
static bool has_arrived(const struct wrc_check *c, const struct run *run,
			__u8 source, unsigned int at)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i, cqe = 0;

	if (wrc_check_fenced(c, source, at))
		return true;
	if (source != WRC_RECV) {
		/* Completions come in order: a later one will do. */
		for (i = source; i < prog->nr_insn; i++)
			if (prog->insn[i].queue == WRC_LOOP &&
			    prog->insn[i].flags & WRC_I_SIGNALED)
				break;
		if (i == prog->nr_insn)
			return false;
		cqe = prog->insn[i].cqe;
	}
	for (i = 0; i < at; i++) {
		if (prog->insn[i].op != WRC_WQE_WAIT ||
		    waits_for_message(prog, i))
			continue;
		if (source == WRC_RECV ? run->waits[i] == WRC_RECV :
		    run->waits[i] != WRC_RECV && run->waits[i] >= cqe)
			return true;
	}
	return false;
}

/*
 * The page of the next lap: the queue is in order, so it is enough if that has
 * arrived when the instance ends.
 */
static bool next_lap(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	return p->source != WRC_RECV && p->insn <= p->source &&
	       (p->field == WRC_F_MSWAP || p->field == WRC_F_PAGE) &&
	       prog->insn[p->insn].flags & WRC_I_EXCHANGE;
}

static int order_patch(struct wrc_check *c, const struct run *run,
		       __u32 instance, const struct wrc_patch *p)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u8 by = p->delta ? run->head_by : run->enabled_by[p->insn];
	struct wrc_text t;
	char line[80];

	if (next_lap(prog, p) || wrc_renews(prog, p->source))
		by = prog->nr_insn - 1;
	if (by != WRC_NONE && has_arrived(c, run, p->source, by))
		return 0;
	wrc_text_init(&t, line, sizeof(line));
	wrc_dis_patch(&t, prog, p);
	wrc_text_add(&t, ", enabled by ");
	if (by == WRC_NONE)
		wrc_text_add(&t, "the instance before");
	else
		wrc_dis_label(&t, prog, by);
	return wrc_refuse(c, WRC_RULE_ORDER, instance, p->insn,
			  "is enabled before its patch has arrived (%s)", line);
}

static bool operands_overlap(const struct wrc_operand *a, const struct wrc_operand *b)
{
	__u32 from_a = a->at.off, from_b = b->at.off;

	if (a->at.space != b->at.space)
		return false;
	if (a->at.space == WRC_SP_REG) {
		from_a += a->at.at;
		from_b += b->at.at;
	} else if (a->at.space == WRC_SP_FIELD) {
		if (a->at.at != b->at.at || a->at.field != b->at.field ||
		    a->at.sge != b->at.sge)
			return false;
	} else {
		return false;
	}
	return from_a < from_b + b->len && from_b < from_a + a->len;
}

/* Everything in the arena that is read must have been written, and waited. */
static int order_read(struct wrc_check *c, const struct run *run,
		      __u32 instance, unsigned int insn,
		      const struct wrc_operand *what)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i, j;

	if (what->at.space == WRC_SP_BUF && !has_arrived(c, run, WRC_RECV, insn))
		return wrc_refuse(c, WRC_RULE_ORDER, instance, insn,
				  "reads a page that may not have arrived");
	for (i = 0; i < insn; i++) {
		const struct wrc_insn *w = &prog->insn[i];

		if (!(wrc_opdef(w->op)->flags & WRC_OP_SCATTER))
			continue;
		for (j = 0; j < w->nr_sge; j++)
			if (operands_overlap(&w->sge[j], what) &&
			    !has_arrived(c, run, i, insn))
				return wrc_refuse(c, WRC_RULE_ORDER, instance, insn,
						  "reads what l%u may not have written yet",
						  wrc_insn_number(prog, i));
	}
	return 0;
}

static int order_insn(struct wrc_check *c, const struct run *run,
		      __u32 instance, unsigned int insn)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	__u8 flags = wrc_opdef(i->op)->flags;
	struct wrc_operand remote = { i->remote, 0 };
	unsigned int j;
	int err = 0;

	for (j = 0; j < i->nr_sge; j++)
		remote.len += i->sge[j].len;
	if (flags & WRC_OP_RREAD)
		err = order_read(c, run, instance, insn, &remote);
	for (j = 0; !err && flags & WRC_OP_GATHER && j < i->nr_sge; j++)
		err = order_read(c, run, instance, insn, &i->sge[j]);
	return err;
}

/*
 * A receive entry may complete without a request, when the connection breaks
 * and the queue is flushed: then the gate still has the count of the lap before
 * (rule index), and nothing behind it may run.
 */
static int order_gate(struct wrc_check *c, const struct run *run,
		      __u32 instance)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = prog->nr_head; i < prog->nr_insn; i++) {
		if (prog->insn[i].queue != WRC_LOOP)
			continue;
		if (prog->node)		/* rule table */
			break;
		if (wrc_is_gate(prog, i) ? prog->insn[i].op != WRC_WQE_SEND_EN :
					   run->enabled_by[i] < prog->nr_head)
			return wrc_refuse(c, WRC_RULE_ORDER, instance, i,
					  "runs although no request may have come");
	}
	return 0;
}

static int order_check(struct wrc_check *c, const struct run *run, __u32 instance)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;
	int err = order_gate(c, run, instance);

	for (i = 0; !err && i < prog->nr_patches; i++)
		err = order_patch(c, run, instance, &prog->patch[i]);
	for (i = 0; !err && i < prog->nr_insn; i++)
		if (prog->insn[i].queue == WRC_LOOP)
			err = order_insn(c, run, instance, i);
	return err;
}

/* A page exchange has effects only on what the CNode can see: its table (I5). */
static bool is_effect(const struct wrc_prog *prog, const struct wrc_insn *i)
{
	if (i->op == WRC_WQE_UMR)
		return true;
	return i->queue == WRC_LOOP && i->remote.space != WRC_SP_DBR &&
	       wrc_opdef(i->op)->flags & WRC_OP_RWRITE &&
	       (!wrc_owns(prog) || i->remote.space == WRC_SP_TT);
}

/* All that changes memory must be done when the answer, the client queue's last,
 * is let go. */
static int run_answer(struct wrc_check *c, const struct run *run,
		      __u32 instance)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i, go = WRC_NONE;

	for (i = 0; i < prog->nr_insn; i++)
		if (prog->insn[i].queue == WRC_CLIENT)
			go = run->enabled_by[i];
	for (i = 0; go != WRC_NONE && i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		if (is_effect(prog, insn) && !has_arrived(c, run, i, go))
			return wrc_refuse(c, WRC_RULE_ANSWER, instance, i,
					  "may take effect after l%u has let the answer go",
					  wrc_insn_number(prog, go));
	}
	return 0;
}

static bool rule_is_on(const struct wrc_check *c, enum wrc_rule rule)
{
	return c->rules & 1u << rule;
}

int wrc_check_run(struct wrc_check *c)
{
	__u32 depth = c->ctx.geom->depth, r;
	struct run run;
	int err = 0;

	if (rule_is_on(c, WRC_RULE_INDEX))
		err = indices_check(c);
	if (!err && rule_is_on(c, WRC_RULE_BALANCE))
		err = balance_check(c);
	if (!(rule_is_on(c, WRC_RULE_ORDER) || rule_is_on(c, WRC_RULE_ANSWER)))
		return err;
	/* The second lap, on which every count has been re-armed. */
	for (r = depth; !err && r < 2 * depth; r++) {
		if (run_request(c, r, &run)) {	/* rule balance says why */
			wrc_text_init(&c->why, c->why.buf, c->why.size);
			return 0;
		}
		if (rule_is_on(c, WRC_RULE_ORDER))
			err = order_check(c, &run, r - depth);
		if (!err && rule_is_on(c, WRC_RULE_ANSWER))
			err = run_answer(c, &run, r - depth);
	}
	return err;
}
