/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ethernet, IPv4, ICMP echo and UDP as far as a RoCEv2 peer needs them.  Frames
 * of other kinds are dropped and counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "net-priv.h"

#define FLUSH_RETRY_NS	20000ull
#define DONT_FRAGMENT	0x4000
#define FRAGMENT	0x3fff		/* more fragments, or an offset */
#define DEFAULT_TTL	64
#define PROTO_ICMP	1
#define PROTO_UDP	17
#define ICMP_ECHO	8
#define ICMP_HLEN	8

struct ip_header {
	uint8_t version_ihl, tos;
	__be16 total_len, id, frag;
	uint8_t ttl, proto;
	__be16 check;
	__be32 src, dst;
} __attribute__((packed));

struct udp_header {
	__be16 src, dst, len, check;
} __attribute__((packed));

_Static_assert(sizeof(struct ip_header) == SNIC_IP_HLEN, "IPv4 header");
_Static_assert(sizeof(struct udp_header) == SNIC_UDP_HLEN, "UDP header");

/* ---- set-up ------------------------------------------------------------- */

static void flush_timer(struct snic *nic, struct snic_timer *t)
{
	snic_net_flush(nic, snic_net_of(nic));
}

void snic_net_flush_later(struct snic *nic)
{
	struct snic_timer *t = &snic_net_of(nic)->flush_timer;

	if (t->when == SNIC_NEVER)
		snic_timer_set(nic, t, snic_now(nic) + FLUSH_RETRY_NS);
}

int snic_net_init(struct snic *nic, struct snic_net **ret_net)
{
	struct snic_net *net;
	int ret;

	net = calloc(1, sizeof(*net));
	if (!net)
		return -ENOMEM;
	net->secret[0] = snic_secret(nic);
	net->secret[1] = snic_secret(nic);
	snic_timer_init(&net->flush_timer, flush_timer);
	snic_timer_init(&net->sw.ask_timer, snic_switch_ask);
	net->rx_buf = malloc(SNIC_FRAME_MAX);
	net->tx_buf = malloc(SNIC_FRAME_MAX);
	if (!net->rx_buf || !net->tx_buf) {
		ret = -ENOMEM;
		goto free_net;
	}
	ret = snic_timer_reserve(nic, 2);
	if (ret)
		goto free_net;
	net->timers_reserved = true;
	ret = snic_switch_init(&net->sw);
	if (ret)
		goto free_net;
	ret = snic_arp_init(nic, &net->arp);
	if (ret)
		goto free_net;
	*ret_net = net;
	return 0;

free_net:
	snic_net_fini(nic, net);
	return ret;
}

void snic_net_fini(struct snic *nic, struct snic_net *net)
{
	if (!net)
		return;
	if (net->faults)
		snic_fault_free(nic, net->faults);
	snic_arp_fini(nic, &net->arp);
	snic_switch_fini(&net->sw);
	snic_net_flush(nic, net);	/* frames that ports keep */
	if (net->timers_reserved) {
		snic_timer_cancel(nic, &net->flush_timer);
		snic_timer_cancel(nic, &net->sw.ask_timer);
		snic_timer_unreserve(nic, 2);
	}
	free(net->rx_buf);
	free(net->tx_buf);
	free(net);
}

int snic_port_add(struct snic *nic, struct snic_port *port)
{
	if (!port || !port->ops || !port->ops->sender != !port->ops->send_to ||
	    (!port->ops->send && !port->ops->send_to) ||
	    (!port->ops->recv && !port->ops->peek))
		return -EINVAL;
	return snic_switch_add(&snic_net_of(nic)->sw, port);
}

unsigned int snic_net_fds(const struct snic_net *net, int *fds,
			  unsigned int max)
{
	unsigned int i;

	for (i = 0; i < net->sw.nr_ports && i < max; i++)
		fds[i] = net->sw.ports[i]->fd;
	return net->sw.nr_ports;
}

bool snic_net_fds_shared(const struct snic_net *net)
{
	unsigned int i;

	for (i = 0; i < net->sw.nr_ports && net->sw.ports[i]->ops->shared; i++)
		;
	return i == net->sw.nr_ports;
}

bool snic_net_doze(struct snic_net *net)
{
	struct snic_port *p;
	bool work = false;
	unsigned int i;

	for (i = 0; i < net->sw.nr_ports; i++) {
		p = net->sw.ports[i];
		work |= p->ops->doze && p->ops->doze(p);
	}
	return work;
}

