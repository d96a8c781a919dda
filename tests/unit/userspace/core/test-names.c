// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names of structures beside what goes wrong: of a structure whose removal has an unknown
 * fate no block stays behind; and nobody waits for ever for a client that lives and does
 * not go on.
 */
#include <errno.h>

#include <far/art.h>
#include <far/btree.h>
#include <far/hash.h>

#include "../../../../userspace/core/task.h"
#include "../../../lib/nic/fault.h"
#include "../../../lib/nap.h"
#include "../hash/lost.h"
#include "../hash/rig.h"

#define MS	UINT64_C(1000000)
#define SWEEP_NS	(500 * MS)	/* what is lost is found by then */
#define LATE_MS		20u
#define TIMES	2u	/* that each operation fails: some are executed all the same */

static int hash_make(struct far_task *task, const char *name)
{
	static const struct far_hash_attr attr = { .expected = 10 };
	struct far_hash *hash;
	int err = far_hash_create(task, name, &attr, &hash);

	if (!err)
		far_hash_close(hash);
	return err;
}

static int btree_make(struct far_task *task, const char *name)
{
	static const struct far_btree_attr attr = { .key_size = 8, .value_size = 8 };
	struct far_btree *tree;
	int err = far_btree_create(task, name, &attr, &tree);

	if (!err)
		far_btree_close(tree);
	return err;
}

static int art_make(struct far_task *task, const char *name)
{
	struct far_art *art;
	int err = far_art_create(task, name, &art);

	if (!err)
		far_art_close(art);
	return err;
}

static const struct kind {
	const char *name;
	int (*make)(struct far_task *task, const char *name);
	int (*destroy)(struct far_task *task, const char *name);
} kinds[] = {
	{ "hash", hash_make, far_hash_destroy },
	{ "btree", btree_make, far_btree_destroy },
	{ "art", art_make, far_art_destroy },
};

/* Operation `at` of the removal fails; what is left behind. Operations that there were. */
static uint64_t remove_once(struct rig *rig, const struct kind *kind, uint64_t at)
{
	struct far_task *task = rig_enter(rig, 0);
	struct far_nic *nic = rig->nic[0];
	uint64_t ops = far_fault_count(nic), left;
	int err;

	assert_int_equal(kind->make(task, "t"), 0);
	far_fault_fail_at(nic, at, -EIO);
	ops = far_fault_count(nic);
	err = kind->destroy(task, "t");
	ops = far_fault_count(nic) - ops;
	far_fault_fail_at(nic, 0, 0);
		assert_true(!err || err == -EIO);
	if (err) {
		err = kind->destroy(task, "t");
		assert_true(!err || err == -ENOENT);
	}
	far_sleep(task, SWEEP_NS);
	far_leave(task);
	/* of a client that is there, nobody can tell what is in its hands */
	rig_leave(rig, 0);
	left = rig_space_problems(rig, 1);
	rig_join(rig, 0);
	if (left)
		fail_msg("%s: operation %llu fails: %llu problems", kind->name,
			 (unsigned long long)at, (unsigned long long)left);
	return ops;
}

static void removals_fail(void **state)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7 };
	uint64_t at, ops;
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rig_open(&rig, &conf);
		rig_leave(&rig, 0);
		assert_int_equal(far_fault_new(rig.nic[0], 1, 0, &rig.nic[0]), 0);
		rig_join(&rig, 0);
		ops = remove_once(&rig, &kinds[i], 0);
		for (at = TIMES; at < TIMES * (ops + 1); at++)
			remove_once(&rig, &kinds[i], at / TIMES);
		rig_close(&rig);
	}
}

struct stopped {
	struct rig rig;
	const struct kind *kind;
	uint64_t at;
	int asleep, awake, done;
};

static void first_naps(void *arg)
{
	struct stopped *stopped = arg;

	stopped->asleep = 1;
	while (!stopped->awake)
		nap_sleep(stopped->rig.nic[0], MS);
}

static void first_work(struct far_task *task, void *arg)
{
	struct stopped *stopped = arg;

	/* it is no longer idle then, and nothing but this thread posts */
	assert_int_equal(stopped->kind->destroy(task, "-"), -ENOENT);
	nap_at(stopped->rig.nic[0], stopped->at, first_naps, stopped);
	assert_int_equal(stopped->kind->make(task, "t"), 0);
	stopped->done = 1;
}

/* The first client stops before operation `at` of a creation. Whether the other was late. */
static bool stop_once(struct stopped *stopped)
{
	struct far_thread *thread;
	struct far_task *task;
	int err;

	assert_int_equal(far_thread_start(stopped->rig.far[0], 1, first_work, stopped, &thread),
			 0);
	task = rig_enter(&stopped->rig, 1);
	while (!stopped->asleep && !stopped->done)
		far_sleep(task, MS / 100);
	assert_int_equal(far_deadline_set(task, LATE_MS), 0);
	err = stopped->kind->make(task, "other");
	assert_true(!err || err == -ETIME);
	far_deadline_set(task, 0);
	stopped->awake = 1;
	far_thread_join(thread);
	if (err)
		assert_int_equal(stopped->kind->make(task, "other"), 0);
	far_sleep(task, SWEEP_NS);
	far_leave(task);
	return err;
}

/* Times that the other client was late. */
static unsigned kind_stops(const struct kind *kind)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7 };
	unsigned late = 0;

	for (uint64_t at = 1;; at++) {
		struct stopped stopped = { .kind = kind, .at = at };

		rig_open(&stopped.rig, &conf);
		rig_leave(&stopped.rig, 0);
		stopped.rig.nic[0] = nap_new(stopped.rig.nic[0]);
		assert_non_null(stopped.rig.nic[0]);
		rig_join(&stopped.rig, 0);
		late += stop_once(&stopped);
		rig_leave(&stopped.rig, 0);
		rig_leave(&stopped.rig, 1);
		rig_join(&stopped.rig, 1);
		assert_int_equal(rig_space_problems(&stopped.rig, 1), 0);
		rig_close(&stopped.rig);
		if (!stopped.asleep)
			return late;
	}
}

/* A creation that is late gives back the memory that it had taken. */
static void lock_is_held(void **state)
{
	(void)state;
	lost_blocks = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		assert_true(kind_stops(&kinds[i]) > 0);
	assert_int_equal(lost_blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removals_fail),
		cmocka_unit_test(lock_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
