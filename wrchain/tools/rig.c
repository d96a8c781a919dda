// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A memory node and a client in one process; see rig.h. */
#include <arpa/inet.h>
#include <stdlib.h>
#include "core/check.h"
#include "paper/paper.h"
#include "rig.h"

#define PAGE ODRP_WIRE_PAGE_SIZE
#define LOG_CQ 4		/* the chains' queues overrun, and may */
/* A request with its words and page; not all in the same lines of a cache. */
#define REQ_STRIDE (8192 + 192)
#define FREE_IOVA 0x10000000ull	/* the ring; the counters are behind it */
#define TABLE_IOVA (5 * WRC_TABLE_ALIGN)
#define COUNTERS_MIN 0x10000	/* where behind the ring they may be */
#define ACCESS (SNIC_LOCAL_WRITE | SNIC_REMOTE_READ | SNIC_REMOTE_WRITE | \
		SNIC_REMOTE_ATOMIC)
#define NODE_IP 0x0a000001	/* the client: the next one */
#define WIRE_MTU 4200		/* a page and its headers are one frame */
#define MAX_STEPS 200000	/* of the clock or the NICs, for one answer */

void *wrc_rig_block(struct wrc_rig *rig, size_t len)
{
	void *p;

	len = (len + PAGE - 1) / PAGE * PAGE;
	p = aligned_alloc(PAGE, len);
	if (!p)
		return NULL;
	memset(p, 0, len);
	rig->blocks[rig->nr_blocks++] = p;
	return p;
}

static uint8_t log2_of(uint32_t n)
{
	uint8_t log = 0;

	while (n >>= 1)
		log++;
	return log;
}

/* ---- the node --------------------------------------------------------------- */

/* ring | head, tail, shadow of the naive store | that one's ring of zeros */
static size_t rig_counters_off(const struct wrc_rig *rig)
{
	size_t ring = (size_t)1 << rig->bind.log_free_ring;

	return ring < COUNTERS_MIN ? COUNTERS_MIN : ring;
}

static size_t rig_zeros_off(const struct wrc_rig *rig)
{
	return 2 * rig_counters_off(rig);
}

static size_t rig_free_len(const struct wrc_rig *rig)
{
	return rig_zeros_off(rig) + rig->cfg.nr_pages * sizeof(uint64_t);
}

static int rig_make_node_memory(struct wrc_rig *rig)
{
	const struct wrc_rig_config *cfg = &rig->cfg;

	rig->arena = wrc_rig_block(rig, rig->geom.arena_len);
	rig->buf = wrc_rig_block(rig, rig->geom.buf_len ? rig->geom.buf_len : PAGE);
	rig->table = cfg->table;
	if (!rig->table)
		rig->table = wrc_rig_block(rig, rig->geom.table_len ?
					rig->geom.table_len : PAGE);
	rig->tt = wrc_rig_block(rig, cfg->nr_slots * sizeof(uint64_t));
	rig->ring = wrc_rig_block(rig, rig_free_len(rig));
	rig->pool = wrc_rig_block(rig, (size_t)cfg->nr_pages * PAGE);
	if (!rig->arena || !rig->buf || !rig->table || !rig->tt || !rig->ring ||
	    !rig->pool)
		return -ENOMEM;
	rig->counters = rig->ring + rig_counters_off(rig) / sizeof(uint64_t);
	rig->counters[0] = rig->counters[8] = FREE_IOVA;
	rig->counters[WRC_NAIVE_SHADOW / sizeof(uint64_t)] =
		FREE_IOVA + rig_zeros_off(rig);
	for (uint32_t i = 0; i < cfg->nr_pages; i++)
		wrc_rig_push(rig, WRC_POOL_IOVA + (uint64_t)i * PAGE);
	if (rig->prog.node && !cfg->table)
		wrc_table_fill(&rig->prog, &rig->geom, TABLE_IOVA, rig->table);
	return 0;
}

/* Page exchange: each instance starts with a page of its own. */
static void rig_give_pages(struct wrc_rig *rig)
{
	if (!wrc_has_register(&rig->prog))
		return;
	for (uint32_t i = 0; i < rig->cfg.depth; i++)
		rig->pages[i] = wrc_rig_pop(rig);
	rig->bind.pages = rig->pages;
}

