// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults: torn words, broken queue pairs, nodes that die, fences, and equal runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/base/rng.h"
#include "bed.h"

#define SEEDS	32u
#define WORDS	8u
#define ROUNDS	40u

/* A thread that WRITEs blocks of equal words, or READs them. */
struct side {
	struct bed_user user;
	int writes;
	unsigned torn;		/* READs that found words of different WRITEs */
	uint64_t bad;		/* words that are of no WRITE */
};

static void side_run(void *arg)
{
	struct side *side = arg;
	struct bed_user *user = &side->user;
	unsigned i, j;

	for (i = 1; i <= ROUNDS; i++) {
		for (j = 0; side->writes && j < WORDS; j++)
			user->local[j] = i * UINT64_C(0x0101010101010101);
		assert_int_equal(bed_do(user, 0, bed_wr(user, side->writes ?
							FAR_NIC_WRITE : FAR_NIC_READ,
							0, 0, WORDS)), 0);
		for (j = 0; !side->writes && j < WORDS; j++) {
			side->torn += user->local[j] != user->local[0];
			side->bad += user->local[j] % UINT64_C(0x0101010101010101) != 0;
		}
	}
}

static unsigned torn_words(unsigned adversary, unsigned seed)
{
	struct far_nic_thread *thread[2];
	static struct side side[2];
	struct far_qset_attr attr;
	struct bed bed;
	unsigned i;

	bed_init(&bed, 1, 1, seed, adversary, NULL);
	attr = bed_attr(&bed, 8);
	for (i = 0; i < 2; i++) {
		bed_user_init(&side[i].user, &bed, 0, &attr);
		side[i].writes = i;
		side[i].torn = side[i].bad = 0;
		assert_int_equal(side[i].user.ops->thread_start(side[i].user.nic, side_run,
								&side[i], &thread[i]), 0);
	}
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
	for (i = 0; i < 2; i++) {
		side[i].user.ops->thread_join(side[i].user.nic, thread[i]);
		bed_user_fini(&side[i].user);
	}
	bed_fini(&bed);
	assert_int_equal(side[0].bad, 0);
	return side[0].torn;
}

static void test_tear(void **state)
{
	unsigned seed, torn = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		assert_int_equal(torn_words(0, seed), 0);
		assert_int_equal(torn_words(FAR_SIM_DELAY, seed), 0);
		torn += torn_words(FAR_SIM_TEAR, seed);
	}
	assert_int_not_equal(torn, 0);
}

/*
 * Queue pairs break. Each FAA adds 1; the sum lies between what was acknowledged and
 * what was posted, and nothing lands behind connect().
 */
static void test_break(void **state)
{
	struct far_qset_attr attr;
	struct bed_user user;
	struct bed bed;
	struct far_wr wr[4];
	uint64_t acked = 0, posted = 0, broken = 0, before;
	unsigned i;

	bed_init(&bed, 1, 1, 3, FAR_SIM_BREAK | FAR_SIM_DELAY | FAR_SIM_TEAR, NULL);
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	while (broken < 8) {
		int failed = 0;

		for (i = 0; i < 4; i++) {
			wr[i] = bed_wr(&user, FAR_NIC_FAA, 0, i, 1);
			wr[i].arg[0] = 1;
		}
		assert_int_equal(user.ops->post(user.qset, 0, wr, 4), 0);
		posted += 4;
		for (i = 0; i < 4; i++) {
			struct far_wc wc = bed_wait(&user);

			assert_int_equal(wc.status, !failed && wc.status ? -EIO :
					 failed ? -ECANCELED : 0);
			failed = failed || wc.status;
			acked += !wc.status;
		}
		if (!failed)
			continue;
		broken++;
		assert_int_equal(user.ops->post(user.qset, 0, wr, 1), -ENOTCONN);
		assert_int_equal(user.ops->connect(user.qset, 0, &user.peer[0]), 0);
		before = *bed_word(&bed, 0, 0);
		assert_int_equal(user.ops->wait(user.qset, far_sim_now(bed.sim) + 100000),
				 -ETIME);
		assert_int_equal(*bed_word(&bed, 0, 0), before);
	}
	assert_in_range(*bed_word(&bed, 0, 0), acked, posted);
	bed_user_fini(&user);
	bed_fini(&bed);
}

/* connect() of a queue pair that is up: what was on its way is cancelled. */
static void test_connect_anew(void **state)
{
	struct far_qset_attr attr;
	struct bed_user user;
	struct bed bed;
	struct far_wr wr[4];
	uint64_t before;
	unsigned seed, i;

	for (seed = 0; seed < SEEDS; seed++) {
		bed_init(&bed, 1, 1, seed, FAR_SIM_DELAY, NULL);
		attr = bed_attr(&bed, 8);
		bed_user_init(&user, &bed, 0, &attr);
		for (i = 0; i < 4; i++) {
			wr[i] = bed_wr(&user, FAR_NIC_FAA, 0, i, 1);
			wr[i].arg[0] = 1;
		}
		assert_int_equal(user.ops->post(user.qset, 0, wr, 4), 0);
		user.ops->wait(user.qset, 1000);
		assert_int_equal(user.ops->connect(user.qset, 0, &user.peer[0]), 0);
		before = *bed_word(&bed, 0, 0);
		for (i = 0; i < 4; i++)
			assert_int_equal(bed_wait(&user).status, -ECANCELED);
		wr[0].op = FAR_NIC_READ;
		assert_int_equal(bed_do(&user, 0, wr[0]), 0);
		assert_int_equal(user.local[0], before);
		user.ops->wait(user.qset, far_sim_now(bed.sim) + 100000);
		assert_int_equal(*bed_word(&bed, 0, 0), before);
		bed_user_fini(&user);
		bed_fini(&bed);
	}
}

