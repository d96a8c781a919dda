/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a key is: two combined buckets of one subtable, read at once, then the blocks
 * of the slots with the key's fingerprint.
 *
 * What is true of a slot in a subtable:
 *  - a word that is not frozen is what the key has, at the moment it was read;
 *  - a frozen word is what the key has until the sibling is published; afterwards it
 *    says nothing, not even that its block is still the one that it names;
 *  - a key that was in no slot was absent at some moment in between, unless a split
 *    took it away meanwhile: a sibling, read afterwards, tells. A key with the bits h
 *    leaves a subtable of depth d by one split only: at the first bit of h from d on.
 */
#include "hash_priv.h"

#include <errno.h>
#include <string.h>

void hash_locate(struct hash_op *op)
{
	op->sub = hash_dir_find(&op->hash->dir[op->key.shard], hash_key_dir(&op->key),
				&op->depth);
}

void hash_pair_read(struct hash_op *op)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		far_read(op->task, op->sub + hash_combined_off(op->key.main[i]),
			 op->pair[i], HASH_COMBINED);
}

uint64_t hash_home_addr(const struct hash_op *op)
{
	return op->sub + hash_main_off(op->key.main[0]);
}

uint64_t hash_home_header(const struct hash_op *op)
{
	/* an odd main bucket lies behind its overflow bucket */
	return op->pair[0][op->key.main[0] % 2].header;
}

int hash_header_fits(const struct hash_op *op, uint64_t header)
{
	uint32_t suffix = hash_key_dir(&op->key) & hash_mask(op->depth);
	unsigned depth = hash_depth(header);

	if ((header & ~(HASH_CLAIM_MASK | HASH_MOVING)) != hash_idle(depth, suffix) ||
	    depth > HASH_MAX_DEPTH)
		return 0;
	if (header & HASH_MOVING)
		return !hash_claimed(header) && depth + 1 >= op->depth;
	return depth >= op->depth;
}

void hash_pair_scan(struct hash_op *op)
{
	unsigned i, b, s;

	op->nr_cand = 0;
	for (i = 0; i < 2; i++)
		for (b = 0; b < 2; b++)
			for (s = 0; s < HASH_SLOTS; s++) {
				uint64_t word = op->pair[i][b].slot[s];

				if (!word || hash_slot_fp(word) != op->key.fp)
					continue;
				op->cand[op->nr_cand++] = (struct hash_cand) {
					.addr = hash_pair_slot_addr(op, i, b, s),
					.word = word,
				};
			}
}

/* How much of a block is READ at first. */
static uint32_t cand_len(const struct hash_op *op, uint64_t word, int whole)
{
	uint32_t len = hash_slot_units(word) * HASH_UNIT;
	uint32_t key = (HASH_BLOCK_HEAD + op->key.len + 7) & ~(size_t)7;

	if (!len)
		return HASH_UNIT;
	return whole || key > len ? len : key;
}

static int cand_read(struct hash_op *op, struct hash_cand *cand, int whole)
{
	uint32_t len = cand_len(op, cand->word, whole);

	cand->block = far_buf(op->task, len);
	if (!cand->block)
		return -ENOMEM;
	far_read(op->task, hash_block_addr(op->key.shard, cand->word), cand->block, len);
	return 0;
}

int hash_cand_read(struct hash_op *op, int whole)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < op->nr_cand && !err; i++)
		err = cand_read(op, &op->cand[i], whole);
	return err;
}

/* The second trip to a block whose length the slot could not hold. */
static int cand_read_big(struct hash_op *op, struct hash_cand *cand, int whole)
{
	const struct hash_block *head = cand->block;
	uint64_t len = whole ? hash_block_len(head->key_len, head->val_len)
			     : (HASH_BLOCK_HEAD + head->key_len + 7) & ~(size_t)7;

	cand->block = far_buf(op->task, len);
	if (!cand->block)
		return -ENOMEM;
	far_read(op->task, hash_block_addr(op->key.shard, cand->word), cand->block, len);
	return far_sync(op->task);
}

/*
 * 0: the block has the key. -ENOENT: another key. -EAGAIN: what was READ is no block
 * that this slot names. -EBADMSG: it has other lengths than the slot says.
 */
static int cand_compare(struct hash_op *op, struct hash_cand *cand, int whole)
{
	const struct hash_block *block = cand->block;
	int err;

	if (!hash_slot_born(cand->word, block))
		return -EAGAIN;
	if (!hash_slot_fits(cand->word, block))
		return -EBADMSG;
	if (block->key_len != op->key.len || block->dir != hash_key_dir(&op->key))
		return -ENOENT;
	if (!hash_slot_units(cand->word)) {
		err = cand_read_big(op, cand, whole);
		if (err)
			return err;
		block = cand->block;
	}
	if (whole && block->sum != hash_block_sum(block, op->hash->root))
		return -EAGAIN;
	return memcmp(block->data, op->key.data, op->key.len) ? -ENOENT : 0;
}

