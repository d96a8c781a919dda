// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl mnode: one question to the agent's control socket, and its answer
 * for people or as it is.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <odrp/wire.h>
#include "../conf.h"
#include "odrpctl.h"

#define ANSWER_TIMEOUT_S	30

struct mnode_args {
	const char *control;
	const char *command;
	const char *session;
	bool json;
};

/* ---- asking -------------------------------------------------------------------- */

/* A socket on which nothing takes longer than ANSWER_TIMEOUT_S. */
static int dial(const char *path, int *ret_fd)
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

/* MSG_NOSIGNAL: an agent that hangs up is told of, and does not kill us. */
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

/* One whole line; -ECONNRESET: it ended before that. */
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

static int ask(const char *path, struct json_object *req, char **ret_line)
{
	const char *text = json_object_to_json_string_ext(req,
						JSON_C_TO_STRING_PLAIN);
	int fd = -1, r;
	FILE *f;

	r = dial(path, &fd);
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

static int complain(const char *path, int r)
{
	if (r == -EPIPE || r == -ECONNRESET)
		fprintf(stderr, "odrpctl mnode: %s: the agent hung up without "
			"an answer\n", path);
	else if (r == -EAGAIN)
		fprintf(stderr, "odrpctl mnode: %s: the agent did not answer "
			"within %d s\n", path, ANSWER_TIMEOUT_S);
	else if (r == -ENOENT || r == -ECONNREFUSED)
		fprintf(stderr, "odrpctl mnode: %s: no agent is there: "
			"\"systemctl start odrp-mnoded\" starts it\n", path);
	else
		fprintf(stderr, "odrpctl mnode: %s: %s\n", path, strerror(-r));
	return EXIT_TROUBLE;
}

/* ---- fields -------------------------------------------------------------------- */

static struct json_object *get(struct json_object *obj, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(obj, name, &value);
	return value;
}

static uint64_t num(struct json_object *obj, const char *name)
{
	return json_object_get_uint64(get(obj, name));
}

static const char *str(struct json_object *obj, const char *name)
{
	const char *s = json_object_get_string(get(obj, name));

	return s ? s : "?";
}

static bool yes(struct json_object *obj, const char *name)
{
	return json_object_get_boolean(get(obj, name));
}

static void size_of(uint64_t bytes, char text[32])
{
	static const char units[] = "KMGT";
	double n = bytes / 1024.0;
	unsigned int u = 0;

	while (n >= 1024 && u < 3) {
		n /= 1024;
		u++;
	}
	snprintf(text, 32, "%.1f %cB", n, units[u]);
}

/* ---- for people ------------------------------------------------------------------ */

/* A live session without its connection may still come back. */
static const char *state_of(struct json_object *s)
{
	bool live = !strcmp(str(s, "state"), "live");

	return live && !yes(s, "attached") ? "away" : str(s, "state");
}

static void print_sessions(struct json_object *list)
{
	size_t i, nr = json_object_array_length(list);

	if (!nr) {
		puts("no compute nodes");
		return;
	}
	printf("%5s  %-15s %-6s %10s %10s %10s %5s %9s %12s %12s\n", "ID",
	       "PEER", "STATE", "SLOTS", "LEASE", "USED", "CONNS", "SILENT",
	       "LOADS", "STORES");
	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);
		struct json_object *c = get(s, "chains");

		printf("%5" PRIu64 "  %-15s %-6s %10" PRIu64 " %10" PRIu64
		       " %10" PRIu64 " %5" PRIu64 " %6" PRIu64 " ms %12" PRIu64
		       " %12" PRIu64 "\n", num(s, "id"), str(s, "peer"),
		       state_of(s), num(s, "slots"), num(s, "lease"),
		       num(s, "used"), num(s, "connections"),
		       num(s, "silent_ms"), num(c, "load"),
		       num(c, "mapped_store") + num(c, "unmapped_store"));
	}
}

