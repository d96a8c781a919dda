/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client dies while it splits a subtable, before each of its operations in turn, and
 * then the space is full. What is there can be read and deleted all the same, also where
 * slots are frozen; and what was emptied takes keys again. And one that stands still.
 */
#include "../../../../userspace/core/deadline.h"
#include "../../../../userspace/core/task.h"
#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS		400u
#define FULL_TRIES	3u
#define NAP_NS		1000u
#define WAIT_NS		UINT64_C(100000000)

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

struct frozen {
	struct rig rig;
	struct far_hash *hash[2];
	unsigned keys;			/* that were inserted */
	uint64_t dies_at, ops;
	int stops, stopped;		/* it stands still there instead */
	struct far_hash *other;		/* what fills the space */
	char value[1 << 20];
};

static int key_insert(struct frozen *f, unsigned client, struct far_task *task, uint64_t key)
{
	return far_hash_insert(task, f->hash[client], &key, sizeof(key), "a value", 8);
}

static void frozen_open(struct frozen *f, uint64_t dies_at)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7,
				       .size = 8 << 20 };
	const struct far_hash_attr attr = { .expected = 1 };
	struct far_task *task;
	unsigned i;

	memset(f, 0, sizeof(*f));
	f->dies_at = dies_at;
	rig_open(&f->rig, &conf);
	rig_leave(&f->rig, 0);
	f->rig.nic[0] = nap_new(f->rig.nic[0]);
	assert_non_null(f->rig.nic[0]);
	rig_join(&f->rig, 0);
	for (i = 0; i < 2; i++) {
		task = rig_enter(&f->rig, i);
		assert_int_equal(i ? far_hash_open(task, "t", &f->hash[i]) :
				 far_hash_create(task, "t", &attr, &f->hash[i]), 0);
		far_leave(task);
	}
}

static void frozen_close(struct frozen *f)
{
	far_hash_close(f->hash[0]);
	far_hash_close(f->hash[1]);
	rig_close(&f->rig);
}

static void first_stops(void *arg)
{
	struct frozen *f = arg;

	f->stopped = 1;
	while (f->stopped)
		nap_sleep(f->rig.nic[0], NAP_NS);
}

static void first_dies(void *arg)
{
	struct frozen *f = arg;

	if (f->stops)
		first_stops(f);
	else
		far_sim_kill_cn_at(f->rig.sim, 0, 1);
}

/* Inserts until a split is over, or until it dies. */
static void first_work(struct far_task *task, void *arg)
{
	struct far_hash_stats stats = { 0 };
	struct frozen *f = arg;

	/* only the insert that splits is counted */
	while (!stats.splits && f->keys < KEYS) {
		nap_at(f->rig.nic[0], f->dies_at, first_dies, f);
		if (key_insert(f, 0, task, f->keys))
			return;
		f->ops = nap_count(f->rig.nic[0]);
		f->keys++;
		nap_at(f->rig.nic[0], 0, NULL, NULL);
		assert_int_equal(far_hash_stat(task, f->hash[0], &stats), 0);
	}
}

/* Takes whatever the space has, also what comes back of the dead. */
static void fill(struct frozen *f, struct far_task *task)
{
	static const uint32_t len[] = { 1 << 20, 60000, 30000, 8000, 1800, 400, 8 };
	const struct far_hash_attr attr = { .expected = KEYS };
	unsigned i, tries;
	uint64_t key = 0;
	int err;

	assert_int_equal(far_hash_create(task, "other", &attr, &f->other), 0);
	for (tries = 0; tries < FULL_TRIES; tries++)
		for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
			do
				err = far_hash_put(task, f->other, &key, sizeof(key), f->value,
						   len[i]);
			while (!err && ++key);
			assert_int_equal(err, -ENOSPC);
		}
}

static unsigned slots_frozen(const struct frozen *f, uint64_t *frozen)
{
	unsigned depth, nr = 0, i, k;
	uint64_t sub = hash_dir_find(&f->hash[1]->dir[0], 0, &depth);
	struct hash_bucket *bucket = (void *)((char *)f->rig.map[0].addr + far_addr_off(sub) +
					      HASH_SUB_HEAD);
	struct hash_block *block;

	for (i = 0; i < 3 * f->hash[1]->groups; i++)
		for (k = 0; k < HASH_SLOTS; k++)
			if (bucket[i].slot[k] & HASH_FROZEN) {
				block = (void *)((char *)f->rig.map[0].addr +
						 hash_slot_off(bucket[i].slot[k]));
				memcpy(&frozen[nr++], block->data, sizeof(*frozen));
			}
	return nr;
}

static int key_delete(struct frozen *f, struct far_task *task, uint64_t key)
{
	char value[8];
	int err = far_hash_get(task, f->hash[1], &key, sizeof(key), value, 8, NULL);

	return err ? err : far_hash_delete(task, f->hash[1], &key, sizeof(key));
}

