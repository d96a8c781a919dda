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
#include "../../../../userspace/core/stats.h"
#include "../../../../userspace/space/class.h"
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
	uint64_t written;
	unsigned i;

	(void)state;
	bed_open(&bed, 8, 8);
	written = far_stats_written(bed.rig.far[0]);
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
	assert_int_equal(far_stats_written(bed.rig.far[0]) - written, KEYS * 8);
	assert_int_equal(stats.retries, 0);
	bed_close(&bed);
}

struct say {
	enum far_modified what;
	unsigned asked;
};

static enum far_modified say_it(void *arg, struct far_value *value)
{
	struct say *say = arg;

	say->asked++;
	value->data = "87654321";
	value->len = 8;
	return say->what;
}

/* One modify of a key costs that many verbs, trips and calls of the function. */
static void expect_modify(struct bed *bed, enum far_modified what, unsigned reads,
			  unsigned writes, unsigned cas, unsigned trips, unsigned asked)
{
	struct say say = { .what = what };
	struct far_stats stats;
	uint8_t key[ART_MAX_KEY];

	key_of(bed, 8, key);
	rig_counted(&bed->rig, 0);
	assert_int_equal(far_art_modify(bed->task, bed->art, key, 8, say_it, &say), 0);
	stats = rig_counted(&bed->rig, 0);
	assert_int_equal(stats.reads, reads);
	assert_int_equal(stats.writes, writes);
	assert_int_equal(stats.cas, cas);
	assert_int_equal(stats.round_trips, trips);
	assert_int_equal(say.asked, asked);
}

/* A modify costs an update by a new leaf; the first one also closes the leaf, and READs again. */
static void modify(void **state)
{
	uint8_t key[ART_MAX_KEY];
	struct bed bed;

	(void)state;
	bed_open(&bed, 8, 8);
	key_of(&bed, 7, key);
	/* the first one fills the thread's magazine of blocks */
	assert_int_equal(far_art_put(bed.task, bed.art, key, 8, "123456789", 9), 0);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 8, "123456789", 8), 0);
	expect_modify(&bed, FAR_LEAVE, 1, 0, 0, 1, 1);
	expect_modify(&bed, FAR_STORE, 4, 1, 3, 5, 2);
	expect_modify(&bed, FAR_LEAVE, 2, 0, 0, 2, 1);
	expect_modify(&bed, FAR_STORE, 3, 1, 2, 3, 1);
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

static int count_key(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	++*(unsigned *)arg;
	return 0;
}

#define BRANCHES	16u	/* below one node */
#define TWIGS		4u	/* leaves below each of these */

/*
 * A scan READs what one level leads to at once: a round trip for the first node, one for
 * the node in which the keys part, one for its 16 nodes, one for their 64 leaves.
 */
static void scan_by_levels(void **state)
{
	const struct far_range range = { .max = BRANCHES * TWIGS };
	uint8_t key[8] = { 0 }, value[8] = { 0 };
	const struct rig_conf conf = { .sim = 1, .seed = 1 };
	uint64_t begin, one, all;
	struct far_stats stats;
	struct far_task *task;
	struct far_art *art;
	unsigned i, nr = 0;
	struct rig rig;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_art_create(task, "t", &art), 0);
	for (i = 0; i < BRANCHES * TWIGS; i++) {
		key[6] = i / TWIGS;
		key[7] = i % TWIGS;
		assert_int_equal(far_art_insert(task, art, key, 8, value, 8), 0);
	}
	begin = far_now(task);
	assert_int_equal(far_art_get(task, art, key, 8, value, 8, NULL), 0);
	one = far_now(task) - begin;
	rig_counted(&rig, 0);
	begin = far_now(task);
	assert_int_equal(far_art_scan(task, art, &range, count_key, &nr), 0);
	all = far_now(task) - begin;
	stats = rig_counted(&rig, 0);
	assert_int_equal(nr, BRANCHES * TWIGS);
	assert_int_equal(stats.reads, 1 + 1 + BRANCHES + BRANCHES * TWIGS);
	assert_int_equal(stats.round_trips, 4);
	print_message("a get takes %u ns, a scan of %u keys %u ns\n", (unsigned)one, nr,
		      (unsigned)all);
	assert_true(all < one * stats.reads / 3);
	far_art_close(art);
	far_leave(task);
	rig_close(&rig);
}

/*
 * Blocks are hardly larger than what is in them: a leaf's at most 1.25 times as large, if
 * that has 26 bytes, its padding not among them; a node's at most 1.06 times.
 */
static void memory(void **state)
{
	static const struct { size_t key, value; } sizes[] = {
		{ 8, 0 }, { 8, 1 }, { 8, 10 }, { 8, 17 }, { 25, 32 }, { 8, 241 },
		{ 8, 8 }, { 8, 16 }, { 8, 33 }, { 8, 56 }, { 32, 8 }, { 32, 64 },
		{ 8, 121 }, { 32, 217 }, { 8, 600 }, { 8, 1024 },
	};
	struct far_art_stats stats;
	uint8_t key[ART_MAX_KEY], value[1024] = { 0 };
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
	static const struct far_sb sb = { .page_shift = FAR_MAX_PAGE_SHIFT };
	struct bed bed;
	uint64_t bytes, worst = 0;
	unsigned i, n;

	(void)state;
	for (i = 0; i < ART_TYPES; i++)
		assert_true(far_class_size(far_class_of(&sb, art_node_len(i))) * 100 <=
			    art_node_len(i) * 106);
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
		bytes = KEYS / 4 * (ART_LEAF_HEAD + sizes[i].key + sizes[i].value);
		assert_true(bytes < KEYS / 4 * 26 || stats.leaf_room * 100 <= bytes * 125);
		assert_true(stats.leaf_room <= bytes + KEYS / 4 * 7 ||
			    stats.leaf_room * 100 <= bytes * 125);
		worst = bytes < KEYS / 4 * 26 || stats.leaf_room * 1000 / bytes < worst ?
			worst : stats.leaf_room * 1000 / bytes;
		assert_true(stats.node_room * 100 <= stats.node_bytes * 106);
		rig_check(&rig, task, NULL);
		far_art_close(art);
		far_leave(task);
		rig_close(&rig);
	}
	print_message("leaves take at most %.3f times their bytes\n", worst / 1000.0);
	assert_in_range(worst, 1200, 1250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search),
		cmocka_unit_test(update_in_place),
		cmocka_unit_test(modify),
		cmocka_unit_test(update_elsewhere),
		cmocka_unit_test(insert_into_room),
		cmocka_unit_test(scan_by_levels),
		cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
