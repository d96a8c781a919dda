// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads in virtual time. A thread that has to sleep runs events itself until an event
 * wakes a thread, and then switches to that thread. So there is no scheduler, and if the
 * event wakes the same thread, it goes on without a switch.
 *
 * A thread may be ahead of the cluster's clock: the time that it declares, and the costs
 * of posts without a lock, add to its lag. Such posts take place at the thread's own time.
 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>

static void thread_fire(struct sim_event *event)
{
	struct sim_thread *thread = (struct sim_thread *)
		((char *)event - offsetof(struct sim_thread, event));

	thread->sim->runnable = thread;
}

/* Runs events until one wakes a thread; without events, wakes the caller outside. */
static struct sim_thread *sim_next(struct far_sim *sim)
{
	sim->runnable = NULL;
	while (!sim->runnable) {
		struct sim_event *event = sim_wheel_take(&sim->wheel);

		if (!event) {
			sim->stuck = 1;
			sim->runnable = &sim->outside;
			break;
		}
		event->fire(event);
	}
	sim->current = sim->runnable;
	sim->current->state = SIM_RUN;
	return sim->current;
}

/* Frees the stacks of threads that have ended; must not run on such a stack. */
static void fibers_reap(struct far_sim *sim)
{
	struct sim_thread *thread;

	for (thread = sim->threads; sim->nr_graves && thread; thread = thread->next)
		if (thread->state == SIM_ENDED && thread->fiber) {
			far_fiber_free(&sim->stacks, thread->fiber);
			thread->fiber = NULL;
			sim->nr_graves--;
		}
}

void sim_block(struct far_sim *sim, enum sim_thread_state state)
{
	struct sim_thread *self = sim->current, *next;

	self->state = state;
	next = sim_next(sim);
	if (next == self)
		return;
	far_context_switch(self->context, next->context);
	if (sim->nr_graves)
		fibers_reap(sim);
}

void sim_settle(struct far_sim *sim)
{
	struct sim_thread *self = sim->current;
	uint64_t lag = self->lag;

	if (!lag)
		return;
	self->lag = 0;
	sim_wheel_add(&sim->wheel, &self->event, sim->wheel.now + lag);
	sim_block(sim, SIM_SLEEP);
}

void sim_thread_wake(struct sim_thread *thread, uint64_t at)
{
	struct sim_wheel *wheel = &thread->sim->wheel;

	if (thread->state != SIM_WAIT)
		return;
	if (sim_event_queued(&thread->event)) {
		if (thread->event.at <= at)
			return;
		sim_wheel_remove(wheel, &thread->event);
	}
	sim_wheel_add(wheel, &thread->event, at);
}

void sim_cn_pace(struct sim_cn *cn)
{
	const struct sim_profile *p = &cn->sim->profile;
	unsigned nr = cn->nr_threads ? cn->nr_threads : 1;

	cn->slow = 1 + nr / p->slow_threads;
	cn->spend_slow = 1 + nr / p->spend_slow_threads;
	cn->half_rtt_ps = sim_ps((p->rtt_ns + p->rtt_thread_ns * nr) / 2);
}

/* Marks a thread as ended, and wakes the threads that wait for its end. */
static void thread_end(struct sim_thread *thread)
{
	struct far_sim *sim = thread->sim;

	thread->state = SIM_ENDED;
	sim->nr_graves++;
	sim->nr_live--;
	thread->cn->nr_threads--;
	sim_cn_pace(thread->cn);
	if (thread->joiner)
		sim_thread_wake(thread->joiner, sim->wheel.now);
	if (!sim->nr_live && sim->running)
		sim_thread_wake(&sim->outside, sim->wheel.now);
}

static struct far_context *thread_main(void *arg)
{
	struct sim_thread *self = arg;
	struct far_sim *sim = self->sim;

	if (sim->nr_graves)
		fibers_reap(sim);
	self->run(self->arg);
	sim_settle(sim);
	thread_end(self);
	return sim_next(sim)->context;
}

