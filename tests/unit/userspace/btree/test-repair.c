/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A WRITE that has ended half way when its client died, which sim itself never leaves:
 * the test breaks what the dead client was writing, and the next client repairs it by the
 * record.
 */
#include "kind.h"

#include <string.h>
#include <unistd.h>

#include "../../../../userspace/btree/priv.h"
#include "../../../../userspace/core/owner.h"

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define SPAN	4u
#define HANGS	30u	/* seconds: then something waits for ever */
#define NEW	UINT64_C(0x4e45574e45574e45)
#define BROKEN	UINT64_C(0x6272656b6272656b)

struct world {
	struct rig rig;
	struct far_btree *tree[2];
	struct btree_head *leaf;	/* the first one, in its memory node */
	uint64_t key;			/* that client 0 stores NEW at */
};

static uint64_t key_of(uint64_t i)
{
	return __builtin_bswap64(i);
}

/* A leaf with `keys` keys, 0, 10, 20, ... */
static void world_open(struct world *world, unsigned keys, uint64_t key)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .clients = 2 };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;
	uint64_t i, k;

	memset(world, 0, sizeof(*world));
	world->key = key_of(key);
	rig_open(&world->rig, &conf);
	task = rig_enter(&world->rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &world->tree[0]), 0);
	for (i = 0; i < keys; i++) {
		k = key_of(10 * i);
		assert_int_equal(far_btree_insert(task, world->tree[0], &k, 8, &i, 8), 0);
	}
	far_leave(task);
	task = rig_enter(&world->rig, 1);
	assert_int_equal(far_btree_open(task, "t", &world->tree[1]), 0);
	far_leave(task);
	world->leaf = (void *)((char *)world->rig.map[0].addr +
			       far_addr_off(atomic_load(&world->tree[0]->top)));
}

static void world_close(struct world *world)
{
	far_btree_close(world->tree[0]);
	far_btree_close(world->tree[1]);
	rig_close(&world->rig);
}

static void store_task(struct far_task *task, void *arg)
{
	struct world *world = arg;
	uint64_t value = NEW;

	far_btree_put(task, world->tree[0], &world->key, 8, &value, 8);
}

/* Client 0 stores, and dies at its n'th operation. */
static void die_at(struct world *world, unsigned n)
{
	struct far_thread *thread;

	assert_int_equal(far_thread_start(world->rig.far[0], 1, store_task, world, &thread),
			 0);
	far_sim_kill_cn_at(world->rig.sim, 0, n);
	far_thread_join(thread);
	far_sim_kill_cn_at(world->rig.sim, 0, 0);
}

/* Client 1 finds all keys, and the one that was stored: at least `least` keys in all. */
static int count_key(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	uint64_t *nr = arg, number, what;

	(void)key_len;
	(void)value_len;
	memcpy(&number, key, 8);
	memcpy(&what, value, 8);
	number = __builtin_bswap64(number);
	assert_true(what == NEW || (number % 10 == 0 && what == number / 10));
	++*nr;
	return 0;
}

static void expect(struct world *world, unsigned keys, int stored)
{
	const struct far_range all = { 0 };
	struct far_task *task = rig_enter(&world->rig, 1);
	uint64_t value = 0, nr = 0;
	int err;

	err = far_btree_get(task, world->tree[1], &world->key, 8, &value, 8, NULL);
	if (stored) {
		assert_int_equal(err, 0);
		assert_true(value == NEW);
	}
	assert_int_equal(far_btree_scan(task, world->tree[1], &all, count_key, &nr), 0);
	assert_true(nr == keys || nr == keys + 1);
	assert_int_equal(rig_problems(&world->rig, task), 0);
	far_leave(task);
}

/*
 * What the memory node has executed of {WRITE record, WRITE entry, WRITE word}: the first
 * one, and half of the second one.
 */
static void write_half(struct world *world, unsigned part)
{
	const struct btree_geo *geo = &world->tree[0]->geo[0];
	struct btree_head *leaf = world->leaf;
	struct btree_redo *redo = (void *)((char *)leaf + geo->len);
	int place = btree_find_key(geo, leaf, &world->key);
	struct btree_entry *entry, *now;
	uint64_t value = NEW;

	if (place < 0)
		place = btree_find_room(geo, leaf, &world->key, NULL);
	redo->kind = BTREE_REDO_ENTRY | (uint64_t)place << 8;
	redo->before = leaf->version;
	entry = (void *)redo->data;
	btree_entry_set(geo, entry, leaf->version, &world->key, &value, sizeof(value));
	now = btree_entry_at(geo, leaf, place);
	if (part)
		memcpy(now->data, entry->data, geo->entry - BTREE_ENTRY);
	else
		now->sum = entry->sum;
}

/*
 * Client 1 changes another key of the leaf. Until then a reader may see an insert that
 * has not got its sum yet as what has not happened.
 */
static void touch(struct world *world)
{
	struct far_task *task = rig_enter(&world->rig, 1);
	uint64_t key = key_of(20), value = 2;

	assert_int_equal(far_btree_update(task, world->tree[1], &key, 8, &value, 8), 0);
	far_leave(task);
}

/* An entry whose WRITE has ended half way, of an update and of an insert. */
static void half_an_entry(void **state)
{
	unsigned n, broken = 0, part;
	struct world world;

	(void)state;
	for (part = 0; part < 4; part++) {
		for (n = 1; n < 8; n++) {
			world_open(&world, 3, part & 1 ? 15 : 10);
			die_at(&world, n);
			if (!far_lock_is_free(world.leaf->word)) {
				write_half(&world, part / 2);
				touch(&world);
				expect(&world, 3, 1);
				broken++;
			}
			world_close(&world);
		}
	}
	print_message("%u entries broken\n", broken);
	assert_true(broken >= 4);
}

/* The head of a leaf that is split, in the middle of its WRITE. */
static void half_a_head(void **state)
{
	const struct btree_redo *redo;
	unsigned n, broken = 0;
	struct world world;

	(void)state;
	for (n = 1; n < 40; n++) {
		world_open(&world, SPAN, 15);
		die_at(&world, n);
		redo = (const void *)((char *)world.leaf + world.tree[0]->geo[0].len);
		if (!far_lock_is_free(world.leaf->word) &&
		    (redo->kind & 0xff) == BTREE_REDO_HEAD) {
			world.leaf->right = BROKEN;
			world.leaf->version = BROKEN;
			memset(btree_high(&world.tree[0]->geo[0], world.leaf), 0x62, 8);
			expect(&world, SPAN, 0);
			broken++;
		}
		world_close(&world);
	}
	print_message("%u heads broken\n", broken);
	assert_true(broken >= 2);
}

/*
 * What a client has left behind itself when its connection broke: it repairs that also if
 * nobody of it ever wants to change the leaf.
 */
static void left_by_its_reader(void **state)
{
	const struct far_range all = { 0 };
	struct far_task *task;
	struct world world;
	uint64_t nr = 0;

	(void)state;
	world_open(&world, 3, 10);
	task = rig_enter(&world.rig, 0);
	world.leaf->word = far_lock_word(far_who_am_i(task), 0, 0,
					 far_lock_sum(world.leaf->word));
	write_half(&world, 1);
	alarm(HANGS);
	assert_int_equal(far_btree_scan(task, world.tree[0], &all, count_key, &nr), 0);
	alarm(0);
	assert_int_equal(nr, 3);
	assert_true(far_lock_is_free(world.leaf->word));
	far_leave(task);
	expect(&world, 3, 1);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_an_entry),
		cmocka_unit_test(half_a_head),
		cmocka_unit_test(left_by_its_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