static int rig_make_node_keys(struct wrc_rig *rig)
{
	const struct wrc_rig_config *cfg = &rig->cfg;
	struct wrc_bind *b = &rig->bind;
	bool keyed = wrc_is_keyed(&rig->prog);
	uint32_t pdn;
	int err;

	b->arena_iova = (uintptr_t)rig->arena;
	b->buf_iova = (uintptr_t)rig->buf;
	b->tt_len = cfg->nr_slots * sizeof(uint64_t);
	b->free_ring = FREE_IOVA;
	b->free_head = FREE_IOVA + rig_counters_off(rig);
	b->free_tail = b->free_head + 64;
	b->pool_len = (uint64_t)cfg->nr_pages * PAGE;

	/* A client that may READ and WRITE finds nothing else in its domain. */
	err = snic_pd_alloc(rig->nic, &rig->client_pdn);
	rig->node_pdn = rig->client_pdn;
	if (!err && keyed)
		err = snic_pd_alloc(rig->nic, &rig->node_pdn);
	pdn = rig->node_pdn;
	if (!err)
		err = snic_mkey_reg(rig->nic, rig->client_pdn, rig->arena,
				    rig->geom.arena_len, b->arena_iova,
				    keyed ? SNIC_LOCAL_WRITE : ACCESS,
				    &b->arena_key);
	if (!err && keyed)
		err = snic_mkey_reg(rig->nic, pdn, rig->arena,
				    rig->geom.arena_len, b->arena_iova, ACCESS,
				    &b->arena_rkey);
	if (!err)
		err = snic_mkey_reg(rig->nic, rig->client_pdn, rig->buf,
				    rig->geom.buf_len ? rig->geom.buf_len :
							PAGE,
				    b->buf_iova, SNIC_LOCAL_WRITE, &b->buf_key);
	if (!err)
		err = snic_mkey_reg(rig->nic, pdn, rig->tt, b->tt_len, 0,
				    ACCESS, &b->tt_key);
	if (!err)
		err = snic_mkey_reg(rig->nic, pdn, rig->ring, rig_free_len(rig),
				    FREE_IOVA, ACCESS, &b->free_key);
	if (!err)
		err = snic_mkey_reg(rig->nic, rig->client_pdn, rig->pool,
				    b->pool_len, WRC_POOL_IOVA,
				    SNIC_LOCAL_WRITE |
				    (keyed ? 0 : SNIC_REMOTE_WRITE),
				    &b->pool_key);
	if (!err && rig->prog.node) {
		b->table = rig->table;
		b->table_iova = TABLE_IOVA;
		err = snic_mkey_reg(rig->nic, pdn, rig->table,
				    rig->geom.table_len, TABLE_IOVA,
				    SNIC_REMOTE_READ, &b->table_key);
	}
	if (!err && keyed)
		err = wrc_rig_make_keys(rig);
	return err;
}

int wrc_rig_cq(struct wrc_rig *rig, struct snic *nic, uint8_t log_size,
	       bool overrun, uint32_t *ret_cqn)
{
	struct snic_cq_attr attr = {
		.buf = wrc_rig_block(rig, sizeof(struct wrc_cqe) << log_size),
		.log_size = log_size,
		.overrun_ignore = overrun,
	};

	return attr.buf ? snic_cq_create(nic, &attr, ret_cqn) : -ENOMEM;
}

/* The loop queue is its own peer, or has one in the node's domain. */
static int rig_make_far_qp(struct wrc_rig *rig, const struct snic_qp_attr *loop)
{
	struct snic_qp_attr far = *loop;

	rig->far_qpn = rig->loop_qpn;
	if (!wrc_is_keyed(&rig->prog))
		return 0;
	far.pdn = rig->node_pdn;
	far.sq = wrc_rig_block(rig, PAGE);
	if (!far.sq)
		return -ENOMEM;
	far.log_sq = 0;
	far.dbr = (struct wrc_dbr *)((uint8_t *)far.sq + WRC_WQE_BB);
	far.cd_master = false;
	far.cd_slave_send = false;
	return snic_qp_create(rig->nic, &far, &rig->far_qpn);
}

