/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a handle remembers that is old or wrong: it costs a few steps and no answer. And
 * nodes that are damaged so that they lead in a circle, or nowhere.
 */
#include "kind.h"

#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../../../userspace/btree/btree_priv.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/epoch.h"

#define SPAN	4u
#define KEYS	400u
#define HANGS	20u	/* seconds: then something goes on for ever */
#define WRONG	UINT64_C(0x57524f4e47)

struct world {
	struct rig rig;
	struct far_btree *tree[2];	/* of clients 0 and 1 */
};

static uint64_t key_of(uint64_t i)
{
	return __builtin_bswap64(10 * i + 10);
}

/* In its memory node. */
static void *memory_of(struct world *world, uint64_t addr)
{
	return (char *)world->rig.map[far_addr_node(addr)].addr + far_addr_off(addr);
}

static void insert(struct world *world, uint64_t from, uint64_t to)
{
	struct far_task *task = rig_enter(&world->rig, 0);
	uint64_t i, key;

	for (i = from; i < to; i++) {
		key = key_of(i);
		assert_int_equal(far_btree_insert(task, world->tree[0], &key, 8, &i, 8), 0);
	}
	far_leave(task);
}

static int get(struct world *world, unsigned client, uint64_t i, uint64_t *ret_value)
{
	struct far_task *task = rig_enter(&world->rig, client);
	uint64_t key = key_of(i);
	int err = far_btree_get(task, world->tree[client], &key, 8, ret_value, 8, NULL);

	far_leave(task);
	return err;
}

/* Client 1 opens the tree when it has as many keys. */
static void world_open(struct world *world, uint64_t keys)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .clients = 2 };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;

	memset(world, 0, sizeof(*world));
	rig_open(&world->rig, &conf);
	task = rig_enter(&world->rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &world->tree[0]), 0);
	far_leave(task);
	insert(world, 0, keys);
	task = rig_enter(&world->rig, 1);
	assert_int_equal(far_btree_open(task, "t", &world->tree[1]), 0);
	far_leave(task);
}

static void world_close(struct world *world)
{
	far_btree_close(world->tree[0]);
	far_btree_close(world->tree[1]);
	rig_close(&world->rig);
}

/* The tree had one leaf when the handle was opened; it does not walk along all that came. */
static void old_handle(void **state)
{
	struct world world;
	struct far_stats stats;
	uint64_t value, key = key_of(KEYS - 2);
	struct far_task *task;

	(void)state;
	world_open(&world, 1);
	insert(&world, 1, KEYS);
	rig_counted(&world.rig, 1);
	assert_int_equal(get(&world, 1, KEYS - 1, &value), 0);
	assert_true(value == KEYS - 1);
	stats = rig_counted(&world.rig, 1);
	print_message("%u READs by a handle that is old\n", (unsigned)stats.reads);
	assert_true(stats.reads < 40);
	world_close(&world);
	/* and who changes something */
	world_open(&world, 1);
	insert(&world, 1, KEYS);
	rig_counted(&world.rig, 1);
	task = rig_enter(&world.rig, 1);
	assert_int_equal(far_btree_update(task, world.tree[1], &key, 8, &value, 8), 0);
	far_leave(task);
	stats = rig_counted(&world.rig, 1);
	assert_true(stats.reads + stats.cas < 60);
	world_close(&world);
}

/* The way of client 0 to the node of that level that has the key. */
static void way_to(struct world *world, uint64_t i, unsigned level, struct btree_way *way)
{
	struct far_task *task = rig_enter(&world->rig, 0);
	struct btree_op op = { 0 };
	uint64_t key = key_of(i);

	assert_int_equal(far_epoch_enter(task), 0);
	assert_int_equal(btree_op_init(&op, task, world->tree[0]), 0);
	assert_int_equal(btree_find(&op, &key, 0, level, op.node, way), 0);
	far_epoch_exit(task);
	far_leave(task);
}

