// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * order=fence: which programs have fences and where, when the verifier takes one
 * for an order, and that the software NIC keeps it, also when what READs bring
 * lands late; and that without it a chain uses what was there before.
 */
#include <stdlib.h>
#include "verdict.h"
#include "core/build.h"
#include "pages.h"
#include "prog/parts.h"
#include "tools/rig.h"

#define DEPTH 4
#define SLOTS 8

static const enum wrc_variant variants[] = { WRC_V_OURS, WRC_V_EXCHANGE };

static void open_fenced(struct bench *b, enum odrp_wire_chain chain,
			enum wrc_variant variant, enum wrc_recycle recycle,
			bool strict)
{
	struct wrc_opts opts = {
		.strict_index = strict, .variant = variant, .recycle = recycle,
		.order = WRC_ORDER_FENCE,
	};

	assert_int_equal(wrc_any_build(chain, &opts, &b->prog), 0);
	bench_image(b, DEPTH);
	b->bind.fence_orders = true;
}

static void each_fenced(void (*look)(struct bench *b))
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int mode = 0; mode < 8; mode++) {
			struct bench b;

			open_fenced(&b, chain, variants[mode & 1],
				    mode & 2 ? WRC_RECYCLE_NODE :
					       WRC_RECYCLE_CLIENT, mode & 4);
			look(&b);
			bench_close(&b);
		}
}

/* ---- programs ------------------------------------------------------------------ */

static bool reads(const struct wrc_insn *i)
{
	return wrc_opdef(i->op)->flags & WRC_OP_SCATTER;
}

/* The row's WAIT is left, and one that the load of page exchange needs anyway. */
static void no_wait_for_reads(struct bench *b)
{
	const struct wrc_prog *prog = &b->prog;
	int left = 0, fences = 0;

	for (int i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		fences += !!(insn->flags & WRC_I_FENCE);
		if (insn->op == WRC_WQE_WAIT && insn->target != WRC_RECV)
			left += reads(&prog->insn[insn->target]) &&
				!wrc_is_turn(prog, insn->target);
	}
	assert_true(prog->fences);
	assert_true(fences);
	assert_int_equal(left, wrc_owns(prog) && !prog->page);
}

static void fences_for_waits(void **state)
{
	each_fenced(no_wait_for_reads);
}

static void who_may_fence(void **state)
{
	for (int v = 0; v <= WRC_NR_VARIANTS; v++) {
		struct wrc_opts opts = {
			.variant = v, .order = WRC_ORDER_FENCE,
		};
		struct wrc_prog prog;
		bool may = v == WRC_V_OURS || v == WRC_V_EXCHANGE;

		assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &opts, &prog),
				 may ? 0 : -EINVAL);
		opts.order = WRC_NR_ORDERS;
		assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &opts, &prog),
				 -EINVAL);
	}
}

/* A fence waits for READs and atomics, and needs somebody who has it. */
static void what_a_fence_is_for(void **state)
{
	struct wrc_opts opts = { .order = WRC_ORDER_FENCE };
	struct wrc_build b;
	struct wrc_prog prog;
	int put;

	wrc_begin(&b, &prog, ODRP_WIRE_LOAD, "broken", &opts);
	wrc_prog_head(&b);
	put = wrc_write(&b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_PAGE, 0), 8,
			WRC_I_SIGNALED);
	wrc_after(&b, put);
	assert_int_equal(wrc_end(&b), -EINVAL);

	wrc_begin(&b, &prog, ODRP_WIRE_LOAD, "broken", &opts);
	wrc_prog_head(&b);
	wrc_after(&b, wrc_read(&b, wrc_at(WRC_SP_TT),
			       wrc_reg(WRC_REG_PAGE, 0), 8));
	wrc_client_queue(&b);
	assert_int_equal(wrc_end(&b), -EINVAL);
}

/* ---- the verifier ----------------------------------------------------------------- */

/* For nothing, where nobody says that the NIC keeps that order. */
static void only_where_it_holds(struct bench *b)
{
	char why[WRC_WHY_MAX];

	expect_accepted(b);
	b->bind.fence_orders = false;
	if (wrc_owns(&b->prog))	/* answer and own rely on it, too */
		assert_true(refused_by(b, why) & 1u << WRC_RULE_ORDER);
	else
		expect_refusal(b, WRC_RULE_ORDER, "");
	assert_int_equal(wrc_image_check(&b->prog, &b->geom, &b->bind,
					 b->arena, why), -EPERM);
}

static void verified(void **state)
{
	each_fenced(only_where_it_holds);
}

static void load_says_why(void **state)
{
	struct bench b;

	open_fenced(&b, ODRP_WIRE_LOAD, WRC_V_OURS, WRC_RECYCLE_NODE, true);
	b.bind.fence_orders = false;
	expect_refusal(&b, WRC_RULE_ORDER, "before its patch has arrived");
	bench_close(&b);
}

/* Bytes that are not the program's. */
static void other_modes(void **state)
{
	struct bench b;
	unsigned int en;
	uint8_t *flags;

	open_fenced(&b, ODRP_WIRE_LOAD, WRC_V_OURS, WRC_RECYCLE_NODE, true);
	en = bench_find(&b, WRC_WQE_SEND_EN, b.prog.nr_head);
	flags = b.arena + wrc_insn_off(&b.prog, &b.geom, en, 1) +
		offsetof(struct wrc_wqe_ctrl, fm_ce_se);
	assert_int_equal(*flags, WRC_WQE_FM_FENCE);
	for (int mode = 0; mode < 8; mode++) {
		*flags = mode << 5;
		if (*flags == WRC_WQE_FM_FENCE)
			expect_accepted(&b);
		else
			expect_refusal(&b, WRC_RULE_FORM, "completion flags");
	}
	bench_close(&b);
}

