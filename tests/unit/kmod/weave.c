/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All interleavings by running again with the next sequence of choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmocka.h>

#include "../../shim/shim.h"
#include "weave.h"

#define STACK_SIZE	(64 * 1024)
#define MAX_STEPS	512

struct thread {
	ucontext_t	ctx;
	char		*stack;
	const bool	*waits_for;
	bool		done;
};

static struct thread threads[WEAVE_MAX_THREADS];
static ucontext_t scheduler;
static const struct weave *cur;
static int running = -1, last = -1;
static unsigned int preempted;

/* choice[i] of options[i] runnable threads was taken at step i. */
static unsigned char choice[MAX_STEPS], options[MAX_STEPS];
static unsigned int nr_choices;

static void give_way(void)
{
	if (running >= 0)
		swapcontext(&threads[running].ctx, &scheduler);
}

void weave_step(void)
{
	give_way();
}

void weave_wait(const bool *flag)
{
	while (!*flag) {
		threads[running].waits_for = flag;
		give_way();
	}
	threads[running].waits_for = NULL;
}

static void entry(void)
{
	cur->thread[running]();
	threads[running].done = true;
	give_way();
}

static bool runnable(const struct thread *t)
{
	return !t->done && (!t->waits_for || *t->waits_for);
}

/* The threads that may go next, the one that went last before the others. */
static unsigned int candidates(int *can)
{
	bool goes_on = last >= 0 && runnable(&threads[last]);
	unsigned int i, n = 0;

	if (goes_on)
		can[n++] = last;
	if (goes_on && cur->preemptions && preempted == cur->preemptions)
		return n;
	for (i = 0; i < cur->nr; i++) {
		if ((!goes_on || i != (unsigned int)last) &&
		    runnable(&threads[i]))
			can[n++] = i;
	}
	return n;
}

static int pick(unsigned int step)
{
	int can[WEAVE_MAX_THREADS];
	unsigned int n = candidates(can);

	if (!n)
		return -1;
	if (step >= MAX_STEPS)
		fail_msg("more than %d steps: livelock?", MAX_STEPS);
	if (step >= nr_choices) {
		choice[step] = 0;
		nr_choices = step + 1;
	}
	options[step] = n;
	if (choice[step] && can[0] == last)
		preempted++;
	return can[choice[step]];
}

static void run_once(void)
{
	unsigned int i, step;
	int t;

	cur->init();
	for (i = 0; i < cur->nr; i++) {
		threads[i].done = false;
		threads[i].waits_for = NULL;
		getcontext(&threads[i].ctx);
		threads[i].ctx.uc_stack.ss_sp = threads[i].stack;
		threads[i].ctx.uc_stack.ss_size = STACK_SIZE;
		threads[i].ctx.uc_link = &scheduler;
		makecontext(&threads[i].ctx, entry, 0);
	}
	last = -1;
	preempted = 0;
	shim_step_hook = give_way;
	for (step = 0; (t = pick(step)) >= 0; step++) {
		running = last = t;
		swapcontext(&scheduler, &threads[t].ctx);
		running = -1;
	}
	shim_step_hook = NULL;
	for (i = 0; i < cur->nr; i++) {
		if (!threads[i].done)
			fail_msg("thread %u sleeps for ever", i);
	}
	cur->check();
}

/* The next sequence: the last step that had another option takes it. */
static bool next_sequence(void)
{
	while (nr_choices) {
		if (++choice[nr_choices - 1] < options[nr_choices - 1])
			return true;
		nr_choices--;
	}
	return false;
}

unsigned long weave_all(const struct weave *w)
{
	unsigned long runs = 0;
	unsigned int i;

	cur = w;
	nr_choices = 0;
	for (i = 0; i < w->nr; i++)
		threads[i].stack = malloc(STACK_SIZE);
	do {
		run_once();
		runs++;
	} while (next_sequence());
	for (i = 0; i < w->nr; i++)
		free(threads[i].stack);
	return runs;
}
