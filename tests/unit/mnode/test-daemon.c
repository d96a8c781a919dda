// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-mnoded and odrpctl as programs: a compute node in this process, on a
 * software NIC in a thread of its own, joined by datagram sockets.
 *
 * Usage: test-mnode-daemon MNODED ODRPCTL FD-STORE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../lib/child.h"
#include "../../lib/port.h"
#include "bed/load.h"

#define PATIENCE_MS	60000
#define BEAT_MS		100

/* The control socket is in dir/run, which the agent makes. */
static const char *mnoded, *odrpctl, *fd_store;
static char dir[] = "mnode-XXXXXX";
static char line[1 << 20];

struct world {
	pid_t pid;
	struct snic *snic;
	struct snic_rt *rt;
	struct snic_port *port;
	struct cnode *cnode;
	bool kept;
	uint16_t metrics_port;
	unsigned int waited;
	uint64_t beaten_ms;
};

static struct world w;
static struct load load;

/* ---- programs ------------------------------------------------------------------- */

static pid_t spawn(const char *const argv[], int out)
{
	pid_t pid = child_fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (out >= 0) {
			dup2(out, STDOUT_FILENO);
			dup2(out, STDERR_FILENO);
		}
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

/* Runs a program; what it says is in line[]. */
static int run(const char *const argv[])
{
	int fds[2];
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = spawn(argv, fds[1]);
	close(fds[1]);
	while ((n = read(fds[0], line + got, sizeof(line) - 1 - got)) > 0)
		got += n;
	line[got] = 0;
	close(fds[0]);
	return finish(pid);
}

static int ctl(const char *command, const char *more)
{
	char path[64];
	const char *argv[] = {
		odrpctl, "mnode", command, "--control", path,
		"--json", more, NULL,
	};

	snprintf(path, sizeof(path), "%s/run/ctl", dir);
	return run(argv);
}

static struct json_object *ask(const char *command)
{
	struct json_object *obj;

	assert_int_equal(ctl(command, NULL), 0);
	obj = json_tokener_parse(line);
	assert_non_null(obj);
	return obj;
}

static double number(struct json_object *obj, const char *a, const char *b)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(obj, a, &v));
	if (b)
		assert_true(json_object_object_get_ex(v, b, &v));
	return json_object_get_double(v);
}

/* ---- world ------------------------------------------------------------------------- */

/* What the agent serves is in line[]. */
static void get_metrics(void)
{
	static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(w.metrics_port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t got = 0;
	ssize_t n;

	assert_int_equal(connect(fd, (const struct sockaddr *)&addr,
				 sizeof(addr)), 0);
	assert_int_equal(write(fd, request, sizeof(request) - 1),
			 sizeof(request) - 1);
	while ((n = read(fd, line + got, sizeof(line) - 1 - got)) > 0)
		got += n;
	line[got] = 0;
	close(fd);
}

static void write_conf(const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/conf", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* dead-ms: the first compute node waits until tables have been made, and this process
 * until it is its turn, or a command has ended. */
static void start_mnoded(bool kept)
{
	char nic[256], control[64], metrics[32], conf[64];
	const char *argv[] = {
		fd_store, dir, mnoded, "--config", conf, "--nic", nic,
		"--control", control, "--metrics", metrics,
		"--pool", "8M", "--reserve", "64", "--beat-ms", "100",
		"--dead-ms", "10000", "--log-level", "warning", "--auth", "none", NULL,
	};
	unsigned int ms;

	write_conf("# nothing\n");
	snprintf(conf, sizeof(conf), "%s/conf", dir);
	w.metrics_port = free_port(SOCK_STREAM);
	snprintf(metrics, sizeof(metrics), "127.0.0.1:%u", w.metrics_port);
	snprintf(nic, sizeof(nic), "soft:ip=10.77.0.1/24,dgram=%s/m:%s/c", dir,
		 dir);
	snprintf(control, sizeof(control), "%s/run/ctl", dir);
	w.pid = spawn(kept ? argv : argv + 2, -1);
	for (ms = 0; access(control, F_OK); ms += 10) {
		assert_true(ms < PATIENCE_MS);
		usleep(10000);
	}
}

static void start_snic(void)
{
	const struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, 9 }, .ip = htonl(0x0a4d0002),
		.prefix_len = 24, .mtu = 4500, .seed = 5,
	};
	const struct snic_rt_config rt = { .spin_us = 20 };
	char local[64], remote[64];

	snprintf(local, sizeof(local), "%s/c", dir);
	snprintf(remote, sizeof(remote), "%s/m", dir);
	assert_int_equal(snic_new(&cfg, &w.snic), 0);
	assert_int_equal(snic_port_dgram_open(local, remote, &w.port), 0);
	assert_int_equal(snic_port_add(w.snic, w.port), 0);
	assert_int_equal(snic_rt_start(w.snic, &rt, &w.rt), 0);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* Heartbeats go by the clock: on a busy machine a turn may take any time. */
static bool wait_a_little(void *arg)
{
	uint64_t now = now_ms();

	usleep(100);
	if (w.cnode && now - w.beaten_ms >= BEAT_MS) {
		cnode_beat(w.cnode, 0);
		w.beaten_ms = now;
	}
	return ++w.waited % (10 * PATIENCE_MS) != 0;
}

static void connect_cnode(void)
{
	const struct cnode_config cfg = {
		.nic = w.snic, .rt = w.rt, .ip = htonl(0x0a4d0001),
		.port = ODRP_WIRE_PORT, .queues = 2, .depth = 31,
		.nr_slots = 1500, .pump = wait_a_little,
	};
	struct cnode_refusal no;

	assert_int_equal(cnode_open(&cfg, &w.cnode, &no), 0);
	cnode_beat(w.cnode, 0);
}

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	start_mnoded(false);
	start_snic();
	return 0;
}

