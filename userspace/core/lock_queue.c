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
 * One whose operation is late leaves the queue, unless it is the next one already, or the
 * holder has chosen it for its heir and counts on it.
 */
#include "lock_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "deadline.h"
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

/* The lock that waits right behind this one; NULL: none. */
static struct far_lock *lock_next(const struct far_lock *lock)
{
	return atomic_load_explicit(&lock->next, memory_order_acquire);
}

/* The holder of the lock at that address, among those that are chained. */
static struct far_lock *chain_find(struct far_lock *first, uint64_t addr)
{
	while (first && first->addr != addr)
		first = first->chain;
	return first;
}

/* Takes the lock out from behind its holder. */
static void queue_cut(struct far_lock *holder, struct far_lock *lock)
{
	struct far_lock *before = holder, *next = lock_next(lock);

	while (lock_next(before) != lock)
		before = lock_next(before);
	atomic_store_explicit(&before->next, next, memory_order_relaxed);
	if (holder->last == lock)
		holder->last = before;
}

/* Whether a waiter could leave the queue: it waits for nothing then. */
static bool queue_leave(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first = bucket_enter(lock->task, bucket);
	struct far_lock *holder = chain_find(first, lock->addr);
	bool leaves = holder != lock && !lock->chosen;

	if (leaves)
		queue_cut(holder, lock);
	bucket_exit(bucket, first);
	return leaves;
}

/* Until its turn comes. -ETIME: the operation is late, and the lock in no queue. */
static int lock_wait(struct far_locks *locks, struct far_lock *lock)
{
	struct far_task *task = lock->task;
	int state = STATE_AWAKE;
	bool late = far_op_is_late(task);

	if (!atomic_compare_exchange_strong(&lock->state, &state, STATE_ASLEEP))
		return 0;
	while (!late && atomic_load(&lock->state) == STATE_ASLEEP) {
		far_op_suspend(task);
		late = far_op_is_late(task);
	}
	if (late && atomic_load(&lock->state) == STATE_ASLEEP && queue_leave(locks, lock))
		return -ETIME;
	while (atomic_load(&lock->state) == STATE_ASLEEP)
		far_task_suspend(task);
	return 0;
}

/* Its memory is not ours any more after this. */
static void lock_wake(struct far_lock *lock)
{
	struct far_task *task = lock->task;
	struct far_thread *thread = far_task_hold(task);

	if (atomic_exchange(&lock->state, STATE_TURN) == STATE_ASLEEP)
		far_task_resume(task);
	far_task_unhold(thread);
}

static void lock_init(struct far_lock *lock)
{
	atomic_store_explicit(&lock->state, STATE_AWAKE, memory_order_relaxed);
	atomic_store_explicit(&lock->next, NULL, memory_order_relaxed);
	lock->last = lock;
	lock->chosen = false;
}

bool far_lock_try(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first;
	bool is_free;

	lock_init(lock);
	first = bucket_enter(lock->task, bucket);
	is_free = !chain_find(first, lock->addr);
	if (is_free)
		lock->chain = first;
	bucket_exit(bucket, is_free ? lock : first);
	if (is_free)
		far_must_begin(lock->task);
	return is_free;
}

int far_lock_enter(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first, *holder;
	int err = 0;

	lock_init(lock);
	first = bucket_enter(lock->task, bucket);
	holder = chain_find(first, lock->addr);
	if (!holder) {
		lock->chain = first;
		bucket_exit(bucket, lock);
	} else {
		atomic_store_explicit(&holder->last->next, lock, memory_order_release);
		holder->last = lock;
		bucket_exit(bucket, first);
		err = lock_wait(locks, lock);
	}
	if (!err)
		far_must_begin(lock->task);
	return err;
}

struct far_lock *far_lock_heir(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first, *heir;

	if (!lock_next(lock))
		return NULL;
	first = bucket_enter(lock->task, bucket);
	heir = lock_next(lock);
	if (heir)
		heir->chosen = true;
	bucket_exit(bucket, first);
	return heir;
}

void far_lock_leave(struct far_locks *locks, struct far_lock *lock)
{
	_Atomic uintptr_t *bucket = bucket_of(locks, lock);
	struct far_lock *first = bucket_enter(lock->task, bucket);
	struct far_lock **at = &first, *heir = lock_next(lock);

	while (*at != lock)
		at = &(*at)->chain;
	*at = lock->chain;
	if (heir) {
		heir->chain = lock->chain;
		heir->last = lock->last;
		*at = heir;
	}
	bucket_exit(bucket, first);
	far_must_end(lock->task);
	if (!heir)
		return;
	far_spend(lock->task, WAKE_NS);
	lock_wake(heir);
}
