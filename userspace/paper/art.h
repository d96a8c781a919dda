/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree as others published it, for comparisons. For benchmarks; not installed. Without
 * repair of what the dead have locked.
 */
#ifndef FAR_PAPER_ART_H
#define FAR_PAPER_ART_H

#include <far/art.h>

enum art_variant {
	ART_OURS,
	/*
	 * The pure lock-free form of smart-art section 4.5: each update makes a new leaf,
	 * also one of 8 bytes, so that cached addresses of leaves become wrong.
	 */
	ART_LOCK_FREE,
	/*
	 * SMART: a leaf of 8 bytes is locked, and the WRITE that changes it releases the lock
	 * (E-HOCL: with Sherman's local queue and hand-over in front of it).
	 */
	ART_SMART,
	/* The same with locks in a table (HOCL). */
	ART_SMART_HOCL,
	/* ART with ROWEX: each change locks the node above, in that table, and makes a leaf. */
	ART_ROWEX,
	/* A fault for the checker to find: a change whose fate is unknown is made again. */
	ART_TWICE,
	/* Another one: a function does not wait for those that overwrite the value. */
	ART_HASTY,
};

/* Words of a table of locks, of which each memory node has one: 256 KiB, as on a NIC. */
#define ART_LOCKS		32768u

/* Makes the tables, one for each memory node: as values of another tree. */
int art_make_locks(struct far_task *task, const char *name, uint64_t *table);
/* For ART_SMART_HOCL and ART_ROWEX: all handles of a tree have the same. */
void art_set_locks(struct far_art *art, const uint64_t *table);

/* Before the first operation of this handle. */
void art_set_variant(struct far_art *art, enum art_variant variant);

#endif