/* What the NIC does not stop keeps what it reaches. */
static void print_unstopped(struct json_object *list)
{
	size_t i, nr = json_object_array_length(list);

	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		if (num(s, "unstopped"))
			printf("session %" PRIu64 ": the NIC neither stops nor "
			       "destroys %" PRIu64 " of its chains; it "
			       "keeps its %" PRIu64 " pages\n",
			       num(s, "id"), num(s, "unstopped"),
			       num(s, "lent"));
	}
}

static void print_pages(struct json_object *obj, const char *name,
			const char *label)
{
	char text[32];

	size_of(num(obj, name) * ODRP_WIRE_PAGE_SIZE, text);
	printf("%-16s %12" PRIu64 "  %s\n", label, num(obj, name), text);
}

static void print_mode(struct json_object *obj, const char *name)
{
	printf("%-16s %12s\n", name, str(obj, name));
}

static void print_modes(struct json_object *obj)
{
	char text[32];

	print_mode(obj, "order");
	print_mode(obj, "translate");
	size_of(num(obj, "table_bytes"), text);
	printf("%-16s %12s\n", "tables", text);
	printf("%-16s %12s\n", "draining", yes(obj, "draining") ? "yes" : "no");
}

static void print_status(struct json_object *obj)
{
	struct json_object *c = get(obj, "chains");

	print_pages(obj, "pages_total", "pages");
	print_pages(obj, "pages_free", "  free");
	print_pages(obj, "pages_mapped", "  mapped");
	print_pages(obj, "pages_armed", "  in stores");
	print_pages(obj, "pages_stock", "  set aside");
	if (num(obj, "pages_withheld"))
		print_pages(obj, "pages_withheld", "  withheld");
	print_modes(obj);
	printf("%-16s %12" PRIu64 "\n", "loads", num(c, "load"));
	printf("%-16s %12" PRIu64 "\n", "mapped stores",
	       num(c, "mapped_store"));
	printf("%-16s %12" PRIu64 "\n", "unmapped stores",
	       num(c, "unmapped_store"));
	printf("%-16s %12" PRIu64 "\n", "invalidates", num(c, "invalidate"));
	printf("%-16s %12s s\n", "CPU of the agent", str(obj, "agent_cpu_s"));
	printf("%-16s %12s s  (stands for hardware)\n", "CPU of the NIC",
	       str(obj, "nic_cpu_s"));
	printf("%-16s %12s s\n", "up", str(obj, "wall_s"));
	print_sessions(get(obj, "sessions"));
	print_unstopped(get(obj, "sessions"));
}

static void print_check(struct json_object *obj)
{
	struct json_object *list = get(obj, "problems");
	size_t i;

	printf("%" PRIu64 " pages: %" PRIu64 " in the pool, %" PRIu64 " in rings, %"
	       PRIu64 " mapped, %" PRIu64 " armed, %" PRIu64 " in chains, %"
	       PRIu64 " on their way back\n",
	       num(obj, "pages_total"), num(obj, "pool"), num(obj, "free"),
	       num(obj, "mapped"), num(obj, "armed"), num(obj, "held"),
	       num(obj, "returning"));
	if (num(obj, "withheld"))
		printf("%" PRIu64 " withheld: the NIC does not stop chains that "
		       "reach them\n", num(obj, "withheld"));
	for (i = 0; i < json_object_array_length(list); i++)
		printf("  %s\n", json_object_get_string(
				json_object_array_get_idx(list, i)));
	if (yes(obj, "ok"))
		puts("every page is in exactly one place");
	else
		printf("%" PRIu64 " lost, %" PRIu64 " doubled, %" PRIu64
		       " foreign, %" PRIu64 " empty slots, %" PRIu64
		       " stray, %" PRIu64 " overtaken\n", num(obj, "lost"),
		       num(obj, "doubled"), num(obj, "foreign"),
		       num(obj, "empty_slots"), num(obj, "stray"),
		       num(obj, "overtaken"));
	if (!yes(obj, "exact"))
		puts("(counted while chains were running)");
}

