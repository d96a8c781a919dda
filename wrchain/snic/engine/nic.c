// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's part of a device: its clock, its random numbers, tables of objects, and a step.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

/* Bounds of one step, so that no part starves the others. */
#define TIMER_BUDGET	1024
#define WQE_BUDGET	1024

static const struct snic_table_kind object_kind = {
	.slot_bits = SNIC_OBJECT_BITS,
	.gen_shift = SNIC_OBJECT_BITS, .gen_bits = 24 - SNIC_OBJECT_BITS,
	.first_slot = SNIC_FIRST_SLOT,
};

static const struct snic_table_kind qp_kind = {
	.slot_bits = SNIC_OBJECT_BITS,
	.gen_shift = SNIC_OBJECT_BITS, .gen_bits = 24 - SNIC_OBJECT_BITS,
	.first_slot = SNIC_FIRST_SLOT,
	.random_gen = true,
};

uint64_t snic_now(const struct snic *nic)
{
	return nic->now;
}

void snic_set_now(struct snic *nic, uint64_t now)
{
	nic->now = now;
}

bool snic_engine_is_busy(const struct snic *nic)
{
	return nic->run_head || nic->failed_cqs;
}

struct snic_stats *snic_stats(struct snic *nic)
{
	return &nic->stats;
}

const struct snic_config *snic_config(const struct snic *nic)
{
	return &nic->cfg;
}

const struct snic_upper *snic_upper_of(const struct snic *nic)
{
	return nic->upper;
}

struct snic_parts *snic_parts(struct snic *nic)
{
	return &nic->parts;
}

/* splitmix64 (Steele, Lea, Flood 2014): any seed is good, including 0. */
uint64_t snic_random(struct snic *nic)
{
	uint64_t z = nic->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t snic_secret(struct snic *nic)
{
	return nic->cfg.random ? nic->cfg.random() : snic_random(nic);
}

static int check_config(const struct snic_config *cfg)
{
	if (cfg->mtu < 576 || cfg->mtu > 65535 || cfg->prefix_len > 32)
		return -EINVAL;
	if (cfg->mac[0] & 1)
		return -EINVAL;		/* multicast */
	if (cfg->fetch != SNIC_FETCH_LATE && cfg->fetch != SNIC_FETCH_EARLY)
		return -EINVAL;
	return 0;
}

int snic_engine_new(const struct snic_config *cfg, const struct snic_upper *upper,
		    struct snic **ret_nic)
{
	struct snic *nic;
	int r = check_config(cfg);

	if (r)
		return r;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->cfg = *cfg;
	nic->upper = upper;
	nic->rng = cfg->seed;
	snic_table_init(&nic->pds, &object_kind);
	snic_table_init(&nic->cqs, &object_kind);
	snic_table_init(&nic->qps, &qp_kind);
	*ret_nic = nic;
	return 0;
}

void snic_engine_drop_queues(struct snic *nic)
{
	struct snic_qp *qp;
	struct snic_cq *cq;
	uint32_t pos = 0;

	while ((qp = snic_table_next(&nic->qps, &pos)))
		snic_qp_destroy(nic, qp->qpn);
	for (pos = 0; (cq = snic_table_next(&nic->cqs, &pos)); )
		snic_cq_destroy(nic, cq->cqn);
}

void snic_engine_free(struct snic *nic)
{
	snic_mem_fini(nic);
	snic_table_fini(&nic->qps);
	snic_table_fini(&nic->cqs);
	snic_keys_fini(&nic->mkeys);
	snic_table_fini(&nic->pds);
	free(nic->heap);
	free(nic);
}

void snic_engine_begin(struct snic *nic, uint64_t now)
{
	nic->now = now;
	snic_timers_run(nic, TIMER_BUDGET);
}

bool snic_engine_run(struct snic *nic)
{
	snic_cq_spread_errors(nic);
	return snic_sq_run_queue(nic, WQE_BUDGET);
}

void snic_set_cost(struct snic *nic, snic_cost_fn fn, void *arg)
{
	nic->cost = fn;
	nic->cost_arg = arg;
}

void snic_get_stats(struct snic *nic, struct snic_stats *ret_stats)
{
	*ret_stats = nic->stats;
}
