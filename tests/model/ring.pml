/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The several queues of one CNode on its free ring, and the agent that lends it
 * more pages and takes some back while they run (grow and shrink).
 *
 * The CNode keeps its lease: it counts what it has stored, from before a store
 * is asked for until the invalidate has been answered.  The agent sees to it
 * that lent = lease + SLACK (and, with EXCHANGE, a page for each store's
 * register): it grows the ring before it tells the larger lease, and shrinks it
 * when the CNode has confirmed the smaller one.
 *
 * A store never comes to an empty slot, which pop() asserts, if no invalidate
 * between tail and slot is overtaken by more than SLACK others (OVERTAKE; see
 * rings.pml); one more is too many (no-slack).
 *
 * To grow, the agent puts the pages behind the head and moves it back to them
 * by a compare-and-swap.  With TAIL_GROW it goes to the tail as an invalidate
 * does, and then stands there for as long as a process may (slow-grow); it is
 * one that overtakes, too (tail-grow).
 *
 *@ holds two		SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1
 *@ holds none		SETS=2 LEASE=2 SLACK=0 SLOTS=7 OVERTAKE=0 ROUNDS=3
 *@ holds pairs		SETS=2 LEASE=3 SLACK=1 SLOTS=9 OVERTAKE=1 STEP=2 SPARE=2
 *@ holds exchange	SETS=2 LEASE=2 SLACK=1 SLOTS=8 OVERTAKE=1 EXCHANGE MOVES=1
 *@ nightly two-3	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 ROUNDS=3
 *@ nightly overtaken-2 SETS=2 LEASE=2 SLACK=2 SLOTS=7 OVERTAKE=2 ROUNDS=4 MOVES=1
 *@ nightly three	SETS=3 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 MOVES=1
 *@ nightly exchange-3	SETS=2 LEASE=2 SLACK=1 SLOTS=8 OVERTAKE=1 EXCHANGE ROUNDS=3
 *@ fails no-slack	SETS=2 LEASE=2 SLACK=0 SLOTS=7 OVERTAKE=1 MOVES=0 ROUNDS=3 | violatedring[((0
 *@ fails slow-grow	SETS=2 LEASE=2 SLACK=2 SLOTS=8 OVERTAKE=1 MOVES=1 ROUNDS=4 TAIL_GROW | violatedring[((0
 *@ fails tail-grow	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 ROUNDS=3 TAIL_GROW QUICK_AGENT | violatedring[((0
 *@ fails plain-head	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 MOVES=0 PLAIN_HEAD | violatedring[((0
 *@ fails late-head	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 MOVES=0 LATE_HEAD | violatedring[((0
 *@ fails put-first	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 MOVES=0 PUT_FIRST | !(ring
 *@ fails plain-back	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 PLAIN_BACK | !(ring
 *@ fails fill-blindly	SETS=2 LEASE=2 SLACK=1 SLOTS=7 OVERTAKE=1 FILL_BLINDLY | seen_==1
 *@ fails tell-first	SETS=2 LEASE=1 SLACK=0 SLOTS=7 OVERTAKE=0 MOVES=1 TELL_FIRST | violatedring[((0
 *@ fails shrink-early	SETS=2 LEASE=2 SLACK=0 SLOTS=7 OVERTAKE=0 MOVES=1 SHRINK_EARLY | violatedring[((0
 */
#ifndef SPARE
#define SPARE 1
#endif
#ifndef STEP
#define STEP 1
#endif
#ifndef MOVES
#define MOVES 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifdef EXCHANGE
#define PAGES	(LEASE + SLACK + SPARE + SETS)
#else
#define PAGES	(LEASE + SLACK + SPARE)
#endif
#include "rings.pml"

byte used, lease = LEASE;

proctype CNode(byte c)
{
	byte n;

	do
	:: n < ROUNDS ->
end_lease:	atomic { used < lease -> used++; ST(c).answered = 0; ST(c).asked = 1 }
		atomic { ST(c).answered -> assert(tt[c] && data[tt[c]] == 1) }
		atomic { FR(c).answered = 0; FR(c).asked = 1 }
		atomic { FR(c).answered -> assert(!tt[c]); used--; n++ }
	:: else -> break
	od
}

inline grow()
{
#ifdef TELL_FIRST
	lease = lease + STEP;
#endif
#ifdef TAIL_GROW
	atomic { TAIL_MAY(0) -> h = tail[0]; tail[0] = NEXT(h); FILLING(0, h)++;
#ifdef QUICK_AGENT
		stand(SETS)
#endif
		}
	atomic { EMPTY(0, h); owner[hand[in_hand - 1]] = 1; RING(0, h) = hand[in_hand - 1]; hand[in_hand - 1] = 0;
		in_hand--; FILLING(0, h)--; go_on(SETS); h = 0 }
#else
	do
	:: put_in(0, STEP);
		if
		:: put_ok -> put_ok = 0; break
		:: else
		fi
	od;
#endif
#ifndef TELL_FIRST
	lease = lease + STEP
#else
	skip
#endif
}

inline shrink()
{
#ifdef SHRINK_EARLY
	take_out(0, STEP);
#endif
	atomic { used + STEP <= lease -> lease = lease - STEP }
#ifndef SHRINK_EARLY
	take_out(0, STEP)
#endif
}

proctype Agent()
{
	byte n, h, k, got;
	bit put_ok;

	do
	:: n < MOVES && in_hand >= STEP -> grow(); n++
	:: n < MOVES && lease > STEP -> shrink(); n++
	:: n == MOVES -> break
	od
}

init {
	byte n;

	atomic {
		EACH(n, LEASE + SLACK)
			lend(0, n + 1);
		DONE(n)
		EACH(n, SPARE)
			hand[n] = PAGES - n;
		DONE(n)
		in_hand = SPARE;
		EACH(n, SETS)
			run CNode(n);
			run Store(n);
			run Free(n);
#ifdef EXCHANGE
			ch[n].page = LEASE + SLACK + n + 1;
			owner[ch[n].page] = 1;
#endif
		DONE(n)
		run Agent()
	}
	timeout -> all_home(); in_order(0)
}
