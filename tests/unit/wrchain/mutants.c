// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs that differ in one thing from a good one; see mutants.h. */
#include <stdarg.h>
#include <stdio.h>
#include "mutants.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The mutant as it is now; then it is good again. */
__attribute__((format(printf, 2, 3)))
static void made(struct mutants *m, const char *fmt, ...)
{
	va_list ap;

	m->made++;
	if (!m->next--) {
		m->next = m->every - 1;
		va_start(ap, fmt);
		vsnprintf(m->what, sizeof(m->what), fmt, ap);
		va_end(ap);
		m->try(m->arg, &m->now, m->what);
	}
	m->now = *m->good;
}

/* ---- values ------------------------------------------------------------------ */

static void set8(struct mutants *m, const char *who, const char *name,
		 __u8 *at, __u8 value)
{
	__u8 was = *at;

	*at = value;
	if (value != was)
		made(m, "%s %s %u -> %u", who, name, was, value);
}

/* Tries all values of a kind. */
static void vary8(struct mutants *m, const char *who, const char *name,
		  __u8 *at, unsigned int range)
{
	unsigned int v;

	for (v = 0; v < range; v++)
		set8(m, who, name, at, v);
}

/* Tries the numbers of instructions, and some that are none. */
static void vary_number(struct mutants *m, const char *who, const char *name,
			__u8 *at)
{
	vary8(m, who, name, at, m->good->nr_insn);
	set8(m, who, name, at, WRC_NEXT_HEAD);
	set8(m, who, name, at, WRC_NONE);
}

static void vary_count(struct mutants *m, const char *who, const char *name,
		       __u8 *at)
{
	__u8 was = *at;

	set8(m, who, name, at, was + 1);
	set8(m, who, name, at, was - 1);
}

static void vary_flag(struct mutants *m, const char *who, const char *name,
		      bool *at)
{
	*at = !*at;
	made(m, "%s %s %u -> %u", who, name, !*at, *at);
}

static void set16(struct mutants *m, const char *who, const char *name,
		  __u16 *at, __u16 value)
{
	__u16 was = *at;

	*at = value;
	if (value != was)
		made(m, "%s %s %u -> %u", who, name, was, value);
}

static void vary16(struct mutants *m, const char *who, const char *name,
		   __u16 *at)
{
	static const int steps[] = { 1, -1, 4, -4, 8, -8, 4096, -4096 };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(steps); i++)
		set16(m, who, name, at, *at + steps[i]);
	set16(m, who, name, at, 0);
}

static void vary32(struct mutants *m, const char *who, const char *name,
		   __u32 *at)
{
	static const __u32 values[] = { 0, 1, 2, 4, 8, 16, 4096, 8192 };
	__u32 was = *at;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(values) + 2; i++) {
		*at = i < ARRAY_LEN(values) ? values[i] :
		      i == ARRAY_LEN(values) ? was + 1 : was - 1;
		if (*at != was)
			made(m, "%s %s %u -> %u", who, name, was, *at);
	}
}

static void vary64(struct mutants *m, const char *who, const char *name,
		   __u64 *at)
{
	const __u64 was = *at, values[] = {
		0, 1, 8, ~0ull, ~was, was + 8, was ^ 1, was ^ 1ull << 63,
		was << 8,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(values); i++) {
		*at = values[i];
		if (*at != was)
			made(m, "%s %s 0x%llx -> 0x%llx", who, name,
			     (unsigned long long)was,
			     (unsigned long long)values[i]);
	}
}

static void vary_delta(struct mutants *m, const char *who, const char *name,
		       __s8 *at)
{
	__s8 was = *at;
	int v;

	for (v = -2; v <= 2; v++) {
		*at = v;
		if (v != was)
			made(m, "%s %s %d -> %d", who, name, was, v);
	}
}

/* A place: anywhere else, and any other of its kind. */
static void vary_ref(struct mutants *m, const char *who, struct wrc_ref *at)
{
	bool reg = at->space == WRC_SP_REG, trash = reg && at->at == WRC_REG_TRASH;
	unsigned int r;

	vary8(m, who, "space", &at->space, WRC_NR_SPACES);
	vary8(m, who, trash ? "trash off" : "off", &at->off, 9);
	for (r = 0; reg && r <= WRC_SCRATCH; r += 8)
		set8(m, who, trash ? "trash register" : "register", &at->at, r);
	if (at->space != WRC_SP_FIELD)
		return;
	vary8(m, who, "at", &at->at, m->good->nr_insn);
	vary8(m, who, "field", &at->field, WRC_NR_FIELDS);
	vary8(m, who, "sge", &at->sge, 3);
	vary_delta(m, who, "delta", &at->delta);
}

/* ---- the order of instructions ---------------------------------------------------- */

/* Where an instruction goes; WRC_NONE: nowhere. */
typedef __u8 (*renumber)(__u8 number, unsigned int at);

