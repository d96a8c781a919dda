/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The radix tree as the programs of ../ordered/program.h see it. */
#ifndef TEST_FAR_ART_KIND_H
#define TEST_FAR_ART_KIND_H

#include "../ordered/program.h"

static const struct ordered_kind art_kind = { .ops = &index_ops_art };

#endif
