/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places of the switch: one per port, or, for a port with several peers,
 * one per peer.  A sender becomes a peer by its answer to a question (proof.c);
 * before, it gets nothing but questions, and nothing that it sends is heard.  The
 * number of peers is limited: a port has SNIC_PORT_PEERS places, one IP address
 * at most half of them.  A peer keeps its place while it sends; once it has been
 * silent, it is asked again.  When another sender claims the MAC of a peer, as that
 * one's successor does after a restart, the peer is asked whether it is still there.
 * If it does not answer, the sender has to prove its address before the peer loses
 * its place.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "net-priv.h"

#define PEERS_PER_IP	(SNIC_PORT_PEERS / 2)
/* A peer without an address gets the first of so many that nobody has. */
#define ADDRESSES	4
/*
 * When another sender claims a peer's MAC, the NIC asks the peer GONE_ASKS times, at least
 * GONE_ASK_NS apart.  The peer loses the MAC after GONE_NS without a frame; a part of that
 * time follows the last question.
 */
#define GONE_ASKS	3
#define GONE_ASK_NS	(200ull * 1000000)
#define GONE_NS		(1000ull * 1000000)

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

/* Sends one frame to an address, whether or not it has a place. */
static void peer_send(struct snic *nic, struct snic_port *port,
		      const struct snic_udp_addr *peer, void *frame, size_t len)
{
	struct iovec iov = { frame, len };

	if (port->ops->send_to(port, peer, &iov, 1) < 0) {
		snic_stats(nic)->tx_dropped++;
		return;
	}
	snic_stats(nic)->tx_frames++;
	snic_stats(nic)->tx_bytes += len;
}

/* Was another peer given the address?  It may not have spoken in its name yet. */
static bool address_is_given(const struct snic *nic, const struct snic_switch *sw,
			     unsigned int place, __be32 ip)
{
	unsigned int i;

	for (i = 0; i < sw->nr_places; i++)
		if (i != place && sw->places[i].given == ip &&
		    !place_is_free(nic, &sw->places[i]))
			return true;
	return false;
}

/* Has this station the address, another peer, or one that was heard elsewhere? */
static bool address_is_taken(struct snic *nic, struct snic_switch *sw,
			     unsigned int place, __be32 ip)
{
	uint8_t mac[SNIC_ETH_ALEN];

	return ip == snic_config(nic)->ip || address_is_given(nic, sw, place, ip) ||
	       (snic_arp_owner(&snic_net_of(nic)->arp, ip, mac) &&
		snic_switch_elsewhere(nic, sw, place, mac) != SNIC_MAX_PLACES);
}

/* Gives the peer at a place, which has none, an address.  0: there is none. */
static __be32 peer_address(struct snic *nic, struct snic_switch *sw, unsigned int place)
{
	struct snic_place *p = &sw->places[place];
	unsigned int n;

	for (n = 0; n < ADDRESSES; n++) {
		__be32 ip = snic_proof_address(nic, &p->peer, n);

		if (address_is_taken(nic, sw, place, ip))
			continue;
		p->given = ip;
		return ip;
	}
	p->given = 0;
	return 0;
}

void snic_switch_note(struct snic_switch *sw, struct snic_refused refused)
{
	/* Refusals that others report leave room for those of this NIC. */
	if (sw->nr_refused < SNIC_MAX_REFUSED / (refused.heard ? 2 : 1))
		sw->refused[sw->nr_refused++] = refused;
}

/* Returns the address that tells the peer. */
static __be32 refusal_note(struct snic_switch *sw, const struct snic_udp_addr *peer,
			   enum snic_refusal why)
{
	snic_switch_note(sw, (struct snic_refused){ .peer = *peer, .why = why });
	return htonl(why);
}

bool snic_take_refused(struct snic *nic, struct snic_refused *ret_refused)
{
	struct snic_switch *sw = &snic_net_of(nic)->sw;

	if (!sw->nr_refused)
		return false;
	*ret_refused = sw->refused[0];
	memmove(sw->refused, sw->refused + 1,
		--sw->nr_refused * sizeof(sw->refused[0]));
	return true;
}

