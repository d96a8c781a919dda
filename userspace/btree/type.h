/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The B+ tree as a type of structure, for the table of types. */
#ifndef FAR_BTREE_TYPE_H
#define FAR_BTREE_TYPE_H

#include "../core/type.h"

extern const struct far_type far_btree_type;

#endif
