/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types of structures, as far as those must know them who collect memory of dead
 * clients and check spaces: how to walk them.
 */
#ifndef FAR_CORE_TYPE_H
#define FAR_CORE_TYPE_H

#include <far/far.h>

#include "../space/layout.h"

/* Takes a block of a walk, size as it was allocated; other than 0 ends the walk. */
struct far_walk {
	int (*block)(struct far_walk *walk, uint64_t addr, uint64_t size);
	/* One sentence about what is wrong; NULL when nobody asks. */
	void (*problem)(struct far_walk *walk, const char *text);
};

struct far_type {
	uint32_t type;		/* FAR_TYPE_* */
	uint32_t version;
	const char *name;
	/*
	 * Reports each block that is reachable from the entry's root, and from what
	 * clients that died have left behind for others to complete, while other
	 * clients go on: a block that is reachable during the whole walk is reported
	 * at least once, and exactly once when nobody changes anything. Outside of an
	 * epoch: the walk enters its own, one after the other, so that others can reclaim
	 * memory meanwhile (form/walk.h). Returns 0, also when the structure is destroyed
	 * before the walk ends; what block() returned; or an error.
	 */
	int (*walk)(struct far_task *task, const struct far_dir_entry *entry,
		    struct far_walk *walk);
};

/*
 * All types, ended by NULL: userspace/types.c. A test that brings types of its own
 * defines this table itself, and the linker leaves the library's out.
 */
extern const struct far_type *const far_type_all[];

/* NULL: not known here. */
const struct far_type *far_type_find(uint32_t type);

#endif
