// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a switch between two coroutines costs: `meson test --benchmark`. Measured, on
 * this processor; prints nanoseconds per switch.
 */
#include <stdio.h>
#include <time.h>

#include "../base/fiber.h"

#define NR_FIBERS	8u
#define ROUNDS		(1u << 14)
#define REPEATS		200u

static struct far_context outside;

struct turn {
	struct far_fiber *fiber;
	struct turn *next;
	int counts;
};

/* Hands over to the next one for ever; the first one leaves the ring now and then. */
static struct far_context *turn_run(void *arg)
{
	struct turn *turn = arg;
	unsigned i;

	for (i = 1;; i++) {
		far_context_switch(&turn->fiber->context, &turn->next->fiber->context);
		if (turn->counts && i % ROUNDS == 0)
			far_context_switch(&turn->fiber->context, &outside);
	}
	return &outside;
}

/* Processor time: whoever else uses the machine does not count. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	struct turn turn[NR_FIBERS];
	struct far_stacks stacks;
	double best = 1e9, ns;
	unsigned i;

	far_stacks_init(&stacks, 65536);
	for (i = 0; i < NR_FIBERS; i++) {
		turn[i].counts = i == 0;
		turn[i].next = &turn[(i + 1) % NR_FIBERS];
		if (far_fiber_new(&stacks, turn_run, &turn[i], &turn[i].fiber)) {
			fprintf(stderr, "switch: no memory for %u stacks\n", NR_FIBERS);
			return 1;
		}
	}
	for (i = 0; i < REPEATS; i++) {
		ns = now();
		far_context_switch(&outside, &turn[0].fiber->context);
		ns = (now() - ns) / ((double)ROUNDS * NR_FIBERS);
		if (ns < best)
			best = ns;
	}
	printf("switch: %.2f ns (measured, best of %u, ring of %u coroutines)\n", best,
	       REPEATS, NR_FIBERS);
	for (i = 0; i < NR_FIBERS; i++)
		far_fiber_free(&stacks, turn[i].fiber);
	far_stacks_fini(&stacks);
	return 0;
}
