/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Get: one READ, of the entry alone if the place where it was last seen is remembered
 * (speculation); else of the places that the key may have, if the leaf's version is; else
 * these and the leaf's head, in one list.
 *
 * An entry that is valid under the version that is remembered is the key's at the moment
 * of the READ: before a key's entry is anywhere else, the old one has been made invalid,
 * and that was acknowledged. What a merge is about to bring is not valid. That a key is not
 * there is told only with the head, whose fences have the key.
 */
#include "btree_priv.h"

#include "../core/stats.h"
#include "../core/task.h"

/* -ENOENT: nothing is remembered, or it is wrong. */
static int get_spot(struct btree_op *op, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	struct btree_entry *entry = (void *)op->node;
	struct btree_spot spot;
	int err;

	if (op->tree->variant.no_spot ||
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

/* The entry of op->node, of the leaf at addr, is the answer. */
static void get_take(struct btree_op *op, uint64_t addr, unsigned place, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	const struct btree_spot spot = { addr, op->node->version, place };

	btree_cache_put_spot(op->tree->cache, op->hash, &spot);
	memcpy(room, btree_value(geo, btree_entry_at(geo, op->node, place)),
	       op->tree->value_size);
}

/* -ENOENT: the leaf or its version is not known, or the key is not where it may be. */
static int get_near(struct btree_op *op, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	unsigned home = btree_home(geo, op->key);
	struct btree_way way;
	int place, err;

	if (op->tree->variant.no_near || !op->tree->cache)
		return -ENOENT;
	err = btree_descend(op, op->key, 0, 0, false, &way);
	if (err)
		return err == -EAGAIN ? -ENOENT : err;
	if (!btree_cache_version(op->tree->cache, way.addr, &op->node->version))
		return -ENOENT;
	if (op->batch)
		far_combine_again(op->batch);
	far_read(op->task, way.addr + btree_entry_off(geo, home),
		 btree_entry_at(geo, op->node, home), geo->near * geo->entry);
	err = far_sync(op->task);
	if (err && err != -EFAULT)
		return err;
	place = err ? -EAGAIN : btree_find_key(geo, op->node, op->key);
	if (place >= 0)
		get_take(op, way.addr, place, room);
	else if (!btree_near_whole(geo, op->node, op->node->version, home))
		btree_cache_drop_leaf(op->tree->cache, way.addr);
	return place >= 0 ? 0 : -ENOENT;
}

int btree_get(struct btree_op *op, void *room)
{
	const struct btree_geo *geo = &op->tree->geo[0];
	struct btree_way way;
	int place, err;

	err = get_spot(op, room);
	if (op->tree->cache)
		far_count(op->task, err ? FAR_COUNT_CACHE_MISSES : FAR_COUNT_CACHE_HITS, 1);
	if (err == -ENOENT)
		err = get_near(op, room);
	if (err != -ENOENT) {
		op->present = !err;
		return err;
	}
	err = btree_find_near(op, &way);
	if (err)
		return err;
	place = btree_find_key(geo, op->node, op->key);
	if (place < 0)
		return place;
	get_take(op, way.addr, place, room);
	op->present = true;
	return 0;
}
