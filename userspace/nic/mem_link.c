/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of mem after they are made: RECVs, sleep, and the other end's death.
 *
 * Data and immediates go through memory that both ends share. The connection's socket wakes
 * the other end if that sleeps, and reports its end; a descriptor of the other process
 * reports the end of a process whose child has inherited the socket. A queue set waits for
 * the descriptors of all its connections, services and its bell by one epoll descriptor.
 */
#include "mem_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <own/own.h>

#define LOOK_POLLS	256u	/* polls of a queue set between two looks at descriptors */
#define MAX_EVENTS	16

int mem_calls_watch(struct mem_calls *calls, struct mem_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	return epoll_ctl(calls->epoll, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

void mem_calls_forget(struct mem_calls *calls, struct mem_watch *watch)
{
	if (watch->fd >= 0)
		epoll_ctl(calls->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

int mem_calls_get(struct far_qset *qset, struct mem_calls **ret_calls)
{
	struct mem_calls **calls = mem_qset_calls(qset);
	int fd;

	if (!*calls) {
		struct mem_calls *mine = calloc(1, sizeof(*mine));

		if (!mine)
			return -ENOMEM;
		fd = own_fd(epoll_create1(EPOLL_CLOEXEC));
		if (fd < 0) {
			free(mine);
			return fd;
		}
		mine->epoll = fd;
		mine->ringer = mem_qset_bell(qset);
		mine->bell = (struct mem_watch) { MEM_WATCH_BELL, -1, NULL };
		*calls = mine;
	}
	*ret_calls = *calls;
	return 0;
}

void mem_calls_free(struct mem_calls *calls)
{
	own_fd_close(calls->epoll);
	free(calls);
}

int mem_calls_add(struct mem_calls *calls, struct far_link *link)
{
	struct far_link *other;
	int err;

	for (other = calls->links; other; other = other->next)
		if (other->end.recv_idx == link->end.recv_idx)
			return -EISCONN;
	err = mem_calls_watch(calls, &link->sock);
	if (!err && link->process.fd >= 0) {
		err = mem_calls_watch(calls, &link->process);
		if (err)
			mem_calls_forget(calls, &link->sock);
	}
	if (err)
		return err;
	link->next = calls->links;
	calls->links = link;
	return 0;
}

void mem_calls_remove(struct mem_calls *calls, struct far_link *link)
{
	struct far_link **at;

	for (at = &calls->links; *at != link; at = &(*at)->next)
		;
	*at = link->next;
	mem_calls_forget(calls, &link->sock);
	mem_calls_forget(calls, &link->process);
}

/* The other end is dead or has hung up. */
static void link_end(struct mem_calls *calls, struct far_link *link)
{
	__atomic_store_n(&link->state, MEM_STOPPED, __ATOMIC_RELEASE);
	mem_calls_forget(calls, &link->sock);
	mem_calls_forget(calls, &link->process);
}

/* Takes the bytes that have woken this end. */
static void sock_read(struct mem_calls *calls, struct far_link *link)
{
	char bytes[16];
	ssize_t len;

	do
		len = recv(link->sock.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (len > 0);
	if (!len || (errno != EAGAIN && errno != EINTR))
		link_end(calls, link);
}

static void watch_fire(struct mem_calls *calls, struct mem_watch *watch)
{
	switch (watch->kind) {
	case MEM_WATCH_LISTENER:
		mem_listener_accept(watch->owner);
		break;
	case MEM_WATCH_PENDING:
		mem_pending_read(watch);
		break;
	case MEM_WATCH_SOCKET:
		sock_read(calls, watch->owner);
		break;
	case MEM_WATCH_PROCESS:
		link_end(calls, watch->owner);
		break;
	case MEM_WATCH_BELL:
		break;
	}
}

void mem_calls_look(struct mem_calls *calls)
{
	struct epoll_event event[MAX_EVENTS];
	int i, nr = epoll_wait(calls->epoll, event, MAX_EVENTS, 0);

	calls->polls = 0;
	for (i = 0; i < nr; i++)
		watch_fire(calls, event[i].data.ptr);
}

static int link_is_over(const struct far_link *link)
{
	return __atomic_load_n(&link->state, __ATOMIC_ACQUIRE) != MEM_RUNS;
}

/* How many RECVs have been taken; the other end's number may be any. */
static uint32_t link_taken(const struct far_link *link)
{
	uint32_t taken = __atomic_load_n(&link->in->taken, __ATOMIC_ACQUIRE);
	uint32_t nr = taken - link->recv_done, max = link->recv_posted - link->recv_done;

	return nr < max ? nr : max;
}

static int link_has_wc(const struct far_link *link)
{
	return link_taken(link) || (link_is_over(link) && link->recv_posted != link->recv_done);
}

static unsigned link_take(struct far_link *link, struct far_wc *wc, unsigned max)
{
	/* Once the other end is gone, what it has sent comes first. */
	int over = link_is_over(link);
	uint32_t taken = link_taken(link);
	unsigned nr;

	for (nr = 0; nr < max && (nr < taken || (over && link->recv_done != link->recv_posted));
	     nr++) {
		uint32_t at = link->recv_done++ % MEM_RECVS;
		int status = nr < taken ? 0 : -EHOSTDOWN;

		wc[nr] = (struct far_wc) {
			.id = link->recv_id[at],
			.status = status,
			.syndrome = -status,
			.imm = __atomic_load_n(&link->in->imm[at], __ATOMIC_RELAXED),
			.peer = link->end.recv_idx,
			.op = FAR_NIC_RECV,
		};
	}
	return nr;
}

unsigned mem_calls_take(struct mem_calls *calls, struct far_wc *wc, unsigned max)
{
	struct far_link *link;
	unsigned nr = 0;

	if (++calls->polls >= LOOK_POLLS)
		mem_calls_look(calls);
	for (link = calls->links; link && nr < max; link = link->next)
		nr += link_take(link, wc + nr, max - nr);
	return nr;
}

int mem_link_recv(struct mem_calls *calls, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct far_link *link = calls->links;
	unsigned i;

	while (link && link->end.recv_idx != idx)
		link = link->next;
	if (!link || link_is_over(link))
		return -ENOTCONN;
	if (nr > MEM_RECVS)
		return -E2BIG;
	if (link->recv_posted - link->recv_done + nr > MEM_RECVS)
		return -EAGAIN;
	for (i = 0; i < nr; i++)
		link->recv_id[link->recv_posted++ % MEM_RECVS] = wr[i].id;
	__atomic_store_n(&link->in->posted, link->recv_posted, __ATOMIC_RELEASE);
	return 0;
}

int mem_link_has_recv(const struct far_link *link)
{
	uint32_t nr = __atomic_load_n(&link->out->posted, __ATOMIC_ACQUIRE) - link->sent;

	return nr && nr <= MEM_RECVS;
}

void mem_link_imm(struct far_link *link, uint32_t imm)
{
	__atomic_store_n(&link->out->imm[link->sent % MEM_RECVS], imm, __ATOMIC_RELAXED);
	/* Sequentially consistent: a receiver that misses the immediate is seen asleep. */
	__atomic_exchange_n(&link->out->taken, ++link->sent, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&link->out->asleep, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&link->out->asleep, 0, __ATOMIC_SEQ_CST))
		send(link->sock.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int calls_have_wc(const struct mem_calls *calls)
{
	const struct far_link *link;

	for (link = calls->links; link; link = link->next)
		if (link_has_wc(link))
			return 1;
	return 0;
}

static void calls_asleep(struct mem_calls *calls, uint32_t asleep)
{
	struct far_link *link;

	for (link = calls->links; link; link = link->next)
		__atomic_exchange_n(&link->in->asleep, asleep, __ATOMIC_SEQ_CST);
}

/* Waits for a descriptor until CLOCK_MONOTONIC is at `until` ns. 0 or -ETIME. */
static int epoll_sleep(const struct mem_calls *calls, uint64_t until)
{
	struct pollfd fd = { .fd = calls->epoll, .events = POLLIN };
	struct timespec now, left;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	ns = until > ns ? until - ns : 0;
	left = (struct timespec) { ns / 1000000000, ns % 1000000000 };
	return ppoll(&fd, 1, until == UINT64_MAX ? NULL : &left, NULL) ? 0 : -ETIME;
}

int mem_calls_sleep(struct mem_calls *calls, uint64_t until)
{
	int fd = far_bell_arm(calls->ringer), err = 0;

	if (fd < 0)
		return fd == -EAGAIN ? 0 : fd;
	if (calls->bell.fd < 0) {
		calls->bell.fd = fd;
		err = mem_calls_watch(calls, &calls->bell);
		if (err) {
			calls->bell.fd = -1;
			goto disarm;
		}
	}
	calls_asleep(calls, 1);
	if (!calls_have_wc(calls))
		err = epoll_sleep(calls, until);
	calls_asleep(calls, 0);
	mem_calls_look(calls);
disarm:
	far_bell_disarm(calls->ringer);
	return err;
}
