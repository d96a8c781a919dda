// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far space: create, list, delete, stat and check spaces. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/parse.h"
#include "../base/why.h"
#include "../core/core.h"
#include "../core/space.h"
#include "ask.h"
#include "progress.h"
#include "serve.h"

#define WHY	400u

struct options {
	const char *nic;
	const char *name;		/* NULL: not given */
	struct far_space_attr attr;
	const char *node[FAR_MAX_NODES];
	int json;
};

enum { OPT_NIC = 256, OPT_SIZE, OPT_NODE, OPT_CLIENTS, OPT_CHUNK, OPT_MODE, OPT_JSON };

#define OPTION_NIC \
	{ "nic", OPT_NIC, "NIC", 0, "back end: mem (default), mem:dir=PATH, soft:..., " \
	  "verbs:...", 0 }
#define OPTION_JSON { "json", OPT_JSON, NULL, 0, "print JSON", 0 }
#define OPTION_NODE \
	{ "node", OPT_NODE, "ADDR", 0, "a memory node; again for each of a set, " \
	  "the first is the arbiter (the back end's only one)", 0 }

static uint64_t size_arg(struct argp_state *state, const char *option, const char *text,
			 uint64_t min, uint64_t max, const char *expected)
{
	uint64_t size;

	if (far_parse_size(text, min, max, &size))
		argp_error(state, "%s '%s': %s expected", option, text, expected);
	return size;
}

