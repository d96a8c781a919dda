// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All types of structures that libfar has: each adds a line.
 */
#include "art/type.h"
#include "btree/type.h"
#include "core/type.h"
#include "hash/type.h"
#include "memory/type.h"

const struct far_type *const far_type_all[] = {
	&far_hash_type,
	&far_btree_type,
	&far_art_type,
	&far_memory_type,
	NULL,
};
