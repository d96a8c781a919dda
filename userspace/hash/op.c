/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame of an operation of one key: checks, epoch, buffers, second tries, and how
 * one operation answers others of the same key.
 */
#include "priv.h"

#include <errno.h>

#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/key.h"

/* processor time of an operation, declared to the model */
#define GET_COST_NS	300u
#define CHANGE_COST_NS	600u

int hash_op_init(struct hash_op *op, struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len)
{
	if (!key_len)
		return -EINVAL;
	if (key_len > FAR_HASH_MAX_KEY)
		return -E2BIG;
	op->task = task;
	op->hash = hash;
	op->batch = NULL;
	op->unsure = 0;		/* an epoch that cannot be entered leaves it so */
	hash_key_init(&op->key, key, key_len, hash->groups, hash->nr_shards);
	if (hash->cache)
		op->id = hash_cache_id(hash->cache, key, key_len, op->key.first);
	return 0;
}

int hash_op_start(struct hash_op *op)
{
	uint8_t *buf = far_buf(op->task, 2 * HASH_COMBINED + HASH_SUB_HEAD +
					 HASH_OP_WORDS * sizeof(uint64_t) +
					 sizeof(struct far_turn_seen));

	if (!buf)
		return -ENOMEM;
	op->pair[0] = (struct hash_bucket *)buf;
	op->pair[1] = (struct hash_bucket *)(buf + HASH_COMBINED);
	op->head = (struct hash_sub *)(buf + 2 * HASH_COMBINED);
	op->word = (uint64_t *)(buf + 2 * HASH_COMBINED + HASH_SUB_HEAD);
	op->age = form_age_now(op->task);
	op->may_insert = 0;
	op->present = 0;
	op->unsure = 0;
	op->looks = 0;
	op->hinted = 0;
	return 0;
}

static int op_run(struct hash_op *op, const struct hash_args *args)
{
	return hash_far_err(args->kind == FAR_COMBINE_GET ? hash_get(op) :
							    hash_change(op, args));
}

/* One try alone. */
static int alone_once(struct hash_op *op, const struct hash_args *args)
{
	size_t mark;
	int err;

	err = far_epoch_enter(op->task);
	if (err)
		return err;
	mark = far_buf_mark(op->task);
	err = hash_op_start(op);
	if (!err)
		err = op_run(op, args);
	if (!err && args->kind == FAR_COMBINE_GET)
		err = hash_get_copy(op->found.block, args);
	far_buf_release(op->task, mark);
	far_epoch_exit(op->task);
	return err;
}

struct frame {
	struct form_key form;
	struct hash_op *op;
	const struct hash_args *args;
};

static int run_once(struct form_run *run)
{
	const struct frame *frame = (const struct frame *)run;
	int err = alone_once(frame->op, frame->args);

	run->unsure = err == -EIO && frame->op->unsure;
	return err;
}

static bool batch_publishes(const struct far_combine_batch *batch)
{
	if (batch->kind == FAR_COMBINE_MODIFY)
		return far_state_publishes(&batch->state);
	return batch->kind != FAR_COMBINE_GET;
}

/* What the others are told of the batch's operation. */
static void lead_result(const struct hash_op *op, int err,
			struct far_combine_result *ret_result)
{
	const struct far_combine_batch *batch = op->batch;
	const struct hash_block *block = op->found.block;
	struct far_combine_result result = {
		.err = err == -ENOENT || err == -EEXIST ? 0 : err,
		.unknown = err && op->unsure,
		.published = !err && batch_publishes(batch),
		.present = op->present || (!err && batch->kind == FAR_COMBINE_GET),
	};

	if (!err && !result.published && result.present) {
		result.value = block->data + block->key_len;
		result.value_len = block->val_len;
	}
	*ret_result = result;
}

/* What the published window would take in besides. */
static void late_window(struct far_combine_batch *batch)
{
	if (batch->kind == FAR_COMBINE_GET)
		far_combine_again(batch);
	else
		far_combine_publish(batch);
}

/* One batch, from its plan to its end. */
static enum far_combine_how lead_once(struct hash_op *op)
{
	struct far_combine_batch *batch = op->batch;
	size_t mark = far_buf_mark(op->task);
	struct far_combine_result result;
	struct hash_args args = { 0 };
	enum far_combine_how how;
	int entered;
	int err;

	/* Of this batch alone, which may fail before it begins. */
	op->unsure = 0;
	err = far_epoch_enter(op->task);
	entered = !err;
	if (!err)
		err = hash_op_start(op);
	far_combine_plan(batch);
	args.kind = batch->kind;
	if (batch->source) {
		args.value = batch->source->value;
		args.value_len = batch->source->value_len;
	}
	if (!err)
		err = op_run(op, &args);
	lead_result(op, err, &result);
	if (op->hash->variant == HASH_LATE_WINDOW && !err)
		late_window(batch);
	how = far_combine_end(batch, &result);
	far_buf_release(op->task, mark);
	if (entered)
		far_epoch_exit(op->task);
	return how;
}

static void key_describe(const struct form_key *key, struct far_combine_op *op)
{
	const struct frame *frame = (const struct frame *)key;
	const struct hash_args *args = frame->args;

	op->key = frame->op->key.data;
	op->key_len = frame->op->key.len;
	op->value = args->value;
	op->value_len = args->value_len;
	op->room = args->room;
	op->room_len = args->room_len;
	op->modify = args->modify;
	op->kind = args->kind;
}

static enum far_combine_how key_lead(struct form_key *key, struct far_combine_batch *batch)
{
	struct hash_op *op = ((struct frame *)key)->op;
	enum far_combine_how how;

	op->batch = batch;
	how = lead_once(op);
	op->batch = NULL;
	return how;
}

/*
 * Changes combine always: two of one client would lose their CAS to each other. Gets do if
 * the key is hot.
 */
static int op_of_key(struct hash_op *op, const struct hash_args *args)
{
	struct frame frame = {
		.form = {
			.run = { .task = op->task, .once = run_once },
			.table = op->hash->combine,
			.hash = op->key.first,
			.always = args->kind != FAR_COMBINE_GET,
			.ret_len = args->ret_len,
			.describe = key_describe, .lead = key_lead,
		},
		.op = op, .args = args,
	};

	return form_key_do(&frame.form);
}

int hash_do(struct far_task *task, struct far_hash *hash, const void *key,
	    size_t key_len, const struct hash_args *args)
{
	struct hash_op op;
	int err;

	err = hash_op_init(&op, task, hash, key, key_len);
	if (err)
		return err;
	if (args->value_len > FAR_HASH_MAX_VALUE)
		return -E2BIG;
	err = far_op_begin(task);
	if (err)
		return err;
	far_spend(task, args->kind == FAR_COMBINE_GET ? GET_COST_NS : CHANGE_COST_NS);
	err = op_of_key(&op, args);
	far_op_end(task);
	return err;
}
