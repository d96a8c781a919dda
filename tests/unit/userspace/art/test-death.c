/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that die, at each operation that they post: what they have begun happened as
 * a whole or not at all, others go on, and nothing is lost.
 */
#include "../../../lib/nightly.h"
#include "kind.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

/* Kills client 0 at operations 1, 1 + step, ... of the program, until it ends before. */
static void die_everywhere(struct program_conf conf, unsigned step)
{
	struct program_result result;
	uint64_t runs = 0;
	uint64_t last;

	program_expect_right(&conf, &result);
	last = result.posted;
	for (conf.kill_at = 1; conf.kill_at <= last; conf.kill_at += step) {
		program_expect_right(&conf, &result);
		runs++;
	}
	print_message("%llu deaths\n", (unsigned long long)runs);
	assert_true(runs > 20);
}

static unsigned step(unsigned by_day)
{
	return nightly() ? 1 : by_day;
}

/* One task that does everything, beside another client that does the same. */
static void alone(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 3,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 40, .keys = 3, .key_size = 24, .value_size = 32, .big = 8,
	};

	(void)state;
	die_everywhere(conf, step(1));
}

/* By functions, which close leaves, beside updates in place. */
static void while_modifying(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 11,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 40, .keys = 3, .key_size = 9, .value_size = 8,
		.modify = 40,
	};

	(void)state;
	die_everywhere(conf, step(5));
}

/* In the middle of splits, growing and merging. */
static void while_changing(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .nodes = 2, .seed = 5,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 60, .keys = 3, .prefill = 5, .fill = 45, .drain = 35,
		.key_size = 24, .value_size = 8, .big = 20,
	};

	(void)state;
	die_everywhere(conf, step(3));
}

/* With a batch of several tasks' operations under way. */
static void while_combining(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 7,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 15, .keys = 1, .key_size = 16, .value_size = 16, .big = 8,
	};

	(void)state;
	die_everywhere(conf, step(2));
}

#define LONG	17000u		/* bytes of a value that takes trips of its own */

/* One change that does one thing to the tree: what is there before, and the key. */
struct change {
	const char *name;
	const char *before[8];
	const char *key;
	bool deletes;
	bool long_values;
};

static const struct change changes[] = {
	{ "type switch", { "n0", "n1", "n2", "n3", "n4", "n5" }, "n6", false },
	{ "header split", { "abcdefX1", "abcdefX2" }, "abcQ", false },
	{ "leaf split", { "abcdefghijklmnopqrstuvw1" }, "abcdefghijklmnopqrstuvw2", false },
	{ "merge", { "m1", "m2" }, "m2", true },
	{ "last of a node", { "abcdefX1", "abcdefX2", "abcQ" }, "abcQ", true },
	{ "long value", { "n0", "n1" }, "n2", false, true },
	{ "long value's end", { "n0", "n1", "n2" }, "n1", true, true },
};

static char value[LONG], got[LONG];

static size_t value_len(const struct change *change)
{
	return change->long_values ? LONG : 7;
}

struct scene {
	const struct change *change;
	struct rig rig;
	struct far_art *art[2];
};

static int change_do(struct far_task *task, struct far_art *art, const struct change *change)
{
	size_t len = strlen(change->key);

	if (change->deletes)
		return far_art_delete(task, art, change->key, len);
	return far_art_insert(task, art, change->key, len, value, value_len(change));
}

/* Client 0's only task, which may not come to its end. */
static void change_main(struct far_task *task, void *arg)
{
	struct scene *scene = arg;

	change_do(task, scene->art[0], scene->change);
}

static void scene_open(struct scene *scene, const struct change *change)
{
	const struct rig_conf conf = {
		.sim = 1, .clients = 2, .seed = 9, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};
	struct far_task *task;
	unsigned i;

	scene->change = change;
	rig_open(&scene->rig, &conf);
	task = rig_enter(&scene->rig, 1);
	assert_int_equal(far_art_create(task, "t", &scene->art[1]), 0);
	for (i = 0; i < 8 && change->before[i]; i++)
		assert_int_equal(far_art_insert(task, scene->art[1], change->before[i],
						strlen(change->before[i]), value,
						value_len(change)), 0);
	far_leave(task);
	task = rig_enter(&scene->rig, 0);
	assert_int_equal(far_art_open(task, "t", &scene->art[0]), 0);
	far_leave(task);
}

/* True if client 0 died. */
static bool scene_run(struct scene *scene, uint64_t kill_at)
{
	struct far_thread *thread;
	bool died;

	assert_int_equal(far_thread_start(scene->rig.far[0], 1, change_main, scene, &thread), 0);
	far_sim_kill_cn_at(scene->rig.sim, 0, kill_at);
	far_thread_join(thread);
	died = far_sim_cn_dead(scene->rig.sim, 0);
	far_sim_kill_cn_at(scene->rig.sim, 0, 0);
	return died;
}

static void expect_key(struct scene *scene, struct far_task *task, const char *key)
{
	size_t len = 0;

	assert_int_equal(far_art_get(task, scene->art[1], key, strlen(key), got, LONG, &len), 0);
	assert_int_equal(len, value_len(scene->change));
	assert_memory_equal(got, value, len);
}

static void expect_keys(struct scene *scene, struct far_task *task)
{
	const struct change *change = scene->change;
	unsigned i;

	for (i = 0; i < 8 && change->before[i]; i++)
		if (strcmp(change->before[i], change->key))
			expect_key(scene, task, change->before[i]);
}

/* All that was there is there; the change has happened or not, and can be done. */
static void scene_close(struct scene *scene)
{
	struct far_task *task = rig_enter(&scene->rig, 1);
	int err;

	assert_int_equal(rig_problems(&scene->rig, task), 0);
	expect_keys(scene, task);
	err = change_do(task, scene->art[1], scene->change);
	assert_true(!err || err == (scene->change->deletes ? -ENOENT : -EEXIST));
	expect_keys(scene, task);
	assert_int_equal(change_do(task, scene->art[1], scene->change),
			 scene->change->deletes ? -ENOENT : -EEXIST);
	assert_int_equal(rig_problems(&scene->rig, task), 0);
	far_leave(task);
	rig_leave(&scene->rig, 0);
	assert_int_equal(rig_space_problems(&scene->rig, 1), 0);
	far_art_close(scene->art[0]);
	far_art_close(scene->art[1]);
	rig_close(&scene->rig);
}

/* At each verb of a type switch, of splits and of a merge. */
static void at_each_verb(void **state)
{
	struct scene scene;
	uint64_t kill_at;
	bool died;
	size_t i;

	(void)state;
	for (i = 0; i < LONG; i++)
		value[i] = (char)(i % 251);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		for (died = true, kill_at = 1; died; kill_at++) {
			scene_open(&scene, &changes[i]);
			died = scene_run(&scene, kill_at);
			scene_close(&scene);
		}
		print_message("%s: %llu deaths\n", changes[i].name,
			      (unsigned long long)kill_at - 2);
		assert_true(kill_at > 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(while_modifying),
		cmocka_unit_test(while_changing),
		cmocka_unit_test(while_combining),
		cmocka_unit_test(at_each_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
