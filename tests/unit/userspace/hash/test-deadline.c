/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations that are late, at any round trip: they have happened, or answer -ETIME and
 * have left nothing behind, no claim, no turn, no block and no subtable that is closed. And
 * scans that are not.
 */
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/hash/view.h"
#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"
#include "lost.h"
#include "program.h"

#include <errno.h>

static void late_everywhere(struct program_conf conf, uint64_t least)
{
	unsigned runs = nightly() ? 500 : 25;
	struct program_result result;
	uint64_t late = 0, splits = 0, turns = 0;

	lost_blocks = 0;
	while (runs--) {
		program_expect_right(&conf, &result);
		late += result.late;
		splits += result.splits;
		turns += result.turns;
		assert_true(!lost_blocks || conf.rig.adversary & FAR_SIM_BREAK);
		assert_true(!result.turns_kept || conf.rig.adversary & FAR_SIM_BREAK);
		conf.rig.seed++;
	}
	print_message("%llu operations were late, %llu splits, %llu turns\n",
		      (unsigned long long)late, (unsigned long long)splits,
		      (unsigned long long)turns);
	assert_true(late > least);
}

/* Batches, scans, values of two trips, and subtables that split. */
static void while_changing(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .seed = 101,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 200, .keys = 6, .fill = 40, .batch = 20, .scan = 2,
		.longest = 200, .big = 300, .late_ns = 30000,
	};

	(void)state;
	late_everywhere(conf, 4000);
}

/* Leaders of batches are late, and hand the lead on. */
static void while_combining(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 201,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 8, .ops = 100, .keys = 1, .longest = 16, .late_ns = 12000,
	};

	(void)state;
	late_everywhere(conf, 10000);
}

/* Connections break besides: an unknown fate is no late one. */
static void while_breaking(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 301,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
		.tasks = 2, .ops = 200, .keys = 6, .fill = 40, .batch = 20,
		.longest = 200, .late_ns = 30000,
	};

	(void)state;
	late_everywhere(conf, 1000);
}

static int count_key(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	(void)key, (void)key_len, (void)value, (void)value_len;
	++*(unsigned *)arg;
	return 0;
}

/* A scan gets on with each subtable, also with those that have no keys. */
static void scan_of_few_keys(void **state)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .seed = 1 };
	const struct far_hash_attr attr = { .expected = 500000 };
	struct far_hash *hash;
	struct far_task *task;
	unsigned keys = 0;
	struct rig rig;
	uint64_t began, took;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &hash), 0);
	assert_int_equal(far_hash_put(task, hash, "key", 3, "value", 5), 0);
	began = far_now(task);
	assert_int_equal(far_hash_scan(task, hash, count_key, &keys), 0);
	took = far_now(task) - began;
	rig.far[0]->op_ns = took / 4;
	assert_int_equal(far_hash_scan(task, hash, count_key, &keys), 0);
	assert_int_equal(keys, 2);
	far_hash_close(hash);
	far_leave(task);
	rig_close(&rig);
}

#define OTHER_KEY	12345u	/* there is room where it belongs */

struct late_split {
	struct rig rig;
	struct far_hash *hash[2];
	uint64_t filled;	/* keys that are there; the next one splits */
	uint64_t stops_at;	/* the operation before which the second client stops */
	bool stopped, awake;
	unsigned closed, claimed;	/* headers */
};

static int key_insert(struct late_split *late, struct far_task *task, unsigned client,
		      uint64_t key)
{
	return far_hash_insert(task, late->hash[client], &key, sizeof(key), "a value", 8);
}

static int each_header(void *arg, const struct hash_view *view)
{
	struct late_split *late = arg;
	unsigned i;

	for (i = 0; i < 3 * late->hash[0]->groups; i++) {
		late->closed += i % 3 != 1 && view->bucket[i].header & HASH_MOVING;
		late->claimed += i % 3 != 1 && hash_claimed(view->bucket[i].header);
	}
	return 0;
}

