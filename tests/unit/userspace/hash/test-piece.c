/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scans in pieces, also while the table grows between them, and clear beside others. */
#include "rig.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define STAY	500u	/* keys that are there all the time */
#define MORE	60u	/* keys that come between two pieces */

struct pieces {
	struct rig rig;
	struct far_task *task;
	struct far_hash *hash;
	unsigned given[STAY];
	unsigned nr;		/* keys of the last piece */
	unsigned end_at;	/* each() ends the piece at this key of it; 0: never */
	uint64_t next;		/* key that nobody has had */
};

static void key_put(struct pieces *pieces, uint64_t key, uint64_t value)
{
	assert_int_equal(far_hash_put(pieces->task, pieces->hash, &key, sizeof(key), &value,
				      sizeof(value)), 0);
}

static void pieces_open(struct pieces *pieces, const struct rig_conf *conf)
{
	const struct far_hash_attr attr = { .expected = 1 };

	memset(pieces, 0, sizeof(*pieces));
	rig_open(&pieces->rig, conf);
	pieces->task = rig_enter(&pieces->rig, 0);
	assert_int_equal(far_hash_create(pieces->task, "t", &attr, &pieces->hash), 0);
	for (pieces->next = 0; pieces->next < STAY; pieces->next++)
		key_put(pieces, pieces->next, 0);
}

static void pieces_close(struct pieces *pieces)
{
	rig_check(&pieces->rig, pieces->task, NULL);
	far_hash_close(pieces->hash);
	far_leave(pieces->task);
	rig_close(&pieces->rig);
}

static int note(void *arg, const void *key, size_t key_len, const void *value,
		size_t value_len)
{
	struct pieces *pieces = arg;
	uint64_t number;

	assert_int_equal(key_len, sizeof(number));
	assert_int_equal(value_len, sizeof(number));
	(void)value;
	memcpy(&number, key, sizeof(number));
	if (number < STAY)
		pieces->given[number]++;
	pieces->nr++;
	return pieces->end_at && pieces->nr == pieces->end_at ? 77 : 0;
}

static uint64_t splits_of(struct pieces *pieces)
{
	struct far_hash_stats stats;

	assert_int_equal(far_hash_stat(pieces->task, pieces->hash, &stats), 0);
	return stats.splits;
}

/* What came at least, or at most, of the keys that stay. */
static unsigned given_least(const struct pieces *pieces)
{
	unsigned i, least = pieces->given[0];

	for (i = 1; i < STAY; i++)
		if (pieces->given[i] < least)
			least = pieces->given[i];
	return least;
}

static unsigned given_most(const struct pieces *pieces)
{
	unsigned i, most = 0;

	for (i = 0; i < STAY; i++)
		if (pieces->given[i] > most)
			most = pieces->given[i];
	return most;
}

/* Nobody else works: each key once, whatever ends a piece. */
static void alone(void **state)
{
	static const uint64_t most[] = { 0, 1, 7, 100000 };
	const struct rig_conf conf = { .clients = 1 };
	struct pieces pieces;
	uint64_t cursor, i;
	int ret;

	(void)state;
	pieces_open(&pieces, &conf);
	for (i = 0; i < 8; i++) {
		memset(pieces.given, 0, sizeof(pieces.given));
		pieces.end_at = i < 4 ? 0 : 3;
		cursor = 0;
		do {
			pieces.nr = 0;
			ret = far_hash_scan_from(pieces.task, pieces.hash, &cursor,
						 most[i % 4], note, &pieces);
			assert_true(ret == 0 || (ret == 77 && pieces.nr == 3));
			assert_true(!most[i % 4] || pieces.nr <= most[i % 4]);
		} while (cursor);
		assert_int_equal(given_least(&pieces), 1);
		assert_int_equal(given_most(&pieces), 1);
	}
	cursor = ~UINT64_C(0);
	assert_int_equal(far_hash_scan_from(pieces.task, pieces.hash, &cursor, 0, note,
					    &pieces), -EINVAL);
	assert_true(cursor == ~UINT64_C(0));
	pieces_close(&pieces);
}

/* Subtables are split between pieces, that of the cursor and others. */
static void growing(const struct rig_conf *conf, uint64_t most)
{
	struct pieces pieces;
	uint64_t cursor = 0, before, after, i;

	pieces_open(&pieces, conf);
	before = splits_of(&pieces);
	do {
		pieces.nr = 0;
		assert_int_equal(far_hash_scan_from(pieces.task, pieces.hash, &cursor, most,
						    note, &pieces), 0);
		for (i = 0; i < MORE && pieces.next < 20000; i++)
			key_put(&pieces, pieces.next++, 1);
		for (i = 0; i < 10; i++)
			key_put(&pieces, (i * 37 + pieces.next) % STAY, pieces.next);
	} while (cursor);
	after = splits_of(&pieces);
	print_message("%llu splits, keys came up to %u times\n",
		      (unsigned long long)(after - before), given_most(&pieces));
	assert_true(after - before > 20);
	assert_in_range(given_least(&pieces), 1, 1000);
	pieces_close(&pieces);
}