/* By somebody who keeps what the agent has when it ends. */
static int setup_kept(void **state)
{
	memset(&w, 0, sizeof(w));
	start_mnoded(true);
	w.kept = true;
	start_snic();
	return 0;
}

static int teardown(void **state)
{
	char run_dir[64];
	int status;

	snprintf(run_dir, sizeof(run_dir), "%s/run", dir);
	if (w.cnode)
		cnode_close(w.cnode);
	snic_rt_stop(w.rt);
	snic_free(w.snic);
	w.port->ops->close(w.port);
	kill(w.pid, SIGTERM);
	status = finish(w.pid);
	if (status)
		print_message("odrp-mnoded: exit status %d\n", status);
	/* The agent made it, unless another one had, and nothing else is in it. */
	if (w.kept)
		rmdir(run_dir);
	if (!access(run_dir, F_OK)) {
		print_message("odrp-mnoded: %s is left\n", run_dir);
		status = -1;
	}
	return status;
}

static void wait_for_sessions(unsigned int nr)
{
	unsigned int tries;

	for (tries = 0; tries < PATIENCE_MS / 50; tries++) {
		struct json_object *obj = ask("sessions"), *list;
		size_t n;

		assert_true(json_object_object_get_ex(obj, "sessions", &list));
		n = json_object_array_length(list);
		json_object_put(obj);
		if (n == nr)
			return;
		usleep(50000);
	}
	fail_msg("there never are %u sessions", nr);
}

static void check_mapped(double mapped)
{
	struct json_object *obj = ask("check");

	assert_true(number(obj, "ok", NULL));
	assert_true(number(obj, "exact", NULL));
	assert_true(number(obj, "mapped", NULL) == mapped);
	json_object_put(obj);
}

/* ---- tests ------------------------------------------------------------------------------ */

