/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote procedure calls from many threads over few connections.
 *
 * A server offers a service by name. A client connects with a number of queue pairs, which
 * all its threads share: requests of threads that send at the same time travel as one
 * message. Each request runs at most once. Responses of one thread come in the order of its
 * requests.
 */
#ifndef FAR_RPC_H
#define FAR_RPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define FAR_RPC_DATA_MAX	8192u	/* bytes of a request, and of a response */
#define FAR_RPC_OUTSTANDING_MAX	64u	/* requests of one thread */
#define FAR_RPC_THREADS_MAX	256u	/* threads of one client */
#define FAR_RPC_QPS_MAX		256u	/* queue pairs of one client */
#define FAR_RPC_HANDLERS_MAX	256u
#define FAR_RPC_MEMORY_MAX	(UINT64_C(1) << 31)	/* bytes that a server offers */

struct far_rpc;
struct far_rpc_thread;
struct far_rpc_server;

/* Errors. All are negative errnos; far_rpc_may_have_run() tells the two kinds apart. */

/*
 * Whether a request that ended with this error may have run at the server. It has not run
 * after -EMSGSIZE (too long), -EAGAIN (too many outstanding), -ETIME (not sent in time),
 * -ENOTCONN (not sent: there was no connection), -ESTALE (the client is that of a parent
 * process), -ENOSYS (the server has no such handler), and -EOPNOTSUPP and -EFAULT (of its
 * memory). It may have run after -ETIMEDOUT
 * and -ECONNRESET, and has run after -ENOBUFS (the response is longer than the caller's
 * buffer, or than FAR_RPC_DATA_MAX).
 */
int far_rpc_may_have_run(int err);

struct far_rpc_attr {
	const char *nic;	/* as that of far_open(), such as "mem" */
	const char *node;	/* where the server is; NULL or "": the only node */
	const char *service;
	unsigned qps;		/* queue pairs; 0: 1 */
	unsigned batch;		/* requests of a message, at most; 0: 16 */
	unsigned spin_us;	/* a thread polls so long before it sleeps; 0: 20 */
	uint64_t timeout_ns;	/* for connecting; 0: 5 s; UINT64_MAX: for ever */
};

/*
 * Connects. -ENOENT, -ECONNREFUSED: nobody offers the service; -ETIMEDOUT; -EPROTONOSUPPORT:
 * the server has another version; -EOPNOTSUPP: the NIC cannot call; -EINVAL: a value of *attr.
 * why (why_len bytes, or NULL and 0) has a sentence, which names a value that is wrong.
 */
int far_rpc_connect(const struct far_rpc_attr *attr, char *why, size_t why_len,
		    struct far_rpc **ret_rpc);
/* All threads have left. */
void far_rpc_close(struct far_rpc *rpc);

/* Makes a place for the calling thread, which alone uses it. -EUSERS: too many threads. */
int far_rpc_join(struct far_rpc *rpc, struct far_rpc_thread **ret_thread);
/* Outstanding requests have no result; they may run. */
void far_rpc_leave(struct far_rpc_thread *thread);

/*
 * Sends a request, and returns when it is on its way, within timeout_ns. The same time, from
 * now on, is what far_rpc_recv() waits for its response.
 */
int far_rpc_send(struct far_rpc_thread *thread, unsigned handler, const void *data, size_t len,
		 uint64_t timeout_ns);

struct far_rpc_reply {
	int status;		/* what the handler has returned */
	size_t len;
};

/*
 * Takes the response to the oldest request that was sent and not taken; data gets at most
 * size bytes. -ENOMSG: there is none. Other errors are that request's.
 */
int far_rpc_recv(struct far_rpc_thread *thread, void *data, size_t size,
		 struct far_rpc_reply *ret_reply);
/*
 * Gives up the oldest request that was sent and not taken: its response is dropped when it
 * comes, and the request may run, or have run. -ENOMSG: there is none.
 */
int far_rpc_cancel(struct far_rpc_thread *thread);
/* Sends a request and takes its response. -EBUSY: others are outstanding. */
int far_rpc_call(struct far_rpc_thread *thread, unsigned handler, const void *request,
		 size_t len, uint64_t timeout_ns, void *data, size_t size,
		 struct far_rpc_reply *ret_reply);

