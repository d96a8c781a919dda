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

/* ---- head and tail: two queues of one CNode --------------------------------------- */

static void store_against_store(void **state)
{
	struct scene_config cfg = {
		.free = { 4 }, .log_ring = 2, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0, 1 }, { 1, 2, 2 }, { 0, 1, 3 }, { 1, 3, 4 } },
	};

	holds_both(&cfg, "store/store");
}

static void free_against_free(void **state)
{
	struct scene_config cfg = {
		.log_ring = 3, .mapped = { 4 },
		.nr_chains = 2, .nr_reqs = 4,
		.chain = { { FREE, 0 }, { FREE, 0 } },
		.req = { { 0, 0 }, { 1, 2 }, { 0, 1 }, { 1, 3 } },
	};

	holds_both(&cfg, "free/free");
}

static void store_against_free(void **state)
{
	struct scene_config cfg = {
		.free = { 1 }, .log_ring = 2, .mapped = { 2 },
		.nr_chains = 2, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 2, 1 }, { 1, 0 }, { 1, 1 } },
	};

	holds_both(&cfg, "store/free");
}

/* The ring is empty for a while: a store may fail, a page may not be lost. */
static void empty_ring(void **state)
{
	struct scene_config cfg = {
		.log_ring = 2, .mapped = { 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 } },
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

/* What READs and atomics bring is on its way for as long as it can be. */
static void landing_late(void **state)
{
	unsigned int i;

	for (i = 0; i < 2 * ODRP_WIRE_NR_CHAINS; i++) {
		struct scene_config cfg = alone_scene(i / 2);

		cfg.exchange = i & 1;
		cfg.late = true;
		holds_both(&cfg, "landing late, one chain");
	}
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

/*
 * The store fails on an empty slot, which the invalidate fills later.  With its
 * next connection the CNode has a ring in order.
 */
static void overtaken(void **state)
{
	struct scene_config cfg = {
		.log_ring = 3, .mapped = { 1 },
		.may_fail = true, .agent = true, .hangup = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 2, 2, 2 } },
	};

	holds_both(&cfg, "overtaken");
}

static void hung_up(void **state)
{
	struct scene_config cfg = breaks_scene;

	cfg.log_ring = 3;
	cfg.agent = cfg.hangup = true;
	holds_both(&cfg, "hung up");
	if (!nightly())
		return;
	cfg = exchanged(cfg);
	holds_both(&cfg, "exchange: hung up");
}

static void given_up(void **state)
{
	struct scene_config cfg = {
		.free = { 1, 1 }, .log_ring = 3, .mapped = { 1 },
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

/* ---- pages that become another CNode's -------------------------------------------- */

/* CNode 0 frees what it is to give, and CNode 1 uses it. */
static struct scene_config shrink_scene(void)
{
	struct scene_config cfg = {
		.free = { 1 }, .log_ring = 3, .mapped = { 1 },
		.agent = true, .strict = true, .fetch = SNIC_FETCH_EARLY,
		.shrink = 1, .nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 0, 7, .later = true } },
	};

	return cfg;
}

static void lent_on(void **state)
{
	struct scene_config cfg = shrink_scene();

	holds(&cfg, "lent on");
	cfg.chain[0].kind = UNMAPPED;
	cfg.req[0] = (struct scene_req){ 0, 1, 3 };
	holds(&cfg, "lent on, store");
}

/* It is told of a larger lease when the pages are in its ring again. */
static void lent_back(void **state)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 3, .agent = true,
		.shrink = 1, .regrow = true, .nr_chains = 1, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 } },
		.req = { { 0, 0, 1 }, { 0, 1, 2, .later = true } },
	};

	holds_both(&cfg, "lent back");
}

/* ---- more at once ---------------------------------------------------------------------- */

static void three_queues(void **state)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 3, .mapped = { 2 },
		.nr_chains = 3, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { FREE, 0 } },
		.req = { { 0, 2, 1 }, { 1, 0 }, { 2, 1 }, { 1, 2 } },
	};

	holds_both(&cfg, "three queues");
}

