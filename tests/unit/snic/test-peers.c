// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port with several at its other end: they are told apart, none has what is for
 * another one, and their number is bounded.
 */
#include <endian.h>
#include <errno.h>
#include "bed/frame.h"
#include "bed/host.h"
#include "snic/net/priv.h"

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
	return 0;
}

static const struct snic_port_ops crowd_ops = {
	.peek = crowd_peek,
	.sender = crowd_sender,
	.send_to = crowd_send_to,
};

static void crowd_open(struct crowd *c)
{
	const struct snic_config cfg = host_config(NODE, 1);

	*c = (struct crowd) { .port.ops = &crowd_ops, .port.fd = -1, .now = SECOND };
	assert_int_equal(snic_new(&cfg, &c->nic), 0);
	assert_int_equal(snic_port_add(c->nic, &c->port), 0);
}

static struct snic_stats crowd_stats(const struct crowd *c)
{
	struct snic_stats stats;

	snic_get_stats(c->nic, &stats);
	return stats;
}

/* A frame from a peer, by a station for another one; 255: for all. */
static void say(struct crowd *c, unsigned int peer, uint8_t station, uint8_t to)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
	const uint8_t one[6] = { 2, 0, 0, 0, 0, to };
	uint64_t next;

	memset(c->frame, 0, sizeof(c->frame));
	frame_eth(c->frame, to == 255 ? all : one, station, 0x9000);
	c->len = 60;
	c->from = addr_of(peer);
	memset(c->sent, 0, sizeof(c->sent));
	assert_int_equal(snic_step(c->nic, c->now, &next), 0);
	assert_int_equal(c->len, 0);
}

/* Who has got how many of what was said last: two peers, and all. */
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
