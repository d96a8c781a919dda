/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hash table, for those test programs of ../ordered that ask for no order. Its tables
 * begin as small as can be.
 */
#ifndef TEST_FAR_HASH_KIND_H
#define TEST_FAR_HASH_KIND_H

#include "../ordered/program.h"

static const struct ordered_kind hash_kind = { .ops = &index_ops_hash };

#endif
