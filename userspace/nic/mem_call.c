/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How programs call each other over mem. A service is a UNIX socket in mem's directory,
 * SERVICE.call. The caller sends one packet with its hello, and the descriptors of the wire
 * (struct mem_wire), which the caller makes, and of its window and the window's common memory.
 * The answer is one packet with the descriptors of the other window.
 */
#include "mem_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <own/own.h>

#include "../base/parse.h"
#include "real.h"
#include "window.h"

#define CALL_MAGIC	UINT64_C(0x31306c6c61636d66)	/* "fmcall01", little endian */
#define BACKLOG		64
#define PENDING_MAX	256u	/* callers of a service that wait; then the silent ones go */
#define RETRY_NS	1000000u
#define MAX_FDS		3

enum { FD_WIRE, FD_WINDOW, FD_COMMON };	/* of a caller; an answer has no wire */

struct packet {
	uint64_t magic;
	int32_t status;		/* of an answer: 0, or the reason of a rejection */
	struct far_hello hello;
};

/* A caller that has connected; ready: the hello has come. */
struct mem_pending {
	struct mem_watch sock;
	struct far_listener *listener;
	int ready;
	int fd[MAX_FDS];		/* by FD_WIRE and its like; -1: none */
	struct far_hello hello;
	struct mem_pending *next;
};

struct far_listener {
	struct mem_watch sock;
	struct mem_nic *mem;
	struct mem_calls *calls;
	unsigned nr;
	struct mem_pending *first, **end;	/* in the order of connecting */
	char file[FAR_SERVICE_MAX + 8];
};

static int service_file(const char *service, char *ret_file, size_t size)
{
	if (!far_parse_is_name(service, FAR_SERVICE_MAX))
		return -EINVAL;
	snprintf(ret_file, size, "%s.call", service);
	return 0;
}

/* The address of a socket in an open directory; paths to it may be longer than addresses. */
static void sock_address(int dir, const char *file, struct sockaddr_un *ret_addr)
{
	*ret_addr = (struct sockaddr_un) { .sun_family = AF_UNIX };
	snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path), "/proc/self/fd/%d/%s", dir,
		 file);
}