static unsigned mode_arg(struct argp_state *state, const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (!*text || *end || !mode || mode > 0777)
		argp_error(state, "--mode '%s': permissions as of a file expected, 0600 "
			   "for example", text);
	return mode;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_NIC:
		o->nic = far_arg_nic(state, arg);
		break;
	case OPT_SIZE:
		o->attr.size = size_arg(state, "--size", arg, UINT64_C(4) << 20,
					UINT64_C(1) << 40, "4M to 1T");
		break;
	case OPT_NODE:
		if (o->attr.nr_nodes == FAR_MAX_NODES)
			argp_error(state, "--node '%s': at most %u nodes expected", arg,
				   FAR_MAX_NODES);
		for (unsigned i = 0; i < o->attr.nr_nodes; i++)
			if (!strcmp(o->node[i], arg))
				argp_error(state, "--node '%s': another node expected, this "
					   "one is there already", arg);
		o->node[o->attr.nr_nodes++] = far_arg_node(state, arg);
		break;
	case OPT_CLIENTS:
		o->attr.max_clients = far_arg_number(state, "--clients", arg, 1, 4094, 0);
		break;
	case OPT_CHUNK:
		o->attr.chunk_size = size_arg(state, "--chunk", arg, UINT64_C(64) << 10,
					      UINT64_C(32) << 20,
					      "64K, 128K, ... 32M");
		break;
	case OPT_MODE:
		o->attr.mode = mode_arg(state, arg);
		break;
	case OPT_JSON:
		o->json = 1;
		break;
	case ARGP_KEY_ARG:
		if (o->name)
			argp_error(state, "'%s': one name expected, and '%s' is it", arg,
				   o->name);
		if (!far_parse_is_name(arg, FAR_SPACE_NAME_MAX))
			argp_error(state, "'%s': a name of 1 to %u letters, digits, '-', "
				   "'_' and '.' expected, which does not begin with '.'",
				   arg, FAR_SPACE_NAME_MAX);
		o->name = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* As far as option and arguments go; a name is there if one is wanted. */
static struct options parse(const struct argp *argp, int argc, char **argv)
{
	struct options o = { .nic = "mem" };

	argp_parse(argp, argc, argv, 0, NULL, &o);
	if (argp->args_doc && !o.name) {
		fprintf(stderr, "%s: the name of a space expected\n", argv[0]);
		exit(FAR_EXIT_USAGE);
	}
	return o;
}

static int failed(const char *command, const char *why)
{
	fprintf(stderr, "%s: %s\n", command, why);
	return 1;
}

static int misused(const char *command, const char *why)
{
	failed(command, why);
	return FAR_EXIT_USAGE;
}

/* -EINVAL is what the library answers to values that cannot be. */
static int answered(const char *command, int err, const char *why)
{
	return err == -EINVAL ? misused(command, why) : failed(command, why);
}

#define OPTIONS_SHAPE \
	{ "size", OPT_SIZE, "SIZE", 0, "bytes on each node; K, M, G or T behind it", 0 }, \
	{ "clients", OPT_CLIENTS, "N", 0, "clients at a time (256)", 0 }, \
	{ "chunk", OPT_CHUNK, "SIZE", 0, "what a client claims at once (by size)", 0 }

/* make() has the arguments of far_space_create(). */
static int space_make(const char *command, struct options *o,
		      int (*make)(const char *spec, const char *name,
				  const struct far_space_attr *attr, char *why, size_t len))
{
	char why[WHY] = "";
	int err;

	if (!o->attr.size)
		return misused(command, "--size SIZE expected: 4M to 1T on each node");
	o->attr.nodes = o->attr.nr_nodes ? o->node : NULL;
	err = make(o->nic, o->name, &o->attr, why, sizeof(why));
	return err ? answered(command, err, why) : 0;
}

static int space_create(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTIONS_SHAPE, OPTION_NODE, OPTION_NIC,
		{ "mode", OPT_MODE, "MODE", 0, "permissions as of a file (0600)", 0 },
		{ NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, "NAME", "Creates a space.",
				   NULL, NULL, NULL };
	struct options o = parse(&argp, argc, argv);

	return space_make(argv[0], &o, far_space_create);
}

static int space_serve(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTIONS_SHAPE, OPTION_NODE, OPTION_NIC,
		{ NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, "NAME",
				   "Makes a space on memory nodes of this process, and "
				   "deletes it on SIGINT or SIGTERM. With --nic soft:... "
				   "or verbs:DEVICE,nodes=1 other processes and hosts "
				   "reach it.",
				   NULL, NULL, NULL };
	struct options o = parse(&argp, argc, argv);

	return space_make(argv[0], &o, serve_run);
}

#define OPTION_AT \
	{ "node", OPT_NODE, "ADDR", 0, "the memory node that is asked, over soft:...", 0 }

/* At most one. */
static const char *node_at(const char *command, const struct options *o)
{
	if (o->attr.nr_nodes > 1)
		exit(misused(command, "--node: one memory node expected"));
	return o->attr.nr_nodes ? o->node[0] : NULL;
}

/* Without --node there is nobody to ask where spaces are other processes'. */
static int node_missing(const struct far_nic *nic, const char *node, char *why,
			size_t len)
{
	if (node || (nic->ops->host && !nic->ops->look))
		return 0;
	return far_why(why, len, -EINVAL, "--node ADDR expected: over %s a memory node is "
		       "asked for its spaces", nic->ops->name);
}

static int delete_at(struct far_nic *nic, const char *node, const char *name, char *why,
		     size_t len)
{
	struct ask ask;
	int err;

	ask_start(&ask, node);
	err = far_space_delete_at(nic, node, name, why, len);
	ask_end(&ask, err, why, len);
	return err;
}

static int space_delete(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTION_AT, OPTION_NIC, { NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, "NAME",
				   "Deletes a space, on all of its nodes.", NULL, NULL,
				   NULL };
	struct options o = parse(&argp, argc, argv);
	const char *node = node_at(argv[0], &o);
	struct far_nic *nic;
	char why[WHY] = "";
	int err = far_nic_open(o.nic, why, sizeof(why), &nic);

	if (err)
		return answered(argv[0], err, why);
	err = node_missing(nic, node, why, sizeof(why));
	if (!err)
		err = node ? delete_at(nic, node, o.name, why, sizeof(why)) :
			     far_space_delete_on(nic, o.name, why, sizeof(why));
	nic->ops->close(nic);
	return err ? answered(argv[0], err, why) : 0;
}

/* What list and stat print, and of which space. */
struct listing {
	const char *name;		/* NULL: all */
	struct json_object *json;	/* NULL: text */
	unsigned nr;
};

static struct json_object *info_json(const struct far_space_info *info)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "name", json_object_new_string(info->name));
	json_object_object_add(json, "size", json_object_new_uint64(info->size));
	json_object_object_add(json, "used", json_object_new_uint64(info->used));
	json_object_object_add(json, "nodes", json_object_new_int(info->nr_nodes));
	json_object_object_add(json, "clients", json_object_new_int(info->clients));
	json_object_object_add(json, "structures",
			       json_object_new_int(info->structures));
	return json;
}

