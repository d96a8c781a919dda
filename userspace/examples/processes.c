// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Eight processes on one table. Each opens a client of its own, behind the fork(), puts
 * its keys, and reads those of the process before it as they appear.
 *
 *	processes [NIC]	"mem" (default) or "mem:dir=PATH": no other back end keeps a space
 *			that a program creates
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <far/far.h>
#include <far/hash.h>
#include <far/space.h>

#define SPACE		"example-processes"
#define NR_PROCESSES	8
#define NR_KEYS		100	/* of each process */
#define MOST_WAITS	30000	/* of a millisecond, for a process that may have failed */

struct key {
	unsigned process, number;
};

static int put_keys(struct far_task *task, struct far_hash *hash, unsigned process)
{
	struct key key = { .process = process };
	int err = 0;

	for (; key.number < NR_KEYS && !err; key.number++)
		err = far_hash_put(task, hash, &key, sizeof(key), &process, sizeof(process));
	return err;
}

/* Waits for each key, which the other process puts sooner or later. */
static int get_keys(struct far_task *task, struct far_hash *hash, unsigned process)
{
	struct key key = { .process = process };
	unsigned found, waits = 0;
	size_t len;
	int err;

	while (key.number < NR_KEYS) {
		err = far_hash_get(task, hash, &key, sizeof(key), &found, sizeof(found), &len);
		if (err == -ENOENT && waits++ < MOST_WAITS) {
			far_sleep(task, 1000000);
			continue;
		}
		if (err)
			return err;
		if (len != sizeof(found) || found != process)
			return -EBADMSG;
		key.number++;
	}
	return 0;
}

static int use_table(struct far *far, unsigned process)
{
	struct far_task *task;
	struct far_hash *hash;
	int err = far_enter(far, &task);

	if (err)
		return err;
	/* one of the processes creates the table, the others open it */
	err = far_hash_create(task, "numbers", NULL, &hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "numbers", &hash);
	if (!err) {
		err = put_keys(task, hash, process);
		if (!err)
			err = get_keys(task, hash, (process + NR_PROCESSES - 1) % NR_PROCESSES);
		far_hash_close(hash);
	}
	far_leave(task);
	return err;
}

/* A process from start to end; the exit status. */
static int run_process(const struct far_conf *conf, unsigned process)
{
	struct far *far;
	char why[200];
	int err;

	if (far_open(conf, why, sizeof(why), &far)) {
		fprintf(stderr, "process %u: %s\n", process, why);
		return 1;
	}
	err = use_table(far, process);
	if (err)
		fprintf(stderr, "process %u: %s\n", process, far_strerror(err));
	far_close(far);
	return err ? 1 : 0;
}

/* How many did not end well. */
static int run_processes(const struct far_conf *conf)
{
	int failed = 0, nr = 0, status;
	pid_t pid;

	for (unsigned process = 0; process < NR_PROCESSES; process++) {
		pid = fork();
		if (!pid)
			_exit(run_process(conf, process));
		if (pid > 0)
			nr++;
		else
			failed++;
	}
	while (nr--)
		failed += wait(&status) < 0 || status;
	return failed;
}

int main(int argc, char **argv)
{
	const struct far_conf conf = { .nic = argc > 1 ? argv[1] : "mem", .space = SPACE };
	const struct far_space_attr attr = { .size = 64 << 20 };
	char why[200];
	int err = far_space_create(conf.nic, SPACE, &attr, why, sizeof(why)), failed;

	/* -EEXIST: a run that was killed has left it */
	if (err && err != -EEXIST) {
		fprintf(stderr, "processes: %s\n", why);
		return 1;
	}
	failed = run_processes(&conf);
	if (!failed)
		printf("%d processes: %d keys\n", NR_PROCESSES, NR_PROCESSES * NR_KEYS);
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "processes: %s\n", why);
		failed++;
	}
	return failed ? 1 : 0;
}
