/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a server divides its active queue pairs among clients, and how a client divides its
 * threads among queue pairs (FLOCK, equation 3.1 and algorithm 1). Pure code.
 */
#ifndef FAR_RPC_SHARE_H
#define FAR_RPC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rpc_claim - a functioning client's claim to active queue pairs
 * @use:	what it asks, 1 to 2^32 - 1, in any unit
 * @most:	queue pairs that it can use, at least 1
 * @now:	active ones that it has; 0: none
 * @active:	result: 1 to @most
 * @full:	result: it could use more than @most
 */
struct rpc_claim {
	uint64_t use;
	unsigned most, now, active;
	bool full;
};

/*
 * Divides max queue pairs in proportion to use. Each claim gets at least 1; so the sum is at
 * most max(max, nr). What a claim cannot use goes to the others. Fractions are rounded by the
 * largest remainder, equal ones by the order of the claims; but a claim that was rounded up and
 * has the queue pair keeps it, unless another's remainder is larger by more than a quarter of a
 * queue pair: so small changes of use move none.
 */
void rpc_share(struct rpc_claim *claim, unsigned nr, unsigned max);

/**
 * struct rpc_mover - a thread of a client, with what it has sent in the last interval
 * @size:	median size of its requests
 * @requests:	their number
 * @bytes:	their bytes
 * @thread:	number of the thread
 * @qp:		result: a queue pair, from 0 on
 */
struct rpc_mover {
	uint64_t requests, bytes;
	uint32_t size;
	unsigned thread, qp;
};

/*
 * Assigns threads to nr_qps queue pairs, which get about the same number of bytes. Threads
 * with large requests share queue pairs with each other. Sorts the array.
 *
 * It differs from algorithm 1 in two things: it begins with the largest, and a queue pair's
 * quota is its part of what is left. There a thread above the quota joins all smaller ones,
 * and leaves queue pairs without work.
 */
void rpc_assign(struct rpc_mover *mover, unsigned nr, unsigned nr_qps);

#endif
