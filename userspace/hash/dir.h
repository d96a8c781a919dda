/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's directory of one shard: which subtable a key belongs to. It is a hint;
 * headers of buckets say what is true, and siblings where a key went.
 *
 * Any number of threads look up and add. It only grows: an array that was doubled is
 * kept until the end, for those that still look into it.
 */
#ifndef FAR_HASH_DIR_H
#define FAR_HASH_DIR_H

#include <stdatomic.h>

#include "layout.h"

/* What is deeper is found through siblings each time: keys can be made to collide. */
#define HASH_DIR_DEPTH		24u

struct hash_dir {
	atomic_uint depth;		/* the array in use has 1 << depth entries */
	_Atomic(_Atomic(uint64_t) *) level[HASH_DIR_DEPTH + 1];
};

/* The shard's first subtable, at depth 0, is all that it knows. */
int hash_dir_init(struct hash_dir *dir, uint64_t sub);
void hash_dir_fini(struct hash_dir *dir);

/* The subtable for a key, and the depth that it has at least. */
uint64_t hash_dir_find(struct hash_dir *dir, uint32_t bits, unsigned *ret_depth);
/*
 * A subtable of that suffix has at least this depth. -ENOMEM: it is forgotten, and
 * found again when it is needed.
 */
int hash_dir_add(struct hash_dir *dir, uint64_t sub, uint32_t suffix, unsigned depth);

#endif
