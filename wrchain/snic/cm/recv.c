/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Received connection management messages.  Nothing in a message is trusted: it
 * is accepted only if it comes from the connection's address, names both
 * communication IDs as far as they are known, and fits the state.
 */
#include <errno.h>
#include <string.h>
#include "cm-priv.h"

/* ---- REQ --------------------------------------------------------------------- */

/* The existing connections of a peer that matter to its REQ. */
struct peer_scan {
	struct snic_cm_conn *duplicate;	/* the connection that this REQ created */
	struct snic_cm_conn *stale;	/* an established connection with the same QP */
	struct snic_cm_conn *oldest;	/* the oldest that is over */
	unsigned int conns, pending, over;
};

static void scan_peer(struct snic *nic, __be32 ip,
		      const struct snic_cm_msg *m, struct peer_scan *ret_scan)
{
	struct snic_cm_conn *c = *snic_cm_bucket(snic_cm_of(nic), ip);
	struct peer_scan *s = ret_scan;

	memset(s, 0, sizeof(*s));
	for (; c; c = c->peer_next) {
		if (c->peer_ip != ip || c->state == SNIC_CM_ST_DEAD)
			continue;
		s->conns++;
		s->pending += c->state == SNIC_CM_ST_REQ_RCVD;
		if (snic_cm_conn_is_over(c)) {
			s->oldest = c;	/* newer connections come first */
			s->over++;
		}
		if (c->remote_guid != m->req.ca_guid)
			continue;
		if (!c->active && c->remote_id == m->local_id &&
		    c->tid == m->tid && c->remote_qpn == m->req.qpn)
			s->duplicate = c;
		else if (c->remote_qpn == m->req.qpn &&
			 c->state == SNIC_CM_ST_ESTABLISHED)
			s->stale = c;
	}
}

/* The answer to a REQ may have been lost: sends it again. */
static void answer_duplicate(struct snic_cm_conn *c,
			     const struct snic_cm_msg *m)
{
	snic_stats(c->nic)->cm_duplicates++;
	switch (c->state) {
	case SNIC_CM_ST_REP_SENT:
		snic_cm_resend(c);
		break;
	case SNIC_CM_ST_TIMEWAIT:
	case SNIC_CM_ST_DREQ_SENT:
		snic_cm_send_rej(c->nic, c->peer_ip, m, SNIC_REJ_STALE_CONN,
				 NULL, 0);
		break;
	default:
		break;
	}
}

/*
 * The peer seems to use the QP of an old connection for a new one: it has
 * restarted, or somebody forges its address.  IBA: reject the REQ and
 * disconnect the old connection.  A REQ does not prove its sender, so here the
 * old connection stays, and its user decides when to end it: the user notices
 * without the CM that a peer is silent.
 *
 * Connections that are not established do not conflict: only one of two REPs
 * can match what the peer has asked for.
 */
static void refuse_stale(struct snic *nic, __be32 src, const struct snic_cm_msg *m)
{
	snic_stats(nic)->cm_stale++;
	snic_cm_send_rej(nic, src, m, SNIC_REJ_STALE_CONN, NULL, 0);
}

static struct snic_cm_listener *find_listener(struct snic *nic,
					      uint64_t service_id)
{
	struct snic_cm_listener *l = snic_cm_of(nic)->listeners;

	if ((service_id & ~SNIC_CM_SERVICE_PORT) != SNIC_CM_SERVICE_TCP)
		return NULL;
	for (; l; l = l->next)
		if (l->port == (service_id & SNIC_CM_SERVICE_PORT))
			return l;
	return NULL;
}

/* Returns 0, or the reason to reject the REQ; ari: the offending field's right
 * value. */
static uint16_t check_req(struct snic *nic, __be32 src,
			  const struct snic_cm_req *r,
			  const struct snic_cm_ip_hdr *hdr, uint8_t *ari,
			  uint8_t *ret_ari_len)
{
	__be32 ip = snic_config(nic)->ip;
	uint8_t gid[16];

	*ret_ari_len = 0;
	if (r->transport != SNIC_CM_TRANSPORT_RC)
		return SNIC_REJ_INVALID_TRANSPORT;
	snic_gid_of_ip(ip, gid);
	if (memcmp(gid, r->remote_gid, 16)) {
		memcpy(ari, gid, 16);
		*ret_ari_len = 16;
		return SNIC_REJ_INVALID_GID;
	}
	snic_gid_of_ip(src, gid);
	if (memcmp(gid, r->local_gid, 16))
		return SNIC_REJ_INVALID_GID;
	if (hdr->src != src || hdr->dst != ip)
		return SNIC_REJ_INVALID_GID;
	/* Both ends split messages by the same MTU, so this side cannot lower
	 * it. */
	if (snic_mtu_bytes(r->mtu) > snic_net_path_mtu(nic)) {
		ari[0] = snic_mtu_code(snic_net_path_mtu(nic)) << 4;
		*ret_ari_len = 1;
		return SNIC_REJ_INVALID_MTU;
	}
	return 0;
}

