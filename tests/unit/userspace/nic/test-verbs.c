/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The back end verbs on a device that is none: the conformance suite, what the provider
 * is asked for, and what is left when a call fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../userspace/auth/secret.h"
#include "../../../../userspace/nic/verbs_info.h"
#include "bed.h"
#include "../../../lib/verbs/fake_verbs.h"

static char dir[32];

static void open_host(struct far_nic **ret_nic)
{
	char spec[64], why[128];

	snprintf(dir, sizeof(dir), "/tmp/far-verbs-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(spec, sizeof(spec), "mem:dir=%s", dir);
	assert_int_equal(far_nic_open(spec, why, sizeof(why), ret_nic), 0);
	fake = (struct fake_verbs) { .host = *ret_nic, .max_inline = 64 };
}

static void open_plain(struct far_nic **ret_nic)
{
	char why[128];

	assert_int_equal(far_nic_open("verbs:" FAKE_DEVICE ",spin_us=0", why, sizeof(why),
				      ret_nic), 0);
}

/* Neither thread domains nor inline data. */
static void open_poor(struct far_nic **ret_nic)
{
	fake.no_td = true;
	fake.max_inline = 0;
	open_plain(ret_nic);
}

static char key_dir[40];

/* Memory nodes that let in only who has this secret. */
static void open_keyed_host(struct far_nic **ret_nic)
{
	char why[SECRET_WHY_MAX];

	open_host(ret_nic);
	snprintf(key_dir, sizeof(key_dir), "%s.keys", dir);
	assert_int_equal(secret_new(key_dir, "client", why), 0);
	assert_int_equal(secret_new(key_dir, "other", why), 0);
	fake.key_dir = key_dir;
	fake.key_name = "client";
}

static void open_named(const char *name, struct far_nic **ret_nic)
{
	char spec[128], why[128];

	snprintf(spec, sizeof(spec), "verbs:" FAKE_DEVICE ",spin_us=0%s%s%s%s",
		 name ? ",key=" : "", name ? key_dir : "", name ? "/" : "",
		 name ? name : "");
	assert_int_equal(far_nic_open(spec, why, sizeof(why), ret_nic), 0);
}

static void open_keyed(struct far_nic **ret_nic)
{
	open_named("client", ret_nic);
}

static const char *const nodes[BED_NODES] = { "127.0.0.1", "127.0.0.2:7490" };
static void open_ends(struct bed_ends *ret_ends)
{
	fake.gids = 4;
	open_plain(&ret_ends->nic[0]);
	open_plain(&ret_ends->nic[1]);
	ret_ends->node = nodes[0];
}

static const struct bed_kind plain = { "verbs", open_plain, open_host, nodes, open_ends };
static const struct bed_kind poor = { "verbs-poor", open_poor, open_host, nodes, open_ends };

static const struct bed_kind keyed = { "verbs-keyed", open_keyed, open_keyed_host, nodes };

static int setup(void **state)
{
	bed_choose(&plain);
	return bed_setup(state);
}

static int setup_poor(void **state)
{
	bed_choose(&poor);
	return bed_setup(state);
}

/* Nothing is left, and nothing that the device was given was wrong. */
static int teardown(void **state)
{
	int err = bed_teardown(state);

	if (fake.wrong)
		fail_msg("the device was given what cannot be: %s", fake.wrong);
	assert_int_equal(fake.objects, 0);
	assert_int_equal(rmdir(dir), 0);
	return err;
}

static int setup_keyed(void **state)
{
	bed_choose(&keyed);
	return bed_setup(state);
}

static int teardown_keyed(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/client", key_dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/other", key_dir);
	unlink(path);
	rmdir(key_dir);
	return teardown(state);
}

/* ---- who is who ---- */

/* Whoever proves nothing, or with another secret, gets nothing. */
static void test_strangers(void **state)
{
	static const struct {
		const char *name;
		int err;
	} who[] = {
		{ NULL, -ENOKEY }, { "other", -EKEYREJECTED }, { "client", 0 },
	};
	struct far_peer peer;
	struct far_nic *nic;
	unsigned i;

	/* The bed's own, with both memory nodes. */
	assert_int_equal(fake.handshakes, 2);
	for (i = 0; i < 3; i++) {
		open_named(who[i].name, &nic);
		assert_int_equal(nic->ops->attach(nic, nodes[0], "none", 1, &peer),
				 who[i].err ? who[i].err : -ENOENT);
		nic->ops->close(nic);
	}
	assert_int_equal(fake.handshakes, 3);
}

