// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations: how a task appends them.
 */
#include "op.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "thread.h"

#define LIST_MIN	8u

/* Empty lists, one per node: some that were used before, or new ones. */
static struct far_lists *lists_get(struct far_task *task)
{
	unsigned nr_nodes = task->thread->far->nr_nodes;
	struct far_lists *lists = task->lists;
	size_t len = sizeof(*lists) + nr_nodes * sizeof(lists->list[0]);

	if (lists) {
		task->lists = lists->next;
		return lists;
	}
	lists = calloc(1, len + nr_nodes);
	if (lists)
		lists->touched = (uint8_t *)lists + len;
	return lists;
}

static void lists_put(struct far_task *task, struct far_ops *ops)
{
	if (!ops->lists)
		return;
	ops->lists->next = task->lists;
	task->lists = ops->lists;
	ops->lists = NULL;
}

/* Room for one more; the data of inline WRITEs moves along. */
static int list_grow(struct far_list *list)
{
	unsigned room = list->room ? list->room * 2 : LIST_MIN;
	uint8_t (*data)[FAR_NIC_MAX_INLINE];
	struct far_wr *wr;

	wr = realloc(list->wr, room * sizeof(*wr));
	if (!wr)
		return -ENOMEM;
	list->wr = wr;
	data = realloc(list->data, room * sizeof(*data));
	if (!data)
		return -ENOMEM;
	list->data = data;
	list->room = room;
	return 0;
}

static bool region_has(const struct far_region *region, uint64_t off, uint32_t len)
{
	uint64_t in = off - region->start;

	return in < region->size && len <= region->size - in;
}

/* True if [off, off + len) lies in one region of the node. */
static bool peer_has(const struct far_peer *peer, uint64_t off, uint32_t len)
{
	unsigned i;

	for (i = 0; i < peer->nr_regions; i++)
		if (region_has(&peer->region[i], off, len))
			return true;
	return false;
}

/* Returns the peer that the thread reaches: of a client that joins, or of the present one. */
static inline const struct far_peer *peer_of(const struct far_thread *thread, unsigned node)
{
	struct far_peer *const *peer = thread->joins ? thread->peer : thread->far->peer;

	return peer[node];
}

/* Why an operation cannot be; 0: it can. */
static __attribute__((cold, noinline)) int op_refuse(struct far_task *task, uint64_t addr,
						     enum far_nic_op op, uint32_t len)
{
	struct far *far = task->thread->far;
	unsigned node = far_addr_node(addr);
	const struct far_peer *peer = node < far->nr_nodes ? peer_of(task->thread, node) : NULL;

	if (len > FAR_NIC_MAX_LEN)
		return far_task_fail(task, -EINVAL, "%u bytes at once: at most %u", len,
				     FAR_NIC_MAX_LEN);
	if ((op == FAR_NIC_CAS || op == FAR_NIC_FAA) && addr & 7)
		return far_task_fail(task, -EINVAL, "atomic at 0x%llx: not aligned to 8",
				     (unsigned long long)addr);
	if (node >= far->nr_nodes)
		return far_task_fail(task, -EFAULT, "address 0x%llx: there are %u nodes",
				     (unsigned long long)addr, far->nr_nodes);
	if (!peer)
		return far_task_fail(task, -EHOSTDOWN, "node %u had been declared lost when "
				     "this client was opened: far_reopen() when it is back",
				     node);
	if (!peer_has(peer, far_addr_off(addr), len))
		return far_task_fail(task, -EFAULT,
				     "address 0x%llx, %u bytes: not within the space",
				     (unsigned long long)addr, len);
	return 0;
}

/* True if op_refuse() has no reason, as one sees in the node's first region. */
static inline bool op_is_plain(const struct far_thread *thread, uint64_t addr,
			       enum far_nic_op op, uint32_t len)
{
	unsigned node = far_addr_node(addr);
	const struct far_peer *peer = node < thread->far->nr_nodes ? peer_of(thread, node) :
				      NULL;

	return len <= FAR_NIC_MAX_LEN &&
	       !((op == FAR_NIC_CAS || op == FAR_NIC_FAA) && addr & 7) && peer &&
	       region_has(&peer->region[0], far_addr_off(addr), len);
}

/* Makes room for one more in the node's list. NULL without memory. */
static __attribute__((cold, noinline)) struct far_list *op_list_grow(struct far_task *task,
								     unsigned node)
{
	struct far_ops *ops = task->ops;
	struct far_list *list;

	if (!ops->lists)
		ops->lists = lists_get(task);
	list = ops->lists ? &ops->lists->list[node] : NULL;
	if (list && (list->nr < list->room || !list_grow(list)))
		return list;
	far_task_fail(task, -ENOMEM, "no memory for an operation");
	return NULL;
}

/* The list of the node, with room for one more; NULL without memory. */
static inline struct far_list *op_list(struct far_task *task, unsigned node)
{
	struct far_ops *ops = task->ops;
	struct far_list *list;

	if (ops->lists && ops->lists->list[node].nr < ops->lists->list[node].room)
		list = &ops->lists->list[node];
	else
		list = op_list_grow(task, node);
	if (list && list->nr == 0)
		ops->lists->touched[ops->nr_touched++] = node;
	return list;
}

