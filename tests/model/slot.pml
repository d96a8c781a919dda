/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One table entry, and all four chains on it: load, mapped store, unmapped
 * store, invalidate.  CNode 1 keeps the rules: one request at a time for its
 * slot, and the chain that suits the slot.  CNode 0 does, too, or with HOSTILE
 * asks each chain of two queues (sets 0 and 2) for anything at any time.
 *
 * I3: a page that a chain reads or writes is in its CNode's table at that
 * moment.  I5: what CNode 1 loads is what it stored last.  I1 under HOSTILE
 * means that no page is in two places; CNode 0 may drop pages, which the agent
 * finds when it evicts it.
 *
 * The present programs do not keep I3 against a hostile CNode: the variants
 * open-* show how.  EXCHANGE is the design that does: a store's page is received
 * into a page of the chain's own and swapped with the entry; a load takes the
 * page out of the entry while it is read.
 *
 *@ holds kept		PAGES=3 SLOTS=4
 *@ holds one-place	PAGES=4 SLOTS=5 HOSTILE ONLY_I1 ASKS=3 LOADS MAPPED_STORES
 *@ holds frees		PAGES=4 SLOTS=5 HOSTILE ASKS=2 NO_STORES
 *@ holds exchange	PAGES=5 SLOTS=6 HOSTILE ASKS=3 LOADS EXCHANGE
 *@ nightly exchange-4	PAGES=5 SLOTS=6 HOSTILE ASKS=4 LOADS EXCHANGE
 *@ nightly kept-long	PAGES=3 SLOTS=4 ROUNDS=4
 *@ fails read-clear	PAGES=4 SLOTS=5 HOSTILE ONLY_I1 ASKS=3 READ_CLEAR | seen_<=1
 *@ fails early-answer	PAGES=3 SLOTS=4 EARLY_ANSWER | tt[(c%2)]==mstore
 *@ fails plain-exchange PAGES=5 SLOTS=6 HOSTILE ASKS=3 EXCHANGE PLAIN_SWAP | seen_<=1
 *@ fails exchange-read	PAGES=5 SLOTS=6 HOSTILE ASKS=3 LOADS EXCHANGE LOOK | ==load[c].page
 *@ nightly exchange-blind PAGES=5 SLOTS=6 HOSTILE ASKS=3 LOADS EXCHANGE BLIND
 *@ fails open-load	PAGES=4 SLOTS=5 HOSTILE ASKS=3 LOADS NO_STORES | ==load[c].page
 *@ fails open-mapped	PAGES=4 SLOTS=5 HOSTILE ASKS=3 MAPPED_STORES NO_STORES | ==mstore[c].page
 *@ fails open-unmapped	PAGES=4 SLOTS=5 HOSTILE ASKS=3 | ==ch[c].page
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef ASKS
#define ASKS 0
#endif
#ifdef HOSTILE
#define CNODES 3
#else
#define CNODES 2
#endif
#define TT(c)		tt[(c) % 2]
#define CONTENTS(c)	((c) % 2 + 1 + 2 * version[c])
#define MORE_PLACES(p)	((load[0].page == (p) && load[0].took) +	\
			 (load[1].page == (p) && load[1].took) +	\
			 (load[CNODES - 1].page == (p) &&		\
			  load[CNODES - 1].took && CNODES > 2) +	\
			 (own[0] == (p)) + (own[1] == (p)) +		\
			 (own[CNODES - 1] == (p) && CNODES > 2))

typedef request {
	byte page;
	bit asked, answered;
	bit took;
}
request load[CNODES];		/* load chains */
request mstore[CNODES];		/* mapped store chains */
byte own[CNODES];		/* EXCHANGE: the page that a store receives into */
byte version[CNODES];
byte asks;

#include "pages.pml"

/* What a CNode that keeps the rules must find in its page. */
#define MINE(c, p)	(c != 1 || data[p] == CONTENTS(c))

inline done(r)
{
	r.page = 0;
	r.asked = 0;
	r.answered = 1
}

proctype Load(byte c)
{
end:	do
#if defined(EXCHANGE) && !defined(LOOK)
	:: atomic { load[c].asked && !load[c].took && !load[c].page ->
		load[c].page = TT(c); TT(c) = 0;
		load[c].took = (load[c].page > 0);
		if
		:: !load[c].page -> done(load[c])
		:: else
		fi }
	   never_two()
	:: atomic { load[c].took && load[c].asked -> I3(MINE(c, load[c].page)) }
	   /* Back into the entry, if that is still empty; if not, the chain
	    * stops here and holds the page. */
#ifdef BLIND
	   atomic { TT(c) = load[c].page; load[c].took = 0; done(load[c]);
		never_two() }
#else
	   atomic {
		if
		:: !TT(c) -> TT(c) = load[c].page; load[c].took = 0;
			done(load[c])
		:: else -> load[c].asked = 0
		fi;
		never_two() }
#endif
#else
	:: atomic { load[c].asked -> load[c].page = TT(c) }
	   atomic {
		if
		:: load[c].page ->
			I3(TT(c) == load[c].page && MINE(c, load[c].page))
		:: else
		fi;
		done(load[c]) }
#endif
	od
}