/* ---- thread domains ---- */

static void test_doorbells(void **state)
{
	struct bed *bed = *state;
	struct far_qset *more[3];
	struct far_qset_stats stats;
	unsigned i;

	assert_int_equal(fake.tds, 1);
	fake.max_tds = 3;
	for (i = 0; i < 3; i++)
		more[i] = bed_qset(bed, 8);
	/* One each, as long as there are any. */
	assert_int_equal(fake.tds, 3);
	assert_int_equal(fake.parents, 3);
	assert_int_equal(fake.td_cqs, 3);
	assert_int_equal(fake.td_qps, 3 * BED_NODES);
	for (i = 0; i < 3; i++) {
		bed->nic->ops->stats(more[i], &stats);
		assert_int_equal(stats.shared_doorbell, i == 2);
	}
	for (i = 0; i < 3; i++)
		bed->nic->ops->qset_free(more[i]);
	assert_int_equal(fake.tds, 1);
	assert_int_equal(fake.parents, 1);
}

static void test_no_doorbells(void **state)
{
	struct bed *bed = *state;
	struct far_qset_stats stats;

	assert_int_equal(fake.tds, 0);
	assert_int_equal(fake.td_qps, 0);
	bed->nic->ops->stats(bed->qset, &stats);
	assert_int_equal(stats.shared_doorbell, 1);
}

static void test_doorbell_default(void **state)
{
	struct bed *bed = *state;
	struct far_qset_attr attr = {
		.nr_peers = 1, .depth = 4, .group = FAR_NIC_OWN,
		.doorbell = FAR_DOORBELL_DEFAULT,
	};
	struct far_qset *qset;

	assert_int_equal(bed->nic->ops->qset_new(bed->nic, &attr, &qset), 0);
	assert_int_equal(fake.tds, 1);
	bed->nic->ops->qset_free(qset);
	attr.doorbell = FAR_DOORBELL_CONTEXT;
	assert_int_equal(bed->nic->ops->qset_new(bed->nic, &attr, &qset), -EOPNOTSUPP);
}

/* ---- work requests ---- */

static void test_work_requests(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[3] = {
		bed_write(bed, 64, 0, 8), bed_read(bed, 64, 64, 8), bed_write(bed, 72, 0, 8),
	};
	unsigned posts = fake.posts;
	struct far_wc wc;

	wr[0].flags = FAR_WR_INLINE;
	wr[1].flags = 0;
	wr[2].flags = FAR_WR_FENCE | FAR_WR_SIGNALED;
	fake.signaled = 0;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 3), 0);
	bed_collect(bed->qset, &wc, 1);
	assert_int_equal(fake.posts, posts + 1);
	assert_int_equal(fake.inlined, fake.max_inline ? 1 : 0);
	assert_int_equal(fake.fenced, 1);
	assert_int_equal(fake.signaled, 1);
}

static void test_explain(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr = bed_read(bed, BED_SIZE, 0, 8);
	struct far_wc wc;
	char text[128];

	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 1), 0);
	bed_collect(bed->qset, &wc, 1);
	bed->nic->ops->explain(bed->qset, &wc, text, sizeof(text));
	assert_non_null(strstr(text, FAKE_DEVICE ", queue pair 0x1"));
	assert_non_null(strstr(text, "remote access error, vendor error 0x88"));
}

/* ---- what fails ---- */

