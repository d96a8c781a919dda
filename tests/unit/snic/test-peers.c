// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port with several at its other end: they are told apart, none has what is for
 * another one, and their number is bounded.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/frame.h"
#include "bed/host.h"
#include "snic/net/net-priv.h"

#define MOST	100		/* peers that a test has */
#define NODE	2		/* our own station's number */

/* A port whose peers are numbers; what it has sent to each is counted. */
struct crowd {
	struct snic_port port;
	struct snic *nic;
	uint64_t now;
	struct snic_udp_addr from;
	uint8_t frame[128];
	size_t len;
	unsigned int sent[MOST];
	uint8_t said[128];	/* the last frame that the NIC has sent */
	size_t said_len;
};

/* Peers 0 to 49 are at one address, the others at another one. */
static struct snic_udp_addr addr_of(unsigned int peer)
{
	return (struct snic_udp_addr) { .ip = host_ip(peer < 50 ? 1 : 2), .port = 1 + peer };
}

static int crowd_peek(struct snic_port *port, const void **ret_frame)
{
	struct crowd *c = (struct crowd *)port;
	int len = c->len;

	c->len = 0;
	*ret_frame = c->frame;
	return len;
}

static void crowd_sender(struct snic_port *port, struct snic_udp_addr *ret_peer)
{
	*ret_peer = ((struct crowd *)port)->from;
}

static int crowd_send_to(struct snic_port *port, const struct snic_udp_addr *peer,
			 const struct iovec *iov, int n)
{
	struct crowd *c = (struct crowd *)port;

	assert_in_range(peer->port, 1, MOST);
	assert_int_equal(peer->ip, addr_of(peer->port - 1).ip);
	c->sent[peer->port - 1]++;
	for (c->said_len = 0; n--; iov++) {
		assert_in_range(iov->iov_len, 0, sizeof(c->said) - c->said_len);
		memcpy(c->said + c->said_len, iov->iov_base, iov->iov_len);
		c->said_len += iov->iov_len;
	}
	return 0;
}

static const struct snic_port_ops crowd_ops = {
	.peek = crowd_peek,
	.sender = crowd_sender,
	.send_to = crowd_send_to,
};

static void crowd_open_at(struct crowd *c, __be32 ip)
{
	struct snic_config cfg = host_config(NODE, 1);

	cfg.ip = ip;
	*c = (struct crowd) { .port.ops = &crowd_ops, .port.fd = -1, .now = SECOND };
	assert_int_equal(snic_new(&cfg, &c->nic), 0);
	assert_int_equal(snic_port_add(c->nic, &c->port), 0);
}

static void crowd_open(struct crowd *c)
{
	crowd_open_at(c, host_ip(NODE));
}

static struct snic_stats crowd_stats(const struct crowd *c)
{
	struct snic_stats stats;

	snic_get_stats(c->nic, &stats);
	return stats;
}

/* The frame in c->frame arrives from a peer. */
static void arrive(struct crowd *c, unsigned int peer, size_t len)
{
	uint64_t next;

	c->len = len;
	c->from = addr_of(peer);
	memset(c->sent, 0, sizeof(c->sent));
	c->said_len = 0;
	assert_int_equal(snic_step(c->nic, c->now, &next), 0);
	assert_int_equal(c->len, 0);
}

/* A peer's station asks for ours. */
static void ask(struct crowd *c, unsigned int peer, uint8_t station)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

	snic_arp_put(c->frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REQUEST, .to = all,
		.mac = (uint8_t[6]) { 2, 0, 0, 0, 0, station },
		.ip = host_ip(station), .target_ip = host_ip(NODE),
	});
	arrive(c, peer, SNIC_ARP_LEN);
}

/* A peer's station answers the question in a frame. */
static void answer(struct crowd *c, unsigned int peer, uint8_t station,
		   const uint8_t *question)
{
	const uint8_t *mac = question + SNIC_ETH_ALEN;

	snic_arp_put(c->frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REPLY, .to = mac, .target_mac = mac,
		.mac = (uint8_t[6]) { 2, 0, 0, 0, 0, station },
		.ip = host_ip(station),
	});
	arrive(c, peer, SNIC_ARP_LEN);
}

