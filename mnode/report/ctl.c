// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control socket.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "ctl.h"
#include "serve.h"

struct ctl {
	struct serve *serve;
	struct sockaddr_un addr;
	bool made_directory;	/* ctl_free() removes it if it is empty then */
	struct json_object *(*fn)(void *arg, struct json_object *req);
	void *arg;
};

/* ---- answers --------------------------------------------------------------------- */

static struct json_object *line_answer(struct ctl *ctl, const char *line)
{
	struct json_object *req = json_tokener_parse(line), *obj;

	if (req) {
		obj = ctl->fn(ctl->arg, req);
		json_object_put(req);
		return obj;
	}
	obj = json_object_new_object();
	json_object_object_add(obj, "error",
			       json_object_new_string("not JSON"));
	return obj;
}

static int text_of(struct json_object *obj, struct text **ret_text)
{
	const char *text = json_object_to_json_string_ext(obj,
						JSON_C_TO_STRING_PLAIN);
	char *line = NULL;
	int n = text ? asprintf(&line, "%s\n", text) : -1;

	return n < 0 ? -ENOMEM : text_new(line, n, ret_text);
}

/* Answers one line; see struct serve_rules. */
static int ctl_answer(void *arg, const char *question, size_t got, size_t *ret_used,
		      struct text **ret_text)
{
	const char *end = memchr(question, '\n', got);
	struct json_object *obj;
	char *line;
	int r;

	if (!end)
		return 0;
	line = strndup(question, end - question);
	if (!line)
		return -ENOMEM;
	obj = line_answer(arg, line);
	free(line);
	if (!obj)
		return -EAGAIN;
	r = text_of(obj, ret_text);
	json_object_put(obj);
	*ret_used = end + 1 - question;
	return r;
}

/* ---- set-up -------------------------------------------------------------------------- */

/* Removes a socket whose process has died. -EADDRINUSE: a process listens on it; -EEXIST:
 * it is not a socket. */
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

/* The directory of the socket, without a slash at the end; "": there is none to create. */
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

/* Creates the directory, not its parents, with the mode that the systemd unit gives it. */
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

static int ctl_bind(struct ctl *ctl, int fd)
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
	mask = umask(0117);	/* owner and group may connect */
	r = bind(fd, addr, sizeof(ctl->addr)) ? -errno : 0;
	umask(mask);
	return r;
}

/* max_each: one user cannot take all places. */
static const struct serve_rules rules = {
	.max_clients = 16, .max_each = 12, .max_question = 4096,
	.ask_usec = 10000000, .answer_usec = 10000000, .answer = ctl_answer,
};

int ctl_new(sd_event *event, const char *path,
	    struct json_object *(*fn)(void *arg, struct json_object *req),
	    void *arg, struct ctl **ret_ctl)
{
	struct ctl *ctl;
	int fd, r;

	if (strlen(path) >= sizeof(ctl->addr.sun_path))
		return -ENAMETOOLONG;
	ctl = calloc(1, sizeof(*ctl));
	if (!ctl)
		return -ENOMEM;
	ctl->fn = fn;
	ctl->arg = arg;
	ctl->addr.sun_family = AF_UNIX;
	memcpy(ctl->addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		r = -errno;
		goto free_ctl;
	}
	r = ctl_bind(ctl, fd);
	if (r)
		goto remove_directory;
	r = serve_new(event, fd, &rules, ctl, &ctl->serve);
	if (r)
		goto unlink_path;
	*ret_ctl = ctl;
	return 0;

unlink_path:
	unlink(path);
remove_directory:
	directory_remove(ctl);
	close(fd);
free_ctl:
	free(ctl);
	return r;
}

void ctl_again(struct ctl *ctl)
{
	serve_again(ctl->serve);
}

void ctl_free(struct ctl *ctl)
{
	if (!ctl)
		return;
	unlink(ctl->addr.sun_path);
	serve_free(ctl->serve);
	directory_remove(ctl);
	free(ctl);
}
