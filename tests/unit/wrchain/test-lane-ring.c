// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A free ring in lanes: which slots are visited, in what order, by chains on the
 * software NIC, for rings of several sizes; that every page stays in one place,
 * also when the queue stops anywhere; and what the verifier refuses.
 *
 * Where a slot lies is said here once more, and not asked from the compiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include "verdict.h"
#include "pages.h"
#include "prog/ladder.h"

#define DEPTH 4
#define SLOTS 8			/* of the table */
#define BURST (DEPTH - 1)
#define RING 0x10000000ull	/* where the rig has it */
#define STRIDE 256

static const uint32_t sizes[] = { 2, 4, 16, 256, 512, 1024 };

/*
 * The slot that is visited as i-th: up to 256 one after the other; else there
 * are several runs of 256, equally far apart in 16 MB, and one slot of each is
 * visited by turns.
 */
static uint64_t slot_addr(uint32_t i, uint32_t nr, unsigned int lane)
{
	uint32_t runs = nr > 256 ? nr / 256 : 1;

	i %= nr;
	return RING + 8 * lane + (uint64_t)(i % runs) * (0x1000000 / runs) +
	       (uint64_t)(i / runs) * STRIDE;
}

/* A counter is read and written as bytes, the highest first. */
static uint64_t counter(const struct wrc_rig *rig, int which)
{
	const uint8_t *p = (const uint8_t *)&rig->counters[which];
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static void set_counter(struct wrc_rig *rig, int which, uint64_t v)
{
	uint8_t *p = (uint8_t *)&rig->counters[which];

	for (int i = 7; i >= 0; i--, v >>= 8)
		p[i] = v;
}

#define HEAD 0
#define TAIL 8

/* A ring, and how far it has been gone round. */
struct walk {
	struct wrc_rig rig;
	uint32_t nr, head, tail;
	unsigned int lane;
};

static uint64_t *slot(struct walk *w, uint32_t i)
{
	return w->rig.ring + (slot_addr(i, w->nr, w->lane) - RING) / 8;
}

static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain,
		     bool strict, enum snic_fetch fetch, uint32_t nr_pages,
		     enum wrc_recycle recycle)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .variant = WRC_V_LANE_RING, .strict = strict,
		.recycle = recycle, .fetch = fetch, .depth = DEPTH,
		.nr_pages = nr_pages, .nr_slots = SLOTS,
	};
	char why[WRC_WHY_MAX];
	int err = wrc_rig_open(&cfg, rig, why);

	if (err)
		fail_msg("%u pages: %s %s", nr_pages, strerror(-err), why);
}

/* Full: as the rig fills it, and then in another lane. */
static void open_walk(struct walk *w, enum odrp_wire_chain chain, bool strict,
		      enum snic_fetch fetch, uint32_t nr, unsigned int lane)
{
	*w = (struct walk){ .nr = nr };
	open_rig(&w->rig, chain, strict, fetch, nr, WRC_RECYCLE_CLIENT);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t page = WRC_POOL_IOVA + i * 4096ull;

		w->lane = 0;
		assert_int_equal(be64toh(*slot(w, i)), page);
		*slot(w, i) = 0;
		w->lane = lane;
		*slot(w, i) = htobe64(page);
	}
	assert_int_equal(counter(&w->rig, HEAD), RING);
	assert_int_equal(counter(&w->rig, TAIL), RING);
	set_counter(&w->rig, HEAD, RING + 8 * lane);
	set_counter(&w->rig, TAIL, RING + 8 * lane);
}

/* Of all that lies between the counters only the slots have something. */
static void expect_gaps(struct walk *w)
{
	size_t len = w->rig.counters - w->rig.ring, n = 0;
	uint32_t full = 0;

	for (size_t i = 0; i < len; i++)
		n += w->rig.ring[i] != 0;
	for (uint32_t i = 0; i < w->nr; i++)
		full += *slot(w, i) != 0;
	assert_int_equal(n, full);
}

