// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registered memory: alignment, marks, growth, keys, and that what is released is used
 * again, or given back when it is much.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

struct bufs {
	struct rig rig;
	struct far_bufs bufs;
	struct far_arena arena[3];
};

static void bufs_open(struct bufs *b)
{
	unsigned i;

	rig_open(&b->rig);
	assert_int_equal(far_bufs_init(&b->bufs, b->rig.nic, 3, 32), 0);
	for (i = 0; i < 3; i++)
		far_arena_init(&b->arena[i], &b->bufs, i);
}

static void bufs_close(struct bufs *b)
{
	far_bufs_fini(&b->bufs);
	rig_close(&b->rig);
}

static char *get(struct bufs *b, unsigned task, size_t len)
{
	char *addr = far_arena_get(&b->arena[task], &b->bufs, len);

	assert_non_null(addr);
	assert_int_equal((uintptr_t)addr % 64, 0);
	memset(addr, 'a' + task, len);
	return addr;
}

static int lkey(struct bufs *b, unsigned task, const void *addr, size_t len)
{
	uint32_t key;

	return far_bufs_lkey(&b->bufs, &b->arena[task], addr, len, &key);
}

/* What a task gets overlaps with nothing of others, nor of its own. */
static void test_stack(void **state)
{
	static const size_t lens[] = { 1, 64, 65, 4000, 16000, 100, 70000, 8, 1 << 20, 1 };
	struct bufs b;
	char *addr[3][10];
	size_t mark[3];
	unsigned i, task, j;

	bufs_open(&b);
	for (task = 0; task < 3; task++)
		mark[task] = far_arena_mark(&b.arena[task]);
	for (i = 0; i < 10; i++)
		for (task = 0; task < 3; task++)
			addr[task][i] = get(&b, task, lens[i]);
	for (i = 0; i < 10; i++) {
		for (task = 0; task < 3; task++) {
			for (j = 0; j < lens[i]; j++)
				assert_int_equal(addr[task][i][j], 'a' + task);
			assert_int_equal(lkey(&b, 0, addr[task][i], lens[i]), 0);
		}
	}
	for (task = 0; task < 3; task++) {
		far_arena_release(&b.arena[task], &b.bufs, mark[task]);
		assert_int_equal(far_arena_mark(&b.arena[task]), mark[task]);
		assert_ptr_equal(get(&b, task, 1), addr[task][0]);
	}
	bufs_close(&b);
}

static void test_marks(void **state)
{
	struct bufs b;
	char *first, *second;
	size_t outer, inner;

	bufs_open(&b);
	get(&b, 0, 100);
	outer = far_arena_mark(&b.arena[0]);
	first = get(&b, 0, 200000);
	inner = far_arena_mark(&b.arena[0]);
	second = get(&b, 0, 500000);
	far_arena_release(&b.arena[0], &b.bufs, inner);
	assert_ptr_equal(get(&b, 0, 500000), second);
	far_arena_release(&b.arena[0], &b.bufs, outer);
	assert_ptr_equal(get(&b, 1, 200000), first);
	bufs_close(&b);
}

/* What a thread keeps is bounded. */
static void test_keep(void **state)
{
	struct far_segment *segment;
	struct bufs b;
	size_t mark, sum = 0;
	unsigned i;

	bufs_open(&b);
	mark = far_arena_mark(&b.arena[0]);
	for (i = 0; i < 40; i++)
		get(&b, 0, 1 << 20);
	far_arena_release(&b.arena[0], &b.bufs, mark);
	for (segment = b.bufs.first.next; segment; segment = segment->next)
		sum += segment->size;
	assert_int_equal(sum, b.bufs.kept);
	assert_in_range(sum, 1 << 20, FAR_BUF_KEEP);
	bufs_close(&b);
}

static void test_keys(void **state)
{
	struct bufs b;
	char *big, local[64];

	bufs_open(&b);
	big = get(&b, 2, 100000);
	assert_int_equal(lkey(&b, 0, local, 64), -EFAULT);
	assert_int_equal(lkey(&b, 0, big, 100000), 0);
	assert_int_equal(lkey(&b, 0, b.bufs.first.base, b.bufs.first.size), 0);
	assert_int_equal(lkey(&b, 0, b.bufs.first.base, b.bufs.first.size + 1), -EFAULT);
	assert_int_equal(lkey(&b, 0, b.bufs.first.base - 1, 2), -EFAULT);
	assert_int_equal(lkey(&b, 0, far_bufs_extra(&b.bufs, 3), 32), 0);
	assert_int_equal(lkey(&b, 0, far_bufs_extra(&b.bufs, 3), 33), -EFAULT);
	assert_null(far_arena_get(&b.arena[0], &b.bufs, SIZE_MAX));
	assert_null(far_arena_get(&b.arena[0], &b.bufs, SIZE_MAX - 63));
	bufs_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
