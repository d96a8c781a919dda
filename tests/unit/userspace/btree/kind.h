/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The B+ tree, for the test programs of structures that keep an order. */
#ifndef TEST_FAR_BTREE_KIND_H
#define TEST_FAR_BTREE_KIND_H

#include "../../../../userspace/paper/btree.h"
#include "../ordered/program.h"

static inline void btree_kind_variant(void *index, unsigned variant)
{
	btree_set_variant(index, variant);
}

/* Trees that it makes have leaves of 4 entries, so that they split and merge soon. */
static const struct ordered_kind btree_kind = {
	.ops = &index_ops_btree, .span = 4, .variant = btree_kind_variant, .fixed = 1,
};
/* The same with 10 entries: keys have neighbourhoods. */
static const struct ordered_kind btree_wide_kind = {
	.ops = &index_ops_btree, .span = 10, .variant = btree_kind_variant, .fixed = 1,
};

#endif
