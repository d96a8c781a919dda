// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chains on the software NIC: what they do, in all modes; what they do when
 * they are asked for what cannot be done; and that after a stop anywhere every
 * page is in exactly one place.
 */
#include <stdlib.h>
#include "bench.h"
#include "pages.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 8

/* Which programs: each_program() goes through them. */
static enum wrc_variant variant;
static enum wrc_recycle recycle;
static enum wrc_order order;

/* recycle=node: made once for each program. */
static uint8_t *tables[WRC_NR_ORDERS][WRC_NR_VARIANTS][ODRP_WIRE_NR_CHAINS][2];

/* The NIC only reads it: the rig's own may go. */
static void keep_table(const struct wrc_rig *rig)
{
	uint8_t **table =
		&tables[order][variant][rig->cfg.chain][rig->cfg.strict];

	if (*table || recycle != WRC_RECYCLE_NODE)
		return;
	*table = aligned_alloc(4096, rig->geom.table_len);
	assert_non_null(*table);
	memcpy(*table, rig->table, rig->geom.table_len);
}

/* A NIC that reads early brings late. */
static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain,
		     bool strict, enum snic_fetch fetch)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .strict = strict, .fetch = fetch,
		.land = fetch == SNIC_FETCH_EARLY ? SNIC_LAND_LATE :
						    SNIC_LAND_AT_ONCE,
		.variant = variant, .recycle = recycle, .order = order,
		.depth = DEPTH, .nr_pages = 2 * SLOTS, .nr_slots = SLOTS,
	};

	if (recycle == WRC_RECYCLE_NODE)
		cfg.table = tables[order][variant][chain][strict];
	rig_open(rig, &cfg);
	keep_table(rig);
}

/* That copy and that exchange pages, recycled by the client and by the node, with
 * WAITs and with fences. */
static void each_program(void (*test)(void))
{
	static const enum wrc_variant variants[] = {
		WRC_V_OURS, WRC_V_EXCHANGE,
	};
	static const enum wrc_recycle recycles[] = {
		WRC_RECYCLE_CLIENT, WRC_RECYCLE_NODE,
	};

	for (int i = 0; i < 8; i++) {
		variant = variants[i & 1];
		recycle = recycles[i >> 1 & 1];
		order = i & 4 ? WRC_ORDER_FENCE : WRC_ORDER_WAIT;
		test();
	}
	variant = variants[0];
	recycle = recycles[0];
	order = WRC_ORDER_WAIT;
}

static int free_tables(void **state)
{
	uint8_t **all = &tables[0][0][0][0];

	for (size_t i = 0; i < sizeof(tables) / sizeof(*all); i++)
		free(all[i]);
	return 0;
}

static void ask(struct wrc_rig *rig, uint64_t slot, uint8_t seed)
{
	uint8_t page[4096];

	fill(page, seed);
	assert_int_equal(wrc_rig_send(rig, slot * 8,
				      rig->prog.page ? page : NULL), 0);
}

static void answered(struct wrc_rig *rig, uint32_t request)
{
	uint32_t r = ~0u;
	int err = wrc_rig_answer(rig, &r);

	if (err)
		fail_msg("request %u: %s", request, strerror(-err));
	assert_int_equal(r, request);
}

/* ---- each chain, in all modes -------------------------------------------------- */

/* The page that a request's store comes to, if it is the instance's own. */
static uint64_t own_page(struct wrc_rig *rig, uint32_t request)
{
	if (!wrc_has_register(&rig->prog))
		return 0;
	wrc_rig_settle(rig);
	return wrc_rig_held(rig, request % DEPTH).page;
}

