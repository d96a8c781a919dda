// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Workload B of YCSB (95 % gets) on a store that other people use, with the keys, the
 * values and the skew of `far bench index`. scripts/bench-peers runs it beside libfar.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../ycsb.h"
#include "peer.h"

#define KEY_SIZE	8u
#define THETA		0.99
#define MAX_THREADS	64u
#define MAX_VALUE	65536u

static const struct peer *const peers[] = { &peer_redis, &peer_memcached, &peer_lmdb };

struct options {
	const struct peer *peer;
	const char *where;
	uint64_t keys;
	uint32_t value_size;
	unsigned threads, depth, ms;
};

struct worker {
	const struct options *o;
	pthread_t thread;
	void *conn;
	struct gen gen;
	_Atomic uint64_t done;	/* operations */
	int err;
	uint8_t keys[PEER_MAX_DEPTH][KEY_SIZE];
	uint8_t *value;
};

static _Atomic int stop;

static void op_set(struct worker *w, struct peer_op *op, unsigned i, uint64_t key, int put)
{
	const struct ycsb_data data = {
		.key_type = YCSB_KEY_INT, .key_size = KEY_SIZE,
		.value_size = w->o->value_size,
	};

	ycsb_key(&data, key, w->keys[i]);
	*op = (struct peer_op){ .key = w->keys[i], .key_len = KEY_SIZE,
				.value_len = w->o->value_size };
	if (put) {
		ycsb_value(&data, key, w->value);
		op->value = w->value;
	}
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct peer_op ops[PEER_MAX_DEPTH];
	unsigned i;

	while (!w->err && !atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (i = 0; i < w->o->depth; i++) {
			uint64_t key = gen_next(&w->gen);

			op_set(w, &ops[i], i, key, gen_random(&w->gen) % 100 < 5);
		}
		w->err = w->o->peer->run(w->conn, ops, w->o->depth);
		atomic_fetch_add_explicit(&w->done, w->o->depth, memory_order_relaxed);
	}
	return NULL;
}

/* All keys, by the first worker. */
static int keys_load(struct worker *w)
{
	struct peer_op ops[PEER_MAX_DEPTH];
	unsigned depth = w->o->peer->max_depth;
	uint64_t key = 0;
	unsigned i;
	int err = 0;

	while (key < w->o->keys && !err) {
		for (i = 0; i < depth && key < w->o->keys; i++)
			op_set(w, &ops[i], i, key++, 1);
		err = w->o->peer->run(w->conn, ops, i);
	}
	return err;
}

static uint64_t workers_done(const struct worker *w, unsigned nr)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < nr; i++)
		sum += atomic_load_explicit(&w[i].done, memory_order_relaxed);
	return sum;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void ms_sleep(unsigned ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

/* Operations a second in two windows of ms behind one that does not count. */
static void windows_measure(const struct worker *w, const struct options *o, double rates[2])
{
	double at[3];
	uint64_t done[3];
	unsigned i;

	for (i = 0; i < 3; i++) {
		ms_sleep(o->ms);
		done[i] = workers_done(w, o->threads);
		at[i] = now_s();
	}
	for (i = 0; i < 2; i++)
		rates[i] = (double)(done[i + 1] - done[i]) / (at[i + 1] - at[i]);
}

static int worker_open(struct worker *w, const struct options *o, unsigned nr)
{
	const char *why;

	w->o = o;
	w->value = malloc(MAX_VALUE);
	if (!w->value || gen_init(&w->gen, GEN_SCRAMBLED, o->keys, THETA, nr + 1)) {
		fprintf(stderr, "far-bench-peers: no memory\n");
		return -ENOMEM;
	}
	w->conn = o->peer->open(o->where, &why);
	if (!w->conn) {
		fprintf(stderr, "far-bench-peers: %s '%s': %s\n", o->peer->name, o->where, why);
		return -EIO;
	}
	return 0;
}

static int workers_end(struct worker *w, const struct options *o)
{
	unsigned i;
	int err = 0;

	atomic_store(&stop, 1);
	for (i = 0; i < o->threads; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].err && !err)
			err = w[i].err;
		o->peer->close(w[i].conn);
		free(w[i].value);
	}
	return err;
}

