/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A walk through all of a tree. See view.h. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

/* What is still to be visited, the next one last. */
struct todo {
	struct art_way *way;
	size_t nr, max;
};

/* What is before it was met in an earlier epoch. */
struct place {
	bool set;
	bool leaf;			/* of two with these bytes, the leaf is the next */
	size_t len;
	uint8_t key[ART_MAX_KEY];
};

struct visit {
	struct art_op op;
	struct art_view *view;
	struct todo todo;
	struct todo kept;		/* what was to be visited when this epoch began */
	struct place from;
	bool onward;			/* in this epoch something was met for the first time */
};

/* How many bytes all keys below a way begin with. */
static size_t way_len(const struct art_way *way)
{
	return way->depth + (art_slot_symbol(way->slot) != ART_END);
}

static void place_set(struct place *place, const struct art_way *way)
{
	place->set = true;
	place->leaf = art_slot_symbol(way->slot) == ART_END;
	place->len = way_len(way);
	memcpy(place->key, way->key, place->len);
}

/* True if a key, or the bytes of a node, lie before the place. */
static bool key_is_over(const struct place *place, const uint8_t *key, size_t len)
{
	int diff = memcmp(key, place->key, len < place->len ? len : place->len);

	return place->set && (diff < 0 || (!diff && len < place->len));
}

/* True if all that a way may lead to was met before. */
static bool way_is_over(const struct place *place, const struct art_way *way)
{
	size_t len = way_len(way);

	if (art_slot_symbol(way->slot) == ART_END)
		return key_is_over(place, way->key, len);
	return place->set && memcmp(way->key, place->key, len < place->len ? len : place->len) < 0;
}

/* True if a node was met before: one that was READ, at the end of that way. */
static bool node_is_over(const struct place *place, const struct art_way *way,
			 const struct art_node *node)
{
	unsigned depth = art_header_depth(node->header), at;
	uint8_t key[ART_MAX_KEY];

	if (!place->set || depth > ART_MAX_KEY || depth < way_len(way))
		return false;
	memcpy(key, way->key, way_len(way));
	for (at = way_len(way); at < depth; at++)
		key[at] = art_header_byte(node->header, at);
	return key_is_over(place, key, depth) ||
	       (place->leaf && depth == place->len && !memcmp(key, place->key, depth));
}

/* < 0, 0, > 0: how the bytes that both ways have lie to each other. */
static int way_cmp(const struct art_way *a, const struct art_way *b)
{
	size_t len = way_len(a) < way_len(b) ? way_len(a) : way_len(b);

	return memcmp(a->key, b->key, len);
}

/* The first of those that were kept and have the bytes of the way, as far as both have any. */
static size_t kept_find(const struct todo *kept, const struct art_way *way)
{
	size_t lo = 0, hi = kept->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (way_cmp(&kept->way[mid], way) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* True if one of the ways may lead to something that the other one leads to. */
static bool ways_meet(const struct art_way *a, const struct art_way *b)
{
	if (way_cmp(a, b))
		return false;
	return !(art_slot_symbol(a->slot) == ART_END && way_len(b) > way_len(a)) &&
	       !(art_slot_symbol(b->slot) == ART_END && way_len(a) > way_len(b));
}

/*
 * Whether a way may lead to something that was there when its node was READ first. In later
 * epochs the node has more ways: without end, when keys ascend faster than the walk does.
 */
static bool way_is_kept(const struct visit *visit, const struct art_way *way)
{
	const struct todo *kept = &visit->kept;

	if (!visit->from.set)
		return true;
	for (size_t i = kept_find(kept, way); i < kept->nr; i++) {
		if (way_cmp(&kept->way[i], way))
			return false;
		if (ways_meet(&kept->way[i], way))
			return true;
	}
	return false;
}

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

/*
 * Slots of a node by the order of their symbols, 1 and more; 0: none. What is not where its
 * symbol belongs is damage.
 */
static int slots_order(struct art_view *view, uint64_t addr, const struct art_node *node,
		       uint16_t *at)
{
	unsigned nr = art_type_slots(art_header_type(node->header)), i, symbol;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (!(node->slot[i] & ART_USED))
			continue;
		symbol = art_slot_symbol(node->slot[i]);
		if (symbol >= ART_SYMBOLS || art_node_find(node, symbol) != i)
			err = wrong(view, addr, "a slot is not where its symbol belongs");
		if (symbol < ART_SYMBOLS && art_pointee(node->slot[i]))
			at[art_symbol_rank(symbol)] = i + 1;
	}
	return err;
}

static int node_slots(struct visit *visit, const struct art_way *way, uint64_t addr,
		      const struct art_node *node)
{
	uint16_t at[ART_SYMBOLS] = { 0 };
	int err = slots_order(visit->view, addr, node, at);
	struct art_way on;
	unsigned i;

	for (i = ART_SYMBOLS; i-- && !err;) {
		if (!at[i])
			continue;
		if (!art_way_on(way, node, at[i] - 1, &on))
			err = wrong(visit->view, addr, "the node cannot be at this depth");
		else if (!way_is_over(&visit->from, &on) && way_is_kept(visit, &on))
			err = todo_add(&visit->todo, &on);
	}
	return err;
}

/* Tells of a block that was not met before. */
static int visit_block(struct visit *visit, const struct art_item *item)
{
	visit->onward = true;
	return visit->view->block(visit->view->arg, item);
}

/* The first node, or one that a way leads to. */
static int view_node(struct visit *visit, const struct art_way *way)
{
	struct art_view *view = visit->view;
	struct art_op *op = &visit->op;
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
	if (way && !node_is_over(&visit->from, way, op->node))
		err = visit_block(visit, &item);
	if (err)
		return err;
	if (!art_node_sane(op->node, art_seed(op->art->root, addr)) ||
	    art_header_type(op->node->header) != type)
		return wrong(view, addr, "a slot leads to what is no node of its type");
	return node_slots(visit, way, addr, op->node);
}

/* The leaf of op->step.word; where it has moved to, *ret_next; 0: nowhere. */
static int view_leaf(struct visit *visit, const struct art_way *way, uint64_t *ret_next)
{
	struct art_item item = { .kind = ART_ITEM_LEAF };
	struct art_op *op = &visit->op;
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
		return visit_block(visit, &item);
	}
	err = art_leaf_seen(op);
	if (err && err != -EBADMSG)
		return err;
	if (!err && art_head_has_key(op->leaf->head))
		item.seen = &op->seen;
	if (err || !art_way_fits(way, &op->seen)) {
		err = wrong(visit->view, item.addr, err ? "a slot leads to what is no leaf" :
			    "a key is not where it belongs");
		item.seen = NULL;
	}
	return err ? err : visit_block(visit, &item);
}