static void four_queues(void **state)
{
	struct scene_config cfg = {
		.free = { 3 }, .log_ring = 3, .mapped = { 2 },
		.nr_chains = 4, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { UNMAPPED, 0 },
			   { FREE, 0 } },
		.req = { { 0, 2, 1 }, { 1, 0 }, { 2, 3, 2 }, { 3, 1 } },
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
		.free = { 1 }, .log_ring = 2, .mapped = { 2 }, .rude = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { FREE, 0 }, { FREE, 0 }, { FREE, 0 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 1 } },
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
	scene_agent_be(s, SCENE_NO_HELD);
}

static void no_grace(struct scene *s)
{
	scene_agent_be(s, SCENE_NO_GRACE);
}

static void received_only(struct scene *s)
{
	scene_agent_be(s, SCENE_RECEIVED_ONLY);
}

static void loop_only(struct scene *s)
{
	scene_agent_be(s, SCENE_LOOP_ONLY);
}

static void plain_gather(struct scene *s)
{
	scene_agent_be(s, SCENE_PLAIN_GATHER);
}

/* The gate's count, which the request brings, goes to the instance's end. */
static void wide_gate(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int i;

	for (i = 0; i < ch->prog.nr_words; i++) {
		const struct wrc_word *w = &ch->prog.word[i];

		if (w->kind == WRC_WORD_ENABLE && !w->delta &&
		    wrc_is_gate(&ch->prog, w->insn))
			ch->words[i].base = htobe16(ch->geom.loop_bb);
	}
}

static void finds(void **state)
{
	struct scene_config cfg = {
		.free = { 1 }, .log_ring = 2, .mapped = { 2 }, .strict = true,
		.nr_chains = 2, .nr_reqs = 2,
		.chain = { { FREE, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0 }, { 1, 2, 1 } },
	};
	struct scene_config lone = {
		.free = { 3 }, .log_ring = 2, .breaks = 1,
		.nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	fails(&cfg, "plain take", plain_take, "I1: a page in two places");
	fails(&lone, "no gate", no_gate, "I6: an instance ran without its request");
	lone.agent = true;
	fails(&lone, "no held", no_held, "I1: a page in no place");
}

/*
 * A gate that enables what is still to be patched: a WQE that is fetched when
 * it is enabled is stale.  One that is fetched when it runs is not.
 */
static void enabled_too_early(void **state)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 2, .strict = true,
		.fetch = SNIC_FETCH_EARLY, .nr_chains = 1, .nr_reqs = 1,
		.chain = { { UNMAPPED, 0 } }, .req = { { 0, 0, 1 } },
	};

	fails(&cfg, "enabled too early", wide_gate, "I6: a chain failed");
}

/* ---- a hostile CNode, whose pages become another's ---------------------------------- */

/*
 * It loads, or stores to, a slot that it frees at the same time, while the agent
 * takes what is in its ring: the grace period keeps it from what is another's.
 */
static struct scene_config hostile_scene(enum odrp_wire_chain kind)
{
	struct scene_config cfg = shrink_scene();

	cfg.free[0] = 0;
	cfg.rude = cfg.may_fail = true;
	cfg.chain[0].kind = kind;
	cfg.req[0].tag = kind == LOAD ? 0 : 9;
	return cfg;
}

static void closed_load(void **state)
{
	struct scene_config cfg = hostile_scene(LOAD);

	holds_both(&cfg, "hostile: load");
	cfg = hostile_scene(MAPPED);
	holds_both(&cfg, "hostile: mapped store");
	cfg = hostile_scene(UNMAPPED);
	holds_both(&cfg, "hostile: unmapped store");
	if (!nightly())
		return;
	cfg.regrow = true;
	holds_both(&cfg, "hostile: unmapped store, lease larger again");
}

/* What the system arms: stores that exchange, a load that looks. */
static void closed_armed(void **state)
{
	struct scene_config cfg = exchanged(hostile_scene(LOAD));

	cfg.looks = true;
	holds(&cfg, "hostile: load, as armed");
	cfg.regrow = true;
	holds(&cfg, "hostile: load, as armed, lease larger again");
	cfg.regrow = false;
	cfg.node = true;
	holds(&cfg, "hostile: load, as armed, recycle=node");
	if (!nightly())
		return;
	cfg.fence = cfg.late = true;
	holds(&cfg, "hostile: load, as armed, order=fence, landing late");
}

