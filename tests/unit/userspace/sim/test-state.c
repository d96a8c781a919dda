// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache of queue pair states at both ends, and what the profiles of the ConnectX-6 must
 * go on saying: parameters that they do not have cost nothing, and draw nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/base/rng.h"
#include "bed.h"

/* The round trip is 2000 ns, and a miss costs 100. */
#define FREE	"build_ns=0,mmio_ns=0,poll_ns=0,cqe_ns=0,read_op_ns=0,write_op_ns=0," \
		"node_op_ns=0,node_base_ns=0,byte_ns=0,link_byte_ns=0,rtt_thread_ns=0," \
		"rtt_ns=2000,slow_threads=1000000,spend_slow_threads=1000000," \
		"qp_miss_op_ns=10,qp_miss_ns=90"
#define USERS	8u
#define ROUNDS	64u

static uint64_t read_ns(struct bed *bed, struct bed_user *user)
{
	uint64_t begin = far_sim_now(bed->sim);

	assert_int_equal(bed_do(user, 0, bed_wr(user, FAR_NIC_READ, 0, 0, 1)), 0);
	return far_sim_now(bed->sim) - begin;
}

static uint64_t misses(const struct bed *bed, unsigned cn)
{
	struct far_sim_cn_stats stats;

	far_sim_stats(bed->sim, cn, &stats);
	return stats.qp_misses;
}

/* The first READ misses at both ends. While all states fit, no other does. */
static void test_fits(void **state)
{
	static struct bed_user user[2];
	struct bed bed;
	struct far_qset_attr attr;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, FREE ",qp_slots=2");
	attr = bed_attr(&bed, 8);
	for (i = 0; i < 2; i++)
		bed_user_init(&user[i], &bed, 0, &attr);
	for (i = 0; i < 2; i++)
		assert_int_equal(read_ns(&bed, &user[i]), 2200);
	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(read_ns(&bed, &user[i % 2]), 2000);
	assert_int_equal(misses(&bed, 0), 2);
	far_sim_stats_reset(bed.sim, 0);
	assert_int_equal(misses(&bed, 0), 0);
	for (i = 0; i < 2; i++)
		bed_user_fini(&user[i]);
	bed_fini(&bed);
}

/* With one place for two queue pairs in turn each misses at both ends. */
static void test_thrashes(void **state)
{
	static struct bed_user user[2];
	struct bed bed;
	struct far_qset_attr attr;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, FREE ",qp_slots=1");
	attr = bed_attr(&bed, 8);
	for (i = 0; i < 2; i++)
		bed_user_init(&user[i], &bed, 0, &attr);
	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(read_ns(&bed, &user[i % 2]), 2200);
	assert_int_equal(misses(&bed, 0), ROUNDS);
	for (i = 0; i < 2; i++)
		bed_user_fini(&user[i]);
	bed_fini(&bed);
}

/* The memory node's cache is its own: compute nodes of one queue pair each fill it, too. */
static void test_far_end(void **state)
{
	static struct bed_user user[USERS];
	struct bed bed;
	struct far_qset_attr attr;
	unsigned i, slow = 0;

	bed_init(&bed, USERS, 1, 1, 0, FREE ",qp_slots=4");
	attr = bed_attr(&bed, 8);
	for (i = 0; i < USERS; i++)
		bed_user_init(&user[i], &bed, i, &attr);
	for (i = 0; i < USERS; i++)
		assert_int_equal(read_ns(&bed, &user[i]), 2200);
	for (i = 0; i < USERS * ROUNDS; i++)
		slow += read_ns(&bed, &user[far_rng_mix(i) % USERS]) == 2100;
	/* Half of them fit. */
	assert_in_range(slow, USERS * ROUNDS * 2 / 5, USERS * ROUNDS * 3 / 5);
	for (i = 0; i < USERS; i++) {
		assert_int_equal(misses(&bed, i), 1);
		bed_user_fini(&user[i]);
	}
	bed_fini(&bed);
}

/* Misses of many queue pairs at the same time wait for the one engine. */
static void test_engine(void **state)
{
	static struct bed_user user[USERS];
	struct bed bed;
	struct far_qset_attr attr;
	struct far_wr wr;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, FREE ",qp_slots=1");
	attr = bed_attr(&bed, 8);
	for (i = 0; i < USERS; i++)
		bed_user_init(&user[i], &bed, 0, &attr);
	for (i = 0; i < USERS; i++) {
		wr = bed_wr(&user[i], FAR_NIC_READ, 0, 0, 1);
		assert_int_equal(user[i].ops->post(user[i].qset, 0, &wr, 1), 0);
	}
	for (i = 0; i < USERS; i++)
		assert_int_equal(bed_wait(&user[i]).status, 0);
	/* They leave 10 ns apart, and miss at the memory node and with their answers, too. */
	assert_int_equal(far_sim_now(bed.sim), 10 * USERS + 90 + 2 * 100 + 2000);
	for (i = 0; i < USERS; i++)
		bed_user_fini(&user[i]);
	bed_fini(&bed);
}

/* What a program does with READs, WRITEs and atomics of several threads' queue sets. */
static void program_run(struct bed *bed, struct bed_user *user, struct far_rng *rng)
{
	static const int ops[] = { FAR_NIC_READ, FAR_NIC_WRITE, FAR_NIC_FAA };
	unsigned i, round;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < USERS; i++) {
			struct far_wr wr[4];
			unsigned j;

			for (j = 0; j < 4; j++) {
				int op = ops[far_rng_below(rng, 3)];

				wr[j] = bed_wr(&user[i], op, far_rng_below(rng, 64), j * 8,
					       op == FAR_NIC_FAA ? 1 : 8);
				wr[j].flags = j == 3 ? FAR_WR_SIGNALED : 0;
			}
			assert_int_equal(user[i].ops->post(user[i].qset, 0, wr, 4), 0);
		}
		for (i = 0; i < USERS; i++)
			assert_int_equal(bed_wait(&user[i]).status, 0);
	}
}

static uint64_t program_trace(const char *profile, uint64_t *ret_ns)
{
	static struct bed_user user[USERS];
	struct bed bed;
	struct far_qset_attr attr;
	struct far_rng rng;
	uint64_t trace;
	unsigned i;

	bed_init_profile(&bed, profile, 2, 1, 7, FAR_SIM_DELAY, "wqe_slots=4");
	attr = bed_attr(&bed, 8);
	far_rng_init(&rng, 7, 0);
	for (i = 0; i < USERS; i++)
		bed_user_init(&user[i], &bed, i % 2, &attr);
	program_run(&bed, user, &rng);
	trace = far_sim_trace(bed.sim);
	*ret_ns = far_sim_now(bed.sim);
	for (i = 0; i < USERS; i++)
		bed_user_fini(&user[i]);
	bed_fini(&bed);
	return trace;
}

/* Pinned before the cache and all that came with it was there. */
static void test_same_as_before(void **state)
{
	static const struct {
		const char *profile;
		uint64_t ns, trace;
	} pinned[] = {
		{ "cx6-100", 844346, UINT64_C(0x46acd9ab11e4f710) },
		{ "cx6-200", 844291, UINT64_C(0xf137ab2b0cf52623) },
	};
	uint64_t ns;
	unsigned i;

	for (i = 0; i < sizeof(pinned) / sizeof(pinned[0]); i++) {
		assert_int_equal(program_trace(pinned[i].profile, &ns), pinned[i].trace);
		assert_int_equal(ns, pinned[i].ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_thrashes),
		cmocka_unit_test(test_far_end),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_same_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
