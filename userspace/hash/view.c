/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Views of subtables, and walks over all of them. See view.h. */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


#define READ_LEN	(64 * HASH_GROUP)
#define BATCH		32u
#define TRIES		8u	/* connections that may break under one READ */

/* For any subtable of that table; free(). NULL: no memory. */
static struct hash_view *view_new(const struct far_hash *hash)
{
	return malloc(sizeof(struct hash_view) + (size_t)hash->groups * HASH_GROUP);
}

/* One READ, again if the connection breaks under it. */
static int view_fetch(struct far_task *task, uint64_t addr, void *buf, uint32_t len)
{
	unsigned i;
	int err = -EIO;

	for (i = 0; i < TRIES && err == -EIO; i++) {
		far_read(task, addr, buf, len);
		err = far_sync(task);
	}
	return hash_far_err(err);
}

/* The buckets, piece by piece. */
static int view_buckets(struct far_task *task, const struct far_hash *hash,
			struct hash_view *view, void *buf)
{
	size_t len = (size_t)hash->groups * HASH_GROUP;
	size_t at, part;
	int err;

	for (at = 0; at < len; at += part) {
		part = len - at < READ_LEN ? len - at : READ_LEN;
		err = view_fetch(task, view->sub + HASH_SUB_HEAD + at, buf, part);
		if (err)
			return err;
		memcpy((uint8_t *)view->bucket + at, buf, part);
	}
	return 0;
}

/*
 * What the head says, and the header that is closed and opened last. Both are READ
 * again if the connection breaks under them.
 */
static int view_head(struct far_task *task, const struct far_hash *hash,
		     struct hash_view *view, uint32_t bits, void *buf)
{
	const struct hash_sub *head = buf;
	uint64_t *header = (uint64_t *)(head + 1);
	unsigned depth, i;
	int err = -EIO;

	for (i = 0; i < TRIES && err == -EIO; i++) {
		far_read(task, view->sub, buf, sizeof(*head));
		far_read(task, view->sub + hash_main_off(2 * hash->groups - 1), header,
			 sizeof(*header));
		err = far_sync(task);
	}
	if (err)
		return hash_far_err(err);
	if (head->magic != HASH_SUB_MAGIC || head->shard != view->shard ||
	    head->born > HASH_MAX_DEPTH ||
	    head->suffix != (bits & hash_mask(head->born)))
		return -EBADMSG;
	for (depth = head->born; depth < HASH_MAX_DEPTH && head->sibling[depth]; depth++)
		;
	view->head = *head;
	view->depth = depth;
	view->moved = hash_depth(*header) + 1 == depth;
	view->still = hash_depth(*header) == depth && !(*header & HASH_MOVING);
	return 0;
}

/*
 * A subtable that may have the keys with these bits, before its splits. While its depth
 * and that of its last header stay as they are, the split that has published its newest
 * sibling is being cleaned up, or the next one is under way, but not one after the
 * other: all frozen words are of the same split.
 */
static int view_read(struct far_task *task, const struct far_hash *hash, unsigned shard,
		     uint64_t sub, uint32_t bits, struct hash_view *view)
{
	size_t mark = far_buf_mark(task);
	void *buf = far_buf(task, READ_LEN);
	unsigned depth;
	int moved, again;
	int err;

	if (!buf)
		return -ENOMEM;
	view->shard = shard;
	view->sub = sub;
	err = view_head(task, hash, view, bits, buf);
	for (again = 1; !err && again; ) {
		depth = view->depth;
		moved = view->moved;
		view->noted = view->head.copy;
		err = view_buckets(task, hash, view, buf);
		if (!err)
			err = view_head(task, hash, view, bits, buf);
		again = view->depth != depth || view->moved != moved;
	}
	far_buf_release(task, mark);
	return err;
}

static uint64_t view_word(const struct hash_view *view, unsigned slot)
{
	return view->bucket[slot / HASH_SLOTS].slot[slot % HASH_SLOTS];
}

/* A block that its slot could not say the length of. */
static int seen_big(struct far_task *task, unsigned shard, struct hash_seen *seen)
{
	uint64_t len = hash_block_len(seen->block->key_len, seen->block->val_len);
	void *buf;
	int err;

	buf = far_buf(task, len);
	if (!buf)
		return -ENOMEM;
	err = view_fetch(task, hash_block_addr(shard, seen->word), buf, len);
	if (err)
		return err;
	seen->block = buf;
	seen->damaged = hash_block_len(seen->block->key_len, seen->block->val_len) != len;
	return 0;
}

/* What is READ of a block at first. */
static uint32_t batch_len(uint64_t word, int whole)
{
	unsigned units = hash_slot_units(word);

	return whole && units ? units * HASH_UNIT : HASH_BLOCK_HEAD;
}

/* Chooses up to BATCH slots in use, from *slot on, and gets room for their blocks. */
static int batch_choose(struct far_task *task, const struct far_hash *hash,
			const struct hash_view *view, int whole, unsigned *slot,
			struct hash_seen *seen, unsigned *ret_nr)
{
	unsigned nr = 0;