/* A frame from a peer, by a station for another one; 255: for all. */
static void say_once(struct crowd *c, unsigned int peer, uint8_t station, uint8_t to)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
	const uint8_t one[6] = { 2, 0, 0, 0, 0, to };

	memset(c->frame, 0, sizeof(c->frame));
	frame_eth(c->frame, to == 255 ? all : one, station, 0x9000);
	arrive(c, peer, 60);
}

/* The same, by a peer that proves its address if need be. */
static void say(struct crowd *c, unsigned int peer, uint8_t station, uint8_t to)
{
	uint64_t unproved = crowd_stats(c).rx_unproved;

	say_once(c, peer, station, to);
	if (crowd_stats(c).rx_unproved == unproved)
		return;
	ask(c, peer, station);
	assert_int_equal(c->sent[peer], 1);
	answer(c, peer, station, c->said);
	say_once(c, peer, station, to);
}

/* Peers have got so many of what was said last: two peers, and all. */
static void expect_sent(const struct crowd *c, unsigned int a, unsigned int to_a,
			unsigned int b, unsigned int to_b, unsigned int in_all)
{
	unsigned int i, sum = 0;

	for (i = 0; i < MOST; i++)
		sum += c->sent[i];
	assert_int_equal(c->sent[a], to_a);
	assert_int_equal(c->sent[b], to_b);
	assert_int_equal(sum, in_all);
}

/* One, two, three at once: what is for one is sent to that one alone. */
static void test_three(void **state)
{
	struct crowd c;

	crowd_open(&c);
	say(&c, 0, 10, 255);
	expect_sent(&c, 0, 0, 1, 0, 0);		/* nobody else is there */
	say(&c, 1, 11, 255);
	expect_sent(&c, 0, 1, 1, 0, 1);
	say(&c, 2, 12, 255);
	expect_sent(&c, 0, 1, 1, 1, 2);
	say(&c, 0, 10, 11);
	expect_sent(&c, 1, 1, 2, 0, 1);
	say(&c, 1, 11, 12);
	expect_sent(&c, 2, 1, 0, 0, 1);
	say(&c, 2, 12, NODE);			/* for us */
	expect_sent(&c, 0, 0, 1, 0, 0);
	assert_int_equal(crowd_stats(&c).rx_spoofed, 0);
	assert_int_equal(crowd_stats(&c).tx_dropped, 0);
	snic_free(c.nic);
}

/* Our own frames as well: an answer goes to who has asked. */
static void test_answers(void **state)
{
	static const uint8_t one[6] = { 2, 0, 0, 0, 0, 11 };
	uint8_t frame[60] = { 0 };
	struct iovec iov = { frame, sizeof(frame) };
	struct crowd c;

	crowd_open(&c);
	say(&c, 0, 10, NODE);
	say(&c, 1, 11, NODE);
	memset(c.sent, 0, sizeof(c.sent));
	memcpy(frame, one, sizeof(one));
	snic_net_xmit(c.nic, &iov, 1);
	expect_sent(&c, 1, 1, 0, 0, 1);
	frame[5] = 12;				/* unknown: to both */
	snic_net_xmit(c.nic, &iov, 1);
	expect_sent(&c, 1, 2, 0, 1, 3);
	snic_free(c.nic);
}

/* Whoever sends with the address of a peer that is there is no peer. */
static void test_pretends(void **state)
{
	struct crowd c;

	crowd_open(&c);
	say(&c, 0, 10, 255);
	say(&c, 1, 11, 255);
	say(&c, 2, 10, 255);			/* a stranger */
	expect_sent(&c, 0, 0, 1, 0, 0);
	say(&c, 1, 10, 255);			/* one that has an address */
	expect_sent(&c, 0, 0, 2, 0, 0);
	say(&c, 2, NODE, 255);			/* or with ours */
	expect_sent(&c, 0, 0, 1, 0, 0);
	assert_int_equal(crowd_stats(&c).rx_spoofed, 2);
	assert_int_equal(crowd_stats(&c).rx_malformed, 1);
	say(&c, 1, 11, 10);
	expect_sent(&c, 0, 1, 2, 0, 1);		/* 2 has not become one */
	say(&c, 1, 11, 255);
	expect_sent(&c, 0, 1, 2, 0, 1);
	snic_free(c.nic);
}

