/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RC transport, as the other rooms see it.
 *
 *	rc.c		packets in and out of a QP, whose turn it is to send
 *	req.c		requester: segmentation, windows, retransmission
 *	time.c		requester: time-outs, asking again
 *	comp.c		requester: what comes back
 *	resp.c		responder: order, duplicates, RNR
 *	ahead.c		responder: what came before its turn
 *	ack.c		responder: ACKs and NAKs
 *	rate.c		limits of rate
 *	forge.c		wrong contents in what is sent
 */
#ifndef SNIC_TRANSPORT_H
#define SNIC_TRANSPORT_H

#include "../engine/engine.h"

struct snic_rx;			/* net/net.h */

/* ---- forged packets (forge.c) ------------------------------------------------------ */

/**
 * struct snic_forger - which packets of a NIC are forged
 * @active:	one of the probabilities is not 0
 * @eligible, @forged: packets that might have been forged, and that were
 * @late:	what is sent again later; NULL: nothing ever
 */
struct snic_forger {
	bool active;
	struct snic_forge conf;
	uint64_t eligible, forged;
	struct snic_late *late;
};

/* The private data of a CM message that has been built. */
void snic_forge_hello(struct snic *nic, uint8_t *priv);
void snic_forge_fini(struct snic *nic);

/* ---- the transport of one NIC ------------------------------------------------------ */

/*
 * The transport's state of one NIC: a zeroed member of struct snic, which
 * snic_rc_of() hands out.
 */
struct snic_rc {
	struct snic_qp *tx_head, *tx_tail;	/* QPs with packets to send */
	unsigned int nr_tx;
	struct snic_timer pace;			/* the list is not empty */
	bool ready;				/* pace is initialised */
	unsigned int nr_qps;			/* attached */
	struct snic_frame_pool *ahead;		/* ahead.c; or NULL */
	unsigned int nr_ahead;			/* of its frames in use */
	struct snic_forger forger;
	struct snic_rate *rates;		/* rate.c */
	uint32_t nr_rates;			/* ever made */
};

struct snic_rc *snic_rc_of(struct snic *nic);

/*
 * attach: when a QP is connected without loopback, before RTR; qp->conn is
 * complete.  It reserves its own timers.  detach: the QP goes to RESET or is
 * destroyed; never from inside a call of the transport's.  In ERR the QP stays
 * attached.
 */
int snic_rc_attach(struct snic_qp *qp);
void snic_rc_detach(struct snic_qp *qp);
/*
 * Executes a SEND, WRITE, READ or unmasked atomic WQE on the wire.  0: taken
 * (completes later, in order, by snic_qp_complete_send() for every WQE, which
 * knows itself whether a CQE is due).  -EAGAIN: windows are full, try
 * again after snic_qp_kick().  Other: local error (-EACCES list, -EMSGSIZE
 * length, -EOPNOTSUPP masked atomics on the wire).
 */
int snic_rc_post(struct snic_qp *qp, const struct snic_wqe *w);
/* WQEs posted and not completed. */
unsigned int snic_rc_pending(const struct snic_qp *qp);
/* Something waits for them: have them acknowledged, if that can be hurried. */
void snic_rc_hurry(struct snic_qp *qp);
/*
 * To ERR: hands every in-flight WQE to snic_qp_flush_send(), oldest first, and
 * the receive WQE of a half received message to snic_qp_complete_recv().
 * qp->state is SNIC_QP_ERR already.
 */
void snic_rc_flush(struct snic_qp *qp);

/* All limits go. */
void snic_rates_fini(struct snic *nic);

/* A packet for this QP (net.c). */
void snic_rc_receive(struct snic_qp *qp, const struct snic_rx *rx);
/*
 * End of a step: sends what the QPs have to send (requests, responses,
 * coalesced ACKs).  Before the next time-out is computed: it arms timers.
 */
void snic_rc_step_end(struct snic *nic);

#endif /* SNIC_TRANSPORT_H */
