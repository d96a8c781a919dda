// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Unmapped store: a page that comes with the request goes to a free page,
 * which becomes that of the slot.
 *
 *	advance head -> slot address; reverse its bytes into the take
 *	take the page address out of the slot -> address of the WRITE
 *	WRITE it to the table entry; WRITE 4 KB; answer
 *
 * An empty slot is 0, and no page has that address: the WRITE fails and breaks
 * the connection, with a 0 written over the 0 in the table.
 */
#include "compare.h"

int wrc_prog_unmapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	int body, pop, swap, en, take, map, put, go, answer;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", opts);
	wrc_page(&b);
	body = wrc_prog_head(&b);

	pop = wrc_advance(&b, wrc_at(WRC_SP_HEAD), slot, 0);
	wrc_after(&b, pop);
	swap = wrc_endian_swap(&b, slot);
	wrc_after(&b, swap);
	en = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, body, en);

	take = wrc_take(&b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	wrc_set_swapped(&b, swap, wrc_field(take, WRC_F_RADDR, 0));
	wrc_after(&b, take);
	wrc_enable_upto(&b, en, wrc_send_en(&b, WRC_NEXT_HEAD));

	map = wrc_write(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8, 0);
	put = wrc_write(&b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	wrc_set_local(&b, take, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_set_local(&b, map, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, 0,
				 WRC_I_SIGNALED);
	wrc_prog_args(&b, map, answer);
	wrc_holds(&b, false, pop, slot, take,
		  wrc_field(put, WRC_F_RADDR, 0), map);
	return wrc_end(&b);
}
