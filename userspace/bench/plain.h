/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the verbs of a workload cost by themselves: a loop that posts, with the table of
 * the NIC alone, what the hash table posts for gets and updates (far-hash.md), from as
 * many threads, with as many operations under way. Keys are drawn, values made and
 * latencies recorded as run.h does; there are no tasks, no epochs, no cache, no
 * combining, no checks and no memory to manage. So what the index adds is the rest.
 */
#ifndef FAR_BENCH_PLAIN_H
#define FAR_BENCH_PLAIN_H

#include <stdint.h>

#include "../nic/nic.h"
#include "run.h"

/*
 * As conf says, on memory of its own at node 0. hit: the share of operations that take
 * the way of a cached slot. -EOPNOTSUPP: memory is out of reach, or conf inserts.
 */
int plain_run(struct far_nic *nic, const struct run_conf *conf, double hit,
	      double *ret_mops);

#endif