static int rig_make_node_qps(struct wrc_rig *rig)
{
	const struct wrc_geom *g = &rig->geom;
	struct wrc_bind *b = &rig->bind;
	struct snic_qp_attr loop = {
		.pdn = rig->client_pdn,
		.sq = rig->arena + g->loop_sq,
		.log_sq = g->log_loop_sq,
		.dbr = (struct wrc_dbr *)(rig->arena + g->loop_dbr),
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC,
		.cd_master = true,
		.cd_slave_send = true,
	};
	struct snic_qp_attr client = {
		.pdn = rig->client_pdn,
		.sq = rig->arena + g->client_sq,
		.log_sq = g->log_client_sq,
		.rq = rig->arena + g->client_rq,
		.log_rq = g->log_rq,
		.log_rq_stride = g->log_rq_stride,
		.dbr = (struct wrc_dbr *)(rig->arena + g->client_dbr),
		.cd_slave_send = true,
	};
	int err;

	err = wrc_rig_cq(rig, rig->nic, LOG_CQ, true, &b->loop_scqn);
	if (!err)
		err = wrc_rig_cq(rig, rig->nic, LOG_CQ, true, &b->client_rcqn);
	if (err)
		return err;
	loop.scqn = loop.rcqn = client.scqn = b->loop_scqn;
	client.rcqn = b->client_rcqn;
	/* Errors of the answers must not count as loop completions. */
	err = wrc_rig_cq(rig, rig->nic, LOG_CQ, true, &b->client_scqn);
	client.scqn = b->client_scqn;
	if (!err)
		err = snic_qp_create(rig->nic, &loop, &b->loop_qpn);
	if (!err)
		err = snic_qp_create(rig->nic, &client, &b->client_qpn);
	rig->loop_qpn = b->loop_qpn;
	rig->client_qpn = b->client_qpn;
	return err ? err : rig_make_far_qp(rig, &loop);
}

/* ---- the client --------------------------------------------------------------- */

/* Its memory: send ring, receive ring, requests, pages; one key. */
static int rig_make_client_memory(struct wrc_rig *rig)
{
	uint32_t k = rig->cfg.depth;
	size_t sq = (size_t)k * WRC_WQE_BB, rq = (size_t)k * 16;
	size_t out = (size_t)k * REQ_STRIDE, in = (size_t)k * PAGE;
	struct snic_qp_attr attr = { .log_sq = log2_of(k), .log_rq = log2_of(k),
				     .log_rq_stride = 4,
				     .access = SNIC_REMOTE_WRITE };
	int err;

	rig->mem = wrc_rig_block(rig, out + in + sq + rq + 64);
	if (!rig->mem)
		return -ENOMEM;
	rig->out = rig->mem;
	rig->in = rig->out + out;
	rig->sq = rig->in + in;
	rig->rq = rig->sq + sq;
	rig->dbr = (struct wrc_dbr *)(rig->rq + rq);
	err = snic_pd_alloc(rig->peer_nic, &attr.pdn);
	if (!err)
		err = snic_mkey_reg(rig->peer_nic, attr.pdn, rig->mem,
				    out + in + sq + rq + 64,
				    (uintptr_t)rig->mem, ACCESS,
				    &rig->peer_key);
	rig->peer_pdn = attr.pdn;
	if (!err)
		err = wrc_rig_cq(rig, rig->peer_nic, log2_of(k) + 1, false, &rig->peer_rcqn);
	if (!err)
		err = wrc_rig_cq(rig, rig->peer_nic, log2_of(k) + 1, false, &rig->peer_scqn);
	attr.scqn = rig->peer_scqn;
	attr.rcqn = rig->peer_rcqn;
	attr.sq = rig->sq;
	attr.rq = rig->rq;
	attr.dbr = rig->dbr;
	if (!err)
		err = snic_qp_create(rig->peer_nic, &attr, &rig->peer_qpn);
	return err;
}

static int connect_qp(struct snic *nic, uint32_t qpn, uint32_t to,
		      uint32_t to_ip, uint16_t mtu)
{
	struct snic_qp_conn conn = {
		.loopback = !to_ip, .dest_qpn = to, .dest_ip = htonl(to_ip),
		.mtu = mtu ? mtu : PAGE, .retry_cnt = 7,
		.rnr_retry = 7, .timeout = 14, .min_rnr_timer = 1,
		.max_rd_atomic = 16, .max_dest_rd_atomic = 16,
	};

	return snic_qp_connect(nic, qpn, &conn);
}

