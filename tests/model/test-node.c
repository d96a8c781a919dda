// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a memory node arms that recycles, and the load of page exchange: the same
 * searches as in test-chains.c, of images without a gate.  Then once more with
 * what READs and atomics bring on its way for as long as their queue goes on
 * without it, and so with order=fence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "search.h"

/* main() has the tests with each. */
static bool late, fence;

static struct scene_config recycled(struct scene_config cfg)
{
	cfg.node = true;
	cfg.late = late;
	cfg.fence = fence;
	return cfg;
}

static void one_slot(void **state)
{
	struct scene_config cfg = recycled(exchanged(one_slot_scene));

	holds_both(&cfg, "node: one slot");
	cfg.strict = false;
	holds(&cfg, "node: one slot, index not checked");
}

/* As armed, each chain once. */
static void one_slot_once(void **state)
{
	struct scene_config cfg = recycled(exchanged(one_slot_scene));

	cfg.looks = cfg.strict = true;
	cfg.fetch = SNIC_FETCH_EARLY;
	cfg.nr_reqs = 4;
	cfg.req[3] = (struct scene_req){ 3, 0 };
	holds(&cfg, "node: one slot, each chain once");
	if (!nightly())
		return;
	holds_both(&cfg, "node: one slot, each chain once");
	cfg.req[3] = one_slot_scene.req[3];
	cfg.nr_reqs = 5;
	holds_both(&cfg, "node: one slot");
}

/* Each instance's words are renewed, and its page. */
static void alone(void **state)
{
	unsigned int kind;

	for (kind = 0; kind < ODRP_WIRE_NR_CHAINS; kind++) {
		struct scene_config cfg =
			recycled(exchanged(alone_scene(kind)));

		holds_both(&cfg, "node: one chain");
		if (kind != LOAD)
			continue;
		cfg.looks = true;
		holds_both(&cfg, "node: load, as armed");
	}
}

static void second_lap(void **state)
{
	struct scene_config cfg = recycled(exchanged(second_lap_scene));

	if (late && !nightly())
		skip();
	holds_both(&cfg, "node: second lap");
}

/* No gate shuts: what a flushed entry starts fails at the table. */
static void breaks(void **state)
{
	static const enum odrp_wire_chain kind[] = { LOAD, MAPPED, UNMAPPED };
	struct scene_config cfg;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		cfg = recycled(exchanged(one_breaks(kind[i])));
		holds_both(&cfg, "node: breaks, one chain");
	}
	if (!nightly())
		return;
	cfg = recycled(exchanged(breaks_scene));
	holds_both(&cfg, "node: breaks");
}

static void empty(void **state)
{
	struct scene_config cfg = recycled((struct scene_config){
		.exchange = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 0, 2, 2 }, { 0, 3, 3 } },
	});

	if (late && !nightly())
		cfg.nr_reqs = 2;
	holds_both(&cfg, "node: empty ring");
}

static struct scene_config cut_scene(enum odrp_wire_chain kind, uint16_t cut)
{
	struct scene_config cfg = {
		.exchange = true, .may_fail = true,
		.free = { kind == MAPPED ? 2 : 5 }, .log_ring = 3,
		.mapped = { kind == MAPPED ? 4 : 1 },
		.nr_chains = 2, .nr_reqs = 5,
		.chain = { { kind, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 0, 2, 2 }, { 0, 3, 3, .cut = cut },
			 { 0, kind == MAPPED ? 1 : 4, 4 }, { 1, 0 } },
	};

	if (late && !nightly())
		cfg.nr_reqs--;
	return recycled(cfg);
}

/* A request without its end, between others: nothing of it is mapped. */
static void cut(void **state)
{
	static const uint16_t cut[] = { 1, 4, 5, 4100, 2, 3, 4000, 4117 };
	const unsigned int nr = late ? 2 : nightly() ? 8 : 4;
	unsigned int i, kind;

	for (kind = MAPPED; kind <= UNMAPPED; kind++)
		for (i = 0; i < nr; i++) {
			struct scene_config cfg = cut_scene(kind, cut[i]);

			holds_both(&cfg, "node: cut");
		}
}

/* The table address of a lap ago stays, as it was in the first. */
static void address_stays(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int swap = find(&ch->prog, WRC_WQE_MASKED_CS), i;

	for (i = 0; i < SCENE_DEPTH; i++)
		memset((uint8_t *)scene_insn(s, 0, swap, i) +
		       wrc_field_at(WRC_WQE_MASKED_CS, WRC_F_RADDR, 0), 0, 8);
}

