// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A structure for tests: see bag.h. */
#include "bag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/form/walk.h"

#define BAG_VERSION	1
#define LARGE		UINT64_C(0xffff)

/* What a block begins with. */
struct head {
	uint64_t id;
	uint64_t size;
};

static uint64_t slot_word(uint64_t addr, uint64_t size)
{
	uint64_t units = (size + 7) / 8;

	return (units < LARGE ? units : LARGE) << 48 | addr;
}

static int bag_head(struct far_task *task, uint64_t word, struct head *ret_head)
{
	size_t mark = far_buf_mark(task);
	struct head *head = far_buf(task, sizeof(*head));
	int err;

	far_read(task, far_addr_bare(word), head, sizeof(*head));
	err = far_sync(task);
	if (!err)
		*ret_head = *head;
	far_buf_release(task, mark);
	return err;
}

static int block_size(struct far_task *task, uint64_t word, uint64_t *ret_size)
{
	struct head head;
	int err;

	*ret_size = (word >> 48) * 8;
	if (word >> 48 != LARGE)
		return 0;
	err = bag_head(task, word, &head);
	if (!err)
		*ret_size = head.size;
	return err;
}

/* Calls each() for all blocks, the root last. */
static int bag_each(struct far_task *task, uint64_t root, unsigned nr_slots,
		    int (*each)(void *arg, uint64_t addr, uint64_t size), void *arg)
{
	size_t mark = far_buf_mark(task);
	uint64_t *slot = far_buf(task, nr_slots * 8), size;
	int err = slot ? 0 : -ENOMEM;

	if (!err) {
		far_read(task, root, slot, nr_slots * 8);
		err = far_sync(task);
	}
	for (unsigned i = 0; i < nr_slots && !err; i++) {
		if (!slot[i])
			continue;
		err = block_size(task, slot[i], &size);
		if (!err)
			err = each(arg, far_addr_bare(slot[i]), size);
	}
	far_buf_release(task, mark);
	return err ? err : each(arg, root, nr_slots * 8);
}

static int walk_each(void *arg, uint64_t addr, uint64_t size)
{
	struct far_walk *walk = arg;

	return walk->block(walk, addr, size);
}

static int bag_walk(struct far_task *task, const struct far_dir_entry *entry,
		    struct far_walk *walk)
{
	struct form_walk steps = { .task = task, .entry = entry };
	int err = form_walk_enter(&steps);

	if (!err)
		err = bag_each(task, entry->root, entry->param[0], walk_each, walk);
	return form_walk_leave(&steps, err);
}

const struct far_type bag_type = {
	.type = FAR_TYPE_TEST, .version = BAG_VERSION, .name = "bag", .walk = bag_walk,
};

/* An empty root, written. */
static int root_new(struct far_task *task, unsigned nr_slots, uint64_t *ret_root)
{
	size_t mark = far_buf_mark(task);
	void *zero = far_buf(task, nr_slots * 8);
	int err = zero ? far_block_alloc(task, FAR_ANY_NODE, nr_slots * 8, ret_root) : -ENOMEM;

	if (!err) {
		memset(zero, 0, nr_slots * 8);
		far_write(task, *ret_root, zero, nr_slots * 8);
		err = far_sync(task);
	}
	far_buf_release(task, mark);
	return err;
}

int bag_create(struct far_task *task, const char *name, unsigned nr_slots,
	       struct bag *ret_bag)
{
	struct far_dir_entry entry = {
		.type = FAR_TYPE_TEST, .version = BAG_VERSION, .param = { nr_slots },
	};
	int err = far_epoch_enter(task);

	if (err)
		return err;
	snprintf(entry.name, sizeof(entry.name), "%s", name);
	err = root_new(task, nr_slots, &entry.root);
	if (!err)
		err = far_dir_add(task, &entry);
	if (err == -EEXIST || err == -ENOSPC) {
		if (entry.root)
			far_block_free(task, entry.root, nr_slots * 8);
	} else if (err) {
		far_alloc_lost(task);
	}
	far_epoch_exit(task);
	if (!err)
		*ret_bag = (struct bag){ entry.root, nr_slots };
	return err;
}

