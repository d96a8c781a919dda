// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The benchmark of RPC. All threads are at work until all requests together are done; a
 * quarter of them is not measured.
 */
#include "rpc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/hist.h"
#include "../nic/sim/sim.h"
#include "../rpc/client.h"
#include "../rpc/server.h"
#include "rpc_datagram.h"

#define TIMEOUT_NS	UINT64_C(100000000000)
#define BASELINE_ACTIVE	UINT32_MAX	/* the baselines schedule nothing */
#define LARGE_ONE_IN	10u		/* threads, with --large */
#define COUNTED		16u		/* responses that a thread counts at a time, at most */
#define COUNTS		64u		/* times that a thread counts, at least */
#define STEADY		.05		/* by how much the halves of a run may differ */

const struct rpc_bench rpc_bench_default = {
	.nic = "mem", .cns = 1, .threads = 4, .outstanding = 1, .size = 64,
	.server_threads = 1, .ops = 200000, .seed = 1, .coalesce = true, .place = true,
};

struct run;

/* Functions that a thread calls with, over connections or with datagrams. */
struct calls {
	int (*send)(void *thread, const void *data, size_t len);
	int (*recv)(void *thread, void *data);
};

struct worker {
	struct run *run;
	unsigned cn, idx;		/* of its client */
	struct far_nic_thread *thread;
	uint32_t size;
	unsigned fresh;				/* responses that run->done does not have */
	struct far_hist hist;
	struct far_hist asks[RPC_INDEX_ASKS];	/* of an index, by handler */
	uint64_t requests, doorbells, again;	/* of datagrams */
	uint64_t errors, wrong;
	struct far_rng rng;
};

struct run {
	const struct rpc_bench *bench;
	struct far_sim *sim;
	struct far_nic **nic;		/* the server's, then each client's */
	struct far_rpc_server *server;
	struct datagram_server *datagrams;	/* of this process */
	struct rpc_datagram_server there;	/* in this process or another one */
	struct rpc_index *index;	/* the server's, or NULL */
	uint64_t keys;			/* of the index; 0: there is none */
	struct far_rpc **rpc;
	struct worker *worker;
	unsigned nr;			/* workers */
	uint64_t done;			/* responses; atomic */
	uint64_t begin, half, end;	/* when so many were done; 0: not yet; atomic */
	int err;			/* the first of a thread; atomic */
	char service[FAR_SERVICE_MAX + 1];
};

/* Responses have `size` bytes at most, also if requests are large. */
static size_t echo_datagram(const void *arg, const void *request, size_t len, void *response)
{
	const struct rpc_bench *bench = arg;

	if (len > bench->size)
		len = bench->size;
	memcpy(response, request, len);
	return len;
}

static int echo(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	*ret_len = echo_datagram(arg, request, len, response);
	return 0;
}

static bool is_datagram(const struct run *run)
{
	return run->bench->variant == RPC_DATAGRAM;
}

int rpc_variant_parse(const char *name, enum rpc_variant *ret_variant)
{
	static const char *const names[] = { "combine", "per-thread-qp", "lock-2", "lock-4",
					     "datagram" };
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			*ret_variant = i;
			return 0;
		}
	return -EINVAL;
}

static unsigned bench_qps(const struct rpc_bench *bench)
{
	switch (bench->variant) {
	case RPC_PER_THREAD:
		return bench->threads;
	case RPC_LOCK_4:
		return (bench->threads + 3) / 4;
	case RPC_DATAGRAM:
		return 0;
	case RPC_LOCK_2:
		break;
	case RPC_COMBINE:
		if (bench->qps)
			return bench->qps;
	}
	return (bench->threads + 1) / 2;
}

/* A request under way. */
struct asked {
	uint64_t start;
	unsigned handler;
	uint8_t key[RPC_INDEX_DATAGRAM];	/* of the index, 8 bytes */
};

/* Notes a response, if all threads are at work. */
static void response_note(struct worker *worker, const struct asked *asked, uint64_t now)
{
	struct run *run = worker->run;
	uint64_t begin = __atomic_load_n(&run->begin, __ATOMIC_ACQUIRE);

	if (!begin || now < begin || __atomic_load_n(&run->end, __ATOMIC_ACQUIRE))
		return;
	far_hist_add(&worker->hist, now - asked->start);
	if (run->keys)
		far_hist_add(&worker->asks[asked->handler], now - asked->start);
}

/* Notes the time if the number of responses, which was done - nr, has come to `mark`. */
static void mark_note(uint64_t *time, uint64_t mark, uint64_t done, unsigned nr, uint64_t now)
{
	if (done >= mark && done - nr < mark)
		__atomic_store_n(time, now, __ATOMIC_RELEASE);
}

