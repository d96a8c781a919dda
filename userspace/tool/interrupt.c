// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Signals, in a thread that waits for them: a handler could not delete a space. */
#include "interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
	void (*clean)(const void *arg);
	const void *arg;
	sigset_t signals;
	atomic_int caught;
} interrupt;

/* The rest of the program may have met the deleted space: the signal is what ends it. */
static void interrupt_exit(void)
{
	while (atomic_load(&interrupt.caught))
		pause();
}

static void *interrupt_run(void *unused)
{
	int signal;

	if (!sigwait(&interrupt.signals, &signal)) {
		atomic_store(&interrupt.caught, 1);
		interrupt.clean(interrupt.arg);
		_exit(128 + signal);
	}
	return unused;
}

int interrupt_clean(void (*clean)(const void *arg), const void *arg)
{
	pthread_t thread;
	int err;

	interrupt.clean = clean;
	interrupt.arg = arg;
	if (atexit(interrupt_exit))
		return -ENOMEM;
	sigemptyset(&interrupt.signals);
	sigaddset(&interrupt.signals, SIGINT);
	sigaddset(&interrupt.signals, SIGTERM);
	sigaddset(&interrupt.signals, SIGHUP);
	err = pthread_sigmask(SIG_BLOCK, &interrupt.signals, NULL);
	if (!err)
		err = pthread_create(&thread, NULL, interrupt_run, NULL);
	if (!err)
		err = pthread_detach(thread);
	return -err;
}
