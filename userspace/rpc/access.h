/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's operations on the server's memory (paper FLOCK, table 3.1). They go through the
 * combining queue of a queue pair, as requests do: its leader posts those of several threads
 * with one doorbell, before the message, if there is one. The data lie in the queue pair's
 * bounce buffer until the NIC is done, so a thread whose time is up need not wait for that.
 *
 * The leader alone uses what is here. The last operation of a post is signaled; its completion
 * is that of all before it. Of the threads that wait for one, one leads and sleeps for all.
 */
#ifndef FAR_RPC_ACCESS_H
#define FAR_RPC_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define RPC_BOUNCE		65536u	/* bytes of a bounce buffer */
#define RPC_ACCESSES		64u	/* operations of a queue pair at a time */
#define RPC_ACCESS_BATCH	16u	/* of one post */
#define RPC_ACCESS_SLOTS	4u	/* of a thread: one, and those that were late */

struct rpc_access;
struct rpc_qp;

/* An operation that is posted. */
struct rpc_posted {
	struct rpc_access *access;
	uint64_t end;			/* position behind its data */
	uint32_t at;			/* of its data in the buffer */
};

/**
 * struct rpc_accesses - operations of a queue pair
 * @size:	bytes of the server's memory
 * @head:	position behind the data of the last that is done; @tail: of the last posted
 * @done:	number of those that are done; @posted: of those that were ever posted
 */
struct rpc_accesses {
	uint64_t size;
	uint64_t head, tail;
	uint64_t done, posted;
	struct rpc_posted ring[RPC_ACCESSES];
};

/* Operations of a post that is made. */
struct rpc_access_batch {
	unsigned nr;
	struct rpc_access *access[RPC_ACCESS_BATCH];
	struct rpc_posted place[RPC_ACCESS_BATCH];
	uint64_t tail;			/* position behind the last one's data */
};

/* Begins a batch. */
void rpc_access_begin(const struct rpc_qp *qp, struct rpc_access_batch *batch);
/* Adds an operation. False: there is no room for it now. */
bool rpc_access_add(const struct rpc_qp *qp, struct rpc_access_batch *batch,
		    struct rpc_access *access);
/* Takes the last one out. */
void rpc_access_drop(const struct rpc_qp *qp, struct rpc_access_batch *batch);
/* -EOPNOTSUPP: the server has no memory; -EFAULT: it is not within that; else 0. */
int rpc_access_check(const struct rpc_qp *qp, const struct rpc_access *access);
/* The batch is posted: its operations are under way. */
void rpc_access_posted(struct rpc_qp *qp, const struct rpc_access_batch *batch);
/* Operations up to this number are done: their threads have the results. */
void rpc_access_done(struct rpc_qp *qp, uint64_t number);
/* The connection is broken: ends all that are under way. */
void rpc_access_fail(struct rpc_qp *qp);
/* Wakes the leader, if that sleeps until an operation is done. Any thread. */
void rpc_access_nudge(struct rpc_qp *qp);
/* A thread that waits for an operation under way; NULL: none. */
struct far_rpc_thread *rpc_access_heir(const struct rpc_qp *qp);

#endif