/* Responses at which the measurement begins; that is half way; that ends it. */
static uint64_t warm_of(const struct rpc_bench *bench)
{
	return bench->ops / 4 + 1;
}

static uint64_t half_of(const struct rpc_bench *bench)
{
	return warm_of(bench) + (bench->ops + 1) * 3 / 8;
}

static uint64_t all_of(const struct rpc_bench *bench)
{
	return warm_of(bench) + 2 * (half_of(bench) - warm_of(bench));
}

/* Responses that a thread counts at a time. */
static unsigned counted_of(const struct run *run)
{
	uint64_t nr = run->sim ? 1 : run->bench->ops / run->nr / COUNTS;

	return nr < 1 ? 1 : nr < COUNTED ? nr : COUNTED;
}

/* Counts a response, some at a time. */
static void progress_note(struct worker *worker, uint64_t now)
{
	struct run *run = worker->run;
	unsigned nr = ++worker->fresh;
	uint64_t done;

	if (nr < counted_of(run))
		return;
	worker->fresh = 0;
	done = __atomic_add_fetch(&run->done, nr, __ATOMIC_ACQ_REL);
	mark_note(&run->begin, warm_of(run->bench), done, nr, now);
	mark_note(&run->half, half_of(run->bench), done, nr, now);
	mark_note(&run->end, all_of(run->bench), done, nr, now);
}

static int rpc_send(void *thread, const void *data, size_t len)
{
	return far_rpc_send(thread, 0, data, len, TIMEOUT_NS);
}

static int rpc_recv(void *thread, void *data)
{
	struct far_rpc_reply reply;

	return far_rpc_recv(thread, data, FAR_RPC_DATA_MAX, &reply);
}

static int dgram_send(void *thread, const void *data, size_t len)
{
	return datagram_send(thread, data, len);
}

static int dgram_recv(void *thread, void *data)
{
	size_t len;

	return datagram_recv(thread, data, FAR_RPC_DATA_MAX, &len);
}

static const struct calls rpc_calls = { rpc_send, rpc_recv };
static const struct calls datagram_calls = { dgram_send, dgram_recv };

static int worker_send(struct worker *worker, void *thread, const struct calls *calls,
		       struct asked *asked, const uint8_t *data)
{
	uint64_t keys = worker->run->keys;

	if (!keys)
		return calls->send(thread, data, worker->size);
	asked->handler = rpc_index_draw(&worker->rng, keys, asked->key);
	if (worker->run->datagrams)
		return datagram_send(thread, asked->key, rpc_index_datagram_fill(asked->key,
										 asked->handler));
	return far_rpc_send(thread, asked->handler, asked->key, 8, TIMEOUT_NS);
}

static int worker_calls(struct worker *worker, const struct calls *calls, void *thread)
{
	const struct rpc_bench *bench = worker->run->bench;
	uint64_t sent = 0, taken = 0, keys = worker->run->keys;
	struct far_nic *nic = worker->run->nic[1 + worker->cn];
	struct asked asked[FAR_RPC_OUTSTANDING_MAX], *oldest;
	uint8_t data[FAR_RPC_DATA_MAX] = { 0 };
	int err;

	do {
		bool over = __atomic_load_n(&worker->run->end, __ATOMIC_ACQUIRE);

		for (; !over && sent - taken < bench->outstanding; sent++) {
			struct asked *next = &asked[sent % FAR_RPC_OUTSTANDING_MAX];

			next->start = nic->ops->now(nic);
			err = worker_send(worker, thread, calls, next, data);
			if (err)
				return err;
		}
		if (sent == taken)
			break;
		/* An answer that fails leaves the buffer as it is, and must not pass for one. */
		if (keys)
			memset(data, 0xff, 8);
		err = calls->recv(thread, data);
		if (err)
			return err;
		oldest = &asked[taken % FAR_RPC_OUTSTANDING_MAX];
		response_note(worker, oldest, nic->ops->now(nic));
		if (keys)
			worker->wrong += !rpc_index_is_right(keys, oldest->handler, oldest->key,
							     data, 8);
		progress_note(worker, nic->ops->now(nic));
	} while (++taken);
	return 0;
}

static int worker_rpc(struct worker *worker)
{
	struct far_rpc_thread *thread;
	int err = far_rpc_join(worker->run->rpc[worker->cn], &thread);

	if (err)
		return err;
	err = worker_calls(worker, &rpc_calls, thread);
	far_rpc_leave(thread);
	return err;
}

