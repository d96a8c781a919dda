/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two commands "top" have in common: two looks, and rates between them,
 * again and again.
 */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#define TOP_MIN_INTERVAL	0.1
#define TOP_MAX_INTERVAL	3600.0

/**
 * struct top - what is looked at
 * @look:	one look, into place 0 or 1; -errno ends it
 * @print:	prints what is in place @to, with rates since the look in the other
 */
struct top {
	int (*look)(void *arg, unsigned int place);
	void (*print)(void *arg, unsigned int to);
	void *arg;
};

/* Every `seconds`, `count` times or, for 0, until nobody reads it any more.  0,
 * or -errno of looking or writing. */
int top_run(const struct top *top, double seconds, unsigned long count);

uint64_t top_now_ns(void);
/* Per second; 0 where the counter has begun anew. */
double top_rate(uint64_t from, uint64_t to, uint64_t ns);
/* On a terminal each table replaces the last. */
void top_clear(void);

/* -EINVAL: not in the range above; not a number. */
int top_parse_interval(const char *text, double *ret_seconds);
int top_parse_count(const char *text, unsigned long *ret_count);

#endif /* CTL_TOP_H */
