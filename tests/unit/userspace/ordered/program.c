/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random programs on a structure that keeps an order. See program.h. */
#include "program.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../userspace/core/deadline.h"

#include "change.h"
#include "keys.h"

#define INDEX		"program"
#define MAX_KEY		256u
#define BIG		17000u		/* bytes of a value that takes trips of its own */

struct program {
	const struct program_conf *conf;
	struct rig rig;
	void *index[RIG_CLIENTS];
	unsigned threads;		/* of each client */
	struct history_log *log;
	unsigned nr_logs;
	atomic_ullong filler;
	atomic_int failed;		/* what no operation may answer */
	atomic_ullong late;		/* operations that were */
};

/* A task, while it works. */
struct hand {
	struct rig_worker *worker;
	const struct program_conf *conf;
	const struct ordered_kind *kind;
	struct far_task *task;
	void *index;
	struct history_log *log;
	struct far_rng rng;
	uint64_t writer;		/* upper half of the values that it writes */
	uint64_t values;		/* that it has written, or wanted to */
	uint64_t *value;
	uint64_t *mine;			/* fillers that it has inserted, and may delete */
	unsigned nr_mine;
};

/* Bytes of the longest value that a task writes. */
static size_t longest_of(const struct program_conf *conf)
{
	return conf->big ? BIG : conf->value_size;
}

/* A value is its first word, in all its words. */
static void value_make(uint64_t *value, size_t len, uint64_t word)
{
	for (size_t i = 0; i < len / sizeof(word); i++)
		value[i] = word;
}

static bool value_is_whole(const void *value, size_t len)
{
	uint64_t first, word;

	memcpy(&first, value, sizeof(first));
	for (size_t i = 1; i < len / sizeof(word); i++) {
		memcpy(&word, (const char *)value + i * sizeof(word), sizeof(word));
		if (word != first)
			return false;
	}
	return true;
}

/* How an answer is entered in the history. */
static enum history_type type_of(int err)
{
	if (!err)
		return HISTORY_OK;
	return err == -ENOENT || err == -EEXIST ? HISTORY_FAIL : HISTORY_OPEN;
}

static void program_fail(struct program *program, int err)
{
	atomic_store(&program->failed, err);
}

/* Half of the operations have a deadline of their own, which comes at any time. */
static void hand_hurry(struct hand *hand)
{
	uint64_t until = 0;

	if (!hand->conf->late_ns)
		return;
	if (far_rng_below(&hand->rng, 2))
		until = far_now(hand->task) + far_rng_below(&hand->rng, hand->conf->late_ns);
	far_deadline_at(hand->task, until);
}

/* An answer that is neither of the map nor an unknown fate that was asked for. */
static void hand_note(struct hand *hand, int err)
{
	struct rig_worker *worker = hand->worker;
	int may_break = hand->conf->rig.adversary & FAR_SIM_BREAK;

	if (err == -ETIME && hand->conf->late_ns) {
		atomic_fetch_add(&worker->program->late, 1);
		return;
	}
	if (type_of(err) != HISTORY_OPEN || (err == -EIO && may_break))
		return;
	print_error("client %u: %d, %s\n", worker->client, err,
		    far_strerror_last(hand->task));
	program_fail(worker->program, err);
}

/* Inserts a key that nobody has had. 0: it is there. */
static int fill_one(struct hand *hand, uint64_t filler)
{
	uint64_t number = key_filler(filler);
	uint8_t key[MAX_KEY];
	size_t len = key_write(key, number, hand->conf->key_size, hand->kind->fixed);
	int err;

	value_make(hand->value, hand->conf->value_size, number);
	err = ordered_store(hand->kind, HISTORY_INSERT, hand->task, hand->index, key, len,
						hand->value, hand->conf->value_size);
	hand_note(hand, err);
	if (err == -EEXIST) {
		print_error("a filler was there before\n");
		program_fail(hand->worker->program, err);
	}
	return err;
}

static void fill_more(struct hand *hand)
{
	uint64_t filler = atomic_fetch_add(&hand->worker->program->filler, 1);

	if (!fill_one(hand, filler))
		hand->mine[hand->nr_mine++] = filler;
}

