/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Profiles: the costs in the model, from a file of userspace/profiles, which names the
 * source of each cost. Times are in ns.
 */
#ifndef FAR_NIC_SIM_PROFILE_H
#define FAR_NIC_SIM_PROFILE_H

#include <stddef.h>

/*
 * T is the number of threads of a compute node, n the number of threads that spin for a
 * lock. All members are doubles, so that a table finds them by name.
 */
struct sim_profile {
	/* processor: multiplied by 1 + T / slow_threads; spend() by 1 + T / spend_slow_threads */
	double build_ns;		/* one WQE */
	double mmio_ns;			/* one doorbell */
	double poll_ns;			/* one poll that finds CQEs */
	double poll_empty_ns;		/* one poll that finds none */
	double cqe_ns;			/* one CQE */
	double slow_threads;
	double spend_slow_threads;
	/* spin locks of the driver: hand-over spin_base_ns + spin_ns * n ^ spin_power */
	double spin_base_ns;
	double spin_ns;
	double spin_power;
	double spin_barge;		/* probability that the last holder gets it again */
	double line_ns;			/* moving the lock's cache line to another core */
	double qp_change_ns;		/* moving a queue pair's state to another core */
	double cq_change_ns;		/* moving a completion queue's state */
	/* doorbells of a context */
	double low_latency;		/* number of doorbells with one queue pair each */
	double shared;			/* number of doorbells assigned in turn, with a lock */
	/* the initiator's NIC */
	double read_op_ns;		/* one READ or atomic */
	double write_op_ns;
	double rd_atomic;		/* READs and atomics outstanding per queue pair */
	double rtt_ns;			/* doorbell to CQE, with empty queues */
	double rtt_thread_ns;		/* added to rtt_ns for each thread */
	/* the NIC's cache of WQEs: a miss has the probability 1 - slots / outstanding */
	double wqe_slots;
	double wqe_miss_op_ns;		/* the fetching engine's time for a miss */
	double wqe_miss_ns;		/* delay of the completion by a miss */
	double write_cliff;		/* outstanding WQEs from which on all WRITEs miss */
	double write_cliff_op_ns;	/* the engine's time for such a WRITE */
	double dram_bytes;		/* traffic with host memory per request */
	double dram_miss_bytes;		/* further traffic per miss */
	/* the NIC's translations, if each thread has a device context of its own */
	double mtt_contexts;		/* contexts whose translations fit */
	double mtt_miss_op_ns;		/* the fetching engine's time for a miss */
	/* the memory node: max(node_op_ns, node_base_ns + byte_ns * payload) */
	double node_op_ns;
	double node_base_ns;
	double byte_ns;			/* also for the initiator */
	double atomic_same_ns;		/* between two atomics on one address */
	/* links */
	double link_byte_ns;
	double link_head_bytes;		/* per message */
	/* until a request to a dead memory node fails */
	double dead_ns;
	/* A file may lack what follows. */
	double wake_ns;			/* mean time until a thread notices a wake-up */
	double serve_first;		/* 1: data move when the node has served the request */
	/* the cache of queue pair states of each NIC */
	double qp_slots;		/* states that fit; 0: all */
	double qp_miss_op_ns;		/* the fetching engine's time for a miss */
	double qp_miss_ns;		/* delay of the request or answer by a miss */
	/* receives */
	double recv_ns;			/* posting one, beside build_ns */
	double recv_cqe_ns;		/* taking its completion, beside cqe_ns */
	double mtu;			/* most bytes of a datagram */
};

/*
 * Loads a profile. spec: a name of userspace/profiles, or a path with a '/', optionally
 * followed by ,NAME=VALUE,... A parameter that may be missing, and is, costs nothing.
 * -ENOENT: no such profile; -EINVAL: a bad line or value; with a sentence in why.
 */
int sim_profile_load(const char *spec, struct sim_profile *ret_profile, char *why,
		     size_t why_len);

/* The name of parameter i, from 0 on; NULL behind the last. */
const char *sim_profile_param(size_t i);
/* The value of a parameter. -ENOENT: no such parameter. */
int sim_profile_get(const struct sim_profile *profile, const char *name,
		    double *ret_value);

/* The files of userspace/profiles, compiled in: name, text, name, text, ..., NULL. */
extern const char *const sim_profile_texts[];

#endif