/* A table of which the next insert splits the only subtable. */
static struct far_task *late_split_open(struct late_split *late, uint64_t filled)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7 };
	const struct far_hash_attr attr = { .expected = 1 };
	struct far_hash_stats stats = { 0 };
	struct far_task *task;

	*late = (struct late_split){ 0 };
	rig_open(&late->rig, &conf);
	rig_leave(&late->rig, 1);
	late->rig.nic[1] = nap_new(late->rig.nic[1]);
	assert_non_null(late->rig.nic[1]);
	rig_join(&late->rig, 1);
	task = rig_enter(&late->rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &late->hash[0]), 0);
	for (; !stats.splits && (!filled || late->filled < filled); late->filled++) {
		assert_int_equal(key_insert(late, task, 0, late->filled), 0);
		assert_int_equal(far_hash_stat(task, late->hash[0], &stats), 0);
	}
	return task;
}

static void late_split_close(struct late_split *late, struct far_task *task)
{
	far_leave(task);
	far_hash_close(late->hash[0]);
	rig_close(&late->rig);
}

static uint64_t fill_find(void)
{
	struct late_split late;
	struct far_task *task = late_split_open(&late, 0);
	uint64_t filled = late.filled - 1;

	late_split_close(&late, task);
	return filled;
}

/* Whenever it is late: a split that has begun goes on, so that nothing stays closed. */
static void split_is_late(void **state)
{
	uint64_t filled = fill_find(), ns, late_nr = 0;
	struct late_split late;
	struct far_task *task;
	int err = -ETIME;

	(void)state;
	for (ns = 1000; err; ns += nightly() ? 100 : 3000) {
		task = late_split_open(&late, filled);
		far_deadline_at(task, far_now(task) + ns);
		err = key_insert(&late, task, 0, filled);
		far_deadline_at(task, 0);
		assert_true(!err || err == -ETIME);
		assert_int_equal(hash_each_view(task, late.hash[0], each_header, &late), 0);
		assert_int_equal(late.closed, 0);
		late_nr += !!err;
		late_split_close(&late, task);
	}
	print_message("late %llu times\n", (unsigned long long)late_nr);
	assert_true(late_nr > 5);
}

static void second_stops(void *arg)
{
	struct late_split *late = arg;

	late->stopped = true;
	while (!late->awake)
		nap_sleep(late->rig.nic[1], 1000);
}

static void second_work(struct far_task *task, void *arg)
{
	struct late_split *late = arg;

	assert_int_equal(far_hash_open(task, "t", &late->hash[1]), 0);
	assert_int_equal(far_hash_delete(task, late->hash[1], "-", 1), -ENOENT);
	nap_at(late->rig.nic[1], late->stops_at, second_stops, late);
	assert_int_equal(key_insert(late, task, 1, OTHER_KEY), 0);
	late->stopped = true;
	far_hash_close(late->hash[1]);
}

/* Whether the second client has stopped with a claim. */
static bool second_claims(uint64_t filled, uint64_t stops_at)
{
	struct late_split late;
	struct far_task *task = late_split_open(&late, filled);
	struct far_thread *thread;
	int err;

	late.stops_at = stops_at;
	assert_int_equal(far_thread_start(late.rig.far[1], 1, second_work, &late, &thread), 0);
	while (!late.stopped)
		far_sleep(task, 1000);
	far_deadline_at(task, far_now(task) + 1000000);
	err = key_insert(&late, task, 0, filled);
	far_deadline_at(task, 0);
	assert_int_equal(hash_each_view(task, late.hash[0], each_header, &late), 0);
	assert_int_equal(err, late.claimed ? -ETIME : 0);
	assert_int_equal(late.closed, 0);
	late.awake = true;
	far_thread_join(thread);
	assert_int_equal(key_insert(&late, task, 0, filled), late.claimed ? 0 : -EEXIST);
	late_split_close(&late, task);
	return late.claimed;
}

/* A client stands still with a claim: the split waits for that first, in vain. */
static void claim_stands_still(void **state)
{
	uint64_t filled = fill_find(), at;
	unsigned claims = 0;

	(void)state;
	for (at = 1; at <= 12; at++)
		claims += second_claims(filled, at);
	assert_true(claims);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_changing),
		cmocka_unit_test(while_combining),
		cmocka_unit_test(while_breaking),
		cmocka_unit_test(scan_of_few_keys),
		cmocka_unit_test(split_is_late),
		cmocka_unit_test(claim_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
