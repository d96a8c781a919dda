/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rejects connection requests while the agent starts. The agent allocates its memory at
 * the start, which takes about a second for each few gigabytes. Meanwhile a thread answers
 * each request with ODRP_FAR_E_STARTING: the client tries again later, and does not take
 * the agent for one without spaces.
 */
#ifndef MNODE_EARLY_H
#define MNODE_EARLY_H

#include <pthread.h>
#include <stdatomic.h>
#include "../../userspace/host/host.h"

/**
 * struct early - the thread
 * @nr_told:	requests that the thread has rejected
 */
struct early {
	struct far_host *host;
	pthread_t thread;
	int stop_fd;
	atomic_uint nr_told;
};

/* Starts the thread; until early_stop() nobody else may take the NIC's events. A NIC
 * without event_fd gets no thread: it has no clients before its caller lets them act. */
int early_start(struct early *early, struct far_host *host);
/* Ends the thread, if there is one; then the caller takes the NIC's events. */
void early_stop(struct early *early);

#endif /* MNODE_EARLY_H */
