/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Progress: said on standard error every two seconds of something that takes long. */
#ifndef FAR_TOOL_PROGRESS_H
#define FAR_TOOL_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct progress {
	const char *what;
	const atomic_uint *percent;
	bool over;		/* under lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
};

/*
 * what is said until stop, behind "far: ": "checking space s". How much is done is read
 * from *percent unless that is NULL. Says nothing when it ends early.
 */
int progress_start(struct progress *progress, const char *what,
		   const atomic_uint *percent);
void progress_stop(struct progress *progress);

#endif