/*
 * Operations on the memory that the server offers (far_rpc_server_attr.memory), as an offset in
 * it and at most FAR_RPC_DATA_MAX bytes. The server's threads do not run for them. They travel
 * over the queue pairs of the requests, and threads that want one at the same time share a
 * doorbell. Each function returns when the operation is done, and all that this thread does
 * afterwards, requests too, finds it done. Requests may be outstanding. The atomic unit is 8
 * aligned bytes; FAA and CAS, of 8 aligned bytes, are atomic among the clients' FAA and CAS, not
 * among the server's own stores.
 *
 * -EOPNOTSUPP: the server offers no memory; -EFAULT: the place is not within it; -EINVAL: not
 * aligned; -EMSGSIZE: too long; -EAGAIN: several that were late are not done yet; -ETIME,
 * -ENOTCONN, -ESTALE. After these nothing has happened. After -ETIMEDOUT and -ECONNRESET it may
 * have happened, or may happen later, and *data and *ret_old are undefined.
 */
int far_rpc_read(struct far_rpc_thread *thread, uint64_t offset, void *data, size_t len,
		 uint64_t timeout_ns);
int far_rpc_write(struct far_rpc_thread *thread, uint64_t offset, const void *data, size_t len,
		  uint64_t timeout_ns);
/* Adds. *ret_old, which may be NULL, is the value before. */
int far_rpc_faa(struct far_rpc_thread *thread, uint64_t offset, uint64_t add,
		uint64_t timeout_ns, uint64_t *ret_old);
/* Stores `swap` if the value is `compare`; it was if *ret_old is `compare`. */
int far_rpc_cas(struct far_rpc_thread *thread, uint64_t offset, uint64_t compare, uint64_t swap,
		uint64_t timeout_ns, uint64_t *ret_old);
/* Bytes of the server's memory, as the last connection has told. 0: it offers none. */
uint64_t far_rpc_memory(const struct far_rpc *rpc);

/* Counters since far_rpc_connect(), or of a server since far_rpc_serve(); exact at rest. */
struct far_rpc_stats {
	uint64_t requests;	/* sent, or run */
	uint64_t messages;	/* with requests: sent, or received */
	uint64_t doorbells;	/* all, of WRITEs, READs and receives */
	uint64_t head_reads;	/* READs of the other end's Head */
	uint64_t sleeps;
	uint64_t memory;	/* bytes of rings and their copies */
	unsigned connections;	/* that live */
	unsigned active;	/* connections that may send */
	uint64_t moves;		/* of threads to other queue pairs */
	uint64_t accesses;	/* a client's operations on the server's memory */
};

void far_rpc_stats(struct far_rpc *rpc, struct far_rpc_stats *ret_stats);

/*
 * A handler. It has the request, and writes its response, at most FAR_RPC_DATA_MAX bytes, to
 * response; if *ret_len is more, the caller gets -ENOBUFS. It runs in one of the server's threads,
 * and delays the other connections of that thread. Its result, any number, is the reply's status.
 */
typedef int far_rpc_fn(void *arg, const void *request, size_t len, void *response,
		       size_t *ret_len);

struct far_rpc_server_attr {
	const char *nic;
	const char *service;
	unsigned threads;	/* that run handlers; 0: 1 */
	unsigned connections;	/* queue pairs of all clients, at most; 0: 1024 */
	unsigned spin_us;	/* as of a client */
	far_rpc_fn *const *handlers;	/* nr_handlers; NULL: no such handler */
	unsigned nr_handlers;
	void *arg;		/* of all handlers */
	unsigned active;	/* queue pairs of all clients that may send at a time; 0: 256 */
	/*
	 * Bytes of memory that all clients may READ and change, at most FAR_RPC_MEMORY_MAX; 0:
	 * none. The server rounds up to whole pages, filled with zeros, and frees them in
	 * far_rpc_stop(). *ret_memory gets the address before the first handler runs.
	 */
	uint64_t memory;
	void **ret_memory;
};

/* Offers the service. -EADDRINUSE: another server does; other errors as far_rpc_connect(). */
int far_rpc_serve(const struct far_rpc_server_attr *attr, char *why, size_t why_len,
		  struct far_rpc_server **ret_server);
/* Ends all connections, and frees the server. */
void far_rpc_stop(struct far_rpc_server *server);
void far_rpc_server_stats(struct far_rpc_server *server, struct far_rpc_stats *ret_stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
