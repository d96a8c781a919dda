// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Verifier: rules that look at one WQE: form, key, address, atomic. */
#include "check.h"

static bool rule_is_on(const struct wrc_check *c, enum wrc_rule rule)
{
	return c->rules & 1u << rule;
}

/* Offsets must be those this program gets at this depth: recompute them. */
int wrc_check_geom(struct wrc_check *c)
{
	const struct wrc_geom *g = c->ctx.geom;
	struct wrc_geom want;

	if (wrc_geom_init(c->ctx.prog, g->depth, &want))
		return wrc_refuse_all(c, WRC_RULE_FORM,
				      "no geometry of depth %u", g->depth);
	if (want.loop_bb != g->loop_bb || want.client_bb != g->client_bb ||
	    want.log_loop_sq != g->log_loop_sq ||
	    want.log_client_sq != g->log_client_sq ||
	    want.log_rq != g->log_rq ||
	    want.log_rq_stride != g->log_rq_stride ||
	    want.loop_sq != g->loop_sq || want.client_sq != g->client_sq ||
	    want.client_rq != g->client_rq || want.loop_dbr != g->loop_dbr ||
	    want.client_dbr != g->client_dbr || want.scratch != g->scratch ||
	    want.arena_len != g->arena_len || want.buf_len != g->buf_len ||
	    want.start_bb != g->start_bb || want.rq_posted != g->rq_posted ||
	    want.req_len != g->req_len || want.table_len != g->table_len ||
	    want.table_classes != g->table_classes ||
	    want.table_choice != g->table_choice ||
	    memcmp(want.table_class, g->table_class, sizeof(g->table_class)) ||
	    memcmp(want.table_row, g->table_row, sizeof(g->table_row)) ||
	    memcmp(want.table_stride, g->table_stride,
		   sizeof(g->table_stride)))
		return wrc_refuse_all(c, WRC_RULE_FORM,
				      "the geometry is not that of %s with %u instances",
				      c->ctx.prog->name, g->depth);
	return 0;
}

int wrc_check_form(struct wrc_check *c, __u32 instance, unsigned int insn)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	const struct wrc_bind *bind = c->ctx.bind;
	const __u8 *wqe = wrc_check_wqe(c, instance, insn);
	__u32 qpn = i->queue == WRC_LOOP ? bind->loop_qpn : bind->client_qpn;
	__u8 flags = i->flags & WRC_I_SIGNALED ? WRC_WQE_CE_ALWAYS : 0;
	struct wrc_wr wr;
	int n;

	if (i->flags & WRC_I_FENCE)
		flags |= WRC_WQE_FM_FENCE;
	n = wrc_decode(wqe, i->nr_bb * WRC_WQE_BB, i->op, &wr);
	if (n < 0)
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "is malformed, %s",
				  wrc_decode_why(wqe, i->nr_bb * WRC_WQE_BB,
						 i->op));
	if ((n + WRC_WQE_BB - 1) / WRC_WQE_BB != i->nr_bb)
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "has %d bytes and should take %u blocks", n,
				  i->nr_bb);
	if (wr.op != (i->flags & WRC_I_MAYBE ? WRC_WQE_NOP : i->op))
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "is opcode 0x%02x before anybody made it one",
				  wr.op);
	if (wr.qpn != qpn)
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "says queue pair 0x%x and lies in 0x%x",
				  wr.qpn, qpn);
	if (wr.inl_len || wr.nr_sge != i->nr_sge)
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "has %u data segments instead of %u",
				  wr.nr_sge, i->nr_sge);
	if (wr.flags != flags)
		return wrc_refuse(c, WRC_RULE_FORM, instance, insn,
				  "has completion flags 0x%02x, not its program's",
				  wr.flags);
	return 0;
}

static int key_check(struct wrc_check *c, __u32 instance, unsigned int insn,
		     const char *what, __u32 key, __u32 want,
		     enum wrc_class class)
{
	if (key == want)
		return 0;
	return wrc_refuse(c, WRC_RULE_KEY, instance, insn,
			  "has %s 0x%x where it needs that of class %s, 0x%x",
			  what, key, wrc_class_name(class), want);
}