/* Nor with that of one behind the next port. */
static void test_pretends_across(void **state)
{
	struct crowd c, next;

	crowd_open(&c);
	next = (struct crowd) { .port = c.port };
	next.port.fd = -1;
	assert_int_equal(snic_port_add(c.nic, &next.port), 0);
	next.nic = c.nic;
	next.now = c.now;
	say(&next, 0, 20, 255);
	say(&c, 50, 20, 255);
	assert_int_equal(crowd_stats(&c).rx_spoofed, 1);
	say(&next, 0, 20, 255);
	expect_sent(&c, 50, 0, 0, 0, 0);	/* it has no place */
	snic_free(c.nic);
}

/* Comes again from another port: has its address once the first one is silent. */
static void test_comes_again(void **state)
{
	struct crowd c;

	crowd_open(&c);
	say(&c, 0, 10, 255);
	say(&c, 1, 11, 255);
	c.now += 9 * SECOND;
	say(&c, 2, 10, 255);
	expect_sent(&c, 1, 0, 0, 0, 0);
	c.now += SECOND;
	say(&c, 2, 10, 255);
	expect_sent(&c, 1, 1, 2, 0, 2);		/* the first one is not forgotten */
	say(&c, 1, 11, 10);
	expect_sent(&c, 2, 1, 0, 0, 1);
	say(&c, 0, 10, 255);			/* now it is the one that pretends */
	expect_sent(&c, 1, 0, 2, 0, 0);
	assert_int_equal(crowd_stats(&c).rx_spoofed, 2);
	snic_free(c.nic);
}

/* As many as there are places, half of them at one address, and not one more. */
static void test_bounds(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_open(&c);
	for (i = 0; i < 40; i++)
		say(&c, i, 10 + i, 255);
	assert_int_equal(crowd_stats(&c).rx_no_place, 40 - SNIC_PORT_PEERS / 2);
	expect_sent(&c, 0, 0, 31, 0, 0);	/* who has no place is not heard */
	for (i = 50; i < 50 + SNIC_PORT_PEERS / 2 + 1; i++)
		say(&c, i, 10 + i, 255);
	assert_int_equal(crowd_stats(&c).rx_no_place, 40 - SNIC_PORT_PEERS / 2 + 1);
	say(&c, 31, 41, 255);
	expect_sent(&c, 31, 0, 81, 1, SNIC_PORT_PEERS - 1);
	snic_free(c.nic);
}

/* The place of the one that is silent for the longest time, without its stations. */
static void test_makes_place(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_open(&c);
	for (i = 0; i < SNIC_PORT_PEERS; i++) {
		say(&c, i % 2 ? 50 + i / 2 : i / 2, 10 + i, 255);
		c.now++;
	}
	c.now += 10 * SECOND;
	for (i = 2; i < SNIC_PORT_PEERS; i++)	/* all but 0 and 50 speak */
		say(&c, i % 2 ? 50 + i / 2 : i / 2, 10 + i, NODE);
	say(&c, 99, 200, 255);
	expect_sent(&c, 0, 0, 50, 1, SNIC_PORT_PEERS - 1);
	say(&c, 1, 12, 10);			/* peer 0's: may be anywhere, not at 99 */
	expect_sent(&c, 99, 1, 50, 1, SNIC_PORT_PEERS - 1);
	say(&c, 40, 201, 255);
	expect_sent(&c, 50, 0, 99, 1, SNIC_PORT_PEERS - 1);
	assert_int_equal(crowd_stats(&c).rx_no_place, 0);
	say(&c, 41, 202, 255);			/* and nobody else is silent */
	expect_sent(&c, 99, 0, 40, 0, 0);
	assert_int_equal(crowd_stats(&c).rx_no_place, 1);
	snic_free(c.nic);
}

/* Ports are refused that have one of both functions, and those beyond the places. */
static void test_add(void **state)
{
	struct snic_port_ops half = crowd_ops;
	struct snic_port bad = { .ops = &half, .fd = -1 };
	struct crowd c, more[SNIC_MAX_PLACES / SNIC_PORT_PEERS];
	unsigned int i;

	crowd_open(&c);
	half.sender = NULL;
	assert_int_equal(snic_port_add(c.nic, &bad), -EINVAL);
	half.sender = crowd_sender;
	half.send_to = NULL;
	assert_int_equal(snic_port_add(c.nic, &bad), -EINVAL);
	for (i = 1; i < SNIC_MAX_PLACES / SNIC_PORT_PEERS; i++) {
		more[i] = (struct crowd) { .port = c.port };
		assert_int_equal(snic_port_add(c.nic, &more[i].port), 0);
	}
	assert_int_equal(snic_port_add(c.nic, &c.port), -ENOSPC);
	snic_free(c.nic);
}

