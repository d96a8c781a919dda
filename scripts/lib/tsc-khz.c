// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Prints the rate of this machine's time stamp counter in kHz.
 *
 * An emulated guest reads the host's counter and has to find out its rate with
 * emulated timers; on a busy host it may err by a factor of four, and then all
 * its clocks run wrong. So the host tells it (scripts/lib/accel.sh).
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	uint64_t ticks;
	int64_t ns;
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Both clocks at once: of many attempts the one that was disturbed least. */
static struct sample sample(void)
{
	struct sample s = { 0, 0 };
	int64_t best = INT64_MAX;
	int i;

	for (i = 0; i < 200; i++) {
		int64_t before = clock_ns();
		uint64_t ticks = __rdtsc();
		int64_t after = clock_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		s.ticks = ticks;
		s.ns = before + best / 2;
	}
	return s;
}

int main(void)
{
	struct timespec pause = { .tv_sec = 0, .tv_nsec = 100000000 };
	struct sample a, b;

	a = sample();
	nanosleep(&pause, NULL);
	b = sample();
	printf("%.0f\n", (double)(b.ticks - a.ticks) * 1e6 /
	       (double)(b.ns - a.ns));
	return 0;
}
