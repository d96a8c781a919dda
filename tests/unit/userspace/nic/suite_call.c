/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conformance: programs that call each other, and what they do over the connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"

#define WINDOW	(UINT64_C(64) << 10)
#define COMMON	(UINT64_C(12) << 10)
#define SOON	UINT64_C(20000000)	/* ns */

enum { CALLER, SERVER };

/* Two ends in one process, on one NIC or on two. */
struct pair {
	struct bed *bed;
	const struct bed_ends *ends;
	struct far_nic *nic[2];
	uint32_t lkey[2];
	struct far_qset *qset[2];
	struct far_window window[2];
	struct far_common common;	/* of the server's window */
	struct far_link *link[2];
	struct far_end end[2];
	int reject;		/* the server's answer; 0: it accepts */
	int err;		/* of the server */
};

static const struct far_nic_call_ops *call_of(const struct bed *bed)
{
	if (!bed->nic->ops->call)
		skip();
	return bed->nic->ops->call;
}

static struct far_qset *qset_make(struct far_nic *nic)
{
	struct far_qset_attr attr = { .nr_peers = 4, .depth = 16, .group = FAR_NIC_OWN };
	struct far_qset *qset;

	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	return qset;
}

/* Registers the bed's local memory for one end. */
static int local_reg(struct pair *pair, unsigned side)
{
	struct far_nic *nic = pair->nic[side];
	const struct far_nic_call_ops *call = nic->ops->call;

	if (!call->window_reg)
		return nic->ops->mr_reg(nic, pair->bed->local, BED_LOCAL, &pair->lkey[side]);
	return call->window_reg(nic, &pair->window[side], pair->bed->local, BED_LOCAL,
				&pair->lkey[side]);
}

static struct pair *pair_new(struct bed *bed)
{
	const struct far_nic_call_ops *call = call_of(bed);
	struct pair *pair = calloc(1, sizeof(*pair));
	unsigned i;

	pair->bed = bed;
	pair->ends = bed_ends(bed);
	assert_int_equal(call->common_new(pair->ends->nic[SERVER], COMMON, &pair->common), 0);
	for (i = 0; i < 2; i++) {
		struct far_nic *nic = pair->nic[i] = pair->ends->nic[i];

		pair->qset[i] = qset_make(nic);
		assert_int_equal(call->window_new(nic, WINDOW, i == SERVER ? &pair->common : NULL,
						  &pair->window[i]), 0);
		assert_int_equal(local_reg(pair, i), 0);
		pair->end[i] = (struct far_end) { pair->qset[i], pair->qset[i], i + 1, i + 1 };
	}
	return pair;
}

static void pair_free(struct pair *pair)
{
	const struct far_nic_call_ops *call = pair->bed->nic->ops->call;
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (pair->link[i])
			call->hangup(pair->nic[i], pair->link[i]);
		pair->nic[i]->ops->qset_free(pair->qset[i]);
		pair->nic[i]->ops->mr_dereg(pair->nic[i], pair->lkey[i]);
		call->window_free(pair->nic[i], &pair->window[i]);
	}
	call->common_free(pair->nic[SERVER], &pair->common);
	free(pair);
}

/* Serves one call. */
static void server_run(void *arg)
{
	struct pair *pair = arg;
	struct far_nic *nic = pair->nic[SERVER];
	const struct far_nic_call_ops *call = nic->ops->call;
	struct far_hello answer = { 2, "ok" };
	struct far_listener *listener;
	struct far_caller caller;
	int err = call->listen(pair->qset[SERVER], "echo", &listener);

	if (err) {
		pair->err = err;
		return;
	}
	while ((err = call->take(nic, listener, &caller)) == -EAGAIN)
		nic->ops->wait(pair->qset[SERVER], UINT64_MAX);
	if (!err && (caller.hello.len != 5 || memcmp(caller.hello.data, "hello", 5)))
		err = -EPROTO;
	if (!err && pair->reject)
		call->reject(nic, &caller, pair->reject);
	else if (!err)
		err = call->accept(nic, &caller, &pair->end[SERVER], &pair->window[SERVER],
				   &answer, &pair->link[SERVER]);
	call->unlisten(nic, listener);
	pair->err = err;
}

