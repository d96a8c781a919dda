/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts what the agent has of its NIC: domains, keys, completion queues and
 * queue pairs.
 */
#ifndef TEST_MNODE_COUNT_H
#define TEST_MNODE_COUNT_H

#include <nic/node.h>

/* From now on, on this NIC and no other. */
void count_wrap(struct nic *nic);
/* Made less freed since then. */
long count_live(void);

#endif /* TEST_MNODE_COUNT_H */
