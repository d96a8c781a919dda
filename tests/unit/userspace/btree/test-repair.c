/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A WRITE that has ended half way when its client died, which sim itself never leaves:
 * the test breaks what the dead client was writing, and the next client repairs it by the
 * record.
 */
#include "kind.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../../../../userspace/btree/btree_priv.h"
#include "../../../../userspace/core/owner.h"

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define SPAN	4u
#define CLIENTS	3u
#define REST_NS	UINT64_C(100000000)
#define HANGS	30u	/* seconds: then something waits for ever */
#define NEW	UINT64_C(0x4e45574e45574e45)
#define BROKEN	UINT64_C(0x6272656b6272656b)

struct world {
	struct rig rig;
	struct far_btree *tree[CLIENTS];
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
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .clients = CLIENTS };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;
	uint64_t i, k;
	unsigned c;

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
	for (c = 1; c < CLIENTS; c++) {
		task = rig_enter(&world->rig, c);
		assert_int_equal(far_btree_open(task, "t", &world->tree[c]), 0);
		far_leave(task);
	}
	world->leaf = (void *)((char *)world->rig.map[0].addr +
			       far_addr_off(atomic_load(&world->tree[0]->top)));
}

static void world_close(struct world *world)
{
	unsigned c;

	for (c = 0; c < CLIENTS; c++)
		far_btree_close(world->tree[c]);
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
	world.leaf->word = far_lock_word(far_owner_self(task), 0, 0,
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

struct errand {
	struct world *world;
	unsigned client;
	uint64_t key;
	bool deletes;
};

static void errand_run(struct far_task *task, void *arg)
{
	struct errand *errand = arg;
	struct far_btree *tree = errand->world->tree[errand->client];
	uint64_t value = NEW;

	if (errand->deletes)
		far_btree_delete(task, tree, &errand->key, 8);
	else
		far_btree_put(task, tree, &errand->key, 8, &value, 8);
}

/* A client does one thing, and dies at its n'th operation: whether it came to that. */
static bool died_at(struct errand *errand, unsigned n)
{
	struct rig *rig = &errand->world->rig;
	struct far_thread *thread;
	bool died;

	assert_int_equal(far_thread_start(rig->far[errand->client], 1, errand_run, errand,
					  &thread), 0);
	far_sim_kill_cn_at(rig->sim, errand->client, n);
	far_thread_join(thread);
	died = far_sim_cn_dead(rig->sim, errand->client);
	far_sim_kill_cn_at(rig->sim, errand->client, 0);
	return died;
}

static int count_any(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	++*(uint64_t *)arg;
	return 0;
}

/* The last client finds as many keys, and nothing that is wrong or lost. */
static void expect_whole(struct world *world, uint64_t least, uint64_t most)
{
	const struct far_range all = { 0 };
	struct far_task *task = rig_enter(&world->rig, CLIENTS - 1);
	uint64_t nr = 0;
	unsigned c;

	assert_int_equal(far_btree_scan(task, world->tree[CLIENTS - 1], &all, count_any, &nr),
			 0);
	assert_in_range(nr, least, most);
	assert_int_equal(rig_problems(&world->rig, task), 0);
	far_leave(task);
	for (c = 0; c < CLIENTS - 1; c++)
		rig_leave(&world->rig, c);
	assert_int_equal(rig_space_problems(&world->rig, CLIENTS - 1), 0);
}

static void rest(struct world *world)
{
	struct far_task *task = rig_enter(&world->rig, 1);

	far_sleep(task, REST_NS);
	far_leave(task);
}

/* The right node of a split of which client 0 has not come to the end; NULL: it has. */
static struct btree_head *unborn_right(struct world *world)
{
	struct btree_head *right;

	if (!world->leaf->right)
		return NULL;
	right = (void *)((char *)world->rig.map[0].addr + far_addr_off(world->leaf->right));
	return right->flags & BTREE_UNBORN ? right : NULL;
}

/* Looks at what client 1 posts, before the memory node executes it. */
static struct {
	struct far_nic_ops ops;
	const struct far_nic_ops *real;
	const struct btree_head *right;		/* as it is in far memory */
	uint64_t redo;				/* offset of its record */
	unsigned births, early;			/* records of a birth, and of a key before it */
} spy;

static int spy_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	const struct btree_redo *redo;
	unsigned i;

	for (i = 0; i < nr; i++) {
		redo = wr[i].local;
		if (wr[i].op != FAR_NIC_WRITE || wr[i].remote != spy.redo)
			continue;
		spy.births += (redo->kind & 0xff) == BTREE_REDO_HEAD;
		spy.early += (redo->kind & 0xff) == BTREE_REDO_ENTRY &&
			     spy.right->flags & BTREE_UNBORN;
	}
	return spy.real->post(qset, idx, wr, nr);
}

static void spy_on(struct world *world, const struct btree_head *right)
{
	struct far_nic *nic = world->rig.nic[1];

	memset(&spy, 0, sizeof(spy));
	spy.right = right;
	spy.redo = far_addr_off(world->leaf->right) + world->tree[1]->geo[0].len;
	spy.real = nic->ops;
	spy.ops = *nic->ops;
	spy.ops.post = spy_post;
	nic->ops = &spy.ops;
}

/*
 * Client 1 has a right node born whose split client 0 had begun, and stores a key there:
 * one record lies under a word, so that the key's comes when the birth's is not wanted any
 * more. Else a birth that ended half way has nothing to be repaired by.
 */
static void one_record(void **state)
{
	unsigned n, births = 0;
	struct world world;

	(void)state;
	for (n = 1; n < 40; n++) {
		struct errand errand = { &world, 1, key_of(25), false };
		struct btree_head *right;

		world_open(&world, SPAN, 15);
		die_at(&world, n);
		right = unborn_right(&world);
		if (right) {
			spy_on(&world, right);
			died_at(&errand, 0);
			world.rig.nic[1]->ops = spy.real;
			assert_int_equal(spy.early, 0);
			births += spy.births;
			expect_whole(&world, SPAN + 1, SPAN + 2);
		}
		world_close(&world);
	}
	print_message("%u births\n", births);
	assert_true(births > 0);
}

/*
 * Client 0 dies in a merge, and client 1, which comes by, ends it: then the right node is
 * nobody's, and the sweep finds it.
 */
static void merged_by_another(void **state)
{
	unsigned n, before, ended = 0;
	struct world world;
	bool died = true;

	(void)state;
	for (n = 1; died; n++) {
		/* by one that lives on: what the dead have allocated is swept anyway */
		struct errand more = { &world, CLIENTS - 1, key_of(5), false };
		struct errand less = { &world, CLIENTS - 1, key_of(5), true };
		struct errand last = { &world, 0, key_of(30), true };
		struct errand next = { &world, 1, key_of(15), false };

		world_open(&world, SPAN, 0);
		/* the right one of two leaves has one key then, after that one's deletion */
		assert_false(died_at(&more, 0) || died_at(&less, 0));
		died = died_at(&last, n);
		/* until all that the dead one had has been looked for */
		rest(&world);
		before = world.leaf->flags & BTREE_LAST;
		died_at(&next, 0);
		ended += died && !before && world.leaf->flags & BTREE_LAST;
		expect_whole(&world, 3, 5);
		world_close(&world);
	}
	print_message("%u deaths, of which %u merges were ended\n", n - 2, ended);
	assert_true(ended >= 2);
}

/* Puts back what belongs at an entry, once the torn contents have been READ. */
static struct {
	struct far_nic_ops ops;
	const struct far_nic_ops *real;
	uint64_t *value, right;		/* of the entry, in far memory */
	uint64_t contents;		/* offset of the leaf's */
	unsigned reads;			/* of them */
} late;

static int late_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		if (wr[i].op == FAR_NIC_READ && wr[i].remote == late.contents &&
		    late.reads++)
			*late.value = late.right;
	return late.real->post(qset, idx, wr, nr);
}

