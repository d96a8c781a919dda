/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets of soft: queues, and one completion queue for all of them. The NIC's thread
 * calls qset_told() when there are new entries. Neither post() nor poll() takes the NIC's
 * lock: the client's thread and the NIC's thread communicate by memory alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "soft_priv.h"
#include "wr.h"

#define MAX_LOG_CQ	22

struct soft_qset {
	struct far_qset qset;
	struct far_qset_stats stats;
	unsigned depth, nr_peers;
	unsigned turn;		/* the peer whose completions poll() takes first */
	uint32_t cqn;
	struct soft_cq *cq;
	uint32_t news;		/* the completion queue may have new entries; atomic */
	bool more;		/* a ring may have completions for poll() to take */
	struct far_bell bell;
	struct soft_queue queue[];	/* nr_peers */
};

static struct soft_qset *qset_of(struct far_qset *qset)
{
	return (struct soft_qset *)qset;
}

static struct soft_nic *qset_nic(const struct soft_qset *mine)
{
	return soft_nic_of(mine->qset.nic);
}

/* Called by the NIC's thread, or by a thread that calls the NIC, with the NIC's lock held. */
static void qset_told(void *arg)
{
	struct soft_qset *mine = arg;

	__atomic_store_n(&mine->news, 1, __ATOMIC_RELEASE);
	far_bell_ring(&mine->bell);
}

/* Makes a completion queue with room for all operations that may be outstanding. */
static int cq_new(struct soft_nic *soft, struct soft_qset *mine)
{
	uint64_t entries = (uint64_t)mine->depth * mine->nr_peers;
	uint8_t log = 0;
	int err;

	while (UINT64_C(1) << log < entries)
		log++;
	if (log > MAX_LOG_CQ)
		return -ENOMEM;
	err = soft->dev->ops->cq_create(soft->dev, log, &mine->cqn);
	if (err)
		return err;
	err = nic_soft_cq_notify(soft->dev, mine->cqn, qset_told, mine, &mine->cq);
	if (err)
		soft->dev->ops->cq_destroy(soft->dev, mine->cqn);
	return err;
}

int soft_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		  struct far_qset **ret_qset)
{
	struct soft_qset *mine;
	int err;

	if (!attr->nr_peers || !attr->depth || attr->depth > 32768)
		return -EINVAL;
	mine = calloc(1, sizeof(*mine) + attr->nr_peers * sizeof(mine->queue[0]));
	if (!mine)
		return -ENOMEM;
	mine->qset.nic = nic;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	err = cq_new(soft_nic_of(nic), mine);
	if (err) {
		free(mine);
		return err;
	}
	*ret_qset = &mine->qset;
	return 0;
}

void soft_qset_free(struct far_qset *qset)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_nic *soft = qset_nic(mine);
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++)
		soft_queue_fini(soft, &mine->queue[i]);
	soft->dev->ops->cq_destroy(soft->dev, mine->cqn);
	far_bell_fini(&mine->bell);
	free(mine);
}

static struct soft_queue *queue_of(struct soft_qset *mine, uint32_t qpn)
{
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++)
		if (mine->queue[i].qp.dev && mine->queue[i].qp.qpn == qpn)
			return &mine->queue[i];
	return NULL;
}

/* Takes all entries. Ignores entries of queue pairs that have been destroyed. */
static void cq_drain(struct soft_qset *mine)
{
	struct soft_nic *soft = qset_nic(mine);
	struct soft_queue *queue;
	struct wrc_cqe cqe;

	while (nic_soft_cq_take(mine->cq, &cqe)) {
		queue = queue_of(mine, be32_to_cpu(cqe.sop_qpn) & 0xffffff);
		if (!queue)
			continue;
		soft_queue_note(soft, queue, &cqe);
		mine->more = true;
	}
}

int soft_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_nic *soft = qset_nic(mine);
	struct soft_queue *queue;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	queue = &mine->queue[idx];
	if (!queue->ring.rec) {
		err = soft_queue_init(soft, queue, mine->depth);
		if (err)
			return err;
	}
	soft_queue_reset(soft, queue);
	/* The new queue pair may get the old number: take the old one's entries first. */
	cq_drain(mine);
	mine->more |= far_ring_takeable(&queue->ring);
	return soft_queue_connect(soft, queue, mine->cqn, peer->priv);
}

int soft_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_queue *queue;
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
	err = far_wr_check(wr, nr, qset->nic->ops->caps);
	if (err)
		return err;
	if (!far_ring_has_room(&queue->ring, mine->depth, nr))
		return -EAGAIN;
	err = soft_queue_post(queue, wr, nr);
	if (!err)
		far_wr_count(&mine->stats, wr, nr);
	return err;
}

int soft_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct soft_qset *mine = qset_of(qset);
	unsigned nr = 0, i;

	if (__atomic_exchange_n(&mine->news, 0, __ATOMIC_ACQ_REL))
		cq_drain(mine);
	if (!mine->more)
		return 0;
	for (i = 0; i < mine->nr_peers && nr < max; i++) {
		unsigned idx = (mine->turn + i) % mine->nr_peers;

		nr += far_ring_take(&mine->queue[idx].ring, idx, wc + nr, max - nr);
	}
	mine->turn = (mine->turn + 1) % mine->nr_peers;
	mine->more = nr == max;
	return nr;
}

/* Whether poll() may have something to take. */
static bool qset_has_news(const struct soft_qset *mine)
{
	return mine->more || __atomic_load_n(&mine->news, __ATOMIC_ACQUIRE);
}

int soft_qset_wait(struct far_qset *qset, uint64_t until)
{
	struct soft_qset *mine = qset_of(qset);

	return qset_has_news(mine) ? 0 : far_bell_wait(&mine->bell, until);
}

void soft_qset_wake(struct far_qset *qset)
{
	far_bell_ring(&qset_of(qset)->bell);
}

int soft_qset_fd_arm(struct far_qset *qset)
{
	struct soft_qset *mine = qset_of(qset);

	return qset_has_news(mine) ? -EAGAIN : far_bell_arm(&mine->bell);
}

void soft_qset_fd_disarm(struct far_qset *qset)
{
	far_bell_disarm(&qset_of(qset)->bell);
}

void soft_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = qset_of(qset)->stats;
}
