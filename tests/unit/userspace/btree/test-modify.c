/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes by functions on the B+ tree: what they answer, counters that count exactly, and
 * histories, with connections that break.
 */
#include "../../../lib/nightly.h"
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static const uint8_t the_key[8] = "counter";

struct say {
	enum far_modified what;
	struct far_value store;
	uint64_t was;
};

static enum far_modified say_it(void *arg, struct far_value *value)
{
	struct say *say = arg;

	say->was = 0;
	if (value->data)
		memcpy(&say->was, value->data, sizeof(say->was));
	*value = say->store;
	return say->what;
}

static enum far_modified add_one(void *arg, struct far_value *value)
{
	uint64_t *sum = arg;

	*sum = 0;
	if (value->data)
		memcpy(sum, value->data, sizeof(*sum));
	++*sum;
	*value = (struct far_value) { sum, sizeof(*sum) };
	return FAR_STORE;
}

static int say(struct world *world, struct say *say, enum far_modified what,
	       const uint64_t *store, size_t len)
{
	*say = (struct say) { .what = what, .store = { store, len } };
	return far_btree_modify(world->task, world->tree, the_key, 8, say_it, say);
}

static void expect(struct world *world, uint64_t value)
{
	uint64_t got = 0;
	int err = far_btree_get(world->task, world->tree, the_key, 8, &got, 8, NULL);

	assert_int_equal(err, value ? 0 : -ENOENT);
	assert_int_equal(got, value);
}

static void answers(void **state)
{
	const struct rig_conf conf = { .clients = 1, .nodes = 1 };
	const struct far_btree_attr attr = { .span = 4 };
	const uint64_t one = 1, two = 2;
	struct world world;
	struct say s;

	(void)state;
	world_open(&world, &conf, &attr);
	assert_int_equal(say(&world, &s, FAR_LEAVE, NULL, 0), 0);
	assert_int_equal(say(&world, &s, FAR_DELETE, NULL, 0), 0);
	expect(&world, 0);
	assert_int_equal(say(&world, &s, FAR_STORE, &one, 8), 0);
	assert_int_equal(s.was, 0);
	expect(&world, 1);
	assert_int_equal(say(&world, &s, FAR_STORE, &two, 8), 0);
	assert_int_equal(s.was, 1);
	assert_int_equal(say(&world, &s, FAR_LEAVE, &one, 8), 0);
	assert_int_equal(s.was, 2);
	assert_int_equal(say(&world, &s, FAR_STORE, &one, 7), -EINVAL);
	assert_int_equal(say(&world, &s, FAR_STORE, &one, 9), -EINVAL);
	assert_int_equal(say(&world, &s, 77, &one, 8), -EINVAL);
	expect(&world, 2);
	assert_int_equal(say(&world, &s, FAR_DELETE, NULL, 0), 0);
	expect(&world, 0);
	assert_int_equal(far_btree_modify(world.task, world.tree, the_key, 7, say_it, &s),
			 -EINVAL);
	world_close(&world);
}

/* Clients whose tasks count on one key. */
struct counter {
	struct far_btree *tree;
	unsigned each;
	atomic_ullong *done, *unknown;
};

static void count_work(struct far_task *task, void *arg)
{
	struct counter *counter = arg;
	uint64_t sum;
	unsigned i;
	int err;

	for (i = 0; i < counter->each; i++) {
		err = far_btree_modify(task, counter->tree, the_key, 8, add_one, &sum);
		atomic_fetch_add(err ? counter->unknown : counter->done, 1);
		assert_true(!err || err == -EIO);
	}
}

static void counts(const struct rig_conf *conf, unsigned tasks, unsigned each)
{
	struct far_thread *thread[RIG_CLIENTS];
	struct counter counter[RIG_CLIENTS];
	atomic_ullong done, unknown;
	struct far_task *task;
	struct world world;
	uint64_t sum = 0;
	unsigned i;

	atomic_init(&done, 0);
	atomic_init(&unknown, 0);
	world_open(&world, conf, NULL);
	far_leave(world.task);
	for (i = 0; i < conf->clients; i++) {
		counter[i] = (struct counter) { world.tree, each, &done, &unknown };
		task = rig_enter(&world.rig, i);
		if (i)
			assert_int_equal(far_btree_open(task, "t", &counter[i].tree), 0);
		far_leave(task);
	}
	for (i = 0; i < conf->clients; i++)
		assert_int_equal(far_thread_start(world.rig.far[i], tasks, count_work,
						  &counter[i], &thread[i]), 0);
	for (i = 0; i < conf->clients; i++)
		far_thread_join(thread[i]);
	for (i = 1; i < conf->clients; i++)
		far_btree_close(counter[i].tree);
	world.task = rig_enter(&world.rig, 0);
	assert_int_equal(far_btree_get(world.task, world.tree, the_key, 8, &sum, 8, NULL), 0);
	assert_int_equal(atomic_load(&unknown), 0);
	assert_int_equal(sum, atomic_load(&done));
	assert_int_equal(sum, (uint64_t)conf->clients * tasks * each);
	world_close(&world);
}

static void counts_mem(void **state)
{
	const struct rig_conf combined = { .clients = 2, .nodes = 1 };
	const struct rig_conf plain = {
		.clients = 2, .nodes = 1, .without = FAR_WITHOUT_COMBINE,
	};

	(void)state;
	counts(&combined, 4, 1000);
	counts(&plain, 4, 300);
}

static void counts_sim(void **state)
{
	struct rig_conf conf = {
		.sim = 1, .clients = 3, .nodes = 1,
		.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};
	unsigned seeds = nightly() ? 200 : 6;

	(void)state;
	while (seeds--) {
		conf.seed++;
		counts(&conf, 4, 60);
	}
}

static void histories(struct program_conf conf, unsigned seeds)
{
	struct program_result result;

	conf.kind = &btree_kind;
	while (seeds--) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
	}
}

static void histories_mem(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3 },
		.tasks = 4, .ops = 200, .keys = 3, .fill = 20, .drain = 18, .scan = 3,
		.prefill = 30, .key_size = 9, .value_size = 40, .modify = 50,
	};

	(void)state;
	histories(conf, nightly() ? 100 : 3);
}

static void histories_sim(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 2, .fill = 20, .drain = 18,
		.prefill = 30, .key_size = 9, .value_size = 40, .modify = 50,
	};

	(void)state;
	histories(conf, nightly() ? 1000 : 25);
}

static void histories_broken(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
		.tasks = 2, .ops = 50, .keys = 3, .fill = 20, .drain = 15,
		.prefill = 20, .key_size = 9, .value_size = 16, .modify = 60,
	};

	(void)state;
	histories(conf, nightly() ? 1000 : 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(counts_mem),
		cmocka_unit_test(counts_sim),
		cmocka_unit_test(histories_mem),
		cmocka_unit_test(histories_sim),
		cmocka_unit_test(histories_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
