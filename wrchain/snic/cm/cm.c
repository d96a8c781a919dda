/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of the RDMA CM: listen, connect, accept, reject, disconnect,
 * release.
 *
 *	active:	 REQ_SENT ---------------REP----> ESTABLISHED --> DREQ_SENT
 *	passive: REQ_RCVD --accept--> REP_SENT --RTU or data--^       |
 *		     |                                                v
 *		     +--reject---------------------> DEAD <-- TIMEWAIT
 *
 * The passive side moves the QP to RTR when it sends the REP, so that the QP
 * can receive as soon as the peer can send, and to RTS when the RTU or the
 * first packet arrives.  The active side does both when the REP arrives.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cm-priv.h"

#define CONNECT_PRIV_MAX	(SNIC_CM_REQ_PRIV - SNIC_CM_IP_HDR)

/* ---- listening ------------------------------------------------------------ */

int snic_cm_listen(struct snic *nic, uint16_t port, uint32_t *ret_listener)
{
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_listener *l;

	if (!port)
		return -EINVAL;
	for (l = cm->listeners; l; l = l->next)
		if (l->port == port)
			return -EADDRINUSE;
	l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->port = port;
	l->id = ++cm->next_listener;
	l->next = cm->listeners;
	cm->listeners = l;
	*ret_listener = l->id;
	return 0;
}

/*
 * Sends a REJ for a connection request and frees the connection with its id, so
 * that requests from strangers use no lasting memory.  If the REJ is lost, the
 * peer repeats the REQ, which makes a new request.
 */
static void conn_refuse(struct snic_cm_conn *c, uint16_t reason, const void *priv,
			uint8_t priv_len)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REJ, .tid = c->tid,
		.remote_id = c->remote_id,
		.rej = { .which = SNIC_CM_WHICH_REQ, .reason = reason },
		.priv = priv,
		.priv_len = priv_len,
	};

	snic_stats(c->nic)->cm_rejects++;
	snic_cm_send_kept(c, &m);
	snic_cm_set_state(c, SNIC_CM_ST_DEAD);
	snic_cm_forget_events(c);
	c->held = false;
	snic_cm_put(c);
}

/* Rejects the requests of this listener that the user has not seen yet. */
static void refuse_unseen(struct snic *nic, uint32_t listener)
{
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_conn *c, *next;

	for (c = cm->event_head; c; c = next) {
		next = c->event_next;
		if (c->listener == listener &&
		    c->state == SNIC_CM_ST_REQ_RCVD &&
		    c->events & SNIC_CM_EV_REQUEST)
			conn_refuse(c, SNIC_REJ_INVALID_SERVICE_ID, NULL, 0);
	}
}

int snic_cm_unlisten(struct snic *nic, uint32_t listener)
{
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_listener *l, **p;

	for (p = &cm->listeners; (l = *p); p = &l->next)
		if (l->id == listener)
			break;
	if (!l)
		return -ENOENT;
	*p = l->next;
	free(l);
	refuse_unseen(nic, listener);
	return 0;
}

/* ---- parameters ------------------------------------------------------------- */

static int check_param(struct snic *nic, const struct snic_cm_param *p,
		       unsigned int priv_max, struct snic_qp **ret_qp)
{
	struct snic_qp *qp;

	if (p->priv_len > priv_max || (p->priv_len && !p->priv))
		return -EMSGSIZE;
	if (p->retry_cnt > 7 || p->rnr_retry > 7 || p->timeout > 31 ||
	    p->min_rnr_timer > 31)
		return -EINVAL;
	qp = snic_qp_lookup(nic, p->qpn);
	if (!qp)
		return -ENOENT;
	if (qp->cm)
		return -EBUSY;
	if (qp->state != SNIC_QP_RESET)
		return -EINVAL;
	*ret_qp = qp;
	return 0;
}

static void bind_qp(struct snic_cm_conn *c, struct snic_qp *qp)
{
	c->qp = qp;
	c->local_qpn = qp->qpn;
	qp->cm = c;
}