/* The entry is posted by the row, not behind it. */
static void posted_by_row(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int row = ch->prog.turns, n = 0, i;

	while (ch->prog.insn[row].sge[n].at.space != WRC_SP_REG)
		n++;
	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_data *data = (void *)
			((uint8_t *)scene_insn(s, 0, row, i) +
			 wrc_field_at(WRC_WQE_READ, WRC_F_LEN, n));

		data->addr = htobe64(ch->bind.arena_iova +
				     ch->geom.client_dbr);
	}
}

static void finds(void **state)
{
	struct scene_config cfg = {
		.exchange = true, .node = true,
		.free = { 2 }, .log_ring = 2, .strict = true,
		.nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	fails(&cfg, "node: plain swap", plain_take,
	      "I1: a page in no place");
	fails(&cfg, "node: not renewed", not_renewed,
	      "I3: a page may be received into that is not the chain's");
	cfg.nr_reqs = 5;
	cfg.free[0] = 2;
	cfg.log_ring = 3;
	cfg.fetch = SNIC_FETCH_EARLY;
	for (unsigned int i = 1; i < 5; i++)
		cfg.req[i] = (struct scene_req){ 0, i % 4, i + 1 };
	cfg.req[4].slot = 0;
	cfg.chain[0].kind = MAPPED;
	cfg.mapped[0] = 4;
	fails(&cfg, "node: posted by the row", posted_by_row,
	      "I3: a page may be received into that is not the chain's");
	cfg = cut_scene(MAPPED, 4);
	cfg.strict = true;
	fails(&cfg, "node: address stays", address_stays,
	      "I3: a page was mapped that did not come whole");
}

/* ---- what orders ------------------------------------------------------------------ */

#define MAX_ORDERS 5

/* What each leads to, when it is taken out. */
static void without_each(enum odrp_wire_chain kind,
			 const char *const why[MAX_ORDERS])
{
	struct scene_config cfg = recycled(exchanged(alone_scene(kind)));
	const uint8_t before = cfg.mapped[0];
	unsigned int nr, i;

	cfg.looks = cfg.strict = true;
	nr = nr_orders(&cfg);
	for (i = 0; i < MAX_ORDERS && why[i]; i++) {
		taken_out = i;
		/* It finds a page there, and has to see that at once. */
		cfg.may_fail = kind == UNMAPPED && !i;
		cfg.mapped[0] = cfg.may_fail ? 1 : before;
		fails(&cfg, "node: taken out", take_out, why[i]);
	}
	assert_int_equal(nr, i);
}

#define FAILED	"I6: a chain failed"
#define GONE	"I1: a page in no place"
#define UNTAKEN	"a request was not taken"
#define OTHER	"I5: a load brought something else"
#define FOREIGN	"I3: a page may be received into that is not the chain's"

/* With fences the WAIT for the rows is there still, and is the last one. */
static void each_counts(void **state)
{
	static const char *const why[ODRP_WIRE_NR_CHAINS][MAX_ORDERS] = {
		[LOAD] = { OTHER, UNTAKEN },
		[MAPPED] = { FAILED, FOREIGN },
		[UNMAPPED] = { GONE, FAILED, FAILED, FAILED, FOREIGN },
		[FREE] = { GONE, FAILED, FAILED, FAILED, UNTAKEN },
	};
	unsigned int kind;

	for (kind = 0; kind < ODRP_WIRE_NR_CHAINS; kind++)
		without_each(kind, why[kind]);
}

static int land_late(void **state)
{
	late = true;
	return 0;
}

static int with_fences(void **state)
{
	fence = true;
	return land_late(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slot),
		cmocka_unit_test(second_lap),
		cmocka_unit_test(breaks),
		cmocka_unit_test(empty),
		cmocka_unit_test(cut),
		cmocka_unit_test(finds),
	};

	const struct CMUnitTest landing[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(one_slot_once),
		cmocka_unit_test(second_lap),
		cmocka_unit_test(breaks),
		cmocka_unit_test(empty),
		cmocka_unit_test(cut),
		cmocka_unit_test(each_counts),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += cmocka_run_group_tests(landing, land_late, NULL);
	return failed + cmocka_run_group_tests(landing, with_fences, NULL);
}
