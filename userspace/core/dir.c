// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The directory: all of it is READ at once. An entry's contents are written while its
 * state says that it is free, and one CAS of the state makes them count.
 */
#include "dir.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "alloc.h"
#include "client_priv.h"
#include "deadline.h"
#include "loose.h"
#include "owner.h"
#include "task.h"

#define DIR_LEN		(FAR_NR_NAMES * sizeof(struct far_dir_entry))
#define LOCK_NS		UINT64_C(20000)
#define BODY		offsetof(struct far_dir_entry, root)

static uint64_t dir_addr(const struct far_client *client, unsigned idx)
{
	return far_addr(client->arbiter,
			far_dir_entry_off(&client->sb[client->arbiter], idx));
}

static uint64_t lock_addr(const struct far_client *client)
{
	return far_addr(client->arbiter, FAR_SB_SHARED +
			offsetof(struct far_shared, dir_lock));
}

static uint32_t state_sum(uint64_t state)
{
	return (uint32_t)state;
}

/* Never 0, which says that the entry is free. */
static uint32_t entry_sum(const struct far_dir_entry *entry)
{
	uint32_t sum = (uint32_t)XXH3_64bits((const char *)entry + BODY,
					     sizeof(*entry) - BODY);

	return sum ? sum : 1;
}

/* The state for the next use, or the next freedom, of an entry. */
static uint64_t state_next(uint64_t state, uint32_t sum)
{
	return far_dir_state((uint32_t)(state >> 32) + 1, sum);
}

static_assert(FAR_NR_NAMES == 64, "a bit for each entry");

/* Bit i: the sum of entry i is not that of its contents. */
static uint64_t dir_torn(const struct far_dir_entry *dir)
{
	uint64_t torn = 0;

	for (unsigned i = 0; i < FAR_NR_NAMES; i++) {
		if (state_sum(dir[i].state) && state_sum(dir[i].state) !=
		    entry_sum(&dir[i]))
			torn |= UINT64_C(1) << i;
	}
	return torn;
}

static bool entry_in_use(const struct far_dir_entry *dir, uint64_t torn, unsigned i)
{
	return state_sum(dir[i].state) && !(torn >> i & 1);
}

#define DIR_TRIES	64u

/*
 * Reads all entries; again while one is being changed. What is torn after that is
 * damaged: its name is not known.
 */
static int dir_read(struct far_task *task, struct far_dir_entry *dir, uint64_t *ret_torn)
{
	const struct far_client *client = far_task_client(task);

	for (unsigned i = 0; i < DIR_TRIES; i++) {
		int err = far_fetch(task, dir_addr(client, 0), dir, DIR_LEN);

		if (err)
			return err;
		*ret_torn = dir_torn(dir);
		if (!*ret_torn)
			break;
		far_sleep(task, LOCK_NS);
	}
	return 0;
}

/* The word of the lock among clients. *expect is what it is taken for to be. */
static int dir_try_lock(struct far_task *task, const struct far_client *client,
			uint64_t *expect)
{
	uint64_t mine = far_lock_word(client->owner, 0, 0, 0), found;
	int err = far_swap(task, lock_addr(client), *expect, mine, &found);

	if (err)
		return err;
	/* An unlock of an earlier task of ours may come still, and would take it from this one. */
	if (found == mine && *expect != mine && far_is_loose(task, client->arbiter)) {
		far_sleep(task, LOCK_NS);
		return 0;
	}
	/* Ours: from an earlier lock or unlock of unknown fate. */
	if (found == *expect || found == mine) {
		if (*expect)
			far_repaired(task);
		return 1;
	}
	*expect = 0;
	if (!far_owner_number(found))
		return 0;
	err = far_owner_dead(task, found);
	if (err > 0)
		*expect = found;
	else if (!err)
		far_sleep(task, LOCK_NS);
	return err < 0 ? err : 0;
}

/*
 * Frees the lock if it is ours. Tries again when the fate is unknown: this client lives,
 * so nobody would take over what it leaves, and all others would wait.
 */
