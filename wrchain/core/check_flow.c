// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule flow: what kind of thing stands in each field and register,
 * followed from where it enters.
 *
 * A table address comes only from the request, and is used only under the
 * table's key.  A slot address comes only from a counter of the free ring, and
 * byte by byte reversed.  A page address comes only from the table or a slot; it
 * is *owned* when it was moved out of there, and only an owned one may be
 * written to the table or a slot (I1); rule move follows it there.  Nothing is
 * written to a counter but by its atomic. A register or field that anybody else
 * writes a byte of holds nothing known. Page contents move only between the
 * pool, the instance's buffer and the client's own memory (I2, I3).
 */
#include "check.h"

#define RULE WRC_RULE_FLOW

enum kind {
	K_NOTHING,
	K_TT_ADDR,		/* from the request */
	K_PEER_ADDR,		/* from the request */
	K_SLOT,			/* host byte order */
	K_PAGE,			/* seen: somebody else has it too */
	K_PAGE_OWNED,
	K_SPOT,			/* where a slot's translation is */
	K_DATA,			/* contents of a page */
};

static const char *const kind_names[] = {
	[K_NOTHING] = "nothing known",
	[K_TT_ADDR] = "a table address",
	[K_PEER_ADDR] = "an address of the client's",
	[K_SLOT] = "a slot address in host order",
	[K_PAGE] = "a page address",
	[K_PAGE_OWNED] = "a page address that was moved",
	[K_SPOT] = "what the key map says",
	[K_DATA] = "contents of a page",
};

struct flow {
	struct wrc_check *c;
	__u8 result[WRC_MAX_INSN];	/* enum kind of 8 bytes */
};

/*
 * Where byte `off` of the request stands in its table address, if it is one of
 * it: the upper half may be a word of its own.
 */
static bool in_tt_addr(const struct wrc_prog *prog, __u32 off, __u32 *ret_at)
{
	unsigned int i;

	*ret_at = off;
	for (i = 0; i < prog->nr_words; i++)
		if (prog->word[i].kind == WRC_WORD_END &&
		    off - prog->word[i].off < prog->word[i].width)
			*ret_at = off - prog->word[i].off;
	return *ret_at < sizeof(__be64);
}

static enum kind request_kind(const struct wrc_prog *prog, __u32 off)
{
	__u32 at;

	if (in_tt_addr(prog, off, &at))
		return K_TT_ADDR;
	if (off >= __builtin_offsetof(struct odrp_wire_req, raddr_hi) &&
	    off < __builtin_offsetof(struct odrp_wire_req, rkey))
		return K_PEER_ADDR;
	return K_NOTHING;
}

/* Where byte `off` of a source's data stands in its 8-byte value. */
static __u32 byte_position(const struct wrc_prog *prog, const struct wrc_patch *p,
			   __u32 byte)
{
	__u32 off = p->off + byte, at;

	if (p->source != WRC_RECV)
		return off;
	if (in_tt_addr(prog, off, &at))
		return at;
	if (request_kind(prog, off) == K_PEER_ADDR)
		return off - __builtin_offsetof(struct odrp_wire_req, raddr_hi);
	return off;
}

static enum kind source_kind(const struct flow *f, const struct wrc_patch *p)
{
	return p->source == WRC_RECV ?
		       request_kind(f->c->ctx.prog, p->off) :
		       (enum kind)f->result[p->source];
}

/*
 * The kind that an 8-byte field gets from its patches, if all of it is of one
 * kind and in order (of a slot address: reversed).  What `before` finds there has
 * been brought in this lap, by the request or an instruction before it.
 */
static enum kind field_kind(const struct flow *f, unsigned int insn,
			    enum wrc_field field, unsigned int sge,
			    unsigned int before)
{
	const struct wrc_prog *prog = f->c->ctx.prog;
	enum kind kind = K_NOTHING;
	unsigned int i, b;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];
		enum kind k;

		if (p->insn != insn || p->field != field || p->sge != sge ||
		    wrc_is_turn(prog, p->source))
			continue;	/* rules patch and table know rows */
		k = source_kind(f, p);
		if (k == K_NOTHING || (kind != K_NOTHING && k != kind) ||
		    (p->source != WRC_RECV && p->source >= before))
			return K_NOTHING;
		kind = k;
		for (b = 0; b < p->width; b++) {
			__u32 want = p->field_off + b;

			if (k == K_SLOT)
				want = 7 - want;
			if (byte_position(prog, p, b) != want)
				return K_NOTHING;
		}
	}
	return kind;
}

/*
 * The kind in a register before insn executes.  Whoever else writes a byte of it,
 * in whatever lap, may leave it there: then it is none.
 */
