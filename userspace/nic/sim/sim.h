/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cluster in virtual time: compute nodes with threads, memory nodes and links, as a
 * deterministic discrete-event model at the level of verbs. One seed, one run, bit
 * for bit. All numbers that come out of it are a model's.
 *
 * One cluster lives in one thread of the system. Its threads (far_nic_ops.thread_start)
 * are fibers; each is switched away from in wait(), spend(), post() and poll(). The
 * caller outside of them counts as one more thread: when it waits or spends, the
 * events of all others run.
 *
 * For programs and tests that know that they simulate; core and structures see the
 * table of nic.h only.
 */
#ifndef FAR_NIC_SIM_SIM_H
#define FAR_NIC_SIM_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "../nic.h"

struct far_sim;

extern const struct far_nic_ops far_sim_ops;

/* What the adversary may do; all within what nic.h promises. Bits of far_sim_attr. */
enum {
	/*
	 * words of 8 bytes land and are read in any order, at different times; READs and
	 * atomics execute late, and WRITEs without fence pass them
	 */
	FAR_SIM_TEAR	= 1 << 0,
	/* requests and completions late, by up to some round trips */
	FAR_SIM_DELAY	= 1 << 1,
	/* queue pairs break now and then */
	FAR_SIM_BREAK	= 1 << 2,
};

/* The atlas: faults that can be injected, and what is survivable. Ended by NULL. */
struct far_sim_fault {
	const char *name;
	unsigned bit;		/* FAR_SIM_*; 0: a function below */
	const char *survivable;	/* what must hold behind it, one sentence */
};

extern const struct far_sim_fault far_sim_atlas[];

struct far_sim_attr {
	const char *profile;	/* a name of userspace/profiles, or a path with a '/' */
	unsigned cns, mns;	/* compute nodes, memory nodes; at least 1 */
	uint64_t seed;
	uint64_t max_space;	/* bytes of memory per memory node; reserved, not touched */
	unsigned adversary;	/* FAR_SIM_* */
	unsigned break_one_in;	/* operations: FAR_SIM_BREAK; 0: drawn from the seed */
	double scale;		/* of nothing but epochs of throttling; 1.0 is the paper's */
	const char *set;	/* NAME=VALUE,... instead of the profile's; NULL: none */
};

/*
 * The configuration of the back end "sim": PROFILE, and any of cns=N, mns=N, seed=N,
 * space=BYTES[KMGT], adversary=NAME+NAME, NAME=VALUE of the profile. It makes a
 * cluster whose compute node 0 the table is, and close() frees it. Or cn=N alone:
 * compute node N of the cluster that the calling thread has made last.
 */

/* The i-th profile that is found by name; NULL behind the last one. */
const char *far_sim_profile_name(size_t i);

/* -ENOENT no such profile, -EINVAL a value; why names it. */
int far_sim_new(const struct far_sim_attr *attr, char *why, size_t why_len,
		struct far_sim **ret_sim);
void far_sim_free(struct far_sim *sim);

/* The table of compute node cn; it is the cluster's, and close() does nothing. */
struct far_nic *far_sim_nic(struct far_sim *sim, unsigned cn);

/* The memory of memory node mn, for images and checks: no time passes. */
void *far_sim_memory(struct far_sim *sim, unsigned mn, uint64_t *ret_size);

/*
 * Runs until all threads have ended (0), until virtual time `until` (-ETIME), or until
 * nothing can happen any more though threads still wait (-EDEADLK).
 */
int far_sim_run(struct far_sim *sim, uint64_t until);

uint64_t far_sim_now(const struct far_sim *sim);

/* The cluster whose compute node nic is; NULL: nic is none of sim's. */
struct far_sim *far_sim_of(struct far_nic *nic);

/* A hash of all that has happened: equal runs have equal ones. */
uint64_t far_sim_trace(const struct far_sim *sim);

/* Seed, adversary and its odds, as text, for whoever prints a failure. */
void far_sim_describe(const struct far_sim *sim, char *text, size_t len);

/* What the NIC of a compute node has counted since far_sim_new(). */
struct far_sim_cn_stats {
	uint64_t doorbells;
	uint64_t ops;			/* requests sent */
	uint64_t wqe_misses;		/* of those, answers that found their WQE gone */
	unsigned outstanding_max;	/* since far_sim_stats_reset() */
	unsigned threads_per_doorbell;	/* the most that use one, now */
	double dram_bytes_per_wr;	/* traffic with host memory, by the profile */
};

void far_sim_stats(const struct far_sim *sim, unsigned cn,
		   struct far_sim_cn_stats *ret_stats);
void far_sim_stats_reset(struct far_sim *sim, unsigned cn);

/* Faults. Counted over the operations posted by that compute node from now on. */
void far_sim_kill_cn_at(struct far_sim *sim, unsigned cn, uint64_t nth_op);
void far_sim_kill_mn_at(struct far_sim *sim, unsigned mn, uint64_t at_ns);
/* Whether the threads of cn are gone (killed). Its queue pairs are reset. */
int far_sim_cn_dead(const struct far_sim *sim, unsigned cn);

#endif