int sim_thread_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
		     struct far_nic_thread **ret_thread)
{
	struct sim_cn *cn = sim_cn_of(nic);
	struct far_sim *sim = cn->sim;
	struct sim_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	err = far_fiber_new(&sim->stacks, thread_main, thread, &thread->fiber);
	if (err) {
		free(thread);
		return err;
	}
	thread->sim = sim;
	thread->cn = cn;
	thread->run = run;
	thread->arg = arg;
	thread->context = &thread->fiber->context;
	thread->event.fire = thread_fire;
	thread->state = SIM_SLEEP;
	thread->next = sim->threads;
	sim->threads = thread;
	sim->nr_live++;
	cn->nr_threads++;
	sim_cn_pace(cn);
	sim_wheel_add(&sim->wheel, &thread->event, sim_local_now(sim));
	*ret_thread = (struct far_nic_thread *)thread;
	return 0;
}

static void thread_unlink(struct sim_thread *thread)
{
	struct sim_thread **at = &thread->sim->threads;

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
}

/* Frees a thread that has ended, and its stack; the thread is not the current one. */
static void thread_free(struct sim_thread *thread)
{
	struct far_sim *sim = thread->sim;

	thread_unlink(thread);
	if (thread->fiber) {
		far_fiber_free(&sim->stacks, thread->fiber);
		sim->nr_graves--;
	}
	free(thread);
}

void sim_thread_join(struct far_nic *nic, struct far_nic_thread *handle)
{
	struct sim_thread *thread = (struct sim_thread *)handle;
	struct far_sim *sim = thread->sim;

	sim_settle(sim);
	while (thread->state != SIM_ENDED) {
		thread->joiner = sim->current;
		sim->stuck = 0;
		sim_block(sim, SIM_WAIT);
		/* The thread waits for ever: end it, so that this call can return. */
		if (sim->stuck && thread->state != SIM_ENDED)
			sim_thread_kill(thread);
	}
	thread_free(thread);
}

static void locks_purge(struct sim_thread *thread)
{
	const struct sim_cn *cn = thread->cn;
	struct sim_share *share;
	struct sim_qp *qp;
	unsigned i;

	for (share = cn->shares; share; share = share->next) {
		sim_lock_purge(&share->cq_lock, thread);
		if (share->own)
			sim_lock_purge(&share->own->lock, thread);
	}
	for (qp = cn->qps; qp; qp = qp->next)
		sim_lock_purge(&qp->lock, thread);
	for (i = 0; i < sim_nr_doorbells(cn); i++)
		sim_lock_purge(&cn->doorbells[i].lock, thread);
}

void sim_thread_kill(struct sim_thread *thread)
{
	if (thread->state == SIM_ENDED)
		return;
	sim_wheel_remove(&thread->sim->wheel, &thread->event);
	locks_purge(thread);
	thread_end(thread);
}

void sim_thread_exit(struct far_sim *sim)
{
	struct sim_thread *self = sim->current;

	sim_thread_kill(self);
	far_context_switch(self->context, sim_next(sim)->context);
}

void sim_threads_free(struct far_sim *sim)
{
	while (sim->threads) {
		sim_thread_kill(sim->threads);
		thread_free(sim->threads);
	}
}

void sim_outside_init(struct far_sim *sim)
{
	sim->outside.sim = sim;
	sim->outside.context = &sim->outside.outside;
	sim->outside.event.fire = thread_fire;
	sim->current = &sim->outside;
}

int far_sim_run(struct far_sim *sim, uint64_t until)
{
	int err = 0;

	sim_settle(sim);
	sim->running = 1;
	while (sim->nr_live && !err) {
		if (sim->wheel.now >= until) {
			err = -ETIME;
			break;
		}
		sim->stuck = 0;
		if (until != UINT64_MAX)
			sim_wheel_add(&sim->wheel, &sim->outside.event, until);
		sim_block(sim, SIM_WAIT);
		sim_wheel_remove(&sim->wheel, &sim->outside.event);
		if (sim->stuck)
			err = -EDEADLK;
	}
	sim->running = 0;
	return err;
}
