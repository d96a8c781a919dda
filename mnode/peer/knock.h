/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The asking side of a handshake with another agent; door.h is the answering side. A
 * handshake results in a pass, which signs connection requests of odrp/far.h.
 */
#ifndef MNODE_KNOCK_H
#define MNODE_KNOCK_H

#include <odrp/far.h>
#include "../../userspace/host/mail.h"
#include "../../userspace/auth/shake.h"

#define KNOCK_NS	UINT64_C(5000000000)
/* Connection requests for one handshake: the other agent may ask for cookies. */
#define KNOCK_TRIES	3

enum knock_state {
	KNOCK_NONE,		/* no handshake is under way, and there is no pass */
	KNOCK_ASKED,		/* the connection request has been sent */
	KNOCK_HELLO,		/* the hello has been sent */
	KNOCK_RESPONSE,		/* the response has been sent */
	KNOCK_PASSED,		/* there is a pass */
};

/**
 * struct knock - a handshake with one agent
 * @conn:	the handshake's connection, closed when there is a pass; 0: none
 * @until:	when the handshake times out, by the clock of knock_begin()
 * @tries:	connection requests that are left
 * @refused:	the last handshake failed after its connection was established, as a rule
 *		because the two agents do not have the same secret
 * @timed_out:	the last handshake took longer than KNOCK_NS
 * @handle, @counter, @ends: of the pass; its key is in @ask
 */
struct knock {
	struct nic *nic;
	uint32_t pdn;
	enum knock_state state;
	uint32_t conn;
	struct far_mail mail;
	__be32 ip;
	uint64_t until;
	unsigned int tries;
	bool refused, timed_out;
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
	struct odrp_auth_knock knock;
	struct auth_ask ask;
	struct auth_ends ends;
	uint64_t handle;
	uint32_t counter;
};

void knock_init(struct knock *knock, struct nic *nic, uint32_t pdn);
/* Ends a handshake that is under way; forgets the pass and the secret. */
void knock_drop(struct knock *knock);
/* Begins a handshake under that name, and drops the old pass. now: nanoseconds. -errno: it
 * has not begun. No effect if a handshake is under way. */
int knock_begin(struct knock *knock, __be32 ip, const char *name,
		const uint8_t secret[ODRP_AUTH_SECRET], uint64_t now);
/* Handles an event of the handshake's connection. False: it belongs to another one. */
bool knock_event(struct knock *knock, const struct nic_event *ev);
/* Handles a message that has arrived, and the time-out. */
void knock_work(struct knock *knock, uint64_t now);
static inline bool knock_under_way(const struct knock *knock)
{
	return knock->state != KNOCK_NONE && knock->state != KNOCK_PASSED;
}

/* True: the handshake goes on with a message, for which the NIC has no event. */
static inline bool knock_awaits_mail(const struct knock *knock)
{
	return knock->state == KNOCK_HELLO || knock->state == KNOCK_RESPONSE;
}

/* Signs the hello as the next connection request of that queue pair. */
void knock_sign(struct knock *knock, const struct odrp_far_hello *hello, uint32_t qpn,
		struct odrp_auth_far *ret_req);
/* Checks the MAC of a rejection of len bytes. 0: it answers the last signed request;
 * -EKEYREJECTED: it does not. */
int knock_check(const struct knock *knock, const void *answer, size_t len,
		const uint8_t mac[ODRP_AUTH_MAC]);

#endif /* MNODE_KNOCK_H */
