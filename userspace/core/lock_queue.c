/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The local lock table: buckets of lists of queues.
 *
 * A bucket is a pointer to the first lock in use there, whose holders are chained, and
 * a bit that makes the steps on its lists one after the other. Nobody waits for
 * anything while it has the bit, so that who finds it set comes back a little later.
 *
 *	bucket -> holder -chain-> holder of another lock -> ...
 *	            next             next
 *	             v                v
 *	          waiter            NULL
 *	            ...
 *
 * A waiter: AWAKE -its task-> ASLEEP -holder-> TURN (and is resumed); or AWAKE -> TURN.
 */
#include "lock_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "lock.h"
#include "task.h"

/* Processor time for the model: a step on a bucket, and waking who waits. */
#define STEP_NS		20u
#define WAKE_NS		40u
/* When to come back to a bucket in which somebody else is. */
#define AGAIN_NS	100u

#define INSIDE		((uintptr_t)1)

enum { STATE_AWAKE, STATE_ASLEEP, STATE_TURN };

struct far_locks {
	uint64_t mask;
	_Atomic uintptr_t bucket[];
};

_Static_assert(_Alignof(struct far_lock) > INSIDE, "a bucket has a pointer and a bit");

/* The power of two that is at least nr / 2. */
static size_t buckets_of(unsigned nr)
{
	size_t buckets = 1;

	while (buckets * 2 < nr)
		buckets *= 2;
	return buckets;
}

_Static_assert(FAR_LOCKS_MAX / 2 * sizeof(uintptr_t) <= FAR_LOCKS_BYTES,
	       "16 MiB for 4 M locks");

size_t far_locks_bytes(unsigned nr)
{
	return buckets_of(nr) * sizeof(uintptr_t);
}

int far_locks_new(unsigned nr, struct far_locks **ret_locks)
{
	struct far_locks *locks;

	locks = calloc(1, sizeof(*locks) + far_locks_bytes(nr));
	if (!locks)
		return -ENOMEM;
	locks->mask = buckets_of(nr) - 1;
	*ret_locks = locks;
	return 0;
}

void far_locks_free(struct far_locks *locks)
{
	free(locks);
}

static _Atomic uintptr_t *bucket_of(struct far_locks *locks, const struct far_lock *lock)
{
	return &locks->bucket[far_rng_mix(lock->addr) & locks->mask];
}

/* Its first lock. Nobody else changes the bucket until bucket_exit(). */
static struct far_lock *bucket_enter(struct far_task *task, _Atomic uintptr_t *bucket)
{
	uintptr_t was;

	far_spend(task, STEP_NS);
	while ((was = atomic_fetch_or_explicit(bucket, INSIDE, memory_order_acquire)) &
	       INSIDE)
		far_sleep(task, AGAIN_NS);
	return (struct far_lock *)was;
}

static void bucket_exit(_Atomic uintptr_t *bucket, struct far_lock *first)
{
	atomic_store_explicit(bucket, (uintptr_t)first, memory_order_release);
}

static void lock_wait(struct far_lock *lock)
{
	int state = STATE_AWAKE;

	if (atomic_compare_exchange_strong(&lock->state, &state, STATE_ASLEEP))
		while (atomic_load(&lock->state) == STATE_ASLEEP)
			far_task_suspend(lock->task);
}

/* Its memory is not ours any more after this. */
static void lock_wake(struct far_lock *lock)
{
	struct far_task *task = lock->task;

	if (atomic_exchange(&lock->state, STATE_TURN) == STATE_ASLEEP)
		far_task_resume(task);
}

void far_lock_enter(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first, *holder;

	atomic_store_explicit(&lock->state, STATE_AWAKE, memory_order_relaxed);
	atomic_store_explicit(&lock->next, NULL, memory_order_relaxed);
	lock->last = lock;
	first = bucket_enter(lock->task, bucket);
	for (holder = first; holder; holder = holder->chain)
		if (holder->addr == lock->addr)
			break;
	if (!holder) {
		lock->chain = first;
		bucket_exit(bucket, lock);
		return;
	}
	atomic_store_explicit(&holder->last->next, lock, memory_order_release);
	holder->last = lock;
	bucket_exit(bucket, first);
	lock_wait(lock);
}

struct far_lock *far_lock_heir(const struct far_lock *lock)
{
	return atomic_load_explicit(&lock->next, memory_order_acquire);
}

void far_lock_leave(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first = bucket_enter(lock->task, bucket);
	struct far_lock **at = &first, *heir = far_lock_heir(lock);

	while (*at != lock)
		at = &(*at)->chain;
	*at = lock->chain;
	if (heir) {
		heir->chain = lock->chain;
		heir->last = lock->last;
		*at = heir;
	}
	bucket_exit(bucket, first);
	if (!heir)
		return;
	far_spend(lock->task, WAKE_NS);
	lock_wake(heir);
}