static __u8 dropped(__u8 number, unsigned int at)
{
	if (number == at)
		return WRC_NONE;
	return number > at && number < WRC_NEXT_HEAD ? number - 1 : number;
}

static __u8 doubled(__u8 number, unsigned int at)
{
	return number > at && number < WRC_NEXT_HEAD ? number + 1 : number;
}

static __u8 exchanged(__u8 number, unsigned int at)
{
	if (number == at)
		return at + 1;
	return number == at + 1 ? at : number;
}

static void move_ref(struct wrc_ref *ref, renumber to, unsigned int at)
{
	if (ref->space != WRC_SP_FIELD)
		return;
	ref->at = to(ref->at, at);
	/* What would go to an instruction that there is not goes nowhere. */
	if (ref->at == WRC_NONE)
		*ref = wrc_reg(WRC_REG_TRASH, 0);
}

static void move_insn(struct wrc_insn *insn, renumber to, unsigned int at)
{
	unsigned int j;

	if ((insn->op == WRC_WQE_WAIT && insn->target != WRC_RECV) ||
	    (insn->op == WRC_WQE_SEND_EN && insn->target != WRC_NEXT_HEAD))
		insn->target = to(insn->target, at);
	move_ref(&insn->remote, to, at);
	for (j = 0; j < insn->nr_sge; j++)
		move_ref(&insn->sge[j].at, to, at);
}

static void move_all(struct wrc_prog *prog, renumber to, unsigned int at)
{
	struct wrc_hold *h = &prog->hold;
	__u8 *const numbers[] = {
		&h->slot_taken, &h->page_taken, &h->page_put, &h->swapped,
		&h->umr, &prog->post, &prog->map, &prog->choice, &prog->turns,
	};
	struct wrc_ref *const refs[] = { &h->slot, &h->page, &h->tt, &h->old };
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++)
		move_insn(&prog->insn[i], to, at);
	for (i = 0; i < prog->nr_args; i++)
		move_ref(&prog->arg[i].to, to, at);
	for (i = 0; i < ARRAY_LEN(refs); i++)
		move_ref(refs[i], to, at);
	for (i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = to(*numbers[i], at);
}

static void drop(struct mutants *m, unsigned int at, const char *who)
{
	struct wrc_prog *p = &m->now;

	memmove(&p->insn[at], &p->insn[at + 1],
		(p->nr_insn - at - 1) * sizeof(p->insn[0]));
	p->nr_insn--;
	p->nr_head -= at < p->nr_head;
	move_all(p, dropped, at);
	/* The first of the rows READ may be gone, and the others not. */
	if (p->turns == WRC_NONE && m->good->turns != WRC_NONE)
		p->turns = at;
	if (at >= m->good->turns &&
	    at < (unsigned int)m->good->turns + m->good->nr_reads)
		p->nr_reads--;
	made(m, "%s dropped", who);
}

static void twice(struct mutants *m, unsigned int at, const char *who)
{
	struct wrc_prog *p = &m->now;

	if (p->nr_insn == WRC_MAX_INSN)
		return;
	memmove(&p->insn[at + 1], &p->insn[at],
		(p->nr_insn - at) * sizeof(p->insn[0]));
	p->nr_insn++;
	p->nr_head += at < p->nr_head;
	move_all(p, doubled, at);
	made(m, "%s twice", who);
}

/* A copy of what is at `from`, before `at`, which is not 0. */
static void insert(struct mutants *m, unsigned int from, unsigned int at,
		   const char *who)
{
	struct wrc_prog *p = &m->now;

	if (p->nr_insn == WRC_MAX_INSN)
		return;
	memmove(&p->insn[at + 1], &p->insn[at],
		(p->nr_insn - at) * sizeof(p->insn[0]));
	p->insn[at] = m->good->insn[from];
	p->nr_insn++;
	p->nr_head += at < p->nr_head;
	move_all(p, doubled, at - 1);
	made(m, "%s again before %u", who, at);
}

static void swap(struct mutants *m, unsigned int at, const char *who)
{
	struct wrc_prog *p = &m->now;
	struct wrc_insn first;

	if (at + 1 >= p->nr_insn || p->insn[at].queue != p->insn[at + 1].queue)
		return;
	first = p->insn[at];
	p->insn[at] = p->insn[at + 1];
	p->insn[at + 1] = first;
	move_all(p, exchanged, at);
	made(m, "%s behind the next", who);
}

/* ---- an instruction ------------------------------------------------------------- */

