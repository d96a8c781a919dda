// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The directory: a first part of 64 entries, and blocks of 63 that are linked behind it when
 * all entries are taken, and stay. Each part is READ at once. An entry's contents are written
 * while its state says that it is free, and one CAS of the state makes them count.
 */
#include "dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "alloc.h"
#include "client_priv.h"
#include "deadline.h"
#include "epoch.h"
#include "loose.h"
#include "owner.h"
#include "task.h"

#define PART_LEN	sizeof(struct far_dir_block)
#define LOCK_NS		UINT64_C(20000)
#define BODY		offsetof(struct far_dir_entry, root)

/* The far address of entry idx of the view. */
static uint64_t dir_addr(const struct far_client *client, const struct far_dir_view *dir,
			 unsigned idx)
{
	unsigned more = idx - FAR_NR_NAMES;

	if (idx < FAR_NR_NAMES)
		return far_addr(client->arbiter,
				far_dir_entry_off(&client->sb[client->arbiter], idx));
	return dir->block[more / FAR_DIR_ENTRIES] + offsetof(struct far_dir_block, entry) +
	       more % FAR_DIR_ENTRIES * sizeof(struct far_dir_entry);
}

/* The word that leads to the block behind the last one of what was read. */
static uint64_t next_addr(const struct far_client *client, const struct far_dir_view *dir)
{
	if (dir->nr_blocks)
		return dir->block[dir->nr_blocks - 1];
	return far_addr(client->arbiter, FAR_SB_SHARED + offsetof(struct far_shared, dir_more));
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

static bool entry_is_free(const struct far_dir_entry *entry)
{
	return !state_sum(entry->state);
}

/* The entry's sum is not that of its contents. */
static bool entry_is_torn(const struct far_dir_entry *entry)
{
	return !entry_is_free(entry) && state_sum(entry->state) != entry_sum(entry);
}

bool far_dir_is_good(const struct far_dir_entry *entry)
{
	return !entry_is_free(entry) && !entry_is_torn(entry);
}

static unsigned entries_torn(const struct far_dir_entry *entry, unsigned nr)
{
	unsigned torn = 0;

	for (unsigned i = 0; i < nr; i++)
		torn += entry_is_torn(&entry[i]);
	return torn;
}

/* Room for the entries of one more part. */
static int view_grow(struct far_dir_view *dir, unsigned nr)
{
	struct far_dir_entry *entry = reallocarray(dir->entry, dir->nr + nr, sizeof(*entry));
	uint64_t *block;

	if (!entry)
		return -ENOMEM;
	dir->entry = entry;
	block = reallocarray(dir->block, dir->nr_blocks + 1, sizeof(*block));
	if (!block)
		return -ENOMEM;
	dir->block = block;
	return 0;
}

void far_dir_free(struct far_dir_view *dir)
{
	free(dir->entry);
	free(dir->block);
}

#define DIR_TRIES	64u

/*
 * Reads nr entries; again while one is being changed. What is torn after that is damaged:
 * its name is not known.
 */
static int part_read(struct far_task *task, uint64_t addr, const struct far_dir_entry *entry,
		     unsigned nr, void *buf, size_t len, struct far_dir_view *dir)
{
	unsigned torn = 0;
	int err = view_grow(dir, nr);

	for (unsigned i = 0; !err && i < DIR_TRIES; i++) {
		err = far_fetch(task, addr, buf, len);
		torn = err ? 0 : entries_torn(entry, nr);
		if (!torn)
			break;
		far_sleep(task, LOCK_NS);
	}
	if (err)
		return err;
	memcpy(&dir->entry[dir->nr], entry, nr * sizeof(*entry));
	dir->nr += nr;
	dir->torn += torn;
	return 0;
}

/* The blocks that are linked behind the first part. */
static int blocks_read(struct far_task *task, const struct far_client *client,
		       struct far_dir_block *buf, struct far_dir_view *dir)
{
	int err = far_fetch(task, next_addr(client, dir), &buf->next, sizeof(buf->next));

	while (!err && buf->next != FAR_NIL) {
		uint64_t addr = buf->next;

		if (!far_dir_block_fits(&client->sb[client->arbiter], addr) ||
		    dir->nr_blocks == FAR_MAX_DIR_BLOCKS) {
			far_task_explain(task, "the directory's block %u cannot be at 0x%llx",
					 dir->nr_blocks, (unsigned long long)addr);
			return -EBADMSG;
		}
		err = part_read(task, addr, buf->entry, FAR_DIR_ENTRIES, buf, sizeof(*buf), dir);
		if (!err)
			dir->block[dir->nr_blocks++] = addr;
	}
	return err;
}

int far_dir_read(struct far_task *task, struct far_dir_view *ret_dir)
{
	const struct far_client *client = far_task_client(task);
	struct far_dir_view dir = { .nr = 0 };
	size_t mark = far_buf_mark(task);
	void *buf = far_buf(task, PART_LEN);
	int err = buf ? part_read(task, dir_addr(client, &dir, 0), buf, FAR_NR_NAMES, buf,
				  PART_LEN, &dir) : -ENOMEM;

	if (!err)
		err = blocks_read(task, client, buf, &dir);
	far_buf_release(task, mark);
	if (err)
		far_dir_free(&dir);
	else
		*ret_dir = dir;
	return err;
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
static int dir_index(const struct far_dir_view *dir, const char *name)
{
	for (unsigned i = 0; i < dir->nr; i++) {
		if (!strncmp(dir->entry[i].name, name, sizeof(dir->entry[i].name)) &&
		    far_dir_is_good(&dir->entry[i]))
			return i;
	}
	return dir->torn ? -EBADMSG : -ENOENT;
}

/* -ENOSPC: all entries are taken. */
static int dir_free_index(const struct far_dir_view *dir)
{
	for (unsigned i = 0; i < dir->nr; i++) {
		if (entry_is_free(&dir->entry[i]))
			return i;
	}
	return -ENOSPC;
}

static int name_check(const char *name)
{
	size_t len = strnlen(name, FAR_NAME_LEN);

	return len && len < FAR_NAME_LEN ? 0 : -EINVAL;
}

int far_dir_find(struct far_task *task, const char *name,
		 struct far_dir_entry *ret_entry)
{
	struct far_dir_view dir;
	int idx = name_check(name);

	if (!idx)
		idx = far_dir_read(task, &dir);
	if (idx)
		return idx;
	idx = dir_index(&dir, name);
	if (idx >= 0)
		*ret_entry = dir.entry[idx];
	far_dir_free(&dir);
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

/* A block that is linked to the directory when all its entries are taken. */
struct spare {
	uint64_t addr;		/* FAR_NIL: there is none */
	void *buf;		/* PART_LEN bytes of far_buf() */
};

/* Links the spare block. Under the lock; the last block of what was read is the last one. */
static int spare_link(struct far_task *task, const struct far_client *client,
		      struct spare *spare, struct far_dir_view *dir)
{
	uint64_t next = next_addr(client, dir), addr = spare->addr, found;
	int err = view_grow(dir, FAR_DIR_ENTRIES);

	if (err)
		return err;
	spare->addr = FAR_NIL;
	err = far_swap(task, next, FAR_NIL, addr, &found);
	if (!err && found == FAR_NIL) {
		memset(&dir->entry[dir->nr], 0, FAR_DIR_ENTRIES * sizeof(*dir->entry));
		dir->nr += FAR_DIR_ENTRIES;
		dir->block[dir->nr_blocks++] = addr;
		return 0;
	}
	/* Perhaps the block is linked: a sweep finds out. */
	far_alloc_lost(task);
	return err ? err : -EBADMSG;
}

/* Writes a copy of the entry to a place that is free, and makes it count. */
static int entry_write(struct far_task *task, uint64_t addr, uint64_t state,
		       const struct far_dir_entry *entry, struct far_dir_entry *copy)
{
	uint64_t found;
	int err;

	*copy = *entry;
	err = far_store(task, addr + BODY, (char *)copy + BODY, sizeof(*copy) - BODY);
	if (!err)
		err = far_swap(task, addr, state, state_next(state, entry_sum(copy)), &found);
	if (!err && found != state)
		err = -EBADMSG;
	return err;
}

/* Under the lock, with the directory as it was read. -EXFULL: a spare block is needed. */
static int dir_put(struct far_task *task, const struct far_client *client,
		   struct far_dir_view *dir, const struct far_dir_entry *entry,
		   struct spare *spare)
{
	int idx = dir_index(dir, entry->name), err;

	if (idx != -ENOENT)
		return idx < 0 ? idx : -EEXIST;
	idx = dir_free_index(dir);
	if (idx < 0 && spare->addr == FAR_NIL)
		return -EXFULL;
	if (idx < 0) {
		idx = (int)dir->nr;
		err = spare_link(task, client, spare, dir);
		if (err)
			return err;
	}
	return entry_write(task, dir_addr(client, dir, idx), dir->entry[idx].state, entry,
			   spare->buf);
}

static int dir_take(struct far_task *task, const struct far_client *client,
		    const struct far_dir_view *dir, const struct far_dir_entry *entry)
{
	int idx = dir_index(dir, entry->name);
	uint64_t found;
	int err;

	if (idx < 0)
		return idx;
	if (dir->entry[idx].state != entry->state)
		return -EAGAIN;
	err = far_swap(task, dir_addr(client, dir, idx), dir->entry[idx].state,
		       state_next(dir->entry[idx].state, 0), &found);
	/* perhaps nothing leads any more to what nobody will free */
	if (err)
		far_alloc_lost(task);
	if (!err && found != dir->entry[idx].state)
		err = -EBADMSG;
	return err;
}

/* An empty block of far memory, which nobody sees yet. Before the lock: memory may take time. */
static int spare_make(struct far_task *task, const struct far_client *client,
		      struct spare *spare)
{
	uint64_t addr;
	int err = far_block_alloc(task, client->arbiter, PART_LEN, &addr);

	if (err == -ENOSPC)
		far_task_explain(task, "all names of the space are taken, and memory node %u "
				 "has no room for more", client->arbiter);
	if (err)
		return err;
	memset(spare->buf, 0, PART_LEN);
	err = far_store(task, addr, spare->buf, PART_LEN);
	if (err)
		far_alloc_lost(task);	/* the WRITE may come still: not in another's block */
	else
		spare->addr = addr;
	return err;
}

/* One try to add the entry. -EXFULL: a spare block is needed. */
static int dir_add_locked(struct far_task *task, struct far_client *client,
			  const struct far_dir_entry *entry, struct spare *spare)
{
	struct far_dir_view dir;
	int err = dir_lock(task, client);

	if (err)
		return err;
	err = far_dir_read(task, &dir);
	if (!err) {
		err = dir_put(task, client, &dir, entry, spare);
		if (err == -EXFULL && dir.nr_blocks == FAR_MAX_DIR_BLOCKS) {
			far_task_explain(task, "all %u names of the space are taken", dir.nr);
			err = -ENOSPC;
		}
		far_dir_free(&dir);
	}
	dir_unlock(task, client);
	return err;
}

int far_dir_add(struct far_task *task, const struct far_dir_entry *entry)
{
	struct far_client *client = far_task_client(task);
	size_t mark = far_buf_mark(task);
	struct spare spare = { FAR_NIL, far_buf(task, PART_LEN) };
	int err = spare.buf ? name_check(entry->name) : -ENOMEM;

	if (err)
		goto release;
	err = far_epoch_enter(task);
	if (err)
		goto release;
	err = dir_add_locked(task, client, entry, &spare);
	while (err == -EXFULL) {
		err = spare_make(task, client, &spare);
		if (!err)
			err = dir_add_locked(task, client, entry, &spare);
	}
	if (spare.addr != FAR_NIL)
		far_block_free(task, spare.addr, PART_LEN);
	far_epoch_exit(task);
release:
	far_buf_release(task, mark);
	return err;
}

int far_dir_remove(struct far_task *task, const struct far_dir_entry *entry)
{
	struct far_client *client = far_task_client(task);
	struct far_dir_view dir;
	int err = dir_lock(task, client);

	if (err)
		return err;
	err = far_dir_read(task, &dir);
	if (!err) {
		err = dir_take(task, client, &dir, entry);
		far_dir_free(&dir);
	}
	dir_unlock(task, client);
	return err;
}
