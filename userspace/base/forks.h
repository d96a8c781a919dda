/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks: what a process has of its parent's objects is a copy without threads, maps and
 * descriptors behind it. Objects note how many forks lie behind the process when they
 * are made; where the number is another, they are a parent's.
 */
#ifndef FAR_BASE_FORKS_H
#define FAR_BASE_FORKS_H

/* How often fork() has run since far_forks_watch(); it changes in the child only. */
extern unsigned far_forks;

/* Counts from here on. 0 or -ENOMEM. Any thread, as often as one likes. */
int far_forks_watch(void);

#endif
