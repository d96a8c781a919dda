/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many operations of one key as one. */
#include "combine_plan.h"

#include <errno.h>

/* What a key that was absent, or present, comes to. */
struct effect {
	int present;
	int changed;
	struct far_combine_op *source;	/* the last one that changed it */
};

static int is_write(const struct far_combine_op *op)
{
	return op->kind != FAR_COMBINE_GET;
}

/* 0, or why the write changes nothing. */
static int op_refused(const struct far_combine_op *op, int there)
{
	if (op->kind == FAR_COMBINE_INSERT && there)
		return -EEXIST;
	if ((op->kind == FAR_COMBINE_UPDATE || op->kind == FAR_COMBINE_DELETE) && !there)
		return -ENOENT;
	return 0;
}

/* Applies one write. Its status. */
static int effect_apply(struct effect *effect, struct far_combine_op *op)
{
	int err = op_refused(op, effect->present);

	if (err)
		return err;
	effect->present = op->kind != FAR_COMBINE_DELETE;
	effect->changed = 1;
	effect->source = op;
	return 0;
}

/*
 * An insert and a delete behind it leave an absent key as it was: that is no change of
 * the key that was absent, whoever was the last.
 */
static int absent_changed(const struct effect *absent)
{
	return absent->present;
}

/* The net operation of both effects, or -1: none is like that. */
static int effects_kind(const struct effect *absent, const struct effect *present)
{
	if (!present->changed)
		return absent_changed(absent) ? FAR_COMBINE_INSERT : FAR_COMBINE_GET;
	if (!present->present)
		return absent_changed(absent) ? -1 : FAR_COMBINE_DELETE;
	if (!absent_changed(absent))
		return FAR_COMBINE_UPDATE;
	return absent->source == present->source ? FAR_COMBINE_PUT : -1;
}

/* All writes are planned if one of them is a function. */
static int fold_modify(struct far_combine_batch *batch)
{
	struct far_combine_op *op;

	for (op = batch->first; op && op->kind != FAR_COMBINE_MODIFY; op = op->next)
		;
	if (!op)
		return 0;
	batch->kind = FAR_COMBINE_MODIFY;
	batch->source = NULL;
	for (op = batch->first; op; op = op->next)
		op->part = is_write(op) ? COMBINE_PLANNED : COMBINE_NEW;
	return 1;
}

static int state_apply(struct far_state *state, const struct far_combine_op *op)
{
	int err = op_refused(op, state->present);

	if (err)
		return err;
	if (op->kind == FAR_COMBINE_MODIFY)
		return far_modify_apply(op->modify, state);
	if (op->kind == FAR_COMBINE_DELETE)
		far_state_delete(state);
	else
		far_state_store(state, op->value, op->value_len);
	return 0;
}

void far_combine_apply(struct far_combine_batch *batch, struct far_state *state)
{
	struct far_combine_op *op;

	for (op = batch->first; op; op = op->next) {
		if (!is_write(op))
			continue;
		op->part = COMBINE_PLANNED;
		op->status = state_apply(state, op);
	}
}

void far_combine_apply_late(struct far_combine_op *op, struct far_state *state)
{
	struct far_state old;

	for (; op; op = op->next) {
		if (!is_write(op))
			continue;
		old = *state;
		op->status = state_apply(state, op);
		if (!far_state_publishes(state)) {
			*state = old;
			return;
		}
		op->part = COMBINE_PLANNED;
	}
}

void far_combine_fold(struct far_combine_batch *batch)
{
	struct effect absent = { .present = 0 };
	struct effect present = { .present = 1 };
	struct far_combine_op *op;
	int open = 1;

	if (fold_modify(batch))
		return;
	batch->kind = FAR_COMBINE_GET;
	batch->source = NULL;
	for (op = batch->first; op; op = op->next) {
		struct effect old_absent = absent, old_present = present;
		int kind;

		op->part = COMBINE_NEW;
		if (!open || !is_write(op))
			continue;
		effect_apply(&absent, op);
		effect_apply(&present, op);
		kind = effects_kind(&absent, &present);
		if (kind < 0) {
			absent = old_absent;
			present = old_present;
			open = 0;
			continue;
		}
		op->part = COMBINE_PLANNED;
		batch->kind = kind;
	}
	if (batch->kind == FAR_COMBINE_INSERT)
		batch->source = absent.source;
	else if (batch->kind != FAR_COMBINE_GET)
		batch->source = present.source;
}

int far_combine_fits(const struct far_combine_batch *batch,
		     const struct far_combine_op *op)
{
	if (!batch->source || op->kind == FAR_COMBINE_MODIFY)
		return 0;
	switch (batch->source->kind) {
	case FAR_COMBINE_PUT:
	case FAR_COMBINE_DELETE:
		return 1;
	case FAR_COMBINE_UPDATE:
		/* It needs a key that is there. */
		return op->kind != FAR_COMBINE_DELETE;
	default:
		return 0;
	}
}

static void answer_late(struct far_combine_batch *batch, struct effect *effect)
{
	struct far_combine_op *op;

	for (op = batch->first; op; op = op->next)
		if (op->part == COMBINE_LATE)
			op->status = effect_apply(effect, op);
}

void far_combine_answer(struct far_combine_batch *batch, int present)
{
	struct effect effect = { .present = present };
	struct far_combine_op *op;

	for (op = batch->first; op; op = op->next) {
		if (op == batch->source)
			answer_late(batch, &effect);
		if (op->part == COMBINE_PLANNED)
			op->status = effect_apply(&effect, op);
	}
}
