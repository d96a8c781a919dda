// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A memory node whose queues run when they are told to; see scene.h. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <nic/soft.h>
#include <page/pool.h>
#include "core/check.h"
#include "paper/paper.h"
#include "scene.h"

#define PAGE ODRP_WIRE_PAGE_SIZE
#define COUNTERS (2 * SCENE_TAIL * sizeof(uint64_t))	/* behind a ring */
#define LOG_CQ 4
#define NO_PAGE (~0ull)
#define LOG_PEER_RQ 5			/* more answers than anybody asks for */
#define ACCESS (SNIC_LOCAL_WRITE | SNIC_REMOTE_READ | SNIC_REMOTE_WRITE | \
		SNIC_REMOTE_ATOMIC)

/* A client's memory, in bytes: what is in it lives for one move only. */
#define CL_MSG 0		/* the request */
#define CL_IN (2 * PAGE)	/* a load's page */
#define CL_SQ (3 * PAGE)
#define CL_RQ (CL_SQ + SCENE_DEPTH * WRC_WQE_BB)
#define CL_DBR (CL_RQ + (16 << LOG_PEER_RQ))
#define CL_LEN (CL_DBR + 64)

/* ---- memory ----------------------------------------------------------------- */

static void *block(struct scene *s, size_t len)
{
	void *p;

	len = (len + PAGE - 1) / PAGE * PAGE;
	p = aligned_alloc(PAGE, len);
	assert_non_null(p);
	memset(p, 0, len);
	assert_true(s->nr_blocks < sizeof(s->blocks) / sizeof(s->blocks[0]));
	s->blocks[s->nr_blocks++] = p;
	return p;
}

static uint32_t key_for(struct scene *s, uint32_t pdn, void *va, uint64_t len,
			uint64_t iova, unsigned int access)
{
	uint32_t k;

	assert_int_equal(snic_mkey_reg(s->nic, pdn, va, len, iova, access, &k),
			 0);
	return k;
}

static uint32_t key(struct scene *s, uint32_t pdn, void *va, uint64_t len,
		    uint64_t iova)
{
	return key_for(s, pdn, va, len, iova, ACCESS);
}

/* In a CNode's domain there is nothing but its key that it could reach. */
static unsigned int access_of(const struct scene *s)
{
	return s->cfg.keyed ? SNIC_LOCAL_WRITE : ACCESS;
}

void scene_watch(struct scene *s, void *at, size_t len)
{
	assert_int_equal(explore_add(&s->explore, at, len), 0);
}

/* A page is written and read as a whole: its first word says all of it. */
static void watch_pages(struct scene *s, uint8_t *pages, unsigned int nr)
{
	while (nr--)
		scene_watch(s, pages + nr * PAGE, sizeof(uint64_t));
}

static __u64 new_page(struct scene *s, unsigned int cnode)
{
	assert_true(s->nr_pages < SCENE_PAGES);
	s->owner[s->nr_pages] = scene_owner(cnode);
	return page_addr(s->nr_pages++);
}

static void map_pages(struct scene *s, unsigned int cnode)
{
	unsigned int i;

	for (i = 0; i < s->cfg.mapped[cnode]; i++) {
		uint64_t word = scene_word(cnode, 0x80 + i);

		memcpy(s->pool + s->nr_pages * PAGE, &word, sizeof(word));
		s->tt[cnode][i] = htobe64(new_page(s, cnode));
		s->st.tag[cnode][i] = 0x80 + i;
	}
}

static void make_ring(struct scene *s, unsigned int cnode)
{
	struct ring *ring = &s->ring[cnode];
	size_t len = scene_ring_len(s);
	uint64_t *mem = block(s, len + COUNTERS);

	*ring = (struct ring){
		.nic = s->agents_nic, .log_len = s->cfg.log_ring + 3,
		.slot = (volatile __be64 *)mem,
		.head = mem + len / sizeof(uint64_t),
		.key = key(s, s->pdn, mem, len + COUNTERS, RING_IOVA),
	};
	ring->tail = ring->head + SCENE_TAIL;
	assert_int_equal(ring_tail_iova(ring) - ring_head_iova(ring),
			 SCENE_TAIL * sizeof(uint64_t));
	*ring->head = *ring->tail = RING_IOVA;
	scene_watch(s, mem, len + COUNTERS);
}

