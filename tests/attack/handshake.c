// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A host with 16 addresses that begins handshakes and leaves them, at 2,000 packets a
 * second, each address with the cookie that it was given: an honest node that nobody
 * knows yet, and one that has lost its connections, are in within 5 seconds. With 10 seeds,
 * at night with 1,000.
 */
#include <string.h>
#include "attack.h"
#include "bed/cnode-priv.h"
#include "nightly.h"

#define ADDRESSES	16
#define PERIOD_NS	500000
#define PATIENCE_NS	(5 * UINT64_C(1000000000))
#define IP_LAST		33	/* byte of a frame: the last of the receiver's address */

static struct {
	struct attack_from from;
	typeof(attack_one.speaker.heard) heard;
} address[ADDRESSES];

/* The speaker acts as address i: it hears and says what is that address's. */
static void as_address(struct speaker *s, unsigned int i, void (*act)(struct speaker *s))
{
	struct attack_from own = s->own;

	s->own = address[i].from;
	s->heard = address[i].heard;
	act(s);
	address[i].heard = s->heard;
	s->own = own;
}

static uint8_t *heard_frame;
static size_t heard_len;

static void hear_frame(struct speaker *s)
{
	attack_hear(s, heard_frame, heard_len);
}

static uint64_t hear(void *arg, uint8_t *frame, size_t len)
{
	unsigned int i;

	heard_frame = frame;
	heard_len = len;
	for (i = 0; len > IP_LAST && i < ADDRESSES; i++)
		if (frame[IP_LAST] == ((uint8_t *)&address[i].from.ip)[3])
			as_address(&attack_one.speaker, i, hear_frame);
	return 0;
}

/* About as often as the period says. */
static void half_open(struct speaker *s)
{
	attacker_of(s)->period = PERIOD_NS / 2 + attack_random(s) % PERIOD_NS;
	as_address(s, s->nr % ADDRESSES, attack_kind_find("half-open handshakes")->say);
}

static void begin(unsigned int seed)
{
	unsigned int i;

	attack_open_more(CONF_AUTH_REQUIRED, 1);
	memset(address, 0, sizeof(address));
	for (i = 0; i < ADDRESSES; i++) {
		address[i].from = attack_one.speaker.own;
		((uint8_t *)&address[i].from.ip)[3] = 200 + i;
	}
	attack_one.speaker.random = seed;
	attack_one.wire.tap = hear;
	attack_begin(half_open, PERIOD_NS);
	bed_pass(&attack_bed, 1500);
}

/* Nanoseconds until it is in. */
static uint64_t come(void)
{
	struct bed_node *n = &attack_bed.nodes[1];
	uint64_t began = attack_bed.now;
	struct cnode_refusal no;

	n->cfg.nr_slots = 64;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	while (cnode_open(&n->cfg, &n->cnode, &no))
		assert_in_range(attack_bed.now - began, 0, PATIENCE_NS);
	return attack_bed.now - began;
}

static uint64_t come_again(void)
{
	uint64_t began = attack_bed.now;
	struct cnode_refusal no;

	cnode_lose(attack_bed.nodes[0].cnode, true);
	while (cnode_resume(attack_bed.nodes[0].cnode, &no))
		assert_in_range(attack_bed.now - began, 0, PATIENCE_NS);
	return attack_bed.now - began;
}

static void test_16_addresses(void **state)
{
	unsigned int seed, seeds = nightly() ? 1000 : 10;
	uint64_t ns, longest = 0;

	for (seed = 1; seed <= seeds; seed++) {
		begin(seed);
		assert_in_range(attack_bed.m.responder.nr_taken, RESPONDER_PLACES / 2,
				RESPONDER_PLACES);
		ns = come();
		longest = ns > longest ? ns : longest;
		ns = come_again();
		longest = ns > longest ? ns : longest;
		assert_in_range(longest, 1, PATIENCE_NS);
		load_verify(&attack_load);
		attack_close();
	}
	print_message("%u seeds: in after %lu us at most\n", seeds,
		      (unsigned long)longest / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_16_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
