/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame of an operation of one key: checks, epoch, buffers, second tries, and how
 * one operation answers others of the same key. And get, which is a search.
 */
#include "priv.h"

#include <string.h>

#include "../base/rng.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/key.h"

#define FATE_TRIES	8u	/* and under a READ that clears up a fate */
/* processor time of an operation, declared to the model */
#define GET_COST_NS	300u
#define CHANGE_COST_NS	600u

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
	return 0;
}

/*
 * What became of a CAS when a connection broke. Some words never come back. The READ goes by
 * the connection that was made anew: what it finds is final (core/loose.h).
 */
static int cas_settle(struct art_op *op, uint64_t addr, uint64_t old, uint64_t new, bool own,
		      int err)
{
	bool once = !old || art_head_state(old) == ART_LIVE;
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

static int op_run(struct art_op *op, const struct art_args *args)
{
	return art_far_err(args->kind == FAR_COMBINE_GET ? op_get(op) :
							   art_change(op, args));
}

static int get_copy(const struct art_op *op, const struct art_args *args)
{
	if (args->ret_len)
		*args->ret_len = op->seen.value_len;
	if (op->seen.value_len > args->room_len)
		return -EMSGSIZE;
	if (op->seen.value_len)
		memcpy(args->room, op->seen.value, op->seen.value_len);
	return 0;
}

/* One try alone. */
static int alone_once(struct art_op *op, const struct art_args *args)
{
	size_t mark;
	int err;

	err = far_epoch_enter(op->task);
	if (err)
		return err;
	mark = far_buf_mark(op->task);
	err = art_op_start(op);
	if (!err)
		err = op_run(op, args);
	if (!err && args->kind == FAR_COMBINE_GET)
		err = get_copy(op, args);
	far_buf_release(op->task, mark);
	far_epoch_exit(op->task);
	return err;
}

struct frame {
	struct form_key form;
	struct art_op *op;
	const struct art_args *args;
};

static int run_once(struct form_run *run)
{
	const struct frame *frame = (const struct frame *)run;
	int err = alone_once(frame->op, frame->args);

	run->unsure = err == -EIO && frame->op->unsure;
	return err;
}

/* What the others are told of the batch's operation. */
static void lead_result(const struct art_op *op, int err,
			struct far_combine_result *ret_result)
{
	const struct far_combine_batch *batch = op->batch;
	struct far_combine_result result = {
		.err = err == -ENOENT || err == -EEXIST ? 0 : err,
		.unknown = err && op->unsure,
		.published = !err && batch->kind != FAR_COMBINE_GET,
		.present = op->present,
	};

	if (!err && batch->kind == FAR_COMBINE_GET) {
		result.present = 1;
		result.value = op->seen.value;
		result.value_len = op->seen.value_len;
	}
	*ret_result = result;
}

/* One batch, from its plan to its end. */
static enum far_combine_how lead_once(struct art_op *op)
{
	struct far_combine_batch *batch = op->batch;
	size_t mark = far_buf_mark(op->task);
	struct far_combine_result result;
	struct art_args args = { 0 };
	enum far_combine_how how;
	bool entered;
	int err;

	/* Of this batch alone, which may fail before it begins. */
	op->unsure = false;
	err = far_epoch_enter(op->task);
	entered = !err;
	if (!err)
		err = art_op_start(op);
	far_combine_plan(batch);
	args.kind = batch->kind;
	if (batch->source) {
		args.value = batch->source->value;
		args.value_len = batch->source->value_len;
	}
	if (!err)
		err = op_run(op, &args);
	lead_result(op, err, &result);
	how = far_combine_end(batch, &result);
	far_buf_release(op->task, mark);
	if (entered)
		far_epoch_exit(op->task);
	return how;
}

static void key_describe(const struct form_key *key, struct far_combine_op *op)
{
	const struct frame *frame = (const struct frame *)key;
	const struct art_args *args = frame->args;

	op->key = frame->op->key.data;
	op->key_len = frame->op->key.len;
	op->value = args->value;
	op->value_len = args->value_len;
	op->room = args->room;
	op->room_len = args->room_len;
	op->kind = args->kind;
}

static enum far_combine_how key_lead(struct form_key *key, struct far_combine_batch *batch)
{
	struct art_op *op = ((struct frame *)key)->op;
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
static int op_of_key(struct art_op *op, const struct art_args *args)
{
	struct frame frame = {
		.form = {
			.run = { .task = op->task, .once = run_once },
			.table = op->art->combine,
			.hash = op->key.hash,
			.always = args->kind != FAR_COMBINE_GET,
			.ret_len = args->ret_len,
			.describe = key_describe, .lead = key_lead,
		},
		.op = op, .args = args,
	};

	return form_key_do(&frame.form);
}

/* Runs an operation from begin to end: alone, or with others of the same key. */
static int art_do(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		  const struct art_args *args)
{
	struct art_op op;
	int err;

	err = art_op_init(&op, task, art, key, key_len);
	if (err)
		return err;
	if (args->value_len > ART_MAX_VALUE)
		return -E2BIG;
	err = far_op_begin(task);
	if (err)
		return err;
	far_spend(task, args->kind == FAR_COMBINE_GET ? GET_COST_NS : CHANGE_COST_NS);
	err = op_of_key(&op, args);
	far_op_end(task);
	return err;
}

int far_art_get(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		void *value, size_t value_size, size_t *ret_len)
{
	struct art_args args = {
		.kind = FAR_COMBINE_GET,
		.room = value, .room_len = value_size, .ret_len = ret_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_put(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		const void *value, size_t value_len)
{
	struct art_args args = {
		.kind = FAR_COMBINE_PUT, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_insert(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len)
{
	struct art_args args = {
		.kind = FAR_COMBINE_INSERT, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_update(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len)
{
	struct art_args args = {
		.kind = FAR_COMBINE_UPDATE, .value = value, .value_len = value_len,
	};

	return art_do(task, art, key, key_len, &args);
}

int far_art_delete(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len)
{
	struct art_args args = { .kind = FAR_COMBINE_DELETE };

	return art_do(task, art, key, key_len, &args);
}
