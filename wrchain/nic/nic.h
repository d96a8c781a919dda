/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An RDMA NIC as a table of functions: protection domains, keys, completion queues,
 * RC queue pairs and connections.  The same program runs on the software NIC (soft.h),
 * on an mlx5 card (mlx5.h) and, without chains, on any RDMA device (verbs.h).  The memory
 * node's agent needs more, which is in node.h; a client does not.
 *
 * Rings and doorbell records are the caller's memory.  The caller writes WQEs there in
 * the format of core/wqe.h and mlx5/encode.h, and the NIC executes them from there.
 * The NIC owns the entries of completion queues.
 *
 * All functions return 0 or -errno.  Only one call may run at a time, unless the NIC
 * allows more (soft.h).
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
 * @mem, @mem_len:	page-aligned memory that contains @sq, @rq and @dbr
 * @sq, @log_sq:	send queue: 1 << log_sq basic blocks of 64 bytes
 * @rq, @log_rq, @log_rq_stride: receive queue: 1 << log_rq entries of
 *			1 << log_rq_stride bytes; @rq NULL: none
 * @dbr:		doorbell record
 * @access:		what the peer may do (enum nic_access)
 * @cd_master:		the queue pair may execute WAIT and SEND_EN
 * @cd_slave_send:	the send queue runs only up to the index that a SEND_EN has given
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
 * struct nic_qp_info - state of a queue pair
 * @sq_executed:	number of basic blocks of the send queue executed, modulo 2^16
 * @error:		the queue pair has stopped for good
 * @syndrome:		the reason; 0: qp_error() or the end of the connection stopped it
 */
struct nic_qp_info {
	uint16_t sq_executed;
	bool error;
	uint8_t syndrome;
};

enum nic_event_type {
	NIC_REQUEST,		/* a connection request has come: accept or reject it */
	NIC_ESTABLISHED,
	NIC_GONE,		/* the connection has ended, or was never made: see reason */
};

enum nic_reason {
	NIC_DISCONNECTED,	/* one side has disconnected, or the peer does not answer */
	NIC_REJECTED,		/* the peer has rejected the request */
	NIC_UNREACHABLE,	/* the request was not answered */
};

/* Most bytes of private data: in an event, and in each message that we send. */
#define NIC_PRIV_MAX		224
#define NIC_CONNECT_PRIV_MAX	56
#define NIC_ACCEPT_PRIV_MAX	196
#define NIC_REJECT_PRIV_MAX	148

/**
 * struct nic_event - what has happened to a connection
 * @id:		the connection; never 0, and valid until release()
 * @reason:	with NIC_GONE only
 * @peer_ip:	IPv4 address of the peer, big endian
 * @local_ip:	IPv4 address of this end, big endian
 * @peer_qpn:	the peer's queue pair: with NIC_REQUEST, and with NIC_ESTABLISHED after
 *		connect()
 * @priv, @priv_len: private data that the peer has sent: with NIC_REQUEST those of its
 *		connect(), with NIC_ESTABLISHED after connect() those of its accept(),
 *		with NIC_REJECTED those of its reject(); else none.  Transports append
 *		zeros, so they may be longer than what the peer has sent
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
 * struct nic_reporter - receives a NIC's counters and other facts
 * @number, @text: called with one fact; a result other than 0 ends the report
 * @arg:	first argument of both
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
	/* No effect while objects of the domain exist. */
	void (*pd_free)(struct nic *nic, uint32_t pdn);
	/*
	 * Addresses [iova, iova + len) under the key mean [va, va + len).  va and
	 * iova agree modulo 8.  The key is both lkey and rkey.  access: enum
	 * nic_access; remote writing and atomics need NIC_LOCAL_WRITE, too.
	 */
	int (*mr_reg)(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		      uint64_t iova, unsigned int access, uint32_t *ret_key);
	/* On an error (-errno) the key still exists, and gives what it gave: keep its memory
	 * from others.  -ENOENT: there is no such key. */
	int (*mr_dereg)(struct nic *nic, uint32_t key);

	/* Has 1 << log_size entries.  An overrun overwrites entries; counts go on. */
	int (*cq_create)(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn);
	void (*cq_destroy)(struct nic *nic, uint32_t cqn);
	/* Takes the next entry, which may report an error.  -EAGAIN: there is none. */
	int (*cq_poll)(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);

	int (*qp_create)(struct nic *nic, const struct nic_qp_attr *attr,
			 uint32_t *ret_qpn);
	/* On an error (-errno) the queue pair still exists and may run: keep its memory
	 * and all that it can reach. */
	int (*qp_destroy)(struct nic *nic, uint32_t qpn);
	/* Stops the queue pair at a WQE boundary, for good, and flushes what was posted.
	 * On an error (-errno) the queue pair may still run. */
	int (*qp_error)(struct nic *nic, uint32_t qpn);
	int (*qp_query)(struct nic *nic, uint32_t qpn,
			struct nic_qp_info *ret_info);
	/* Lets the NIC execute the basic blocks of the send queue before pi (modulo
	 * 2^16).  The receive queue needs no call: the NIC reads its doorbell record. */
	int (*qp_doorbell)(struct nic *nic, uint32_t qpn, uint16_t pi);

	int (*listen)(struct nic *nic, uint16_t port);
	/*
	 * Requests a connection to an IPv4 address (big endian) and port, for a queue
	 * pair that has not been connected yet.  The result comes as NIC_ESTABLISHED or
	 * NIC_GONE; nothing can be posted before.  -EOPNOTSUPP: this back end can only
	 * listen (mlx5).
	 */
	int (*connect)(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		       const void *priv, uint8_t priv_len, uint32_t *ret_id);
	/* -EAGAIN: no event. */
	int (*event)(struct nic *nic, struct nic_event *ret_event);
	int (*accept)(struct nic *nic, uint32_t id, uint32_t qpn,
		      const void *priv, uint8_t priv_len);
	int (*reject)(struct nic *nic, uint32_t id, const void *priv,
		      uint8_t priv_len);
	/* Informs the peer.  The queue pair stops at once. */
	int (*disconnect)(struct nic *nic, uint32_t id);
	/* Forgets a connection: no event of it comes any more. */
	void (*release)(struct nic *nic, uint32_t id);

	/* CPU time in ns that the software NIC has used in place of hardware; else 0. */
	uint64_t (*cpu_ns)(struct nic *nic);
	/* The last request that the NIC has refused, and why, as text; "": none. */
	const char *(*last_error)(struct nic *nic);
	/* Reports all counters.  0, or the result of the reporter that ended the report. */
	int (*report)(struct nic *nic, const struct nic_reporter *to);
};

/**
 * struct nic - an open NIC
 * @node:	what a memory node needs besides; node.h
 * @event_fd:	readable when event() has an event; -1: the caller polls event()
 */
struct nic {
	const struct nic_ops *ops;
	struct nic_node *node;
	int event_fd;
};

#endif /* NIC_NIC_H */
