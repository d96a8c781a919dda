// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pull store: the request brings no page, but where it is in the CNode's memory.
 * The client queue READs it from there, straight into its place.  To be
 * measured: see docs/chains-tried.md for why it is not armed.
 *
 * Mapped:
 *
 *	READ the table entry -> local address of the pull
 *	pull the page; WAIT for that; answer
 *
 * Unmapped:
 *
 *	advance head, reverse, take a page -> local address of the pull
 *	pull the page; then, by the client queue: let the loop queue go on
 *	WRITE the page address to the table entry; answer
 *
 * A READ that fails completes, too, and a WAIT takes an error for a completion.
 * The mapped store may: its answer lies behind the READ in a queue that stands
 * still.  The unmapped store would map a page that has not come, in which may
 * be what its last owner left there.  So there the client queue itself says
 * that the page is whole, by a SEND_EN behind the READ: if that has failed, it
 * says nothing.
 */
#include "parts.h"

#define ARG(b, member, to)						\
	wrc_arg(b, __builtin_offsetof(struct odrp_wire_req, member),	\
		sizeof(((struct odrp_wire_req *)0)->member), to)

/* Address and key are those of the page, not of a place for the answer. */
static int finish(struct wrc_build *b, int tt_access, int pull, int answer)
{
	ARG(b, tt_addr, wrc_field(tt_access, WRC_F_RADDR, 0));
	ARG(b, id, wrc_field(answer, WRC_F_IMM, 0));
	ARG(b, raddr_hi, wrc_field(pull, WRC_F_RADDR, 0));
	ARG(b, raddr_lo, wrc_field(pull, WRC_F_RADDR, 4));
	ARG(b, rkey, wrc_field(pull, WRC_F_RKEY, 0));
	return wrc_end(b);
}

static int pull_page(struct wrc_build *b)
{
	return wrc_read(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			ODRP_WIRE_PAGE_SIZE);
}

static int answer_empty(struct wrc_build *b)
{
	return wrc_answer(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_NONE), 0, 0);
}

static int mapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	int body, look, go, came, done, pull, answer;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_MAPPED_STORE, "mapped_store", opts);
	body = wrc_prog_head(&b);
	wrc_enable_upto(&b, body, WRC_NEXT_HEAD);

	look = wrc_read(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	wrc_wait(&b, look);
	go = wrc_send_en(&b, 0);
	came = wrc_wait(&b, 0);
	done = wrc_send_en(&b, 0);

	wrc_client_queue(&b);
	pull = pull_page(&b);
	answer = answer_empty(&b);
	wrc_enable_upto(&b, go, pull);
	wrc_enable_upto(&b, done, answer);
	wrc_wait_for(&b, came, pull);
	wrc_set_local(&b, look, 0, wrc_field(pull, WRC_F_ADDR, 0));
	return finish(&b, look, pull, answer);
}

static int unmapped_store(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	int body, pop, swap, en, take, go, map, done, pull, whole, answer;
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), page;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", opts);
	body = wrc_prog_head(&b);

	pop = wrc_advance(&b, wrc_at(WRC_SP_HEAD), slot, 0);
	wrc_wait(&b, pop);
	swap = wrc_endian_swap(&b, slot);
	wrc_wait(&b, swap);
	en = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, body, en);

	take = wrc_take(&b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	wrc_set_swapped(&b, swap, wrc_field(take, WRC_F_RADDR, 0));
	wrc_wait(&b, take);
	go = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, en, go);

	/* Stands still here until the page is whole. */
	map = wrc_write(&b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8,
			WRC_I_SIGNALED);
	wrc_wait(&b, map);
	done = wrc_send_en(&b, 0);

	wrc_client_queue(&b);
	pull = pull_page(&b);
	wrc_wait(&b, pull);
	whole = wrc_send_en(&b, WRC_NEXT_HEAD);
	answer = answer_empty(&b);
	wrc_enable_upto(&b, go, whole);
	wrc_enable_upto(&b, done, answer);
	page = wrc_field(pull, WRC_F_ADDR, 0);
	wrc_set_local(&b, take, 0, page);
	wrc_set_local(&b, map, 0, page);
	wrc_holds(&b, false, pop, slot, take, page, map);
	return finish(&b, map, pull, answer);
}

int wrc_prog_pull(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		  struct wrc_prog *prog)
{
	switch (chain) {
	case ODRP_WIRE_LOAD:
		return wrc_prog_load(opts, prog);
	case ODRP_WIRE_MAPPED_STORE:
		return mapped_store(opts, prog);
	case ODRP_WIRE_UNMAPPED_STORE:
		return unmapped_store(opts, prog);
	case ODRP_WIRE_INVALIDATE:
		return wrc_prog_invalidate(opts, prog);
	default:
		return -EINVAL;
	}
}
