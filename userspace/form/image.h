/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structures filled at once, by writing into the memory of the memory nodes: for benchmarks
 * with more keys than anybody wants to insert, and for nothing else. Nobody else uses the
 * space meanwhile. Not installed.
 */
#ifndef FAR_FORM_IMAGE_H
#define FAR_FORM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#define FORM_IMAGE_MAX_VALUE	4096u

struct far_task;

struct form_image {
	uint64_t nr_keys;		/* at least 1 */
	size_t key_len, value_len;
	void *const *base;		/* base[node]: offset 0 of that node's space */
	/* Writes key and value number i, 0 to nr_keys - 1; keys differ from each other. */
	void (*key)(void *arg, uint64_t i, void *buf);
	void (*value)(void *arg, uint64_t i, void *buf);
	void *arg;
};

static inline void *form_image_at(void *const *base, uint64_t addr)
{
	return (uint8_t *)base[far_addr_node(addr)] + far_addr_off(addr);
}

/* Calls one() with each number, in epochs. */
int form_image_fill(struct far_task *task, const struct form_image *image,
		    int (*one)(void *arg, uint64_t i), void *arg);

#endif
