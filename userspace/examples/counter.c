// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A counter in far memory: sixteen tasks add to one key, and none of what they add is lost.
 * Each says by a function what becomes of the value; one round trip serves the functions of
 * many tasks.
 *
 *	counter [NIC]	"mem" (default) or "mem:dir=PATH": no other back end keeps a space
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

#define SPACE		"example-counter"
#define NR_THREADS	2u
#define NR_TASKS	8u
#define NR_VISITS	100u	/* of each task */
#define ALL		(NR_THREADS * NR_TASKS * NR_VISITS)

static const char key[] = "visits";

/* What all tasks have in common. */
struct job {
	struct far_hash *hash;
	atomic_int err;		/* the first failure; 0: none */
};

/*
 * One more than there were. It may be called again when another change was faster, and on
 * another thread, so it uses its arguments alone.
 */
static enum far_modified add_visit(void *arg, struct far_value *value)
{
	uint64_t *visits = arg;

	*visits = 0;
	if (value->data && value->len == sizeof(*visits))
		memcpy(visits, value->data, sizeof(*visits));
	*visits += 1;
	value->data = visits;
	value->len = sizeof(*visits);
	return FAR_STORE;
}

static void run_task(struct far_task *task, void *arg)
{
	struct job *job = arg;
	uint64_t visits, last = 0;
	int err = 0, none = 0;

	for (unsigned i = 0; i < NR_VISITS && !err; i++) {
		err = far_hash_modify(task, job->hash, key, strlen(key), add_visit, &visits);
		/* visits is what there was with this one: more each time */
		if (!err && visits <= last)
			err = -EBADMSG;
		last = visits;
	}
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

/* Opens the table, and clears it of what a run that was killed has left. */
static int open_table(struct far_task *task, struct job *job)
{
	int err = far_hash_create(task, "counters", NULL, &job->hash);

	if (err == -EEXIST)
		err = far_hash_open(task, "counters", &job->hash);
	return err ? err : far_hash_clear(task, job->hash);
}

static int print_visits(struct far_task *task, const struct job *job)
{
	uint64_t visits;
	int err = far_hash_get(task, job->hash, key, strlen(key), &visits, sizeof(visits),
			       NULL);

	if (!err)
		printf("%" PRIu64 " of %u visits\n", visits, ALL);
	return !err && visits != ALL ? -EBADMSG : err;
}

static int run_client(struct far *far)
{
	struct job job = { .hash = NULL };
	struct far_task *task;
	struct far_stats stats;
	int err = far_enter(far, &task);

	if (err)
		return err;
	err = open_table(task, &job);
	far_leave(task);
	if (!err)
		err = run_threads(far, &job);
	if (!err)
		err = far_enter(far, &task);
	if (!err) {
		err = print_visits(task, &job);
		far_leave(task);
	}
	far_stats_get(far, &stats);
	printf("%" PRIu64 " of them by another task's round trips\n", stats.combined);
	if (job.hash)
		far_hash_close(job.hash);
	return err;
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
		fprintf(stderr, "counter: %s\n", why);
		return 1;
	}
	err = far_open(&conf, why, sizeof(why), &far);
	if (err) {
		fprintf(stderr, "counter: %s\n", why);
	} else {
		err = run_client(far);
		if (err)
			fprintf(stderr, "counter: %s\n", far_strerror(err));
		far_close(far);
	}
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "counter: %s\n", why);
		err = -EIO;
	}
	return err ? 1 : 0;
}
