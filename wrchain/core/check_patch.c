// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule patch: who writes what in the ring.
 *
 * Two halves.  The program's relocations must be harmless: whole fields, of
 * the same instance (or, by the request, the next head), which that source may
 * write, and no open address left open.  And the bytes must do exactly those:
 * every byte that a receive entry or a result puts into the arena is followed
 * to the field it hits.
 */
#include "check.h"

#define RULE WRC_RULE_PATCH

static const struct wrc_fielddef *field_of(const struct wrc_patch *p)
{
	return wrc_fielddef((enum wrc_field)p->field);
}

static bool same_field(const struct wrc_prog *prog, const struct wrc_patch *a,
		       const struct wrc_patch *b)
{
	/* High and low bytes come from two rows. */
	bool rows = wrc_is_turn(prog, a->source) &&
		    wrc_is_turn(prog, b->source);

	return (rows || a->source == b->source) && a->insn == b->insn &&
	       a->field == b->field && a->sge == b->sge && a->delta == b->delta;
}

/* Do all patches of this source together cover the field? */
static bool covers_field(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	unsigned int i, mask = 0;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *q = &prog->patch[i];

		if (!same_field(prog, p, q))
			continue;
		if ((unsigned int)q->field_off + q->width > field_of(q)->width)
			return false;
		mask |= ((1u << q->width) - 1) << q->field_off;
	}
	return mask == (1u << field_of(p)->width) - 1;
}

/* A request chooses an opcode by the last byte of an address of the node's. */
static bool is_choice(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	return prog->insn[p->insn].remote.space == WRC_SP_CHOICE &&
	       p->source == WRC_RECV && p->field == WRC_F_RADDR &&
	       p->field_off == sizeof(__be64) - 1;
}

/* True if this source may choose the opcode of the answer. */
static bool may_choose(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	if (!prog->node)
		return p->source == WRC_RECV;
	return p->source < prog->nr_insn &&
	       prog->insn[p->source].remote.space == WRC_SP_CHOICE;
}

/* Only the key map says which key a UMR changes, and where. */
static bool is_map(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	return p->source < prog->nr_insn &&
	       prog->insn[p->source].remote.space == WRC_SP_KEYMAP;
}

/* Is the field an address of which the program says where it leads? */
static bool is_fixed_place(const struct wrc_insn *target, const struct wrc_patch *p)
{
	if (p->field == WRC_F_RADDR)
		return wrc_space_static((enum wrc_space)target->remote.space);
	return p->field == WRC_F_ADDR &&
	       wrc_space_static((enum wrc_space)target->sge[p->sge].at.space);
}

static bool may_patch(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	const struct wrc_insn *target = &prog->insn[p->insn];
	bool request = p->source == WRC_RECV;
	bool turn = wrc_is_turn(prog, p->source);

	/* A UMR's key stands where others have their immediate. */
	if (p->field == WRC_F_IMM && target->op == WRC_WQE_UMR)
		return is_map(prog, p);
	if (p->field == WRC_F_RADDR && target->remote.space == WRC_SP_CHOICE)
		return is_choice(prog, p);
	/* A row renews nothing but what changes with the lap. */
	if (p->field == WRC_F_RADDR && wrc_is_turn(prog, p->insn))
		return turn;
	/*
	 * Rule address has proved where a fixed address leads.  Only the two kinds
	 * above may be written: their keys open nothing but rows and opcodes.
	 */
	if (is_fixed_place(target, p))
		return false;
	if (turn && p->field == WRC_F_RADDR)
		return wrc_is_asked(prog, p->insn);
	if (turn && field_of(p)->patchable != WRC_PATCH_COUNT)
		return false;
	switch (field_of(p)->patchable) {
	case WRC_PATCH_DECLARED:
		if (target->flags & WRC_I_ANSWER)
			return may_choose(prog, p);
		return !request && target->flags & WRC_I_MAYBE;
	case WRC_PATCH_CLIENT_KEY:
		return request && target->remote.space == WRC_SP_PEER;
	case WRC_PATCH_COUNT:
		return prog->node ? turn : request;
	case WRC_PATCH_SPOT:
		return is_map(prog, p);
	case WRC_PATCH_VALUE:
		return true;
	default:
		return false;
	}
}

static int refuse_patch(struct wrc_check *c, const struct wrc_patch *p,
			const char *what)
{
	struct wrc_text t;
	char line[80];

	wrc_text_init(&t, line, sizeof(line));
	wrc_dis_patch(&t, c->ctx.prog, p);
	return wrc_refuse(c, RULE, 0, p->insn, "%s (%s)", what, line);
}

/* The instance, by its distance, of which a source writes the words that change with the lap. */
static int delta_of(const struct wrc_prog *prog, const struct wrc_patch *p)
{
	if (!wrc_renews(prog, p->source))
		return p->queue == WRC_LOOP && !prog->node &&
		       wrc_is_head(prog, p->insn);
	if (p->queue == WRC_CLIENT)
		return 1;
	return p->insn >= prog->turns ? -1 : 0;
}