/* Every page once, in a slot or in the table. */
static void expect_all_pages(struct walk *w, uint64_t held)
{
	unsigned int *seen = calloc(w->nr, sizeof(*seen));

	assert_non_null(seen);
	for (uint32_t i = 0; i < w->nr; i++)
		see_page(&w->rig, seen, be64toh(*slot(w, i)));
	for (uint32_t i = 0; i < SLOTS; i++)
		see_page(&w->rig, seen, wrc_rig_entry(&w->rig, i));
	see_page(&w->rig, seen, held);
	expect_seen_once(&w->rig, seen);
	free(seen);
}

static void expect_counters(struct walk *w)
{
	uint64_t head = slot_addr(w->head, w->nr, w->lane);
	uint64_t tail = slot_addr(w->tail, w->nr, w->lane);

	if (counter(&w->rig, HEAD) != head || counter(&w->rig, TAIL) != tail)
		fail_msg("%u slots: head %llx tail %llx, expected %llx %llx",
			 w->nr, (unsigned long long)counter(&w->rig, HEAD),
			 (unsigned long long)counter(&w->rig, TAIL),
			 (unsigned long long)head, (unsigned long long)tail);
}

static void send(struct wrc_rig *rig, uint32_t seed)
{
	uint8_t page[4096];

	fill(page, seed);
	assert_int_equal(wrc_rig_send(rig, rig->sent % SLOTS * 8,
				      rig->prog.page ? page : NULL), 0);
}

static void answered(struct wrc_rig *rig, uint32_t request)
{
	uint32_t r = ~0u;
	int err = wrc_rig_answer(rig, &r);

	if (err)
		fail_msg("%s, request %u: %s", rig->prog.name, request,
			 strerror(-err));
	assert_int_equal(r, request);
}

/* By hand, what the other chain would do. */
static uint64_t pop(struct walk *w)
{
	uint64_t page = be64toh(*slot(w, w->head));

	*slot(w, w->head) = 0;
	set_counter(&w->rig, HEAD, slot_addr(++w->head, w->nr, w->lane));
	return page;
}

static void push(struct walk *w, uint64_t page)
{
	assert_int_equal(*slot(w, w->tail), 0);
	*slot(w, w->tail) = htobe64(page);
	set_counter(&w->rig, TAIL, slot_addr(++w->tail, w->nr, w->lane));
}

static void store(struct walk *w, uint32_t first, uint32_t n)
{
	uint64_t page[BURST];

	for (uint32_t i = 0; i < n; i++)
		page[i] = be64toh(*slot(w, w->head + i));
	for (uint32_t i = 0; i < n; i++)
		send(&w->rig, first + i);
	for (uint32_t i = 0; i < n; i++)
		answered(&w->rig, first + i);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (first + i) % SLOTS;

		assert_int_not_equal(page[i], 0);
		assert_int_equal(wrc_rig_entry(&w->rig, at), page[i]);
		expect_page(wrc_rig_memory(&w->rig, page[i]), first + i);
		assert_int_equal(*slot(w, w->head + i), 0);
	}
	w->head += n;
	expect_counters(w);
	expect_all_pages(w, 0);
	for (uint32_t i = 0; i < n; i++) {
		wrc_rig_set_entry(&w->rig, (first + i) % SLOTS, 0);
		push(w, page[i]);
	}
}

