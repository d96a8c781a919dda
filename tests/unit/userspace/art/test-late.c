/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client that is late: it sleeps before its n-th operation while it grows, splits or
 * merges nodes, another one goes on through the next changes of the same place, and then
 * the first one finishes what it had begun. No key is lost, and no block.
 */
#include "../../../lib/nap.h"
#include "kind.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

#define NAP_NS	1000u
#define NAPS	50000u	/* nobody sleeps longer */
#define MORE	40u	/* keys that the second client inserts, and deletes half of */

/* What is there, what the first client does, and where the second one goes on. */
struct change {
	const char *name;
	const char *before[8];
	const char *key;
	const char *place;	/* what the second client's keys begin with */
	bool deletes;
};

static const struct change changes[] = {
	{ "growth", { "n0", "n1", "n2", "n3", "n4", "n5" }, "n6", "n", false },
	{ "header split", { "abcdefX1", "abcdefX2" }, "abcQ", "abc", false },
	{ "leaf split", { "abcdefghijklmnopqrstuvw1" }, "abcdefghijklmnopqrstuvw2",
	  "abcdefghij", false },
	{ "merge", { "m1", "m2" }, "m2", "m", true },
	{ "last of a node", { "abcdefX1", "abcdefX2", "abcQ" }, "abcQ", "abcdef", true },
};

struct late {
	const struct change *change;
	struct rig rig;
	struct far_art *art[2];
	uint64_t at, ops;		/* operation before which the first one sleeps */
	int asleep, awake, done;
};

static void late_open(struct late *late)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 11,
				       .without = FAR_WITHOUT_CACHE };
	const struct change *change = late->change;
	struct far_task *task;
	unsigned i;

	rig_open(&late->rig, &conf);
	rig_leave(&late->rig, 0);
	late->rig.nic[0] = nap_new(late->rig.nic[0]);
	assert_non_null(late->rig.nic[0]);
	rig_join(&late->rig, 0);
	task = rig_enter(&late->rig, 1);
	assert_int_equal(far_art_create(task, "t", &late->art[1]), 0);
	for (i = 0; i < 8 && change->before[i]; i++)
		assert_int_equal(far_art_insert(task, late->art[1], change->before[i],
						strlen(change->before[i]), "value", 5), 0);
	far_leave(task);
	task = rig_enter(&late->rig, 0);
	assert_int_equal(far_art_open(task, "t", &late->art[0]), 0);
	far_leave(task);
}

/* The first client sleeps until it is called. */
static void first_naps(void *arg)
{
	struct late *late = arg;
	unsigned i;

	late->asleep = 1;
	for (i = 0; i < NAPS && !late->awake; i++)
		nap_sleep(late->rig.nic[0], NAP_NS);
}

static void first_work(struct far_task *task, void *arg)
{
	struct late *late = arg;
	const char *key = late->change->key;
	int err;

	/* it is no longer idle then, and nothing but this thread posts */
	assert_int_equal(far_art_delete(task, late->art[0], "-", 1), -ENOENT);
	nap_at(late->rig.nic[0], late->at, first_naps, late);
	err = late->change->deletes ?
	      far_art_delete(task, late->art[0], key, strlen(key)) :
	      far_art_insert(task, late->art[0], key, strlen(key), "first", 5);
	assert_int_equal(err, 0);
	late->ops = nap_count(late->rig.nic[0]);
	late->done = 1;
}

static size_t more_key(const struct late *late, unsigned i, char key[32])
{
	size_t len = strlen(late->change->place);

	memcpy(key, late->change->place, len);
	key[len] = 'a' + i % 20;
	key[len + 1] = '+';
	key[len + 2] = 'A' + i / 20;
	return len + 3;
}

/* Nodes of the place grow, split, shrink and go. */
static void second_work(struct late *late, struct far_task *task)
{
	char key[32];
	unsigned i;

	for (i = 0; i < MORE; i++)
		assert_int_equal(far_art_insert(task, late->art[1], key,
						more_key(late, i, key), "second", 6), 0);
	for (i = 0; i < MORE; i += 2)
		assert_int_equal(far_art_delete(task, late->art[1], key,
						more_key(late, i, key)), 0);
}

static unsigned keys_check(struct late *late, struct far_task *task)
{
	const struct change *change = late->change;
	char key[32], value[8];
	unsigned bad = 0, i;

	for (i = 0; i < 8 && change->before[i]; i++)
		if (strcmp(change->before[i], change->key))
			bad += far_art_get(task, late->art[1], change->before[i],
					   strlen(change->before[i]), value, 8, NULL) != 0;
	bad += far_art_get(task, late->art[1], change->key, strlen(change->key), value, 8,
			   NULL) != (change->deletes ? -ENOENT : 0);
	for (i = 0; i < MORE; i++)
		bad += far_art_get(task, late->art[1], key, more_key(late, i, key), value, 8,
				   NULL) != (i % 2 ? 0 : -ENOENT);
	return bad;
}

