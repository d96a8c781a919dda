// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What sim does of its own accord beside the table's conformance: times, order under
 * an adversary, atomics of one address, groups that share a queue pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bed.h"

#define SEEDS	64u

/* The round trip, less what the parameters below make free. */
#define FREE	"build_ns=0,mmio_ns=0,poll_ns=0,cqe_ns=0,read_op_ns=0,write_op_ns=0," \
		"node_op_ns=0,node_base_ns=0,byte_ns=0,link_byte_ns=0,rtt_thread_ns=0," \
		"rtt_ns=2000,slow_threads=1000000,spend_slow_threads=1000000"

static void test_moves(void **state)
{
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;
	struct far_wr wr;

	bed_init(&bed, 1, 2, 1, 0, NULL);
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	user.local[0] = 11;
	user.local[1] = 22;
	assert_int_equal(bed_do(&user, 1, bed_wr(&user, FAR_NIC_WRITE, 5, 0, 2)), 0);
	assert_int_equal(*bed_word(&bed, 1, 5), 11);
	assert_int_equal(*bed_word(&bed, 1, 6), 22);
	assert_int_equal(*bed_word(&bed, 0, 5), 0);
	assert_int_equal(bed_do(&user, 1, bed_wr(&user, FAR_NIC_READ, 6, 7, 1)), 0);
	assert_int_equal(user.local[7], 22);
	wr = bed_wr(&user, FAR_NIC_CAS, 5, 8, 1);
	wr.arg[0] = 11;
	wr.arg[1] = 33;
	assert_int_equal(bed_do(&user, 1, wr), 0);
	assert_int_equal(user.local[8], 11);
	assert_int_equal(bed_do(&user, 1, wr), 0);
	assert_int_equal(user.local[8], 33);
	wr = bed_wr(&user, FAR_NIC_FAA, 5, 8, 1);
	wr.arg[0] = 7;
	assert_int_equal(bed_do(&user, 1, wr), 0);
	assert_int_equal(user.local[8], 33);
	assert_int_equal(*bed_word(&bed, 1, 5), 40);
	bed_user_fini(&user);
	bed_fini(&bed);
}

static void test_round_trip(void **state)
{
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;

	bed_init(&bed, 1, 1, 1, 0, FREE);
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	assert_int_equal(bed_do(&user, 0, bed_wr(&user, FAR_NIC_READ, 0, 0, 1)), 0);
	assert_int_equal(far_sim_now(bed.sim), 2000);
	user.ops->spend(user.nic, 500);
	assert_int_equal(user.ops->now(user.nic), 2500);
	assert_int_equal(bed_do(&user, 0, bed_wr(&user, FAR_NIC_WRITE, 0, 0, 1)), 0);
	assert_int_equal(far_sim_now(bed.sim), 4500);
	bed_user_fini(&user);
	bed_fini(&bed);
}

/* Atomics of one address keep their distance; those of others need none. */
static void test_same_address(void **state)
{
	struct far_wr wr[4];
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;
	unsigned i, apart;

	for (apart = 0; apart < 2; apart++) {
		bed_init(&bed, 1, 1, 1, 0, FREE ",atomic_same_ns=300");
		attr = bed_attr(&bed, 8);
		bed_user_init(&user, &bed, 0, &attr);
		for (i = 0; i < 4; i++) {
			wr[i] = bed_wr(&user, FAR_NIC_FAA, apart * i, i, 1);
			wr[i].arg[0] = 1;
		}
		assert_int_equal(user.ops->post(user.qset, 0, wr, 4), 0);
		for (i = 0; i < 4; i++)
			assert_int_equal(bed_wait(&user).status, 0);
		assert_int_equal(far_sim_now(bed.sim), 2000 + (apart ? 0 : 3 * 300));
		assert_int_equal(*bed_word(&bed, 0, 0), apart ? 1 : 4);
		bed_user_fini(&user);
		bed_fini(&bed);
	}
}

