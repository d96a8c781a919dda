/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A space for a test of several processes: on `mem`, or on `soft` with a memory node that
 * is a process of its own. The test's own process is a client of it, client 0 of rig.
 */
#ifndef TEST_FAR_PROCESS_BED_H
#define TEST_FAR_PROCESS_BED_H

#include <stdbool.h>
#include <sys/types.h>

#include "../hash/rig.h"

struct bed {
	bool soft;
	struct rig rig;
	char spec[64];		/* the back end of each other process, */
	const char *node;	/* and the memory node as that calls it */
	/* of soft: the memory node, which lives as long as this pipe is open */
	pid_t pid;
	int hold;
};

/* Before the process has threads. */
void bed_open(struct bed *bed, bool soft, uint64_t size);
void bed_close(struct bed *bed);

/*
 * The calling thread as a task of client 0. On soft, that is a new client: one is fenced
 * when it gets no processor for a second.
 */
struct far_task *bed_enter(struct bed *bed);

#endif
