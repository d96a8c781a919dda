/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clock and threads of back ends in real time. */
#include "real.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <own/own.h>

struct far_nic_thread {
	pthread_t pthread;
	void (*run)(void *arg);
	void *arg;
};

uint64_t far_real_now(struct far_nic *nic)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* In real time the clock advances by itself while a thread computes. */
void far_real_spend(struct far_nic *nic, uint64_t ns)
{
}

static void *thread_main(void *arg)
{
	struct far_nic_thread *thread = arg;

	thread->run(thread->arg);
	return NULL;
}

int far_real_thread_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
			  struct far_nic_thread **ret_thread)
{
	struct far_nic_thread *thread = malloc(sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	thread->run = run;
	thread->arg = arg;
	err = own_thread_start(&thread->pthread, thread_main, thread);
	if (err) {
		free(thread);
		return err;
	}
	*ret_thread = thread;
	return 0;
}

void far_real_thread_join(struct far_nic *nic, struct far_nic_thread *thread)
{
	pthread_join(thread->pthread, NULL);
	free(thread);
}
