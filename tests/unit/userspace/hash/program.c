/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random programs on the hash table. See program.h. */
#include "program.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/deadline.h"
#include "../ordered/change.h"

#define FILLER		1000000u	/* keys from here on are inserted once */
#define TABLE		"program"
#define CLOCK		"clock"		/* a table of which only the first turns are used */
#define SIDE_LOGS	256u		/* tasks of a side, at most */
#define MEET_NS		UINT64_C(120000000000)
#define BATCH_MAX	8u		/* keys of an mget or mput */
#define BIG		17000u		/* bytes of a value whose length no slot can say */

struct program {
	const struct program_conf *conf;
	struct rig rig;
	struct far_hash *hash[RIG_CLIENTS];
	unsigned threads;		/* of each client */
	struct history_log *log;
	unsigned nr_logs;
	atomic_ullong filler;
	atomic_int failed;		/* what no operation may answer */
	atomic_ullong late;		/* operations that were */
	uint64_t clock_at;		/* far address of the sides' clock; 0: alone */
	unsigned char **key;		/* their bytes */
	size_t *key_len;
};

/* Bytes of the longest value that a task writes. */
static size_t longest_of(const struct program_conf *conf)
{
	return conf->big ? BIG : conf->longest;
}

/* A task, while it works. */
struct hand {
	struct rig_worker *worker;
	struct far_task *task;
	struct far_hash *hash;
	struct history_log *log;
	struct far_rng rng;
	uint64_t writer;		/* upper half of the values that it writes */
	uint64_t values;		/* that it has written, or wanted to */
	uint64_t *buf[BATCH_MAX];	/* of longest_of() bytes each */
	uint64_t *clock;		/* registered; what its word was */
};

/* How an answer is entered in the history. */
static enum history_type type_of(int err)
{
	if (!err)
		return HISTORY_OK;
	return err == -ENOENT || err == -EEXIST ? HISTORY_FAIL : HISTORY_OPEN;
}

/* Unknown fates are what connections that break are for. */
static int may_break(const struct program *program)
{
	return program->conf->rig.adversary & FAR_SIM_BREAK;
}

/* Half of the operations have a deadline of their own, which comes at any time. */
static void hand_hurry(struct hand *hand)
{
	uint64_t late_ns = hand->worker->program->conf->late_ns, until = 0;

	if (!late_ns)
		return;
	if (far_rng_below(&hand->rng, 2))
		until = far_now(hand->task) + far_rng_below(&hand->rng, late_ns);
	far_deadline_at(hand->task, until);
}

/* An answer that is neither of the map nor an unknown fate that was asked for. */
static void worker_note(struct rig_worker *worker, struct far_task *task, int err)
{
	struct program *program = worker->program;

	if (err == -ETIME && program->conf->late_ns) {
		atomic_fetch_add(&program->late, 1);
		return;
	}
	if (type_of(err) != HISTORY_OPEN || (err == -EIO && may_break(program)))
		return;
	print_error("client %u: %d, %s\n", worker->client, err, far_strerror_last(task));
	atomic_store(&program->failed, err);
}

static void fill_one(struct rig_worker *worker, struct far_task *task)
{
	struct program *program = worker->program;
	uint64_t key = FILLER + atomic_fetch_add(&program->filler, 1);
	int err = far_hash_insert(task, program->hash[worker->client], &key, sizeof(key),
				  &key, sizeof(key));

	worker_note(worker, task, err);
}

/*
 * The time for the history. Sides have no clock in common but a word in far memory, to
 * which each adds 1 when it asks: if an operation has ended before another one begins,
 * so has its FAA after it before the other's FAA, and got the lower number.
 */
static uint64_t hand_now(struct hand *hand)
{
	struct program *program = hand->worker->program;

	if (!program->clock_at)
		return far_now(hand->task);
	far_faa(hand->task, program->clock_at, 1, hand->clock);
	worker_note(hand->worker, hand->task, far_sync(hand->task));
	return 1 + *hand->clock;
}

