/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of a set of three memory nodes on `soft`, of which the last one goes away: what
 * lies there is -EHOSTDOWN, all else goes on. The operator declares it lost: nothing is asked
 * of it any more, epochs go on, and another client joins without it. It comes back, empty, and
 * the clients use it again.
 *
 * usage: test-mnode-space-lost MNODED ODRPCTL
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <far/far.h>
#include <far/hash.h>
#include <far/memory.h>

#include "../../../userspace/core/client.h"
#include "../../../userspace/core/core.h"
#include "../../../userspace/core/epoch.h"
#include "../../../userspace/core/thread.h"
#include "../../lib/child.h"

#define NODES	3u
#define AWAY	2u
#define CLIENTS	2u
#define NAP_NS	UINT64_C(5000000)
#define MS	UINT64_C(1000000)

static const char *mnoded, *odrpctl;
static char dir[] = "lost-XXXXXX";
static const char *const node_ip[NODES] = { "10.77.0.1", "10.77.0.2", "10.77.0.3" };
static pid_t agent[NODES];

/* ---- agents ---------------------------------------------------------------------- */

/* Node 0 is the switch: a port for each client, and one for each other node. */
static void conf_write(const char *path, unsigned node)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fprintf(out, "[mnode]\nnic = soft:ip=%s/24\n", node_ip[node]);
	for (unsigned i = 0; i < CLIENTS + NODES - 1 && !node; i++)
		fprintf(out, " dgram=%s/m%u:%s/c%u\n", dir, i, dir, i);
	if (node)
		fprintf(out, " dgram=%s/c%u:%s/m%u\n", dir, CLIENTS + node - 1, dir,
			CLIENTS + node - 1);
	fprintf(out, "pool = 24M\ncontrol = %s/ctl%u\nauth = none\nlog-level = info\n"
		"[space s]\nsize = 16M\nclients = 16\ndead-ms = 60000\n"
		"nodes = %s, %s, %s\nnode = %u\n", dir, node, node_ip[0], node_ip[1],
		node_ip[2], node);
	fclose(out);
}

