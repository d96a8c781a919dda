// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Clients over mem: joining, allocation, epochs, the directory, leaving; and that a
 * check finds each block in its place.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bag.h"
#include "setting.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/owner.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

static void join_and_leave(void **state)
{
	struct setting *set = *state;
	struct far *a = setting_open(set), *b = setting_open(set);
	struct far_task *task;

	assert_int_equal(far_enter(a, &task), 0);
	assert_int_equal(far_owner_number(far_owner_self(task)), 1);
	assert_int_equal(far_owner_incarnation(far_owner_self(task)), 1);
	far_leave(task);
	assert_int_equal(far_enter(b, &task), 0);
	assert_int_equal(far_owner_number(far_owner_self(task)), 2);
	far_leave(task);
	far_close(a);
	far_close(b);
	setting_check(set);
}

static void put_and_get(void **state)
{
	struct setting *set = *state;
	struct far *far = setting_open(set);
	struct far_task *task;
	struct bag bag;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_create(task, "b", 64, &bag), 0);
	assert_int_equal(bag_create(task, "b", 64, &bag), -EEXIST);
	for (unsigned i = 0; i < 2000; i++) {
		assert_int_equal(bag_put(task, &bag, i % 64, 64 + i % 7 * 100, i), 0);
		assert_int_equal(bag_get(task, &bag, i % 64, 0), 0);
	}
	far_leave(task);
	far_close(far);
	setting_check(set);
}

/* Blocks of every kind: of each class, runs, and spans of chunks. */
static void all_sizes(void **state)
{
	static const uint64_t size[] = { 1, 17, 24, 40, 64, 65, 200, 1024, 1025, 4000, 16320,
					 32768, 32769, 65536, 65537, 300000, 1 << 20, (1 << 20) + 1,
					 (1 << 20) + 65536 + 24, 3000000 };
	struct setting *set = *state;
	struct far *far = setting_open(set);
	struct far_task *task;
	struct bag bag;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_create(task, "b", 4, &bag), 0);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
			assert_int_equal(bag_put(task, &bag, round, size[i], i), 0);
			assert_int_equal(bag_get(task, &bag, round, 0), 0);
		}
		assert_int_equal(bag_put(task, &bag, round, 0, 0), 0);
	}
	assert_int_equal(bag_put(task, &bag, 0, 3000000, 1), 0);
	far_leave(task);
	far_close(far);
	setting_check(set);
}

static unsigned fill(struct far_task *task, const struct bag *bag, uint64_t size)
{
	unsigned n = 0;
	int err;

	do
		err = bag_put(task, bag, n, size, n);
	while (!err && ++n < bag->nr_slots);
	assert_int_equal(err, -ENOSPC);
	return n;
}

/* A full space says so, loses nothing, and can be filled again as far. */
static void exhaustion(void **state)
{
	static const uint64_t size[] = { 1000, 20000, 200000, 1200000 };
	/* 14 chunks of 32 pages, less the root's 8; and what magazines keep of pages */
	static const unsigned least[] = { 14080, 440, 51, 5 };
	static const unsigned most[] = { 14080, 440, 55, 6 };
	struct setting *set = *state;
	struct far *far = setting_open(set);
	struct far_task *task;
	struct bag bag;

	assert_int_equal(far_enter(far, &task), 0);
	for (unsigned i = 0; i < 4; i++) {
		unsigned nr, again;

		assert_int_equal(bag_create(task, "b", 30000, &bag), 0);
		nr = fill(task, &bag, size[i]);
		assert_in_range(nr, least[i], most[i]);
		for (unsigned n = 0; n < nr; n++)
			assert_int_equal(bag_put(task, &bag, n, 0, 0), 0);
		assert_int_equal(far_reclaim(task), 0);
		again = fill(task, &bag, size[i]);
		assert_int_equal(again, nr);
		assert_int_equal(bag_destroy(task, "b"), 0);
		assert_int_equal(far_reclaim(task), 0);
	}
	far_leave(task);
	far_close(far);
	setting_check(set);
}

