/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager, between its own files:
 *
 *	cm.c		what the user of the NIC calls
 *	conn.c		the table of connections, their messages, timers, events
 *	recv.c		what arrives
 *	msg.c		bytes
 */
#ifndef SNIC_CM_PRIV_H
#define SNIC_CM_PRIV_H

#include "../net/net.h"
#include "../net/pkt.h"
#include "cm.h"
#include "msg.h"

/* Limits.  A REQ beyond the pending ones is dropped: its sender tries again. */
#define SNIC_CM_MAX_CONNS	16384	/* power of two: slot bits of an id */
#define SNIC_CM_MAX_PENDING	1024	/* requests nobody has answered yet */
#define SNIC_CM_PEER_CONNS	4096
#define SNIC_CM_PEER_PENDING	256
#define SNIC_CM_BUCKETS		1024	/* power of two */

/* Time-outs that we announce: 4.096 us << 20 = 4.3 s. */
#define SNIC_CM_TIMEOUT		20
#define SNIC_CM_RETRIES		3
/* Messages are repeated sooner than that; an answer stops it. */
#define SNIC_CM_FIRST_RETRY_NS	200000000ull
#define SNIC_CM_MIN_WAIT_NS	2000000000ull
#define SNIC_CM_MAX_WAIT_NS	60000000000ull
/* How long an ended connection answers what is still on its way. */
#define SNIC_CM_TIMEWAIT_NS	2000000000ull

#define SNIC_CM_ACK_TIMEOUT	16	/* QP time-out by default: 0.27 s */
#define SNIC_CM_RD_ATOMIC	16	/* reads and atomics in flight */

enum snic_cm_state {
	SNIC_CM_ST_REQ_SENT,
	SNIC_CM_ST_REQ_RCVD,	/* the user has to answer */
	SNIC_CM_ST_REP_SENT,
	SNIC_CM_ST_ESTABLISHED,
	SNIC_CM_ST_DREQ_SENT,
	SNIC_CM_ST_TIMEWAIT,	/* over; answers stragglers */
	SNIC_CM_ST_DEAD,	/* over; the user has not released it yet */
};

/* Bits: events that the user has not seen, in the order they happen. */
enum snic_cm_pending {
	SNIC_CM_EV_REQUEST	= 1 << 0,
	SNIC_CM_EV_ESTABLISHED	= 1 << 1,
	SNIC_CM_EV_END		= 1 << 2,	/* end_type tells which */
};

struct snic_cm_conn {
	struct snic *nic;
	enum snic_cm_state state;
	bool active;		/* we sent the REQ */
	bool held;		/* the user has not released it */
	uint32_t id;		/* local communication id, and the user's */
	uint32_t remote_id;
	uint64_t remote_guid;
	uint32_t local_qpn, remote_qpn;
	uint64_t tid;
	__be32 peer_ip;
	uint16_t peer_port;
	uint32_t listener;
	struct snic_qp *qp;	/* from connect/accept to the end */
	struct snic_qp_conn qpc;

	/* the message that waits for an answer */
	uint8_t msg[SNIC_MAD_LEN];
	struct snic_timer timer;
	uint64_t wait;		/* between two repetitions */
	uint64_t total;		/* how long to try */
	uint64_t give_up;	/* when to stop; 0: has yet to begin */
	uint64_t peer_wait;	/* how long the peer may take to answer */
	uint8_t peer_retries;

	/* events */
	uint8_t events;
	bool queued;
	struct snic_cm_conn *event_next;
	enum snic_cm_event_type end_type;
	uint16_t reason;
	uint8_t begin_priv[SNIC_CM_REP_PRIV], begin_len;
	uint8_t end_priv[SNIC_CM_PRIV_MAX], end_len;

	struct snic_cm_conn *peer_next;	/* same bucket of peer addresses */
};

struct snic_cm_listener {
	struct snic_cm_listener *next;
	uint32_t id;
	uint16_t port;
};

struct snic_cm {
	struct snic_cm_conn **slots;
	uint32_t *generations;	/* of each slot: drawn, and not twice running the same */
	uint32_t next_slot;
	unsigned int nr_conns, nr_pending;
	struct snic_cm_conn *buckets[SNIC_CM_BUCKETS];
	struct snic_cm_conn *event_head, **event_tail;
	struct snic_cm_listener *listeners;
	uint32_t next_listener;
	uint64_t hash_key;	/* of buckets; odd */
	uint16_t next_port;
	uint32_t psn;		/* of QP1 */
	uint64_t guid;
};

/* ---- conn.c ------------------------------------------------------------ */

/* -ENOMEM, -ENOSPC: too many connections. */
int snic_cm_conn_new(struct snic *nic, __be32 peer_ip,
		     struct snic_cm_conn **ret_conn);
struct snic_cm_conn *snic_cm_conn_find(struct snic *nic, uint32_t id);
struct snic_cm_conn **snic_cm_bucket(struct snic_cm *cm, __be32 ip);

/* Sends one message without waiting for anything. */
void snic_cm_send(struct snic *nic, __be32 ip, const struct snic_cm_msg *msg);
void snic_cm_resend(struct snic_cm_conn *c);
/* Keeps a message and repeats it until the state changes or give_up. */
int snic_cm_send_waiting(struct snic_cm_conn *c, const struct snic_cm_msg *msg,
			 uint64_t answer_ns, unsigned int retries);
/* The same, once, and kept for snic_cm_resend(). */
int snic_cm_send_kept(struct snic_cm_conn *c, const struct snic_cm_msg *msg);
/* Forges the private data of a REP or REJ that has been built, if it is to be. */
void snic_cm_forge(struct snic *nic, uint16_t attr, uint8_t *mad);

void snic_cm_post(struct snic_cm_conn *c, enum snic_cm_pending event);
void snic_cm_forget_events(struct snic_cm_conn *c);
/* ESTABLISHED: stops repeating and tells the user. */
void snic_cm_establish(struct snic_cm_conn *c);
/*
 * The connection is over: QP to ERR, event to the user (unless it does not
 * know of the connection yet), TIMEWAIT.
 */
void snic_cm_end(struct snic_cm_conn *c, enum snic_cm_event_type type,
		 uint16_t reason, const uint8_t *priv, uint8_t priv_len);
/* Moves the QP to ERR and lets go of it. */
void snic_cm_drop_qp(struct snic_cm_conn *c);
/* DREQ; the QP goes to ERR at once. */
void snic_cm_start_disconnect(struct snic_cm_conn *c);
/* After a change of held or state: frees what nobody needs any more. */
void snic_cm_put(struct snic_cm_conn *c);
void snic_cm_set_state(struct snic_cm_conn *c, enum snic_cm_state state);
/* 4.096 us << code, at most SNIC_CM_MAX_WAIT_NS. */
uint64_t snic_cm_time(uint8_t code);
/* REJ to who sent `to`, for a connection that we do not have. */
void snic_cm_send_rej(struct snic *nic, __be32 ip, const struct snic_cm_msg *to,
		      uint16_t reason, const uint8_t *ari, uint8_t ari_len);

/* ---- cm.c -------------------------------------------------------------------- */

/*
 * REJ of a request, which is forgotten with its id: strangers' requests are to cost
 * nothing that lasts. Who repeats it, because the REJ was lost, asks anew.
 */
void snic_cm_refuse(struct snic_cm_conn *c, uint16_t reason, const void *priv,
		    uint8_t priv_len);

#endif /* SNIC_CM_PRIV_H */
