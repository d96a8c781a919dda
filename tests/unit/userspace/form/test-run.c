// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Second tries in a full space, in virtual time: whoever creates a structure waits for what
 * was retired, and nobody waits for an epoch that is its own.
 */
#include <errno.h>

#include <far/art.h>
#include <far/btree.h>

#include "../hash/rig.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/epoch.h"

#define BLOCKS	100000u

static const struct rig_conf full = { .sim = 1, .nodes = 1, .size = 6 << 20, .seed = 5 };

struct hoard {
	struct far_retired block[BLOCKS];
	unsigned nr;
};

/* Takes blocks of all sizes until there are none. */
static void hoard_take(struct hoard *hoard, struct far_task *task)
{
	static const uint64_t size[] = { 1 << 20, 16384, 2048, 512, 64, 16 };

	hoard->nr = 0;
	for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		struct far_retired *block = &hoard->block[hoard->nr];

		for (; !far_block_alloc(task, 0, size[i], &block->addr); block++) {
			block->size = size[i];
			assert_true(++hoard->nr < BLOCKS);
		}
	}
}

static void hoard_retire(struct hoard *hoard, struct far_task *task)
{
	assert_int_equal(far_epoch_enter(task), 0);
	for (unsigned i = 0; i < hoard->nr; i++)
		assert_int_equal(far_retire(task, hoard->block[i].addr,
					    hoard->block[i].size), 0);
	far_epoch_exit(task);
}

static int hash_create(struct far_task *task)
{
	struct far_hash *hash;
	int err = far_hash_create(task, "h", NULL, &hash);

	if (!err)
		far_hash_close(hash);
	return err;
}

static int btree_create(struct far_task *task)
{
	struct far_btree *tree;
	int err = far_btree_create(task, "b", NULL, &tree);

	if (!err)
		far_btree_close(tree);
	return err;
}

static int art_create(struct far_task *task)
{
	struct far_art *art;
	int err = far_art_create(task, "a", &art);

	if (!err)
		far_art_close(art);
	return err;
}

static void creations(void **state)
{
	static int (*const create[])(struct far_task *task) = {
		hash_create, btree_create, art_create,
	};
	static struct hoard hoard;
	struct far_task *task;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		rig_open(&rig, &full);
		task = rig_enter(&rig, 0);
		hoard_take(&hoard, task);
		assert_int_equal(create[i](task), -ENOSPC);
		hoard_retire(&hoard, task);
		assert_int_equal(create[i](task), 0);
		far_leave(task);
		rig_close(&rig);
	}
}

struct scan {
	struct far_task *task;
	struct far_hash *hash;
	unsigned calls;
};

/* The scan is inside of an epoch meanwhile. */
static int scan_insert(void *arg, const void *key, size_t key_len, const void *value,
		       size_t value_len)
{
	static const char other[] = "another key";
	struct scan *scan = arg;
	struct far_client *client = far_task_client(scan->task);
	uint64_t round = atomic_load(&client->round);

	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	scan->calls++;
	assert_int_equal(far_hash_insert(scan->task, scan->hash, other, sizeof(other), other,
					 sizeof(other)), -ENOSPC);
	/* Some round trips, but not until somebody is taken for stalled. */
	assert_in_range(atomic_load(&client->round), round, round + 10);
	return 0;
}

static void own_epoch(void **state)
{
	static struct hoard hoard;
	struct scan scan = { .calls = 0 };
	struct rig rig;
	uint64_t round;

	(void)state;
	rig_open(&rig, &full);
	scan.task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(scan.task, "h", NULL, &scan.hash), 0);
	assert_int_equal(far_hash_insert(scan.task, scan.hash, "key", 3, "value", 5), 0);
	hoard_take(&hoard, scan.task);
	assert_int_equal(far_hash_scan(scan.task, scan.hash, scan_insert, &scan), 0);
	assert_int_equal(scan.calls, 1);
	assert_int_equal(far_epoch_enter(scan.task), 0);
	round = atomic_load(&far_task_client(scan.task)->round);
	assert_int_equal(far_reclaim(scan.task), -EAGAIN);
	assert_int_equal(atomic_load(&far_task_client(scan.task)->round), round);
	far_epoch_exit(scan.task);
	hoard_retire(&hoard, scan.task);
	far_hash_close(scan.hash);
	far_leave(scan.task);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creations),
		cmocka_unit_test(own_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
