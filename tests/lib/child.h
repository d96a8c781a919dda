/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes of a test. They hold its output, and who runs the test waits for the end of
 * that: so none may outlive it, also when it fails or is killed.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * As fork(). The child, and a program that it becomes, is killed when the thread that
 * has called this ends.
 */
static inline pid_t child_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	return 0;
}

#endif
