/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets that threads share; see share.h. Queues lead from a thread to the leader and back:
 *
 *	post():		records operations in the thread's ring (ring.h), and puts them into the
 *			queue of that peer
 *	the leader:	posts what is in all queues, polls, and puts what it finds into the
 *			queues of completions
 *	poll():		takes these, and has the thread's ring give the completions
 *
 * Each thread has rings of its own. A thread that waits leads and sleeps on the shared queue
 * set; if somebody leads, it sleeps on a queue set of its own that has no other use.
 */
#include "share.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"
#include "wr.h"

#define BATCH		32u		/* operations of one post() */
#define WCS		32
#define NAP_NS		20000u		/* between two tries to lead */
#define MEMBERS_MAX	4096u

/* An operation on its way to the leader. */
struct share_wr {
	struct far_wr wr;
	uint32_t at;			/* place in the thread's ring */
	uint8_t data[FAR_NIC_MAX_INLINE];
};

/* A completion on its way back. */
struct share_wc {
	uint32_t at;
	uint32_t idx;
	int32_t status;
	uint32_t syndrome;
};

/* A queue of one thread for one peer. */
struct share_queue {
	struct far_ring ring;		/* NULL record: never connected */
	struct share_wr *wr;		/* ring.mask + 1 */
	uint32_t put, taken;		/* counts; atomic */
	bool connected;
	bool failed;			/* the thread has a failure to take; the leader's */
};

/* A thread's queue set. */
struct share_qset {
	struct far_qset qset;
	struct share_set *set;
	struct far_qset *bell;		/* of the NIC: only to wait on */
	struct far_qset_stats stats;
	unsigned depth, nr_peers, member, turn;
	uint32_t waiting, rung;		/* atomic */
	struct share_wc *wc;		/* wc_mask + 1 */
	uint32_t wc_mask;
	uint32_t wc_put, wc_taken;	/* counts; atomic */
	struct share_queue queue[];	/* nr_peers */
};

/* A queue set that several threads share. What is not atomic is the leader's. */
struct share_set {
	struct far_nic *nic;
	const struct far_nic_ops *ops;	/* the NIC's own */
	struct far_qset *qset;
	unsigned depth, nr_peers;
	uint32_t led, asleep, leaving;	/* atomic */
	uint32_t wanted;		/* threads in lead_take(), which go first; atomic */
	unsigned turn;			/* the member whose operations are posted first */
	uint32_t passed;		/* the same, that is woken first; atomic */
	_Atomic unsigned nr;		/* members[] that were used */
	struct share_qset *members[MEMBERS_MAX];	/* atomic; NULL: free */
	const struct far_peer *_Atomic peer[];	/* nr_peers; NULL: not connected, or broken */
};

/* The NIC's table, and what belongs to it. */
struct share {
	struct far_nic_ops ops;
	const struct far_nic_ops *inner;
	pthread_mutex_t lock;		/* of what follows */
	unsigned nr, turn;
	struct share_set *set[];
};

static struct share *share_of(const struct far_nic *nic)
{
	return (struct share *)nic->ops;
}

static struct share_qset *qset_of(struct far_qset *qset)
{
	return (struct share_qset *)qset;
}

/* ---- the lead ---- */

static bool lead_grab(struct share_set *set)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&set->led, &free, 1, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool lead_try(struct share_set *set)
{
	return !__atomic_load_n(&set->wanted, __ATOMIC_SEQ_CST) && lead_grab(set);
}

/* Wakes a leader that sleeps. */
static void leader_wake(struct share_set *set)
{
	if (__atomic_load_n(&set->asleep, __ATOMIC_SEQ_CST))
		set->ops->wake(set->qset);
}

