// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The attacker, and the honest node beside him; see attack.h. */
#include <arpa/inet.h>
#include <string.h>
#include "attack.h"

#define SLOTS	200
#define QUEUES	2
#define WORK	1500
#define WQE_NS	1000

struct bed attack_bed;
struct load attack_load;
struct attacker attack_one;

/* The host of that number in the bed, which has the next address. */
static struct attack_from host_from(uint8_t host)
{
	return (struct attack_from){
		.mac = { 2, 0, 0, 0, 0, host }, .ip = htonl(0x0a4d0001 + host),
	};
}

/* ---- when ---------------------------------------------------------------------- */

static uint64_t attacker_next(struct snic_actor *actor, uint64_t now)
{
	struct attacker *a = (struct attacker *)actor;

	return a->say ? a->at : SNIC_NEVER;
}

static int attacker_step(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost)
{
	struct attacker *a = (struct attacker *)actor;

	a->say(&a->speaker);
	a->speaker.nr++;
	a->at = now + a->period;
	return 0;
}

static const struct snic_actor_ops attacker_ops = {
	.next = attacker_next, .step = attacker_step,
};

void attack_begin(void (*say)(struct speaker *s), uint64_t period)
{
	attack_one.period = period;
	attack_one.at = attack_bed.now;
	attack_one.say = say;
}

void attack_end(void)
{
	attack_one.say = NULL;
}

static void attacker_send(struct speaker *s, const void *frame, size_t len)
{
	struct attacker *a = attacker_of(s);
	struct snic_port *port = a->bed->nodes[0].ports[0];
	struct iovec iov = { (void *)frame, len };

	if (a->behind_node) {
		/* What does not fit any more is lost. */
		port->ops->send(port, &iov, 1);
		if (port->ops->flush)
			port->ops->flush(port);
	} else {
		link_inject(&a->wire, frame, len, 0);
	}
}

void attack_open(enum conf_auth auth)
{
	attack_open_more(auth, 0);
}

void attack_open_more(enum conf_auth auth, unsigned int more)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.auth = auth;
	o.cost_ns = WQE_NS;
	bed_open(&attack_bed, &o, 1 + more);
	attack_one = (struct attacker){
		.actor.ops = &attacker_ops, .bed = &attack_bed,
		.speaker = {
			.send = attacker_send, .random = 1, .mnode = host_from(0),
			.node = host_from(1), .own = host_from(98),
		},
	};
	link_port_init(&attack_one.wire, &attack_bed.vt);
	assert_int_equal(snic_port_add(attack_bed.host.nic, &attack_one.wire.port), 0);
	snic_vt_add(&attack_bed.vt, &attack_one.actor);
	bed_connect(&attack_bed, 0, SLOTS, QUEUES, 7);
	load_init(&attack_load, &attack_bed, 0, SLOTS, 1);
	load_run(&attack_load, 300);
}

void attack_close(void)
{
	attack_end();
	load_fini(&attack_load);
	snic_vt_remove(&attack_bed.vt, &attack_one.actor);
	bed_close(&attack_bed);
	link_port_fini(&attack_one.wire);
}

/* ---- the honest one -------------------------------------------------------------- */

uint64_t attack_work(unsigned int requests)
{
	uint64_t began = attack_bed.now;

	load_run(&attack_load, requests);
	return attack_bed.now - began;
}

static uint64_t quiet_work(enum conf_auth auth)
{
	uint64_t ns;

	attack_open(auth);
	ns = attack_work(WORK);
	attack_close();
	return ns;
}

/* Its admin connection and all others. */
static void expect_connected(void)
{
	unsigned int n, c;

	assert_true(sess_attached(attack_bed.m.sess[0]));
	assert_int_equal(attack_bed.m.sess_resumed, 0);
	assert_int_equal(attack_bed.m.queues_broken, 0);
	for (n = 0; n < QUEUES; n++)
		for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
			assert_false(cnode_broken(attack_bed.nodes[0].cnode, n, c));
}

uint64_t attack_refused(void)
{
	uint64_t sum = attack_bed.m.responder.cookies + attack_bed.m.responder.full;
	unsigned int i;

	for (i = 0; i <= ODRP_WIRE_E_NO_SWAP; i++)
		sum += attack_bed.m.rejects[i];
	return sum + host_stats(&attack_bed.host).cm_stale;
}

uint64_t attack_unknown(void)
{
	struct snic_stats st = host_stats(&attack_bed.host);

	return st.cm_unknown + st.rx_no_qp + st.rx_cm_malformed;
}

uint64_t attack_spoofed(void)
{
	return host_stats(&attack_bed.host).rx_spoofed;
}

uint64_t attack_dropped(void)
{
	struct snic_stats st = host_stats(&attack_bed.host);

	return st.out_of_sequence + st.rx_strange + st.duplicates + st.forwarded;
}

uint64_t attack_received(void)
{
	return host_stats(&attack_bed.host).rx_frames;
}

void attack_beside_work(const struct attack *attack)
{
	uint64_t quiet = quiet_work(attack->auth), ns;

	attack_open(attack->auth);
	if (attack->prepare)
		attack->prepare(&attack_one);
	attack_begin(attack->say, attack->period);
	ns = attack_work(WORK);
	print_message("%s: %lu frames, %lu noticed: %lu us for %u requests, without "
		      "them %lu us\n", attack->name, (unsigned long)attack_one.speaker.frames,
		      (unsigned long)attack->noticed(), (unsigned long)ns / 1000, WORK,
		      (unsigned long)quiet / 1000);
	/* Else nobody was attacked. */
	assert_in_range(attack->noticed(), attack_one.speaker.frames / 4, UINT64_MAX);
	assert_in_range(attack_one.speaker.nr, 50, UINT64_MAX);
	print_message("%s: %u %% of the rate without\n", attack->name,
		      (unsigned int)(quiet * 100 / ns));
	assert_in_range(ns, 1, quiet * 10 / 9);
	expect_connected();
	load_verify(&attack_load);
	attack_end();
	bed_pass(&attack_bed, 1500);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.nr_sess, 1);
	if (attack->auth == CONF_AUTH_REQUIRED)
		assert_int_equal(attack_bed.m.sess_total, 1);
	bed_check(&attack_bed, attack_load.mapped);
	attack_close();
}