/* ---- active side -------------------------------------------------------------- */

static int send_req(struct snic_cm_conn *c, uint16_t port,
		    const struct snic_cm_param *p)
{
	const struct snic_config *cfg = snic_config(c->nic);
	struct snic_cm *cm = snic_cm_of(c->nic);
	uint8_t priv[SNIC_CM_REQ_PRIV];
	struct snic_cm_ip_hdr hdr = {
		.src_port = cm->next_port,
		.src = cfg->ip, .dst = c->peer_ip,
	};
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REQ, .tid = c->tid, .local_id = c->id,
		.req = {
			.service_id = SNIC_CM_SERVICE_TCP | port,
			.ca_guid = cm->guid,
			.qpn = c->local_qpn,
			.psn = c->qpc.rq_psn,
			.responder_resources = SNIC_CM_RD_ATOMIC,
			.initiator_depth = SNIC_CM_RD_ATOMIC,
			.remote_timeout = SNIC_CM_TIMEOUT,
			.local_timeout = SNIC_CM_TIMEOUT,
			.transport = SNIC_CM_TRANSPORT_RC,
			.retry_cnt = p->retry_cnt,
			.rnr_retry = p->rnr_retry,
			.max_retries = SNIC_CM_RETRIES,
			.pkey = 0xffff,
			.mtu = snic_mtu_code(c->qpc.mtu),
			.hop_limit = 64,
			.ack_timeout = c->qpc.timeout,
		},
		.priv = priv,
		.priv_len = SNIC_CM_IP_HDR + p->priv_len,
	};

	snic_gid_of_ip(cfg->ip, m.req.local_gid);
	snic_gid_of_ip(c->peer_ip, m.req.remote_gid);
	snic_cm_build_ip_hdr(&hdr, priv);
	if (p->priv_len)
		memcpy(priv + SNIC_CM_IP_HDR, p->priv, p->priv_len);
	cm->next_port = 0xc000 | ((cm->next_port + 1) & 0x3fff);
	return snic_cm_send_waiting(c, &m, snic_cm_time(SNIC_CM_TIMEOUT),
				    SNIC_CM_RETRIES);
}

int snic_cm_connect(struct snic *nic, __be32 ip, uint16_t port,
		    const struct snic_cm_param *param, uint32_t *ret_id)
{
	struct snic_cm_conn *c;
	struct snic_qp *qp;
	int ret;

	if (!port || ip == snic_config(nic)->ip)
		return -EINVAL;
	ret = check_param(nic, param, CONNECT_PRIV_MAX, &qp);
	if (ret)
		return ret;
	ret = snic_net_resolve(nic, ip);
	if (ret && ret != -EAGAIN)
		return ret;
	ret = snic_cm_conn_new(nic, ip, &c);
	if (ret)
		return ret;
	c->active = true;
	c->held = true;
	c->peer_port = port;
	c->tid = (uint64_t)snic_secret(nic) << 32 | c->id;
	c->peer_wait = snic_cm_time(SNIC_CM_TIMEOUT);
	c->peer_retries = SNIC_CM_RETRIES;
	c->qpc.dest_ip = ip;
	c->qpc.mtu = snic_net_path_mtu(nic);
	c->qpc.rq_psn = snic_secret(nic) & 0xffffff;
	c->qpc.retry_cnt = param->retry_cnt;
	c->qpc.timeout = param->timeout ?: SNIC_CM_ACK_TIMEOUT;
	c->qpc.min_rnr_timer = param->min_rnr_timer;
	bind_qp(c, qp);
	snic_cm_set_state(c, SNIC_CM_ST_REQ_SENT);
	*ret_id = c->id;
	return send_req(c, port, param);
}

/* ---- passive side ---------------------------------------------------------------- */

