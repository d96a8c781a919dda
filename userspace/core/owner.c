// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whether an owner is dead: one look at its entry in the client table.
 */
#include "owner.h"

#include "client_priv.h"
#include "task.h"

uint64_t far_owner_self(const struct far_task *task)
{
	return far_task_client(task)->owner;
}

uint32_t far_owner_nonce(struct far_task *task)
{
	return atomic_fetch_add_explicit(&far_task_client(task)->nonce, 1,
					 memory_order_relaxed);
}

bool far_entry_is_dead(const struct far_client_entry *entry, unsigned incarnation)
{
	unsigned now = far_owner_incarnation(entry->claim);

	return entry->fenced >= incarnation || now > incarnation ||
	       (now == incarnation && !far_claim_taken(entry->claim));
}

/* Reads the entry of the client in word. As far_owner_dead(). */
static int entry_is_dead(struct far_task *task, uint64_t word)
{
	struct far_client *client = far_task_client(task);
	const struct far_sb *sb = &client->sb[client->arbiter];
	unsigned number = far_owner_number(word);
	struct far_client_entry *entry;
	size_t mark = far_buf_mark(task);
	int err = -ENOMEM;

	if (!number || number > sb->max_clients)
		return -EBADMSG;
	entry = far_buf(task, sizeof(*entry));
	if (!entry)
		goto release;
	err = far_fetch(task, far_addr(client->arbiter, far_client_entry_off(sb, number)),
			entry, sizeof(*entry));
	if (!err)
		err = far_entry_is_dead(entry, far_owner_incarnation(word));
release:
	far_buf_release(task, mark);
	return err;
}

int far_owner_dead(struct far_task *task, uint64_t word)
{
	if ((word & FAR_OWNER_MASK) == far_owner_self(task))
		return 0;
	return entry_is_dead(task, word);
}

int far_am_i_fenced(struct far_task *task)
{
	int err = entry_is_dead(task, far_owner_self(task));

	if (err <= 0)
		return err;
	far_client_cut(far_task_client(task));
	return -ESTALE;
}

void far_repaired(struct far_task *task)
{
	far_task_count_repaired(task);
}
