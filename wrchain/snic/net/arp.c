/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IPv4 address resolution.  An entry is confirmed by an ARP message or by a
 * packet with a right ICRC.  When an entry has not been confirmed for a while,
 * this station asks for the address again and uses the entry meanwhile.
 * Packets for an unknown address wait in a bounded pool.
 *
 * No other station can take an address from its owner.  Packets from another
 * MAC are dropped, and the owner is asked whether it is still there.  Only if
 * the owner does not answer, the other MAC gets the address.  Nor can it have the
 * entry of an owner that was heard within SNIC_STICKY_NS, however many addresses
 * it names.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "net-priv.h"

#define MS		1000000ull
#define FRESH_NS	(60000 * MS)	/* then the entry is probed */
#define FIRST_RETRY_NS	(200 * MS)	/* doubles each time */
#define FAILED_NS	(1000 * MS)	/* how long a failure is remembered */
#define CONFLICT_TRIES	3		/* an owner that does not answer: 1.4 s */
#define CONFLICT_NS	(1000 * MS)	/* between two conflicts of one entry */
#define ARP_FEW		8		/* addresses that a MAC may always have */

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

/* Does a MAC own the address, as far as known? */
static bool entry_is_owned(const struct snic_arp_entry *e)
{
	return e->state == ARP_REACHABLE || e->state == ARP_PROBE ||
	       e->state == ARP_CONFLICT;
}

/* Nobody else gets the entry of an owner that was heard within this time. */
static bool entry_is_kept(const struct snic *nic, const struct snic_arp_entry *e)
{
	return entry_is_owned(e) && snic_now(nic) - e->confirmed < SNIC_STICKY_NS;
}

/* Returns a free entry; if there is none, the entry confirmed longest ago.  NULL: all are
 * kept by their owners. */
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
		if (!entry_is_kept(nic, e) &&
		    (!victim || e->confirmed < victim->confirmed))
			victim = e;
	}
	if (!victim)
		return NULL;
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

void snic_arp_put(uint8_t frame[SNIC_ARP_LEN], const struct snic_arp_fields *fields)
{
	struct snic_arp_packet a = {
		.htype = htons(1), .ptype = htons(SNIC_ETHERTYPE_IP),
		.hlen = 6, .plen = 4, .oper = htons(fields->oper),
	};

	memcpy(frame, fields->to, 6);
	memcpy(frame + 6, fields->mac, 6);
	frame[12] = SNIC_ETHERTYPE_ARP >> 8;
	frame[13] = SNIC_ETHERTYPE_ARP & 0xff;
	memcpy(a.sha, fields->mac, 6);
	memcpy(a.spa, &fields->ip, 4);
	if (fields->target_mac)
		memcpy(a.tha, fields->target_mac, 6);
	memcpy(a.tpa, &fields->target_ip, 4);
	memcpy(frame + SNIC_ETH_HLEN, &a, sizeof(a));
}

static void send_arp(struct snic *nic, uint16_t oper, const uint8_t *dst,
		     const uint8_t *tha, __be32 tpa)
{
	const struct snic_config *cfg = snic_config(nic);
	uint8_t frame[60] = { 0 };	/* the least that Ethernet carries */
	struct iovec iov = { frame, sizeof(frame) };

	snic_arp_put(frame, &(struct snic_arp_fields) {
		.oper = oper, .to = dst, .mac = cfg->mac, .ip = cfg->ip,
		.target_mac = tha, .target_ip = tpa,
	});
	snic_net_xmit(nic, &iov, 1);
}

