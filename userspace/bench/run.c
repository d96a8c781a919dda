// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Workloads on an index: see run.h.
 *
 * Each task draws an operation, does it, and counts it if it ended within the window.
 * The first task that sees the window begin, or end, takes down what the clients have
 * counted until then.
 */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/stats.h"

#define NEVER		UINT64_MAX
#define RUN_AGAIN_NS	UINT64_C(20000000)

struct run_thread {
	struct run *run;
	unsigned idx;			/* in its client */
	unsigned first_task;		/* of all tasks */
	atomic_uint next_task;
	struct far_thread *far_thread;
	struct far_hist latency;	/* one writer: tasks of a thread take turns */
	uint64_t by_kind[YCSB_NR_OPS];
	uint64_t errors;
};

struct run {
	const struct run_conf *conf;
	struct far *const *far;
	void **index;			/* handle per client */
	unsigned nr_clients, nr_threads, nr_tasks;
	struct run_thread *thread;
	uint64_t *task_ops;		/* per task, in the window */
	unsigned slice;
	uint64_t warm_ns, run_ns;	/* of this slice */
	atomic_ullong start;		/* 0: nobody has begun */
	atomic_ullong stop;		/* when max_ops were done; else NEVER */
	atomic_ullong ops;		/* in the window */
	atomic_ullong next_key;
	atomic_int first_error;
	pthread_mutex_t said_lock;
	char said[RUN_SAID_MAX];	/* of first_error */
	atomic_uint marked[2];		/* whether stats were taken */
	struct far_stats stats[2];	/* at the window's begin and end */
	uint64_t written[2];		/* likewise */
};

static void stats_add(struct far_stats *sum, const struct far_stats *more, int sign)
{
	uint64_t *into = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*into); i++)
		into[i] += sign > 0 ? from[i] : -from[i];
}

/* which: 0 begin, 1 end. Once. */
static void run_mark(struct run *run, unsigned which)
{
	struct far_stats one;
	unsigned i;

	if (atomic_exchange(&run->marked[which], 1))
		return;
	for (i = 0; i < run->nr_clients; i++) {
		far_stats_get(run->far[i], &one);
		stats_add(&run->stats[which], &one, 1);
		run->written[which] += far_stats_written(run->far[i]);
	}
}

/* What a task knows. */
struct worker {
	struct run *run;
	struct run_thread *thread;
	struct far_task *task;
	void *index;
	unsigned idx;			/* of all tasks */
	struct gen gen;
	uint64_t intent;		/* when the next operation should begin */
	uint64_t stamp;
	void *key, *value;
};

static unsigned nr_slices(const struct run_conf *conf)
{
	return conf->slices ? conf->slices : 1;
}

static uint64_t run_begin(const struct run *run)
{
	return atomic_load_explicit(&run->start, memory_order_relaxed) +
	       run->warm_ns;
}

static uint64_t run_end(const struct run *run)
{
	uint64_t by_time = run_begin(run) + run->run_ns;
	uint64_t stop = atomic_load_explicit(&run->stop, memory_order_relaxed);

	return stop < by_time ? stop : by_time;
}

static enum ycsb_op worker_draw(struct worker *w)
{
	unsigned at = gen_random(&w->gen) % 100, i;

	for (i = 0; i < YCSB_NR_OPS - 1; i++) {
		if (at < w->run->conf->mix->percent[i])
			break;
		at -= w->run->conf->mix->percent[i];
	}
	return i;
}

/* A key that is there; the newest ones may still be on their way. */
static uint64_t worker_key(struct worker *w)
{
	uint64_t n = atomic_load_explicit(&w->run->next_key, memory_order_relaxed);

	if (w->gen.kind == GEN_LATEST && n - w->run->conf->keys > w->run->nr_tasks)
		gen_grow(&w->gen, n - w->run->nr_tasks);
	return gen_next(&w->gen);
}

/* What a scan gives is looked at, as a program would. */
static int scan_each(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	uint64_t *given = arg;

	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	++*given;
	return 0;
}

static int worker_scan(struct worker *w)
{
	const struct run_conf *conf = w->run->conf;
	struct far_range range = {
		.from = w->key,
		.from_len = conf->data.key_size,
		.max = 1 + gen_random(&w->gen) % YCSB_MAX_SCAN,
	};
	uint64_t given = 0;

	return conf->index->scan(w->task, w->index, &range, scan_each, &given);
}

