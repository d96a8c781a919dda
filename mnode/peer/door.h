/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes with peers that connect to this agent.
 *
 * Each handshake takes a place, which has a queue pair. The queue pairs are created at the
 * start, in a protection domain that has no keys but those of their own messages. A peer
 * that has not proved its identity gets no other resource.
 *
 * When half of the places are taken, a peer must repeat a cookie; this proves that it
 * receives at its address. When only DOOR_SPARE places are left, a peer whose address has
 * few places takes a place of the address with the most. Addresses of sessions lose none,
 * unless they have more than a few.
 */
#ifndef MNODE_DOOR_H
#define MNODE_DOOR_H

#include "../../userspace/host/mail.h"
#include "audit.h"
#include "who.h"

#define DOOR_PLACES	64
/* Places that stay free for peers that take another's place: a queue pair serves one
 * connection, and its successor is not created at once. */
#define DOOR_SPARE	8
/*
 * The longest handshake, and the longest wait for its hello while half of the places are
 * taken. With places to spare a hello may be retransmitted several times.
 */
#define DOOR_MS		5000
#define DOOR_HELLO_MS	1000
#define DOOR_NEW	UINT32_MAX

enum door_state {
	DOOR_FREE,		/* no handshake; door_work() creates mail if there is none */
	DOOR_HELLO,		/* the request is accepted; the hello is awaited */
	DOOR_RESPONSE,		/* the challenge has been sent; the response is awaited */
	DOOR_DONE,		/* the result has been sent; the peer is to disconnect */
};

/**
 * struct door_place - a place for one handshake
 * @mail:	its queue pair
 * @age_ms:	time since the first tick after the connection request; DOOR_NEW: none yet
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
 * struct door - all handshakes
 * @session:	callback: is there a session of this wire id that the identity may resume?
 * @known:	callback: has a compute node at this address a session?
 * @audit:	gets a line for each refusal
 * @pdn:	the protection domain of the queue pairs
 * @cookie_key:	signs cookies; no other agent has it
 * @now_ms:	the sum of all ticks
 * @done, @failed: handshakes whose peer has proved its identity, and others
 * @cookies, @full: requests that were rejected with a cookie, and for lack of a place
 * @evicted:	handshakes that were ended so that others get their places
 */
struct door {
	struct nic *nic;
	struct who *who;
	bool (*session)(void *arg, const char *name, uint64_t id);
	bool (*known)(void *arg, __be32 ip);
	void *arg;
	struct audit *audit;
	uint32_t pdn;
	struct auth_key cookie_key;
	uint64_t now_ms;
	unsigned int nr_taken;
	uint64_t done, failed, cookies, full, evicted;
	struct door_place place[DOOR_PLACES];
};

/* The caller has set nic, who, session, known, arg and audit. Returns 0 or -errno. */
int door_init(struct door *door);
void door_fini(struct door *door);
/* Answers a connection request. False: the request is not for a handshake. */
bool door_request(struct door *door, const struct nic_event *ev);
/* A connection has ended. False: it is not a handshake's, so the caller releases it. */
bool door_gone(struct door *door, uint32_t conn);
/* Handles messages that have arrived, and creates at most one queue pair. True: handshakes
 * are under way. */
bool door_work(struct door *door);
/* Ends handshakes that have taken too long. */
void door_tick(struct door *door, uint32_t elapsed_ms);

#endif /* MNODE_DOOR_H */
