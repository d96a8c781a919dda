// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many forks lie behind this process. */
#include "forks.h"

#include <pthread.h>

unsigned far_forks;

static int watch_error;

static void forks_count(void)
{
	far_forks++;
}

static void forks_watch(void)
{
	watch_error = -pthread_atfork(NULL, NULL, forks_count);
}

int far_forks_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, forks_watch);
	return watch_error;
}
