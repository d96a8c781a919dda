// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rig's client, and its requests; see rig.h. */
#include <endian.h>
#include <errno.h>
#include <core/link.h>
#include <mlx5/encode.h>
#include <stdio.h>
#include <string.h>
#include "rig.h"

#define PAGE		ODRP_WIRE_PAGE_SIZE
#define MSG_STRIDE	(2 * PAGE)	/* a request with its words and page */
#define LOG_SQ		6
#define LOG_RQ		6
#define LOG_CQ		7
#define SQ_OFF		(16 << LOG_RQ)	/* one 16-byte segment per receive entry */
#define DBR_OFF		(SQ_OFF + (WRC_WQE_BB << LOG_SQ))
#define QUEUE_LEN	(2 * PAGE)
#define MSG_OFF		QUEUE_LEN
#define IN_OFF		(MSG_OFF + RIG_SLOTS * MSG_STRIDE)
#define MEM_LEN		(IN_OFF + RIG_SLOTS * PAGE)
#define POSTED		((1u << LOG_RQ) - 1)
#define LOOKS		64	/* looks for answers per look at the chain */

_Static_assert(DBR_OFF + sizeof(struct wrc_dbr) <= QUEUE_LEN, "queues fit");
_Static_assert(RIG_SLOTS == 1 << LOG_SQ, "one WQE for each slot");

/**
 * struct rig - a chain and its client
 * @mem:	the client's receive queue, send queue, doorbell record, requests and
 *		pages
 * @dbr:	doorbell record in @mem
 * @sent, @done: requests that were sent, and that were answered
 * @looks:	how often the client has looked for answers
 * @broken:	the chain has stopped
 */
struct rig {
	struct side *side;
	struct rig_config cfg;
	struct wrc_prog prog;
	struct queue *queue;
	uint32_t pdn, scqn, rcqn, qpn, key;
	struct mem mem;
	struct wrc_dbr *dbr;
	uint32_t sent, done, looks;
	bool broken;
	struct rig_result *result;
};

static uint8_t *mem_at(const struct rig *rig, size_t off)
{
	return (uint8_t *)rig->mem.va + off;
}

/* ---- the chain --------------------------------------------------------------- */

static int prog_build(const struct rig_node *node, const struct rig_config *cfg,
		      struct wrc_prog *ret_prog)
{
	const struct wrc_opts opts = {
		.strict_index = node->what.strict,
		.variant = node->what.variant, .recycle = WRC_RECYCLE_NODE,
		.order = node->what.order,
	};

	return wrc_prog_build(node->what.chain, &opts, ret_prog);
}

static int rig_arm(struct rig *rig, struct rig_node *node, char *why)
{
	const struct queue_on on = {
		.pool = &node->pool, .ring = &node->ring, .tt = &node->tt,
		.keys = rig_keyed(node) ? &node->keys : NULL, .huge = rig->cfg.huge,
	};
	int r;

	r = prog_build(node, &rig->cfg, &rig->prog);
	if (r)
		return r;
	r = queue_new(&on, &rig->prog, rig->cfg.depth,
		      wrc_has_register(&rig->prog) ? node->registers : NULL,
		      &rig->queue, why);
	return r;
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
	struct wrc_sge sge;
	uint32_t i;
	int r;

	r = nic->ops->qp_create(nic, &attr, &rig->qpn);
	if (r)
		return r;
	/* Answers have no data, but a receive entry must have some room. */
	sge = (struct wrc_sge){ 1, rig->key, (uintptr_t)mem_at(rig, MSG_OFF) };
	for (i = 0; i < 1u << LOG_RQ; i++)
		wrc_encode_recv(&sge, 1, mem_at(rig, i * 16), 16);
	rig->dbr = attr.dbr;
	return 0;
}

/* Posts receive entries in place of those that answers have used. */
static void recvs_post(struct rig *rig)
{
	uint32_t posted = rig->result->nr_answers + POSTED;

	__atomic_store_n(&rig->dbr->rcv, htobe32(posted & 0xffff),
			 __ATOMIC_RELEASE);
}

/* The client has its own protection domain, like another machine. */
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

/* Requests use the client's pages, messages and slots in turn. */
static uint32_t slot_of_request(uint32_t r)
{
	return r % RIG_SLOTS;
}

