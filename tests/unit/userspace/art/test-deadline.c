/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of the radix tree that are late: ../ordered/deadline.h and stopped.h. And
 * what they leave in the tree after they have changed it.
 */
#include <errno.h>

#include <far/art.h>

#include "../../../../userspace/core/deadline.h"
#include "../../../../userspace/core/task.h"
#include "../ordered/deadline.h"
#include "../ordered/stopped.h"
#include "kind.h"

static void while_changing(void **state)
{
	(void)state;
	late_while_changing(&art_kind);
}

static void while_combining(void **state)
{
	(void)state;
	late_while_combining(&art_kind);
}

static void while_breaking(void **state)
{
	(void)state;
	late_while_breaking(&art_kind);
}

static void beside_one_that_stands_still(void **state)
{
	(void)state;
	stopped_everywhere(&art_kind, 8, 60, false);
}

/* A delete that has happened takes its leaf out of the tree; else the next one does. */
static void leaf_is_gone(struct rig *rig, struct far_task *task, struct far_art *art,
			 uint64_t late_ns)
{
	uint64_t blocks = rig_check(rig, task, NULL);
	int err;

	assert_int_equal(far_art_insert(task, art, "ab", 2, "value", 5), 0);
	far_deadline_at(task, far_now(task) + late_ns);
	err = far_art_delete(task, art, "ab", 2);
	far_deadline_at(task, 0);
	if (err == -ETIME)
		err = far_art_delete(task, art, "ab", 2);
	assert_int_equal(err, 0);
	assert_int_equal(rig_check(rig, task, NULL), blocks);
}

static void deletes_leave_no_leaf(void **state)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1 };
	struct far_task *task;
	struct far_art *art;
	struct rig rig;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_art_create(task, "t", &art), 0);
	assert_int_equal(far_art_insert(task, art, "aa", 2, "value", 5), 0);
	assert_int_equal(far_art_insert(task, art, "ac", 2, "value", 5), 0);
	for (uint64_t ns = 500; ns < 20000; ns += 500)
		leaf_is_gone(&rig, task, art, ns);
	far_art_close(art);
	far_leave(task);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_changing),
		cmocka_unit_test(while_combining),
		cmocka_unit_test(while_breaking),
		cmocka_unit_test(deletes_leave_no_leaf),
		cmocka_unit_test(beside_one_that_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
