/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program is told over soft when a memory node does not take it, or refuses an
 * operation: each sentence names the node and the reason.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <nic/soft.h>
#include <odrp/far.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/nic/soft_priv.h"

#define NODE	"10.77.0.2"

/* A client, and at the other end of its only port a NIC that no memory node has. */
struct pair {
	char dir[32];
	struct far_nic *nic;
	struct nic *other;
};

static struct far_nic *nic_open(const char *spec)
{
	struct far_nic *nic;
	char why[512];

	if (far_nic_open(spec, why, sizeof(why), &nic))
		fail_msg("%s: %s", spec, why);
	return nic;
}

static void pair_open(struct pair *pair)
{
	char words[160], why[NIC_SOFT_WHY_MAX];
	struct nic_soft_opts opts;

	snprintf(pair->dir, sizeof(pair->dir), "/tmp/far-words-XXXXXX");
	assert_non_null(mkdtemp(pair->dir));
	snprintf(words, sizeof(words),
		 "soft:ip=10.77.0.9/24,connect_ms=300,dgram=%s/a:%s/b", pair->dir, pair->dir);
	pair->nic = nic_open(words);
	snprintf(words, sizeof(words), "ip=" NODE "/24,dgram=%s/b:%s/a", pair->dir,
		 pair->dir);
	if (nic_soft_parse(words, &opts, why) || nic_soft_open(&opts, &pair->other, why))
		fail_msg("%s", why);
}

static void pair_close(struct pair *pair)
{
	if (pair->other)
		pair->other->ops->close(pair->other);
	pair->nic->ops->close(pair->nic);
	assert_int_equal(rmdir(pair->dir), 0);
}

/* The error of far_open(), and its words. */
static int open_fails(struct far_nic *nic, char *why, size_t len)
{
	const char *const node = NODE;
	const struct far_conf conf = { .space = "s", .nodes = &node, .nr_nodes = 1 };
	struct far *far;

	return far_open_nic(nic, &conf, why, len, &far);
}

static void expect_words(struct far_nic *nic, int err, const char *words)
{
	char why[200] = "", all[200];

	snprintf(all, sizeof(all), "space \"s\" at node \"" NODE "\": %s", words);
	assert_int_equal(open_fails(nic, why, sizeof(why)), err);
	assert_string_equal(why, all);
}

static void test_serves_none(void **state)
{
	struct pair pair;

	(void)state;
	pair_open(&pair);
	expect_words(pair.nic, -ECONNREFUSED, "it serves no spaces");
	pair_close(&pair);
}

/* Its address is known, and it says nothing. */
static void test_silent(void **state)
{
	struct pair pair;

	(void)state;
	pair_open(&pair);
	expect_words(pair.nic, -ECONNREFUSED, "it serves no spaces");
	pair.other->ops->close(pair.other);
	pair.other = NULL;
	expect_words(pair.nic, -EHOSTUNREACH, "no such node, or it does not answer");
	pair_close(&pair);
}

struct asked {
	struct far_nic *nic;
	int err;
	char why[200];
};

static void *ask(void *arg)
{
	struct asked *asked = arg;

	asked->err = open_fails(asked->nic, asked->why, sizeof(asked->why));
	return NULL;
}

/* Refuses one request as a memory node of the next version does. */
static void refuse(struct nic *nic)
{
	const struct odrp_far_reject rej = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION + 1),
		.status = cpu_to_be16(ODRP_FAR_E_VERSION),
	};
	struct pollfd fd = { .fd = nic->event_fd, .events = POLLIN };
	struct nic_event event = { 0 };

	while (nic->ops->event(nic, &event) || event.type != NIC_REQUEST)
		poll(&fd, 1, -1);
	assert_int_equal(nic->ops->reject(nic, event.id, &rej, sizeof(rej)), 0);
	nic->ops->release(nic, event.id);
}

static void test_version(void **state)
{
	struct asked asked = { 0 };
	struct pair pair;
	pthread_t thread;

	(void)state;
	pair_open(&pair);
	assert_int_equal(pair.other->ops->listen(pair.other, ODRP_FAR_PORT), 0);
	asked.nic = pair.nic;
	assert_int_equal(pthread_create(&thread, NULL, ask, &asked), 0);
	refuse(pair.other);
	pthread_join(thread, NULL);
	assert_int_equal(asked.err, -EPROTONOSUPPORT);
	assert_string_equal(asked.why, "space \"s\" at node \"" NODE "\": it speaks another "
			    "version of the protocol; expected version 1");
	pair_close(&pair);
}

/* ---- operations ---- */

/* A region's key that the memory node does not know; then the right one again. */
static void wrong_key(struct far *far)
{
	struct soft_peer *peer = far->peer[0]->priv;
	uint32_t right = peer->attach.regions.region[0].rkey;
	struct far_task *task;
	uint64_t *local;

	assert_int_equal(far_enter(far, &task), 0);
	local = far_buf(task, sizeof(*local));
	peer->attach.regions.region[0].rkey ^= 1;
	far_read(task, far_addr(0, 0), local, sizeof(*local));
	assert_int_equal(far_sync(task), -EACCES);
	assert_non_null(strstr(far_strerror_last(task), "soft: queue pair of thread "));
	assert_non_null(strstr(far_strerror_last(task),
			       " to node 0: READ failed: Permission denied, syndrome 0x13"));
	peer->attach.regions.region[0].rkey = right;
	far_read(task, far_addr(0, 0), local, sizeof(*local));
	assert_int_equal(far_sync(task), 0);
	far_leave(task);
}

static void test_wrong_key(void **state)
{
	const char *const node = "0";
	const struct far_space_attr attr = { .size = 4 << 20, .nodes = &node, .nr_nodes = 1 };
	const struct far_conf conf = { .space = "s" };
	struct far_nic *nic = nic_open("soft:nodes=1");
	char why[200];
	struct far *far;

	(void)state;
	if (far_space_create_on(nic, "s", &attr, why, sizeof(why)) ||
	    far_open_nic(nic, &conf, why, sizeof(why), &far))
		fail_msg("%s", why);
	wrong_key(far);
	far_close(far);
	assert_int_equal(far_space_delete_on(nic, "s", why, sizeof(why)), 0);
	nic->ops->close(nic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serves_none),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_wrong_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
