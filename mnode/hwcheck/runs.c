// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs and runs; see runs.h. */
#include "runs.h"

#define LOAD	ODRP_WIRE_LOAD
#define MAPPED	ODRP_WIRE_MAPPED_STORE
#define FRESH	ODRP_WIRE_UNMAPPED_STORE
#define INVAL	ODRP_WIRE_INVALIDATE

#define ONLY(chain) .chains = 1u << (chain)

/* Programs that the agent arms by default come first. */
const struct program programs[] = {
	{ "load", NULL, LOAD, WRC_V_OURS },
	{ "mapped store", "exchange", MAPPED, WRC_V_EXCHANGE },
	{ "unmapped store", "exchange", FRESH, WRC_V_EXCHANGE },
	{ "invalidate", NULL, INVAL, WRC_V_OURS },
	{ "load", NULL, LOAD, WRC_V_OURS, WRC_ORDER_FENCE },
	{ "mapped store", "exchange", MAPPED, WRC_V_EXCHANGE, WRC_ORDER_FENCE },
	{ "unmapped store", "exchange", FRESH, WRC_V_EXCHANGE,
	  WRC_ORDER_FENCE },
	{ "invalidate", NULL, INVAL, WRC_V_OURS, WRC_ORDER_FENCE },
	{ "unmapped store", "keyed", FRESH, WRC_V_KEYED },
	{ "invalidate", "keyed", INVAL, WRC_V_KEYED },
	{ "unmapped store", "keyed", FRESH, WRC_V_KEYED, WRC_ORDER_FENCE },
	{ "invalidate", "keyed", INVAL, WRC_V_KEYED, WRC_ORDER_FENCE },
};

const unsigned int nr_programs = sizeof(programs) / sizeof(programs[0]);

/*
 * Long: indices and counts of SEND_EN and of the WAITs of the longest chains exceed 16
 * bits.  Numbers that grow by one per request exceed 16 bits after 2^16 requests.
 */
#define LONG	5000
#define LONGER	70000

_Static_assert(LONGER <= RIG_MAX_COUNT, "room for its answers");

/* depth, window, requests */
const struct run runs[] = {
	{ "one by one", .cfg = { 8, 1, 40 } },
	{ "seven at a time", .cfg = { 8, 7, 60 } },
	{ "shortest queue", .cfg = { 4, 3, 60 } },
	{ "on huge pages", .cfg = { 8, 7, 60, .huge = true } },
	{ "quiet", .cfg = { 8, 7, 60, .quiet = true } },
	{ "long", .cfg = { 8, 7, LONG } },
	{ "beyond 16 bits", ONLY(LOAD),
	  .cfg = { 8, 7, LONGER, .quiet = true } },
	{ "answers not taken", .cfg = { 8, 3, 3, .deaf = true } },
	{ "of what is not mapped", ONLY(INVAL),
	  .cfg = { 8, 1, 20, .table = RIG_EMPTY } },
	{ "of what is not mapped", ONLY(LOAD),
	  .cfg = { 8, 1, 2, .table = RIG_EMPTY } },
	{ "to what is not mapped", ONLY(MAPPED),
	  .cfg = { 8, 1, 2, .table = RIG_EMPTY } },
	{ "to what is mapped", ONLY(FRESH),
	  .cfg = { 8, 1, 2, .table = RIG_FULL } },
	{ "until the ring is empty", ONLY(FRESH),
	  .cfg = { 8, 1, 10, .scarce = true } },
	{ "until the ring is empty, seven at a time", ONLY(FRESH),
	  .cfg = { 8, 7, 10, .scarce = true } },
	{ "behind the table", .cfg = { 8, 1, 1,
	  .slot_off = RIG_SLOTS * sizeof(__be64) } },
};

const unsigned int nr_runs = sizeof(runs) / sizeof(runs[0]);

bool run_applies(const struct run *run, const struct program *prog)
{
	return !run->chains || run->chains & 1u << prog->chain;
}

static bool has_huge_page(void)
{
	struct mem m;
	bool huge;

	if (mem_map(MEM_HUGE_PAGE, MEM_HUGE, &m))
		return false;
	huge = m.huge;
	mem_unmap(&m);
	return huge;
}

const char *run_lacks(const struct run *run)
{
	return run->cfg.huge && !has_huge_page() ?
	       "no huge page is free (sysctl vm.nr_hugepages=64 makes some)" : NULL;
}
