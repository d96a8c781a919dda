// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Translation in the NIC: the bytes of the stores and invalidates that change
 * keys, searched as in test-node.c; at once, landing late, and so with
 * order=fence.  A CNode that keeps no rule has a store and an invalidate, or two
 * stores, of one slot run beside each other, and what it freed comes to another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "search.h"

/* main() has the tests with each. */
static bool late, fence;

static struct scene_config keyed(struct scene_config cfg)
{
	cfg.exchange = cfg.node = cfg.keyed = cfg.strict = true;
	cfg.fetch = SNIC_FETCH_EARLY;
	cfg.late = late;
	cfg.fence = fence;
	return cfg;
}

/* By night also where WQEs are read late. */
static void searched(struct scene_config cfg, const char *name)
{
	cfg = keyed(cfg);
	if (nightly())
		holds_both(&cfg, name);
	else
		holds(&cfg, name);
}

/* ---- a CNode that keeps the rules ------------------------------------------------ */

static void alone(void **state)
{
	searched(alone_scene(UNMAPPED), "keyed: store");
	searched(alone_scene(FREE), "keyed: invalidate");
}

static void one_slot(void **state)
{
	searched((struct scene_config){
		.free = { 2 }, .log_ring = 2, .nr_chains = 2, .nr_reqs = 4,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 0, 1 }, { 1, 0 }, { 1, 0 }, { 0, 0, 3 } },
	}, "keyed: one slot");
}

static void breaks(void **state)
{
	searched(one_breaks(UNMAPPED), "keyed: store, breaks");
	searched(one_breaks(FREE), "keyed: invalidate, breaks");
}

static void empty(void **state)
{
	struct scene_config cfg = {
		.free = { 1 }, .log_ring = 2, .mapped = { 1 },
		.may_fail = true, .nr_chains = 2, .nr_reqs = 3,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 1, 1 }, { 1, 0 }, { 0, 2, 2 } },
	};

	if (late && !nightly()) {
		cfg.free[0] = 0;
		cfg.nr_reqs = 2;
	}
	searched(cfg, "keyed: empty ring");
}

/* The last lacks its end: what is there of it is of a lap ago. */
static struct scene_config cut_scene(uint16_t cut)
{
	struct scene_config cfg = alone_scene(UNMAPPED);

	cfg.may_fail = true;
	cfg.req[SCENE_DEPTH].cut = cut;
	return cfg;
}

static void cut(void **state)
{
	static const uint16_t cut[] = { 1, 4, 5, 4100, 2, 3, 4000, 4117 };
	const unsigned int nr = late ? 2 : nightly() ? 8 : 4;
	unsigned int i;

	for (i = 0; i < nr; i++)
		searched(cut_scene(cut[i]), "keyed: cut");
}

/* ---- one that keeps none --------------------------------------------------------- */

/* A store and an invalidate of one slot. */
static struct scene_config race_scene(uint8_t mapped)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 2, .mapped = { mapped },
		.rude = true, .may_fail = true, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 0, 1 }, { 1, 0 } },
	};

	return cfg;
}

static void race(void **state)
{
	searched(race_scene(0), "keyed: store against invalidate");
	searched(race_scene(1), "keyed: store against invalidate, mapped");
}

static void two_stores(void **state)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 2,
		.rude = true, .may_fail = true, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 0, 1 }, { 1, 0, 2 }, { 2, 0 } },
	};

	searched(cfg, "keyed: store against store");
	if (!nightly() || late)
		return;
	cfg = keyed(cfg);
	cfg.nr_chains = cfg.nr_reqs = 3;
	holds(&cfg, "keyed: stores against invalidate");
	cfg.chain[1].kind = FREE;
	cfg.req[1].tag = 0;
	holds(&cfg, "keyed: store against invalidates");
}

