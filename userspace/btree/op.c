/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame of an operation of one key: checks, epoch, buffers, second tries, what is to be
 * done afterwards, and how one operation answers others of the same key.
 */
#include "priv.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/key.h"

/* processor time of an operation, declared to the model */
#define GET_COST_NS	300u
#define CHANGE_COST_NS	500u

int btree_op_init(struct btree_op *op, struct far_task *task, struct far_btree *tree)
{
	uint32_t len = tree->geo[0].len > tree->geo[1].len ? tree->geo[0].len :
							     tree->geo[1].len;

	op->task = task;
	op->tree = tree;
	op->inner = far_buf(task, len);
	op->node = far_buf(task, len);
	op->word = far_buf(task, sizeof(*op->word));
	op->unsure = op->present = op->poor = false;
	op->spare[0] = op->spare[1] = FAR_NIL;
	op->few = op->passed = FAR_NIL;
	return op->inner && op->node && op->word ? 0 : -ENOMEM;
}

/* A separator that is missing, and leaves that are nearly empty: by whoever meets them. */
static void op_tidy(struct btree_op *op)
{
	if (op->passed)
		btree_link_missing(op, op->key, op->passed, op->passed_level);
	if (op->few)
		btree_merge(op, op->key, 0);
}

static int op_run(struct btree_op *op, struct btree_args *args)
{
	int err;

	if (args->kind == FAR_COMBINE_GET)
		return btree_get(op, args->room);
	err = btree_change(op, args);
	if (!err)
		op_tidy(op);
	return err == -EBADMSG || err == -ESHUTDOWN ? -EBADMSG : err;
}

/* One try alone. */
static int alone_once(struct btree_op *op, const struct btree_args *args)
{
	struct btree_args mine = *args;
	size_t mark;
	int err;

	err = far_epoch_enter(op->task);
	if (err)
		return err;
	mark = far_buf_mark(op->task);
	err = btree_op_init(op, op->task, op->tree);
	if (!err && args->modify) {
		mine.room = far_buf(op->task, op->tree->value_size);
		err = mine.room ? 0 : -ENOMEM;
	}
	if (!err)
		err = op_run(op, &mine);
	btree_spare_drop(op);
	far_buf_release(op->task, mark);
	far_epoch_exit(op->task);
	return err;
}

struct frame {
	struct form_key form;
	struct btree_op *op;
	const struct btree_args *args;
};

static int run_once(struct form_run *run)
{
	const struct frame *frame = (const struct frame *)run;
	int err = alone_once(frame->op, frame->args);

	run->unsure = err == -EIO && frame->op->unsure;
	return err;
}

/* What the others are told of the batch's operation; value: what it has read. */
static void lead_result(const struct btree_op *op, int err, enum far_combine_kind kind,
			const void *value, struct far_combine_result *ret_result)
{
	struct far_combine_result result = {
		.err = err == -ENOENT || err == -EEXIST ? 0 : err,
		.unknown = err && op->unsure,
		.published = !err && kind != FAR_COMBINE_GET,
		.present = op->present,
	};

	if (!result.published && !result.err && op->present) {
		result.value = value;
		result.value_len = op->tree->value_size;
	}
	*ret_result = result;
}

/* One batch, from its plan to its end. */
static enum far_combine_how lead_once(struct btree_op *op)
{
	struct far_combine_batch *batch = op->batch;
	size_t mark = far_buf_mark(op->task);
	struct far_combine_result result;
	struct btree_args args = { .room = NULL };
	enum far_combine_how how;
	int entered, err;

	/* Of this batch alone, which may fail before it begins. */
	op->unsure = false;
	err = far_epoch_enter(op->task);
	entered = !err;
	if (!err)
		err = btree_op_init(op, op->task, op->tree);
	if (!err) {
		args.room = far_buf(op->task, op->tree->value_size);
		err = args.room ? 0 : -ENOMEM;
	}
	far_combine_plan(batch);
	args.kind = batch->kind;
	args.value = batch->source ? batch->source->value : NULL;
	if (!err)
		err = args.kind == FAR_COMBINE_GET ? btree_get(op, args.room) :
						     btree_change(op, &args);
	lead_result(op, err, args.kind, args.room, &result);
	how = far_combine_end(batch, &result);
	op->batch = NULL;
	if (!err && how != FAR_COMBINE_LEAD)
		op_tidy(op);
	op->batch = batch;
	if (entered) {
		btree_spare_drop(op);
		far_epoch_exit(op->task);
	}
	far_buf_release(op->task, mark);
	return how;
}

