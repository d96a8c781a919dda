/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trees made at once, by writing into the memory of the memory nodes: for benchmarks with
 * more keys than anybody wants to insert, and for nothing else. Not installed.
 */
#ifndef FAR_BTREE_IMAGE_H
#define FAR_BTREE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <far/btree.h>

struct far_btree_image {
	uint64_t nr_keys;		/* at least 1 */
	struct far_btree_attr attr;
	/* base[node]: that node's space in memory, offset 0 first */
	void *const *base;
	/* Writes key and value number i, 0 to nr_keys - 1; keys differ from each other. */
	void (*key)(void *arg, uint64_t i, void *buf);
	void (*value)(void *arg, uint64_t i, void *buf);
	void *arg;
};

/*
 * Creates a tree of that name with these keys, and opens it; its nodes are seven tenths
 * full, as after random inserts. Nobody else is at work in the space. Errors as
 * far_btree_create().
 */
int far_btree_image(struct far_task *task, const char *name,
		    const struct far_btree_image *image, struct far_btree **ret_tree);

#endif