static uint8_t min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void new_request(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m,
			const struct snic_cm_ip_hdr *hdr,
			const struct snic_cm_listener *l)
{
	const struct snic_cm_req *r = &m->req;
	struct snic_cm_conn *c;

	if (snic_cm_conn_new(nic, src, &c)) {
		snic_stats(nic)->cm_limited++;
		snic_cm_send_rej(nic, src, m, SNIC_REJ_NO_RESOURCES, NULL, 0);
		return;
	}
	c->held = true;
	c->remote_id = m->local_id;
	c->remote_guid = r->ca_guid;
	c->remote_qpn = r->qpn;
	c->tid = m->tid;
	c->listener = l->id;
	c->peer_port = hdr->src_port;
	c->peer_wait = snic_cm_time(r->local_timeout);
	c->peer_retries = r->max_retries;
	c->qpc = (struct snic_qp_conn) {
		.dest_qpn = r->qpn,
		.dest_ip = src,
		.mtu = snic_mtu_bytes(r->mtu),
		.sq_psn = r->psn,
		.rq_psn = snic_secret(nic) & SNIC_PSN_MASK,
		.retry_cnt = r->retry_cnt,
		.rnr_retry = r->rnr_retry,
		.timeout = SNIC_CM_ACK_TIMEOUT,
		.max_rd_atomic = min_u8(r->responder_resources,
					SNIC_CM_RD_ATOMIC),
		.max_dest_rd_atomic = min_u8(r->initiator_depth,
					     SNIC_CM_RD_ATOMIC),
	};
	c->begin_len = m->priv_len - SNIC_CM_IP_HDR;
	memcpy(c->begin_priv, m->priv + SNIC_CM_IP_HDR, c->begin_len);
	snic_cm_set_state(c, SNIC_CM_ST_REQ_RCVD);
	snic_cm_post(c, SNIC_CM_EV_REQUEST);
}

static void receive_req(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m)
{
	struct snic_stats *stats = snic_stats(nic);
	struct snic_cm_listener *l;
	struct snic_cm_ip_hdr hdr;
	struct peer_scan scan;
	uint8_t ari[SNIC_CM_REJ_ARI], ari_len;
	uint16_t reason;

	scan_peer(nic, src, m, &scan);
	if (scan.duplicate) {
		answer_duplicate(scan.duplicate, m);
		return;
	}
	l = find_listener(nic, m->req.service_id);
	if (!l) {
		snic_cm_send_rej(nic, src, m, SNIC_REJ_INVALID_SERVICE_ID,
				 NULL, 0);
		return;
	}
	if (snic_cm_parse_ip_hdr(m->priv, m->priv_len, &hdr)) {
		stats->rx_cm_malformed++;
		snic_cm_send_rej(nic, src, m, SNIC_REJ_UNSUPPORTED, NULL, 0);
		return;
	}
	reason = check_req(nic, src, &m->req, &hdr, ari, &ari_len);
	if (reason) {
		snic_cm_send_rej(nic, src, m, reason, ari, ari_len);
		return;
	}
	if (scan.stale) {
		refuse_stale(nic, src, m);
		return;
	}
	if (scan.pending >= SNIC_CM_PEER_PENDING ||
	    snic_cm_of(nic)->nr_pending >= SNIC_CM_MAX_PENDING) {
		stats->cm_limited++;	/* dropped: the peer repeats it */
		return;
	}
	if (scan.conns >= SNIC_CM_PEER_CONNS && !scan.oldest) {
		stats->cm_limited++;
		snic_cm_send_rej(nic, src, m, SNIC_REJ_NO_RESOURCES, NULL, 0);
		return;
	}
	if (scan.conns >= SNIC_CM_PEER_CONNS || scan.over >= SNIC_CM_PEER_OVER)
		snic_cm_conn_forget(scan.oldest);
	new_request(nic, src, m, &hdr, l);
}

