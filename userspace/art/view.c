/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A walk through all of a tree. See view.h. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "../core/epoch.h"

#define VIEW_CHAIN	64u	/* times that a leaf moves under a walk: more is a circle */

/* What is still to be visited, the next one last. */
struct todo {
	struct art_way *way;
	size_t nr, max;
};

bool art_way_on(const struct art_way *way, const struct art_node *node, unsigned i,
		struct art_way *ret_way)
{
	unsigned depth = art_header_depth(node->header);
	unsigned from = way ? way->depth + 1 : 0;
	unsigned symbol = art_slot_symbol(node->slot[i]);
	unsigned at;

	if (!art_pointee(node->slot[i]) || depth < from || depth > from + ART_PREFIX ||
	    (symbol == ART_END ? !(node->slot[i] & ART_LEAF) : depth == ART_MAX_KEY))
		return false;
	ret_way->slot = node->slot[i] & ~ART_FROZEN;
	ret_way->depth = depth;
	if (way)
		memcpy(ret_way->key, way->key, from);
	for (at = from; at < depth; at++)
		ret_way->key[at] = art_header_byte(node->header, at);
	if (symbol != ART_END)
		ret_way->key[depth] = symbol;
	return true;
}

bool art_way_fits(const struct art_way *way, const struct art_seen *seen)
{
	unsigned symbol = art_slot_symbol(way->slot);
	unsigned len = way->depth + (symbol != ART_END);

	return seen->key_len >= len && (symbol != ART_END || seen->key_len == len) &&
	       !memcmp(seen->key, way->key, len);
}

static int todo_add(struct todo *todo, const struct art_way *way)
{
	struct art_way *more;
	size_t max;

	if (todo->nr == todo->max) {
		max = todo->max ? 2 * todo->max : 64;
		more = realloc(todo->way, max * sizeof(*more));
		if (!more)
			return -ENOMEM;
		todo->way = more;
		todo->max = max;
	}
	todo->way[todo->nr++] = *way;
	return 0;
}

static int wrong(struct art_view *view, uint64_t addr, const char *what)
{
	if (!view->problem)
		return -EBADMSG;
	view->problem(view->arg, addr, what);
	return 0;
}

static int node_slots(struct art_view *view, struct todo *todo, const struct art_way *way,
		      uint64_t addr, const struct art_node *node)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	struct art_way on;
	unsigned i, symbol;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (!(node->slot[i] & ART_USED))
			continue;
		symbol = art_slot_symbol(node->slot[i]);
		if (symbol >= ART_SYMBOLS || art_node_find(node, symbol) != i)
			err = wrong(view, addr, "a slot is not where its symbol belongs");
		if (err || !art_pointee(node->slot[i]))
			continue;
		err = art_way_on(way, node, i, &on) ? todo_add(todo, &on) :
		      wrong(view, addr, "the node cannot be at this depth");
	}
	return err;
}

/* The first node, or one that a way leads to. */
static int view_node(struct art_op *op, struct art_view *view, struct todo *todo,
		     const struct art_way *way)
{
	uint64_t addr = way ? art_pointee(way->slot) : art_first_node(view->art);
	unsigned type = way ? art_slot_size(way->slot) : ART_TYPES - 1;
	struct art_item item = { .kind = ART_ITEM_NODE, .addr = addr, .node = op->node };
	int err;

	if (type >= ART_TYPES)
		return wrong(view, addr, "a slot has a type that there is none of");
	item.len = art_node_len(type);
	far_read(op->task, addr, op->node, item.len);
	err = far_sync(op->task);
	if (err)
		return err;
	if (way)
		err = view->block(view->arg, &item);
	if (err)
		return err;
	if (!art_node_sane(op->node, art_seed(op->art->root, addr)) ||
	    art_header_type(op->node->header) != type)
		return wrong(view, addr, "a slot leads to what is no node of its type");
	return node_slots(view, todo, way, addr, op->node);
}

/* The leaf of op->step.word; where it has moved to, *ret_next; 0: nowhere. */
static int view_leaf(struct art_op *op, struct art_view *view, const struct art_way *way,
		     uint64_t *ret_next)
{
	struct art_item item = { .kind = ART_ITEM_LEAF };
	unsigned state;
	int err;

	*ret_next = 0;
	err = art_leaf_read(op, op->step.word);
	if (err)
		return err;
	item.addr = op->leaf_addr;
	item.len = art_leaf_bytes(op, op->step.word);
	state = art_head_state(op->leaf->head);
	if (state == ART_MOVED) {
		*ret_next = art_slot(0, art_slot_size(op->leaf->head),
				     art_pointee(op->leaf->head)) | ART_LEAF;
		return view->block(view->arg, &item);
	}
	err = art_leaf_seen(op);
	if (err && err != -EBADMSG)
		return err;
	if (!err && state == ART_LIVE)
		item.seen = &op->seen;
	if (err || !art_way_fits(way, &op->seen)) {
		err = wrong(view, item.addr, err ? "a slot leads to what is no leaf" :
			    "a key is not where it belongs");
		item.seen = NULL;
	}
	return err ? err : view->block(view->arg, &item);
}

static int view_leaves(struct art_op *op, struct art_view *view, const struct art_way *way)
{
	uint64_t next = way->slot;
	unsigned chain = 0;
	int err = 0;

	while (next && !err) {
		op->step.word = next;
		err = view_leaf(op, view, way, &next);
		if (chain++ == VIEW_CHAIN)
			return wrong(view, op->leaf_addr, "leaves move in a circle");
	}
	return err;
}

static int view_all(struct art_op *op, struct art_view *view, struct todo *todo)
{
	struct art_way way;
	int err;

	err = view_node(op, view, todo, NULL);
	while (todo->nr && !err) {
		way = todo->way[--todo->nr];
		err = way.slot & ART_LEAF ? view_leaves(op, view, &way) :
					    view_node(op, view, todo, &way);
	}
	return err;
}

int art_view(struct far_task *task, struct art_view *view)
{
	struct art_item root = {
		.kind = ART_ITEM_ROOT, .addr = view->art->root, .len = ART_ROOT_LEN,
	};
	size_t mark = far_buf_mark(task);
	struct art_op op = { .task = task, .art = view->art };
	struct todo todo = { 0 };
	int err;

	err = art_op_start(&op);
	if (!err)
		err = view->block(view->arg, &root);
	if (!err)
		err = view_all(&op, view, &todo);
	free(todo.way);
	far_buf_release(task, mark);
	return art_far_err(err);
}
