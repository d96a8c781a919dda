/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions and answers over a socket that listens, in the agent's event loop.  Clients
 * may be slow or hostile: there are only so many at a time and of one peer, each has a
 * bounded buffer, and a bounded time for its question and for taking the answer.  Nobody
 * waits for a place: who finds none is hung up on, or takes the place of the client that
 * has asked nothing for longest.
 */
#ifndef MNODE_SERVE_H
#define MNODE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct serve;

/* Bytes of an answer, of which several clients may have a reference. */
struct text {
	unsigned int refs;
	size_t len;
	char *bytes;
};

/**
 * struct serve_rules - what clients may do
 * @max_clients: at a time
 * @max_each:	of one IPv4 address, or of one user on this machine
 * @max_question: its bytes
 * @ask_usec:	for a question, from the connection or the last answer on
 * @answer_usec: for taking an answer
 * @once:	one question for each connection
 * @priority:	of the event sources
 * @answer:	looks at the first got bytes of what a client has sent: *ret_used is the
 *		length of a whole question, answered by *ret_text; or 0, there is more to
 *		come.  -errno: it is hung up on.
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

/* Takes malloc()ed bytes over, also if it fails. */
int text_new(char *bytes, size_t len, struct text **ret_text);
struct text *text_get(struct text *text);
/* NULL is allowed. */
void text_put(struct text *text);

/* fd: bound, and not blocking.  It is the caller's again if this fails. */
int serve_new(sd_event *event, int fd, const struct serve_rules *rules, void *arg,
	      struct serve **ret_serve);
/* Closes all of them, and the socket that listens.  NULL is allowed. */
void serve_free(struct serve *serve);

#endif /* MNODE_SERVE_H */
