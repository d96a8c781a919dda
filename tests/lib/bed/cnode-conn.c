// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The compute node's connections, from the hello to the end.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cnode-priv.h"

#define MAX_TRIES	1000

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

/* ---- connections ------------------------------------------------------------- */

static void conn_free(struct cnode *c, struct conn *n)
{
	if (n->qpn)
		leave(&c->cfg, snic_qp_destroy(enter(&c->cfg), n->qpn));
	if (n->key)
		leave(&c->cfg, snic_mkey_dereg(enter(&c->cfg), n->key));
	free(n->tags);
	free(n->tag_of);
	free(n->order);
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
	n->order = calloc(MAX_TAGS, sizeof(*n->order));
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

static int poll_nic(const struct cnode_config *cfg, struct snic_cm_event *ev)
{
	return leave(cfg, snic_cm_poll(enter(cfg), ev));
}

/* All that the NIC has to say; the oldest goes if there is no more room. */
static void fill_mail(const struct cnode_config *cfg)
{
	struct cnode_mail *mail = cfg->mail;
	struct snic_cm_event ev;

	while (!poll_nic(cfg, &ev)) {
		if (mail->nr == mail->room)
			memmove(mail->ev, mail->ev + 1, --mail->nr * sizeof(ev));
		mail->ev[mail->nr++] = ev;
	}
}

static bool is_mine(const struct cnode *c, uint32_t id)
{
	unsigned int i;

	if (c->admin.cm_id == id)
		return true;
	for (i = 0; i < c->nr_conns; i++)
		if (c->conns[i].cm_id == id)
			return true;
	return false;
}

/* The next event of that connection (0: none), or of one that c has (NULL: it has none). */
static int next_event(const struct cnode_config *cfg, const struct cnode *c, uint32_t id,
		      struct snic_cm_event *ev)
{
	struct cnode_mail *mail = cfg->mail;
	unsigned int i;

	if (!mail)
		return poll_nic(cfg, ev);
	fill_mail(cfg);
	for (i = 0; i < mail->nr; i++) {
		if (mail->ev[i].id != id && !(c && is_mine(c, mail->ev[i].id)))
			continue;
		*ev = mail->ev[i];
		memmove(&mail->ev[i], &mail->ev[i + 1], (--mail->nr - i) * sizeof(*ev));
		return 0;
	}
	return -EAGAIN;
}

void cnode_events(struct cnode *c)
{
	struct snic_cm_event ev;

	while (!next_event(&c->cfg, c, 0, &ev))
		on_event(c, &ev);
}

/* Is the MAC behind len bytes of the answer to our last request? */
static bool answer_is_proved(const struct proof *p, enum odrp_auth_what what,
			     uint32_t qpn, const struct snic_cm_event *ev, size_t len)
{
	struct odrp_auth_bound bound = auth_bound(&p->ends, qpn);

	bound.what = what;
	bound.counter = htobe64(p->counter);
	return p->handle && ev->priv_len >= len + ODRP_AUTH_MAC &&
	       !auth_check_answer(&p->key, bound, ev->priv, len, ev->priv + len);
}

static int take_refusal(const struct cnode *c, const struct snic_cm_event *ev,
			struct cnode_refusal *no)
{
	struct odrp_wire_reject rej;

	no->proved = c && ev->type == SNIC_CM_REJECTED &&
		     answer_is_proved(&c->proof, ODRP_AUTH_REJ, 0, ev, sizeof(rej));
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
int cnode_connect_to(const struct cnode_config *cfg, struct cnode *c, uint32_t qpn,
	       const void *priv, size_t len, struct snic_cm_event *ev,
	       uint32_t *ret_id, struct cnode_refusal *no)
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
		r = next_event(cfg, c, id, ev);
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
	r = take_refusal(c, ev, no);
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

/* As it is, or signed. */
static int ask(struct cnode *c, uint32_t qpn, const struct odrp_wire_hello *h,
	       struct snic_cm_event *ev, uint32_t *ret_id, struct cnode_refusal *no)
{
	struct odrp_auth_req req;

	if (!c->proof.handle)
		return cnode_connect_to(&c->cfg, c, qpn, h, sizeof(*h), ev, ret_id, no);
	cnode_sign(c, h, qpn, &req);
	return cnode_connect_to(&c->cfg, c, qpn, &req, sizeof(req), ev, ret_id, no);
}

/* ---- admin -------------------------------------------------------------------- */

static uint32_t offered(const struct cnode *c)
{
	return (c->cfg.keyed ? ODRP_WIRE_F_KEYED : 0) |
	       (c->cfg.direct ? ODRP_WIRE_F_DIRECT : 0) |
	       (c->cfg.short_beats ? 0 : ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_KEPT) |
	       (c->cfg.asks ? ODRP_WIRE_F_ASKS : 0) |
	       (c->proof.handle && !c->cfg.bare_beats ? ODRP_WIRE_F_SIGNED : 0);
}

static int take_admin_accept(struct cnode *c, const struct snic_cm_event *ev)
{
	struct odrp_wire_admin_accept a;

	if (ev->priv_len < sizeof(a))
		return -EPROTO;
	if (c->proof.handle && !answer_is_proved(&c->proof, ODRP_AUTH_REP,
						 ev->peer_qpn, ev, sizeof(a)))
		return -EKEYREJECTED;
	memcpy(&a, ev->priv, sizeof(a));
	if (be32toh(a.magic) != ODRP_WIRE_MAGIC ||
	    be16toh(a.version) != ODRP_WIRE_VERSION)
		return -EPROTO;
	c->info = (struct cnode_info){
		.session = be64toh(a.session), .token = be64toh(a.token),
		.nr_slots = be64toh(a.nr_slots), .lease = be64toh(a.lease),
		.queues = be16toh(a.max_queues), .depth = be16toh(a.depth),
		.beat_ms = be32toh(a.beat_ms), .dead_ms = be32toh(a.dead_ms),
		.dead_ms_max = be32toh(a.dead_ms_max),
		.used = c->info.used, .grants = c->info.grants,
		.answers = c->info.answers,
		.keyed = be32toh(a.features) & ODRP_WIRE_F_KEYED,
		.direct = be32toh(a.features) & ODRP_WIRE_F_DIRECT,
		.signs = be32toh(a.features) & ODRP_WIRE_F_SIGNED,
		.long_beats = be32toh(a.features) & ODRP_WIRE_F_LONG_BEAT,
	};
	if (be32toh(a.features) & ~offered(c))
		return -EPROTO;
	c->keys_rkey = be32toh(a.keys_rkey);
	if (c->info.direct)
		c->cfg.chains = 1u << ODRP_WIRE_LOAD | 1u << ODRP_WIRE_MAPPED_STORE;
	/* The accept says the lease; what came before it counts no more. */
	c->epoch = c->info.signs ? 0 : be64toh(c->mem->signed_grant.grant.epoch);
	c->tt_rkey = be32toh(a.tt_rkey);
	c->beat_raddr = be64toh(a.beat_raddr);
	c->beat_rkey = be32toh(a.beat_rkey);
	return 0;
}

static int fetch_keys(struct cnode *c)
{
	uint64_t nr = (c->info.nr_slots + ODRP_WIRE_KEY_SLOTS - 1) /
		      ODRP_WIRE_KEY_SLOTS, i;
	const uint8_t *bytes;
	uint32_t be;
	int r = 0;

	if (c->info.direct)
		return cnode_take_slabs(c);
	if (!c->info.keyed)
		return 0;
	free(c->keys);
	c->keys = calloc(nr, sizeof(*c->keys));
	if (!c->keys)
		return -ENOMEM;
	for (i = 0; !r && i < nr; i++) {
		r = cnode_read_admin(c, i * sizeof(be), c->keys_rkey,
				     sizeof(be), &bytes);
		if (r)
			break;
		memcpy(&be, bytes, sizeof(be));
		c->keys[i] = be32toh(be);
	}
	return r;
}

static int open_admin(struct cnode *c, struct cnode_refusal *no)
{
	bool again = c->info.session;
	struct odrp_wire_hello h;
	struct snic_cm_event ev;
	int r;

	r = conn_init(c, &c->admin, 0, 1, SNIC_REMOTE_WRITE);
	if (r)
		return r;
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.session = htobe64(c->info.session);
	h.token = htobe64(c->info.token);
	h.queue = htobe16(again ? c->info.queues : c->cfg.queues);
	h.depth = htobe16(again ? c->info.depth : c->cfg.depth);
	h.nr_slots = htobe64(c->cfg.nr_slots);
	r = cnode_prove(c, no);
	h.features = htobe32(offered(c));
	if (!r)
		r = ask(c, c->admin.qpn, &h, &ev, &c->admin.cm_id, no);
	if (r)
		return r;
	c->admin.up = true;
	r = take_admin_accept(c, &ev);
	return r ? r : fetch_keys(c);
}

/* ---- I/O ---------------------------------------------------------------------- */

static int take_io_accept(const struct cnode *c, struct conn *n,
			  const struct snic_cm_event *ev, unsigned int chain)
{
	struct odrp_wire_io_accept a;

	if (ev->priv_len < sizeof(a))
		return -EPROTO;
	memcpy(&a, ev->priv, sizeof(a));
	if (c->proof.handle &&
	    !answer_is_proved(&c->proof, ODRP_AUTH_REP, ev->peer_qpn, ev, sizeof(a)))
		return -EKEYREJECTED;
	if (be32toh(a.magic) != ODRP_WIRE_MAGIC || a.chain != chain ||
	    be16toh(a.version) != ODRP_WIRE_VERSION ||
	    be16toh(a.depth) > n->depth)
		return -EPROTO;
	n->depth = be16toh(a.depth);
	n->bare = c->keys_rkey && (chain == ODRP_WIRE_LOAD || chain == ODRP_WIRE_MAPPED_STORE);
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
	r = ask(c, n->qpn, &h, &ev, &n->cm_id, no);
	if (r)
		return r;
	n->up = true;
	return take_io_accept(c, n, &ev, chain);
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

/* The page that the one before it held may still be on its way. */
static int open_patiently(struct cnode *c, unsigned int queue,
			  unsigned int chain, struct cnode_refusal *no)
{
	unsigned int tries;
	int r;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		r = open_io(c, queue, chain, no);
		if (r != -ECONNREFUSED || no->status != ODRP_WIRE_E_BUSY)
			break;
		conn_free(c, conn_of(c, queue, chain));
		c->cfg.pump(c->cfg.arg);
	}
	return r;
}

static int make_conns(struct cnode *c)
{
	c->nr_conns = c->info.queues * ODRP_WIRE_NR_CHAINS;
	c->conns = calloc(c->nr_conns, sizeof(*c->conns));
	return c->conns ? 0 : -ENOMEM;
}

static int open_all_io(struct cnode *c, struct cnode_refusal *no)
{
	unsigned int q, chain;
	int r;

	for (q = 0; q < c->info.queues; q++) {
		for (chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			if (c->cfg.chains && !(c->cfg.chains & 1u << chain))
				continue;
			r = open_patiently(c, q, chain, no);
			if (r)
				return r;
		}
	}
	return c->info.direct ? cnode_take_slabs(c) : 0;
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
	/* Its heartbeats begin while the other connections are made. */
	*ret_node = r ? NULL : c;
	if (!r)
		r = make_conns(c);
	if (!r)
		r = open_all_io(c, ret_no);
	if (r) {
		*ret_node = NULL;
		cnode_close(c);
		return r;
	}
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
	free(c->keys);
	free(c->mem);
	free(c->cq);
	free(c->admin_cq);
	free(c);
}

void cnode_close(struct cnode *c)
{
	cnode_say_bye(c);
	close_all(c, true);
}

void cnode_die(struct cnode *c)
{
	close_all(c, false);
}

/* Drops completions of queue pairs that are gone: there is no room for those of many. */
static void empty_cq(struct cnode *c, uint32_t cqn)
{
	struct wrc_cqe cqe;

	while (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), cqn, &cqe)))
		;
}

