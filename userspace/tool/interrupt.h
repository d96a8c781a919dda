/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An interrupted benchmark takes its space away. */
#ifndef FAR_TOOL_INTERRUPT_H
#define FAR_TOOL_INTERRUPT_H

/*
 * From now on SIGINT, SIGTERM and SIGHUP call clean(arg) in a thread of its own, while
 * the others go on, and then end the process with 128 and the signal's number. Before
 * any other thread is started. -errno.
 */
int interrupt_clean(void (*clean)(const void *arg), const void *arg);

#endif
