/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scans: ranges of keys in order, and what is counted by walking all: stat.
 *
 * A scan has a front: ways that lead to keys of the range, in order. In each round it
 * READs what the first ones lead to, all at once; a node is replaced by its own ways, a
 * leaf by its key and value, and what is at the very front goes to the caller. What a
 * round has read is of one epoch; the caller gets it outside.
 *
 * A key that is there all the time is met: whatever changes above it after a node was
 * read, that node still leads to it, and a leaf that has moved says where.
 *
 * A long scan ends where the keys of its range ended at one time of it: however fast others
 * insert behind that, it ends.
 */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/order.h"
#include "../core/task.h"

#define SCAN_WIDTH	64u		/* ways that are read at once */
#define SCAN_BYTES	65536u		/* and at most so many bytes, but one way */
#define SCAN_KEYS	256u		/* given to the caller at once */
#define SCAN_HOLD	(1u << 20)	/* bytes of them, about */
#define SCAN_TRIES	4u		/* connections that may break */

/* A key and its value, for the caller. */
struct found {
	struct found *next;
	size_t key_len, value_len;
	uint8_t data[];
};

/* A part of the front: a way, or what it has come to. */
struct part {
	struct part *next;
	struct art_way way;
	struct found *found;	/* NULL: the way is to be gone */
};

struct scan {
	struct far_task *task;
	struct far_art *art;
	struct far_range range;
	bool has_end;			/* the range ends with a key that was there: */
	uint8_t end[ART_MAX_KEY];
	uint8_t last[ART_MAX_KEY];	/* of what was given, last_len bytes; 0: nothing */
	size_t last_len;
	uint64_t left;			/* keys that may still be given */
	bool over;			/* there is nothing more */

	struct part *front;
	struct found *give, **give_end;
	unsigned nr_give;
	size_t held;
};

/* How the keys below a way lie to a key: all before, some, all at or behind. */
static int way_cmp(const struct art_way *way, const uint8_t *key, size_t len)
{
	unsigned symbol = art_slot_symbol(way->slot);
	size_t have = way->depth + (symbol != ART_END);
	int diff = memcmp(way->key, key, have < len ? have : len);

	if (diff)
		return diff;
	if (symbol == ART_END)
		return have < len ? -1 : have > len;
	return have > len;
}

static bool way_wanted(const struct scan *scan, const struct art_way *way)
{
	const struct far_range *range = &scan->range;
	bool down = range->flags & FAR_RANGE_DOWN;

	if (range->from && way_cmp(way, range->from, range->from_len) < 0)
		return false;
	if (range->to && way_cmp(way, range->to, range->to_len) > 0)
		return false;
	if (!scan->last_len)
		return true;
	return down ? way_cmp(way, scan->last, scan->last_len) <= 0 :
		      way_cmp(way, scan->last, scan->last_len) >= 0;
}

static bool key_wanted(const struct scan *scan, const struct art_seen *seen)
{
	const struct far_range *range = &scan->range;
	bool down = range->flags & FAR_RANGE_DOWN;
	int diff;

	if (range->from &&
	    far_key_cmp(seen->key, seen->key_len, range->from, range->from_len) < 0)
		return false;
	if (range->to &&
	    far_key_cmp(seen->key, seen->key_len, range->to, range->to_len) > 0)
		return false;
	if (!scan->last_len)
		return true;
	diff = far_key_cmp(seen->key, seen->key_len, scan->last, scan->last_len);
	return down ? diff < 0 : diff > 0;
}

