// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Another thread of the client stands still: in the middle of getting memory, or before it
 * has published an epoch. What has a deadline does not wait for that thread.
 */
#include <errno.h>

#include <far/art.h>

#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/task.h"
#include "../../../lib/nap.h"
#include "../hash/rig.h"

#define NAP_NS	UINT64_C(100000)
#define LATE_MS	1u
#define OVER_NS	UINT64_C(1000000)	/* what is posted, and has to be finished */

struct bed {
	struct rig rig;
	struct far_art *art;
	uint64_t at;		/* operation before which the other thread stops */
	int asleep, awake, done;
};

static char value[4096];

static void other_naps(void *arg)
{
	struct bed *bed = arg;

	bed->asleep = 1;
	while (!bed->awake)
		nap_sleep(bed->rig.nic[0], NAP_NS);
}

static void other_works(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	nap_at(bed->rig.nic[0], bed->at, other_naps, bed);
	assert_int_equal(far_art_insert(task, bed->art, "a", 1, value, 1000), 0);
	bed->done = 1;
}

/* Inserts a value of another size class than the other thread does. True: -ETIME. */
static bool insert(struct bed *bed, struct far_task *task)
{
	uint64_t began = far_now(task);
	int err;

	assert_int_equal(far_deadline_set(task, LATE_MS), 0);
	err = far_art_insert(task, bed->art, "b", 1, value, 500);
	assert_true(!err || err == -ETIME);
	assert_true(far_now(task) - began <= LATE_MS * UINT64_C(1000000) + OVER_NS);
	far_deadline_set(task, 0);
	return err;
}

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .seed = 3 };
	struct far_task *task;

	rig_open(&bed->rig, &conf);
	rig_leave(&bed->rig, 0);
	bed->rig.nic[0] = nap_new(bed->rig.nic[0]);
	assert_non_null(bed->rig.nic[0]);
	rig_join(&bed->rig, 0);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(task, "t", &bed->art), 0);
	far_leave(task);
}

/* The other thread stops before each operation of an insert. */
static void beside_one_that_stands_still(void **state)
{
	unsigned late = 0;
	bool stopped = true;

	(void)state;
	for (uint64_t at = 1; stopped; at++) {
		struct bed bed = { .at = at };
		struct far_thread *thread;
		struct far_task *task;
		bool was_late;

		bed_open(&bed);
		task = rig_enter(&bed.rig, 0);
		assert_int_equal(far_thread_start(bed.rig.far[0], 1, other_works, &bed,
						  &thread), 0);
		while (!bed.asleep && !bed.done)
			far_sleep(task, 1000);
		was_late = insert(&bed, task);
		stopped = bed.asleep;
		bed.awake = 1;
		far_thread_join(thread);
		assert_int_equal(far_art_insert(task, bed.art, "b", 1, value, 500),
				 was_late ? 0 : -EEXIST);
		late += was_late;
		far_leave(task);
		far_art_close(bed.art);
		rig_close(&bed.rig);
	}
	assert_true(late > 0);
}

/* The client's service stops before its first operation; a creation is no operation. */
static void beside_a_service_that_stands_still(void **state)
{
	struct bed bed = { .at = 1 };
	struct far_task *task;
	struct far_art *art;

	(void)state;
	bed_open(&bed);
	far_art_close(bed.art);
	rig_leave(&bed.rig, 0);
	rig_join(&bed.rig, 0);
	task = rig_enter(&bed.rig, 0);
	nap_at(bed.rig.nic[0], 1, other_naps, &bed);
	while (!bed.asleep)
		far_sleep(task, 1000);
	assert_int_equal(far_deadline_set(task, LATE_MS), 0);
	assert_int_equal(far_art_create(task, "other", &art), -ETIME);
	far_deadline_set(task, 0);
	bed.awake = 1;
	assert_int_equal(far_art_create(task, "other", &art), 0);
	far_art_close(art);
	far_leave(task);
	rig_close(&bed.rig);
}

/* Two threads begin, and the one of them that starts the service cannot. */
static void without_a_service(void **state)
{
	struct bed bed = { .at = 1 };
	struct far_client *client;
	struct far_task *task;
	struct far_art *art;

	(void)state;
	bed_open(&bed);
	far_art_close(bed.art);
	rig_leave(&bed.rig, 0);
	rig_join(&bed.rig, 0);
	client = bed.rig.far[0]->client;
	atomic_store(&client->service, FAR_SERVICE_STARTING);
	task = rig_enter(&bed.rig, 0);
	atomic_store(&client->service, FAR_SERVICE_NONE);
	assert_int_equal(far_art_create(task, "other", &art), 0);
	far_art_close(art);
	far_leave(task);
	rig_close(&bed.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beside_one_that_stands_still),
		cmocka_unit_test(beside_a_service_that_stands_still),
		cmocka_unit_test(without_a_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
