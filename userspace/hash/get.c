/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Get: {READ, READ}, then {READ block}; with a cached slot {READ slot, READ block}.
 *
 * In the second form the slot is READ first, on the same queue pair: when it says what
 * the cache says, it named that block at that moment, which is within this operation,
 * so the block cannot have been given to anybody else before it was READ.
 */
#include "hash_priv.h"

#include <errno.h>
#include <string.h>

#include "../core/stats.h"

int hash_get_copy(const struct hash_block *block, const struct form_args *args)
{
	if (args->ret_len)
		*args->ret_len = block->val_len;
	if (block->val_len > args->room_len)
		return -EMSGSIZE;
	if (block->val_len)
		memcpy(args->room, block->data + block->key_len, block->val_len);
	return 0;
}

/* -ENOENT: no hint, or it was wrong. */
static int get_hint(struct hash_op *op)
{
	const struct hash_hint *hint = &op->hint;
	int err;

	if (!hash_hint_get(op, 0))
		return -ENOENT;
	op->nr_cand = 1;
	op->cand[0] = (struct hash_cand) { .addr = hint->addr, .word = hint->word };
	hash_deciding(op);
	far_read(op->task, hint->addr, op->word, sizeof(*op->word));
	err = hash_cand_read(op, 1);
	if (!err)
		err = far_sync(op->task);
	if (err)
		return err;
	if (op->word[0] == hint->word)
		err = hash_cand_match(op, 1);
	else if (op->word[0] & HASH_FROZEN)
		err = -ENOENT;
	else
		err = hash_verify(op, hint->addr, op->word[0], 1);
	if (err)
		hash_hint_drop(op);
	return err == -EAGAIN ? -ENOENT : err;
}

int hash_get(struct hash_op *op)
{
	int hit;
	int err;

	err = get_hint(op);
	hit = !err;
	if (err == -ENOENT) {
		hash_locate(op);
		err = hash_find(op, 1);
	}
	if (op->hash->cache)
		far_count(op->task, hit ? FAR_COUNT_CACHE_HITS : FAR_COUNT_CACHE_MISSES, 1);
	if (!err && !(op->found.word & HASH_FROZEN))
		hash_remember(op, op->found.addr, op->found.word, op->age);
	return err;
}

int far_hash_get(struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len,
		 void *value, size_t value_size, size_t *ret_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_GET,
		.room = value, .room_len = value_size, .ret_len = ret_len,
	};

	return hash_do(task, hash, key, key_len, &args);
}
