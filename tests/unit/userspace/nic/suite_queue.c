/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conformance: order, room and waiting of queue sets. */
#include <errno.h>
#include <string.h>

#include "bed.h"

#define ROUNDS	200

static void test_writes_in_order(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[3] = {
		bed_write(bed, 64, 0, 8), bed_write(bed, 64, 8, 8),
		bed_read(bed, 64, 16, 8),
	};
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		*bed_word(bed, 0) = 2 * i;
		*bed_word(bed, 8) = 2 * i + 1;
		assert_int_equal(bed_run(bed->qset, 0, wr, 3), 0);
		assert_int_equal(*bed_word(bed, 16), 2 * i + 1);
		assert_int_equal(bed_far_word(bed, 0, 64), 2 * i + 1);
	}
}

static void test_atomics_in_order(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[4] = {
		bed_write(bed, 64, 0, 8), bed_cas(bed, 64, 8, 5, 6),
		bed_faa(bed, 64, 16, 10), bed_read(bed, 64, 24, 8),
	};
	unsigned i;

	*bed_word(bed, 0) = 5;
	for (i = 0; i < ROUNDS; i++) {
		assert_int_equal(bed_run(bed->qset, 0, wr, 4), 0);
		assert_int_equal(*bed_word(bed, 8), 5);
		assert_int_equal(*bed_word(bed, 16), 6);
		assert_int_equal(*bed_word(bed, 24), 16);
	}
}

static void test_completions_in_order(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[BED_DEPTH];
	struct far_wc wc[BED_DEPTH];
	unsigned i;

	for (i = 0; i < BED_DEPTH; i++) {
		wr[i] = i % 3 ? bed_read(bed, 64, 0, 8 * (i % 5)) :
				bed_write(bed, 128, 64, 16);
		wr[i].id = i;
	}
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, BED_DEPTH), 0);
	bed_collect(bed->qset, wc, BED_DEPTH);
	for (i = 0; i < BED_DEPTH; i++)
		assert_int_equal(wc[i].id, i);
}

/* With the flag, a WRITE never passes the READ and the atomic before it. */
static void test_fence(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[3] = {
		bed_read(bed, 64, 0, 8), bed_faa(bed, 72, 8, 0),
		bed_write(bed, 64, 16, 16),
	};
	uint64_t i;

	wr[2].flags |= FAR_WR_FENCE;
	for (i = 0; i < ROUNDS; i++) {
		uint64_t old = bed_far_word(bed, 0, 64);

		bed_word(bed, 16)[0] = i + 100;
		bed_word(bed, 16)[1] = i + 100;
		assert_int_equal(bed_run(bed->qset, 0, wr, 3), 0);
		assert_int_equal(*bed_word(bed, 0), old);
		assert_int_equal(*bed_word(bed, 8), old);
	}
}

static void test_unsignaled(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[8];
	struct far_wc wc;
	unsigned i;

	for (i = 0; i < 8; i++) {
		wr[i] = bed_write(bed, 64 + 8 * i, 0, 8);
		wr[i].id = i;
		wr[i].flags = i == 7 ? FAR_WR_SIGNALED : 0;
	}
	*bed_word(bed, 0) = 11;
	for (i = 0; i < ROUNDS; i++) {
		assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 8), 0);
		bed_collect(bed->qset, &wc, 1);
		assert_int_equal(wc.id, 7);
		assert_int_equal(wc.status, 0);
	}
	bed_nothing(bed->qset);
	for (i = 0; i < 8; i++)
		assert_int_equal(bed_far_word(bed, 0, 64 + 8 * i), 11);
}