static int bench_run(struct worker *w, const struct options *o)
{
	double rates[2];
	unsigned i;
	int err;

	for (i = 0; i < o->threads; i++)
		if (worker_open(&w[i], o, i))
			return EXIT_FAILURE;
	err = keys_load(&w[0]);
	if (err) {
		fprintf(stderr, "far-bench-peers: loading %s: %s\n", o->peer->name, strerror(-err));
		return EXIT_FAILURE;
	}
	for (i = 0; i < o->threads; i++)
		if (pthread_create(&w[i].thread, NULL, worker_run, &w[i])) {
			fprintf(stderr, "far-bench-peers: no thread\n");
			return EXIT_FAILURE;
		}
	windows_measure(w, o, rates);
	err = workers_end(w, o);
	if (err) {
		fprintf(stderr, "far-bench-peers: %s: %s\n", o->peer->name, strerror(-err));
		return EXIT_FAILURE;
	}
	printf("{\"mops\": %.4f, \"windows_mops\": [%.4f, %.4f]}\n",
	       (rates[0] + rates[1]) / 2e6, rates[0] / 1e6, rates[1] / 1e6);
	return EXIT_SUCCESS;
}

static const struct argp_option argp_rows[] = {
	{ "threads", 't', "N", 0, "each with a connection of its own (1)", 0 },
	{ "keys", 'k', "N", 0, "keys of 8 bytes (100000)", 0 },
	{ "value-size", 'v', "N", 0, "bytes, to 65536 (8)", 0 },
	{ "pipeline", 'p', "N", 0, "operations sent together, to 64, of redis (1)", 0 },
	{ "ms", 'm', "N", 0, "of each of two windows behind a first one (1000)", 0 },
	{ 0 },
};

static unsigned long number(struct argp_state *state, const char *name, const char *arg,
			    unsigned long max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > max)
		argp_error(state, "--%s '%s': expected a number from 1 to %lu", name, arg, max);
	return n;
}

static void peer_set(struct argp_state *state, struct options *o, const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		if (!strcmp(peers[i]->name, name))
			o->peer = peers[i];
	if (!o->peer)
		argp_error(state, "'%s': expected redis, memcached or lmdb", name);
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 't': o->threads = number(state, "threads", arg, MAX_THREADS); break;
	case 'k': o->keys = number(state, "keys", arg, 1000000000); break;
	case 'v': o->value_size = number(state, "value-size", arg, MAX_VALUE); break;
	case 'p': o->depth = number(state, "pipeline", arg, PEER_MAX_DEPTH); break;
	case 'm': o->ms = number(state, "ms", arg, 3600000); break;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "'%s': expected no more than PEER and WHERE", arg);
		if (state->arg_num == 0)
			peer_set(state, o, arg);
		else
			o->where = arg;
		break;
	case ARGP_KEY_END:
		if (!o->where)
			argp_error(state, "expected PEER and WHERE");
		if (o->depth > o->peer->max_depth)
			argp_error(state, "--pipeline %u: expected %u for %s", o->depth,
				   o->peer->max_depth, o->peer->name);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_rows, option_parse, "PEER WHERE",
		"Workload B of YCSB on PEER, which is redis, memcached (WHERE is their UNIX "
		"socket) or lmdb (a directory); prints millions of operations a second as JSON.",
	};
	struct options o = {
		.keys = 100000, .value_size = 8, .threads = 1, .depth = 1, .ms = 1000,
	};
	struct worker *workers;
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	workers = calloc(o.threads, sizeof(*workers));
	if (!workers) {
		fprintf(stderr, "far-bench-peers: no memory\n");
		return EXIT_FAILURE;
	}
	status = bench_run(workers, &o);
	free(workers);
	return status;
}
