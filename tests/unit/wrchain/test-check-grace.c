// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and pages that others get: uses that the agent does not count
 * (rule grace), a page in the ring before it has been sent (rule own), and keys
 * that open more than their role needs (rule key).
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

static const struct wrc_ref nowhere = { .space = WRC_SP_NONE };

/* ---- uses that nobody counts ------------------------------------------------- */

/* The load that the agent arms; its answer signaled, or not. */
static void load(struct bench *b, const struct wrc_opts *opts, __u8 flags)
{
	int body, look, go, answer;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_LOAD, "broken", opts);
	body = wrc_prog_head(&w);
	wrc_enable_upto(&w, body, WRC_NEXT_HEAD);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), nowhere, 8);
	wrc_after(&w, look);
	go = wrc_send_en(&w, 0);
	answer = wrc_prog_answer(&w, go, ODRP_WIRE_PAGE_SIZE, flags);
	wrc_set_local(&w, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	wrc_prog_args(&w, look, answer);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
	b->bind.fence_orders = opts->order == WRC_ORDER_FENCE;
}

/* Nobody would know when the NIC has sent the page for the last time. */
static void unsignaled_load(void **state)
{
	struct bench b;

	for (int mode = 0; mode < 8; mode++) {
		struct wrc_opts opts = {
			.strict_index = mode & 1,
			.order = mode & 2 ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
			.recycle = mode & 4 ? WRC_RECYCLE_CLIENT :
					      WRC_RECYCLE_NODE,
		};

		load(&b, &opts, WRC_I_SIGNALED);
		expect_accepted(&b);
		bench_close(&b);
		load(&b, &opts, 0);
		expect_refusal(&b, WRC_RULE_GRACE,
			       "c0@0 sends a page and makes no completion");
		bench_close(&b);
	}
}

enum bug {
	NO_BUG,
	/* a store that copies, or a READ of a page */
	NOT_COUNTED,
	READS_LATE,
	/* a load that frees */
	GIVES_EARLY,
};

/* A mapped store that copies; or that READs eight bytes of the page besides. */
static void copy(struct bench *b, bool reads, enum bug bug)
{
	int body, look, rest, go, put, more = 0, page = 0, answer;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_MAPPED_STORE, "broken", NULL);
	wrc_page(&w);
	body = wrc_prog_head(&w);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_PAGE, 0), 8);
	wrc_wait(&w, look);
	if (reads) {
		more = wrc_read(&w, wrc_reg(WRC_REG_PAGE, 0), nowhere, 8);
		wrc_wait(&w, more);
	}
	put = wrc_read(&w, wrc_reg(WRC_REG_PAGE, 0), nowhere, 8);
	wrc_wait(&w, put);
	rest = wrc_send_en(&w, WRC_NEXT_HEAD);
	wrc_enable_upto(&w, body, rest);
	wrc_set_local(&w, put, 0,
		      wrc_field(wrc_write(&w, wrc_at(WRC_SP_POOL),
					  wrc_at(WRC_SP_BUF), 4096,
					  WRC_I_SIGNALED), WRC_F_RADDR, 0));
	wrc_wait(&w, rest + 1);
	if (reads) {
		page = wrc_read(&w, wrc_at(WRC_SP_POOL),
				wrc_reg(WRC_REG_TRASH, 0), 8);
		wrc_set_local(&w, more, 0, wrc_field(page, WRC_F_RADDR, 0));
	}
	if (reads && bug != READS_LATE)
		wrc_wait(&w, page);
	go = wrc_send_en(&w, 0);
	if (bug == READS_LATE)
		wrc_wait(&w, page);
	answer = wrc_prog_answer(&w, go, 0,
				 bug == NOT_COUNTED ? 0 : WRC_I_SIGNALED);
	wrc_prog_args(&w, look, answer);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

static void uncounted_copy(void **state)
{
	struct bench b;

	copy(&b, false, NO_BUG);
	expect_accepted(&b);
	bench_close(&b);
	copy(&b, false, NOT_COUNTED);
	expect_refusal(&b, WRC_RULE_GRACE, "no completion behind it says so");
	bench_close(&b);
	copy(&b, true, NO_BUG);
	expect_accepted(&b);
	bench_close(&b);
	copy(&b, true, READS_LATE);
	expect_refusal(&b, WRC_RULE_GRACE, "no completion behind it says so");
	bench_close(&b);
}

/* ---- an answer that is let go twice ------------------------------------------- */

/*
 * A load without its page: READs eight bytes of it, and answers.  Twice: a SEND_EN
 * behind the READ lets the answer go once more.
 */
static void answer_twice(struct bench *b, const struct wrc_opts *opts, bool early,
			 bool twice)
{
	int body, look, en, first = 0, peek, go, answer;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_LOAD, "broken", opts);
	body = wrc_prog_head(&w);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), nowhere, 8);
	wrc_wait(&w, look);
	en = wrc_send_en(&w, 0);
	wrc_enable_upto(&w, body, en);
	if (early)
		first = wrc_send_en(&w, 0);
	peek = wrc_read(&w, wrc_at(WRC_SP_POOL), wrc_reg(WRC_REG_TRASH, 0), 8);
	wrc_wait(&w, peek);
	if (twice && !early)
		first = wrc_send_en(&w, 0);
	go = wrc_send_en(&w, 0);
	wrc_enable_upto(&w, en, WRC_NEXT_HEAD);
	wrc_set_local(&w, look, 0, wrc_field(peek, WRC_F_RADDR, 0));
	answer = wrc_prog_answer(&w, go, 0, WRC_I_SIGNALED);
	if (first)
		wrc_enable_upto(&w, first, answer);
	wrc_prog_args(&w, look, answer);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

