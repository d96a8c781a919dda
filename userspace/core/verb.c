// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Single verbs that are waited for, and gates between tasks: what the slow paths of
 * clients, chunks and directory are made of.
 */
#include <string.h>

#include "client_priv.h"
#include "deadline.h"
#include "task.h"

#define PIECE	4096u

void far_verbs_begin(struct far_task *task, struct far_ops *inner)
{
	far_inner_begin(task, inner);
	far_service_begin(task);
}

int far_verbs_end(struct far_task *task, struct far_ops *inner)
{
	int err;

	far_service_end(task);
	/* who stops between two verbs of a chunk loses track of it */
	far_must_begin(task);
	err = far_sync(task);
	far_must_end(task);
	far_inner_end(task, inner);
	return err;
}

int far_fetch(struct far_task *task, uint64_t addr, void *buf, size_t len)
{
	struct far_ops inner;

	far_verbs_begin(task, &inner);
	for (size_t at = 0; at < len; at += PIECE) {
		size_t piece = len - at < PIECE ? len - at : PIECE;

		far_read(task, addr + at, (char *)buf + at, piece);
	}
	return far_verbs_end(task, &inner);
}

int far_store(struct far_task *task, uint64_t addr, const void *buf, size_t len)
{
	struct far_ops inner;

	far_verbs_begin(task, &inner);
	far_write(task, addr, buf, len);
	return far_verbs_end(task, &inner);
}

int far_swap(struct far_task *task, uint64_t addr, uint64_t compare, uint64_t swap,
	     uint64_t *ret_found)
{
	size_t mark = far_buf_mark(task);
	uint64_t *found = far_buf(task, sizeof(*found));
	struct far_ops inner;
	int err = -ENOMEM;

	if (!found)
		goto release;
	far_verbs_begin(task, &inner);
	far_cas(task, addr, compare, swap, found);
	err = far_verbs_end(task, &inner);
	if (!err)
		*ret_found = *found;
release:
	far_buf_release(task, mark);
	return err;
}

int far_add(struct far_task *task, uint64_t addr, uint64_t add)
{
	struct far_ops inner;

	far_verbs_begin(task, &inner);
	far_faa(task, addr, add, NULL);
	return far_verbs_end(task, &inner);
}

void far_gate_lock(struct far_task *task, atomic_bool *gate, uint64_t ns)
{
	while (atomic_exchange_explicit(gate, true, memory_order_acquire))
		far_sleep(task, ns);
}

void far_gate_unlock(atomic_bool *gate)
{
	atomic_store_explicit(gate, false, memory_order_release);
}
