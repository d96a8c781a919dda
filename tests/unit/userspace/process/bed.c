/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A space for a test of several processes. */
#include "bed.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/child.h"
#include "../hash/node.h"

#define WORDS	"spin_us=0,"	/* there are more threads than processors */

/* The memory node's process: tells its port, and serves until nobody holds the pipe. */
static void serve(uint64_t size, int tell, int held)
{
	struct node node;
	char byte;

	node_open(&node, WORDS, size);
	if (write(tell, &node.port, sizeof(node.port)) != sizeof(node.port))
		_exit(1);
	while (read(held, &byte, 1) > 0)
		;
	node_close(&node);
	_exit(0);
}

static uint16_t node_start(struct bed *bed, uint64_t size)
{
	int told[2], hold[2];
	uint16_t port;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(hold), 0);
	bed->pid = child_fork();
	assert_true(bed->pid >= 0);
	if (!bed->pid) {
		close(hold[1]);
		serve(size, told[1], hold[0]);
	}
	close(told[1]);
	close(hold[0]);
	assert_int_equal(read(told[0], &port, sizeof(port)), sizeof(port));
	close(told[0]);
	bed->hold = hold[1];
	return port;
}

void bed_open(struct bed *bed, bool soft, uint64_t size)
{
	struct rig_conf conf = { .nodes = 1, .size = size };

	*bed = (struct bed){ .soft = soft, .node = "0" };
	if (soft) {
		snprintf(bed->spec, sizeof(bed->spec), "soft:%sudp=127.0.0.1:0:127.0.0.1:%u",
			 WORDS, node_start(bed, size));
		bed->node = conf.node = NODE_NAME;
		conf.spec = bed->spec;
		conf.space = "s";
	}
	rig_open(&bed->rig, &conf);
	if (!soft)
		snprintf(bed->spec, sizeof(bed->spec), "mem:dir=%s", bed->rig.dir);
}

void bed_close(struct bed *bed)
{
	int status;

	rig_close(&bed->rig);
	if (!bed->soft)
		return;
	close(bed->hold);
	assert_int_equal(waitpid(bed->pid, &status, 0), bed->pid);
	assert_int_equal(status, 0);
}

struct far_task *bed_enter(struct bed *bed)
{
	if (bed->soft) {
		rig_leave(&bed->rig, 0);
		rig_join(&bed->rig, 0);
	}
	return rig_enter(&bed->rig, 0);
}
