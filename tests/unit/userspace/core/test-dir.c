// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A directory of more names than its first part has room for: blocks are linked behind it,
 * whatever fails on the way, and a check finds each block in its place.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/space/format.h"
#include "../../../../userspace/space/summary.h"
#include "../../../lib/nic/fault.h"
#include "../hash/rig.h"

#define MS		UINT64_C(1000000)
#define SWEEP_NS	(500 * MS)	/* what is lost is found by then */
#define BLOCKS		3u
#define MANY		(FAR_NR_NAMES + BLOCKS * FAR_DIR_ENTRIES)
#define TIMES		4u		/* that each operation fails: some are executed */

static const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 2, .seed = 7 };

/* Names that no structure hangs from: nothing walks them. */
static struct far_dir_entry entry_of(unsigned i)
{
	struct far_dir_entry entry = { .type = FAR_TYPE_NONE, .version = 1, .root = i };

	snprintf(entry.name, sizeof(entry.name), "name %u", i);
	return entry;
}

static void add_all(struct far_task *task, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct far_dir_entry entry = entry_of(i);

		assert_int_equal(far_dir_add(task, &entry), 0);
	}
}

static void remove_all(struct far_task *task, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct far_dir_entry entry = entry_of(i), found;

		assert_int_equal(far_dir_find(task, entry.name, &found), 0);
		assert_int_equal(found.root, i);
		assert_int_equal(far_dir_remove(task, &found), 0);
	}
}

static unsigned blocks_of(struct far_task *task)
{
	struct far_dir_view dir;
	unsigned nr;

	assert_int_equal(far_dir_read(task, &dir), 0);
	assert_int_equal(dir.torn, 0);
	nr = dir.nr_blocks;
	far_dir_free(&dir);
	return nr;
}

/* The number of names that the memory node counts. */
static unsigned names_counted(struct rig *rig)
{
	struct far_summary sum;

	assert_int_equal(far_summary(rig->map[0].addr, rig->map[0].size, &sum), 0);
	return sum.names;
}

static void grows(void **state)
{
	struct far_dir_entry entry = entry_of(0), found;
	struct far_task *task;
	struct rig rig;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	add_all(task, 0, MANY);
	assert_int_equal(far_dir_add(task, &entry), -EEXIST);
	assert_int_equal(blocks_of(task), BLOCKS);
	assert_int_equal(names_counted(&rig), MANY);
	far_leave(task);
	/* another client finds all, and a name that is not there is not */
	task = rig_enter(&rig, 1);
	for (unsigned i = 0; i < MANY; i++) {
		entry = entry_of(i);
		assert_int_equal(far_dir_find(task, entry.name, &found), 0);
		assert_int_equal(found.root, i);
	}
	assert_int_equal(far_dir_find(task, "no name", &found), -ENOENT);
	/* places that became free serve others: no block is added */
	remove_all(task, 10, MANY - 10);
	add_all(task, 10, MANY - 10);
	assert_int_equal(blocks_of(task), BLOCKS);
	remove_all(task, 0, MANY);
	assert_int_equal(names_counted(&rig), 0);
	far_leave(task);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
}

/* Two clients add at once, so that both find the directory full and bring a block. */
struct adder {
	struct rig *rig;
	unsigned from, to;
};

static void adder_work(struct far_task *task, void *arg)
{
	const struct adder *adder = arg;

	add_all(task, adder->from, adder->to);
}

