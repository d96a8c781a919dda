// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations: posting what was appended, and what completes.
 *
 * A list goes out when the thread has credits for it, the queue has room and the
 * connection stands; else its task waits behind those that came before. A list that
 * is longer than C_max or the queue goes in pieces.
 *
 * When an operation fails, its connection is broken, and all that is outstanding there
 * fails too. Each task that is hit has a sticky error until its far_sync() returns
 * it, and posts nothing in between: of a WRITE and a CAS behind it, the CAS never goes
 * out alone. That far_sync() makes the connection anew, once everything outstanding has come
 * back, so that nothing of the old one is executed any more when the error is known
 * (loose.h); if it cannot, the next post tries to.
 */
#include <errno.h>

#include "error.h"
#include "loose.h"
#include "task.h"
#include "thread.h"
#include "watch.h"

#define POLL_MAX	32
#define TRIES		3	/* of a post whose connection breaks while it is idle */
#define DOWN_NS		UINT64_C(1000000000)

/* That the node does not answer has taken long to find out. */
static int node_is_down(int err)
{
	return err == -EHOSTDOWN || err == -EHOSTUNREACH || err == -EUSERS ||
	       err == -ETIMEDOUT;
}

int far_op_connect(struct far_thread *thread, unsigned node)
{
	struct far *far = thread->far;
	struct far_link *link = &thread->link[node];
	const struct far_peer *peer;
	int err;

	if (far_is_parents(far))
		return -ESTALE;
	peer = __atomic_load_n(&thread->peer[node], __ATOMIC_ACQUIRE);
	if (!peer || (!thread->joins && far_client_lost(far->client, node)) ||
	    far_node_is_silent(far, node))
		return -EHOSTDOWN;
	if (far_thread_now(thread) < atomic_load(&far->down_until[node]))
		return -EHOSTDOWN;
	err = far->nic->ops->connect(thread->qset, node, peer);
	/* Not the next client, if these peers are of one before: its peers come before it does. */
	if (err == -ESTALE && thread->peer == far->peer && far->client) {
		far_node_forgot(far, node);
		/* it attaches again there */
		if (!far_client_stale(far->client))
			err = -EHOSTDOWN;
	}
	if (node_is_down(err)) {
		atomic_store(&far->down_until[node], far_thread_now(thread) + DOWN_NS);
		if (!thread->joins)
			far_node_is_away(far, node);
	}
	if (err)
		return err;
	if (link->was_connected)
		far_counts_add(&thread->counts, FAR_COUNT_RECONNECTS, 1);
	link->connected = 1;
	link->peer = peer;
	link->was_connected = 1;
	far_loose_end(thread, node);
	return 0;
}

/*
 * Reserves credits and room for up to `want` operations to a node. Returns how many,
 * 0 if some must complete first, or why the node cannot be reached.
 */
static int grant_try(struct far_thread *thread, unsigned node, unsigned want)
{
	struct far_link *link = &thread->link[node];
	unsigned nr = want, depth = thread->far->depth;
	int err;

	if (far_client_lost(thread->far->client, node) && !thread->joins)
		return -EHOSTDOWN;
	if (!link->connected) {
		if (link->outstanding)
			return 0;
		err = far_op_connect(thread, node);
		if (err)
			return err;
	}
	if (nr > depth)
		nr = depth;
	if (thread->throttles)
		nr = far_credit_piece(&thread->credit, nr);
	if (nr > depth - link->outstanding)
		return 0;
	if (thread->throttles && !far_credit_take(&thread->credit, nr))
		return 0;
	link->outstanding += nr;
	thread->outstanding += nr;
	return nr;
}

/* Gives back what was not used after all. */
static void grant_undo(struct far_thread *thread, unsigned node, unsigned nr)
{
	thread->link[node].outstanding -= nr;
	thread->outstanding -= nr;
	if (thread->throttles)
		far_credit_untake(&thread->credit, nr);
}

/* As grant_try(), and waits as long as it must. */
static int grant_wait(struct far_task *task, unsigned node, unsigned want)
{
	struct far_thread *thread = task->thread;
	int nr = 0;

	if (!thread->waiting.first)
		nr = grant_try(thread, node, want);
	if (nr)
		return nr;
	far_counts_add(&thread->counts, FAR_COUNT_CREDIT_WAITS, 1);
	task->want = want;
	task->want_node = node;
	far_queue_put(&thread->waiting, task);
	far_sched_sleep(task);
	return task->granted;
}

/* Lets those post who wait, in order, as far as it goes. */
static void grant_waiting(struct far_thread *thread)
{
	struct far_task *task;

	while ((task = thread->waiting.first)) {
		int nr = grant_try(thread, task->want_node, task->want);

		if (!nr)
			return;
		task->granted = nr;
		far_queue_take(&thread->waiting);
		far_sched_wake(task);
	}
}

