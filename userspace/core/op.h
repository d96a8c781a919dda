/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations: lists of a task, per node, from far_read() (op.c) to the completion
 * (post.c).
 *
 * far_wr.id, which comes back in the completion:
 *
 *	63       40 39   34   33      32    31      16 15      0
 *	generation | depth | service | last |  length  |  task  |
 *
 * length is that of the list that was posted. Only its last operation is signaled;
 * since a connection's completions come in order, that one ends the list, whether it
 * succeeds, fails or is cancelled. A completion of another one can only be a failure.
 *
 * A task has a stack of far_ops. All but the top belong to callers further out, who have
 * appended or posted something and not called far_sync() yet. Depth is the place in the
 * stack, so that each gets back its own completions and errors, whatever its callees do.
 */
#ifndef FAR_CORE_OP_H
#define FAR_CORE_OP_H

#include <stdint.h>

#include "../nic/nic.h"

struct far_thread;
struct far_task;

#define FAR_ID_LEN_SHIFT	16
#define FAR_ID_LAST		(UINT64_C(1) << 32)
#define FAR_ID_SERVICE		(UINT64_C(1) << 33)
#define FAR_ID_DEPTH_SHIFT	34
#define FAR_ID_DEPTH_MASK	0x3fu
#define FAR_ID_GENERATION_SHIFT	40

/* What a task has appended for one node. */
struct far_list {
	struct far_wr *wr;		/* room for `room` */
	uint8_t (*data)[FAR_NIC_MAX_INLINE];	/* of inline WRITEs, by index of wr */
	unsigned nr, room;
};

/* The lists of one far_ops, a row of them: one per node. */
struct far_lists {
	struct far_lists *next;		/* in far_task.lists */
	uint8_t *touched;		/* nodes in order of first use since far_post() */
	struct far_list list[];
};

/* What is appended, and posted, and not waited for. */
struct far_ops {
	struct far_ops *below;		/* NULL: the task's first */
	struct far_lists *lists;	/* NULL until something is appended */
	unsigned depth;
	unsigned nr_touched;
	unsigned outstanding;
	int syncing;			/* the task sleeps until outstanding is 0 */
	int error;			/* the first since far_sync() returned */
};

/* Polls the thread's queue set, and lets those go on who waited for it. */
void far_op_poll(struct far_thread *thread);

/*
 * Connects the thread to a node, for the first time or anew. Errors of connect(). When a
 * node did not answer, no thread of the client asks it again for a second: meanwhile
 * -EHOSTDOWN, at once.
 */
int far_op_connect(struct far_thread *thread, unsigned node);

/* Waits until what the top of the stack has posted is done. */
void far_op_wait(struct far_task *task);
/* The far_ops of that depth; the top if there is none. */
struct far_ops *far_op_at(struct far_task *task, unsigned depth);
/* Forgets what was appended. */
void far_op_drop(struct far_task *task);
/* Frees the lists. */
void far_op_fini(struct far_task *task);

#endif
