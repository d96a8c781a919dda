// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The service thread: two tasks that run while a thread of this client does. One beats
 * and does rounds of epochs, the other one frees, collects and sweeps.
 *
 *	NONE -> STARTING -> RUNNING -> ENDED -> STARTING -> ...
 *	                       ^---------'
 *
 * far_service_start() moves to STARTING and RUNNING. The service moves to ENDED when no
 * thread has run for a while, looks once more, and back to RUNNING when one has begun
 * meanwhile. What ends leaves all chunks to the others: this client, without a thread,
 * would keep what others set free in them.
 */
#include "client_priv.h"
#include "dir.h"
#include "loose.h"
#include "owed.h"
#include "task.h"

#define IDLE_ROUNDS	64u	/* for which it goes on when no thread runs */
#define MAPS_ROUNDS	16u	/* between two looks into the maps of our chunks */

/*
 * Whether nobody needs the service: another client comes in place of this one; or no thread
 * has run for a while; or, when the client closes, none runs, and there is nothing in limbo
 * and nothing to sweep, or both would have to wait for loose verbs.
 */
static bool service_unneeded(struct far_task *task, struct far_client *client,
			     unsigned *idle)
{
	/* While it is still STARTING, its end would be overwritten. */
	if (atomic_load(&client->retired) &&
	    atomic_load(&client->service) == FAR_SERVICE_RUNNING)
		return true;
	if (atomic_load(&client->nr_threads)) {
		*idle = 0;
		return false;
	}
	return far_client_stale(client) ||
	       (atomic_load(&client->closes) &&
		((far_is_drained(client) && far_is_swept(client)) ||
		 far_is_any_loose(task))) ||
	       (++*idle > IDLE_ROUNDS && !atomic_load(&client->nr_owed) &&
		!atomic_load(&client->dir_owed));
}

/*
 * Parks and says ENDED. False: not yet. A task is inside of an epoch, which rounds that go
 * on protect: *active stays. Or rounds begin anew: a thread has begun meanwhile; or nobody
 * knows what the client's entry says, and the others would wait for an epoch in it. Who
 * closes the client does all of it once more, or leaves the entry to the fence, behind which
 * no verb of this client is loose.
 */
static bool service_finish(struct far_task *task, struct far_client *client, bool *active)
{
	int running = FAR_SERVICE_RUNNING, ended = FAR_SERVICE_ENDED;
	bool fenced = far_client_stale(client) ||
		      (atomic_load(&client->closes) && far_is_any_loose(task));
	int err = fenced ? 0 : far_round_park(task, client);

	*active = err == -EBUSY;
	if (err == -EBUSY || (err && err != -ESTALE && !atomic_load(&client->closes)))
		return false;
	atomic_compare_exchange_strong(&client->service, &running, FAR_SERVICE_ENDED);
	if (!atomic_load(&client->nr_threads) || atomic_load(&client->retired))
		return true;
	return !atomic_compare_exchange_strong(&client->service, &ended,
					       FAR_SERVICE_RUNNING);
}

static void rounds_run(struct far_task *task, struct far_client *client)
{
	bool active = false;
	unsigned idle = 0;
	int err;

	for (;;) {
		err = active ? far_round(task, client) : far_round_begin(task, client);
		if (!err)
			active = true;
		far_tend(client);
		if (service_unneeded(task, client, &idle)) {
			if (service_finish(task, client, &active))
				break;
			idle = 0;
			continue;
		}
		far_sleep(task, FAR_ROUND_NS);
	}
	atomic_store(&client->service_end, true);
}

static void look_into_maps(struct far_task *task, struct far_client *client)
{
	bool raced;

	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	if (!far_collect_maps(task, client, false, &raced))
		far_trim(task, client, FAR_TRIM_SOME);
	far_gate_unlock(&client->grow_lock);
}

/*
 * No thread runs, and tasks of one that begins enter no epoch before it has joined this
 * thread: nobody has a block in hand.
 */
static void chunks_leave(struct far_task *task, struct far_client *client)
{
	int err;

	/* A loose verb may still publish a block of these: they stay this client's until the
	 * fence. */
	if (far_client_stale(client) || far_is_any_loose(task))
		return;
	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	far_magazines_return(task, client);
	err = far_trim(task, client, FAR_TRIM_ALL);
	far_gate_unlock(&client->grow_lock);
	if (!err)
		far_left_publish(task, client);
}

/* What fails is tried again in the next round. */
static void collector_run(struct far_task *task, struct far_client *client)
{
	bool idle;

	for (unsigned i = 1; !atomic_load(&client->service_end); i++) {
		if (far_client_stale(client)) {
			atomic_store(&client->service_idle, true);
		} else {
			if (i % MAPS_ROUNDS == 0)
				look_into_maps(task, client);
			far_owed_pay(task, client);
			far_dir_pay(task, client);
			far_sweep(task, client);
			if (!far_collect(task, client, &idle))
				atomic_store(&client->service_idle,
					     idle && far_is_swept(client));
		}
		far_sleep(task, FAR_ROUND_NS);
	}
	chunks_leave(task, client);
}

static void service_run(struct far_task *task, void *arg)
{
	if (far_task_index(task))
		collector_run(task, arg);
	else
		rounds_run(task, arg);
}

int far_service_start(struct far *far, struct far_client *client)
{
	int state = atomic_load(&client->service);
	int err = -ENOMEM;

	do {
		if (state == FAR_SERVICE_STARTING || state == FAR_SERVICE_RUNNING)
			return 0;
	} while (!atomic_compare_exchange_weak(&client->service, &state,
					       FAR_SERVICE_STARTING));
	if (atomic_load(&client->retired)) {
		atomic_store(&client->service, state);
		return 0;
	}
	if (state == FAR_SERVICE_ENDED)
		far_thread_join(client->service_thread);
	atomic_store(&client->service_end, false);
	atomic_store(&client->service_idle, false);
	if (!client->service_side)
		client->service_side = far_client_thread_get(client, 2);
	if (client->service_side)
		err = far_thread_start_service(far, client->service_side, 2, service_run,
					       client, &client->service_thread);
	atomic_store(&client->service, err ? FAR_SERVICE_NONE : FAR_SERVICE_RUNNING);
	return err;
}

void far_service_join(struct far_task *task, struct far_client *client)
{
	atomic_store(&client->closes, true);
	while (atomic_load(&client->service) == FAR_SERVICE_RUNNING)
		far_sleep(task, FAR_ROUND_NS);
	if (atomic_load(&client->service) == FAR_SERVICE_ENDED)
		far_thread_join(client->service_thread);
	atomic_store(&client->service, FAR_SERVICE_NONE);
}

/* True if a thread of the service runs, or somebody starts one. */
static bool service_is_on(struct far_client *client)
{
	int state = atomic_load(&client->service);

	return state == FAR_SERVICE_STARTING || state == FAR_SERVICE_RUNNING;
}

void far_client_retire(struct far_task *task, struct far_client *client)
{
	/* Pairs with far_epoch_enter(): a task that is not seen inside sees this. */
	atomic_fetch_and(&client->gen, ~FAR_GEN_ACTIVE);
	while (!far_round_is_empty(client))
		far_sleep(task, FAR_ROUND_NS);
	atomic_store(&client->retired, true);
	while (service_is_on(client))
		far_sleep(task, FAR_ROUND_NS);
	if (atomic_exchange(&client->service, FAR_SERVICE_NONE) == FAR_SERVICE_ENDED)
		far_thread_join(client->service_thread);
}
