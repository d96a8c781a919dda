// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The attacker, and the honest node beside him; see attack.h. */
#include <arpa/inet.h>
#include <string.h>
#include "attack.h"
#include "bed/frame.h"
#include "snic/net/priv.h"

#define SLOTS	200
#define QUEUES	2
#define WORK	1500
#define WQE_NS	1000

struct bed attack_bed;
struct load attack_load;
struct attacker attack_one;
struct attack_from attack_own = { .mac = ATTACK_OWN_MAC };
struct attack_from attack_node = { .mac = ATTACK_NODE_MAC };

uint32_t attack_random(struct attacker *a)
{
	a->random = a->random * 6364136223846793005ull + 1442695040888963407ull;
	return a->random >> 33;
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

	a->say(a);
	a->nr++;
	a->at = now + a->period;
	return 0;
}

static const struct snic_actor_ops attacker_ops = {
	.next = attacker_next, .step = attacker_step,
};

void attack_begin(void (*say)(struct attacker *a), uint64_t period)
{
	attack_one.period = period;
	attack_one.at = attack_bed.now;
	attack_one.say = say;
}

void attack_end(void)
{
	attack_one.say = NULL;
}

void attack_open(enum conf_auth auth)
{
	struct bed_options o;

	attack_own.ip = ATTACK_OWN_IP;
	attack_node.ip = ATTACK_NODE_IP;
	bed_options(&o);
	o.conf.auth = auth;
	o.cost_ns = WQE_NS;
	bed_open(&attack_bed, &o, 1);
	attack_one = (struct attacker){
		.actor.ops = &attacker_ops, .bed = &attack_bed, .random = 1,
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

/* ---- what ---------------------------------------------------------------------- */

void attack_frame(struct attacker *a, const void *frame, size_t len)
{
	struct snic_port *port = a->bed->nodes[0].ports[0];
	struct iovec iov = { (void *)frame, len };

	a->frames++;
	if (a->behind_node) {
		/* What does not fit any more is lost. */
		port->ops->send(port, &iov, 1);
		if (port->ops->flush)
			port->ops->flush(port);
	} else {
		link_inject(&a->wire, frame, len, 0);
	}
}

void attack_roce(struct attacker *a, const struct attack_from *from, const void *bth,
		 size_t len)
{
	const __be32 to = ATTACK_MNODE_IP;
	uint8_t frame[ATTACK_FRAME];
	size_t n = frame_roce(frame, from->mac, ATTACK_MNODE_MAC, bth, len);

	memcpy(frame + SNIC_ETH_HLEN + 12, &from->ip, sizeof(from->ip));
	memcpy(frame + SNIC_ETH_HLEN + 16, &to, sizeof(to));
	if (from->port)
		frame_put16(frame + SNIC_ETH_HLEN + SNIC_IP_HLEN, from->port);
	frame_fix(frame, n);
	attack_frame(a, frame, n);
}

void attack_pkt(struct attacker *a, const struct attack_from *from, struct snic_pkt pkt,
		const void *payload, size_t len)
{
	uint8_t bth[ATTACK_FRAME - SNIC_NET_HLEN - SNIC_ICRC_LEN];
	size_t n;

	pkt.pkey = SNIC_PKEY_DEFAULT;
	n = snic_pkt_build(&pkt, bth);
	assert_in_range(n + len, 1, sizeof(bth));
	memcpy(bth + n, payload, len);
	attack_roce(a, from, bth, n + len);
}

void attack_cm(struct attacker *a, const struct attack_from *from,
	       const struct snic_cm_msg *msg)
{
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_UD_SEND_ONLY, .qpn = 1, .qkey = SNIC_GSI_QKEY,
		.src_qpn = 1,
	};
	uint8_t mad[SNIC_MAD_LEN];

	assert_int_equal(snic_cm_build(msg, mad), 0);
	attack_pkt(a, from, pkt, mad, sizeof(mad));
}

struct snic_cm_msg attack_req(struct attacker *a, const struct attack_from *from,
			      uint32_t qpn, const void *said, size_t len, uint8_t *priv)
{
	uint32_t id = attack_random(a);
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REQ, .tid = id, .local_id = id,
		.req = {
			.service_id = SNIC_CM_SERVICE_TCP | ODRP_WIRE_PORT,
			.ca_guid = 0xfffe000000ull | from->mac, .qpn = qpn,
			.psn = id & SNIC_PSN_MASK,
			.responder_resources = 4, .initiator_depth = 4,
			.remote_timeout = 20, .local_timeout = 20, .retry_cnt = 7,
			.rnr_retry = 7, .max_retries = 15, .pkey = SNIC_PKEY_DEFAULT,
			.mtu = 3, .hop_limit = 64, .ack_timeout = 19,
		},
		.priv = priv, .priv_len = SNIC_CM_REQ_PRIV,
	};
	const struct snic_cm_ip_hdr hdr = {
		.src_port = 4000, .src = from->ip, .dst = ATTACK_MNODE_IP,
	};

	memset(priv, 0, SNIC_CM_REQ_PRIV);
	snic_cm_build_ip_hdr(&hdr, priv);
	assert_in_range(len, 0, SNIC_CM_REQ_PRIV - SNIC_CM_IP_HDR);
	memcpy(priv + SNIC_CM_IP_HDR, said, len);
	snic_gid_of_ip(from->ip, m.req.local_gid);
	snic_gid_of_ip(ATTACK_MNODE_IP, m.req.remote_gid);
	return m;
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
	uint64_t sum = attack_bed.m.door.cookies + attack_bed.m.door.full;
	unsigned int i;

	for (i = 0; i <= ODRP_WIRE_E_AUTH; i++)
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
		      "them %lu us\n", attack->name, (unsigned long)attack_one.frames,
		      (unsigned long)attack->noticed(), (unsigned long)ns / 1000, WORK,
		      (unsigned long)quiet / 1000);
	/* Else nobody was attacked. */
	assert_in_range(attack->noticed(), attack_one.frames / 4, UINT64_MAX);
	assert_in_range(attack_one.nr, 50, UINT64_MAX);
	assert_in_range(ns, 1, 2 * quiet);
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
