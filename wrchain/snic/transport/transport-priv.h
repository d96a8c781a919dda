/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal to the RC transport:
 *
 *	rc.c		packets in and out of a QP, scheduling of sends
 *	req.c		requester: sending
 *	time.c		requester: time-outs, probes
 *	comp.c		requester: ACKs, NAKs and responses
 *	resp.c		responder: requests in order, duplicates
 *	ahead.c		responder: requests that arrive out of order
 *	ack.c		responder: ACKs and NAKs
 *	rate.c		rate limits
 *	forge.c		wrong contents in packets that are sent
 *
 * Receiving a packet only changes state and memory.  QPs send in turns at the
 * end of a step, in snic_rc_step_end().  So the messages of one step share one
 * ACK, and a requester knows which packet of a turn is the last.
 */
#ifndef SNIC_TRANSPORT_PRIV_H
#define SNIC_TRANSPORT_PRIV_H

#include "../net/frame.h"
#include "../net/net.h"
#include "../net/pkt.h"
#include "transport.h"

/* Packets that a requester, and a responder, may send in one turn. */
#define RC_TURN		32
/* Window of a requester in packets: at most, and after a time-out. */
#define RC_WINDOW_MAX	128
#define RC_WINDOW_MIN	4
/* At least one of so many request packets asks for an ACK. */
#define RC_ACK_EVERY	16
/*
 * An unsignaled WQE's packets need not ask for an ACK at once, because no
 * software waits for its completion and an ACK costs the peer as much as a
 * message.  While messages follow each other within this time, a later one
 * asks.  When no message follows, the last packet is sent again and asks.
 */
#define RC_LAZY_NS	2000000
/*
 * The ACK of a message may wait for the answer to the message: the sender waits
 * for the answer, so the ACK may follow this answer or a later one.  It is held
 * for at most so many messages and so long.
 */
#define RC_HOLD_MAX	16	/* messages */
#define RC_HOLD_NS	100000
/*
 * After an answer, a held ACK waits so long for more answers.  It is not held
 * if one message had several packets, because its sender waits to reuse the
 * memory.
 */
#define RC_HOLD_ON_NS	40000
/* PSNs of all outstanding WQEs: well below half of the PSN space. */
#define RC_PSN_SPAN	(1u << 22)
/* Packets per READ request: a longer READ takes several requests. */
#define RC_READ_CHUNK	32
#define RC_MSG_MAX	(1u << 31)
/* Requests that are held ahead of the expected PSN: per QP (the window of
 * rdma_rxe), and per NIC. */
#define RC_AHEAD	128
#define RC_AHEAD_POOL	1024
/* A missing packet that was only overtaken arrives within this time. */
#define RC_REORDER_NS	250000
/*
 * Pause after the first NAK for a gap, doubled after each; and number of NAKs.
 */
#define RC_NAK_AGAIN_NS	4000000ull
#define RC_NAKS		7

enum rc_kind { RC_SEND, RC_WRITE, RC_READ, RC_ATOMIC };

/* A WQE that is posted on the wire and not completed. */
struct rc_slot {
	struct rc_slot *next;	/* posting order, or free list */
	uint32_t first_psn;
	uint32_t nr_psn;	/* a READ takes one per response packet */
	uint8_t kind;		/* enum rc_kind */
	bool bad;		/* local memory is gone: fails when it is the oldest */
	struct snic_wqe w;	/* only the fields that the transport uses */
};

/*
 * The requester's state.  una <= snd <= max <= next in PSN order.  PSNs before
 * una are acknowledged; snd is sent next; PSNs from max on were never sent; the
 * next WQE gets `next`.
 */
