/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the server.
 *
 *	server.c	the server, its threads, and calls to it
 *	serve.c		a thread's connections: requests, handlers, responses, sleep
 *	sched.c		which connections are active
 *
 * Each connection belongs to one thread, which takes its requests, runs handlers and sends
 * the responses: those of a message's requests as one message.
 */
#ifndef FAR_RPC_SERVER_H
#define FAR_RPC_SERVER_H

#include <far/rpc.h>

#include "end.h"
#include "sched.h"

struct rpc_session {
	struct rpc_end end;
	unsigned idx;			/* in the thread's queue set */
	bool unsent;			/* a message is built, and not posted */
	uint64_t next_look;		/* when to look for room for responses; 0: there is some */
	uint64_t nap;			/* between two looks */
	struct rpc_seat seat;
	uint32_t received;		/* requests */
	uint32_t credit;		/* requests that the client may have sent */
	uint32_t renewals;		/* of end.renewals, those that are dealt with */
	bool wants;			/* the client has asked for credits */
	bool active;			/* the client has been told so */
	struct rpc_session *next;
};

/* A call that the first thread gives to another. */
struct rpc_guest {
	struct far_caller caller;
	struct rpc_guest *next;
};

struct rpc_worker {
	struct far_rpc_server *server;
	struct far_nic_thread *thread;
	struct far_qset *qset;
	struct rpc_session **session;	/* by index; NULL: free */
	struct rpc_session *sessions;	/* all of them */
	unsigned nr_max;
	struct rpc_guest *guests;	/* atomic */
	uint64_t retry;			/* when to look for room; UINT64_MAX: never */
	uint64_t now;			/* as of the last look at all sessions */
	uint64_t idle;			/* when it has found nothing first; 0: it has found some */
	/* Written by the thread, and read by others: atomic. */
	uint64_t requests, messages, sleeps;
	uint32_t nr;			/* sessions */
};

struct far_rpc_server {
	struct far_nic *nic;
	bool own_nic;
	unsigned forks;			/* far_forks when it was made */
	struct far_listener *listener;
	char service[FAR_SERVICE_MAX + 1];
	far_rpc_fn *handler[FAR_RPC_HANDLERS_MAX];
	void *arg;
	struct far_common common;	/* memory for the clients; size 0: none */
	uint64_t spin_ns;
	uint32_t stop;			/* atomic */
	struct rpc_sched sched;
	unsigned nr_workers, turn;	/* which worker gets the next call */
	struct rpc_worker worker[];
};

/* Does what far_rpc_serve() does, on a NIC that is open. */
int rpc_serve_nic(struct far_nic *nic, const struct far_rpc_server_attr *attr,
		  struct far_rpc_server **ret_server);

/* serve.c */

/* Accepts a call or rejects it. */
void rpc_worker_accept(struct rpc_worker *worker, struct far_caller *caller);
/* Serves all that is there. Returns how much there was. */
unsigned rpc_worker_serve(struct rpc_worker *worker);
/* Spins or sleeps, since there is nothing. */
void rpc_worker_rest(struct rpc_worker *worker);
/* Ends all sessions. */
void rpc_worker_close(struct rpc_worker *worker);

#endif
