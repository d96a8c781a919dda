/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs that are far from each other: a client with a warm cache neither reads nor changes
 * a node that was given away for the one that it remembers, and finds all that is there.
 */
#include "kind.h"

#include <errno.h>
#include <string.h>

#include "../../../../userspace/btree/levels.h"
#include "../../../../userspace/core/epoch.h"
#include "../ordered/age.h"

#define SPAN	4u
#define KEYS	60u
#define LEAVES	64u
#define OTHERS	1000u	/* that values of another tree are greater by */

struct leaf {
	uint64_t addr;
	uint64_t was[64], is[64];
	int given;		/* it is another tree's now */
};

struct bed {
	struct rig rig;
	struct far_btree *tree[2];	/* by client */
	struct leaf leaf[LEAVES];
	unsigned leaves;
};

static uint64_t key_of(unsigned i)
{
	return __builtin_bswap64(i + 1);
}

static void fill(struct far_task *task, struct far_btree *tree)
{
	uint64_t key, value;
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		key = key_of(i);
		value = i;
		assert_int_equal(far_btree_put(task, tree, &key, 8, &value, 8), 0);
	}
}

static void expect_all(struct far_task *task, struct far_btree *tree)
{
	uint64_t key, value;
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		key = key_of(i);
		assert_int_equal(far_btree_get(task, tree, &key, 8, &value, 8, NULL), 0);
		assert_true(value == i);
	}
}

/* Client 0 has it in its cache: places of entries, leaves, words, inner nodes. */
static void warm(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);

	expect_all(task, bed->tree[0]);
	fill(task, bed->tree[0]);
	expect_all(task, bed->tree[0]);
	far_leave(task);
}

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .clients = 2 };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;

	memset(bed, 0, sizeof(*bed));
	rig_open(&bed->rig, &conf);
	task = rig_enter(&bed->rig, 1);
	assert_int_equal(far_btree_create(task, "t", &attr, &bed->tree[1]), 0);
	fill(task, bed->tree[1]);
	far_leave(task);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_btree_open(task, "t", &bed->tree[0]), 0);
	far_leave(task);
}

static void bed_close(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);

	rig_check(&bed->rig, task, NULL);
	far_btree_close(bed->tree[0]);
	far_btree_close(bed->tree[1]);
	far_leave(task);
	rig_close(&bed->rig);
}

static void *memory_of(struct bed *bed, uint64_t addr)
{
	return (char *)bed->rig.map[far_addr_node(addr)].addr + far_addr_off(addr);
}

/* Leaves, as they are in their memory node. */
static int leaf_note(struct btree_levels *levels, const struct btree_head *node,
		     uint64_t addr, unsigned level)
{
	const struct btree_geo *geo = btree_geo_of(levels->tree, level);
	struct bed *bed = levels->arg;

	if (level)
		return 0;
	assert_true(bed->leaves < LEAVES && geo->len <= sizeof(bed->leaf[0].was));
	memcpy(bed->leaf[bed->leaves].was, node, geo->len);
	bed->leaf[bed->leaves++].addr = addr;
	return 0;
}

/* What the leaf becomes: it has the same fences and keys, with other values. */
static void leaf_of_another(struct bed *bed, struct leaf *leaf)
{
	struct btree_geo geo = bed->tree[1]->geo[0];
	struct btree_head *node = (void *)leaf->is;
	uint64_t before, *value;
	unsigned i;

	geo.tree += 4096;
	memcpy(leaf->is, leaf->was, sizeof(leaf->is));
	before = node->version;
	node->version = ~before / 3;
	btree_recast(&geo, node, before, node->version);
	for (i = 0; i < geo.span; i++) {
		struct btree_entry *entry = btree_entry_at(&geo, node, i);

		if (btree_entry_is(&geo, entry, node->version) != 1)
			continue;
		value = (void *)btree_value(&geo, entry);
		*value += OTHERS;
		entry->sum = btree_entry_sum(&geo, entry, node->version);
	}
	btree_sum_set(&geo, node, leaf->addr);
	node->word = far_lock_word(0, 0, 0, far_lock_checksum(&node->sum, geo.len - 8));
	memcpy(memory_of(bed, leaf->addr), leaf->is, geo.len);
}

/*
 * Client 1 deletes each key, and the leaves that are no longer the tree's become those of
 * another one.
 */
