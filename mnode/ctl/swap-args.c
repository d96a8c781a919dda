// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parses the arguments of "odrpctl swap": words, options, and which options belong to
 * which command.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../userspace/auth/secret.h"
#include "odrpctl.h"
#include "swap-args.h"
#include "top.h"

#define COMMANDS	"add, remove, drop, up, down, status, top or metrics"

static const char *const commands[SWAP_NR_COMMANDS] = {
	[SWAP_ADD] = "add", [SWAP_REMOVE] = "remove", [SWAP_DROP] = "drop",
	[SWAP_UP] = "up", [SWAP_DOWN] = "down", [SWAP_STATUS] = "status",
	[SWAP_TOP] = "top", [SWAP_METRICS] = "metrics",
};

/* KEY_SETTING and above: a setting's option without a short form */
enum {
	KEY_NO_SWAPON = 0x100, KEY_INTERVAL, KEY_COUNT, KEY_FORCE, KEY_OUTPUT, KEY_SETTING,
};

static const struct argp_option options[] = {
	{ "queues", 'q', "N", 0, "add: queues to the memory node" },
	{ "depth", 'd', "N", 0, "add: outstanding requests per connection" },
	{ "src", KEY_SETTING, "ADDRESS", 0, "add: local address" },
	{ "timeout-ms", KEY_SETTING + 1, "MS", 0,
	  "add: time without an answer before the session is resumed on new "
	  "connections" },
	{ "dead-after-ms", KEY_SETTING + 2, "MS", 0,
	  "add: how long the device tries to resume the session before all I/O fails" },
	{ "io-fail-ms", KEY_SETTING + 14, "MS", 0,
	  "add: how long requests wait while the session is being resumed, before "
	  "they fail; 0: until --dead-after-ms is over" },
	{ "reconnect-delay-ms", KEY_SETTING + 3, "MS", 0,
	  "add: pause between two attempts to resume the session" },
	{ "backing", KEY_SETTING + 4, "PATH", 0,
	  "add: block device for a second copy of all pages" },
	{ "checksum", KEY_SETTING + 5, "NAME", 0,
	  "add: none or crc32c; crc32c: a page that comes back different is an "
	  "I/O error" },
	{ "protect", KEY_SETTING + 13, "NAME", 0,
	  "add: none or aead; aead: pages are encrypted, and one that comes back "
	  "changed, or is an older one, is an I/O error" },
	{ "translate", KEY_SETTING + 6, "NAME", 0,
	  "add: nic or chain; chain: also if the memory node's NIC translates" },
	{ "key", KEY_SETTING + 11, "NAME", 0,
	  "add: prove to be NAME, by the secret in " SECRET_DIR "/NAME" },
	{ "auth", KEY_SETTING + 12, "none", 0,
	  "add: none: insecure, neither end proves who it is" },
	{ "label", KEY_SETTING + 9, "TEXT", 0, "add: label of the swap space" },
	{ "uuid", KEY_SETTING + 10, "UUID", 0, "add: UUID of the swap space" },
	{ "priority", 'p', "N", 0, "add: priority of the swap space" },
	{ "min-free-kbytes", KEY_SETTING + 7, "KB", 0,
	  "add: least value of vm.min_free_kbytes" },
	{ "backend", KEY_SETTING + 8, "NAME", 0, "add: block or frontswap" },
	{ "no-swapon", KEY_NO_SWAPON, NULL, 0,
	  "add: only add the device, no mkswap and swapon" },
	{ "force", KEY_FORCE, NULL, 0,
	  "remove, down: although swapoff on a kernel before 5.19 gives programs "
	  "wrong bytes for pages that are lost" },
	{ "file", 'f', "FILE", 0,
	  "up: settings (" SWAP_CONF_DIR "/DEVICE.conf)" },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "top: time between two lines (1)" },
	{ "count", KEY_COUNT, "N", 0, "top: number of lines (0: no end)" },
	{ "output", KEY_OUTPUT, "FILE", 0,
	  "metrics: into this file, all at once, instead of standard output" },
	{ "json", 'j', NULL, 0, "status, top: as JSON" },
	{ NULL }
};

#define BIT(command)	(1u << (command))

/* The commands that an option belongs to. */
static unsigned int commands_of(int key)
{
	switch (key) {
	case KEY_FORCE:
		return BIT(SWAP_REMOVE) | BIT(SWAP_DOWN);
	case 'f':
		return BIT(SWAP_UP);
	case KEY_OUTPUT:
		return BIT(SWAP_METRICS);
	case KEY_INTERVAL:
	case KEY_COUNT:
		return BIT(SWAP_TOP);
	case 'j':
		return BIT(SWAP_STATUS) | BIT(SWAP_TOP);
	default:
		return BIT(SWAP_ADD);
	}
}

/* ---- options ------------------------------------------------------------------------ */

static void set_interval(struct swap_args *a, const char *text,
			 struct argp_state *state)
{
	if (top_parse_interval(text, &a->interval))
		argp_error(state, "interval=%s: expected seconds, %.1f to %.0f",
			   text, TOP_MIN_INTERVAL, TOP_MAX_INTERVAL);
}

static void set_count(struct swap_args *a, const char *text,
		      struct argp_state *state)
{
	if (top_parse_count(text, &a->count))
		argp_error(state, "count=%s: expected a number, 0 for no end",
			   text);
}

/* -1: the option is not in the table. */
static int find_option(int key)
{
	int i;

	for (i = 0; options[i].name; i++)
		if (options[i].key == key)
			return i;
	return -1;
}