/* All that a client does; 0, or what failed. */
static int life(struct far_nic *nic, struct bed *bed)
{
	const struct far_nic_ops *ops = nic->ops;
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN };
	struct far_qset *qset;
	struct far_peer peer;
	struct far_wr wr[2];
	struct far_wc wc[2];
	uint32_t lkey;
	int err;

	err = ops->mr_reg(nic, bed->local, 4096, &lkey);
	if (err)
		return err;
	err = ops->attach(nic, bed->node[0], "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE, &peer);
	if (err)
		goto dereg;
	err = ops->claim(nic, &peer, 7);
	if (err)
		goto detach;
	err = ops->qset_new(nic, &attr, &qset);
	if (err)
		goto detach;
	err = ops->connect(qset, 0, &peer);
	if (err)
		goto free_qset;
	wr[0] = bed_write(bed, 64, 0, 8);
	wr[0].lkey = lkey;
	wr[1] = wr[0];
	assert_int_equal(ops->post(qset, 0, wr, 2), 0);
	bed_collect(qset, wc, 2);
	err = wc[0].status ? wc[0].status : wc[1].status;
	if (err)
		assert_int_equal(ops->post(qset, 0, wr, 1), -ENOTCONN);
free_qset:
	ops->qset_free(qset);
detach:
	ops->detach(nic, &peer);
dereg:
	ops->mr_dereg(nic, lkey);
	return err;
}

/* The N-th call fails, for all N: nothing hangs, nothing is left. Returns how many are needed. */
static unsigned calls_fail(struct bed *bed, int (*run)(struct far_nic *nic, struct bed *bed))
{
	unsigned objects = fake.objects, n, failed = 0;
	struct far_nic *nic;
	char why[128];
	int err;

	for (n = 1; ; n++) {
		fake.calls = 0;
		fake.fail_at = n;
		err = far_nic_open("verbs", why, sizeof(why), &nic);
		if (err)
			assert_true(why[0]);
		if (!err) {
			err = run(nic, bed);
			nic->ops->close(nic);
		}
		failed += err != 0;
		if (fake.objects != objects)
			fail_msg("call %u: %d objects are left", n,
				 (int)(fake.objects - objects));
		if (fake.calls < n)
			break;
	}
	fake.fail_at = 0;
	assert_int_equal(err, 0);
	print_message("%u calls, %u of them needed\n", n - 1, failed);
	return failed;
}

/* After that all is well. */
static void test_each_call_fails(void **state)
{
	struct bed *bed = *state;

	assert_true(calls_fail(bed, life) > 20);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, 64, 0, 8)), 0);
}

/* ---- datagrams ---- */

/* Sends len bytes to ourselves. Returns how many RECVs that has completed, or -errno. */
static int datagram_send_to_self(struct far_qset *qset, struct far_wr wr, uint32_t len)
{
	const struct far_nic_ops *ops = qset->nic->ops;
	int err, nr = 0, recvs = 0;
	bool sent = false;
	struct far_wc wc;

	wr.op = FAR_NIC_SEND;
	wr.len = len;
	wr.remote = ops->address(qset);
	err = ops->post(qset, 0, &wr, 1);
	/* The device executes at once: when the SEND is done, all is. */
	while (!err && (!sent || nr)) {
		nr = ops->poll(qset, &wc, 1);
		if (!nr)
			continue;
		assert_int_equal(nr, 1);
		sent |= wc.op == FAR_NIC_SEND;
		recvs += wc.op == FAR_NIC_RECV;
		err = wc.status;
	}
	return err ? err : recvs;
}

/* Three RECVs, of which a datagram that is too long for the second one stops the queue pair. */
static int datagram_life(struct far_nic *nic, struct bed *bed)
{
	static const uint32_t room[] = { 64, 16, 64 };
	static const uint32_t len[] = { 8, 32, 16, 64 }, gets[] = { 1, 0, 1, 1 };
	struct far_qset_attr attr = {
		.nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN, .datagrams = true, .recvs = 3,
	};
	struct far_wr wr = {
		.local = bed->local, .op = FAR_NIC_RECV, .flags = FAR_WR_SIGNALED,
	};
	struct far_qset *qset;
	unsigned i;
	int err = nic->ops->mr_reg(nic, bed->local, 4096, &wr.lkey), got;

	if (err)
		return err;
	err = nic->ops->qset_new(nic, &attr, &qset);
	if (err)
		goto dereg;
	for (i = 0; i < 3 && !err; i++) {
		wr.len = room[i];
		err = nic->ops->post(qset, 0, &wr, 1);
	}
	for (i = 0; i < 4 && !err; i++) {
		got = datagram_send_to_self(qset, wr, len[i]);
		err = got == (int)gets[i] ? 0 : got < 0 ? got : -EIO;
	}
	nic->ops->qset_free(qset);
dereg:
	nic->ops->mr_dereg(nic, wr.lkey);
	return err;
}

