/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes: who knocks gets one of a fixed number of queue pairs, made at the start in
 * a domain that has no keys but those of their own messages. Nothing else is had for
 * somebody who has not proved who he is. When half of the places are taken only those
 * get one who repeat a cookie, and so are where they say they are.
 */
#ifndef MNODE_DOOR_H
#define MNODE_DOOR_H

#include "../userspace/host/mail.h"
#include "who.h"

#define DOOR_PLACES	64
/* A handshake takes no longer. */
#define DOOR_MS		5000

enum door_state {
	DOOR_FREE,		/* mail is ready, or is to be made */
	DOOR_HELLO,		/* connected; waits for the hello */
	DOOR_RESPONSE,		/* the challenge has been sent */
	DOOR_DONE,		/* waits for the end of the connection */
};

/**
 * struct door_place - a handshake
 * @age_ms:	since its request
 */
struct door_place {
	enum door_state state;
	struct far_mail mail;
	uint32_t conn;
	uint32_t age_ms;
	struct auth_ends ends;
	struct auth_answer answer;
};

/**
 * struct door - all of them
 * @session:	the caller's: has that identity such a session?
 * @cookie_key:	of this agent, for cookies
 * @now_ms:	by ticks
 * @done, @failed, @cookies, @full: handshakes that were, requests that were sent away
 */
struct door {
	struct nic *nic;
	struct who *who;
	bool (*session)(void *arg, const char *name, uint64_t id);
	void *arg;
	uint32_t pdn;
	struct auth_key cookie_key;
	uint64_t now_ms;
	unsigned int nr_taken;
	uint64_t done, failed, cookies, full;
	struct door_place place[DOOR_PLACES];
};

/* The caller has set nic, who, session and arg. */
int door_init(struct door *door);
void door_fini(struct door *door);
/* A request; false: it is none of a handshake's. */
bool door_request(struct door *door, const struct nic_event *ev);
/* A connection is over; false: it is none of these, and the caller's to release. */
bool door_gone(struct door *door, uint32_t conn);
/* Takes what has come, and makes one place ready.  True: handshakes are under way. */
bool door_work(struct door *door);
void door_tick(struct door *door, uint32_t elapsed_ms);

#endif /* MNODE_DOOR_H */