/*
 * Appends an operation whose local memory is registered, or whose data is copied
 * (flags: FAR_WR_INLINE). NULL after an error, which far_post() reports; it drops what
 * is appended besides. Inlined, since op is a constant of each caller.
 */
static inline __attribute__((always_inline)) struct far_wr *
op_append(struct far_task *task, uint64_t addr, enum far_nic_op op, void *local,
	  uint32_t len, unsigned flags)
{
	struct far_thread *thread = task->thread;
	struct far_list *list;
	struct far_wr *wr;
	uint32_t lkey = 0;

	if (thread->self != far_self())
		return NULL;
	if (!op_is_plain(thread, addr, op, len) && op_refuse(task, addr, op, len))
		return NULL;
	if (!(flags & FAR_WR_INLINE) &&
	    far_bufs_lkey(&thread->bufs, &task->arena, local, len, &lkey)) {
		far_task_fail(task, -EFAULT, "local memory that is not of far_buf()");
		return NULL;
	}
	list = op_list(task, far_addr_node(addr));
	if (!list)
		return NULL;
	if (flags & FAR_WR_INLINE)
		memcpy(list->data[list->nr], local, len);
	wr = &list->wr[list->nr++];
	wr->id = task->service ? FAR_ID_SERVICE : 0;
	wr->remote = far_addr_off(addr);
	wr->local = local;
	wr->len = len;
	wr->lkey = lkey;
	wr->arg[0] = 0;
	wr->arg[1] = 0;
	wr->op = op;
	wr->flags = flags;
	return wr;
}

void far_read(struct far_task *task, uint64_t addr, void *local, uint32_t len)
{
	op_append(task, addr, FAR_NIC_READ, local, len, 0);
}

void far_write(struct far_task *task, uint64_t addr, const void *src, uint32_t len)
{
	op_append(task, addr, FAR_NIC_WRITE, (void *)(uintptr_t)src, len,
		  len <= FAR_NIC_MAX_INLINE ? FAR_WR_INLINE : 0);
}

void far_cas(struct far_task *task, uint64_t addr, uint64_t compare, uint64_t swap,
	     uint64_t *local)
{
	struct far_wr *wr = op_append(task, addr, FAR_NIC_CAS,
				      local ? local : task->thread->nowhere, 8, 0);

	if (!wr)
		return;
	wr->arg[0] = compare;
	wr->arg[1] = swap;
}

void far_faa(struct far_task *task, uint64_t addr, uint64_t add, uint64_t *local)
{
	struct far_wr *wr = op_append(task, addr, FAR_NIC_FAA,
				      local ? local : task->thread->nowhere, 8, 0);

	if (wr)
		wr->arg[0] = add;
}

void far_service_begin(struct far_task *task)
{
	task->service++;
}

void far_service_end(struct far_task *task)
{
	task->service--;
}

void far_op_drop(struct far_task *task)
{
	struct far_ops *ops = task->ops;
	unsigned i;

	for (i = 0; i < ops->nr_touched; i++)
		ops->lists->list[ops->lists->touched[i]].nr = 0;
	ops->nr_touched = 0;
}

struct far_ops *far_op_at(struct far_task *task, unsigned depth)
{
	struct far_ops *ops = task->ops;

	while (ops->below && ops->depth != depth)
		ops = ops->below;
	return ops;
}

void far_inner_begin(struct far_task *task, struct far_ops *inner)
{
	struct far_ops *outer = task->ops;

	*inner = (struct far_ops) { .below = outer, .depth = outer->depth };
	if (!outer->nr_touched && !outer->outstanding && !outer->error)
		return;
	inner->depth++;
	task->ops = inner;
}

/* Appends to the top of the stack what is left in lists that were above it. */
static void inner_append(struct far_task *task, const struct far_ops *inner)
{
	unsigned i, k;

	for (i = 0; i < inner->nr_touched; i++) {
		unsigned node = inner->lists->touched[i];
		struct far_list *from = &inner->lists->list[node], *to;

		for (k = 0; k < from->nr && (to = op_list(task, node)); k++) {
			memcpy(to->data[to->nr], from->data[k], sizeof(to->data[0]));
			to->wr[to->nr++] = from->wr[k];
		}
		from->nr = 0;
	}
}

void far_inner_end(struct far_task *task, struct far_ops *inner)
{
	if (task->ops != inner)
		return;
	far_op_wait(task);
	task->ops = inner->below;
	inner_append(task, inner);
	if (!task->ops->error)
		task->ops->error = inner->error;
	lists_put(task, inner);
}

void far_op_fini(struct far_task *task)
{
	struct far_lists *lists;
	unsigned i;

	lists_put(task, &task->first);
	while ((lists = task->lists)) {
		task->lists = lists->next;
		for (i = 0; i < task->thread->far->nr_nodes; i++) {
			free(lists->list[i].wr);
			free(lists->list[i].data);
		}
		free(lists);
	}
}
