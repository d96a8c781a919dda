/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RC transport among its own files:
 *
 *	rc.c		packets in and out of a QP, whose turn it is to send
 *	req.c	requester: sending
 *	time.c	requester: when nothing comes back
 *	comp.c	requester: what comes back
 *	resp.c	responder: requests in their turn, and once more
 *	ahead.c	responder: what came before its turn
 *	ack.c	responder: ACKs and NAKs
 *
 * Receiving a packet only changes state and memory.  Sending is done in turns
 * at the end of a step, by snic_rc_step_end(): so the answers of one step share
 * one ACK, and a queue's packets know which of them is the last.
 */
#ifndef SNIC_TRANSPORT_PRIV_H
#define SNIC_TRANSPORT_PRIV_H

#include "../net/frame.h"
#include "../net/net.h"
#include "../net/pkt.h"
#include "transport.h"

/* Packets one QP may send in one turn, per direction of its role. */
#define RC_TURN		32
/* Unacknowledged packets of a requester, at most and after a time-out. */
#define RC_WINDOW_MAX	128
#define RC_WINDOW_MIN	4
/* At least every so many request packets ask for an ACK. */
#define RC_ACK_EVERY	16
/*
 * Nobody waits for the completion of an unsignaled WQE, so its packets need not
 * ask for an ACK (which costs the peer as much as a message): while messages
 * come at least that often, the next ones may.  When they stop, the last packet
 * is sent again and asks.
 */
#define RC_LAZY_NS	2000000
/*
 * Who sends a message waits for an answer to it, rather than for its ACK: that
 * may come behind the answer, or behind that to a later one.
 */
#define RC_HOLD_MAX	16	/* messages */
#define RC_HOLD_NS	100000
/*
 * After an answer: for those to the messages right behind, or to go alone.  Not
 * when one was of several packets: its sender wants his memory back.
 */
#define RC_HOLD_ON_NS	40000
/* PSNs of all posted WQEs: well below half of the PSN space. */
#define RC_PSN_SPAN	(1u << 22)
/* Packets of one READ request: longer READs are asked for in parts. */
#define RC_READ_CHUNK	32
#define RC_MSG_MAX	(1u << 31)
/* Requests held ahead of the expected one: by a QP (the window of rxe), by all
 * of a NIC. */
#define RC_AHEAD	128
#define RC_AHEAD_POOL	1024
/* What overtook the packet before it did so by less. */
#define RC_REORDER_NS	250000
/* Pause after the first NAK for a gap, which doubles, and how many there are. */
#define RC_NAK_AGAIN_NS	4000000ull
#define RC_NAKS		7

enum rc_kind { RC_SEND, RC_WRITE, RC_READ, RC_ATOMIC };

/* A WQE on the wire. */
struct rc_slot {
	struct rc_slot *next;	/* posting order, or free list */
	uint32_t first_psn;
	uint32_t nr_psn;	/* a READ counts its responses */
	uint8_t kind;		/* enum rc_kind */
	bool bad;		/* its memory is gone: fails when it is oldest */
	struct snic_wqe w;	/* copied as far as it is used */
};

/*
 * Requester.  una <= snd <= max <= next in PSN order: acknowledged before una,
 * next packet to send snd, never sent from max on, next WQE gets next.
 */
struct snic_rc_req {
	struct rc_slot *slots, *free;
	unsigned int fresh;		/* slots[0 .. fresh) were never used */
	struct rc_slot *head, *tail;	/* oldest, newest */
	struct rc_slot *cur;		/* holds snd; NULL: nothing to send */
	unsigned int pending;
	uint32_t una, snd, max, next;
	uint32_t window;		/* packets */
	uint32_t asked;			/* last PSN that asked for an answer */
	uint32_t unasked;		/* packets since then */
	bool unasked_signal;		/* one of them ends a signaled WQE */
	bool hurry;			/* the next packet asks */
	bool dense;			/* messages come one after the other: */
	uint64_t last_msg;		/* when the last one ended */
	unsigned int rd_out;		/* READ and atomic requests before snd,
					 * not answered */
	bool starved;			/* a post was refused for want of a slot */
	bool rewound;			/* went back to una for a gap, once */
	bool rnr_wait;
	uint8_t retries, rnr_retries;	/* in a row, without progress */
	uint64_t deadline;		/* probe, time-out, laziness, RNR wait */
	uint64_t due;			/* time-out; SNIC_NEVER: none runs */
	uint8_t probes;			/* in a row, without progress */
	/* one packet that asked is timed until it is answered */
	bool timing;
	uint32_t timed_psn;
	uint64_t timed_at;
	uint64_t rtt, rtt_dev;		/* 0: no answer was timed yet */
	struct snic_timer timer;	/* fires not after deadline */
	uint32_t extra;			/* packets that no WQE asked for */
	struct snic_qp *qp;
	/* turn list of the NIC */
	struct snic_qp *tx_next;
	bool tx_listed;
};

/* A READ or atomic whose response is not sent completely. */
struct rc_reply {
	uint32_t psn, end;	/* next packet and last one, inclusive */
	bool atomic;
	bool begun;		/* READ: FIRST is sent */
	uint32_t rkey, len;	/* what is left */
	uint64_t va;
	uint64_t orig;
};