/* Whoever has proved nothing gets one question for each frame that may be answered, which
 * is no longer than that, and nothing else; and what he says is not heard. */
static void test_unproved(void **state)
{
	struct crowd c;

	crowd_open(&c);
	say(&c, 50, 20, 255);
	say_once(&c, 0, 10, 255);
	expect_sent(&c, 0, 0, 50, 0, 0);
	ask(&c, 0, 10);
	expect_sent(&c, 0, 1, 50, 0, 1);
	assert_int_equal(c.said_len, SNIC_ARP_LEN);
	say(&c, 50, 20, 255);			/* a broadcast */
	expect_sent(&c, 0, 0, 50, 0, 0);
	say(&c, 50, 20, 10);			/* for a station that was not heard */
	expect_sent(&c, 0, 0, 50, 0, 0);
	c.now += SECOND;			/* nothing is repeated */
	say(&c, 50, 20, NODE);
	expect_sent(&c, 0, 0, 50, 0, 0);
	ask(&c, 0, 10);
	assert_int_equal(c.frame[12], 0x08);
	arrive(&c, 0, SNIC_ARP_LEN - 1);	/* too short for a question */
	expect_sent(&c, 0, 0, 50, 0, 0);
	snic_free(c.nic);
}

/* A datagram that is forged in the name of another NIC does not make the two ask each
 * other: a question is worth no question. */
static void test_two_nics(void **state)
{
	struct crowd c[2], *to = c, *from;
	unsigned int i, sent;

	crowd_open(&c[0]);
	crowd_open(&c[1]);
	ask(to, 0, 10);				/* peer 0 of each is the other one */
	sent = to->sent[0];
	for (i = 0; i < 10 && to->said_len; i++) {
		from = to;
		to = &c[from == c];
		memcpy(to->frame, from->said, from->said_len);
		arrive(to, 0, from->said_len);
		sent += to->sent[0];
	}
	assert_int_equal(sent, 1);
	snic_free(c[0].nic);
	snic_free(c[1].nic);
}

/* The answer to a question, from where it was sent, in time, makes a peer; and the peer
 * learns at once who we are. */
static void test_proves(void **state)
{
	uint8_t question[128];
	struct crowd c;

	crowd_open(&c);
	say(&c, 50, 20, 255);
	ask(&c, 0, 10);
	memcpy(question, c.said, sizeof(question));
	answer(&c, 1, 10, question);		/* from elsewhere: asked in turn */
	expect_sent(&c, 0, 0, 1, 1, 1);
	assert_memory_not_equal(c.said + 6, question + 6, 6);
	question[7] ^= 1;			/* guessed */
	answer(&c, 0, 10, question);
	say(&c, 50, 20, 255);
	expect_sent(&c, 0, 0, 50, 0, 0);
	question[7] ^= 1;
	c.now += 9 * SECOND;			/* too late */
	answer(&c, 0, 10, question);
	say(&c, 50, 20, 255);
	expect_sent(&c, 0, 0, 50, 0, 0);
	ask(&c, 0, 10);
	answer(&c, 0, 10, c.said);
	expect_sent(&c, 0, 1, 50, 0, 1);
	assert_memory_equal(c.said, ((uint8_t[]) { 2, 0, 0, 0, 0, 10 }), 6);
	assert_memory_equal(c.said + 6, ((uint8_t[]) { 2, 0, 0, 0, 0, NODE }), 6);
	assert_memory_equal(c.said + 28, &(__be32) { host_ip(NODE) }, 4);
	say(&c, 50, 20, 255);
	expect_sent(&c, 0, 1, 50, 0, 1);
	say(&c, 50, 20, 10);
	expect_sent(&c, 0, 1, 50, 0, 1);
	snic_free(c.nic);
}

