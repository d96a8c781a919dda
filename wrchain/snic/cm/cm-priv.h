/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal to the connection manager:
 *
 *	cm.c		the interface of snic.h
 *	conn.c		the table of connections; their messages, timers, events
 *	recv.c		received messages
 *	msg.c		encoding and decoding of messages
 */
#ifndef SNIC_CM_PRIV_H
#define SNIC_CM_PRIV_H

#include "../net/net.h"
#include "../net/pkt.h"
#include "cm.h"
#include "msg.h"

/*
 * Limits.  A REQ beyond the pending ones is dropped; its sender sends it again.
 */
#define SNIC_CM_MAX_CONNS	32768	/* power of two: slot bits of an id */
#define SNIC_CM_MAX_PENDING	1024	/* requests that the user has not answered */
#define SNIC_CM_PEER_CONNS	4096
#define SNIC_CM_PEER_PENDING	256
#define SNIC_CM_PEER_OVER	256	/* see snic_cm_conn_is_over() */
#define SNIC_CM_BUCKETS		1024	/* power of two */

/* The time-out announced in a REQ: 4.096 us << 20 = 4.3 s. */
#define SNIC_CM_TIMEOUT		20
#define SNIC_CM_RETRIES		3
/* Messages are repeated sooner than that, until an answer arrives. */
#define SNIC_CM_FIRST_RETRY_NS	200000000ull
#define SNIC_CM_MIN_WAIT_NS	2000000000ull
#define SNIC_CM_MAX_WAIT_NS	60000000000ull
/* How long an ended connection is kept, to answer late messages. */
#define SNIC_CM_TIMEWAIT_NS	2000000000ull

#define SNIC_CM_ACK_TIMEOUT	16	/* QP time-out by default: 0.27 s */
#define SNIC_CM_RD_ATOMIC	16	/* READs and atomics outstanding */

enum snic_cm_state {
	SNIC_CM_ST_REQ_SENT,
	SNIC_CM_ST_REQ_RCVD,	/* the user has to answer */
	SNIC_CM_ST_REP_SENT,
	SNIC_CM_ST_ESTABLISHED,
	SNIC_CM_ST_DREQ_SENT,
	SNIC_CM_ST_TIMEWAIT,	/* ended; answers late messages */
	SNIC_CM_ST_DEAD,	/* ended; kept until the user releases it */
};

/*
 * Bits: events that snic_cm_poll() has not returned yet; lower bits come first.
 */
enum snic_cm_pending {
	SNIC_CM_EV_REQUEST	= 1 << 0,
	SNIC_CM_EV_ESTABLISHED	= 1 << 1,
	SNIC_CM_EV_END		= 1 << 2,	/* end_type has the type */
};

struct snic_cm_conn {
	struct snic *nic;
	enum snic_cm_state state;
	bool active;		/* this NIC sent the REQ */
	bool held;		/* the user has not released it */
	uint32_t id;		/* local communication ID, and the ID in snic.h */
	uint32_t remote_id;
	uint64_t remote_guid;
	uint32_t local_qpn, remote_qpn;
	uint64_t tid;
	__be32 peer_ip;
	uint16_t peer_port;
	uint32_t listener;
	struct snic_qp *qp;	/* from connect or accept to the end, else NULL */
	struct snic_qp_conn qpc;

	/* the last message, repeated until it is answered */
	uint8_t msg[SNIC_MAD_LEN];
	struct snic_timer timer;
	uint64_t wait;		/* pause before the next repetition */
	uint64_t total;		/* how long to repeat */
	uint64_t give_up;	/* when to stop; 0: the time has not started */
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
	uint32_t *generations;	/* per slot, random; consecutive ones differ */
	uint32_t next_slot;
	unsigned int nr_conns, nr_pending;
	struct snic_cm_conn *buckets[SNIC_CM_BUCKETS];
	struct snic_cm_conn *event_head, **event_tail;
	struct snic_cm_listener *listeners;
	uint32_t next_listener;
	uint64_t hash_key;	/* of the buckets, secret and odd */
	uint16_t next_port;
	uint32_t psn;		/* of packets from QP1 */
	uint64_t guid;
};

/* ---- conn.c ------------------------------------------------------------ */

/* -ENOMEM, -ENOSPC: too many connections. */
int snic_cm_conn_new(struct snic *nic, __be32 peer_ip,
		     struct snic_cm_conn **ret_conn);
struct snic_cm_conn *snic_cm_conn_find(struct snic *nic, uint32_t id);
struct snic_cm_conn **snic_cm_bucket(struct snic_cm *cm, __be32 ip);
/*
 * Does the connection only wait to answer late messages, or for the peer's answer to
 * a DREQ?  It gives its place to a new one then: a peer that connects again and again
 * and never answers could else fill the table.
 */
bool snic_cm_conn_is_over(const struct snic_cm_conn *c);
void snic_cm_conn_forget(struct snic_cm_conn *c);

/* Sends a message once. */
void snic_cm_send(struct snic *nic, __be32 ip, const struct snic_cm_msg *msg);
void snic_cm_resend(struct snic_cm_conn *c);
/* Sends a message, keeps it, and repeats it until the state changes or time is
 * up. */
int snic_cm_send_waiting(struct snic_cm_conn *c, const struct snic_cm_msg *msg,
			 uint64_t answer_ns, unsigned int retries);
/* Sends a message once and keeps it for snic_cm_resend(). */
int snic_cm_send_kept(struct snic_cm_conn *c, const struct snic_cm_msg *msg);
/* Forges the private data of an encoded REP or REJ, if snic_set_forge() says
 * so. */
void snic_cm_forge(struct snic *nic, uint16_t attr, uint8_t *mad);

void snic_cm_post(struct snic_cm_conn *c, enum snic_cm_pending event);
void snic_cm_forget_events(struct snic_cm_conn *c);
/* Enters ESTABLISHED: stops repeating the message and posts the event. */
void snic_cm_establish(struct snic_cm_conn *c);
/*
 * Ends the connection: moves the QP to ERR, enters TIMEWAIT, and posts the
 * event.  No event if the user has released the connection, or does not know of
 * it yet; in the latter case the connection is released.
 */
void snic_cm_end(struct snic_cm_conn *c, enum snic_cm_event_type type,
		 uint16_t reason, const uint8_t *priv, uint8_t priv_len);
/* Sends DREQ; moves the QP to ERR at once. */
void snic_cm_start_disconnect(struct snic_cm_conn *c);
/* Call after a change of held or state: frees a connection that is DEAD and
 * released. */
void snic_cm_put(struct snic_cm_conn *c);
void snic_cm_set_state(struct snic_cm_conn *c, enum snic_cm_state state);
/* 4.096 us << code, at most SNIC_CM_MAX_WAIT_NS. */
uint64_t snic_cm_time(uint8_t code);
/*
 * Sends a REJ to the sender of `to`, for a connection that does not exist here.
 */
void snic_cm_send_rej(struct snic *nic, __be32 ip, const struct snic_cm_msg *to,
		      uint16_t reason, const uint8_t *ari, uint8_t ari_len);

/* ---- cm.c -------------------------------------------------------------------- */

#endif /* SNIC_CM_PRIV_H */