static struct share_qset *member_at(const struct share_set *set, unsigned i)
{
	return __atomic_load_n(&set->members[i], __ATOMIC_SEQ_CST);
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

/* True if there is something to post. */
static bool set_posts(const struct share_set *set)
{
	unsigned i;

	for (i = 0; i < set->nr; i++)
		if (member_at(set, i) && member_posts(member_at(set, i)))
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

static void lead_poll(struct share_set *set)
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
	struct far_wr wr[BATCH];
	struct share_queue *queue[BATCH];
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

/* Connects, unless another thread has. busy: all that is under way ends, also that of others. */
static int set_connect(struct share_set *set, unsigned idx, const struct far_peer *peer,
		       bool busy)
{
	int err;

	if (set->peer[idx] == peer && !busy)
		return 0;
	set->peer[idx] = NULL;
	err = set->ops->connect(set->qset, idx, peer);
	lead_poll(set);
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

	lead_poll(set);
	if (set->peer[idx])
		set_connect(set, idx, set->peer[idx], true);
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
	batch.max = set->depth < BATCH ? set->depth : BATCH;
	for (i = 0; i < set->nr && batch.nr < batch.max; i++) {
		struct share_qset *member = member_at(set, (set->turn + i) % set->nr);

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

/* Posts what all members have, and polls. False: the NIC has no room for all. */
static bool lead_turn(struct share_set *set, struct far_qset_stats *stats)
{
	bool room = true;
	unsigned idx;
	int ret;

	for (idx = 0; idx < set->nr_peers; idx++) {
		while ((ret = peer_post(set, idx, stats)) > 0)
			;
		room &= !ret;
	}
	lead_poll(set);
	return room;
}

/* The lead is free: wakes a member that waits and cannot know. */
static void lead_pass(struct share_set *set)
{
	unsigned first = __atomic_fetch_add(&set->passed, 1, __ATOMIC_RELAXED), i;

	for (i = 0; i < set->nr; i++) {
		struct share_qset *member = member_at(set, (first + i) % set->nr);

		if (member && __atomic_load_n(&member->waiting, __ATOMIC_SEQ_CST)) {
			set->ops->wake(member->bell);
			return;
		}
	}
}

/*
 * Gives up the lead, and takes it again if somebody has something to post meanwhile. If the NIC
 * has no room, those who wait for it lead next.
 */
static void lead_leave(struct share_set *set, struct far_qset_stats *stats)
{
	bool room = true;

	__atomic_add_fetch(&set->leaving, 1, __ATOMIC_SEQ_CST);
	do
		__atomic_store_n(&set->led, 0, __ATOMIC_SEQ_CST);
	while (room && set_posts(set) && lead_try(set) && (room = lead_turn(set, stats), true));
	if (!__atomic_load_n(&set->led, __ATOMIC_SEQ_CST))
		lead_pass(set);
	__atomic_sub_fetch(&set->leaving, 1, __ATOMIC_SEQ_CST);
}

/* Leads, though others want to. */
static void lead_take(struct share_set *set, struct share_qset *mine)
{
	__atomic_add_fetch(&set->wanted, 1, __ATOMIC_SEQ_CST);
	while (!lead_grab(set)) {
		leader_wake(set);
		set->ops->wait(mine->bell, set->ops->now(set->nic) + NAP_NS);
	}
	__atomic_sub_fetch(&set->wanted, 1, __ATOMIC_SEQ_CST);
}

/* ---- a thread's queue set ---- */

/* Takes what the leader has given. */
static void wcs_take(struct share_qset *mine)
{
	uint32_t put = __atomic_load_n(&mine->wc_put, __ATOMIC_ACQUIRE);

	while (mine->wc_taken != put) {
		const struct share_wc *wc = &mine->wc[mine->wc_taken & mine->wc_mask];
		struct share_queue *queue = &mine->queue[wc->idx];

		if (far_ring_busy_at(&queue->ring, wc->at)) {
			if (wc->status) {
				far_ring_fail(&queue->ring, wc->at, wc->status, wc->syndrome);
				queue->connected = false;
			} else {
				queue->ring.done = wc->at + 1;
			}
		}
		__atomic_store_n(&mine->wc_taken, mine->wc_taken + 1, __ATOMIC_RELEASE);
	}
}

static bool wcs_wait(const struct share_qset *mine)
{
	unsigned i;

	if (__atomic_load_n(&mine->wc_put, __ATOMIC_SEQ_CST) != mine->wc_taken)
		return true;
	for (i = 0; i < mine->nr_peers; i++)
		if (far_ring_takeable(&mine->queue[i].ring))
			return true;
	return false;
}

static int share_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct share_qset *mine = qset_of(qset);
	unsigned nr = 0, i;

	if (lead_try(mine->set)) {
		lead_turn(mine->set, &mine->stats);
		lead_leave(mine->set, &mine->stats);
	}
	wcs_take(mine);
	for (i = 0; i < mine->nr_peers && nr < max; i++) {
		unsigned idx = (mine->turn + i) % mine->nr_peers;

		if (mine->queue[idx].wr)
			nr += far_ring_take(&mine->queue[idx].ring, idx, wc + nr, max - nr);
	}
	mine->turn++;
	return nr;
}

static int share_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct share_qset *mine = qset_of(qset);
	struct share_queue *queue;
	uint64_t doorbells = mine->stats.doorbells;
	unsigned i;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	if (!nr)
		return 0;
	if (nr > mine->depth)
		return -E2BIG;
	queue = &mine->queue[idx];
	if (!queue->connected)
		return -ENOTCONN;
	err = far_wr_check(wr, nr, qset->nic->ops->caps & ~FAR_NIC_CAP_IMM);
	if (err)
		return err;
	if (!far_ring_has_room(&queue->ring, mine->depth, nr) ||
	    queue->put - __atomic_load_n(&queue->taken, __ATOMIC_ACQUIRE) + nr > mine->depth)
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		struct share_wr *to = &queue->wr[(queue->put + i) & queue->ring.mask];

		to->wr = wr[i];
		to->at = queue->ring.posted;
		if (wr[i].flags & FAR_WR_INLINE)
			memcpy(to->data, wr[i].local, wr[i].len);
		far_ring_put(&queue->ring, &wr[i], queue->ring.posted++);
	}
	__atomic_store_n(&queue->put, queue->put + nr, __ATOMIC_SEQ_CST);
	far_wr_count(&mine->stats, wr, nr);
	mine->stats.doorbells = doorbells;	/* the leader counts them */
	if (lead_try(mine->set)) {
		lead_turn(mine->set, &mine->stats);
		lead_leave(mine->set, &mine->stats);
	} else {
		leader_wake(mine->set);
	}
	return 0;
}

/* True if wait() may return. */
static bool qset_ready(struct share_qset *mine)
{
	return __atomic_exchange_n(&mine->rung, 0, __ATOMIC_SEQ_CST) || wcs_wait(mine);
}

/* Sleeps for all. The caller leads. */
static int lead_sleep(struct share_qset *mine, uint64_t until)
{
	struct share_set *set = mine->set;
	bool room = lead_turn(set, &mine->stats);
	int err = 0;

	if (wcs_wait(mine))
		return 0;
	__atomic_store_n(&set->asleep, 1, __ATOMIC_SEQ_CST);
	/* A thread that has posted before that has woken nobody. */
	if (!qset_ready(mine) && !(room && set_posts(set)))
		err = set->ops->wait(set->qset, until);
	__atomic_store_n(&set->asleep, 0, __ATOMIC_SEQ_CST);
	lead_turn(set, &mine->stats);
	return err;
}

static int share_wait(struct far_qset *qset, uint64_t until)
{
	struct share_qset *mine = qset_of(qset);
	struct share_set *set = mine->set;
	int err = 0;

	if (qset_ready(mine))
		return 0;
	if (lead_try(set)) {
		err = lead_sleep(mine, until);
		lead_leave(set, &mine->stats);
		return qset_ready(mine) ? 0 : err;
	}
	__atomic_store_n(&mine->waiting, 1, __ATOMIC_SEQ_CST);
	if (!qset_ready(mine) && (__atomic_load_n(&set->led, __ATOMIC_SEQ_CST) ||
				  __atomic_load_n(&set->wanted, __ATOMIC_SEQ_CST)))
		err = set->ops->wait(mine->bell, until);
	__atomic_store_n(&mine->waiting, 0, __ATOMIC_SEQ_CST);
	return qset_ready(mine) ? 0 : err;
}

static void share_wake(struct far_qset *qset)
{
	struct share_qset *mine = qset_of(qset);

	__atomic_store_n(&mine->rung, 1, __ATOMIC_SEQ_CST);
	mine->set->ops->wake(mine->bell);
	/* It may be the one that sleeps for all. */
	leader_wake(mine->set);
}

static void share_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = qset_of(qset)->stats;
}

