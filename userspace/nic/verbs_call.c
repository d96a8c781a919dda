/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outgoing connections: address, route, queue pair, call. */
#include <core/wqe.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_priv.h"

#define RESOLVE_MS	5000

/* ---- HOST, HOST:PORT, [HOST]:PORT ---- */

/* Copies HOST to host (len bytes), and finds PORT (NULL: none). -EINVAL: another form. */
static int node_split(const char *node, char *host, size_t len, const char **ret_port)
{
	const char *colon = strrchr(node, ':'), *from = node, *to;

	*ret_port = NULL;
	if (*node == '[') {
		from++;
		to = strchr(node, ']');
		if (!to || (to[1] && to[1] != ':'))
			return -EINVAL;
		*ret_port = to[1] ? to + 2 : NULL;
	} else if (colon && strchr(node, ':') == colon) {
		to = colon;
		*ret_port = colon + 1;
	} else {
		to = node + strlen(node);
	}
	if (to == from || (size_t)(to - from) >= len)
		return -EINVAL;
	memcpy(host, from, to - from);
	host[to - from] = 0;
	return 0;
}

static void addr_local(const struct far_node *node, struct verbs_addr *ret_addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret_addr->sa;

	in->sin_family = AF_INET;
	in->sin_port = htons(ODRP_FAR_PORT);
	in->sin_addr.s_addr = node->ip;
}

int verbs_node_resolve(const char *node, struct verbs_addr *ret_addr)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char host[NI_MAXHOST], other[8];
	struct addrinfo *res;
	const char *port;

	if (node_split(node, host, sizeof(host), &port))
		return *node ? -EINVAL : -EHOSTUNREACH;
	snprintf(other, sizeof(other), "%u", ODRP_FAR_PORT);
	if (getaddrinfo(host, port ? port : other, &hints, &res))
		return -EHOSTUNREACH;
	memcpy(&ret_addr->sa, res->ai_addr, res->ai_addrlen);
	freeaddrinfo(res);
	return 0;
}

static int peer_resolve(struct far_nic *nic, const char *node, struct far_attach *attach)
{
	struct verbs_addr *addr = &((struct verbs_peer *)attach)->addr;

	if (!attach->local)
		return verbs_node_resolve(node, addr);
	addr_local(attach->local, addr);
	return 0;
}

/* ---- the steps ---- */

int verbs_resolve(struct verbs_nic *verbs, struct verbs_conn *conn,
		  const struct verbs_addr *addr)
{
	struct sockaddr_storage to = addr->sa, from = verbs->from;
	int err;

	/* Kernels before 5.2 do not have this option: an error does not matter. */
	rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
			&verbs->timeout, sizeof(verbs->timeout));
	verbs_conn_expect(verbs, conn);
	if (rdma_resolve_addr(conn->id,
			      from.ss_family ? (struct sockaddr *)&from : NULL,
			      (struct sockaddr *)&to, RESOLVE_MS))
		return -EHOSTUNREACH;
	err = verbs_conn_wait(verbs, conn, UINT64_MAX);
	if (err)
		return err;
	/* The route goes by another device. */
	if (conn->id->verbs != verbs->ctx)
		return -EHOSTUNREACH;
	verbs_conn_expect(verbs, conn);
	if (rdma_resolve_route(conn->id, RESOLVE_MS))
		return -EHOSTUNREACH;
	return verbs_conn_wait(verbs, conn, UINT64_MAX);
}

static int qp_try(struct rdma_cm_id *id, const struct verbs_qp_conf *conf,
		  uint32_t max_inline, struct ibv_qp **ret_qp)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = conf->cq,
		.recv_cq = conf->recv_cq ? conf->recv_cq : conf->cq,
		.qp_type = conf->datagrams ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = {
			.max_send_wr = conf->depth,
			.max_recv_wr = conf->nr_recvs ? conf->nr_recvs : 1,
			.max_send_sge = 1,
			.max_recv_sge = conf->datagrams ? 2 : 1,
			.max_inline_data = max_inline,
		},
	};
	int err;

	errno = 0;
	if (id) {
		err = verbs_errno(rdma_create_qp(id, conf->pd, &attr));
		*ret_qp = id->qp;
	} else {
		*ret_qp = ibv_create_qp(conf->pd, &attr);
		err = verbs_errno(!*ret_qp);
	}
	if (!err && conf->ret_inline)
		*conf->ret_inline = attr.cap.max_inline_data;
	return err;
}

/* A device with less inline data, or none, may refuse: try without then. */
int verbs_qp_new(struct rdma_cm_id *id, const struct verbs_qp_conf *conf,
		 struct ibv_qp **ret_qp)
{
	int err = qp_try(id, conf, conf->ret_inline ? FAR_NIC_MAX_INLINE : 0, ret_qp);

	return err && conf->ret_inline ? qp_try(id, conf, 0, ret_qp) : err;
}

int verbs_call(struct verbs_nic *verbs, const struct verbs_addr *addr,
	       const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
	       struct verbs_conn **ret_conn)
{
	struct far_news answer;
	int err = verbs_call_run(verbs, addr, hello, conf, ret_conn, &answer);

	/* 0 without a connection: rejected with OK, which answers only questions. */
	return err || *ret_conn ? err : -EPROTO;
}

/* ---- of attachments ---- */

/* The queue pair of a connection on which nothing is posted. */
static struct verbs_qp_conf quiet_qp(const struct verbs_nic *verbs)
{
	return (struct verbs_qp_conf){ .pd = verbs->pd, .cq = verbs->cq, .depth = 1 };
}

static int peer_connect(struct far_nic *nic, struct far_attach *attach,
			const struct odrp_far_hello *hello, const uint8_t **ret_priv,
			unsigned *ret_len)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);
	struct verbs_peer *peer = (struct verbs_peer *)attach;
	const struct verbs_qp_conf conf = quiet_qp(verbs);
	int err = verbs_call(verbs, &peer->addr, hello, &conf, &peer->conn);

	if (err)
		return err;
	*ret_priv = peer->conn->priv;
	*ret_len = peer->conn->priv_len;
	return 0;
}

static void peer_end(struct far_nic *nic, struct far_attach *attach)
{
	verbs_conn_end(verbs_nic_of(nic), ((struct verbs_peer *)attach)->conn);
}

static bool peer_is_up(struct far_nic *nic, struct far_attach *attach)
{
	struct verbs_peer *peer = (struct verbs_peer *)attach;

	return verbs_conn_state(verbs_nic_of(nic), peer->conn) == VERBS_CONN_READY;
}

static int peer_ask(struct far_nic *nic, struct far_attach *attach,
		    const struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);
	const struct verbs_addr *addr = &((struct verbs_peer *)attach)->addr;
	const struct verbs_qp_conf conf = quiet_qp(verbs);
	struct verbs_conn *conn;
	struct far_news answer;
	int err = verbs_call_run(verbs, addr, hello, &conf, &conn, &answer);

	if (!err && conn) {
		verbs_conn_end(verbs, conn);
		return -EPROTO;
	}
	return err || !ret_space ? err :
	       far_hello_info(answer.bytes, answer.len, ret_space);
}

const struct far_attach_ops verbs_links = {
	.size = sizeof(struct verbs_peer), .resolve = peer_resolve, .connect = peer_connect,
	.end = peer_end, .is_up = peer_is_up, .ask = peer_ask,
};
