/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is asked of an RDMA NIC, as a table of functions: protection domains,
 * keys, completion queues, RC queue pairs and connections.  So the same program
 * runs on the software NIC (soft.h) and on an mlx5 card (mlx5.h).  The memory
 * node's agent asks for more, by node.h; a client does not.
 *
 * Rings and doorbell records are the caller's memory.  He writes WQEs there as
 * core/wqe.h and mlx5/encode.h have them, and the NIC executes them from there.
 * A completion queue's entries belong to the NIC.
 *
 * All functions return 0 or -errno.  Who calls them takes care that only one call
 * is under way at a time, unless the NIC allows more (soft.h).
 */
#ifndef NIC_NIC_H
#define NIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <core/wqe.h>

struct nic;
struct nic_node;

enum nic_access {
	NIC_LOCAL_WRITE		= 1 << 0,
	NIC_REMOTE_READ		= 1 << 1,
	NIC_REMOTE_WRITE	= 1 << 2,
	NIC_REMOTE_ATOMIC	= 1 << 3,
	NIC_ALL			= (1 << 4) - 1,
};

/**
 * struct nic_qp_attr - an RC queue pair
 * @scqn, @rcqn:	completion queues of the send and the receive queue
 * @mem, @mem_len:	page-aligned memory in which all that follows lies
 * @sq, @log_sq:	send queue: 1 << log_sq basic blocks of 64 bytes
 * @rq, @log_rq, @log_rq_stride: receive queue: 1 << log_rq entries of
 *			1 << log_rq_stride bytes; NULL: none
 * @dbr:		doorbell record
 * @access:		what the peer may do (enum nic_access)
 * @cd_master:		may execute WAIT and SEND_EN
 * @cd_slave_send:	its send queue runs only up to SEND_EN's index
 */
struct nic_qp_attr {
	uint32_t pdn;
	uint32_t scqn, rcqn;
	void *mem;
	size_t mem_len;
	void *sq;
	uint8_t log_sq;
	void *rq;
	uint8_t log_rq, log_rq_stride;
	struct wrc_dbr *dbr;
	unsigned int access;
	bool cd_master, cd_slave_send;
};

/**
 * struct nic_qp_info - where a queue pair stands
 * @sq_executed:	BBs of the send queue that have been executed, 16 bits
 * @error:		it has stopped for good
 * @syndrome:		why, or 0 when it was told to
 */
struct nic_qp_info {
	uint16_t sq_executed;
	bool error;
	uint8_t syndrome;
};

enum nic_event_type {
	NIC_REQUEST,		/* a new connection wants in: accept or reject it */
	NIC_ESTABLISHED,
	NIC_GONE,		/* it is over, or never came to be: see reason */
};

enum nic_reason {
	NIC_DISCONNECTED,	/* by either side, or the peer is silent */
	NIC_REJECTED,		/* the peer has refused it */
	NIC_UNREACHABLE,	/* nobody has answered */
};

/* Bytes of private data: of an event, and of what we send. */
#define NIC_PRIV_MAX		224
#define NIC_CONNECT_PRIV_MAX	56
#define NIC_ACCEPT_PRIV_MAX	196
#define NIC_REJECT_PRIV_MAX	148

/**
 * struct nic_event - what has happened to a connection
 * @id:		the connection; never 0.  It counts until release()
 * @reason:	of NIC_GONE
 * @peer_ip:	IPv4 address, big endian
 * @local_ip:	the same of this end
 * @peer_qpn:	the peer's queue pair, of NIC_REQUEST, and of NIC_ESTABLISHED after a
 *		connect()
 * @priv, @priv_len: of NIC_REQUEST what the peer's connect() has sent, of
 *		NIC_ESTABLISHED after a connect() what its accept() has, of
 *		NIC_REJECTED what its reject() has; else nothing.  Transports
 *		fill it up with zeros, so it may be longer than what was sent
 */
struct nic_event {
	enum nic_event_type type;
	enum nic_reason reason;
	uint32_t id;
	__be32 peer_ip, local_ip;
	uint32_t peer_qpn;
	uint8_t priv_len;
	uint8_t priv[NIC_PRIV_MAX];
};

