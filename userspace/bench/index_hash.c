// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The hash table's functions for "far bench index": see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include "../hash/image.h"
#include "../paper/hash.h"

static enum hash_variant hash_variant;

static void hash_prepare(void *index)
{
	hash_set_variant(index, hash_variant);
}

static int hash_select(const char *name)
{
	if (strcmp(name, "race"))
		return -EINVAL;
	hash_variant = HASH_RACE;
	return 0;
}

const struct index_kind index_hash = {
	.ops = &index_ops_hash,
	.variants = "race",
	.image = far_hash_image,
	.variant = hash_select,
	.prepare = hash_prepare,
};
