// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls of another process by ways that other people use, with the message of far bench rpc:
 * threads that wait for one response each. scripts/bench-rpc runs it beside libfar.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call.h"

#define MAX_THREADS	64u

static const struct call_way *const ways[] = { &call_unix, &call_ucx };

struct options {
	const struct call_way *way;
	const char *where;
	unsigned threads, size;
	uint64_t ops;
};

struct worker {
	const struct options *o;
	pthread_t thread;
	void *conn;
	uint64_t nr;		/* calls */
	uint64_t *ns;		/* of each */
	int err;
};

static pthread_barrier_t barrier;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	uint8_t data[CALL_MAX] = { 0 };
	uint64_t i, begin, nr = w->nr + w->nr / 4;

	for (i = 0; i < nr && !w->err; i++) {
		/* A quarter more, to warm up. */
		if (i == w->nr / 4)
			pthread_barrier_wait(&barrier);
		begin = now_ns();
		memcpy(data, &i, w->o->size < 8 ? w->o->size : 8);
		w->err = w->o->way->call(w->conn, data, w->o->size);
		if (!w->err && memcmp(data, &i, w->o->size < 8 ? w->o->size : 8))
			w->err = -1;
		if (i >= w->nr / 4)
			w->ns[i - w->nr / 4] = now_ns() - begin;
	}
	return NULL;
}

/* Starts a process that serves, and waits until callers may come. */
static pid_t server_start(const struct options *o)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		o->way->serve(o->where, o->threads, ready[1]);
		_exit(EXIT_FAILURE);
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

static int workers_open(struct worker *w, const struct options *o)
{
	const char *why;
	unsigned i;

	for (i = 0; i < o->threads; i++) {
		w[i] = (struct worker) { .o = o, .nr = o->ops / o->threads + 1 };
		w[i].ns = calloc(w[i].nr, sizeof(w[i].ns[0]));
		w[i].conn = w[i].ns ? o->way->open(o->where, &why) : NULL;
		if (!w[i].conn) {
			fprintf(stderr, "far-bench-calls: %s '%s': %s\n", o->way->name, o->where,
				w[i].ns ? why : "no memory");
			return -EIO;
		}
	}
	return 0;
}

static int ns_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int print_result(const struct worker *w, const struct options *o, uint64_t ns)
{
	uint64_t nr = w[0].nr * o->threads, *all = calloc(nr, sizeof(*all));
	unsigned i;

	if (!all)
		return EXIT_FAILURE;
	for (i = 0; i < o->threads; i++)
		memcpy(all + i * w[0].nr, w[i].ns, w[0].nr * sizeof(*all));
	qsort(all, nr, sizeof(*all), ns_compare);
	printf("{\"mops\": %.4f, \"p50_us\": %.3f, \"p99_us\": %.3f}\n", nr * 1e3 / ns,
	       all[nr / 2] / 1e3, all[nr * 99 / 100] / 1e3);
	free(all);
	return EXIT_SUCCESS;
}

static int bench_run(const struct options *o)
{
	struct worker w[MAX_THREADS];
	uint64_t begin;
	unsigned i;
	int err;

	if (workers_open(w, o))
		return EXIT_FAILURE;
	pthread_barrier_init(&barrier, NULL, o->threads + 1);
	for (i = 0; i < o->threads; i++)
		if (pthread_create(&w[i].thread, NULL, worker_run, &w[i]))
			return EXIT_FAILURE;
	pthread_barrier_wait(&barrier);
	begin = now_ns();
	for (i = 0, err = 0; i < o->threads; i++) {
		pthread_join(w[i].thread, NULL);
		err |= w[i].err;
	}
	begin = now_ns() - begin;
	if (err) {
		fprintf(stderr, "far-bench-calls: %s: a call has failed\n", o->way->name);
		return EXIT_FAILURE;
	}
	return print_result(w, o, begin);
}

static unsigned long number(struct argp_state *state, const char *name, const char *arg,
			    unsigned long max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > max)
		argp_error(state, "--%s '%s': a number from 1 to %lu expected", name, arg, max);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned i;

	switch (key) {
	case 't':
		o->threads = number(state, "threads", arg, MAX_THREADS);
		break;
	case 's':
		o->size = number(state, "size", arg, CALL_MAX);
		break;
	case 'o':
		o->ops = number(state, "ops", arg, 100000000);
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num == 1) {
			o->where = arg;
			break;
		}
		for (i = 0; !state->arg_num && i < sizeof(ways) / sizeof(ways[0]); i++)
			if (!strcmp(arg, ways[i]->name))
				o->way = ways[i];
		if (state->arg_num || !o->way)
			argp_error(state, "'%s': unix or ucx expected", arg);
		break;
	case ARGP_KEY_END:
		if (!o->where)
			argp_error(state, "a way and the path of a socket expected");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option rows[] = {
		{ "threads", 't', "N", 0, "each with a connection of its own (1)", 0 },
		{ "size", 's', "N", 0, "bytes of a request and of its response (64)", 0 },
		{ "ops", 'o', "N", 0, "calls of all threads (100000)", 0 },
		{ 0 },
	};
	static const struct argp argp = { rows, parse, "unix|ucx SOCKET",
		"Threads call another process, and wait for each response.", NULL, NULL, NULL };
	struct options o = { .threads = 1, .size = 64, .ops = 100000 };
	pid_t pid;
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.way->serve) {
		fprintf(stderr, "far-bench-calls: built without UCX: libucx-dev was missing\n");
		return EXIT_FAILURE;
	}
	pid = server_start(&o);
	if (pid < 0) {
		fprintf(stderr, "far-bench-calls: the server has ended\n");
		return EXIT_FAILURE;
	}
	err = bench_run(&o);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}
