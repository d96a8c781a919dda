// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The linker, first half: a program on its own; see link.h. */
#include "link.h"
#include "turn.h"

#define MAX_NOP_BB (WRC_WQE_MAX_DS / (WRC_WQE_BB / WRC_WQE_DS))

/* Bytes of an instruction's WQE. */
static __u32 insn_len(const struct wrc_insn *insn)
{
	const struct wrc_opdef *def = wrc_opdef(insn->op);
	__u32 len = insn->nr_sge * wrc_seg_len(WRC_SEG_DATA);
	unsigned int i;

	for (i = 0; i < def->nr_segs; i++)
		len += wrc_seg_len((enum wrc_seg)def->segs[i]);
	return len;
}

/* Basic blocks and CQE numbers, each queue for itself. */
static void insns_place(struct wrc_prog *prog)
{
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		struct wrc_insn *insn = &prog->insn[i];
		__u8 *bb = &prog->bb[insn->queue];

		insn->bb = *bb;
		if (!insn->nr_bb)	/* a pad has its own */
			insn->nr_bb = (insn_len(insn) + WRC_WQE_BB - 1) /
				      WRC_WQE_BB;
		*bb += insn->nr_bb;
		if (!(insn->flags & WRC_I_SIGNALED))
			continue;
		insn->cqe = insn->queue == WRC_LOOP ? prog->cqes++ :
						      prog->client_cqes++;
	}
}

static unsigned int nr_loop_insns(const struct wrc_prog *prog)
{
	unsigned int n = 0;

	while (n < prog->nr_insn && prog->insn[n].queue == WRC_LOOP)
		n++;
	return n;
}

/* A reference to an instruction moves with it. */
static void shift_ref(struct wrc_ref *ref, unsigned int from)
{
	if (ref->space == WRC_SP_FIELD && ref->at >= from)
		ref->at++;
}

static void shift_number(__u8 *number, unsigned int from)
{
	if (*number >= from && *number < WRC_NEXT_HEAD)
		(*number)++;
}

/* Makes room at `at`; every number of an instruction behind it moves. */
static void insns_shift(struct wrc_prog *prog, unsigned int at)
{
	unsigned int i, j;

	for (i = prog->nr_insn; i > at; i--)
		prog->insn[i] = prog->insn[i - 1];
	prog->nr_insn++;
	for (i = 0; i < prog->nr_insn; i++) {
		struct wrc_insn *insn = &prog->insn[i];

		if (insn->op == WRC_WQE_WAIT || insn->op == WRC_WQE_SEND_EN)
			shift_number(&insn->target, at);
		shift_ref(&insn->remote, at);
		for (j = 0; j < insn->nr_sge; j++)
			shift_ref(&insn->sge[j].at, at);
	}
	for (i = 0; i < prog->nr_args; i++)
		shift_ref(&prog->arg[i].to, at);
	shift_ref(&prog->hold.slot, at);
	shift_ref(&prog->hold.page, at);
	shift_ref(&prog->hold.old, at);
	shift_ref(&prog->hold.tt, at);
	shift_number(&prog->hold.slot_taken, at);
	shift_number(&prog->hold.page_taken, at);
	shift_number(&prog->hold.page_put, at);
	shift_number(&prog->hold.swapped, at);
	shift_number(&prog->hold.umr, at);
	shift_number(&prog->post, at);
	shift_number(&prog->choice, at);
	shift_number(&prog->map, at);
}

static int add_nop(struct wrc_prog *prog, unsigned int at, __u32 bb)
{
	struct wrc_insn *nop;

	if (prog->nr_insn == WRC_MAX_INSN)
		return -ENOSPC;
	insns_shift(prog, at);
	nop = &prog->insn[at];
	memset(nop, 0, sizeof(*nop));
	nop->op = WRC_WQE_NOP;
	nop->queue = WRC_LOOP;
	nop->nr_bb = bb;
	return 0;
}

/* How many basic blocks the loop queue's instance has. */
static __u32 loop_bbs(const struct wrc_prog *prog)
{
	unsigned int i, at = nr_loop_insns(prog);
	__u32 bb = 0;

	for (i = 0; i < at; i++)
		bb += (insn_len(&prog->insn[i]) + WRC_WQE_BB - 1) / WRC_WQE_BB;
	return bb;
}

static __u32 power_of_two(__u32 n)
{
	__u32 want = 1;

	while (want < n)
		want <<= 1;
	return want;
}

/*
 * recycle=node: each NOP may have an index to renew, by a READ that gets longer
 * by that.
 */
static int size_turns(struct wrc_prog *prog)
{
	unsigned int nops;
	int err = 0;

	for (nops = 0; !err && nops <= WRC_INSN_SGE; nops++) {
		__u32 bb;

		err = wrc_turn_size(prog, nops);
		bb = loop_bbs(prog);
		if (!err && (power_of_two(bb) - bb + MAX_NOP_BB - 1) /
				    MAX_NOP_BB == nops)
			return 0;
	}
	return err ? err : -ENOSPC;
}