/* ---- the command ------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct mnode_args *a = state->input;

	switch (key) {
	case 'c':
		a->control = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!a->command)
			a->command = arg;
		else if (!a->session && !strcmp(a->command, "evict"))
			a->session = arg;
		else
			argp_error(state, "%s: not expected", arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->command)
			argp_error(state, "expected a command");
		if (!strcmp(a->command, "evict") && !a->session)
			argp_error(state, "evict: expected a session's ID");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "control", 'c', "PATH", 0, "control socket (" CONF_CONTROL ")" },
	{ "json", 'j', NULL, 0, "the answer as the agent gives it" },
	{ NULL }
};

static const struct argp argp = {
	.options = options, .parser = parse,
	.args_doc = "status\ncheck\nsessions\ndrain\nundrain\nevict ID",
	.doc = "Asks the memory node's agent."
	       "\vcheck proves that every page of the pool is in exactly one "
	       "place; its exit status is 1 if not. drain asks all compute "
	       "nodes to leave and lets none in; undrain takes that back. "
	       "evict takes one's pages back "
	       "at once.",
};

/* Digits and nothing else. */
static int parse_session(const char *text, uint64_t *ret_id)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	*ret_id = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

static int make_request(const struct mnode_args *a, struct json_object **ret)
{
	static const char *const known[] = {
		"status", "check", "sessions", "drain", "undrain", "evict",
	};
	struct json_object *req;
	uint64_t id = 0;
	size_t i;

	for (i = 0; strcmp(a->command, known[i]);) {
		if (++i == sizeof(known) / sizeof(known[0])) {
			fprintf(stderr, "odrpctl mnode: '%s': expected status, "
				"check, sessions, drain, undrain or evict\n",
				a->command);
			return -EINVAL;
		}
	}
	if (a->session && parse_session(a->session, &id)) {
		fprintf(stderr, "odrpctl mnode: evict '%s': expected the number "
			"of a session\n", a->session);
		return -EINVAL;
	}
	req = json_object_new_object();
	json_object_object_add(req, "command",
			       json_object_new_string(a->command));
	if (a->session)
		json_object_object_add(req, "session",
				       json_object_new_uint64(id));
	*ret = req;
	return 0;
}

static void print_answer(const struct mnode_args *a, struct json_object *obj,
			 const char *line)
{
	if (a->json)
		fputs(line, stdout);
	else if (!strcmp(a->command, "status"))
		print_status(obj);
	else if (!strcmp(a->command, "check"))
		print_check(obj);
	else if (!strcmp(a->command, "sessions"))
		print_sessions(get(obj, "sessions"));
}

static int show(const struct mnode_args *a, const char *line)
{
	struct json_object *obj = json_tokener_parse(line);
	int status = EXIT_OK;

	if (!obj) {
		fprintf(stderr, "odrpctl mnode: the answer is not JSON\n");
		return EXIT_TROUBLE;
	}
	if (get(obj, "error")) {
		fprintf(stderr, "odrpctl mnode: %s\n", str(obj, "error"));
		status = EXIT_NOT_OK;
	} else {
		print_answer(a, obj, line);
		if (!strcmp(a->command, "check") && !yes(obj, "ok"))
			status = EXIT_NOT_OK;
	}
	json_object_put(obj);
	return status;
}

int mnode_main(int argc, char **argv)
{
	struct mnode_args a = { .control = CONF_CONTROL };
	static char name[] = "odrpctl mnode";
	struct json_object *req;
	char *line = NULL;
	int r;

	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (make_request(&a, &req))
		return EXIT_USAGE;
	r = ask(a.control, req, &line);
	json_object_put(req);
	if (r)
		return complain(a.control, r);
	r = show(&a, line);
	free(line);
	return r;
}
