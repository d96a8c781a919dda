// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The initiator of handshakes, from odrp/auth.h alone. It is a second implementation of
 * what userspace/peer/call.c and kmod/handshake.c do, and uses neither on purpose: if both
 * ends had the same mistake about the protocol, a test of one against the other would pass.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cnode-priv.h"

#define MESSAGE_ROOM	192
#define NR_RECEIVES	2
#define MAX_INITIATIONS	3

/**
 * struct talk - a queue pair for the messages, and their memory
 * @taken:	messages
 */
struct talk {
	uint8_t sq[2 * 64] __attribute__((aligned(64)));
	struct wrc_wqe_data rq[NR_RECEIVES];
	struct wrc_dbr dbr;
	struct wrc_cqe cqes[8];
	uint8_t sent[MESSAGE_ROOM], come[NR_RECEIVES][MESSAGE_ROOM];
	uint32_t key, cqn, qpn, cm_id;
	unsigned int nr_sent, nr_taken;
};

static int talk_open(struct cnode *c, struct talk *t)
{
	const struct snic_cq_attr cq = { .buf = t->cqes, .log_size = 3 };
	struct snic_qp_attr attr = {
		.pdn = c->pdn, .sq = t->sq, .log_sq = 1, .rq = t->rq, .log_rq = 1,
		.log_rq_stride = 4, .dbr = &t->dbr,
	};
	struct snic *nic = enter(&c->cfg);
	unsigned int i;
	int r;

	r = snic_mkey_reg(nic, c->pdn, t, sizeof(*t), (uintptr_t)t, SNIC_LOCAL_WRITE,
			  &t->key);
	if (!r)
		r = snic_cq_create(nic, &cq, &t->cqn);
	attr.scqn = attr.rcqn = t->cqn;
	for (i = 0; i < NR_RECEIVES; i++)
		t->rq[i] = (struct wrc_wqe_data){
			.byte_count = htobe32(MESSAGE_ROOM), .lkey = htobe32(t->key),
			.addr = htobe64((uintptr_t)t->come[i]),
		};
	t->dbr.rcv = htobe32(NR_RECEIVES);
	if (!r)
		r = snic_qp_create(nic, &attr, &t->qpn);
	return leave(&c->cfg, r);
}

static void talk_close(struct cnode *c, struct talk *t)
{
	struct snic *nic = enter(&c->cfg);

	if (t->cm_id) {
		snic_cm_disconnect(nic, t->cm_id);
		snic_cm_release(nic, t->cm_id);
	}
	if (t->qpn)
		snic_qp_destroy(nic, t->qpn);
	if (t->cqn)
		snic_cq_destroy(nic, t->cqn);
	if (t->key)
		snic_mkey_dereg(nic, t->key);
	leave(&c->cfg, 0);
	free(t);
}

static int talk_send(struct cnode *c, struct talk *t, const void *bytes, size_t len)
{
	uint8_t *wqe = t->sq + 64 * t->nr_sent;
	struct wrc_wqe_ctrl *ctrl = (void *)wqe;
	struct wrc_wqe_data *data = (void *)(wqe + sizeof(*ctrl));

	memcpy(t->sent, bytes, len);
	*ctrl = (struct wrc_wqe_ctrl){
		.opcode = WRC_WQE_SEND, .index = { 0, t->nr_sent }, .ds = 2,
		.qpn = { t->qpn >> 16, t->qpn >> 8, t->qpn },
	};
	*data = (struct wrc_wqe_data){
		.byte_count = htobe32(len), .lkey = htobe32(t->key),
		.addr = htobe64((uintptr_t)t->sent),
	};
	t->dbr.snd = htobe32(++t->nr_sent);
	return leave(&c->cfg, snic_qp_doorbell(enter(&c->cfg), t->qpn, t->nr_sent));
}

/* The message that has come is *ret_bytes; -ECONNREFUSED: none does. */
static int talk_take(struct cnode *c, struct talk *t, const void **ret_bytes,
		     size_t *ret_len)
{
	struct wrc_cqe cqe;

	for (;;) {
		if (!leave(&c->cfg, snic_cq_poll(enter(&c->cfg), t->cqn, &cqe)))
			break;
		if (!c->cfg.pump(c->cfg.arg))
			return -ETIMEDOUT;
	}
	if (cqe.op_own >> 4 != WRC_CQE_RESP_SEND)
		return -ECONNREFUSED;
	*ret_bytes = t->come[t->nr_taken++];
	*ret_len = be32toh(cqe.byte_cnt);
	return 0;
}