/* The space has as many clients as it was made for; one more is told how many these are. */
static void all_numbers(void **state)
{
	static const char *const nodes[] = { "0", "1" };
	const struct setting *set = *state;
	const struct far_conf conf = {
		.nic = set->spec, .space = "s", .nodes = nodes, .nr_nodes = set->nr_nodes,
	};
	struct far *far[SETTING_CLIENTS], *more;
	char why[200];

	for (unsigned i = 0; i < SETTING_CLIENTS; i++)
		far[i] = setting_open(set);
	assert_int_equal(far_open(&conf, why, sizeof(why), &more), -EUSERS);
	assert_non_null(strstr(why, "no client number is free; there are: 16"));
	far_close(far[7]);
	assert_int_equal(far_open(&conf, why, sizeof(why), &far[7]), 0);
	for (unsigned i = 0; i < SETTING_CLIENTS; i++)
		far_close(far[i]);
	setting_check(set);
}

/* A client that finds the space full is told who has its chunks: 7 of 1 MiB on a node. */
static void who_fills(void **state)
{
	struct setting *set = *state;
	struct far *a = setting_open(set), *b = setting_open(set);
	struct far_task *ta, *tb;
	uint64_t addr[7], one;

	assert_int_equal(far_enter(a, &ta), 0);
	assert_int_equal(far_enter(b, &tb), 0);
	assert_int_equal(far_block_alloc(tb, 0, 100, &one), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(far_block_alloc(ta, 0, 2 << 20, &addr[i]), 0);
	assert_int_equal(far_block_alloc(tb, 0, 3 << 20, &addr[2]), -ENOSPC);
	assert_string_equal(far_strerror_last(tb),
			    "node 0 has no room for 3145728 bytes: of its 7 chunks of 1024 KiB "
			    "this client has 1, others have 4 (client 1 has 4), nobody has 0, "
			    "and 2 are free, and not 3 in a row");
	assert_int_equal(far_block_alloc(ta, 0, 2 << 20, &addr[2]), 0);
	assert_int_equal(far_block_alloc(ta, 0, 1 << 20, &addr[3]), -ENOSPC);
	assert_string_equal(far_strerror_last(ta),
			    "node 0 has no room for 1048576 bytes: of its 7 chunks of 1024 KiB "
			    "this client has 6, others have 1 (client 2 has 1), nobody has 0, "
			    "and 0 are free");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(far_block_free(ta, addr[i], 2 << 20), 0);
	assert_int_equal(far_block_free(tb, one, 100), 0);
	far_leave(tb);
	far_leave(ta);
	far_close(a);
	far_close(b);
	setting_check(set);
}

/*
 * A client fills the space and stays, without a thread. Another one empties it: all of
 * that is there for the next one who fills it, also what is larger than a chunk.
 */
static void no_thread(void **state)
{
	static const uint64_t size[] = { 1000, 20000, 1200000 };
	struct setting *set = *state;
	struct far *a = setting_open(set), *b = setting_open(set);
	struct far_task *task;
	struct bag bag;

	for (unsigned i = 0; i < 3; i++) {
		unsigned nr, again = 0, tries;

		assert_int_equal(far_enter(a, &task), 0);
		assert_int_equal(bag_create(task, "b", 30000, &bag), 0);
		nr = fill(task, &bag, size[i]);
		far_leave(task);
		assert_int_equal(far_enter(b, &task), 0);
		for (unsigned n = 0; n < nr; n++)
			assert_int_equal(bag_put(task, &bag, n, 0, 0), 0);
		/* until the first one's service has seen that it has no thread */
		for (tries = 0; tries < 100 && again < nr / 10 * 9; tries++) {
			assert_int_equal(far_reclaim(task), 0);
			for (unsigned n = 0; n < again; n++)
				assert_int_equal(bag_put(task, &bag, n, 0, 0), 0);
			again = fill(task, &bag, size[i]);
		}
		assert_true(again >= nr / 10 * 9);
		assert_int_equal(bag_destroy(task, "b"), 0);
		assert_int_equal(far_reclaim(task), 0);
		far_leave(task);
	}
	far_close(a);
	far_close(b);
	setting_check(set);
}

/* Two clients that free each other's blocks. */
static void foreign_blocks(void **state)
{
	struct setting *set = *state;
	struct far *a = setting_open(set), *b = setting_open(set);
	struct far_task *ta, *tb;
	struct bag bag, same;

	assert_int_equal(far_enter(a, &ta), 0);
	assert_int_equal(far_enter(b, &tb), 0);
	assert_int_equal(bag_create(ta, "b", 64, &bag), 0);
	assert_int_equal(bag_open(tb, "b", &same), 0);
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t size = i % 64 ? 100 + i % 64 : 100000;

		assert_int_equal(bag_put(ta, &bag, i % 64, size, i), 0);
		assert_int_equal(bag_put(tb, &same, i % 64, size, i), 0);
	}
	far_leave(tb);
	far_leave(ta);
	far_close(a);
	setting_check(set);
	far_close(b);
	setting_check(set);
}

