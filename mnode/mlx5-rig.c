// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A memory node and a client on one NIC; see mlx5-rig.h. */
#include <endian.h>
#include <errno.h>
#include <mlx5/encode.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-rig.h"

#define PAGE		ODRP_WIRE_PAGE_SIZE
#define MSG_STRIDE	(2 * PAGE)	/* a request with its words and page */
#define LOG_SQ		6		/* more than are ever sent */
#define LOG_RQ		6
#define LOG_CQ		7
#define SQ_OFF		(16 << LOG_RQ)	/* one segment per receive entry */
#define DBR_OFF		(SQ_OFF + (WRC_WQE_BB << LOG_SQ))
#define QUEUE_LEN	(2 * PAGE)
#define MSG_OFF		QUEUE_LEN
#define IN_OFF		(MSG_OFF + RIG_MAX_COUNT * MSG_STRIDE)
#define MEM_LEN		(IN_OFF + RIG_MAX_COUNT * PAGE)

_Static_assert(DBR_OFF + sizeof(struct wrc_dbr) <= QUEUE_LEN, "queues fit");
_Static_assert(RIG_MAX_COUNT < 1 << LOG_SQ, "no wrap");

/**
 * struct rig - the node and its client
 * @mem:	the client's: receive queue, send queue, record, requests, pages
 */
struct rig {
	struct side *side;
	struct rig_config cfg;
	struct pool pool;
	struct tt tt;
	struct wrc_prog prog;
	struct queue *queue;
	struct odrp_wire_word words[ODRP_WIRE_MAX_WORDS];
	int nr_words;
	uint32_t pdn, scqn, rcqn, qpn, key;
	struct mem mem;
	uint32_t sent;
	struct rig_result *result;
};

static uint8_t *mem_at(const struct rig *rig, size_t off)
{
	return (uint8_t *)rig->mem.va + off;
}

/* A page whose every word tells its number. */
static void fill(uint8_t *page, uint32_t number)
{
	uint32_t i, w;

	for (i = 0; i < PAGE / sizeof(w); i++) {
		w = number * 2654435761u + i;
		memcpy(page + i * sizeof(w), &w, sizeof(w));
	}
}

/* ---- the node --------------------------------------------------------------- */

/* The next free page leaves the ring, as chains take it. */
static __be64 pop(struct pool *pool)
{
	volatile __be64 *slot = &pool->ring[ring_index(pool->log_len,
						       *pool->head)];
	__be64 page = *slot;

	*slot = 0;
	*pool->head = ring_advance(pool->log_len, *pool->head, 1);
	return page;
}

static int open_table(struct rig *rig)
{
	struct nic *nic = rig->side->nic;
	uint32_t i;
	int r;

	rig->tt.nr_slots = RIG_SLOTS;
	r = mem_map(RIG_SLOTS * sizeof(__be64), MEM_POPULATE, &rig->tt.mem);
	if (r)
		return r;
	rig->tt.entries = rig->tt.mem.va;
	r = nic->ops->mr_reg(nic, rig->pool.pdn, rig->tt.mem.va,
			     RIG_SLOTS * sizeof(__be64), 0, NIC_ALL,
			     &rig->tt.key);
	if (r) {
		mem_unmap(&rig->tt.mem);
		return r;
	}
	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE || rig->cfg.unmapped)
		return 0;
	for (i = 0; i < RIG_SLOTS; i++)
		rig->tt.entries[i] = pop(&rig->pool);
	return 0;
}

static void close_table(struct rig *rig)
{
	struct nic *nic = rig->side->nic;

	nic->ops->mr_dereg(nic, rig->tt.key);
	mem_unmap(&rig->tt.mem);
}

static int open_node(struct rig *rig, char *why)
{
	const struct wrc_opts opts = {
		.strict_index = rig->side->nic->strict_index,
	};
	uint32_t i;
	int r;

	r = wrc_prog_build(rig->cfg.chain, &opts, &rig->prog);
	if (r)
		return r;
	r = pool_init(&rig->pool, rig->side->nic, RIG_PAGES * PAGE, true);
	if (r)
		return r;
	for (i = 0; i < RIG_PAGES; i++)
		fill((uint8_t *)rig->pool.page_mem.va + i * PAGE, ~i);
	r = open_table(rig);
	if (r)
		goto fini_pool;
	r = queue_new(&rig->pool, &rig->tt, &rig->prog, rig->cfg.depth,
		      NULL, &rig->queue, why);
	if (r)
		goto close_tt;
	rig->nr_words = wrc_words(&rig->prog, &rig->queue->geom, rig->words);
	return 0;

close_tt:
	close_table(rig);
fini_pool:
	pool_fini(&rig->pool);
	return r;
}

static void close_node(struct rig *rig)
{
	queue_free(rig->queue);
	close_table(rig);
	pool_fini(&rig->pool);
}

