// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The micro benchmark, on the table of any back end. */
#include "micro.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/rng.h"
#include "../core/credit.h"
#include "../nic/nic.h"
#include "../nic/sim/sim.h"
#include "redundant.h"

/*
 * What the program itself does per operation, in sim: a model's parameter (fitted), and
 * the mean of what is spent. Without chance, and threads that do not start at the same
 * moment, all would go through their rounds in step for ever.
 */
#define APP_NS		34u
#define START_NS	50000u
#define MAX_THREADS	2048u
#define MAX_CNS		256u
#define MAX_NODES	255u
#define POLL_MAX	32u
#define LINE		64u
#define LEAST_UNLIMITED	12u	/* of far_credit_init() */

const struct micro micro_default = {
	.nic = "mem",
	.cns = 1,
	.nodes = 1,
	.threads = 1,
	.change_ns = UINT64_C(512000000),
	.depth = 8,
	.batch = 1,
	.op = FAR_NIC_READ,
	.size = 8,
	.policy = MICRO_THREAD_DOORBELL,
	.ops = 200000,
	.region = UINT64_C(16) << 20,
	.seed = 1,
	.theta = 0.99,
};

int micro_policy_parse(const char *name, enum micro_policy *ret_policy,
		       unsigned *ret_per_qp)
{
	static const struct {
		const char *name;
		enum micro_policy policy;
		unsigned per_qp;
	} policies[] = {
		{ "shared-qp", MICRO_SHARED_QP, 0 },
		{ "multiplexed-2", MICRO_MULTIPLEXED, 2 },
		{ "multiplexed-4", MICRO_MULTIPLEXED, 4 },
		{ "per-thread-qp", MICRO_THREAD_QP, 1 },
		{ "per-thread-context", MICRO_THREAD_CONTEXT, 1 },
		{ "per-thread-doorbell", MICRO_THREAD_DOORBELL, 1 },
	};
	unsigned i;

	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (!strcmp(name, policies[i].name)) {
			*ret_policy = policies[i].policy;
			*ret_per_qp = policies[i].per_qp;
			return 0;
		}
	return -EINVAL;
}

/* A compute node, with the memory nodes' spaces as it sees them. */
struct node {
	struct far_nic *nic;
	struct far_peer *peers;
	unsigned nr_peers;
	uint32_t lkey;
};

struct worker {
	struct run *run;
	struct node *node;
	struct far_qset *qset;
	struct far_nic_thread *thread;
	struct far_rng rng;
	uint64_t base, slots;	/* its part of the region, in operations' sizes */
	uint8_t *buf;
	struct far_wr *wr;	/* room for a batch */
	unsigned idx;
	uint64_t turn;		/* of memory nodes */
	unsigned outstanding;
	struct far_credit credit;
	struct redundant_hand hand;
	int err;
};

struct run {
	const struct micro *micro;
	struct far_nic *nic;		/* of the first compute node */
	struct node *node;
	unsigned nr_spaces;		/* that were made */
	uint8_t *buf;
	size_t buf_len;
	struct worker *workers;
	struct redundant redundant;
	char space[32];
	/* atomic: operations done, and when the measurement began and ended */
	uint64_t done;
	uint64_t begin, end;
	uint64_t begin_done, end_done;
	int stop;
};

static uint64_t run_now(const struct run *run)
{
	return run->nic->ops->now(run->nic);
}

/* Counts operations; the first thread across a mark notes the time. */
static void run_count(struct run *run, unsigned nr)
{
	uint64_t warm = run->micro->ops / 4, all = warm + run->micro->ops;
	uint64_t done = __atomic_add_fetch(&run->done, nr, __ATOMIC_RELAXED);

	if (done >= warm && done - nr < warm) {
		run->begin = run_now(run);
		run->begin_done = done;
	}
	if (done >= all && done - nr < all) {
		run->end = run_now(run);
		run->end_done = done;
		__atomic_store_n(&run->stop, 1, __ATOMIC_RELEASE);
	}
}

