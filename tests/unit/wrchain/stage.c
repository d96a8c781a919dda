// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two CNodes and a memory node, run again and again; see stage.h. */
#include <errno.h>
#include <stdlib.h>
#include "snic/engine/engine-priv.h"
#include "stage-priv.h"

#define FIRST_FREE_RING 9	/* how far the ring's counters have come */
#define FREE_IOVA 0x10000000ull
#define TABLE_IOVA (3 * WRC_TABLE_ALIGN)
#define REQ_STRIDE 8192
#define LOG_CQ 4
#define MOST (512 * PAGE)	/* of memory */
#define CQ_BYTES (sizeof(struct wrc_cqe) << LOG_CQ)
#define MAX_STEPS 3000		/* of the NIC, until nothing moves */
#define ACCESS (SNIC_LOCAL_WRITE | SNIC_REMOTE_READ | SNIC_REMOTE_WRITE | \
		SNIC_REMOTE_ATOMIC)

/* ---- the ring --------------------------------------------------------------- */

/* A counter that names that slot, and back. */
static uint64_t counter_of(uint64_t i)
{
	return FREE_IOVA + i % NR_PAGES * sizeof(uint64_t);
}

static uint64_t slot_of(uint64_t counter)
{
	return (counter - FREE_IOVA) / sizeof(uint64_t) % NR_PAGES;
}

/* ---- memory ----------------------------------------------------------------- */

/* A block, and a page behind it that nobody has a key for. */
static void *carve(struct stage *st, size_t len)
{
	void *p = st->mem + st->used;

	st->used += (len + PAGE - 1) / PAGE * PAGE + PAGE;
	assert_true(st->used <= MOST);
	return p;
}

static void carve_cnode(struct stage *st, struct stage_cnode *c)
{
	c->arena = carve(st, c->geom.arena_len);
	c->buf = carve(st, c->geom.buf_len ? c->geom.buf_len : PAGE);
	c->tt = carve(st, NR_SLOTS * sizeof(uint64_t));
	c->map = carve(st, NR_SLOTS * sizeof(*c->map));
	c->cqs = carve(st, 3 * CQ_BYTES);
	c->out = carve(st, STAGE_DEPTH * (REQ_STRIDE + PAGE) + PAGE);
	c->in = c->out + STAGE_DEPTH * REQ_STRIDE;
	c->sq = c->in + STAGE_DEPTH * PAGE;
	c->rq = c->sq + STAGE_DEPTH * WRC_WQE_BB;
	c->dbr = (struct wrc_dbr *)(c->rq + STAGE_DEPTH * 16);
	c->peer_cqs = carve(st, 2 * CQ_BYTES);
}

static void carve_all(struct stage *st)
{
	st->used = 0;
	carve_cnode(st, &st->c[0]);
	carve_cnode(st, &st->c[1]);
	st->ring = carve(st, RING_BYTES + 128);
	st->counters = st->ring + NR_PAGES;
	st->pool = carve(st, NR_PAGES * PAGE);
}

/* Slots that the chain under test needs to be mapped. */
static bool starts_mapped(const struct stage_cnode *c, unsigned int slot)
{
	switch (c->chain) {
	case ODRP_WIRE_UNMAPPED_STORE:
		return false;
	case ODRP_WIRE_INVALIDATE:
		return slot % 4 != 3;
	default:
		return true;
	}
}

/* Pages to the neighbour, to CNode 0's chain and table, the rest to the ring. */
static void fill_tables(struct stage *st)
{
	uint64_t head = FIRST_FREE_RING, tail;
	uint32_t page = 0, i;

	for (i = 0; i < NEIGHBOURS; i++)
		st->c[1].tt[i] = htobe64(WRC_POOL_IOVA + page++ * PAGE);
	for (i = 0; i < STAGE_DEPTH && wrc_has_register(&st->c[0].prog); i++)
		st->c[0].pages[i] = WRC_POOL_IOVA + page++ * PAGE;
	st->c[0].bind.pages = st->c[0].pages;
	for (i = 0; i < NR_SLOTS; i++)
		if (starts_mapped(&st->c[0], i))
			st->c[0].tt[i] = htobe64(WRC_POOL_IOVA + page++ * PAGE);
	if (st->c[0].chain == ODRP_WIRE_UNMAPPED_STORE)
		head = NR_PAGES - 7;
	for (tail = head; page < NR_PAGES; tail++)
		*stage_ring_slot(st, tail) = htobe64(WRC_POOL_IOVA + page++ * PAGE);
	st->counters[0] = counter_of(head);
	st->counters[8] = counter_of(tail);
}

