/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conformance: what fails, what that does to what stands behind it, and what is left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"

static void reconnect(struct bed *bed, unsigned idx)
{
	assert_int_equal(bed->nic->ops->connect(bed->qset, idx, &bed->peer[idx]), 0);
}

/* Fails with that status, and breaks this connection alone. */
static void fails(struct bed *bed, struct far_wr wr, int status)
{
	assert_int_equal(bed_one(bed, 0, wr), status);
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 1), -ENOTCONN);
	assert_int_equal(bed_one(bed, 1, bed_read(bed, 0, 0, 8)), 0);
	reconnect(bed, 0);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, 0, 0, 8)), 0);
}

static void test_bounds(void **state)
{
	struct bed *bed = *state;

	if (!(bed->nic->ops->caps & FAR_NIC_CAP_BOUNDS))
		skip();
	assert_int_equal(bed_one(bed, 0, bed_read(bed, BED_SIZE - 8, 0, 8)), 0);
	assert_int_equal(bed_one(bed, 0, bed_write(bed, BED_SIZE - 1, 0, 1)), 0);
	fails(bed, bed_read(bed, BED_SIZE - 7, 0, 8), -EFAULT);
	fails(bed, bed_read(bed, BED_SIZE, 0, 1), -EFAULT);
	fails(bed, bed_write(bed, (UINT64_C(1) << 40) - 8, 0, 8), -EFAULT);
	fails(bed, bed_write(bed, BED_SIZE - 64, 0, 65), -EFAULT);
	fails(bed, bed_cas(bed, BED_SIZE, 0, 0, 0), -EFAULT);
	fails(bed, bed_faa(bed, UINT64_C(1) << 39, 0, 0), -EFAULT);
}

static void test_local_key(void **state)
{
	struct bed *bed = *state;
	uint8_t *more = calloc(1, 4096);
	struct far_wr wr = bed_read(bed, 0, 0, 8);
	uint32_t lkey;

	if (!(bed->nic->ops->caps & FAR_NIC_CAP_BOUNDS))
		skip();
	wr.local = more;
	fails(bed, wr, -EFAULT);
	wr.lkey = 0;
	fails(bed, wr, -EFAULT);
	fails(bed, bed_read(bed, 0, BED_LOCAL - 4, 8), -EFAULT);
	assert_int_equal(bed->nic->ops->mr_reg(bed->nic, more, 4096, &lkey), 0);
	wr.lkey = lkey;
	assert_int_equal(bed_one(bed, 0, wr), 0);
	bed->nic->ops->mr_dereg(bed->nic, lkey);
	fails(bed, wr, -EFAULT);
	free(more);
}

static void rights(struct bed *bed, unsigned rights, struct far_wr good,
		   const struct far_wr *bad, unsigned nr)
{
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_peer peer;
	unsigned i;

	assert_int_equal(ops->attach(bed->nic, bed->node[0], "s", rights, &peer), 0);
	for (i = 0; i < nr; i++) {
		assert_int_equal(ops->connect(bed->qset, 0, &peer), 0);
		assert_int_equal(bed_one(bed, 0, good), 0);
		assert_int_equal(bed_one(bed, 0, bad[i]), -EACCES);
	}
	reconnect(bed, 0);
	ops->detach(bed->nic, &peer);
}

static void test_rights(void **state)
{
	struct bed *bed = *state;
	struct far_wr write[3] = {
		bed_write(bed, 64, 0, 8), bed_cas(bed, 64, 0, 0, 1),
		bed_faa(bed, 64, 0, 1),
	};
	struct far_wr read = bed_read(bed, 64, 0, 8);

	*bed_word(bed, 0) = 0;
	rights(bed, FAR_ATTACH_READ, read, write, 3);
	assert_int_equal(bed_far_word(bed, 0, 64), 0);
	rights(bed, FAR_ATTACH_WRITE, write[0], &read, 1);
}

