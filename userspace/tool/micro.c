// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far bench micro: options and results of the micro benchmark. */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/json.h"
#include "../bench/micro.h"
#include "../nic/nic.h"
#include "interrupt.h"
#include "progress.h"

#define MAX_NODES	255u

struct options {
	struct micro micro;
	const char *json;	/* NULL: text; "-": JSON to stdout */
	const char *policy;
	const char *node[MAX_NODES];	/* of --space */
	unsigned nr_nodes;
	int changes;		/* --change-ms was given */
	int skewed;		/* --theta was */
	int sized;		/* --size was */
};

static const char *const op_names[] = {
	[FAR_NIC_READ] = "read",
	[FAR_NIC_WRITE] = "write",
	[FAR_NIC_CAS] = "cas",
	[FAR_NIC_FAA] = "faa",
};

#define NR_OPS	(sizeof(op_names) / sizeof(op_names[0]))

enum { OPT_NIC = 256, OPT_CNS, OPT_MNS, OPT_THREADS, OPT_DEPTH, OPT_OP, OPT_SIZE, OPT_POLICY,
       OPT_BATCH, OPT_THROTTLE, OPT_CHANGE, OPT_OPS, OPT_REGION, OPT_SEED, OPT_JSON,
       OPT_SPACE, OPT_NODE, OPT_REDUNDANT, OPT_THETA };