static void fill_words(void *at, size_t len, uint64_t first)
{
	uint64_t *w = at;

	for (size_t i = 0; i < len / sizeof(*w); i++)
		w[i] = first + i;
}

/*
 * Every word of a page tells where it is; guards and buffers are no zeros.  Pages, and
 * where they are read to, are the same wherever they lie.
 */
static void fill_memory(struct stage *st)
{
	struct stage_cnode *c;

	fill_words(st->mem, st->len, 0xa5a5000000000000ull);
	fill_words(st->pool, NR_PAGES * PAGE, 0xb5b5000000000000ull);
	for (c = st->c; c < st->c + 2; c++)
		fill_words(c->in, STAGE_DEPTH * PAGE, 0xc5c5000000000000ull);
	for (c = st->c; c < st->c + 2; c++) {
		memset(c->tt, 0, NR_SLOTS * sizeof(uint64_t));
		memset(c->cqs, 0, 3 * CQ_BYTES);
		memset(c->peer_cqs, 0, 2 * CQ_BYTES);
		memset(c->dbr, 0, sizeof(*c->dbr));
	}
	memset(st->ring, 0, RING_BYTES + 128);
	fill_tables(st);
}

/* ---- the NIC's objects ---------------------------------------------------------- */

static uint32_t key_of(struct stage *st, uint32_t pdn, void *at, size_t len,
		       uint64_t iova, unsigned int access)
{
	uint32_t key;

	assert_int_equal(snic_mkey_reg(st->nic, pdn, at, len, iova, access,
				       &key), 0);
	return key;
}

static uint32_t cq_of(struct stage *st, void *buf, bool overrun)
{
	struct snic_cq_attr attr = {
		.buf = buf, .log_size = LOG_CQ, .overrun_ignore = overrun,
	};
	uint32_t cqn;

	assert_int_equal(snic_cq_create(st->nic, &attr, &cqn), 0);
	return cqn;
}

/* Its entries say what its table says. */
static void translate(const struct stage *st, const struct stage_cnode *c)
{
	for (unsigned int i = 0; c->ksm && i < NR_SLOTS; i++)
		c->ksm[i * WRC_KSM_GROUP] = (struct wrc_ksm){
			.key = c->tt[i] ? htobe32(c->bind.pool_key) : 0,
			.addr = c->tt[i],
		};
}

/* A domain in which nothing but its key is for its peers; returns that. */
static uint32_t own_domain(struct stage *st, struct stage_cnode *c,
			   uint32_t node_pdn)
{
	struct wrc_bind *b = &c->bind;
	uint32_t pdn;

	c->ksm = NULL;
	c->far_qpn = 0;
	if (!wrc_is_keyed(&c->prog))
		return node_pdn;
	assert_int_equal(snic_pd_alloc(st->nic, &pdn), 0);
	b->pool_key = key_of(st, pdn, st->pool, NR_PAGES * PAGE, WRC_POOL_IOVA,
			     SNIC_LOCAL_WRITE);
	do {	/* until its number will do; nobody frees those that will not */
		assert_int_equal(snic_mkey_indirect(st->nic, pdn,
			NR_SLOTS * WRC_KSM_GROUP,
			SNIC_REMOTE_READ | SNIC_REMOTE_WRITE, WRC_KEY_VARIANT,
			&c->ksm_key), 0);
	} while (wrc_keymap_set(&c->map[0], c->ksm_key, 0));
	for (unsigned int i = 0; i < NR_SLOTS; i++)
		wrc_keymap_set(&c->map[i], c->ksm_key, i);
	c->ksm = snic_ksm_find(st->nic, pdn, c->ksm_key)->entry;
	translate(st, c);
	b->keymap_key = key_of(st, node_pdn, c->map,
			       NR_SLOTS * sizeof(*c->map), 0,
			       SNIC_REMOTE_READ);
	b->arena_rkey = key_of(st, node_pdn, c->arena, c->geom.arena_len,
			       (uintptr_t)c->arena, ACCESS);
	return pdn;
}