/* A value with which the leaf's checksum is what it was, although the entry is torn. */
static uint64_t value_of_same_sum(struct world *world, uint64_t *value)
{
	const uint32_t len = world->tree[0]->geo[0].len - 8;
	uint32_t sum = far_lock_sum(world->leaf->word);
	uint64_t right = *value, torn;

	for (torn = right + 1;; torn++) {
		*value = torn;
		if (far_lock_checksum(&world->leaf->sum, len) == sum)
			return right;
	}
}

/*
 * What is READ with the lock has the lock's checksum, of 24 bits, and a word in it that is
 * of before: nobody writes the leaf by that image.
 */
static void torn_by_accident(void **state)
{
	struct far_nic *nic;
	struct world world;
	uint64_t key = key_of(10);
	const struct btree_geo *geo;
	int place;

	(void)state;
	world_open(&world, 3, 20);
	geo = &world.tree[0]->geo[0];
	place = btree_find_key(geo, world.leaf, &key);
	assert_true(place >= 0);
	memset(&late, 0, sizeof(late));
	late.value = (uint64_t *)btree_value(geo, btree_entry_at(geo, world.leaf, place));
	late.contents = far_addr_off(atomic_load(&world.tree[0]->top)) + 8;
	late.right = value_of_same_sum(&world, late.value);
	nic = world.rig.nic[0];
	late.real = nic->ops;
	late.ops = *nic->ops;
	late.ops.post = late_post;
	nic->ops = &late.ops;
	die_at(&world, 0);
	nic->ops = late.real;
	assert_true(late.reads >= 1);
	*late.value = late.right;
	expect(&world, 3, 1);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_an_entry),
		cmocka_unit_test(half_a_head),
		cmocka_unit_test(left_by_its_reader),
		cmocka_unit_test(one_record),
		cmocka_unit_test(merged_by_another),
		cmocka_unit_test(torn_by_accident),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