/* What stands behind a failure is cancelled, signaled or not, in order. */
static void test_behind(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[5];
	struct far_wc wc[5];
	unsigned i;

	for (i = 0; i < 5; i++) {
		wr[i] = bed_faa(bed, 64, 8 * i, 1);
		wr[i].flags = i == 1 || i == 3 ? 0 : FAR_WR_SIGNALED;
		wr[i].id = i;
	}
	wr[2].remote = BED_SIZE;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 5), 0);
	bed_collect(bed->qset, wc, 4);
	bed_nothing(bed->qset);
	assert_int_equal(wc[0].id, 0);
	assert_int_equal(wc[0].status, 0);
	assert_int_equal(wc[1].id, 2);
	assert_int_equal(wc[1].status, -EFAULT);
	assert_int_not_equal(wc[1].syndrome, 0);
	for (i = 2; i < 4; i++) {
		assert_int_equal(wc[i].id, i + 1);
		assert_int_equal(wc[i].status, -ECANCELED);
	}
	assert_int_equal(bed_far_word(bed, 0, 64), 2);
}

/* A failure that nobody has polled for has its status, whatever is posted behind it. */
static void test_unseen(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr bad = bed_read(bed, BED_SIZE, 0, 8), good = bed_read(bed, 0, 8, 8);
	struct far_qset *other = bed_qset(bed, 16);
	struct far_wc wc[2];
	int err;

	assert_int_equal(ops->post(bed->qset, 0, &bad, 1), 0);
	/* It fails meanwhile. */
	ops->wait(other, ops->now(bed->nic) + 1000000);
	err = ops->post(bed->qset, 0, &good, 1);
	assert_true(!err || err == -ENOTCONN);
	bed_collect(bed->qset, wc, err ? 1 : 2);
	assert_int_equal(wc[0].status, -EFAULT);
	if (!err)
		assert_int_equal(wc[1].status, -ECANCELED);
	ops->qset_free(other);
}

/*
 * A connection breaks and is made anew by one thread, while another one posts that has not
 * taken its failure. What it is told was cancelled is not executed after its connect().
 */
static void test_broken_by_another(void **state)
{
	struct bed *bed = *state;
	struct far_qset *spare = bed_qset(bed, 16), *other = bed_qset(bed, 16);
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr = bed_faa(bed, 64, 8, 1);
	struct far_wc wc[2];
	uint64_t word;

	assert_int_equal(bed_one(bed, 0, bed_read(bed, BED_SIZE, 0, 8)), -EFAULT);
	assert_int_equal(ops->post(other, 0, &wr, 1), 0);
	reconnect(bed, 0);
	assert_int_equal(ops->post(other, 0, &wr, 1), 0);
	bed_collect(other, wc, 2);
	assert_int_equal(ops->connect(other, 0, &bed->peer[0]), 0);
	word = bed_far_word(bed, 0, 64);
	bed_nothing(other);
	assert_int_equal(bed_far_word(bed, 0, 64), word);
	assert_int_equal(bed_run(other, 0, &wr, 1), 0);
	assert_int_equal(bed_far_word(bed, 0, 64), word + 1);
	ops->qset_free(other);
	ops->qset_free(spare);
}

/* connect() before all completions were taken: the old ones still come, first. */
static void test_reconnect_early(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[3] = {
		bed_faa(bed, BED_SIZE, 0, 1), bed_faa(bed, 64, 8, 1),
		bed_faa(bed, 64, 16, 1),
	};
	struct far_wr next = bed_faa(bed, 72, 24, 1);
	struct far_wc wc[4];
	unsigned i;

	next.id = 99;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 3), 0);
	bed_collect(bed->qset, wc, 1);
	assert_int_equal(wc[0].status, -EFAULT);
	reconnect(bed, 0);
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &next, 1), 0);
	bed_collect(bed->qset, wc + 1, 3);
	for (i = 1; i < 3; i++)
		assert_int_equal(wc[i].status, -ECANCELED);
	assert_int_equal(wc[3].id, 99);
	assert_int_equal(wc[3].status, 0);
	assert_int_equal(bed_far_word(bed, 0, 72), 1);
}

