/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent takes back what stopped chains and dead CNodes leave, while the
 * chains of others run: connections break at any moment, BREAKS of them, and
 * CNode 0 is given up at any moment.
 *
 * A broken connection is noticed by the CNode at once and by the agent some
 * time later; until then the chain runs on.  A CNode whose store broke connects
 * again before it frees the slot, so that the old chain does nothing any more.
 * With QUEUE_FAILS the agent's own queue pair breaks, too, in the middle of
 * writing pages to the ring.
 *
 * ASSUMED: as in ring.pml.
 *
 *@ holds breaks	CNODES=2 PAGES=2 SLOTS=4 BREAKS=2
 *@ holds killed	CNODES=2 PAGES=2 SLOTS=4 KILL BREAKS=1
 *@ holds queue-fails	CNODES=2 PAGES=2 SLOTS=4 KILL BREAKS=1 QUEUE_FAILS
 *@ nightly breaks-3	CNODES=2 PAGES=2 SLOTS=4 KILL BREAKS=3
 *@ nightly twice	CNODES=2 PAGES=2 SLOTS=4 KILL BREAKS=1 ROUNDS=2
 *@ nightly third	CNODES=3 PAGES=1 SLOTS=4 BREAKS=1
 *@ fails before-dead	CNODES=2 PAGES=2 SLOTS=4 BREAKS=1 BEFORE_DEAD | seen_==1
 *@ fails no-held	CNODES=2 PAGES=2 SLOTS=4 BREAKS=1 NO_HELD | seen_==1
 *@ fails lose-slot	CNODES=2 PAGES=2 SLOTS=4 BREAKS=1 LOSE_SLOT | (head+p_)
 *@ fails scan-alive	CNODES=2 PAGES=2 SLOTS=4 BREAKS=0 KILL SCAN_ALIVE | tt[c]==ch[c].page
 *@ fails early-connect	CNODES=2 PAGES=2 SLOTS=4 BREAKS=2 ROUNDS=2 EARLY_CONNECT | seen_==1
 *@ fails early-resync	CNODES=2 PAGES=2 SLOTS=4 BREAKS=1 ROUNDS=2 EARLY_RESYNC | !(tt[c])
 *@ fails retry-all	CNODES=2 PAGES=1 SLOTS=3 KILL BREAKS=1 QUEUE_FAILS RETRY_ALL | seen_<=1
 */
#ifndef ROUNDS
#define ROUNDS 1
#endif
#include "pages.pml"

byte breaks;
bit given_up;

#define GONE(c)	(given_up && (c) == 0)

/* Ends with `free` connected and the entry free. */
inline free_slot(c)
{
	do
	:: atomic { !GONE(c) -> FR(c).answered = 0; FR(c).asked = 1 }
	   if
	   :: atomic { FR(c).answered -> assert(!tt[c] || GONE(c)); break }
	   :: atomic { !GONE(c) && FR(c).broken && MAY_CONNECT(CNODES + c) ->
		connect(CNODES + c) }
	   :: GONE(c) -> break
	   fi
	:: GONE(c) -> break
	od
}

inline store_slot(c)
{
	atomic { ST(c).answered = 0; ST(c).asked = 1 }
	if
	:: atomic { ST(c).answered ->
		assert(tt[c] && data[tt[c]] == c + 1 || GONE(c)) }
	:: ST(c).broken ->
#ifdef EARLY_RESYNC
		free_slot(c);
#endif
		if
		:: atomic { !GONE(c) && MAY_CONNECT(c) -> connect(c) }
		:: GONE(c)
		fi
	:: GONE(c)
	fi
}

proctype CNode(byte c)
{
	byte n;

	do
	:: n < ROUNDS && !GONE(c) ->
		store_slot(c);
#ifdef EARLY_RESYNC
		if
		:: tt[c] -> free_slot(c)
		:: else
		fi;
#else
		free_slot(c);
#endif
		n++
	:: else -> break
	od
}

proctype Wire(byte q)
{
end:	do
	:: atomic { breaks < BREAKS && !ch[q].broken ->
		ch[q].broken = 1; breaks++ }
	od
}

#ifdef KILL
/* manager_kill(), then the scan of its table. */
inline stop_now(q)
{
	if
	:: !ch[q].closed -> ch[q].broken = 1; close_queue(q); ch[q].closed = 1
	:: else
	fi
}

inline scan()
{
	if
	:: atomic { tt[0] && !busy && in_hand < PAGES ->
		hand[in_hand] = tt[0]; tt[0] = 0; in_hand++ }
	:: atomic { !tt[0] && !busy -> skip }
	fi
}

proctype Kill()
{
	byte got, hpage, hslot = SLOTS;

	atomic { !busy -> busy = 1; given_up = 1 }
#ifdef SCAN_ALIVE
	busy = 0;
	scan();
	atomic { !busy -> busy = 1 }
	stop_now(0);
	stop_now(CNODES);
	busy = 0
#else
	stop_now(0);
	stop_now(CNODES);
	busy = 0;
	scan()
#endif
}
#endif

init {
	byte n;

	atomic {
		start_all();
		EACH(n, CNODES)
			run CNode(n);
		DONE(n)
		EACH(n, 2 * CNODES)
			run Wire(n);
		DONE(n)
#ifdef KILL
		run Kill()
#endif
	}
	timeout -> all_home(); in_order()
}