/* Operation i of a round; the last one of a list of nr is signaled, for all of it. */
static void wr_fill(struct worker *worker, struct far_wr *wr, unsigned i, unsigned nr)
{
	const struct micro *micro = worker->run->micro;

	*wr = (struct far_wr) {
		.id = nr,
		.remote = worker->base +
			  far_rng_below(&worker->rng, worker->slots) * micro->size,
		.local = worker->buf + (size_t)i * (micro->size > LINE ? micro->size : LINE),
		.len = micro->size,
		.lkey = worker->node->lkey,
		.op = micro->op,
		.flags = nr ? FAR_WR_SIGNALED : 0,
	};
	if (micro->op == FAR_NIC_FAA)
		wr->arg[0] = 1;
}

/* Waits for completions, and takes those that are there. */
static int worker_reap(struct worker *worker)
{
	struct far_nic *nic = worker->node->nic;
	struct far_wc wc[POLL_MAX];
	int nr, i;

	nic->ops->wait(worker->qset, UINT64_MAX);
	nr = nic->ops->poll(worker->qset, wc, POLL_MAX);
	for (i = 0; i < nr; i++) {
		if (wc[i].status)
			return wc[i].status;
		worker->outstanding -= wc[i].id;
		far_credit_give(&worker->credit, wc[i].id);
	}
	if (worker->run->micro->throttle > 0)
		far_credit_tick(&worker->credit, run_now(worker->run));
	return nr < 0 ? nr : 0;
}

static int worker_reap_all(struct worker *worker)
{
	int err = 0;

	while (worker->outstanding && !err)
		err = worker_reap(worker);
	return err;
}

/* Posts a list of at most batch operations, from operation i of the round on. */
static int worker_post(struct worker *worker, unsigned i, unsigned *ret_nr)
{
	const struct micro *micro = worker->run->micro;
	struct far_nic *nic = worker->node->nic;
	unsigned nr = micro->depth - i, j;
	int err = 0;

	if (nr > micro->batch)
		nr = micro->batch;
	if (micro->throttle > 0)
		nr = far_credit_piece(&worker->credit, nr);
	while (micro->throttle > 0 && !err && !far_credit_take(&worker->credit, nr))
		err = worker_reap(worker);
	if (err)
		return err;
	for (j = 0; j < nr; j++)
		wr_fill(worker, &worker->wr[j], i + j, j + 1 == nr ? nr : 0);
	nic->ops->spend(nic, far_rng_below(&worker->rng, 2 * APP_NS * nr + 1));
	err = nic->ops->post(worker->qset, worker->turn++ % micro->nodes, worker->wr, nr);
	if (err)
		return err;
	worker->outstanding += nr;
	*ret_nr = nr;
	return 0;
}

/* Posts depth operations, to one memory node after the other, and waits for all. */
static int worker_round(struct worker *worker)
{
	unsigned depth = worker->run->micro->depth, i, nr = 0;
	int err = 0;

	for (i = 0; i < depth && !err; i += nr)
		err = worker_post(worker, i, &nr);
	return err ? err : worker_reap_all(worker);
}

/* Waits while the thread is not among those at work. */
static void worker_idle(struct worker *worker)
{
	const struct micro *micro = worker->run->micro;
	uint64_t turn = run_now(worker->run) / micro->change_ns;
	unsigned range = micro->threads - micro->least_threads + 1;
	unsigned at_work = micro->least_threads +
			   far_rng_mix(micro->seed ^ far_rng_mix(turn)) % range;

	if (worker->idx >= at_work)
		worker->node->nic->ops->wait(worker->qset, (turn + 1) * micro->change_ns);
}

static int worker_hand(struct worker *worker)
{
	const struct micro *micro = worker->run->micro;
	struct redundant_hand *hand = &worker->hand;

	*hand = (struct redundant_hand) {
		.all = &worker->run->redundant, .nic = worker->node->nic,
		.qset = worker->qset, .buf = worker->buf, .lkey = worker->node->lkey,
		.size = micro->size, .slots = micro->region / micro->size,
		.write = micro->op == FAR_NIC_WRITE, .stop = &worker->run->stop,
	};
	return gen_init(&hand->gen, GEN_SCRAMBLED, micro->redundant_keys, micro->theta,
			far_rng_mix(micro->seed + worker->idx));
}

