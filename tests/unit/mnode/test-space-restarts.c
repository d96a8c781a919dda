// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-mnoded is killed again and again, at moments that nobody chose, while two clients on
 * `soft` read and write a hash table of a space (half of each, some keys more than others).
 * Somebody keeps its files, and begins it again. Each client goes on by far_reopen(). What
 * was acknowledged is there: the history of all of it is linearizable, with operations out of
 * it that have answered -ESTALE, since these have changed nothing; and each time the space
 * is whole. 10 times by day, with ODRP_NIGHTLY=1 200 times.
 *
 * And the same with the second memory node of two: there no client is fenced, and none has
 * to reopen.
 *
 * Or the agent is one that runs elsewhere: FAR_TEST_NIC, FAR_TEST_NODE and FAR_TEST_SPACE say
 * where its space is, and the shell command FAR_TEST_KILL has it killed, and begun again,
 * FAR_TEST_KILLS times.
 *
 * usage: test-mnode-space-restarts MNODED FD-STORE FAR [SEED]
 *        test-mnode-space-restarts elsewhere FAR [SEED]
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <far/far.h>
#include <far/hash.h>

#include "../../../userspace/base/rng.h"
#include "../../lib/child.h"
#include "../../lib/history.h"
#include "../../lib/nightly.h"

#define CLIENTS		2u
#define TASKS		4u
#define KEYS		64u
#define PORTS		(CLIENTS + 2)	/* the last ones are for checks, and for node 1 */
#define MAX_NODES	2u
#define KILLS		10u
#define NIGHTLY_KILLS	200u
#define MEMBER_KILLS	6u	/* of a member */
#define NIGHTLY_MEMBER	100u
#define MOST_OPS	(1u << 17)	/* of a task */
#define NAP_NS		1000000
#define AGAIN_NS	UINT64_C(5000000)

static const char *mnoded, *fd_store, *far_tool;
/* Elsewhere; NULL: the agents are this program's. */
static const char *nic_elsewhere, *kill_command;
static char dir[] = "restarts-XXXXXX";
static uint64_t seed = 1;

/* Memory that all processes see. */
struct shared {
	atomic_uint done, unknown, stale, reopened;
	atomic_uint back[CLIENTS];	/* tasks that have gone on with another client */
	atomic_uint at_work;		/* clients that have opened the table */
	atomic_uint resting;		/* tasks that have seen @rest */
	atomic_bool rest, end;
	atomic_int bad;			/* an answer that cannot be */
	struct history_log log[CLIENTS + 1][TASKS];
	struct history_op op[CLIENTS + 1][TASKS][MOST_OPS];
};

static struct shared *shared;