/* What a client leaves, another one uses. */
static void left_chunks(void **state)
{
	struct setting *set = *state;

	for (unsigned i = 0; i < 20; i++) {
		struct far *far = setting_open(set);
		struct far_task *task;
		struct bag bag;

		assert_int_equal(far_enter(far, &task), 0);
		if (!i)
			assert_int_equal(bag_create(task, "b", 64, &bag), 0);
		assert_int_equal(bag_open(task, "b", &bag), 0);
		for (unsigned k = 0; k < 64; k++)
			assert_int_equal(bag_put(task, &bag, k, 64 * (1 + k), k), 0);
		far_leave(task);
		far_close(far);
		setting_check(set);
	}
}

static void directory(void **state)
{
	struct setting *set = *state;
	struct far *far = setting_open(set);
	struct far_dir_entry entry = { .type = FAR_TYPE_TEST, .version = 1 }, got;
	struct far_dir_view dir;
	struct far_task *task;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_dir_add(task, &entry), -EINVAL);
	memset(entry.name, 'x', sizeof(entry.name));
	assert_int_equal(far_dir_add(task, &entry), -EINVAL);
	for (unsigned i = 0; i < FAR_NR_NAMES; i++) {
		snprintf(entry.name, sizeof(entry.name), "name of 31 bytes: its number %2u",
			 i % 100);
		entry.root = i;
		assert_int_equal(strlen(entry.name), 31);
		assert_int_equal(far_dir_add(task, &entry), 0);
		assert_int_equal(far_dir_add(task, &entry), -EEXIST);
	}
	assert_int_equal(far_dir_read(task, &dir), 0);
	assert_int_equal(dir.nr, FAR_NR_NAMES);
	assert_int_equal(dir.nr_blocks, 0);
	assert_int_equal(dir.torn, 0);
	assert_int_equal(far_dir_find(task, entry.name, &got), 0);
	assert_int_equal(got.root, FAR_NR_NAMES - 1);
	assert_int_equal(far_dir_open(task, entry.name, FAR_TYPE_HASH, 1, &got),
			 -EMEDIUMTYPE);
	assert_int_equal(far_dir_open(task, entry.name, FAR_TYPE_TEST, 2, &got),
			 -EPROTONOSUPPORT);
	snprintf(entry.name, sizeof(entry.name), "one more");
	assert_int_equal(far_dir_find(task, entry.name, &got), -ENOENT);
	for (unsigned i = 0; i < dir.nr; i++)
		assert_int_equal(far_dir_remove(task, &dir.entry[i]), 0);
	far_dir_free(&dir);
	/* What was found is removed once, and never what has got its name since. */
	assert_int_equal(far_dir_add(task, &entry), 0);
	assert_int_equal(far_dir_find(task, entry.name, &got), 0);
	assert_int_equal(far_dir_remove(task, &got), 0);
	assert_int_equal(far_dir_remove(task, &got), -ENOENT);
	assert_int_equal(far_dir_add(task, &entry), 0);
	assert_int_equal(far_dir_remove(task, &got), -EAGAIN);
	assert_int_equal(far_dir_find(task, entry.name, &got), 0);
	assert_int_equal(far_dir_remove(task, &got), 0);
	far_leave(task);
	far_close(far);
	setting_check(set);
}

static void wrong_arguments(void **state)
{
	struct setting *set = *state;
	struct far *far = setting_open(set);
	struct far_task *task;
	uint64_t addr;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_epoch_enter(task), 0);
	assert_int_equal(far_block_alloc(task, 0, 0, &addr), -EINVAL);
	assert_int_equal(far_block_alloc(task, 2, 64, &addr), -EINVAL);
	assert_int_equal(far_block_alloc(task, 0, UINT64_C(1) << 40, &addr), -ENOSPC);
	assert_int_equal(far_block_alloc(task, 1, 64, &addr), 0);
	assert_int_equal(far_addr_node(addr), 1);
	assert_int_equal(far_block_free(task, far_addr(1, 0), 64), -EINVAL);
	assert_int_equal(far_block_free(task, addr, 0), -EINVAL);
	assert_int_equal(far_block_free(task, addr, 64), 0);
	assert_int_equal(far_owner_dead(task, far_owner(17, 1)), -EBADMSG);
	assert_int_equal(far_owner_dead(task, far_owner_self(task)), 0);
	assert_int_equal(far_owner_dead(task, far_owner(5, 1)), 0);
	far_epoch_exit(task);
	far_leave(task);
	far_close(far);
	setting_check(set);
}