static void test_rights_and_bounds(void **state)
{
	struct far_peer reader;
	struct far_qset_attr attr;
	struct bed_user user;
	struct bed bed;
	struct far_wr wr;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	wr = bed_wr(&user, FAR_NIC_WRITE, BED_SPACE / 8, 0, 1);
	assert_int_equal(bed_do(&user, 0, wr), -EFAULT);
	assert_int_equal(user.ops->connect(user.qset, 0, &user.peer[0]), 0);
	wr = bed_wr(&user, FAR_NIC_READ, 0, 0, 1);
	wr.lkey++;
	assert_int_equal(bed_do(&user, 0, wr), -EFAULT);
	assert_int_equal(user.ops->attach(user.nic, "", "bed", FAR_ATTACH_READ, &reader), 0);
	assert_int_equal(user.ops->connect(user.qset, 0, &reader), 0);
	assert_int_equal(bed_do(&user, 0, bed_wr(&user, FAR_NIC_READ, 0, 0, 1)), 0);
	assert_int_equal(bed_do(&user, 0, bed_wr(&user, FAR_NIC_FAA, 0, 0, 1)), -EACCES);
	user.ops->detach(user.nic, &reader);
	assert_int_equal(user.ops->attach(user.nic, "1", "bed", 0, &reader), -EHOSTUNREACH);
	assert_int_equal(user.ops->attach(user.nic, "0", "bad", 0, &reader), -ENOENT);
	bed_user_fini(&user);
	bed_fini(&bed);
}

static void adder_run(void *arg)
{
	struct bed_user *user = arg;

	for (;;) {
		struct far_wr wr = bed_wr(user, FAR_NIC_FAA, 0, 0, 1);

		wr.arg[0] = 1;
		assert_int_equal(bed_do(user, 0, wr), 0);
	}
}

/* A compute node dies at its n-th operation: n - 1 of its operations happen. */
static void test_kill_cn(void **state)
{
	struct far_nic_thread *thread[2];
	static struct bed_user user[3];
	struct far_qset_attr attr;
	struct bed bed;
	unsigned nth, i;

	for (nth = 1; nth < 20; nth++) {
		bed_init(&bed, 2, 1, nth, 0, NULL);
		attr = bed_attr(&bed, 8);
		for (i = 0; i < 3; i++)
			bed_user_init(&user[i], &bed, i == 2, &attr);
		assert_int_equal(user[0].ops->claim(user[0].nic, &user[0].peer[0], 5), 0);
		assert_int_equal(user[2].ops->claim(user[2].nic, &user[2].peer[0], 5),
				 -EBUSY);
		assert_int_equal(user[2].ops->fence(user[2].nic, &user[2].peer[0], 5),
				 -EBUSY);
		far_sim_kill_cn_at(bed.sim, 0, nth);
		for (i = 0; i < 2; i++)
			assert_int_equal(user[i].ops->thread_start(user[i].nic, adder_run,
								   &user[i], &thread[i]),
					 0);
		assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
		assert_true(far_sim_cn_dead(bed.sim, 0));
		assert_false(far_sim_cn_dead(bed.sim, 1));
		/* what is on its way arrives until the fence */
		user[2].ops->wait(user[2].qset, far_sim_now(bed.sim) + 100000);
		assert_int_equal(user[2].ops->fence(user[2].nic, &user[2].peer[0], 5), 0);
		assert_int_equal(*bed_word(&bed, 0, 0), nth - 1);
		assert_int_equal(user[2].ops->claim(user[2].nic, &user[2].peer[0], 5), 0);
		for (i = 0; i < 2; i++)
			user[i].ops->thread_join(user[i].nic, thread[i]);
		bed_fini(&bed);
	}
}

/* Posts and does not wait. */
static void flood_run(void *arg)
{
	struct bed_user *user = arg;

	for (;;) {
		struct far_wr wr = bed_wr(user, FAR_NIC_FAA, 0, 0, 1);

		wr.arg[0] = 1;
		assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), 0);
	}
}

