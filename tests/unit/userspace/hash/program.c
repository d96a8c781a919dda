/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random programs on the hash table. See program.h. */
#include "program.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"

#define FILLER	1000000u	/* keys from here on are inserted once */
#define TABLE	"program"

struct program {
	const struct program_conf *conf;
	struct rig rig;
	struct far_hash *hash[RIG_CLIENTS];
	struct history_log *log;
	unsigned nr_logs;
	atomic_ullong filler;
	atomic_int failed;		/* what no operation may answer */
};

struct worker {
	struct program *program;
	unsigned client;
};

/* How an answer is entered in the history. */
static enum history_type type_of(int err)
{
	if (!err)
		return HISTORY_OK;
	return err == -ENOENT || err == -EEXIST ? HISTORY_FAIL : HISTORY_OPEN;
}

static int do_op(struct far_task *task, struct far_hash *hash, enum history_f f,
		 uint64_t key, uint64_t *value, size_t len)
{
	size_t got = 0;
	int err;

	switch (f) {
	case HISTORY_PUT:
		return far_hash_put(task, hash, &key, sizeof(key), value, len);
	case HISTORY_INSERT:
		return far_hash_insert(task, hash, &key, sizeof(key), value, len);
	case HISTORY_UPDATE:
		return far_hash_update(task, hash, &key, sizeof(key), value, len);
	case HISTORY_DELETE:
		return far_hash_delete(task, hash, &key, sizeof(key));
	default:
		err = far_hash_get(task, hash, &key, sizeof(key), value, len, &got);
		if (err != -ENOENT)
			return err;
		*value = HISTORY_ABSENT;
		return 0;
	}
}

/* An answer that is neither of the map nor an unknown fate that was asked for. */
static void worker_note(struct worker *worker, struct far_task *task, int err)
{
	if (type_of(err) != HISTORY_OPEN || worker->program->conf->rig.adversary & FAR_SIM_BREAK)
		return;
	print_error("client %u: %d, %s\n", worker->client, err, far_strerror_last(task));
	atomic_store(&worker->program->failed, err);
}

static void fill_one(struct worker *worker, struct far_task *task)
{
	struct program *program = worker->program;
	uint64_t key = FILLER + atomic_fetch_add(&program->filler, 1);
	int err = far_hash_insert(task, program->hash[worker->client], &key, sizeof(key),
				  &key, sizeof(key));

	worker_note(worker, task, err);
}

static void one_op(struct worker *worker, struct far_task *task, struct far_rng *rng,
		   struct history_log *log, uint64_t *buf, uint64_t seq)
{
	static const enum history_f kind[8] = {
		HISTORY_GET, HISTORY_GET, HISTORY_GET, HISTORY_PUT, HISTORY_PUT,
		HISTORY_INSERT, HISTORY_UPDATE, HISTORY_DELETE,
	};
	const struct program_conf *conf = worker->program->conf;
	enum history_f f = kind[far_rng_below(rng, 8)];
	uint64_t i = far_rng_below(rng, conf->keys);
	uint64_t key = conf->key ? conf->key(i) : i;
	size_t len = sizeof(*buf) * (1 + far_rng_below(rng, conf->longest / sizeof(*buf)));
	long at;
	int err;

	memset(buf, 0, conf->longest);
	buf[0] = f == HISTORY_GET || f == HISTORY_DELETE ? HISTORY_ABSENT :
		 (uint64_t)(log - worker->program->log + 1) << 32 | seq;
	at = history_invoke(log, f, i, buf[0], 0, far_now(task));
	if (f == HISTORY_GET)
		len = conf->longest;
	err = do_op(task, worker->program->hash[worker->client], f, key, buf, len);
	worker_note(worker, task, err);
	history_return(log, at, type_of(err), buf[0], far_now(task));
}

static void work(struct far_task *task, void *arg)
{
	struct worker *worker = arg;
	const struct program_conf *conf = worker->program->conf;
	unsigned me = worker->client * conf->tasks + far_task_index(task);
	struct history_log *log = &worker->program->log[me];
	uint64_t *buf = malloc(conf->longest);
	struct far_rng rng;
	unsigned i;

	far_rng_init(&rng, conf->rig.seed, me);
	for (i = 0; i < conf->ops; i++) {
		if (conf->pause_ns)
			far_sleep(task, far_rng_below(&rng, conf->pause_ns));
		if (far_rng_below(&rng, 100) < conf->fill)
			fill_one(worker, task);
		else
			one_op(worker, task, &rng, log, buf, i + 1);
	}
	free(buf);
}

/* Opens the table, or makes it. Connections may break under that. */
static void program_table(struct far_task *task, struct far_hash **ret_hash)
{
	const struct far_hash_attr attr = { .expected = 1 };
	int err = -EIO;

	while (err == -EIO) {
		err = far_hash_open(task, TABLE, ret_hash);
		if (err == -ENOENT)
			err = far_hash_create(task, TABLE, &attr, ret_hash);
	}
	assert_int_equal(err, 0);
}

