/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Combining: who leads, who joins, who is woken.
 *
 * A bucket's word is 0 when no batch of it is in flight; else it is BUSY, and points
 * to the operations that have joined since the leader looked last, the last one first.
 * Joining is a push by CAS. Only the leader takes them out, all at once, so that a
 * push needs to know nothing of what it is pushed upon. What the leader has taken is
 * its own.
 *
 *	0 --begin (leads)--> BUSY --begin--> BUSY + operations --leader takes--> BUSY
 *	BUSY --end, nobody is left--> 0
 *	BUSY --end, somebody is left--> BUSY, and the first of them leads
 *
 * An operation that waits:
 *
 *	AWAKE --its task--> ASLEEP --leader--> DONE, ALONE, LEAD (and is resumed)
 *	AWAKE --leader--> DONE, ALONE, LEAD
 *
 * A task sleeps once per ASLEEP and is resumed once, so that whoever resumes it never
 * touches a task that has gone on without.
 */
#include "combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine_plan.h"
#include "stats.h"
#include "task.h"

/* Processor time for the model: a push, and an answer with the waking of its task. */
#define JOIN_NS		20u
#define ANSWER_NS	40u

#define BUSY		((uintptr_t)1)

/* What far_combine_op.state is beyond enum far_combine_how. */
enum { STATE_AWAKE = FAR_COMBINE_LEAD + 1, STATE_ASLEEP };

struct bucket {
	_Atomic uintptr_t word;
	_Atomic uint64_t hash;		/* of who leads: a hint, it may be somebody else's */
};

struct far_combine_table {
	uint64_t mask;
	struct bucket bucket[];
};

int far_combine_new(unsigned size, struct far_combine_table **ret_table)
{
	struct far_combine_table *table;
	size_t nr = 1;

	while (nr < size)
		nr *= 2;
	table = calloc(1, sizeof(*table) + nr * sizeof(table->bucket[0]));
	if (!table)
		return -ENOMEM;
	table->mask = nr - 1;
	*ret_table = table;
	return 0;
}

void far_combine_free(struct far_combine_table *table)
{
	free(table);
}

static struct bucket *bucket_of(struct far_combine_table *table,
				const struct far_combine_op *op)
{
	return &table->bucket[op->hash & table->mask];
}

static struct far_combine_op *word_op(uintptr_t word)
{
	return (struct far_combine_op *)(word & ~BUSY);
}

static int op_same_key(const struct far_combine_op *a, const struct far_combine_op *b)
{
	return a->hash == b->hash && a->structure == b->structure &&
	       a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len);
}

/* Tells an operation how it goes on. Its memory is not ours any more after this. */
static void op_tell(struct far_combine_op *op, enum far_combine_how how)
{
	struct far_task *task = op->task;

	if (atomic_exchange(&op->state, how) == STATE_ASLEEP)
		far_task_resume(task);
}

static enum far_combine_how op_wait(struct far_combine_op *op)
{
	int state = STATE_AWAKE;

	if (atomic_compare_exchange_strong(&op->state, &state, STATE_ASLEEP))
		do {
			far_task_suspend(op->task);
			state = atomic_load(&op->state);
		} while (state == STATE_ASLEEP);
	return state;
}

/* Takes what has joined, in order of arrival. */
static struct far_combine_op *bucket_take(struct bucket *bucket)
{
	struct far_combine_op *op, *before = NULL;
	uintptr_t word = atomic_load_explicit(&bucket->word, memory_order_relaxed);

	if (word == BUSY)
		return NULL;
	/* Acquire pairs with the release of the pushes. */
	word = atomic_exchange_explicit(&bucket->word, BUSY, memory_order_acq_rel);
	op = word_op(word);
	while (op) {
		struct far_combine_op *next = op->next;

		op->next = before;
		before = op;
		op = next;
	}
	return before;
}

static void batch_add(struct far_combine_batch *batch, struct far_combine_op *op)
{
	op->part = COMBINE_NEW;
	op->seen = 0;
	op->next = NULL;
	if (batch->last)
		batch->last->next = op;
	else
		batch->first = op;
	batch->last = op;
}