/* Both clients, and what there is afterwards. Operations that the first one has posted. */
static uint64_t late_run(const struct change *change, uint64_t at)
{
	struct late late = { .change = change, .at = at };
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems;
	unsigned bad;

	late_open(&late);
	assert_int_equal(far_thread_start(late.rig.far[0], 1, first_work, &late, &thread), 0);
	task = rig_enter(&late.rig, 1);
	while (!late.asleep && !late.done)
		far_sleep(task, NAP_NS);
	second_work(&late, task);
	late.awake = 1;
	far_thread_join(thread);
	bad = keys_check(&late, task);
	problems = rig_problems(&late.rig, task);
	far_leave(task);
	far_art_close(late.art[0]);
	rig_leave(&late.rig, 0);
	problems += rig_space_problems(&late.rig, 1);
	if (bad || problems)
		fail_msg("%s, asleep at %llu: %u keys are wrong, %llu problems", change->name,
			 (unsigned long long)at, bad, (unsigned long long)problems);
	far_art_close(late.art[1]);
	rig_close(&late.rig);
	return late.ops;
}

static void each_step(void **state)
{
	uint64_t at, ops;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		ops = late_run(&changes[i], 0);
		for (at = 1; at <= ops; at++)
			late_run(&changes[i], at);
		print_message("%s: asleep before each of %llu operations\n", changes[i].name,
			      (unsigned long long)ops);
		assert_true(ops > 3);
	}
}

static const struct change overwritten = { "update", { "n0", "n1" }, "n0", "n", false };

/* The first client sleeps for longer than an epoch takes, and is no dead one. */
static void first_sleeps(void *arg)
{
	struct late *late = arg;

	late->asleep = 1;
	nap_sleep(late->rig.nic[0], 20000000);
	late->awake = 1;
}

static void first_updates(struct far_task *task, void *arg)
{
	const uint64_t value = 100;
	struct late *late = arg;

	assert_int_equal(far_art_delete(task, late->art[0], "-", 1), -ENOENT);
	nap_at(late->rig.nic[0], late->at, first_sleeps, late);
	assert_int_equal(far_art_update(task, late->art[0], "n0", 2, &value, 8), 0);
	late->ops = nap_count(late->rig.nic[0]);
	late->done = 1;
}

static enum far_modified add_one(void *arg, struct far_value *value)
{
	uint64_t *sum = arg;

	memcpy(sum, value->data, sizeof(*sum));
	++*sum;
	*value = (struct far_value) { sum, sizeof(*sum) };
	return FAR_STORE;
}

/*
 * A function comes while the first client is about to overwrite the value; with little time,
 * or with enough to wait for that one.
 */
static uint64_t overwrite_run(uint64_t at)
{
	struct late late = { .change = &overwritten, .at = at };
	uint64_t sum = 0, value = 0;
	struct far_thread *thread;
	struct far_task *task;

	late_open(&late);
	task = rig_enter(&late.rig, 1);
	assert_int_equal(far_art_put(task, late.art[1], "n0", 2, &value, 8), 0);
	assert_int_equal(far_thread_start(late.rig.far[0], 1, first_updates, &late, &thread), 0);
	while (!late.asleep && !late.done)
		far_sleep(task, NAP_NS);
	if (at) {
		far_deadline_set(task, 5);
		assert_int_equal(far_art_modify(task, late.art[1], "n0", 2, add_one, &sum), -ETIME);
		far_deadline_set(task, 0);
		assert_false(late.awake);
	}
	assert_int_equal(far_art_modify(task, late.art[1], "n0", 2, add_one, &sum), 0);
	assert_true(!at || late.awake);
	far_thread_join(thread);
	assert_int_equal(far_art_get(task, late.art[1], "n0", 2, &value, 8, NULL), 0);
	/* one came before the other */
	assert_true((sum == 101 && value == 101) || (sum == 1 && value == 100));
	far_leave(task);
	far_art_close(late.art[0]);
	far_art_close(late.art[1]);
	rig_leave(&late.rig, 0);
	rig_close(&late.rig);
	return late.ops;
}

static void overwriting(void **state)
{
	uint64_t ops = overwrite_run(0), at;

	(void)state;
	assert_true(ops > 1);
	for (at = 1; at <= ops; at++)
		overwrite_run(at);
	print_message("asleep before each of %llu operations\n", (unsigned long long)ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step),
		cmocka_unit_test(overwriting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
