// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule keyed: translation in the NIC (I3).
 *
 * A client READs and WRITEs by its keys whenever it likes, from many queues, and
 * sends what it likes to all chains at once.  So, whatever runs between what:
 *
 *  - which entry of which key is changed follows from the address at which the
 *    table is changed, by the key map, and from nothing else;
 *  - whoever maps a page gives the slot's key that page, its own, before the
 *    table has it, by which alone another chain can come to it;
 *  - whoever takes a page out of the table takes the translation away when it
 *    has the page, and is done with that before a ring has it.
 *
 * Then a page that others may get has no translation: the last UMR that named
 * it was before it came into the table, and one of the same slot that names none
 * or another came after it was taken out.
 *
 * Where the NIC has translations, no chain without this may change the table.
 */
#include "check.h"

#define RULE WRC_RULE_KEYED

/**
 * struct keyed - what a keyed program is made of
 * @umr:	the one UMR
 * @move:	the one that moves a page to or from the table
 * @store:	it maps a page, else it frees one
 */
struct keyed {
	struct wrc_check *c;
	const struct wrc_prog *prog;
	unsigned int umr, move;
	bool store;
};

/* ---- programs that know nothing of it ------------------------------------------ */

static int check_foreign(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	if (prog->hold.umr != WRC_NONE)
		return wrc_refuse_all(c, RULE,
				      "a stop would look for a translation that there is not");
	for (i = 0; i < prog->nr_insn; i++) {
		if (prog->insn[i].op == WRC_WQE_UMR)
			return wrc_refuse(c, RULE, 0, i,
					  "changes a key, and no key map says where");
		if (c->ctx.bind->keymap_key &&
		    prog->insn[i].remote.space == WRC_SP_TT)
			return wrc_refuse(c, RULE, 0, i,
					  "knows a table entry that the NIC has a translation of");
	}
	return 0;
}

/* ---- one slot, one place --------------------------------------------------------- */

static bool is_at(const struct wrc_operand *o, __u32 len, unsigned int insn,
		  enum wrc_field field)
{
	return o->len == len &&
	       wrc_same_place(o->at, wrc_field(insn, field, 0));
}

/* The READ of the key map, and the UMR that it is for. */
static int check_map(struct keyed *k)
{
	const struct wrc_insn *map = &k->prog->insn[k->prog->map];
	unsigned int i, umrs = 0, maps = 0;

	for (i = 0; i < k->prog->nr_insn; i++) {
		if (k->prog->insn[i].remote.space == WRC_SP_KEYMAP)
			maps++;
		if (k->prog->insn[i].op != WRC_WQE_UMR)
			continue;
		k->umr = i;
		umrs++;
	}
	if (umrs != 1 || maps != 1)
		return wrc_refuse_all(k->c, RULE,
				      "%u UMRs and %u READs of the key map, and it is one each",
				      umrs, maps);
	if (map->op != WRC_WQE_READ || map->queue != WRC_LOOP ||
	    map->remote.space != WRC_SP_KEYMAP || map->nr_sge != 3 ||
	    !is_at(&map->sge[0], sizeof(__be32), k->umr, WRC_F_IMM) ||
	    map->sge[1].len != sizeof(__be16) ||
	    !is_at(&map->sge[2], sizeof(__be16), k->umr, WRC_F_OFFSET))
		return wrc_refuse(k->c, RULE, 0, k->prog->map,
				  "does not bring the UMR its key and its offset");
	return 0;
}

/* Do the field's bytes come from one READ of 8 bytes of that place alone? */
static bool is_copied(const struct wrc_prog *prog, unsigned int insn,
		      enum wrc_field field, struct wrc_ref from)
{
	unsigned int i, n = 0;

	for (i = 0; i < prog->nr_patches; i++) {
		const struct wrc_patch *p = &prog->patch[i];

		if (p->insn != insn || p->field != field)
			continue;
		if (n++ || p->source >= prog->nr_insn || p->off ||
		    p->field_off || p->width != sizeof(__be64) || p->delta ||
		    prog->insn[p->source].op != WRC_WQE_READ ||
		    !wrc_same_place(prog->insn[p->source].remote, from))
			return false;
	}
	return n == 1;
}

