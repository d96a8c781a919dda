/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacing a node: because it is full, nearly empty, or somebody has begun to.
 *
 *	room for a new node {CAS each slot: frozen} {WRITE new node} {CAS the slot above}
 *
 * A frozen slot never changes again. When all are frozen the node's contents are what
 * everybody sees who goes on from here, so that anybody may finish what anybody has
 * begun: whose CAS of the slot above wins has replaced the node, and retires it.
 *
 * What replaces it follows from its contents: nothing, if it leads nowhere; its only
 * child, if that is a leaf, or a node whose prefix reaches back far enough; else a node
 * of the least type that has room for one more.
 */
#include "art_priv.h"

#include <string.h>

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/epoch.h"

/* Freezes what is not frozen yet, and puts into the copy what is there then. */
static int freeze(struct art_op *op)
{
	unsigned nr = art_type_slots(art_header_type(op->node->header));
	uint64_t *found = far_buf(op->task, nr * sizeof(*found));
	unsigned open = nr, i;
	int err;

	if (!found)
		return -ENOMEM;
	while (open) {
		for (i = 0; i < nr; i++)
			if (!(op->node->slot[i] & ART_FROZEN))
				far_cas(op->task, art_slot_at(op->node_addr, i),
					op->node->slot[i], op->node->slot[i] | ART_FROZEN,
					&found[i]);
		err = far_sync(op->task);
		if (err)
			return err;
		for (i = 0, open = 0; i < nr; i++) {
			if (op->node->slot[i] & ART_FROZEN)
				continue;
			if (found[i] == op->node->slot[i])
				op->node->slot[i] |= ART_FROZEN;
			else
				op->node->slot[i] = found[i];
			open += !(op->node->slot[i] & ART_FROZEN);
		}
	}
	return 0;
}

/* True if all of it is. */
static bool node_is_frozen(const struct art_node *node)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	uint64_t all = ART_FROZEN;
	unsigned i;

	for (i = 0; i < nr; i++)
		all &= node->slot[i];
	return all;
}

/* The only way on. */
static uint64_t only_slot(const struct art_node *node)
{
	unsigned i = 0;

	while (!art_pointee(node->slot[i]))
		i++;
	return node->slot[i];
}

/* True if what the slot leads to can hang from a node at depth `above`. */
static int reaches(struct art_op *op, uint64_t slot, unsigned above, bool *ret_reaches)
{
	struct art_node *child;
	uint64_t addr = art_pointee(slot);
	int err;

	*ret_reaches = slot & ART_LEAF;
	if (*ret_reaches)
		return 0;
	child = far_buf(op->task, ART_NODE_HEAD);
	if (!child)
		return -ENOMEM;
	far_read(op->task, addr, child, ART_NODE_HEAD);
	err = far_sync(op->task);
	if (err)
		return err;
	if (!art_node_sane(child, art_seed(op->art->root, addr)))
		return -EBADMSG;
	*ret_reaches = art_header_depth(child->header) <= above + 1 + ART_PREFIX;
	return 0;
}

static void copy_slots(struct art_node *to, const struct art_node *from)
{
	unsigned nr = art_type_slots(art_header_type(from->header));
	unsigned i;

	for (i = 0; i < nr; i++)
		if (art_pointee(from->slot[i]))
			art_node_add(to, from->slot[i] & ~ART_FROZEN);
}

/* Room for a copy; addr is FAR_NIL: none. */
struct copy {
	uint64_t addr;
	unsigned type;
};

static int copy_alloc(struct art_op *op, unsigned type, struct copy *copy)
{
	uint64_t addr;
	int err = far_block_alloc(op->task, far_addr_node(op->node_addr), art_node_len(type),
				  &addr);

	if (!err)
		*copy = (struct copy){ addr, type };
	return err;
}

static void copy_free(struct art_op *op, struct copy *copy)
{
	if (copy->addr)
		far_block_free(op->task, copy->addr, art_node_len(copy->type));
	copy->addr = FAR_NIL;
}

/*
 * Before anything is frozen: room for all that can be there when everything is. A node that
 * needs no copy as far as one can see is replaced without; who comes to need one after all
 * leaves it frozen to those who have memory, and nobody is kept from reading it.
 */
