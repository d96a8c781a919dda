/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Profiles: the costs that the model charges, from a file of userspace/profiles,
 * where each one's source is written. Times are in ns.
 */
#ifndef FAR_NIC_SIM_PROFILE_H
#define FAR_NIC_SIM_PROFILE_H

#include <stddef.h>

/*
 * T is the number of threads of a compute node, n of those that spin for a lock. All
 * have the same type, so that a table finds them by name.
 */
struct sim_profile {
	/* processor: times (1 + T / slow_threads), declared ones by spend_slow_threads */
	double build_ns;		/* one WQE */
	double mmio_ns;			/* one doorbell */
	double poll_ns;			/* one poll that finds something */
	double poll_empty_ns;		/* one that finds nothing */
	double cqe_ns;			/* one CQE */
	double slow_threads;
	double spend_slow_threads;
	/* spin locks of the driver: hand-over spin_base_ns + spin_ns * n ^ spin_power */
	double spin_base_ns;
	double spin_ns;
	double spin_power;
	double spin_barge;		/* probability that the releaser gets it again */
	double line_ns;			/* moving the lock's line to another core */
	double qp_change_ns;		/* a queue pair's state, to another core */
	double cq_change_ns;		/* a completion queue's */
	/* doorbells of a context */
	double low_latency;		/* those with one queue pair each */
	double shared;			/* those handed out in turn, with a lock each */
	/* the initiator's NIC */
	double read_op_ns;		/* one READ or atomic */
	double write_op_ns;
	double rd_atomic;		/* READs and atomics outstanding per queue pair */
	double rtt_ns;			/* doorbell to CQE, with empty queues */
	double rtt_thread_ns;		/* and that per thread */
	/* its cache of WQEs: a miss has the probability 1 - slots / outstanding */
	double wqe_slots;
	double wqe_miss_op_ns;		/* of the engine that fetches */
	double wqe_miss_ns;		/* what a miss delays its completion */
	double write_cliff;		/* outstanding from which all WRITEs miss */
	double write_cliff_op_ns;	/* the engine's time for those */
	double dram_bytes;		/* traffic with host memory per request */
	double dram_miss_bytes;		/* and per miss */
	/* its translations, when each thread has a context of its own */
	double mtt_contexts;		/* contexts whose translations fit */
	double mtt_miss_op_ns;		/* of the engine that fetches */
	/* the memory node: max(node_op_ns, node_base_ns + byte_ns * payload) */
	double node_op_ns;
	double node_base_ns;
	double byte_ns;			/* also the initiator's */
	double atomic_same_ns;		/* between atomics of one address */
	/* links */
	double link_byte_ns;
	double link_head_bytes;		/* per message */
	/* what a dead memory node costs who talks to it */
	double dead_ns;
};

/* spec: a name of userspace/profiles, or a path with a '/'; ,NAME=VALUE,... behind it. */
int sim_profile_load(const char *spec, struct sim_profile *ret_profile, char *why,
		     size_t why_len);
/* One parameter by name: -ENOENT no such one, -EINVAL a value that cannot be. */
int sim_profile_set(struct sim_profile *profile, const char *name, const char *value,
		    char *why, size_t why_len);

/* The name of parameter i, from 0; NULL behind the last. */
const char *sim_profile_param(size_t i);
/* Its value; -ENOENT. */
int sim_profile_get(const struct sim_profile *profile, const char *name,
		    double *ret_value);

/* The files of userspace/profiles, compiled in: names and texts in turn, then NULL. */
extern const char *const sim_profile_texts[];

#endif
