/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outgoing connections: the link of a call (peer/call.h), and the wait for its end. Each
 * thread that holds soft_nic.lock takes the NIC's events, also those for other threads, and
 * records them in the connections of soft_nic.conns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include <nic/node.h>

#include "../host/nic_link.h"
#include "../peer/call.h"
#include "real.h"
#include "service.h"
#include "soft_priv.h"

/* How often a waiting thread checks whether another thread has taken its event. */
#define CALL_LOOK_MS	5
/* Between two looks for a message of a handshake. */
#define MESSAGE_LOOK_NS	200000

/* The caller holds the lock. */
static void event_note(struct soft_nic *soft, const struct nic_event *event)
{
	struct soft_conn *conn = soft->conns;

	while (conn && conn->id != event->id)
		conn = conn->next;
	if (!conn) {
		if (soft->server)
			far_server_event(soft->server, event);
		return;
	}
	/* The first event answers the request. */
	if (conn->state == SOFT_CONN_PENDING)
		far_nic_link_event(event, &conn->answer);
	conn->state = event->type == NIC_ESTABLISHED ? SOFT_CONN_UP : SOFT_CONN_OVER;
}

void soft_events_take(struct soft_nic *soft)
{
	struct nic_event event;

	while (!soft->dev->ops->event(soft->dev, &event))
		event_note(soft, &event);
}

/* Takes the refusals that the NIC knows of.  True: the node at this address has refused
 * the NIC.  The caller holds the lock. */
static bool refusals_take(struct soft_nic *soft, __be32 ip)
{
	const struct nic_node_ops *ops = soft->dev->node->ops;
	struct nic_refusal r;
	bool by_it = false;

	while (ops->refusal(soft->dev, &r))
		by_it |= r.heard && r.ip == ip;
	return by_it;
}

/* Why a node has not answered. */
static int silence_reason(struct soft_nic *soft, __be32 ip)
{
	bool refused;

	pthread_mutex_lock(&soft->lock);
	refused = refusals_take(soft, ip);
	pthread_mutex_unlock(&soft->lock);
	return refused ? -EUSERS : -EHOSTUNREACH;
}

static enum soft_conn_state conn_state(struct soft_nic *soft, struct soft_conn *conn)
{
	enum soft_conn_state state;

	pthread_mutex_lock(&soft->lock);
	soft_events_take(soft);
	state = conn->state;
	pthread_mutex_unlock(&soft->lock);
	return state;
}

bool soft_conn_over(struct soft_nic *soft, struct soft_conn *conn)
{
	return conn_state(soft, conn) == SOFT_CONN_OVER;
}

void soft_conn_add(struct soft_nic *soft, struct soft_conn *conn, uint32_t id,
		   enum soft_conn_state state)
{
	conn->id = id;
	conn->state = state;
	conn->next = soft->conns;
	soft->conns = conn;
}

static void conn_remove(struct soft_nic *soft, struct soft_conn *conn)
{
	struct soft_conn **at = &soft->conns;

	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
}

void soft_conn_end(struct soft_nic *soft, struct soft_conn *conn)
{
	pthread_mutex_lock(&soft->lock);
	if (conn->state != SOFT_CONN_NONE) {
		conn_remove(soft, conn);
		soft->dev->ops->release(soft->dev, conn->id);
		conn->state = SOFT_CONN_NONE;
	}
	pthread_mutex_unlock(&soft->lock);
}

/* ---- the link of a call ---- */

/**
 * struct soft_link - a call's link; the connection is the caller's
 * @told:	the answer to the connection request has been reported
 */
struct soft_link {
	struct far_nic_link l;
	struct soft_nic *soft;
	struct soft_conn *conn;
	bool told;
};

static int link_connect(struct far_link *link, const void *priv, size_t len)
{
	struct soft_link *l = (struct soft_link *)link;
	struct soft_nic *soft = l->soft;
	int err;

	*l->conn = (struct soft_conn){ .id = 0 };
	l->told = false;
	pthread_mutex_lock(&soft->lock);
	refusals_take(soft, link->ip);	/* those of before */
	err = soft->dev->ops->connect(soft->dev, link->ip, ODRP_FAR_PORT, link->qpn, priv,
				      len, &l->conn->id);
	if (!err)
		soft_conn_add(soft, l->conn, l->conn->id, SOFT_CONN_PENDING);
	pthread_mutex_unlock(&soft->lock);
	/* The NIC refuses our own address, and addresses outside of the segment. */
	return err == -EINVAL || err == -ENETUNREACH ? -EHOSTUNREACH : err;
}

static void link_poll(struct far_link *link, struct far_news *ret_news)
{
	struct soft_link *l = (struct soft_link *)link;
	enum soft_conn_state state = conn_state(l->soft, l->conn);

	ret_news->kind = FAR_NEWS_NONE;
	if (state == SOFT_CONN_PENDING)
		return;
	if (!l->told)
		*ret_news = l->conn->answer;
	else if (!far_nic_link_take(&l->l, ret_news))
		ret_news->kind = state == SOFT_CONN_OVER ? FAR_NEWS_BROKEN : FAR_NEWS_NONE;
	if (!l->told && ret_news->kind == FAR_NEWS_BROKEN)
		ret_news->err = silence_reason(l->soft, link->ip);
	l->told = true;
}

static void link_close(struct far_link *link)
{
	struct soft_link *l = (struct soft_link *)link;

	far_nic_link_free(&l->l);
	soft_conn_end(l->soft, l->conn);
}

static uint64_t link_now(struct far_link *link)
{
	return far_real_now(NULL);
}