/* The result of an atomic, for its duplicates. */
struct rc_result {
	bool valid;
	uint32_t psn;
	uint64_t orig;
};

enum rc_msg { RC_MSG_NONE, RC_MSG_SEND, RC_MSG_WRITE };

/* What a SEND or WRITE is, but for its payload; opcode 0: nothing. */
struct rc_head {
	uint8_t opcode;
	uint32_t psn, len, rkey, dma_len;
	__be32 imm;
	uint64_t va;
};

/* Requests that came before their turn. */
struct rc_ahead {
	struct rc_head done[RC_AHEAD];	/* of those that were held, and executed */
	uint16_t port;		/* UDP, of the last one whose turn it was */
	bool port_known;
	struct snic_frame *slot[RC_AHEAD];	/* by PSN: a snic_pkt, payload */
	unsigned int nr;
	bool is_void[RC_AHEAD];	/* came with two contents */
	unsigned int nr_void;
	bool gap;		/* epsn is missing, something before end came */
	uint32_t end;
	unsigned int naks;	/* for this gap */
	/* The requester was told to go back (and nothing says that it has), and
	 * it has not sent all before back_end again. */
	bool told, back;
	uint32_t back_end;
	struct snic_timer timer;	/* the next one */
	struct snic_qp *qp;
};

struct snic_rc_resp {
	uint32_t epsn;		/* expected */
	uint32_t msn;
	bool rnr_sent;		/* silent until epsn arrives */
	/* epsn cannot be executed, which is said after the replies */
	bool failing;
	uint8_t fail_nak, fail_syndrome;
	uint32_t fail_psn;
	struct rc_ahead ahead;
	/* one ACK or NAK to be sent after the replies */
	bool ack_due;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	/* it may wait for answers of ours, until hold_end at most */
	bool ack_held;
	unsigned int nr_held;		/* messages it is for */
	bool all_small;			/* of one packet each */
	uint64_t hold_end;
	struct snic_timer hold;
	struct snic_qp *qp;
	/* message under way */
	enum rc_msg msg;
	bool have_recv;
	uint32_t off;		/* bytes of it received */
	uint32_t rkey, len;	/* WRITE: RETH */
	uint64_t va;
	struct snic_recv recv;
	/* both of nr entries: max_dest_rd_atomic */
	unsigned int nr;
	struct rc_reply *replies;	/* in PSN order */
	unsigned int nr_replies;
	struct rc_result *results;	/* ring */
	unsigned int next_result;
};

/* ---- rc.c ---- */

/* The QP has something to send: it gets a turn at the end of the step. */
void rc_want_turn(struct snic_qp *qp);
/*
 * Sends pkt with len bytes of payload in iov (n pieces, at most
 * SNIC_NET_MAX_IOV - 2).  Fills in addressing and pad.  -EAGAIN: not sent; any
 * other trouble is a lost packet's, and returns 0.
 */
int rc_send(struct snic_qp *qp, struct snic_pkt *pkt, const struct iovec *iov,
	    int n, uint32_t len);

/* Forged: a packet that no WQE has asked for. */
void rc_send_more(struct snic_qp *qp, struct snic_pkt *pkt, void *data,
		  uint32_t len);

/* ---- rate.c ---- */

/* It has a limit, and nothing left of it: it gets its turn when there is more. */
bool rc_rate_waits(struct snic_qp *qp);
/* It has moved so much. */
void rc_rate_pay(struct snic_qp *qp, uint32_t len);
/* Of one that waits: it does not any more. */
void rc_rate_unpark(struct snic_qp *qp);

/* ---- req.c ---- */

int rc_req_init(struct snic_qp *qp);
void rc_req_fini(struct snic_qp *qp);
void rc_req_flush(struct snic_qp *qp);
/* One turn.  0: nothing left for now; 1: more; -EAGAIN: the port is full. */
int rc_req_turn(struct snic_qp *qp);
/* The local list of a WQE as host memory; returns the number of pieces. */
int rc_local_sges(struct snic_qp *qp, const struct snic_wqe *w,
		  enum rc_kind kind, struct snic_sge *ret_sges);
/* The oldest WQE leaves the queue. */
void rc_complete_head(struct snic_rc_req *req);
void rc_fail_head(struct snic_rc_req *req, enum wrc_cqe_syndrome syndrome);
/* Sends again from una on. */
void rc_go_back(struct snic_rc_req *req);
/* The same for a gap in what came back: once, until something comes of it. */
void rc_go_back_once(struct snic_rc_req *req);

/* ---- time.c ---- */

void rc_time_init(struct snic_rc_req *req);
void rc_set_deadline(struct snic_rc_req *req, uint64_t when);
/* Was an answer asked for that is not here? */
bool rc_answer_due(const struct snic_rc_req *req);
/* The packet at snd asked, and was never sent before. */
void rc_time_answer(struct snic_rc_req *req);
/* Something was sent: the time-out runs, if it does not already. */
void rc_start_timeout(struct snic_rc_req *req);
/* After progress: from now, if anything is still unanswered. */
void rc_restart_timeout(struct snic_rc_req *req);
void rc_stop_timeout(struct snic_rc_req *req);

