/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ways for two processes to call each other: a UNIX socket, and UCX's active messages. */
#ifndef FAR_BENCH_CALL_H
#define FAR_BENCH_CALL_H

#include <stddef.h>

/**
 * struct call_way - a way
 * @serve:	in a child process: answers each message with itself, for nr connections, until
 *		it is killed; writes a byte to ready when callers may come. Returns only on errors.
 * @open:	a connection of the calling thread; NULL, with a sentence in *ret_why
 * @call:	sends len bytes from data, and waits for as many. 0, or -1.
 */
struct call_way {
	const char *name;
	void (*serve)(const char *where, unsigned nr, int ready);
	void *(*open)(const char *where, const char **ret_why);
	int (*call)(void *conn, void *data, size_t len);
	void (*close)(void *conn);
};

#define CALL_MAX	8192u

/* serve and open of call_ucx are NULL without UCX. */
extern const struct call_way call_unix, call_ucx;

#endif
