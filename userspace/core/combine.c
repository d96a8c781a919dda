/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Combining: who leads, who joins, who is woken.
 *
 * A key's hash names a set of WAYS words, one line of the processor's cache. A word is
 * 0, or that of one key whose batch is in flight: its tag, BUSY, and a pointer to the
 * operations that have joined since the leader looked last, the last one first.
 * Joining is a push by CAS. Only the leader takes them out, all at once, so that a
 * push needs to know nothing of what it is pushed upon. What the leader has taken is
 * its own.
 *
 *	 63      48 47                        1   0
 *	|   tag    |  operation               | BUSY |
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
 * A task may wake before it is resumed, see that it may go on, and end: the leader holds
 * it meanwhile.
 */
#include "combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine_plan.h"
#include "deadline.h"
#include "stats.h"
#include "task.h"

/* Processor time for the model: a push, and an answer with the waking of its task. */
#define JOIN_NS		20u
#define ANSWER_NS	40u

#define WAYS		8u
#define BUSY		UINT64_C(1)
#define TAG_SHIFT	48
#define TAG_MASK	(~UINT64_C(0) << TAG_SHIFT)

/* What far_combine_op.state is beyond enum far_combine_how. */
enum { STATE_AWAKE = FAR_COMBINE_LEAD + 1, STATE_ASLEEP };

struct set {
	_Alignas(64) _Atomic uint64_t way[WAYS];
};

/*
 * What is known of the keys that were asked for last, one in a cell: its tag, whether an
 * operation of it is under way alone, and how hot it is. All of it is a guess: cells are
 * read and written without order, and what is lost makes a key look colder.
 *
 *	 31      16  15   8    7    0
 *	|   tag    |  BUSY  |  heat  |
 */
#define CELLS		16384u
#define CELL_TAG	0xffff0000u
#define CELL_BUSY	0x100u
#define CELL_HEAT	0xffu

/* Two at the same time; one that has carried others; and the most. */
#define HEAT_MET	4u
#define HEAT_SHARED	8u
#define HEAT_MAX	64u

struct far_combine_table {
	uint64_t mask;
	_Atomic uint32_t cell[CELLS];
	struct set set[];
};

int far_combine_new(unsigned size, struct far_combine_table **ret_table)
{
	struct far_combine_table *table;
	size_t nr = 1, len;

	while (nr * WAYS < size)
		nr *= 2;
	len = sizeof(*table) + nr * sizeof(table->set[0]);
	table = aligned_alloc(_Alignof(struct far_combine_table), len);
	if (!table)
		return -ENOMEM;
	memset(table, 0, len);
	table->mask = nr - 1;
	*ret_table = table;
	return 0;
}

void far_combine_free(struct far_combine_table *table)
{
	free(table);
}

static _Atomic uint32_t *cell_of(struct far_combine_table *table, uint64_t hash)
{
	return &table->cell[hash % CELLS];
}

static uint32_t cell_tag(uint64_t hash)
{
	return hash >> 32 & CELL_TAG;
}

bool far_combine_hot(struct far_combine_table *table, uint64_t hash)
{
	_Atomic uint32_t *cell = cell_of(table, hash);
	uint32_t word = atomic_load_explicit(cell, memory_order_relaxed);
	uint32_t tag = cell_tag(hash);
	bool hot = false;

	if ((word & CELL_TAG) != tag)
		word = word & CELL_HEAT ? word - 1 : tag | CELL_BUSY;
	else if (word & CELL_HEAT)
		return true;
	else if (word & CELL_BUSY)
		hot = word += HEAT_MET;
	else
		word |= CELL_BUSY;
	atomic_store_explicit(cell, word, memory_order_relaxed);
	return hot;
}

void far_combine_gone(struct far_combine_table *table, uint64_t hash, bool shared)
{
	_Atomic uint32_t *cell = cell_of(table, hash);
	uint32_t word = atomic_load_explicit(cell, memory_order_relaxed);
	uint32_t heat = word & CELL_HEAT;

	if ((word & CELL_TAG) != cell_tag(hash))
		return;
	if (shared)
		heat = heat + HEAT_SHARED < HEAT_MAX ? heat + HEAT_SHARED : HEAT_MAX;
	else if (heat)
		heat--;
	atomic_store_explicit(cell, cell_tag(hash) | heat, memory_order_relaxed);
}

/* The word of a batch nobody has joined since the leader looked. */
static uint64_t word_of(const struct far_combine_op *op)
{
	return (op->hash & TAG_MASK) | BUSY;
}

