// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * "far bench index": options, set-up, loading, running, reporting.
 */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <far/far.h>

#include "../base/parse.h"
#include "../bench/cluster.h"
#include "../bench/indexes.h"
#include "../bench/plain.h"
#include "../bench/report.h"
#include "../bench/run.h"
#include "../core/credit.h"
#include "advise.h"
#include "interrupt.h"
#include "progress.h"

#define DEF_KEYS	1000000u
/* The paper's epochs of 528 ms would make a run in sim last for minutes. */
#define SIM_SCALE	0.02

struct options {
	const struct index_kind *kind;
	const char *nic, *variant, *without, *json;
	const struct ycsb_mix *mix;
	struct ycsb_data data;
	uint64_t cns, mns, threads_min, threads_max, change_ns, tasks, qps;
	uint64_t keys, ops, ms, warm_ms, seed, cache, space_size;
	double theta, rate, scale;	/* scale: 0 until somebody says which */
	unsigned without_bits;
	int by_insert, by_image, memory, warm_cache, advise;
	const char *space;		/* that is there; NULL: one of our own */
	const char *node[CLUSTER_MAX_MNS];
	unsigned nr_nodes;		/* named */
};

enum {
	KEY_INDEX = 256, KEY_WORKLOAD, KEY_VARIANT, KEY_WITHOUT, KEY_NIC, KEY_CNS,
	KEY_MNS, KEY_THREADS, KEY_CHANGE, KEY_TASKS, KEY_KEYS, KEY_OPS, KEY_MS,
	KEY_WARM, KEY_THETA, KEY_KEY_SIZE, KEY_KEY_TYPE, KEY_VALUE_SIZE, KEY_CACHE,
	KEY_RATE, KEY_SEED, KEY_JSON, KEY_SPACE, KEY_LOAD, KEY_SCALE,
	KEY_MEMORY, KEY_WARM_CACHE, KEY_ADVISE, KEY_IN, KEY_NODE, KEY_SPAN, KEY_QPS,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "What is run:", 1 },
	{ "index", KEY_INDEX, "NAME", 0, "hash (default), art or btree", 1 },
	{ "workload", KEY_WORKLOAD, "NAME", 0,
	  "A, B, C, D, E or LOAD of YCSB, update or modify (default C)", 1 },
	{ "keys", KEY_KEYS, "N", 0, "keys before it begins (default 1000000)", 1 },
	{ "theta", KEY_THETA, "X", 0, "skew, 0 is uniform (default 0.99)", 1 },
	{ "key-type", KEY_KEY_TYPE, "int|string|email", 0, "what keys look like (int)", 1 },
	{ "key-size", KEY_KEY_SIZE, "N", 0, "bytes, 8 to 256 (default 8)", 1 },
	{ "value-size", KEY_VALUE_SIZE, "N", 0, "bytes, 0 to 1048576 (default 8)", 1 },
	{ "span", KEY_SPAN, "N", 0,
	  "entries of a node of btree, 4 to 128 (default: what suits their size)", 1 },
	{ "load", KEY_LOAD, "image|insert", 0,
	  "how the keys get there: as an image of memory where that can be (default), "
	  "or by inserting each", 1 },
	{ NULL, 0, NULL, 0, "On what:", 2 },
	{ "nic", KEY_NIC, "SPEC", 0, "mem (default), soft, verbs, or sim:PROFILE", 2 },
	{ "cns", KEY_CNS, "N", 0, "compute nodes (default 1)", 2 },
	{ "mns", KEY_MNS, "N", 0, "memory nodes (default 1)", 2 },
	{ "space", KEY_IN, "NAME", 0,
	  "a space that is there, as of 'far space serve'; keys are inserted, and the "
	  "index stays in it (default: a space of its own)", 2 },
	{ "node", KEY_NODE, "ADDR", 0, "with --space: a memory node of it; again for each",
	  2 },
	{ "threads", KEY_THREADS, "N|N..M", 0, "per compute node (default 1)", 2 },
	{ "change-ms", KEY_CHANGE, "N", 0,
	  "with N..M: time between changes of their number", 2 },
	{ "tasks", KEY_TASKS, "N", 0, "per thread (default 8)", 2 },
	{ "qps", KEY_QPS, "N", 0,
	  "queue pairs per memory node, which the threads of a client share (default: each "
	  "its own)", 2 },
	{ "space-size", KEY_SPACE, "SIZE", 0,
	  "of each memory node (default: what the keys need, and some)", 2 },
	{ "cache", KEY_CACHE, "SIZE", 0,
	  "of cached slots per compute node (default 64M)", 2 },
	{ NULL, 0, NULL, 0, "How:", 3 },
	{ "without", KEY_WITHOUT, "LIST", 0,
	  "mechanisms to switch off: throttle, backoff, limit, tasks, combine, "
	  "handover, cache, doorbell", 3 },
	{ "variant", KEY_VARIANT, "NAME", 0,
	  "a paper's structure: race; of btree sherman, sherman-rdwc, smart-bt; or the "
	  "tree with one way to read: whole-leaf, speculation, neighbourhood; of art "
	  "smart-art, smart-art-e-hocl, smart-art-hocl, smart-art-out-of-place, "
	  "art-rowex, lock-free", 3 },
	{ "rate", KEY_RATE, "N", 0,
	  "operations a second of all tasks; 0 is as fast as can be (default)", 3 },
	{ "ms", KEY_MS, "N", 0,
	  "time that is measured, two windows; virtual in sim (default 2000, in sim 20). It "
	  "goes on until two windows agree within 5 %, four times as long at most", 3 },
	{ "warm-ms", KEY_WARM, "N", 0, "time before that (default 500, in sim 5)", 3 },
	{ "ops", KEY_OPS, "N", 0,
	  "one window, of so many at most, be it steady or not", 3 },
	{ "scale", KEY_SCALE, "X", 0,
	  "in sim, of throttling's epochs (8 and 480 ms): 1 is the paper's (default 0.02)", 3 },
	{ "seed", KEY_SEED, "N", 0, "of keys, jitter and sim (default 1)", 3 },
	{ "advise", KEY_ADVISE, NULL, 0,
	  "instead: scans of both trees by value size, and which to take for --value-size "
	  "(default --nic sim:cx6-100)", 3 },
	{ "warm-cache", KEY_WARM_CACHE, NULL, 0,
	  "caches begin full, of the image: of art", 3 },
	{ "memory", KEY_MEMORY, NULL, 0,
	  "also what the index takes in far memory, by a walk behind the run", 3 },
	{ "json", KEY_JSON, "FILE", 0, "results as JSON; - is standard output", 3 },
	{ 0 },
};

