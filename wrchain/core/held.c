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

static __u64 load_host64(const __u8 *p)
{
	__u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/**
 * struct stop - where an instance stands
 * @bb:		its blocks that have been executed; 0: it does not run
 */
struct stop {
	const struct wrc_prog *prog;
	const struct wrc_geom *geom;
	const __u8 *arena;
	__u32 instance, bb;
};

/* False, too, of an instruction that there is not. */
static bool insn_is_done(const struct stop *s, __u8 insn)
{
	const struct wrc_insn *i;

	if (insn == WRC_NONE)
		return false;
	i = &s->prog->insn[insn];
	return s->bb >= (__u32)i->bb + i->nr_bb;
}

static const __u8 *ref_at(const struct stop *s, struct wrc_ref ref)
{
	return s->arena + wrc_arena_off(s->prog, s->geom, ref, s->instance);
}

/*
 * Translation in the NIC: the slot's key says already, or still, what the table
 * does not.  The table is to follow.
 */
static void held_translated(const struct stop *s, struct wrc_held *held)
{
	held->home = held->page != 0;
	if (held->home)
		held->tt_addr = load_be64(ref_at(s, wrc_field(s->prog->map,
							      WRC_F_RADDR, 0)));
}

/*
 * The register is the page that the receive entry takes.  When that has become
 * the entry's, it is what was there; and then, if there was nothing, what has
 * been taken from the ring.
 */
static void held_register(const struct stop *s, struct wrc_held *held)
{
	const struct wrc_hold *h = &s->prog->hold;

	if (!insn_is_done(s, h->swapped))
		held->page = load_be64(ref_at(s, wrc_at(WRC_SP_RECV)));
	else if (!insn_is_done(s, h->page_taken))
		held->page = load_be64(ref_at(s, h->old));
	else
		held->page = load_be64(ref_at(s, h->page));
	/* And what a store met that was the wrong one: of two at a time it may be
	 * the first one's UMR that came last. */
	if (insn_is_done(s, h->umr) && !insn_is_done(s, h->page_taken))
		held_translated(s, held);
	if (!insn_is_done(s, h->slot_taken))
		return;
	/* In the slot still; or it was empty, and what comes is behind head. */
	if (!insn_is_done(s, h->page_taken) || !held->page)
		held->slot = load_host64(ref_at(s, h->slot));
}

static void held_lent(const struct stop *s, struct wrc_held *held)
{
	const struct wrc_hold *h = &s->prog->hold;

	if (!insn_is_done(s, h->page_taken) || insn_is_done(s, h->page_put))
		return;
	held->page = load_be64(ref_at(s, h->page));
	held->home = held->page != 0;
	if (held->home)
		held->tt_addr = load_be64(ref_at(s, h->tt));
}

static void held_moving(const struct stop *s, struct wrc_held *held)
{
	const struct wrc_hold *h = &s->prog->hold;
	__u64 page = load_be64(ref_at(s, h->page));
	__u64 slot = load_host64(ref_at(s, h->slot));

	if (insn_is_done(s, h->page_taken)) {
		if (!insn_is_done(s, h->page_put))
			held->page = page;
		/* Freeing: the slot waits for the page.  Allocating: it was
		 * empty, and whatever comes into it is behind the head. */
		if (h->freeing ? held->page != 0 : page == 0)
			held->slot = slot;
	} else if (!h->freeing) {
		held->slot = slot;
	}
	if (!insn_is_done(s, h->slot_taken))
		held->slot = 0;
	if (h->umr != WRC_NONE && !insn_is_done(s, h->umr))
		held_translated(s, held);
}

int wrc_held_of(const struct wrc_prog *prog, const struct wrc_geom *geom,
		const void *arena, __u16 loop_bb, __u32 instance,
		struct wrc_held *ret_held)
{
	__u32 ring = loop_bb & ((1u << geom->log_loop_sq) - 1);
	struct stop s = { prog, geom, arena, instance, 0 };

	memset(ret_held, 0, sizeof(*ret_held));
	if (instance >= geom->depth)
		return -ERANGE;
	if (ring / geom->loop_bb == instance)
		s.bb = ring % geom->loop_bb;
	if (wrc_has_register(prog))
		held_register(&s, ret_held);
	else if (prog->hold.lent)
		held_lent(&s, ret_held);
	else if (prog->hold.page_put != WRC_NONE)
		held_moving(&s, ret_held);
	return 0;
}

int wrc_held_page(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const void *arena, __u16 loop_bb, struct wrc_held *ret_held)
{
	__u32 ring = loop_bb & ((1u << geom->log_loop_sq) - 1);

	return wrc_held_of(prog, geom, arena, loop_bb, ring / geom->loop_bb,
			   ret_held);
}
