/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conformance: several threads, each with a queue set. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bed.h"

#define THREADS	3u
#define TIMES	500u

struct worker {
	struct bed *bed;
	unsigned nr;
	struct far_qset *qset;
	struct far_nic_thread *thread;
	uint32_t mine;			/* offset of its local memory */
	unsigned *turn;			/* of test_wake; atomic */
	unsigned lost;			/* CAS that did not succeed */
};

static void run_all(struct bed *bed, struct worker *worker, void (*run)(void *arg))
{
	const struct far_nic_ops *ops = bed->nic->ops;
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		worker[i].bed = bed;
		worker[i].nr = i;
		worker[i].mine = 4096 * i;
		worker[i].qset = bed_qset(bed, 16);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(ops->thread_start(bed->nic, run, &worker[i],
						   &worker[i].thread), 0);
	for (i = 0; i < THREADS; i++)
		ops->thread_join(bed->nic, worker[i].thread);
	for (i = 0; i < THREADS; i++)
		ops->qset_free(worker[i].qset);
}

static void add(void *arg)
{
	struct worker *worker = arg;
	struct bed *bed = worker->bed;
	unsigned i;

	for (i = 0; i < TIMES; i++) {
		struct far_wr wr = bed_faa(bed, 64, worker->mine, 1);

		bed_run(worker->qset, 0, &wr, 1);
	}
}

static void test_faa(void **state)
{
	struct worker worker[THREADS] = { { NULL } };

	run_all(*state, worker, add);
	assert_int_equal(bed_far_word(*state, 0, 64), THREADS * TIMES);
}

static void come_and_go(void *arg)
{
	struct worker *worker = arg;
	struct far_wr wr = bed_faa(worker->bed, 64, worker->mine, 1);
	unsigned i;

	for (i = 0; i < 50; i++) {
		struct far_qset *qset = bed_qset(worker->bed, 16);

		bed_run(qset, 0, &wr, 1);
		worker->bed->nic->ops->qset_free(qset);
	}
}

/* Queue sets are made and freed while others are used. */
static void test_come_and_go(void **state)
{
	struct worker worker[THREADS] = { { NULL } };

	run_all(*state, worker, come_and_go);
	assert_int_equal(bed_far_word(*state, 0, 64), THREADS * 50);
}

static void swap(void *arg)
{
	struct worker *worker = arg;
	struct bed *bed = worker->bed;
	uint64_t *found = bed_word(bed, worker->mine);
	uint64_t know = 0;
	unsigned i = 0;

	while (i < TIMES) {
		struct far_wr wr = bed_cas(bed, 64, worker->mine, know, know + 1);

		bed_run(worker->qset, 0, &wr, 1);
		if (*found == know) {
			i++;
			know++;
		} else {
			know = *found;
			worker->lost++;
		}
	}
}

static void test_cas(void **state)
{
	struct worker worker[THREADS] = { { NULL } };

	run_all(*state, worker, swap);
	assert_int_equal(bed_far_word(*state, 0, 64), THREADS * TIMES);
}

/* Words of 8 bytes are whole, whatever else is torn. */
static void whole(void *arg)
{
	struct worker *worker = arg;
	struct bed *bed = worker->bed;
	uint64_t *word = bed_word(bed, worker->mine);
	unsigned i, k;

	for (i = 0; i < TIMES; i++) {
		struct far_wr wr[2] = {
			bed_write(bed, 128, worker->mine, 64),
			bed_read(bed, 128, worker->mine + 64, 64),
		};

		for (k = 0; k < 8; k++)
			word[k] = UINT64_C(0x0101010101010101) * (1 + (i + k) % 255);
		bed_run(worker->qset, 1, wr, 2);
		for (k = 8; k < 16; k++)
			if (word[k] != UINT64_C(0x0101010101010101) * (word[k] & 255))
				worker->lost++;
	}
}

static void test_words_whole(void **state)
{
	struct worker worker[THREADS] = { { NULL } };
	unsigned i;

	run_all(*state, worker, whole);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(worker[i].lost, 0);
}

/* A word goes round: each thread sleeps until it is woken for its turn. */
static void pass(void *arg)
{
	struct worker *worker = arg;
	const struct far_nic_ops *ops = worker->bed->nic->ops;
	struct worker *all = worker - worker->nr;
	unsigned i;

	for (i = 0; i < TIMES; i++) {
		unsigned next = (worker->nr + 1) % THREADS;

		while (__atomic_load_n(worker->turn, __ATOMIC_ACQUIRE) != worker->nr)
			ops->wait(worker->qset, UINT64_MAX);
		__atomic_store_n(worker->turn, next, __ATOMIC_RELEASE);
		ops->wake(all[next].qset);
	}
}

