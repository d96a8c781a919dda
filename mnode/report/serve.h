/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests and answers over a listening socket, in the agent's event loop.  Clients may
 * be slow or hostile: their number is limited, in all and per peer, and each has a
 * bounded buffer and a bounded time for its request and for taking the answer.  No client
 * waits for a place.  If its peer has too many connections, a new connection is closed.
 * If all places are taken, it replaces the oldest connection that is not taking an
 * answer, or takes it for longer than a request may take, or is closed if there is none.
 */
#ifndef MNODE_SERVE_H
#define MNODE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct serve;

/* struct text - the bytes of an answer, with a count of references */
struct text {
	unsigned int refs;
	size_t len;
	char *bytes;
};

/**
 * struct serve_rules - what clients may do
 * @max_clients: connections at a time
 * @max_each:	connections of one IPv4 address, or of one user on this machine
 * @max_question: most bytes of a request
 * @ask_usec:	time for a request, from the connection or the last answer on
 * @answer_usec: time for taking an answer
 * @once:	one request for each connection
 * @priority:	of the event sources
 * @answer:	looks at the first got bytes that a client has sent.  0 and *ret_used is
 *		the length of a whole request, which *ret_text answers; 0 and *ret_used is
 *		0: the request is not complete; -EAGAIN: the answer is not known yet, and
 *		serve_again() asks for it again; -errno: the client is disconnected.
 */
struct serve_rules {
	unsigned int max_clients, max_each;
	size_t max_question;
	uint64_t ask_usec, answer_usec;
	bool once;
	int64_t priority;
	int (*answer)(void *arg, const char *question, size_t got, size_t *ret_used,
		      struct text **ret_text);
};

/* Takes over bytes, which come from malloc(); frees them on -ENOMEM. */
int text_new(char *bytes, size_t len, struct text **ret_text);
struct text *text_get(struct text *text);
/* text may be NULL. */
void text_put(struct text *text);

/* fd: bound, and not blocking.  On success the server owns it; on -errno the caller still
 * does. */
int serve_new(sd_event *event, int fd, const struct serve_rules *rules, void *arg,
	      struct serve **ret_serve);
/* Asks again for the answers that were not known yet. */
void serve_again(struct serve *serve);
/* Disconnects all clients and closes the socket.  serve may be NULL. */
void serve_free(struct serve *serve);

#endif /* MNODE_SERVE_H */
