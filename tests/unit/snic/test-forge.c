// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lies: they arrive, they are what was asked for and as many, and without them
 * nothing is different.
 */
#include <errno.h>
#include <math.h>
#include "bed/cable.h"
#include "snic/cm/cm-priv.h"
#include "snic/net/net.h"

#define MESSAGES	24
#define LEN		256

static uint32_t imm_of(uint32_t i)
{
	return 0x12340000 + i * 16;
}

/* MESSAGES writes with immediate, each to its own place, one after the other. */
static void run(struct pair *p, const struct snic_forge *conf, uint32_t copies)
{
	struct snic *nic = p->a.host->nic;
	uint32_t i, n;

	assert_int_equal(snic_set_forge(nic, conf), 0);
	fill(p->src, MESSAGES * LEN, 7);
	memset(p->dst, 0xee, MESSAGES * LEN);
	for (i = 0; i < MESSAGES; i++) {
		for (n = 0; n < copies; n++)
			post_recv(&p->b, NULL, 0);
		put(p, WRC_WQE_WRITE_IMM, i * LEN, LEN, imm_of(i));
		ring(&p->a);
		cable_run(&p->c, 5 * MS);
	}
}

/* Whoever got it could not see it: all well-formed. */
static void expect_believed(struct pair *p)
{
	struct snic_stats st = stats(p, 1);

	assert_int_equal(st.rx_bad_icrc + st.rx_malformed, 0);
	assert_int_equal(state_of(&p->a), SNIC_QP_RTS);
	assert_int_equal(state_of(&p->b), SNIC_QP_RTS);
	assert_int_equal(cq_count(p->a.host, p->a.scqn), MESSAGES);
}

static uint32_t next_imm(struct pair *p)
{
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(p->b.host->nic, p->b.rcqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_RESP_WR_IMM);
	return be32toh(cqe.imm);
}

static void test_imm(void **state)
{
	struct snic_forge l = { .imm = 1, .after = 5, .most = 10 };
	struct pair p;
	uint32_t i;

	pair_open(&p, 1, 0xfffff0, NULL);
	run(&p, &l, 1);
	expect_believed(&p);
	assert_int_equal(stats(&p, 0).fault_forged, 10);
	for (i = 0; i < MESSAGES; i++) {
		if (i >= 5 && i < 15)
			assert_int_not_equal(next_imm(&p), imm_of(i));
		else
			assert_int_equal(next_imm(&p), imm_of(i));
	}
	expect_filled(p.dst, MESSAGES * LEN, 7);
	pair_close(&p);
}

/* Eight bytes of each message, of those that are eight together. */
static void test_data(void **state)
{
	struct snic_forge l = { .data = 1 };
	uint32_t i, bad, first, all = 0;
	struct pair p;

	pair_open(&p, 2, 0x1000, NULL);
	run(&p, &l, 1);
	expect_believed(&p);
	for (i = 0; i < MESSAGES; i++) {
		const uint8_t *a = p.src + i * LEN, *b = p.dst + i * LEN;

		assert_int_equal(next_imm(&p), imm_of(i));
		for (bad = first = 0; bad < LEN && a[bad] == b[bad]; bad++)
			;
		first = bad / 8 * 8;
		if (bad == LEN)
			continue;	/* it came out the same */
		all++;
		assert_memory_equal(a, b, first);
		assert_memory_equal(a + first + 8, b + first + 8,
				    LEN - first - 8);
	}
	assert_true(all > MESSAGES / 2);
	pair_close(&p);
}

static void test_again(void **state)
{
	struct snic_forge l = { .replay = 1 };
	struct pair p;
	uint32_t i;

	pair_open(&p, 3, 0xfffff0, NULL);
	run(&p, &l, 2);
	expect_believed(&p);
	assert_int_equal(stats(&p, 0).fault_forged, MESSAGES);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 2 * MESSAGES);
	for (i = 0; i < MESSAGES; i++) {
		assert_int_equal(next_imm(&p), imm_of(i));
		assert_int_equal(next_imm(&p), imm_of(i));
	}
	expect_filled(p.dst, MESSAGES * LEN, 7);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	pair_close(&p);
}

