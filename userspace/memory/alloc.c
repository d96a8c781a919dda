// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks of a memory: got and given back.
 *
 *	far_alloc()	{READ table} {WRITE head and zeros} {CAS slot}
 *	far_free()	{READ head} {CAS slot}, and it is retired
 *
 * A client looks for a free slot in some of the tables that it knows, at random, so that
 * those who allocate at the same time seldom meet; when these are full, in the last one, and
 * links another one behind it.
 */
#include "memory_priv.h"

#include <errno.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/run.h"

#define PROBES	4u		/* tables at random, before another one is linked */
#define PIECE	65536u		/* bytes of zeros that are written at once */
#define MOST	((UINT64_C(1) << FAR_OFF_BITS) - sizeof(struct memory_head))

struct memory_op {
	struct form_run run;
	struct far_memory *memory;
	unsigned node;
	uint64_t size;
	uint64_t addr;		/* of the block, behind its head */

	struct memory_table *table;	/* as it was read; of far_buf() */
	struct memory_head *head;
	uint64_t *found;	/* of a CAS */
};

static int op_start(struct memory_op *op)
{
	struct far_task *task = op->run.task;

	op->table = far_buf(task, sizeof(*op->table));
	op->head = far_buf(task, sizeof(*op->head));
	op->found = far_buf(task, sizeof(*op->found));
	return op->table && op->head && op->found ? 0 : -ENOMEM;
}

/* One CAS that is waited for. -EAGAIN: the word is another one, *op->found. */
static int op_cas(struct memory_op *op, uint64_t addr, uint64_t compare, uint64_t swap)
{
	int err;

	far_cas(op->run.task, addr, compare, swap, op->found);
	err = far_sync(op->run.task);
	return !err && *op->found != compare ? -EAGAIN : err;
}

/* ---- a slot ---- */

static int table_read(struct memory_op *op, unsigned index)
{
	int err;

	far_read(op->run.task, memory_table_addr(op->memory, index), op->table,
		 sizeof(*op->table));
	err = far_sync(op->run.task);
	if (!err && !memory_table_is_good(op->table, op->memory->root, index))
		err = -EBADMSG;
	return err;
}

/* The far address of a free slot of the table that was read, or FAR_NIL. */
static uint64_t table_slot(struct memory_op *op, unsigned index)
{
	unsigned at = far_rng_below(far_task_rng(op->run.task), MEMORY_SLOTS);

	for (unsigned i = 0; i < MEMORY_SLOTS; i++, at = (at + 1) % MEMORY_SLOTS) {
		if (!op->table->slot[at])
			return memory_table_addr(op->memory, index) +
			       offsetof(struct memory_table, slot) + at * sizeof(uint64_t);
	}
	return FAR_NIL;
}

/*
 * Links an empty table behind the last one, which was read. Of several clients one does, and
 * the others learn of its table.
 */
static int table_link(struct memory_op *op, unsigned last)
{
	struct far_task *task = op->run.task;
	uint64_t next = memory_table_addr(op->memory, last) +
			offsetof(struct memory_table, next);
	uint64_t addr;
	int err = far_block_alloc(task, far_addr_node(op->memory->root),
				  sizeof(*op->table), &addr);

	if (err)
		return err;
	memset(op->table, 0, sizeof(*op->table));
	op->table->magic = MEMORY_TABLE_MAGIC;
	op->table->index = last + 1;
	op->table->root = op->memory->root;
	far_write(task, addr, op->table, sizeof(*op->table));
	err = far_sync(task);
	if (err) {
		far_block_free(task, addr, sizeof(*op->table));
		return err;
	}
	err = op_cas(op, next, FAR_NIL, addr);
	if (!err)
		return memory_table_learn(op->memory, last + 1, addr);
	if (err != -EAGAIN) {
		far_alloc_lost(task);	/* perhaps it is linked */
		return err;
	}
	far_block_free(task, addr, sizeof(*op->table));
	return memory_table_learn(op->memory, last + 1, *op->found);
}

/* A free slot of some of the tables that are known. FAR_NIL: they are full. */
static int slot_probe(struct memory_op *op, uint64_t *ret_slot)
{
	unsigned nr = atomic_load(&op->memory->nr_tables);

	*ret_slot = FAR_NIL;
	for (unsigned i = 0; i < PROBES && i < nr && *ret_slot == FAR_NIL; i++) {
		unsigned index = nr <= PROBES ? i :
				 far_rng_below(far_task_rng(op->run.task), nr);
		int err = table_read(op, index);

		if (err)
			return err;
		*ret_slot = table_slot(op, index);
	}
	return 0;
}

static int slot_find(struct memory_op *op, uint64_t *ret_slot)
{
	int err = slot_probe(op, ret_slot);

	while (!err && *ret_slot == FAR_NIL) {
		unsigned last = atomic_load(&op->memory->nr_tables) - 1;

		err = table_read(op, last);
		if (err)
			break;
		*ret_slot = table_slot(op, last);
		if (*ret_slot != FAR_NIL)
			break;
		err = op->table->next != FAR_NIL ?
		      memory_table_learn(op->memory, last + 1, op->table->next) :
		      table_link(op, last);
	}
	return err;
}

/* ---- a block ---- */

/* The head for that slot, with another tag than the last block at this place had. */
static void head_fill(struct memory_op *op, uint64_t slot, uint64_t addr)
{
	uint16_t tag = 1 + far_rng_below(far_task_rng(op->run.task), UINT16_MAX);

	*op->head = (struct memory_head) {
		.slot = slot, .size = op->size, .word = memory_word(addr, tag),
	};
	op->head->sum = memory_head_sum(op->head, op->memory->root);
}

