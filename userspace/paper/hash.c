// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table as others published it: see hash.h.
 */
#include "hash.h"

#include "../hash/hash_priv.h"

/* True if the key belongs where it was looked for, and no split is under way there. */
static int race_settled(const struct hash_op *op)
{
	uint64_t header = hash_home_header(op);

	return !(header & HASH_MOVING) &&
	       hash_moved(hash_key_dir(&op->key), op->depth, hash_depth(header)) < 0;
}

/* Takes back what was put in a slot; err if that is still there. */
static int race_undo(struct hash_op *op, uint64_t slot, uint64_t word, int err)
{
	int failed;

	far_cas(op->task, slot, word, 0, &op->word[1]);
	failed = far_sync(op->task);
	if (failed) {
		op->unsure = 1;
		return failed;
	}
	return op->word[1] == word ? err : 0;
}

/* The third trip: if the key is there twice, the later slot is emptied. */
static int race_recheck(struct hash_op *op, uint64_t slot, uint64_t word)
{
	unsigned i;
	int err;

	hash_pair_read(op);
	err = far_sync(op->task);
	if (!err)
		err = hash_pair_match(op, 0);
	if (err && err != -ENOENT)
		return err;
	if (!race_settled(op))
		return race_undo(op, slot, word, -EAGAIN);
	if (err || op->found.addr == slot)
		return 0;
	for (i = 0; i < op->nr_cand; i++)
		if (op->cand[i].addr == slot)
			return race_undo(op, slot, word, -EEXIST);
	return 0;
}

/*
 * The published insert: {WRITE, READ, READ}, {CAS}, {READ, READ}. Between the second
 * and the third trip others may see what the third one takes back.
 */
static int race_insert(struct hash_op *op, struct hash_new *new)
{
	uint64_t slot;
	int err;

	hash_new_write(op, new);
	err = hash_find(op, 0);
	if (err != -ENOENT)
		return err ? err : -EEXIST;
	slot = hash_insert_room(op);
	if (!slot || !race_settled(op)) {
		if (!hash_header_fits(op, hash_home_header(op)))
			return -EBADMSG;
		err = hash_insert_split(op, hash_depth(hash_home_header(op)));
		return err ? err : -EAGAIN;
	}
	far_must_begin(op->task);
	far_cas(op->task, slot, 0, new->word, &op->word[1]);
	err = far_sync(op->task);
	op->unsure = !!err;
	if (!err)
		err = op->word[1] ? -EAGAIN : race_recheck(op, slot, new->word);
	far_must_end(op->task);
	return err;
}

/* Operations that the published window would take in besides. */
static void late_window(struct far_combine_batch *batch)
{
	if (batch->kind == FAR_COMBINE_GET)
		far_combine_again(batch);
	else
		far_combine_publish(batch);
}

static const struct hash_variant_ops variants[] = {
	[HASH_OURS] = { 0 },
	[HASH_RACE] = { .insert = race_insert },
	[HASH_BLIND_CACHE] = { .blind = true },
	[HASH_LATE_WINDOW] = { .window = late_window },
	[HASH_TWICE] = { .twice = true },
};

void hash_set_variant(struct far_hash *hash, enum hash_variant variant)
{
	hash->variant = &variants[variant];
	if (variant == HASH_RACE) {
		hash_cache_free(hash->cache);
		hash->cache = NULL;
		far_turns_free(hash->turns);
		hash->turns = NULL;
		far_combine_free(hash->combine);
		hash->combine = NULL;
	}
}
