/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What operations of the B+ tree post, counted: verbs, round trips and bytes, with inner
 * nodes, lock words and places known, and without.
 */
#include "kind.h"

#include <string.h>

#include "../../../../userspace/btree/btree_priv.h"
#include "../../../../userspace/core/stats.h"

#define KEYS	2000u

struct bench {
	struct rig rig;
	struct far_task *task;
	struct far_btree *tree;
	unsigned value_size, key_size;
	uint8_t value[BTREE_MAX_SIZE];
};

static const uint8_t *key_of(uint64_t i)
{
	static uint8_t key[BTREE_MAX_SIZE];

	i = __builtin_bswap64(i);
	memcpy(key, &i, sizeof(i));
	return key;
}

static void bench_open(struct bench *bench, unsigned key_size, unsigned value_size,
		       unsigned without)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .without = without };
	const struct far_btree_attr attr = {
		.key_size = key_size, .value_size = value_size,
	};
	uint64_t i;

	memset(bench, 0, sizeof(*bench));
	bench->key_size = key_size;
	bench->value_size = value_size;
	rig_open(&bench->rig, &conf);
	bench->task = rig_enter(&bench->rig, 0);
	assert_int_equal(far_btree_create(bench->task, "t", &attr, &bench->tree), 0);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(far_btree_insert(bench->task, bench->tree, key_of(i),
						  key_size, bench->value, value_size), 0);
}

static void bench_close(struct bench *bench)
{
	far_btree_close(bench->tree);
	far_leave(bench->task);
	rig_close(&bench->rig);
}

static void get(struct bench *bench, uint64_t i)
{
	assert_int_equal(far_btree_get(bench->task, bench->tree, key_of(i), bench->key_size,
				       bench->value, sizeof(bench->value), NULL), 0);
}

static void update(struct bench *bench, uint64_t i)
{
	assert_int_equal(far_btree_update(bench->task, bench->tree, key_of(i),
					  bench->key_size, bench->value,
					  bench->value_size), 0);
}

static void get_of_a_place(void **state)
{
	struct bench bench;
	struct far_stats stats;

	(void)state;
	bench_open(&bench, 8, 8, 0);
	get(&bench, 77);
	rig_counted(&bench.rig, 0);
	get(&bench, 77);
	stats = rig_counted(&bench.rig, 0);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.round_trips, 1);
	assert_int_equal(stats.writes + stats.cas + stats.faa, 0);
	assert_int_equal(stats.payload_bytes, 24);
	assert_true(stats.wire_bytes <= 208);
	bench_close(&bench);
}

/* With inner nodes known, and no place: a neighbourhood. */
static void get_of_a_leaf(void **state)
{
	struct bench bench;
	struct far_stats stats;
	uint64_t i;

	(void)state;
	bench_open(&bench, 8, 8, 0);
	/* who opens it again knows nothing; gets of neighbours bring the inner nodes */
	far_btree_close(bench.tree);
	assert_int_equal(far_btree_open(bench.task, "t", &bench.tree), 0);
	for (i = 0; i < KEYS; i += 2)
		get(&bench, i);
	rig_counted(&bench.rig, 0);
	get(&bench, 1001);
	stats = rig_counted(&bench.rig, 0);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.round_trips, 1);
	assert_int_equal(stats.payload_bytes, BTREE_NEAR * bench.tree->geo[0].entry);
	assert_true(stats.wire_bytes <= 336);
	/* of a leaf that it has never seen, the head beside it: less than all of it */
	far_btree_close(bench.tree);
	assert_int_equal(far_btree_open(bench.task, "t", &bench.tree), 0);
	get(&bench, 1041);
	rig_counted(&bench.rig, 0);
	get(&bench, 1001);
	stats = rig_counted(&bench.rig, 0);
	assert_int_equal(stats.reads, 2);
	assert_int_equal(stats.round_trips, 1);
	assert_int_equal(stats.payload_bytes, bench.tree->geo[0].head +
			 BTREE_NEAR * bench.tree->geo[0].entry);
	assert_true(stats.wire_bytes <= 536);
	/* and with Sherman's ways: all of it */
	btree_set_variant(bench.tree, BTREE_SHERMAN);
	rig_counted(&bench.rig, 0);
	get(&bench, 1001);
	stats = rig_counted(&bench.rig, 0);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.payload_bytes, bench.tree->geo[0].len);
	bench_close(&bench);
}

static void update_alone(void **state)
{
	struct bench bench;
	struct far_stats stats;

	(void)state;
	bench_open(&bench, 8, 8, FAR_WITHOUT_COMBINE);
	get(&bench, 500);
	update(&bench, 500);
	rig_counted(&bench.rig, 0);
	update(&bench, 500);
	stats = rig_counted(&bench.rig, 0);
	assert_int_equal(stats.cas, 1);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.writes, 3);
	assert_int_equal(stats.round_trips, 2);
	bench_close(&bench);
}

/* Tasks that want one leaf at a time: most of them get it handed over. */
struct crowd {
	struct bench *bench;
	unsigned each;
};

static void crowd_task(struct far_task *task, void *arg)
{
	struct crowd *crowd = arg;
	struct bench *bench = crowd->bench;
	uint8_t key[8];
	unsigned i;

	memcpy(key, key_of(500 + far_task_index(task)), 8);
	for (i = 0; i < crowd->each; i++)
		assert_int_equal(far_btree_update(task, bench->tree, key, 8, bench->value, 8),
				 0);
}

static void update_handed_over(void **state)
{
	struct bench bench;
	struct crowd crowd = { &bench, 200 };
	struct far_thread *thread;
	struct far_stats stats;
	double trips;

	(void)state;
	bench_open(&bench, 8, 8, FAR_WITHOUT_COMBINE);
	rig_counted(&bench.rig, 0);
	assert_int_equal(far_thread_start(bench.rig.far[0], 8, crowd_task, &crowd, &thread),
			 0);
	far_thread_join(thread);
	stats = rig_counted(&bench.rig, 0);
	trips = (double)stats.round_trips / stats.ops;
	print_message("%.3f round trips, %.3f CAS per update of 8 tasks on a leaf\n", trips,
		      (double)stats.cas / stats.ops);
	/* 8 hand-overs after each take: 10 round trips for 9 updates */
	assert_true(trips < 1.2);
	assert_true(stats.cas * 8 < stats.ops);
	bench_close(&bench);
}

static double amplified(struct bench *bench, uint64_t i)
{
	rig_counted(&bench->rig, 0);
	get(bench, i);
	return rig_counted(&bench->rig, 0).payload_bytes / 96.0;
}

/* Bytes that are read and written for each byte of key and value. */
static void amplification(void **state)
{
	struct bench bench;
	double hit, miss;

	(void)state;
	bench_open(&bench, 32, 64, 0);
	get(&bench, 9);
	hit = amplified(&bench, 9);
	far_btree_close(bench.tree);
	assert_int_equal(far_btree_open(bench.task, "t", &bench.tree), 0);
	get(&bench, 8);
	get(&bench, 12);
	/* neighbours of one leaf: its version is known now */
	miss = amplified(&bench, 11);
	print_message("32-byte keys, 64-byte values: %.2f with a place, %.2f without, whole "
		      "leaves %.1f\n", hit, miss, bench.tree->geo[0].len / 96.0);
	assert_true(hit < 3);
	assert_true(miss < 9);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_of_a_place),
		cmocka_unit_test(get_of_a_leaf),
		cmocka_unit_test(update_alone),
		cmocka_unit_test(update_handed_over),
		cmocka_unit_test(amplification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
