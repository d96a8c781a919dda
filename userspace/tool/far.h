/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of far: each is a main of its own behind its name. */
#ifndef FAR_TOOL_FAR_H
#define FAR_TOOL_FAR_H

#include <stdint.h>

struct argp_state;

/* Exit status: the command line was wrong. */
#define FAR_EXIT_USAGE	2

/* A subcommand; run() gets argv[0] = "far NAME" for messages. Returns the exit code. */
struct far_command {
	const char *name;
	const char *summary;	/* for the list of far --help */
	int (*run)(int argc, char **argv);
};

/*
 * Runs the command that argv[1] names, of a list that ends with a NULL name; without
 * one, or with --help, prints the list.
 */
int far_dispatch(const struct far_command *commands, int argc, char **argv);

int far_info(int argc, char **argv);
int far_space_command(int argc, char **argv);
int far_bench_command(int argc, char **argv);
int far_bench_micro(int argc, char **argv);
int far_bench_index(int argc, char **argv);
int far_bench_model(int argc, char **argv);
int far_bench_rpc(int argc, char **argv);
int far_rpc_command(int argc, char **argv);
int far_rpc_serve_command(int argc, char **argv);

/*
 * Parsers of option values, for argp: what cannot be ends the program with the value
 * and what was expected. number has the suffixes K, M, G, T if sizes is set.
 */
uint64_t far_arg_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max, int sizes);
/* A --nic: it names a back end. Of a benchmark: one of sim also names its profile. */
const char *far_arg_nic(struct argp_state *state, const char *text);
const char *far_arg_bench_nic(struct argp_state *state, const char *text);
/* The back end that --nic names has datagrams, which the option needs. */
void far_arg_datagrams(struct argp_state *state, const char *option, const char *nic);
/* A --node: the address or the name of a memory node. */
const char *far_arg_node(struct argp_state *state, const char *text);
/* The name of a service of RPC. */
const char *far_arg_service(struct argp_state *state, const char *text);
/* A profile of sim, with values behind it or not: one that is there and can be. */
const char *far_arg_profile(struct argp_state *state, const char *option,
			    const char *text);
/* A file to be written when all has been done, or "-": refused now if that cannot be. */
const char *far_arg_output(struct argp_state *state, const char *option,
			   const char *text);
double far_arg_real(struct argp_state *state, const char *option, const char *text,
		    double min, double max);

#endif