static int parse_failed(struct argp_state *state, const char *name, const char *value,
			const char *expected)
{
	argp_error(state, "--%s %s: expected %s", name, value, expected);
	return EINVAL;
}

static int parse_count(struct argp_state *state, const char *name, const char *value,
		       uint64_t min, uint64_t max, uint64_t *ret_value)
{
	char expected[80];

	if (!far_parse_count(value, min, max, ret_value))
		return 0;
	snprintf(expected, sizeof(expected), "a number from %" PRIu64 " to %" PRIu64,
		 min, max);
	return parse_failed(state, name, value, expected);
}

static int parse_real(struct argp_state *state, const char *name, const char *value,
		      double min, double max, double *ret_value)
{
	char expected[80];

	if (!far_parse_real(value, min, max, ret_value))
		return 0;
	snprintf(expected, sizeof(expected), "a number from %g to %g", min, max);
	return parse_failed(state, name, value, expected);
}

static int parse_size(struct argp_state *state, const char *name, const char *value,
		      uint64_t min, uint64_t *ret_value)
{
	if (!far_parse_size(value, min, UINT64_C(1) << 40, ret_value))
		return 0;
	return parse_failed(state, name, value, "a size such as 64M, at most 1T");
}

/* What is run. */
static int parse_what(int key, char *arg, struct argp_state *state,
		      struct options *o)
{
	uint64_t n;

