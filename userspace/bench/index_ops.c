// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The structures as tables of functions, each with its own type behind the handle.
 */
#include "index_ops.h"

#include <far/art.h>
#include <far/btree.h>
#include <far/hash.h>

/* create: far_KIND_create() with its arguments, of task, name, shape and &index. */
#define KIND_OPS(KIND, create)								\
	static int KIND##_create(struct far_task *task, const char *name,		\
				 const struct index_shape *shape, void **ret_index)	\
	{										\
		struct far_##KIND *index;						\
		int err = create;							\
											\
		(void)shape;								\
		if (!err)								\
			*ret_index = index;						\
		return err;								\
	}										\
	static int KIND##_open(struct far_task *task, const char *name, void **ret_index) \
	{										\
		struct far_##KIND *index;						\
		int err = far_##KIND##_open(task, name, &index);			\
											\
		if (!err)								\
			*ret_index = index;						\
		return err;								\
	}										\
	static void KIND##_close(void *index)						\
	{										\
		far_##KIND##_close(index);						\
	}										\
	static int KIND##_get(struct far_task *task, void *index, const void *key,	\
			      size_t key_len, void *value, size_t value_size,		\
			      size_t *ret_len)						\
	{										\
		return far_##KIND##_get(task, index, key, key_len, value, value_size,	\
					ret_len);					\
	}										\
	KIND_STORE(KIND, put)								\
	KIND_STORE(KIND, insert)							\
	KIND_STORE(KIND, update)							\
	static int KIND##_remove(struct far_task *task, void *index, const void *key,	\
				 size_t key_len)					\
	{										\
		return far_##KIND##_delete(task, index, key, key_len);			\
	}

#define KIND_STORE(KIND, store)								\
	static int KIND##_##store(struct far_task *task, void *index, const void *key,	\
				  size_t key_len, const void *value, size_t value_len)	\
	{										\
		return far_##KIND##_##store(task, index, key, key_len, value, value_len); \
	}

#define KIND_MODIFY(KIND)								\
	static int KIND##_modify(struct far_task *task, void *index, const void *key,	\
				 size_t key_len, far_modify_fn *modify, void *arg)	\
	{										\
		return far_##KIND##_modify(task, index, key, key_len, modify, arg);	\
	}

#define KIND_SCAN(KIND)									\
	static int KIND##_scan(struct far_task *task, void *index,			\
			       const struct far_range *range,				\
			       int (*each)(void *arg, const void *key, size_t key_len,	\
					   const void *value, size_t value_len),	\
			       void *arg)						\
	{										\
		return far_##KIND##_scan(task, index, range, each, arg);		\
	}

#define KIND_TABLE(KIND)								\
	.name = #KIND, .create = KIND##_create, .open = KIND##_open,			\
	.close = KIND##_close, .destroy = far_##KIND##_destroy, .get = KIND##_get,	\
	.put = KIND##_put, .insert = KIND##_insert, .update = KIND##_update,		\
	.remove = KIND##_remove

KIND_OPS(hash, far_hash_create(task, name,
			       &(struct far_hash_attr){ .expected = shape->keys }, &index))
KIND_MODIFY(hash)

KIND_OPS(btree, far_btree_create(task, name, &(struct far_btree_attr){
				 .key_size = shape->key_size, .value_size = shape->value_size,
				 .span = shape->span }, &index))
KIND_MODIFY(btree)
KIND_SCAN(btree)

KIND_OPS(art, far_art_create(task, name, &index))
KIND_MODIFY(art)
KIND_SCAN(art)

const struct index_ops index_ops_hash = { KIND_TABLE(hash), .modify = hash_modify };
const struct index_ops index_ops_btree = {
	KIND_TABLE(btree), .modify = btree_modify, .scan = btree_scan,
};
const struct index_ops index_ops_art = {
	KIND_TABLE(art), .modify = art_modify, .scan = art_scan,
};
