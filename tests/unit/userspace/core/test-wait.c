// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks that wait for descriptors and for far_unpark(), on mem, on soft, and through the
 * wrapper whose completions are late: all are woken, whatever the others of their thread
 * do; a thread whose tasks all wait sleeps.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../../lib/nic/fault.h"
#include "../hash/rig.h"

#define NR_TASKS	8u
#define NR_ROUNDS	100u
#define MS		UINT64_C(1000000)

struct bed {
	struct rig rig;
	struct far *far;
	struct far_hash *hash;
	int ours[NR_TASKS], its[NR_TASKS];	/* ends of sockets: the tasks', the test's */
	atomic_bool end;
	atomic_uint nr;
	_Atomic(struct far_task *) task[NR_TASKS];
	clockid_t clock;
	unsigned plain;
};

static bool wrapped;

/* The client anew, through the wrapper. */
static void bed_wrap(struct bed *bed)
{
	rig_leave(&bed->rig, 0);
	assert_int_equal(far_fault_new(bed->rig.nic[0], 1, FAR_FAULT_TEAR | FAR_FAULT_REORDER |
				       FAR_FAULT_LATE, &bed->rig.nic[0]), 0);
	rig_join(&bed->rig, 0);
}

static struct far_task *enter(struct bed *bed)
{
	return rig_enter(&bed->rig, 0);
}

