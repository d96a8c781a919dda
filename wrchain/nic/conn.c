// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections by number; see conn.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "conn.h"

int nic_conns_open(struct nic_conns *conns, const struct nic_cm *cm, const char *device,
		   uint8_t port, int *ret_fd)
{
	conns->cm = cm;
	return cm->open(device, port, &conns->ctx, ret_fd);
}

void nic_conns_close(struct nic_conns *conns)
{
	while (conns->first)
		nic_conns_release(conns, conns->first->id);
	if (conns->ctx)
		conns->cm->close(conns->ctx);
	conns->ctx = NULL;
}

int nic_conns_listen(struct nic_conns *conns, uint16_t port)
{
	return conns->ctx ? conns->cm->listen(conns->ctx, port) : -EOPNOTSUPP;
}

struct nic_conn *nic_conns_find(const struct nic_conns *conns, uint32_t id)
{
	struct nic_conn *c = conns->first;

	while (c && c->id != id)
		c = c->next;
	return c;
}

struct nic_conn *nic_conns_add(struct nic_conns *conns, void *conn)
{
	struct nic_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (!++conns->next_id)
		conns->next_id = 1;
	c->id = conns->next_id;
	c->conn = conn;
	c->next = conns->first;
	conns->first = c;
	return c;
}

/* The connection of an event.  NULL: it is unknown, or there is no memory for it. */
static struct nic_conn *event_conn(struct nic_conns *conns, const struct nic_cm_event *ev)
{
	struct nic_conn *c = conns->first;

	if (ev->type == NIC_REQUEST) {
		c = nic_conns_add(conns, ev->conn);
		if (!c) {
			conns->cm->reject(ev->conn, NULL, 0);
			conns->cm->release(ev->conn);
		}
		return c;
	}
	while (c && c->conn != ev->conn)
		c = c->next;
	return c;
}

int nic_conns_event(struct nic_conns *conns, struct nic_cm_event *ret_event,
		    struct nic_conn **ret_conn)
{
	int r;

	if (!conns->ctx)
		return -EAGAIN;
	do {
		r = conns->cm->event(conns->ctx, ret_event);
		if (r)
			return r;
		*ret_conn = event_conn(conns, ret_event);
	} while (!*ret_conn);
	return 0;
}

void nic_conn_event(const struct nic_conn *conn, const struct nic_cm_event *from,
		    struct nic_event *ret_event)
{
	ret_event->type = from->type;
	ret_event->reason = from->reason;
	ret_event->id = conn->id;
	ret_event->peer_ip = from->peer_ip;
	ret_event->local_ip = from->local_ip;
	ret_event->peer_qpn = from->peer_qpn;
	ret_event->priv_len = from->priv_len;
	memcpy(ret_event->priv, from->priv, sizeof(ret_event->priv));
}

int nic_conns_reject(struct nic_conns *conns, uint32_t id, const void *priv,
		     uint8_t priv_len)
{
	struct nic_conn *c = nic_conns_find(conns, id);

	return c ? conns->cm->reject(c->conn, priv, priv_len) : -ENOENT;
}

void nic_conns_release(struct nic_conns *conns, uint32_t id)
{
	struct nic_conn **at = &conns->first, *c;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	c = *at;
	if (!c)
		return;
	*at = c->next;
	conns->cm->release(c->conn);
	free(c);
}

void nic_conns_forget(struct nic_conns *conns, uint32_t qpn)
{
	struct nic_conn *c;

	for (c = conns->first; c; c = c->next) {
		if (c->qpn == qpn)
			c->qpn = 0;
	}
}