/* Fills the loop queue's instance to a power of two, with one NOP if it can. */
static int loop_pad(struct wrc_prog *prog)
{
	unsigned int at = nr_loop_insns(prog);
	__u32 bb = loop_bbs(prog), want = power_of_two(bb), n;
	int err = 0;

	for (; !err && bb < want; bb += n) {
		n = want - bb;
		if (n > MAX_NOP_BB)
			n = MAX_NOP_BB;
		err = add_nop(prog, at, n);
	}
	return err;
}

int wrc_field_off(const struct wrc_prog *prog, struct wrc_ref ref)
{
	const struct wrc_insn *insn;
	int off;

	if (ref.space != WRC_SP_FIELD || ref.at >= prog->nr_insn)
		return -ERANGE;
	insn = &prog->insn[ref.at];
	if (ref.field >= WRC_NR_FIELDS)
		return -ERANGE;
	if (wrc_fielddef((enum wrc_field)ref.field)->seg == WRC_SEG_DATA &&
	    ref.sge >= insn->nr_sge)
		return -ERANGE;
	off = wrc_field_at(insn->op, (enum wrc_field)ref.field, ref.sge);
	if (off < 0)
		return -ERANGE;
	return insn->bb * WRC_WQE_BB + off + ref.off;
}

/* A place in the arena and the bytes from there on must be inside it. */
static int ref_check(const struct wrc_prog *prog, struct wrc_ref ref, __u32 len)
{
	switch (ref.space) {
	case WRC_SP_FIELD:
		if (wrc_field_off(prog, ref) < 0)
			return -ERANGE;
		if (ref.off + len >
		    wrc_fielddef((enum wrc_field)ref.field)->width)
			return -ERANGE;
		return 0;
	case WRC_SP_REG:
		return ref.at + ref.off + len > WRC_SCRATCH ? -ERANGE : 0;
	case WRC_SP_BUF:
		return ref.off + len > ODRP_WIRE_PAGE_SIZE ? -ERANGE : 0;
	case WRC_SP_DBR:
		return ref.off + len > sizeof(__be32) ? -ERANGE : 0;
	case WRC_SP_RECV:
		return !wrc_has_register(prog) ||
		       ref.off + len > sizeof(__be64) ? -ERANGE : 0;
	case WRC_SP_CELL:
		return ref.at >= prog->nr_cells ||
		       ref.off + len > sizeof(__u64) ? -ERANGE : 0;
	default:
		return ref.off ? -ERANGE : 0;
	}
}

static int add_patch(struct wrc_prog *prog, __u8 source, __u16 off, __u8 width,
		     __s8 delta, struct wrc_ref to)
{
	struct wrc_patch *p;

	if (prog->nr_patches == WRC_MAX_PATCH)
		return -ENOSPC;
	p = &prog->patch[prog->nr_patches++];
	p->source = source;
	p->off = off;
	p->width = width;
	p->queue = prog->insn[to.at].queue;
	p->delta = delta;
	p->insn = to.at;
	p->field = to.field;
	p->sge = to.sge;
	p->field_off = to.off;
	return 0;
}

/* What an instruction itself writes over others. */
static int insn_patches(struct wrc_prog *prog, unsigned int i)
{
	const struct wrc_insn *insn = &prog->insn[i];
	const struct wrc_opdef *def = wrc_opdef(insn->op);
	__u32 off = 0;
	unsigned int j;
	int err;

	for (j = 0; j < insn->nr_sge; j++) {
		const struct wrc_operand *o = &insn->sge[j];

		err = -EINVAL;
		if (o->len && o->at.space != WRC_SP_NONE)
			err = ref_check(prog, o->at, o->len);
		if (!err && def->flags & WRC_OP_SCATTER &&
		    o->at.space == WRC_SP_FIELD)
			err = add_patch(prog, i, off, o->len, o->at.delta,
					o->at);
		if (err)
			return err;
		off += o->len;
	}
	if (!(def->flags & WRC_OP_REMOTE))
		return 0;
	err = ref_check(prog, insn->remote, off);
	if (!err && def->flags & WRC_OP_RWRITE && off &&
	    insn->remote.space == WRC_SP_FIELD)
		err = add_patch(prog, i, 0, off, 0, insn->remote);
	return err;
}

static int arg_patches(struct wrc_prog *prog)
{
	unsigned int i;
	int err;

	for (i = 0; i < prog->nr_args; i++) {
		const struct wrc_arg *arg = &prog->arg[i];

		err = ref_check(prog, arg->to, arg->len);
		if (!err && arg->to.space != WRC_SP_FIELD &&
		    arg->to.space != WRC_SP_REG)
			err = -EINVAL;
		if (!err && arg->to.space == WRC_SP_FIELD)
			err = add_patch(prog, WRC_RECV, arg->off, arg->len, 0,
					arg->to);
		if (err)
			return err;
	}
	return 0;
}

