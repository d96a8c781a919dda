// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests and answers over a socket; see serve.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "serve.h"

#define NEVER		UINT64_MAX
/* connections that wait for accept(); beyond this a connect is retried after a second */
#define BACKLOG		1024
/* connections that are accepted per turn of the loop */
#define ACCEPT_STEP	64
/* how long no connection is accepted when the process can have no more descriptors */
#define PAUSE_USEC	1000000ull

enum client_state {
	CLIENT_ASKS,		/* the request is not complete yet */
	CLIENT_WAITS,		/* the answer is not known yet */
	CLIENT_HEARS,		/* the client has not taken the whole answer yet */
	CLIENT_LEAVES,		/* the client has the answer; further input is discarded */
};

/**
 * struct client - a connection
 * @peer:	IPv4 address or user ID
 * @end_usec:	when the time for the present state ends
 * @in, @got:	received bytes that have not been answered
 * @more:	there may be another request among them
 * @out, @sent:	the answer, and how much of it has been sent
 */
struct client {
	struct client *next;
	struct serve *serve;
	enum client_state state;
	int fd;
	sd_event_source *source;
	uint32_t peer;
	uint64_t end_usec;
	struct text *out;
	size_t sent, got;
	bool more;
	char in[];
};

/**
 * struct serve - the server
 * @clients:	newest first
 * @pause_usec:	when to accept connections again; 0: they are accepted
 */
struct serve {
	sd_event *event;
	struct serve_rules rules;
	void *arg;
	int fd;
	sd_event_source *listening, *timer;
	struct client *clients;
	unsigned int nr_clients;
	uint64_t pause_usec;
};

/* ---- answers ------------------------------------------------------------------------ */

int text_new(char *bytes, size_t len, struct text **ret_text)
{
	struct text *text = malloc(sizeof(*text));

	if (!text) {
		free(bytes);
		return -ENOMEM;
	}
	*text = (struct text){ .refs = 1, .len = len, .bytes = bytes };
	*ret_text = text;
	return 0;
}

struct text *text_get(struct text *text)
{
	text->refs++;
	return text;
}

void text_put(struct text *text)
{
	if (!text || --text->refs)
		return;
	free(text->bytes);
	free(text);
}

/* ---- clients ------------------------------------------------------------------------ */

static uint64_t loop_usec(const struct serve *serve)
{
	uint64_t usec = 0;

	sd_event_now(serve->event, CLOCK_MONOTONIC, &usec);
	return usec;
}

static void client_free(struct client *c)
{
	struct client **at = &c->serve->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->serve->nr_clients--;
	sd_event_source_disable_unref(c->source);
	close(c->fd);
	text_put(c->out);
	free(c);
}

static int client_enter(struct client *c, enum client_state state)
{
	const struct serve_rules *rules = &c->serve->rules;

	c->state = state;
	if (state == CLIENT_WAITS) {
		c->end_usec = NEVER;
		return sd_event_source_set_io_events(c->source, 0);
	}
	c->end_usec = loop_usec(c->serve) + (state == CLIENT_HEARS ? rules->answer_usec :
								     rules->ask_usec);
	return sd_event_source_set_io_events(c->source, state == CLIENT_HEARS || c->more ?
							EPOLLOUT : EPOLLIN);
}

