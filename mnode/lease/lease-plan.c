// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lease policy: max-min fairness over what the CNodes want, by water-filling. One level,
 * in pages for each unit of weight, divides pages among the shares. Each share has a level
 * of its own, which divides its pages among its leases.
 */
#include "lease-priv.h"

/* The level of shares is in parts of a page, since weights multiply it. */
#define LEVEL_SHIFT	8

/* Never below the ceiling: the CNode goes by it. */
static uint64_t lease_most(const struct lease *l)
{
	return min(l->cap, max(over(l->cap, l->lacking), l->ceiling));
}

/* Pages that the CNode needs, by its last heartbeat. */
static uint64_t lease_need(const struct lease *l)
{
	return min(lease_most(l), max(l->want, l->used));
}

/* Pages that the lease may grow to when no other one lacks pages. */
static uint64_t lease_wish(const struct lease *l)
{
	uint64_t grow = l->used > l->granted / 4 * 3 ? 2 * l->used : 0;

	if (l->asks)
		return lease_need(l);
	return min(lease_most(l), max(max(lease_need(l), l->granted), grow));
}

static bool lease_may_change(const struct lease *l)
{
	return l->reachable && !l->writing && !l->unseen;
}

/* Pages that count as this lease's. Raising it up to the ceiling costs nothing. */
static uint64_t lease_committed(const struct lease *l)
{
	return max(l->target, l->ceiling);
}

/* ---- shares -------------------------------------------------------------------- */

/* Builds the list of shares, each with the list of its leases. A lease without a share
 * gets one of its own. */
static struct lease_share *shares_list(struct lease *const *all, size_t nr)
{
	struct lease_share *list = NULL, *share;
	size_t i;

	for (i = 0; i < nr; i++) {
		all[i]->own = (struct lease_share){ .weight = 1 };
		if (all[i]->share)
			all[i]->share->leases = NULL;
	}
	for (i = 0; i < nr; i++) {
		share = all[i]->share ? all[i]->share : &all[i]->own;
		if (!share->leases) {
			share->next = list;
			list = share;
		}
		all[i]->next = share->leases;
		share->leases = all[i];
	}
	return list;
}

/* The pages of a lease at a level of its share. */
typedef uint64_t (*level_fn)(const struct lease *l, uint64_t level);

static uint64_t need_at(const struct lease *l, uint64_t level)
{
	return min(lease_need(l), level);
}

static uint64_t raised_need_at(const struct lease *l, uint64_t level)
{
	return lease_may_change(l) ? max(lease_committed(l), need_at(l, level)) :
				     lease_committed(l);
}

static uint64_t wish_at(const struct lease *l, uint64_t level)
{
	return min(lease_wish(l), level);
}

static uint64_t raised_wish_at(const struct lease *l, uint64_t level)
{
	return lease_may_change(l) ? max(lease_committed(l), wish_at(l, level)) :
				     lease_committed(l);
}

static uint64_t target_at(const struct lease *l, uint64_t level)
{
	return min(l->target, level);
}

/* At least the pages that are in use. */
static uint64_t used_at(const struct lease *l, uint64_t level)
{
	return min(l->target, max(l->used, level));
}

static uint64_t share_sum(const struct lease_share *share, level_fn fn, uint64_t level)
{
	const struct lease *l;
	uint64_t sum = 0;

	for (l = share->leases; l; l = l->next)
		sum += fn(l, level);
	return sum;
}