/* Right when it comes first, and other bytes soon after. */
static void test_late(void **state)
{
	struct snic_forge l = { .late = 1 };
	struct pair p;
	uint32_t i;

	pair_open(&p, 8, 0x1000, NULL);
	run(&p, &l, 1);
	expect_believed(&p);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), MESSAGES);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	for (i = 0; i < MESSAGES; i++) {
		assert_memory_equal(p.src + i * LEN, p.dst + i * LEN, LEN / 8);
		assert_memory_not_equal(p.src + i * LEN, p.dst + i * LEN, LEN);
	}
	pair_close(&p);
}

/* What the peer refuses breaks the connection, and what it writes is inside. */
static void test_refused(void **state)
{
	static const struct snic_forge all[] = {
		{ .length = 1 }, { .target = 1 }, { .opcode = 1 },
		{ .length = 0.5, .target = 0.5, .opcode = 0.5, .replay = 0.5,
		  .imm = 0.5, .data = 0.5 },
	};
	unsigned int i, seed, broken = 0;
	struct pair p;

	for (i = 0; i < 4; i++) {
		for (seed = 0; seed < 20; seed++) {
			pair_open(&p, 100 * i + seed, 0x1000, NULL);
			run(&p, &all[i], 2);
			broken += state_of(&p.b) == SNIC_QP_ERR;
			assert_true(stats(&p, 0).fault_forged > 0);
			assert_int_equal(stats(&p, 1).rx_bad_icrc, 0);
			pair_close(&p);
		}
	}
	assert_true(broken > 40);
}

static void test_none(void **state)
{
	struct snic_forge l = { .most = 5 };
	struct pair p;

	pair_open(&p, 4, 0x1000, NULL);
	run(&p, &l, 1);
	expect_believed(&p);
	expect_filled(p.dst, MESSAGES * LEN, 7);
	assert_int_equal(stats(&p, 0).fault_forged, 0);
	pair_close(&p);
}

/* Nothing but the private data, and of no message but REP and REJ. */
static void test_hello(void **state)
{
	static const uint16_t attrs[] = { SNIC_CM_REP, SNIC_CM_REJ, SNIC_CM_RTU };
	static const unsigned int priv[] = { 60, 108, 256 };
	const struct snic_forge l = { .hello = 1 };
	uint8_t good[SNIC_MAD_LEN], mad[SNIC_MAD_LEN], text[100];
	unsigned int i, n, changed;
	struct pair p;

	pair_open(&p, 6, 0, NULL);
	assert_int_equal(snic_set_forge(p.a.host->nic, &l), 0);
	memset(text, 0x3c, sizeof(text));
	for (i = 0; i < 3; i++) {
		struct snic_cm_msg m = {
			.attr = attrs[i], .priv = text, .priv_len = 100,
		};

		assert_int_equal(snic_cm_build(&m, good), 0);
		for (n = changed = 0; n < 1000; n++) {
			memcpy(mad, good, SNIC_MAD_LEN);
			snic_cm_forge(p.a.host->nic, attrs[i], mad);
			assert_memory_equal(mad, good, priv[i]);
			changed += !!memcmp(mad, good, SNIC_MAD_LEN);
		}
		assert_true(i < 2 ? changed > 900 : !changed);
	}
	assert_int_equal(stats(&p, 0).fault_forged, 2000);
	pair_close(&p);
}

static void test_bad_values(void **state)
{
	static const struct snic_forge bad[] = {
		{ .imm = -0.1 }, { .data = 1.1 }, { .length = NAN },
		{ .target = INFINITY }, { .replay = 2 }, { .opcode = -1 },
		{ .hello = 1.01 }, { .late = 3 },
	};
	struct pair p;
	unsigned int i;

	pair_open(&p, 5, 0, NULL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(snic_set_forge(p.a.host->nic, &bad[i]), -EINVAL);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_imm),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_bad_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
