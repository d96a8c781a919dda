/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The B+ tree, for the test programs of structures that keep an order. */
#ifndef TEST_FAR_BTREE_KIND_H
#define TEST_FAR_BTREE_KIND_H

#include "../ordered/program.h"

#include <far/btree.h>

/* Trees that it makes have leaves of 4 entries, so that they split and merge soon. */
extern const struct ordered_kind btree_kind;
/* The same with 10 entries: keys have neighbourhoods. */
extern const struct ordered_kind btree_wide_kind;

#endif
