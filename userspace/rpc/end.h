/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of a connection: messages out, messages in, and sleep. Two threads may use an end
 * at a time: one sends (end.send), one receives (end.recv). Both ends work alike.
 */
#ifndef FAR_RPC_END_H
#define FAR_RPC_END_H

#include <stdbool.h>
#include <stddef.h>

#include "../nic/nic.h"
#include "layout.h"

#define RPC_RECVS	16u	/* RECVs that wait at an end */
#define RPC_SIGNAL	16u	/* posts to a completion */
#define RPC_SIGNAL_BYTES (RPC_RING / 4)	/* bytes of messages to a completion */
#define RPC_DEPTH	64u
#define RPC_MORE	16u	/* operations of a post beside a message */
/*
 * Between two probes of an other end that has sent nothing: a WRITE of 0 bytes, which fails if
 * its program has ended. Only where the NIC does not notice that (FAR_NIC_CAP_HEARS).
 */
#define RPC_PROBE_NS	UINT64_C(1000000000)

struct rpc_end {
	struct far_nic *nic;
	struct far_end end;
	struct far_link *link;
	struct far_window window;
	int broken;			/* 0, or why the connection is over; atomic */

	/* The sender's. */
	uint8_t *copy;			/* of the other end's ring, then a word for READs */
	uint32_t lkey;
	uint8_t *bounce;		/* data of operations on the other end's memory; or NULL */
	uint32_t bounce_lkey;
	uint64_t tail;			/* position behind the last message sent */
	uint64_t peer_head;		/* the other end's, as far as known */
	uint64_t head_told;		/* the same, as messages have told; atomic */
	uint64_t released;		/* the NIC reads nothing of the copy before that */
	uint64_t signaled;		/* tail behind the last post with a completion */
	/* What the completions that are due will release, in their order. */
	uint64_t release[RPC_DEPTH];
	uint32_t nr_due, nr_done;	/* completions asked for, and seen; they wrap */
	uint64_t told_seen;		/* the other end's last sleep that was ended */
	uint32_t seq_out;
	uint32_t out_len;		/* of the message under construction */
	uint16_t out_nr;
	uint32_t skip;			/* bytes to skip before that */
	unsigned unsignaled;
	uint32_t imm;			/* of the next message, if not 0 */
	uint64_t credit;		/* of a server: for the next message, if credit_due */
	bool credit_due;
	bool reading;			/* a READ of the head is under way */
	bool read_done;			/* it has completed; rpc_out_room() takes the result */
	uint64_t messages, head_reads;
	uint64_t probe_at;		/* when the next probe is due */
	uint32_t probe_seq;		/* seq_in of the last time */
	bool probing;			/* a probe is under way */

	/* The receiver's. */
	uint64_t head;			/* position behind the last message taken; atomic */
	uint32_t seq_in;		/* atomic */
	uint8_t *in;			/* a copy of the last message */
	uint64_t torn_since;		/* when an incomplete message was first seen; 0: none */
	uint16_t sleep_nr;
	bool asleep;			/* the other end has been told */
	uint32_t in_at;			/* offset of the next request in `in` */
	uint16_t in_left;		/* requests there */
	uint32_t renewals;		/* of a server: that the client has asked for */
	uint32_t asks;			/* its last report of RPC_IMM_ASKS; 0: none is new */
};

static inline bool rpc_is_virtual(const struct far_nic *nic)
{
	return nic->ops->caps & FAR_NIC_CAP_VIRTUAL;
}

/* The end of a wait until `until`, in which a probe may become due. */
static inline uint64_t rpc_probe_until(const struct far_nic *nic, uint64_t now, uint64_t until)
{
	uint64_t probe = now + RPC_PROBE_NS;

	return nic->ops->caps & FAR_NIC_CAP_HEARS || until < probe ? until : probe;
}

/*
 * Makes the end's memory. Queue sets and numbers are in *end. common: what the other end may
 * use beside the ring, or NULL.
 */
