/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histories of three processes on the keys of one structure: some are killed and replaced,
 * some are stopped for a while or fork, connections break, values are long at times, the
 * space is filled and emptied beside, and tables begin small again and again. On `soft`,
 * the memory node is a process of its own, and those that are stopped for long are fenced.
 * What they have done is linearizable, and the space whole afterwards. By day a million
 * operations on `mem` and a hundred thousand on `soft`, with ODRP_NIGHTLY=1 ten times as
 * many.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <far/art.h>
#include <far/btree.h>

#include "../../../../userspace/base/rng.h"
#include "../../../lib/nic/fault.h"
#include "../../../lib/child.h"
#include "../../../lib/history.h"
#include "../../../lib/nightly.h"
#include "bed.h"

#define WORKERS		3u
#define SPARE		3u		/* that take the place of dead ones */
#define TASKS		4u
#define OPS		2500u		/* of a task in a round, at most */
#define SOFT_OPS	400u		/* the same on soft */
#define KEYS		48u		/* that are fought for in a round */
#define SIZE		(UINT64_C(40) << 20)
#define FIXED_SIZE	(UINT64_C(10) << 20)	/* of short values */
#define SOFT_FIXED_SIZE	(UINT64_C(6) << 20)
#define LONG_STOP	4u		/* seconds, on soft, which fences it meanwhile */
#define LONG_ONE_IN	1000u		/* values that no slot has the length of */
#define LONG		20000u
#define LONGEST_ONE_IN	20000u
#define LONGEST		(1u << 20)
#define BTREE_LEN	40u
#define SOFT_BTREE_LEN	250u		/* so that a space is full after fewer packets */
#define FILL_LEN	8000u
#define KEPT		800u		/* keys besides, of each task */
#define FULL_ROUNDS	8u		/* in one of so many the space is filled */

/* A structure; keys are numbers. */
struct kind {
	const char *name;
	size_t fixed;		/* length of all values; 0: any */
	int (*create)(struct far_task *task, void **ret_index);
	int (*open)(struct far_task *task, void **ret_index);
	void (*close)(void *index);
	int (*destroy)(struct far_task *task);
	int (*get)(struct far_task *task, void *index, uint64_t key, void *value, size_t *len);
	int (*store[HISTORY_NR_F])(struct far_task *task, void *index, uint64_t key,
				   const void *value, size_t len);
	int (*delete)(struct far_task *task, void *index, uint64_t key);
};

#define KIND(kind, attr)								\
	static int kind##_u64_create(struct far_task *task, void **ret_index)		\
	{										\
		return far_##kind##_create attr;					\
	}										\
	static int kind##_u64_open(struct far_task *task, void **ret_index)		\
	{										\
		return far_##kind##_open(task, "t", (struct far_##kind **)ret_index);	\
	}										\
	static void kind##_u64_close(void *index)					\
	{										\
		far_##kind##_close(index);						\
	}										\
	static int kind##_u64_destroy(struct far_task *task)				\
	{										\
		return far_##kind##_destroy(task, "t");					\
	}										\
	static int kind##_u64_get(struct far_task *task, void *index, uint64_t key,	\
				  void *value, size_t *len)				\
	{										\
		return far_##kind##_get(task, index, &key, 8, value, LONGEST, len);	\
	}										\
	static int kind##_u64_put(struct far_task *task, void *index, uint64_t key,	\
				  const void *value, size_t len)			\
	{										\
		return far_##kind##_put(task, index, &key, 8, value, len);		\
	}										\
	static int kind##_u64_insert(struct far_task *task, void *index, uint64_t key,	\
				  const void *value, size_t len)			\
	{										\
		return far_##kind##_insert(task, index, &key, 8, value, len);		\
	}										\
	static int kind##_u64_update(struct far_task *task, void *index, uint64_t key,	\
				  const void *value, size_t len)			\
	{										\
		return far_##kind##_update(task, index, &key, 8, value, len);		\
	}										\
	static int kind##_u64_delete(struct far_task *task, void *index, uint64_t key)	\
	{										\
		return far_##kind##_delete(task, index, &key, 8);			\
	}

#define KIND_OF(kind, len) {								\
	.name = #kind, .fixed = len,							\
	.create = kind##_u64_create, .open = kind##_u64_open, .close = kind##_u64_close, \
	.destroy = kind##_u64_destroy, .get = kind##_u64_get,				\
	.delete = kind##_u64_delete,							\
	.store = {									\
		[HISTORY_PUT] = kind##_u64_put, [HISTORY_INSERT] = kind##_u64_insert,	\
		[HISTORY_UPDATE] = kind##_u64_update,					\
	},										\
}

