/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handshakes with memory nodes, each on a queue pair of its own. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "real.h"
#include "verbs_priv.h"

#define SHAKE_NS	UINT64_C(5000000000)
#define LOOK_NS		200000
#define MAX_INITIATIONS	3
#define NR_MESSAGES	2	/* of each direction */
#define ROOM		192

/* The connection of a handshake, and the memory of its messages. */
struct talk {
	struct verbs_conn *conn;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	unsigned sent, taken;
	uint8_t out[NR_MESSAGES][ROOM], in[NR_MESSAGES][ROOM];
};

/* ---- messages ---- */

static struct ibv_sge sge_of(const struct talk *talk, const uint8_t *bytes, size_t len)
{
	return (struct ibv_sge){ (uintptr_t)bytes, len, talk->mr->lkey };
}

static int receives_post(struct talk *talk)
{
	struct ibv_recv_wr *bad;
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < NR_MESSAGES; i++) {
		struct ibv_sge sge = sge_of(talk, talk->in[i], ROOM);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		err = -ibv_post_recv(talk->conn->id->qp, &wr, &bad);
	}
	return err;
}

static int message_send(struct talk *talk, const void *bytes, size_t len)
{
	uint8_t *out = talk->out[talk->sent++];
	struct ibv_sge sge = sge_of(talk, out, len);
	struct ibv_send_wr wr = {
		.wr_id = NR_MESSAGES, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	memcpy(out, bytes, len);
	return -ibv_post_send(talk->conn->id->qp, &wr, &bad);
}

/* Takes the next message. -EAGAIN: none yet; -EKEYREJECTED: the queue pair has failed. */
static int message_take(struct talk *talk, const uint8_t **ret_bytes, size_t *ret_len)
{
	struct ibv_wc wc;
	int nr;

	while ((nr = ibv_poll_cq(talk->cq, 1, &wc)) > 0) {
		if (wc.status)
			return -EKEYREJECTED;
		if (wc.wr_id == NR_MESSAGES)
			continue;
		*ret_bytes = talk->in[talk->taken++];
		*ret_len = wc.byte_len;
		return 0;
	}
	return nr < 0 ? -EIO : -EAGAIN;
}

static int message_wait(struct verbs_nic *verbs, struct talk *talk,
			const uint8_t **ret_bytes, size_t *ret_len)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = far_real_now(NULL) + SHAKE_NS;
	bool over = false;
	int err;

	while ((err = message_take(talk, ret_bytes, ret_len)) == -EAGAIN) {
		if (over || far_real_now(NULL) > until)
			return -EKEYREJECTED;
		over = verbs_conn_state(verbs, talk->conn) == VERBS_CONN_OVER;
		nanosleep(&pause, NULL);
	}
	return err;
}

static int handshake_exchange(struct verbs_nic *verbs, struct talk *talk,
			      struct far_pass *pass)
{
	const uint8_t *bytes;
	struct auth_ask ask;
	size_t len;
	int err = auth_ask_hello(&ask, verbs->key.name, &pass->ends);

	if (!err)
		err = message_send(talk, &ask.hello, sizeof(ask.hello));
	if (!err)
		err = message_wait(verbs, talk, &bytes, &len);
	if (!err)
		err = auth_ask_response(&ask, bytes, len, verbs->key.secret, &pass->ends,
					0);
	if (!err)
		err = message_send(talk, &ask.response, sizeof(ask.response));
	if (!err)
		err = message_wait(verbs, talk, &bytes, &len);
	if (!err)
		err = auth_ask_done(&ask, bytes, len, &pass->handle);
	pass->key = ask.key;
	explicit_bzero(&ask, sizeof(ask));
	return err;
}

/* ---- connections ---- */

static int talk_qp(struct verbs_nic *verbs, struct talk *talk)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = talk->cq, .recv_cq = talk->cq, .qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = NR_MESSAGES, .max_recv_wr = NR_MESSAGES,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	errno = 0;
	return verbs_errno(rdma_create_qp(talk->conn->id, verbs->pd, &attr));
}