static void node_keys(struct stage *st, struct stage_cnode *c, uint32_t pdn,
		      uint32_t own_pdn)
{
	struct wrc_bind *b = &c->bind;

	b->arena_iova = (uintptr_t)c->arena;
	b->buf_iova = (uintptr_t)c->buf;
	b->tt_len = NR_SLOTS * sizeof(uint64_t);
	b->free_ring = FREE_IOVA;
	b->log_free_ring = 8;
	b->free_head = FREE_IOVA + RING_BYTES;
	b->free_tail = b->free_head + 64;
	b->pool_len = NR_PAGES * PAGE;
	b->arena_key = key_of(st, own_pdn, c->arena, c->geom.arena_len,
			      b->arena_iova,
			      c->ksm ? SNIC_LOCAL_WRITE : ACCESS);
	b->buf_key = key_of(st, own_pdn, c->buf,
			    c->geom.buf_len ? c->geom.buf_len : PAGE,
			    b->buf_iova, SNIC_LOCAL_WRITE);
	b->tt_key = key_of(st, pdn, c->tt, b->tt_len, 0, ACCESS);
	if (!c->table)
		return;
	b->table = c->table;
	b->table_iova = TABLE_IOVA;
	b->table_key = key_of(st, pdn, c->table, c->geom.table_len, TABLE_IOVA,
			      SNIC_REMOTE_READ);
}

/* What the loop queue is connected to: itself, or one that never sends. */
static void far_qp(struct stage *st, struct stage_cnode *c, uint32_t pdn,
		   uint32_t cqn)
{
	static _Alignas(64) uint8_t sq[WRC_WQE_BB];
	static _Alignas(64) struct wrc_dbr dbr;
	struct snic_qp_attr far = {
		.pdn = pdn, .scqn = cqn, .rcqn = cqn, .sq = sq, .dbr = &dbr,
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC,
	};

	c->far_qpn = c->bind.loop_qpn;
	if (c->ksm)
		assert_int_equal(snic_qp_create(st->nic, &far, &c->far_qpn), 0);
}

static void node_qps(struct stage *st, struct stage_cnode *c, uint32_t pdn,
		     uint32_t node_pdn)
{
	const struct wrc_geom *g = &c->geom;
	struct wrc_bind *b = &c->bind;
	struct snic_qp_attr loop = {
		.pdn = pdn, .sq = c->arena + g->loop_sq,
		.log_sq = g->log_loop_sq,
		.dbr = (struct wrc_dbr *)(c->arena + g->loop_dbr),
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC,
		.cd_master = true, .cd_slave_send = true,
	};
	struct snic_qp_attr client = {
		.pdn = pdn, .sq = c->arena + g->client_sq,
		.log_sq = g->log_client_sq,
		.rq = c->arena + g->client_rq, .log_rq = g->log_rq,
		.log_rq_stride = g->log_rq_stride,
		.dbr = (struct wrc_dbr *)(c->arena + g->client_dbr),
		.cd_slave_send = true,
	};

	b->loop_scqn = cq_of(st, c->cqs, true);
	b->client_rcqn = cq_of(st, c->cqs + CQ_BYTES, true);
	loop.scqn = loop.rcqn = b->loop_scqn;
	client.rcqn = b->client_rcqn;
	b->client_scqn = cq_of(st, c->cqs + 2 * CQ_BYTES, true);
	client.scqn = b->client_scqn;
	assert_int_equal(snic_qp_create(st->nic, &loop, &b->loop_qpn), 0);
	assert_int_equal(snic_qp_create(st->nic, &client, &b->client_qpn), 0);
	far_qp(st, c, node_pdn, b->client_scqn);
}

static void peer(struct stage *st, struct stage_cnode *c)
{
	struct snic_qp_attr attr = {
		.sq = c->sq, .log_sq = 2, .rq = c->rq, .log_rq = 2,
		.log_rq_stride = 4, .dbr = c->dbr, .access = SNIC_REMOTE_WRITE,
	};

	assert_int_equal(snic_pd_alloc(st->nic, &attr.pdn), 0);
	c->peer_key = key_of(st, attr.pdn, c->out,
			     STAGE_DEPTH * (REQ_STRIDE + PAGE),
			     (uintptr_t)c->out, ACCESS);
	c->peer_rcqn = cq_of(st, c->peer_cqs, false);
	c->peer_scqn = cq_of(st, c->peer_cqs + CQ_BYTES, false);
	attr.rcqn = c->peer_rcqn;
	attr.scqn = c->peer_scqn;
	assert_int_equal(snic_qp_create(st->nic, &attr, &c->peer_qpn), 0);
}

