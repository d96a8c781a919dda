// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a client owes, as a stack to which tasks push and which the service empties. */
#include "owed.h"

#include <errno.h>
#include <stdlib.h>

#include "client_priv.h"
#include "core.h"
#include "lock.h"
#include "loose.h"
#include "task.h"

struct far_owed {
	struct far_owed *next;
	uint64_t addr, from, to;
};

static void owed_push(struct far_client *client, struct far_owed *owed)
{
	owed->next = atomic_load(&client->owed);
	while (!atomic_compare_exchange_weak(&client->owed, &owed->next, owed))
		;
}

void far_owe(struct far_task *task, uint64_t addr, uint64_t from, uint64_t to)
{
	struct far_owed *owed = malloc(sizeof(*owed));

	/* without memory it stays until the client ends */
	if (!owed)
		return;
	*owed = (struct far_owed){ .addr = addr, .from = from, .to = to };
	atomic_fetch_add(&far_task_client(task)->nr_owed, 1);
	owed_push(far_task_client(task), owed);
}

/* -EBUSY: a task has the turn, and may wait for a word that is owed as well. -EAGAIN: later. */
static int owed_settle(struct far_task *task, const struct far_owed *owed)
{
	struct far_lock turn = { .task = task, .addr = owed->addr };
	struct far_locks *locks = far_task_far(task)->locks;
	uint64_t found;
	int err;

	/* the verb that makes it due may come still: to find nothing there would mean nothing */
	if (far_is_loose(task, far_addr_node(owed->addr)))
		return -EAGAIN;
	if (!far_lock_try(locks, &turn))
		return -EBUSY;
	err = far_swap(task, owed->addr, owed->from, owed->to, &found);
	far_lock_leave(locks, &turn);
	return err;
}

void far_owed_pay(struct far_task *task, struct far_client *client)
{
	struct far_owed *owed = atomic_exchange(&client->owed, NULL), *next;

	for (; owed; owed = next) {
		next = owed->next;
		if (owed_settle(task, owed)) {
			owed_push(client, owed);
			continue;
		}
		free(owed);
		atomic_fetch_sub(&client->nr_owed, 1);
	}
}

void far_owed_forget(struct far_client *client)
{
	struct far_owed *owed = atomic_exchange(&client->owed, NULL), *next;

	for (; owed; owed = next) {
		next = owed->next;
		free(owed);
	}
}