static int check_relocation(struct wrc_check *c, const struct wrc_patch *p)
{
	const struct wrc_prog *prog = c->ctx.prog;
	int delta = delta_of(prog, p);

	if (!may_patch(prog, p))
		return refuse_patch(c, p,
				    "has a field written that this source may not write");
	if (!is_choice(prog, p) && !covers_field(prog, p))
		return refuse_patch(c, p, "has a field overwritten in part");
	if (p->delta != delta)
		return refuse_patch(c, p, delta == 1 && !prog->node ?
				    "is a head armed by its own request" :
				    "is armed from another instance");
	return 0;
}

/* Every address and opcode that is open must be filled by somebody. */
static int check_open(struct wrc_check *c, unsigned int insn)
{
	const struct wrc_prog *prog = c->ctx.prog;
	const struct wrc_insn *i = &prog->insn[insn];
	unsigned int j;

	if (i->flags & WRC_I_MAYBE &&
	    !wrc_check_is_patched(prog, insn, WRC_F_OPCODE, 0))
		return wrc_refuse(c, RULE, 0, insn, "is never given its opcode");
	if (i->flags & WRC_I_ANSWER &&
	    !wrc_check_is_patched(prog, insn, WRC_F_OPCODE, 0))
		return wrc_refuse(c, RULE, 0, insn,
				  "is never an answer again after a quiet request");
	/* Where nothing is written the address does not matter. */
	if (wrc_owns(prog) && i->queue == WRC_CLIENT && !i->nr_sge)
		return 0;
	if (!wrc_space_static((enum wrc_space)i->remote.space) &&
	    !wrc_check_is_patched(prog, insn, WRC_F_RADDR, 0))
		return wrc_refuse(c, RULE, 0, insn, "is never given its raddr");
	for (j = 0; j < i->nr_sge; j++)
		if (!wrc_space_static((enum wrc_space)i->sge[j].at.space) &&
		    !wrc_check_is_patched(prog, insn, WRC_F_ADDR, j))
			return wrc_refuse(c, RULE, 0, insn,
					  "is never given the address of segment %u",
					  j);
	return 0;
}

/*
 * How many bytes from `off` on of a source's result are allowed to hit the field
 * at this place and what follows of it; 0: not even the first.
 */
static __u32 hit_declared(const struct wrc_check *c, __u8 source, __u32 off,
			  __u32 instance, const struct wrc_place *at)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u32 left, field;
	unsigned int i;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->source != source || p->insn != at->insn ||
		    p->field != at->byte.field || p->sge != at->byte.sge ||
		    ((instance + p->delta) & (c->ctx.geom->depth - 1)) !=
			    at->instance ||
		    off < p->off || off - p->off >= p->width ||
		    at->byte.off != p->field_off + (off - p->off))
			continue;
		left = p->width - (off - p->off);
		field = field_of(p)->width - at->byte.off;
		return left < field ? left : field;
	}
	return 0;
}

static int refuse_hit(struct wrc_check *c, __u8 source, __u32 off,
		      __u32 instance, const struct wrc_place *at)
{
	const char *field = "a place that is nobody's";
	struct wrc_text t;
	char by[16];

	wrc_text_init(&t, by, sizeof(by));
	wrc_dis_label(&t, c->ctx.prog, source);
	wrc_text_add(&t, "@%u", instance);
	if (at->space != WRC_SP_FIELD)
		return wrc_refuse_all(c, RULE,
				      "byte %u of %s's result hits what is no field",
				      off, by);
	if (at->byte.field < WRC_NR_FIELDS)
		field = wrc_fielddef((enum wrc_field)at->byte.field)->name;
	return wrc_refuse(c, RULE, at->instance, at->insn,
			  "has its %s hit by byte %u of %s, undeclared",
			  field, off, by);
}

/* True: a byte of a segment lands in the arena, at *ret_off. */
static bool in_arena(const struct wrc_check *c, const struct wrc_sge *sge,
		     __u32 byte, __u64 *ret_off)
{
	const struct wrc_bind *b = c->ctx.bind;
	__u64 addr = sge->addr + byte;

	*ret_off = addr - b->arena_iova;
	if (sge->lkey != b->arena_key)
		return false;
	/* One key may open arena and buffers: then the address decides. */
	return b->arena_key != b->buf_key || *ret_off < c->ctx.geom->arena_len;
}

/* True if this source writes the receive record: the request, or the chain. */
static bool posts_record(const struct wrc_check *c, __u8 source)
{
	__u8 post = c->ctx.prog->post;

	return source == (post == WRC_NONE ? WRC_RECV : post);
}

/*
 * What a request hits apart from fields: the record, or a register of its
 * instance.  Is it byte `off` that belongs there?
 */
static bool from_request(const struct wrc_check *c, __u32 instance, __u32 off,
			 const struct wrc_place *at)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	if (at->space != WRC_SP_DBR &&
	    (at->space != WRC_SP_REG || at->instance != instance))
		return false;
	for (i = 0; i < prog->nr_scatter; i++) {
		const struct wrc_scatter *s = &prog->scatter[i];

		if (s->to.space == at->space && off >= s->off &&
		    off - s->off < s->len &&
		    at->off == s->to.at + s->to.off + (off - s->off))
			return true;
	}
	return false;
}

