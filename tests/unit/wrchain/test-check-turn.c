// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and recycle=node: tables with one word wrong, and programs that
 * renew their words too late, in part, or not at all.
 */
#include <stdlib.h>
#include "core/build.h"
#include "core/turn.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

static void good(void **state)
{
	char why[WRC_WHY_MAX];
	struct bench b;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int mode = 0; mode < 4; mode++) {
			bool strict = mode & 1, exchange = mode & 2;
			struct wrc_word_rule words[WRC_MAX_WORDS];

			if (exchange)
				bench_open_node_exchange(&b, chain, strict,
							 K << 2 * strict);
			else
				bench_open_node(&b, chain, strict,
						K << 2 * strict);
			expect_accepted(&b);
			if (wrc_table_check(&b.prog, &b.geom,
					    b.bind.table_iova, b.table, why))
				fail_msg("%s: %s", b.prog.name, why);
			/* What the client has to say counts nothing. */
			assert_int_equal(wrc_words(&b.prog, &b.geom, words),
					 1 + wrc_has_register(&b.prog));
			assert_int_equal(words[0].kind, WRC_WORD_NEXT);
			assert_int_equal(words[0].base, 0);
			assert_int_equal(words[0].step, 1);
			if (b.prog.nr_words > 1) {
				assert_int_equal(words[1].kind,
						 WRC_WORD_END);
				assert_int_equal(words[1].base, 0);
				assert_int_equal(words[1].step, 0);
			}
			assert_int_equal(b.geom.req_len, ODRP_WIRE_REQ_LEN);
			assert_int_equal(b.prog.tail_len, wrc_has_register(&b.prog) ?
					 ODRP_WIRE_END_LEN : 0);
			bench_close(&b);
		}
}

/* ---- words ---------------------------------------------------------------- */

static uint8_t *word(struct bench *b, const struct wrc_turn *t, uint32_t r)
{
	return b->table + wrc_turn_row(&b->prog, &b->geom, t->read, r) + t->off;
}

/* A byte of every word, in rows near and far. */
static void wrong_words(void **state)
{
	static const uint32_t at[] = { 0, 7, 0x40, 0x123 };
	char why[WRC_WHY_MAX];
	struct bench b;

	bench_open_node(&b, ODRP_WIRE_INVALIDATE, true, 8);
	for (unsigned int i = 0; i < b.prog.nr_turns; i++) {
		const struct wrc_turn *t = &b.prog.turn[i];
		uint8_t *p = word(&b, t, at[i % 4]) + i % t->width;

		*p ^= 1 << i % 8;
		assert_int_equal(wrc_table_check(&b.prog, &b.geom,
						 b.bind.table_iova, b.table,
						 why), -EPERM);
		assert_memory_equal(why, "table: ", 7);
		*p ^= 1 << i % 8;
	}
	bench_close(&b);
}

/* High rows of any H, and low ones that only the whole check looks at. */
static void wrong_anywhere(void **state)
{
	char why[WRC_WHY_MAX];
	uint32_t seed = 1;
	struct bench b;

	bench_open_node(&b, ODRP_WIRE_LOAD, false, 8);
	for (int n = 0; n < 6; n++) {
		uint32_t r = bench_random(&seed) & WRC_TURN_MASK;
		const struct wrc_turn *t = &b.prog.turn[bench_random(&seed) %
							b.prog.nr_turns];
		uint8_t *p = word(&b, t, r) + t->width - 1;

		*p ^= 0x80;
		if (t->kind == WRC_TURN_HIGH)
			p[-1] ^= 1;
		assert_int_equal(wrc_table_check(&b.prog, &b.geom,
						 b.bind.table_iova, b.table,
						 why), -EPERM);
		*p ^= 0x80;
		if (t->kind == WRC_TURN_HIGH)
			p[-1] ^= 1;
	}
	bench_close(&b);
}

/* ---- parts ------------------------------------------------------------------ */

/* Each byte is of one part, and each part is filled by itself, in any order. */
static void parts(void **state)
{
	struct wrc_table_part part;
	unsigned int n;
	uint32_t end;
	uint8_t *anew;
	struct bench b;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		bench_open_node(&b, chain, chain % 2, 8);
		anew = malloc(b.geom.table_len);
		assert_non_null(anew);
		memset(anew, 0x5a, b.geom.table_len);
		for (n = 0, end = 0; wrc_table_part(&b.prog, &b.geom, n, &part); n++) {
			assert_int_equal(part.off, end);
			assert_in_range(part.len, 1, 1 << 20);
			end += part.len;
		}
		assert_int_equal(end, b.geom.table_len);
		assert_false(wrc_table_part(&b.prog, &b.geom, n + 1, &part));
		while (n--) {
			wrc_table_part(&b.prog, &b.geom, n, &part);
			wrc_table_fill_part(&b.prog, &b.geom, b.bind.table_iova,
					    &part, anew);
		}
		assert_memory_equal(anew, b.table, b.geom.table_len);
		free(anew);
		bench_close(&b);
	}
}

