/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Batches: up to BATCH items go through each trip together. An item is a machine of few
 * stages. In each round every item appends what its stage needs, all of that is awaited
 * at once, and every item looks at its answers: only then may one wait for more.
 *
 *	get	{READ slot, READ block} by the cache, or {READ, READ}, {READ block}
 *	put	{WRITE block, CAS} by the cache, or
 *		{WRITE block, READ, READ}, {READ key}, {CAS}, or for a new key
 *		{WRITE block, CAS claim, READ, READ}, {CAS slot, CAS release}
 *
 * Whether a put begins with a claim is what the last batch of the table was: new keys
 * or others. A batch holds several claims, and waits for none while it does. What turns
 * out to be not straightforward (a lost CAS, a key that a get does not find) is done
 * again by itself, in the order of the items; so is a put of a hot key, which has to
 * wait for its turn.
 */
#include "hash_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/run.h"

#define BATCH		64u
#define BATCH_BYTES	(1u << 20)	/* of values; one item may have more */
#define ITEM_COST_NS	300u
#define ROUNDS		16u	/* what is not done by then is done alone */
#define SPLITS		4u	/* how often subtables that are full are split */

enum batch_stage {
	BATCH_DONE,		/* item->status is final */
	BATCH_ALONE,		/* to be done by itself */
	BATCH_FULL,		/* when its subtable was split */
	BATCH_HINT,		/* a get, by a cached slot */
	BATCH_PAIR,		/* by its buckets */
	BATCH_CLAIM,		/* by its buckets, behind a claim */
	BATCH_KEYS,		/* the blocks of op.cand */
	BATCH_CAS,		/* op.found is being replaced */
	BATCH_SLOT,		/* an empty slot is being filled */
};

struct batch_op {
	struct hash_op op;
	struct hash_new new;
	int hinted;			/* the cache had something */
	int posted;			/* in this round */
	uint64_t claim;			/* that is held, or may be; 0: none */
	uint64_t slot;			/* far address of the empty one */
	enum batch_stage stage;
};

struct batch {
	struct far_task *task;
	struct far_hash *hash;
	struct far_hash_item *item;
	struct batch_op *op;
	unsigned nr;
	int put;
	int fresh;			/* new keys, less those that were there */
};

static void batch_done(struct batch *batch, unsigned i, int status)
{
	batch->item[i].status = status;
	batch->op[i].stage = BATCH_DONE;
}

static int get_item(struct batch *batch, unsigned i, const struct hash_block *block)
{
	struct far_hash_item *item = &batch->item[i];
	struct form_args args = {
		.room = item->value, .room_len = item->value_len,
		.ret_len = &item->value_len,
	};

	return hash_get_copy(block, &args);
}

static int put_is_fresh(const struct far_hash *hash)
{
	return !hash->variant->insert &&
	       atomic_load_explicit(&hash->puts_fresh, memory_order_relaxed);
}

/* Where an item begins: by the cache, or by its buckets. */
static void stage_first(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	op->hinted = hash_hint_get(&op->op, batch->put);
	if (!op->hinted && !op->op.hinted)
		op->op.hint = (struct hash_hint) { 0 };
	op->op.found = (struct hash_cand) { .addr = op->op.hint.addr, .word = op->op.hint.word };
	if (op->hinted && !(batch->put && op->op.looks))
		op->stage = batch->put ? BATCH_CAS : BATCH_HINT;
	else if (batch->put && !op->hinted && put_is_fresh(batch->hash))
		op->stage = BATCH_CLAIM;
	else
		op->stage = BATCH_PAIR;
}

/* Checks, buffers, new blocks. */
static void batch_start(struct batch *batch, unsigned i)
{
	struct far_hash_item *item = &batch->item[i];
	struct batch_op *op = &batch->op[i];
	int err;

	op->claim = 0;
	op->new.addr = FAR_NIL;
	err = hash_op_init(&op->op, batch->task, batch->hash, item->key, item->key_len);
	if (!err)
		err = hash_op_start(&op->op);
	if (!err)
		hash_locate(&op->op);
	if (!err && batch->put)
		hash_turn_init(&op->op);
	if (!err && batch->put && op->op.queued) {
		op->stage = BATCH_ALONE;
		return;
	}
	if (!err && batch->put)
		err = hash_new_init(&op->op, item->value, item->value_len, &op->new);
	if (!err)
		stage_first(batch, i);
	else if (err == -ENOSPC)
		op->stage = BATCH_ALONE;
	else
		batch_done(batch, i, err);
}

