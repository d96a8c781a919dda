/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A handshake with another agent, as the one who asks; door.h is the other side. What
 * it brings is a pass, by which questions of the kind of odrp/far.h are signed.
 */
#ifndef MNODE_KNOCK_H
#define MNODE_KNOCK_H

#include <odrp/far.h>
#include "../userspace/host/mail.h"
#include "../userspace/auth/shake.h"

#define KNOCK_NS	UINT64_C(5000000000)
/* With cookies that the other one asks for. */
#define KNOCK_TRIES	3

enum knock_state {
	KNOCK_NONE,		/* nothing is under way, and there is no pass */
	KNOCK_ASKED,		/* connecting */
	KNOCK_HELLO,		/* the hello has been sent */
	KNOCK_RESPONSE,		/* the response has been sent */
	KNOCK_PASSED,		/* there is a pass */
};

/**
 * struct knock - with one agent
 * @conn:	until there is a pass
 * @until:	when it has taken too long
 * @tries:	that are left
 * @refused:	the last one came to nothing: the other one does not know our secret, or
 *		we do not know his
 * @timed_out:	or it took longer than KNOCK_NS
 * @handle, @counter, @ends: of the pass; its key is that of ask
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
/* Ends what is under way; there is no pass any more, and no secret. */
void knock_drop(struct knock *knock);
/* As that name.  -errno: it has not begun.  No effect on one that is under way. */
int knock_begin(struct knock *knock, __be32 ip, const char *name,
		const uint8_t secret[ODRP_AUTH_SECRET], uint64_t now);
/* False: it is none of its connection. */
bool knock_event(struct knock *knock, const struct nic_event *ev);
/* Takes messages that have come. */
void knock_work(struct knock *knock, uint64_t now);
static inline bool knock_under_way(const struct knock *knock)
{
	return knock->state != KNOCK_NONE && knock->state != KNOCK_PASSED;
}

/* Of which no event tells; of anything else one does. */
static inline bool knock_awaits_mail(const struct knock *knock)
{
	return knock->state == KNOCK_HELLO || knock->state == KNOCK_RESPONSE;
}

/* The next question, of that queue pair. */
void knock_sign(struct knock *knock, const struct odrp_far_hello *hello, uint32_t qpn,
		struct odrp_auth_far *ret_req);
/* Is that the refusal of len bytes with which the last question was answered?  0,
 * -EKEYREJECTED. */
int knock_check(const struct knock *knock, const void *answer, size_t len,
		const uint8_t mac[ODRP_AUTH_MAC]);

#endif /* MNODE_KNOCK_H */
