// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A server: tasks that wait for sockets by far_fd_wait() answer requests from a table in
 * far memory. While one client is silent, or its answer is on the way, the other tasks of
 * the thread serve theirs; when all wait, the thread sleeps.
 *
 *	server [NIC [SOCKET]]	"mem" (default) or "mem:dir=PATH": no other back end keeps
 *				a space that a program creates. SOCKET: path of a UNIX socket
 *				for clients; without it the program is its own client
 *
 * A request is a line, and so is its answer:
 *
 *	put KEY VALUE	"ok"
 *	get KEY		the value, or "none"
 *	stop		"ok"; the server ends when its clients have hung up
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <far/far.h>
#include <far/hash.h>
#include <far/space.h>

#define SPACE		"example-server"
#define NR_THREADS	2u
#define NR_TASKS	8u	/* of a thread: so many clients at a time */
#define LINE		256u

/* What all tasks have in common. */
struct server {
	struct far_hash *hash;
	int listener;
};

/* A connection, and what has come of the next requests. */
struct conn {
	struct far_task *task;
	int fd;
	size_t have;
	char come[LINE];
};

/* ---- lines ---- */

/* Waits for a whole line, and takes it out as a string. 0: there is none. */
static int line_take(struct conn *conn, char *line)
{
	size_t len;
	char *end;

	while (!(end = memchr(conn->come, '\n', conn->have))) {
		ssize_t got;

		if (conn->have == LINE || far_fd_wait(conn->task, conn->fd, POLLIN) < 0)
			return 0;
		got = recv(conn->fd, conn->come + conn->have, LINE - conn->have, MSG_DONTWAIT);
		if (got > 0)
			conn->have += got;
		else if (!got || errno != EAGAIN)
			return 0;
	}
	*end++ = '\0';
	len = end - conn->come;
	memcpy(line, conn->come, len);
	conn->have -= len;
	memmove(conn->come, end, conn->have);
	return 1;
}

static int text_send(struct conn *conn, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = send(conn->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return 0;
		if (sent < 0 && far_fd_wait(conn->task, conn->fd, POLLOUT) < 0)
			return 0;
		if (sent > 0) {
			text += sent;
			len -= sent;
		}
	}
	return 1;
}

/* ---- requests ---- */

/* True if a call is to be made once more: another client has come in place of a fenced one,
 * as after a restart of the memory node. */
static int is_reopened(struct far_task *task, int err)
{
	char why[200];

	if (err != -ESTALE)
		return 0;
	err = far_reopen(task, why, sizeof(why));
	if (err)
		fprintf(stderr, "server: %s\n", why);
	return !err;
}

static int value_put(struct server *server, struct far_task *task, const char *key,
		     const char *value)
{
	int err;

	do
		err = far_hash_put(task, server->hash, key, strlen(key), value, strlen(value));
	while (is_reopened(task, err));
	return err;
}

/* value has room for LINE bytes. */
static int value_get(struct server *server, struct far_task *task, const char *key,
		     char *value, size_t *ret_len)
{
	int err;

	do
		err = far_hash_get(task, server->hash, key, strlen(key), value, LINE, ret_len);
	while (is_reopened(task, err));
	return err;
}

/* Writes the answer to the request into text, and returns its length. */
static int request_run(struct server *server, struct far_task *task, char *line, char *text,
		       size_t size)
{
	char *rest = line, *verb = strsep(&rest, " ");
	char *key = strsep(&rest, " "), value[LINE];
	size_t len = 0;
	int err;

	if (!strcmp(verb, "stop")) {
		/* each task that waits for a client finds that there will be none */
		shutdown(server->listener, SHUT_RDWR);
		return snprintf(text, size, "ok\n");
	}
	if (!strcmp(verb, "put") && key && rest)
		err = value_put(server, task, key, rest);
	else if (!strcmp(verb, "get") && key)
		err = value_get(server, task, key, value, &len);
	else
		return snprintf(text, size, "expected put, get or stop\n");
	if (err == -ENOENT)
		return snprintf(text, size, "none\n");
	if (err)
		return snprintf(text, size, "%s\n", far_strerror(err));
	return *verb == 'g' ? snprintf(text, size, "%.*s\n", (int)len, value) :
			      snprintf(text, size, "ok\n");
}

