/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server of datagrams in another process. Datagrams have no names: a service of RPC over
 * connections tells who asks the addresses of the server's threads.
 */
#ifndef FAR_BENCH_RPC_DATAGRAM_H
#define FAR_BENCH_RPC_DATAGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../paper/datagram.h"

#define RPC_DATAGRAM_THREADS	1024u	/* of a server */
#define RPC_DATAGRAM_RECVS	4096u	/* of each thread, as eRPC has */
#define RPC_DATAGRAM_ADDRESSES	1u	/* the handler that tells */

/*
 * Makes the handler's response: 8 bytes for each thread, in network byte order, at most
 * FAR_RPC_DATA_MAX bytes. Returns how many bytes.
 */
size_t rpc_datagram_publish(const struct datagram_server *server, void *response);

/* Addresses of a server's threads. */
struct rpc_datagram_server {
	uint64_t address[RPC_DATAGRAM_THREADS];
	unsigned nr;
};

/*
 * Asks the service at a node. -ENOSYS: it has no datagrams; -EPROTO: its answer is malformed;
 * else as far_rpc_connect() and far_rpc_call().
 */
int rpc_datagram_ask(struct far_nic *nic, const char *node, const char *service,
		     struct rpc_datagram_server *ret_server);

#endif
