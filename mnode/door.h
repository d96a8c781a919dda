/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes: who knocks gets one of a fixed number of queue pairs, made at the start in
 * a domain that has no keys but those of their own messages. Nothing else is had for
 * somebody who has not proved who he is. When half of the places are taken only those
 * get one who repeat a cookie, and so are where they say they are. When all are taken,
 * an address that has few gets one of the address that has most; addresses of sessions
 * lose none.
 */
#ifndef MNODE_DOOR_H
#define MNODE_DOOR_H

#include "../userspace/host/mail.h"
#include "who.h"

#define DOOR_PLACES	64
/* Places kept free for handshakes that take another's place: a queue pair serves one
 * connection, and making the next one takes a turn. */
#define DOOR_SPARE	8
/* A handshake takes no longer, and its hello comes sooner. */
#define DOOR_MS		5000
#define DOOR_HELLO_MS	1000

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
 * @known:	the caller's: is a session's compute node at that address?
 * @cookie_key:	of this agent, for cookies
 * @now_ms:	by ticks
 * @done, @failed, @cookies, @full: handshakes that were, requests that were sent away
 * @evicted:	handshakes that had to make room
 */
struct door {
	struct nic *nic;
	struct who *who;
	bool (*session)(void *arg, const char *name, uint64_t id);
	bool (*known)(void *arg, __be32 ip);
	void *arg;
	uint32_t pdn;
	struct auth_key cookie_key;
	uint64_t now_ms;
	unsigned int nr_taken;
	uint64_t done, failed, cookies, full, evicted;
	struct door_place place[DOOR_PLACES];
};

/* The caller has set nic, who, session, known and arg. */
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
