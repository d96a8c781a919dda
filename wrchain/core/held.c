// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a stopped queue holds.  The loop queue runs one instance at a time, in
 * order, so that its position tells which registers are alive.
 */
#include "link.h"

static __u64 load_be64(const __u8 *p)
{
	__be64 v;

	memcpy(&v, p, sizeof(v));
	return be64_to_cpu(v);
}

/* The counters of the free ring are in host byte order, and so is a copy. */
static __u64 load_host64(const __u8 *p)
{
	__u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool done(const struct wrc_prog *prog, __u8 insn, __u32 bb)
{
	const struct wrc_insn *i = &prog->insn[insn];

	return bb >= (__u32)i->bb + i->nr_bb;
}

int wrc_held_page(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const void *arena, __u16 loop_bb, struct wrc_held *ret_held)
{
	const struct wrc_hold *h = &prog->hold;
	__u32 ring = loop_bb & ((1u << geom->log_loop_sq) - 1);
	__u32 instance = ring / geom->loop_bb;
	__u32 bb = ring % geom->loop_bb;
	const __u8 *mem = arena;
	__u64 page, slot;

	memset(ret_held, 0, sizeof(*ret_held));
	if (h->page_put == WRC_NONE)
		return 0;
	page = load_be64(mem + wrc_arena_off(prog, geom, h->page, instance));
	slot = load_host64(mem + wrc_arena_off(prog, geom, h->slot, instance));

	if (done(prog, h->page_taken, bb)) {
		if (!done(prog, h->page_put, bb))
			ret_held->page = page;
		/* Freeing: the slot waits for the page.  Allocating: it was
		 * empty, and whatever comes into it is behind the head. */
		if (h->freeing ? ret_held->page != 0 : page == 0)
			ret_held->slot = slot;
	} else if (!h->freeing) {
		ret_held->slot = slot;
	}
	if (!done(prog, h->slot_taken, bb))
		ret_held->slot = 0;
	return 0;
}
