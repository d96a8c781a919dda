/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame of an operation of one key: processor time, epoch, buffers, second tries, and
 * how one operation answers others of the same key. A structure says the rest by a table.
 */
#ifndef FAR_FORM_KEY_H
#define FAR_FORM_KEY_H

#include "../core/combine.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "run.h"

/* The caller's operation, and the place for its answer. */
struct form_args {
	enum far_combine_kind kind;
	const void *value;
	size_t value_len;
	void *room;			/* for the value of a get, room_len bytes */
	size_t room_len;
	size_t *ret_len;		/* of a get's value, or NULL */
	const struct far_modify *modify;
};

/* At the head of its structure's own. */
struct form_key {
	struct form_run run;			/* tries of the operation alone */
	/* A batch from its plan to its end: form_key_lead() with the structure's table. */
	enum far_combine_how (*lead)(struct form_key *key, struct far_combine_batch *batch);
	const struct form_args *args;
	const void *key;
	size_t key_len;
	uint64_t hash;				/* as in struct far_combine_op */
	struct far_combine_table *table;	/* NULL: nothing combines */
	bool always;				/* it combines also if the key is not hot */
};

/*
 * A structure's own steps of the frame. batch NULL: the operation is alone.
 * All that take the table are inlined where it is constant: nothing is called by pointers.
 */
struct form_key_ops {
	uint32_t get_ns, change_ns;	/* processor time, declared to the model */
	/* In an epoch: buffers, and a beginning without traces of another try. */
	int (*start)(struct form_key *key, struct far_combine_batch *batch);
	int (*run)(struct form_key *key, const struct form_args *args);
	/* Alone, after a get: to where its caller wants it. NULL: run() has done so. */
	int (*copy)(const struct form_key *key, const struct form_args *args);
	/* After run(): whether nobody knows if the change has happened. */
	bool (*is_unsure)(const struct form_key *key);
	/* Gives the others run()'s result, which was err: present, value, value_len. */
	void (*result)(const struct form_key *key, int err,
		       struct far_combine_result *result);
	/* After a change that has gone well, when the operation leads no other batch; NULL. */
	void (*tidy)(struct form_key *key);
	/* After start(), however it has ended: gives back memory of the space; NULL. */
	void (*stop)(struct form_key *key);
};

/* The table of an open structure; NULL if its client goes without. */
int form_combine_new(const struct far *far, struct far_combine_table **ret_table);

/* Runs it combined; the table is not NULL. */
int form_key_combined(struct form_key *key);

/* One try alone: form_run.once of a structure, with its own table. */
static inline int form_key_once(struct form_run *run, const struct form_key_ops *ops)
{
	struct form_key *key = (struct form_key *)run;
	size_t mark;
	int err;

	run->unsure = false;
	err = far_epoch_enter(run->task);
	if (err)
		return err;
	mark = far_buf_mark(run->task);
	err = ops->start(key, NULL);
	if (!err) {
		err = ops->run(key, key->args);
		if (err == -EIO || err == -ESTALE)
			run->unsure = ops->is_unsure(key);
		else if (!err && ops->copy && key->args->kind == FAR_COMBINE_GET)
			err = ops->copy(key, key->args);
		else if (!err && ops->tidy && key->args->kind != FAR_COMBINE_GET)
			ops->tidy(key);
	}
	if (ops->stop)
		ops->stop(key);
	far_buf_release(run->task, mark);
	far_epoch_exit(run->task);
	return form_fate(err, run->unsure);
}

/* Collects the batch's result for the others; ran: the operation has come as far as run(). */
static inline void form_key_result(const struct form_key *key,
				   const struct far_combine_batch *batch, int err, bool ran,
				   struct far_combine_result *ret_result,
				   const struct form_key_ops *ops)
{
	bool publishes = batch->kind == FAR_COMBINE_MODIFY ?
			 far_state_publishes(&batch->state) : batch->kind != FAR_COMBINE_GET;

	*ret_result = (struct far_combine_result) {
		.err = err == -ENOENT || err == -EEXIST ? 0 : err,
		.unknown = err && ran && ops->is_unsure(key),
		.published = !err && publishes,
	};
	if (ran)
		ops->result(key, err, ret_result);
}