static void objects(struct stage *st, enum snic_fetch fetch)
{
	struct host_conf conf = { .nic = host_config(1, 1), .vt = &st->vt };
	uint32_t pdn, own, free_key, pool_key;

	conf.nic.fetch = fetch;
	conf.nic.relaxed_index = !st->strict;
	snic_vt_init(&st->vt, 0);
	host_init(&st->host, &conf);
	st->nic = st->host.nic;
	pdn = st->host.pdn;
	free_key = key_of(st, pdn, st->ring, RING_BYTES + 128, FREE_IOVA,
			  ACCESS);
	pool_key = key_of(st, pdn, st->pool, NR_PAGES * PAGE, WRC_POOL_IOVA,
			  SNIC_LOCAL_WRITE | SNIC_REMOTE_WRITE);
	for (struct stage_cnode *c = st->c; c < st->c + 2; c++) {
		c->bind.free_key = free_key;
		c->bind.pool_key = pool_key;
		own = own_domain(st, c, pdn);
		node_keys(st, c, pdn, own);
		node_qps(st, c, own, pdn);
		peer(st, c);
		c->sent = c->answered = c->received = 0;
	}
	st->log = st->told = 0;
}

/* Each queue takes its time for each WQE: an answer too early is seen early. */
static uint64_t cost(void *arg, const struct snic_work *work)
{
	return work->kind == SNIC_COST_EXECUTE ? 20 + work->bytes / 256 : 0;
}

static void join(struct stage *st, uint32_t qpn, uint32_t to)
{
	struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = to, .retry_cnt = 7,
		.rnr_retry = 7, .timeout = 14, .min_rnr_timer = 1,
	};

	assert_int_equal(snic_qp_connect(st->nic, qpn, &conn), 0);
}

static void start(struct stage *st, struct stage_cnode *c)
{
	join(st, c->bind.loop_qpn, c->far_qpn);
	if (c->far_qpn != c->bind.loop_qpn)
		join(st, c->far_qpn, c->bind.loop_qpn);
	join(st, c->bind.client_qpn, c->peer_qpn);
	join(st, c->peer_qpn, c->bind.client_qpn);
	c->dbr->rcv = htobe32(STAGE_DEPTH);
	assert_int_equal(snic_qp_doorbell(st->nic, c->bind.loop_qpn,
					  c->geom.start_bb), 0);
}

static void open_cnode(struct stage_cnode *c, enum odrp_wire_chain chain,
		       const struct wrc_opts *opts, const struct wrc_prog *prog)
{
	c->chain = chain;
	c->prog = *prog;
	c->bind.fence_orders = opts->order == WRC_ORDER_FENCE;
	assert_int_equal(wrc_geom_init(&c->prog, STAGE_DEPTH, &c->geom), 0);
	c->nr_words = wrc_words(&c->prog, &c->geom, c->words);
	assert_true(c->nr_words >= 0);
	if (!c->prog.node)
		return;
	c->table = malloc(c->geom.table_len);
	assert_non_null(c->table);
	wrc_table_fill(&c->prog, &c->geom, TABLE_IOVA, c->table);
}

