// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of a program's own: blocks are whose name they have, survive who has made them,
 * come back when they are freed, and not while somebody holds them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <far/memory.h>

#include "../hash/rig.h"

#define NR_THREADS	4u
#define HOLD_SIZE	(UINT64_C(16) << 20)	/* of each part */
#define NR_EACH		400u	/* blocks of a thread: more than three tables in all */
#define MANY		(NR_THREADS * NR_EACH)

static uint64_t word_read(struct far_task *task, uint64_t addr)
{
	size_t mark = far_buf_mark(task);
	uint64_t *buf = far_buf(task, sizeof(*buf)), word;

	assert_non_null(buf);
	far_read(task, addr, buf, sizeof(*buf));
	assert_int_equal(far_sync(task), 0);
	word = *buf;
	far_buf_release(task, mark);
	return word;
}

static void word_write(struct far_task *task, uint64_t addr, uint64_t word)
{
	far_write(task, addr, &word, sizeof(word));
	assert_int_equal(far_sync(task), 0);
}

struct seen {
	unsigned nr;
	uint64_t bytes, sum;
};

static int each_add(void *arg, uint64_t addr, uint64_t size)
{
	struct seen *seen = arg;

	seen->nr++;
	seen->bytes += size;
	seen->sum += addr;
	return 0;
}

static struct seen see(struct far_task *task, struct far_memory *memory)
{
	struct seen seen = { 0 };

	assert_int_equal(far_memory_each(task, memory, each_add, &seen), 0);
	return seen;
}

static int each_stop(void *arg, uint64_t addr, uint64_t size)
{
	return ++*(int *)arg == 2 ? 42 : 0;
}

/* ---- one client ---- */

static void test_blocks(void **state)
{
	static const uint64_t size[] = { 1, 8, 100, 4096, 200000, 3 << 20 };
	uint64_t addr[6], sum = 0, bytes = 0;
	struct far_memory *memory;
	struct far_task *task;
	struct rig rig;
	int stops = 0;

	rig_open(&rig, *state);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_memory_create(task, "m", &memory), 0);
	assert_int_equal(far_memory_words(memory) % 64, 0);
	for (unsigned i = 0; i < FAR_MEMORY_WORDS; i++)
		assert_int_equal(word_read(task, far_memory_words(memory) + i * 8), 0);
	for (unsigned i = 0; i < 6; i++) {
		unsigned node = i % 3 == 2 ? FAR_MEMORY_ANY : i % 3;

		assert_int_equal(far_alloc(task, memory, node, size[i], &addr[i]), 0);
		assert_int_equal(addr[i] % 8, 0);
		if (node != FAR_MEMORY_ANY)
			assert_int_equal(far_addr_node(addr[i]), node);
		if (size[i] >= 8) {
			assert_int_equal(word_read(task, addr[i]), 0);
			assert_int_equal(word_read(task, addr[i] + size[i] / 8 * 8 - 8), 0);
			word_write(task, addr[i] + size[i] / 8 * 8 - 8, UINT64_MAX);
			word_write(task, addr[i], UINT64_MAX);
		}
		sum += addr[i];
		bytes += size[i];
	}
	assert_int_equal(see(task, memory).nr, 6);
	assert_int_equal(see(task, memory).bytes, bytes);
	assert_int_equal(see(task, memory).sum, sum);
	assert_int_equal(far_memory_each(task, memory, each_stop, &stops), 42);
	assert_int_equal(stops, 2);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, 0), 0);

	task = rig_enter(&rig, 0);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(far_free(task, memory, addr[i]), 0);
		assert_int_equal(far_free(task, memory, addr[i]), -ENOENT);
	}
	assert_int_equal(see(task, memory).nr, 0);
	/* what was freed and comes back is all 0 again */
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(far_alloc(task, memory, 0, 8, &addr[0]), 0);
		assert_int_equal(word_read(task, addr[0]), 0);
		word_write(task, addr[0], UINT64_MAX);
		assert_int_equal(far_free(task, memory, addr[0]), 0);
	}
	far_memory_close(memory);
	assert_int_equal(far_memory_destroy(task, "m"), 0);
	assert_int_equal(far_memory_open(task, "m", &memory), -ENOENT);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void test_errors(void **state)
{
	struct far_memory *memory, *other;
	struct far_hash *hash;
	struct far_task *task;
	uint64_t addr, theirs;
	struct rig rig;

	rig_open(&rig, *state);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_memory_open(task, "m", &memory), -ENOENT);
	assert_int_equal(far_memory_create(task, "m", &memory), 0);
	assert_int_equal(far_memory_create(task, "m", &other), -EEXIST);
	assert_int_equal(far_memory_create(task, "o", &other), 0);
	assert_int_equal(far_hash_open(task, "m", &hash), -EMEDIUMTYPE);
	assert_int_equal(far_alloc(task, memory, 0, 0, &addr), -EINVAL);
	assert_int_equal(far_alloc(task, memory, rig.conf.nodes, 8, &addr), -EINVAL);
	assert_int_equal(far_alloc(task, memory, 0, UINT64_MAX, &addr), -ENOSPC);
	assert_int_equal(far_alloc(task, memory, 0, 200 << 20, &addr), -ENOSPC);
	assert_int_equal(far_alloc(task, memory, 0, 8, &addr), 0);
	assert_int_equal(far_alloc(task, other, 0, 8, &theirs), 0);
	assert_int_equal(far_free(task, memory, theirs), -ENOENT);
	assert_int_equal(far_free(task, memory, addr + 8), -ENOENT);
	assert_int_equal(far_free(task, memory, addr + 1), -ENOENT);
	assert_int_equal(far_free(task, memory, FAR_NIL), -ENOENT);
	assert_int_equal(far_free(task, memory, far_memory_words(memory)), -ENOENT);
	assert_int_equal(far_free(task, memory, far_addr(200, 4096)), -EFAULT);
	assert_int_equal(far_free(task, memory, addr), 0);
	assert_int_equal(far_free(task, other, theirs), 0);
	far_memory_close(memory);
	far_memory_close(other);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