struct snic_rc_req {
	struct rc_slot *slots, *free;
	unsigned int fresh;		/* slots[0 .. fresh) were never used */
	struct rc_slot *head, *tail;	/* oldest, newest */
	struct rc_slot *cur;		/* the WQE of snd; NULL: nothing to send */
	unsigned int pending;
	uint32_t una, snd, max, next;
	uint32_t window;		/* packets */
	uint32_t asked;			/* last PSN that asked for an answer */
	uint32_t unasked;		/* request packets since `asked` */
	bool unasked_signal;		/* one of these ends a signaled WQE */
	bool hurry;			/* the next packet asks for an ACK */
	bool dense;			/* the last messages followed each other within
					 * RC_LAZY_NS */
	uint64_t last_msg;		/* when the last message was sent completely */
	unsigned int rd_out;		/* READ and atomic requests sent before snd and not
					 * answered */
	bool starved;			/* a post failed for want of a slot or PSNs */
	bool rewound;			/* went back to una for a gap; no progress since */
	bool rnr_wait;
	uint8_t retries, rnr_retries;	/* in a row, without progress */
	uint64_t deadline;		/* next event: probe, time-out, lazy ACK or RNR wait */
	uint64_t due;			/* when the time-out expires; SNIC_NEVER: not running */
	uint8_t probes;			/* in a row, without progress */
	/* the round trip of one packet at a time is measured */
	bool timing;
	uint32_t timed_psn;
	uint64_t timed_at;
	uint64_t rtt, rtt_dev;		/* smoothed; 0: not measured yet */
	struct snic_timer timer;	/* may fire before deadline, never after */
	uint32_t extra;			/* PSNs taken by forged packets */
	struct snic_qp *qp;
	/* turn list of the NIC */
	struct snic_qp *tx_next;
	bool tx_listed;
};

/* A READ or atomic whose response has not been sent completely. */
struct rc_reply {
	uint32_t psn, end;	/* PSN of the next packet, and of the last one */
	bool atomic;
	bool begun;		/* READ: the first packet is sent */
	uint32_t rkey, len;	/* len: bytes left */
	uint64_t va;
	uint64_t orig;
};

/* The result of an atomic, to answer duplicates of the request. */
struct rc_result {
	bool valid;
	uint32_t psn;
	uint64_t orig;
};

enum rc_msg { RC_MSG_NONE, RC_MSG_SEND, RC_MSG_WRITE };

/* The headers of a SEND or WRITE that matter; opcode 0: empty. */
struct rc_head {
	uint8_t opcode;
	uint32_t psn, len, rkey, dma_len;
	__be32 imm;
	uint64_t va;
};

/* Requests that arrived out of order. */
struct rc_ahead {
	struct rc_head done[RC_AHEAD];	/* held requests that have been executed */
	uint16_t port;		/* UDP source port of the last request in order */
	bool port_known;
	struct snic_frame *slot[RC_AHEAD];	/* by PSN: struct snic_pkt, then payload */
	unsigned int nr;
	bool is_void[RC_AHEAD];	/* two requests with different contents came for this PSN */
	unsigned int nr_void;
	bool gap;		/* epsn is missing, and requests up to `end` have come */
	uint32_t end;
	unsigned int naks;	/* NAKs sent for this gap */
	/*
	 * told: a NAK told the requester to go back, and no request shows yet
	 * that it did.  back: the requester has not yet sent everything before
	 * back_end again.
	 */
	bool told, back;
	uint32_t back_end;
	struct snic_timer timer;	/* for the next NAK */
	struct snic_qp *qp;
};

struct snic_rc_resp {
	uint32_t epsn;		/* expected */
	uint32_t msn;
	bool rnr_sent;		/* an RNR NAK was sent: ignore later PSNs until epsn arrives */
	/* the request at epsn failed; its NAK follows the replies */
	bool failing;
	uint8_t fail_nak, fail_syndrome;
	uint32_t fail_psn;
	struct rc_ahead ahead;
	/* one ACK or NAK that is to be sent after the replies */
	bool ack_due;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	/* the ACK waits for answers of this QP, until hold_end at most */
	bool ack_held;
	unsigned int nr_held;		/* messages that it acknowledges */
	bool all_small;			/* each of these had one packet */
	uint64_t hold_end;
	struct snic_timer hold;
	struct snic_qp *qp;
	/* the message being received */
	enum rc_msg msg;
	bool have_recv;
	uint32_t off;		/* bytes received */
	uint32_t rkey, len;	/* WRITE: from the RETH */
	uint64_t va;
	struct snic_recv recv;
	/* arrays of nr entries: max_dest_rd_atomic */
	unsigned int nr;
	struct rc_reply *replies;	/* in PSN order */
	unsigned int nr_replies;
	struct rc_result *results;	/* ring */
	unsigned int next_result;
};

