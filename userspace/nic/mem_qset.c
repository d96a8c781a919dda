/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets of mem. Each peer has a ring of operations, with four counters that only
 * go up:
 *
 *	freed <= run <= posted <= freed + depth;  flush_to <= posted
 *
 * [run, posted) waits for poll(), which cancels operations before flush_to and executes
 * the others. [freed, run) was executed without a completion; the next completion frees
 * these places.
 */
#include "mem_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bell.h"
#include "wr.h"

#define MEM_NOBODY	UINT32_MAX
#define MEM_PREFETCH	256u	/* bytes */
#define MEM_BURST	16u	/* operations of one peer before the next peer's */

struct mem_queue {
	struct mem_wqe *wqe;		/* mask + 1; NULL until connect() */
	const struct mem_peer *peer;
	uint32_t mask;
	uint32_t freed, run, posted, flush_to;
	uint32_t next;			/* index of the next queue in the list of queues that
					   have operations to run; MEM_NOBODY: the last */
	uint8_t connected;
	uint8_t listed;			/* the queue is in this list */
};

struct mem_qset {
	struct far_qset qset;
	struct far_qset_stats stats;
	unsigned depth, nr_peers;
	uint32_t first, last;		/* of the list of queues; first MEM_NOBODY: empty */
	struct mem_runner runner;
	struct far_bell bell;
	struct mem_queue queue[];	/* nr_peers */
};

static struct mem_qset *qset_of(struct far_qset *qset)
{
	return (struct mem_qset *)qset;
}

int mem_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset)
{
	struct mem_qset *mine;

	if (!attr->nr_peers || !attr->depth || attr->depth > 32768)
		return -EINVAL;
	mine = calloc(1, sizeof(*mine) + attr->nr_peers * sizeof(mine->queue[0]));
	if (!mine)
		return -ENOMEM;
	mine->qset.nic = nic;
	mine->runner.mrs = &mem_nic_of(nic)->mrs;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	mine->first = MEM_NOBODY;
	*ret_qset = &mine->qset;
	return 0;
}

void mem_qset_free(struct far_qset *qset)
{
	struct mem_qset *mine = qset_of(qset);
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++)
		free(mine->queue[i].wqe);
	far_bell_fini(&mine->bell);
	free(mine);
}

static int queue_alloc(struct mem_queue *queue, unsigned depth)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	queue->wqe = aligned_alloc(64, size * sizeof(*queue->wqe));
	if (!queue->wqe)
		return -ENOMEM;
	queue->mask = size - 1;
	return 0;
}

int mem_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct mem_qset *mine = qset_of(qset);
	const struct mem_peer *priv = peer->priv;
	struct mem_queue *queue;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	if (mem_file_gone(priv->map))
		return -EHOSTDOWN;
	queue = &mine->queue[idx];
	if (!queue->wqe) {
		err = queue_alloc(queue, mine->depth);
		if (err)
			return err;
	}
	queue->peer = priv;
	queue->flush_to = queue->posted;
	queue->connected = 1;
	return 0;
}

/*
 * Prefetches the first cache lines that poll() will access; with a NIC, memory would work
 * at this time, too. A wrong address does no harm.
 */
static void queue_prefetch(const struct mem_queue *queue, const struct far_wr *wr)
{
	const uint8_t *at = queue->peer->map->base + wr->remote;
	uint32_t off;

	for (off = 0; off < wr->len && off < MEM_PREFETCH; off += 64)
		__builtin_prefetch(at + off);
}

static void queue_put(struct mem_queue *queue, const struct far_wr *wr)
{
	struct mem_wqe *wqe = &queue->wqe[queue->posted & queue->mask];

	wqe->wr = *wr;
	queue_prefetch(queue, wr);
	if (wr->flags & FAR_WR_INLINE)
		memcpy(wqe->data, wr->local, wr->len);
	queue->posted++;
}

static void list_add(struct mem_qset *mine, uint32_t idx)
{
	struct mem_queue *queue = &mine->queue[idx];

	queue->next = MEM_NOBODY;
	queue->listed = 1;
	if (mine->first == MEM_NOBODY)
		mine->first = idx;
	else
		mine->queue[mine->last].next = idx;
	mine->last = idx;
}

/* Removes the first queue from the list; appends it if it still has operations to run. */
static void list_turn(struct mem_qset *mine)
{
	uint32_t idx = mine->first;
	struct mem_queue *queue = &mine->queue[idx];

	if (mine->first == mine->last && queue->run != queue->posted)
		return;
	mine->first = queue->next;
	queue->listed = 0;
	if (queue->run != queue->posted)
		list_add(mine, idx);
}

int mem_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct mem_qset *mine = qset_of(qset);
	struct mem_queue *queue;
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
	err = far_wr_check(wr, nr, qset->nic->ops->caps);
	if (err)
		return err;
	if (queue->posted - queue->freed + nr > mine->depth)
		return -EAGAIN;
	for (i = 0; i < nr; i++)
		queue_put(queue, &wr[i]);
	far_wr_count(&mine->stats, wr, nr);
	if (!queue->listed)
		list_add(mine, idx);
	return 0;
}

static void wc_fill(struct far_wc *wc, const struct far_wr *wr, unsigned idx,
		    int status)
{
	*wc = (struct far_wc) {
		.id = wr->id,
		.status = status,
		.syndrome = -status,
		.len = status ? 0 : wr->len,
		.peer = idx,
		.op = wr->op,
	};
}

/* Runs some operations of one peer. Returns the number of completions, at most max. */
static unsigned queue_run(struct mem_qset *mine, struct mem_queue *queue,
			  struct far_wc *wc, unsigned max)
{
	unsigned burst = MEM_BURST;
	unsigned nr = 0;

	while (nr < max && burst-- && queue->run != queue->posted) {
		const struct mem_wqe *wqe = &queue->wqe[queue->run & queue->mask];
		int status = -ECANCELED;

		if ((int32_t)(queue->flush_to - queue->run) <= 0)
			status = mem_exec(&mine->runner, queue->peer, wqe);
		queue->run++;
		if (status && status != -ECANCELED) {
			queue->flush_to = queue->posted;
			queue->connected = 0;
		}
		if (!status && !(wqe->wr.flags & FAR_WR_SIGNALED))
			continue;
		wc_fill(&wc[nr++], &wqe->wr, queue - mine->queue, status);
		queue->freed = queue->run;
	}
	return nr;
}

int mem_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct mem_qset *mine = qset_of(qset);
	unsigned nr = 0;

	while (nr < max && mine->first != MEM_NOBODY) {
		nr += queue_run(mine, &mine->queue[mine->first], wc + nr, max - nr);
		list_turn(mine);
	}
	if (mine->runner.dirty)
		mem_drain(&mine->runner.dirty);
	return nr;
}

int mem_wait(struct far_qset *qset, uint64_t until)
{
	struct mem_qset *mine = qset_of(qset);

	/* The next poll() will execute what is posted. */
	if (mine->first != MEM_NOBODY)
		return 0;
	return far_bell_wait(&mine->bell, until);
}

void mem_wake(struct far_qset *qset)
{
	far_bell_ring(&qset_of(qset)->bell);
}

int mem_fd_arm(struct far_qset *qset)
{
	struct mem_qset *mine = qset_of(qset);

	return mine->first != MEM_NOBODY ? -EAGAIN : far_bell_arm(&mine->bell);
}

void mem_fd_disarm(struct far_qset *qset)
{
	far_bell_disarm(&qset_of(qset)->bell);
}

void mem_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = qset_of(qset)->stats;
}