/* ---- several ---- */

static void test_lasts(void **state)
{
	struct rig_conf conf = *(struct rig_conf *)*state;
	struct far_memory *memory;
	struct far_task *task;
	unsigned other;
	uint64_t addr;
	struct rig rig;

	/* the software NIC has room for one client at a time */
	conf.clients = conf.soft ? 1 : 2;
	other = conf.clients - 1;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_memory_create(task, "m", &memory), 0);
	assert_int_equal(far_alloc(task, memory, FAR_MEMORY_ANY, 1000, &addr), 0);
	word_write(task, addr + 992, 77);
	word_write(task, far_memory_words(memory), addr);
	far_memory_close(memory);
	assert_int_equal(far_leave(task), 0);
	rig_leave(&rig, 0);
	if (!other)
		rig_join(&rig, 0);

	task = rig_enter(&rig, other);
	assert_int_equal(far_memory_open(task, "m", &memory), 0);
	assert_int_equal(word_read(task, far_memory_words(memory)), addr);
	assert_int_equal(word_read(task, addr + 992), 77);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, other), 0);
	task = rig_enter(&rig, other);
	assert_int_equal(far_free(task, memory, addr), 0);
	far_memory_close(memory);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, other), 0);
	rig_close(&rig);
}

struct crowd {
	struct rig rig;
	uint64_t addr[MANY];
	unsigned nr_clients;
};

struct member {
	struct crowd *crowd;
	unsigned index;
};

static void *member_run(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	uint64_t *addr = &crowd->addr[member->index * NR_EACH];
	struct far_task *task = rig_enter(&crowd->rig, member->index % crowd->nr_clients);
	struct far_memory *memory;

	assert_int_equal(far_memory_open(task, "m", &memory), 0);
	for (unsigned i = 0; i < NR_EACH; i++) {
		assert_int_equal(far_alloc(task, memory, FAR_MEMORY_ANY, 16, &addr[i]), 0);
		word_write(task, addr[i], addr[i]);
	}
	for (unsigned i = 0; i < NR_EACH; i++) {
		assert_int_equal(word_read(task, addr[i]), addr[i]);
		if (i % 4)
			assert_int_equal(far_free(task, memory, addr[i]), 0);
	}
	far_memory_close(memory);
	assert_int_equal(far_leave(task), 0);
	return NULL;
}

