// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How long a session is kept that is silent: a compute node that is paused or migrated
 * asks for it in its heartbeat, within dead-ms and dead-ms-max of the settings.  Compute
 * nodes whose heartbeats have no room to ask have dead-ms, and nothing else changes for
 * them.
 */
#include <endian.h>
#include <string.h>
#include "bed/cnode-priv.h"
#include "bed/load.h"

#define SLOTS	100
#define DEAD_MS	2000
#define MAX_MS	8000

static struct bed bed;
static struct load load;

static struct sess *sess(void)
{
	return bed.m.sess[0];
}

/* A compute node that asks for ms. */
static void open_asking(uint32_t ms, bool short_beats, bool bare)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.dead_ms = DEAD_MS;
	o.conf.dead_ms_max = MAX_MS;
	bed_open(&bed, &o, 1);
	bed.nodes[0].cfg.dead_ms = ms;
	bed.nodes[0].cfg.short_beats = short_beats;
	bed.nodes[0].cfg.bare_beats = bare;
	bed_connect(&bed, 0, SLOTS, 1, 7);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 100);
	bed_pass(&bed, 300);
}

static void close_bed(void)
{
	load_close(&load, &bed);
}

/* The compute node stands still for ms, and then goes on. */
static void pause_for(uint32_t ms)
{
	struct cnode_refusal no;

	bed.nodes[0].silent = true;
	bed_pass(&bed, ms);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_dead, 0);
	bed.nodes[0].silent = false;
	if (!sess_attached(sess()) || cnode_admin_broken(bed.nodes[0].cnode))
		assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	bed_pass(&bed, 300);
	assert_true(sess_attached(sess()));
	load_verify(&load);
	bed_settle(&bed);
	bed_check(&bed, load.mapped);
}

static void dies_after(uint32_t ms)
{
	cnode_lose(bed.nodes[0].cnode, true);
	bed_pass(&bed, ms - 500);
	assert_int_equal(bed.m.sess_dead, 0);
	bed_pass(&bed, 1000);
	assert_int_equal(bed.m.sess_dead, 1);
	bed_settle(&bed);
	bed_check(&bed, 0);
}

static void test_paused(void **state)
{
	open_asking(6000, false, false);
	assert_int_equal(bed.nodes[0].cnode->info.dead_ms_max, MAX_MS);
	pause_for(5000);
	/* Told again when it resumes: its session is kept for so long. */
	assert_int_equal(sess_dead_ms(sess(), bed.m.conf), 6000);
	dies_after(6000);
	close_bed();
}

static void test_connection_lost(void **state)
{
	struct cnode_refusal no;

	open_asking(6000, false, true);
	cnode_lose(bed.nodes[0].cnode, true);
	bed_pass(&bed, 5000);
	assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	assert_int_equal(bed.nodes[0].cnode->info.dead_ms, 6000);
	load_verify(&load);
	close_bed();
}

static void test_limits(void **state)
{
	open_asking(3600 * 1000, false, false);
	dies_after(MAX_MS);
	close_bed();
	open_asking(UINT32_MAX, false, true);
	dies_after(MAX_MS);
	close_bed();
	/* A compute node that asks for less, or for nothing, gets dead-ms. */
	open_asking(100, false, false);
	dies_after(DEAD_MS);
	close_bed();
	open_asking(0, false, false);
	dies_after(DEAD_MS);
	close_bed();
}

/* It may ask for less later. */
static void test_asks_again(void **state)
{
	open_asking(6000, false, false);
	bed.nodes[0].cnode->cfg.dead_ms = 3000;
	bed_pass(&bed, 300);
	dies_after(3000);
	close_bed();
}

