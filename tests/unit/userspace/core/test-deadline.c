/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deadlines, in virtual time: who waits in a queue leaves it in time and the others stay in
 * order, a leader that is late hands the lead on, who wakes a task that may wake by itself
 * holds it, and a client that stands in the way of memory keeps nobody waiting twice.
 */
#include <errno.h>
#include <string.h>

#include "../hash/rig.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/combine.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/deadline.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/lock.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"

#define US	UINT64_C(1000)
#define MS	UINT64_C(1000000)
#define WAITERS	6u

static const struct rig_conf one = { .sim = 1, .nodes = 1, .seed = 5 };
static const struct rig_conf two = { .sim = 1, .nodes = 1, .clients = 2, .seed = 5 };

/* Tasks 0 to WAITERS - 1 want a lock in this order; some have a deadline. */
struct queue {
	struct far *far;
	int choose;			/* the holder chooses its heir at once */
	uint64_t late_at[WAITERS];	/* us; 0: none */
	int err[WAITERS];
	uint64_t ended[WAITERS];	/* us */
	unsigned order[WAITERS], nr;	/* whose turn came when */
};

static void queue_one(struct far_task *task, struct queue *queue, unsigned me)
{
	struct far_lock lock = { .addr = 64, .task = task };
	uint64_t began = far_now(task);

	far_sleep(task, me * US);
	if (queue->late_at[me])
		far_deadline_at(task, began + queue->late_at[me] * US);
	assert_int_equal(far_op_begin(task), 0);
	queue->err[me] = far_lock_enter(queue->far->locks, &lock);
	queue->ended[me] = (far_now(task) - began) / US;
	if (!queue->err[me]) {
		queue->order[queue->nr++] = me;
		if (!me)
			far_sleep(task, 100 * US);
		if (!me && queue->choose)
			assert_non_null(far_lock_heir(queue->far->locks, &lock));
		far_sleep(task, me ? 10 * US : 900 * US);
		far_lock_leave(queue->far->locks, &lock);
	}
	far_op_end(task);
	far_deadline_at(task, 0);
}

static void queue_task(struct far_task *task, void *arg)
{
	queue_one(task, arg, far_task_index(task));
}

/* Tasks that were resumed, and those whose thread nobody held meanwhile. */
static unsigned nr_resumed, nr_loose;

void __real_far_task_resume(struct far_task *task);
void __wrap_far_task_resume(struct far_task *task);
void __wrap_far_task_resume(struct far_task *task)
{
	nr_resumed++;
	nr_loose += !atomic_load(&task->thread->held_by);
	__real_far_task_resume(task);
}

static void queue_run(struct queue *queue)
{
	struct far_thread *thread;
	struct rig rig;

	nr_resumed = nr_loose = 0;
	rig_open(&rig, &one);
	queue->far = rig.far[0];
	assert_int_equal(far_thread_start(rig.far[0], WAITERS, queue_task, queue, &thread), 0);
	far_thread_join(thread);
	rig_close(&rig);
	assert_int_equal(nr_loose, 0);
}

/* One leaves from the middle, one from the end, where a later one joins. */
static void waiters_leave(void **state)
{
	struct queue queue = { .late_at = { 0, 0, 200, 0, 300, 0 } };
	static const unsigned order[] = { 0, 1, 3, 5 };

	(void)state;
	queue_run(&queue);
	assert_int_equal(queue.err[2], -ETIME);
	assert_int_equal(queue.err[4], -ETIME);
	assert_in_range(queue.ended[2], 200, 210);
	assert_in_range(queue.ended[4], 300, 310);
	assert_int_equal(queue.nr, 4);
	assert_true(nr_resumed);
	assert_memory_equal(queue.order, order, sizeof(order));
}

static void last_waiter_leaves(void **state)
{
	struct queue queue = { .late_at = { 0, 150, 150, 150, 150, 150 } };

	(void)state;
	queue_run(&queue);
	assert_int_equal(queue.nr, 1);
	assert_in_range(queue.ended[5], 150, 160);
}

/* The holder counts on its heir, which stays; its turn comes, late as it is. */
static void heir_stays(void **state)
{
	struct queue queue = { .choose = 1, .late_at = { 0, 200, 200, 0, 0, 0 } };
	static const unsigned order[] = { 0, 1, 3, 4, 5 };

	(void)state;
	queue_run(&queue);
	assert_int_equal(queue.err[1], 0);
	assert_int_equal(queue.err[2], -ETIME);
	assert_int_equal(queue.nr, 5);
	assert_memory_equal(queue.order, order, sizeof(order));
}

/* Sleeps with a time, and is woken before, by a task of its thread or of another one. */
struct nap {
	struct far_task *sleeper;
	uint64_t woken[3], slept;
};

