/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RPC over datagrams as FaSST and eRPC do it, for comparisons: a queue set without connection
 * for each thread, RECVs that a server posts again for each request, responses of what one
 * poll has found under one doorbell. A request that has no response is sent again, so that
 * a handler may run more than once.
 *
 * Not here: eRPC's congestion control, which does nothing while nothing is lost, and messages
 * of more than one packet.
 */
#ifndef FAR_PAPER_DATAGRAM_H
#define FAR_PAPER_DATAGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../nic/nic.h"

#define DATAGRAM_DATA_MAX	2048u	/* bytes of a request and of a response */
#define DATAGRAM_MOST		64u	/* requests outstanding of a client's thread */

struct datagram_server;
struct datagram_client;

/* Fills response, of DATAGRAM_DATA_MAX bytes, and returns its length. */
typedef size_t datagram_fn(const void *arg, const void *request, size_t len, void *response);

/*
 * Starts threads that serve, each with so many RECVs. -EOPNOTSUPP: the back end has no
 * datagrams.
 */
int datagram_serve(struct far_nic *nic, unsigned threads, unsigned recvs, datagram_fn *fn,
		   const void *arg, struct datagram_server **ret_server);
void datagram_stop(struct datagram_server *server);
unsigned datagram_threads(const struct datagram_server *server);
/* The address of one of its threads. */
uint64_t datagram_address(const struct datagram_server *server, unsigned thread);

struct datagram_stats {
	uint64_t requests, doorbells;
	uint64_t busy_ns;	/* all but waiting */
	uint64_t receive_ns;	/* of these: posting RECVs, and polling */
};

/* Sums over all threads. */
void datagram_server_stats(struct datagram_server *server, struct datagram_stats *ret_stats);

/* A client's thread, which calls one thread of a server. */
int datagram_join(struct far_nic *nic, uint64_t server, struct datagram_client **ret_client);
void datagram_leave(struct datagram_client *client);
/* -EAGAIN: too many outstanding. */
int datagram_send(struct datagram_client *client, const void *data, size_t len);
/*
 * Waits for the response of the oldest request. -ENOMSG: there is none; -ETIMEDOUT: a request has
 * had none for ten seconds, however often it was sent.
 */
int datagram_recv(struct datagram_client *client, void *data, size_t size, size_t *ret_len);
/* Requests, doorbells, and those that were sent again. */
void datagram_client_stats(struct datagram_client *client, uint64_t *ret_requests,
			   uint64_t *ret_doorbells, uint64_t *ret_again);

#endif
