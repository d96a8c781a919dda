// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and programs: the compiler builds these faithfully, and each has
 * one thing wrong in what it does, which one rule refuses.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

enum bug {
	NO_BUG,
	NO_GATE,
	GATE_LEFT_OPEN,
	NO_WAIT_FOR_LOOK,
	ENABLED_WITH_LOOK,
	ANSWER_BEFORE_WRITE,
	NEXT_HEAD_FORGOTTEN,
	NEXT_HEAD_TWICE,
	STOPS_SHORT,
	TABLE_FORGOTTEN,
	PATCHES_QPN,
	PATCHES_KEY,
	PATCHES_HALF,
	ARMS_OWN_HEAD,
	HALVES_EXCHANGED,
	ANSWERS_REGISTER,
	READS_INTO_BUFFER,
	CLIENT_CONTROLS,
	KEEPS_ID,		/* no bug by itself: see broken_arguments() */
};

/* A mapped store with one thing wrong. */
static void build_store(struct wrc_build *b, struct wrc_prog *prog,
			enum bug bug)
{
	int body, look, rest, put, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_MAPPED_STORE, "broken", NULL);
	wrc_page(b);
	body = wrc_prog_head(b);
	if (bug == NO_GATE)
		b->prog->nr_insn = body--;
	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	if (bug != NO_WAIT_FOR_LOOK)
		wrc_wait(b, look);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, body, rest);
	if (bug == READS_INTO_BUFFER)
		wrc_read(b, wrc_reg(WRC_REG_PAGE, 0), wrc_at(WRC_SP_BUF), 8);
	put = wrc_write(b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF), 4096,
			WRC_I_SIGNALED);
	if (bug == ENABLED_WITH_LOOK)
		wrc_enable_upto(b, body, put);
	if (bug == PATCHES_HALF)
		wrc_set_local(b, look, 0, wrc_reg(WRC_REG_TRASH, 0));
	else
		wrc_set_local(b, look, 0, wrc_field(put, WRC_F_RADDR, 0));
	if (bug != ANSWER_BEFORE_WRITE)
		wrc_wait(b, put);
	go = wrc_send_en(b, 0);
	if (bug == ANSWER_BEFORE_WRITE)
		wrc_wait(b, put);
	if (bug == GATE_LEFT_OPEN)
		wrc_enable_upto(b, body - 1, look);
	if (bug == NEXT_HEAD_FORGOTTEN)
		wrc_enable_upto(b, rest, go);
	if (bug == STOPS_SHORT)
		wrc_enable_upto(b, body, look);
	if (bug == NEXT_HEAD_TWICE)
		wrc_enable_upto(b, body, WRC_NEXT_HEAD);

	wrc_client_queue(b);
	if (bug == CLIENT_CONTROLS)
		wrc_send_en(b, WRC_NEXT_HEAD);
	answer = wrc_write_imm(b, wrc_at(WRC_SP_PEER),
			       wrc_reg(WRC_REG_PAGE, 0),
			       bug == ANSWERS_REGISTER ? 8 : 0);
	b->prog->insn[answer].flags |= WRC_I_SIGNALED;
	wrc_enable_upto(b, go, answer);
	switch (bug) {
	case TABLE_FORGOTTEN:
		wrc_arg(b, 0, 8, wrc_reg(WRC_REG_TRASH, 0));
		break;
	case PATCHES_QPN:
		/* Seven bytes to their place, one over a queue number. */
		wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
		wrc_arg(b, 8, 3, wrc_field(put, WRC_F_QPN, 0));
		wrc_arg(b, 11, 1, wrc_reg(WRC_REG_TRASH, 0));
		wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
		wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
		return;
	case ARMS_OWN_HEAD:
		wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
		wrc_arg(b, 8, 4, wrc_field(0, WRC_F_COUNT, 0));
		wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
		wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
		return;
	case HALVES_EXCHANGED:
		wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
		wrc_arg(b, 8, 4, wrc_field(answer, WRC_F_IMM, 0));
		wrc_arg(b, 12, 4, wrc_field(answer, WRC_F_RADDR, 4));
		wrc_arg(b, 16, 4, wrc_field(answer, WRC_F_RADDR, 0));
		wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
		return;
	case PATCHES_KEY:
		wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
		wrc_arg(b, 8, 4, wrc_field(put, WRC_F_RKEY, 0));
		wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
		wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
		return;
	default:
		wrc_arg(b, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
		break;
	}
	wrc_arg(b, 8, 4, bug == KEEPS_ID ? wrc_reg(WRC_REG_TRASH, 0) :
					   wrc_field(answer, WRC_F_IMM, 0));
	wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
}

