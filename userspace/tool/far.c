// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far: far memory for operators, and its benchmarks. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/parse.h"

static const struct far_command commands[] = {
	{ "info", "back ends, whether they work here, and why not", far_info },
	{ "space", "spaces: create, serve, list, delete, stat, check", far_space_command },
	{ "bench", "benchmarks: micro, index, model", far_bench_command },
	{ NULL, NULL, NULL },
};

static const struct far_command benches[] = {
	{ "micro", "operations of a NIC, by policy of queue pairs and doorbells",
	  far_bench_micro },
	{ "index", "workloads of YCSB on an index", far_bench_index },
	{ "model", "the model of sim against what the papers measured", far_bench_model },
	{ NULL, NULL, NULL },
};

static void print_commands(FILE *out, const struct far_command *command,
			   const char *name)
{
	fprintf(out, "Usage: %s COMMAND [OPTION...]\n\n", name);
	for (; command->name; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fprintf(out, "\n%s COMMAND --help says more of one.\n", name);
}

int far_dispatch(const struct far_command *command, int argc, char **argv)
{
	const struct far_command *first = command;
	char name[64];

	if (argc < 2) {
		print_commands(stderr, first, argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?")) {
		print_commands(stdout, first, argv[0]);
		return 0;
	}
	for (; command->name; command++)
		if (!strcmp(argv[1], command->name)) {
			snprintf(name, sizeof(name), "%s %s", argv[0], command->name);
			argv[1] = name;
			return command->run(argc - 1, argv + 1);
		}
	fprintf(stderr, "%s: no command '%s'\n", argv[0], argv[1]);
	print_commands(stderr, first, argv[0]);
	return 2;
}

uint64_t far_arg_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max, int sizes)
{
	uint64_t number = 0;
	int err = sizes ? far_parse_size(text, min, max, &number) :
			  far_parse_count(text, min, max, &number);

	if (err)
		argp_error(state, "%s '%s': a number from %llu to %llu%s expected", option,
			   text, (unsigned long long)min, (unsigned long long)max,
			   sizes ? ", with K, M, G or T behind it or not," : "");
	return number;
}

double far_arg_real(struct argp_state *state, const char *option, const char *text,
		    double min, double max)
{
	double number = 0;

	if (far_parse_real(text, min, max, &number))
		argp_error(state, "%s '%s': a number from %g to %g expected", option, text,
			   min, max);
	return number;
}

int far_bench_command(int argc, char **argv)
{
	return far_dispatch(benches, argc, argv);
}

int main(int argc, char **argv)
{
	argv[0] = (char[]) { "far" };
	return far_dispatch(commands, argc, argv);
}
