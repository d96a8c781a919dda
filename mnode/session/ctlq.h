/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair on which the agent itself posts a few work requests: to its own NIC, to
 * move the head of a free ring or to write entries of indirect keys; or to a CNode, to
 * write grants.
 */
#ifndef MNODE_CTLQ_H
#define MNODE_CTLQ_H

#include <nic/node.h>
#include "../page/mem.h"

#define CTLQ_LOG_SQ	4
#define CTLQ_MAX	7	/* outstanding requests, of two BBs each at most */
#define CTLQ_MAX_UMR	5	/* the same with UMRs, of three BBs each */

/**
 * struct ctlq - control queue
 * @data, @data_iova, @data_key: memory for data that is sent or fetched
 * @next:	index of the next BB, 16 bits
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

/* Creates the queue pair, not yet connected, with data_len bytes at q->data. access: the
 * rights of the peer, NIC_REMOTE_*. */
int ctlq_init(struct ctlq *q, struct nic *nic, uint32_t pdn,
	      unsigned int access, size_t data_len);
/* An all-zero queue is allowed. If the NIC does not destroy the queue pair, its memory
 * stays mapped and registered. */
void ctlq_fini(struct ctlq *q);

/*
 * Each of the following posts one request. -EAGAIN: the queue is full. off: where in
 * q->data the request reads, or writes the old value, in host byte order.
 */
/* Writes len bytes to raddr. */
int ctlq_write(struct ctlq *q, size_t off, uint32_t len, uint64_t raddr,
	       uint32_t rkey);
/* *raddr += add; no carry passes bit log_field - 1. */
int ctlq_fetch_add(struct ctlq *q, size_t off, uint64_t add, uint8_t log_field,
		   uint64_t raddr, uint32_t rkey);
/* *raddr = swap, if *raddr is compare; both in host byte order. */
int ctlq_swap(struct ctlq *q, size_t off, uint64_t compare, uint64_t swap,
	      uint64_t raddr, uint32_t rkey);
/* Makes entry `entry` of the indirect key lead to the page at addr under page_key. It must
 * be the first entry of a group; the others of the group lead nowhere then. */
int ctlq_umr(struct ctlq *q, uint32_t key, uint64_t entry, uint32_t page_key,
	     uint64_t addr);
/* 0: all requests are done. -EAGAIN: some are not. -EIO: a request failed; the queue cannot
 * be used any more. */
int ctlq_poll(struct ctlq *q);

#endif /* MNODE_CTLQ_H */