enum bug { NO_BUG, NO_FENCE, ON_THE_READ, BEHIND, FOR_A_WRITE };

/* A mapped store that copies; its fences as they should be, or not. */
static void build_store(struct bench *b, enum bug bug)
{
	int body, look, rest, put, go, answer;
	struct wrc_insn *insn = b->prog.insn;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_MAPPED_STORE, "broken", NULL);
	wrc_page(&w);
	body = wrc_prog_head(&w);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	rest = wrc_send_en(&w, WRC_NEXT_HEAD);
	wrc_enable_upto(&w, body, rest);
	put = wrc_write(&w, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF), 4096,
			WRC_I_SIGNALED);
	wrc_set_local(&w, look, 0, wrc_field(put, WRC_F_RADDR, 0));
	if (bug != FOR_A_WRITE)
		wrc_wait(&w, put);
	go = wrc_send_en(&w, 0);
	if (bug == NO_BUG || bug == FOR_A_WRITE)
		insn[rest].flags |= WRC_I_FENCE;
	if (bug == ON_THE_READ)
		insn[look].flags |= WRC_I_FENCE;
	if (bug == BEHIND)
		insn[put].flags |= WRC_I_FENCE;
	if (bug == FOR_A_WRITE)
		insn[go].flags |= WRC_I_FENCE;
	answer = wrc_prog_answer(&w, go, 0, WRC_I_SIGNALED);
	wrc_prog_args(&w, look, answer);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, DEPTH);
	b->bind.fence_orders = true;
}

static void in_the_wrong_place(void **state)
{
	static const struct {
		enum bug bug;
		enum wrc_rule rule;
		const char *words;
	} bugs[] = {
		{ NO_FENCE, WRC_RULE_ORDER, "before its patch has arrived" },
		{ ON_THE_READ, WRC_RULE_ORDER, "before its patch has arrived" },
		{ BEHIND, WRC_RULE_ORDER, "before its patch has arrived" },
		{ FOR_A_WRITE, WRC_RULE_ANSWER, "let the answer go" },
	};
	struct bench b;

	build_store(&b, NO_BUG);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		build_store(&b, bugs[i].bug);
		expect_refusal(&b, bugs[i].rule, bugs[i].words);
		bench_close(&b);
	}
}

/* ---- the software NIC ---------------------------------------------------------------- */

/* Takes all fences out of an image that has been armed. */
static void take_fences_out(struct wrc_rig *rig)
{
	for (uint32_t k = 0; k < DEPTH; k++)
		for (int i = 0; i < rig->prog.nr_insn; i++)
			rig->arena[wrc_insn_off(&rig->prog, &rig->geom, i, k) +
				   offsetof(struct wrc_wqe_ctrl, fm_ce_se)] &=
				(uint8_t)~WRC_WQE_FM_MASK;
}

/* Does a page come, and is it the slot's, for more than a lap? */
static bool loads(enum snic_fetch fetch, enum snic_land land, bool fenced)
{
	struct wrc_rig_config cfg = {
		.chain = ODRP_WIRE_LOAD, .strict = true, .fetch = fetch,
		.land = land, .recycle = WRC_RECYCLE_NODE,
		.order = WRC_ORDER_FENCE, .depth = DEPTH,
		.nr_pages = 2 * SLOTS, .nr_slots = SLOTS,
	};
	uint8_t want[4096];
	struct wrc_rig rig;
	bool good = true;

	rig_open(&rig, &cfg);
	if (!fenced)
		take_fences_out(&rig);
	for (int i = 0; i < SLOTS; i++) {
		uint64_t page = wrc_rig_pop(&rig);

		wrc_rig_set_entry(&rig, i, page);
		fill(wrc_rig_memory(&rig, page), i);
	}
	for (uint32_t r = 0; good && r < 3 * DEPTH; r++) {
		uint32_t done;

		assert_int_equal(wrc_rig_send(&rig, r % SLOTS * 8, NULL), 0);
		fill(want, r % SLOTS);
		good = !wrc_rig_answer(&rig, &done) &&
		       !memcmp(wrc_rig_page(&rig, r), want, sizeof(want));
	}
	wrc_rig_close(&rig);
	return good;
}

static void fence_is_kept(void **state)
{
	for (int fetch = SNIC_FETCH_LATE; fetch <= SNIC_FETCH_EARLY; fetch++) {
		assert_true(loads(fetch, SNIC_LAND_AT_ONCE, true));
		assert_true(loads(fetch, SNIC_LAND_LATE, true));
	}
}

static void fence_is_needed(void **state)
{
	for (int fetch = SNIC_FETCH_LATE; fetch <= SNIC_FETCH_EARLY; fetch++)
		assert_false(loads(fetch, SNIC_LAND_LATE, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fences_for_waits),
		cmocka_unit_test(who_may_fence),
		cmocka_unit_test(what_a_fence_is_for),
		cmocka_unit_test(verified),
		cmocka_unit_test(load_says_why),
		cmocka_unit_test(other_modes),
		cmocka_unit_test(in_the_wrong_place),
		cmocka_unit_test(fence_is_kept),
		cmocka_unit_test(fence_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
