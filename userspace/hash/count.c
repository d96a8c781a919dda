/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many keys there are, without a walk: each change of their number adds to a sum of its
 * shard (core/sum.h), whose word is in the shard's first subtable.
 */
#include "hash_priv.h"

#include <errno.h>

/* Words that are READ of each shard. */
struct words {
	uint64_t keys, counted;
};

static_assert(offsetof(struct hash_sub, counted) == offsetof(struct hash_sub, keys) + 8,
	      "one READ");

static int count_read(struct far_task *task, const struct far_hash *hash, struct words *words)
{
	for (unsigned i = 0; i < hash->nr_shards; i++)
		far_read(task, far_sum_addr(hash->keys[i]), &words[i], sizeof(*words));
	return far_sync(task);
}

static int count_add(const struct far_hash *hash, const struct words *words, uint64_t *ret_keys)
{
	int64_t keys = 0;

	for (unsigned i = 0; i < hash->nr_shards; i++) {
		if (words[i].counted != HASH_COUNTED)
			return -EPROTONOSUPPORT;
		keys += words[i].keys + far_sum_pending(hash->keys[i]);
	}
	/* a delete may have been added before the insert of another client */
	*ret_keys = keys < 0 ? 0 : keys;
	return 0;
}

int far_hash_count(struct far_task *task, struct far_hash *hash, uint64_t *ret_keys)
{
	size_t mark = far_buf_mark(task);
	struct words *words;
	int err = far_op_begin(task);

	if (err)
		return err;
	words = far_buf(task, hash->nr_shards * sizeof(*words));
	err = words ? count_read(task, hash, words) : -ENOMEM;
	if (!err)
		err = count_add(hash, words, ret_keys);
	far_buf_release(task, mark);
	far_op_end(task);
	return hash_far_err(err);
}
