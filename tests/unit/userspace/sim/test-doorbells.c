// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Doorbells as the provider hands them out: which threads share one. With queue pairs
 * for two memory nodes, 48, 72 and 96 threads share them among fewer than their
 * neighbours do (smart-framework section 6.2.2, about its figure 10).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bed.h"

static unsigned threads_per_doorbell(unsigned threads, unsigned mns,
				     enum far_doorbell doorbell)
{
	struct far_sim_cn_stats stats;
	struct far_qset **qset = calloc(threads, sizeof(qset[0]));
	struct far_peer peer[BED_MAX_MNS];
	struct far_qset_attr attr;
	struct far_nic *nic;
	struct bed bed;
	unsigned i, mn;

	assert_non_null(qset);
	bed_init(&bed, 1, mns, 1, 0, NULL);
	nic = far_sim_nic(bed.sim, 0);
	attr = bed_attr(&bed, 1);
	attr.doorbell = doorbell;
	for (i = 0; i < threads; i++)
		assert_int_equal(nic->ops->qset_new(nic, &attr, &qset[i]), 0);
	for (mn = 0; mn < mns; mn++) {
		char node[2] = { '0' + mn, 0 };

		assert_int_equal(nic->ops->attach(nic, node, "bed", FAR_ATTACH_READ,
						  &peer[mn]), 0);
		for (i = 0; i < threads; i++)
			assert_int_equal(nic->ops->connect(qset[i], mn, &peer[mn]), 0);
	}
	far_sim_stats(bed.sim, 0, &stats);
	bed_fini(&bed);
	free(qset);
	return stats.threads_per_doorbell;
}

static void test_one_node(void **state)
{
	assert_int_equal(threads_per_doorbell(4, 1, FAR_DOORBELL_DEFAULT), 1);
	assert_int_equal(threads_per_doorbell(16, 1, FAR_DOORBELL_DEFAULT), 1);
	assert_int_equal(threads_per_doorbell(17, 1, FAR_DOORBELL_DEFAULT), 2);
	assert_int_equal(threads_per_doorbell(96, 1, FAR_DOORBELL_DEFAULT), 8);
	assert_int_equal(threads_per_doorbell(96, 1, FAR_DOORBELL_THREAD), 1);
	assert_int_equal(threads_per_doorbell(96, 1, FAR_DOORBELL_CONTEXT), 1);
}

static void test_outliers(void **state)
{
	unsigned t;

	for (t = 48; t <= 96; t += 24) {
		assert_int_equal(threads_per_doorbell(t, 2, FAR_DOORBELL_DEFAULT), t / 12);
		assert_in_range(threads_per_doorbell(t - 1, 2, FAR_DOORBELL_DEFAULT),
				t / 6 - 1, t / 6);
		assert_in_range(threads_per_doorbell(t + 1, 2, FAR_DOORBELL_DEFAULT),
				t / 6 - 1, t / 6 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_outliers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
