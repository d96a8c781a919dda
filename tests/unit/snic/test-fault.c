// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wire faults: as often as asked for, only what was asked for, the same for the
 * same seed, and nothing lost track of.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "bed/host.h"
#include "snic/net/net-priv.h"

#define FRAMES	20000

struct result {
	struct snic_stats stats;
	unsigned int arrived;
	unsigned int damaged;
	unsigned int overtaken;		/* came after a later one */
	uint64_t digest;
};

struct sink {
	struct result *r;
	uint32_t last;
};

/* Frames are numbered behind the IP header; the rest is 0x5a. */
static uint64_t count(void *arg, uint8_t *frame, size_t len)
{
	struct sink *k = arg;
	uint32_t nr;
	size_t i;

	memcpy(&nr, frame + 34, 4);
	k->r->arrived++;
	k->r->overtaken += nr < k->last;
	k->last = nr;
	for (i = 38; i < len && frame[i] == 0x5a; i++)
		;
	k->r->damaged += i < len || frame[14] != 0x45;
	for (i = 0; i < len; i++)
		k->r->digest = (k->r->digest ^ frame[i]) * 0x100000001b3ull;
	return LINK_LOST;
}

/* A port that hands a frame to snic_net_xmit, all the way to the tap. */
static void run(const struct snic_faults *faults, uint64_t seed, uint16_t type,
		struct result *r)
{
	uint8_t frame[256] = { 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 2 };
	struct iovec iov[2] = { { frame, 40 }, { frame + 40, 216 } };
	struct sink sink = { .r = r };
	struct host s;
	uint32_t i;

	memset(r, 0, sizeof(*r));
	memset(frame + 38, 0x5a, sizeof(frame) - 38);
	frame[12] = type >> 8;
	frame[13] = type & 0xff;
	frame[14] = 0x45;
	host_open_plugged(&s, 2, seed);
	s.port.tap = count;
	s.port.tap_arg = &sink;
	assert_int_equal(snic_set_faults(s.nic, faults), 0);
	for (i = 0; i < FRAMES; i++) {
		memcpy(frame + 34, &i, 4);
		snic_net_xmit(s.nic, iov, 2);
		host_wait(&s, 1000);
	}
	host_wait(&s, SECOND);
	r->stats = host_stats(&s);
	host_close(&s);
}

/* n out of FRAMES at probability p, within 5 standard deviations. */
static void expect_share(uint64_t n, double p)
{
	double mean = FRAMES * p, dev = 5 * sqrt(FRAMES * p * (1 - p));

	assert_true(n >= mean - dev && n <= mean + dev);
}

