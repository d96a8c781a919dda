// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Failures: each operation of a program fails once, in turn; queue pairs break now and
 * then; queues are full, connections vanish, the queue set itself fails. The program
 * sees an error of an unknown fate, goes on, and finds its memory consistent.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

#include "../../../lib/nic/fault.h"

#define NR_TASKS	4u
#define LAST		6u	/* each task's last record */

/*
 * A task's records: a block and, behind it in a post of its own, the slot that says
 * which record the block holds. Slot and block lie at the same node, so that a slot
 * that is ahead of its block is a CAS that went out though the WRITE before it failed.
 */
struct record {
	uint64_t block[16];
	uint64_t slot;
};

struct program {
	struct rig rig;
	struct far_nic *nic;
	struct far *far;
	unsigned nr_errors, nr_ended;
};

static void program_open(struct program *p, uint64_t seed, unsigned always)
{
	*p = (struct program) { .nr_errors = 0 };
	rig_open(&p->rig);
	assert_int_equal(far_fault_new(p->rig.nic, seed, always, &p->nic), 0);
	p->rig.nic = p->nic;
	p->far = rig_client(p->nic, 0);
}

static void program_close(struct program *p)
{
	far_close(p->far);
	far_fault_always(p->nic, 0);
	rig_close(&p->rig);
}

static int record_write(struct far_task *task, uint64_t at, uint64_t old, uint64_t seq)
{
	uint64_t *block = far_buf(task, sizeof(struct record)), *found = far_buf(task, 8);
	unsigned i;
	int err;

	for (i = 0; i < 16; i++)
		block[i] = seq;
	far_write(task, at, block, 128);
	far_post(task);
	far_faa(task, far_addr(2, 0), 1, NULL);
	far_cas(task, at + offsetof(struct record, slot), old, seq, found);
	err = far_sync(task);
	if (!err)
		assert_int_equal(*found, old);
	return err;
}

/* Reads until it works. Returns the slot. */
static uint64_t record_read(struct program *p, struct far_task *task, uint64_t at)
{
	struct record *r = far_buf(task, sizeof(*r));
	unsigned i;

	do {
		far_read(task, at, r, sizeof(*r));
	} while (far_sync(task) && ++p->nr_errors);
	for (i = 0; i < 16; i++)
		assert_true(r->block[i] >= r->slot && r->block[i] <= r->slot + 1);
	return r->slot;
}

static void program_task(struct far_task *task, void *arg)
{
	struct program *p = arg;
	uint64_t at = far_addr(far_task_index(task) % 2,
			       4096 + 256 * far_task_index(task)), slot = 0;
	size_t mark = far_buf_mark(task);
	int err;

	while (slot < LAST) {
		err = record_write(task, at, slot, slot + 1);
		if (err) {
			p->nr_errors++;
			assert_true(err == -EIO || err == -ETIMEDOUT ||
				    err == -EHOSTDOWN);
			assert_non_null(strstr(far_strerror_last(task), "node"));
		}
		slot = err ? record_read(p, task, at) : slot + 1;
		far_buf_release(task, mark);
	}
	assert_int_equal(record_read(p, task, at), LAST);
	p->nr_ended++;
}

static void program_run(struct program *p)
{
	struct far_thread *thread;

	assert_int_equal(far_thread_start(p->far, NR_TASKS, program_task, p, &thread), 0);
	far_thread_join(thread);
	assert_int_equal(p->nr_ended, NR_TASKS);
}

static void test_each_operation(void **state)
{
	static const int status[] = { -ETIMEDOUT, -EHOSTDOWN, -EIO };
	struct far_stats stats;
	struct program p;
	uint64_t total, n;

	program_open(&p, 1, 0);
	program_run(&p);
	assert_int_equal(p.nr_errors, 0);
	total = far_fault_count(p.nic);
	assert_true(total >= NR_TASKS * LAST * 3);
	program_close(&p);
	for (n = 1; n <= total; n++) {
		program_open(&p, n, 0);
		far_fault_fail_at(p.nic, n, status[n % 3]);
		program_run(&p);
		assert_true(p.nr_errors >= 1);
		far_stats_get(p.far, &stats);
		assert_true(stats.reconnects <= 1);
		program_close(&p);
	}
}

static void test_entered(void **state)
{
	struct far_task *task;
	struct program p;
	unsigned n;

	for (n = 1; n <= 3 * LAST + 1; n++) {
		program_open(&p, n, 0);
		assert_int_equal(far_enter(p.far, &task), 0);
		far_fault_fail_at(p.nic, n, -ETIMEDOUT);
		program_task(task, &p);
		assert_true(p.nr_errors >= 1);
		far_leave(task);
		program_close(&p);
	}
}

/* All that the wrapper can do, for some seeds. */
static void test_adversary(void **state)
{
	struct far_stats stats;
	unsigned seed, broken = 0;
	struct program p;

	for (seed = 1; seed <= 40; seed++) {
		program_open(&p, seed, FAR_FAULT_TEAR | FAR_FAULT_LATE | FAR_FAULT_BREAK);
		program_run(&p);
		far_stats_get(p.far, &stats);
		broken += stats.reconnects;
		program_close(&p);
	}
	assert_true(broken > 0);
}

/* A table in front of mem's, whose post() and poll() fail when they are told to. */
static struct far_nic_ops front;
static const struct far_nic_ops *behind;
static unsigned nr_again, nr_notconn, nr_poll;
static uint64_t later;			/* what the clock is ahead */
static unsigned nr_connects;
static int connect_error;

