// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sends a request to the agent and reads fields of the answer; see agent.h. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "agent.h"
#include "odrpctl.h"

#define ANSWER_TIMEOUT_S	30

/* ---- asking -------------------------------------------------------------------- */

/* Connects; no send and no receive takes longer than ANSWER_TIMEOUT_S. */
static int agent_dial(const char *path, int *ret_fd)
{
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout,
		       sizeof(timeout)) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* MSG_NOSIGNAL: if the agent hangs up, this returns -EPIPE instead of killing the process. */
static int send_text(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = send(fd, text, len, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
		text += n;
		len -= n;
	}
	return 0;
}

/* Reads one whole line.  -ECONNRESET: the connection ended before. */
static int receive_line(FILE *f, char **ret_line)
{
	char *line = NULL;
	size_t max = 0;
	ssize_t n;
	int r;

	errno = 0;
	n = getline(&line, &max, f);
	if (n > 0 && line[n - 1] == '\n') {
		*ret_line = line;
		return 0;
	}
	r = ferror(f) && errno ? -errno : -ECONNRESET;
	free(line);
	return r;
}

int agent_ask(const char *path, struct json_object *req, char **ret_line)
{
	const char *text = json_object_to_json_string_ext(req,
						JSON_C_TO_STRING_PLAIN);
	int fd = -1, r;
	FILE *f;

	r = agent_dial(path, &fd);
	if (r)
		return r;
	r = send_text(fd, text, strlen(text));
	if (!r)
		r = send_text(fd, "\n", 1);
	f = r ? NULL : fdopen(fd, "r");
	if (!f) {
		r = r ? r : -errno;
		close(fd);
		return r;
	}
	r = receive_line(f, ret_line);
	fclose(f);
	return r;
}

int agent_complain(const char *path, int r)
{
	if (r == -EPIPE || r == -ECONNRESET)
		fprintf(stderr, "odrpctl mnode: %s: the agent hung up without "
			"an answer\n", path);
	else if (r == -EAGAIN)
		fprintf(stderr, "odrpctl mnode: %s: the agent did not answer "
			"within %d s\n", path, ANSWER_TIMEOUT_S);
	else if (r == -ENOENT || r == -ECONNREFUSED)
		fprintf(stderr, "odrpctl mnode: %s: no agent is there: "
			"\"systemctl start odrp-mnoded\" starts it (one that still takes "
			"its memory does not answer, either)\n", path);
	else
		fprintf(stderr, "odrpctl mnode: %s: %s\n", path, strerror(-r));
	return EXIT_TROUBLE;
}

/* ---- fields -------------------------------------------------------------------- */

struct json_object *agent_get(struct json_object *obj, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(obj, name, &value);
	return value;
}

uint64_t agent_num(struct json_object *obj, const char *name)
{
	return json_object_get_uint64(agent_get(obj, name));
}

const char *agent_str(struct json_object *obj, const char *name)
{
	const char *s = json_object_get_string(agent_get(obj, name));

	return s ? s : "?";
}

bool agent_yes(struct json_object *obj, const char *name)
{
	return json_object_get_boolean(agent_get(obj, name));
}

const char *agent_session_state(struct json_object *s)
{
	bool live = !strcmp(agent_str(s, "state"), "live");

	return live && !agent_yes(s, "attached") ? "away" : agent_str(s, "state");
}
