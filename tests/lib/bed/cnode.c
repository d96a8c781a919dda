// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The compute node's requests and heartbeat, as docs/wire.md tells them.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "cnode-priv.h"

static bool is_store(unsigned int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* ---- requests --------------------------------------------------------------------- */

static void put_be(uint8_t *p, uint64_t v, unsigned int len)
{
	while (len--) {
		p[len] = v;
		v >>= 8;
	}
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
	if (opcode == WRC_WQE_WRITE || opcode == WRC_WQE_READ) {
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

void cnode_where(const struct cnode *c, uint64_t slot, uint64_t *ret_raddr,
		 uint32_t *ret_rkey)
{
	if (c->info.direct) {
		cnode_slab_page(c, slot, ret_raddr, ret_rkey);
		return;
	}
	*ret_raddr = slot % ODRP_WIRE_KEY_SLOTS * ODRP_WIRE_KEY_STRIDE;
	*ret_rkey = c->keys[slot / ODRP_WIRE_KEY_SLOTS];
}

/* The page of a tag, by key. */
static int post_bare(struct cnode *c, struct conn *n, unsigned int tag,
		     uint64_t buf)
{
	bool load = (n - c->conns) % ODRP_WIRE_NR_CHAINS == ODRP_WIRE_LOAD;
	uint64_t raddr;
	uint32_t rkey;

	cnode_where(c, n->tags[tag].slot, &raddr, &rkey);
	return post(c, n, load ? WRC_WQE_READ : WRC_WQE_WRITE, buf, n->key,
		    PAGE, raddr, rkey, tag);
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

/* The first of the requests that are held back. */
static unsigned int pop_held(struct conn *n)
{
	unsigned int tag = n->held[0], i;

	n->nr_held--;
	for (i = 0; i < n->nr_held; i++)
		n->held[i] = n->held[i + 1];
	return tag;
}

/* May one be quiet that has so many behind it? */
static bool may_be_quiet(const struct cnode *c, const struct conn *n,
			 unsigned int behind)
{
	return behind && n->nr_quiet + 1 < c->cfg.answer_every;
}

/* Posts the first of the requests that are held back. */
static int post_held(struct cnode *c, struct conn *n)
{
	unsigned int chain = (n - c->conns) % ODRP_WIRE_NR_CHAINS;
	unsigned int tag = pop_held(n);
	uint8_t *p = tag_buf(n, tag);

	n->nr_quiet = n->promised ? n->nr_quiet + 1 : 0;
	n->promised = n->nr_held && may_be_quiet(c, n, n->nr_held - 1);
	if (n->promised)
		p[sizeof(struct odrp_wire_req)] = ODRP_WIRE_NEXT_QUIET;
	return post(c, n, WRC_WQE_SEND, (uintptr_t)p, n->key,
		    conn_req_bytes(chain), 0, 0, tag);
}

/*
 * The request of a tag is complete: post it, or hold it back for the next two.
 */
static int post_or_hold(struct cnode *c, struct conn *n, unsigned int tag)
{
	unsigned int keep = c->cfg.answer_every < 2 ? 0 : 2;
	int r = 0;

	n->held[n->nr_held++] = tag;
	while (!r && n->nr_held > keep)
		r = post_held(c, n);
	return r;
}

void cnode_flush(struct cnode *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_conns; i++) {
		struct conn *n = &c->conns[i];

		/* A broken connection shows by its state. */
		while (n->nr_held && n->up && !n->broken)
			post_held(c, n);
	}
}

int cnode_submit(struct cnode *c, unsigned int queue,
		 enum odrp_wire_chain chain, uint64_t slot, const void *page,
		 uint64_t cookie)
{
	struct conn *n = conn_of(c, queue, chain);
	struct odrp_wire_req req = { .tt_addr = htobe64(slot * 8) };
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
	n->tags[tag] = (struct tag){ .slot = slot, .cookie = cookie };
	p = tag_buf(n, tag);
	buf = (uintptr_t)p + REQ_ROOM;
	req.id = htobe32(tag);
	req.raddr_hi = htobe32(buf >> 32);
	req.raddr_lo = htobe32(buf);
	req.rkey = htobe32(n->key);
	memcpy(p, &req, sizeof(req));
	if (n->bare && is_store(chain))
		memcpy(p + REQ_ROOM, page, PAGE);
	p[sizeof(req)] = ODRP_WIRE_NEXT_ANSWERED;
	if (is_store(chain) && !n->bare) {
		memcpy(p + ODRP_WIRE_REQ_LEN, page, PAGE);
		memset(p + ODRP_WIRE_REQ_LEN + PAGE, 0, ODRP_WIRE_END_LEN);
	}
	n->tags[tag].busy = true;
	n->order[n->numbered++ % MAX_TAGS] = tag;
	n->nr_busy++;
	n->requests++;
	if (chain == ODRP_WIRE_UNMAPPED_STORE)
		c->info.used++;
	return n->bare ? post_bare(c, n, tag, buf) :
			 post_or_hold(c, n, tag);
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

int cnode_rdma_raw(struct cnode *c, int queue, enum odrp_wire_chain chain,
		   bool write, uint64_t raddr, uint32_t rkey, uint32_t len)
{
	struct conn *n = queue < 0 ? &c->admin : conn_of(c, queue, chain);

	if (!n->up || n->broken)
		return -ENOTCONN;
	if (sq_full(n))
		return -EAGAIN;
	if (len > PAGE)
		return -EMSGSIZE;
	return post(c, n, write ? WRC_WQE_WRITE : WRC_WQE_READ,
		    (uintptr_t)tag_buf(n, 0), n->key, len, raddr, rkey,
		    MAX_TAGS);
}

static void settle_tag(struct conn *n, unsigned int tag)
{
	if (n->tags[tag].sent && n->tags[tag].answered) {
		n->tags[tag].busy = false;
		n->nr_busy--;
	}
}

/* True: and that is its answer. */
static bool on_sent(struct conn *n, const struct wrc_cqe *cqe)
{
	unsigned int mask = (1u << n->log_sq) - 1;
	uint16_t tag = n->tag_of[be16toh(cqe->wqe_counter) & mask];

	n->completed++;
	if (tag < n->depth && n->tags[tag].busy) {
		n->tags[tag].sent = true;
		settle_tag(n, tag);
		if (n->bare)
			n->told++;
		return n->bare;
	}
	return false;
}

/* An answer speaks for its request and the quiet ones before it. */
static int on_answer(struct cnode *c, struct conn *n,
		     const struct wrc_cqe *cqe)
{
	uint32_t tag = be32toh(cqe->imm);

	c->info.answers++;
	n->received++;
	n->dbr->rcv = htobe32((n->received + (1u << n->log_rq)) & 0xffff);
	while (n->told != n->numbered)
		if (n->order[n->told++ % MAX_TAGS] == tag)
			return 0;
	return -EPROTO;
}

static void hand_out(struct cnode *c, struct conn *n, struct cnode_done *done)
{
	unsigned int index = n - c->conns;
	unsigned int tag = n->order[n->handed++ % MAX_TAGS];
	struct tag *t = &n->tags[tag];

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
}

static struct conn *answered_conn(struct cnode *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_conns; i++)
		if (c->conns[i].handed != c->conns[i].told)
			return &c->conns[i];
	return NULL;
}

int cnode_poll(struct cnode *c, struct cnode_done *ret_done)
{
	struct wrc_cqe cqe;
	struct conn *n;
	unsigned int index, op;

	cnode_flush(c);
	n = answered_conn(c);
	if (n) {
		hand_out(c, n, ret_done);
		return 0;
	}
	while (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), c->cqn, &cqe))) {
		op = cqe.op_own >> 4;
		index = be32toh(cqe.srqn_uidx) & 0xffffff;
		if (op == WRC_CQE_REQ_ERR || op == WRC_CQE_RESP_ERR)
			continue;	/* shows by the queue pair's state */
		if (!index || index > c->nr_conns)
			return -EPROTO;
		n = &c->conns[index - 1];
		if ((be32toh(cqe.sop_qpn) & 0xffffff) != n->qpn)
			continue;	/* of one that was here before */
		if (op == WRC_CQE_REQ) {
			if (!on_sent(n, &cqe))
				continue;
			c->info.answers++;
			hand_out(c, n, ret_done);
			return 0;
		}
		if (op != WRC_CQE_RESP_WR_IMM || on_answer(c, n, &cqe))
			return -EPROTO;
		hand_out(c, n, ret_done);
		return 0;
	}
	cnode_events(c);
	return -EAGAIN;
}