static void key_describe(const struct form_key *key, struct far_combine_op *op)
{
	const struct frame *frame = (const struct frame *)key;
	const struct btree_args *args = frame->args;
	uint32_t value_size = frame->op->tree->value_size;

	op->key = frame->op->key;
	op->key_len = frame->op->tree->key_size;
	op->value = args->value;
	op->value_len = args->value ? value_size : 0;
	op->room = args->room;
	op->room_len = args->room ? value_size : 0;
	op->modify = args->modify;
	op->kind = args->kind;
}

static enum far_combine_how key_lead(struct form_key *key, struct far_combine_batch *batch)
{
	struct btree_op *op = ((struct frame *)key)->op;
	enum far_combine_how how;

	op->batch = batch;
	how = lead_once(op);
	op->batch = NULL;
	return how;
}

/*
 * Combined, if the key is hot. Gets combine with gets, and changes with changes: a get that
 * joined a change would wait for the leaf's lock.
 */
static int op_of_key(struct btree_op *op, const struct btree_args *args)
{
	struct frame frame = {
		.form = {
			.run = { .task = op->task, .once = run_once },
			.table = op->tree->combine,
			.hash = args->kind == FAR_COMBINE_GET ? op->hash : ~op->hash,
			.describe = key_describe, .lead = key_lead,
		},
		.op = op, .args = args,
	};

	return form_key_do(&frame.form);
}

static int btree_do(struct far_task *task, struct far_btree *tree, const void *key,
		    size_t key_len, const struct btree_args *args)
{
	struct btree_op op = { .task = task, .tree = tree, .key = key };
	int err;

	if (key_len != tree->key_size)
		return -EINVAL;
	op.hash = XXH3_64bits_withSeed(key, key_len, tree->root);
	err = far_op_begin(task);
	if (err)
		return err;
	far_spend(task, args->kind == FAR_COMBINE_GET ? GET_COST_NS : CHANGE_COST_NS);
	err = op_of_key(&op, args);
	far_op_end(task);
	return err;
}

int far_btree_get(struct far_task *task, struct far_btree *tree, const void *key,
		  size_t key_len, void *value, size_t value_size, size_t *ret_len)
{
	const struct btree_args args = { .kind = FAR_COMBINE_GET, .room = value };

	if (ret_len)
		*ret_len = tree->value_size;
	if (value_size < tree->value_size)
		return -EMSGSIZE;
	return btree_do(task, tree, key, key_len, &args);
}

static int store(struct far_task *task, struct far_btree *tree, const void *key,
		 size_t key_len, const void *value, size_t value_len,
		 enum far_combine_kind kind)
{
	const struct btree_args args = { .kind = kind, .value = value };

	return value_len != tree->value_size ? -EINVAL :
	       btree_do(task, tree, key, key_len, &args);
}

int far_btree_put(struct far_task *task, struct far_btree *tree, const void *key,
		  size_t key_len, const void *value, size_t value_len)
{
	return store(task, tree, key, key_len, value, value_len, FAR_COMBINE_PUT);
}

int far_btree_insert(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, const void *value, size_t value_len)
{
	return store(task, tree, key, key_len, value, value_len, FAR_COMBINE_INSERT);
}

int far_btree_update(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, const void *value, size_t value_len)
{
	return store(task, tree, key, key_len, value, value_len, FAR_COMBINE_UPDATE);
}

int far_btree_modify(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, far_modify_fn *modify, void *arg)
{
	const struct far_modify function = {
		.function = modify, .arg = arg,
		.least = tree->value_size, .most = tree->value_size,
	};
	const struct btree_args args = { .kind = FAR_COMBINE_MODIFY, .modify = &function };

	return btree_do(task, tree, key, key_len, &args);
}

int far_btree_delete(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len)
{
	const struct btree_args args = { .kind = FAR_COMBINE_DELETE };

	return btree_do(task, tree, key, key_len, &args);
}