/* ---- connecting ---- */

static int queue_make(struct share_queue *queue, unsigned depth)
{
	int err = queue->wr ? 0 : far_ring_init(&queue->ring, depth, 0);

	if (err || queue->wr)
		return err;
	queue->wr = calloc(queue->ring.mask + 1, sizeof(queue->wr[0]));
	if (queue->wr)
		return 0;
	far_ring_fini(&queue->ring);
	return -ENOMEM;
}

static int share_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct share_qset *mine = qset_of(qset);
	struct share_set *set = mine->set;
	struct share_queue *queue;
	bool busy;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	queue = &mine->queue[idx];
	err = queue_make(queue, mine->depth);
	if (err)
		return err;
	lead_take(set, mine);
	lead_turn(set, &mine->stats);
	wcs_take(mine);
	busy = queue->ring.done != queue->ring.posted;
	/* Drops what was not posted yet. */
	__atomic_store_n(&queue->taken, queue->put, __ATOMIC_SEQ_CST);
	err = set_connect(set, idx, peer, busy);
	wcs_take(mine);
	far_ring_cancel(&queue->ring);
	queue->failed = false;
	queue->connected = !err;
	lead_leave(set, &mine->stats);
	return err;
}

/* ---- start and end ---- */

static int set_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct share_set **ret_set)
{
	struct far_qset_attr own = *attr;
	struct share_set *set = calloc(1, sizeof(*set) + attr->nr_peers * sizeof(set->peer[0]));
	int err;

	if (!set)
		return -ENOMEM;
	own.group = FAR_NIC_OWN;
	set->nic = nic;
	set->ops = share_of(nic)->inner;
	set->depth = attr->depth;
	set->nr_peers = attr->nr_peers;
	err = set->ops->qset_new(nic, &own, &set->qset);
	if (err)
		free(set);
	else
		*ret_set = set;
	return err;
}

