/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager's interface to the other directories; snic.h has the
 * interface for users of the NIC.
 */
#ifndef SNIC_CM_H
#define SNIC_CM_H

#include "../engine/engine.h"

struct snic_cm;
struct snic_rx;			/* net/net.h */

int snic_cm_init(struct snic *nic, struct snic_cm **ret_cm);
void snic_cm_fini(struct snic *nic, struct snic_cm *cm);

static inline struct snic_cm *snic_cm_of(struct snic *nic)
{
	return snic_parts(nic)->cm;
}

/* The QP is being destroyed: its connection forgets it, and ends. */
void snic_cm_qp_gone(struct snic_qp *qp);
/* Handles a UD packet to QP1. */
void snic_cm_receive(struct snic *nic, const struct snic_rx *rx);
/* Would snic_cm_poll() return an event? */
bool snic_cm_pending(const struct snic_cm *cm);
/* A packet came for a QP in RTR: its sender has received the REP. */
void snic_cm_data(struct snic_qp *qp);

#endif /* SNIC_CM_H */
