// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Clusters: making and freeing them from attributes, their nodes, and statistics. */
#include "cluster.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREAD_STACK	(256u << 10)
#define MAX_NODES	4096u
#define SET_MAX		4096u	/* room for far_sim_attr.set, in bytes */

static int cn_init(struct sim_cn *cn, struct far_sim *sim, unsigned idx)
{
	unsigned i;

	cn->nic.ops = &far_sim_ops;
	cn->sim = sim;
	cn->idx = idx;
	cn->doorbells = calloc(sim_nr_doorbells(cn), sizeof(cn->doorbells[0]));
	if (!cn->doorbells)
		return -ENOMEM;
	for (i = 0; i < sim_nr_doorbells(cn); i++)
		sim_lock_init(&cn->doorbells[i].lock, sim);
	sim_cn_pace(cn);
	return 0;
}

static void cn_fini(struct sim_cn *cn)
{
	while (cn->links)
		sim_hangup(cn->links);
	/* Clients that were killed have left their queue sets. */
	while (cn->qsets)
		sim_qset_free(&cn->qsets->qset);
	while (cn->qps) {
		struct sim_qp *next = cn->qps->next;

		free(cn->qps);
		cn->qps = next;
	}
	sim_cache_fini(&cn->cache);
	free(cn->doorbells);
	free(cn->mrs);
}

static void mn_fini(struct sim_mn *mn)
{
	sim_spaces_free(mn);
	sim_cache_fini(&mn->cache);
	if (mn->base)
		munmap(mn->base, mn->size);
}