/* The same as do_op() by a function; what it has read is in buf[0] then. */
static int do_modify(struct hand *hand, enum history_f f, uint64_t i, size_t len)
{
	const struct program *program = hand->worker->program;
	struct change change = { .f = f, .value = hand->buf[0], .len = len };
	int err = far_hash_modify(hand->task, hand->hash, program->key[i],
				  program->key_len[i], change_key, &change);

	return change_done(&change, hand->buf[0], err);
}

static int do_op(struct hand *hand, enum history_f f, uint64_t i, size_t len)
{
	const struct program *program = hand->worker->program;
	const void *key = program->key[i];
	size_t key_len = program->key_len[i], got = 0;
	struct far_hash *hash = hand->hash;
	struct far_task *task = hand->task;
	uint64_t *value = hand->buf[0];

	switch (f) {
	case HISTORY_PUT:
		return far_hash_put(task, hash, key, key_len, value, len);
	case HISTORY_INSERT:
		return far_hash_insert(task, hash, key, key_len, value, len);
	case HISTORY_UPDATE:
		return far_hash_update(task, hash, key, key_len, value, len);
	case HISTORY_DELETE:
		return far_hash_delete(task, hash, key, key_len);
	default:
		return far_hash_get(task, hash, key, key_len, value,
				    longest_of(program->conf), &got);
	}
}

/* Enters the invocation; a value that is written is in buf[0] then. Its index. */
static long hand_invoke(struct hand *hand, enum history_f f, uint64_t i, uint64_t *buf)
{
	int writes = f != HISTORY_GET && f != HISTORY_DELETE;

	memset(buf, 0, hand->worker->program->conf->longest);
	if (writes)
		buf[0] = hand->writer | ++hand->values;
	return history_invoke(hand->log, f, i, buf[0], 0, hand_now(hand));
}

/* Enters what came back; a get that found nothing has read that. */
static void hand_return(struct hand *hand, long at, enum history_f f, uint64_t *buf,
			int err)
{
	if (f == HISTORY_GET && err == -ENOENT) {
		buf[0] = HISTORY_ABSENT;
		err = 0;
	}
	worker_note(hand->worker, hand->task, err);
	if (err == -ETIME)
		history_forget(hand->log, at);
	else
		history_return(hand->log, at, type_of(err), buf[0], hand_now(hand));
}

static size_t some_length(struct hand *hand)
{
	const struct program_conf *conf = hand->worker->program->conf;
	unsigned longest = conf->longest;

	if (conf->big && !far_rng_below(&hand->rng, conf->big))
		return BIG;
	return 8 * (1 + far_rng_below(&hand->rng, longest / 8));
}

static bool is_modify(struct hand *hand)
{
	unsigned modify = hand->worker->program->conf->modify;

	return modify && far_rng_below(&hand->rng, 100) < modify;
}

static void one_op(struct hand *hand)
{
	static const enum history_f kind[8] = {
		HISTORY_GET, HISTORY_GET, HISTORY_GET, HISTORY_PUT, HISTORY_PUT,
		HISTORY_INSERT, HISTORY_UPDATE, HISTORY_DELETE,
	};
	enum history_f f = kind[far_rng_below(&hand->rng, 8)];
	uint64_t i = far_rng_below(&hand->rng, hand->worker->program->conf->keys);
	bool modify = is_modify(hand);
	size_t len = some_length(hand);
	int err;
	long at;

	if (modify && f == HISTORY_PUT)
		f = HISTORY_RMW;
	at = hand_invoke(hand, f, i, hand->buf[0]);
	err = modify ? do_modify(hand, f, i, len) : do_op(hand, f, i, len);
	hand_return(hand, at, f, hand->buf[0], err);
}

/* An mget or mput: each of its keys is an operation of the history. */
static void one_batch(struct hand *hand)
{
	const struct program *program = hand->worker->program;
	unsigned keys = program->conf->keys, nr, k;
	enum history_f f = far_rng_below(&hand->rng, 2) ? HISTORY_GET : HISTORY_PUT;
	struct far_hash_item item[BATCH_MAX];
	uint64_t first;
	long at[BATCH_MAX];

	nr = 1 + far_rng_below(&hand->rng, keys < BATCH_MAX ? keys : BATCH_MAX);
	first = far_rng_below(&hand->rng, keys);
	for (k = 0; k < nr; k++) {
		uint64_t i = (first + k) % keys;

		at[k] = hand_invoke(hand, f, i, hand->buf[k]);
		item[k] = (struct far_hash_item) {
			.key = program->key[i], .key_len = program->key_len[i],
			.status = -EBUSY,
			.value = hand->buf[k], .value_len = f == HISTORY_GET ?
				longest_of(program->conf) : some_length(hand),
		};
	}
	if (f == HISTORY_GET)
		far_hash_mget(hand->task, hand->hash, item, nr);
	else
		far_hash_mput(hand->task, hand->hash, item, nr);
	for (k = nr; k--;)
		hand_return(hand, at[k], f, hand->buf[k], item[k].status);
}

