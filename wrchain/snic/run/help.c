// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Helpers.  The kernel wakes one thread for a frame: the first, among those that wait, in
 * the order in which epoll instances were made for the port (EPOLLEXCLUSIVE).  Each helper
 * has an instance, and the NIC's thread has one that is always made anew behind a new
 * helper's.  So a frame wakes a helper if one waits, and otherwise the NIC's thread: nothing
 * is handed over when a helper comes or goes, and no frame depends on a helper.  Timers
 * are left to the NIC's thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../device/device.h"
#include "../net/net.h"
#include "../../own/own.h"
#include "run-priv.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2	441	/* Linux 5.11 */
#endif

struct snic_helper {
	struct snic_rt *rt;
	int fd, wake_fd;
};

/* Sleeps until the clock says `until`.  Number of events, at most 2; 0: the time is up. */
static int epoll_sleep(int epfd, uint64_t until, struct epoll_event events[2])
{
	uint64_t now = until == SNIC_NEVER ? 0 : snic_rt_clock();
	uint64_t ns = until > now ? until - now : 0;
	struct timespec ts = {
		.tv_sec = ns / SNIC_NS_PER_S, .tv_nsec = ns % SNIC_NS_PER_S,
	};
	long n = syscall(SYS_epoll_pwait2, epfd, events, 2,
			 until == SNIC_NEVER ? NULL : &ts, NULL, (size_t)0);

	return n < 0 ? -errno : n;
}

static int epoll_add(int epfd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Adds the ports' descriptors, behind those of all other instances. */
static int add_ports(int epfd, const int *fds, unsigned int nr)
{
	unsigned int i;
	int r = 0;

	for (i = 0; i < nr && !r; i++) {
		epoll_ctl(epfd, EPOLL_CTL_DEL, fds[i], NULL);
		r = epoll_add(epfd, fds[i], EPOLLIN | EPOLLEXCLUSIVE);
	}
	return r;
}

/* Puts the NIC's thread behind the helpers.  The caller holds the NIC. */
static int thread_behind(struct snic_rt *rt, const int *fds, unsigned int nr)
{
	int r;

	if (rt->ports_fd < 0)
		rt->ports_fd = own_fd(epoll_create1(0));
	if (rt->ports_fd < 0)
		return rt->ports_fd;
	r = add_ports(rt->ports_fd, fds, nr);
	rt->ports_in = nr;
	if (!r)
		return 0;
	/* The thread waits for the descriptors themselves, as if there were no helpers. */
	own_fd_close(rt->ports_fd);
	rt->ports_fd = -1;
	return r;
}

/* The caller holds the NIC. */
static int helper_join(struct snic_helper *h)
{
	struct snic_net *net = snic_net_of(h->rt->nic);
	int fds[SNIC_RT_PORTS], r;
	unsigned int nr = snic_net_fds(net, fds, SNIC_RT_PORTS);

	if (nr > SNIC_RT_PORTS || !snic_net_fds_shared(net))
		return -EOPNOTSUPP;
	r = add_ports(h->fd, fds, nr);
	return r ? r : thread_behind(h->rt, fds, nr);
}

int snic_helper_new(struct snic_rt *rt, int wake_fd, struct snic_helper **ret_helper)
{
	struct snic_helper *h = calloc(1, sizeof(*h));
	struct epoll_event events[2];
	int r;

	if (!h)
		return -ENOMEM;
	h->rt = rt;
	h->wake_fd = wake_fd;
	h->fd = own_fd(epoll_create1(0));
	r = h->fd < 0 ? h->fd : 0;
	if (r)
		goto free_helper;
	/* Not all kernels have the call. */
	r = epoll_sleep(h->fd, 0, events);
	if (!r)
		r = epoll_add(h->fd, wake_fd, EPOLLIN);
	if (r)
		goto close_fd;
	snic_rt_lock(rt);
	r = helper_join(h);
	snic_rt_unlock(rt);
	/* The thread waits for other descriptors now. */
	snic_rt_kick(rt);
	if (r)
		goto close_fd;
	atomic_store(&rt->helped, true);
	*ret_helper = h;
	return 0;

close_fd:
	own_fd_close(h->fd);
free_helper:
	free(h);
	return r;
}

void snic_helper_free(struct snic_helper *h)
{
	if (!h)
		return;
	own_fd_close(h->fd);
	free(h);
}

int snic_helper_wait(struct snic_helper *h, uint64_t until, unsigned int *ret_woken)
{
	/* Two events: a frame beside wake_fd has woken nobody else. */
	struct epoll_event events[2];
	int i, r;

	atomic_fetch_add(&h->rt->nr_helping, 1);
	r = epoll_sleep(h->fd, until, events);
	atomic_fetch_sub(&h->rt->nr_helping, 1);
	*ret_woken = 0;
	for (i = 0; i < r; i++)
		*ret_woken |= events[i].data.fd == h->wake_fd ? SNIC_WOKEN_BY_CALLER :
							       SNIC_WOKEN_BY_FRAME;
	return !r ? -ETIME : r < 0 && r != -EINTR ? r : 0;
}

void snic_helper_work(struct snic_helper *h)
{
	snic_rt_work(h->rt);
}