/* The highest level at which the share's leases have at most that many pages; or 0. */
static uint64_t share_level(const struct lease_share *share, level_fn fn, uint64_t pages)
{
	uint64_t low = 0, high = pages;

	if (!share->leases->next)
		return pages;
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (share_sum(share, fn, mid) <= pages)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* The pages of a share at a level of shares. */
static uint64_t share_pages_at(const struct lease_share *share, uint64_t level)
{
	uint64_t pages = level * (share->weight ? share->weight : 1) >> LEVEL_SHIFT;

	pages = max(pages, min(share->least, share->held));
	return share->most ? min(pages, share->most) : pages;
}

/* Pages beyond those held that the share's leases need at a level of shares. Sets the
 * share's own level. */
static uint64_t share_cost_at(struct lease_share *share, level_fn fn, uint64_t level)
{
	share->level = share_level(share, fn, share_pages_at(share, level));
	return over(share_sum(share, fn, share->level), share->held);
}

static uint64_t shares_cost_at(struct lease_share *list, level_fn fn, uint64_t level)
{
	uint64_t sum = 0;

	for (; list; list = list->next)
		sum += share_cost_at(list, fn, level);
	return sum;
}

/* Finds the highest level of shares, up to top, that costs at most limit. Sets the level
 * of each share by it, and returns the cost. */
static uint64_t level_find(struct lease_share *list, level_fn fn, uint64_t limit,
			   uint64_t top)
{
	uint64_t low = 0, high = top;

	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (shares_cost_at(list, fn, mid) <= limit)
			low = mid;
		else
			high = mid - 1;
	}
	return shares_cost_at(list, fn, low);
}

/* ---- targets ----------------------------------------------------------------------- */

/* The pages that a lease keeps as long as others lack nothing. It is not lowered again before
 * the CNode has read that it was: else the ceiling of one that falls and falls would stay. */
static uint64_t lease_stays(const struct lease *l)
{
	if (lease_promise_stands(l))
		return l->ceiling;
	if (!l->asks || !lease_may_change(l) || l->ceiling > l->granted)
		return l->granted;
	return min(l->granted, lease_need(l));
}

static void targets_reset(struct lease_share *list)
{
	struct lease *l;

	for (; list; list = list->next) {
		for (l = list->leases; l; l = l->next)
			l->target = lease_stays(l);
	}
}

/* Sets the fair pages of each lease: what it would get if all pages were divided anew. */
static void fair_find(struct lease_share *list, uint64_t budget, uint64_t top)
{
	struct lease_share *share;
	uint64_t left = budget;
	struct lease *l;

	for (share = list; share; share = share->next) {
		share->held = share->least;
		left = over(left, share->least);
	}
	level_find(list, need_at, left, top);
	for (share = list; share; share = share->next)
		for (l = share->leases; l; l = l->next)
			l->fair = need_at(l, share->level);
}

/* Sets the pages that each share holds: those of its leases, and those that are kept for
 * it, without the lack, that is, kept pages that others still have. */
static void shares_count_held(struct lease_share *list, uint64_t lack)
{
	const struct lease *l;
	uint64_t kept, gone;

	for (; list; list = list->next) {
		for (list->held = 0, l = list->leases; l; l = l->next)
			list->held += lease_committed(l);
		kept = over(list->least, list->held);
		gone = min(kept, lack);
		lack -= gone;
		list->held += kept - gone;
	}
}

/* How to raise leases: @plain is the new target of a lease; @raised is what it counts as
 * then, also if it may not change. */
struct raising {
	level_fn plain, raised;
};

static const struct raising needs = { need_at, raised_need_at };
static const struct raising wishes = { wish_at, raised_wish_at };

/* Raises the targets, the smallest first. Returns the free pages that are left. */
static uint64_t targets_raise(struct lease_share *list, const struct raising *by,
			      uint64_t free, uint64_t lack, uint64_t top)
{
	struct lease *l;

	shares_count_held(list, lack);
	free -= level_find(list, by->raised, free, top);
	for (; list; list = list->next)
		for (l = list->leases; l; l = l->next)
			if (lease_may_change(l))
				l->target = max(l->target, by->plain(l, list->level));
	return free;
}

/* Is any target below its fair pages? */
static bool targets_below_fair(const struct lease_share *list)
{
	const struct lease *l;

	for (; list; list = list->next)
		for (l = list->leases; l; l = l->next)
			if (l->target < l->fair)
				return true;
	return false;
}

