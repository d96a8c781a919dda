// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verifier: driver, and what its rules share; see check.h. */
#include "check.h"

const char *wrc_rule_name(enum wrc_rule rule)
{
	static const char *const names[WRC_NR_RULES] = {
		[WRC_RULE_FORM] = "form",
		[WRC_RULE_KEY] = "key",
		[WRC_RULE_ADDRESS] = "address",
		[WRC_RULE_PATCH] = "patch",
		[WRC_RULE_ORDER] = "order",
		[WRC_RULE_ANSWER] = "answer",
		[WRC_RULE_BALANCE] = "balance",
		[WRC_RULE_INDEX] = "index",
		[WRC_RULE_RQ] = "rq",
		[WRC_RULE_ATOMIC] = "atomic",
		[WRC_RULE_FLOW] = "flow",
		[WRC_RULE_OWN] = "own",
		[WRC_RULE_TABLE] = "table",
		[WRC_RULE_KEYED] = "keyed",
		[WRC_RULE_MOVE] = "move",
		[WRC_RULE_GRACE] = "grace",
	};

	return names[rule];
}

int wrc_refuse(struct wrc_check *c, enum wrc_rule rule, __u32 instance,
	       unsigned int insn, const char *fmt, ...)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	va_list ap;

	wrc_text_add(&c->why, "%s: ", wrc_rule_name(rule));
	wrc_dis_label(&c->why, c->ctx.prog, insn);
	wrc_text_add(&c->why, "@%u ", instance);
	va_start(ap, fmt);
	wrc_text_add_va(&c->why, fmt, ap);
	va_end(ap);
	wrc_text_add(&c->why, ": `");
	wrc_dis_bytes(&c->why, &c->ctx, wrc_check_wqe(c, instance, insn),
		      i->nr_bb * WRC_WQE_BB, i->op);
	wrc_text_add(&c->why, "`");
	return -EPERM;
}

int wrc_refuse_all(struct wrc_check *c, enum wrc_rule rule,
		   const char *fmt, ...)
{
	va_list ap;

	wrc_text_add(&c->why, "%s: ", wrc_rule_name(rule));
	va_start(ap, fmt);
	wrc_text_add_va(&c->why, fmt, ap);
	va_end(ap);
	return -EPERM;
}

const __u8 *wrc_check_wqe(const struct wrc_check *c, __u32 instance,
			  unsigned int insn)
{
	return c->arena +
	       wrc_insn_off(c->ctx.prog, c->ctx.geom, insn, instance);
}

bool wrc_check_decode(const struct wrc_check *c, __u32 instance,
		      unsigned int insn, struct wrc_wr *ret_wr)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];

	return wrc_decode(wrc_check_wqe(c, instance, insn),
			  i->nr_bb * WRC_WQE_BB, i->op, ret_wr) > 0;
}

int wrc_check_recv(const struct wrc_check *c, __u32 instance,
		   struct wrc_sge sge[WRC_MAX_RECV_SGE])
{
	__u8 stride = c->ctx.geom->log_rq_stride;

	return wrc_decode_recv(c->arena + c->ctx.geom->client_rq +
				       (instance << stride),
			       (size_t)1 << stride, sge);
}

__u32 wrc_check_word(const struct wrc_check *c, unsigned int word, __s64 r)
{
	const struct wrc_word_rule *w = &c->words[word];
	__u32 value = be16_to_cpu(w->base) + (__u32)r * w->step;

	if (w->kind >= WRC_WORD_ANSWER)
		return be16_to_cpu(w->base);
	return value & (w->kind == WRC_WORD_WAIT ? WRC_WQE_WAIT_MASK :
							 WRC_WQE_EN_MASK);
}

int wrc_check_word_of(const struct wrc_check *c, unsigned int insn,
		      enum wrc_word_kind kind)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = 0; i < prog->nr_words; i++)
		if (prog->word[i].kind == kind && prog->word[i].insn == insn)
			return i;
	return -1;
}

/* A fence is about READs and atomics of its own queue, and no other work. */
bool wrc_check_fenced(const struct wrc_check *c, unsigned int source,
		      unsigned int at)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	if (!c->ctx.bind->fence_orders || source >= prog->nr_insn ||
	    prog->insn[source].queue != WRC_LOOP ||
	    !(wrc_opdef(prog->insn[source].op)->flags & WRC_OP_SCATTER))
		return false;
	for (i = source + 1; i <= at && i < prog->nr_insn; i++)
		if (prog->insn[i].queue == WRC_LOOP &&
		    prog->insn[i].flags & WRC_I_FENCE)
			return true;
	return false;
}

bool wrc_check_known(const struct wrc_check *c, unsigned int source,
		     unsigned int at)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u8 queue = prog->insn[source].queue;
	unsigned int i, first = source;

	if (wrc_check_fenced(c, source, at))
		return true;
	/* Completions come in order: a later one will do. */
	while (first < prog->nr_insn &&
	       (prog->insn[first].queue != queue ||
		!(prog->insn[first].flags & WRC_I_SIGNALED)))
		first++;
	if (first == prog->nr_insn)
		return false;
	for (i = 0; i < at; i++) {
		const struct wrc_insn *wait = &prog->insn[i];

		if (wait->op == WRC_WQE_WAIT && wait->target < prog->nr_insn &&
		    prog->insn[wait->target].queue == queue &&
		    prog->insn[wait->target].cqe >= prog->insn[first].cqe)
			return true;
	}
	return false;
}

