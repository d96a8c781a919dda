/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The radix tree's own types: an open tree, and an operation of one key on it.
 *
 *	key.c	symbols, nodes, leaves		cache.c	 nodes that were seen
 *	find.c	where a key is			renew.c	 a node is replaced
 *	link.c	a key that was not there	store.c	 a value, a deletion
 *	op.c	an operation's frame		table.c	 create, open, close, destroy
 *	scan.c	ranges				view.c	 a walk through all of it
 *	walk.c	what a check walks		image.c	 a tree made at once
 */
#ifndef FAR_ART_PRIV_H
#define FAR_ART_PRIV_H

#include <errno.h>

#include <far/art.h>

#include "../core/lock.h"
#include "../form/age.h"
#include "../form/key.h"
#include "cache.h"
#include "key.h"
#include "layout.h"

struct art_op;

/* What others do in another way, for comparisons (paper/art.c); all 0: ours. */
struct art_variant_ops {
	bool makes_leaves;	/* an update of 8 bytes makes a new leaf, too */
	bool twice;		/* a function's change of unknown fate is made again: wrong */
	bool hasty;		/* a function changes what others still overwrite: wrong */
	/* WRITEs 8 bytes over the value; as overwrite() of store.c does. NULL: that. */
	int (*overwrite)(struct art_op *op, const void *value);
	/* Takes the lock of a node that a change needs. NULL: there is none. */
	int (*lock)(struct art_op *op, struct far_lock *lock);
	/* Sees through the lock of a leaf that was READ. NULL: there is none. */
	void (*see)(struct art_leaf *leaf);
};

struct far_art {
	struct far *far;
	uint64_t root;
	unsigned nr_nodes;		/* memory nodes that blocks go to */
	const struct art_variant_ops *variant;
	const uint64_t *locks;		/* of the variant, by memory node */
	struct art_cache *cache;	/* NULL: none */
	struct far_combine_table *combine;	/* NULL: each operation for itself */
};

/* What art_find() has found. */
enum art_what {
	ART_HERE,		/* the key, live: leaf_addr, leaf, seen */
	ART_VACANT,		/* slot_at leads nowhere, or to a dead leaf: slot */
	ART_OTHER,		/* slot leads to a live leaf of another key: leaf, seen */
	ART_ASIDE,		/* slot leads to a node that the key has left: below, leaves_at */
	ART_CROWDED,		/* the node has no slot for the key, and no empty one */
};

/* A slot on the way, and what was known of it when. */
struct art_step {
	uint64_t at;		/* far address of the slot; FAR_NIL: above the first node */
	uint64_t word;
	uint64_t node;		/* that has it, */
	unsigned depth;		/* at this depth */
	bool fresh;		/* READ by this operation: else a hint, */
	struct form_age age;	/* of this age */
};

/*
 * An operation of one key. Between far_epoch_enter() and far_epoch_exit() nothing that
 * a slot which it has READ leads to is used for anything else.
 */
struct art_op {
	struct far_task *task;
	struct far_art *art;
	struct art_key key;
	struct far_combine_batch *batch;	/* NULL: it is alone */

	/* a leaf that was closed: when all that may overwrite its value has ended */
	struct {
		uint64_t addr, head;
		uint64_t mark;		/* far_epoch_mark() */
		bool passed;		/* before this try has READ anything */
	} closed;

	unsigned trust;			/* hints from nodes of this depth on are not taken */
	uint64_t renew;			/* a node that is to be replaced when it is met; */
	unsigned patience;		/* times to wait for another one who has begun to */
	uint64_t moved;			/* one of the leaves that it met moved, and retired, */
	unsigned nr_moved;		/* which are so many */

	/* the node that decides, and the step that led there */
	uint64_t node_addr;
	struct art_node *node;		/* registered: as it was READ, if step.fresh */
	struct form_age node_age;	/* of that READ */
	struct art_step up;
	/* the key's slot in it */
	struct art_step step;
	uint64_t below;			/* ART_ASIDE: header of the node below */
	unsigned leaves_at;		/* and where the key leaves its way */
	/* the leaf that step leads to */
	uint64_t leaf_addr;
	struct art_leaf *leaf;		/* registered */
	size_t leaf_room;
	struct art_seen seen;

	uint64_t *word;			/* registered room for ART_OP_WORDS words */
	unsigned reads;			/* of nodes */
	bool looked;			/* in this descent it has READ something, */
	bool begun;			/* first what a cached node led to */
	bool progress;			/* it has put something in order, and looks again */
	bool present;			/* the key was there, before the change */
	bool unsure;			/* of the last change nobody knows whether it happened */
	bool broke;			/* a connection: what was WRITTEN may not be there */
};

#define ART_OP_WORDS		4u
#define ART_TRIES		1000u	/* rounds that nothing explains mean damage */
#define ART_PATIENCE		4u
#define ART_TRUST_ALL		(ART_MAX_KEY + 2)