static int pair_call(struct pair *pair, struct far_hello *answer)
{
	struct far_nic *nic = pair->nic[CALLER];
	struct far_hello hello = { 5, "hello" };
	struct far_nic_thread *thread;
	int err;

	assert_int_equal(nic->ops->thread_start(nic, server_run, pair, &thread), 0);
	do
		err = nic->ops->call->call(nic, pair->ends->node, "echo", &pair->end[CALLER],
					   &pair->window[CALLER], &hello,
					   nic->ops->now(nic) + 1000 * SOON, answer,
					   &pair->link[CALLER]);
	while ((err == -ENOENT || err == -ECONNREFUSED) && !pair->err &&
	       nic->ops->wait(pair->qset[CALLER], nic->ops->now(nic) + 1000000));
	nic->ops->thread_join(nic, thread);
	return err;
}

static struct pair *pair_connect(struct bed *bed)
{
	struct pair *pair = pair_new(bed);
	struct far_hello answer;

	assert_int_equal(pair_call(pair, &answer), 0);
	assert_int_equal(pair->err, 0);
	assert_int_equal(answer.len, 2);
	assert_memory_equal(answer.data, "ok", 2);
	return pair;
}

static int run(struct pair *pair, unsigned side, struct far_wr wr)
{
	wr.lkey = pair->lkey[side];
	return bed_run(pair->qset[side], side + 1, &wr, 1);
}

static void recv_post(struct pair *pair, unsigned side, uint64_t id)
{
	struct far_wr wr = { .id = id, .op = FAR_NIC_RECV, .flags = FAR_WR_SIGNALED };

	assert_int_equal(pair->nic[side]->ops->post(pair->qset[side], side + 1, &wr, 1), 0);
}

/* A WRITE_IMM of the caller. */
static struct far_wr imm_of(struct pair *pair, uint64_t remote, uint32_t len, uint32_t imm)
{
	struct far_wr wr = bed_write(pair->bed, remote, 0, len);

	wr.lkey = pair->lkey[CALLER];
	wr.op = FAR_NIC_WRITE_IMM;
	wr.arg[0] = imm;
	return wr;
}

static void test_both_write(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	unsigned side;

	for (side = 0; side < 2; side++) {
		uint8_t *theirs = pair->window[!side].addr;

		bed_pattern(bed, 0, 1000, side);
		assert_int_equal(run(pair, side, bed_write(bed, 24, 0, 1000)), 0);
		assert_memory_equal(theirs + 24, bed->local, 1000);
		assert_int_equal(theirs[23], 0);
		assert_int_equal(theirs[1024], 0);
		assert_int_equal(run(pair, side, bed_read(bed, 24, 4096, 1000)), 0);
		assert_memory_equal(bed->local + 4096, bed->local, 1000);
		memset(theirs, 0, 8);
		assert_int_equal(run(pair, side, bed_faa(bed, 0, 8192, 3)), 0);
		assert_int_equal(run(pair, side, bed_cas(bed, 0, 8192, 3, 9)), 0);
		assert_int_equal(*bed_word(bed, 8192), 3);
		assert_int_equal(*(uint64_t *)theirs, 9);
	}
	pair_free(pair);
}

static void test_bounds(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);

	assert_int_equal(run(pair, CALLER, bed_write(bed, WINDOW + COMMON - 8, 0, 8)), 0);
	assert_int_equal(run(pair, SERVER, bed_write(bed, WINDOW - 8, 0, 8)), 0);
	assert_int_equal(run(pair, CALLER, bed_write(bed, WINDOW + COMMON - 7, 0, 8)), -EFAULT);
	pair_free(pair);
	/* The refused WRITE may have broken both directions. */
	pair = pair_connect(bed);
	assert_int_equal(run(pair, SERVER, bed_read(bed, WINDOW, 0, 1)), -EFAULT);
	pair_free(pair);
}

