/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outgoing connections: address, route, queue pair, hello, answer. */
#include <core/wqe.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_priv.h"

#define RESOLVE_MS	5000
/*
 * Most tries of a request. A memory node's NIC rejects a request of a queue pair number
 * that it still knows from an earlier connection, and then forgets that number.
 */
#define CALL_TRIES	4
/* The maximum is 7, but rdma_rxe retries for ever then. */
#define RETRIES		6
#define RNR_RETRIES	7

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

	memset(ret_addr, 0, sizeof(*ret_addr));
	in->sin_family = AF_INET;
	in->sin_port = htons(ODRP_FAR_PORT);
	in->sin_addr.s_addr = node->ip;
}

int verbs_addr_of(const struct verbs_nic *verbs, const char *node,
		  struct verbs_addr *ret_addr)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct far_node *local = far_nodes_find(&verbs->nodes, node);
	char host[NI_MAXHOST], other[8];
	struct addrinfo *res;
	const char *port;

	if (local) {
		addr_local(local, ret_addr);
		return 0;
	}
	if (node_split(node, host, sizeof(host), &port))
		return *node ? -EINVAL : -EHOSTUNREACH;
	snprintf(other, sizeof(other), "%u", ODRP_FAR_PORT);
	if (getaddrinfo(host, port ? port : other, &hints, &res))
		return -EHOSTUNREACH;
	memset(ret_addr, 0, sizeof(*ret_addr));
	memcpy(&ret_addr->sa, res->ai_addr, res->ai_addrlen);
	freeaddrinfo(res);
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
	err = verbs_conn_wait(verbs, conn);
	if (err)
		return err;
	/* The route goes by another device. */
	if (conn->id->verbs != verbs->ctx)
		return -EHOSTUNREACH;
	verbs_conn_expect(verbs, conn);
	if (rdma_resolve_route(conn->id, RESOLVE_MS))
		return -EHOSTUNREACH;
	return verbs_conn_wait(verbs, conn);
}

static int qp_try(struct verbs_conn *conn, const struct verbs_qp_conf *conf,
		  uint32_t max_inline)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = conf->cq,
		.recv_cq = conf->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = conf->depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = max_inline,
		},
	};
	int err;

	errno = 0;
	err = verbs_errno(rdma_create_qp(conn->id, conf->pd, &attr));
	if (!err && conf->ret_inline)
		*conf->ret_inline = attr.cap.max_inline_data;
	return err;
}

/* A device with less inline data, or none, may refuse: try without then. */
static int conn_qp(struct verbs_conn *conn, const struct verbs_qp_conf *conf)
{
	int err = qp_try(conn, conf, conf->ret_inline ? FAR_NIC_MAX_INLINE : 0);

	return err && conf->ret_inline ? qp_try(conn, conf, 0) : err;
}

int verbs_connect(struct verbs_nic *verbs, struct verbs_conn *conn, const void *priv,
		  size_t len)
{
	struct rdma_conn_param param = {
		.private_data = priv,
		.private_data_len = len,
		.responder_resources = 1,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};

	verbs_conn_expect(verbs, conn);
	errno = 0;
	if (rdma_connect(conn->id, &param))
		return verbs_errno(-1);
	return verbs_conn_wait(verbs, conn);
}

/*
 * Sends the request, signed if there is a pass, and waits for the answer. With a pass,
 * -ECONNREFUSED for an answer whose MAC is wrong or missing; the pass is dropped then.
 */
static int conn_send_request(struct verbs_nic *verbs, struct verbs_conn *conn,
			     const struct odrp_far_hello *hello, const struct far_pass *pass)
{
	struct odrp_auth_far req;
	bool refused;
	int err;

	if (!pass->handle)
		return verbs_connect(verbs, conn, hello, sizeof(*hello));
	far_pass_sign(pass, hello, conn->id->qp->qp_num, &req);
	err = verbs_connect(verbs, conn, &req, sizeof(req));
	refused = verbs_conn_state(verbs, conn) == VERBS_CONN_REFUSED;
	if (err && !refused)
		return err;
	if (!far_pass_check(pass, !refused, hello->role, conn->peer_qpn, conn->priv,
			    conn->priv_len))
		return err;
	far_passes_drop(&verbs->passes, pass);
	return -ECONNREFUSED;
}

static int call_once(struct verbs_nic *verbs, const struct verbs_addr *addr,
		     const struct odrp_far_hello *hello,
		     const struct verbs_qp_conf *conf, struct verbs_conn **ret_conn)
{
	struct verbs_conn *conn;
	struct far_pass pass;
	int err = verbs_pass_get(verbs, addr, &pass);

	if (err)
		return err;
	err = verbs_conn_new(verbs, &conn);
	if (err)
		return err;
	err = verbs_resolve(verbs, conn, addr);
	if (!err)
		err = conn_qp(conn, conf);
	if (!err)
		err = conn_send_request(verbs, conn, hello, &pass);
	if (err) {
		verbs_conn_end(verbs, conn);
		return err;
	}
	*ret_conn = conn;
	return 0;
}

/* 0: the request was accepted, or rejected with ODRP_FAR_OK. */
static int call_try(struct verbs_nic *verbs, const struct verbs_addr *addr,
		    const struct odrp_far_hello *hello,
		    const struct verbs_qp_conf *conf, struct verbs_conn **ret_conn)
{
	unsigned tries;
	int err = -ECONNREFUSED;

	for (tries = 0; tries < CALL_TRIES && err == -ECONNREFUSED; tries++)
		err = call_once(verbs, addr, hello, conf, ret_conn);
	return err;
}

static bool conn_refused(struct verbs_nic *verbs, struct verbs_conn *conn)
{
	return verbs_conn_state(verbs, conn) == VERBS_CONN_REFUSED;
}

int verbs_call(struct verbs_nic *verbs, const struct verbs_addr *addr,
	       const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
	       struct verbs_conn **ret_conn)
{
	int err = call_try(verbs, addr, hello, conf, ret_conn);

	if (err || !conn_refused(verbs, *ret_conn))
		return err;
	/* The request was rejected with OK, which answers only questions. */
	verbs_conn_end(verbs, *ret_conn);
	return -EPROTO;
}

int verbs_ask(struct verbs_nic *verbs, const struct verbs_addr *addr,
	      const struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	const struct verbs_qp_conf conf = {
		.pd = verbs->pd, .cq = verbs->cq, .depth = 1,
	};
	struct verbs_conn *conn;
	int err = call_try(verbs, addr, hello, &conf, &conn);

	if (err)
		return err;
	if (!conn_refused(verbs, conn))
		err = -EPROTO;
	else if (ret_space)
		err = far_hello_info(conn->priv, conn->priv_len, ret_space);
	verbs_conn_end(verbs, conn);
	return err;
}
