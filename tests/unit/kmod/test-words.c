/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recycle words: layout, moduli, wraps, and tables that are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/words.h"

static const struct odrp_wire_word table[] = {
	{ ODRP_WIRE_WORD_INDEX,	 2, 0xfeff },		/* base 0xfffe (BE) */
	{ ODRP_WIRE_WORD_ENABLE, 3, 0x0100 },		/* base 1 */
	{ ODRP_WIRE_WORD_WAIT,	 255, 0xffff },		/* base 0xffff */
	{ ODRP_WIRE_WORD_ANSWER, 8, 0x0900 },		/* base 9 */
	{ ODRP_WIRE_WORD_DBR,	 0, 0x3412 },		/* base 0x1234 */
};

static struct odrp_words ws;

static int setup(void **state)
{
	unsigned int bad;

	return odrp_words_parse(&ws, table, 5, 15, &bad);
}

static void expect(u32 r, const u8 *want)
{
	u8 buf[32];

	memset(buf, 0xee, sizeof(buf));
	odrp_words_make(&ws, r, false, false, buf + 1);
	assert_int_equal(buf[0], 0xee);
	assert_memory_equal(buf + 1, want, 15);
	assert_int_equal(buf[16], 0xee);
}

static void test_words_layout(void **state)
{
	static const u8 want[] = {
		0xff, 0xfe, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 9, 0, 0, 0x12, 0x34,
	};

	assert_int_equal(ws.len, 15);
	expect(0, want);
}

/* Neither byte of the answer's word counts with the requests. */
static void test_words_quiet(void **state)
{
	unsigned int bad;
	u8 buf[15];

	assert_true(ws.may_be_quiet);
	odrp_words_make(&ws, 5, true, false, buf);
	assert_int_equal(buf[10], 8);
	odrp_words_make(&ws, 5, false, false, buf);
	assert_int_equal(buf[10], 9);
	assert_int_equal(odrp_words_parse(&ws, table, 3, 10, &bad), 0);
	assert_false(ws.may_be_quiet);
	assert_int_equal(odrp_words_parse(&ws, table, 5, 15, &bad), 0);
	assert_false(ws.ahead);
}

/* The same, said by the request before. */
static void test_words_next(void **state)
{
	static const struct odrp_wire_word tab[] = {
		{ ODRP_WIRE_WORD_NEXT, 1, 0 }, { ODRP_WIRE_WORD_END, 0, 0 },
	};
	struct odrp_words w;
	unsigned int bad;
	u8 buf[5] = { 9, 9, 9, 9, 9 };

	assert_int_equal(odrp_words_parse(&w, tab, 2, 1, &bad), 0);
	assert_true(w.may_be_quiet);
	assert_true(w.ahead);
	odrp_words_make(&w, 0xffff, false, true, buf);
	assert_memory_equal(buf, "\1\0\0\0\0", 5);
	odrp_words_make(&w, 5, true, false, buf);
	assert_memory_equal(buf, "\0\0\0\0\0", 5);
}

static void test_words_wrap(void **state)
{
	/* r = 1: 0xfffe + 2 wraps at 2^16, 0xffff + 255 does not at 2^24. */
	static const u8 one[] = {
		0, 0, 0, 0, 0, 4, 0, 1, 0, 0xfe, 9, 0, 0, 0x12, 0x34,
	};
	/* r = 65793: 0xffff + 65793 * 255 = 0x100fffe, over 2^24. */
	static const u8 more[] = {
		0x02, 0x00, 0, 0, 0x03, 0x04, 0, 0, 0xff, 0xfe,
		9, 0, 0, 0x12, 0x34,
	};

	expect(1, one);
	expect(65793, more);
}

/* The request number itself may wrap: the next after 2^32 - 1 follows on. */
static void test_words_number_wraps(void **state)
{
	u8 last[15], first[15];
	u32 a, b;

	odrp_words_make(&ws, UINT32_MAX, false, false, last);
	odrp_words_make(&ws, 0, false, false, first);
	a = last[7] << 16 | last[8] << 8 | last[9];
	b = first[7] << 16 | first[8] << 8 | first[9];
	assert_int_equal((a + 255) & 0xffffff, b);
	a = last[0] << 8 | last[1];
	b = first[0] << 8 | first[1];
	assert_int_equal((a + 2) & 0xffff, b);
}

static void test_words_refused(void **state)
{
	struct odrp_wire_word t[ODRP_WIRE_MAX_WORDS + 1] = { 0 };
	unsigned int i, bad = 99;
	struct odrp_words w;

	for (i = 0; i < ODRP_WIRE_MAX_WORDS + 1; i++)
		t[i].kind = ODRP_WIRE_WORD_WAIT;
	assert_int_equal(odrp_words_parse(&w, t, ODRP_WIRE_MAX_WORDS,
					  4 * ODRP_WIRE_MAX_WORDS, &bad), 0);
	assert_int_equal(w.len, 4 * ODRP_WIRE_MAX_WORDS);
	assert_int_equal(odrp_words_parse(&w, t, ODRP_WIRE_MAX_WORDS + 1,
					  4 * ODRP_WIRE_MAX_WORDS, &bad),
			 -E2BIG);
	t[7].kind = 0;
	assert_int_equal(odrp_words_parse(&w, t, 8, 32, &bad), -EPROTO);
	assert_int_equal(bad, 7);
	t[7].kind = ODRP_WIRE_WORD_ANSWER + 1;
	assert_int_equal(odrp_words_parse(&w, t, 8, 32, &bad), -EPROTO);
	assert_int_equal(odrp_words_parse(&w, t, 0, 0, &bad), 0);
	assert_int_equal(w.len, 0);
}

