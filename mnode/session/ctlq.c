// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Posts the agent's own work requests, as WQEs of the same format as the chains'.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "ctlq.h"

#define LOG_CQ		(CTLQ_LOG_SQ + 1)
#define SQ_LEN		(WRC_WQE_BB << CTLQ_LOG_SQ)
#define DBR_OFF		SQ_LEN
#define DATA_OFF	4096

_Static_assert(DBR_OFF + sizeof(struct wrc_dbr) <= DATA_OFF, "one page");

struct ctl_wqe {
	struct wrc_wqe_ctrl ctrl;
	struct wrc_wqe_raddr raddr;
	union {
		struct {
			struct wrc_wqe_data data;
		} write;
		struct {
			struct wrc_wqe_masked_fa fa;
			struct wrc_wqe_data data;
		} fetch_add;
		struct {
			struct wrc_wqe_masked_cs cs;
			struct wrc_wqe_data data;
		} swap;
	};
	uint8_t pad[2 * WRC_WQE_BB - 80];
};

_Static_assert(sizeof(struct ctl_wqe) == 2 * WRC_WQE_BB, "two BBs");

struct ctl_umr {
	struct wrc_wqe_ctrl ctrl;
	struct wrc_wqe_umr umr;
	struct wrc_wqe_mkc mkc;
	struct wrc_wqe_xlt xlt;
};

_Static_assert(sizeof(struct ctl_umr) == 3 * WRC_WQE_BB, "three BBs");

int ctlq_init(struct ctlq *q, struct nic *nic, uint32_t pdn,
	      unsigned int access, size_t data_len)
{
	struct nic_qp_attr attr = {
		.pdn = pdn, .log_sq = CTLQ_LOG_SQ, .access = access,
	};
	int r;

	*q = (struct ctlq){ .nic = nic };
	r = mem_map(DATA_OFF + data_len, MEM_POPULATE, &q->mem);
	if (r)
		return r;
	q->data = (char *)q->mem.va + DATA_OFF;
	q->data_iova = (uintptr_t)q->data;
	r = nic->ops->mr_reg(nic, pdn, q->data, data_len, q->data_iova,
			     NIC_LOCAL_WRITE, &q->data_key);
	if (r)
		goto unmap;
	r = nic->ops->cq_create(nic, LOG_CQ, &q->cqn);
	if (r)
		goto dereg;
	attr.scqn = q->cqn;
	attr.rcqn = q->cqn;
	attr.mem = q->mem.va;
	attr.mem_len = DATA_OFF;
	attr.sq = q->mem.va;
	attr.dbr = (struct wrc_dbr *)((char *)q->mem.va + DBR_OFF);
	r = nic->ops->qp_create(nic, &attr, &q->qpn);
	if (r)
		goto destroy_cq;
	return 0;

destroy_cq:
	nic->ops->cq_destroy(nic, q->cqn);
dereg:
	nic->ops->mr_dereg(nic, q->data_key);
unmap:
	mem_unmap(&q->mem);
	q->nic = NULL;
	return r;
}

void ctlq_fini(struct ctlq *q)
{
	struct nic *nic = q->nic;

	if (!nic)
		return;
	q->nic = NULL;
	/* The NIC may still use the memory: leave it mapped and registered. */
	if (nic->ops->qp_destroy(nic, q->qpn))
		return;
	nic->ops->cq_destroy(nic, q->cqn);
	nic->ops->mr_dereg(nic, q->data_key);
	mem_unmap(&q->mem);
}

static struct wrc_wqe_ctrl wqe_ctrl(const struct ctlq *q, uint8_t opcode,
				    uint8_t opmod, uint8_t ds)
{
	return (struct wrc_wqe_ctrl){
		.opmod = opmod,
		.opcode = opcode,
		.index = { q->next >> 8, q->next & 0xff },
		.qpn = { q->qpn >> 16, q->qpn >> 8, q->qpn },
		.ds = ds,
		.fm_ce_se = WRC_WQE_CE_ALWAYS,
	};
}

static bool wqe_begin(const struct ctlq *q, struct ctl_wqe *w, uint8_t opcode,
		      uint8_t opmod, uint8_t ds)
{
	if (q->outstanding == CTLQ_MAX)
		return false;
	*w = (struct ctl_wqe){ .ctrl = wqe_ctrl(q, opcode, opmod, ds) };
	return true;
}