static void test_swap(void **state)
{
	struct json_object *obj;
	double sum;

	connect_cnode();
	load_init_on(&load, w.cnode, wait_a_little, NULL, 1500, 1);
	load_run(&load, 5000);
	load_verify(&load);
	check_mapped(load.mapped);
	obj = ask("status");
	assert_true(number(obj, "pages_total", NULL) == 2048);
	assert_true(number(obj, "table_bytes", NULL) > 0);
	assert_true(number(obj, "pages_mapped", NULL) == load.mapped);
	/* Two queues of two stores, 32 instances each. */
	assert_true(number(obj, "pages_armed", NULL) == 128);
	assert_true(number(obj, "pages_free", NULL) ==
		    2048 - 128 - load.mapped);
	assert_true(number(obj, "chains", "load") ==
		    load.done[ODRP_WIRE_LOAD]);
	assert_true(number(obj, "chains", "mapped_store") ==
		    load.done[ODRP_WIRE_MAPPED_STORE]);
	assert_true(number(obj, "chains", "unmapped_store") ==
		    load.done[ODRP_WIRE_UNMAPPED_STORE]);
	assert_true(number(obj, "chains", "invalidate") ==
		    load.done[ODRP_WIRE_INVALIDATE]);
	get_metrics();
	assert_memory_equal(line, "HTTP/1.1 200 OK", 15);
	assert_non_null(strstr(line, "\nodrp_mnode_sessions{state=\"live\"} 1\n"));
	sum = number(obj, "nic", "rx_frames");
	assert_true(sum > 5000);
	json_object_put(obj);
	load_fini(&load);
	cnode_close(w.cnode);
	w.cnode = NULL;
	wait_for_sessions(0);
	check_mapped(0);
	/* What was executed stays counted when the sessions are gone. */
	obj = ask("status");
	assert_true(number(obj, "chains", "load") ==
		    load.done[ODRP_WIRE_LOAD]);
	json_object_put(obj);
}

/* The agent does nothing per page: its CPU time is that of heartbeats. */
static void test_agent_is_idle(void **state)
{
	double agent, nic;
	struct json_object *obj;

	connect_cnode();
	load_init_on(&load, w.cnode, wait_a_little, NULL, 1500, 2);
	load_run(&load, 100);
	obj = ask("status");
	agent = number(obj, "agent_cpu_s", NULL);
	nic = number(obj, "nic_cpu_s", NULL);
	json_object_put(obj);
	load_run(&load, 20000);
	obj = ask("status");
	agent = number(obj, "agent_cpu_s", NULL) - agent;
	nic = number(obj, "nic_cpu_s", NULL) - nic;
	json_object_put(obj);
	print_message("20000 requests: agent %.4f s, NIC %.4f s\n", agent, nic);
	assert_true(agent < nic / 4);
	load_fini(&load);
}

static void test_dies(void **state)
{
	struct json_object *obj;

	connect_cnode();
	load_init_on(&load, w.cnode, wait_a_little, NULL, 1500, 3);
	load_run(&load, 2000);
	load_submit(&load, 40);
	cnode_die(w.cnode);
	w.cnode = NULL;
	load_fini(&load);
	wait_for_sessions(0);
	check_mapped(0);
	obj = ask("status");
	assert_true(number(obj, "pages_free", NULL) == 2048);
	assert_true(number(obj, "counters", "dead") == 1);
	json_object_put(obj);
}

static void test_evict_and_drain(void **state)
{
	connect_cnode();
	assert_int_equal(ctl("evict", "99"), 1);
	assert_non_null(strstr(line, "number 99"));
	assert_int_equal(ctl("evict", "1"), 0);
	wait_for_sessions(0);
	cnode_close(w.cnode);
	w.cnode = NULL;
	assert_int_equal(ctl("drain", NULL), 0);
	{
		const struct cnode_config cfg = {
			.nic = w.snic, .rt = w.rt, .ip = htonl(0x0a4d0001),
			.port = ODRP_WIRE_PORT, .queues = 1, .depth = 3,
			.nr_slots = 10, .pump = wait_a_little,
		};
		struct cnode_refusal no;

		assert_int_equal(cnode_open(&cfg, &w.cnode, &no),
				 -ECONNREFUSED);
		assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
	}
	assert_int_equal(ctl("undrain", NULL), 0);
	connect_cnode();
}

static double most_pages(void)
{
	struct json_object *obj = ask("clients"), *list;
	double n = 0;

	assert_true(json_object_object_get_ex(obj, "clients", &list));
	if (json_object_array_length(list))
		n = number(json_object_array_get_idx(list, 0), "max_pages", NULL);
	json_object_put(obj);
	return n;
}

/* What clients may have is as the file says now; what it may not say changes nothing. */
static void test_hangup(void **state)
{
	unsigned int tries = 0;

	assert_int_equal(most_pages(), 0);
	write_conf("[client 10.77.0.2]\nmax-pages = 77\n");
	kill(w.pid, SIGHUP);
	while (most_pages() != 77) {
		assert_in_range(++tries, 1, PATIENCE_MS / 10);
		usleep(10000);
	}
	write_conf("[client 10.77.0.2]\nmax-pages = 78\nguaranteed-pages = 79\n");
	kill(w.pid, SIGHUP);
	connect_cnode();
	assert_int_equal(most_pages(), 77);
	cnode_beat(w.cnode, 1000);
	check_mapped(0);
}

