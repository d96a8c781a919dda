// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The history checkers: known histories, right and wrong; and thousands of small random
 * ones, judged by trying every order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/history.h"

#define GET(v, i, r)	{ 1, v, 0, i, r, 0, HISTORY_GET, HISTORY_OK }
#define PUT(v, i, r)	{ 1, v, 0, i, r, 0, HISTORY_PUT, HISTORY_OK }
#define OPEN_PUT(v, i)	{ 1, v, 0, i, HISTORY_NEVER, 0, HISTORY_PUT, HISTORY_OPEN }
#define RMW(t, e, v, i, r) { 1, v, e, i, r, 0, HISTORY_RMW, HISTORY_##t }
#define OP(f, t, v, i, r) { 1, v, 0, i, r, 0, HISTORY_##f, HISTORY_##t }

static int order(const void *a, const void *b)
{
	const struct history_op *x = a, *y = b;

	return x->invoked < y->invoked ? -1 : x->invoked > y->invoked;
}

static int by_process(const void *a, const void *b)
{
	const struct history_op *x = a, *y = b;

	return x->process < y->process ? -1 : x->process > y->process;
}

/* Both checkers where both can. */
static int judge(const struct history_op *given, size_t nr)
{
	struct history_op op[16];
	struct history_verdict verdict;
	int by_search, by_zones;

	memcpy(op, given, nr * sizeof(*op));
	qsort(op, nr, sizeof(*op), order);
	by_search = history_check_search(op, nr, HISTORY_ABSENT, 2000, &verdict);
	assert_int_equal(verdict.undecided, 0);
	assert_int_equal(!verdict.why[0], by_search == 0);
	by_zones = history_check_zones(op, nr, HISTORY_ABSENT, &verdict);
	if (by_zones != -EINVAL)
		assert_int_equal(by_zones, by_search);
	assert_int_equal(history_check(op, nr, HISTORY_ABSENT, &verdict), by_search);
	return by_search;
}

#define RIGHT(...) do { const struct history_op h[] = { __VA_ARGS__ }; \
	assert_int_equal(judge(h, sizeof(h) / sizeof(h[0])), 0); } while (0)
#define WRONG(...) do { const struct history_op h[] = { __VA_ARGS__ }; \
	assert_int_equal(judge(h, sizeof(h) / sizeof(h[0])), -EILSEQ); } while (0)

static void test_registers(void **state)
{
	RIGHT(GET(0, 1, 2));
	RIGHT(PUT(5, 1, 2), GET(5, 3, 4));
	/* stale */
	WRONG(PUT(5, 1, 2), GET(0, 3, 4));
	WRONG(PUT(5, 1, 2), PUT(6, 3, 4), GET(5, 5, 6));
	/* concurrent: either */
	RIGHT(PUT(5, 1, 10), GET(0, 2, 3), GET(5, 4, 5));
	/* new, then old */
	WRONG(PUT(5, 1, 10), GET(5, 2, 3), GET(0, 4, 5));
	/* from the future, and from nowhere */
	WRONG(GET(5, 1, 2), PUT(5, 3, 4));
	WRONG(GET(7, 1, 2));
	/* two puts at once, seen in different orders */
	WRONG(PUT(5, 1, 10), PUT(6, 1, 10), GET(5, 11, 12), GET(6, 13, 14));
	WRONG(PUT(5, 1, 20), PUT(6, 1, 20), GET(5, 2, 3), GET(6, 4, 5), GET(5, 6, 7));
	RIGHT(PUT(5, 1, 20), PUT(6, 1, 20), GET(5, 2, 3), GET(6, 4, 5), GET(6, 6, 7));
}

static void test_unknown_fate(void **state)
{
	/* May have happened, at any time, or never. */
	RIGHT(PUT(5, 1, 2), OPEN_PUT(6, 3), GET(5, 4, 5));
	RIGHT(PUT(5, 1, 2), OPEN_PUT(6, 3), GET(5, 4, 5), GET(6, 100, 101));
	WRONG(PUT(5, 1, 2), OPEN_PUT(6, 3), GET(6, 4, 5), GET(5, 6, 7));
	/* but not before it began */
	WRONG(GET(6, 1, 2), OPEN_PUT(6, 3));
	RIGHT(OP(INSERT, OPEN, 5, 1, HISTORY_NEVER), GET(0, 2, 3), GET(5, 4, 5));
	RIGHT(PUT(5, 1, 2), OP(DELETE, OPEN, 0, 3, HISTORY_NEVER), GET(5, 4, 5),
	      GET(0, 6, 7));
	WRONG(PUT(5, 1, 2), OP(DELETE, OPEN, 0, 3, HISTORY_NEVER), GET(0, 4, 5),
	      GET(5, 6, 7));
}