static void redundant_main(struct worker *worker)
{
	struct run *run = worker->run;

	worker->err = worker_hand(worker);
	while (!worker->err && !__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
		run->nic->ops->spend(worker->node->nic,
				     far_rng_below(&worker->rng, 2 * APP_NS + 1));
		worker->err = redundant_op(&worker->hand);
		if (!worker->err)
			run_count(run, 1);
	}
}

static void worker_main(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	int err = 0;

	worker->node->nic->ops->spend(worker->node->nic, far_rng_below(&worker->rng, START_NS));
	if (run->micro->redundant_keys) {
		redundant_main(worker);
		err = worker->err;
	}
	while (!err && !__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
		if (run->micro->least_threads)
			worker_idle(worker);
		err = worker_round(worker);
		if (!err)
			run_count(run, run->micro->depth);
	}
	worker->err = err;
	if (err)
		__atomic_store_n(&run->stop, 1, __ATOMIC_RELEASE);
}

static struct far_qset_attr qset_attr(const struct micro *micro, unsigned thread)
{
	struct far_qset_attr attr = {
		.nr_peers = micro->nodes,
		.depth = micro->depth,
		.group = FAR_NIC_OWN,
	};

	switch (micro->policy) {
	case MICRO_SHARED_QP:
		attr.group = 0;
		attr.doorbell = FAR_DOORBELL_DEFAULT;
		break;
	case MICRO_MULTIPLEXED:
		attr.group = thread % ((micro->threads + micro->per_qp - 1) /
				       micro->per_qp);
		attr.doorbell = FAR_DOORBELL_DEFAULT;
		break;
	case MICRO_THREAD_QP:
		attr.doorbell = FAR_DOORBELL_DEFAULT;
		break;
	case MICRO_THREAD_CONTEXT:
		attr.doorbell = FAR_DOORBELL_CONTEXT;
		break;
	case MICRO_THREAD_DOORBELL:
		attr.doorbell = FAR_DOORBELL_THREAD;
		break;
	}
	return attr;
}

static int worker_init(struct worker *worker, struct run *run, unsigned idx)
{
	const struct micro *micro = run->micro;
	struct far_qset_attr attr = qset_attr(micro, idx);
	uint64_t part = micro->region / micro->threads / 4096 * 4096;

	worker->run = run;
	worker->node = &run->node[idx % micro->cns];
	worker->idx = idx;
	worker->slots = part / micro->size;
	worker->base = idx * part;
	worker->buf = run->buf + run->buf_len / micro->threads * idx;
	worker->wr = calloc(micro->batch, sizeof(worker->wr[0]));
	if (!worker->wr)
		return -ENOMEM;
	far_rng_init(&worker->rng, micro->seed, idx);
	if (micro->throttle > 0)
		far_credit_init(&worker->credit, micro->depth > LEAST_UNLIMITED ?
				micro->depth : LEAST_UNLIMITED, micro->throttle,
				run_now(run));
	return run->nic->ops->qset_new(worker->node->nic, &attr, &worker->qset);
}

/*
 * Connects as programs do that make their queue pairs at the start: all threads' to
 * the first memory node, then all to the next.
 */
static int workers_connect(struct run *run)
{
	const struct micro *micro = run->micro;
	unsigned node, i;
	int err = 0;

	for (node = 0; node < micro->nodes; node++)
		for (i = 0; i < micro->threads && !err; i++)
			err = run->nic->ops->connect(run->workers[i].qset, node,
						     &run->workers[i].node->peers[node]);
	return err;
}

static void workers_fini(struct run *run)
{
	unsigned i;

	for (i = 0; i < run->micro->threads; i++) {
		if (run->workers[i].qset)
			run->nic->ops->qset_free(run->workers[i].qset);
		free(run->workers[i].wr);
	}
	free(run->workers);
}

static int workers_init(struct run *run)
{
	const struct micro *micro = run->micro;
	unsigned i;
	int err = 0;

	run->workers = calloc(micro->threads, sizeof(run->workers[0]));
	if (!run->workers)
		return -ENOMEM;
	for (i = 0; i < micro->threads && !err; i++)
		err = worker_init(&run->workers[i], run, i);
	if (!err)
		err = workers_connect(run);
	if (err)
		workers_fini(run);
	return err;
}

