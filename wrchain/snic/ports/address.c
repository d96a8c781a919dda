/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An address for a station that was given none, from the other end of its cable: a
 * port with several peers derives one from the peer's UDP address and its own
 * secret (net/peers.c), or says why the peer gets none.  The station asks by an ARP request from
 * 0.0.0.0 for 0.0.0.0, and meanwhile answers questions in the name of 0.0.0.0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "../net/frame.h"
#include "../net/pkt.h"

#define RETRY_MS	200

struct asker {
	struct snic_port *port;
	uint8_t mac[SNIC_ETH_ALEN];
};

static void asker_send(const struct asker *a, uint16_t oper, const uint8_t *to)
{
	uint8_t frame[SNIC_ARP_LEN];
	struct iovec iov = { frame, sizeof(frame) };

	snic_arp_put(frame, &(struct snic_arp_fields) {
		.oper = oper, .to = to, .mac = a->mac,
		.target_mac = oper == SNIC_ARP_REPLY ? to : NULL,
	});
	/* A lost frame is sent again. */
	a->port->ops->send(a->port, &iov, 1);
}

/* The address, or why there is none: 0 or -errno. */
static int answer_read(__be32 answer, __be32 *ret_ip)
{
	switch (ntohl(answer)) {
	case SNIC_NO_PLACE:
		return -EUSERS;
	case SNIC_NO_ADDRESS:
		return -EADDRNOTAVAIL;
	}
	*ret_ip = answer;
	return 0;
}

/* True: the frame is the answer; *ret_r: see answer_read(). */
static bool asker_hear(const struct asker *a, const uint8_t *frame, size_t len,
		       int *ret_r, __be32 *ret_ip)
{
	struct snic_arp_packet p;
	__be32 answer;

	if (len < SNIC_ARP_LEN || memcmp(frame, a->mac, SNIC_ETH_ALEN) ||
	    frame[12] != SNIC_ETHERTYPE_ARP >> 8 ||
	    frame[13] != (SNIC_ETHERTYPE_ARP & 0xff) ||
	    snic_arp_parse(frame + SNIC_ETH_HLEN, len - SNIC_ETH_HLEN, &p))
		return false;
	if (p.oper == SNIC_ARP_REQUEST) {
		asker_send(a, SNIC_ARP_REPLY, p.sha);
		return false;
	}
	memcpy(&answer, p.tpa, sizeof(answer));
	*ret_r = answer_read(answer, ret_ip);
	return answer;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* Hears frames until a time.  True: one was the answer. */
static bool asker_wait(const struct asker *a, uint64_t until, int *ret_r, __be32 *ret_ip)
{
	struct pollfd fd = { .fd = a->port->fd, .events = POLLIN };
	const void *frame;
	uint64_t now;
	int len;

	while ((now = now_ms()) < until) {
		while ((len = a->port->ops->peek(a->port, &frame)) > 0)
			if (asker_hear(a, frame, len, ret_r, ret_ip))
				return true;
		poll(&fd, 1, until - now);
	}
	return false;
}

int snic_port_ask_address(struct snic_port *port, unsigned int timeout_ms, __be32 *ret_ip)
{
	static const uint8_t all[SNIC_ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };
	uint64_t now = now_ms(), end = now + timeout_ms;
	struct asker a = { .port = port };
	int r;

	if (!port->ops->send || !port->ops->peek)
		return -EINVAL;
	if (getrandom(a.mac, sizeof(a.mac), 0) != sizeof(a.mac))
		return -EIO;
	a.mac[0] = (a.mac[0] & 0xfc) | 2;	/* of one station, locally chosen */
	for (; now < end; now = now_ms()) {
		uint64_t until = now + RETRY_MS < end ? now + RETRY_MS : end;

		asker_send(&a, SNIC_ARP_REQUEST, all);
		if (asker_wait(&a, until, &r, ret_ip))
			return r;
	}
	return -ETIMEDOUT;
}
