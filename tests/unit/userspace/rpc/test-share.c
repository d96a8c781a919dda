/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How active queue pairs are divided among clients, and threads among queue pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/rpc/sched.h"

#define CLAIMS	40u
#define SEATS	8u

static void test_known(void **state)
{
	struct rpc_claim claim[] = { { 5, 9 }, { 2, 9 }, { 1, 9 } };

	rpc_share(claim, 3, 8);
	assert_int_equal(claim[0].active, 5);
	assert_int_equal(claim[1].active, 2);
	assert_int_equal(claim[2].active, 1);
	/* 4.5, 2.7, 1.8: the largest remainders are those of the last two. */
	claim[0].use = 5, claim[1].use = 3, claim[2].use = 2;
	rpc_share(claim, 3, 9);
	assert_int_equal(claim[0].active, 4);
	assert_int_equal(claim[1].active, 3);
	assert_int_equal(claim[2].active, 2);
	/* The first cannot use its part. */
	claim[0].most = 2;
	rpc_share(claim, 3, 7);
	assert_int_equal(claim[0].active, 2);
	assert_int_equal(claim[1].active, 3);
	assert_int_equal(claim[2].active, 2);
	/* There are fewer than claims. */
	rpc_share(claim, 3, 1);
	assert_int_equal(claim[0].active + claim[1].active + claim[2].active, 3);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Equation 3.1 within rounding, where neither bound applies. */
static void equation_check(const struct rpc_claim *claim, unsigned nr, unsigned max)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < nr; i++)
		sum += claim[i].use;
	for (i = 0; i < nr; i++)
		if (claim[i].use * max < sum || claim[i].use * max > claim[i].most * sum)
			return;
	for (i = 0; i < nr; i++)
		assert_true(llabs((int64_t)(claim[i].active * sum - claim[i].use * max)) <
			    (int64_t)sum);
}

/* A claim that was rounded up stays so while its remainder is not much smaller. */
static void test_keeps(void **state)
{
	struct rpc_claim claim[] = { { 100, 9 }, { 101, 9 }, { 102, 9, 4 } };
	unsigned i;

	for (i = 0; i < 3; i++) {
		claim[0].use = 100 + i;
		claim[1].use = 103 - i;
		rpc_share(claim, 3, 10);
		assert_int_equal(claim[2].active, 4);
	}
	claim[0].use = 120;
	rpc_share(claim, 3, 10);
	assert_int_equal(claim[0].active, 4);
	assert_int_equal(claim[2].active, 3);
}

static void test_any(void **state)
{
	struct rpc_claim claim[CLAIMS];
	struct far_rng rng;
	unsigned round, i;

	far_rng_init(&rng, 1, 0);
	for (round = 0; round < 20000; round++) {
		unsigned nr = 1 + far_rng_below(&rng, CLAIMS), max = far_rng_below(&rng, 300);
		uint64_t use = 1 + far_rng_below(&rng, UINT32_MAX), sum = 0, most = 0;
		unsigned size = 1 + far_rng_below(&rng, 400);

		for (i = 0; i < nr; i++) {
			claim[i] = (struct rpc_claim) { 1 + far_rng_below(&rng, use),
							1 + far_rng_below(&rng, size) };
			most += claim[i].most;
		}
		rpc_share(claim, nr, max);
		for (i = 0; i < nr; i++) {
			assert_in_range(claim[i].active, 1, claim[i].most);
			sum += claim[i].active;
		}
		assert_int_equal(sum, least(most, max > nr ? max : nr));
		equation_check(claim, nr, max);
	}
}

static void test_assign(void **state)
{
	/* Two of 10 threads have large requests. */
	struct rpc_mover mover[10];
	unsigned i, qp[10];
	uint64_t bytes[4] = { 0 };

	for (i = 0; i < 10; i++)
		mover[i] = (struct rpc_mover) { 100, i % 5 ? 8000 : 16000, i % 5 ? 7 : 12, i, 9 };
	rpc_assign(mover, 10, 4);
	for (i = 0; i < 10; i++) {
		qp[mover[i].thread] = mover[i].qp;
		bytes[mover[i].qp] += mover[i].bytes;
	}
	for (i = 0; i < 10; i++)
		if (i % 5)
			assert_true(qp[i] > qp[0]);
	assert_int_equal(qp[0], qp[5]);
	for (i = 0; i < 4; i++)
		assert_in_range(bytes[i], 16000, 32000);
}

