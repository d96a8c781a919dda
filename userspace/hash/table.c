/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables as wholes: made, opened by name, closed, deleted. */
#include "copy.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/dir.h"
#include "../core/epoch.h"
#include "../core/task.h"
#include "../form/walk.h"
#include "shape.h"

#define COMBINE_KEYS	65536u	/* words of 8 bytes; many times as many as are under way */
#define HEAT_KEYS	262144u	/* bytes; many times as many as are hot */

void far_hash_close(struct far_hash *hash)
{
	unsigned shard;

	if (!hash)
		return;
	for (shard = 0; hash->dir && shard < hash->nr_shards; shard++)
		hash_dir_fini(&hash->dir[shard]);
	free(hash->dir);
	hash_cache_free(hash->cache);
	free(hash->turn_at);
	far_turns_free(hash->turns);
	far_combine_free(hash->combine);
	free(hash);
}

void hash_set_variant(struct far_hash *hash, enum hash_variant variant)
{
	hash->variant = variant;
	if (variant == HASH_RACE) {
		hash_cache_free(hash->cache);
		hash->cache = NULL;
		far_turns_free(hash->turns);
		hash->turns = NULL;
		far_combine_free(hash->combine);
		hash->combine = NULL;
	}
}

/* Whether each shard's turns lie on its node, and as they should. */
static int root_turns_sane(const struct hash_root *root)
{
	unsigned i;

	for (i = 0; i < root->nr_shards; i++)
		if (far_addr_node(root->shard[i].turns) != i ||
		    root->shard[i].turns % HASH_UNIT)
			return 0;
	return 1;
}

/* READs the root, in two trips since its length is in it. */
static int root_read(struct far_task *task, uint64_t addr, struct hash_root **ret_root)
{
	struct hash_root *root = far_buf(task, hash_root_len(FAR_MAX_NODES));
	int err;

	if (!root)
		return -ENOMEM;
	far_read(task, addr, root, sizeof(*root));
	err = far_sync(task);
	if (err)
		return err;
	if (root->magic != HASH_MAGIC || !root->nr_shards ||
	    root->nr_shards > FAR_MAX_NODES)
		return -EBADMSG;
	if (root->version != HASH_VERSION)
		return -EPROTONOSUPPORT;
	far_read(task, addr + sizeof(*root), root->shard,
		 root->nr_shards * sizeof(root->shard[0]));
	err = far_sync(task);
	if (err)
		return err;
	if (root->sum != hash_root_sum(root, addr) || !hash_shape_sane(root->groups) ||
	    root->first_depth > HASH_MAX_DEPTH || !root_turns_sane(root))
		return -EBADMSG;
	*ret_root = root;
	return 0;
}

static int hash_init(struct far_hash *hash, uint64_t addr,
		     const struct hash_root *root)
{
	struct far *far = hash->far;
	unsigned i;
	int err;

	hash->root = addr;
	hash->groups = root->groups;
	hash->first_depth = root->first_depth;
	hash->dir = calloc(root->nr_shards, sizeof(*hash->dir));
	hash->turn_at = calloc(root->nr_shards, sizeof(*hash->turn_at));
	if (!hash->dir || !hash->turn_at)
		return -ENOMEM;
	for (i = 0; i < root->nr_shards; i++, hash->nr_shards++) {
		err = hash_dir_init(&hash->dir[i], root->shard[i].sub);
		if (err)
			return err;
		hash->turn_at[i] = root->shard[i].turns;
	}
	if (!(far->without & FAR_WITHOUT_COMBINE)) {
		err = far_combine_new(COMBINE_KEYS, &hash->combine);
		if (err)
			return err;
	}
	/* one node takes one turn for all of its operations: without that they are many */
	if (!hash->combine || far->without & FAR_WITHOUT_HANDOVER)
		return 0;
	return far_turns_new(HEAT_KEYS, &hash->turns);
}

/* For handles of programs; those of a walk or a destroy look at each key once. */
static int hash_add_cache(struct far_task *task, struct far_hash *hash)
{
	if (hash->far->without & FAR_WITHOUT_CACHE)
		return 0;
	return hash_cache_new(hash->far->cache_bytes, far_rng_next(far_task_rng(task)),
			      &hash->cache);
}

/* Learns of the subtable that has the keys with these bits, and tells its depth. */
static int dir_load_one(struct far_task *task, struct far_hash *hash, unsigned shard,
			uint32_t bits, struct hash_sub *head, unsigned *ret_depth)
{
	struct hash_dir *dir = &hash->dir[shard];
	uint64_t sub = FAR_NIL;
	uint64_t next;
	int err;

	while ((next = hash_dir_find(dir, bits, ret_depth)) != sub) {
		sub = next;
		far_read(task, sub, head, sizeof(*head));
		err = far_sync(task);
		if (err)
			return err;
		if (head->magic != HASH_SUB_MAGIC || head->shard != shard)
			return -EBADMSG;
		hash_learn(hash, sub, head);
	}
	return 0;
}