/* With a cookie, when we are asked for one. */
static int initiate(struct cnode *c, struct talk *t, struct snic_cm_event *ev,
		    struct cnode_refusal *no)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	struct odrp_auth_initiation initiation;
	unsigned int tries;
	int r = auth_initiate(NULL, &initiation);

	for (tries = 0; !r && tries < MAX_INITIATIONS; tries++) {
		r = cnode_connect_to(&c->cfg, c, t->qpn, &initiation, sizeof(initiation), ev,
				     &t->cm_id, no);
		if (r != -ECONNREFUSED ||
		    !auth_is_cookie(ev->priv, ev->priv_len, cookie))
			break;
		r = auth_initiate(cookie, &initiation);
		leave(&c->cfg, snic_qp_destroy(enter(&c->cfg), t->qpn));
		leave(&c->cfg, snic_cq_destroy(enter(&c->cfg), t->cqn));
		leave(&c->cfg, snic_mkey_dereg(enter(&c->cfg), t->key));
		t->qpn = 0;
		if (!r)
			r = talk_open(c, t);
	}
	return r;
}

static int shake(struct cnode *c, struct talk *t, const struct auth_ends *ends)
{
	struct auth_ask ask;
	const void *bytes;
	size_t len;
	int r;

	r = auth_ask_hello(&ask, c->cfg.name, ends);
	if (!r)
		r = talk_send(c, t, &ask.hello, sizeof(ask.hello));
	if (!r)
		r = talk_take(c, t, &bytes, &len);
	if (!r)
		r = auth_ask_response(&ask, bytes, len, c->cfg.secret, ends,
				      c->info.session);
	if (!r)
		r = talk_send(c, t, &ask.response, sizeof(ask.response));
	if (!r)
		r = talk_take(c, t, &bytes, &len);
	if (!r)
		r = auth_ask_done(&ask, bytes, len, &c->proof.handle);
	c->proof.key = ask.key;
	return r;
}

int cnode_prove(struct cnode *c, struct cnode_refusal *no)
{
	struct snic_cm_event ev;
	struct talk *t;
	int r;

	c->proof = (struct proof){ .handle = 0 };
	if (!c->cfg.secret)
		return 0;
	t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	r = talk_open(c, t);
	if (!r)
		r = initiate(c, t, &ev, no);
	if (!r) {
		c->proof.ends = (struct auth_ends){
			.cnode_ip = ev.local_ip, .mnode_ip = ev.peer_ip,
			.cnode_qpn = t->qpn, .mnode_qpn = ev.peer_qpn,
		};
		r = shake(c, t, &c->proof.ends);
	}
	talk_close(c, t);
	if (r != -ESTALE)
		return r;
	*no = (struct cnode_refusal){ .status = ODRP_WIRE_E_SESSION, .proved = true };
	return -ECONNREFUSED;
}

void cnode_sign(struct cnode *c, const struct odrp_wire_hello *h, uint32_t qpn,
		struct odrp_auth_req *ret_req)
{
	struct odrp_auth_bound bound = auth_bound(&c->proof.ends, qpn);

	*ret_req = (struct odrp_auth_req){
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = h->role,
		.chain = h->role == ODRP_WIRE_ADMIN ? h->page_shift : h->chain,
		.queue = h->queue,
		.depth = h->depth,
		.features = h->features,
		.handle = htobe64(c->proof.handle),
		.counter = htobe64(++c->proof.counter),
		.nr_slots = h->nr_slots,
	};
	auth_sign_req(&c->proof.key, bound, ret_req);
}

void cnode_sign_beat(const struct cnode *c, struct odrp_wire_beat *beat)
{
	if (c->info.signs)
		auth_sign_beat(&c->proof.key, c->proof.handle, beat,
			       cnode_beat_len(c));
}

bool cnode_grant_counts(const struct cnode *c, const struct odrp_wire_signed_grant *g,
			uint64_t epoch)
{
	uint64_t nr = be64toh(g->grant.epoch);

	if (!c->info.signs)
		return nr != epoch;
	return nr > epoch && !auth_check_grant(&c->proof.key, c->proof.handle, g);
}
