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
#include "task.h"

#define OTHERS_ROUNDS	40u	/* see MAPS_ROUNDS in service.c */
#define WAIT_NS		UINT64_C(5000)		/* for the entry to be published */
#define RECLAIM_NS	UINT64_C(5000000000)	/* a dead client is fenced by then */

static struct far_epoch_task *epoch_task(struct far_task *task)
{
	return &far_task_client_thread(task)->task[far_task_index(task)];
}

int far_epoch_enter(struct far_task *task)
{
	struct far_client *client = far_task_client(task);
	struct far_client_thread *thread = far_task_client_thread(task);
	struct far_epoch_task *me = epoch_task(task);
	uint32_t gen, side;

	if (me->depth) {
		me->depth++;
		return 0;
	}
	for (;;) {
		if (far_client_stale(client))
			return -ESTALE;
		gen = atomic_load(&client->gen);
		if (!(gen & FAR_GEN_ACTIVE)) {
			/* The collector: nobody is left who would publish the entry. */
			if (thread == client->service_side &&
			    atomic_load(&client->service_end))
				return -ECANCELED;
			far_sleep(task, WAIT_NS);
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
	return 0;
}

void far_epoch_exit(struct far_task *task)
{
	struct far_epoch_task *me = epoch_task(task);

	if (!--me->depth)
		atomic_fetch_sub(&far_task_client_thread(task)->inside[me->side], 1);
}

int far_retire(struct far_task *task, uint64_t addr, uint64_t size)
{
	struct far_client *client = far_task_client(task);
	/*
	 * The round whose closing READ of E is posted after this load, which comes after
	 * the acknowledgement of the unlinking verb. Pairs with the increment in
	 * far_round(), both seq_cst.
	 */
	struct far_retired item = {
		.addr = far_addr_bare(addr), .size = size,
		.round = atomic_load(&client->round),
	};

	return far_limbo_put(&far_task_client_thread(task)->limbo, &item);
}

uint64_t far_epoch_known(const struct far_task *task)
{
	return atomic_load_explicit(&far_task_client(task)->epoch, memory_order_acquire);
}

/* Waits until *word is at least value. */
static int reclaim_wait(struct far_task *task, struct far_client *client,
			_Atomic uint64_t *word, uint64_t value, uint64_t until)
{
	while (atomic_load(word) < value) {
		if (far_client_stale(client))
			return -ESTALE;
		if (far_now(task) >= until)
			return -EAGAIN;
		far_sleep(task, FAR_ROUND_NS / 2);
	}
	return 0;
}

int far_reclaim(struct far_task *task)
{
	struct far_client *client = far_task_client(task);
	uint64_t until = far_now(task) + RECLAIM_NS, round = atomic_load(&client->round);
	int err = reclaim_wait(task, client, &client->drained, round + 1, until);

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
