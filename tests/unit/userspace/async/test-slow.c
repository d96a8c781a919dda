/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that stops within far_async_submit(): calls that others put behind its own come to
 * sight with that one, and as many tasks make them as there are. The queue is included, so
 * that the test puts calls as the thread that stopped does, and is what a call does.
 */
#include "../../../../userspace/async/async.c"

#include "../hash/rig.h"

#define NR_CALLS	5u
#define NAPS		1000u	/* for which a call waits for the others */

static atomic_uint under_way, most;

int async_call_check(const struct far_call *call)
{
	(void)call;
	return 0;
}

/* Until all are under way, or nobody begins another one. */
int async_call_make(struct far_task *task, const struct far_call *call, uint64_t *ret_len)
{
	unsigned nr = atomic_fetch_add(&under_way, 1) + 1, old = atomic_load(&most);

	(void)call;
	while (old < nr && !atomic_compare_exchange_weak(&most, &old, nr))
		;
	for (unsigned i = 0; i < NAPS && atomic_load(&most) < NR_CALLS; i++)
		far_sleep(task, 1000000);
	atomic_fetch_sub(&under_way, 1);
	*ret_len = 0;
	return 0;
}

static void all_are_made(void **state)
{
	const struct rig_conf conf = { .clients = 1 };
	const struct far_async_attr attr = { .tasks = 8, .depth = 16 };
	struct far_result result[NR_CALLS];
	struct far_async *async;
	struct rig rig;
	unsigned nr = 0;

	(void)state;
	rig_open(&rig, &conf);
	assert_int_equal(far_async_open(rig.far[0], &attr, &async), 0);
	while (__builtin_popcountll(atomic_load(&async->idle)) < 8)
		nap();
	/* so that each has looked once more, and parks */
	for (unsigned i = 0; i < 200; i++)
		nap();
	/* Those behind the first have woken tasks, which saw nothing; now it is there. */
	for (unsigned i = 0; i < NR_CALLS; i++) {
		struct async_slot *slot = async_ring_take(&async->free);

		slot->until = 0;
		atomic_fetch_add(&async->pending, 1);
		slot_put(&async->calls, slot);
	}
	tasks_wake(async, 1);
	while (nr < NR_CALLS) {
		nr += far_async_poll(async, result, NR_CALLS - nr);
		nap();
	}
	assert_int_equal(atomic_load(&most), NR_CALLS);
	assert_int_equal(far_async_close(async), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_are_made) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
