// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Load: the page of a slot goes to the CNode.
 *
 *	READ the table entry -> address of the answer's data; answer with 4 KB
 *
 * An unmapped entry is 0, and no page has that address: the answer fails and
 * breaks the connection.
 */
#include "parts.h"

int wrc_prog_load(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_build b;
	int body, look, go, answer;

	wrc_begin(&b, prog, ODRP_WIRE_LOAD, "load", opts);
	body = wrc_prog_head(&b);
	wrc_enable_upto(&b, body, WRC_NEXT_HEAD);

	look = wrc_read(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	wrc_after(&b, look);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, ODRP_WIRE_PAGE_SIZE,
				 WRC_I_SIGNALED);
	wrc_set_local(&b, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	wrc_prog_args(&b, look, answer);
	return wrc_end(&b);
}
