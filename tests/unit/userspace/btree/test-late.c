/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that are late: one sleeps before its n-th operation while it splits, merges or
 * repairs nodes, another one goes on through the next changes of the same place, sleeps
 * somewhere in these, and the first one finishes what it had begun. No key is lost, and no
 * block.
 */
#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"
#include "kind.h"

#include <errno.h>
#include <string.h>

#define SPAN	4u
#define GAP	100u	/* between keys that are there before */
#define MORE	16u	/* keys that the second client inserts, and deletes most of */
#define AROUND	4u	/* keys of before that it deletes, on each side */
#define BEFORE	64u	/* at most */
#define NAP_NS	1000u
#define NAPS	50000u	/* nobody sleeps longer */

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

/* What is there, and what the first client does with it; see number_of(). */
struct change {
	const char *name;
	unsigned before;	/* keys: four of them fill a leaf */
	unsigned from, to;	/* of these some are deleted again before anything else: */
	unsigned keep;		/* the i'th stays if bit i % 4 is set */
	uint64_t number;	/* the first client's key */
	bool deletes;
	bool dies;		/* a third client has begun the same, and died */
};

/* The i'th of the keys of before. */
static uint64_t number_of(unsigned i)
{
	return (i + 1) * GAP;
}

static const struct change changes[] = {
	{ "growth", SPAN, 0, 0, 0, 2 * GAP + 50, false, false },
	{ "split", 24, 0, 0, 0, 14 * GAP + 50, false, false },
	{ "split at the end", 24, 0, 0, 0, 25 * GAP, false, false },
	{ "splits of inner nodes", 16, 0, 0, 0, 17 * GAP, false, false },
	{ "merge", 24, 4, 20, 9, 13 * GAP, true, false },
	{ "empty leaf", 24, 12, 16, 8, 16 * GAP, true, false },
	{ "repair of a split", 24, 0, 0, 0, 14 * GAP + 50, false, true },
	{ "repair of a merge", 24, 4, 20, 9, 13 * GAP, true, true },
};
#define CHANGES	(sizeof(changes) / sizeof(changes[0]))

struct late {
	const struct change *change;
	struct rig rig;
	struct far_btree *tree[3];
	uint64_t first_at, second_at;	/* operations before which they sleep; 0: none */
	uint64_t third_at;		/* at which the third one dies */
	uint64_t first_ops, second_ops;
	int first_asleep, first_awake, first_done;
	bool gone[BEFORE];		/* deleted: of the keys of before */
};

static int key_insert(struct late *late, unsigned client, struct far_task *task,
		      uint64_t number)
{
	uint64_t key = __builtin_bswap64(number), value = ~number;

	return far_btree_insert(task, late->tree[client], &key, 8, &value, 8);
}

static int key_delete(struct late *late, unsigned client, struct far_task *task,
		      uint64_t number)
{
	uint64_t key = __builtin_bswap64(number);

	return far_btree_delete(task, late->tree[client], &key, 8);
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

static void late_open(struct late *late)
{
	const struct change *change = late->change;
	const struct rig_conf conf = { .sim = 1, .clients = 3, .nodes = 1, .seed = 7 };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;
	unsigned i, k;

	rig_open(&late->rig, &conf);
	clients_wrap(late);
	task = rig_enter(&late->rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &late->tree[0]), 0);
	for (i = 0; i < change->before; i++)
		assert_int_equal(key_insert(late, 0, task, number_of(i)), 0);
	for (i = change->from; i < change->to; i++) {
		if (change->keep >> i % 4 & 1)
			continue;
		assert_int_equal(key_delete(late, 0, task, number_of(i)), 0);
		late->gone[i] = true;
	}
	far_leave(task);
	for (k = 1; k < 3; k++) {
		task = rig_enter(&late->rig, k);
		assert_int_equal(far_btree_open(task, "t", &late->tree[k]), 0);
		/* it remembers the nodes, as they are now */
		for (i = 0; i < change->before; i++)
			key_delete(late, k, task, number_of(i) + 1);
		far_leave(task);
	}
}

