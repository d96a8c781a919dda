// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client in a process that is the program's: standard descriptors that are closed,
 * signals, fork(), calls out of order, and calls from a thread that is not the task's.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/setting.h"
#include "../../../lib/child.h"

#define SOFT	"soft:nodes=2,spin_us=0"

/* ---- what a process has ---- */

/* How many descriptors below `below` are open. */
static unsigned fds_open(int below)
{
	unsigned nr = 0;

	for (int fd = 0; fd < below; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* True if a map of this process has the text in its name. */
static int maps_have(const char *text)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (fgets(line, sizeof(line), f))
		found |= strstr(line, text) != NULL;
	fclose(f);
	return found;
}

/* How many threads of this process do not block a signal. */
static unsigned threads_open_to(int sig)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned nr = 0;

	while ((entry = readdir(dir))) {
		unsigned long long blocked;
		char path[300], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		f = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
				nr += !(blocked >> (sig - 1) & 1);
		if (f)
			fclose(f);
	}
	closedir(dir);
	return nr;
}

/* The status of a child that does what run() says, which returns 0 if all is well. */
static int in_child(int (*run)(void *arg), void *arg)
{
	int status;
	pid_t pid = child_fork();

	if (!pid) {
		alarm(20);
		_exit(run(arg));
	}
	waitpid(pid, &status, 0);
	return status;
}

static void run_nothing(struct far_task *task, void *arg)
{
}

/* ---- descriptors ---- */

static int open_without_stdio(void *arg)
{
	struct far *far;
	struct far_task *task;
	struct far_thread *thread;
	struct far_nic *soft;
	char why[200];
	int null = fcntl(open("/dev/null", O_RDONLY), F_DUPFD, 100);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (setting_try_open(arg, &far) || far_enter(far, &task) ||
	    far_thread_start(far, 2, run_nothing, NULL, &thread) ||
	    far_fd_wait(task, null, POLLIN) != POLLIN)
		return 1;
	if (fds_open(STDERR_FILENO + 1))
		return 2;
	far_thread_join(thread);
	far_leave(task);
	far_close(far);
	if (far_nic_open(SOFT, why, sizeof(why), &soft))
		return 3;
	if (fds_open(STDERR_FILENO + 1))
		return 4;
	soft->ops->close(soft);
	return 0;
}

static void test_stdio(void **state)
{
	assert_int_equal(in_child(open_without_stdio, *state), 0);
}

/* ---- signals ---- */

struct paused {
	atomic_uint begun;	/* tasks */
	atomic_bool end;
};

static void run_pause(struct far_task *task, void *arg)
{
	struct paused *paused = arg;

	atomic_fetch_add(&paused->begun, 1);
	while (!atomic_load(&paused->end))
		far_sleep(task, 1000000);
}

static void test_signals(void **state)
{
	struct far *far = setting_open(*state);
	struct far_thread *thread;
	struct far_nic *soft;
	struct paused paused = { .end = false };
	char why[200];

	assert_int_equal(far_thread_start(far, 1, run_pause, &paused, &thread), 0);
	assert_int_equal(far_nic_open(SOFT, why, sizeof(why), &soft), 0);
	assert_int_equal(threads_open_to(SIGTERM), 1);
	/* a handler of the program's own faults is called */
	assert_true(threads_open_to(SIGSEGV) > 4);
	soft->ops->close(soft);
	atomic_store(&paused.end, true);
	assert_int_equal(far_thread_join(thread), 0);
	assert_int_equal(far_close(far), 0);
}

/* ---- fork ---- */

struct forked {
	const struct setting *set;
	struct far *far;
	struct far_task *task;
	struct far_thread *thread;
	void *buf;
};

