/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A port on a host interface: a packet socket that receives all its frames.
 * The interface is promiscuous, because the NIC's MAC is not the interface's.
 * Needs CAP_NET_RAW.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../net/frame.h"
#include "../../own/own.h"

#define RX_BATCH	16
#define SOCKET_BUF	(4 << 20)

struct packet_port {
	struct snic_port port;
	struct mmsghdr rx_hdr[RX_BATCH];
	struct iovec rx_iov[RX_BATCH];
	struct sockaddr_ll rx_from[RX_BATCH];
	unsigned int rx_next, rx_count;
	uint8_t *rx_buf;
};

static struct packet_port *to_packet(struct snic_port *port)
{
	return (struct packet_port *)port;
}

static int packet_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };

	if (sendmsg(port->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == ENOBUFS ? -EAGAIN : -errno;
}

static int receive_batch(struct packet_port *p)
{
	unsigned int i;
	int n;

	for (i = 0; i < RX_BATCH; i++)
		p->rx_hdr[i].msg_hdr.msg_namelen = sizeof(p->rx_from[i]);
	n = recvmmsg(p->port.fd, p->rx_hdr, RX_BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	p->rx_next = 0;
	p->rx_count = n;
	return n;
}

static int packet_peek(struct snic_port *port, const void **ret_frame)
{
	struct packet_port *p = to_packet(port);
	unsigned int i;
	int ret;

	for (;;) {
		if (p->rx_next == p->rx_count) {
			ret = receive_batch(p);
			if (ret <= 0)
				return ret;
		}
		i = p->rx_next++;
		/* Skip frames that this port and the host have sent. */
		if (p->rx_from[i].sll_pkttype == PACKET_OUTGOING ||
		    !p->rx_hdr[i].msg_len)
			continue;
		*ret_frame = p->rx_iov[i].iov_base;
		return p->rx_hdr[i].msg_len;
	}
}

static void packet_close(struct snic_port *port)
{
	struct packet_port *p = to_packet(port);

	own_fd_close(port->fd);
	free(p->rx_buf);
	free(p);
}

static const struct snic_port_ops packet_ops = {
	.send = packet_send,
	.shared = true,
	.peek = packet_peek,
	.close = packet_close,
};

static int open_socket(unsigned int ifindex, int *ret_fd)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};
	struct packet_mreq mreq = {
		.mr_ifindex = ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	int size = SOCKET_BUF, one = 1, fd, ret;

	/* Protocol 0: no frames arrive before bind() has set the interface. */
	fd = own_fd(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	/* Saves receiving outgoing frames; packet_peek() skips them on kernels
	 * without it. */
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq,
		       sizeof(mreq))) {
		ret = -errno;
		own_fd_close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

int snic_port_packet_open(const char *ifname, struct snic_port **ret_port)
{
	struct packet_port *p;
	unsigned int ifindex, i;
	int ret;

	if (!ifname || !*ifname)
		return -EINVAL;
	if (strlen(ifname) >= IF_NAMESIZE)
		return -ENAMETOOLONG;
	ifindex = if_nametoindex(ifname);
	if (!ifindex)
		return -ENODEV;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->port.ops = &packet_ops;
	p->rx_buf = malloc((size_t)RX_BATCH * SNIC_FRAME_MAX);
	if (!p->rx_buf) {
		ret = -ENOMEM;
		goto free_port;
	}
	for (i = 0; i < RX_BATCH; i++) {
		p->rx_iov[i].iov_base = p->rx_buf + (size_t)i * SNIC_FRAME_MAX;
		p->rx_iov[i].iov_len = SNIC_FRAME_MAX;
		p->rx_hdr[i].msg_hdr.msg_iov = &p->rx_iov[i];
		p->rx_hdr[i].msg_hdr.msg_iovlen = 1;
		p->rx_hdr[i].msg_hdr.msg_name = &p->rx_from[i];
	}
	ret = open_socket(ifindex, &p->port.fd);
	if (ret)
		goto free_port;
	*ret_port = &p->port;
	return 0;

free_port:
	free(p->rx_buf);
	free(p);
	return ret;
}
