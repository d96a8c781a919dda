/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * New leaves, and how the tree comes to lead to one: by the CAS of one slot, which was
 * READ by the same operation.
 *
 *	the slot leads nowhere		{WRITE leaf} {CAS slot}
 *	it leads to another key		{WRITE leaf, WRITE nodes} {CAS slot}
 *	a node's prefix is another's	{WRITE leaf, WRITE node} {CAS slot}
 *
 * What the slot will lead to is acknowledged before the CAS, or lies before it in one
 * list. Nothing else has to change: a node's prefix reaches back behind the depth of the
 * new one above it.
 */
#include "art_priv.h"

#include <string.h>

#include "../base/rng.h"
#include "../core/alloc.h"
#include "../core/epoch.h"

#define LINK_NODES	(ART_MAX_KEY / (ART_PREFIX + 1) + 1)

int art_new_init(struct art_op *op, const void *value, size_t value_len, bool closed,
		 struct art_new *ret_new)
{
	struct art_new new = { .len = art_leaf_len(op->key.len, value_len) };
	unsigned node = art_leaf_node(op->art, &op->key);
	int err;

	err = far_block_alloc(op->task, node, new.len, &new.addr);
	if (err)
		return err;
	new.leaf = far_buf(op->task, new.len);
	if (!new.leaf) {
		far_block_free(op->task, new.addr, new.len);
		return -ENOMEM;
	}
	(closed ? art_leaf_fill_closed : art_leaf_fill)(
		new.leaf, art_seed(op->art->root, new.addr), &op->key, value, value_len,
		art_birth(op->task));
	*ret_new = new;
	return 0;
}

void art_new_write(struct art_op *op, struct art_new *new)
{
	if (!new->written)
		far_write(op->task, new->addr, new->leaf, new->len);
	new->written = true;
}

void art_new_drop(struct art_op *op, struct art_new *new)
{
	if (new->addr && !new->linked)
		far_block_free(op->task, new->addr, new->len);
}

static uint64_t new_slot(const struct art_new *new, unsigned symbol)
{
	return art_slot(symbol, art_leaf_size(new->len), new->addr) | ART_LEAF;
}

/* Nodes between a slot and what it will lead to. */
struct link {
	struct art_op *op;
	unsigned nr;
	struct art_node *node[LINK_NODES];	/* from above */
	uint64_t addr[LINK_NODES];
};

static int link_add(struct link *link, unsigned depth)
{
	struct art_op *op = link->op;
	uint32_t len = art_node_len(0);
	uint64_t place = far_rng_mix(op->key.hash + depth);
	int err;

	err = far_block_alloc(op->task, (place >> 32) * op->art->nr_nodes >> 32, len,
			&link->addr[link->nr]);
	if (err)
		return err;
	link->node[link->nr] = far_buf(op->task, len);
	if (!link->node[link->nr++])
		return -ENOMEM;
	art_node_init(link->node[link->nr - 1],
		      art_seed(op->art->root, link->addr[link->nr - 1]),
		      art_prefix(op->key.data, depth), 0, depth, art_birth(op->task));
	return 0;
}

/* The only slot of a node in between. */
static void link_chain(struct link *link, struct art_node *node, uint64_t below)
{
	const struct art_key *key = &link->op->key;
	unsigned depth = art_header_depth(node->header);

	art_node_add(node, art_slot(art_symbol(key->data, key->len, depth), 0, below));
}

/* From a slot of a node at depth `above` to one at depth, in steps that prefixes span. */
static int link_build(struct link *link, unsigned above, unsigned depth)
{
	unsigned at = above;
	int err;

	while (at < depth) {
		at = depth - at > ART_PREFIX + 1 ? at + ART_PREFIX + 1 : depth;
		err = link_add(link, at);
		if (err)
			return err;
		if (link->nr > 1)
			link_chain(link, link->node[link->nr - 2], link->addr[link->nr - 1]);
	}
	return 0;
}

static void link_drop(struct link *link)
{
	while (link->nr)
		far_block_free(link->op->task, link->addr[--link->nr], art_node_len(0));
}

/* The last node leads to what was there, and to the new leaf. */
static void link_fork(struct link *link, uint64_t old, unsigned symbol,
		      const struct art_new *new)
{
	struct art_node *last = link->node[link->nr - 1];
	const struct art_key *key = &link->op->key;
	unsigned depth = art_header_depth(last->header);

	art_node_add(last, art_slot_as(old, symbol));
	art_node_add(last, new_slot(new, art_symbol(key->data, key->len, depth)));
}

