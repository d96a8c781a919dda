/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Put, insert, update, delete, and what a function says: {CAS of the lock, READ}, then
 * {WRITE of the record, WRITE of the entry, WRITE of the word}. The first trip is not needed
 * when another task of this client hands the leaf over.
 */
#include "btree_priv.h"

#include "../core/stats.h"

/* What the entry of the key becomes in the image that is held. 0, or why nothing changes. */
static int image_change(struct btree_hold *hold, const struct form_args *args, int place)
{
	struct far_btree *tree = hold->op->tree;
	struct btree_entry *entry;

	if (args->kind == FAR_COMBINE_DELETE) {
		btree_entry_at(hold->geo, hold->node, place)->sum =
			btree_free_sum(hold->node->version);
		btree_hold_entry(hold, place);
		return 0;
	}
	if (place < 0)
		place = btree_find_room(hold->geo, hold->node, hold->op->key, NULL);
	if (place < 0)
		return -ENOSPC;
	entry = btree_entry_at(hold->geo, hold->node, place);
	btree_entry_set(hold->geo, entry, hold->node->version, hold->op->key, args->value,
			tree->value_size);
	btree_hold_entry(hold, place);
	return place;
}

static void remember(struct btree_op *op, const struct btree_hold *hold,
		     const struct form_args *args, int place)
{
	struct btree_spot spot = { hold->addr, hold->node->version, place };
	uint8_t used[BTREE_MAX_SPAN];
	unsigned nr;

	if (args->kind != FAR_COMBINE_DELETE) {
		btree_cache_put_spot(op->tree->cache, op->hash, &spot);
		return;
	}
	btree_cache_drop_spot(op->tree->cache, op->hash);
	/* what finds no neighbour with room now is asked for again by that one, or when empty */
	nr = btree_sorted(hold->geo, hold->node, used);
	if (!nr || nr == hold->geo->span / 4)
		op->few = hold->addr;
}

/* What the others of the batch see if nothing changes. */
static void look(struct btree_op *op, const struct btree_hold *hold,
		 const struct form_args *args, int place)
{
	op->present = place >= 0;
	if (place >= 0 && args->room)
		memcpy(args->room,
		       btree_value(hold->geo, btree_entry_at(hold->geo, hold->node, place)),
		       op->tree->value_size);
}

/* Why the change is not to be; 0. */
static int refuse(const struct form_args *args, int place)
{
	if (args->kind == FAR_COMBINE_INSERT && place >= 0)
		return -EEXIST;
	if ((args->kind == FAR_COMBINE_UPDATE || args->kind == FAR_COMBINE_DELETE) && place < 0)
		return -ENOENT;
	return 0;
}

/*
 * Functions say what becomes of the key, of which args->room has the value: args become those
 * of a put, a deletion, or a get if nothing changes.
 */
static int decide(struct btree_op *op, struct form_args *args)
{
	struct far_state state = far_state_read(op->present ? args->room : NULL,
						op->tree->value_size);
	int err = form_modify(op->batch, args->modify, &state);

	args->kind = FAR_COMBINE_GET;
	if (!err && far_state_publishes(&state))
		args->kind = state.present ? FAR_COMBINE_PUT : FAR_COMBINE_DELETE;
	args->value = state.value;
	return err;
}

/* The leaf is held: changes it, and releases it. */
static int change_held(struct btree_op *op, struct btree_hold *hold, struct form_args *args)
{
	bool ask = args->modify;
	int place, err, late;

	if (op->batch) {
		far_combine_plan(op->batch);
		args->kind = op->batch->kind;
		args->value = op->batch->source ? op->batch->source->value : NULL;
		ask = args->kind == FAR_COMBINE_MODIFY;
	}
	place = btree_find_key(hold->geo, hold->node, op->key);
	look(op, hold, args, place);
	err = ask ? decide(op, args) : 0;
	op->poor = op->present || args->kind == FAR_COMBINE_DELETE;
	if (!err)
		err = refuse(args, place);
	if (err || args->kind == FAR_COMBINE_GET) {
		late = btree_release(hold);
		return late ? late : err;
	}
	place = image_change(hold, args, place);
	if (place == -ENOSPC) {
		err = btree_make_room(hold, op->key, 0);
		return err ? err : -EAGAIN;
	}
	if (op->batch)
		far_combine_publish(op->batch);
	err = btree_release(hold);
	op->unsure = err != 0;
	if (!err)
		remember(op, hold, args, place);
	return err;
}

int btree_change(struct btree_op *op, struct form_args *args)
{
	size_t mark = far_buf_mark(op->task);
	struct btree_hold hold;
	int err;

	do {
		far_buf_release(op->task, mark);
		err = btree_hold_key(op, op->key, 0, 0, &hold);
		if (!err)
			err = change_held(op, &hold, args);
	} while (err == -EAGAIN);
	far_buf_release(op->task, mark);
	return err;
}
