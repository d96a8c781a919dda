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
#include "real.h"
#include "wr.h"

#define MEM_NOBODY	UINT32_MAX
#define MEM_PREFETCH	256u	/* bytes */
#define MEM_STALL_NS	200000u	/* between two looks for a RECV of the other end */
#define MEM_BURST	16u	/* operations of one peer before the next peer's */

struct mem_queue {
	struct mem_wqe *wqe;		/* mask + 1; NULL until connect() */
	const struct mem_target *target;
	struct far_link *link;		/* NULL: the target is a space's memory */
	uint32_t mask;
	uint32_t freed, run, posted, flush_to;
	uint32_t next;			/* index of the next queue in the list of queues that
					   have operations to run; MEM_NOBODY: the last */
	uint8_t connected;
	uint8_t listed;			/* the queue is in this list */
	uint8_t stalled;		/* its first WRITE_IMM waits for a RECV */
};

struct mem_qset {
	struct far_qset qset;
	struct far_qset_stats stats;
	unsigned depth, nr_peers;
	uint32_t first, last;		/* of the list of queues; first MEM_NOBODY: empty */
	struct mem_runner runner;
	unsigned nr_stalled;
	struct far_bell bell;
	struct mem_calls *calls;	/* NULL: no connection, no service */
	struct mem_queue queue[];	/* nr_peers */
};

static struct mem_qset *qset_of(struct far_qset *qset)
{
	return (struct mem_qset *)qset;
}

struct far_bell *mem_qset_bell(struct far_qset *qset)
{
	return &qset_of(qset)->bell;
}

struct mem_calls **mem_qset_calls(struct far_qset *qset)
{
	return &qset_of(qset)->calls;
}

int mem_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset)
{
	struct mem_qset *mine;

	if (!attr->nr_peers || !attr->depth || attr->depth > 32768)
		return -EINVAL;
	if (attr->datagrams)
		return -EOPNOTSUPP;
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
	if (mine->calls)
		mem_calls_free(mine->calls);
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

/* Cancels what is posted, and begins anew with another target. */
static int queue_start(struct mem_qset *mine, unsigned idx, const struct mem_target *target)
{
	struct mem_queue *queue;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	queue = &mine->queue[idx];
	if (queue->link)
		return -EISCONN;
	if (!queue->wqe) {
		err = queue_alloc(queue, mine->depth);
		if (err)
			return err;
	}
	queue->target = target;
	queue->flush_to = queue->posted;
	queue->connected = 1;
	return 0;
}

int mem_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	const struct mem_peer *priv = peer->priv;

	if (mem_file_gone(priv->map))
		return -EHOSTDOWN;
	return queue_start(qset_of(qset), idx, &priv->target);
}

int mem_qset_link(struct far_qset *qset, unsigned idx, struct far_link *link)
{
	struct mem_qset *mine = qset_of(qset);
	int err = queue_start(mine, idx, &link->target);

	if (!err)
		mine->queue[idx].link = link;
	return err;
}

void mem_qset_unlink(struct far_qset *qset, unsigned idx)
{
	struct mem_queue *queue = &qset_of(qset)->queue[idx];

	queue->link = NULL;
	queue->connected = 0;
	queue->freed = queue->run = queue->flush_to = queue->posted;
	qset_of(qset)->nr_stalled -= queue->stalled;
	queue->stalled = 0;
}

/*
 * Prefetches the first cache lines that poll() will access; with a NIC, memory would work
 * at this time, too. A wrong address does no harm.
 */
static void queue_prefetch(const struct mem_queue *queue, const struct far_wr *wr)
{
	const uint8_t *at = queue->target->base + wr->remote;
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

	int more = queue->run != queue->posted && !queue->stalled;

	if (mine->first == mine->last && more)
		return;
	mine->first = queue->next;
	queue->listed = 0;
	if (more)
		list_add(mine, idx);
}

/* Tries all queues again that wait for RECVs. */
static void stalled_retry(struct mem_qset *mine)
{
	uint32_t idx;

	for (idx = 0; mine->nr_stalled && idx < mine->nr_peers; idx++) {
		if (!mine->queue[idx].stalled)
			continue;
		mine->queue[idx].stalled = 0;
		mine->nr_stalled--;
		if (!mine->queue[idx].listed)
			list_add(mine, idx);
	}
}