static void invalidate(struct walk *w, uint32_t first, uint32_t n)
{
	uint64_t page[BURST];

	for (uint32_t i = 0; i < n; i++) {
		page[i] = pop(w);
		wrc_rig_set_entry(&w->rig, (first + i) % SLOTS, page[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		send(&w->rig, 0);
	for (uint32_t i = 0; i < n; i++)
		answered(&w->rig, first + i);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (first + i) % SLOTS;

		assert_int_equal(wrc_rig_entry(&w->rig, at), 0);
		assert_int_equal(be64toh(*slot(w, w->tail + i)), page[i]);
	}
	w->tail += n;
	expect_counters(w);
	expect_all_pages(w, 0);
}

/* Round the ring three times, and the instances as often at least. */
static void go_round(enum odrp_wire_chain chain, bool strict,
		     enum snic_fetch fetch, uint32_t nr, unsigned int lane)
{
	uint32_t burst = nr < BURST ? nr : BURST, r = 0;
	struct walk w;

	open_walk(&w, chain, strict, fetch, nr, lane);
	while (r < 3 * nr + 3 * DEPTH) {
		if (chain == ODRP_WIRE_UNMAPPED_STORE)
			store(&w, r, burst);
		else
			invalidate(&w, r, burst);
		r += burst;
	}
	assert_true(w.head > 3 * nr && w.tail > 3 * nr);
	assert_int_equal(wrc_rig_free_pages(&w.rig), nr);
	expect_gaps(&w);
	wrc_rig_close(&w.rig);
}

static void rings_go_round(void **state)
{
	for (int chain = ODRP_WIRE_UNMAPPED_STORE; chain <= ODRP_WIRE_INVALIDATE;
	     chain++)
		for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (int fetch = 0; fetch < 2; fetch++)
				go_round(chain, fetch ^ (i & 1), fetch,
					 sizes[i], 0);
}

/* The ring beside lane 0 is another one. */
static void lanes(void **state)
{
	static const unsigned int lanes[] = { 1, 5, 31 };

	for (unsigned int i = 0; i < 3; i++) {
		go_round(ODRP_WIRE_UNMAPPED_STORE, true, SNIC_FETCH_EARLY, 16,
			 lanes[i]);
		go_round(ODRP_WIRE_INVALIDATE, true, SNIC_FETCH_EARLY, 16,
			 lanes[i]);
	}
}

/* A table entry of 0: neither the advance nor the WRITE is one. */
static void invalidated_twice(void **state)
{
	struct walk w;

	open_walk(&w, ODRP_WIRE_INVALIDATE, true, SNIC_FETCH_EARLY, 16, 0);
	for (uint32_t r = 0; r < 5 * DEPTH; r++) {
		bool mapped = r % 3 == 0;

		if (mapped)
			wrc_rig_set_entry(&w.rig, r % SLOTS, pop(&w));
		send(&w.rig, 0);
		answered(&w.rig, r);
		w.tail += mapped;
		expect_counters(&w);
		expect_all_pages(&w, 0);
	}
	wrc_rig_close(&w.rig);
}

/* Also without words in the requests. */
static void recycled_by_the_node(void **state)
{
	for (int chain = ODRP_WIRE_UNMAPPED_STORE; chain <= ODRP_WIRE_INVALIDATE;
	     chain++) {
		struct walk w = { .nr = 16 };

		open_rig(&w.rig, chain, true, SNIC_FETCH_EARLY, w.nr,
			 WRC_RECYCLE_NODE);
		assert_true(w.rig.prog.node);
		for (uint32_t r = 0; r < 3 * w.nr; r += BURST)
			if (chain == ODRP_WIRE_UNMAPPED_STORE)
				store(&w, r, BURST);
			else
				invalidate(&w, r, BURST);
		wrc_rig_close(&w.rig);
	}
}

/* ---- stopped anywhere ----------------------------------------------------------- */

/* In virtual time a step is one WQE at most. */
static uint64_t tick(void *arg, const struct snic_work *work)
{
	return work->kind == SNIC_COST_EXECUTE ? 1000 : 0;
}

/* A slot that is told is behind the head, or before the tail. */
static void expect_slot(struct walk *w, const struct wrc_held *held)
{
	bool allocates = w->rig.cfg.chain == ODRP_WIRE_UNMAPPED_STORE;
	int which = allocates ? HEAD : TAIL;
	uint32_t i = 0;

	if (!held->slot)
		return;
	while (i < w->nr && slot_addr(i, w->nr, 0) != held->slot)
		i++;
	assert_true(i < w->nr);
	assert_int_equal(*slot(w, i) != 0, allocates);
	assert_int_equal(held->page != 0, !allocates);
	assert_int_equal(counter(&w->rig, which), slot_addr(i + 1, w->nr, 0));
}

/* Returns whether it was still at work after that many steps. */
static bool stop_after(enum odrp_wire_chain chain, int stop, unsigned int *held)
{
	struct wrc_held h;
	struct walk w;
	struct snic_qp_info info;
	int idle = 0;

	open_walk(&w, chain, true, SNIC_FETCH_EARLY, 512, 0);
	snic_set_cost(w.rig.nic, tick, NULL);
	for (int i = 0; i < BURST && chain == ODRP_WIRE_INVALIDATE; i++)
		wrc_rig_set_entry(&w.rig, i, pop(&w));
	for (int i = 0; i < BURST; i++)
		send(&w.rig, i);
	for (int i = 0; i < stop && !idle; i++)
		idle = wrc_rig_step(&w.rig);
	assert_int_equal(snic_qp_error(w.rig.nic, w.rig.client_qpn), 0);
	assert_int_equal(snic_qp_error(w.rig.nic, w.rig.loop_qpn), 0);
	assert_int_equal(snic_qp_query(w.rig.nic, w.rig.loop_qpn, &info), 0);
	assert_int_equal(wrc_held_page(&w.rig.prog, &w.rig.geom, w.rig.arena,
				       info.sq_executed, &h), 0);
	expect_all_pages(&w, h.page);
	expect_slot(&w, &h);
	*held |= (h.page ? 1 : 0) | (h.slot ? 2 : 0) |
		 (h.page && h.slot ? 4 : 0);
	wrc_rig_close(&w.rig);
	return !idle;
}

static void stopped(void **state)
{
	static const struct {
		enum odrp_wire_chain chain;
		unsigned int held;
	} want[] = {
		{ ODRP_WIRE_UNMAPPED_STORE, 3 },	/* slot, then page */
		{ ODRP_WIRE_INVALIDATE, 7 },		/* page, then both */
	};

	for (int i = 0; i < 2; i++) {
		unsigned int held = 0;
		int stop = 0;

		while (stop_after(want[i].chain, stop, &held))
			stop++;
		assert_true(stop > 40);		/* it went through all three */
		assert_int_equal(held, want[i].held);
	}
}

/* ---- the programs, and the verifier ---------------------------------------------- */

static int count_op(const struct wrc_prog *prog, __u8 op)
{
	int n = 0;

	for (int i = 0; i < prog->nr_insn; i++)
		n += prog->insn[i].op == op;
	return n;
}

/* A READ and a WAIT fewer, where the ring is used; the others are ours. */
static void what_is_left_out(void **state)
{
	for (int strict = 0; strict < 2; strict++)
		for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			struct wrc_opts opts = { .strict_index = strict };
			bool ring = chain >= ODRP_WIRE_UNMAPPED_STORE;
			struct wrc_prog ours, its;

			assert_int_equal(wrc_prog_build(chain, &opts, &ours), 0);
			opts.variant = WRC_V_LANE_RING;
			assert_int_equal(wrc_prog_build(chain, &opts, &its), 0);
			assert_int_equal(count_op(&ours, WRC_WQE_READ) -
					 count_op(&its, WRC_WQE_READ), ring);
			assert_int_equal(count_op(&ours, WRC_WQE_WAIT) -
					 count_op(&its, WRC_WQE_WAIT), ring);
			assert_int_equal(count_op(&ours, WRC_WQE_SEND_EN),
					 count_op(&its, WRC_WQE_SEND_EN));
			assert_int_equal(its.lanes, ring);
			if (!ring)
				assert_memory_equal(&ours, &its, sizeof(ours));
		}
	assert_int_equal(wrc_variant_excused(WRC_V_LANE_RING), 0);
	assert_false(wrc_variant_is_rung(WRC_V_LANE_RING));
}

static void open_bench(struct bench *b, enum odrp_wire_chain chain)
{
	struct wrc_opts opts = {
		.variant = WRC_V_LANE_RING, .strict_index = true,
	};

	assert_int_equal(wrc_prog_build(chain, &opts, &b->prog), 0);
	bench_image(b, DEPTH);
	expect_accepted(b);
}

/* A counter that steps or wraps like another ring's. */
static void other_steps(void **state)
{
	/* The example has 2^13 slots. */
	const uint64_t add = 1ull << 43, boundary = 1ull << 55;
	static const struct {
		enum wrc_field field;
		uint64_t value;
	} bad[] = {
		{ WRC_F_ADD, 8 }, { WRC_F_ADD, 1ull << 48 },
		{ WRC_F_ADD, 1ull << 42 }, { WRC_F_BOUNDARY, 1ull << 56 },
		{ WRC_F_BOUNDARY, 1ull << 54 }, { WRC_F_BOUNDARY, 1 << 15 },
	};

	for (int chain = ODRP_WIRE_UNMAPPED_STORE; chain <= ODRP_WIRE_INVALIDATE;
	     chain++)
		for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			struct bench b;
			unsigned int fa;
			uint64_t be;

			open_bench(&b, chain);
			fa = bench_find(&b, WRC_WQE_MASKED_FA, 0);
			be = htobe64(add);
			assert_memory_equal(bench_field(&b, fa, WRC_F_ADD, 0, 2),
					    &be, 8);
			be = htobe64(boundary);
			assert_memory_equal(bench_field(&b, fa, WRC_F_BOUNDARY,
							0, 2), &be, 8);
			be = htobe64(bad[i].value);
			memcpy(bench_field(&b, fa, bad[i].field, 0, 2), &be, 8);
			expect_refusal(&b, WRC_RULE_ATOMIC,
				       "does not step by a slot within a ring of 2^24 bytes");
			bench_close(&b);
		}
}

