// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far bench rpc, and far rpc ping. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <far/far.h>
#include <far/rpc.h>

#include "../bench/json.h"
#include "../bench/cluster.h"
#include "../bench/rpc.h"
#include "interrupt.h"

#define NS_MAX		UINT64_C(1000000000)

struct options {
	struct rpc_bench bench;
	const char *json, *variant;
	uint64_t keys;			/* 0: not given */
};

enum { OPT_NIC = 256, OPT_CNS, OPT_THREADS, OPT_OUTSTANDING, OPT_SIZE, OPT_VARIANT, OPT_QPS,
       OPT_SERVER, OPT_OPS, OPT_SEED, OPT_JSON, OPT_NODE, OPT_SERVICE, OPT_LARGE,
       OPT_WITHOUT, OPT_WORKLOAD, OPT_KEYS, OPT_GET, OPT_SCAN };

static const struct argp_option bench_options[] = {
	{ "nic", OPT_NIC, "NIC", 0, "back end: mem (default), soft, verbs, sim:PROFILE", 0 },
	{ "node", OPT_NODE, "ADDR", 0, "where far rpc serve runs (a server in this process)", 0 },
	{ "service", OPT_SERVICE, "NAME", 0, "with --node: its service", 0 },
	{ "cns", OPT_CNS, "N", 0, "clients (1)", 0 },
	{ "threads", OPT_THREADS, "N", 0, "threads of each client (4)", 0 },
	{ "outstanding", OPT_OUTSTANDING, "N", 0, "requests of each thread (1)", 0 },
	{ "size", OPT_SIZE, "BYTES", 0, "of a request and of its response (64)", 0 },
	{ "large", OPT_LARGE, "BYTES", 0, "the same of each 10th thread (as all others)", 0 },
	{ "variant", OPT_VARIANT, "NAME", 0,
	  "combine (default), per-thread-qp, lock-2 or lock-4: how threads share queue pairs; or "
	  "datagram: without connections, as FaSST and eRPC, over verbs and in sim", 0 },
	{ "without", OPT_WITHOUT, "LIST", 0,
	  "what combine does not do: coalescing, placing, with ',' between them", 0 },
	{ "qps", OPT_QPS, "N", 0, "of combine: queue pairs of a client (one for 2 threads)", 0 },
	{ "server-threads", OPT_SERVER, "N", 0, "threads of the server (1)", 0 },
	{ "ops", OPT_OPS, "N", 0, "requests of all threads (200000)", 0 },
	{ "seed", OPT_SEED, "N", 0, "of sim (1)", 0 },
	{ "workload", OPT_WORKLOAD, "NAME", 0,
	  "echo (default), or index: gets and short scans of a tree at the server", 0 },
	{ "keys", OPT_KEYS, "N", 0,
	  "of index: keys (100000); with --node, those of the server", 0 },
	{ "get-ns", OPT_GET, "N", 0, "of index in sim: what a get costs the server, in ns", 0 },
	{ "scan-ns", OPT_SCAN, "N", 0, "the same of a scan", 0 },
	{ "json", OPT_JSON, "FILE", 0, "results as JSON; '-' is the standard output", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* Switches off what the list names. */
static void parse_without(struct argp_state *state, struct rpc_bench *bench, const char *list)
{
	static const char *const names[] = { "coalescing", "placing" };
	bool *const on[] = { &bench->coalesce, &bench->place };
	unsigned i;

	for (; *list; list += *list == ',') {
		size_t len = strcspn(list, ",");

		for (i = 0; i < 2; i++)
			if (len == strlen(names[i]) && !strncmp(list, names[i], len))
				break;
		if (i == 2)
			argp_error(state, "--without '%.*s': coalescing or placing expected",
				   (int)len, list);
		*on[i] = false;
		list += len;
	}
}

/* Checks options of the workload together, and sets the number of keys. */
static void check_workload(struct argp_state *state, struct options *o)
{
	struct rpc_bench *b = &o->bench;
	bool is_sim = !strncmp(b->nic, "sim", 3);
	unsigned costs = !!b->index_ns[RPC_INDEX_GET] + !!b->index_ns[RPC_INDEX_SCAN];

	if (!o->bench.index && (o->keys || costs))
		argp_error(state, "--keys, --get-ns, --scan-ns: expected with --workload index");
	if (costs && !is_sim)
		argp_error(state, "--get-ns and --scan-ns: expected with --nic sim:PROFILE");
	if (!o->bench.index)
		return;
	if (b->node && b->variant == RPC_DATAGRAM)
		argp_error(state, "--workload index: expected without --node, or without "
			   "--variant datagram");
	if (b->node && o->keys)
		argp_error(state, "--keys %llu: expected without --node, since the server tells "
			   "how many it has", (unsigned long long)o->keys);
	if (is_sim && costs != RPC_INDEX_ASKS)
		argp_error(state, "--workload index: no time passes in sim for a tree; --get-ns "
			   "and --scan-ns expected, as \"far bench rpc --workload index\" measures "
			   "them");
	b->keys = o->keys ? o->keys : RPC_INDEX_KEYS;
	b->size = 8;
}

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct rpc_bench *b = &o->bench;

	switch (key) {
	case OPT_NIC:
		b->nic = far_arg_bench_nic(state, arg);
		break;
	case OPT_NODE:
		b->node = far_arg_node(state, arg);
		break;
	case OPT_SERVICE:
		b->service = far_arg_service(state, arg);
		break;
	case OPT_CNS:
		b->cns = far_arg_number(state, "--cns", arg, 1, 1024, 0);
		break;
	case OPT_THREADS:
		b->threads = far_arg_number(state, "--threads", arg, 1, FAR_RPC_THREADS_MAX, 0);
		break;
	case OPT_OUTSTANDING:
		b->outstanding = far_arg_number(state, "--outstanding", arg, 1,
						FAR_RPC_OUTSTANDING_MAX, 0);
		break;
	case OPT_SIZE:
		b->size = far_arg_number(state, "--size", arg, 0, FAR_RPC_DATA_MAX, 1);
		break;
	case OPT_VARIANT:
		o->variant = arg;
		if (rpc_variant_parse(arg, &b->variant))
			argp_error(state, "--variant '%s': combine, per-thread-qp, lock-2, lock-4 "
				   "or datagram expected", arg);
		break;
	case OPT_LARGE:
		b->large = far_arg_number(state, "--large", arg, 1, FAR_RPC_DATA_MAX, 1);
		break;
	case OPT_WITHOUT:
		parse_without(state, b, arg);
		break;
	case OPT_QPS:
		b->qps = far_arg_number(state, "--qps", arg, 1, FAR_RPC_QPS_MAX, 0);
		break;
	case OPT_SERVER:
		b->server_threads = far_arg_number(state, "--server-threads", arg, 1, 1024, 0);
		break;
	case OPT_OPS:
		b->ops = far_arg_number(state, "--ops", arg, 1, UINT64_MAX / 2, 1);
		break;
	case OPT_SEED:
		b->seed = far_arg_number(state, "--seed", arg, 0, UINT64_MAX, 0);
		break;
	case OPT_WORKLOAD:
		o->bench.index = !strcmp(arg, "index");
		if (!o->bench.index && strcmp(arg, "echo"))
			argp_error(state, "--workload '%s': echo or index expected", arg);
		break;
	case OPT_KEYS:
		o->keys = far_arg_number(state, "--keys", arg, 1, RPC_INDEX_KEYS_MAX, 1);
		break;
	case OPT_GET:
		b->index_ns[RPC_INDEX_GET] = far_arg_number(state, "--get-ns", arg, 1, NS_MAX, 0);
		break;
	case OPT_SCAN:
		b->index_ns[RPC_INDEX_SCAN] = far_arg_number(state, "--scan-ns", arg, 1, NS_MAX,
							     0);
		break;
	case OPT_JSON:
		o->json = far_arg_output(state, "--json", arg);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument expected, but '%s' is there", arg);
		break;
	case ARGP_KEY_SUCCESS:
		check_workload(state, o);
		if (b->qps && b->variant != RPC_COMBINE)
			argp_error(state, "--qps %u: expected with --variant combine", b->qps);
		if (!(b->coalesce && b->place) && b->variant != RPC_COMBINE)
			argp_error(state, "--without: expected with --variant combine");
		if (b->variant == RPC_DATAGRAM)
			far_arg_datagrams(state, "--variant datagram", b->nic);
		if (b->variant == RPC_DATAGRAM &&
		    (b->size > RPC_DATAGRAM_MAX || b->large > RPC_DATAGRAM_MAX))
			argp_error(state, "--variant datagram: at most %u bytes expected",
				   RPC_DATAGRAM_MAX);
		if (!b->node != !b->service)
			argp_error(state, "--node and --service expected together");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void add_number(struct json_object *json, const char *name, double value)
{
	json_object_object_add(json, name, bench_json_number(value));
}

static void add_index(struct json_object *json, const struct rpc_bench *b,
		      const struct rpc_bench_result *r)
{
	double get = r->is_model ? b->index_ns[RPC_INDEX_GET] : r->index.median[RPC_INDEX_GET];
	double scan = r->is_model ? b->index_ns[RPC_INDEX_SCAN] : r->index.median[RPC_INDEX_SCAN];

	json_object_object_add(json, "keys", json_object_new_uint64(r->keys));
	if (!b->node) {
		add_number(json, "get_ns", get);
		add_number(json, "scan_ns", scan);
	}
	if (!r->is_model && !b->node) {
		add_number(json, "get_mean_ns", r->index.mean[RPC_INDEX_GET]);
		add_number(json, "scan_mean_ns", r->index.mean[RPC_INDEX_SCAN]);
	}
	add_number(json, "get_p50_us", r->ask_p50_us[RPC_INDEX_GET]);
	add_number(json, "get_p99_us", r->ask_p99_us[RPC_INDEX_GET]);
	add_number(json, "scan_p50_us", r->ask_p50_us[RPC_INDEX_SCAN]);
	add_number(json, "scan_p99_us", r->ask_p99_us[RPC_INDEX_SCAN]);
	json_object_object_add(json, "wrong", json_object_new_uint64(r->wrong));
}

static struct json_object *result_json(const struct options *o, const struct rpc_bench_result *r)
{
	const struct rpc_bench *b = &o->bench;
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "nic", json_object_new_string(b->nic));
	json_object_object_add(json, "tier",
			       json_object_new_string(r->is_model ? "model" : "measured"));
	json_object_object_add(json, "variant", json_object_new_string(o->variant));
	json_object_object_add(json, "workload",
			       json_object_new_string(o->bench.index ? "index" : "echo"));
	add_number(json, "cns", b->cns);
	add_number(json, "threads", b->threads);
	add_number(json, "outstanding", b->outstanding);
	add_number(json, "size", b->size);
	add_number(json, "large", b->large ? b->large : b->size);
	add_number(json, "qps", r->qps);
	add_number(json, "active_least", r->active_least);
	add_number(json, "active_most", r->active_most);
	add_number(json, "server_threads", b->server_threads);
	json_object_object_add(json, "seed", json_object_new_uint64(b->seed));
	json_object_object_add(json, "ops", json_object_new_int64(r->ops));
	add_number(json, "seconds", r->seconds);
	add_number(json, "mops", r->mops);
	add_number(json, "small_mops", r->small_mops);
	add_number(json, "before_mops", r->before_mops);
	add_number(json, "after_mops", r->after_mops);
	json_object_object_add(json, "steady", json_object_new_boolean(r->is_steady));
	add_number(json, "p50_us", r->p50_us);
	add_number(json, "p99_us", r->p99_us);
	add_number(json, "p999_us", r->p999_us);
	add_number(json, "max_us", r->max_us);
	add_number(json, "degree", r->degree);
	add_number(json, "doorbells_per_op", r->doorbells_per_op);
	add_number(json, "server_doorbells_per_op", r->server_doorbells_per_op);
	add_number(json, "receive_share", r->receive_share);
	json_object_object_add(json, "again", json_object_new_int64(r->again));
	json_object_object_add(json, "head_reads", json_object_new_int64(r->head_reads));
	json_object_object_add(json, "sleeps", json_object_new_int64(r->sleeps));
	json_object_object_add(json, "client_memory", json_object_new_int64(r->client_memory));
	json_object_object_add(json, "errors", json_object_new_int64(r->errors));
	if (b->index)
		add_index(json, b, r);
	return json;
}

static int print_json(const struct options *o, const struct rpc_bench_result *r)
{
	struct json_object *json = result_json(o, r);
	int err = json ? bench_json_write(json, o->json) : -ENOMEM;

	json_object_put(json);
	if (err)
		fprintf(stderr, "far bench rpc: %s: %s\n", o->json, strerror(-err));
	return err ? EXIT_FAILURE : 0;
}

/* The space of the index. */
static const struct cluster_conf index_conf = { .nic = "mem" };

static void cluster_clean(const void *arg)
{
	cluster_remove(arg);
}

static void print_index(const struct rpc_bench *b, const struct rpc_bench_result *r)
{
	if (b->node)
		printf("an index of %llu keys at the server; %llu wrong\n",
		       (unsigned long long)r->keys, (unsigned long long)r->wrong);
	else if (r->is_model)
		printf("an index of %llu keys: get %llu ns, scan %llu ns (as given); "
		       "%llu wrong\n", (unsigned long long)b->keys,
		       (unsigned long long)b->index_ns[RPC_INDEX_GET],
		       (unsigned long long)b->index_ns[RPC_INDEX_SCAN],
		       (unsigned long long)r->wrong);
	else
		printf("an index of %llu keys: get %.0f ns, scan %.0f ns (medians, measured); "
		       "%llu wrong\n", (unsigned long long)b->keys,
		       r->index.median[RPC_INDEX_GET], r->index.median[RPC_INDEX_SCAN],
		       (unsigned long long)r->wrong);
}

/* What has ended the first thread that has failed. */
static void print_error(const char *name, const struct rpc_bench *b, int err)
{
	if (b->variant == RPC_DATAGRAM && err == -EMSGSIZE)
		fprintf(stderr, "%s: %u bytes and their head are longer than a packet of the "
			"NIC: a smaller --size expected\n", name,
			b->large > b->size ? b->large : b->size);
	else
		fprintf(stderr, "%s: %s\n", name, far_strerror(err));
}

int far_bench_rpc(int argc, char **argv)
{
	static const struct argp argp = {
		bench_options, parse_bench, NULL,
		"Threads of clients call handlers of one server: empty ones, or an index.", NULL,
		NULL, NULL,
	};
	struct options o = { .bench = rpc_bench_default, .variant = "combine" };
	struct rpc_bench_result r;
	char why[400] = "";
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.bench.index && !o.bench.node && interrupt_clean(cluster_clean, &index_conf))
		return EXIT_FAILURE;
	err = rpc_bench_run(&o.bench, why, sizeof(why), &r);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], why);
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	if (o.json)
		return print_json(&o, &r);
	if (isnan(r.mops))
		printf("too few requests for a rate");
	else
		printf("%.3f Mop/s", r.mops);
	printf(" (%s): %u clients of %u threads and %u queue pairs, %u outstanding, "
	       "%u bytes, %s\n", r.is_model ? "model" : "measured", o.bench.cns,
	       o.bench.threads, r.qps, o.bench.outstanding, o.bench.size, o.variant);
	printf("%.2f us median, %.2f us p99; %.2f requests per message, %.3f doorbells per "
	       "request, %llu errors\n", r.p50_us, r.p99_us, r.degree, r.doorbells_per_op,
	       (unsigned long long)r.errors);
	if (o.bench.variant == RPC_DATAGRAM)
		printf("%llu requests sent again\n", (unsigned long long)r.again);
	if (o.bench.index)
		print_index(&o.bench, &r);
	if (r.errors)
		print_error(argv[0], &o.bench, r.err);
	return r.errors || r.wrong ? EXIT_FAILURE : 0;
}

