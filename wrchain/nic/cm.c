// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The connection manager, on upstream librdmacm.  This file has been run on rdma_rxe, not
 * on hardware.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include "cm-attr.h"
#include "cm.h"

#define BACKLOG		64
#define RESOLVE_MS	5000
/* The maximum is 7, but rdma_rxe retries for ever then. */
#define RETRIES		6
#define RNR_RETRIES	7
#define MAX_LISTENERS	2	/* one for compute nodes, one for clients of spaces */

/**
 * struct cm - an event channel and its listeners
 * @device, @port: requests that came by another device or port are rejected
 */
struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener[MAX_LISTENERS];
	unsigned int nr_listeners;
	char device[IBV_SYSFS_NAME_MAX];
	uint8_t port;
};

/* struct call - a request of ours, while address and route are looked up */
struct call {
	uint32_t qpn;
	uint8_t priv_len;
	uint8_t priv[NIC_CONNECT_PRIV_MAX];
};

static int status(int r)
{
	return r ? (errno ? -errno : -EIO) : 0;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int cm_open(const char *device, uint8_t port, void **ret_cm,
		   int *ret_fd)
{
	struct cm *cm;
	size_t len = strlen(device);
	int r;

	cm = calloc(1, sizeof(*cm));
	if (!cm)
		return -ENOMEM;
	if (len >= sizeof(cm->device)) {
		r = -ENAMETOOLONG;
		goto free_cm;
	}
	memcpy(cm->device, device, len);
	cm->port = port;
	errno = 0;
	cm->channel = rdma_create_event_channel();
	if (!cm->channel) {
		r = status(-1);
		goto free_cm;
	}
	r = set_nonblocking(cm->channel->fd);
	if (r)
		goto destroy_channel;
	*ret_cm = cm;
	*ret_fd = cm->channel->fd;
	return 0;

destroy_channel:
	rdma_destroy_event_channel(cm->channel);
free_cm:
	free(cm);
	return r;
}

static void cm_close(void *arg)
{
	struct cm *cm = arg;

	while (cm->nr_listeners)
		rdma_destroy_id(cm->listener[--cm->nr_listeners]);
	rdma_destroy_event_channel(cm->channel);
	free(cm);
}

/*
 * Listens on all addresses: cm_event() then checks by which device a request came.  The
 * private data of the request say what it is for.
 */
static int cm_listen(void *arg, uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};
	struct cm *cm = arg;
	struct rdma_cm_id *id;
	int r;

	if (cm->nr_listeners == MAX_LISTENERS)
		return -EOPNOTSUPP;
	errno = 0;
	r = status(rdma_create_id(cm->channel, &id, NULL, RDMA_PS_TCP));
	if (r)
		return r;
	r = status(rdma_bind_addr(id, (struct sockaddr *)&addr));
	if (!r)
		r = status(rdma_listen(id, BACKLOG));
	if (r) {
		rdma_destroy_id(id);
		return r;
	}
	cm->listener[cm->nr_listeners++] = id;
	return 0;
}

/* ---- events --------------------------------------------------------------- */

static __be32 ip_of(const struct sockaddr *addr)
{
	if (addr->sa_family != AF_INET)
		return 0;
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
}

static bool id_is_at(const struct rdma_cm_id *id, const char *device, uint8_t port)
{
	return id->verbs && id->port_num == port &&
	       !strcmp(ibv_get_device_name(id->verbs->device), device);
}

static bool is_ours(const struct cm *cm, const struct rdma_cm_id *id)
{
	return id_is_at(id, cm->device, cm->port);
}

bool nic_cm_leads_to(__be32 ip, const char *device, uint8_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = ip };
	struct rdma_cm_id *id;
	bool leads;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return false;
	leads = !rdma_bind_addr(id, (struct sockaddr *)&addr) &&
		id_is_at(id, device, port);
	rdma_destroy_id(id);
	return leads;
}

static bool is_listener(const struct cm *cm, const struct rdma_cm_id *id)
{
	unsigned int i;

	for (i = 0; i < cm->nr_listeners; i++)
		if (cm->listener[i] == id)
			return true;
	return false;
}

static void fill_priv(const struct rdma_cm_event *ev, struct nic_cm_event *ret_event)
{
	uint8_t len = ev->param.conn.private_data ? ev->param.conn.private_data_len : 0;

	if (len > sizeof(ret_event->priv))
		len = sizeof(ret_event->priv);
	ret_event->priv_len = len;
	if (len)
		memcpy(ret_event->priv, ev->param.conn.private_data, len);
}

/* A request, or the answer to ours. */
static void fill_message(const struct rdma_cm_event *ev, struct nic_cm_event *ret_event)
{
	ret_event->peer_ip = ip_of(rdma_get_peer_addr(ev->id));
	ret_event->local_ip = ip_of(rdma_get_local_addr(ev->id));
	ret_event->peer_qpn = ev->param.conn.qp_num;
	fill_priv(ev, ret_event);
}

/* False: the NIC has no event of this kind. */
static bool fill(const struct rdma_cm_event *ev,
		 struct nic_cm_event *ret_event)
{
	memset(ret_event, 0, sizeof(*ret_event));
	ret_event->conn = ev->id;
	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		ret_event->type = NIC_REQUEST;
		fill_message(ev, ret_event);
		return true;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		ret_event->type = NIC_ESTABLISHED;
		ret_event->answer = true;
		fill_message(ev, ret_event);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret_event->type = NIC_ESTABLISHED;
		return true;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		ret_event->type = NIC_GONE;
		ret_event->reason = NIC_UNREACHABLE;
		return true;
	case RDMA_CM_EVENT_REJECTED:
		ret_event->type = NIC_GONE;
		ret_event->reason = NIC_REJECTED;
		fill_priv(ev, ret_event);
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ret_event->type = NIC_GONE;
		ret_event->reason = NIC_DISCONNECTED;
		return true;
	default:
		return false;
	}
}

