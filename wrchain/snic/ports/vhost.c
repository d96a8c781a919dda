// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port in a virtual machine's memory: the back end of a virtio network card
 * for QEMU's "-netdev vhost-user".  Frames are copied between the guest's
 * buffers and the NIC without the monitor or the kernel.
 *
 * The port listens; one monitor at a time is connected.  Without a monitor, or
 * before the guest has set up its queues, frames are lost, as on an unplugged
 * cable.
 *
 * If the guest has no free buffers, frames are kept in order; the next peek()
 * or flush() that finds buffers delivers them.
 *
 * While the NIC polls, the guest is told not to kick.  doze() asks for kicks
 * before the NIC's thread sleeps on port.fd, an epoll instance with all file
 * descriptors that can wake it.
 */
#include <errno.h>
#include <linux/virtio_net.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../../own/own.h"
#include "frame_queue.h"
#include "../net/frame.h"
#include "unix_path.h"
#include "vhost_dev.h"

#define KEPT_LEN	(4u << 20)
#define MAX_HEADER	sizeof(struct virtio_net_hdr_mrg_rxbuf)
/*
 * Polls without a frame after which a busy NIC also reads the monitor's socket.
 */
#define LOOKS		256
/*
 * Limits of one call, so that a guest or a monitor that goes on while the NIC's
 * thread works cannot keep it from other ports: chains without a frame, chains
 * for one frame, kept frames, messages.
 */
#define TAKE_MAX	64
#define PUT_MAX		64
#define KEPT_MAX	256
#define MESSAGES_MAX	64

struct vhost_port {
	struct snic_port port;	/* fd: the epoll instance */
	struct sockaddr_un local;
	int listen_fd, conn_fd;		/* conn_fd -1: no monitor */
	struct snic_vhost dev;
	struct vhost_user_msg msg;	/* being received */
	size_t msg_len;
	int fds[VHOST_MAX_FDS];		/* received with msg */
	unsigned int nr_fds;
	int kicks[VHOST_QUEUES];	/* kick descriptors in the epoll instance, -1: none */
	bool dozing;		/* doze() has asked for kicks */
	unsigned int looks;
	struct snic_frame_queue kept;
	struct snic_vchain chain, more;
	uint8_t *rx_buf;
};

static struct vhost_port *to_vhost(struct snic_port *port)
{
	return (struct vhost_port *)port;
}

/* ---- frames from the guest --------------------------------------------------- */

/* Copies at most max bytes of a chain, from offset skip on; returns their
 * number. */
static size_t copy_out(const struct snic_vchain *c, size_t skip, uint8_t *dst,
		       size_t max)
{
	size_t n, done = 0;
	unsigned int i;

	for (i = 0; i < c->nr && done < max; i++) {
		n = c->iov[i].iov_len;
		if (skip >= n) {
			skip -= n;
			continue;
		}
		n -= skip;
		if (n > max - done)
			n = max - done;
		memcpy(dst + done, (uint8_t *)c->iov[i].iov_base + skip, n);
		done += n;
		skip = 0;
	}
	return done;
}

/*
 * Takes the guest's next frame: its length; 0: none, or none yet; -EIO: the ring
 * is broken.
 */
static int take_frame(struct vhost_port *p, const void **ret_frame)
{
	struct snic_vring *tx = &p->dev.rings[VHOST_TX];
	size_t header = snic_vhost_header(&p->dev);
	unsigned int i;
	size_t len;
	int ret;

	for (i = 0; i < TAKE_MAX && snic_vring_runs(tx); i++) {
		ret = snic_vring_take(tx, &p->dev.mem, false, &p->chain);
		if (ret <= 0)
			return ret;
		/* Copy the frame: the NIC reads it more than once, and the
		 * guest may change it. */
		len = copy_out(&p->chain, header, p->rx_buf, SNIC_FRAME_MAX);
		snic_vring_put(tx, p->chain.head, 0);
		snic_vring_show(tx);
		/* Skip frames that are empty or too long. */
		if (!len || p->chain.len - header > SNIC_FRAME_MAX)
			continue;
		*ret_frame = p->rx_buf;
		return len;
	}
	return tx->broken ? -EIO : 0;
}

/* ---- frames to the guest ----------------------------------------------------- */

/* A position in a list of vectors. */
struct cursor {
	const struct iovec *iov;
	int n;
	size_t offset;
};

