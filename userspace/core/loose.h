/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loose verbs: those whose connection broke before their answers came, and which the memory
 * node may execute still.
 *
 * A thread knows that a verb is executed no more once its connection to that node was made
 * anew: the memory node destroys the old queue pair of a queue before it accepts the next one
 * (host/serve.c), and a back end that executes verbs itself drops them in connect(). So
 * far_sync() makes a connection anew before it returns an error, and all that this thread
 * looks up afterwards is final.
 *
 * When the node cannot be reached, the verbs stay loose, and other threads of the client
 * may still reach it: the service by a queue pair of its own. Nobody takes over then what
 * a task of this client has left behind: a word with the client's name may not have come yet,
 * or the verb that gives it back may come when another task has the word. And no sweep frees
 * a block for lost that a verb may still publish. Grace periods wait as well: an epoch is
 * published when all has completed that was begun before, and a block that is freed unseen is
 * retired instead. Else a late WRITE, or a CAS that expects 0, would change what is another
 * block by then.
 *
 * A thread that never makes its connection anew must not hold up the others for ever. So a
 * verb is loose for FAR_LOOSE_NS at most: no network keeps a packet that long. Each connection
 * has a time of its own, which no other one that breaks prolongs; the time is in the thread's
 * struct, which stays when the thread ends, and needs no memory when the connection breaks.
 * Ended threads make no connection anew, so that the last of their times tells of all. A
 * client that ends is fenced, and its queue pairs end with it.
 */
#ifndef FAR_CORE_LOOSE_H
#define FAR_CORE_LOOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <far/far.h>

#define FAR_LOOSE_NS	UINT64_C(30000000000)

/* Connections of all threads to a memory node. */
struct far_loose {
	_Atomic uint64_t last;		/* no time of any of them is later; 0: none ever broke */
	_Atomic uint64_t ended;		/* the last time of threads that have ended */
};

struct far_thread;

/* The thread's connection to the node has broken under verbs. */
void far_loose_begin(struct far_thread *thread, unsigned node);
/* It was made anew. */
void far_loose_end(struct far_thread *thread, unsigned node);
/* True if it broke under verbs and was not made anew, however long ago. Own thread. */
bool far_link_is_loose(const struct far_thread *thread, unsigned node);
/* The thread ends, and so do all its connections. */
void far_loose_leave(struct far_thread *thread);

/* True if a verb to that node, or to any, may be loose. */
bool far_is_loose(struct far_task *task, unsigned node);
bool far_is_any_loose(struct far_task *task);

#endif