/* The first SEND_EN lets the answer go, whatever another one says later. */
static void answered_twice(void **state)
{
	char why[WRC_WHY_MAX];
	struct bench b;

	for (int mode = 0; mode < 2; mode++) {
		struct wrc_opts opts = {
			.recycle = mode ? WRC_RECYCLE_NODE : WRC_RECYCLE_CLIENT,
		};

		answer_twice(&b, &opts, false, false);
		expect_accepted(&b);
		bench_close(&b);
		answer_twice(&b, &opts, false, true);
		expect_refusal(&b, WRC_RULE_BALANCE,
			       "enables the client queue up to 1, and 1 is enabled already");
		bench_close(&b);
		answer_twice(&b, &opts, true, true);
		assert_true(refused_by(&b, why) & 1u << WRC_RULE_GRACE);
		bench_close(&b);
	}
}

/* ---- a page in the ring, and still to be sent ------------------------------------ */

/*
 * A load that frees its slot: takes the page, sends it, and puts it into the ring
 * when the client has it; or before.
 */
static void freeing_load(struct bench *b, enum bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), at;
	int body, take, push, swap, copy, go, en, put, done, page, answer;
	int seen = 0;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_LOAD, "broken", NULL);
	body = wrc_prog_head(&w);
	take = wrc_take(&w, wrc_at(WRC_SP_TT), nowhere);
	push = wrc_advance(&w, wrc_at(WRC_SP_TAIL), slot, 0);
	wrc_wait(&w, push);
	swap = wrc_endian_swap(&w, slot);
	copy = wrc_read(&w, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8);
	wrc_wait(&w, copy);
	go = wrc_send_en(&w, 0);
	if (bug != GIVES_EARLY)
		seen = wrc_wait(&w, 0);
	en = wrc_send_en(&w, WRC_NEXT_HEAD);
	wrc_enable_upto(&w, body, en);
	put = wrc_write(&w, wrc_at(WRC_SP_SLOT), nowhere, 8, WRC_I_SIGNALED);
	wrc_set_swapped(&w, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&w, put);
	done = wrc_send_en(&w, 0);

	wrc_client_queue(&w);
	page = wrc_write(&w, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL), 4096,
			 WRC_I_SIGNALED);
	answer = wrc_write_imm(&w, wrc_at(WRC_SP_PEER), nowhere, 0);
	wrc_enable_upto(&w, go, page);
	wrc_enable_upto(&w, done, answer);
	if (bug != GIVES_EARLY)
		wrc_wait_for(&w, seen, page);
	at = wrc_field(page, WRC_F_ADDR, 0);
	wrc_set_local(&w, take, 0, at);
	wrc_set_local(&w, put, 0, at);
	wrc_set_remote(&w, copy, wrc_field(page, WRC_F_RADDR, 0));
	wrc_set_local(&w, copy, 0, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_prog_args(&w, take, page);
	wrc_holds(&w, true, push, slot, take, at, put);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

static void given_before_sent(void **state)
{
	struct bench b;

	freeing_load(&b, NO_BUG);
	expect_accepted(&b);
	bench_close(&b);
	freeing_load(&b, GIVES_EARLY);
	expect_refusal(&b, WRC_RULE_OWN,
		       "gives a page away that c0 may still touch");
	bench_close(&b);
}

/* ---- keys ------------------------------------------------------------------------ */

/* With another key where one stands: the image is written for it. */
static void with_key(struct bench *b, __u32 *at, __u32 key, bool well)
{
	char why[WRC_WHY_MAX];
	__u32 was = *at;
	int err;

	*at = key;
	assert_int_equal(wrc_image_write(&b->prog, &b->geom, &b->bind,
					 b->arena), 0);
	err = wrc_check_rules(&b->prog, &b->geom, &b->bind, b->arena,
			      1u << WRC_RULE_KEY, why);
	assert_int_equal(err, well ? 0 : -EPERM);
	if (err)
		assert_non_null(strstr(why, "opens class"));
	*at = was;
}

static void two_roles(void **state)
{
	struct bench b;

	bench_open_keyed(&b, ODRP_WIRE_UNMAPPED_STORE, true, K);
	{
		__u32 *key[] = {
			&b.bind.arena_key, &b.bind.arena_rkey, &b.bind.buf_key,
			&b.bind.tt_key, &b.bind.free_key, &b.bind.pool_key,
			&b.bind.keymap_key, &b.bind.table_key,
		};
		unsigned int n = sizeof(key) / sizeof(key[0]);

		/* The first three open the queue's own memory. */
		for (unsigned int i = 0; i < n; i++)
			for (unsigned int j = 0; j < n; j++)
				with_key(&b, key[i], *key[j],
					 i == j || (i < 3 && j < 3));
	}
	bench_close(&b);
}

/* No other rule sees that: all operands have the key that their role needs. */
static void pool_by_table(void **state)
{
	struct bench b;

	bench_open_node(&b, ODRP_WIRE_LOAD, false, K);
	b.bind.tt_key = b.bind.pool_key;
	assert_int_equal(wrc_image_write(&b.prog, &b.geom, &b.bind, b.arena),
			 0);
	expect_refusal(&b, WRC_RULE_KEY, "key 0xe00 opens class tt and class pool");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsignaled_load),
		cmocka_unit_test(uncounted_copy),
		cmocka_unit_test(answered_twice),
		cmocka_unit_test(given_before_sent),
		cmocka_unit_test(two_roles),
		cmocka_unit_test(pool_by_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
