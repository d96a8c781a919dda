/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of a program's own in far memory, for far_read(), far_write(), far_cas() and
 * far_faa() (<far/far.h>): blocks that a name of the space's directory owns.
 *
 * A block stays until far_free(), or until the name is destroyed: also when the process ends
 * or dies that has allocated it. Who opens the name finds its way from the FAR_MEMORY_WORDS
 * words at far_memory_words(), which are 0 when the name is made, or by far_memory_each().
 * What is in words and blocks is the program's affair.
 *
 * Blocks that others free are used again after a grace period: not before all tasks have
 * left what far_hold() has begun. Inside of it a task reads an address from far memory, and
 * then what lies there. An address that is kept longer is no more than a hint.
 *
 * Errors besides those of far_sync():
 *	-ENOENT	    no such name (open, destroy), or block (free)
 *	-EEXIST	    the name is there (create)
 *	-ENOSPC	    the space is full (create, alloc); nothing was changed
 *	-ETIME	    it was late (far_deadline_set()); nothing was changed
 *	-EINVAL	    a size of 0, no such memory node, a name that is empty or too long
 *	-EMEDIUMTYPE, -EPROTONOSUPPORT  open: another type of structure, or version
 *	-EIO	    the fate of a change is unknown: it happened once or not at all
 *	-EBADMSG    what belongs to the name is damaged ("far space check" says where)
 */
#ifndef FAR_MEMORY_H
#define FAR_MEMORY_H

#include <far/far.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_MEMORY_WORDS	8u
#define FAR_MEMORY_ANY		(~0u)	/* any memory node */

struct far_memory;

/* Makes a name of the space's directory that owns no block yet, and opens it. */
int far_memory_create(struct far_task *task, const char *name, struct far_memory **ret_memory);
/* Opens one; the handle is for all threads of this client. */
int far_memory_open(struct far_task *task, const char *name, struct far_memory **ret_memory);
/* No task uses the handle any more. Blocks stay. */
void far_memory_close(struct far_memory *memory);
/*
 * Deletes the name and all its blocks. No client has it open. Of more than 4,096 blocks the
 * rest comes back later: whoever finds the space full waits, for five seconds at most.
 */
int far_memory_destroy(struct far_task *task, const char *name);

/* The far address of the words, which are aligned to 64 bytes. */
uint64_t far_memory_words(const struct far_memory *memory);

/*
 * A block of size bytes, all 0, on a memory node or on FAR_MEMORY_ANY, aligned to 8 bytes.
 * After -EIO there may be one that nobody has got: far_memory_each() shows it.
 */
int far_alloc(struct far_task *task, struct far_memory *memory, unsigned node, uint64_t size,
	      uint64_t *ret_addr);
/*
 * Frees a block of the memory; tasks that hold what they find may use it still. Nobody who
 * begins later can get to its address. -ENOENT: no block of it begins there, or somebody was
 * faster: of several one gets 0.
 */
int far_free(struct far_task *task, struct far_memory *memory, uint64_t addr);

/*
 * Calls each(...) for the blocks, with the size that was asked for. One that is there from
 * begin to end is given exactly once; others at most once. each() returns 0 to go on;
 * anything else ends it and is returned.
 */
int far_memory_each(struct far_task *task, struct far_memory *memory,
		    int (*each)(void *arg, uint64_t addr, uint64_t size), void *arg);

/*
 * What the task reaches from here to far_unhold() by reading addresses stays what it is.
 * They nest. Meanwhile no memory of the space is reclaimed, so it is short: a task in it
 * cannot call far_park(), far_fd_wait() and far_reopen(), -EBUSY. -ETIME, -ESTALE, -EPERM:
 * nothing is held. A task that returns or leaves holds nothing any more.
 *
 * far_unhold(): all that the task has appended is acknowledged, by far_sync(). -EINVAL: the
 * task holds nothing.
 */
int far_hold(struct far_task *task);
int far_unhold(struct far_task *task);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
