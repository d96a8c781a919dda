/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RPC in sim: credits, queue pairs that the server closes, and counts that are exact. */
#include "bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND	UINT64_C(1000000000)
#define THREADS	16u
#define QPS	8u

struct busy {
	struct bed *bed;
	unsigned size, errors;
	uint64_t requests;
};

static void busy_run(void *arg)
{
	uint8_t data[FAR_RPC_DATA_MAX] = { 0 };
	struct busy *busy = arg;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	uint64_t i;

	busy->errors += far_rpc_join(busy->bed->rpc, &thread) != 0;
	for (i = 0; i < busy->requests && !busy->errors; i++)
		busy->errors += far_rpc_call(thread, BED_ECHO, data, busy->size, 10 * SECOND, data,
					     sizeof(data), &reply) != 0;
	far_rpc_leave(thread);
}

static void busy_all(struct bed *bed, uint64_t requests)
{
	struct busy busy[THREADS];
	unsigned i;

	for (i = 0; i < THREADS; i++)
		busy[i] = (struct busy) { .bed = bed, .requests = requests,
					  .size = i % 10 ? 64 : 4096 };
	bed_threads(bed, THREADS, busy_run, busy, sizeof(busy[0]));
	for (i = 0; i < THREADS; i++)
		assert_int_equal(busy[i].errors, 0);
}

static void bed_limit(struct bed *bed, unsigned max)
{
	pthread_mutex_lock(&bed->server->sched.lock);
	bed->server->sched.max = max;
	pthread_mutex_unlock(&bed->server->sched.lock);
}

/* A message is a doorbell; credits cost none. */
static void test_doorbells(void **state)
{
	struct far_rpc_stats stats;
	struct far_qset_stats counts;
	uint64_t doorbells = 0;
	struct bed bed;
	unsigned i;

	bed_open(&bed, BED_SIM, 2, 0, 1);
	bed_connect(&bed, QPS, 0);
	busy_all(&bed, 500);
	far_rpc_stats(bed.rpc, &stats);
	for (i = 0; i < QPS; i++) {
		bed.nic[0]->ops->stats(bed.rpc->qp[i].out, &counts);
		doorbells += counts.doorbells;
	}
	assert_int_equal(stats.requests, THREADS * 500);
	assert_int_equal(stats.head_reads, 0);
	assert_int_equal(doorbells, stats.messages);
	assert_true(stats.messages < stats.requests);
	bed_close(&bed);
}

/* The server closes all but two; no request goes over the others behind one interval. */
static void test_closed(void **state)
{
	uint64_t before[QPS];
	unsigned i, nr_open = 0;
	struct far_rpc_stats stats;
	struct bed bed;

	bed_open(&bed, BED_SIM, 2, 0, 1);
	bed_connect(&bed, QPS, 0);
	busy_all(&bed, 500);
	bed_limit(&bed, 2);
	busy_all(&bed, 2000);
	for (i = 0; i < QPS; i++)
		before[i] = bed.rpc->qp[i].requests;
	busy_all(&bed, 500);
	for (i = 0; i < QPS; i++) {
		assert_int_equal(rpc_qp_closed(&bed.rpc->qp[i]),
				 bed.rpc->qp[i].requests == before[i]);
		nr_open += !rpc_qp_closed(&bed.rpc->qp[i]);
	}
	assert_int_equal(nr_open, 2);
	far_rpc_stats(bed.rpc, &stats);
	assert_int_equal(stats.active, 2);
	assert_true(stats.moves >= THREADS - 2 * THREADS / QPS);
	bed_limit(&bed, QPS);
	busy_all(&bed, 2000);
	far_rpc_stats(bed.rpc, &stats);
	assert_int_equal(stats.active, QPS);
	bed_close(&bed);
}

/* Large requests keep to queue pairs of their own. */
static void test_apart(void **state)
{
	unsigned i, j, large = 0, mixed = 0;
	struct bed bed;

	bed_open(&bed, BED_SIM, 2, 0, 1);
	bed_connect(&bed, 4, 0);
	busy_all(&bed, 3000);
	for (i = 0; i < THREADS; i++)
		for (j = 0; j < THREADS; j++) {
			const struct far_rpc_thread *a = bed.rpc->thread[i];
			const struct far_rpc_thread *b = bed.rpc->thread[j];
			bool is_large = a->load.bytes > a->load.requests * 1000;

			large += i == j && is_large;
			mixed += is_large && b->load.bytes < b->load.requests * 1000 &&
				 a->qp == b->qp;
		}
	assert_int_equal(large, 2);
	assert_int_equal(mixed, 0);
	bed_close(&bed);
}

/* A client that sends more than its credits loses its connection. */
static void test_greedy(void **state)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	uint32_t i;

	bed_open(&bed, BED_SIM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	assert_int_equal(far_rpc_join(bed.rpc, &thread), 0);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, "a", 1, 10 * SECOND, &i, 4, &reply), 0);
	/* It counts wrong: the server's word seems to allow more. */
	bed.rpc->qp[0].used -= 40;
	for (i = 0; i < 60 && !far_rpc_send(thread, BED_ECHO, "a", 1, 10 * SECOND); i++)
		;
	while (thread->taken != thread->sent && !far_rpc_recv(thread, &i, 4, &reply))
		;
	assert_true(thread->taken != thread->sent || rpc_end_broken(&bed.rpc->qp[0].end));
	far_rpc_leave(thread);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbells),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_greedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