/* RACE's insert: a get sees what an insert wrote that then fails as a duplicate. */
static void test_maps(void **state)
{
	RIGHT(OP(INSERT, OK, 5, 1, 2), OP(INSERT, FAIL, 6, 3, 4), GET(5, 5, 6));
	WRONG(OP(INSERT, OK, 5, 1, 2), OP(INSERT, OK, 6, 3, 4));
	WRONG(OP(INSERT, FAIL, 5, 1, 2));
	WRONG(OP(INSERT, FAIL, 5, 1, 6), GET(5, 2, 3));
	WRONG(OP(INSERT, OK, 5, 1, 10), OP(INSERT, FAIL, 6, 1, 10), GET(6, 2, 3),
	      GET(5, 4, 5));
	RIGHT(OP(INSERT, OK, 5, 1, 2), OP(DELETE, OK, 0, 3, 4), OP(INSERT, OK, 6, 5, 6));
	WRONG(OP(DELETE, OK, 0, 1, 2));
	RIGHT(OP(UPDATE, FAIL, 5, 1, 2), OP(DELETE, FAIL, 0, 3, 4));
	WRONG(OP(INSERT, OK, 5, 1, 2), OP(UPDATE, FAIL, 6, 3, 4));
	WRONG(OP(INSERT, OK, 5, 1, 2), OP(UPDATE, OK, 6, 3, 4), GET(5, 5, 6));
	RIGHT(OP(INSERT, OK, 5, 1, 2), { 1, 6, 5, 3, 4, 0, HISTORY_CAS, HISTORY_OK },
	      GET(6, 5, 6));
	WRONG(OP(INSERT, OK, 5, 1, 2), { 1, 6, 7, 3, 4, 0, HISTORY_CAS, HISTORY_OK });
}

/* Reads and writes at once: nothing comes in between, and what is open may be either. */
static void test_read_modify_write(void **state)
{
	RIGHT(RMW(OK, 0, 5, 1, 2), RMW(OK, 5, 6, 3, 4), GET(6, 5, 6));
	/* two have read the same, or the second one what had been written over */
	WRONG(RMW(OK, 0, 5, 1, 10), RMW(OK, 0, 6, 1, 10));
	WRONG(PUT(5, 1, 2), PUT(6, 3, 4), RMW(OK, 5, 7, 5, 6));
	WRONG(RMW(OK, 0, 5, 1, 10), RMW(OK, 5, 6, 1, 10), GET(5, 11, 12));
	RIGHT(PUT(5, 1, 2), RMW(OPEN, 0, 6, 3, HISTORY_NEVER), GET(5, 4, 5), GET(6, 6, 7));
	RIGHT(PUT(5, 1, 2), RMW(OPEN, 0, 6, 3, HISTORY_NEVER), RMW(OK, 6, 7, 4, 5));
	/* it has happened twice: before and behind another one */
	WRONG(RMW(OK, 6, 5, 1, 10), RMW(OK, 0, 6, 1, 10), GET(6, 11, 12));
}

/*
 * Combining with the published window: a follower that comes after the leader took the
 * value to be written is told that its put is done.
 */
static void test_lost_acknowledged_write(void **state)
{
	WRONG(PUT(5, 1, 10), PUT(6, 6, 10), GET(5, 12, 13), PUT(7, 14, 20),
	      GET(6, 21, 22));
	WRONG(PUT(5, 1, 10), PUT(6, 11, 12), GET(5, 13, 14));
}

static void test_not_such_a_history(void **state)
{
	struct history_op twice[] = { PUT(5, 1, 2), PUT(5, 3, 4) };
	struct history_verdict verdict;

	assert_int_equal(history_check_zones(twice, 2, 0, &verdict), -EINVAL);
}

/* Keys are judged apart, and the wrong one is named. */
static void test_keys(void **state)
{
	struct history_op op[] = {
		{ 3, 1, 0, 1, 2, 0, HISTORY_PUT, HISTORY_OK },
		{ 3, 1, 0, 3, 4, 0, HISTORY_GET, HISTORY_OK },
		{ 4, 2, 0, 1, 2, 1, HISTORY_PUT, HISTORY_OK },
		{ 4, 0, 0, 3, 4, 1, HISTORY_GET, HISTORY_OK },
		{ 5, 9, 0, 1, 2, 1, HISTORY_GET, HISTORY_OK },
	};
	struct history_verdict verdict;

	assert_int_equal(history_check_zones(op, 5, 0, &verdict), -EILSEQ);
	assert_int_equal(verdict.key, 4);
	assert_non_null(strstr(verdict.why, "key 4"));
	assert_int_equal(history_check_search(op, 5, 0, 1000, &verdict), -EILSEQ);
	assert_int_equal(verdict.key, 4);
	assert_int_equal(history_check_search(op, 2, 0, 1000, &verdict), 0);
	assert_int_equal(verdict.keys, 1);
	assert_int_equal(verdict.ops, 2);
}