/* connect() of a connection that works cancels what is in it. */
static void test_reset(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr = bed_faa(bed, 64, 0, 1);
	struct far_wc wc[2];

	wr.id = 1;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 1), 0);
	reconnect(bed, 0);
	wr.id = 2;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 1), 0);
	bed_collect(bed->qset, wc, 2);
	assert_int_equal(wc[0].id, 1);
	assert_int_equal(wc[0].status, -ECANCELED);
	assert_int_equal(wc[1].id, 2);
	assert_int_equal(wc[1].status, 0);
}

/* A memory node that stops: what is pending comes back, and the other one works on. */
static void test_peer_dies(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr[4];
	struct far_wc wc[4];
	struct far_peer peer;
	unsigned i;
	int err;

	if (!(ops->caps & FAR_NIC_CAP_PEER_DEATH))
		skip();
	for (i = 0; i < 4; i++) {
		wr[i] = bed_read(bed, 64, 8 * i, 8);
		wr[i].flags = i & 1 ? 0 : FAR_WR_SIGNALED;
		wr[i].id = i;
	}
	assert_int_equal(bed->host->ops->host->remove(bed->host, "1", "s"), 0);
	assert_int_equal(ops->post(bed->qset, 1, wr, 4), 0);
	bed_collect(bed->qset, wc, 4);
	assert_int_equal(wc[0].status, -EHOSTDOWN);
	for (i = 1; i < 4; i++)
		assert_int_equal(wc[i].status, -ECANCELED);
	bed_nothing(bed->qset);
	assert_int_equal(ops->post(bed->qset, 1, wr, 1), -ENOTCONN);
	err = ops->connect(bed->qset, 1, &bed->peer[1]);
	assert_true(err == -EHOSTDOWN || err == -ESTALE);
	assert_int_equal(ops->attach(bed->nic, bed->node[1], "s", FAR_ATTACH_READ, &peer),
			 -ENOENT);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, 64, 0, 8)), 0);
}

static void test_attach(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_peer peer;
	int err;

	assert_int_equal(ops->attach(bed->nic, bed->node[0], "t", FAR_ATTACH_READ, &peer),
			 -ENOENT);
	/* No address, or one of nobody, as the back end has them. */
	err = ops->attach(bed->nic, "no/node", "s", FAR_ATTACH_READ, &peer);
	assert_true(err == -EINVAL || err == -EHOSTUNREACH);
	assert_int_equal(bed->peer[0].nr_regions, 1);
	assert_int_equal(bed->peer[0].region[0].start, 0);
	assert_int_equal(bed->peer[0].region[0].size, BED_SIZE);
}

/* An attachment in the place of one that has ended, of whose queue sets none is left. */
static void test_attach_again(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	const struct far_qset_attr attr = { .nr_peers = 1, .depth = 4, .group = FAR_NIC_OWN };
	const unsigned rights = FAR_ATTACH_READ | FAR_ATTACH_WRITE;
	struct far_wr wr = bed_faa(bed, 64, 8, 1);
	struct far_qset *qset;
	struct far_peer peer;
	unsigned i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(ops->attach(bed->nic, bed->node[0], "s", rights, &peer), 0);
		assert_int_equal(ops->qset_new(bed->nic, &attr, &qset), 0);
		assert_int_equal(ops->connect(qset, 0, &peer), 0);
		assert_int_equal(bed_run(qset, 0, &wr, 1), 0);
		ops->qset_free(qset);
		ops->detach(bed->nic, &peer);
	}
	assert_int_equal(bed_far_word(bed, 0, 64), 3);
}

