/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Combining: one operation in far memory for many of one key and client (read
 * delegation and write combining, smart-art section 4.2, with another window: the
 * published one is not linearizable).
 *
 * Per key, one batch is in flight and one collects. The task whose operation comes
 * first leads: it runs the batch's net operation on the structure, and answers all
 * that the batch carried; they sleep meanwhile. What came too late is the next batch,
 * led by its first one.
 *
 *	switch (far_combine_begin(task, table, &op, &batch)) {
 *	case FAR_COMBINE_DONE:	op.status, op.len: somebody has done it
 *	case FAR_COMBINE_ALONE:	run it without combining
 *	case FAR_COMBINE_LEAD:
 *		do {
 *			plan() -> what to do, with which value
 *			post {WRITE of the value's block, READ that decides}
 *			again() before a READ that decides is repeated
 *			publish(); post the CAS; lost() if it is known to have failed
 *			how = far_combine_end(&batch, &result)
 *		} while (how == FAR_COMBINE_LEAD);	then as above
 *	}
 *
 * When an operation may join, and why that is linearizable. Only plan(), again() and
 * publish() take in those that have joined:
 *  - A get is carried if it joined before again() or plan() was called for the READ
 *    whose answer it gets, or before publish(): then its answer is what the batch
 *    published, and it gets it when that is known to have happened.
 *  - A write is carried if it joined before plan(): all of them are applied in order
 *    of arrival to the state that the CAS has shown to be the last one. Or if it
 *    joined before publish(), and can be put in front of the write whose value is
 *    published without changing what that one does: it is overwritten at once.
 *  - A batch with a function of far/modify.h is applied to what was read, in order of
 *    arrival, whatever else is in it. What has joined since the READ is carried with
 *    what is published, and by nothing else.
 *  - A CAS that failed is a READ: lost() opens everything again.
 *  - What is carried by an attempt whose fate is unknown has an unknown fate. Gets go
 *    into the next batch instead.
 *
 *  - A leader that is late hands the lead on: -ETIME is its own answer only. All of a
 *    batch have as much time as it, and began later; an operation with a deadline of its
 *    own is in no batch.
 *
 * A task that leads begins no other operation with combining before it has ended
 * this one. Which task leads makes no difference to the others: a leader that fails
 * still ends the batch. The memory of an operation is its caller's until begin(), or
 * the end() of its own batch, has returned FAR_COMBINE_DONE or _ALONE.
 *
 * Joining is lock-free. What meets another key of its tag, or a full set, goes alone:
 * it is correct without combining, as another client's operations are.
 */
#ifndef FAR_CORE_COMBINE_H
#define FAR_CORE_COMBINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>

#include "modify.h"

struct far_combine_table;

/*
 * A table for the operations of one structure.
 * size: keys that can be under way at a time, rounded up to a power of two; 8 bytes each.
 */
int far_combine_new(unsigned size, struct far_combine_table **ret_table);
void far_combine_free(struct far_combine_table *table);

/*
 * Whether an operation of that key had better combine: it is hot, which is proved by
 * operations that are under way at the same time. hash as in struct far_combine_op. Each
 * call is followed by far_combine_gone() when the operation has ended, combined or not;
 * shared: it has carried others, or another one has carried it. Both are guesses, and make
 * no difference to what is answered.
 */
bool far_combine_hot(struct far_combine_table *table, uint64_t hash);
void far_combine_gone(struct far_combine_table *table, uint64_t hash, bool shared);

enum far_combine_kind {
	FAR_COMBINE_GET,
	FAR_COMBINE_PUT,	/* stores, whether the key is there or not */
	FAR_COMBINE_INSERT,	/* -EEXIST if it is there */
	FAR_COMBINE_UPDATE,	/* -ENOENT if not */
	FAR_COMBINE_DELETE,	/* -ENOENT if not */
	FAR_COMBINE_MODIFY,	/* a function says what becomes of it */
};

struct far_combine_op {
	/* what the caller says */
	uint64_t hash;			/* of the key, all 64 bits of it */
	const void *key;
	size_t key_len;
	const void *value;		/* PUT, INSERT, UPDATE */
	size_t value_len;
	void *room;			/* GET: where the value goes */
	size_t room_len;
	const struct far_modify *modify;	/* MODIFY */
	enum far_combine_kind kind;

	/* the answer, with FAR_COMBINE_DONE */
	int status;			/* 0, -ENOENT, -EEXIST, -EMSGSIZE, -ETIME, unknown fate,
					   or of far_modify_apply() */
	size_t len;			/* GET, with 0 and -EMSGSIZE: of the value */

	/* combine's own */
	struct far_task *task;
	struct far_combine_op *next;	/* in the way's stack, then in the batch */
	_Atomic uint64_t *way;		/* its batch's word */
	atomic_int state;
	uint8_t part;			/* in the attempt: combine_plan.h */
	uint8_t how;			/* enum far_combine_how, when the attempt ended */
};

/* A batch belongs to its leader for as long as the leader leads. */
struct far_combine_batch {
	struct far_task *task;
	struct far_combine_op *own;
	struct far_combine_op *first, *last;	/* in order of arrival */
	struct far_combine_op *source;		/* whose value, or deletion, is published */
	enum far_combine_kind kind;		/* of the net operation */
	struct far_state state;			/* MODIFY: what the key comes to */
	unsigned carried;			/* other operations, answered by end() */
};

enum far_combine_how {
	FAR_COMBINE_DONE,
	FAR_COMBINE_ALONE,
	FAR_COMBINE_LEAD,
};

/*
 * table NULL: FAR_COMBINE_ALONE. Sleeps while another task leads. batch is filled in
 * for FAR_COMBINE_LEAD.
 */
enum far_combine_how far_combine_begin(struct far_task *task,
				       struct far_combine_table *table,
				       struct far_combine_op *op,
				       struct far_combine_batch *batch);

/*
 * The net operation of all that have joined; right before the READ that decides is
 * posted. batch->kind says which one it is, batch->source whose value it stores (NULL:
 * GET, MODIFY). Also to start anew; a block that was written for another source is useless
 * then.
 */
void far_combine_plan(struct far_combine_batch *batch);
/* The same net operation; right before another READ that decides is posted. */
void far_combine_again(struct far_combine_batch *batch);
/*
 * MODIFY: applies all that have joined to what was READ, in order. *state, and batch->state,
 * is what the key comes to. If that is to be published, do so before anything else is read;
 * else the batch has ended. Also after lost(), to what was READ then.
 */
void far_combine_modify(struct far_combine_batch *batch, struct far_state *state);
/* Right before the CAS, or the unlocking WRITE, that publishes is posted. */
void far_combine_publish(struct far_combine_batch *batch);
/* It is known to have failed, and what it found is the state that decides now. */
void far_combine_lost(struct far_combine_batch *batch);

/* What came of the net operation. */
struct far_combine_result {
	int err;		/* other than that the key was there, or not */
	int unknown;		/* nobody knows whether it was published */
	int published;
	int present;		/* the key was there before */
	const void *value;	/* not published, and present: the value, or NULL */
	size_t value_len;
};

/*
 * Answers all that the batch carries, and hands the rest on. With an error whose fate
 * is known, but for -ETIME, each of them, the own one included, goes alone. The own
 * operation's outcome is returned; FAR_COMBINE_LEAD: it is still to be done, and leads the
 * next batch.
 */
enum far_combine_how far_combine_end(struct far_combine_batch *batch,
				     const struct far_combine_result *result);

#endif
