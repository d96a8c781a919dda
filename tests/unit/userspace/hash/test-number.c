/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * far_hash_count(): when nobody works, it is what a walk counts, however keys have come and
 * gone, for each client, also for one that has opened the table since.
 */
#include "rig.h"

#include <stdatomic.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/hash/hash_priv.h"
#include "../../../lib/nightly.h"

#define TASKS	4u
#define KEYS	300u
#define BATCH	16u
#define QUIET_NS	UINT64_C(20000000)
#define QUIET_TRIES	1000u

struct run {
	struct rig rig;
	struct far_hash *hash[RIG_CLIENTS];
	unsigned ops;
	atomic_int err;
};

struct worker {
	struct run *run;
	unsigned client;
};

static enum far_modified toggle(void *arg, struct far_value *value)
{
	(void)arg;
	if (value->data)
		return FAR_DELETE;
	*value = (struct far_value) { "there", 5 };
	return FAR_STORE;
}

/* A batch of puts, some of the same key. */
static int some_put(struct far_task *task, struct far_hash *hash, struct far_rng *rng)
{
	struct far_hash_item item[BATCH];
	uint64_t key[BATCH];
	char value[] = "value";

	for (unsigned i = 0; i < BATCH; i++) {
		key[i] = far_rng_below(rng, KEYS);
		item[i] = (struct far_hash_item) {
			.key = &key[i], .key_len = 8, .value = value, .value_len = 5,
		};
	}
	return far_hash_mput(task, hash, item, BATCH);
}

static int change(struct far_task *task, struct far_hash *hash, struct far_rng *rng)
{
	uint64_t key = far_rng_below(rng, KEYS);
	int err;

	switch (far_rng_below(rng, 20)) {
	case 0:
		return some_put(task, hash, rng);
	case 1 ... 5:
		return far_hash_put(task, hash, &key, 8, "v", 1);
	case 6 ... 9:
		return far_hash_modify(task, hash, &key, 8, toggle, NULL);
	case 10 ... 13:
		err = far_hash_insert(task, hash, &key, 8, "new", 3);
		return err == -EEXIST ? 0 : err;
	default:
		err = far_hash_delete(task, hash, &key, 8);
		return err == -ENOENT ? 0 : err;
	}
}

static void work(struct far_task *task, void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	struct far_rng rng;
	int err = 0;

	far_rng_init(&rng, run->rig.conf.seed, worker->client * TASKS + far_task_index(task));
	for (unsigned i = 0; i < run->ops && !err; i++)
		err = change(task, run->hash[worker->client], &rng);
	if (err)
		atomic_store(&run->err, err);
}

/* Each client adds what it has changed when its service runs, however late that is. */
static void expect_count(struct far_task *task, struct far_hash *hash, uint64_t expected)
{
	uint64_t keys = expected + 1;

	for (unsigned i = 0; i < QUIET_TRIES && keys != expected; i++) {
		far_sleep(task, QUIET_NS);
		assert_int_equal(far_hash_count(task, hash, &keys), 0);
	}
	assert_int_equal(keys, expected);
}

static void expect_exact(struct run *run, unsigned client, struct far_hash *hash)
{
	struct far_task *task = rig_enter(&run->rig, client);
	struct far_hash_stats stats;

	assert_int_equal(far_hash_stat(task, hash, &stats), 0);
	expect_count(task, hash, stats.keys);
	far_leave(task);
}

static void tables_open(struct run *run)
{
	const struct far_hash_attr attr = { .expected = 1 };

	for (unsigned i = 0; i < run->rig.conf.clients; i++) {
		struct far_task *task = rig_enter(&run->rig, i);

		if (!i)
			assert_int_equal(far_hash_create(task, "t", &attr, &run->hash[i]), 0);
		else
			assert_int_equal(far_hash_open(task, "t", &run->hash[i]), 0);
		far_leave(task);
	}
}

static void all_work(struct run *run)
{
	struct far_thread *thread[RIG_CLIENTS];
	struct worker worker[RIG_CLIENTS];
	unsigned i, nr = run->rig.conf.clients;

	for (i = 0; i < nr; i++) {
		worker[i] = (struct worker) { run, i };
		assert_int_equal(far_thread_start(run->rig.far[i], TASKS, work, &worker[i],
						  &thread[i]), 0);
	}
	for (i = 0; i < nr; i++)
		far_thread_join(thread[i]);
	assert_int_equal(run->err, 0);
}

/* A handle that is closed at once leaves nothing out; cleared, there is none. */
static void ends(struct run *run)
{
	struct far_task *task = rig_enter(&run->rig, 0);
	struct far_hash *hash;
	uint64_t key = KEYS;

	assert_int_equal(far_hash_open(task, "t", &hash), 0);
	assert_int_equal(far_hash_put(task, hash, &key, 8, "last", 4), 0);
	far_hash_close(hash);
	far_leave(task);
	expect_exact(run, 1, run->hash[1]);
	task = rig_enter(&run->rig, 0);
	assert_int_equal(far_hash_clear(task, run->hash[0]), 0);
	expect_count(task, run->hash[0], 0);
	far_leave(task);
}

static void number(const struct rig_conf *conf, unsigned ops)
{
	struct run run = { .ops = ops };

	rig_open(&run.rig, conf);
	tables_open(&run);
	all_work(&run);
	for (unsigned i = 0; i < run.rig.conf.clients; i++)
		expect_exact(&run, i, run.hash[i]);
	ends(&run);
	for (unsigned i = 0; i < run.rig.conf.clients; i++)
		far_hash_close(run.hash[i]);
	rig_close(&run.rig);
}

static void number_mem(void **state)
{
	const struct rig_conf combined = { .clients = 2 };
	const struct rig_conf plain = {
		.clients = 2, .without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
	};

	(void)state;
	number(&combined, 1000);
	number(&plain, 300);
}

static void number_sim(void **state)
{
	struct rig_conf conf = {
		.sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};

	(void)state;
	for (unsigned i = 0; i < (nightly() ? 200u : 5u); i++) {
		conf.seed++;
		number(&conf, 100);
	}
}

/* A table of before there was a count. */
static void number_old(void **state)
{
	const struct rig_conf conf = { .clients = 2 };
	struct far_task *task;
	uint64_t keys;
	struct run run = { .ops = 0 };

	(void)state;
	rig_open(&run.rig, &conf);
	tables_open(&run);
	task = rig_enter(&run.rig, 0);
	keys = 0;
	far_write(task, far_sum_addr(run.hash[0]->keys[0]) + 8, &keys, 8);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(far_hash_count(task, run.hash[0], &keys), -EPROTONOSUPPORT);
	far_leave(task);
	for (unsigned i = 0; i < run.rig.conf.clients; i++)
		far_hash_close(run.hash[i]);
	rig_close(&run.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_mem),
		cmocka_unit_test(number_sim),
		cmocka_unit_test(number_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