/* What the key holds after op, or -1 if op cannot happen then with its outcome. */
static int apply(const struct history_op *op, uint64_t *value)
{
	int there = *value != 0;

	switch (op->f) {
	case HISTORY_GET:
		return op->value == *value ? 0 : -1;
	case HISTORY_PUT:
		*value = op->value;
		return 0;
	case HISTORY_INSERT:
		if (there)
			return op->type == HISTORY_FAIL ? 0 : -1;
		break;
	case HISTORY_UPDATE:
	case HISTORY_DELETE:
		if (!there)
			return op->type == HISTORY_FAIL ? 0 : -1;
		break;
	case HISTORY_RMW:
		if (op->type == HISTORY_OK && op->expect != *value)
			return -1;
		break;
	}
	if (op->type == HISTORY_FAIL)
		return -1;
	*value = op->f == HISTORY_DELETE ? 0 : op->value;
	return 0;
}

/* Every order that keeps what returned before another was invoked before that. */
static int any_order(const struct history_op *op, unsigned nr, unsigned done,
		     uint64_t value)
{
	unsigned i, k, closed = 0;
	uint64_t after;

	for (i = 0; i < nr; i++)
		closed |= (op[i].type != HISTORY_OPEN && !(done >> i & 1)) << i;
	if (!closed)
		return 1;
	for (i = 0; i < nr; i++) {
		if (done >> i & 1)
			continue;
		for (k = 0; k < nr; k++)
			if (closed >> k & 1 && op[k].returned < op[i].invoked)
				break;
		after = value;
		if (k < nr || apply(&op[i], &after))
			continue;
		if (any_order(op, nr, done | 1u << i, after))
			return 1;
	}
	return 0;
}