static void nap_task(struct far_task *task, void *arg)
{
	struct nap *nap = arg;
	uint64_t began = far_now(task);

	nap->sleeper = task;
	far_task_suspend_until(task, began + 100 * US);
	nap->woken[0] = (far_now(task) - began) / US;
	far_task_suspend_until(task, began + 900 * US);
	nap->woken[1] = (far_now(task) - began) / US;
	far_sleep(task, 300 * US);
	nap->slept = (far_now(task) - began) / US;
	far_task_suspend_until(task, began + 900 * US);
	nap->woken[2] = (far_now(task) - began) / US;
}

static void naps_end(void **state)
{
	struct far_thread *thread;
	struct far_task *task;
	struct nap nap = { 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig, &one);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_thread_start(rig.far[0], 1, nap_task, &nap, &thread), 0);
	far_sleep(task, 200 * US);
	far_task_resume(nap.sleeper);
	far_thread_join(thread);
	far_leave(task);
	rig_close(&rig);
	assert_in_range(nap.woken[0], 100, 105);
	assert_in_range(nap.woken[1], 195, 205);
	assert_in_range(nap.slept, 495, 505);
	assert_in_range(nap.woken[2], 900, 905);
}

/* Three gets of one key: the first one leads, and is late. */
struct lead {
	struct far_combine_table *table;
	enum far_combine_how first, how[3];
	int status[3];
	unsigned led;
};

static void lead_task(struct far_task *task, void *arg)
{
	unsigned me = far_task_index(task);
	struct lead *lead = arg;
	struct far_combine_op op = {
		.hash = 1, .key = "k", .key_len = 1, .kind = FAR_COMBINE_GET,
	};
	struct far_combine_result result = { .err = me ? 0 : -ETIME };
	struct far_combine_batch batch;

	far_sleep(task, me * US);
	assert_int_equal(far_op_begin(task), 0);
	lead->how[me] = far_combine_begin(task, lead->table, &op, &batch);
	if (lead->how[me] == FAR_COMBINE_LEAD) {
		lead->led++;
		far_sleep(task, 100 * US);
		far_combine_plan(&batch);
		lead->how[me] = far_combine_end(&batch, &result);
	}
	lead->status[me] = op.status;
	far_op_end(task);
}

static void leader_hands_on(void **state)
{
	struct far_thread *thread;
	struct lead lead = { 0 };
	struct rig rig;

	(void)state;
	nr_resumed = nr_loose = 0;
	rig_open(&rig, &one);
	assert_int_equal(far_combine_new(64, &lead.table), 0);
	assert_int_equal(far_thread_start(rig.far[0], 3, lead_task, &lead, &thread), 0);
	far_thread_join(thread);
	assert_true(nr_resumed);
	assert_int_equal(nr_loose, 0);
	assert_int_equal(lead.led, 2);
	assert_int_equal(lead.how[0], FAR_COMBINE_DONE);
	assert_int_equal(lead.status[0], -ETIME);
	/* of a get that found nothing */
	assert_int_equal(lead.how[1], FAR_COMBINE_DONE);
	assert_int_equal(lead.status[1], -ENOENT);
	assert_int_equal(lead.how[2], FAR_COMBINE_DONE);
	assert_int_equal(lead.status[2], -ENOENT);
	far_combine_free(lead.table);
	rig_close(&rig);
}

/* An operation with a deadline of its own waits for no leader. */
static void own_deadline_is_alone(void **state)
{
	struct far_combine_op op = { .hash = 1, .key = "k", .key_len = 1 };
	struct far_combine_table *table;
	struct far_combine_batch batch;
	struct far_task *task;
	struct rig rig;

	(void)state;
	rig_open(&rig, &one);
	assert_int_equal(far_combine_new(64, &table), 0);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_deadline_set(task, 5), 0);
	assert_int_equal(far_combine_begin(task, table, &op, &batch), FAR_COMBINE_ALONE);
	assert_int_equal(far_deadline_set(task, 0), 0);
	assert_int_equal(far_combine_begin(task, table, &op, &batch), FAR_COMBINE_LEAD);
	far_leave(task);
	far_combine_free(table);
	rig_close(&rig);
}

/* Stays in an epoch; its client beats meanwhile, so it is not taken for dead. */
static void stays(struct far_task *task, void *arg)
{
	assert_int_equal(far_epoch_enter(task), 0);
	far_sleep(task, *(uint64_t *)arg);
	far_epoch_exit(task);
}

/* What far_reclaim() answers, and how long it takes, in ms. */
static uint64_t reclaim(struct far_task *task, int *ret_err)
{
	uint64_t began = far_now(task);

	*ret_err = far_reclaim(task);
	return (far_now(task) - began) / MS;
}