/* Behind a window lies the common memory, which other windows have, too. */
static void test_common(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	const struct far_nic_call_ops *call = call_of(bed);
	uint8_t *common = pair->common.addr, *own = pair->window[SERVER].addr;
	struct far_nic *server = pair->nic[SERVER];
	struct far_window other;

	assert_int_equal(pair->window[SERVER].span, WINDOW + COMMON);
	assert_int_equal(pair->window[CALLER].span, WINDOW);
	assert_int_equal(call->window_new(server, WINDOW, &pair->common, &other), 0);
	bed_pattern(bed, 0, COMMON, 3);
	assert_int_equal(run(pair, CALLER, bed_write(bed, WINDOW, 0, COMMON)), 0);
	assert_memory_equal(common, bed->local, COMMON);
	assert_int_equal(own[WINDOW - 1], 0);
	memset(common, 0, 8);
	assert_int_equal(run(pair, CALLER, bed_faa(bed, WINDOW, COMMON, 5)), 0);
	assert_int_equal(run(pair, CALLER, bed_cas(bed, WINDOW, COMMON, 5, 8)), 0);
	assert_int_equal(*bed_word(bed, COMMON), 5);
	assert_int_equal(*(uint64_t *)common, 8);
	assert_int_equal(run(pair, CALLER, bed_read(bed, WINDOW + 8, 2 * COMMON, COMMON - 8)), 0);
	assert_memory_equal(bed->local + 2 * COMMON, bed->local + 8, COMMON - 8);
	call->window_free(server, &other);
	/* The memory outlives the window. */
	assert_int_equal(common[COMMON - 1], bed->local[COMMON - 1]);
	pair_free(pair);
}

/* Too much, and no whole pages. */
static void test_common_refused(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_call_ops *call = call_of(bed);
	struct far_common common;
	struct far_window window;

	assert_int_equal(call->common_new(bed->nic, 0, &common), -EINVAL);
	assert_int_equal(call->common_new(bed->nic, 4097, &common), -EINVAL);
	assert_int_equal(call->common_new(bed->nic, 4096, &common), 0);
	assert_int_equal(call->window_new(bed->nic, UINT64_C(1) << 32, &common, &window), -EINVAL);
	assert_int_equal(call->window_new(bed->nic, 4096, &common, &window), 0);
	call->window_free(bed->nic, &window);
	call->common_free(bed->nic, &common);
}

static void test_imm(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_qset_stats stats;
	struct far_wc wc[2];
	uint32_t i;

	recv_post(pair, SERVER, 70);
	recv_post(pair, SERVER, 71);
	for (i = 0; i < 2; i++) {
		bed_pattern(bed, 0, 100, i);
		assert_int_equal(run(pair, CALLER, imm_of(pair, 8, 100, 500 + i)), 0);
		bed_collect(pair->qset[SERVER], wc, 1);
		assert_int_equal(wc[0].id, 70 + i);
		assert_int_equal(wc[0].op, FAR_NIC_RECV);
		assert_int_equal(wc[0].status, 0);
		assert_int_equal(wc[0].imm, 500 + i);
		assert_int_equal(wc[0].peer, SERVER + 1);
		assert_memory_equal((uint8_t *)pair->window[SERVER].addr + 8, bed->local, 100);
	}
	bed->nic->ops->stats(pair->qset[CALLER], &stats);
	assert_int_equal(stats.ops[FAR_NIC_WRITE_IMM], 2);
	bed->nic->ops->stats(pair->qset[SERVER], &stats);
	assert_int_equal(stats.ops[FAR_NIC_RECV], 2);
	pair_free(pair);
}

