/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A port on a UDP socket, one frame per datagram behind a VXLAN header (RFC
 * 7348): a cable between two hosts that needs neither privileges nor an
 * interface.  The peer is another such port, or a host's VXLAN device with the
 * number SNIC_UDP_VNI.
 *
 * With a fixed peer the socket is connected, so that the kernel drops datagrams
 * of others.  While there is no peer, frames for it are lost, as on an
 * unplugged cable.  Without a fixed peer, each sender of frames becomes a peer
 * of the port, and net/peers.c has the list of them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../net/frame.h"
#include "../../own/own.h"

#define RX_BATCH	16
#define RX_SLOT		(SNIC_FRAME_MAX + sizeof(struct vxlan))
#define SOCKET_BUF	(4 << 20)

struct vxlan {
	uint8_t flags;
	uint8_t resv0[3];
	uint8_t vni[3];
	uint8_t resv1;
};

#define VXLAN_HAS_VNI	0x08

static const struct vxlan header = {
	.flags = VXLAN_HAS_VNI,
	.vni = { SNIC_UDP_VNI >> 16, SNIC_UDP_VNI >> 8 & 0xff, SNIC_UDP_VNI & 0xff },
};

struct udp_port {
	struct snic_port port;
	struct mmsghdr rx_hdr[RX_BATCH];
	struct iovec rx_iov[RX_BATCH];
	struct sockaddr_in rx_from[RX_BATCH];	/* without a fixed peer */
	unsigned int rx_next, rx_count;
	uint8_t *rx_buf;
};

static struct udp_port *to_udp(struct snic_port *port)
{
	return (struct udp_port *)port;
}

/* An ICMP error says that the peer cannot be reached; the socket reports it
 * once. */
static bool is_unplugged(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EHOSTDOWN;
}

/* to: NULL if the socket is connected. */
static int frame_send(struct snic_port *port, struct sockaddr_in *to,
		      const struct iovec *iov, int n)
{
	struct iovec all[SNIC_NET_IOV + 1];
	struct msghdr msg = {
		.msg_iov = all,
		.msg_name = to, .msg_namelen = to ? sizeof(*to) : 0,
	};
	int tries;

	all[0].iov_base = (void *)&header;
	all[0].iov_len = sizeof(header);
	msg.msg_iovlen = 1 + snic_iov_copy(all + 1, iov, n);
	for (tries = 0; tries < 2; tries++) {
		if (sendmsg(port->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (!is_unplugged(errno))
			return errno == ENOBUFS ? -EAGAIN : -errno;
	}
	return -ENOTCONN;
}

static int udp_send(struct snic_port *port, const struct iovec *iov, int n)
{
	return frame_send(port, NULL, iov, n);
}

static struct sockaddr_in sockaddr_of(const struct snic_udp_addr *addr)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_addr.s_addr = addr->ip, .sin_port = htons(addr->port),
	};
}

static int udp_send_to(struct snic_port *port, const struct snic_udp_addr *peer,
		       const struct iovec *iov, int n)
{
	struct sockaddr_in to = sockaddr_of(peer);

	return frame_send(port, &to, iov, n);
}

/* Receives a batch.  1: there is one; 0: none; -errno. */
static int udp_batch(struct udp_port *u)
{
	int n, tries;

	for (tries = 0; tries < 2; tries++) {
		n = recvmmsg(u->port.fd, u->rx_hdr, RX_BATCH, MSG_DONTWAIT, NULL);
		if (n >= 0 || !is_unplugged(errno))
			break;
	}
	if (n < 0)
		return errno == EAGAIN || errno == EINTR || is_unplugged(errno) ?
		       0 : -errno;
	u->rx_next = 0;
	u->rx_count = n;
	return n > 0;
}

static int udp_peek(struct snic_port *port, const void **ret_frame)
{
	struct udp_port *u = to_udp(port);
	int err = u->rx_next == u->rx_count ? udp_batch(u) : 1;

	if (err <= 0)
		return err;
	while (u->rx_next != u->rx_count) {
		unsigned int i = u->rx_next++, len = u->rx_hdr[i].msg_len;
		const uint8_t *got = u->rx_iov[i].iov_base;

		if (len <= sizeof(header) || memcmp(got, &header, sizeof(header)))
			continue;
		*ret_frame = got + sizeof(header);
		return len - sizeof(header);
	}
	return 0;
}

