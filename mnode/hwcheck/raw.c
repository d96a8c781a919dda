// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs for experiments; see raw.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "raw.h"

#define PAGE	4096
#define RING	(1u << RAW_LOG_SQ)
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

bool raw_open(struct side *side, unsigned int flags, const struct raw *near,
	      struct raw *ret_raw)
{
	struct raw raw = { .side = side };
	struct nic *nic = side->nic;
	int r;

	*ret_raw = (struct raw){ .side = NULL };
	if (side->err)
		return false;
	r = mem_map(PAGE + RAW_DATA_LEN, MEM_POPULATE, &raw.mem);
	if (r)
		goto fail;
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
	return true;

destroy_cqs:
	nic->ops->cq_destroy(nic, raw.rcqn);
	nic->ops->cq_destroy(nic, raw.scqn);
dereg:
	nic->ops->mr_dereg(nic, raw.key);
free_pd:
	leave_pd(&raw);
unmap:
	mem_unmap(&raw.mem);
fail:
	side_fail(side, r);
	return false;
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

void raw_join(struct raw *a, struct raw *b, unsigned int access)
{
	struct side *side = a->side;

	if (!side->err)
		side_fail(side, side->join(side, a->qpn, b->qpn, access));
	if (!side->err)
		side_fail(side, side->join(side, b->qpn, a->qpn, access));
}

/* ---- WQEs -------------------------------------------------------------------- */

uint8_t *raw_wqe(struct raw *raw, uint16_t bb)
{
	return at(raw, RQ_LEN + bb % RING * WRC_WQE_BB);
}

/* -ENOSPC: the rest of the ring is too short. */
static int encode(struct raw *raw, const struct wrc_wr *wr)
{
	uint8_t wqe[RING / 2 * WRC_WQE_BB];
	struct wrc_wr w = *wr;
	unsigned int nr;
	int len;

	w.index = raw->next;
	w.qpn = raw->qpn;
	w.shape = w.op;
	len = wrc_encode(&w, wqe, sizeof(wqe));
	if (len < 0)
		return len;
	nr = (len + WRC_WQE_BB - 1) / WRC_WQE_BB;
	if (raw->next % RING + nr > RING)
		return -ENOSPC;
	memcpy(raw_wqe(raw, raw->next), wqe, len);
	raw->last = raw->next;
	raw->next += nr;
	return 0;
}

void raw_put_quiet(struct raw *raw, struct wrc_wr wr)
{
	const struct wrc_wr nop = { .op = WRC_WQE_NOP };
	struct side *side = raw->side;
	int r;

	if (side->err)
		return;
	/* A WQE must not cross the end of the ring: fill up with NOPs. */
	while ((r = encode(raw, &wr)) == -ENOSPC) {
		r = encode(raw, &nop);
		if (r)
			break;
	}
	side_fail(side, r);
}

void raw_put(struct raw *raw, struct wrc_wr wr)
{
	wr.flags |= WRC_WQE_CE_ALWAYS;
	raw_put_quiet(raw, wr);
}

void raw_put_nop(struct raw *raw)
{
	raw_put(raw, (struct wrc_wr){ .op = WRC_WQE_NOP });
}

void raw_put_wait(struct raw *raw, uint32_t cqn, uint32_t index)
{
	raw_put_quiet(raw, (struct wrc_wr){
		.op = WRC_WQE_WAIT, .obj = cqn, .count = index });
}

void raw_put_enable(struct raw *raw, uint32_t qpn, uint32_t index)
{
	raw_put_quiet(raw, (struct wrc_wr){
		.op = WRC_WQE_SEND_EN, .obj = qpn, .count = index });
}

void raw_put_move(struct raw *raw, uint8_t op, void *here, uint32_t lkey, uint32_t len,
		  uint64_t there, uint32_t rkey)
{
	raw_put(raw, (struct wrc_wr){
		.op = op, .nr_sge = 1, .raddr = there, .rkey = rkey,
		.sge = { { len, lkey, (uintptr_t)here } } });
}

void raw_ring(struct raw *raw)
{
	struct side *side = raw->side;

	if (side->err)
		return;
	raw->dbr->snd = htobe32(raw->next);
	side_fail(side, side->nic->ops->qp_doorbell(side->nic, raw->qpn, raw->next));
}

void raw_go(struct raw *raw)
{
	raw_ring(raw);
	side_settle(raw->side);
}

struct nic_qp_info raw_info(struct raw *raw)
{
	struct nic_qp_info info = { .error = false };
	struct side *side = raw->side;

	if (!side->err)
		side_fail(side, side->nic->ops->qp_query(side->nic, raw->qpn, &info));
	return info;
}

uint32_t raw_cqes(struct raw *raw, uint32_t cqn)
{
	struct nic_cq_info info = { .written = 0 };
	struct side *side = raw->side;

	if (!side->err)
		side_fail(side, side->nic->node->ops->cq_info(side->nic, cqn, &info));
	return info.written;
}