static void two_grow(void **state)
{
	struct far_thread *thread[2];
	struct far_task *task;
	struct rig rig;
	struct adder adder[2] = { { &rig, 0, MANY / 2 }, { &rig, MANY / 2, MANY } };

	(void)state;
	rig_open(&rig, &conf);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(far_thread_start(rig.far[i], 1, adder_work, &adder[i],
						  &thread[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		far_thread_join(thread[i]);
	task = rig_enter(&rig, 0);
	assert_int_equal(blocks_of(task), BLOCKS);
	remove_all(task, 0, MANY);
	far_leave(task);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
}

/* Operation `at` of the addition that links a block fails. Operations that there were. */
static uint64_t grow_once(uint64_t at, unsigned seed)
{
	struct rig_conf with = conf;
	struct far_dir_entry entry = entry_of(FAR_NR_NAMES), found;
	struct far_task *task;
	struct rig rig;
	uint64_t ops;
	int err;

	with.seed = seed;
	rig_open(&rig, &with);
	rig_leave(&rig, 0);
	assert_int_equal(far_fault_new(rig.nic[0], seed, 0, &rig.nic[0]), 0);
	rig_join(&rig, 0);
	task = rig_enter(&rig, 0);
	add_all(task, 0, FAR_NR_NAMES);
	ops = far_fault_count(rig.nic[0]);
	far_fault_fail_at(rig.nic[0], at, -EIO);
	err = far_dir_add(task, &entry);
	ops = far_fault_count(rig.nic[0]) - ops;
	far_fault_fail_at(rig.nic[0], 0, 0);
	assert_true(!err || far_dir_is_unsure(err));
	if (err) {
		err = far_dir_add(task, &entry);
		assert_true(!err || err == -EEXIST);
	}
	assert_int_equal(far_dir_find(task, entry.name, &found), 0);
	assert_int_equal(blocks_of(task), 1);
	remove_all(task, 0, FAR_NR_NAMES + 1);
	far_sleep(task, SWEEP_NS);
	far_leave(task);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
	return ops;
}

static void growth_fails(void **state)
{
	uint64_t ops = grow_once(0, 1);

	(void)state;
	for (uint64_t at = 1; at <= ops; at++) {
		for (unsigned seed = 1; seed <= TIMES; seed++)
			grow_once(at, seed);
	}
}

/* Takes all memory of the arbiter. */
static void hoard(struct far_task *task, uint64_t *block, unsigned *ret_nr)
{
	unsigned nr = 0;

	while (!far_block_alloc(task, 0, sizeof(struct far_dir_block), &block[nr]))
		nr++;
	assert_true(nr > 0);
	*ret_nr = nr;
}

static void no_room(void **state)
{
	struct far_dir_entry entry = entry_of(FAR_NR_NAMES), found;
	uint64_t *block = calloc(1 << 20, sizeof(*block));
	struct far_task *task;
	struct rig rig;
	unsigned nr;

	(void)state;
	assert_non_null(block);
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	add_all(task, 0, FAR_NR_NAMES);
	assert_int_equal(far_epoch_enter(task), 0);
	hoard(task, block, &nr);
	assert_int_equal(far_dir_add(task, &entry), -ENOSPC);
	assert_string_equal(far_strerror_last(task), "all names of the space are taken, and "
			    "memory node 0 has no room for more");
	assert_int_equal(far_dir_find(task, entry.name, &found), -ENOENT);
	while (nr)
		assert_int_equal(far_block_free(task, block[--nr],
						sizeof(struct far_dir_block)), 0);
	far_epoch_exit(task);
	assert_int_equal(far_dir_add(task, &entry), 0);
	remove_all(task, 0, FAR_NR_NAMES + 1);
	far_leave(task);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
	free(block);
}

/* A word of the chain that leads out of the chunks, or in a circle. */
static void chain_is_damaged(void **state)
{
	struct far_dir_entry entry, found;
	struct far_shared *shared;
	struct far_task *task;
	struct rig rig;
	uint64_t good;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	add_all(task, 0, FAR_NR_NAMES + 1);
	shared = (void *)((char *)rig.map[0].addr + FAR_SB_SHARED);
	good = shared->dir_more;
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t bad[] = { 8, far_addr(1, far_addr_off(good)), good + 8,
					 far_addr(0, (UINT64_C(1) << FAR_OFF_BITS) - 64) };

		shared->dir_more = bad[i];
		assert_int_equal(far_dir_find(task, "name 1", &found), -EBADMSG);
		entry = entry_of(MANY);
		assert_int_equal(far_dir_add(task, &entry), -EBADMSG);
		assert_int_equal(names_counted(&rig), FAR_NR_NAMES);
	}
	shared->dir_more = good;
	/* a block that leads to itself */
	memcpy((char *)rig.map[0].addr + far_addr_off(good), &good, sizeof(good));
	assert_int_equal(far_dir_find(task, "name 1", &found), -EBADMSG);
	assert_true(names_counted(&rig) > FAR_NR_NAMES);
	memset((char *)rig.map[0].addr + far_addr_off(good), 0, sizeof(good));
	remove_all(task, 0, FAR_NR_NAMES + 1);
	far_leave(task);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(two_grow),
		cmocka_unit_test(growth_fails),
		cmocka_unit_test(no_room),
		cmocka_unit_test(chain_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