static int workers_run(struct run *run)
{
	const struct far_nic_ops *ops = run->nic->ops;
	unsigned nr, i;
	int err = 0;

	for (nr = 0; nr < run->micro->threads && !err; nr++)
		err = ops->thread_start(run->workers[nr].node->nic, worker_main,
					&run->workers[nr], &run->workers[nr].thread);
	if (err) {
		nr--;
		__atomic_store_n(&run->stop, 1, __ATOMIC_RELEASE);
	}
	for (i = 0; i < nr; i++) {
		ops->thread_join(run->workers[i].node->nic, run->workers[i].thread);
		if (!err)
			err = run->workers[i].err;
	}
	return err;
}

/* Attaches a compute node to the space at each memory node. */
static int node_attach(const struct run *run, struct node *node, const char *space,
		       unsigned rights)
{
	const struct micro *micro = run->micro;
	char number[16];
	int err = 0;

	while (node->nr_peers < micro->nodes && !err) {
		struct far_peer *peer = &node->peers[node->nr_peers];

		snprintf(number, sizeof(number), "%u", node->nr_peers);
		err = node->nic->ops->attach(node->nic, micro->space ?
					     micro->node[node->nr_peers] : number, space, rights,
					     peer);
		node->nr_peers += !err;
		if (!err && peer->region[0].size < micro->region)
			err = -ENOSPC;
	}
	return err;
}

/* Makes the space at a memory node. */
static int space_make(struct run *run, unsigned idx)
{
	const struct far_nic_ops *ops = run->nic->ops;
	struct far_host_map map;
	char node[16];
	int err;

	snprintf(node, sizeof(node), "%u", idx);
	err = ops->host->create(run->nic, node, run->space, run->micro->region, 0600, &map);
	if (err)
		return err;
	err = ops->host->publish(run->nic, &map);
	ops->host->unmap(run->nic, &map);
	run->nr_spaces += !err;
	return err;
}

static int peers_init(struct run *run)
{
	const struct micro *micro = run->micro;
	unsigned rights = FAR_ATTACH_READ | (micro->space ? 0 : FAR_ATTACH_WRITE), i;
	int err = 0;

	if (!micro->space && !run->nic->ops->host)
		return -EOPNOTSUPP;
	for (i = 0; !micro->space && i < micro->nodes && !err; i++)
		err = space_make(run, i);
	for (i = 0; i < micro->cns && !err; i++)
		err = node_attach(run, &run->node[i], micro->space ? micro->space : run->space,
				  rights);
	return err;
}

static void peers_fini(struct run *run)
{
	const struct far_nic_ops *ops = run->nic->ops;
	char number[16];
	unsigned i;

	for (i = 0; i < run->micro->cns; i++)
		while (run->node[i].nr_peers)
			ops->detach(run->node[i].nic,
				    &run->node[i].peers[--run->node[i].nr_peers]);
	while (run->nr_spaces--) {
		snprintf(number, sizeof(number), "%u", run->nr_spaces);
		ops->host->remove(run->nic, number, run->space);
	}
}

/* Frees the buffer, which the first nr compute nodes have registered. */
static void nodes_dereg(struct run *run, unsigned nr)
{
	while (nr--)
		run->node[nr].nic->ops->mr_dereg(run->node[nr].nic, run->node[nr].lkey);
	free(run->buf);
}

static int memory_init(struct run *run)
{
	const struct micro *micro = run->micro;
	size_t slot = micro->size > LINE ? micro->size : LINE;
	unsigned i;
	int err = 0;

	if (micro->redundant_keys)
		slot += LINE;	/* what a CAS finds, and what a lock becomes */
	run->buf_len = slot * micro->depth * micro->threads;
	run->buf = aligned_alloc(LINE, (run->buf_len + LINE - 1) / LINE * LINE);
	if (!run->buf)
		return -ENOMEM;
	memset(run->buf, 0, run->buf_len);
	for (i = 0; i < micro->cns && !err; i++)
		err = run->node[i].nic->ops->mr_reg(run->node[i].nic, run->buf, run->buf_len,
						    &run->node[i].lkey);
	if (err)
		nodes_dereg(run, i - 1);
	return err;
}

