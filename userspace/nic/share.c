/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue sets that threads share: what a thread has, start and end. See share_priv.h. */
#include "share_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wr.h"

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

	/* A thread with completions takes these, and lets others lead. */
	if (!wcs_wait(mine) && share_lead_try(mine->set)) {
		share_lead_turn(mine->set, &mine->stats);
		share_lead_leave(mine->set, &mine->stats);
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
	/* Else a poll() or wait() posts it, together with more. */
	if (queue->put - __atomic_load_n(&queue->taken, __ATOMIC_RELAXED) >= SHARE_BATCH &&
	    share_lead_try(mine->set)) {
		share_lead_turn(mine->set, &mine->stats);
		share_lead_leave(mine->set, &mine->stats);
	} else {
		share_lead_wake(mine->set);
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
	bool room = share_lead_turn(set, &mine->stats);
	int err = 0;

	if (wcs_wait(mine))
		return 0;
	__atomic_store_n(&set->asleep, 1, __ATOMIC_SEQ_CST);
	/* A thread that has posted before that has woken nobody. */
	if (!qset_ready(mine) && !(room && share_set_posts(set)))
		err = set->ops->wait(set->qset, until);
	__atomic_store_n(&set->asleep, 0, __ATOMIC_SEQ_CST);
	share_lead_turn(set, &mine->stats);
	return err;
}

static int share_wait(struct far_qset *qset, uint64_t until)
{
	struct share_qset *mine = qset_of(qset);
	struct share_set *set = mine->set;
	int err = 0;

	if (qset_ready(mine))
		return 0;
	if (share_lead_try(set)) {
		err = lead_sleep(mine, until);
		share_lead_leave(set, &mine->stats);
		return qset_ready(mine) ? 0 : err;
	}
	__atomic_store_n(&mine->waiting, 1, __ATOMIC_SEQ_CST);
	if (!qset_ready(mine) && (__atomic_load_n(&set->led, __ATOMIC_SEQ_CST) ||
				  __atomic_load_n(&set->wanted, __ATOMIC_SEQ_CST)))
		err = set->ops->wait(mine->bell, until);
	__atomic_store_n(&mine->waiting, 0, __ATOMIC_SEQ_CST);
	/* The lead may have passed to this thread in the moment in which it gave up. */
	if (err && !__atomic_load_n(&set->led, __ATOMIC_SEQ_CST))
		share_lead_pass(set);
	return qset_ready(mine) ? 0 : err;
}

static void share_wake(struct far_qset *qset)
{
	struct share_qset *mine = qset_of(qset);

	__atomic_store_n(&mine->rung, 1, __ATOMIC_SEQ_CST);
	mine->set->ops->wake(mine->bell);
	/* It may be the one that sleeps for all. */
	share_lead_wake(mine->set);
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
	share_lead_take(set, mine);
	share_lead_turn(set, &mine->stats);
	wcs_take(mine);
	busy = queue->ring.done != queue->ring.posted;
	/* Drops what was not posted yet. */
	__atomic_store_n(&queue->taken, queue->put, __ATOMIC_SEQ_CST);
	err = share_set_connect(set, idx, peer, busy);
	wcs_take(mine);
	far_ring_cancel(&queue->ring);
	queue->failed = false;
	queue->connected = !err;
	share_lead_leave(set, &mine->stats);
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

	for (i = 0; i < SHARE_MEMBERS && share_member_at(set, i); i++)
		;
	if (i == SHARE_MEMBERS)
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

	if (attr->datagrams)
		return -EOPNOTSUPP;
	if (!attr->nr_peers || !attr->depth || attr->depth > 32768)
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

	share_lead_take(set, mine);
	for (i = 0; i < mine->nr_peers; i++)
		__atomic_store_n(&mine->queue[i].taken, mine->queue[i].put, __ATOMIC_SEQ_CST);
	share_lead_poll(set);
	wcs_take(mine);
	for (i = 0; i < mine->nr_peers && qset_busy(mine); i++)
		if (mine->queue[i].ring.done != mine->queue[i].ring.posted && set->peer[i])
			share_set_connect(set, i, set->peer[i], true);
	__atomic_store_n(&set->members[mine->member], NULL, __ATOMIC_SEQ_CST);
	share_lead_leave(set, &mine->stats);
	/* Those who give up the lead look at members without it. */
	while (__atomic_load_n(&set->leaving, __ATOMIC_SEQ_CST))
		set->ops->wait(mine->bell, set->ops->now(set->nic) + SHARE_NAP_NS);
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
	struct share *share;

	if (nic->ops->qset_new == share_qset_new)
		return -EALREADY;
	share = calloc(1, sizeof(*share) + nr * sizeof(share->set[0]));
	if (!share)
		return -ENOMEM;
	share->ops = *nic->ops;
	share->inner = nic->ops;
	share->nr = nr;
	pthread_mutex_init(&share->lock, NULL);
	share->ops.caps &= ~(FAR_NIC_CAP_SHARED | FAR_NIC_CAP_IMM | FAR_NIC_CAP_MSG |
			     FAR_NIC_CAP_DATAGRAMS);
	share->ops.call = NULL;
	share->ops.address = NULL;
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
