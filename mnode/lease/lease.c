// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Promises, ceilings and grants of leases; lease-plan.c computes the targets.
 */
#include <errno.h>
#include "lease-priv.h"

#define MAX_SLACK	256
#define MIN_SLACK	16
/* Most pages of a first lease, 16 GB: the ring is filled before the newcomer's first I/O
 * connection is accepted. */
#define MAX_FIRST	(1ull << 22)
/* A CNode with more pages than this beyond its ceiling and promise is overdrawn. */
#define OVERDRAFT	1024
/* When unseen newcomers together have this part of the budget, the next one gets no pages
 * before it is seen. */
#define UNSEEN_SHARE	8

bool lease_promise_stands(const struct lease *l)
{
	return l->promised && !l->corrected;
}

uint64_t lease_default_slack(uint64_t pages)
{
	return max(MIN_SLACK, min(MAX_SLACK, pages / 256));
}

bool lease_differs(const struct lease *l)
{
	return l->target != l->granted || lease_promise_stands(l);
}

/* The slack that the budget counts for the lease. */
static uint64_t lease_slack(const struct lease *l)
{
	return l->unseen && !l->ceiling ? 0 : l->slack;
}

static uint64_t leases_sum(const struct lease *const *all, size_t nr)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += all[i]->ceiling + lease_slack(all[i]);
	return sum;
}

/* Sums over the leases of one share: ceilings, and slack that the budget does not count yet. */
struct held {
	uint64_t pages, slack;
};

static struct held share_held(const struct lease *const *all, size_t nr,
			      const struct lease_share *share)
{
	struct held held = { 0 };
	size_t i;

	for (i = 0; i < nr; i++) {
		if (all[i]->share != share)
			continue;
		held.pages += all[i]->ceiling;
		held.slack += all[i]->slack - lease_slack(all[i]);
	}
	return held;
}

static bool lease_is_first(const struct lease *const *all, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (all[j]->share == all[i]->share)
			return false;
	return true;
}

/* Pages that are kept for shares that have less than their least; but: without this one. */
static uint64_t shares_kept(const struct lease *const *all, size_t nr,
			    const struct lease_share *but)
{
	uint64_t sum = 0;
	struct held held;
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct lease_share *share = all[i]->share;

		if (!share || share == but || !share->least ||
		    !lease_is_first(all, i))
			continue;
		held = share_held(all, nr, share);
		sum += over(share->least, held.pages) + held.slack;
	}
	return sum;
}

uint64_t lease_free(const struct lease *const *all, size_t nr, uint64_t budget,
		    const struct lease_share *share, uint64_t *ret_lack)
{
	uint64_t sum = leases_sum(all, nr) + shares_kept(all, nr, share);

	if (ret_lack)
		*ret_lack = over(sum, budget);
	return over(budget, sum);
}

/* How many more pages a share may get that has that many. */
static uint64_t share_room(const struct lease_share *share, uint64_t pages)
{
	return share && share->most ? over(share->most, pages) : UINT64_MAX;
}

/* Do unseen newcomers have too much of the budget? Anybody can become one. */
static bool leases_many_unseen(const struct lease *const *all, size_t nr,
			       uint64_t budget)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += all[i]->unseen ? all[i]->ceiling + lease_slack(all[i]) : 0;
	return sum >= budget / UNSEEN_SHARE;
}

int lease_open(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t cap, uint64_t slack, uint64_t unit, struct lease_share *share,
	       struct lease *ret_lease)
{
	uint64_t free = over(lease_free(all, nr, budget, share, NULL), slack);
	uint64_t held = share ? share_held(all, nr, share).pages : 0;
	uint64_t room = share_room(share, held), idle = 0, first, now;
	size_t i;

	for (i = 0; i < nr; i++)
		idle += over(all[i]->ceiling, lease_floor(all[i])) / unit;
	if (cap < unit || (free < unit && !idle))
		return -ENOSPC;
	if (room < unit)
		return -EDQUOT;
	first = max(nr ? free / 2 : free, min(free, unit));
	if (share)
		first = max(first, min(over(share->least, held), free));
	first = min(min(first, room), min(cap, MAX_FIRST));
	now = leases_many_unseen(all, nr, budget) ? 0 : min(first, LEASE_FIRST);
	*ret_lease = (struct lease){
		.cap = cap, .slack = slack, .promised = first, .unseen = true,
		.granted = first, .ceiling = now, .held = first, .target = now,
		.share = share,
	};
	return 0;
}

uint64_t lease_idle(const struct lease *l, uint64_t lent)
{
	uint64_t asked = l->asks ? min(l->want, l->cap) : 0;

	return over(max(l->ceiling, lent), max(lease_floor(l), asked));
}

int lease_keep(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t pages, struct lease *l)
{
	l->unseen = false;
	if (!l->promised)
		return 0;
	if (l->corrected || l->promised + l->slack > pages ||
	    l->promised - l->ceiling > lease_free(all, nr, budget, l->share, NULL) ||
	    (l->share && l->promised - l->ceiling >
	     share_room(l->share, share_held(all, nr, l->share).pages)))
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
	/* The CNode counts a page before it checks its lease: allow for that. */
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
	/* A CNode that reports no more than the grant has read the grant. */
	if (held <= l->granted || l->beats == LEASE_SETTLE_BEATS)
		l->promised = 0;
	if (l->beats == LEASE_SETTLE_BEATS)
		l->ceiling = max(l->granted, min(l->ceiling, held));
}

void lease_adopt(struct lease *l, uint64_t used)
{
	l->ceiling = max(l->ceiling, max(l->granted, min(used, l->cap)));
	l->target = l->held = l->granted;
	l->used = l->want = used;
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