/* Learns of all subtables there are. */
static int dir_load(struct far_task *task, struct far_hash *hash)
{
	size_t mark = far_buf_mark(task);
	struct hash_sub *head = far_buf(task, sizeof(*head));
	unsigned shard, depth;
	uint64_t x;
	int err = head ? 0 : -ENOMEM;

	for (shard = 0; shard < hash->nr_shards && !err; shard++)
		for (x = 0; x < HASH_WALK_END && !err; x += hash_walk_step(depth))
			err = dir_load_one(task, hash, shard, hash_walk_bits(x), head,
					   &depth);
	far_buf_release(task, mark);
	return err;
}

int hash_open_root(struct far_task *task, uint64_t addr, struct far_hash **ret_hash)
{
	size_t mark = far_buf_mark(task);
	struct far_hash *hash = calloc(1, sizeof(*hash));
	struct hash_root *root;
	int err;

	if (!hash)
		return -ENOMEM;
	hash->far = far_task_far(task);
	err = root_read(task, addr, &root);
	if (!err)
		err = hash_init(hash, addr, root);
	far_buf_release(task, mark);
	if (err) {
		far_hash_close(hash);
		return hash_far_err(err);
	}
	*ret_hash = hash;
	return 0;
}

/* With all subtables that there are. */
static int open_loaded(struct far_task *task, uint64_t root, struct far_hash **ret_hash)
{
	struct far_hash *hash;
	int err = hash_open_root(task, root, &hash);

	if (err)
		return err;
	err = hash_far_err(dir_load(task, hash));
	if (err)
		far_hash_close(hash);
	else
		*ret_hash = hash;
	return err;
}

/*
 * Finds the entry and opens what it says. A root that is not one while the entry is there
 * is damage; after that the table was destroyed meanwhile.
 */
static int open_by_name(struct far_task *task, const char *name,
			struct far_dir_entry *entry, struct far_hash **ret_hash)
{
	int err;

	do {
		err = far_dir_open(task, name, FAR_TYPE_HASH, HASH_VERSION, entry);
		if (err)
			return err;
		err = open_loaded(task, entry->root, ret_hash);
	} while (err == -EBADMSG && form_entry_is_gone(task, entry));
	return err;
}

int far_hash_open(struct far_task *task, const char *name, struct far_hash **ret_hash)
{
	struct far_dir_entry entry;
	struct far_hash *hash;
	int err;

	err = open_by_name(task, name, &entry, &hash);
	if (err)
		return err;
	err = -EBADMSG;
	if (entry.param[HASH_PARAM_GROUPS] == hash->groups &&
	    entry.param[HASH_PARAM_SHARDS] == hash->nr_shards)
		err = hash_add_cache(task, hash);
	if (err) {
		far_hash_close(hash);
		return err;
	}
	*ret_hash = hash;
	return 0;
}

/* Gives back a table that no name leads to any more. */
struct destroy {
	struct form_destroy form;
	struct far_hash *hash;
};

static int destroy_key(void *arg, const struct hash_view *view,
		       const struct hash_seen *seen)
{
	struct destroy *destroy = arg;

	if (seen->damaged)
		return -EBADMSG;
	return form_destroy_block(&destroy->form, hash_block_addr(view->shard, seen->word),
				  hash_block_len(seen->block->key_len,
						 seen->block->val_len));
}

static int destroy_view(void *arg, const struct hash_view *view)
{
	struct destroy *destroy = arg;
	uint64_t len = hash_sub_len(destroy->hash->groups);
	uint64_t copy = hash_copy_noted(&view->head, view->head.copy);
	int err;

	err = hash_view_each(destroy->form.task, destroy->hash, view, 0, destroy_key, destroy);
	if (!err && copy)
		err = form_destroy_block(&destroy->form, copy, len);
	return err ? err : form_destroy_block(&destroy->form, view->sub, len);
}

/* Within the epoch of the caller. */
static int destroy_all(struct destroy *destroy)
{
	struct far_hash *hash = destroy->hash;
	int err = hash_each_view(destroy->form.task, hash, destroy_view, destroy);
	unsigned i;

	for (i = 0; i < hash->nr_shards && !err; i++)
		err = form_destroy_block(&destroy->form, hash->turn_at[i], HASH_TURNS_LEN);
	return err ? err : form_destroy_block(&destroy->form, hash->root,
					      hash_root_len(hash->nr_shards));
}

/* -EAGAIN: the name has become another table's. */
static int destroy_once(struct far_task *task, const char *name)
{
	struct destroy destroy = { .form.task = task };
	struct far_dir_entry entry;
	int err;

	err = open_by_name(task, name, &entry, &destroy.hash);
	if (err)
		return err;
	err = far_epoch_enter(task);
	if (err)
		goto close;
	err = far_dir_remove(task, &entry);
	if (!err && destroy_all(&destroy))
		far_alloc_lost(task);	/* a sweep finds the rest */
	far_epoch_exit(task);
close:
	far_hash_close(destroy.hash);
	return err;
}

int far_hash_destroy(struct far_task *task, const char *name)
{
	int err;

	do
		err = destroy_once(task, name);
	while (err == -EAGAIN);
	return err;
}