static int sock_new(void)
{
	return own_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* True if a process listens at the address. */
static int sock_is_served(const struct sockaddr_un *addr)
{
	int fd = sock_new(), err;

	if (fd < 0)
		return 1;
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? errno : 0;
	own_fd_close(fd);
	return err != ECONNREFUSED && err != ENOENT;
}

/* Binds; replaces the socket of a process that has ended. The caller has locked dir. */
static int sock_bind(int fd, const struct sockaddr_un *addr)
{
	if (!bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (sock_is_served(addr))
		return -EADDRINUSE;
	if (unlink(addr->sun_path) < 0 && errno != ENOENT)
		return -errno;
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
}

static int listener_bind(struct far_listener *listener)
{
	const struct mem_nic *mem = listener->mem;
	struct sockaddr_un addr;
	int dir, err;

	if (mem->dir_is_default && mkdir(mem->dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	err = mem_dir_open(mem, &dir);
	if (err)
		return err;
	sock_address(dir, listener->file, &addr);
	if (flock(dir, LOCK_EX) < 0)
		err = -errno;
	if (!err)
		err = sock_bind(listener->sock.fd, &addr);
	if (!err && listen(listener->sock.fd, BACKLOG) < 0)
		err = -errno;
	close(dir);
	return err;
}

static int mem_listen(struct far_qset *qset, const char *service,
		      struct far_listener **ret_listener)
{
	struct far_listener *listener = calloc(1, sizeof(*listener));
	int err;

	if (!listener)
		return -ENOMEM;
	listener->mem = mem_nic_of(qset->nic);
	listener->end = &listener->first;
	err = service_file(service, listener->file, sizeof(listener->file));
	if (!err)
		err = mem_calls_get(qset, &listener->calls);
	if (err)
		goto free_listener;
	listener->sock = (struct mem_watch) { MEM_WATCH_LISTENER, sock_new(), listener };
	if (listener->sock.fd < 0) {
		err = listener->sock.fd;
		goto free_listener;
	}
	err = listener_bind(listener);
	if (!err)
		err = mem_calls_watch(listener->calls, &listener->sock);
	if (err)
		goto close_sock;
	*ret_listener = listener;
	return 0;

close_sock:
	own_fd_close(listener->sock.fd);
free_listener:
	free(listener);
	return err;
}

static void fds_clear(int *fd)
{
	int i;

	for (i = 0; i < MAX_FDS; i++)
		fd[i] = -1;
}

static void fds_close(int *fd)
{
	int i;

	for (i = 0; i < MAX_FDS; i++)
		if (fd[i] >= 0)
			own_fd_close(fd[i]);
}

/* Closes the pending caller's descriptors and frees it. It is in no list. */
static void pending_free(struct mem_pending *pending)
{
	if (pending->sock.fd >= 0) {
		mem_calls_forget(pending->listener->calls, &pending->sock);
		own_fd_close(pending->sock.fd);
	}
	fds_close(pending->fd);
	free(pending);
}

static void pending_unlink(struct mem_pending *pending)
{
	struct far_listener *listener = pending->listener;
	struct mem_pending **at;

	for (at = &listener->first; *at != pending; at = &(*at)->next)
		;
	*at = pending->next;
	for (listener->end = &listener->first; *listener->end;
	     listener->end = &(*listener->end)->next)
		;
	listener->nr--;
}

static void mem_unlisten(struct far_nic *nic, struct far_listener *listener)
{
	int dir;

	while (listener->first) {
		struct mem_pending *pending = listener->first;

		pending_unlink(pending);
		pending_free(pending);
	}
	mem_calls_forget(listener->calls, &listener->sock);
	if (!mem_dir_open(listener->mem, &dir)) {
		unlinkat(dir, listener->file, 0);
		close(dir);
	}
	own_fd_close(listener->sock.fd);
	free(listener);
}

void mem_listener_accept(struct far_listener *listener)
{
	struct mem_pending *pending;
	int fd;

	while (listener->nr < PENDING_MAX) {
		fd = own_fd(accept4(listener->sock.fd, NULL, NULL,
				    SOCK_CLOEXEC | SOCK_NONBLOCK));
		if (fd < 0)
			return;
		pending = calloc(1, sizeof(*pending));
		if (!pending) {
			own_fd_close(fd);
			return;
		}
		pending->sock = (struct mem_watch) { MEM_WATCH_PENDING, fd, pending };
		pending->listener = listener;
		fds_clear(pending->fd);
		if (mem_calls_watch(listener->calls, &pending->sock)) {
			pending_free(pending);
			return;
		}
		*listener->end = pending;
		listener->end = &pending->next;
		listener->nr++;
	}
}

static int packet_send(int sock, const struct packet *packet, const int *fd, unsigned nr)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} control = { .head = { 0 } };
	struct iovec iov = { (void *)packet, sizeof(*packet) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nr) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * nr);
		memcpy(CMSG_DATA(&control.head), fd, sizeof(int) * nr);
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Takes ownership of the descriptors of a message; closes those beyond max. */
static void fds_take(struct msghdr *msg, int *ret_fd, unsigned max)
{
	struct cmsghdr *head;
	unsigned nr = 0, i;
	int fd;

	for (head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			fd = own_fd(fd);
			if (nr < max)
				ret_fd[nr++] = fd < 0 ? -1 : fd;
			else if (fd >= 0)
				own_fd_close(fd);
		}
	}
}

/* Receives a packet. -EAGAIN: there is none; -ECONNRESET; -EPROTO: it is no packet. */
static int packet_recv(int sock, struct packet *packet, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} control;
	struct iovec iov = { packet, sizeof(*packet) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t len = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (len < 0)
		return -errno;
	fds_take(&msg, ret_fd, MAX_FDS);
	if (!len)
		return -ECONNRESET;
	if (len != sizeof(*packet) || packet->magic != CALL_MAGIC ||
	    packet->hello.len > FAR_HELLO_MAX)
		return -EPROTO;
	return 0;
}

void mem_pending_read(struct mem_watch *watch)
{
	struct mem_pending *pending = watch->owner;
	struct packet packet;
	int err = pending->ready ? -EPROTO : packet_recv(watch->fd, &packet, pending->fd);

	if (err == -EAGAIN || err == -EINTR)
		return;
	if (err || pending->fd[FD_WIRE] < 0 || pending->fd[FD_WINDOW] < 0) {
		pending_unlink(pending);
		pending_free(pending);
		return;
	}
	pending->hello = packet.hello;
	pending->ready = 1;
}

/*
 * Makes room for a caller when there is none: drops the oldest that has sent nothing. Not
 * called while events are handled, which may refer to that one.
 */
static void silent_drop(struct far_listener *listener)
{
	struct mem_pending *pending = listener->first;

	while (pending) {
		struct mem_pending *next = pending->next;
		unsigned nr = listener->nr;

		/* Its hello may have come just now; or it is freed, since it has gone. */
		if (!pending->ready)
			mem_pending_read(&pending->sock);
		if (listener->nr < nr)
			return;
		if (!pending->ready) {
			pending_unlink(pending);
			pending_free(pending);
			return;
		}
		pending = next;
	}
}

static struct mem_pending *ready_find(const struct far_listener *listener)
{
	struct mem_pending *pending = listener->first;

	while (pending && !pending->ready)
		pending = pending->next;
	return pending;
}

static int mem_take(struct far_nic *nic, struct far_listener *listener,
		    struct far_caller *ret_caller)
{
	struct mem_pending *pending;

	mem_calls_look(listener->calls);
	pending = ready_find(listener);
	if (!pending && listener->nr == PENDING_MAX) {
		silent_drop(listener);
		/* No event announces a hello that was read there. */
		pending = ready_find(listener);
	}
	if (!pending)
		return -EAGAIN;
	pending_unlink(pending);
	mem_calls_forget(listener->calls, &pending->sock);
	ret_caller->hello = pending->hello;
	ret_caller->priv = pending;
	return 0;
}

/* A descriptor of the process at the other end; -1: it is of another pid namespace. */
static int process_open(int sock)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || !cred.pid)
		return -1;
	return own_fd(syscall(SYS_pidfd_open, cred.pid, 0));
}

