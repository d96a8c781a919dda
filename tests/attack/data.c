// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Data packets in the name of an honest node, by somebody on its own network: he knows
 * the addresses, and queue pairs too, but neither the next number nor the port. And
 * stations: its MAC and IP address from another port, and an attacker who says at each
 * frame that he is somewhere else.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include "attack.h"
#include "bed/frame.h"
#include "snic/net/priv.h"
#include "snic/transport/priv.h"

#define EACH	3000

static uint8_t page[1024];

static void beside(const char *name, enum conf_auth auth,
		   void (*prepare)(struct attacker *a), void (*say)(struct attacker *a),
		   uint64_t (*noticed)(void))
{
	const struct attack attack = {
		.name = name, .auth = auth, .prepare = prepare, .say = say,
		.noticed = noticed, .period = EACH,
	};

	attack_beside_work(&attack);
}

/* A queue pair of the honest one's session, another one each time. */
static uint32_t some_qpn(struct attacker *a)
{
	const struct sess *s = a->bed->m.sess[0];
	struct queue *q = s->queues[a->nr % s->nr_queues]
				   [a->nr / s->nr_queues % ODRP_WIRE_NR_CHAINS];

	return q ? q->client_qpn : s->ctl.qpn;
}

static struct snic_pkt some_packet(struct attacker *a)
{
	static const uint8_t opcodes[] = {
		SNIC_OP_SEND_ONLY, SNIC_OP_SEND_ONLY_IMM, SNIC_OP_WRITE_ONLY,
		SNIC_OP_SEND_FIRST, SNIC_OP_SEND_LAST, SNIC_OP_WRITE_FIRST,
		SNIC_OP_READ_REQ, SNIC_OP_ACK, SNIC_OP_READ_RESP_ONLY,
		SNIC_OP_CMP_SWAP,
	};
	const struct sess *s = a->bed->m.sess[0];

	return (struct snic_pkt){
		.opcode = opcodes[attack_random(a) % sizeof(opcodes)],
		.qpn = some_qpn(a), .psn = attack_random(a) & SNIC_PSN_MASK,
		.va = (uintptr_t)s->beat, .rkey = s->beat_key,
		.dma_len = sizeof(page), .syndrome = SNIC_ACK_UNLIMITED,
		.ack_req = attack_random(a) & 1,
	};
}

static void say_packet(struct attacker *a, const struct attack_from *from)
{
	struct snic_pkt pkt = some_packet(a);
	bool empty = pkt.opcode == SNIC_OP_READ_REQ || pkt.opcode == SNIC_OP_ACK ||
		     pkt.opcode == SNIC_OP_CMP_SWAP;

	attack_pkt(a, from, pkt, page, empty ? 0 : sizeof(page));
}

static void behind_node(struct attacker *a)
{
	memset(page, 0x66, sizeof(page));
	a->behind_node = true;
}

/* Its MAC and its address; the port is a guess. */
static void guesses(struct attacker *a)
{
	const struct attack_from from = {
		.mac = ATTACK_NODE_MAC, .ip = ATTACK_NODE_IP,
		.port = 0xc000 + attack_random(a) % 0x3fff,
	};

	say_packet(a, &from);
}

/* The number is one that is held until its turn has come: the port is still a guess. */
static void inside_the_window(struct attacker *a)
{
	const struct attack_from from = {
		.mac = ATTACK_NODE_MAC, .ip = ATTACK_NODE_IP,
		.port = 0xc000 + attack_random(a) % 0x3fff,
	};
	struct snic_pkt pkt = some_packet(a);
	const struct snic_qp *qp = snic_qp_lookup(a->bed->host.nic, pkt.qpn);

	assert_non_null(qp);
	pkt.opcode = a->nr % 2 ? SNIC_OP_SEND_ONLY : SNIC_OP_WRITE_ONLY;
	pkt.psn = snic_psn_add(qp->resp->epsn, 1 + attack_random(a) % 100);
	attack_pkt(a, &from, pkt, page, sizeof(page));
}

/* He knows all but where he has to be: his own address. */
static void other_address(struct attacker *a)
{
	say_packet(a, &attack_own);
}

