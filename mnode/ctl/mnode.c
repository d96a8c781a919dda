// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl mnode: sends one request to the agent's control socket, and prints the answer
 * for people or as JSON.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <odrp/wire.h>
#include "../conf.h"
#include "agent.h"
#include "mnode-top.h"
#include "odrpctl.h"
#include "top.h"

/**
 * struct mnode_command - a command
 * @key:	name of the argument in the request; NULL: there is no argument
 * @expected:	describes the argument, or both
 * @key2:	name of a second one, a number; NULL: there is none
 * @print:	prints the answer for people; NULL: prints nothing
 */
struct mnode_command {
	const char *name;
	const char *key, *expected, *key2;
	void (*print)(struct json_object *answer);
};

struct mnode_args {
	const char *control;
	const char *name;
	const struct mnode_command *command;	/* NULL: there is no such command */
	const char *arg, *arg2;
	bool json;
	double interval;		/* for top */
	unsigned long count;
	bool timed;			/* --interval or --count was given */
};

enum { KEY_INTERVAL = 0x100, KEY_COUNT };

/* ---- output for people ----------------------------------------------------------- */

static void size_text(uint64_t bytes, char text[32])
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
		struct json_object *c = agent_get(s, "chains");

		printf("%5" PRIu64 "  %-15s %-6s %10" PRIu64 " %10" PRIu64
		       " %10" PRIu64 " %5" PRIu64 " %6" PRIu64 " ms %12" PRIu64
		       " %12" PRIu64 "\n", agent_num(s, "id"), agent_str(s, "peer"),
		       agent_session_state(s), agent_num(s, "slots"), agent_num(s, "lease"),
		       agent_num(s, "used"), agent_num(s, "connections"),
		       agent_num(s, "silent_ms"), agent_num(c, "load"),
		       agent_num(c, "mapped_store") + agent_num(c, "unmapped_store"));
	}
}

/* A number and, after a slash, its limit, if there is one. */
static const char *of_limit(struct json_object *obj, const char *use, const char *limit,
			    char text[48])
{
	uint64_t most = agent_num(obj, limit);
	int len = snprintf(text, 48, "%" PRIu64, agent_num(obj, use));

	if (most)
		snprintf(text + len, 48 - len, "/%" PRIu64, most);
	return text;
}

/* Most bytes per second; "not held": the NIC cannot limit them. */
static const char *bandwidth_of(struct json_object *c, char text[32])
{
	uint64_t most = agent_num(c, "max_bandwidth");

	if (!most)
		return "-";
	size_text(most, text);
	return agent_num(c, "bandwidth_holds") ? text : "not held";
}

static void print_clients(struct json_object *list)
{
	size_t i, nr = json_object_array_length(list);
	char lease[48], sessions[48], conns[48], most[32];

	if (!nr) {
		puts("no clients");
		return;
	}
	printf("%-31s %6s %10s %21s %10s %10s %10s %12s %10s %8s\n", "NAME", "WEIGHT",
	       "GUARANTEED", "LEASE", "USED", "WANT", "SESSIONS", "CONNS", "BYTES/S",
	       "REFUSED");
	for (i = 0; i < nr; i++) {
		struct json_object *c = json_object_array_get_idx(list, i);

		printf("%-31s %6" PRIu64 " %10" PRIu64 " %21s %10" PRIu64 " %10" PRIu64
		       " %10s %12s %10s %8" PRIu64 "\n", agent_str(c, "name"),
		       agent_num(c, "weight"), agent_num(c, "guaranteed_pages"),
		       of_limit(c, "lease", "max_pages", lease), agent_num(c, "used"),
		       agent_num(c, "want"),
		       of_limit(c, "sessions", "max_sessions", sessions),
		       of_limit(c, "connections", "max_connections", conns),
		       bandwidth_of(c, most),
		       agent_num(c, "refused"));
	}
}

/* Lists sessions that keep pages because the NIC does not stop their chains. */
static void print_unstopped(struct json_object *list)
{
	size_t i, nr = json_object_array_length(list);

	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		if (agent_num(s, "unstopped"))
			printf("session %" PRIu64 ": the NIC neither stops nor "
			       "destroys %" PRIu64 " of its chains; it "
			       "keeps its %" PRIu64 " pages\n",
			       agent_num(s, "id"), agent_num(s, "unstopped"),
			       agent_num(s, "lent"));
	}
}

static void print_pages(struct json_object *obj, const char *name,
			const char *label)
{
	char text[32];

	size_text(agent_num(obj, name) * ODRP_WIRE_PAGE_SIZE, text);
	printf("%-16s %12" PRIu64 "  %s\n", label, agent_num(obj, name), text);
}

static void print_mode(struct json_object *obj, const char *name)
{
	printf("%-16s %12s\n", name, agent_str(obj, name));
}