/* Slots of a node in the order of the scan: how many, or -EBADMSG. */
static int slots_sort(const struct art_node *node, bool down, uint16_t *ret_slot)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	uint16_t at[ART_SYMBOLS] = { 0 };
	unsigned i, rank, n = 0;

	for (i = 0; i < nr; i++) {
		if (art_slot_symbol(node->slot[i]) >= ART_SYMBOLS)
			return -EBADMSG;
		if (art_pointee(node->slot[i]))
			at[art_symbol_rank(art_slot_symbol(node->slot[i]))] = i + 1;
	}
	for (i = 0; i < ART_SYMBOLS; i++) {
		rank = down ? ART_SYMBOLS - 1 - i : i;
		if (at[rank])
			ret_slot[n++] = at[rank] - 1;
	}
	return n;
}

/* Puts the ways of a node at *link, in front of what is there. */
static int node_open(struct scan *scan, const struct art_way *way,
		     const struct art_node *node, struct part **link)
{
	bool down = scan->range.flags & FAR_RANGE_DOWN;
	uint16_t slot[ART_SYMBOLS];
	int nr = slots_sort(node, down, slot), i;
	struct art_way on;
	struct part *part;

	if (nr < 0)
		return nr;
	for (i = 0; i < nr; i++) {
		if (!art_way_on(way, node, slot[i], &on))
			return -EBADMSG;
		if (!way_wanted(scan, &on))
			continue;
		part = malloc(sizeof(*part));
		if (!part)
			return -ENOMEM;
		*part = (struct part) { .next = *link, .way = on };
		*link = part;
		link = &part->next;
	}
	return 0;
}

static void front_drop(struct scan *scan)
{
	struct part *part;

	while ((part = scan->front)) {
		scan->front = part->next;
		free(part->found);
		free(part);
	}
}

static struct found *found_new(const struct art_seen *seen)
{
	struct found *found = malloc(sizeof(*found) + seen->key_len + seen->value_len);

	if (!found)
		return NULL;
	found->next = NULL;
	found->key_len = seen->key_len;
	found->value_len = seen->value_len;
	memcpy(found->data, seen->key, seen->key_len);
	if (seen->value_len)
		memcpy(found->data + seen->key_len, seen->value, seen->value_len);
	return found;
}

/* A way of this round, and what it leads to. */
struct look {
	struct part **link;
	struct art_op op;	/* of its leaf */
	struct art_node *node;	/* or its node */
};

static uint32_t look_len(const struct art_way *way)
{
	unsigned size = art_slot_size(way->slot);

	if (way->slot & ART_LEAF)
		return size ? 8 * size : ART_FIRST;
	return size < ART_TYPES ? art_node_len(size) : 0;
}

/* Follows a leaf to where it has moved, and READs the rest of a long one. */
static int leaf_end(struct art_op *op)
{
	int err = art_leaf_follow(op);

	return err ? err : art_leaf_seen(op);
}

/* Replaces a way by what was read of it. */
static int look_done(struct scan *scan, struct look *look)
{
	struct part *part = *look->link;
	int err;

	if (look->node) {
		uint64_t addr = art_pointee(part->way.slot);

		if (!art_node_sane(look->node, art_seed(scan->art->root, addr)) ||
		    art_header_type(look->node->header) != art_slot_size(part->way.slot))
			return -EBADMSG;
		*look->link = part->next;
		err = node_open(scan, &part->way, look->node, look->link);
		free(part);
		return err;
	}
	err = leaf_end(&look->op);
	if (err)
		return err;
	if (!art_way_fits(&part->way, &look->op.seen))
		return -EBADMSG;
	if (art_head_has_key(look->op.leaf->head) &&
	    key_wanted(scan, &look->op.seen)) {
		part->found = found_new(&look->op.seen);
		return part->found ? 0 : -ENOMEM;
	}
	*look->link = part->next;
	free(part);
	return 0;
}

static int look_post(struct scan *scan, struct look *look, struct part **link)
{
	const struct art_way *way = &(*link)->way;
	uint32_t len = look_len(way);
	void *room = len ? far_buf(scan->task, len) : NULL;

	if (!len)
		return -EBADMSG;
	if (!room)
		return -ENOMEM;
	*look = (struct look) { .link = link, .op = { .task = scan->task, .art = scan->art } };
	if (way->slot & ART_LEAF) {
		look->op.leaf = room;
		look->op.leaf_room = len;
		look->op.leaf_addr = art_pointee(way->slot);
		look->op.step.word = way->slot;
	} else {
		look->node = room;
	}
	far_read(scan->task, art_pointee(way->slot), room, len);
	return 0;
}