struct seen {
	const struct program *program;
	uint64_t *value;		/* of each key; HISTORY_ABSENT: not given */
	int twice;
};

static int seen_key(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len)
{
	struct seen *seen = arg;
	unsigned i;

	(void)value_len;
	for (i = 0; i < seen->program->conf->keys; i++) {
		if (key_len != seen->program->key_len[i] ||
		    memcmp(key, seen->program->key[i], key_len))
			continue;
		seen->twice |= seen->value[i] != HISTORY_ABSENT;
		memcpy(&seen->value[i], value, sizeof(*seen->value));
	}
	return 0;
}

/*
 * A scan is a get of each key, between its begin and its end: one that is there all the
 * time is given.
 */
static void one_scan(struct hand *hand)
{
	const struct program *program = hand->worker->program;
	unsigned keys = program->conf->keys, i;
	struct seen seen = { program, calloc(keys, sizeof(uint64_t)), 0 };
	long first = hand->log->nr;
	int err;

	for (i = 0; i < keys; i++)
		history_invoke(hand->log, HISTORY_GET, i, 0, 0, hand_now(hand));
	err = far_hash_scan(hand->task, hand->hash, seen_key, &seen);
	for (i = keys; i--;)
		hand_return(hand, first + i, HISTORY_GET, &seen.value[i], err);
	if (seen.twice) {
		print_error("client %u: a scan gave a key twice\n", hand->worker->client);
		atomic_store(&hand->worker->program->failed, -EEXIST);
	}
	free(seen.value);
}

static void hand_init(struct hand *hand, struct rig_worker *worker, struct far_task *task)
{
	struct program *program = worker->program;
	const struct program_conf *conf = program->conf;
	unsigned log = (worker->client * program->threads + worker->thread) * conf->tasks +
		       far_task_index(task), me = conf->side * SIDE_LOGS + log, k;

	*hand = (struct hand) {
		.worker = worker, .task = task, .hash = program->hash[worker->client],
		.log = &program->log[log], .writer = (uint64_t)(me + 1) << 32,
	};
	if (program->clock_at) {
		hand->clock = far_buf(task, sizeof(*hand->clock));
		assert_non_null(hand->clock);
	}
	for (k = 0; k < (conf->batch ? BATCH_MAX : 1); k++)
		hand->buf[k] = calloc(1, longest_of(conf));
	far_rng_init(&hand->rng, conf->rig.seed, me);
}

static void work(struct far_task *task, void *arg)
{
	struct rig_worker *worker = arg;
	const struct program_conf *conf = worker->program->conf;
	struct hand hand;
	unsigned i, dice;

	hand_init(&hand, worker, task);
	for (i = 0; i < conf->ops; i++) {
		if (conf->pause_ns)
			far_sleep(task, far_rng_below(&hand.rng, conf->pause_ns));
		hand_hurry(&hand);
		if (far_rng_below(&hand.rng, 100) < conf->fill) {
			fill_one(worker, task);
			continue;
		}
		dice = conf->batch + conf->scan ? far_rng_below(&hand.rng, 100) : 100;
		if (dice < conf->batch)
			one_batch(&hand);
		else if (dice < conf->batch + conf->scan)
			one_scan(&hand);
		else
			one_op(&hand);
	}
	far_deadline_at(task, 0);
	for (i = 0; i < BATCH_MAX; i++)
		free(hand.buf[i]);
}

/* Opens a table, or makes it. Connections may break under that, and others may make it. */
static void table_open(struct far_task *task, const char *name,
		       struct far_hash **ret_hash)
{
	const struct far_hash_attr attr = { .expected = 1 };
	int err;