static int dir_give_back(struct far_task *task, const struct far_client *client)
{
	uint64_t mine = far_lock_word(client->owner, 0, 0, 0), found;
	int err = 0;

	for (unsigned i = 0; i < DIR_TRIES; i++) {
		err = far_swap(task, lock_addr(client), mine, 0, &found);
		if (!err || err == -ESTALE)
			break;
		far_sleep(task, LOCK_NS << (i < 8 ? i : 8));
	}
	return err;
}

/* Calls dir_give_back(), and leaves a lock that it cannot free to far_dir_pay(). The caller
 * has the gate. */
static void dir_release(struct far_task *task, struct far_client *client)
{
	int err = dir_give_back(task, client);

	if (err && err != -ESTALE)
		atomic_store(&client->dir_owed, true);
}

void far_dir_pay(struct far_task *task, struct far_client *client)
{
	uint64_t mine = far_lock_word(client->owner, 0, 0, 0), found;

	if (!atomic_load(&client->dir_owed) || far_is_loose(task, client->arbiter) ||
	    atomic_exchange_explicit(&client->dir_lock, true, memory_order_acquire))
		return;
	if (!far_swap(task, lock_addr(client), mine, 0, &found))
		atomic_store(&client->dir_owed, false);
	far_gate_unlock(&client->dir_lock);
}

/* Among our tasks. -ETIME: it is later than `until`. */
static int dir_gate(struct far_task *task, struct far_client *client, uint64_t until)
{
	while (atomic_exchange_explicit(&client->dir_lock, true, memory_order_acquire)) {
		if (far_now(task) >= until)
			return -ETIME;
		far_sleep(task, LOCK_NS);
	}
	return 0;
}

/* -ETIME: a client that lives has it, and does not go on. */
static int dir_lock(struct far_task *task, struct far_client *client)
{
	uint64_t expect = 0, until = far_op_until(task);
	int err = dir_gate(task, client, until);

	if (err)
		return err;
	do
		err = dir_try_lock(task, client, &expect);
	while (!err && far_now(task) < until);
	if (!err)
		err = -ETIME;
	if (err > 0)
		return 0;
	if (err != -ESTALE && far_is_loose(task, client->arbiter))
		atomic_store(&client->dir_owed, true);	/* far_dir_pay() waits for the verbs */
	else if (err != -ESTALE)
		dir_release(task, client);
	far_gate_unlock(&client->dir_lock);
	return err;
}

/* What was done under the lock is done, also if nobody knows what became of the lock. */
static void dir_unlock(struct far_task *task, struct far_client *client)
{
	dir_release(task, client);
	far_gate_unlock(&client->dir_lock);
}

/* -EBADMSG: no good entry has the name, and a damaged one may have it. */
static int dir_index(const struct far_dir_entry *dir, uint64_t torn, const char *name)
{
	for (unsigned i = 0; i < FAR_NR_NAMES; i++) {
		if (entry_in_use(dir, torn, i) &&
		    !strncmp(dir[i].name, name, sizeof(dir[i].name)))
			return i;
	}
	return torn ? -EBADMSG : -ENOENT;
}

static int dir_free_index(struct far_task *task, const struct far_dir_entry *dir)
{
	for (unsigned i = 0; i < FAR_NR_NAMES; i++) {
		if (!state_sum(dir[i].state))
			return i;
	}
	far_task_explain(task, "all %u names of the space are taken", FAR_NR_NAMES);
	return -ENOSPC;
}

static int name_check(const char *name)
{
	size_t len = strnlen(name, FAR_NAME_LEN);

	return len && len < FAR_NAME_LEN ? 0 : -EINVAL;
}

int far_dir_list(struct far_task *task, struct far_dir_entry *entry, unsigned *ret_nr,
		 uint64_t *ret_torn)
{
	size_t mark = far_buf_mark(task);
	struct far_dir_entry *dir = far_buf(task, DIR_LEN);
	uint64_t torn = 0;
	int err = dir ? dir_read(task, dir, &torn) : -ENOMEM;
	unsigned nr = 0;

	for (unsigned i = 0; i < FAR_NR_NAMES && !err; i++) {
		if (entry_in_use(dir, torn, i))
			entry[nr++] = dir[i];
	}
	if (!err) {
		*ret_nr = nr;
		*ret_torn = torn;
	}
	far_buf_release(task, mark);
	return err;
}