/* True if another item has a claim of the same bucket. */
static int home_is_taken(const struct batch *batch, unsigned i)
{
	uint64_t home = hash_home_addr(&batch->op[i].op);
	unsigned k;

	for (k = 0; k < batch->nr; k++)
		if (batch->op[k].claim && hash_home_addr(&batch->op[k].op) == home)
			return 1;
	return 0;
}

static void append_release(struct batch_op *op)
{
	if (op->claim)
		far_cas(op->op.task, hash_home_addr(&op->op), op->claim,
			op->claim & ~HASH_CLAIM_MASK, NULL);
}

static uint64_t op_idle(const struct hash_op *op)
{
	return hash_idle(op->depth, hash_key_dir(&op->key) & hash_mask(op->depth));
}

/* Waits a round for an item of the same batch. */
static void append_claim(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];
	uint64_t idle = op_idle(&op->op);

	op->posted = !home_is_taken(batch, i);
	if (!op->posted)
		return;
	op->claim = hash_claim_word(&op->op, idle);
	hash_new_write(&op->op, &op->new);
	far_cas(batch->task, hash_home_addr(&op->op), idle, op->claim, &op->op.word[0]);
	hash_pair_read(&op->op);
}

static void append_hint(struct batch *batch, struct batch_op *op)
{
	op->op.cand[0] = op->op.found;
	op->op.nr_cand = 1;
	far_read(batch->task, op->op.hint.addr, op->op.word, sizeof(uint64_t));
	if (hash_cand_read(&op->op, 1))
		op->stage = BATCH_ALONE;
}

/* What the item's stage needs; nothing here waits. */
static void batch_append(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	op->posted = 1;
	switch (op->stage) {
	case BATCH_HINT:
		append_hint(batch, op);
		break;
	case BATCH_PAIR:
		if (batch->put)
			hash_new_write(&op->op, &op->new);
		hash_pair_read(&op->op);
		break;
	case BATCH_CLAIM:
		append_claim(batch, i);
		break;
	case BATCH_KEYS:
		if (hash_cand_read(&op->op, !batch->put))
			op->stage = BATCH_ALONE;
		break;
	case BATCH_CAS:
		hash_new_write(&op->op, &op->new);
		far_cas(batch->task, op->op.found.addr, op->op.found.word, op->new.word,
			op->op.word);
		append_release(op);
		break;
	case BATCH_SLOT:
		far_cas(batch->task, op->slot, 0, op->new.word, &op->op.word[1]);
		append_release(op);
		break;
	default:
		append_release(op);
		break;
	}
}

/* True if the CAS was on what the hint says; if it was not, the slot was READ before. */
static int batch_as_hinted(const struct batch_op *op)
{
	return op->hinted && op->op.found.word == op->op.hint.word;
}

/* After a CAS: done, or alone. */
static void take_cas(struct batch *batch, unsigned i, int err)
{
	struct batch_op *op = &batch->op[i];
	int done;

	op->stage = BATCH_ALONE;
	done = err ? hash_replace_fate(&op->op, op->new.word)
		   : op->op.word[0] == op->op.found.word;
	if (op->hinted && !err)
		hash_hint_judge(&op->op, done && batch_as_hinted(op));
	if (!err && !done && !batch_as_hinted(op))
		far_turns_lost(op->op.hash->turns, op->op.key.first);
	if (done > 0)
		hash_replace_done(&op->op, &op->new);
	if (done)
		batch_done(batch, i, done < 0 ? done : 0);
	batch->fresh--;
}

/* After that of an empty slot. */
static void take_slot(struct batch *batch, unsigned i, int err)
{
	struct batch_op *op = &batch->op[i];

	if (err)
		err = hash_fill_fate(&op->op, &op->new, op->slot, err);
	else if (op->op.word[1])
		err = -EAGAIN;
	op->stage = BATCH_ALONE;
	if (err == -EAGAIN)
		return;
	if (!err) {
		hash_remember(&op->op, op->slot, op->new.word, op->new.birth);
		far_sum_add(batch->task, batch->hash->keys[op->op.key.shard], 1);
	}
	batch_done(batch, i, err);
	batch->fresh++;
}