/* How far a leader has come. */
struct form_lead {
	struct form_args args;		/* the net operation */
	size_t mark;			/* of buffers */
	bool entered, ran;		/* it is inside of an epoch, and has come to run() */
};

static inline int form_key_lead_once(struct form_key *key, struct far_combine_batch *batch,
				     struct form_lead *lead, const struct form_key_ops *ops)
{
	int err = far_epoch_enter(key->run.task);

	lead->entered = !err;
	if (!err)
		err = ops->start(key, batch);
	lead->ran = !err;
	far_combine_plan(batch);
	lead->args = (struct form_args){ .kind = batch->kind };
	if (batch->source) {
		lead->args.value = batch->source->value;
		lead->args.value_len = batch->source->value_len;
	}
	return err ? err : ops->run(key, &lead->args);
}

static inline void form_key_lead_leave(struct form_key *key, struct form_lead *lead,
				       const struct form_key_ops *ops)
{
	if (lead->entered && ops->stop)
		ops->stop(key);
	far_buf_release(key->run.task, lead->mark);
	if (lead->entered)
		far_epoch_exit(key->run.task);
	lead->entered = lead->ran = false;
}

/* A batch waits as one (-EINPROGRESS): if all went alone, they would meet each other. */
static inline int form_key_lead_run(struct form_key *key, struct far_combine_batch *batch,
				    struct form_lead *lead, const struct form_key_ops *ops)
{
	int err = form_key_lead_once(key, batch, lead, ops);

	while (err == -EINPROGRESS) {
		form_key_lead_leave(key, lead, ops);
		err = far_epoch_wait(key->run.task, key->run.mark);
		if (!err)
			err = form_key_lead_once(key, batch, lead, ops);
	}
	return form_fate(err, err == -ESTALE && lead->ran && ops->is_unsure(key));
}

static inline enum far_combine_how form_key_lead(struct form_key *key,
						 struct far_combine_batch *batch,
						 const struct form_key_ops *ops)
{
	struct form_lead lead = { .mark = far_buf_mark(key->run.task) };
	struct far_combine_result result;
	enum far_combine_how how;
	int err = form_key_lead_run(key, batch, &lead, ops);

	form_key_result(key, batch, err, lead.ran, &result, ops);
	how = far_combine_end(batch, &result);
	if (!err && how != FAR_COMBINE_LEAD && ops->tidy &&
	    lead.args.kind != FAR_COMBINE_GET)
		ops->tidy(key);
	form_key_lead_leave(key, &lead, ops);
	return how;
}

/* Runs it alone or in a batch. */
static inline int form_key_try(struct form_key *key)
{
	int err;

	if (!key->table)
		return form_run(&key->run);
	if (key->always || far_combine_hot(key->table, key->hash))
		return form_key_combined(key);
	err = form_run(&key->run);
	far_combine_gone(key->table, key->hash, false);
	return err;
}

/* All of the operation. */
static inline int form_key_do(struct form_key *key, const struct form_key_ops *ops)
{
	struct far_task *task = key->run.task;
	int err = far_op_begin(task);

	if (err)
		return err;
	far_spend(task, key->args->kind == FAR_COMBINE_GET ? ops->get_ns : ops->change_ns);
	err = form_key_try(key);
	far_op_end(task);
	return err;
}

/*
 * A change by a function: *state, which was read, becomes what is to be published, if
 * far_state_publishes(). All of the batch is applied; without one, NULL, the function alone,
 * and an error of far_modify_apply() is the operation's. The same rules as of
 * far_combine_modify() hold.
 */
int form_modify(struct far_combine_batch *batch, const struct far_modify *modify,
		struct far_state *state);

#endif
