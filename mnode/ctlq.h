/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair on which the agent itself posts a few work requests: to its
 * own NIC (the head of a free ring moves) or to a CNode (leases).
 */
#ifndef MNODE_CTLQ_H
#define MNODE_CTLQ_H

#include <nic/node.h>
#include "mem.h"

#define CTLQ_LOG_SQ	4
#define CTLQ_MAX	7	/* outstanding, of two BBs each at most */
#define CTLQ_MAX_UMR	5	/* of three */

/**
 * struct ctlq - control queue
 * @data, @data_iova, @data_key: memory for what is sent or fetched
 * @next:	running number of the next WQE, 16 bits
 * @outstanding: posted and not yet completed
 */
struct ctlq {
	struct nic *nic;
	uint32_t cqn, qpn;
	struct mem mem;
	uint32_t data_key;
	void *data;
	uint64_t data_iova;
	uint16_t next;
	unsigned int outstanding;
};

/* Not connected yet.  access: what the peer may do. */
int ctlq_init(struct ctlq *q, struct nic *nic, uint32_t pdn,
	      unsigned int access, size_t data_len);
/* Also of an all-zero queue. */
void ctlq_fini(struct ctlq *q);

/* Data from off in the queue's memory to raddr.  -EAGAIN: full. */
int ctlq_write(struct ctlq *q, size_t off, uint32_t len, uint64_t raddr,
	       uint32_t rkey);
/* *raddr += add, where carries stop after bit log_field - 1; the old value,
 * in host byte order, goes to off. */
int ctlq_fetch_add(struct ctlq *q, size_t off, uint64_t add, uint8_t log_field,
		   uint64_t raddr, uint32_t rkey);
/* *raddr = swap, if it is compare; the old value goes to off.  All three in host
 * byte order. */
int ctlq_swap(struct ctlq *q, size_t off, uint64_t compare, uint64_t swap,
	      uint64_t raddr, uint32_t rkey);
/* Entry `entry` of that indirect key, the first of a group, leads to the page at addr
 * under page_key, and the others of the group lead nowhere. */
int ctlq_umr(struct ctlq *q, uint32_t key, uint64_t entry, uint32_t page_key,
	     uint64_t addr);
/* 0: all done.  -EAGAIN: not yet.  -EIO: a request failed; the queue is dead. */
int ctlq_poll(struct ctlq *q);

#endif /* MNODE_CTLQ_H */