int wrc_rig_join(struct wrc_rig *rig, uint32_t qpn, uint32_t peer_qpn)
{
	uint32_t ip = rig->cfg.wire ? NODE_IP : 0;
	int err;

	err = connect_qp(rig->nic, qpn, peer_qpn, ip ? ip + 1 : 0,
			 rig->cfg.mtu);
	if (!err)
		err = connect_qp(rig->peer_nic, peer_qpn, qpn, ip,
				 rig->cfg.mtu);
	return err;
}

static int rig_post_recvs(struct wrc_rig *rig)
{
	struct wrc_sge sge = { 1, rig->peer_key, (uintptr_t)rig->mem };
	int err = 0;

	for (uint32_t i = 0; !err && i < rig->cfg.depth; i++)
		err = wrc_encode_recv(&sge, 1, rig->rq + 16 * i, 16);
	rig->dbr->rcv = htobe32(rig->cfg.depth);
	return err;
}

static int rig_start(struct wrc_rig *rig, uint16_t doorbell)
{
	int err;

	err = connect_qp(rig->nic, rig->loop_qpn, rig->far_qpn, 0, 0);
	if (!err && rig->far_qpn != rig->loop_qpn)
		err = connect_qp(rig->nic, rig->far_qpn, rig->loop_qpn, 0, 0);
	if (!err)
		err = wrc_rig_join(rig, rig->client_qpn, rig->peer_qpn);
	if (!err)
		err = rig_post_recvs(rig);
	if (!err)
		err = snic_qp_doorbell(rig->nic, rig->loop_qpn, doorbell);
	return err;
}

static int rig_make_nic(const struct wrc_rig_config *cfg, unsigned int n,
			struct snic **ret_nic)
{
	struct snic_config nic = {
		.mac = { 2, 0, 0, 0, 0, n + 1 }, .ip = htonl(NODE_IP + n),
		.prefix_len = 24, .mtu = WIRE_MTU, .seed = n + 1,
		.fetch = cfg->fetch, .land = cfg->land,
		.relaxed_index = !cfg->strict,
	};

	return snic_new(&nic, ret_nic);
}

static int rig_make_nics(struct wrc_rig *rig)
{
	int err = rig_make_nic(&rig->cfg, 0, &rig->nic);

	rig->peer_nic = rig->nic;
	if (err)
		return err;
	snic_vt_init(&rig->vt, 0);
	snic_vt_add_nic(&rig->vt, &rig->actors[0], rig->nic);
	if (!rig->cfg.wire)
		return 0;
	err = rig_make_nic(&rig->cfg, 1, &rig->peer_nic);
	if (err)
		return err;
	snic_vt_add_nic(&rig->vt, &rig->actors[1], rig->peer_nic);
	err = snic_port_pair_open(&rig->ports[0], &rig->ports[1]);
	if (!err)
		err = snic_port_add(rig->nic, rig->ports[0]);
	if (!err)
		err = snic_port_add(rig->peer_nic, rig->ports[1]);
	return err;
}

int wrc_rig_open(const struct wrc_rig_config *cfg, struct wrc_rig *ret_rig,
		 char *why)
{
	struct wrc_opts opts = {
		.strict_index = cfg->strict, .variant = cfg->variant,
		.recycle = cfg->recycle, .order = cfg->order,
	};
	unsigned int rules = WRC_ALL_RULES & ~wrc_variant_excused(cfg->variant);
	struct wrc_rig *rig = ret_rig;
	uint16_t doorbell;
	int err;

	memset(rig, 0, sizeof(*rig));
	rig->cfg = *cfg;
	why[0] = 0;
	err = wrc_any_build(cfg->chain, &opts, &rig->prog);
	if (!err)
		err = wrc_geom_init(&rig->prog, cfg->depth, &rig->geom);
	if (!err)
		err = rig->nr_words = wrc_words(&rig->prog, &rig->geom,
						rig->words);
	if (err >= 0)
		err = rig_make_nics(rig);
	while (rig->nr_front < rig->nr_words &&
	       rig->prog.word[rig->nr_front].off <= rig->prog.req_len)
		rig->nr_front++;
	/* The software NIC does. */
	rig->bind.fence_orders = cfg->order == WRC_ORDER_FENCE;
	rig->bind.log_free_ring = log2_of(cfg->nr_pages * sizeof(uint64_t));
	if (!err)
		err = rig_make_node_memory(rig);
	if (!err)
		err = rig_make_node_keys(rig);
	if (!err)
		err = rig_make_node_qps(rig);
	if (!err)
		err = rig_make_client_memory(rig);
	if (!err && wrc_is_keyed(&rig->prog))
		err = wrc_rig_make_pair(rig);
	if (!err)
		rig_give_pages(rig);
	if (!err)
		err = wrc_arm_rules(&rig->prog, &rig->geom, &rig->bind,
				    rig->arena, rules, why, &doorbell);
	if (!err)
		err = rig_start(rig, doorbell);
	if (err)
		wrc_rig_close(rig);
	return err;
}

