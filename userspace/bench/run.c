// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Workloads on an index: see run.h.
 *
 * Each task draws an operation, does it, and counts it with its thread. Windows have
 * numbers; 0 is the time to warm up. The first task that finds a window over begins the
 * next one. A thread that finds a new number gives what it has counted to the window
 * that has ended; when the last one has done so, that window is complete, and only then
 * may the one after it end, too.
 */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/deadline.h"
#include "../core/stats.h"

struct run_thread {
	struct run *run;
	unsigned idx;			/* in its client */
	unsigned first_task;		/* of all tasks */
	atomic_uint next_task;
	struct far_thread *far_thread;
	unsigned window;		/* that it counts for */
	unsigned nr_left;		/* tasks that have not ended */
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
	uint64_t *task_ops;		/* per task, in its thread's window */
	struct far_task **task;		/* all, for run_stop() */
	atomic_ullong *since;		/* per task: intent of what is under way; 0: nothing */
	unsigned round;			/* how often it was measured */
	uint64_t warm_ns, window_ns, most_ns, least_ops, max_ops;
	int once;			/* one window */
	atomic_ullong start;		/* 0: nobody has begun */
	atomic_int stop;
	atomic_uint window;		/* that is under way */
	atomic_ullong begin;		/* of it */
	atomic_ullong ops;		/* in it */
	atomic_ullong next_key;

	pthread_mutex_t lock;		/* of all that follows */
	unsigned nr_running;		/* threads */
	unsigned nr_missing;		/* have not given what they counted for the one before */
	struct window part[2];		/* by parity: the one under way, and the one before */
	struct far_stats stats;		/* at the begin of the one under way */
	uint64_t written;		/* likewise */
	uint64_t partial;		/* likewise */
	struct run_result *result;
	int first_error;
	char reason[RUN_REASON_MAX];	/* of first_error */
};

static void stats_add(struct far_stats *sum, const struct far_stats *more, int sign)
{
	uint64_t *into = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*into); i++)
		into[i] += sign > 0 ? from[i] : -from[i];
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

/*
 * Windows
 */

/* What all clients have counted since the last call is added to a window. */
static void window_stats(struct run *run, struct window *window)
{
	struct far_stats one, all = { 0 };
	uint64_t written = 0, partial = 0;
	unsigned i;

	for (i = 0; i < run->nr_clients; i++) {
		far_stats_get(run->far[i], &one);
		stats_add(&all, &one, 1);
		written += far_stats_written(run->far[i]);
		partial += far_stats_partial(run->far[i]);
	}
	window->stats = all;
	stats_add(&window->stats, &run->stats, -1);
	window->written = written - run->written;
	window->partial = partial - run->partial;
	run->stats = all;
	run->written = written;
	run->partial = partial;
}

static uint64_t longest_wait(const struct run *run, uint64_t now)
{
	uint64_t longest = 0, since;
	unsigned i;

	for (i = 0; i < run->nr_tasks; i++) {
		since = atomic_load_explicit(&run->since[i], memory_order_relaxed);
		if (since && since < now && now - since > longest)
			longest = now - since;
	}
	return longest;
}

/* No operation begins any more; with conf->cut those that are under way end, too. */
static void run_stop(struct run *run)
{
	unsigned i;

	if (atomic_exchange(&run->stop, 1) || !run->conf->cut)
		return;
	for (i = 0; i < run->nr_tasks; i++)
		if (run->task[i])
			far_op_expire(run->task[i]);
}

/* All threads have given what they have counted for it. */
static void window_complete(struct run *run, const struct window *window)
{
	struct run_result *result = run->result;
	struct window_brief brief = window_brief(window);

	result->before = (struct window_brief){ 0 };
	if (result->nr_windows)
		result->before = window_brief(&result->last);
	result->last = *window;
	result->nr_windows++;
	result->steady = window_agree(&result->before, &brief);
	if (result->steady || run->once)
		run_stop(run);
}

/* Another thread may have read its clock a little later than this one. */
static uint64_t ns_since(const atomic_ullong *from, uint64_t now)
{
	uint64_t then = atomic_load_explicit(from, memory_order_relaxed);

	return now > then ? now - then : 0;
}

static int run_is_over(const struct run *run, uint64_t now)
{
	return ns_since(&run->start, now) >= run->warm_ns + run->most_ns;
}

static int window_is_over(const struct run *run, uint64_t now)
{
	uint64_t ops = atomic_load_explicit(&run->ops, memory_order_relaxed);

	if (!atomic_load_explicit(&run->window, memory_order_relaxed))
		return ns_since(&run->start, now) >= run->warm_ns;
	if (run->max_ops && ops >= run->max_ops)
		return 1;
	return (ns_since(&run->begin, now) >= run->window_ns && ops >= run->least_ops) ||
	       run_is_over(run, now);
}