static int send_rep(struct snic_cm_conn *c, const struct snic_cm_param *p)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REP, .tid = c->tid,
		.local_id = c->id, .remote_id = c->remote_id,
		.rep = {
			.ca_guid = snic_cm_of(c->nic)->guid,
			.qpn = c->local_qpn,
			.psn = c->qpc.rq_psn,
			.responder_resources = c->qpc.max_dest_rd_atomic,
			.initiator_depth = c->qpc.max_rd_atomic,
			.rnr_retry = p->rnr_retry,
		},
		.priv = p->priv,
		.priv_len = p->priv_len,
	};

	return snic_cm_send_waiting(c, &m, c->peer_wait, c->peer_retries);
}

int snic_cm_accept(struct snic *nic, uint32_t id,
		   const struct snic_cm_param *param)
{
	struct snic_cm_conn *c = snic_cm_conn_find(nic, id);
	struct snic_qp *qp;
	int ret;

	if (!c || !c->held)
		return -ENOENT;
	if (c->state != SNIC_CM_ST_REQ_RCVD)
		return -ENOTCONN;
	ret = check_param(nic, param, SNIC_CM_REP_PRIV, &qp);
	if (ret)
		return ret;
	/* The REQ gives the retry counts for both ends. */
	if (param->timeout)
		c->qpc.timeout = param->timeout;
	c->qpc.min_rnr_timer = param->min_rnr_timer;
	ret = snic_qp_to_rtr(qp, &c->qpc);
	if (ret)
		return ret;
	bind_qp(c, qp);
	snic_cm_set_state(c, SNIC_CM_ST_REP_SENT);
	return send_rep(c, param);
}

int snic_cm_reject(struct snic *nic, uint32_t id, const void *priv,
		   uint8_t priv_len)
{
	struct snic_cm_conn *c = snic_cm_conn_find(nic, id);

	if (!c || !c->held)
		return -ENOENT;
	if (c->state != SNIC_CM_ST_REQ_RCVD)
		return -ENOTCONN;
	if (priv_len > SNIC_CM_REJ_PRIV || (priv_len && !priv))
		return -EMSGSIZE;
	conn_refuse(c, SNIC_REJ_CONSUMER, priv, priv_len);
	return 0;
}

/* ---- the end ---------------------------------------------------------------------- */

int snic_cm_disconnect(struct snic *nic, uint32_t id)
{
	struct snic_cm_conn *c = snic_cm_conn_find(nic, id);

	if (!c || !c->held)
		return -ENOENT;
	if (c->state != SNIC_CM_ST_ESTABLISHED &&
	    c->state != SNIC_CM_ST_REP_SENT)
		return -ENOTCONN;
	snic_cm_start_disconnect(c);
	return 0;
}

int snic_cm_release(struct snic *nic, uint32_t id)
{
	struct snic_cm_conn *c = snic_cm_conn_find(nic, id);

	if (!c || !c->held)
		return -ENOENT;
	c->held = false;
	snic_cm_forget_events(c);
	switch (c->state) {
	case SNIC_CM_ST_REQ_SENT:
	case SNIC_CM_ST_REQ_RCVD:
	case SNIC_CM_ST_REP_SENT:
	case SNIC_CM_ST_ESTABLISHED:
		snic_cm_end(c, SNIC_CM_DISCONNECTED, 0, NULL, 0);
		break;
	case SNIC_CM_ST_DREQ_SENT:	/* continues without the user */
	case SNIC_CM_ST_TIMEWAIT:
	case SNIC_CM_ST_DEAD:
		break;
	}
	snic_cm_put(c);
	return 0;
}

void snic_cm_qp_gone(struct snic_qp *qp)
{
	struct snic_cm_conn *c = qp->cm;

	if (!c)
		return;
	qp->cm = NULL;
	c->qp = NULL;
	switch (c->state) {
	case SNIC_CM_ST_ESTABLISHED:
	case SNIC_CM_ST_REP_SENT:
		snic_cm_start_disconnect(c);
		break;
	case SNIC_CM_ST_REQ_SENT:
		snic_cm_end(c, SNIC_CM_UNREACHABLE, 0, NULL, 0);
		break;
	default:
		break;
	}
}
