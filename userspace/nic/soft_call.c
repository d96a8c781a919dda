/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outgoing connections. Each thread that holds soft_nic.lock takes the NIC's events, also
 * those for other threads, and records them in the connections of soft_nic.conns.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <nic/node.h>

#include "real.h"
#include "soft_priv.h"

/* How often a waiting thread checks whether another thread has taken its event. */
#define CALL_LOOK_MS	5
/*
 * Most tries of a request. A memory node's NIC rejects a request of a queue pair number
 * that it still knows from an earlier run of our NIC, and then forgets that number.
 */
#define CALL_TRIES	4

/* The caller holds the lock. */
static void event_note(struct soft_nic *soft, const struct nic_event *event)
{
	struct soft_conn *conn = soft->conns;

	while (conn && conn->id != event->id)
		conn = conn->next;
	if (!conn)
		return;
	conn->state = event->type == NIC_ESTABLISHED ? SOFT_CONN_UP : SOFT_CONN_OVER;
	conn->reason = event->reason;
	conn->local_ip = event->local_ip;
	conn->peer_qpn = event->peer_qpn;
	conn->priv_len = event->priv_len;
	memcpy(conn->priv, event->priv, sizeof(conn->priv));
}

/* The caller holds the lock. */
static void events_take(struct soft_nic *soft)
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
static int silence_reason(struct soft_nic *soft, const struct soft_conn *conn)
{
	bool refused;

	pthread_mutex_lock(&soft->lock);
	refused = refusals_take(soft, conn->ip);
	pthread_mutex_unlock(&soft->lock);
	return refused ? -EUSERS : -EHOSTUNREACH;
}

int soft_conn_open(struct soft_nic *soft, __be32 ip, const void *priv, size_t len,
		   uint32_t qpn, struct soft_conn *conn)
{
	int err;

	memset(conn, 0, sizeof(*conn));
	conn->ip = ip;
	pthread_mutex_lock(&soft->lock);
	refusals_take(soft, ip);	/* those of before */
	err = soft->dev->ops->connect(soft->dev, ip, ODRP_FAR_PORT, qpn, priv, len,
				      &conn->id);
	if (!err) {
		conn->state = SOFT_CONN_PENDING;
		conn->next = soft->conns;
		soft->conns = conn;
	}
	pthread_mutex_unlock(&soft->lock);
	/* The NIC refuses our own address, and addresses outside of the segment. */
	return err == -EINVAL || err == -ENETUNREACH ? -EHOSTUNREACH : err;
}

static enum soft_conn_state conn_state(struct soft_nic *soft, struct soft_conn *conn)
{
	enum soft_conn_state state;

	pthread_mutex_lock(&soft->lock);
	events_take(soft);
	state = conn->state;
	pthread_mutex_unlock(&soft->lock);
	return state;
}

bool soft_conn_over(struct soft_nic *soft, struct soft_conn *conn)
{
	return conn_state(soft, conn) == SOFT_CONN_OVER;
}

void soft_conn_end(struct soft_nic *soft, struct soft_conn *conn)
{
	struct soft_conn **at = &soft->conns;

	if (conn->state == SOFT_CONN_NONE)
		return;
	pthread_mutex_lock(&soft->lock);
	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
	soft->dev->ops->release(soft->dev, conn->id);
	pthread_mutex_unlock(&soft->lock);
	conn->state = SOFT_CONN_NONE;
}

int soft_conn_wait(struct soft_nic *soft, struct soft_conn *conn, bool *ret_up)
{
	struct pollfd fd = { .fd = soft->dev->event_fd, .events = POLLIN };
	uint64_t until = far_real_now(&soft->nodes.nic) + soft->connect_ns;
	enum soft_conn_state state;

	*ret_up = false;
	while ((state = conn_state(soft, conn)) == SOFT_CONN_PENDING) {
		if (far_real_now(&soft->nodes.nic) >= until)
			return silence_reason(soft, conn);
		poll(&fd, 1, CALL_LOOK_MS);
	}
	*ret_up = state == SOFT_CONN_UP;
	return *ret_up || conn->reason == NIC_REJECTED ? 0 : silence_reason(soft, conn);
}

