/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a benchmark of structures runs on: a space set of its own on some memory nodes,
 * and a client for each compute node. In sim they are all nodes of one cluster;
 * elsewhere this process is each of the compute nodes.
 */
#ifndef FAR_BENCH_CLUSTER_H
#define FAR_BENCH_CLUSTER_H

#include <stdint.h>

#include <far/far.h>

#include "../nic/nic.h"
#include "../nic/share.h"
#include "../nic/sim/sim.h"

#define CLUSTER_MAX_CNS	64u
#define CLUSTER_MAX_MNS	64u

struct cluster_conf {
	const char *nic;	/* "mem", "sim:cx6-200", ... */
	unsigned cns, mns;
	/* A space that is there, and stays, on mns nodes; NULL: one of its own. */
	const char *space;
	const char *const *nodes;	/* of that space: their addresses */
	uint64_t space_size;	/* bytes per memory node */
	unsigned without;	/* FAR_WITHOUT_* */
	uint64_t seed;
	double scale;		/* of throttling's epochs in sim */
	uint64_t cache_bytes;
	unsigned op_ms;		/* far_conf.op_ms */
	unsigned qps;		/* that all threads of a client share, per node; 0: each its own */
};

struct cluster {
	struct far_sim *sim;	/* NULL if the back end is another */
	struct far_nic *nic[CLUSTER_MAX_CNS];
	struct far *far[CLUSTER_MAX_CNS];
	unsigned nr_nics, nr_clients, nr_maps;
	struct far_host_map map[CLUSTER_MAX_MNS];
	unsigned mns;
	char space[64];
	int has_space;
};

/* -errno; why, of why_len bytes, then has one sentence. */
int cluster_open(struct cluster *cluster, const struct cluster_conf *conf,
		 char *why, size_t why_len);
/*
 * Maps the space's memory at all memory nodes: base[i] is offset 0 of node i, until the
 * cluster is closed. -EOPNOTSUPP if they are out of reach.
 */
int cluster_map(struct cluster *cluster, void **base);

/* Deletes the space of this process, if it was interrupted. */
void cluster_remove(const struct cluster_conf *conf);

/* Deletes the space, too. */
void cluster_close(struct cluster *cluster);

#endif
