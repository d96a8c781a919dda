// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The real images on the real engine, in every order of their WQEs: what
 * docs/model.md says of the programs is searched here for the bytes that are
 * armed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "search.h"

/* ---- head and tail ------------------------------------------------------------- */

static void store_against_store(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 4, .log_ring = 2, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0, 2 }, { 0, 1, 3 }, { 1, 1, 4 } },
	};

	holds_both(&cfg, "store/store");
}

static void free_against_free(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 4, .log_ring = 3, .mapped = { 2, 2 },
		.nr_chains = 2, .nr_reqs = 4,
		.chain = { { FREE, 0 }, { FREE, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 } },
	};

	holds_both(&cfg, "free/free");
}

static void store_against_free(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 3, .log_ring = 2, .mapped = { 0, 2 },
		.nr_chains = 2, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0 }, { 1, 1 } },
	};

	holds_both(&cfg, "store/free");
}

/* The ring is empty for a while: a store may fail, a page may not be lost. */
static void empty_ring(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 1, .log_ring = 2, .mapped = { 0, 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0 } },
	};

	holds_both(&cfg, "empty ring");
}

/* ---- one slot, chain after chain -------------------------------------------------- */

static void one_slot(void **state)
{
	struct scene_config cfg = one_slot_scene;

	holds_both(&cfg, "one slot");
	cfg.strict = false;
	holds(&cfg, "one slot, index not checked");
}

static void second_lap(void **state)
{
	struct scene_config cfg = second_lap_scene;

	holds_both(&cfg, "second lap");
}

/* ---- connections that break --------------------------------------------------------- */

static void breaks(void **state)
{
	struct scene_config cfg = breaks_scene;

	holds_both(&cfg, "breaks");
}

/* Flushed receives open every head and must run nothing. */
static void breaks_idle(void **state)
{
	static const enum odrp_wire_chain kind[] = {
		LOAD, MAPPED, UNMAPPED, FREE,
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct scene_config cfg = one_breaks(kind[i]);

		holds_both(&cfg, "breaks, one chain");
	}
}

/* ---- the agent takes back what they leave ---------------------------------------- */

static void reclaimed(void **state)
{
	struct scene_config cfg = breaks_scene;

	cfg.log_ring = 3;
	cfg.agent = true;
	holds_both(&cfg, "reclaimed");
}

/* The store fails on an empty slot, which the invalidate fills later. */
static void hole(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 1, .log_ring = 3, .mapped = { 0, 1 },
		.may_fail = true, .agent = true, .nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 1 }, { UNMAPPED, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0 }, { 2, 1, 2 } },
	};

	holds_both(&cfg, "hole");
}

static void given_up(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 3, .log_ring = 3, .mapped = { 1, 0 },
		.agent = true, .kill = true, .nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 2, 0, 2 } },
	};

	cfg.strict = true;
	cfg.fetch = SNIC_FETCH_EARLY;
	holds(&cfg, "given up");
	if (nightly())
		holds_both(&cfg, "given up");
}

/* ---- more at once ---------------------------------------------------------------------- */

static void three_queues(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 4, .log_ring = 3, .mapped = { 1, 1 },
		.nr_chains = 3, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { FREE, 1 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 2, 0 }, { 1, 1 } },
	};

	holds_both(&cfg, "three queues");
}

static void four_queues(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 5, .log_ring = 3, .mapped = { 1, 1 },
		.nr_chains = 4, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { UNMAPPED, 1 },
			   { FREE, 1 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 2, 1, 2 }, { 3, 0 } },
	};

	if (!nightly())
		skip();
	holds_both(&cfg, "four queues");
	cfg.nr_chains = cfg.nr_reqs = 3;
	cfg.breaks = 1;
	cfg.agent = true;
	holds_both(&cfg, "three queues, reclaimed");
}

/* ---- a CNode that keeps no rules ------------------------------------------------------ */

/* Two queues free the same slot. */
static void freed_twice(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 3, .log_ring = 2, .mapped = { 1, 1 }, .rude = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { FREE, 0 }, { FREE, 0 }, { FREE, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0 } },
	};

	holds_both(&cfg, "freed twice");
}

/* ---- it finds what is broken --------------------------------------------------------- */

/* The head enables what only the gate may. */
static void no_gate(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int go = ch->prog.nr_head - 1;
	struct wrc_wqe_wait_en *en = (void *)
		((uint8_t *)scene_insn(s, 0, go, 0) +
		 sizeof(struct wrc_wqe_ctrl));

	en->index = htobe32(be32toh(en->index) + 2);
}

static void no_held(struct scene *s)
{
	s->sloppy = SCENE_NO_HELD;
}

