/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layout of the windows that two ends of RPC write to each other. Little endian.
 *
 * Each end of a connection has a window: a page of control words, then the ring into which
 * the other end WRITEs messages. Positions in a ring are numbers of bytes since the
 * connection began, and only go up. A message is contiguous; if it does not fit before the
 * ring's end, a message RPC_SKIP takes the rest of the lap.
 *
 *	| head | request | request | ... | padding to 32 bytes |
 *	         meta, data, padding to 8 bytes
 *
 * The receiver fills what it has taken with zeros. So the first word of the next message is
 * 0 until it comes, and the message is whole once the checksum matches: nothing is assumed
 * about the order in which its words arrive.
 */
#ifndef FAR_RPC_LAYOUT_H
#define FAR_RPC_LAYOUT_H

#include <stdint.h>

#define RPC_MAGIC	0x63707266u	/* "frpc" */
#define RPC_VERSION	5u
#define RPC_ALIGN	32u
#define RPC_CONTROL	4096u		/* bytes of a window before the ring */
#define RPC_RING	65536u
#define RPC_MESSAGE_MAX	16384u
#define RPC_WINDOW	(RPC_CONTROL + RPC_RING)
#define RPC_CREDITS	32u		/* requests that an active queue pair may send at once */

/*
 * far_hello of a call: the version, then the number of the client, which has many connections.
 * It is small: see FAR_CALL_MAX.
 */
struct rpc_call {
	uint64_t version : 16, sender : 48;
};

/* far_hello of the answer. */
struct rpc_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t ring;		/* bytes of the ring in this end's window */
	uint32_t message_max;
	uint64_t credit;	/* as in rpc_control */
	uint64_t memory;	/* bytes behind the window, at RPC_WINDOW; 0: none */
};

/* The first bytes of a window. */
struct rpc_control {
	uint64_t head;		/* position up to which this end has taken messages */
	/* The other end's report: its head / 32 << 17 | number of the sleep << 1 | asleep. */
	uint64_t told;
	/*
	 * The server's word for the client: requests that this connection may have sent since
	 * its beginning << 32 | number of the change << 1 | active. 0: as in the hello.
	 */
	uint64_t credit;
};

_Static_assert(sizeof(struct rpc_call) == 8 && sizeof(struct rpc_hello) == 32, "words");
_Static_assert(sizeof(struct rpc_control) == 24, "three words");

#define RPC_CREDIT_ACTIVE	1u
#define RPC_CREDIT_SHIFT	32

#define RPC_TOLD_ASLEEP		1u
#define RPC_TOLD_SLEEP_SHIFT	1
#define RPC_TOLD_HEAD_SHIFT	17

/* Immediates of WRITE_IMM. */
enum {
	RPC_IMM_LOOK,		/* the sender has told something */
	RPC_IMM_WAKE,		/* flag: the sender has seen that the receiver sleeps */
	RPC_IMM_RENEW,		/* flag: the client wants credits */
	RPC_IMM_ASKS = 4,	/* flag: the client reports what its threads ask, as below */
};

/*
 * Requests of all threads that have no response yet, at most RPC_DEPTH_MAX; and the threads that
 * ask, less 1.
 */
#define RPC_IMM_DEPTH_SHIFT	8
#define RPC_IMM_THREADS_SHIFT	24
#define RPC_DEPTH_MAX		65535u

enum { RPC_SKIP = 1 };		/* flag: take the rest of the lap */

struct rpc_head {
	uint32_t len;		/* bytes, with the head; a multiple of RPC_ALIGN */
	uint32_t seq;		/* number of the message, from 1 on, never 0 */
	uint64_t sum;		/* of what follows, seeded with position, len and seq */
	uint64_t head;		/* the sender's, as in rpc_control */
	uint16_t nr;		/* requests or responses */
	uint16_t flags;
	uint32_t reserved;
};

_Static_assert(sizeof(struct rpc_head) == RPC_ALIGN, "a skip fits everywhere");

struct rpc_meta {
	uint32_t len;		/* bytes of data */
	uint16_t thread;	/* of the client; echoed */
	uint16_t handler;	/* of a request; of a response: enum rpc_answer */
	uint32_t id;		/* number of the request within the thread; echoed */
	int32_t status;		/* of a response: the handler's result */
};

_Static_assert(sizeof(struct rpc_meta) == 16, "two words");

/* What became of a request. */
enum rpc_answer {
	RPC_ANSWERED,
	RPC_NO_HANDLER,		/* nothing has run */
	RPC_TOO_LONG,		/* it has run; its response is longer than any can be */
};

static inline uint32_t rpc_round(uint32_t len, uint32_t to)
{
	return (len + to - 1) / to * to;
}

/* Bytes of a request or response within a message. */
static inline uint32_t rpc_item(uint32_t len)
{
	return sizeof(struct rpc_meta) + rpc_round(len, 8);
}

#endif