/* Ends the window that is under way. */
static void window_end(struct run *run, uint64_t now)
{
	unsigned nr = atomic_load(&run->window);
	struct window *window = &run->part[nr & 1];

	window->ns = ns_since(&run->begin, now);
	window->longest_wait_ns = longest_wait(run, now);
	window_stats(run, window);
	if (nr && (run->once || run_is_over(run, now)))
		run_stop(run);
	window_init(&run->part[(nr + 1) & 1]);
	run->nr_missing = run->nr_running;
	atomic_store(&run->ops, 0);
	atomic_store(&run->begin, now);
	atomic_store(&run->window, nr + 1);
}

/* What a thread has counted goes to the window that it counts for. */
static void thread_give(struct run_thread *thread)
{
	struct run *run = thread->run;
	struct window *window = &run->part[thread->window & 1];
	unsigned i, tasks = run->conf->tasks;

	window->ops += thread->latency.count;
	for (i = 0; i < YCSB_NR_OPS; i++)
		window->by_kind[i] += thread->by_kind[i];
	for (i = thread->first_task; i < thread->first_task + tasks; i++) {
		if (run->task_ops[i] < window->least)
			window->least = run->task_ops[i];
		run->task_ops[i] = 0;
	}
	far_hist_merge(&window->latency, &thread->latency);
	memset(thread->by_kind, 0, sizeof(thread->by_kind));
	far_hist_init(&thread->latency);
}

/* The thread counts for the window that is under way from now on. */
static void thread_follow(struct run_thread *thread)
{
	struct run *run = thread->run;
	unsigned nr = atomic_load(&run->window);

	if (thread->window == nr)
		return;
	thread_give(thread);
	if (!--run->nr_missing && thread->window)
		window_complete(run, &run->part[thread->window & 1]);
	thread->window = nr;
}

/*
 * In sim, where one thread of the system runs all, no thread is waited for: those whose tasks all
 * starve would keep the others from the next window, and the run from its end.
 */
static void run_follow(struct run *run)
{
	unsigned i;

	for (i = 0; i < run->nr_threads && run->conf->cut; i++)
		if (run->thread[i].nr_left)
			thread_follow(&run->thread[i]);
}

/* A task looks at the clock, between two operations. */
static void thread_look(struct run_thread *thread, uint64_t now)
{
	struct run *run = thread->run;

	if (thread->window == atomic_load_explicit(&run->window, memory_order_acquire) &&
	    !window_is_over(run, now))
		return;
	pthread_mutex_lock(&run->lock);
	thread_follow(thread);
	if (!run->nr_missing && !atomic_load(&run->stop) && window_is_over(run, now)) {
		window_end(run, now);
		thread_follow(thread);
		run_follow(run);
	}
	pthread_mutex_unlock(&run->lock);
}

/* A task has ended. The last one of all ends the window, if errors have ended them. */
static void thread_leave(struct run_thread *thread, uint64_t now)
{
	struct run *run = thread->run;

	if (--thread->nr_left)
		return;
	pthread_mutex_lock(&run->lock);
	thread_follow(thread);
	if (run->nr_running == 1 && !atomic_load(&run->stop) && thread->window) {
		window_end(run, now);
		thread_follow(thread);
	} else
		thread_give(thread);
	run->nr_running--;
	pthread_mutex_unlock(&run->lock);
}

/*
 * Operations
 */

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

/* One more than the number that the value begins with. */
static enum far_modified worker_add(void *arg, struct far_value *value)
{
	const struct worker *w = arg;
	size_t size = w->run->conf->data.value_size;
	uint64_t number = 0;

	memcpy(&number, value->data ? value->data : "",
	       value->len < sizeof(number) ? value->len : sizeof(number));
	number++;
	memcpy(w->value, &number, size < sizeof(number) ? size : sizeof(number));
	*value = (struct far_value) { w->value, size };
	return FAR_STORE;
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
	if (op == YCSB_MODIFY)
		return conf->index->modify(w->task, w->index, w->key, data->key_size,
					   worker_add, w);
	ycsb_value(data, ++w->stamp, w->value);
	/* YCSB's updates are of keys that are there: a put, which others may overwrite */
	return (op == YCSB_INSERT ? conf->index->insert : conf->index->put)
		(w->task, w->index, w->key, data->key_size, w->value,
		 data->value_size);
}

/* One task publishes how far the first run is, in percent; one that goes on passes 100. */
static void worker_publish(const struct worker *w, uint64_t now)
{
	const struct run *run = w->run;
	uint64_t all = run->warm_ns + run->conf->run_ns, percent;

	if (w->idx || run->round || !run->conf->ret_percent || !all)
		return;
	percent = ns_since(&run->start, now) * 100 / all;
	atomic_store_explicit(run->conf->ret_percent, percent, memory_order_relaxed);
}

