/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What mem has beyond the suite: files, processes, its configuration. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/child.h"
#include "bed.h"

static char dir[32];
static char spec[64];

static int dir_make(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/far-mem-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(spec, sizeof(spec), "mem:dir=%s", dir);
	return 0;
}

static int dir_drop(void **state)
{
	return rmdir(dir);
}

static struct far_nic *nic_open(void)
{
	struct far_nic *nic;
	char why[128];

	assert_int_equal(far_nic_open(spec, why, sizeof(why), &nic), 0);
	assert_string_equal(why, "");
	return nic;
}

static void space_make(struct far_nic *nic, const char *name)
{
	struct far_host_map map;

	assert_int_equal(nic->ops->host->create(nic, "", name, 65536, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	nic->ops->host->unmap(nic, &map);
}

static void refuses(const char *what, int err, const char *part)
{
	struct far_nic *nic;
	char why[128] = "";

	assert_int_equal(far_nic_open(what, why, sizeof(why), &nic), err);
	if (!strstr(why, part))
		fail_msg("'%s' does not say '%s'", why, part);
}

static void test_conf(void **state)
{
	refuses("nothing", -ENOENT, "'nothing'");
	refuses("mem:size=3", -EINVAL, "'size'");
	refuses("mem:dir=relative", -EINVAL, "'relative'");
	refuses("mem:dir", -EINVAL, "dir");
	refuses("mem:,", -EINVAL, "empty");
	refuses("mem:=x", -EINVAL, "empty");
}

static void test_not_ours(void **state)
{
	struct far_nic *nic = nic_open();
	struct far_peer peer;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/x@0", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(ftruncate(fd, 12288), 0);
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), -EPROTO);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), -EPROTO);
	close(fd);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), -EPROTO);
	unlink(path);
	nic->ops->close(nic);
}

static void test_names(void **state)
{
	struct far_nic *nic = nic_open();
	const struct far_nic_host_ops *host = nic->ops->host;
	struct far_host_map map;
	char name[66];

	memset(name, 'n', sizeof(name));
	name[64] = 0;
	assert_int_equal(host->create(nic, "", name, 4096, 0600, &map), -EINVAL);
	assert_int_equal(host->create(nic, "", "a/b", 4096, 0600, &map), -EINVAL);
	assert_int_equal(host->create(nic, "", "..", 4096, 0600, &map), -EINVAL);
	assert_int_equal(host->create(nic, "", "a@b", 4096, 0600, &map), -EINVAL);
	assert_int_equal(host->create(nic, "../x", "a", 4096, 0600, &map), -EHOSTUNREACH);
	nic->ops->close(nic);
}

static int no_space(void *arg, const char *node, const char *space)
{
	return 1;
}

/* What is not published is nowhere; the second of two with one name loses. */
static void test_publish(void **state)
{
	struct far_nic *nic = nic_open();
	const struct far_nic_host_ops *host = nic->ops->host;
	struct far_host_map a, b;
	struct far_peer peer;
	struct stat st;
	char path[64];

	assert_int_equal(host->create(nic, "7", "x", 8192, 0640, &a), 0);
	assert_int_equal(host->create(nic, "7", "x", 8192, 0600, &b), 0);
	assert_int_equal(nic->ops->attach(nic, "7", "x", FAR_ATTACH_READ, &peer), -ENOENT);
	assert_int_equal(host->list(nic, no_space, NULL), 0);
	assert_int_equal(host->publish(nic, &a), 0);
	assert_int_equal(host->publish(nic, &b), -EEXIST);
	assert_int_equal(host->list(nic, no_space, NULL), 1);
	snprintf(path, sizeof(path), "%s/x@7", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	host->unmap(nic, &a);
	host->unmap(nic, &b);
	assert_int_equal(host->remove(nic, "7", "x"), 0);
	nic->ops->close(nic);
}

/* A file that somebody deletes: dead for who connects, alive for who is connected. */
static void test_deleted_by_hand(void **state)
{
	struct far_nic *nic = nic_open();
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 1 };
	struct far_qset *qset;
	struct far_peer peer;
	char path[64];

	space_make(nic, "x");
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), 0);
	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	assert_int_equal(nic->ops->connect(qset, 0, &peer), 0);
	snprintf(path, sizeof(path), "%s/x@0", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(nic->ops->connect(qset, 0, &peer), -EHOSTDOWN);
	nic->ops->qset_free(qset);
	nic->ops->detach(nic, &peer);
	nic->ops->close(nic);
}