/* ---- rc.c ---- */

/* Queues the QP for a turn at the end of the step. */
void rc_want_turn(struct snic_qp *qp);
/*
 * Sends pkt with len bytes of payload in iov (n pieces, at most
 * SNIC_NET_MAX_IOV - 2).  Fills in the destination and the pad.  0: sent, or
 * lost on the way.  -EAGAIN: not sent, try again later; snic_net_send() never
 * returns this today.
 */
int rc_send(struct snic_qp *qp, struct snic_pkt *pkt, const struct iovec *iov,
	    int n, uint32_t len);

/* Sends a forged packet beyond those of the WQEs. */
void rc_send_more(struct snic_qp *qp, struct snic_pkt *pkt, void *data,
		  uint32_t len);

/* ---- rate.c ---- */
/* Destroys all rate limits. */
void rc_rates_fini(struct snic *nic);

/* True: the QP's rate limit is used up, and the QP is parked until there are
 * tokens. */
bool rc_rate_waits(struct snic_qp *qp);
/* Takes len bytes from the QP's rate limit. */
void rc_rate_pay(struct snic_qp *qp, uint32_t len);
/* Takes a parked QP off its rate limit's list. */
void rc_rate_unpark(struct snic_qp *qp);

/* ---- req.c ---- */

int rc_req_init(struct snic_qp *qp);
void rc_req_fini(struct snic_qp *qp);
void rc_req_flush(struct snic_qp *qp);
/* One turn.  0: nothing more to send now; 1: more to send; -EAGAIN: the port is
 * full. */
int rc_req_turn(struct snic_qp *qp);
/*
 * Translates the local list of a WQE; returns the number of pieces, or -EACCES.
 */
int rc_local_sges(struct snic_qp *qp, const struct snic_wqe *w,
		  enum rc_kind kind, struct snic_sge *ret_sges);
/* Remove the oldest WQE from the queue, with a completion or an error. */
void rc_complete_head(struct snic_rc_req *req);
void rc_fail_head(struct snic_rc_req *req, enum wrc_cqe_syndrome syndrome);
/* Sends again from una on. */
void rc_go_back(struct snic_rc_req *req);
/* rc_go_back() for a gap in the responses, once until there is progress. */
void rc_go_back_once(struct snic_rc_req *req);

/* ---- time.c ---- */

void rc_time_init(struct snic_rc_req *req);
void rc_set_deadline(struct snic_rc_req *req, uint64_t when);
/* Has the peer been asked for an answer that has not come yet? */
bool rc_answer_due(const struct snic_rc_req *req);
/* Starts to measure the round trip of the packet at snd, unless one is
 * measured. */
void rc_time_answer(struct snic_rc_req *req);
/* Starts the time-out after sending, unless it runs. */
void rc_start_timeout(struct snic_rc_req *req);
/* After progress: starts the time-out anew if packets are unacknowledged. */
void rc_restart_timeout(struct snic_rc_req *req);
void rc_stop_timeout(struct snic_rc_req *req);

/* ---- comp.c ---- */

/* Handles a response or an acknowledgement. */
void rc_req_receive(struct snic_qp *qp, const struct snic_pkt *pkt);

/* ---- resp.c ---- */

int rc_resp_init(struct snic_qp *qp);
void rc_resp_fini(struct snic_qp *qp);
void rc_resp_flush(struct snic_qp *qp);
/* Handles a request; port: its UDP source port. */
void rc_resp_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		     uint16_t port);
int rc_resp_turn(struct snic_qp *qp);
/* Executes the request at epsn, or sends a NAK. */
void rc_resp_execute(struct snic_qp *qp, const struct snic_pkt *pkt);
/* True: the request is a READ or atomic, and the queue of replies is full. */
bool rc_resp_full(const struct snic_rc_resp *r, const struct snic_pkt *pkt);

/* ---- ack.c ---- */

