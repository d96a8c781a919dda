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
	unsigned nr_used;	/* queues that have been used: the first ones */
	uint32_t cqn, recv_cqn;
	struct soft_cq *cq;
	struct soft_cq *recv_cq;	/* of RECVs; NULL: not yet; atomic */
	uint32_t news;		/* the completion queue may have new entries; atomic */
	bool more;		/* a ring may have completions for poll() to take */
	struct far_bell bell;
	struct snic_helper *helper;	/* NULL: not yet, or the NIC can have none */
	bool helpless;			/* helper was tried for */
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

/* Makes a completion queue with room for all operations, or RECVs, that may be outstanding. */
static int cq_new(struct soft_nic *soft, struct soft_qset *mine, uint32_t *ret_cqn,
		  struct soft_cq **ret_cq)
{
	uint64_t entries = (uint64_t)mine->depth * mine->nr_peers;
	uint8_t log = 0;
	int err;

	while (UINT64_C(1) << log < entries)
		log++;
	if (log > MAX_LOG_CQ)
		return -ENOMEM;
	err = soft->dev->ops->cq_create(soft->dev, log, ret_cqn);
	if (err)
		return err;
	err = nic_soft_cq_notify(soft->dev, *ret_cqn, qset_told, mine, ret_cq);
	if (err)
		soft->dev->ops->cq_destroy(soft->dev, *ret_cqn);
	return err;
}

uint32_t soft_qset_cqn(const struct far_qset *qset)
{
	return ((const struct soft_qset *)qset)->cqn;
}

unsigned soft_qset_depth(const struct far_qset *qset)
{
	return ((const struct soft_qset *)qset)->depth;
}

int soft_qset_recv_cqn(struct far_qset *qset, uint32_t *ret_cqn)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_nic *soft = qset_nic(mine);
	struct soft_cq *cq;
	int err = 0;

	pthread_mutex_lock(&soft->lock);
	if (!mine->recv_cq) {
		err = cq_new(soft, mine, &mine->recv_cqn, &cq);
		/* The queue set's thread may be in poll(). */
		if (!err)
			__atomic_store_n(&mine->recv_cq, cq, __ATOMIC_RELEASE);
	}
	*ret_cqn = mine->recv_cqn;
	pthread_mutex_unlock(&soft->lock);
	return err;
}

int soft_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		  struct far_qset **ret_qset)
{
	struct soft_qset *mine;
	int err;

	if (!attr->nr_peers || !attr->depth || attr->depth > 32768)
		return -EINVAL;
	if (attr->datagrams)
		return -EOPNOTSUPP;
	mine = calloc(1, sizeof(*mine) + attr->nr_peers * sizeof(mine->queue[0]));
	if (!mine)
		return -ENOMEM;
	mine->qset.nic = nic;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	err = cq_new(soft_nic_of(nic), mine, &mine->cqn, &mine->cq);
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

	for (i = 0; i < mine->nr_used; i++)
		soft_queue_fini(soft, &mine->queue[i]);
	soft->dev->ops->cq_destroy(soft->dev, mine->cqn);
	if (mine->recv_cq)
		soft->dev->ops->cq_destroy(soft->dev, mine->recv_cqn);
	snic_helper_free(mine->helper);
	far_bell_fini(&mine->bell);
	free(mine);
}

static struct soft_queue *queue_of(struct soft_qset *mine, uint32_t qpn)
{
	unsigned i;

	for (i = 0; i < mine->nr_used; i++)
		if (mine->queue[i].qp.dev && mine->queue[i].qp.qpn == qpn)
			return &mine->queue[i];
	return NULL;
}

static struct soft_wire *recv_of(struct soft_qset *mine, uint32_t qpn)
{
	unsigned i;

	for (i = 0; i < mine->nr_used; i++)
		if (mine->queue[i].recv && mine->queue[i].recv->qp.qpn == qpn)
			return mine->queue[i].recv;
	return NULL;
}

static void recv_drain(struct soft_qset *mine)
{
	struct soft_cq *cq = __atomic_load_n(&mine->recv_cq, __ATOMIC_ACQUIRE);
	struct soft_wire *wire;
	struct wrc_cqe cqe;

	while (cq && nic_soft_cq_take(cq, &cqe)) {
		wire = recv_of(mine, be32_to_cpu(cqe.sop_qpn) & 0xffffff);
		if (!wire)
			continue;
		soft_wire_note(wire, &cqe);
		mine->more = true;
	}
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
	recv_drain(mine);
}

/* Finds queue number idx, and makes its ring. -EISCONN: a wire has the number. */
static int queue_get(struct soft_qset *mine, unsigned idx, struct soft_queue **ret_queue)
{
	struct soft_queue *queue;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	queue = &mine->queue[idx];
	if (queue->wire)
		return -EISCONN;
	if (idx >= mine->nr_used)
		mine->nr_used = idx + 1;
	*ret_queue = queue;
	return queue->ring.rec ? 0 : soft_queue_init(qset_nic(mine), queue, mine->depth);
}

int soft_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_nic *soft = qset_nic(mine);
	struct soft_queue *queue;
	int err = queue_get(mine, idx, &queue);

	if (err)
		return err;
	soft_queue_reset(soft, queue);
	/* The new queue pair may get the old number: take the old one's entries first. */
	cq_drain(mine);
	mine->more |= far_ring_takeable(&queue->ring);
	err = soft_queue_inline(soft, queue, soft->pdn);
	if (err)
		return err;
	return soft_queue_connect(soft, queue, mine->cqn, peer->priv);
}

