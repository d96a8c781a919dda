/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conformance: queue sets of datagrams, what they lose, and RPC that asks again for what was
 * lost. A back end that has none refuses them.
 */
#include <errno.h>
#include <string.h>

#include "../../../../userspace/paper/datagram.h"
#include "bed.h"

#define DEPTH	16u
#define RECVS	20u
#define ROOM	256u	/* bytes between two RECVs */

struct pair {
	struct bed *bed;
	const struct far_nic_ops *ops;
	struct far_nic *nic[2];
	struct far_qset *qset[2];
	uint32_t lkey[2];
};

static bool has_datagrams(const struct bed *bed)
{
	return bed->nic->ops->caps & FAR_NIC_CAP_DATAGRAMS;
}

static struct far_qset_attr attr_of(void)
{
	return (struct far_qset_attr) { .nr_peers = 1, .depth = DEPTH, .group = FAR_NIC_OWN,
					.datagrams = true, .recvs = RECVS };
}

/* Two queue sets of datagrams. Skips the test if the back end has none. */
static void pair_init(struct pair *pair, struct bed *bed)
{
	const struct bed_ends *ends;
	struct far_qset_attr attr = attr_of();
	unsigned i;

	if (!has_datagrams(bed))
		skip();
	ends = bed_ends(bed);
	pair->bed = bed;
	pair->ops = ends->nic[0]->ops;
	for (i = 0; i < 2; i++) {
		pair->nic[i] = ends->nic[i];
		assert_int_equal(pair->ops->mr_reg(pair->nic[i], bed->local, BED_LOCAL,
						   &pair->lkey[i]), 0);
		assert_int_equal(pair->ops->qset_new(pair->nic[i], &attr, &pair->qset[i]), 0);
	}
}

static void pair_fini(struct pair *pair)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		pair->ops->qset_free(pair->qset[i]);
		pair->ops->mr_dereg(pair->nic[i], pair->lkey[i]);
	}
}

static struct far_wr send_of(struct pair *pair, uint32_t local, uint32_t len)
{
	return (struct far_wr) {
		.id = local, .remote = pair->ops->address(pair->qset[1]),
		.local = pair->bed->local + local, .len = len, .lkey = pair->lkey[0],
		.op = FAR_NIC_SEND, .flags = FAR_WR_SIGNALED,
	};
}

static int send(struct pair *pair, struct far_wr wr)
{
	struct far_wc wc;
	int err = pair->ops->post(pair->qset[0], 0, &wr, 1);

	if (err)
		return err;
	bed_collect(pair->qset[0], &wc, 1);
	assert_int_equal(wc.op, FAR_NIC_SEND);
	assert_int_equal(wc.id, wr.id);
	return wc.status;
}

static int recv_post(struct pair *pair, uint32_t local, uint32_t len)
{
	struct far_wr wr = {
		.id = local, .local = pair->bed->local + local, .len = len,
		.lkey = pair->lkey[1], .op = FAR_NIC_RECV, .flags = FAR_WR_SIGNALED,
	};

	return pair->ops->post(pair->qset[1], 0, &wr, 1);
}

static struct far_wc recv_wait(struct pair *pair)
{
	struct far_wc wc;

	bed_collect(pair->qset[1], &wc, 1);
	assert_int_equal(wc.op, FAR_NIC_RECV);
	assert_int_equal(wc.peer, 0);
	return wc;
}

/* ---- the table ---- */

/* RECVs are taken in their order, and get what was sent and nothing else. */
static void test_datagram_moves(void **state)
{
	struct bed *bed = *state;
	const uint32_t at = 64 * ROOM;
	struct pair pair;
	struct far_wc wc;
	uint32_t i;

	pair_init(&pair, bed);
	memset(bed->local + at - ROOM, 0xaa, (RECVS + 2) * ROOM);
	for (i = 0; i < RECVS; i++)
		assert_int_equal(recv_post(&pair, at + i * ROOM, 100), 0);
	assert_int_equal(recv_post(&pair, at, 100), -EAGAIN);
	for (i = 0; i < RECVS; i++) {
		bed_pattern(bed, 0, 100, i);
		assert_int_equal(send(&pair, send_of(&pair, 0, i % 2 ? 100 - i : i * 2)), 0);
		wc = recv_wait(&pair);
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.id, at + i * ROOM);
		assert_int_equal(wc.len, i % 2 ? 100 - i : i * 2);
		assert_memory_equal(bed->local + wc.id, bed->local, wc.len);
		assert_int_equal(bed->local[wc.id + 100], 0xaa);
		assert_int_equal(bed->local[wc.id - 1], 0xaa);
	}
	pair_fini(&pair);
}

