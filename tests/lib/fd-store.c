// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The part of a service manager that outlives an agent: files that it was given. It runs on
 * this host, and in a guest that is a memory node, which has no systemd.
 *
 * usage: fd-store DIRECTORY COMMAND [ARG]...
 *
 * Runs COMMAND (a path), keeps what it sends by sd_notify() with FDSTORE=1, and hands that
 * over (LISTEN_FDS, LISTEN_FDNAMES) when COMMAND is run again, which it is whenever it has
 * ended without having been asked to. SIGUSR1 has it ended by SIGTERM, and run again;
 * SIGUSR2 the same by SIGKILL; SIGTERM ends both. Exit status: COMMAND's.
 *
 * Source: sd_listen_fds(3), sd_pid_notify_with_fds(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define FIRST_FD	3
#define MAX_FDS		16
#define MAX_NAME	64
#define MAX_TEXT	4096

struct file {
	char name[MAX_NAME];
	int fd;
};

/* A socket, signals and files. Each is closed by exec(). */
struct store {
	struct sockaddr_un at;
	int sock;
	int signals;
	unsigned int nr_files;
	struct file file[MAX_FDS];
};

static sigset_t wanted;

static void die(const char *what)
{
	fprintf(stderr, "fd-store: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- files ------------------------------------------------------------------------ */

static void files_remove(struct store *s, const char *name)
{
	unsigned int i, nr = 0;

	for (i = 0; i < s->nr_files; i++) {
		if (strcmp(s->file[i].name, name))
			s->file[nr++] = s->file[i];
		else
			close(s->file[i].fd);
	}
	s->nr_files = nr;
}

static void files_add(struct store *s, const char *name, int fd)
{
	struct file *f = &s->file[s->nr_files];

	if (s->nr_files == MAX_FDS) {
		fprintf(stderr, "fd-store: '%s' is one file too many\n", name);
		close(fd);
		return;
	}
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = fd;
	s->nr_files++;
}

/* One message: lines of NAME=VALUE. */
static void store_take(struct store *s, char *text, const int *fd, unsigned int nr)
{
	const char *name = "stored";
	bool keep = false, drop = false;
	char *line, *rest = text;
	unsigned int i;

	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "FDNAME=", 7))
			name = line + 7;
		keep |= !strcmp(line, "FDSTORE=1");
		drop |= !strcmp(line, "FDSTOREREMOVE=1");
	}
	if (drop)
		files_remove(s, name);
	for (i = 0; i < nr; i++) {
		if (keep)
			files_add(s, name, fd[i]);
		else
			close(fd[i]);
	}
}

/* false: there was no message. */
static bool store_receive(struct store *s)
{
	union {
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} extra;
	char text[MAX_TEXT + 1];
	struct iovec iov = { .iov_base = text, .iov_len = MAX_TEXT };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &extra, .msg_controllen = sizeof(extra),
	};
	ssize_t len = recvmsg(s->sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd[MAX_FDS];
	unsigned int nr = 0;
	struct cmsghdr *c;

	if (len < 0)
		return false;
	text[len] = 0;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fd, CMSG_DATA(c), nr * sizeof(int));
	}
	store_take(s, text, fd, nr);
	return true;
}

/* sd_notify() wants an absolute path. */
static void store_init(struct store *s, const char *dir)
{
	char *at = realpath(dir, NULL);

	if (!at)
		die(dir);
	s->at.sun_family = AF_UNIX;
	if (snprintf(s->at.sun_path, sizeof(s->at.sun_path), "%s/notify-%d", at,
		     (int)getpid()) >= (int)sizeof(s->at.sun_path)) {
		errno = ENAMETOOLONG;
		die(dir);
	}
	free(at);
	s->sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->sock < 0 || bind(s->sock, (struct sockaddr *)&s->at, sizeof(s->at)))
		die(s->at.sun_path);
	s->signals = signalfd(-1, &wanted, SFD_CLOEXEC);
	if (s->signals < 0)
		die("signalfd");
}

/* ---- the command ------------------------------------------------------------------ */

static void env_set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		die(name);
}

/* Has the files at FIRST_FD and above, and nothing else there. */
static void files_place(const struct store *s)
{
	int high[MAX_FDS];
	unsigned int i;

	/* Moves them out of each other's way first. */
	for (i = 0; i < s->nr_files; i++) {
		high[i] = fcntl(s->file[i].fd, F_DUPFD, FIRST_FD + MAX_FDS);
		if (high[i] < 0)
			die(s->file[i].name);
	}
	for (i = 0; i < s->nr_files; i++)
		if (dup2(high[i], FIRST_FD + i) < 0)
			die(s->file[i].name);
	close_range(FIRST_FD + s->nr_files, ~0u, 0);
}

static void files_name(const struct store *s)
{
	char names[MAX_FDS * MAX_NAME], number[16];
	size_t len = 0;
	unsigned int i;

	if (!s->nr_files)
		return;
	for (i = 0; i < s->nr_files; i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? ":" : "",
				s->file[i].name);
	env_set("LISTEN_FDNAMES", names);
	snprintf(number, sizeof(number), "%u", s->nr_files);
	env_set("LISTEN_FDS", number);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	env_set("LISTEN_PID", number);
}

static pid_t command_begin(const struct store *s, char **command)
{
	pid_t pid = child_fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	env_set("NOTIFY_SOCKET", s->at.sun_path);
	files_name(s);
	files_place(s);
	sigprocmask(SIG_UNBLOCK, &wanted, NULL);
	execv(command[0], command);
	die(command[0]);
	return -1;
}

static int command_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Passes on one signal; true: COMMAND is to end for good. */
static bool signal_pass(const struct store *s, pid_t pid)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		die("signalfd");
	switch (info.ssi_signo) {
	case SIGUSR1:
		kill(pid, SIGTERM);
		return false;
	case SIGUSR2:
		kill(pid, SIGKILL);
		return false;
	case SIGTERM:
		kill(pid, SIGTERM);
		return true;
	default:
		return false;
	}
}

static int serve(struct store *s, char **command)
{
	struct pollfd wait[] = {
		{ .fd = s->sock, .events = POLLIN }, { .fd = s->signals, .events = POLLIN },
	};
	pid_t pid = command_begin(s, command);
	bool ends = false;
	int status;

	for (;;) {
		if (poll(wait, 2, -1) < 0)
			die("poll");
		if (wait[1].revents)
			ends |= signal_pass(s, pid);
		while (store_receive(s))
			;
		if (waitpid(pid, &status, WNOHANG) != pid)
			continue;
		/* Takes its last messages. */
		while (store_receive(s))
			;
		if (ends)
			return command_status(status);
		printf("fd-store: status %d, again with %u files\n", command_status(status),
		       s->nr_files);
		fflush(stdout);
		pid = command_begin(s, command);
	}
}

int main(int argc, char **argv)
{
	struct store s = { .nr_files = 0 };
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: fd-store DIRECTORY COMMAND [ARG]...\n");
		return 2;
	}
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGUSR2);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGCHLD);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	store_init(&s, argv[1]);
	status = serve(&s, argv + 2);
	unlink(s.at.sun_path);
	return status;
}
