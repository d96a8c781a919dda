// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The compute node's side of the wire protocol, as docs/wire.md tells it.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cnode.h"

#define PAGE		ODRP_WIRE_PAGE_SIZE
#define REQ_ROOM	256	/* struct odrp_wire_req and words */
#define MAX_RAW		(PAGE + REQ_ROOM)
#define MAX_TAGS	1024
#define ADMIN_LOG_SQ	3
#define ADMIN_LOG_CQ	5

/* One outstanding request. */
struct tag {
	bool busy, sent, answered;
	uint64_t slot, cookie;
};

/**
 * struct conn - a queue pair to the memory node
 * @requests:	ever started: r of struct odrp_wire_word
 * @posted, @completed: WQEs of the send queue
 * @tag_of:	by place in the send queue
 * @bufs:	a request and a page for each tag
 */
struct conn {
	uint32_t cm_id, qpn;
	bool up, broken;
	uint16_t depth, req_len;
	unsigned int nr_words, nr_busy, log_sq, log_rq;
	struct odrp_wire_word words[ODRP_WIRE_MAX_WORDS];
	uint64_t requests;
	uint32_t posted, completed, received;
	struct tag *tags;
	uint16_t *tag_of;
	uint8_t *bufs;
	uint32_t key;
	uint8_t *sq, *rq;
	struct wrc_dbr *dbr;
};

struct admin_mem {
	struct odrp_wire_beat beat;
	struct odrp_wire_grant grant;
};

struct cnode {
	struct cnode_config cfg;
	uint32_t pdn, cqn, admin_cqn;
	struct wrc_cqe *cq, *admin_cq;
	struct conn admin;
	struct conn *conns;		/* [queue * 4 + chain] */
	unsigned int nr_conns;
	struct admin_mem *mem;
	uint32_t mem_key;
	struct cnode_info info;
	uint64_t beat_raddr, epoch;
	uint32_t beat_rkey;
};

static struct snic *enter(const struct cnode_config *cfg)
{
	if (cfg->rt)
		snic_rt_lock(cfg->rt);
	return cfg->nic;
}

static int leave(const struct cnode_config *cfg, int r)
{
	if (cfg->rt)
		snic_rt_unlock(cfg->rt);
	return r;
}

static unsigned int log2_up(unsigned int n)
{
	unsigned int log = 0;

	while (1u << log < n)
		log++;
	return log;
}

static void *zalloc(size_t len)
{
	size_t room = (len + 63) / 64 * 64;
	void *p = aligned_alloc(64, room);

	if (p)
		memset(p, 0, room);
	return p;
}

static struct conn *conn_of(const struct cnode *c, unsigned int queue,
			    enum odrp_wire_chain chain)
{
	return &c->conns[queue * ODRP_WIRE_NR_CHAINS + chain];
}

