/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A port on AF_UNIX datagram sockets, one frame per datagram: the peer of
 * QEMU's "-netdev dgram,local.type=unix,...,remote.type=unix,...".
 *
 * There are two sockets.  One is bound to the local path and receives from any
 * sender.  The other is connected to the remote path, which saves a path lookup
 * per frame.  (A single connected socket would refuse a restarted peer.)  While
 * there is no peer, frames for it are lost, as on an unplugged cable.
 *
 * A receiver's queue is short (net.unix.max_dgram_qlen, 10 by default), shorter
 * than a burst of answers.  So frames that find it full are kept in a ring and
 * sent by flush(), in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../net/frame.h"
#include "../../own/own.h"
#include "unix_path.h"

#define RX_BATCH	16
#define TX_RING		512		/* power of two */
#define TX_SLOT		SNIC_FRAME_MAX
#define SOCKET_BUF	(4 << 20)

struct dgram_port {
	struct snic_port port;
	struct sockaddr_un local, remote;
	int tx_fd;
	bool connected;
	struct mmsghdr rx_hdr[RX_BATCH];
	struct iovec rx_iov[RX_BATCH];
	unsigned int rx_next, rx_count;
	uint8_t *rx_buf;
	uint8_t *tx_buf;
	uint32_t tx_len[TX_RING];
	unsigned int tx_head, tx_tail;		/* cyclic; slot: modulo TX_RING */
};

static struct dgram_port *to_dgram(struct snic_port *port)
{
	return (struct dgram_port *)port;
}

static uint8_t *tx_slot(struct dgram_port *d, unsigned int i)
{
	return d->tx_buf + (size_t)(i % TX_RING) * TX_SLOT;
}

static bool peer_is_gone(int err)
{
	return err == ECONNREFUSED || err == ENOTCONN || err == ENOENT ||
	       err == ECONNRESET || err == EPIPE || err == EDESTADDRREQ;
}

/* Connects to the peer's socket, again after the peer has restarted. */
static int connect_peer(struct dgram_port *d)
{
	if (connect(d->tx_fd, (struct sockaddr *)&d->remote,
		    sizeof(d->remote)))
		return -errno;
	d->connected = true;
	return 0;
}

/* 0; -EAGAIN: the peer's queue is full; other -errno: there is no peer. */
static int send_now(struct dgram_port *d, const struct iovec *iov, int n)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	int tries, ret;

	for (tries = 0; tries < 2; tries++) {
		if (!d->connected) {
			ret = connect_peer(d);
			if (ret)
				return ret;
		}
		if (sendmsg(d->tx_fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno == EAGAIN || errno == ENOBUFS)
			return -EAGAIN;
		if (!peer_is_gone(errno))
			return -errno;
		d->connected = false;
	}
	return -ENOTCONN;
}

static int dgram_flush(struct snic_port *port)
{
	struct dgram_port *d = to_dgram(port);
	struct iovec iov;
	int ret;

	while (d->tx_head != d->tx_tail) {
		iov.iov_base = tx_slot(d, d->tx_head);
		iov.iov_len = d->tx_len[d->tx_head % TX_RING];
		ret = send_now(d, &iov, 1);
		if (ret == -EAGAIN)
			return ret;
		d->tx_head++;		/* sent, or there is no peer */
	}
	return 0;
}

static int dgram_keep(struct dgram_port *d, const struct iovec *iov, int n)
{
	uint8_t *p = tx_slot(d, d->tx_tail);
	int i;

	if (d->tx_tail - d->tx_head == TX_RING)
		return -EAGAIN;
	if (snic_iov_len(iov, n) > TX_SLOT)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		memcpy(p, iov[i].iov_base, iov[i].iov_len);
		p += iov[i].iov_len;
	}
	d->tx_len[d->tx_tail % TX_RING] = snic_iov_len(iov, n);
	d->tx_tail++;
	return 1;
}

static int dgram_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct dgram_port *d = to_dgram(port);
	int ret;

	if (d->tx_head != d->tx_tail)
		return dgram_keep(d, iov, n);
	ret = send_now(d, iov, n);
	return ret == -EAGAIN ? dgram_keep(d, iov, n) : ret;
}

static int dgram_peek(struct snic_port *port, const void **ret_frame)
{
	struct dgram_port *d = to_dgram(port);
	unsigned int i;
	int n;

	if (d->rx_next == d->rx_count) {
		n = recvmmsg(port->fd, d->rx_hdr, RX_BATCH, MSG_DONTWAIT, NULL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		d->rx_next = 0;
		d->rx_count = n;
	}
	while (d->rx_next != d->rx_count) {
		i = d->rx_next++;
		/* A datagram without bytes is not a frame. */
		if (!d->rx_hdr[i].msg_len)
			continue;
		*ret_frame = d->rx_iov[i].iov_base;
		return d->rx_hdr[i].msg_len;
	}
	return 0;
}

static void dgram_close(struct snic_port *port)
{
	struct dgram_port *d = to_dgram(port);

	own_fd_close(port->fd);
	own_fd_close(d->tx_fd);
	unlink(d->local.sun_path);
	free(d->rx_buf);
	free(d->tx_buf);
	free(d);
}

static const struct snic_port_ops dgram_ops = {
	.send = dgram_send,
	.shared = true,
	.peek = dgram_peek,
	.flush = dgram_flush,
	.close = dgram_close,
};

static int open_socket(int *ret_fd)
{
	int size = SOCKET_BUF;

	*ret_fd = own_fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
	if (*ret_fd < 0)
		return *ret_fd;
	/* The system may allow less: a smaller buffer only costs frames. */
	setsockopt(*ret_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(*ret_fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return 0;
}

static void set_up_ring(struct dgram_port *d)
{
	unsigned int i;

	for (i = 0; i < RX_BATCH; i++) {
		d->rx_iov[i].iov_base = d->rx_buf + (size_t)i * SNIC_FRAME_MAX;
		d->rx_iov[i].iov_len = SNIC_FRAME_MAX;
		d->rx_hdr[i].msg_hdr.msg_iov = &d->rx_iov[i];
		d->rx_hdr[i].msg_hdr.msg_iovlen = 1;
	}
}

int snic_port_dgram_open(const char *local, const char *remote,
			 struct snic_port **ret_port)
{
	struct dgram_port *d;
	int ret;

	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->port.ops = &dgram_ops;
	ret = snic_unix_path(local, &d->local);
	if (!ret)
		ret = snic_unix_path(remote, &d->remote);
	if (!ret && !strcmp(local, remote))
		ret = -EINVAL;
	if (ret)
		goto free_port;
	d->rx_buf = malloc((size_t)RX_BATCH * SNIC_FRAME_MAX);
	d->tx_buf = malloc((size_t)TX_RING * TX_SLOT);	/* unused pages take no memory */
	if (!d->rx_buf || !d->tx_buf) {
		ret = -ENOMEM;
		goto free_port;
	}
	set_up_ring(d);
	ret = snic_unix_unlink_stale(&d->local, SOCK_DGRAM);
	if (ret)
		goto free_port;
	ret = open_socket(&d->port.fd);
	if (ret)
		goto free_port;
	ret = open_socket(&d->tx_fd);
	if (ret)
		goto close_rx;
	if (bind(d->port.fd, (struct sockaddr *)&d->local, sizeof(d->local))) {
		ret = -errno;
		goto close_tx;
	}
	*ret_port = &d->port;
	return 0;

close_tx:
	own_fd_close(d->tx_fd);
close_rx:
	own_fd_close(d->port.fd);
free_port:
	free(d->rx_buf);
	free(d->tx_buf);
	free(d);
	return ret;
}