/* ---- comp.c ---- */

/* A packet that is no request. */
void rc_req_receive(struct snic_qp *qp, const struct snic_pkt *pkt);

/* ---- resp.c ---- */

int rc_resp_init(struct snic_qp *qp);
void rc_resp_fini(struct snic_qp *qp);
void rc_resp_flush(struct snic_qp *qp);
/* A request. */
void rc_resp_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		     uint16_t port);
int rc_resp_turn(struct snic_qp *qp);
/* The request at epsn: executes it, or answers it. */
void rc_resp_execute(struct snic_qp *qp, const struct snic_pkt *pkt);
/* A READ or atomic for which there is no room before a reply is sent. */
bool rc_resp_full(const struct snic_rc_resp *r, const struct snic_pkt *pkt);

/* ---- ack.c ---- */

void rc_ack_init(struct snic_qp *qp);
void rc_ack_flush(struct snic_qp *qp);
/* Acknowledges psn, with the next turn. */
void rc_ack(struct snic_qp *qp, uint32_t psn);
/*
 * Acknowledges a message, behind our answer to it if there is one soon; small:
 * it was one packet.
 */
void rc_ack_message(struct snic_qp *qp, uint32_t psn, bool small);
/* An answer goes out: an ACK that has waited for it follows. */
void rc_ack_answered(struct snic_qp *qp);
/* Takes the place of what is due. */
void rc_nak(struct snic_qp *qp, uint8_t syndrome, uint32_t psn);
bool rc_positive_due(const struct snic_rc_resp *r);
/* Without waiting for a turn. */
int rc_ack_now(struct snic_qp *qp, uint8_t syndrome, uint32_t psn);
/* Sends what is due. */
int rc_ack_turn(struct snic_qp *qp);

/* ---- ahead.c ---- */

void rc_ahead_init(struct snic_qp *qp);
void rc_ahead_fini(struct snic_qp *qp);
void rc_ahead_flush(struct snic_qp *qp);
/* A request behind epsn: held, if there is room. */
void rc_ahead_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		      uint16_t port);
/* A request at epsn comes from that UDP port. */
void rc_ahead_port(struct snic_qp *qp, uint16_t port);
/* A request seen before: false, if what was held of it was another one. */
bool rc_ahead_same(struct snic_qp *qp, const struct snic_pkt *pkt);
/* The requester is told to go back to epsn. */
void rc_ahead_nak_sent(struct snic_rc_resp *r);
/* A request at epsn, or one seen before. */
void rc_ahead_see(struct snic_rc_resp *r, const struct snic_pkt *pkt);
/*
 * To be called while ahead.gap is set, when epsn was `from` and is not any
 * more, or when there is room for a reply again: what is held from epsn on is
 * executed.
 */
void rc_ahead_go_on(struct snic_qp *qp, uint32_t from);

static inline bool rc_is_rd(const struct rc_slot *s)
{
	return s->kind == RC_READ || s->kind == RC_ATOMIC;
}

static inline uint32_t rc_last_psn(const struct rc_slot *s)
{
	return snic_psn_add(s->first_psn, s->nr_psn - 1);
}

/* PSNs that the request packet at psn takes: a READ's are its answers. */
static inline uint32_t rc_request_psns(const struct rc_slot *s, uint32_t psn)
{
	uint32_t idx = snic_psn_diff(psn, s->first_psn);
	uint32_t n = RC_READ_CHUNK - idx % RC_READ_CHUNK;

	if (s->kind != RC_READ)
		return 1;
	return n < s->nr_psn - idx ? n : s->nr_psn - idx;
}

/* Packets of a message of len bytes; an empty one has one. */
static inline uint32_t rc_nr_packets(uint32_t len, uint32_t mtu)
{
	return len ? (uint32_t)(((uint64_t)len + mtu - 1) / mtu) : 1;
}

static inline uint32_t rc_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- forge.c ---- */

/* An RDMA WRITE that is still to come, from nobody's queue. */
struct snic_late {
	struct snic_timer timer;
	bool waiting;
	uint32_t qpn, dest_qpn;
	struct snic_pkt pkt;
	uint32_t len;
	uint8_t data[4096];
};

/*
 * A packet about to be built: pkt, data and *len may be others afterwards.  data
 * has room for mtu bytes.
 */
void snic_forge_packet(struct snic *nic, struct snic_pkt *pkt, uint8_t *data,
		     uint32_t *len, uint32_t mtu);
/*
 * It was sent.  Is it to be sent once more, with a PSN of its own?  Maybe that is
 * done later.
 */
bool snic_forge_replay(struct snic_qp *qp, const struct snic_pkt *pkt,
		    const uint8_t *data, uint32_t len);
/* Maybe its data is to be replaced soon. */
void snic_forge_late(struct snic_qp *qp, const struct snic_pkt *pkt,
		   const uint8_t *data, uint32_t len);
#endif /* SNIC_TRANSPORT_PRIV_H */
