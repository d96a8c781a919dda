/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agent needs of an RNIC, as a table of functions, so that the same
 * agent arms chains on the software NIC (soft.c) and on hardware.
 *
 * All rings and buffers are the agent's memory; the NIC executes WQEs from
 * them.  A completion queue's entries belong to the NIC.  All functions
 * return 0 or -errno.  One thread calls them.
 */
#ifndef NIC_NIC_H
#define NIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <core/wqe.h>

struct json_object;
struct nic;

enum nic_access {
	NIC_LOCAL_WRITE		= 1 << 0,
	NIC_REMOTE_READ		= 1 << 1,
	NIC_REMOTE_WRITE	= 1 << 2,
	NIC_REMOTE_ATOMIC	= 1 << 3,
	NIC_ALL			= (1 << 4) - 1,
};

/**
 * struct nic_qp_attr - an RC queue pair
 * @mem, @mem_len:	page-aligned memory in which all that follows lies
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

/**
 * struct nic_cq_info - what a completion queue has seen
 * @written:	entries ever written, 24 bits
 * @errors:	of these, how many of the last ones report an error or flush
 */
struct nic_cq_info {
	uint32_t written;
	uint32_t errors;
};

enum nic_event_type {
	NIC_REQUEST,		/* a new connection wants in */
	NIC_ESTABLISHED,
	NIC_GONE,		/* disconnected, rejected or never answered */
};

#define NIC_PRIV_MAX 224

struct nic_event {
	enum nic_event_type type;
	uint32_t id;
	__be32 peer_ip;
	uint8_t priv_len;
	uint8_t priv[NIC_PRIV_MAX];
};

struct nic_ops {
	const char *name;
	void (*close)(struct nic *nic);

	int (*pd_alloc)(struct nic *nic, uint32_t *ret_pdn);
	void (*pd_free)(struct nic *nic, uint32_t pdn);
	int (*mr_reg)(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		      uint64_t iova, unsigned int access, uint32_t *ret_key);
	void (*mr_dereg)(struct nic *nic, uint32_t key);
	/*
	 * An indirect key of so many 4 KB pieces, all empty, that UMRs of the
	 * domain's queue pairs fill; the low byte of its number is variant.
	 * mr_dereg() destroys it.  -EOPNOTSUPP: this NIC cannot; said() has the
	 * words.
	 */
	int (*ksm_create)(struct nic *nic, uint32_t pdn, uint32_t entries,
			  unsigned int access, uint8_t variant,
			  uint32_t *ret_key);

	/* Overrun is ignored: entries are overwritten, counts go on. */
	int (*cq_create)(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn);
	void (*cq_destroy)(struct nic *nic, uint32_t cqn);
	/* -EAGAIN: none. */
	int (*cq_poll)(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);
	int (*cq_info)(struct nic *nic, uint32_t cqn,
		       struct nic_cq_info *ret_info);

	int (*qp_create)(struct nic *nic, const struct nic_qp_attr *attr,
			 uint32_t *ret_qpn);
	/* -errno: it is still there, may run, and its memory and what it reaches
	 * have to stay. */
	int (*qp_destroy)(struct nic *nic, uint32_t qpn);
	/* Connects a queue pair to another one here, or to itself: one half. */
	int (*qp_loop)(struct nic *nic, uint32_t qpn, uint32_t to);
	/* Stops it at a WQE boundary, for good; -errno: it may run on. */
	int (*qp_error)(struct nic *nic, uint32_t qpn);
	int (*qp_query)(struct nic *nic, uint32_t qpn,
			struct nic_qp_info *ret_info);
	int (*qp_doorbell)(struct nic *nic, uint32_t qpn, uint16_t pi);

	int (*listen)(struct nic *nic, uint16_t port);
	/* -EAGAIN: no event. */
	int (*event)(struct nic *nic, struct nic_event *ret_event);
	int (*accept)(struct nic *nic, uint32_t id, uint32_t qpn,
		      const void *priv, uint8_t priv_len);
	int (*reject)(struct nic *nic, uint32_t id, const void *priv,
		      uint8_t priv_len);
	/* Tells the peer.  The queue pair stops at once. */
	int (*disconnect)(struct nic *nic, uint32_t id);
	/* Forgets a connection: no more events.  Ids are never 0. */
	void (*release)(struct nic *nic, uint32_t id);

	/*
	 * Between the two nothing moves, if the NIC can do that at all
	 * (freeze returns -EOPNOTSUPP if not).  Queries work meanwhile.
	 */
	int (*freeze)(struct nic *nic);
	void (*thaw)(struct nic *nic);

	/* CPU time that stands for hardware; 0 for hardware. */
	uint64_t (*cpu_ns)(struct nic *nic);
	/* What it has last refused to do, and why, for people; "" if nothing. */
	const char *(*said)(struct nic *nic);
	/* Adds the NIC's counters to a JSON object. */
	int (*stats)(struct nic *nic, struct json_object *obj);
};

/**
 * struct nic - an open NIC
 * @event_fd:	readable when event() has something; -1: call it often
 * @strict_index: it checks each WQE's index, so chains must renew it
 * @fence_orders: behind a fence, what READs have brought is there for all queues;
 *		set by the agent, from the operator's word or keeps_fences
 * @keeps_fences: it is known to be so: the software NIC, or a card of which
 *		odrp-hwcheck found it
 * @keeps_keys:	the same of all that translation in the NIC rests on
 * @known:	these two in words, or why nothing is known; NULL or "": no words
 * @max_recv_len: bytes of a receive entry, each data segment 16; 0: any
 */
struct nic {
	const struct nic_ops *ops;
	int event_fd;
	bool strict_index, fence_orders;
	bool keeps_fences, keeps_keys;
	const char *known;
	unsigned int max_recv_len;
};

#endif /* NIC_NIC_H */