/* ---- the other messages ---------------------------------------------------------- */

/* Returns the connection that a message names; NULL: none, and counted. */
static struct snic_cm_conn *find_conn(struct snic *nic, __be32 src,
				      const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = snic_cm_conn_find(nic, m->remote_id);

	if (c && c->peer_ip == src && c->state != SNIC_CM_ST_DEAD &&
	    (c->remote_id == m->local_id || c->state == SNIC_CM_ST_REQ_SENT))
		return c;
	snic_stats(nic)->cm_unknown++;
	return NULL;
}

static void send_rtu(struct snic_cm_conn *c)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_RTU, .tid = c->tid,
		.local_id = c->id, .remote_id = c->remote_id,
	};

	snic_cm_send(c->nic, c->peer_ip, &m);
}

/* Connects the QP with the parameters that both ends agreed on. */
static int connect_qp(struct snic_cm_conn *c, const struct snic_cm_rep *r)
{
	int ret;

	c->qpc.dest_qpn = r->qpn;
	c->qpc.sq_psn = r->psn;
	c->qpc.rnr_retry = r->rnr_retry;
	c->qpc.max_rd_atomic = min_u8(r->responder_resources,
				      SNIC_CM_RD_ATOMIC);
	c->qpc.max_dest_rd_atomic = min_u8(r->initiator_depth,
					   SNIC_CM_RD_ATOMIC);
	ret = snic_qp_to_rtr(c->qp, &c->qpc);
	if (ret)
		return ret;
	return snic_qp_to_rts(c->qp);
}

static void receive_rep(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = find_conn(nic, src, m);

	if (!c || !c->active || c->state == SNIC_CM_ST_TIMEWAIT ||
	    c->state == SNIC_CM_ST_DREQ_SENT) {
		snic_cm_send_rej(nic, src, m, SNIC_REJ_INVALID_COMM_ID,
				 NULL, 0);
		return;
	}
	if (c->state == SNIC_CM_ST_ESTABLISHED) {
		snic_stats(nic)->cm_duplicates++;
		send_rtu(c);		/* the RTU was lost */
		return;
	}
	c->remote_id = m->local_id;
	c->remote_guid = m->rep.ca_guid;
	c->remote_qpn = m->rep.qpn;
	if (connect_qp(c, &m->rep)) {
		/* The user has used the QP for something else meanwhile. */
		snic_cm_send_rej(nic, src, m, SNIC_REJ_NO_RESOURCES, NULL, 0);
		snic_cm_end(c, SNIC_CM_UNREACHABLE, 0, NULL, 0);
		return;
	}
	c->begin_len = m->priv_len;
	memcpy(c->begin_priv, m->priv, m->priv_len);
	send_rtu(c);
	snic_cm_establish(c);
}

static void established_passive(struct snic_cm_conn *c)
{
	/*
	 * If the user has changed the QP's state meanwhile, end the connection.
	 */
	if (snic_qp_to_rts(c->qp)) {
		snic_cm_start_disconnect(c);
		return;
	}
	snic_cm_establish(c);
}

static void receive_rtu(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = find_conn(nic, src, m);

	if (!c)
		return;
	if (c->state == SNIC_CM_ST_REP_SENT)
		established_passive(c);
	else
		snic_stats(nic)->cm_duplicates++;
}

void snic_cm_data(struct snic_qp *qp)
{
	struct snic_cm_conn *c = qp->cm;

	if (c && c->state == SNIC_CM_ST_REP_SENT)
		established_passive(c);
}

/* A REJ with reason "timeout" may lack our ID; the ARI names its sender. */
static struct snic_cm_conn *find_timed_out(struct snic *nic, __be32 src,
					   const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = *snic_cm_bucket(snic_cm_of(nic), src);
	__be64 guid;

	memcpy(&guid, m->rej.ari, 8);
	for (; c; c = c->peer_next)
		if (c->peer_ip == src && c->remote_id == m->local_id &&
		    c->remote_guid == be64_to_cpu(guid) &&
		    (c->state == SNIC_CM_ST_REQ_RCVD ||
		     c->state == SNIC_CM_ST_REP_SENT ||
		     c->state == SNIC_CM_ST_ESTABLISHED ||
		     c->state == SNIC_CM_ST_DREQ_SENT))
			return c;
	snic_stats(nic)->cm_unknown++;
	return NULL;
}

