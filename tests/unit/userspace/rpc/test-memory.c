/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations on the memory that a server offers, on mem, over soft and in sim: what they do, how
 * they are combined, what their errors say, and what a hostile client reaches.
 */
#include "bed.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/child.h"
#include "../../../lib/nightly.h"

#define SECOND	UINT64_C(1000000000)
#define LONG	(100 * SECOND)
#define THREADS	8u

static struct far_rpc_thread *join(struct bed *bed)
{
	struct far_rpc_thread *thread;

	assert_int_equal(far_rpc_join(bed->rpc, &thread), 0);
	return thread;
}

static int ping(struct far_rpc_thread *thread)
{
	struct far_rpc_reply reply;
	char data[4] = "abc";

	return far_rpc_call(thread, BED_ECHO, data, sizeof(data), LONG, data, sizeof(data), &reply);
}

static void errors(struct far_rpc_thread *thread)
{
	static uint8_t big[FAR_RPC_DATA_MAX + 1];
	uint64_t word;

	assert_int_equal(far_rpc_read(thread, 0, big, sizeof(big), LONG), -EMSGSIZE);
	assert_int_equal(far_rpc_read(thread, BED_MEMORY - 7, big, 8, LONG), -EFAULT);
	assert_int_equal(far_rpc_write(thread, BED_MEMORY, big, 1, LONG), -EFAULT);
	assert_int_equal(far_rpc_write(thread, UINT64_MAX, big, 2, LONG), -EFAULT);
	assert_int_equal(far_rpc_faa(thread, 12, 1, LONG, &word), -EINVAL);
	assert_int_equal(far_rpc_cas(thread, 1, 0, 1, LONG, &word), -EINVAL);
	assert_int_equal(far_rpc_cas(thread, BED_MEMORY, 0, 1, LONG, &word), -EFAULT);
	assert_false(far_rpc_may_have_run(-EFAULT));
	assert_int_equal(far_rpc_read(thread, BED_MEMORY, NULL, 0, LONG), 0);
}