/* Lists, operations without completion, and room. */
static void test_datagram_lists(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[DEPTH + 1];
	struct far_qset_stats stats;
	struct pair pair;
	struct far_wc wc;
	unsigned i;

	pair_init(&pair, bed);
	for (i = 0; i <= DEPTH; i++) {
		wr[i] = send_of(&pair, i * ROOM, 8);
		wr[i].flags = i == DEPTH - 1 ? FAR_WR_SIGNALED : 0;
		*bed_word(bed, i * ROOM) = i + 1;
		assert_int_equal(recv_post(&pair, (64 + i) * ROOM, 8), 0);
	}
	assert_int_equal(pair.ops->post(pair.qset[0], 0, wr, DEPTH + 1), -E2BIG);
	assert_int_equal(pair.ops->post(pair.qset[0], 0, wr, 0), 0);
	assert_int_equal(pair.ops->post(pair.qset[0], 0, wr, DEPTH), 0);
	bed_collect(pair.qset[0], &wc, 1);
	assert_int_equal(wc.id, (DEPTH - 1) * ROOM);
	for (i = 0; i < DEPTH; i++) {
		wc = recv_wait(&pair);
		assert_int_equal(*bed_word(bed, wc.id), i + 1);
	}
	/* Without a completion they keep their places. */
	assert_int_equal(pair.ops->post(pair.qset[0], 0, wr, DEPTH - 1), 0);
	assert_int_equal(pair.ops->post(pair.qset[0], 0, wr, 2), -EAGAIN);
	assert_int_equal(pair.ops->post(pair.qset[0], 0, &wr[DEPTH - 1], 1), 0);
	bed_collect(pair.qset[0], &wc, 1);
	pair.ops->stats(pair.qset[0], &stats);
	assert_int_equal(stats.ops[FAR_NIC_SEND], 2 * DEPTH);
	assert_int_equal(stats.doorbells, 3);
	pair_fini(&pair);
}

/* Inline data may change when post() has returned. */
static void test_datagram_inline(void **state)
{
	struct bed *bed = *state;
	struct pair pair;
	struct far_wr wr;
	unsigned i;

	pair_init(&pair, bed);
	wr = send_of(&pair, 0, FAR_NIC_MAX_INLINE);
	wr.flags = FAR_WR_INLINE;
	for (i = 0; i < 4; i++) {
		assert_int_equal(recv_post(&pair, 64 * ROOM, ROOM), 0);
		memset(bed->local, i + 1, FAR_NIC_MAX_INLINE);
		assert_int_equal(pair.ops->post(pair.qset[0], 0, &wr, 1), 0);
		memset(bed->local, 0, FAR_NIC_MAX_INLINE);
		assert_int_equal(recv_wait(&pair).len, FAR_NIC_MAX_INLINE);
		assert_int_equal(bed->local[64 * ROOM], i + 1);
		assert_int_equal(bed->local[64 * ROOM + FAR_NIC_MAX_INLINE - 1], i + 1);
	}
	pair_fini(&pair);
}

/*
 * A datagram that finds no RECV does not wait for the next one. A network may be late: then
 * it has not been lost, and is sent again.
 */
static void test_datagram_no_recv(void **state)
{
	struct bed *bed = *state;
	struct pair pair;
	uint64_t got;

	pair_init(&pair, bed);
	do {
		*bed_word(bed, 0) = 1;
		assert_int_equal(send(&pair, send_of(&pair, 0, 8)), 0);
		bed_nothing(pair.qset[1]);
		assert_int_equal(recv_post(&pair, 64 * ROOM, 8), 0);
		*bed_word(bed, 0) = 2;
		assert_int_equal(send(&pair, send_of(&pair, 0, 8)), 0);
		recv_wait(&pair);
		got = *bed_word(bed, 64 * ROOM);
	} while (got == 1);
	assert_int_equal(got, 2);
	pair_fini(&pair);
}

