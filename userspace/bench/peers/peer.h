/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Key-value stores that other people use, driven by the workloads of `far bench index`:
 * a table of functions for each. A connection belongs to one thread.
 */
#ifndef FAR_BENCH_PEER_H
#define FAR_BENCH_PEER_H

#include <stddef.h>

#define PEER_MAX_DEPTH	64u

/* One operation of a list. */
struct peer_op {
	const void *key, *value;	/* value NULL: a get */
	size_t key_len, value_len;	/* of a get: what the value must have */
};

struct peer {
	const char *name;
	unsigned max_depth;	/* operations that one call may send together */
	/*
	 * where: a UNIX socket, or a directory. A connection, or NULL; then *ret_why says
	 * why, in words that stay valid.
	 */
	void *(*open)(const char *where, const char **ret_why);
	/*
	 * Does nr operations, at most max_depth, and waits for all. 0; -ENOENT: a key is not
	 * there; -EBADMSG: a value of another length; -EIO.
	 */
	int (*run)(void *conn, const struct peer_op *ops, unsigned nr);
	void (*close)(void *conn);
};

extern const struct peer peer_redis, peer_memcached, peer_lmdb;

#endif
