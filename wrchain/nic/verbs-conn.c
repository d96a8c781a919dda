// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of the NIC on plain verbs.  The RDMA connection manager knows our queue pairs
 * by number only, so this file has their states changed, with its attributes.
 */
#include <errno.h>
#include <string.h>
#include "verbs-priv.h"

#define RNR_RETRY	7	/* the peer retries for ever */

static struct plain_qp *qp_of(struct nic_verbs *v, uint32_t qpn)
{
	return numbers_find(&v->qps, qpn);
}

int plain_listen(struct nic *nic, uint16_t port)
{
	return nic_conns_listen(&plain_of(nic)->conns, port);
}

int plain_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		  const void *priv, uint8_t priv_len, uint32_t *ret_id)
{
	const struct nic_cm_call call = {
		.ip = ip, .port = port, .qpn = qpn, .priv = priv, .priv_len = priv_len,
	};
	struct nic_verbs *v = plain_of(nic);
	struct nic_conn *c;
	void *conn;
	int r;

	if (!qp_of(v, qpn))
		return -ENOENT;
	r = v->conns.cm->connect(v->conns.ctx, &call, &conn);
	if (r)
		return r;
	c = nic_conns_add(&v->conns, conn);
	if (!c) {
		v->conns.cm->release(conn);
		return -ENOMEM;
	}
	c->qpn = qpn;
	*ret_id = c->id;
	return 0;
}

/* The peer has accepted our request: the queue pair begins, then the peer hears of that. */
static int conn_begin(struct nic_verbs *v, const struct nic_conn *c)
{
	struct plain_qp *q = qp_of(v, c->qpn);
	int r = q ? plain_qp_connect(v, q, c->conn) : -ENOENT;

	return r ? r : v->conns.cm->establish(c->conn);
}

int plain_event(struct nic *nic, struct nic_event *ret_event)
{
	struct nic_verbs *v = plain_of(nic);
	struct nic_cm_event ev;
	struct nic_conn *c;
	int r = nic_conns_event(&v->conns, &ev, &c);

	if (r)
		return r;
	if (ev.answer && conn_begin(v, c)) {
		v->conns.cm->reject(c->conn, NULL, 0);
		ev.type = NIC_GONE;
		ev.reason = NIC_UNREACHABLE;
	}
	if (ev.type == NIC_GONE && c->qpn)
		plain_qp_error(nic, c->qpn);
	nic_conn_event(c, &ev, ret_event);
	return 0;
}

int plain_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		 uint8_t priv_len)
{
	struct nic_verbs *v = plain_of(nic);
	struct nic_cm_accept accept = {
		.qpn = qpn, .rnr_retry = RNR_RETRY, .priv = priv, .priv_len = priv_len,
	};
	struct nic_conn *c = nic_conns_find(&v->conns, id);
	struct plain_qp *q = qp_of(v, qpn);
	int r;

	if (!c || !q)
		return -ENOENT;
	r = plain_qp_connect(v, q, c->conn);
	if (r)
		return r;
	accept.responder_resources = q->reads_in;
	accept.initiator_depth = q->reads_out;
	r = v->conns.cm->accept(c->conn, &accept);
	if (r)
		plain_qp_error(nic, qpn);
	else
		c->qpn = qpn;
	return r;
}

int plain_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	return nic_conns_reject(&plain_of(nic)->conns, id, priv, priv_len);
}

int plain_disconnect(struct nic *nic, uint32_t id)
{
	struct nic_verbs *v = plain_of(nic);
	struct nic_conn *c = nic_conns_find(&v->conns, id);
	int r;

	if (!c)
		return -ENOENT;
	r = v->conns.cm->disconnect(c->conn);
	if (c->qpn)
		plain_qp_error(nic, c->qpn);
	return r;
}

void plain_release(struct nic *nic, uint32_t id)
{
	nic_conns_release(&plain_of(nic)->conns, id);
}