/* One that is longer than the RECV is lost; that RECV, and those behind it, stay. */
static void test_datagram_too_long(void **state)
{
	struct bed *bed = *state;
	struct pair pair;
	struct far_wc wc;
	unsigned i;

	pair_init(&pair, bed);
	for (i = 0; i < 3; i++) {
		assert_int_equal(recv_post(&pair, 64 * ROOM, 16), 0);
		assert_int_equal(recv_post(&pair, 65 * ROOM, 32), 0);
		assert_int_equal(send(&pair, send_of(&pair, 0, 24)), 0);
		assert_int_equal(send(&pair, send_of(&pair, 0, 200)), 0);
		bed_nothing(pair.qset[1]);
		assert_int_equal(send(&pair, send_of(&pair, 0, 16)), 0);
		wc = recv_wait(&pair);
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.id, 64 * ROOM);
		assert_int_equal(wc.len, 16);
		assert_int_equal(send(&pair, send_of(&pair, 0, 24)), 0);
		wc = recv_wait(&pair);
		assert_int_equal(wc.id, 65 * ROOM);
		assert_int_equal(wc.len, 24);
	}
	pair_fini(&pair);
}

static void test_datagram_nobody(void **state)
{
	struct bed *bed = *state;
	uint64_t address[4];
	struct pair pair;
	struct far_wr wr;
	unsigned i;

	pair_init(&pair, bed);
	/* Nor do we get what nobody gets. */
	wr = send_of(&pair, 64 * ROOM, 8);
	wr.op = FAR_NIC_RECV;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, &wr, 1), 0);
	address[0] = 0;
	address[1] = UINT64_C(1) << 30;
	address[2] = UINT64_MAX;
	address[3] = pair.ops->address(pair.qset[1]) + 7777;
	for (i = 0; i < 4; i++) {
		wr = send_of(&pair, 0, 8);
		wr.remote = address[i];
		assert_int_equal(send(&pair, wr), 0);
		bed_nothing(pair.qset[0]);
	}
	assert_int_equal(recv_post(&pair, 64 * ROOM, 8), 0);
	assert_int_equal(send(&pair, send_of(&pair, 0, 8)), 0);
	recv_wait(&pair);
	pair_fini(&pair);
}

static void test_datagram_refused(void **state)
{
	struct bed *bed = *state;
	struct far_qset_attr attr[3] = { attr_of(), attr_of(), attr_of() };
	struct far_wr wr, mixed[2];
	struct far_qset *qset;
	struct pair pair;
	unsigned i;

	pair_init(&pair, bed);
	wr = send_of(&pair, 0, 65537);
	assert_int_equal(pair.ops->post(pair.qset[0], 0, &wr, 1), -EMSGSIZE);
	wr = send_of(&pair, 0, 8);
	wr.op = FAR_NIC_READ;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, &wr, 1), -EINVAL);
	mixed[0] = send_of(&pair, 0, 8);
	mixed[1] = mixed[0];
	mixed[1].op = FAR_NIC_RECV;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, mixed, 2), -EINVAL);
	mixed[0].op = FAR_NIC_RECV;
	mixed[1].op = FAR_NIC_SEND;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, mixed, 2), -EINVAL);
	assert_int_equal(pair.ops->post(pair.qset[0], 1, mixed, 1), -EINVAL);
	assert_int_equal(pair.ops->connect(pair.qset[0], 0, &bed->peer[0]), -EINVAL);
	/* Memory that is registered elsewhere or not at all. */
	mixed[1].op = FAR_NIC_RECV;
	mixed[1].lkey ^= 0x5555;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, mixed, 2), -EINVAL);
	mixed[1] = mixed[0];
	mixed[1].local = bed->local + BED_LOCAL - 7;
	assert_int_equal(pair.ops->post(pair.qset[0], 0, mixed, 2), -EINVAL);
	attr[0].nr_peers = 2;
	attr[1].recvs = 0;
	attr[2].group = 0;
	for (i = 0; i < 3; i++)
		assert_int_equal(pair.ops->qset_new(pair.nic[0], &attr[i], &qset), -EINVAL);
	pair_fini(&pair);
}

/* A back end without datagrams refuses them. */
static void test_datagram_none(void **state)
{
	struct bed *bed = *state;
	struct far_qset_attr attr = attr_of();
	struct far_qset *qset;

	if (has_datagrams(bed))
		skip();
	assert_null(bed->nic->ops->address);
	assert_int_equal(bed->nic->ops->qset_new(bed->nic, &attr, &qset), -EOPNOTSUPP);
}

/* ---- RPC ---- */

#define CALLERS	4u
#define CALLS	50u