/* Tells a peer this station's address, and its own one, or why it has none. */
static void peer_notify(struct snic *nic, struct snic_port *port,
		      const struct snic_udp_addr *peer, const uint8_t *arp, __be32 target)
{
	const struct snic_config *cfg = snic_config(nic);
	uint8_t frame[SNIC_ARP_LEN];

	snic_arp_put(frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REPLY, .to = arp + SNIC_ETH_ALEN, .mac = cfg->mac,
		.ip = cfg->ip, .target_mac = arp + SNIC_ETH_ALEN, .target_ip = target,
	});
	peer_send(nic, port, peer, frame, sizeof(frame));
}

/* Tells a new peer this station's address: what the peer said before it had a place
 * was not heard, and was most likely a question for that.  arp: a frame of the peer.
 * Learns the peer's address, which peer_ask_alive() needs: a NIC that only forwards
 * what the peer sends hears no question of it. */
static void peer_greet(struct snic *nic, struct snic_switch *sw, unsigned int place,
		       const uint8_t *arp)
{
	const struct snic_place *p = &sw->places[place];
	__be32 ip;

	memcpy(&ip, arp + SNIC_ETH_HLEN + offsetof(struct snic_arp_packet, spa),
	       sizeof(ip));
	if (ip && ip != snic_config(nic)->ip)
		snic_arp_heard(nic, &snic_net_of(nic)->arp, ip, arp + SNIC_ETH_ALEN);
	if (!ip)
		ip = peer_address(nic, sw, place);
	if (!ip)
		ip = refusal_note(sw, &p->peer, SNIC_NO_ADDRESS);
	peer_notify(nic, p->port, &p->peer, arp, ip);
}

static void peer_ask(struct snic *nic, struct snic_port *port,
		     const struct snic_udp_addr *peer, const uint8_t *mac, __be32 ip)
{
	uint8_t question[SNIC_ARP_LEN];

	snic_proof_ask(nic, peer, mac, ip, question);
	peer_send(nic, port, peer, question, sizeof(question));
}

/* Has the peer left each question whether it lives without an answer? */
static bool peer_is_gone(const struct snic *nic, const struct snic_place *p)
{
	return p->asks == GONE_ASKS && p->seen <= p->asked &&
	       snic_now(nic) - (p->asked_last - 1) >= GONE_NS - 2 * GONE_ASK_NS;
}

/* Has the peer left a question whether it lives without an answer, and is to be asked again? */
static bool peer_is_asked(const struct snic_place *p)
{
	return p->asks && p->asks < GONE_ASKS && p->seen <= p->asked;
}

static void ask_later(struct snic *nic, struct snic_switch *sw)
{
	if (sw->ask_timer.when == SNIC_NEVER)
		snic_timer_set(nic, &sw->ask_timer, snic_now(nic) + GONE_ASK_NS);
}

/* Asks the peer whether it lives, unless it was asked or heard just now. */
static void peer_ask_alive(struct snic *nic, struct snic_switch *sw, struct snic_place *p,
			   const uint8_t *mac)
{
	uint64_t now = snic_now(nic);
	__be32 ip;

	/* If the peer was heard since, the count begins anew. */
	if (!p->asked || (p->seen > p->asked && now - (p->asked - 1) >= GONE_NS)) {
		p->asked = now + 1;
		p->asks = 0;
	}
	if (p->seen > p->asked || p->asks == GONE_ASKS ||
	    (p->asked_last && now - (p->asked_last - 1) < GONE_ASK_NS))
		return;
	p->asked_last = now + 1;
	if (!snic_arp_ip_of(&snic_net_of(nic)->arp, mac, &ip))
		return;
	p->asks++;
	memcpy(p->claimed, mac, SNIC_ETH_ALEN);
	peer_ask(nic, p->port, &p->peer, mac, ip);
	ask_later(nic, sw);
}

/*
 * A claim is heard once the peer has left all questions without an answer. They do not
 * wait for further claims: a successor sends few, and gives up.
 */
void snic_switch_ask(struct snic *nic, struct snic_timer *t)
{
	struct snic_switch *sw = &snic_net_of(nic)->sw;
	unsigned int i;

	for (i = 0; i < sw->nr_places; i++) {
		struct snic_place *p = &sw->places[i];

		if (!peer_is_asked(p) || snic_now(nic) - (p->asked - 1) >= GONE_NS)
			continue;
		peer_ask_alive(nic, sw, p, p->claimed);
		ask_later(nic, sw);
	}
}

