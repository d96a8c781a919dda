/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IPv4 address resolution.  An entry is confirmed by an ARP message or by a
 * packet with a right ICRC.  When an entry has not been confirmed for a while,
 * this station asks for the address again and uses the entry meanwhile.
 * Packets for an unknown address wait in a bounded pool.
 *
 * No other station can take an address from its owner.  Packets from another
 * MAC are dropped, and the owner is asked whether it is still there.  Only if
 * the owner does not answer, the other MAC gets the address.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define MS		1000000ull
#define FRESH_NS	(60000 * MS)	/* then the entry is probed */
#define FIRST_RETRY_NS	(200 * MS)	/* doubles each time */
#define FAILED_NS	(1000 * MS)	/* how long a failure is remembered */
#define CONFLICT_TRIES	3		/* an owner that does not answer: 1.4 s */
#define CONFLICT_NS	(1000 * MS)	/* between two conflicts of one entry */

enum arp_state {
	ARP_FREE,
	ARP_INCOMPLETE,		/* asked, MAC unknown */
	ARP_REACHABLE,
	ARP_PROBE,		/* asked again, MAC still used */
	ARP_CONFLICT,		/* another MAC claims the address: owner asked, MAC still used */
	ARP_FAILED,
};

struct snic_arp_entry {
	enum arp_state state;
	__be32 ip;
	uint8_t mac[SNIC_ETH_ALEN];
	uint8_t claim[SNIC_ETH_ALEN];	/* CONFLICT: the other MAC */
	uint64_t conflict_ended;	/* when the last conflict ended; 0: none */
	uint8_t tries;
	uint8_t nr_pending;
	uint64_t confirmed;	/* FAILED: when it failed */
	struct snic_timer timer;
	struct snic_arp_entry *next;
	struct snic_frame *pending, **pending_tail;
};

struct arp_packet {
	__be16 htype, ptype;
	uint8_t hlen, plen;
	__be16 oper;
	uint8_t sha[6], spa[4], tha[6], tpa[4];
} __attribute__((packed));

_Static_assert(sizeof(struct arp_packet) == 28, "ARP packet");

#define ARP_REQUEST	1
#define ARP_REPLY	2

static void entry_timer(struct snic *nic, struct snic_timer *t);

int snic_arp_init(struct snic *nic, struct snic_arp *arp)
{
	size_t frame_len = snic_config(nic)->mtu + SNIC_ETH_HLEN;
	unsigned int i;
	int ret;

	arp->entries = calloc(SNIC_ARP_ENTRIES, sizeof(*arp->entries));
	if (!arp->entries)
		return -ENOMEM;
	ret = snic_timer_reserve(nic, SNIC_ARP_ENTRIES);
	if (ret)
		goto free_entries;
	ret = snic_frame_pool_init(&arp->pool, SNIC_ARP_FRAMES, frame_len);
	if (ret)
		goto unreserve_timers;
	for (i = 0; i < SNIC_ARP_ENTRIES; i++)
		snic_timer_init(&arp->entries[i].timer, entry_timer);
	arp->timers_reserved = true;
	return 0;

unreserve_timers:
	snic_timer_unreserve(nic, SNIC_ARP_ENTRIES);
free_entries:
	free(arp->entries);
	arp->entries = NULL;
	return ret;
}

void snic_arp_fini(struct snic *nic, struct snic_arp *arp)
{
	unsigned int i;

	if (!arp->timers_reserved)
		return;
	for (i = 0; i < SNIC_ARP_ENTRIES; i++)
		snic_timer_cancel(nic, &arp->entries[i].timer);
	snic_timer_unreserve(nic, SNIC_ARP_ENTRIES);
	snic_frame_pool_fini(&arp->pool);
	free(arp->entries);
	arp->entries = NULL;
	arp->timers_reserved = false;
}

static struct snic_arp_entry **arp_bucket(struct snic_arp *arp, __be32 ip)
{
	uint32_t h = ntohl(ip) * 0x9e3779b1u;

	return &arp->buckets[(h >> 16) & (SNIC_ARP_BUCKETS - 1)];
}

