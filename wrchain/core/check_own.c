// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule own: page exchange (I3).
 *
 * A program that owns the pages it touches never looks at an entry or a slot: it
 * takes the page out, or swaps its own in.  It gives a page away only when
 * everything that it did to its contents is known to be done; to the ring no other
 * program gives one earlier either.  What rules flow and move say of pages that were
 * moved then holds for all of them.
 *
 * A store receives into its register: the page whose address stands in the
 * receive entry and, reversed, in the swap.  The two are one page, in the image
 * and in each lap; the page is one that was moved; the old one of the entry is
 * kept or was 0; the entry is posted again when it has its new page; and a
 * request that does not fill the page never opens the gate, or, where there is
 * none, has a table address that no table has.
 *
 * Counts and addresses are as the program has them: rules index and address.
 */
#include "check.h"

#define RULE WRC_RULE_OWN

/* What a register is made of; WRC_NONE: there is none. */
struct own {
	struct wrc_check *c;
	const struct wrc_prog *prog;
	__u8 swap;		/* register to table entry */
	__u8 operand;		/* new page to the swap */
	__u8 entry;		/* new page to the receive entry */
	__u8 taken;		/* where the new page comes from */
	struct wrc_ref page;	/* and where it is then */
};

static bool writes_to(const struct wrc_insn *i, enum wrc_space space)
{
	__u8 flags = wrc_opdef(i->op)->flags;
	unsigned int j;

	for (j = 0; flags & WRC_OP_SCATTER && j < i->nr_sge; j++)
		if (i->sge[j].at.space == space)
			return true;
	return flags & WRC_OP_RWRITE && i->remote.space == space;
}

/* ---- any program ---------------------------------------------------------------- */

/*
 * A page is given away: nothing touches it any more.  A program that looks pages up
 * may put one into a table entry before it has written it: rule grace.
 */
static int check_give(const struct own *o, unsigned int insn)
{
	const struct wrc_insn *i = &o->prog->insn[insn];
	unsigned int j;

	if (i->op != WRC_WQE_WRITE ||
	    !(i->remote.space == WRC_SP_SLOT ||
	      (i->remote.space == WRC_SP_TT && wrc_owns(o->prog))))
		return 0;
	for (j = 0; j < o->prog->nr_insn; j++)
		if (wrc_check_touches_page(&o->prog->insn[j]) &&
		    !wrc_check_known(o->c, j, insn))
			return wrc_refuse(o->c, RULE, 0, insn,
					  "gives a page away that %s%u may still touch",
					  o->prog->insn[j].queue == WRC_LOOP ?
						  "l" : "c",
					  wrc_insn_number(o->prog, j));
	return 0;
}

/* ---- any program that owns its pages ------------------------------------------- */

static bool is_entry(enum wrc_space space)
{
	return space == WRC_SP_TT || space == WRC_SP_SLOT;
}

static int check_look(const struct own *o, unsigned int insn)
{
	const struct wrc_insn *i = &o->prog->insn[insn];
	__u8 flags = wrc_opdef(i->op)->flags;

	if (!is_entry((enum wrc_space)i->remote.space) ||
	    !(flags & WRC_OP_RREAD) || flags & WRC_OP_RWRITE)
		return 0;
	return wrc_refuse(o->c, RULE, 0, insn,
			  "looks at a page that may be another's a moment later");
}

/* A page that is under way is found when the chain is stopped. */
static int check_lent(const struct own *o)
{
	const struct wrc_hold *h = &o->prog->hold;
	unsigned int i;

	for (i = 0; i < o->prog->nr_insn; i++) {
		const struct wrc_insn *insn = &o->prog->insn[i];

		if (insn->queue == WRC_CLIENT && wrc_check_touches_page(insn) &&
		    !(h->lent && h->page.at == i && h->page_taken < i &&
		      h->page_put < i))
			return wrc_refuse(o->c, RULE, 0, i,
					  "sends a page that nobody would find when it is stopped");
	}
	return 0;
}

/* ---- the register ------------------------------------------------------------------ */

/* The only instruction that writes to that space, WRC_NONE: none or more. */
static __u8 only_writer(const struct wrc_prog *prog, enum wrc_space space)
{
	__u8 found = WRC_NONE;
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		if (!writes_to(&prog->insn[i], space))
			continue;
		if (found != WRC_NONE)
			return WRC_NONE;
		found = i;
	}
	return found;
}

static int find_swap(struct own *o)
{
	unsigned int i;

	o->swap = WRC_NONE;
	for (i = 0; i < o->prog->nr_insn; i++) {
		const struct wrc_insn *insn = &o->prog->insn[i];

		if (!(insn->flags & WRC_I_EXCHANGE) ||
		    insn->op == WRC_WQE_UMR)	/* rule keyed */
			continue;
		if (o->swap != WRC_NONE || insn->op != WRC_WQE_MASKED_CS ||
		    insn->remote.space != WRC_SP_TT)
			return wrc_refuse(o->c, RULE, 0, i,
					  "is not the one swap with a table entry");
		o->swap = i;
	}
	if (o->swap == WRC_NONE)
		return wrc_refuse_all(o->c, RULE,
				      "a page that comes is never mapped");
	return 0;
}