/* Keys that a way may lead to, about: a node is half full, or more. */
static unsigned way_keys(const struct art_way *way)
{
	unsigned type = art_slot_size(way->slot);

	return way->slot & ART_LEAF || type >= ART_TYPES ? 1 : art_type_slots(type) / 2;
}

/* Bytes that a way wants of a round. A long leaf has one alone: only it says how long. */
static size_t way_bytes(const struct art_way *way)
{
	return way->slot & ART_LEAF && !art_slot_size(way->slot) ? SCAN_BYTES : look_len(way);
}

/* READs what the first ways lead to, as far as the keys that are wanted may lie there. */
static int scan_round(struct scan *scan)
{
	unsigned width = scan->left < SCAN_WIDTH ? scan->left : SCAN_WIDTH;
	struct look *look = malloc(width * sizeof(*look));
	size_t mark = far_buf_mark(scan->task);
	struct part **link = &scan->front;
	unsigned nr = 0, seen;
	size_t bytes = 0;
	int err = look ? 0 : -ENOMEM, also;

	for (seen = 0; *link && seen < width && bytes < SCAN_BYTES && !err;) {
		if (!(*link)->found) {
			bytes += way_bytes(&(*link)->way);
			seen += way_keys(&(*link)->way);
			err = look_post(scan, &look[nr], link);
			nr += !err;
		} else {
			seen++;
		}
		link = &(*link)->next;
	}
	also = far_sync(scan->task);
	if (!err)
		err = also;
	/* the last one first: what is put into the list leaves the links before it alone */
	while (nr && !err)
		err = look_done(scan, &look[--nr]);
	far_buf_release(scan->task, mark);
	free(look);
	return err;
}

/* What is at the front goes to the caller's list. */
static void scan_take(struct scan *scan)
{
	struct part *part;

	while ((part = scan->front) && part->found && scan->left) {
		scan->front = part->next;
		*scan->give_end = part->found;
		scan->give_end = &part->found->next;
		scan->held += part->found->key_len + part->found->value_len;
		scan->nr_give++;
		scan->left--;
		free(part);
	}
}

static bool scan_full(const struct scan *scan)
{
	return scan->nr_give >= SCAN_KEYS || scan->held >= SCAN_HOLD || !scan->left;
}

/* In one epoch: from the first node, behind what was given, until enough is there. */
static int scan_part(struct scan *scan)
{
	size_t mark = far_buf_mark(scan->task);
	struct art_node *node = far_buf(scan->task, ART_NODE_MAX);
	uint64_t addr = art_first_node(scan->art);
	int err = node ? 0 : -ENOMEM;

	if (!err) {
		far_read(scan->task, addr, node, ART_NODE_MAX);
		err = far_sync(scan->task);
	}
	if (!err && !art_node_sane(node, art_seed(scan->art->root, addr)))
		err = -EBADMSG;
	if (!err)
		err = node_open(scan, NULL, node, &scan->front);
	far_buf_release(scan->task, mark);
	while (!err && scan->front && !scan_full(scan)) {
		err = scan_round(scan);
		scan_take(scan);
	}
	scan->over = !err && (!scan->front || !scan->left);
	front_drop(scan);
	return err;
}

/* Gives what was found; all of it is freed. */
static int scan_give(struct scan *scan,
		     int (*each)(void *arg, const void *key, size_t key_len,
				 const void *value, size_t value_len),
		     void *arg)
{
	struct found *found;
	int ret = 0;

	while ((found = scan->give)) {
		scan->give = found->next;
		scan->last_len = found->key_len;
		memcpy(scan->last, found->data, found->key_len);
		if (!ret)
			ret = each(arg, found->data, found->key_len,
				   found->data + found->key_len, found->value_len);
		free(found);
	}
	return ret;
}

