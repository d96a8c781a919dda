// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A load of page exchange.  The page's message may be sent again until the client
 * has acknowledged it, so the page is out of the table until then:
 *
 *	take the table entry -> address of the page's message; send it
 *	copy tt_addr to the WRITE, and the id to the answer, meanwhile
 *	when it has been acknowledged: WRITE the page back to the entry; answer
 *
 * The CNode may not use the slot on another queue until the answer has come.
 * An unmapped entry is 0, and no page has that address: the message fails and
 * breaks the connection.
 */
#include "compare.h"

#define ARG(b, member, to)						\
	wrc_arg(b, __builtin_offsetof(struct odrp_wire_req, member),	\
		sizeof(((struct odrp_wire_req *)0)->member), to)

/* recycle=node: nobody can ask for a notice with the page. */
static int deliver(struct wrc_build *b)
{
	struct wrc_ref peer = wrc_at(WRC_SP_PEER), page = wrc_at(WRC_SP_POOL);

	if (b->prog->node)
		return wrc_write(b, peer, page, ODRP_WIRE_PAGE_SIZE,
				 WRC_I_SIGNALED);
	return wrc_deliver(b, peer, page, ODRP_WIRE_PAGE_SIZE);
}

int wrc_prog_lending_load(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_ref none = wrc_at(WRC_SP_NONE);
	int body, take, go, tt, id, seen, en, put, done, page, answer;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_LOAD, "load", opts);
	wrc_own(&b);
	body = wrc_prog_head(&b);
	take = wrc_take(&b, wrc_at(WRC_SP_TT), none);
	wrc_after(&b, take);
	go = wrc_send_en(&b, 0);

	/* While the page travels. */
	tt = wrc_read(&b, wrc_field(take, WRC_F_RADDR, 0), none, 8);
	id = wrc_read(&b, wrc_reg(WRC_REG_TRASH, 0), none, sizeof(__be32));
	wrc_wait(&b, id);	/* order=fence, too: there is a WAIT anyway */
	seen = wrc_wait(&b, 0);
	en = wrc_send_en(&b, WRC_NEXT_HEAD);
	wrc_enable_upto(&b, body, en);

	put = wrc_write(&b, wrc_at(WRC_SP_TT), none, 8, WRC_I_SIGNALED);
	wrc_set_local(&b, tt, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	done = wrc_send_en(&b, 0);

	wrc_recycle(&b);
	wrc_client_queue(&b);
	page = deliver(&b);
	answer = wrc_answer(&b, wrc_at(WRC_SP_PEER), none, 0, 0);
	wrc_enable_upto(&b, go, page);
	wrc_enable_upto(&b, done, answer);
	wrc_wait_for(&b, seen, page);
	wrc_set_local(&b, take, 0, wrc_field(page, WRC_F_ADDR, 0));
	wrc_set_local(&b, put, 0, wrc_field(page, WRC_F_ADDR, 0));
	wrc_set_remote(&b, id, wrc_field(page, WRC_F_IMM, 0));
	wrc_set_local(&b, id, 0, wrc_field(answer, WRC_F_IMM, 0));

	ARG(&b, tt_addr, wrc_field(take, WRC_F_RADDR, 0));
	ARG(&b, id, wrc_field(page, WRC_F_IMM, 0));
	ARG(&b, raddr_hi, wrc_field(page, WRC_F_RADDR, 0));
	ARG(&b, raddr_lo, wrc_field(page, WRC_F_RADDR, 4));
	ARG(&b, rkey, wrc_field(page, WRC_F_RKEY, 0));
	wrc_lends(&b, wrc_field(take, WRC_F_RADDR, 0), take,
		  wrc_field(page, WRC_F_ADDR, 0), put);
	return wrc_end(&b);
}
