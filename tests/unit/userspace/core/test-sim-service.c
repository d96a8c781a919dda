// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The service of a client whose threads have left, in virtual time: what it still does
 * inside of an epoch is protected by what the client has published, however long that
 * takes; and in the end the client's entry says that it is idle, whatever breaks.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bag.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/core/task.h"
#include "../../../lib/nic/fault.h"
#include "../../../../userspace/nic/sim/sim.h"

#define MS	UINT64_C(1000000)
#define WALK_NS	(300 * MS)	/* longer than a service goes on without a thread */
#define SLOTS	8u
#define IDLE_NS	(200 * MS)	/* a service without a thread has ended by then */
#define LAST	16u	/* operations of a service, its last ones, that fail in turn, */
#define TIMES	8u	/* each so often: some are executed all the same */

static struct {
	struct far_sim *sim;
	unsigned walks, early;
	int over;
} world;

/* The walk of a large structure: it has an address of a block for a long time. */
static int slow_walk(struct far_task *task, const struct far_dir_entry *entry,
		     struct far_walk *walk)
{
	const struct bag bag = { entry->root, entry->param[0] };
	int err = bag_get(task, &bag, 0, world.over ? 0 : WALK_NS);

	world.walks++;
	if (err == -EBADMSG)
		world.early++;
	return bag_type.walk(task, entry, walk);
}

static const struct far_type slow_type = {
	.type = FAR_TYPE_TEST, .version = 1, .name = "slow", .walk = slow_walk,
};

const struct far_type *const far_type_all[] = { &slow_type, NULL };

static struct far *open_nic(struct far_nic *nic)
{
	const struct far_conf conf = { .space = "s", .seed = 1 };
	struct far *far;
	char why[200];

	if (far_open_nic(nic, &conf, why, sizeof(why), &far))
		fail_msg("%s", why);
	return far;
}

static struct far *open_cn(unsigned cn)
{
	return open_nic(far_sim_nic(world.sim, cn));
}

static int setup(void **state)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = 2, .mns = 1, .seed = 1,
		.max_space = UINT64_C(16) << 20, .scale = 1,
	};
	const struct far_space_attr space = {
		.size = UINT64_C(8) << 20, .max_clients = 8,
	};
	char why[200];

	(void)state;
	if (far_sim_new(&attr, why, sizeof(why), &world.sim) ||
	    far_space_create_on(far_sim_nic(world.sim, 0), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	far_sim_free(world.sim);
	return 0;
}

/* Blocks of the bag are replaced all the time, and used again as soon as they are free. */
static void replace(struct far_task *task, const struct bag *bag, uint64_t ns)
{
	uint64_t until = far_now(task) + ns;

	for (uint64_t i = 0; far_now(task) < until; i++) {
		assert_int_equal(bag_put(task, bag, i % SLOTS, 64, i), 0);
		far_sleep(task, MS / 50);
	}
}

/*
 * A client loses track of a block, and its last thread leaves: its service looks for the
 * block, which takes longer than the service would go on for nobody.
 */
static void sweep_without_threads(void **state)
{
	struct far *a = open_cn(0), *b = open_cn(1);
	struct far_task *task;
	struct bag bag;

	(void)state;
	assert_int_equal(far_enter(a, &task), 0);
	assert_int_equal(bag_create(task, "b", SLOTS, &bag), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(bag_put(task, &bag, i, 64, i), 0);
	far_alloc_lost(task);
	far_leave(task);
	assert_int_equal(far_enter(b, &task), 0);
	replace(task, &bag, 4 * WALK_NS);
	world.over = 1;
	far_leave(task);
	far_close(a);
	far_close(b);
	assert_true(world.walks > 0);
	assert_int_equal(world.early, 0);
}

/* The epoch that the entry of a client says, as another one READs it. */
static uint64_t entry_epoch(struct far_task *task, unsigned number)
{
	const struct far_client *client = far_task_client(task);
	uint64_t *word = far_buf(task, sizeof(*word));

	far_read(task, far_addr(client->arbiter, offsetof(struct far_client_entry, epoch) +
				far_client_entry_off(&client->sb[client->arbiter],
						     number)),
		 word, sizeof(*word));
	assert_int_equal(far_sync(task), 0);
	return *word;
}

/* A thread comes and leaves; operation `at` from then on fails. How many there are. */
static uint64_t idle_once(struct far *far, struct far_nic *nic, struct far_task *other,
			  uint64_t at)
{
	struct far_task *task;
	uint64_t before;

	assert_int_equal(far_enter(far, &task), 0);
	far_leave(task);
	far_fault_fail_at(nic, at, -EIO);
	before = far_fault_count(nic);
	far_sleep(other, IDLE_NS);
	far_fault_fail_at(nic, 0, 0);
	assert_int_equal(entry_epoch(other, far->client->number), FAR_EPOCH_IDLE);
	return far_fault_count(nic) - before;
}

/* The entry of a client without a thread says so: nobody waits for an epoch of it. */
static void last_operation_fails(void **state)
{
	struct far_task *other;
	struct far_nic *nic;
	struct far *a, *b;
	uint64_t ops;

	(void)state;
	assert_int_equal(far_fault_new(far_sim_nic(world.sim, 0), 1, 0, &nic), 0);
	a = open_nic(nic);
	b = open_cn(1);
	assert_int_equal(far_enter(b, &other), 0);
	ops = idle_once(a, nic, other, 0);
	assert_true(ops > LAST);
	for (unsigned i = 0; i < LAST * TIMES; i++)
		idle_once(a, nic, other, ops - i / TIMES);
	far_leave(other);
	far_close(a);
	far_close(b);
	nic->ops->close(nic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sweep_without_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(last_operation_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