/* The instances' pages are given when they are armed. */
static void node_memory(struct scene *s)
{
	unsigned int c, i;

	s->pool = block(s, SCENE_PAGES * PAGE);
	for (c = 0; c < SCENE_CNODES; c++) {
		s->keys[c].pool = key_for(s, s->keys[c].pdn, s->pool,
					  SCENE_PAGES * PAGE, WRC_POOL_IOVA,
					  access_of(s));
		s->tt[c] = block(s, SCENE_SLOTS * sizeof(uint64_t));
		scene_watch(s, s->tt[c], SCENE_SLOTS * sizeof(uint64_t));
		make_ring(s, c);
		map_pages(s, c);
		for (i = 0; i < s->cfg.free[c]; i++)
			ring_push(&s->ring[c], new_page(s, c));
	}
}

/* What a chain finds in the node. */
static void bind_memory(struct scene *s, unsigned int cnode, uint32_t tt_key,
			struct wrc_bind *bind)
{
	const struct ring *ring = &s->ring[cnode];

	*bind = (struct wrc_bind){
		.free_ring = RING_IOVA, .log_free_ring = ring->log_len,
		.free_head = ring_head_iova(ring),
		.free_tail = ring_tail_iova(ring), .free_key = ring->key,
		.pool_len = SCENE_PAGES * PAGE,
		.pool_key = s->keys[cnode].pool,
		.keymap_key = s->keys[cnode].map_key,
		.tt_len = SCENE_SLOTS * sizeof(uint64_t), .tt_key = tt_key,
	};
}

/* ---- queues ------------------------------------------------------------------ */

/* The agent counts what is in it, if there is one. */
static struct snic_cq *make_cq(struct scene *s)
{
	struct nic *nic = s->agents_nic;
	struct snic_cq *cq;
	uint32_t cqn;

	assert_int_equal(nic->ops->cq_create(nic, LOG_CQ, &cqn), 0);
	cq = snic_cq_lookup(s->nic, cqn);
	scene_watch(s, cq, sizeof(*cq));
	return cq;
}

static struct snic_cq *make_counted_cq(struct scene *s)
{
	struct snic_cq *cq = make_cq(s);

	if (s->cfg.agent)
		scene_watch(s, cq->attr.buf, sizeof(struct wrc_cqe) << LOG_CQ);
	return cq;
}

static struct snic_qp *make_qp(struct scene *s, const struct snic_qp_attr *attr)
{
	struct snic_qp *qp;
	uint32_t qpn;

	assert_int_equal(snic_qp_create(s->nic, attr, &qpn), 0);
	qp = snic_qp_lookup(s->nic, qpn);
	scene_watch(s, qp, sizeof(*qp));
	if (qp->early)
		scene_watch(s, qp->early, (size_t)WRC_WQE_BB << attr->log_sq);
	scene_watch_landings(s, qp);
	return qp;
}

static void connect_qp(struct scene *s, struct snic_qp *qp, uint32_t to)
{
	struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = to, .rnr_retry = 7,
		.min_rnr_timer = 1,
	};

	assert_int_equal(snic_qp_connect(s->nic, qp->qpn, &conn), 0);
}