/* A peer that was silent may have left its address to another one: it proves it again. */
static void test_proves_again(void **state)
{
	struct crowd c;

	crowd_open(&c);
	say(&c, 0, 10, 255);
	say(&c, 50, 20, 255);
	c.now += 10 * SECOND;
	ask(&c, 0, 10);
	expect_sent(&c, 0, 1, 50, 0, 1);	/* a question, no answer */
	assert_memory_not_equal(c.said + 6, ((uint8_t[]) { 2, 0, 0, 0, 0, NODE }), 6);
	answer(&c, 0, 10, c.said);
	ask(&c, 0, 10);
	expect_sent(&c, 0, 1, 50, 1, 2);
	snic_free(c.nic);
}

/* Station 10 of peer 0 tells its address; a second later peer 1 claims it. */
static void crowd_claimed(struct crowd *c)
{
	crowd_open(c);
	say(c, 0, 10, NODE);
	ask(c, 0, 10);
	c->now += SECOND;
	ask(c, 1, 10);
	expect_sent(c, 0, 1, 1, 0, 1);
}

/* The successor of a peer has its address when the peer does not answer any more. */
static void test_restarts(void **state)
{
	struct crowd c;

	crowd_claimed(&c);
	assert_memory_equal(c.said, ((uint8_t[]) { 2, 0, 0, 0, 0, 10 }), 6);
	ask(&c, 1, 10);				/* it is not asked each time */
	expect_sent(&c, 0, 0, 1, 0, 0);
	c.now += SECOND / 5;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	c.now += 2 * (SECOND / 5);
	ask(&c, 1, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	c.now += 4 * (SECOND / 5);
	ask(&c, 1, 10);				/* now the successor is asked itself */
	expect_sent(&c, 0, 0, 1, 1, 1);
	answer(&c, 1, 10, c.said);
	say_once(&c, 1, 10, NODE);
	assert_int_equal(crowd_stats(&c).rx_unproved, 2);
	say(&c, 50, 20, 255);
	expect_sent(&c, 0, 0, 1, 1, 1);
	snic_free(c.nic);
}

/* One claim has all questions asked: the second one, though late, is heard. */
static void test_claims_lost(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_claimed(&c);
	for (i = 0; i < 6; i++) {
		c.now += SECOND / 5;
		arrive(&c, 1, 0);		/* nothing */
		expect_sent(&c, 0, i < 2, 1, 0, i < 2);
	}
	ask(&c, 1, 10);
	expect_sent(&c, 0, 0, 1, 1, 1);
	answer(&c, 1, 10, c.said);
	say_once(&c, 1, 10, NODE);
	snic_free(c.nic);
}

/* A peer whose frames this NIC only forwards is heard as well: it asks this NIC nothing. */
static void test_restarts_forwarded(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_open(&c);
	say(&c, 0, 10, 20);
	for (i = 0; i < 3; i++) {
		c.now += SECOND / 2;
		ask(&c, 1, 10);
		expect_sent(&c, 0, 1, 1, 0, 1);
	}
	c.now += SECOND;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 0, 1, 1, 1);
	answer(&c, 1, 10, c.said);
	say_once(&c, 1, 10, NODE);
	assert_int_equal(crowd_stats(&c).rx_unproved, 2);
	snic_free(c.nic);
}

/* A living, idle peer is not gone because one datagram was lost, however many claim its
 * address at once: it has time to answer after each question. */
static void test_one_lost(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_claimed(&c);			/* the question is lost */
	say(&c, 50, 20, NODE);
	c.now += SECOND;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	for (i = 0; i < 3; i++) {
		ask(&c, 1, 10);
		expect_sent(&c, 0, 0, 1, 0, 0);
	}
	c.now += SECOND / 5;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	c.now += SECOND / 2;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 0, 1, 0, 0);
	say(&c, 0, 10, NODE);
	say(&c, 50, 20, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	snic_free(c.nic);
}

/* A peer that does not answer keeps its place, too, until the one that claims its address
 * has proved where it is. */
