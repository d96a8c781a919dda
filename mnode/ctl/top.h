/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The common part of the commands "top": takes two samples, prints the rates between
 * them, and repeats that.
 */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#define TOP_MIN_INTERVAL	0.1
#define TOP_MAX_INTERVAL	3600.0

/**
 * struct top - what is sampled
 * @look:	takes a sample into place 0 or 1; -errno ends top_run()
 * @print:	prints the sample in place @to, with rates since the other sample
 */
struct top {
	int (*look)(void *arg, unsigned int place);
	void (*print)(void *arg, unsigned int to);
	void *arg;
};

/* Prints every `seconds`, `count` times; count 0: until an error.  On a terminal the key q
 * ends it.  0, or -errno of sampling or writing. */
int top_run(const struct top *top, double seconds, unsigned long count);

uint64_t top_now_ns(void);
/* Per second; 0 if the counter was reset. */
double top_rate(uint64_t from, uint64_t to, uint64_t ns);
/* Texts for columns: a number in at most six characters; megabytes in at most seven;
 * microseconds, or ms and s behind a longer time, in at most five. */
#define TOP_TEXT 16
const char *top_count_text(double n, char text[TOP_TEXT]);
const char *top_mb_text(double mb, char text[TOP_TEXT]);
const char *top_us_text(double us, char text[TOP_TEXT]);
/* On a terminal, clears the screen for the next table. */
void top_clear(void);

/* -EINVAL: not a number, or out of range. */
int top_parse_interval(const char *text, double *ret_seconds);
int top_parse_count(const char *text, unsigned long *ret_count);

#endif /* CTL_TOP_H */
