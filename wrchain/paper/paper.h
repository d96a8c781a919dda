/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All programs, for tools, tests and the cost model: those that an agent arms
 * (prog/), and those that it cannot, since its library does not have them.  They
 * are what ours are compared with:
 *
 *	ladder.h		the paper's own chains, and what it started from
 *	*_store.c		stores that copy, as the paper's do, with what the
 *				verifier asks for; an unmapped one writes to the table
 *				as plain bytes, at any byte
 *	lending_load.c		a load that takes its page out of the table
 *
 * and all of them recycled by the client (WRC_RECYCLE_CLIENT), as the paper's are.
 */
#ifndef WRC_PAPER_PAPER_H
#define WRC_PAPER_PAPER_H

#include "../wrc.h"

/*
 * WRC_V_NAIVE finds a second counter that far behind free_head, whose address
 * has 0 in bits 8 to 15.  It counts in a ring of the same size, full of 0s.
 */
#define WRC_NAIVE_SHADOW	0x1500

/* As wrc_prog_build(), of any variant and recycled by whomever; NULL: ours. */
int wrc_any_build(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		  struct wrc_prog *ret_prog);

/*
 * A rung of the ladder?  The paper ran on a NIC whose index check was off, so they
 * are relaxed only; and they are recycled by the client, and have fences of their own.
 */
static inline bool wrc_variant_is_rung(enum wrc_variant variant)
{
	return variant >= WRC_V_NAIVE && variant <= WRC_V_PAPER;
}

/* As the command line has it; NULL: no such variant. */
const char *wrc_variant_name(enum wrc_variant variant);
/* The same of an order. */
const char *wrc_order_name(enum wrc_order order);
/* Is it to be had with recycle=node only? */
bool wrc_variant_must_recycle(enum wrc_variant variant);
/* Has it such a chain?  Else its client does that alone. */
bool wrc_variant_has(enum wrc_variant variant, enum odrp_wire_chain chain);
/* Rules of core/check.h, 1 << enum wrc_rule, that a variant cannot keep. */
unsigned int wrc_variant_excused(enum wrc_variant variant);

#endif /* WRC_PAPER_PAPER_H */