static void test_claim_unproved(void **state)
{
	struct crowd c;
	unsigned int i;

	crowd_open(&c);
	say(&c, 50, 20, NODE);
	say(&c, 0, 10, NODE);
	ask(&c, 0, 10);
	for (i = 0; i < 3; i++) {
		c.now += SECOND / 5;
		ask(&c, 1, 10);
		expect_sent(&c, 0, 1, 1, 0, 1);
	}
	c.now += SECOND;
	ask(&c, 1, 10);
	expect_sent(&c, 0, 0, 1, 1, 1);
	say(&c, 50, 20, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);
	ask(&c, 0, 10);				/* it lives after all */
	expect_sent(&c, 0, 1, 50, 1, 2);
	ask(&c, 1, 10);
	expect_sent(&c, 0, 1, 1, 0, 1);		/* the questions begin anew */
	snic_free(c.nic);
}

/* A peer that lives keeps its address, and nobody else gets what it answers. */
static void test_lives_on(void **state)
{
	struct crowd c;
	unsigned int i, asked = 0;

	crowd_open(&c);
	say(&c, 50, 20, 255);
	say(&c, 0, 10, NODE);
	ask(&c, 0, 10);
	for (i = 0; i < 40; i++) {
		c.now += SECOND / 10;
		ask(&c, 1, 10);
		assert_int_equal(c.sent[1], 0);
		if (!c.sent[0])
			continue;
		asked++;
		c.now++;
		answer(&c, 0, 10, c.said);
		expect_sent(&c, 50, 0, 1, 0, 0);
	}
	assert_in_range(asked, 3, 5);		/* once a second */
	assert_int_equal(crowd_stats(&c).rx_spoofed, 40);
	/* Whatever address the other one names: the peer is asked for its own. */
	c.now += SECOND;
	snic_arp_put(c.frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REQUEST, .mac = (uint8_t[6]) { 2, 0, 0, 0, 0, 10 },
		.to = (uint8_t[6]) { 255, 255, 255, 255, 255, 255 },
		.ip = host_ip(77), .target_ip = host_ip(NODE),
	});
	arrive(&c, 1, SNIC_ARP_LEN);
	expect_sent(&c, 0, 1, 1, 0, 1);
	assert_memory_equal(c.said + 38, &(__be32) { host_ip(10) }, 4);
	snic_free(c.nic);
}

/* A station asks for an address: the IPv4 address that it gets. */
static uint32_t address_for(struct crowd *c, unsigned int peer)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
	uint32_t ip;

	snic_arp_put(c->frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REQUEST, .to = all, .mac = (uint8_t[6]) { 2, 9, peer },
	});
	arrive(c, peer, SNIC_ARP_LEN);
	assert_int_equal(c->sent[peer], 1);
	if (c->said[21] == SNIC_ARP_REQUEST) {	/* first it is asked */
		snic_arp_put(c->frame, &(struct snic_arp_fields) {
			.oper = SNIC_ARP_REPLY, .to = c->said + 6,
			.mac = (uint8_t[6]) { 2, 9, peer },
		});
		arrive(c, peer, SNIC_ARP_LEN);
		assert_int_equal(c->sent[peer], 1);
	}
	assert_int_equal(c->said[21], SNIC_ARP_REPLY);
	memcpy(&ip, c->said + 38, sizeof(ip));
	return be32toh(ip);
}

/* A peer that has no address gets one of its own, always the same. */
static void test_addresses(void **state)
{
	struct crowd c;
	uint32_t ip[3];
	unsigned int i;

	crowd_open(&c);
	for (i = 0; i < 3; i++) {
		ip[i] = address_for(&c, i);
		assert_int_equal(ip[i] >> 22, 0x64400000 >> 22);
		assert_int_equal(address_for(&c, i), ip[i]);
	}
	assert_int_not_equal(ip[0], ip[1]);
	assert_int_not_equal(ip[1], ip[2]);
	c.now += 20 * SECOND;
	assert_int_equal(address_for(&c, 0), ip[0]);
	snic_free(c.nic);
}

/* The address of another peer, or of the NIC itself, is given to nobody. */
static void test_address_taken(void **state)
{
	const uint8_t other[6] = { 2, 0, 0, 0, 0, 11 };
	struct crowd c;
	uint32_t ip, next;

	crowd_open(&c);
	ip = address_for(&c, 0);
	say(&c, 1, 11, NODE);
	assert_true(snic_arp_heard(c.nic, &snic_net_of(c.nic)->arp, htobe32(ip), other));
	next = address_for(&c, 0);
	assert_int_not_equal(next, ip);
	assert_int_equal(next >> 22, 0x64400000 >> 22);
	assert_int_equal(address_for(&c, 0), next);
	c.now += 10 * SECOND;			/* nobody knows where that one is */
	assert_int_equal(address_for(&c, 0), ip);
	snic_free(c.nic);
	crowd_open_at(&c, htobe32(ip));
	assert_int_equal(address_for(&c, 0), next);
	snic_free(c.nic);
}