/* Does one READ write all of the swap's operand, byte by byte reversed? */
static bool is_reversed(const struct wrc_prog *prog, __u8 swap, __u8 *ret_by)
{
	unsigned int i, bytes = 0;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->insn != swap || p->field != WRC_F_MSWAP)
			continue;
		if ((bytes && p->source != *ret_by) || p->width != 1 ||
		    p->off + p->field_off != 7 || p->source == WRC_RECV)
			return false;
		*ret_by = p->source;
		bytes |= 1u << p->off;
	}
	return bytes == 0xff && prog->insn[*ret_by].op == WRC_WQE_READ;
}

static int find_renewal(struct own *o)
{
	const struct wrc_insn *entry;

	if (!is_reversed(o->prog, o->swap, &o->operand))
		return wrc_refuse(o->c, RULE, 0, o->swap,
				  "does not get its next page from one READ, reversed");
	o->page = o->prog->insn[o->operand].remote;
	o->entry = only_writer(o->prog, WRC_SP_RECV);
	if (o->entry == WRC_NONE)
		return wrc_refuse_all(o->c, RULE,
				      "not one instruction renews the page of the receive entry");
	entry = &o->prog->insn[o->entry];
	if (entry->op != WRC_WQE_READ || entry->nr_sge != 1 ||
	    entry->sge[0].len != sizeof(__be64) || entry->sge[0].at.off ||
	    !wrc_same_place(entry->remote, o->page))
		return wrc_refuse(o->c, RULE, 0, o->entry,
				  "does not give the receive entry the page that the swap gets");
	return 0;
}

/* The place of an instruction's result. */
static struct wrc_ref result_at(const struct own *o, __u8 insn)
{
	return o->prog->insn[insn].sge[0].at;
}

/*
 * The new page is that of the last atomic that moved one, and stands where 0 is
 * found out before it becomes the register.
 */
static int check_source(struct own *o)
{
	const struct wrc_insn *touch;
	unsigned int i;

	o->taken = WRC_NONE;
	for (i = 0; i < o->operand && i < o->entry; i++)
		if (o->prog->insn[i].op == WRC_WQE_MASKED_CS &&
		    wrc_same_place(result_at(o, i), o->page))
			o->taken = i;
	if (o->taken == WRC_NONE)
		return wrc_refuse(o->c, RULE, 0, o->operand,
				  "renews the register by a page that nobody has moved");
	touch = &o->prog->insn[o->page.at];
	if (o->page.space != WRC_SP_FIELD || o->page.field != WRC_F_ADDR ||
	    touch->sge[o->page.sge].at.space != WRC_SP_POOL ||
	    o->page.at > o->operand || o->page.at > o->entry)
		return wrc_refuse(o->c, RULE, 0, o->operand,
				  "would make a register of no page");
	return 0;
}

/* What was in the entry is the new page, or it was nothing. */
static int check_old(const struct own *o)
{
	struct wrc_ref old = result_at(o, o->swap);

	if (o->taken == o->swap)
		return 0;
	if (old.space != WRC_SP_FIELD || old.field != WRC_F_RADDR ||
	    o->prog->insn[old.at].remote.space != WRC_SP_EMPTY ||
	    !o->prog->insn[old.at].nr_sge || old.at >= o->taken ||
	    !wrc_check_known(o->c, old.at, o->taken))
		return wrc_refuse(o->c, RULE, 0, o->swap,
				  "may lose the page that was in the entry");
	return 0;
}

static int check_post(const struct own *o)
{
	__u8 post = o->prog->post;
	const struct wrc_insn *i;

	if (post == WRC_NONE || post != only_writer(o->prog, WRC_SP_DBR))
		return wrc_refuse_all(o->c, RULE,
				      "the receive entry is posted before it has its new page");
	i = &o->prog->insn[post];
	if (i->op != WRC_WQE_WRITE || i->nr_sge != 1 ||
	    i->sge[0].len != sizeof(__be32) ||
	    !wrc_same_place(i->sge[0].at, wrc_reg(WRC_REG_POST, 0)))
		return wrc_refuse(o->c, RULE, 0, post,
				  "does not post what it is told");
	if (!wrc_check_known(o->c, o->entry, post))
		return wrc_refuse(o->c, RULE, 0, post,
				  "may post the receive entry before it has its new page");
	return 0;
}

/* As held.c sees it. */
static int check_hold(const struct own *o)
{
	const struct wrc_hold *h = &o->prog->hold;
	bool ring = o->taken != o->swap;

	if (h->swapped != o->swap ||
	    !wrc_same_place(h->old, result_at(o, o->swap)) ||
	    h->page_put != WRC_NONE || h->freeing || h->lent ||
	    h->page_taken != (ring ? o->taken : WRC_NONE) ||
	    (ring && !wrc_same_place(h->page, o->page)))
		return wrc_refuse_all(o->c, RULE,
				      "its page would not be found when it is stopped");
	return 0;
}

static bool is_last(const struct wrc_prog *prog, int w)
{
	return w >= 0 &&
	       prog->word[w].off + prog->word[w].width == wrc_msg_len(prog);
}