/* Threads of all clients are spread over those of the server. */
static int worker_datagrams(struct worker *worker)
{
	struct run *run = worker->run;
	unsigned nr = worker->cn * run->bench->threads + worker->idx;
	struct datagram_client *client;
	int err = datagram_join(run->nic[1 + worker->cn],
				run->there.address[nr % run->there.nr], &client);

	if (err)
		return err;
	err = worker_calls(worker, &datagram_calls, client);
	datagram_client_stats(client, &worker->requests, &worker->doorbells, &worker->again);
	datagram_leave(client);
	return err;
}

static void worker_run(void *arg)
{
	struct worker *worker = arg;
	int err = is_datagram(worker->run) ? worker_datagrams(worker) : worker_rpc(worker);
	int none = 0;

	worker->errors += err != 0;
	if (!err)
		return;
	__atomic_compare_exchange_n(&worker->run->err, &none, err, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	/* The others would wait for this one's share for ever. */
	__atomic_store_n(&worker->run->end, UINT64_MAX, __ATOMIC_RELEASE);
}

static int run_open_sim(struct run *run, char *why, size_t why_len)
{
	const struct rpc_bench *bench = run->bench;
	char spec[1024];
	unsigned i;
	int err;

	snprintf(spec, sizeof(spec), "%s,cns=%u,mns=1,space=256M,seed=%llu", bench->nic,
		 bench->cns + 1, (unsigned long long)bench->seed);
	err = far_nic_open(spec, why, why_len, &run->nic[0]);
	if (err)
		return err;
	run->sim = far_sim_of(run->nic[0]);
	for (i = 1; i <= bench->cns; i++)
		run->nic[i] = far_sim_nic(run->sim, i);
	return 0;
}

static int run_open(struct run *run, char *why, size_t why_len)
{
	unsigned i;
	int err = 0;

	if (!strncmp(run->bench->nic, "sim", 3))
		return run_open_sim(run, why, why_len);
	for (i = run->bench->node ? 1 : 0; i <= run->bench->cns && !err; i++)
		err = far_nic_open(run->bench->nic, why, why_len, &run->nic[i]);
	return err;
}

static int run_index(struct run *run, char *why, size_t why_len)
{
	const struct rpc_bench *bench = run->bench;

	if (!bench->index || bench->node)
		return 0;
	run->keys = bench->keys;
	return rpc_index_new(bench->keys, run->sim ? run->nic[0] : NULL, bench->index_ns, why,
			     why_len, &run->index);
}

/* Asks a server of another process for its keys. */
static int run_keys(struct run *run, char *why, size_t why_len)
{
	const struct rpc_bench *bench = run->bench;
	int err;

	if (!bench->index || !bench->node)
		return 0;
	err = rpc_index_keys(run->rpc[0], &run->keys);
	if (err == -EBADMSG)
		snprintf(why, why_len, "service \"%s\": expected an index, as \"far rpc serve "
			 "--workload index\" offers", bench->service);
	return err;
}

/* Starts a server of datagrams, or asks one of another process where it is. */
static int datagrams_begin(struct run *run)
{
	const struct rpc_bench *bench = run->bench;
	unsigned i;
	int err;

	if (bench->node)
		return rpc_datagram_ask(run->nic[1], bench->node, bench->service, &run->there);
	err = datagram_serve(run->nic[0], bench->server_threads, RPC_DATAGRAM_RECVS,
			     run->index ? rpc_index_datagram : echo_datagram,
			     run->index ? (const void *)run->index : bench, &run->datagrams);
	if (err)
		return err;
	run->there.nr = bench->server_threads;
	for (i = 0; i < run->there.nr; i++)
		run->there.address[i] = datagram_address(run->datagrams, i);
	return 0;
}

static int run_serve(struct run *run)
{
	static far_rpc_fn *const handlers[] = { echo };
	const struct rpc_bench *bench = run->bench;
	struct far_rpc_server_attr attr = {
		.service = run->service,
		.threads = bench->server_threads,
		.connections = (bench_qps(bench) * bench->cns + 1) * 2,
		.handlers = run->index ? rpc_index_handlers : handlers,
		.nr_handlers = run->index ? RPC_INDEX_HANDLERS : 1,
		.arg = run->index ? (void *)run->index : (void *)bench,
		.active = bench->variant == RPC_COMBINE && bench->place ? bench->active :
									  BASELINE_ACTIVE,
	};

	if (is_datagram(run))
		return datagrams_begin(run);
	if (bench->node) {
		snprintf(run->service, sizeof(run->service), "%s", bench->service);
		return 0;
	}
	snprintf(run->service, sizeof(run->service), "far-bench-%d", (int)getpid());
	return rpc_serve_nic(run->nic[0], &attr, &run->server);
}

static int run_connect(struct run *run)
{
	const struct rpc_bench *bench = run->bench;
	struct far_rpc_attr attr = {
		.node = bench->node,
		.service = run->service,
		.qps = bench_qps(bench),
		.batch = bench->variant == RPC_COMBINE && bench->coalesce ? 0 : 1,
	};
	unsigned i;
	int err = 0;

	if (is_datagram(run))
		return 0;
	for (i = 0; i < bench->cns && !err; i++) {
		err = rpc_connect_nic(run->nic[1 + i], &attr, &run->rpc[i]);
		if (!err)
			run->rpc[i]->fixed = bench->variant != RPC_COMBINE || !bench->place;
	}
	return err;
}

static int run_workers(struct run *run)
{
	unsigned i, started;
	int err = 0;

	for (i = 0; i < run->nr && !err; i++) {
		struct worker *worker = &run->worker[i];

		worker->run = run;
		worker->cn = i % run->bench->cns;
		worker->idx = i / run->bench->cns;
		worker->size = run->bench->size;
		if (run->bench->large && worker->idx % LARGE_ONE_IN == LARGE_ONE_IN - 1)
			worker->size = run->bench->large;
		far_hist_init(&worker->hist);
		far_hist_init(&worker->asks[RPC_INDEX_GET]);
		far_hist_init(&worker->asks[RPC_INDEX_SCAN]);
		far_rng_init(&worker->rng, run->bench->seed, i);
		err = run->nic[1 + worker->cn]->ops->thread_start(run->nic[1 + worker->cn],
								  worker_run, worker,
								  &worker->thread);
	}
	started = err ? i - 1 : i;
	for (i = 0; i < started; i++) {
		struct worker *worker = &run->worker[i];

		run->nic[1 + worker->cn]->ops->thread_join(run->nic[1 + worker->cn],
							    worker->thread);
	}
	return err;
}

static void counts_add(struct far_rpc_stats *sum, const struct far_rpc_stats *stats)
{
	sum->requests += stats->requests;
	sum->messages += stats->messages;
	sum->doorbells += stats->doorbells;
	sum->head_reads += stats->head_reads;
	sum->sleeps += stats->sleeps;
	sum->memory = stats->memory;
}

/* Sums over all clients. */
static struct far_rpc_stats run_counts(struct run *run, struct rpc_bench_result *result)
{
	struct far_rpc_stats stats, sum = { 0 };
	unsigned i;

	for (i = 0; i < run->bench->cns && !is_datagram(run); i++) {
		far_rpc_stats(run->rpc[i], &stats);
		counts_add(&sum, &stats);
		if (!i || stats.active < result->active_least)
			result->active_least = stats.active;
		if (stats.active > result->active_most)
			result->active_most = stats.active;
	}
	for (i = 0; i < run->nr; i++) {
		sum.requests += run->worker[i].requests;
		sum.messages += run->worker[i].requests;
		sum.doorbells += run->worker[i].doorbells;
		result->again += run->worker[i].again;
		result->errors += run->worker[i].errors;
		result->wrong += run->worker[i].wrong;
	}
	return sum;
}

static void server_result(struct run *run, uint64_t requests, struct rpc_bench_result *result)
{
	struct datagram_stats datagrams;
	struct far_rpc_stats stats;

	result->receive_share = NAN;
	if (run->datagrams) {
		datagram_server_stats(run->datagrams, &datagrams);
		result->server_doorbells_per_op = (double)datagrams.doorbells / requests;
		result->receive_share = (double)datagrams.receive_ns / datagrams.busy_ns;
	} else if (run->server) {
		far_rpc_server_stats(run->server, &stats);
		result->server_doorbells_per_op = (double)stats.doorbells / requests;
	}
}

/* Millions of a second between two times; NAN: none has passed, or a thread has failed. */
static double mops(double nr, uint64_t begin, uint64_t end)
{
	return begin && begin < end && end != UINT64_MAX ? 1e3 * nr / (end - begin) : NAN;
}

/* The rates in the first and in the second half of what was measured. */
static void steady_result(const struct run *run, struct rpc_bench_result *result)
{
	double nr = half_of(run->bench) - warm_of(run->bench);

	result->before_mops = mops(nr, run->begin, run->half);
	result->after_mops = mops(nr, run->half, run->end);
	/* False without a rate. */
	result->is_steady = fabs(result->after_mops / result->before_mops - 1) <= STEADY;
}

/* Latencies of each handler of the index. */
static void index_result(struct run *run, struct rpc_bench_result *result)
{
	unsigned i, j;

	for (i = 0; i < RPC_INDEX_ASKS; i++) {
		struct far_hist *all = &run->worker[0].asks[i];

		for (j = 1; j < run->nr; j++)
			far_hist_merge(all, &run->worker[j].asks[i]);
		result->ask_p50_us[i] = far_hist_permille(all, 500) / 1e3;
		result->ask_p99_us[i] = far_hist_permille(all, 990) / 1e3;
	}
}

static void run_result(struct run *run, struct rpc_bench_result *result)
{
	struct far_hist *all = &run->worker[0].hist;
	struct far_rpc_stats sum = run_counts(run, result);
	uint64_t small = 0;
	unsigned i;

	for (i = 0; i < run->nr; i++) {
		const struct worker *worker = &run->worker[i];

		small += worker->size == run->bench->size ? worker->hist.count : 0;
	}
	for (i = 1; i < run->nr; i++)
		far_hist_merge(all, &run->worker[i].hist);
	result->client_memory = sum.memory;
	result->qps = bench_qps(run->bench);
	result->keys = run->keys;
	result->is_model = run->sim != NULL;
	result->err = run->err;
	result->ops = all->count;
	result->mops = mops(all->count, run->begin, run->end);
	result->small_mops = mops(small, run->begin, run->end);
	result->seconds = isnan(result->mops) ? 0 : (run->end - run->begin) / 1e9;
	result->p50_us = far_hist_permille(all, 500) / 1e3;
	result->p99_us = far_hist_permille(all, 990) / 1e3;
	result->p999_us = far_hist_permille(all, 999) / 1e3;
	result->max_us = all->count ? all->max / 1e3 : 0;
	result->degree = (double)sum.requests / sum.messages;
	result->doorbells_per_op = (double)sum.doorbells / sum.requests;
	result->head_reads = sum.head_reads;
	result->sleeps = sum.sleeps;
	steady_result(run, result);
	index_result(run, result);
	server_result(run, sum.requests, result);
}

static void run_close(struct run *run)
{
	unsigned i;

	for (i = 0; run->rpc && i < run->bench->cns; i++)
		if (run->rpc[i])
			far_rpc_close(run->rpc[i]);
	if (run->server)
		far_rpc_stop(run->server);
	if (run->datagrams)
		datagram_stop(run->datagrams);
	/* The first compute node of sim closes the cluster. */
	for (i = run->nic ? run->bench->cns + 1 : 0; i-- > 0;)
		if (run->nic[i])
			run->nic[i]->ops->close(run->nic[i]);
	free(run->nic);
	free(run->rpc);
	free(run->worker);
}

static int run_alloc(struct run *run)
{
	const struct rpc_bench *bench = run->bench;

	run->nr = bench->cns * bench->threads;
	run->nic = calloc(bench->cns + 1, sizeof(run->nic[0]));
	run->rpc = calloc(bench->cns, sizeof(run->rpc[0]));
	run->worker = calloc(run->nr, sizeof(run->worker[0]));
	return run->nic && run->rpc && run->worker ? 0 : -ENOMEM;
}

static void err_explain(const struct run *run, int err, char *why, size_t why_len)
{
	const struct rpc_bench *bench = run->bench;

	if (is_datagram(run) && bench->node && err == -ENOSYS)
		snprintf(why, why_len, "service \"%s\" at \"%s\" has no datagrams: expected one "
			 "of \"far rpc serve --datagrams\"", bench->service, bench->node);
	else
		snprintf(why, why_len, "%s: %s", bench->nic, far_strerror(err));
}

int rpc_bench_run(const struct rpc_bench *bench, char *why, size_t why_len,
		  struct rpc_bench_result *ret_result)
{
	struct run run = { .bench = bench };
	int err;

	why[0] = 0;
	*ret_result = (struct rpc_bench_result) { 0 };
	err = run_alloc(&run);
	if (!err)
		err = run_open(&run, why, why_len);
	if (!err)
		err = run_index(&run, why, why_len);
	if (!err)
		err = run_serve(&run);
	if (!err)
		err = run_connect(&run);
	if (!err)
		err = run_keys(&run, why, why_len);
	if (!err)
		err = run_workers(&run);
	if (!err)
		run_result(&run, ret_result);
	run_close(&run);
	if (run.index)
		rpc_index_free(run.index, &ret_result->index);
	if (err && !why[0])
		err_explain(&run, err, why, why_len);
	return err;
}
