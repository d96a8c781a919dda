/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree's steps in the frame of an operation of one key (form/key.h), and get, which
 * is a search.
 */
#include "art_priv.h"

#include <string.h>

#include "../base/rng.h"

#define FATE_TRIES	8u	/* and under a READ that clears up a fate */

int art_op_init(struct art_op *op, struct far_task *task, struct far_art *art,
		const void *key, size_t key_len)
{
	if (!key_len)
		return -EINVAL;
	if (key_len > ART_MAX_KEY)
		return -E2BIG;
	memset(op, 0, sizeof(*op));
	op->task = task;
	op->art = art;
	art_key_init(&op->key, key, key_len);
	return 0;
}

int art_op_start(struct art_op *op)
{
	uint8_t *buf = far_buf(op->task, ART_NODE_MAX + ART_OP_WORDS * sizeof(uint64_t));

	if (!buf)
		return -ENOMEM;
	op->node = (struct art_node *)buf;
	op->word = (uint64_t *)(buf + ART_NODE_MAX);
	op->leaf = NULL;
	op->leaf_room = 0;
	op->trust = ART_TRUST_ALL;
	op->renew = FAR_NIL;
	op->patience = ART_PATIENCE;
	op->moved = FAR_NIL;
	op->nr_moved = 0;
	op->present = op->unsure = op->broke = false;
	op->closed.passed = op->closed.addr && far_epoch_is_past(op->task, op->closed.mark);
	return 0;
}

/*
 * What became of a CAS when a connection broke. Some words never come back. The READ goes by
 * the connection that was made anew: what it finds is final (core/loose.h).
 */
static int cas_settle(struct art_op *op, uint64_t addr, uint64_t old, uint64_t new, bool own,
		      int err)
{
	bool once = art_head_has_key(old);	/* an empty slot, too */
	int also = -EIO;
	unsigned i;

	for (i = 0; i < FATE_TRIES && also && also != -ESTALE; i++) {
		far_read(op->task, addr, op->word, sizeof(*op->word));
		also = far_sync(op->task);
	}
	op->broke = true;
	if (also)
		return also;
	if (op->word[0] == new && own)
		return 1;
	return op->word[0] == old && once ? 0 : err;
}

static int cas_once(struct art_op *op, uint64_t addr, uint64_t old, uint64_t new, bool own)
{
	int err;

	far_cas(op->task, addr, old, new, &op->word[0]);
	err = far_sync(op->task);
	if (err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN)
		return cas_settle(op, addr, old, new, own, err);
	if (err)
		return err;
	if (op->word[0] == old)
		return 1;
	far_backoff_count(op->task);
	return 0;
}

/* The READ before it was in time: then it may be posted, and its fate be cleared up. */
int art_cas(struct art_op *op, uint64_t addr, uint64_t old, uint64_t new, bool own)
{
	int won;

	far_must_begin(op->task);
	won = cas_once(op, addr, old, new, own);
	far_must_end(op->task);
	return won;
}

static int op_get(struct art_op *op)
{
	enum art_what what;
	int err = art_find(op, &what);

	if (err)
		return err;
	return what == ART_HERE ? 0 : -ENOENT;
}

struct frame {
	struct form_key form;
	struct art_op *op;
};

static int key_start(struct form_key *key, struct far_combine_batch *batch)
{
	struct art_op *op = ((struct frame *)key)->op;

	op->batch = batch;
	return art_op_start(op);
}

static int key_run(struct form_key *key, const struct form_args *args)
{
	struct art_op *op = ((struct frame *)key)->op;
	int err = args->kind == FAR_COMBINE_GET ? op_get(op) : art_change(op, args);

	key->run.mark = op->closed.mark;
	return art_far_err(err);
}

static int key_copy(const struct form_key *key, const struct form_args *args)
{
	const struct art_op *op = ((const struct frame *)key)->op;

	if (args->ret_len)
		*args->ret_len = op->seen.value_len;
	if (op->seen.value_len > args->room_len)
		return -EMSGSIZE;
	if (op->seen.value_len)
		memcpy(args->room, op->seen.value, op->seen.value_len);
	return 0;
}

static bool key_is_unsure(const struct form_key *key)
{
	return ((const struct frame *)key)->op->unsure;
}

static void key_result(const struct form_key *key, int err, struct far_combine_result *result)
{
	const struct art_op *op = ((const struct frame *)key)->op;

	result->present = op->present || (!err && op->batch->kind == FAR_COMBINE_GET);
	if (!err && !result->published && result->present) {
		result->value = op->seen.value;
		result->value_len = op->seen.value_len;
	}
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
static int art_do(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		  const struct form_args *args)
{
	struct art_op op;
	struct frame frame = {
		.form = {
			.run = { .task = task, .once = key_once },
			.lead = key_lead, .args = args,
			.key = key, .key_len = key_len, .table = art->combine,
			.always = args->kind != FAR_COMBINE_GET,
		},
		.op = &op,
	};
	int err = art_op_init(&op, task, art, key, key_len);

	if (err)
		return err;
	if (args->value_len > ART_MAX_VALUE)
		return -E2BIG;
	frame.form.hash = op.key.hash;
	return form_key_do(&frame.form, &key_ops);
}

int far_art_get(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		void *value, size_t value_size, size_t *ret_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_GET,
		.room = value, .room_len = value_size, .ret_len = ret_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_put(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_PUT, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_insert(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_INSERT, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_update(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len)
{
	struct form_args args = {
		.kind = FAR_COMBINE_UPDATE, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_modify(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		   far_modify_fn *modify, void *arg)
{
	const struct far_modify function = {
		.function = modify, .arg = arg, .most = ART_MAX_VALUE,
	};
	struct form_args args = { .kind = FAR_COMBINE_MODIFY, .modify = &function };

	/* their locks know of no leaf that is closed */
	if (art->variant->overwrite || art->variant->lock)
		return -EOPNOTSUPP;
	return art_do(task, art, key, key_len, &args);
}

int far_art_delete(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len)
{
	struct form_args args = { .kind = FAR_COMBINE_DELETE };

	return art_do(task, art, key, key_len, &args);
}