/* A leaf is its own neighbour. Who walks along the leaves says that, and ends. */
static void circle(void **state)
{
	struct far_btree_stats stats;
	struct far_task *task;
	struct btree_head *leaf;
	struct world world;
	struct btree_way way;

	(void)state;
	world_open(&world, 40);
	way_to(&world, 20, 0, &way);
	leaf = memory_of(&world, way.addr);
	leaf->right = way.addr;
	btree_sum_set(&world.tree[0]->geo[0], leaf, way.addr);
	leaf->word = far_lock_word(0, 0, 0, far_lock_checksum(
		&leaf->sum, world.tree[0]->geo[0].len - 8));
	alarm(HANGS);
	task = rig_enter(&world.rig, 1);
	assert_int_equal(far_btree_stat(task, world.tree[1], &stats), -EBADMSG);
	far_leave(task);
	alarm(0);
	world_close(&world);
}

/* Sets the checksum of a node that the test has made, as one that is not locked. */
static void sum_set(const struct btree_geo *geo, struct btree_head *node, uint64_t addr)
{
	btree_sum_set(geo, node, addr);
	node->word = far_lock_word(0, 0, 0, far_lock_checksum(&node->sum, geo->len - 8));
}

/*
 * A neighbour that is remembered is another client's unborn node by now, which would lead
 * to a leaf with other values: nobody goes there.
 */
static void unborn(void **state)
{
	struct btree_head *above, *made, *leaf;
	const struct btree_geo *geo;
	uint64_t key, value, node, fake, wrong = WRONG, room[256];
	struct far_task *task;
	struct btree_way way;
	struct world world;

	(void)state;
	world_open(&world, 40);
	assert_int_equal(get(&world, 0, 20, &value), 0);
	way_to(&world, 20, 0, &way);
	task = rig_enter(&world.rig, 0);
	assert_int_equal(far_epoch_enter(task), 0);
	geo = &world.tree[0]->geo[0];
	assert_int_equal(far_block_alloc(task, 0, geo->size, &fake), 0);
	assert_int_equal(far_block_alloc(task, 0, world.tree[0]->geo[1].size, &node), 0);
	/* a leaf that is no one's, with another value of the key */
	leaf = memory_of(&world, fake);
	memcpy(leaf, memory_of(&world, way.addr), geo->len);
	key = key_of(20);
	btree_entry_set(geo, btree_entry_at(geo, leaf, btree_find_key(geo, leaf, &key)),
			leaf->version, &key, &wrong, 8);
	sum_set(geo, leaf, fake);
	/* an unborn node that leads to it */
	geo = &world.tree[0]->geo[1];
	above = memory_of(&world, way.parent);
	made = memory_of(&world, node);
	btree_node_init(geo, made, 77, above->level);
	made->flags = BTREE_LAST | BTREE_UNBORN;
	memcpy(btree_low(made), &key, 8);
	btree_entry_set(geo, btree_entry_at(geo, made, 0), made->version, &key, &fake, 8);
	sum_set(geo, made, node);
	/* and the node above, as it is remembered, whose neighbour that is */
	assert_true(geo->len <= sizeof(room));
	memcpy(room, above, geo->len);
	above = (void *)room;
	above->flags = 0;
	above->right = node;
	memcpy(btree_high(geo, above), &key, 8);
	btree_cache_put_node(world.tree[0]->cache, way.parent, room);
	btree_cache_drop_spot(world.tree[0]->cache,
			      XXH3_64bits_withSeed(&key, 8, world.tree[0]->root));
	assert_int_equal(far_btree_get(task, world.tree[0], &key, 8, &value, 8, NULL), 0);
	assert_true(value == 20);
	far_epoch_exit(task);
	far_leave(task);
	world_close(&world);
}

/* The entry that leads from a node above to that one. */
static struct btree_entry *entry_to(const struct btree_geo *geo, struct btree_head *above,
				    uint64_t addr)
{
	struct btree_entry *entry = NULL;
	unsigned i;

	for (i = 0; i < geo->span; i++)
		if (btree_child(geo, btree_entry_at(geo, above, i)) == addr)
			entry = btree_entry_at(geo, above, i);
	assert_non_null(entry);
	return entry;
}

/*
 * A node leads to where no memory is. In far memory that is damage, and not an address
 * that the caller has named; in what is remembered, a hint that was wrong.
 */