/* Copies up to max bytes from src to dst; returns their number. */
static size_t copy_next(struct cursor *src, uint8_t *dst, size_t max)
{
	size_t n, done = 0;

	while (done < max && src->n) {
		n = src->iov->iov_len - src->offset;
		if (n > max - done)
			n = max - done;
		memcpy(dst + done, (uint8_t *)src->iov->iov_base + src->offset,
		       n);
		done += n;
		src->offset += n;
		if (src->offset == src->iov->iov_len) {
			src->iov++;
			src->n--;
			src->offset = 0;
		}
	}
	return done;
}

static size_t chain_fill(const struct snic_vchain *c, struct cursor *src)
{
	size_t done = 0;
	unsigned int i;

	for (i = 0; i < c->nr && src->n; i++)
		done += copy_next(src, c->iov[i].iov_base, c->iov[i].iov_len);
	return done;
}

/* Sets the last field of the virtio header, in the frame's first chain. */
static void set_num_buffers(const struct snic_vchain *first, uint16_t n)
{
	size_t i, at = offsetof(struct virtio_net_hdr_mrg_rxbuf, num_buffers);
	uint8_t bytes[2] = { n & 0xff, n >> 8 };

	for (i = 0; i < 2; i++, at++) {
		size_t skip = at;
		unsigned int k;

		for (k = 0; skip >= first->iov[k].iov_len; k++)
			skip -= first->iov[k].iov_len;
		((uint8_t *)first->iov[k].iov_base)[skip] = bytes[i];
	}
}

/*
 * Copies a frame into the guest's buffers.  0; -EAGAIN: too few buffers now,
 * none is used; -EMSGSIZE: the guest's next buffers are too small, as many as a
 * frame may have; -EIO: the ring is broken.
 */
static int put_frame(struct vhost_port *p, const struct iovec *iov, int n)
{
	struct snic_vring *rx = &p->dev.rings[VHOST_RX];
	bool merge = p->dev.features & (1ull << VIRTIO_NET_F_MRG_RXBUF);
	static const uint8_t zero[MAX_HEADER];
	struct iovec whole[SNIC_NET_IOV + 2];
	struct cursor src = { .iov = whole, .n = n + 1 };
	struct snic_vchain *first = &p->chain, *c = first;
	uint16_t used = 0, before = rx->next_used;
	int ret;

	whole[0].iov_base = (void *)zero;
	whole[0].iov_len = snic_vhost_header(&p->dev);
	memcpy(&whole[1], iov, n * sizeof(*iov));
	do {
		ret = snic_vring_take(rx, &p->dev.mem, true, c);
		if (ret < 0)
			return ret;
		if (!ret) {
			ret = -EAGAIN;
			goto untake;
		}
		used++;
		snic_vring_put(rx, c->head, chain_fill(c, &src));
		c = &p->more;
	} while (src.n && merge && used < PUT_MAX);
	ret = src.n || first->len < MAX_HEADER ? -EMSGSIZE : 0;
	if (ret)
		goto untake;
	if (merge)
		set_num_buffers(first, used);
	snic_vring_show(rx);
	return 0;

untake:
	snic_vring_untake(rx, used);
	rx->next_used = before;
	return ret;
}

/* Delivers kept frames while the guest has buffers.  If it leaves some for which there
 * are buffers, doze() finds them. */
static void put_kept(struct vhost_port *p)
{
	unsigned int left = KEPT_MAX;
	const void *frame;
	struct iovec iov;
	int len;

	while (left-- && (len = snic_frame_queue_first(&p->kept, &frame)) >= 0) {
		iov.iov_base = (void *)frame;
		iov.iov_len = len;
		if (put_frame(p, &iov, 1) == -EAGAIN)
			break;
		snic_frame_queue_drop(&p->kept, len);	/* delivered, or lost */
	}
}

static int vhost_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct vhost_port *p = to_vhost(port);
	int ret = -EAGAIN;

	if (snic_iov_len(iov, n) > SNIC_FRAME_MAX)
		return -EMSGSIZE;
	if (!snic_vring_runs(&p->dev.rings[VHOST_RX]))
		return -ENOTCONN;
	if (snic_frame_queue_empty(&p->kept))
		ret = put_frame(p, iov, n);
	if (ret == -EAGAIN)
		ret = snic_frame_queue_add(&p->kept, iov, n);
	return ret ? ret : 1;
}

