/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The radix tree as a type of structure, for the table of types. */
#ifndef FAR_ART_TYPE_H
#define FAR_ART_TYPE_H

#include "../core/type.h"

extern const struct far_type far_art_type;

#endif