unsigned int cnode_outstanding(const struct cnode *c)
{
	unsigned int i, sum = 0;

	for (i = 0; i < c->nr_conns; i++)
		sum += c->conns[i].nr_busy;
	return sum;
}

/* A tag is free when its SEND is acknowledged, which may be after the answer. */
static int submit_when_free(struct cnode *c, unsigned int queue,
			    enum odrp_wire_chain chain, uint64_t slot,
			    const void *page)
{
	struct cnode_done none;
	int r;

	for (;;) {
		r = cnode_submit(c, queue, chain, slot, page, 0);
		if (r != -EAGAIN)
			return r;
		r = cnode_poll(c, &none);
		if (r != -EAGAIN)
			return r ? r : -EPROTO;
		if (!c->cfg.pump(c->cfg.arg))
			return -ETIMEDOUT;
	}
}

int cnode_do(struct cnode *c, unsigned int queue, enum odrp_wire_chain chain,
	     uint64_t slot, void *page)
{
	struct cnode_done done;
	int r;

	r = submit_when_free(c, queue, chain, slot, page);
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
	const struct odrp_wire_signed_grant g = c->mem->signed_grant;

	if (!cnode_grant_counts(c, &g, c->epoch))
		return;
	c->epoch = be64toh(g.grant.epoch);
	c->info.lease = be64toh(g.grant.lease);
	c->info.drain = be32toh(g.grant.flags) & ODRP_WIRE_GRANT_DRAIN;
	c->info.back = be32toh(g.grant.back);
	c->info.grants++;
}