/* What it frees is another's by and by; by night to the last, in its table. */
static void comes_round(void **state)
{
	struct scene_config cfg = {
		.log_ring = 3, .mapped = { 1 },
		.agent = true, .rude = true, .may_fail = true,
		.shrink = 1, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 }, { UNMAPPED, 1 } },
		.req = { { 0, 0, 9 }, { 1, 0 }, { 2, 0, 7, .later = true } },
	};

	if (late && !nightly())
		skip();
	searched(cfg, "keyed: to another CNode");
	if (!nightly() || late)
		return;
	cfg = keyed(cfg);
	cfg.nr_chains = cfg.nr_reqs = 3;
	holds(&cfg, "keyed: to another CNode, which uses it");
}

/* A chain fails, or its connection breaks, and what it held goes to the ring. */
static void reclaimed(void **state)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 3, .agent = true,
		.rude = true, .may_fail = true, .nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 0, 1 }, { 1, 0, 2 }, { 2, 0 } },
	};

	if (late && !nightly())
		skip();
	searched(cfg, "keyed: reclaimed, two stores");
	if (nightly() && !late) {
		struct scene_config more = keyed(cfg);

		more.nr_chains = more.nr_reqs = 3;
		holds(&more, "keyed: reclaimed, two stores and an invalidate");
	}
	cfg.breaks = 1;
	cfg.chain[1].kind = FREE;
	cfg.req[1].tag = 0;
	searched(cfg, "keyed: reclaimed");
	cfg.mapped[0] = 1;
	if (nightly())
		searched(cfg, "keyed: reclaimed, mapped");
}

/* It is given up, at any WQE. */
static struct scene_config evict_scene(void)
{
	struct scene_config cfg = {
		.free = { 1, 0 }, .log_ring = 3, .mapped = { 1 },
		.agent = true, .kill = true, .rude = true, .may_fail = true,
		.nr_chains = 2, .nr_reqs = 2,
		.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
		.req = { { 0, 0, 1 }, { 1, 0 } },
	};

	return cfg;
}

static void evicted(void **state)
{
	struct scene_config cfg = evict_scene();

	if (late && !nightly())
		cfg.nr_chains = cfg.nr_reqs = 1;
	searched(cfg, "keyed: given up");
}

/* ---- programs that rule keyed refuses ----------------------------------------------- */

/* Where each instruction is going to be. */
struct order {
	uint8_t to[WRC_MAX_INSN], nr;
};

static void rename_ref(const struct order *o, struct wrc_ref *ref)
{
	if (ref->space == WRC_SP_FIELD)
		ref->at = o->to[ref->at];
}

static void rename_nr(const struct order *o, uint8_t *nr)
{
	if (*nr < WRC_MAX_INSN)
		*nr = o->to[*nr];
}

