/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes under locks, as others published them: for comparisons. See art.h.
 *
 *	HOCL	{CAS lock, READ leaf} {WRITE value, CAS lock}; the lock in a table
 *	E-HOCL	{CAS head} {WRITE head and value}; the lock is the leaf's head
 *	ROWEX	{CAS lock, READ node} {what a change is without locks} {CAS lock}
 *
 * In front of each is a local queue, with hand-overs: then the first CAS and the release
 * are not needed. A client that dies with the lock of a head leaves it taken, and words
 * of the WRITE of head and value have to land in order: both as published.
 */
#include "art.h"

#include <stdlib.h>
#include <string.h>

#include "../art/art_priv.h"
#include "../base/rng.h"
#include "../core/core.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/lock.h"
#include "../core/task.h"

static uint64_t head_locked(uint64_t head)
{
	return head & ~(UINT64_C(3) << ART_STATE_SHIFT);
}

/* A leaf whose head is locked looks live. */
static void head_see_through(struct art_leaf *leaf)
{
	if (leaf->head && !art_head_state(leaf->head))
		leaf->head |= (uint64_t)ART_LIVE << ART_STATE_SHIFT;
}

/* A key whose leaf lies on that memory node. */
static void key_on(const struct far_art *art, unsigned node, uint64_t *ret_key)
{
	struct art_key key;

	*ret_key = 0;
	do {
		++*ret_key;
		art_key_init(&key, ret_key, sizeof(*ret_key));
	} while (art_leaf_node(art, &key) != node);
}

/* Where the value of a key lies, which is a long one. */
static int value_at(struct art_op *op, uint64_t *ret_addr)
{
	enum art_what what;
	int err = art_op_start(op);

	if (!err)
		err = art_find(op, &what);
	if (!err && what != ART_HERE)
		err = -ENOENT;
	if (!err)
		*ret_addr = op->leaf_addr + (op->seen.value - (const uint8_t *)op->leaf);
	return err;
}

static int table_make(struct far_task *task, struct far_art *art, unsigned node,
		      const void *zero, uint64_t *ret_addr)
{
	size_t mark = far_buf_mark(task);
	struct art_op op;
	uint64_t key;
	int err;

	key_on(art, node, &key);
	err = far_art_insert(task, art, &key, sizeof(key), zero, ART_LOCKS * 8);
	if (!err)
		err = art_op_init(&op, task, art, &key, sizeof(key));
	if (!err)
		err = far_epoch_enter(task);
	if (err)
		return err;
	err = value_at(&op, ret_addr);
	far_buf_release(task, mark);
	far_epoch_exit(task);
	return err;
}

int art_make_locks(struct far_task *task, const char *name, uint64_t *table)
{
	void *zero = calloc(ART_LOCKS, 8);
	struct far_art *art;
	unsigned i;
	int err;

	if (!zero)
		return -ENOMEM;
	err = far_art_create(task, name, &art);
	if (err)
		goto free_zero;
	for (i = 0; i < art->nr_nodes && !err; i++)
		err = table_make(task, art, i, zero, &table[i]);
	far_art_close(art);
free_zero:
	free(zero);
	return err;
}

void art_set_locks(struct far_art *art, const uint64_t *table)
{
	art->locks = table;
}

/* The lock of a leaf or node, on its own memory node. */
static uint64_t lock_of(const struct art_op *op, uint64_t addr)
{
	return op->art->locks[far_addr_node(addr)] + 8 * (far_rng_mix(addr) % ART_LOCKS);
}

static int overwrite_hocl(struct art_op *op, const void *value)
{
	struct far_lock lock = {
		.addr = lock_of(op, op->leaf_addr), .kind = FAR_LOCK_PLAIN,
		.data = op->leaf_addr, .len = op->seen.len, .image = op->leaf,
	};
	uint64_t head = op->leaf->head;
	int err, also;

	err = far_lock_take(op->task, &lock);
	if (err)
		return err;
	if (op->leaf->head != head) {
		err = -EAGAIN;
	} else {
		memcpy(op->leaf->data, value, 8);
		far_write(op->task, op->leaf_addr + ART_LEAF_HEAD, op->leaf->data, 8);
	}
	also = far_lock_release(op->task, &lock);
	op->unsure = !err && also;
	return err ? err : also;
}

/* 0; -EAGAIN: the leaf is no key's any more. Each CAS that fails is one retry. */
static int head_take(struct art_op *op)
{
	uint64_t head = op->leaf->head;
	int err;

	for (;;) {
		far_cas(op->task, op->leaf_addr, head, head_locked(head), &op->word[0]);
		err = far_sync(op->task);
		if (err || op->word[0] == head)
			return err;
		if (op->word[0] != head_locked(head))
			return -EAGAIN;
		if (far_op_is_late(op->task))
			return -ETIME;
		far_backoff(op->task);
	}
}

static int overwrite_e_hocl(struct art_op *op, const void *value)
{
	struct far_locks *locks = far_task_far(op->task)->locks;
	struct far_lock lock = { .addr = op->leaf_addr, .task = op->task };
	uint64_t head = op->leaf->head;
	struct far_lock *heir;
	int err;

	err = far_lock_enter(locks, &lock);
	if (err)
		return err;
	err = lock.handed ? 0 : head_take(op);
	if (err)
		goto leave;
	heir = lock.row < FAR_LOCK_ROW ? far_lock_heir(locks, &lock) : NULL;
	if (heir)
		op->leaf->head = head_locked(head);
	memcpy(op->leaf->data, value, 8);
	far_write(op->task, op->leaf_addr, op->leaf, ART_LEAF_HEAD + 8);
	err = far_sync(op->task);
	op->unsure = err != 0;
	if (heir && !err) {
		heir->handed = true;
		heir->row = lock.row + 1;
	}
leave:
	far_lock_leave(locks, &lock);
	return err;
}

/* The paper's variants go on as overwrite() of art/store.c does. */
static int overwritten(struct art_op *op, int err)
{
	if (err == -EAGAIN) {
		art_lost(op);
		op->trust = op->step.depth;
	}
	return err;
}

static int smart_overwrite(struct art_op *op, const void *value)
{
	return overwritten(op, overwrite_e_hocl(op, value));
}

static int hocl_overwrite(struct art_op *op, const void *value)
{
	return overwritten(op, overwrite_hocl(op, value));
}

/* Takes the lock of the node that op->step is in. */
static int node_lock(struct art_op *op, struct far_lock *lock)
{
	*lock = (struct far_lock){
		.addr = lock_of(op, op->step.node), .kind = FAR_LOCK_PLAIN,
		.data = op->step.node, .len = ART_NODE_HEAD,
		.image = far_buf(op->task, ART_NODE_HEAD),
	};
	return lock->image ? far_lock_take(op->task, lock) : -ENOMEM;
}

static const struct art_variant_ops variants[] = {
	[ART_LOCK_FREE] = { .makes_leaves = true },
	[ART_SMART] = { .overwrite = smart_overwrite, .see = head_see_through },
	[ART_SMART_HOCL] = { .overwrite = hocl_overwrite },
	[ART_ROWEX] = { .makes_leaves = true, .lock = node_lock },
	[ART_TWICE] = { .twice = true },
	[ART_HASTY] = { .hasty = true },
};

void art_set_variant(struct far_art *art, enum art_variant variant)
{
	art->variant = &variants[variant];
}
