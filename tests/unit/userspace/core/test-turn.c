/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns at a hot key, between compute nodes in virtual time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/turn.h"
#include "../../../../userspace/nic/sim/sim.h"

#define CNS		4u
#define TIMES		200u
#define KEY		UINT64_C(4096)	/* a counter */
#define WORDS		UINT64_C(8192)
#define NS_MAX		UINT64_C(1000000000)

struct node {
	struct far *far;
	struct far_thread *thread;
	struct far_turns *turns;
	int takes_turns;
	unsigned done, lost;
	uint64_t ended;
	int err;
};

static struct far_sim *sim;
static struct node node[CNS];

struct adding {
	struct far_task *task;
	uint64_t *word;		/* the counter, and what its CAS found */
};

static void look(void *arg)
{
	struct adding *adding = arg;

	far_read(adding->task, KEY, adding->word, 8);
}

/* One addition; whether it is done. */
static int add(struct far_task *task, struct node *mine, struct far_turn *turn)
{
	uint64_t *word = far_buf(task, 16);
	struct adding adding = { task, word };

	if (mine->takes_turns || far_turns_hot(mine->turns, 7)) {
		mine->err = far_turn_take(task, turn, look, &adding);
	} else {
		look(&adding);
		mine->err = far_sync(task);
	}
	if (mine->err)
		return 0;
	far_cas(task, KEY, word[0], word[0] + 1, word + 1);
	far_turn_pass(task, turn);
	mine->err = far_sync(task);
	if (!mine->err && word[1] != word[0]) {
		mine->lost++;
		far_turns_lost(mine->turns, 7);
	}
	return !mine->err && word[1] == word[0];
}

static void adder(struct far_task *task, void *arg)
{
	struct node *mine = arg;

	while (!mine->err && mine->done < TIMES) {
		size_t mark = far_buf_mark(task);
		struct far_turn turn = {
			.addr = WORDS,
			.seen = far_buf(task, sizeof(*turn.seen)),
		};

		mine->done += add(task, mine, &turn);
		far_turns_done(mine->turns, 7, &turn);
		far_buf_release(task, mark);
	}
	mine->ended = far_now(task);
}

static int setup(void **state)
{
	struct far_sim_attr attr = {
		.profile = "cx6-200",
		.cns = CNS,
		.mns = 1,
		.seed = 3,
		.max_space = 65536,
	};
	struct far_conf conf = { .space = "s" };
	struct far_host_map map;
	struct far_nic *nic;
	char why[128];
	unsigned i;

	assert_int_equal(far_sim_new(&attr, why, sizeof(why), &sim), 0);
	nic = far_sim_nic(sim, 0);
	assert_int_equal(nic->ops->host->create(nic, "", "s", 65536, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	nic->ops->host->unmap(nic, &map);
	for (i = 0; i < CNS; i++) {
		node[i] = (struct node) { 0 };
		assert_int_equal(far_turns_new(16, &node[i].turns), 0);
		assert_int_equal(far_open_bare(far_sim_nic(sim, i), &conf, why,
					       sizeof(why), &node[i].far), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	unsigned i;

	for (i = 0; i < CNS; i++) {
		far_close(node[i].far);
		far_turns_free(node[i].turns);
	}
	far_sim_free(sim);
	return 0;
}

static uint64_t counter(void)
{
	uint64_t size;

	return *(uint64_t *)((uint8_t *)far_sim_memory(sim, 0, &size) + KEY);
}

static void run_all(void)
{
	unsigned i;

	for (i = 0; i < CNS; i++)
		assert_int_equal(far_thread_start(node[i].far, 1, adder, &node[i],
						  &node[i].thread), 0);
	assert_int_equal(far_sim_run(sim, NS_MAX), 0);
	for (i = 0; i < CNS; i++)
		far_thread_join(node[i].thread);
}

/* All of them in turn: none loses a CAS, and they end together. */
static void test_turns(void **state)
{
	uint64_t first = UINT64_MAX, last = 0;
	unsigned i;

	for (i = 0; i < CNS; i++)
		node[i].takes_turns = 1;
	run_all();
	assert_int_equal(counter(), CNS * TIMES);
	for (i = 0; i < CNS; i++) {
		assert_int_equal(node[i].err, 0);
		assert_int_equal(node[i].lost, 0);
		first = node[i].ended < first ? node[i].ended : first;
		last = node[i].ended > last ? node[i].ended : last;
	}
	assert_true(last - first < last / 10);
}

/* A key becomes hot by what is lost there: after that hardly anything is. */
static void test_hot(void **state)
{
	unsigned lost = 0;
	unsigned i;

	run_all();
	assert_int_equal(counter(), CNS * TIMES);
	for (i = 0; i < CNS; i++)
		lost += node[i].lost;
	assert_in_range(lost, 1, CNS * TIMES / 20);
}

/* Alone, it cools down. */
static void test_cools(void **state)
{
	far_turns_lost(node[0].turns, 7);
	assert_false(far_turns_hot(node[0].turns, 7));
	far_turns_lost(node[0].turns, 7);
	assert_true(far_turns_hot(node[0].turns, 7));
	assert_false(far_turns_hot(node[0].turns, 8));
	assert_false(far_turns_hot(NULL, 7));
	assert_int_equal(far_thread_start(node[0].far, 1, adder, &node[0],
					  &node[0].thread), 0);
	assert_int_equal(far_sim_run(sim, NS_MAX), 0);
	far_thread_join(node[0].thread);
	assert_false(far_turns_hot(node[0].turns, 7));
	assert_int_equal(node[0].lost, 0);
}

/* One dies in its turn: the others pass it over, once. */
static void test_dies(void **state)
{
	unsigned i;

	for (i = 0; i < CNS; i++)
		node[i].takes_turns = 1;
	far_sim_kill_cn_at(sim, 1, 50);
	for (i = 0; i < CNS; i++)
		assert_int_equal(far_thread_start(node[i].far, 1, adder, &node[i],
						  &node[i].thread), 0);
	far_sim_run(sim, NS_MAX);
	assert_true(far_sim_cn_dead(sim, 1));
	for (i = 0; i < CNS; i++) {
		far_thread_join(node[i].thread);
		if (i == 1)
			continue;
		assert_int_equal(node[i].done, TIMES);
		assert_in_range(node[i].ended, FAR_TURN_LEASE_NS,
				10 * FAR_TURN_LEASE_NS);
	}
}

/* Words that nobody has written so: whoever has waited long enough goes on. */
static void test_damaged(void **state)
{
	uint64_t size;
	struct far_turn_words *words =
		(void *)((uint8_t *)far_sim_memory(sim, 0, &size) + WORDS);

	words->next = UINT64_C(1) << 40;
	node[0].takes_turns = 1;
	node[0].done = TIMES - 2;
	assert_int_equal(far_thread_start(node[0].far, 1, adder, &node[0],
					  &node[0].thread), 0);
	assert_int_equal(far_sim_run(sim, NS_MAX), 0);
	far_thread_join(node[0].thread);
	assert_int_equal(node[0].done, TIMES);
	assert_in_range(node[0].ended, 2 * FAR_TURN_WAIT_NS, 3 * FAR_TURN_WAIT_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cools, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
