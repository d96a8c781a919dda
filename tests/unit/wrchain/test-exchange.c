// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Page exchange on the software NIC: page, table, ring and what each instance
 * holds after each request, and what becomes of requests that break the rules.
 * Orders of WQEs are searched in tests/model/test-chains.c.
 */
#include "bench.h"
#include "pages.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 16
#define PAGES 64

static void open_any(struct wrc_rig *rig, struct wrc_rig_config *cfg)
{
	cfg->variant = WRC_V_EXCHANGE;
	cfg->depth = DEPTH;
	cfg->nr_slots = SLOTS;
	rig_open(rig, cfg);
}

static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain,
		     bool strict, enum snic_fetch fetch, uint32_t nr_pages)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .fetch = fetch, .strict = strict,
		.nr_pages = nr_pages,
	};

	open_any(rig, &cfg);
}

static void send(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint8_t page[4096];

	fill(page, seed);
	assert_int_equal(wrc_rig_send(rig, slot * 8,
				      rig->prog.page ? page : NULL), 0);
}

static void ask(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint32_t r = ~0u, request = rig->sent;

	send(rig, slot, seed);
	assert_int_equal(wrc_rig_answer(rig, &r), 0);
	assert_int_equal(r, request);
}

static void map_all(struct wrc_rig *rig)
{
	for (int i = 0; i < SLOTS; i++)
		wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
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

/* ---- what they do --------------------------------------------------------------- */

static void stored(struct wrc_rig *rig, uint32_t r, uint64_t slot,
		   uint64_t before, uint64_t own)
{
	uint64_t entry = wrc_rig_entry(rig, slot);
	bool mapped = rig->cfg.chain == ODRP_WIRE_MAPPED_STORE;

	assert_int_equal(entry, own);
	expect_page(wrc_rig_memory(rig, entry), r);
	assert_int_equal(!before, !mapped);
	/* The old page is the instance's next; or one that was free. */
	wrc_rig_settle(rig);
	if (mapped)
		assert_int_equal(wrc_rig_held(rig, r % DEPTH).page, before);
	else
		assert_true(wrc_rig_held(rig, r % DEPTH).page != own);
	if (mapped)
		return;
	wrc_rig_set_entry(rig, slot, 0);
	wrc_rig_push(rig, entry);
}

static void work_once(struct wrc_rig *rig, uint32_t r)
{
	uint64_t slot = r * 5 % SLOTS, before = wrc_rig_entry(rig, slot);
	uint64_t own = wrc_rig_held(rig, r % DEPTH).page;
	uint64_t head = rig->counters[0];

	if (rig->cfg.chain == ODRP_WIRE_LOAD)
		fill(wrc_rig_memory(rig, before), r);
	ask(rig, slot, r);
	switch (rig->cfg.chain) {
	case ODRP_WIRE_LOAD:
		expect_page(wrc_rig_page(rig, r), r);
		/* I5: it is back when the answer is there. */
		assert_int_equal(wrc_rig_entry(rig, slot), before);
		break;
	case ODRP_WIRE_INVALIDATE:
		assert_int_equal(wrc_rig_entry(rig, slot), 0);
		wrc_rig_set_entry(rig, slot, wrc_rig_pop(rig));
		break;
	default:
		stored(rig, r, slot, before, own);
	}
	if (rig->cfg.chain != ODRP_WIRE_UNMAPPED_STORE &&
	    rig->cfg.chain != ODRP_WIRE_INVALIDATE)
		assert_int_equal(rig->counters[0], head);
	expect_all_pages(rig);
}

static void every_chain_works(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int mode = 0; mode < 4; mode++) {
			struct wrc_rig rig;

			open_rig(&rig, chain, mode & 1, mode >> 1, PAGES);
			if (chain != ODRP_WIRE_UNMAPPED_STORE)
				map_all(&rig);
			expect_all_pages(&rig);
			for (uint32_t r = 0; r < 6 * DEPTH; r++)
				work_once(&rig, r);
			wrc_rig_close(&rig);
		}
}

/* The client has a NIC of its own: acknowledgements come when it sends them. */
static void over_a_wire(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct wrc_rig_config cfg = {
			.chain = chain, .strict = true, .wire = true,
			.fetch = SNIC_FETCH_EARLY, .nr_pages = PAGES,
		};
		struct wrc_rig rig;

		open_any(&rig, &cfg);
		if (chain != ODRP_WIRE_UNMAPPED_STORE)
			map_all(&rig);
		for (uint32_t r = 0; r < 3 * DEPTH; r++)
			work_once(&rig, r);
		wrc_rig_close(&rig);
	}
}

/* A full queue, until 16 bits of everything have wrapped. */
static void every_counter_wraps(void **state)
{
	static const enum odrp_wire_chain chains[] = {
		ODRP_WIRE_LOAD, ODRP_WIRE_MAPPED_STORE,
	};

	for (int i = 0; i < 2; i++) {
		struct wrc_rig rig;
		uint32_t r;

		open_rig(&rig, chains[i], true, SNIC_FETCH_EARLY, PAGES);
		map_all(&rig);
		for (uint32_t n = 0; n < 66000; n++) {
			while (rig.sent - rig.answered < DEPTH - 1)
				send(&rig, rig.sent % SLOTS, rig.sent);
			assert_int_equal(wrc_rig_answer(&rig, &r), 0);
			assert_int_equal(r, n);
		}
		expect_all_pages(&rig);
		wrc_rig_close(&rig);
	}
}