/*
 * Is the upper half of the swap's address, or of that in the key map, which it
 * gets a copy of, what the request ends with, and comes from nowhere else?  Rule
 * table leaves -1 in all of it until then, so whatever is missing makes it an
 * address beyond a table of 2^32 bytes.
 */
static bool ends_in_address(const struct own *o)
{
	const struct wrc_prog *prog = o->prog;
	__u8 asked = wrc_is_keyed(prog) ? prog->map : o->swap;
	int w = wrc_check_word_of(o->c, asked, WRC_WORD_END);
	bool found = false;
	unsigned int i;

	for (i = 0; is_last(prog, w) && i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->source != WRC_RECV || p->insn != asked ||
		    p->field != WRC_F_RADDR ||
		    p->field_off >= sizeof(__be32))
			continue;
		if (found || p->off != prog->word[w].off)
			return false;
		found = true;
	}
	return found;
}

static int check_end(const struct own *o)
{
	const struct wrc_prog *prog = o->prog;
	const struct wrc_bind *b = o->c->ctx.bind;
	int gate = wrc_check_word_of(o->c, prog->nr_head,
				     WRC_WORD_ENABLE);

	if (prog->node ? !ends_in_address(o) : !is_last(prog, gate))
		return wrc_refuse_all(o->c, RULE,
				      "a request that does not fill its page could map it");
	if (prog->node && b->tt_len > WRC_TT_MAX)
		return wrc_refuse_all(o->c, RULE,
				      "a table of 0x%llx bytes has addresses beyond 2^32",
				      (unsigned long long)b->tt_len);
	return 0;
}

/* ---- the image ------------------------------------------------------------------------ */

static __u64 page_of(struct wrc_check *c, __u32 instance)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];

	if (wrc_check_recv(c, instance, sge) <= c->ctx.prog->page_sge)
		return 0;
	return sge[c->ctx.prog->page_sge].addr;
}

static int check_first(const struct own *o, __u32 instance)
{
	const struct wrc_bind *b = o->c->ctx.bind;
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	struct wrc_wr wr;
	__u64 page;
	__u32 i;

	if (wrc_check_recv(o->c, instance, sge) <= o->prog->page_sge)
		return 0;	/* rule rq says why */
	page = sge[o->prog->page_sge].addr;
	if (sge[o->prog->page_sge].lkey != b->pool_key ||
	    sge[o->prog->page_sge].len != ODRP_WIRE_PAGE_SIZE ||
	    page - WRC_POOL_IOVA >= b->pool_len ||
	    page & (ODRP_WIRE_PAGE_SIZE - 1))
		return wrc_refuse_all(o->c, RULE,
				      "receive entry %u takes its page to 0x%llx, which is no page",
				      instance, (unsigned long long)page);
	if (wrc_check_decode(o->c, instance, o->swap, &wr) &&
	    wr.swap != wrc_swapped(page))
		return wrc_refuse(o->c, RULE, instance, o->swap,
				  "maps another page than it receives into, 0x%llx",
				  (unsigned long long)page);
	for (i = 0; i < instance; i++)
		if (page_of(o->c, i) == page)
			return wrc_refuse_all(o->c, RULE,
					      "receive entries %u and %u take one page, 0x%llx",
					      i, instance,
					      (unsigned long long)page);
	return 0;
}

static int check_register(struct own *o)
{
	__u32 instance;
	int err = find_swap(o);

	if (!err)
		err = find_renewal(o);
	if (!err)
		err = check_source(o);
	if (!err)
		err = check_old(o);
	if (!err)
		err = check_post(o);
	if (!err)
		err = check_hold(o);
	if (!err)
		err = check_end(o);
	for (instance = 0; !err && instance < o->c->ctx.geom->depth; instance++)
		err = check_first(o, instance);
	return err;
}

/* What only page exchange has. */
static int check_foreign(const struct own *o)
{
	unsigned int i;

	if ((o->prog->post != WRC_NONE && !o->prog->node) || o->prog->tail_len)
		return wrc_refuse_all(o->c, RULE,
				      "posts receive entries that have no page of their own");
	for (i = 0; i < o->prog->nr_insn; i++)
		if (o->prog->insn[i].flags & WRC_I_EXCHANGE ||
		    writes_to(&o->prog->insn[i], WRC_SP_RECV))
			return wrc_refuse(o->c, RULE, 0, i,
					  "exchanges a page that is not its own");
	return 0;
}

int wrc_check_own(struct wrc_check *c)
{
	struct own o = { .c = c, .prog = c->ctx.prog };
	unsigned int i;
	int err = 0;

	if (!wrc_has_register(o.prog))
		err = check_foreign(&o);
	for (i = 0; !err && i < o.prog->nr_insn; i++)
		err = check_give(&o, i);
	if (err || !wrc_owns(o.prog))
		return err;
	for (i = 0; !err && i < o.prog->nr_insn; i++)
		err = check_look(&o, i);
	if (!err)
		err = check_lent(&o);
	if (!err && wrc_has_register(o.prog))
		err = check_register(&o);
	return err;
}