struct client {
	unsigned nr;
	struct far_hash *hash;
	uint64_t number;		/* of the last value that a task has made */
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* ---- programs -------------------------------------------------------------------- */

static pid_t spawn(const char *const argv[], const char *out)
{
	pid_t pid = child_fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	if (!freopen(out, "a", stdout) || !freopen(out, "a", stderr))
		_exit(126);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

static unsigned nr_nodes;
static const char *node_ip[MAX_NODES] = { "10.77.0.1", "10.77.0.2" };
static const char *space_name = "s";

/* Node 0 is the switch. */
static void conf_write(const char *path, unsigned node)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fprintf(out, "[mnode]\nnic = soft:ip=%s/24\n", node_ip[node]);
	for (unsigned i = 0; i < PORTS && !node; i++)
		fprintf(out, " dgram=%s/m%u:%s/c%u\n", dir, i, dir, i);
	if (node)
		fprintf(out, " dgram=%s/c%u:%s/m%u\n", dir, PORTS - 1, dir, PORTS - 1);
	fprintf(out, "pool = 24M\ncontrol = %s/ctl%u\nauth = none\nlog-level = info\n"
		"[space s]\nsize = 16M\nclients = 16\ndead-ms = 60000\n", dir, node);
	if (nr_nodes > 1)
		fprintf(out, "nodes = %s, %s\nnode = %u\n", node_ip[0], node_ip[1], node);
	fclose(out);
}

static pid_t agent_start(unsigned node)
{
	char path[64], log[64];
	const char *const argv[] = {
		fd_store, dir, mnoded, "--config", path, NULL,
	};

	snprintf(path, sizeof(path), "%s/conf%u", dir, node);
	snprintf(log, sizeof(log), "%s/log", dir);
	conf_write(path, node);
	return spawn(argv, log);
}

static void show(const char *name)
{
	char path[64], line[400];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		print_message("%s: %s", name, line);
	if (in)
		fclose(in);
}

static void nic_of(unsigned nr, char spec[128])
{
	if (nic_elsewhere)
		snprintf(spec, 128, "%s", nic_elsewhere);
	else
		snprintf(spec, 128, "soft:ip=10.77.0.1%u/24,dgram=%s/c%u:%s/m%u", nr, dir, nr, dir,
			 nr);
}

/* The check runs as a program of its own, which sees the space as others do. */
static void space_check(void)
{
	char spec[128], out[64];
	const char *const argv[] = {
		far_tool, "space", "check", space_name, "--nic", spec, "--node", node_ip[0],
		nr_nodes > 1 ? "--node" : NULL, node_ip[1], NULL,
	};
	int status;
	pid_t pid;

	nic_of(CLIENTS, spec);
	snprintf(out, sizeof(out), "%s/check", dir);
	unlink(out);
	pid = spawn(argv, out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!status)
		return;
	show("check");
	show("log");
	fail_msg("far space check: status 0x%x, seed %llu", status, (unsigned long long)seed);
}

/* ---- a client -------------------------------------------------------------------- */

/* The agent is away, or not ready, or has not fenced enough clients of before yet. */
static bool comes_back(int err)
{
	return err == -EHOSTUNREACH || err == -EHOSTDOWN || err == -ETIMEDOUT ||
	       err == -EINPROGRESS || err == -EUSERS || err == -EBUSY || err == -EIO ||
	       err == -ECONNREFUSED || err == -EAGAIN;
}

static void go_on(struct far_task *task, unsigned nr)
{
	char why[200];
	int err;

	while ((err = far_reopen(task, why, sizeof(why)))) {
		/* another task's, which the agent's next end has undone */
		if (!comes_back(err)) {
			fprintf(stderr, "far_reopen: %d: %s\n", err, why);
			atomic_store(&shared->bad, err);
			return;
		}
		far_sleep(task, AGAIN_NS);
	}
	atomic_fetch_add(&shared->reopened, 1);
	atomic_fetch_add(&shared->back[nr], 1);
}

static void answer(struct far_task *task, unsigned nr, struct history_log *log, bool get,
		   long idx, int err, uint64_t value)
{
	if (!err || (get && err == -ENOENT)) {
		history_return(log, idx, HISTORY_OK, err ? HISTORY_ABSENT : value, now());
		atomic_fetch_add(&shared->done, 1);
		return;
	}
	if (!get && (err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN)) {
		history_return(log, idx, HISTORY_OPEN, 0, 0);
		atomic_fetch_add(&shared->unknown, 1);
	} else {
		history_forget(log, idx);
	}
	if (err == -ESTALE) {
		atomic_fetch_add(&shared->stale, 1);
		go_on(task, nr);
	} else if (err == -EHOSTDOWN || err == -ETIME || err == -EIO || err == -ETIMEDOUT) {
		far_sleep(task, AGAIN_NS);
	} else {
		atomic_store(&shared->bad, err);
	}
}

static void rest(struct far_task *task)
{
	atomic_fetch_add(&shared->resting, 1);
	while (atomic_load(&shared->rest) && !atomic_load(&shared->end))
		far_sleep(task, AGAIN_NS);
	atomic_fetch_sub(&shared->resting, 1);
}

static void one(struct far_task *task, struct client *client, struct far_rng *rng)
{
	struct history_log *log = &shared->log[client->nr][far_task_index(task)];
	/* The lower ones more often. */
	uint64_t key = far_rng_below(rng, 1 + far_rng_below(rng, KEYS)), value[4] = { 0 };
	bool get = far_rng_below(rng, 2);
	size_t len = sizeof(value);
	long idx;
	int err;

	if (!get)
		value[0] = (uint64_t)(client->nr + 1) << 32 | ++client->number;
	idx = history_invoke(log, get ? HISTORY_GET : HISTORY_PUT, key, value[0], 0, now());
	if (idx < 0) {
		atomic_store(&shared->bad, -ENOSPC);
		return;
	}
	if (get)
		err = far_hash_get(task, client->hash, &key, sizeof(key), value, sizeof(value),
				   &len);
	else
		err = far_hash_put(task, client->hash, &key, sizeof(key), value, sizeof(value));
	answer(task, client->nr, log, get, idx, err, value[0]);
}

static void task_work(struct far_task *task, void *arg)
{
	struct client *client = arg;
	struct far_rng rng;

	far_rng_init(&rng, seed, client->nr * TASKS + far_task_index(task));
	while (!atomic_load(&shared->end) && !atomic_load(&shared->bad)) {
		if (atomic_load(&shared->rest))
			rest(task);
		one(task, client, &rng);
		/* The log lasts longer then, and other processes get the processor. */
		far_sleep(task, far_rng_below(&rng, 400000));
	}
}

/* Waits for the agent. */
static struct far *client_open(unsigned nr)
{
	char spec[128], why[200];
	struct far_conf conf = {
		.nic = spec, .space = space_name, .nodes = node_ip, .nr_nodes = nr_nodes,
		.seed = seed,
	};
	struct far *far;
	int err;