void wrc_rig_close(struct wrc_rig *rig)
{
	if (rig->peer_nic != rig->nic)
		snic_free(rig->peer_nic);
	snic_free(rig->nic);
	for (int i = 0; i < 2; i++)
		if (rig->ports[i])
			rig->ports[i]->ops->close(rig->ports[i]);
	for (unsigned int i = 0; i < rig->nr_blocks; i++)
		free(rig->blocks[i]);
	memset(rig, 0, sizeof(*rig));
}

/* ---- requests -------------------------------------------------------------------- */

static uint8_t *body_put_page(uint8_t *at, const void *page)
{
	if (!page)
		return at;
	if (page != at)
		memcpy(at, page, PAGE);
	return at + PAGE;
}

/* Kinds of words that have their other value in the next request. */
static unsigned int rig_steps(const struct wrc_rig *rig)
{
	return (unsigned int)rig->quiet << WRC_WORD_ANSWER |
	       (unsigned int)rig->early << WRC_WORD_PAGE |
	       (unsigned int)rig->next_quiet << WRC_WORD_NEXT;
}

/*
 * The words of a request, as any client computes them, and the page; words that
 * have no room before it come behind.
 */
static size_t rig_put_body(const struct wrc_rig *rig, uint32_t r,
			   const void *page,
			   uint8_t *to)
{
	uint8_t *at = to;

	at += wrc_words_put(rig->words, rig->nr_front, r, rig_steps(rig), at);
	at = body_put_page(at, page);
	at += wrc_words_put(rig->words + rig->nr_front,
			    rig->nr_words - rig->nr_front, r, rig_steps(rig), at);
	return at - to;
}

void *wrc_rig_out_page(struct wrc_rig *rig)
{
	return rig->out + (size_t)(rig->sent & (rig->cfg.depth - 1)) *
			  REQ_STRIDE + rig->prog.req_len;
}

bool wrc_rig_has_page(const struct wrc_rig *rig)
{
	return rig->prog.page;
}

/* Where the answer's data go. */
static void rig_put_place(struct wrc_rig *rig, struct odrp_wire_req *req)
{
	uint64_t raddr = (uintptr_t)wrc_rig_page(rig, rig->sent);

	req->raddr_hi = htobe32(raddr >> 32);
	req->raddr_lo = htobe32((uint32_t)raddr);
	req->rkey = htobe32(rig->peer_key);
}

int wrc_rig_send(struct wrc_rig *rig, uint64_t tt_addr, const void *page)
{
	uint32_t r = rig->sent, k = rig->cfg.depth - 1;
	uint8_t *msg = rig->out + (size_t)(r & k) * REQ_STRIDE;
	struct odrp_wire_req *req = (struct odrp_wire_req *)msg;
	struct wrc_wr wr = { .op = WRC_WQE_SEND, .shape = WRC_WQE_SEND,
			     .index = r, .qpn = rig->peer_qpn, .nr_sge = 1 };
	size_t len = sizeof(*req);
	int n;

	if (rig->sent - rig->answered >= k)
		return -EBUSY;
	*req = (struct odrp_wire_req){
		.tt_addr = rig->prog.kind == WRC_KIND_LADDER_HOST ? htole64(tt_addr) :
					       htobe64(tt_addr),
		.id = htobe32(r),
	};
	rig_put_place(rig, req);
	len += rig_put_body(rig, r, page, msg + len) - rig->cut;
	wr.sge[0] = (struct wrc_sge){ len, rig->peer_key, (uintptr_t)msg };
	n = wrc_encode(&wr, rig->sq + (size_t)(r & k) * WRC_WQE_BB, WRC_WQE_BB);
	if (n < 0)
		return n;
	rig->sent++;
	return snic_qp_doorbell(rig->peer_nic, rig->peer_qpn, rig->sent);
}