#ifdef EXCHANGE
/* Both stores: receive, swap, answer, and get another page if there was none. */
proctype Exchange(byte c)
{
	byte slot, old;

end:	do
	:: atomic { mstore[c].asked && own[c] -> data[own[c]] = CONTENTS(c) }
#ifdef PLAIN_SWAP
	   atomic { old = TT(c) }
	   atomic { TT(c) = own[c]; own[c] = old; old = 0; never_two() }
#else
	   atomic { old = TT(c); TT(c) = own[c]; own[c] = old; old = 0;
		never_two() }
#endif
	   atomic { done(mstore[c]) }
end_empty:
	   if
	   :: atomic { !own[c] && HEAD_MAY(head) ->
		slot = head; head = NEXT(head); taking[slot]++ }
	      atomic { own[c] = ring[slot]; ring[slot] = 0; taking[slot]--;
		never_two() }
	   :: own[c]
	   fi
	od
}
#else
proctype MappedStore(byte c)
{
end:	do
	:: atomic { mstore[c].asked -> mstore[c].page = TT(c) }
#ifdef EARLY_ANSWER
	   mstore[c].answered = 1;
#endif
	   atomic {
		if
		:: mstore[c].page ->
			I3(TT(c) == mstore[c].page);
			data[mstore[c].page] = CONTENTS(c)
		:: else
		fi;
		done(mstore[c]) }
	od
}
#endif

#define ASK(r)	r.answered = 0; r.asked = 1

/* One request at a time, the right one. */
proctype Keeps(byte c)
{
	byte n;
	bit mapped;

end:	do
	:: n < ROUNDS && !mapped ->
#ifdef EXCHANGE
		atomic { version[c]++; ASK(mstore[c]) }
end_new:	mstore[c].answered;
#else
		atomic { version[c]++; ASK(ST(c)) }
end_new:	ST(c).answered;
#endif
		atomic { mapped = 1; n++ }
	:: n < ROUNDS && mapped ->
		atomic { ASK(load[c]) }
end_load:	atomic { load[c].answered -> n++ }
	:: n < ROUNDS && mapped ->
		atomic { version[c]++; ASK(mstore[c]) }
end_store:	atomic { mstore[c].answered -> n++ }
	:: n < ROUNDS && mapped ->
		atomic { ASK(FR(c)) }
		atomic { FR(c).answered -> mapped = 0; n++ }
	:: n == ROUNDS -> break
	od;
	assert((TT(c) != 0) == mapped)
}

/* Anything, at any time. */
proctype Asks(byte c)
{
end:	do
#ifndef EXCHANGE
#ifndef NO_STORES
	:: atomic { asks < ASKS && !ST(c).asked -> ASK(ST(c)); asks++ }
#endif
#endif
	:: atomic { asks < ASKS && !FR(c).asked -> ASK(FR(c)); asks++ }
#ifdef LOADS
	:: atomic { asks < ASKS && !load[c].asked && !load[c].took ->
		ASK(load[c]); asks++ }
#endif
#if defined(MAPPED_STORES) || defined(EXCHANGE)
	:: atomic { asks < ASKS && !mstore[c].asked -> ASK(mstore[c]); asks++ }
#endif
	od
}

inline start(c)
{
	run Store(c);
	run Free(c);
	run Load(c);
#ifdef EXCHANGE
	run Exchange(c);
	own[c] = ring[head];
	ring[head] = 0;
	head = NEXT(head);
#else
	run MappedStore(c);
#endif
#ifdef HOSTILE
	if
	:: c == 1 -> run Keeps(c)
	:: else -> run Asks(c)
	fi
#else
	run Keeps(c)
#endif
}

init {
	byte n;

	atomic {
		fill_ring();
#ifdef NO_STORES
		/* CNode 0 has a page, and every right to it. */
		tt[0] = ring[0];
		ring[0] = 0;
		head = 1;
#endif
		EACH(n, CNODES)
			start(n);
		DONE(n)
	}
#ifndef HOSTILE
	timeout -> all_home(); in_order()
#endif
}