/* A READ behind a WRITE sees it, and one behind a CAS, whatever the adversary does. */
static void test_order(void **state)
{
	struct far_wr wr[3];
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;
	unsigned seed, i;

	for (seed = 0; seed < SEEDS; seed++) {
		bed_init(&bed, 1, 1, seed, FAR_SIM_TEAR | FAR_SIM_DELAY, NULL);
		attr = bed_attr(&bed, 8);
		bed_user_init(&user, &bed, 0, &attr);
		for (i = 0; i < 32; i++)
			user.local[i] = seed + 1;
		wr[0] = bed_wr(&user, FAR_NIC_WRITE, 0, 0, 32);
		wr[1] = bed_wr(&user, FAR_NIC_CAS, 0, 32, 1);
		wr[1].arg[0] = seed + 1;
		wr[1].arg[1] = 1000;
		wr[2] = bed_wr(&user, FAR_NIC_READ, 0, 64, 32);
		assert_int_equal(user.ops->post(user.qset, 0, wr, 3), 0);
		for (i = 0; i < 3; i++)
			assert_int_equal(bed_wait(&user).op, wr[i].op);
		assert_int_equal(user.local[64], 1000);
		for (i = 1; i < 32; i++)
			assert_int_equal(user.local[64 + i], seed + 1);
		bed_user_fini(&user);
		bed_fini(&bed);
	}
}

/* How often, of all seeds, a WRITE overtakes the READ before it. */
static unsigned overtakings(unsigned flags)
{
	struct far_wr wr[2];
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;
	unsigned seed, nr = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		bed_init(&bed, 1, 1, seed, FAR_SIM_TEAR, NULL);
		attr = bed_attr(&bed, 8);
		bed_user_init(&user, &bed, 0, &attr);
		user.local[0] = 5;
		wr[0] = bed_wr(&user, FAR_NIC_READ, 0, 1, 1);
		wr[1] = bed_wr(&user, FAR_NIC_WRITE, 0, 0, 1);
		wr[1].flags |= flags;
		assert_int_equal(user.ops->post(user.qset, 0, wr, 2), 0);
		bed_wait(&user);
		bed_wait(&user);
		nr += user.local[1] == 5;
		bed_user_fini(&user);
		bed_fini(&bed);
	}
	return nr;
}

static void test_fence(void **state)
{
	assert_int_not_equal(overtakings(0), 0);
	assert_int_equal(overtakings(FAR_WR_FENCE), 0);
}

/* At most rd_atomic READs are on their way, and none is lost. */
static void test_rd_atomic(void **state)
{
	struct far_wr wr[8];
	struct bed bed;
	struct bed_user user;
	struct far_qset_attr attr;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, FREE ",rd_atomic=2");
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	for (i = 0; i < 8; i++)
		wr[i] = bed_wr(&user, FAR_NIC_READ, i, i, 1);
	assert_int_equal(user.ops->post(user.qset, 0, wr, 8), 0);
	for (i = 0; i < 8; i++)
		bed_wait(&user);
	assert_int_equal(far_sim_now(bed.sim), 4 * 2000);
	bed_user_fini(&user);
	bed_fini(&bed);
}

/* Two members of a group post to the same queue pair, and get what is theirs. */
static void test_group(void **state)
{
	struct bed bed;
	struct bed_user user[2];
	struct far_qset_attr attr;
	struct far_wr wr;
	struct far_wc wc;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	attr = bed_attr(&bed, 4);
	attr.group = 7;
	attr.doorbell = FAR_DOORBELL_DEFAULT;
	bed_user_init(&user[0], &bed, 0, &attr);
	bed_user_init(&user[1], &bed, 0, &attr);
	for (i = 0; i < 8; i++) {
		wr = bed_wr(&user[i % 2], FAR_NIC_READ, 0, 0, 1);
		wr.id = 100 + i;
		assert_int_equal(user[i % 2].ops->post(user[i % 2].qset, 0, &wr, 1), 0);
	}
	assert_int_equal(user[0].ops->post(user[0].qset, 0, &wr, 1), -EAGAIN);
	for (i = 0; i < 8; i++) {
		wc = bed_wait(&user[i % 2]);
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.id, 100 + i);
	}
	/* A member that goes leaves the other one's queue pair as it is. */
	wr = bed_wr(&user[0], FAR_NIC_READ, 0, 0, 1);
	assert_int_equal(user[0].ops->post(user[0].qset, 0, &wr, 1), 0);
	bed_user_fini(&user[0]);
	assert_int_equal(bed_do(&user[1], 0, bed_wr(&user[1], FAR_NIC_READ, 0, 0, 1)), 0);
	bed_user_fini(&user[1]);
	bed_fini(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_same_address),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_rd_atomic),
		cmocka_unit_test(test_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
