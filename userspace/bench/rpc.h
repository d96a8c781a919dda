/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The benchmark of RPC: clients' threads that keep requests outstanding at one server. */
#ifndef FAR_BENCH_RPC_H
#define FAR_BENCH_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc_index.h"

/* How the threads of a client share queue pairs. */
enum rpc_variant {
	RPC_COMBINE,		/* `qps` queue pairs, each with a combining queue */
	RPC_PER_THREAD,		/* a queue pair for each thread */
	RPC_LOCK_2,		/* one for 2 threads, which take turns and send one request each */
	RPC_LOCK_4,		/* one for 4 threads */
	RPC_DATAGRAM,		/* no connections: paper/datagram.h */
};

#define RPC_DATAGRAM_MAX	2048u	/* bytes of a request of RPC_DATAGRAM */

struct rpc_bench {
	const char *nic;	/* as --nic */
	unsigned cns;		/* clients */
	unsigned threads;	/* of each */
	unsigned outstanding;	/* requests of each thread */
	uint32_t size;		/* bytes of a request, and of its response */
	uint32_t large;		/* bytes of the requests of each 10th thread; 0: as the others */
	bool coalesce, place;	/* what RPC_COMBINE does; false: it does not */
	unsigned server_threads;
	const char *node, *service;	/* of another process' server; NULL: one of this process */
	enum rpc_variant variant;
	unsigned qps;		/* of each client, of RPC_COMBINE; 0: one for 2 threads */
	unsigned active;	/* queue pairs that RPC_COMBINE's server lets send; 0: 256 */
	uint64_t ops;		/* of all threads, a quarter of them to warm up */
	uint64_t seed;
	bool index;		/* an ordered index behind the server; false: an empty handler */
	uint64_t keys;		/* of the index, in a server of this process */
	uint64_t index_ns[RPC_INDEX_ASKS];	/* in sim: its cost */
};

struct rpc_bench_result {
	uint64_t ops;			/* that were measured */
	double seconds, mops;
	double before_mops, after_mops;	/* rates of threads in the two halves; 0: too short */
	int is_steady;			/* they differ by at most 5 % */
	double p50_us, p99_us, p999_us, max_us;
	double degree;			/* requests per message */
	double doorbells_per_op;	/* of the clients */
	double server_doorbells_per_op;
	double small_mops;		/* of requests of `size` bytes */
	double receive_share;		/* of the server's time: posting RECVs and polling; NAN */
	uint64_t again;			/* datagrams that were sent again */
	uint64_t head_reads, sleeps, errors;
	int err;			/* the first of errors */
	uint64_t client_memory;		/* bytes of rings of one client */
	unsigned qps;			/* of each client */
	unsigned active_least, active_most;	/* of a client, that may send at the end */
	struct rpc_index_times index;	/* of a server of this process */
	double ask_p50_us[RPC_INDEX_ASKS], ask_p99_us[RPC_INDEX_ASKS];	/* by handler */
	uint64_t keys;			/* of the index */
	uint64_t wrong;			/* responses of the index */
	int is_model;
};

extern const struct rpc_bench rpc_bench_default;

/* -EINVAL: no variant has the name. */
int rpc_variant_parse(const char *name, enum rpc_variant *ret_variant);
/* -errno, with a sentence in why. */
int rpc_bench_run(const struct rpc_bench *bench, char *why, size_t why_len,
		  struct rpc_bench_result *ret_result);

#endif
