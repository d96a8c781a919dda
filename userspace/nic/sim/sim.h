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

/* What the adversary may do; all within what nic.h promises. Bits of far_sim_attr. */
enum {
	/* words of 8 bytes land and are read in any order, at different times */
	FAR_SIM_TEAR	= 1 << 0,
	/* completions late, by up to some round trips */
	FAR_SIM_DELAY	= 1 << 1,
	/* queue pairs break now and then */
	FAR_SIM_BREAK	= 1 << 2,
};

struct far_sim_attr {
	const char *profile;	/* a name of userspace/profiles, or a path with a '/' */
	unsigned cns, mns;	/* compute nodes, memory nodes; at least 1 */
	uint64_t seed;
	uint64_t max_space;	/* bytes of memory per memory node; reserved, not touched */
	unsigned adversary;	/* FAR_SIM_* */
	double scale;		/* of nothing but epochs of throttling; 1.0 is the paper's */
};

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

/* Faults. Counted over the operations posted by that compute node from now on. */
void far_sim_kill_cn_at(struct far_sim *sim, unsigned cn, uint64_t nth_op);
void far_sim_kill_mn_at(struct far_sim *sim, unsigned mn, uint64_t at_ns);
/* Whether the threads of cn are gone (killed). Its queue pairs are reset. */
int far_sim_cn_dead(const struct far_sim *sim, unsigned cn);

#endif
