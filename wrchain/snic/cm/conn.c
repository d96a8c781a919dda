/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of the RDMA CM: the table, the message that each connection may
 * repeat until it is answered, and the events for the user.
 *
 * A connection exists until the user has released it and the protocol is done
 * with it: an ended connection is kept for a while, so that a late REQ or REP
 * does not revive it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../transport/transport.h"
#include "cm-priv.h"

#define CM_SRC_PORT	0xc000

static void conn_timer(struct snic *nic, struct snic_timer *t);

uint64_t snic_cm_time(uint8_t code)
{
	uint64_t ns = 4096ull << (code & 31);

	return ns < SNIC_CM_MAX_WAIT_NS ? ns : SNIC_CM_MAX_WAIT_NS;
}

/* ---- the table ------------------------------------------------------------ */

/*
 * Hashes with a secret key, so that nobody can choose addresses of one bucket.
 */
struct snic_cm_conn **snic_cm_bucket(struct snic_cm *cm, __be32 ip)
{
	uint64_t h = be32_to_cpu(ip) * cm->hash_key;

	return &cm->buckets[(h >> 48) & (SNIC_CM_BUCKETS - 1)];
}

static uint32_t make_id(struct snic *nic, uint32_t slot)
{
	struct snic_cm *cm = snic_cm_of(nic);
	uint32_t gen;

	do
		gen = snic_secret(nic) & (UINT32_MAX / SNIC_CM_MAX_CONNS);
	while (gen == cm->generations[slot]);
	cm->generations[slot] = gen;
	return gen * SNIC_CM_MAX_CONNS + slot;
}

struct snic_cm_conn *snic_cm_conn_find(struct snic *nic, uint32_t id)
{
	struct snic_cm *cm = snic_cm_of(nic);
	uint32_t slot = id & (SNIC_CM_MAX_CONNS - 1);
	struct snic_cm_conn *c = cm->slots[slot];

	return c && c->id == id ? c : NULL;
}

bool snic_cm_conn_is_over(const struct snic_cm_conn *c)
{
	return !c->held && (c->state == SNIC_CM_ST_TIMEWAIT ||
			    c->state == SNIC_CM_ST_DREQ_SENT);
}

void snic_cm_conn_forget(struct snic_cm_conn *c)
{
	snic_cm_set_state(c, SNIC_CM_ST_DEAD);
	snic_cm_put(c);
}

/*
 * Finds a free slot: round robin, so that an ID is reused as late as possible.  In a
 * full table the next connection that is over goes, which is one of the oldest.
 */
static int find_slot(struct snic_cm *cm, uint32_t *ret_slot)
{
	bool full = cm->nr_conns == SNIC_CM_MAX_CONNS;
	unsigned int i;

	for (i = 0; i < SNIC_CM_MAX_CONNS; i++) {
		uint32_t slot = cm->next_slot++ & (SNIC_CM_MAX_CONNS - 1);

		if (full && snic_cm_conn_is_over(cm->slots[slot]))
			snic_cm_conn_forget(cm->slots[slot]);
		*ret_slot = slot;
		if (!cm->slots[slot])
			return 0;
	}
	return -ENOSPC;
}

int snic_cm_conn_new(struct snic *nic, __be32 peer_ip,
		     struct snic_cm_conn **ret_conn)
{
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_conn *c, **bucket;
	uint32_t slot;
	int ret = find_slot(cm, &slot);

	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	ret = snic_timer_reserve(nic, 1);
	if (ret) {
		free(c);
		return ret;
	}
	cm->slots[slot] = c;
	cm->nr_conns++;
	c->nic = nic;
	c->id = make_id(nic, slot);
	c->peer_ip = peer_ip;
	c->state = SNIC_CM_ST_DEAD;
	bucket = snic_cm_bucket(cm, peer_ip);
	c->peer_next = *bucket;
	*bucket = c;
	snic_timer_init(&c->timer, conn_timer);
	*ret_conn = c;
	return 0;
}

static void conn_unqueue(struct snic_cm *cm, struct snic_cm_conn *c)
{
	struct snic_cm_conn **p;

	if (!c->queued)
		return;
	for (p = &cm->event_head; *p != c; )
		p = &(*p)->event_next;
	*p = c->event_next;
	if (cm->event_tail == &c->event_next)
		cm->event_tail = p;
	c->queued = false;
}