static struct snic_arp_entry *arp_find(struct snic_arp *arp, __be32 ip)
{
	struct snic_arp_entry *e;

	for (e = *arp_bucket(arp, ip); e; e = e->next)
		if (e->ip == ip)
			return e;
	return NULL;
}

static void pending_drop(struct snic *nic, struct snic_arp_entry *e)
{
	struct snic_frame *f;

	while ((f = e->pending)) {
		e->pending = f->next;
		snic_frame_put(f);
		snic_stats(nic)->tx_dropped++;
	}
	e->pending_tail = &e->pending;
	e->nr_pending = 0;
}

static void entry_remove(struct snic *nic, struct snic_arp *arp,
			 struct snic_arp_entry *e)
{
	struct snic_arp_entry **p = arp_bucket(arp, e->ip);

	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	pending_drop(nic, e);
	snic_timer_cancel(nic, &e->timer);
	e->state = ARP_FREE;
}

/* Returns a free entry; if there is none, the entry confirmed longest ago. */
static struct snic_arp_entry *entry_take(struct snic *nic,
					 struct snic_arp *arp, __be32 ip)
{
	struct snic_arp_entry *e, *victim = NULL;
	unsigned int i;

	for (i = 0; i < SNIC_ARP_ENTRIES; i++) {
		e = &arp->entries[i];
		if (e->state == ARP_FREE) {
			victim = e;
			break;
		}
		if (!victim || e->confirmed < victim->confirmed)
			victim = e;
	}
	if (victim->state != ARP_FREE)
		entry_remove(nic, arp, victim);
	e = victim;
	e->ip = ip;
	e->tries = 0;
	e->nr_pending = 0;
	e->pending = NULL;
	e->pending_tail = &e->pending;
	e->confirmed = snic_now(nic);
	e->conflict_ended = 0;
	e->next = *arp_bucket(arp, ip);
	*arp_bucket(arp, ip) = e;
	return e;
}

static void send_arp(struct snic *nic, uint16_t oper, const uint8_t *dst,
		     const uint8_t *tha, __be32 tpa)
{
	static const uint8_t pad[60 - SNIC_ETH_HLEN - sizeof(struct arp_packet)];
	const struct snic_config *cfg = snic_config(nic);
	uint8_t eth[SNIC_ETH_HLEN];
	struct arp_packet a = {
		.htype = htons(1), .ptype = htons(SNIC_ETHERTYPE_IP),
		.hlen = 6, .plen = 4, .oper = htons(oper),
	};
	struct iovec iov[] = {
		{ eth, sizeof(eth) }, { &a, sizeof(a) },
		{ (void *)pad, sizeof(pad) },
	};

	memcpy(eth, dst, 6);
	memcpy(eth + 6, cfg->mac, 6);
	eth[12] = SNIC_ETHERTYPE_ARP >> 8;
	eth[13] = SNIC_ETHERTYPE_ARP & 0xff;
	memcpy(a.sha, cfg->mac, 6);
	memcpy(a.spa, &cfg->ip, 4);
	memcpy(a.tha, tha, 6);
	memcpy(a.tpa, &tpa, 4);
	snic_net_xmit(nic, iov, 3);
}

static void entry_ask_at(struct snic *nic, struct snic_arp_entry *e, const uint8_t *mac)
{
	static const uint8_t none[6];

	snic_timer_set(nic, &e->timer,
		       snic_now(nic) + (FIRST_RETRY_NS << e->tries));
	e->tries++;
	send_arp(nic, ARP_REQUEST, mac, none, e->ip);
}

static void entry_ask(struct snic *nic, struct snic_arp_entry *e)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	entry_ask_at(nic, e, all);
}

static void entry_confirm(struct snic *nic, struct snic_arp_entry *e,
			  const uint8_t *mac);

/* The owner of the address has not answered yet. */
static void conflict_timer(struct snic *nic, struct snic_arp_entry *e)
{
	if (e->tries < CONFLICT_TRIES)
		entry_ask_at(nic, e, e->mac);
	else
		entry_confirm(nic, e, e->claim);
}