/* A request that no other follows is not quiet. */
static bool is_quiet(const struct rig *rig, uint32_t r)
{
	const struct rig_config *cfg = &rig->cfg;

	return cfg->quiet && r && r + 1 < cfg->count &&
	       (r + 1) % cfg->window;
}

static size_t put_request(const struct rig *rig, uint32_t r, uint8_t *msg)
{
	uint64_t raddr = (uintptr_t)mem_at(rig, IN_OFF + slot_of_request(r) * PAGE);
	const struct odrp_wire_req req = {
		.tt_addr = htobe64(slot_of_request(r) * sizeof(__be64) +
				   rig->cfg.slot_off),
		.id = htobe32(r),
		.raddr_hi = htobe32(raddr >> 32),
		.raddr_lo = htobe32((uint32_t)raddr),
		.rkey = htobe32(rig->key),
	};

	memcpy(msg, &req, sizeof(req));
	msg[sizeof(req)] = is_quiet(rig, r + 1) ? ODRP_WIRE_NEXT_QUIET :
						  ODRP_WIRE_NEXT_ANSWERED;
	if (!rig->prog.page)
		return ODRP_WIRE_REQ_LEN;
	rig_fill(msg + ODRP_WIRE_REQ_LEN, r);
	memset(msg + ODRP_WIRE_REQ_LEN + PAGE, 0, ODRP_WIRE_END_LEN);
	return ODRP_WIRE_REQ_LEN + PAGE + ODRP_WIRE_END_LEN;
}

static int send_one(struct rig *rig, struct rig_node *node)
{
	struct nic *nic = rig->side->nic;
	uint32_t r = rig->sent;
	uint8_t *msg = mem_at(rig, MSG_OFF + slot_of_request(r) * MSG_STRIDE);
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND,
		.index = (uint16_t)r, .qpn = rig->qpn, .nr_sge = 1,
	};
	int n = r < RIG_SLOTS ? 0 : rig_renew_slot(node, slot_of_request(r));

	if (n)
		return n;
	wr.sge[0] = (struct wrc_sge){ put_request(rig, r, msg), rig->key,
				      (uintptr_t)msg };
	n = wrc_encode(&wr, mem_at(rig, SQ_OFF + slot_of_request(r) * WRC_WQE_BB),
		       WRC_WQE_BB);
	if (n < 0)
		return n;
	rig->sent++;
	return nic->ops->qp_doorbell(nic, rig->qpn, rig->sent);
}

/* An answer also stands for all earlier requests. */
static bool poll_answers(struct rig *rig)
{
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
		if (be32toh(cqe.imm) < rig->sent)
			rig->done = be32toh(cqe.imm) + 1;
		any = true;
	}
	if (any)
		recvs_post(rig);
	return any;
}

static bool look_for_answers(void *arg)
{
	struct rig *rig = arg;
	uint8_t syndrome;

	if (poll_answers(rig))
		return true;
	rig->broken = ++rig->looks % LOOKS == 0 &&
		      queue_broken(rig->queue, &syndrome);
	return rig->broken;
}

static int send_all(struct rig *rig, struct rig_node *node)
{
	int r = 0;

	while (!r && rig->sent < rig->cfg.count &&
	       rig->sent - rig->done < rig->cfg.window)
		r = send_one(rig, node);
	return r;
}

/* If the chain has stopped behind an answer, sends as many requests as if that had not
 * been noticed. */
static int rig_send(struct rig *rig, struct rig_node *node)
{
	uint8_t syndrome;
	int r;

	while (rig->done < rig->cfg.count) {
		r = send_all(rig, node);
		if (r)
			return r;
		if (side_until(rig->side, look_for_answers, rig) &&
		    !rig->broken)
			continue;
		side_settle(rig->side);
		if (!poll_answers(rig))
			return queue_broken(rig->queue, &syndrome) ?
			       -EIO : -ETIMEDOUT;
	}
	side_settle(rig->side);
	return queue_broken(rig->queue, &syndrome) ? -EIO : 0;
}

/* Without receive entries of the client, received requests must not count as completed. */
static int rig_wait_deaf(struct rig *rig, struct rig_node *node)
{
	int r = send_all(rig, node);

	side_settle(rig->side);
	if (!r)
		r = queue_mark(rig->queue);
	rig->result->passed_early = !r && queue_passed(rig->queue);
	return r;
}

/* ---- the result ---------------------------------------------------------------------- */

