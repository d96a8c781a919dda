// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verbs of a workload in a plain loop: see plain.h. */
#include "plain.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/rng.h"

#define NEVER		UINT64_MAX
#define POLL_MAX	32
#define MAX_STEPS	3u
#define MAX_VERBS	3u

/* What an operation posts with one doorbell, and waits for. */
enum plain_verb { NONE, READ_SLOT, READ_PAIR, READ_HEAD, READ_BLOCK, WRITE_BLOCK, CAS_SLOT };

#define BUCKETS		128u	/* bytes of a combined bucket */
#define HEAD		64u	/* of a block: with its key */

static const uint8_t ways[2][2][MAX_STEPS][MAX_VERBS] = {
	[YCSB_GET] = {
		{ { READ_PAIR, READ_PAIR }, { READ_BLOCK } },
		{ { READ_SLOT, READ_BLOCK } },
	},
	[YCSB_UPDATE] = {
		{ { WRITE_BLOCK, READ_PAIR, READ_PAIR }, { READ_HEAD }, { CAS_SLOT } },
		{ { WRITE_BLOCK, CAS_SLOT } },
	},
};

struct plain {
	struct far_nic *nic;
	const struct run_conf *conf;
	double hit;
	struct far_peer peer;
	uint64_t blocks_at;		/* offset: slots lie before it */
	uint32_t block_len;
	atomic_ullong start;
};

/* One operation under way. */
struct plain_op {
	struct gen gen;
	enum ycsb_op kind;
	int hit;
	unsigned step;
	uint64_t key, from, stamp;
	uint8_t *buf;			/* two buckets, then the block */
	uint8_t name[YCSB_MAX_KEY];
};

struct plain_thread {
	struct plain *plain;
	struct far_nic_thread *thread;
	struct far_qset *qset;
	struct plain_op *op;
	uint8_t *memory;
	uint32_t lkey;
	uint64_t ops;			/* in the window */
	struct far_hist latency;
	unsigned idx;
	int err;
};

static void wr_fill(const struct plain *plain, const struct plain_op *op,
		    enum plain_verb verb, struct far_wr *wr)
{
	uint64_t at = far_rng_mix(op->key) % plain->conf->keys;
	uint64_t slot = at * sizeof(uint64_t);
	uint64_t block = plain->blocks_at + at * plain->block_len;

	wr->op = FAR_NIC_READ;
	wr->remote = slot;
	wr->local = op->buf;
	wr->len = sizeof(uint64_t);
	if (verb == READ_PAIR) {
		wr->len = BUCKETS;
		wr->remote = slot / BUCKETS * BUCKETS;
	} else if (verb == CAS_SLOT) {
		wr->op = FAR_NIC_CAS;
	} else if (verb != READ_SLOT) {
		wr->remote = block;
		wr->local = op->buf + 2 * BUCKETS;
		wr->len = verb == READ_HEAD ? HEAD : plain->block_len;
		wr->op = verb == WRITE_BLOCK ? FAR_NIC_WRITE : FAR_NIC_READ;
	}
}

/* Posts the step that is due. */
static int op_post(struct plain_thread *thread, struct plain_op *op)
{
	const uint8_t *verb = ways[op->kind][op->hit][op->step];
	struct far_wr wr[MAX_VERBS] = { 0 };
	unsigned nr;

	for (nr = 0; nr < MAX_VERBS && verb[nr]; nr++) {
		wr_fill(thread->plain, op, verb[nr], &wr[nr]);
		wr[nr].id = op - thread->op;
		wr[nr].lkey = thread->lkey;
	}
	wr[nr - 1].flags = FAR_WR_SIGNALED;
	return thread->plain->nic->ops->post(thread->qset, 0, wr, nr);
}

static int op_begin(struct plain_thread *thread, struct plain_op *op, uint64_t now)
{
	const struct run_conf *conf = thread->plain->conf;

	op->kind = gen_random(&op->gen) % 100 < conf->mix->percent[YCSB_GET] ?
			   YCSB_GET : YCSB_UPDATE;
	op->hit = gen_unit(&op->gen) < thread->plain->hit;
	op->key = gen_next(&op->gen);
	op->step = 0;
	op->from = now;
	ycsb_key(&conf->data, op->key, op->name);
	if (op->kind == YCSB_UPDATE)
		ycsb_value(&conf->data, ++op->stamp, op->buf + 2 * BUCKETS);
	return op_post(thread, op);
}

/* A step is done: the next one, or the next operation. 1: the window is over. */
static int op_done(struct plain_thread *thread, struct plain_op *op)
{
	const struct plain *plain = thread->plain;
	uint64_t begin = plain->start + plain->conf->warm_ns, now;

	if (++op->step < MAX_STEPS && ways[op->kind][op->hit][op->step][0])
		return op_post(thread, op);
	now = plain->nic->ops->now(plain->nic);
	if (now >= begin + plain->conf->run_ns)
		return 1;
	if (now >= begin) {
		thread->ops++;
		far_hist_add(&thread->latency, now - op->from);
	}
	return op_begin(thread, op, now);
}

static int thread_loop(struct plain_thread *thread)
{
	const struct far_nic_ops *ops = thread->plain->nic->ops;
	struct far_wc wc[POLL_MAX];
	int i, nr, err = 0;

	while (!err) {
		nr = ops->poll(thread->qset, wc, POLL_MAX);
		if (nr < 0)
			return nr;
		if (!nr)
			ops->wait(thread->qset, NEVER);
		for (i = 0; i < nr && !err; i++)
			err = wc[i].status ? wc[i].status :
			      op_done(thread, &thread->op[wc[i].id]);
	}
	return err < 0 ? err : 0;
}