/* The peer's address is known, then the route there: sends our request. */
static int call_step(const struct cm *cm, struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	const struct call *call = id->context;
	struct rdma_conn_param param = {
		.private_data = call->priv, .private_data_len = call->priv_len,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = RETRIES, .rnr_retry_count = RNR_RETRIES,
		.qp_num = call->qpn,
	};

	if (!is_ours(cm, id))	/* the route goes by another device */
		return -EHOSTUNREACH;
	errno = 0;
	return status(type == RDMA_CM_EVENT_ADDR_RESOLVED ?
		      rdma_resolve_route(id, RESOLVE_MS) : rdma_connect(id, &param));
}

/* Takes a step of a request of ours.  True: it has failed. */
static bool call_fails(const struct cm *cm, struct rdma_cm_id *id,
		       enum rdma_cm_event_type type, struct nic_cm_event *ret_event)
{
	if (type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return false;
	ret_event->type = NIC_GONE;
	ret_event->reason = NIC_UNREACHABLE;
	return call_step(cm, id, type);
}

static int cm_event(void *arg, struct nic_cm_event *ret_event)
{
	struct cm *cm = arg;
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	bool shown, left;

	for (;;) {
		errno = 0;
		if (rdma_get_cm_event(cm->channel, &ev))
			return status(-1);
		id = ev->id;
		shown = fill(ev, ret_event) && !is_listener(cm, id);
		type = ev->event;
		left = type == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(ev);
		shown |= call_fails(cm, id, type, ret_event);
		if (shown && ret_event->type == NIC_REQUEST &&
		    !is_ours(cm, id)) {
			rdma_reject(id, NULL, 0);
			rdma_destroy_id(id);
			continue;
		}
		if (left)
			rdma_disconnect(id);	/* acknowledges the peer's request */
		if (shown)
			return 0;
	}
}

/* ---- one connection --------------------------------------------------------- */

static int get_attr(struct rdma_cm_id *id, enum ibv_qp_state state,
		    struct ibv_qp_attr *ret_attr)
{
	int mask;

	memset(ret_attr, 0, sizeof(*ret_attr));
	ret_attr->qp_state = state;
	return nic_cm_qp_attr(id, ret_attr, &mask);
}

int nic_cm_qp_attr(void *conn, struct ibv_qp_attr *attr, int *ret_mask)
{
	errno = 0;
	return status(rdma_init_qp_attr(conn, attr, ret_mask));
}

static int cm_attr(void *conn, struct wrc_mlx5_conn *ret_conn)
{
	struct ibv_qp_attr init, rtr, rts;
	int r;

	r = get_attr(conn, IBV_QPS_INIT, &init);
	if (!r)
		r = get_attr(conn, IBV_QPS_RTR, &rtr);
	if (!r)
		r = get_attr(conn, IBV_QPS_RTS, &rts);
	if (!r)
		mlx5_cm_convert(&init, &rtr, &rts, ret_conn);
	return r;
}

/* Starts to look up the address; call_step() does the rest. */
static int cm_connect(void *arg, const struct nic_cm_call *what, void **ret_conn)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(what->port),
		.sin_addr.s_addr = what->ip,
	};
	struct cm *cm = arg;
	struct rdma_cm_id *id;
	struct call *call;
	int r;

	if (what->priv_len > NIC_CONNECT_PRIV_MAX)
		return -EINVAL;
	call = calloc(1, sizeof(*call));
	if (!call)
		return -ENOMEM;
	call->qpn = what->qpn;
	call->priv_len = what->priv_len;
	if (what->priv_len)
		memcpy(call->priv, what->priv, what->priv_len);
	errno = 0;
	r = status(rdma_create_id(cm->channel, &id, call, RDMA_PS_TCP));
	if (r)
		goto free_call;
	r = status(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, RESOLVE_MS));
	if (r)
		goto destroy_id;
	*ret_conn = id;
	return 0;

destroy_id:
	rdma_destroy_id(id);
free_call:
	free(call);
	return r;
}

static int cm_establish(void *conn)
{
	errno = 0;
	return status(rdma_establish(conn));
}

static int cm_accept(void *conn, const struct nic_cm_accept *accept)
{
	struct rdma_conn_param param = {
		.private_data = accept->priv,
		.private_data_len = accept->priv_len,
		.responder_resources = accept->responder_resources,
		.initiator_depth = accept->initiator_depth,
		.flow_control = 1,
		.rnr_retry_count = accept->rnr_retry,
		.qp_num = accept->qpn,
	};

	errno = 0;
	return status(rdma_accept(conn, &param));
}

static int cm_reject(void *conn, const void *priv, uint8_t priv_len)
{
	errno = 0;
	return status(rdma_reject(conn, priv, priv_len));
}

static int cm_disconnect(void *conn)
{
	errno = 0;
	return status(rdma_disconnect(conn));
}

static void cm_release(void *conn)
{
	struct call *call = ((struct rdma_cm_id *)conn)->context;

	rdma_destroy_id(conn);
	free(call);
}

const struct nic_cm nic_cm = {
	.open = cm_open,
	.close = cm_close,
	.listen = cm_listen,
	.event = cm_event,
	.attr = cm_attr,
	.connect = cm_connect,
	.establish = cm_establish,
	.accept = cm_accept,
	.reject = cm_reject,
	.disconnect = cm_disconnect,
	.release = cm_release,
};
