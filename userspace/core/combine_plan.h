/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a batch comes to: many operations of one key as one, and the answer of each.
 * Works on the batch's list alone; knows neither threads nor far memory.
 *
 * An operation's part in the attempt:
 *
 *	NEW --plan--> PLANNED		in order of arrival, as far as one net operation goes
 *	NEW --publish--> LATE		in front of the source
 *	LATE --lost, not published--> NEW
 *
 * The net operation is what the planned ones do to a key that is absent, and to one
 * that is present, taken together:
 *
 *	absent -> absent, present -> as it was	GET
 *	absent -> S,      present -> as it was	INSERT of S's value
 *	absent -> absent, present -> S		UPDATE
 *	absent -> S,      present -> S		PUT
 *	absent -> absent, present -> absent	DELETE
 *
 * where S is the source. An operation that would lead to anything else is not planned,
 * nor are those behind it.
 *
 * A function of far/modify.h says what it does when it is shown what the key has. With one of
 * these in the list the net operation is MODIFY: all writes are planned, and applied to that.
 */
#ifndef FAR_CORE_COMBINE_PLAN_H
#define FAR_CORE_COMBINE_PLAN_H

#include "combine.h"

enum { COMBINE_NEW, COMBINE_PLANNED, COMBINE_LATE };

/* Sets parts, batch->kind and batch->source, from the list. */
void far_combine_fold(struct far_combine_batch *batch);
/* Whether a write that is not planned may go in front of the source. */
int far_combine_fits(const struct far_combine_batch *batch,
		     const struct far_combine_op *op);
/* MODIFY: plans and applies all writes, and sets their status. */
void far_combine_apply(struct far_combine_batch *batch, struct far_state *state);
/*
 * The same of those from op on, as far as there is something to publish before and behind
 * each of them.
 */
void far_combine_apply_late(struct far_combine_op *op, struct far_state *state);
/* Otherwise: sets the status of each write that is planned or late. present: before them. */
void far_combine_answer(struct far_combine_batch *batch, int present);

#endif
