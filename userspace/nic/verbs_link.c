/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The link of a call (peer/call.h), and the wait for the call's end. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../peer/call.h"
#include "real.h"
#include "verbs_priv.h"

/* Between two looks for a message of a handshake. */
#define LOOK_NS		200000
/* Most time until a connection request is answered. */
#define CONNECT_NS	UINT64_C(15000000000)
/* The maximum is 7, but rdma_rxe retries for ever then. */
#define RETRIES		6
#define RNR_RETRIES	7
#define NR_MESSAGES	2	/* of each direction */
#define ROOM		192

_Static_assert(ROOM <= sizeof(((struct far_news *)0)->bytes), "room");

/* The memory of a handshake's messages. */
struct talk {
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	unsigned sent, taken;
	uint8_t out[NR_MESSAGES][ROOM], in[NR_MESSAGES][ROOM];
};

/**
 * struct verbs_link - a call's link
 * @conf:	of a queue pair without messages
 * @conn:	NULL: there is no connection
 * @talk:	NULL: the queue pair has no messages
 * @until:	when no answer is awaited any more
 * @told:	the answer to the connection request has been reported
 */
struct verbs_link {
	struct far_link link;
	struct verbs_nic *verbs;
	const struct verbs_addr *addr;
	const struct verbs_qp_conf *conf;
	struct verbs_conn *conn;
	struct talk *talk;
	uint64_t until;
	bool told;
};

/* ---- messages ---- */

static struct ibv_sge sge_of(const struct talk *talk, const uint8_t *bytes, size_t len)
{
	return (struct ibv_sge){ (uintptr_t)bytes, len, talk->mr->lkey };
}

static int receives_post(struct talk *talk, struct ibv_qp *qp)
{
	struct ibv_recv_wr *bad;
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < NR_MESSAGES; i++) {
		struct ibv_sge sge = sge_of(talk, talk->in[i], ROOM);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		err = -ibv_post_recv(qp, &wr, &bad);
	}
	return err;
}

