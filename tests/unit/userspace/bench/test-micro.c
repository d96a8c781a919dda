// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The micro benchmark: what its numbers say by policy (in sim, where they are always
 * the same), its counters, and what it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/bench/micro.h"
#include "../../../../userspace/nic/nic.h"

static struct micro_result run(const char *policy, unsigned threads, unsigned depth,
			       unsigned nodes, double throttle)
{
	struct micro micro = micro_default;
	struct micro_result result;
	char why[256] = "";

	micro.nic = "sim:cx6-200";
	micro.nodes = nodes;
	micro.threads = threads;
	micro.depth = depth;
	micro.throttle = throttle;
	micro.ops = throttle > 0 ? 300000 : 20 * threads * depth;
	assert_int_equal(micro_policy_parse(policy, &micro.policy, &micro.per_qp), 0);
	if (micro_run(&micro, why, sizeof(why), &result))
		fail_msg("%s", why);
	return result;
}

static void test_policies(void **state)
{
	struct micro_result doorbell = run("per-thread-doorbell", 96, 8, 1, 0);
	struct micro_result qp = run("per-thread-qp", 96, 8, 1, 0);
	struct micro_result shared = run("shared-qp", 96, 8, 1, 0);

	assert_true(doorbell.mops >= 100);
	assert_int_equal(doorbell.threads_per_doorbell, 1);
	assert_true(doorbell.doorbells_per_op == 1);
	assert_true(qp.mops >= 15 && qp.mops <= 25);
	assert_int_equal(qp.threads_per_doorbell, 8);
	assert_true(shared.mops < 1);
	assert_true(doorbell.is_model);
}

/* Queue pairs for two memory nodes: 48 and 72 threads do better than one more or less. */
static void test_outliers(void **state)
{
	unsigned t;

	for (t = 48; t <= 72; t += 24) {
		double here = run("per-thread-qp", t, 8, 2, 0).mops;

		assert_true(here > 1.2 * run("per-thread-qp", t - 1, 8, 2, 0).mops);
		assert_true(here > 1.2 * run("per-thread-qp", t + 1, 8, 2, 0).mops);
	}
}

/* Too many outstanding operations lose, and throttling saves what they lose. */
static void test_throttle(void **state)
{
	struct micro_result deep = run("per-thread-doorbell", 96, 32, 1, 0);
	struct micro_result best = run("per-thread-doorbell", 96, 8, 1, 0);
	struct micro_result saved = run("per-thread-doorbell", 96, 32, 1, .005);

	assert_true(deep.mops < .6 * best.mops);
	assert_true(saved.mops > .95 * best.mops);
	assert_true(deep.dram_bytes_per_wr > 170 && deep.dram_bytes_per_wr < 190);
	assert_true(best.dram_bytes_per_wr < 95);
}

static void test_equal_runs(void **state)
{
	struct micro_result a = run("multiplexed-2", 24, 8, 1, 0);
	struct micro_result b = run("multiplexed-2", 24, 8, 1, 0);

	assert_true(a.mops == b.mops);
	assert_int_equal(a.outstanding_max, b.outstanding_max);
}

/* Each kind of operation, lists, and the other back end. */
static void test_kinds(void **state)
{
	static const int ops[] = { FAR_NIC_READ, FAR_NIC_WRITE, FAR_NIC_CAS, FAR_NIC_FAA };
	static const char *const nics[] = { "sim", "mem" };
	struct micro_result result;
	char why[256];
	unsigned i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 4; j++) {
			struct micro micro = micro_default;

			micro.nic = nics[i];
			micro.op = ops[j];
			micro.threads = 2;
			micro.batch = 4;
			micro.ops = 2000;
			micro.region = 1 << 20;
			assert_int_equal(micro_run(&micro, why, sizeof(why), &result), 0);
			assert_true(result.doorbells_per_op == .25);
			assert_true(result.mops > 0);
			assert_int_equal(result.is_model, !i);
			assert_int_equal(isnan(result.dram_bytes_per_wr), i);
		}
}

static struct micro_result redundant(unsigned threads, int op, double theta)
{
	struct micro micro = micro_default;
	struct micro_result result;
	char why[256] = "";

	micro.nic = "sim:cx6-100";
	micro.threads = threads;
	micro.depth = 1;
	micro.op = op;
	micro.size = 1024;
	micro.redundant_keys = 100000000;
	micro.theta = theta;
	micro.ops = 20000;
	if (micro_run(&micro, why, sizeof(why), &result))
		fail_msg("%s", why);
	return result;
}

/*
 * READs of one key at the same time: of N clients 2 (N - 1) times the sum of p^2, 0.48.
 * Writers wait for each other, so that there are more.
 */
static void test_redundant(void **state)
{
	struct micro_result reads = redundant(64, FAR_NIC_READ, .99);
	struct micro_result few = redundant(16, FAR_NIC_READ, .99);
	struct micro_result writes = redundant(64, FAR_NIC_WRITE, .99);

	assert_true(reads.redundant_per_op > .42 && reads.redundant_per_op < .54);
	assert_true(few.redundant_per_op < .3 * reads.redundant_per_op);
	assert_true(writes.redundant_per_op > 3 * reads.redundant_per_op);
	assert_true(writes.failed_per_op > 0 && reads.failed_per_op == 0);
	assert_true(redundant(64, FAR_NIC_READ, 0).redundant_per_op < .001);
	assert_true(redundant(1, FAR_NIC_WRITE, .99).redundant_per_op == 0);
}

static int refused(const struct micro *micro)
{
	struct micro_result result;
	char why[256] = "";
	int err = micro_run(micro, why, sizeof(why), &result);

	assert_true(!err || why[0]);
	return err;
}

static void test_refused(void **state)
{
	struct micro m = micro_default;

	m.threads = 0;
	assert_int_equal(refused(&m), -EINVAL);
	m = micro_default;
	m.batch = m.depth + 1;
	assert_int_equal(refused(&m), -EINVAL);
	m = micro_default;
	m.op = FAR_NIC_CAS;
	m.size = 16;
	assert_int_equal(refused(&m), -EINVAL);
	m = micro_default;
	m.nic = "sim:cx6-200,colour=1";
	assert_int_equal(refused(&m), -EINVAL);
	m.nic = "nosuch";
	assert_int_equal(refused(&m), -ENOENT);
	m.nic = "sim";
	m.nodes = 2;
	assert_int_equal(refused(&m), -EHOSTUNREACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_equal_runs),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_redundant),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
