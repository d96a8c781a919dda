/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Batches: up to BATCH items go through each trip together. What turns out to be not
 * straightforward (a split, a lost CAS, a key that is not there) is done again by
 * itself, in the order of the items; so is a put of a hot key, which has to wait for its
 * turn.
 */
#include "priv.h"

#include <errno.h>
#include <stdlib.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "../core/task.h"

#define BATCH		16u
#define ITEM_COST_NS	300u

enum batch_stage {
	BATCH_DONE,		/* item->status is final */
	BATCH_ALONE,		/* to be done by itself */
	BATCH_HINT,		/* by a cached slot */
	BATCH_PAIR,		/* by its buckets */
	BATCH_CAS,		/* op.found is being replaced */
};

struct batch_op {
	struct hash_op op;
	struct hash_new new;
	struct hash_hint hint;
	int hinted;			/* there was one */
	enum batch_stage stage;
};

struct batch {
	struct far_task *task;
	struct far_hash *hash;
	struct far_hash_item *item;
	struct batch_op *op;
	unsigned nr;
	int put;
};

static void batch_done(struct batch *batch, unsigned i, int status)
{
	batch->item[i].status = status;
	batch->op[i].stage = BATCH_DONE;
}

static int get_item(struct batch *batch, unsigned i, const struct hash_block *block)
{
	struct far_hash_item *item = &batch->item[i];
	struct hash_args args = {
		.room = item->value, .room_len = item->value_len,
		.ret_len = &item->value_len,
	};

	return hash_get_copy(block, &args);
}

/* Checks, buffers, new blocks. */
static void batch_start(struct batch *batch, unsigned i)
{
	struct far_hash_item *item = &batch->item[i];
	struct batch_op *op = &batch->op[i];
	int err;

	err = hash_op_init(&op->op, batch->task, batch->hash, item->key, item->key_len);
	if (!err)
		err = hash_op_start(&op->op);
	if (!err && batch->put && op->op.queued) {
		op->stage = BATCH_ALONE;
		return;
	}
	if (!err && batch->put)
		err = hash_new_init(&op->op, item->value, item->value_len, &op->new);
	op->stage = BATCH_PAIR;
	if (err == -ENOSPC)
		op->stage = BATCH_ALONE;
	else if (err)
		batch_done(batch, i, err);
}

/* The first trip of an item. */
static void batch_first(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	if (op->stage != BATCH_PAIR)
		return;
	if (batch->put)
		hash_new_write(&op->op, &op->new);
	op->hinted = hash_hint_get(&op->op, batch->put, &op->hint);
	if (!op->hinted || (batch->put && op->op.looks)) {
		hash_pair_read(&op->op);
		return;
	}
	op->op.found = (struct hash_cand) { .addr = op->hint.addr, .word = op->hint.word };
	if (batch->put) {
		op->stage = BATCH_CAS;
		far_cas(batch->task, op->hint.addr, op->hint.word, op->new.word,
			op->op.word);
		return;
	}
	op->stage = BATCH_HINT;
	op->op.cand[0] = op->op.found;
	op->op.nr_cand = 1;
	far_read(batch->task, op->hint.addr, op->op.word, sizeof(uint64_t));
	if (hash_cand_read(&op->op, 1))
		op->stage = BATCH_ALONE;
}

/* Whether the CAS was on what the hint says; if it was not, the slot was READ before. */
static int batch_as_hinted(const struct batch_op *op)
{
	return op->hinted && op->op.found.word == op->hint.word;
}

/* After a CAS: done, or alone. err: of the far_sync(). */
static void batch_cas_done(struct batch *batch, unsigned i, int err)
{
	struct batch_op *op = &batch->op[i];
	int done;

	if (op->stage != BATCH_CAS)
		return;
	op->stage = BATCH_ALONE;
	if (err == -ESTALE) {
		op->op.unsure = 1;
		batch_done(batch, i, err);
		return;
	}
	done = err ? hash_replace_fate(&op->op, op->new.word)
		   : op->op.word[0] == op->op.found.word;
	if (op->hinted && !err)
		hash_hint_judge(&op->op, &op->hint, done && batch_as_hinted(op));
	if (!err && !done && !batch_as_hinted(op))
		far_turns_lost(op->op.hash->turns, op->op.key.first);
	if (done > 0)
		hash_replace_done(&op->op, &op->new);
	if (done)
		batch_done(batch, i, done < 0 ? done : 0);
}

/* After the first trip; appends the second one. */
static void batch_second(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	if (op->stage == BATCH_HINT) {
		op->stage = BATCH_ALONE;
		if (op->op.word[0] == op->hint.word && !hash_cand_match(&op->op, 1))
			batch_done(batch, i, get_item(batch, i, op->op.found.block));
	} else if (op->stage == BATCH_PAIR) {
		hash_pair_scan(&op->op);
		if (!op->op.nr_cand || hash_cand_read(&op->op, !batch->put))
			op->stage = BATCH_ALONE;
	}
}

