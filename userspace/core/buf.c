// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registered memory: segments of a thread, arenas of its tasks.
 */
#include "buf.h"

#include <errno.h>
#include <stdlib.h>

#define SEGMENT_MIN	(64u << 10)

static int segment_map(struct far_bufs *bufs, struct far_segment *segment, size_t size)
{
	struct far_nic *nic = bufs->nic;
	int err = far_pages_map(size, &segment->pages);

	if (err)
		return err;
	err = nic->ops->mr_reg(nic, segment->pages.base, size, &segment->lkey);
	if (err) {
		bufs->refused = err;
		far_pages_unmap(&segment->pages);
		return err;
	}
	segment->base = segment->pages.base;
	segment->size = size;
	return 0;
}

static void segment_unmap(struct far_segment *segment, struct far_nic *nic)
{
	nic->ops->mr_dereg(nic, segment->lkey);
	far_pages_unmap(&segment->pages);
}

int far_bufs_init(struct far_bufs *bufs, struct far_nic *nic, unsigned nr_tasks,
		  size_t extra)
{
	*bufs = (struct far_bufs) { .nic = nic };
	return segment_map(bufs, &bufs->first, (size_t)nr_tasks * FAR_BUF_PART + extra);
}

void far_bufs_fini(struct far_bufs *bufs)
{
	while (bufs->first.next) {
		struct far_segment *segment = bufs->first.next;

		bufs->first.next = segment->next;
		segment_unmap(segment, bufs->nic);
		free(segment);
	}
	segment_unmap(&bufs->first, bufs->nic);
}

void *far_bufs_extra(struct far_bufs *bufs, unsigned nr_tasks)
{
	return bufs->first.base + (size_t)nr_tasks * FAR_BUF_PART;
}

/* The arena goes on in that segment; NULL: in its own part. */
static void arena_turn(struct far_arena *arena, struct far_segment *top)
{
	arena->top = top;
	arena->base = top ? top->base : arena->part;
	arena->size = top ? top->size : FAR_BUF_PART;
	arena->used = 0;
}

void far_arena_init(struct far_arena *arena, struct far_bufs *bufs, unsigned task)
{
	*arena = (struct far_arena) {
		.part = bufs->first.base + (size_t)task * FAR_BUF_PART,
	};
	arena_turn(arena, NULL);
}

/* A free segment of at least size bytes, taken from the list, or NULL. */
static struct far_segment *free_take(struct far_bufs *bufs, size_t size)
{
	struct far_segment **at, *segment;

	for (at = &bufs->free; *at; at = &(*at)->below)
		if ((*at)->size >= size)
			break;
	segment = *at;
	if (segment) {
		*at = segment->below;
		bufs->kept -= segment->size;
	}
	return segment;
}

static struct far_segment *segment_new(struct far_bufs *bufs, size_t size)
{
	struct far_segment *segment = malloc(sizeof(*segment));

	if (!segment)
		return NULL;
	if (segment_map(bufs, segment, size)) {
		free(segment);
		return NULL;
	}
	segment->next = bufs->first.next;
	bufs->first.next = segment;
	return segment;
}

/* Takes it out of the list of all, and unmaps it. */
static void segment_free(struct far_bufs *bufs, struct far_segment *segment)
{
	struct far_segment **at = &bufs->first.next;

	while (*at != segment)
		at = &(*at)->next;
	*at = segment->next;
	segment_unmap(segment, bufs->nic);
	free(segment);
}

/* Puts a segment on top of the arena, twice as large as what has to fit. */
static int arena_grow(struct far_arena *arena, struct far_bufs *bufs, size_t len)
{
	size_t size = SEGMENT_MIN;
	struct far_segment *segment;

	while (size < len * 2)
		size *= 2;
	segment = free_take(bufs, size);
	if (!segment)
		segment = segment_new(bufs, size);
	if (!segment)
		return -ENOMEM;
	segment->below = arena->top;
	arena_turn(arena, segment);
	arena->depth++;
	return 0;
}

void *far_arena_more(struct far_arena *arena, struct far_bufs *bufs, size_t len)
{
	if (arena_grow(arena, bufs, len))
		return NULL;
	arena->used = len;
	return arena->base;
}

static void segment_drop(struct far_arena *arena, struct far_bufs *bufs)
{
	struct far_segment *segment = arena->top;

	arena_turn(arena, segment->below);
	arena->depth--;
	if (bufs->kept + segment->size > FAR_BUF_KEEP) {
		segment_free(bufs, segment);
		return;
	}
	segment->below = bufs->free;
	bufs->free = segment;
	bufs->kept += segment->size;
}

void far_arena_shrink(struct far_arena *arena, struct far_bufs *bufs, unsigned depth)
{
	while (arena->depth > depth)
		segment_drop(arena, bufs);
}

int far_bufs_find(const struct far_bufs *bufs, const struct far_arena *arena,
		  const void *addr, size_t len, uint32_t *ret_lkey)
{
	const struct far_segment *segment = &bufs->first;

	if (arena->top && far_segment_has(arena->top, addr, len))
		segment = arena->top;
	while (segment && !far_segment_has(segment, addr, len))
		segment = segment->next;
	if (!segment)
		return -EFAULT;
	*ret_lkey = segment->lkey;
	return 0;
}

_Static_assert(sizeof(size_t) == 8, "a mark has two numbers");
