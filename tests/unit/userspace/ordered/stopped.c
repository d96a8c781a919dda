/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client that stands still, of any structure. See stopped.h. */
#include "stopped.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../lib/nap.h"
#include "../../../lib/nightly.h"

#include "../../../../userspace/core/deadline.h"
#include "../hash/lost.h"

#define NAP_NS		1000u
#define NAPS		900000u		/* less than a second: it is not taken for dead */
#define LATE_NS		UINT64_C(100000)
#define OVER_NS		UINT64_C(100000)	/* what is posted, and has to be finished */
#define MAX_KEYS	256u
#define TRIED		6u		/* keys that the other client tries */

struct stopped {
	const struct ordered_kind *kind;
	struct rig rig;
	void *index[2];
	unsigned prefill, nr;
	uint64_t at, ops;
	int asleep, awake, done;
	/* what a key has to be: its value; 0: absent */
	uint64_t is[MAX_KEYS];
	unsigned late, late_gets;
};

static uint64_t key_of(unsigned i)
{
	/* in memcmp()'s order, far from each other and in no order */
	return __builtin_bswap64((uint64_t)(i * 37 % MAX_KEYS) << 32);
}

static int store(struct stopped *stopped, unsigned client, struct far_task *task,
		 enum history_f f, unsigned i, uint64_t value)
{
	uint64_t key = key_of(i);

	return ordered_store(stopped->kind, f, task, stopped->index[client], &key, sizeof(key),
				       &value, sizeof(value));
}

static int get(struct stopped *stopped, unsigned client, struct far_task *task, unsigned i,
	       uint64_t *ret_value)
{
	uint64_t key = key_of(i);
	size_t len;

	*ret_value = 0;
	return stopped->kind->ops->get(task, stopped->index[client], &key, sizeof(key), ret_value,
				  sizeof(*ret_value), &len);
}

static void stopped_open(struct stopped *stopped)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 11 };
	struct far_task *task;
	unsigned i;

	rig_open(&stopped->rig, &conf);
	rig_leave(&stopped->rig, 0);
	stopped->rig.nic[0] = nap_new(stopped->rig.nic[0]);
	assert_non_null(stopped->rig.nic[0]);
	rig_join(&stopped->rig, 0);
	task = rig_enter(&stopped->rig, 1);
	assert_int_equal(ordered_create(stopped->kind, task, "t", 8, 8, &stopped->index[1]), 0);
	for (i = 0; i < stopped->prefill; i++) {
		stopped->is[i] = i + 1;
		assert_int_equal(store(stopped, 1, task, HISTORY_INSERT, i, i + 1), 0);
	}
	far_leave(task);
	task = rig_enter(&stopped->rig, 0);
	assert_int_equal(stopped->kind->ops->open(task, "t", &stopped->index[0]), 0);
	far_leave(task);
}

static void first_naps(void *arg)
{
	struct stopped *stopped = arg;
	unsigned i;

	stopped->asleep = 1;
	for (i = 0; i < NAPS && !stopped->awake; i++)
		nap_sleep(stopped->rig.nic[0], NAP_NS);
}

/* The first client inserts every second key that is not there; it has as long as it takes. */
static void first_work(struct far_task *task, void *arg)
{
	struct stopped *stopped = arg;
	uint64_t value;
	unsigned i;

	/* it is no longer idle then, and nothing but this thread posts */
	assert_int_equal(get(stopped, 0, task, MAX_KEYS - 1, &value), -ENOENT);
	nap_at(stopped->rig.nic[0], stopped->at, first_naps, stopped);
	for (i = stopped->prefill; i < stopped->nr; i += 2)
		assert_int_equal(store(stopped, 0, task, HISTORY_INSERT, i, i + 1), 0);
	stopped->ops = nap_count(stopped->rig.nic[0]);
	stopped->done = 1;
}

/* An operation of the second client has ended: in time, and with an answer that may be. */
static void second_ended(struct stopped *stopped, struct far_task *task, uint64_t began,
			 int err)
{
	uint64_t took = far_now(task) - began;

	if (err == -ETIME)
		stopped->late++;
	else
		assert_true(!err || err == -ENOENT || err == -EEXIST);
	if (took > LATE_NS + OVER_NS)
		fail_msg("asleep at %llu: it took %llu ns", (unsigned long long)stopped->at,
			 (unsigned long long)took);
}