/* A key that was given back never fits what takes its entry. */
static void test_key_not_again(void **state)
{
	struct far_nic *nic = nic_open();
	char memory[64];
	uint32_t a, b;

	assert_int_equal(nic->ops->mr_reg(nic, memory, 64, &a), 0);
	nic->ops->mr_dereg(nic, a);
	assert_int_equal(nic->ops->mr_reg(nic, memory, 64, &b), 0);
	assert_int_not_equal(a, b);
	nic->ops->mr_dereg(nic, a);
	nic->ops->mr_dereg(nic, b);
	nic->ops->close(nic);
}

/* In a process of its own: claims, adds once, says so, and sleeps. */
static void claimer(int say)
{
	struct far_nic *nic = nic_open();
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 1 };
	struct far_wr wr = { .remote = 64, .len = 8, .op = FAR_NIC_FAA, .arg = { 3 } };
	struct far_qset *qset;
	struct far_peer peer;
	uint64_t old;
	struct far_wc wc;

	wr.local = &old;
	nic->ops->attach(nic, "", "x", FAR_ATTACH_READ | FAR_ATTACH_WRITE, &peer);
	nic->ops->mr_reg(nic, &old, 8, &wr.lkey);
	nic->ops->qset_new(nic, &attr, &qset);
	nic->ops->connect(qset, 0, &peer);
	wr.flags = FAR_WR_SIGNALED;
	nic->ops->post(qset, 0, &wr, 1);
	if (nic->ops->poll(qset, &wc, 1) == 1 && !nic->ops->claim(nic, &peer, 9))
		wc.status = write(say, "x", 1);
	for (;;)
		pause();
}

static void test_process_dies(void **state)
{
	struct far_nic *nic = nic_open();
	struct far_host_map map;
	struct far_peer peer;
	int pipe_fd[2];
	char byte;
	pid_t pid;

	space_make(nic, "x");
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), 0);
	assert_int_equal(pipe(pipe_fd), 0);
	pid = child_fork();
	if (!pid)
		claimer(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
	assert_int_equal(nic->ops->fence(nic, &peer, 9), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(nic->ops->fence(nic, &peer, 9), 0);
	assert_int_equal(nic->ops->host->map(nic, "", "x", &map), 0);
	assert_int_equal(*(uint64_t *)((char *)map.addr + 64), 3);
	nic->ops->host->unmap(nic, &map);
	nic->ops->detach(nic, &peer);
	assert_int_equal(nic->ops->host->remove(nic, "", "x"), 0);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	nic->ops->close(nic);
}

/* The claim of a process that has ended counts no more, although its child holds the file. */
static void test_child_lives(void **state)
{
	struct far_nic *nic = nic_open();
	struct far_peer peer;
	int pipe_fd[2];
	pid_t pid, child;
	unsigned tries;

	space_make(nic, "x");
	assert_int_equal(nic->ops->attach(nic, "", "x", FAR_ATTACH_READ, &peer), 0);
	assert_int_equal(pipe(pipe_fd), 0);
	pid = child_fork();
	if (!pid) {
		struct far_nic *own = nic_open();
		struct far_peer own_peer;

		if (own->ops->attach(own, "", "x", FAR_ATTACH_READ | FAR_ATTACH_WRITE,
				     &own_peer) ||
		    own->ops->claim(own, &own_peer, 9))
			_exit(1);
		/* outlives it; a system call, which no handler of fork() sees */
		child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!child)
			alarm(60);
		if (child && write(pipe_fd[1], &child, sizeof(child)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipe_fd[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(nic->ops->fence(nic, &peer, 9), -EBUSY);
	usleep(20000);
	assert_int_equal(nic->ops->fence(nic, &peer, 9), -EBUSY);
	kill(pid, SIGKILL);
	/* Not waited for: a zombie has ended, too. */
	for (tries = 0; tries < 5000 && nic->ops->fence(nic, &peer, 9); tries++)
		usleep(1000);
	assert_int_equal(nic->ops->fence(nic, &peer, 9), 0);
	assert_int_equal(kill(child, 0), 0);
	kill(child, SIGKILL);
	waitpid(pid, NULL, 0);
	nic->ops->detach(nic, &peer);
	assert_int_equal(nic->ops->host->remove(nic, "", "x"), 0);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	nic->ops->close(nic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_publish),
		cmocka_unit_test(test_deleted_by_hand),
		cmocka_unit_test(test_key_not_again),
		cmocka_unit_test(test_process_dies),
		cmocka_unit_test(test_child_lives),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_drop);
}