static void vary_flags(struct mutants *m, const char *who, __u8 *at)
{
	static const struct {
		__u8 flag;
		const char *name;
	} flags[] = {
		{ WRC_I_SIGNALED, "signaled" }, { WRC_I_FENCE, "fence" },
		{ WRC_I_MAYBE, "maybe" }, { WRC_I_ANSWER, "answer" },
		{ WRC_I_EXCHANGE, "exchange" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		bool was = *at & flags[i].flag;

		*at ^= flags[i].flag;
		made(m, "%s %s %s", who, was ? "without" : "with",
		     flags[i].name);
	}
}

static void vary_op(struct mutants *m, const char *who, struct wrc_insn *insn)
{
	__u8 was = insn->op;
	unsigned int op;

	for (op = 0; op < 256; op++) {
		const struct wrc_opdef *def = wrc_opdef(op);

		if (!def || op == was)
			continue;
		insn->op = op;
		made(m, "%s is %s", who, def->name);
		/* And with as many segments as it takes. */
		if (insn->nr_sge <= def->max_sge &&
		    insn->nr_sge >= def->min_sge)
			continue;
		insn->op = op;
		insn->nr_sge = def->max_sge ? 1 : 0;
		made(m, "%s is %s, segments", who, def->name);
	}
	if (insn->flags & WRC_I_ANSWER)
		vary8(m, who, "quiet", &insn->quiet, WRC_WQE_WRITE_IMM + 1);
}

static void vary_operands(struct mutants *m, const char *who,
			  struct wrc_insn *insn)
{
	char name[48];
	unsigned int j, n = insn->nr_sge;

	vary_count(m, who, "segments", &insn->nr_sge);
	if (insn->remote.space != WRC_SP_NONE) {
		snprintf(name, sizeof(name), "%s remote", who);
		vary_ref(m, name, &insn->remote);
	}
	for (j = 0; j < n; j++) {
		snprintf(name, sizeof(name), "%s sge%u", who, j);
		vary_ref(m, name, &insn->sge[j].at);
		vary32(m, name, "len", &insn->sge[j].len);
	}
	if (insn->op != WRC_WQE_MASKED_CS && insn->op != WRC_WQE_MASKED_FA)
		return;
	vary64(m, who, "swap", &insn->swap);
	vary64(m, who, "compare", &insn->compare);
	vary64(m, who, "swap_mask", &insn->swap_mask);
	vary64(m, who, "compare_mask", &insn->compare_mask);
}

static const char *insn_name(const struct wrc_prog *prog, unsigned int at,
			     char name[32])
{
	snprintf(name, 32, "%s%u %s", prog->insn[at].queue ? "c" : "l", at,
		 wrc_opdef(prog->insn[at].op)->name);
	return name;
}

static void vary_insn(struct mutants *m, unsigned int at)
{
	struct wrc_insn *insn = &m->now.insn[at];
	char who[32];

	insn_name(m->good, at, who);
	drop(m, at, who);
	twice(m, at, who);
	swap(m, at, who);
	vary_op(m, who, insn);
	vary_flags(m, who, &insn->flags);
	vary8(m, who, "queue", &insn->queue, WRC_NR_QUEUES);
	if (insn->op == WRC_WQE_WAIT || insn->op == WRC_WQE_SEND_EN)
		vary_number(m, who, "target", &insn->target);
	vary_operands(m, who, insn);
}

/* ---- the program --------------------------------------------------------------- */

static void vary_hold(struct mutants *m)
{
	struct wrc_hold *h = &m->now.hold;

	vary_number(m, "hold", "slot_taken", &h->slot_taken);
	vary_number(m, "hold", "page_taken", &h->page_taken);
	vary_number(m, "hold", "page_put", &h->page_put);
	vary_number(m, "hold", "swapped", &h->swapped);
	vary_number(m, "hold", "umr", &h->umr);
	vary_flag(m, "hold", "freeing", &h->freeing);
	vary_flag(m, "hold", "lent", &h->lent);
	vary_ref(m, "hold slot", &h->slot);
	vary_ref(m, "hold page", &h->page);
	vary_ref(m, "hold tt", &h->tt);
	vary_ref(m, "hold old", &h->old);
}

static void vary_args(struct mutants *m)
{
	struct wrc_prog *p = &m->now;
	unsigned int i;
	char who[16];

	for (i = 0; i < m->good->nr_args; i++) {
		snprintf(who, sizeof(who), "arg%u", i);
		vary16(m, who, "off", &p->arg[i].off);
		vary16(m, who, "len", &p->arg[i].len);
		vary_ref(m, who, &p->arg[i].to);
		memmove(&p->arg[i], &p->arg[i + 1],
			(p->nr_args - i - 1) * sizeof(p->arg[0]));
		p->nr_args--;
		made(m, "%s dropped", who);
	}
}

static void vary_claims(struct mutants *m)
{
	struct wrc_prog *p = &m->now;
	unsigned int nr = m->good->nr_insn;

	vary8(m, "program", "kind", &p->kind, WRC_KIND_LADDER_HOST + 1);
	vary_flag(m, "program", "strict", &p->strict);
	vary_flag(m, "program", "page", &p->page);
	vary_flag(m, "program", "node", &p->node);
	vary8(m, "program", "nr_head", &p->nr_head, nr);
	vary_number(m, "program", "post", &p->post);
	vary_number(m, "program", "map", &p->map);
	vary_number(m, "program", "choice", &p->choice);
	vary_number(m, "program", "turns", &p->turns);
	vary8(m, "program", "nr_reads", &p->nr_reads, WRC_TURN_READS);
}

void mutants_of_insertions(struct mutants *m)
{
	const struct wrc_prog *good = m->good;
	unsigned int from, at;
	char who[32];

	m->now = *good;
	for (from = 0; from < good->nr_insn; from++)
		for (at = 1; at < good->nr_insn; at++) {
			if (at == from + 1 ||	/* that one is "twice" */
			    good->insn[at].queue != good->insn[from].queue)
				continue;
			insn_name(good, from, who);
			insert(m, from, at, who);
		}
}

void mutants_of_source(struct mutants *m)
{
	unsigned int i;

	m->now = *m->good;
	for (i = 0; i < m->good->nr_insn; i++)
		vary_insn(m, i);
	vary_args(m);
	vary_hold(m);
	vary_claims(m);
}

/* ---- what the linker has made ---------------------------------------------------- */

static void vary_patch(struct mutants *m, unsigned int i)
{
	struct wrc_prog *p = &m->now;
	struct wrc_patch *q = &p->patch[i];
	unsigned int nr = m->good->nr_insn;
	char who[16];

	snprintf(who, sizeof(who), "patch%u", i);
	set8(m, who, "source", &q->source, q->source == WRC_RECV ?
						   nr - 2 : WRC_RECV);
	vary_count(m, who, "width", &q->width);
	set16(m, who, "off", &q->off, q->off + 1);
	vary8(m, who, "queue", &q->queue, WRC_NR_QUEUES);
	vary_delta(m, who, "delta", &q->delta);
	set8(m, who, "insn", &q->insn, (q->insn + 1) % nr);
	set8(m, who, "field", &q->field, (q->field + 1) % WRC_NR_FIELDS);
	set8(m, who, "sge", &q->sge, !q->sge);
	vary_count(m, who, "field_off", &q->field_off);
	p->patch[i] = p->patch[--p->nr_patches];
	made(m, "%s dropped", who);
}

static void vary_scatter(struct mutants *m, unsigned int i)
{
	struct wrc_scatter *s = &m->now.scatter[i];
	char who[16];

	snprintf(who, sizeof(who), "recv%u", i);
	vary16(m, who, "off", &s->off);
	vary16(m, who, "len", &s->len);
	vary8(m, who, "delta", &s->delta, 3);
	vary_ref(m, who, &s->to);
}

static void vary_word(struct mutants *m, unsigned int i)
{
	struct wrc_word *w = &m->now.word[i];
	char who[16];

	snprintf(who, sizeof(who), "word%u", i);
	vary8(m, who, "kind", &w->kind, WRC_WORD_END + 1);
	vary8(m, who, "delta", &w->delta, 3);
	vary8(m, who, "insn", &w->insn, m->good->nr_insn);
	vary8(m, who, "width", &w->width, 9);
	vary16(m, who, "off", &w->off);
}

static void vary_sizes(struct mutants *m)
{
	struct wrc_prog *p = &m->now;
	unsigned int i;

	vary_count(m, "program", "cqes", &p->cqes);
	vary_count(m, "program", "client_cqes", &p->client_cqes);
	vary8(m, "program", "page_sge", &p->page_sge, m->good->nr_scatter);
	vary16(m, "program", "req_len", &p->req_len);
	vary16(m, "program", "tail_len", &p->tail_len);
	for (i = 0; i < m->good->nr_reads; i++)
		vary16(m, "program", "row_len", &p->row_len[i]);
	p->nr_words--;
	if (m->good->nr_words)
		made(m, "last word dropped");
	p->nr_words = m->good->nr_words;
	p->nr_scatter--;
	made(m, "last segment of the receive entry dropped");
	for (i = 0; i < m->good->nr_insn; i++) {
		char who[32];

		insn_name(m->good, i, who);
		if (m->good->insn[i].flags & WRC_I_SIGNALED)
			vary8(m, who, "cqe", &p->insn[i].cqe,
			      m->good->cqes + 1);
	}
}

void mutants_of_linked(struct mutants *m)
{
	unsigned int i;

	m->now = *m->good;
	for (i = 0; i < m->good->nr_patches; i++)
		vary_patch(m, i);
	for (i = 0; i < m->good->nr_scatter; i++)
		vary_scatter(m, i);
	for (i = 0; i < m->good->nr_words; i++)
		vary_word(m, i);
	vary_sizes(m);
}