static struct far_combine_op *word_op(uint64_t word)
{
	return (struct far_combine_op *)(uintptr_t)(word & ~TAG_MASK & ~BUSY);
}

static int op_same_key(const struct far_combine_op *a, const struct far_combine_op *b)
{
	return a->hash == b->hash && a->key_len == b->key_len &&
	       !memcmp(a->key, b->key, a->key_len);
}

/* Releases an operation, with how it goes on. Its memory is not ours any more. */
static void op_release(struct far_combine_op *op, enum far_combine_how how)
{
	struct far_task *task = op->task;
	struct far_thread *thread = far_task_hold(task);

	if (atomic_exchange(&op->state, how) == STATE_ASLEEP)
		far_task_resume(task);
	far_task_unhold(thread);
}

static enum far_combine_how op_wait(struct far_combine_op *op)
{
	int state = STATE_AWAKE;

	/* its time begins, so that it leads no batch longer than the one before it */
	far_op_is_late(op->task);
	if (atomic_compare_exchange_strong(&op->state, &state, STATE_ASLEEP))
		do {
			far_task_suspend(op->task);
			state = atomic_load(&op->state);
		} while (state == STATE_ASLEEP);
	return state;
}

/* Takes what has joined the batch of `own`, in order of arrival. */
static struct far_combine_op *way_take(_Atomic uint64_t *way,
				       const struct far_combine_op *own)
{
	uint64_t word = atomic_load_explicit(way, memory_order_relaxed);
	struct far_combine_op *op, *before = NULL;

	if (word == word_of(own))
		return NULL;
	/* Acquire pairs with the release of the pushes. */
	word = atomic_exchange_explicit(way, word_of(own), memory_order_acq_rel);
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
			op_release(op, FAR_COMBINE_ALONE);
		op = next;
	}
}

static void batch_take(struct far_combine_batch *batch)
{
	batch_join(batch, way_take(batch->own->way, batch->own));
}

/* own leads, and the list begins with it. */
static void batch_init(struct far_combine_batch *batch, struct far_task *task,
		       struct far_combine_op *own)
{
	*batch = (struct far_combine_batch) { .task = task, .own = own };
	batch_join(batch, own);
}

/* Joins the batch of that word. 0: it has another tag, or is no batch any more. */
static int way_join(_Atomic uint64_t *way, struct far_combine_op *op)
{
	uint64_t word = atomic_load_explicit(way, memory_order_relaxed);

	op->way = way;
	do {
		if (!word || (word & TAG_MASK) != (op->hash & TAG_MASK))
			return 0;
		op->next = word_op(word);
	} while (!atomic_compare_exchange_weak_explicit(way, &word,
			word_of(op) | (uintptr_t)op, memory_order_release,
			memory_order_relaxed));
	return 1;
}

static int way_claim(_Atomic uint64_t *way, struct far_combine_op *op)
{
	uint64_t word = 0;

	if (atomic_load_explicit(way, memory_order_relaxed))
		return 0;
	op->way = way;
	op->next = NULL;
	return atomic_compare_exchange_strong_explicit(way, &word, word_of(op),
						       memory_order_acquire,
						       memory_order_relaxed);
}

/*
 * Joins (*ret_joined), leads, or neither. Two that come at the same moment may lead a
 * batch each of one key: they are as two clients.
 */
static enum far_combine_how set_enter(struct set *set, struct far_combine_op *op,
				      int *ret_joined)
{
	unsigned i;

	*ret_joined = 1;
	for (i = 0; i < WAYS; i++)
		if (way_join(&set->way[i], op))
			return FAR_COMBINE_LEAD;
	*ret_joined = 0;
	for (i = 0; i < WAYS; i++)
		if (way_claim(&set->way[i], op))
			return FAR_COMBINE_LEAD;
	return FAR_COMBINE_ALONE;
}

enum far_combine_how far_combine_begin(struct far_task *task,
				       struct far_combine_table *table,
				       struct far_combine_op *op,
				       struct far_combine_batch *batch)
{
	enum far_combine_how how;
	int joined;

	/* An address that a word has no room for goes alone, too. */
	if (!table || (uintptr_t)op & TAG_MASK || far_op_has_own(task))
		return FAR_COMBINE_ALONE;
	far_spend(task, JOIN_NS);
	op->task = task;
	op->part = COMBINE_NEW;
	atomic_store_explicit(&op->state, STATE_AWAKE, memory_order_relaxed);
	how = set_enter(&table->set[op->hash & table->mask], op, &joined);
	if (how == FAR_COMBINE_LEAD && joined)
		how = op_wait(op);
	if (how == FAR_COMBINE_LEAD)
		batch_init(batch, task, op);
	return how;
}

