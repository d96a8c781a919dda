/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many sessions of the agent are in which state, and how many of their chains have to be
 * armed or stopped: a turn of the event loop that has nothing to do for any of them looks at
 * none, however many there are.
 */
#ifndef MNODE_TALLY_H
#define MNODE_TALLY_H

#include "conn-state.h"
#include "sess-state.h"

/**
 * struct tally - the counts
 * @state, @setup: sessions in each state
 * @arming, @closing: chains that wait for their turn to be armed, to be stopped
 */
struct tally {
	unsigned int state[SESS_NR_STATES], setup[SETUP_NR_STATES];
	unsigned int arming, closing;
};

/* Sessions whose ring is being put in order, or is to be. */
static inline unsigned int tally_settling(const struct tally *t)
{
	return t->state[SESS_STOPPING] + t->state[SESS_SORTING] + t->state[SESS_FILLING];
}

/* Sessions that still need something before they may store pages. */
static inline unsigned int tally_preparing(const struct tally *t)
{
	return t->setup[SETUP_PREPARING] + t->setup[SETUP_BLOCKED];
}

#endif /* MNODE_TALLY_H */