	switch (key) {
	case KEY_INDEX:
		o->kind = index_find(arg);
		return o->kind ? 0 : parse_failed(state, "index", arg,
						  "hash, art or btree");
	case KEY_WORKLOAD:
		o->mix = ycsb_find(arg);
		return o->mix ? 0 : parse_failed(state, "workload", arg,
						 "A, B, C, D, E, LOAD, update or modify");
	case KEY_KEYS:
		return parse_count(state, "keys", arg, 1, UINT64_C(10000000000),
				   &o->keys);
	case KEY_THETA:
		return parse_real(state, "theta", arg, 0, 5, &o->theta);
	case KEY_KEY_TYPE:
		if (ycsb_key_type_parse(arg, &o->data.key_type))
			return parse_failed(state, "key-type", arg, "int, string or email");
		return 0;
	case KEY_KEY_SIZE:
		if (parse_count(state, "key-size", arg, 8, YCSB_MAX_KEY, &n))
			return EINVAL;
		o->data.key_size = n;
		return 0;
	case KEY_VALUE_SIZE:
		if (parse_count(state, "value-size", arg, 0, 1 << 20, &n))
			return EINVAL;
		o->data.value_size = n;
		return 0;
	case KEY_SPAN:
		if (parse_count(state, "span", arg, 4, 128, &n))
			return EINVAL;
		o->data.span = n;
		return 0;
	case KEY_LOAD:
		o->by_insert = !strcmp(arg, "insert");
		o->by_image = !strcmp(arg, "image");
		if (!o->by_insert && !o->by_image)
			return parse_failed(state, "load", arg, "image or insert");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* On what it is run. */
static int parse_where(int key, char *arg, struct argp_state *state,
		       struct options *o)
{
	double ms;

	switch (key) {
	case KEY_NIC:
		o->nic = far_arg_bench_nic(state, arg);
		return 0;
	case KEY_IN:
		o->space = arg;
		return 0;
	case KEY_NODE:
		if (o->nr_nodes == CLUSTER_MAX_MNS)
			return parse_failed(state, "node", arg, "at most 64 of them");
		o->node[o->nr_nodes++] = far_arg_node(state, arg);
		return 0;
	case KEY_CNS:
		return parse_count(state, "cns", arg, 1, CLUSTER_MAX_CNS, &o->cns);
	case KEY_MNS:
		return parse_count(state, "mns", arg, 1, CLUSTER_MAX_MNS, &o->mns);
	case KEY_THREADS:
		if (far_parse_span(arg, 1, 1024, &o->threads_min, &o->threads_max))
			return parse_failed(state, "threads", arg, "N or N..M, from 1 to 1024");
		return 0;
	case KEY_CHANGE:
		if (parse_real(state, "change-ms", arg, 0.001, 1e6, &ms))
			return EINVAL;
		o->change_ns = ms * 1e6;
		return 0;
	case KEY_TASKS:
		return parse_count(state, "tasks", arg, 1, 1024, &o->tasks);
	case KEY_QPS:
		return parse_count(state, "qps", arg, 1, FAR_SHARE_MAX, &o->qps);
	case KEY_SPACE:
		return parse_size(state, "space-size", arg, 4 << 20, &o->space_size);
	case KEY_CACHE:
		return parse_size(state, "cache", arg, 1, &o->cache);
	}
	return ARGP_ERR_UNKNOWN;
}

/* How it is run. */
static int parse_how(int key, char *arg, struct argp_state *state, struct options *o)
{
	const char *bad;

	switch (key) {
	case KEY_WITHOUT:
		o->without = arg;
		if (far_without_parse(arg, &o->without_bits, &bad))
			return parse_failed(state, "without", bad,
					    "throttle, backoff, limit, tasks, combine, "
					    "handover, cache or doorbell");
		return 0;
	case KEY_VARIANT:
		o->variant = arg;
		return 0;
	case KEY_RATE:
		return parse_real(state, "rate", arg, 0, 1e12, &o->rate);
	case KEY_MS:
		return parse_count(state, "ms", arg, 1, 100000000, &o->ms);
	case KEY_WARM:
		return parse_count(state, "warm-ms", arg, 0, 100000000, &o->warm_ms);
	case KEY_OPS:
		return parse_count(state, "ops", arg, 1, UINT64_MAX, &o->ops);
	case KEY_SCALE:
		return parse_real(state, "scale", arg, 0.0001, 1, &o->scale);
	case KEY_SEED:
		return parse_count(state, "seed", arg, 1, UINT64_MAX, &o->seed);
	case KEY_ADVISE:
		o->advise = 1;
		return 0;
	case KEY_WARM_CACHE:
		o->warm_cache = 1;
		return 0;
	case KEY_MEMORY:
		o->memory = 1;
		return 0;
	case KEY_JSON:
		o->json = far_arg_output(state, "--json", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err;

	if (key == ARGP_KEY_SUCCESS) {
		if (o->change_ns && o->threads_min == o->threads_max)
			argp_error(state, "--change-ms: expected with --threads N..M");
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s': only options are expected", arg);
	err = parse_what(key, arg, state, o);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_where(key, arg, state, o);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_how(key, arg, state, o);
	return err;
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Runs a workload of YCSB on an index in far memory, and prints throughput, "
	       "latency, and what each operation cost.",
};

static int is_sim(const struct options *o)
{
	return !strncmp(o->nic, "sim:", 4);
}

/* Checks --space and --node. 0, or an exit status. */
static int options_space(struct options *o)
{
	const char *wrong = NULL;

	if (o->nr_nodes && !o->space)
		wrong = "--node: expected with --space NAME";
	else if (o->space && o->by_image)
		wrong = "--load image: expected insert with --space, whose memory is "
			"elsewhere";
	else if (o->space && is_sim(o))
		wrong = "--space: expected mem or soft, sim has no space that is there";
	if (wrong) {
		fprintf(stderr, "far: %s\n", wrong);
		return FAR_EXIT_USAGE;
	}
	if (o->space) {
		o->by_insert = 1;
		o->mns = o->nr_nodes ? o->nr_nodes : 1;
		if (!o->nr_nodes)
			o->node[0] = "";
	}
	return 0;
}

/* What the index takes of it all. 0, or an exit status. */
static int options_index(const struct options *o)
{
	const struct index_kind *kind = o->kind;
	const char *name = kind->ops->name;

	if (o->variant && kind->variant(o->variant))
		fprintf(stderr, "far: --variant %s: %s has %s\n", o->variant, name, kind->variants);
	else if (o->mix->percent[YCSB_SCAN] && !kind->ops->scan)
		fprintf(stderr, "far: --workload %s: %s keeps no order of keys; expected "
			"art or btree\n", o->mix->name, name);
	else if (o->mix->percent[YCSB_MODIFY] && o->variant && kind->ops == &index_ops_art)
		fprintf(stderr, "far: --workload %s: a variant of %s is changed by no function\n",
			o->mix->name, name);
	else if (kind->most_value && (o->data.value_size < kind->least_value ||
				      o->data.value_size > kind->most_value))
		fprintf(stderr, "far: --value-size %u: values of %s have %u to %u bytes\n",
			o->data.value_size, name, kind->least_value, kind->most_value);
	else if (o->data.span && !kind->has_span)
		fprintf(stderr, "far: --span %u: expected with --index btree, and not %s\n",
			o->data.span, name);
	else if (o->memory && !kind->memory)
		fprintf(stderr, "far: --memory: %s cannot tell; expected --index art\n", name);
	else if (o->warm_cache && (!kind->warm || o->by_insert || o->space))
		fprintf(stderr, "far: --warm-cache: expected an index of an image: art\n");
	else
		return 0;
	return FAR_EXIT_USAGE;
}

/* --advise chooses structures and workload itself, and prints a table. */
static int options_advise(const struct options *o)
{
	const char *beside = o->kind ? "index" : o->mix ? "workload" :
			     o->variant ? "variant" : o->space ? "space" :
			     o->by_insert ? "load insert" : o->data.span ? "span" :
			     o->memory ? "memory" : o->warm_cache ? "warm-cache" :
			     o->json ? "json" : NULL;

	if (!beside)
		return 0;
	fprintf(stderr, "far: --advise: expected without --%s\n", beside);
	return FAR_EXIT_USAGE;
}

/* What depends on other options. 0, or an exit status. */
static int options_complete(struct options *o)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t block = (o->data.key_size + o->data.value_size + 24 + 63) / 64 * 64;

	if (options_space(o))
		return FAR_EXIT_USAGE;
	if (o->scale > 0 && !is_sim(o)) {
		fprintf(stderr, "far: --scale %g: expected with --nic sim:PROFILE\n", o->scale);
		return FAR_EXIT_USAGE;
	}
	if (o->data.key_size < ycsb_least_key(o->data.key_type)) {
		fprintf(stderr, "far: --key-size %u: %s keys have %u to %u bytes\n",
			o->data.key_size, ycsb_key_type_name(o->data.key_type),
			ycsb_least_key(o->data.key_type), YCSB_MAX_KEY);
		return FAR_EXIT_USAGE;
	}
	if (!o->ms)
		o->ms = is_sim(o) ? 20 : 2000;
	if (o->warm_ms == UINT64_MAX)
		o->warm_ms = is_sim(o) ? 5 : 500;
	if (o->threads_min != o->threads_max && !o->change_ns)
		o->change_ns = (o->ms / 8 + 1) * 1000000;
	/* Blocks, slots at half load, and chunks in the hand of each thread. */
	if (!o->space_size)
		o->space_size = (o->keys * (2 * block + 32) +
				 o->cns * o->threads_max * (UINT64_C(4) << 20)) / o->mns +
				(UINT64_C(256) << 20);
	if (!o->space && o->space_size > memory / o->mns) {
		fprintf(stderr, "far: --keys %" PRIu64 ": %" PRIu64 " nodes of %" PRIu64
			" bytes: expected at most the %" PRIu64 " bytes of this machine\n",
			o->keys, o->mns, o->space_size, memory);
		return FAR_EXIT_USAGE;
	}
	return 0;
}

static int load_image(struct cluster *cluster, const struct options *o,
		      struct far_task *task, const char *name)
{
	void *base[CLUSTER_MAX_MNS];
	int err = cluster_map(cluster, base);

	return err ? err : index_create(o->kind, task, name, o->keys, &o->data, base);
}

static int load(struct cluster *cluster, const struct options *o,
		const struct run_conf *conf)
{
	struct far_task *task;
	struct progress progress;
	int err, started = !progress_start(&progress, "loading keys", NULL);

	err = far_enter(cluster->far[0], &task);
	if (err)
		goto stop_progress;
	if (o->by_insert)
		err = index_create(o->kind, task, conf->name, o->keys, &o->data, NULL);
	else
		err = load_image(cluster, o, task, conf->name);
	far_leave(task);
	if (!err && o->by_insert)
		err = run_load(cluster->far, cluster->nr_clients, conf);
stop_progress:
	if (started)
		progress_stop(&progress);
	return err;
}

/*
 * The plain loop beside the index, which is warm by then: the two take turns, since what
 * else the machine does in the meantime should hit both. The medians are what is said.
 */
#define SLICES	25u

struct beside {
	unsigned nr;
	double mops[SLICES], ratio[SLICES];
};

static int plain_beside(struct run *run, struct far_nic *nic, const struct run_conf *conf,
			struct beside *beside)
{
	static struct run_result glance;
	struct run_conf plain = *conf;
	const struct far_stats *s = &glance.last.stats;
	uint64_t looked, direct;
	double mops;
	int err;

	plain.run_ns /= SLICES;
	plain.warm_ns /= SLICES;
	while (beside->nr < SLICES) {
		err = run_glance(run, plain.warm_ns, plain.run_ns, &glance);
		if (err)
			return err;
		looked = s->cache_hits + s->cache_misses;
		direct = s->cache_hits - glance.last.partial;
		err = plain_run(nic, &plain, looked ? (double)direct / looked : 0, &mops);
		if (err || mops <= 0)
			return err == -EOPNOTSUPP ? 0 : err;
		beside->mops[beside->nr] = mops;
		beside->ratio[beside->nr++] = window_brief(&glance.last).mops / mops;
	}
	return 0;
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 0: there are none. */
static double median(double *value, unsigned nr)
{
	qsort(value, nr, sizeof(*value), order);
	return nr ? value[nr / 2] : 0;
}

/* True if the loop can be run where and as the index is. */
static int plain_fits(const struct cluster *cluster, const struct run_conf *conf)
{
	return !cluster->sim && cluster->has_space && cluster->nr_clients == 1 &&
	       !conf->rate && conf->threads_min == conf->threads_max && !conf->max_ops;
}

/* beside: for the plain loop, where it fits; or NULL. */
static int measure(const struct cluster *cluster, struct run_conf *conf,
		   struct beside *beside, struct run_result *result)
{
	atomic_uint percent = 0;
	struct progress progress;
	struct run *run;
	int err, started;

	conf->ret_percent = &percent;
	err = run_open(cluster->far, cluster->nr_clients, conf, &run);
	if (err)
		return err;
	started = !progress_start(&progress, "measuring", &percent);
	err = run_measure(run, result);
	if (!err && beside && plain_fits(cluster, conf))
		err = plain_beside(run, cluster->nic[0], conf, beside);
	if (started)
		progress_stop(&progress);
	run_close(run);
	return err;
}

static int report_results(const struct options *o, const struct run_conf *conf,
			  const struct run_result *result, struct beside *beside,
			  const struct index_memory *memory)
{
	struct report report = {
		.nic = o->nic,
		.variant = o->variant,
		.without = o->without,
		.cns = o->cns,
		.mns = o->mns,
		.cache_bytes = o->cache,
		.is_model = is_sim(o),
		.conf = conf,
		.plain_mops = median(beside->mops, beside->nr),
		.of_plain = median(beside->ratio, beside->nr),
		.memory = memory,
		.run = result,
	};
	int err = 0;

	if (!o->json || strcmp(o->json, "-"))
		report_table(&report, stdout);
	if (o->json)
		err = report_json(&report, o->json);
	if (err) {
		fprintf(stderr, "far: --json %s: %s\n", o->json, strerror(-err));
		return EXIT_FAILURE;
	}
	if (result->errors) {
		fprintf(stderr, "far: %" PRIu64 " operations failed, the first one: %s%s%s\n",
			result->errors, far_strerror(result->first_error),
			result->reason[0] ? "; " : "", result->reason);
		return EXIT_FAILURE;
	}
	if (!result->last.ops) {
		fprintf(stderr, "far: no operation was completed in %" PRIu64 " ms\n", o->ms);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static void cluster_clean(const void *arg)
{
	cluster_remove(arg);
}

struct warm {
	const struct index_kind *kind;
	void *base[CLUSTER_MAX_MNS];
};

static int warm_one(void *arg, struct far_task *task, void *index)
{
	struct warm *warm = arg;

	return warm->kind->warm(task, index, warm->base);
}

static int memory_walk(struct cluster *cluster, const struct options *o, const char *name,
		       struct index_memory *ret_memory)
{
	struct far_task *task;
	int err = far_enter(cluster->far[0], &task);

	if (err)
		return err;
	err = o->kind->memory(task, name, ret_memory);
	far_leave(task);
	return err;
}

/* What throttling's epochs are multiplied with. */
static double epoch_scale(const struct options *o)
{
	return o->scale > 0 ? o->scale : SIM_SCALE;
}

/* The least window: what throttles, and what it is compared with, in the same time. */
static uint64_t throttle_cycle(const struct options *o)
{
	return is_sim(o) ? (uint64_t)(epoch_scale(o) * FAR_CREDIT_CYCLE_NS) : 0;
}

/* ret_mops: for that alone, and nothing is printed; or NULL. */
static int run_index(const struct options *o, double *ret_mops)
{
	struct cluster_conf cluster_conf = {
		.nic = o->nic,
		.cns = o->cns,
		.mns = o->mns,
		.space = o->space,
		.nodes = o->space ? o->node : NULL,
		.space_size = o->space_size,
		.without = o->without_bits,
		.seed = o->seed,
		.scale = is_sim(o) ? epoch_scale(o) : 1,
		.cache_bytes = o->cache,
		.qps = o->qps,
		.op_ms = is_sim(o) || o->variant ? FAR_NO_DEADLINE : 0, /* papers' may starve */
	};
	char name[32];
	struct run_conf conf = {
		.index = o->kind->ops,
		.prepare = o->kind->prepare,
		.name = name,
		.mix = o->mix,
		.data = o->data,
		.keys = o->keys,
		.theta = o->theta,
		.threads_min = o->threads_min,
		.threads_max = o->threads_max,
		.change_ns = o->change_ns,
		.tasks = o->tasks,
		.rate = o->rate,
		.warm_ns = o->warm_ms * 1000000,
		.run_ns = o->ms * 1000000,
		.cycle_ns = throttle_cycle(o),
		.cut = is_sim(o),
		.max_ops = o->ops,
		.seed = o->seed,
	};
	static struct run_result result;
	struct cluster cluster;
	struct beside beside = { 0 };
	struct warm warm = { .kind = o->kind };
	struct index_memory memory;
	char why[400];
	int err, status = EXIT_FAILURE;

	snprintf(name, sizeof(name), "bench-%ld", (long)getpid());
	err = ret_mops ? 0 : interrupt_clean(cluster_clean, &cluster_conf);
	if (err) {
		fprintf(stderr, "far: cannot wait for signals: %s\n", strerror(-err));
		return EXIT_FAILURE;
	}
	err = cluster_open(&cluster, &cluster_conf, why, sizeof(why));
	if (err) {
		fprintf(stderr, "far: %s\n", why[0] ? why : far_strerror(err));
		return err == -EINVAL ? FAR_EXIT_USAGE : EXIT_FAILURE;
	}
	err = load(&cluster, o, &conf);
	if (err) {
		fprintf(stderr, "far: cannot load %" PRIu64 " keys: %s\n", o->keys,
			far_strerror(err));
		goto close;
	}
	if (o->warm_cache) {
		err = cluster_map(&cluster, warm.base);
		conf.opened = warm_one;
		conf.opened_arg = &warm;
	}
	if (err)
		goto close;
	err = measure(&cluster, &conf, ret_mops ? NULL : &beside, &result);
	if (!err && o->memory)
		err = memory_walk(&cluster, o, name, &memory);
	if (err)
		fprintf(stderr, "far: cannot run %s: %s\n", o->mix->name, far_strerror(err));
	else if (ret_mops && !result.errors) {
		*ret_mops = window_brief(&result.last).mops;
		status = EXIT_SUCCESS;
	} else
		status = report_results(o, &conf, &result, &beside, o->memory ? &memory : NULL);
close:
	cluster_close(&cluster);
	return status;
}

/* Both trees, scans, each size of values. */
static int advise(struct options o)
{
	uint32_t value_size = o.data.value_size;
	struct advise advise;
	int status = EXIT_SUCCESS;
	unsigned i, art;

	o.mix = ycsb_find("E");
	for (i = 0; i < 2 * ADVISE_SIZES && !status; i++) {
		art = i % 2;
		o.kind = index_find(art ? "art" : "btree");
		o.warm_cache = art;
		o.data.ordered = o.kind->ordered;
		o.data.value_size = advise_size[i / 2];
		o.space_size = 0;
		status = options_complete(&o);
		if (!status)
			status = run_index(&o, &(art ? advise.art : advise.btree)[i / 2]);
	}
	if (status)
		return status;
	printf("%s, compute nodes: %u, threads: %u, tasks: %u, memory nodes: %u; %" PRIu64
	       " keys%s\n", o.nic,
	       (unsigned)o.cns, (unsigned)o.threads_max, (unsigned)o.tasks, (unsigned)o.mns,
	       o.keys, is_sim(&o) ? ": model (virtual time)" : "");
	advise_print(&advise, value_size);
	return EXIT_SUCCESS;
}

/* A cluster that is small enough for a minute, where nobody says which. */
static void advise_defaults(struct options *o)
{
	if (o->nic)
		return;
	o->nic = "sim:cx6-100";
	o->keys = o->keys == DEF_KEYS ? 30000 : o->keys;
	o->ms = o->ms ? o->ms : 1;
	o->warm_ms = o->warm_ms == UINT64_MAX ? 1 : o->warm_ms;
	if (o->cns == 1 && o->threads_max == 1) {
		o->cns = 4;
		o->mns = 2;
		o->threads_min = o->threads_max = 8;
	}
}

int far_bench_index(int argc, char **argv)
{
	struct options o = {
		.data = { .key_type = YCSB_KEY_INT, .key_size = 8, .value_size = 8 },
		.cns = 1,
		.mns = 1,
		.threads_min = 1,
		.threads_max = 1,
		.tasks = 8,
		.keys = DEF_KEYS,
		.warm_ms = UINT64_MAX,
		.seed = 1,
		.theta = 0.99,
	};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return EXIT_FAILURE;
	if (o.advise) {
		status = options_advise(&o);
		if (status)
			return status;
		advise_defaults(&o);
		return advise(o);
	}
	if (!o.nic)
		o.nic = "mem";
	if (!o.kind)
		o.kind = index_find("hash");
	if (!o.mix)
		o.mix = ycsb_find("C");
	status = options_index(&o);
	if (status)
		return status;
	o.data.ordered = o.kind->ordered;
	status = options_complete(&o);
	return status ? status : run_index(&o, NULL);
}
