// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples and rates; see top.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "top.h"

#define NS_PER_S	1000000000ull
#define CLEAR		"\033[H\033[J"

uint64_t top_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

double top_rate(uint64_t from, uint64_t to, uint64_t ns)
{
	return ns && to > from ? (to - from) * (double)NS_PER_S / ns : 0;
}

void top_clear(void)
{
	if (isatty(STDOUT_FILENO))
		fputs(CLEAR, stdout);
}

static void wait_seconds(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (seconds - t.tv_sec) * NS_PER_S;
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int top_run(const struct top *top, double seconds, unsigned long count)
{
	unsigned int place = 0;
	unsigned long n;
	int r;

	r = top->look(top->arg, place);
	for (n = 0; !r && (!count || n < count); n++) {
		wait_seconds(seconds);
		place = !place;
		r = top->look(top->arg, place);
		if (r)
			return r;
		top->print(top->arg, place);
		if (fflush(stdout))
			r = -errno;
	}
	return r;
}

int top_parse_interval(const char *text, double *ret_seconds)
{
	double seconds;
	char *end;

	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= TOP_MIN_INTERVAL) ||
	    seconds > TOP_MAX_INTERVAL)
		return -EINVAL;
	*ret_seconds = seconds;
	return 0;
}

int top_parse_count(const char *text, unsigned long *ret_count)
{
	unsigned long count;
	char *end;

	errno = 0;
	count = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return -EINVAL;
	*ret_count = count;
	return 0;
}
