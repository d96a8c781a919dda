// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules flow and atomic: programs that move a page and have something else come
 * where it, its slot or a counter is: a client's bytes, or a page of a lap ago.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

enum bug {
	NO_BUG,
	/* the register of the page, over half of which something comes */
	HALF_READ,
	HALF_WRITTEN,
	HALF_FROM_REQUEST,
	READ_OVER_LATER,
	OTHER_INSTANCE,		/* the page of the instance before */
	/* what a WRITE may not touch */
	WRITES_HEAD,
	WRITES_TAIL,
	WRITES_BUFFER,
	WRITES_TABLE,
	TAKES_COUNTER,
	/* atomics */
	SWAPS_IN,
	STEPS_FAR,
};

static const struct wrc_ref nowhere = { .space = WRC_SP_NONE };

/* Four bytes of the client's, and four of nobody's. */
static struct wrc_ref clients(void)
{
	return wrc_reg(WRC_REG_TT, 0);
}

static enum wrc_space target(enum bug bug)
{
	switch (bug) {
	case WRITES_HEAD:
		return WRC_SP_HEAD;
	case WRITES_TAIL:
		return WRC_SP_TAIL;
	case WRITES_BUFFER:
		return WRC_SP_BUF;
	case WRITES_TABLE:
		return WRC_SP_TURN;
	default:
		return WRC_SP_NONE;
	}
}

/* When the page is in its register; returns a READ of the request's id. */
static int disturb(struct wrc_build *b, enum bug bug)
{
	struct wrc_ref half = wrc_reg(WRC_REG_PAGE, 4);
	int i = 0;

	if (bug == HALF_READ)
		i = wrc_read(b, clients(), half, 4);
	else if (bug == HALF_WRITTEN)
		i = wrc_write(b, half, clients(), 4, WRC_I_SIGNALED);
	else if (bug == TAKES_COUNTER)
		i = wrc_take(b, wrc_at(WRC_SP_HEAD), wrc_reg(WRC_REG_TRASH, 0));
	else if (target(bug))
		i = wrc_write(b, wrc_at(target(bug)), clients(), 8,
			      WRC_I_SIGNALED);
	if (i)
		wrc_wait(b, i);
	return i;
}

/* A copy of the client's bytes to where wrc_set_local() is to say. */
static int copy(struct wrc_build *b)
{
	int i = wrc_read(b, clients(), nowhere, 8);

	wrc_wait(b, i);
	return i;
}

static void args(struct wrc_build *b, enum bug bug, int take, int answer)
{
	struct wrc_ref id = clients();

	if (bug == HALF_READ)
		id = wrc_field(answer, WRC_F_IMM, 0);
	if (bug == HALF_FROM_REQUEST)
		id = wrc_reg(WRC_REG_PAGE, 4);
	wrc_arg(b, 0, 8, wrc_field(take, WRC_F_RADDR, 0));
	wrc_arg(b, 8, 4, id);
	wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
}

/* An invalidate. */
static void build(struct wrc_build *b, struct wrc_prog *prog, enum bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0), from = page;
	int body, take, half, sel, en, push, swap, rest, put, go, answer;
	int over = 0;

	wrc_begin(b, prog, ODRP_WIRE_INVALIDATE, "broken", NULL);
	body = wrc_prog_head(b);
	if (bug == SWAPS_IN) {
		over = copy(b);
		en = wrc_send_en(b, 0);
		wrc_enable_upto(b, body, en);
		body = en;
	}
	take = wrc_take(b, wrc_at(WRC_SP_TT), page);
	if (bug == SWAPS_IN)
		wrc_set_local(b, over, 0, wrc_field(take, WRC_F_MSWAP, 0));
	wrc_wait(b, take);
	half = disturb(b, bug);
	sel = wrc_prog_decide(b, page);
	wrc_wait(b, sel);
	if (bug == STEPS_FAR)
		over = copy(b);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);

	push = wrc_advance(b, wrc_at(WRC_SP_TAIL), slot, WRC_I_MAYBE);
	wrc_set_local(b, sel, 1, wrc_field(push, WRC_F_OPCODE, 0));
	if (bug == STEPS_FAR)
		wrc_set_local(b, over, 0, wrc_field(push, WRC_F_ADD, 0));
	wrc_wait(b, push);
	swap = wrc_endian_swap(b, slot);
	wrc_wait(b, swap);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, en, rest);

	if (bug == OTHER_INSTANCE)
		from.delta = -1;
	put = wrc_write(b, wrc_at(WRC_SP_SLOT), from, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	wrc_set_local(b, sel, 2, wrc_field(put, WRC_F_OPCODE, 0));
	wrc_set_swapped(b, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(b, put);
	if (bug == READ_OVER_LATER)
		wrc_wait(b, wrc_read(b, clients(), page, 4));
	go = wrc_send_en(b, 0);

	answer = wrc_prog_answer(b, go, 0, 0);
	if (bug == HALF_READ)
		wrc_set_remote(b, half, wrc_field(answer, WRC_F_IMM, 0));
	args(b, bug, take, answer);
	wrc_holds(b, true, push, slot, take, page, put);
}

static const struct {
	enum bug bug;
	enum wrc_rule rule;
	const char *words;
} bugs[] = {
	{ HALF_READ, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ HALF_WRITTEN, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ HALF_FROM_REQUEST, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ READ_OVER_LATER, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ OTHER_INSTANCE, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ WRITES_HEAD, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ WRITES_TAIL, WRC_RULE_FLOW, "writes nothing known to class free" },
	{ WRITES_BUFFER, WRC_RULE_FLOW, "writes nothing known to class buf" },
	{ WRITES_TABLE, WRC_RULE_FLOW, "writes nothing known to class table" },
	{ TAKES_COUNTER, WRC_RULE_FLOW, "leaves no counter" },
	{ SWAPS_IN, WRC_RULE_ATOMIC, "has an operand that comes" },
	{ STEPS_FAR, WRC_RULE_ATOMIC, "has an operand that comes" },
};

static void broken_frees(void **state)
{
	struct wrc_build w;
	struct bench b;

	build(&w, &b.prog, NO_BUG);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		build(&w, &b.prog, bugs[i].bug);
		assert_int_equal(wrc_end(&w), 0);
		bench_image(&b, K);
		expect_refusal(&b, bugs[i].rule, bugs[i].words);
		bench_close(&b);
	}
}

