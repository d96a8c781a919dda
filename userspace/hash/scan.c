/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scan, and what is counted by walking: stat. */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../core/deadline.h"
#include "../core/task.h"

struct scan {
	struct far_task *task;
	struct far_hash *hash;
	int (*each)(void *arg, const void *key, size_t key_len,
		    const void *value, size_t value_len);
	void *arg;
	uint64_t seed;
	uint64_t *given;	/* per slot of the view: hash of the key that was given */
};

/*
 * Whether this view has given the key before: one that was deleted and inserted while
 * the view was read may be in it twice.
 */
static int scan_given(struct scan *scan, const struct hash_seen *seen)
{
	const struct hash_block *block = seen->block;
	uint64_t hash = XXH3_64bits_withSeed(block->data, block->key_len, scan->seed) | 1;
	struct hash_key key;
	unsigned i, s, first;

	hash_key_init(&key, block->data, block->key_len, scan->hash->groups,
		      scan->hash->nr_shards);
	for (i = 0; i < 2; i++) {
		first = key.main[i] / 2 * HASH_GROUP_SLOTS + key.main[i] % 2 * HASH_SLOTS;
		for (s = first; s < first + 2 * HASH_SLOTS; s++)
			if (scan->given[s] == hash)
				return 1;
	}
	scan->given[seen->slot] = hash;
	return 0;
}

static int scan_key(void *arg, const struct hash_view *view, const struct hash_seen *seen)
{
	const struct hash_block *block = seen->block;
	struct scan *scan = arg;
	int ret;

	(void)view;
	if (seen->damaged || block->sum != hash_block_sum(block, scan->hash->root))
		return -EBADMSG;
	if (scan_given(scan, seen))
		return 0;
	ret = scan->each(scan->arg, block->data, block->key_len,
			 block->data + block->key_len, block->val_len);
	far_op_renew(scan->task);
	return ret;
}

static int scan_view(void *arg, const struct hash_view *view)
{
	struct scan *scan = arg;

	far_op_renew(scan->task);
	memset(scan->given, 0, hash_view_slots(scan->hash) * sizeof(*scan->given));
	return hash_view_each(scan->task, scan->hash, view, 1, scan_key, scan);
}

int far_hash_scan(struct far_task *task, struct far_hash *hash,
		  int (*each)(void *arg, const void *key, size_t key_len,
			      const void *value, size_t value_len),
		  void *arg)
{
	struct scan scan = {
		.task = task, .hash = hash, .each = each, .arg = arg,
		.seed = far_rng_next(far_task_rng(task)),
	};
	int ret;

	scan.given = malloc(hash_view_slots(hash) * sizeof(*scan.given));
	if (!scan.given)
		return -ENOMEM;
	ret = far_op_begin(task);
	if (!ret) {
		ret = hash_each_view(task, hash, scan_view, &scan);
		far_op_end(task);
	}
	free(scan.given);
	return ret;
}

struct stat {
	struct far_task *task;
	struct far_hash *hash;
	struct far_hash_stats stats;
};

static int stat_key(void *arg, const struct hash_view *view, const struct hash_seen *seen)
{
	struct far_hash_stats *stats = arg;

	(void)view;
	if (seen->damaged)
		return -EBADMSG;
	stats->keys++;
	stats->key_bytes += seen->block->key_len;
	stats->value_bytes += seen->block->val_len;
	stats->block_bytes += hash_block_len(seen->block->key_len, seen->block->val_len);
	return 0;
}

static int stat_view(void *arg, const struct hash_view *view)
{
	struct stat *stat = arg;
	struct far_hash_stats *stats = &stat->stats;

	far_op_renew(stat->task);
	stats->subtables++;
	stats->slots += hash_view_slots(stat->hash);
	stats->table_bytes += hash_sub_len(stat->hash->groups);
	if (view->depth > stats->global_depth)
		stats->global_depth = view->depth;
	return hash_view_each(stat->task, stat->hash, view, 0, stat_key, stats);
}

int far_hash_stat(struct far_task *task, struct far_hash *hash,
		  struct far_hash_stats *ret_stats)
{
	struct stat stat = { .task = task, .hash = hash };
	uint64_t first = (uint64_t)hash->nr_shards << hash->first_depth;
	int err;

	err = far_op_begin(task);
	if (err)
		return err;
	err = hash_each_view(task, hash, stat_view, &stat);
	far_op_end(task);
	if (err)
		return err;
	stat.stats.table_bytes += hash_root_len(hash->nr_shards) +
				  (uint64_t)hash->nr_shards * HASH_TURNS_LEN;
	stat.stats.splits = stat.stats.subtables - first;
	*ret_stats = stat.stats;
	return 0;
}