/* Copies BB by BB: a WQE may wrap around the end of the ring. */
static int wqe_post(struct ctlq *q, const void *wqe, uint8_t ds)
{
	struct wrc_dbr *dbr = (void *)((char *)q->mem.va + DBR_OFF);
	unsigned int bbs = (ds + 3) / 4, i;

	for (i = 0; i < bbs; i++, q->next++)
		memcpy((char *)q->mem.va + WRC_WQE_BB *
		       (q->next & ((1u << CTLQ_LOG_SQ) - 1)),
		       (const char *)wqe + i * WRC_WQE_BB, WRC_WQE_BB);
	q->outstanding++;
	dbr->snd = htobe32(q->next);
	return q->nic->ops->qp_doorbell(q->nic, q->qpn, q->next);
}

static void wqe_local_data(const struct ctlq *q, struct wrc_wqe_data *d, size_t off,
			   uint32_t len)
{
	d->byte_count = htobe32(len);
	d->lkey = htobe32(q->data_key);
	d->addr = htobe64(q->data_iova + off);
}

int ctlq_write(struct ctlq *q, size_t off, uint32_t len, uint64_t raddr,
	       uint32_t rkey)
{
	struct ctl_wqe w;

	if (!wqe_begin(q, &w, WRC_WQE_WRITE, 0, 3))
		return -EAGAIN;
	w.raddr.addr = htobe64(raddr);
	w.raddr.rkey = htobe32(rkey);
	wqe_local_data(q, &w.write.data, off, len);
	return wqe_post(q, &w, w.ctrl.ds);
}

int ctlq_fetch_add(struct ctlq *q, size_t off, uint64_t add, uint8_t log_field,
		   uint64_t raddr, uint32_t rkey)
{
	struct ctl_wqe w;

	if (!wqe_begin(q, &w, WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8, 4))
		return -EAGAIN;
	w.raddr.addr = htobe64(raddr);
	w.raddr.rkey = htobe32(rkey);
	w.fetch_add.fa.add = htobe64(add);
	w.fetch_add.fa.boundary = htobe64(1ull << (log_field - 1));
	wqe_local_data(q, &w.fetch_add.data, off, sizeof(uint64_t));
	return wqe_post(q, &w, w.ctrl.ds);
}

int ctlq_swap(struct ctlq *q, size_t off, uint64_t compare, uint64_t swap,
	      uint64_t raddr, uint32_t rkey)
{
	struct ctl_wqe w;

	if (!wqe_begin(q, &w, WRC_WQE_MASKED_CS, WRC_WQE_OPMOD_MASKED_8, 5))
		return -EAGAIN;
	w.raddr.addr = htobe64(raddr);
	w.raddr.rkey = htobe32(rkey);
	w.swap.cs = (struct wrc_wqe_masked_cs){
		.swap = htobe64(swap), .compare = htobe64(compare),
		.swap_mask = htobe64(UINT64_MAX),
		.compare_mask = htobe64(UINT64_MAX),
	};
	wqe_local_data(q, &w.swap.data, off, sizeof(uint64_t));
	return wqe_post(q, &w, w.ctrl.ds);
}

int ctlq_umr(struct ctlq *q, uint32_t key, uint64_t entry, uint32_t page_key,
	     uint64_t addr)
{
	struct ctl_umr w;

	if (q->outstanding >= CTLQ_MAX_UMR)
		return -EAGAIN;
	w = (struct ctl_umr){
		.ctrl = wqe_ctrl(q, WRC_WQE_UMR, 0, sizeof(w) / 16),
		.umr = {
			.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET,
			.octowords = htobe16(WRC_KSM_GROUP),
			.offset_low = htobe16(entry),
			.offset_high = htobe32(entry >> 16),
		},
		.xlt.entry[0] = {
			.key = htobe32(page_key), .addr = htobe64(addr),
		},
	};
	w.ctrl.imm = htobe32(key);
	return wqe_post(q, &w, w.ctrl.ds);
}

int ctlq_poll(struct ctlq *q)
{
	struct wrc_cqe cqe;
	int r;

	while (q->outstanding) {
		r = q->nic->ops->cq_poll(q->nic, q->cqn, &cqe);
		if (r)
			return r;
		if (cqe.op_own >> 4 != WRC_CQE_REQ)
			return -EIO;
		q->outstanding--;
	}
	return 0;
}