static void give_away(struct bed *bed)
{
	struct btree_levels levels = { .tree = bed->tree[1], .node = leaf_note, .arg = bed };
	struct far_task *task = rig_enter(&bed->rig, 1);
	const struct btree_head *now;
	uint64_t key;
	unsigned i;

	levels.walk.task = task;
	assert_int_equal(form_walk_enter(&levels.walk), 0);
	assert_int_equal(form_walk_leave(&levels.walk, btree_levels(&levels)), 0);
	for (i = 0; i < KEYS; i++) {
		key = key_of(i);
		assert_int_equal(far_btree_delete(task, bed->tree[1], &key, 8), 0);
	}
	for (i = 0; i < bed->leaves; i++) {
		now = memory_of(bed, bed->leaf[i].addr);
		bed->leaf[i].given = now->flags & BTREE_DEAD;
		if (bed->leaf[i].given)
			leaf_of_another(bed, &bed->leaf[i]);
	}
	far_leave(task);
}

static int change(struct far_task *task, struct far_btree *tree, unsigned i)
{
	uint64_t key = key_of(i), value = 0;

	switch (i % 3) {
	case 0:
		return far_btree_get(task, tree, &key, 8, &value, 8, NULL);
	case 1:
		return far_btree_update(task, tree, &key, 8, &value, 8);
	default:
		return far_btree_delete(task, tree, &key, 8);
	}
}

/* Client 0 finds none of its tree's keys, and changes nothing of the other one. */
static void expect_gone(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);
	unsigned i, given = 0;

	for (i = 0; i < KEYS; i++)
		assert_int_equal(change(task, bed->tree[0], i), -ENOENT);
	far_leave(task);
	for (i = 0; i < bed->leaves; i++) {
		if (!bed->leaf[i].given)
			continue;
		given++;
		assert_memory_equal(memory_of(bed, bed->leaf[i].addr), bed->leaf[i].is,
				    bed->tree[0]->geo[0].len);
	}
	assert_in_range(given, KEYS / SPAN / 2, LEAVES);
}

static void run(uint64_t before, uint64_t while_warm)
{
	struct bed bed;

	bed_open(&bed);
	age_pass(&bed.rig, before);
	warm(&bed);
	age_pass(&bed.rig, while_warm);
	give_away(&bed);
	expect_gone(&bed);
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

/* What is remembered is as old as that when nodes are given away. */
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
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed);
	for (i = 0; i < AGE_PASSES; i++) {
		age_pass(&bed.rig, age_passes[i]);
		warm(&bed);
	}
	bed_close(&bed);
}

/*
 * A lock word is worth a CAS in the epoch in which it was READ, and in no other one that
 * looks like that one.
 */
static void word_of_an_epoch(void **state)
{
	static const uint64_t later[] = {
		1, UINT64_C(1) << 16, UINT64_C(1) << 31, UINT64_C(1) << 32,
		UINT64_C(1) << 40, UINT64_C(1) << 48,
	};
	const struct form_age age = { AGE_DAY };
	struct btree_cache *cache;
	uint64_t word;
	size_t i;

	(void)state;
	assert_int_equal(btree_cache_new(1 << 16, 512, &cache), 0);
	btree_cache_put_leaf(cache, 4096, age, 77, 5);
	assert_int_equal(btree_cache_word(cache, 4096, age, &word), 1);
	assert_int_equal(word, 77);
	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		assert_int_equal(btree_cache_word(cache, 4096,
			(struct form_age){ age.epoch + later[i] }, &word), 0);
	btree_cache_free(cache);
}

/* A root proves by its sum that it is the one at its address, as its nodes prove that. */
static void root_elsewhere(void **state)
{
	struct far_btree *tree;
	struct far_task *task;
	struct bed bed;
	uint64_t copy;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(btree_open_root(task, bed.tree[0]->root, &tree), 0);
	far_btree_close(tree);
	/* nothing is there */
	copy = far_addr(0, bed.rig.conf.size - 4096);
	memcpy((char *)bed.rig.map[0].addr + far_addr_off(copy),
	       (char *)bed.rig.map[0].addr + far_addr_off(bed.tree[0]->root),
	       sizeof(struct btree_root));
	assert_int_equal(btree_open_root(task, copy, &tree), -EBADMSG);
	far_leave(task);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_tree),
		cmocka_unit_test(old_cache),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(word_of_an_epoch),
		cmocka_unit_test(root_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