static int copy_reserve(struct art_op *op, struct copy *copy)
{
	unsigned type = art_header_type(op->node->header);
	unsigned live = art_node_live(op->node);
	int err;

	if (node_is_frozen(op->node))
		return 0;
	err = copy_alloc(op, art_type_for(live) > type ? type + 1 : type, copy);
	return err == -ENOSPC && live < 2 ? 0 : err;
}

/* The least room that the slots need, one more included, if there is that. */
static int copy_fit(struct art_op *op, unsigned live, struct copy *copy)
{
	struct copy fit = { FAR_NIL };
	unsigned type = art_type_for(live);
	int err;

	if (copy->addr && copy->type <= type)
		return 0;
	err = copy_alloc(op, type, &fit);
	if (err)
		return err == -ENOSPC && copy->addr ? 0 : err;
	copy_free(op, copy);
	*copy = fit;
	return 0;
}

/* WRITEs a copy, and tells the word that leads to it. */
static int copy_make(struct art_op *op, struct copy *copy, uint64_t *ret_word)
{
	struct art_node *node;
	int err = copy_fit(op, art_node_live(op->node), copy);

	if (err)
		return err;
	node = far_buf(op->task, art_node_len(copy->type));
	if (!node)
		return -ENOMEM;
	art_node_init(node, art_seed(op->art->root, copy->addr),
		      art_header_prefix(op->node->header), copy->type,
		      art_header_depth(op->node->header), art_birth(op->task));
	copy_slots(node, op->node);
	far_write(op->task, copy->addr, node, art_node_len(copy->type));
	*ret_word = art_slot(art_slot_symbol(op->up.word), copy->type, copy->addr);
	return far_sync(op->task);
}

/* The word that replaces op->up.word; *ret_made: it leads to the copy. */
static int replacement(struct art_op *op, struct copy *copy, uint64_t *ret_word,
		       bool *ret_made)
{
	unsigned live = art_node_live(op->node);
	unsigned symbol = art_slot_symbol(op->up.word);
	bool fits = false;
	int err = 0;

	*ret_made = false;
	*ret_word = art_slot_void(symbol);
	if (!live)
		return 0;
	if (live == 1) {
		*ret_word = art_slot_as(only_slot(op->node), symbol);
		err = reaches(op, only_slot(op->node), op->up.depth, &fits);
	}
	if (fits || err)
		return err;
	*ret_made = true;
	return copy_make(op, copy, ret_word);
}

/* The node, for which there is room, if it needs any. */
static int replace(struct art_op *op, struct copy *copy)
{
	uint32_t old_len = art_node_len(art_header_type(op->node->header));
	uint64_t word;
	bool made;
	int won;

	won = freeze(op);
	if (!won)
		won = replacement(op, copy, &word, &made);
	if (won)
		return won;
	/* what is no copy is what all come to who replace this node */
	won = art_cas(op, op->up.at, op->up.word, word, made);
	op->broke = false;
	if (won && made)
		copy->addr = FAR_NIL;
	if (won < 0) {
		far_alloc_lost(op->task);
		return won;
	}
	if (won && far_retire(op->task, op->node_addr, old_len))
		far_alloc_lost(op->task);
	return 0;
}

int art_renew(struct art_op *op)
{
	size_t mark = far_buf_mark(op->task);
	struct copy copy = { FAR_NIL };
	int err = copy_reserve(op, &copy);

	if (!err) {
		far_must_begin(op->task);
		err = replace(op, &copy);
		far_must_end(op->task);
	}
	copy_free(op, &copy);
	far_buf_release(op->task, mark);
	return err;
}

int art_is_thin(struct art_op *op, bool *ret_thin)
{
	unsigned type = art_header_type(op->node->header);
	unsigned live = art_node_live(op->node);
	size_t mark;
	int err = 0;

	*ret_thin = op->step.word & ART_FROZEN || !live ||
		    (type && art_type_slots(art_type_for(2 * live)) < art_type_slots(type));
	if (op->up.at == FAR_NIL)
		*ret_thin = false;
	if (op->up.at == FAR_NIL || live != 1 || *ret_thin)
		return 0;
	mark = far_buf_mark(op->task);
	err = reaches(op, only_slot(op->node), op->up.depth, ret_thin);
	far_buf_release(op->task, mark);
	return err;
}
