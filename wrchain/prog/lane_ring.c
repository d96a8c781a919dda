// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A free ring in lanes: its counters hold slot addresses as a WQE wants them,
 * big endian, and step in an order of their own (wrc_ring_step()).  What an
 * advance fetches goes straight into the address of the next WQE: no READ that
 * reverses its bytes, and no WAIT for it.
 *
 * Otherwise unmapped_store.c and invalidate.c; load and mapped store, which do
 * not touch the ring, are ours.  Measured and not armed: docs/chains-tried.md.
 */
#include "parts.h"

static int unmapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	int body, pop, en, take, map, put, go, answer;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", opts);
	wrc_lanes(&b);
	wrc_page(&b);
	body = wrc_prog_head(&b);

	pop = wrc_advance(&b, wrc_at(WRC_SP_HEAD), wrc_at(WRC_SP_NONE), 0);
	wrc_wait(&b, pop);
	en = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, body, en);

	take = wrc_take(&b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	wrc_set_local(&b, pop, 0, wrc_field(take, WRC_F_RADDR, 0));
	wrc_wait(&b, take);
	wrc_enable_upto(&b, en, wrc_send_en(&b, WRC_NEXT_HEAD));

	map = wrc_write(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8, 0);
	put = wrc_write(&b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	wrc_set_local(&b, take, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_set_local(&b, map, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, 0, WRC_I_SIGNALED);
	wrc_prog_args(&b, map, answer);
	wrc_holds(&b, false, pop, wrc_field(take, WRC_F_RADDR, 0), take,
		  wrc_field(put, WRC_F_RADDR, 0), map);
	return wrc_end(&b);
}

static int invalidate(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	int body, take, sel, en, push, rest, put, go, answer;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_INVALIDATE, "invalidate", opts);
	wrc_lanes(&b);
	body = wrc_prog_head(&b);

	take = wrc_take(&b, wrc_at(WRC_SP_TT), page);
	wrc_wait(&b, take);
	sel = wrc_prog_decide(&b, page);
	wrc_wait(&b, sel);
	en = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, body, en);

	push = wrc_advance(&b, wrc_at(WRC_SP_TAIL), wrc_at(WRC_SP_NONE),
			   WRC_I_MAYBE);
	wrc_set_local(&b, sel, 1, wrc_field(push, WRC_F_OPCODE, 0));
	wrc_wait(&b, push);
	rest = wrc_send_en(&b, WRC_NEXT_HEAD);
	wrc_enable_upto(&b, en, rest);

	put = wrc_write(&b, wrc_at(WRC_SP_SLOT), page, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	wrc_set_local(&b, sel, 2, wrc_field(put, WRC_F_OPCODE, 0));
	wrc_set_local(&b, push, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, 0, 0);
	wrc_prog_args(&b, take, answer);
	wrc_holds(&b, true, push, wrc_field(put, WRC_F_RADDR, 0), take, page,
		  put);
	return wrc_end(&b);
}

int wrc_prog_lane_ring(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		       struct wrc_prog *prog)
{
	switch (chain) {
	case ODRP_WIRE_LOAD:
		return wrc_prog_load(opts, prog);
	case ODRP_WIRE_MAPPED_STORE:
		return wrc_prog_mapped_store(opts, prog);
	case ODRP_WIRE_UNMAPPED_STORE:
		return unmapped_store(opts, prog);
	case ODRP_WIRE_INVALIDATE:
		return invalidate(opts, prog);
	default:
		return -EINVAL;
	}
}