static void client_serve(struct server *server, struct far_task *task, int fd)
{
	struct conn conn = { .task = task, .fd = fd };
	char line[LINE], text[2 * LINE];

	while (line_take(&conn, line)) {
		int len = request_run(server, task, line, text, sizeof(text));

		if (!text_send(&conn, text, len))
			break;
	}
}

/* Each task takes one client after the other, until nobody listens any more. */
static void run_task(struct far_task *task, void *arg)
{
	struct server *server = arg;

	while (far_fd_wait(task, server->listener, POLLIN) == POLLIN) {
		int fd = accept(server->listener, NULL, NULL);

		if (fd < 0 && errno == EAGAIN)
			continue;	/* another task was faster */
		if (fd < 0)
			break;
		client_serve(server, task, fd);
		close(fd);
	}
}

/* ---- the program as its own client ---- */

static int ask(int fd, const char *request)
{
	char answer[LINE];
	ssize_t len;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return -errno;
	len = recv(fd, answer, sizeof(answer), 0);
	if (len <= 0)
		return -EPIPE;
	printf("%.*s: %.*s", (int)strlen(request) - 1, request, (int)len, answer);
	return 0;
}

/* Three clients that are there at the same time. */
static int run_clients(const struct sockaddr_un *addr, socklen_t len)
{
	static const char *const request[] = {
		"put Italy Rome\n", "get Italy\n", "get Atlantis\n",
	};
	int fd[3], err = 0;
	unsigned i, nr;

	for (nr = 0; nr < 3 && !err; nr++) {
		fd[nr] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd[nr], (const struct sockaddr *)addr, len))
			err = -errno;
	}
	for (i = 0; i < 3 && !err; i++)
		err = ask(fd[i], request[i]);
	if (!err)
		err = ask(fd[0], "stop\n");
	while (nr--)
		close(fd[nr]);
	return err;
}

/* ---- start and end ---- */

/* Without a path, the system finds a name for the socket. */
static int listener_open(const char *path, struct sockaddr_un *addr, socklen_t *len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*addr = (struct sockaddr_un) { .sun_family = AF_UNIX };
	*len = path ? sizeof(*addr) : sizeof(addr->sun_family);
	if (path)
		snprintf(addr->sun_path, sizeof(addr->sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, *len) || listen(fd, 64))
		return -errno;
	*len = sizeof(*addr);
	return getsockname(fd, (struct sockaddr *)addr, len) ? -errno : fd;
}

static int run_threads(struct far *far, struct server *server, const char *path)
{
	struct far_thread *thread[NR_THREADS];
	struct sockaddr_un addr;
	socklen_t len;
	unsigned nr;
	int err = 0;

	server->listener = listener_open(path, &addr, &len);
	if (server->listener < 0)
		return server->listener;
	for (nr = 0; nr < NR_THREADS; nr++) {
		err = far_thread_start(far, NR_TASKS, run_task, server, &thread[nr]);
		if (err)
			break;
	}
	if (!err && !path)
		err = run_clients(&addr, len);
	if (err)
		shutdown(server->listener, SHUT_RDWR);
	while (nr--)
		far_thread_join(thread[nr]);
	close(server->listener);
	if (path)
		unlink(path);
	return err;
}

static int run_server(struct far *far, const char *path)
{
	struct server server;
	struct far_task *task;
	int err = far_enter(far, &task);

	if (err)
		return err;
	err = far_hash_create(task, "words", NULL, &server.hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "words", &server.hash);
	far_leave(task);
	if (err)
		return err;
	err = run_threads(far, &server, path);
	far_hash_close(server.hash);
	return err;
}

int main(int argc, char **argv)
{
	const struct far_conf conf = { .nic = argc > 1 ? argv[1] : "mem", .space = SPACE };
	const struct far_space_attr attr = { .size = 64 << 20 };
	struct far *far;
	char why[200];
	int err = far_space_create(conf.nic, SPACE, &attr, why, sizeof(why));

	/* -EEXIST: a run that was killed has left it */
	if (err && err != -EEXIST) {
		fprintf(stderr, "server: %s\n", why);
		return 1;
	}
	err = far_open(&conf, why, sizeof(why), &far);
	if (err) {
		fprintf(stderr, "server: %s\n", why);
	} else {
		err = run_server(far, argc > 2 ? argv[2] : NULL);
		if (err)
			fprintf(stderr, "server: %s\n", far_strerror(err));
		far_close(far);
	}
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "server: %s\n", why);
		err = -EIO;
	}
	return err ? 1 : 0;
}
