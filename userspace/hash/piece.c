// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks in pieces: a scan that goes on where a cursor says, and clear.
 *
 * The cursor is a place in the space of hashes (view.h), and one in the subtable that has it:
 *
 *	63  55 54    47 46     15 14    0
 *	|  0  | shard  |    x    |  slot  |
 *
 * A key that is there all the time keeps its slot, also when a split copies it into a new
 * subtable (split.c). So the keys in slots before the cursor's were given, if they are still
 * in the subtable that has x. What a split has taken from that one comes behind it, from the
 * first slot on: twice perhaps.
 */
#include "../core/deadline.h"
#include "../core/task.h"
#include "view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS	15u
#define X_SHIFT		SLOT_BITS
#define SHARD_SHIFT	(X_SHIFT + 32u)
#define CLEAR_KEYS	512u	/* that are deleted between two looks at a subtable */

_Static_assert(HASH_MAX_GROUPS * HASH_GROUP_SLOTS < 1u << SLOT_BITS, "a cursor has any slot");

static uint64_t cursor_make(unsigned shard, uint32_t x, unsigned slot)
{
	return (uint64_t)shard << SHARD_SHIFT | (uint64_t)x << X_SHIFT | slot;
}

static unsigned cursor_slot(uint64_t cursor)
{
	return cursor & ((1u << SLOT_BITS) - 1);
}

static uint32_t cursor_x(uint64_t cursor)
{
	return cursor >> X_SHIFT;
}

static uint64_t cursor_shard(uint64_t cursor)
{
	return cursor >> SHARD_SHIFT;
}

struct piece {
	struct far_task *task;
	struct far_hash *hash;
	int (*each)(void *arg, const void *key, size_t key_len,
		    const void *value, size_t value_len);
	void *arg;
	uint64_t cursor;
	uint64_t left;		/* keys that may be given */
	bool ended;		/* by each(), or since so many were given */
	int ret;		/* what each() has returned */
};

static int piece_key(void *arg, const struct hash_view *view, const struct hash_seen *seen)
{
	const struct hash_block *block = seen->block;
	struct piece *piece = arg;

	if (seen->damaged || block->sum != hash_block_sum(block, piece->hash->root))
		return -EBADMSG;
	piece->ret = piece->each(piece->arg, block->data, block->key_len,
				 block->data + block->key_len, block->val_len);
	far_op_renew(piece->task);
	piece->ended = piece->ret || !--piece->left;
	if (!piece->ended)
		return 0;
	piece->cursor = cursor_make(view->shard, cursor_x(piece->cursor), seen->slot + 1);
	return 1;
}

/* Behind the last slot of a view. */
static uint64_t piece_next(const struct piece *piece, const struct hash_view *view)
{
	uint64_t x = cursor_x(piece->cursor) + hash_walk_step(view->depth);

	if (x < HASH_WALK_END)
		return cursor_make(view->shard, x, 0);
	if (view->shard + 1 < piece->hash->nr_shards)
		return cursor_make(view->shard + 1, 0, 0);
	return 0;
}

static int piece_view(void *arg, const struct hash_view *view)
{
	struct piece *piece = arg;
	int ret = hash_view_each_from(piece->task, piece->hash, view,
				      cursor_slot(piece->cursor), 1, piece_key, piece);

	if (!ret)
		piece->cursor = piece_next(piece, view);
	return ret;
}

/* What each() has returned, or an error. */
static int piece_run(struct piece *piece)
{
	int ret = far_op_begin(piece->task);

	if (ret)
		return ret;
	ret = hash_view_at(piece->task, piece->hash, cursor_shard(piece->cursor),
			   cursor_x(piece->cursor), piece_view, piece);
	far_op_end(piece->task);
	return piece->ended ? piece->ret : ret;
}

int far_hash_scan_from(struct far_task *task, struct far_hash *hash, uint64_t *cursor,
		       uint64_t max,
		       int (*each)(void *arg, const void *key, size_t key_len,
				   const void *value, size_t value_len),
		       void *arg)
{
	struct piece piece = {
		.task = task, .hash = hash, .each = each, .arg = arg,
		.cursor = *cursor, .left = max ? max : UINT64_MAX,
	};
	int ret;

	if (cursor_shard(*cursor) >= hash->nr_shards ||
	    cursor_slot(*cursor) > hash_view_slots(hash))
		return -EINVAL;
	ret = piece_run(&piece);
	if (!ret || piece.ended)
		*cursor = piece.cursor;
	return ret;
}

