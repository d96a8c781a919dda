/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations that change a key: update, delete, insert and put. Each may run for
 * several callers at once: see op.c.
 *
 *	update	{WRITE block, READ, READ}, {READ block}, {CAS}
 *		with a cached slot {WRITE block, CAS}; if others change the key as well,
 *		{READ slot}, or a turn, before that
 *	delete	the same without the WRITE
 *	insert	see insert.c
 *	put	an update; an insert when the key is not there
 */
#include "hash_priv.h"

#include <errno.h>

#include "../core/alloc.h"

/* Replaces the key's block, wherever the key is; -ENOENT. */
static int key_change(struct hash_op *op, struct hash_new *new)
{
	int err = hash_replace_hint(op, new);

	if (err != -EAGAIN)
		return err;
	if (new)
		hash_new_write(op, new);
	err = hash_find(op, 0);
	return err ? err : hash_replace(op, new);
}

static int key_change_or_insert(struct hash_op *op, struct hash_new *new)
{
	int err;

	op->may_insert = 1;
	for (;;) {
		err = key_change(op, new);
		if (err != -ENOENT)
			return err;
		/* inserts have claims, and may have to wait for a split */
		far_turn_pass(op->task, &op->turn);
		err = hash_insert_new(op, new);
		if (err != -EEXIST)
			return err;
		err = hash_replace(op, new);
		if (err != -ENOENT)
			return err;
	}
}

static int change_by_kind(struct hash_op *op, const struct form_args *args)
{
	struct hash_new new;
	int err;

	if (args->kind == FAR_COMBINE_MODIFY)
		return hash_modify(op, args);
	if (args->kind == FAR_COMBINE_DELETE) {
		err = key_change(op, NULL);
		if (err && op->unsure)
			far_alloc_lost(op->task);
		return err;
	}
	err = hash_new_init(op, args->value, args->value_len, &new);
	if (err)
		return err;
	if (args->kind == FAR_COMBINE_PUT)
		err = key_change_or_insert(op, &new);
	else if (args->kind == FAR_COMBINE_INSERT)
		err = hash_insert_new(op, &new);
	else
		err = key_change(op, &new);
	if (err && op->unsure)
		far_alloc_lost(op->task);
	else if (err)
		hash_new_drop(op, &new);
	return err;
}

int hash_change(struct hash_op *op, const struct form_args *args)
{
	int err;

	hash_locate(op);
	hash_turn_init(op);
	err = change_by_kind(op, args);
	/* a pass that was appended may have been dropped with the rest */
	if (err == -ETIME)
		far_turn_unpass(&op->turn);
	hash_turn_end(op);
	return err;
}

int far_hash_put(struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len, const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_PUT, .value = value, .value_len = value_len,
	};

	return hash_do(task, hash, key, key_len, &args);
}

int far_hash_insert(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_INSERT, .value = value, .value_len = value_len,
	};

	return hash_do(task, hash, key, key_len, &args);
}

int far_hash_update(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_UPDATE, .value = value, .value_len = value_len,
	};

	return hash_do(task, hash, key, key_len, &args);
}

int far_hash_delete(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len)
{
	struct form_args args = { .kind = FAR_COMBINE_DELETE };

	return hash_do(task, hash, key, key_len, &args);
}