static uint32_t draw(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

static void random_op(struct history_op *op, uint32_t *seed, unsigned i,
		      unsigned nr_f)
{
	memset(op, 0, sizeof(*op));
	op->key = 1;
	op->process = i;
	op->f = draw(seed, nr_f);
	op->value = op->f == HISTORY_GET ? draw(seed, 7) : i + 1;
	if (nr_f > HISTORY_CAS && op->f == HISTORY_CAS)
		op->f = HISTORY_RMW;
	if (op->f == HISTORY_RMW)
		op->expect = draw(seed, 7);
	op->invoked = draw(seed, 12);
	op->returned = op->invoked + 1 + draw(seed, 6);
	op->type = HISTORY_OK;
	if (op->f >= HISTORY_INSERT && op->f != HISTORY_RMW && draw(seed, 3) == 0)
		op->type = HISTORY_FAIL;
	if (op->f != HISTORY_GET && draw(seed, 6) == 0) {
		op->type = HISTORY_OPEN;
		op->returned = HISTORY_NEVER;
	}
}

static void against_all_orders(unsigned nr_f, unsigned rounds, uint32_t seed)
{
	unsigned round, i, nr, right = 0;
	struct history_op op[6];
	int want;

	for (round = 0; round < rounds; round++) {
		nr = 2 + draw(&seed, 5);
		for (i = 0; i < nr; i++)
			random_op(&op[i], &seed, i, nr_f);
		want = any_order(op, nr, 0, 0) ? 0 : -EILSEQ;
		right += !want;
		assert_int_equal(judge(op, nr), want);
	}
	assert_in_range(right, rounds / 50, rounds - rounds / 50);
}

static void test_random_registers(void **state)
{
	against_all_orders(HISTORY_PUT + 1, 5000, 1);
}

static void test_random_maps(void **state)
{
	against_all_orders(HISTORY_DELETE + 1, 5000, 2);
	against_all_orders(HISTORY_RMW + 1, 5000, 3);
}

#define EVENT(index, time, type, process, f, value) \
	"{\"index\":" index ",\"time\":" time ",\"type\":\"" type "\"," \
	"\"process\":" process ",\"f\":\"" f "\",\"key\":7,\"value\":" value "}\n"

static void test_logs_and_export(void **state)
{
	static const char want[] =
		EVENT("0", "1", "invoke", "0", "put", "11")
		EVENT("1", "2", "invoke", "1", "get", "null")
		EVENT("2", "3", "ok", "0", "put", "11")
		EVENT("3", "4", "ok", "1", "get", "11")
		EVENT("4", "5", "invoke", "1", "delete", "null")
		EVENT("5", "5", "info", "1", "delete", "null");
	struct history_op room[2][2], *all;
	struct history_log log[2] = {
		{ room[0], 0, 2, 0 }, { room[1], 0, 2, 1 },
	};
	char text[2000] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	long put, get;
	size_t nr;

	put = history_invoke(&log[0], HISTORY_PUT, 7, 11, 0, 1);
	get = history_invoke(&log[1], HISTORY_GET, 7, 0, 0, 2);
	history_return(&log[0], put, HISTORY_OK, 0, 3);
	history_return(&log[1], get, HISTORY_OK, 11, 4);
	put = history_invoke(&log[1], HISTORY_DELETE, 7, 0, 0, 5);
	history_return(&log[1], put, HISTORY_OPEN, 0, 6);
	assert_int_equal(log[1].process, 0x10001);
	assert_int_equal(history_invoke(&log[1], HISTORY_GET, 7, 0, 0, 7), -1);
	all = history_merge(log, 2, &nr);
	assert_non_null(all);
	assert_int_equal(nr, 3);
	assert_int_equal(history_export(all, nr, out), 0);
	fclose(out);
	assert_string_equal(text, want);
	free(all);
}

/* What random histories of one key each become by a file. */
static void test_import(void **state)
{
	struct history_op op[6], *got;
	uint32_t seed = 3;
	unsigned round, i;
	size_t nr;
	FILE *file;

	for (round = 0; round < 1000; round++) {
		for (i = 0; i < 6; i++) {
			random_op(&op[i], &seed, i, HISTORY_RMW + 1);
			/* what a get of an unknown fate reads, and a delete writes, is nothing */
			if (op[i].f == HISTORY_DELETE)
				op[i].value = HISTORY_ABSENT;
		}
		qsort(op, 6, sizeof(*op), order);
		file = tmpfile();
		assert_int_equal(history_export(op, 6, file), 0);
		rewind(file);
		assert_int_equal(history_import(file, &got, &nr), 0);
		fclose(file);
		assert_int_equal(nr, 6);
		assert_int_equal(judge(got, nr), judge(op, nr));
		qsort(got, nr, sizeof(*got), by_process);
		qsort(op, 6, sizeof(*op), by_process);
		for (i = 0; i < 6; i++)
			assert_memory_equal(&got[i], &op[i],
					    offsetof(struct history_op, type) + 1);
		free(got);
	}
}

/* Lines that are no history. */
static void test_import_refuses(void **state)
{
	static const char *const bad[] = {
		"nonsense\n",
		"{\"time\":1}\n",
		EVENT("0", "1", "ok", "0", "get", "11"),
		EVENT("0", "1", "invoke", "0", "take", "11"),
		EVENT("0", "1", "invoke", "0", "get", "null")
		EVENT("1", "2", "ok", "1", "get", "null"),
		EVENT("0", "1", "invoke", "0", "get", "null")
		EVENT("1", "2", "ok", "0", "put", "1"),
		EVENT("0", "1", "invoke", "0", "cas", "[1]"),
	};
	struct history_op *got;
	unsigned i;
	size_t nr;
	FILE *in;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		in = fmemopen((void *)bad[i], strlen(bad[i]), "r");
		assert_int_equal(history_import(in, &got, &nr), -EBADMSG);
		fclose(in);
	}
}

/* More than 64 at a time are not decided, and said to be so. */
static void test_too_many_at_once(void **state)
{
	struct history_op op[65];
	struct history_verdict verdict;
	unsigned i;

	for (i = 0; i < 65; i++)
		op[i] = (struct history_op){ 1, i + 1, 0, 1, 100, i, HISTORY_INSERT,
					     HISTORY_OK };
	assert_int_equal(history_check_search(op, 65, 0, 1000, &verdict), 0);
	assert_int_equal(verdict.undecided, 1);
	assert_int_equal(history_check(op, 65, 0, &verdict), -EOVERFLOW);
	assert_string_equal(verdict.why, "1 of 1 keys could not be decided");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_unknown_fate),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_read_modify_write),
		cmocka_unit_test(test_lost_acknowledged_write),
		cmocka_unit_test(test_not_such_a_history),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_random_registers),
		cmocka_unit_test(test_random_maps),
		cmocka_unit_test(test_logs_and_export),
		cmocka_unit_test(test_import),
		cmocka_unit_test(test_import_refuses),
		cmocka_unit_test(test_too_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
