// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port on an AF_UNIX stream socket; each frame follows its length (32 bits,
 * big endian): the peer of QEMU's "-netdev stream,addr.type=unix,...".
 *
 * The port listens.  One peer at a time is connected; the next one is accepted
 * when it has gone.  Without a peer frames are lost, as on an unplugged cable.
 *
 * A stream saves most of the system calls that datagrams cost on both sides:
 * flush() writes collected frames together at the end of a step, and one read
 * receives many frames.  There is no short queue that could overflow, either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../../own/own.h"
#include "frame_queue.h"
#include "../net/frame.h"
#include "unix_path.h"

#define RX_LEN		(256u << 10)
#define TX_LEN		(4u << 20)
#define SOCKET_BUF	(4 << 20)

_Static_assert(RX_LEN >= SNIC_FRAME_HEAD + SNIC_FRAME_MAX, "a frame fits");

struct stream_port {
	struct snic_port port;	/* fd: the peer's socket, or listen_fd */
	struct sockaddr_un local;
	int listen_fd;
	struct snic_frame_queue rx, tx;
};

static struct stream_port *to_stream(struct snic_port *port)
{
	return (struct stream_port *)port;
}

static bool peer_connected(const struct stream_port *s)
{
	return s->port.fd != s->listen_fd;
}

static void peer_hang_up(struct stream_port *s)
{
	own_fd_close(s->port.fd);
	s->port.fd = s->listen_fd;
	snic_frame_queue_clear(&s->rx);
	snic_frame_queue_clear(&s->tx);
}

/* 0: a peer is connected; -EAGAIN: no connection request. */
static int peer_accept(struct stream_port *s)
{
	int size = SOCKET_BUF;
	int fd = own_fd(accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK));

	if (fd < 0)
		return fd;
	/* The system may allow less: a smaller buffer only causes waits. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	s->port.fd = fd;
	return 0;
}

static int stream_flush(struct snic_port *port)
{
	struct stream_port *s = to_stream(port);
	ssize_t n;

	while (s->tx.head != s->tx.tail) {
		n = send(s->port.fd, s->tx.buf + s->tx.head,
			 s->tx.tail - s->tx.head, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
			return -EAGAIN;
		if (n < 0) {
			peer_hang_up(s);
			return 0;
		}
		s->tx.head += n;
	}
	return 0;
}

static int stream_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct stream_port *s = to_stream(port);
	int ret;

	if (snic_iov_len(iov, n) > SNIC_FRAME_MAX)
		return -EMSGSIZE;
	if (!peer_connected(s))
		return -ENOTCONN;
	ret = snic_frame_queue_add(&s->tx, iov, n);
	return ret ? ret : 1;
}

/* Returns the length of the next complete frame that was read, or 0. */
static int next_frame(struct stream_port *s, const void **ret_frame)
{
	int len;

	do {
		len = snic_frame_queue_first(&s->rx, ret_frame);
		if (len < 0)
			return len == -EAGAIN ? 0 : len;
		snic_frame_queue_drop(&s->rx, len);
	} while (!len);
	return len;
}

/*
 * Reads from the peer: number of bytes; 0: none now; -errno: the peer has gone.
 */
static int read_more(struct stream_port *s)
{
	struct snic_frame_queue *q = &s->rx;
	ssize_t n;

	/* There is always room: the queue holds at most an incomplete frame. */
	snic_frame_queue_room(q, SNIC_FRAME_HEAD + SNIC_FRAME_MAX);
	n = recv(s->port.fd, q->buf + q->tail, q->len - q->tail, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ENOTCONN;
	q->tail += n;
	return n;
}

static int stream_peek(struct snic_port *port, const void **ret_frame)
{
	struct stream_port *s = to_stream(port);
	int len;

	if (!peer_connected(s)) {
		len = peer_accept(s);
		if (len)
			return len == -EAGAIN || len == -EINTR ||
			       len == -ECONNABORTED ? 0 : len;
	}
	/* One read: a peer that sends empty frames as fast as they are read cannot
	 * keep the NIC's thread from other ports.  No complete frame is left here
	 * then, so the socket wakes the NIC for the rest. */
	len = next_frame(s, ret_frame);
	if (!len)
		len = read_more(s);
	else if (len > 0)
		return len;
	if (len > 0)
		len = next_frame(s, ret_frame);
	if (len > 0)
		return len;
	/* After an invalid length the next frame cannot be found: close the
	 * connection. */
	if (len < 0)
		peer_hang_up(s);
	return 0;
}

static void stream_close(struct snic_port *port)
{
	struct stream_port *s = to_stream(port);

	if (peer_connected(s))
		own_fd_close(s->port.fd);
	own_fd_close(s->listen_fd);
	unlink(s->local.sun_path);
	snic_frame_queue_fini(&s->rx);
	snic_frame_queue_fini(&s->tx);
	free(s);
}

static const struct snic_port_ops stream_ops = {
	.send = stream_send,
	.peek = stream_peek,
	.flush = stream_flush,
	.close = stream_close,
};

int snic_port_stream_open(const char *path, struct snic_port **ret_port)
{
	struct stream_port *s;
	int ret;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->port.ops = &stream_ops;
	ret = snic_unix_path(path, &s->local);
	if (ret)
		goto free_port;
	ret = snic_frame_queue_init(&s->rx, RX_LEN);
	if (!ret)
		ret = snic_frame_queue_init(&s->tx, TX_LEN);
	if (!ret)
		ret = snic_unix_listen(&s->local, &s->listen_fd);
	if (ret)
		goto free_port;
	s->port.fd = s->listen_fd;
	*ret_port = &s->port;
	return 0;

free_port:
	snic_frame_queue_fini(&s->rx);
	snic_frame_queue_fini(&s->tx);
	free(s);
	return ret;
}
