/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segment: a learning switch between the ports of a NIC and the NIC's own
 * station.  A port that fails loses frames, which are counted; it never stops
 * the others.  Nor can a port have what is for a station at another one: whoever
 * spoke first with an address has it, until it is silent, and no port fills the
 * table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

/* A station that was silent for so long may be anywhere. */
#define AGE_NS		(300ull * 1000000000)
/*
 * And one that was not silent for so long is where it was: somebody else at another
 * port has taken its address.
 */
#define STICKY_NS	(10ull * 1000000000)
/* Entries for all ports together, so that most are found in few probes. */
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

static bool is_group(const uint8_t *mac)
{
	return mac[0] & 1;
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

/* The entry of a MAC, or NULL. */
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
 * An entry for one more MAC of a port: an empty one or the oldest of those that have
 * aged or are the port's own. NULL: a port that has its share takes no other's.
 */
static struct snic_switch_entry *take_entry(struct snic *nic, struct snic_switch *sw,
					    unsigned int port, const uint8_t *mac)
{
	bool has_share = sw->nr_macs[port] >= SHARED_ENTRIES / sw->nr_ports;
	struct snic_switch_entry *e, *victim = NULL;
	unsigned int i;

	for (i = 0; i < SNIC_SWITCH_PROBES; i++) {
		e = probe(sw, mac, i);
		if (e->seen ? e->port != port && (has_share || !silent_for(nic, e, AGE_NS)) :
			      has_share)
			continue;
		if (!victim || e->seen < victim->seen)
			victim = e;
	}
	if (victim && victim->seen)
		sw->nr_macs[victim->port]--;
	if (victim)
		sw->nr_macs[port]++;
	return victim;
}

/* Learns where a sender is. False: it is elsewhere, and this one is not it. */
static bool learn(struct snic *nic, struct snic_switch *sw, unsigned int port,
		  const uint8_t *mac)
{
	struct snic_switch_entry *e = find(sw, mac);

	if (e && e->port != port) {
		if (!silent_for(nic, e, STICKY_NS))
			return false;
		sw->nr_macs[e->port]--;
		sw->nr_macs[port]++;
	}
	if (!e) {
		e = take_entry(nic, sw, port, mac);
		if (!e)
			return true;	/* what is for it goes to all ports */
		memcpy(e->mac, mac, SNIC_ETH_ALEN);
	}
	e->port = port;
	e->seen = snic_now(nic) + 1;	/* 0 is empty */
	return true;
}

static void send_port(struct snic *nic, struct snic_switch *sw,
		      unsigned int i, const struct iovec *iov, int n)
{
	struct snic_port *p = sw->ports[i];
	int ret;

	ret = p->ops->send(p, iov, n);
	if (ret < 0) {
		snic_stats(nic)->tx_dropped++;
		return;
	}
	if (ret)
		snic_net_flush_later(nic);
	snic_stats(nic)->tx_frames++;
	snic_stats(nic)->tx_bytes += snic_iov_len(iov, n);
}

/* To the port of the station, or to all but `from` (-1: to all). */
static void forward(struct snic *nic, struct snic_switch *sw, int from,
		    const uint8_t *dst, const struct iovec *iov, int n)
{
	struct snic_switch_entry *e;
	unsigned int i;

	if (!is_group(dst)) {
		e = find(sw, dst);
		if (e && !silent_for(nic, e, AGE_NS)) {
			if ((int)e->port != from)
				send_port(nic, sw, e->port, iov, n);
			return;
		}
	}
	for (i = 0; i < sw->nr_ports; i++)
		if ((int)i != from)
			send_port(nic, sw, i, iov, n);
}

bool snic_switch_input(struct snic *nic, struct snic_switch *sw,
		       unsigned int port, const void *frame, size_t len)
{
	const uint8_t *dst = frame, *src = dst + SNIC_ETH_ALEN;
	const uint8_t *own = snic_config(nic)->mac;
	struct iovec iov = { .iov_base = (void *)frame, .iov_len = len };

	/* A group is no sender; our own address from outside is a loop. */
	if (is_group(src) || !memcmp(src, own, SNIC_ETH_ALEN)) {
		snic_stats(nic)->rx_malformed++;
		return false;
	}
	if (sw->nr_ports > 1 && !learn(nic, sw, port, src)) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	if (!memcmp(dst, own, SNIC_ETH_ALEN))
		return true;
	if (sw->nr_ports > 1) {
		snic_stats(nic)->forwarded++;
		forward(nic, sw, port, dst, &iov, 1);
	}
	if (is_group(dst))
		return true;
	if (sw->nr_ports == 1)
		snic_stats(nic)->rx_not_for_us++;
	return false;
}

void snic_switch_send(struct snic *nic, struct snic_switch *sw,
		      const struct iovec *iov, int n)
{
	if (sw->nr_ports == 1) {
		send_port(nic, sw, 0, iov, n);
		return;
	}
	forward(nic, sw, -1, iov[0].iov_base, iov, n);
}