static const struct far_hash_attr hash_attr = { .expected = 1 };
static struct far_btree_attr btree_attr = { .value_size = BTREE_LEN, .span = 8 };

KIND(hash, (task, "t", &hash_attr, (struct far_hash **)ret_index))
KIND(btree, (task, "t", &btree_attr, (struct far_btree **)ret_index))
KIND(art, (task, "t", (struct far_art **)ret_index))

static const struct kind kinds[] = {
	KIND_OF(hash, 0), KIND_OF(btree, BTREE_LEN), KIND_OF(art, 0),
};

static uint64_t seed = 1;

/* What all processes see. */
struct shared {
	atomic_uint done;		/* operations of this round */
	atomic_uint unknown, full, late, stale_children, fenced;
	atomic_int bad;			/* an answer that cannot be, */
	atomic_int bad_f;		/* and to what */
	struct history_log log[WORKERS + SPARE][TASKS];
	struct history_op op[WORKERS + SPARE][TASKS][OPS];
};

struct run {
	const struct kind *kind;
	struct shared *shared;
	struct bed bed;
	struct far_rng rng;
	uint64_t seed;
	unsigned round, ops;		/* ops: of a task in it */
	size_t keys, undecided;		/* for which the search was given up */
	/* of a process */
	unsigned worker;
	void *index;
	unsigned fault;			/* connections break */
	atomic_bool fenced;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void bad(const struct run *run, int f, int err)
{
	atomic_store(&run->shared->bad_f, f);
	atomic_store(&run->shared->bad, err);
}

/* ---- values: a number, which says how long it is ---- */

static size_t value_len(const struct run *run, uint64_t number)
{
	uint64_t mix = far_rng_mix(number);
	size_t len = 8 + mix % 200;

	if (run->kind->fixed)
		return run->kind->fixed;
	if (mix / 7 % LONG_ONE_IN == 0)
		len = LONG;
	if (mix / 11 % LONGEST_ONE_IN == 0)
		len = LONGEST;
	return len;
}

static size_t value_make(const struct run *run, uint64_t number, uint8_t *value)
{
	size_t len = value_len(run, number);

	memset(value, (int)(number * 37), len);
	memcpy(value, &number, sizeof(number));
	return len;
}

/* The number; 0: this is no value. */
static uint64_t value_number(const struct run *run, const uint8_t *value, size_t len)
{
	uint64_t number;

	memcpy(&number, value, sizeof(number));
	for (size_t i = sizeof(number); i < len; i++)
		if (value[i] != (uint8_t)(number * 37))
			return 0;
	return len == value_len(run, number) ? number : 0;
}

/* ---- a task ---- */

struct task_run {
	struct run *run;
	struct far_task *task;
	struct history_log *log;
	struct far_rng rng;
	uint8_t *value;
	uint64_t numbers;
	uint64_t first, put, deleted;	/* keys that nobody fights for */
};

static uint64_t task_id(const struct task_run *t)
{
	return (uint64_t)(t->run->worker * TASKS + far_task_index(t->task) + 1) << 32;
}

/* Is this process fenced? Then each call answers so from here on. */
static bool is_fenced(struct run *run, int err)
{
	if (err == -ESTALE && run->bed.soft && !atomic_exchange(&run->fenced, true))
		atomic_fetch_add(&run->shared->fenced, 1);
	return run->fenced;
}

/* Puts nr keys that only this task has, each with a value of len bytes. -ENOSPC: it is full. */
static int mine_put(struct task_run *t, uint64_t nr, size_t len)
{
	struct run *run = t->run;
	int err = 0;

	if (run->kind->fixed)
		len = run->kind->fixed;
	memset(t->value, 1, len);
	for (; nr && err != -ENOSPC && !is_fenced(run, err); nr--)
		err = run->kind->store[HISTORY_PUT](t->task, run->index, t->first + t->put++,
						    t->value, len);
	return err;
}

/* Deletes the oldest keys that only this task has, until so many are left. */
static void mine_delete(struct task_run *t, uint64_t left)
{
	struct run *run = t->run;
	int err = 0;

	while (t->put - t->deleted > left && !is_fenced(run, err)) {
		err = run->kind->delete(t->task, run->index, t->first + t->deleted++);
		if (err == -ENOSPC)
			bad(run, HISTORY_DELETE, err);
	}
}

/* Fills the space with keys that only this task has, and deletes them. */
static void mine_fill(struct task_run *t)
{
	if (mine_put(t, UINT64_MAX, FILL_LEN) == -ENOSPC)
		atomic_fetch_add(&t->run->shared->full, 1);
	mine_delete(t, 0);
}

static enum history_f draw_f(struct far_rng *rng)
{
	unsigned x = far_rng_below(rng, 100);

