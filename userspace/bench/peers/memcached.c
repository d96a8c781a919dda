// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memcached by libmemcached, over a UNIX socket and in its binary protocol. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <libmemcached/memcached.h>

#include "peer.h"

static void *memcached_connect(const char *where, const char **ret_why)
{
	memcached_st *mc = memcached_create(NULL);

	if (!mc) {
		*ret_why = "no memory";
		return NULL;
	}
	/* Keys are any bytes, which the text protocol does not take. */
	if (memcached_behavior_set(mc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1) ||
	    memcached_server_add_unix_socket(mc, where) || memcached_version(mc)) {
		*ret_why = "no memcached listens there";
		memcached_free(mc);
		return NULL;
	}
	return mc;
}

static int memcached_get_check(memcached_st *mc, const struct peer_op *op)
{
	memcached_return_t rc;
	uint32_t flags;
	size_t len;
	char *value = memcached_get(mc, op->key, op->key_len, &len, &flags, &rc);

	if (rc == MEMCACHED_NOTFOUND)
		return -ENOENT;
	if (rc != MEMCACHED_SUCCESS)
		return -EIO;
	free(value);
	return len == op->value_len ? 0 : -EBADMSG;
}

static int memcached_run(void *conn, const struct peer_op *ops, unsigned nr)
{
	memcached_st *mc = conn;
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		const struct peer_op *op = &ops[i];

		if (!op->value)
			err = memcached_get_check(mc, op);
		else if (memcached_set(mc, op->key, op->key_len, op->value, op->value_len,
				       0, 0) != MEMCACHED_SUCCESS)
			err = -EIO;
	}
	return err;
}

static void memcached_close(void *conn)
{
	memcached_free(conn);
}

const struct peer peer_memcached = {
	"memcached", 1, memcached_connect, memcached_run, memcached_close,
};
