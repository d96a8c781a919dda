// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See count.h. */
#include "count.h"

static const struct nic_ops *real;
static struct nic_ops wrapped;
static const struct nic_node_ops *real_node;
static struct nic_node_ops wrapped_node;
static long live;

static int made(int r)
{
	live += !r;
	return r;
}

static int pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	return made(real->pd_alloc(nic, ret_pdn));
}

static void pd_free(struct nic *nic, uint32_t pdn)
{
	live--;
	real->pd_free(nic, pdn);
}

static int mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	return made(real->mr_reg(nic, pdn, va, len, iova, access, ret_key));
}

static int mr_dereg(struct nic *nic, uint32_t key)
{
	live--;
	return real->mr_dereg(nic, key);
}

static int ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
		      unsigned int access, uint8_t variant, uint32_t *ret_key)
{
	return made(real_node->ksm_create(nic, pdn, entries, access, variant,
					  ret_key));
}

static int mr_again(struct nic *nic, uint32_t key, uint32_t pdn, uint32_t *ret_key)
{
	return made(real_node->mr_again(nic, key, pdn, ret_key));
}

static int cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn)
{
	return made(real->cq_create(nic, log_size, ret_cqn));
}

static void cq_destroy(struct nic *nic, uint32_t cqn)
{
	live--;
	real->cq_destroy(nic, cqn);
}

static int qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		     uint32_t *ret_qpn)
{
	return made(real->qp_create(nic, attr, ret_qpn));
}

static int qp_destroy(struct nic *nic, uint32_t qpn)
{
	int r = real->qp_destroy(nic, qpn);

	live -= !r;
	return r;
}

void count_wrap(struct nic *nic)
{
	real = nic->ops;
	wrapped = *real;
	wrapped.pd_alloc = pd_alloc;
	wrapped.pd_free = pd_free;
	wrapped.mr_reg = mr_reg;
	wrapped.mr_dereg = mr_dereg;
	wrapped.cq_create = cq_create;
	wrapped.cq_destroy = cq_destroy;
	wrapped.qp_create = qp_create;
	wrapped.qp_destroy = qp_destroy;
	nic->ops = &wrapped;
	real_node = nic->node->ops;
	wrapped_node = *real_node;
	wrapped_node.ksm_create = ksm_create;
	if (real_node->mr_again)
		wrapped_node.mr_again = mr_again;
	nic->node->ops = &wrapped_node;
	live = 0;
}

long count_live(void)
{
	return live;
}
