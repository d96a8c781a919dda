// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a stopped queue holds, at every position it can stop at. */
#include "bench.h"

#define PAGE_ADDR (WRC_POOL_IOVA + 0x5000)
#define SLOT_ADDR 0x30010448ull

/*
 * Block at which, in an instance, each thing has happened; from the listings
 * of "wrc dis --prog NAME".
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

/* ---- page exchange: each instance holds a page, always ---------------------- */

#define OWN_ADDR (WRC_POOL_IOVA + 0x1000)
#define OLD_ADDR (WRC_POOL_IOVA + 0x2000)

/* From the listings of --variant exchange; 99: never. */
struct exchange {
	enum odrp_wire_chain chain;
	uint32_t swapped, slot_taken, page_taken;
	uint32_t old_insn, page_insn;
};

static const struct exchange exchanges[] = {
	{ ODRP_WIRE_MAPPED_STORE, 5, 99, 99, 7, 0 },
	{ ODRP_WIRE_UNMAPPED_STORE, 5, 10, 18, 7, 16 },
};

static void open_exchange(struct bench *b, const struct exchange *x,
			  uint64_t page)
{
	struct wrc_opts opts = { .variant = WRC_V_EXCHANGE };
	uint64_t own = htobe64(OWN_ADDR), old = htobe64(OLD_ADDR);
	uint64_t new = htobe64(page), slot = SLOT_ADDR;

	assert_int_equal(wrc_any_build(x->chain, &opts, &b->prog), 0);
	bench_image(b, 4);
	for (uint32_t k = 0; k < 4; k++) {
		memcpy(&bench_recv(b, k, b->prog.nr_scatter - 2)->addr, &own,
		       8);
		memcpy(bench_field(b, x->old_insn, x->page_insn ? WRC_F_RADDR :
				   WRC_F_ADDR, 0, k), &old, 8);
		if (x->page_insn)
			memcpy(bench_field(b, x->page_insn, WRC_F_ADDR, 0, k),
			       &new, 8);
		memcpy(b->arena + b->geom.scratch + 64 * k, &slot, 8);
	}
}

static void expect_exchange(struct bench *b, const struct exchange *x,
			    uint16_t at, uint32_t k, uint64_t new)
{
	uint32_t bb = at % b->geom.loop_bb;
	bool runs = at / b->geom.loop_bb % 4 == k;
	uint64_t page = OWN_ADDR, slot = 0;
	struct wrc_held held;

	if (runs && bb >= x->swapped)
		page = bb >= x->page_taken ? new : OLD_ADDR;
	if (runs && bb >= x->slot_taken && (bb < x->page_taken || !new))
		slot = SLOT_ADDR;
	assert_int_equal(wrc_held_of(&b->prog, &b->geom, b->arena, at, k,
				     &held), 0);
	if (held.page != page || held.slot != slot || held.home)
		fail_msg("%s at %u, instance %u: page 0x%llx slot 0x%llx",
			 b->prog.name, at, k, (unsigned long long)held.page,
			 (unsigned long long)held.slot);
}

static void exchanged(void **state)
{
	for (int i = 0; i < 4; i++) {
		const struct exchange *x = &exchanges[i / 2];
		uint64_t page = i % 2 ? PAGE_ADDR : 0;
		struct bench b;

		open_exchange(&b, x, page);
		for (uint32_t at = 0; at < 0x10000; at++)
			for (uint32_t k = 0; k < 4; k++)
				expect_exchange(&b, x, at, k, page);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmapped_store),
		cmocka_unit_test(invalidate),
		cmocka_unit_test(others),
		cmocka_unit_test(own_registers),
		cmocka_unit_test(exchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