/* Another sender claims the MAC of the peer at place i.  True: the sender has proved its
 * address, and the peer has not answered for a while; its place is empty now. */
static bool peer_gives_way(struct snic *nic, struct snic_switch *sw, unsigned int i,
			   struct snic_port *port, const struct snic_udp_addr *claimer,
			   const uint8_t *frame, size_t len)
{
	struct snic_place *p = &sw->places[i];
	const uint8_t *mac = frame + SNIC_ETH_ALEN;
	__be32 ip;

	if (!p->port->ops->sender || !snic_proof_worth(frame, len, &ip))
		return false;
	if (!peer_is_gone(nic, p)) {
		peer_ask_alive(nic, sw, p, mac);
		return false;
	}
	if (!snic_proof_ok(nic, claimer, frame, len)) {
		peer_ask(nic, port, claimer, mac, ip);
		return false;
	}
	snic_switch_forget(sw, i);
	p->seen = p->asked = p->asked_last = p->asks = 0;
	return true;
}

/* A frame of a sender without a place, or of a peer that was silent.  i: its place,
 * or last: it has none. */
static void peer_prove(struct snic *nic, struct snic_switch *sw, unsigned int port,
		       unsigned int i, const struct snic_udp_addr *peer,
		       const uint8_t *frame, size_t len)
{
	unsigned int first = sw->first_place[port], last = first + SNIC_PORT_PEERS;
	__be32 ip;

	if (!snic_proof_ok(nic, peer, frame, len)) {
		snic_stats(nic)->rx_unproved++;
		if (snic_proof_worth(frame, len, &ip))
			peer_ask(nic, sw->ports[port], peer, frame + SNIC_ETH_ALEN, ip);
		return;
	}
	if (i == last)
		i = place_take(nic, sw, first, last, peer);
	if (i == last) {
		snic_stats(nic)->rx_no_place++;
		peer_notify(nic, sw->ports[port], peer, frame,
			  refusal_note(sw, peer, SNIC_NO_PLACE));
		return;
	}
	sw->places[i].seen = snic_now(nic) + 1;		/* 0: no peer */
	snic_switch_learn(nic, sw, i, frame + SNIC_ETH_ALEN);
	peer_greet(nic, sw, i, frame);
}

/* Does a peer ask for an address? */
static bool frame_asks_address(const uint8_t *frame, size_t len)
{
	static const uint8_t none[4];
	struct snic_arp_packet a;

	return len >= SNIC_ARP_LEN && frame[12] == SNIC_ETHERTYPE_ARP >> 8 &&
	       frame[13] == (SNIC_ETHERTYPE_ARP & 0xff) &&
	       !snic_arp_parse(frame + SNIC_ETH_HLEN, len - SNIC_ETH_HLEN, &a) &&
	       a.oper == SNIC_ARP_REQUEST && !memcmp(a.spa, none, sizeof(none)) &&
	       !memcmp(a.tpa, none, sizeof(none));
}

bool snic_switch_place(struct snic *nic, struct snic_switch *sw, unsigned int port,
		       const void *frame, size_t len, unsigned int *ret_place)
{
	unsigned int first = sw->first_place[port], last = first + SNIC_PORT_PEERS;
	const uint8_t *src = (const uint8_t *)frame + SNIC_ETH_ALEN;
	struct snic_udp_addr peer;
	unsigned int i, owner;

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
	owner = snic_switch_elsewhere(nic, sw, i == last ? SNIC_MAX_PLACES : i, src);
	if (owner != SNIC_MAX_PLACES &&
	    !peer_gives_way(nic, sw, owner, sw->ports[port], &peer, frame, len)) {
		snic_stats(nic)->rx_spoofed++;
		return false;
	}
	if (i == last || place_is_free(nic, &sw->places[i])) {
		peer_prove(nic, sw, port, i, &peer, frame, len);
		return false;
	}
	sw->places[i].seen = snic_now(nic) + 1;
	*ret_place = i;
	if (frame_asks_address(frame, len)) {
		peer_greet(nic, sw, i, frame);
		return false;
	}
	/* The answer to a question is for nobody else. */
	return !snic_proof_ok(nic, &peer, frame, len);
}
