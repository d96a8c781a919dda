/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Insert: {WRITE block, CAS claim, READ, READ}, then {CAS slot, CAS release}.
 *
 * The READs lie behind the CAS of the claim, on the same queue pair: whoever claims
 * and does not see the key is the only one who can add it until the release.
 */
#include "hash_priv.h"

#include <errno.h>

uint64_t hash_insert_room(const struct hash_op *op)
{
	uint64_t room[2] = { 0, 0 };
	unsigned used[2] = { 0, 0 };
	unsigned i, k, s;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++) {
			unsigned b = op->key.main[i] % 2 ^ k;

			for (s = 0; s < HASH_SLOTS; s++)
				if (op->pair[i][b].slot[s])
					used[i]++;
				else if (!room[i])
					room[i] = hash_pair_slot_addr(op, i, b, s);
		}
	if (!room[0] || !room[1])
		return room[0] | room[1];
	return room[used[1] < used[0]];
}

void hash_pair_fill(struct hash_op *op, uint64_t slot)
{
	unsigned i, b, s;

	for (i = 0; i < 2; i++)
		for (b = 0; b < 2; b++)
			for (s = 0; s < HASH_SLOTS; s++)
				if (hash_pair_slot_addr(op, i, b, s) == slot)
					op->pair[i][b].slot[s] = HASH_FROZEN;
}

int hash_insert_split(struct hash_op *op, unsigned depth)
{
	return hash_split(op->task, op->hash, op->key.shard, op->sub,
			  hash_key_dir(&op->key) & hash_mask(depth), depth);
}

int hash_fill_fate(struct hash_op *op, const struct hash_new *new, uint64_t slot, int err)
{
	unsigned i;

	op->unsure = 1;
	for (i = 0; i < 8 && err && err != -ESTALE; i++) {
		far_read(op->task, slot, &op->word[1], sizeof(uint64_t));
		err = far_sync(op->task);
	}
	if (err)
		return err;
	/* An empty slot proves nothing: it may have been filled, and emptied by a delete. */
	if (op->word[1] != new->word)
		return -EIO;
	op->unsure = 0;
	return 0;
}

/*
 * The slot's CAS with the release behind it. 0: inserted. -EAGAIN: the slot was taken,
 * and the claim is gone.
 */
static int insert_fill(struct hash_op *op, struct hash_new *new, uint64_t slot,
		       uint64_t claim)
{
	uint64_t home = hash_home_addr(op);
	int err;

	hash_publishing(op);
	far_cas(op->task, slot, 0, new->word, &op->word[1]);
	far_cas(op->task, home, claim, claim & ~HASH_CLAIM_MASK, NULL);
	err = far_sync(op->task);
	if (!err) {
		if (op->word[1])
			hash_lost(op);
		return op->word[1] ? -EAGAIN : 0;
	}
	err = hash_fill_fate(op, new, slot, err);
	if (err != -ESTALE)
		hash_claim_release(op, home, claim);
	return err;
}

/* hash_pair_match(), which says -EAGAIN for so long only. */
static int insert_match(struct hash_op *op)
{
	int err = hash_pair_match(op, 0);

	return err == -EAGAIN && ++op->torn >= HASH_TRIES ? -EBADMSG : err;
}

/* With the claim held, and the pair read behind it. The claim ends with far_must_end(). */
static int insert_claimed(struct hash_op *op, struct hash_new *new, uint64_t claim)
{
	uint64_t home = hash_home_addr(op);
	uint64_t slot = 0;
	int err;
	int also;

	err = insert_match(op);
	if (err == -ENOENT) {
		slot = hash_insert_room(op);
		if (slot) {
			err = insert_fill(op, new, slot, claim);
			far_must_end(op->task);
			if (!err)
				hash_remember(op, slot, new->word, new->birth);
			return err;
		}
	}
	also = hash_claim_release(op, home, claim);
	far_must_end(op->task);
	if (also)
		return also;
	if (!err) {
		op->present = 1;
		return -EEXIST;
	}
	if (err != -ENOENT)
		return err;
	err = hash_insert_split(op, op->depth);
	return err ? err : -EAGAIN;
}

/* The claim was lost to what the header says. */
static int insert_lost(struct hash_op *op, uint64_t header, unsigned round)
{
	uint32_t dir = hash_key_dir(&op->key);
	unsigned depth = hash_depth(header);
	int err;

	if (!hash_header_fits(op, header))
		return -EBADMSG;
	if (depth > op->depth) {
		if (hash_moved(dir, op->depth, depth) < 0) {
			op->depth = depth;
			return -EAGAIN;
		}
		err = hash_elsewhere(op);
		if (!err)
			return -EBADMSG;
		return err < 0 ? err : -EAGAIN;
	}
	if (header & HASH_MOVING) {
		err = hash_insert_split(op, depth);
		return err ? err : -EAGAIN;
	}
	if (!hash_claimed(header))
		return -EBADMSG;
	err = insert_match(op);
	if (!err && !(op->found.word & HASH_FROZEN)) {
		op->present = 1;
		return -EEXIST;
	}
	if (!err || err == -ENOENT)
		err = hash_claim_wait(op->task, hash_home_addr(op), header, round);
	return err ? err : -EAGAIN;
}

static int insert_round(struct hash_op *op, struct hash_new *new, unsigned round)
{
	uint32_t dir = hash_key_dir(&op->key);
	uint64_t idle = hash_idle(op->depth, dir & hash_mask(op->depth));
	uint64_t claim = hash_claim_word(op, idle);
	int err;

	hash_deciding(op);
	hash_new_write(op, new);
	far_cas(op->task, hash_home_addr(op), idle, claim, &op->word[0]);
	hash_pair_read(op);
	err = far_sync(op->task);
	if (err == -ETIME)
		return err;
	far_must_begin(op->task);
	if (err) {
		new->written = 0;
		if (err != -ESTALE)
			hash_claim_release(op, hash_home_addr(op), claim);
		far_must_end(op->task);
		return err;
	}
	if (op->word[0] == idle)
		return insert_claimed(op, new, claim);
	far_must_end(op->task);
	return insert_lost(op, op->word[0], round);
}

int hash_insert_new(struct hash_op *op, struct hash_new *new)
{
	size_t mark = far_buf_mark(op->task);
	unsigned round;
	int err = -EAGAIN;

	op->present = 0;
	op->torn = 0;
	for (round = 0; err == -EAGAIN; round++) {
		far_buf_release(op->task, mark);
		err = op->hash->variant->insert ? op->hash->variant->insert(op, new) :
						  insert_round(op, new, round);
	}
	if (!err)
		far_sum_add(op->task, op->hash->keys[op->key.shard], 1);
	return err;
}