static void no_address(void **state)
{
	const uint64_t nowhere = far_addr(0, UINT64_C(1) << 39);
	struct btree_head *above;
	const struct btree_geo *geo;
	uint64_t value, key = key_of(20), room[256];
	struct btree_entry *entry;
	struct btree_way way;
	struct world world;

	(void)state;
	world_open(&world, 40);
	way_to(&world, 20, 0, &way);
	geo = &world.tree[0]->geo[1];
	above = (void *)room;
	assert_true(geo->len <= sizeof(room));
	memcpy(above, memory_of(&world, way.parent), geo->len);
	memcpy(btree_value(geo, entry_to(geo, above, way.addr)), &nowhere, sizeof(nowhere));
	btree_cache_put_node(world.tree[0]->cache, way.parent, above);
	btree_cache_drop_spot(world.tree[0]->cache,
			      XXH3_64bits_withSeed(&key, 8, world.tree[0]->root));
	assert_int_equal(get(&world, 0, 20, &value), 0);
	assert_true(value == 20);
	above = memory_of(&world, way.parent);
	entry = entry_to(geo, above, way.addr);
	memcpy(&key, entry->data, sizeof(key));
	btree_entry_set(geo, entry, above->version, &key, &nowhere, sizeof(nowhere));
	sum_set(geo, above, way.parent);
	assert_int_equal(get(&world, 1, 20, &value), -EBADMSG);
	world_close(&world);
}

/* True if the client would CAS that leaf's word without a look, in the epoch of now. */
static int is_known(struct far_task *task, struct far_btree *tree, uint64_t addr)
{
	uint64_t word;

	return btree_cache_word(tree->cache, addr, form_age_now(task), &word);
}

/*
 * While a head is READ, and while a lock is released, the epoch goes on: the word is of
 * the one before. A leaf that dies in between is retired in that one, and may be another
 * block in the next.
 */
static void word_of_before(void **state)
{
	unsigned i, reads = 0, releases = 0;
	uint64_t key = key_of(20), epoch;
	struct btree_hold hold;
	struct far_task *task;
	struct btree_way way;
	struct world world;
	size_t mark;

	(void)state;
	world_open(&world, 40);
	task = rig_enter(&world.rig, 0);
	for (i = 0; i < 100000 && (reads < 3 || releases < 3); i++) {
		struct btree_op op = { 0 };

		mark = far_buf_mark(task);
		assert_int_equal(far_epoch_enter(task), 0);
		assert_int_equal(btree_op_init(&op, task, world.tree[0]), 0);
		epoch = far_epoch_known(task);
		assert_int_equal(btree_find_head(&op, &key, 0, 0, &way), 0);
		if (far_epoch_known(task) != epoch) {
			assert_false(is_known(task, world.tree[0], way.addr));
			reads++;
		}
		assert_int_equal(btree_hold(&op, &way, 0, &hold), 0);
		epoch = far_epoch_known(task);
		assert_int_equal(btree_release(&hold), 0);
		if (far_epoch_known(task) != epoch) {
			assert_false(is_known(task, world.tree[0], way.addr));
			releases++;
		}
		far_epoch_exit(task);
		far_buf_release(task, mark);
	}
	far_leave(task);
	print_message("%u rounds\n", i);
	assert_true(reads >= 3 && releases >= 3);
	world_close(&world);
}

/* A cache that has no room for a node of this length remembers none. */
static void no_room(void **state)
{
	const struct btree_spot spot = { .leaf = 4096, .place = 3, .version = 77 };
	static uint64_t node[1 << 10];
	struct btree_cache *cache;
	struct btree_spot found;

	(void)state;
	assert_int_equal(btree_cache_new(sizeof(node), sizeof(node), &cache), 0);
	btree_cache_put_node(cache, 4096, node);
	assert_int_equal(btree_cache_node(cache, 4096, node), 0);
	btree_cache_put_spot(cache, 5, &spot);
	assert_int_equal(btree_cache_spot(cache, 5, &found), 1);
	assert_true(found.version == spot.version);
	btree_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_handle),
		cmocka_unit_test(unborn),
		cmocka_unit_test(circle),
		cmocka_unit_test(no_address),
		cmocka_unit_test(word_of_before),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