static int info_print(void *arg, const struct far_space_info *info)
{
	struct listing *listing = arg;

	/* stat reports a damaged space itself, when it reads the names. */
	if (listing->name && (strcmp(listing->name, info->name) || !info->nr_nodes))
		return 0;
	if (listing->json)
		json_object_array_add(listing->json, info_json(info));
	else if (!listing->nr)
		printf("%-24s %14s %14s %6s %8s %11s\n", "NAME", "SIZE", "USED", "NODES",
		       "CLIENTS", "STRUCTURES");
	if (!listing->json && !info->nr_nodes)
		printf("%-24s %14s\n", info->name, "damaged");
	else if (!listing->json)
		printf("%-24s %14" PRIu64 " %14" PRIu64 " %6u %8u %11u\n", info->name,
		       info->size, info->used, info->nr_nodes, info->clients,
		       info->structures);
	listing->nr++;
	return 0;
}

/* Lists spaces of the memory node that was named, or of all within reach. */
static int list_any(struct far_nic *nic, const char *node,
		    struct listing *listing, char *why, size_t len)
{
	struct ask ask;
	int err = node_missing(nic, node, why, len);

	if (err)
		return err;
	if (!node)
		return far_space_list_on(nic, info_print, listing, why, len);
	ask_start(&ask, node);
	err = far_space_list_at(nic, node, listing->name, info_print, listing, why, len);
	ask_end(&ask, err, why, len);
	return err;
}

static int space_list(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTION_AT, OPTION_NIC, OPTION_JSON, { NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, NULL,
				   "Lists spaces, with sizes in bytes over all nodes.",
				   NULL, NULL, NULL };
	struct options o = parse(&argp, argc, argv);
	const char *node = node_at(argv[0], &o);
	struct listing listing = { .name = NULL };
	struct far_nic *nic;
	char why[WHY] = "";
	int err;

	if (o.name)
		return misused(argv[0], "no name expected: \"far space stat\" takes one");
	err = far_nic_open(o.nic, why, sizeof(why), &nic);
	if (err)
		return answered(argv[0], err, why);
	listing.json = o.json ? json_object_new_array() : NULL;
	err = list_any(nic, node, &listing, why, sizeof(why));
	nic->ops->close(nic);
	if (err) {
		json_object_put(listing.json);
		return answered(argv[0], err, why);
	}
	if (o.json)
		puts(json_object_to_json_string_ext(listing.json, JSON_C_TO_STRING_PRETTY));
	json_object_put(listing.json);
	return 0;
}

static void entry_print(const struct far_space_entry *entry, struct json_object *json)
{
	struct json_object *one;

	if (!json) {
		printf("  %-31s %s, version %u\n", entry->name, entry->type,
		       entry->version);
		return;
	}
	one = json_object_new_object();
	json_object_object_add(one, "name", json_object_new_string(entry->name));
	json_object_object_add(one, "type", json_object_new_string(entry->type));
	json_object_object_add(one, "version", json_object_new_int(entry->version));
	json_object_array_add(json, one);
}

static int stat_entry(void *arg, const struct far_space_entry *entry)
{
	entry_print(entry, arg);
	return 0;
}

/* A memory node that is asked knows how many names there are, and not which. */
static int stat_print(struct far_nic *nic, const struct options *o, const char *node,
		      char *why, size_t len)
{
	struct listing listing = { .name = o->name };
	struct json_object *names = NULL, *json;
	int err;

	if (o->json) {
		listing.json = json_object_new_array();
		names = json_object_new_array();
	}
	err = list_any(nic, node, &listing, why, len);
	if (!err && !node)
		err = far_space_names_on(nic, o->name, stat_entry, names, why, len);
	if (!err && o->json) {
		json = json_object_array_get_idx(listing.json, 0);
		if (!node)
			json_object_object_add(json, "names", json_object_get(names));
		puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY));
	}
	json_object_put(names);
	json_object_put(listing.json);
	return err;
}

static int space_stat(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTION_AT, OPTION_NIC, OPTION_JSON, { NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, "NAME",
				   "Says what is in a space: bytes, bytes of chunks in "
				   "use, nodes, living clients, structures.", NULL, NULL,
				   NULL };
	struct options o = parse(&argp, argc, argv);
	const char *node = node_at(argv[0], &o);
	struct far_nic *nic;
	char why[WHY] = "";
	int err = far_nic_open(o.nic, why, sizeof(why), &nic);

	if (err)
		return answered(argv[0], err, why);
	err = stat_print(nic, &o, node, why, sizeof(why));
	nic->ops->close(nic);
	return err ? answered(argv[0], err, why) : 0;
}

static void check_report(void *arg, const char *problem)
{
	struct json_object *problems = arg;

	if (problems)
		json_object_array_add(problems, json_object_new_string(problem));
	else
		printf("%s\n", problem);
}