/* Operations without a completion give up their room at the next one. */
static void test_unsignaled_room(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_qset *qset = bed_qset(bed, 4);
	struct far_wr wr = bed_write(bed, 64, 0, 8);
	struct far_wc wc;
	unsigned i;

	wr.flags = 0;
	for (i = 0; i < 3; i++)
		assert_int_equal(ops->post(qset, 0, &wr, 1), 0);
	bed_nothing(qset);
	wr.flags = FAR_WR_SIGNALED;
	assert_int_equal(ops->post(qset, 0, &wr, 1), 0);
	assert_int_equal(ops->post(qset, 0, &wr, 1), -EAGAIN);
	bed_collect(qset, &wc, 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(ops->post(qset, 0, &wr, 1), 0);
	ops->qset_free(qset);
}

static void test_full(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_qset *qset = bed_qset(bed, 8);
	struct far_wr wr[9];
	struct far_wc wc[8];
	unsigned i;

	for (i = 0; i < 9; i++)
		wr[i] = bed_faa(bed, 64, 8 * i, 1);
	assert_int_equal(ops->post(qset, 0, wr, 9), -E2BIG);
	assert_int_equal(ops->post(qset, 0, wr, 6), 0);
	assert_int_equal(ops->post(qset, 0, wr, 3), -EAGAIN);
	/* the other peer has room of its own */
	assert_int_equal(ops->post(qset, 1, wr, 8), 0);
	assert_int_equal(ops->post(qset, 0, wr, 2), 0);
	assert_int_equal(ops->post(qset, 0, wr, 1), -EAGAIN);
	bed_collect(qset, wc, 8);
	bed_collect(qset, wc, 8);
	bed_nothing(qset);
	assert_int_equal(bed_far_word(bed, 0, 64), 8);
	assert_int_equal(bed_far_word(bed, 1, 64), 8);
	assert_int_equal(ops->post(qset, 0, wr, 8), 0);
	bed_collect(qset, wc, 8);
	ops->qset_free(qset);
}

/* Queue sets that are shallow, and full all at once. */
static void test_shallow(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_qset *qset[6];
	struct far_wr wr[4];
	struct far_wc wc[4];
	unsigned i, k;

	for (i = 0; i < 4; i++)
		wr[i] = bed_faa(bed, 64, 8 * i, 1);
	for (i = 0; i < 6; i++)
		qset[i] = bed_qset(bed, 4);
	for (i = 0; i < 6; i++)
		assert_int_equal(ops->post(qset[i], 0, wr, 4), 0);
	for (i = 0; i < 6; i++) {
		bed_collect(qset[i], wc, 4);
		for (k = 0; k < 4; k++)
			assert_int_equal(wc[k].status, 0);
	}
	assert_int_equal(bed_far_word(bed, 0, 64), 24);
	for (i = 0; i < 6; i++)
		ops->qset_free(qset[i]);
}

/* Freed with work in it: no completion, no crash, and others go on. */
static void test_free_with_work(void **state)
{
	struct bed *bed = *state;
	struct far_qset *qset = bed_qset(bed, 8);
	struct far_wr wr = bed_write(bed, 64, 0, 8);

	assert_int_equal(bed->nic->ops->post(qset, 0, &wr, 1), 0);
	bed->nic->ops->qset_free(qset);
	assert_int_equal(bed_one(bed, 0, wr), 0);
	bed_nothing(bed->qset);
}

static void test_not_connected(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_qset_attr attr = { .nr_peers = 2, .depth = 4, .group = FAR_NIC_OWN };
	struct far_wr wr = bed_read(bed, 64, 0, 8);
	struct far_qset *qset;

	assert_int_equal(ops->qset_new(bed->nic, &attr, &qset), 0);
	assert_int_equal(ops->post(qset, 0, &wr, 1), -ENOTCONN);
	assert_int_equal(ops->connect(qset, 1, &bed->peer[0]), 0);
	assert_int_equal(ops->post(qset, 0, &wr, 1), -ENOTCONN);
	assert_int_equal(ops->connect(qset, 2, &bed->peer[0]), -EINVAL);
	assert_int_equal(bed_run(qset, 1, &wr, 1), 0);
	ops->qset_free(qset);
	attr.depth = 0;
	assert_int_equal(ops->qset_new(bed->nic, &attr, &qset), -EINVAL);
	attr.depth = 32769;
	assert_int_equal(ops->qset_new(bed->nic, &attr, &qset), -EINVAL);
}

static void test_wake_first(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;

	ops->wake(bed->qset);
	ops->wake(bed->qset);
	assert_int_equal(ops->wait(bed->qset, UINT64_MAX), 0);
}

static void test_wait_time(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	uint64_t until = ops->now(bed->nic) + 100000;
	int err;

	do
		err = ops->wait(bed->qset, until);
	while (!err);
	assert_int_equal(err, -ETIME);
	assert_true(ops->now(bed->nic) >= until);
	ops->wake(bed->qset);
	assert_int_equal(ops->wait(bed->qset, UINT64_MAX), 0);
}

static void test_spend(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	uint64_t before = ops->now(bed->nic);

	ops->spend(bed->nic, 1000);
	if (ops->caps & FAR_NIC_CAP_VIRTUAL)
		assert_true(ops->now(bed->nic) >= before + 1000);
	assert_true(ops->now(bed->nic) >= before);
}

int suite_queue(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_writes_in_order, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_atomics_in_order, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_completions_in_order, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_fence, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_unsignaled, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_unsignaled_room, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_full, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_shallow, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_free_with_work, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_not_connected, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_wake_first, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wait_time, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_spend, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
