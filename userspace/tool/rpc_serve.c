// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far rpc serve: an echo or an index for far rpc ping and far bench rpc of other processes. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <far/far.h>
#include <far/rpc.h>

#include "../bench/rpc_datagram.h"
#include "../bench/rpc_index.h"
#include "../rpc/server.h"

struct options {
	const char *nic, *service;
	unsigned threads;
	bool datagrams, index;
	uint64_t keys;			/* 0: not given */
};

enum { OPT_NIC = 256, OPT_THREADS, OPT_DATAGRAMS, OPT_WORKLOAD, OPT_KEYS };

static const struct argp_option serve_options[] = {
	{ "nic", OPT_NIC, "NIC", 0, "back end (mem)", 0 },
	{ "datagrams", OPT_DATAGRAMS, NULL, 0,
	  "serve far bench rpc --variant datagram, too, with as many threads more", 0 },
	{ "threads", OPT_THREADS, "N", 0, "threads of the server (1)", 0 },
	{ "workload", OPT_WORKLOAD, "NAME", 0,
	  "echo (default), or index: gets and short scans of a tree", 0 },
	{ "keys", OPT_KEYS, "N", 0, "of index: keys (100000)", 0 },
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
	case OPT_DATAGRAMS:
		o->datagrams = true;
		break;
	case OPT_WORKLOAD:
		o->index = !strcmp(arg, "index");
		if (!o->index && strcmp(arg, "echo"))
			argp_error(state, "--workload '%s': echo or index expected", arg);
		break;
	case OPT_KEYS:
		o->keys = far_arg_number(state, "--keys", arg, 1, RPC_INDEX_KEYS_MAX, 1);
		break;
	case ARGP_KEY_ARG:
		if (o->service)
			argp_error(state, "one service expected, but '%s' is there", arg);
		o->service = far_arg_service(state, arg);
		break;
	case ARGP_KEY_END:
		if (!o->service)
			argp_error(state, "the name of a service expected");
		if (o->datagrams)
			far_arg_datagrams(state, "--datagrams", o->nic);
		if (o->datagrams && o->index)
			argp_error(state, "--datagrams: expected without --workload index");
		if (o->keys && !o->index)
			argp_error(state, "--keys: expected with --workload index");
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

/* Tells the addresses of the threads that serve datagrams. */
static int addresses(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	*ret_len = rpc_datagram_publish(arg, response);
	return 0;
}

static size_t echo_datagram(const void *arg, const void *request, size_t len, void *response)
{
	memcpy(response, request, len);
	return len;
}

/* What serves: over connections, and, if it is asked for, datagrams, or an index. */
struct served {
	struct far_nic *nic;
	struct far_rpc_server *server;
	struct datagram_server *datagrams;	/* NULL: none */
	struct rpc_index *index;		/* NULL: none */
};

/* Ends what serves; a server of an index tells its times. */
static void served_stop(struct served *served, struct rpc_index_times *ret_times)
{
	if (served->server)
		far_rpc_stop(served->server);
	if (served->datagrams)
		datagram_stop(served->datagrams);
	if (served->nic)
		served->nic->ops->close(served->nic);
	if (served->index)
		rpc_index_free(served->index, ret_times);
}

/* Makes what the handlers work on. */
static int served_prepare(const struct options *o, char *why, size_t why_len,
			  struct served *served)
{
	static const uint64_t no_cost[RPC_INDEX_ASKS];
	int err;

	if (o->index)
		return rpc_index_new(o->keys ? o->keys : RPC_INDEX_KEYS, NULL, no_cost, why,
				     why_len, &served->index);
	if (!o->datagrams)
		return 0;
	err = datagram_serve(served->nic, o->threads, RPC_DATAGRAM_RECVS, echo_datagram, NULL,
			     &served->datagrams);
	if (err)
		snprintf(why, why_len, "%s: %s", o->nic, far_strerror(err));
	return err;
}

static int served_start(const struct options *o, char *why, size_t why_len,
			struct served *ret_served)
{
	static far_rpc_fn *const handlers[] = { echo, [RPC_DATAGRAM_ADDRESSES] = addresses };
	struct far_rpc_server_attr attr = {
		.service = o->service, .threads = o->threads, .handlers = handlers,
		.nr_handlers = o->datagrams ? 2 : 1,
	};
	int err = far_nic_open(o->nic, why, why_len, &ret_served->nic);

	if (!err)
		err = served_prepare(o, why, why_len, ret_served);
	if (err)
		return err;
	attr.arg = ret_served->datagrams;
	if (o->index) {
		attr.handlers = rpc_index_handlers;
		attr.nr_handlers = RPC_INDEX_HANDLERS;
		attr.arg = ret_served->index;
	}
	err = rpc_serve_nic(ret_served->nic, &attr, &ret_served->server);
	return err ? rpc_why(why, why_len, err, o->service, NULL) : 0;
}

static void stats_print(const struct served *served)
{
	struct datagram_stats datagrams;
	struct far_rpc_stats stats;

	far_rpc_server_stats(served->server, &stats);
	printf("%llu requests in %llu messages; %u connections, %llu bytes\n",
	       (unsigned long long)stats.requests, (unsigned long long)stats.messages,
	       stats.connections, (unsigned long long)stats.memory);
	if (!served->datagrams)
		return;
	datagram_server_stats(served->datagrams, &datagrams);
	printf("%llu requests by datagrams, %llu doorbells\n",
	       (unsigned long long)datagrams.requests, (unsigned long long)datagrams.doorbells);
}

static void times_print(const struct rpc_index_times *times)
{
	printf("get %.0f ns, scan %.0f ns (medians, measured)\n", times->median[RPC_INDEX_GET],
	       times->median[RPC_INDEX_SCAN]);
}

int far_rpc_serve_command(int argc, char **argv)
{
	static const struct argp argp = {
		serve_options, parse_serve, "SERVICE",
		"Offers a service until it is interrupted: handler 0 answers with the request, "
		"or an ordered index answers.", NULL, NULL, NULL,
	};
	struct options o = { .nic = "mem", .threads = 1 };
	struct rpc_index_times times;
	struct served served = { NULL };
	char why[400] = "";
	sigset_t signals;
	int got, err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	/* Before there are threads: none of them takes the signal. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = served_start(&o, why, sizeof(why), &served);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], why[0] ? why : far_strerror(err));
		served_stop(&served, &times);
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	printf("serving %s\n", o.service);
	fflush(stdout);
	sigwait(&signals, &got);
	stats_print(&served);
	served_stop(&served, &times);
	if (o.index)
		times_print(&times);
	return 0;
}
