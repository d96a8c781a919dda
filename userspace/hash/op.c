/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frame of an operation of one key: checks, epoch, buffers, second tries. */
#include "priv.h"

#include <errno.h>

#include "../core/epoch.h"
#include "../core/task.h"

#define OP_TRIES	4u	/* connections that may break under one operation */

int hash_op_init(struct hash_op *op, struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len)
{
	if (!key_len)
		return -EINVAL;
	if (key_len > FAR_HASH_MAX_KEY)
		return -E2BIG;
	op->task = task;
	op->hash = hash;
	op->may_insert = 0;
	op->unsure = 0;
	hash_key_init(&op->key, key, key_len, hash->groups, hash->nr_shards);
	if (hash->cache)
		op->id = hash_cache_id(hash->cache, key, key_len);
	return 0;
}

int hash_op_start(struct hash_op *op)
{
	uint8_t *buf = far_buf(op->task, 2 * HASH_COMBINED + HASH_SUB_HEAD +
					 HASH_OP_WORDS * sizeof(uint64_t));

	if (!buf)
		return -ENOMEM;
	op->pair[0] = (struct hash_bucket *)buf;
	op->pair[1] = (struct hash_bucket *)(buf + HASH_COMBINED);
	op->head = (struct hash_sub *)(buf + 2 * HASH_COMBINED);
	op->word = (uint64_t *)(buf + 2 * HASH_COMBINED + HASH_SUB_HEAD);
	op->epoch = far_epoch_known(op->task);
	hash_locate(op);
	return 0;
}

static int op_once(struct hash_op *op, int (*run)(struct hash_op *op, struct hash_args *args),
		   struct hash_args *args)
{
	size_t mark;
	int err;

	err = far_epoch_enter(op->task);
	if (err)
		return err;
	mark = far_buf_mark(op->task);
	err = hash_op_start(op);
	if (!err)
		err = run(op, args);
	far_buf_release(op->task, mark);
	far_epoch_exit(op->task);
	return err;
}

int hash_op_run(struct far_task *task, struct far_hash *hash, const void *key,
		size_t key_len, int (*run)(struct hash_op *op, struct hash_args *args),
		struct hash_args *args)
{
	int reclaimed = 0;
	struct hash_op op;
	unsigned i;
	int err;

	err = hash_op_init(&op, task, hash, key, key_len);
	if (err)
		return err;
	far_op_begin(task);
	for (i = 0; i < OP_TRIES; i++) {
		err = op_once(&op, run, args);
		if (err == -ENOSPC && !reclaimed) {
			reclaimed = 1;
			far_reclaim(task);
		} else if (err != -EIO || op.unsure) {
			break;
		}
	}
	far_op_end(task);
	return err;
}
