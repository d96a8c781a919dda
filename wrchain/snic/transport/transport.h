/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RC transport's interface to the other directories.
 *
 *	rc.c		packets in and out of a QP, scheduling of sends
 *	req.c		requester: segmentation, windows, retransmission
 *	time.c		requester: time-outs, probes
 *	comp.c		requester: ACKs, NAKs and responses
 *	resp.c		responder: order, duplicates, RNR
 *	ahead.c		responder: requests that arrive out of order
 *	ack.c		responder: ACKs and NAKs
 *	rate.c		rate limits
 *	forge.c		wrong contents in packets that are sent
 */
#ifndef SNIC_TRANSPORT_H
#define SNIC_TRANSPORT_H

#include "../engine/engine.h"

struct snic_rx;			/* net/net.h */

/* ---- forged packets (forge.c) ------------------------------------------------------ */

/**
 * struct snic_forger - which packets of a NIC are forged
 * @active:	one of the probabilities is not 0
 * @conf:	what snic_set_forge() has set
 * @eligible:	packets that could have been forged
 * @forged:	packets that were forged
 * @late:	a packet to be sent again later; NULL: none ever was
 */
struct snic_forger {
	bool active;
	struct snic_forge conf;
	uint64_t eligible, forged;
	struct snic_late *late;
};

/*
 * Forges fields of a CM message's private data, with the probability `hello`.
 */
void snic_forge_hello(struct snic *nic, uint8_t *priv);

/* ---- the transport of one NIC ------------------------------------------------------ */

/* The transport's state of one NIC. */
struct snic_rc {
	struct snic_qp *tx_head, *tx_tail;	/* QPs with packets to send */
	unsigned int nr_tx;
	struct snic_timer pace;			/* armed at the end of a step if the list is not
						 * empty */
	unsigned int nr_qps;			/* QPs that are attached */
	struct snic_frame_pool *ahead;		/* the pool of ahead.c, or NULL */
	unsigned int nr_ahead;			/* frames of the pool in use */
	struct snic_forger forger;
	struct snic_rate *rates;		/* rate.c */
	uint32_t nr_rates;			/* rate limits ever created */
};

static inline struct snic_rc *snic_rc_of(struct snic *nic)
{
	return snic_parts(nic)->rc;
}

/* 0 or -ENOMEM. */
int snic_rc_init(struct snic_rc **ret_rc);
void snic_rc_fini(struct snic *nic, struct snic_rc *rc);

/*
 * Attach: when a QP is connected without loopback, before it is in RTR;
 * qp->conn is complete.  Reserves the timers.  0, -EINVAL or -ENOMEM. Detach:
 * when the QP goes to RESET or is destroyed; not from inside a call of the
 * transport.  A QP in ERR stays attached.
 */
int snic_rc_attach(struct snic_qp *qp);
void snic_rc_detach(struct snic_qp *qp);
/*
 * Executes a SEND, WRITE, READ or unmasked atomic WQE on the wire.  0: the
 * transport has a copy of the WQE and calls snic_qp_complete_send() for it
 * later, in order of posting; that writes a CQE if the WQE is signaled.
 * -EAGAIN: too many WQEs are outstanding; try again after a kick.  Local
 * errors: -EACCES (list), -EMSGSIZE (length), -EOPNOTSUPP (masked atomics;
 * READs and atomics with max_rd_atomic 0).
 */
int snic_rc_post(struct snic_qp *qp, const struct snic_wqe *w);
/* Number of WQEs posted and not completed. */
unsigned int snic_rc_pending(const struct snic_qp *qp);
/*
 * Makes the peer acknowledge outstanding WQEs soon: a later WQE waits for them.
 */
void snic_rc_hurry(struct snic_qp *qp);
/*
 * The QP goes to ERR, and qp->state is SNIC_QP_ERR already.  Calls
 * snic_qp_flush_send() for every outstanding WQE, oldest first, and
 * snic_qp_complete_recv() for the receive WQE of a half received message.
 */
void snic_rc_flush(struct snic_qp *qp);

/* Handles a received packet for this QP (net.c). */
void snic_rc_receive(struct snic_qp *qp, const struct snic_rx *rx);
/* Call at the end of a step: sends the QPs' requests, responses and coalesced
 * ACKs.  Arms timers, so call it before computing the time of the next step. */
void snic_rc_step_end(struct snic *nic);

#endif /* SNIC_TRANSPORT_H */