/* With MACs and without. */
static void test_short_beats(void **state)
{
	unsigned int bare;

	for (bare = 0; bare < 2; bare++) {
		open_asking(6000, true, bare);
		assert_false(bed.nodes[0].cnode->info.long_beats);
		assert_int_equal(bed.nodes[0].cnode->info.dead_ms_max, 0);
		assert_int_equal(bed.nodes[0].cnode->info.signs, !bare);
		assert_int_equal(cnode_beat_len(bed.nodes[0].cnode), 64);
		assert_in_range(sess()->beats, 2, 10);
		assert_int_equal(sess()->asked_dead_ms, 0);
		pause_for(DEAD_MS / 2);
		manager_drain(&bed.m, true);
		bed_pass(&bed, 500);
		assert_true(bed.nodes[0].cnode->info.drain);
		dies_after(DEAD_MS);
		close_bed();
	}
}

/* A compute node with short heartbeats cannot write behind them. */
static void test_short_bounds(void **state)
{
	open_asking(0, true, false);
	assert_int_equal(cnode_rdma_raw(bed.nodes[0].cnode, -1, 0, true, SESS_BEAT_IOVA,
					sess()->beat_key, ODRP_WIRE_SHORT_BEAT + 1), 0);
	bed_pass(&bed, 300);
	assert_true(cnode_admin_broken(bed.nodes[0].cnode));
	assert_int_equal(sess()->asked_dead_ms, 0);
	close_bed();
}

/* A MAC covers what is asked for, so nobody on the path asks in another one's name. */
static void test_forged(void **state)
{
	struct odrp_wire_beat b;

	open_asking(3000, false, false);
	b = sess()->accepted;
	b.beat = htobe64(sess()->last_beat + 1);
	auth_sign_beat(&sess()->key, sess()->handle, &b, sizeof(b));
	b.dead_ms = htobe32(6000);
	memcpy(sess()->beat_mem.va, &b, sizeof(b));
	assert_false(sess_look(sess(), 1));
	b.dead_ms = htobe32(3000);
	b.resv1[15] = 1;
	memcpy(sess()->beat_mem.va, &b, sizeof(b));
	assert_false(sess_look(sess(), 1));
	/* The MAC of a short one is none of a long one. */
	b.resv1[15] = 0;
	auth_sign_beat(&sess()->key, sess()->handle, &b, ODRP_WIRE_SHORT_BEAT);
	memcpy(sess()->beat_mem.va, &b, sizeof(b));
	assert_false(sess_look(sess(), 1));
	assert_int_equal(sess()->asked_dead_ms, 3000);
	close_bed();
}

/* What is reserved may get a meaning: who fills it in is heard like anybody else. */
static void test_reserved(void **state)
{
	struct odrp_wire_beat b;

	open_asking(3000, false, false);
	b = sess()->accepted;
	b.beat = htobe64(sess()->last_beat + 1);
	memset(&b.resv0, 0xff, sizeof(b) - offsetof(struct odrp_wire_beat, resv0));
	auth_sign_beat(&sess()->key, sess()->handle, &b, sizeof(b));
	memcpy(sess()->beat_mem.va, &b, sizeof(b));
	assert_true(sess_look(sess(), 1));
	assert_int_equal(sess()->asked_dead_ms, 3000);
	close_bed();
}

/* The agent is restarted while the compute node is paused. */
static void test_next_agent(void **state)
{
	struct cnode_refusal no;
	int fd[KEEP_FILES];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_asking(6000, i, false);
		bed_copy_kept(&bed, fd);
		bed_restart(&bed, fd);
		bed_settle(&bed);
		assert_int_equal(sess()->long_beats, !i);
		bed_pass(&bed, i ? DEAD_MS / 2 : 5000);
		assert_int_equal(bed.m.nr_sess, 1);
		assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
		assert_int_equal(bed.nodes[0].cnode->info.dead_ms, i ? DEAD_MS : 6000);
		load_verify(&load);
		close_bed();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_connection_lost),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_asks_again),
		cmocka_unit_test(test_short_beats),
		cmocka_unit_test(test_short_bounds),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_next_agent),
	};

	return bed_run_tests(tests);
}