static void entry_timer(struct snic *nic, struct snic_timer *t)
{
	struct snic_arp_entry *e = (struct snic_arp_entry *)
		((char *)t - offsetof(struct snic_arp_entry, timer));

	if (e->state == ARP_CONFLICT) {
		conflict_timer(nic, e);
		return;
	}
	if (e->state != ARP_INCOMPLETE && e->state != ARP_PROBE)
		return;
	if (e->tries < SNIC_ARP_TRIES) {
		entry_ask(nic, e);
		return;
	}
	snic_stats(nic)->arp_failed++;
	e->state = ARP_FAILED;
	e->confirmed = snic_now(nic);
	pending_drop(nic, e);
}

static bool ip_on_segment(struct snic *nic, __be32 ip)
{
	const struct snic_config *cfg = snic_config(nic);
	uint32_t mask = cfg->prefix_len ? ~0u << (32 - cfg->prefix_len) : 0;
	uint32_t host = ntohl(ip);

	if (!host || host == UINT32_MAX || host >> 28 == 0xe)
		return false;		/* no address, broadcast, multicast */
	return !((host ^ ntohl(cfg->ip)) & mask);
}

int snic_arp_lookup(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    uint8_t *ret_mac)
{
	struct snic_arp_entry *e = arp_find(arp, ip);
	uint64_t now = snic_now(nic);

	if (!e) {
		if (!ip_on_segment(nic, ip))
			return -EHOSTUNREACH;
		e = entry_take(nic, arp, ip);
		e->state = ARP_INCOMPLETE;
		entry_ask(nic, e);
		return -EAGAIN;
	}
	switch (e->state) {
	case ARP_REACHABLE:
		if (now - e->confirmed > FRESH_NS && ip_on_segment(nic, ip)) {
			e->state = ARP_PROBE;
			e->tries = 0;
			entry_ask(nic, e);
		}
		break;
	case ARP_PROBE:
	case ARP_CONFLICT:
		break;
	case ARP_INCOMPLETE:
		return -EAGAIN;
	case ARP_FAILED:
		if (now - e->confirmed < FAILED_NS)
			return -EHOSTUNREACH;
		e->state = ARP_INCOMPLETE;
		e->tries = 0;
		entry_ask(nic, e);
		return -EAGAIN;
	case ARP_FREE:
		return -EHOSTUNREACH;	/* not in a bucket: cannot happen */
	}
	memcpy(ret_mac, e->mac, SNIC_ETH_ALEN);
	return 0;
}

int snic_arp_keep(struct snic *nic, struct snic_arp *arp, __be32 ip,
		  const struct iovec *iov, int n)
{
	struct snic_arp_entry *e = arp_find(arp, ip);
	struct snic_frame *f;

	if (!e || e->state != ARP_INCOMPLETE)
		return -EHOSTUNREACH;
	f = e->nr_pending < SNIC_ARP_PENDING ?
		snic_frame_get(&arp->pool, iov, n) : NULL;
	if (!f) {
		snic_stats(nic)->tx_dropped++;
		return -ENOBUFS;
	}
	f->next = NULL;
	*e->pending_tail = f;
	e->pending_tail = &f->next;
	e->nr_pending++;
	return 0;
}

static void pending_send(struct snic *nic, struct snic_arp_entry *e)
{
	struct snic_frame *f, *list = e->pending;
	struct iovec iov;

	e->pending = NULL;
	e->pending_tail = &e->pending;
	e->nr_pending = 0;
	while ((f = list)) {
		list = f->next;
		memcpy(f->data, e->mac, SNIC_ETH_ALEN);
		iov.iov_base = f->data;
		iov.iov_len = f->len;
		snic_net_xmit(nic, &iov, 1);
		snic_frame_put(f);
	}
}

