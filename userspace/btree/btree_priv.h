/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The B+ tree's own types: an open tree, and an operation on it.
 *
 *	tree.c	  create, open, close, destroy	op.c	  an operation's frame
 *	node.c	  images of nodes		get.c	  get
 *	cache.c	  what a client remembers	change.c  put, insert, update, delete
 *	find.c	  the way to a node		scan.c	  scan, stat
 *	hold.c	  locked nodes, and repair	walk.c	  what a check walks
 *	split.c	  a node becomes two		merge.c	  two nodes become one
 *	link.c	  separators in the level above
 */
#ifndef FAR_BTREE_PRIV_H
#define FAR_BTREE_PRIV_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <far/btree.h>

#include "../core/lock.h"
#include "../form/key.h"
#include "cache.h"
#include "node.h"

struct btree_hold;

/* Mechanisms that others do without, for comparisons (paper/btree.c); all 0: ours. */
struct btree_variant_ops {
	bool no_spot, no_near, no_word, no_redo;	/* BTREE_NO_* */
	/* After a hand-over: READs the image. NULL: the image came with the lock. */
	int (*handed)(struct btree_hold *hold);
};

struct far_btree {
	struct far *far;
	uint64_t root;
	unsigned key_size, value_size;
	struct btree_geo geo[2];	/* of leaves, of inner nodes */
	_Atomic uint64_t top;		/* as the root said last */
	struct btree_variant_ops variant;
	struct btree_cache *cache;	/* NULL: none */
	struct far_combine_table *combine;	/* NULL: each operation for itself */
};

static inline const struct btree_geo *btree_geo_of(const struct far_btree *tree,
						   unsigned level)
{
	return &tree->geo[!!level];
}

/* An operation; its buffers are registered. */
struct btree_op {
	struct far_task *task;
	struct far_btree *tree;
	const void *key;
	uint64_t hash;			/* of the key */
	struct btree_head *inner;	/* an inner node on the way */
	struct btree_head *node;	/* what it has READ */
	uint64_t *word;			/* room for a word */
	void *value;			/* room for a value that its caller has none for; NULL */
	bool unsure;			/* nobody knows whether its change has happened */
	bool present;			/* the key was there before */
	bool poor;			/* it takes no memory: it adds no key */
	uint64_t spare[2];		/* blocks for a leaf and an inner node, or FAR_NIL */
	uint64_t few;			/* the leaf that a delete has left nearly empty */
	uint64_t passed;		/* a node whose right one no separator led to, */
	unsigned passed_level;		/* and its level */
	struct btree_hold *mending;	/* a node that is being repaired, the last one */
	struct far_combine_batch *batch;	/* NULL: it is alone */
};

/* How a node was reached. */
struct btree_way {
	uint64_t addr;
	uint64_t parent;	/* the node above that led here; FAR_NIL: none */
	bool sure;		/* by what was READ in this operation: it is no hint */
	bool beside;		/* from its left neighbour */
	uint64_t word;		/* its lock's, as READ in this operation; 0: it was not */
};

/* find.c: all may return -EAGAIN: what is remembered, or was READ, is out of date. */

/* READs the root's word `top`. */
int btree_top_read(struct btree_op *op);
/*
 * The way to the node of that level that has the key; strict: that has the greatest keys
 * below it. It may lead to a node left of that one. fresh: remembers nothing. -ENOENT:
 * there is no such level.
 */
int btree_descend(struct btree_op *op, const void *key, int strict, unsigned level,
		  bool fresh, struct btree_way *ret_way);
/* How much of a node is READ. */
enum btree_part {
	BTREE_WHOLE,
	BTREE_HEAD_ONLY,	/* what the entries are is left open */
	BTREE_NEARBY,		/* the head, and the places that op->key may have */
};

/*
 * READs a node into buf. It is whole, of that level and alive. Repairs what the dead have
 * left, if the way is sure. -ESHUTDOWN: it is dead.
 */
int btree_node_read(struct btree_op *op, const struct btree_way *way, unsigned level,
		    enum btree_part part, struct btree_head *buf);
/* Both, and to the right as far as needed. The node is in buf, its address in *ret_way. */
int btree_find(struct btree_op *op, const void *key, int strict, unsigned level,
	       struct btree_head *buf, struct btree_way *ret_way);
/* The same for who wants to know of op->key: of a leaf only its neighbourhood is READ. */
int btree_find_near(struct btree_op *op, struct btree_way *ret_way);
/* The same for who is about to lock it: of the node only the head is READ. */
int btree_find_head(struct btree_op *op, const void *key, int strict, unsigned level,
		    struct btree_way *ret_way);