static void receive_rej(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c;

	if (m->rej.reason == SNIC_REJ_TIMEOUT && m->rej.ari_len >= 8)
		c = find_timed_out(nic, src, m);
	else
		c = find_conn(nic, src, m);
	if (!c)
		return;
	switch (c->state) {
	case SNIC_CM_ST_REQ_SENT:
	case SNIC_CM_ST_REQ_RCVD:
	case SNIC_CM_ST_REP_SENT:
		snic_cm_end(c, SNIC_CM_REJECTED, m->rej.reason, m->priv,
			    m->priv_len);
		break;
	case SNIC_CM_ST_ESTABLISHED:
	case SNIC_CM_ST_DREQ_SENT:
		snic_cm_end(c, SNIC_CM_DISCONNECTED, m->rej.reason, NULL, 0);
		break;
	default:
		snic_stats(nic)->cm_duplicates++;
		break;
	}
}

/* The peer has the message, but needs more time. */
static void receive_mra(struct snic *nic, __be32 src,
			const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = find_conn(nic, src, m);
	uint64_t next;

	if (!c)
		return;
	if (!(c->state == SNIC_CM_ST_REQ_SENT &&
	      m->mra.which == SNIC_CM_WHICH_REQ) &&
	    !(c->state == SNIC_CM_ST_REP_SENT &&
	      m->mra.which == SNIC_CM_WHICH_REP)) {
		snic_stats(nic)->cm_ignored++;
		return;
	}
	next = snic_now(nic) + snic_cm_time(m->mra.service_timeout) +
		c->peer_wait;
	if (c->give_up < next)
		c->give_up = next;
	snic_timer_set(nic, &c->timer, next);
}

static void receive_dreq(struct snic *nic, __be32 src,
			 const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = find_conn(nic, src, m);
	struct snic_cm_msg drep = {
		.attr = SNIC_CM_DREP, .tid = m->tid,
		.local_id = m->remote_id, .remote_id = m->local_id,
	};

	if (c && m->dreq_qpn != c->local_qpn) {
		snic_stats(nic)->rx_cm_malformed++;
		return;
	}
	/* Answer for an unknown connection too, so that the peer can finish. */
	snic_cm_send(nic, src, &drep);
	if (!c)
		return;
	if (c->state == SNIC_CM_ST_ESTABLISHED ||
	    c->state == SNIC_CM_ST_REP_SENT ||
	    c->state == SNIC_CM_ST_DREQ_SENT)
		snic_cm_end(c, SNIC_CM_DISCONNECTED, 0, m->priv, m->priv_len);
	else
		snic_stats(nic)->cm_duplicates++;
}

static void receive_drep(struct snic *nic, __be32 src,
			 const struct snic_cm_msg *m)
{
	struct snic_cm_conn *c = find_conn(nic, src, m);

	if (!c)
		return;
	if (c->state == SNIC_CM_ST_DREQ_SENT)
		snic_cm_end(c, SNIC_CM_DISCONNECTED, 0, NULL, 0);
	else
		snic_stats(nic)->cm_duplicates++;
}

void snic_cm_receive(struct snic *nic, const struct snic_rx *rx)
{
	struct snic_stats *stats = snic_stats(nic);
	struct snic_cm_msg m;
	struct snic_pkt pkt;
	int ret;

	if (snic_pkt_parse(rx->bth, rx->len, &pkt) ||
	    pkt.opcode != SNIC_OP_UD_SEND_ONLY || pkt.src_qpn != 1 ||
	    pkt.qkey != SNIC_GSI_QKEY || (pkt.pkey & 0x7fff) != 0x7fff) {
		stats->rx_cm_malformed++;
		return;
	}
	ret = snic_cm_parse(pkt.payload, pkt.len, &m);
	if (ret) {
		if (ret == -EOPNOTSUPP)
			stats->cm_ignored++;
		else
			stats->rx_cm_malformed++;
		return;
	}
	switch (m.attr) {
	case SNIC_CM_REQ:
		receive_req(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_MRA:
		receive_mra(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_REJ:
		receive_rej(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_REP:
		receive_rep(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_RTU:
		receive_rtu(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_DREQ:
		receive_dreq(nic, rx->src_ip, &m);
		break;
	case SNIC_CM_DREP:
		receive_drep(nic, rx->src_ip, &m);
		break;
	}
}
