// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Datagrams: what arrives, what is lost, and RPC that asks again for what was lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/paper/datagram.h"
#include "bed.h"

#define WORD	8u
#define PATIENCE	UINT64_C(10000)		/* ns in which a datagram has come or is lost */

struct pair {
	struct bed bed;
	struct bed_user user[2];
};

static void pair_init(struct pair *pair, const char *set)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN,
				      .datagrams = true, .recvs = 8 };
	unsigned i;

	bed_init(&pair->bed, 2, 1, 1, 0, set);
	pair->bed.nr_mns = 0;		/* nothing to connect to */
	for (i = 0; i < 2; i++)
		bed_user_init(&pair->user[i], &pair->bed, i, &attr);
}

static void pair_fini(struct pair *pair)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		bed_user_fini(&pair->user[i]);
	bed_fini(&pair->bed);
}

/* Posts words from local[0] to the other one; the SEND itself is never lost. */
static void send_words(struct pair *pair, unsigned words)
{
	struct bed_user *user = &pair->user[0];
	struct far_wr wr = bed_wr(user, FAR_NIC_SEND, 0, 0, words);

	wr.remote = user->ops->address(pair->user[1].qset);
	assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), 0);
	assert_int_equal(bed_wait(user).status, 0);
}

static void recv_words(struct pair *pair, unsigned local, unsigned words)
{
	struct bed_user *user = &pair->user[1];
	struct far_wr wr = bed_wr(user, FAR_NIC_RECV, 0, local, words);

	wr.id = local;
	assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), 0);
}

/* True if a RECV has completed. */
static int has_come(struct pair *pair, struct far_wc *wc)
{
	struct bed_user *user = &pair->user[1];

	user->ops->wait(user->qset, user->ops->now(user->nic) + PATIENCE);
	return user->ops->poll(user->qset, wc, 1);
}

static uint64_t lost(const struct pair *pair)
{
	struct far_sim_cn_stats stats;

	far_sim_stats(pair->bed.sim, 1, &stats);
	return stats.lost;
}

static void test_moves(void **state)
{
	static struct pair pair;
	struct far_wc wc;
	unsigned i;

	pair_init(&pair, NULL);
	recv_words(&pair, 8, 4);
	recv_words(&pair, 16, 4);
	for (i = 0; i < 2; i++) {
		pair.user[0].local[0] = 11 + i;
		pair.user[0].local[1] = 22;
		send_words(&pair, 2);
		assert_int_equal(has_come(&pair, &wc), 1);
		assert_int_equal(wc.op, FAR_NIC_RECV);
		assert_int_equal(wc.id, 8 + 8 * i);
		assert_int_equal(wc.len, 2 * WORD);
		assert_int_equal(pair.user[1].local[8 + 8 * i], 11 + i);
		assert_int_equal(pair.user[1].local[9 + 8 * i], 22);
	}
	assert_int_equal(lost(&pair), 0);
	pair_fini(&pair);
}

static void test_lost(void **state)
{
	static struct pair pair;
	struct far_wr wr;
	struct far_wc wc;

	pair_init(&pair, NULL);
	/* Without a RECV; a later one does not get it. */
	send_words(&pair, 2);
	assert_int_equal(has_come(&pair, &wc), 0);
	recv_words(&pair, 8, 1);
	assert_int_equal(has_come(&pair, &wc), 0);
	assert_int_equal(lost(&pair), 1);
	/* With one that is too short, which stays. */
	send_words(&pair, 2);
	assert_int_equal(has_come(&pair, &wc), 0);
	assert_int_equal(lost(&pair), 2);
	send_words(&pair, 1);
	assert_int_equal(has_come(&pair, &wc), 1);
	/* To nobody. */
	wr = bed_wr(&pair.user[0], FAR_NIC_SEND, 0, 0, 1);
	wr.remote = UINT64_C(1) << 30;
	assert_int_equal(bed_do(&pair.user[0], 0, wr), 0);
	pair_fini(&pair);
}

static void test_refused(void **state)
{
	static struct pair pair;
	struct bed_user *user = &pair.user[0];
	struct far_qset_attr attr = { .nr_peers = 2, .depth = 8, .group = FAR_NIC_OWN,
				      .datagrams = true, .recvs = 8 };
	struct far_qset *qset;
	struct far_wr wr;

	pair_init(&pair, "mtu=64");
	wr = bed_wr(user, FAR_NIC_SEND, 0, 0, 9);
	assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), -EMSGSIZE);
	wr = bed_wr(user, FAR_NIC_READ, 0, 0, 1);
	assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), -EINVAL);
	wr = bed_wr(user, FAR_NIC_RECV, 0, 0, 1);
	wr.lkey = 77;
	assert_int_equal(user->ops->post(user->qset, 0, &wr, 1), -EINVAL);
	assert_int_equal(user->ops->qset_new(user->nic, &attr, &qset), -EINVAL);
	pair_fini(&pair);
}

/* A server that does not answer is taken for dead after a while. */
static void test_dead(void **state)
{
	uint64_t word = 1, begin, requests, doorbells, again;
	struct datagram_client *client;
	struct far_nic *nic;
	struct bed bed;
	size_t len;

	bed_init(&bed, 2, 1, 1, 0, NULL);
	nic = far_sim_nic(bed.sim, 1);
	assert_int_equal(datagram_join(nic, 1, &client), 0);
	begin = nic->ops->now(nic);
	assert_int_equal(datagram_send(client, &word, sizeof(word)), 0);
	assert_int_equal(datagram_recv(client, &word, sizeof(word), &len), -ETIMEDOUT);
	assert_true(nic->ops->now(nic) - begin >= 10 * UINT64_C(1000000000));
	datagram_client_stats(client, &requests, &doorbells, &again);
	assert_true(again > 1000);
	datagram_leave(client);
	bed_fini(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