/* The caller names no far address: one that cannot be was read from far memory. */
static inline int art_far_err(int err)
{
	return err == -EFAULT ? -EBADMSG : err;
}

/* The birth of a block that the task has just allocated. */
static inline uint32_t art_birth(const struct far_task *task)
{
	return form_age_low(form_age_now(task), ART_BIRTH_BITS);
}

/* True if the block with that birth may be another one than the hint means. */
static inline bool art_born_after(const struct art_op *op, uint32_t birth,
				  struct form_age hint)
{
	return form_age_after(birth, ART_BIRTH_BITS, hint, form_age_now(op->task));
}

static inline uint64_t art_first_node(const struct far_art *art)
{
	return art->root + ART_ROOT_NODE;
}

/* The memory node of a key's leaf. */
static inline unsigned art_leaf_node(const struct far_art *art, const struct art_key *key)
{
	return (key->hash >> 32) * art->nr_nodes >> 32;
}

static inline uint64_t art_slot_at(uint64_t node, unsigned i)
{
	return node + ART_NODE_HEAD + 8 * (uint64_t)i;
}

static inline unsigned art_index(uint64_t node, uint64_t slot_at)
{
	return (slot_at - node - ART_NODE_HEAD) / 8;
}

/* op.c */

/* -EINVAL, -E2BIG: a key that cannot be. It is alone. */
int art_op_init(struct art_op *op, struct far_task *task, struct far_art *art,
		const void *key, size_t key_len);
/* Buffers; inside of an epoch. */
int art_op_start(struct art_op *op);

/* Before the CAS that changes what the key has is posted, and after it has lost. */
static inline void art_publishing(struct art_op *op)
{
	if (op->batch)
		far_combine_publish(op->batch);
}

static inline void art_lost(struct art_op *op)
{
	if (op->batch)
		far_combine_lost(op->batch);
}

/*
 * One CAS, behind what was appended. 1: it has won; 0: it has lost, and op->word[0] is
 * what was there. An error: it may have won. own: nobody else ever stores that word, so
 * that who finds it there after a connection broke knows that it has won.
 */
int art_cas(struct art_op *op, uint64_t addr, uint64_t old, uint64_t new, bool own);

/* find.c */

/* Finds the key, with hints as far as op->trust allows. What it answers is true now. */
int art_find(struct art_op *op, enum art_what *ret_what);
/* The node in op->node, which is on the key's way, for later; and one that is not right. */
void art_remember(struct art_op *op);
void art_forget(struct art_op *op, uint64_t node);
/* READs the leaf of a slot into op->leaf, whole. Its head may say that it has moved. */
int art_leaf_read(struct art_op *op, uint64_t slot);
/* What op->leaf says, which op->step leads to. */
int art_leaf_seen(struct art_op *op);
/*
 * The step leads to op->leaf: follows it to where it has moved, however often, and lets
 * op->step.word lead there. Nothing is reused within an epoch, so that a leaf that is met
 * again is damage.
 */
int art_leaf_follow(struct art_op *op);
/*
 * The step leads to a leaf that is dead or has moved: lets it lead nowhere, or to where
 * the leaf has moved to, and retires the leaf. 0 with op->step.word as it was: somebody
 * else has changed the slot, or it is frozen.
 */
int art_leaf_tidy(struct art_op *op);
/* Bytes of the leaf in op->leaf that the slot leads to; it need not be live. */
uint64_t art_leaf_bytes(const struct art_op *op, uint64_t slot);

/* renew.c */

/*
 * Replaces the node in op->node, which op->up leads to and was READ to do, by what its
 * keys need now: a node of another size, its only child, or nothing. 0 also if somebody
 * else has done it; the way has changed then. -ENOSPC: nothing was changed.
 */
int art_renew(struct art_op *op);
/* After a deletion: whether the node is to be replaced, as far as one can see. */
int art_is_thin(struct art_op *op, bool *ret_thin);

/* A leaf that no slot leads to yet. */
struct art_new {
	uint64_t addr;
	uint64_t len;
	struct art_leaf *leaf;	/* registered */
	bool written;		/* its WRITE was acknowledged */
	bool linked;		/* a slot may lead to it */
};

/* link.c */

/* closed: a value of 8 bytes is never overwritten. */
int art_new_init(struct art_op *op, const void *value, size_t value_len, bool closed,
		 struct art_new *ret_new);
/* Appends its WRITE, unless it is written. */
void art_new_write(struct art_op *op, struct art_new *new);
/* No slot has ever led to it. */
void art_new_drop(struct art_op *op, struct art_new *new);
/*
 * Lets the tree lead to it, at the place that art_find() has found. 0; -EAGAIN: find it
 * again.
 */
int art_link(struct art_op *op, enum art_what what, struct art_new *new);

/* store.c: what changes a key, by kind. Afterwards op->present is right. */
int art_change(struct art_op *op, const struct form_args *args);

/* table.c: opens the tree with that root. */
int art_open_root(struct far_task *task, uint64_t addr, struct far_art **ret_art);

#endif