/* Finds the set of the next thread. The caller holds the lock. */
static int set_find(struct far_nic *nic, const struct far_qset_attr *attr,
		    struct share_set **ret_set)
{
	struct share *share = share_of(nic);
	struct share_set **at = &share->set[share->turn++ % share->nr];
	int err = *at ? 0 : set_new(nic, attr, at);

	if (err)
		return err;
	if ((*at)->nr_peers < attr->nr_peers || (*at)->depth < attr->depth)
		return -EINVAL;
	*ret_set = *at;
	return 0;
}

/* Makes the thread a member. The caller holds the lock. */
static int set_join(struct share_set *set, struct share_qset *mine)
{
	unsigned i;

	for (i = 0; i < MEMBERS_MAX && member_at(set, i); i++)
		;
	if (i == MEMBERS_MAX)
		return -ENOMEM;
	mine->member = i;
	mine->set = set;
	__atomic_store_n(&set->members[i], mine, __ATOMIC_SEQ_CST);
	if (i >= set->nr)
		set->nr = i + 1;
	return 0;
}

static void qset_release(struct share_qset *mine)
{
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++) {
		free(mine->queue[i].wr);
		far_ring_fini(&mine->queue[i].ring);
	}
	free(mine->wc);
	free(mine);
}

static struct share_qset *qset_make(struct far_nic *nic, const struct far_qset_attr *attr)
{
	struct share_qset *mine = calloc(1, sizeof(*mine) +
					 attr->nr_peers * sizeof(mine->queue[0]));
	uint32_t size = 1;

	if (!mine)
		return NULL;
	while (size < attr->depth * attr->nr_peers)
		size *= 2;
	mine->qset.nic = nic;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	mine->wc_mask = size - 1;
	mine->wc = calloc(size, sizeof(mine->wc[0]));
	if (mine->wc)
		return mine;
	free(mine);
	return NULL;
}

static int share_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
			  struct far_qset **ret_qset)
{
	static const struct far_qset_attr bell = { .nr_peers = 1, .depth = 1,
						   .group = FAR_NIC_OWN };
	struct share *share = share_of(nic);
	struct share_qset *mine;
	struct share_set *set;
	int err;

