// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* wrc: chains for people.  The command line; the work is in cmd_*.c. */
#include <argp.h>
#include <err.h>
#include <stdlib.h>
#include "paper/paper.h"
#include "wrc.h"

struct command {
	const char *name;
	int (*run)(const struct wrc_cmd *cmd);
	bool takes_prog;	/* its argument is a program, else files */
	uint32_t depth;		/* if nobody says it; 0: 4 */
};

static const struct command commands[] = {
	{ "list", wrc_cmd_list, false, 0 },
	{ "show", wrc_cmd_show, true, 0 },
	{ "image", wrc_cmd_image, true, 0 },
	{ "dis", wrc_cmd_dis, false, 0 },
	{ "check", wrc_cmd_check, false, 0 },
	{ "run", wrc_cmd_run, true, 0 },
	{ "cost", wrc_cmd_cost, false, 64 },
	{ "bench", wrc_cmd_bench, false, 64 },
};

const char *argp_program_version = "wrc (odrp) 0.1.0";

enum { OPT_VARIANT = 0x200, OPT_FIT, OPT_SWEEP, OPT_CNODES, OPT_QUEUES,
       OPT_PARAM };

static const char doc[] =
	"Chains of RDMA work requests that trigger, patch and re-arm themselves."
	"\v"
	"Commands:\n"
	"  list               the programs\n"
	"  show PROG          instructions, relocations and recycle words\n"
	"  image PROG         an encoded, linked queue, as JSON\n"
	"  dis FILE...        disassemble images, or WQEs (hex or binary)\n"
	"  check FILE...      verify images\n"
	"  run PROG           execute on the software NIC, and check the result\n"
	"  cost [PROG...]     what programs cost, in a model of a NIC\n"
	"  bench              how fast the software NIC executes them\n"
	"\n"
	"Exit status: 0, success; 1, an image was refused or a request failed; 2, "
	"the command could not be carried out.";

enum { OPT_STRICT = 0x100, OPT_RELAXED, OPT_JSON, OPT_PROG, OPT_COUNT,
       OPT_ANSWER_EVERY, OPT_RECYCLE, OPT_ORDER };

static const struct argp_option options[] = {
	{ "variant", OPT_VARIANT, "V", 0,
	  "which programs: ours (default); exchange, whose stores exchange pages and "
	  "copy none; keyed, where the NIC translates (needs --recycle=node); a rung "
	  "of the paper's ladder, which is --relaxed: naive, store-decision, "
	  "calc-tt-addr, recycle-helper or paper. Only for cost: armed, what the "
	  "agent arms on a card that nobody has examined, and armed-known, what it "
	  "arms on a NIC that was examined", 0 },
	{ "recycle", OPT_RECYCLE, "WHO", 0,
	  "where the chain takes the counts of its next lap from: node, a table in "
	  "the memory node; or client (default), the client's requests. INSECURE: a "
	  "client that sends other counts can reach the pages of other clients", 0 },
	{ "order", OPT_ORDER, "HOW", 0,
	  "what makes a work request wait for the READs before it: a WAIT (wait, "
	  "default), or a fence. No vendor documents that a fence also orders work "
	  "requests of different queues", 0 },
	{ "fit", OPT_FIT, NULL, 0,
	  "cost: the model's parameters, and the paper's numbers against it",
	  0 },
	{ "sweep", OPT_SWEEP, NULL, 0,
	  "cost: how the results depend on each parameter", 0 },
	{ "param", OPT_PARAM, "NAME=VALUE", 0,
	  "cost: another value for a parameter of the model", 0 },
	{ "cnodes", OPT_CNODES, "N,...", 0,
	  "cost: throughput and latency with so many clients", 0 },
	{ "queues", OPT_QUEUES, "N,...", 0,
	  "cost: with so many queues for each client (1)", 0 },
	{ "prog", OPT_PROG, "PROG", 0,
	  "dis, check: use this program instead of files", 0 },
	{ "depth", 'K', "N", 0, "instances of a queue (4; cost, bench: 64)", 0 },
	{ "strict", OPT_STRICT, NULL, 0,
	  "for NICs that check the index in a WQE: the chain re-arms it too (default)",
	  0 },
	{ "relaxed", OPT_RELAXED, NULL, 0,
	  "for NICs that do not check the index in a WQE", 0 },
	{ "count", OPT_COUNT, "N", 0,
	  "run: requests (three laps); bench: of each in a round (200)", 0 },
	{ "answer-every", OPT_ANSWER_EVERY, "N", 0,
	  "run: ask for every N-th answer (1)", 0 },
	{ "output", 'o', "FILE", 0, "image: the file to write (standard output)", 0 },
	{ "json", OPT_JSON, NULL, 0, "print JSON", 0 },
	{ 0 },
};