/*
 * A load that takes the page out of its entry, and puts it back before, as it
 * stands in the message since the last lap.
 */
static void build_load(struct wrc_build *b, struct wrc_prog *prog, bool early)
{
	int body, tt, en, put = 0, take, rest, go, answer;
	struct wrc_ref page;

	wrc_begin(b, prog, ODRP_WIRE_LOAD, "broken", NULL);
	body = wrc_prog_head(b);
	tt = wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8);
	wrc_wait(b, tt);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);
	if (early)
		put = wrc_write(b, wrc_at(WRC_SP_TT), nowhere, 8,
				WRC_I_SIGNALED);
	take = wrc_take(b, wrc_at(WRC_SP_TT), nowhere);
	wrc_wait(b, take);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, en, rest);
	if (!early) {
		put = wrc_write(b, wrc_at(WRC_SP_TT), nowhere, 8,
				WRC_I_SIGNALED);
		wrc_wait(b, put);
	}
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 4096, WRC_I_SIGNALED);
	page = wrc_field(answer, WRC_F_ADDR, 0);
	wrc_set_local(b, take, 0, page);
	wrc_set_local(b, put, 0, page);
	wrc_set_remote(b, tt, wrc_field(take, WRC_F_RADDR, 0));
	wrc_set_local(b, tt, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_prog_args(b, take, answer);
	wrc_lends(b, wrc_field(take, WRC_F_RADDR, 0), take, page, put);
}

static void page_of_a_lap_ago(void **state)
{
	struct wrc_build w;
	struct bench b;

	for (int early = 0; early < 2; early++) {
		build_load(&w, &b.prog, early);
		assert_int_equal(wrc_end(&w), 0);
		bench_image(&b, K);
		if (early)
			expect_refusal(&b, WRC_RULE_FLOW,
				       "writes nothing known to class tt");
		else
			expect_accepted(&b);
		bench_close(&b);
	}
}

/* A store that copies, to where it has looked, or to where the client says. */
static void build_store(struct wrc_build *b, struct wrc_prog *prog, bool both,
			bool maps)
{
	int body, over = 0, look, rest, put, map = 0, go, answer;
	struct wrc_ref page;

	wrc_begin(b, prog, ODRP_WIRE_MAPPED_STORE, "broken", NULL);
	wrc_page(b);
	body = wrc_prog_head(b);
	if (maps)
		map = wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8);
	if (both)
		over = wrc_read(b, clients(), nowhere, 8);
	look = wrc_read(b, wrc_at(WRC_SP_TT), nowhere, 8);
	wrc_wait(b, look);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, body, rest);
	put = wrc_write(b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF), 4096,
			WRC_I_SIGNALED);
	page = wrc_field(put, WRC_F_RADDR, 0);
	if (maps) {
		wrc_set_remote(b, map, wrc_field(look, WRC_F_RADDR, 0));
		wrc_set_local(b, map, 0, wrc_field(
			wrc_write(b, wrc_at(WRC_SP_TT), page, 8,
				  WRC_I_SIGNALED), WRC_F_RADDR, 0));
	}
	if (both)
		wrc_set_local(b, over, 0, page);
	wrc_set_local(b, look, 0, page);
	wrc_wait(b, maps ? put + 1 : put);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 0, WRC_I_SIGNALED);
	wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
	wrc_arg(b, 8, 4, clients());
	wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
}

static void broken_stores(void **state)
{
	static const char *const words[] = {
		NULL, "goes to class pool by nothing known",
		"writes a page address to class tt",
	};
	struct wrc_build w;
	struct bench b;

	for (int bug = 0; bug < 3; bug++) {
		build_store(&w, &b.prog, bug == 1, bug == 2);
		assert_int_equal(wrc_end(&w), 0);
		bench_image(&b, K);
		if (bug)
			expect_refusal(&b, WRC_RULE_FLOW, words[bug]);
		else
			expect_accepted(&b);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_frees),
		cmocka_unit_test(page_of_a_lap_ago),
		cmocka_unit_test(broken_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