/* A WRITE_IMM without a RECV waits, and all behind it. */
static void test_no_recv(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_wr wr[2] = { imm_of(pair, 0, 8, 5), bed_write(bed, 8, 0, 8) };
	struct far_wc wc[2];

	wr[1].lkey = pair->lkey[CALLER];
	*bed_word(bed, 0) = 77;
	assert_int_equal(bed->nic->ops->post(pair->qset[CALLER], CALLER + 1, wr, 2), 0);
	bed_nothing(pair->qset[CALLER]);
	assert_int_equal(((uint64_t *)pair->window[SERVER].addr)[1], 0);
	recv_post(pair, SERVER, 1);
	bed_collect(pair->qset[CALLER], wc, 2);
	assert_int_equal(wc[0].status | wc[1].status, 0);
	bed_collect(pair->qset[SERVER], wc, 1);
	assert_int_equal(wc[0].imm, 5);
	assert_int_equal(((uint64_t *)pair->window[SERVER].addr)[1], 77);
	pair_free(pair);
}

static void waker_run(void *arg)
{
	struct pair *pair = arg;

	pair->err = run(pair, CALLER, imm_of(pair, 0, 8, 9));
}

/* A WRITE_IMM wakes who sleeps in wait(). */
static void test_wakes(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_nic_thread *thread;
	struct far_wc wc;
	int nr;

	recv_post(pair, SERVER, 1);
	assert_int_equal(bed->nic->ops->thread_start(bed->nic, waker_run, pair, &thread), 0);
	while (!(nr = bed->nic->ops->poll(pair->qset[SERVER], &wc, 1)))
		assert_int_equal(bed->nic->ops->wait(pair->qset[SERVER], UINT64_MAX), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(wc.imm, 9);
	bed->nic->ops->thread_join(bed->nic, thread);
	assert_int_equal(pair->err, 0);
	pair_free(pair);
}

/* The other end hangs up: RECVs and operations fail, and what has arrived is kept. */
static void test_hangup(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_wr recv = { .op = FAR_NIC_RECV };
	struct far_wc wc[3];

	recv_post(pair, SERVER, 1);
	recv_post(pair, SERVER, 2);
	recv_post(pair, SERVER, 3);
	assert_int_equal(run(pair, CALLER, imm_of(pair, 0, 8, 5)), 0);
	bed->nic->ops->call->hangup(pair->nic[CALLER], pair->link[CALLER]);
	pair->link[CALLER] = NULL;
	while (bed->nic->ops->wait(pair->qset[SERVER], UINT64_MAX))
		;
	bed_collect(pair->qset[SERVER], wc, 3);
	assert_int_equal(wc[0].status, 0);
	assert_int_equal(wc[0].imm, 5);
	assert_int_equal(wc[1].status, -EHOSTDOWN);
	assert_true(wc[2].status == -EHOSTDOWN || wc[2].status == -ECANCELED);
	assert_int_equal(wc[2].id, 3);
	assert_int_equal(run(pair, SERVER, bed_write(bed, 0, 0, 8)), -EHOSTDOWN);
	assert_int_equal(bed->nic->ops->post(pair->qset[SERVER], SERVER + 1, &recv, 1), -ENOTCONN);
	pair_free(pair);
}

/* The numbers of a connection that was hung up are free. */
static void test_again(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_hello answer;
	unsigned i;

	for (i = 0; i < 2; i++) {
		bed->nic->ops->call->hangup(pair->nic[i], pair->link[i]);
		pair->link[i] = NULL;
	}
	assert_int_equal(pair_call(pair, &answer), 0);
	recv_post(pair, SERVER, 8);
	assert_int_equal(run(pair, CALLER, imm_of(pair, 0, 8, 6)), 0);
	assert_int_equal(run(pair, SERVER, bed_write(bed, 0, 0, 8)), 0);
	assert_int_equal(bed->nic->ops->connect(pair->qset[CALLER], CALLER + 1, &bed->peer[0]),
			 -EISCONN);
	pair_free(pair);
}

static void test_refused(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_call_ops *call = call_of(bed);
	struct pair *pair = pair_new(bed);
	struct far_nic *nic = pair->nic[CALLER];
	struct far_hello hello = { 0 }, answer;
	struct far_listener *listener;
	uint64_t until = nic->ops->now(nic) + 1000 * SOON;
	int err;

	err = call->call(nic, pair->ends->node, "nobody", &pair->end[0], &pair->window[0], &hello,
			 until, &answer, &pair->link[0]);
	assert_true(err == -ENOENT || err == -ECONNREFUSED);
	assert_int_equal(call->call(nic, "17", "nobody", &pair->end[0], &pair->window[0],
				    &hello, until, &answer, &pair->link[0]), -EHOSTUNREACH);
	assert_int_equal(call->listen(pair->qset[SERVER], "a/b", &listener), -EINVAL);
	assert_int_equal(call->listen(pair->qset[SERVER], "", &listener), -EINVAL);
	assert_int_equal(call->listen(pair->qset[SERVER], "idle", &listener), 0);
	assert_int_equal(call->call(nic, pair->ends->node, "nobody", &pair->end[0],
				    &pair->window[0], &hello, until, &answer, &pair->link[0]),
			 -ENOENT);
	until = nic->ops->now(nic) + SOON;
	assert_int_equal(call->call(nic, pair->ends->node, "idle", &pair->end[0], &pair->window[0],
				    &hello, until, &answer, &pair->link[0]), -ETIMEDOUT);
	call->unlisten(pair->nic[SERVER], listener);
	pair->reject = -EDQUOT;
	assert_int_equal(pair_call(pair, &answer), -EDQUOT);
	assert_int_equal(pair->err, 0);
	pair_free(pair);
}

/* A call that fails at its last step, since another connection has its numbers, has no link. */
static void test_numbers_in_use(void **state)
{
	struct bed *bed = *state;
	struct pair *first = pair_connect(bed), *second = pair_new(bed);
	struct far_end own = second->end[CALLER];
	struct far_hello answer;

	/* The number to receive by; then that to send by. */
	second->end[CALLER].recv = first->end[CALLER].recv;
	assert_int_equal(pair_call(second, &answer), -EISCONN);
	assert_null(second->link[CALLER]);
	if (second->link[SERVER])
		bed->nic->ops->call->hangup(second->nic[SERVER], second->link[SERVER]);
	second->link[SERVER] = NULL;
	second->err = 0;
	second->end[CALLER] = own;
	second->end[CALLER].send = first->end[CALLER].send;
	assert_int_equal(pair_call(second, &answer), -EISCONN);
	assert_null(second->link[CALLER]);
	recv_post(first, SERVER, 7);
	assert_int_equal(run(first, CALLER, imm_of(first, 0, 8, 5)), 0);
	pair_free(second);
	pair_free(first);
}

static void test_in_use(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_call_ops *call = call_of(bed);
	struct pair *pair = pair_new(bed);
	struct far_listener *first, *second;

	assert_int_equal(call->listen(pair->qset[SERVER], "one", &first), 0);
	assert_int_equal(call->listen(pair->qset[1], "one", &second), -EADDRINUSE);
	call->unlisten(pair->nic[SERVER], first);
	assert_int_equal(call->listen(pair->qset[1], "one", &second), 0);
	call->unlisten(pair->nic[SERVER], second);
	pair_free(pair);
}

/* RECVs and WRITE_IMMs belong to connections. */
static void test_kinds(void **state)
{
	struct bed *bed = *state;
	struct pair *pair = pair_connect(bed);
	struct far_wr recv = { .op = FAR_NIC_RECV }, mixed[2] = { recv, bed_read(bed, 0, 0, 8) };

	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &recv, 1), -ENOTCONN);
	recv = imm_of(pair, 0, 8, 1);
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &recv, 1), -EOPNOTSUPP);
	assert_int_equal(bed->nic->ops->post(pair->qset[0], 1, mixed, 2), -EINVAL);
	recv = (struct far_wr) { .op = FAR_NIC_RECV, .len = 8 };
	assert_int_equal(bed->nic->ops->post(pair->qset[0], 1, &recv, 1), -EINVAL);
	pair_free(pair);
}

int suite_call(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_write, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_bounds, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_common, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_common_refused, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_imm, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_recv, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wakes, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_hangup, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_again, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_refused, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_numbers_in_use, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_in_use, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_kinds, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
