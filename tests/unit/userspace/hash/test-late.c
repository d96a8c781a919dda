/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that are late: one sleeps before its n-th operation while it splits a
 * subtable, another one goes on through the next splits of the same subtable, sleeps
 * somewhere in these, and the first one finishes what it had begun. No key is lost.
 */
#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/core/epoch.h"

#define KEYS		400u
#define FIRST_MORE	4u	/* keys that the first client inserts */
#define SECOND_MORE	70u	/* and the second */
#define NAP_NS		1000u
#define NAPS		50000u	/* nobody sleeps longer */

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

struct late {
	struct rig rig;
	struct far_hash *hash[2];
	uint64_t key[KEYS];
	unsigned prefill;		/* the next insert splits the first subtable */
	uint64_t first_at, second_at;	/* operations before which they sleep; 0: none */
	uint64_t first_ops, second_ops;
	int first_asleep, first_awake, first_done;
	int first_dies;			/* instead */
	int gone[KEYS];			/* deleted by the second client */
};

/*
 * Keys of which each split of the first subtable moves only some, so that it must be
 * split again soon.
 */
static void keys_choose(struct late *late)
{
	struct hash_key key;
	uint64_t number = 0;
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		do
			hash_key_init(&key, &(uint64_t){ ++number }, sizeof(number),
				      HASH_MIN_GROUPS, 1);
		while ((hash_key_dir(&key) & 7) != (i % 8 < 3 ? 1u << i % 8 : 0));
		late->key[i] = number;
	}
}

static uint64_t value_of(const struct late *late, unsigned i)
{
	return ~late->key[i];
}

static int key_insert(struct late *late, unsigned client, struct far_task *task, unsigned i)
{
	uint64_t value = value_of(late, i);

	return far_hash_insert(task, late->hash[client], &late->key[i], sizeof(uint64_t),
			       &value, sizeof(value));
}

static void clients_wrap(struct late *late)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		rig_leave(&late->rig, i);
		late->rig.nic[i] = nap_new(late->rig.nic[i]);
		assert_non_null(late->rig.nic[i]);
		rig_join(&late->rig, i);
	}
}

static void late_open(struct late *late, unsigned prefill)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7,
				       .without = FAR_WITHOUT_CACHE };
	const struct far_hash_attr attr = { .expected = 1 };
	struct far_task *task;
	unsigned i;

	rig_open(&late->rig, &conf);
	clients_wrap(late);
	keys_choose(late);
	for (i = 0; i < 2; i++) {
		task = rig_enter(&late->rig, i);
		if (!i)
			assert_int_equal(far_hash_create(task, "t", &attr,
							 &late->hash[i]), 0);
		else
			assert_int_equal(far_hash_open(task, "t", &late->hash[i]), 0);
		for (; !i && late->prefill < prefill; late->prefill++)
			assert_int_equal(key_insert(late, 0, task, late->prefill), 0);
		far_leave(task);
	}
}

static void late_close(struct late *late)
{
	far_hash_close(late->hash[0]);
	far_hash_close(late->hash[1]);
	rig_close(&late->rig);
}

static uint64_t splits_of(struct late *late, struct far_task *task, unsigned client)
{
	struct far_hash_stats stats;

	assert_int_equal(far_hash_stat(task, late->hash[client], &stats), 0);
	return stats.splits;
}

/* How many keys go into the first subtable. */
static unsigned prefill_find(void)
{
	struct late late = { 0 };
	struct far_task *task;
	unsigned nr = 0;

	late_open(&late, 0);
	task = rig_enter(&late.rig, 0);
	while (!splits_of(&late, task, 0))
		assert_int_equal(key_insert(&late, 0, task, nr++), 0);
	far_leave(task);
	late_close(&late);
	return nr - 1;
}

/* The first client sleeps until it is called. */
static void first_naps(void *arg)
{
	struct late *late = arg;
	unsigned i;

	late->first_asleep = 1;
	if (late->first_dies) {
		far_sim_kill_cn_at(late->rig.sim, 0, 1);
		return;
	}
	for (i = 0; i < NAPS && !late->first_awake; i++)
		nap_sleep(late->rig.nic[0], NAP_NS);
}

static void first_work(struct far_task *task, void *arg)
{
	struct late *late = arg;
	unsigned i;

	/* it is no longer idle then, and nothing but this thread posts */
	assert_int_equal(far_hash_delete(task, late->hash[0], "", 1), -ENOENT);
	nap_at(late->rig.nic[0], late->first_at, first_naps, late);
	for (i = 0; i < FIRST_MORE; i++)
		assert_int_equal(key_insert(late, 0, task, late->prefill + i), 0);
	late->first_ops = nap_count(late->rig.nic[0]);
	late->first_done = 1;
}

/* The second one sleeps, and lets the first one finish if that needs nothing of it. */
static void second_naps(void *arg)
{
	struct late *late = arg;
	unsigned i;

	late->first_awake = 1;
	for (i = 0; i < NAPS && !late->first_done; i++)
		nap_sleep(late->rig.nic[1], NAP_NS);
}

static void second_work(struct late *late, struct far_task *task)
{
	unsigned first = late->prefill + FIRST_MORE, i;

	assert_int_equal(far_hash_delete(task, late->hash[1], "", 1), -ENOENT);
	nap_at(late->rig.nic[1], late->second_at, second_naps, late);
	for (i = 0; i < SECOND_MORE; i++) {
		assert_int_equal(key_insert(late, 1, task, first + i), 0);
		if (i % 4)
			continue;
		assert_int_equal(far_hash_delete(task, late->hash[1], &late->key[i],
						 sizeof(uint64_t)), 0);
		late->gone[i] = 1;
	}
	late->second_ops = nap_count(late->rig.nic[1]);
}