	if (!attr->nr_peers || !attr->depth || attr->depth > 32768 || attr->datagrams)
		return -EINVAL;
	mine = qset_make(nic, attr);
	if (!mine)
		return -ENOMEM;
	err = share->inner->qset_new(nic, &bell, &mine->bell);
	if (err)
		goto free_mine;
	pthread_mutex_lock(&share->lock);
	err = set_find(nic, attr, &set);
	if (!err)
		err = set_join(set, mine);
	pthread_mutex_unlock(&share->lock);
	if (err)
		goto free_bell;
	*ret_qset = &mine->qset;
	return 0;

free_bell:
	share->inner->qset_free(mine->bell);
free_mine:
	qset_release(mine);
	return err;
}

/* True if operations are under way, into memory that may end with the queue set. */
static bool qset_busy(const struct share_qset *mine)
{
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++)
		if (mine->queue[i].ring.done != mine->queue[i].ring.posted)
			return true;
	return false;
}

static void share_qset_free(struct far_qset *qset)
{
	struct share_qset *mine = qset_of(qset);
	struct share_set *set = mine->set;
	unsigned i;

	lead_take(set, mine);
	for (i = 0; i < mine->nr_peers; i++)
		__atomic_store_n(&mine->queue[i].taken, mine->queue[i].put, __ATOMIC_SEQ_CST);
	lead_poll(set);
	wcs_take(mine);
	for (i = 0; i < mine->nr_peers && qset_busy(mine); i++)
		if (mine->queue[i].ring.done != mine->queue[i].ring.posted && set->peer[i])
			set_connect(set, i, set->peer[i], true);
	__atomic_store_n(&set->members[mine->member], NULL, __ATOMIC_SEQ_CST);
	lead_leave(set, &mine->stats);
	/* Those who give up the lead look at members without it. */
	while (__atomic_load_n(&set->leaving, __ATOMIC_SEQ_CST))
		set->ops->wait(mine->bell, set->ops->now(set->nic) + NAP_NS);
	set->ops->qset_free(mine->bell);
	qset_release(mine);
}

/* No member uses the peer any more; sets do not take the next one at its address for it. */
static void share_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct share *share = share_of(nic);
	unsigned i, k;

	pthread_mutex_lock(&share->lock);
	for (i = 0; i < share->nr; i++)
		for (k = 0; share->set[i] && k < share->set[i]->nr_peers; k++) {
			const struct far_peer *gone = peer;

			atomic_compare_exchange_strong(&share->set[i]->peer[k], &gone, NULL);
		}
	pthread_mutex_unlock(&share->lock);
	share->inner->detach(nic, peer);
}

void far_nic_unshare(struct far_nic *nic)
{
	struct share *share = share_of(nic);
	unsigned i;

	if (nic->ops->qset_new != share_qset_new)
		return;
	for (i = 0; i < share->nr; i++)
		if (share->set[i]) {
			share->inner->qset_free(share->set[i]->qset);
			free(share->set[i]);
		}
	nic->ops = share->inner;
	pthread_mutex_destroy(&share->lock);
	free(share);
}

static void share_close(struct far_nic *nic)
{
	far_nic_unshare(nic);
	nic->ops->close(nic);
}

int far_nic_share(struct far_nic *nic, unsigned nr)
{
	struct share *share = calloc(1, sizeof(*share) + nr * sizeof(share->set[0]));

	if (!share)
		return -ENOMEM;
	share->ops = *nic->ops;
	share->inner = nic->ops;
	share->nr = nr;
	pthread_mutex_init(&share->lock, NULL);
	share->ops.caps &= ~(FAR_NIC_CAP_SHARED | FAR_NIC_CAP_IMM | FAR_NIC_CAP_MSG);
	share->ops.call = NULL;
	share->ops.close = share_close;
	share->ops.detach = share_detach;
	share->ops.qset_new = share_qset_new;
	share->ops.qset_free = share_qset_free;
	share->ops.connect = share_connect;
	share->ops.post = share_post;
	share->ops.push = NULL;
	share->ops.poll = share_poll;
	share->ops.wait = share_wait;
	share->ops.wake = share_wake;
	share->ops.fd_arm = NULL;
	share->ops.fd_disarm = NULL;
	share->ops.stats = share_stats;
	share->ops.explain = NULL;
	nic->ops = &share->ops;
	return 0;
}