static void conn_free(struct snic_cm_conn *c)
{
	struct snic *nic = c->nic;
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_conn **p = snic_cm_bucket(cm, c->peer_ip);
	uint32_t slot = c->id & (SNIC_CM_MAX_CONNS - 1);

	while (*p != c)
		p = &(*p)->peer_next;
	*p = c->peer_next;
	conn_unqueue(cm, c);
	cm->slots[slot] = NULL;
	cm->nr_conns--;
	snic_timer_cancel(nic, &c->timer);
	snic_timer_unreserve(nic, 1);
	free(c);
}

void snic_cm_put(struct snic_cm_conn *c)
{
	if (!c->held && c->state == SNIC_CM_ST_DEAD)
		conn_free(c);
}

void snic_cm_set_state(struct snic_cm_conn *c, enum snic_cm_state state)
{
	struct snic_cm *cm = snic_cm_of(c->nic);

	if (c->state == SNIC_CM_ST_REQ_RCVD)
		cm->nr_pending--;
	if (state == SNIC_CM_ST_REQ_RCVD)
		cm->nr_pending++;
	c->state = state;
}

/* ---- messages ---------------------------------------------------------------- */

static void send_mad(struct snic *nic, __be32 ip, const uint8_t *mad)
{
	struct snic_cm *cm = snic_cm_of(nic);
	uint8_t hdr[SNIC_PKT_HDR_MAX];
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_UD_SEND_ONLY,
		.pkey = SNIC_PKEY_DEFAULT,
		.qpn = 1,
		.psn = cm->psn++ & SNIC_PSN_MASK,
		.qkey = SNIC_GSI_QKEY,
		.src_qpn = 1,
	};
	struct iovec iov[2] = {
		{ hdr, snic_pkt_build(&pkt, hdr) },
		{ (void *)mad, SNIC_MAD_LEN },
	};

	/* An error is the same as a loss: messages that need an answer are
	 * repeated. */
	snic_net_send(nic, ip, CM_SRC_PORT, iov, 2);
}

void snic_cm_send(struct snic *nic, __be32 ip, const struct snic_cm_msg *msg)
{
	uint8_t mad[SNIC_MAD_LEN];

	if (!snic_cm_build(msg, mad))
		send_mad(nic, ip, mad);
}

void snic_cm_resend(struct snic_cm_conn *c)
{
	send_mad(c->nic, c->peer_ip, c->msg);
}

void snic_cm_forge(struct snic *nic, uint16_t attr, uint8_t *mad)
{
	if (attr == SNIC_CM_REP || attr == SNIC_CM_REJ)
		snic_forge_hello(nic, snic_cm_priv(mad, attr));
}

int snic_cm_send_kept(struct snic_cm_conn *c, const struct snic_cm_msg *msg)
{
	int ret;

	ret = snic_cm_build(msg, c->msg);
	if (ret)
		return ret;
	snic_cm_forge(c->nic, msg->attr, c->msg);
	snic_cm_resend(c);
	return 0;
}

int snic_cm_send_waiting(struct snic_cm_conn *c, const struct snic_cm_msg *msg,
			 uint64_t answer_ns, unsigned int retries)
{
	uint64_t total = answer_ns * (retries + 1);
	int ret;

	ret = snic_cm_send_kept(c, msg);
	if (ret)
		return ret;
	if (total < SNIC_CM_MIN_WAIT_NS)
		total = SNIC_CM_MIN_WAIT_NS;
	if (total > SNIC_CM_MAX_WAIT_NS)
		total = SNIC_CM_MAX_WAIT_NS;
	c->total = total;
	c->wait = SNIC_CM_FIRST_RETRY_NS;
	c->give_up = 0;
	/* Between two steps the clock may be far behind, so the time starts
	 * with the next step. */
	snic_timer_set(c->nic, &c->timer, snic_now(c->nic));
	return 0;
}

void snic_cm_send_rej(struct snic *nic, __be32 ip, const struct snic_cm_msg *to,
		      uint16_t reason, const uint8_t *ari, uint8_t ari_len)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REJ, .tid = to->tid,
		.local_id = to->remote_id, .remote_id = to->local_id,
		.rej = {
			.which = to->attr == SNIC_CM_REQ ? SNIC_CM_WHICH_REQ :
				to->attr == SNIC_CM_REP ? SNIC_CM_WHICH_REP :
				SNIC_CM_WHICH_OTHER,
			.reason = reason,
			.ari_len = ari_len,
		},
	};

	if (ari_len)
		memcpy(m.rej.ari, ari, ari_len);
	snic_stats(nic)->cm_rejects++;
	snic_cm_send(nic, ip, &m);
}

/* ---- events -------------------------------------------------------------------- */