/* Store and free by turns, so that the ring and its counters go round. */
static void ring_goes_round(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE, true, SNIC_FETCH_EARLY, PAGES);
	for (uint32_t r = 0; r < 5000; r++) {
		uint64_t slot = r % SLOTS, page;

		ask(&rig, slot, r);
		wrc_rig_settle(&rig);
		page = wrc_rig_entry(&rig, slot);
		expect_page(wrc_rig_memory(&rig, page), r);
		wrc_rig_set_entry(&rig, slot, 0);
		wrc_rig_push(&rig, page);
	}
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Only the last is answered, and all have been done. */
static void quiet_ones(void **state)
{
	for (int chain = ODRP_WIRE_LOAD; chain <= ODRP_WIRE_MAPPED_STORE;
	     chain++) {
		struct wrc_rig rig;
		uint32_t r;

		open_rig(&rig, chain, true, SNIC_FETCH_EARLY, PAGES);
		map_all(&rig);
		for (uint32_t i = 0; i < DEPTH - 1; i++) {
			rig.quiet = i < DEPTH - 2;
			if (chain == ODRP_WIRE_LOAD)
				fill(wrc_rig_memory(&rig,
						    wrc_rig_entry(&rig, i)), i);
			send(&rig, i, i);
		}
		assert_int_equal(wrc_rig_answer(&rig, &r), 0);
		assert_int_equal(r, DEPTH - 2);
		assert_int_equal(rig.received, 1);
		for (uint32_t i = 0; i < DEPTH - 1; i++)
			expect_page(chain == ODRP_WIRE_LOAD ?
					    wrc_rig_page(&rig, i) :
					    wrc_rig_memory(&rig,
						wrc_rig_entry(&rig, i)), i);
		expect_all_pages(&rig);
		wrc_rig_close(&rig);
	}
}

/* A load's page with a notice of its own, and the answer behind it. */
static void early_notice(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_LOAD, true, SNIC_FETCH_EARLY, PAGES);
	map_all(&rig);
	for (uint32_t r = 0; r < 3 * DEPTH; r++) {
		rig.early = r % 3 != 1;
		work_once(&rig, r);
		assert_int_equal(rig.early_came, r + 1 - (r + 1) / 3 -
				 (r % 3 == 1));
	}
	wrc_rig_close(&rig);
}

/* ---- requests that are not as they should be ------------------------------------ */

/* Nothing comes any more, and the NIC has nothing to do. */
static void expect_silence(struct wrc_rig *rig)
{
	uint32_t r;

	assert_true(wrc_rig_answer(rig, &r) < 0);
}

static bool is_broken(const struct wrc_rig *rig)
{
	struct snic_qp_info loop, client;

	assert_int_equal(snic_qp_query(rig->nic, rig->loop_qpn, &loop), 0);
	assert_int_equal(snic_qp_query(rig->nic, rig->client_qpn, &client), 0);
	return loop.state == SNIC_QP_ERR || client.state == SNIC_QP_ERR;
}

/*
 * Whatever a request lacks at its end: no page is mapped that it has not
 * filled, for the rest of it is what its last owner left there.  (One that lacks
 * half of the gate's count is one that lies about it: docs/model.md.)
 */
static void short_request(void **state)
{
	static const uint32_t cuts[] = { 2, 3, 4, 5, 100, 4096, 4100, 4110 };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		for (int chain = ODRP_WIRE_MAPPED_STORE;
		     chain <= ODRP_WIRE_UNMAPPED_STORE; chain++) {
			bool mapped = chain == ODRP_WIRE_MAPPED_STORE;
			uint64_t before[SLOTS];
			struct wrc_rig rig;

			open_rig(&rig, chain, i & 1, SNIC_FETCH_EARLY, PAGES);
			if (mapped)
				map_all(&rig);
			/* More than a lap: words of a lap ago are there. */
			for (uint32_t r = 0; r < DEPTH + 2; r++)
				ask(&rig, r, r);
			wrc_rig_settle(&rig);
			for (int n = 0; n < SLOTS; n++)
				before[n] = wrc_rig_entry(&rig, n);
			rig.cut = cuts[i];
			send(&rig, DEPTH + 2, 77);
			rig.cut = 0;
			send(&rig, DEPTH + 3, 78);
			expect_silence(&rig);
			for (int n = 0; n < SLOTS; n++)
				assert_int_equal(wrc_rig_entry(&rig, n),
						 before[n]);
			expect_all_pages(&rig);
			wrc_rig_close(&rig);
		}
}