int far_dir_find(struct far_task *task, const char *name,
		 struct far_dir_entry *ret_entry)
{
	size_t mark = far_buf_mark(task);
	struct far_dir_entry *dir = far_buf(task, DIR_LEN);
	int idx = dir ? name_check(name) : -ENOMEM;
	uint64_t torn;

	if (!idx)
		idx = dir_read(task, dir, &torn);
	if (!idx)
		idx = dir_index(dir, torn, name);
	if (idx >= 0)
		*ret_entry = dir[idx];
	far_buf_release(task, mark);
	return idx < 0 ? idx : 0;
}

int far_dir_open(struct far_task *task, const char *name, uint32_t type,
		 uint32_t version, struct far_dir_entry *ret_entry)
{
	struct far_dir_entry entry;
	int err = far_dir_find(task, name, &entry);

	if (err)
		return err;
	if (entry.type != type)
		return -EMEDIUMTYPE;
	if (entry.version != version)
		return -EPROTONOSUPPORT;
	*ret_entry = entry;
	return 0;
}

/* Under the lock, with the directory as it was read. */
static int dir_put(struct far_task *task, const struct far_client *client,
		   const struct far_dir_entry *dir, uint64_t torn,
		   const struct far_dir_entry *entry, struct far_dir_entry *copy)
{
	int idx = dir_index(dir, torn, entry->name);
	uint64_t found;
	int err;

	if (idx != -ENOENT)
		return idx < 0 ? idx : -EEXIST;
	idx = dir_free_index(task, dir);
	if (idx < 0)
		return idx;
	*copy = *entry;
	err = far_store(task, dir_addr(client, idx) + BODY, (char *)copy + BODY,
			sizeof(*copy) - BODY);
	if (!err)
		err = far_swap(task, dir_addr(client, idx), dir[idx].state,
			       state_next(dir[idx].state, entry_sum(copy)), &found);
	if (!err && found != dir[idx].state)
		err = -EBADMSG;
	return err;
}

static int dir_take(struct far_task *task, const struct far_client *client,
		    const struct far_dir_entry *dir, uint64_t torn,
		    const struct far_dir_entry *entry)
{
	int idx = dir_index(dir, torn, entry->name);
	uint64_t found;
	int err;

	if (idx < 0)
		return idx;
	if (dir[idx].state != entry->state)
		return -EAGAIN;
	err = far_swap(task, dir_addr(client, idx), dir[idx].state,
		       state_next(dir[idx].state, 0), &found);
	/* perhaps nothing leads any more to what nobody will free */
	if (err)
		far_alloc_lost(task);
	if (!err && found != dir[idx].state)
		err = -EBADMSG;
	return err;
}

int far_dir_add(struct far_task *task, const struct far_dir_entry *entry)
{
	struct far_client *client = far_task_client(task);
	size_t mark = far_buf_mark(task);
	struct far_dir_entry *dir = far_buf(task, DIR_LEN);
	struct far_dir_entry *copy = far_buf(task, sizeof(*copy));
	int err = dir && copy ? name_check(entry->name) : -ENOMEM;
	uint64_t torn;

	if (!err)
		err = dir_lock(task, client);
	if (err)
		goto release;
	err = dir_read(task, dir, &torn);
	if (!err)
		err = dir_put(task, client, dir, torn, entry, copy);
	dir_unlock(task, client);
release:
	far_buf_release(task, mark);
	return err;
}

int far_dir_remove(struct far_task *task, const struct far_dir_entry *entry)
{
	struct far_client *client = far_task_client(task);
	size_t mark = far_buf_mark(task);
	struct far_dir_entry *dir = far_buf(task, DIR_LEN);
	int err = dir ? dir_lock(task, client) : -ENOMEM;
	uint64_t torn;

	if (err)
		goto release;
	err = dir_read(task, dir, &torn);
	if (!err)
		err = dir_take(task, client, dir, torn, entry);
	dir_unlock(task, client);
release:
	far_buf_release(task, mark);
	return err;
}