	for (; *slot < hash_view_slots(hash) && nr < BATCH; ++*slot) {
		uint64_t word = view_word(view, *slot);

		/* the block behind a word that has moved may be anybody's by now */
		if (!word || (view->moved && word & HASH_FROZEN))
			continue;
		seen[nr] = (struct hash_seen) {
			.slot = *slot, .word = word,
			.block = far_buf(task, batch_len(word, whole)),
		};
		if (!seen[nr++].block)
			return -ENOMEM;
	}
	*ret_nr = nr;
	return 0;
}

static int batch_read(struct far_task *task, const struct hash_view *view, int whole,
		      struct hash_seen *seen, unsigned nr)
{
	unsigned tries, i;
	int err = nr ? -EIO : 0;

	for (tries = 0; tries < TRIES && err == -EIO; tries++) {
		for (i = 0; i < nr; i++)
			far_read(task, hash_block_addr(view->shard, seen[i].word),
				 seen[i].block, batch_len(seen[i].word, whole));
		err = far_sync(task);
	}
	return hash_far_err(err);
}

int hash_view_each_from(struct far_task *task, const struct far_hash *hash,
			const struct hash_view *view, unsigned slot, int whole,
			int (*each)(void *arg, const struct hash_view *view,
				    const struct hash_seen *seen),
			void *arg)
{
	struct hash_seen seen[BATCH];
	size_t mark = far_buf_mark(task);
	unsigned nr, i;
	int ret = 0;

	while (slot < hash_view_slots(hash) && !ret) {
		ret = batch_choose(task, hash, view, whole, &slot, seen, &nr);
		if (!ret)
			ret = batch_read(task, view, whole, seen, nr);
		for (i = 0; !ret && i < nr; i++) {
			seen[i].damaged = !hash_slot_fits(seen[i].word, seen[i].block);
			if (whole && !seen[i].damaged && !hash_slot_units(seen[i].word))
				ret = seen_big(task, view->shard, &seen[i]);
			if (!ret)
				ret = each(arg, view, &seen[i]);
		}
		far_buf_release(task, mark);
	}
	return ret;
}

int hash_view_each(struct far_task *task, const struct far_hash *hash,
		   const struct hash_view *view, int whole,
		   int (*each)(void *arg, const struct hash_view *view,
			       const struct hash_seen *seen),
		   void *arg)
{
	return hash_view_each_from(task, hash, view, 0, whole, each, arg);
}

/* The view of the subtable that has the keys with these bits. */
static int view_find(struct far_task *task, struct far_hash *hash, unsigned shard,
		     uint32_t bits, struct hash_view *view)
{
	unsigned depth;
	uint64_t sub = hash_dir_find(&hash->dir[shard], bits, &depth);
	int moved = -1;
	int err;

	/* each step is to a greater depth, so that there is an end */
	for (;;) {
		err = view_read(task, hash, shard, sub, bits, view);
		if (err)
			return err;
		if (moved >= 0 && view->head.born != moved + 1)
			return -EBADMSG;
		hash_learn(hash, sub, &view->head);
		moved = hash_moved(bits, view->head.born, view->depth);
		if (moved < 0)
			return 0;
		sub = view->head.sibling[moved];
	}
}

/* The view at *x, which becomes the place behind it, in an epoch of its own. */
static int view_visit(struct form_walk *walk, struct far_hash *hash, unsigned shard,
		      uint64_t *x, struct hash_view *view,
		      int (*each)(void *arg, const struct hash_view *view), void *arg)
{
	int ret = form_walk_enter(walk);

	if (!ret)
		ret = view_find(walk->task, hash, shard, hash_walk_bits(*x), view);
	if (!ret) {
		*x += hash_walk_step(view->depth);
		ret = each(arg, view);
	}
	/* not the walk's answer yet, which may be that the table is gone */
	form_walk_leave(walk, 0);
	return ret;
}

int hash_view_at(struct far_task *task, struct far_hash *hash, unsigned shard, uint32_t x,
		 int (*each)(void *arg, const struct hash_view *view), void *arg)
{
	struct hash_view *view = view_new(hash);
	struct form_walk walk = { .task = task };
	uint64_t at = x;
	int ret = view ? view_visit(&walk, hash, shard, &at, view, each, arg) : -ENOMEM;

	free(view);
	return ret;
}

/*
 * Subtables stay where they are while the table lives, and each is learned of from one that
 * comes before it. So the place of the walk is `x` alone, also when subtables were split
 * since it was there.
 */
static int each_of_shard(struct form_walk *walk, struct far_hash *hash, unsigned shard,
			 struct hash_view *view,
			 int (*each)(void *arg, const struct hash_view *view), void *arg)
{
	uint64_t x = 0;
	int ret = 0;

	while (x < HASH_WALK_END && !ret)
		ret = view_visit(walk, hash, shard, &x, view, each, arg);
	return ret;
}

int hash_walk_views(struct form_walk *walk, struct far_hash *hash,
		    int (*each)(void *arg, const struct hash_view *view), void *arg)
{
	struct hash_view *view = view_new(hash);
	unsigned shard;
	int ret = view ? 0 : -ENOMEM;

	for (shard = 0; shard < hash->nr_shards && !ret; shard++)
		ret = each_of_shard(walk, hash, shard, view, each, arg);
	free(view);
	return ret;
}

int hash_each_view(struct far_task *task, struct far_hash *hash,
		   int (*each)(void *arg, const struct hash_view *view), void *arg)
{
	struct form_walk walk = { .task = task };

	return hash_walk_views(&walk, hash, each, arg);
}