struct server {
	struct rpc_sched sched;
	struct rpc_seat seat[CLAIMS][SEATS];
	unsigned changes;
	uint64_t now;
};

static unsigned *changes;

static void changed(struct rpc_seat *seat)
{
	++*changes;
}

static void server_open(struct server *server, unsigned max)
{
	memset(server, 0, sizeof(*server));
	pthread_mutex_init(&server->sched.lock, NULL);
	server->sched.max = max;
	server->sched.changed = changed;
	changes = &server->changes;
	server->now = 1000 * RPC_INTERVAL_NS;
}

static void client_join(struct server *server, unsigned client, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		assert_int_equal(rpc_sched_join(&server->sched, &server->seat[client][i],
						client), 0);
}

static void client_leave(struct server *server, unsigned client)
{
	unsigned i;

	for (i = 0; i < SEATS; i++)
		rpc_sched_leave(&server->sched, &server->seat[client][i]);
}

static unsigned active_of(const struct server *server, unsigned client)
{
	unsigned i, nr = 0;

	for (i = 0; i < SEATS; i++)
		nr += rpc_seat_active(&server->seat[client][i]);
	return nr;
}

static void client_report(struct server *server, unsigned client, unsigned depth)
{
	rpc_seat_report(&server->seat[client][0], depth, SEATS);
	rpc_seat_ran(&server->seat[client][0], 1);
}

static void interval_end(struct server *server)
{
	server->now += RPC_INTERVAL_NS;
	rpc_sched_look(&server->sched, server->now);
}

static void test_few(void **state)
{
	struct server server;

	server_open(&server, 16);
	client_join(&server, 0, 8);
	client_join(&server, 1, 8);
	interval_end(&server);
	interval_end(&server);
	interval_end(&server);
	/* Nobody has to be inactive. */
	assert_int_equal(active_of(&server, 0), 8);
	assert_int_equal(active_of(&server, 1), 8);
	client_leave(&server, 0);
	client_leave(&server, 1);
	assert_null(server.sched.senders);
}

static void test_senders(void **state)
{
	struct server server;
	unsigned i;

	server_open(&server, 8);
	client_join(&server, 0, 8);
	assert_int_equal(active_of(&server, 0), 8);
	client_join(&server, 1, 8);
	/* A new client gets the average, at once. */
	assert_int_equal(active_of(&server, 0), 4);
	assert_int_equal(active_of(&server, 1), 4);
	interval_end(&server);
	client_report(&server, 0, 30);
	client_report(&server, 1, 10);
	interval_end(&server);
	assert_int_equal(active_of(&server, 0), 6);
	assert_int_equal(active_of(&server, 1), 2);
	client_join(&server, 2, 8);
	assert_int_equal(active_of(&server, 2), 3);
	assert_in_range(active_of(&server, 0) + active_of(&server, 1), 5, 5);
	/* A client that sends little is functioning; one that sends nothing has one extra. */
	for (i = 0; i < 10; i++) {
		client_report(&server, 0, 30);
		client_report(&server, 1, 1);
		interval_end(&server);
	}
	assert_int_equal(active_of(&server, 0), 7);
	assert_int_equal(active_of(&server, 1), 1);
	assert_int_equal(active_of(&server, 2), 1);
	/* The only active one leaves. */
	for (i = 0; !rpc_seat_active(&server.seat[2][i]); i++)
		;
	rpc_sched_leave(&server.sched, &server.seat[2][i]);
	server.seat[2][i].active = 0;
	assert_int_equal(active_of(&server, 2), 1);
	assert_true(server.changes);
	for (i = 0; i < 3; i++)
		client_leave(&server, i);
}

/*
 * Clients whose threads always ask for `asks` requests send over the queue pairs that they have.
 * A report finds a few requests answered that are not asked again.
 */