/* Any queue pair at all. */
static void any_queue_pair(struct attacker *a)
{
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .qpn = attack_random(a) & SNIC_QPN_MASK,
		.psn = attack_random(a) & SNIC_PSN_MASK,
	};

	attack_pkt(a, &attack_node, pkt, page, sizeof(page));
}

static void test_forged_packets(void **state)
{
	beside("guesses", CONF_AUTH_REQUIRED, behind_node,
	       guesses, attack_dropped);
	beside("inside the window", CONF_AUTH_REQUIRED, behind_node,
	       inside_the_window, attack_dropped);
	beside("other address", CONF_AUTH_REQUIRED, behind_node,
	       other_address, attack_received);
	beside("other address", CONF_AUTH_REQUIRED, NULL,
	       other_address, attack_received);
	beside("any queue pair", CONF_AUTH_REQUIRED, behind_node,
	       any_queue_pair, attack_unknown);
}

/* ---- stations --------------------------------------------------------------------- */

/* From his own port: as the honest node, or as the memory node. */
static void as_another(struct attacker *a)
{
	const struct attack_from from = {
		.mac = a->nr % 2 ? ATTACK_NODE_MAC : ATTACK_MNODE_MAC,
		.ip = a->nr % 2 ? ATTACK_NODE_IP : ATTACK_MNODE_IP,
	};

	say_packet(a, &from);
}

/* "That address is at my MAC": to all, unasked, and as an answer to the NIC. */
static void say_arp(struct attacker *a, __be32 ip, __be32 to, bool answer)
{
	uint8_t frame[60] = { 0 }, *p;

	p = frame_eth(frame, answer ? (uint8_t[6]){ 2, 0, 0, 0, 0, ATTACK_MNODE_MAC } :
		      (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, ATTACK_OWN_MAC,
		      SNIC_ETHERTYPE_ARP);
	frame_put16(p, 1);
	frame_put16(p + 2, SNIC_ETHERTYPE_IP);
	p[4] = 6;
	p[5] = 4;
	frame_put16(p + 6, answer ? 2 : 1);
	memcpy(p + 8, frame + 6, 6);
	memcpy(p + 14, &ip, 4);
	memcpy(p + 24, &to, 4);
	attack_frame(a, frame, sizeof(frame));
}

static void arp_moves(struct attacker *a)
{
	__be32 ip = a->nr % 3 ? ATTACK_NODE_IP : ATTACK_MNODE_IP;

	say_arp(a, ip, a->nr % 2 ? ATTACK_MNODE_IP : ip, a->nr % 4 < 2);
}

/* A packet to the CM from that address teaches the NIC nothing either. */
static void cm_moves(struct attacker *a)
{
	const struct attack_from from = {
		.mac = ATTACK_OWN_MAC, .ip = ATTACK_NODE_IP,
	};
	struct snic_cm_msg m = {
		.attr = SNIC_CM_RTU, .local_id = attack_random(a),
		.remote_id = attack_random(a),
	};

	attack_cm(a, &from, &m);
}

/* Another MAC and address in each frame: the tables are no larger for that. */
static void many_stations(struct attacker *a)
{
	const struct attack_from from = {
		.mac = 100 + attack_random(a) % 150,
		.ip = htonl(0x0a4d0000 + 0x80 + attack_random(a) % 100),
	};

	if (a->nr % 2)
		say_arp(a, from.ip, ATTACK_MNODE_IP, false);
	else
		say_packet(a, &from);
}

static void test_stations(void **state)
{
	beside("as another", CONF_AUTH_REQUIRED, NULL,
	       as_another, attack_spoofed);
	beside("arp moves", CONF_AUTH_REQUIRED, NULL,
	       arp_moves, attack_spoofed);
	beside("cm moves", CONF_AUTH_REQUIRED, NULL,
	       cm_moves, attack_spoofed);
	beside("many stations", CONF_AUTH_REQUIRED, NULL,
	       many_stations, attack_dropped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_packets),
		cmocka_unit_test(test_stations),
	};

	return bed_run_tests(tests);
}
