/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Serves one page over HTTP, /metrics, in the agent's event loop. Clients may be slow or
 * hostile: serve.h limits what they can use up. The page is made at most once in
 * HTTP_PAGE_USEC, and all other work of the event loop has priority.
 */
#ifndef MNODE_HTTP_H
#define MNODE_HTTP_H

#include <netinet/in.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct http;

/* Most clients at a time, and most of one address. */
#define HTTP_CLIENTS		64
#define HTTP_CLIENTS_EACH	8
/* Time limits: from the connection to the end of the request; for taking the answer. */
#define HTTP_ASK_USEC		(1000 * 1000ull)
#define HTTP_ANSWER_USEC	(10 * 1000 * 1000ull)
/* A page that is not older answers further requests. */
#define HTTP_PAGE_USEC		(200 * 1000ull)

/*
 * make: returns 0 with the page in malloc()ed memory, which the server frees, or -errno.
 * addr: port 0 means any free port. Returns 0, -ENOMEM or -errno of listening.
 */
int http_new(sd_event *event, const struct sockaddr_in *addr,
	     int (*make)(void *arg, char **ret_text, size_t *ret_len),
	     void *arg, struct http **ret_http);
/* NULL is allowed. */
void http_free(struct http *http);
/* The TCP port on which the server listens. */
uint16_t http_port(const struct http *http);

#endif /* MNODE_HTTP_H */