static bool is_store(unsigned int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* ---- connections ------------------------------------------------------------- */

static void conn_free(struct cnode *c, struct conn *n)
{
	if (n->qpn)
		leave(&c->cfg, snic_qp_destroy(enter(&c->cfg), n->qpn));
	if (n->key)
		leave(&c->cfg, snic_mkey_dereg(enter(&c->cfg), n->key));
	free(n->tags);
	free(n->tag_of);
	free(n->bufs);
	free(n->sq);
	free(n->rq);
	free(n->dbr);
	memset(n, 0, sizeof(*n));
}

/* Receive entries without memory: they only count WRITE_IMMs. */
static void fill_rq(struct conn *n)
{
	struct wrc_wqe_data *d = (struct wrc_wqe_data *)n->rq;
	unsigned int i;

	for (i = 0; i < 1u << n->log_rq; i++)
		d[i].lkey = htobe32(WRC_WQE_END_LKEY);
	n->dbr->rcv = htobe32((1u << n->log_rq) & 0xffff);
}

static int conn_init(struct cnode *c, struct conn *n, unsigned int index,
		     unsigned int depth, unsigned int access)
{
	size_t bufs = (size_t)depth * (REQ_ROOM + PAGE);
	struct snic_qp_attr attr = {
		.pdn = c->pdn, .user_index = index, .access = access,
	};
	int r;

	attr.scqn = attr.rcqn = index ? c->cqn : c->admin_cqn;

	memset(n, 0, sizeof(*n));
	n->log_sq = index ? log2_up(2 * depth) : ADMIN_LOG_SQ;
	n->log_rq = log2_up(depth + 1);
	n->tags = calloc(depth, sizeof(*n->tags));
	n->tag_of = calloc(1u << n->log_sq, sizeof(*n->tag_of));
	n->bufs = zalloc(bufs);
	n->sq = zalloc(64u << n->log_sq);
	n->rq = zalloc(16u << n->log_rq);
	n->dbr = zalloc(64);
	if (!n->tags || !n->tag_of || !n->bufs || !n->sq || !n->rq || !n->dbr)
		return -ENOMEM;
	fill_rq(n);
	attr.sq = n->sq;
	attr.log_sq = n->log_sq;
	attr.rq = n->rq;
	attr.log_rq = n->log_rq;
	attr.log_rq_stride = 4;
	attr.dbr = n->dbr;
	r = leave(&c->cfg, snic_mkey_reg(enter(&c->cfg), c->pdn, n->bufs, bufs,
					 (uintptr_t)n->bufs, SNIC_LOCAL_WRITE |
					 SNIC_REMOTE_WRITE, &n->key));
	if (r)
		return r;
	n->depth = depth;
	return leave(&c->cfg, snic_qp_create(enter(&c->cfg), &attr, &n->qpn));
}

static void on_event(struct cnode *c, const struct snic_cm_event *ev)
{
	unsigned int i;

	for (i = 0; i <= c->nr_conns; i++) {
		struct conn *n = i ? &c->conns[i - 1] : &c->admin;

		if (n->cm_id && n->cm_id == ev->id) {
			if (ev->type != SNIC_CM_ESTABLISHED)
				n->broken = true;
			return;
		}
	}
}

static int take_refusal(const struct snic_cm_event *ev,
			struct cnode_refusal *no)
{
	struct odrp_wire_reject rej;

	if (ev->type == SNIC_CM_UNREACHABLE)
		return -EHOSTUNREACH;
	if (ev->type == SNIC_CM_REJECTED && ev->priv_len >= sizeof(rej)) {
		memcpy(&rej, ev->priv, sizeof(rej));
		if (be32toh(rej.magic) == ODRP_WIRE_MAGIC) {
			no->status = be16toh(rej.status);
			no->detail = be64toh(rej.detail);
		}
	}
	return -ECONNREFUSED;
}

static void release(const struct cnode_config *cfg, uint32_t id)
{
	leave(cfg, snic_cm_release(enter(cfg), id));
}

/* Sends the REQ and waits for what comes back: *ev. */
static int connect_to(const struct cnode_config *cfg, struct cnode *c,
		      uint32_t qpn, const void *priv, size_t len,
		      struct snic_cm_event *ev, uint32_t *ret_id,
		      struct cnode_refusal *no)
{
	const struct snic_cm_param param = {
		.qpn = qpn, .priv = priv, .priv_len = len,
		.retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 6,
	};
	uint32_t id;
	int r;

	r = leave(cfg, snic_cm_connect(enter(cfg), cfg->ip, cfg->port, &param,
				       &id));
	if (r)
		return r;
	for (;;) {
		r = leave(cfg, snic_cm_poll(enter(cfg), ev));
		if (!r && ev->id == id)
			break;
		if (!r && c)
			on_event(c, ev);
		if (r && !cfg->pump(cfg->arg)) {
			release(cfg, id);
			return -ETIMEDOUT;
		}
	}
	if (ev->type == SNIC_CM_ESTABLISHED) {
		*ret_id = id;
		return 0;
	}
	r = take_refusal(ev, no);
	release(cfg, id);
	return r;
}

void cnode_hello(struct odrp_wire_hello *ret_hello, enum odrp_wire_role role)
{
	*ret_hello = (struct odrp_wire_hello){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.role = role,
		.page_shift = ODRP_WIRE_PAGE_SHIFT,
	};
}

/* ---- admin -------------------------------------------------------------------- */

static int take_admin_accept(struct cnode *c, const struct snic_cm_event *ev)
{
	struct odrp_wire_admin_accept a;

	if (ev->priv_len < sizeof(a))
		return -EPROTO;
	memcpy(&a, ev->priv, sizeof(a));
	if (be32toh(a.magic) != ODRP_WIRE_MAGIC ||
	    be16toh(a.version) != ODRP_WIRE_VERSION)
		return -EPROTO;
	c->info = (struct cnode_info){
		.session = be64toh(a.session), .token = be64toh(a.token),
		.nr_slots = be64toh(a.nr_slots), .lease = be64toh(a.lease),
		.queues = be16toh(a.max_queues), .depth = be16toh(a.depth),
		.beat_ms = be32toh(a.beat_ms), .dead_ms = be32toh(a.dead_ms),
	};
	c->beat_raddr = be64toh(a.beat_raddr);
	c->beat_rkey = be32toh(a.beat_rkey);
	return 0;
}

static int open_admin(struct cnode *c, struct cnode_refusal *no)
{
	struct odrp_wire_hello h;
	struct snic_cm_event ev;
	int r;

	r = conn_init(c, &c->admin, 0, 1, SNIC_REMOTE_WRITE);
	if (r)
		return r;
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(c->cfg.queues);
	h.depth = htobe16(c->cfg.depth);
	h.nr_slots = htobe64(c->cfg.nr_slots);
	r = connect_to(&c->cfg, c, c->admin.qpn, &h, sizeof(h), &ev,
		       &c->admin.cm_id, no);
	if (r)
		return r;
	c->admin.up = true;
	return take_admin_accept(c, &ev);
}

/* ---- I/O ---------------------------------------------------------------------- */

static int take_io_accept(struct conn *n, const struct snic_cm_event *ev,
			  unsigned int chain)
{
	struct odrp_wire_io_accept a;

	if (ev->priv_len < sizeof(a))
		return -EPROTO;
	memcpy(&a, ev->priv, sizeof(a));
	if (be32toh(a.magic) != ODRP_WIRE_MAGIC || a.chain != chain ||
	    a.nr_words > ODRP_WIRE_MAX_WORDS ||
	    ev->priv_len < sizeof(a) + a.nr_words * sizeof(n->words[0]) ||
	    be16toh(a.depth) > n->depth || be16toh(a.req_len) > REQ_ROOM)
		return -EPROTO;
	memcpy(n->words, ev->priv + sizeof(a),
	       a.nr_words * sizeof(n->words[0]));
	n->nr_words = a.nr_words;
	n->depth = be16toh(a.depth);
	n->req_len = be16toh(a.req_len);
	return 0;
}

static int open_io(struct cnode *c, unsigned int queue, unsigned int chain,
		   struct cnode_refusal *no)
{
	struct conn *n = conn_of(c, queue, chain);
	struct odrp_wire_hello h;
	struct snic_cm_event ev;
	int r;

	r = conn_init(c, n, n - c->conns + 1, c->info.depth,
		      SNIC_REMOTE_WRITE);
	if (r)
		return r;
	cnode_hello(&h, ODRP_WIRE_IO);
	h.chain = chain;
	h.queue = htobe16(queue);
	h.depth = htobe16(c->info.depth);
	h.session = htobe64(c->info.session);
	h.token = htobe64(c->info.token);
	r = connect_to(&c->cfg, c, n->qpn, &h, sizeof(h), &ev, &n->cm_id, no);
	if (r)
		return r;
	n->up = true;
	return take_io_accept(n, &ev, chain);
}

static int make_shared(struct cnode *c)
{
	unsigned int log_cq = log2_up(c->cfg.queues * ODRP_WIRE_NR_CHAINS *
				      4 * (c->cfg.depth + 1) + 64);
	const struct snic_cq_attr attr = {
		.buf = c->cq = zalloc(sizeof(struct wrc_cqe) << log_cq),
		.log_size = log_cq,
	};
	const struct snic_cq_attr admin_attr = {
		.buf = c->admin_cq = zalloc(sizeof(struct wrc_cqe) <<
					    ADMIN_LOG_CQ),
		.log_size = ADMIN_LOG_CQ,
	};
	struct snic *nic;
	int r;

	c->mem = zalloc(sizeof(*c->mem));
	if (!c->mem || !c->cq || !c->admin_cq)
		return -ENOMEM;
	nic = enter(&c->cfg);
	r = snic_pd_alloc(nic, &c->pdn);
	if (!r)
		r = snic_cq_create(nic, &attr, &c->cqn);
	if (!r)
		r = snic_cq_create(nic, &admin_attr, &c->admin_cqn);
	if (!r)
		r = snic_mkey_reg(nic, c->pdn, c->mem, sizeof(*c->mem),
				  (uintptr_t)c->mem, SNIC_LOCAL_WRITE |
				  SNIC_REMOTE_WRITE, &c->mem_key);
	return leave(&c->cfg, r);
}

static int open_all_io(struct cnode *c, struct cnode_refusal *no)
{
	unsigned int q, chain;
	int r;

	c->nr_conns = c->info.queues * ODRP_WIRE_NR_CHAINS;
	c->conns = calloc(c->nr_conns, sizeof(*c->conns));
	if (!c->conns)
		return -ENOMEM;
	for (q = 0; q < c->info.queues; q++) {
		for (chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			if (c->cfg.chains && !(c->cfg.chains & 1u << chain))
				continue;
			r = open_io(c, q, chain, no);
			if (r)
				return r;
		}
	}
	return 0;
}

int cnode_open(const struct cnode_config *cfg, struct cnode **ret_node,
	       struct cnode_refusal *ret_no)
{
	struct cnode *c = calloc(1, sizeof(*c));
	int r;

	memset(ret_no, 0, sizeof(*ret_no));
	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	r = make_shared(c);
	if (!r)
		r = open_admin(c, ret_no);
	if (!r)
		r = open_all_io(c, ret_no);
	if (r) {
		cnode_close(c);
		return r;
	}
	*ret_node = c;
	return 0;
}

static void hang_up(struct cnode *c, struct conn *n, bool say)
{
	if (!n->cm_id)
		return;
	if (say)
		leave(&c->cfg, snic_cm_disconnect(enter(&c->cfg), n->cm_id));
	release(&c->cfg, n->cm_id);
	n->cm_id = 0;
}

static void close_all(struct cnode *c, bool say)
{
	unsigned int i;

	for (i = 0; i < c->nr_conns; i++)
		hang_up(c, &c->conns[i], say);
	hang_up(c, &c->admin, say);
	for (i = 0; i < c->nr_conns; i++)
		conn_free(c, &c->conns[i]);
	conn_free(c, &c->admin);
	if (c->mem_key)
		leave(&c->cfg, snic_mkey_dereg(enter(&c->cfg), c->mem_key));
	if (c->admin_cqn)
		leave(&c->cfg, snic_cq_destroy(enter(&c->cfg), c->admin_cqn));
	if (c->cqn)
		leave(&c->cfg, snic_cq_destroy(enter(&c->cfg), c->cqn));
	if (c->pdn)
		leave(&c->cfg, snic_pd_free(enter(&c->cfg), c->pdn));
	free(c->conns);
	free(c->mem);
	free(c->cq);
	free(c->admin_cq);
	free(c);
}

void cnode_close(struct cnode *c)
{
	close_all(c, true);
}

void cnode_die(struct cnode *c)
{
	close_all(c, false);
}

int cnode_reconnect(struct cnode *c, unsigned int queue,
		    enum odrp_wire_chain chain, struct cnode_refusal *ret_no)
{
	struct conn *n = conn_of(c, queue, chain);
	int r;

	memset(ret_no, 0, sizeof(*ret_no));
	hang_up(c, n, true);
	conn_free(c, n);
	r = open_io(c, queue, chain, ret_no);
	if (r) {
		hang_up(c, n, true);
		conn_free(c, n);
		n->broken = true;
	}
	return r;
}

int cnode_try_hello(const struct cnode_config *cfg, const void *priv,
		    size_t len, struct cnode_refusal *ret_no)
{
	struct cnode *c = calloc(1, sizeof(*c));
	struct snic_cm_event ev;
	int r;

	memset(ret_no, 0, sizeof(*ret_no));
	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	r = make_shared(c);
	if (!r)
		r = conn_init(c, &c->admin, 0, 1, 0);
	if (!r)
		r = connect_to(cfg, c, c->admin.qpn, priv, len, &ev,
			       &c->admin.cm_id, ret_no);
	cnode_close(c);
	return r;
}

/* ---- requests --------------------------------------------------------------------- */

static void put_be(uint8_t *p, uint64_t v, unsigned int len)
{
	while (len--) {
		p[len] = v;
		v >>= 8;
	}
}

static size_t put_words(const struct conn *n, uint8_t *p)
{
	static const struct {
		unsigned int len;
		uint64_t mask;
	} kinds[] = {
		[ODRP_WIRE_WORD_INDEX] = { 2, 0xffff },
		[ODRP_WIRE_WORD_ENABLE] = { 4, 0xffff },
		[ODRP_WIRE_WORD_WAIT] = { 4, 0xffffff },
		[ODRP_WIRE_WORD_DBR] = { 4, 0xffff },
	};
	unsigned int i;
	size_t len = 0;

	for (i = 0; i < n->nr_words; i++) {
		const struct odrp_wire_word *w = &n->words[i];
		uint64_t v = be16toh(w->base) + n->requests * w->step;

		put_be(p + len, v & kinds[w->kind].mask, kinds[w->kind].len);
		len += kinds[w->kind].len;
	}
	return len;
}

/* One data segment; signaled.  The caller knows that there is room. */
static int post(struct cnode *c, struct conn *n, uint8_t opcode,
		uint64_t addr, uint32_t key, uint32_t len, uint64_t raddr,
		uint32_t rkey, uint16_t tag)
{
	unsigned int place = n->posted & ((1u << n->log_sq) - 1);
	uint8_t *wqe = n->sq + 64 * place;
	struct wrc_wqe_ctrl *ctrl = (void *)wqe;
	struct wrc_wqe_data *data = (void *)(wqe + sizeof(*ctrl));
	struct wrc_wqe_raddr *remote = (void *)(wqe + sizeof(*ctrl));

	memset(wqe, 0, 64);
	ctrl->opcode = opcode;
	put_be(ctrl->index, n->posted & 0xffff, 2);
	put_be(ctrl->qpn, n->qpn, 3);
	ctrl->fm_ce_se = WRC_WQE_CE_ALWAYS;
	ctrl->ds = 2;
	if (opcode == WRC_WQE_WRITE) {
		remote->addr = htobe64(raddr);
		remote->rkey = htobe32(rkey);
		ctrl->ds = 3;
		data++;
	}
	data->byte_count = htobe32(len);
	data->lkey = htobe32(key);
	data->addr = htobe64(addr);
	n->tag_of[place] = tag;
	n->posted++;
	n->dbr->snd = htobe32(n->posted & 0xffff);
	return leave(&c->cfg, snic_qp_doorbell(enter(&c->cfg), n->qpn,
					       n->posted));
}

static bool sq_full(const struct conn *n)
{
	return n->posted - n->completed >= 1u << n->log_sq;
}

static int find_tag(const struct conn *n)
{
	unsigned int i;

	for (i = 0; i < n->depth; i++) {
		unsigned int tag = (n->requests + i) % n->depth;

		if (!n->tags[tag].busy)
			return tag;
	}
	return -EAGAIN;
}

static uint8_t *tag_buf(const struct conn *n, unsigned int tag)
{
	return n->bufs + (size_t)tag * (REQ_ROOM + PAGE);
}

int cnode_submit(struct cnode *c, unsigned int queue,
		 enum odrp_wire_chain chain, uint64_t slot, const void *page,
		 uint64_t cookie)
{
	struct conn *n = conn_of(c, queue, chain);
	struct odrp_wire_req req = { .tt_addr = htobe64(slot * 8) };
	uint32_t len = n->req_len;
	uint64_t buf;
	uint8_t *p;
	int tag;

	if (!n->up || n->broken)
		return -ENOTCONN;
	if (chain == ODRP_WIRE_UNMAPPED_STORE && !c->cfg.ignore_lease &&
	    c->info.used >= c->info.lease)
		return -EDQUOT;
	tag = find_tag(n);
	if (tag < 0 || sq_full(n))
		return -EAGAIN;
	p = tag_buf(n, tag);
	buf = (uintptr_t)p + REQ_ROOM;
	req.id = htobe32(tag);
	req.raddr_hi = htobe32(buf >> 32);
	req.raddr_lo = htobe32(buf);
	req.rkey = htobe32(n->key);
	memcpy(p, &req, sizeof(req));
	if (sizeof(req) + put_words(n, p + sizeof(req)) != n->req_len)
		return -EPROTO;
	if (is_store(chain)) {
		memcpy(p + n->req_len, page, PAGE);
		len += PAGE;
	}
	n->tags[tag] = (struct tag){
		.busy = true, .slot = slot, .cookie = cookie,
	};
	n->nr_busy++;
	n->requests++;
	if (chain == ODRP_WIRE_UNMAPPED_STORE)
		c->info.used++;
	return post(c, n, WRC_WQE_SEND, (uintptr_t)p, n->key, len, 0, 0, tag);
}

int cnode_send_raw(struct cnode *c, unsigned int queue,
		   enum odrp_wire_chain chain, const void *bytes, size_t len)
{
	struct conn *n = conn_of(c, queue, chain);
	uint8_t *p = tag_buf(n, 0);

	if (!n->up || n->broken)
		return -ENOTCONN;
	if (sq_full(n))
		return -EAGAIN;
	if (len > MAX_RAW)
		return -EMSGSIZE;
	memcpy(p, bytes, len);
	return post(c, n, WRC_WQE_SEND, (uintptr_t)p, n->key, len, 0, 0,
		    MAX_TAGS);
}

static void settle_tag(struct conn *n, unsigned int tag)
{
	if (n->tags[tag].sent && n->tags[tag].answered) {
		n->tags[tag].busy = false;
		n->nr_busy--;
	}
}

static void on_sent(struct conn *n, const struct wrc_cqe *cqe)
{
	unsigned int mask = (1u << n->log_sq) - 1;
	uint16_t tag = n->tag_of[be16toh(cqe->wqe_counter) & mask];

	n->completed++;
	if (tag < n->depth && n->tags[tag].busy) {
		n->tags[tag].sent = true;
		settle_tag(n, tag);
	}
}

static int on_answer(struct cnode *c, struct conn *n,
		     const struct wrc_cqe *cqe, struct cnode_done *done)
{
	unsigned int index = n - c->conns, tag = be32toh(cqe->imm);
	struct tag *t = &n->tags[tag];

	n->received++;
	n->dbr->rcv = htobe32((n->received + (1u << n->log_rq)) & 0xffff);
	if (tag >= n->depth || !t->busy || t->answered)
		return -EPROTO;
	t->answered = true;
	*done = (struct cnode_done){
		.queue = index / ODRP_WIRE_NR_CHAINS,
		.chain = index % ODRP_WIRE_NR_CHAINS,
		.slot = t->slot, .cookie = t->cookie,
		.page = tag_buf(n, tag) + REQ_ROOM,
	};
	if (done->chain == ODRP_WIRE_INVALIDATE)
		c->info.used--;
	settle_tag(n, tag);
	return 0;
}

static void poll_events(struct cnode *c)
{
	struct snic_cm_event ev;

	while (!leave(&c->cfg, snic_cm_poll(enter(&c->cfg), &ev)))
		on_event(c, &ev);
}

int cnode_poll(struct cnode *c, struct cnode_done *ret_done)
{
	struct wrc_cqe cqe;
	struct conn *n;
	unsigned int index, op;

	while (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), c->cqn, &cqe))) {
		op = cqe.op_own >> 4;
		index = be32toh(cqe.srqn_uidx) & 0xffffff;
		if (op == WRC_CQE_REQ_ERR || op == WRC_CQE_RESP_ERR)
			continue;	/* shows by the queue pair's state */
		if (!index || index > c->nr_conns)
			return -EPROTO;
		n = &c->conns[index - 1];
		if (op == WRC_CQE_REQ)
			on_sent(n, &cqe);
		else if (op == WRC_CQE_RESP_WR_IMM)
			return on_answer(c, n, &cqe, ret_done);
		else
			return -EPROTO;
	}
	poll_events(c);
	return -EAGAIN;
}

