// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Serves the page for Prometheus: as much of HTTP/1.1 as one GET needs, always with
 * "Connection: close".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "http.h"
#include "serve.h"

#define PAGE		"/metrics"
#define CONTENT_TYPE	"text/plain; version=0.0.4; charset=utf-8"
#define METHOD_MAX	16

/**
 * struct http - the server
 * @page:	the last answer with a page; NULL: none yet. Clients that are being answered
 *		have references of their own
 * @page_usec:	when the page was made
 */
struct http {
	sd_event *event;
	struct serve *serve;
	uint16_t port;
	int (*make)(void *arg, char **ret_text, size_t *ret_len);
	void *arg;
	struct text *page;
	uint64_t page_usec;
};

/* ---- answers ------------------------------------------------------------------------ */

/* head: the status and all header lines but Content-Length and Connection. */
static int answer_make(const char *head, const char *body, size_t len,
		       struct text **ret_text)
{
	char *bytes = NULL, *all;
	int n = asprintf(&bytes, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n\r\n", head, len);

	if (n < 0)
		return -ENOMEM;
	all = realloc(bytes, n + len);
	if (!all) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(all + n, body, len);
	return text_new(all, n + len, ret_text);
}

static int answer_refuse(const char *head, const char *body, struct text **ret_text)
{
	return answer_make(head, body, strlen(body), ret_text);
}

/* Makes a page if there is none that is younger than HTTP_PAGE_USEC. */
static int page_renew(struct http *http)
{
	struct text *page;
	uint64_t now = 0;
	char *text;
	size_t len;
	int r;

	sd_event_now(http->event, CLOCK_MONOTONIC, &now);
	if (http->page && now - http->page_usec < HTTP_PAGE_USEC)
		return 0;
	r = http->make(http->arg, &text, &len);
	if (r)
		return r;
	r = answer_make("200 OK\r\nContent-Type: " CONTENT_TYPE, text, len, &page);
	free(text);
	if (r)
		return r;
	text_put(http->page);
	http->page = page;
	http->page_usec = now;
	return 0;
}

static int page_answer(struct http *http, struct text **ret_text)
{
	if (page_renew(http))
		return answer_refuse("503 Service Unavailable\r\n"
				     "Content-Type: text/plain", "out of memory\n",
				     ret_text);
	*ret_text = text_get(http->page);
	return 0;
}

/* ---- requests ----------------------------------------------------------------------- */

/* The length of the request's head with its empty line; 0: the head is not complete. */
static size_t head_len(const char *bytes, size_t got)
{
	const char *end = memmem(bytes, got, "\r\n\r\n", 4);

	return end ? end + 4 - bytes : 0;
}

/* Parses METHOD SP PATH SP HTTP/1.x. A query after the path is ignored. */
static bool line_parse(const char *line, size_t len, char method[METHOD_MAX],
		       bool *ret_is_page)
{
	const char *space = memchr(line, ' ', len), *path, *end;
	size_t path_len;

	if (!space || space == line || space - line >= METHOD_MAX)
		return false;
	memcpy(method, line, space - line);
	method[space - line] = 0;
	path = space + 1;
	end = memchr(path, ' ', line + len - path);
	if (!end || line + len - end != 9 || memcmp(end, " HTTP/1.", 8))
		return false;
	path_len = strcspn(path, "? ");
	*ret_is_page = path_len == strlen(PAGE) && !memcmp(path, PAGE, path_len);
	return true;
}

/* See struct serve_rules. What follows the request's head is ignored. */
static int http_answer(void *arg, const char *question, size_t got, size_t *ret_used,
		       struct text **ret_text)
{
	size_t len = head_len(question, got);
	char method[METHOD_MAX];
	bool is_page;

	if (!len)
		return 0;
	*ret_used = len;
	if (!line_parse(question, (const char *)memchr(question, '\r', len) - question,
			method, &is_page))
		return answer_refuse("400 Bad Request\r\nContent-Type: text/plain",
				     "expected GET " PAGE "\n", ret_text);
	if (!is_page)
		return answer_refuse("404 Not Found\r\nContent-Type: text/plain",
				     "expected " PAGE "\n", ret_text);
	if (strcmp(method, "GET"))
		return answer_refuse("405 Method Not Allowed\r\nAllow: GET\r\n"
				     "Content-Type: text/plain",
				     strcmp(method, "HEAD") ? "expected GET\n" : "",
				     ret_text);
	return page_answer(arg, ret_text);
}

/* ---- life --------------------------------------------------------------------------- */

/* The priority is below that of all other work of the event loop. */
static const struct serve_rules rules = {
	.max_clients = HTTP_CLIENTS, .max_each = HTTP_CLIENTS_EACH, .max_question = 8192,
	.ask_usec = HTTP_ASK_USEC, .answer_usec = HTTP_ANSWER_USEC, .once = true,
	.priority = SD_EVENT_PRIORITY_NORMAL + 1, .answer = http_answer,
};

static int socket_bind(const struct sockaddr_in *addr, int *ret_fd, uint16_t *ret_port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	struct sockaddr_in bound;
	socklen_t len = sizeof(bound);
	int r;

	if (fd < 0)
		return -errno;
	/* Connections from before a restart must not make bind() fail. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    getsockname(fd, (struct sockaddr *)&bound, &len)) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_port = ntohs(bound.sin_port);
	*ret_fd = fd;
	return 0;
}

int http_new(sd_event *event, const struct sockaddr_in *addr,
	     int (*make)(void *arg, char **ret_text, size_t *ret_len),
	     void *arg, struct http **ret_http)
{
	struct http *http = calloc(1, sizeof(*http));
	int fd = -1, r;

	if (!http)
		return -ENOMEM;
	http->event = event;
	http->make = make;
	http->arg = arg;
	r = socket_bind(addr, &fd, &http->port);
	if (!r)
		r = serve_new(event, fd, &rules, http, &http->serve);
	if (r) {
		if (fd >= 0)
			close(fd);
		free(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	serve_free(http->serve);
	text_put(http->page);
	free(http);
}

uint16_t http_port(const struct http *http)
{
	return http->port;
}
