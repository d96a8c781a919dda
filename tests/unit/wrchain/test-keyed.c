// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Translation in the NIC, on the software NIC: what stores and invalidates make of
 * table, keys and ring; what a client then READs and WRITEs; and what becomes of
 * those that lie.  Orders of chains against each other are searched in
 * tests/model.
 */
#include "bench.h"
#include "pages.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 64
#define PAGES 128

static void open_any(struct wrc_rig *rig, struct wrc_rig_config *cfg)
{
	cfg->variant = WRC_V_KEYED;
	cfg->recycle = WRC_RECYCLE_NODE;
	cfg->depth = DEPTH;
	cfg->nr_slots = SLOTS;
	cfg->nr_pages = PAGES;
	rig_open(rig, cfg);
}

static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain)
{
	struct wrc_rig_config cfg = { .chain = chain, .strict = true };

	open_any(rig, &cfg);
}

static int send(struct wrc_rig *rig, uint64_t tt_addr, uint32_t seed)
{
	uint8_t page[4096];

	fill(page, seed);
	return wrc_rig_send(rig, tt_addr, rig->prog.page ? page : NULL);
}

static void ask(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint32_t r = ~0u, request = rig->sent;

	assert_int_equal(send(rig, slot * 8, seed), 0);
	assert_int_equal(wrc_rig_answer(rig, &r), 0);
	assert_int_equal(r, request);
}

static void map(struct wrc_rig *rig, uint64_t slot)
{
	uint64_t page = wrc_rig_pop(rig);

	wrc_rig_set_entry(rig, slot, page);
	assert_int_equal(wrc_rig_translate(rig, slot, page), 0);
}

/* Table and keys say the same, of all slots. */
static void expect_translations(struct wrc_rig *rig)
{
	wrc_rig_settle(rig);
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(wrc_rig_translation(rig, i),
				 wrc_rig_entry(rig, i));
}

/* Every page is in one place: ring, table or instance (I1). */
static void expect_all_pages(struct wrc_rig *rig)
{
	unsigned int seen[PAGES] = { 0 };

	wrc_rig_settle(rig);
	see_pages(rig, seen);
	for (int i = 0; i < DEPTH; i++)
		see_page(rig, seen, wrc_rig_held(rig, i).page);
	expect_seen_once(rig, seen);
}

static uint8_t *buffer(struct wrc_rig *rig)
{
	return wrc_rig_page(rig, DEPTH - 1);
}

static void expect_broken(struct wrc_rig *rig)
{
	uint32_t r;

	assert_int_not_equal(wrc_rig_answer(rig, &r), 0);
	wrc_rig_settle(rig);
}

/* ---- what they do ---------------------------------------------------------------- */

static void store(struct wrc_rig *rig, uint32_t r)
{
	uint64_t own = wrc_rig_held(rig, r % DEPTH).page;

	ask(rig, r, r);
	assert_int_equal(wrc_rig_entry(rig, r), own);
	/* I5: it can be read when the answer is there. */
	assert_int_equal(wrc_rig_translation(rig, r), own);
	assert_int_equal(wrc_rig_read(rig, r, 0, buffer(rig), 4096), 0);
	expect_page(buffer(rig), r);
	fill(buffer(rig), r + 1000);
	assert_int_equal(wrc_rig_write(rig, r, 0, buffer(rig), 4096), 0);
	expect_page(wrc_rig_memory(rig, own), r + 1000);
}

static void invalidate(struct wrc_rig *rig, uint32_t r)
{
	uint64_t slot = r % SLOTS;

	map(rig, slot);
	ask(rig, slot, 0);
	assert_int_equal(wrc_rig_entry(rig, slot), 0);
	assert_int_equal(wrc_rig_translation(rig, slot), 0);
	/* Twice is harmless. */
	ask(rig, slot, 0);
	assert_int_equal(wrc_rig_translation(rig, slot), 0);
}

static void work(struct wrc_rig_config *cfg)
{
	struct wrc_rig rig;

	open_any(&rig, cfg);
	for (uint32_t r = 0; r < 5 * DEPTH + 3; r++) {
		if (cfg->chain == ODRP_WIRE_INVALIDATE)
			invalidate(&rig, r);
		else
			store(&rig, r);
		expect_translations(&rig);
		expect_all_pages(&rig);
	}
	wrc_rig_close(&rig);
}

/* Strict or not, in all ways of fetching and landing, by WAITs and by fences. */
static void all_ways(enum odrp_wire_chain chain)
{
	for (int way = 0; way < 16; way++) {
		struct wrc_rig_config cfg = {
			.chain = chain, .strict = way & 1,
			.order = way & 2 ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
			.fetch = way & 4 ? SNIC_FETCH_EARLY : SNIC_FETCH_LATE,
			.land = way & 8 ? SNIC_LAND_LATE : SNIC_LAND_AT_ONCE,
		};

		work(&cfg);
	}
}

static void stores(void **state)
{
	all_ways(ODRP_WIRE_UNMAPPED_STORE);
}

