/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns at hot keys, as an operation takes them.
 *
 *	a key that is cold	{WRITE block, CAS slot}
 *	one that is hot		{FAA, READ turn, READ slot}, as often as it takes
 *				{READ block} if the slot has changed
 *				{WRITE block, CAS slot, CAS turn}
 *
 * Other keys may have the same turn: then they wait for each other, and that is all.
 */
#include "hash_priv.h"

#include <errno.h>

/* True if changes of the key are made in turns. */
static int turn_hot(const struct hash_op *op)
{
	return far_turns_hot(op->hash->turns, op->key.first);
}

void hash_turn_init(struct hash_op *op)
{
	op->turn = (struct far_turn) {
		.addr = op->hash->turn_at[op->key.shard] + hash_turn_off(op->key.first),
		.seen = (struct far_turn_seen *)(op->word + HASH_OP_WORDS),
	};
	op->queued = turn_hot(op);
	op->patient = 0;
}

static void turn_look(void *arg)
{
	struct hash_op *op = arg;

	far_read(op->task, op->found.addr, op->word, sizeof(*op->word));
}

int hash_turn_take(struct hash_op *op)
{
	return far_turn_take(op->task, &op->turn, turn_look, op);
}

void hash_turn_end(struct hash_op *op)
{
	if (op->turn.held) {
		far_must_begin(op->task);
		far_turn_pass(op->task, &op->turn);
		/* if it has failed, the others pass it over */
		(void)far_sync(op->task);
		far_must_end(op->task);
	}
	far_turns_done(op->hash->turns, op->key.first, &op->turn);
}