static void second_store(struct stopped *stopped, struct far_task *task, enum history_f f,
			 unsigned i, uint64_t value)
{
	uint64_t began = far_now(task);
	int err;

	far_deadline_at(task, began + LATE_NS);
	err = store(stopped, 1, task, f, i, value);
	second_ended(stopped, task, began, err);
	if (!err)
		stopped->is[i] = value;
}

static void second_delete(struct stopped *stopped, struct far_task *task, unsigned i)
{
	uint64_t began = far_now(task), key = key_of(i);
	int err;

	far_deadline_at(task, began + LATE_NS);
	err = stopped->kind->ops->remove(task, stopped->index[1], &key, sizeof(key));
	second_ended(stopped, task, began, err);
	if (!err)
		stopped->is[i] = 0;
}

static void second_get(struct stopped *stopped, struct far_task *task, unsigned i)
{
	uint64_t began = far_now(task), value;
	int err;

	far_deadline_at(task, began + LATE_NS);
	err = get(stopped, 1, task, i, &value);
	second_ended(stopped, task, began, err);
	stopped->late_gets += err == -ETIME;
	if (!err)
		assert_int_equal(value, stopped->is[i]);
	if (err == -ENOENT)
		assert_int_equal(0, stopped->is[i]);
}

/* Some keys that are there, and some of those that only this client inserts. */
static void second_work(struct stopped *stopped, struct far_task *task)
{
	unsigned k, i;

	for (k = 0; k < TRIED; k++) {
		i = stopped->prefill + 1 + 2 * k;
		second_store(stopped, task, HISTORY_INSERT, i, 1000 + i);
		second_get(stopped, task, i);
		i = k;
		second_store(stopped, task, HISTORY_UPDATE, i, 2000 + i);
		second_get(stopped, task, i);
		if (k & 1)
			second_delete(stopped, task, i);
		second_store(stopped, task, HISTORY_PUT, i, 3000 + i);
	}
	far_deadline_at(task, 0);
}

static unsigned keys_check(struct stopped *stopped, struct far_task *task)
{
	unsigned bad = 0, i;
	uint64_t value;
	int err;

	for (i = stopped->prefill; i < stopped->nr; i += 2)
		stopped->is[i] = i + 1;
	for (i = 0; i < stopped->nr; i++) {
		err = get(stopped, 1, task, i, &value);
		bad += err != (stopped->is[i] ? 0 : -ENOENT) || value != stopped->is[i];
	}
	return bad;
}

/* Operations that the first one has posted; *ret_late: those of the second that were late. */
static uint64_t stopped_run(const struct stopped *how, struct stopped *ret_stopped)
{
	struct stopped *stopped = ret_stopped;
	struct far_thread *thread;
	struct far_task *task;
	uint64_t problems;
	unsigned bad;

	*stopped = *how;
	lost_blocks = 0;
	stopped_open(stopped);
	assert_int_equal(far_thread_start(stopped->rig.far[0], 1, first_work, stopped, &thread),
			 0);
	task = rig_enter(&stopped->rig, 1);
	while (!stopped->asleep && !stopped->done)
		far_sleep(task, NAP_NS);
	second_work(stopped, task);
	stopped->awake = 1;
	far_thread_join(thread);
	bad = keys_check(stopped, task);
	problems = rig_problems(&stopped->rig, task);
	far_leave(task);
	stopped->kind->ops->close(stopped->index[0]);
	rig_leave(&stopped->rig, 0);
	problems += rig_space_problems(&stopped->rig, 1);
	if (bad || problems || lost_blocks)
		fail_msg("asleep at %llu: %u keys are wrong, %llu problems, %u blocks lost",
			 (unsigned long long)stopped->at, bad,
			 (unsigned long long)problems, lost_blocks);
	stopped->kind->ops->close(stopped->index[1]);
	rig_close(&stopped->rig);
	return stopped->ops;
}

void stopped_everywhere(const struct ordered_kind *kind, unsigned prefill, unsigned nr,
			bool gets_wait)
{
	struct stopped how = { .kind = kind, .prefill = prefill, .nr = nr }, stopped;
	uint64_t ops = stopped_run(&how, &stopped), late = 0, gets = 0;
	unsigned step = nightly() ? 1 : 1 + ops / 60;

	for (how.at = 1; how.at <= ops; how.at += step) {
		stopped_run(&how, &stopped);
		late += stopped.late;
		gets += stopped.late_gets;
	}
	print_message("asleep before each %u. of %llu operations: %llu were late, of them %llu "
		      "gets\n", step, (unsigned long long)ops, (unsigned long long)late,
		      (unsigned long long)gets);
	assert_true(gets_wait || !gets);
}