/* Never -EAGAIN: if frames are left, the guest's kick wakes the NIC. */
static int vhost_flush(struct snic_port *port)
{
	struct vhost_port *p = to_vhost(port);
	struct snic_vring *rx = &p->dev.rings[VHOST_RX];

	if (!snic_vring_runs(rx))
		return 0;
	put_kept(p);
	snic_vring_notify(rx);
	return 0;
}

/* ---- the monitor ------------------------------------------------------------- */

static void fd_watch(struct vhost_port *p, int op, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	/* epoll_ctl() fails if the kernel is out of memory: read the socket
	 * after LOOKS polls. */
	if (epoll_ctl(p->port.fd, op, fd, &e))
		p->looks = LOOKS;
}

/* Call before a message that may close the descriptors, and watch_kicks() after
 * it. */
static void unwatch_kicks(struct vhost_port *p)
{
	unsigned int i;

	for (i = 0; i < VHOST_QUEUES; i++)
		if (p->kicks[i] >= 0)
			fd_watch(p, EPOLL_CTL_DEL, p->kicks[i]);
}

static void watch_kicks(struct vhost_port *p)
{
	unsigned int i;

	for (i = 0; i < VHOST_QUEUES; i++) {
		p->kicks[i] = p->dev.rings[i].kick_fd;
		if (p->kicks[i] >= 0)
			fd_watch(p, EPOLL_CTL_ADD, p->kicks[i]);
	}
}

static void forget_message(struct vhost_port *p)
{
	p->msg_len = 0;
	p->nr_fds = 0;
	memset(&p->msg, 0, sizeof(p->msg));
}

static void peer_hang_up(struct vhost_port *p)
{
	unsigned int i;

	if (p->conn_fd < 0)
		return;
	unwatch_kicks(p);
	own_fd_close(p->conn_fd);
	p->conn_fd = -1;
	for (i = 0; i < p->nr_fds; i++)
		own_fd_close(p->fds[i]);
	forget_message(p);
	snic_vhost_clear(&p->dev);
	watch_kicks(p);
	snic_frame_queue_clear(&p->kept);
	fd_watch(p, EPOLL_CTL_ADD, p->listen_fd);
}

static void peer_accept(struct vhost_port *p)
{
	int fd = own_fd(accept4(p->listen_fd, NULL, NULL, SOCK_NONBLOCK));

	if (fd < 0)
		return;
	p->conn_fd = fd;
	fd_watch(p, EPOLL_CTL_DEL, p->listen_fd);
	fd_watch(p, EPOLL_CTL_ADD, fd);
}

/* Collects the descriptors of a message; those that do not fit are closed. */
static void collect_fds(struct vhost_port *p, struct msghdr *mh)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			fd = own_fd(fd);
			if (p->nr_fds < VHOST_MAX_FDS)
				p->fds[p->nr_fds++] = fd;
			else
				own_fd_close(fd);
		}
	}
}

/* Receives up to `want` bytes of the message: their number; 0: none now;
 * -errno: the monitor has gone. */