/* Those first that wait for the end of the split. How many these are. */
static unsigned delete_all(struct frozen *f, struct far_task *task)
{
	uint64_t frozen[HASH_MIN_GROUPS * HASH_GROUP_SLOTS], key;
	unsigned nr = slots_frozen(f, frozen), i;
	int err;

	for (i = 0; i < nr; i++) {
		err = key_delete(f, task, frozen[i]);
		if (err)
			fail_msg("dead at %llu: frozen key %llu: %d",
				 (unsigned long long)f->dies_at,
				 (unsigned long long)frozen[i], err);
	}
	/* the last one was not acknowledged */
	for (key = 0; key <= f->keys; key++) {
		err = key_delete(f, task, key);
		if (!err || (err == -ENOENT && key == f->keys))
			continue;
		for (i = 0; i < nr && frozen[i] != key; i++)
			;
		assert_true(err == -ENOENT && i < nr);
	}
	return nr;
}

/* What filled the space goes, and keys fit again. */
static void use_again(struct frozen *f, struct far_task *task)
{
	uint64_t key;

	far_hash_close(f->other);
	assert_int_equal(far_hash_destroy(task, "other"), 0);
	for (key = 0; key < KEYS; key++)
		assert_int_equal(key_insert(f, 1, task, key), 0);
}

static unsigned dead_run(struct frozen *f)
{
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems;
	unsigned nr;

	assert_int_equal(far_thread_start(f->rig.far[0], 1, first_work, f, &thread), 0);
	far_thread_join(thread);
	task = rig_enter(&f->rig, 1);
	fill(f, task);
	nr = delete_all(f, task);
	use_again(f, task);
	problems = rig_problems(&f->rig, task);
	far_leave(task);
	problems += rig_space_problems(&f->rig, 1);
	if (problems)
		fail_msg("dead at %llu: %llu problems", (unsigned long long)f->dies_at,
			 (unsigned long long)problems);
	return nr;
}

static void split_dead_and_full(void **state)
{
	struct frozen *f = malloc(sizeof(*f));
	struct far_thread *thread;
	unsigned runs = 0, frozen = 0;
	uint64_t at, ops;

	(void)state;
	assert_non_null(f);
	frozen_open(f, 0);
	assert_int_equal(far_thread_start(f->rig.far[0], 1, first_work, f, &thread), 0);
	far_thread_join(thread);
	ops = f->ops;
	frozen_close(f);
	for (at = 1; at <= ops; at += nightly() ? 1 : 5) {
		frozen_open(f, at);
		frozen += !!dead_run(f);
		runs++;
		frozen_close(f);
	}
	print_message("%u deaths, %u with frozen slots\n", runs, frozen);
	assert_true(frozen);
	free(f);
}

/* What the second client posts while it does nothing, or deletes a frozen key in vain. */
static uint64_t posted(struct frozen *f, struct far_task *task, const uint64_t *key)
{
	struct far_sim_cn_stats before, after;

	far_sim_stats(f->rig.sim, 1, &before);
	if (key) {
		far_deadline_at(task, far_now(task) + WAIT_NS);
		assert_int_equal(far_hash_delete(task, f->hash[1], key, sizeof(*key)), -ETIME);
		far_deadline_at(task, 0);
	} else {
		far_sleep(task, WAIT_NS);
	}
	far_sim_stats(f->rig.sim, 1, &after);
	return after.ops - before.ops;
}

/* A task that waits for a copy in a full space searches the space in few of its rounds. */
static void split_stopped_and_full(void **state)
{
	uint64_t frozen[HASH_MIN_GROUPS * HASH_GROUP_SLOTS], idle, busy;
	struct frozen *f = malloc(sizeof(*f));
	struct far_thread *thread;
	struct far_task *task;

	(void)state;
	assert_non_null(f);
	frozen_open(f, 0);
	assert_int_equal(far_thread_start(f->rig.far[0], 1, first_work, f, &thread), 0);
	far_thread_join(thread);
	/* it copies then */
	f->dies_at = f->ops * 5 / 8;
	frozen_close(f);
	frozen_open(f, f->dies_at);
	f->stops = 1;
	assert_int_equal(far_thread_start(f->rig.far[0], 1, first_work, f, &thread), 0);
	task = rig_enter(&f->rig, 1);
	while (!f->stopped)
		far_sleep(task, NAP_NS);
	fill(f, task);
	assert_true(slots_frozen(f, frozen));
	idle = posted(f, task, NULL);
	busy = posted(f, task, &frozen[0]);
	print_message("%llu operations while it waits, %llu while it does nothing\n",
		      (unsigned long long)busy, (unsigned long long)idle);
	assert_true(busy < 2 * idle);
	f->stopped = 0;
	far_thread_join(thread);
	far_leave(task);
	far_hash_close(f->other);
	frozen_close(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_dead_and_full),
		cmocka_unit_test(split_stopped_and_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
