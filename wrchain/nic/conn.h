/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of a NIC by number, on the RDMA connection manager (cm.h).
 */
#ifndef NIC_CONN_H
#define NIC_CONN_H

#include "cm.h"

/**
 * struct nic_conn - connection
 * @conn:	the connection manager's object
 * @qpn:	its queue pair; 0: none yet
 */
struct nic_conn {
	uint32_t id;
	void *conn;
	uint32_t qpn;
	struct nic_conn *next;
};

/**
 * struct nic_conns - all connections of a NIC
 * @ctx:	the open connection manager; NULL: there are no connections
 */
struct nic_conns {
	const struct nic_cm *cm;
	void *ctx;
	struct nic_conn *first;
	uint32_t next_id;
};

int nic_conns_open(struct nic_conns *conns, const struct nic_cm *cm, const char *device,
		   uint8_t port, int *ret_fd);
/* Releases all connections.  No effect if the connection manager is not open. */
void nic_conns_close(struct nic_conns *conns);
int nic_conns_listen(struct nic_conns *conns, uint16_t port);
/* NULL: no connection has this number. */
struct nic_conn *nic_conns_find(const struct nic_conns *conns, uint32_t id);
/* NULL: out of memory. */
struct nic_conn *nic_conns_add(struct nic_conns *conns, void *conn);
/* Takes an event of the connection manager, and its connection.  -EAGAIN: no event. */
int nic_conns_event(struct nic_conns *conns, struct nic_cm_event *ret_event,
		    struct nic_conn **ret_conn);
/* The connection manager's event as the NIC's. */
void nic_conn_event(const struct nic_conn *conn, const struct nic_cm_event *from,
		    struct nic_event *ret_event);
int nic_conns_reject(struct nic_conns *conns, uint32_t id, const void *priv,
		     uint8_t priv_len);
void nic_conns_release(struct nic_conns *conns, uint32_t id);
/* The queue pair is destroyed: another one may get its number. */
void nic_conns_forget(struct nic_conns *conns, uint32_t qpn);

#endif /* NIC_CONN_H */
