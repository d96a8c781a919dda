/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The asking side of a handshake with another agent; responder.h is the answering side. A
 * handshake results in a pass, which signs connection requests of odrp/far.h.
 */
#ifndef MNODE_INITIATOR_H
#define MNODE_INITIATOR_H

#include <odrp/far.h>
#include "../../userspace/host/mail.h"
#include "../../userspace/auth/shake.h"

#define INITIATOR_NS	UINT64_C(5000000000)
/* Connection requests for one handshake: the other agent may ask for cookies. */
#define INITIATOR_TRIES	3

enum initiator_state {
	INITIATOR_NONE,		/* no handshake is under way, and there is no pass */
	INITIATOR_ASKED,	/* the connection request has been sent */
	INITIATOR_HELLO,	/* the hello has been sent */
	INITIATOR_RESPONSE,	/* the response has been sent */
	INITIATOR_PASSED,	/* there is a pass */
};

/**
 * struct initiator - a handshake with one agent
 * @conn:	the handshake's connection, closed when there is a pass; 0: none
 * @until:	when the handshake times out, by the clock of initiator_begin()
 * @tries:	connection requests that are left
 * @refused:	the last handshake failed after its connection was established, as a rule
 *		because the two agents do not have the same secret
 * @timed_out:	the last handshake took longer than INITIATOR_NS
 * @handle, @counter, @ends: of the pass; its key is in @ask
 */
struct initiator {
	struct nic *nic;
	uint32_t pdn;
	enum initiator_state state;
	uint32_t conn;
	struct far_mail mail;
	__be32 ip;
	uint64_t until;
	unsigned int tries;
	bool refused, timed_out;
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
	struct odrp_auth_initiation initiation;
	struct auth_ask ask;
	struct auth_ends ends;
	uint64_t handle;
	uint32_t counter;
};

void initiator_init(struct initiator *initiator, struct nic *nic, uint32_t pdn);
/* Ends a handshake that is under way; forgets the pass and the secret. */
void initiator_drop(struct initiator *initiator);
/* Begins a handshake under that name, and drops the old pass. now: nanoseconds. -errno: it
 * has not begun. No effect if a handshake is under way. */
int initiator_begin(struct initiator *initiator, __be32 ip, const char *name,
		    const uint8_t secret[ODRP_AUTH_SECRET], uint64_t now);
/* Handles an event of the handshake's connection. False: it belongs to another one. */
bool initiator_event(struct initiator *initiator, const struct nic_event *ev);
/* Handles a message that has arrived, and the time-out. */
void initiator_work(struct initiator *initiator, uint64_t now);
static inline bool initiator_under_way(const struct initiator *initiator)
{
	return initiator->state != INITIATOR_NONE && initiator->state != INITIATOR_PASSED;
}

/* True: the handshake goes on with a message, for which the NIC has no event. */
static inline bool initiator_awaits_mail(const struct initiator *initiator)
{
	return initiator->state == INITIATOR_HELLO || initiator->state == INITIATOR_RESPONSE;
}

/* Signs the hello as the next connection request of that queue pair. */
void initiator_sign(struct initiator *initiator, const struct odrp_far_hello *hello, uint32_t qpn,
		    struct odrp_auth_far *ret_req);
/* Checks the MAC of a rejection of len bytes. 0: it answers the last signed request;
 * -EKEYREJECTED: it does not. */
int initiator_check(const struct initiator *initiator, const void *answer, size_t len,
		    const uint8_t mac[ODRP_AUTH_MAC]);

#endif /* MNODE_INITIATOR_H */