	do {
		err = far_hash_open(task, name, ret_hash);
		if (err == -ENOENT)
			err = far_hash_create(task, name, &attr, ret_hash);
	} while (err == -EIO || err == -EEXIST);
	assert_int_equal(err, 0);
}

/* Finds the sides' clock, and waits until all sides are there. */
static void sides_meet(struct program *program, struct far_task *task)
{
	uint64_t *here = far_buf(task, sizeof(*here)), until = far_now(task) + MEET_NS, at;
	struct far_hash *hash;

	table_open(task, CLOCK, &hash);
	program->clock_at = hash->turn_at[0];
	at = program->clock_at + HASH_TURN;
	far_hash_close(hash);
	far_faa(task, at, 1, NULL);
	do {
		far_read(task, at, here, sizeof(*here));
		assert_int_equal(far_sync(task), 0);
		assert_true(far_now(task) < until);
	} while (*here < program->conf->sides);
}

/* The bytes of the i'th key: its number, and others behind that only it has. */
static void key_make(struct program *program, unsigned i)
{
	const struct program_conf *conf = program->conf;
	uint64_t number = conf->key ? conf->key(i) : i;
	size_t len = sizeof(number);

	if (conf->longest_key > len)
		len += far_rng_mix(conf->rig.seed + i) % (conf->longest_key - len + 1);
	program->key[i] = malloc(len);
	program->key_len[i] = len;
	memset(program->key[i], (int)i, len);
	memcpy(program->key[i], &number, sizeof(number));
}

static void program_logs(struct program *program)
{
	const struct program_conf *conf = program->conf;
	unsigned each = conf->batch ? BATCH_MAX : 1, i;

	if (conf->scan && each < conf->keys)
		each = conf->keys;
	program->nr_logs = program->rig.conf.clients * program->threads * conf->tasks;
	assert_true(!conf->sides || program->nr_logs <= SIDE_LOGS);
	program->log = calloc(program->nr_logs, sizeof(*program->log));
	for (i = 0; i < program->nr_logs; i++) {
		program->log[i].max = (size_t)conf->ops * each;
		program->log[i].op = malloc(program->log[i].max * sizeof(struct history_op));
		program->log[i].process = conf->side * SIDE_LOGS + i;
	}
	program->key = calloc(conf->keys, sizeof(*program->key));
	program->key_len = calloc(conf->keys, sizeof(*program->key_len));
	for (i = 0; i < conf->keys; i++)
		key_make(program, i);
}

static void program_open(struct program *program, const struct program_conf *conf)
{
	struct rig_worker filler = { program, 0, 0 };
	struct far_task *task;
	unsigned i, k;

	memset(program, 0, sizeof(*program));
	program->conf = conf;
	program->threads = conf->threads ? conf->threads : 1;
	atomic_init(&program->filler, (uint64_t)conf->side << 32);
	rig_open(&program->rig, &conf->rig);
	program_logs(program);
	for (i = 0; i < program->rig.conf.clients; i++) {
		task = rig_enter(&program->rig, i);
		table_open(task, TABLE, &program->hash[i]);
		hash_set_variant(program->hash[i], conf->variant);
		for (k = 0; !i && k < conf->prefill; k++)
			fill_one(&filler, task);
		far_leave(task);
	}
}

static void program_begin(struct program *program)
{
	struct far_task *task;

	if (!program->conf->sides)
		return;
	task = rig_enter(&program->rig, 0);
	sides_meet(program, task);
	far_leave(task);
}

static void program_close(struct program *program)
{
	unsigned i;

	for (i = 0; i < program->rig.conf.clients; i++)
		far_hash_close(program->hash[i]);
	for (i = 0; i < program->nr_logs; i++)
		free(program->log[i].op);
	free(program->log);
	for (i = 0; i < program->conf->keys; i++)
		free(program->key[i]);
	free(program->key);
	free(program->key_len);
	rig_close(&program->rig);
}

