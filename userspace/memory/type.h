/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program's own memory as a type of structure, for the table of types. */
#ifndef FAR_MEMORY_TYPE_H
#define FAR_MEMORY_TYPE_H

#include "../core/type.h"

extern const struct far_type far_memory_type;

#endif