static int mn_init(struct sim_mn *mn, struct far_sim *sim, unsigned idx)
{
	void *base = mmap(NULL, sim->attr.max_space, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	mn->sim = sim;
	mn->idx = idx;
	mn->base = base;
	mn->size = sim->attr.max_space;
	return 0;
}

int sim_cn_memory(struct sim_cn *cn)
{
	int err;

	if (cn->memory)
		return 0;
	cn->memory = calloc(1, sizeof(*cn->memory));
	if (!cn->memory)
		return -ENOMEM;
	err = mn_init(cn->memory, cn->sim, cn->idx);
	if (err) {
		free(cn->memory);
		cn->memory = NULL;
	}
	return err;
}

static void cn_memory_fini(struct sim_cn *cn)
{
	if (!cn->memory)
		return;
	mn_fini(cn->memory);
	free(cn->memory);
}

static int nodes_init(struct far_sim *sim)
{
	unsigned i;
	int err = 0;

	sim->cns = calloc(sim->attr.cns, sizeof(sim->cns[0]));
	sim->mns = calloc(sim->attr.mns, sizeof(sim->mns[0]));
	if (!sim->cns || !sim->mns)
		return -ENOMEM;
	for (i = 0; i < sim->attr.cns && !err; i++)
		err = cn_init(&sim->cns[i], sim, i);
	for (i = 0; i < sim->attr.mns && !err; i++)
		err = mn_init(&sim->mns[i], sim, i);
	return err;
}

static int profile_load(const struct far_sim_attr *attr, struct sim_profile *profile,
			char *why, size_t why_len)
{
	char spec[PATH_MAX + SET_MAX];

	if ((size_t)snprintf(spec, sizeof(spec), "%s%s%s", attr->profile,
			     attr->set && *attr->set ? "," : "",
			     attr->set ? attr->set : "") >= sizeof(spec))
		return -E2BIG;
	return sim_profile_load(spec, profile, why, why_len);
}

static int attr_check(const struct far_sim_attr *attr, char *why, size_t why_len)
{
	if (!attr->cns || attr->cns > MAX_NODES || !attr->mns || attr->mns > MAX_NODES)
		snprintf(why, why_len, "%u compute and %u memory nodes: expected 1 to %u "
			 "of each", attr->cns, attr->mns, MAX_NODES);
	else if (!attr->max_space)
		snprintf(why, why_len, "a memory node without memory");
	else
		return 0;
	return -EINVAL;
}

static _Thread_local struct far_sim *last_sim;

struct far_sim *sim_last(void)
{
	return last_sim;
}

int far_sim_new(const struct far_sim_attr *attr, char *why, size_t why_len,
		struct far_sim **ret_sim)
{
	struct far_sim *sim;
	int err = attr_check(attr, why, why_len);

	if (err)
		return err;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return -ENOMEM;
	sim->attr = *attr;
	sim->attr.max_space = (attr->max_space + 4095) / 4096 * 4096;
	sim_wheel_init(&sim->wheel);
	far_stacks_init(&sim->stacks, THREAD_STACK);
	far_rng_init(&sim->rng, attr->seed, 0);
	far_rng_init(&sim->fate, attr->seed, 1);
	sim_outside_init(sim);
	err = profile_load(attr, &sim->profile, why, why_len);
	if (!err)
		err = nodes_init(sim);
	if (err) {
		far_sim_free(sim);
		return err;
	}
	sim->attr.profile = sim->attr.set = NULL;	/* the caller owns these strings */
	sim_odds_draw(sim);
	last_sim = sim;
	*ret_sim = sim;
	return 0;
}

void far_sim_free(struct far_sim *sim)
{
	unsigned i;

	sim_threads_free(sim);
	for (i = 0; sim->cns && i < sim->attr.cns; i++)
		if (sim->cns[i].sim)
			cn_fini(&sim->cns[i]);
	sim_listeners_free(sim);
	sim_packets_free(sim);
	sim_attaches_free(sim);
	for (i = 0; sim->cns && i < sim->attr.cns; i++)
		cn_memory_fini(&sim->cns[i]);
	for (i = 0; sim->mns && i < sim->attr.mns; i++)
		mn_fini(&sim->mns[i]);
	free(sim->cns);
	free(sim->mns);
	sim_reqs_free(sim);
	far_stacks_fini(&sim->stacks);
	if (last_sim == sim)
		last_sim = NULL;
	free(sim);
}

struct far_nic *far_sim_nic(struct far_sim *sim, unsigned cn)
{
	return &sim->cns[cn].nic;
}

struct far_sim *far_sim_of(struct far_nic *nic)
{
	/* Its queue sets may be shared (share.h): then the table is a copy. */
	return nic->ops->name == far_sim_ops.name ? sim_cn_of(nic)->sim : NULL;
}

void *far_sim_memory(struct far_sim *sim, unsigned mn, uint64_t *ret_size)
{
	*ret_size = sim->mns[mn].size;
	return sim->mns[mn].base;
}

uint64_t far_sim_now(const struct far_sim *sim)
{
	return sim_local_now(sim);
}

uint64_t far_sim_trace(const struct far_sim *sim)
{
	return sim->trace;
}

/* How many threads use the doorbell: the members of all shares with a queue pair on it. */
static unsigned doorbell_threads(const struct sim_cn *cn,
				 const struct sim_doorbell *doorbell)
{
	const struct sim_share *share;
	unsigned nr = 0, i;

	for (share = cn->shares; share; share = share->next)
		for (i = 0; i < share->nr_peers; i++)
			if (share->qp[i] && share->qp[i]->doorbell == doorbell) {
				nr += share->nr_members;
				break;
			}
	return nr;
}

void far_sim_stats(const struct far_sim *sim, unsigned idx,
		   struct far_sim_cn_stats *ret_stats)
{
	const struct sim_cn *cn = &sim->cns[idx];
	const struct sim_share *share;
	struct far_sim_cn_stats stats = cn->stats;
	double misses = stats.ops ? (double)stats.wqe_misses / stats.ops : 0;
	unsigned i, nr;

	for (share = cn->shares; share; share = share->next)
		for (i = 0; i < share->nr_peers; i++) {
			if (!share->qp[i])
				continue;
			nr = doorbell_threads(cn, share->qp[i]->doorbell);
			if (nr > stats.threads_per_doorbell)
				stats.threads_per_doorbell = nr;
		}
	stats.qp_misses = cn->cache.misses;
	stats.dram_bytes_per_wr = sim->profile.dram_bytes +
				  sim->profile.dram_miss_bytes * misses;
	*ret_stats = stats;
}

void far_sim_stats_reset(struct far_sim *sim, unsigned cn)
{
	memset(&sim->cns[cn].stats, 0, sizeof(sim->cns[cn].stats));
	sim->cns[cn].cache.misses = 0;
}