/*
 * CNode 0 loads what it has just mapped, before its own store has filled the
 * page, which was CNode 1's until then.
 */
static struct scene_config stale_scene(void)
{
	struct scene_config cfg = {
		.log_ring = 2, .mapped = { 0, 1 }, .agent = true,
		.shrink = 1, .gives = 1, .rude = true, .may_fail = true,
		.strict = true, .nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 1 } },
		.req = { { 2, 0 }, { 0, 0, 7, .later = true },
			 { 1, 0, .later = true } },
	};

	return cfg;
}

static void closed_stale(void **state)
{
	struct scene_config cfg = stale_scene();

	fails(&cfg, "stale page, stores that copy", NULL,
	      "I3: a load brought another's page");
	cfg = exchanged(stale_scene());
	cfg.looks = true;
	holds(&cfg, "hostile: stale page, as armed");
}

/* Its connection breaks when a grace period runs, or it is given up. */
static void closed_breaks(void **state)
{
	static const enum odrp_wire_chain kind[] = { LOAD, MAPPED, UNMAPPED };
	struct scene_config cfg = hostile_scene(LOAD);
	unsigned int i;

	cfg.kill = true;
	holds(&cfg, "hostile: given up");
	if (!nightly())
		return;
	for (i = 0; i < 3; i++) {
		cfg = hostile_scene(kind[i]);
		cfg.kill = true;
		holds(&cfg, "hostile: given up");
		cfg.kill = false;
		cfg.breaks = 1;
		holds(&cfg, "hostile: breaks");
		cfg.hangup = true;
		holds(&cfg, "hostile: hung up");
	}
	cfg = exchanged(hostile_scene(LOAD));
	cfg.looks = cfg.hangup = true;
	cfg.breaks = 1;
	holds_both(&cfg, "hostile: hung up, as armed");
}

/* Stores, too: pages come out of its ring and go back meanwhile. */
static void closed_more(void **state)
{
	struct scene_config cfg = hostile_scene(LOAD);

	if (!nightly())
		skip();
	cfg.free[0] = 1;
	cfg.nr_chains = 4;
	cfg.nr_reqs = 5;
	cfg.chain[3] = (struct scene_chain_cfg){ UNMAPPED, 0 };
	cfg.req[3] = (struct scene_req){ 3, 0, 5 };
	cfg.req[4] = (struct scene_req){ 0, 0 };
	holds(&cfg, "hostile: load and store");
	cfg.shrink = 2;
	holds(&cfg, "hostile: load and store, all taken");
	cfg = exchanged(cfg);
	cfg.looks = true;
	holds(&cfg, "hostile: load and store, as armed");
}

static void grace_finds(void **state)
{
	struct scene_config cfg = hostile_scene(LOAD);

	fails(&cfg, "no grace", no_grace,
	      "I3: a page was touched that is not its CNode's");
	fails(&cfg, "received only", received_only,
	      "I3: a page was touched that is not its CNode's");
	fails(&cfg, "loop only", loop_only,
	      "I3: a page was touched that is not its CNode's");
	cfg = hostile_scene(MAPPED);
	fails(&cfg, "no grace, store", no_grace,
	      "I3: a page was touched that is not its CNode's");
	cfg = hostile_scene(UNMAPPED);
	cfg.log_ring = 1;
	cfg.free[0] = cfg.mapped[0] = 1;
	cfg.nr_chains = 2;
	cfg.req[0] = (struct scene_req){ 0, 1, 9 };
	cfg.req[2] = (struct scene_req){ 0, 2, 8 };
	fails(&cfg, "plain gather", plain_gather, "I1: a page in two places");
}

/* ---- page exchange ------------------------------------------------------------------- */

static void exchange_one_slot(void **state)
{
	struct scene_config cfg = exchanged(one_slot_scene);

	holds_both(&cfg, "exchange: one slot");
	cfg.strict = false;
	holds(&cfg, "exchange: one slot, index not checked");
}

/* A page that it has freed is not even its own any more: I3 of page exchange. */
static void exchange_closed(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 1, 7 } },
	};

	holds_both(&cfg, "exchange: load, freed");
	cfg.chain[0].kind = MAPPED;
	cfg.req[0].tag = 9;
	holds_both(&cfg, "exchange: mapped store, freed");
	cfg.chain[0].kind = UNMAPPED;
	holds_both(&cfg, "exchange: unmapped store, freed");
}

