/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A structure by a table of functions: for what runs on any of them.
 */
#ifndef FAR_BENCH_INDEX_OPS_H
#define FAR_BENCH_INDEX_OPS_H

#include <stddef.h>
#include <stdint.h>

#include <far/far.h>
#include <far/modify.h>
#include <far/range.h>

/* The size and shape that a structure is made for; 0: its default. */
struct index_shape {
	uint64_t keys;
	unsigned key_size, value_size, span;
};

/* Functions as those of <far/hash.h>. NULL: the structure has none. */
struct index_ops {
	const char *name;
	int (*create)(struct far_task *task, const char *name,
		      const struct index_shape *shape, void **ret_index);
	int (*open)(struct far_task *task, const char *name, void **ret_index);
	void (*close)(void *index);
	int (*destroy)(struct far_task *task, const char *name);
	int (*get)(struct far_task *task, void *index, const void *key, size_t key_len,
		   void *value, size_t value_size, size_t *ret_len);
	int (*put)(struct far_task *task, void *index, const void *key, size_t key_len,
		   const void *value, size_t value_len);
	int (*insert)(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len);
	int (*update)(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len);
	int (*remove)(struct far_task *task, void *index, const void *key, size_t key_len);
	int (*modify)(struct far_task *task, void *index, const void *key, size_t key_len,
		      far_modify_fn *modify, void *arg);
	int (*scan)(struct far_task *task, void *index, const struct far_range *range,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg);
};

extern const struct index_ops index_ops_hash, index_ops_btree, index_ops_art;

#endif