static void invalidates(void **state)
{
	all_ways(ODRP_WIRE_INVALIDATE);
}

/* With a NIC of its own, and pages in several packets. */
static void over_the_wire(void **state)
{
	struct wrc_rig_config cfg = {
		.chain = ODRP_WIRE_UNMAPPED_STORE, .strict = true,
		.wire = true, .mtu = 1024,
	};

	work(&cfg);
}

/* ---- who lies ---------------------------------------------------------------------- */

/* Nothing was mapped, nothing is lost. */
static void expect_nothing(struct wrc_rig *rig)
{
	expect_broken(rig);
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(wrc_rig_entry(rig, i), 0);
	expect_translations(rig);
	expect_all_pages(rig);
}

/* Between two entries of the key map, and behind them. */
static void odd_addresses(void **state)
{
	static const uint64_t far[] = {
		SLOTS * 8, SLOTS * 8 - 4, 1ull << 31, 1ull << 32, 1ull << 63,
		~0ull, ~7ull,
	};
	struct wrc_rig rig;

	for (int chain = ODRP_WIRE_UNMAPPED_STORE;
	     chain <= ODRP_WIRE_INVALIDATE; chain++) {
		for (uint64_t at = 0; at < 5 * 8; at++) {
			if (at % 8 == 0)
				continue;
			open_rig(&rig, chain);
			assert_int_equal(send(&rig, at, 1), 0);
			expect_nothing(&rig);
			wrc_rig_close(&rig);
		}
		for (unsigned int i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
			/* The upper half of a store's comes last, and is 0. */
			if (chain != ODRP_WIRE_INVALIDATE && far[i] >> 32)
				continue;
			open_rig(&rig, chain);
			assert_int_equal(send(&rig, far[i], 1), 0);
			expect_nothing(&rig);
			wrc_rig_close(&rig);
		}
	}
}

/* A request that does not fill its page opens nothing. */
static void short_requests(void **state)
{
	static const int cuts[] = { 1, 3, 4, 5, 4096, 4100, 4104 };
	struct wrc_rig rig;

	for (unsigned int i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE);
		rig.cut = cuts[i];
		assert_int_equal(send(&rig, 8, 1), 0);
		expect_nothing(&rig);
		wrc_rig_close(&rig);
	}
}

/* A slot that is mapped: the store is done, and ends the connection. */
static void wrong_kind(void **state)
{
	struct wrc_rig rig;
	uint64_t old;

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE);
	map(&rig, 3);
	old = wrc_rig_entry(&rig, 3);
	assert_int_equal(send(&rig, 3 * 8, 7), 0);
	wrc_rig_settle(&rig);
	assert_int_not_equal(wrc_rig_entry(&rig, 3), old);
	expect_translations(&rig);
	assert_int_equal(wrc_rig_held(&rig, 0).page, old);
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

/* What a client may reach: its pages, and nothing else by any key. */
static void no_other_key(void **state)
{
	struct wrc_rig rig;
	uint64_t addr[8];
	uint32_t key[8];

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE);
	ask(&rig, 0, 5);
	key[0] = rig.bind.arena_key;
	addr[0] = rig.bind.arena_iova;
	key[1] = rig.bind.arena_rkey;
	addr[1] = rig.bind.arena_iova;
	key[2] = rig.bind.tt_key;
	addr[2] = 0;
	key[3] = rig.bind.keymap_key;
	addr[3] = 0;
	key[4] = rig.bind.free_key;
	addr[4] = rig.bind.free_ring;
	key[5] = rig.bind.pool_key;
	addr[5] = WRC_POOL_IOVA;
	key[6] = rig.bind.table_key;
	addr[6] = rig.bind.table_iova;
	key[7] = rig.bind.buf_key;
	addr[7] = rig.bind.buf_iova;
	for (int i = 0; i < 8; i++)
		for (int op = 0; op < 2; op++) {
			assert_int_equal(wrc_rig_access(&rig, op ?
							WRC_WQE_READ :
							WRC_WQE_WRITE,
							key[i], addr[i],
							buffer(&rig), 8), -EIO);
			assert_int_equal(wrc_rig_rejoin(&rig), 0);
		}
	/* The slot's other three entries, and a slot that is not mapped. */
	assert_int_equal(wrc_rig_read(&rig, 0, 4096, buffer(&rig), 8), -EIO);
	assert_int_equal(wrc_rig_rejoin(&rig), 0);
	assert_int_equal(wrc_rig_read(&rig, 1, 0, buffer(&rig), 8), -EIO);
	assert_int_equal(wrc_rig_rejoin(&rig), 0);
	assert_int_equal(wrc_rig_read(&rig, 0, 0, buffer(&rig), 4096), 0);
	expect_page(buffer(&rig), 5);
	wrc_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores),
		cmocka_unit_test(invalidates),
		cmocka_unit_test(over_the_wire),
		cmocka_unit_test(odd_addresses),
		cmocka_unit_test(short_requests),
		cmocka_unit_test(wrong_kind),
		cmocka_unit_test(no_other_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
