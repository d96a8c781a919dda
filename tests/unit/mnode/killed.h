/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An agent that is killed before one of its writes to the files that it keeps. A test
 * calls killed_write() from the functions that write; the one that records the owner of a
 * page does so already (linked with --wrap=keep_own).
 */
#ifndef TEST_KILLED_H
#define TEST_KILLED_H

#include "bed/agent.h"

/* Copies the files as they are before the nth write from now on. */
void killed_begin(const struct bed *b, unsigned int n);
void killed_write(void);
/* Ends that. True: there was such a write, and the next agent of the bed has started with
 * the copies. */
bool killed_end(struct bed *b);

#endif