static void make_node(struct scene *s, struct scene_chain *ch, uint32_t pdn)
{
	const struct wrc_geom *g = &ch->geom;
	struct snic_qp_attr loop = {
		.pdn = pdn, .sq = ch->arena + g->loop_sq,
		.log_sq = g->log_loop_sq,
		.dbr = (struct wrc_dbr *)(ch->arena + g->loop_dbr),
		.access = ACCESS & ~SNIC_LOCAL_WRITE,
		.cd_master = true, .cd_slave_send = true,
	};
	struct snic_qp_attr node = {
		.pdn = pdn, .sq = ch->arena + g->client_sq,
		.log_sq = g->log_client_sq,
		.rq = ch->arena + g->client_rq, .log_rq = g->log_rq,
		.log_rq_stride = g->log_rq_stride,
		.dbr = (struct wrc_dbr *)(ch->arena + g->client_dbr),
		.cd_slave_send = true,
	};

	ch->loop_scq = make_cq(s);
	ch->node_rcq = make_counted_cq(s);
	loop.scqn = ch->loop_scq->cqn;
	node.rcqn = ch->node_rcq->cqn;
	ch->node_scq = make_counted_cq(s);
	loop.rcqn = node.scqn = ch->node_scq->cqn;
	ch->loop = make_qp(s, &loop);
	ch->far = ch->loop;
	if (s->cfg.keyed) {
		loop.pdn = s->pdn;
		loop.sq = block(s, PAGE);
		loop.log_sq = 0;
		loop.dbr = (struct wrc_dbr *)((uint8_t *)loop.sq + WRC_WQE_BB);
		loop.cd_master = loop.cd_slave_send = false;
		ch->far = make_qp(s, &loop);
	}
	ch->node = make_qp(s, &node);
	ch->bind.loop_scqn = loop.scqn;
	ch->bind.client_rcqn = node.rcqn;
	ch->bind.client_scqn = node.scqn;
	ch->bind.loop_qpn = ch->loop->qpn;
	ch->bind.client_qpn = ch->node->qpn;
}

static void make_client(struct scene *s, struct scene_chain *ch)
{
	struct snic_qp_attr attr = { .log_sq = 2, .log_rq = LOG_PEER_RQ,
				     .log_rq_stride = 4,
				     .access = SNIC_REMOTE_WRITE };
	uint8_t *mem = block(s, CL_LEN);
	struct wrc_sge sge = { .len = 1 };
	unsigned int i;

	assert_int_equal(1 << attr.log_sq, SCENE_DEPTH);
	assert_int_equal(snic_pd_alloc(s->nic, &attr.pdn), 0);
	ch->client = (uint64_t *)mem;
	ch->client_key = key(s, attr.pdn, mem, CL_LEN, (uintptr_t)mem);
	sge.lkey = ch->client_key;
	sge.addr = (uintptr_t)mem;
	for (i = 0; i < 1u << LOG_PEER_RQ; i++)
		assert_int_equal(wrc_encode_recv(&sge, 1, mem + CL_RQ + 16 * i,
						 16), 0);
	attr.sq = mem + CL_SQ;
	attr.rq = mem + CL_RQ;
	attr.dbr = (struct wrc_dbr *)(mem + CL_DBR);
	attr.dbr->rcv = htobe32(1 << LOG_PEER_RQ);
	ch->peer_rcq = make_cq(s);
	attr.rcqn = ch->peer_rcq->cqn;
	attr.scqn = make_cq(s)->cqn;
	ch->peer = make_qp(s, &attr);
}

/* recycle=node: a program's table, made once; nobody writes to it. */
static uint8_t *table_of(struct scene *s, const struct scene_chain *ch,
			 uint64_t iova)
{
	static uint8_t *made[2][2][2][2][ODRP_WIRE_NR_CHAINS];
	const struct wrc_prog *prog = &ch->prog;
	uint8_t *own, **table = &made[wrc_is_keyed(prog)][prog->fences]
				     [wrc_owns(prog)][prog->strict][prog->chain];

	if (s->cfg.spoil) {
		own = block(s, ch->geom.table_len);
		wrc_table_fill(prog, &ch->geom, iova, own);
		return own;
	}
	if (!*table) {
		*table = aligned_alloc(PAGE, ch->geom.table_len);
		assert_non_null(*table);
		wrc_table_fill(prog, &ch->geom, iova, *table);
	}
	return *table;
}

static void bind_table(struct scene *s, struct scene_chain *ch, uint32_t pdn)
{
	struct wrc_bind *bind = &ch->bind;

	if (!ch->prog.node)
		return;
	bind->table_iova = WRC_TABLE_ALIGN;
	bind->table = table_of(s, ch, bind->table_iova);
	assert_int_equal(snic_mkey_reg(s->nic, pdn, (void *)bind->table,
				       ch->geom.table_len, bind->table_iova,
				       SNIC_REMOTE_READ, &bind->table_key), 0);
}

