// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Clients over mem that are killed wherever they are: each is a process of its own. What
 * they leave behind is fenced, adopted and swept by those that live, and a check finds
 * each block in its place.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag.h"
#include "setting.h"

#include "../../../lib/child.h"
#include "../../../../userspace/base/parse.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/dir.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

#define SLOTS	32u
#define HOARD	UINT32_MAX
#define DEATHS	60u

/*
 * What the process does until it is killed: everything that moves memory. It says
 * through the pipe that it has begun, and returns only when something fails.
 */
static void victim_run(const struct setting *set, unsigned seed, int pipe)
{
	static const uint64_t size[] = { 64, 64, 100, 1000, 5000, 30000, 70000, 1100000 };
	struct bag bag, own;
	struct far_task *task;
	struct far *far;

	if (setting_try_open(set, &far) || far_enter(far, &task) ||
	    bag_open(task, "b", &bag) || write(pipe, "x", 1) != 1)
		return;
	for (unsigned i = seed;; i++) {
		uint64_t bytes = i % 50 ? size[i * 7 % 6] : size[i / 50 % 8];

		bag_put(task, &bag, i * 5 % SLOTS, i % 9 ? bytes : 0, i);
		if (i % 100 == 99 && !bag_create(task, "own", 10, &own))
			bag_put(task, &own, 0, 64, i);
		if (i % 100 == 0)
			bag_destroy(task, "own");
	}
}

/* Takes all memory that there is, in blocks that nobody will ever reach. */
static void hoarder_run(const struct setting *set, int pipe)
{
	static const uint64_t size[] = { 1100000, 100000, 1000, 64 };
	struct far_task *task;
	struct far *far;
	uint64_t addr;

	if (setting_try_open(set, &far) || far_enter(far, &task))
		return;
	for (unsigned i = 0; i < 4; i++) {
		while (!far_block_alloc(task, FAR_ANY_NODE, size[i], &addr))
			;
	}
	if (write(pipe, "x", 1) == 1)
		pause();
}

/* This program again, as "victim SPEC NODES SEED PIPE"; with the seed HOARD a hoarder. */
static int victim_main(char **arg)
{
	uint64_t nr_nodes, seed, pipe;
	struct setting set;

	if (far_parse_count(arg[1], 1, 4, &nr_nodes) ||
	    far_parse_count(arg[2], 0, UINT32_MAX, &seed) ||
	    far_parse_count(arg[3], 0, INT32_MAX, &pipe))
		return 1;
	snprintf(set.spec, sizeof(set.spec), "%s", arg[0]);
	set.nr_nodes = nr_nodes;
	if (seed == HOARD)
		hoarder_run(&set, pipe);
	else
		victim_run(&set, seed, pipe);
	return 1;
}

/*
 * A program of its own: a child that only forks may find locks taken by threads that
 * it does not have.
 */
static pid_t victim_start(const struct setting *set, unsigned seed)
{
	char nodes[16], number[16], descriptor[16];
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	snprintf(nodes, sizeof(nodes), "%u", set->nr_nodes);
	snprintf(number, sizeof(number), "%u", seed);
	snprintf(descriptor, sizeof(descriptor), "%d", pipes[1]);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", "death", "victim", set->spec, nodes, number,
		      descriptor, (char *)NULL);
		_exit(1);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	return pid;
}

static void victim_end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void prepare(const struct setting *set)
{
	struct far *far = setting_open(set);
	struct far_task *task;
	struct bag bag;

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_create(task, "b", SLOTS, &bag), 0);
	far_leave(task);
	far_close(far);
}

/* Nobody else lives: whoever comes next sweeps. */
static void alone(void **state)
{
	struct setting *set = *state;

	prepare(set);
	for (unsigned i = 0; i < 30; i++) {
		pid_t pid = victim_start(set, i * 1000 + 1);

		usleep(i * 137 % 7000);
		victim_end(pid);
		setting_check(set);
	}
}

/* Others go on, and have blocks of the dead in hand. */
static void among_others(void **state)
{
	struct setting *set = *state;
	struct far *far;
	struct far_task *task;
	struct bag bag;

	prepare(set);
	far = setting_open(set);
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_open(task, "b", &bag), 0);
	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = victim_start(set, i * 1000 + 1), other;

		other = victim_start(set, i * 777 + 3);
		for (unsigned k = 0; k < 300; k++) {
			int err = bag_put(task, &bag, k % SLOTS, 64 + k % 8 * 500, k);

			if (err && err != -ENOSPC)
				fail_msg("put: %d", err);
			if (k == i * 31 % 200)
				victim_end(pid);
			err = bag_get(task, &bag, (k + 5) % SLOTS, 0);
			if (err && err != -ENOENT)
				fail_msg("get: %d", err);
		}
		victim_end(other);
		setting_check(set);
	}
	far_leave(task);
	far_close(far);
	setting_check(set);
}

/* A lock of the directory whose owner died is taken over. */
static void number_is_used_again(void **state)
{
	struct setting *set = *state;
	struct far *far;

	prepare(set);
	for (unsigned i = 0; i < 40; i++)	/* there are 16 numbers */
		victim_end(victim_start(set, 1));
	far = setting_open(set);
	far_close(far);
	setting_check(set);
}

/*
 * Each of many clients takes all memory and dies. Who lives has it back at once, whatever it
 * asks for: it never waits for somebody who may be alive.
 */
static void deaths_leave_room(void **state)
{
	static const uint64_t size[] = { 64, 1000, 100000, 1100000 };
	struct setting *set = *state;
	struct far_task *task;
	struct far *far;
	struct bag bag;

	prepare(set);
	far = setting_open(set);
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_open(task, "b", &bag), 0);
	for (unsigned i = 0; i < DEATHS; i++) {
		victim_end(victim_start(set, HOARD));
		for (unsigned k = 0; k < 4; k++) {
			int err = bag_put(task, &bag, k, size[(i + k) % 4], i);

			if (err)
				fail_msg("death %u, %u bytes: %d", i,
					 (unsigned)size[(i + k) % 4], err);
		}
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(bag_put(task, &bag, k, 0, 0), 0);
	}
	far_leave(task);
	far_close(far);
	setting_check(set);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SETTING_TEST(alone),
		SETTING_TEST(among_others),
		SETTING_TEST(number_is_used_again),
		SETTING_TEST(deaths_leave_room),
	};

	if (argc == 6 && !strcmp(argv[1], "victim"))
		return victim_main(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