/* far rpc ping SERVICE. */
struct ping {
	const char *nic, *service, *node;
	uint64_t count;
};

enum { PING_NIC = 256, PING_NODE, PING_COUNT };

static const struct argp_option ping_options[] = {
	{ "nic", PING_NIC, "NIC", 0, "back end (mem)", 0 },
	{ "node", PING_NODE, "ADDR", 0, "where the server is (the only node)", 0 },
	{ "count", PING_COUNT, "N", 0, "calls (4)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_ping(int key, char *arg, struct argp_state *state)
{
	struct ping *ping = state->input;

	switch (key) {
	case PING_NIC:
		ping->nic = far_arg_nic(state, arg);
		break;
	case PING_NODE:
		ping->node = far_arg_node(state, arg);
		break;
	case PING_COUNT:
		ping->count = far_arg_number(state, "--count", arg, 1, UINT64_MAX / 2, 0);
		break;
	case ARGP_KEY_ARG:
		if (ping->service)
			argp_error(state, "one service expected, but '%s' is there", arg);
		ping->service = far_arg_service(state, arg);
		break;
	case ARGP_KEY_END:
		if (!ping->service)
			argp_error(state, "the name of a service expected");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A handler that does not exist answers, too: then any service can be asked. */
static int ping_once(struct far_rpc_thread *thread, uint64_t nr)
{
	uint64_t begin = now_ns(), ns;
	struct far_rpc_reply reply;
	int err = far_rpc_call(thread, FAR_RPC_HANDLERS_MAX - 1, NULL, 0, 1000000000, NULL, 0,
			       &reply);

	ns = now_ns() - begin;
	if (err && err != -ENOSYS) {
		printf("%llu: %s\n", (unsigned long long)nr, far_strerror(err));
		return err;
	}
	printf("%llu: %.1f us\n", (unsigned long long)nr, ns / 1e3);
	return 0;
}

static int ping_run(const struct ping *ping, struct far_rpc *rpc)
{
	struct far_rpc_thread *thread;
	uint64_t nr;
	int err = far_rpc_join(rpc, &thread), failed = 0;

	if (err)
		return err;
	for (nr = 1; nr <= ping->count; nr++)
		failed |= ping_once(thread, nr) != 0;
	far_rpc_leave(thread);
	return failed;
}

static int rpc_ping(int argc, char **argv)
{
	static const struct argp argp = {
		ping_options, parse_ping, "SERVICE",
		"Calls a service, and prints how long each call takes.", NULL, NULL, NULL,
	};
	struct ping ping = { .nic = "mem", .node = "", .count = 4 };
	struct far_rpc_attr attr = { 0 };
	struct far_rpc *rpc;
	char why[400] = "";
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &ping);
	attr.nic = ping.nic;
	attr.node = ping.node;
	attr.service = ping.service;
	err = far_rpc_connect(&attr, why, sizeof(why), &rpc);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], why);
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	err = ping_run(&ping, rpc);
	far_rpc_close(rpc);
	return err ? EXIT_FAILURE : 0;
}

static const struct far_command rpc_commands[] = {
	{ "serve", "offers a service: an echo, or an ordered index", far_rpc_serve_command },
	{ "ping", "calls a service, and prints how long each call takes", rpc_ping },
	{ NULL, NULL, NULL },
};

int far_rpc_command(int argc, char **argv)
{
	return far_dispatch(rpc_commands, argc, argv);
}