static void entry_ask_at(struct snic *nic, struct snic_arp_entry *e, const uint8_t *mac)
{
	snic_timer_set(nic, &e->timer,
		       snic_now(nic) + (FIRST_RETRY_NS << e->tries));
	e->tries++;
	send_arp(nic, SNIC_ARP_REQUEST, mac, NULL, e->ip);
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
		if (!e)
			return -EHOSTUNREACH;
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

bool snic_arp_ip_of(const struct snic_arp *arp, const uint8_t *mac, __be32 *ret_ip)
{
	unsigned int i;

	for (i = 0; i < SNIC_ARP_ENTRIES; i++) {
		const struct snic_arp_entry *e = &arp->entries[i];

		if (!entry_is_owned(e) || memcmp(e->mac, mac, SNIC_ETH_ALEN))
			continue;
		*ret_ip = e->ip;
		return true;
	}
	return false;
}

bool snic_arp_owner(struct snic_arp *arp, __be32 ip, uint8_t *ret_mac)
{
	const struct snic_arp_entry *e = arp_find(arp, ip);

	if (!e || !entry_is_owned(e))
		return false;
	memcpy(ret_mac, e->mac, SNIC_ETH_ALEN);
	return true;
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

/* May this MAC have the address?  If not, the owner is asked. */
static bool entry_admits(struct snic *nic, struct snic_arp_entry *e, const uint8_t *mac)
{
	if (!entry_is_owned(e) || !memcmp(e->mac, mac, SNIC_ETH_ALEN))
		return true;
	entry_conflict(nic, e, mac);
	return false;
}

/* May this MAC have one more address?  A router has many; but when half of the entries
 * are kept, the others are for those that have few. */
static bool mac_may_have_more(const struct snic *nic, const struct snic_arp *arp,
			      const uint8_t *mac)
{
	unsigned int i, kept = 0, of_mac = 0;

	for (i = 0; i < SNIC_ARP_ENTRIES; i++) {
		const struct snic_arp_entry *e = &arp->entries[i];

		if (!entry_is_kept(nic, e))
			continue;
		kept++;
		of_mac += !memcmp(e->mac, mac, SNIC_ETH_ALEN);
	}
	return kept < SNIC_ARP_ENTRIES / 2 || of_mac < ARP_FEW;
}

bool snic_arp_heard(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    const uint8_t *mac)
{
	struct snic_arp_entry *e = arp_find(arp, ip);

	if (!e) {
		if (mac_may_have_more(nic, arp, mac))
			e = entry_take(nic, arp, ip);
		if (!e) {
			snic_stats(nic)->rx_no_place++;
			return false;
		}
		e->state = ARP_INCOMPLETE;
	}
	if (!entry_admits(nic, e, mac))
		return false;
	entry_confirm(nic, e, mac);
	return true;
}

int snic_arp_parse(const uint8_t *pkt, size_t len, struct snic_arp_packet *ret_packet)
{
	struct snic_arp_packet a;

	if (len < sizeof(a))
		return -EINVAL;
	memcpy(&a, pkt, sizeof(a));
	a.oper = ntohs(a.oper);
	if (a.htype != htons(1) || a.ptype != htons(SNIC_ETHERTYPE_IP) ||
	    a.hlen != 6 || a.plen != 4 || a.sha[0] & 1)
		return -EINVAL;
	if (a.oper != SNIC_ARP_REQUEST && a.oper != SNIC_ARP_REPLY)
		return -EINVAL;
	*ret_packet = a;
	return 0;
}

bool snic_arp_check(struct snic *nic, struct snic_arp *arp, const uint8_t *src,
		    const uint8_t *pkt, size_t len)
{
	struct snic_arp_entry *e;
	struct snic_arp_packet a;
	__be32 spa;

	if (snic_arp_parse(pkt, len, &a))
		return true;	/* snic_arp_input() counts it */
	memcpy(&spa, a.spa, 4);
	if (memcmp(a.sha, src, SNIC_ETH_ALEN) || spa == snic_config(nic)->ip) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	e = arp_find(arp, spa);
	return !e || entry_admits(nic, e, a.sha);
}

/* Does the sender refuse this station? */
static bool is_refusal(const struct snic_arp_packet *a, __be32 tpa)
{
	return a->oper == SNIC_ARP_REPLY && (ntohl(tpa) == SNIC_NO_PLACE ||
					     ntohl(tpa) == SNIC_NO_ADDRESS);
}

void snic_arp_input(struct snic *nic, struct snic_arp *arp, const uint8_t *pkt,
		    size_t len)
{
	const struct snic_config *cfg = snic_config(nic);
	struct snic_arp_packet a;
	__be32 spa, tpa;

	if (snic_arp_parse(pkt, len, &a)) {
		snic_stats(nic)->rx_malformed++;
		return;
	}
	memcpy(&spa, a.spa, 4);
	memcpy(&tpa, a.tpa, 4);
	snic_stats(nic)->rx_arp++;
	if (is_refusal(&a, tpa))
		snic_switch_note(&snic_net_of(nic)->sw, (struct snic_refused){
			.peer.ip = spa, .why = ntohl(tpa), .heard = true });
	/* A station that asks for this one will send packets soon: learn its
	 * address.  From other stations only known entries are refreshed. */
	if (arp_find(arp, spa) || (tpa == cfg->ip && ip_on_segment(nic, spa)))
		snic_arp_heard(nic, arp, spa, a.sha);
	if (a.oper == SNIC_ARP_REQUEST && tpa == cfg->ip)
		send_arp(nic, SNIC_ARP_REPLY, a.sha, a.sha, spa);
}