static void test_claims(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_peer other;

	assert_int_equal(ops->attach(bed->nic, bed->node[0], "s",
				     FAR_ATTACH_READ | FAR_ATTACH_WRITE, &other), 0);
	assert_int_equal(ops->fence(bed->nic, &other, 5), 0);
	assert_int_equal(ops->claim(bed->nic, &bed->peer[0], 5), 0);
	assert_int_equal(ops->fence(bed->nic, &other, 5), -EBUSY);
	assert_int_equal(ops->fence(bed->nic, &bed->peer[0], 5), -EBUSY);
	assert_int_equal(ops->claim(bed->nic, &other, 5), -EBUSY);
	assert_int_equal(ops->claim(bed->nic, &other, 65535), 0);
	assert_int_equal(ops->claim(bed->nic, &other, 65536), -EINVAL);
	ops->unclaim(bed->nic, &other, 5);
	assert_int_equal(ops->fence(bed->nic, &other, 5), -EBUSY);
	ops->unclaim(bed->nic, &bed->peer[0], 5);
	assert_int_equal(ops->fence(bed->nic, &other, 5), 0);
	assert_int_equal(ops->fence(bed->nic, &bed->peer[0], 65535), -EBUSY);
	/* detach() ends a claim */
	ops->detach(bed->nic, &other);
	assert_int_equal(ops->fence(bed->nic, &bed->peer[0], 65535), 0);
}

/* A client that lives is fenced: its connections are ended, and it connects no more. */
static void test_cut(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr = bed_faa(bed, 0, 0, 1);
	struct far_peer other;
	int err;

	if (!ops->cut)
		skip();
	assert_int_equal(ops->attach(bed->nic, bed->node[0], "s",
				     FAR_ATTACH_READ | FAR_ATTACH_WRITE, &other), 0);
	assert_int_equal(ops->claim(bed->nic, &bed->peer[0], 5), 0);
	ops->cut(bed->nic, &other, 6);
	assert_int_equal(ops->fence(bed->nic, &other, 5), -EBUSY);
	assert_int_equal(bed_run(bed->qset, 0, &wr, 1), 0);
	ops->cut(bed->nic, &other, 5);
	do
		err = ops->fence(bed->nic, &other, 5);
	while (err == -EBUSY);
	assert_int_equal(err, 0);
	assert_int_not_equal(bed_run(bed->qset, 0, &wr, 1), 0);
	assert_int_equal(bed_memory(bed, 0)[0], 1);
	assert_int_equal(ops->connect(bed->qset, 0, &bed->peer[0]), -ESTALE);
	ops->detach(bed->nic, &other);
}

static int count_spaces(void *arg, const char *node, const char *space)
{
	(*(unsigned *)arg)++;
	return strcmp(space, "stop") ? 0 : 7;
}

static void test_host(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_host_ops *host = bed->host->ops->host;
	struct far_host_map map, same;
	unsigned nr = 0;

	assert_int_equal(host->create(bed->host, "0", "s", 65536, 0600, &map), -EEXIST);
	assert_int_equal(host->create(bed->host, "0", "stop", 65537, 0600, &map), -EINVAL);
	assert_int_equal(host->create(bed->host, "0", "", 65536, 0600, &map), -EINVAL);
	assert_int_equal(host->map(bed->host, "0", "stop", &map), -ENOENT);
	assert_int_equal(host->list(bed->host, count_spaces, &nr), 0);
	assert_int_equal(nr, BED_NODES);
	assert_int_equal(host->remove(bed->host, "0", "stop"), -ENOENT);
	assert_int_equal(host->map(bed->host, "0", "s", &same), 0);
	assert_int_equal(same.size, BED_SIZE);
	((uint8_t *)same.addr)[77] = 5;
	assert_int_equal(bed_memory(bed, 0)[77], 5);
	host->unmap(bed->host, &same);
}

int suite_fail(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bounds, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_local_key, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_rights, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_behind, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_unseen, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_broken_by_another, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_reconnect_early, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(test_reset, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_peer_dies, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_attach, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_attach_again, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_claims, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_cut, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_host, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
