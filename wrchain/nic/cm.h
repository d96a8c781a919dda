/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of the RDMA connection manager that NICs on hardware need, as a
 * table: cm.c has the real ones, tests have others.
 *
 * The NIC makes the queue pairs; the connection manager knows only their
 * numbers.  All functions return 0 or -errno.
 */
#ifndef NIC_CM_H
#define NIC_CM_H

#include <mlx5/cmd.h>
#include "nic.h"

/**
 * struct nic_cm_event - what has happened to a connection
 * @conn:	the connection; NIC_REQUEST brings a new one, which the NIC releases
 * @reason:	with NIC_GONE only
 * @answer:	with NIC_ESTABLISHED, the peer has accepted our request: the NIC connects its
 *		queue pair, and then calls establish()
 * @peer_ip:	with NIC_REQUEST and @answer only, as @local_ip and @peer_qpn; big endian
 * @priv:	with NIC_REQUEST, @answer and NIC_REJECTED
 */
struct nic_cm_event {
	enum nic_event_type type;
	enum nic_reason reason;
	bool answer;
	void *conn;
	__be32 peer_ip, local_ip;
	uint32_t peer_qpn;
	uint8_t priv_len;
	uint8_t priv[NIC_PRIV_MAX];
};

/**
 * struct nic_cm_accept - the answer to a request
 * @responder_resources: how many READs and atomics the peer may have outstanding
 * @initiator_depth: how many we may have outstanding
 */
struct nic_cm_accept {
	uint32_t qpn;
	uint8_t responder_resources, initiator_depth;
	uint8_t rnr_retry;
	const void *priv;
	uint8_t priv_len;
};

/* struct nic_cm_call - our request to a peer, for a queue pair */
struct nic_cm_call {
	__be32 ip;
	uint16_t port;
	uint32_t qpn;
	const void *priv;
	uint8_t priv_len;
};

struct nic_cm {
	/* Takes requests by this device and port.  *ret_fd is readable when there are events. */
	int (*open)(const char *device, uint8_t port, void **ret_cm,
		    int *ret_fd);
	/* All connections have been released before. */
	void (*close)(void *cm);
	int (*listen)(void *cm, uint16_t port);
	/* -EAGAIN: no event.  A request that came by another device is rejected and
	 * makes no event. */
	int (*event)(void *cm, struct nic_cm_event *ret_event);
	/* The attributes for a queue pair that answers this request.  The path lacks
	 * the Ethernet address and the UDP port. */
	int (*attr)(void *conn, struct wrc_mlx5_conn *ret_conn);
	/* The result comes as an event.  NULL, as establish: this NIC makes no requests. */
	int (*connect)(void *cm, const struct nic_cm_call *call, void **ret_conn);
	int (*establish)(void *conn);
	int (*accept)(void *conn, const struct nic_cm_accept *accept);
	int (*reject)(void *conn, const void *priv, uint8_t priv_len);
	int (*disconnect)(void *conn);
	void (*release)(void *conn);
};

/* Does the connection manager lead this address of the host to the device and port? */
bool nic_cm_leads_to(__be32 ip, const char *device, uint8_t port);

/* librdmacm. */
extern const struct nic_cm nic_cm;

#endif /* NIC_CM_H */
