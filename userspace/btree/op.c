/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree's steps in the frame of an operation of one key (form/key.h). */
#include "btree_priv.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

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

struct frame {
	struct form_key form;
	struct btree_op *op;
};

static int key_start(struct form_key *key, struct far_combine_batch *batch)
{
	struct btree_op *op = ((struct frame *)key)->op;
	int err = btree_op_init(op, op->task, op->tree);

	op->batch = batch;
	op->value = NULL;	/* not that of a batch whose memory was released */
	if (err || (!batch && !key->args->modify))
		return err;
	op->value = far_buf(op->task, op->tree->value_size);
	return op->value ? 0 : -ENOMEM;
}

static int key_run(struct form_key *key, const struct form_args *args)
{
	struct btree_op *op = ((struct frame *)key)->op;
	struct form_args mine = *args;
	int err;

	if (op->value)
		mine.room = op->value;
	err = args->kind == FAR_COMBINE_GET ? btree_get(op, mine.room) :
					      btree_change(op, &mine);
	return err == -ESHUTDOWN ? -EBADMSG : err;
}

static bool key_is_unsure(const struct form_key *key)
{
	return ((const struct frame *)key)->op->unsure;
}

static void key_result(const struct form_key *key, int err, struct far_combine_result *result)
{
	const struct btree_op *op = ((const struct frame *)key)->op;

	(void)err;
	result->present = op->present;
	if (!result->published && !result->err && op->present) {
		result->value = op->value;
		result->value_len = op->tree->value_size;
	}
}

/* A separator that is missing, and leaves that are nearly empty: by whoever meets them. */
static void key_tidy(struct form_key *key)
{
	struct btree_op *op = ((struct frame *)key)->op;

	op->batch = NULL;
	if (op->passed)
		btree_link_missing(op, op->key, op->passed, op->passed_level);
	if (op->few)
		btree_merge(op, op->key, 0);
}

static void key_stop(struct form_key *key)
{
	btree_spare_drop(((struct frame *)key)->op);
}

static const struct form_key_ops key_ops = {
	.get_ns = 300, .change_ns = 500,
	.start = key_start, .run = key_run, .is_unsure = key_is_unsure, .result = key_result,
	.tidy = key_tidy, .stop = key_stop,
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
 * Combined, if the key is hot. Gets combine with gets, and changes with changes: a get that
 * joined a change would wait for the leaf's lock.
 */
static int btree_do(struct far_task *task, struct far_btree *tree, const void *key,
		    size_t key_len, const struct form_args *args)
{
	struct btree_op op = { .task = task, .tree = tree, .key = key };
	struct frame frame = {
		.form = {
			.run = { .task = task, .once = key_once },
			.lead = key_lead, .args = args,
			.key = key, .key_len = key_len, .table = tree->combine,
		},
		.op = &op,
	};

	if (key_len != tree->key_size)
		return -EINVAL;
	op.hash = XXH3_64bits_withSeed(key, key_len, tree->root);
	frame.form.hash = args->kind == FAR_COMBINE_GET ? op.hash : ~op.hash;
	return form_key_do(&frame.form, &key_ops);
}

int far_btree_get(struct far_task *task, struct far_btree *tree, const void *key,
		  size_t key_len, void *value, size_t value_size, size_t *ret_len)
{
	const struct form_args args = {
		.kind = FAR_COMBINE_GET, .room = value, .room_len = tree->value_size,
	};

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
	const struct form_args args = {
		.kind = kind, .value = value, .value_len = value_len,
	};

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
	const struct form_args args = { .kind = FAR_COMBINE_MODIFY, .modify = &function };

	return btree_do(task, tree, key, key_len, &args);
}

int far_btree_delete(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len)
{
	const struct form_args args = { .kind = FAR_COMBINE_DELETE };

	return btree_do(task, tree, key, key_len, &args);
}