/* Takes in a list. An operation of another key goes alone. */
static void batch_join(struct far_combine_batch *batch, struct far_combine_op *op)
{
	while (op) {
		struct far_combine_op *next = op->next;

		if (op_same_key(op, batch->own))
			batch_add(batch, op);
		else
			op_tell(op, FAR_COMBINE_ALONE);
		op = next;
	}
}

static void batch_take(struct far_combine_batch *batch)
{
	batch_join(batch, bucket_take(bucket_of(batch->table, batch->own)));
}

/* own leads, and the list begins with it. */
static void batch_init(struct far_combine_batch *batch, struct far_task *task,
		       struct far_combine_table *table, struct far_combine_op *own)
{
	*batch = (struct far_combine_batch) { .task = task, .table = table, .own = own };
	batch_join(batch, own);
}

/* Leads, joins, or neither. */
static enum far_combine_how bucket_enter(struct bucket *bucket,
					 struct far_combine_op *op, int *ret_joined)
{
	uintptr_t word = atomic_load_explicit(&bucket->word, memory_order_relaxed);
	uintptr_t mine;

	do {
		if (word && atomic_load_explicit(&bucket->hash, memory_order_relaxed) !=
			    op->hash)
			return FAR_COMBINE_ALONE;
		mine = word ? (uintptr_t)op | BUSY : BUSY;
		op->next = word_op(word);
	} while (!atomic_compare_exchange_weak_explicit(&bucket->word, &word, mine,
							memory_order_acq_rel,
							memory_order_relaxed));
	*ret_joined = word != 0;
	if (!word)
		atomic_store_explicit(&bucket->hash, op->hash, memory_order_relaxed);
	return FAR_COMBINE_LEAD;
}

enum far_combine_how far_combine_begin(struct far_task *task,
				       struct far_combine_table *table,
				       struct far_combine_op *op,
				       struct far_combine_batch *batch)
{
	enum far_combine_how how;
	int joined;

	if (!table)
		return FAR_COMBINE_ALONE;
	far_spend(task, JOIN_NS);
	op->task = task;
	op->part = COMBINE_NEW;
	op->seen = 0;
	atomic_store_explicit(&op->state, STATE_AWAKE, memory_order_relaxed);
	how = bucket_enter(bucket_of(table, op), op, &joined);
	if (how == FAR_COMBINE_LEAD && joined)
		how = op_wait(op);
	if (how == FAR_COMBINE_LEAD)
		batch_init(batch, task, table, op);
	return how;
}

void far_combine_again(struct far_combine_batch *batch)
{
	struct far_combine_op *op;

	batch_take(batch);
	for (op = batch->first; op; op = op->next)
		op->seen = 1;
}

void far_combine_plan(struct far_combine_batch *batch)
{
	far_combine_again(batch);
	far_combine_fold(batch);
}

void far_combine_publish(struct far_combine_batch *batch)
{
	struct far_combine_op *op;

	batch_take(batch);
	for (op = batch->first; op; op = op->next)
		if (op->part == COMBINE_NEW && op->kind != FAR_COMBINE_GET &&
		    far_combine_fits(batch, op))
			op->part = COMBINE_LATE;
}

/* What was to be overwritten by a write that does not happen is still to be done. */
static void batch_unlate(struct far_combine_batch *batch)
{
	struct far_combine_op *op;

	for (op = batch->first; op; op = op->next)
		if (op->part == COMBINE_LATE)
			op->part = COMBINE_NEW;
}

void far_combine_lost(struct far_combine_batch *batch)
{
	struct far_combine_op *op;

	batch_unlate(batch);
	/* All of them came before the CAS that has read was posted. */
	for (op = batch->first; op; op = op->next)
		op->seen = 1;
}

static void get_answer(struct far_combine_op *op, int present, const void *value,
		       size_t len)
{
	op->len = present ? len : 0;
	op->status = !present ? -ENOENT : len > op->room_len ? -EMSGSIZE : 0;
	if (!op->status && len)
		memcpy(op->room, value, len);
}

