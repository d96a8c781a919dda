/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node at the other end of UDP, with a space "s", and a client of its own that
 * is within reach of its memory: that one advances epochs and fences the dead.
 */
#ifndef TEST_FAR_HASH_NODE_H
#define TEST_FAR_HASH_NODE_H

#include <stdint.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/nic/nic.h"

#define NODE_NAME	"10.77.0.2"	/* as clients name it */

struct node {
	struct far_nic *nic;
	struct far *far;
	struct far_task *task;
	uint16_t port;
};

/* words: of the software NIC, each with a comma behind it. All frames meet their faults. */
void node_open(struct node *node, const char *words, uint64_t size);
void node_close(struct node *node);

#endif