static void print_modes(struct json_object *obj)
{
	char text[32];

	print_mode(obj, "order");
	print_mode(obj, "translate");
	print_mode(obj, "auth");
	size_text(agent_num(obj, "table_bytes"), text);
	printf("%-16s %12s\n", "tables", text);
	printf("%-16s %12s\n", "draining", agent_yes(obj, "draining") ? "yes" : "no");
}

static void print_spaces(struct json_object *list)
{
	size_t i, nr = list ? json_object_array_length(list) : 0;
	char size[32], used[32], nodes[48];

	if (nr)
		printf("%-36s %10s %10s %7s %8s %8s %10s %7s\n", "SPACE", "SIZE", "USED",
		       "NODES", "ATTACHED", "CLIENTS", "STRUCTURES", "FENCED");
	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		size_text(agent_num(s, "size"), size);
		size_text(agent_num(s, "used"), used);
		snprintf(nodes, sizeof(nodes), "%" PRIu64 "/%" PRIu64,
			 agent_num(s, "joined"), agent_num(s, "nodes"));
		printf("%-36s %10s %10s %7s %8" PRIu64 " %8" PRIu64 " %10" PRIu64
		       " %7" PRIu64 "\n", agent_str(s, "name"), size, used, nodes,
		       agent_num(s, "attached"), agent_num(s, "clients"),
		       agent_num(s, "structures"), agent_num(s, "fenced"));
	}
}

/* Time-averaged, and when most was used. */
static void print_use(struct json_object *use)
{
	uint64_t held = agent_num(use, "held_page_s"), peak = agent_num(use, "peak_held");

	if (!held || !peak)
		return;
	printf("%-16s %12.1f %%  at the peak %.1f %%: %" PRIu64 " of %" PRIu64 " pages\n",
	       "used / held", 100.0 * agent_num(use, "used_page_s") / held,
	       100.0 * agent_num(use, "peak_used") / peak, agent_num(use, "peak_used"), peak);
}

static void print_status(struct json_object *obj)
{
	struct json_object *c = agent_get(obj, "chains");

	print_pages(obj, "pages_total", "pages");
	print_pages(obj, "pages_free", "  free");
	print_pages(obj, "pages_mapped", "  mapped");
	print_pages(obj, "pages_armed", "  in stores");
	print_pages(obj, "pages_stock", "  set aside");
	if (agent_num(obj, "pages_spaces"))
		print_pages(obj, "pages_spaces", "  in spaces");
	if (agent_num(obj, "pages_withheld"))
		print_pages(obj, "pages_withheld", "  withheld");
	print_use(agent_get(obj, "use"));
	print_modes(obj);
	printf("%-16s %12" PRIu64 "\n", "loads", agent_num(c, "load"));
	printf("%-16s %12" PRIu64 "\n", "mapped stores",
	       agent_num(c, "mapped_store"));
	printf("%-16s %12" PRIu64 "\n", "unmapped stores",
	       agent_num(c, "unmapped_store"));
	printf("%-16s %12" PRIu64 "\n", "invalidates", agent_num(c, "invalidate"));
	printf("%-16s %12s s\n", "CPU of the agent", agent_str(obj, "agent_cpu_s"));
	printf("%-16s %12s s  (stands for hardware)\n", "CPU of the NIC",
	       agent_str(obj, "nic_cpu_s"));
	printf("%-16s %12s s\n", "up", agent_str(obj, "wall_s"));
	printf("%-16s %12s s\n", "longest turn", agent_str(obj, "longest_turn_s"));
	print_sessions(agent_get(obj, "sessions"));
	print_unstopped(agent_get(obj, "sessions"));
	print_spaces(agent_get(obj, "spaces"));
}

static void print_check(struct json_object *obj)
{
	struct json_object *list = agent_get(obj, "problems");
	size_t i;

	printf("%" PRIu64 " pages: %" PRIu64 " in the pool, %" PRIu64 " in rings, %"
	       PRIu64 " mapped, %" PRIu64 " armed, %" PRIu64 " in chains, %"
	       PRIu64 " on their way back\n",
	       agent_num(obj, "pages_total"), agent_num(obj, "pool"), agent_num(obj, "free"),
	       agent_num(obj, "mapped"), agent_num(obj, "armed"), agent_num(obj, "held"),
	       agent_num(obj, "returning"));
	if (agent_num(obj, "spaces"))
		printf("%" PRIu64 " in spaces\n", agent_num(obj, "spaces"));
	if (agent_num(obj, "withheld"))
		printf("%" PRIu64 " withheld: the NIC does not stop chains or destroy keys "
		       "that reach them\n", agent_num(obj, "withheld"));
	for (i = 0; i < json_object_array_length(list); i++)
		printf("  %s\n", json_object_get_string(
				json_object_array_get_idx(list, i)));
	if (agent_yes(obj, "ok"))
		puts("every page is in exactly one place");
	else
		printf("%" PRIu64 " lost, %" PRIu64 " doubled, %" PRIu64
		       " foreign, %" PRIu64 " empty slots, %" PRIu64
		       " stray, %" PRIu64 " overtaken\n", agent_num(obj, "lost"),
		       agent_num(obj, "doubled"), agent_num(obj, "foreign"),
		       agent_num(obj, "empty_slots"), agent_num(obj, "stray"),
		       agent_num(obj, "overtaken"));
	if (!agent_yes(obj, "exact"))
		puts("(counted while chains were running)");
}

