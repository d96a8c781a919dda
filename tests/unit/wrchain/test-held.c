// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a stopped queue holds, at every position it can stop at. */
#include "bench.h"

#define PAGE_ADDR (WRC_POOL_IOVA + 0x5000)
#define SLOT_ADDR 0x30010448ull

/*
 * Block at which, in an instance, each thing has happened; from the listings
 * in tests/golden.
 */
struct when {
	enum odrp_wire_chain chain;
	uint32_t slot_taken, page_taken, page_put;
	uint32_t page_insn;	/* whose raddr is the register; 0: scratch */
};

static const struct when store = { ODRP_WIRE_UNMAPPED_STORE, 4, 12, 15, 12 };
static const struct when freeing = { ODRP_WIRE_INVALIDATE, 11, 5, 18, 0 };

static void set_registers(struct bench *b, const struct when *w, uint32_t k,
			  uint64_t page)
{
	uint64_t slot = SLOT_ADDR, be = htobe64(page);

	memcpy(b->arena + b->geom.scratch + 64 * k, &slot, 8);
	if (w->page_insn)
		memcpy(bench_field(b, w->page_insn, WRC_F_RADDR, 0, k), &be, 8);
	else
		memcpy(b->arena + b->geom.scratch + 64 * k + 8, &be, 8);
}

static void expect_held(struct bench *b, uint16_t at, uint64_t page,
			uint64_t slot)
{
	struct wrc_held held;

	assert_int_equal(wrc_held_page(&b->prog, &b->geom, b->arena, at, &held),
			 0);
	if (held.page != page || held.slot != slot)
		fail_msg("at %u: page 0x%llx slot 0x%llx, expected 0x%llx and 0x%llx",
			 at, (unsigned long long)held.page,
			 (unsigned long long)held.slot,
			 (unsigned long long)page, (unsigned long long)slot);
}

/* Also beyond the 16-bit wrap: laps is the number of 2^16 turns. */
static void each_position(const struct when *w, uint64_t page,
			  void (*expect)(struct bench *b, const struct when *w,
					 uint16_t at, uint32_t bb,
					 uint64_t page))
{
	struct bench b;

	bench_open(&b, w->chain, true, 4);
	for (uint32_t k = 0; k < 4; k++)
		set_registers(&b, w, k, page);
	for (uint32_t at = 0; at < 0x10000; at++)
		expect(&b, w, at, at % 32, page);
	bench_close(&b);
}

static void expect_store(struct bench *b, const struct when *w, uint16_t at,
			 uint32_t bb, uint64_t page)
{
	if (bb < w->slot_taken)
		expect_held(b, at, 0, 0);
	else if (bb < w->page_taken)
		expect_held(b, at, 0, SLOT_ADDR);
	else if (!page)		/* the slot was empty; the head is past it */
		expect_held(b, at, 0, SLOT_ADDR);
	else if (bb < w->page_put)
		expect_held(b, at, page, 0);
	else
		expect_held(b, at, 0, 0);
}

static void expect_freeing(struct bench *b, const struct when *w, uint16_t at,
			   uint32_t bb, uint64_t page)
{
	if (bb < w->page_taken || bb >= w->page_put || !page)
		expect_held(b, at, 0, 0);
	else if (bb < w->slot_taken)
		expect_held(b, at, page, 0);
	else
		expect_held(b, at, page, SLOT_ADDR);
}

static void unmapped_store(void **state)
{
	each_position(&store, PAGE_ADDR, expect_store);
	each_position(&store, 0, expect_store);
}

static void invalidate(void **state)
{
	each_position(&freeing, PAGE_ADDR, expect_freeing);
	each_position(&freeing, 0, expect_freeing);
}

/* The two others never own a page. */
static void others(void **state)
{
	for (int chain = ODRP_WIRE_LOAD; chain <= ODRP_WIRE_MAPPED_STORE;
	     chain++) {
		struct bench b;

		bench_open(&b, chain, false, 4);
		memset(b.arena, 0x15, b.geom.arena_len);
		for (uint32_t at = 0; at < 0x10000; at++)
			expect_held(&b, at, 0, 0);
		bench_close(&b);
	}
}

/* Only the instance that runs counts; those before it hold old copies. */
static void own_registers(void **state)
{
	struct bench b;

	bench_open(&b, ODRP_WIRE_UNMAPPED_STORE, false, 4);
	for (uint32_t k = 0; k < 4; k++)
		set_registers(&b, &store, k, WRC_POOL_IOVA + 0x1000 * (k + 1));
	for (uint32_t k = 0; k < 4; k++) {
		expect_held(&b, k * 32 + 13, WRC_POOL_IOVA + 0x1000 * (k + 1),
			    0);
		expect_held(&b, k * 32, 0, 0);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmapped_store),
		cmocka_unit_test(invalidate),
		cmocka_unit_test(others),
		cmocka_unit_test(own_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