/* A store of the wrong kind is done, is answered, and is the last one. */
static void wrong_kind(void **state)
{
	for (int chain = ODRP_WIRE_MAPPED_STORE;
	     chain <= ODRP_WIRE_UNMAPPED_STORE; chain++)
		for (int fetch = 0; fetch < 2; fetch++) {
			bool mapped = chain == ODRP_WIRE_MAPPED_STORE;
			struct wrc_rig rig;
			uint64_t old;

			open_rig(&rig, chain, true, fetch, PAGES);
			if (mapped)
				map_all(&rig);
			ask(&rig, 0, 1);
			ask(&rig, 1, 2);
			wrc_rig_settle(&rig);
			old = wrc_rig_entry(&rig, 2);
			if (mapped)	/* the slot is free, somehow */
				wrc_rig_push(&rig, old);
			else
				old = wrc_rig_pop(&rig);
			wrc_rig_set_entry(&rig, 2, mapped ? 0 : old);
			ask(&rig, 2, 3);
			expect_page(wrc_rig_memory(&rig,
						   wrc_rig_entry(&rig, 2)), 3);
			wrc_rig_settle(&rig);
			assert_true(is_broken(&rig));
			assert_int_equal(wrc_rig_held(&rig, 2).page,
					 mapped ? 0 : old);
			assert_int_equal(wrc_rig_held(&rig, 2).slot, 0);
			expect_all_pages(&rig);
			send(&rig, 3, 4);
			expect_silence(&rig);
			wrc_rig_close(&rig);
		}
}

/* The last free page goes with the store before: this one finds none after. */
static void empty_ring(void **state)
{
	struct wrc_held held;
	struct wrc_rig rig;
	uint64_t head;

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE, true, SNIC_FETCH_EARLY, 16);
	for (uint32_t r = 0; r < 16 - DEPTH; r++)
		ask(&rig, r, r);
	wrc_rig_settle(&rig);
	assert_false(is_broken(&rig));
	assert_int_equal(wrc_rig_free_pages(&rig), 0);
	head = rig.counters[0];
	ask(&rig, 9, 9);
	expect_page(wrc_rig_memory(&rig, wrc_rig_entry(&rig, 9)), 9);
	expect_all_pages(&rig);
	assert_true(is_broken(&rig));
	/* The agent has to know the slot that the head has passed. */
	held = wrc_rig_held(&rig, rig.answered % DEPTH ?
				  rig.answered % DEPTH - 1 : DEPTH - 1);
	assert_int_equal(held.page, 0);
	assert_int_equal(held.slot, head);
	wrc_rig_close(&rig);
}

static void load_of_nothing(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_LOAD, true, SNIC_FETCH_EARLY, PAGES);
	map_all(&rig);
	wrc_rig_push(&rig, wrc_rig_entry(&rig, 5));
	wrc_rig_set_entry(&rig, 5, 0);
	send(&rig, 5, 0);
	send(&rig, 6, 0);
	expect_silence(&rig);
	assert_true(is_broken(&rig));
	assert_int_equal(wrc_rig_entry(&rig, 5), 0);
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

/* ---- what a load holds ---------------------------------------------------------------- */

/* At each block of an instance. */
static void lent_page(void **state)
{
	struct wrc_opts opts = { .variant = WRC_V_EXCHANGE };
	uint64_t page = WRC_POOL_IOVA + 0x5000, be = htobe64(page);
	uint64_t tt_addr = htobe64(0x28);
	unsigned int take, put, lent = 0;
	struct wrc_held held;
	struct bench b;

	assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &opts, &b.prog), 0);
	bench_image(&b, 4);
	take = bench_find(&b, WRC_WQE_MASKED_CS, 0);
	put = bench_find(&b, WRC_WQE_WRITE, 0);
	for (uint32_t k = 0; k < 4; k++) {
		memcpy(bench_field(&b, b.prog.nr_insn - 2, WRC_F_ADDR, 0, k),
		       &be, 8);
		memcpy(bench_field(&b, take, WRC_F_RADDR, 0, k), &tt_addr, 8);
	}
	for (uint32_t at = 0; at < 0x10000; at++) {
		uint32_t bb = at % b.geom.loop_bb;
		bool holds = bb >= b.prog.insn[take].bb + 2u &&
			     bb <= b.prog.insn[put].bb;

		assert_int_equal(wrc_held_page(&b.prog, &b.geom, b.arena, at,
					       &held), 0);
		assert_int_equal(held.page, holds ? page : 0);
		assert_int_equal(held.home, holds);
		assert_int_equal(held.tt_addr, holds ? 0x28 : 0);
		assert_int_equal(held.slot, 0);
		lent += holds;
	}
	assert_true(lent > 0x10000 / b.geom.loop_bb);
	assert_int_equal(wrc_held_of(&b.prog, &b.geom, b.arena, 0, 4, &held),
			 -ERANGE);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_chain_works),
		cmocka_unit_test(over_a_wire),
		cmocka_unit_test(every_counter_wraps),
		cmocka_unit_test(ring_goes_round),
		cmocka_unit_test(quiet_ones),
		cmocka_unit_test(early_notice),
		cmocka_unit_test(short_request),
		cmocka_unit_test(wrong_kind),
		cmocka_unit_test(empty_ring),
		cmocka_unit_test(load_of_nothing),
		cmocka_unit_test(lent_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
