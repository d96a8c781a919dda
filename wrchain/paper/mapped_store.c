// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mapped store: a page that comes with the request replaces that of a slot.
 *
 *	READ the table entry -> address of the WRITE; WRITE 4 KB; answer
 */
#include "compare.h"

int wrc_prog_mapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_build b;
	int body, look, rest, put, go, answer;

	wrc_begin(&b, prog, ODRP_WIRE_MAPPED_STORE, "mapped_store", opts);
	wrc_page(&b);
	body = wrc_prog_head(&b);

	look = wrc_read(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	wrc_after(&b, look);
	rest = wrc_send_en(&b, WRC_NEXT_HEAD);
	wrc_enable_upto(&b, body, rest);

	put = wrc_write(&b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	wrc_set_local(&b, look, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, 0,
				 WRC_I_SIGNALED);
	wrc_prog_args(&b, look, answer);
	return wrc_end(&b);
}
