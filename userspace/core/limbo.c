// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments in a list: the writer adds behind, the reader takes in front and frees.
 */
#include "limbo.h"

#include <errno.h>
#include <stdlib.h>

int far_limbo_init(struct far_limbo *limbo)
{
	limbo->tail = calloc(1, sizeof(*limbo->tail));
	limbo->head = limbo->tail;
	return limbo->tail ? 0 : -ENOMEM;
}

void far_limbo_fini(struct far_limbo *limbo)
{
	struct far_limbo_seg *seg, *next;

	for (seg = limbo->head; seg; seg = next) {
		next = atomic_load(&seg->next);
		free(seg);
	}
}

int far_limbo_put(struct far_limbo *limbo, const struct far_retired *item)
{
	struct far_limbo_seg *seg = limbo->tail;
	uint32_t put = atomic_load_explicit(&seg->put, memory_order_relaxed);

	if (put == FAR_LIMBO_SEG) {
		struct far_limbo_seg *next = calloc(1, sizeof(*next));

		if (!next)
			return -ENOMEM;
		/* pairs with the acquire in far_limbo_peek(): next is all zero */
		atomic_store_explicit(&seg->next, next, memory_order_release);
		limbo->tail = seg = next;
		put = 0;
	}
	seg->item[put] = *item;
	/* pairs with the acquire in far_limbo_peek(): the item is there */
	atomic_store_explicit(&seg->put, put + 1, memory_order_release);
	return 0;
}

const struct far_retired *far_limbo_peek(struct far_limbo *limbo)
{
	struct far_limbo_seg *seg = limbo->head, *next;

	if (seg->got == FAR_LIMBO_SEG) {
		next = atomic_load_explicit(&seg->next, memory_order_acquire);
		if (!next)
			return NULL;
		free(seg);
		limbo->head = seg = next;
	}
	if (seg->got == atomic_load_explicit(&seg->put, memory_order_acquire))
		return NULL;
	return &seg->item[seg->got];
}

void far_limbo_drop(struct far_limbo *limbo)
{
	limbo->head->got++;
}
