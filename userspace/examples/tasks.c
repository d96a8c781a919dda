// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads and tasks: two threads of eight tasks each share a table. A task that waits
 * for far memory costs no thread, for the others of its thread go on meanwhile; and
 * the keys of one far_hash_mput() or far_hash_mget() travel together.
 *
 *	tasks [NIC]	"mem" (default) or "mem:dir=PATH": no other back end keeps a space
 *			that a program creates
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <far/far.h>
#include <far/hash.h>
#include <far/space.h>
#include <far/stats.h>

#define SPACE		"example-tasks"
#define NR_THREADS	2u
#define NR_TASKS	8u
#define NR_KEYS		32u	/* of each task */

/* What all tasks have in common. */
struct job {
	struct far_hash *hash;
	atomic_int err;		/* the first failure; 0: none */
};

/* The keys of one task, and room for their values. */
struct batch {
	uint64_t key[NR_KEYS];
	uint64_t value[NR_KEYS];
	struct far_hash_item item[NR_KEYS];
};

/* No key of one task is another's. */
static void batch_init(struct batch *batch, const struct far_task *task)
{
	uint64_t first = (far_task_thread(task) * NR_TASKS + far_task_index(task)) * NR_KEYS;

	for (unsigned i = 0; i < NR_KEYS; i++) {
		batch->key[i] = first + i;
		batch->value[i] = (first + i) * (first + i);
		batch->item[i] = (struct far_hash_item) {
			.key = &batch->key[i], .key_len = sizeof(batch->key[i]),
			.value = &batch->value[i], .value_len = sizeof(batch->value[i]),
		};
	}
}

/* Whether each key has its square. */
static int batch_check(const struct batch *batch)
{
	for (unsigned i = 0; i < NR_KEYS; i++)
		if (batch->item[i].value_len != sizeof(batch->value[i]) ||
		    batch->value[i] != batch->key[i] * batch->key[i])
			return -EBADMSG;
	return 0;
}

static void run_task(struct far_task *task, void *arg)
{
	struct job *job = arg;
	struct batch batch;
	int err, none = 0;

	batch_init(&batch, task);
	err = far_hash_mput(task, job->hash, batch.item, NR_KEYS);
	if (!err) {
		memset(batch.value, 0, sizeof(batch.value));
		err = far_hash_mget(task, job->hash, batch.item, NR_KEYS);
	}
	if (!err)
		err = batch_check(&batch);
	if (err)
		atomic_compare_exchange_strong(&job->err, &none, err);
}

/* All threads from start to end. */
static int run_threads(struct far *far, struct job *job)
{
	struct far_thread *thread[NR_THREADS];
	unsigned nr = 0;
	int err = 0;

	while (!err && nr < NR_THREADS) {
		err = far_thread_start(far, NR_TASKS, run_task, job, &thread[nr]);
		if (!err)
			nr++;
	}
	while (nr--)
		far_thread_join(thread[nr]);
	return err ? err : atomic_load(&job->err);
}

static int run_client(struct far *far)
{
	struct far_hash_attr attr = { .expected = NR_THREADS * NR_TASKS * NR_KEYS };
	struct job job = { .err = 0 };
	struct far_task *task;
	int err = far_enter(far, &task);

	if (err)
		return err;
	err = far_hash_create(task, "squares", &attr, &job.hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "squares", &job.hash);
	far_leave(task);
	if (err)
		return err;
	err = run_threads(far, &job);
	far_hash_close(job.hash);
	return err;
}

static void print_stats(struct far *far)
{
	struct far_stats s;

	far_stats_get(far, &s);
	printf("%u tasks: %" PRIu64 " READs, %" PRIu64 " WRITEs, %" PRIu64 " CAS\n",
	       NR_THREADS * NR_TASKS, s.reads, s.writes, s.cas);
	printf("%" PRIu64 " doorbells, %" PRIu64 " bytes on the wire (by formula)\n",
	       s.doorbells, s.wire_bytes);
}

int main(int argc, char **argv)
{
	const struct far_conf conf = { .nic = argc > 1 ? argv[1] : "mem", .space = SPACE };
	const struct far_space_attr attr = { .size = 64 << 20 };
	struct far *far;
	char why[200];
	int err = far_space_create(conf.nic, SPACE, &attr, why, sizeof(why));

	/* -EEXIST: a run that was killed has left it */
	if (err && err != -EEXIST) {
		fprintf(stderr, "tasks: %s\n", why);
		return 1;
	}
	err = far_open(&conf, why, sizeof(why), &far);
	if (err) {
		fprintf(stderr, "tasks: %s\n", why);
	} else {
		err = run_client(far);
		if (err)
			fprintf(stderr, "tasks: %s\n", far_strerror(err));
		else
			print_stats(far);
		far_close(far);
	}
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "tasks: %s\n", why);
		err = -EIO;
	}
	return err ? 1 : 0;
}