	nic_of(nr, spec);
	while ((err = far_open(&conf, why, sizeof(why), &far))) {
		if (!comes_back(err)) {
			fprintf(stderr, "far_open: %s\n", why);
			_exit(5);
		}
		nap(NAP_NS);
	}
	return far;
}

static void client_run(unsigned nr)
{
	struct client client = { .nr = nr };
	struct far *far = client_open(nr);
	struct far_thread *thread;
	struct far_task *task;
	int err;

	err = far_enter(far, &task);
	if (!err)
		err = far_hash_open(task, "t", &client.hash);
	if (!err)
		err = far_leave(task);
	if (!err)
		err = far_thread_start(far, TASKS, task_work, &client, &thread);
	if (err) {
		fprintf(stderr, "the client's start: %s\n", far_strerror(err));
		_exit(3);
	}
	atomic_fetch_add(&shared->at_work, 1);
	far_thread_join(thread);
	far_hash_close(client.hash);
	_exit(far_close(far) ? 4 : 0);
}

static pid_t client_start(unsigned nr)
{
	pid_t pid;

	for (unsigned i = 0; i < TASKS; i++)
		shared->log[nr][i] = (struct history_log){
			.op = shared->op[nr][i], .max = MOST_OPS, .process = nr * TASKS + i,
		};
	pid = child_fork();
	if (!pid)
		client_run(nr);
	assert_true(pid > 0);
	return pid;
}

/* ---- the test -------------------------------------------------------------------- */

static pid_t pids[CLIENTS];

static void still_good(void)
{
	int status;

	if (atomic_load(&shared->bad)) {
		show("log");
		fail_msg("answer %d, seed %llu", shared->bad, (unsigned long long)seed);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		if (pids[i] && waitpid(pids[i], &status, WNOHANG) == pids[i])
			fail_msg("client %u ended: status 0x%x", i, status);
}

static void wait_done(unsigned more)
{
	unsigned until = atomic_load(&shared->done) + more;

	while ((int)(atomic_load(&shared->done) - until) < 0) {
		still_good();
		nap(NAP_NS);
	}
}

/* The first kill meets clients at work: one that is fenced before would have to reopen. */
static void clients_wait(void)
{
	while (atomic_load(&shared->at_work) != CLIENTS) {
		still_good();
		nap(NAP_NS);
	}
}

static void clients_rest(bool yes)
{
	unsigned want = yes ? CLIENTS * TASKS : 0;

	atomic_store(&shared->rest, yes);
	while (atomic_load(&shared->resting) != want) {
		still_good();
		nap(NAP_NS);
	}
}

/* Waits until an agent has said that so many times, in both tests. */
static void log_wait(const char *text, unsigned times)
{
	char path[64], line[400];
	unsigned nr;
	FILE *in;

	snprintf(path, sizeof(path), "%s/log", dir);
	do {
		nap(NAP_NS);
		still_good();
		nr = 0;
		in = fopen(path, "r");
		while (in && fgets(line, sizeof(line), in))
			nr += strstr(line, text) != NULL;
		if (in)
			fclose(in);
	} while (nr < times);
}

static int table_make(void)
{
	const struct far_hash_attr attr = { .expected = 1 };
	struct far *far = client_open(CLIENTS);
	struct far_task *task;
	struct far_hash *hash;
	int err = far_enter(far, &task);

	if (!err)
		err = far_hash_create(task, "t", &attr, &hash);
	if (err)
		return err;
	far_hash_close(hash);
	err = far_leave(task);
	return err ? err : far_close(far);
}

/* verbs is not for a process whose parent has used it. */
static void table_new(void)
{
	pid_t pid = child_fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(-table_make());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Reads the keys that are there at the end. */
static void table_read(void)
{
	struct history_log *log = &shared->log[CLIENTS][0];
	struct far *far = client_open(CLIENTS);
	struct far_task *task;
	struct far_hash *hash;

	*log = (struct history_log){
		.op = shared->op[CLIENTS][0], .max = MOST_OPS, .process = CLIENTS * TASKS,
	};
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_hash_open(task, "t", &hash), 0);
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t value[4];
		size_t len;
		long idx = history_invoke(log, HISTORY_GET, key, 0, 0, now());
		int err = far_hash_get(task, hash, &key, sizeof(key), value, sizeof(value),
				       &len);

		assert_true(!err || err == -ENOENT);
		history_return(log, idx, HISTORY_OK, err ? HISTORY_ABSENT : value[0], now());
	}
	far_hash_close(hash);
	far_leave(task);
	far_close(far);
}

static void judge(void)
{
	struct history_verdict why;
	struct history_op *all;
	size_t nr;

	all = history_merge(&shared->log[0][0], CLIENTS * TASKS + 1, &nr);
	assert_non_null(all);
	if (history_check(all, nr, HISTORY_ABSENT, &why))
		fail_msg("seed %llu: key %llu: %s", (unsigned long long)seed,
			 (unsigned long long)why.key, why.why);
	print_message("%zu operations, %u unknown, %u stale, %u reopened\n", nr,
		      shared->unknown, shared->stale, shared->reopened);
	free(all);
}

/* Each client meets an agent that does not know it. */
static void wait_back(const unsigned before[CLIENTS])
{
	for (unsigned i = 0; i < CLIENTS; i++)
		while (atomic_load(&shared->back[i]) == before[i]) {
			still_good();
			nap(NAP_NS);
		}
}

static void agent_kill(pid_t agent)
{
	if (kill_command)
		assert_int_equal(system(kill_command), 0);
	else
		assert_int_equal(kill(agent, SIGUSR2), 0);
}

/* How long it took until both clients went on. */
static uint64_t agent_kill_once(pid_t agent, unsigned nr)
{
	unsigned before[CLIENTS];
	uint64_t begin = now();

	for (unsigned i = 0; i < CLIENTS; i++)
		before[i] = atomic_load(&shared->back[i]);
	agent_kill(agent);
	if (nr_nodes == 1)
		wait_back(before);
	wait_done(CLIENTS * TASKS * 2);
	begin = now() - begin;
	/* where nobody has had to wait for it */
	if (nr_nodes > 1)
		log_wait("is open", nr + 2);
	return begin;
}

/* Kills the agent again and again under clients at work: the history is right. */
static void killed_under_clients(pid_t agent, unsigned kills)
{
	uint64_t took, longest = 0;
	struct far_rng rng;
	int status;

	far_rng_init(&rng, seed, 77);
	table_new();
	for (unsigned i = 0; i < CLIENTS; i++)
		pids[i] = client_start(i);
	clients_wait();
	for (unsigned i = 0; i < kills; i++) {
		wait_done(1 + far_rng_below(&rng, 300));
		nap(far_rng_below(&rng, 5 * NAP_NS));
		took = agent_kill_once(agent, i);
		if (took > longest)
			longest = took;
		clients_rest(true);
		space_check();
		clients_rest(false);
	}
	wait_done(100);
	atomic_store(&shared->end, true);
	for (unsigned i = 0; i < CLIENTS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		pids[i] = 0;
		assert_int_equal(status, 0);
	}
	table_read();
	judge();
	space_check();
	print_message("killed %u times; all clients go on after %.2f s at most\n", kills,
		      longest / 1e9);
}

static void shared_open(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(shared != MAP_FAILED);
}

static void agent_end(pid_t agent)
{
	int status;

	assert_int_equal(kill(agent, SIGTERM), 0);
	assert_int_equal(waitpid(agent, &status, 0), agent);
}

static void test_killed(unsigned nodes, unsigned kills)
{
	pid_t agent, other = 0;

	nr_nodes = nodes;
	shared_open();
	agent = agent_start(nodes - 1);
	if (nodes > 1) {
		other = agent_start(0);
		log_wait("have joined", 1);
	}
	killed_under_clients(agent, kills);
	if (nodes > 1)
		assert_int_equal(shared->reopened, 0);
	agent_end(agent);
	if (other)
		agent_end(other);
	munmap(shared, sizeof(*shared));
}

static void test_only_node(void **state)
{
	test_killed(1, nightly() ? NIGHTLY_KILLS : KILLS);
}

static void test_member(void **state)
{
	test_killed(2, nightly() ? NIGHTLY_MEMBER : MEMBER_KILLS);
}

static void test_elsewhere(void **state)
{
	const char *kills = getenv("FAR_TEST_KILLS");

	nic_elsewhere = getenv("FAR_TEST_NIC");
	node_ip[0] = getenv("FAR_TEST_NODE");
	space_name = getenv("FAR_TEST_SPACE");
	kill_command = getenv("FAR_TEST_KILL");
	assert_true(nic_elsewhere && node_ip[0] && space_name && kill_command && kills);
	nr_nodes = 1;
	shared_open();
	killed_under_clients(0, strtoul(kills, NULL, 10));
	munmap(shared, sizeof(*shared));
}

static void dir_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static int elsewhere(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elsewhere),
	};

	if (argc < 3 || argc > 4)
		return 2;
	far_tool = argv[2];
	if (argc == 4)
		seed = strtoull(argv[3], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_node),
		cmocka_unit_test(test_member),
	};
	bool is_elsewhere = argc > 1 && !strcmp(argv[1], "elsewhere");
	int failed;

	if (!mkdtemp(dir))
		return 2;
	if (is_elsewhere) {
		failed = elsewhere(argc, argv);
	} else if (argc < 4 || argc > 5) {
		failed = 2;
	} else {
		mnoded = argv[1];
		fd_store = argv[2];
		far_tool = argv[3];
		if (argc == 5)
			seed = strtoull(argv[4], NULL, 10);
		failed = cmocka_run_group_tests(tests, NULL, NULL);
	}
	dir_remove();
	return failed;
}