/*
 * A frozen word that names no such block: the split has happened, nobody has cleaned up,
 * and the block was given to somebody else since. What was moved is elsewhere.
 */
static int cand_is_left(const struct hash_cand *cand, int err)
{
	return cand->word & HASH_FROZEN && (err == -EAGAIN || err == -EBADMSG);
}

int hash_cand_match(struct hash_op *op, int whole)
{
	int ret = -ENOENT;
	unsigned i;
	int err;

	for (i = 0; i < op->nr_cand; i++) {
		err = cand_compare(op, &op->cand[i], whole);
		if (err == -ENOENT || cand_is_left(&op->cand[i], err))
			continue;
		if (err)
			return err;
		op->found = op->cand[i];
		ret = 0;
		if (!(op->found.word & HASH_FROZEN))
			break;
	}
	return ret;
}

int hash_verify(struct hash_op *op, uint64_t addr, uint64_t word, int whole)
{
	int err;

	if (!word || hash_slot_fp(word) != op->key.fp)
		return -ENOENT;
	op->nr_cand = 1;
	op->cand[0].addr = addr;
	op->cand[0].word = word;
	err = hash_cand_read(op, whole);
	if (!err)
		err = far_sync(op->task);
	return err ? err : hash_cand_match(op, whole);
}

void hash_learn(struct far_hash *hash, uint64_t sub, const struct hash_sub *head)
{
	struct hash_dir *dir = &hash->dir[head->shard];
	uint32_t suffix = head->suffix;
	unsigned j;

	for (j = head->born; j < HASH_MAX_DEPTH && head->sibling[j]; j++)
		hash_dir_add(dir, head->sibling[j], suffix | 1u << j, j + 1);
	hash_dir_add(dir, sub, suffix, j);
}

int hash_elsewhere(struct hash_op *op)
{
	int j = hash_moved(hash_key_dir(&op->key), op->depth, HASH_MAX_DEPTH);
	struct hash_sub *head = op->head;
	uint64_t at = offsetof(struct hash_sub, sibling) + j * sizeof(uint64_t);
	int err;

	if (j < 0)
		return 0;
	if (hash_depth(hash_home_header(op)) > op->depth) {
		far_read(op->task, op->sub, head, sizeof(*head));
	} else {
		far_read(op->task, op->sub + at, &head->sibling[j], sizeof(uint64_t));
		head->magic = 0;
	}
	err = far_sync(op->task);
	if (err)
		return err;
	/* whoever makes a header deeper has published the sibling before */
	if (!head->sibling[j])
		return j < (int)hash_depth(hash_home_header(op)) ? -EBADMSG : 0;
	if (head->magic == HASH_SUB_MAGIC && head->shard == op->key.shard)
		hash_learn(op->hash, op->sub, head);
	op->sub = head->sibling[j];
	op->depth = j + 1;
	hash_dir_add(&op->hash->dir[op->key.shard], op->sub,
		     hash_key_dir(&op->key) & hash_mask(op->depth), op->depth);
	return 1;
}

int hash_pair_match(struct hash_op *op, int whole)
{
	int err;

	hash_pair_scan(op);
	if (!op->nr_cand)
		return -ENOENT;
	err = hash_cand_read(op, whole);
	if (!err)
		err = far_sync(op->task);
	return err ? err : hash_cand_match(op, whole);
}

/* One round of hash_find(); 1: not here, try where op->sub says now. */
static int find_round(struct hash_op *op, int whole)
{
	int moved;
	int err;

	hash_deciding(op);
	hash_pair_read(op);
	err = far_sync(op->task);
	if (err)
		return err;
	err = hash_pair_match(op, whole);
	if (err == -EAGAIN)
		return 1;
	if (err && err != -ENOENT)
		return err;
	if (!err && !(op->found.word & HASH_FROZEN))
		return 0;
	if (err && (op->may_insert || op->hash->variant->insert) &&
	    hash_depth(hash_home_header(op)) <= op->depth)
		return err;
	moved = hash_elsewhere(op);
	if (moved)
		return moved;
	/* absent from another key's subtable says nothing */
	return err && !hash_header_fits(op, hash_home_header(op)) ? -EBADMSG : err;
}

int hash_find(struct hash_op *op, int whole)
{
	size_t mark = far_buf_mark(op->task);
	unsigned i;
	int ret = 1;

	for (i = 0; i < HASH_TRIES && ret == 1; i++) {
		far_buf_release(op->task, mark);
		ret = find_round(op, whole);
	}
	return ret == 1 ? -EBADMSG : ret;
}
