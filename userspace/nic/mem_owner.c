/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which process has claimed a client's number, and whether it has ended. A pid may be
 * given to another process, so the time at which the process began belongs to it.
 */
#include "mem_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define START_FIELD	22	/* of /proc/PID/stat, from 1 on */
#define NAME_FIELD	2	/* in parentheses, and it may have any character */

/* Field START_FIELD of a line of /proc/PID/stat; 0: there is none. */
static uint64_t stat_start(const char *line)
{
	const char *at = strrchr(line, ')');

	for (int field = NAME_FIELD; at && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

/* 0: the process is not there, or nobody may know. */
static uint64_t process_start(uint32_t pid)
{
	char path[32], line[1024];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	line[len] = 0;
	return stat_start(line);
}

/* The number of this process' pid namespace; 0: not known. */
static uint32_t namespace_of_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}

void mem_owner_set(struct mem_owner *owner)
{
	uint32_t pid = getpid();
	uint64_t start = process_start(pid);

	__atomic_store_n(&owner->pid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&owner->start, start, __ATOMIC_RELEASE);
	__atomic_store_n(&owner->ns, namespace_of_pids(), __ATOMIC_RELEASE);
	/* without a start another process of that pid would be taken for this one */
	__atomic_store_n(&owner->pid, start ? pid : 0, __ATOMIC_RELEASE);
}

void mem_owner_clear(struct mem_owner *owner)
{
	__atomic_store_n(&owner->pid, 0, __ATOMIC_RELEASE);
}

/*
 * The process is there, or nobody may know when the one of that pid began; a zombie whose
 * threads have all ended is not.
 */
static int process_runs(int pidfd, uint32_t pid, uint64_t start)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };
	uint64_t seen = process_start(pid);

	return (!seen || seen == start) && poll(&poll_fd, 1, 0) == 0;
}

int mem_owner_ended(const struct mem_owner *owner)
{
	uint32_t pid = __atomic_load_n(&owner->pid, __ATOMIC_ACQUIRE);
	uint32_t ns = __atomic_load_n(&owner->ns, __ATOMIC_ACQUIRE);
	uint64_t start = __atomic_load_n(&owner->start, __ATOMIC_ACQUIRE);
	int fd, ended;

	if (!pid || !ns || ns != namespace_of_pids())
		return 0;
	fd = syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH;
	ended = !process_runs(fd, pid, start);
	close(fd);
	/* another process may have claimed the number meanwhile */
	return ended && __atomic_load_n(&owner->pid, __ATOMIC_ACQUIRE) == pid &&
	       __atomic_load_n(&owner->start, __ATOMIC_ACQUIRE) == start;
}