static int check_place(struct keyed *k)
{
	unsigned int i, moves = 0;

	for (i = 0; i < k->prog->nr_insn; i++) {
		if (k->prog->insn[i].remote.space != WRC_SP_TT)
			continue;
		k->move = i;
		if (moves++ || k->prog->insn[i].op != WRC_WQE_MASKED_CS)
			return wrc_refuse(k->c, RULE, 0, i,
					  "is not the one that moves a page to or from the table");
	}
	if (k->prog->hold.umr != k->umr)
		return wrc_refuse_all(k->c, RULE,
				      "a stop would leave a translation that nobody knows of");
	if (!moves)
		return wrc_refuse_all(k->c, RULE,
				      "changes a key and not the table");
	if (!is_copied(k->prog, k->move, WRC_F_RADDR,
		       wrc_field(k->prog->map, WRC_F_RADDR, 0)))
		return wrc_refuse(k->c, RULE, 0, k->move,
				  "may be at another slot than the UMR");
	k->store = k->prog->insn[k->move].flags & WRC_I_EXCHANGE;
	return 0;
}

/* ---- what when ------------------------------------------------------------------- */

static bool writes_recv(const struct wrc_insn *i)
{
	return wrc_opdef(i->op)->flags & WRC_OP_SCATTER && i->nr_sge == 1 &&
	       i->sge[0].at.space == WRC_SP_RECV;
}

/* The page of the receive entry, which is the swap's: rule own. */
static int check_renewal(const struct keyed *k)
{
	unsigned int i;

	for (i = 0; i < k->prog->nr_insn; i++)
		if (writes_recv(&k->prog->insn[i]) &&
		    is_copied(k->prog, k->umr, WRC_F_PAGE,
			      k->prog->insn[i].remote))
			return 0;
	return wrc_refuse(k->c, RULE, 0, k->umr,
			  "does not get the page that the receive entry gets");
}

static int check_store(const struct keyed *k)
{
	if (!(k->prog->insn[k->umr].flags & WRC_I_EXCHANGE))
		return wrc_refuse(k->c, RULE, 0, k->umr,
				  "does not give the slot the page that the table gets");
	if (!wrc_check_known(k->c, k->umr, k->move))
		return wrc_refuse(k->c, RULE, 0, k->move,
				  "has a page in the table before its translation");
	return check_renewal(k);
}

static int check_free(const struct keyed *k)
{
	unsigned int i;

	if (wrc_check_is_patched(k->prog, k->umr, WRC_F_PAGE, 0))
		return wrc_refuse(k->c, RULE, 0, k->umr,
				  "leaves a page that is freed a translation");
	if (!wrc_check_known(k->c, k->move, k->umr))
		return wrc_refuse(k->c, RULE, 0, k->umr,
				  "may be over before its page is taken");
	for (i = 0; i < k->prog->nr_insn; i++)
		if (k->prog->insn[i].remote.space == WRC_SP_SLOT &&
		    !wrc_check_known(k->c, k->umr, i))
			return wrc_refuse(k->c, RULE, 0, i,
					  "gives a page away that may have a translation");
	return 0;
}

/* ---- the image --------------------------------------------------------------------- */

static int check_image(const struct keyed *k, __u32 instance)
{
	const struct wrc_bind *b = k->c->ctx.bind;
	__u64 page = 0;
	struct wrc_wr wr;

	if (!wrc_check_decode(k->c, instance, k->umr, &wr))
		return 0;	/* rule form says why */
	if (k->store)
		page = wrc_first_page(k->c->ctx.geom, b, instance);
	if (wr.page != page || wr.page_key != (k->store ? b->pool_key : 0))
		return wrc_refuse(k->c, RULE, instance, k->umr,
				  "maps 0x%x:0x%llx and not its own page, 0x%llx",
				  wr.page_key, (unsigned long long)wr.page,
				  (unsigned long long)page);
	if (wr.imm || wr.offset)
		return wrc_refuse(k->c, RULE, instance, k->umr,
				  "has a key and an offset before its first request");
	return 0;
}

int wrc_check_keyed(struct wrc_check *c)
{
	struct keyed k = { .c = c, .prog = c->ctx.prog };
	__u32 instance;
	int err;

	if (!wrc_is_keyed(k.prog))
		return check_foreign(c);
	err = check_map(&k);
	if (!err)
		err = check_place(&k);
	if (!err)
		err = k.store ? check_store(&k) : check_free(&k);
	for (instance = 0; !err && instance < c->ctx.geom->depth; instance++)
		err = check_image(&k, instance);
	return err;
}
