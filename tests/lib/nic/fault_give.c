/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the fault wrapper gives operations to the inner back end: in which order, in which
 * pieces, and which operations of a broken queue pair are still executed.
 *
 * A READ or WRITE may be given as pieces of one aligned word each. All pieces are
 * signaled, so that each has a completion; the id of a piece is the number of its
 * operation in the queue.
 */
#include <errno.h>

#include "fault_priv.h"

static unsigned qset_faults(const struct fault_qset *mine)
{
	return __atomic_load_n(&fault_of_qset(mine)->always, __ATOMIC_RELAXED);
}

static int wqe_moves(const struct fault_wqe *wqe)
{
	return wqe->wr.op == FAR_NIC_READ || wqe->wr.op == FAR_NIC_WRITE;
}

/* Chooses the number of pieces of an operation, and their order. */
static void wqe_cut(struct fault_qset *mine, struct fault_wqe *wqe)
{
	uint32_t a, b;

	wqe->words = 1;
	wqe->first = 0;
	wqe->stride = 1;
	if (!wqe_moves(wqe) || !wqe->wr.len ||
	    !(wqe->fate == FAULT_PART || qset_faults(mine) & FAR_FAULT_TEAR))
		return;
	wqe->words = ((wqe->wr.remote & 7) + wqe->wr.len + 7) / 8;
	wqe->first = far_rng_below(&mine->rng, wqe->words);
	/* A stride that has no divisor in common with words reaches each word once. */
	do {
		wqe->stride = 1 + far_rng_below(&mine->rng, wqe->words);
		for (a = wqe->words, b = wqe->stride; b; ) {
			uint32_t rest = a % b;

			a = b;
			b = rest;
		}
	} while (a != 1);
}

static struct far_wr wqe_piece(const struct fault_wqe *wqe, uint32_t nr)
{
	struct far_wr wr = wqe->wr;
	uint64_t word, from, to;
	uint32_t skip;

	wr.id = nr;
	wr.flags |= FAR_WR_SIGNALED;
	if (wr.flags & FAR_WR_INLINE)
		wr.local = (void *)wqe->data;
	if (wqe->words == 1)
		return wr;
	word = (wqe->first + (uint64_t)wqe->given * wqe->stride) % wqe->words;
	from = (wr.remote & ~UINT64_C(7)) + word * 8;
	to = from + 8 < wr.remote + wr.len ? from + 8 : wr.remote + wr.len;
	from = from > wr.remote ? from : wr.remote;
	skip = from - wr.remote;
	wr.remote = from;
	wr.local = (uint8_t *)wr.local + skip;
	wr.len = to - from;
	return wr;
}

/* True if the next piece of an operation that fails in part is left out. */
static int piece_is_lost(struct fault_qset *mine, const struct fault_wqe *wqe)
{
	return wqe->fate == FAULT_PART &&
	       (wqe->wr.op == FAR_NIC_READ || far_rng_below(&mine->rng, 2));
}

/* Gives one piece to inner. -EAGAIN: inner is full; -ENOTCONN: inner's queue pair is broken. */
static int wqe_give(struct fault_qset *mine, unsigned idx, uint32_t nr)
{
	struct fault_wqe *wqe = queue_at(&mine->queue[idx], nr);
	struct far_qset *inner = mine->wrap.inner;
	struct far_wr wr;
	int err;

	if (!wqe->words)
		wqe_cut(mine, wqe);
	if (piece_is_lost(mine, wqe)) {
		wqe->back++;
	} else {
		wr = wqe_piece(wqe, nr);
		err = inner->nic->ops->post(inner, idx, &wr, 1);
		if (err)
			return err;
	}
	wqe->given++;
	if (wqe->given == wqe->words)
		wqe->state = FAULT_GIVEN;
	if (wqe->state == FAULT_GIVEN && wqe->back == wqe->given)
		wqe->state = FAULT_DONE;
	return 0;
}

/* The number of the WRITE that may pass operation nr (a READ or atomic), or nr if none may. */
static uint32_t queue_pass(const struct fault_queue *queue, uint32_t nr)
{
	uint32_t at;

	for (at = nr + 1; at != queue->posted; at++) {
		const struct fault_wqe *wqe = queue_at(queue, at);

		if (wqe->wr.op == FAR_NIC_WRITE_IMM)
			break;
		if (wqe->state != FAULT_QUEUED || wqe->wr.op != FAR_NIC_WRITE)
			continue;
		return wqe->wr.flags & FAR_WR_FENCE ? nr : at;
	}
	return nr;
}

/* Chooses the operation whose next piece is given. 0: the queue has none. */
static int queue_next(struct fault_qset *mine, struct fault_queue *queue,
		      uint32_t *ret_nr)
{
	uint32_t nr;

	for (nr = queue->taken; nr != queue->posted; nr++)
		if (queue_at(queue, nr)->state == FAULT_QUEUED)
			break;
	if (nr == queue->posted)
		return 0;
	if (queue_at(queue, nr)->wr.op != FAR_NIC_WRITE &&
	    queue_at(queue, nr)->wr.op != FAR_NIC_WRITE_IMM &&
	    qset_faults(mine) & FAR_FAULT_REORDER && far_rng_below(&mine->rng, 2))
		nr = queue_pass(queue, nr);
	*ret_nr = nr;
	return 1;
}