static void work(enum odrp_wire_chain chain, bool strict, enum snic_fetch fetch)
{
	struct wrc_rig rig;
	uint64_t page[SLOTS];

	open_rig(&rig, chain, strict, fetch);
	for (int i = 0; i < SLOTS; i++) {
		page[i] = chain == ODRP_WIRE_UNMAPPED_STORE ?
				  0 : wrc_rig_pop(&rig);
		wrc_rig_set_entry(&rig, i, page[i]);
	}
	for (uint32_t r = 0; r < 5 * DEPTH; r++) {
		uint64_t entry, own = own_page(&rig, r);
		uint32_t slot = r % SLOTS;

		if (chain == ODRP_WIRE_LOAD)
			fill(wrc_rig_memory(&rig, page[slot]), r);
		ask(&rig, slot, r);
		answered(&rig, r);
		entry = wrc_rig_entry(&rig, slot);
		switch (chain) {
		case ODRP_WIRE_LOAD:
			expect_page(wrc_rig_page(&rig, r), r);
			assert_int_equal(entry, page[slot]);
			break;
		case ODRP_WIRE_MAPPED_STORE:
			assert_int_equal(entry, own ? own : page[slot]);
			expect_page(wrc_rig_memory(&rig, entry), r);
			break;
		case ODRP_WIRE_UNMAPPED_STORE:
			/* In ring order. */
			assert_int_equal(entry, own ? own : WRC_POOL_IOVA +
					 r % (2 * SLOTS) * 4096);
			expect_page(wrc_rig_memory(&rig, entry), r);
			wrc_rig_set_entry(&rig, slot, 0);
			wrc_rig_push(&rig, entry);
			break;
		default:
			assert_int_equal(entry, 0);
			assert_int_equal(wrc_rig_free_pages(&rig), SLOTS + 1);
			wrc_rig_set_entry(&rig, slot, wrc_rig_pop(&rig));
			break;
		}
	}
	wrc_rig_close(&rig);
}

static void work_all(void)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++) {
			work(chain, strict, SNIC_FETCH_LATE);
			work(chain, strict, SNIC_FETCH_EARLY);
		}
}

static void all_modes(void **state)
{
	each_program(work_all);
}

/*
 * Only the last request of a full queue is answered: no answer comes before it,
 * and when it comes all have been executed.
 */
static void quiet(enum odrp_wire_chain chain, bool strict)
{
	struct wrc_rig rig;
	uint64_t page[SLOTS];

	open_rig(&rig, chain, strict, SNIC_FETCH_EARLY);
	for (int i = 0; i < SLOTS; i++) {
		page[i] = chain == ODRP_WIRE_UNMAPPED_STORE ?
				  0 : wrc_rig_pop(&rig);
		wrc_rig_set_entry(&rig, i, page[i]);
		if (chain == ODRP_WIRE_LOAD)
			fill(wrc_rig_memory(&rig, page[i]), i);
	}
	for (uint32_t lap = 0; lap < 3; lap++) {
		uint32_t first = rig.sent, last = first + DEPTH - 2;

		for (uint32_t r = first; r <= last; r++) {
			rig.quiet = r != last;
			ask(&rig, r % SLOTS, r % SLOTS);
		}
		answered(&rig, last);
		assert_int_equal(rig.received, lap + 1);
		for (uint32_t r = first; r <= last; r++) {
			uint32_t slot = r % SLOTS;
			uint64_t entry = wrc_rig_entry(&rig, slot);

			if (chain == ODRP_WIRE_INVALIDATE) {
				assert_int_equal(entry, 0);
				wrc_rig_set_entry(&rig, slot,
						  wrc_rig_pop(&rig));
				continue;
			}
			expect_page(chain == ODRP_WIRE_LOAD ?
					    wrc_rig_page(&rig, r) :
					    wrc_rig_memory(&rig, entry), slot);
			if (chain == ODRP_WIRE_UNMAPPED_STORE) {
				wrc_rig_set_entry(&rig, slot, 0);
				wrc_rig_push(&rig, entry);
			}
		}
	}
	wrc_rig_close(&rig);
}

static void quiet_requests(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++)
			quiet(chain, strict);
}

/* As many as may be outstanding, for long enough that 16 bits wrap. */
static void full_queue(void **state)
{
	for (int chain = ODRP_WIRE_LOAD; chain <= ODRP_WIRE_MAPPED_STORE;
	     chain++) {
		struct wrc_rig rig;

		open_rig(&rig, chain, true, SNIC_FETCH_EARLY);
		for (int i = 0; i < SLOTS; i++)
			wrc_rig_set_entry(&rig, i, wrc_rig_pop(&rig));
		for (uint32_t r = 0; r < 70000; r++) {
			if (chain == ODRP_WIRE_MAPPED_STORE)
				ask(&rig, rig.sent % SLOTS, r);
			else
				while (rig.sent - rig.answered < DEPTH - 1)
					ask(&rig, rig.sent % SLOTS, 0);
			answered(&rig, r);
		}
		wrc_rig_close(&rig);
	}
}

