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

/* Applies one write. Its status. */
static int effect_apply(struct effect *effect, struct far_combine_op *op)
{
	int there = effect->present;

	if (op->kind == FAR_COMBINE_INSERT && there)
		return -EEXIST;
	if ((op->kind == FAR_COMBINE_UPDATE || op->kind == FAR_COMBINE_DELETE) && !there)
		return -ENOENT;
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

void far_combine_fold(struct far_combine_batch *batch)
{
	struct effect absent = { .present = 0 };
	struct effect present = { .present = 1 };
	struct far_combine_op *op;
	int open = 1;

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
