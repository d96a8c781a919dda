// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Somebody on the path, who has seen all: addresses, queue pairs, the next numbers, keys
 * of memory. So what he writes is taken for the honest node's heartbeat, or for the
 * memory node's grant, by the NICs. It has no MAC, which K alone makes, so neither end
 * goes by it: no goodbye, no lease, no drain. He can still end connections, and swallow
 * what others say by taking its numbers; the session survives both.
 */
#include <endian.h>
#include <string.h>
#include "attack.h"
#include "bed/cnode-priv.h"
#include "bed/frame.h"
#include "snic/engine/engine.h"
#include "snic/net/net-priv.h"
#include "snic/transport/transport-priv.h"

#define ROUNDS	6
#define WORK	200

static struct sess *sess(void)
{
	return attack_bed.m.sess[0];
}

static struct cnode *node(void)
{
	return attack_bed.nodes[0].cnode;
}

/* The next request of that queue pair is this WRITE. */
static struct snic_pkt next_write(struct snic *nic, uint32_t qpn, uint64_t va,
				  uint32_t rkey, size_t len)
{
	const struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	assert_non_null(qp);
	return (struct snic_pkt){
		.opcode = SNIC_OP_WRITE_ONLY, .qpn = qpn, .psn = qp->resp->epsn,
		.va = va, .rkey = rkey, .dma_len = len, .ack_req = true,
	};
}

static void say_beat(const struct odrp_wire_beat *beat, uint32_t rkey)
{
	struct snic_pkt pkt = next_write(attack_bed.host.nic, sess()->ctl.qpn,
					 SESS_BEAT_IOVA, rkey, sizeof(*beat));

	attack_one.behind_node = true;
	attack_pkt(&attack_one.speaker, &attack_one.speaker.node, pkt, beat, sizeof(*beat));
}

/* From the memory node's side of the wire to the honest node. */
static void say_grant(const struct odrp_wire_signed_grant *g)
{
	const struct cnode *c = node();
	struct snic_pkt pkt = next_write(attack_bed.nodes[0].host.nic, c->admin.qpn,
					 (uintptr_t)&c->mem->signed_grant, c->mem_key,
					 sizeof(*g));
	const struct speaker *s = &attack_one.speaker;
	struct snic_port *port = attack_bed.nodes[0].ports[1];
	uint8_t bth[SNIC_PKT_HDR_MAX + sizeof(*g)], frame[ATTACK_FRAME];
	struct iovec iov = { frame, 0 };
	size_t n;

	pkt.pkey = SNIC_PKEY_DEFAULT;
	n = snic_pkt_build(&pkt, bth);
	memcpy(bth + n, g, sizeof(*g));
	iov.iov_len = frame_roce(frame, 0, 1, bth, n + sizeof(*g));
	memcpy(frame + SNIC_ETH_HLEN + 12, &s->mnode.ip, sizeof(s->mnode.ip));
	memcpy(frame + SNIC_ETH_HLEN + 16, &s->node.ip, sizeof(s->node.ip));
	frame_fix(frame, iov.iov_len);
	port->ops->send(port, &iov, 1);
}

/* As the honest one's next, with what he would have it say. */
static struct odrp_wire_beat forged_beat(uint32_t flags)
{
	struct odrp_wire_beat b = sess()->accepted;

	b.beat = htobe64(be64toh(b.beat) + 1000);
	b.flags = htobe32(flags);
	return b;
}

/* That it came, and was taken for a heartbeat: else nobody was attacked. */
static void expect_written(const struct odrp_wire_beat *b)
{
	assert_memory_equal(sess()->beat_mem.va, b, sizeof(*b));
}

static void expect_pages(void)
{
	assert_int_equal(attack_bed.m.nr_sess, 1);
	assert_int_equal(attack_bed.m.sess_left, 0);
	assert_int_equal(attack_bed.m.sess_dead, 0);
	assert_int_equal(attack_bed.m.sess_evicted, 0);
	load_verify(&attack_load);
	bed_settle(&attack_bed);
	bed_check(&attack_bed, attack_load.mapped);
}

/* Then the end of the connection: together they were the end of the session. */
static void test_goodbye(void **state)
{
	struct cnode_refusal no;
	struct odrp_wire_beat b;

	attack_open(CONF_AUTH_REQUIRED);
	bed_pass(&attack_bed, 300);
	b = forged_beat(ODRP_WIRE_BEAT_BYE);
	say_beat(&b, sess()->beat_key);
	bed_pass(&attack_bed, 1);
	expect_written(&b);
	say_beat(&b, sess()->beat_key ^ 0x100);
	bed_pass(&attack_bed, 300);
	assert_false(sess_attached(sess()));
	assert_int_equal(cnode_resume(node(), &no), 0);
	attack_work(WORK);
	expect_pages();
	attack_close();
}

/* It has nothing and wants nothing: its pages would go to others. */
static void test_lease(void **state)
{
	struct odrp_wire_beat b;
	uint64_t granted;
	unsigned int i;

	attack_open(CONF_AUTH_REQUIRED);
	bed_pass(&attack_bed, 300);
	granted = sess()->lease.granted;
	for (i = 0; i < ROUNDS; i++) {
		b = forged_beat(i % 2 ? ODRP_WIRE_BEAT_BYE : 0);
		b.used = b.want = b.lease_held = 0;
		b.ctl_rkey ^= htobe32(i % 3);
		say_beat(&b, sess()->beat_key);
		bed_pass(&attack_bed, 1);
		expect_written(&b);
		bed_pass(&attack_bed, 350);
		attack_work(WORK);
	}
	bed_pass(&attack_bed, 300);
	assert_true(sess_attached(sess()));
	assert_int_equal(sess()->lease.used, node()->info.used);
	assert_true(sess()->lease.granted >= granted);
	expect_pages();
	attack_close();
}

/* No page any more, and please leave: a machine would swap off. */
static void test_grant(void **state)
{
	struct odrp_wire_signed_grant g = {
		.grant = { .flags = htobe32(ODRP_WIRE_GRANT_DRAIN) },
	};
	struct cnode *c;
	unsigned int i;
	uint64_t lease;

	attack_open(CONF_AUTH_REQUIRED);
	c = node();
	bed_pass(&attack_bed, 300);
	lease = c->info.lease;
	for (i = 0; i < ROUNDS; i++) {
		g.grant.epoch = htobe64(c->epoch + 1 + i);
		say_grant(&g);
		bed_pass(&attack_bed, 1);
		assert_memory_equal(&c->mem->signed_grant, &g, sizeof(g));
		bed_pass(&attack_bed, 350);
		assert_false(c->info.drain);
		assert_true(c->info.lease >= lease);
		attack_work(WORK);
	}
	/* He has taken the numbers of as many grants, and no more. */
	for (i = 0; i <= ROUNDS && !c->info.drain; i++) {
		manager_drain(&attack_bed.m, i % 2 == 0);
		bed_pass(&attack_bed, 300);
	}
	assert_true(c->info.drain);
	expect_pages();
	attack_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goodbye),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
