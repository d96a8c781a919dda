// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Calls over a UNIX socket of packets: a connection and a thread of the server for each caller. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "call.h"

static struct sockaddr_un address(const char *where)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", where);
	return addr;
}

static void *answer_run(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char data[CALL_MAX];
	ssize_t len;

	while ((len = recv(fd, data, sizeof(data), 0)) > 0)
		if (send(fd, data, len, MSG_NOSIGNAL) != len)
			break;
	close(fd);
	return NULL;
}

static void serve(const char *where, unsigned nr, int ready)
{
	struct sockaddr_un addr = address(where);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), conn;
	pthread_t thread;

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, nr) ||
	    write(ready, "r", 1) != 1)
		return;
	while ((conn = accept(fd, NULL, NULL)) >= 0)
		if (pthread_create(&thread, NULL, answer_run, (void *)(intptr_t)conn))
			return;
}

static void *unix_open(const char *where, const char **ret_why)
{
	struct sockaddr_un addr = address(where);
	int *conn = malloc(sizeof(*conn));

	*ret_why = "cannot connect";
	if (!conn)
		return NULL;
	*conn = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (*conn < 0 || connect(*conn, (struct sockaddr *)&addr, sizeof(addr))) {
		free(conn);
		return NULL;
	}
	return conn;
}

static int unix_call(void *conn, void *data, size_t len)
{
	int fd = *(int *)conn;

	return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len &&
	       recv(fd, data, len, 0) == (ssize_t)len ? 0 : -1;
}

static void unix_close(void *conn)
{
	close(*(int *)conn);
	free(conn);
}

const struct call_way call_unix = { "unix", serve, unix_open, unix_call, unix_close };
