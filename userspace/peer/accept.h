/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The accepting side of a handshake (odrp/auth.h); call.h has the other one. Each message
 * that arrives gives the message to send. The caller has the connection and the time.
 *
 *	HELLO -> RESPONSE -> DONE
 */
#ifndef FAR_PEER_ACCEPT_H
#define FAR_PEER_ACCEPT_H

#include "../auth/shake.h"

enum far_accept_state {
	FAR_ACCEPT_NONE,	/* no handshake */
	FAR_ACCEPT_HELLO,	/* the hello is awaited */
	FAR_ACCEPT_RESPONSE,	/* the challenge is to be sent; the response is awaited */
	FAR_ACCEPT_DONE,	/* the result is to be sent; the peer is to disconnect */
};

struct far_accept_ops {
	/* The secrets of a name. -ENOENT: there are none; else the handshake fails. */
	int (*secrets)(void *arg, const char *name, struct secrets *ret_secrets);
	/*
	 * The peer has proved the name: makes a pass, with *ret_handle, or sets *ret_status
	 * (enum odrp_wire_status) because it has no such session. -errno: neither.
	 */
	int (*admit)(void *arg, const char *name, const struct auth_key *key,
		     uint64_t session, unsigned *ret_status, uint64_t *ret_handle);
};

/**
 * struct far_accept - a handshake; all zeros: none
 * @ends:	set by the caller at the beginning, with @state
 */
struct far_accept {
	enum far_accept_state state;
	struct auth_ends ends;
	struct auth_answer answer;
	struct odrp_auth_done done;
};

/*
 * Takes the next message, and sets what to send. An error ends the handshake, in the state
 * in which it was: -EPROTO: malformed, or too many messages; -EKEYREJECTED: the name is
 * unknown, or the peer has another secret, which fail at the same step; or an error of ops.
 */
int far_accept_message(struct far_accept *accept, const struct far_accept_ops *ops, void *arg,
		       const void *bytes, size_t len, const void **ret_reply,
		       size_t *ret_len);

#endif