/* Options of which only some commands make anything; others refuse them. */
static const struct {
	int key;
	const char *name, *first, *second;	/* two commands at most */
} owned[] = {
	{ OPT_FIT, "fit", "cost" },
	{ OPT_SWEEP, "sweep", "cost" },
	{ OPT_PARAM, "param", "cost" },
	{ OPT_CNODES, "cnodes", "cost" },
	{ OPT_QUEUES, "queues", "cost" },
	{ OPT_PROG, "prog", "dis", "check" },
	{ OPT_COUNT, "count", "run", "bench" },
	{ OPT_ANSWER_EVERY, "answer-every", "run" },
	{ 'o', "output", "image" },
};

#define NR_OWNED (sizeof(owned) / sizeof(owned[0]))

struct line {
	struct wrc_cmd cmd;
	const struct command *command;
	bool owned[NR_OWNED];	/* those that are there */
	bool index_given;	/* --strict or --relaxed was given */
	const char *how_given;	/* the value of --recycle or --order */
	/* The first option that chooses programs or instances, and its value. */
	const char *chooses, *choice;
};

static uint32_t arg_number(struct argp_state *state, const char *what,
			   const char *arg, unsigned long min, unsigned long max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || n < min || n > max)
		argp_error(state, "%s '%s' is not a number from %lu to %lu",
			   what, arg, min, max);
	return n;
}

#define VARIANTS							\
	"ours, exchange, keyed, naive, store-decision, calc-tt-addr, "	\
	"recycle-helper or paper"

static void arg_variant(struct argp_state *state, const char *arg,
			struct wrc_cmd *cmd)
{
	cmd->armed = WRC_ARMED_NOT;
	cmd->one_variant = true;
	for (int v = 0; v < WRC_NR_VARIANTS; v++)
		if (!strcmp(arg, wrc_variant_name(v))) {
			cmd->variant = v;
			return;
		}
	cmd->variant = WRC_V_OURS;
	for (int a = WRC_ARMED_ANY; a < WRC_NR_ARMED; a++)
		if (!strcmp(arg, wrc_armed_names[a])) {
			cmd->armed = a;
			return;
		}
	argp_error(state, "no variant '%s': %s; cost: or armed or armed-known",
		   arg, VARIANTS);
}

static enum wrc_recycle arg_recycle(struct argp_state *state, const char *arg)
{
	if (!strcmp(arg, "client"))
		return WRC_RECYCLE_CLIENT;
	if (strcmp(arg, "node"))
		argp_error(state, "recycle '%s': expected node or client", arg);
	return WRC_RECYCLE_NODE;
}

static enum wrc_order arg_order(struct argp_state *state, const char *arg)
{
	if (!strcmp(arg, "wait"))
		return WRC_ORDER_WAIT;
	if (strcmp(arg, "fence"))
		argp_error(state, "order '%s': expected wait or fence", arg);
	return WRC_ORDER_FENCE;
}

static const struct command *find_command(struct argp_state *state,
					  const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	argp_error(state, "no command '%s'", name);
	return NULL;
}

static void line_positional(struct line *line, char *arg,
			    struct argp_state *state)
{
	if (!line->command) {
		line->command = find_command(state, arg);
		return;
	}
	if (line->command->takes_prog) {
		if (line->cmd.prog)
			argp_error(state, "one program is enough, '%s' is %s",
				   arg, "too many");
		line->cmd.prog = arg;
		return;
	}
	if (!line->cmd.nr_files)
		line->cmd.files = &state->argv[state->next - 1];
	line->cmd.nr_files++;
}

/* All that those tables of cost use which have programs of their own. */
static bool key_chooses_nothing(int key)
{
	switch (key) {
	case OPT_FIT:
	case OPT_SWEEP:
	case OPT_PARAM:
	case OPT_STRICT:
	case OPT_RELAXED:
	case OPT_JSON:
		return true;
	default:
		return false;
	}
}

static void line_note(struct line *line, int key, const char *arg)
{
	const struct argp_option *o = options;

	for (size_t i = 0; i < NR_OWNED; i++)
		line->owned[i] |= owned[i].key == key;
	while (o->name && o->key != key)
		o++;
	if (!o->name || key_chooses_nothing(key) || line->chooses)
		return;
	line->chooses = o->name;
	line->choice = arg;
}

static void line_check_owned(const struct line *line, struct argp_state *state)
{
	const char *command = line->command->name;

	for (size_t i = 0; i < NR_OWNED; i++) {
		if (!line->owned[i] || !strcmp(owned[i].first, command) ||
		    (owned[i].second && !strcmp(owned[i].second, command)))
			continue;
		argp_error(state, "--%s with %s: expected with %s%s%s only",
			   owned[i].name, command, owned[i].first,
			   owned[i].second ? " or " : "",
			   owned[i].second ? owned[i].second : "");
	}
	if (line->command->run == wrc_cmd_list && line->cmd.nr_files)
		argp_error(state, "'%s': list takes no argument",
			   line->cmd.files[0]);
}