#define THREADS	3u
#define TASKS	4u
#define PUTS	1500u

struct crowd {
	struct bag bag;
	_Atomic int error;	/* the last */
};

static void crowd_run(struct far_task *task, void *arg)
{
	struct crowd *crowd = arg;
	unsigned me = far_task_thread(task) * TASKS + far_task_index(task);

	for (unsigned i = 0; i < PUTS; i++) {
		unsigned slot = (i * 7 + me) % 16;
		uint64_t id = (uint64_t)(me + 1) << 32 | i;

		int err = bag_put(task, &crowd->bag, slot, 64 + i % 5 * 64, id);

		if (!err)
			err = bag_get(task, &crowd->bag, (slot + 3) % 16,
				      i % 8 ? 0 : 20000);
		if (err)
			crowd->error = err;
	}
}

/* Threads and tasks on few slots: no block is used again under a reader. */
static void crowd(void **state)
{
	struct setting *set = *state;
	struct far *far[2] = { setting_open(set), setting_open(set) };
	struct far_thread *thread[2 * THREADS];
	struct crowd crowd = { .error = 0 };
	struct far_task *task;

	assert_int_equal(far_enter(far[0], &task), 0);
	assert_int_equal(bag_create(task, "b", 16, &crowd.bag), 0);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(bag_put(task, &crowd.bag, i, 64, i), 0);
	far_leave(task);
	for (unsigned i = 0; i < 2 * THREADS; i++)
		assert_int_equal(far_thread_start(far[i % 2], TASKS, crowd_run, &crowd,
						  &thread[i]), 0);
	for (unsigned i = 0; i < 2 * THREADS; i++)
		far_thread_join(thread[i]);
	assert_int_equal(crowd.error, 0);
	far_close(far[0]);
	far_close(far[1]);
	setting_check(set);
}

/* ---- a memory node that is gone, or has cut this client off ---- */

static const struct far_nic_ops *behind;
static struct far_nic_ops front;
static int connect_error;
static atomic_uint running;

static int front_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	return connect_error ? connect_error : behind->connect(qset, idx, peer);
}

static int front_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
		       struct far_nic_thread **ret_thread)
{
	atomic_fetch_add(&running, 1);
	return behind->thread_start(nic, run, arg, ret_thread);
}

static void front_join(struct far_nic *nic, struct far_nic_thread *thread)
{
	behind->thread_join(nic, thread);
	atomic_fetch_sub(&running, 1);
}

/* A caller that closes then has ended all threads of the client, and can say nothing. */
static void close_unreachable(void **state)
{
	static const int errors[] = { -EHOSTDOWN, -ESTALE };
	struct setting *set = *state;
	struct far_task *task;
	struct far_nic *nic;
	struct far *far;
	unsigned i;

	for (i = 0; i < 2; i++) {
		far = setting_open(set);
		nic = far->nic;
		behind = nic->ops;
		front = *behind;
		front.connect = front_connect;
		front.thread_start = front_start;
		front.thread_join = front_join;
		nic->ops = &front;
		connect_error = 0;
		assert_int_equal(far_enter(far, &task), 0);
		assert_int_equal(atomic_load(&running), 1);
		far_leave(task);
		connect_error = errors[i];
		far_close(far);
		assert_int_equal(atomic_load(&running), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SETTING_TEST(join_and_leave),
		SETTING_TEST(put_and_get),
		SETTING_TEST(all_sizes),
		SETTING_TEST(exhaustion),
		SETTING_TEST(who_fills),
		SETTING_TEST(all_numbers),
		SETTING_TEST(no_thread),
		SETTING_TEST(foreign_blocks),
		SETTING_TEST(left_chunks),
		SETTING_TEST(directory),
		SETTING_TEST(wrong_arguments),
		SETTING_TEST(crowd),
		SETTING_TEST(close_unreachable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