/* ---- the client --------------------------------------------------------------- */

static int open_cqs(struct rig *rig)
{
	struct nic *nic = rig->side->nic;
	int r;

	r = nic->ops->cq_create(nic, LOG_CQ, &rig->scqn);
	if (r)
		return r;
	r = nic->ops->cq_create(nic, LOG_CQ, &rig->rcqn);
	if (r)
		nic->ops->cq_destroy(nic, rig->scqn);
	return r;
}

static void close_cqs(struct rig *rig)
{
	struct nic *nic = rig->side->nic;

	nic->ops->cq_destroy(nic, rig->rcqn);
	nic->ops->cq_destroy(nic, rig->scqn);
}

static int open_qp(struct rig *rig)
{
	const struct nic_qp_attr attr = {
		.pdn = rig->pdn, .scqn = rig->scqn, .rcqn = rig->rcqn,
		.mem = rig->mem.va, .mem_len = QUEUE_LEN,
		.rq = mem_at(rig, 0), .log_rq = LOG_RQ, .log_rq_stride = 4,
		.sq = mem_at(rig, SQ_OFF), .log_sq = LOG_SQ,
		.dbr = (struct wrc_dbr *)mem_at(rig, DBR_OFF),
		.access = NIC_REMOTE_WRITE,
	};
	struct nic *nic = rig->side->nic;
	struct wrc_dbr *dbr = attr.dbr;
	struct wrc_sge sge;
	uint32_t i;
	int r;

	r = nic->ops->qp_create(nic, &attr, &rig->qpn);
	if (r)
		return r;
	/* Answers have no data; a receive entry must have some room. */
	sge = (struct wrc_sge){ 1, rig->key, (uintptr_t)mem_at(rig, MSG_OFF) };
	for (i = 0; i < 1u << LOG_RQ; i++)
		wrc_encode_recv(&sge, 1, mem_at(rig, i * 16), 16);
	dbr->rcv = htobe32((1u << LOG_RQ) - 1);
	return 0;
}

/* In a domain of its own, as another machine would be. */
static int open_client(struct rig *rig)
{
	struct nic *nic = rig->side->nic;
	int r;

	r = mem_map(MEM_LEN, MEM_POPULATE, &rig->mem);
	if (r)
		return r;
	r = nic->ops->pd_alloc(nic, &rig->pdn);
	if (r)
		goto unmap;
	r = nic->ops->mr_reg(nic, rig->pdn, rig->mem.va, MEM_LEN,
			     (uintptr_t)rig->mem.va, NIC_ALL, &rig->key);
	if (r)
		goto free_pd;
	r = open_cqs(rig);
	if (r)
		goto dereg;
	r = open_qp(rig);
	if (r)
		goto destroy_cqs;
	return 0;

destroy_cqs:
	close_cqs(rig);
dereg:
	nic->ops->mr_dereg(nic, rig->key);
free_pd:
	nic->ops->pd_free(nic, rig->pdn);
unmap:
	mem_unmap(&rig->mem);
	return r;
}

static void close_client(struct rig *rig)
{
	struct nic *nic = rig->side->nic;

	nic->ops->qp_destroy(nic, rig->qpn);
	close_cqs(rig);
	nic->ops->mr_dereg(nic, rig->key);
	nic->ops->pd_free(nic, rig->pdn);
	mem_unmap(&rig->mem);
}

/* ---- requests -------------------------------------------------------------------- */

/* What is no count is one byte: that of a request with an answer. */
static size_t put_word(const struct odrp_wire_word *w, uint32_t r, uint8_t *to)
{
	uint32_t v = be16toh(w->base) + r * w->step;
	__be32 be;

	switch (w->kind) {
	case ODRP_WIRE_WORD_INDEX:
		to[0] = v >> 8;
		to[1] = v;
		return 2;
	case ODRP_WIRE_WORD_ENABLE:
	case ODRP_WIRE_WORD_DBR:
		be = htobe32(v & WRC_WQE_EN_MASK);
		break;
	case ODRP_WIRE_WORD_WAIT:
		be = htobe32(v & WRC_WQE_WAIT_MASK);
		break;
	default:
		to[0] = be16toh(w->base);
		return 1;
	}
	memcpy(to, &be, sizeof(be));
	return sizeof(be);
}

static size_t put_request(struct rig *rig, uint32_t r, uint8_t *msg)
{
	uint64_t raddr = (uintptr_t)mem_at(rig, IN_OFF + r * PAGE);
	const struct odrp_wire_req req = {
		.tt_addr = htobe64(r * sizeof(__be64) + rig->cfg.slot_off),
		.id = htobe32(r),
		.raddr_hi = htobe32(raddr >> 32),
		.raddr_lo = htobe32((uint32_t)raddr),
		.rkey = htobe32(rig->key),
	};
	size_t len = sizeof(req);
	int i;

	memcpy(msg, &req, sizeof(req));
	for (i = 0; i < rig->nr_words; i++)
		len += put_word(&rig->words[i], r, msg + len);
	if (rig->prog.page) {
		fill(msg + len, r);
		len += PAGE;
	}
	return len;
}

