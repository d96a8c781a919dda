// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Heartbeats with MACs: what somebody on the path writes in a compute node's name, old
 * ones, and those that have come in part, count for nothing.  tests/unit/kmod/test-beat.c
 * has the same of grants.
 */
#include <endian.h>
#include <string.h>
#include "bed/cnode-priv.h"
#include "bed/load.h"

static struct bed bed;
static struct load load;

static void open_one(void)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	load_init(&load, &bed, 0, 64, 1);
	load_run(&load, 100);
	bed_pass(&bed, 300);
}

static void close_one(void)
{
	load_verify(&load);
	bed_check(&bed, load.mapped);
	load_close(&load, &bed);
}

static struct sess *sess(void)
{
	return bed.m.sess[0];
}

/* As it would be next, with its MAC. */
static struct odrp_wire_beat next_beat(void)
{
	struct odrp_wire_beat b = sess()->accepted;

	b.beat = htobe64(sess()->last_beat + 1);
	auth_sign_beat(&sess()->key, sess()->handle, &b,
		       sizeof(struct odrp_wire_beat));
	return b;
}

/* Somebody writes it, and the agent looks. */
static bool write_and_look(const struct odrp_wire_beat *b)
{
	memcpy(sess()->beat_mem.va, b, sizeof(*b));
	return sess_look(sess(), 1);
}

static void test_signed(void **state)
{
	struct cnode_info info;
	struct odrp_wire_beat b;

	open_one();
	cnode_info(bed.nodes[0].cnode, &info);
	assert_true(info.signs);
	assert_true(sess()->signs);
	assert_in_range(sess()->beats, 2, 10);
	b = next_beat();
	assert_true(write_and_look(&b));
	assert_int_equal(sess()->silent_ms, 0);
	/* Grants have theirs: the compute node of this test checks it. */
	manager_drain(&bed.m, true);
	bed_pass(&bed, 500);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_true(info.drain);
	close_one();
}

/* The compute node learns where to write by an offset, and not where the agent's memory is. */
static void test_no_address(void **state)
{
	open_one();
	assert_int_equal(bed.nodes[0].cnode->beat_raddr, 0);
	close_one();
}

/* With that, and the end of a connection, a session was over. */
static void test_forged_goodbye(void **state)
{
	struct cnode_refusal no;
	struct odrp_wire_beat b;

	open_one();
	b = next_beat();
	b.flags = htobe32(ODRP_WIRE_BEAT_BYE);
	assert_false(write_and_look(&b));
	assert_int_equal(sess()->wrong_macs, 1);
	assert_false(sess_has_left(sess()));
	bed.nic->ops->qp_error(bed.nic, sess()->ctl.qpn);
	bed_pass(&bed, 300);
	assert_int_equal(bed.m.sess_left, 0);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_false(sess_attached(sess()));
	assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	close_one();
}

/* It would have given its pages away, or asked for all, or had a grant go astray. */
static void test_forged_lease(void **state)
{
	struct odrp_wire_beat b, was;
	struct lease before;

	open_one();
	before = sess()->lease;
	was = sess()->accepted;
	b = next_beat();
	b.used = b.lease_held = 0;
	assert_false(write_and_look(&b));
	b = next_beat();
	b.want = htobe64(UINT64_MAX);
	b.lease_held = htobe64(1 << 20);
	assert_false(write_and_look(&b));
	b = next_beat();
	b.ctl_raddr ^= 1;
	b.ctl_rkey ^= 1;
	assert_false(write_and_look(&b));
	/* The MAC of another handshake. */
	b = next_beat();
	auth_sign_beat(&sess()->key, sess()->handle + 1, &b,
		       sizeof(struct odrp_wire_beat));
	assert_false(write_and_look(&b));
	assert_memory_equal(&before, &sess()->lease, sizeof(before));
	assert_memory_equal(&was, &sess()->accepted, sizeof(was));
	assert_int_equal(sess()->wrong_macs, 4);
	assert_int_equal(sess()->silent_ms, 4);
	assert_false(sess()->logged & SESS_LOG_FORGED);
	manager_tick(&bed.m, 1);
	assert_true(sess()->logged & SESS_LOG_FORGED);
	/* What is right goes on as before. */
	bed_pass(&bed, 300);
	assert_int_equal(sess()->wrong_macs, 0);
	manager_drain(&bed.m, true);
	bed_pass(&bed, 500);
	assert_true(sess_attached(sess()));
	close_one();
}

