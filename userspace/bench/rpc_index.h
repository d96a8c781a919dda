/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A workload of "far bench rpc": a server's ordered index behind RPC, of which clients get 9
 * keys of 10, and count the keys of a short range for the rest (FLOCK, section 4.6, where
 * HydraList is the index). Here it is the B+ tree on mem, in the server's process: that of the
 * benchmark, or of "far rpc serve".
 *
 * In virtual time a tree on mem would cost nothing: the handlers spend a given time there, and
 * answer what the tree would.
 */
#ifndef FAR_BENCH_RPC_INDEX_H
#define FAR_BENCH_RPC_INDEX_H

#include <far/rpc.h>

#include "../base/rng.h"
#include "../nic/nic.h"

#define RPC_INDEX_RANGE	64u	/* keys of a scan */
#define RPC_INDEX_DATAGRAM	9u	/* bytes of a datagram */
#define RPC_INDEX_KEYS	100000u	/* of an index, unless it is set */
#define RPC_INDEX_KEYS_MAX	(UINT64_C(1) << 28)

/* Handlers: the first two answer about a key; the last tells how many there are. */
enum { RPC_INDEX_GET, RPC_INDEX_SCAN, RPC_INDEX_COUNT, RPC_INDEX_HANDLERS };

#define RPC_INDEX_ASKS	RPC_INDEX_COUNT		/* handlers that look into the tree */

struct rpc_index;

/* Mean and median time of a handler, in ns; 0: it has not run. */
struct rpc_index_times {
	double mean[RPC_INDEX_ASKS], median[RPC_INDEX_ASKS];
};

/* Handlers, whose argument is the index. */
extern far_rpc_fn *const rpc_index_handlers[RPC_INDEX_HANDLERS];

/*
 * Makes an index of `keys` keys. sim: NULL, or the server's NIC in virtual time, where a handler
 * spends the cost, in ns. -errno, with a sentence in why.
 */
int rpc_index_new(uint64_t keys, struct far_nic *sim, const uint64_t *cost, char *why,
		  size_t why_len, struct rpc_index **ret_index);
/* The threads that ran handlers have ended. */
void rpc_index_free(struct rpc_index *index, struct rpc_index_times *ret_times);

/*
 * Asks the server of another process how many keys it has: 1 to RPC_INDEX_KEYS_MAX. -EBADMSG: it
 * is no index; others as of far_rpc_call().
 */
int rpc_index_keys(struct far_rpc *rpc, uint64_t *ret_keys);
/* Draws a request of 8 bytes. Returns its handler. */
unsigned rpc_index_draw(struct far_rng *rng, uint64_t keys, uint8_t *request);
/*
 * A datagram, which has no handler's number: the key, and that. Makes it of the key at `request`.
 * Returns its length.
 */
size_t rpc_index_datagram_fill(uint8_t *request, unsigned handler);
/* What answers it; arg: the index. Returns the response's length. */
size_t rpc_index_datagram(const void *arg, const void *request, size_t len, void *response);
/* True if the response, of len bytes, is that of the request. */
bool rpc_index_is_right(uint64_t keys, unsigned handler, const uint8_t *request,
			const uint8_t *response, size_t len);

#endif