/* What the words of the turns say when nobody is at work. */
static void count_turns(const struct program *program, struct program_result *result)
{
	const struct far_hash *hash = program->hash[0];
	const struct far_turn_words *words;
	unsigned shard, i;

	/* They can be looked at where the space is within reach. */
	if (program->rig.conf.space)
		return;
	for (shard = 0; shard < hash->nr_shards; shard++) {
		words = (const void *)((uint8_t *)program->rig.map[shard].addr +
				       far_addr_off(hash->turn_at[shard]));
		for (i = 0; i < HASH_TURNS; i++) {
			result->turns += words[i].next;
			result->turns_kept += words[i].next - words[i].serving;
		}
	}
}

/* What the last client finds, and that it can go on where others stopped. */
static void program_afterwards(struct program *program, struct program_result *result)
{
	unsigned last = program->rig.conf.clients - 1;
	struct rig_worker worker = { program, last, 0 };
	struct far_hash_stats stats;
	struct far_task *task;
	struct far_stats count;
	unsigned i;
	int err;

	task = rig_enter(&program->rig, last);
	if (!program->rig.conf.shared)
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
	if (!program->rig.conf.shared)
		result->problems += rig_space_problems(&program->rig, last);
	far_stats_get(program->rig.far[last], &count);
	result->repaired = count.repaired;
}

/* 0, or -1. */
static int history_write(const struct history_op *op, size_t nr, FILE *out)
{
	int err;

	if (!out)
		return -1;
	err = history_export(op, nr, out);
	fclose(out);
	return err ? -1 : 0;
}

/* Where others can look at it. */
static void history_keep(const struct history_op *op, size_t nr,
			 struct program_result *result)
{
	int fd;

	snprintf(result->file, sizeof(result->file), "/tmp/far-history-XXXXXX");
	fd = mkstemp(result->file);
	if (history_write(op, nr, fd < 0 ? NULL : fdopen(fd, "w")))
		result->file[0] = 0;
}

/* A side's is for whoever has those of all. */
static void history_judge(const struct program_conf *conf, const struct history_op *op,
			  struct program_result *result)
{
	if (conf->sides)
		assert_int_equal(history_write(op, result->ops,
					       fopen(conf->history, "w")), 0);
	else
		result->verdict = history_check(op, result->ops, HISTORY_ABSENT,
						&result->why);
}

static int is_wrong(const struct program_result *result)
{
	return result->verdict || result->problems || result->failed;
}

/* As program_run(); keeps the history if something is wrong and `keep`. */
static void run(const struct program_conf *conf, int keep, struct program_result *result)
{
	struct far_stats before, after;
	struct program program;
	struct history_op *all;

	memset(result, 0, sizeof(*result));
	program_open(&program, conf);
	far_stats_get(program.rig.far[0], &before);
	program_begin(&program);
	result->posted = rig_posted(&program.rig);
	rig_run(&program.rig, &program, &(struct rig_work){
		.threads = program.threads, .tasks = conf->tasks, .late_ns = conf->late_ns,
		.kill_at = conf->kill_at, .work = work });
	far_stats_get(program.rig.far[0], &after);
	result->posted = rig_posted(&program.rig) - result->posted;
	result->combined = after.combined - before.combined;
	result->late = program.late;
	all = history_merge(program.log, program.nr_logs, &result->ops);
	assert_non_null(all);
	history_judge(conf, all, result);
	count_turns(&program, result);
	program_afterwards(&program, result);
	result->failed = program.failed;
	if (program.rig.sim)
		far_sim_describe(program.rig.sim, result->sim, sizeof(result->sim));
	if (keep && is_wrong(result))
		history_keep(all, result->ops, result);
	free(all);
	program_close(&program);
}

void program_run(const struct program_conf *conf, struct program_result *ret_result)
{
	run(conf, 0, ret_result);
}

void program_expect_right(const struct program_conf *conf,
			  struct program_result *ret_result)
{
	run(conf, 1, ret_result);
	if (!is_wrong(ret_result))
		return;
	print_error("sim: %s\nhistory: %s\n", ret_result->sim, ret_result->file);
	fail_msg("seed %llu, death at %llu: %s; %llu problems, error %d",
		 (unsigned long long)conf->rig.seed, (unsigned long long)conf->kill_at,
		 ret_result->verdict ? ret_result->why.why : "linearizable",
		 (unsigned long long)ret_result->problems, ret_result->failed);
}
