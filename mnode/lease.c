// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lease policy: max-min fairness over what is wanted, by water-filling.
 */
#include <errno.h>
#include "lease.h"

#define MAX_SLACK	256
#define MIN_SLACK	16
/* What a newcomer's ring is filled with before it is answered: 16 GB. */
#define MAX_FIRST	(1ull << 22)
#define MIN_HEADROOM	64
#define OVERDRAFT	1024
/* One in so many pages is what newcomers hold together who have not shown
 * themselves. */
#define UNSEEN_SHARE	8

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, not below 0 */
static uint64_t over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

bool lease_promise_stands(const struct lease *l)
{
	return l->promised && !l->corrected;
}

uint64_t lease_default_slack(uint64_t pages)
{
	return max(MIN_SLACK, min(MAX_SLACK, pages / 256));
}

/* What it says it needs. */
static uint64_t need(const struct lease *l)
{
	return min(l->cap, max(l->want, l->used));
}

/* What it would do well to have, when nobody is the poorer for it. */
static uint64_t wish(const struct lease *l)
{
	uint64_t grow = l->used > l->granted / 4 * 3 ? 2 * l->used : 0;

	return min(l->cap, max(max(need(l), l->granted), grow));
}

/* Below this it is not cut. */
static uint64_t lease_floor(const struct lease *l)
{
	return min(l->cap, l->used + max(MIN_HEADROOM, l->used / 16));
}

bool lease_differs(const struct lease *l)
{
	return l->target != l->granted || lease_promise_stands(l);
}

/* What lenders reckon with for it besides its pages. */
static uint64_t slack_of(const struct lease *l)
{
	return l->unseen && !l->ceiling ? 0 : l->slack;
}

static uint64_t unleased(const struct lease *const *all, size_t nr,
			 uint64_t budget)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += all[i]->ceiling + slack_of(all[i]);
	return over(budget, sum);
}

/* What all those have who have not shown themselves: anybody can come so. */
static bool many_unseen(const struct lease *const *all, size_t nr,
			uint64_t budget)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += all[i]->unseen ? all[i]->ceiling + slack_of(all[i]) : 0;
	return sum >= budget / UNSEEN_SHARE;
}

int lease_open(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t cap, uint64_t slack, struct lease *ret_lease)
{
	uint64_t free = over(unleased(all, nr, budget), slack);
	uint64_t idle = 0, first, now;
	size_t i;

	for (i = 0; i < nr; i++)
		idle += over(all[i]->ceiling, lease_floor(all[i]));
	if (!cap || (!free && !idle))
		return -ENOSPC;
	first = min(min(cap, nr ? free / 2 : free), MAX_FIRST);
	now = many_unseen(all, nr, budget) ? 0 : min(first, LEASE_FIRST);
	*ret_lease = (struct lease){
		.cap = cap, .slack = slack, .promised = first, .unseen = true,
		.granted = first, .ceiling = now, .held = first, .target = now,
	};
	return 0;
}

int lease_keep(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t pages, struct lease *l)
{
	l->unseen = false;
	if (!l->promised)
		return 0;
	if (l->corrected || l->promised + l->slack > pages ||
	    l->promised - l->ceiling > unleased(all, nr, budget))
		return -EAGAIN;
	l->ceiling = l->target = l->promised;
	l->promised = 0;
	return 0;
}

void lease_lower(struct lease *l, uint64_t pages)
{
	uint64_t most = over(pages, l->slack);

	if (!lease_promise_stands(l))
		return;
	l->ceiling = min(l->ceiling, most);
	l->target = l->ceiling;
}

void lease_beat(struct lease *l, uint64_t used, uint64_t want, uint64_t held,
		bool reachable)
{
	/* It counts a page before it looks whether it may take it. */
	if (over(max(used, held), max(l->ceiling, l->promised)) > OVERDRAFT)
		l->overdrawn = true;
	l->used = min(used, l->cap);
	l->want = want;
	l->held = held;
	l->reachable = reachable;
	if (l->writing)
		return;
	if (l->beats < LEASE_SETTLE_BEATS)
		l->beats++;
	if (lease_promise_stands(l))
		return;
	/* One that says so has read the grant. */
	if (held <= l->granted || l->beats == LEASE_SETTLE_BEATS)
		l->promised = 0;
	if (l->beats == LEASE_SETTLE_BEATS)
		l->ceiling = max(l->granted, min(l->ceiling, held));
}

