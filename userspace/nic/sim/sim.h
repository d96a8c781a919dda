/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cluster in virtual time: compute nodes with threads, memory nodes and links, as a
 * deterministic discrete-event model at the level of verbs. Runs with the same seed are
 * equal, bit for bit. All numbers of a cluster are results of a model.
 *
 * Only one thread of the system may use a cluster. The cluster's threads
 * (far_nic_ops.thread_start) are fibers; a switch to another fiber may happen in wait(),
 * post(), poll() and thread_join(). The caller outside of the fibers counts as one more
 * thread: fibers run during its calls of these functions and of far_sim_run().
 *
 * This header is for programs and tests that know of the simulation; core and structures
 * use the table of nic.h only.
 */
#ifndef FAR_NIC_SIM_SIM_H
#define FAR_NIC_SIM_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "../nic.h"

struct far_sim;

extern const struct far_nic_ops far_sim_ops;

/* Faults that the adversary may inject, within what nic.h promises. Bits of far_sim_attr. */
enum {
	/*
	 * words of 8 bytes are written and read in any order, at different times; READs and
	 * atomics execute late, and WRITEs without fence pass them
	 */
	FAR_SIM_TEAR	= 1 << 0,
	/* requests and answers come late, by up to some round trips */
	FAR_SIM_DELAY	= 1 << 1,
	/* queue pairs break now and then */
	FAR_SIM_BREAK	= 1 << 2,
};

/* A fault that can be injected. The atlas, a list of all, ends with name NULL. */
struct far_sim_fault {
	const char *name;
	unsigned bit;		/* FAR_SIM_*; 0: a function below */
	const char *survivable;	/* what must hold after the fault, one sentence */
};

extern const struct far_sim_fault far_sim_atlas[];

struct far_sim_attr {
	const char *profile;	/* a name of userspace/profiles, or a path with a '/' */
	unsigned cns, mns;	/* compute nodes, memory nodes; at least 1 */
	uint64_t seed;
	uint64_t max_space;	/* bytes of memory per memory node; allocated when used */
	unsigned adversary;	/* FAR_SIM_* */
	unsigned break_one_in;	/* FAR_SIM_BREAK: operations per fault; 0: from the seed */
	double scale;		/* factor of throttling epochs alone; 1.0: as in the paper */
	const char *set;	/* NAME=VALUE,... to replace parameters; NULL: none */
};

/*
 * The configuration of the back end "sim": PROFILE, and any of cns=N, mns=N, seed=N,
 * space=BYTES[KMGT], adversary=NAME+NAME, and parameters of the profile, NAME=VALUE.
 * open() makes a cluster and returns its compute node 0; close() frees the cluster. With
 * cn=N alone, open() returns compute node N of the last cluster that the calling thread
 * has made, and close() does nothing.
 */

/* The name of built-in profile i, from 0 on; NULL behind the last one. */
const char *far_sim_profile_name(size_t i);

/*
 * Makes a cluster. -ENOENT: no such profile; -EINVAL: an invalid value; both with a
 * sentence in why. -ENOMEM.
 */
int far_sim_new(const struct far_sim_attr *attr, char *why, size_t why_len,
		struct far_sim **ret_sim);
void far_sim_free(struct far_sim *sim);

/* Compute node cn, which the cluster owns: close() does nothing. */
struct far_nic *far_sim_nic(struct far_sim *sim, unsigned cn);

/* The memory of memory node mn, for images and checks. Access takes no virtual time. */
void *far_sim_memory(struct far_sim *sim, unsigned mn, uint64_t *ret_size);

/*
 * Runs until all threads have ended (0), until virtual time `until` (-ETIME), or until
 * no event is left although threads still wait (-EDEADLK).
 */
int far_sim_run(struct far_sim *sim, uint64_t until);

uint64_t far_sim_now(const struct far_sim *sim);

/* The cluster of a compute node; NULL: nic belongs to another back end. */
struct far_sim *far_sim_of(struct far_nic *nic);

/* A hash of all that has happened: equal runs have equal hashes. */
uint64_t far_sim_trace(const struct far_sim *sim);

/* Writes seed and the adversary's probabilities as text, for messages about failures. */
void far_sim_describe(const struct far_sim *sim, char *text, size_t len);

/* Counters of a compute node's NIC, since far_sim_new() or far_sim_stats_reset(). */
struct far_sim_cn_stats {
	uint64_t doorbells;
	uint64_t ops;			/* requests sent */
	uint64_t wqe_misses;		/* answers whose WQE had left the cache */
	uint64_t qp_misses;		/* states of queue pairs that were not in the cache */
	uint64_t lost;			/* datagrams that have found no RECV here */
	unsigned outstanding_max;	/* most WQEs between doorbell and CQE */
	unsigned threads_per_doorbell;	/* most threads that use one doorbell, at present */
	double dram_bytes_per_wr;	/* traffic with host memory, by the profile */
};

void far_sim_stats(const struct far_sim *sim, unsigned cn,
		   struct far_sim_cn_stats *ret_stats);
void far_sim_stats_reset(struct far_sim *sim, unsigned cn);

/* Kills compute node cn at the nth_op-th operation that it posts from now on; 0: never. */
void far_sim_kill_cn_at(struct far_sim *sim, unsigned cn, uint64_t nth_op);
/* Kills memory node mn at virtual time at_ns. */
void far_sim_kill_mn_at(struct far_sim *sim, unsigned mn, uint64_t at_ns);
/* It answers again, and has what it had; connections are made anew. */
void far_sim_revive_mn(struct far_sim *sim, unsigned mn);
/*
 * Whether cn is dead: its threads have ended. Requests that it had under way may still
 * execute until a fence.
 */
int far_sim_cn_dead(const struct far_sim *sim, unsigned cn);

#endif
