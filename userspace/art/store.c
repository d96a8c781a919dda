/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations that change a key: update, delete, insert and put. Each may run for
 * several callers at once: see op.c.
 *
 *	a value of 8 bytes over one	{READ leaf} {WRITE value}
 *	another value			{READ leaf} {WRITE leaf, CAS head: moved} {CAS slot}
 *	a deletion			{READ leaf} {CAS head: dead} {CAS slot}
 *	a key that was not there	link.c
 *	what a function says		as another value, a deletion, or link.c
 *
 * A WRITE of a value may come when the leaf has died or moved since it was READ. Then it
 * counts as done right before that: the leaf was live when this operation had begun, and
 * nobody sees the value who begins later. So others may join such an operation only
 * before that READ (core/combine.h), not up to the WRITE.
 *
 * A function must not miss such a WRITE. A value of 8 bytes that may be overwritten is
 * closed before, by a CAS of the head, and READ again when all operations have ended that
 * began before: as a block is not reused until then. What a function has stored, and what
 * replaces that, is never overwritten.
 */
#include "art_priv.h"

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"

/*
 * The slot of a dead leaf leads nowhere from now on. *ret_again: it still does, since
 * somebody has begun to replace its node, or has changed the slot.
 */
static int dead_tidy(struct art_op *op, bool *ret_again)
{
	int err = art_leaf_tidy(op);

	*ret_again = !err && art_pointee(op->step.word);
	if (err || *ret_again)
		return err;
	op->node->slot[art_index(op->node_addr, op->step.at)] = op->step.word;
	art_remember(op);
	return 0;
}

/*
 * Looks at the place once more, so that the slot leads where the leaf's head says, and
 * the nodes above are such as their keys need. The change has happened, so that it does
 * this late as well; what cannot be done here, for want of memory perhaps, is done by who
 * comes next.
 */
static void tidy(struct art_op *op)
{
	struct far_combine_batch *batch = op->batch;
	enum art_what what;
	bool again, thin;
	int err;

	op->batch = NULL;
	op->trust = op->step.depth;
	far_must_begin(op->task);
	do {
		again = thin = false;
		err = art_find(op, &what);
		if (!err && what == ART_VACANT && art_pointee(op->step.word))
			err = dead_tidy(op, &again);
		if (!err && (what == ART_VACANT || what == ART_OTHER))
			err = art_is_thin(op, &thin);
		op->renew = thin ? op->node_addr : FAR_NIL;
		op->trust = thin ? op->up.depth : op->step.depth;
	} while (!err && (again || thin));
	far_must_end(op->task);
	op->renew = FAR_NIL;
	op->batch = batch;
}

/* A CAS of the leaf's head, behind what was appended. As art_cas(). */
static int head_cas(struct art_op *op, uint64_t head)
{
	int won;

	art_publishing(op);
	/* a dead head is the same for all who delete the key */
	won = art_cas(op, op->leaf_addr, op->leaf->head, head,
		      art_head_state(head) == ART_MOVED);
	if (won < 0)
		op->unsure = true;
	if (!won) {
		art_lost(op);
		op->trust = op->step.depth;
	}
	return won;
}

static int leaf_kill(struct art_op *op)
{
	int won = head_cas(op, art_head_as(op->leaf->head, ART_DEAD));

	if (won < 0)
		return won;
	if (!won)
		return -EAGAIN;
	tidy(op);
	return 0;
}

static int overwrite(struct art_op *op, const void *value)
{
	int err;

	if (op->art->variant->overwrite)
		return op->art->variant->overwrite(op, value);
	far_must_begin(op->task);
	far_write(op->task, op->leaf_addr + ART_LEAF_HEAD, value, 8);
	err = far_sync(op->task);
	far_must_end(op->task);
	op->unsure = err != 0;
	return err;
}

/*
 * Whether the slot that was READ, by a hint perhaps, was one of the node that it is meant
 * to be. The head was READ behind it.
 */
static bool slot_is_proved(const struct art_op *op)
{
	const struct art_node *node = (const struct art_node *)&op->word[2];

	return op->step.fresh ||
	       (art_node_sane(node, art_seed(op->art->root, op->step.node)) &&
		!art_born_after(op, art_node_birth(node), op->step.age));
}

/* The slot still leads to the leaf, as was READ with the CAS of its head. */
static void moved_tidy(struct art_op *op, uint64_t head)
{
	if (op->word[1] != op->step.word || !slot_is_proved(op)) {
		tidy(op);
		return;
	}
	op->leaf->head = head;
	art_leaf_tidy(op);
	art_forget(op, op->step.node);
}

/* The leaf's successor. Both lie on the same memory node: their key says which. */
static int replace(struct art_op *op, struct art_new *new)
{
	uint64_t head = art_head_moved(art_leaf_size(new->len), new->addr);
	int won;

	if (far_addr_node(new->addr) != far_addr_node(op->leaf_addr))
		return -EBADMSG;
	art_new_write(op, new);
	op->word[1] = 0;
	far_read(op->task, op->step.at, &op->word[1], sizeof(op->word[1]));
	if (!op->step.fresh)
		far_read(op->task, op->step.node, &op->word[2], ART_NODE_HEAD);
	won = head_cas(op, head);
	if (won)
		new->linked = true;
	if (won == 1)
		moved_tidy(op, head);
	if (!won && op->broke)
		new->written = op->broke = false;
	return won < 0 ? won : won ? 0 : -EAGAIN;
}

