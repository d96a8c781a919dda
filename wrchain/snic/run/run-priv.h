/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the real-time runner:
 *
 *	rt.c		the NIC's lock, its thread, doorbells
 *	help.c		threads that do the NIC's work while they wait
 */
#ifndef SNIC_RUN_PRIV_H
#define SNIC_RUN_PRIV_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "../snic.h"
#include "spin.h"

#define SNIC_RT_PORTS	256
#define SNIC_RT_RINGS	64
#define SNIC_NS_PER_S	1000000000ull

/* A recorded doorbell. */
struct snic_ring {
	uint32_t qpn;
	uint16_t pi;
};

struct snic_rt {
	struct snic *nic;
	void (*completed)(void *arg);
	void *arg;
	pthread_t thread;
	pthread_mutex_t entry_lock, nic_lock;
	/* protects rings; the innermost lock, held for a moment only */
	pthread_mutex_t rings_lock;
	struct snic_ring rings[SNIC_RT_RINGS];
	atomic_uint nr_rings;	/* changed under rings_lock */

	int kick_fd, event_fd;
	/* under nic_lock */
	bool event_set;		/* event_fd is readable */
	uint64_t wake_at;	/* when the thread steps the NIC next by itself */
	unsigned int nr_ports;	/* ports whose descriptors the thread knows */
	uint64_t cqes_notified;	/* the counter when completed() was last called */
	int ports_fd;		/* epoll instance with the ports; -1: there were no helpers */
	unsigned int ports_in;	/* ports in ports_fd */

	atomic_bool stop, kicked, asleep;
	atomic_bool helped;	/* there are helpers, or were */
	atomic_uint nr_helping;	/* helpers that wait for frames now */

	/* used by the thread alone */
	struct snic_spin spin;
	unsigned int false_alarms;
	struct pollfd fds[1 + SNIC_RT_PORTS];	/* kick, then ports */
	unsigned int nr_fds;	/* entries of fds */
	bool blind;		/* there is a port without a descriptor, or too many */
};

uint64_t snic_rt_clock(void);
/* Makes a step in place of the NIC's thread, which is woken if there is more to do. */
void snic_rt_work(struct snic_rt *rt);
/* Has the NIC's thread look at everything. */
void snic_rt_kick(struct snic_rt *rt);

#endif /* SNIC_RUN_PRIV_H */