static void one_too_many(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_LOAD, true, SNIC_FETCH_LATE);
	wrc_rig_set_entry(&rig, 0, wrc_rig_pop(&rig));
	for (int i = 0; i < DEPTH - 1; i++)
		ask(&rig, 0, 0);
	assert_int_equal(wrc_rig_send(&rig, 0, NULL), -EBUSY);
	wrc_rig_close(&rig);
}

/* ---- what cannot be done -------------------------------------------------------- */

static enum snic_qp_state state_of(struct wrc_rig *rig, uint32_t qpn)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(rig->nic, qpn, &info), 0);
	return info.state;
}

/* No answer, ever, and the pages where they were. */
static void no_answer(struct wrc_rig *rig)
{
	uint32_t r;

	assert_true(wrc_rig_answer(rig, &r) < 0);
	assert_int_equal(rig->answered, 0);
}

/* Every page: in the ring, in the table, or held, page exchange by each instance;
 * once. */
static void expect_all_pages(struct wrc_rig *rig, const struct wrc_held *held)
{
	unsigned int seen[2 * SLOTS] = { 0 };

	see_pages(rig, seen);
	if (wrc_has_register(&rig->prog))
		for (int i = 0; i < DEPTH; i++)
			see_page(rig, seen, wrc_rig_held(rig, i).page);
	else
		see_page(rig, seen, held->page);
	expect_seen_once(rig, seen);
}

static void held_now(struct wrc_rig *rig, struct wrc_held *ret_held)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(rig->nic, rig->loop_qpn, &info), 0);
	assert_int_equal(wrc_held_page(&rig->prog, &rig->geom, rig->arena,
				       info.sq_executed, ret_held), 0);
}

static void unmapped_entry(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_LOAD, true, SNIC_FETCH_EARLY);
	ask(&rig, 3, 0);
	no_answer(&rig);
	/* The answer itself failed: the client's connection is broken. */
	assert_int_equal(state_of(&rig, rig.client_qpn), SNIC_QP_ERR);
	wrc_rig_close(&rig);

	open_rig(&rig, ODRP_WIRE_MAPPED_STORE, true, SNIC_FETCH_EARLY);
	ask(&rig, 3, 0);
	no_answer(&rig);
	assert_int_equal(state_of(&rig, rig.loop_qpn), SNIC_QP_ERR);
	assert_int_equal(wrc_rig_entry(&rig, 3), 0);
	wrc_rig_close(&rig);
}

/* Only the store that copies had taken a page, and is left with it; with page
 * exchange each instance has its own, as before. */
static void ask_beyond(enum odrp_wire_chain chain)
{
	struct wrc_held held = { 0 };
	struct wrc_rig rig;

	open_rig(&rig, chain, true, SNIC_FETCH_EARLY);
	ask(&rig, SLOTS, 0);
	no_answer(&rig);
	assert_int_equal(state_of(&rig, rig.loop_qpn), SNIC_QP_ERR);
	if (!wrc_has_register(&rig.prog)) {
		held_now(&rig, &held);
		assert_int_equal(held.page != 0,
				 chain == ODRP_WIRE_UNMAPPED_STORE);
		assert_int_equal(held.slot, 0);
	}
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(wrc_rig_entry(&rig, i), 0);
	expect_all_pages(&rig, &held);
	wrc_rig_close(&rig);
}

static void beyond_with_all(void)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		ask_beyond(chain);
}

static void beyond_the_table(void **state)
{
	each_program(beyond_with_all);
}

/* An entry that is 0: two NOPs, and the same answer. */
static void invalidated_twice(void **state)
{
	struct wrc_rig rig;
	uint64_t tail;

	open_rig(&rig, ODRP_WIRE_INVALIDATE, true, SNIC_FETCH_EARLY);
	wrc_rig_set_entry(&rig, 5, wrc_rig_pop(&rig));
	for (uint32_t r = 0; r < 3 * DEPTH; r++) {
		tail = rig.counters[8];
		ask(&rig, 5, 0);
		answered(&rig, r);
		assert_int_equal(wrc_rig_free_pages(&rig), 2 * SLOTS);
		assert_int_equal(rig.counters[8] - tail, r ? 0 : 8);
	}
	/* And once more with a page, in an instance that had NOPs before. */
	wrc_rig_set_entry(&rig, 5, wrc_rig_pop(&rig));
	ask(&rig, 5, 0);
	answered(&rig, 3 * DEPTH);
	assert_int_equal(wrc_rig_entry(&rig, 5), 0);
	assert_int_equal(wrc_rig_free_pages(&rig), 2 * SLOTS);
	wrc_rig_close(&rig);
}

