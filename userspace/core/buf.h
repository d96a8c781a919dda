/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registered memory. A thread has segments, each mapped and registered on its own: the
 * first one is for all its tasks in equal parts, others are made when a task needs more
 * and are kept for the next one. Any task of the thread may name memory of any segment.
 *
 * A task's arena is a stack of pieces: its part of the first segment, then a segment
 * each. Marks and releases move its top.
 */
#ifndef FAR_CORE_BUF_H
#define FAR_CORE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "../base/pages.h"
#include "../nic/nic.h"

#define FAR_BUF_ALIGN	64u
#define FAR_BUF_MARK_BITS	48	/* of a mark: far_arena_mark() */
#define FAR_BUF_PART	16384u		/* bytes of the first segment that a task has */
#define FAR_BUF_KEEP	(16u << 20)	/* bytes of free segments that a thread keeps */

struct far_segment {
	char *base;
	size_t size;
	struct far_pages pages;
	uint32_t lkey;
	struct far_segment *next;	/* of the thread's list of all */
	struct far_segment *below;	/* in an arena; or the next free one */
};

struct far_bufs {
	struct far_nic *nic;
	struct far_segment first;	/* first.next: all others */
	struct far_segment *free;
	size_t kept;			/* bytes in free */
	int refused;			/* the last error of a registration */
};

struct far_arena {
	char *part;			/* of the first segment */
	struct far_segment *top;	/* NULL: the part is the top */
	unsigned depth;			/* number of pieces above the part */
	char *base;			/* of the top piece: */
	size_t size, used;		/* bytes */
};

/* -ENOMEM, and what mr_reg() answers. extra: bytes for the thread itself, at the end. */
int far_bufs_init(struct far_bufs *bufs, struct far_nic *nic, unsigned nr_tasks,
		  size_t extra);
void far_bufs_fini(struct far_bufs *bufs);
/* The bytes that far_bufs_init() was given in `extra`. */
void *far_bufs_extra(struct far_bufs *bufs, unsigned nr_tasks);

void far_arena_init(struct far_arena *arena, struct far_bufs *bufs, unsigned task);
/* The slow halves of far_arena_get() and far_arena_release(). */
void *far_arena_more(struct far_arena *arena, struct far_bufs *bufs, size_t len);
void far_arena_shrink(struct far_arena *arena, struct far_bufs *bufs, unsigned depth);

/* As far_buf() and its companions. */
static inline void *far_arena_get(struct far_arena *arena, struct far_bufs *bufs,
				  size_t len)
{
	size_t used = (len + FAR_BUF_ALIGN - 1) & ~(size_t)(FAR_BUF_ALIGN - 1);
	char *addr = arena->base + arena->used;

	if (len > FAR_NIC_MAX_LEN)
		return NULL;
	if (used > arena->size - arena->used)
		return far_arena_more(arena, bufs, used);
	arena->used += used;
	return addr;
}

/* Bytes used of the top piece below, number of pieces above. */
static inline size_t far_arena_mark(const struct far_arena *arena)
{
	return (size_t)arena->depth << FAR_BUF_MARK_BITS | arena->used;
}

static inline void far_arena_release(struct far_arena *arena, struct far_bufs *bufs,
				     size_t mark)
{
	if (arena->depth > mark >> FAR_BUF_MARK_BITS)
		far_arena_shrink(arena, bufs, mark >> FAR_BUF_MARK_BITS);
	arena->used = mark & (((size_t)1 << FAR_BUF_MARK_BITS) - 1);
}

static inline int far_segment_has(const struct far_segment *segment, const void *addr,
				  size_t len)
{
	size_t off = (uintptr_t)addr - (uintptr_t)segment->base;

	return off < segment->size && len <= segment->size - off;
}

/* The search behind far_bufs_lkey(), which tries the first segment itself. */
int far_bufs_find(const struct far_bufs *bufs, const struct far_arena *arena,
		  const void *addr, size_t len, uint32_t *ret_lkey);

/* The key of [addr, addr + len). -EFAULT: it lies in no segment. */
static inline int far_bufs_lkey(const struct far_bufs *bufs, const struct far_arena *arena,
				const void *addr, size_t len, uint32_t *ret_lkey)
{
	if (!far_segment_has(&bufs->first, addr, len))
		return far_bufs_find(bufs, arena, addr, len, ret_lkey);
	*ret_lkey = bufs->first.lkey;
	return 0;
}

#endif
