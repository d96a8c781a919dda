// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far: far memory for operators, and its benchmarks. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <own/own.h>

#include "../base/parse.h"
#include "../nic/nic.h"
#include "../nic/sim/profile.h"

/* For --version of each command. */
const char *argp_program_version = "far " VERSION;

static const struct far_command commands[] = {
	{ "info", "back ends, whether they work here, and why not", far_info },
	{ "space", "spaces: create, serve, list, delete, stat, check", far_space_command },
	{ "rpc", "calls of programs: serve, ping", far_rpc_command },
	{ "bench", "benchmarks: micro, index, rpc, model", far_bench_command },
	{ NULL, NULL, NULL },
};

static const struct far_command benches[] = {
	{ "micro", "operations of a NIC, by policy of queue pairs and doorbells",
	  far_bench_micro },
	{ "index", "workloads of YCSB on an index", far_bench_index },
	{ "rpc", "calls of programs, by how threads share queue pairs", far_bench_rpc },
	{ "model", "the model of sim against what the papers measured", far_bench_model },
	{ NULL, NULL, NULL },
};

static void print_commands(FILE *out, const struct far_command *command,
			   const char *name)
{
	fprintf(out, "Usage: %s COMMAND [OPTION...]\n\n", name);
	for (; command->name; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fprintf(out, "\n%s COMMAND --help says more about a command.\n", name);
}

int far_dispatch(const struct far_command *command, int argc, char **argv)
{
	const struct far_command *first = command;
	char name[64];

	if (argc < 2) {
		print_commands(stderr, first, argv[0]);
		return FAR_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?")) {
		print_commands(stdout, first, argv[0]);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
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
	return FAR_EXIT_USAGE;
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

const char *far_arg_nic(struct argp_state *state, const char *text)
{
	char why[200];

	if (far_nic_check(text, why, sizeof(why)))
		argp_error(state, "--nic: %s", why);
	return text;
}

void far_arg_datagrams(struct argp_state *state, const char *option, const char *nic)
{
	size_t len = strcspn(nic, ":");
	char have[100] = "";
	unsigned i;

	for (i = 0; far_nic_all[i]; i++) {
		const struct far_nic_ops *ops = far_nic_all[i];

		if (!(ops->caps & FAR_NIC_CAP_DATAGRAMS))
			continue;
		if (strlen(ops->name) == len && !memcmp(ops->name, nic, len))
			return;
		snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%s",
			 *have ? " or " : "", ops->name);
	}
	argp_error(state, "%s: the back end %.*s has no datagrams: --nic %s expected", option,
		   (int)len, nic, have);
}

const char *far_arg_node(struct argp_state *state, const char *text)
{
	if (!*text)
		argp_error(state, "--node '': the address of a memory node expected");
	return text;
}

const char *far_arg_service(struct argp_state *state, const char *text)
{
	if (!far_parse_is_name(text, FAR_SERVICE_MAX))
		argp_error(state, "service '%s': 1 to %u letters, digits, '-', '_' and '.' "
			   "expected, and no '.' at first", text, FAR_SERVICE_MAX);
	return text;
}

const char *far_arg_profile(struct argp_state *state, const char *option,
			    const char *text)
{
	struct sim_profile profile;
	char why[200];

	if (sim_profile_load(text, &profile, why, sizeof(why)))
		argp_error(state, "%s: %s", option, why);
	return text;
}

const char *far_arg_bench_nic(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "sim") || !strcmp(text, "sim:"))
		argp_error(state, "--nic '%s': a profile expected, sim:cx6-200 for example",
			   text);
	if (!strncmp(text, "sim:", 4))
		far_arg_profile(state, "--nic", text + 4);
	return far_arg_nic(state, text);
}

const char *far_arg_output(struct argp_state *state, const char *option,
			   const char *text)
{
	char *dir = strdup(text), *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;
	int err = dir ? 0 : ENOMEM;

	if (!err && strcmp(text, "-")) {
		if (!stat(text, &st)) {
			err = S_ISDIR(st.st_mode) ? EISDIR : access(text, W_OK) ? errno : 0;
		} else {
			if (slash)
				slash[1] = 0;
			err = access(slash ? dir : ".", W_OK | X_OK) ? errno : 0;
		}
	}
	free(dir);
	if (err)
		argp_error(state, "%s '%s': a file that can be written expected: %s",
			   option, text, strerror(err));
	return text;
}

int far_bench_command(int argc, char **argv)
{
	return far_dispatch(benches, argc, argv);
}

int main(int argc, char **argv)
{
	/* What was closed must not become another library's file. */
	unsigned is_closed = own_stdio_hold();
	int status;

	/* A reader that has gone is found by write(), after the space was deleted. */
	signal(SIGPIPE, SIG_IGN);
	argp_err_exit_status = FAR_EXIT_USAGE;
	argv[0] = (char[]) { "far" };
	status = far_dispatch(commands, argc, argv);
	if (fflush(stdout) || ferror(stdout) || is_closed & 1 << STDOUT_FILENO) {
		fprintf(stderr, "far: cannot write to the standard output\n");
		return status ? status : EXIT_FAILURE;
	}
	return status;
}
