// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which programs there are beside those that are armed; see paper.h. */
#include "../core/check.h"
#include "compare.h"
#include "ladder.h"

static const char *const variant_names[WRC_NR_VARIANTS] = {
	[WRC_V_OURS] = "ours",
	[WRC_V_EXCHANGE] = "exchange",
	[WRC_V_NAIVE] = "naive",
	[WRC_V_STORE_DECISION] = "store-decision",
	[WRC_V_CALC_TT_ADDR] = "calc-tt-addr",
	[WRC_V_RECYCLE_HELPER] = "recycle-helper",
	[WRC_V_PAPER] = "paper",
	[WRC_V_KEYED] = "keyed",
};

const char *wrc_variant_name(enum wrc_variant variant)
{
	return variant < WRC_NR_VARIANTS ? variant_names[variant] : NULL;
}

const char *wrc_order_name(enum wrc_order order)
{
	return order == WRC_ORDER_FENCE ? "fence" : "wait";
}

/* Whoever trusts the clients need not keep them from each other's keys. */
bool wrc_variant_must_recycle(enum wrc_variant variant)
{
	return variant == WRC_V_KEYED;
}

bool wrc_variant_has(enum wrc_variant variant, enum odrp_wire_chain chain)
{
	return variant != WRC_V_KEYED || chain == ODRP_WIRE_UNMAPPED_STORE ||
	       chain == ODRP_WIRE_INVALIDATE;
}

#define RULE(r) (1u << WRC_RULE_ ## r)

unsigned int wrc_variant_excused(enum wrc_variant variant)
{
	if (!wrc_variant_is_rung(variant))
		return 0;
	/* Fences for WAITs, no gate, an early answer, and one that nobody counts. */
	if (variant == WRC_V_PAPER)
		return RULE(ORDER) | RULE(ANSWER) | RULE(GRACE);
	/* And an address that eight READs put together. */
	if (variant == WRC_V_RECYCLE_HELPER)
		return RULE(ORDER) | RULE(ANSWER) | RULE(GRACE) | RULE(PATCH) |
		       RULE(FLOW) | RULE(MOVE);
	/* And arithmetic on its own ring, which the verifier knows nothing of. */
	return RULE(ORDER) | RULE(ANSWER) | RULE(GRACE) | RULE(PATCH) |
	       RULE(BALANCE) | RULE(INDEX) | RULE(RQ) | RULE(ATOMIC) |
	       RULE(FLOW) | RULE(MOVE);
}

int wrc_any_build(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		  struct wrc_prog *ret_prog)
{
	static const struct wrc_opts ours;

	if (!opts)
		opts = &ours;
	if (opts->recycle >= WRC_NR_RECYCLES || opts->order >= WRC_NR_ORDERS)
		return -EINVAL;
	if (wrc_variant_is_rung(opts->variant))
		return wrc_prog_ladder(chain, opts, ret_prog);
	if (opts->variant == WRC_V_OURS && chain == ODRP_WIRE_MAPPED_STORE)
		return wrc_prog_mapped_store(opts, ret_prog);
	if (opts->variant == WRC_V_OURS && chain == ODRP_WIRE_UNMAPPED_STORE)
		return wrc_prog_unmapped_store(opts, ret_prog);
	if (opts->variant == WRC_V_EXCHANGE && chain == ODRP_WIRE_LOAD)
		return wrc_prog_lending_load(opts, ret_prog);
	return wrc_prog_of(chain, opts, ret_prog);
}
