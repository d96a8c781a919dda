// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fibers: order of switches, what they keep, nesting, reuse of stacks, fibers that are
 * freed asleep, and the guard page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../userspace/base/fiber.h"
#include "../../../lib/child.h"

#define STACK	16384u
#define NR	200u

/* One fiber, and whoever switches to it. */
struct walk {
	struct far_context outside;
	struct far_fiber *fiber;
	struct walk *inner;
	unsigned id, steps, done;
	unsigned *log, *nr_log;
};

static void walk_note(struct walk *w)
{
	w->log[(*w->nr_log)++] = w->id;
}

static void walk_pause(struct walk *w)
{
	far_context_switch(&w->fiber->context, &w->outside);
}

static void walk_resume(struct walk *w)
{
	far_context_switch(&w->outside, &w->fiber->context);
}

static struct far_context *walk_run(void *arg)
{
	struct walk *w = arg;
	double x = w->id + 0.5;

	for (w->done = 0; w->done < w->steps; w->done++) {
		walk_note(w);
		walk_pause(w);
		x *= 2;
	}
	assert_true(x == (w->id + 0.5) * (1 << w->steps));
	return &w->outside;
}

static void walk_start(struct walk *w, struct far_stacks *stacks,
		       struct far_context *(*run)(void *arg))
{
	assert_int_equal(far_fiber_new(stacks, run, w, &w->fiber), 0);
}

static void test_turns(void **state)
{
	struct far_stacks stacks;
	struct walk walk[NR];
	unsigned log[NR * 3], nr_log = 0, i, round;

	far_stacks_init(&stacks, STACK);
	for (i = 0; i < NR; i++) {
		walk[i] = (struct walk) { .id = i, .steps = 3, .log = log,
					  .nr_log = &nr_log };
		walk_start(&walk[i], &stacks, walk_run);
	}
	for (round = 0; round < 4; round++)
		for (i = 0; i < NR; i++)
			walk_resume(&walk[i]);
	assert_int_equal(nr_log, NR * 3);
	for (i = 0; i < NR * 3; i++)
		assert_int_equal(log[i], i % NR);
	for (i = 0; i < NR; i++)
		far_fiber_free(&stacks, walk[i].fiber);
	far_stacks_fini(&stacks);
}

/* Stacks of fibers that are gone are used again: no more than one is ever made. */
static void test_reuse(void **state)
{
	struct far_stacks stacks;
	unsigned log[1], nr_log, i;

	far_stacks_init(&stacks, STACK);
	for (i = 0; i < NR; i++) {
		struct walk walk = { .id = i, .steps = 1, .log = log,
				     .nr_log = &nr_log };

		nr_log = 0;
		walk_start(&walk, &stacks, walk_run);
		walk_resume(&walk);
		assert_int_equal(walk.done, 0);
		if (i % 2) {
			walk_resume(&walk);
			assert_int_equal(walk.done, 1);
		}
		far_fiber_free(&stacks, walk.fiber);
	}
	assert_int_equal(stacks.nr, 1);
	far_stacks_fini(&stacks);
}

/*
 * A fiber that runs another one. The inner one puts the outer one to sleep: a machine
 * whose thread is switched away from while one of its tasks runs.
 */
static struct far_context *nest_inner(void *arg)
{
	struct walk *inner = arg, *outer = inner->inner;

	walk_note(inner);
	walk_pause(outer);
	walk_note(inner);
	return &inner->outside;
}

static struct far_context *nest_outer(void *arg)
{
	struct walk *outer = arg;

	walk_note(outer);
	walk_resume(outer->inner);
	walk_note(outer);
	return &outer->outside;
}

static void test_nested(void **state)
{
	static const unsigned expected[] = { 1, 2, 9, 2, 1, 9 };
	struct far_stacks stacks;
	unsigned log[6], nr_log = 0, i;
	struct walk outer = { .id = 1, .log = log, .nr_log = &nr_log };
	struct walk inner = { .id = 2, .log = log, .nr_log = &nr_log };

	far_stacks_init(&stacks, STACK);
	outer.inner = &inner;
	inner.inner = &outer;
	walk_start(&outer, &stacks, nest_outer);
	walk_start(&inner, &stacks, nest_inner);
	for (i = 0; i < 2; i++) {
		walk_resume(&outer);
		log[nr_log++] = 9;
	}
	assert_int_equal(nr_log, 6);
	assert_memory_equal(log, expected, sizeof(expected));
	far_fiber_free(&stacks, inner.fiber);
	far_fiber_free(&stacks, outer.fiber);
	far_stacks_fini(&stacks);
}

/* The machine of a thread that sleeps in one of its tasks dies: each is freed once. */
static void test_nested_asleep(void **state)
{
	struct far_stacks stacks;
	unsigned log[2], nr_log = 0;
	struct walk outer = { .id = 1, .log = log, .nr_log = &nr_log };
	struct walk inner = { .id = 2, .log = log, .nr_log = &nr_log };

	far_stacks_init(&stacks, STACK);
	outer.inner = &inner;
	inner.inner = &outer;
	walk_start(&outer, &stacks, nest_outer);
	walk_start(&inner, &stacks, nest_inner);
	walk_resume(&outer);
	assert_int_equal(nr_log, 2);
	far_fiber_free(&stacks, outer.fiber);
	far_fiber_free(&stacks, inner.fiber);
	far_stacks_fini(&stacks);
}

/* Uses its stack down to below `end`. */
static unsigned sink(const volatile unsigned char *end, unsigned depth)
{
	volatile unsigned char here[256];

	here[0] = depth;
	return (here > end ? sink(end, depth + 1) : depth) + here[0];
}

struct overflow {
	struct far_context outside;
	struct far_fiber *fiber;
	size_t len;
	unsigned sum;
};

static struct far_context *overflow_run(void *arg)
{
	struct overflow *o = arg;
	volatile unsigned char top[1] = { 0 };

	o->sum = sink(top - o->len, 0);
	return &o->outside;
}

/*
 * Stacks that were mapped later lie below: without a guard page, they would be written
 * to, and nobody would know.
 */
static void overflow_child(void)
{
	struct rlimit none = { 0, 0 };
	struct far_stacks stacks;
	struct overflow o[3] = { 0 };
	unsigned i;

	setrlimit(RLIMIT_CORE, &none);
	close(STDERR_FILENO);
	far_stacks_init(&stacks, STACK);
	for (i = 0; i < 3; i++)
		assert_int_equal(far_fiber_new(&stacks, overflow_run, &o[i],
					       &o[i].fiber), 0);
	o[0].len = stacks.size;
	far_context_switch(&o[0].outside, &o[0].fiber->context);
	_exit(0);
}

static void test_overflow(void **state)
{
	int status;
	pid_t child = child_fork();

	assert_true(child >= 0);
	if (child == 0)
		overflow_child();
	assert_int_equal(waitpid(child, &status, 0), child);
	/* a sanitizer turns the signal into an exit with an error */
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV
					: WEXITSTATUS(status) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_nested_asleep),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