static int worker_op(struct worker *w, enum ycsb_op op)
{
	const struct run_conf *conf = w->run->conf;
	const struct ycsb_data *data = &conf->data;
	uint64_t number;
	size_t len;
	int err;

	if (op == YCSB_INSERT)
		number = atomic_fetch_add(&w->run->next_key, 1);
	else
		number = worker_key(w);
	ycsb_key(data, number, w->key);
	if (op == YCSB_GET) {
		err = conf->index->get(w->task, w->index, w->key, data->key_size,
				       w->value, data->value_size, &len);
		return err == -ENOENT && w->gen.kind == GEN_LATEST ? 0 : err;
	}
	if (op == YCSB_SCAN)
		return worker_scan(w);
	ycsb_value(data, ++w->stamp, w->value);
	return (op == YCSB_INSERT ? conf->index->insert : conf->index->update)
		(w->task, w->index, w->key, data->key_size, w->value,
		 data->value_size);
}

/* One task publishes how far all are, in percent. */
static void worker_publish(const struct worker *w, uint64_t now)
{
	const struct run_conf *conf = w->run->conf;
	uint64_t all = w->run->warm_ns + w->run->run_ns, percent;

	if (w->idx || !conf->ret_percent || !all)
		return;
	percent = (now - atomic_load_explicit(&w->run->start, memory_order_relaxed)) * 100 /
		  all;
	percent = (100 * w->run->slice + (percent < 100 ? percent : 100)) /
		  nr_slices(conf);
	atomic_store_explicit(conf->ret_percent, percent, memory_order_relaxed);
}

/* Whether far_strerror_last() speaks of this error. */
static int has_words(int err)
{
	return err == -EIO || err == -EHOSTDOWN || err == -ETIMEDOUT || err == -ESTALE;
}

/* The first error counts; but that the client is cut off explains what failed before. */
static void run_fail(struct run *run, const struct far_task *task, int err)
{
	int first;

	pthread_mutex_lock(&run->said_lock);
	first = atomic_load(&run->first_error);
	if (!first || (err == -ESTALE && first != err)) {
		atomic_store(&run->first_error, err);
		snprintf(run->said, sizeof(run->said), "%s",
			 has_words(err) ? far_strerror_last(task) : "");
	}
	pthread_mutex_unlock(&run->said_lock);
}

static void worker_count(struct worker *w, enum ycsb_op op, uint64_t from,
			 uint64_t to, int err)
{
	struct run *run = w->run;

	worker_publish(w, to);
	/* What fails may well take longer than the window. */
	if (err && to >= run_begin(run)) {
		w->thread->errors++;
		run_fail(run, w->task, err);
	}
	if (err || to < run_begin(run) || to >= run_end(run))
		return;
	w->thread->by_kind[op]++;
	run->task_ops[w->idx]++;
	far_hist_add(&w->thread->latency, to - from);
	if (atomic_fetch_add(&run->ops, 1) + 1 == run->conf->max_ops)
		atomic_store(&run->stop, to);
}

/* Open loop: arrivals of a Poisson process, one per task. Returns the intent. */
static uint64_t worker_pace(struct worker *w, uint64_t now)
{
	double mean_ns;

	if (!w->run->conf->rate)
		return now;
	mean_ns = 1e9 * w->run->nr_tasks / w->run->conf->rate;
	w->intent += (uint64_t)(-log(1 - gen_unit(&w->gen)) * mean_ns);
	if (w->intent > now)
		far_sleep(w->task, w->intent - now);
	return w->intent;
}

/* 0, or how long this thread has to pause: the number of threads changes. */
static uint64_t worker_pause_ns(const struct worker *w, uint64_t now)
{
	const struct run_conf *conf = w->run->conf;
	unsigned span = conf->threads_max - conf->threads_min + 1;
	uint64_t since, period, seed;

	if (span == 1 || !conf->change_ns)
		return 0;
	since = now - atomic_load(&w->run->start);
	period = since / conf->change_ns;
	seed = (period + conf->seed) * UINT64_C(0x9e3779b97f4a7c15);
	if (w->thread->idx < conf->threads_min + (seed >> 33) % span)
		return 0;
	return (period + 1) * conf->change_ns - since;
}

static void worker_loop(struct worker *w)
{
	struct run *run = w->run;
	uint64_t now = far_now(w->task), from, rest;
	unsigned down = 0;	/* operations in a row that met a dead memory node */
	enum ycsb_op op;
	int err;

	for (;;) {
		if (now >= run_begin(run))
			run_mark(run, 0);
		if (now >= run_end(run))
			break;
		rest = worker_pause_ns(w, now);
		if (rest) {
			far_sleep(w->task, rest);
			now = far_now(w->task);
			continue;
		}
		op = worker_draw(w);
		from = worker_pace(w, now);
		err = worker_op(w, op);
		now = far_now(w->task);
		worker_count(w, op, from, now, err);
		/*
		 * Neither becomes better. But what was under way when a client was cut
		 * off met a connection that has ended: the next one hears why.
		 */
		down = err == -EHOSTDOWN ? down + 1 : 0;
		if (err == -ESTALE || down == 2)
			break;
	}
	run_mark(run, 1);
}