unsigned int cnode_outstanding(const struct cnode *c)
{
	unsigned int i, sum = 0;

	for (i = 0; i < c->nr_conns; i++)
		sum += c->conns[i].nr_busy;
	return sum;
}

int cnode_do(struct cnode *c, unsigned int queue, enum odrp_wire_chain chain,
	     uint64_t slot, void *page)
{
	struct cnode_done done;
	int r;

	r = cnode_submit(c, queue, chain, slot, page, 0);
	if (r)
		return r;
	for (;;) {
		r = cnode_poll(c, &done);
		if (!r)
			break;
		if (r != -EAGAIN)
			return r;
		if (cnode_broken(c, queue, chain))
			return -ENOTCONN;
		if (!c->cfg.pump(c->cfg.arg))
			return -ETIMEDOUT;
	}
	if (done.chain != chain || done.slot != slot)
		return -EPROTO;
	if (chain == ODRP_WIRE_LOAD)
		memcpy(page, done.page, PAGE);
	return 0;
}

/* ---- heartbeat --------------------------------------------------------------------- */

static void take_grant(struct cnode *c)
{
	uint64_t epoch = be64toh(c->mem->grant.epoch);

	if (epoch == c->epoch)
		return;
	c->epoch = epoch;
	c->info.lease = be64toh(c->mem->grant.lease);
	c->info.drain = be32toh(c->mem->grant.flags) & ODRP_WIRE_GRANT_DRAIN;
	c->info.grants++;
}