struct broken_prog {
	enum bug bug;
	enum wrc_rule rule;
	const char *words;
};

static const struct broken_prog stores[] = {
	{ NO_GATE, WRC_RULE_ORDER, "no request may have come" },
	{ GATE_LEFT_OPEN, WRC_RULE_ORDER, "no request may have come" },
	{ NO_WAIT_FOR_LOOK, WRC_RULE_ORDER, "before its patch has arrived" },
	{ ENABLED_WITH_LOOK, WRC_RULE_ORDER, "enabled by l2" },
	{ ANSWER_BEFORE_WRITE, WRC_RULE_ANSWER, "let the answer go" },
	{ NEXT_HEAD_FORGOTTEN, WRC_RULE_BALANCE, "never enabled" },
	{ STOPS_SHORT, WRC_RULE_BALANCE, "l4@0 is never enabled" },
	{ NEXT_HEAD_TWICE, WRC_RULE_BALANCE, "enabled already" },
	{ TABLE_FORGOTTEN, WRC_RULE_PATCH, "never given its raddr" },
	{ PATCHES_HALF, WRC_RULE_PATCH, "never given its raddr" },
	{ PATCHES_QPN, WRC_RULE_PATCH, "may not write" },
	{ PATCHES_KEY, WRC_RULE_PATCH, "may not write" },
	{ HALVES_EXCHANGED, WRC_RULE_FLOW, "goes to class peer by nothing" },
	{ ANSWERS_REGISTER, WRC_RULE_FLOW, "to class peer" },
	{ READS_INTO_BUFFER, WRC_RULE_FLOW, "l6@0 reads into class buf" },
	{ CLIENT_CONTROLS, WRC_RULE_BALANCE, "c0@0 controls queues" },
};

static void broken_stores(void **state)
{
	struct wrc_build build;
	char why[WRC_WHY_MAX];
	struct bench b;

	build_store(&build, &b.prog, NO_BUG);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		build_store(&build, &b.prog, stores[i].bug);
		assert_int_equal(wrc_end(&build), 0);
		bench_image(&b, K);
		expect_refusal(&b, stores[i].rule, stores[i].words);
		bench_close(&b);
	}
	/* Patched too late as well, which is the same from another side. */
	build_store(&build, &b.prog, ARMS_OWN_HEAD);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	assert_int_equal(refused_by(&b, why),
			 1u << WRC_RULE_ORDER | 1u << WRC_RULE_PATCH);
	assert_int_equal(wrc_image_check(&b.prog, &b.geom, &b.bind, b.arena,
					 why), -EPERM);
	assert_non_null(strstr(why, "armed by its own request"));
	bench_close(&b);
}

/* Bytes of a request in a register are that register's, and no other memory's. */
static void broken_arguments(void **state)
{
	struct wrc_build build;
	struct wrc_wqe_data *to;
	struct bench b;

	build_store(&build, &b.prog, KEEPS_ID);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	to = bench_recv(&b, 1, 1);
	assert_int_equal(be32toh(to->byte_count), 4);

	to->addr = htobe64(be64toh(to->addr) - WRC_REG_TRASH + WRC_REG_PAGE);
	expect_refusal(&b, WRC_RULE_PATCH, "byte 8 of request@1's result");
	to->addr = htobe64(be64toh(to->addr) + WRC_REG_TRASH - WRC_REG_PAGE);
	expect_accepted(&b);

	to->lkey = htobe32(b.bind.tt_key);
	expect_refusal(&b, WRC_RULE_PATCH, "entry 1 arms 52 bytes instead of 56");
	bench_close(&b);
}