static enum kind reg_kind(const struct flow *f, struct wrc_ref reg,
			  unsigned int before)
{
	bool alone;
	__u8 writer = wrc_check_writer(f->c->ctx.prog, reg, &alone);

	return alone && writer < before ? (enum kind)f->result[writer] :
					  K_NOTHING;
}

static enum kind place_kind(const struct flow *f, struct wrc_ref at,
			    unsigned int before)
{
	if (at.delta)		/* another instance's: given away, or not yet had */
		return K_NOTHING;
	switch (at.space) {
	case WRC_SP_REG:
		return reg_kind(f, at, before);
	case WRC_SP_FIELD:
		return at.off ? K_NOTHING :
				field_kind(f, at.at, (enum wrc_field)at.field,
					   at.sge, before);
	case WRC_SP_BUF:
	case WRC_SP_POOL:
		return K_DATA;
	default:
		return K_NOTHING;
	}
}

/* What an instruction reads from its remote side. */
static enum kind result_of(const struct flow *f, unsigned int insn)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[insn];
	bool move = i->op == WRC_WQE_MASKED_CS;

	if (!(wrc_opdef(i->op)->flags & WRC_OP_RREAD))
		return K_NOTHING;
	switch (i->remote.space) {
	case WRC_SP_TT:
	case WRC_SP_SLOT:
		return move ? K_PAGE_OWNED : K_PAGE;
	case WRC_SP_KEYMAP:
		return K_SPOT;
	case WRC_SP_HEAD:
	case WRC_SP_TAIL:
		if (i->op != WRC_WQE_MASKED_FA)
			return K_NOTHING;
		return K_SLOT;
	default:
		return place_kind(f, i->remote, insn);
	}
}

static bool is_page(enum kind k)
{
	return k == K_PAGE || k == K_PAGE_OWNED;
}

/* Does an address of this kind lead to that space? */
static bool leads_to(enum kind k, enum wrc_space space)
{
	switch (space) {
	case WRC_SP_TT:
	case WRC_SP_KEYMAP:
		return k == K_TT_ADDR;
	case WRC_SP_SLOT:
		return k == K_SLOT;
	case WRC_SP_POOL:
	case WRC_SP_EMPTY:
		return is_page(k);
	case WRC_SP_PEER:
		return k == K_PEER_ADDR;
	default:
		return true;
	}
}

static int check_address(struct flow *f, unsigned int insn, struct wrc_ref to,
			 enum wrc_field field, unsigned int sge)
{
	enum kind k;

	if (wrc_space_static((enum wrc_space)to.space))
		return 0;
	if (!wrc_check_is_patched(f->c->ctx.prog, insn, field, sge))
		return 0;	/* open: rule patch has that */
	k = field_kind(f, insn, field, sge, WRC_NONE);
	if (leads_to(k, (enum wrc_space)to.space))
		return 0;
	return wrc_refuse(f->c, RULE, 0, insn, "goes to class %s by %s",
			  wrc_class_name(wrc_space_class(
				  (enum wrc_space)to.space)),
			  kind_names[k]);
}

/* What a WRITE may put into a space. */
static bool may_hold(enum wrc_space space, enum kind k, __u32 len)
{
	switch (space) {
	case WRC_SP_TT:
	case WRC_SP_SLOT:
		return k == K_PAGE_OWNED && len == 8;
	case WRC_SP_POOL:
	case WRC_SP_BUF:
	case WRC_SP_PEER:
		return k == K_DATA && len <= ODRP_WIRE_PAGE_SIZE;
	case WRC_SP_FIELD:	/* rule patch */
	case WRC_SP_REG:	/* and nothing is known of it then */
	case WRC_SP_DBR:	/* rules rq, own and table */
	case WRC_SP_RECV:	/* rule own */
		return true;
	default:	/* counters, and what the node alone writes */
		return false;
	}
}

static int check_write(struct flow *f, unsigned int insn)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[insn];
	__u8 flags = wrc_opdef(i->op)->flags;
	enum wrc_space to = (enum wrc_space)i->remote.space;
	enum kind k = K_NOTHING;

	if (!(flags & WRC_OP_RWRITE) || !i->nr_sge)
		return 0;
	if (flags & WRC_OP_RREAD) {	/* an atomic: rule atomic knows it */
		if (to == WRC_SP_TT || to == WRC_SP_SLOT)
			return i->op == WRC_WQE_MASKED_CS ? 0 :
				wrc_refuse(f->c, RULE, 0, insn,
					   "computes with page addresses");
		if (to != WRC_SP_HEAD && to != WRC_SP_TAIL)
			return wrc_refuse(f->c, RULE, 0, insn,
					  "is an atomic on class %s",
					  wrc_class_name(wrc_space_class(to)));
		return i->op != WRC_WQE_MASKED_CS ? 0 :
			wrc_refuse(f->c, RULE, 0, insn,
				   "leaves no counter where one was");
	}
	if (i->nr_sge == 1)
		k = place_kind(f, i->sge[0].at, insn);
	if (may_hold(to, k, i->sge[0].len))
		return 0;
	return wrc_refuse(f->c, RULE, 0, insn, "writes %s to class %s",
			  kind_names[k],
			  wrc_class_name(wrc_space_class(to)));
}