/* Sets a setting by its option. */
static void set_option(struct swap_args *a, const char *name, const char *text,
		       struct argp_state *state)
{
	char why[SWAP_CONF_WHY_MAX];

	if (swap_conf_set(&a->conf, name, text, why))
		argp_error(state, "%s", why);
}

static error_t parse_option(struct swap_args *a, int key, char *arg,
			    struct argp_state *state)
{
	int i = find_option(key);

	if (i < 0)
		return ARGP_ERR_UNKNOWN;
	if (options[i].arg && a->given & 1ul << i)
		argp_error(state, "--%s %s: given twice", options[i].name, arg);
	a->given |= 1ul << i;
	switch (key) {
	case KEY_INTERVAL:
		set_interval(a, arg, state);
		break;
	case KEY_COUNT:
		set_count(a, arg, state);
		break;
	case 'f':
		a->file = arg;
		break;
	case KEY_OUTPUT:
		a->output = arg;
		break;
	case 'j':
		a->json = true;
		break;
	case KEY_FORCE:
		a->force = true;
		break;
	case KEY_NO_SWAPON:
		a->no_swapon = true;
		break;
	default:
		set_option(a, options[i].name, arg, state);
	}
	return 0;
}

/* ---- the whole line ----------------------------------------------------------------- */

static void set_command(struct swap_args *a, struct argp_state *state)
{
	unsigned int c = 0;

	while (c < SWAP_NR_COMMANDS && strcmp(commands[c], a->word[0]))
		c++;
	if (c == SWAP_NR_COMMANDS)
		argp_error(state, "'%s': expected " COMMANDS, a->word[0]);
	a->command = c;
}

static void refuse_option(const struct argp_option *option, const char *command,
			  struct argp_state *state)
{
	unsigned int c, of = commands_of(option->key);
	char names[64] = "";
	size_t len;

	for (c = 0; c < SWAP_NR_COMMANDS; c++) {
		len = strlen(names);
		if (of & BIT(c))
			snprintf(names + len, sizeof(names) - len, "%s%s",
				 len ? " and " : "", commands[c]);
	}
	argp_error(state, "--%s is an option of %s, and not of %s",
		   option->name, names, command);
}

/* Without mkswap and swapon these settings have no meaning. */
static void check_no_swapon(const struct swap_args *a, struct argp_state *state)
{
	static const enum swap_key keys[] = { SWAP_LABEL, SWAP_UUID, SWAP_PRIORITY };
	static const char *const names[] = { "label", "uuid", "priority" };
	unsigned int i;

	for (i = 0; a->no_swapon && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (*a->conf.value[keys[i]])
			argp_error(state, "--%s %s: not expected with --no-swapon: no "
				   "swap space is made", names[i],
				   a->conf.value[keys[i]]);
}

/* Refuses options that the command does not use. */
static void check_options(const struct swap_args *a, struct argp_state *state)
{
	int i;

	for (i = 0; options[i].name; i++) {
		if (a->given & 1ul << i &&
		    !(commands_of(options[i].key) & BIT(a->command)))
			refuse_option(&options[i], a->word[0], state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct swap_args *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (a->nr_words == 3)
			argp_error(state, "%s: not expected", arg);
		a->word[a->nr_words++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->nr_words)
			argp_error(state, "expected " COMMANDS);
		set_command(a, state);
		check_options(a, state);
		check_no_swapon(a, state);
		return 0;
	default:
		return parse_option(a, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options, .parser = parse,
	.args_doc = "add ADDRESS[:PORT] SIZE\nremove DEVICE\ndrop DEVICE\n"
		    "up DEVICE\ndown DEVICE\nstatus [DEVICE]\ntop\nmetrics",
	.doc = "Swap devices on memory nodes. up and down are add and remove by a "
	       "device's settings, and do what is left to do. drop removes one "
	       "that is in use, and loses what is in it. "
	       "metrics is for Prometheus.",
};

/* How each command is called, in the order of enum swap_command. */
static const char *const usages[SWAP_NR_COMMANDS] = {
	[SWAP_ADD] = "add ADDRESS[:PORT] SIZE", [SWAP_REMOVE] = "remove DEVICE",
	[SWAP_DROP] = "drop DEVICE", [SWAP_UP] = "up DEVICE", [SWAP_DOWN] = "down DEVICE",
	[SWAP_STATUS] = "status [DEVICE]", [SWAP_TOP] = "top", [SWAP_METRICS] = "metrics",
};

/* The help of a command has its own options alone; all are parsed, to be refused. */
static void parse_line(int argc, char **argv, struct swap_args *a)
{
	struct argp_option own[sizeof(options) / sizeof(options[0])];
	struct argp own_argp = argp;
	unsigned int c = 0, i;

	while (c < SWAP_NR_COMMANDS && (argc < 2 || strcmp(commands[c], argv[1])))
		c++;
	if (c < SWAP_NR_COMMANDS) {
		memcpy(own, options, sizeof(own));
		for (i = 0; own[i].name; i++)
			if (!(commands_of(own[i].key) & BIT(c)))
				own[i].flags |= OPTION_HIDDEN;
		own_argp.options = own;
		own_argp.args_doc = usages[c];
	}
	argp_parse(&own_argp, argc, argv, 0, NULL, a);
}

void swap_args_parse(int argc, char **argv, struct swap_args *ret_args)
{
	struct swap_args a = { .interval = 1 };
	static char name[] = "odrpctl swap";

	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	parse_line(argc, argv, &a);
	*ret_args = a;
}
