// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of the B+ tree: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include "../btree/image.h"
#include "../paper/btree.h"

static unsigned btree_without;

static void btree_prepare(void *index)
{
	btree_set_variant(index, btree_without);
}

static int btree_select(const char *name)
{
	static const struct {
		const char *name;
		unsigned without;
	} variants[] = {
		{ "sherman", BTREE_SHERMAN },
		{ "sherman-rdwc", BTREE_SHERMAN_RDWC },
		{ "smart-bt", BTREE_SMART_BT },
		{ "whole-leaf", BTREE_NO_SPOT | BTREE_NO_NEAR },
		{ "speculation", BTREE_NO_NEAR },
		{ "neighbourhood", BTREE_NO_SPOT },
	};
	unsigned i;

	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (!strcmp(name, variants[i].name)) {
			btree_without = variants[i].without;
			return 0;
		}
	return -EINVAL;
}

const struct index_kind index_btree = {
	.ops = &index_ops_btree,
	.variants = "sherman, sherman-rdwc, smart-bt, whole-leaf, speculation or "
		    "neighbourhood",
	.ordered = 1,
	.has_span = 1,
	.least_value = 8,
	.most_value = 256,
	.image = far_btree_image,
	.variant = btree_select,
	.prepare = btree_prepare,
};