static int talk_open(struct verbs_nic *verbs, const struct verbs_addr *addr,
		     struct talk *talk)
{
	int err;

	memset(talk, 0, sizeof(*talk));
	errno = 0;
	talk->cq = ibv_create_cq(verbs->ctx, 2 * NR_MESSAGES, NULL, NULL, 0);
	if (!talk->cq)
		return verbs_errno(-1);
	talk->mr = ibv_reg_mr(verbs->pd, talk, sizeof(*talk), IBV_ACCESS_LOCAL_WRITE);
	if (!talk->mr)
		return verbs_errno(-1);
	err = verbs_conn_new(verbs, &talk->conn);
	if (!err)
		err = verbs_resolve(verbs, talk->conn, addr);
	if (!err)
		err = talk_qp(verbs, talk);
	return err ? err : receives_post(talk);
}

/* Ends a talk, also after an error of talk_open(). */
static void talk_close(struct verbs_nic *verbs, struct talk *talk)
{
	verbs_conn_end(verbs, talk->conn);
	if (talk->mr)
		ibv_dereg_mr(talk->mr);
	if (talk->cq)
		ibv_destroy_cq(talk->cq);
	explicit_bzero(talk, sizeof(*talk));
}

static __be32 ip_of(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ?
	       ((const struct sockaddr_in *)sa)->sin_addr.s_addr : 0;
}

/* One try. -EAGAIN: try again with *initiation, which has the memory node's cookie now. */
static int handshake_try(struct verbs_nic *verbs, const struct verbs_addr *addr,
			 struct odrp_auth_initiation *initiation, struct far_pass *pass)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	struct talk talk;
	int err = talk_open(verbs, addr, &talk);

	if (!err)
		err = verbs_connect(verbs, talk.conn, initiation, sizeof(*initiation));
	if (!err && verbs_conn_state(verbs, talk.conn) == VERBS_CONN_READY) {
		pass->ends = (struct auth_ends){
			.cnode_ip = ip_of(rdma_get_local_addr(talk.conn->id)),
			.mnode_ip = ip_of((const struct sockaddr *)&addr->sa),
			.cnode_qpn = talk.conn->id->qp->qp_num,
			.mnode_qpn = talk.conn->peer_qpn,
		};
		err = handshake_exchange(verbs, &talk, pass);
	} else if (err == -ECONNREFUSED &&
		   auth_is_cookie(talk.conn->priv, talk.conn->priv_len, cookie)) {
		err = auth_initiate(cookie, initiation) ? -EIO : -EAGAIN;
	}
	talk_close(verbs, &talk);
	return err;
}

struct call {
	struct verbs_nic *verbs;
	const struct verbs_addr *addr;
};

static int handshake_run(void *arg, __be32 ip, struct far_pass *pass)
{
	const struct call *call = arg;
	struct odrp_auth_initiation initiation;
	unsigned tries;
	int err = auth_initiate(NULL, &initiation);

	if (err)
		return err;
	err = -EAGAIN;
	for (tries = 0; tries < MAX_INITIATIONS && err == -EAGAIN; tries++)
		err = handshake_try(call->verbs, call->addr, &initiation, pass);
	return err == -EAGAIN ? -ECONNREFUSED : err;
}

int verbs_pass_get(struct verbs_nic *verbs, const struct verbs_addr *addr,
		   struct far_pass *ret_pass)
{
	struct call call = { verbs, addr };
	__be32 ip = ip_of((const struct sockaddr *)&addr->sa);

	memset(ret_pass, 0, sizeof(*ret_pass));
	if (!verbs->key.set)
		return 0;
	/* Signed requests contain IPv4 addresses. */
	if (!ip)
		return -EAFNOSUPPORT;
	return far_passes_get(&verbs->passes, ip, handshake_run, &call, ret_pass);
}