static void memory_waits_once(void **state)
{
	uint64_t stay = 4000 * MS, took;
	struct far_thread *thread;
	struct far_task *task;
	struct rig rig;
	int err;

	(void)state;
	rig_open(&rig, &two);
	assert_int_equal(far_thread_start(rig.far[0], 1, stays, &stay, &thread), 0);
	task = rig_enter(&rig, 1);
	far_sleep(task, 10 * MS);
	far_deadline_at(task, far_now(task) + 100 * MS);
	assert_int_equal(far_op_begin(task), 0);
	took = reclaim(task, &err);
	far_op_end(task);
	far_deadline_at(task, 0);
	assert_int_equal(err, -ETIME);
	assert_in_range(took, 98, 102);
	took = reclaim(task, &err);
	assert_int_equal(err, -EAGAIN);
	assert_in_range(took, 1500, 2000);
	took = reclaim(task, &err);
	assert_int_equal(err, -EAGAIN);
	assert_in_range(took, 0, 1);
	/* when that one goes on, memory comes back */
	far_thread_join(thread);
	far_sleep(task, 10 * MS);
	took = reclaim(task, &err);
	assert_int_equal(err, 0);
	far_leave(task);
	rig_close(&rig);
}

/* True if nothing of a client is left to a sweep. */
static bool has_all(struct far_task *task)
{
	return !atomic_load(&far_task_client(task)->lost);
}

/* An operation that is late somewhere in its allocation, or as it gives that back. */
static void alloc_late(struct far_task *task, uint64_t size, uint64_t late_ns)
{
	uint64_t addr;
	int err;

	far_deadline_at(task, far_now(task) + late_ns);
	assert_int_equal(far_op_begin(task), 0);
	err = far_block_alloc(task, FAR_ANY_NODE, size, &addr);
	assert_true(!err || err == -ETIME);
	assert_true(has_all(task));
	if (!err)
		assert_int_equal(far_block_free(task, addr, size), 0);
	assert_true(has_all(task));
	far_op_end(task);
	far_deadline_at(task, 0);
}

/* Slabs, runs of pages, and spans of chunks: no chunk and no page is lost on the way. */
static void memory_is_late(void **state)
{
	static const uint64_t size[] = { 64, 17000, 40000, 1 << 20, 16 << 20 };
	struct far_task *task;
	struct rig rig;

	(void)state;
	rig_open(&rig, &one);
	task = rig_enter(&rig, 0);
	for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		for (uint64_t us = 1; us < 40; us++)
			alloc_late(task, size[i], us * US);
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void settings(void **state)
{
	const struct far_conf conf[] = {
		{ .op_ms = 0 }, { .op_ms = 7 }, { .op_ms = FAR_NO_DEADLINE },
	};

	(void)state;
	assert_int_equal(far_op_ns(&conf[0]), 10000 * MS);
	assert_int_equal(far_op_ns(&conf[1]), 7 * MS);
	assert_true(far_op_ns(&conf[2]) > UINT64_MAX / 4);
}

/* A thread that runs one operation at a time: task 0 takes long, the others are held. */
struct hold {
	uint64_t late_at[WAITERS];	/* us; 0: none */
	int err[WAITERS];
	uint64_t began[WAITERS];	/* us */
	unsigned order[WAITERS], nr;
};

static void hold_task(struct far_task *task, void *arg)
{
	struct hold *hold = arg;
	unsigned me = far_task_index(task);
	uint64_t start = far_now(task);

	if (!me)
		task->thread->backoff.credit = 1;
	far_sleep(task, (1 + me) * US);
	if (hold->late_at[me])
		far_deadline_at(task, start + hold->late_at[me] * US);
	hold->err[me] = far_op_begin(task);
	hold->began[me] = (far_now(task) - start) / US;
	if (!hold->err[me]) {
		hold->order[hold->nr++] = me;
		far_sleep(task, me ? 10 * US : 1000 * US);
		far_op_end(task);
	}
	far_deadline_at(task, 0);
}

/* An operation that may not begin yet leaves when it is late; the others keep their order. */
static void held_ones_leave(void **state)
{
	struct hold hold = { .late_at = { 0, 0, 200, 0, 0, 300 } };
	static const unsigned order[] = { 0, 1, 3, 4 };
	struct far_thread *thread;
	struct rig rig;

	(void)state;
	rig_open(&rig, &one);
	assert_int_equal(far_thread_start(rig.far[0], WAITERS, hold_task, &hold, &thread), 0);
	far_thread_join(thread);
	rig_close(&rig);
	assert_int_equal(hold.err[2], -ETIME);
	assert_int_equal(hold.err[5], -ETIME);
	assert_in_range(hold.began[2], 200, 210);
	assert_in_range(hold.began[5], 300, 310);
	assert_int_equal(hold.nr, 4);
	assert_memory_equal(hold.order, order, sizeof(order));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiters_leave),
		cmocka_unit_test(last_waiter_leaves),
		cmocka_unit_test(held_ones_leave),
		cmocka_unit_test(heir_stays),
		cmocka_unit_test(naps_end),
		cmocka_unit_test(leader_hands_on),
		cmocka_unit_test(own_deadline_is_alone),
		cmocka_unit_test(memory_waits_once),
		cmocka_unit_test(memory_is_late),
		cmocka_unit_test(settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