bool wrc_check_touches_page(const struct wrc_insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->nr_sge; i++)
		if (insn->sge[i].at.space == WRC_SP_POOL)
			return true;
	return insn->remote.space == WRC_SP_POOL;
}

bool wrc_check_is_patched(const struct wrc_prog *prog, unsigned int insn,
			  enum wrc_field field, unsigned int sge)
{
	unsigned int i;

	for (i = 0; i < prog->nr_patches; i++)
		if (prog->patch[i].insn == insn &&
		    prog->patch[i].field == field && prog->patch[i].sge == sge)
			return true;
	return false;
}

/* Do len bytes at a place hit the register? */
static bool hits_register(struct wrc_ref at, __u32 len, struct wrc_ref reg)
{
	__u32 from = at.at + at.off, want = reg.at + reg.off;

	return at.space == WRC_SP_REG && from < want + sizeof(__be64) &&
	       want < from + len;
}

/* A READ or atomic with one segment, which is just that register? */
static bool is_whole(const struct wrc_insn *i, struct wrc_ref reg)
{
	struct wrc_ref at = i->sge[0].at;

	return wrc_opdef(i->op)->flags & WRC_OP_SCATTER && i->nr_sge == 1 &&
	       i->sge[0].len == sizeof(__be64) && at.space == WRC_SP_REG &&
	       at.at + at.off == reg.at + reg.off;
}

static bool writes_register(const struct wrc_insn *i, struct wrc_ref reg)
{
	__u8 flags = wrc_opdef(i->op)->flags;
	__u32 len = 0;
	unsigned int j;

	for (j = 0; j < i->nr_sge; len += i->sge[j++].len)
		if (flags & WRC_OP_SCATTER &&
		    hits_register(i->sge[j].at, i->sge[j].len, reg))
			return true;
	return flags & WRC_OP_RWRITE && hits_register(i->remote, len, reg);
}

__u8 wrc_check_writer(const struct wrc_prog *prog, struct wrc_ref reg,
		      bool *ret_alone)
{
	unsigned int i, n = 0;
	__u8 found = WRC_NONE;

	*ret_alone = true;
	for (i = 0; i < prog->nr_scatter; i++)
		if (hits_register(prog->scatter[i].to, prog->scatter[i].len, reg))
			*ret_alone = false;
	for (i = 0; i < prog->nr_insn; i++) {
		if (is_whole(&prog->insn[i], reg)) {
			found = i;
			n++;
		} else if (writes_register(&prog->insn[i], reg)) {
			*ret_alone = false;
		}
	}
	return n == 1 ? found : WRC_NONE;
}

static bool rule_is_on(const struct wrc_check *c, enum wrc_rule rule)
{
	return c->rules & 1u << rule;
}

/* The rules that look at one WQE at a time. */
static int check_wqes(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	struct wrc_wr wr;
	unsigned int i;
	__u32 instance;
	int err = 0;

	for (instance = 0; instance < c->ctx.geom->depth; instance++)
		for (i = 0; !err && i < prog->nr_insn; i++) {
			if (rule_is_on(c, WRC_RULE_FORM))
				err = wrc_check_form(c, instance, i);
			if (!err && wrc_check_decode(c, instance, i, &wr))
				err = wrc_check_wr(c, instance, i, &wr);
		}
	return err;
}

int wrc_check_rules(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, const void *arena,
		    unsigned int rules, char why[WRC_WHY_MAX])
{
	struct wrc_check c;
	int err;

	memset(&c, 0, sizeof(c));
	c.ctx.prog = prog;
	c.ctx.geom = geom;
	c.ctx.bind = bind;
	c.arena = arena;
	c.rules = rules;
	wrc_text_init(&c.why, why, WRC_WHY_MAX);

	err = wrc_check_geom(&c);	/* all others rely on it */
	if (err)
		return err;
	c.nr_words = wrc_words(prog, geom, c.words);
	if (c.nr_words < 0)
		return wrc_refuse_all(&c, WRC_RULE_INDEX,
				      "a recycle word does not fit its formula");
	if (rule_is_on(&c, WRC_RULE_KEY))
		err = wrc_check_keys(&c);
	if (!err && rule_is_on(&c, WRC_RULE_ADDRESS))
		err = wrc_check_bind(&c);
	if (!err)
		err = check_wqes(&c);
	if (!err && rule_is_on(&c, WRC_RULE_PATCH))
		err = wrc_check_patches(&c);
	if (!err)
		err = wrc_check_run(&c);
	if (!err && rule_is_on(&c, WRC_RULE_RQ))
		err = wrc_check_rq(&c);
	if (!err && rule_is_on(&c, WRC_RULE_FLOW))
		err = wrc_check_flow(&c);
	if (!err && rule_is_on(&c, WRC_RULE_OWN))
		err = wrc_check_own(&c);
	if (!err && rule_is_on(&c, WRC_RULE_TABLE))
		err = wrc_check_turns(&c);
	if (!err && rule_is_on(&c, WRC_RULE_KEYED))
		err = wrc_check_keyed(&c);
	if (!err && rule_is_on(&c, WRC_RULE_MOVE))
		err = wrc_check_move(&c);
	if (!err && rule_is_on(&c, WRC_RULE_GRACE))
		err = wrc_check_grace(&c);
	return err;
}

int wrc_image_check(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, const void *arena,
		    char why[WRC_WHY_MAX])
{
	return wrc_check_rules(prog, geom, bind, arena, WRC_ALL_RULES, why);
}