static const struct far_link_ops link_ops = {
	.open = far_nic_link_open, .connect = link_connect, .send = far_nic_link_send,
	.poll = link_poll, .close = link_close, .now = link_now,
};

/* ---- calls ---- */

/* By which we prove ourselves to that memory node; NULL: by none. */
static const struct far_key *key_for(const struct soft_nic *soft, __be32 ip)
{
	unsigned i;

	for (i = 0; i < soft->nodes.nr; i++)
		if (soft->nodes.node[i]->ip == ip)
			return far_node_key(soft->nodes.node[i]);
	return soft->key.set ? &soft->key : NULL;
}

static void call_pause(const struct far_call *call, struct soft_nic *soft)
{
	const struct timespec pause = { .tv_nsec = MESSAGE_LOOK_NS };
	struct pollfd fd = { .fd = soft->dev->event_fd, .events = POLLIN };

	if (far_call_awaits_message(call))
		nanosleep(&pause, NULL);
	else
		poll(&fd, 1, CALL_LOOK_MS);
}

/* 0: the request was accepted (*ret_up), or rejected with ODRP_FAR_OK (not *ret_up). */
static int call_run(struct soft_link *l, const struct odrp_far_hello *hello, bool *ret_up)
{
	struct soft_nic *soft = l->soft;
	struct far_call call;
	int err;

	far_call_begin(&call, &l->l.link, key_for(soft, l->l.link.ip), &soft->passes, hello);
	while ((err = far_call_step(&call)) == -EAGAIN && !far_call_is_over(&call))
		call_pause(&call, soft);
	*ret_up = far_call_accepted(&call);
	far_call_end(&call);
	return err == -ETIMEDOUT ? silence_reason(soft, l->l.link.ip) : err;
}

int soft_call(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	      const struct soft_qp_conf *conf, struct far_qp *ret_qp,
	      struct soft_conn *ret_conn)
{
	struct soft_link l = {
		.l.link = { .ops = &link_ops, .ip = ip, .connect_ns = conf->connect_ns },
		.l.dev = soft->dev, .l.pdn = conf->pdn, .l.cqn = conf->cqn,
		.l.log_sq = conf->log_sq, .l.access = conf->access, .l.rq = conf->rq,
		.soft = soft, .conn = ret_conn,
	};
	bool up;
	int err;

	*ret_conn = (struct soft_conn){ .id = 0 };
	err = call_run(&l, hello, &up);
	*ret_qp = l.l.qp;
	return err || up ? err : -EPROTO;
}

/* ---- of attachments ---- */

int soft_resolve(const char *node, __be32 *ret_ip)
{
	struct in_addr in;

	/* Else a number that no memory node has, or no number at all. */
	if (inet_pton(AF_INET, node, &in) != 1)
		return node[strspn(node, "0123456789")] ? -EINVAL : -EHOSTUNREACH;
	*ret_ip = in.s_addr;
	return 0;
}

static int peer_resolve(struct far_nic *nic, const char *node, struct far_attach *attach)
{
	struct soft_peer *peer = (struct soft_peer *)attach;
	int err;

	if (attach->local) {
		peer->ip = attach->local->ip;
		return 0;
	}
	err = soft_resolve(node, &peer->ip);
	if (!err && peer->ip == soft_nic_of(nic)->ip)
		err = -EADDRNOTAVAIL;
	return err;
}

static int peer_connect(struct far_nic *nic, struct far_attach *attach,
			const struct odrp_far_hello *hello, const uint8_t **ret_priv,
			unsigned *ret_len)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct soft_peer *peer = (struct soft_peer *)attach;
	/* The memory node sends WRITEs of length 0 as probes. */
	const struct soft_qp_conf conf = {
		.pdn = soft->pdn, .cqn = soft->cqn, .access = NIC_REMOTE_WRITE,
		.connect_ns = soft->connect_ns,
	};
	int err = soft_call(soft, peer->ip, hello, &conf, &peer->qp, &peer->conn);

	*ret_priv = peer->conn.answer.bytes;
	*ret_len = peer->conn.answer.len;
	return err;
}

static void peer_end(struct far_nic *nic, struct far_attach *attach)
{
	struct soft_peer *peer = (struct soft_peer *)attach;

	far_qp_free(&peer->qp);
	soft_conn_end(soft_nic_of(nic), &peer->conn);
}

static bool peer_is_up(struct far_nic *nic, struct far_attach *attach)
{
	struct soft_peer *peer = (struct soft_peer *)attach;

	return !soft_conn_over(soft_nic_of(nic), &peer->conn);
}

static int peer_ask(struct far_nic *nic, struct far_attach *attach,
		    const struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct soft_conn conn = { .id = 0 };
	struct soft_link l = {
		.l.link = {
			.ops = &link_ops, .ip = ((struct soft_peer *)attach)->ip,
			.connect_ns = soft->connect_ns,
		},
		.l.dev = soft->dev, .l.pdn = soft->pdn, .l.cqn = soft->cqn,
		.soft = soft, .conn = &conn,
	};
	bool up;
	int err = call_run(&l, hello, &up);

	if (!err && up) {
		link_close(&l.l.link);
		return -EPROTO;
	}
	return err || !ret_space ? err :
	       far_hello_info(conn.answer.bytes, conn.answer.len, ret_space);
}

const struct far_attach_ops soft_links = {
	.size = sizeof(struct soft_peer), .resolve = peer_resolve, .connect = peer_connect,
	.end = peer_end, .is_up = peer_is_up, .ask = peer_ask,
};