/* A page that comes back; and two that touch one slot at the same time. */
static void exchange_rude(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 }, .rude = true,
		.may_fail = true, .strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 0 } },
		.req = { { 2, 0 }, { 0, 1, 7 }, { 1, 1 } },
	};

	holds(&cfg, "exchange: stale page");
	cfg = (struct scene_config){
		.exchange = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 }, .rude = true,
		.may_fail = true, .strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { LOAD, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 1, 7 } },
	};
	holds(&cfg, "exchange: load against load");
	cfg.chain[1].kind = MAPPED;
	cfg.req[1].tag = 8;
	holds(&cfg, "exchange: load against store");
	cfg.chain[0].kind = UNMAPPED;
	cfg.req[0].tag = 9;
	holds(&cfg, "exchange: store against store");
}

/* Each instance's page is renewed, and used again a lap later. */
static void exchange_second_lap(void **state)
{
	struct scene_config cfg = exchanged(second_lap_scene);

	holds_both(&cfg, "exchange: second lap");
}

/* At any WQE each page is in one place, and nothing is in none. */
static void exchange_breaks(void **state)
{
	static const enum odrp_wire_chain kind[] = { LOAD, MAPPED, UNMAPPED };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct scene_config cfg = exchanged(one_breaks(kind[i]));

		holds_both(&cfg, "exchange: breaks, one chain");
	}
}

/* The ring runs empty: the store is done, and its chain fails behind it. */
static void exchange_empty(void **state)
{
	struct scene_config cfg = {
		.exchange = true,
		.free = { 1 }, .log_ring = 2, .mapped = { 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 0, 2, 2 }, { 0, 3, 3 } },
	};

	holds_both(&cfg, "exchange: empty ring");
}

/* Two queues that keep the rules, on one ring, and a connection that breaks. */
static void exchange_more(void **state)
{
	struct scene_config cfg = exchanged(breaks_scene);

	holds_both(&cfg, "exchange: breaks");
	cfg = (struct scene_config){
		.exchange = true,
		.free = { 4 }, .log_ring = 2, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0, 1 }, { 1, 2, 2 }, { 0, 1, 3 }, { 1, 3, 4 } },
	};
	holds_both(&cfg, "exchange: store/store");
	if (!nightly())
		return;
	cfg = (struct scene_config){
		.exchange = true,
		.free = { 6 }, .log_ring = 3, .mapped = { 2 },
		.strict = true, .fetch = SNIC_FETCH_EARLY,
		.nr_chains = 3, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { LOAD, 0 }, { FREE, 0 } },
		.req = { { 0, 2, 1 }, { 1, 0 }, { 2, 1 }, { 1, 2 } },
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
		.free = { 1 }, .log_ring = 2, .mapped = { 1 }, .rude = true,
		.may_fail = true, .strict = true,
		.nr_chains = 3, .nr_reqs = 3,
		.chain = { { LOAD, 0 }, { FREE, 0 }, { UNMAPPED, 0 } },
		.req = { { 0, 0 }, { 1, 0 }, { 2, 1, 7 } },
	};
	struct scene_config lone = {
		.exchange = true,
		.free = { 2 }, .log_ring = 2, .strict = true,
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
		cmocka_unit_test(landing_late),
		cmocka_unit_test(breaks),
		cmocka_unit_test(breaks_idle),
		cmocka_unit_test(reclaimed),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(hung_up),
		cmocka_unit_test(given_up),
		cmocka_unit_test(lent_on),
		cmocka_unit_test(lent_back),
		cmocka_unit_test(freed_twice),
		cmocka_unit_test(three_queues),
		cmocka_unit_test(four_queues),
		cmocka_unit_test(finds),
		cmocka_unit_test(enabled_too_early),
		cmocka_unit_test(closed_load),
		cmocka_unit_test(closed_armed),
		cmocka_unit_test(closed_stale),
		cmocka_unit_test(closed_breaks),
		cmocka_unit_test(closed_more),
		cmocka_unit_test(grace_finds),
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