static int link_send(struct far_link *link, const void *bytes, size_t len)
{
	struct verbs_link *l = (struct verbs_link *)link;
	struct talk *talk = l->talk;
	uint8_t *out = talk->out[talk->sent++];
	struct ibv_sge sge = sge_of(talk, out, len);
	struct ibv_send_wr wr = {
		.wr_id = NR_MESSAGES, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	memcpy(out, bytes, len);
	return -ibv_post_send(l->conn->id->qp, &wr, &bad);
}

/* Takes the next message. -EAGAIN: none yet; -EPIPE: the queue pair has failed. */
static int message_take(struct talk *talk, struct far_news *ret_news)
{
	struct ibv_wc wc;
	int nr;

	while ((nr = ibv_poll_cq(talk->cq, 1, &wc)) > 0) {
		if (wc.status)
			return -EPIPE;
		if (wc.wr_id == NR_MESSAGES)
			continue;
		ret_news->kind = FAR_NEWS_MESSAGE;
		ret_news->len = wc.byte_len;
		memcpy(ret_news->bytes, talk->in[talk->taken++], wc.byte_len);
		return 0;
	}
	return nr < 0 ? -EIO : -EAGAIN;
}

/* ---- connections ---- */

/* Makes the queue pair of a handshake. The caller closes the link after an error, too. */
static int talk_open(struct verbs_link *l)
{
	struct verbs_nic *verbs = l->verbs;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = NR_MESSAGES, .max_recv_wr = NR_MESSAGES,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct talk *talk = calloc(1, sizeof(*talk));
	int err;

	l->talk = talk;
	if (!talk)
		return -ENOMEM;
	errno = 0;
	talk->cq = ibv_create_cq(verbs->ctx, 2 * NR_MESSAGES, NULL, NULL, 0);
	if (!talk->cq)
		return verbs_errno(-1);
	talk->mr = ibv_reg_mr(verbs->pd, talk, sizeof(*talk), IBV_ACCESS_LOCAL_WRITE);
	if (!talk->mr)
		return verbs_errno(-1);
	attr.send_cq = attr.recv_cq = talk->cq;
	err = verbs_errno(rdma_create_qp(l->conn->id, verbs->pd, &attr));
	return err ? err : receives_post(talk, l->conn->id->qp);
}

static void talk_free(struct talk *talk)
{
	if (!talk)
		return;
	if (talk->mr)
		ibv_dereg_mr(talk->mr);
	if (talk->cq)
		ibv_destroy_cq(talk->cq);
	explicit_bzero(talk, sizeof(*talk));
	free(talk);
}

/* Waits for address and route, which is not the peer's matter. */
static int link_open(struct far_link *link, bool messages)
{
	struct verbs_link *l = (struct verbs_link *)link;
	int err = verbs_conn_new(l->verbs, &l->conn);
	struct ibv_qp *qp;

	l->told = false;
	if (!err)
		err = verbs_resolve(l->verbs, l->conn, l->addr);
	if (!err)
		err = messages ? talk_open(l) : verbs_qp_new(l->conn->id, l->conf, &qp);
	if (!err)
		link->qpn = l->conn->id->qp->qp_num;
	return err;
}

static int link_connect(struct far_link *link, const void *priv, size_t len)
{
	struct verbs_link *l = (struct verbs_link *)link;
	struct rdma_conn_param param = {
		.private_data = priv,
		.private_data_len = len,
		.responder_resources = 1,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};

	verbs_conn_expect(l->verbs, l->conn);
	errno = 0;
	return verbs_errno(rdma_connect(l->conn->id, &param));
}

static __be32 ip_of(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ?
	       ((const struct sockaddr_in *)sa)->sin_addr.s_addr : 0;
}

static void answer_take(const struct verbs_conn *conn, struct far_news *ret_news)
{
	ret_news->local_ip = ip_of(rdma_get_local_addr(conn->id));
	ret_news->peer_qpn = conn->peer_qpn;
	ret_news->len = conn->priv_len;
	memcpy(ret_news->bytes, conn->priv, conn->priv_len);
}

static void link_poll(struct far_link *link, struct far_news *ret_news)
{
	struct verbs_link *l = (struct verbs_link *)link;
	enum verbs_conn_state state = verbs_conn_state(l->verbs, l->conn);
	int err = l->told && l->talk ? message_take(l->talk, ret_news) : -EAGAIN;

	if (!err)
		return;
	ret_news->kind = FAR_NEWS_NONE;
	ret_news->err = err;
	if (state == VERBS_CONN_PENDING)
		return;
	if (err != -EAGAIN) {
		ret_news->kind = FAR_NEWS_BROKEN;
	} else if (state == VERBS_CONN_REFUSED || (state == VERBS_CONN_READY && !l->told)) {
		ret_news->kind = state == VERBS_CONN_READY ? FAR_NEWS_ACCEPTED :
				 FAR_NEWS_REJECTED;
		answer_take(l->conn, ret_news);
		l->told = true;
	} else if (state != VERBS_CONN_READY) {
		ret_news->kind = FAR_NEWS_BROKEN;
		ret_news->err = -EHOSTUNREACH;
	}
}

static void link_close(struct far_link *link)
{
	struct verbs_link *l = (struct verbs_link *)link;

	verbs_conn_end(l->verbs, l->conn);
	talk_free(l->talk);
	l->conn = NULL;
	l->talk = NULL;
}

static uint64_t link_now(struct far_link *link)
{
	return far_real_now(NULL);
}

static const struct far_link_ops link_ops = {
	.open = link_open, .connect = link_connect, .send = link_send,
	.poll = link_poll, .close = link_close, .now = link_now,
};

/* ---- calls ---- */

static void call_pause(const struct far_call *call, struct verbs_link *l)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	if (l->conn && !far_call_awaits_message(call))
		verbs_conn_wait(l->verbs, l->conn, l->until);
	else
		nanosleep(&pause, NULL);
}

/* By which we prove ourselves to that memory node; NULL: by none. */
static const struct far_key *key_for(const struct verbs_nic *verbs, __be32 ip)
{
	if (verbs->nodes.nr && verbs->nodes.node[0]->ip == ip)
		return far_node_key(verbs->nodes.node[0]);
	return verbs->key.set ? &verbs->key : NULL;
}

int verbs_call_run(struct verbs_nic *verbs, const struct verbs_addr *addr,
		   const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
		   struct verbs_conn **ret_conn, struct far_news *ret_answer)
{
	const uint64_t now = far_real_now(NULL);
	struct verbs_link l = {
		.link = {
			.ops = &link_ops, .connect_ns = CONNECT_NS,
			.ip = ip_of((const struct sockaddr *)&addr->sa),
		},
		.verbs = verbs, .addr = addr, .conf = conf, .until = UINT64_MAX,
	};
	const struct far_key *key = key_for(verbs, l.link.ip);
	struct far_call call;
	int err;

	/* Signed requests contain IPv4 addresses. */
	if (key && !l.link.ip)
		return -EAFNOSUPPORT;
	if (conf->until) {
		l.until = conf->until;
		l.link.connect_ns = l.until > now ? l.until - now : 0;
	}
	far_call_begin(&call, &l.link, key, &verbs->passes, hello);
	while ((err = far_call_step(&call)) == -EAGAIN && !far_call_is_over(&call))
		call_pause(&call, &l);
	*ret_conn = l.conn;
	*ret_answer = call.news;
	far_call_end(&call);
	return err == -ETIMEDOUT ? -EHOSTUNREACH : err;
}
