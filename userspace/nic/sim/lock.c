// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spin locks of the driver. A hand-over takes spin_base_ns + spin_ns * n ^ spin_power if
 * n threads spin. A thread that has released the lock and takes it again during the
 * hand-over gets it with probability spin_barge, because its core still has the cache
 * line.
 *
 *	FREE -- take --> HELD -- release, nobody spins --> FREE
 *	                 HELD -- release, some spin --> PASSING
 *	PASSING -- end of the hand-over, to the first thread --> HELD
 *	PASSING -- the last holder takes it again --> HELD
 */
#include "cluster.h"

#include <math.h>

static void lock_fire(struct sim_event *event);

void sim_lock_init(struct sim_lock *lock, struct far_sim *sim)
{
	*lock = (struct sim_lock) { .sim = sim };
	lock->event.fire = lock_fire;
	lock->end = &lock->first;
}

static uint64_t lock_hand_over_ns(const struct sim_lock *lock)
{
	const struct sim_profile *p = &lock->sim->profile;

	return p->spin_base_ns + p->spin_ns * pow(lock->nr, p->spin_power) + 0.5;
}

static struct sim_thread *lock_pop(struct sim_lock *lock)
{
	struct sim_thread *thread = lock->first;

	lock->first = thread->spin_next;
	if (!lock->first)
		lock->end = &lock->first;
	lock->nr--;
	return thread;
}

/* Handles the release, or the end of a hand-over. */
static void lock_fire(struct sim_event *event)
{
	struct sim_lock *lock = (struct sim_lock *)((char *)event -
						    offsetof(struct sim_lock, event));
	struct sim_wheel *wheel = &lock->sim->wheel;

	if (!lock->nr) {
		lock->state = SIM_FREE;
		return;
	}
	if (lock->state == SIM_HELD) {
		lock->state = SIM_PASSING;
		sim_wheel_add(wheel, event, wheel->now + lock_hand_over_ns(lock));
		return;
	}
	lock->state = SIM_HELD;
	lock->holder = lock_pop(lock);
	sim_wheel_add(wheel, &lock->holder->event, wheel->now);
}

static void lock_spin(struct sim_lock *lock, struct sim_thread *self)
{
	self->spin_next = NULL;
	*lock->end = self;
	lock->end = &self->spin_next;
	lock->nr++;
	sim_block(lock->sim, SIM_SLEEP);
}

void sim_lock_take(struct sim_lock *lock, int *ret_moved)
{
	struct far_sim *sim = lock->sim;
	struct sim_thread *self = sim->current;

	if (lock->state == SIM_PASSING && lock->holder == self &&
	    far_rng_unit(&sim->rng) < sim->profile.spin_barge)
		sim_wheel_remove(&sim->wheel, &lock->event);
	else if (lock->state != SIM_FREE)
		lock_spin(lock, self);
	lock->state = SIM_HELD;
	lock->holder = self;
	*ret_moved = lock->last && lock->last != self;
	lock->last = self;
}

void sim_lock_drop(struct sim_lock *lock, uint64_t at)
{
	sim_wheel_add(&lock->sim->wheel, &lock->event, at);
}

void sim_lock_purge(struct sim_lock *lock, const struct sim_thread *thread)
{
	struct sim_thread **at;

	for (at = &lock->first; *at; at = &(*at)->spin_next)
		if (*at == thread) {
			*at = thread->spin_next;
			lock->nr--;
			break;
		}
	for (lock->end = &lock->first; *lock->end; lock->end = &(*lock->end)->spin_next)
		;
	if (lock->last == thread)
		lock->last = NULL;
	if (lock->holder != thread)
		return;
	lock->holder = NULL;
	if (lock->state == SIM_HELD && !sim_event_queued(&lock->event))
		sim_lock_drop(lock, lock->sim->wheel.now);
}