/* The MAC is right, and it is no news: the session is as silent as without it. */
static void test_replayed(void **state)
{
	struct odrp_wire_beat old;
	unsigned int i;

	open_one();
	old = next_beat();
	old.flags = htobe32(ODRP_WIRE_BEAT_BYE);
	auth_sign_beat(&sess()->key, sess()->handle, &old,
		       sizeof(struct odrp_wire_beat));
	sess()->last_beat += 2;	/* as if it had said so, and more since */
	for (i = 1; i <= 3; i++) {
		assert_false(write_and_look(&old));
		assert_int_equal(sess()->silent_ms, i);
	}
	assert_false(sess_has_left(sess()));
	assert_int_equal(sess()->wrong_macs, 0);
	close_one();
}

/* A heartbeat that comes in two pieces, whichever is first. */
static void test_half_seen(void **state)
{
	struct odrp_wire_beat old, new, part;
	unsigned int len, seen = 0;

	open_one();
	old = next_beat();
	assert_true(write_and_look(&old));
	new = next_beat();
	new.beat = htobe64(0x0102030405060708);
	new.want = htobe64(33);
	new.flags = htobe32(ODRP_WIRE_BEAT_BYE);
	memset(&new.dead_ms, 0x5a, sizeof(new) - ODRP_WIRE_SHORT_BEAT);
	auth_sign_beat(&sess()->key, sess()->handle, &new,
		       sizeof(struct odrp_wire_beat));
	for (len = 1; len < sizeof(new); len++) {
		part = old;
		memcpy(&part, &new, len);
		seen += write_and_look(&part);
		part = new;
		memcpy(&part, &old, len);
		seen += write_and_look(&part);
	}
	assert_int_equal(seen, 0);
	assert_int_equal(sess()->accepted.flags, 0);
	assert_true(write_and_look(&new));
	assert_int_equal(sess()->lease.want, 33);
	assert_true(sess_has_left(sess()));
	close_one();
}

/* What was on its way when the connection was lost, and what was recorded then. */
static void test_of_before(void **state)
{
	struct cnode_refusal no;
	struct odrp_wire_beat b;

	open_one();
	b = next_beat();
	b.beat = htobe64(1 << 20);
	auth_sign_beat(&sess()->key, sess()->handle, &b,
		       sizeof(struct odrp_wire_beat));
	cnode_lose(bed.nodes[0].cnode, true);
	bed_pass(&bed, 300);
	assert_false(sess_attached(sess()));
	assert_false(sess()->has_key);
	assert_false(write_and_look(&b));
	sess()->beat->beat = 0;
	assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	bed_pass(&bed, 300);
	assert_true(sess()->lease.reachable);
	assert_false(write_and_look(&b));
	assert_int_equal(sess()->wrong_macs, 1);
	close_one();
}

/* A compute node that has none gets none; nor does who has proved nothing. */
static void test_bare(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		bed_options(&o);
		o.conf.auth = i ? CONF_AUTH_NONE : CONF_AUTH_REQUIRED;
		bed_open(&bed, &o, 1);
		bed.nodes[0].cfg.bare_beats = true;
		bed_connect(&bed, 0, 64, 1, 7);
		load_init(&load, &bed, 0, 64, 1);
		load_run(&load, 100);
		bed_pass(&bed, 300);
		assert_false(sess()->signs);
		assert_in_range(sess()->beats, 2, 10);
		manager_drain(&bed.m, true);
		bed_pass(&bed, 500);
		assert_true(bed.nodes[0].cnode->info.drain);
		assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
		assert_false(sess()->signs);
		close_one();
	}
}

static void test_not_without_proof(void **state)
{
	struct odrp_wire_hello h;
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 1);
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(1);
	h.depth = htobe16(7);
	h.nr_slots = htobe64(64);
	h.features = htobe32(ODRP_WIRE_F_SIGNED);
	assert_int_equal(cnode_request(&bed.nodes[0].cfg, &h, sizeof(h), &c), 0);
	assert_false(sess()->signs);
	cnode_die(c);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_forged_goodbye),
		cmocka_unit_test(test_forged_lease),
		cmocka_unit_test(test_replayed),
		cmocka_unit_test(test_half_seen),
		cmocka_unit_test(test_of_before),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_not_without_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
