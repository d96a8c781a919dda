// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the chain programs have in common; see parts.h. */
#include "parts.h"

int wrc_prog_head(struct wrc_build *b)
{
	int go, gate;

	wrc_wait(b, WRC_RECV);
	go = wrc_send_en(b, 0);
	wrc_head_end(b);
	if (b->prog->node)	/* the table has the gate's work, core/turn.h */
		return go;
	gate = wrc_send_en(b, 0);
	wrc_enable_upto(b, go, gate);
	return gate;
}

int wrc_prog_ask(struct wrc_build *b, int *body)
{
	int map, copy, en;

	map = wrc_keymap(b);
	copy = wrc_read(b, wrc_field(map, WRC_F_RADDR, 0),
			wrc_at(WRC_SP_NONE), sizeof(__be64));
	wrc_after(b, copy);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, *body, en);
	*body = en;
	return copy;
}

int wrc_prog_answer(struct wrc_build *b, int go, __u32 page_len, __u8 flags)
{
	int answer;

	wrc_recycle(b);
	wrc_client_queue(b);
	answer = wrc_answer(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			    page_len, flags);
	wrc_enable_upto(b, go, answer);
	return answer;
}

#define ARG(b, member, to)						\
	wrc_arg(b, __builtin_offsetof(struct odrp_wire_req, member),	\
		sizeof(((struct odrp_wire_req *)0)->member), to)

void wrc_prog_args(struct wrc_build *b, int tt_access, int answer)
{
	const unsigned int half = sizeof(__be32);

	if (b->prog->node && wrc_has_register(b->prog)) {
		/* Its upper half is what the request ends with. */
		wrc_arg(b, 0, half, wrc_reg(WRC_REG_TRASH, 0));
		wrc_arg(b, half, half,
			wrc_field(tt_access, WRC_F_RADDR, half));
	} else {
		ARG(b, tt_addr, wrc_field(tt_access, WRC_F_RADDR, 0));
	}
	ARG(b, id, wrc_field(answer, WRC_F_IMM, 0));
	ARG(b, raddr_hi, wrc_field(answer, WRC_F_RADDR, 0));
	ARG(b, raddr_lo, wrc_field(answer, WRC_F_RADDR, 4));
	ARG(b, rkey, wrc_field(answer, WRC_F_RKEY, 0));
}

static int is_ours(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		   struct wrc_prog *prog)
{
	switch (chain) {
	case ODRP_WIRE_LOAD:
		return wrc_prog_load(opts, prog);
	case ODRP_WIRE_INVALIDATE:
		return wrc_prog_invalidate(opts, prog);
	default:
		return -EINVAL;
	}
}

int wrc_prog_of(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		struct wrc_prog *prog)
{
	if (opts->recycle >= WRC_NR_RECYCLES || opts->order >= WRC_NR_ORDERS)
		return -EINVAL;
	switch (opts->variant) {
	case WRC_V_OURS:
		return is_ours(chain, opts, prog);
	case WRC_V_EXCHANGE:
		return wrc_prog_exchange(chain, opts, prog);
	case WRC_V_KEYED:
		return opts->recycle ? wrc_prog_keyed(chain, opts, prog) :
				       -EINVAL;
	default:
		return -EINVAL;
	}
}

int wrc_prog_build(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		   struct wrc_prog *ret_prog)
{
	if (opts->recycle != WRC_RECYCLE_NODE)
		return -EINVAL;
	return wrc_prog_of(chain, opts, ret_prog);
}