static int add_word(struct wrc_prog *prog, enum wrc_word_kind kind,
		    unsigned int insn)
{
	struct wrc_word *w;

	if (prog->nr_words == WRC_MAX_WORDS)
		return -ENOSPC;
	w = &prog->word[prog->nr_words++];
	w->kind = kind;
	w->insn = insn;
	w->delta = wrc_is_head(prog, insn) ? 1 : 0;
	w->width = wrc_word_width(kind);
	w->off = prog->req_len;
	prog->req_len += w->width;
	return 0;
}

/* One word of an instruction, and its relocation. */
static int insn_word(struct wrc_prog *prog, enum wrc_word_kind kind,
		     unsigned int insn)
{
	const struct wrc_word *w;
	int err;

	if (insn >= prog->nr_insn)
		return -ERANGE;
	err = add_word(prog, kind, insn);
	if (err)
		return err;
	w = &prog->word[prog->nr_words - 1];
	return add_patch(prog, WRC_RECV, w->off, w->width, w->delta,
			 wrc_word_ref(w));
}

/* The gate's count comes behind the page: see page_tail(). */
static bool is_tail(const struct wrc_prog *prog, unsigned int insn)
{
	return wrc_has_register(prog) && wrc_is_gate(prog, insn);
}

/*
 * A request that is too short must not map a page of which it has filled only a
 * part: the rest would be what the page's last owner left in it.  So the gate's
 * count, without which nothing runs, is the last that comes; or, where there is
 * no gate, the half of the table address without which it leads nowhere.
 */
static int page_tail(struct wrc_prog *prog)
{
	struct wrc_word *w;
	int err;

	if (!wrc_has_register(prog))
		return 0;
	if (prog->node)
		err = insn_word(prog, WRC_WORD_END,
				wrc_is_keyed(prog) ? prog->map :
						     prog->hold.swapped);
	else
		err = insn_word(prog, WRC_WORD_ENABLE, prog->nr_head);
	if (err)
		return err;
	w = &prog->word[prog->nr_words - 1];
	prog->tail_len = w->width;
	prog->req_len -= w->width;
	w->off += ODRP_WIRE_PAGE_SIZE;
	prog->patch[prog->nr_patches - 1].off = w->off;
	return 0;
}

static int request_words(struct wrc_prog *prog)
{
	unsigned int i;
	int err = 0;

	prog->req_len = sizeof(struct odrp_wire_req);
	if (prog->choice != WRC_NONE)
		err = insn_word(prog, WRC_WORD_NEXT, prog->choice);
	if (prog->node)
		return err ? err : page_tail(prog);
	if (wrc_rearms_itself(prog))
		return 0;
	for (i = 0; !err && i < prog->nr_insn; i++) {
		__u8 op = prog->insn[i].op;

		if (prog->strict)
			err = insn_word(prog, WRC_WORD_INDEX, i);
		if (!err && op == WRC_WQE_WAIT)
			err = insn_word(prog, WRC_WORD_WAIT, i);
		if (!err && op == WRC_WQE_SEND_EN && !is_tail(prog, i))
			err = insn_word(prog, WRC_WORD_ENABLE, i);
		/* Behind the index, as in the WQE: one data segment. */
		if (!err && prog->insn[i].flags & WRC_I_ANSWER)
			err = insn_word(prog, op == WRC_WQE_WRITE ?
					WRC_WORD_PAGE :
					WRC_WORD_ANSWER, i);
	}
	if (!err)
		err = add_word(prog, WRC_WORD_DBR, WRC_NONE);
	return err ? err : page_tail(prog);
}

/* Adds a segment to the receive entry, or lengthens the last one. */
static int add_scatter(struct wrc_prog *prog, __u16 off, __u16 len, __u8 delta,
		       struct wrc_ref to)
{
	struct wrc_scatter *s;

	if (prog->nr_scatter) {
		s = &prog->scatter[prog->nr_scatter - 1];
		if (s->off + s->len != off)
			return -EINVAL;	/* bytes without a destination */
		if (s->delta == delta && s->to.space == WRC_SP_FIELD &&
		    to.space == WRC_SP_FIELD &&
		    prog->insn[s->to.at].queue == prog->insn[to.at].queue &&
		    wrc_field_off(prog, s->to) + s->len ==
			    wrc_field_off(prog, to)) {
			s->len += len;
			return 0;
		}
	} else if (off) {
		return -EINVAL;
	}
	if (prog->nr_scatter == WRC_MAX_SCATTER)
		return -ENOSPC;
	s = &prog->scatter[prog->nr_scatter++];
	s->off = off;
	s->len = len;
	s->delta = delta;
	s->to = to;
	return 0;
}

