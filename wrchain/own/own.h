/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors and threads that a library keeps in a program's process, made so that they
 * do not disturb the program. Any thread may call these functions.
 */
#ifndef OWN_OWN_H
#define OWN_OWN_H

#include <pthread.h>

/*
 * Takes ownership of a new descriptor and returns its number, which may differ from fd.
 * The number is above standard error, even if the program has closed its standard
 * streams: else the program's output would go to the descriptor. The descriptor is closed
 * on exec, and in the child of a fork(). The result of open() and the like may be passed
 * unchecked: a negative fd is returned as -errno. On an error (-errno) fd is closed.
 */
int own_fd(int fd);
/* Closes such a descriptor. The child of a fork() must not call it for its parent's. */
void own_fd_close(int fd);

/*
 * own_fd_lend() has the child of a fork() close a descriptor that another library owns;
 * no effect on standard input, output and error. 0 or -errno. Call own_fd_forget()
 * before that library closes the descriptor.
 */
int own_fd_lend(int fd);
void own_fd_forget(int fd);

/*
 * For calls of libraries that open descriptors themselves: occupies the free numbers
 * among standard input, output and error, until own_stdio_let(). Returns a mask of them.
 */
unsigned int own_stdio_hold(void);
void own_stdio_let(unsigned int held);

/*
 * Starts a thread in which all signals are blocked but those that report the thread's own
 * faults (SIGSEGV, ...): other signals are for the program's threads. 0 or -errno.
 */
int own_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);

#endif