/* All calls of the parent's client, and then a client of the child's own. */
static int use_parents(void *arg)
{
	struct forked *f = arg;
	struct far_thread *thread;
	struct far_task *task;
	struct far *far;

	if (maps_have(f->set->dir))
		return 1;
	far_read(f->task, 0, f->buf, 8);
	if (far_sync(f->task) != -ESTALE || !*far_strerror_last(f->task))
		return 2;
	far_sleep(f->task, 1000);
	far_yield(f->task);
	if (far_enter(f->far, &task) != -ESTALE ||
	    far_thread_start(f->far, 1, run_nothing, NULL, &thread) != -ESTALE ||
	    far_thread_join(f->thread) != -ESTALE || far_leave(f->task) != -ESTALE)
		return 3;
	if (far_close(f->far))
		return 4;
	if (setting_try_open(f->set, &far) || far_enter(far, &task))
		return 5;
	far_read(task, 0, far_buf(task, 8), 8);
	return far_sync(task) || far_leave(task) || far_close(far) ? 6 : 0;
}

static void test_fork(void **state)
{
	struct forked f = { .set = *state, .far = setting_open(*state) };
	struct paused paused = { .end = false };

	assert_int_equal(far_enter(f.far, &f.task), 0);
	assert_int_equal(far_thread_start(f.far, 2, run_pause, &paused, &f.thread), 0);
	/* ASan's allocator has no locks for the child: a thread that begins must not have one */
	while (atomic_load(&paused.begun) < 2)
		far_sleep(f.task, 1000000);
	f.buf = far_buf(f.task, 8);
	/* posted, and not done when the process forks */
	far_read(f.task, 0, f.buf, 8);
	assert_int_equal(far_post(f.task), 0);
	assert_int_equal(in_child(use_parents, &f), 0);
	assert_int_equal(far_sync(f.task), 0);
	atomic_store(&paused.end, true);
	assert_int_equal(far_thread_join(f.thread), 0);
	assert_int_equal(far_leave(f.task), 0);
	assert_int_equal(far_close(f.far), 0);
	setting_check(*state);
}

/* Descriptors that the child has beside those that were open before the client. */
struct counted {
	unsigned before;
};

static int count_fds(void *arg)
{
	const struct counted *c = arg;

	return fds_open(256) != c->before;
}

static void test_fork_fds(void **state)
{
	struct counted c = { .before = fds_open(256) };
	struct far *far = setting_open(*state);
	struct far_nic *soft;
	char why[200];

	assert_int_equal(far_nic_open(SOFT, why, sizeof(why), &soft), 0);
	assert_true(fds_open(256) > c.before);
	assert_int_equal(in_child(count_fds, &c), 0);
	soft->ops->close(soft);
	assert_int_equal(far_close(far), 0);
	assert_int_equal(fds_open(256), c.before);
}

/* A task forks while others of its thread sleep: all end in the child, too. */
struct tasks {
	unsigned others;	/* that have ended */
	int status;		/* of the child */
	bool is_child;
};

static void run_fork(struct far_task *task, void *arg)
{
	struct tasks *tasks = arg;
	void *buf = far_buf(task, 8);
	pid_t pid;

	far_read(task, 0, buf, 8);
	if (far_task_index(task)) {
		far_post(task);
		far_sleep(task, 2000000);
		if (far_sync(task) == (tasks->is_child ? -ESTALE : 0))
			tasks->others++;
		return;
	}
	far_post(task);
	pid = child_fork();
	if (!pid) {
		alarm(20);
		tasks->is_child = true;
		if (far_sync(task) != -ESTALE)
			_exit(1);
		while (tasks->others < 3)
			far_sleep(task, 1000000);
		_exit(0);
	}
	waitpid(pid, &tasks->status, 0);
	far_sync(task);
}

static void test_fork_in_task(void **state)
{
	struct tasks tasks = { .status = -1 };
	struct far *far = setting_open(*state);
	struct far_thread *thread;

	assert_int_equal(far_thread_start(far, 4, run_fork, &tasks, &thread), 0);
	assert_int_equal(far_thread_join(thread), 0);
	assert_int_equal(tasks.status, 0);
	assert_int_equal(tasks.others, 3);
	assert_int_equal(far_close(far), 0);
}

/* A task forks while others wait for a descriptor, and for a far_unpark(). */
struct waits {
	struct far_task *task[4];
	int fd[2];
	int result[4];
	unsigned ended;
	int status;		/* of the child */
};