int rpc_end_init(struct rpc_end *end, struct far_nic *nic, const struct far_end *ends,
		 const struct far_common *common);
/* Makes the bounce buffer, of size bytes. */
int rpc_end_bounce(struct rpc_end *end, uint32_t size);
/* Hangs up and frees the memory. */
void rpc_end_fini(struct rpc_end *end);
/* Write the hello of a call, and of its answer; and check the other end's. */
void rpc_call_fill(struct far_hello *hello, uint64_t sender);
int rpc_call_check(const struct far_hello *hello, uint64_t *ret_sender);
void rpc_hello_fill(struct far_hello *hello, uint64_t credit, uint64_t memory);
int rpc_hello_check(const struct far_hello *hello, uint64_t *ret_credit, uint64_t *ret_memory);
/* The connection is made: posts RECVs. */
int rpc_end_start(struct rpc_end *end);

static inline int rpc_end_broken(const struct rpc_end *end)
{
	return __atomic_load_n(&end->broken, __ATOMIC_ACQUIRE);
}

static inline void rpc_end_break(struct rpc_end *end, int err)
{
	__atomic_store_n(&end->broken, err, __ATOMIC_RELEASE);
}

/* Handles a completion of either queue set: RECVs, failures, READs. */
void rpc_end_wc(struct rpc_end *end, const struct far_wc *wc);

/* out.c: the sender's functions. */

/* Bytes that a message may have now, with its head; 0: no room. */
uint32_t rpc_out_room(struct rpc_end *end);
/* An operation of out.c has completed with success. */
void rpc_out_done(struct rpc_end *end);
/* READs the other end's head, for the next rpc_out_room(). */
int rpc_out_refresh(struct rpc_end *end);
/* A message has told the other end's head. The receiver may call this. */
void rpc_out_head(struct rpc_end *end, uint64_t head);
/* Begins a message; the caller has made sure of room for `bytes`. */
void rpc_out_begin(struct rpc_end *end, uint32_t bytes);
/* Adds an item. Returns where its data go, until the next call. */
void *rpc_out_add(struct rpc_end *end, const struct rpc_meta *meta);
/* The last item has this many bytes, at most what its meta has said. */
void rpc_out_trim(struct rpc_end *end, void *data, uint32_t len);
/*
 * Posts the message, behind nr other operations, at most RPC_MORE. -EAGAIN: poll first; other
 * errors break the end.
 */
int rpc_out_post(struct rpc_end *end, const struct far_wr *more, unsigned nr);
/* Posts other operations without a message. */
int rpc_out_more(struct rpc_end *end, const struct far_wr *more, unsigned nr);
/* Wakes the other end if that sleeps although there are messages for it. */
int rpc_out_wake(struct rpc_end *end);
/* Posts what comes with the next message without one: end->imm, end->credit. */
int rpc_out_notify(struct rpc_end *end);
/* Posts a probe, if one is due. Errors as of rpc_out_post(). */
int rpc_out_probe(struct rpc_end *end, uint64_t now);
/* Tells the other end that this one sleeps now. The receiver is the sender, too. */
int rpc_out_sleep(struct rpc_end *end);

/* in.c: the receiver's functions. */

/*
 * Takes the next message into end->in. 1, 0: there is none, -EPROTO: what is there is no
 * message. Then rpc_in_next() returns its items, and NULL behind the last.
 */
int rpc_in_take(struct rpc_end *end);
const struct rpc_meta *rpc_in_next(struct rpc_end *end, const void **ret_data);
/* True if something is there that rpc_in_take() has not seen. */
bool rpc_in_waits(const struct rpc_end *end);

/* Writes into why what err means for the service, at a node or NULL. Returns err. */
int rpc_why(char *why, size_t len, int err, const char *service, const char *node);

/* The checksum of a message. */
uint64_t rpc_sum(const struct rpc_head *head, uint64_t position);

#endif
