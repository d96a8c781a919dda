/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables as wholes: made, opened by name, closed, deleted. */
#include "copy.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/core.h"
#include "../core/task.h"
#include "../form/name.h"
#include "shape.h"
#include "type.h"

static const struct hash_variant_ops hash_ours;

#define HEAT_KEYS	262144u	/* bytes; many times as many as are hot */

void far_hash_close(struct far_hash *hash)
{
	unsigned shard;

	if (!hash)
		return;
	for (shard = 0; hash->dir && shard < hash->nr_shards; shard++)
		hash_dir_fini(&hash->dir[shard]);
	for (shard = 0; hash->keys && shard < hash->nr_shards; shard++)
		far_sum_put(hash->keys[shard]);
	free(hash->keys);
	free(hash->dir);
	hash_cache_free(hash->cache);
	free(hash->turn_at);
	far_turns_free(hash->turns);
	far_combine_free(hash->combine);
	free(hash);
}

/* True if each shard's turns lie on its node, and as they should. */
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
	hash->keys = calloc(root->nr_shards, sizeof(*hash->keys));
	if (!hash->dir || !hash->turn_at || !hash->keys)
		return -ENOMEM;
	for (i = 0; i < root->nr_shards; i++, hash->nr_shards++) {
		err = hash_dir_init(&hash->dir[i], root->shard[i].sub);
		if (err)
			return err;
		hash->turn_at[i] = root->shard[i].turns;
		err = far_sum_new(root->shard[i].sub + offsetof(struct hash_sub, keys),
				  &hash->keys[i]);
		if (err)
			return err;
	}
	err = form_combine_new(far, &hash->combine);
	if (err)
		return err;
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
	hash->variant = &hash_ours;
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
static int name_open(struct far_task *task, uint64_t root, void **ret_handle)
{
	struct far_hash *hash;
	int err = hash_open_root(task, root, &hash);

	if (err)
		return err;
	err = hash_far_err(dir_load(task, hash));
	if (err)
		far_hash_close(hash);
	else
		*ret_handle = hash;
	return err;
}

static void name_close(void *handle)
{
	far_hash_close(handle);
}

struct retire {
	struct form_destroy *form;
	struct far_hash *hash;
};

static int retire_key(void *arg, const struct hash_view *view,
		      const struct hash_seen *seen)
{
	struct retire *retire = arg;

	if (seen->damaged)
		return -EBADMSG;
	return form_destroy_block(retire->form, hash_block_addr(view->shard, seen->word),
				  hash_block_len(seen->block->key_len,
						 seen->block->val_len));
}

static int retire_view(void *arg, const struct hash_view *view)
{
	struct retire *retire = arg;
	uint64_t len = hash_sub_len(retire->hash->groups);
	uint64_t copy = hash_copy_noted(&view->head, view->head.copy);
	int err;

	err = hash_view_each(retire->form->task, retire->hash, view, 0, retire_key, retire);
	if (!err && copy)
		err = form_destroy_block(retire->form, copy, len);
	return err ? err : form_destroy_block(retire->form, view->sub, len);
}

static int name_retire(struct form_destroy *destroy, void *handle)
{
	struct far_hash *hash = handle;
	struct retire retire = { .form = destroy, .hash = hash };
	int err = hash_each_view(destroy->task, hash, retire_view, &retire);
	unsigned i;

	for (i = 0; i < hash->nr_shards && !err; i++)
		err = form_destroy_block(destroy, hash->turn_at[i], HASH_TURNS_LEN);
	return err ? err : form_destroy_block(destroy, hash->root,
					      hash_root_len(hash->nr_shards));
}

static const struct form_name_ops name_ops = {
	.type = &far_hash_type,
	.open = name_open, .close = name_close, .retire = name_retire,
};

static bool entry_fits(const struct far_dir_entry *entry, const struct far_hash *hash)
{
	return entry->param[HASH_PARAM_GROUPS] == hash->groups &&
	       entry->param[HASH_PARAM_SHARDS] == hash->nr_shards;
}

int far_hash_open(struct far_task *task, const char *name, struct far_hash **ret_hash)
{
	struct far_dir_entry entry;
	void *hash;
	int err;

	err = form_open(task, name, &name_ops, &entry, &hash);
	if (err)
		return err;
	err = entry_fits(&entry, hash) ? hash_add_cache(task, hash) : -EBADMSG;
	if (err)
		far_hash_close(hash);
	else
		*ret_hash = hash;
	return err;
}

int far_hash_destroy(struct far_task *task, const char *name)
{
	return form_destroy(task, name, &name_ops);
}