/* The agent ends, and another one has its sessions: so many, then. */
static void end_agent(int signal_no, unsigned int sessions)
{
	char path[64];
	unsigned int tries = 0;

	snprintf(path, sizeof(path), "%s/run/ctl", dir);
	kill(w.pid, signal_no);
	for (;;) {
		struct json_object *obj;
		double adopted;

		assert_in_range(++tries, 1, PATIENCE_MS / 100);
		usleep(100000);
		if (ctl("status", NULL))
			continue;
		obj = json_tokener_parse(line);
		adopted = number(obj, "counters", "adopted");
		json_object_put(obj);
		if (adopted == sessions)
			return;
	}
}

static void resume_cnode(void)
{
	struct cnode_refusal no = { 0 };
	int r = cnode_resume(w.cnode, &no);

	if (r)
		fail_msg("cnode_resume: %d, status %u", r, no.status);
}

/* SIGUSR1: by SIGTERM; SIGUSR2: by SIGKILL. */
static void go_on_after(int signal_no)
{
	end_agent(signal_no, 1);
	check_mapped(load.mapped);
	resume_cnode();
	load_verify(&load);
	load_run(&load, 500);
	load_verify(&load);
	check_mapped(load.mapped);
}

static void test_taken_over(void **state)
{
	connect_cnode();
	load_init_on(&load, w.cnode, wait_a_little, NULL, 1500, 4);
	load_run(&load, 1000);
	go_on_after(SIGUSR2);
	/* As often as one likes. */
	end_agent(SIGUSR1, 1);
	go_on_after(SIGUSR2);
	load_fini(&load);
	assert_int_equal(ctl("evict", "1"), 0);
	wait_for_sessions(0);
	cnode_die(w.cnode);
	w.cnode = NULL;
	/* Nothing to take over. */
	end_agent(SIGUSR1, 0);
	check_mapped(0);
}

/* Settings that are wrong now do not end what is kept: it waits until they are right. */
static void test_wrong_settings(void **state)
{
	unsigned int tries = 0;

	connect_cnode();
	load_init_on(&load, w.cnode, wait_a_little, NULL, 1500, 5);
	load_run(&load, 300);
	write_conf("[mnode]\npool = much\n");
	kill(w.pid, SIGUSR2);
	while (!ctl("status", NULL))
		assert_in_range(++tries, 1, PATIENCE_MS);
	write_conf("# nothing\n");
	end_agent(0, 1);
	check_mapped(load.mapped);
	resume_cnode();
	load_verify(&load);
	load_fini(&load);
}

/* Wrong words: exit status 1, and a line that names them. */
static void complains(const char *a, const char *b, const char *words)
{
	const char *argv[] = { mnoded, "--config", "/dev/null", a,
			 b, NULL };

	assert_int_not_equal(run(argv), 0);
	if (!strstr(line, words))
		fail_msg("no '%s' in: %s", words, line);
}

static void test_complaints(void **state)
{
	const char *none[] = { mnoded, "--config", "/no/such/file", NULL };
	const char *help[] = { mnoded, "--help", NULL };
	const char *usage[] = { odrpctl, "mnode", "colour", NULL };
	const char *away[] = { odrpctl, "mnode", "status", "--control",
			 "/no/such/socket", NULL };

	complains(NULL, NULL, "no NIC");
	complains("--pool", "much", "much");
	complains("--nic", "hard:x", "expected soft:");
	complains("--nic", "soft:ip=10.0.0.1", "needs a port");
	complains("--nic", "soft:ip=10.0.0.1,packet=nosuchif0", "nosuchif0");
	complains("--nic", "soft:ip=10.0.0.1,dgram=/no/such/dir/a:b",
		  "/no/such/dir/a");
	complains("--colour", "red", "colour");
	assert_int_not_equal(run(none), 0);
	assert_non_null(strstr(line, "/no/such/file"));
	assert_int_equal(run(help), 0);
	assert_non_null(strstr(line, "--max-pages"));
	assert_int_equal(run(usage), 2);
	assert_int_equal(run(away), 3);
}

/* ---- files of an agent before ------------------------------------------------------ */

#define LEFT_OVER	"left-over"