static void expect_wrong_in(struct bench *b, const struct wrc_turn *t, uint32_t r)
{
	uint8_t *p = word(b, t, r);
	char why[WRC_WHY_MAX];
	struct wrc_table_part part;
	unsigned int n;

	*p ^= 1;
	for (n = 0; wrc_table_part(&b->prog, &b->geom, n, &part); n++) {
		bool is_in = p >= b->table + part.off &&
			     p < b->table + part.off + part.len;

		assert_int_equal(wrc_table_check_part(&b->prog, &b->geom,
						      b->bind.table_iova, &part,
						      b->table, why),
				 is_in ? -EPERM : 0);
	}
	*p ^= 1;
}

/* The first and the last row of a part are its own. */
static void wrong_in_part(void **state)
{
	static const uint32_t at[] = { 0, 0x1fff, 0x2000, 0xffff };
	struct bench b;

	bench_open_node(&b, ODRP_WIRE_LOAD, true, 8);
	for (unsigned int i = 0; i < b.prog.nr_turns; i++)
		expect_wrong_in(&b, &b.prog.turn[i], at[i % 4]);
	bench_close(&b);
}

/* The image's own verifier sees the rows of a lap and at the wraps. */
static void wrong_rows(void **state)
{
	static const uint32_t at[] = { 0, K, 0xffff, 0x10000, 0xffffff };
	struct bench b;

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		const struct wrc_turn *t;

		bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
		for (t = b.prog.turn; t->kind != WRC_TURN_ROW; t++)
			;
		word(&b, t, at[i])[7] ^= 8;
		expect_refusal(&b, WRC_RULE_TABLE, "as next row of l6");
		word(&b, t, at[i])[7] ^= 8;
		for (t = b.prog.turn; t->kind != WRC_TURN_HIGH; t++)
			;
		word(&b, t, at[i])[0] ^= 1;
		expect_refusal(&b, WRC_RULE_TABLE, "as next high of l7");
		bench_close(&b);
	}
}

/* Whatever a request says, it gets one of two opcodes. */
static void wrong_choices(void **state)
{
	static const unsigned int at[] = { 0, 1, 2, 0x80, 0xff };
	char why[WRC_WHY_MAX];
	struct bench b;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		uint8_t quiet = chain == ODRP_WIRE_LOAD ? WRC_WQE_WRITE :
							  WRC_WQE_NOP;
		uint8_t *opcode;

		bench_open_node(&b, chain, chain % 2, K);
		opcode = b.table + b.geom.table_choice;
		assert_int_equal(opcode[0], WRC_WQE_WRITE_IMM);
		for (unsigned int i = 1; i < 256; i++)
			assert_int_equal(opcode[i], quiet);
		for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
			opcode[at[i]] ^= WRC_WQE_SEND;
			expect_refusal(&b, WRC_RULE_TABLE, "table: choice ");
			assert_int_equal(wrc_table_check(&b.prog, &b.geom,
					b.bind.table_iova, b.table, why),
					-EPERM);
			opcode[at[i]] ^= WRC_WQE_SEND;
		}
		bench_close(&b);
	}
}

/* A word that is not renewed; its bytes in the row are another's. */
static void forget(struct bench *b, enum wrc_turn_kind kind)
{
	struct wrc_turn *t = b->prog.turn, *other = t;

	while (t->kind != kind)
		t++;
	while (other->kind == kind)
		other++;
	*t = *other;
}

/* Its bytes still come, and go where no word belongs. */
static void expect_missing(struct bench *b, enum wrc_turn_kind kind,
			   enum wrc_rule rule, const char *words)
{
	char why[WRC_WHY_MAX];

	bench_open_node(b, ODRP_WIRE_LOAD, true, K);
	forget(b, kind);
	assert_int_equal(refused_by(b, why),
			 1u << rule | 1u << WRC_RULE_TABLE);
	assert_int_equal(wrc_check_rules(&b->prog, &b->geom, &b->bind, b->arena,
					 1u << rule, why), -EPERM);
	assert_non_null(strstr(why, words));
	bench_close(b);
}

static void forgotten(void **state)
{
	struct bench b;

	expect_missing(&b, WRC_TURN_INDEX, WRC_RULE_INDEX,
		       "has its index renewed by no row");
	expect_missing(&b, WRC_TURN_POST, WRC_RULE_RQ,
		       "no row re-posts receive entries");

	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	forget(&b, WRC_TURN_ROW);
	expect_refusal(&b, WRC_RULE_TABLE, "l6@0 reads one row for ever");
	bench_close(&b);

	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	forget(&b, WRC_TURN_NO_ARG);
	expect_refusal(&b, WRC_RULE_TABLE, "of a lap ago is not taken away");
	bench_close(&b);
}