/* The same of datagrams, whose queue pair starts again in between. */
static void test_datagram_call_fails(void **state)
{
	fake.gids = 4;
	assert_true(calls_fail(*state, datagram_life) > 15);
}

/* They come from an address of IPv4 of RoCE v2, the one that is given if one is. */
static void test_datagram_address(void **state)
{
	static const struct {
		const char *spec;
		uint32_t gids;
		int err;
	} is[] = {
		{ "verbs", 2, -EAFNOSUPPORT }, { "verbs", 4, 0 }, { "verbs:ip=127.0.0.1", 4, 0 },
		{ "verbs:ip=127.0.0.2", 4, -EAFNOSUPPORT }, { "verbs:ip=::1", 4, -EAFNOSUPPORT },
	};
	struct far_qset_attr attr = {
		.nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN, .datagrams = true, .recvs = 3,
	};
	struct far_qset *qset;
	struct far_nic *nic;
	char why[128];
	unsigned i;

	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		fake.gids = is[i].gids;
		assert_int_equal(far_nic_open(is[i].spec, why, sizeof(why), &nic), 0);
		assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), is[i].err);
		if (!is[i].err) {
			assert_int_equal(nic->ops->address(qset) >> 24, 0x7f00000100);
			nic->ops->qset_free(qset);
		}
		nic->ops->close(nic);
	}
}

static void test_words(void **state)
{
	static const char *const bad[] = {
		"verbs:other0", "verbs:fake0,fake0", "verbs:ip=", "verbs:ip=host",
		"verbs:spin_us=", "verbs:nodes=2", "verbs:timeout=32", "verbs:,", "verbs:gid=1",
	};
	struct far_nic *nic;
	char why[128];
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!far_nic_open(bad[i], why, sizeof(why), &nic))
			fail_msg("%s is taken", bad[i]);
		assert_true(strlen(why) > 10);
	}
}

/* iWARP devices, siw too, have READ and WRITE, and nothing that libfar could lock by. */
static void test_no_atomics(void **state)
{
	unsigned objects = fake.objects;
	struct far_nic *nic;
	char why[128];

	fake.no_atomics = true;
	assert_int_equal(far_nic_open("verbs:" FAKE_DEVICE, why, sizeof(why), &nic),
			 -EOPNOTSUPP);
	assert_non_null(strstr(why, FAKE_DEVICE " has no atomics"));
	assert_int_equal(fake.objects, objects);
}

static int device_seen(void *arg, const struct far_verbs_device *device)
{
	assert_string_equal(device->name, FAKE_DEVICE);
	return 0;
}

static int port_seen(void *arg, const struct far_verbs_port *port)
{
	*(unsigned *)arg = port->nr_gids;
	assert_int_equal(port->gid[port->nr_gids - 1].index, port->nr_gids - 1);
	return 0;
}

/* A port of many addresses, VLANs or containers has more GIDs than any fixed array. */
static void test_gids(void **state)
{
	unsigned seen = 0;
	const struct far_verbs_reporter to = { device_seen, port_seen, &seen };

	fake.gids = 255;
	assert_int_equal(far_verbs_report(&to), 0);
	assert_int_equal(seen, 255);
}

/* ---- a memory node in this process ---- */