static void empty_ring(void **state)
{
	struct wrc_held held;
	struct wrc_rig rig;
	uint64_t head;

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE, true, SNIC_FETCH_EARLY);
	while (wrc_rig_pop(&rig))
		;
	head = rig.counters[0];
	ask(&rig, 1, 0);
	no_answer(&rig);
	assert_int_equal(wrc_rig_entry(&rig, 1), 0);
	/* The head went past a slot that had nothing: that slot is told. */
	held_now(&rig, &held);
	assert_int_equal(held.page, 0);
	assert_int_equal(held.slot, head);
	wrc_rig_close(&rig);
}

/* ---- stopped anywhere ------------------------------------------------------------ */

/* In virtual time a step is one WQE at most. */
static uint64_t tick(void *arg, const struct snic_work *work)
{
	return work->kind == SNIC_COST_EXECUTE ? 1000 : 0;
}

/* A slot that is told is behind the head, or before the tail. */
static void expect_slot(struct wrc_rig *rig, const struct wrc_held *held)
{
	uint64_t at, *slot;

	if (!held->slot)
		return;
	at = held->slot - rig->bind.free_ring;
	assert_true(at < 2 * SLOTS * 8 && at % 8 == 0);
	slot = &rig->ring[at / 8];
	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE) {
		assert_int_not_equal(*slot, 0);
		assert_int_equal(held->page, 0);
		assert_int_equal(rig->counters[0], rig->bind.free_ring +
				 (at + 8) % (2 * SLOTS * 8));
	} else {
		assert_int_equal(*slot, 0);
		assert_int_not_equal(held->page, 0);
		assert_int_equal(rig->counters[8], rig->bind.free_ring +
				 (at + 8) % (2 * SLOTS * 8));
	}
}

/*
 * Runs for `stop` steps, pulls the plug, and looks.  Returns whether it was
 * still at work then.
 */
static bool stop_after(enum odrp_wire_chain chain, int stop, unsigned int *held)
{
	struct wrc_held h;
	struct wrc_rig rig;
	int idle = 0;

	open_rig(&rig, chain, true, SNIC_FETCH_EARLY);
	snic_set_cost(rig.nic, tick, NULL);
	if (chain == ODRP_WIRE_INVALIDATE)
		for (int i = 0; i < SLOTS; i++)
			wrc_rig_set_entry(&rig, i, wrc_rig_pop(&rig));
	for (int i = 0; i < 4; i++)
		ask(&rig, i, i);
	for (int i = 0; i < stop && !idle; i++)
		idle = wrc_rig_step(&rig);
	assert_int_equal(snic_qp_error(rig.nic, rig.client_qpn), 0);
	assert_int_equal(snic_qp_error(rig.nic, rig.loop_qpn), 0);
	held_now(&rig, &h);
	expect_all_pages(&rig, &h);
	expect_slot(&rig, &h);
	*held |= (h.page ? 1 : 0) | (h.slot ? 2 : 0) |
		 (h.page && h.slot ? 4 : 0);
	wrc_rig_close(&rig);
	return !idle;
}

static void stopped(enum odrp_wire_chain chain, unsigned int want)
{
	unsigned int held = 0;
	int stop = 0;

	while (stop_after(chain, stop, &held))
		stop++;
	assert_true(stop > 50);		/* it went through all four */
	assert_int_equal(held, want);	/* and stopped where it matters */
}

static void stopped_store(void **state)
{
	for (order = 0; order < WRC_NR_ORDERS; order++)
		stopped(ODRP_WIRE_UNMAPPED_STORE, 3);	/* slot, then page */
	order = WRC_ORDER_WAIT;
}

static void stopped_invalidate(void **state)
{
	for (order = 0; order < WRC_NR_ORDERS; order++)
		stopped(ODRP_WIRE_INVALIDATE, 7);	/* page, then both */
	order = WRC_ORDER_WAIT;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes),
		cmocka_unit_test(quiet_requests),
		cmocka_unit_test(full_queue),
		cmocka_unit_test(one_too_many),
		cmocka_unit_test(unmapped_entry),
		cmocka_unit_test(beyond_the_table),
		cmocka_unit_test(invalidated_twice),
		cmocka_unit_test(empty_ring),
		cmocka_unit_test(stopped_store),
		cmocka_unit_test(stopped_invalidate),
	};

	return cmocka_run_group_tests(tests, NULL, free_tables);
}