static void reap_admin(struct cnode *c)
{
	struct wrc_cqe cqe;

	while (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), c->admin_cqn,
					    &cqe))) {
		/* Not of one that was here before. */
		if ((be32toh(cqe.sop_qpn) & 0xffffff) == c->admin.qpn)
			c->admin.completed++;
	}
}

void cnode_set_freed(struct cnode *c, uint64_t nr)
{
	c->freed = nr;
}

int cnode_beat(struct cnode *c, uint64_t want)
{
	struct odrp_wire_beat *b = &c->mem->beat;
	struct cnode_info *i = &c->info;

	if (!c->admin.up || c->admin.broken)
		return -ENOTCONN;
	reap_admin(c);
	if (c->admin.posted - c->admin.completed + 2 > 1u << c->admin.log_sq)
		return -EAGAIN;
	enter(&c->cfg);
	take_grant(c);
	b->beat = htobe64(be64toh(b->beat) + 1);
	b->used = htobe64(i->used);
	b->want = htobe64(want > i->used ? want : i->used);
	b->lease_held = htobe64(i->lease > i->used ? i->lease : i->used);
	b->ctl_raddr = htobe64((uintptr_t)&c->mem->signed_grant);
	b->ctl_rkey = htobe32(c->mem_key);
	b->flags = htobe32(c->leaving ? ODRP_WIRE_BEAT_BYE : 0);
	b->dead_ms = htobe32(c->cfg.dead_ms);
	b->kept = htobe64(i->used - c->freed);
	if (i->direct)
		cnode_slabs_beat(c, b);
	cnode_sign_beat(c, b);
	leave(&c->cfg, 0);
	if (i->direct)
		post(c, &c->admin, WRC_WQE_WRITE, (uintptr_t)c->mem->held, c->mem_key,
		     odrp_wire_held_len(i->nr_slots), c->beat_raddr + sizeof(*b),
		     c->beat_rkey, MAX_TAGS);
	return post(c, &c->admin, WRC_WQE_WRITE, (uintptr_t)b, c->mem_key,
		    cnode_beat_len(c), c->beat_raddr, c->beat_rkey, MAX_TAGS);
}

/* Until all that was posted on the admin connection is done. */
static int wait_admin(struct cnode *c)
{
	while (c->admin.completed != c->admin.posted) {
		if (cnode_admin_broken(c))
			return -ENOTCONN;
		if (!c->cfg.pump(c->cfg.arg))
			return -ETIMEDOUT;
		reap_admin(c);
	}
	return 0;
}

void cnode_say_bye(struct cnode *c)
{
	/* Beats that the pump sends say it, too. */
	c->leaving = true;
	if (cnode_admin_broken(c) || wait_admin(c))
		return;
	if (!cnode_beat(c, 0))
		wait_admin(c);
}

int cnode_read_admin(struct cnode *c, uint64_t raddr, uint32_t rkey,
		     uint32_t len, const uint8_t **ret_bytes)
{
	int r;

	*ret_bytes = tag_buf(&c->admin, 0);
	r = wait_admin(c);
	if (!r)
		r = cnode_rdma_raw(c, -1, 0, false, raddr, rkey, len);
	if (!r)
		r = wait_admin(c);
	return r;
}

int cnode_read_table(struct cnode *c, uint64_t slot, unsigned int nr,
		     uint64_t *ret_entries)
{
	const uint8_t *p;
	unsigned int i;
	uint64_t be;
	int r;

	r = cnode_read_admin(c, slot * 8, c->tt_rkey, nr * 8, &p);
	if (r)
		return r;
	for (i = 0; i < nr; i++) {
		memcpy(&be, p + 8 * i, 8);
		ret_entries[i] = be64toh(be);
	}
	return cnode_admin_broken(c) ? -ENOTCONN : 0;
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

static bool broken(struct cnode *c, struct conn *n)
{
	struct snic_qp_info info;

	cnode_events(c);
	if (n->broken || !n->up)
		return true;
	if (leave(&c->cfg, snic_qp_query(enter(&c->cfg), n->qpn, &info)) ||
	    info.state == SNIC_QP_ERR)
		n->broken = true;
	return n->broken;
}

bool cnode_broken(struct cnode *c, unsigned int queue,
		  enum odrp_wire_chain chain)
{
	return broken(c, conn_of(c, queue, chain));
}

bool cnode_admin_broken(struct cnode *c)
{
	return broken(c, &c->admin);
}