/* Where the ring and its counters may be. */
static void places(void **state)
{
	struct bench b;

	open_bench(&b, ODRP_WIRE_UNMAPPED_STORE);
	b.bind.free_ring += 31 * 8;
	expect_accepted(&b);
	b.bind.free_ring += 8;
	expect_refusal(&b, WRC_RULE_ADDRESS, "not aligned to its 2^24 bytes");
	b.bind.free_ring -= 8 + 4;
	expect_refusal(&b, WRC_RULE_ADDRESS, "not aligned to its 2^24 bytes");
	bench_close(&b);

	/* In a gap is in the ring; linked anew, so that only the place is wrong. */
	open_bench(&b, ODRP_WIRE_UNMAPPED_STORE);
	b.bind.free_head = b.bind.free_ring + 8;
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena), 0);
	expect_refusal(&b, WRC_RULE_ADDRESS, "are not words outside the ring");
	b.bind.log_free_ring = 51;
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena), 0);
	b.bind.log_free_ring = 52;
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena),
			 -EINVAL);
	bench_close(&b);
}

/* Between which bytes the slots lie: there the ring begins, and no counter is. */
static void spans(void **state)
{
	static const struct {
		unsigned int log_slots, log;
	} want[] = {
		{ 1, 9 }, { 2, 10 }, { 7, 15 }, { 8, 16 }, { 9, 24 },
		{ 16, 24 }, { 17, 32 }, { 24, 32 }, { 25, 40 }, { 48, 56 },
	};

	for (unsigned int i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const uint64_t span = 1ull << want[i].log;
		struct bench b;
		char words[80];

		open_bench(&b, ODRP_WIRE_INVALIDATE);
		b.bind.log_free_ring = 3 + want[i].log_slots;
		b.bind.free_ring = 3 * span + 8;
		b.bind.free_head = 3 * span - 8;
		b.bind.free_tail = 4 * span;
		assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind,
						 b.arena), 0);
		expect_accepted(&b);
		b.bind.free_tail -= 64;
		assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind,
						 b.arena), 0);
		expect_refusal(&b, WRC_RULE_ADDRESS,
			       "are not words outside the ring");
		b.bind.free_ring += span / 2;
		snprintf(words, sizeof(words), "not aligned to its 2^%u bytes",
			 want[i].log);
		expect_refusal(&b, WRC_RULE_ADDRESS, words);
		bench_close(&b);
	}
}

/* In which order the bytes are, the program has to know. */
static void wrong_order(void **state)
{
	struct bench b;

	assert_int_equal(wrc_prog_build(ODRP_WIRE_UNMAPPED_STORE, NULL, &b.prog),
			 0);
	b.prog.lanes = true;
	bench_image(&b, DEPTH);
	expect_refusal(&b, WRC_RULE_FLOW, "goes to class free by nothing known");
	bench_close(&b);

	open_bench(&b, ODRP_WIRE_UNMAPPED_STORE);
	free(b.arena);
	b.prog.lanes = false;
	bench_image(&b, DEPTH);
	expect_refusal(&b, WRC_RULE_FLOW, "goes to class free by nothing known");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_go_round),
		cmocka_unit_test(lanes),
		cmocka_unit_test(invalidated_twice),
		cmocka_unit_test(recycled_by_the_node),
		cmocka_unit_test(stopped),
		cmocka_unit_test(what_is_left_out),
		cmocka_unit_test(other_steps),
		cmocka_unit_test(places),
		cmocka_unit_test(spans),
		cmocka_unit_test(wrong_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