int cnode_beat(struct cnode *c, uint64_t want)
{
	struct odrp_wire_beat *b = &c->mem->beat;
	struct cnode_info *i = &c->info;
	struct wrc_cqe cqe;

	if (!c->admin.up || c->admin.broken)
		return -ENOTCONN;
	while (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), c->admin_cqn,
					    &cqe)))
		c->admin.completed++;
	if (sq_full(&c->admin))
		return -EAGAIN;
	enter(&c->cfg);
	take_grant(c);
	b->beat = htobe64(be64toh(b->beat) + 1);
	b->used = htobe64(i->used);
	b->want = htobe64(want > i->used ? want : i->used);
	b->lease_held = htobe64(i->lease > i->used ? i->lease : i->used);
	b->ctl_raddr = htobe64((uintptr_t)&c->mem->grant);
	b->ctl_rkey = htobe32(c->mem_key);
	leave(&c->cfg, 0);
	return post(c, &c->admin, WRC_WQE_WRITE, (uintptr_t)b, c->mem_key,
		    sizeof(*b), c->beat_raddr, c->beat_rkey, MAX_TAGS);
}

/* ---- looking ------------------------------------------------------------------------ */

void cnode_info(const struct cnode *c, struct cnode_info *ret_info)
{
	*ret_info = c->info;
}

uint64_t cnode_requests(const struct cnode *c, unsigned int queue,
			enum odrp_wire_chain chain)
{
	return conn_of(c, queue, chain)->requests;
}

bool cnode_broken(struct cnode *c, unsigned int queue,
		  enum odrp_wire_chain chain)
{
	struct conn *n = conn_of(c, queue, chain);
	struct snic_qp_info info;

	poll_events(c);
	if (n->broken || !n->up)
		return true;
	if (leave(&c->cfg, snic_qp_query(enter(&c->cfg), n->qpn, &info)) ||
	    info.state == SNIC_QP_ERR)
		n->broken = true;
	return n->broken;
}
