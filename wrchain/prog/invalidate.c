// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Invalidate: the page of a slot goes back to the free ring.
 *
 *	take the table entry -> register
 *	scatter the register's bytes 1 and 2 over the opcodes of the next two
 *	advance tail (or NOP) -> slot address; reverse its bytes into the WRITE
 *	WRITE the register to the slot (or NOP); answer
 *
 * Translation in the NIC (WRC_V_KEYED): the key map is READ first, as a store does
 * (prog/exchange.c), and between the take and the WRITE there is
 *
 *	UMR: nothing to the slot's entry of its key
 *
 * An unmapped entry is 0, so both are NOPs then and the answer is the same:
 * invalidating twice is harmless.  See WRC_POOL_IOVA.
 */
#include "parts.h"

#define BYTE_ADVANCE	1	/* of a page address: 0x15, MASKED_FA */
#define BYTE_WRITE	2	/* 0x08, WRITE */

WRC_ASSERT((WRC_POOL_IOVA >> (8 * (7 - BYTE_ADVANCE)) & 0xff) ==
	   WRC_WQE_MASKED_FA);
WRC_ASSERT((WRC_POOL_IOVA >> (8 * (7 - BYTE_WRITE)) & 0xff) == WRC_WQE_WRITE);

int wrc_prog_decide(struct wrc_build *b, struct wrc_ref page)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_READ,
		.flags = WRC_I_SIGNALED,
		.remote = page,
		.nr_sge = 4,
		.sge = {
			{ wrc_reg(WRC_REG_TRASH, 0), BYTE_ADVANCE },
			{ wrc_at(WRC_SP_NONE), 1 },
			{ wrc_at(WRC_SP_NONE), 1 },
			{ wrc_reg(WRC_REG_TRASH, BYTE_WRITE + 1),
			  7 - BYTE_WRITE },
		},
	};

	return wrc_emit(b, &insn);
}

int wrc_prog_invalidate(const struct wrc_opts *opts, struct wrc_prog *prog)
{
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	bool keyed = opts && opts->variant == WRC_V_KEYED;
	int body, take, sel, en, push, swap, rest, put, go, answer;
	int copy = 0, umr = 0;
	struct wrc_build b;

	wrc_begin(&b, prog, ODRP_WIRE_INVALIDATE, "invalidate", opts);
	body = wrc_prog_head(&b);

	if (keyed)
		copy = wrc_prog_ask(&b, &body);
	take = wrc_take(&b, wrc_at(WRC_SP_TT), page);
	if (keyed)
		wrc_set_local(&b, copy, 0, wrc_field(take, WRC_F_RADDR, 0));
	wrc_after(&b, take);
	sel = wrc_prog_decide(&b, page);
	wrc_after(&b, sel);
	en = wrc_send_en(&b, 0);
	wrc_enable_upto(&b, body, en);

	if (keyed)
		umr = wrc_umr(&b, false);
	push = wrc_advance(&b, wrc_at(WRC_SP_TAIL), slot, WRC_I_MAYBE);
	wrc_set_local(&b, sel, 1, wrc_field(push, WRC_F_OPCODE, 0));
	wrc_after(&b, push);
	if (keyed && prog->fences)	/* else there was a WAIT for more */
		wrc_wait(&b, umr);
	swap = wrc_endian_swap(&b, slot);
	wrc_after(&b, swap);
	rest = wrc_send_en(&b, WRC_NEXT_HEAD);
	wrc_enable_upto(&b, en, rest);

	put = wrc_write(&b, wrc_at(WRC_SP_SLOT), page, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	wrc_set_local(&b, sel, 2, wrc_field(put, WRC_F_OPCODE, 0));
	wrc_set_swapped(&b, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&b, put);
	go = wrc_send_en(&b, 0);

	answer = wrc_prog_answer(&b, go, 0, 0);
	wrc_prog_args(&b, keyed ? prog->map : take, answer);
	wrc_holds(&b, true, push, slot, take, page, put);
	return wrc_end(&b);
}
