// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rungs of the paper's ladder: each does its work on the software NIC, is
 * made of what the paper says, and is refused by the verifier for exactly what
 * it is excused from.
 */
#include "bench.h"
#include "pages.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 8
#define PAGES 32

static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain,
		     enum wrc_variant variant, enum snic_fetch fetch)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .variant = variant, .fetch = fetch,
		.depth = DEPTH, .nr_pages = PAGES, .nr_slots = SLOTS,
	};

	rig_open(rig, &cfg);
}

static void ask(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint8_t page[4096];
	uint32_t r = ~0u, request = rig->sent;
	int err;

	fill(page, seed);
	assert_int_equal(wrc_rig_send(rig, slot * 8,
				      rig->prog.page ? page : NULL), 0);
	err = wrc_rig_answer(rig, &r);
	if (err)
		fail_msg("%s %s, request %u: %s", rig->prog.name,
			 wrc_variant_name(rig->cfg.variant), request,
			 strerror(-err));
	assert_int_equal(r, request);
}

/* Every page once, in the ring or in the table. */
static void expect_all_pages(const struct wrc_rig *rig)
{
	unsigned int seen[PAGES] = { 0 };

	see_pages(rig, seen);
	expect_seen_once(rig, seen);
}

/* One request, its effect, and back to where it started. */
static void work_once(struct wrc_rig *rig, uint32_t r)
{
	enum odrp_wire_chain chain = rig->cfg.chain;
	uint64_t slot = r % SLOTS, before = wrc_rig_entry(rig, slot), entry;
	uint64_t head = rig->counters[0], tail = rig->counters[8];

	if (chain == ODRP_WIRE_LOAD)
		fill(wrc_rig_memory(rig, before), r);
	ask(rig, slot, r);
	entry = wrc_rig_entry(rig, slot);
	expect_all_pages(rig);
	switch (chain) {
	case ODRP_WIRE_LOAD:
		expect_page(wrc_rig_page(rig, r), r);
		assert_int_equal(entry, before);
		break;
	case ODRP_WIRE_MAPPED_STORE:
		expect_page(wrc_rig_memory(rig, entry), r);
		assert_int_equal(entry, before);
		assert_int_equal(rig->counters[0], head);
		break;
	case ODRP_WIRE_UNMAPPED_STORE:
		expect_page(wrc_rig_memory(rig, entry), r);
		assert_int_equal(before, 0);
		assert_int_not_equal(rig->counters[0], head);
		wrc_rig_set_entry(rig, slot, 0);
		wrc_rig_push(rig, entry);
		break;
	default:
		assert_int_equal(entry, 0);
		assert_int_not_equal(rig->counters[8], tail);
		wrc_rig_set_entry(rig, slot, wrc_rig_pop(rig));
		break;
	}
}

static void map_all(struct wrc_rig *rig)
{
	for (int i = 0; i < SLOTS; i++)
		wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
}

static void every_rung_works(void **state)
{
	for (int v = WRC_V_NAIVE; v <= WRC_V_PAPER; v++)
		for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
			for (int fetch = 0; fetch < 2; fetch++) {
				struct wrc_rig rig;

				open_rig(&rig, chain, v, fetch);
				if (chain != ODRP_WIRE_UNMAPPED_STORE)
					map_all(&rig);
				for (uint32_t r = 0; r < 6 * DEPTH; r++)
					work_once(&rig, r);
				wrc_rig_close(&rig);
			}
}

/* A full queue, until 16 bits of blocks and of receive entries have wrapped. */
static void wraps(enum wrc_variant variant)
{
	struct wrc_rig rig;
	uint32_t r;

	open_rig(&rig, ODRP_WIRE_LOAD, variant, SNIC_FETCH_EARLY);
	map_all(&rig);
	for (uint32_t n = 0; n < 66000; n++) {
		while (rig.sent - rig.answered < DEPTH - 1)
			assert_int_equal(wrc_rig_send(&rig,
						      rig.sent % SLOTS * 8,
						      NULL), 0);
		assert_int_equal(wrc_rig_answer(&rig, &r), 0);
		assert_int_equal(r, n);
	}
	wrc_rig_close(&rig);
}

static void every_counter_wraps(void **state)
{
	wraps(WRC_V_NAIVE);
	wraps(WRC_V_PAPER);
}

/* The naive store decides by itself, and takes a page only if it needs one. */
static void naive_decides(void **state)
{
	uint32_t seed = 12345;
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_UNMAPPED_STORE, WRC_V_NAIVE, SNIC_FETCH_EARLY);
	for (uint32_t r = 0; r < 400; r++) {
		uint64_t slot = bench_random(&seed) % SLOTS;
		uint64_t before = wrc_rig_entry(&rig, slot), entry;
		uint32_t nr_free = wrc_rig_free_pages(&rig);

		ask(&rig, slot, r);
		entry = wrc_rig_entry(&rig, slot);
		expect_page(wrc_rig_memory(&rig, entry), r);
		expect_all_pages(&rig);
		if (before)
			assert_int_equal(entry, before);
		assert_int_equal(wrc_rig_free_pages(&rig),
				 before ? nr_free : nr_free - 1);
		if (bench_random(&seed) & 1) {
			wrc_rig_set_entry(&rig, slot, 0);
			wrc_rig_push(&rig, entry);
		}
	}
	wrc_rig_close(&rig);
}

