// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The page for Prometheus, by libmicrohttpd.  The library has no thread: the
 * event loop watches its epoll descriptor and calls it.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "http.h"

#define PAGE		"/metrics"
#define CONTENT_TYPE	"text/plain; version=0.0.4; charset=utf-8"
#define CLIENT_BYTES	8192u	/* for a request and the head of its answer */
#define NEVER		UINT64_MAX

/* conn: NULL: nobody. */
struct client {
	struct MHD_Connection *conn;
	uint64_t end_usec;
};

/**
 * struct http - the server
 * @page:	NULL: none yet; connections have references of their own
 * @page_usec:	when it was made
 * @closed:	a client has gone since the library was called
 */
struct http {
	sd_event *event;
	struct MHD_Daemon *mhd;
	sd_event_source *io, *timer;
	int (*make)(void *arg, char **ret_text, size_t *ret_len);
	void *arg;
	struct MHD_Response *page;
	uint64_t page_usec;
	bool closed;
	struct client clients[HTTP_CLIENTS];
};

static uint64_t loop_usec(struct http *http)
{
	uint64_t usec = 0;

	sd_event_now(http->event, CLOCK_MONOTONIC, &usec);
	return usec;
}

/* ---- answers ------------------------------------------------------------------------ */

/* Old enough to be made again? */
static int page_renew(struct http *http)
{
	uint64_t now = loop_usec(http);
	struct MHD_Response *page;
	char *text;
	size_t len;
	int r;

	if (http->page && now - http->page_usec < HTTP_PAGE_USEC)
		return 0;
	r = http->make(http->arg, &text, &len);
	if (r)
		return r;
	page = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!page) {
		free(text);
		return -ENOMEM;
	}
	MHD_add_response_header(page, MHD_HTTP_HEADER_CONTENT_TYPE, CONTENT_TYPE);
	MHD_add_response_header(page, MHD_HTTP_HEADER_CONNECTION, "close");
	if (http->page)
		MHD_destroy_response(http->page);
	http->page = page;
	http->page_usec = now;
	return 0;
}

static enum MHD_Result conn_refuse(struct MHD_Connection *conn, unsigned int status,
				   const char *text)
{
	struct MHD_Response *response;
	enum MHD_Result ok;

	response = MHD_create_response_from_buffer(strlen(text), (void *)text,
						   MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	ok = MHD_queue_response(conn, status, response);
	MHD_destroy_response(response);
	return ok;
}

/* The head of a request is there; whatever follows it nobody reads. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *conn,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **request)
{
	struct http *http = arg;

	if (strcmp(url, PAGE))
		return conn_refuse(conn, MHD_HTTP_NOT_FOUND, "expected " PAGE "\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET))
		return conn_refuse(conn, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "expected GET\n");
	if (page_renew(http))
		return conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "out of memory\n");
	return MHD_queue_response(conn, MHD_HTTP_OK, http->page);
}

/* ---- clients ------------------------------------------------------------------------ */

static int client_fd(const struct client *c)
{
	return MHD_get_connection_info(c->conn,
				MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void on_connection(void *arg, struct MHD_Connection *conn, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = arg;
	struct client *c = *context;
	unsigned int i;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		http->closed = true;
		if (c)
			c->conn = NULL;
		return;
	}
	for (i = 0; i < HTTP_CLIENTS; i++) {
		c = &http->clients[i];
		if (c->conn)
			continue;
		c->conn = conn;
		c->end_usec = loop_usec(http) + HTTP_CLIENT_USEC;
		*context = c;
		return;
	}
}

/* The library then sees that they are gone; returns when the next has to go. */
static uint64_t clients_expire(struct http *http, uint64_t now)
{
	uint64_t next = NEVER;
	unsigned int i;

	for (i = 0; i < HTTP_CLIENTS; i++) {
		struct client *c = &http->clients[i];

		if (!c->conn)
			continue;
		if (c->end_usec <= now) {
			shutdown(client_fd(c), SHUT_RDWR);
			c->end_usec = NEVER;
		}
		if (c->end_usec < next)
			next = c->end_usec;
	}
	return next;
}

/* ---- the loop ----------------------------------------------------------------------- */

static int http_run(struct http *http)
{
	uint64_t now = loop_usec(http), next;
	MHD_UNSIGNED_LONG_LONG ms;

	http->closed = false;
	next = clients_expire(http, now);
	MHD_run(http->mhd);
	/* Those that have just come end later than the others. */
	if (next == NEVER)
		next = clients_expire(http, now);
	if (MHD_get_timeout(http->mhd, &ms) == MHD_YES && now + ms * 1000 < next)
		next = now + ms * 1000;
	/* The library looks for newcomers again only when it is called again. */
	if (http->closed)
		next = now;
	if (next == NEVER)
		return sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
	sd_event_source_set_time_relative(http->timer, next - now);
	return sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

static int on_http(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	http_run(arg);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	http_run(arg);
	return 0;
}

/* Behind everything else that the loop has to do. */
static int sources_add(struct http *http)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	r = info ? sd_event_add_io(http->event, &http->io, info->epoll_fd, EPOLLIN,
				   on_http, http) : -EOPNOTSUPP;
	if (r >= 0)
		r = sd_event_source_set_priority(http->io,
						 SD_EVENT_PRIORITY_NORMAL + 1);
	if (r >= 0)
		r = sd_event_add_time(http->event, &http->timer, CLOCK_MONOTONIC,
				      0, 1, on_timer, http);
	if (r >= 0)
		r = sd_event_source_set_priority(http->timer,
						 SD_EVENT_PRIORITY_NORMAL + 1);
	if (r >= 0)
		r = sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
	return r < 0 ? r : 0;
}

static int mhd_start(struct http *http, const struct sockaddr_in *addr)
{
	errno = 0;
	http->mhd = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, http,
		MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)addr,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTP_CLIENTS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)(HTTP_CLIENT_USEC / 1000000),
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_END);
	if (http->mhd)
		return 0;
	return errno ? -errno : -EIO;
}

int http_new(sd_event *event, const struct sockaddr_in *addr,
	     int (*make)(void *arg, char **ret_text, size_t *ret_len),
	     void *arg, struct http **ret_http)
{
	struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	http->event = event;
	http->make = make;
	http->arg = arg;
	r = mhd_start(http, addr);
	if (!r)
		r = sources_add(http);
	if (r) {
		http_free(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	sd_event_source_disable_unref(http->io);
	sd_event_source_disable_unref(http->timer);
	if (http->mhd)
		MHD_stop_daemon(http->mhd);
	if (http->page)
		MHD_destroy_response(http->page);
	free(http);
}

uint16_t http_port(const struct http *http)
{
	return MHD_get_daemon_info(http->mhd, MHD_DAEMON_INFO_BIND_PORT)->port;
}