static int scatter_page(struct wrc_prog *prog)
{
	prog->page_sge = prog->nr_scatter;
	return add_scatter(prog, prog->req_len, ODRP_WIRE_PAGE_SIZE, 0,
			   wrc_at(wrc_owns(prog) ? WRC_SP_POOL : WRC_SP_BUF));
}

/* The record's goes to the record, or waits until the chain posts it. */
static int scatter_word(struct wrc_prog *prog, const struct wrc_word *w)
{
	struct wrc_ref to = wrc_at(WRC_SP_DBR);

	if (w->kind != WRC_WORD_DBR)
		to = wrc_word_ref(w);
	else if (prog->post != WRC_NONE)
		to = wrc_reg(WRC_REG_POST, 0);
	return add_scatter(prog, w->off, w->width, w->delta, to);
}

static int scatter_all(struct wrc_prog *prog)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < prog->nr_args; i++)
		err = add_scatter(prog, prog->arg[i].off, prog->arg[i].len, 0,
				  prog->arg[i].to);
	for (i = 0; !err && i < prog->nr_words; i++) {
		if (prog->word[i].off > prog->req_len)
			err = scatter_page(prog);
		if (!err)
			err = scatter_word(prog, &prog->word[i]);
	}
	if (!err && prog->page && !prog->tail_len)
		err = scatter_page(prog);
	return err;
}

/* The client queue WAITs for its own, and lets all of the loop queue run. */
static int client_target_check(const struct wrc_prog *prog, unsigned int i)
{
	const struct wrc_insn *insn = &prog->insn[i], *target;

	if (insn->op == WRC_WQE_SEND_EN)
		return insn->target == WRC_NEXT_HEAD ? 0 : -EINVAL;
	if (insn->target >= i)
		return -EINVAL;
	target = &prog->insn[insn->target];
	return target->queue == WRC_CLIENT && target->flags & WRC_I_SIGNALED ?
		       0 : -EINVAL;
}

/* A WAIT names a signaled instruction before it; a SEND_EN one behind it. */
static int target_check(const struct wrc_prog *prog, unsigned int i)
{
	const struct wrc_insn *insn = &prog->insn[i], *target;

	if (insn->op != WRC_WQE_WAIT && insn->op != WRC_WQE_SEND_EN)
		return 0;
	if (insn->queue != WRC_LOOP)
		return client_target_check(prog, i);
	if (insn->target == (insn->op == WRC_WQE_WAIT ? WRC_RECV :
							WRC_NEXT_HEAD))
		return 0;
	if (insn->target >= prog->nr_insn)
		return -ERANGE;
	target = &prog->insn[insn->target];
	if (insn->op == WRC_WQE_WAIT)
		return (insn->target < i || target->queue == WRC_CLIENT) &&
			       target->flags & WRC_I_SIGNALED ? 0 : -EINVAL;
	return insn->target > i ? 0 : -EINVAL;
}

/* What the builder has refused one by one, of a program as a whole. */
static bool are_insns(const struct wrc_prog *prog)
{
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++)
		if (!wrc_opdef(prog->insn[i].op) ||
		    prog->insn[i].nr_sge > WRC_INSN_SGE)
			return false;
	return true;
}

static bool is_number(const struct wrc_prog *prog, __u8 insn)
{
	return insn == WRC_NONE || insn < prog->nr_insn;
}

/* Each instruction that it names is there. */
static bool are_numbers(const struct wrc_prog *prog)
{
	const struct wrc_hold *h = &prog->hold;

	return is_number(prog, h->slot_taken) && is_number(prog, h->page_taken) &&
	       is_number(prog, h->page_put) && is_number(prog, h->swapped) &&
	       is_number(prog, h->umr) && is_number(prog, prog->post) &&
	       is_number(prog, prog->map) && is_number(prog, prog->choice);
}

int wrc_link(struct wrc_prog *prog)
{
	unsigned int i;
	int err = 0;

	if (prog->nr_insn > WRC_MAX_INSN || !are_insns(prog) ||
	    !are_numbers(prog))
		return -EINVAL;
	if (!prog->nr_head || nr_loop_insns(prog) == prog->nr_insn)
		return -EINVAL;
	if (prog->node)
		err = size_turns(prog);
	if (!err)
		err = loop_pad(prog);
	if (!err && prog->node)
		err = wrc_turn_place(prog);
	if (err)
		return err;
	insns_place(prog);
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = target_check(prog, i);
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = insn_patches(prog, i);
	if (!err)
		err = arg_patches(prog);
	if (!err)
		err = request_words(prog);
	if (!err)
		err = scatter_all(prog);
	return err;
}