static void test_none(void **state)
{
	struct snic_faults f = { 0 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	assert_int_equal(r.arrived, FRAMES);
	assert_int_equal(r.damaged + r.overtaken, 0);
	assert_int_equal(r.stats.fault_lost, 0);
}

static void test_loss(void **state)
{
	struct snic_faults f = { .loss = 0.05 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	expect_share(r.stats.fault_lost, 0.05);
	assert_int_equal(r.arrived, FRAMES - r.stats.fault_lost);
	assert_int_equal(r.damaged + r.overtaken, 0);
	f.loss = 1;
	run(&f, 1, 0x0800, &r);
	assert_int_equal(r.arrived, 0);
}

static void test_duplicate(void **state)
{
	struct snic_faults f = { .duplicate = 0.1 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	expect_share(r.stats.fault_duplicated, 0.1);
	assert_int_equal(r.arrived, FRAMES + r.stats.fault_duplicated);
	assert_int_equal(r.damaged + r.overtaken, 0);
}

static void test_corrupt(void **state)
{
	struct snic_faults f = { .corrupt = 0.02 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	expect_share(r.stats.fault_corrupted, 0.02);
	assert_int_equal(r.arrived, FRAMES);
	/* The bits of IP header and number are not looked at here. */
	assert_true(r.damaged > 0 && r.damaged <= r.stats.fault_corrupted);
	/* what only the FCS protects is lost, not wrong */
	run(&f, 1, 0x0806, &r);
	assert_int_equal(r.arrived, FRAMES - r.stats.fault_corrupted);
	assert_int_equal(r.damaged, 0);
}

static void test_reorder(void **state)
{
	struct snic_faults f = { .reorder = 0.05 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	expect_share(r.stats.fault_reordered, 0.05);
	assert_int_equal(r.arrived, FRAMES);
	assert_int_equal(r.damaged, 0);
	assert_true(r.overtaken > FRAMES / 100);
}

static void test_delay(void **state)
{
	struct snic_faults f = { .delay_ns = 500000 };
	struct result r;

	run(&f, 1, 0x0800, &r);
	assert_int_equal(r.stats.fault_delayed, FRAMES);
	assert_int_equal(r.arrived + r.stats.fault_lost, FRAMES);
	assert_int_equal(r.stats.fault_lost, 0);
	/* longer than the pool can hold: some are lost, none invented */
	f.delay_ns = 100000000;
	run(&f, 1, 0x0800, &r);
	assert_true(r.stats.fault_lost > 0);
	assert_int_equal(r.arrived + r.stats.fault_lost, FRAMES);
}

static void test_seeded(void **state)
{
	struct snic_faults f = { .loss = 0.1, .duplicate = 0.1, .reorder = 0.1,
				 .corrupt = 0.1, .delay_ns = 5000 };
	struct result a, b;

	run(&f, 42, 0x0800, &a);
	run(&f, 42, 0x0800, &b);
	assert_true(a.digest == b.digest);
	assert_memory_equal(&a.stats, &b.stats, sizeof(a.stats));
	run(&f, 43, 0x0800, &b);
	assert_true(a.digest != b.digest);
}

static void test_received(void **state)
{
	struct snic_faults f = { .loss = 0.5 };
	uint8_t frame[60] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x90 };
	struct host s;
	struct snic_stats st;
	int i;

	host_open_plugged(&s, 2, 1);
	assert_int_equal(snic_set_faults(s.nic, &f), 0);
	for (i = 0; i < FRAMES; i++) {
		link_inject(&s.port, frame, sizeof(frame), 0);
		host_wait(&s, 1);
	}
	st = host_stats(&s);
	assert_int_equal(st.rx_frames, FRAMES);
	expect_share(st.fault_lost, 0.5);
	assert_int_equal(st.rx_other + st.fault_lost, FRAMES);
	/* switched off again; what is delayed still comes */
	f = (struct snic_faults) { .delay_ns = SECOND };
	assert_int_equal(snic_set_faults(s.nic, &f), 0);
	link_inject(&s.port, frame, sizeof(frame), 0);
	host_wait(&s, 1);
	f.delay_ns = 0;
	assert_int_equal(snic_set_faults(s.nic, &f), 0);
	link_inject(&s.port, frame, sizeof(frame), 0);
	host_wait(&s, 1);
	assert_int_equal(host_stats(&s).rx_other, st.rx_other + 1);
	host_wait(&s, SECOND);
	assert_int_equal(host_stats(&s).rx_other, st.rx_other + 2);
	host_close(&s);
}

static void test_bad_values(void **state)
{
	static const struct snic_faults bad[] = {
		{ .loss = -0.1 }, { .loss = 1.1 }, { .duplicate = 2 },
		{ .reorder = -1 }, { .corrupt = NAN }, { .loss = INFINITY },
	};
	struct host s;
	unsigned int i;

	host_open_plugged(&s, 2, 1);
	assert_int_equal(snic_set_faults(s.nic, NULL), -EINVAL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(snic_set_faults(s.nic, &bad[i]), -EINVAL);
	host_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_seeded),
		cmocka_unit_test(test_received),
		cmocka_unit_test(test_bad_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
