// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control socket.  Its clients may be slow or hostile, but each has only a
 * bounded buffer and there are only so many.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "ctl.h"

#define MAX_CLIENTS	16
#define MAX_REQUEST	4096

struct client {
	struct ctl *ctl;
	int fd;
	sd_event_source *source;
	size_t got;
	char in[MAX_REQUEST];
	char *out;		/* answer being sent */
	size_t out_len, out_sent;
	struct client *next;
};

struct ctl {
	sd_event *event;
	int fd;
	sd_event_source *source;
	struct sockaddr_un addr;
	bool made_directory;	/* and removes it, if nothing else is in it then */
	struct json_object *(*fn)(void *arg, struct json_object *req);
	void *arg;
	unsigned int nr_clients;
	struct client *clients;
};

static void client_free(struct client *c)
{
	struct client **pos = &c->ctl->clients;

	while (*pos != c)
		pos = &(*pos)->next;
	*pos = c->next;
	c->ctl->nr_clients--;
	sd_event_source_unref(c->source);
	close(c->fd);
	free(c->out);
	free(c);
}

/* ---- answers --------------------------------------------------------------------- */

static int client_set_answer(struct client *c, struct json_object *obj)
{
	const char *text = json_object_to_json_string_ext(obj,
						JSON_C_TO_STRING_PLAIN);
	int n = text ? asprintf(&c->out, "%s\n", text) : -1;

	json_object_put(obj);
	if (n < 0) {
		c->out = NULL;
		return -ENOMEM;
	}
	c->out_len = n;
	c->out_sent = 0;
	return 0;
}

static struct json_object *client_answer(struct client *c, const char *line)
{
	struct json_object *req = json_tokener_parse(line), *obj;

	if (req) {
		obj = c->ctl->fn(c->ctl->arg, req);
		json_object_put(req);
		return obj;
	}
	obj = json_object_new_object();
	json_object_object_add(obj, "error",
			       json_object_new_string("not JSON"));
	return obj;
}

/* Takes one line out of the buffer and answers it. */
static int client_handle_line(struct client *c)
{
	char *end = memchr(c->in, '\n', c->got);
	size_t len;
	int r;

	if (!end)
		return c->got == sizeof(c->in) ? -EMSGSIZE : 0;
	*end = 0;
	r = client_set_answer(c, client_answer(c, c->in));
	len = end + 1 - c->in;
	memmove(c->in, end + 1, c->got - len);
	c->got -= len;
	return r;
}

static int client_flush(struct client *c)
{
	ssize_t n;

	while (c->out_sent < c->out_len) {
		n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->out_sent += n;
	}
	free(c->out);
	c->out = NULL;
	return 0;
}

static int client_receive(struct client *c)
{
	ssize_t n;

	n = recv(c->fd, c->in + c->got, sizeof(c->in) - c->got, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	c->got += n;
	return 0;
}

static int on_client(sd_event_source *source, int fd, uint32_t revents,
		     void *arg)
{
	struct client *c = arg;
	int r = 0;

	if (!c->out && revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = client_receive(c);
	/* One answer at a time: further requests wait in the socket. */
	do {
		if (!r && !c->out)
			r = client_handle_line(c);
		if (r || !c->out)
			break;
		r = client_flush(c);
	} while (!r && !c->out);
	if (!r)
		r = sd_event_source_set_io_events(source, c->out ? EPOLLOUT :
						  EPOLLIN);
	if (r < 0)
		client_free(c);
	return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents,
		      void *arg)
{
	struct ctl *ctl = arg;
	struct client *c;
	int conn;

	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0)
		return 0;
	c = ctl->nr_clients < MAX_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(conn);
		return 0;
	}
	c->ctl = ctl;
	c->fd = conn;
	c->next = ctl->clients;
	ctl->clients = c;
	ctl->nr_clients++;
	if (sd_event_add_io(ctl->event, &c->source, conn, EPOLLIN, on_client,
			    c) < 0)
		client_free(c);
	return 0;
}

/* ---- set-up -------------------------------------------------------------------------- */

/* A name left by one that died is in nobody's way. */
static int socket_remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, r;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
	r = r ? -errno : -EADDRINUSE;
	close(fd);
	if (r != -ECONNREFUSED)
		return r;
	return unlink(addr->sun_path) < 0 ? -errno : 0;
}

/* The directory of the socket, without a slash at the end; "": not one to be made. */
static void directory_name(const struct sockaddr_un *addr,
			   char ret_path[sizeof(addr->sun_path)])
{
	char *end;

	memcpy(ret_path, addr->sun_path, sizeof(addr->sun_path));
	end = strrchr(ret_path, '/');
	if (!end)
		end = ret_path;
	*end = '\0';
}

/* If only that is missing: as the unit makes it. */
static int directory_make(struct ctl *ctl)
{
	char path[sizeof(ctl->addr.sun_path)];

	directory_name(&ctl->addr, path);
	if (!*path)
		return 0;
	if (!mkdir(path, 0750))
		ctl->made_directory = true;
	else if (errno != EEXIST)
		return -errno;
	return 0;
}

static void directory_remove(const struct ctl *ctl)
{
	char path[sizeof(ctl->addr.sun_path)];

	if (!ctl->made_directory)
		return;
	directory_name(&ctl->addr, path);
	rmdir(path);
}

static int ctl_listen(struct ctl *ctl)
{
	const struct sockaddr *addr = (const struct sockaddr *)&ctl->addr;
	mode_t mask;
	int r;

	r = directory_make(ctl);
	if (r)
		return r;
	r = socket_remove_stale(&ctl->addr);
	if (r)
		return r;
	mask = umask(0117);	/* owner and group */
	r = bind(ctl->fd, addr, sizeof(ctl->addr)) ? -errno : 0;
	umask(mask);
	if (!r && listen(ctl->fd, MAX_CLIENTS)) {
		r = -errno;
		unlink(ctl->addr.sun_path);
	}
	return r;
}

int ctl_new(sd_event *event, const char *path,
	    struct json_object *(*fn)(void *arg, struct json_object *req),
	    void *arg, struct ctl **ret_ctl)
{
	struct ctl *ctl;
	int r;

	if (strlen(path) >= sizeof(ctl->addr.sun_path))
		return -ENAMETOOLONG;
	ctl = calloc(1, sizeof(*ctl));
	if (!ctl)
		return -ENOMEM;
	ctl->event = event;
	ctl->fn = fn;
	ctl->arg = arg;
	ctl->addr.sun_family = AF_UNIX;
	memcpy(ctl->addr.sun_path, path, strlen(path) + 1);
	ctl->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 0);
	if (ctl->fd < 0) {
		r = -errno;
		goto free_ctl;
	}
	r = ctl_listen(ctl);
	if (r)
		goto remove_directory;
	r = sd_event_add_io(event, &ctl->source, ctl->fd, EPOLLIN, on_connect,
			    ctl);
	if (r < 0)
		goto unlink_path;
	*ret_ctl = ctl;
	return 0;

unlink_path:
	unlink(path);
remove_directory:
	directory_remove(ctl);
	close(ctl->fd);
free_ctl:
	free(ctl);
	return r;
}

void ctl_free(struct ctl *ctl)
{
	if (!ctl)
		return;
	while (ctl->clients)
		client_free(ctl->clients);
	sd_event_source_unref(ctl->source);
	unlink(ctl->addr.sun_path);
	directory_remove(ctl);
	close(ctl->fd);
	free(ctl);
}
