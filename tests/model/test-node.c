// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a memory node arms that recycles, and the load of page exchange: the same
 * searches as in test-chains.c, of images without a gate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "search.h"

static struct scene_config recycled(struct scene_config cfg)
{
	cfg.node = true;
	return cfg;
}

static void one_slot(void **state)
{
	struct scene_config cfg = recycled(exchanged(one_slot_scene));

	holds_both(&cfg, "node: one slot");
	cfg.strict = false;
	holds(&cfg, "node: one slot, index not checked");
}

/* Each instance's words are renewed, and its page. */
static void second_lap(void **state)
{
	struct scene_config cfg = recycled(exchanged(second_lap_scene));

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
	struct scene_config cfg = {
		.exchange = true, .node = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 0, 2, 2 }, { 0, 3, 3 } },
	};

	holds_both(&cfg, "node: empty ring");
}

static struct scene_config cut_scene(enum odrp_wire_chain kind, uint16_t cut)
{
	struct scene_config cfg = {
		.exchange = true, .node = true, .may_fail = true,
		.free = { kind == MAPPED ? 2 : 5 }, .log_ring = 3,
		.mapped = { kind == MAPPED ? 4 : 1 },
		.nr_chains = 2, .nr_reqs = 5,
		.chain = { { kind, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 0, 2, 2 }, { 0, 3, 3, .cut = cut },
			 { 0, kind == MAPPED ? 1 : 4, 4 }, { 1, 0 } },
	};

	return cfg;
}

/* A request without its end, between others: nothing of it is mapped. */
static void cut(void **state)
{
	static const uint16_t cut[] = { 1, 4, 5, 4100, 2, 3, 4000, 4117 };
	const unsigned int nr = nightly() ? 8 : 4;
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

	return cmocka_run_group_tests(tests, NULL, NULL);
}