static void check_print(const struct far_space_check *sum, struct json_object *problems)
{
	const struct { const char *name; uint64_t value; } row[] = {
		{ "chunks", sum->chunks }, { "blocks", sum->blocks },
		{ "used", sum->used }, { "free", sum->free },
		{ "retired", sum->retired }, { "leaked", sum->leaked },
		{ "problems", sum->problems },
	};
	struct json_object *json = problems ? json_object_new_object() : NULL;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (json)
			json_object_object_add(json, row[i].name,
					       json_object_new_uint64(row[i].value));
		else
			printf("%-10s %" PRIu64 "\n", row[i].name, row[i].value);
	}
	if (json) {
		json_object_object_add(json, "report", json_object_get(problems));
		puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY));
		json_object_put(json);
	}
}

/* What can be done about problems; a repair is no part of it. */
static void check_advise(const char *name, const struct far_space_check *sum)
{
	if (!sum->problems)
		return;
	fprintf(stderr, "far space check: what clients change during a check may look like a "
		"problem: check again when none is at work\n");
	if (sum->leaked == sum->problems)
		fprintf(stderr, "far space check: blocks in no place hold no data: they cost "
			"memory, until the space is deleted\n");
	else
		fprintf(stderr, "far space check: there is no repair, since nothing says which "
			"of two words that contradict each other is right: copy what can "
			"be read to another space, and \"far space delete %s\"\n", name);
}

/* Opens a client of the space, and looks. */
static int check_open(struct far_nic *nic, struct options *o, char *why, size_t len,
		      struct far **ret_far)
{
	struct far_conf conf = { .space = o->name };
	char *node[FAR_MAX_NODES];
	unsigned nr = 0;
	struct ask ask;
	int err = node_missing(nic, o->attr.nr_nodes ? o->node[0] : NULL, why, len);

	if (err)
		return err;
	if (!o->attr.nr_nodes) {
		err = far_space_nodes_on(nic, o->name, node, &nr, why, len);
		if (err)
			return err;
		for (unsigned i = 0; i < nr; i++)
			o->node[i] = node[i];
	}
	conf.nodes = o->node;
	conf.nr_nodes = nr ? nr : o->attr.nr_nodes;
	ask_start(&ask, conf.nr_nodes == 1 ? conf.nodes[0] : NULL);
	err = far_open_nic(nic, &conf, why, len, ret_far);
	ask_end(&ask, err, why, len);
	while (nr--)
		free(node[nr]);
	return err;
}

static int check_far(struct far *far, const struct options *o, char *why, size_t len)
{
	struct json_object *problems = o->json ? json_object_new_array() : NULL;
	struct far_space_check sum = { .problems = 0 };
	struct progress progress;
	int err = progress_start(&progress, "checking", NULL);

	if (!err) {
		err = far_space_check(far, check_report, problems, &sum);
		progress_stop(&progress);
	}
	if (err)
		snprintf(why, len, "space \"%s\" cannot be checked: %s", o->name,
			 far_strerror(err));
	else
		check_print(&sum, problems);
	if (!err) {
		fflush(stdout);
		check_advise(o->name, &sum);
	}
	json_object_put(problems);
	return err ? err : sum.problems != 0;
}

static int space_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		OPTION_NODE, OPTION_NIC, OPTION_JSON, { NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse_opt, "NAME",
				   "Proves that each block is in one place, and walks all "
				   "structures. Exact when no client is at work. Exit "
				   "status 1 when there are problems.", NULL, NULL, NULL };
	struct options o = parse(&argp, argc, argv);
	struct far_nic *nic;
	struct far *far;
	char why[WHY] = "";
	int err = far_nic_open(o.nic, why, sizeof(why), &nic);

	if (err)
		return answered(argv[0], err, why);
	err = check_open(nic, &o, why, sizeof(why), &far);
	if (!err) {
		err = check_far(far, &o, why, sizeof(why));
		far_close(far);
	}
	nic->ops->close(nic);
	return err < 0 ? answered(argv[0], err, why) : err;
}

int far_space_command(int argc, char **argv)
{
	static const struct far_command commands[] = {
		{ "create", "a space on one memory node or a set of them", space_create },
		{ "serve", "a space for as long as the command runs", space_serve },
		{ "list", "all spaces", space_list },
		{ "delete", "a space", space_delete },
		{ "stat", "what is in one", space_stat },
		{ "check", "that each block is in one place", space_check },
		{ NULL, NULL, NULL },
	};

	return far_dispatch(commands, argc, argv);
}