void stage_open_prog(struct stage *st, enum odrp_wire_chain chain,
		     const struct wrc_opts *opts, const struct wrc_prog *prog)
{
	struct wrc_opts other = *opts;
	struct wrc_prog load;

	memset(st, 0, sizeof(*st));
	st->strict = opts->strict_index;
	other.recycle = WRC_RECYCLE_CLIENT;
	if (other.variant == WRC_V_KEYED)
		other.variant = WRC_V_OURS;
	assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &other, &load), 0);
	open_cnode(&st->c[0], chain, opts, prog);
	open_cnode(&st->c[1], ODRP_WIRE_LOAD, &other, &load);
	st->mem = aligned_alloc(PAGE, MOST);
	assert_non_null(st->mem);
	carve_all(st);
	st->len = st->used;
	st->clean = malloc(st->len);
	assert_non_null(st->clean);
	fill_memory(st);
	objects(st, SNIC_FETCH_LATE);	/* for the numbers: always the same */
	host_close(&st->host);
	for (struct stage_cnode *c = st->c; c < st->c + 2; c++) {
		char why[WRC_WHY_MAX];

		assert_int_equal(wrc_image_write(&c->prog, &c->geom, &c->bind,
						 c->arena), 0);
		if (wrc_image_check(&c->prog, &c->geom, &c->bind, c->arena,
				    why))
			fail_msg("%s: %s", c->prog.name, why);
		memset(c->cqs, 0, 3 * CQ_BYTES);
		memset(c->peer_cqs, 0, 2 * CQ_BYTES);
	}
	for (int i = 0; i < 2 * STAGE_DEPTH; i++) {
		struct stage_cnode *c = &st->c[i / STAGE_DEPTH];
		struct wrc_sge sge = { 1, c->peer_key, (uintptr_t)c->out };

		assert_true(wrc_encode_recv(&sge, 1, c->rq +
					    16 * (i % STAGE_DEPTH), 16) == 0);
	}
	memcpy(st->clean, st->mem, st->len);
}

void stage_open(struct stage *st, enum odrp_wire_chain chain,
		const struct wrc_opts *opts)
{
	struct wrc_prog prog;

	assert_int_equal(wrc_any_build(chain, opts, &prog), 0);
	stage_open_prog(st, chain, opts, &prog);
}

void stage_close(struct stage *st)
{
	free(st->mem);
	free(st->clean);
	free(st->c[0].table);
}

const uint8_t *stage_image(const struct stage *st)
{
	return st->clean + (st->c[0].arena - st->mem);
}

/* ---- requests ------------------------------------------------------------------ */

static uint8_t *put_page(const struct stage_cnode *c, uint8_t *at)
{
	for (uint32_t w = 0; w < PAGE / 8; w++, at += 8)
		memcpy(at, &(uint64_t){ (uint64_t)c->sent << 32 | w }, 8);
	return at;
}

/* The words and the page; words that have no room before it come behind. */
static size_t put_body(const struct stage_cnode *c, bool quiet, bool next,
		       uint8_t *to)
{
	bool page = c->prog.page;
	uint8_t *at = to;

	for (int i = 0; i < c->nr_words; i++) {
		const struct wrc_word_rule *w = &c->words[i];
		bool step = quiet;

		if (w->kind == WRC_WORD_PAGE)
			step = c->sent % 4 == 1;	/* now and then */
		else if (w->kind == WRC_WORD_NEXT)
			step = next;

		if (page && c->prog.word[i].off > c->prog.req_len) {
			at = put_page(c, at);
			page = false;
		}
		at += wrc_word_put(w, c->sent, step, at);
	}
	return (page ? put_page(c, at) : at) - to;
}

static void send_request(struct stage *st, struct stage_cnode *c,
			 uint32_t slot, bool quiet, bool next)
{
	uint32_t r = c->sent, i = r % STAGE_DEPTH;
	uint8_t *msg = c->out + (size_t)i * REQ_STRIDE;
	uint64_t raddr = (uintptr_t)c->in + (uint64_t)i * PAGE;
	struct odrp_wire_req req = {
		.tt_addr = htobe64(slot * sizeof(uint64_t)),
		.id = htobe32(r),
		.raddr_hi = htobe32(raddr >> 32),
		.raddr_lo = htobe32((uint32_t)raddr),
		.rkey = htobe32(c->peer_key),
	};
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .index = r,
		.qpn = c->peer_qpn, .nr_sge = 1,
	};
	size_t len = sizeof(req);

	memcpy(msg, &req, sizeof(req));
	len += put_body(c, quiet, next, msg + len);
	wr.sge[0] = (struct wrc_sge){ len, c->peer_key, (uintptr_t)msg };
	assert_true(wrc_encode(&wr, c->sq + i * WRC_WQE_BB, WRC_WQE_BB) > 0);
	c->sent++;
	/* Refused: the queue is broken, which the log shows. */
	st->log += snic_qp_doorbell(st->nic, c->peer_qpn, c->sent);
}

static uint64_t digest(uint64_t h, const void *from, size_t len)
{
	const uint64_t *w = from;

	for (size_t i = 0; i < len / sizeof(*w); i++)
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull + (h >> 29);
	return h;
}

