// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The connection manager, on upstream librdmacm.  This file has not been run on
 * hardware.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-cm-attr.h"
#include "mlx5-cm.h"

#define BACKLOG		64
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

static bool is_ours(const struct cm *cm, const struct rdma_cm_id *id)
{
	return id->verbs && id->port_num == cm->port &&
	       !strcmp(ibv_get_device_name(id->verbs->device), cm->device);
}

static bool is_listener(const struct cm *cm, const struct rdma_cm_id *id)
{
	unsigned int i;

	for (i = 0; i < cm->nr_listeners; i++)
		if (cm->listener[i] == id)
			return true;
	return false;
}

static void fill_request(const struct rdma_cm_event *ev,
			 struct mlx5_cm_event *ret_event)
{
	uint8_t len = ev->param.conn.private_data_len;

	if (len > sizeof(ret_event->priv))
		len = sizeof(ret_event->priv);
	ret_event->type = NIC_REQUEST;
	ret_event->peer_ip = ip_of(rdma_get_peer_addr(ev->id));
	ret_event->local_ip = ip_of(rdma_get_local_addr(ev->id));
	ret_event->peer_qpn = ev->param.conn.qp_num;
	ret_event->priv_len = len;
	if (len)
		memcpy(ret_event->priv, ev->param.conn.private_data, len);
}

/* False: the NIC has no event of this kind. */
static bool fill(const struct rdma_cm_event *ev,
		 struct mlx5_cm_event *ret_event)
{
	memset(ret_event, 0, sizeof(*ret_event));
	ret_event->conn = ev->id;
	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		fill_request(ev, ret_event);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret_event->type = NIC_ESTABLISHED;
		return true;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		ret_event->type = NIC_GONE;
		ret_event->reason = NIC_UNREACHABLE;
		return true;
	case RDMA_CM_EVENT_REJECTED:
		ret_event->type = NIC_GONE;
		ret_event->reason = NIC_REJECTED;
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

static int cm_event(void *arg, struct mlx5_cm_event *ret_event)
{
	struct cm *cm = arg;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	bool shown, left;

	for (;;) {
		errno = 0;
		if (rdma_get_cm_event(cm->channel, &ev))
			return status(-1);
		id = ev->id;
		shown = fill(ev, ret_event) && !is_listener(cm, id);
		left = ev->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(ev);
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
	int mask = 0;

	memset(ret_attr, 0, sizeof(*ret_attr));
	ret_attr->qp_state = state;
	errno = 0;
	return status(rdma_init_qp_attr(id, ret_attr, &mask));
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

static int cm_accept(void *conn, const struct mlx5_cm_accept *accept)
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
	rdma_destroy_id(conn);
}

const struct mlx5_cm mlx5_cm = {
	.open = cm_open,
	.close = cm_close,
	.listen = cm_listen,
	.event = cm_event,
	.attr = cm_attr,
	.accept = cm_accept,
	.reject = cm_reject,
	.disconnect = cm_disconnect,
	.release = cm_release,
};