/*
 * What is READ goes to fields and registers, which the other rules follow.
 * Nothing else may get it: not even a page the client's memory, for no rule knows
 * when all of it has come, or whether.
 */
static int check_scatter(struct flow *f, unsigned int insn)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[insn];
	enum wrc_class class;
	unsigned int j;

	if (!(wrc_opdef(i->op)->flags & WRC_OP_SCATTER))
		return 0;
	for (j = 0; j < i->nr_sge; j++) {
		class = wrc_space_class((enum wrc_space)i->sge[j].at.space);
		if (class != WRC_CL_ARENA)
			return wrc_refuse(f->c, RULE, 0, insn,
					  "reads into class %s",
					  wrc_class_name(class));
	}
	return 0;
}

/* Each queue has its memory: the loop never the client's, and vice versa. */
static int check_queue(struct flow *f, unsigned int insn)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[insn];
	__u8 flags = wrc_opdef(i->op)->flags;
	bool peer = i->remote.space == WRC_SP_PEER;

	if (!(flags & (WRC_OP_REMOTE | WRC_OP_GATHER)))
		return 0;
	if (flags & WRC_OP_REMOTE && peer == (i->queue == WRC_CLIENT))
		return 0;
	return wrc_refuse(f->c, RULE, 0, insn,
			  "reaches class %s from the %s queue",
			  wrc_class_name(wrc_space_class(
				  (enum wrc_space)i->remote.space)),
			  i->queue == WRC_LOOP ? "loop" : "client");
}

static int check_quiet(struct flow *f, const struct wrc_patch *p)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[p->insn];
	__u8 op = WRC_WQE_WRITE_IMM;
	__u8 quiet = i->nr_sge ? WRC_WQE_WRITE : WRC_WQE_NOP;

	/* A page before its answer: the request may ask to be told early. */
	if (i->nr_sge && p->insn + 1u < f->c->ctx.prog->nr_insn) {
		op = WRC_WQE_WRITE;
		quiet = WRC_WQE_WRITE_IMM;
	}
	if ((p->source == WRC_RECV || wrc_renews(f->c->ctx.prog, p->source)) &&
	    i->queue == WRC_CLIENT && i->op == op && i->quiet == quiet)
		return 0;
	return wrc_refuse(f->c, RULE, 0, p->insn,
			  "is answered with opcode 0x%02x or 0x%02x", i->op,
			  i->quiet);
}

/*
 * An opcode is the byte of a page address that is that opcode, or an answer's:
 * by the request, or by that of the one before (rule table knows those), which
 * may only choose not to be told.
 */
static int check_opcode(struct flow *f, const struct wrc_patch *p)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[p->insn];
	enum kind k = source_kind(f, p);

	if (p->field != WRC_F_OPCODE)
		return 0;
	if (i->flags & WRC_I_ANSWER)
		return check_quiet(f, p);
	if (is_page(k) && p->off < 3 &&
	    (WRC_POOL_IOVA >> 8 * (7 - p->off) & 0xff) == i->op)
		return 0;
	return wrc_refuse(f->c, RULE, 0, p->insn,
			  "gets its opcode from byte %u of %s", p->off,
			  kind_names[k]);
}

static int check_insn(struct flow *f, unsigned int insn)
{
	const struct wrc_insn *i = &f->c->ctx.prog->insn[insn];
	unsigned int j;
	int err;

	err = check_queue(f, insn);
	if (!err)
		err = check_address(f, insn, i->remote, WRC_F_RADDR, 0);
	for (j = 0; !err && j < i->nr_sge; j++)
		err = check_address(f, insn, i->sge[j].at, WRC_F_ADDR, j);
	if (!err)
		err = check_write(f, insn);
	if (!err)
		err = check_scatter(f, insn);
	return err;
}

int wrc_check_flow(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	struct flow f = { .c = c };
	unsigned int i;
	int err = 0;

	/* Results flow forwards only: one pass. */
	for (i = 0; i < prog->nr_insn; i++)
		f.result[i] = result_of(&f, i);
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = check_insn(&f, i);
	for (i = 0; !err && i < prog->nr_patches; i++)
		err = check_opcode(&f, &prog->patch[i]);
	return err;
}