static void no_holes(struct scene *s)
{
	s->sloppy = SCENE_NO_HOLES;
}

/* The gate's count, which the request brings, goes to the instance's end. */
static void wide_gate(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int i;

	for (i = 0; i < ch->prog.nr_words; i++) {
		const struct wrc_word *w = &ch->prog.word[i];

		if (w->kind == ODRP_WIRE_WORD_ENABLE && !w->delta &&
		    wrc_is_gate(&ch->prog, w->insn))
			ch->words[i].base = htobe16(ch->geom.loop_bb);
	}
}

static void finds(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 3, .log_ring = 2, .mapped = { 1, 1 }, .strict = true,
		.nr_chains = 2, .nr_reqs = 2,
		.chain = { { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 1, 1 } },
	};
	struct scene_config lone = {
		.nr_pages = 3, .log_ring = 2, .breaks = 1,
		.nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	struct scene_config empty = {
		.nr_pages = 1, .log_ring = 3, .mapped = { 0, 1 },
		.may_fail = true, .agent = true, .strict = true,
		.nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0 } },
	};

	fails(&cfg, "plain take", plain_take, "I1: a page in two places");
	fails(&lone, "no gate", no_gate, "I6: an instance ran without its request");
	lone.agent = true;
	fails(&lone, "no held", no_held, "I1: a page in no place");
	fails(&empty, "no holes", no_holes,
	      "the ring: head and tail are not as far as its pages");
}

/*
 * A gate that enables what is still to be patched: a WQE that is fetched when
 * it is enabled is stale.  One that is fetched when it runs is not.
 */
static void enabled_too_early(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 2, .log_ring = 2, .strict = true,
		.fetch = SNIC_FETCH_EARLY, .nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	fails(&cfg, "enabled too early", wide_gate, "I6: a chain failed");
}

/*
 * The programs as they are do not keep a hostile CNode from others' pages: it
 * loads, or stores to, a slot that it frees at the same time.
 */
static void open_load(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 1, .log_ring = 2, .mapped = { 1, 0 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0, 7 } },
	};

	fails(&cfg, "open: load", NULL, "I3: a load brought another's page");
	cfg.chain[0].kind = MAPPED;
	cfg.req[0].tag = 9;
	fails(&cfg, "open: mapped store", NULL,
	      "I3: a page does not contain what its CNode stored");
}

/* It loads what it has just mapped, before its own store has filled the page. */
static void open_stale(void **state)
{
	struct scene_config cfg = {
		.nr_pages = 1, .log_ring = 2, .mapped = { 0, 1 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 1 } },
		.req = { { 2, 0 }, { 0, 0, 7 }, { 1, 0 } },
	};

	fails(&cfg, "open: stale page", NULL,
	      "I3: a load brought another's page");
}

/* ---- page exchange ------------------------------------------------------------------- */

static void exchange_one_slot(void **state)
{
	struct scene_config cfg = exchanged(one_slot_scene, 10);

	holds_both(&cfg, "exchange: one slot");
	cfg.strict = false;
	holds(&cfg, "exchange: one slot, index not checked");
}

/* What a CNode could do with the programs above: open_load(). */
static void exchange_closed(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.nr_pages = 6, .log_ring = 2, .mapped = { 1, 0 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0, 7 } },
	};

	holds_both(&cfg, "exchange: load, freed");
	cfg.nr_pages = 10;
	cfg.chain[0].kind = MAPPED;
	cfg.req[0].tag = 9;
	holds_both(&cfg, "exchange: mapped store, freed");
	cfg.chain[0].kind = UNMAPPED;
	holds_both(&cfg, "exchange: unmapped store, freed");
}

/* open_stale(); and two that touch one slot at the same time. */
static void exchange_rude(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.nr_pages = 6, .log_ring = 2, .mapped = { 0, 1 }, .rude = true,
		.may_fail = true, .strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 1 } },
		.req = { { 2, 0 }, { 0, 0, 7 }, { 1, 0 } },
	};

	holds(&cfg, "exchange: stale page");
	cfg = (struct scene_config){
		.exchange = true,
		.nr_pages = 8, .log_ring = 2, .mapped = { 1, 0 }, .rude = true,
		.may_fail = true, .strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { LOAD, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0, 7 } },
	};
	holds(&cfg, "exchange: load against load");
	cfg.nr_pages = 10;
	cfg.chain[1].kind = MAPPED;
	cfg.req[1].tag = 8;
	holds(&cfg, "exchange: load against store");
	cfg.nr_pages = 14;
	cfg.chain[0].kind = UNMAPPED;
	cfg.req[0].tag = 9;
	holds(&cfg, "exchange: store against store");
}