/* Behind the fence nothing of a dead client lands, however late it was. */
static void test_fence_ends_all(void **state)
{
	struct far_nic_thread *thread;
	static struct bed_user user[2];
	struct far_qset_attr attr;
	unsigned seed, early = 0;
	struct bed bed;
	uint64_t at_fence;

	for (seed = 0; seed < SEEDS; seed++) {
		bed_init(&bed, 2, 1, seed, FAR_SIM_DELAY, NULL);
		attr = bed_attr(&bed, 8);
		bed_user_init(&user[0], &bed, 0, &attr);
		bed_user_init(&user[1], &bed, 1, &attr);
		far_sim_kill_cn_at(bed.sim, 0, 6);
		assert_int_equal(user[0].ops->thread_start(user[0].nic, flood_run, &user[0],
							   &thread), 0);
		assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
		assert_int_equal(user[1].ops->fence(user[1].nic, &user[1].peer[0], 0), 0);
		at_fence = *bed_word(&bed, 0, 0);
		early += at_fence < 5;
		user[1].ops->wait(user[1].qset, far_sim_now(bed.sim) + 100000);
		assert_int_equal(*bed_word(&bed, 0, 0), at_fence);
		user[0].ops->thread_join(user[0].nic, thread);
		bed_fini(&bed);
	}
	assert_int_not_equal(early, 0);
}

static void test_kill_mn(void **state)
{
	struct far_qset_attr attr;
	struct bed_user user;
	struct bed bed;
	struct far_wr wr[3];
	unsigned i;

	bed_init(&bed, 1, 2, 1, 0, NULL);
	attr = bed_attr(&bed, 8);
	bed_user_init(&user, &bed, 0, &attr);
	far_sim_kill_mn_at(bed.sim, 0, 1000);
	for (i = 0; i < 3; i++)
		wr[i] = bed_wr(&user, FAR_NIC_READ, 0, i, 1);
	user.ops->spend(user.nic, 1000);
	assert_int_equal(user.ops->post(user.qset, 0, wr, 3), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(bed_wait(&user).status, i ? -ECANCELED : -EHOSTDOWN);
	assert_int_equal(user.ops->connect(user.qset, 0, &user.peer[0]), -EHOSTDOWN);
	assert_int_equal(bed_do(&user, 1, wr[0]), 0);
	bed_user_fini(&user);
	bed_fini(&bed);
}

/* Memory of a space that was removed is all zero for the next one. */
static void test_space_again(void **state)
{
	const struct far_nic_host_ops *host;
	struct far_host_map map;
	struct far_peer peer;
	struct far_nic *nic;
	struct bed bed;
	void *first;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	nic = far_sim_nic(bed.sim, 0);
	host = nic->ops->host;
	assert_int_equal(host->create(nic, "0", "bed", 4096, 0600, &map), -EEXIST);
	assert_int_equal(host->create(nic, "0", "x", UINT64_C(1) << 40, 0600, &map),
			 -ENOSPC);
	assert_int_equal(host->create(nic, "0", "x", 8192, 0600, &map), 0);
	assert_int_equal(nic->ops->attach(nic, "0", "x", 0, &peer), -ENOENT);
	assert_int_equal(host->publish(nic, &map), 0);
	first = map.addr;
	memset(first, 1, 8192);
	host->unmap(nic, &map);
	assert_int_equal(nic->ops->attach(nic, "0", "x", 0, &peer), 0);
	assert_int_equal(host->remove(nic, "0", "x"), 0);
	assert_int_equal(host->map(nic, "0", "x", &map), -ENOENT);
	nic->ops->detach(nic, &peer);
	assert_int_equal(host->create(nic, "0", "y", 8192, 0600, &map), 0);
	assert_ptr_equal(map.addr, first);
	assert_int_equal(((uint8_t *)first)[8191], 0);
	host->unmap(nic, &map);
	bed_fini(&bed);
}

static uint64_t trace_of(uint64_t seed)
{
	static struct side side[4];
	struct far_nic_thread *thread[4];
	struct far_qset_attr attr;
	struct bed bed;
	uint64_t trace;
	unsigned i;

	bed_init(&bed, 2, 1, seed, FAR_SIM_TEAR | FAR_SIM_DELAY, NULL);
	attr = bed_attr(&bed, 8);
	for (i = 0; i < 4; i++) {
		bed_user_init(&side[i].user, &bed, i / 2, &attr);
		side[i].writes = i % 2;
		assert_int_equal(side[i].user.ops->thread_start(side[i].user.nic, side_run,
								&side[i], &thread[i]), 0);
	}
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
	for (i = 0; i < 4; i++)
		side[i].user.ops->thread_join(side[i].user.nic, thread[i]);
	trace = far_sim_trace(bed.sim);
	bed_fini(&bed);
	return trace;
}

static void test_equal_runs(void **state)
{
	assert_int_equal(trace_of(1), trace_of(1));
	assert_int_equal(trace_of(2), trace_of(2));
	assert_int_not_equal(trace_of(1), trace_of(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tear),
		cmocka_unit_test(test_break),
		cmocka_unit_test(test_connect_anew),
		cmocka_unit_test(test_rights_and_bounds),
		cmocka_unit_test(test_kill_cn),
		cmocka_unit_test(test_fence_ends_all),
		cmocka_unit_test(test_kill_mn),
		cmocka_unit_test(test_space_again),
		cmocka_unit_test(test_equal_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
