/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hand-over between compute nodes: those that change a hot key take turns instead of
 * losing CAS to each other.
 *
 * A turn is two words in far memory, on the node of what the CAS changes: `next`, the
 * ticket that the next one gets, and `serving`, whose turn it is. Who comes adds 1 to
 * next; who has changed the key sets serving to the ticket behind its own, by a CAS
 * that is posted behind the one that changed it.
 *
 * Turns are advice: the CAS on the key decides, as it does without them. So nothing
 * has to be repaired when a client dies in its turn: whoever waits and sees serving
 * stand still for FAR_TURN_LEASE_NS moves it on, and the one that was passed over
 * goes on as if it were its turn. So does whoever has waited for FAR_TURN_WAIT_NS.
 *
 * A key is hot for a client (struct far_turns) after it has lost two CAS there, or has
 * met others in its turn, and cools down with each turn in which nobody else waited.
 * After a CAS that was lost to somebody else an operation takes a turn, in any case:
 * where some take turns and others do not, those who do not would starve.
 *
 *	if (far_turns_hot(turns, hash))
 *		far_turn_take()			with the READ that decides
 *	CAS + far_turn_pass()			the same far_post()
 *	lost: far_turns_lost(), far_turn_take(), once more
 *	however it ends: far_turn_pass(), far_turns_done()
 */
#ifndef FAR_CORE_TURN_H
#define FAR_CORE_TURN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>

#define FAR_TURN_LEASE_NS	UINT64_C(1000000)
#define FAR_TURN_WAIT_NS	(64 * FAR_TURN_LEASE_NS)

/* In far memory, zeroed; 16-byte aligned. */
struct far_turn_words {
	uint64_t next;
	uint64_t serving;
};

_Static_assert(sizeof(struct far_turn_words) == 16, "two words");
_Static_assert(offsetof(struct far_turn_words, next) == 0, "next first");
_Static_assert(offsetof(struct far_turn_words, serving) == 8, "serving behind next");

/* What was READ of them; registered memory of the task. */
struct far_turn_seen {
	struct far_turn_words words;
	uint64_t ticket;
};

/* The turn of one operation, which fills in the first two; the rest is 0 at first. */
struct far_turn {
	uint64_t addr;		/* of its words */
	struct far_turn_seen *seen;
	uint64_t ticket;
	int held;		/* it has a turn, and has not passed it on */
	int had;		/* it has had one */
	int alone;		/* nobody waited before it, and nobody was behind it then */
};

/* Which keys are hot; all threads of a client. */
struct far_turns;

/* nr: hashes told apart, rounded up to a power of two; a byte each. */
int far_turns_new(unsigned nr, struct far_turns **ret_turns);
void far_turns_free(struct far_turns *turns);
/* turns NULL: never. */
int far_turns_hot(const struct far_turns *turns, uint64_t hash);
void far_turns_lost(struct far_turns *turns, uint64_t hash);
/* After an operation; nothing if it has had no turn. */
void far_turns_done(struct far_turns *turns, uint64_t hash, const struct far_turn *turn);

/*
 * Takes a ticket, and waits for its turn. look() appends READs: it is called for each
 * look at the words, and what it appends is posted behind that, so that what it has
 * READ last was so in this turn. An operation that is late waits for its turn all the
 * same, which it then has to pass. 0, or an error of far_sync(): then it has no turn, and
 * the others pass it over.
 */
int far_turn_take(struct far_task *task, struct far_turn *turn,
		  void (*look)(void *arg), void *arg);
/*
 * Appends the CAS that gives the turn to the next one; behind the CAS on the key, in
 * the same far_post(), or later if that CAS may be lost. Nothing if it has no turn.
 */
void far_turn_pass(struct far_task *task, struct far_turn *turn);
/* That far_post() has failed: perhaps it still has its turn. To pass twice is harmless. */
void far_turn_unpass(struct far_turn *turn);

#endif
