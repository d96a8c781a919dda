/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocation of far memory.
 *
 * A process owns chunks, and threads have magazines of blocks of each size class, so
 * that most calls cost no verb. Now and then one claims a chunk or cuts a page, and
 * waits for that; what the caller has appended stays as it is (far_inner_begin()).
 *
 * Sizes are in bytes, at least 1, and are remembered by the caller: freeing wants the
 * same size. Blocks of a multiple of 64 bytes, and of more than 256, begin at a multiple of
 * 64, others at one of 8. Their contents are undefined.
 */
#ifndef FAR_CORE_ALLOC_H
#define FAR_CORE_ALLOC_H

#include <far/far.h>

#define FAR_ANY_NODE	(~0u)

/*
 * A block of size bytes on memory node `node`, or on any. Inside of an epoch; before
 * that epoch's far_epoch_exit() the block is reachable from a named root as its type's
 * tracer walks, or it is freed: what is not counts as lost, and is collected when a
 * client has died. -ENOSPC: the space is full; -EINVAL: size 0, or no such node; -ETIME:
 * the operation is late while another task gets memory, and it may stop;
 * errors as of far_sync().
 */
int far_block_alloc(struct far_task *task, unsigned node, uint64_t size, uint64_t *ret_addr);

/* Bytes that a block of size bytes occupies on a node. */
uint64_t far_alloc_room(struct far_task *task, unsigned node, uint64_t size);

/*
 * Gives back a block that nobody but the caller has seen. Others go to far_retire().
 * -EINVAL: no block of that size can be there.
 */
int far_block_free(struct far_task *task, uint64_t addr, uint64_t size);

/*
 * Says that nobody knows whether a block is reachable, since a verb failed. The owners
 * of chunks walk all structures then, and collect what is not.
 */
void far_alloc_lost(struct far_task *task);

#endif