static void ops_count(struct far_thread *thread, const struct far_wr *wr, unsigned nr)
{
	static const uint8_t kind[FAR_NIC_NR_OPS] = {
		[FAR_NIC_READ] = FAR_COUNT_READS,
		[FAR_NIC_WRITE] = FAR_COUNT_WRITES,
		[FAR_NIC_CAS] = FAR_COUNT_CAS,
		[FAR_NIC_FAA] = FAR_COUNT_FAA,
	};
	const struct far_wr *end = wr + nr;
	uint64_t payload = 0, wire = 0;

	for (; wr < end; wr++) {
		if (wr->id & FAR_ID_SERVICE) {
			far_counts_add(&thread->counts, FAR_COUNT_SERVICE, 1);
			continue;
		}
		payload += wr->len;
		if (wr->op == FAR_NIC_READ) {
			wire += far_wire_read(wr->len);
		} else if (wr->op == FAR_NIC_WRITE) {
			wire += far_wire_write(wr->len);
			far_counts_add(&thread->counts, FAR_COUNT_WRITTEN, wr->len);
		} else {
			wire += FAR_WIRE_ATOMIC;
		}
		far_counts_add(&thread->counts, kind[wr->op], 1);
	}
	far_counts_add(&thread->counts, FAR_COUNT_PAYLOAD, payload);
	far_counts_add(&thread->counts, FAR_COUNT_WIRE, wire);
}

/* Posts nr operations of the list, from `at`, with one doorbell. */
static int list_ring(struct far_task *task, const struct far_list *list, unsigned node,
		     unsigned at, unsigned nr)
{
	struct far_thread *thread = task->thread;
	struct far_ops *ops = task->ops;
	struct far_wr *first = &list->wr[at], *last = first + nr - 1, *wr;
	uint64_t id = task->index | (uint64_t)nr << FAR_ID_LEN_SHIFT |
		      (uint64_t)ops->depth << FAR_ID_DEPTH_SHIFT |
		      (uint64_t)thread->generation << FAR_ID_GENERATION_SHIFT;
	int err;

	for (wr = first; wr <= last; wr++) {
		wr->id = (wr->id & FAR_ID_SERVICE) | id;
		if (wr->flags & FAR_WR_INLINE)
			wr->local = list->data[wr - list->wr];
	}
	last->id |= FAR_ID_LAST;
	last->flags |= FAR_WR_SIGNALED;
	/* The scheduler pushes when the task sleeps. */
	thread->qset->pushes = task->syncs;
	err = thread->far->nic->ops->post(thread->qset, node, first, nr);
	if (err) {
		last->flags &= ~FAR_WR_SIGNALED;
		return err;
	}
	ops->outstanding += nr;
	ops_count(thread, first, nr);
	if (!(first->id & FAR_ID_SERVICE))
		far_counts_add(&thread->counts, FAR_COUNT_DOORBELLS, 1);
	return 0;
}

static int stale_fail(struct far_task *task)
{
	if (far_is_parents(task->thread->far))
		return far_task_fail(task, -ESTALE, "this client is the parent's: open a "
				     "new one in the child of a fork()");
	return far_task_fail(task, -ESTALE, "this client was fenced, or a memory "
			     "node has begun anew: open a new one");
}

/*
 * Posts a piece; returns its length or an error. 0: not now, although there seemed to
 * be room.
 */
static int list_piece(struct far_task *task, const struct far_list *list, unsigned node,
		      unsigned at)
{
	struct far_thread *thread = task->thread;
	int nr, err;

	nr = grant_wait(task, node, list->nr - at);
	if (nr < 0)
		return far_error_connect(task, node, nr);
	err = task->ops->error;		/* of what came back while it waited */
	if (!err && task->peer != thread->peer)
		err = stale_fail(task);
	if (!err)
		err = list_ring(task, list, node, at, nr);
	if (!err)
		return nr;
	grant_undo(thread, node, nr);
	if (err == -ENOTCONN)
		thread->link[node].connected = 0;
	if (err == -ENOTCONN || err == -EAGAIN)
		return 0;
	return far_error_post(task, node, err);
}

static int list_post(struct far_task *task, unsigned node)
{
	const struct far_list *list = &task->ops->lists->list[node];
	unsigned at = 0, tries = 0;

	while (at < list->nr) {
		int nr = list_piece(task, list, node, at);

		if (nr < 0)
			return nr;
		at += nr;
		if (nr)
			tries = 0;
		else if (task->thread->outstanding)
			far_yield(task);
		else if (++tries == TRIES)
			return far_error_post(task, node, -EIO);
	}
	return 0;
}

/* True if no operation of the thread can be: see far_client_stale(). */
static bool thread_is_stale(const struct far_thread *thread)
{
	return (far_client_stale(thread->far->client) && !thread->joins) ||
	       far_is_parents(thread->far);
}

/* Another client has come in the place of that of these connections. */
static void links_renew(struct far_thread *thread)
{
	thread->peer = thread->far->peer;
	for (unsigned i = 0; i < thread->far->nr_nodes; i++)
		thread->link[i].connected = 0;
}

/* By the clock of the last answers. What others see of an operation has to be finished. */
static int task_is_late(const struct far_task *task)
{
	return task->thread->now >= task->late_at && !task->must;
}