/* Drops the pieces of an operation that inner has not got: they will not be executed. */
static void wqe_drop(struct fault_wqe *wqe)
{
	if (wqe->state != FAULT_QUEUED)
		return;
	wqe->fate = FAULT_NONE;
	wqe->state = wqe->back == wqe->given ? FAULT_DONE : FAULT_GIVEN;
}

/* Inner's queue pair is broken: drops all operations that inner has not got. */
static void queue_drop(struct fault_queue *queue)
{
	uint32_t nr;

	queue->connected = 0;
	for (nr = queue->taken; nr != queue->posted; nr++)
		wqe_drop(queue_at(queue, nr));
}

/* Sets the status of operation nr, which has failed, and cancels all behind it. */
static void queue_fail(struct fault_queue *queue, uint32_t nr, int status)
{
	queue->connected = 0;
	queue_at(queue, nr)->status = status;
	for (nr++; nr != queue->posted; nr++)
		queue_at(queue, nr)->status = -ECANCELED;
}

void fault_cancel(struct fault_queue *queue)
{
	uint32_t nr;

	queue_drop(queue);
	for (nr = queue->taken; nr != queue->posted; nr++)
		if (!queue_at(queue, nr)->status)
			queue_at(queue, nr)->status = -ECANCELED;
}

void fault_break(struct fault_qset *mine, struct fault_queue *queue, uint32_t nr,
		 int status)
{
	uint32_t whole = far_rng_below(&mine->rng, queue->posted - nr + 1);

	queue_fail(queue, nr, status);
	for (nr += whole; nr != queue->posted; nr++) {
		struct fault_wqe *wqe = queue_at(queue, nr);

		if (whole == UINT32_MAX) {
			wqe_drop(wqe);
			continue;
		}
		whole = UINT32_MAX;
		wqe->fate = FAULT_PART;
		if (!wqe->given)
			wqe->words = 0;
	}
}

/* Gives at most max pieces of one queue to inner. Returns how many. */
static unsigned queue_give(struct fault_qset *mine, unsigned idx, unsigned max)
{
	struct fault_queue *queue = &mine->queue[idx];
	unsigned done = 0;
	uint32_t nr;
	int err;

	while (done < max && queue_next(mine, queue, &nr)) {
		err = wqe_give(mine, idx, nr);
		if (err == -EAGAIN)
			break;
		if (err) {
			queue_drop(queue);
			break;
		}
		done++;
	}
	return done;
}

/*
 * The most pieces of one round. Torn operations go a few words at a time, so that other
 * threads can act in between; longer operations go by more words.
 */
static unsigned give_most(struct fault_qset *mine)
{
	uint64_t most = 8;
	unsigned i;

	if (!(qset_faults(mine) & (FAR_FAULT_TEAR | FAR_FAULT_REORDER)))
		return UINT32_MAX;
	for (i = 0; i < mine->nr_peers; i++) {
		const struct fault_queue *queue = &mine->queue[i];

		if (queue->taken != queue->posted)
			most += queue_at(queue, queue->taken)->words / 64;
	}
	return 1 + far_rng_below(&mine->rng, most);
}

void fault_give(struct fault_qset *mine)
{
	unsigned most = give_most(mine);
	unsigned turn = 0;
	unsigned i;

	if (qset_faults(mine) & FAR_FAULT_REORDER)
		turn = far_rng_below(&mine->rng, mine->nr_peers);
	for (i = 0; i < mine->nr_peers && most; i++)
		most -= queue_give(mine, (turn + i) % mine->nr_peers, most);
}

/*
 * Handles the completion of a piece of operation nr by inner. If a piece has failed,
 * earlier operations that it has passed may not be executed any more; the failure then
 * counts for the first of these.
 */
static void queue_back(struct fault_queue *queue, uint32_t nr, int status)
{
	struct fault_wqe *wqe = queue_at(queue, nr);

	wqe->back++;
	if (wqe->state == FAULT_GIVEN && wqe->back == wqe->given)
		wqe->state = FAULT_DONE;
	if (!status || wqe->status)
		return;
	queue_drop(queue);
	for (nr = queue->taken; queue_at(queue, nr) != wqe; nr++)
		if (queue_at(queue, nr)->fate != FAULT_WHOLE)
			break;
	queue_fail(queue, nr, status);
}

/* How many completions there is room for, if all are of RECVs. */
static unsigned collect_most(const struct fault_qset *mine)
{
	unsigned room = FAULT_RECVS - mine->nr_recvs;

	return room < 16 ? room : 16;
}

int fault_collect(struct fault_qset *mine)
{
	struct far_qset *inner = mine->wrap.inner;
	struct far_wc wc[16];
	int nr, i;

	do {
		nr = inner->nic->ops->poll(inner, wc, collect_most(mine));
		for (i = 0; i < nr; i++)
			if (wc[i].op == FAR_NIC_RECV)
				mine->recv[mine->nr_recvs++] = wc[i];
			else
				queue_back(&mine->queue[wc[i].peer], wc[i].id, wc[i].status);
	} while (nr == 16);
	return nr < 0 ? nr : 0;
}
