/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes with peers that connect to this agent.
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
#ifndef MNODE_RESPONDER_H
#define MNODE_RESPONDER_H

#include "../../userspace/host/mail.h"
#include "audit.h"
#include "idents.h"

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

enum responder_state {
	RESPONDER_FREE,		/* no handshake; responder_work() creates mail if there is none */
	RESPONDER_HELLO,	/* the request is accepted; the hello is awaited */
	RESPONDER_RESPONSE,	/* the challenge has been sent; the response is awaited */
	RESPONDER_DONE,		/* the result has been sent; the peer is to disconnect */
};

/**
 * struct responder_place - a place for one handshake
 * @mail:	its queue pair
 * @age_ms:	time since the first tick after the connection request; RESPONDER_NEW: none yet
 */
struct responder_place {
	enum responder_state state;
	struct far_mail mail;
	uint32_t conn;
	uint32_t age_ms;
	struct auth_ends ends;
	struct auth_answer answer;
};

/**
 * struct responder - all handshakes
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
struct responder {
	struct nic *nic;
	struct idents *idents;
	bool (*session)(void *arg, const char *name, uint64_t id);
	bool (*known)(void *arg, __be32 ip);
	void *arg;
	struct audit *audit;
	uint32_t pdn;
	struct auth_key cookie_key;
	uint64_t now_ms;
	unsigned int nr_taken;
	uint64_t done, failed, cookies, full, evicted;
	struct responder_place place[RESPONDER_PLACES];
};

/* The caller has set nic, idents, session, known, arg and audit. Returns 0 or -errno. */
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

#endif /* MNODE_RESPONDER_H */
