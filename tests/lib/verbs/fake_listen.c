/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections between two ids of this process: one listens, the other one asks. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "fake_priv.h"

#define REQUEST_PRIV	56u	/* bytes that arrive, with zeros behind what was sent */
#define ACCEPT_PRIV	196u
/* A bit that kernels set for RoCE, and that ibv_modify_qp() refuses. */
#define SMAC_MASK	0x200000

static struct fake_id *listeners;
static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;	/* listeners, peers */

/* With pair_lock. */
static struct fake_id *listener_find(uint16_t port)
{
	struct fake_id *id = listeners;

	while (id && id->port != port)
		id = id->next;
	return id;
}

bool fake_listened(uint16_t port)
{
	bool found;

	pthread_mutex_lock(&pair_lock);
	found = listener_find(port);
	pthread_mutex_unlock(&pair_lock);
	return found;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	if (fake_fails(EADDRNOTAVAIL))
		return -1;
	fake_id_of(id)->port = ntohs(in->sin_port);
	if (in->sin_addr.s_addr) {
		id->verbs = fake_context();
		id->port_num = 1;
	}
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct fake_id *mine = fake_id_of(id);

	if (fake_fails(EADDRINUSE))
		return -1;
	pthread_mutex_lock(&pair_lock);
	mine->next = listeners;
	listeners = mine;
	pthread_mutex_unlock(&pair_lock);
	return 0;
}

static void pair_event(struct fake_id *to, enum rdma_cm_event_type type, uint32_t qpn,
		       const struct rdma_conn_param *param, unsigned room)
{
	uint8_t priv[256] = "";

	if (param && param->private_data_len)
		memcpy(priv, param->private_data, param->private_data_len);
	fake_event(&to->id, &(struct rdma_cm_event) {
		.event = type, .status = type == RDMA_CM_EVENT_REJECTED ? FAKE_REJECTED : 0,
		.param.conn = {
			.qp_num = qpn, .private_data = priv, .private_data_len = room,
		},
	});
}

int fake_call(struct fake_id *mine, const struct rdma_conn_param *param)
{
	uint32_t qpn = mine->id.qp ? mine->id.qp->qp_num : param->qp_num;
	struct fake_id *child, *listener;

	pthread_mutex_lock(&pair_lock);
	listener = listener_find(mine->port);
	if (!listener || param->private_data_len > REQUEST_PRIV) {
		pthread_mutex_unlock(&pair_lock);
		errno = EINVAL;
		return -1;
	}
	child = calloc(1, sizeof(*child));
	child->id.channel = listener->id.channel;
	child->id.context = listener->id.context;
	child->id.verbs = fake_context();
	child->id.port_num = 1;
	child->id.route.addr.dst_sin = mine->id.route.addr.src_sin;
	child->id.route.addr.src_sin = mine->id.route.addr.dst_sin;
	child->listener = listener;
	child->peer = mine;
	child->peer_qpn = qpn;
	if (mine->id.qp && param->responder_resources)
		((struct fake_qp *)mine->id.qp)->access |= IBV_ACCESS_REMOTE_READ |
							   IBV_ACCESS_REMOTE_ATOMIC;
	mine->peer = child;
	fake_made(1);
	pair_event(child, RDMA_CM_EVENT_CONNECT_REQUEST, qpn, param, REQUEST_PRIV);
	pthread_mutex_unlock(&pair_lock);
	return 0;
}

static int no_peer(void)
{
	errno = EINVAL;
	return -1;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct fake_id *mine = fake_id_of(id), *peer;
	struct fake_qp *qp;
	int err = 0;

	if (param->responder_resources > FAKE_READS || param->initiator_depth > FAKE_READS ||
	    param->private_data_len > ACCEPT_PRIV)
		fake_wrong("parameters of rdma_accept()");
	if (fake_fails(EINVAL))
		return -1;
	pthread_mutex_lock(&pair_lock);
	peer = mine->peer;
	if (peer && peer->id.qp) {
		qp = (struct fake_qp *)peer->id.qp;
		qp->dest = param->qp_num;
		pair_event(peer, RDMA_CM_EVENT_ESTABLISHED, param->qp_num, param,
			   ACCEPT_PRIV);
		pair_event(mine, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	} else if (peer) {
		peer->peer_qpn = param->qp_num;
		pair_event(peer, RDMA_CM_EVENT_CONNECT_RESPONSE, param->qp_num, param,
			   ACCEPT_PRIV);
	} else {
		err = no_peer();
	}
	pthread_mutex_unlock(&pair_lock);
	return err;
}

int rdma_establish(struct rdma_cm_id *id)
{
	struct fake_id *mine = fake_id_of(id);

	if (fake_fails(EINVAL))
		return -1;
	pthread_mutex_lock(&pair_lock);
	if (mine->peer)
		pair_event(mine->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	pthread_mutex_unlock(&pair_lock);
	return 0;
}

/* Tells the peer, if there is one, how the connection has ended. */
static void pair_end(struct fake_id *mine, enum rdma_cm_event_type type, const void *priv,
		     uint8_t len)
{
	const struct rdma_conn_param param = {
		.private_data = priv, .private_data_len = len,
	};

	pthread_mutex_lock(&pair_lock);
	if (mine->peer) {
		pair_event(mine->peer, type, 0, &param, len);
		mine->peer->peer = NULL;
		mine->peer = NULL;
	}
	pthread_mutex_unlock(&pair_lock);
}

int rdma_reject(struct rdma_cm_id *id, const void *priv, uint8_t len)
{
	pair_end(fake_id_of(id), RDMA_CM_EVENT_REJECTED, priv, len);
	return 0;
}

void fake_pair_left(struct fake_id *mine)
{
	pair_end(mine, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
}

void fake_listener_drop(struct fake_id *mine)
{
	struct fake_id **at = &listeners;

	pthread_mutex_lock(&pair_lock);
	while (*at && *at != mine)
		at = &(*at)->next;
	if (*at)
		*at = mine->next;
	pthread_mutex_unlock(&pair_lock);
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (fake_fails(EINVAL))
		return -1;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->port_num = 1;
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			IBV_QP_ACCESS_FLAGS;
		break;
	case IBV_QPS_RTR:
		attr->dest_qp_num = fake_id_of(id)->peer_qpn;
		attr->max_dest_rd_atomic = 4 * FAKE_READS;
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER | SMAC_MASK;
		break;
	default:
		attr->max_rd_atomic = 4 * FAKE_READS;
		*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return 0;
}
