/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RPC: requests and responses, errors, order, and counts, on mem and in sim. */
#include "bed.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SECOND	UINT64_C(1000000000)

struct caller {
	struct bed *bed;
	uint64_t requests;
	unsigned outstanding;
	uint32_t size;
	uint64_t good;
	int err;	/* the first that a call of RPC gave */
};

static uint64_t word_of(const struct caller *caller, uint64_t i)
{
	return (uint64_t)(uintptr_t)caller << 20 ^ i;
}

/* Keeps so many requests outstanding; each response is that of the oldest request. */
static void caller_run(void *arg)
{
	struct caller *caller = arg;
	uint8_t request[FAR_RPC_DATA_MAX] = { 0 }, response[FAR_RPC_DATA_MAX];
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	uint64_t sent = 0, taken = 0, word;

	caller->err = far_rpc_join(caller->bed->rpc, &thread);
	if (caller->err)
		return;
	while (taken < caller->requests) {
		while (sent < caller->requests && sent - taken < caller->outstanding) {
			word = word_of(caller, sent);
			memcpy(request, &word, 8);
			caller->err = far_rpc_send(thread, BED_ECHO, request, caller->size,
						   100 * SECOND);
			if (caller->err)
				goto leave;
			sent++;
		}
		caller->err = far_rpc_recv(thread, response, sizeof(response), &reply);
		if (caller->err)
			goto leave;
		memcpy(&word, response, 8);
		if (reply.len == caller->size && word == word_of(caller, taken))
			caller->good++;
		taken++;
	}
leave:
	far_rpc_leave(thread);
}

static void many(enum bed_kind kind, unsigned threads, unsigned qps, unsigned batch,
		 unsigned outstanding, uint32_t size, uint64_t requests, unsigned adversary,
		 uint64_t seed, struct far_rpc_stats *ret_stats)
{
	struct caller *caller = calloc(threads, sizeof(*caller));
	struct bed bed;
	unsigned i;

	bed_open(&bed, kind, 2, adversary, seed);
	bed_connect(&bed, qps, batch);
	for (i = 0; i < threads; i++)
		caller[i] = (struct caller) { &bed, requests, outstanding, size, 0, 0 };
	bed_threads(&bed, threads, caller_run, caller, sizeof(*caller));
	for (i = 0; i < threads; i++) {
		assert_int_equal(caller[i].err, 0);
		assert_int_equal(caller[i].good, requests);
	}
	assert_int_equal(__atomic_load_n(&bed.ran, __ATOMIC_RELAXED), requests * threads);
	far_rpc_stats(bed.rpc, ret_stats);
	assert_int_equal(ret_stats->requests, requests * threads);
	bed_close(&bed);
	free(caller);
}

