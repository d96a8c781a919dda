/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Size classes: how blocks of up to half a page lie in a page. Larger blocks are runs
 * of pages, or spans of chunks. The table is that of the largest pages; smaller ones use
 * the beginning of it.
 *
 * Class c, from 1, has blocks of far_class_size(c) bytes. Up to 64 bytes each multiple
 * of 8 but the first is a class, up to 1 KiB each multiple of 64 is, with some between;
 * above, those sizes that fill a page. Blocks of a size that is a multiple of 64 begin at
 * one; others at least at a multiple of 8.
 */
#ifndef FAR_SPACE_CLASS_H
#define FAR_SPACE_CLASS_H

#include "geometry.h"

#define FAR_NR_CLASSES	54u	/* numbers 1 to 53 */

/* 0 for a number that is no class. */
uint32_t far_class_size(unsigned class);
/*
 * The least class for size bytes on a node; 0 when a run is needed. size 0 counts as 1.
 */
unsigned far_class_of(const struct far_sb *sb, uint64_t size);

/* Blocks in a page of that class: 2 to 4,096; 0 or 1 of one that no page has. */
static inline unsigned far_class_blocks(const struct far_sb *sb, unsigned class)
{
	return far_page_size(sb) / far_class_size(class);
}

/* Whether a page of that node can be a slab of that class. */
static inline int far_class_fits(const struct far_sb *sb, unsigned class)
{
	return far_class_size(class) && far_class_blocks(sb, class) > 1;
}

/* Pages of a run for size bytes. */
static inline uint64_t far_pages_of(const struct far_sb *sb, uint64_t size)
{
	return (size + far_page_size(sb) - 1) >> sb->page_shift;
}

#endif