void cnode_lose(struct cnode *c, bool say)
{
	unsigned int i;

	for (i = 0; i < c->nr_conns; i++) {
		hang_up(c, &c->conns[i], say);
		conn_free(c, &c->conns[i]);
	}
	hang_up(c, &c->admin, say);
	conn_free(c, &c->admin);
	empty_cq(c, c->cqn);
	empty_cq(c, c->admin_cqn);
}

static int count_pages(struct cnode *c)
{
	uint64_t entries[PAGE / 8], slot, used = 0;
	unsigned int nr, i;
	int r;

	if (c->info.direct)
		return 0;
	for (slot = 0; slot < c->info.nr_slots; slot += nr) {
		nr = c->info.nr_slots - slot < PAGE / 8 ?
		     c->info.nr_slots - slot : PAGE / 8;
		r = cnode_read_table(c, slot, nr, entries);
		if (r)
			return r;
		for (i = 0; i < nr; i++)
			used += entries[i] != 0;
	}
	c->info.used = used;
	return 0;
}

int cnode_resume(struct cnode *c, struct cnode_refusal *ret_no)
{
	int r;

	memset(ret_no, 0, sizeof(*ret_no));
	cnode_lose(c, false);
	r = open_admin(c, ret_no);
	if (!r)
		r = count_pages(c);
	if (!r)
		r = open_all_io(c, ret_no);
	if (r)
		cnode_lose(c, false);
	return r;
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

int cnode_resume_status(struct cnode *c)
{
	struct cnode_refusal no = { 0 };
	int r = cnode_resume(c, &no);

	return r ? (int)no.status : 0;
}

int cnode_request(const struct cnode_config *cfg, const void *priv, size_t len,
		  struct cnode **ret_node)
{
	struct cnode *c = calloc(1, sizeof(*c));
	struct cnode_refusal no;
	struct snic_cm_event ev;
	int r;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	r = make_shared(c);
	if (!r)
		r = conn_init(c, &c->admin, 0, 1, 0);
	if (!r)
		r = cnode_connect_to(cfg, c, c->admin.qpn, priv, len, &ev,
			       &c->admin.cm_id, &no);
	if (r)
		cnode_close(c);
	else
		*ret_node = c;
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
		r = cnode_connect_to(cfg, c, c->admin.qpn, priv, len, &ev,
			       &c->admin.cm_id, ret_no);
	cnode_close(c);
	return r;
}
