/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table's steps in the frame of an operation of one key (form/key.h). */
#include "hash_priv.h"

#include <errno.h>

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

struct frame {
	struct form_key form;
	struct hash_op *op;
};

static int key_start(struct form_key *key, struct far_combine_batch *batch)
{
	struct hash_op *op = ((struct frame *)key)->op;

	op->batch = batch;
	return hash_op_start(op);
}

static int key_run(struct form_key *key, const struct form_args *args)
{
	struct hash_op *op = ((struct frame *)key)->op;

	return hash_far_err(args->kind == FAR_COMBINE_GET ? hash_get(op) :
							    hash_change(op, args));
}

static int key_copy(const struct form_key *key, const struct form_args *args)
{
	return hash_get_copy(((const struct frame *)key)->op->found.block, args);
}

static bool key_is_unsure(const struct form_key *key)
{
	return ((const struct frame *)key)->op->unsure;
}

static void key_result(const struct form_key *key, int err, struct far_combine_result *result)
{
	const struct hash_op *op = ((const struct frame *)key)->op;
	const struct hash_block *block = op->found.block;

	result->present = op->present || (!err && op->batch->kind == FAR_COMBINE_GET);
	if (!err && !result->published && result->present) {
		result->value = block->data + block->key_len;
		result->value_len = block->val_len;
	}
	if (op->hash->variant->window && !err)
		op->hash->variant->window(op->batch);
}

static const struct form_key_ops key_ops = {
	.get_ns = 300, .change_ns = 600,
	.start = key_start, .run = key_run, .copy = key_copy,
	.is_unsure = key_is_unsure, .result = key_result,
};

static int key_once(struct form_run *run)
{
	return form_key_once(run, &key_ops);
}

static enum far_combine_how key_lead(struct form_key *key, struct far_combine_batch *batch)
{
	return form_key_lead(key, batch, &key_ops);
}

/*
 * Changes combine always: two of one client would lose their CAS to each other. Gets do if
 * the key is hot.
 */
int hash_do(struct far_task *task, struct far_hash *hash, const void *key,
	    size_t key_len, const struct form_args *args)
{
	struct hash_op op;
	struct frame frame = {
		.form = {
			.run = { .task = task, .once = key_once },
			.lead = key_lead, .args = args,
			.key = key, .key_len = key_len, .table = hash->combine,
			.always = args->kind != FAR_COMBINE_GET,
		},
		.op = &op,
	};
	int err = hash_op_init(&op, task, hash, key, key_len);

	if (err)
		return err;
	if (args->value_len > FAR_HASH_MAX_VALUE)
		return -E2BIG;
	frame.form.hash = op.key.first;
	return form_key_do(&frame.form, &key_ops);
}
