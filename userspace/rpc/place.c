/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which queue pair a thread uses (FLOCK, section 3.4.2). Queue pairs that the server has
 * closed have no threads; the others get about the same number of bytes, and large requests
 * are kept away from small ones. The thread that sends when the time has come assigns all
 * threads; each moves itself, once all that it has sent is answered. So its requests run in
 * their order.
 */
#include "client.h"

#include <errno.h>
#include <string.h>

#include "../base/rng.h"

#define INTERVAL_NS	UINT64_C(1000000)	/* between two assignments */
#define NAP_NS		20000u			/* between two looks for a queue pair */
#define APART		2u			/* classes of size that are not to be mixed */

/* A thread that has joined; others may be joining. */
static struct far_rpc_thread *thread_at(const struct far_rpc *rpc, unsigned idx)
{
	return __atomic_load_n(&rpc->thread[idx], __ATOMIC_ACQUIRE);
}

static unsigned size_class(uint32_t len)
{
	unsigned class = len ? 32 - __builtin_clz(len) : 0;

	return class < RPC_SIZES ? class : RPC_SIZES - 1;
}

void rpc_load_note(struct rpc_load *load, uint32_t len)
{
	rpc_load_add(&load->requests, 1);
	rpc_load_add(&load->bytes, rpc_item(len));
	rpc_load_add(&load->size[size_class(len)], 1);
}

static uint64_t count_take(const uint64_t *counter, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), more = now - *seen;

	*seen = now;
	return more;
}

/* What the thread has sent since the last time. */
static void load_take(const struct rpc_load *load, struct rpc_load *seen,
		      struct rpc_mover *ret_mover)
{
	uint64_t size[RPC_SIZES], sum = 0, half = 0;
	unsigned i;

	ret_mover->requests = count_take(&load->requests, &seen->requests);
	ret_mover->bytes = count_take(&load->bytes, &seen->bytes);
	for (i = 0; i < RPC_SIZES; i++)
		sum += size[i] = count_take(&load->size[i], &seen->size[i]);
	for (i = 0; i < RPC_SIZES - 1 && (half += size[i]) * 2 < sum; i++)
		;
	ret_mover->size = i;
}

/* The queue pair that has the fewest threads of those that may be used; any of equal ones. */
static struct rpc_qp *qp_pick(struct far_rpc *rpc, struct far_rng *rng)
{
	unsigned nr[FAR_RPC_QPS_MAX] = { 0 }, i, ties = 0;
	struct rpc_qp *best = NULL;

	for (i = 0; i < FAR_RPC_THREADS_MAX; i++) {
		const struct far_rpc_thread *thread = thread_at(rpc, i);

		if (!thread)
			break;
		if (__atomic_load_n(&thread->used, __ATOMIC_RELAXED))
			nr[rpc_thread_qp(thread) - rpc->qp]++;
	}
	for (i = 0; i < rpc->nr_qps; i++) {
		if (rpc_qp_closed(&rpc->qp[i]))
			continue;
		if (!best || nr[i] < nr[best - rpc->qp])
			ties = 0;
		else if (nr[i] > nr[best - rpc->qp])
			continue;
		if (!far_rng_below(rng, ++ties))
			best = &rpc->qp[i];
	}
	return best;
}

struct rpc_qp *rpc_place_first(struct far_rpc *rpc, unsigned idx)
{
	struct rpc_qp *qp = NULL;
	struct far_rng rng;

	if (!rpc->fixed) {
		far_rng_init(&rng, 0, idx);
		qp = qp_pick(rpc, &rng);
	}
	return qp ? qp : &rpc->qp[idx % rpc->nr_qps];
}

/* How good an assignment is. */
struct merit {
	unsigned mixed;			/* queue pairs with large and small requests */
	uint64_t most;			/* bytes of the busiest */
};

/* The merit of the present targets, or of what rpc_assign() has found. */
static struct merit merit_of(const struct far_rpc *rpc, const struct rpc_mover *mover,
			     unsigned nr, bool found)
{
	uint8_t least[FAR_RPC_QPS_MAX], most[FAR_RPC_QPS_MAX] = { 0 };
	uint64_t bytes[FAR_RPC_QPS_MAX] = { 0 };
	struct merit merit = { 0 };
	unsigned i, at;

	memset(least, UINT8_MAX, sizeof(least));
	for (i = 0; i < nr; i++) {
		at = found ? mover[i].qp : thread_at(rpc, mover[i].thread)->target - rpc->qp;
		bytes[at] += mover[i].bytes;
		if (mover[i].size < least[at])
			least[at] = mover[i].size;
		if (mover[i].size > most[at])
			most[at] = mover[i].size;
	}
	for (i = 0; i < rpc->nr_qps; i++) {
		merit.mixed += most[i] >= least[i] + APART;
		if (bytes[i] > merit.most)
			merit.most = bytes[i];
	}
	return merit;
}

/* True if to move threads: for less mixing, or for a quarter less of bytes at the busiest. */
static bool merit_is_better(struct merit found, struct merit now)
{
	return found.mixed != now.mixed ? found.mixed < now.mixed :
					  found.most < now.most - now.most / 4;
}

