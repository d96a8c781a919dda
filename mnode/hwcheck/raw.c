// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs for experiments; see raw.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "raw.h"

#define PAGE	4096
#define RQ_LEN	(16 << RAW_LOG_RQ)
#define SQ_LEN	(WRC_WQE_BB << RAW_LOG_SQ)
#define DBR_OFF	(RQ_LEN + SQ_LEN)
#define LOG_CQ	6

_Static_assert(DBR_OFF + sizeof(struct wrc_dbr) <= PAGE, "one page");

static uint8_t *at(struct raw *raw, size_t off)
{
	return (uint8_t *)raw->mem.va + off;
}

static int make_cqs(struct raw *raw)
{
	struct nic *nic = raw->side->nic;
	int r;

	r = nic->ops->cq_create(nic, LOG_CQ, &raw->scqn);
	if (r)
		return r;
	r = nic->ops->cq_create(nic, LOG_CQ, &raw->rcqn);
	if (r)
		nic->ops->cq_destroy(nic, raw->scqn);
	return r;
}

static int make_qp(struct raw *raw, unsigned int flags)
{
	struct nic_qp_attr attr = {
		.pdn = raw->pdn, .scqn = raw->scqn, .rcqn = raw->rcqn,
		.mem = raw->mem.va, .mem_len = PAGE,
		.sq = at(raw, RQ_LEN), .log_sq = RAW_LOG_SQ,
		.dbr = raw->dbr,
		.access = NIC_REMOTE_READ | NIC_REMOTE_WRITE |
			  NIC_REMOTE_ATOMIC,
		.cd_master = flags & RAW_MASTER,
		.cd_slave_send = flags & RAW_SLAVE,
	};
	struct nic *nic = raw->side->nic;
	int r;

	if (flags & RAW_RQ) {
		attr.rq = at(raw, 0);
		attr.log_rq = RAW_LOG_RQ;
		attr.log_rq_stride = 4;
	}
	r = nic->ops->qp_create(nic, &attr, &raw->qpn);
	if (r || flags & RAW_APART)
		return r;
	r = nic->node->ops->qp_loop(nic, raw->qpn, raw->qpn);
	if (r)
		nic->ops->qp_destroy(nic, raw->qpn);
	return r;
}

static int take_pd(struct raw *raw, const struct raw *near)
{
	struct nic *nic = raw->side->nic;

	raw->has_pd = !near;
	if (!near)
		return nic->ops->pd_alloc(nic, &raw->pdn);
	raw->pdn = near->pdn;
	return 0;
}

static void leave_pd(struct raw *raw)
{
	struct nic *nic = raw->side->nic;

	if (raw->has_pd)
		nic->ops->pd_free(nic, raw->pdn);
}

int raw_open(struct side *side, unsigned int flags, const struct raw *near,
	     struct raw *ret_raw)
{
	struct raw raw = { .side = side };
	struct nic *nic = side->nic;
	int r;

	r = mem_map(PAGE + RAW_DATA_LEN, MEM_POPULATE, &raw.mem);
	if (r)
		return r;
	raw.data = at(&raw, PAGE);
	raw.dbr = (struct wrc_dbr *)at(&raw, DBR_OFF);
	r = take_pd(&raw, near);
	if (r)
		goto unmap;
	r = nic->ops->mr_reg(nic, raw.pdn, raw.mem.va, raw.mem.len,
			     (uintptr_t)raw.mem.va, NIC_ALL, &raw.key);
	if (r)
		goto free_pd;
	r = make_cqs(&raw);
	if (r)
		goto dereg;
	r = make_qp(&raw, flags);
	if (r)
		goto destroy_cqs;
	*ret_raw = raw;
	return 0;

destroy_cqs:
	nic->ops->cq_destroy(nic, raw.rcqn);
	nic->ops->cq_destroy(nic, raw.scqn);
dereg:
	nic->ops->mr_dereg(nic, raw.key);
free_pd:
	leave_pd(&raw);
unmap:
	mem_unmap(&raw.mem);
	return r;
}

void raw_close(struct raw *raw)
{
	struct nic *nic;

	if (!raw->side)
		return;
	nic = raw->side->nic;
	nic->ops->qp_destroy(nic, raw->qpn);
	nic->ops->cq_destroy(nic, raw->rcqn);
	nic->ops->cq_destroy(nic, raw->scqn);
	nic->ops->mr_dereg(nic, raw->key);
	leave_pd(raw);
	mem_unmap(&raw->mem);
	raw->side = NULL;
}

int raw_join(struct raw *a, struct raw *b)
{
	int r;

	r = a->side->join(a->side, a->qpn, b->qpn,
			  NIC_REMOTE_WRITE);
	if (!r)
		r = b->side->join(b->side, b->qpn, a->qpn,
				  NIC_REMOTE_WRITE);
	return r;
}

/* ---- WQEs -------------------------------------------------------------------- */

uint8_t *raw_wqe(struct raw *raw, uint16_t bb)
{
	return at(raw, RQ_LEN + (bb & ((1u << RAW_LOG_SQ) - 1)) * WRC_WQE_BB);
}

int raw_put(struct raw *raw, struct wrc_wr wr)
{
	int len;

	wr.index = raw->next;
	wr.qpn = raw->qpn;
	/* No experiment uses more WQEs than the ring has. */
	if (raw->next + 2 > 1 << RAW_LOG_SQ)
		return -ENOSPC;
	len = wrc_encode(&wr, raw_wqe(raw, raw->next), 2 * WRC_WQE_BB);
	if (len < 0)
		return len;
	raw->next += (len + WRC_WQE_BB - 1) / WRC_WQE_BB;
	return 0;
}

int raw_put_nop(struct raw *raw)
{
	return raw_put(raw, (struct wrc_wr){ .flags = WRC_WQE_CE_ALWAYS });
}

int raw_put_wait(struct raw *raw, uint32_t cqn, uint32_t index)
{
	return raw_put(raw, (struct wrc_wr){
		.op = WRC_WQE_WAIT, .shape = WRC_WQE_WAIT, .obj = cqn,
		.count = index });
}

int raw_put_enable(struct raw *raw, uint32_t qpn, uint32_t index)
{
	return raw_put(raw, (struct wrc_wr){
		.op = WRC_WQE_SEND_EN, .shape = WRC_WQE_SEND_EN, .obj = qpn,
		.count = index });
}

int raw_ring(struct raw *raw)
{
	struct nic *nic = raw->side->nic;

	raw->dbr->snd = htobe32(raw->next);
	return nic->ops->qp_doorbell(nic, raw->qpn, raw->next);
}

int raw_go(struct raw *raw)
{
	int r = raw_ring(raw);

	side_settle(raw->side);
	return r;
}

int raw_executed(struct raw *raw, uint16_t *ret_bbs, bool *ret_error,
		 uint8_t *ret_syndrome)
{
	struct nic *nic = raw->side->nic;
	struct nic_qp_info info;
	int r;

	r = nic->ops->qp_query(nic, raw->qpn, &info);
	if (r)
		return r;
	*ret_bbs = info.sq_executed;
	*ret_error = info.error;
	*ret_syndrome = info.syndrome;
	return 0;
}

int raw_cqes(struct raw *raw, uint32_t *ret_n)
{
	struct nic *nic = raw->side->nic;
	struct nic_cq_info info;
	int r;

	r = nic->node->ops->cq_info(nic, raw->scqn, &info);
	if (!r)
		*ret_n = info.written;
	return r;
}
