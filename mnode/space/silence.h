/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members of a set that are silent, where the setting lost-ms says for how long.
 *
 * A member stops serving when it has not heard for three quarters of that time that the
 * arbiter hears it; the arbiter declares it lost after the whole time.  Either counts with its
 * own clock, from the same answer of the member: the member from before it was sent, the
 * arbiter from behind its arrival.  A join that is under way for long gives nothing, since it
 * names the answer that it follows.  The quarter is for clocks of different rates, and for an
 * agent that takes a while to end its queue pairs.
 *
 * Nobody is declared lost by an arbiter that hears nobody, since the arbiter itself may be cut
 * off; nor because somebody sets another lost-ms.
 */
#ifndef MNODE_SPACE_SILENCE_H
#define MNODE_SPACE_SILENCE_H

#include "spaces.h"

/* ---- the arbiter ---- */

/* The time is counted anew, from the member's next answer on. */
void silence_begins(struct space_member *member);
/* The member has answered, with the arbiter's settings. */
void silence_ends(struct space_member *member, uint32_t generation, uint8_t turn);
/* The turn for a join. */
unsigned int silence_turn(const struct space_set *set, const struct space_member *member);
/* Declares members lost.  attached: a client is attached to the arbiter. */
void silence_step(struct space_set *set, uint64_t now, bool attached);

/* ---- a member ---- */

/* Does the time count here, or at the arbiter? */
bool silence_counts(const struct space *space, const struct odrp_far_hello *hello);
/* The arbiter asks for the part that is here. */
void silence_joins(struct space *space, const struct odrp_far_hello *hello);
/* The turn of the answer to hello. */
uint8_t silence_answers(struct space *space, const struct odrp_far_hello *hello);

#endif /* MNODE_SPACE_SILENCE_H */
