// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* redis by hiredis, over a UNIX socket; a list of operations is a pipeline. */
#include <errno.h>

#include <hiredis/hiredis.h>

#include "peer.h"

static void *redis_open(const char *where, const char **ret_why)
{
	redisContext *redis = redisConnectUnix(where);

	if (!redis) {
		*ret_why = "no memory";
		return NULL;
	}
	if (redis->err) {
		*ret_why = "no redis listens there";
		redisFree(redis);
		return NULL;
	}
	return redis;
}

static int redis_append(redisContext *redis, const struct peer_op *op)
{
	const char *argv[] = { op->value ? "SET" : "GET", op->key, op->value };
	size_t lens[] = { 3, op->key_len, op->value_len };

	return redisAppendCommandArgv(redis, op->value ? 3 : 2, argv, lens) == REDIS_OK ?
		0 : -EIO;
}

static int redis_answer_check(const redisReply *reply, const struct peer_op *op)
{
	if (op->value)
		return reply->type == REDIS_REPLY_STATUS ? 0 : -EIO;
	if (reply->type == REDIS_REPLY_NIL)
		return -ENOENT;
	if (reply->type != REDIS_REPLY_STRING)
		return -EIO;
	return reply->len == op->value_len ? 0 : -EBADMSG;
}

static int redis_run(void *conn, const struct peer_op *ops, unsigned nr)
{
	redisContext *redis = conn;
	void *reply;
	unsigned i;
	int err, ret = 0;

	for (i = 0; i < nr; i++) {
		err = redis_append(redis, &ops[i]);
		if (err)
			return err;
	}
	for (i = 0; i < nr; i++) {
		if (redisGetReply(redis, &reply) != REDIS_OK)
			return -EIO;
		err = redis_answer_check(reply, &ops[i]);
		if (err && !ret)
			ret = err;
		freeReplyObject(reply);
	}
	return ret;
}

static void redis_close(void *conn)
{
	redisFree(conn);
}

const struct peer peer_redis = {
	"redis", PEER_MAX_DEPTH, redis_open, redis_run, redis_close,
};
