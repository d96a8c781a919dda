// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors and threads in a program's process.
 *
 * The numbers of the kept descriptors are in a bit set, so that the child of a fork() can
 * close them. The child does not use them, and others detect by the closing of some of
 * them that the parent has ended.
 */
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST	(STDERR_FILENO + 1)
#define BITS	64u

static struct {
	pthread_mutex_t lock;
	uint64_t *bit;		/* one for each descriptor number */
	size_t nr;		/* words of bit */
	bool watched;		/* the fork() handlers are registered */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void fork_prepare(void)
{
	pthread_mutex_lock(&kept.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&kept.lock);
}

/* Calls only functions that may be called between fork() and exec. */
static void fork_child(void)
{
	size_t i;

	for (i = 0; i < kept.nr * BITS; i++)
		if (kept.bit[i / BITS] >> i % BITS & 1)
			close(i);
	for (i = 0; i < kept.nr; i++)
		kept.bit[i] = 0;
	pthread_mutex_unlock(&kept.lock);
}

/* Registers the fork() handlers once. The caller holds kept.lock. */
static int kept_watch(void)
{
	int err = 0;

	if (!kept.watched)
		err = -pthread_atfork(fork_prepare, fork_parent, fork_child);
	kept.watched |= !err;
	return err;
}

/* The caller holds kept.lock. */
static int kept_add(int fd)
{
	size_t nr = fd / BITS + 1;
	uint64_t *bit;

	if (nr > kept.nr) {
		bit = realloc(kept.bit, nr * sizeof(*bit));
		if (!bit)
			return -ENOMEM;
		memset(bit + kept.nr, 0, (nr - kept.nr) * sizeof(*bit));
		kept.bit = bit;
		kept.nr = nr;
	}
	kept.bit[fd / BITS] |= UINT64_C(1) << fd % BITS;
	return 0;
}

/* Duplicates fd to a number above standard error, and closes fd in any case. */
static int fd_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST), err = high < 0 ? -errno : 0;

	close(fd);
	return err ? err : high;
}

/* Returns fd, or -errno: then it closes fd. */
static int fd_close_on_exec(int fd)
{
	int err = fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;

	if (err)
		close(fd);
	return err ? err : fd;
}

int own_fd(int fd)
{
	int err;

	if (fd < 0)
		return -errno;
	if (fd < FIRST)
		fd = fd_raise(fd);
	else
		fd = fd_close_on_exec(fd);
	if (fd < 0)
		return fd;
	err = own_fd_lend(fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

int own_fd_lend(int fd)
{
	int err;

	if (fd < FIRST)
		return 0;
	pthread_mutex_lock(&kept.lock);
	err = kept_watch();
	if (!err)
		err = kept_add(fd);
	pthread_mutex_unlock(&kept.lock);
	return err;
}

void own_fd_forget(int fd)
{
	pthread_mutex_lock(&kept.lock);
	if (fd / BITS < kept.nr)
		kept.bit[fd / BITS] &= ~(UINT64_C(1) << fd % BITS);
	pthread_mutex_unlock(&kept.lock);
}

/* Forgets before it closes: another thread may get and add the same number at once. */
void own_fd_close(int fd)
{
	if (fd < 0)
		return;
	own_fd_forget(fd);
	close(fd);
}

unsigned int own_stdio_hold(void)
{
	unsigned int held = 0;
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd < FIRST)
		held |= 1u << fd;
	if (fd >= 0)
		close(fd);
	return held;
}

void own_stdio_let(unsigned int held)
{
	int fd;

	for (fd = 0; fd < FIRST; fd++)
		if (held >> fd & 1)
			close(fd);
}

int own_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg)
{
	static const int fault[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t all, old;
	unsigned int i;
	int r;

	sigfillset(&all);
	for (i = 0; i < sizeof(fault) / sizeof(fault[0]); i++)
		sigdelset(&all, fault[i]);
	r = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (r)
		return -r;
	r = pthread_create(ret_thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}