/* True if far_strerror_last() speaks of this error. */
static int has_words(int err)
{
	return err == -EIO || err == -EHOSTDOWN || err == -ETIMEDOUT || err == -ESTALE ||
	       err == -ENOSPC;
}

/* The first error counts; but that the client is cut off explains what failed before. */
static void run_fail(struct run *run, const struct far_task *task, int err)
{
	pthread_mutex_lock(&run->lock);
	if (!run->first_error || (err == -ESTALE && run->first_error != err)) {
		run->first_error = err;
		snprintf(run->reason, sizeof(run->reason), "%s",
			 has_words(err) ? far_strerror_last(task) : "");
	}
	pthread_mutex_unlock(&run->lock);
}

static int run_has_stopped(const struct run *run)
{
	return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

/* Operations count for the window in which they end. */
static void worker_count(struct worker *w, enum ycsb_op op, uint64_t from,
			 uint64_t to, int err)
{
	struct run_thread *thread = w->thread;

	worker_publish(w, to);
	thread_look(thread, to);
	if (!thread->window || (err == -ETIME && w->run->conf->cut && run_has_stopped(w->run)))
		return;
	if (err) {
		thread->errors++;
		run_fail(w->run, w->task, err);
		return;
	}
	thread->by_kind[op]++;
	w->run->task_ops[w->idx]++;
	far_hist_add(&thread->latency, to - from);
	atomic_fetch_add_explicit(&w->run->ops, 1, memory_order_relaxed);
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

static int worker_once(struct worker *w, uint64_t *now)
{
	atomic_ullong *since = &w->run->since[w->idx];
	enum ycsb_op op = worker_draw(w);
	uint64_t from = worker_pace(w, *now);
	int err;

	atomic_store_explicit(since, from, memory_order_relaxed);
	err = worker_op(w, op);
	atomic_store_explicit(since, 0, memory_order_relaxed);
	*now = far_now(w->task);
	worker_count(w, op, from, *now, err);
	return err;
}

static void worker_loop(struct worker *w)
{
	struct run *run = w->run;
	uint64_t now = far_now(w->task), rest;
	unsigned down = 0;	/* operations in a row that met a dead memory node */
	int err;

	thread_look(w->thread, now);
	while (!run_has_stopped(run)) {
		rest = worker_pause_ns(w, now);
		if (rest) {
			far_sleep(w->task, rest);
			now = far_now(w->task);
			thread_look(w->thread, now);
			continue;
		}
		err = worker_once(w, &now);
		/*
		 * Neither becomes better. But what was under way when a client was cut
		 * off met a connection that has ended: the next one hears why.
		 */
		down = err == -EHOSTDOWN ? down + 1 : 0;
		if (err == -ESTALE || down == 2)
			break;
	}
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
	w->stamp = (uint64_t)(w->idx + 1) << 40 | (uint64_t)run->round << 32;
	w->key = far_buf(task, YCSB_MAX_KEY);
	w->value = far_buf(task, conf->data.value_size + 8);
	if (!w->key || !w->value)
		return -ENOMEM;
	return gen_init(&w->gen, conf->mix->kind, conf->keys ? conf->keys : 1,
			conf->theta, conf->seed * 1000003 + w->idx +
			(uint64_t)run->round * run->nr_tasks);
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
	else {
		thread->run->task[w.idx] = task;
		worker_loop(&w);
		thread->run->task[w.idx] = NULL;
	}
	thread_leave(thread, far_now(task));
}

/*
 * Runs
 */

/* Each client opens the structure. */
static int index_open(struct run *run)
{
	struct far_task *task;
	unsigned i;
	int err = 0;

	for (i = 0; i < run->nr_clients && !err; i++) {
		err = far_enter(run->far[i], &task);
		if (err)
			break;
		err = run->conf->index->open(task, run->conf->name, &run->index[i]);
		if (!err && run->conf->prepare)
			run->conf->prepare(run->index[i]);
		if (!err && run->conf->opened)
			err = run->conf->opened(run->conf->opened_arg, task, run->index[i]);
		far_leave(task);
	}
	return err;
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
	run->since = calloc(run->nr_tasks, sizeof(*run->since));
	run->task = calloc(run->nr_tasks, sizeof(*run->task));
	if (!run->index || !run->thread || !run->task_ops || !run->since || !run->task)
		return -ENOMEM;
	for (i = 0; i < run->nr_threads; i++) {
		run->thread[i].run = run;
		run->thread[i].idx = i % conf->threads_max;
		run->thread[i].first_task = i * conf->tasks;
	}
	atomic_store(&run->next_key, conf->keys);
	return 0;
}

void run_close(struct run *run)
{
	unsigned i;

	for (i = 0; run->index && i < run->nr_clients; i++)
		if (run->index[i])
			run->conf->index->close(run->index[i]);
	free(run->index);
	free(run->thread);
	free(run->task_ops);
	free(run->since);
	free(run->task);
	pthread_mutex_destroy(&run->lock);
	free(run);
}

int run_open(struct far *const *far, unsigned nr, const struct run_conf *conf,
	     struct run **ret_run)
{
	struct run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	run->conf = conf;
	run->far = far;
	run->nr_clients = nr;
	pthread_mutex_init(&run->lock, NULL);
	err = run_alloc(run);
	if (!err)
		err = index_open(run);
	if (err)
		run_close(run);
	else
		*ret_run = run;
	return err;
}

/* Nobody has begun, and nothing is counted. */
static void run_reset(struct run *run, struct run_result *result)
{
	unsigned i;

	run->result = result;
	memset(result, 0, sizeof(*result));
	window_init(&result->last);
	window_init(&run->part[0]);
	window_stats(run, &run->part[0]);
	run->nr_running = run->nr_threads;
	run->nr_missing = 0;
	run->first_error = 0;
	run->reason[0] = 0;
	atomic_store(&run->start, 0);
	atomic_store(&run->stop, 0);
	atomic_store(&run->window, 0);
	atomic_store(&run->ops, 0);
	memset(run->task_ops, 0, run->nr_tasks * sizeof(*run->task_ops));
	for (i = 0; i < run->nr_threads; i++) {
		far_hist_init(&run->thread[i].latency);
		memset(run->thread[i].by_kind, 0, sizeof(run->thread[i].by_kind));
		run->thread[i].errors = 0;
		run->thread[i].window = 0;
		run->thread[i].nr_left = run->conf->tasks;
		atomic_store(&run->thread[i].next_task, 0);
	}
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
			atomic_store(&run->stop, 1);
			break;
		}
	}
	for (i = 0; i < started; i++)
		far_thread_join(run->thread[i].far_thread);
	return err;
}