/* A step to the right from the node, which was READ: its separator may be missing. */
static inline void btree_passed(struct btree_op *op, uint64_t addr, unsigned level)
{
	op->passed = addr;
	op->passed_level = level;
}

/* Counts a step to the right; -EAGAIN: begin above; -EBADMSG: there are too many. */
int btree_stepped(bool fresh, unsigned *steps);
/* Which way the key is from here: -1, 0, 1. */
int btree_side(const struct btree_geo *geo, const struct btree_head *node, const void *key,
	       int strict);

/* hold.c: locked nodes */
struct btree_hold {
	struct far_lock lock;
	struct btree_op *op;
	const struct btree_geo *geo;
	struct btree_head *node;	/* the image */
	struct btree_redo *redo;
	uint64_t addr;
	struct btree_hold *outer;	/* whose repair wants this one's, while that is on */
};

/*
 * Locks the node. -EAGAIN: it is not one of that level, or dead, or the way is a hint and
 * nobody has seen its word lately. Buffers are the task's until its mark is released.
 */
int btree_hold(struct btree_op *op, const struct btree_way *way, unsigned level,
	       struct btree_hold *hold);
/* Finds and locks the node that has the key. */
int btree_hold_key(struct btree_op *op, const void *key, int strict, unsigned level,
		   struct btree_hold *hold);
/* One entry of the image has changed. */
void btree_hold_entry(struct btree_hold *hold, unsigned place);
/*
 * Another head, with its checksum, in two steps: the entries, acknowledged; then the head.
 * The second one makes it true. kind: BTREE_REDO_HEAD or _MERGE, with its right.
 */
int btree_hold_entries(struct btree_hold *hold, const struct btree_head *head,
		       enum btree_redo_kind kind, uint64_t right);
/* Writes what the last two have changed, and keeps the lock. */
int btree_hold_put(struct btree_hold *hold);
int btree_release(struct btree_hold *hold);
/*
 * After an error of which nobody knows what it has left: stays as it is in far memory, and
 * is repaired by its record as if the holder had died; tries that at once. Returns err.
 */
int btree_abandon(struct btree_hold *hold, int err);
/* Version of a node, random. */
uint64_t btree_new_version(struct btree_op *op);
/* A copy of the image's head, for the other functions, with another version. */
struct btree_head *btree_new_head(struct btree_hold *hold);

/*
 * split.c: the node has no room for the key, and is released in any case. 0: find it again;
 * it was split, or the memory for that is there now: nothing is allocated under a lock.
 * -ENOSPC: nothing was changed.
 */
int btree_make_room(struct btree_hold *hold, const void *key, unsigned level);
/*
 * Has op->spare what a node of that level needs to be split. Nothing is locked. -ENOSPC:
 * there is no memory, or the operation takes none.
 */
int btree_spare_take(struct btree_op *op, unsigned level);
/* Gives back what is left of it, before the epoch is left. */
void btree_spare_drop(struct btree_op *op);
/*
 * link.c: the separator of the node's right neighbour gets into the level above. Nothing is
 * locked. born: a node that has been born, and needs no look if that is the neighbour; or
 * FAR_NIL. -ENOSPC: not yet; the tree is right without, and who passes by puts it in.
 */
int btree_link(struct btree_op *op, uint64_t addr, uint64_t born, unsigned level);
/* The same, if it is missing: addr was passed by. */
int btree_link_missing(struct btree_op *op, const void *key, uint64_t addr, unsigned level);
/*
 * Takes the separator that leads to `child`, if there is one, out of the level above; its
 * key is low, and the left neighbour of child is held. -ENOENT: it is the first one of its
 * node, and stays.
 */
int btree_unlink(struct btree_op *op, const void *low, uint64_t child, unsigned level);
/*
 * merge.c: makes one node of the one that has the key and a neighbour, if that is worth it:
 * whether it has. Errors are nobody's, since merging can wait.
 */
bool btree_merge(struct btree_op *op, const void *key, unsigned level);
/*
 * find.c: the level above or the left neighbour still leads to this dead node: the client
 * that merges has died, or is at it. Ends the merge, or waits. -EAGAIN, or an error.
 */
int btree_dead_met(struct btree_op *op, const struct btree_way *way, unsigned level,
		   const struct btree_head *node);
/* Ends a merge whose client has died: `dead` has that low fence. */
int btree_merge_end(struct btree_op *op, const void *low, uint64_t dead, unsigned level);

int btree_get(struct btree_op *op, void *room);
int btree_change(struct btree_op *op, struct form_args *args);

/* op.c */
int btree_op_init(struct btree_op *op, struct far_task *task, struct far_btree *tree);

/* tree.c: an open tree from its root, without cache and combining. */
int btree_open_root(struct far_task *task, uint64_t root, struct far_btree **ret_tree);

#endif