static int send_one(struct rig *rig)
{
	struct nic *nic = rig->side->nic;
	uint32_t r = rig->sent;
	uint8_t *msg = mem_at(rig, MSG_OFF + r * MSG_STRIDE);
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .index = r,
		.qpn = rig->qpn, .nr_sge = 1,
	};
	int n;

	wr.sge[0] = (struct wrc_sge){ put_request(rig, r, msg), rig->key,
				      (uintptr_t)msg };
	n = wrc_encode(&wr, mem_at(rig, SQ_OFF + r * WRC_WQE_BB), WRC_WQE_BB);
	if (n < 0)
		return n;
	rig->sent++;
	return nic->ops->qp_doorbell(nic, rig->qpn, rig->sent);
}

static bool poll_answers(void *arg)
{
	struct rig *rig = arg;
	struct nic *nic = rig->side->nic;
	struct rig_result *res = rig->result;
	struct wrc_cqe cqe;
	bool any = false;

	while (res->nr_answers < RIG_MAX_COUNT &&
	       !nic->ops->cq_poll(nic, rig->rcqn, &cqe)) {
		res->answers[res->nr_answers++] = (struct rig_answer){
			.opcode = cqe.op_own >> 4,
			.imm = be32toh(cqe.imm),
			.byte_cnt = be32toh(cqe.byte_cnt),
			.wqe_counter = be16toh(cqe.wqe_counter),
		};
		any = true;
	}
	return any;
}

static int work(struct rig *rig)
{
	struct rig_result *res = rig->result;
	int r;

	while (res->nr_answers < rig->cfg.count) {
		while (rig->sent < rig->cfg.count &&
		       rig->sent - res->nr_answers < rig->cfg.window) {
			r = send_one(rig);
			if (r)
				return r;
		}
		if (!side_until(rig->side, poll_answers, rig))
			return queue_broken(rig->queue, &res->syndrome) ?
			       -EIO : -ETIMEDOUT;
	}
	return 0;
}

/* ---- the result ---------------------------------------------------------------------- */

static int look(struct rig *rig)
{
	const struct queue *q = rig->queue;
	struct nic *nic = rig->side->nic;
	struct rig_result *res = rig->result;
	struct nic_qp_info loop, client;
	struct nic_cq_info lcq, ccq;
	int r;

	r = nic->ops->qp_query(nic, q->loop_qpn, &loop);
	if (!r)
		r = nic->ops->qp_query(nic, q->client_qpn, &client);
	if (!r)
		r = nic->ops->cq_info(nic, q->loop_scqn, &lcq);
	if (!r)
		r = nic->ops->cq_info(nic, q->client_rcqn, &ccq);
	if (r)
		return r;
	res->loop_bbs = loop.sq_executed;
	res->client_bbs = client.sq_executed;
	/* How many are flushed behind an error is nobody's promise. */
	res->loop_cqes = lcq.written - lcq.errors;
	res->client_cqes = ccq.written - ccq.errors;
	memcpy(res->tt, rig->tt.mem.va, sizeof(res->tt));
	memcpy(res->ring, rig->pool.ring_mem.va, sizeof(res->ring));
	res->head = *rig->pool.head;
	res->tail = *rig->pool.tail;
	memcpy(res->pool, rig->pool.page_mem.va, sizeof(res->pool));
	memcpy(res->mem, mem_at(rig, IN_OFF), sizeof(res->mem));
	return 0;
}

int rig_run(struct side *side, const struct rig_config *cfg,
	    struct rig_result *ret_result, char why[WRC_WHY_MAX])
{
	struct rig rig = { .side = side, .cfg = *cfg, .result = ret_result };
	int r;

	why[0] = 0;
	memset(ret_result, 0, sizeof(*ret_result));
	if (cfg->count > RIG_MAX_COUNT || cfg->window >= cfg->depth)
		return -EINVAL;
	r = open_node(&rig, why);
	if (r)
		return r;
	r = open_client(&rig);
	if (r)
		goto close_rig;
	r = side->join(side, rig.queue->client_qpn, rig.qpn, 0);
	if (!r)
		r = side->join(side, rig.qpn, rig.queue->client_qpn,
			       NIC_REMOTE_WRITE);
	if (!r) {
		ret_result->err = work(&rig);
		side_settle(side);
		r = look(&rig);
	}
	close_client(&rig);
close_rig:
	close_node(&rig);
	return r;
}