static int end_note(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len)
{
	struct scan *scan = arg;
	struct far_range *range = &scan->range;

	(void)value;
	(void)value_len;
	memcpy(scan->end, key, key_len);
	*(range->flags & FAR_RANGE_DOWN ? &range->from : &range->to) = scan->end;
	*(range->flags & FAR_RANGE_DOWN ? &range->from_len : &range->to_len) = key_len;
	scan->has_end = true;
	return 0;
}

/* The last key of the range becomes its end: those behind it come later. */
static int scan_end(struct scan *scan)
{
	struct far_range back = scan->range;
	int err;

	back.flags ^= FAR_RANGE_DOWN;
	back.max = 1;
	err = far_art_scan(scan->task, scan->art, &back, end_note, scan);
	/* nothing is there */
	scan->over |= !err && !scan->has_end;
	return err;
}

/* One part, with second tries. What a failed try has found is right, and is given. */
static int scan_once(struct scan *scan)
{
	unsigned tries = 0;
	int err;

	scan->give = NULL;
	scan->give_end = &scan->give;
	scan->nr_give = 0;
	scan->held = 0;
	do {
		err = far_epoch_enter(scan->task);
		if (err)
			return err;
		err = art_far_err(scan_part(scan));
		far_epoch_exit(scan->task);
	} while (err == -EIO && !scan->nr_give && ++tries < SCAN_TRIES);
	return err == -EIO && scan->nr_give ? 0 : err;
}

int far_art_scan(struct far_task *task, struct far_art *art, const struct far_range *range,
		 int (*each)(void *arg, const void *key, size_t key_len,
			     const void *value, size_t value_len),
		 void *arg)
{
	struct scan scan = {
		.task = task, .art = art, .range = *range,
		.left = range->max ? range->max : UINT64_MAX,
	};
	int err = 0;

	while (!scan.over && !err) {
		err = far_op_begin(task);
		if (!err) {
			err = scan_once(&scan);
			far_op_end(task);
		}
		if (err) {
			scan_give(&scan, each, arg);
			break;
		}
		err = scan_give(&scan, each, arg);
		if (!err && !scan.over && !scan.has_end)
			err = scan_end(&scan);
	}
	return err;
}

struct stat {
	struct far_task *task;
	struct far_art_stats *stats;
};

static int stat_block(void *arg, const struct art_item *item)
{
	const struct stat *stat = arg;
	struct far_art_stats *stats = stat->stats;
	uint64_t room = far_alloc_room(stat->task, far_addr_node(item->addr), item->len);

	far_op_renew(stat->task);
	if (item->kind != ART_ITEM_LEAF) {
		stats->nodes++;
		stats->node_bytes += item->len;
		stats->node_room += room;
		return 0;
	}
	stats->leaf_room += room;
	stats->leaf_bytes += item->seen ? item->seen->len : item->len;
	if (!item->seen)
		return 0;
	stats->keys++;
	stats->key_bytes += item->seen->key_len;
	stats->value_bytes += item->seen->value_len;
	return 0;
}

int far_art_stat(struct far_task *task, struct far_art *art,
		 struct far_art_stats *ret_stats)
{
	struct far_art_stats stats = { 0 };
	struct stat arg = { .task = task, .stats = &stats };
	struct art_view view = {
		.walk = { .task = task }, .art = art, .block = stat_block, .arg = &arg,
	};
	int err;

	err = far_op_begin(task);
	if (err)
		return err;
	err = form_walk_enter(&view.walk);
	if (!err)
		err = art_view(&view);
	err = form_walk_leave(&view.walk, err);
	far_op_end(task);
	if (!err)
		*ret_stats = stats;
	return err;
}