/* Maps the other window and the wire. The link owns the mappings and sock on success. */
static int link_new(int sock, const int *window_fd, void *wire, unsigned side,
		    const struct far_end *end, struct far_link **ret_link)
{
	struct far_link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return -ENOMEM;
	err = mem_window_map(window_fd, &link->target.base, &link->target.size);
	if (err) {
		free(link);
		return err;
	}
	link->target.rights = FAR_ATTACH_READ | FAR_ATTACH_WRITE;
	link->target.state = &link->state;
	link->end = *end;
	link->wire = wire;
	link->in = &link->wire->way[side];
	link->out = &link->wire->way[!side];
	link->sock = (struct mem_watch) { MEM_WATCH_SOCKET, sock, link };
	link->process = (struct mem_watch) { MEM_WATCH_PROCESS, process_open(sock), link };
	*ret_link = link;
	return 0;
}

/* Frees the link, but neither the wire nor the socket. */
static void link_free(struct far_link *link)
{
	munmap(link->target.base, link->target.size);
	if (link->process.fd >= 0)
		own_fd_close(link->process.fd);
	free(link);
}

/* Maps the wire of a caller. -EPROTO: it is none. */
static int wire_map(int fd, void **ret_wire)
{
	uint64_t size;
	int err = far_shared_size(fd, &size);

	if (!err && size != MEM_WIRE_SIZE)
		err = -EPROTO;
	if (!err)
		err = far_shared_map(fd, size, -1, 0, ret_wire);
	if (!err)
		madvise(*ret_wire, MEM_WIRE_SIZE, MADV_DONTFORK);
	return err;
}

/* Gives the link its numbers in the queue sets. */
static int link_bind(struct far_link *link)
{
	struct mem_calls *calls;
	int err = mem_calls_get(link->end.recv, &calls);

	if (err)
		return err;
	err = mem_qset_link(link->end.send, link->end.idx, link);
	if (err)
		return err;
	err = mem_calls_add(calls, link);
	if (err)
		mem_qset_unlink(link->end.send, link->end.idx);
	return err;
}

static void mem_hangup(struct far_nic *nic, struct far_link *link)
{
	mem_calls_remove(*mem_qset_calls(link->end.recv), link);
	mem_qset_unlink(link->end.send, link->end.idx);
	munmap(link->wire, MEM_WIRE_SIZE);
	own_fd_close(link->sock.fd);
	link_free(link);
}

static void mem_reject(struct far_nic *nic, struct far_caller *caller, int status)
{
	struct packet packet = { .magic = CALL_MAGIC, .status = status };
	struct mem_pending *pending = caller->priv;

	packet_send(pending->sock.fd, &packet, NULL, 0);
	own_fd_close(pending->sock.fd);
	fds_close(pending->fd);
	free(pending);
}

static int mem_accept(struct far_nic *nic, struct far_caller *caller,
		      const struct far_end *end, const struct far_window *window,
		      const struct far_hello *answer, struct far_link **ret_link)
{
	struct packet packet = { .magic = CALL_MAGIC, .hello = *answer };
	struct mem_pending *pending = caller->priv;
	int fd[2], sock = pending->sock.fd, err;
	unsigned nr = mem_window_fds(window, fd);
	struct far_link *link;
	void *wire;

	err = wire_map(pending->fd[FD_WIRE], &wire);
	if (err)
		goto reject;
	err = link_new(sock, &pending->fd[FD_WINDOW], wire, 1, end, &link);
	if (err)
		goto unmap_wire;
	err = link_bind(link);
	if (err)
		goto free_link;
	err = packet_send(sock, &packet, fd, nr);
	if (err)
		goto hangup;
	fds_close(pending->fd);
	free(pending);
	*ret_link = link;
	return 0;

hangup:
	/* Closes the socket, too: nobody is left to be answered. */
	mem_hangup(nic, link);
	fds_close(pending->fd);
	free(pending);
	return -ECONNRESET;

free_link:
	link_free(link);
unmap_wire:
	munmap(wire, MEM_WIRE_SIZE);
reject:
	mem_reject(nic, caller, err);
	return err;
}