static void program_open(struct program *program, const struct program_conf *conf)
{
	struct worker filler = { program, 0 };
	struct far_task *task;
	unsigned i, k;

	memset(program, 0, sizeof(*program));
	program->conf = conf;
	rig_open(&program->rig, &conf->rig);
	program->nr_logs = program->rig.conf.clients * conf->tasks;
	program->log = calloc(program->nr_logs, sizeof(*program->log));
	for (i = 0; i < program->nr_logs; i++) {
		program->log[i].op = calloc(conf->ops, sizeof(struct history_op));
		program->log[i].max = conf->ops;
		program->log[i].process = i;
	}
	for (i = 0; i < program->rig.conf.clients; i++) {
		task = rig_enter(&program->rig, i);
		program_table(task, &program->hash[i]);
		hash_set_variant(program->hash[i], conf->variant);
		for (k = 0; !i && k < conf->prefill; k++)
			fill_one(&filler, task);
		far_leave(task);
	}
}

static void program_close(struct program *program)
{
	unsigned i;

	for (i = 0; i < program->rig.conf.clients; i++)
		far_hash_close(program->hash[i]);
	for (i = 0; i < program->nr_logs; i++)
		free(program->log[i].op);
	free(program->log);
	rig_close(&program->rig);
}

static void program_threads(struct program *program)
{
	struct far_thread *thread[RIG_CLIENTS];
	struct worker worker[RIG_CLIENTS];
	unsigned i;

	for (i = 0; i < program->rig.conf.clients; i++) {
		worker[i] = (struct worker) { program, i };
		assert_int_equal(far_thread_start(program->rig.far[i], program->conf->tasks,
						  work, &worker[i], &thread[i]), 0);
	}
	if (program->conf->kill_at)
		far_sim_kill_cn_at(program->rig.sim, 0, program->conf->kill_at);
	for (i = 0; i < program->rig.conf.clients; i++)
		far_thread_join(thread[i]);
	/* who has lived until here lives on */
	if (program->conf->kill_at)
		far_sim_kill_cn_at(program->rig.sim, 0, 0);
}

static uint64_t ops_of_node_0(const struct program *program)
{
	struct far_sim_cn_stats stats;

	if (!program->rig.sim)
		return 0;
	far_sim_stats(program->rig.sim, 0, &stats);
	return stats.ops;
}

/* What the last client finds, and that it can go on where others stopped. */
static void program_afterwards(struct program *program, struct program_result *result)
{
	unsigned last = program->rig.conf.clients - 1;
	struct worker worker = { program, last };
	struct far_hash_stats stats;
	struct far_task *task;
	struct far_stats count;
	unsigned i;
	int err;

	task = rig_enter(&program->rig, last);
	result->problems = rig_problems(&program->rig, task);
	for (i = 0; i < program->conf->prefill; i++)
		fill_one(&worker, task);
	do
		err = far_hash_stat(task, program->hash[last], &stats);
	while (err == -EIO);
	assert_int_equal(err, 0);
	result->splits = stats.splits;
	far_leave(task);
	/* what others have retired is in their hands until they close */
	for (i = 0; i < last; i++)
		rig_leave(&program->rig, i);
	result->problems += rig_space_problems(&program->rig, last);
	far_stats_get(program->rig.far[last], &count);
	result->repaired = count.repaired;
	assert_int_equal(program->failed, 0);
}

void program_run(const struct program_conf *conf, struct program_result *ret_result)
{
	struct program_result result = { 0 };
	struct far_stats before, after;
	struct program program;
	struct history_op *all;

	program_open(&program, conf);
	far_stats_get(program.rig.far[0], &before);
	result.posted = ops_of_node_0(&program);
	program_threads(&program);
	assert_int_equal(program.failed, 0);
	far_stats_get(program.rig.far[0], &after);
	result.posted = ops_of_node_0(&program) - result.posted;
	result.combined = after.combined - before.combined;
	all = history_merge(program.log, program.nr_logs, &result.ops);
	assert_non_null(all);
	result.verdict = history_check(all, result.ops, HISTORY_ABSENT, &result.why);
	free(all);
	program_afterwards(&program, &result);
	program_close(&program);
	*ret_result = result;
}

void program_expect_right(const struct program_conf *conf,
			  struct program_result *ret_result)
{
	unsigned long long seed = conf->rig.seed, kill_at = conf->kill_at;
	struct program_result result;

	program_run(conf, &result);
	if (result.verdict)
		fail_msg("seed %llu, death at %llu: %s", seed, kill_at, result.why.why);
	if (result.problems)
		fail_msg("seed %llu, death at %llu: %llu problems", seed, kill_at,
			 (unsigned long long)result.problems);
	*ret_result = result;
}
