/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Get: one READ, of the leaf; or of the entry alone, if the place where it was last seen
 * is remembered (speculation).
 *
 * An entry that is valid under the version that is remembered is the key's at the moment
 * of the READ: before a key's entry is anywhere else, the old one has been made invalid,
 * and that was acknowledged.
 */
#include "priv.h"

#include "../core/stats.h"
#include "../core/task.h"

/* -ENOENT: nothing is remembered, or it is wrong. */
static int get_spot(struct btree_op *op, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	struct btree_entry *entry = (void *)op->node;
	struct btree_spot spot;
	int err;

	if (op->tree->without & BTREE_NO_SPOT ||
	    !btree_cache_spot(op->tree->cache, op->hash, &spot) ||
	    spot.place >= geo->span)
		return -ENOENT;
	if (op->batch)
		far_combine_again(op->batch);
	far_read(op->task, spot.leaf + btree_entry_off(geo, spot.place), entry, geo->entry);
	err = far_sync(op->task);
	if (err)
		return err;
	if (btree_cmp(geo, entry->data, op->key) ||
	    entry->sum != btree_entry_sum(geo, entry, spot.version)) {
		btree_cache_drop_spot(op->tree->cache, op->hash);
		return -ENOENT;
	}
	memcpy(room, btree_value(geo, entry), op->tree->value_size);
	return 0;
}

int btree_get(struct btree_op *op, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	struct btree_spot spot;
	struct btree_way way;
	int place, err;

	err = get_spot(op, room);
	if (op->tree->cache)
		far_count(op->task, err ? FAR_COUNT_CACHE_MISSES : FAR_COUNT_CACHE_HITS, 1);
	if (err != -ENOENT) {
		op->present = !err;
		return err;
	}
	err = btree_find(op, op->key, 0, 0, op->node, &way);
	if (err)
		return err;
	place = btree_find_key(geo, op->node, op->key);
	if (place < 0)
		return place;
	spot = (struct btree_spot) { way.addr, op->node->version, place };
	btree_cache_put_spot(op->tree->cache, op->hash, &spot);
	memcpy(room, btree_value(geo, btree_entry_at(geo, op->node, place)),
	       op->tree->value_size);
	op->present = true;
	return 0;
}