/* A memory node that recycles by itself: what a store ends with is 0, for ever. */
static void test_words_end(void **state)
{
	static const u32 requests[] = { 0, 1, 0xffff, 0x10000, 0xffffffff };
	struct odrp_wire_word end = { .kind = ODRP_WIRE_WORD_END };
	struct odrp_words w;
	unsigned int i, bad;
	u8 buf[4];

	assert_int_equal(odrp_words_parse(&w, &end, 1, 0, &bad), 0);
	assert_int_equal(w.len, 4);
	assert_int_equal(w.head_len, 0);
	assert_false(w.may_be_quiet);
	for (i = 0; i < 5; i++) {
		memset(buf, 0xff, 4);
		odrp_words_make(&w, requests[i], false, false, buf);
		assert_memory_equal(buf, "\0\0\0\0", 4);
	}
}

/* Words behind the page begin where one ends, and are made like the others. */
static void test_words_behind(void **state)
{
	u8 whole[15], buf[15];
	unsigned int bad;
	struct odrp_words w;

	odrp_words_make(&ws, 7, false, false, whole);
	assert_int_equal(odrp_words_parse(&w, table, 5, 11, &bad), 0);
	assert_int_equal(w.head_len, 11);
	assert_int_equal(w.len, 15);
	odrp_words_make(&w, 7, false, false, buf);
	assert_memory_equal(buf, whole, 15);
	assert_int_equal(odrp_words_parse(&w, table, 5, 0, &bad), 0);
	assert_int_equal(odrp_words_parse(&w, table, 5, 12, &bad), -EMSGSIZE);
	assert_int_equal(w.len, 15);
	assert_int_equal(odrp_words_parse(&w, table, 5, 16, &bad), -EMSGSIZE);
}

/* A memory node that knows its counts: requests are their fixed head. */
static void test_words_none(void **state)
{
	struct odrp_words w = { .may_be_quiet = true, .len = 7, .nr = 3 };
	u8 byte = 0x5a;
	unsigned int bad;

	assert_int_equal(odrp_words_parse(&w, NULL, 0, 0, &bad), 0);
	assert_int_equal(w.nr, 0);
	assert_int_equal(w.len, 0);
	assert_false(w.may_be_quiet);
	odrp_words_make(&w, 17, false, false, &byte);
	assert_int_equal(byte, 0x5a);
}

static u32 rnd(u64 *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Of random bytes, mostly of kinds that exist; the memory ends where it should. */
static unsigned int random_table(u64 *seed, struct odrp_wire_word **ret_tab,
				 unsigned int *ret_len)
{
	static const u8 lens[] = { 0, 2, 4, 4, 4, 1, 0, 4, 1 };
	unsigned int nr = rnd(seed) % (ODRP_WIRE_MAX_WORDS + 3), i;
	struct odrp_wire_word *tab = malloc(nr * sizeof(*tab) + 1);

	*ret_len = 0;
	for (i = 0; i < nr; i++) {
		tab[i].kind = rnd(seed) % 64 ? 1 + rnd(seed) % 8 : rnd(seed);
		if (tab[i].kind == ODRP_WIRE_WORD_EARLY && rnd(seed) % 64)
			tab[i].kind = ODRP_WIRE_WORD_NEXT;
		tab[i].step = rnd(seed);
		tab[i].base = rnd(seed);
		if (*ret_len != UINT32_MAX)
			*ret_len = tab[i].kind > 8 || !lens[tab[i].kind] ?
				   UINT32_MAX : *ret_len + lens[tab[i].kind];
	}
	*ret_tab = tab;
	return nr;
}

/* Any table: refused, or words that fill what was counted to the byte. */
static void test_words_any(void **state)
{
	struct odrp_wire_word *tab;
	unsigned int i, nr, len, head, bad, taken = 0;
	u64 seed = 20261123, was;
	struct odrp_words w;
	u8 *buf;
	int err;

	for (i = 0; i < 200000; i++) {
		was = seed;
		nr = random_table(&seed, &tab, &len);
		head = rnd(&seed) % (rnd(&seed) % 2 ? 8 : 200);
		bad = 99;
		err = odrp_words_parse(&w, tab, nr, head, &bad);
		if (nr > ODRP_WIRE_MAX_WORDS)
			assert_int_equal(err, -E2BIG);
		else if (len == UINT32_MAX)
			assert_int_equal(err, -EPROTO);
		else if (err != 0 && err != -EMSGSIZE)
			fail_msg("seed %llu: error %d",
				 (unsigned long long)was, err);
		assert_true(err != -EPROTO || bad < nr);
		if (!err && (w.nr != nr || w.len != len || w.head_len != head ||
			     head > len || len + 24 > ODRP_HDR_MAX))
			fail_msg("seed %llu: %u words, %u bytes, %u in front",
				 (unsigned long long)was, w.nr, w.len,
				 w.head_len);
		if (!err) {
			taken++;
			buf = malloc(len + 1);
			buf[len] = 0x5a;
			odrp_words_make(&w, rnd(&seed), rnd(&seed) % 2,
					rnd(&seed) % 2, buf);
			assert_int_equal(buf[len], 0x5a);
			free(buf);
		}
		free(tab);
	}
	assert_true(taken > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_layout),
		cmocka_unit_test(test_words_quiet),
		cmocka_unit_test(test_words_next),
		cmocka_unit_test(test_words_wrap),
		cmocka_unit_test(test_words_number_wraps),
		cmocka_unit_test(test_words_end),
		cmocka_unit_test(test_words_behind),
		cmocka_unit_test(test_words_refused),
		cmocka_unit_test(test_words_none),
		cmocka_unit_test(test_words_any),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