static int keys_check(struct wrc_check *c, __u32 instance, unsigned int insn,
		      const struct wrc_wr *wr)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	const struct wrc_bind *b = c->ctx.bind;
	enum wrc_class class;
	unsigned int j;
	int err = 0;

	class = wrc_space_class((enum wrc_space)i->remote.space);
	if (i->remote.space != WRC_SP_NONE)
		err = key_check(c, instance, insn, "rkey", wr->rkey,
				wrc_remote_key(b, class), class);
	for (j = 0; !err && j < wr->nr_sge && j < i->nr_sge; j++) {
		class = wrc_space_class((enum wrc_space)i->sge[j].at.space);
		err = key_check(c, instance, insn, "lkey", wr->sge[j].lkey,
				wrc_class_key(b, class), class);
	}
	return err;
}

/* A place known beforehand must be exactly the program's. */
static int place_check(struct wrc_check *c, __u32 instance, unsigned int insn,
		       const char *what, __u64 addr, struct wrc_ref ref)
{
	__u64 want = wrc_ref_addr(c->ctx.prog, c->ctx.geom, c->ctx.bind, ref,
				  instance);

	if (!wrc_space_static((enum wrc_space)ref.space) || addr == want)
		return 0;
	return wrc_refuse(c, WRC_RULE_ADDRESS, instance, insn,
			  "has %s 0x%llx outside its own %s, 0x%llx", what,
			  (unsigned long long)addr,
			  wrc_class_name(wrc_space_class(
				  (enum wrc_space)ref.space)),
			  (unsigned long long)want);
}

/* Scattered results are rule patch's; here is all else. */
static int addresses_check(struct wrc_check *c, __u32 instance, unsigned int insn,
			   const struct wrc_wr *wr)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	const struct wrc_opdef *def = wrc_opdef(i->op);
	unsigned int j;
	int err = 0;

	if (i->remote.space != WRC_SP_NONE)
		err = place_check(c, instance, insn, "raddr", wr->raddr,
				  i->remote);
	if (!err && !i->nr_sge && wr->raddr &&
	    !wrc_check_is_patched(c->ctx.prog, insn, WRC_F_RADDR, 0))
		return wrc_refuse(c, WRC_RULE_ADDRESS, instance, insn,
				  "has raddr 0x%llx and nothing to write there",
				  (unsigned long long)wr->raddr);
	for (j = 0; !err && j < wr->nr_sge && j < i->nr_sge; j++) {
		if (wr->sge[j].len != i->sge[j].len)
			return wrc_refuse(c, WRC_RULE_ADDRESS, instance, insn,
					  "has a segment of %u bytes instead of %u",
					  wr->sge[j].len, i->sge[j].len);
		if (def->flags & WRC_OP_SCATTER &&
		    i->sge[j].at.space == WRC_SP_FIELD)
			continue;
		err = place_check(c, instance, insn, "addr", wr->sge[j].addr,
				  i->sge[j].at);
	}
	return err;
}

/* An operand that changes while the chain runs, but for what rule own knows. */
static bool has_operand_written(const struct wrc_prog *prog, unsigned int insn)
{
	const struct wrc_insn *i = &prog->insn[insn];

	if (i->op == WRC_WQE_MASKED_CS && i->flags & WRC_I_EXCHANGE)
		return false;
	return wrc_check_is_patched(prog, insn, i->op == WRC_WQE_MASKED_CS ?
				    WRC_F_MSWAP : WRC_F_ADD, 0);
}

static int atomic_check(struct wrc_check *c, __u32 instance, unsigned int insn,
			const struct wrc_wr *wr)
{
	__u64 add, boundary, swap = 0;

	if (has_operand_written(c->ctx.prog, insn))
		return wrc_refuse(c, WRC_RULE_ATOMIC, instance, insn,
				  "has an operand that comes at run time");
	wrc_ring_step(c->ctx.bind, &add, &boundary);
	switch (wr->shape) {
	case WRC_WQE_MASKED_CS:
		if (c->ctx.prog->insn[insn].flags & WRC_I_EXCHANGE)
			swap = wr->swap;	/* rule own knows it */
		if (wr->compare_mask || wr->compare || wr->swap != swap ||
		    ~wr->swap_mask)
			return wrc_refuse(c, WRC_RULE_ATOMIC, instance, insn,
					  "does not move: it must leave 0, always");
		return 0;
	case WRC_WQE_MASKED_FA:
		if (wr->swap != add || wr->compare != boundary)
			return wrc_refuse(c, WRC_RULE_ATOMIC, instance, insn,
					  "does not step by a slot within a ring of 2^%u bytes",
					  c->ctx.bind->log_free_ring);
		return 0;
	case WRC_WQE_CS:
	case WRC_WQE_FA:
		return wrc_refuse(c, WRC_RULE_ATOMIC, instance, insn,
				  "can neither move nor stay in a ring");
	default:
		return 0;
	}
}

