/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes with peers that connect to this memory node.
 *
 * Each handshake takes a place, which has a queue pair. The queue pairs are created at the
 * start, in a protection domain that has no keys but those of their own messages. A peer
 * that has not proved its identity gets no other resource.
 *
 * When half of the places are taken, a peer must repeat a cookie; this proves that it
 * receives at its address. When only RESPONDER_SPARE places are left, a peer whose address has
 * few places takes a place of the address with the most. Addresses of sessions lose none,
 * unless they have more than a few.
 */
#ifndef FAR_HOST_RESPONDER_H
#define FAR_HOST_RESPONDER_H

#include "../peer/accept.h"
#include "idents.h"
#include "mail.h"

#define RESPONDER_PLACES	64
/* Places that stay free for peers that take another's place: a queue pair serves one
 * connection, and its successor is not created at once. */
#define RESPONDER_SPARE	8
/*
 * The longest handshake, and the longest wait for its hello while half of the places are
 * taken. With places to spare a hello may be retransmitted several times.
 */
#define RESPONDER_MS		5000
#define RESPONDER_HELLO_MS	1000
#define RESPONDER_NEW	UINT32_MAX

/**
 * struct responder_place - a place for one handshake
 * @accept:	the handshake; FAR_ACCEPT_NONE: the place is free, and responder_work() makes
 *		a queue pair if there is none
 * @mail:	its queue pair
 * @age_ms:	time since the first tick after the connection request; RESPONDER_NEW: none yet
 */
struct responder_place {
	struct far_accept accept;
	struct far_mail mail;
	uint32_t conn;
	uint32_t age_ms;
};

/**
 * struct responder - all handshakes
 * @session:	callback: is there a session of this wire id that the identity may resume?
 * @known:	callback: has a compute node at this address a session?
 * @refused:	callback: a request or a handshake was refused; name: what the peer has said to
 *		be, and has not proved; NULL: it has said nothing. The callback may be NULL
 * @arg:	first argument of the callbacks
 * @pdn:	the protection domain of the queue pairs
 * @cookie_key:	signs cookies; no other memory node has it
 * @now_ms:	the sum of all ticks
 * @done, @failed: handshakes whose peer has proved its identity, and others
 * @cookies, @full: requests that were rejected with a cookie, and for lack of a place
 * @evicted:	handshakes that were ended so that others get their places
 */
struct responder {
	struct nic *nic;
	struct idents *idents;
	bool (*session)(void *arg, const char *name, uint64_t id);
	bool (*known)(void *arg, __be32 ip);
	void (*refused)(void *arg, __be32 ip, const char *name, const char *why);
	void *arg;
	uint32_t pdn;
	struct auth_key cookie_key;
	uint64_t now_ms;
	unsigned int nr_taken;
	uint64_t done, failed, cookies, full, evicted;
	struct responder_place place[RESPONDER_PLACES];
};

/* The caller has set nic, idents, the callbacks and arg. Returns 0 or -errno. */
int responder_init(struct responder *responder);
void responder_fini(struct responder *responder);
/* Answers a connection request. False: the request is not for a handshake. */
bool responder_request(struct responder *responder, const struct nic_event *ev);
/* A connection has ended. False: it is not a handshake's, so the caller releases it. */
bool responder_gone(struct responder *responder, uint32_t conn);
/* Handles messages that have arrived, and creates at most one queue pair. True: handshakes
 * are under way. */
bool responder_work(struct responder *responder);
/* Ends handshakes that have taken too long. */
void responder_tick(struct responder *responder, uint32_t elapsed_ms);

#endif /* FAR_HOST_RESPONDER_H */
