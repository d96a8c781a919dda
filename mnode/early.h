/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients of spaces that come too early. The agent takes its memory at the start, which
 * lasts a second or so for each few gigabytes; until it is done, a thread tells whoever
 * connects to come again, so that nobody takes the agent for one without spaces.
 */
#ifndef MNODE_EARLY_H
#define MNODE_EARLY_H

#include <pthread.h>
#include <stdatomic.h>
#include "../userspace/host/host.h"

/**
 * struct early - the thread
 * @nr_told:	connections that were told to come again
 */
struct early {
	struct far_host *host;
	pthread_t thread;
	int stop_fd;
	atomic_uint nr_told;
};

/* From now on nobody else may take the NIC's events. A NIC without event_fd has no
 * clients before its caller lets them act: then there is no thread. */
int early_start(struct early *early, struct far_host *host);
/* Behind this the NIC's events are the caller's. */
void early_stop(struct early *early);

#endif /* MNODE_EARLY_H */
