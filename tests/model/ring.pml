/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The free ring's head and tail against each other: unmapped stores and
 * invalidates of several CNodes, with pages enough, and with an empty ring,
 * which leaves holes to the agent.
 *
 * Each CNode stores to its slot and frees it again, ROUNDS times.  A store that
 * finds an empty slot breaks its connection, the agent takes note of the hole,
 * and the CNode connects again and frees its slot, whatever it has become.
 *
 * ASSUMED, each with a variant that shows what happens otherwise: the agent
 * empties a filled hole before a counter has come round to it (SLOW_AGENT);
 * with PLENTY, no head reaches a slot between an invalidate's push and its put
 * (SLOW_FREE).
 *
 *@ holds plenty	CNODES=2 PAGES=4 SLOTS=5 PLENTY
 *@ holds empty		CNODES=2 PAGES=1 SLOTS=3 ROUNDS=2
 *@ holds scarce	CNODES=3 PAGES=2 SLOTS=4 ROUNDS=1
 *@ holds atomic-lift	CNODES=2 PAGES=2 SLOTS=3 ROUNDS=3 SLOW_AGENT MAY_LOSE ATOMIC_LIFT
 *@ nightly atomic-three CNODES=3 PAGES=2 SLOTS=3 ROUNDS=2 SLOW_AGENT MAY_LOSE ATOMIC_LIFT
 *@ nightly deep	CNODES=3 PAGES=2 SLOTS=4 ROUNDS=2
 *@ nightly four	CNODES=4 PAGES=2 SLOTS=4 ROUNDS=1
 *@ nightly plenty-three CNODES=3 PAGES=6 SLOTS=7 PLENTY
 *@ fails plain-take	CNODES=2 PAGES=1 SLOTS=2 ROUNDS=2 PLAIN_TAKE | seen_==1
 *@ fails plain-head	CNODES=2 PAGES=4 SLOTS=5 PLENTY PLAIN_HEAD | ch[c].page
 *@ fails late-head	CNODES=2 PAGES=4 SLOTS=5 PLENTY LATE_HEAD | ch[c].page
 *@ fails put-first	CNODES=2 PAGES=4 SLOTS=5 PLENTY PUT_BEFORE_PUSH | !(ring
 *@ fails slow-store	CNODES=2 PAGES=4 SLOTS=5 PLENTY SLOW_STORE | !(ring
 *@ fails forget-hole	CNODES=2 PAGES=1 SLOTS=3 ROUNDS=2 FORGET_HOLE | (head+p_)
 *@ fails fill-hole	CNODES=3 PAGES=1 SLOTS=4 ROUNDS=1 FILL_HOLE | (head+p_)
 *@ fails plain-tail	CNODES=3 PAGES=2 SLOTS=4 ROUNDS=1 PLAIN_TAIL | !(ring
 *@ fails slow-agent	CNODES=2 PAGES=1 SLOTS=2 ROUNDS=3 SLOW_AGENT | seen_<=1
 *@ fails slow-free	CNODES=2 PAGES=3 SLOTS=4 ROUNDS=3 PLENTY SLOW_FREE | ch[c].page
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#include "pages.pml"

proctype CNode(byte c)
{
	byte n;

	do
	:: n < ROUNDS ->
		atomic { ST(c).answered = 0; ST(c).asked = 1 }
		if
		:: atomic { ST(c).answered ->
			assert(tt[c] && data[tt[c]] == c + 1) }
		:: atomic { ST(c).broken && MAY_CONNECT(c) -> connect(c) }
		fi;
		atomic { FR(c).answered = 0; FR(c).asked = 1 }
		atomic { FR(c).answered -> assert(!tt[c]); n++ }
	:: else -> break
	od
}

init {
	byte n;

	atomic {
		start_all();
		EACH(n, CNODES)
			run CNode(n);
		DONE(n)
	}
#ifndef MAY_LOSE
	timeout -> all_home(); in_order()
#endif
}