static void late_close(struct late *late)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		far_btree_close(late->tree[i]);
	rig_close(&late->rig);
}

/* 0, or as it is when another one that died had done the same. */
static int first_change(struct late *late, unsigned client, struct far_task *task)
{
	const struct change *change = late->change;

	return change->deletes ? key_delete(late, client, task, change->number) :
				 key_insert(late, client, task, change->number);
}

static void third_work(struct far_task *task, void *arg)
{
	first_change(arg, 2, task);
}

/* The third one begins what the first one is to do, and dies. */
static void third_dies(struct late *late)
{
	struct far_thread *thread;

	assert_int_equal(far_thread_start(late->rig.far[2], 1, third_work, late, &thread), 0);
	far_sim_kill_cn_at(late->rig.sim, 2, late->third_at);
	far_thread_join(thread);
	far_sim_kill_cn_at(late->rig.sim, 2, 0);
}

static void first_naps(void *arg)
{
	struct late *late = arg;
	unsigned i;

	late->first_asleep = 1;
	for (i = 0; i < NAPS && !late->first_awake; i++)
		nap_sleep(late->rig.nic[0], NAP_NS);
}

static void first_work(struct far_task *task, void *arg)
{
	struct late *late = arg;
	int err;

	/* it is no longer idle then, and nothing but this thread posts */
	assert_int_equal(key_delete(late, 0, task, 1), -ENOENT);
	nap_at(late->rig.nic[0], late->first_at, first_naps, late);
	err = first_change(late, 0, task);
	if (err != 0 && !(late->change->dies && (err == -EEXIST || err == -ENOENT)))
		fail_msg("%s, asleep at %llu: %d", late->change->name,
			 (unsigned long long)late->first_at, err);
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

/* The i'th key that the second client inserts, on both sides of the first one's. */
static uint64_t more_of(const struct late *late, unsigned i)
{
	uint64_t number = late->change->number;

	return i % 2 ? number + 1 + i / 2 : number - 1 - i / 2;
}

/* Whether the second client deletes that one of before. */
static bool is_around(const struct late *late, unsigned i)
{
	uint64_t at = late->change->number / GAP;

	return number_of(i) != late->change->number && i + AROUND >= at && i < at + AROUND;
}

static void second_change(struct late *late, struct far_task *task)
{
	unsigned i;

	for (i = 0; i < MORE; i++)
		assert_int_equal(key_insert(late, 1, task, more_of(late, i)), 0);
	for (i = 0; i < late->change->before; i++) {
		if (late->gone[i] || !is_around(late, i))
			continue;
		assert_int_equal(key_delete(late, 1, task, number_of(i)), 0);
		late->gone[i] = true;
	}
	for (i = 0; i < MORE; i++)
		if (i % 4)
			assert_int_equal(key_delete(late, 1, task, more_of(late, i)), 0);
}

static void second_work(struct late *late, struct far_task *task)
{
	assert_int_equal(key_delete(late, 1, task, 1), -ENOENT);
	nap_at(late->rig.nic[1], late->second_at, second_naps, late);
	second_change(late, task);
	late->second_ops = nap_count(late->rig.nic[1]);
}

/* Whether a key is to be there when both are done. */
static bool is_there(const struct late *late, uint64_t number)
{
	const struct change *change = late->change;
	unsigned i;

	if (number == change->number)
		return !change->deletes;
	for (i = 0; i < change->before; i++)
		if (number == number_of(i))
			return !late->gone[i];
	for (i = 0; i < MORE; i += 4)
		if (number == more_of(late, i))
			return true;
	return false;
}

struct count {
	const struct late *late;
	uint64_t last;
	unsigned nr, bad;
};

static int count_key(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	struct count *count = arg;
	uint64_t number, what;

	(void)key_len;
	(void)value_len;
	memcpy(&number, key, 8);
	memcpy(&what, value, 8);
	number = __builtin_bswap64(number);
	count->bad += number <= count->last || what != ~number ||
		      !is_there(count->late, number);
	count->last = number;
	count->nr++;
	return 0;
}

static unsigned key_check(struct late *late, struct far_task *task, uint64_t number)
{
	uint64_t key = __builtin_bswap64(number), value = 0;
	int err = far_btree_get(task, late->tree[1], &key, 8, &value, 8, NULL);

	return is_there(late, number) ? err || value != ~number : err != -ENOENT;
}

/* Each key in turn; and a scan gives all that are there. */
static unsigned keys_check(struct late *late, struct far_task *task)
{
	const struct far_range all = { 0 };
	const struct change *change = late->change;
	struct count count = { .late = late };
	unsigned bad = key_check(late, task, change->number), i;
	unsigned nr = !change->deletes;

	for (i = 0; i < change->before; i++) {
		bad += key_check(late, task, number_of(i));
		nr += number_of(i) != change->number && !late->gone[i];
	}
	for (i = 0; i < MORE; i++) {
		bad += key_check(late, task, more_of(late, i));
		nr += i % 4 == 0;
	}
	assert_int_equal(far_btree_scan(task, late->tree[1], &all, count_key, &count), 0);
	return bad + count.bad + (count.nr != nr);
}

/* Both clients, and what there is afterwards. */
static void late_run(struct late *late)
{
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems;
	unsigned bad;

	late_open(late);
	if (late->change->dies)
		third_dies(late);
	assert_int_equal(far_thread_start(late->rig.far[0], 1, first_work, late, &thread), 0);
	task = rig_enter(&late->rig, 1);
	while (!late->first_asleep && !late->first_done)
		far_sleep(task, NAP_NS);
	second_work(late, task);
	late->first_awake = 1;
	far_thread_join(thread);
	bad = keys_check(late, task);
	problems = rig_problems(&late->rig, task);
	far_leave(task);
	far_btree_close(late->tree[0]);
	late->tree[0] = NULL;
	rig_leave(&late->rig, 0);
	problems += rig_space_problems(&late->rig, 1);
	if (bad || problems)
		fail_msg("%s, asleep at %llu, then at %llu, dead at %llu: %u keys are wrong, "
			 "%llu problems", late->change->name,
			 (unsigned long long)late->first_at,
			 (unsigned long long)late->second_at,
			 (unsigned long long)late->third_at, bad,
			 (unsigned long long)problems);
	late_close(late);
}

/*
 * Each operation of the one with some of the other's; at night all of them, or, where a
 * third one dies at each of its own, some more.
 */
static unsigned pairs_run(const struct change *change, uint64_t third_at)
{
	unsigned step_1 = change->dies ? (nightly() ? 3 : 7) : nightly() ? 1 : 3;
	unsigned step_2 = !nightly() ? 89 : change->dies ? 29 : 1, runs = 0;
	struct late whole = { .change = change, .third_at = third_at };
	uint64_t first, second;

	late_run(&whole);
	for (first = 1; first <= whole.first_ops; first += step_1)
		for (second = 1 + first * 5 % step_2; second <= whole.second_ops;
		     second += step_2, runs++) {
			struct late late = {
				.change = change, .third_at = third_at,
				.first_at = first, .second_at = second,
			};

			late_run(&late);
		}
	if (!change->dies || third_at == 1)
		print_message("%s: %llu and %llu operations\n", change->name,
			      (unsigned long long)whole.first_ops,
			      (unsigned long long)whole.second_ops);
	assert_true(whole.first_ops >= (change->dies ? 5 : 12));
	return runs;
}

static void each_pair(void **state)
{
	unsigned runs = 0;
	size_t i;

	(void)state;
	for (i = 0; i < CHANGES; i++)
		if (!changes[i].dies)
			runs += pairs_run(&changes[i], 0);
	print_message("%u runs\n", runs);
}

/* The same beside what a third client has left at each of its operations. */
static void each_repair(void **state)
{
	unsigned runs = 0;
	uint64_t at;
	size_t i;

	(void)state;
	for (i = 0; i < CHANGES; i++) {
		if (!changes[i].dies)
			continue;
		for (at = 1; at < 40; at += nightly() ? 1 : 8)
			runs += pairs_run(&changes[i], at);
	}
	print_message("%u runs\n", runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pair),
		cmocka_unit_test(each_repair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