static const struct argp_option argp_options[] = {
	{ "nic", OPT_NIC, "NIC", 0, "back end: mem (default), soft, verbs, sim:PROFILE", 0 },
	{ "cns", OPT_CNS, "N", 0,
	  "compute nodes over which the threads are spread (1; more in sim only)", 0 },
	{ "mns", OPT_MNS, "N", 0, "memory nodes, used in turn (1)", 0 },
	{ "space", OPT_SPACE, "NAME", 0,
	  "a space that is there, as of 'far space serve', which is read only (default: "
	  "a space of its own)", 0 },
	{ "node", OPT_NODE, "ADDR", 0, "with --space: a memory node of it; again for each",
	  0 },
	{ "threads", OPT_THREADS, "N[..M]", 0,
	  "threads (1); a range: how many are at work is drawn each --change-ms", 0 },
	{ "change-ms", OPT_CHANGE, "MS", 0, "see --threads (512)", 0 },
	{ "depth", OPT_DEPTH, "N", 0,
	  "operations that a thread posts before it waits for all (8)", 0 },
	{ "op", OPT_OP, "OP", 0, "read (default), write, cas, faa", 0 },
	{ "size", OPT_SIZE, "BYTES", 0, "length of a READ or WRITE (8)", 0 },
	{ "policy", OPT_POLICY, "NAME", 0, "shared-qp, multiplexed-2, multiplexed-4, "
	  "per-thread-qp, per-thread-context, per-thread-doorbell (default)", 0 },
	{ "batch", OPT_BATCH, "N", 0, "operations per doorbell (1)", 0 },
	{ "throttle", OPT_THROTTLE, "SCALE", OPTION_ARG_OPTIONAL,
	  "limit outstanding operations by credits; SCALE makes its epochs of 528 ms "
	  "shorter (1)", 0 },
	{ "ops", OPT_OPS, "N", 0, "operations to measure, of all threads (200000)", 0 },
	{ "region", OPT_REGION, "BYTES", 0,
	  "memory per node that addresses are drawn from (16M)", 0 },
	{ "seed", OPT_SEED, "N", 0, "of the addresses (1)", 0 },
	{ "redundant", OPT_REDUNDANT, "KEYS", OPTION_ARG_OPTIONAL,
	  "instead: threads that READ, or lock and WRITE, a key's object each (1024 bytes, "
	  "one of KEYS, skewed), and how many do the same at the same time (100000000)",
	  0 },
	{ "theta", OPT_THETA, "X", 0, "with --redundant: skew (0.99)", 0 },
	{ "json", OPT_JSON, "FILE", 0, "results as JSON; '-' is the standard output", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static int parse_op(struct argp_state *state, const char *text)
{
	size_t i;

	for (i = 0; i < NR_OPS; i++)
		if (op_names[i] && !strcmp(text, op_names[i]))
			return i;
	argp_error(state, "--op '%s': read, write, cas or faa expected", text);
	return 0;
}

/* N, or N..M: the least and the largest number. */
static void parse_threads(struct argp_state *state, char *arg, struct micro *m)
{
	char *dots = strstr(arg, "..");

	if (dots) {
		*dots = 0;
		m->least_threads = far_arg_number(state, "--threads", arg, 1, 2048, 0);
		arg = dots + 2;
	}
	m->threads = far_arg_number(state, "--threads", arg, 1, 2048, 0);
}


static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct micro *m = &o->micro;

	switch (key) {
	case OPT_NIC:
		m->nic = far_arg_bench_nic(state, arg);
		break;
	case OPT_SPACE:
		m->space = arg;
		break;
	case OPT_NODE:
		if (o->nr_nodes == MAX_NODES)
			argp_error(state, "--node '%s': at most %u expected", arg,
				   MAX_NODES);
		o->node[o->nr_nodes++] = far_arg_node(state, arg);
		break;
	case OPT_CNS:
		m->cns = far_arg_number(state, "--cns", arg, 1, 256, 0);
		break;
	case OPT_MNS:
		m->nodes = far_arg_number(state, "--mns", arg, 1, 255, 0);
		break;
	case OPT_THREADS:
		parse_threads(state, arg, m);
		break;
	case OPT_CHANGE:
		o->changes = 1;
		m->change_ns = far_arg_real(state, "--change-ms", arg, 0.001, 1e6) * 1e6;
		break;
	case OPT_THROTTLE:
		m->throttle = arg ? far_arg_real(state, "--throttle", arg, 0.0001, 1) : 1;
		break;
	case OPT_DEPTH:
		m->depth = far_arg_number(state, "--depth", arg, 1, 1024, 0);
		break;
	case OPT_OP:
		m->op = parse_op(state, arg);
		break;
	case OPT_REDUNDANT:
		m->redundant_keys = arg ? far_arg_number(state, "--redundant", arg, 1,
							 UINT64_C(1) << 40, 0) : 100000000;
		m->depth = 1;
		break;
	case OPT_THETA:
		o->skewed = 1;
		m->theta = far_arg_real(state, "--theta", arg, 0, 5);
		break;
	case OPT_SIZE:
		o->sized = 1;
		m->size = far_arg_number(state, "--size", arg, 1, 1 << 20, 1);
		break;
	case OPT_POLICY:
		o->policy = arg;
		if (micro_policy_parse(arg, &m->policy, &m->per_qp))
			argp_error(state, "--policy '%s': shared-qp, multiplexed-2, "
				   "multiplexed-4, per-thread-qp, per-thread-context or "
				   "per-thread-doorbell expected", arg);
		break;
	case OPT_BATCH:
		m->batch = far_arg_number(state, "--batch", arg, 1, 1024, 0);
		break;
	case OPT_OPS:
		m->ops = far_arg_number(state, "--ops", arg, 1, UINT64_MAX / 2, 1);
		break;
	case OPT_REGION:
		m->region = far_arg_number(state, "--region", arg, 4096,
					   UINT64_C(1) << 39, 1) / 4096 * 4096;
		break;
	case OPT_SEED:
		m->seed = far_arg_number(state, "--seed", arg, 0, UINT64_MAX, 0);
		break;
	case OPT_JSON:
		o->json = far_arg_output(state, "--json", arg);
		break;
	case ARGP_KEY_SUCCESS:
		if (o->changes && !m->least_threads)
			argp_error(state, "--change-ms: expected with --threads N..M");
		if (o->skewed && !m->redundant_keys)
			argp_error(state, "--theta %g: expected with --redundant",
				   m->theta);
		if (m->redundant_keys && !o->sized)
			m->size = 1024;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument expected, but '%s' is there", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static struct json_object *result_json(const struct options *o,
				       const struct micro_result *r)
{
	const struct micro *m = &o->micro;
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "nic", json_object_new_string(m->nic));
	json_object_object_add(json, "tier",
			       json_object_new_string(r->is_model ? "model" : "measured"));
	json_object_object_add(json, "policy", json_object_new_string(o->policy));
	json_object_object_add(json, "op", json_object_new_string(op_names[m->op]));
	if (m->cns > 1)
		json_object_object_add(json, "cns", json_object_new_int(m->cns));
	json_object_object_add(json, "threads", json_object_new_int(m->threads));
	json_object_object_add(json, "least_threads", m->least_threads ?
			       json_object_new_int(m->least_threads) : NULL);
	json_object_object_add(json, "throttle", bench_json_number(m->throttle));
	json_object_object_add(json, "depth", json_object_new_int(m->depth));
	json_object_object_add(json, "batch", json_object_new_int(m->batch));
	json_object_object_add(json, "size", json_object_new_int(m->size));
	json_object_object_add(json, "mns", json_object_new_int(m->nodes));
	json_object_object_add(json, "region", json_object_new_uint64(m->region));
	json_object_object_add(json, "seed", json_object_new_uint64(m->seed));
	json_object_object_add(json, "ops", json_object_new_int64(r->ops));
	json_object_object_add(json, "seconds", bench_json_number(r->seconds));
	json_object_object_add(json, "mops", bench_json_number(r->mops));
	json_object_object_add(json, "doorbells_per_op",
			       bench_json_number(r->doorbells_per_op));
	if (m->redundant_keys) {
		json_object_object_add(json, "redundant_per_op",
				       bench_json_number(r->redundant_per_op));
		json_object_object_add(json, "failed_per_op",
				       bench_json_number(r->failed_per_op));
	}
	json_object_object_add(json, "threads_per_doorbell", r->is_model ?
			       json_object_new_int(r->threads_per_doorbell) : NULL);
	json_object_object_add(json, "outstanding_max",
			       json_object_new_int(r->outstanding_max));
	json_object_object_add(json, "wqe_miss_rate", bench_json_number(r->wqe_miss_rate));
	json_object_object_add(json, "dram_bytes_per_wr",
			       bench_json_number(r->dram_bytes_per_wr));
	return json;
}

static int print_json(const struct options *o, const struct micro_result *r)
{
	struct json_object *json = result_json(o, r);
	int err = json ? bench_json_write(json, o->json) : -ENOMEM;

	json_object_put(json);
	if (err)
		fprintf(stderr, "far bench micro: %s: %s\n", o->json, strerror(-err));
	return err ? 1 : 0;
}

static void print_text(const struct options *o, const struct micro_result *r)
{
	printf("%.3f Mop/s (%s): threads %u, depth %u, %s of %u bytes, %s\n", r->mops,
	       r->is_model ? "model" : "measured", o->micro.threads, o->micro.depth,
	       op_names[o->micro.op], o->micro.size, o->policy);
	if (o->micro.redundant_keys)
		printf("%.3f redundant per operation: others of the same key at the same "
		       "time; %.3f CAS in vain\n", r->redundant_per_op, r->failed_per_op);
	printf("%.3f doorbells per operation, at most %u operations outstanding\n",
	       r->doorbells_per_op, r->outstanding_max);
	if (r->is_model)
		printf("at most %u threads per doorbell, %.0f bytes of host memory's "
		       "traffic per operation\n", r->threads_per_doorbell,
		       r->dram_bytes_per_wr);
}

static void micro_clean(const void *arg)
{
	micro_remove(arg);
}

int far_bench_micro(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse_option, NULL,
		"Threads post operations to random addresses, ring, and wait.",
		NULL, NULL, NULL,
	};
	struct options o = { .micro = micro_default, .policy = "per-thread-doorbell" };
	struct micro_result result;
	struct progress progress;
	char why[400] = "";
	int err, started;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.nr_nodes && !o.micro.space) {
		fprintf(stderr, "%s: --node: expected with --space NAME\n", argv[0]);
		return FAR_EXIT_USAGE;
	}
	if (o.micro.space) {
		if (!o.nr_nodes)
			o.node[o.nr_nodes++] = "";
		o.micro.nodes = o.nr_nodes;
		o.micro.node = o.node;
	}
	err = interrupt_clean(micro_clean, &o.micro);
	if (err) {
		fprintf(stderr, "%s: cannot wait for signals: %s\n", argv[0],
			far_strerror(err));
		return EXIT_FAILURE;
	}
	started = !progress_start(&progress, "measuring", NULL);
	err = micro_run(&o.micro, why, sizeof(why), &result);
	if (started)
		progress_stop(&progress);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], why);
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	if (o.json)
		return print_json(&o, &result);
	print_text(&o, &result);
	return 0;
}