/* ---- chains -------------------------------------------------------------------- */

static void arm(struct scene *s, struct scene_chain *ch)
{
	unsigned int rules = WRC_ALL_RULES;
	char why[WRC_WHY_MAX] = "";

	if (s->cfg.spoil)
		rules &= ~(1u << WRC_RULE_KEYED);
	assert_int_equal(wrc_image_write(&ch->prog, &ch->geom, &ch->bind,
					 ch->arena), 0);
	if (wrc_check_rules(&ch->prog, &ch->geom, &ch->bind, ch->arena, rules,
			    why))
		fail_msg("%s: %s", ch->prog.name, why);
	connect_qp(s, ch->loop, ch->far->qpn);
	if (ch->far != ch->loop)
		connect_qp(s, ch->far, ch->loop->qpn);
	connect_qp(s, ch->node, ch->peer->qpn);
	connect_qp(s, ch->peer, ch->node->qpn);
	assert_int_equal(snic_qp_doorbell(s->nic, ch->loop->qpn,
					  ch->geom.start_bb), 0);
}

static void build(const struct scene *s, enum odrp_wire_chain kind,
		  struct scene_chain *ch)
{
	bool looks = s->cfg.looks && kind == ODRP_WIRE_LOAD;
	struct wrc_opts opts = {
		.strict_index = s->cfg.strict,
		.variant = s->cfg.keyed ? WRC_V_KEYED :
			   s->cfg.exchange && !looks ? WRC_V_EXCHANGE :
						       WRC_V_OURS,
		.recycle = s->cfg.node ? WRC_RECYCLE_NODE :
					 WRC_RECYCLE_CLIENT,
		.order = s->cfg.fence ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
	};

	assert_int_equal(wrc_any_build(kind, &opts, &ch->prog), 0);
	if (s->cfg.spoil)
		s->cfg.spoil(&ch->prog);
	assert_int_equal(wrc_geom_init(&ch->prog, SCENE_DEPTH, &ch->geom), 0);
	assert_true(wrc_words(&ch->prog, &ch->geom, ch->words) >= 0);
}

static void make_chain(struct scene *s, unsigned int nr, const uint32_t *tt_key)
{
	const struct scene_chain_cfg *cfg = &s->cfg.chain[nr];
	struct scene_chain *ch = &s->chain[nr];
	uint32_t pdn = s->keys[cfg->cnode].pdn;
	unsigned int i;

	build(s, cfg->kind, ch);
	bind_memory(s, cfg->cnode, tt_key[cfg->cnode], &ch->bind);
	for (i = 0; i < scene_registers(s, nr); i++)
		ch->pages[i] = new_page(s, cfg->cnode);
	ch->bind.pages = ch->pages;
	ch->bind.fence_orders = s->cfg.fence;
	ch->arena = block(s, ch->geom.arena_len);
	scene_watch(s, ch->arena, ch->geom.arena_len);
	ch->bind.arena_iova = (uintptr_t)ch->arena;
	ch->bind.arena_key = key_for(s, pdn, ch->arena, ch->geom.arena_len,
				     (uintptr_t)ch->arena, access_of(s));
	if (s->cfg.keyed)
		ch->bind.arena_rkey = key(s, s->pdn, ch->arena,
					  ch->geom.arena_len,
					  (uintptr_t)ch->arena);
	ch->buf = block(s, ch->geom.buf_len ? ch->geom.buf_len : PAGE);
	watch_pages(s, ch->buf, ch->geom.buf_len / PAGE);
	ch->bind.buf_iova = (uintptr_t)ch->buf;
	ch->bind.buf_key = key_for(s, pdn, ch->buf,
				   ch->geom.buf_len ? ch->geom.buf_len : PAGE,
				   (uintptr_t)ch->buf, access_of(s));
	bind_table(s, ch, s->pdn);
	make_node(s, ch, pdn);
	make_client(s, ch);
	arm(s, ch);
}

