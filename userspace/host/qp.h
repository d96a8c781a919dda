/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs on wrchain's table of NIC functions (nic/nic.h), with the memory of their
 * rings. Memory nodes and initiators use them.
 */
#ifndef FAR_HOST_QP_H
#define FAR_HOST_QP_H

#include <nic/nic.h>

/* A queue pair; dev is NULL while it does not exist. */
struct far_qp {
	struct nic *dev;
	uint32_t qpn;
	void *mem;		/* the send queue, then the doorbell record */
	size_t mem_len;
	uint8_t log_sq;
	struct wrc_dbr *dbr;
};

/* A receive queue of 1 << log_rq entries, which have no memory: for WRITEs with immediates. */
struct far_rq {
	uint32_t cqn;
	uint8_t log_rq;
};

/*
 * Has a send queue of 1 << log_sq operations. access: what the peer may do, enum nic_access.
 * rq: NULL: there is no receive queue.
 */
int far_qp_new(struct nic *dev, uint32_t pdn, uint32_t cqn, uint8_t log_sq,
	       unsigned access, const struct far_rq *rq, struct far_qp *ret_qp);
/* Destroys the queue pair: it executes nothing more. No effect if qp->dev is NULL. */
void far_qp_free(struct far_qp *qp);
/* The basic block of operation number `at`, counted from 0 when the queue pair was made. */
void *far_qp_slot(const struct far_qp *qp, uint32_t at);
/* Rings the doorbell: the NIC may execute all operations before number `end`. */
int far_qp_ring(const struct far_qp *qp, uint32_t end);

#endif
