/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client remembers of a tree leads to a node that is another tree's by now, with
 * the same keys in its fences: the client neither reads nor writes that one.
 */
#include "kind.h"

#include <string.h>

#include "../../../../userspace/btree/btree_priv.h"
#include "../../../../userspace/core/epoch.h"

#define SPAN	4u
#define KEYS	20u	/* of each tree */

/* Two trees of one client: tree 0 has the even numbers, tree 1 the odd ones. */
struct pair {
	struct rig rig;
	struct far_task *task;
	struct far_btree *tree[2];
};

static uint64_t number_of(unsigned tree, uint64_t i)
{
	return 2 * i + tree;
}

static int store(struct pair *pair, unsigned which, uint64_t number)
{
	uint64_t key = __builtin_bswap64(number);

	return far_btree_put(pair->task, pair->tree[which], &key, 8, &number, 8);
}

static void pair_open(struct pair *pair)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1 };
	const struct far_btree_attr attr = { .span = SPAN };
	unsigned which;
	uint64_t i;

	memset(pair, 0, sizeof(*pair));
	rig_open(&pair->rig, &conf);
	pair->task = rig_enter(&pair->rig, 0);
	for (which = 0; which < 2; which++) {
		assert_int_equal(far_btree_create(pair->task, which ? "b" : "a", &attr,
						  &pair->tree[which]), 0);
		for (i = 0; i < KEYS; i++)
			assert_int_equal(store(pair, which, number_of(which, i)), 0);
	}
}

static void pair_close(struct pair *pair)
{
	far_btree_close(pair->tree[0]);
	far_btree_close(pair->tree[1]);
	far_leave(pair->task);
	rig_close(&pair->rig);
}

static void way_to(struct pair *pair, unsigned which, uint64_t number, struct btree_way *way)
{
	uint64_t key = __builtin_bswap64(number);
	size_t mark = far_buf_mark(pair->task);
	struct btree_op op = { 0 };

	assert_int_equal(far_epoch_enter(pair->task), 0);
	assert_int_equal(btree_op_init(&op, pair->task, pair->tree[which]), 0);
	assert_int_equal(btree_find(&op, &key, 0, 0, op.node, way), 0);
	far_buf_release(pair->task, mark);
	far_epoch_exit(pair->task);
}

/*
 * The node above that leaf of tree 0, as it is remembered, leads to the leaf of tree 1
 * that has the key in its fences: as if the one's block had become the other's since.
 */
static void mislead(struct pair *pair, uint64_t number)
{
	struct btree_cache *cache = pair->tree[0]->cache;
	const struct btree_geo *geo = &pair->tree[0]->geo[1];
	uint64_t room[512];
	struct btree_head *above = (void *)room;
	struct btree_way old, new;
	struct btree_entry *entry;
	unsigned i;

	assert_true(geo->len <= sizeof(room));
	way_to(pair, 0, number, &old);
	way_to(pair, 1, number, &new);
	assert_int_equal(btree_cache_node(cache, old.parent, above), 1);
	for (i = 0; i < geo->span; i++) {
		entry = btree_entry_at(geo, above, i);
		if (btree_child(geo, entry) == old.addr)
			memcpy(btree_value(geo, entry), &new.addr, sizeof(new.addr));
	}
	btree_cache_put_node(cache, old.parent, above);
}

static int count_key(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	uint64_t *nr = arg, number, what;

	(void)key_len;
	(void)value_len;
	memcpy(&number, key, 8);
	memcpy(&what, value, 8);
	assert_true(__builtin_bswap64(number) == what);
	/* nr[1]: which tree it is */
	assert_true(what % 2 == nr[1]);
	++*nr;
	return 0;
}

static void expect(struct pair *pair, unsigned which)
{
	const struct far_range all = { 0 };
	uint64_t nr[2] = { 0, which };

	assert_int_equal(far_btree_scan(pair->task, pair->tree[which], &all, count_key, nr),
			 0);
	assert_int_equal(nr[0], KEYS);
}

static void read_of_another_tree(void **state)
{
	struct pair pair;
	uint64_t i, key, value;

	(void)state;
	pair_open(&pair);
	for (i = 0; i < KEYS; i++) {
		mislead(&pair, number_of(1, i));
		key = __builtin_bswap64(number_of(1, i));
		assert_int_equal(far_btree_get(pair.task, pair.tree[0], &key, 8, &value, 8,
					       NULL), -ENOENT);
	}
	pair_close(&pair);
}

static void write_to_another_tree(void **state)
{
	struct pair pair;
	uint64_t i;

	(void)state;
	pair_open(&pair);
	for (i = 0; i < KEYS; i++) {
		mislead(&pair, number_of(0, i));
		assert_int_equal(store(&pair, 0, number_of(0, i)), 0);
	}
	expect(&pair, 0);
	expect(&pair, 1);
	rig_check(&pair.rig, pair.task, NULL);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_of_another_tree),
		cmocka_unit_test(write_to_another_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
