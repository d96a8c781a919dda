// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that share queue pairs: one that leads no more wakes one that has nothing to take.
 * One with completions takes them and leaves, and the others would sleep for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "../../../../userspace/nic/nic.h"
#include "../../../../userspace/nic/share.h"

#define SPACE	65536u
#define USERS	3u
#define SOON	UINT64_C(1000000)

struct user {
	struct all *all;
	struct far_nic *nic;
	struct far_peer peer;
	struct far_qset *qset;
	struct far_nic_thread *thread;
	uint8_t local[SPACE];
	uint32_t lkey;
	uint64_t done;		/* when its READ was */
};

/* The first leads until both others have posted, and once more. The second's READ is short. */
struct all {
	struct user user[USERS];
	unsigned posted;
};

static void lead_run(void *arg)
{
	struct user *user = arg;

	while (user->all->posted < 2)
		user->nic->ops->wait(user->qset, UINT64_MAX);
	user->nic->ops->wait(user->qset, UINT64_MAX);
}

static void read_run(void *arg)
{
	struct user *user = arg;
	const struct far_nic_ops *ops = user->nic->ops;
	unsigned idx = user - user->all->user;
	struct far_wr wr = {
		.local = user->local, .len = idx == 1 ? 8 : SPACE, .lkey = user->lkey,
		.op = FAR_NIC_READ, .flags = FAR_WR_SIGNALED,
	};
	struct far_wc wc;

	ops->spend(user->nic, 1000 * idx);
	assert_int_equal(ops->post(user->qset, 0, &wr, 1), 0);
	user->all->posted++;
	do
		ops->wait(user->qset, ops->now(user->nic) + 10 * SOON);
	while (!ops->poll(user->qset, &wc, 1));
	user->done = ops->now(user->nic);
}

static void user_init(struct user *user, struct all *all, struct far_nic *nic)
{
	const struct far_qset_attr attr = { .nr_peers = 1, .depth = 8, .group = FAR_NIC_OWN };
	const struct far_nic_ops *ops = nic->ops;

	user->all = all;
	user->nic = nic;
	user->done = 0;
	assert_int_equal(ops->mr_reg(nic, user->local, SPACE, &user->lkey), 0);
	assert_int_equal(ops->qset_new(nic, &attr, &user->qset), 0);
	assert_int_equal(ops->attach(nic, "0", "share", FAR_ATTACH_READ, &user->peer), 0);
	assert_int_equal(ops->connect(user->qset, 0, &user->peer), 0);
}

static struct far_nic *nic_open(void)
{
	struct far_host_map map;
	struct far_nic *nic;
	char why[256];

	if (far_nic_open("sim:cx6-200,cns=1,mns=1,qps=1", why, sizeof(why), &nic))
		fail_msg("%s", why);
	assert_int_equal(nic->ops->host->create(nic, "0", "share", SPACE, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	nic->ops->host->unmap(nic, &map);
	return nic;
}

/* turns: how often the lead was given up before, which says who is woken first. */
static void pass(unsigned turns)
{
	static struct all all;
	struct far_nic *nic = nic_open();
	struct far_wc wc;
	unsigned i;

	all.posted = 0;
	for (i = 0; i < USERS; i++)
		user_init(&all.user[i], &all, nic);
	while (turns--)
		assert_int_equal(nic->ops->poll(all.user[0].qset, &wc, 1), 0);
	for (i = 0; i < USERS; i++)
		assert_int_equal(nic->ops->thread_start(nic, i ? read_run : lead_run,
							&all.user[i], &all.user[i].thread), 0);
	for (i = 0; i < USERS; i++)
		nic->ops->thread_join(nic, all.user[i].thread);
	for (i = 1; i < USERS; i++)
		assert_in_range(all.user[i].done, 1, SOON);
	for (i = 0; i < USERS; i++) {
		nic->ops->qset_free(all.user[i].qset);
		nic->ops->detach(nic, &all.user[i].peer);
		nic->ops->mr_dereg(nic, all.user[i].lkey);
	}
	nic->ops->close(nic);
}

static void test_pass(void **state)
{
	unsigned turns;

	for (turns = 0; turns < USERS; turns++)
		pass(turns);
}

/* A NIC whose queue sets are shared already stays as it is. */
static void test_once(void **state)
{
	struct far_nic *nic = nic_open();

	assert_int_equal(far_nic_share(nic, 2), -EALREADY);
	nic->ops->close(nic);
}

/* A number of queue pairs that is none is named. */
static void test_number(void **state)
{
	struct far_nic *nic;
	char why[200] = "";

	assert_int_equal(far_nic_open("mem:qps=257", why, sizeof(why), &nic), -EINVAL);
	assert_string_equal(why, "mem: qps=257: expected a number of queue pairs from 1 to 256");
	assert_int_equal(far_nic_open("mem:qps", why, sizeof(why), &nic), -EINVAL);
	assert_string_equal(why, "mem: qps=: expected a number of queue pairs from 1 to 256");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
