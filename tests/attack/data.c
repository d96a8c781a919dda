// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Data packets in the name of an honest node, by somebody on its own network: he knows
 * the addresses, and queue pairs too, but neither the next number nor the port. And
 * stations: its MAC and IP address from another port, and an attacker who says at each
 * frame that he is somewhere else.
 */
#include <stdlib.h>
#include "attack.h"
#include "snic/transport/transport-priv.h"

#define EACH	3000

static uint8_t page[1024];

static void beside(const char *name, enum conf_auth auth,
		   void (*prepare)(struct attacker *a), void (*say)(struct speaker *s),
		   uint64_t (*noticed)(void))
{
	const struct attack attack = {
		.name = name, .auth = auth, .prepare = prepare, .say = say,
		.noticed = noticed, .period = EACH,
	};

	attack_beside_work(&attack);
}

/* A queue pair of the honest one's session, another one each time. */
static uint32_t some_qpn(struct speaker *s)
{
	const struct sess *sess = attack_bed.m.sess[0];
	struct queue *q = sess->queues[s->nr % sess->nr_queues]
				      [s->nr / sess->nr_queues % ODRP_WIRE_NR_CHAINS];

	return q ? q->client_qpn : sess->ctl.qpn;
}

static struct snic_pkt some_packet(struct speaker *s)
{
	static const uint8_t opcodes[] = {
		SNIC_OP_SEND_ONLY, SNIC_OP_SEND_ONLY_IMM, SNIC_OP_WRITE_ONLY,
		SNIC_OP_SEND_FIRST, SNIC_OP_SEND_LAST, SNIC_OP_WRITE_FIRST,
		SNIC_OP_READ_REQ, SNIC_OP_ACK, SNIC_OP_READ_RESP_ONLY,
		SNIC_OP_CMP_SWAP,
	};
	const struct sess *sess = attack_bed.m.sess[0];

	return (struct snic_pkt){
		.opcode = opcodes[attack_random(s) % sizeof(opcodes)],
		.qpn = some_qpn(s), .psn = attack_random(s) & SNIC_PSN_MASK,
		.va = SESS_BEAT_IOVA, .rkey = sess->beat_key,
		.dma_len = sizeof(page), .syndrome = SNIC_ACK_UNLIMITED,
		.ack_req = attack_random(s) & 1,
	};
}

static void say_packet(struct speaker *s, const struct attack_from *from)
{
	struct snic_pkt pkt = some_packet(s);
	bool empty = pkt.opcode == SNIC_OP_READ_REQ || pkt.opcode == SNIC_OP_ACK ||
		     pkt.opcode == SNIC_OP_CMP_SWAP;

	attack_pkt(s, from, pkt, page, empty ? 0 : sizeof(page));
}

static void behind_node(struct attacker *a)
{
	memset(page, 0x66, sizeof(page));
	a->behind_node = true;
}

/* Its MAC and its address; the port is a guess. */
static void guesses(struct speaker *s)
{
	struct attack_from from = s->node;

	from.port = 0xc000 + attack_random(s) % 0x3fff;
	say_packet(s, &from);
}

/* The number is one that is held until its turn has come: the port is still a guess. */
static void inside_the_window(struct speaker *s)
{
	struct attack_from from = s->node;
	struct snic_pkt pkt = some_packet(s);
	const struct snic_qp *qp = snic_qp_lookup(attack_bed.host.nic, pkt.qpn);

	assert_non_null(qp);
	from.port = 0xc000 + attack_random(s) % 0x3fff;
	pkt.opcode = s->nr % 2 ? SNIC_OP_SEND_ONLY : SNIC_OP_WRITE_ONLY;
	pkt.psn = snic_psn_add(qp->resp->epsn, 1 + attack_random(s) % 100);
	attack_pkt(s, &from, pkt, page, sizeof(page));
}

/* He knows all but where he has to be: his own address. */
static void other_address(struct speaker *s)
{
	say_packet(s, &s->own);
}

/* Any queue pair at all. */
static void any_queue_pair(struct speaker *s)
{
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .qpn = attack_random(s) & SNIC_QPN_MASK,
		.psn = attack_random(s) & SNIC_PSN_MASK,
	};

	attack_pkt(s, &s->node, pkt, page, sizeof(page));
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
static void as_another(struct speaker *s)
{
	say_packet(s, s->nr % 2 ? &s->node : &s->mnode);
}

static void test_stations(void **state)
{
	beside("as another", CONF_AUTH_REQUIRED, NULL,
	       as_another, attack_spoofed);
	beside("arp moves", CONF_AUTH_REQUIRED, NULL,
	       attack_kind_find("arp moves")->say, attack_spoofed);
	beside("cm moves", CONF_AUTH_REQUIRED, NULL,
	       attack_kind_find("cm moves")->say, attack_spoofed);
	beside("many stations", CONF_AUTH_REQUIRED, NULL,
	       attack_kind_find("many stations")->say, attack_spoofed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_packets),
		cmocka_unit_test(test_stations),
	};

	return bed_run_tests(tests);
}
