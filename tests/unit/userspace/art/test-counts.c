/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What operations cost when nobody is in the way: verbs, round trips and bytes, the same
 * on any back end. docs/far-trees.md has the same numbers.
 */
#include <stdlib.h>
#include <string.h>

#include <far/art.h>

#include "../../../../userspace/art/layout.h"
#include "../../../../userspace/base/rng.h"
#include "kind.h"

#define KEYS	2000u

struct bed {
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
	size_t key_len, value_len;
};

/* Numbers far from each other, so that leaves hang from nodes of few slots. */
static void key_of(const struct bed *bed, unsigned i, uint8_t *key)
{
	uint64_t number = far_rng_mix(i + 1);

	memset(key, 'k', bed->key_len);
	memcpy(key, &number, sizeof(number));
}

static void bed_open(struct bed *bed, size_t key_len, size_t value_len)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .cache = 8 << 20 };
	uint8_t key[ART_MAX_KEY], value[64] = { 0 };
	unsigned i, round;

	*bed = (struct bed) { .key_len = key_len, .value_len = value_len };
	rig_open(&bed->rig, &conf);
	bed->task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(bed->task, "t", &bed->art), 0);
	for (i = 0; i < KEYS; i++) {
		key_of(bed, i, key);
		assert_int_equal(far_art_insert(bed->task, bed->art, key, key_len, value,
						value_len), 0);
	}
	/* all nodes are in the cache, as of an epoch in which all leaves were there */
	far_sleep(bed->task, 20000000);
	far_art_close(bed->art);
	assert_int_equal(far_art_open(bed->task, "t", &bed->art), 0);
	for (round = 0; round < 2; round++)
		for (i = 0; i < KEYS; i++) {
			key_of(bed, i, key);
			assert_int_equal(far_art_get(bed->task, bed->art, key, key_len,
						     value, sizeof(value), NULL), 0);
		}
	rig_counted(&bed->rig, 0);
}

static void bed_close(struct bed *bed)
{
	rig_check(&bed->rig, bed->task, NULL);
	far_art_close(bed->art);
	far_leave(bed->task);
	rig_close(&bed->rig);
}

/* One READ of a leaf: key and value, and 8 bytes. */
static void search(void **state)
{
	struct far_stats stats;
	uint8_t key[ART_MAX_KEY], value[64];
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed, 32, 64);
	for (i = 0; i < KEYS; i++) {
		key_of(&bed, i, key);
		assert_int_equal(far_art_get(bed.task, bed.art, key, 32, value, 64, NULL), 0);
	}
	stats = rig_counted(&bed.rig, 0);
	assert_int_equal(stats.reads, KEYS);
	assert_int_equal(stats.round_trips, KEYS);
	assert_int_equal(stats.writes + stats.cas + stats.faa, 0);
	assert_int_equal(stats.payload_bytes, KEYS * (8 + 32 + 64));
	assert_int_equal(stats.cache_hits, KEYS);
	/* read amplification: at most 1.10 */
	assert_true(stats.payload_bytes * 100 <= (uint64_t)KEYS * (32 + 64) * 110);
	bed_close(&bed);
}

/* READ of the leaf, and WRITE of the value; nothing is locked, nothing can fail. */
static void update_in_place(void **state)
{
	struct far_stats stats;
	uint8_t key[ART_MAX_KEY];
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed, 8, 8);
	for (i = 0; i < KEYS; i++) {
		key_of(&bed, i, key);
		assert_int_equal(far_art_update(bed.task, bed.art, key, 8, "12345678", 8), 0);
	}
	stats = rig_counted(&bed.rig, 0);
	assert_int_equal(stats.reads, KEYS);
	assert_int_equal(stats.writes, KEYS);
	assert_int_equal(stats.cas + stats.faa, 0);
	assert_int_equal(stats.round_trips, 2 * KEYS);
	assert_int_equal(stats.payload_bytes, KEYS * (24 + 8));
	assert_int_equal(stats.retries, 0);
	bed_close(&bed);
}

/* READ leaf; WRITE leaf, READ slot and mark, CAS head; CAS slot, when it has happened. */
static void update_elsewhere(void **state)
{
	struct far_stats stats;
	uint8_t key[ART_MAX_KEY], value[64] = "new";
	struct bed bed;

	(void)state;
	bed_open(&bed, 32, 64);
	key_of(&bed, 7, key);
	/* the first one fills the thread's magazine of blocks */
	assert_int_equal(far_art_put(bed.task, bed.art, key, 32, value, 64), 0);
	key_of(&bed, 8, key);
	rig_counted(&bed.rig, 0);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 32, value, 64), 0);
	stats = rig_counted(&bed.rig, 0);
	assert_int_equal(stats.reads, 3);
	assert_int_equal(stats.writes, 1);
	assert_int_equal(stats.cas, 2);
	assert_int_equal(stats.round_trips, 3);
	bed_close(&bed);
}

/* WRITE leaf, READ node; CAS slot. */
static void insert_into_room(void **state)
{
	struct far_stats stats;
	uint8_t key[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed, 8, 8);
	for (i = 0; i < 4; i++) {
		key[7] = i;
		rig_counted(&bed.rig, 0);
		assert_int_equal(far_art_insert(bed.task, bed.art, key, 8, key, 8), 0);
	}
	stats = rig_counted(&bed.rig, 0);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.writes, 1);
	assert_int_equal(stats.cas, 1);
	assert_int_equal(stats.round_trips, 2);
	bed_close(&bed);
}

/* Blocks are hardly larger than the leaves and nodes in them. */
static void memory(void **state)
{
	static const struct { size_t key, value; } sizes[] = {
		{ 8, 0 }, { 8, 8 }, { 8, 16 }, { 8, 33 }, { 8, 56 }, { 32, 8 }, { 32, 64 },
		{ 8, 121 }, { 32, 217 }, { 8, 600 }, { 8, 1024 },
	};
	struct far_art_stats stats;
	uint8_t key[ART_MAX_KEY], value[1024] = { 0 };
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
	struct bed bed;
	unsigned i, n;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct rig_conf conf = { .sim = 1, .seed = 1 };

		bed.key_len = sizes[i].key;
		rig_open(&rig, &conf);
		task = rig_enter(&rig, 0);
		assert_int_equal(far_art_create(task, "t", &art), 0);
		for (n = 0; n < KEYS / 4; n++) {
			key_of(&bed, n, key);
			assert_int_equal(far_art_put(task, art, key, sizes[i].key, value,
						     sizes[i].value), 0);
		}
		assert_int_equal(far_art_stat(task, art, &stats), 0);
		assert_int_equal(stats.keys, KEYS / 4);
		assert_int_equal(stats.leaf_bytes, KEYS / 4 *
				 art_leaf_len(sizes[i].key, sizes[i].value));
		assert_true(stats.leaf_room * 100 <= stats.leaf_bytes * 125);
		assert_true(stats.node_room * 100 <= stats.node_bytes * 150);
		rig_check(&rig, task, NULL);
		far_art_close(art);
		far_leave(task);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search),
		cmocka_unit_test(update_in_place),
		cmocka_unit_test(update_elsewhere),
		cmocka_unit_test(insert_into_room),
		cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
