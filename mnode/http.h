/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One page over HTTP, /metrics, in the agent's event loop.  Clients may be slow or
 * hostile: serve.h bounds what they take.  The page is made only so often, and whatever
 * else the agent has to do comes first.
 */
#ifndef MNODE_HTTP_H
#define MNODE_HTTP_H

#include <netinet/in.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct http;

/* How many clients at a time, and of one address. */
#define HTTP_CLIENTS		64
#define HTTP_CLIENTS_EACH	8
/* From a connection's beginning to the end of its request, and for its answer. */
#define HTTP_ASK_USEC		(1000 * 1000ull)
#define HTTP_ANSWER_USEC	(10 * 1000 * 1000ull)
/* For so long one page is as good as another. */
#define HTTP_PAGE_USEC		(200 * 1000ull)

/*
 * make: a new page, to be freed; 0 or -errno.  Returns -errno of listening at the
 * address; port 0: any.
 */
int http_new(sd_event *event, const struct sockaddr_in *addr,
	     int (*make)(void *arg, char **ret_text, size_t *ret_len),
	     void *arg, struct http **ret_http);
/* NULL is allowed. */
void http_free(struct http *http);
/* Where it listens. */
uint16_t http_port(const struct http *http);

#endif /* MNODE_HTTP_H */