/* Sends the connection request, signed if there is a pass. */
static int conn_send_request(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
			     struct far_pass *pass, uint32_t qpn, struct soft_conn *conn)
{
	struct odrp_auth_far req;

	if (!pass->handle)
		return soft_conn_open(soft, ip, hello, sizeof(*hello), qpn, conn);
	far_pass_sign(pass, hello, qpn, &req);
	return soft_conn_open(soft, ip, &req, sizeof(req), qpn, conn);
}

/* 0: the request was accepted (*ret_up), or rejected with ODRP_FAR_OK (not *ret_up). */
static int conn_answer(struct soft_nic *soft, const struct far_pass *pass,
		       enum odrp_far_role role, struct soft_conn *conn, bool *ret_up)
{
	int err = soft_conn_wait(soft, conn, ret_up);

	if (err)
		return err;
	if (pass->handle && far_pass_check(pass, *ret_up, role, conn->peer_qpn,
					   conn->priv, conn->priv_len)) {
		far_passes_drop(&soft->passes, pass);
		return -ECONNREFUSED;
	}
	return *ret_up ? 0 : far_hello_refusal(conn->priv, conn->priv_len);
}

/* Makes a queue pair, and one request with it. */
static int call_once(struct soft_nic *soft, __be32 ip,
		     const struct odrp_far_hello *hello, const struct soft_qp_conf *conf,
		     struct far_qp *ret_qp, struct soft_conn *ret_conn, bool *ret_up)
{
	struct far_pass pass;
	int err = soft_pass_get(soft, ip, &pass);

	if (err)
		return err;
	err = far_qp_new(soft->dev, soft->pdn, conf->cqn, conf->log_sq, conf->access,
			 ret_qp);
	if (err)
		return err;
	err = conn_send_request(soft, ip, hello, &pass, ret_qp->qpn, ret_conn);
	if (err)
		goto free_qp;
	err = conn_answer(soft, &pass, hello->role, ret_conn, ret_up);
	if (err)
		goto end_conn;
	return 0;

end_conn:
	far_qp_free(ret_qp);
	soft_conn_end(soft, ret_conn);
	return err;
free_qp:
	far_qp_free(ret_qp);
	return err;
}

static int call_try(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
		    const struct soft_qp_conf *conf, struct far_qp *ret_qp,
		    struct soft_conn *ret_conn, bool *ret_up)
{
	unsigned tries;
	int err = -ECONNREFUSED;

	for (tries = 0; tries < CALL_TRIES && err == -ECONNREFUSED; tries++)
		err = call_once(soft, ip, hello, conf, ret_qp, ret_conn, ret_up);
	return err;
}

/* Drops queue pair and connection. Returns the error for an answer of the wrong kind. */
static int call_undo(struct soft_nic *soft, struct far_qp *qp, struct soft_conn *conn)
{
	far_qp_free(qp);
	soft_conn_end(soft, conn);
	return -EPROTO;
}

int soft_call(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	      const struct soft_qp_conf *conf, struct far_qp *ret_qp,
	      struct soft_conn *ret_conn)
{
	bool up;
	int err = call_try(soft, ip, hello, conf, ret_qp, ret_conn, &up);

	return err || up ? err : call_undo(soft, ret_qp, ret_conn);
}

int soft_ask(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	     struct far_nic_space *ret_space)
{
	const struct soft_qp_conf conf = { .cqn = soft->cqn };
	struct soft_conn conn;
	struct far_qp qp;
	bool up;
	int err = call_try(soft, ip, hello, &conf, &qp, &conn, &up), wrong;

	if (err)
		return err;
	if (!up && ret_space)
		err = far_hello_info(conn.priv, conn.priv_len, ret_space);
	wrong = call_undo(soft, &qp, &conn);
	return up ? wrong : err;
}