int bag_open(struct far_task *task, const char *name, struct bag *ret_bag)
{
	struct far_dir_entry entry;
	int err = far_dir_open(task, name, FAR_TYPE_TEST, BAG_VERSION, &entry);

	if (!err)
		*ret_bag = (struct bag){ entry.root, entry.param[0] };
	return err;
}

static int retire_each(void *arg, uint64_t addr, uint64_t size)
{
	return far_retire(arg, addr, size);
}

int bag_destroy(struct far_task *task, const char *name)
{
	struct far_dir_entry entry;
	int err = far_epoch_enter(task);

	if (err)
		return err;
	err = far_dir_find(task, name, &entry);
	if (!err)
		err = far_dir_remove(task, &entry);
	if (!err)
		err = bag_each(task, entry.root, entry.param[0], retire_each, task);
	if (err && err != -ENOENT)
		far_alloc_lost(task);
	far_epoch_exit(task);
	return err;
}

/* A block with its head written; FAR_NIL for size 0. */
static int block_new(struct far_task *task, uint64_t size, uint64_t id,
		     uint64_t *ret_addr)
{
	struct head head = { id, size };
	int err;

	*ret_addr = FAR_NIL;
	if (!size)
		return 0;
	err = far_block_alloc(task, FAR_ANY_NODE, size, ret_addr);
	if (err)
		return err;
	far_write(task, *ret_addr, &head, sizeof(head));
	err = far_sync(task);
	if (err)
		far_block_free(task, *ret_addr, size);
	return err;
}

static int slot_read(struct far_task *task, const struct bag *bag, unsigned slot,
		     uint64_t *ret_word)
{
	size_t mark = far_buf_mark(task);
	uint64_t *word = far_buf(task, 8);
	int err;

	far_read(task, bag->root + slot * 8, word, 8);
	err = far_sync(task);
	if (!err)
		*ret_word = *word;
	far_buf_release(task, mark);
	return err;
}

/* The switch, as often as another one was faster; *ret_old is what it replaced. */
static int slot_switch(struct far_task *task, const struct bag *bag, unsigned slot,
		       uint64_t word, uint64_t *ret_old)
{
	uint64_t old, found;
	int err = slot_read(task, bag, slot, &old);

	while (!err) {
		err = far_backoff_cas(task, bag->root + slot * 8, old, word, &found);
		if (!err && found == old)
			break;
		old = found;
	}
	*ret_old = old;
	return err;
}

static int put_inside(struct far_task *task, const struct bag *bag, unsigned slot,
		      uint64_t size, uint64_t id)
{
	uint64_t addr, old, old_size;
	int err = block_new(task, size, id, &addr);

	if (err)
		return err;
	err = slot_switch(task, bag, slot, addr ? slot_word(addr, size) : 0, &old);
	if (err) {
		far_alloc_lost(task);
		return err;
	}
	if (!old)
		return 0;
	err = block_size(task, old, &old_size);
	if (!err)
		err = far_retire(task, far_addr_bare(old), old_size);
	if (err)
		far_alloc_lost(task);
	return err;
}

int bag_put(struct far_task *task, const struct bag *bag, unsigned slot, uint64_t size,
	    uint64_t id)
{
	int err = far_epoch_enter(task);

	if (err)
		return err;
	err = put_inside(task, bag, slot, size, id);
	far_epoch_exit(task);
	if (err != -ENOSPC)
		return err;
	err = far_reclaim(task);
	if (!err)
		err = far_epoch_enter(task);
	if (err)
		return err;
	err = put_inside(task, bag, slot, size, id);
	far_epoch_exit(task);
	return err;
}

int bag_get(struct far_task *task, const struct bag *bag, unsigned slot, uint64_t ns)
{
	struct head first, second;
	uint64_t word;
	int err = far_epoch_enter(task);

	if (err)
		return err;
	err = slot_read(task, bag, slot, &word);
	if (!err && !word)
		err = -ENOENT;
	if (!err)
		err = bag_head(task, word, &first);
	if (!err && ns)
		far_sleep(task, ns);
	if (!err)
		err = bag_head(task, word, &second);
	if (!err && (first.id != second.id || first.size != second.size))
		err = -EBADMSG;
	far_epoch_exit(task);
	return err;
}
