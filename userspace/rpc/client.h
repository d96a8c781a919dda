/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the client.
 *
 *	client.c	connecting, counters
 *	thread.c	a thread's requests and their results
 *	lead.c		the leader of a combining queue: builds and sends messages
 *	access.c	operations on the server's memory
 *	deliver.c	responses: any thread that waits for one takes those of all threads
 *	place.c		which queue pair a thread uses
 *
 * A queue pair has two queue sets: `out`, which its leader uses, and the client's `in`, of
 * all queue pairs, which the thread uses that has the client's duty.
 */
#ifndef FAR_RPC_CLIENT_H
#define FAR_RPC_CLIENT_H

#include <far/rpc.h>

#include "../base/forks.h"
#include "access.h"
#include "combine.h"
#include "end.h"
#include "share.h"

enum rpc_slot_state {
	RPC_SLOT_FREE,
	RPC_SLOT_SENDING,	/* in a combining queue, or in a message that is not posted */
	RPC_SLOT_SENT,
	RPC_SLOT_FILLING,	/* a thread that has the duty writes the result */
	RPC_SLOT_FILLED,
	RPC_SLOT_LOST,		/* SENT, and its thread has given up; it may still run */
};

#define RPC_SIZES	15u		/* classes of a request's size: of powers of two */

/* What a thread has sent. Written by the thread, and read by others: atomic. */
struct rpc_load {
	uint64_t requests, bytes;
	uint64_t size[RPC_SIZES];
	uint64_t asked;			/* requests, with the one that waits to be sent */
	uint64_t taken;			/* of these, those whose result was taken */
	uint64_t inside;		/* the thread waits to send one, or for a result */
};

/* The assignment of threads to queue pairs. */
struct rpc_placing {
	uint64_t next;			/* when it is due; atomic */
	uint32_t busy;			/* a thread does it; atomic */
	bool changed;			/* the queue pairs that may be used are others */
	uint32_t moves;			/* of threads, until now; atomic */
	uint32_t asks;			/* the immediate of a message; 0: none; atomic */
	uint8_t closed[FAR_RPC_QPS_MAX];	/* as of the last time */
	struct rpc_load seen[FAR_RPC_THREADS_MAX];
};

/* A request, until its result is taken. */
struct rpc_slot {
	struct rpc_node node;		/* first */
	uint32_t state;			/* enum rpc_slot_state; atomic */
	uint32_t id;
	uint64_t until;
	int send_err;			/* 0, or why it was not sent */
	int err;			/* 0, or why there is no response */
	int status;			/* the handler's */
	const void *data;		/* of the request, while it is SENDING */
	uint32_t len;			/* of the request, then of the response */
	uint16_t handler;
	struct far_rpc_thread *thread;
	bool access;			/* no request: it is that of a struct rpc_access */
	struct rpc_qp *qp;		/* over which it goes; atomic */
	uint8_t *response;		/* FAR_RPC_DATA_MAX bytes; NULL: not made yet */
};

/* An operation on the server's memory, of slot.len bytes. */
struct rpc_access {
	struct rpc_slot slot;		/* first */
	uint8_t op;			/* enum far_nic_op */
	uint64_t offset, arg[2];
	void *result;			/* of a READ, CAS or FAA, or NULL */
};

struct far_rpc_thread {
	struct far_rpc *rpc;
	struct far_qset *qset;		/* only to wait on */
	struct rpc_qp *qp;		/* atomic; changes when all that was sent is answered */
	struct rpc_qp *target;		/* the queue pair that it is to use; atomic */
	struct rpc_load load;
	uint16_t idx;
	uint32_t sent, taken;		/* requests; their difference is outstanding */
	uint32_t waiting;		/* it sleeps, or is about to; atomic */
	uint32_t wants_duty;		/* it sleeps until another gives up the duty; atomic */
	uint32_t used;			/* a thread of the program has it; atomic */
	uint64_t answered;		/* of load.asked; the duty's; atomic */
	struct rpc_slot slot[FAR_RPC_OUTSTANDING_MAX];
	struct rpc_access access[RPC_ACCESS_SLOTS];
	uint64_t looked;		/* when an access has last looked for the server */
};

struct rpc_qp {
	struct far_rpc *rpc;
	struct far_qset *out;
	struct rpc_queue queue;
	struct rpc_end end;
	bool live;			/* end is in use; changes with lead and duty */
	uint32_t closed;		/* it is live, and the server has closed it; atomic */
	uint64_t credit_first;		/* the server's word in its hello */
	uint64_t credit;		/* the server's last word; the leader's, as what follows */
	uint32_t used;			/* requests sent over the connection */
	bool asked;			/* for credits, since the last word */
	bool failed;			/* rpc_deliver() has seen that end is broken; the duty's */
	uint64_t next_call;		/* when the leader may connect again */
	struct rpc_accesses accesses;	/* the leader's */
	uint32_t collecting;		/* the leader sleeps until one is done; atomic */
	uint64_t requests, messages, head_reads, nr_accesses;	/* the leader's */
};