static void growing_mem(void **state)
{
	const struct rig_conf conf = { .clients = 1 };

	(void)state;
	growing(&conf, 1);
	growing(&conf, 7);
	growing(&conf, 40);
}

static void growing_sim(void **state)
{
	const struct rig_conf conf = {
		.sim = 1, .clients = 1, .seed = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};

	(void)state;
	growing(&conf, 13);
}

/* A client that inserts and deletes until it is told to stop. */
struct other {
	struct far_hash *hash;
	atomic_int stop, failed;
};

static void other_work(struct far_task *task, void *arg)
{
	struct other *other = arg;
	uint64_t key = 1000000 * (1 + far_task_index(task));
	int err = 0;

	while (!err && !atomic_load(&other->stop)) {
		err = far_hash_put(task, other->hash, &key, sizeof(key), &key, sizeof(key));
		if (!err)
			err = far_hash_delete(task, other->hash, &key, sizeof(key));
		if (err == -ENOENT)
			err = 0;
		key++;
	}
	if (err)
		atomic_store(&other->failed, err);
}

static void clears(void **state)
{
	const struct rig_conf conf = { .clients = 2 };
	struct far_hash_stats stats;
	struct far_thread *thread;
	struct pieces pieces;
	struct far_task *task;
	struct other other;
	uint64_t key, value;

	(void)state;
	pieces_open(&pieces, &conf);
	far_leave(pieces.task);
	task = rig_enter(&pieces.rig, 1);
	other = (struct other) { .hash = NULL };
	assert_int_equal(far_hash_open(task, "t", &other.hash), 0);
	far_leave(task);
	pieces.task = rig_enter(&pieces.rig, 0);
	assert_int_equal(far_thread_start(pieces.rig.far[1], 4, other_work, &other, &thread),
			 0);
	assert_int_equal(far_hash_clear(pieces.task, pieces.hash), 0);
	for (key = 0; key < STAY; key++)
		assert_int_equal(far_hash_get(pieces.task, pieces.hash, &key, sizeof(key),
					      &value, sizeof(value), NULL), -ENOENT);
	atomic_store(&other.stop, 1);
	far_thread_join(thread);
	assert_int_equal(atomic_load(&other.failed), 0);
	assert_int_equal(far_hash_clear(pieces.task, pieces.hash), 0);
	assert_int_equal(far_hash_stat(pieces.task, pieces.hash, &stats), 0);
	assert_int_equal(stats.keys, 0);
	far_hash_close(other.hash);
	pieces_close(&pieces);
}

/* ---- samples ---- */

#define SAMPLES	4000u
#define SAMPLE	4u

/* Each key is met, and none much more often than others; a sample has no key twice. */
static void samples(void **state)
{
	struct pieces pieces;
	unsigned i, k, most = 0, nr = 0;

	(void)state;
	pieces_open(&pieces, &(struct rig_conf){ .seed = 6 });
	assert_true(splits_of(&pieces) > 0);
	for (i = 0; i < SAMPLES; i++) {
		pieces.nr = 0;
		assert_int_equal(far_hash_sample(pieces.task, pieces.hash, SAMPLE, note, &pieces),
				 0);
		assert_int_equal(pieces.nr, SAMPLE);
		nr += pieces.nr;
	}
	for (k = 0; k < STAY; k++)
		most = pieces.given[k] > most ? pieces.given[k] : most;
	/* 32 of each on average */
	assert_true(given_least(&pieces) > nr / STAY / 4);
	assert_true(most < nr / STAY * 4);
	/* all of one part, each once, wherever it begins; the end as each() says */
	memset(pieces.given, 0, sizeof(pieces.given));
	pieces.nr = 0;
	assert_int_equal(far_hash_sample(pieces.task, pieces.hash, STAY, note, &pieces), 0);
	assert_true(pieces.nr > SAMPLE && pieces.nr < STAY);
	for (k = 0; k < STAY; k++)
		assert_true(pieces.given[k] <= 1);
	pieces.nr = 0;
	pieces.end_at = 2;
	assert_int_equal(far_hash_sample(pieces.task, pieces.hash, SAMPLE, note, &pieces), 77);
	assert_int_equal(pieces.nr, 2);
	assert_int_equal(far_hash_sample(pieces.task, pieces.hash, 0, note, &pieces), -EINVAL);
	pieces.nr = pieces.end_at = 0;
	assert_int_equal(far_hash_clear(pieces.task, pieces.hash), 0);
	assert_int_equal(far_hash_sample(pieces.task, pieces.hash, SAMPLE, note, &pieces), 0);
	assert_int_equal(pieces.nr, 0);
	pieces_close(&pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(samples),
		cmocka_unit_test(growing_mem),
		cmocka_unit_test(growing_sim),
		cmocka_unit_test(clears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
