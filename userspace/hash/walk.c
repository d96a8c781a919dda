/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What others see of a table who know no hash: its blocks, for those who collect
 * memory of dead clients, and what is wrong with it, for those who check.
 *
 * Each subtable is walked in an epoch of its own (form/walk.h), so that an epoch is held for
 * at most 21,504 slots. A key's block keeps its place: it is in the subtable that has the
 * first bits of the key, before each split and after it.
 */
#include "type.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "copy.h"
#include "view.h"

struct walk {
	struct far_task *task;
	struct far_hash *hash;
	struct far_walk *walk;
	const char *name;
	uint64_t *key;		/* per slot of the view: a hash of its key */
};

static void walk_problem(struct walk *walk, const struct hash_view *view, int slot,
			 const char *what)
{
	char text[192];

	if (!walk->walk->problem)
		return;
	snprintf(text, sizeof(text),
		 "hash table \"%.31s\", subtable %#" PRIx64 ", slot %d: %s",
		 walk->name, view->sub, slot, what);
	walk->walk->problem(walk->walk, text);
}

static void check_headers(struct walk *walk, const struct hash_view *view)
{
	uint64_t after = hash_idle(view->depth, view->head.suffix);
	uint64_t before = hash_idle(view->depth - 1, view->head.suffix) | HASH_MOVING;
	unsigned i;

	if (view->head.suffix & ~hash_mask(view->head.born))
		walk_problem(walk, view, -1, "the suffix is longer than the depth");
	for (i = 0; i < 3 * walk->hash->groups; i++) {
		uint64_t header = view->bucket[i].header & ~HASH_CLAIM_MASK;
		int slot = i * HASH_SLOTS;

		if (i % 3 == 1 && view->bucket[i].header)
			walk_problem(walk, view, slot, "an overflow bucket has a header");
		if (i % 3 != 1 && (header & ~HASH_MOVING) != after && header != before)
			walk_problem(walk, view, slot,
				     "the header has another depth or suffix");
	}
}

/* Whether the key may lie in that slot. */
static int slot_allowed(const struct hash_key *key, unsigned slot)
{
	unsigned i, first;

	for (i = 0; i < 2; i++) {
		first = key->main[i] / 2 * HASH_GROUP_SLOTS + key->main[i] % 2 * HASH_SLOTS;
		if (slot >= first && slot < first + 2 * HASH_SLOTS)
			return 1;
	}
	return 0;
}

/* Whether a slot before this one has the same key. */
static int key_twice(struct walk *walk, const struct hash_key *key, unsigned slot)
{
	uint64_t hash = XXH3_64bits_withSeed(key->data, key->len, key->first) | 1;
	unsigned i, s, first;

	walk->key[slot] = hash;
	for (i = 0; i < 2; i++) {
		first = key->main[i] / 2 * HASH_GROUP_SLOTS + key->main[i] % 2 * HASH_SLOTS;
		for (s = first; s < first + 2 * HASH_SLOTS; s++)
			if (s != slot && walk->key[s] == hash)
				return 1;
	}
	return 0;
}

static void check_key(struct walk *walk, const struct hash_view *view,
		      const struct hash_seen *seen)
{
	const struct hash_block *block = seen->block;
	struct hash_key key;

	if (seen->word & HASH_FROZEN && view->still)
		walk_problem(walk, view, seen->slot, "it is frozen, and nobody splits");
	if (seen->damaged) {
		walk_problem(walk, view, seen->slot, "the block has another length");
		return;
	}
	if (block->sum != hash_block_sum(block, walk->hash->root)) {
		walk_problem(walk, view, seen->slot, "the block's checksum is wrong");
		return;
	}
	hash_key_init(&key, block->data, block->key_len, walk->hash->groups,
		      walk->hash->nr_shards);
	if (hash_slot_fp(seen->word) != key.fp)
		walk_problem(walk, view, seen->slot, "the fingerprint is another key's");
	if (!hash_slot_born(seen->word, block))
		walk_problem(walk, view, seen->slot, "the reuse tag is another block's");
	if (key.shard != view->shard || block->dir != hash_key_dir(&key) ||
	    (block->dir & hash_mask(view->depth)) != view->head.suffix)
		walk_problem(walk, view, seen->slot, "the key belongs to another subtable");
	if (!slot_allowed(&key, seen->slot))
		walk_problem(walk, view, seen->slot, "the key belongs to other buckets");
	if (key_twice(walk, &key, seen->slot))
		walk_problem(walk, view, seen->slot, "the key is there twice");
}