struct far_rpc {
	struct far_nic *nic;
	bool own_nic;			/* close it */
	unsigned forks;			/* far_forks when it was made */
	struct far_qset *in;
	char *node, *service;
	unsigned nr_qps, batch;
	uint64_t id;			/* the number by which servers know it */
	uint64_t memory;		/* bytes that the server offers; atomic */
	bool fixed;			/* threads keep their queue pairs while they can */
	struct rpc_placing placing;
	uint64_t spin_ns, timeout_ns;
	uint32_t duty;			/* a thread has the duty; atomic */
	uint32_t wanted;		/* threads in rpc_duty_take(); atomic */
	uint64_t sleeps;		/* the duty's */
	uint32_t rounds;		/* of taking responses; the duty's */
	struct far_rpc_thread *thread[FAR_RPC_THREADS_MAX];	/* atomic */
	struct rpc_qp qp[];
};

/* Does what far_rpc_connect() does, on a NIC that is open. */
int rpc_connect_nic(struct far_nic *nic, const struct far_rpc_attr *attr,
		    struct far_rpc **ret_rpc);

/* True if it is a parent's: this process has neither its maps nor its descriptors. */
static inline bool rpc_is_stale(const struct far_rpc *rpc)
{
	return rpc->forks != far_forks;
}

static inline uint64_t rpc_now(const struct far_rpc *rpc)
{
	return rpc->nic->ops->now(rpc->nic);
}

/* The end of a time that begins now; UINT64_MAX: never. */
static inline uint64_t rpc_until(uint64_t now, uint64_t timeout_ns)
{
	return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
}

static inline uint32_t rpc_slot_state(const struct rpc_slot *slot)
{
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

static inline bool rpc_slot_change(struct rpc_slot *slot, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&slot->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Wakes a thread that waits. */
void rpc_thread_wake(struct far_rpc_thread *thread);

/* thread.c */
void rpc_threads_free(struct far_rpc *rpc);
/* Brings what is in the slot on its way. The slot is FREE, and is so after an error. */
int rpc_slot_send(struct rpc_slot *slot, uint64_t timeout_ns);
/* Ends what is in the slot: its result is taken, or nobody waits for it. */
void rpc_slot_forget(struct rpc_slot *slot);

/*
 * client.c: connects a queue pair, anew if it was connected. The caller has its lead, and not
 * the duty, which the call takes for moments. self: NULL: no thread has joined.
 */
int rpc_qp_call(struct rpc_qp *qp, struct far_rpc_thread *self, uint64_t until);

/*
 * lead.c: leads the queue. The slot is the leader's own request; rest is the list that the
 * last leader has left.
 */
void rpc_lead(struct rpc_qp *qp, struct rpc_slot *slot, struct rpc_node *rest);
/* Hands the lead over to a thread of the list or the queue, or gives it up. */
void rpc_lead_leave(struct rpc_qp *qp, struct rpc_node *list);
/* Takes the completions of `out`. The caller leads. */
void rpc_lead_poll(struct rpc_qp *qp);
/* Wakes the other end if that sleeps although there are messages for it. The caller leads. */
void rpc_lead_wake(struct rpc_qp *qp);

/* place.c */

/* The queue pair of a new thread. */
struct rpc_qp *rpc_place_first(struct far_rpc *rpc, unsigned idx);
/* Assigns threads to queue pairs, if that is due. Any thread. */
void rpc_place(struct far_rpc *rpc, uint64_t now);
/*
 * Moves the thread to its target or to a queue pair that may be used, once all its requests
 * are answered. -ETIME: not by then.
 */
int rpc_place_move(struct far_rpc_thread *thread, uint64_t until);
/* Notes a request that was sent. */
void rpc_load_note(struct rpc_load *load, uint32_t len);

/* Adds to a counter of the thread's load. */
static inline void rpc_load_add(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline bool rpc_qp_closed(const struct rpc_qp *qp)
{
	return __atomic_load_n(&qp->closed, __ATOMIC_ACQUIRE);
}

static inline struct rpc_qp *rpc_thread_qp(const struct far_rpc_thread *thread)
{
	return __atomic_load_n(&thread->qp, __ATOMIC_ACQUIRE);
}

/* deliver.c */
bool rpc_duty_try(struct far_rpc *rpc);
/* Takes responses once, and wakes servers, unless another thread has the duty. */
void rpc_duty_look(struct far_rpc *rpc);
/* Gives up the duty, and wakes a thread that waits for it. */
void rpc_duty_leave(struct far_rpc *rpc);
/* Waits for the duty. */
void rpc_duty_take(struct far_rpc *rpc, struct far_rpc_thread *self);
/*
 * Takes all responses that are there, and ends requests whose connection is broken. Returns how
 * many there were. The caller has the duty.
 */
unsigned rpc_deliver(struct far_rpc *rpc);
/*
 * Ends all requests that were sent over the queue pair. Returns how many there were. The caller
 * has the duty.
 */
unsigned rpc_qp_fail(struct rpc_qp *qp);
/*
 * Waits until the slot is FILLED, or, if it is NULL, until all requests of the thread are
 * answered; or until the time is up. Takes the duty if that is free.
 */
void rpc_await(struct far_rpc_thread *thread, struct rpc_slot *slot, uint64_t until);
/* True if no request is on its way. */
bool rpc_thread_drained(const struct far_rpc_thread *thread);
/* Looks whether the server has closed or opened the queue pair. The caller leads, or has the
 * duty. Returns the server's word. */
uint64_t rpc_qp_look(struct rpc_qp *qp);

#endif
