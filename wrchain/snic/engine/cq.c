// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues: entries in the caller's memory, a 24-bit counter of all
 * entries ever written, and the send queues that WAIT for a count.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define MAX_LOG_CQ 22
/* Invalid opcode; owner bit of the lap before the first one. */
#define INITIAL_OP_OWN (WRC_CQE_INVALID << 4 | 1)

static struct wrc_cqe *cq_entry(const struct snic_cq *cq, uint32_t n)
{
	uint32_t mask = (1u << cq->attr.log_size) - 1;

	return (struct wrc_cqe *)cq->attr.buf + (n & mask);
}

int snic_cq_create(struct snic *nic, const struct snic_cq_attr *attr,
		   uint32_t *ret_cqn)
{
	struct snic_cq *cq;
	uint32_t i;
	int r;

	if (!attr->buf || ((uintptr_t)attr->buf & 7) ||
	    attr->log_size > MAX_LOG_CQ)
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->nic = nic;
	cq->attr = *attr;
	r = snic_table_add(nic, &nic->cqs, cq, &cq->cqn);
	if (r) {
		free(cq);
		return r;
	}
	for (i = 0; i < 1u << attr->log_size; i++)
		cq_entry(cq, i)->op_own = INITIAL_OP_OWN;
	*ret_cqn = cq->cqn;
	return 0;
}

static void forget_failed(struct snic_cq *cq)
{
	struct snic_cq **p = &cq->nic->failed_cqs;

	while (*p && *p != cq)
		p = &(*p)->next_failed;
	if (*p)
		*p = cq->next_failed;
}

int snic_cq_destroy(struct snic *nic, uint32_t cqn)
{
	struct snic_cq *cq = snic_cq_lookup(nic, cqn);

	if (!cq)
		return -ENOENT;
	if (cq->users)
		return -EBUSY;
	/* The CQ is gone: the waiters' WAITs fail when the kick makes them look
	 * again. */
	snic_table_del(&nic->cqs, cqn);
	while (cq->waiters) {
		struct snic_qp *qp = cq->waiters;

		snic_cq_del_waiter(qp);
		snic_qp_kick(qp);
	}
	forget_failed(cq);
	free(cq);
	return 0;
}

/* ---- waiting ----------------------------------------------------------- */

void snic_cq_add_waiter(struct snic_cq *cq, struct snic_qp *qp)
{
	qp->waiting_cq = cq;
	qp->wait_next = cq->waiters;
	cq->waiters = qp;
}

void snic_cq_del_waiter(struct snic_qp *qp)
{
	struct snic_qp **p;

	if (!qp->waiting_cq)
		return;
	for (p = &qp->waiting_cq->waiters; *p != qp; p = &(*p)->wait_next)
		;
	*p = qp->wait_next;
	qp->waiting_cq = NULL;
}

/* A chain has one or two waiters per CQ, and the next entry satisfies nearly
 * each of them.  So all are kicked, and each checks its own index. */
static void wake_waiters(struct snic_cq *cq)
{
	struct snic_qp *qp;

	for (qp = cq->waiters; qp; qp = qp->wait_next)
		snic_qp_kick(qp);
}

/* ---- entries ----------------------------------------------------------- */

static bool is_error(const struct snic_cqe_info *info)
{
	return info->opcode == WRC_CQE_REQ_ERR ||
	       info->opcode == WRC_CQE_RESP_ERR;
}

static void put_word(uint64_t *dst, uint64_t v)
{
	__atomic_store_n(dst, cpu_to_be64(v), __ATOMIC_RELAXED);
}

/* Writes a struct wrc_cqe or wrc_cqe_err as eight big-endian words. */
static void write_entry(struct snic_cq *cq, const struct snic_qp *qp,
			const struct snic_cqe_info *info)
{
	uint8_t owner = (cq->count >> cq->attr.log_size) & 1;
	uint8_t op_own = info->opcode << 4 | info->solicited << 1 | owner;
	uint64_t *dst = (uint64_t *)cq_entry(cq, cq->count);
	uint64_t uidx = (uint64_t)(qp->attr.user_index & 0xffffff) << 32;

	put_word(&dst[0], 0);
	put_word(&dst[1], 0);
	put_word(&dst[2], 0);
	put_word(&dst[3], 0);
	if (is_error(info)) {
		put_word(&dst[4], uidx);
		put_word(&dst[5], 0);
		put_word(&dst[6], info->syndrome);
	} else {
		put_word(&dst[4], uidx | be32_to_cpu(info->imm));
		put_word(&dst[5], info->byte_cnt);
		put_word(&dst[6], cq->nic->now);
	}
	/* The owner bit makes the entry valid.  The release order puts it after
	 * the rest of the entry and after the data that the entry reports. */
	__atomic_store_n(&dst[7],
			 cpu_to_be64((uint64_t)info->send_opcode << 56 |
				     (uint64_t)qp->qpn << 32 |
				     (uint32_t)info->wqe_counter << 16 | op_own),
			 __ATOMIC_RELEASE);
}

static void cq_overrun(struct snic_cq *cq)
{
	cq->failed = true;
	cq->nic->stats.cq_overruns++;
	cq->next_failed = cq->nic->failed_cqs;
	cq->nic->failed_cqs = cq;
}

void snic_cq_push(struct snic_cq *cq, const struct snic_qp *qp,
		  const struct snic_cqe_info *info)
{
	uint32_t used = (cq->count - cq->ci) & SNIC_CQ_MASK;

	if (cq->failed)
		return;
	if (!cq->attr.overrun_ignore && used >> cq->attr.log_size) {
		cq_overrun(cq);
		return;
	}
	write_entry(cq, qp, info);
	cq->count = (cq->count + 1) & SNIC_CQ_MASK;
	cq->nic->stats.cqes++;
	if (is_error(info))
		cq->nic->stats.error_cqes++;
	if (cq->waiters)
		wake_waiters(cq);
}

/* Deferred, not done in snic_cq_push(): the flush of one QP may overrun another
 * CQ. */
void snic_cq_spread_errors(struct snic *nic)
{
	while (nic->failed_cqs) {
		struct snic_cq *cq = nic->failed_cqs;
		struct snic_qp *qp;
		uint32_t pos = 0;

		nic->failed_cqs = cq->next_failed;
		while ((qp = snic_table_next(&nic->qps, &pos)))
			if (qp->state != SNIC_QP_RESET &&
			    (qp->scq == cq || qp->rcq == cq))
				snic_qp_fail(qp, WRC_SYND_LOCAL_QP_OP);
	}
}

/* ---- software's side --------------------------------------------------- */

int snic_cq_poll(struct snic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe)
{
	struct snic_cq *cq = snic_cq_lookup(nic, cqn);
	uint32_t waiting;

	if (!cq)
		return -ENOENT;
	waiting = (cq->count - cq->ci) & SNIC_CQ_MASK;
	if (!waiting)
		return -EAGAIN;
	/* Overwritten entries are lost: continue with the oldest one left. */
	if (waiting >> cq->attr.log_size)
		cq->ci = (cq->count - (1u << cq->attr.log_size)) & SNIC_CQ_MASK;
	snic_copy_bb(ret_cqe, cq_entry(cq, cq->ci));
	cq->ci = (cq->ci + 1) & SNIC_CQ_MASK;
	return 0;
}

int snic_cq_count(struct snic *nic, uint32_t cqn, uint32_t *ret_count)
{
	struct snic_cq *cq = snic_cq_lookup(nic, cqn);

	if (!cq)
		return -ENOENT;
	*ret_count = cq->count;
	return 0;
}