/* Connects to the service. -EAGAIN: too many callers wait. */
static int call_connect(const struct mem_nic *mem, const char *file, int sock)
{
	struct sockaddr_un addr;
	int dir, err = mem_dir_open(mem, &dir);

	if (err)
		return err;
	sock_address(dir, file, &addr);
	if (connect(sock, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		err = -errno;
	close(dir);
	return err;
}

/* Waits until the socket is readable, at most until CLOCK_MONOTONIC is at `until`. */
static int sock_wait(struct far_nic *nic, int sock, uint64_t until)
{
	struct pollfd fd = { .fd = sock, .events = POLLIN };
	uint64_t now = far_real_now(nic), left = until > now ? (until - now) / 1000000 + 1 : 0;

	if (!left)
		return -ETIMEDOUT;
	poll(&fd, 1, left > 1000 ? 1000 : left);
	return 0;
}

static int call_reach(struct far_nic *nic, const char *file, int sock, uint64_t until)
{
	int err;

	while ((err = call_connect(mem_nic_of(nic), file, sock)) == -EAGAIN) {
		struct timespec nap = { 0, RETRY_NS };

		if (far_real_now(nic) >= until)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
	return err;
}

static int call_answer(struct far_nic *nic, int sock, uint64_t until, struct packet *packet,
		       int *fd)
{
	int err;

	do {
		err = sock_wait(nic, sock, until);
		if (!err)
			err = packet_recv(sock, packet, fd);
	} while (err == -EAGAIN || err == -EINTR);
	if (err)
		return err == -ECONNRESET ? -ECONNREFUSED : err;
	if (packet->status)
		return packet->status < 0 ? packet->status : -EPROTO;
	return fd[0] < 0 ? -EPROTO : 0;
}

/* Sends the hello, awaits the answer and makes the link. *ret_link changes on success only. */
static int call_shake(struct far_nic *nic, int sock, const int *offer, unsigned nr, void *wire,
		      const struct far_end *end, uint64_t until, struct packet *packet,
		      struct far_link **ret_link)
{
	struct far_link *link;
	int fd[MAX_FDS], err;

	fds_clear(fd);
	err = packet_send(sock, packet, offer, nr);
	if (!err)
		err = call_answer(nic, sock, until, packet, fd);
	if (!err)
		err = link_new(sock, fd, wire, 0, end, &link);
	fds_close(fd);
	if (err)
		return err;
	if (end->enter)
		end->enter(end->arg);
	err = link_bind(link);
	if (err)
		link_free(link);
	else
		*ret_link = link;
	return err;
}

static int mem_call(struct far_nic *nic, const char *node, const char *service,
		    const struct far_end *end, const struct far_window *window,
		    const struct far_hello *hello, uint64_t until,
		    struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct packet packet = { .magic = CALL_MAGIC, .hello = *hello };
	char file[FAR_SERVICE_MAX + 8];
	int sock, err, offer[MAX_FDS];
	unsigned nr = 1 + mem_window_fds(window, &offer[FD_WINDOW]);
	void *wire;

	if (*node && strcmp(node, "0"))
		return -EHOSTUNREACH;
	err = service_file(service, file, sizeof(file));
	if (err)
		return err == -EINVAL ? -ENOENT : err;
	sock = sock_new();
	if (sock < 0)
		return sock;
	err = call_reach(nic, file, sock, until);
	if (err)
		goto close_sock;
	err = far_shared_new("far-wire", MEM_WIRE_SIZE, &offer[FD_WIRE], &wire);
	if (err)
		goto close_sock;
	err = call_shake(nic, sock, offer, nr, wire, end, until, &packet, ret_link);
	own_fd_close(offer[FD_WIRE]);
	if (err)
		goto unmap_wire;
	*ret_answer = packet.hello;
	return 0;

unmap_wire:
	munmap(wire, MEM_WIRE_SIZE);
close_sock:
	own_fd_close(sock);
	return err;
}

const struct far_nic_call_ops mem_call_ops = {
	.common_new = far_common_new,
	.common_free = far_common_free,
	.window_new = mem_window_new,
	.window_free = mem_window_free,
	.listen = mem_listen,
	.unlisten = mem_unlisten,
	.take = mem_take,
	.accept = mem_accept,
	.reject = mem_reject,
	.call = mem_call,
	.hangup = mem_hangup,
};