/* Deletes one that it has inserted. */
static void drain_one(struct hand *hand)
{
	uint8_t key[MAX_KEY];
	unsigned which;
	size_t len;
	int err;

	if (!hand->nr_mine)
		return;
	which = far_rng_below(&hand->rng, hand->nr_mine);
	len = key_write(key, key_filler(hand->mine[which]), hand->conf->key_size,
			hand->kind->fixed);
	err = hand->kind->ops->remove(hand->task, hand->index, key, len);
	hand_note(hand, err);
	if (err == -ENOENT && !(hand->conf->rig.adversary & FAR_SIM_BREAK)) {
		print_error("a filler was lost\n");
		program_fail(hand->worker->program, err);
	}
	if (err != -ETIME)
		hand->mine[which] = hand->mine[--hand->nr_mine];
}

static int do_get(struct hand *hand, const uint8_t *key, size_t key_len)
{
	size_t got = 0;
	int err = hand->kind->ops->get(hand->task, hand->index, key, key_len, hand->value,
				       longest_of(hand->conf), &got);

	if (!err && !value_is_whole(hand->value, got)) {
		print_error("a get gave a value that nobody has written\n");
		program_fail(hand->worker->program, -EILSEQ);
	}
	return err;
}

static int do_op(struct hand *hand, enum history_f f, unsigned i, size_t len)
{
	const struct program_conf *conf = hand->conf;
	uint8_t key[MAX_KEY];
	size_t key_len = key_write(key, key_fought(i, conf->keys), conf->key_size,
				   hand->kind->fixed);

	if (f == HISTORY_GET)
		return do_get(hand, key, key_len);
	if (f == HISTORY_DELETE)
		return hand->kind->ops->remove(hand->task, hand->index, key, key_len);
	return ordered_store(hand->kind, f, hand->task, hand->index, key, key_len, hand->value,
				    len);
}

/* The same as do_op() by a function; what it has read is hand->value[0] then. */
static int do_modify(struct hand *hand, enum history_f f, unsigned i, size_t len)
{
	struct change change = { .f = f, .value = hand->value, .len = len };
	uint8_t key[MAX_KEY];
	size_t key_len = key_write(key, key_fought(i, hand->conf->keys),
				   hand->conf->key_size, hand->kind->fixed);
	int err = hand->kind->ops->modify(hand->task, hand->index, key, key_len, change_key,
				     &change);

	return change_done(&change, hand->value, err);
}

static size_t some_length(struct hand *hand)
{
	const struct program_conf *conf = hand->conf;

	if (conf->big && !far_rng_below(&hand->rng, conf->big))
		return BIG;
	if (hand->kind->fixed)
		return conf->value_size;
	return 8 * (1 + far_rng_below(&hand->rng, conf->value_size / 8));
}

static bool is_modify(struct hand *hand)
{
	return hand->conf->modify && far_rng_below(&hand->rng, 100) < hand->conf->modify;
}

/* Enters what came back; a get that found nothing has read that. */
static void hand_return(struct hand *hand, long at, enum history_f f, uint64_t value,
			int err)
{
	if (f == HISTORY_GET && err == -ENOENT) {
		value = HISTORY_ABSENT;
		err = 0;
	}
	hand_note(hand, err);
	if (err == -ETIME)
		history_forget(hand->log, at);
	else
		history_return(hand->log, at, type_of(err), value, far_now(hand->task));
}

static void one_op(struct hand *hand)
{
	static const enum history_f kind[8] = {
		HISTORY_GET, HISTORY_GET, HISTORY_GET, HISTORY_PUT, HISTORY_PUT,
		HISTORY_INSERT, HISTORY_UPDATE, HISTORY_DELETE,
	};
	enum history_f f = kind[far_rng_below(&hand->rng, 8)];
	unsigned i = far_rng_below(&hand->rng, hand->conf->keys);
	int writes = f != HISTORY_GET && f != HISTORY_DELETE;
	bool modify = is_modify(hand);
	size_t len;
	long at;
	int err;

	if (modify && f == HISTORY_PUT)
		f = HISTORY_RMW;

	len = some_length(hand);
	value_make(hand->value, longest_of(hand->conf),
		   writes ? hand->writer | ++hand->values : 0);
	at = history_invoke(hand->log, f, i, hand->value[0], 0, far_now(hand->task));
	err = modify ? do_modify(hand, f, i, len) : do_op(hand, f, i, len);
	hand_return(hand, at, f, hand->value[0], err);
}