/* The first task's begin is everybody's. */
static void run_start(struct run *run, uint64_t now)
{
	unsigned long long none = 0;

	atomic_compare_exchange_strong(&run->start, &none, now ? now : 1);
}

static int worker_init(struct worker *w, struct far_task *task,
		       struct run_thread *thread)
{
	struct run *run = thread->run;
	const struct run_conf *conf = run->conf;

	memset(w, 0, sizeof(*w));
	w->run = run;
	w->thread = thread;
	w->task = task;
	w->index = run->index[(thread - run->thread) / conf->threads_max];
	w->idx = thread->first_task + atomic_fetch_add(&thread->next_task, 1);
	w->stamp = (uint64_t)(w->idx + 1) << 40 | (uint64_t)run->slice << 32;
	w->key = far_buf(task, YCSB_MAX_KEY);
	w->value = far_buf(task, conf->data.value_size + 8);
	if (!w->key || !w->value)
		return -ENOMEM;
	return gen_init(&w->gen, conf->mix->kind, conf->keys ? conf->keys : 1,
			conf->theta, conf->seed * 1000003 + w->idx +
			(uint64_t)run->slice * run->nr_tasks);
}

static void worker_main(struct far_task *task, void *arg)
{
	struct run_thread *thread = arg;
	struct worker w;
	int err;

	err = worker_init(&w, task, thread);
	run_start(thread->run, far_now(task));
	w.intent = far_now(task);
	if (err)
		run_fail(thread->run, task, err);
	else
		worker_loop(&w);
}

/* Each client opens the structure. */
static int run_open(struct run *run)
{
	struct far_task *task;
	unsigned i;
	int err = 0;

	for (i = 0; i < run->nr_clients && !err; i++) {
		err = far_enter(run->far[i], &task);
		if (err)
			break;
		err = run->conf->index->open(task, run->conf->name, &run->index[i]);
		if (!err && run->conf->opened)
			err = run->conf->opened(run->conf->opened_arg, task, run->index[i]);
		far_leave(task);
	}
	return err;
}

static void run_close(struct run *run)
{
	unsigned i;

	for (i = 0; i < run->nr_clients; i++)
		if (run->index[i])
			run->conf->index->close(run->index[i]);
}

static void run_free(struct run *run)
{
	free(run->index);
	free(run->thread);
	free(run->task_ops);
}

static int run_alloc(struct run *run)
{
	const struct run_conf *conf = run->conf;
	unsigned i;

	run->nr_threads = run->nr_clients * conf->threads_max;
	run->nr_tasks = run->nr_threads * conf->tasks;
	run->index = calloc(run->nr_clients, sizeof(*run->index));
	run->thread = calloc(run->nr_threads, sizeof(*run->thread));
	run->task_ops = calloc(run->nr_tasks, sizeof(*run->task_ops));
	if (!run->index || !run->thread || !run->task_ops) {
		run_free(run);
		return -ENOMEM;
	}
	for (i = 0; i < run->nr_threads; i++) {
		run->thread[i].run = run;
		run->thread[i].idx = i % conf->threads_max;
		run->thread[i].first_task = i * conf->tasks;
		far_hist_init(&run->thread[i].latency);
	}
	atomic_store(&run->stop, NEVER);
	atomic_store(&run->next_key, conf->keys);
	return 0;
}

/* Starts all threads with main(task, struct run_thread), and waits for their end. */
static int run_threads(struct run *run, void (*main)(struct far_task *, void *))
{
	const struct run_conf *conf = run->conf;
	unsigned i, started;
	int err = 0;

	for (started = 0; started < run->nr_threads; started++) {
		err = far_thread_start(run->far[started / conf->threads_max],
				       conf->tasks, main, &run->thread[started],
				       &run->thread[started].far_thread);
		if (err) {
			atomic_store(&run->stop, 0);
			break;
		}
	}
	for (i = 0; i < started; i++)
		far_thread_join(run->thread[i].far_thread);
	return err;
}

/* What a slice has done is added to the result. */
static void slice_collect(struct run *run, struct run_result *result, double *ret_mops,
			  struct far_stats *ret_stats)
{
	uint64_t window = run_end(run) - run_begin(run);

