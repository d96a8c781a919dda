/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The leader of a queue set that threads share; see share_priv.h. */
#include "share_priv.h"

#include <errno.h>

#define WCS	32
#define TURNS	1u		/* of a leader that has done its own, while others post */

static bool lead_grab(struct share_set *set)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&set->led, &free, 1, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

bool share_lead_try(struct share_set *set)
{
	return !__atomic_load_n(&set->wanted, __ATOMIC_SEQ_CST) && lead_grab(set);
}

void share_lead_wake(struct share_set *set)
{
	if (__atomic_load_n(&set->asleep, __ATOMIC_SEQ_CST))
		set->ops->wake(set->qset);
}

static bool queue_waits(const struct share_queue *queue)
{
	return __atomic_load_n(&queue->put, __ATOMIC_SEQ_CST) !=
	       __atomic_load_n(&queue->taken, __ATOMIC_SEQ_CST);
}

static bool member_posts(const struct share_qset *member)
{
	unsigned i;

	for (i = 0; i < member->nr_peers; i++)
		if (queue_waits(&member->queue[i]))
			return true;
	return false;
}

bool share_set_posts(const struct share_set *set)
{
	unsigned i;

	for (i = 0; i < set->nr; i++)
		if (share_member_at(set, i) && member_posts(share_member_at(set, i)))
			return true;
	return false;
}

/* Gives a completion to its thread. */
static void wc_give(struct share_set *set, const struct far_wc *wc)
{
	struct share_qset *member = set->members[wc->id >> 32];
	uint32_t put;

	if (!member)
		return;
	if (wc->status)
		member->queue[wc->peer].failed = true;
	put = member->wc_put;
	member->wc[put & member->wc_mask] = (struct share_wc) {
		(uint32_t)wc->id, wc->peer, wc->status, wc->syndrome,
	};
	__atomic_store_n(&member->wc_put, put + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&member->waiting, __ATOMIC_SEQ_CST))
		set->ops->wake(member->bell);
}

void share_lead_poll(struct share_set *set)
{
	struct far_wc wc[WCS];
	int nr, i;

	do {
		nr = set->ops->poll(set->qset, wc, WCS);
		for (i = 0; i < nr; i++) {
			if (wc[i].status)
				set->peer[wc[i].peer] = NULL;
			wc_give(set, &wc[i]);
		}
	} while (nr == WCS);
}

/* Operations of several threads for one peer. */
struct batch {
	struct far_wr wr[SHARE_BATCH];
	struct share_queue *queue[SHARE_BATCH];
	unsigned nr, max;
};

/*
 * Adds what the member wants to post. Its queue is not emptied yet: the NIC may have no room.
 */
static void batch_add(struct batch *batch, const struct share_qset *member,
		      struct share_queue *queue)
{
	uint32_t at = queue->taken, put = __atomic_load_n(&queue->put, __ATOMIC_ACQUIRE);

	for (; at != put && batch->nr < batch->max; at++) {
		struct share_wr *from = &queue->wr[at & queue->ring.mask];
		struct far_wr *wr = &batch->wr[batch->nr];

		*wr = from->wr;
		wr->id = (uint64_t)member->member << 32 | from->at;
		if (wr->flags & FAR_WR_INLINE)
			wr->local = from->data;
		batch->queue[batch->nr++] = queue;
	}
}

static void batch_taken(const struct batch *batch)
{
	unsigned i;

	for (i = 0; i < batch->nr; i++)
		__atomic_store_n(&batch->queue[i]->taken, batch->queue[i]->taken + 1,
				 __ATOMIC_SEQ_CST);
}

int share_set_connect(struct share_set *set, unsigned idx, const struct far_peer *peer,
		      bool busy)
{
	int err;

	if (set->peer[idx] == peer && !busy)
		return 0;
	set->peer[idx] = NULL;
	err = set->ops->connect(set->qset, idx, peer);
	share_lead_poll(set);
	if (!err)
		set->peer[idx] = peer;
	return err;
}

/*
 * Nothing of the batch is executed. What was posted before it ends first: in the threads' rings
 * all that is before a failure has succeeded.
 */
static void batch_cancel(struct share_set *set, const struct batch *batch, unsigned idx)
{
	unsigned i;

	share_lead_poll(set);
	if (set->peer[idx])
		share_set_connect(set, idx, set->peer[idx], true);
	for (i = 0; i < batch->nr; i++)
		wc_give(set, &(struct far_wc){ .id = batch->wr[i].id, .status = -ECANCELED,
					       .peer = idx });
}

