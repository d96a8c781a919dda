// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ladder's programs, each with and without each optimisation; ladder.h
 * tells what they lack, and the files of the same names here what they do.
 */
#include "ladder.h"

/*
 * Load: READ the table entry -> address of the answer's data; answer with 4 KB.
 */
int ladder_load(struct ladder *l)
{
	struct wrc_build *b = &l->b;
	int tt = 0, en, look, answer;

	ladder_head(l);
	if (!l->calc) {
		tt = ladder_tt(l);
		en = ladder_fence(l, wrc_send_en(b, WRC_NEXT_HEAD));
		wrc_enable_upto(b, l->head, en);
	} else {
		wrc_enable_upto(b, l->head, WRC_NEXT_HEAD);
	}
	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	if (!l->calc)
		ladder_set_swapped(l, tt, wrc_field(look, WRC_F_RADDR, 0));
	answer = ladder_answer(l, true, ODRP_WIRE_PAGE_SIZE, look);
	wrc_set_local(b, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	return wrc_end(b);
}

/* Mapped store: READ the table entry -> address of the WRITE; WRITE; answer. */
int ladder_mapped_store(struct ladder *l)
{
	struct wrc_build *b = &l->b;
	int tt = 0, en, look, rest, put;

	ladder_head(l);
	if (!l->calc) {
		tt = ladder_tt(l);
		en = ladder_fence(l, wrc_send_en(b, 0));
		wrc_enable_upto(b, l->head, en);
	} else {
		en = l->head;
	}
	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	if (!l->calc)
		ladder_set_swapped(l, tt, wrc_field(look, WRC_F_RADDR, 0));
	rest = ladder_fence(l, wrc_send_en(b, WRC_NEXT_HEAD));
	wrc_enable_upto(b, en, rest);
	put = wrc_write(b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, 0);
	wrc_set_local(b, look, 0, wrc_field(put, WRC_F_RADDR, 0));
	ladder_answer(l, false, 0, look);
	return wrc_end(b);
}

/* map: the entry gets what put's raddr is; put: the page goes there. */
static int map_and_put(struct ladder *l, int *ret_map)
{
	int put;

	*ret_map = wrc_write(&l->b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8,
			     0);
	put = wrc_write(&l->b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, 0);
	wrc_set_local(&l->b, *ret_map, 0, wrc_field(put, WRC_F_RADDR, 0));
	return put;
}

/*
 * Unmapped store: advance head -> slot address; reverse its bytes into the
 * take; take the page out of the slot -> address of the WRITE; WRITE it to the
 * table; WRITE 4 KB; answer.  The paper READs the slot and WRITEs 0 to it; one
 * atomic does both here, as in our own chain.
 */
int ladder_unmapped_store(struct ladder *l)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_build *b = &l->b;
	int tt = 0, pop, swap, en, take, rest, map, put;

	ladder_head(l);
	if (!l->calc)
		tt = ladder_tt(l);
	pop = wrc_advance(b, wrc_at(WRC_SP_HEAD), slot, 0);
	swap = ladder_fence(l, ladder_swap_slot(l, slot));
	en = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, l->head, en);

	take = wrc_take(b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	ladder_set_swapped(l, swap, wrc_field(take, WRC_F_RADDR, 0));
	rest = ladder_fence(l, wrc_send_en(b, WRC_NEXT_HEAD));
	wrc_enable_upto(b, en, rest);

	put = map_and_put(l, &map);
	wrc_set_local(b, take, 0, wrc_field(put, WRC_F_RADDR, 0));
	if (!l->calc)
		ladder_set_swapped(l, tt, wrc_field(map, WRC_F_RADDR, 0));
	ladder_answer(l, false, 0, map);
	wrc_holds(b, false, pop, slot, take, wrc_field(put, WRC_F_RADDR, 0),
		  map);
	return wrc_end(b);
}

/*
 * A store that looks up by itself whether its slot is mapped; no rung has this
 * and computes tt_addr on the client.
 *
 *	READ the entry -> address of the WRITE (0: unmapped)
 *	READ byte 1 of that -> byte 6 of the counter's address: an unmapped
 *	entry leaves it, a page address has 0x15 there and leads to a second
 *	counter, of a ring of zeros
 *	advance the counter, take a page (or 0) -> register, reverse its bytes
 *	CAS on the address of the WRITE: if it is 0, it becomes the page
 *	WRITE it to the table entry (again, if it was there); WRITE 4 KB; answer
 *
 * So memory must be laid out for it: WRC_NAIVE_* in wrc.h.
 */
