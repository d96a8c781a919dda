/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of a NIC in search trees (tsearch), by number: each object begins with its
 * number, a uint32_t.
 */
#ifndef NIC_NUMBERS_H
#define NIC_NUMBERS_H

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

struct nic;

static inline int numbers_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* NULL: no object has this number. */
static inline void *numbers_find(void *const *root, uint32_t number)
{
	void *node = tfind(&number, root, numbers_compare);

	return node ? *(void **)node : NULL;
}

/* -EEXIST: another object has the number; -ENOMEM. */
static inline int numbers_add(void **root, void *object)
{
	void *node = tsearch(object, root, numbers_compare);

	if (!node)
		return -ENOMEM;
	return *(void **)node == object ? 0 : -EEXIST;
}

static inline void numbers_drop(void **root, const void *object)
{
	tdelete(object, root, numbers_compare);
}

/*
 * Destroys all objects of a tree.  What destroy() cannot destroy is only forgotten here:
 * the kernel frees the objects of a device that is gone when its file is closed.
 */
static inline void numbers_empty(struct nic *nic, void **root,
				 void (*destroy)(struct nic *nic, uint32_t number))
{
	while (*root) {
		uint32_t number = **(uint32_t **)*root;
		void *left;

		destroy(nic, number);
		left = numbers_find(root, number);
		if (left) {
			numbers_drop(root, left);
			free(left);
		}
	}
}

#endif /* NIC_NUMBERS_H */