static void test_wake(void **state)
{
	struct worker worker[THREADS] = { { NULL } };
	unsigned turn = 0;
	unsigned i;

	for (i = 0; i < THREADS; i++)
		worker[i].turn = &turn;
	run_all(*state, worker, pass);
	assert_int_equal(turn, 0);
}

/* Sleeps until the descriptor is readable, unless wait() would return at once. */
static void fd_sleep(struct far_qset *qset)
{
	const struct far_nic_ops *ops = qset->nic->ops;
	struct pollfd fd = { .fd = ops->fd_arm(qset), .events = POLLIN };

	if (fd.fd == -EAGAIN)
		return;
	assert_true(fd.fd > STDERR_FILENO);
	assert_true(poll(&fd, 1, -1) == 1);
	ops->fd_disarm(qset);
}

/* False: the back end, sim or one whose queue sets are shared, has no descriptor. */
static bool has_fd(struct bed *bed)
{
	const struct far_nic_ops *ops = bed->nic->ops;

	if (ops->caps & FAR_NIC_CAP_VIRTUAL)
		assert_null(ops->fd_arm);
	assert_int_equal(!ops->fd_arm, !ops->fd_disarm);
	return ops->fd_arm;
}

/* Every other turn by the descriptor. */
static void pass_by_fd(void *arg)
{
	struct worker *worker = arg;
	const struct far_nic_ops *ops = worker->bed->nic->ops;
	struct worker *all = worker - worker->nr;
	unsigned i;

	for (i = 0; i < TIMES; i++) {
		unsigned next = (worker->nr + 1) % THREADS;

		while (__atomic_load_n(worker->turn, __ATOMIC_ACQUIRE) != worker->nr)
			if (i & 1)
				ops->wait(worker->qset, UINT64_MAX);
			else
				fd_sleep(worker->qset);
		__atomic_store_n(worker->turn, next, __ATOMIC_RELEASE);
		ops->wake(all[next].qset);
	}
}

static void test_wake_fd(void **state)
{
	struct worker worker[THREADS] = { { NULL } };
	unsigned turn = 0;
	unsigned i;

	if (!has_fd(*state))
		return;
	for (i = 0; i < THREADS; i++)
		worker[i].turn = &turn;
	run_all(*state, worker, pass_by_fd);
	assert_int_equal(turn, 0);
}

/* A completion makes the descriptor readable. */
static void add_by_fd(void *arg)
{
	struct worker *worker = arg;
	struct bed *bed = worker->bed;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wc wc;
	unsigned i;

	for (i = 0; i < TIMES; i++) {
		struct far_wr wr = bed_faa(bed, 64, worker->mine, 1);
		int nr;

		assert_int_equal(ops->post(worker->qset, 0, &wr, 1), 0);
		while (!(nr = ops->poll(worker->qset, &wc, 1)))
			fd_sleep(worker->qset);
		assert_int_equal(nr, 1);
		assert_int_equal(wc.status, 0);
	}
}

static void test_complete_fd(void **state)
{
	struct worker worker[THREADS] = { { NULL } };

	if (!has_fd(*state))
		return;
	run_all(*state, worker, add_by_fd);
	assert_int_equal(bed_far_word(*state, 0, 64), THREADS * TIMES);
}

/* A wake() that comes first is not lost, and the descriptor does not stay readable. */
static void test_fd_first(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct pollfd fd = { .events = POLLIN };
	int nr, i;

	if (!has_fd(bed))
		return;
	ops->wake(bed->qset);
	assert_int_equal(ops->fd_arm(bed->qset), -EAGAIN);
	for (i = 0; i < 2; i++) {
		fd.fd = ops->fd_arm(bed->qset);
		assert_true(fd.fd > STDERR_FILENO);
		assert_int_equal(poll(&fd, 1, 0), 0);
		ops->wake(bed->qset);
		nr = poll(&fd, 1, -1);
		assert_int_equal(nr, 1);
		ops->fd_disarm(bed->qset);
	}
	/* wait() has nothing left of that */
	assert_int_equal(ops->wait(bed->qset, ops->now(bed->nic) + 1000), -ETIME);
}

int suite_thread(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_come_and_go, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_faa, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_cas, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_words_whole, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_wake, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wake_fd, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_complete_fd, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_fd_first, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