static void bed_open(struct bed *bed, const struct rig_conf *conf)
{
	struct far_task *task;

	memset(bed, 0, sizeof(*bed));
	rig_open(&bed->rig, conf);
	if (wrapped)
		bed_wrap(bed);
	bed->far = bed->rig.far[0];
	task = enter(bed);
	assert_int_equal(far_hash_create(task, "t", NULL, &bed->hash), 0);
	assert_int_equal(far_leave(task), 0);
	for (unsigned i = 0; i < NR_TASKS; i++) {
		int fd[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		bed->ours[i] = fd[0];
		bed->its[i] = fd[1];
	}
}

static void bed_close(struct bed *bed)
{
	for (unsigned i = 0; i < NR_TASKS; i++) {
		close(bed->ours[i]);
		close(bed->its[i]);
	}
	far_hash_close(bed->hash);
	rig_close(&bed->rig);
}

static void start(struct bed *bed, unsigned nr,
		  void (*run)(struct far_task *task, void *arg), struct far_thread **thread)
{
	assert_int_equal(far_thread_start(bed->far, nr, run, bed, thread), 0);
}

static void word_send(int fd, uint64_t word)
{
	assert_int_equal(write(fd, &word, sizeof(word)), sizeof(word));
}

static uint64_t word_take(int fd)
{
	uint64_t word;

	assert_int_equal(read(fd, &word, sizeof(word)), sizeof(word));
	return word;
}

/* ---- descriptors ---- */

/* Answers each word of its socket with what the table had under it, until the end of file. */
static void run_server(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	int fd = bed->ours[far_task_index(task)];
	uint64_t key, value;
	size_t len;

	for (;;) {
		assert_int_equal(far_fd_wait(task, fd, POLLIN) & POLLIN, POLLIN);
		if (read(fd, &key, sizeof(key)) != sizeof(key))
			return;
		value = ~key;
		assert_int_equal(far_hash_put(task, bed->hash, &key, sizeof(key), &value,
					      sizeof(value)), 0);
		value = 0;
		assert_int_equal(far_hash_get(task, bed->hash, &key, sizeof(key), &value,
					      sizeof(value), &len), 0);
		word_send(fd, value);
	}
}

static void test_server(void **state)
{
	struct far_thread *thread;
	struct bed bed;
	unsigned i, k;

	bed_open(&bed, *state);
	start(&bed, NR_TASKS, run_server, &thread);
	for (k = 0; k < NR_ROUNDS; k++) {
		for (i = k % 2; i < NR_TASKS; i++)
			word_send(bed.its[i], k * NR_TASKS + i);
		for (i = k % 2; i < NR_TASKS; i++)
			assert_int_equal(word_take(bed.its[i]), ~(uint64_t)(k * NR_TASKS + i));
	}
	for (i = 0; i < NR_TASKS; i++)
		shutdown(bed.its[i], SHUT_WR);
	assert_int_equal(far_thread_join(thread), 0);
	bed_close(&bed);
}

/* One always runs, or always has something under way; the others wait for their sockets. */
static void run_busy(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	unsigned index = far_task_index(task);
	uint64_t key = 1, value;
	size_t len;

	if (index) {
		assert_int_equal(far_fd_wait(task, bed->ours[index], POLLIN), POLLIN);
		atomic_fetch_add(&bed->nr, 1);
		return;
	}
	while (atomic_load(&bed->nr) < NR_TASKS - 1)
		if (bed->plain)
			far_yield(task);
		else
			far_hash_get(task, bed->hash, &key, sizeof(key), &value,
				     sizeof(value), &len);
}

static void test_busy(void **state)
{
	struct far_thread *thread;
	struct bed bed;

	bed_open(&bed, *state);
	for (bed.plain = 0; bed.plain < 2; bed.plain++) {
		atomic_store(&bed.nr, 0);
		start(&bed, NR_TASKS, run_busy, &thread);
		for (unsigned i = 1; i < NR_TASKS; i++)
			word_send(bed.its[i], 0);
		assert_int_equal(far_thread_join(thread), 0);
		for (unsigned i = 1; i < NR_TASKS; i++)
			word_take(bed.ours[i]);
	}
	bed_close(&bed);
}

/* Two wait for one socket; one is ready for what it waits for, then the other one's end. */
static void run_both(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	int fd = bed->ours[0];

	if (far_task_index(task)) {
		assert_int_equal(far_fd_wait(task, fd, POLLOUT), POLLOUT);
		shutdown(bed->its[0], SHUT_RDWR);
		close(bed->its[1]);
		bed->its[1] = -1;
		return;
	}
	assert_int_equal(far_fd_wait(task, fd, POLLIN), POLLIN | POLLHUP);
	assert_int_equal(far_fd_wait(task, bed->ours[1], 0), POLLHUP);
}

static void test_both(void **state)
{
	struct far_thread *thread;
	struct bed bed;

	bed_open(&bed, *state);
	start(&bed, 2, run_both, &thread);
	assert_int_equal(far_thread_join(thread), 0);
	bed_close(&bed);
}

/* Processor time of the thread that has the clock, in ns. */
static uint64_t thread_ran(clockid_t clock)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void run_idle(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	unsigned index = far_task_index(task);
	int err;

	atomic_store(&bed->task[index], task);
	assert_int_equal(pthread_getcpuclockid(pthread_self(), &bed->clock), 0);
	atomic_fetch_add(&bed->nr, 1);
	err = index % 2 ? far_park(task) : far_fd_wait(task, bed->ours[index], POLLIN);
	assert_int_equal(err, index % 2 ? 0 : POLLIN);
}

/* Once all wait, there is a time in which the thread does not run at all. */
static void test_idle(void **state)
{
	struct far_thread *thread;
	struct bed bed;
	uint64_t ran, before;
	unsigned tries = 0;

	bed_open(&bed, *state);
	start(&bed, NR_TASKS, run_idle, &thread);
	while (atomic_load(&bed.nr) < NR_TASKS)
		usleep(1000);
	ran = thread_ran(bed.clock);
	do {
		assert_in_range(++tries, 1, 200);
		before = ran;
		usleep(20000);
		ran = thread_ran(bed.clock);
	} while (ran != before);
	for (unsigned i = 0; i < NR_TASKS; i++)
		if (i % 2)
			assert_int_equal(far_unpark(bed.task[i]), 0);
		else
			word_send(bed.its[i], 0);
	assert_int_equal(far_thread_join(thread), 0);
	bed_close(&bed);
}

/* ---- deadlines and errors ---- */

static void test_late(void **state)
{
	struct far_task *task;
	struct bed bed;
	uint64_t began;

	bed_open(&bed, *state);
	task = enter(&bed);
	began = far_now(task);
	assert_int_equal(far_deadline_set(task, 2), 0);
	assert_int_equal(far_fd_wait(task, bed.ours[0], POLLIN), -ETIME);
	assert_true(far_now(task) - began >= 2 * MS);
	assert_int_equal(far_park(task), -ETIME);
	/* what has come already is taken, whatever the time */
	assert_int_equal(far_unpark(task), 0);
	assert_int_equal(far_park(task), 0);
	assert_int_equal(far_park(task), -ETIME);
	began = far_now(task);
	assert_int_equal(far_deadline_set(task, 2), 0);
	assert_int_equal(far_park(task), -ETIME);
	assert_true(far_now(task) - began >= 2 * MS);
	assert_int_equal(far_deadline_set(task, 0), 0);
	word_send(bed.its[0], 0);
	assert_int_equal(far_fd_wait(task, bed.ours[0], POLLIN), POLLIN);
	assert_int_equal(far_leave(task), 0);
	bed_close(&bed);
}

static struct far_task *scanning;
static int scanning_fd;

static int wait_in_scan(void *arg, const void *key, size_t key_len, const void *value,
			size_t value_len)
{
	return far_fd_wait(scanning, scanning_fd, POLLOUT) == -EBUSY &&
	       far_park(scanning) == -EBUSY ? 7 : 0;
}

static void *others_task(void *arg)
{
	struct far_task *task = arg;

	assert_int_equal(far_fd_wait(task, 0, POLLIN), -EPERM);
	assert_int_equal(far_park(task), -EPERM);
	return NULL;
}

static int fd_wait_within(struct far_task *task, int fd, rlim_t most)
{
	struct rlimit was, now;
	int err;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	now = was;
	now.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	err = far_fd_wait(task, fd, POLLIN);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	return err;
}

static void test_errors(void **state)
{
	struct far_task *task;
	pthread_t other;
	struct bed bed;
	int fd;

	bed_open(&bed, *state);
	task = enter(&bed);
	/* its thread has no descriptor of the NIC yet, and then too many */
	assert_int_equal(fd_wait_within(task, bed.ours[0], 1), -EMFILE);
	assert_int_equal(far_fd_wait(task, bed.ours[0], POLLOUT), POLLOUT);
	assert_int_equal(fd_wait_within(task, bed.ours[0], 1), -EINVAL);
	fd = dup(bed.ours[0]);
	close(fd);
	assert_int_equal(far_fd_wait(task, fd, POLLIN), -EBADF);
	assert_int_equal(far_fd_wait(task, -1, POLLIN), -EBADF);
	assert_int_equal(far_fd_wait(task, bed.ours[0], 1 << 16), -EINVAL);
	assert_int_equal(far_hash_put(task, bed.hash, "k", 1, "v", 1), 0);
	scanning = task;
	scanning_fd = bed.ours[0];
	assert_int_equal(far_hash_scan(task, bed.hash, wait_in_scan, NULL), 7);
	assert_int_equal(pthread_create(&other, NULL, others_task, task), 0);
	pthread_join(other, NULL);
	assert_int_equal(far_fd_wait(task, bed.ours[0], POLLOUT), POLLOUT);
	assert_int_equal(far_leave(task), 0);
	bed_close(&bed);
}

/* ---- far_park(), far_unpark() ---- */

/* One that came first is not lost, and two are one. */
static void test_first(void **state)
{
	struct far_task *task;
	struct bed bed;
	uint64_t key = 1;

	bed_open(&bed, *state);
	task = enter(&bed);
	assert_int_equal(far_unpark(task), 0);
	assert_int_equal(far_unpark(task), 0);
	/* these sleep, and leave it */
	assert_int_equal(far_hash_put(task, bed.hash, &key, sizeof(key), &key, 8), 0);
	far_sleep(task, MS);
	assert_int_equal(far_fd_wait(task, bed.ours[0], POLLOUT), POLLOUT);
	assert_int_equal(far_park(task), 0);
	assert_int_equal(far_deadline_set(task, 1), 0);
	assert_int_equal(far_park(task), -ETIME);
	assert_int_equal(far_leave(task), 0);
	bed_close(&bed);
}

/*
 * A word goes round by tasks of two threads, and a plain thread. One more task of each
 * thread waits for a descriptor: so the threads sleep in both ways.
 */
#define RING	5u		/* the last is the plain thread's */

static void ring_turn(struct bed *bed, unsigned me)
{
	bed->plain++;
	if (me + 1 < RING)
		atomic_fetch_add(&bed->nr, 1);
	else
		atomic_store(&bed->nr, 0);
	if (me + 1 != RING - 1)
		assert_int_equal(far_unpark(bed->task[(me + 1) % RING]), 0);
}

struct half {
	struct bed *bed;
	unsigned nr;
	struct far_thread *thread;
};

static void run_ring(struct far_task *task, void *arg)
{
	struct half *half = arg;
	struct bed *bed = half->bed;
	unsigned thread = half->nr, me = 2 * far_task_index(task) + thread;

	if (me >= RING - 1) {
		assert_int_equal(far_fd_wait(task, bed->ours[thread], POLLIN), POLLIN);
		return;
	}
	atomic_store(&bed->task[me], task);
	for (unsigned lap = 0; lap < NR_ROUNDS; lap++) {
		while (atomic_load(&bed->nr) != me)
			assert_int_equal(far_park(task), 0);
		/* half of the laps with nobody else at a descriptor */
		if (lap == NR_ROUNDS / 2 && me < 2)
			word_send(bed->its[thread], 0);
		ring_turn(bed, me);
	}
}

static void test_ring(void **state)
{
	struct half half[2];
	struct bed bed;
	unsigned i;

	bed_open(&bed, *state);
	atomic_store(&bed.nr, RING - 1);
	for (i = 0; i < 2; i++) {
		half[i] = (struct half) { .bed = &bed, .nr = i };
		assert_int_equal(far_thread_start(bed.far, 3, run_ring, &half[i],
						  &half[i].thread), 0);
	}
	for (i = 0; i < RING - 1; i++)
		while (!atomic_load(&bed.task[i]))
			usleep(100);
	for (i = 0; i < NR_ROUNDS; i++) {
		while (atomic_load(&bed.nr) != RING - 1)
			sched_yield();
		ring_turn(&bed, RING - 1);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(far_thread_join(half[i].thread), 0);
	assert_int_equal(bed.plain, NR_ROUNDS * RING);
	bed_close(&bed);
}

/* ---- sim ---- */

static void run_sim(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	unsigned index = far_task_index(task);

	assert_int_equal(far_fd_wait(task, 0, POLLIN), -EOPNOTSUPP);
	bed->task[index] = task;
	if (!index) {
		assert_int_equal(far_park(task), 0);
		bed->plain++;
		return;
	}
	far_sleep(task, MS);
	assert_int_equal(bed->plain, 0);
	assert_int_equal(far_unpark(bed->task[0]), 0);
}

static void test_sim(void **state)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .seed = 1 };
	struct far_thread *thread;
	struct bed bed;

	bed_open(&bed, &conf);
	start(&bed, 2, run_sim, &thread);
	assert_int_equal(far_thread_join(thread), 0);
	assert_int_equal(bed.plain, 1);
	bed_close(&bed);
}

int main(int argc, char **argv)
{
	struct rig_conf conf = { .nodes = 1, .soft = argc > 1 && !strcmp(argv[1], "soft") };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_server, &conf),
		cmocka_unit_test_prestate(test_busy, &conf),
		cmocka_unit_test_prestate(test_both, &conf),
		cmocka_unit_test_prestate(test_idle, &conf),
		cmocka_unit_test_prestate(test_late, &conf),
		cmocka_unit_test_prestate(test_errors, &conf),
		cmocka_unit_test_prestate(test_first, &conf),
		cmocka_unit_test_prestate(test_ring, &conf),
		cmocka_unit_test(test_sim),
	};

	wrapped = argc > 1 && !strcmp(argv[1], "fault");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
