// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The benchmark of RPC in virtual time: what coalesces, and what its parts count. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/bench/rpc.h"

/* Two clients whose threads share queue pairs, and a server that is not the bottleneck. */
static struct rpc_bench shared(unsigned threads, unsigned qps)
{
	struct rpc_bench bench = rpc_bench_default;

	bench.nic = "sim:cx5-100";
	bench.cns = 2;
	bench.threads = threads;
	bench.outstanding = 2;
	bench.server_threads = 4;
	bench.qps = qps;
	bench.ops = 8000;
	return bench;
}

static struct rpc_bench_result run(const struct rpc_bench *bench)
{
	struct rpc_bench_result result;
	char why[256];

	if (rpc_bench_run(bench, why, sizeof(why), &result))
		fail_msg("%s", why);
	assert_int_equal(result.errors, 0);
	assert_true(result.mops > 0 && result.p50_us > 0);
	return result;
}

/* A thread that comes while a leader copies its own request is in its message. */
static void test_coalesces(void **state)
{
	struct rpc_bench bench = shared(2, 1);
	struct rpc_bench_result with = run(&bench), without;

	assert_true(with.degree > 1.2);
	assert_true(with.doorbells_per_op < 0.9);
	bench.coalesce = false;
	without = run(&bench);
	assert_true(without.degree == 1);
	/* Threads that have a queue pair each have nobody to send with. */
	bench = shared(4, 4);
	assert_true(run(&bench).degree < 1.05);
}

static void test_datagrams(void **state)
{
	struct rpc_bench bench = shared(4, 0);
	struct rpc_bench_result result;

	bench.variant = RPC_DATAGRAM;
	result = run(&bench);
	assert_int_equal(result.qps, 0);
	assert_int_equal(result.again, 0);
	assert_true(result.receive_share > 0.8 && result.receive_share < 1);
	assert_true(result.degree == 1);
}

/* A tenth of the threads has large requests, and all are at work to the end. */
static void test_large(void **state)
{
	struct rpc_bench bench = shared(10, 4);
	struct rpc_bench_result result = run(&bench);

	assert_true(result.small_mops == result.mops);
	bench.large = 4096;
	result = run(&bench);
	assert_true(result.small_mops < result.mops && result.small_mops > result.mops / 2);
	assert_true(result.before_mops > 0 && result.after_mops > 0);
}

/* Few requests have rates, too; a single one has none. */
static void test_few(void **state)
{
	struct rpc_bench bench = rpc_bench_default;
	struct rpc_bench_result result;
	char why[256];

	bench.threads = 1;
	bench.ops = 16;
	result = run(&bench);
	assert_true(isfinite(result.before_mops) && isfinite(result.after_mops));
	bench.ops = 1;
	assert_int_equal(rpc_bench_run(&bench, why, sizeof(why), &result), 0);
	assert_true(isnan(result.mops) && isnan(result.after_mops) && !result.is_steady);
	assert_true(result.seconds == 0);
}

/* Clients that ask alike may use as many queue pairs, and fewer than they have. */
static void test_alike(void **state)
{
	struct rpc_bench bench = shared(8, 8);
	struct rpc_bench_result result;

	bench.cns = 6;
	bench.outstanding = 8;
	bench.active = 20;
	bench.ops = 400000;
	result = run(&bench);
	assert_int_equal(result.active_least, 3);
	assert_int_equal(result.active_most, 4);
}

static void test_repeats(void **state)
{
	struct rpc_bench bench = shared(4, 2);
	struct rpc_bench_result a = run(&bench), b = run(&bench);

	assert_true(a.mops == b.mops && a.p99_us == b.p99_us && a.degree == b.degree);
	bench.seed = 2;
	b = run(&bench);
	assert_true(a.mops != b.mops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coalesces),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