/* An empty slot that no other item fills. */
static uint64_t slot_choose(struct batch *batch, struct hash_op *op)
{
	uint64_t slot;
	unsigned k;

	do {
		slot = hash_insert_room(op);
		for (k = 0; slot && k < batch->nr; k++)
			if (batch->op[k].stage == BATCH_SLOT && batch->op[k].slot == slot)
				break;
		if (slot && k < batch->nr)
			hash_pair_fill(op, slot);
	} while (slot && k < batch->nr);
	return slot;
}

/* Nobody else can add the key: it gets a slot. */
static void stage_slot(struct batch *batch, struct batch_op *op)
{
	op->slot = slot_choose(batch, &op->op);
	op->stage = op->slot ? BATCH_SLOT : BATCH_FULL;
}

static void take_pair(struct batch *batch, struct batch_op *op)
{
	hash_pair_scan(&op->op);
	if (op->op.nr_cand)
		op->stage = BATCH_KEYS;
	else if (op->claim)
		stage_slot(batch, op);
	else
		op->stage = batch->put && !batch->hash->variant->insert ?
			    BATCH_CLAIM : BATCH_ALONE;
}

static void take_claim(struct batch *batch, struct batch_op *op)
{
	uint64_t header = op->op.word[0];
	unsigned depth = hash_depth(header);

	if (header == op_idle(&op->op)) {
		take_pair(batch, op);
		return;
	}
	op->claim = 0;
	/* deeper than was known, and still the key's */
	if (!hash_header_fits(&op->op, header) || depth <= op->op.depth ||
	    hash_moved(hash_key_dir(&op->op.key), op->op.depth, depth) >= 0)
		op->stage = BATCH_ALONE;
	else
		op->op.depth = depth;
}

static void take_keys(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];
	int err = hash_cand_match(&op->op, !batch->put);

	if (err == -ENOENT && op->claim) {
		stage_slot(batch, op);
	} else if (err == -ENOENT && batch->put && !batch->hash->variant->insert) {
		op->stage = BATCH_CLAIM;
	} else if (err || op->op.found.word & HASH_FROZEN) {
		op->stage = BATCH_ALONE;
	} else if (batch->put) {
		op->stage = BATCH_CAS;
	} else {
		hash_remember(&op->op, op->op.found.addr, op->op.found.word, op->op.age);
		batch_done(batch, i, get_item(batch, i, op->op.found.block));
	}
}

static void take_hint(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	op->stage = BATCH_ALONE;
	if (op->op.word[0] == op->op.hint.word && !hash_cand_match(&op->op, 1))
		batch_done(batch, i, get_item(batch, i, op->op.found.block));
}

/* The answers of an item. Nothing is appended meanwhile: what waits here disturbs none. */
static void take_answer(struct batch *batch, unsigned i)
{
	struct batch_op *op = &batch->op[i];

	switch (op->stage) {
	case BATCH_HINT:
		take_hint(batch, i);
		break;
	case BATCH_PAIR:
		take_pair(batch, op);
		break;
	case BATCH_CLAIM:
		take_claim(batch, op);
		break;
	case BATCH_KEYS:
		take_keys(batch, i);
		break;
	case BATCH_CAS:
		op->claim = 0;
		take_cas(batch, i, 0);
		break;
	case BATCH_SLOT:
		op->claim = 0;
		take_slot(batch, i, 0);
		break;
	default:
		op->claim = 0;
		break;
	}
}

/* A trip that failed leaves everything to single operations, but what may have changed. */
static void take_failure(struct batch *batch, unsigned i, int err)
{
	struct batch_op *op = &batch->op[i];
	uint64_t home = hash_home_addr(&op->op), claim = op->claim;

	op->claim = 0;
	if (err == -ESTALE) {
		op->op.unsure = op->stage == BATCH_CAS || op->stage == BATCH_SLOT;
		if (op->stage != BATCH_DONE)
			batch_done(batch, i, form_fate(err, op->op.unsure));
		return;
	}
	if (op->stage == BATCH_CAS)
		take_cas(batch, i, err);
	else if (op->stage == BATCH_SLOT)
		take_slot(batch, i, err);
	else if (op->stage != BATCH_DONE && op->stage != BATCH_FULL)
		op->stage = BATCH_ALONE;
	if (claim)
		hash_claim_release(&op->op, home, claim);
}