/* Zeros behind the head. */
static int block_clear(struct memory_op *op, uint64_t addr)
{
	struct far_task *task = op->run.task;
	size_t mark = far_buf_mark(task), len = op->size < PIECE ? op->size : PIECE;
	void *zeros = far_buf(task, len);
	int err = zeros ? 0 : -ENOMEM;

	if (!err)
		memset(zeros, 0, len);
	for (uint64_t at = 0; at < op->size && !err; at += len) {
		uint64_t left = op->size - at;

		far_write(task, addr + sizeof(*op->head) + at, zeros,
			  left < len ? left : len);
		err = far_sync(task);
		if (op->size > PIECE)
			far_op_renew(task);
	}
	far_buf_release(task, mark);
	return err;
}

/*
 * Whether the slot has our word, after a CAS whose answer was lost. The connection was made
 * anew before far_sync() said so: the CAS comes no more. What is not there may have been
 * there, and freed by whom far_memory_each() has shown it: a sweep finds out.
 */
static int slot_look(struct memory_op *op, uint64_t slot)
{
	int err;

	far_must_begin(op->run.task);
	far_read(op->run.task, slot, op->found, sizeof(*op->found));
	err = far_sync(op->run.task);
	far_must_end(op->run.task);
	if (!err && *op->found == op->head->word)
		return 0;
	op->run.unsure = err;
	far_alloc_lost(op->run.task);
	return -EIO;
}

/* Gives the block to a slot. *ret_lost: it must not be freed. */
static int block_publish(struct memory_op *op, uint64_t addr, bool *ret_lost)
{
	uint64_t slot;
	int err;

	do {
		err = slot_find(op, &slot);
		if (err)
			return err;
		head_fill(op, slot, addr);
		far_write(op->run.task, addr, op->head, sizeof(*op->head));
		err = far_sync(op->run.task);
		if (err)
			return err;
		err = op_cas(op, slot, 0, op->head->word);
	} while (err == -EAGAIN);
	*ret_lost = err && err != -ETIME;
	if (err == -EIO)
		return slot_look(op, slot);
	op->run.unsure = *ret_lost;
	if (*ret_lost)
		far_alloc_lost(op->run.task);
	return err;
}

static int alloc_in_epoch(struct memory_op *op)
{
	struct far_task *task = op->run.task;
	uint64_t addr, len = sizeof(*op->head) + op->size;
	bool lost = false;
	int err = op_start(op);

	if (!err)
		err = far_block_alloc(task, op->node, len, &addr);
	if (err)
		return err;
	err = block_clear(op, addr);
	if (!err)
		err = block_publish(op, addr, &lost);
	if (!err)
		op->addr = addr + sizeof(*op->head);
	else if (!lost)
		far_block_free(task, addr, len);
	return err;
}

static int alloc_once(struct form_run *run)
{
	size_t mark = far_buf_mark(run->task);
	int err = far_epoch_enter(run->task);

	run->unsure = false;
	if (err)
		return err;
	err = alloc_in_epoch((struct memory_op *)run);
	far_buf_release(run->task, mark);
	far_epoch_exit(run->task);
	return form_fate(err, run->unsure);
}

static int op_run(struct memory_op *op)
{
	int err = far_op_begin(op->run.task);

	if (err)
		return err;
	err = form_run(&op->run);
	far_op_end(op->run.task);
	return err;
}

int far_alloc(struct far_task *task, struct far_memory *memory, unsigned node, uint64_t size,
	      uint64_t *ret_addr)
{
	struct memory_op op = {
		.run = { .task = task, .once = alloc_once },
		.memory = memory, .node = node, .size = size,
	};
	int err;

	if (!size)
		return -EINVAL;
	if (size > MOST)
		return -ENOSPC;
	err = op_run(&op);
	if (!err)
		*ret_addr = op.addr;
	return err;
}

/* ---- and back ---- */

/* True if the block of the head is ours: the slot of its head has its word. */
static int free_in_epoch(struct memory_op *op)
{
	struct far_task *task = op->run.task;
	uint64_t addr = op->addr - sizeof(*op->head);
	int err = op_start(op);

	if (err)
		return err;
	far_read(task, addr, op->head, sizeof(*op->head));
	err = far_sync(task);
	if (err)
		return err;
	if (memory_word_head(op->head->word) != addr ||
	    !memory_head_is_good(op->head, op->memory->root, op->head->word))
		return -ENOENT;
	err = op_cas(op, op->head->slot, op->head->word, 0);
	if (err == -EAGAIN)
		return -ENOENT;
	if (err) {
		op->run.unsure = err != -ETIME;
		if (op->run.unsure)
			far_alloc_lost(task);	/* perhaps nothing leads to it any more */
		return err;
	}
	/* it is free all the same; a sweep finds the block */
	if (far_retire(task, addr, sizeof(*op->head) + op->head->size))
		far_alloc_lost(task);
	return 0;
}

static int free_once(struct form_run *run)
{
	size_t mark = far_buf_mark(run->task);
	int err = far_epoch_enter(run->task);

	run->unsure = false;
	if (err)
		return err;
	err = free_in_epoch((struct memory_op *)run);
	far_buf_release(run->task, mark);
	far_epoch_exit(run->task);
	return form_fate(err, run->unsure);
}

int far_free(struct far_task *task, struct far_memory *memory, uint64_t addr)
{
	struct memory_op op = {
		.run = { .task = task, .once = free_once },
		.memory = memory, .addr = far_addr_bare(addr),
	};

	if (addr % 8 || far_addr_off(addr) < sizeof(struct memory_head))
		return -ENOENT;
	return op_run(&op);
}
