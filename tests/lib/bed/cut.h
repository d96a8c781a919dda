/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request that something comes upon at each step of its chain. */
#ifndef TEST_BED_CUT_H
#define TEST_BED_CUT_H

#include "agent.h"

/*
 * Each chain in turn, in a bed that is opened anew for each step: that many steps after
 * the request was sent, interrupt() comes upon it and leaves the session connected. The
 * table says what has become of the slot then, and the slot can be used.
 */
void cut_each_chain(struct bed *b, void (*interrupt)(struct cnode *c, unsigned int steps));

#endif /* TEST_BED_CUT_H */