/* Lists the queue pairs that may be used. */
static unsigned open_list(struct far_rpc *rpc, uint16_t *open)
{
	unsigned i, nr = 0;

	rpc->placing.changed = false;
	for (i = 0; i < rpc->nr_qps; i++) {
		bool closed = rpc_qp_closed(&rpc->qp[i]);

		rpc->placing.changed |= closed != rpc->placing.closed[i];
		rpc->placing.closed[i] = closed;
		if (!closed)
			open[nr++] = i;
	}
	return nr;
}

/*
 * Requests that the thread asks: those without a response. While it waits for one of them, what
 * has come for the others does not matter: it would have sent more.
 */
static unsigned depth_of(const struct far_rpc_thread *thread)
{
	bool inside = __atomic_load_n(&thread->load.inside, __ATOMIC_RELAXED);
	uint64_t over = __atomic_load_n(inside ? &thread->load.taken : &thread->answered,
					__ATOMIC_RELAXED);
	int64_t depth = __atomic_load_n(&thread->load.asked, __ATOMIC_RELAXED) - over;

	return depth > 0 ? depth : 0;
}

/* Makes the report of what the threads ask, which the next message takes along. */
static void asks_note(struct far_rpc *rpc, unsigned depth, unsigned threads)
{
	if (depth > RPC_DEPTH_MAX)
		depth = RPC_DEPTH_MAX;
	if (depth)
		__atomic_store_n(&rpc->placing.asks,
				 RPC_IMM_ASKS | depth << RPC_IMM_DEPTH_SHIFT |
				 (threads - 1) << RPC_IMM_THREADS_SHIFT, __ATOMIC_RELAXED);
}

/* Lists threads that have sent something since the last time, and notes what all ask. */
static unsigned movers_list(struct far_rpc *rpc, struct rpc_mover *mover)
{
	unsigned i, nr = 0, depth = 0, threads = 0, asks;

	for (i = 0; i < FAR_RPC_THREADS_MAX; i++) {
		struct far_rpc_thread *thread = thread_at(rpc, i);

		if (!thread)
			break;
		mover[nr].thread = i;
		load_take(&thread->load, &rpc->placing.seen[i], &mover[nr]);
		if (!thread->target)
			__atomic_store_n(&thread->target, rpc_thread_qp(thread),
					 __ATOMIC_RELEASE);
		asks = depth_of(thread);
		depth += asks;
		threads += asks || mover[nr].requests;
		nr += mover[nr].requests != 0;
	}
	asks_note(rpc, depth, threads);
	return nr;
}

static void place_all(struct far_rpc *rpc)
{
	struct rpc_mover mover[FAR_RPC_THREADS_MAX];
	uint16_t open[FAR_RPC_QPS_MAX];
	unsigned nr_open = open_list(rpc, open), i;
	unsigned nr = movers_list(rpc, mover);

	if (!nr || !nr_open)
		return;
	rpc_assign(mover, nr, nr_open);
	for (i = 0; i < nr; i++)
		mover[i].qp = open[mover[i].qp];
	if (!rpc->placing.changed &&
	    !merit_is_better(merit_of(rpc, mover, nr, true), merit_of(rpc, mover, nr, false)))
		return;
	for (i = 0; i < nr; i++)
		__atomic_store_n(&thread_at(rpc, mover[i].thread)->target, &rpc->qp[mover[i].qp],
				 __ATOMIC_RELEASE);
}

void rpc_place(struct far_rpc *rpc, uint64_t now)
{
	struct rpc_placing *placing = &rpc->placing;
	uint32_t free = 0;

	if (rpc->fixed || rpc->nr_qps == 1 ||
	    now < __atomic_load_n(&placing->next, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&placing->busy, &free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	place_all(rpc);
	__atomic_store_n(&placing->next, now + INTERVAL_NS, __ATOMIC_RELAXED);
	__atomic_store_n(&placing->busy, 0, __ATOMIC_RELEASE);
}

/* Where the thread is to go; NULL: all queue pairs are closed. */
static struct rpc_qp *goal_of(struct far_rpc_thread *thread)
{
	struct rpc_qp *target = __atomic_load_n(&thread->target, __ATOMIC_ACQUIRE);
	struct far_rng rng;

	if (target && !rpc_qp_closed(target))
		return target;
	if (!rpc_qp_closed(thread->qp))
		return thread->qp;
	far_rng_init(&rng, thread->sent, thread->idx);
	return qp_pick(thread->rpc, &rng);
}

int rpc_place_move(struct far_rpc_thread *thread, uint64_t until)
{
	struct far_rpc *rpc = thread->rpc;
	struct rpc_qp *goal;

	while ((goal = goal_of(thread)) != thread->qp) {
		if (goal && rpc_thread_drained(thread)) {
			__atomic_store_n(&thread->qp, goal, __ATOMIC_RELEASE);
			__atomic_add_fetch(&rpc->placing.moves, 1, __ATOMIC_RELAXED);
			return 0;
		}
		if (rpc_now(rpc) >= until)
			return -ETIME;
		if (goal) {
			rpc_await(thread, NULL, until);
			continue;
		}
		/* The server closes one before it opens another. */
		if (rpc_duty_try(rpc)) {
			rpc_deliver(rpc);
			rpc_duty_leave(rpc);
		}
		rpc->nic->ops->wait(thread->qset, rpc_now(rpc) + NAP_NS);
	}
	return 0;
}