/* A space from its making to its end, as its memory node and its client see it. */
static int node_life(struct far_nic *nic, void *local)
{
	const struct far_nic_ops *ops = nic->ops;
	const struct far_nic_host_ops *host = ops->host;
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN };
	struct far_wr wr = {
		.remote = 64, .local = local, .len = 8, .op = FAR_NIC_FAA, .arg = { 5 },
		.flags = FAR_WR_SIGNALED,
	};
	struct far_host_map map;
	struct far_peer peer, other;
	struct far_qset *qset;
	struct far_wc wc;
	int err = host->create(nic, "", "s", BED_SIZE, 0600, &map);

	if (err)
		return err;
	err = host->publish(nic, &map);
	if (err)
		goto unmap;
	err = ops->mr_reg(nic, local, 4096, &wr.lkey);
	if (err)
		goto remove;
	err = ops->attach(nic, "0", "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE, &peer);
	if (err)
		goto dereg;
	err = ops->qset_new(nic, &attr, &qset);
	if (err)
		goto detach;
	err = ops->connect(qset, 0, &peer);
	if (err)
		goto free_qset;
	assert_int_equal(ops->post(qset, 0, &wr, 1), 0);
	bed_collect(qset, &wc, 1);
	err = wc.status;
	if (err)
		goto free_qset;
	assert_int_equal(((uint64_t *)map.addr)[8], 5);
	err = ops->attach(nic, "", "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE, &other);
	if (err)
		goto free_qset;
	err = ops->claim(nic, &peer, 3);
	if (!err)
		err = ops->claim(nic, &other, 3) == -EBUSY ? 0 : -EIO;
	/* The fence needs a READ from the device to itself. */
	if (!err)
		ops->cut(nic, &other, 3);
	while (!err && (err = ops->fence(nic, &other, 3)) == -EBUSY)
		err = 0;
	if (!err)
		err = ops->claim(nic, &other, 3);
	if (!err)
		err = ops->claim(nic, &peer, 4) == -ESTALE ? 0 : -EIO;
	ops->detach(nic, &other);
free_qset:
	ops->qset_free(qset);
detach:
	ops->detach(nic, &peer);
dereg:
	ops->mr_dereg(nic, wr.lkey);
remove:
	host->remove(nic, "0", "s");
unmap:
	host->unmap(nic, &map);
	return err;
}

static void test_memory_node(void **state)
{
	struct bed *bed = *state;
	struct far_host_map map;
	struct far_nic *nic;
	char why[256];

	assert_null(bed->nic->ops->host);
	fake.gids = 4;
	assert_int_equal(far_nic_open("verbs:fake0,nodes=1,spin_us=0", why, sizeof(why),
				      &nic), 0);
	assert_int_equal(node_life(nic, bed->local), 0);
	assert_int_equal(nic->ops->host->map(nic, "1", "s", &map), -EHOSTUNREACH);
	assert_int_equal(nic->ops->host->map(nic, "127.0.0.9", "s", &map), -EHOSTUNREACH);
	nic->ops->close(nic);
	assert_int_equal(far_nic_open("verbs:fake0,nodes=1,ip=::1", why, sizeof(why), &nic),
			 -EAFNOSUPPORT);
	assert_non_null(strstr(why, "fake0 has no IPv4 address"));
}

/* Every call that opening it makes fails once: nothing is left. */
static void test_memory_node_fails(void **state)
{
	struct bed *bed = *state;
	unsigned objects = fake.objects, n, failed = 0;
	struct far_nic *nic;
	char why[256];
	int err;

	fake.gids = 4;
	for (n = 1; ; n++) {
		fake.calls = 0;
		fake.fail_at = n;
		err = far_nic_open("verbs:fake0,nodes=1,spin_us=0", why, sizeof(why), &nic);
		fake.fail_at = 0;
		if (err)
			assert_true(why[0]);
		else
			nic->ops->close(nic);
		failed += err != 0;
		if (fake.objects != objects)
			fail_msg("call %u: %d objects are left", n,
				 (int)(fake.objects - objects));
		if (fake.calls < n)
			break;
	}
	assert_int_equal(err, 0);
	assert_true(failed > 10);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, 64, 0, 8)), 0);
}

#define TEST(name, up) cmocka_unit_test_setup_teardown(name, up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_doorbells, setup),
		TEST(test_no_doorbells, setup_poor),
		TEST(test_doorbell_default, setup),
		TEST(test_work_requests, setup),
		TEST(test_work_requests, setup_poor),
		TEST(test_explain, setup),
		TEST(test_each_call_fails, setup),
		TEST(test_words, setup),
		TEST(test_memory_node, setup),
		TEST(test_memory_node_fails, setup),
		cmocka_unit_test_setup_teardown(test_strangers, setup_keyed,
						teardown_keyed),
		TEST(test_no_atomics, setup),
		TEST(test_datagram_call_fails, setup),
		TEST(test_datagram_call_fails, setup_poor),
		TEST(test_datagram_address, setup),
		TEST(test_gids, setup),
	};
	int failed = cmocka_run_group_tests_name("device", tests, NULL, NULL);

	bed_choose(&plain);
	failed += suite_ops() + suite_queue() + suite_fail() + suite_thread() + suite_call() +
		  suite_datagram();
	bed_choose(&poor);
	failed += suite_ops() + suite_queue() + suite_call() + suite_datagram();
	return failed;
}