int wrc_rig_step(struct wrc_rig *rig)
{
	return snic_vt_step(&rig->vt);
}

void wrc_rig_settle(struct wrc_rig *rig)
{
	for (int i = 0; i < MAX_STEPS && !wrc_rig_step(rig); i++)
		;
}

static int rig_poll_one(struct wrc_rig *rig, bool *ret_early,
			uint32_t *ret_request)
{
	struct wrc_cqe cqe;
	int err;

	err = snic_cq_poll(rig->peer_nic, rig->peer_rcqn, &cqe);
	if (err)
		return err;
	if (cqe.op_own >> 4 != WRC_CQE_RESP_WR_IMM)
		return -EIO;
	*ret_request = be32toh(cqe.imm);
	rig->received++;
	rig->dbr->rcv = htobe32((rig->received + rig->cfg.depth) & 0xffff);
	/* A page's own notice has its length, the answer behind it has none. */
	*ret_early = wrc_owns(&rig->prog) && be32toh(cqe.byte_cnt);
	if (*ret_early)
		rig->early_came++;
	else
		rig->answered = *ret_request + 1;
	return 0;
}

int wrc_rig_poll(struct wrc_rig *rig, uint32_t *ret_request)
{
	bool early;
	int err;

	do {
		err = rig_poll_one(rig, &early, ret_request);
	} while (!err && early);
	return err;
}

int wrc_rig_answer(struct wrc_rig *rig, uint32_t *ret_request)
{
	int err = wrc_rig_poll(rig, ret_request);

	for (int i = 0; err == -EAGAIN && i < MAX_STEPS; i++) {
		int idle = wrc_rig_step(rig);

		err = wrc_rig_poll(rig, ret_request);
		if (err == -EAGAIN && idle)
			return idle == -EAGAIN ? -ETIMEDOUT : idle;
	}
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

uint8_t *wrc_rig_page(struct wrc_rig *rig, uint32_t request)
{
	return rig->in + (size_t)(request & (rig->cfg.depth - 1)) * PAGE;
}

/* ---- the node's memory by hand ---------------------------------------------------- */

/* The slot that a counter names, and the counter to the next one. */
static uint64_t *rig_advance(const struct wrc_rig *rig, uint64_t *counter)
{
	uint64_t was = *counter, moves;
	__u64 add, boundary;

	wrc_ring_step(&rig->bind, &add, &boundary);
	moves = 2 * boundary - add;
	*counter = (was & ~moves) | ((was + add) & moves);
	return rig->ring + (was - FREE_IOVA) / sizeof(uint64_t);
}

uint64_t wrc_rig_pop(struct wrc_rig *rig)
{
	uint64_t *slot = rig_advance(rig, &rig->counters[0]);
	uint64_t page = be64toh(*slot);

	*slot = 0;
	return page;
}

void wrc_rig_push(struct wrc_rig *rig, uint64_t page)
{
	*rig_advance(rig, &rig->counters[8]) = htobe64(page);
}

uint64_t wrc_rig_entry(const struct wrc_rig *rig, uint64_t slot)
{
	return be64toh(rig->tt[slot]);
}

void wrc_rig_set_entry(struct wrc_rig *rig, uint64_t slot, uint64_t page)
{
	rig->tt[slot] = htobe64(page);
}

uint8_t *wrc_rig_memory(struct wrc_rig *rig, uint64_t page)
{
	return rig->pool + (page - WRC_POOL_IOVA);
}

struct wrc_held wrc_rig_held(const struct wrc_rig *rig, uint32_t instance)
{
	struct wrc_held held = { 0 };
	struct snic_qp_info info;

	if (!snic_qp_query(rig->nic, rig->loop_qpn, &info))
		wrc_held_of(&rig->prog, &rig->geom, rig->arena,
			    info.sq_executed, instance, &held);
	return held;
}

uint32_t wrc_rig_free_pages(const struct wrc_rig *rig)
{
	uint64_t at = rig->counters[0];
	uint32_t n = 0;

	for (uint32_t i = 0; i < rig->cfg.nr_pages; i++)
		n += *rig_advance(rig, &at) != 0;
	return n;
}