/* After the second; appends the CASes of puts. */
static void batch_third(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	if (op->stage != BATCH_PAIR)
		return;
	op->stage = BATCH_ALONE;
	if (hash_cand_match(&op->op, !batch->put) || op->op.found.word & HASH_FROZEN)
		return;
	if (!batch->put) {
		hash_remember(&op->op, op->op.found.addr, op->op.found.word,
			      op->op.found.block);
		batch_done(batch, i, get_item(batch, i, op->op.found.block));
		return;
	}
	op->stage = BATCH_CAS;
	far_cas(batch->task, op->op.found.addr, op->op.found.word, op->new.word,
		op->op.word);
}

/* A trip that failed leaves everything to single operations. */
static int batch_sync(struct batch *batch)
{
	int err = far_sync(batch->task);
	unsigned i;

	for (i = 0; i < batch->nr; i++) {
		if (err && (batch->op[i].stage == BATCH_PAIR ||
			    batch->op[i].stage == BATCH_HINT))
			batch->op[i].stage = BATCH_ALONE;
	}
	return err;
}

static void batch_trips(struct batch *batch)
{
	unsigned i;
	int err;

	for (i = 0; i < batch->nr; i++)
		batch_start(batch, i);
	for (i = 0; i < batch->nr; i++)
		batch_first(batch, i);
	err = batch_sync(batch);
	for (i = 0; i < batch->nr; i++)
		batch_cas_done(batch, i, err);
	for (i = 0; i < batch->nr; i++)
		batch_second(batch, i);
	batch_sync(batch);
	for (i = 0; i < batch->nr; i++)
		batch_third(batch, i);
	err = batch_sync(batch);
	for (i = 0; i < batch->nr; i++)
		batch_cas_done(batch, i, err);
}

/* New blocks that no slot names; single operations make their own. */
static void batch_drop(struct batch *batch)
{
	unsigned i;

	for (i = 0; i < batch->nr; i++) {
		struct batch_op *op = &batch->op[i];

		if (!batch->put || !op->new.addr ||
		    (op->stage == BATCH_DONE && !batch->item[i].status))
			continue;
		if (op->op.unsure)
			far_alloc_lost(batch->task);
		else
			hash_new_drop(&op->op, &op->new);
	}
}

static void batch_alone(struct batch *batch, unsigned i)
{
	struct far_hash_item *item = &batch->item[i];

	if (batch->op[i].stage != BATCH_ALONE)
		return;
	if (batch->put)
		item->status = far_hash_put(batch->task, batch->hash, item->key,
					    item->key_len, item->value, item->value_len);
	else
		item->status = far_hash_get(batch->task, batch->hash, item->key,
					    item->key_len, item->value, item->value_len,
					    &item->value_len);
}

static int batch_run(struct batch *batch)
{
	size_t mark = far_buf_mark(batch->task);
	unsigned i;
	int err;

	far_spend(batch->task, (uint64_t)batch->nr * ITEM_COST_NS * (1 + batch->put));
	err = far_epoch_enter(batch->task);
	if (err)
		return err;
	batch_trips(batch);
	batch_drop(batch);
	far_buf_release(batch->task, mark);
	far_epoch_exit(batch->task);
	for (i = 0; i < batch->nr; i++)
		batch_alone(batch, i);
	return 0;
}

/* Items that nobody has begun. */
static void items_fail(struct far_hash_item *item, size_t nr, int err)
{
	while (nr--)
		item++->status = err;
}

static int batch_all(struct far_task *task, struct far_hash *hash,
		     struct far_hash_item *item, size_t nr, int put)
{
	struct batch batch = { .task = task, .hash = hash, .put = put };
	size_t at, i;
	int err = 0;

	batch.op = malloc(BATCH * sizeof(*batch.op));
	if (!batch.op) {
		items_fail(item, nr, -ENOMEM);
		return -ENOMEM;
	}
	far_op_begin(task);
	for (at = 0; at < nr && !err; at += batch.nr) {
		batch.item = &item[at];
		batch.nr = nr - at < BATCH ? nr - at : BATCH;
		for (i = 0; i < batch.nr; i++)
			batch.op[i].new.addr = FAR_NIL;
		err = batch_run(&batch);
		if (err)
			items_fail(&item[at], nr - at, err);
	}
	far_op_end(task);
	free(batch.op);
	for (i = 0; i < nr && !err; i++)
		err = item[i].status;
	return err;
}

int far_hash_mget(struct far_task *task, struct far_hash *hash,
		  struct far_hash_item *item, size_t nr)
{
	return batch_all(task, hash, item, nr, 0);
}

int far_hash_mput(struct far_task *task, struct far_hash *hash,
		  struct far_hash_item *item, size_t nr)
{
	return batch_all(task, hash, item, nr, 1);
}