/* What a scan has given. */
struct seen {
	struct hand *hand;
	const struct far_range *range;
	uint64_t *value;		/* of each key that is fought for */
	uint64_t last;			/* number of the last key */
	uint64_t fillers;		/* of those that stay */
	uint64_t given;
	const char *wrong;
};

static void seen_check(struct seen *seen, uint64_t number)
{
	const struct far_range *range = seen->range;
	int down = range->flags & FAR_RANGE_DOWN;

	if (seen->given && (down ? number >= seen->last : number <= seen->last))
		seen->wrong = "a scan is out of order";
	if ((range->from && number < key_number(range->from)) ||
	    (range->to && number > key_number(range->to)))
		seen->wrong = "a scan gave what is outside of its range";
	seen->last = number;
	seen->given++;
}

static int seen_key(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len)
{
	struct seen *seen = arg;
	const struct program_conf *conf = seen->hand->conf;
	uint64_t number = key_number(key), first;
	uint8_t same[MAX_KEY];
	unsigned i;

	memcpy(&first, value, sizeof(first));
	if (key_write(same, number, conf->key_size, conf->kind->fixed) != key_len ||
	    memcmp(same, key, key_len) || value_len < sizeof(first) ||
	    !value_is_whole(value, value_len))
		seen->wrong = "a scan gave a key or value that nobody has written";
	seen_check(seen, number);
	if (number & 1) {
		if (first != number)
			seen->wrong = "a scan gave another key's value";
		for (i = 0; i < conf->prefill; i++)
			seen->fillers += number == key_filler(i);
		return 0;
	}
	for (i = 0; i < conf->keys; i++)
		if (number == key_fought(i, conf->keys))
			seen->value[i] = first;
	return 0;
}

static int range_has(const struct far_range *range, uint64_t number)
{
	return (!range->from || number >= key_number(range->from)) &&
	       (!range->to || number <= key_number(range->to));
}

/* Fillers that stay, and that a scan of this range has to give. */
static uint64_t range_fillers(const struct program_conf *conf,
			      const struct far_range *range)
{
	uint64_t nr = 0;
	unsigned i;

	for (i = 0; i < conf->prefill; i++)
		nr += range_has(range, key_filler(i));
	return nr;
}

/* A range between two of the keys that are fought for, or without an end. */
static void range_draw(struct hand *hand, uint8_t *from, uint8_t *to,
		       struct far_range *ret_range)
{
	const struct program_conf *conf = hand->conf;
	unsigned a = far_rng_below(&hand->rng, conf->keys + 1);
	unsigned b = a + far_rng_below(&hand->rng, conf->keys + 1 - a);

	*ret_range = (struct far_range) { 0 };
	if (a < conf->keys) {
		ret_range->from = from;
		ret_range->from_len = key_write(from, key_fought(a, conf->keys),
						conf->key_size, conf->kind->fixed);
	}
	if (b < conf->keys && a < conf->keys) {
		ret_range->to = to;
		ret_range->to_len = key_write(to, key_fought(b, conf->keys),
					      conf->key_size, conf->kind->fixed);
	}
	if (far_rng_below(&hand->rng, 2))
		ret_range->flags = FAR_RANGE_DOWN;
}

/*
 * A scan is a get of each key in its range, between its begin and its end: one that is
 * there all the time is given.
 */