static void one(enum bed_kind kind)
{
	uint64_t word[2] = { 40, 2 }, sum = 0;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	char big[FAR_RPC_DATA_MAX + 1] = "x";

	bed_open(&bed, kind, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	assert_int_equal(far_rpc_join(bed.rpc, &thread), 0);
	assert_int_equal(far_rpc_recv(thread, big, 8, &reply), -ENOMSG);
	assert_int_equal(far_rpc_call(thread, BED_ADD, word, 16, 10 * SECOND, &sum, 8, &reply), 0);
	assert_int_equal(sum, 42);
	assert_int_equal(reply.status, 7);
	assert_int_equal(reply.len, 8);
	assert_int_equal(far_rpc_call(thread, BED_ADD, word, 15, 10 * SECOND, &sum, 8, &reply), 0);
	assert_int_equal(reply.status, -EINVAL);
	assert_int_equal(far_rpc_call(thread, BED_NONE, word, 16, 10 * SECOND, &sum, 8, &reply),
			 -ENOSYS);
	assert_int_equal(far_rpc_call(thread, 200, word, 16, 10 * SECOND, &sum, 8, &reply),
			 -ENOSYS);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, big, sizeof(big), SECOND, &sum, 8, &reply),
			 -EMSGSIZE);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, big, 9, 10 * SECOND, &sum, 8, &reply),
			 -ENOBUFS);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, big, sizeof(big) - 1, 10 * SECOND, big,
				      sizeof(big), &reply), 0);
	assert_int_equal(reply.len, FAR_RPC_DATA_MAX);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, NULL, 0, 10 * SECOND, big, 0, &reply), 0);
	assert_int_equal(reply.len, 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_one_mem(void **state)
{
	one(BED_MEM);
}

static void test_one_sim(void **state)
{
	one(BED_SIM);
}

static void test_one_soft(void **state)
{
	one(BED_SOFT);
}

static void test_many_soft(void **state)
{
	struct far_rpc_stats stats;

	many(BED_SOFT, 4, 1, 0, 4, 64, 500, 0, 1, &stats);
	many(BED_SOFT, 4, 2, 0, 1, 64, 200, 0, 1, &stats);
	many(BED_SOFT, 3, 1, 0, 16, FAR_RPC_DATA_MAX, 50, 0, 1, &stats);
}

static void test_many_mem(void **state)
{
	struct far_rpc_stats stats;

	many(BED_MEM, 4, 1, 0, 4, 64, 5000, 0, 1, &stats);
	many(BED_MEM, 4, 2, 0, 1, 64, 2000, 0, 1, &stats);
}

static void test_many_sim(void **state)
{
	struct far_rpc_stats stats;

	many(BED_SIM, 16, 4, 0, 4, 64, 1000, 0, 1, &stats);
	assert_true(stats.messages < stats.requests);
	assert_int_equal(stats.doorbells, stats.messages + stats.head_reads + 4);
	many(BED_SIM, 4, 4, 1, 1, 64, 1000, 0, 1, &stats);
	assert_int_equal(stats.messages, stats.requests);
	/* A doorbell for each message, and one for the RECVs of each queue pair. */
	assert_int_equal(stats.doorbells, stats.messages + stats.head_reads + 4);
}

/*
 * A thread that is woken for the duty when its own response has just come gives the duty to
 * the next: else the others slept until their deadlines.
 */
static void test_duty(void **state)
{
	struct far_rpc_stats stats;
	uint64_t seed;

	for (seed = 1; seed <= 20; seed++) {
		many(BED_SIM, 16, 8, 1, 8, 64, 200, 0, seed, &stats);
		many(BED_SIM, 16, 3, 0, 8, 64, 200, FAR_SIM_DELAY, seed, &stats);
	}
}

/* Large messages fill the rings and wrap at their ends. */
static void test_large(void **state)
{
	struct far_rpc_stats stats;

	many(BED_MEM, 3, 1, 0, 16, FAR_RPC_DATA_MAX, 300, 0, 1, &stats);
	many(BED_SIM, 3, 1, 0, 16, FAR_RPC_DATA_MAX, 300, 0, 1, &stats);
	many(BED_SIM, 3, 1, 0, 16, 5000, 300, 0, 1, &stats);
}

/* Words land in any order and late. */
static void test_adverse(void **state)
{
	struct far_rpc_stats stats;
	uint64_t seed;

	for (seed = 1; seed <= 10; seed++)
		many(BED_SIM, 8, 2, 0, 4, 200, 100, FAR_SIM_TEAR | FAR_SIM_DELAY, seed, &stats);
}

#define JOINERS	64u
#define JOINS	8u		/* of each */
#define CALLS	20u		/* of each between */

/* Joins, calls and leaves, over and over. */
static void joiner_run(void *arg)
{
	struct caller *caller = arg;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	uint64_t word, back;
	unsigned i, k;

	for (i = 0; i < JOINS; i++) {
		if (far_rpc_join(caller->bed->rpc, &thread))
			break;
		for (k = 0; k < CALLS; k++) {
			word = word_of(caller, i * CALLS + k);
			if (!far_rpc_call(thread, BED_ECHO, &word, 8, 100 * SECOND, &back, 8,
					  &reply) && back == word)
				caller->good++;
		}
		far_rpc_leave(thread);
	}
}

/* Threads join, and come and go, while others send and are assigned to queue pairs. */
static void test_joins(void **state)
{
	struct caller *caller = calloc(JOINERS, sizeof(*caller));
	struct bed bed;
	unsigned i, round;

	for (round = 0; round < 8; round++) {
		bed_open(&bed, BED_MEM, 2, 0, 1);
		bed_connect(&bed, 2, 16);
		for (i = 0; i < JOINERS; i++)
			caller[i] = (struct caller) { .bed = &bed };
		bed_threads(&bed, JOINERS, joiner_run, caller, sizeof(*caller));
		for (i = 0; i < JOINERS; i++)
			assert_int_equal(caller[i].good, JOINS * CALLS);
		bed_close(&bed);
	}
	free(caller);
}

struct giving_up {
	struct rpc_slot *slot;
	uint32_t round;			/* atomic */
	uint32_t done;			/* rounds that are over; atomic */
};

#define ROUNDS	20000u
#define ROUNDS_END	(5 * SECOND)	/* fewer on a busy machine */

static void word_await(const uint32_t *word, uint32_t value)
{
	unsigned spins = 0;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		if (++spins % 1000 == 0)
			sched_yield();
}

/* Gives up the request of each round. */
static void give_up_run(void *arg)
{
	struct giving_up *up = arg;
	uint32_t round;

	for (round = 1;; round++) {
		word_await(&up->round, round);
		if (!up->slot)
			break;
		rpc_slot_forget(up->slot);
		__atomic_store_n(&up->done, round, __ATOMIC_RELEASE);
	}
}

/* A request that is given up in the moment in which its connection ends is over, too. */
static void test_given_up_at_the_end(void **state)
{
	struct far_nic_thread *other;
	struct far_rpc_thread *thread;
	struct giving_up up = { 0 };
	struct bed bed;
	uint32_t round;
	uint64_t end;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	bed_connect(&bed, 1, 16);
	end = rpc_now(bed.rpc) + ROUNDS_END;
	assert_int_equal(far_rpc_join(bed.rpc, &thread), 0);
	up.slot = &thread->slot[0];
	__atomic_store_n(&up.slot->qp, bed.rpc->qp, __ATOMIC_RELEASE);
	assert_int_equal(bed.nic[0]->ops->thread_start(bed.nic[0], give_up_run, &up, &other), 0);
	for (round = 1; round <= ROUNDS && rpc_now(bed.rpc) < end; round++) {
		__atomic_store_n(&up.slot->state, RPC_SLOT_SENT, __ATOMIC_RELEASE);
		__atomic_store_n(&up.round, round, __ATOMIC_RELEASE);
		rpc_qp_fail(bed.rpc->qp);
		word_await(&up.done, round);
		assert_int_equal(rpc_slot_state(up.slot), RPC_SLOT_FREE);
	}
	up.slot = NULL;
	__atomic_store_n(&up.round, round, __ATOMIC_RELEASE);
	bed.nic[0]->ops->thread_join(bed.nic[0], other);
	far_rpc_leave(thread);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_sim),
		cmocka_unit_test(test_one_mem),
		cmocka_unit_test(test_one_soft),
		cmocka_unit_test(test_many_sim),
		cmocka_unit_test(test_many_mem),
		cmocka_unit_test(test_many_soft),
		cmocka_unit_test(test_duty),
		cmocka_unit_test(test_given_up_at_the_end),
		cmocka_unit_test(test_joins),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_adverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
