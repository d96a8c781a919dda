/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of a client break at the n-th operation of a split, and cannot be made
 * again until it has given up: what became of its last operations it never learns. It lives,
 * so nobody takes over what has its name on it. Its service, or its next task that
 * comes there, does: others wait neither for a copy nor for a claim.
 */
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/task.h"
#include "../../../lib/nic/fault.h"
#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"
#include "../../../../userspace/hash/view.h"
#include "rig.h"

#include <errno.h>
#include <stdlib.h>

#define KEYS		400u
#define PAY_NS		UINT64_C(50000000)	/* rounds of the service */

struct answers {
	struct rig rig;
	struct far_nic *fault;
	struct far_hash *hash[2];
	uint64_t lost_at, ops;		/* 0: none is */
	unsigned keys;
	bool cut;
};

static int key_insert(struct answers *a, unsigned client, struct far_task *task, uint64_t key)
{
	return far_hash_insert(task, a->hash[client], &key, sizeof(key), "a value", 8);
}

static void answers_open(struct answers *a, uint64_t lost_at)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 7 };
	const struct far_hash_attr attr = { .expected = 1 };
	struct far_task *task;

	*a = (struct answers){ .lost_at = lost_at };
	rig_open(&a->rig, &conf);
	rig_leave(&a->rig, 0);
	assert_int_equal(far_fault_new(a->rig.nic[0], lost_at, 0, &a->fault), 0);
	a->rig.nic[0] = nap_new(a->fault);
	assert_non_null(a->rig.nic[0]);
	rig_join(&a->rig, 0);
	for (unsigned i = 0; i < 2; i++) {
		task = rig_enter(&a->rig, i);
		assert_int_equal(i ? far_hash_open(task, "t", &a->hash[i]) :
				 far_hash_create(task, "t", &attr, &a->hash[i]), 0);
		far_leave(task);
	}
}

static void answers_close(struct answers *a)
{
	far_hash_close(a->hash[0]);
	far_hash_close(a->hash[1]);
	rig_close(&a->rig);
}

static void cut(void *arg)
{
	struct answers *a = arg;

	a->cut = true;
	far_fault_fail_at(a->fault, 1, -ETIMEDOUT);
	nap_cut(a->rig.nic[0], 1);
}

/* Inserts until a split is over, or the client is cut off. */
static void first_work(struct far_task *task, void *arg)
{
	struct far_hash_stats stats = { 0 };
	struct answers *a = arg;

	while (!stats.splits && !a->cut) {
		nap_at(a->rig.nic[0], a->lost_at, cut, a);
		if (key_insert(a, 0, task, a->keys))
			assert_true(a->cut);
		a->ops = nap_count(a->rig.nic[0]);
		a->keys++;
		nap_cut(a->rig.nic[0], 0);
		nap_at(a->rig.nic[0], 0, NULL, NULL);
		if (!a->cut)
			assert_int_equal(far_hash_stat(task, a->hash[0], &stats), 0);
	}
	far_sleep(task, PAY_NS);
}

/* Notes of copies that have a name. */
static int each_note(void *arg, const struct hash_view *view)
{
	*(unsigned *)arg += !!far_owner_number(view->head.copy);
	return 0;
}

static void answers_run(struct answers *a, uint64_t lost_at)
{
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems, key;
	unsigned named = 0;

	answers_open(a, lost_at);
	assert_int_equal(far_thread_start(a->rig.far[0], 1, first_work, a, &thread), 0);
	far_thread_join(thread);
	task = rig_enter(&a->rig, 1);
	assert_int_equal(hash_each_view(task, a->hash[1], each_note, &named), 0);
	/* the one that was cut off may be there or not */
	for (key = a->keys; key < KEYS; key++)
		assert_int_equal(key_insert(a, 1, task, key), 0);
	problems = rig_problems(&a->rig, task);
	far_leave(task);
	problems += rig_space_problems(&a->rig, 1);
	if (named || problems)
		fail_msg("cut off at %llu: %u copies are kept, %llu problems",
			 (unsigned long long)lost_at, named, (unsigned long long)problems);
	answers_close(a);
}

static void each_answer(void **state)
{
	struct answers *a = malloc(sizeof(*a));
	uint64_t ops, at;

	(void)state;
	assert_non_null(a);
	answers_run(a, 0);
	ops = a->ops;
	for (at = 1; at <= ops; at += nightly() ? 1 : 7)
		answers_run(a, at);
	print_message("%llu operations\n", (unsigned long long)ops);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
