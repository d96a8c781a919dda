// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A change by a function of what the key has:
 *
 *	with a cached slot	{READ slot, READ block} {WRITE block, CAS}
 *	without			{READ, READ} {READ block} {WRITE block, CAS}
 *	in its turn		{FAA, READ turn, READ slot} {READ block}
 *				{WRITE block, CAS, CAS turn}
 *	of a key that is absent	{READ, READ}, then as an insert
 *
 * The CAS succeeds only while the key has what the function was shown: as long as the slot
 * has the word that was read. An insert finds the key absent under its claim. So what the
 * function has said is published at most once, and the one that lost asks it again.
 */
#include "hash_priv.h"

#include <errno.h>

#include "../core/alloc.h"
#include "../core/stats.h"

/* The slot in which the key was last, with the block that was there, or is now. */
static int slot_look(struct hash_op *op)
{
	struct hash_cand last = op->found;
	int err;

	hash_deciding(op);
	if (op->queued && !op->turn.held) {
		err = hash_turn_take(op);
		return err ? err : hash_verify(op, last.addr, op->word[0], 1);
	}
	op->nr_cand = 1;
	op->cand[0] = (struct hash_cand) { .addr = last.addr, .word = last.word };
	far_read(op->task, last.addr, op->word, sizeof(*op->word));
	err = hash_cand_read(op, 1);
	if (!err)
		err = far_sync(op->task);
	if (err)
		return err;
	if (op->word[0] == last.word)
		return hash_cand_match(op, 1);
	return hash_verify(op, last.addr, op->word[0], 1);
}

/* The same, if something is known of a slot; -ENOENT: the key may be elsewhere. */
static int known_look(struct hash_op *op)
{
	int known = op->found.addr != FAR_NIL;
	int err;

	if (!known && hash_hint_get(op, 0)) {
		op->found.addr = op->hint.addr;
		op->found.word = op->hint.word;
	}
	if (op->found.addr == FAR_NIL || !op->found.word || op->found.word & HASH_FROZEN)
		return -ENOENT;
	err = slot_look(op);
	/* what is frozen may have moved */
	if (err == -EAGAIN || (!err && op->found.word & HASH_FROZEN))
		err = -ENOENT;
	if (!known && op->hash->cache)
		far_count(op->task, err ? FAR_COUNT_CACHE_MISSES : FAR_COUNT_CACHE_HITS, 1);
	if (err == -ENOENT)
		hash_hint_drop(op);
	return err;
}

/*
 * What the key has: op->found, whose block is whole, or -ENOENT. -EAGAIN: it is found, and
 * to be looked at in the operation's turn.
 */
static int modify_look(struct hash_op *op)
{
	int err = known_look(op);

	if (err == -ENOENT)
		err = hash_find(op, 1);
	while (!err && op->found.word & HASH_FROZEN)
		err = hash_replace_thaw(op, 1);
	return !err && op->queued && !op->turn.held ? -EAGAIN : err;
}

/* Publishes what the key comes to. -EAGAIN: it has something else by now. */
static int modify_publish(struct hash_op *op, const struct far_state *state)
{
	struct hash_new new;
	int err;

	if (!state->present)
		return hash_replace_try(op, NULL);
	err = hash_new_init(op, state->value, state->len, &new);
	if (err)
		return err;
	if (state->was) {
		err = hash_replace_try(op, &new);
	} else {
		far_turn_pass(op->task, &op->turn);
		err = hash_insert_new(op, &new);
	}
	if (err && !op->unsure)
		hash_new_drop(op, &new);
	return err == -EEXIST ? -EAGAIN : err;
}

static int modify_once(struct hash_op *op, const struct form_args *args)
{
	const struct hash_block *block;
	struct far_state state;
	int there, err;

	err = modify_look(op);
	if (err && err != -ENOENT)
		return err;
	there = !err;
	block = op->found.block;
	state = there ? far_state_read(block->data + block->key_len, block->val_len) :
			far_state_read(NULL, 0);
	err = form_modify(op->batch, args->modify, &state);
	if (!err && far_state_publishes(&state))
		err = modify_publish(op, &state);
	else if (there)
		hash_remember(op, op->found.addr, op->found.word, op->age);
	op->present = there;
	return err;
}

int hash_modify(struct hash_op *op, const struct form_args *args)
{
	size_t mark = far_buf_mark(op->task);
	int err;

	op->found.addr = FAR_NIL;
	do {
		far_buf_release(op->task, mark);
		err = modify_once(op, args);
	} while (err == -EAGAIN);
	if (err && op->unsure)
		far_alloc_lost(op->task);
	return err;
}

int far_hash_modify(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len, far_modify_fn *modify, void *arg)
{
	const struct far_modify function = {
		.function = modify, .arg = arg, .most = FAR_HASH_MAX_VALUE,
	};
	struct form_args args = { .kind = FAR_COMBINE_MODIFY, .modify = &function };

	return hash_do(task, hash, key, key_len, &args);
}