void *scene_insn(struct scene *s, unsigned int chain, unsigned int insn,
		 unsigned int instance)
{
	struct scene_chain *ch = &s->chain[chain];

	return ch->arena + wrc_insn_off(&ch->prog, &ch->geom, insn, instance);
}

/* ---- moves ---------------------------------------------------------------------- */

static size_t put_page(uint8_t *to, uint64_t word)
{
	memset(to, 0, PAGE);
	memcpy(to, &word, sizeof(word));
	return PAGE;
}

/* Request r of its connection, as any client makes it. */
static size_t compose(struct scene *s, struct scene_chain *ch, uint32_t r,
		      unsigned int nr)
{
	const struct scene_req *q = &s->cfg.req[nr];
	uint64_t in = q->astray ? 0 : (uintptr_t)ch->client + CL_IN;
	struct odrp_wire_req req = {
		.tt_addr = htobe64(q->slot * 8), .id = htobe32(nr),
		.raddr_hi = htobe32(in >> 32), .raddr_lo = htobe32((uint32_t)in),
		.rkey = htobe32(ch->client_key),
	};
	uint64_t word = scene_word(s->cfg.chain[q->chain].cnode, q->tag);
	uint8_t *to = (uint8_t *)ch->client + CL_MSG;
	bool page = ch->prog.page;
	size_t len = sizeof(req);
	unsigned int i;

	memcpy(to, &req, len);
	for (i = 0; i < ch->prog.nr_words; i++) {
		const struct wrc_word_rule *w = &ch->words[i];
		uint32_t v = be16toh(w->base), width = ch->prog.word[i].width;
		__be32 be;

		/* What has no room before the page comes behind it. */
		if (page && ch->prog.word[i].off > ch->prog.req_len) {
			len += put_page(to + len, word);
			page = false;
		}
		if (w->kind <= WRC_WORD_DBR)	/* one that counts */
			v += r * w->step;
		v &= w->kind == WRC_WORD_WAIT ? WRC_WQE_WAIT_MASK :
						      WRC_WQE_EN_MASK;
		be = htobe32(v);
		memcpy(to + len, (uint8_t *)&be + sizeof(be) - width, width);
		len += width;
	}
	return page ? len + put_page(to + len, word) : len;
}

static void ask(struct scene *s, unsigned int nr)
{
	unsigned int c = s->cfg.req[nr].chain;
	struct scene_chain *ch = &s->chain[c];
	bool foreign = scene_takes_foreign(s, c);
	uint32_t taken = ch->node->rq_ci;
	uint32_t r = s->st.sent[c];
	struct wrc_wr wr = { .op = WRC_WQE_SEND, .shape = WRC_WQE_SEND,
			     .index = r, .qpn = ch->peer->qpn, .nr_sge = 1 };

	wr.sge[0].len = compose(s, ch, r, nr) - s->cfg.req[nr].cut;
	wr.sge[0].lkey = ch->client_key;
	wr.sge[0].addr = (uintptr_t)ch->client + CL_MSG;
	if (wrc_encode(&wr, (uint8_t *)ch->client + CL_SQ +
			    r % SCENE_DEPTH * WRC_WQE_BB, WRC_WQE_BB) < 0)
		s->st.wrong = "a request does not fit";
	s->st.order[c][s->st.sent[c]++] = nr;
	s->st.req_sent[nr] = true;
	snic_qp_doorbell(s->nic, ch->peer->qpn, r + 1);
	if (!snic_sq_run_qp(ch->peer))
		s->st.wrong = "a request was not taken";
	if (foreign && ch->node->rq_ci != taken)
		s->st.wrong = "I3: a page was touched that is not its CNode's";
}

/* The answers that a move has brought. */
static void look_for_answer(struct scene *s, unsigned int c, uint32_t before)
{
	struct scene_chain *ch = &s->chain[c];
	const struct wrc_cqe *cqe = ch->peer_rcq->attr.buf;
	uint64_t word = ch->client[CL_IN / sizeof(uint64_t)];

	if (word != NO_PAGE)
		scene_brought(s, c, word);
	if (ch->peer_rcq->count == before || ch->peer->state == SNIC_QP_ERR)
		return;
	cqe += before & ((1u << LOG_CQ) - 1);
	scene_answered(s, c, be32toh(cqe->imm));
}