	return x < 40 ? HISTORY_GET : x < 60 ? HISTORY_PUT : x < 70 ? HISTORY_INSERT :
	       x < 80 ? HISTORY_UPDATE : HISTORY_DELETE;
}

/* Did it nothing, as the other answers of its kind say? */
static bool is_refusal(enum history_f f, int err)
{
	return (f == HISTORY_INSERT && err == -EEXIST) ||
	       ((f == HISTORY_UPDATE || f == HISTORY_DELETE) && err == -ENOENT);
}

static void answer(struct task_run *t, enum history_f f, long idx, int err, uint64_t number)
{
	struct shared *shared = t->run->shared;
	bool fenced = is_fenced(t->run, err);
	bool unknown = err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN || fenced;

	if (!err || is_refusal(f, err) || (f == HISTORY_GET && err == -ENOENT)) {
		history_return(t->log, idx, is_refusal(f, err) ? HISTORY_FAIL : HISTORY_OK,
			       number, now());
		return;
	}
	if (unknown && f != HISTORY_GET) {
		history_return(t->log, idx, HISTORY_OPEN, 0, 0);
		atomic_fetch_add(&shared->unknown, 1);
		return;
	}
	history_forget(t->log, idx);
	if (err == -ETIME)
		atomic_fetch_add(&shared->late, 1);
	else if (!unknown && (err != -ENOSPC || f == HISTORY_GET || f == HISTORY_DELETE))
		bad(t->run, f, err);
}

static void one(struct task_run *t)
{
	const struct run *run = t->run;
	uint64_t key = (uint64_t)run->round * KEYS + far_rng_below(&t->rng, KEYS);
	uint64_t number = task_id(t) + ++t->numbers;
	enum history_f f = draw_f(&t->rng);
	size_t len = 0;
	long idx;
	int err;

	if (f != HISTORY_GET && f != HISTORY_DELETE)
		len = value_make(run, number, t->value);
	idx = history_invoke(t->log, f, key, len ? number : 0, 0, now());
	if (f == HISTORY_GET)
		err = run->kind->get(t->task, run->index, key, t->value, &len);
	else if (f == HISTORY_DELETE)
		err = run->kind->delete(t->task, run->index, key);
	else
		err = run->kind->store[f](t->task, run->index, key, t->value, len);
	number = HISTORY_ABSENT;
	if (!err && f == HISTORY_GET) {
		number = value_number(run, t->value, len);
		if (!number)
			bad(run, f, -EBADMSG);
	}
	answer(t, f, idx, err, number);
}

static void task_work(struct far_task *task, void *arg)
{
	struct run *run = arg;
	unsigned index = far_task_index(task);
	struct task_run t = {
		.run = run, .task = task, .log = &run->shared->log[run->worker][index],
		.value = malloc(LONGEST),
	};

	far_rng_init(&t.rng, run->seed << 32 | run->round, run->worker * TASKS + index);
	t.first = UINT64_MAX / 2 + task_id(&t);
	for (unsigned i = 0; t.value && i < run->ops && !run->fenced; i++) {
		one(&t);
		if (i % 2)
			mine_put(&t, 1, 40);
		mine_delete(&t, KEPT);
		if (!index && i == run->ops / 2 && run->round % FULL_ROUNDS == 1)
			mine_fill(&t);
		atomic_fetch_add(&run->shared->done, 1);
	}
	free(t.value);
}

/* ---- a process ---- */

/* A child that lives for a while, and has none of its parent's client. */
static void worker_forks(struct run *run, struct far *far)
{
	struct far_task *task;
	pid_t pid = child_fork();

	if (pid)
		return;
	if (far_enter(far, &task) == -ESTALE)
		atomic_fetch_add(&run->shared->stale_children, 1);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	_exit(0);
}

static struct far *worker_open(struct run *run, struct far_nic **ret_nic)
{
	const char *const node[] = { run->bed.node };
	struct far_conf conf = { .space = "s", .nodes = node, .nr_nodes = 1 };
	struct far *far = NULL;
	struct far_nic *inner;
	char why[200];