/* How an operation of a batch that went well goes on; FAR_COMBINE_LEAD: it remains. */
static enum far_combine_how answer(const struct far_combine_batch *batch,
				   struct far_combine_op *op,
				   const struct far_combine_result *result)
{
	const struct far_combine_op *source = batch->source;

	if (op->kind != FAR_COMBINE_GET)
		return op->part == COMBINE_NEW ? FAR_COMBINE_LEAD : FAR_COMBINE_DONE;
	if (result->published) {
		get_answer(op, source->kind != FAR_COMBINE_DELETE, source->value,
			   source->value_len);
		return FAR_COMBINE_DONE;
	}
	if (!op->seen || (result->present && !result->value))
		return FAR_COMBINE_LEAD;
	get_answer(op, result->present, result->value, result->value_len);
	return FAR_COMBINE_DONE;
}

/* The same of one that failed. */
static enum far_combine_how answer_failed(const struct far_combine_batch *batch,
					  struct far_combine_op *op,
					  const struct far_combine_result *result)
{
	if (op->kind == FAR_COMBINE_GET) {
		if (result->unknown || !op->seen)
			return FAR_COMBINE_LEAD;
		return FAR_COMBINE_ALONE;
	}
	if (op->part == COMBINE_NEW)
		return FAR_COMBINE_LEAD;
	if (!result->unknown)
		return FAR_COMBINE_ALONE;
	op->status = result->err;
	return FAR_COMBINE_DONE;
}

/* The bucket has no leader any more, or op does, with the list that begins with it. */
static void bucket_pass(struct bucket *bucket, struct far_combine_op *op)
{
	uintptr_t word = BUSY;

	while (!op) {
		if (atomic_compare_exchange_strong_explicit(&bucket->word, &word, 0,
							    memory_order_release,
							    memory_order_relaxed))
			return;
		op = bucket_take(bucket);
		word = BUSY;
	}
	atomic_store_explicit(&bucket->hash, op->hash, memory_order_relaxed);
	op_tell(op, FAR_COMBINE_LEAD);
}

/* Decides how each operation goes on, and copies values while they are still there. */
static void batch_decide(struct far_combine_batch *batch,
			 const struct far_combine_result *result)
{
	struct far_combine_op *op;

	if (!result->err && !result->published)
		batch_unlate(batch);
	if (!result->err)
		far_combine_answer(batch, result->present);
	batch->carried = 0;
	for (op = batch->first; op; op = op->next) {
		op->how = result->err ? answer_failed(batch, op, result) :
					answer(batch, op, result);
		batch->carried += op->how == FAR_COMBINE_DONE && op != batch->own;
	}
}

/* Takes out what remains to be done. */
static struct far_combine_op *batch_cut(struct far_combine_batch *batch)
{
	struct far_combine_op *rest = NULL, **end = &rest;
	struct far_combine_op **at = &batch->first;

	while (*at) {
		struct far_combine_op *op = *at;

		if (op->how != FAR_COMBINE_LEAD) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		*end = op;
		end = &op->next;
	}
	return rest;
}

enum far_combine_how far_combine_end(struct far_combine_batch *batch,
				     const struct far_combine_result *result)
{
	struct far_combine_op *op, *next, *rest, *own = batch->own;
	struct bucket *bucket = bucket_of(batch->table, own);
	enum far_combine_how how;

	batch_decide(batch, result);
	how = own->how;
	far_count(batch->task, FAR_COUNT_BATCHES, 1);
	far_count(batch->task, FAR_COUNT_COMBINED, batch->carried);
	far_spend(batch->task, batch->carried * ANSWER_NS);
	rest = batch_cut(batch);
	for (op = batch->first; op; op = next) {
		next = op->next;
		if (op != own)
			op_tell(op, op->how);
	}
	if (how == FAR_COMBINE_LEAD)
		batch_init(batch, batch->task, batch->table, rest);
	else
		bucket_pass(bucket, rest);
	return how;
}