static int front_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
		      unsigned nr)
{
	if (nr_again && nr_again--)
		return -EAGAIN;
	if (nr_notconn && nr_notconn--)
		return -ENOTCONN;
	return behind->post(qset, idx, wr, nr);
}

static int front_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	if (nr_poll && nr_poll--)
		return -ENODEV;
	return behind->poll(qset, wc, max);
}

static int front_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	nr_connects++;
	return connect_error ? connect_error : behind->connect(qset, idx, peer);
}

static uint64_t front_now(struct far_nic *nic)
{
	return behind->now(nic) + later;
}

static struct far_task *front_open(struct program *p)
{
	struct far_task *task;

	*p = (struct program) { .nr_errors = 0 };
	rig_open(&p->rig);
	behind = p->rig.nic->ops;
	front = *behind;
	front.post = front_post;
	front.poll = front_poll;
	front.connect = front_connect;
	front.now = front_now;
	p->rig.nic->ops = &front;
	p->far = rig_client(p->rig.nic, 0);
	assert_int_equal(far_enter(p->far, &task), 0);
	return task;
}

static void front_close(struct program *p, struct far_task *task)
{
	far_leave(task);
	far_close(p->far);
	p->rig.nic->ops = behind;
	rig_close(&p->rig);
}

static int front_add(struct far_task *task, unsigned node)
{
	far_faa(task, far_addr(node, 64), 1, NULL);
	return far_post(task);
}

static void test_full(void **state)
{
	struct program p;
	struct far_task *task = front_open(&p);

	/* with something under way, a full queue is waited for */
	assert_int_equal(front_add(task, 0), 0);
	nr_again = 7;
	assert_int_equal(front_add(task, 0), 0);
	assert_int_equal(nr_again, 0);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&p.rig, 0, 64), 2);
	/* one that is full for ever is an error */
	nr_again = 1000;
	assert_int_equal(front_add(task, 0), -EIO);
	assert_int_equal(far_sync(task), -EIO);
	nr_again = 0;
	assert_int_equal(front_add(task, 0), 0);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&p.rig, 0, 64), 3);
	front_close(&p, task);
}

static void test_vanished(void **state)
{
	struct far_stats stats;
	struct program p;
	struct far_task *task = front_open(&p);

	nr_notconn = 1;
	assert_int_equal(front_add(task, 1), 0);
	assert_int_equal(far_sync(task), 0);
	far_stats_get(p.far, &stats);
	assert_int_equal(stats.reconnects, 1);
	nr_notconn = 1000;
	assert_int_equal(front_add(task, 1), -EIO);
	assert_int_equal(far_sync(task), -EIO);
	nr_notconn = 0;
	assert_int_equal(front_add(task, 1), 0);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&p.rig, 1, 64), 2);
	front_close(&p, task);
}

/* An operation on a connection that has broken: 0, or what it fails with. */
static int broken_add(struct far_task *task, unsigned node)
{
	int err;

	nr_notconn = 1;
	front_add(task, node);
	err = far_sync(task);
	nr_notconn = 0;
	return err;
}

/* A node that does not answer is asked once, not by each operation, and later again. */
static void test_down(void **state)
{
	static const int down[] = { -EHOSTDOWN, -EHOSTUNREACH, -ETIMEDOUT };
	struct program p;
	struct far_task *task = front_open(&p);
	unsigned i;

	for (i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
		nr_connects = 0;
		connect_error = down[i];
		assert_true(broken_add(task, 1) < 0);
		assert_non_null(strstr(far_strerror_last(task), "cannot connect to node 1"));
		assert_int_equal(broken_add(task, 1), -EHOSTDOWN);
		assert_int_equal(nr_connects, 1);
		/* the others are not concerned */
		front_add(task, 0);
		assert_int_equal(far_sync(task), 0);
		connect_error = 0;
		later += 2000000000;
		assert_int_equal(broken_add(task, 1), 0);
	}
	front_close(&p, task);
}

/* What comes back late, of before the failure, is not taken for something of now. */
static void test_poll(void **state)
{
	struct program p;
	struct far_task *task = front_open(&p);
	struct far_thread *thread = task->thread;
	unsigned i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(front_add(task, 0), 0);
		assert_int_equal(front_add(task, 2), 0);
		nr_poll = 1;
		assert_int_equal(far_sync(task), -EIO);
		assert_int_equal(thread->outstanding, 0);
		assert_int_equal(thread->credit.credit, thread->credit.c_max);
		assert_int_equal(front_add(task, 0), 0);
		assert_int_equal(thread->outstanding, 1);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(thread->outstanding, 0);
		assert_int_equal(thread->credit.credit, thread->credit.c_max);
	}
	front_close(&p, task);
}

/* An operation whose first answer is that failure has all its time, however idle it was. */
static void test_poll_after_idle(void **state)
{
	struct program p;
	struct far_task *task = front_open(&p);
	unsigned i;

	later += UINT64_C(3600000000000);
	assert_int_equal(far_op_begin(task), 0);
	nr_poll = 1;
	assert_int_equal(front_add(task, 0), 0);
	assert_int_equal(far_sync(task), -EIO);
	for (i = 0; i < 3; i++) {
		assert_int_equal(front_add(task, 0), 0);
		assert_int_equal(far_sync(task), 0);
	}
	far_op_end(task);
	front_close(&p, task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation),
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_adversary),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_poll_after_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
