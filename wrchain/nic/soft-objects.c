// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The software NIC's domains, keys, completion queues and queue pairs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "soft-priv.h"

unsigned int soft_access(unsigned int access)
{
	return (access & NIC_LOCAL_WRITE ? SNIC_LOCAL_WRITE : 0) |
	       (access & NIC_REMOTE_READ ? SNIC_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? SNIC_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? SNIC_REMOTE_ATOMIC : 0);
}

int soft_pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	return soft_leave(nic, snic_pd_alloc(soft_enter(nic), ret_pdn));
}

void soft_pd_free(struct nic *nic, uint32_t pdn)
{
	soft_leave(nic, snic_pd_free(soft_enter(nic), pdn));
}

int soft_mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	return soft_leave(nic, snic_mkey_reg(soft_enter(nic), pdn, va, len, iova,
					     soft_access(access), ret_key));
}

int soft_mr_dereg(struct nic *nic, uint32_t key)
{
	return soft_leave(nic, snic_mkey_dereg(soft_enter(nic), key));
}

/* ---- completion queues ------------------------------------------------ */

struct soft_cq **soft_cq_find(struct nic *nic, uint32_t cqn)
{
	struct soft_cq **c = &soft_of(nic)->cqs[cqn & (SOFT_CQ_BUCKETS - 1)];

	while (*c && (*c)->cqn != cqn)
		c = &(*c)->next;
	return c;
}

void soft_cq_free(struct soft_cq *c)
{
	free(c->buf);
	free(c);
}

static struct soft_cq *cq_new(uint8_t log_size)
{
	size_t len = sizeof(struct wrc_cqe) << log_size;
	struct soft_cq *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->log_size = log_size;
	c->buf = aligned_alloc(64, len);
	if (!c->buf) {
		free(c);
		return NULL;
	}
	memset(c->buf, 0xff, len);
	return c;
}

int soft_cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn)
{
	struct snic_cq_attr attr = {
		.log_size = log_size, .overrun_ignore = true,
	};
	struct soft_cq *c = cq_new(log_size);
	struct soft_cq **bucket;
	int r;

	if (!c)
		return -ENOMEM;
	attr.buf = c->buf;
	r = snic_cq_create(soft_enter(nic), &attr, &c->cqn);
	if (!r) {
		bucket = &soft_of(nic)->cqs[c->cqn & (SOFT_CQ_BUCKETS - 1)];
		c->next = *bucket;
		*bucket = c;
		*ret_cqn = c->cqn;
	}
	soft_leave(nic, 0);
	if (r)
		soft_cq_free(c);
	return r;
}

static void cq_untell(struct nic_soft *s, const struct soft_cq *c)
{
	struct soft_cq **at = &s->told;

	while (*at && *at != c)
		at = &(*at)->told_next;
	if (*at)
		*at = c->told_next;
}

void soft_cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct snic *snic = soft_enter(nic);
	struct soft_cq **pos = soft_cq_find(nic, cqn), *c = *pos;

	if (c && snic_cq_destroy(snic, cqn))
		c = NULL;
	if (c) {
		*pos = c->next;
		cq_untell(soft_of(nic), c);
	}
	soft_leave(nic, 0);
	if (c)
		soft_cq_free(c);
}

void soft_cqs_notify(void *nic)
{
	struct nic_soft *s = nic;
	struct soft_cq *c;
	uint32_t count;

	for (c = s->told; c; c = c->told_next) {
		if (snic_cq_count(s->snic, c->cqn, &count) ||
		    count == c->told_count)
			continue;
		__atomic_store_n(&c->told_count, count, __ATOMIC_RELEASE);
		c->told(c->arg);
	}
}

int nic_soft_cq_notify(struct nic *nic, uint32_t cqn, void (*told)(void *arg),
		       void *arg, struct soft_cq **ret_cq)
{
	struct snic *snic = soft_enter(nic);
	struct soft_cq *c = *soft_cq_find(nic, cqn);
	int r = !c ? -ENOENT : soft_of(nic)->rt ? 0 : -EOPNOTSUPP;

	if (!r)
		r = snic_cq_count(snic, cqn, &c->told_count);
	if (!r) {
		cq_untell(soft_of(nic), c);
		c->told_next = soft_of(nic)->told;
		soft_of(nic)->told = c;
		c->told = told;
		c->arg = arg;
		c->taken = c->told_count;
		*ret_cq = c;
	}
	return soft_leave(nic, r);
}

bool nic_soft_cq_take(struct soft_cq *c, struct wrc_cqe *ret_cqe)
{
	if (c->taken == __atomic_load_n(&c->told_count, __ATOMIC_ACQUIRE))
		return false;
	*ret_cqe = c->buf[c->taken & ((1u << c->log_size) - 1)];
	c->taken = (c->taken + 1) & WRC_WQE_WAIT_MASK;
	return true;
}

int soft_cq_poll(struct nic *nic, uint32_t cqn,
		 struct wrc_cqe *ret_cqe)
{
	return soft_leave(nic, snic_cq_poll(soft_enter(nic), cqn, ret_cqe));
}

/* ---- queue pairs ------------------------------------------------------ */

int soft_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		   uint32_t *ret_qpn)
{
	const struct snic_qp_attr a = {
		.pdn = attr->pdn,
		.scqn = attr->scqn, .rcqn = attr->rcqn,
		.sq = attr->sq, .log_sq = attr->log_sq,
		.rq = attr->rq, .log_rq = attr->log_rq,
		.log_rq_stride = attr->log_rq_stride,
		.dbr = attr->dbr,
		.access = soft_access(attr->access),
		.cd_master = attr->cd_master,
		.cd_slave_send = attr->cd_slave_send,
	};

	return soft_leave(nic, snic_qp_create(soft_enter(nic), &a, ret_qpn));
}

int soft_qp_destroy(struct nic *nic, uint32_t qpn)
{
	return soft_leave(nic, snic_qp_destroy(soft_enter(nic), qpn));
}

int soft_qp_error(struct nic *nic, uint32_t qpn)
{
	return soft_leave(nic, snic_qp_error(soft_enter(nic), qpn));
}

int soft_qp_query(struct nic *nic, uint32_t qpn,
		  struct nic_qp_info *ret_info)
{
	struct snic_qp_info info;
	int r = soft_leave(nic, snic_qp_query(soft_enter(nic), qpn, &info));

	if (r)
		return r;
	ret_info->sq_executed = info.sq_executed;
	ret_info->error = info.state == SNIC_QP_ERR;
	ret_info->syndrome = info.syndrome;
	return 0;
}

int soft_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	return soft_leave(nic, snic_qp_doorbell(soft_enter(nic), qpn, pi));
}

void nic_soft_ring(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	struct nic_soft *s = soft_of(nic);

	if (s->rt && !s->frozen)
		snic_rt_ring(s->rt, qpn, pi);
	else
		soft_qp_doorbell(nic, qpn, pi);
}

/* ---- threads that wait ------------------------------------------------ */

bool nic_soft_note(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	return snic_rt_note(soft_of(nic)->rt, qpn, pi);
}

void nic_soft_push(struct nic *nic)
{
	snic_rt_push(soft_of(nic)->rt);
}

int nic_soft_helper(struct nic *nic, int wake_fd, struct snic_helper **ret_helper)
{
	return snic_helper_new(soft_of(nic)->rt, wake_fd, ret_helper);
}
