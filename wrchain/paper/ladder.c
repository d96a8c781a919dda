// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rungs of the ladder: switches, and what the programs share; ladder.h. */
#include "ladder.h"

static void ladder_fail(struct ladder *l, int err)
{
	if (!l->b.err)
		l->b.err = err;
}

int ladder_fence(struct ladder *l, int insn)
{
	if (!l->b.err)
		l->b.prog->insn[insn].flags |= WRC_I_FENCE;
	return insn;
}

static void ladder_begin(struct ladder *l, enum odrp_wire_chain chain,
			 const char *name, bool page, struct wrc_prog *prog)
{
	wrc_begin(&l->b, prog, chain, name, NULL);
	if (!l->calc)
		prog->kind = WRC_KIND_LADDER_HOST;
	else if (!l->helper)
		prog->kind = WRC_KIND_LADDER;
	else
		prog->kind = WRC_KIND_PAPER;
	if (page)
		wrc_page(&l->b);
}

void ladder_head(struct ladder *l)
{
	struct wrc_insn add = {
		.op = WRC_WQE_FA,
		.remote = wrc_reg(WRC_REG_TT, 0),
		.nr_sge = 1,
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), 8 } },
		.swap = 0,	/* where the table is under its key */
	};

	wrc_wait(&l->b, WRC_RECV);
	l->head = wrc_send_en(&l->b, 0);
	wrc_head_end(&l->b);
	if (!l->calc)
		wrc_emit(&l->b, &add);
}

int ladder_swap(struct ladder *l, struct wrc_ref from, unsigned int len)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_READ,
		.remote = from,
		.nr_sge = len,
	};
	unsigned int i;

	for (i = 0; i < len; i++)
		insn.sge[i].len = 1;
	return wrc_emit(&l->b, &insn);
}

int ladder_tt(struct ladder *l)
{
	return ladder_fence(l, ladder_swap(l, wrc_reg(WRC_REG_TT, 0), 8));
}

int ladder_swap_slot(struct ladder *l, struct wrc_ref from)
{
	int first = 0, i, n;

	if (l->swap)
		return ladder_swap(l, from, 8);
	for (i = 0; i < 8; i++) {
		struct wrc_ref byte = from;

		byte.off += i;
		n = ladder_swap(l, byte, 1);
		if (!i)
			first = n;
	}
	return first;
}

void ladder_set_swapped(struct ladder *l, int swap, struct wrc_ref at)
{
	__u8 off = at.off, i, len;

	if (l->b.err)
		return;
	len = l->b.prog->insn[swap].nr_sge;
	if (len > 1) {
		for (i = 0; i < len; i++) {
			at.off = off + len - 1 - i;
			wrc_set_local(&l->b, swap, i, at);
		}
		return;
	}
	for (i = 0; i < 8; i++) {
		at.off = off + 7 - i;
		wrc_set_local(&l->b, swap + i, 0, at);
	}
}

/* ---- re-arming without the client ------------------------------------------- */

static void ladder_rearm(struct ladder *l, __u8 kind, __u8 insn)
{
	struct wrc_prog *prog = l->b.prog;
	struct wrc_insn advance = {
		.op = WRC_WQE_MASKED_FA,
		.remote = { .space = WRC_SP_CELL },
		.nr_sge = 1,
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), 8 } },
	};
	struct wrc_ref to = wrc_at(WRC_SP_DBR);
	int swap;

	if (l->b.err)
		return;
	if (prog->nr_cells == WRC_MAX_CELLS) {
		ladder_fail(l, -ENOSPC);
		return;
	}
	prog->cell[prog->nr_cells].kind = kind;
	prog->cell[prog->nr_cells].insn = insn;
	advance.remote.at = prog->nr_cells++;
	if (insn != WRC_NONE)
		to = wrc_field(insn, WRC_F_COUNT, 0);
	wrc_emit(&l->b, &advance);
	/* Behind the FAA in the same queue, so it reads what that left. */
	swap = ladder_swap(l, advance.remote, sizeof(__be32));
	ladder_set_swapped(l, swap, to);
}

/* One cell for each WAIT and SEND_EN so far, and for the doorbell record. */
static void rearm_all(struct ladder *l)
{
	int i, nr = l->b.prog->nr_insn;

	for (i = 0; i < nr; i++) {
		__u8 op = l->b.prog->insn[i].op;

		if (op == WRC_WQE_WAIT)
			ladder_rearm(l, WRC_WORD_WAIT, i);
		else if (op == WRC_WQE_SEND_EN)
			ladder_rearm(l, WRC_WORD_ENABLE, i);
	}
	ladder_rearm(l, WRC_WORD_DBR, WRC_NONE);
}

#define ARG(l, member, to)						\
	wrc_arg(&(l)->b, __builtin_offsetof(struct odrp_wire_req, member), \
		sizeof(((struct odrp_wire_req *)0)->member), to)

int ladder_answer(struct ladder *l, bool fence, __u32 page_len, int tt_user)
{
	int go, answer;

	if (!l->helper)
		rearm_all(l);
	go = wrc_send_en(&l->b, 0);
	if (fence)
		ladder_fence(l, go);
	/* Not before it has been executed, with the count of this lap. */
	if (!l->helper)
		ladder_rearm(l, WRC_WORD_ENABLE, go);
	wrc_client_queue(&l->b);
	answer = wrc_write_imm(&l->b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			       page_len);
	wrc_enable_upto(&l->b, go, answer);
	if (l->calc)
		ARG(l, tt_addr, wrc_field(tt_user, WRC_F_RADDR, 0));
	else
		ARG(l, tt_addr, wrc_reg(WRC_REG_TT, 0));
	ARG(l, id, wrc_field(answer, WRC_F_IMM, 0));
	ARG(l, raddr_hi, wrc_field(answer, WRC_F_RADDR, 0));
	ARG(l, raddr_lo, wrc_field(answer, WRC_F_RADDR, 4));
	ARG(l, rkey, wrc_field(answer, WRC_F_RKEY, 0));
	return answer;
}

/* ---- which program ------------------------------------------------------------ */

int wrc_prog_ladder(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		    struct wrc_prog *ret_prog)
{
	struct ladder l = {
		.decided = opts->variant >= WRC_V_STORE_DECISION,
		.calc = opts->variant >= WRC_V_CALC_TT_ADDR,
		.helper = opts->variant >= WRC_V_RECYCLE_HELPER,
		.swap = opts->variant >= WRC_V_PAPER,
	};

	if (opts->strict_index || opts->recycle || opts->order)
		return -EINVAL;
	switch (chain) {
	case ODRP_WIRE_LOAD:
		ladder_begin(&l, chain, "load", false, ret_prog);
		return ladder_load(&l);
	case ODRP_WIRE_MAPPED_STORE:
		ladder_begin(&l, chain, "mapped_store", true, ret_prog);
		return l.decided ? ladder_mapped_store(&l) :
				   ladder_any_store(&l);
	case ODRP_WIRE_UNMAPPED_STORE:
		ladder_begin(&l, chain, "unmapped_store", true, ret_prog);
		return l.decided ? ladder_unmapped_store(&l) :
				   ladder_any_store(&l);
	case ODRP_WIRE_INVALIDATE:
		ladder_begin(&l, chain, "invalidate", false, ret_prog);
		return ladder_invalidate(&l);
	default:
		return -EINVAL;
	}
}