/* Pages that others must give up so that each lease of the share gets its fair pages. */
static uint64_t share_lack(const struct lease_share *share)
{
	uint64_t lack = 0, held = 0;
	const struct lease *l;

	for (l = share->leases; l; l = l->next) {
		lack += over(l->fair, l->target);
		held += lease_committed(l);
	}
	return over(lack, over(share->least, held));
}

/* The target to which a lease is cut at the level of its share. */
static uint64_t cut_at(const struct lease *l, uint64_t level)
{
	uint64_t keep = max(max(l->fair, lease_floor(l)), target_at(l, level));

	return lease_may_change(l) ? min(l->target, keep) : l->target;
}

static uint64_t shares_freed_at(struct lease_share *list, uint64_t level)
{
	const struct lease *l;
	uint64_t sum = 0;

	for (; list; list = list->next) {
		list->level = share_level(list, target_at, share_pages_at(list, level));
		for (l = list->leases; l; l = l->next)
			sum += l->target - cut_at(l, list->level);
	}
	return sum;
}

/* Cuts the largest targets, but none below its floor or its fair pages, until that covers
 * what others lack of their fair pages, and lack: kept pages that others have. */
static void targets_cut(struct lease_share *list, uint64_t lack, uint64_t free,
			uint64_t top)
{
	uint64_t coming = free, low = 0, high = top;
	struct lease_share *share;
	struct lease *l;

	for (share = list; share; share = share->next) {
		lack += share_lack(share);
		for (l = share->leases; l; l = l->next)
			coming += over(l->ceiling, l->target);
	}
	if (lack <= coming)
		return;
	lack -= coming;
	/* Find the highest level that frees enough when all are cut down to it. */
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (shares_freed_at(list, mid) >= lack)
			low = mid;
		else
			high = mid - 1;
	}
	shares_freed_at(list, low);
	for (share = list; share; share = share->next)
		for (l = share->leases; l; l = l->next)
			l->target = cut_at(l, share->level);
}

/* A share that has its most gets no more pages: moves pages between its leases. */
static void shares_balance(struct lease_share *list)
{
	uint64_t lack, held;
	struct lease *l;

	for (; list; list = list->next) {
		lack = held = 0;
		for (l = list->leases; l; l = l->next) {
			lack += over(l->fair, l->target);
			held += lease_committed(l);
		}
		if (!list->most || lack <= over(list->most, held))
			continue;
		for (l = list->leases; l; l = l->next)
			l->target = cut_at(l, 0);
	}
}

/* Cuts the leases of shares that have more than their most, because it was lowered. */
static void shares_limit(struct lease_share *list)
{
	struct lease *l;
	uint64_t level;

	for (; list; list = list->next) {
		if (!list->most || share_sum(list, target_at, UINT64_MAX) <= list->most)
			continue;
		level = list->leases->next ? share_level(list, used_at, list->most) :
					     list->most;
		for (l = list->leases; l; l = l->next)
			if (lease_may_change(l))
				l->target = used_at(l, level);
	}
}

void lease_plan(struct lease *const *all, size_t nr, uint64_t budget)
{
	const struct lease *const *those = (const struct lease *const *)all;
	uint64_t lack, free = lease_free(those, nr, budget, NULL, &lack), top;
	struct lease_share *list = shares_list(all, nr);
	size_t i;

	for (i = 0; i < nr; i++)
		budget = over(budget, all[i]->slack);
	top = budget << LEVEL_SHIFT;
	targets_reset(list);
	fair_find(list, budget, top);
	free = targets_raise(list, &needs, free, lack, top);
	if (lack || targets_below_fair(list))
		targets_cut(list, lack, free, top);
	else
		targets_raise(list, &wishes, free, 0, top);
	shares_balance(list);
	shares_limit(list);
}