/* A session without a key has nothing to look at. */
static void look_at_key(struct stage *st, const struct stage_cnode *c)
{
	if (c->ksm)
		st->log = digest(st->log, c->ksm, NR_SLOTS * WRC_KSM_GROUP *
						  sizeof(*c->ksm));
}

/* All that an answer tells, and what is to be seen when it comes (I5). */
static void look(struct stage *st, const struct stage_cnode *c,
		 const struct wrc_cqe *cqe, uint32_t slot)
{
	uint64_t page = be64toh(c->tt[slot]) - WRC_POOL_IOVA;

	st->log = digest(st->log, cqe, sizeof(*cqe));
	st->log = digest(st->log, c->tt, NR_SLOTS * sizeof(uint64_t));
	look_at_key(st, c);
	st->log = digest(st->log, st->ring, RING_BYTES + 128);
	st->log = digest(st->log, c->in, STAGE_DEPTH * PAGE);
	if (page <= (NR_PAGES - 1) * PAGE)
		st->log = digest(st->log, st->pool + page / 8 * 8, PAGE);
}

/* The same without times and places: the answer, and what it is about (I5). */
static void hear(struct stage *st, const struct stage_cnode *c,
		 const struct wrc_cqe *cqe, uint32_t slot)
{
	uint64_t page = be64toh(c->tt[slot]) - WRC_POOL_IOVA;
	const uint64_t said[] = { cqe->imm, cqe->byte_cnt, cqe->op_own >> 4 };

	st->told = digest(st->told, said, sizeof(said));
	st->told = digest(st->told, &c->tt[slot], sizeof(c->tt[slot]));
	if (c->ksm)
		st->told = digest(st->told, &c->ksm[slot * WRC_KSM_GROUP],
				  WRC_KSM_GROUP * sizeof(*c->ksm));
	if (page <= (NR_PAGES - 1) * PAGE)
		st->told = digest(st->told, st->pool + page / 8 * 8, PAGE);
	st->told = digest(st->told, c->in + be32toh(cqe->imm) % STAGE_DEPTH *
						    PAGE, PAGE);
}

static void poll_answers(struct stage *st, struct stage_cnode *c)
{
	struct wrc_cqe cqe;

	while (!snic_cq_poll(st->nic, c->peer_rcqn, &cqe)) {
		look(st, c, &cqe, be32toh(cqe.imm) % NR_SLOTS);
		hear(st, c, &cqe, be32toh(cqe.imm) % NR_SLOTS);
		if (cqe.op_own >> 4 == WRC_CQE_RESP_WR_IMM)
			c->answered = be32toh(cqe.imm) + 1;
		c->received++;
		c->dbr->rcv = htobe32((c->received + STAGE_DEPTH) & 0xffff);
	}
	while (!snic_cq_poll(st->nic, c->peer_scqn, &cqe))
		st->log = digest(st->log, &cqe, sizeof(cqe));
}

/**
 * struct rest - a run until nothing moves
 * @c:		whose answers are taken in behind each step; NULL: nobody's
 * @steps:	of the NIC; what does not come to rest in MAX_STEPS never does
 */
struct rest {
	struct stage *st;
	struct stage_cnode *c;
	int steps;
};

static bool is_endless(void *arg)
{
	struct rest *rest = arg;

	if (rest->c)
		poll_answers(rest->st, rest->c);
	return rest->steps++ == MAX_STEPS;
}

static void run(struct stage *st, struct stage_cnode *c)
{
	struct rest rest = { .st = st, .c = c };
	int r = snic_vt_run(&st->vt, SNIC_NEVER, is_endless, &rest);

	assert_true(!r || r == -ETIMEDOUT);
	st->log ^= !r;		/* it does not come to rest */
}

/* What the other chains of a CNode would do, so that slots can be used again. */
static void undo(struct stage *st, struct stage_cnode *c, uint32_t slot)
{
	uint64_t *from = &st->counters[c->chain == ODRP_WIRE_INVALIDATE ? 0 : 8];
	uint64_t at = slot_of(*from);

	if (c->chain == ODRP_WIRE_UNMAPPED_STORE && c->tt[slot]) {
		*stage_ring_slot(st, at) = c->tt[slot];
		c->tt[slot] = 0;
	} else if (c->chain == ODRP_WIRE_INVALIDATE && !c->tt[slot] &&
		   slot % 4 != 3) {
		c->tt[slot] = *stage_ring_slot(st, at);
		*stage_ring_slot(st, at) = 0;
	} else {
		return;
	}
	*from = counter_of(at + 1);
	translate(st, c);
}