int soft_qset_link(struct far_qset *qset, unsigned idx, struct soft_wire *wire)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_queue *queue;
	int err = queue_get(mine, idx, &queue);

	if (err)
		return err;
	soft_queue_reset(qset_nic(mine), queue);
	cq_drain(mine);
	/* Inline data are posted over this wire: in its domain. */
	err = soft_queue_inline(qset_nic(mine), queue, wire->pdn);
	if (!err)
		soft_queue_link(queue, wire);
	return err;
}

void soft_qset_unlink(struct far_qset *qset, unsigned idx)
{
	struct soft_qset *mine = qset_of(qset);

	cq_drain(mine);
	soft_queue_unlink(&mine->queue[idx]);
	soft_queue_inline(qset_nic(mine), &mine->queue[idx], qset_nic(mine)->pdn);
}

int soft_qset_hear(struct far_qset *qset, unsigned idx, struct soft_wire *wire)
{
	struct soft_qset *mine = qset_of(qset);

	if (idx >= mine->nr_peers)
		return -EINVAL;
	if (mine->queue[idx].recv)
		return -EISCONN;
	if (idx >= mine->nr_used)
		mine->nr_used = idx + 1;
	cq_drain(mine);
	mine->queue[idx].recv = wire;
	return 0;
}

void soft_qset_unhear(struct far_qset *qset, unsigned idx)
{
	cq_drain(qset_of(qset));
	qset_of(qset)->queue[idx].recv = NULL;
}

static int post_recv(struct soft_qset *mine, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	int err = mine->queue[idx].recv ? soft_wire_recv(mine->queue[idx].recv, wr, nr) : -ENOTCONN;

	if (!err)
		far_wr_count(&mine->stats, wr, nr);
	return err;
}

int soft_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct soft_qset *mine = qset_of(qset);
	struct soft_queue *queue = idx < mine->nr_peers ? &mine->queue[idx] : NULL;
	struct far_wr_queue to = { .exists = false };
	int where, err;

	if (queue)
		to = (struct far_wr_queue) {
			.exists = true, .connected = queue->connected,
			.calls = queue->wire != NULL,
			.used = queue->ring.posted - queue->ring.freed,
			.depth = mine->depth,
		};
	where = far_wr_check_post(&to, wr, nr, qset->nic->ops->caps);
	if (where == FAR_WR_TO_RECVS)
		return post_recv(mine, idx, wr, nr);
	if (where != FAR_WR_TO_QUEUE)
		return where;
	err = soft_queue_post(queue, wr, nr, qset->pushes ? &qset->put_off : NULL);
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
	for (i = 0; i < mine->nr_used && nr < max; i++) {
		unsigned idx = (mine->turn + i) % mine->nr_used;
		struct soft_queue *queue = &mine->queue[idx];

		nr += far_ring_take(&queue->ring, idx, wc + nr, max - nr);
		if (queue->recv)
			nr += far_ring_take(&queue->recv->ring, idx, wc + nr, max - nr);
	}
	mine->turn = (mine->turn + 1) % mine->nr_used;
	mine->more = nr == max;
	return nr;
}

/* True if poll() may have something to take. */
static bool qset_has_news(const struct soft_qset *mine)
{
	return mine->more || __atomic_load_n(&mine->news, __ATOMIC_ACQUIRE);
}

void soft_qset_push(struct far_qset *qset)
{
	qset->put_off = false;
	nic_soft_push(qset_nic(qset_of(qset))->dev);
}

/* True if operations are under way. */
static bool qset_is_busy(const struct soft_qset *mine)
{
	unsigned i;

	for (i = 0; i < mine->nr_used; i++)
		if (mine->queue[i].ring.posted != mine->queue[i].ring.done)
			return true;
	return false;
}

/* Makes the helper on the first call. False: there is none. */
static bool qset_can_help(struct soft_qset *mine)
{
	int fd;

	if (mine->helpless || mine->helper)
		return mine->helper;
	fd = far_bell_fd(&mine->bell);
	mine->helpless = fd < 0 ||
			 nic_soft_helper(qset_nic(mine)->dev, fd, &mine->helper);
	return !mine->helpless;
}

/* One sleep of a helper. 0: there is a reason to return from wait(); -EAGAIN: not yet. */
static int qset_help(struct soft_qset *mine, uint64_t until)
{
	unsigned woken;
	bool rung;
	int err;

	if (far_bell_arm(&mine->bell) < 0)
		return 0;
	err = snic_helper_wait(mine->helper, until, &woken);
	/* Armed no more: this thread needs no descriptor to be told of its own work. */
	if (woken & SNIC_WOKEN_BY_CALLER)
		far_bell_disarm(&mine->bell);
	rung = far_bell_take(&mine->bell) || woken & SNIC_WOKEN_BY_CALLER;
	if (woken & SNIC_WOKEN_BY_FRAME) {
		snic_helper_work(mine->helper);
		rung |= far_bell_take(&mine->bell);
	}
	return rung ? 0 : err ? err : -EAGAIN;
}

int soft_qset_wait(struct far_qset *qset, uint64_t until)
{
	struct soft_qset *mine = qset_of(qset);
	int err;

	if (qset->put_off)
		soft_qset_push(qset);
	if (qset_has_news(mine)) {
		far_bell_take(&mine->bell);
		return 0;
	}
	if (!qset_is_busy(mine) || !qset_can_help(mine))
		return far_bell_wait(&mine->bell, until);
	do {
		err = qset_help(mine, until);
	} while (err == -EAGAIN);
	return err;
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