static int books_read(const struct rig *rig, const struct rig_node *node,
		      struct rig_books *ret_books)
{
	const struct queue *q = rig->queue;
	struct rig_books *b = ret_books;
	uint16_t bb;
	uint32_t i;
	int r;

	memcpy(b->tt, node->tt.mem.va, sizeof(b->tt));
	memcpy(b->ring, node->ring.mem.va, sizeof(b->ring));
	b->head = *node->ring.head;
	b->tail = *node->ring.tail;
	b->nr_held = queue_nr_holders(q);
	r = queue_position(q, &bb);
	for (i = 0; !r && i < b->nr_held; i++)
		r = queue_held(q, bb, i, &b->held[i]);
	return r;
}

/* No document says how many entries are flushed behind an error. */
static int count_good(struct nic *nic, uint32_t cqn, uint32_t *ret_n)
{
	struct nic_cq_info info;
	int r = nic->node->ops->cq_info(nic, cqn, &info);

	if (!r)
		*ret_n = info.written - info.errors;
	return r;
}

static int rig_check(const struct rig *rig, const struct rig_node *node)
{
	struct queue *q = rig->queue;
	struct nic *nic = rig->side->nic;
	struct rig_result *res = rig->result;
	struct nic_qp_info loop, client;
	int r;

	r = nic->ops->qp_query(nic, q->loop_qpn, &loop);
	if (!r)
		r = nic->ops->qp_query(nic, q->client_qpn, &client);
	if (!r)
		r = count_good(nic, q->loop_scqn, &res->loop_cqes);
	if (!r)
		r = count_good(nic, q->client_rcqn, &res->client_cqes);
	if (!r)
		r = count_good(nic, q->other_cqn, &res->answer_cqes);
	if (!r && !rig->cfg.deaf)
		r = queue_mark(q);
	if (r)
		return r;
	queue_broken(q, &res->syndrome);
	res->passed = queue_passed(q);
	res->loop_bbs = loop.sq_executed;
	res->client_bbs = client.sq_executed;
	memcpy(res->pool, node->pool.page_mem.va, sizeof(res->pool));
	memcpy(res->mem, mem_at(rig, IN_OFF), sizeof(res->mem));
	return books_read(rig, node, &res->end);
}

/* Does what a broken connection does: the posted entries are flushed, and the chain goes
 * on by them as far as it can.  Then the chain is stopped. */
static int rig_cut(const struct rig *rig, const struct rig_node *node)
{
	struct nic *nic = rig->side->nic;
	int r, err;

	r = nic->ops->qp_error(nic, rig->queue->client_qpn);
	side_settle(rig->side);
	err = queue_stop(rig->queue);
	r = r ? r : err;
	side_settle(rig->side);
	return r ? r : books_read(rig, node, &rig->result->cut);
}

static int queue_run(struct rig *rig, struct rig_node *node)
{
	struct side *side = rig->side;
	uint32_t theirs = rig->queue->client_qpn;
	int r;

	r = side->join(side, theirs, rig->qpn, 0);
	if (!r)
		r = side->join(side, rig->qpn, theirs, NIC_REMOTE_WRITE);
	if (!r && rig->cfg.deaf)
		r = rig_wait_deaf(rig, node);
	if (r)
		return r;
	recvs_post(rig);
	rig->result->err = rig_send(rig, node);
	r = rig_check(rig, node);
	if (!r)
		r = rig_look_through(node, rig->result->reached);
	return r ? r : rig_cut(rig, node);
}

int rig_run(struct rig_node *node, const struct rig_config *cfg,
	    struct rig_result *ret_result, char why[WRC_WHY_MAX])
{
	struct rig rig = {
		.side = node->side, .cfg = *cfg, .result = ret_result,
	};
	int r;

	why[0] = 0;
	memset(ret_result, 0, sizeof(*ret_result));
	if (cfg->count > RIG_MAX_COUNT || cfg->depth > RIG_MAX_DEPTH ||
	    cfg->window >= cfg->depth)
		return -EINVAL;
	rig_reset(node, cfg);
	r = rig_open_keys(node);
	if (r)
		return r;
	r = rig_arm(&rig, node, why);
	if (r)
		goto close_keys;
	r = open_client(&rig);
	if (!r) {
		r = queue_run(&rig, node);
		close_client(&rig);
	}
	queue_free(rig.queue);
close_keys:
	rig_close_keys(node);
	return r;
}