static int run_go(struct run *run, struct run_result *result)
{
	const struct window *last = &result->last;
	unsigned i;
	int err;

	run_reset(run, result);
	err = run_threads(run, worker_main);
	run->round++;
	if (err)
		return err;
	result->tasks = run->nr_tasks;
	result->first_error = run->first_error;
	memcpy(result->reason, run->reason, sizeof(result->reason));
	for (i = 0; i < run->nr_threads; i++)
		result->errors += run->thread[i].errors;
	if (last->ops)
		result->fairness = (double)last->least * run->nr_tasks / (double)last->ops;
	if (last->ns)
		result->little = (double)last->latency.sum /
				 ((double)last->ns * run->nr_tasks);
	return 0;
}

int run_measure(struct run *run, struct run_result *ret_result)
{
	const struct run_conf *conf = run->conf;
	uint64_t half = (conf->run_ns + 1) / 2;

	run->once = conf->max_ops != 0;
	run->max_ops = conf->max_ops;
	run->warm_ns = conf->warm_ns;
	run->window_ns = run->once ? conf->run_ns :
			 half > conf->cycle_ns ? half : conf->cycle_ns;
	run->most_ns = run->once ? conf->run_ns : 2 * RUN_MOST * run->window_ns;
	run->least_ops = run->once ? 0 : WINDOW_LEAST_OPS;
	return run_go(run, ret_result);
}

int run_glance(struct run *run, uint64_t warm_ns, uint64_t ns,
	       struct run_result *ret_result)
{
	run->once = 1;
	run->max_ops = 0;
	run->warm_ns = warm_ns;
	run->window_ns = run->most_ns = ns;
	run->least_ops = 0;
	return run_go(run, ret_result);
}

static void load_main(struct far_task *task, void *arg)
{
	struct run_thread *thread = arg;
	struct run *run = thread->run;
	const struct ycsb_data *data = &run->conf->data;
	struct worker w;
	uint64_t number;
	int err;

	err = worker_init(&w, task, thread);
	while (!err && !atomic_load(&run->stop)) {
		number = atomic_fetch_add(&run->next_key, 1);
		if (number >= run->conf->keys)
			break;
		ycsb_key(data, number, w.key);
		ycsb_value(data, number, w.value);
		err = run->conf->index->insert(task, w.index, w.key, data->key_size,
					       w.value, data->value_size);
	}
	if (!err)
		return;
	run_fail(run, task, err);
	atomic_store(&run->stop, 1);
}

int run_load(struct far *const *far, unsigned nr, const struct run_conf *conf)
{
	struct run *run;
	int err = run_open(far, nr, conf, &run);

	if (err)
		return err;
	atomic_store(&run->next_key, 0);
	err = run_threads(run, load_main);
	if (!err)
		err = run->first_error;
	run_close(run);
	return err;
}