/* Refuses options that would change nothing. */
static void line_check_cost(const struct line *line, struct argp_state *state)
{
	const struct wrc_cmd *cmd = &line->cmd;
	const char *table = cmd->sweep ? "sweep" : cmd->fit ? "fit" : NULL;

	if (cmd->armed && line->command->run != wrc_cmd_cost)
		argp_error(state, "variant '%s' is for cost only: expected %s",
			   wrc_armed_names[cmd->armed], VARIANTS);
	if (cmd->armed && line->how_given)
		argp_error(state, "'%s' with variant %s, which sets both itself: "
			   "expected neither --recycle nor --order",
			   line->how_given, wrc_armed_names[cmd->armed]);
	if (line->command->run != wrc_cmd_cost || !table)
		return;
	if (line->chooses)
		argp_error(state, "--%s '%s' with --%s, which has programs of its "
			   "own: expected --param, --strict, --relaxed or --json",
			   line->chooses, line->choice, table);
	if (cmd->nr_files)
		argp_error(state, "program '%s' with --%s, which has programs of "
			   "its own: expected none",
			   cmd->files[0], table);
}

/* All is there: what does not go together is refused. */
static void line_check(struct line *line, struct argp_state *state)
{
	if (!line->command)
		argp_usage(state);
	line_check_cost(line, state);
	line_check_owned(line, state);
	if (!line->cmd.depth)
		line->cmd.depth = line->command->depth ?
					  line->command->depth : 4;
	if (wrc_variant_is_rung(line->cmd.variant) &&
	    line->cmd.recycle)
		argp_error(state, "variant %s is not recycled by the node",
			   wrc_variant_name(line->cmd.variant));
	if (wrc_variant_must_recycle(line->cmd.variant) &&
	    !line->cmd.recycle)
		argp_error(state, "variant %s is recycled by the node: --recycle=node",
			   wrc_variant_name(line->cmd.variant));
	if (wrc_variant_is_rung(line->cmd.variant) &&
	    line->cmd.order)
		argp_error(state, "variant %s is not to be had with order=fence",
			   wrc_variant_name(line->cmd.variant));
	if (wrc_variant_is_rung(line->cmd.variant)) {
		if (line->index_given && line->cmd.strict)
			argp_error(state, "variant %s is relaxed only",
				   wrc_variant_name(line->cmd.variant));
		line->cmd.strict = false;
	}
	if (line->command->takes_prog && !line->cmd.prog)
		argp_error(state, "%s needs a program",
			   line->command->name);
}

static error_t line_parse(int key, char *arg, struct argp_state *state)
{
	struct line *line = state->input;

	line_note(line, key, arg);
	switch (key) {
	case 'K':
		line->cmd.depth = arg_number(state, "depth", arg, 4, 1024);
		if (line->cmd.depth & (line->cmd.depth - 1))
			argp_error(state, "depth %s is not a power of two",
				   arg);
		break;
	case OPT_COUNT:
		line->cmd.count = arg_number(state, "count", arg, 1, 100000000);
		break;
	case OPT_ANSWER_EVERY:
		line->cmd.answer_every = arg_number(state, "answer-every", arg,
						    1,
						    1024);
		break;
	case OPT_STRICT:
	case OPT_RELAXED:
		if (line->index_given && line->cmd.strict != (key == OPT_STRICT))
			argp_error(state, "--strict and --relaxed: expected one of them");
		line->cmd.strict = key == OPT_STRICT;
		line->index_given = true;
		break;
	case OPT_VARIANT:
		arg_variant(state, arg, &line->cmd);
		break;
	case OPT_RECYCLE:
		line->cmd.recycle = arg_recycle(state, arg);
		line->how_given = arg;
		break;
	case OPT_ORDER:
		line->cmd.order = arg_order(state, arg);
		line->how_given = arg;
		break;
	case OPT_FIT:
		line->cmd.fit = true;
		break;
	case OPT_SWEEP:
		line->cmd.sweep = true;
		break;
	case OPT_PARAM:
		if (line->cmd.nr_params == 32)
			argp_error(state, "--param '%s' is one too many", arg);
		line->cmd.params[line->cmd.nr_params++] = arg;
		break;
	case OPT_CNODES:
		line->cmd.cnodes = arg;
		break;
	case OPT_QUEUES:
		line->cmd.queues = arg;
		break;
	case OPT_JSON:
		line->cmd.json = true;
		break;
	case OPT_PROG:
		line->cmd.prog = arg;
		break;
	case 'o':
		line->cmd.output = arg;
		break;
	case ARGP_KEY_ARG:
		line_positional(line, arg, state);
		break;
	case ARGP_KEY_END:
		line_check(line, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = line_parse,
	.args_doc = "COMMAND [ARGUMENT...]",
	.doc = doc,
};

int main(int argc, char **argv)
{
	struct line line = { .cmd = { .strict = true } };
	int status;

	argp_err_exit_status = 2;
	argv[0] = (char[]) { "wrc" };
	argp_parse(&argp, argc, argv, 0, NULL, &line);
	status = line.command->run(&line.cmd);
	if (fflush(stdout) || ferror(stdout))
		err(2, "standard output");
	return status;
}
