/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segment: a learning switch between the places of a NIC (peers.c) and the
 * NIC's own station.  A port that fails loses frames, which are counted; it
 * never stops the other ports.  A place cannot take the MAC of a station at
 * another place: a MAC belongs to the place where it was first heard, until the
 * station is silent.  Each place has a share of the table, so that no place can
 * fill it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "net-priv.h"

/* A station that was silent for this long has no known place. */
#define AGE_NS		(300ull * 1000000000)
/* The entries of all places together, so that most MACs are found in few
 * probes. */
#define SHARED_ENTRIES	(SNIC_SWITCH_ENTRIES / 2)

int snic_switch_init(struct snic_switch *sw)
{
	sw->table = calloc(SNIC_SWITCH_ENTRIES, sizeof(*sw->table));
	return sw->table ? 0 : -ENOMEM;
}

void snic_switch_fini(struct snic_switch *sw)
{
	free(sw->table);
	sw->table = NULL;
}

static unsigned int hash_mac(const uint8_t *mac)
{
	uint64_t v = 0;

	memcpy(&v, mac, SNIC_ETH_ALEN);
	return (v * 0x9e3779b97f4a7c15ull) >> 40;
}

static struct snic_switch_entry *probe(struct snic_switch *sw, const uint8_t *mac,
				       unsigned int i)
{
	return &sw->table[(hash_mac(mac) + i) & (SNIC_SWITCH_ENTRIES - 1)];
}

/* Returns the entry of a MAC, or NULL. */
static struct snic_switch_entry *find(struct snic_switch *sw, const uint8_t *mac)
{
	struct snic_switch_entry *e;
	unsigned int i;

	for (i = 0; i < SNIC_SWITCH_PROBES; i++) {
		e = probe(sw, mac, i);
		if (e->seen && !memcmp(e->mac, mac, SNIC_ETH_ALEN))
			return e;
	}
	return NULL;
}

static bool silent_for(const struct snic *nic, const struct snic_switch_entry *e,
		       uint64_t ns)
{
	return snic_now(nic) - (e->seen - 1) >= ns;
}

/*
 * Takes an entry for one more MAC of a place: an empty one, or the oldest of
 * those that have aged or belong to the place.  NULL: none; a place that has
 * used up its share takes only its own entries.
 */
static struct snic_switch_entry *take_entry(struct snic *nic, struct snic_switch *sw,
					    unsigned int place, const uint8_t *mac)
{
	bool has_share = sw->places[place].nr_macs >= SHARED_ENTRIES / sw->nr_places;
	struct snic_switch_entry *e, *victim = NULL;
	unsigned int i;

	for (i = 0; i < SNIC_SWITCH_PROBES; i++) {
		e = probe(sw, mac, i);
		if (e->seen ? e->place != place && (has_share || !silent_for(nic, e, AGE_NS)) :
			      has_share)
			continue;
		if (!victim || e->seen < victim->seen)
			victim = e;
	}
	if (victim && victim->seen)
		sw->places[victim->place].nr_macs--;
	if (victim)
		sw->places[place].nr_macs++;
	return victim;
}

/* Learns the place of a MAC.  False: the MAC belongs to another place. */
static bool learn(struct snic *nic, struct snic_switch *sw, unsigned int place,
		  const uint8_t *mac)
{
	struct snic_switch_entry *e = find(sw, mac);

	if (e && e->place != place) {
		if (!silent_for(nic, e, SNIC_STICKY_NS))
			return false;
		sw->places[e->place].nr_macs--;
		sw->places[place].nr_macs++;
	}
	if (!e) {
		e = take_entry(nic, sw, place, mac);
		if (!e)
			return true;	/* frames for this MAC go to all places */
		memcpy(e->mac, mac, SNIC_ETH_ALEN);
	}
	e->place = place;
	e->seen = snic_now(nic) + 1;	/* 0: empty */
	return true;
}

unsigned int snic_switch_elsewhere(struct snic *nic, struct snic_switch *sw,
				   unsigned int place, const uint8_t *mac)
{
	struct snic_switch_entry *e = find(sw, mac);

	return e && e->place != place && !silent_for(nic, e, SNIC_STICKY_NS) ?
	       e->place : SNIC_MAX_PLACES;
}

void snic_switch_forget(struct snic_switch *sw, unsigned int place)
{
	unsigned int i;

	for (i = 0; i < SNIC_SWITCH_ENTRIES; i++)
		if (sw->table[i].place == place)
			sw->table[i].seen = 0;
	sw->places[place].nr_macs = 0;
	sw->places[place].given = 0;
}

static void send_place(struct snic *nic, struct snic_switch *sw,
		       unsigned int i, const struct iovec *iov, int n)
{
	struct snic_place *to = &sw->places[i];
	struct snic_port *p = to->port;
	int ret;

	if (p->ops->send_to && !to->seen)
		return;		/* no peer */
	ret = p->ops->send_to ? p->ops->send_to(p, &to->peer, iov, n) :
				p->ops->send(p, iov, n);
	if (ret < 0) {
		snic_stats(nic)->tx_dropped++;
		return;
	}
	if (ret)
		snic_net_flush_later(nic);
	snic_stats(nic)->tx_frames++;
	snic_stats(nic)->tx_bytes += snic_iov_len(iov, n);
}

/* Sends a frame to the place of its receiver, or to all places but `from` (-1:
 * all). */
static void forward(struct snic *nic, struct snic_switch *sw, int from,
		    const uint8_t *dst, const struct iovec *iov, int n)
{
	struct snic_switch_entry *e;
	unsigned int i;

	if (!snic_mac_is_group(dst)) {
		e = find(sw, dst);
		if (e && !silent_for(nic, e, AGE_NS)) {
			if ((int)e->place != from)
				send_place(nic, sw, e->place, iov, n);
			return;
		}
	}
	for (i = 0; i < sw->nr_places; i++)
		if ((int)i != from)
			send_place(nic, sw, i, iov, n);
}

bool snic_switch_learn(struct snic *nic, struct snic_switch *sw,
		       unsigned int place, const uint8_t *src)
{
	const uint8_t *own = snic_config(nic)->mac;

	/* A group address cannot send; the NIC's own address from outside is a
	 * loop. */
	if (snic_mac_is_group(src) || !memcmp(src, own, SNIC_ETH_ALEN)) {
		snic_stats(nic)->rx_malformed++;
		return false;
	}
	if (sw->nr_places > 1 && !learn(nic, sw, place, src)) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	return true;
}

bool snic_switch_forward(struct snic *nic, struct snic_switch *sw,
			 unsigned int place, const void *frame, size_t len)
{
	struct iovec iov = { .iov_base = (void *)frame, .iov_len = len };
	const uint8_t *dst = frame;

	if (!memcmp(dst, snic_config(nic)->mac, SNIC_ETH_ALEN))
		return true;
	if (sw->nr_places > 1) {
		snic_stats(nic)->forwarded++;
		forward(nic, sw, place, dst, &iov, 1);
	}
	if (snic_mac_is_group(dst))
		return true;
	if (sw->nr_places == 1)
		snic_stats(nic)->rx_not_for_us++;
	return false;
}

void snic_switch_send(struct snic *nic, struct snic_switch *sw,
		      const struct iovec *iov, int n)
{
	if (sw->nr_places == 1) {
		send_place(nic, sw, 0, iov, n);
		return;
	}
	forward(nic, sw, -1, iov[0].iov_base, iov, n);
}