static void rename_all(const struct order *o, struct wrc_prog *prog)
{
	struct wrc_hold *h = &prog->hold;
	struct wrc_ref *held[] = { &h->slot, &h->page, &h->tt, &h->old };
	uint8_t *nr[] = {
		&h->slot_taken, &h->page_taken, &h->page_put, &h->swapped,
		&prog->map, &prog->post, &prog->choice, &prog->turns,
	};
	unsigned int i, j;

	for (i = 0; i < prog->nr_insn; i++) {
		struct wrc_insn *insn = &prog->insn[i];

		insn->nr_bb = 0;
		rename_nr(o, &insn->target);
		rename_ref(o, &insn->remote);
		for (j = 0; j < insn->nr_sge; j++)
			rename_ref(o, &insn->sge[j].at);
	}
	for (i = 0; i < prog->nr_args; i++)
		rename_ref(o, &prog->arg[i].to);
	for (i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		rename_ref(o, held[i]);
	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		rename_nr(o, nr[i]);
}

/* n instructions, from number `from` on, stand before `to`; linked anew, for which
 * the linker's padding goes. */
static void move(struct wrc_prog *prog, uint8_t from, uint8_t n, uint8_t to)
{
	const struct wrc_prog was = *prog;
	struct order o = { .nr = 0 };
	unsigned int i, j;

	for (i = 0; i < was.nr_insn; i++) {
		for (j = from; i == to && j < from + (unsigned int)n; j++)
			o.to[j] = o.nr++;
		if ((i < from || i >= from + (unsigned int)n) &&
		    was.insn[i].op != WRC_WQE_NOP)
			o.to[i] = o.nr++;
	}
	for (i = 0; i < was.nr_insn; i++)
		if (was.insn[i].op != WRC_WQE_NOP)
			prog->insn[o.to[i]] = was.insn[i];
	prog->nr_insn = o.nr;
	rename_all(&o, prog);
	prog->nr_patches = prog->nr_scatter = prog->nr_words = 0;
	prog->cqes = prog->client_cqes = 0;
	memset(prog->bb, 0, sizeof(prog->bb));
	assert_int_equal(wrc_link(prog), 0);
}

/* The table has the page before the key: with the UMR goes the WAIT for it. */
static void maps_late(struct wrc_prog *prog)
{
	unsigned int umr = find(prog, WRC_WQE_UMR);

	if (prog->chain != UNMAPPED)
		return;
	assert_int_equal(prog->insn[umr + 2].op, WRC_WQE_MASKED_CS);
	move(prog, umr, 2, umr + 4);
}

/* Nothing is mapped, and then the page is taken. */
static void ends_early(struct wrc_prog *prog)
{
	if (prog->chain == FREE)
		move(prog, find(prog, WRC_WQE_UMR), 1,
		     find(prog, WRC_WQE_MASKED_CS));
}

/* It goes to the ring behind the UMR, whenever that is over. */
static void frees_early(struct wrc_prog *prog)
{
	unsigned int umr = find(prog, WRC_WQE_UMR), en = umr;

	if (prog->chain != FREE)
		return;
	while (prog->insn[en].op != WRC_WQE_SEND_EN)
		en++;
	move(prog, umr, 1, en);
}

/* The table has a page, the key none. */
static void maps_nothing(struct scene *s)
{
	unsigned int umr = find(&s->chain[0].prog, WRC_WQE_UMR), i;

	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_ctrl *ctrl = scene_insn(s, 0, umr, i);

		ctrl->opcode = WRC_WQE_NOP;
	}
}

/* The address of a lap ago stays where the key map is asked. */
static void address_stays(struct scene *s)
{
	unsigned int i;

	for (i = 0; i < SCENE_DEPTH; i++)
		memset((uint8_t *)scene_insn(s, 0, s->chain[0].prog.map, i) +
		       wrc_field_at(WRC_WQE_READ, WRC_F_RADDR, 0), 0, 8);
}

/* The table's address is that of the answer, not the key map's. */
static void says_two_slots(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int copy = ch->prog.map + 1, i;

	for (i = 0; i < SCENE_DEPTH; i++) {
		__be64 from = htobe64(ch->bind.arena_iova +
			wrc_arena_off(&ch->prog, &ch->geom,
				      wrc_field(ch->prog.nr_insn - 1,
						WRC_F_RADDR, 0), i));

		memcpy((uint8_t *)scene_insn(s, 0, copy, i) +
		       wrc_field_at(WRC_WQE_READ, WRC_F_RADDR, 0), &from,
		       sizeof(from));
	}
}

static void keys_late(struct scene *s)
{
	scene_agent_be(s, SCENE_KEYS_LATE);
}

static void keys_early(struct scene *s)
{
	scene_agent_be(s, SCENE_KEYS_EARLY);
}

#define FREED	"K1: a translation of a free page"
#define OTHERS	"K1: a translation of a page that is not its CNode's"

static void finds(void **state)
{
	struct scene_config cfg = keyed(race_scene(0));

	cfg.spoil = maps_late;
	fails(&cfg, "keyed: maps late", NULL, FREED);
	cfg.spoil = ends_early;
	fails(&cfg, "keyed: ends early", NULL, FREED);
	cfg = keyed(alone_scene(UNMAPPED));
	fails(&cfg, "keyed: maps nothing", maps_nothing,
	      "K2: the key leads to where the table does not");
	cfg = keyed(alone_scene(FREE));
	cfg.late = true;
	cfg.spoil = frees_early;
	fails(&cfg, "keyed: frees early", NULL, FREED);
	cfg = keyed(race_scene(2));
	cfg.chain[0].kind = FREE;
	cfg.nr_chains = cfg.nr_reqs = 1;
	cfg.req[0] = (struct scene_req){ 0, 1, .astray = true };
	fails(&cfg, "keyed: says two slots", says_two_slots, FREED);
	cfg = keyed(cut_scene(0));
	cfg.nr_reqs = 1;
	cfg.req[0].cut = 4;
	fails(&cfg, "keyed: address stays", address_stays,
	      "I3: a page was mapped that did not come whole");
	cfg = keyed(evict_scene());
	fails(&cfg, "keyed: keys late", keys_late, OTHERS);
	fails(&cfg, "keyed: keys early", keys_early, OTHERS);
}

