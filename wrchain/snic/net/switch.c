/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segment: a learning switch between the ports of a NIC and the NIC's own
 * station.  A port that fails loses frames, which are counted; it never stops
 * the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

/* A station that was silent for so long may be anywhere. */
#define AGE_NS		(300ull * 1000000000)

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

/* The entry of a MAC, or the one to overwrite: an empty or the oldest. */
static struct snic_switch_entry *find(struct snic_switch *sw,
				      const uint8_t *mac, bool *ret_found)
{
	struct snic_switch_entry *e, *victim = NULL;
	unsigned int i, h = hash_mac(mac);

	for (i = 0; i < SNIC_SWITCH_PROBES; i++) {
		e = &sw->table[(h + i) & (SNIC_SWITCH_ENTRIES - 1)];
		if (e->seen && !memcmp(e->mac, mac, SNIC_ETH_ALEN)) {
			*ret_found = true;
			return e;
		}
		if (!victim || e->seen < victim->seen)
			victim = e;
	}
	*ret_found = false;
	return victim;
}

static void learn(struct snic *nic, struct snic_switch *sw, unsigned int port,
		  const uint8_t *mac)
{
	struct snic_switch_entry *e;
	bool found;

	e = find(sw, mac, &found);
	if (!found)
		memcpy(e->mac, mac, SNIC_ETH_ALEN);
	e->port = port;
	e->seen = snic_now(nic) + 1;	/* 0 is empty */
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
	bool found;

	if (!is_group(dst)) {
		e = find(sw, dst, &found);
		if (found && snic_now(nic) - (e->seen - 1) < AGE_NS) {
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
	if (sw->nr_ports > 1)
		learn(nic, sw, port, src);
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
