// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Page exchange: a page is touched only while its address is in the chain's own
 * register, and gets there and away by one atomic (I3).
 *
 * Store.  The receive entry takes the request's page into a page of the
 * instance's own, and the swap puts that page into the table entry.  The answer
 * goes; then the instance needs another page.  If the slot was mapped, it is the
 * entry's old one.  If not, the ring's next:
 *
 *	swap own page with the table entry -> old; answer
 *	unmapped: READ the table at address old, which fails unless that is 0;
 *		advance head -> slot; reverse it into the take; take a page
 *	READ 8 bytes of the new page, which fails if there is none
 *	the new page -> operand of the swap, reversed; -> receive entry
 *	post the receive entry again; recycle=node: when all words are there, too
 *
 * Translation in the NIC (WRC_V_KEYED, core/keymap.h).  There is one store, to
 * an unmapped slot; pages that are mapped the client READs and WRITEs.  Before the
 * swap goes
 *
 *	READ the key map at tt_addr -> key and offset of the UMR; copy tt_addr to
 *		the swap
 *	UMR: own page to the slot's entry of its key
 *
 * and the new page goes to the UMR, too.  Whoever takes a page out of the
 * table entry takes its translation away after that (prog/invalidate.c), and
 * what maps it was there before.  So a page that is in no entry of the table,
 * and is no instance's own, has no translation, whatever a client sends.
 *
 * So each instance holds one page at all times.  A store of the wrong kind is
 * done and answered, and breaks the connection behind its answer.
 */
#include "parts.h"

struct store {
	struct wrc_build b;
	int body;		/* the gate */
	int asked;		/* where the request's tt_addr goes */
	int umr, swap, go;
	int last;		/* a SEND_EN whose reach is open */
};

static void swap_and_answer(struct store *s, bool keyed)
{
	struct wrc_ref none = wrc_at(WRC_SP_NONE);
	struct wrc_build *b = &s->b;
	int copy = 0;

	wrc_own(b);
	wrc_page(b);
	s->body = wrc_prog_head(b);
	if (keyed) {
		copy = wrc_prog_ask(b, &s->body);
		s->umr = wrc_umr(b, true);
		wrc_wait(b, s->umr);
	}
	s->swap = wrc_exchange(b, wrc_at(WRC_SP_TT), none);
	s->asked = s->swap;
	if (keyed) {
		s->asked = b->prog->map;
		wrc_set_local(b, copy, 0,
			      wrc_field(s->swap, WRC_F_RADDR, 0));
	}
	wrc_after(b, s->swap);
	s->go = wrc_send_en(b, 0);
	s->last = wrc_send_en(b, 0);
	wrc_enable_upto(b, s->body, s->last);
}

/* SEND_EN as far as the next one, which this is. */
static void store_enable(struct store *s, int target)
{
	int en = wrc_send_en(&s->b, target);

	wrc_enable_upto(&s->b, s->last, en);
	s->last = en;
}

/* READ, in effect, of 8 bytes of the page: the address comes at run time. */
static int store_touch(struct store *s)
{
	return wrc_write(&s->b, wrc_reg(WRC_REG_TRASH, 0), wrc_at(WRC_SP_POOL),
			 8, 0);
}

/* The new page is where store_touch() has its address. */
static void store_renew(struct store *s, int touched)
{
	struct wrc_ref page = wrc_field(touched, WRC_F_ADDR, 0);
	struct wrc_build *b = &s->b;
	int operand, entry, post;

	operand = wrc_endian_swap(b, page);
	wrc_set_swapped(b, operand, wrc_field(s->swap, WRC_F_MSWAP, 0));
	if (wrc_is_keyed(b->prog))
		wrc_read(b, page, wrc_field(s->umr, WRC_F_PAGE, 0), 8);
	entry = wrc_read(b, page, wrc_at(WRC_SP_RECV), 8);
	if (b->prog->node)	/* behind the words: wrc_recycle() */
		return;
	wrc_after(b, entry);
	post = wrc_write(b, wrc_at(WRC_SP_DBR), wrc_reg(WRC_REG_POST, 0),
			 sizeof(__be32), 0);
	wrc_posts(b, post);
}

static int store_finish(struct store *s)
{
	wrc_prog_args(&s->b, s->asked, wrc_prog_answer(&s->b, s->go, 0, 0));
	return wrc_end(&s->b);
}

static int mapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct store s;
	int page;

	wrc_begin(&s.b, prog, ODRP_WIRE_MAPPED_STORE, "mapped_store", opts);
	swap_and_answer(&s, false);
	wrc_enable_upto(&s.b, s.last, WRC_NEXT_HEAD);
	page = store_touch(&s);
	wrc_set_local(&s.b, s.swap, 0, wrc_field(page, WRC_F_ADDR, 0));
	store_renew(&s, page);
	wrc_holds_old(&s.b, s.swap, wrc_field(page, WRC_F_ADDR, 0));
	return store_finish(&s);
}

static int unmapped_store(const struct wrc_opts *opts, bool keyed,
			  struct wrc_prog *prog)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), old;
	int empty, pop, reverse, take, page;
	struct store s;

	wrc_begin(&s.b, prog, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", opts);
	swap_and_answer(&s, keyed);
	empty = wrc_read(&s.b, wrc_at(WRC_SP_EMPTY),
			 wrc_reg(WRC_REG_TRASH, 0), 8);
	old = wrc_field(empty, WRC_F_RADDR, 0);
	wrc_set_local(&s.b, s.swap, 0, old);

	pop = wrc_advance(&s.b, wrc_at(WRC_SP_HEAD), slot, 0);
	wrc_after(&s.b, pop);
	reverse = wrc_endian_swap(&s.b, slot);
	wrc_after(&s.b, reverse);
	store_enable(&s, 0);
	take = wrc_take(&s.b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	wrc_set_swapped(&s.b, reverse, wrc_field(take, WRC_F_RADDR, 0));
	wrc_after(&s.b, take);
	store_enable(&s, WRC_NEXT_HEAD);

	page = store_touch(&s);
	wrc_set_local(&s.b, take, 0, wrc_field(page, WRC_F_ADDR, 0));
	store_renew(&s, page);
	wrc_holds_old(&s.b, s.swap, old);
	wrc_holds(&s.b, false, pop, slot, take, wrc_field(page, WRC_F_ADDR, 0),
		  WRC_NONE);
	return store_finish(&s);
}

int wrc_prog_exchange(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		      struct wrc_prog *prog)
{
	switch (chain) {
	case ODRP_WIRE_MAPPED_STORE:
		return mapped_store(opts, prog);
	case ODRP_WIRE_UNMAPPED_STORE:
		return unmapped_store(opts, false, prog);
	case ODRP_WIRE_INVALIDATE:
		return wrc_prog_invalidate(opts, prog);
	default:
		return -EINVAL;
	}
}

int wrc_prog_keyed(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		   struct wrc_prog *prog)
{
	switch (chain) {
	case ODRP_WIRE_UNMAPPED_STORE:
		return unmapped_store(opts, true, prog);
	case ODRP_WIRE_INVALIDATE:
		return wrc_prog_invalidate(opts, prog);
	default:	/* the client does it alone */
		return -EINVAL;
	}
}