/* Each instance's page is renewed, and used again a lap later. */
static void exchange_second_lap(void **state)
{
	struct scene_config cfg = exchanged(second_lap_scene, 6);

	holds_both(&cfg, "exchange: second lap");
}

/* At any WQE each page is in one place, and nothing is in none. */
static void exchange_breaks(void **state)
{
	static const enum odrp_wire_chain kind[] = { LOAD, MAPPED, UNMAPPED };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct scene_config cfg =
			exchanged(one_breaks(kind[i]), kind[i] == LOAD ? 4 : 8);

		holds_both(&cfg, "exchange: breaks, one chain");
	}
}

/* The ring runs empty: the store is done, and its chain fails behind it. */
static void exchange_empty(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.nr_pages = 6, .log_ring = 2, .mapped = { 0, 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0 }, { 0, 1, 2 }, { 0, 2, 3 } },
	};

	holds_both(&cfg, "exchange: empty ring");
}

/* Two CNodes that keep the rules, on one ring, and a connection that breaks. */
static void exchange_more(void **state)
{
	struct scene_config cfg = exchanged(breaks_scene, 8);

	holds_both(&cfg, "exchange: breaks");
	cfg = (struct scene_config){
		.exchange = true,
		.nr_pages = 12, .log_ring = 2, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0, 1 }, { 1, 0, 2 }, { 0, 1, 3 }, { 1, 1, 4 } },
	};
	holds_both(&cfg, "exchange: store/store");
	if (!nightly())
		return;
	cfg = (struct scene_config){
		.exchange = true,
		.nr_pages = 12, .log_ring = 3, .mapped = { 1, 1 },
		.strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 1 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 2, 0 }, { 1, 1 } },
	};
	holds(&cfg, "exchange: three queues");
}

/* The load puts the page back when its message has been let go, not seen. */
static void unseen(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int seen = 0, i;

	while (ch->prog.insn[seen].op != WRC_WQE_WAIT ||
	       ch->prog.insn[seen].target != ch->prog.nr_insn - 2)
		seen++;
	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_wait_en *wait = (void *)
			((uint8_t *)scene_insn(s, 0, seen, i) +
			 sizeof(struct wrc_wqe_ctrl));

		wait->obj = htobe32(ch->bind.client_rcqn);
	}
}

/* The request's word goes to the record, not to where the chain takes it. */
static void posted_early(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int n = 0, i;

	while (ch->prog.scatter[n].to.space != WRC_SP_REG)
		n++;
	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_data *data = (void *)
			(ch->arena + ch->geom.client_rq +
			 (i << ch->geom.log_rq_stride));

		data[n].addr = htobe64(ch->bind.arena_iova +
				       ch->geom.client_dbr);
	}
}

static void exchange_finds(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.nr_pages = 6, .log_ring = 2, .mapped = { 1, 0 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0, 7 } },
	};
	struct scene_config lone = {
		.exchange = true,
		.nr_pages = 6, .log_ring = 2, .strict = true,
		.nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	fails(&cfg, "exchange: put back unseen", unseen,
	      "I3: a page may be sent that is not the chain's");
	fails(&lone, "exchange: plain swap", plain_take,
	      "I1: a page in no place");
	fails(&lone, "exchange: not renewed", not_renewed,
	      "I3: a page may be received into that is not the chain's");
	fails(&lone, "exchange: posted by the request", posted_early,
	      "I3: a page may be received into that is not the chain's");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_against_store),
		cmocka_unit_test(free_against_free),
		cmocka_unit_test(store_against_free),
		cmocka_unit_test(empty_ring),
		cmocka_unit_test(one_slot),
		cmocka_unit_test(second_lap),
		cmocka_unit_test(breaks),
		cmocka_unit_test(breaks_idle),
		cmocka_unit_test(reclaimed),
		cmocka_unit_test(hole),
		cmocka_unit_test(given_up),
		cmocka_unit_test(freed_twice),
		cmocka_unit_test(three_queues),
		cmocka_unit_test(four_queues),
		cmocka_unit_test(finds),
		cmocka_unit_test(enabled_too_early),
		cmocka_unit_test(open_load),
		cmocka_unit_test(open_stale),
		cmocka_unit_test(exchange_one_slot),
		cmocka_unit_test(exchange_closed),
		cmocka_unit_test(exchange_rude),
		cmocka_unit_test(exchange_second_lap),
		cmocka_unit_test(exchange_breaks),
		cmocka_unit_test(exchange_empty),
		cmocka_unit_test(exchange_more),
		cmocka_unit_test(exchange_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