int ladder_any_store(struct ladder *l)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	struct wrc_insn choose = {
		.op = WRC_WQE_CS,
		.nr_sge = 1,
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), 8 } },
	};
	struct wrc_insn *insn = l->b.prog->insn;
	int tt_look, tt_map, en[5], look, which, pop, swap, take, back, cas;
	struct wrc_build *b = &l->b;
	int map, put;

	ladder_head(l);
	tt_look = ladder_tt(l);
	tt_map = ladder_tt(l);
	en[0] = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, l->head, en[0]);

	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	which = ladder_fence(l, wrc_read(b, slot, wrc_at(WRC_SP_NONE), 1));
	en[1] = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, en[0], en[1]);

	pop = wrc_advance(b, wrc_at(WRC_SP_HEAD), slot, 0);
	swap = ladder_fence(l, ladder_swap_slot(l, slot));
	en[2] = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, en[1], en[2]);

	take = wrc_take(b, wrc_at(WRC_SP_SLOT), page);
	back = ladder_fence(l, ladder_swap(l, page, 8));
	en[3] = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, en[2], en[3]);

	choose.remote = page;		/* put does not exist yet */
	cas = wrc_emit(b, &choose);
	en[4] = ladder_fence(l, wrc_send_en(b, WRC_NEXT_HEAD));
	wrc_enable_upto(b, en[3], en[4]);

	put = map_and_put(l, &map);
	if (!b->err) {
		insn[which].remote = wrc_field(put, WRC_F_RADDR, 0);
		insn[which].remote.off = 1;
		insn[cas].remote = wrc_field(put, WRC_F_RADDR, 0);
	}
	wrc_set_local(b, look, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_set_local(b, which, 0, wrc_field(pop, WRC_F_RADDR, 6));
	ladder_set_swapped(l, tt_look, wrc_field(look, WRC_F_RADDR, 0));
	ladder_set_swapped(l, tt_map, wrc_field(map, WRC_F_RADDR, 0));
	ladder_set_swapped(l, swap, wrc_field(take, WRC_F_RADDR, 0));
	ladder_set_swapped(l, back, wrc_field(cas, WRC_F_SWAP_ADD, 0));
	ladder_answer(l, false, 0, map);
	return wrc_end(b);
}

/* The two conditional opcodes, out of a page address; see invalidate.c. */
static int ladder_decide(struct ladder *l, struct wrc_ref page)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_READ,
		.remote = page,
		.nr_sge = 4,
		.sge = {
			{ wrc_reg(WRC_REG_TRASH, 0), 1 },
			{ wrc_at(WRC_SP_NONE), 1 },
			{ wrc_at(WRC_SP_NONE), 1 },
			{ wrc_reg(WRC_REG_TRASH, 3), 5 },
		},
	};

	return wrc_emit(&l->b, &insn);
}

/* Invalidate: the page of a slot goes back to the free ring; invalidate.c. */
int ladder_invalidate(struct ladder *l)
{
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_build *b = &l->b;
	int tt = 0, en = l->head, take, sel, go, push, swap, rest, put;

	ladder_head(l);
	en = l->head;
	if (!l->calc) {
		tt = ladder_tt(l);
		en = ladder_fence(l, wrc_send_en(b, 0));
		wrc_enable_upto(b, l->head, en);
	}
	take = wrc_take(b, wrc_at(WRC_SP_TT), page);
	if (!l->calc)
		ladder_set_swapped(l, tt, wrc_field(take, WRC_F_RADDR, 0));
	sel = ladder_fence(l, ladder_decide(l, page));
	go = ladder_fence(l, wrc_send_en(b, 0));
	wrc_enable_upto(b, en, go);

	push = wrc_advance(b, wrc_at(WRC_SP_TAIL), slot, WRC_I_MAYBE);
	wrc_set_local(b, sel, 1, wrc_field(push, WRC_F_OPCODE, 0));
	swap = ladder_fence(l, ladder_swap_slot(l, slot));
	rest = ladder_fence(l, wrc_send_en(b, WRC_NEXT_HEAD));
	wrc_enable_upto(b, go, rest);

	put = wrc_write(b, wrc_at(WRC_SP_SLOT), page, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	wrc_set_local(b, sel, 2, wrc_field(put, WRC_F_OPCODE, 0));
	ladder_set_swapped(l, swap, wrc_field(put, WRC_F_RADDR, 0));
	ladder_answer(l, false, 0, take);
	wrc_holds(b, true, push, slot, take, page, put);
	return wrc_end(b);
}