static bool collide;	/* all peers have the same addresses to choose from */

__be32 __real_snic_proof_address(struct snic *nic, const struct snic_udp_addr *peer,
				 unsigned int n);
__be32 __wrap_snic_proof_address(struct snic *nic, const struct snic_udp_addr *peer,
				 unsigned int n);

__be32 __wrap_snic_proof_address(struct snic *nic, const struct snic_udp_addr *peer,
				 unsigned int n)
{
	return collide ? htobe32(0x64400001 + n) :
			 __real_snic_proof_address(nic, peer, n);
}

static void expect_refused(struct crowd *c, unsigned int peer, enum snic_refusal why)
{
	const struct snic_udp_addr addr = addr_of(peer);
	struct snic_refused r;

	assert_true(snic_take_refused(c->nic, &r));
	assert_int_equal(r.peer.ip, addr.ip);
	assert_int_equal(r.peer.port, addr.port);
	assert_int_equal(r.why, why);
}

/*
 * Peers ask before any has spoken in the name of its address: nobody has another one's,
 * and who gets none is told.  One that is silent for long gives its address back.
 */
static void test_same_moment(void **state)
{
	struct snic_refused r;
	struct crowd c;
	unsigned int i;

	collide = true;
	crowd_open(&c);
	for (i = 0; i < 4; i++)
		assert_int_equal(address_for(&c, i), 0x64400001 + i);
	assert_false(snic_take_refused(c.nic, &r));
	assert_int_equal(address_for(&c, 60), SNIC_NO_ADDRESS);
	expect_refused(&c, 60, SNIC_NO_ADDRESS);
	for (i = 0; i < 4; i++)
		assert_int_equal(address_for(&c, i), 0x64400001 + i);
	c.now += 9 * SECOND;
	for (i = 1; i < 4; i++)
		address_for(&c, i);
	c.now += 2 * SECOND;
	assert_int_equal(address_for(&c, 60), 0x64400001);
	assert_int_equal(address_for(&c, 0), SNIC_NO_ADDRESS);
	snic_free(c.nic);
	collide = false;
}

/*
 * The NIC tells a peer that has proved its address why the peer gets no place.  A table of
 * bounded size keeps these refusals for the agent.
 */
static void test_told(void **state)
{
	unsigned int i, n = SNIC_PORT_PEERS / 2;
	struct snic_refused r;
	struct crowd c;

	crowd_open(&c);
	for (i = 0; i < n; i++)
		say(&c, i, 10 + i, 255);
	for (; i < 49; i++) {
		ask(&c, i, 10 + i);
		assert_int_equal(c.said[21], SNIC_ARP_REQUEST);
		answer(&c, i, 10 + i, c.said);
		expect_sent(&c, i, 1, 0, 0, 1);
		assert_int_equal(c.said_len, SNIC_ARP_LEN);
		assert_int_equal(c.said[21], SNIC_ARP_REPLY);
		assert_memory_equal(c.said + 38, &(__be32) { htobe32(SNIC_NO_PLACE) }, 4);
	}
	for (i = 0; i < SNIC_MAX_REFUSED; i++)
		expect_refused(&c, n + i, SNIC_NO_PLACE);
	assert_false(snic_take_refused(c.nic, &r));
	snic_free(c.nic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_pretends),
		cmocka_unit_test(test_pretends_across),
		cmocka_unit_test(test_comes_again),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_makes_place),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_unproved),
		cmocka_unit_test(test_two_nics),
		cmocka_unit_test(test_proves),
		cmocka_unit_test(test_proves_again),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_restarts_forwarded),
		cmocka_unit_test(test_claims_lost),
		cmocka_unit_test(test_one_lost),
		cmocka_unit_test(test_claim_unproved),
		cmocka_unit_test(test_lives_on),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_address_taken),
		cmocka_unit_test(test_same_moment),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
