/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs on wrchain's table of NIC functions, with the memory in which their
 * rings lie: of memory nodes and of initiators.
 */
#ifndef FAR_HOST_QP_H
#define FAR_HOST_QP_H

#include <nic/nic.h>

/* One that exists has dev. */
struct far_qp {
	struct nic *dev;
	uint32_t qpn;
	void *mem;		/* the send queue, then the doorbell record */
	size_t mem_len;
	uint8_t log_sq;
	struct wrc_dbr *dbr;
};

/* A send queue of 1 << log_sq operations; access: enum nic_access, of the peer. */
int far_qp_new(struct nic *dev, uint32_t pdn, uint32_t cqn, uint8_t log_sq,
	       unsigned access, struct far_qp *ret_qp);
/* Nothing of it is under way behind this. No effect on one that does not exist. */
void far_qp_free(struct far_qp *qp);
/* Where operation number at (counted from the queue pair's beginning) is encoded. */
void *far_qp_slot(const struct far_qp *qp, uint32_t at);
/* Operations before number end may run. */
int far_qp_ring(const struct far_qp *qp, uint32_t end);

#endif
