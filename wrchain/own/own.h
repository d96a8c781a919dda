/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a library keeps in a process that is not its own: descriptors and threads, so
 * that neither is in the program's way.
 */
#ifndef OWN_OWN_H
#define OWN_OWN_H

#include <pthread.h>

/*
 * Takes over a descriptor that was just made, and returns its number, which is none of
 * standard input, output and error, even if the program has closed those: what it
 * prints would go there. It is closed on exec, and in the child of a fork().
 * What open() and its like have returned may be passed as it is: a negative number
 * becomes -errno. -errno; the descriptor is closed then.
 */
int own_fd(int fd);
/* Closes it. Not for objects that the child of a fork() has from its parent. */
void own_fd_close(int fd);

/*
 * The same of one that another library has made, and closes itself, as far as the fork()
 * goes, if it is above standard error: 0 or -errno; and before that one closes it.
 */
int own_fd_lend(int fd);
void own_fd_forget(int fd);

/*
 * For libraries that open descriptors themselves: takes the numbers of standard input,
 * output and error, as far as they are free, until own_stdio_let(). Returns which.
 */
unsigned int own_stdio_hold(void);
void own_stdio_let(unsigned int held);

/*
 * Starts a thread in which all signals are blocked, but those of its own faults: signals
 * are the program's business. 0 or -errno.
 */
int own_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);

#endif