struct caller {
	struct far_nic *nic;
	struct far_nic_thread *thread;
	uint64_t server, again;
	unsigned answered;
};

static size_t add_one(const void *arg, const void *request, size_t len, void *response)
{
	uint64_t word;

	(void)arg;
	memcpy(&word, request, sizeof(word));
	word++;
	memcpy(response, &word, sizeof(word));
	return len;
}

static void caller_run(void *arg)
{
	struct caller *caller = arg;
	struct datagram_client *client;
	uint64_t word, doorbells, requests;
	size_t len = 0;
	unsigned i;

	if (datagram_join(caller->nic, caller->server, &client))
		return;
	for (i = 0; i < CALLS; i++) {
		word = i;
		if (datagram_send(client, &word, sizeof(word)) ||
		    datagram_recv(client, &word, sizeof(word), &len))
			break;
		caller->answered += word == i + 1 && len == sizeof(word);
	}
	datagram_client_stats(client, &requests, &doorbells, &caller->again);
	datagram_leave(client);
}

/* All requests have their answers, also if there are fewer RECVs than callers. */
static void test_datagram_rpc(void **state)
{
	struct bed *bed = *state;
	struct caller caller[CALLERS];
	struct datagram_server *server;
	const struct bed_ends *ends;
	unsigned i, recvs;

	if (!has_datagrams(bed)) {
		assert_int_equal(datagram_serve(bed->nic, 1, 8, add_one, NULL, &server),
				 -EOPNOTSUPP);
		return;
	}
	ends = bed_ends(bed);
	for (recvs = 1; recvs <= 64; recvs += 63) {
		assert_int_equal(datagram_serve(ends->nic[1], 1, recvs, add_one, NULL, &server),
				 0);
		for (i = 0; i < CALLERS; i++) {
			caller[i] = (struct caller) {
				.nic = ends->nic[0], .server = datagram_address(server, 0),
			};
			assert_int_equal(caller[i].nic->ops->thread_start(caller[i].nic,
				caller_run, &caller[i], &caller[i].thread), 0);
		}
		for (i = 0; i < CALLERS; i++) {
			caller[i].nic->ops->thread_join(caller[i].nic, caller[i].thread);
			assert_int_equal(caller[i].answered, CALLS);
		}
		datagram_stop(server);
	}
}

/* A server of one request, which has no RECV when it comes. */
static void late_run(void *arg)
{
	struct pair *pair = arg;
	/* Its head begins with the address to answer to. */
	uint64_t *request = bed_word(pair->bed, 64 * ROOM);
	struct far_wc wc = recv_wait(pair);
	struct far_wr wr = {
		.remote = request[0], .local = request, .len = wc.len, .lkey = pair->lkey[1],
		.op = FAR_NIC_SEND, .flags = FAR_WR_SIGNALED,
	};

	assert_int_equal(pair->ops->post(pair->qset[1], 0, &wr, 1), 0);
	bed_collect(pair->qset[1], &wc, 1);
}

/* A request that was lost is sent again. One that was only late is not: then once more. */
static void test_datagram_again(void **state)
{
	struct bed *bed = *state;
	uint64_t word, requests, doorbells, again = 0;
	struct datagram_client *client;
	struct far_nic_thread *thread;
	struct pair pair;
	size_t len;

	pair_init(&pair, bed);
	assert_int_equal(datagram_join(pair.nic[0], pair.ops->address(pair.qset[1]), &client), 0);
	while (!again) {
		word = 5;
		assert_int_equal(datagram_send(client, &word, sizeof(word)), 0);
		bed_nothing(pair.qset[1]);
		assert_int_equal(recv_post(&pair, 64 * ROOM, ROOM), 0);
		assert_int_equal(pair.ops->thread_start(pair.nic[1], late_run, &pair, &thread), 0);
		word = 0;
		assert_int_equal(datagram_recv(client, &word, sizeof(word), &len), 0);
		assert_int_equal(len, sizeof(word));
		assert_int_equal(word, 5);
		pair.ops->thread_join(pair.nic[1], thread);
		datagram_client_stats(client, &requests, &doorbells, &again);
	}
	datagram_leave(client);
	pair_fini(&pair);
}

int suite_datagram(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_datagram_moves, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_lists, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_inline, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_no_recv, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_too_long, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_nobody, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_refused, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_none, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_rpc, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_again, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("datagram", tests, NULL, NULL);
}