static void memory_fini(struct run *run)
{
	nodes_dereg(run, run->micro->cns);
}

static void result_fill(const struct run *run, struct micro_result *ret_result)
{
	const struct micro *micro = run->micro;
	struct far_sim *sim = far_sim_of(run->nic);
	struct micro_result result = { .is_model = sim != NULL };
	struct far_qset_stats stats;
	struct far_sim_cn_stats cn;
	uint64_t doorbells = 0;
	unsigned i;

	for (i = 0; i < micro->threads; i++) {
		run->nic->ops->stats(run->workers[i].qset, &stats);
		doorbells += stats.doorbells;
	}
	result.ops = run->end_done - run->begin_done;
	result.seconds = (run->end - run->begin) / 1e9;
	result.mops = result.ops / result.seconds / 1e6;
	result.doorbells_per_op = (double)doorbells / run->done;
	result.redundant_per_op = redundant_per_op(&run->redundant);
	if (run->redundant.ops)
		result.failed_per_op = (double)run->redundant.failed / run->redundant.ops;
	result.outstanding_max = micro->depth * micro->threads;
	result.dram_bytes_per_wr = result.wqe_miss_rate = NAN;
	if (sim) {
		far_sim_stats(sim, 0, &cn);
		result.outstanding_max = cn.outstanding_max;
		result.threads_per_doorbell = cn.threads_per_doorbell;
		result.dram_bytes_per_wr = cn.dram_bytes_per_wr;
		result.wqe_miss_rate = (double)cn.wqe_misses / cn.ops;
	}
	*ret_result = result;
}

static int complain(char *why, size_t why_len, const char *what, uint64_t value,
		    const char *expected)
{
	snprintf(why, why_len, "%s %llu: expected %s", what, (unsigned long long)value,
		 expected);
	return -EINVAL;
}

static int micro_check(const struct micro *micro, char *why, size_t why_len)
{
	int atomic = micro->op == FAR_NIC_CAS || micro->op == FAR_NIC_FAA;

	if (!micro->threads || micro->threads > MAX_THREADS)
		return complain(why, why_len, "threads", micro->threads, "1 to 2048");
	if (!micro->cns || micro->cns > MAX_CNS || (micro->cns > 1 && micro->throttle > 0))
		return complain(why, why_len, "compute nodes", micro->cns,
				"1 to 256, and 1 with throttling");
	if (!micro->nodes || micro->nodes > MAX_NODES)
		return complain(why, why_len, "memory nodes", micro->nodes, "1 to 255");
	if (!micro->depth || micro->depth > 1024)
		return complain(why, why_len, "depth", micro->depth, "1 to 1024");
	if (!micro->batch || micro->batch > micro->depth)
		return complain(why, why_len, "batch", micro->batch, "1 to the depth");
	if (!micro->size || micro->size > 1 << 20)
		return complain(why, why_len, "size", micro->size, "1 to 1048576 bytes");
	if (atomic && micro->size != 8)
		return complain(why, why_len, "size", micro->size, "8 bytes for cas and faa");
	if (micro->least_threads > micro->threads)
		return complain(why, why_len, "threads", micro->least_threads,
				"at most as many as the largest number");
	if (micro->least_threads && !micro->change_ns)
		return complain(why, why_len, "change", 0, "more than 0 ms");
	if (micro->space && micro->op != FAR_NIC_READ) {
		snprintf(why, why_len, "space %s: expected read: anything else would "
			 "destroy what it has", micro->space);
		return -EINVAL;
	}
	if (micro->redundant_keys && (micro->size % 8 || micro->size < 16 || micro->nodes > 1 ||
				      micro->depth > 1 || atomic || micro->space)) {
		snprintf(why, why_len, "redundant: expected depth 1, read or write of 16 bytes "
			 "and more, one memory node, and no space that is there");
		return -EINVAL;
	}
	if (!micro->ops)
		return complain(why, why_len, "ops", micro->ops, "1 or more");
	if (micro->region / micro->threads < 4096 + micro->size)
		return complain(why, why_len, "region", micro->region,
				"4096 bytes and an operation for each thread");
	return 0;
}

