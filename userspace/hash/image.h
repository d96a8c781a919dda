/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables made at once, by writing into the memory of the memory nodes: for benchmarks
 * with more keys than anybody wants to insert, and for nothing else. Not installed.
 */
#ifndef FAR_HASH_IMAGE_H
#define FAR_HASH_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <far/hash.h>

struct far_hash_image {
	uint64_t nr_keys;
	size_t key_len;		/* 1 to 64 */
	size_t value_len;	/* 0 to 4,096 */
	/* base[node]: that node's space in memory, offset 0 first */
	void *const *base;
	/*
	 * Writes key and value number i, 0 to nr_keys - 1; keys differ from each other.
	 * NULL: i, little-endian, in 8 bytes, with zeros behind; and zeros.
	 */
	void (*key)(void *arg, uint64_t i, void *buf);
	void (*value)(void *arg, uint64_t i, void *buf);
	void *arg;
};

/*
 * Creates a table of that name with these keys, and opens it. Nobody else is at work
 * in the space. Errors as far_hash_create(); -EINVAL: a length.
 */
int far_hash_image(struct far_task *task, const char *name,
		   const struct far_hash_image *image, struct far_hash **ret_hash);

#endif