/*
 * Follows the segments of one source.  Returns how many bytes hit fields, and
 * from a request registers and the doorbell record, or -EPERM.
 */
static int segments_follow(struct wrc_check *c, __u8 source, __u32 instance,
			   const struct wrc_sge *sge, unsigned int nr_sge)
{
	__u32 i, byte, n, off = 0;
	int hits = 0;

	for (i = 0; i < nr_sge; off += sge[i].len, i++) {
		for (byte = 0; byte < sge[i].len; byte += n) {
			struct wrc_place at;
			__u64 arena;

			if (!in_arena(c, &sge[i], byte, &arena))
				break;
			at = wrc_place_of(c->ctx.prog, c->ctx.geom, arena);
			n = 1;
			if (at.space == WRC_SP_REG && at.instance == instance &&
			    source != WRC_RECV)
				continue;	/* rule address knows it */
			if (source == WRC_RECV &&
			    from_request(c, instance, off + byte, &at)) {
				hits++;
				continue;
			}
			if (at.space == WRC_SP_DBR && source != WRC_RECV &&
			    posts_record(c, source)) {
				hits++;
				continue;
			}
			/* Rule own says who may, rule address where. */
			if (at.space == WRC_SP_RECV &&
			    at.instance == instance && source != WRC_RECV)
				continue;
			n = at.space == WRC_SP_FIELD ?
				    hit_declared(c, source, off + byte, instance,
						 &at) : 0;
			if (!n)
				return refuse_hit(c, source, off + byte,
						  instance, &at);
			if (n > sge[i].len - byte)
				n = sge[i].len - byte;
			hits += n;
		}
	}
	return hits;
}

/* How many bytes of the arena a source should hit; see segments_follow(). */
static int hits_wanted(const struct wrc_prog *prog, __u8 source)
{
	unsigned int i;
	int bytes = 0;

	for (i = 0; i < prog->nr_patches; i++)
		if (prog->patch[i].source == source)
			bytes += prog->patch[i].width;
	for (i = 0; source == WRC_RECV && i < prog->nr_scatter; i++)
		if (prog->scatter[i].to.space == WRC_SP_REG ||
		    prog->scatter[i].to.space == WRC_SP_DBR)
			bytes += prog->scatter[i].len;
	return bytes;
}

static int check_request(struct wrc_check *c, __u32 instance, int want)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	int n;

	n = wrc_check_recv(c, instance, sge);
	if (n < 0)
		return wrc_refuse_all(c, RULE,
				      "receive entry %u is malformed",
				      instance);
	n = segments_follow(c, WRC_RECV, instance, sge, n);
	if (n < 0)
		return n;
	if (n != want)
		return wrc_refuse_all(c, RULE,
				      "receive entry %u arms %d bytes instead of %d",
				      instance, n, want);
	return 0;
}

/* A result in its data segments, or a WRITE into the arena. */
static int check_result(struct wrc_check *c, __u32 instance, unsigned int insn,
			int want)
{
	const struct wrc_insn *i = &c->ctx.prog->insn[insn];
	__u8 flags = wrc_opdef(i->op)->flags;
	struct wrc_sge remote;
	struct wrc_wr wr;
	unsigned int j;
	int n = 0;

	if (posts_record(c, insn))
		want += sizeof(__be32);
	if (!wrc_check_decode(c, instance, insn, &wr))
		return 0;
	if (flags & WRC_OP_SCATTER) {
		n = segments_follow(c, insn, instance, wr.sge, wr.nr_sge);
	} else if (flags & WRC_OP_RWRITE &&
		   wr.rkey == wrc_remote_key(c->ctx.bind, WRC_CL_ARENA) &&
		   wrc_space_class((enum wrc_space)i->remote.space) ==
			   WRC_CL_ARENA) {
		remote.lkey = c->ctx.bind->arena_key;
		remote.addr = wr.raddr;
		for (j = 0, remote.len = 0; j < wr.nr_sge; j++)
			remote.len += wr.sge[j].len;
		n = segments_follow(c, insn, instance, &remote, 1);
	}
	if (n < 0)
		return n;
	if (n != want)
		return wrc_refuse(c, RULE, instance, insn,
				  "patches %d bytes instead of %d", n, want);
	return 0;
}

int wrc_check_patches(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	int err = 0, asked = hits_wanted(prog, WRC_RECV), want[WRC_MAX_INSN];
	unsigned int i;
	__u32 instance;

	for (i = 0; !err && i < prog->nr_patches; i++)
		err = check_relocation(c, &prog->patch[i]);
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = check_open(c, i);
	for (i = 0; i < prog->nr_insn; i++)
		want[i] = hits_wanted(prog, i);
	for (instance = 0; !err && instance < c->ctx.geom->depth; instance++) {
		err = check_request(c, instance, asked);
		for (i = 0; !err && i < prog->nr_insn; i++)
			err = check_result(c, instance, i, want[i]);
	}
	return err;
}