void snic_cm_post(struct snic_cm_conn *c, enum snic_cm_pending event)
{
	struct snic_cm *cm = snic_cm_of(c->nic);

	c->events |= event;
	if (c->queued)
		return;
	c->queued = true;
	c->event_next = NULL;
	*cm->event_tail = c;
	cm->event_tail = &c->event_next;
}

void snic_cm_forget_events(struct snic_cm_conn *c)
{
	c->events = 0;
	conn_unqueue(snic_cm_of(c->nic), c);
}

static void fill_event(struct snic_cm_conn *c, unsigned int event,
		       struct snic_cm_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->id = c->id;
	ev->listener = c->listener;
	ev->peer_ip = c->peer_ip;
	ev->local_ip = snic_config(c->nic)->ip;
	ev->peer_port = c->peer_port;
	if (event == SNIC_CM_EV_END) {
		ev->type = c->end_type;
		ev->reason = c->reason;
		memcpy(ev->priv, c->end_priv, c->end_len);
		ev->priv_len = c->end_len;
		return;
	}
	ev->type = event == SNIC_CM_EV_REQUEST ? SNIC_CM_REQUEST :
		SNIC_CM_ESTABLISHED;
	ev->peer_qpn = c->remote_qpn;
	memcpy(ev->priv, c->begin_priv, c->begin_len);
	ev->priv_len = c->begin_len;
	c->begin_len = 0;
}

int snic_cm_poll(struct snic *nic, struct snic_cm_event *ret_event)
{
	struct snic_cm *cm = snic_cm_of(nic);
	struct snic_cm_conn *c = cm->event_head;
	unsigned int event;

	if (!c)
		return -EAGAIN;
	event = c->events & -c->events;		/* the lowest bit: the earliest */
	c->events &= ~event;
	fill_event(c, event, ret_event);
	conn_unqueue(cm, c);
	if (c->events)
		snic_cm_post(c, 0);
	return 0;
}

bool snic_cm_pending(const struct snic_cm *cm)
{
	return cm->event_head;
}

/* ---- state changes --------------------------------------------------------------- */

/* Moves the QP to ERR and detaches it from the connection. */
static void conn_drop_qp(struct snic_cm_conn *c)
{
	struct snic_qp *qp = c->qp;

	if (!qp)
		return;
	c->qp = NULL;
	qp->cm = NULL;
	snic_qp_error(c->nic, qp->qpn);
}

static void enter_timewait(struct snic_cm_conn *c)
{
	snic_cm_set_state(c, SNIC_CM_ST_TIMEWAIT);
	snic_timer_set(c->nic, &c->timer,
		       snic_now(c->nic) + SNIC_CM_TIMEWAIT_NS);
}

void snic_cm_establish(struct snic_cm_conn *c)
{
	snic_timer_cancel(c->nic, &c->timer);
	snic_cm_set_state(c, SNIC_CM_ST_ESTABLISHED);
	snic_cm_post(c, SNIC_CM_EV_ESTABLISHED);
}

void snic_cm_end(struct snic_cm_conn *c, enum snic_cm_event_type type,
		 uint16_t reason, const uint8_t *priv, uint8_t priv_len)
{
	bool unseen = c->events & SNIC_CM_EV_REQUEST;

	conn_drop_qp(c);
	enter_timewait(c);
	if (unseen) {
		/* The user has not seen the request and will not release it. */
		snic_cm_forget_events(c);
		c->held = false;
		return;
	}
	if (!c->held)
		return;
	c->end_type = type;
	c->reason = reason;
	if (priv_len > sizeof(c->end_priv))
		priv_len = sizeof(c->end_priv);
	if (priv_len)
		memcpy(c->end_priv, priv, priv_len);
	c->end_len = priv_len;
	snic_cm_post(c, SNIC_CM_EV_END);
}

void snic_cm_start_disconnect(struct snic_cm_conn *c)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_DREQ, .tid = c->id,
		.local_id = c->id, .remote_id = c->remote_id,
		.dreq_qpn = c->remote_qpn,
	};

	conn_drop_qp(c);
	snic_cm_set_state(c, SNIC_CM_ST_DREQ_SENT);
	snic_cm_send_waiting(c, &m, snic_cm_time(SNIC_CM_TIMEOUT),
			     SNIC_CM_RETRIES);
}