/* ---- programs -------------------------------------------------------------- */

enum bug {
	NO_BUG,
	POSTS_TOO_EARLY,
	POSTS_WHAT_IT_LIKES,
	ROW_IN_THE_MIDDLE,
	WORKS_UNASKED,
	LOOKS_TWICE,
	REQUEST_OVER_COUNT,
	REQUEST_OVER_ROW,
	CHOOSES,		/* no bug */
	CHOOSES_TWICE,
	CHOOSES_ITS_OWN,
	CHOOSES_BY_REQUEST,
};

static int choose(struct wrc_build *b)
{
	return wrc_read(b, wrc_at(WRC_SP_CHOICE), wrc_at(WRC_SP_NONE), 1);
}

/* wrc_recycle(), with one thing wrong. */
static void end(struct wrc_build *b, enum bug bug)
{
	struct wrc_insn row = {
		.op = WRC_WQE_READ, .flags = WRC_I_SIGNALED,
		.remote = wrc_at(WRC_SP_TURN),
	};
	int low, high, post;

	if (bug >= CHOOSES && bug != CHOOSES_BY_REQUEST)
		b->prog->choice = choose(b);
	if (bug == CHOOSES_TWICE)
		choose(b);
	b->prog->turns = b->prog->nr_insn;
	b->prog->nr_reads = 2;
	low = wrc_emit(b, &row);
	row.remote.at = 1;
	high = wrc_emit(b, &row);
	wrc_wait(b, bug == POSTS_TOO_EARLY ? low : high);
	post = wrc_write(b, wrc_at(WRC_SP_DBR),
			 wrc_reg(bug == POSTS_WHAT_IT_LIKES ? WRC_REG_SLOT :
							      WRC_REG_POST, 0),
			 sizeof(__be32), 0);
	wrc_posts(b, post);
	if (bug == POSTS_TOO_EARLY)
		wrc_wait(b, high);
}

/* A load with one thing wrong. */
static void build(struct wrc_build *b, struct wrc_prog *prog, enum bug bug)
{
	struct wrc_opts opts = { .recycle = WRC_RECYCLE_NODE };
	struct wrc_insn row = {
		.op = WRC_WQE_READ, .flags = WRC_I_SIGNALED, .nr_sge = 1,
		.remote = wrc_at(WRC_SP_TURN),
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), 4 } },
	};
	struct wrc_ref tt, opcode;
	int body, look, again, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_LOAD, "broken", &opts);
	body = wrc_prog_head(b);
	if (bug == WORKS_UNASKED)
		wrc_write(b, wrc_at(WRC_SP_BUF), wrc_at(WRC_SP_BUF), 8,
			  WRC_I_SIGNALED);
	if (bug == ROW_IN_THE_MIDDLE)
		wrc_emit(b, &row);
	look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	tt = wrc_field(look, WRC_F_RADDR, 0);
	wrc_wait(b, look);
	if (bug == LOOKS_TWICE) {
		again = wrc_read(b, tt, wrc_at(WRC_SP_NONE), 8);
		wrc_wait(b, again);
		wrc_enable_upto(b, body, wrc_send_en(b, WRC_NEXT_HEAD));
		wrc_set_local(b, again, 0,
			      wrc_field(wrc_read(b, wrc_at(WRC_SP_TT),
						 wrc_reg(WRC_REG_TRASH, 0), 8),
					WRC_F_RADDR, 0));
	} else {
		wrc_enable_upto(b, body, WRC_NEXT_HEAD);
	}
	go = wrc_send_en(b, 0);
	end(b, bug);
	wrc_client_queue(b);
	answer = bug >= CHOOSES ?
		 wrc_answer(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL), 4096,
			    WRC_I_SIGNALED) :
		 wrc_write_imm(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			       4096);
	b->prog->insn[answer].flags |= WRC_I_SIGNALED;
	opcode = wrc_field(answer, WRC_F_OPCODE, 0);
	if (bug == CHOOSES_TWICE) {
		opcode.delta = 1;
		wrc_set_local(b, prog->choice + 1, 0, opcode);
	}
	if (bug == CHOOSES_ITS_OWN)
		wrc_set_local(b, prog->choice, 0, opcode);
	wrc_enable_upto(b, go, answer);
	wrc_set_local(b, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	wrc_arg(b, 0, 8, tt);
	if (bug == CHOOSES_BY_REQUEST) {
		wrc_arg(b, 8, 3, wrc_reg(WRC_REG_TRASH, 0));
		wrc_arg(b, 11, 1, opcode);
	} else if (bug == REQUEST_OVER_COUNT) {
		wrc_arg(b, 8, 4, wrc_field(go, WRC_F_COUNT, 0));
	} else {
		wrc_arg(b, 8, 4, wrc_field(answer, WRC_F_IMM, 0));
	}
	wrc_arg(b, 12, 8, bug == REQUEST_OVER_ROW ?
		wrc_field(prog->turns, WRC_F_RADDR, 0) :
		wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
}

static void programs(void **state)
{
	static const struct {
		enum bug bug;
		enum wrc_rule rule;
		const char *words;
	} cases[] = {
		{ POSTS_TOO_EARLY, WRC_RULE_TABLE,
		  "may post the receive entry before its words are there" },
		{ POSTS_WHAT_IT_LIKES, WRC_RULE_TABLE,
		  "does not post what the row says" },
		{ ROW_IN_THE_MIDDLE, WRC_RULE_TABLE,
		  "reads rows behind the instance's end" },
		{ WORKS_UNASKED, WRC_RULE_TABLE,
		  "works although no request may have come" },
		{ REQUEST_OVER_COUNT, WRC_RULE_PATCH, "may not write" },
		{ CHOOSES_TWICE, WRC_RULE_TABLE,
		  "reads an opcode that is not the next answer's" },
		{ CHOOSES_ITS_OWN, WRC_RULE_PATCH,
		  "is armed from another instance" },
		{ CHOOSES_BY_REQUEST, WRC_RULE_PATCH, "may not write" },
	};
	struct wrc_build w;
	struct bench b;

	build(&w, &b.prog, NO_BUG);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	build(&w, &b.prog, CHOOSES);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build(&w, &b.prog, cases[i].bug);
		assert_int_equal(wrc_end(&w), 0);
		bench_image(&b, K);
		expect_refusal(&b, cases[i].rule, cases[i].words);
		bench_close(&b);
	}
}