static void one_scan(struct hand *hand)
{
	const struct program_conf *conf = hand->conf;
	struct seen seen = { .hand = hand, .value = calloc(conf->keys, sizeof(uint64_t)) };
	long *at = calloc(conf->keys, sizeof(*at));
	uint8_t from[MAX_KEY], to[MAX_KEY];
	struct far_range range;
	unsigned i;
	int err;

	range_draw(hand, from, to, &range);
	seen.range = &range;
	for (i = 0; i < conf->keys; i++) {
		seen.value[i] = HISTORY_ABSENT;
		if (range_has(&range, key_fought(i, conf->keys)))
			at[i] = history_invoke(hand->log, HISTORY_GET, i, 0, 0,
					       far_now(hand->task));
	}
	err = hand->kind->ops->scan(hand->task, hand->index, &range, seen_key, &seen);
	for (i = conf->keys; i--;)
		if (range_has(&range, key_fought(i, conf->keys)))
			hand_return(hand, at[i], HISTORY_GET, seen.value[i], err);
	if (!err && seen.fillers != range_fillers(conf, &range))
		seen.wrong = "a scan gave a key not once that was there all the time";
	if (seen.wrong) {
		print_error("client %u: %s\n", hand->worker->client, seen.wrong);
		program_fail(hand->worker->program, -EILSEQ);
	}
	free(seen.value);
	free(at);
}

static void hand_init(struct hand *hand, struct rig_worker *worker, struct far_task *task)
{
	struct program *program = worker->program;
	const struct program_conf *conf = program->conf;
	unsigned me = (worker->client * program->threads + worker->thread) * conf->tasks +
		      far_task_index(task);

	*hand = (struct hand) {
		.worker = worker, .task = task, .index = program->index[worker->client],
		.conf = conf, .kind = conf->kind,
		.log = &program->log[me], .writer = (uint64_t)(me + 1) << 32,
		.value = malloc(longest_of(conf)),
		.mine = calloc(conf->ops + 1, sizeof(uint64_t)),
	};
	far_rng_init(&hand->rng, conf->rig.seed, me);
}

static void hand_fini(struct hand *hand)
{
	free(hand->value);
	free(hand->mine);
}

static void hand_step(struct hand *hand)
{
	const struct program_conf *conf = hand->conf;
	unsigned dice = far_rng_below(&hand->rng, 100);

	if (conf->pause_ns)
		far_sleep(hand->task, far_rng_below(&hand->rng, conf->pause_ns));
	hand_hurry(hand);
	if (dice < conf->fill)
		fill_more(hand);
	else if (dice < conf->fill + conf->drain)
		drain_one(hand);
	else if (dice < conf->fill + conf->drain + conf->scan)
		one_scan(hand);
	else
		one_op(hand);
}

static void work(struct far_task *task, void *arg)
{
	struct rig_worker *worker = arg;
	struct hand hand;
	unsigned i;

	hand_init(&hand, worker, task);
	for (i = 0; i < worker->program->conf->ops; i++)
		hand_step(&hand);
	far_deadline_at(task, 0);
	hand_fini(&hand);
}

/* Opens the structure, or makes it. Connections may break under that. */
static void program_index(const struct program_conf *conf, struct far_task *task,
			  void **ret_index)
{
	int err = -EIO;

	while (err == -EIO) {
		err = conf->kind->ops->open(task, INDEX, ret_index);
		if (err == -ENOENT)
			err = ordered_create(conf->kind, task, INDEX, conf->key_size,
						 conf->value_size, ret_index);
	}
	assert_int_equal(err, 0);
	if (conf->kind->variant)
		conf->kind->variant(*ret_index, conf->variant);
}

static void program_logs(struct program *program)
{
	const struct program_conf *conf = program->conf;
	unsigned each = conf->scan ? conf->keys : 1, i;

	program->nr_logs = program->rig.conf.clients * program->threads * conf->tasks;
	program->log = calloc(program->nr_logs, sizeof(*program->log));
	for (i = 0; i < program->nr_logs; i++) {
		program->log[i].max = (size_t)conf->ops * each + 1;
		program->log[i].op = malloc(program->log[i].max * sizeof(struct history_op));
		program->log[i].process = i;
	}
}

/* Fillers that stay, by client 0 before the others begin. */
static void program_prefill(struct program *program, struct far_task *task)
{
	struct rig_worker worker = { program, 0, 0 };
	struct hand hand;
	unsigned i;
	int err;

	hand_init(&hand, &worker, task);
	for (i = 0; i < program->conf->prefill; i++) {
		err = fill_one(&hand, i);
		if (err)
			program_fail(program, err);
	}
	atomic_store(&program->filler, i);
	hand_fini(&hand);
}