static void one(enum bed_kind kind)
{
	static uint8_t out[FAR_RPC_DATA_MAX], back[FAR_RPC_DATA_MAX];
	struct far_rpc_thread *thread;
	struct bed bed;
	uint64_t word = 1;
	unsigned i;

	bed_open(&bed, kind, 2, 0, 1);
	bed_connect(&bed, 2, 0);
	thread = join(&bed);
	assert_int_equal(far_rpc_memory(bed.rpc), BED_MEMORY);
	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + i / 256;
	assert_int_equal(far_rpc_read(thread, BED_MEMORY - 8, &word, 8, LONG), 0);
	assert_int_equal(word, 0);
	/* Any length and place; more than the bounce buffer has, one after another. */
	for (i = 0; i < 40; i++) {
		uint64_t at = i * 641, len = i % 3 ? sizeof(out) - i * 5 : i;

		assert_int_equal(far_rpc_write(thread, at, out, len, LONG), 0);
		assert_memory_equal(bed.memory + at, out, len);
		assert_int_equal(far_rpc_read(thread, at, back, len, LONG), 0);
		assert_memory_equal(back, out, len);
	}
	memset(bed.memory, 0, 16);
	assert_int_equal(far_rpc_faa(thread, 8, 5, LONG, &word), 0);
	assert_int_equal(word, 0);
	assert_int_equal(far_rpc_cas(thread, 8, 4, 9, LONG, &word), 0);
	assert_int_equal(word, 5);
	assert_int_equal(far_rpc_cas(thread, 8, 5, 9, LONG, &word), 0);
	assert_int_equal(far_rpc_faa(thread, 8, 1, LONG, NULL), 0);
	assert_int_equal(*(uint64_t *)(bed.memory + 8), 10);
	assert_int_equal(*(uint64_t *)bed.memory, 0);
	errors(thread);
	assert_int_equal(ping(thread), 0);
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

/* A server without memory. */
static void test_none(void **state)
{
	struct far_rpc_thread *thread;
	struct bed bed = { 0 };
	char data[8];

	bed_open(&bed, BED_MEM, 1, 0, 1);
	far_rpc_stop(bed.server);
	bed.no_memory = true;
	bed_serve(&bed, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	assert_int_equal(far_rpc_memory(bed.rpc), 0);
	assert_int_equal(far_rpc_read(thread, 0, data, 0, LONG), -EOPNOTSUPP);
	assert_int_equal(ping(thread), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* A thread that counts in the server's memory, and calls. */
struct counter {
	struct bed *bed;
	unsigned idx;
	uint64_t rounds;
	uint64_t timeout_ns;
	uint64_t done, maybe, none;	/* additions: done, of unknown fate, not done */
	uint64_t wrong;
};

static void count_note(struct counter *counter, int err)
{
	if (!err)
		counter->done++;
	else if (far_rpc_may_have_run(err))
		counter->maybe++;
	else
		counter->none++;
}

/* Writes a block of its own and reads it back; what is read is the last that was written. */
static void block_check(struct counter *counter, struct far_rpc_thread *thread, uint64_t round)
{
	uint64_t out[13], back[13] = { 0 }, at = 4096 + counter->idx * 256;
	unsigned i;

	for (i = 0; i < 13; i++)
		out[i] = round << 8 ^ i ^ (uint64_t)counter->idx << 56;
	if (far_rpc_write(thread, at, out, sizeof(out), counter->timeout_ns) ||
	    far_rpc_read(thread, at, back, sizeof(back), counter->timeout_ns))
		return;
	/* A WRITE that was late may have landed behind this one. */
	if (memcmp(out, back, sizeof(out)) && !counter->maybe)
		counter->wrong++;
}

static void counter_run(void *arg)
{
	struct counter *counter = arg;
	struct far_nic *nic = counter->bed->nic[0];
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	uint64_t old, i, seen = 0;
	int err;

	if (far_rpc_join(counter->bed->rpc, &thread)) {
		counter->wrong++;
		return;
	}
	for (i = 0; i < counter->rounds; i++) {
		/* Requests that are outstanding do not matter. */
		bool sent = i % 4 == 0 && !far_rpc_send(thread, BED_ECHO, &i, 8,
							counter->timeout_ns);

		err = far_rpc_faa(thread, 64, 1, counter->timeout_ns, &old);
		count_note(counter, err);
		if (!err && seen && old < seen)
			counter->wrong++;
		if (!err)
			seen = old + 1;
		block_check(counter, thread, i);
		if (sent && !far_rpc_recv(thread, &old, 8, &reply) && old != i)
			counter->wrong++;
		if (err)
			nic->ops->wait(thread->qset, rpc_now(counter->bed->rpc) + SECOND / 1000);
	}
	far_rpc_leave(thread);
}

/* Counts of all threads, in *sum; checks the word. */
static void count(enum bed_kind kind, unsigned qps, uint64_t rounds, uint64_t timeout_ns,
		  unsigned adversary, uint64_t seed, struct counter *sum,
		  struct far_rpc_stats *ret_stats)
{
	struct counter counter[THREADS];
	struct far_rpc_thread *thread;
	uint64_t word = 0;
	struct bed bed;
	unsigned i;

	bed_open(&bed, kind, 2, adversary, seed);
	bed_connect(&bed, qps, 0);
	for (i = 0; i < THREADS; i++)
		counter[i] = (struct counter) { &bed, i, rounds, timeout_ns };
	bed_threads(&bed, THREADS, counter_run, counter, sizeof(*counter));
	*sum = (struct counter) { 0 };
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(counter[i].wrong, 0);
		sum->done += counter[i].done;
		sum->maybe += counter[i].maybe;
		sum->none += counter[i].none;
	}
	assert_int_equal(sum->done + sum->maybe + sum->none, THREADS * rounds);
	far_rpc_stats(bed.rpc, ret_stats);
	thread = join(&bed);
	while (far_rpc_read(thread, 64, &word, 8, LONG))
		bed.nic[0]->ops->wait(thread->qset, rpc_now(bed.rpc) + SECOND / 100);
	assert_in_range(word, sum->done, sum->done + sum->maybe);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_many_mem(void **state)
{
	struct far_rpc_stats stats;
	struct counter sum;

	count(BED_MEM, 2, 2000, LONG, 0, 1, &sum, &stats);
	assert_int_equal(sum.done, 2000 * THREADS);
	assert_int_equal(stats.accesses, 3 * sum.done);
}

static void test_many_soft(void **state)
{
	struct far_rpc_stats stats;
	struct counter sum;

	count(BED_SOFT, 2, 100, LONG, 0, 1, &sum, &stats);
	assert_int_equal(sum.done, 100 * THREADS);
}

/* Threads that want something at the same time share doorbells. */
static void test_many_sim(void **state)
{
	struct far_rpc_stats stats;
	struct counter sum;

	count(BED_SIM, 1, 500, LONG, 0, 1, &sum, &stats);
	assert_int_equal(sum.done, 500 * THREADS);
	assert_int_equal(stats.accesses, 3 * sum.done);
	assert_int_equal(stats.requests, sum.done / 4);
	assert_true(stats.doorbells * 3 < (stats.accesses + stats.requests) * 2);
}

/* A thread with blocks of the largest size. */
static void large_run(void *arg)
{
	static uint8_t out[2 * THREADS][FAR_RPC_DATA_MAX], back[2 * THREADS][FAR_RPC_DATA_MAX];
	struct counter *counter = arg;
	uint8_t *mine = out[counter->idx], *theirs = back[counter->idx];
	struct far_rpc_thread *thread;
	uint64_t i, at = counter->idx * FAR_RPC_DATA_MAX;

	if (far_rpc_join(counter->bed->rpc, &thread)) {
		counter->wrong++;
		return;
	}
	for (i = 0; i < counter->rounds; i++) {
		memset(mine, i * 31 + counter->idx, FAR_RPC_DATA_MAX);
		if (far_rpc_write(thread, at, mine, FAR_RPC_DATA_MAX - i, LONG) ||
		    far_rpc_read(thread, at, theirs, FAR_RPC_DATA_MAX - i, LONG) ||
		    memcmp(mine, theirs, FAR_RPC_DATA_MAX - i))
			counter->wrong++;
	}
	far_rpc_leave(thread);
}

/* More at a time than the bounce buffer holds. */
static void test_large(void **state)
{
	struct counter counter[2 * THREADS];
	struct bed bed;
	unsigned i;

	bed_open(&bed, BED_SIM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	for (i = 0; i < 2 * THREADS; i++)
		counter[i] = (struct counter) { &bed, i, 50 };
	bed_threads(&bed, 2 * THREADS, large_run, counter, sizeof(*counter));
	for (i = 0; i < 2 * THREADS; i++)
		assert_int_equal(counter[i].wrong, 0);
	bed_close(&bed);
}

static void test_adverse(void **state)
{
	struct far_rpc_stats stats;
	struct counter sum;
	uint64_t seed, nr = nightly() ? 100 : 10;

	for (seed = 1; seed <= nr; seed++) {
		count(BED_SIM, 2, 60, LONG, FAR_SIM_TEAR | FAR_SIM_DELAY, seed, &sum, &stats);
		assert_int_equal(sum.done, 60 * THREADS);
	}
}

/* Connections break: each error is true. */
static void test_breaks(void **state)
{
	uint64_t seed, maybe = 0, nr = nightly() ? 100 : 10;
	struct far_rpc_stats stats;
	struct counter sum;

	for (seed = 1; seed <= nr; seed++) {
		count(BED_SIM, 2, 200, LONG, FAR_SIM_BREAK | FAR_SIM_TEAR | FAR_SIM_DELAY, seed,
		      &sum, &stats);
		maybe += sum.maybe;
	}
	assert_true(maybe);
}

/* Times that are sometimes too short. */
static void test_late(void **state)
{
	uint64_t seed, done = 0, maybe = 0, none = 0;
	struct far_rpc_stats stats;
	struct counter sum;

	for (seed = 1; seed <= 10; seed++) {
		count(BED_SIM, 2, 100, 500 * seed - 499, FAR_SIM_DELAY, seed, &sum, &stats);
		done += sum.done;
		maybe += sum.maybe;
		none += sum.none;
	}
	print_message("%lu done, %lu of unknown fate, %lu not done\n", done, maybe, none);
	assert_true(done && maybe && none);
}

/* The server goes; another comes, with memory of its own. */
static void restart(enum bed_kind kind)
{
	struct far_rpc_thread *thread;
	struct bed bed;
	uint64_t word = 7;
	int err;

	bed_open(&bed, kind, 2, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	assert_int_equal(far_rpc_write(thread, 0, &word, 8, LONG), 0);
	far_rpc_stop(bed.server);
	/* The memory of a process that has ended may be there for a moment. */
	while (!(err = far_rpc_read(thread, 0, &word, 8, 10 * SECOND)))
		bed.nic[0]->ops->wait(thread->qset, rpc_now(bed.rpc) + SECOND / 1000);
	assert_true(err == -ECONNRESET || err == -ENOTCONN);
	bed_serve(&bed, 1);
	while ((err = far_rpc_read(thread, 0, &word, 8, 10 * SECOND)) == -ENOTCONN ||
	       err == -ECONNRESET)
		bed.nic[0]->ops->wait(thread->qset, rpc_now(bed.rpc) + SECOND / 100);
	assert_int_equal(err, 0);
	assert_int_equal(word, 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_restart(void **state)
{
	restart(BED_SIM);
	restart(BED_MEM);
	restart(BED_SOFT);
}

/* The server's process is killed, and nobody answers any more. */
static void killed(enum bed_kind kind)
{
	struct far_rpc_attr attr = { .service = "test" };
	struct far_rpc_thread *thread;
	struct bed bed;
	uint64_t word;
	pid_t pid;
	int err;

	bed_open(&bed, kind, 1, 0, 1);
	far_rpc_stop(bed.server);
	bed.server = NULL;
	bed.nic[1]->ops->close(bed.nic[1]);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct bed child = { .nic = { bed.nic[0], bed_nic(&bed, 1) } };

		bed_serve(&child, 1);
		for (;;)
			pause();
	}
	attr.node = bed.node;
	while (rpc_connect_nic(bed.nic[0], &attr, &bed.rpc))
		usleep(1000);
	thread = join(&bed);
	assert_int_equal(far_rpc_faa(thread, 0, 3, LONG, &word), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (!(err = far_rpc_faa(thread, 0, 3, 1000 * SECOND, &word)))
		;
	assert_true(err == -ECONNRESET || err == -ENOTCONN);
	bed.nic[1] = bed_nic(&bed, 1);
	bed_serve(&bed, 1);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* TSan ends a child that makes a thread when its parent had several. */
static void test_killed(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
	killed(BED_MEM);
	killed(BED_SOFT);
}

/* One operation of a client that has only a connection; its status. */
static int hostile_try(struct bed *bed, const struct far_wr *wr)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 64, .group = FAR_NIC_OWN };
	struct far_nic *nic = bed->nic[0];
	struct far_wr mine = *wr;
	struct far_hello hello, answer;
	struct far_qset *qset;
	struct rpc_end end;
	struct far_end ends;
	struct far_wc wc = { 0 };
	int err;

	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	ends = (struct far_end) { qset, qset };
	assert_int_equal(rpc_end_init(&end, nic, &ends, NULL), 0);
	rpc_call_fill(&hello, 1);
	assert_int_equal(nic->ops->call->call(nic, bed->node, "test", &ends, &end.window, &hello,
					      nic->ops->now(nic) + LONG, &answer, &end.link), 0);
	mine.local = end.copy;
	mine.lkey = end.lkey;
	mine.flags = FAR_WR_SIGNALED;
	memset(end.copy, 0xff, RPC_WINDOW);
	err = nic->ops->post(qset, 0, &mine, 1);
	while (!err && !nic->ops->poll(qset, &wc, 1))
		nic->ops->wait(qset, UINT64_MAX);
	rpc_end_fini(&end);
	nic->ops->qset_free(qset);
	return err ? err : wc.status;
}

/* A client reaches its ring and the server's memory, and nothing beside. */
static void hostile(enum bed_kind kind, unsigned tries)
{
	const uint64_t end = RPC_WINDOW + BED_MEMORY;
	struct far_wr wr = { .op = FAR_NIC_WRITE, .len = 4096 };
	struct far_rpc_thread *thread;
	struct far_rng rng;
	uint64_t word = 3;
	struct bed bed;
	unsigned i;

	bed_open(&bed, kind, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	far_rng_init(&rng, 1, kind);
	wr.remote = end - 4096;
	assert_int_equal(hostile_try(&bed, &wr), 0);
	memset(bed.memory, 0, BED_MEMORY);
	for (i = 0; i < tries; i++) {
		wr.remote = i ? end + far_rng_below(&rng, UINT64_C(1) << far_rng_below(&rng, 39)) :
				end - 4095;
		wr.op = i % 2 ? FAR_NIC_READ : FAR_NIC_WRITE;
		assert_int_not_equal(hostile_try(&bed, &wr), 0);
		assert_int_equal(ping(thread), 0);
		assert_int_equal(far_rpc_cas(thread, BED_MEMORY - 8, 0, 0, LONG, &word), 0);
		assert_int_equal(word, 0);
	}
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_hostile(void **state)
{
	hostile(BED_SIM, 200);
	hostile(BED_MEM, 50);
	hostile(BED_SOFT, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_sim),
		cmocka_unit_test(test_one_mem),
		cmocka_unit_test(test_one_soft),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_many_sim),
		cmocka_unit_test(test_many_mem),
		cmocka_unit_test(test_many_soft),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_adverse),
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