static unsigned keys_check(struct late *late, struct far_task *task, unsigned nr)
{
	unsigned bad = 0, i;
	uint64_t value;
	size_t len;
	int err;

	for (i = 0; i < nr; i++) {
		value = 0;
		err = far_hash_get(task, late->hash[1], &late->key[i], sizeof(uint64_t),
				   &value, sizeof(value), &len);
		bad += late->gone[i] ? err != -ENOENT :
				       err || value != value_of(late, i);
	}
	return bad;
}

/* Both clients, and what there is afterwards. The number of splits. */
static uint64_t late_run(struct late *late)
{
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems, splits;
	unsigned bad;

	assert_int_equal(far_thread_start(late->rig.far[0], 1, first_work, late, &thread),
			 0);
	task = rig_enter(&late->rig, 1);
	while (!late->first_asleep && !late->first_done)
		far_sleep(task, NAP_NS);
	second_work(late, task);
	late->first_awake = 1;
	far_thread_join(thread);
	bad = keys_check(late, task, late->prefill + FIRST_MORE + SECOND_MORE);
	splits = splits_of(late, task, 1);
	problems = rig_problems(&late->rig, task);
	far_leave(task);
	far_hash_close(late->hash[0]);
	late->hash[0] = NULL;
	rig_leave(&late->rig, 0);
	problems += rig_space_problems(&late->rig, 1);
	if (bad || problems)
		fail_msg("asleep at %llu, then at %llu: %u keys are wrong, %llu problems",
			 (unsigned long long)late->first_at,
			 (unsigned long long)late->second_at, bad,
			 (unsigned long long)problems);
	return splits;
}

/* Each operation of the one with some of the other's, all of them at night. */
static void split_late(void **state)
{
	unsigned prefill = prefill_find(), runs = 0;
	unsigned step_1 = nightly() ? 1 : 23, step_2 = nightly() ? 1 : 41;
	struct late whole = { 0 };
	uint64_t first, second, splits;

	(void)state;
	late_open(&whole, prefill);
	splits = late_run(&whole);
	late_close(&whole);
	print_message("%u keys, %llu and %llu operations, %llu splits\n", prefill,
		      (unsigned long long)whole.first_ops,
		      (unsigned long long)whole.second_ops, (unsigned long long)splits);
	assert_true(splits >= 3);
	for (first = 1; first <= whole.first_ops; first += step_1)
		for (second = 1 + first % step_2; second <= whole.second_ops;
		     second += step_2, runs++) {
			struct late late = { .first_at = first, .second_at = second };

			late_open(&late, prefill);
			late_run(&late);
			late_close(&late);
		}
	print_message("%u runs\n", runs);
}

/* Deletes what was there, and gives its memory to keys of another table. */
static void blocks_reuse(struct late *late, struct far_task *task)
{
	const struct far_hash_attr attr = { .expected = KEYS };
	struct far_hash *other;
	unsigned i;

	assert_int_equal(far_hash_create(task, "other", &attr, &other), 0);
	for (i = 0; i < late->prefill; i += 2) {
		assert_int_equal(far_hash_delete(task, late->hash[1], &late->key[i],
						 sizeof(uint64_t)), 0);
		late->gone[i] = 1;
	}
	assert_int_equal(far_reclaim(task), 0);
	for (i = 0; i < late->prefill; i++)
		assert_int_equal(far_hash_insert(task, other, &late->key[i],
						 sizeof(uint64_t), "other...", 8), 0);
	far_hash_close(other);
}

static int scan_count(void *arg, const void *key, size_t key_len, const void *value,
		      size_t value_len)
{
	(void)key;
	(void)value;
	assert_int_equal(key_len, 8);
	assert_int_equal(value_len, 8);
	++*(unsigned *)arg;
	return 0;
}

static unsigned keys_left(const struct late *late)
{
	unsigned nr = 0, i;

	for (i = 0; i < late->prefill; i++)
		nr += !late->gone[i];
	return nr;
}

static void dead_run(struct late *late)
{
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems;
	unsigned bad, given = 0;

	assert_int_equal(far_thread_start(late->rig.far[0], 1, first_work, late, &thread),
			 0);
	far_thread_join(thread);
	task = rig_enter(&late->rig, 1);
	blocks_reuse(late, task);
	bad = keys_check(late, task, late->prefill);
	/* what the dead one had inserted may be there */
	assert_int_equal(far_hash_scan(task, late->hash[1], scan_count, &given), 0);
	problems = rig_problems(&late->rig, task);
	far_leave(task);
	problems += rig_space_problems(&late->rig, 1);
	if (bad || problems || given < keys_left(late) ||
	    given > keys_left(late) + FIRST_MORE)
		fail_msg("dead at %llu: %u keys are wrong, a scan gives %u, %llu problems",
			 (unsigned long long)late->first_at, bad, given,
			 (unsigned long long)problems);
}

/*
 * The client that splits dies in the middle, and nobody has to finish that. Blocks of keys that
 * have moved become others', and the words that named them are still there.
 */
static void split_dead(void **state)
{
	unsigned prefill = prefill_find();
	struct late whole = { 0 };
	uint64_t at;

	(void)state;
	late_open(&whole, prefill);
	late_run(&whole);
	late_close(&whole);
	for (at = 1; at <= whole.first_ops; at += nightly() ? 1 : 7) {
		struct late late = { .first_at = at, .first_dies = 1 };

		late_open(&late, prefill);
		dead_run(&late);
		late_close(&late);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_late),
		cmocka_unit_test(split_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