void lease_grant(struct lease *l)
{
	l->granted = l->target;
	l->corrected = l->promised;
	l->ceiling = max(l->ceiling, l->granted);
	l->writing = true;
	l->beats = 0;
}

void lease_granted(struct lease *l)
{
	l->writing = false;
}

void lease_detach(struct lease *l)
{
	l->reachable = false;
	l->writing = false;
	l->beats = 0;
}

static bool open_to_change(const struct lease *l)
{
	return l->reachable && !l->writing && !l->unseen;
}

/* ---- water-filling ------------------------------------------------------ */

typedef uint64_t (*level_fn)(const struct lease *l, uint64_t level);

static uint64_t sum_at(struct lease *const *all, size_t nr, level_fn fn,
		       uint64_t level)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += fn(all[i], level);
	return sum;
}

/* The highest level up to top at which the sum is at most limit. */
static uint64_t rise(struct lease *const *all, size_t nr, level_fn fn,
		     uint64_t limit, uint64_t top)
{
	uint64_t low = 0, high = top;

	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (sum_at(all, nr, fn, mid) <= limit)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static uint64_t fill_need(const struct lease *l, uint64_t level)
{
	return min(need(l), level);
}

/* What raising everybody's target towards need, up to level, takes out of the
 * unleased pages.  What the CNode may believe already costs nothing. */
static uint64_t cost_need(const struct lease *l, uint64_t level)
{
	if (!open_to_change(l))
		return 0;
	return over(min(need(l), level), max(l->target, l->ceiling));
}

static uint64_t cost_wish(const struct lease *l, uint64_t level)
{
	if (!open_to_change(l))
		return 0;
	return over(min(wish(l), level), max(l->target, l->ceiling));
}

static void raise_to(struct lease *l, uint64_t goal)
{
	if (open_to_change(l))
		l->target = max(l->target, goal);
}

/* Raises towards need(), poorest first.  Returns what is left. */
static uint64_t raise_needs(struct lease *const *all, size_t nr, uint64_t free,
			    uint64_t top)
{
	uint64_t level = rise(all, nr, cost_need, free, top);
	size_t i;

	free -= sum_at(all, nr, cost_need, level);
	for (i = 0; i < nr; i++)
		raise_to(all[i], min(need(all[i]), level));
	return free;
}

static void raise_wishes(struct lease *const *all, size_t nr, uint64_t free,
			 uint64_t top)
{
	uint64_t level = rise(all, nr, cost_wish, free, top);
	size_t i;

	for (i = 0; i < nr; i++)
		raise_to(all[i], min(wish(all[i]), level));
}

/* Cuts the richest, down to what they keep and to their fair share, until that
 * covers what others lack of theirs. */
static void cut(struct lease *const *all, size_t nr, uint64_t fair,
		uint64_t free)
{
	uint64_t lack = 0, coming = free, low = 0, high = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		lack += over(fill_need(all[i], fair), all[i]->target);
		coming += over(all[i]->ceiling, all[i]->target);
		high = max(high, all[i]->target);
	}
	if (lack <= coming)
		return;
	lack -= coming;
	/* The highest line that, when all cut down to it, gives enough. */
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2, sum = 0;

		for (i = 0; i < nr; i++) {
			struct lease *l = all[i];
			uint64_t floor = max(fill_need(l, fair), lease_floor(l));

			if (open_to_change(l))
				sum += over(l->target, max(floor, mid));
		}
		if (sum >= lack)
			low = mid;
		else
			high = mid - 1;
	}
	for (i = 0; i < nr; i++) {
		struct lease *l = all[i];
		uint64_t floor = max(max(fill_need(l, fair), lease_floor(l)), low);

		if (open_to_change(l) && l->target > floor)
			l->target = floor;
	}
}

void lease_plan(struct lease *const *all, size_t nr, uint64_t budget)
{
	uint64_t free = unleased((const struct lease *const *)all, nr, budget);
	bool lacking = false;
	uint64_t fair;
	size_t i;

	for (i = 0; i < nr; i++) {
		all[i]->target = lease_promise_stands(all[i]) ? all[i]->ceiling :
							  all[i]->granted;
		budget = over(budget, all[i]->slack);
	}
	fair = rise(all, nr, fill_need, budget, budget);
	free = raise_needs(all, nr, free, budget);
	for (i = 0; i < nr; i++)
		lacking |= all[i]->target < need(all[i]);
	if (lacking)
		cut(all, nr, fair, free);
	else
		raise_wishes(all, nr, free, budget);
}