uint16_t snic_net_path_mtu(struct snic *nic)
{
	uint32_t mtu = snic_config(nic)->mtu;
	uint16_t path = 4096;

	while (path > 256 && path + SNIC_PKT_OVERHEAD > mtu)
		path /= 2;
	return path;
}

/* ---- sending -------------------------------------------------------------- */

static uint16_t ip_checksum(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void put_ip(struct snic *nic, struct ip_header *ip, uint8_t proto,
		   __be32 dst, size_t payload)
{
	*ip = (struct ip_header) {
		.version_ihl = 0x45,
		.total_len = htons(SNIC_IP_HLEN + payload),
		.id = htons(snic_net_of(nic)->ip_id++),
		.frag = htons(DONT_FRAGMENT),
		.ttl = DEFAULT_TTL,
		.proto = proto,
		.src = snic_config(nic)->ip,
		.dst = dst,
	};
	ip->check = htons(ip_checksum(ip, sizeof(*ip)));
}

static void put_eth(struct snic *nic, uint8_t *eth, uint16_t type)
{
	memset(eth, 0, SNIC_ETH_ALEN);
	memcpy(eth + SNIC_ETH_ALEN, snic_config(nic)->mac, SNIC_ETH_ALEN);
	eth[12] = type >> 8;
	eth[13] = type & 0xff;
}

void snic_net_xmit(struct snic *nic, const struct iovec *iov, int n)
{
	struct snic_net *net = snic_net_of(nic);

	if (net->faults)
		snic_fault_xmit(nic, net->faults, iov, n);
	else
		snic_switch_send(nic, &net->sw, iov, n);
}

/* Fills in the MAC, or keeps the frame until the MAC is known. */
static int xmit_to(struct snic *nic, __be32 ip, const struct iovec *iov, int n)
{
	struct snic_net *net = snic_net_of(nic);
	int ret;

	ret = snic_arp_lookup(nic, &net->arp, ip, iov[0].iov_base);
	if (ret == -EAGAIN)
		return snic_arp_keep(nic, &net->arp, ip, iov, n);
	if (ret) {
		snic_stats(nic)->tx_dropped++;
		return ret;
	}
	snic_net_xmit(nic, iov, n);
	return 0;
}

int snic_net_send(struct snic *nic, __be32 dst_ip, uint16_t src_port,
		  const struct iovec *iov, int n)
{
	struct {
		uint8_t eth[SNIC_ETH_HLEN];
		struct ip_header ip;
		struct udp_header udp;
	} __attribute__((packed)) h;
	struct iovec out[SNIC_NET_IOV];
	uint8_t trailer[SNIC_ICRC_LEN];
	size_t len;

	if (n < 1 || n > SNIC_NET_IOV - 2)
		return -EINVAL;
	n = snic_iov_copy(out + 1, iov, n);
	len = snic_iov_len(out + 1, n) + SNIC_ICRC_LEN;
	if (SNIC_IP_HLEN + SNIC_UDP_HLEN + len > snic_config(nic)->mtu)
		return -EMSGSIZE;
	put_eth(nic, h.eth, SNIC_ETHERTYPE_IP);
	put_ip(nic, &h.ip, PROTO_UDP, dst_ip, SNIC_UDP_HLEN + len);
	h.udp = (struct udp_header) {
		.src = htons(src_port),
		.dst = htons(SNIC_ROCE_PORT),
		.len = htons(SNIC_UDP_HLEN + len),
	};
	out[0].iov_base = &h;
	out[0].iov_len = sizeof(h);
	snic_icrc_put(trailer, snic_icrc((uint8_t *)&h.ip, (uint8_t *)&h.udp,
					 out + 1, n));
	out[n + 1].iov_base = trailer;
	out[n + 1].iov_len = sizeof(trailer);
	return xmit_to(nic, dst_ip, out, n + 2);
}

int snic_net_resolve(struct snic *nic, __be32 ip)
{
	uint8_t mac[SNIC_ETH_ALEN];

	return snic_arp_lookup(nic, &snic_net_of(nic)->arp, ip, mac);
}

/* ---- receiving --------------------------------------------------------------- */

/* Handles a RoCEv2 packet: verifies its ICRC and finds its queue pair. */
static void roce_input(struct snic *nic, const uint8_t *frame,
		       const struct ip_header *ip, const uint8_t *udp,
		       size_t udp_len)
{
	struct snic_rx rx = {
		.src_ip = ip->src,
		.src_port = (uint16_t)(udp[0] << 8 | udp[1]),
		.bth = udp + SNIC_UDP_HLEN,
		.len = udp_len - SNIC_UDP_HLEN - SNIC_ICRC_LEN,
	};
	struct iovec iov = { .iov_base = (void *)rx.bth, .iov_len = rx.len };
	struct snic_net *net = snic_net_of(nic);
	struct snic_qp *qp;
	uint32_t qpn;

	if (snic_icrc((const uint8_t *)ip, udp, &iov, 1) !=
	    snic_icrc_get(rx.bth + rx.len)) {
		snic_stats(nic)->rx_bad_icrc++;
		return;
	}
	memcpy(rx.src_mac, frame + SNIC_ETH_ALEN, SNIC_ETH_ALEN);
	qpn = snic_bth_qpn(rx.bth);
	if (qpn == 1) {
		if (!snic_arp_heard(nic, &net->arp, ip->src, rx.src_mac))
			return;
		snic_stats(nic)->rx_cm++;
		snic_upper_of(nic)->cm_receive(nic, &rx);
		return;
	}
	qp = snic_qp_lookup(nic, qpn);
	if (!qp) {
		snic_stats(nic)->rx_no_qp++;
		return;
	}
	if (qp->state >= SNIC_QP_RTR && qp->conn.dest_ip == ip->src) {
		if (!snic_arp_heard(nic, &net->arp, ip->src, rx.src_mac))
			return;
		/* Data proves that the peer has received the REP. */
		if (qp->state == SNIC_QP_RTR)
			snic_upper_of(nic)->cm_data(qp);
	}
	snic_upper_of(nic)->rc_receive(qp, &rx);
}

static void udp_input(struct snic *nic, const uint8_t *frame,
		      const struct ip_header *ip, const uint8_t *udp,
		      size_t len)
{
	size_t udp_len;

	if (len < SNIC_UDP_HLEN)
		goto malformed;
	udp_len = (size_t)udp[4] << 8 | udp[5];
	if (udp_len < SNIC_UDP_HLEN || udp_len > len)
		goto malformed;
	if ((udp[2] << 8 | udp[3]) != SNIC_ROCE_PORT) {
		snic_stats(nic)->rx_other++;
		return;
	}
	if (udp_len < SNIC_UDP_HLEN + 12 + SNIC_ICRC_LEN)	/* 12: BTH */
		goto malformed;
	roce_input(nic, frame, ip, udp, udp_len);
	return;

malformed:
	snic_stats(nic)->rx_malformed++;
}

/* Answers an echo request, to the MAC that it came from. */
static void icmp_input(struct snic *nic, const uint8_t *frame,
		       const struct ip_header *ip, const uint8_t *icmp,
		       size_t len)
{
	struct snic_net *net = snic_net_of(nic);
	uint8_t *out = net->tx_buf, *body = out + SNIC_ETH_HLEN + SNIC_IP_HLEN;
	struct ip_header reply;
	struct iovec iov;
	uint16_t check;

	if (len < ICMP_HLEN) {
		snic_stats(nic)->rx_malformed++;
		return;
	}
	if (ip_checksum(icmp, len)) {
		snic_stats(nic)->rx_bad_checksum++;
		return;
	}
	snic_stats(nic)->rx_icmp++;
	if (icmp[0] != ICMP_ECHO || icmp[1] ||
	    SNIC_IP_HLEN + len > snic_config(nic)->mtu)
		return;
	put_eth(nic, out, SNIC_ETHERTYPE_IP);
	memcpy(out, frame + SNIC_ETH_ALEN, SNIC_ETH_ALEN);
	put_ip(nic, &reply, PROTO_ICMP, ip->src, len);
	memcpy(out + SNIC_ETH_HLEN, &reply, sizeof(reply));
	memcpy(body, icmp, len);
	memset(body, 0, 4);		/* type: echo reply; checksum */
	check = ip_checksum(body, len);
	body[2] = check >> 8;
	body[3] = check & 0xff;
	iov.iov_base = out;
	iov.iov_len = SNIC_ETH_HLEN + SNIC_IP_HLEN + len;
	snic_net_xmit(nic, &iov, 1);
}

static void ip_input(struct snic *nic, const uint8_t *frame, size_t len)
{
	const uint8_t *pkt = frame + SNIC_ETH_HLEN;
	struct ip_header ip;
	size_t total;

	len -= SNIC_ETH_HLEN;
	if (len < sizeof(ip))
		goto malformed;
	memcpy(&ip, pkt, sizeof(ip));
	total = ntohs(ip.total_len);
	/*
	 * Options would change what the ICRC covers; RoCEv2 senders use none.
	 */
	if (ip.version_ihl != 0x45 || total < sizeof(ip) || total > len)
		goto malformed;
	if (ip_checksum(pkt, sizeof(ip))) {
		snic_stats(nic)->rx_bad_checksum++;
		return;
	}
	if (ip.dst != snic_config(nic)->ip) {
		snic_stats(nic)->rx_not_for_us++;
		return;
	}
	if (ntohs(ip.frag) & FRAGMENT) {
		snic_stats(nic)->rx_fragments++;
		return;
	}
	if (ip.src == ip.dst || !ip.src || (ntohl(ip.src) >> 28) >= 0xe)
		goto malformed;
	pkt += sizeof(ip);
	total -= sizeof(ip);
	if (ip.proto == PROTO_UDP)
		udp_input(nic, frame, &ip, pkt, total);
	else if (ip.proto == PROTO_ICMP)
		icmp_input(nic, frame, &ip, pkt, total);
	else
		snic_stats(nic)->rx_other++;
	return;

malformed:
	snic_stats(nic)->rx_malformed++;
}

void snic_net_input(struct snic *nic, unsigned int place, const void *frame,
		    size_t len)
{
	struct snic_net *net = snic_net_of(nic);
	const uint8_t *p = frame;
	unsigned int type;

	if (len < SNIC_ETH_HLEN) {
		snic_stats(nic)->rx_malformed++;
		return;
	}
	type = p[12] << 8 | p[13];
	if (!snic_switch_learn(nic, &net->sw, place, p + SNIC_ETH_ALEN))
		return;
	if (type == SNIC_ETHERTYPE_ARP &&
	    !snic_arp_check(nic, &net->arp, p + SNIC_ETH_ALEN, p + SNIC_ETH_HLEN,
			    len - SNIC_ETH_HLEN))
		return;
	if (!snic_switch_forward(nic, &net->sw, place, frame, len))
		return;
	if (type == SNIC_ETHERTYPE_IP)
		ip_input(nic, p, len);
	else if (type == SNIC_ETHERTYPE_ARP)
		snic_arp_input(nic, &net->arp, p + SNIC_ETH_HLEN,
			       len - SNIC_ETH_HLEN);
	else
		snic_stats(nic)->rx_other++;
}

/* Receives one frame from a port.  False: there is none. */
static bool receive_one(struct snic *nic, struct snic_net *net, unsigned int i)
{
	struct snic_port *p = net->sw.ports[i];
	const void *frame = net->rx_buf;
	unsigned int place;
	int len;

	len = p->ops->peek ? p->ops->peek(p, &frame) :
		p->ops->recv(p, net->rx_buf, SNIC_FRAME_MAX);
	if (len <= 0) {
		if (len < 0 && !net->sw.dead[i])
			snic_stats(nic)->port_errors++;
		net->sw.dead[i] = len < 0;
		return false;
	}
	net->sw.dead[i] = false;
	snic_stats(nic)->rx_frames++;
	snic_stats(nic)->rx_bytes += len;
	if (!snic_switch_place(nic, &net->sw, i, frame, len, &place))
		return true;
	if (net->faults)
		snic_fault_input(nic, net->faults, place, frame, len);
	else
		snic_net_input(nic, place, frame, len);
	return true;
}

void snic_net_flush(struct snic *nic, struct snic_net *net)
{
	struct snic_port *p;
	bool more = false;
	unsigned int i;

	for (i = 0; i < net->sw.nr_ports; i++) {
		p = net->sw.ports[i];
		if (p->ops->flush && p->ops->flush(p) == -EAGAIN)
			more = true;
	}
	snic_timer_cancel(nic, &net->flush_timer);
	if (more)
		snic_net_flush_later(nic);
}

unsigned int snic_net_poll(struct snic *nic, struct snic_net *net,
			   unsigned int budget)
{
	unsigned int done = 0, idle = 0, nr = net->sw.nr_ports;

	/*
	 * Round robin, one frame at a time, until all ports are empty in a row.
	 */
	while (done < budget && idle < nr) {
		if (net->sw.next_poll >= nr)
			net->sw.next_poll = 0;
		if (receive_one(nic, net, net->sw.next_poll++)) {
			done++;
			idle = 0;
		} else {
			idle++;
		}
	}
	return done;
}
