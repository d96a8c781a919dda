/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations that change a key: update, delete, insert and put.
 *
 *	update	{WRITE block, READ, READ}, {READ block}, {CAS}
 *		with a cached slot {WRITE block, CAS}
 *	delete	the same without the WRITE
 *	insert	see insert.c
 *	put	an update; an insert when the key is not there
 */
#include "priv.h"

#include <errno.h>

#include "../core/stats.h"

#define CHANGE_COST_NS	600u	/* processor time of a change, for the model */

static int change_by_hint(struct hash_op *op, struct hash_new *new)
{
	int err = hash_replace_hint(op, new);

	if (op->hash->cache)
		far_count(op->task, err == -EAGAIN ? FAR_COUNT_CACHE_MISSES :
						     FAR_COUNT_CACHE_HITS, 1);
	return err;
}

/* Replaces the key's block, wherever the key is; -ENOENT. */
static int change(struct hash_op *op, struct hash_new *new)
{
	int err = change_by_hint(op, new);

	if (err != -EAGAIN)
		return err;
	if (new)
		hash_new_write(op, new);
	err = hash_find(op, 0);
	return err ? err : hash_replace(op, new);
}

static int change_or_insert(struct hash_op *op, struct hash_new *new)
{
	int err;

	op->may_insert = 1;
	for (;;) {
		err = change(op, new);
		if (err != -ENOENT)
			return err;
		err = hash_insert_new(op, new);
		if (err != -EEXIST)
			return err;
		err = hash_replace(op, new);
		if (err != -ENOENT)
			return err;
	}
}

/* Runs one of the above with a new block, which is dropped unless a slot names it. */
static int with_new(struct hash_op *op, struct hash_args *args,
		    int (*run)(struct hash_op *op, struct hash_new *new))
{
	struct hash_new new;
	int err;

	far_spend(op->task, CHANGE_COST_NS);
	err = hash_new_init(op, args->value, args->value_len, &new);
	if (err)
		return err;
	err = run(op, &new);
	if (err && !op->unsure)
		hash_new_drop(op, &new);
	return err;
}

static int update_run(struct hash_op *op, struct hash_args *args)
{
	return with_new(op, args, change);
}

static int put_run(struct hash_op *op, struct hash_args *args)
{
	return with_new(op, args, change_or_insert);
}

static int insert_run(struct hash_op *op, struct hash_args *args)
{
	return with_new(op, args, hash_insert_new);
}

static int delete_run(struct hash_op *op, struct hash_args *args)
{
	(void)args;
	far_spend(op->task, CHANGE_COST_NS);
	return change(op, NULL);
}

static int run_with_value(struct far_task *task, struct far_hash *hash,
			  const void *key, size_t key_len,
			  const void *value, size_t value_len,
			  int (*run)(struct hash_op *op, struct hash_args *args))
{
	struct hash_args args = { .value = value, .value_len = value_len };

	if (value_len > FAR_HASH_MAX_VALUE)
		return -E2BIG;
	return hash_op_run(task, hash, key, key_len, run, &args);
}

int far_hash_put(struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len, const void *value, size_t value_len)
{
	return run_with_value(task, hash, key, key_len, value, value_len, put_run);
}

int far_hash_insert(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	return run_with_value(task, hash, key, key_len, value, value_len, insert_run);
}

int far_hash_update(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	return run_with_value(task, hash, key, key_len, value, value_len, update_run);
}

int far_hash_delete(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len)
{
	return hash_op_run(task, hash, key, key_len, delete_run, NULL);
}