static void program_open(struct program *program, const struct program_conf *conf)
{
	struct far_task *task;
	unsigned i;

	memset(program, 0, sizeof(*program));
	program->conf = conf;
	program->threads = conf->threads ? conf->threads : 1;
	rig_open(&program->rig, &conf->rig);
	program_logs(program);
	for (i = 0; i < program->rig.conf.clients; i++) {
		task = rig_enter(&program->rig, i);
		program_index(conf, task, &program->index[i]);
		if (!i)
			program_prefill(program, task);
		far_leave(task);
	}
}

static void program_close(struct program *program)
{
	unsigned i;

	for (i = 0; i < program->rig.conf.clients; i++)
		program->conf->kind->ops->close(program->index[i]);
	for (i = 0; i < program->nr_logs; i++)
		free(program->log[i].op);
	free(program->log);
	rig_close(&program->rig);
}

/* Writes each key that is fought for once more, and scans all: nothing is stuck. */
static void program_go_on(struct program *program, struct far_task *task, unsigned client)
{
	struct rig_worker worker = { program, client, 0 };
	struct far_range all = { 0 };
	struct seen seen = { .range = &all };
	struct hand hand;
	unsigned i;
	int err;

	hand_init(&hand, &worker, task);
	seen.hand = &hand;
	seen.value = calloc(program->conf->keys, sizeof(uint64_t));
	for (i = 0; i < program->conf->keys; i++) {
		value_make(hand.value, program->conf->value_size, 0);
		do
			err = do_op(&hand, HISTORY_PUT, i, program->conf->value_size);
		while (err == -EIO);
		hand_note(&hand, err);
	}
	do {
		seen.given = seen.fillers = 0;
		err = hand.kind->ops->scan(task, hand.index, &all, seen_key, &seen);
	} while (err == -EIO);
	hand_note(&hand, err);
	if (seen.wrong || seen.fillers != program->conf->prefill) {
		print_error("afterwards: %s\n", seen.wrong ? seen.wrong : "a key is lost");
		program_fail(program, -EILSEQ);
	}
	free(seen.value);
	hand_fini(&hand);
}

/* What the last client finds, and that it can go on where others stopped. */
static void program_afterwards(struct program *program, struct program_result *result)
{
	unsigned last = program->rig.conf.clients - 1;
	struct far_task *task;
	struct far_stats count;
	unsigned i;

	task = rig_enter(&program->rig, last);
	result->problems = rig_problems(&program->rig, task);
	program_go_on(program, task, last);
	result->problems += rig_problems(&program->rig, task);
	far_leave(task);
	/* what others have retired is in their hands until they close */
	for (i = 0; i < last; i++)
		rig_leave(&program->rig, i);
	result->problems += rig_space_problems(&program->rig, last);
	far_stats_get(program->rig.far[last], &count);
	result->repaired = count.repaired;
}

/* Where others can look at it. */
static void history_keep(const struct history_op *op, size_t nr,
			 struct program_result *result)
{
	int fd;
	FILE *out;

	snprintf(result->file, sizeof(result->file), "/tmp/far-history-XXXXXX");
	fd = mkstemp(result->file);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out || history_export(op, nr, out))
		result->file[0] = 0;
	if (out)
		fclose(out);
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
	result->verdict = history_check(all, result->ops, HISTORY_ABSENT, &result->why);
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

void program_elsewhere(const struct ordered_kind *kind)
{
	const struct program_conf conf = {
		.kind = kind,
		.rig = {
			.clients = 2, .seed = 1, .spec = getenv("FAR_TEST_NIC"),
			.node = getenv("FAR_TEST_NODE"), .space = getenv("FAR_TEST_SPACE"),
		},
		.tasks = 4, .ops = 100, .keys = 4, .prefill = 20, .fill = 25, .drain = 20,
		.scan = 3, .key_size = 16, .value_size = 40,
	};
	struct program_result result;

	assert_non_null(conf.rig.spec);
	assert_non_null(conf.rig.node);
	assert_non_null(conf.rig.space);
	program_expect_right(&conf, &result);
	print_message("%llu operations of 2 clients are linearizable\n",
		      (unsigned long long)result.ops);
	assert_true(result.ops >= 2 * 4 * 30);
}