	/* the software NIC tears by itself, packet by packet */
	if (far_nic_open(run->bed.spec, why, sizeof(why), &inner) ||
	    far_fault_new(inner, far_rng_next(&run->rng), run->bed.soft ? 0 : FAR_FAULT_TEAR,
			  ret_nic) ||
	    far_open_nic(*ret_nic, &conf, why, sizeof(why), &far)) {
		print_error("%s\n", why);
		_exit(2);
	}
	return far;
}

static void worker(struct run *run)
{
	struct far_thread *thread;
	struct far_task *task;
	struct far_nic *nic;
	struct far *far = worker_open(run, &nic);
	unsigned mine = 0, i;
	pid_t pid;
	int err;

	err = far_enter(far, &task);
	if (!err)
		err = run->kind->open(task, &run->index);
	if (!err)
		err = far_leave(task);
	if (!err)
		err = far_thread_start(far, TASKS, task_work, run, &thread);
	/* it may have been stopped for so long that it is fenced */
	if (err)
		_exit(err == -ESTALE && run->bed.soft ? 0 : 3);
	for (i = 0; mine < TASKS * run->ops / 2 && !run->fenced; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		if (run->fault)
			far_fault_fail_at(nic, 1 + far_rng_below(&run->rng, 300), -ETIMEDOUT);
		if (i % 8 == 0)
			worker_forks(run, far);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		for (mine = 0, pid = 0; pid < (pid_t)TASKS; pid++)
			mine += run->shared->log[run->worker][pid].nr;
	}
	far_thread_join(thread);
	run->kind->close(run->index);
	if (far_close(far) && !run->fenced)
		_exit(4);
	nic->ops->close(nic);
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static pid_t worker_start(struct run *run, unsigned nr)
{
	struct history_log *log = run->shared->log[nr];
	pid_t pid;

	for (unsigned i = 0; i < TASKS; i++)
		log[i] = (struct history_log){ .op = run->shared->op[nr][i], .max = OPS,
					       .process = nr * TASKS + i };
	run->worker = nr;
	far_rng_next(&run->rng);
	pid = child_fork();
	if (!pid)
		worker(run);
	assert_true(pid > 0);
	return pid;
}

/* ---- a round ---- */

/* What happens to one of the processes when so many operations are done. */
struct event {
	unsigned at;
	unsigned victim;
};

static struct event event_draw(struct run *run)
{
	return (struct event){
		.at = far_rng_below(&run->rng, WORKERS * TASKS * run->ops * 3 / 4),
		.victim = far_rng_below(&run->rng, WORKERS),
	};
}

static bool worker_ended(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a process ended with status 0x%x", status);
	return true;
}

/* Some are killed and replaced, one is stopped for a while. How many logs there are. */
static unsigned round_run(struct run *run, unsigned kills)
{
	struct event kill_at = event_draw(run), stop_at = event_draw(run);
	struct timespec stop = { .tv_nsec = 20000000 };
	unsigned nr = 0, alive = WORKERS;
	pid_t pid[WORKERS];

	if (run->bed.soft && run->round % 3 == 2)
		stop.tv_sec = LONG_STOP;
	atomic_store(&run->shared->done, 0);
	for (; nr < WORKERS; nr++)
		pid[nr] = worker_start(run, nr);
	while (alive) {
		unsigned done = atomic_load(&run->shared->done);

		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		for (unsigned i = 0; i < WORKERS; i++)
			if (pid[i] && worker_ended(pid[i])) {
				pid[i] = 0;
				alive--;
			}
		if (done >= stop_at.at && pid[stop_at.victim]) {
			kill(pid[stop_at.victim], SIGSTOP);
			nanosleep(&stop, NULL);
			kill(pid[stop_at.victim], SIGCONT);
			stop_at.at = UINT32_MAX;
		}
		if (kills && done >= kill_at.at && pid[kill_at.victim]) {
			kill(pid[kill_at.victim], SIGKILL);
			waitpid(pid[kill_at.victim], NULL, 0);
			pid[kill_at.victim] = worker_start(run, nr++);
			kill_at = event_draw(run);
			kills--;
		}
	}
	return nr;
}

/* What is there now, as a process of its own that has seen the others end. */
static void round_read(struct run *run, struct history_log *log)
{
	struct far_task *task = bed_enter(&run->bed);
	uint8_t *value = malloc(LONGEST);
	uint64_t key = (uint64_t)run->round * KEYS, number;
	size_t len;
	void *index;

	assert_int_equal(run->kind->open(task, &index), 0);
	for (; key < (uint64_t)(run->round + 1) * KEYS; key++) {
		long idx = history_invoke(log, HISTORY_GET, key, 0, 0, now());
		int err = run->kind->get(task, index, key, value, &len);

		if (err && err != -ENOENT)
			fail_msg("get: %s: %s", strerror(-err), far_strerror_last(task));
		number = err ? HISTORY_ABSENT : value_number(run, value, len);
		assert_true(err || number);
		history_return(log, idx, HISTORY_OK, number, now());
		err = run->kind->delete(task, index, key);
		if (err && err != -ENOENT)
			fail_msg("delete: %s: %s", strerror(-err), far_strerror_last(task));
	}
	run->kind->close(index);
	free(value);
	far_leave(task);
}

static size_t round_judge(struct run *run, unsigned nr)
{
	struct history_log *log = calloc(nr * TASKS + 1, sizeof(*log));
	struct history_op *all, *last = calloc(KEYS, sizeof(*last));
	struct history_verdict why;
	size_t ops;
	int err;

	memcpy(log, run->shared->log, nr * sizeof(run->shared->log[0]));
	log[nr * TASKS] = (struct history_log){ .op = last, .max = KEYS,
						.process = nr * TASKS };
	round_read(run, &log[nr * TASKS]);
	all = history_merge(log, nr * TASKS + 1, &ops);
	assert_non_null(all);
	err = history_check(all, ops, HISTORY_ABSENT, &why);
	if (err && err != -EOVERFLOW)
		fail_msg("%s, seed %llu, round %u: key %llu: %s", run->kind->name,
			 (unsigned long long)run->seed, run->round,
			 (unsigned long long)why.key, why.why);
	run->keys += why.keys;
	run->undecided += why.undecided;
	free(all);
	free(last);
	free(log);
	return ops;
}

static void table_new(struct run *run)
{
	struct far_task *task = bed_enter(&run->bed);
	void *index;

	if (run->round)
		assert_int_equal(run->kind->destroy(task), 0);
	assert_int_equal(run->kind->create(task, &index), 0);
	run->kind->close(index);
	far_leave(task);
}

static void histories(const struct kind *kind, bool soft, uint64_t enough)
{
	struct run run = { .kind = kind, .seed = seed, .ops = soft ? SOFT_OPS : OPS };
	struct shared *shared;
	uint64_t ops = 0;
	unsigned kills = 0;

	shared = run.shared = mmap(NULL, sizeof(*run.shared), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	far_rng_init(&run.rng, run.seed, 0);
	bed_open(&run.bed, soft, !kind->fixed ? SIZE : soft ? SOFT_FIXED_SIZE : FIXED_SIZE);
	for (; ops < enough; run.round++) {
		unsigned nr = run.round % (SPARE + 1);

		table_new(&run);
		run.fault = run.round % 3 == 1;
		kills += nr;
		ops += round_judge(&run, round_run(&run, nr));
		if (atomic_load(&shared->bad))
			fail_msg("%s, seed %llu, round %u: %s answers %d", kind->name,
				 (unsigned long long)run.seed, run.round,
				 history_f_name[shared->bad_f], shared->bad);
	}
	print_message("%s: %llu operations, %u killed, %u unknown, %u late, %u times full, "
		      "%u children, %u fenced, %zu of %zu keys undecided\n",
		      kind->name, (unsigned long long)ops, kills, shared->unknown, shared->late,
		      shared->full, shared->stale_children, shared->fenced, run.undecided,
		      run.keys);
	assert_true(run.undecided * 100 <= run.keys);
	assert_int_equal(rig_space_problems(&run.bed.rig, 0), 0);
	assert_true(shared->unknown && shared->full && shared->stale_children);
	bed_close(&run.bed);
	munmap(shared, sizeof(*shared));
}

static void on_mem(void **state)
{
	const struct kind *kind = *state;

	/* the trees take twice as long */
	histories(kind, false, (nightly() ? 10 : 1) * (kind == kinds ? 500000 : 250000));
}

static void on_soft(void **state)
{
	struct kind kind = *(const struct kind *)*state;

	if (kind.fixed)
		btree_attr.value_size = kind.fixed = SOFT_BTREE_LEN;
	histories(&kind, true, (nightly() ? 10 : 1) * 34000);
}

/* KIND mem|soft [SEED] */
int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	struct CMUnitTest test[] = { cmocka_unit_test(on_mem) };

	for (size_t i = 0; (argc == 3 || argc == 4) && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind || (strcmp(argv[2], "mem") && strcmp(argv[2], "soft"))) {
		fprintf(stderr, "usage: %s hash|btree|art mem|soft [SEED]\n", argv[0]);
		return 2;
	}
	if (argc == 4)
		seed = strtoull(argv[3], NULL, 0);
	if (!strcmp(argv[2], "soft"))
		test[0] = (struct CMUnitTest)cmocka_unit_test(on_soft);
	test[0].initial_state = (void *)kind;
	return cmocka_run_group_tests(test, NULL, NULL);
}