/* WAITs and ENABLEs as the paper counts them. */
static void controls_as_in_the_paper(void **state)
{
	static const unsigned int want[] = { 3, 4, 5 };
	struct wrc_opts opts = { .variant = WRC_V_PAPER };
	struct wrc_prog prog;

	for (int chain = 0; chain < 3; chain++) {
		unsigned int n = 0;

		assert_int_equal(wrc_any_build(chain, &opts, &prog), 0);
		for (int i = 0; i < prog.nr_insn; i++)
			n += prog.insn[i].op == WRC_WQE_WAIT ||
			     prog.insn[i].op == WRC_WQE_SEND_EN;
		assert_int_equal(n, want[chain]);
		/* Each is re-armed by the client, and the doorbell record. */
		assert_int_equal(prog.nr_words, n + 1);
	}
}

static int count_op(const struct wrc_prog *prog, __u8 op)
{
	int n = 0;

	for (int i = 0; i < prog->nr_insn; i++)
		n += prog->insn[i].op == op;
	return n;
}

/* What each rung leaves out of the unmapped store. */
static void rungs_differ_by_their_step(void **state)
{
	struct wrc_prog p[WRC_NR_VARIANTS];

	for (int v = WRC_V_NAIVE; v <= WRC_V_PAPER; v++) {
		struct wrc_opts opts = { .variant = v };

		assert_int_equal(wrc_any_build(ODRP_WIRE_UNMAPPED_STORE, &opts,
						&p[v]), 0);
	}
	assert_int_equal(count_op(&p[WRC_V_NAIVE], WRC_WQE_CS), 1);
	assert_int_equal(count_op(&p[WRC_V_STORE_DECISION], WRC_WQE_CS), 0);
	assert_int_equal(count_op(&p[WRC_V_STORE_DECISION], WRC_WQE_FA), 1);
	assert_int_equal(count_op(&p[WRC_V_CALC_TT_ADDR], WRC_WQE_FA), 0);
	assert_int_equal(p[WRC_V_CALC_TT_ADDR].nr_cells, 6);
	assert_int_equal(p[WRC_V_RECYCLE_HELPER].nr_cells, 0);
	assert_int_equal(count_op(&p[WRC_V_CALC_TT_ADDR], WRC_WQE_MASKED_FA) -
			 count_op(&p[WRC_V_RECYCLE_HELPER], WRC_WQE_MASKED_FA),
			 6);
	assert_int_equal(count_op(&p[WRC_V_RECYCLE_HELPER], WRC_WQE_READ), 8);
	assert_int_equal(count_op(&p[WRC_V_PAPER], WRC_WQE_READ), 1);
}

/* Is any chain of this variant refused by this rule alone? */
static bool refused(enum wrc_variant variant, unsigned int rules)
{
	struct wrc_opts opts = { .variant = variant };
	char why[WRC_WHY_MAX];
	bool no = false;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct bench b;

		assert_int_equal(wrc_any_build(chain, &opts, &b.prog), 0);
		bench_image(&b, DEPTH);
		no |= wrc_check_rules(&b.prog, &b.geom, &b.bind, b.arena,
				      rules, why) != 0;
		bench_close(&b);
	}
	return no;
}

static void verifier_refuses(void **state)
{
	for (int v = WRC_V_NAIVE; v <= WRC_V_PAPER; v++) {
		unsigned int excused = wrc_variant_excused(v);

		assert_false(refused(v, WRC_ALL_RULES & ~excused));
		for (int rule = 0; rule < WRC_NR_RULES; rule++)
			if (excused & 1u << rule && rule != WRC_RULE_ORDER &&
			    rule != WRC_RULE_ANSWER &&
			    !refused(v, 1u << rule))
				fail_msg("%s is excused from %s for nothing",
					 wrc_variant_name(v),
					 wrc_rule_name(rule));
	}
	/* These need a chain whose counts the verifier knows. */
	assert_true(refused(WRC_V_PAPER, 1u << WRC_RULE_ORDER));
	assert_true(refused(WRC_V_PAPER, 1u << WRC_RULE_ANSWER));
	assert_true(refused(WRC_V_RECYCLE_HELPER, 1u << WRC_RULE_ORDER));
}

static void never_strict(void **state)
{
	struct wrc_prog prog;

	for (int v = WRC_V_NAIVE; v <= WRC_NR_VARIANTS; v++) {
		struct wrc_opts opts = { .variant = v, .strict_index = true };

		if (!wrc_variant_is_rung(v) && v < WRC_NR_VARIANTS)
			continue;
		assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &opts, &prog),
				 -EINVAL);
	}
	assert_null(wrc_variant_name(WRC_NR_VARIANTS));
	assert_int_equal(wrc_variant_excused(WRC_V_OURS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rung_works),
		cmocka_unit_test(every_counter_wraps),
		cmocka_unit_test(naive_decides),
		cmocka_unit_test(controls_as_in_the_paper),
		cmocka_unit_test(rungs_differ_by_their_step),
		cmocka_unit_test(verifier_refuses),
		cmocka_unit_test(never_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