void rc_ack_init(struct snic_qp *qp);
void rc_ack_flush(struct snic_qp *qp);
/* Acknowledges psn in the next turn. */
void rc_ack(struct snic_qp *qp, uint32_t psn);
/* Acknowledges a message; the ACK may wait for this QP's answer.  small: the
 * message was one packet. */
void rc_ack_message(struct snic_qp *qp, uint32_t psn, bool small);
/* An answer was sent: a held ACK follows soon. */
void rc_ack_answered(struct snic_qp *qp);
/* Replaces an ACK that is due. */
void rc_nak(struct snic_qp *qp, uint8_t syndrome, uint32_t psn);
bool rc_positive_due(const struct snic_rc_resp *r);
/* Sends an ACK or NAK at once, not in a turn. */
int rc_ack_now(struct snic_qp *qp, uint8_t syndrome, uint32_t psn);
/* Sends the ACK or NAK that is due. */
int rc_ack_turn(struct snic_qp *qp);

/* ---- ahead.c ---- */

void rc_ahead_init(struct snic_qp *qp);
void rc_ahead_fini(struct snic_qp *qp);
void rc_ahead_flush(struct snic_qp *qp);
/* Holds a request behind epsn if there is room. */
void rc_ahead_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		      uint16_t port);
/* A request at epsn came from this UDP port. */
void rc_ahead_port(struct snic_qp *qp, uint16_t port);
/* A duplicate request.  False: a different request was executed for its PSN. */
bool rc_ahead_same(struct snic_qp *qp, const struct snic_pkt *pkt);
/* A NAK told the requester to go back to epsn. */
void rc_ahead_nak_sent(struct snic_rc_resp *r);
/* A request at epsn, or a duplicate, shows what the requester sends again. */
void rc_ahead_see(struct snic_rc_resp *r, const struct snic_pkt *pkt);
/* Executes held requests from epsn on.  Call while ahead.gap is set, after epsn
 * has moved on from `from`, or when there is room for a reply again. */
void rc_ahead_go_on(struct snic_qp *qp, uint32_t from);

static inline bool rc_is_rd(const struct rc_slot *s)
{
	return s->kind == RC_READ || s->kind == RC_ATOMIC;
}

static inline uint32_t rc_last_psn(const struct rc_slot *s)
{
	return snic_psn_add(s->first_psn, s->nr_psn - 1);
}

/* PSNs that the request packet at psn takes; a READ takes one per response. */
static inline uint32_t rc_request_psns(const struct rc_slot *s, uint32_t psn)
{
	uint32_t idx = snic_psn_diff(psn, s->first_psn);
	uint32_t n = RC_READ_CHUNK - idx % RC_READ_CHUNK;

	if (s->kind != RC_READ)
		return 1;
	return n < s->nr_psn - idx ? n : s->nr_psn - idx;
}

/* Packets of a message of len bytes; an empty message has one. */
static inline uint32_t rc_nr_packets(uint32_t len, uint32_t mtu)
{
	return len ? (uint32_t)(((uint64_t)len + mtu - 1) / mtu) : 1;
}

static inline uint32_t rc_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- forge.c ---- */
void rc_forge_fini(struct snic *nic);

/* A copy of an RDMA WRITE that is to be sent later; one per NIC. */
struct snic_late {
	struct snic_timer timer;
	bool waiting;
	uint32_t qpn, dest_qpn;
	struct snic_pkt pkt;
	uint32_t len;
	uint8_t data[4096];
};

/* May forge a packet that is about to be built: pkt, data and *len.  data has
 * room for mtu bytes. */
void snic_forge_packet(struct snic *nic, struct snic_pkt *pkt, uint8_t *data,
		     uint32_t *len, uint32_t mtu);
/* May repeat a packet that was sent.  True: the caller sends it again now, with
 * a PSN of its own.  False: not at all, or later (forge.c). */
bool snic_forge_replay(struct snic_qp *qp, const struct snic_pkt *pkt,
		    const uint8_t *data, uint32_t len);
/* May send the packet again soon, with other data. */
void snic_forge_late(struct snic_qp *qp, const struct snic_pkt *pkt,
		   const uint8_t *data, uint32_t len);
#endif /* SNIC_TRANSPORT_PRIV_H */
