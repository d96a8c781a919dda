/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each request runs at most once, whatever breaks, and what its error says is true: a million
 * requests in sim and on mem, ten at night, while the server closes and opens queue pairs, and
 * fewer through connections that break. Without breaks nothing is lost, and requests of each
 * thread run in their order, however often it moves to another queue pair.
 */
#include "bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../lib/nightly.h"

#define SECOND	UINT64_C(1000000000)
#define THREADS	16u
#define QPS	4u
#define MILLION	UINT64_C(1000000)

struct once {
	struct bed *bed;
	uint64_t first, nr;		/* numbers of its requests */
	unsigned outstanding;
	int *err;			/* of each request */
	uint64_t wrong;			/* responses that are another request's */
};

/* Takes the response of the oldest request, number nr. */
static void once_take(struct once *once, struct far_rpc_thread *thread, uint64_t nr)
{
	struct far_rpc_reply reply;
	uint64_t back = UINT64_MAX;
	int err = far_rpc_recv(thread, &back, sizeof(back), &reply);

	once->err[nr] = err;
	if (!err && back != nr)
		once->wrong++;
}

static void once_run(void *arg)
{
	struct once *once = arg;
	const struct far_nic_ops *ops = once->bed->nic[0]->ops;
	uint64_t sent[FAR_RPC_OUTSTANDING_MAX], nr, from = 0, to = 0;
	struct far_rpc_thread *thread;
	int err;

	if (far_rpc_join(once->bed->rpc, &thread)) {
		once->wrong++;
		return;
	}
	for (nr = once->first; nr < once->first + once->nr; nr++) {
		if (to - from == once->outstanding)
			once_take(once, thread, sent[from++ % FAR_RPC_OUTSTANDING_MAX]);
		err = far_rpc_send(thread, BED_MARK, &nr, sizeof(nr), 100 * SECOND);
		once->err[nr] = err;
		if (!err)
			sent[to++ % FAR_RPC_OUTSTANDING_MAX] = nr;
		else
			ops->wait(thread->qset, rpc_now(once->bed->rpc) + SECOND / 1000);
	}
	while (from != to)
		once_take(once, thread, sent[from++ % FAR_RPC_OUTSTANDING_MAX]);
	far_rpc_leave(thread);
}

/* Returns how many requests have failed. */
static uint64_t once_check(const struct bed *bed, const int *err, uint64_t requests)
{
	uint64_t i, failed = 0;

	for (i = 0; i < requests; i++) {
		unsigned runs = __atomic_load_n(&bed->runs[i], __ATOMIC_RELAXED);

		assert_true(runs <= 1);
		if (!err[i])
			assert_int_equal(runs, 1);
		else if (!far_rpc_may_have_run(err[i]))
			assert_int_equal(runs, 0);
		failed += err[i] != 0;
	}
	return failed;
}

/* Changes how many queue pairs are active. */
struct churn {
	struct bed *bed;
	uint32_t stop;			/* atomic */
};

static void churn_run(void *arg)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 1, .group = FAR_NIC_OWN };
	struct churn *churn = arg;
	struct far_nic *nic = churn->bed->nic[1];
	struct rpc_sched *sched = &churn->bed->server->sched;
	struct far_qset *qset;
	struct far_rng rng;

	far_rng_init(&rng, 1, 0);
	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	while (!__atomic_load_n(&churn->stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&sched->lock);
		sched->max = 1 + far_rng_below(&rng, QPS);
		pthread_mutex_unlock(&sched->lock);
		nic->ops->wait(qset, nic->ops->now(nic) + RPC_INTERVAL_NS);
	}
	nic->ops->qset_free(qset);
}

/* Runs the clients' threads while queue pairs are closed and opened. */
static void churn_threads(struct bed *bed, struct once *once)
{
	struct churn churn = { .bed = bed };
	struct far_nic_thread *thread;

	assert_int_equal(bed->nic[1]->ops->thread_start(bed->nic[1], churn_run, &churn,
							&thread), 0);
	bed_threads(bed, THREADS, once_run, once, sizeof(*once));
	__atomic_store_n(&churn.stop, 1, __ATOMIC_RELEASE);
	bed->nic[1]->ops->thread_join(bed->nic[1], thread);
}

static uint64_t once(int sim, unsigned adversary, uint64_t seed, uint64_t requests)
{
	int *err = calloc(requests, sizeof(*err));
	struct once once[THREADS];
	struct far_rpc_stats stats;
	uint64_t failed;
	struct bed bed;
	unsigned i;

	bed_open(&bed, sim, 2, adversary, seed);
	bed.runs = calloc(requests, 1);
	bed.last = calloc(THREADS + 1, sizeof(*bed.last));
	bed.share = requests / THREADS;
	bed_connect(&bed, QPS, 0);
	for (i = 0; i < THREADS; i++)
		once[i] = (struct once) { &bed, i * (requests / THREADS), requests / THREADS, 8,
					  err, 0 };
	churn_threads(&bed, once);
	far_rpc_stats(bed.rpc, &stats);
	assert_true(stats.moves);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(once[i].wrong, 0);
	failed = once_check(&bed, err, requests / THREADS * THREADS);
	if (!adversary)
		assert_int_equal(bed.disorder, 0);
	bed_close(&bed);
	free(bed.last);
	free(bed.runs);
	free(err);
	return failed;
}

static void test_million_sim(void **state)
{
	assert_int_equal(once(1, 0, 1, nightly() ? 10 * MILLION : MILLION), 0);
}

static void test_million_mem(void **state)
{
	assert_int_equal(once(0, 0, 1, nightly() ? 10 * MILLION : MILLION), 0);
}

static void test_breaks(void **state)
{
	uint64_t seed, failed = 0;

	for (seed = 1; seed <= 10; seed++)
		failed += once(1, FAR_SIM_BREAK | FAR_SIM_TEAR | FAR_SIM_DELAY, seed, 4000);
	assert_true(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_million_sim),
		cmocka_unit_test(test_million_mem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