static void clients_run(struct server *server, const unsigned *asks, unsigned nr, unsigned rounds)
{
	struct far_rng rng;
	unsigned i, j;

	far_rng_init(&rng, 3, 0);
	while (rounds--) {
		for (i = 0; i < nr; i++) {
			for (j = 0; j < SEATS; j++)
				if (rpc_seat_active(&server->seat[i][j]))
					rpc_seat_ran(&server->seat[i][j], 100);
			rpc_seat_report(&server->seat[i][0],
					asks[i] - far_rng_below(&rng, asks[i] / 16), SEATS);
		}
		interval_end(server);
	}
}

/* Clients that ask alike get alike, whatever they had; and what they have does not wander. */
static void test_alike(void **state)
{
	static struct server server;
	unsigned asks[CLAIMS], i, changed;

	server_open(&server, CLAIMS * 3 + 7);
	for (i = 0; i < CLAIMS; i++) {
		client_join(&server, i, SEATS);
		asks[i] = i % 2 ? 64 : 256;
	}
	clients_run(&server, asks, CLAIMS, 50);
	for (i = 0; i < CLAIMS; i++)
		assert_in_range(active_of(&server, i), i % 2 ? 1 : 4, i % 2 ? 2 : 6);
	for (i = 0; i < CLAIMS; i++)
		asks[i] = 256;
	clients_run(&server, asks, CLAIMS, 50);
	changed = server.changes;
	clients_run(&server, asks, CLAIMS, 200);
	for (i = 0; i < CLAIMS; i++)
		assert_in_range(active_of(&server, i), 3, 4);
	assert_in_range(server.changes - changed, 0, 8);
	for (i = 0; i < CLAIMS; i++)
		client_leave(&server, i);
}

/* A client uses no more queue pairs than it has threads that ask. */
static void test_threads(void **state)
{
	struct server server;
	unsigned i;

	server_open(&server, 8);
	client_join(&server, 0, 8);
	client_join(&server, 1, 8);
	for (i = 0; i < 3; i++) {
		client_report(&server, 0, 64);
		client_report(&server, 1, 64);
		rpc_seat_report(&server.seat[1][0], 64, 2);
		interval_end(&server);
	}
	assert_int_equal(active_of(&server, 0), 6);
	assert_int_equal(active_of(&server, 1), 2);
	client_leave(&server, 0);
	client_leave(&server, 1);
}

/* A thread that looks with an earlier time than another ends no interval. */
static void test_late(void **state)
{
	struct server server;

	server_open(&server, 8);
	client_join(&server, 0, 8);
	client_join(&server, 1, 8);
	interval_end(&server);
	client_report(&server, 0, 30);
	client_report(&server, 1, 30);
	interval_end(&server);
	rpc_sched_look(&server.sched, server.now - RPC_INTERVAL_NS / 2);
	assert_int_equal(active_of(&server, 0), 4);
	assert_int_equal(active_of(&server, 1), 4);
	client_leave(&server, 0);
	client_leave(&server, 1);
}

/* The sum of active queue pairs of functioning clients, whoever comes, sends and goes. */
static void test_sum(void **state)
{
	static struct server server;
	unsigned round, i, here[CLAIMS] = { 0 };
	struct far_rng rng;

	server_open(&server, 20);
	far_rng_init(&rng, 2, 0);
	for (round = 0; round < 3000; round++) {
		unsigned client = far_rng_below(&rng, CLAIMS), sum = 0, nr = 0;
		const struct rpc_sender *sender;

		if (here[client])
			client_leave(&server, client);
		else
			client_join(&server, client, 1 + far_rng_below(&rng, SEATS));
		memset(server.seat[client], 0, here[client] ? sizeof(server.seat[client]) : 0);
		here[client] ^= 1;
		for (i = 0; i < CLAIMS; i++)
			if (here[i] && far_rng_below(&rng, 2))
				client_report(&server, i, far_rng_below(&rng, 1000));
		if (far_rng_below(&rng, 3))
			interval_end(&server);
		for (sender = server.sched.senders; sender; sender = sender->next) {
			assert_in_range(sender->nr_active, 1, sender->nr);
			sum += sender->runs ? sender->nr_active : 0;
			nr += sender->runs;
			if (!sender->runs && server.sched.nr_seats > 20 && !sender->fresh)
				assert_int_equal(sender->nr_active, 1);
		}
		assert_true(sum <= (nr > 20 ? nr : 20));
	}
	for (i = 0; i < CLAIMS; i++)
		client_leave(&server, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_assign),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_senders),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
