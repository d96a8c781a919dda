// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slabs between the pool and a session: lend.h and slabs.h say when. A slab that is given
 * back goes this way: its key away, the NIC confirms by a READ that what it has written is
 * there, then the pages are the pool's. They are cleared when they leave the pool.
 */
#include <errno.h>
#include "lend.h"

/* Makes one slab. The CNode reads the table after its first I/O connection, and then only
 * because of a grant. */
static int slab_lend(struct lender *l, struct sess *s)
{
	int r = lend_pages(l) < ODRP_WIRE_SLAB_PAGES ? -ENOMEM :
		slabs_add(&s->slabs, s->owner);

	if (r)
		return r;
	s->slabs.untold = s->had_queue;
	s->lent += ODRP_WIRE_SLAB_PAGES;
	l->nr_lent += ODRP_WIRE_SLAB_PAGES;
	return 0;
}

static bool lacks_slabs(const struct sess *s)
{
	return lend_about(s) + ODRP_WIRE_SLAB_PAGES <= lend_goal(s);
}

/*
 * Cuts a slab beyond the goal, if the CNode holds it no more. A grant that the CNode may not have
 * read may have it take a slab that its last heartbeat has not named.
 */
static enum lend_todo slab_cut(struct lender *l, struct sess *s)
{
	uint32_t nr = lease_settled(&s->lease) ? slabs_idle(&s->slabs) : SLABS_NONE;

	if (nr == SLABS_NONE)
		return LEND_NOTHING;
	if (slabs_cut(&s->slabs, nr))
		return LEND_NOTHING;
	s->ended = far_fence_end(&l->fence);
	s->owing_ms = 0;
	return LEND_WAIT;
}

/* Gives the pages of a cut slab to the pool. -EBUSY: the NIC has not confirmed yet. */
static int slab_return(struct lender *l, struct sess *s)
{
	if (!lend_fenced(l, s))
		return -EBUSY;
	slabs_return(&s->slabs);
	s->lent -= ODRP_WIRE_SLAB_PAGES;
	l->nr_back += ODRP_WIRE_SLAB_PAGES;
	return -EAGAIN;
}

/* Slabs that are cut go back before others are cut: one fence is for each. */
enum lend_todo lend_slabs(struct lender *l, struct sess *s)
{
	if (s->slabs.failed)
		return LEND_NOTHING;
	if (s->slabs.nr_cut)
		return slab_return(l, s) == -EBUSY ? LEND_WAIT : LEND_MORE;
	if (lacks_slabs(s))
		return slab_lend(l, s) ? LEND_NOTHING : LEND_MORE;
	return lend_about(s) > lend_goal(s) ? slab_cut(l, s) : LEND_NOTHING;
}

/* Free pages of the pool may lie in pieces: then the CNode has fewer slabs than its lease. */
int lend_fill_slabs(struct lender *l, struct sess *s)
{
	if (s->slabs.nr_cut)
		return slab_return(l, s);
	if (!lacks_slabs(s))
		return 0;
	if (slab_lend(l, s))
		return lease_promise_stands(&s->lease) ? -ENOMEM : 0;
	return lacks_slabs(s) ? -EAGAIN : 0;
}