	*ret_stats = run->stats[1];
	stats_add(ret_stats, &run->stats[0], -1);
	*ret_mops = window ? atomic_load(&run->ops) * 1e3 / window : 0;
	result->ops += atomic_load(&run->ops);
	result->window_ns += window;
	stats_add(&result->stats, ret_stats, 1);
	result->written += run->written[1] - run->written[0];
}

/* What threads and tasks have counted over all slices. */
static void run_collect(struct run *run, struct run_result *result)
{
	unsigned i, k;
	uint64_t least = NEVER;

	result->tasks = run->nr_tasks;
	result->first_error = atomic_load(&run->first_error);
	memcpy(result->said, run->said, sizeof(result->said));
	for (i = 0; i < run->nr_threads; i++) {
		far_hist_merge(&result->latency, &run->thread[i].latency);
		result->errors += run->thread[i].errors;
		for (k = 0; k < YCSB_NR_OPS; k++)
			result->by_kind[k] += run->thread[i].by_kind[k];
	}
	for (i = 0; i < run->nr_tasks; i++)
		if (run->task_ops[i] < least)
			least = run->task_ops[i];
	result->least = least;
	if (result->window_ns)
		result->little = (double)result->latency.sum /
				 ((double)result->window_ns * run->nr_tasks);
}

/* The cache is warm after the first slice; the others only get under way again. */
static void slice_init(struct run *run, unsigned slice)
{
	const struct run_conf *conf = run->conf;
	unsigned i;

	run->slice = slice;
	run->warm_ns = slice && conf->warm_ns > RUN_AGAIN_NS ? RUN_AGAIN_NS : conf->warm_ns;
	run->run_ns = conf->run_ns / nr_slices(conf);
	atomic_store(&run->start, 0);
	atomic_store(&run->stop, NEVER);
	atomic_store(&run->ops, 0);
	memset(run->stats, 0, sizeof(run->stats));
	memset(run->written, 0, sizeof(run->written));
	for (i = 0; i < 2; i++)
		atomic_store(&run->marked[i], 0);
	for (i = 0; i < run->nr_threads; i++)
		atomic_store(&run->thread[i].next_task, 0);
}

static int run_slice(struct run *run, unsigned slice, struct run_result *result)
{
	const struct run_conf *conf = run->conf;
	struct far_stats stats;
	double mops;
	int err;

	slice_init(run, slice);
	err = run_threads(run, worker_main);
	if (err)
		return err;
	slice_collect(run, result, &mops, &stats);
	return conf->between ? conf->between(conf->between_arg, mops, &stats) : 0;
}

int run_workload(struct far *const *far, unsigned nr, const struct run_conf *conf,
		 struct run_result *ret_result)
{
	struct run run = {
		.conf = conf, .far = far, .nr_clients = nr,
		.said_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	unsigned slice;
	int err;

	err = run_alloc(&run);
	if (err)
		return err;
	err = run_open(&run);
	memset(ret_result, 0, sizeof(*ret_result));
	far_hist_init(&ret_result->latency);
	for (slice = 0; slice < nr_slices(conf) && !err; slice++)
		err = run_slice(&run, slice, ret_result);
	if (!err)
		run_collect(&run, ret_result);
	run_close(&run);
	run_free(&run);
	return err;
}

struct load {
	struct run run;
	uint64_t keys;
};

static void load_main(struct far_task *task, void *arg)
{
	struct run_thread *thread = arg;
	struct load *load = (struct load *)thread->run;
	struct worker w;
	uint64_t number;
	int err, none = 0;

	err = worker_init(&w, task, thread);
	while (!err && !atomic_load(&load->run.first_error)) {
		number = atomic_fetch_add(&load->run.next_key, 1);
		if (number >= load->keys)
			break;
		ycsb_key(&load->run.conf->data, number, w.key);
		ycsb_value(&load->run.conf->data, number, w.value);
		err = load->run.conf->index->insert(task, w.index, w.key,
						    load->run.conf->data.key_size,
						    w.value,
						    load->run.conf->data.value_size);
	}
	if (err)
		atomic_compare_exchange_strong(&load->run.first_error, &none, err);
}

int run_load(struct far *const *far, unsigned nr, const struct run_conf *conf)
{
	struct load load = {
		.run = {
			.conf = conf, .far = far, .nr_clients = nr,
			.said_lock = PTHREAD_MUTEX_INITIALIZER,
		},
		.keys = conf->keys,
	};
	int err;

	err = run_alloc(&load.run);
	if (err)
		return err;
	atomic_store(&load.run.next_key, 0);
	err = run_open(&load.run);
	if (err)
		goto close;
	err = run_threads(&load.run, load_main);
	if (!err)
		err = atomic_load(&load.run.first_error);
close:
	run_close(&load.run);
	run_free(&load.run);
	return err;
}