/* Two files of one name and one of another, none of which is of use. */
static void hand_over(void)
{
	unsigned int i;
	char pid[16];
	int fd;

	for (i = 0; i < 3; i++) {
		fd = memfd_create(LEFT_OVER, 0);
		if (fd < 0 || dup2(fd, 100 + i) < 0)
			_exit(126);
		close(fd);
	}
	for (i = 0; i < 3; i++)
		if (dup2(100 + i, 3 + i) < 0 || close(100 + i))
			_exit(126);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "3", 1);
	setenv("LISTEN_FDNAMES", "odrp-state:odrp-state:other", 1);
}

static unsigned int left_over(pid_t pid)
{
	char path[64], name[256];
	unsigned int fd, nr = 0;
	ssize_t n;

	for (fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n < 0 ? 0 : n] = 0;
		nr += !!strstr(name, LEFT_OVER);
	}
	return nr;
}

/* Runs it until it is there; what it says until SIGTERM has ended it is in line[]. */
static unsigned int run_until_there(const char *const argv[], bool handed)
{
	unsigned int ms, held;
	char control[64];
	size_t got = 0;
	int fds[2];
	ssize_t n;
	pid_t pid;

	snprintf(control, sizeof(control), "%s/run/ctl", dir);
	assert_int_equal(pipe(fds), 0);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		if (handed)
			hand_over();
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	for (ms = 0; access(control, F_OK) && ms < PATIENCE_MS; ms += 10)
		usleep(10000);
	held = left_over(pid);
	kill(pid, SIGTERM);
	while ((n = read(fds[0], line + got, sizeof(line) - 1 - got)) > 0)
		got += n;
	line[got] = 0;
	close(fds[0]);
	assert_int_equal(finish(pid), 0);
	return held;
}

/* What is not used is not held; and what becomes of pages is said, and no more. */
static void test_left_over(void **state)
{
	char nic[256], control[64], run_dir[64];
	const char *argv[] = {
		fd_store, dir, mnoded, "--config", "/dev/null", "--nic", nic,
		"--control", control, "--pool", "1M", "--log-level", "info",
		"--auth", "none", NULL,
	};

	snprintf(nic, sizeof(nic), "soft:ip=10.77.0.1/24,dgram=%s/m:%s/c", dir, dir);
	snprintf(control, sizeof(control), "%s/run/ctl", dir);
	snprintf(run_dir, sizeof(run_dir), "%s/run", dir);
	assert_int_equal(run_until_there(argv + 2, true), 0);
	assert_non_null(strstr(line, "a file too many, of name odrp-state"));
	assert_non_null(strstr(line, "a file too many, of name other"));
	assert_non_null(strstr(line, "all pages and spaces are lost"));
	rmdir(run_dir);
	run_until_there(argv, false);
	assert_non_null(strstr(line, "the service manager has all pages and spaces: it "
			       "keeps them for a restart, and drops them if the unit is "
			       "stopped"));
	rmdir(run_dir);
}

/* Two agents do not share a control socket. */
static void test_second_agent(void **state)
{
	char nic[256], control[64];
	const char *argv[] = {
		mnoded, "--config", "/dev/null", "--nic", nic,
		"--control", control, "--pool", "1M", NULL,
	};

	snprintf(nic, sizeof(nic), "soft:ip=10.77.0.3/24,dgram=%s/x:%s/y", dir,
		 dir);
	snprintf(control, sizeof(control), "%s/run/ctl", dir);
	assert_int_equal(run(argv), 1);
	assert_non_null(strstr(line, "Address already in use"));
	check_mapped(0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_swap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_agent_is_idle, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_evict_and_drain, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_hangup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_agent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_taken_over, setup_kept, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_settings, setup_kept,
						teardown),
		cmocka_unit_test(test_left_over),
		cmocka_unit_test(test_complaints),
	};
	char conf[64];
	int r;

	if (argc != 4) {
		fprintf(stderr, "usage: %s MNODED ODRPCTL FD-STORE\n", argv[0]);
		return 2;
	}
	mnoded = argv[1];
	odrpctl = argv[2];
	fd_store = argv[3];
	if (!mkdtemp(dir)) {
		perror(dir);
		return 2;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(conf, sizeof(conf), "%s/conf", dir);
	unlink(conf);
	rmdir(dir);
	return r;
}
