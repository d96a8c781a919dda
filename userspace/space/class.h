/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Size classes: how blocks of up to half a page lie in a page. Larger blocks are runs
 * of pages, or spans of chunks.
 *
 * Class c, from 1, has blocks of far_class_units(c) units of 64 bytes. Up to 1 KiB
 * each multiple of 64 is a class; above, those sizes that fill a page.
 */
#ifndef FAR_SPACE_CLASS_H
#define FAR_SPACE_CLASS_H

#include "layout.h"

#define FAR_NR_CLASSES	43u	/* numbers 1 to 42 */

/* 0 for a number that is no class. */
unsigned far_class_units(unsigned class);
/* The least class for size bytes; 0 when a run is needed. size 0 counts as 1. */
unsigned far_class_of(uint64_t size);

static inline uint32_t far_class_size(unsigned class)
{
	return far_class_units(class) * FAR_UNIT;
}

/* Blocks in a page of that class, 2 to 1,024. */
static inline unsigned far_class_blocks(unsigned class)
{
	return FAR_PAGE / far_class_size(class);
}

/* Pages of a run for size bytes. */
static inline uint64_t far_pages_of(uint64_t size)
{
	return (size + FAR_PAGE - 1) / FAR_PAGE;
}

#endif
