/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cache that is smaller than the tree: it learns whatever sizes nodes have, keeps what is
 * used, and most descents begin at a node that it has.
 */
#include "kind.h"

#include <stdlib.h>
#include <string.h>

#include <far/art.h>

#include "../../../../userspace/art/cache.h"
#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/stats.h"

#define BYTES	(1u << 17)	/* of the cache that is tested alone */
#define SMALL	6000u		/* nodes, which are more than go in */
#define LARGE	30u		/* nodes that take about half of it */
#define KEYS	60000u
#define GETS	60000u

/* A node at depth 4, or above at depth 2, with so many slots in use. */
static void node_make(struct art_node *node, const struct art_key *key, unsigned depth,
		      unsigned live)
{
	unsigned type = 0, i;

	while (art_type_slots(type) < live)
		type++;
	art_node_init(node, 64, art_prefix(key->data, depth), type, depth, 1);
	for (i = 0; i < live; i++)
		art_node_add(node, art_slot(i, 0, 128 + 64 * i));
}

static void put(struct art_cache *cache, uint64_t name, unsigned depth, unsigned live)
{
	uint64_t room[ART_NODE_MAX / 8];
	struct art_node *node = (struct art_node *)room;
	struct art_key key;

	art_key_init(&key, "abcdef", 6);
	node_make(node, &key, depth, live);
	art_cache_put(cache, 64 * name, &key, node, (struct form_age){ name });
}

static bool get(struct art_cache *cache, uint64_t name)
{
	struct art_hint hint;
	struct art_key key;

	art_key_init(&key, "abcdef", 6);
	if (!art_cache_get(cache, 64 * name, &key, &hint))
		return false;
	assert_true(hint.age.epoch == name);
	return true;
}

/* How many of the nodes with these names are there. */
static unsigned count(struct art_cache *cache, uint64_t from, unsigned nr)
{
	unsigned i, there = 0;

	for (i = 0; i < nr; i++)
		there += get(cache, from + i);
	return there;
}

static void small_then_large(void **state)
{
	struct art_cache *cache;
	unsigned i;

	(void)state;
	assert_int_equal(art_cache_new(BYTES, &cache), 0);
	for (i = 1; i <= SMALL; i++)
		put(cache, i, 4, 3);
	assert_true(count(cache, 1, SMALL) > BYTES / 200);
	for (i = 0; i < LARGE; i++)
		put(cache, SMALL + 1 + i, 4, ART_SYMBOLS);
	assert_true(count(cache, SMALL + 1, LARGE) > LARGE / 2);
	assert_true(art_cache_bytes(cache) <= BYTES);
	/* and small ones again */
	for (i = 1; i <= SMALL; i++)
		put(cache, 2 * SMALL + i, 4, 3);
	assert_true(count(cache, 2 * SMALL + 1, SMALL) > BYTES / 200);
	art_cache_free(cache);
}

/* Nodes that all others are reached through are used with each of these, and stay. */
static void upper_levels_stay(void **state)
{
	struct art_cache *cache;
	unsigned i, k, lost = 0;

	(void)state;
	assert_int_equal(art_cache_new(BYTES, &cache), 0);
	for (k = 0; k < 8; k++)
		put(cache, k + 1, 2, 100);
	for (i = 0; i < 5 * SMALL; i++) {
		lost += !get(cache, i % 8 + 1);
		put(cache, 100 + i, 4, 3);
	}
	assert_int_equal(lost, 0);
	art_cache_free(cache);
}

/* Where everything is used, what lies deeper goes. */
static void deeper_ones_go(void **state)
{
	struct art_cache *cache;
	unsigned i, k, lost = 0;

	(void)state;
	assert_int_equal(art_cache_new(BYTES, &cache), 0);
	for (i = 0; i < 3 * SMALL; i++) {
		if (i % 200 == 0)
			for (k = 0; k < 8; k++) {
				lost += i && !get(cache, k + 1);
				put(cache, k + 1, 2, 100);
				get(cache, k + 1);
			}
		put(cache, 100 + i, 4, 3);
		get(cache, 100 + i);
	}
	/* some of them, for want of a way in a bucket */
	assert_true(lost < 3 * SMALL / 200 * 8 / 20);
	art_cache_free(cache);
}

static uint64_t key_of(uint64_t i)
{
	return far_rng_mix(i + 1);
}

static void fill(struct rig *rig)
{
	struct far_task *task = rig_enter(rig, 0);
	struct far_art_stats stats;
	struct far_art *art;
	uint64_t i, key;

	assert_int_equal(far_art_create(task, "t", &art), 0);
	for (i = 0; i < KEYS; i++) {
		key = key_of(i);
		assert_int_equal(far_art_insert(task, art, &key, 8, &i, 8), 0);
	}
	assert_int_equal(far_art_stat(task, art, &stats), 0);
	print_message("%llu bytes of nodes\n", (unsigned long long)stats.node_bytes);
	rig->conf.cache = stats.node_bytes / 4;
	far_art_close(art);
	far_leave(task);
}

static void get_all(struct far_task *task, struct far_art *art, struct far_rng *rng)
{
	uint64_t i, n, key, value;

	for (n = 0; n < GETS; n++) {
		i = far_rng_below(rng, KEYS);
		key = key_of(i);
		assert_int_equal(far_art_get(task, art, &key, 8, &value, 8, NULL), 0);
		assert_true(value == i);
	}
}

/* Gets of all keys alike, by a client whose cache has a quarter of the nodes' bytes. */
static void a_quarter(void **state)
{
	const struct rig_conf conf = { .nodes = 1, .cache = 1 << 22 };
	struct far_stats stats;
	struct far_task *task;
	struct far_art *art;
	struct far_rng rng;
	struct rig rig;
	uint64_t partial;

	(void)state;
	rig_open(&rig, &conf);
	fill(&rig);
	rig_leave(&rig, 0);
	rig_join(&rig, 0);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_art_open(task, "t", &art), 0);
	far_rng_init(&rng, 1, 0);
	get_all(task, art, &rng);
	rig_counted(&rig, 0);
	partial = far_stats_partial(rig.far[0]);
	get_all(task, art, &rng);
	stats = rig_counted(&rig, 0);
	partial = far_stats_partial(rig.far[0]) - partial;
	print_message("%.3f of gets begin at a cached node, %.3f READ no other one\n",
		      (double)stats.cache_hits / GETS,
		      (double)(stats.cache_hits - partial) / GETS);
	assert_int_equal(stats.cache_hits + stats.cache_misses, GETS);
	assert_true(stats.cache_hits >= GETS * 3 / 4);
	assert_true(partial < stats.cache_hits);
	far_art_close(art);
	far_leave(task);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_then_large),
		cmocka_unit_test(upper_levels_stay),
		cmocka_unit_test(deeper_ones_go),
		cmocka_unit_test(a_quarter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