void far_combine_again(struct far_combine_batch *batch)
{
	batch_take(batch);
}

void far_combine_plan(struct far_combine_batch *batch)
{
	far_combine_again(batch);
	far_combine_fold(batch);
}

void far_combine_modify(struct far_combine_batch *batch, struct far_state *state)
{
	struct far_combine_op *last = batch->last;

	far_combine_apply(batch, state);
	if (far_state_publishes(state)) {
		batch_take(batch);
		far_combine_apply_late(last->next, state);
	}
	batch->state = *state;
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

/* All whom the batch has taken came before the CAS, which has read, was posted. */
void far_combine_lost(struct far_combine_batch *batch)
{
	batch_unlate(batch);
}

static void get_answer(struct far_combine_op *op, int present, const void *value,
		       size_t len)
{
	op->len = present ? len : 0;
	op->status = !present ? -ENOENT : len > op->room_len ? -EMSGSIZE : 0;
	if (!op->status && len)
		memcpy(op->room, value, len);
}

/* What the batch has published. */
static void get_answer_published(const struct far_combine_batch *batch,
				 struct far_combine_op *op)
{
	const struct far_combine_op *source = batch->source;

	if (batch->kind == FAR_COMBINE_MODIFY)
		get_answer(op, batch->state.present, batch->state.value, batch->state.len);
	else
		get_answer(op, source->kind != FAR_COMBINE_DELETE, source->value,
			   source->value_len);
}

/* How an operation of a batch that went well goes on; FAR_COMBINE_LEAD: it remains. */
static enum far_combine_how op_answer(const struct far_combine_batch *batch,
				      struct far_combine_op *op,
				      const struct far_combine_result *result)
{
	if (op->kind != FAR_COMBINE_GET)
		return op->part == COMBINE_NEW ? FAR_COMBINE_LEAD : FAR_COMBINE_DONE;
	if (result->published) {
		get_answer_published(batch, op);
		return FAR_COMBINE_DONE;
	}
	if (result->present && !result->value)
		return FAR_COMBINE_LEAD;
	get_answer(op, result->present, result->value, result->value_len);
	return FAR_COMBINE_DONE;
}

/* The leader is late: the others are still to be done, by the next one. */
static enum far_combine_how leader_late(const struct far_combine_batch *batch,
					struct far_combine_op *op)
{
	if (op != batch->own)
		return FAR_COMBINE_LEAD;
	op->status = -ETIME;
	return FAR_COMBINE_DONE;
}

/* The same of one that failed. */
static enum far_combine_how answer_failed(const struct far_combine_batch *batch,
					  struct far_combine_op *op,
					  const struct far_combine_result *result)
{
	if (result->err == -ETIME && !result->unknown)
		return leader_late(batch, op);
	if (op->kind == FAR_COMBINE_GET)
		return result->unknown ? FAR_COMBINE_LEAD : FAR_COMBINE_ALONE;
	if (op->part == COMBINE_NEW)
		return FAR_COMBINE_LEAD;
	if (!result->unknown)
		return FAR_COMBINE_ALONE;
	op->status = result->err;
	return FAR_COMBINE_DONE;
}

/*
 * The batch of `own` has ended: op leads the next one, with the list that begins with
 * it; or, if there is no list, whoever has joined meanwhile.
 */
static void way_pass(_Atomic uint64_t *way, const struct far_combine_op *own,
		     struct far_combine_op *op)
{
	uint64_t word;

	while (!op) {
		word = word_of(own);
		if (atomic_compare_exchange_strong_explicit(way, &word, 0,
							    memory_order_release,
							    memory_order_relaxed))
			return;
		op = way_take(way, own);
	}
	op_release(op, FAR_COMBINE_LEAD);
}

/* Decides how each operation goes on, and copies values while they are still there. */
static void batch_decide(struct far_combine_batch *batch,
			 const struct far_combine_result *result)
{
	struct far_combine_op *op;

	if (!result->err && !result->published)
		batch_unlate(batch);
	if (!result->err && batch->kind != FAR_COMBINE_MODIFY)
		far_combine_answer(batch, result->present);
	batch->carried = 0;
	for (op = batch->first; op; op = op->next) {
		op->how = result->err ? answer_failed(batch, op, result) :
					op_answer(batch, op, result);
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
			op_release(op, op->how);
	}
	if (how == FAR_COMBINE_LEAD)
		batch_init(batch, batch->task, rest);
	else
		way_pass(own->way, own, rest);
	return how;
}