/* Another thread's task is left as it is. */
int far_post(struct far_task *task)
{
	struct far_thread *thread = task->thread;
	struct far_ops *ops = task->ops;
	unsigned i;

	if (thread->self != far_self())
		return -EPERM;
	if (thread_is_stale(thread))
		stale_fail(task);
	else if (thread->peer != thread->far->peer && !thread->joins)
		links_renew(thread);
	task->peer = thread->peer;
	if (!ops->error && task_is_late(task))
		far_task_fail(task, -ETIME, "the operation's time was over before it had "
			      "changed anything");
	for (i = 0; i < ops->nr_touched && !ops->error; i++)
		list_post(task, ops->lists->touched[i]);
	far_op_drop(task);
	return ops->error;
}

void far_op_wait(struct far_task *task)
{
	struct far_ops *ops = task->ops;

	if (!ops->outstanding)
		return;
	if (!task->service)
		far_counts_add(&task->thread->counts, FAR_COUNT_ROUND_TRIPS, 1);
	ops->syncing = 1;
	far_sched_sleep(task);
	if (task->late_at == FAR_UNSTARTED)
		task->late_at = task->thread->now + task->thread->far->op_ns;
}

/*
 * Makes those connections anew that broke under verbs: none of these is executed after that.
 * One that cannot be made stays as it is.
 */
static void links_fence(struct far_task *task)
{
	struct far_thread *thread = task->thread;
	int nr;

	for (unsigned i = 0; i < thread->far->nr_nodes; i++) {
		if (!far_link_is_loose(thread, i))
			continue;
		nr = grant_wait(task, i, 1);
		if (nr > 0)
			grant_undo(thread, i, nr);
	}
}

int far_sync(struct far_task *task)
{
	int err;

	if (task->thread->self != far_self())
		return -EPERM;
	task->syncs = true;
	far_post(task);
	task->syncs = false;
	far_op_wait(task);
	err = task->ops->error;
	task->ops->error = 0;
	/* the verbs of a fenced client end with its attachments */
	if (err && err != -ESTALE)
		links_fence(task);
	return err;
}

/* `nr` operations of the task have come back. */
static void ops_return(struct far_task *task, struct far_ops *ops, unsigned nr)
{
	ops->outstanding -= nr;
	if (ops->outstanding || !ops->syncing)
		return;
	ops->syncing = 0;
	far_sched_wake(task);
}

static void op_complete(struct far_thread *thread, const struct far_wc *wc)
{
	unsigned nr = wc->id >> FAR_ID_LEN_SHIFT & 0xffff;
	struct far_task *task = &thread->task[wc->id & 0xffff];
	uint64_t generation = wc->id >> FAR_ID_GENERATION_SHIFT;
	struct far_ops *ops;

	if (generation != (thread->generation & 0xffffff))
		return;
	thread->link[wc->peer].answers++;
	ops = far_op_at(task, wc->id >> FAR_ID_DEPTH_SHIFT & FAR_ID_DEPTH_MASK);
	if (wc->status) {
		thread->link[wc->peer].connected = 0;
		far_loose_begin(thread, wc->peer);
		far_error_complete(task, ops, wc);
	}
	if (!(wc->id & FAR_ID_LAST))
		return;
	thread->link[wc->peer].outstanding -= nr;
	thread->outstanding -= nr;
	if (thread->throttles)
		far_credit_give(&thread->credit, nr);
	ops_return(task, ops, nr);
}

/* The queue set itself has failed: what was outstanding has an unknown fate. */
static void thread_break(struct far_thread *thread, int err)
{
	unsigned i;

	/* who waits for it may begin its time now */
	thread->now = far_thread_now(thread);
	thread->generation++;
	for (i = 0; i < thread->far->nr_nodes; i++) {
		thread->link[i].connected = 0;
		if (thread->link[i].outstanding)
			far_loose_begin(thread, i);
		thread->link[i].outstanding = 0;
	}
	if (thread->throttles)
		far_credit_give(&thread->credit, thread->outstanding);
	thread->outstanding = 0;
	for (i = 0; i < thread->nr_tasks; i++) {
		struct far_task *task = &thread->task[i];
		struct far_ops *ops;

		for (ops = task->ops; ops; ops = ops->below) {
			if (!ops->outstanding)
				continue;
			far_error_poll(task, ops, err);
			ops_return(task, ops, ops->outstanding);
		}
	}
}

void far_op_poll(struct far_thread *thread)
{
	struct far_wc wc[POLL_MAX];
	int i, nr;

	if (far_is_parents(thread->far))
		nr = -ESTALE;
	else
		nr = thread->far->nic->ops->poll(thread->qset, wc, POLL_MAX);
	if (nr < 0)
		thread_break(thread, nr);
	for (i = 0; i < nr; i++)
		op_complete(thread, &wc[i]);
	if (nr > 0) {
		thread->now = far_thread_now(thread);
		far_watch_due(thread, thread->now);
	}
	if (nr > 0 && thread->throttles)
		far_credit_tick(&thread->credit, thread->now);
	grant_waiting(thread);
}