static void entry_confirm(struct snic *nic, struct snic_arp_entry *e,
			  const uint8_t *mac)
{
	memcpy(e->mac, mac, SNIC_ETH_ALEN);
	e->confirmed = snic_now(nic);
	if (e->state == ARP_REACHABLE)
		return;
	if (e->state == ARP_CONFLICT)
		e->conflict_ended = snic_now(nic);
	e->state = ARP_REACHABLE;
	snic_timer_cancel(nic, &e->timer);
	pending_send(nic, e);
}

/* Another MAC claims the address of an entry in use. */
static void entry_conflict(struct snic *nic, struct snic_arp_entry *e,
			   const uint8_t *mac)
{
	snic_stats(nic)->rx_spoofed++;
	memcpy(e->claim, mac, SNIC_ETH_ALEN);
	if (e->state == ARP_CONFLICT ||
	    (e->conflict_ended && snic_now(nic) - e->conflict_ended < CONFLICT_NS))
		return;
	e->state = ARP_CONFLICT;
	e->tries = 0;
	entry_ask_at(nic, e, e->mac);
}

/* Does a MAC own the address, as far as known? */
static bool entry_is_owned(const struct snic_arp_entry *e)
{
	return e->state == ARP_REACHABLE || e->state == ARP_CONFLICT;
}

/* May this MAC have the address?  If not, the owner is asked. */
static bool entry_admits(struct snic *nic, struct snic_arp_entry *e, const uint8_t *mac)
{
	if (!entry_is_owned(e) || !memcmp(e->mac, mac, SNIC_ETH_ALEN))
		return true;
	entry_conflict(nic, e, mac);
	return false;
}

bool snic_arp_heard(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    const uint8_t *mac)
{
	struct snic_arp_entry *e = arp_find(arp, ip);

	if (!e) {
		e = entry_take(nic, arp, ip);
		e->state = ARP_INCOMPLETE;
	}
	if (!entry_admits(nic, e, mac))
		return false;
	entry_confirm(nic, e, mac);
	return true;
}

/* -EINVAL: not an ARP request or reply about an IPv4 address. */
static int packet_parse(const uint8_t *pkt, size_t len, struct arp_packet *ret_packet)
{
	struct arp_packet a;

	if (len < sizeof(a))
		return -EINVAL;
	memcpy(&a, pkt, sizeof(a));
	if (a.htype != htons(1) || a.ptype != htons(SNIC_ETHERTYPE_IP) ||
	    a.hlen != 6 || a.plen != 4 || a.sha[0] & 1)
		return -EINVAL;
	if (a.oper != htons(ARP_REQUEST) && a.oper != htons(ARP_REPLY))
		return -EINVAL;
	*ret_packet = a;
	return 0;
}

bool snic_arp_check(struct snic *nic, struct snic_arp *arp, const uint8_t *src,
		    const uint8_t *pkt, size_t len)
{
	struct snic_arp_entry *e;
	struct arp_packet a;
	__be32 spa;

	if (packet_parse(pkt, len, &a))
		return true;	/* snic_arp_input() counts it */
	memcpy(&spa, a.spa, 4);
	if (memcmp(a.sha, src, SNIC_ETH_ALEN) || spa == snic_config(nic)->ip) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	e = arp_find(arp, spa);
	return !e || entry_admits(nic, e, a.sha);
}

void snic_arp_input(struct snic *nic, struct snic_arp *arp, const uint8_t *pkt,
		    size_t len)
{
	const struct snic_config *cfg = snic_config(nic);
	struct arp_packet a;
	__be32 spa, tpa;

	if (packet_parse(pkt, len, &a)) {
		snic_stats(nic)->rx_malformed++;
		return;
	}
	memcpy(&spa, a.spa, 4);
	memcpy(&tpa, a.tpa, 4);
	snic_stats(nic)->rx_arp++;
	/* A station that asks for this one will send packets soon: learn its
	 * address.  From other stations only known entries are refreshed. */
	if (arp_find(arp, spa) || (tpa == cfg->ip && ip_on_segment(nic, spa)))
		snic_arp_heard(nic, arp, spa, a.sha);
	if (a.oper == htons(ARP_REQUEST) && tpa == cfg->ip)
		send_arp(nic, ARP_REPLY, a.sha, a.sha, spa);
}