/* No answer came: sends the peer a REJ, in case only the answers were lost. */
static void conn_gave_up(struct snic_cm_conn *c)
{
	struct snic_cm *cm = snic_cm_of(c->nic);
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REJ, .tid = c->tid,
		.local_id = c->id, .remote_id = c->remote_id,
		.rej = {
			.which = SNIC_CM_WHICH_OTHER,
			.reason = SNIC_REJ_TIMEOUT,
			.ari_len = 8,
		},
	};
	__be64 guid = cpu_to_be64(cm->guid);

	snic_stats(c->nic)->cm_timeouts++;
	if (c->state == SNIC_CM_ST_DREQ_SENT) {
		snic_cm_end(c, SNIC_CM_DISCONNECTED, 0, NULL, 0);
		return;
	}
	memcpy(m.rej.ari, &guid, 8);
	snic_cm_send(c->nic, c->peer_ip, &m);
	snic_cm_end(c, SNIC_CM_UNREACHABLE, 0, NULL, 0);
}

static void conn_repeat(struct snic_cm_conn *c)
{
	uint64_t now = snic_now(c->nic), next;

	if (!c->give_up) {
		c->give_up = now + c->total;
		snic_timer_set(c->nic, &c->timer, now + c->wait);
		return;
	}
	if (now >= c->give_up) {
		conn_gave_up(c);
		return;
	}
	if (c->state == SNIC_CM_ST_REQ_SENT &&
	    snic_net_resolve(c->nic, c->peer_ip) == -EHOSTUNREACH) {
		snic_stats(c->nic)->cm_timeouts++;
		snic_cm_end(c, SNIC_CM_UNREACHABLE, 0, NULL, 0);
		return;
	}
	snic_stats(c->nic)->cm_retransmits++;
	snic_cm_resend(c);
	if (c->wait < c->peer_wait)
		c->wait *= 2;
	next = now + c->wait;
	snic_timer_set(c->nic, &c->timer, next < c->give_up ? next : c->give_up);
}

static void conn_timer(struct snic *nic, struct snic_timer *t)
{
	struct snic_cm_conn *c = (struct snic_cm_conn *)
		((char *)t - offsetof(struct snic_cm_conn, timer));

	switch (c->state) {
	case SNIC_CM_ST_REQ_SENT:
	case SNIC_CM_ST_REP_SENT:
	case SNIC_CM_ST_DREQ_SENT:
		conn_repeat(c);
		break;
	case SNIC_CM_ST_TIMEWAIT:
		snic_cm_set_state(c, SNIC_CM_ST_DEAD);
		break;
	case SNIC_CM_ST_REQ_RCVD:
	case SNIC_CM_ST_ESTABLISHED:
	case SNIC_CM_ST_DEAD:
		break;
	}
	snic_cm_put(c);
}

/* ---- set-up ------------------------------------------------------------------------ */

int snic_cm_init(struct snic *nic, struct snic_cm **ret_cm)
{
	const uint8_t *mac = snic_config(nic)->mac;
	struct snic_cm *cm;

	cm = calloc(1, sizeof(*cm));
	if (!cm)
		return -ENOMEM;
	cm->slots = calloc(SNIC_CM_MAX_CONNS, sizeof(*cm->slots));
	cm->generations = calloc(SNIC_CM_MAX_CONNS, sizeof(*cm->generations));
	if (!cm->slots || !cm->generations) {
		free(cm->slots);
		free(cm->generations);
		free(cm);
		return -ENOMEM;
	}
	cm->event_tail = &cm->event_head;
	cm->hash_key = snic_secret(nic) | 1;
	cm->psn = snic_secret(nic);
	cm->next_port = 0xc000 | (snic_secret(nic) & 0x3fff);
	/* EUI-64 of the MAC. */
	cm->guid = (uint64_t)(mac[0] ^ 2) << 56 | (uint64_t)mac[1] << 48 |
		(uint64_t)mac[2] << 40 | 0xfffeull << 24 |
		(uint64_t)mac[3] << 16 | mac[4] << 8 | mac[5];
	*ret_cm = cm;
	return 0;
}

void snic_cm_fini(struct snic *nic, struct snic_cm *cm)
{
	struct snic_cm_listener *l;
	uint32_t slot;

	if (!cm)
		return;
	for (slot = 0; slot < SNIC_CM_MAX_CONNS; slot++) {
		if (!cm->slots[slot])
			continue;
		if (cm->slots[slot]->qp)
			cm->slots[slot]->qp->cm = NULL;
		conn_free(cm->slots[slot]);
	}
	while ((l = cm->listeners)) {
		cm->listeners = l->next;
		free(l);
	}
	free(cm->slots);
	free(cm->generations);
	free(cm);
}
