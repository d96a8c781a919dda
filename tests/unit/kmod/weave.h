/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All interleavings of a few threads: each runs as a coroutine that gives way
 * at every shim_step(), and weave_all() runs the scenario again and again
 * until every order of steps has been seen, or every order in which a thread
 * that could go on is interrupted at most so many times: there are far fewer
 * of these, and few bugs need more than two.
 *
 * The memory model is sequential consistency; what is proved is the logic of
 * the steps, not the barriers.
 */
#ifndef _WEAVE_H
#define _WEAVE_H

#include <stdbool.h>

#define WEAVE_MAX_THREADS	4

struct weave {
	void	(*init)(void);			/* before each run */
	void	(*thread[WEAVE_MAX_THREADS])(void);
	unsigned int nr;
	void	(*check)(void);			/* after each run */
	unsigned int preemptions;		/* 0: any number */
};

/* Run all orders.  Returns how many there were. */
unsigned long weave_all(const struct weave *w);

/* In a thread: sleep until *flag; a run in which all sleep is a failure. */
void weave_wait(const bool *flag);

/* In a thread: a step of the test's own. */
void weave_step(void);

#endif /* _WEAVE_H */