static void run(struct scene *s, unsigned int c, struct snic_qp *qp)
{
	uint32_t before = s->chain[c].peer_rcq->count;
	bool foreign = scene_runs_foreign(s, c, qp);
	uint16_t at = qp->sq_ci;

	s->chain[c].client[CL_IN / sizeof(uint64_t)] = NO_PAGE;
	if (qp == s->chain[c].node || !scene_run_umr(s, c))
		snic_sq_run_qp(qp);
	if (foreign && qp->sq_ci != at)
		s->st.wrong = "I3: a page was touched that is not its CNode's";
	look_for_answer(s, c, before);
}

static void apply(void *arg, uint16_t move)
{
	struct scene *s = arg;
	unsigned int nr = move & 0xff, c;

	switch (move >> 8) {
	case MOVE_SEND:
		ask(s, nr);
		break;
	case MOVE_LOOP:
		run(s, nr, s->chain[nr].loop);
		break;
	case MOVE_LAND:
		snic_land_one(s->chain[nr].loop);
		break;
	case MOVE_PASS:
		scene_pass(s->chain[nr].loop);
		break;
	case MOVE_NODE:
		run(s, nr, s->chain[nr].node);
		break;
	case MOVE_BREAK:
		snic_qp_error(s->nic, s->chain[nr].node->qpn);
		s->st.broken[nr] = true;
		s->st.breaks++;
		break;
	case MOVE_AGENT:
		scene_agent_apply(s, nr);
		break;
	default:
		if (s->agent) {
			scene_agent_stop(s, nr);
			break;
		}
		snic_qp_error(s->nic, s->chain[nr].node->qpn);
		snic_qp_error(s->nic, s->chain[nr].loop->qpn);
		s->st.stopped[nr] = true;
	}
	snic_cq_spread_errors(s->nic);
	scene_land_umrs(s);
	for (c = 0; c < s->cfg.nr_chains; c++)
		if (s->cfg.may_fail &&
		    (s->chain[c].node->state == SNIC_QP_ERR ||
		     s->chain[c].loop->state == SNIC_QP_ERR))
			s->st.broken[c] = true;
}

static void say(void *arg, uint16_t move, char *ret_text, size_t len)
{
	static const char *const name[] = {
		[MOVE_SEND] = "send", [MOVE_LOOP] = "loop",
		[MOVE_LAND] = "land", [MOVE_PASS] = "pass",
		[MOVE_NODE] = "answer",
		[MOVE_BREAK] = "break", [MOVE_STOP] = "stop",
	};
	struct scene *s = arg;
	unsigned int nr = move & 0xff;
	unsigned int c = move >> 8 == MOVE_SEND ? s->cfg.req[nr].chain : nr;

	if (move >> 8 == MOVE_AGENT) {
		snprintf(ret_text, len, "agent: %s", scene_agent_say(nr));
		return;
	}
	snprintf(ret_text, len, "%s %u (%s of CNode %u)", name[move >> 8], nr,
		 s->chain[c].prog.name, s->cfg.chain[c].cnode);
}

static const char *wrong(void *arg, bool quiet)
{
	return scene_wrong(arg, quiet);
}

/* ---- the state --------------------------------------------------------------------- */

uint64_t scene_mix_qp(uint64_t h, const struct snic_qp *qp)
{
	uint64_t v[3] = {
		qp->state | scene_ready(qp) << 8 | qp->sq_stage << 16 |
			(uint64_t)qp->sq_ci << 32 | (uint64_t)qp->sq_limit << 48,
		qp->rq_ci | (uint64_t)qp->syndrome << 32 |
			(uint64_t)!!qp->waiting_cq << 40,
		qp->state == SNIC_QP_ERR ? qp->sq_flushed : 0,
	};

	h = explore_mix(h, v, sizeof(v));
	/* Fetched, and held back. */
	if (qp->sq_stage != SNIC_SQ_IDLE)
		h = explore_mix(h, qp->sq_raw, sizeof(qp->sq_raw) & ~7ul);
	if (qp->early)
		h = explore_mix(h, qp->early,
				(size_t)WRC_WQE_BB << qp->attr.log_sq);
	return scene_mix_landings(h, qp);
}