/*
 * Cancels what a member wants to post behind a failure that it may not have taken. Nothing of it
 * is on a connection that another one has made anew: its own connect() would not end that.
 */
static void queue_cancel(struct share_set *set, const struct share_qset *member, unsigned idx,
			 struct share_queue *queue)
{
	uint32_t put = __atomic_load_n(&queue->put, __ATOMIC_ACQUIRE);
	struct far_wc wc = { .status = -ECANCELED, .peer = idx };
	uint32_t at;

	for (at = queue->taken; at != put; at++) {
		wc.id = (uint64_t)member->member << 32 | queue->wr[at & queue->ring.mask].at;
		wc_give(set, &wc);
	}
	__atomic_store_n(&queue->taken, put, __ATOMIC_SEQ_CST);
}

/* Posts one batch for a peer. 0: there is nothing more; -EAGAIN: no room. */
static int peer_post(struct share_set *set, unsigned idx, struct far_qset_stats *stats)
{
	struct batch batch;
	unsigned i;
	int err;

	batch.nr = 0;
	batch.max = set->depth < SHARE_BATCH ? set->depth : SHARE_BATCH;
	for (i = 0; i < set->nr && batch.nr < batch.max; i++) {
		struct share_qset *member = share_member_at(set, (set->turn + i) % set->nr);

		if (!member || idx >= member->nr_peers)
			continue;
		if (member->queue[idx].failed)
			queue_cancel(set, member, idx, &member->queue[idx]);
		else
			batch_add(&batch, member, &member->queue[idx]);
	}
	set->turn++;
	if (!batch.nr)
		return 0;
	/* Then the NIC's places never run out for operations that nobody signals. */
	batch.wr[batch.nr - 1].flags |= FAR_WR_SIGNALED;
	err = set->peer[idx] ? set->ops->post(set->qset, idx, batch.wr, batch.nr) : -ENOTCONN;
	if (err == -EAGAIN)
		return err;
	batch_taken(&batch);
	if (err)
		batch_cancel(set, &batch, idx);
	else
		stats->doorbells++;
	return 1;
}

bool share_lead_turn(struct share_set *set, struct far_qset_stats *stats)
{
	bool room = true;
	unsigned idx;
	int ret;

	for (idx = 0; idx < set->nr_peers; idx++) {
		while ((ret = peer_post(set, idx, stats)) > 0)
			;
		room &= !ret;
	}
	share_lead_poll(set);
	return room;
}

/* True if the member sleeps, and finds nothing to take when it wakes up: then it leads. */
static bool member_leads(const struct share_qset *member)
{
	return __atomic_load_n(&member->waiting, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&member->wc_put, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&member->wc_taken, __ATOMIC_SEQ_CST);
}

/*
 * The lead is free: wakes a member that waits and cannot know. One with completions takes these
 * and may go away without leading.
 */
void share_lead_pass(struct share_set *set)
{
	unsigned first = __atomic_fetch_add(&set->passed, 1, __ATOMIC_RELAXED), i;

	for (i = 0; i < set->nr; i++) {
		struct share_qset *member = share_member_at(set, (first + i) % set->nr);

		if (member && member_leads(member)) {
			set->ops->wake(member->bell);
			return;
		}
	}
}

void share_lead_leave(struct share_set *set, struct far_qset_stats *stats)
{
	unsigned turns = 0;
	bool room = true;

	__atomic_add_fetch(&set->leaving, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		__atomic_store_n(&set->led, 0, __ATOMIC_SEQ_CST);
		if (!room || turns++ == TURNS || !share_set_posts(set) || !share_lead_try(set))
			break;
		room = share_lead_turn(set, stats);
	}
	if (!__atomic_load_n(&set->led, __ATOMIC_SEQ_CST))
		share_lead_pass(set);
	__atomic_sub_fetch(&set->leaving, 1, __ATOMIC_SEQ_CST);
}

void share_lead_take(struct share_set *set, struct share_qset *mine)
{
	__atomic_add_fetch(&set->wanted, 1, __ATOMIC_SEQ_CST);
	while (!lead_grab(set)) {
		share_lead_wake(set);
		set->ops->wait(mine->bell, set->ops->now(set->nic) + SHARE_NAP_NS);
	}
	__atomic_sub_fetch(&set->wanted, 1, __ATOMIC_SEQ_CST);
}