/* The sender of the frame that udp_peek() has just returned. */
static void udp_sender(struct snic_port *port, struct snic_udp_addr *ret_peer)
{
	const struct udp_port *u = to_udp(port);
	const struct sockaddr_in *from = &u->rx_from[u->rx_next - 1];

	*ret_peer = (struct snic_udp_addr) {
		.ip = from->sin_addr.s_addr, .port = ntohs(from->sin_port),
	};
}

static void udp_close(struct snic_port *port)
{
	struct udp_port *u = to_udp(port);

	own_fd_close(port->fd);
	free(u->rx_buf);
	free(u);
}

static const struct snic_port_ops udp_ops = {
	.send = udp_send,
	.shared = true,
	.peek = udp_peek,
	.close = udp_close,
};

static const struct snic_port_ops udp_listen_ops = {
	.send_to = udp_send_to,
	.shared = true,
	.sender = udp_sender,
	.peek = udp_peek,
	.close = udp_close,
};

static int socket_connect(int fd, const struct snic_udp_addr *remote)
{
	const struct sockaddr_in to = sockaddr_of(remote);

	return connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

/* remote: NULL if there is no fixed peer. */
static int open_socket(const struct snic_udp_addr *local,
		       const struct snic_udp_addr *remote, int *ret_fd)
{
	const struct sockaddr_in from = sockaddr_of(local);
	int fd = own_fd(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
	int size = SOCKET_BUF, err;

	if (fd < 0)
		return fd;
	/* The system may allow less: a smaller buffer only costs frames. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (const struct sockaddr *)&from, sizeof(from)) ||
	    (remote && socket_connect(fd, remote))) {
		err = -errno;
		own_fd_close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static void set_up_ring(struct udp_port *u)
{
	unsigned int i;

	for (i = 0; i < RX_BATCH; i++) {
		u->rx_iov[i].iov_base = u->rx_buf + i * RX_SLOT;
		u->rx_iov[i].iov_len = RX_SLOT;
		u->rx_hdr[i].msg_hdr.msg_iov = &u->rx_iov[i];
		u->rx_hdr[i].msg_hdr.msg_iovlen = 1;
	}
}

/* Makes the kernel return the sender of each datagram. */
static void ring_take_names(struct udp_port *u)
{
	unsigned int i;

	for (i = 0; i < RX_BATCH; i++) {
		u->rx_hdr[i].msg_hdr.msg_name = &u->rx_from[i];
		u->rx_hdr[i].msg_hdr.msg_namelen = sizeof(u->rx_from[i]);
	}
}

static int port_open(const struct snic_udp_addr *local,
		     const struct snic_udp_addr *remote,
		     const struct snic_port_ops *ops, struct udp_port **ret_port)
{
	struct udp_port *u = calloc(1, sizeof(*u));
	int err = -ENOMEM;

	if (!u)
		return -ENOMEM;
	u->port.ops = ops;
	u->rx_buf = malloc(RX_BATCH * RX_SLOT);
	if (!u->rx_buf)
		goto free_port;
	err = open_socket(local, remote, &u->port.fd);
	if (err)
		goto free_port;
	set_up_ring(u);
	*ret_port = u;
	return 0;

free_port:
	free(u->rx_buf);
	free(u);
	return err;
}

int snic_port_udp_open(const struct snic_udp_addr *local,
		       const struct snic_udp_addr *remote,
		       struct snic_port **ret_port)
{
	struct udp_port *u;
	int err = port_open(local, remote, &udp_ops, &u);

	if (err)
		return err;
	*ret_port = &u->port;
	return 0;
}

int snic_port_udp_listen(const struct snic_udp_addr *local, struct snic_port **ret_port)
{
	struct udp_port *u;
	int err = port_open(local, NULL, &udp_listen_ops, &u);

	if (err)
		return err;
	ring_take_names(u);
	*ret_port = &u->port;
	return 0;
}