static uint64_t mix_pages(uint64_t h, const uint8_t *pages, unsigned int nr)
{
	while (nr--)
		h = explore_mix(h, pages + nr * PAGE, sizeof(uint64_t));
	return h;
}

static uint64_t hash(void *arg)
{
	struct scene *s = arg;
	struct { struct scene_state st; uint64_t end; } st;
	uint64_t h = 1;
	unsigned int c;

	memset(&st, 0, sizeof(st));
	memcpy(&st.st, &s->st, sizeof(st.st));
	h = explore_mix(h, &st, sizeof(st));
	h = mix_pages(h, s->pool, s->nr_pages);
	for (c = 0; c < SCENE_CNODES; c++) {
		h = explore_mix(h, s->tt[c], SCENE_SLOTS * sizeof(uint64_t));
		h = explore_mix(h, (const void *)s->ring[c].slot,
				scene_ring_len(s) + COUNTERS);
	}
	for (c = 0; c < s->cfg.nr_chains; c++) {
		struct scene_chain *ch = &s->chain[c];
		uint64_t v = ch->loop_scq->count |
			     (uint64_t)ch->node_rcq->count << 32;

		h = explore_mix(h, &v, sizeof(v));
		v = ch->prog.client_cqes ? ch->node_scq->count : 0;
		h = explore_mix(h, &v, sizeof(v));
		h = explore_mix(h, ch->arena, ch->geom.arena_len);
		h = mix_pages(h, ch->buf, ch->geom.buf_len / PAGE);
		h = scene_mix_qp(h, ch->loop);
		h = scene_mix_qp(h, ch->node);
		h = scene_mix_qp(h, ch->peer);
		if (ch->far != ch->loop)
			h = scene_mix_qp(h, ch->far);
	}
	if (s->cfg.keyed)
		h = scene_keys_hash(s, h);
	return s->agent ? scene_agent_hash(s, h) : h;
}

void scene_open(struct scene *s, const struct scene_config *cfg)
{
	struct snic_config nic = {
		.mac = { 2, 0, 0, 0, 0, 1 }, .ip = htonl(0x0a000001),
		.prefix_len = 24, .mtu = 1500, .seed = 1, .fetch = cfg->fetch,
		.land = cfg->late ? SNIC_LAND_LATE : SNIC_LAND_AT_ONCE,
		.relaxed_index = !cfg->strict,
	};
	uint32_t tt_key[SCENE_CNODES];
	unsigned int c;

	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	s->explore = (struct explore){
		.arg = s, .moves = scene_moves, .apply = apply, .wrong = wrong,
		.hash = hash, .say = say,
	};
	assert_int_equal(snic_new(&nic, &s->nic), 0);
	assert_int_equal(nic_soft_adopt(s->nic, &nic, &s->agents_nic), 0);
	assert_int_equal(snic_pd_alloc(s->nic, &s->pdn), 0);
	scene_keys_open(s);
	node_memory(s);
	scene_keys_map(s);
	for (c = 0; c < SCENE_CNODES; c++)
		tt_key[c] = key(s, s->pdn, s->tt[c],
				SCENE_SLOTS * sizeof(uint64_t), 0);
	for (c = 0; c < cfg->nr_chains; c++)
		make_chain(s, c, tt_key);
	watch_pages(s, s->pool, s->nr_pages);
	if (cfg->agent)
		scene_agent_open(s);
	scene_watch(s, s->nic, sizeof(*s->nic));
	scene_watch(s, &s->st, sizeof(s->st));
}

void scene_close(struct scene *s)
{
	if (s->agent)
		scene_agent_close(s);
	s->agents_nic->ops->close(s->agents_nic);
	snic_free(s->nic);
	scene_keys_close(s);
	while (s->nr_blocks)
		free(s->blocks[--s->nr_blocks]);
}