/**
 * struct nic_reporter - who is told a NIC's counters and other facts
 * @number, @text: one of them; not 0: no more is told
 */
struct nic_reporter {
	int (*number)(void *arg, const char *name, uint64_t value);
	int (*text)(void *arg, const char *name, const char *value);
	void *arg;
};

struct nic_ops {
	const char *name;
	/* Destroys every object that still exists, and breaks connections. */
	void (*close)(struct nic *nic);

	int (*pd_alloc)(struct nic *nic, uint32_t *ret_pdn);
	/* No effect while something uses it. */
	void (*pd_free)(struct nic *nic, uint32_t pdn);
	/*
	 * Addresses [iova, iova + len) under the key mean [va, va + len).  va and
	 * iova agree modulo 8.  The key is both lkey and rkey; access: enum
	 * nic_access, of which remote writing and atomics need NIC_LOCAL_WRITE.
	 */
	int (*mr_reg)(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		      uint64_t iova, unsigned int access, uint32_t *ret_key);
	void (*mr_dereg)(struct nic *nic, uint32_t key);

	/* Overrun is ignored: entries are overwritten, counts go on. */
	int (*cq_create)(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn);
	void (*cq_destroy)(struct nic *nic, uint32_t cqn);
	/* Takes the next entry, which tells of an error, too.  -EAGAIN: none. */
	int (*cq_poll)(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);

	int (*qp_create)(struct nic *nic, const struct nic_qp_attr *attr,
			 uint32_t *ret_qpn);
	/* -errno: it is still there, may run, and its memory and what it reaches
	 * have to stay. */
	int (*qp_destroy)(struct nic *nic, uint32_t qpn);
	/* Stops it at a WQE boundary, for good; what was posted is flushed.
	 * -errno: it may run on. */
	int (*qp_error)(struct nic *nic, uint32_t qpn);
	int (*qp_query)(struct nic *nic, uint32_t qpn,
			struct nic_qp_info *ret_info);
	/* BBs of the send queue before pi (16 bits, cyclic) may run.  What it posts
	 * to its receive queue the NIC sees in the doorbell record. */
	int (*qp_doorbell)(struct nic *nic, uint32_t qpn, uint16_t pi);

	int (*listen)(struct nic *nic, uint16_t port);
	/*
	 * To who listens at that IPv4 address (big endian) and port, for a queue
	 * pair that has not been connected yet.  NIC_ESTABLISHED or NIC_GONE tells
	 * what has become of it; until then nothing can be posted.  -EOPNOTSUPP:
	 * this back end only listens (mlx5).
	 */
	int (*connect)(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		       const void *priv, uint8_t priv_len, uint32_t *ret_id);
	/* -EAGAIN: no event. */
	int (*event)(struct nic *nic, struct nic_event *ret_event);
	int (*accept)(struct nic *nic, uint32_t id, uint32_t qpn,
		      const void *priv, uint8_t priv_len);
	int (*reject)(struct nic *nic, uint32_t id, const void *priv,
		      uint8_t priv_len);
	/* Tells the peer.  The queue pair stops at once. */
	int (*disconnect)(struct nic *nic, uint32_t id);
	/* Forgets a connection: no more events. */
	void (*release)(struct nic *nic, uint32_t id);

	/* CPU time that stands for hardware; 0 for hardware. */
	uint64_t (*cpu_ns)(struct nic *nic);
	/* What it has last refused to do, and why, for people; "" if nothing. */
	const char *(*said)(struct nic *nic);
	/* Its counters.  What the reporter has returned, if not 0. */
	int (*report)(struct nic *nic, const struct nic_reporter *to);
};

/**
 * struct nic - an open NIC
 * @node:	what a memory node asks of it besides; node.h
 * @event_fd:	readable when event() has something; -1: call it often
 */
struct nic {
	const struct nic_ops *ops;
	struct nic_node *node;
	int event_fd;
};

#endif /* NIC_NIC_H */
