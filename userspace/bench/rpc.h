/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The benchmark of RPC: clients' threads that keep requests outstanding at one server. */
#ifndef FAR_BENCH_RPC_H
#define FAR_BENCH_RPC_H

#include <stddef.h>
#include <stdint.h>

/* How the threads of a client share queue pairs. */
enum rpc_variant {
	RPC_COMBINE,		/* `qps` queue pairs, each with a combining queue */
	RPC_PER_THREAD,		/* a queue pair for each thread */
	RPC_LOCK_2,		/* one for 2 threads, which take turns and send one request each */
	RPC_LOCK_4,		/* one for 4 threads */
};

struct rpc_bench {
	const char *nic;	/* as --nic */
	unsigned cns;		/* clients */
	unsigned threads;	/* of each */
	unsigned outstanding;	/* requests of each thread */
	uint32_t size;		/* bytes of a request, and of its response */
	unsigned server_threads;
	const char *node, *service;	/* of another process' server; NULL: one of this process */
	enum rpc_variant variant;
	unsigned qps;		/* of each client, of RPC_COMBINE; 0: one for 2 threads */
	uint64_t ops;		/* of all threads, a quarter of them to warm up */
	uint64_t seed;
};

struct rpc_bench_result {
	uint64_t ops;			/* that were measured */
	double seconds, mops;
	double p50_us, p99_us, p999_us, max_us;
	double degree;			/* requests per message */
	double doorbells_per_op;	/* of the clients */
	double server_doorbells_per_op;
	uint64_t head_reads, sleeps, errors;
	uint64_t client_memory;		/* bytes of rings of one client */
	unsigned qps;			/* of each client */
	int is_model;
};

extern const struct rpc_bench rpc_bench_default;

/* -EINVAL: no variant has the name. */
int rpc_variant_parse(const char *name, enum rpc_variant *ret_variant);
/* -errno, with a sentence in why. */
int rpc_bench_run(const struct rpc_bench *bench, char *why, size_t why_len,
		  struct rpc_bench_result *ret_result);

#endif