static ssize_t socket_receive(struct vhost_port *p, size_t want)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(VHOST_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { (uint8_t *)&p->msg + p->msg_len, want };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n = recvmsg(p->conn_fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ENOTCONN;
	collect_fds(p, &mh);
	if (mh.msg_flags & MSG_CTRUNC)
		return -EPROTO;
	p->msg_len += n;
	return n;
}

/* 1: the message is complete; 0: not yet; -errno. */
static int receive_message(struct vhost_port *p)
{
	size_t head = sizeof(p->msg.head), whole = head;
	ssize_t n;

	for (;;) {
		if (p->msg_len >= head) {
			if (p->msg.head.size > sizeof(p->msg.payload))
				return -EPROTO;
			whole = head + p->msg.head.size;
			if (p->msg_len == whole)
				return 1;
		}
		n = socket_receive(p, whole - p->msg_len);
		if (n <= 0)
			return n;
	}
}

static int message_answer(struct vhost_port *p)
{
	size_t len = sizeof(p->msg.head) + p->msg.head.size;
	ssize_t n;

	/* An answer is short, and the monitor waits for it: it always fits the
	 * socket. */
	n = send(p->conn_fd, &p->msg, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == (ssize_t)len ? 0 : -EPROTO;
}

/* Serves at most MESSAGES_MAX messages; peek() serves the others. */
static int messages_serve(struct vhost_port *p)
{
	unsigned int left = MESSAGES_MAX;
	int ret = 0;

	while (left && (ret = receive_message(p)) > 0) {
		left--;
		unwatch_kicks(p);
		ret = snic_vhost_message(&p->dev, &p->msg, p->fds, p->nr_fds);
		watch_kicks(p);
		if (ret > 0)
			ret = message_answer(p);
		forget_message(p);
		if (ret < 0)
			break;
	}
	if (!left)
		p->looks = LOOKS;
	return ret;
}

/* Clears the kicks; the caller looks at the rings next. */
static void forget_kicks(struct vhost_port *p)
{
	uint64_t n;
	unsigned int i;

	for (i = 0; i < VHOST_QUEUES; i++)
		if (p->kicks[i] >= 0 && read(p->kicks[i], &n, sizeof(n)) < 0)
			continue;	/* no kick */
}

/* Accepts a monitor and handles its messages. */
static void read_messages(struct vhost_port *p)
{
	p->looks = 0;
	forget_kicks(p);
	if (p->conn_fd < 0)
		peer_accept(p);
	if (p->conn_fd >= 0 && messages_serve(p) < 0)
		peer_hang_up(p);
}

static void want_kicks(struct vhost_port *p, bool on, bool *ret_work)
{
	struct snic_vring *rx = &p->dev.rings[VHOST_RX];
	struct snic_vring *tx = &p->dev.rings[VHOST_TX];

	*ret_work = false;
	if (snic_vring_runs(tx))
		*ret_work |= snic_vring_want_kick(tx, on);
	/* New buffers matter only if frames are kept for them. */
	if (snic_vring_runs(rx) && (!on || !snic_frame_queue_empty(&p->kept)))
		*ret_work |= snic_vring_want_kick(rx, on);
}

static bool vhost_doze(struct snic_port *port)
{
	struct vhost_port *p = to_vhost(port);
	bool work;

	p->dozing = true;
	want_kicks(p, true, &work);
	return work;
}

static int vhost_peek(struct snic_port *port, const void **ret_frame)
{
	struct vhost_port *p = to_vhost(port);
	bool woken = p->dozing, work;
	int ret;

	if (woken || p->looks >= LOOKS)
		read_messages(p);
	if (woken)
		want_kicks(p, false, &work);
	p->dozing = false;
	if (!snic_frame_queue_empty(&p->kept))
		vhost_flush(port);
	ret = take_frame(p, ret_frame);
	if (ret <= 0) {
		p->looks++;
		snic_vring_notify(&p->dev.rings[VHOST_TX]);
	}
	return ret;
}

/* ---- set-up and tear-down ---------------------------------------------------- */

static void vhost_close(struct snic_port *port)
{
	struct vhost_port *p = to_vhost(port);

	peer_hang_up(p);
	own_fd_close(p->listen_fd);
	unlink(p->local.sun_path);
	own_fd_close(p->port.fd);
	snic_frame_queue_fini(&p->kept);
	free(p->rx_buf);
	free(p);
}

static const struct snic_port_ops vhost_ops = {
	.send = vhost_send,
	.peek = vhost_peek,
	.flush = vhost_flush,
	.doze = vhost_doze,
	.close = vhost_close,
};

int snic_port_vhost_open(const char *path, struct snic_port **ret_port)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct vhost_port *p;
	int ret;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->port.ops = &vhost_ops;
	p->conn_fd = -1;
	p->kicks[VHOST_RX] = p->kicks[VHOST_TX] = -1;
	p->dozing = true;	/* accept a monitor in the first peek() */
	snic_vhost_init(&p->dev);
	ret = snic_unix_path(path, &p->local);
	if (ret)
		goto free_port;
	p->rx_buf = malloc(SNIC_FRAME_MAX);
	ret = p->rx_buf ? snic_frame_queue_init(&p->kept, KEPT_LEN) : -ENOMEM;
	if (!ret)
		ret = snic_unix_listen(&p->local, &p->listen_fd);
	if (ret)
		goto free_port;
	p->port.fd = own_fd(epoll_create1(0));
	if (p->port.fd < 0) {
		ret = p->port.fd;
		goto close_listen;
	}
	if (epoll_ctl(p->port.fd, EPOLL_CTL_ADD, p->listen_fd, &e)) {
		ret = -errno;
		goto close_epoll;
	}
	*ret_port = &p->port;
	return 0;

close_epoll:
	own_fd_close(p->port.fd);
close_listen:
	own_fd_close(p->listen_fd);
	unlink(p->local.sun_path);
free_port:
	free(p->rx_buf);
	snic_frame_queue_fini(&p->kept);
	free(p);
	return ret;
}