static void wait_fork(struct far_task *task, struct waits *w)
{
	pid_t pid;

	far_sleep(task, 1000000);
	pid = child_fork();
	if (!pid) {
		alarm(20);
		while (w->ended < 3)
			far_sleep(task, 1000000);
		for (unsigned i = 1; i < 4; i++)
			if (w->result[i] != -ESTALE || far_unpark(w->task[i]) != -ESTALE)
				_exit(i);
		_exit(far_park(task) != -ESTALE ||
		      far_fd_wait(task, w->fd[0], POLLIN) != -ESTALE ? 4 : 0);
	}
	waitpid(pid, &w->status, 0);
	/* nothing of the child's has woken one of ours */
	far_sleep(task, 1000000);
	if (w->ended)
		w->status = -1;
	if (write(w->fd[1], "x", 1) != 1)
		w->status = -1;
	far_unpark(w->task[3]);
}

static void run_waits(struct far_task *task, void *arg)
{
	struct waits *w = arg;
	unsigned index = far_task_index(task);

	w->task[index] = task;
	if (!index) {
		wait_fork(task, w);
		return;
	}
	if (index == 2)
		far_deadline_set(task, 30000);
	w->result[index] = index == 3 ? far_park(task) :
					far_fd_wait(task, w->fd[0], POLLIN);
	w->ended++;
}

static void test_fork_waits(void **state)
{
	struct waits w = { .status = -1 };
	struct far *far = setting_open(*state);
	struct far_thread *thread;

	assert_int_equal(pipe(w.fd), 0);
	assert_int_equal(far_thread_start(far, 4, run_waits, &w, &thread), 0);
	assert_int_equal(far_thread_join(thread), 0);
	assert_int_equal(w.status, 0);
	assert_int_equal(w.result[1], POLLIN);
	assert_int_equal(w.result[2], POLLIN);
	assert_int_equal(w.result[3], 0);
	assert_int_equal(far_close(far), 0);
	close(w.fd[0]);
	close(w.fd[1]);
}

/* ---- calls out of order ---- */

static void run_close(struct far_task *task, void *arg)
{
	struct far_thread **thread = arg;

	assert_int_equal(far_close(far_task_far(task)), -EBUSY);
	while (!__atomic_load_n(thread, __ATOMIC_ACQUIRE))
		far_sleep(task, 1000);
	assert_int_equal(far_thread_join(*thread), -EDEADLK);
}

static void test_close_early(void **state)
{
	struct far *far = setting_open(*state);
	struct far_thread *thread = NULL, *started;
	struct far_task *task;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_close(far), -EBUSY);
	far_read(task, 0, far_buf(task, 8), 8);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(far_thread_start(far, 1, run_close, &thread, &started), 0);
	__atomic_store_n(&thread, started, __ATOMIC_RELEASE);
	assert_int_equal(far_thread_join(started), 0);
	assert_int_equal(far_close(far), 0);
}

static void *use_others(void *arg)
{
	struct far_task *task = arg;

	assert_null(far_buf(task, 8));
	far_read(task, 0, NULL, 8);
	assert_int_equal(far_post(task), -EPERM);
	far_sleep(task, 1000);
	far_yield(task);
	assert_int_equal(far_sync(task), -EPERM);
	assert_int_equal(far_leave(task), -EPERM);
	return NULL;
}

static void test_other_thread(void **state)
{
	struct far *far = setting_open(*state);
	struct far_task *task;
	pthread_t thread;

	assert_int_equal(far_enter(far, &task), 0);
	far_read(task, 0, far_buf(task, 8), 8);
	assert_int_equal(pthread_create(&thread, NULL, use_others, task), 0);
	pthread_join(thread, NULL);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(far_close(far), 0);
}

/* ---- the library is closed while threads of it run ---- */

static void test_dlclose(void **state)
{
	const char *path = getenv("LIBFAR");
	void *library;

	if (!path)
		skip();
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	assert_int_equal(dlclose(library), 0);
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(library);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SETTING_TEST(test_stdio),
		SETTING_TEST(test_signals),
		SETTING_TEST(test_fork),
		SETTING_TEST(test_fork_fds),
		SETTING_TEST(test_fork_in_task),
		SETTING_TEST(test_fork_waits),
		SETTING_TEST(test_close_early),
		SETTING_TEST(test_other_thread),
		cmocka_unit_test(test_dlclose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
