// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Epochs, the tasks' side: entering, leaving, retiring. The other side is round.c.
 *
 * Who enters is counted on one of two sides. The service turns to the other side when
 * a READ of E has returned: once the side that it left has nobody inside, all that was
 * begun before that READ returned has completed.
 */
#include "epoch.h"

#include "client_priv.h"
#include "deadline.h"
#include "task.h"
#include "thread.h"

#define OTHERS_ROUNDS	40u	/* see MAPS_ROUNDS in service.c */
#define FENCE_ROUNDS	4u	/* in which a process that has ended is fenced, and we know it */
#define WAIT_NS		UINT64_C(5000)		/* for the entry to be published */
#define RECLAIM_NS	UINT64_C(5000000000)
#define STALL_NS	UINT64_C(2000000000)	/* a dead client is fenced by then */

static struct far_epoch_task *epoch_task(struct far_task *task)
{
	return &task->thread->client->task[task->index];
}

/*
 * Until others see the client's entry: 0, or why it will not be. -ETIME: who publishes the
 * entry does not come to that. A thread that began while another one tried to start the
 * service has none if that one failed.
 */
static int active_wait(struct far_task *task, struct far_client *client, uint64_t *until)
{
	int err = 0;

	/* The collector: nobody is left who would publish the entry. */
	if (task->thread->client == client->service_side &&
	    atomic_load(&client->service_end))
		return -ECANCELED;
	if (atomic_load(&client->service) == FAR_SERVICE_NONE)
		err = far_service_start(task->thread->far, client);
	if (err)
		return err;
	if (!*until)
		*until = far_op_until(task);
	if (far_now(task) >= *until)
		return -ETIME;
	far_sleep(task, WAIT_NS);
	return 0;
}

/* Another client has come in the place of the thread's: none of its tasks is inside. */
static __attribute__((noinline)) int thread_renew(struct far_thread *thread,
						  struct far_client *client)
{
	struct far_client_thread *next;
	int err = far_client_thread_start(thread->far, client, thread->nr_tasks, &next);

	if (err)
		return err;
	far_client_thread_stop(thread->client);
	thread->client = next;
	return 0;
}

int far_epoch_enter(struct far_task *task)
{
	struct far_client *client = task->thread->far->client;
	struct far_client_thread *thread;
	struct far_epoch_task *me = epoch_task(task);
	uint32_t gen, side;
	uint64_t until = 0;
	int err;

	if (me->depth) {
		me->depth++;
		return 0;
	}
	if (task->thread->client->of != client) {
		err = thread_renew(task->thread, client);
		if (err)
			return err;
		me = epoch_task(task);
	}
	thread = task->thread->client;
	for (;;) {
		if (far_client_stale(client))
			return -ESTALE;
		gen = atomic_load(&client->gen);
		if (!(gen & FAR_GEN_ACTIVE)) {
			err = active_wait(task, client, &until);
			if (err)
				return err;
			continue;
		}
		side = gen & FAR_GEN_SIDE;
		/*
		 * Counted, and then looked again: either the service sees the count, or
		 * this task sees that the service has turned. Both are seq_cst.
		 */
		atomic_fetch_add(&thread->inside[side], 1);
		if (atomic_load(&client->gen) == gen)
			break;
		atomic_fetch_sub(&thread->inside[side], 1);
	}
	me->side = side;
	me->depth = 1;
	task->must = 0;		/* an attempt begins: nobody sees anything of it */
	return 0;
}

void far_epoch_exit(struct far_task *task)
{
	struct far_epoch_task *me = epoch_task(task);

	if (!--me->depth)
		atomic_fetch_sub(&task->thread->client->inside[me->side], 1);
}

int far_retire(struct far_task *task, uint64_t addr, uint64_t size)
{
	struct far_client *client = task->thread->far->client;
	/*
	 * The round whose closing READ of E is posted after this load, which comes after
	 * the acknowledgement of the unlinking verb. Pairs with the increment in
	 * far_round(), both seq_cst.
	 */
	struct far_retired item = {
		.addr = far_addr_bare(addr), .size = size,
		.round = atomic_load(&client->round),
	};

	return far_limbo_put(&task->thread->client->limbo, &item);
}

uint64_t far_epoch_known(const struct far_task *task)
{
	return atomic_load_explicit(&task->thread->far->client->epoch, memory_order_acquire);
}

/* Somebody stands in the way who lives, and does not go on: waiting does not help. */
static bool is_stalled(struct far_client *client, uint64_t now)
{
	uint64_t since = atomic_load(&client->safe_since);

	return now > since && now - since > STALL_NS;
}

/* Waits until *word is at least value. */
static int reclaim_wait(struct far_task *task, struct far_client *client,
			_Atomic uint64_t *word, uint64_t value, uint64_t until)
{
	while (atomic_load(word) < value) {
		uint64_t now = far_now(task);

		if (far_client_stale(client))
			return -ESTALE;
		if (now >= until || is_stalled(client, now))
			return -EAGAIN;
		if (far_op_is_late(task))
			return -ETIME;
		far_sleep(task, FAR_ROUND_NS / 2);
	}
	return 0;
}

/* The mark is the round that far_retire() notes for a block, for the same reasons. */
uint64_t far_epoch_mark(const struct far_task *task)
{
	return atomic_load(&task->thread->far->client->round);
}

bool far_epoch_is_past(const struct far_task *task, uint64_t mark)
{
	return atomic_load(&task->thread->far->client->reusable) > mark;
}

int far_epoch_wait(struct far_task *task, uint64_t mark)
{
	struct far_client *client = task->thread->far->client;
	int err;

	if (epoch_task(task)->depth)
		return -EDEADLK;
	err = reclaim_wait(task, client, &client->reusable, mark + 1,
			   far_now(task) + RECLAIM_NS);
	return err == -EAGAIN ? -ETIME : err;
}

/*
 * Waits until what the dead had in hand is free, of those that somebody can know to be dead
 * by now: until nothing is left to sweep, or a whole sweep is over, where clients die faster.
 */
static int sweep_wait(struct far_task *task, struct far_client *client, uint64_t until)
{
	/* The sweep that is under way may have begun too early. */
	uint64_t round = atomic_load(&client->round), sweeps;
	int err = reclaim_wait(task, client, &client->round, round + FENCE_ROUNDS, until);

	sweeps = atomic_load(&client->sweeps) + 2;
	while (!err && !far_is_swept(client) && atomic_load(&client->sweeps) < sweeps)
		err = reclaim_wait(task, client, &client->round,
				   atomic_load(&client->round) + 1, until);
	return err;
}

int far_reclaim(struct far_task *task)
{
	struct far_client *client = task->thread->far->client;
	uint64_t until = far_now(task) + RECLAIM_NS, round = atomic_load(&client->round);
	int err;

	/* What is waited for below is free when this task has left, too. */
	if (epoch_task(task)->depth)
		return -EAGAIN;
	err = reclaim_wait(task, client, &client->drained, round + 1, until);

	if (!err)
		err = sweep_wait(task, client, until);
	if (err || atomic_load(&client->living) <= 1)
		return err;
	/* What others have retired, and time for them to give back chunks. */
	err = reclaim_wait(task, client, &client->flushed, atomic_load(&client->epoch),
			   until);
	if (!err)
		err = reclaim_wait(task, client, &client->round,
				   atomic_load(&client->round) + OTHERS_ROUNDS, until);
	return err;
}
