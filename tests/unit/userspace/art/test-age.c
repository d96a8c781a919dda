/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs that are far from each other: a client with a warm cache never takes a block that
 * was given away for the one that it remembers, and finds all that is there.
 */
#include "kind.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

#include "../../../../userspace/art/art_priv.h"
#include "../../../../userspace/core/epoch.h"
#include "../ordered/age.h"

#define KEYS	40u

struct bed {
	struct rig rig;
	struct far_art *art[2];	/* by client */
};

static void key_of(unsigned i, uint8_t key[8])
{
	memset(key, 'k', 8);
	key[0] = i;
}

static struct art_leaf *leaf_of(const struct bed *bed, unsigned i, uint64_t *ret_addr)
{
	uint64_t first = art_first_node(bed->art[0]);
	const struct art_node *node = (const void *)
		((char *)bed->rig.map[far_addr_node(first)].addr + far_addr_off(first));

	*ret_addr = art_pointee(node->slot[i]);
	return (void *)((char *)bed->rig.map[far_addr_node(*ret_addr)].addr +
			far_addr_off(*ret_addr));
}

static void store(struct bed *bed, struct far_task *task)
{
	uint8_t key[8];
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		key_of(i, key);
		assert_int_equal(far_art_put(task, bed->art[0], key, 8, "1st val", 8), 0);
	}
}

/* Client 0 has the tree in its cache: the next gets READ leaves alone. */
static void warm(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);
	struct far_stats stats;
	uint8_t key[8], value[8];
	unsigned i, round;

	for (round = 0; round < 3; round++) {
		rig_counted(&bed->rig, 0);
		for (i = 0; i < KEYS; i++) {
			key_of(i, key);
			assert_int_equal(far_art_get(task, bed->art[0], key, 8, value, 8,
						     NULL), 0);
			assert_string_equal(value, "1st val");
		}
		stats = rig_counted(&bed->rig, 0);
	}
	assert_int_equal(stats.cache_hits, KEYS);
	far_leave(task);
}

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .clients = 2 };
	struct far_task *task;

	rig_open(&bed->rig, &conf);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(task, "t", &bed->art[0]), 0);
	store(bed, task);
	far_leave(task);
	task = rig_enter(&bed->rig, 1);
	assert_int_equal(far_art_open(task, "t", &bed->art[1]), 0);
	far_leave(task);
}

static void bed_close(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);

	rig_check(&bed->rig, task, NULL);
	far_art_close(bed->art[0]);
	far_art_close(bed->art[1]);
	far_leave(task);
	rig_close(&bed->rig);
}

/*
 * Client 1 deletes each key, and its leaf's block becomes a leaf of the same key that the
 * tree does not lead to. The sum is right, as that of another tree's leaf is by chance, so
 * that its birth alone tells it from the one that client 0 remembers.
 */
static void give_away(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 1);
	struct art_leaf *leaf;
	struct art_key id;
	uint8_t key[8];
	uint64_t addr;
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		leaf = leaf_of(bed, i, &addr);
		key_of(i, key);
		assert_int_equal(far_art_delete(task, bed->art[1], key, 8), 0);
		art_key_init(&id, key, 8);
		art_leaf_fill(leaf, art_seed(bed->art[1]->root, addr), &id, "another", 8,
			      art_birth(task));
	}
	far_leave(task);
}

/* Client 0 finds none of them, and changes none. */
static void expect_gone(struct bed *bed, struct art_leaf *leaf[KEYS])
{
	struct far_task *task = rig_enter(&bed->rig, 0);
	uint8_t key[8], value[8];
	unsigned i, wrong = 0;

	for (i = 0; i < KEYS; i++) {
		key_of(i, key);
		switch (i % 3) {
		case 0:
			wrong += far_art_get(task, bed->art[0], key, 8, value, 8, NULL) !=
				 -ENOENT;
			break;
		case 1:
			wrong += far_art_update(task, bed->art[0], key, 8, "changed", 8) !=
				 -ENOENT;
			break;
		case 2:
			wrong += far_art_delete(task, bed->art[0], key, 8) != -ENOENT;
			break;
		}
		assert_int_equal(art_head_state(leaf[i]->head), ART_LIVE);
		assert_memory_equal(leaf[i]->data, "another", 8);
	}
	assert_int_equal(wrong, 0);
	far_leave(task);
}

static void run(uint64_t before, uint64_t while_warm)
{
	struct art_leaf *leaf[KEYS];
	struct bed bed;
	uint64_t addr;
	unsigned i;

	bed_open(&bed);
	age_pass(&bed.rig, before);
	warm(&bed);
	for (i = 0; i < KEYS; i++)
		leaf[i] = leaf_of(&bed, i, &addr);
	age_pass(&bed.rig, while_warm);
	give_away(&bed);
	expect_gone(&bed, leaf);
	bed_close(&bed);
}

/* The tree is as old as that when its nodes are remembered. */
static void old_tree(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < AGE_PASSES; i++)
		run(age_passes[i], 0);
}

/* What is remembered is as old as that when blocks are given away. */
static void old_cache(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < AGE_PASSES; i++)
		run(AGE_DAY, age_passes[i]);
}

/* A client finds all keys of an old tree, by an old cache and a new one, and changes them. */
static void nothing_lost(void **state)
{
	struct far_task *task;
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed);
	for (i = 0; i < AGE_PASSES; i++) {
		age_pass(&bed.rig, age_passes[i]);
		warm(&bed);
		task = rig_enter(&bed.rig, 0);
		store(&bed, task);
		far_leave(task);
	}
	bed_close(&bed);
}

/* Two trees have the same key at the same place: the root in the sum tells leaves apart. */
static void other_tree(void **state)
{
	struct art_seen seen;
	struct art_leaf *leaf;
	struct art_key id;
	unsigned passed = 0, i;
	uint64_t addr;
	struct bed bed;
	uint8_t key[8];

	(void)state;
	bed_open(&bed);
	for (i = 0; i < KEYS; i++) {
		leaf = leaf_of(&bed, i, &addr);
		key_of(i, key);
		art_key_init(&id, key, 8);
		assert_int_equal(art_leaf_look(leaf, art_seed(bed.art[0]->root, addr), 3, 24,
					       &seen), 0);
		passed += !art_leaf_look(leaf, art_seed(bed.art[0]->root + 4096, addr), 3, 24,
					 &seen);
	}
	/* 18 bits */
	assert_true(passed <= 1);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_tree),
		cmocka_unit_test(old_cache),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(other_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