static void thread_run(void *arg)
{
	struct plain_thread *thread = arg;
	struct plain *plain = thread->plain;
	uint64_t now = plain->nic->ops->now(plain->nic);
	unsigned long long none = 0;
	unsigned i;

	atomic_compare_exchange_strong(&plain->start, &none, now);
	for (i = 0; i < plain->conf->tasks && !thread->err; i++)
		thread->err = op_begin(thread, &thread->op[i], now);
	if (!thread->err)
		thread->err = thread_loop(thread);
}

static int thread_ops_init(struct plain_thread *thread, size_t part)
{
	const struct run_conf *conf = thread->plain->conf;
	unsigned i;
	int err = 0;

	for (i = 0; i < conf->tasks && !err; i++) {
		struct plain_op *op = &thread->op[i];

		op->buf = thread->memory + i * part;
		err = gen_init(&op->gen, conf->mix->kind, conf->keys, conf->theta,
			       conf->seed * 1000003 + thread->idx * conf->tasks + i);
	}
	return err;
}

static int thread_init(struct plain_thread *thread, struct plain *plain, unsigned idx)
{
	const struct far_nic_ops *ops = plain->nic->ops;
	size_t part = 2 * BUCKETS + plain->block_len, size = part * plain->conf->tasks;
	struct far_qset_attr attr = {
		.nr_peers = 1, .depth = MAX_VERBS * plain->conf->tasks,
		.group = FAR_NIC_OWN,
	};
	int err = -ENOMEM;

	*thread = (struct plain_thread) { .plain = plain, .idx = idx };
	far_hist_init(&thread->latency);
	thread->op = calloc(plain->conf->tasks, sizeof(*thread->op));
	thread->memory = aligned_alloc(64, size);
	if (!thread->op || !thread->memory)
		goto free_memory;
	memset(thread->memory, 0, size);
	err = thread_ops_init(thread, part);
	if (!err)
		err = ops->mr_reg(plain->nic, thread->memory, size, &thread->lkey);
	if (err)
		goto free_memory;
	err = ops->qset_new(plain->nic, &attr, &thread->qset);
	if (err)
		goto dereg;
	err = ops->connect(thread->qset, 0, &plain->peer);
	if (!err)
		return 0;
	ops->qset_free(thread->qset);
dereg:
	ops->mr_dereg(plain->nic, thread->lkey);
free_memory:
	free(thread->memory);
	free(thread->op);
	return err;
}

static void thread_fini(struct plain_thread *thread)
{
	struct far_nic *nic = thread->plain->nic;

	nic->ops->qset_free(thread->qset);
	nic->ops->mr_dereg(nic, thread->lkey);
	free(thread->memory);
	free(thread->op);
}

/* Runs the threads that are there, and adds up. */
static int threads_run(struct plain_thread *thread, unsigned nr, uint64_t *ret_ops)
{
	struct far_nic *nic = thread->plain->nic;
	unsigned i, started;
	int err = 0;

	for (started = 0; started < nr && !err; started += !err)
		err = nic->ops->thread_start(nic, thread_run, &thread[started],
					     &thread[started].thread);
	*ret_ops = 0;
	for (i = 0; i < started; i++) {
		nic->ops->thread_join(nic, thread[i].thread);
		*ret_ops += thread[i].ops;
		err = err ? err : thread[i].err;
	}
	return err;
}

static int plain_threads(struct plain *plain, double *ret_mops)
{
	unsigned nr = plain->conf->threads_max, made;
	struct plain_thread *thread = calloc(nr, sizeof(*thread));
	uint64_t ops = 0;
	int err = thread ? 0 : -ENOMEM;

	for (made = 0; made < nr && !err; made += !err)
		err = thread_init(&thread[made], plain, made);
	if (!err)
		err = threads_run(thread, nr, &ops);
	if (!err)
		*ret_mops = ops * 1e3 / plain->conf->run_ns;
	while (made)
		thread_fini(&thread[--made]);
	free(thread);
	return err;
}

/* Memory of its own, all there before the clock runs. */
static int memory_make(struct plain *plain, const char *space)
{
	const struct far_nic_host_ops *host = plain->nic->ops->host;
	uint64_t size = plain->blocks_at + plain->conf->keys * plain->block_len;
	struct far_host_map map;
	int err;

	size = (size + 4095) & ~UINT64_C(4095);
	err = host->create(plain->nic, "0", space, size, 0600, &map);
	if (err)
		return err;
	memset(map.addr, 0, size);
	err = host->publish(plain->nic, &map);
	host->unmap(plain->nic, &map);
	return err;
}

int plain_run(struct far_nic *nic, const struct run_conf *conf, double hit,
	      double *ret_mops)
{
	struct plain plain = {
		.nic = nic, .conf = conf, .hit = hit,
		.blocks_at = (conf->keys * sizeof(uint64_t) + 2 * BUCKETS) & ~UINT64_C(127),
		.block_len = (24 + conf->data.key_size + conf->data.value_size + 63) & ~63u,
	};
	char space[64];
	int err;

	if (!nic->ops->host || conf->mix->percent[YCSB_INSERT] ||
	    conf->mix->percent[YCSB_SCAN] || conf->mix->percent[YCSB_MODIFY])
		return -EOPNOTSUPP;
	snprintf(space, sizeof(space), "plain-%ld", (long)getpid());
	err = memory_make(&plain, space);
	if (err)
		return err;
	err = nic->ops->attach(nic, "0", space, FAR_ATTACH_READ | FAR_ATTACH_WRITE,
			       &plain.peer);
	if (err)
		goto remove;
	err = plain_threads(&plain, ret_mops);
	nic->ops->detach(nic, &plain.peer);
remove:
	nic->ops->host->remove(nic, "0", space);
	return err;
}