static int walk_key(void *arg, const struct hash_view *view, const struct hash_seen *seen)
{
	const struct hash_block *block = seen->block;
	unsigned units = hash_slot_units(seen->word);
	struct walk *walk = arg;

	if (walk->walk->problem)
		check_key(walk, view, seen);
	/* a check says that it is damaged; how long it is, nobody knows */
	if (seen->damaged && !units && walk->walk->problem)
		return 0;
	return walk->walk->block(walk->walk, hash_block_addr(view->shard, seen->word),
				 units ? units * HASH_UNIT :
				 hash_block_len(block->key_len, block->val_len));
}

/*
 * The words of a head are read in any order: the READ that saw no sibling yet may see a note
 * that has ended since. Then the READ before saw the note. It may have become free by now:
 * to take that for reachable harms nobody but a check.
 */
static uint64_t view_copy(const struct walk *walk, const struct hash_view *view)
{
	uint64_t copy = hash_copy_noted(&view->head, view->head.copy);

	return copy || walk->walk->problem ? copy : hash_copy_noted(&view->head, view->noted);
}

static int walk_view(void *arg, const struct hash_view *view)
{
	struct walk *walk = arg;
	uint64_t len = hash_sub_len(walk->hash->groups);
	uint64_t copy = view_copy(walk, view);
	int ret;

	if (walk->walk->problem)
		check_headers(walk, view);
	ret = walk->walk->block(walk->walk, view->sub, len);
	if (!ret && copy)
		ret = walk->walk->block(walk->walk, copy, len);
	if (ret)
		return ret;
	memset(walk->key, 0, hash_view_slots(walk->hash) * sizeof(*walk->key));
	return hash_view_each(walk->task, walk->hash, view, !!walk->walk->problem,
			      walk_key, walk);
}

/* The blocks that belong to the table as a whole. */
static int walk_root(struct walk *walk)
{
	const struct far_hash *hash = walk->hash;
	unsigned i;
	int ret;

	ret = walk->walk->block(walk->walk, hash->root, hash_root_len(hash->nr_shards));
	for (i = 0; i < hash->nr_shards && !ret; i++)
		ret = walk->walk->block(walk->walk, hash->turn_at[i], HASH_TURNS_LEN);
	return ret;
}

static int hash_walk(struct far_task *task, const struct far_dir_entry *entry,
		     struct far_walk *far_walk)
{
	struct walk walk = { .task = task, .walk = far_walk, .name = entry->name };
	struct form_walk steps = { .task = task, .entry = entry };
	int ret = form_walk_enter(&steps);

	if (!ret)
		ret = hash_open_root(task, entry->root, &walk.hash);
	if (!ret)
		ret = walk_root(&walk);
	form_walk_leave(&steps, 0);
	if (!ret) {
		walk.key = malloc(hash_view_slots(walk.hash) * sizeof(*walk.key));
		ret = walk.key ? hash_walk_views(&steps, walk.hash, walk_view, &walk) : -ENOMEM;
	}
	free(walk.key);
	far_hash_close(walk.hash);
	return form_walk_leave(&steps, ret);
}

const struct far_type far_hash_type = {
	.type = FAR_TYPE_HASH,
	.version = HASH_VERSION,
	.name = "hash",
	.walk = hash_walk,
};
