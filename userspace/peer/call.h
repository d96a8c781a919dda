/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A call: a connection request of odrp/far.h to a memory node, with all that comes before.
 * Without a key:
 *
 *	SEEKING -> ASKED -> DONE
 *
 * With a key the request is signed by a pass. If there is no pass for the memory node yet,
 * a handshake (odrp/auth.h) on a connection of its own makes one:
 *
 *	SEEKING -> INITIATED -> GREETED -> PROVED -> SEEKING -> ASKED -> DONE
 *
 * The memory node may ask for the initiation once more, with a cookie. A request that is
 * rejected by something else than a memory node that serves spaces, or whose answer is not
 * signed, begins anew, FAR_CALL_TRIES times in all.
 *
 * A call never waits: far_call_step() does what can be done and returns. call_state.c has
 * the table of what each event does.
 */
#ifndef FAR_PEER_CALL_H
#define FAR_PEER_CALL_H

#include "call_state.h"
#include "hello.h"
#include "link.h"
#include "pass.h"

/* How long the peer may take for each message of a handshake. */
#define FAR_CALL_MESSAGE_NS	UINT64_C(5000000000)
/*
 * Most tries of a request. A memory node's NIC rejects a request of a queue pair number that
 * it still knows from an earlier connection, and then forgets that number.
 */
#define FAR_CALL_TRIES		4
/* Most initiations of a handshake, all but the first with a cookie. */
#define FAR_CALL_INITIATIONS	3

/**
 * struct far_call - a call
 * @key:	name and secret; NULL: requests are not signed
 * @passes:	of @key
 * @err:	the result, when the call is over
 * @late:	the call has failed because the peer did not answer in time
 * @shaking:	the call makes a handshake, for all calls of @passes
 * @until:	when the call fails if the peer has not answered
 * @pass:	of the last request or of the handshake
 * @news:	the last news; when the call is DONE, the accept or the reject
 */
struct far_call {
	struct far_link *link;
	const struct far_key *key;
	struct far_passes *passes;
	struct odrp_far_hello hello;
	enum far_call_state state;
	int err;
	bool late, shaking;
	unsigned tries, initiations;
	uint64_t until;
	struct odrp_auth_initiation initiation;
	struct auth_ask ask;
	struct far_pass pass;
	struct far_news news;
};

/* Begins a call. The link is closed; key and passes outlive the call. */
void far_call_begin(struct far_call *call, struct far_link *link, const struct far_key *key,
		    struct far_passes *passes, const struct odrp_far_hello *hello);
/*
 * Goes on. -EAGAIN: the call is under way. 0: the peer has accepted the request, and the link
 * stays open; or it has rejected it with ODRP_FAR_OK. Else the call has failed:
 *
 *	-ENOENT, -ESTALE, ...	rejected with this status; with a key, signed
 *	-ECONNREFUSED		rejected by something else, or the answer is not signed
 *	-EKEYREJECTED		the memory node does not know the name, or has another secret
 *	-EPROTO			a message of the handshake is malformed
 *	-EINPROGRESS		the memory node is starting
 *	-ETIMEDOUT		no answer to a connection request
 *
 * or an error of the link.
 */
int far_call_step(struct far_call *call);
/* True if it has ended: an answer may be -EAGAIN, too. */
bool far_call_is_over(const struct far_call *call);
/* Wipes a call. One that is under way is given up, and its link closed. */
void far_call_end(struct far_call *call);
/* True: the call is DONE, and its connection stands. */
static inline bool far_call_accepted(const struct far_call *call)
{
	return call->state == FAR_CALL_DONE && call->news.kind == FAR_NEWS_ACCEPTED;
}

/* True: a step may find a message of the handshake. */
static inline bool far_call_awaits_message(const struct far_call *call)
{
	return call->state == FAR_CALL_GREETED || call->state == FAR_CALL_PROVED;
}

#endif
