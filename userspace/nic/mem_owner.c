/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that has claimed a client number, and whether it has ended. The kernel
 * may give a pid to another process, so an owner is a pid with the process's start time.
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

/* Field START_FIELD of a line of /proc/PID/stat; 0: the line has no such field. */
static uint64_t stat_start(const char *line)
{
	const char *at = strrchr(line, ')');

	for (int field = NAME_FIELD; at && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

/* When a process began, in clock ticks after the boot; 0: no such process, or not readable. */
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
	/* Without a start time another process of this pid would be taken for this one. */
	__atomic_store_n(&owner->pid, start ? pid : 0, __ATOMIC_RELEASE);
}

void mem_owner_clear(struct mem_owner *owner)
{
	__atomic_store_n(&owner->pid, 0, __ATOMIC_RELEASE);
}

/*
 * Whether the process still runs: a process with this pid exists and has this start time,
 * or its start time cannot be read. A zombie whose threads have all ended does not run.
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
	/* Another process may have claimed the number meanwhile. */
	return ended && __atomic_load_n(&owner->pid, __ATOMIC_ACQUIRE) == pid &&
	       __atomic_load_n(&owner->start, __ATOMIC_ACQUIRE) == start;
}
