/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places of the switch: one per port, or, for a port with several peers,
 * one per peer that it has heard.  A frame from an unknown sender creates a
 * peer.  Their number is limited: a port has SNIC_PORT_PEERS places, one IP
 * address at most half of them, and a peer keeps its place while it sends.
 */
#include <errno.h>
#include <string.h>
#include "priv.h"

#define PEERS_PER_IP	(SNIC_PORT_PEERS / 2)

static unsigned int port_places(const struct snic_port *port)
{
	return port->ops->sender ? SNIC_PORT_PEERS : 1;
}

int snic_switch_add(struct snic_switch *sw, struct snic_port *port)
{
	unsigned int i, n = port_places(port);

	if (sw->nr_ports == SNIC_MAX_PORTS || sw->nr_places + n > SNIC_MAX_PLACES)
		return -ENOSPC;
	for (i = 0; i < n; i++)
		sw->places[sw->nr_places + i].port = port;
	sw->first_place[sw->nr_ports] = sw->nr_places;
	sw->ports[sw->nr_ports++] = port;
	sw->nr_places += n;
	return 0;
}

static bool same_peer(const struct snic_udp_addr *a, const struct snic_udp_addr *b)
{
	return a->ip == b->ip && a->port == b->port;
}

/* Returns the place of a peer among [first, last), or last. */
static unsigned int peer_find(const struct snic_switch *sw, unsigned int first,
			      unsigned int last, const struct snic_udp_addr *peer)
{
	while (first < last && !(sw->places[first].seen &&
				 same_peer(&sw->places[first].peer, peer)))
		first++;
	return first;
}

static bool place_is_free(const struct snic *nic, const struct snic_place *p)
{
	return !p->seen || snic_now(nic) - (p->seen - 1) >= SNIC_STICKY_NS;
}

/* Takes a place for one more peer; returns last if there is none.  Prefers an
 * empty place, else the one whose peer has been silent longest. */
static unsigned int place_take(struct snic *nic, struct snic_switch *sw,
			       unsigned int first, unsigned int last,
			       const struct snic_udp_addr *peer)
{
	unsigned int i, best = last, of_ip = 0;

	for (i = first; i < last; i++) {
		struct snic_place *p = &sw->places[i];

		if (!place_is_free(nic, p))
			of_ip += p->peer.ip == peer->ip;
		else if (best == last || p->seen < sw->places[best].seen)
			best = i;
	}
	if (best == last || of_ip >= PEERS_PER_IP)
		return last;
	if (sw->places[best].seen)
		snic_switch_forget(sw, best);
	sw->places[best].peer = *peer;
	return best;
}

/* Can the frame come from a station at the other end? */
static bool has_sender(const struct snic *nic, const uint8_t *frame, size_t len)
{
	const uint8_t *src = frame + SNIC_ETH_ALEN;

	return len >= SNIC_ETH_HLEN && !snic_mac_is_group(src) &&
	       memcmp(src, snic_config(nic)->mac, SNIC_ETH_ALEN);
}

bool snic_switch_place(struct snic *nic, struct snic_switch *sw, unsigned int port,
		       const void *frame, size_t len, unsigned int *ret_place)
{
	unsigned int first = sw->first_place[port], last = first + SNIC_PORT_PEERS, i;
	const uint8_t *src = (const uint8_t *)frame + SNIC_ETH_ALEN;
	struct snic_udp_addr peer;

	*ret_place = first;
	if (!sw->ports[port]->ops->sender)
		return true;
	if (!has_sender(nic, frame, len)) {
		snic_stats(nic)->rx_malformed++;
		return false;
	}
	sw->ports[port]->ops->sender(sw->ports[port], &peer);
	i = peer_find(sw, first, last, &peer);
	/* A frame with another station's MAC is no reason to create a peer. */
	if (snic_switch_is_elsewhere(nic, sw, i == last ? SNIC_MAX_PLACES : i, src)) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	if (i == last)
		i = place_take(nic, sw, first, last, &peer);
	if (i == last) {
		snic_stats(nic)->rx_no_place++;
		return false;
	}
	sw->places[i].seen = snic_now(nic) + 1;		/* 0: no peer */
	*ret_place = i;
	return true;
}
