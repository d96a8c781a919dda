/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The local lock table: tasks of one client that want the same far lock queue here, so
 * that at most one of them at a time deals with its word in far memory.
 *
 * The table has an entry for a lock that somebody holds or waits for, and none for
 * others: the entry is the holder's struct far_lock. So it takes any number of far locks
 * without two of them ever sharing an entry, which a task that holds one and waits for
 * another could not bear. Its own memory is a word of 8 bytes for two locks in use at
 * the same time: 16 MiB for 4 M of them.
 *
 * A queue is in order of arrival. Each waits on a word of its own, and sleeps
 * meanwhile. Any thread of the client.
 */
#ifndef FAR_CORE_LOCK_QUEUE_H
#define FAR_CORE_LOCK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <far/far.h>

struct far_lock;
struct far_locks;

#define FAR_LOCKS_BYTES		(16u << 20)
#define FAR_LOCKS_MAX		(4u << 20)

/* nr: locks in use at a time, 1 to FAR_LOCKS_MAX; more are only slower. -ENOMEM. */
int far_locks_new(unsigned nr, struct far_locks **ret_locks);
/* Nobody holds or waits. */
void far_locks_free(struct far_locks *locks);
/* Bytes that far_locks_new() takes. */
size_t far_locks_bytes(unsigned nr);

/*
 * Waits until the lock's turn comes; lock->task and lock->addr are set. 0: far_must_begin()
 * until far_lock_leave(). -ETIME: the operation is late, and the lock waits no more.
 */
__attribute__((warn_unused_result))
int far_lock_enter(struct far_locks *locks, struct far_lock *lock);
/* Takes the turn if nobody has the lock, as far_lock_enter() does. False: somebody has it. */
bool far_lock_try(struct far_locks *locks, struct far_lock *lock);
/* The heir has the next turn, and waits at least until far_lock_leave(). NULL: nobody waits. */
struct far_lock *far_lock_heir(struct far_locks *locks, struct far_lock *lock);
/* Ends the turn, and lets the next one have its own. */
void far_lock_leave(struct far_locks *locks, struct far_lock *lock);

#endif
