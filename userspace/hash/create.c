/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creating a table: its first subtables, as if they had been split, and turns, then root
 * and name.
 */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../form/name.h"
#include "shape.h"

#define CREATE_TURNS	65536u	/* bytes of turns that are written at once */

struct create {
	struct form_create form;
	struct far_task *task;
	struct hash_shape shape;
	unsigned nr_shards;
	uint64_t *sub;		/* of shard 0 by suffix, of shard 1, ... */
	size_t nr_sub;		/* allocated so far */
	uint64_t turns[FAR_MAX_NODES];	/* of each shard; FAR_NIL: not yet */
	void *buf;		/* a subtable, registered */
	size_t buf_len;
};

void hash_sub_init(struct hash_sub *head, uint32_t suffix, unsigned shard, unsigned born)
{
	memset(head, 0, sizeof(*head));
	head->magic = HASH_SUB_MAGIC;
	head->suffix = suffix;
	head->shard = shard;
	head->born = born;
	head->counted = suffix ? 0 : HASH_COUNTED;
}

/*
 * A new subtable with that suffix, hash_sub_len() bytes at buf, empty; sub[] are the
 * far addresses of all of its shard, by suffix.
 */
static void sub_fill(void *buf, const struct hash_shape *shape, uint32_t suffix,
		     unsigned shard, const uint64_t *sub)
{
	struct hash_bucket *bucket = (void *)((uint8_t *)buf + HASH_SUB_HEAD);
	struct hash_sub *head = buf;
	unsigned i;

	hash_sub_init(head, suffix, shard, suffix ? 32 - __builtin_clz(suffix) : 0);
	for (i = head->born; i < shape->depth; i++)
		head->sibling[i] = sub[suffix | 1u << i];
	memset(bucket, 0, (size_t)shape->groups * HASH_GROUP);
	for (i = 0; i < 3 * shape->groups; i++)
		if (i % 3 != 1)
			bucket[i].header = hash_idle(shape->depth, suffix);
}

static int create_alloc(struct create *create)
{
	size_t per_shard = (size_t)1 << create->shape.depth;
	size_t nr = per_shard * create->nr_shards;
	unsigned i;
	int err;

	for (; create->nr_sub < nr; create->nr_sub++) {
		err = far_block_alloc(create->task, create->nr_sub / per_shard,
				hash_sub_len(create->shape.groups),
				&create->sub[create->nr_sub]);
		if (err)
			return err;
	}
	for (i = 0; i < create->nr_shards; i++) {
		err = far_block_alloc(create->task, i, HASH_TURNS_LEN, &create->turns[i]);
		if (err)
			return err;
	}
	return far_block_alloc(create->task, 0, hash_root_len(create->nr_shards),
			 &create->form.entry.root);
}

/* Nobody's turn, and no ticket taken. */
static int create_turns(struct create *create, unsigned shard)
{
	uint64_t at;
	size_t part;
	int err = 0;

	memset(create->buf, 0, create->buf_len);
	for (at = 0; at < HASH_TURNS_LEN && !err; at += part) {
		part = HASH_TURNS_LEN - at;
		if (part > create->buf_len)
			part = create->buf_len;
		far_write(create->task, create->turns[shard] + at, create->buf, part);
		err = far_sync(create->task);
	}
	return err;
}

static int create_write(struct create *create)
{
	size_t per_shard = (size_t)1 << create->shape.depth;
	struct hash_root *root = create->buf;
	size_t i;
	int err;

	for (i = 0; i < create->nr_sub; i++) {
		sub_fill(create->buf, &create->shape, i % per_shard, i / per_shard,
			      &create->sub[i - i % per_shard]);
		far_write(create->task, create->sub[i], create->buf,
			  hash_sub_len(create->shape.groups));
		err = far_sync(create->task);
		if (err)
			return err;
	}
	for (i = 0; i < create->nr_shards; i++) {
		err = create_turns(create, i);
		if (err)
			return err;
	}
	*root = (struct hash_root) {
		.magic = HASH_MAGIC,
		.version = HASH_VERSION,
		.groups = create->shape.groups,
		.first_depth = create->shape.depth,
		.nr_shards = create->nr_shards,
	};
	for (i = 0; i < create->nr_shards; i++)
		root->shard[i] = (struct hash_shard) {
			.sub = create->sub[i * per_shard],
			.turns = create->turns[i],
		};
	root->sum = hash_root_sum(root, create->form.entry.root);
	far_write(create->task, create->form.entry.root, root, hash_root_len(create->nr_shards));
	return far_sync(create->task);
}

/* What is built in local memory: a subtable, the root, or as many turns as make sense. */
static size_t create_longest(const struct create *create)
{
	size_t sub = hash_sub_len(create->shape.groups);
	size_t root = hash_root_len(create->nr_shards);
	size_t len = sub > root ? sub : root;

	return len > CREATE_TURNS ? len : CREATE_TURNS;
}

static int create_build(struct form_create *form)
{
	struct create *create = (struct create *)form;
	int err;

	create->buf_len = create_longest(create);
	create->buf = far_buf(create->task, create->buf_len);
	err = create->buf ? create_alloc(create) : -ENOMEM;
	return err ? err : create_write(create);
}

static void create_undo(struct form_create *form)
{
	struct create *create = (struct create *)form;
	unsigned i;

	if (form->entry.root)
		far_block_free(create->task, form->entry.root, hash_root_len(create->nr_shards));
	form->entry.root = FAR_NIL;
	for (i = 0; i < create->nr_shards; i++) {
		if (create->turns[i])
			far_block_free(create->task, create->turns[i], HASH_TURNS_LEN);
		create->turns[i] = FAR_NIL;
	}
	while (create->nr_sub)
		far_block_free(create->task, create->sub[--create->nr_sub],
			 hash_sub_len(create->shape.groups));
}

int far_hash_create(struct far_task *task, const char *name,
		    const struct far_hash_attr *attr, struct far_hash **ret_hash)
{
	struct create create = {
		.form = {
			.run = { .task = task },
			.entry = { .type = FAR_TYPE_HASH, .version = HASH_VERSION },
			.build = create_build, .undo = create_undo,
		},
		.task = task,
		.nr_shards = far_task_far(task)->nr_nodes,
	};
	uint64_t *param = create.form.entry.param;
	int err = hash_shape_of(attr ? attr->expected : 0, create.nr_shards, &create.shape);

	if (err)
		return err;
	create.sub = calloc((size_t)create.nr_shards << create.shape.depth,
			    sizeof(*create.sub));
	if (!create.sub)
		return -ENOMEM;
	param[HASH_PARAM_GROUPS] = create.shape.groups;
	param[HASH_PARAM_SHARDS] = create.nr_shards;
	err = form_create(&create.form, name);
	free(create.sub);
	return err ? err : far_hash_open(task, name, ret_hash);
}