static int op_is_active(const struct batch_op *op)
{
	return op->claim || op->stage > BATCH_FULL;
}

/* Items that have no claim end when the batch is late; others go on until it is given back. */
static void batch_hurry(struct batch *batch)
{
	unsigned i;

	if (!far_op_is_late(batch->task))
		return;
	for (i = 0; i < batch->nr; i++)
		if (batch->op[i].stage != BATCH_DONE && !batch->op[i].claim)
			batch_done(batch, i, -ETIME);
}

/* Until no item has anything to do. */
static void batch_rounds(struct batch *batch)
{
	unsigned round, active, i;
	int err;

	for (round = 0; ; round++) {
		batch_hurry(batch);
		for (i = active = 0; i < batch->nr; i++) {
			struct batch_op *op = &batch->op[i];

			op->posted = 0;
			if (round >= ROUNDS && op->stage > BATCH_FULL)
				op->stage = BATCH_ALONE;
			if (op_is_active(op))
				batch_append(batch, i);
			active += op->posted;
		}
		if (!active)
			return;
		/* what has a claim, or a CAS on its way, is finished, whatever the time */
		far_must_begin(batch->task);
		err = far_sync(batch->task);
		for (i = 0; i < batch->nr; i++)
			if (batch->op[i].posted && err)
				take_failure(batch, i, err);
			else if (batch->op[i].posted)
				take_answer(batch, i);
		far_must_end(batch->task);
	}
}

/* No item has a claim now: a split waits for these. How many items go on. */
static unsigned batch_split(struct batch *batch)
{
	unsigned again = 0, i;

	for (i = 0; i < batch->nr; i++) {
		struct batch_op *op = &batch->op[i];
		uint64_t sub = op->op.sub;
		unsigned depth = op->op.depth;
		int err = 0;

		if (op->stage != BATCH_FULL)
			continue;
		hash_locate(&op->op);
		if (op->op.sub == sub && op->op.depth <= depth)
			err = hash_split(batch->task, batch->hash, op->op.key.shard, sub,
					 hash_key_dir(&op->op.key) & hash_mask(depth),
					 depth);
		hash_locate(&op->op);
		op->stage = err ? BATCH_ALONE : BATCH_CLAIM;
		again += !err;
	}
	return again;
}

static void batch_trips(struct batch *batch)
{
	unsigned splits, i;

	for (i = 0; i < batch->nr; i++)
		batch_start(batch, i);
	batch_rounds(batch);
	for (splits = 0; splits < SPLITS && batch_split(batch); splits++)
		batch_rounds(batch);
	if (batch->put && batch->fresh)
		atomic_store_explicit(&batch->hash->puts_fresh, batch->fresh > 0,
				      memory_order_relaxed);
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

	if (batch->op[i].stage == BATCH_DONE)
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

/* How many of these go together. */
static unsigned batch_size(const struct far_hash_item *item, size_t nr)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < BATCH && i < nr; i++) {
		bytes += item[i].value_len;
		if (i && bytes > BATCH_BYTES)
			break;
	}
	return i;
}

static int batch_all(struct far_task *task, struct far_hash *hash,
		     struct far_hash_item *item, size_t nr, int put)
{
	struct batch batch = { .task = task, .hash = hash, .put = put };
	size_t at, i;
	int err = 0;

	if (!nr)
		return 0;
	batch.op = malloc((nr < BATCH ? nr : BATCH) * sizeof(*batch.op));
	if (!batch.op) {
		items_fail(item, nr, -ENOMEM);
		return -ENOMEM;
	}
	err = far_op_begin(task);
	if (err) {
		items_fail(item, nr, err);
		free(batch.op);
		return err;
	}
	for (at = 0; at < nr && !err; at += batch.nr) {
		far_op_renew(task);
		batch.item = &item[at];
		batch.nr = batch_size(batch.item, nr - at);
		batch.fresh = 0;
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