static void print_only_sessions(struct json_object *obj)
{
	print_sessions(agent_get(obj, "sessions"));
}

static void print_only_clients(struct json_object *obj)
{
	print_clients(agent_get(obj, "clients"));
}

static void print_metrics(struct json_object *obj)
{
	fputs(agent_str(obj, "text"), stdout);
}

/* ---- the command ------------------------------------------------------------------- */

static const struct mnode_command commands[] = {
	{ "status", .print = print_status },
	{ "check", .print = print_check },
	{ "sessions", .print = print_only_sessions },
	{ "clients", .print = print_only_clients },
	{ "top" },
	{ "metrics", .print = print_metrics },
	{ "drain" },
	{ "undrain" },
	{ "evict", "session", "the number of a session" },
	{ "revoke", "name", "a compute node's name" },
	{ "delete-space", "space", "a space's name" },
	{ "lost", "space", "a space's name and a node's number", .key2 = "node" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static const struct mnode_command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* The names of all commands, for messages. */
static const char *command_names(char text[128])
{
	size_t i, len = 0;

	for (i = 0; i < NR_COMMANDS; i++)
		len += snprintf(text + len, 128 - len, "%s%s",
				!i ? "" : i + 1 < NR_COMMANDS ? ", " : " or ",
				commands[i].name);
	return text;
}

static void parse_word(struct argp_state *state, char *word)
{
	struct mnode_args *a = state->input;

	if (!a->name)
		a->name = word;
	else if (!a->arg && a->command && a->command->key)
		a->arg = word;
	else if (!a->arg2 && a->command && a->command->key2)
		a->arg2 = word;
	else
		argp_error(state, "%s: not expected", word);
	a->command = command_find(a->name);
}

/* Leaves unknown commands to make_request(). */
static void parse_end(struct argp_state *state)
{
	const struct mnode_args *a = state->input;
	char names[128];

	if (!a->name)
		argp_error(state, "expected %s", command_names(names));
	if (a->command && ((a->command->key && !a->arg) || (a->command->key2 && !a->arg2)))
		argp_error(state, "%s: expected %s", a->name, a->command->expected);
	if (a->timed && strcmp(a->name, "top"))
		argp_error(state, "--interval and --count are options of "
			   "top, and not of %s", a->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct mnode_args *a = state->input;

	switch (key) {
	case 'c':
		a->control = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case KEY_INTERVAL:
		a->timed = true;
		if (top_parse_interval(arg, &a->interval))
			argp_error(state, "interval=%s: expected seconds, %.1f to "
				   "%.0f", arg, TOP_MIN_INTERVAL, TOP_MAX_INTERVAL);
		return 0;
	case KEY_COUNT:
		a->timed = true;
		if (top_parse_count(arg, &a->count))
			argp_error(state, "count=%s: expected a number, 0 for no "
				   "end", arg);
		return 0;
	case ARGP_KEY_ARG:
		parse_word(state, arg);
		return 0;
	case ARGP_KEY_END:
		parse_end(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "control", 'c', "PATH", 0, "control socket (" CONF_CONTROL ")" },
	{ "json", 'j', NULL, 0, "the answer as the agent gives it; top: as JSON" },
	{ "interval", KEY_INTERVAL, "SECONDS", 0,
	  "top: time between two looks (1)" },
	{ "count", KEY_COUNT, "N", 0, "top: number of looks (0: no end)" },
	{ NULL }
};

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "status\ncheck\nsessions\nclients\ntop\nmetrics\ndrain\nundrain\n"
		    "evict ID\nrevoke NAME\ndelete-space NAME\nlost SPACE NODE",
	.doc = "Asks the memory node's agent on this machine."
	       "\vcheck counts the pages of the pool: exit status 1 if one of them is not "
	       "in exactly one place. clients shows what each compute node has, by its "
	       "name, and what it may have. top shows what the chains of each session do "
	       "per second, and its spaces. metrics prints the numbers as text for "
	       "Prometheus. drain asks all compute nodes to leave and lets none in; "
	       "undrain ends that. evict ends the session with the number ID and takes "
	       "its pages back; revoke does so to all sessions of the compute node NAME, "
	       "whose file of secrets was removed before. delete-space deletes a space "
	       "and everything in it; swap gets its pages. lost declares a memory node of "
	       "the set of SPACE lost, at its arbiter: NODE is its number, from 1 on. Then "
	       "clients can be fenced without it, and its part begins anew, empty, when it "
	       "comes back.",
};

static const struct argp_option top_options[] = {
	{ "control", 'c', "PATH", 0, "control socket (" CONF_CONTROL ")" },
	{ "json", 'j', NULL, 0, "a line of JSON for each look" },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "time between two looks (1)" },
	{ "count", KEY_COUNT, "N", 0, "number of looks (0: no end)" },
	{ NULL }
};

/* The help of top, whose options are those above. */
static const struct argp top_argp = {
	.options = top_options, .parser = parse_option,
	.doc = "Shows what each compute node and each space does."
	       "\vOf a compute node: requests per second that its chains execute (loads, "
	       "stores to mapped and to unmapped slots, invalidates; \"keys\": it loads and "
	       "stores without chains), pages in use and leased, in MB, and milliseconds "
	       "since its last heartbeat. Of a space: memory of chunks that are claimed, "
	       "clients that live and that were fenced, and for how long the epoch has not "
	       "advanced. The key q ends it.",
};

/* Accepts only digits. */
static int parse_session(const char *text, uint64_t *ret_id)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	*ret_id = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

/* The argument as the agent expects it; NULL: the argument is wrong. */
static struct json_object *make_arg(const struct mnode_args *a)
{
	uint64_t id;

	if (strcmp(a->command->key, "session"))
		return json_object_new_string(a->arg);
	return parse_session(a->arg, &id) ? NULL : json_object_new_uint64(id);
}

static int make_request(const struct mnode_args *a, struct json_object **ret)
{
	struct json_object *req, *arg = NULL;
	uint64_t number = 0;
	char names[128];

	if (!a->command) {
		fprintf(stderr, "odrpctl mnode: '%s': expected %s\n", a->name,
			command_names(names));
		return -EINVAL;
	}
	if (a->arg)
		arg = make_arg(a);
	if (a->arg && !arg) {
		fprintf(stderr, "odrpctl mnode: %s '%s': expected %s\n", a->name,
			a->arg, a->command->expected);
		return -EINVAL;
	}
	if (a->arg2 && parse_session(a->arg2, &number)) {
		fprintf(stderr, "odrpctl mnode: %s: '%s': expected %s\n", a->name, a->arg2,
			a->command->expected);
		return -EINVAL;
	}
	req = json_object_new_object();
	json_object_object_add(req, "command", json_object_new_string(a->name));
	if (arg)
		json_object_object_add(req, a->command->key, arg);
	if (a->arg2)
		json_object_object_add(req, a->command->key2, json_object_new_uint64(number));
	*ret = req;
	return 0;
}

static int answer_show(const struct mnode_args *a, const char *line)
{
	struct json_object *obj = json_tokener_parse(line);
	int status = EXIT_OK;

	if (!obj) {
		fprintf(stderr, "odrpctl mnode: the answer is not JSON\n");
		return EXIT_TROUBLE;
	}
	if (agent_get(obj, "error")) {
		fprintf(stderr, "odrpctl mnode: %s\n", agent_str(obj, "error"));
		status = EXIT_NOT_OK;
	} else {
		if (a->json)
			fputs(line, stdout);
		else if (a->command->print)
			a->command->print(obj);
		if (!strcmp(a->name, "check") && !agent_yes(obj, "ok"))
			status = EXIT_NOT_OK;
	}
	json_object_put(obj);
	return status;
}

int mnode_main(int argc, char **argv)
{
	struct mnode_args a = { .control = CONF_CONTROL, .interval = 1 };
	static char name[] = "odrpctl mnode", top_name[] = "odrpctl mnode top";
	bool is_top = argc > 1 && !strcmp(argv[1], "top");
	struct json_object *req;
	char *line = NULL;
	int r;

	argp_err_exit_status = EXIT_USAGE;
	if (is_top) {
		a.name = "top";
		argv[1] = top_name;
		argp_parse(&top_argp, argc - 1, argv + 1, 0, NULL, &a);
	} else {
		argv[0] = name;
		argp_parse(&argp, argc, argv, 0, NULL, &a);
	}
	if (!strcmp(a.name, "top"))
		return mnode_top(a.control, a.interval, a.count, a.json);
	if (make_request(&a, &req))
		return EXIT_USAGE;
	r = agent_ask(a.control, req, &line);
	json_object_put(req);
	if (r)
		return agent_complain(a.control, r);
	r = answer_show(&a, line);
	free(line);
	return r;
}