static void link_write(struct link *link)
{
	unsigned i;

	for (i = 0; i < link->nr; i++)
		far_write(link->op->task, link->addr[i], link->node[i], art_node_len(0));
}

/* True if all that is appended lies on the slot's own memory node. */
static bool link_local(const struct link *link, const struct art_new *new, bool written)
{
	unsigned node = far_addr_node(link->op->step.at);
	unsigned i;

	for (i = 0; i < link->nr; i++)
		if (far_addr_node(link->addr[i]) != node)
			return false;
	return written || far_addr_node(new->addr) == node;
}

/* The WRITEs, and the CAS of the slot that op->step is about. 1, 0, or an error. */
static int link_cas(struct link *link, struct art_new *new, uint64_t word)
{
	struct art_op *op = link->op;
	bool local = link_local(link, new, new->written);
	int won = 0;

	art_new_write(op, new);
	link_write(link);
	if (!local)
		won = far_sync(op->task);
	if (won) {
		new->written = false;
		return won;
	}
	art_publishing(op);
	won = art_cas(op, op->step.at, op->step.word, word, true);
	if (won < 0) {
		op->unsure = true;
		new->linked = true;
		far_alloc_lost(op->task);
	} else if (!won) {
		new->written &= !op->broke;
	}
	return won;
}

/* After the CAS has won. */
static void link_done(struct art_op *op, enum art_what what, struct art_new *new,
		      uint64_t word)
{
	uint64_t dead = what == ART_VACANT ? art_pointee(op->step.word) : FAR_NIL;

	new->linked = true;
	if (dead && far_retire(op->task, dead, art_leaf_bytes(op, op->step.word)))
		far_alloc_lost(op->task);
	if (what == ART_ASIDE) {
		art_forget(op, op->step.node);
		return;
	}
	op->node->slot[art_index(op->node_addr, op->step.at)] = word;
	art_remember(op);
}

/* The nodes that are wanted in between, if any; the word of the slot. */
static int link_plan(struct link *link, enum art_what what, const struct art_new *new,
		     uint64_t *ret_word)
{
	struct art_op *op = link->op;
	const struct art_key *key = &op->key;
	unsigned symbol = art_symbol(key->data, key->len, op->step.depth);
	unsigned depth;
	int err;

	if (what == ART_VACANT) {
		*ret_word = new_slot(new, symbol);
		return 0;
	}
	depth = what == ART_ASIDE ? op->leaves_at :
		art_differ(op->seen.key, op->seen.key_len, key->data, key->len);
	if (depth <= op->step.depth)
		return -EBADMSG;
	err = link_build(link, op->step.depth, depth);
	if (err)
		return err;
	link_fork(link, op->step.word, what == ART_ASIDE ?
		  art_header_byte(op->below, depth) :
		  art_symbol(op->seen.key, op->seen.key_len, depth), new);
	*ret_word = art_slot(symbol, 0, link->addr[0]);
	return 0;
}

/*
 * After the CAS of an empty slot has lost to another symbol: where this key belongs now.
 * false: the node has to be looked at.
 */
static bool link_next(struct art_op *op, enum art_what what)
{
	unsigned symbol = art_symbol(op->key.data, op->key.len, op->step.depth);
	uint64_t found = op->word[0];
	unsigned i;

	if (what != ART_VACANT || op->step.word || !(found & ART_USED) ||
	    found & ART_FROZEN || art_slot_symbol(found) == symbol)
		return false;
	op->node->slot[art_index(op->node_addr, op->step.at)] = found;
	i = art_node_find(op->node, symbol);
	if (i == ART_FULL || op->node->slot[i])
		return false;
	op->step.at = art_slot_at(op->node_addr, i);
	return true;
}

int art_link(struct art_op *op, enum art_what what, struct art_new *new)
{
	struct link link = { .op = op };
	uint64_t word = 0;
	int won;

	if (what == ART_CROWDED || op->step.word & ART_FROZEN) {
		op->renew = op->step.node;
		op->trust = what == ART_ASIDE ? op->step.depth : op->up.depth;
		return -EAGAIN;
	}
	won = link_plan(&link, what, new, &word);
	if (won)
		new->written = false;
	else
		do
			won = link_cas(&link, new, word);
		while (!won && !op->broke && link_next(op, what));
	if (won == 1) {
		link_done(op, what, new, word);
		return 0;
	}
	if (!op->unsure)
		link_drop(&link);
	if (won < 0)
		return won;
	op->broke = false;
	art_lost(op);
	op->trust = op->step.depth;
	return -EAGAIN;
}