int wrc_check_wr(struct wrc_check *c, __u32 instance, unsigned int insn,
		 const struct wrc_wr *wr)
{
	int err = 0;

	if (rule_is_on(c, WRC_RULE_KEY))
		err = keys_check(c, instance, insn, wr);
	if (!err && rule_is_on(c, WRC_RULE_ADDRESS))
		err = addresses_check(c, instance, insn, wr);
	if (!err && rule_is_on(c, WRC_RULE_ATOMIC))
		err = atomic_check(c, instance, insn, wr);
	return err;
}

/* The queue's own memory may have one key. */
static bool is_own(enum wrc_class class)
{
	return class == WRC_CL_ARENA || class == WRC_CL_BUF;
}

/*
 * What is an address under one key must be none under another: a client chooses
 * those under the table's.
 */
int wrc_check_keys(struct wrc_check *c)
{
	const struct wrc_bind *b = c->ctx.bind;
	const struct {
		enum wrc_class class;
		__u32 key;	/* 0: there is none */
	} role[] = {
		{ WRC_CL_ARENA, b->arena_key },
		{ WRC_CL_ARENA, b->arena_rkey },
		{ WRC_CL_BUF, b->buf_key },
		{ WRC_CL_TT, b->tt_key },
		{ WRC_CL_FREE, b->free_key },
		{ WRC_CL_POOL, b->pool_key },
		{ WRC_CL_KEYMAP, b->keymap_key },
		{ WRC_CL_TURN, b->table ? b->table_key : 0 },
	};
	const unsigned int n = sizeof(role) / sizeof(role[0]);
	unsigned int i, j;

	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++) {
			if (!role[i].key || role[i].key != role[j].key ||
			    (is_own(role[i].class) && is_own(role[j].class)))
				continue;
			return wrc_refuse_all(c, WRC_RULE_KEY,
					      "key 0x%x opens class %s and class %s",
					      role[i].key,
					      wrc_class_name(role[i].class),
					      wrc_class_name(role[j].class));
		}
	return 0;
}

/* What the keys open must be where the programs rely on it to be. */
int wrc_check_bind(struct wrc_check *c)
{
	const struct wrc_bind *b = c->ctx.bind;
	__u8 log = b->log_free_ring;
	__u64 ring = 1ull << log, first = b->free_ring & ~(ring - 1);

	if (b->tt_iova)
		return wrc_refuse_all(c, WRC_RULE_ADDRESS,
				      "the table starts at 0x%llx, and requests count from 0",
				      (unsigned long long)b->tt_iova);
	if (b->free_ring & (ring - 1))
		return wrc_refuse_all(c, WRC_RULE_ADDRESS,
				      "the free ring at 0x%llx is not aligned to its 2^%u bytes",
				      (unsigned long long)b->free_ring, log);
	if (b->free_head & 7 || b->free_tail & 7 ||
	    b->free_head == b->free_tail ||
	    b->free_head - first < ring || b->free_tail - first < ring)
		return wrc_refuse_all(c, WRC_RULE_ADDRESS,
				      "counters 0x%llx and 0x%llx are not words outside the ring",
				      (unsigned long long)b->free_head,
				      (unsigned long long)b->free_tail);
	if (!b->pool_len || b->pool_len > WRC_POOL_MAX ||
	    b->pool_len & (ODRP_WIRE_PAGE_SIZE - 1))
		return wrc_refuse_all(c, WRC_RULE_ADDRESS,
				      "a pool of 0x%llx bytes does not fit 0x%llx bytes of pages",
				      (unsigned long long)b->pool_len,
				      WRC_POOL_MAX);
	return 0;
}
