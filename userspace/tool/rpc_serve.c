// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far rpc serve: an echo for far rpc ping and far bench rpc of other processes. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <far/rpc.h>

struct options {
	const char *nic, *service;
	unsigned threads;
};

enum { OPT_NIC = 256, OPT_THREADS };

static const struct argp_option serve_options[] = {
	{ "nic", OPT_NIC, "NIC", 0, "back end (mem)", 0 },
	{ "threads", OPT_THREADS, "N", 0, "threads of the server (1)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_serve(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_NIC:
		o->nic = far_arg_nic(state, arg);
		break;
	case OPT_THREADS:
		o->threads = far_arg_number(state, "--threads", arg, 1, 1024, 0);
		break;
	case ARGP_KEY_ARG:
		if (o->service)
			argp_error(state, "one service expected, but '%s' is there", arg);
		o->service = far_arg_service(state, arg);
		break;
	case ARGP_KEY_END:
		if (!o->service)
			argp_error(state, "the name of a service expected");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int echo(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	memcpy(response, request, len);
	*ret_len = len;
	return 0;
}

static void stats_print(struct far_rpc_server *server)
{
	struct far_rpc_stats stats;

	far_rpc_server_stats(server, &stats);
	printf("%llu requests in %llu messages; %u connections, %llu bytes\n",
	       (unsigned long long)stats.requests, (unsigned long long)stats.messages,
	       stats.connections, (unsigned long long)stats.memory);
}

int far_rpc_serve_command(int argc, char **argv)
{
	static const struct argp argp = {
		serve_options, parse_serve, "SERVICE",
		"Offers a service whose handler 0 answers with the request, until it is "
		"interrupted.", NULL, NULL, NULL,
	};
	static far_rpc_fn *const handlers[] = { echo };
	struct options o = { .nic = "mem", .threads = 1 };
	struct far_rpc_server_attr attr = { .handlers = handlers, .nr_handlers = 1 };
	struct far_rpc_server *server;
	char why[400] = "";
	sigset_t signals;
	int got, err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	attr.nic = o.nic;
	attr.service = o.service;
	attr.threads = o.threads;
	/* Before there are threads: none of them takes the signal. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = far_rpc_serve(&attr, why, sizeof(why), &server);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], why);
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	printf("serving %s\n", o.service);
	fflush(stdout);
	sigwait(&signals, &got);
	stats_print(server);
	far_rpc_stop(server);
	return 0;
}