static pid_t program_start(const char *const argv[])
{
	char log[64];
	pid_t pid = child_fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	snprintf(log, sizeof(log), "%s/log", dir);
	if (!freopen(log, "a", stdout) || !freopen(log, "a", stderr))
		_exit(126);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

static void agent_start(unsigned node)
{
	char path[64];
	const char *const argv[] = { mnoded, "--config", path, NULL };

	snprintf(path, sizeof(path), "%s/conf%u", dir, node);
	conf_write(path, node);
	agent[node] = program_start(argv);
}

static void agent_end(unsigned node, int how)
{
	int status;

	assert_int_equal(kill(agent[node], how), 0);
	assert_int_equal(waitpid(agent[node], &status, 0), agent[node]);
}

static void declare_lost(void)
{
	char control[64];
	const char *const argv[] = {
		odrpctl, "mnode", "lost", "s", "2", "--control", control, NULL,
	};
	int status;
	pid_t pid;

	snprintf(control, sizeof(control), "%s/ctl0", dir);
	pid = program_start(argv);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- clients --------------------------------------------------------------------- */

/* It waits for the agents. */
static struct far *client_open(unsigned nr)
{
	char spec[128], why[200];
	struct far_conf conf = {
		.nic = spec, .space = "s", .nodes = node_ip, .nr_nodes = NODES, .seed = 1,
	};
	struct far *far;
	int err;

	snprintf(spec, sizeof(spec), "soft:ip=10.77.0.1%u/24,dgram=%s/c%u:%s/m%u", nr, dir, nr,
		 dir, nr);
	while ((err = far_open(&conf, why, sizeof(why), &far))) {
		if (err != -EHOSTUNREACH && err != -EAGAIN && err != -EINPROGRESS &&
		    err != -ECONNREFUSED)
			fail_msg("far_open: %s", why);
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	return far;
}

/* A word of each node. */
struct words {
	struct far_memory *memory;
	uint64_t addr[NODES];
};

static void words_new(struct far_task *task, struct words *ret_words)
{
	assert_int_equal(far_memory_create(task, "m", &ret_words->memory), 0);
	for (unsigned n = 0; n < NODES; n++)
		assert_int_equal(far_alloc(task, ret_words->memory, n, 8,
					   &ret_words->addr[n]), 0);
}

static int word_add(struct far_task *task, const struct words *words, unsigned node)
{
	far_faa(task, words->addr[node], 1, NULL);
	return far_sync(task);
}

static void others_go_on(struct far_task *task, const struct words *words)
{
	for (unsigned i = 0; i < 20; i++)
		for (unsigned n = 0; n < NODES; n++)
			if (n != AWAY)
				assert_int_equal(word_add(task, words, n), 0);
}

/* Blocks that are retired become free. */
static void epochs_go_on(struct far_task *task)
{
	uint64_t epoch = far_epoch_known(task);
	unsigned i;

	for (i = 0; i < 5000 && far_epoch_known(task) < epoch + 20; i++) {
		assert_int_equal(far_epoch_enter(task), 0);
		far_epoch_exit(task);
		far_sleep(task, MS);
	}
	assert_true(far_epoch_known(task) >= epoch + 20);
	assert_int_equal(far_reclaim(task), 0);
}

/* ---- others' operations, while one waits for the node that is away -------------------- */

struct beside {
	const struct words *words;
	int err;		/* of the first operation on the node that is away */
	unsigned done;		/* on others meanwhile */
	uint64_t longest;	/* of these, ns */
	_Atomic unsigned connected;	/* tasks whose thread has reached all nodes */
	_Atomic bool away;
	bool end;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void beside_run(struct far_task *task, void *arg)
{
	struct beside *beside = arg;
	uint64_t begin;

	for (unsigned n = 0; n < NODES; n++)
		assert_int_equal(word_add(task, beside->words, n), 0);
	beside->connected++;
	while (!beside->away)
		far_sleep(task, MS);
	if (!far_task_index(task)) {
		beside->err = word_add(task, beside->words, AWAY);
		beside->end = true;
		return;
	}
	while (!beside->end) {
		begin = now();
		for (unsigned n = 0; n < AWAY; n++)
			assert_int_equal(word_add(task, beside->words, n), 0);
		if (now() - begin > beside->longest)
			beside->longest = now() - begin;
		beside->done++;
		far_sleep(task, MS);
	}
}

static void away_beside_others(struct far *far, struct far_task *task,
			       const struct words *words)
{
	struct beside beside = { .words = words };
	struct far_thread *thread;

	assert_int_equal(far_thread_start(far, 2, beside_run, &beside, &thread), 0);
	while (beside.connected < 2)
		far_sleep(task, MS);
	agent_end(AWAY, SIGKILL);
	beside.away = true;
	assert_int_equal(far_thread_join(thread), 0);
	/* It was under way when its connection broke. */
	assert_true(beside.err == -EHOSTDOWN || beside.err == -ETIMEDOUT || beside.err == -EIO);
	assert_true(beside.done > 0);
	print_message("%u operations beside one that waits; the slowest took %.3f s\n",
		      beside.done * AWAY, beside.longest / 1e9);
}

/* The service looks at its entry while a thread works. */
static void epoch_pass(struct far_task *task)
{
	assert_int_equal(far_epoch_enter(task), 0);
	far_epoch_exit(task);
	far_sleep(task, MS);
}

/* Nothing is sent there any more, so that the answer comes at once. */
static void declared(struct far *far, struct far_task *task, const struct words *words)
{
	const struct far_counts *counts = &task->thread->counts;
	uint64_t posted;

	declare_lost();
	while (!far_client_lost(far->client, AWAY))
		epoch_pass(task);
	posted = atomic_load(&counts->count[FAR_COUNT_FAA]);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(word_add(task, words, AWAY), -EHOSTDOWN);
	assert_int_equal(atomic_load(&counts->count[FAR_COUNT_FAA]), posted);
	epochs_go_on(task);
	others_go_on(task, words);
}

/* Another client, without the node. */
static struct far *joins(const struct words *words, struct far_task **ret_task)
{
	struct far *far = client_open(1);
	struct far_task *task;
	char why[200];

	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(word_add(task, words, AWAY), -EHOSTDOWN);
	others_go_on(task, words);
	epochs_go_on(task);
	assert_int_equal(far_reopen(task, why, sizeof(why)), 0);
	assert_true(far_client_lost(far->client, AWAY));
	*ret_task = task;
	return far;
}

/* The node is back. */
static void goes_on(struct far *far, struct far_task *task, const struct words *words,
		    const char *name)
{
	struct words with = *words;
	struct far_memory *memory;
	char why[200] = "";
	int err;

	while (!far_client_lacks(far->client))
		epoch_pass(task);
	assert_int_equal(word_add(task, words, AWAY), -EHOSTDOWN);
	/* Its address is another card's now, which this NIC learns after a while. */
	while ((err = far_reopen(task, why, sizeof(why)))) {
		if (err != -EHOSTUNREACH && err != -EHOSTDOWN && err != -ETIMEDOUT)
			fail_msg("%s", why);
		far_sleep(task, NAP_NS);
	}
	assert_false(far_client_lost(far->client, AWAY));
	assert_int_equal(far_memory_create(task, name, &memory), 0);
	assert_int_equal(far_alloc(task, memory, AWAY, 8, &with.addr[AWAY]), 0);
	assert_int_equal(word_add(task, &with, AWAY), 0);
	others_go_on(task, words);
	epochs_go_on(task);
	far_memory_close(memory);
}

static void test_lost(void **state)
{
	struct far *far, *other;
	struct far_task *task, *task2;
	struct words words;
	char why[200] = "";

	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		agent_start(n);
	far = client_open(0);
	assert_int_equal(far_enter(far, &task), 0);
	words_new(task, &words);
	for (unsigned n = 0; n < NODES; n++)
		assert_int_equal(word_add(task, &words, n), 0);
	away_beside_others(far, task, &words);
	others_go_on(task, &words);
	/* Nothing happens to a client that lives. */
	assert_int_equal(far_reopen(task, why, sizeof(why)), 0);
	declared(far, task, &words);
	other = joins(&words, &task2);
	agent_start(AWAY);
	goes_on(far, task, &words, "n");
	goes_on(other, task2, &words, "o");

	far_memory_close(words.memory);
	far_leave(task2);
	far_leave(task);
	assert_int_equal(far_close(other), 0);
	assert_int_equal(far_close(far), 0);
	for (unsigned n = NODES; n--; )
		agent_end(n, SIGTERM);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost),
	};
	char command[64];
	int failed;

	if (argc != 3 || !mkdtemp(dir))
		return 2;
	mnoded = argv[1];
	odrpctl = argv[2];
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed) {
		snprintf(command, sizeof(command), "cat %s/log", dir);
		(void)!system(command);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 2 : failed;
}