/* The i-th of a burst. */
static bool is_quiet(uint32_t i, uint32_t sent, uint32_t count)
{
	return i % 3 == 1 && i + 1 < STAGE_DEPTH && sent + 1 < count;
}

/* Bursts as large as the queue takes; the last one of each is answered. */
static void requests(struct stage *st, struct stage_cnode *c, uint32_t count,
		     uint32_t nr_slots, bool again)
{
	while (c->sent < count) {
		uint32_t from = c->sent, i;

		for (i = 1; i < STAGE_DEPTH && c->sent < count; i++)
			send_request(st, c, c->sent % nr_slots,
				     is_quiet(i, c->sent, count),
				     is_quiet(i + 1, c->sent + 1, count));
		run(st, c);
		if (c->answered != c->sent)
			return;
		for (; again && from < c->sent; from++)
			undo(st, c, from % nr_slots);
	}
}

/* Table and key say the same, of every slot. */
static bool is_translated(const struct stage *st, const struct stage_cnode *c)
{
	static const struct wrc_ksm none[WRC_KSM_GROUP];

	for (unsigned int i = 0; c->ksm && i < NR_SLOTS; i++) {
		const struct wrc_ksm *e = &c->ksm[i * WRC_KSM_GROUP];

		if (e->resv || e->addr != c->tt[i] ||
		    e->key != (c->tt[i] ? htobe32(c->bind.pool_key) : 0) ||
		    memcmp(e + 1, none, sizeof(none) - sizeof(none[0])))
			return false;
	}
	return true;
}

/* What there is when it is over. */
static void hear_all(struct stage *st)
{
	const struct stage_cnode *c = &st->c[0];

	st->told = digest(st->told, c->tt, NR_SLOTS * sizeof(uint64_t));
	if (c->ksm)
		st->told = digest(st->told, c->ksm, NR_SLOTS * WRC_KSM_GROUP *
						    sizeof(*c->ksm));
	st->told = digest(st->told, st->ring, RING_BYTES + 128);
	st->told = digest(st->told, st->pool, NR_PAGES * PAGE);
	st->told = digest(st->told, c->in, STAGE_DEPTH * PAGE);
	for (uint32_t i = 0; i < STAGE_DEPTH; i++)
		st->told = digest(st->told, &(uint64_t){ stage_own_page(st, i) }, 8);
}

static uint64_t neighbours(const struct stage *st)
{
	const struct stage_cnode *b = &st->c[1];
	uint64_t h = digest(b->answered, b->tt, NR_SLOTS * sizeof(uint64_t));

	h = digest(h, b->in, STAGE_DEPTH * PAGE);
	return digest(h, st->pool, NEIGHBOURS * PAGE);
}

void stage_run(struct stage *st, const uint8_t *image, enum stage_scene scene,
	       enum snic_fetch fetch, struct stage_end *ret_end)
{
	struct stage_cnode *c = &st->c[0];
	struct snic_qp_info info;

	memcpy(st->mem, st->clean, st->len);
	memcpy(c->arena, image, c->geom.arena_len);
	objects(st, fetch);
	if (scene != STAGE_WRAP)
		snic_set_cost(st->nic, cost, NULL);
	start(st, &st->c[0]);
	start(st, &st->c[1]);
	run(st, NULL);
	requests(st, c, stage_requests(st, scene), NR_SLOTS, scene == STAGE_WRAP);
	if (scene == STAGE_CUT) {
		send_request(st, c, c->sent, false, false);
		send_request(st, c, c->sent, false, false);
	}
	snic_qp_error(st->nic, c->bind.client_qpn);
	run(st, NULL);
	requests(st, &st->c[1], NEIGHBOURS + 1, NEIGHBOURS, false);
	look_at_key(st, c);
	st->in_order = is_translated(st, c);
	hear_all(st);
	*ret_end = (struct stage_end){
		c->answered, st->log, st->vt.now, st->told, neighbours(st),
	};
	assert_int_equal(snic_qp_query(st->nic, c->bind.loop_qpn, &info), 0);
	st->executed = info.sq_executed;
	host_close(&st->host);
}