static int run_all(struct run *run, char *why, size_t why_len,
		   struct micro_result *ret_result)
{
	int err;

	err = peers_init(run);
	if (err) {
		snprintf(why, why_len, "cannot %s memory of %llu bytes at memory node %u: %s",
			 run->micro->space ? "reach" : "make",
			 (unsigned long long)run->micro->region,
			 run->micro->space ? run->node[0].nr_peers : run->nr_spaces,
			 strerror(-err));
		goto fini_peers;
	}
	err = memory_init(run);
	if (err)
		goto fini_peers;
	err = workers_init(run);
	if (err)
		goto fini_memory;
	err = workers_run(run);
	if (!err)
		result_fill(run, ret_result);
	workers_fini(run);
fini_memory:
	memory_fini(run);
fini_peers:
	peers_fini(run);
	return err;
}

/* In sim the cluster has as many nodes as are used. */
static int micro_open(const struct micro *micro, char *why, size_t why_len,
		      struct far_nic **ret_nic)
{
	char *spec;
	int err;

	if (strncmp(micro->nic, "sim:", 4)) {
		if (micro->cns > 1)
			return complain(why, why_len, "compute nodes", micro->cns,
					"1: only sim has more");
		return far_nic_open(micro->nic, why, why_len, ret_nic);
	}
	if (asprintf(&spec, "%s,mns=%u,cns=%u", micro->nic, micro->nodes, micro->cns) < 0)
		return -ENOMEM;
	err = far_nic_open(spec, why, why_len, ret_nic);
	free(spec);
	return err;
}

static void nodes_fini(struct run *run)
{
	unsigned i;

	for (i = 0; run->node && i < run->micro->cns; i++)
		free(run->node[i].peers);
	free(run->node);
}

static int nodes_init(struct run *run)
{
	const struct micro *micro = run->micro;
	struct far_sim *sim = far_sim_of(run->nic);
	unsigned i;

	run->node = calloc(micro->cns, sizeof(run->node[0]));
	for (i = 0; run->node && i < micro->cns; i++) {
		run->node[i].nic = sim && i ? far_sim_nic(sim, i) : run->nic;
		run->node[i].peers = calloc(micro->nodes, sizeof(run->node[i].peers[0]));
		if (!run->node[i].peers)
			return -ENOMEM;
	}
	return run->node ? 0 : -ENOMEM;
}

static void space_name(char *name, size_t len)
{
	snprintf(name, len, "micro-%d", (int)getpid());
}

void micro_remove(const struct micro *micro)
{
	char space[32], node[16], why[256];
	struct far_nic *nic;
	unsigned i;

	/* Elsewhere it ends with the process; that of --space is somebody's. */
	if (micro->space || strncmp(micro->nic, "mem", 3) ||
	    far_nic_open(micro->nic, why, sizeof(why), &nic))
		return;
	space_name(space, sizeof(space));
	for (i = 0; i < micro->nodes && nic->ops->host; i++) {
		snprintf(node, sizeof(node), "%u", i);
		nic->ops->host->remove(nic, node, space);
	}
	nic->ops->close(nic);
}

int micro_run(const struct micro *micro, char *why, size_t why_len,
	      struct micro_result *ret_result)
{
	struct run run = { .micro = micro };
	int err = micro_check(micro, why, why_len);

	if (err)
		return err;
	err = micro_open(micro, why, why_len, &run.nic);
	if (err)
		return err;
	if (why_len)
		why[0] = 0;
	space_name(run.space, sizeof(run.space));
	err = redundant_init(&run.redundant);
	if (!err)
		err = nodes_init(&run);
	if (!err)
		err = run_all(&run, why, why_len, ret_result);
	redundant_fini(&run.redundant);
	nodes_fini(&run);
	run.nic->ops->close(run.nic);
	if (err && why_len && !why[0])
		snprintf(why, why_len, "%s", far_strerror(err));
	return err;
}
