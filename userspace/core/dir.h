/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory of a space set: names of structures, their types and roots.
 *
 * All functions are for a task outside of an epoch or inside, and call far_sync().
 * Adding and removing take the directory's lock; a lock of a dead client is taken over, and
 * for that of one that lives they wait as long as an operation may take: -ETIME.
 */
#ifndef FAR_CORE_DIR_H
#define FAR_CORE_DIR_H

#include <errno.h>
#include <stdbool.h>

#include <far/far.h>

#include "../space/layout.h"

/*
 * Errors of all: -EINVAL a name of 0 or more than 31 bytes; -EBADMSG no entry has the
 * name, and one is damaged that may have had it; as far_sync().
 */

/**
 * struct far_dir_view - the directory as it was read
 * @entry, @nr:		all entries; free and damaged ones too
 * @block, @nr_blocks:	far addresses of the blocks behind the first part
 * @torn:		entries that are damaged
 */
struct far_dir_view {
	struct far_dir_entry *entry;
	unsigned nr;
	uint64_t *block;
	unsigned nr_blocks;
	unsigned torn;
};

/* Reads all of it; far_dir_free() frees the view. -ENOMEM; -EBADMSG: a block cannot be where
 * the word says that leads to it. */
int far_dir_read(struct far_task *task, struct far_dir_view *ret_dir);
void far_dir_free(struct far_dir_view *dir);
/* True if an entry is in use, and not damaged. */
bool far_dir_is_good(const struct far_dir_entry *entry);

/* The entry of a name: -ENOENT. */
int far_dir_find(struct far_task *task, const char *name,
		 struct far_dir_entry *ret_entry);
/* And of that type and version: -EMEDIUMTYPE, -EPROTONOSUPPORT. */
int far_dir_open(struct far_task *task, const char *name, uint32_t type,
		 uint32_t version, struct far_dir_entry *ret_entry);
/*
 * Adds a name: entry has name, type, version, root and parameters. After that the root
 * is reachable. Makes the directory longer if no entry is free. -EEXIST; -ENOSPC: the arbiter's
 * memory has no room for that, or the directory is as long as it may be.
 */
int far_dir_add(struct far_task *task, const struct far_dir_entry *entry);
/* True if nobody knows, after that error of far_dir_add(), if the root is reachable. */
static inline bool far_dir_is_unsure(int err)
{
	return err != -EEXIST && err != -ENOSPC && err != -EINVAL && err != -ETIME;
}

/*
 * Removes the entry that far_dir_find() or far_dir_open() has found; the caller frees
 * what hung from its root. -ENOENT; -EAGAIN: somebody has removed it, and the name is
 * another entry's now. Of unknown fate: a sweep frees what hung from it if it is gone.
 */
int far_dir_remove(struct far_task *task, const struct far_dir_entry *entry);
struct far_client;

/* For the service: frees a lock of this client that far_dir_add() or _remove() could not. */
void far_dir_pay(struct far_task *task, struct far_client *client);

#endif
