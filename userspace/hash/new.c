/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The block that an operation wants to put in a slot, and what becomes of blocks. */
#include "hash_priv.h"

#include <errno.h>

#include "../core/alloc.h"
#include "../core/epoch.h"

int hash_new_init(struct hash_op *op, const void *value, size_t val_len,
		  struct hash_new *new)
{
	int err;

	if (val_len > FAR_HASH_MAX_VALUE)
		return -E2BIG;
	new->len = hash_block_len(op->key.len, val_len);
	new->block = far_buf(op->task, new->len);
	if (!new->block)
		return -ENOMEM;
	err = far_block_alloc(op->task, op->key.shard, new->len, &new->addr);
	if (err)
		return err;
	/* behind far_block_alloc(): newer than the grace period of whoever had it before */
	new->birth = form_age_now(op->task);
	if (op->hash->variant->blind)
		new->birth.epoch = 0;
	hash_block_fill(new->block, op->hash->root, &op->key, value, val_len, new->birth);
	new->word = hash_slot(op->key.fp, new->len / HASH_UNIT, far_addr_off(new->addr),
			      new->birth);
	new->written = 0;
	return 0;
}

void hash_new_write(struct hash_op *op, struct hash_new *new)
{
	if (new->written)
		return;
	far_write(op->task, new->addr, new->block, new->len);
	new->written = 1;
}

void hash_new_drop(struct hash_op *op, struct hash_new *new)
{
	far_block_free(op->task, new->addr, new->len);
}

/* The length of a block whose slot cannot hold it is in its head, which is READ. */
static int retire_len(struct hash_op *op, uint64_t word, uint64_t addr,
		      uint64_t *ret_len)
{
	struct hash_block *head = far_buf(op->task, HASH_UNIT);
	int err;

	if (!head)
		return -ENOMEM;
	far_read(op->task, addr, head, HASH_UNIT);
	err = far_sync(op->task);
	if (!err && !hash_slot_fits(word, head))
		err = -EBADMSG;
	if (!err)
		*ret_len = hash_block_len(head->key_len, head->val_len);
	return err;
}

void hash_retire_word(struct hash_op *op, uint64_t word, const struct hash_block *block)
{
	uint64_t len = (uint64_t)hash_slot_units(word) * HASH_UNIT;
	uint64_t addr = hash_block_addr(op->key.shard, word);
	int err = 0;

	if (!len && block)
		len = hash_block_len(block->key_len, block->val_len);
	else if (!len)
		err = retire_len(op, word, addr, &len);
	if (!err)
		err = far_retire(op->task, addr, len);
	/* the change has happened all the same; a sweep finds the block */
	if (err)
		far_alloc_lost(op->task);
}
