// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client that is cut off while tasks combine: each of its operations ends, with -ESTALE.
 * A batch whose change has an unknown fate leaves the gets in it to be done again; when
 * the next batch failed before it began, the unknown fate of the one before was taken for
 * its own, and the get was done again without end.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <far/art.h>
#include <far/btree.h>

#include "../../../../userspace/base/rng.h"
#include "rig.h"

#define TASKS	12u		/* the last of them cuts */
#define MOMENTS	100u
#define STEP_NS	UINT64_C(370)	/* between two of them; a round trip has some of these */
#define WARM_NS	UINT64_C(100000)
#define TOO_LONG_S	100

struct kind {
	const char *name;
	int (*get)(struct far_task *task, void *handle, uint64_t key, uint64_t *value);
	int (*put)(struct far_task *task, void *handle, uint64_t key, uint64_t value);
};

struct run {
	const struct kind *kind;
	struct rig rig;
	void *handle;
	uint64_t cut_at;	/* ns */
};

static int hash_get_u64(struct far_task *task, void *handle, uint64_t key, uint64_t *value)
{
	return far_hash_get(task, handle, &key, 8, value, 8, NULL);
}

static int hash_put_u64(struct far_task *task, void *handle, uint64_t key, uint64_t value)
{
	return far_hash_put(task, handle, &key, 8, &value, 8);
}

static int btree_get_u64(struct far_task *task, void *handle, uint64_t key, uint64_t *value)
{
	return far_btree_get(task, handle, &key, 8, value, 8, NULL);
}

static int btree_put_u64(struct far_task *task, void *handle, uint64_t key, uint64_t value)
{
	return far_btree_put(task, handle, &key, 8, &value, 8);
}

static int art_get_u64(struct far_task *task, void *handle, uint64_t key, uint64_t *value)
{
	return far_art_get(task, handle, &key, 8, value, 8, NULL);
}

static int art_put_u64(struct far_task *task, void *handle, uint64_t key, uint64_t value)
{
	return far_art_put(task, handle, &key, 8, &value, 8);
}

static const struct kind kinds[] = {
	{ "hash", hash_get_u64, hash_put_u64 },
	{ "btree", btree_get_u64, btree_put_u64 },
	{ "art", art_get_u64, art_put_u64 },
};

static void *handle_make(struct far_task *task, const char *name)
{
	struct far_hash *hash;
	struct far_btree *btree;
	struct far_art *art;

	if (!strcmp(name, "hash")) {
		assert_int_equal(far_hash_create(task, name, NULL, &hash), 0);
		return hash;
	}
	if (!strcmp(name, "btree")) {
		assert_int_equal(far_btree_create(task, name, NULL, &btree), 0);
		return btree;
	}
	assert_int_equal(far_art_create(task, name, &art), 0);
	return art;
}

static void handle_close(const char *name, void *handle)
{
	if (!strcmp(name, "hash"))
		far_hash_close(handle);
	else if (!strcmp(name, "btree"))
		far_btree_close(handle);
	else
		far_art_close(handle);
}

/* All want one key, so they combine. */
static void task_run(struct far_task *task, void *arg)
{
	struct run *run = arg;
	unsigned me = far_task_index(task);
	uint64_t value, dice;
	struct far_rng rng;
	int err = 0;

	far_rng_init(&rng, run->rig.conf.seed, me);
	if (me == TASKS - 1) {
		far_sleep(task, run->cut_at - far_now(task));
		far_client_cut(run->rig.far[0]->client);
	}
	while (err != -ESTALE) {
		dice = far_rng_next(&rng);
		err = dice % 2 ? run->kind->put(task, run->handle, 1, dice) :
				 run->kind->get(task, run->handle, 1, &value);
		if (dice % 3 == 0)
			far_sleep(task, dice % 4096);
	}
}

/* The memory node dies, too, so what is under way gets an unknown fate. */
static void cut_off(const struct kind *kind, unsigned moment)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .seed = moment };
	struct run run = { .kind = kind };
	struct far_thread *thread;
	struct far_task *task;

	rig_open(&run.rig, &conf);
	task = rig_enter(&run.rig, 0);
	run.handle = handle_make(task, kind->name);
	run.cut_at = far_now(task) + WARM_NS + moment * STEP_NS;
	far_leave(task);
	far_sim_kill_mn_at(run.rig.sim, 0, run.cut_at);
	assert_int_equal(far_thread_start(run.rig.far[0], TASKS, task_run, &run, &thread), 0);
	far_thread_join(thread);
	handle_close(kind->name, run.handle);
	rig_close(&run.rig);
}

static void cut_kind(void **state)
{
	unsigned moment;

	alarm(TOO_LONG_S);
	for (moment = 0; moment < MOMENTS; moment++)
		cut_off(*state, moment);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(cut_kind, (void *)&kinds[0]),
		cmocka_unit_test_prestate(cut_kind, (void *)&kinds[1]),
		cmocka_unit_test_prestate(cut_kind, (void *)&kinds[2]),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