/* One of two table addresses is taken away. */
static void second_address(void **state)
{
	struct wrc_build w;
	struct bench b;

	build(&w, &b.prog, LOOKS_TWICE);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_accepted(&b);
	forget(&b, WRC_TURN_NO_ARG);
	expect_refusal(&b, WRC_RULE_TABLE,
		       "uses a table address that is not taken away");
	bench_close(&b);
}

/* A request that says which row is next; the answer's address is open then. */
static void row_from_request(void **state)
{
	struct wrc_build w;
	char why[WRC_WHY_MAX];
	struct bench b;

	build(&w, &b.prog, REQUEST_OVER_ROW);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	assert_true(refused_by(&b, why) & 1u << WRC_RULE_PATCH);
	bench_close(&b);
}

/* ---- what only the image or the binding has wrong ------------------------------ */

static void images(void **state)
{
	struct bench b;

	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	memset(bench_field(&b, 2, WRC_F_RADDR, 0, 3), 0, 8);
	expect_refusal(&b, WRC_RULE_TABLE,
		       "l2@3 has a table address before its first request");
	bench_close(&b);

	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	b.bind.table_iova += 64;
	wrc_table_fill(&b.prog, &b.geom, b.bind.table_iova, b.table);
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena),
			 0);
	expect_refusal(&b, WRC_RULE_TABLE, "not at a multiple of 2^24");
	bench_close(&b);

	/* Another instance's row; another depth's table. */
	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	bench_field(&b, 5, WRC_F_RADDR, 0, 1)[7] ^= 64;
	expect_refusal(&b, WRC_RULE_ADDRESS, "outside its own table");
	bench_close(&b);

	bench_open_node(&b, ODRP_WIRE_INVALIDATE, true, K);
	b.prog.insn[b.prog.turns].remote.at = 1;
	b.prog.insn[b.prog.turns + 1].remote.at = 0;
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena),
			 0);
	expect_refusal(&b, WRC_RULE_TABLE, "is no READ of its part of the table");
	bench_close(&b);

	bench_open_node(&b, ODRP_WIRE_LOAD, true, K);
	b.prog.nr_words = 1;
	b.prog.word[0].kind = WRC_WORD_ANSWER;
	b.prog.word[0].insn = b.prog.nr_insn - 1;
	expect_refusal(&b, WRC_RULE_TABLE, "the client has a say in it, too");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(wrong_words),
		cmocka_unit_test(wrong_anywhere),
		cmocka_unit_test(parts),
		cmocka_unit_test(wrong_in_part),
		cmocka_unit_test(wrong_rows),
		cmocka_unit_test(wrong_choices),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(programs),
		cmocka_unit_test(second_address),
		cmocka_unit_test(row_from_request),
		cmocka_unit_test(images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