/* ---- what orders ------------------------------------------------------------------ */

/* In which scene it is found. */
enum where {
	ALONE,
	MAPPED_SLOT,		/* a store that finds a page has to see that */
	RACE,
};

struct taken {
	enum where where;
	const char *why;
};

#define MAX_ORDERS 8

static struct scene_config taken_scene(enum odrp_wire_chain kind,
				       enum where where)
{
	struct scene_config cfg = where == RACE ? race_scene(1) :
						  alone_scene(kind);

	if (where == MAPPED_SLOT) {
		cfg.may_fail = true;
		cfg.mapped[0] = 1;
	}
	return keyed(cfg);
}

static void without_each(enum odrp_wire_chain kind, const struct taken *taken)
{
	struct scene_config cfg = taken_scene(kind, ALONE);
	unsigned int nr = nr_orders(&cfg), i;

	for (i = 0; i < MAX_ORDERS && taken[i].why; i++) {
		taken_out = i;
		cfg = taken_scene(kind, taken[i].where);
		fails(&cfg, "keyed: taken out", take_out, taken[i].why);
	}
	assert_int_equal(nr, i);
}

#define FAILED	"I6: a chain failed"
#define GONE	"I1: a page in no place"
#define UNTAKEN	"a request was not taken"
#define FOREIGN	"I3: a page may be received into that is not the chain's"
#define SILENT	"a request gets no answer"

static void each_counts(void **state)
{
	static const struct taken store[MAX_ORDERS] = {
		{ ALONE, SILENT }, { RACE, FREED }, { MAPPED_SLOT, GONE },
		{ ALONE, FAILED }, { ALONE, FAILED }, { ALONE, FAILED },
		{ ALONE, FOREIGN },
	};
	static const struct taken waits[MAX_ORDERS] = {
		{ ALONE, FAILED }, { ALONE, GONE }, { ALONE, FAILED },
		{ ALONE, FAILED }, { ALONE, FAILED }, { ALONE, UNTAKEN },
	};
	/* And a WAIT for the UMR, which has a fence. */
	static const struct taken fences[MAX_ORDERS] = {
		{ ALONE, FAILED }, { ALONE, GONE }, { ALONE, FAILED },
		{ ALONE, FREED }, { ALONE, FAILED }, { ALONE, FAILED },
		{ ALONE, UNTAKEN },
	};

	without_each(UNMAPPED, store);
	without_each(FREE, fence ? fences : waits);
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
		cmocka_unit_test(alone),
		cmocka_unit_test(one_slot),
		cmocka_unit_test(breaks),
		cmocka_unit_test(empty),
		cmocka_unit_test(cut),
		cmocka_unit_test(race),
		cmocka_unit_test(two_stores),
		cmocka_unit_test(comes_round),
		cmocka_unit_test(reclaimed),
		cmocka_unit_test(evicted),
		cmocka_unit_test(finds),
	};
	const struct CMUnitTest landing[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(one_slot),
		cmocka_unit_test(breaks),
		cmocka_unit_test(empty),
		cmocka_unit_test(cut),
		cmocka_unit_test(race),
		cmocka_unit_test(two_stores),
		cmocka_unit_test(comes_round),
		cmocka_unit_test(reclaimed),
		cmocka_unit_test(evicted),
		cmocka_unit_test(each_counts),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += cmocka_run_group_tests(landing, land_late, NULL);
	return failed + cmocka_run_group_tests(landing, with_fences, NULL);
}