static ssize_t client_receive(struct client *c, void *bytes, size_t max)
{
	ssize_t n = recv(c->fd, bytes, max, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n ? n : -ECONNRESET;
}

/* Discards input behind the only request: unread input would make close() reset the
 * connection, and the client could lose its answer. */
static int client_drain(struct client *c)
{
	char bytes[4096];
	ssize_t n = client_receive(c, bytes, sizeof(bytes));

	return n < 0 ? n : 0;
}

/* 1: the whole answer has been sent; 0: the socket is full. */
static int client_send(struct client *c)
{
	ssize_t n;

	while (c->sent < c->out->len) {
		n = send(c->fd, c->out->bytes + c->sent, c->out->len - c->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->sent += n;
	}
	text_put(c->out);
	c->out = NULL;
	return 1;
}

/* 1: there is an answer; 0: the request is not complete; -EAGAIN: the answer is not known
 * yet. */
static int client_answer(struct client *c)
{
	const struct serve *serve = c->serve;
	size_t used = 0;
	int r = serve->rules.answer(serve->arg, c->in, c->got, &used, &c->out);

	if (r)
		return r;
	if (!used)
		return c->got == serve->rules.max_question ? -EMSGSIZE : 0;
	c->got -= used;
	memmove(c->in, c->in + used, c->got);
	c->sent = 0;
	return 1;
}

/* Answers one request, so that the event loop comes to others; if there are more, it comes
 * back when the socket can take another answer. */
static int client_talk(struct client *c)
{
	int r;

	if (c->state == CLIENT_ASKS) {
		r = client_answer(c);
		if (r == -EAGAIN)
			return client_enter(c, CLIENT_WAITS);
		if (r < 0)
			return r;
		if (!r)
			return sd_event_source_set_io_events(c->source, EPOLLIN);
		c->state = CLIENT_HEARS;
	}
	r = client_send(c);
	if (r < 0)
		return r;
	if (!r)
		return client_enter(c, CLIENT_HEARS);
	if (c->serve->rules.once) {
		shutdown(c->fd, SHUT_WR);
		return client_enter(c, CLIENT_LEAVES);
	}
	c->more = c->got;
	return client_enter(c, CLIENT_ASKS);
}

static int client_work(struct client *c)
{
	ssize_t n;

	/* No input is awaited: the client has gone. */
	if (c->state == CLIENT_WAITS)
		return -ECONNRESET;
	if (c->state == CLIENT_LEAVES)
		return client_drain(c);
	if (c->state == CLIENT_HEARS)
		return client_talk(c);
	if (!c->more) {
		n = client_receive(c, c->in + c->got,
				   c->serve->rules.max_question - c->got);
		if (n <= 0)
			return n;
		c->got += n;
	}
	c->more = false;
	return client_talk(c);
}

/* ---- time --------------------------------------------------------------------------- */

/* Accepts connections again if it is time.  Returns when it will be. */
static uint64_t pause_end(struct serve *serve, uint64_t now)
{
	if (serve->pause_usec && serve->pause_usec <= now) {
		serve->pause_usec = 0;
		sd_event_source_set_enabled(serve->listening, SD_EVENT_ON);
	}
	return serve->pause_usec ? serve->pause_usec : NEVER;
}

/* Disconnects clients whose time is over, and sets the timer for the next one. */
static void clients_expire(struct serve *serve)
{
	uint64_t now = loop_usec(serve), next = pause_end(serve, now);
	struct client *c = serve->clients, *then;

	for (; c; c = then) {
		then = c->next;
		if (c->end_usec <= now)
			client_free(c);
		else if (c->end_usec < next)
			next = c->end_usec;
	}
	if (next == NEVER) {
		sd_event_source_set_enabled(serve->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(serve->timer, next - now);
	sd_event_source_set_enabled(serve->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	clients_expire(arg);
	return 0;
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct client *c = arg;
	struct serve *serve = c->serve;

	if (client_work(c) < 0)
		client_free(c);
	clients_expire(serve);
	return 0;
}

/* ---- new clients -------------------------------------------------------------------- */

static uint32_t fd_peer(int fd)
{
	struct sockaddr_in in = { .sin_family = AF_UNSPEC };
	socklen_t len = sizeof(in);
	struct ucred cred;

	if (!getpeername(fd, (struct sockaddr *)&in, &len) && in.sin_family == AF_INET)
		return in.sin_addr.s_addr;
	len = sizeof(cred);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? 0 : cred.uid;
}

/* Has the client had as much time for its answer as there is for a request? */
static bool client_is_slow(const struct client *c)
{
	const struct serve_rules *rules = &c->serve->rules;

	return loop_usec(c->serve) + rules->answer_usec >= c->end_usec + rules->ask_usec;
}

/* Disconnects the oldest connection that is not taking an answer, or has not taken it in
 * time: clients that never take theirs cannot have all places. */
static void clients_make_room(struct serve *serve)
{
	struct client *c, *oldest = NULL;

	for (c = serve->clients; c; c = c->next)
		if (c->state != CLIENT_HEARS || client_is_slow(c))
			oldest = c;
	if (oldest)
		client_free(oldest);
}

static bool peer_has_place(struct serve *serve, uint32_t peer)
{
	const struct client *c;
	unsigned int nr = 0;

	for (c = serve->clients; c; c = c->next)
		nr += c->peer == peer;
	if (nr >= serve->rules.max_each)
		return false;
	if (serve->nr_clients == serve->rules.max_clients)
		clients_make_room(serve);
	return serve->nr_clients < serve->rules.max_clients;
}

static void client_new(struct serve *serve, int fd)
{
	uint32_t peer = fd_peer(fd);
	struct client *c = NULL;
	int r;

	if (peer_has_place(serve, peer))
		c = calloc(1, sizeof(*c) + serve->rules.max_question);
	if (!c) {
		close(fd);
		return;
	}
	c->serve = serve;
	c->fd = fd;
	c->peer = peer;
	c->next = serve->clients;
	serve->clients = c;
	serve->nr_clients++;
	r = sd_event_add_io(serve->event, &c->source, fd, EPOLLIN, on_client, c);
	if (r >= 0)
		r = sd_event_source_set_priority(c->source, serve->rules.priority);
	if (r >= 0)
		r = client_enter(c, CLIENT_ASKS);
	if (r < 0)
		client_free(c);
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct serve *serve = arg;
	unsigned int i;
	int conn;

	for (i = 0; i < ACCEPT_STEP; i++) {
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (conn >= 0) {
			client_new(serve, conn);
			continue;
		}
		if (errno == ECONNABORTED)
			continue;
		/* The connection stays, and would wake the event loop again at once. */
		if (errno != EAGAIN && errno != EINTR) {
			serve->pause_usec = loop_usec(serve) + PAUSE_USEC;
			sd_event_source_set_enabled(source, SD_EVENT_OFF);
		}
		break;
	}
	clients_expire(serve);
	return 0;
}

/* ---- start and end ------------------------------------------------------------------ */

static int sources_add(struct serve *serve)
{
	int64_t priority = serve->rules.priority;
	int r;

	r = sd_event_add_io(serve->event, &serve->listening, serve->fd, EPOLLIN,
			    on_connect, serve);
	if (r >= 0)
		r = sd_event_source_set_priority(serve->listening, priority);
	if (r >= 0)
		r = sd_event_add_time(serve->event, &serve->timer, CLOCK_MONOTONIC, 0, 1,
				      on_timer, serve);
	if (r >= 0)
		r = sd_event_source_set_priority(serve->timer, priority);
	if (r >= 0)
		r = sd_event_source_set_enabled(serve->timer, SD_EVENT_OFF);
	return r < 0 ? r : 0;
}

static void sources_drop(struct serve *serve)
{
	sd_event_source_disable_unref(serve->listening);
	sd_event_source_disable_unref(serve->timer);
}

int serve_new(sd_event *event, int fd, const struct serve_rules *rules, void *arg,
	      struct serve **ret_serve)
{
	struct serve *serve;
	int r;

	if (listen(fd, BACKLOG))
		return -errno;
	serve = calloc(1, sizeof(*serve));
	if (!serve)
		return -ENOMEM;
	*serve = (struct serve){ .event = event, .rules = *rules, .arg = arg, .fd = fd };
	r = sources_add(serve);
	if (r) {
		sources_drop(serve);
		free(serve);
		return r;
	}
	*ret_serve = serve;
	return 0;
}

void serve_again(struct serve *serve)
{
	struct client *c = serve->clients, *then;

	for (; c; c = then) {
		then = c->next;
		if (c->state != CLIENT_WAITS)
			continue;
		c->state = CLIENT_ASKS;
		if (client_talk(c) < 0)
			client_free(c);
	}
	clients_expire(serve);
}

void serve_free(struct serve *serve)
{
	if (!serve)
		return;
	while (serve->clients)
		client_free(serve->clients);
	sources_drop(serve);
	close(serve->fd);
	free(serve);
}