enum alloc_bug {
	ALLOC_WELL,
	ALLOC_NO_WAIT_FOR_COUNTER,
	ALLOC_COPIES,
	ALLOC_HOST_ORDER,
	ALLOC_PAGE_FROM_REQUEST,
	ALLOC_FROM_LOOP_TO_PEER,
	ALLOC_PART_OF_A_FIELD,
};

/* An unmapped store with one thing wrong. */
static void build_alloc(struct wrc_build *b, struct wrc_prog *prog,
			enum alloc_bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), page;
	int body, pop, swap = 0, en, take, map, put, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_UNMAPPED_STORE, "broken", NULL);
	wrc_page(b);
	body = wrc_prog_head(b);
	pop = wrc_advance(b, wrc_at(WRC_SP_HEAD), slot, 0);
	if (bug != ALLOC_NO_WAIT_FOR_COUNTER)
		wrc_wait(b, pop);
	if (bug != ALLOC_HOST_ORDER) {
		swap = wrc_endian_swap(b, slot);
		wrc_wait(b, swap);
	}
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);
	take = bug == ALLOC_COPIES ?
		wrc_read(b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE), 8) :
		wrc_take(b, wrc_at(WRC_SP_SLOT), wrc_at(WRC_SP_NONE));
	if (bug == ALLOC_HOST_ORDER)
		wrc_set_local(b, pop, 0, wrc_field(take, WRC_F_RADDR, 0));
	else
		wrc_set_swapped(b, swap, wrc_field(take, WRC_F_RADDR, 0));
	if (bug == ALLOC_PART_OF_A_FIELD)
		wrc_set_local(b, swap, 7, wrc_reg(WRC_REG_TRASH, 0));
	wrc_wait(b, take);
	wrc_enable_upto(b, en, wrc_send_en(b, WRC_NEXT_HEAD));
	map = wrc_write(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8, 0);
	put = wrc_write(b, wrc_at(bug == ALLOC_FROM_LOOP_TO_PEER ?
				  WRC_SP_PEER : WRC_SP_POOL),
			wrc_at(WRC_SP_BUF), 4096, WRC_I_SIGNALED);
	page = bug == ALLOC_PAGE_FROM_REQUEST ? wrc_reg(WRC_REG_PAGE, 0) :
						wrc_field(put, WRC_F_RADDR, 0);
	wrc_set_local(b, take, 0, page);
	wrc_set_local(b, map, 0, page);
	wrc_holds(b, false, pop, bug == ALLOC_HOST_ORDER ?
		  wrc_field(take, WRC_F_RADDR, 0) : slot, take, page, map);
	wrc_wait(b, put);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 0, WRC_I_SIGNALED);
	if (bug == ALLOC_PAGE_FROM_REQUEST) {
		wrc_arg(b, 0, 8, wrc_field(map, WRC_F_RADDR, 0));
		wrc_arg(b, 8, 4, wrc_field(answer, WRC_F_IMM, 0));
		wrc_arg(b, 12, 8, wrc_field(put, WRC_F_RADDR, 0));
		wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
		return;
	}
	wrc_prog_args(b, map, answer);
}

static const struct {
	enum alloc_bug bug;
	enum wrc_rule rule;
	const char *words;
} allocs[] = {
	{ ALLOC_NO_WAIT_FOR_COUNTER, WRC_RULE_ORDER,
	  "reads what l3 may not have written" },
	{ ALLOC_HOST_ORDER, WRC_RULE_FLOW, "goes to class free by" },
	{ ALLOC_FROM_LOOP_TO_PEER, WRC_RULE_FLOW,
	  "reaches class peer from the loop" },
	{ ALLOC_PART_OF_A_FIELD, WRC_RULE_PATCH, "in part" },
};

static void broken_allocs(void **state)
{
	struct wrc_build build;
	char why[WRC_WHY_MAX];
	struct bench b;

	build_alloc(&build, &b.prog, ALLOC_WELL);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(allocs) / sizeof(allocs[0]); i++) {
		build_alloc(&build, &b.prog, allocs[i].bug);
		assert_int_equal(wrc_end(&build), 0);
		bench_image(&b, K);
		expect_refusal(&b, allocs[i].rule, allocs[i].words);
		bench_close(&b);
	}
	/* And leaves the page in a slot that the head has passed. */
	build_alloc(&build, &b.prog, ALLOC_COPIES);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	assert_int_equal(refused_by(&b, why),
			 1u << WRC_RULE_FLOW | 1u << WRC_RULE_MOVE);
	bench_close(&b);
	/* Leaves the answer without an address, too. */
	build_alloc(&build, &b.prog, ALLOC_PAGE_FROM_REQUEST);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	assert_int_equal(refused_by(&b, why),
			 1u << WRC_RULE_FLOW | 1u << WRC_RULE_PATCH);
	assert_non_null(strstr(why, "an address of the client's"));
	bench_close(&b);
}