/* Some keys of one subtable, from a slot on, around its end. */
struct sample {
	struct piece piece;
	unsigned first;		/* slot */
	bool around;		/* it has come to the end of the subtable */
};

static int sample_key(void *arg, const struct hash_view *view, const struct hash_seen *seen)
{
	struct sample *sample = arg;

	return sample->around && seen->slot >= sample->first ? 1 :
	       piece_key(&sample->piece, view, seen);
}

static bool slot_is_used(const struct hash_view *view, unsigned slot)
{
	return view->bucket[slot / HASH_SLOTS].slot[slot % HASH_SLOTS];
}

/* A slot in use, each as likely as another; any, if none is. */
static unsigned slot_random(struct far_task *task, const struct hash_view *view, unsigned nr)
{
	unsigned used = 0, slot, n;

	for (slot = 0; slot < nr; slot++)
		used += slot_is_used(view, slot);
	n = used ? far_rng_below(far_task_rng(task), used) : 0;
	for (slot = 0; slot < nr; slot++) {
		if (slot_is_used(view, slot) && !n--)
			return slot;
	}
	return 0;
}

static int sample_view(void *arg, const struct hash_view *view)
{
	struct sample *sample = arg;
	struct piece *piece = &sample->piece;
	int ret;

	sample->first = slot_random(piece->task, view, hash_view_slots(piece->hash));
	ret = hash_view_each_from(piece->task, piece->hash, view, sample->first, 1,
				  sample_key, sample);
	if (ret)
		return ret;
	sample->around = true;
	return hash_view_each_from(piece->task, piece->hash, view, 0, 1, sample_key, sample);
}

/*
 * A subtable covers as much of the hashes as it has of the keys, about. So a place at random
 * among the hashes, and a slot at random in the subtable that has it, lead to each key alike.
 */
int far_hash_sample(struct far_task *task, struct far_hash *hash, uint64_t max,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg)
{
	struct far_rng *rng = far_task_rng(task);
	struct sample sample = {
		.piece = {
			.task = task, .hash = hash, .each = each, .arg = arg, .left = max,
		},
	};
	int ret;

	if (!max)
		return -EINVAL;
	ret = far_op_begin(task);
	if (ret)
		return ret;
	ret = hash_view_at(task, hash, far_rng_below(rng, hash->nr_shards),
			   far_rng_next(rng), sample_view, &sample);
	far_op_end(task);
	return sample.piece.ended ? sample.piece.ret : ret < 0 ? ret : 0;
}

/* Keys that are to be deleted. */
struct clear {
	void *key[CLEAR_KEYS];
	size_t key_len[CLEAR_KEYS];
	unsigned nr;
};

static int clear_note(void *arg, const void *key, size_t key_len, const void *value,
		      size_t value_len)
{
	struct clear *clear = arg;
	void *copy = malloc(key_len);

	(void)value;
	(void)value_len;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, key, key_len);
	clear->key[clear->nr] = copy;
	clear->key_len[clear->nr++] = key_len;
	return 0;
}

/* Deletes what was noted, unless an earlier step has failed with err. */
static int clear_delete(struct far_task *task, struct far_hash *hash, struct clear *clear,
			int err)
{
	unsigned i;

	for (i = 0; i < clear->nr; i++) {
		if (!err)
			err = far_hash_delete(task, hash, clear->key[i], clear->key_len[i]);
		/* somebody else has deleted it */
		if (err == -ENOENT)
			err = 0;
		free(clear->key[i]);
	}
	clear->nr = 0;
	return err;
}

int far_hash_clear(struct far_task *task, struct far_hash *hash)
{
	struct clear *clear = calloc(1, sizeof(*clear));
	uint64_t cursor = 0;
	int err = clear ? 0 : -ENOMEM;

	while (!err) {
		err = far_hash_scan_from(task, hash, &cursor, CLEAR_KEYS, clear_note, clear);
		err = clear_delete(task, hash, clear, err);
		if (!cursor)
			break;
	}
	free(clear);
	return err;
}