/*
 * A key may move any number of times while the walk is elsewhere. Nothing is reused within
 * an epoch, so that a leaf that is met again is damage.
 */
static int view_leaves(struct visit *visit, const struct art_way *way)
{
	uint64_t next = way->slot, met = FAR_NIL, nr = 0;
	int err = 0;

	while (next && !err) {
		if (art_pointee(next) == met)
			return wrong(visit->view, met, "leaves move in a circle");
		if (!(nr & (nr + 1)))
			met = art_pointee(next);
		nr++;
		visit->op.step.word = next;
		err = view_leaf(visit, way, &next);
	}
	return err;
}

/*
 * Whether a leaf was met before whose way does not say that: the way has become shorter, as
 * the nodes above the leaf have gone. Of what is no leaf nobody knows.
 */
static int leaf_is_over(struct visit *visit, const struct art_way *way)
{
	struct art_op *op = &visit->op;
	int err;

	if (!visit->from.set || way_len(way) >= visit->from.len ||
	    memcmp(way->key, visit->from.key, way_len(way)))
		return 0;
	op->step.word = way->slot;
	err = art_leaf_read(op, op->step.word);
	if (!err)
		err = art_leaf_follow(op);
	if (!err)
		err = art_leaf_seen(op);
	if (err)
		return err == -EBADMSG ? 0 : err;
	return key_is_over(&visit->from, op->seen.key, op->seen.key_len);
}

static int view_way(struct visit *visit, const struct art_way *way)
{
	int ret;

	if (!(way->slot & ART_LEAF))
		return view_node(visit, way);
	ret = leaf_is_over(visit, way);
	if (ret)
		return ret < 0 ? ret : 0;
	return view_leaves(visit, way);
}

/* Keeps what a way leads to: of one that has become shorter, what was kept below it. */
static int kept_add(const struct visit *visit, struct todo *to, const struct art_way *way)
{
	const struct todo *kept = &visit->kept;
	size_t from = visit->from.set ? kept_find(kept, way) : kept->nr, i;
	int err = 0;

	for (i = from; i < kept->nr && !way_cmp(&kept->way[i], way); i++) {
		if (way_len(&kept->way[i]) <= way_len(way))
			return todo_add(to, way);
	}
	if (i == from)
		return todo_add(to, way);
	for (i = from; i < kept->nr && !err && !way_cmp(&kept->way[i], way); i++)
		err = todo_add(to, &kept->way[i]);
	return err;
}

static int todo_keep(struct visit *visit)
{
	const struct todo *todo = &visit->todo;
	struct todo kept = { 0 };
	int err = 0;

	for (size_t i = 0; i < todo->nr && !err; i++)
		err = kept_add(visit, &kept, &todo->way[i]);
	free(visit->kept.way);
	visit->kept = kept;
	return err;
}

/* The next epoch, from the first node to what was to come next. */
static int view_again(struct visit *visit)
{
	int err = todo_keep(visit);

	if (err)
		return err;
	place_set(&visit->from, &visit->todo.way[visit->todo.nr - 1]);
	visit->todo.nr = 0;
	visit->onward = false;
	err = form_walk_next(&visit->view->walk);
	return err ? err : view_node(visit, NULL);
}

static int view_all(struct visit *visit)
{
	struct todo *todo = &visit->todo;
	struct art_way way;
	int err = view_node(visit, NULL);

	while (todo->nr && !err) {
		/* a way may be longer than what an epoch is for */
		if (form_walk_due(&visit->view->walk) && visit->onward) {
			err = view_again(visit);
			continue;
		}
		way = todo->way[--todo->nr];
		err = view_way(visit, &way);
	}
	return err;
}

int art_view(struct art_view *view)
{
	struct art_item root = {
		.kind = ART_ITEM_ROOT, .addr = view->art->root, .len = ART_ROOT_LEN,
	};
	struct far_task *task = view->walk.task;
	struct visit visit = { .op = { .task = task, .art = view->art }, .view = view };
	size_t mark = far_buf_mark(task);
	int err;

	err = art_op_start(&visit.op);
	if (!err)
		err = view->block(view->arg, &root);
	if (!err)
		err = view_all(&visit);
	free(visit.todo.way);
	free(visit.kept.way);
	far_buf_release(task, mark);
	return art_far_err(err);
}