/* A READ of the page register, of which one byte is to go to an opcode. */
static int one_byte(struct wrc_build *b, struct wrc_ref page, int skip)
{
	struct wrc_insn sel = {
		.op = WRC_WQE_READ, .flags = WRC_I_SIGNALED, .remote = page,
		.nr_sge = 3,
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), skip },
			 { wrc_at(WRC_SP_NONE), 1 },
			 { wrc_reg(WRC_REG_TRASH, 8), 7 - skip } },
	};

	return wrc_emit(b, &sel);
}

/* Invalidate with the first deciding byte taken from elsewhere, or none declared. */
static void build_free(struct wrc_build *b, struct wrc_prog *prog, int skip,
		       bool undeclared)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	__u8 maybe = undeclared ? 0 : WRC_I_MAYBE;
	int body, take, sel[2], en, push, swap, rest, put, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_INVALIDATE, "broken", NULL);
	body = wrc_prog_head(b);
	take = wrc_take(b, wrc_at(WRC_SP_TT), page);
	wrc_wait(b, take);
	sel[0] = one_byte(b, page, skip);
	sel[1] = one_byte(b, page, 2);
	wrc_wait(b, sel[1]);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);
	push = wrc_advance(b, wrc_at(WRC_SP_TAIL), slot, maybe);
	wrc_set_local(b, sel[0], 1, wrc_field(push, WRC_F_OPCODE, 0));
	wrc_wait(b, push);
	swap = wrc_endian_swap(b, slot);
	wrc_wait(b, swap);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, en, rest);
	put = wrc_write(b, wrc_at(WRC_SP_SLOT), page, 8,
			WRC_I_SIGNALED | maybe);
	wrc_set_local(b, sel[1], 1, wrc_field(put, WRC_F_OPCODE, 0));
	wrc_set_swapped(b, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(b, put);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 0, 0);
	wrc_prog_args(b, take, answer);
	wrc_holds(b, true, push, slot, take, page, put);
}

static void broken_frees(void **state)
{
	struct wrc_build build;
	struct bench b;

	build_free(&build, &b.prog, 1, false);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);

	build_free(&build, &b.prog, 2, false);	/* a WRITE for an atomic */
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_FLOW, "gets its opcode from byte 2");
	bench_close(&b);

	build_free(&build, &b.prog, 1, true);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_PATCH, "may not write");
	bench_close(&b);
}

/* An answer that the request may leave out, and what else it must not do. */
static void build_answer(struct wrc_build *b, struct wrc_prog *prog,
			 __u8 quiet)
{
	int body, look, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_LOAD, "broken", NULL);
	body = wrc_prog_head(b);
	wrc_enable_upto(b, body, WRC_NEXT_HEAD);
	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	wrc_wait(b, look);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 4096, WRC_I_SIGNALED);
	wrc_set_local(b, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	prog->insn[answer].quiet = quiet;
	wrc_prog_args(b, look, answer);
}

static void broken_answers(void **state)
{
	struct wrc_build build;
	struct bench b;

	build_answer(&build, &b.prog, WRC_WQE_WRITE);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);

	/* A quiet load without its page; and one that reads the client. */
	build_answer(&build, &b.prog, WRC_WQE_NOP);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_FLOW, "is answered with opcode 0x09 or 0x00");
	bench_close(&b);
	build_answer(&build, &b.prog, WRC_WQE_READ);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_FLOW, "is answered with opcode 0x09 or 0x10");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_stores),
		cmocka_unit_test(broken_arguments),
		cmocka_unit_test(broken_allocs),
		cmocka_unit_test(broken_frees),
		cmocka_unit_test(broken_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