/* A new leaf, if there is none yet; no READ is appended. */
static int need_new(struct art_op *op, const struct form_args *args, struct art_new *new)
{
	bool closed = op->present && op->seen.value_len == 8 &&
		      !art_head_is_open(op->leaf->head);

	return new->addr ? 0 : art_new_init(op, args->value, args->value_len, closed, new);
}

static int change_here(struct art_op *op, const struct form_args *args, struct art_new *new)
{
	int err;

	op->present = true;
	if (args->kind == FAR_COMBINE_INSERT)
		return -EEXIST;
	if (args->kind == FAR_COMBINE_DELETE)
		return leaf_kill(op);
	if (args->value_len == 8 && op->seen.value_len == 8 &&
	    art_head_is_open(op->leaf->head) && !op->art->variant->makes_leaves)
		return overwrite(op, args->value);
	err = need_new(op, args, new);
	return err ? err : replace(op, new);
}

static int change_absent(struct art_op *op, const struct form_args *args,
			 enum art_what what, struct art_new *new)
{
	int err;

	op->present = false;
	if (args->kind == FAR_COMBINE_DELETE || args->kind == FAR_COMBINE_UPDATE)
		return -ENOENT;
	err = need_new(op, args, new);
	return err ? err : art_link(op, what, new);
}

/*
 * Makes sure that nobody overwrites the value of the leaf that was READ. -EINPROGRESS: that
 * is so when op->closed.mark is past. -EAGAIN: the leaf is another one.
 */
static int leaf_close(struct art_op *op)
{
	uint64_t head = op->leaf->head, closed = art_head_as(head, ART_CLOSED);
	bool known = op->closed.addr == op->leaf_addr && op->closed.head == closed;
	int won;

	if (op->seen.value_len != 8 || head & ART_LONG || (known && op->closed.passed) ||
	    (op->art->variant->hasty && head == closed))
		return 0;
	if (head != closed) {
		won = art_cas(op, op->leaf_addr, head, closed, false);
		if (won < 0)
			return won;
		if (!won)
			art_lost(op);
		op->trust = op->step.depth;
		if (!won)
			return -EAGAIN;
	}
	if (!known) {
		op->closed.addr = op->leaf_addr;
		op->closed.head = closed;
		op->closed.mark = far_epoch_mark(op->task);
		op->closed.passed = false;
	}
	return -EINPROGRESS;
}

static int modify_publish(struct art_op *op, const struct far_state *state,
			  enum art_what what, struct art_new *new)
{
	size_t mark = far_buf_mark(op->task);
	int err;

	if (!state->present)
		return leaf_kill(op);
	err = art_new_init(op, state->value, state->len, true, new);
	if (!err)
		err = what == ART_HERE ? replace(op, new) : art_link(op, what, new);
	if (err != -EAGAIN)
		return err;
	/* the next one has another value */
	art_new_drop(op, new);
	*new = (struct art_new){ 0 };
	far_buf_release(op->task, mark);
	return err;
}

/* Publishes what a function says, by a CAS that wins only while the key has what was READ. */
static int modify_found(struct art_op *op, const struct form_args *args, enum art_what what,
			struct art_new *new)
{
	struct far_state state = far_state_read(NULL, 0);
	int err;

	op->present = what == ART_HERE;
	if (op->present)
		state = far_state_read(op->seen.value, op->seen.value_len);
	err = form_modify(op->batch, args->modify, &state);
	if (err || !far_state_publishes(&state))
		return err;
	if (op->present)
		err = leaf_close(op);
	return err ? err : modify_publish(op, &state, what, new);
}

static int change_found(struct art_op *op, const struct form_args *args,
			enum art_what what, struct art_new *new)
{
	struct far_lock lock;
	int err, also;

	if (args->kind == FAR_COMBINE_MODIFY)
		return modify_found(op, args, what, new);
	if (!op->art->variant->lock)
		return what == ART_HERE ? change_here(op, args, new) :
					  change_absent(op, args, what, new);
	err = op->art->variant->lock(op, &lock);
	if (err)
		return err;
	err = what == ART_HERE ? change_here(op, args, new) :
				 change_absent(op, args, what, new);
	also = far_lock_release(op->task, &lock);
	return err ? err : also;
}

static int change(struct art_op *op, const struct form_args *args, struct art_new *new)
{
	enum art_what what;
	int err;

	do {
		err = art_find(op, &what);
		if (err) {
			new->written = false;
			return err;
		}
		err = change_found(op, args, what, new);
	} while (err == -EAGAIN);
	return err;
}

int art_change(struct art_op *op, const struct form_args *args)
{
	struct art_new new = { 0 };
	int err = 0;

	if (args->kind == FAR_COMBINE_INSERT) {
		err = art_new_init(op, args->value, args->value_len, false, &new);
		if (!err)
			art_new_write(op, &new);
	}
	if (!err)
		err = change(op, args, &new);
	if (err && op->unsure && op->art->variant->twice &&
	    args->kind == FAR_COMBINE_MODIFY) {
		op->unsure = false;
		err = change(op, args, &new);
	}
	if (err && !op->unsure)
		far_sync(op->task);	/* nothing is on its way to what is given back */
	if (err && op->unsure)
		far_alloc_lost(op->task);
	else
		art_new_drop(op, &new);
	return err;
}