/* RECVs go to a queue of their own, so a list has nothing else. */
static int post_recv(struct mem_qset *mine, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	int err = mine->calls ? mem_link_recv(mine->calls, idx, wr, nr) : -ENOTCONN;

	if (!err)
		far_wr_count(&mine->stats, wr, nr);
	return err;
}

int mem_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct mem_qset *mine = qset_of(qset);
	struct mem_queue *queue = idx < mine->nr_peers ? &mine->queue[idx] : NULL;
	struct far_wr_queue to = { .exists = false };
	unsigned i;
	int where;

	if (queue)
		to = (struct far_wr_queue) {
			.exists = true, .connected = queue->connected,
			.calls = queue->link != NULL, .used = queue->posted - queue->freed,
			.depth = mine->depth,
		};
	where = far_wr_check_post(&to, wr, nr, qset->nic->ops->caps);
	if (where == FAR_WR_TO_RECVS)
		return post_recv(mine, idx, wr, nr);
	if (where != FAR_WR_TO_QUEUE)
		return where;
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

/* True if the operation must wait, with all behind it, until the other end posts a RECV. */
static int queue_stalls(struct mem_qset *mine, struct mem_queue *queue,
			const struct far_wr *wr)
{
	if (wr->op != FAR_NIC_WRITE_IMM || (int32_t)(queue->flush_to - queue->run) > 0 ||
	    __atomic_load_n(queue->target->state, __ATOMIC_ACQUIRE) != MEM_RUNS ||
	    mem_link_has_recv(queue->link))
		return 0;
	queue->stalled = 1;
	mine->nr_stalled++;
	return 1;
}

/* Executes the operation. Of a WRITE_IMM, the data are visible before the immediate. */
static int queue_exec(struct mem_qset *mine, struct mem_queue *queue,
		      const struct mem_wqe *wqe)
{
	int status = mem_exec(&mine->runner, queue->target, wqe);

	if (!status && wqe->wr.op == FAR_NIC_WRITE_IMM)
		mem_link_imm(queue->link, wqe->wr.arg[0]);
	return status;
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

		if (queue_stalls(mine, queue, &wqe->wr))
			break;
		if ((int32_t)(queue->flush_to - queue->run) <= 0)
			status = queue_exec(mine, queue, wqe);
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

	if (mine->calls)
		nr = mem_calls_take(mine->calls, wc, max);
	if (mine->nr_stalled)
		stalled_retry(mine);
	while (nr < max && mine->first != MEM_NOBODY) {
		nr += queue_run(mine, &mine->queue[mine->first], wc + nr, max - nr);
		list_turn(mine);
	}
	if (mine->runner.dirty)
		mem_drain(&mine->runner.dirty);
	return nr;
}

/* A queue that waits for a RECV of the other end looks for it now and then. */
static int stalled_wait(struct mem_qset *mine, uint64_t until)
{
	uint64_t soon = far_real_now(mine->qset.nic) + MEM_STALL_NS;
	int err = mine->calls ? mem_calls_sleep(mine->calls, soon < until ? soon : until) :
				far_bell_wait(&mine->bell, soon < until ? soon : until);

	return soon < until ? 0 : err;
}

int mem_wait(struct far_qset *qset, uint64_t until)
{
	struct mem_qset *mine = qset_of(qset);

	/* The next poll() will execute what is posted. */
	if (mine->first != MEM_NOBODY)
		return 0;
	if (mine->nr_stalled)
		return stalled_wait(mine, until);
	if (mine->calls)
		return mem_calls_sleep(mine->calls, until);
	return far_bell_wait(&mine->bell, until);
}

void mem_wake(struct far_qset *qset)
{
	far_bell_ring(&qset_of(qset)->bell);
}

int mem_fd_arm(struct far_qset *qset)
{
	struct mem_qset *mine = qset_of(qset);

	if (mine->calls)
		return -EOPNOTSUPP;
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