static void test_crowd(void **state)
{
	struct rig_conf conf = *(struct rig_conf *)*state;
	struct member member[NR_THREADS];
	pthread_t thread[NR_THREADS];
	struct far_memory *memory;
	struct far_task *task;
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	uint64_t sum = 0;

	assert_non_null(crowd);
	crowd->nr_clients = conf.clients = conf.soft ? 1 : 2;
	rig_open(&crowd->rig, &conf);
	task = rig_enter(&crowd->rig, 0);
	assert_int_equal(far_memory_create(task, "m", &memory), 0);
	for (unsigned i = 0; i < NR_THREADS; i++) {
		member[i] = (struct member){ crowd, i };
		assert_int_equal(pthread_create(&thread[i], NULL, member_run, &member[i]), 0);
	}
	for (unsigned i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	for (unsigned i = 0; i < MANY; i++)
		sum += i % NR_EACH % 4 ? 0 : crowd->addr[i];
	assert_int_equal(see(task, memory).nr, MANY / 4);
	assert_int_equal(see(task, memory).sum, sum);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&crowd->rig, 0), 0);
	far_memory_close(memory);
	task = rig_enter(&crowd->rig, 0);
	assert_int_equal(far_memory_destroy(task, "m"), 0);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&crowd->rig, 0), 0);
	rig_close(&crowd->rig);
	free(crowd);
}

/* ---- the grace period ---- */

/* Allocates until the block at addr comes, or nothing is left; and frees it all. */
static bool comes_back(struct far_task *task, struct far_memory *memory, uint64_t addr)
{
	uint64_t *got = calloc(HOLD_SIZE / 5000, sizeof(*got));
	bool back = false;
	unsigned nr = 0;
	int err = 0;

	assert_non_null(got);
	while (!err && !back) {
		assert_true(nr < HOLD_SIZE / 5000);
		err = far_alloc(task, memory, far_addr_node(addr), 5000, &got[nr]);
		back = !err && got[nr++] == addr;
	}
	assert_true(!err || err == -ENOSPC);
	while (nr)
		assert_int_equal(far_free(task, memory, got[--nr]), 0);
	free(got);
	return back;
}

/* The same, once the grace period of all that was freed is over. */
static void expect_back(struct far_task *task, struct far_memory *memory, uint64_t addr)
{
	unsigned tries = 500;

	while (!comes_back(task, memory, addr)) {
		assert_true(tries--);
		far_sleep(task, 10000000);
	}
}

static void test_hold(void **state)
{
	struct rig_conf conf = *(struct rig_conf *)*state;
	struct far_task *reader, *task;
	struct far_memory *memory;
	struct rig rig;
	uint64_t addr;

	conf.size = HOLD_SIZE;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	reader = rig_enter(&rig, 0);
	assert_int_equal(far_memory_create(task, "m", &memory), 0);
	assert_int_equal(far_alloc(task, memory, 0, 5000, &addr), 0);
	word_write(task, addr, 55);
	assert_int_equal(far_hold(reader), 0);
	assert_int_equal(far_hold(reader), 0);
	assert_int_equal(far_unhold(reader), 0);
	assert_int_equal(far_free(task, memory, addr), 0);
	assert_false(comes_back(task, memory, addr));
	assert_int_equal(word_read(reader, addr), 55);
	assert_int_equal(far_park(reader), -EBUSY);
	assert_int_equal(far_reopen(reader, NULL, 0), -EBUSY);
	assert_int_equal(far_unhold(reader), 0);
	assert_int_equal(far_unhold(reader), -EINVAL);
	expect_back(task, memory, addr);
	/* who leaves holds nothing */
	assert_int_equal(far_hold(reader), 0);
	assert_int_equal(far_leave(reader), 0);
	assert_int_equal(far_alloc(task, memory, 0, 5000, &addr), 0);
	assert_int_equal(far_free(task, memory, addr), 0);
	expect_back(task, memory, addr);
	far_memory_close(memory);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

int main(int argc, char **argv)
{
	struct rig_conf conf = { .soft = argc > 1 && !strcmp(argv[1], "soft") };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_blocks, &conf),
		cmocka_unit_test_prestate(test_errors, &conf),
		cmocka_unit_test_prestate(test_lasts, &conf),
		cmocka_unit_test_prestate(test_crowd, &conf),
		cmocka_unit_test_prestate(test_hold, &conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
