/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The micro benchmark: threads that post operations to random addresses, ring, and
 * wait, as smart-framework section 3.1 does. One doorbell per operation, as its
 * published program rings, unless batch says otherwise.
 */
#ifndef FAR_BENCH_MICRO_H
#define FAR_BENCH_MICRO_H

#include <stddef.h>
#include <stdint.h>

/* Which queue pairs and doorbells threads have. */
enum micro_policy {
	MICRO_SHARED_QP,	/* one queue pair for all */
	MICRO_MULTIPLEXED,	/* one for `per_qp` threads */
	MICRO_THREAD_QP,	/* one each, doorbells as the provider hands them out */
	MICRO_THREAD_CONTEXT,	/* one each, in a device context of its own */
	MICRO_THREAD_DOORBELL,	/* one each, with a doorbell of its own */
};

struct micro {
	const char *nic;	/* as --nic */
	unsigned cns;		/* compute nodes, over which the threads are spread; 1 but in sim */
	unsigned nodes;		/* memory nodes, used in turn; at least 1 */
	/* A space that is there, which is READ only; NULL: one of its own. */
	const char *space;
	const char *const *node;	/* of that space: addresses of its nodes */
	unsigned threads;
	/*
	 * Fewer at work: from least_threads to threads, drawn anew each change_ns (as
	 * smart-framework's table 1). 0: always all.
	 */
	unsigned least_threads;
	uint64_t change_ns;
	unsigned depth;		/* operations that a thread posts before it waits for all */
	unsigned batch;		/* operations per doorbell, at most depth */
	int op;			/* enum far_nic_op: READ, WRITE, CAS, FAA */
	uint32_t size;		/* bytes of a READ or WRITE */
	enum micro_policy policy;
	unsigned per_qp;
	double throttle;	/* scale of the epochs of throttling; 0: none */
	uint64_t ops;		/* to be measured, of all threads; a quarter more is to warm up */
	uint64_t region;		/* bytes of memory per node that addresses are drawn from */
	uint64_t seed;
	/*
	 * Instead of all that: clients of one key at a time each (redundant.h), READs or
	 * locked WRITEs of `size` bytes, keys drawn with skew theta. 0 keys: no.
	 */
	uint64_t redundant_keys;
	double theta;
};

struct micro_result {
	double mops;
	double seconds;
	uint64_t ops;
	double doorbells_per_op;
	double redundant_per_op;	/* 0 without redundant_keys */
	double failed_per_op;		/* CAS that did not get a lock */
	unsigned outstanding_max;
	/* known of sim only; else 0 and NAN */
	unsigned threads_per_doorbell;
	double dram_bytes_per_wr;
	double wqe_miss_rate;
	int is_model;		/* virtual time */
};

/* The defaults: 1 thread, depth 8, batch 1, READs of 8 bytes, a doorbell each. */
extern const struct micro micro_default;

/* Name of a --policy; -EINVAL. */
int micro_policy_parse(const char *name, enum micro_policy *ret_policy,
		       unsigned *ret_per_qp);
/* -EINVAL and the like; why, of why_len bytes, says what was wrong. */
int micro_run(const struct micro *micro, char *why, size_t why_len,
	      struct micro_result *ret_result);
/* Deletes the memory that micro_run() of this process made, if it was interrupted. */
void micro_remove(const struct micro *micro);

#endif
