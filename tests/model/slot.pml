/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two CNodes, a ring and a table entry each, all four chains on it (load, mapped
 * store, unmapped store, invalidate), and the agent, which takes MOVES pages
 * back from the ring of CNode FROM and lends them to the other.
 *
 * CNode 1 keeps the rules: one request at a time for its slot, the chain that
 * suits the slot, and its lease.  CNode 0 does, too, or with HOSTILE asks each
 * chain of two queues (sets 0 and 2) for anything at any time, ASKS times.  It
 * has a page in its entry to begin with.
 *
 * I3: a page that a chain reads or writes is its CNode's at that moment, and
 * what is read there no other CNode has written.  I5: what a CNode that keeps
 * the rules loads is what it stored last.  I1 under HOSTILE means that no page is
 * in two places; CNode 0 may drop pages, which are its own until it is gone.
 *
 * A page that has been taken back is its CNode's until the grace period is over:
 * each of its chains has completed what it had received when the agent had the
 * page in hand.  A request is completed when its answer has been acknowledged:
 * until then it may be sent again from where the page lies (UNACKNOWLEDGED).  A
 * queue has one request at a time; further ones that have been received wait for
 * it and are counted with it.
 *
 * Stores and loads are those that look and copy; with EXCHANGE the stores, and
 * with TAKE_OUT the loads are those of page exchange.  Armed are, by default,
 * exchanging stores and loads that look (`armed`).
 *
 *@ holds kept		PAGES=4 SLOTS=5 ROUNDS=3 LENT0=1 LENT1=2
 *@ holds armed		PAGES=5 SLOTS=4 HOSTILE LENT0=1 EXCHANGE
 *@ holds copying	PAGES=2 SLOTS=4 HOSTILE LENT0=1 MAPPED_STORES
 *@ holds both-ways	PAGES=1 SLOTS=4 HOSTILE BOTH_WAYS MOVES=2 MAPPED_STORES
 *@ holds both-ways-armed PAGES=4 SLOTS=4 HOSTILE BOTH_WAYS MOVES=2 EXCHANGE
 *@ holds lapped	PAGES=3 SLOTS=3 HOSTILE LENT0=2 NO_LOADS
 *@ holds take-out	PAGES=5 SLOTS=4 HOSTILE LENT0=1 EXCHANGE TAKE_OUT NO_GRACE
 *@ nightly kept-exchange PAGES=4 SLOTS=4 ROUNDS=3 LENT1=1 EXCHANGE
 *@ nightly armed-back	PAGES=5 SLOTS=4 HOSTILE FROM=1 LENT1=1 EXCHANGE
 *@ nightly copying-back PAGES=2 SLOTS=4 HOSTILE FROM=1 LENT1=1 MAPPED_STORES
 *@ nightly kept-long	PAGES=4 SLOTS=5 ROUNDS=5 LENT0=1 LENT1=2
 *@ nightly armed-4	PAGES=5 SLOTS=4 HOSTILE LENT0=1 EXCHANGE ASKS=4
 *@ nightly armed-beside PAGES=6 SLOTS=4 HOSTILE LENT0=1 LENT1=1 EXCHANGE
 *@ nightly copying-4	PAGES=2 SLOTS=4 HOSTILE LENT0=1 MAPPED_STORES ASKS=4
 *@ nightly both-ways-4	PAGES=4 SLOTS=4 HOSTILE BOTH_WAYS MOVES=3 EXCHANGE ASKS=4
 *@ nightly take-out-4	PAGES=5 SLOTS=4 HOSTILE LENT0=1 EXCHANGE TAKE_OUT NO_GRACE ASKS=4
 *@ nightly take-out-blind PAGES=5 SLOTS=4 HOSTILE LENT0=1 EXCHANGE TAKE_OUT NO_GRACE BLIND
 *@ fails open-load	PAGES=1 SLOTS=4 HOSTILE SHARED ASKS=2 NO_STORES | owner[load[c].page]
 *@ fails open-mapped	PAGES=1 SLOTS=4 HOSTILE SHARED ASKS=2 NO_STORES NO_LOADS MAPPED_STORES | owner[mstore[c].page]
 *@ fails open-unmapped	PAGES=2 SLOTS=4 HOSTILE SHARED ASKS=2 NO_LOADS LENT0=1 | owner[ch[c].page]
 *@ fails no-grace	PAGES=1 SLOTS=4 HOSTILE ASKS=2 NO_GRACE NO_STORES | owner[load[c].page]
 *@ fails no-grace-mapped PAGES=1 SLOTS=4 HOSTILE ASKS=2 NO_GRACE NO_STORES NO_LOADS MAPPED_STORES | owner[mstore[c].page]
 *@ fails no-grace-unmapped PAGES=2 SLOTS=4 HOSTILE ASKS=2 NO_GRACE NO_LOADS LENT0=1 | owner[ch[c].page]
 *@ fails early-snapshot PAGES=1 SLOTS=4 HOSTILE ASKS=2 EARLY_SNAPSHOT NO_STORES | owner[load[c].page]
 *@ fails one-chain	PAGES=1 SLOTS=4 HOSTILE ASKS=2 ONE_CHAIN NO_STORES | owner[load[c].page]
 *@ fails unacknowledged PAGES=1 SLOTS=4 HOSTILE ASKS=2 UNACKNOWLEDGED NO_STORES | owner[load[c].page]
 *@ fails plain-take	PAGES=3 SLOTS=3 HOSTILE LENT0=2 PLAIN_TAKE NO_LOADS | seen_<=1
 *@ fails no-clear	PAGES=2 SLOTS=4 HOSTILE FROM=1 LENT1=1 ASKS=2 NO_CLEAR | !(data[load[c].page])
 *@ fails tell-first	PAGES=1 SLOTS=4 HOSTILE ASKS=1 TELL_FIRST NO_STORES | ch[c].slot)]
 *@ fails shrink-early	PAGES=2 SLOTS=4 FROM=1 LENT1=1 SHRINK_EARLY | ch[c].slot)]
 *@ fails read-clear	PAGES=1 SLOTS=4 HOSTILE ASKS=2 READ_CLEAR NO_STORES NO_LOADS | seen_<=1
 *@ fails early-answer	PAGES=2 SLOTS=4 LENT1=1 EARLY_ANSWER | (data[load[c].page]==
 *@ fails plain-exchange PAGES=4 SLOTS=4 HOSTILE ASKS=2 EXCHANGE PLAIN_SWAP NO_LOADS | seen_<=1
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef ASKS
#define ASKS 3
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifdef BOTH_WAYS
#define FROM (n % 2)
#elif !defined(FROM)
#define FROM 0
#endif
#ifndef LENT0
#define LENT0 0
#endif
#ifndef LENT1
#define LENT1 0
#endif
#define TO (1 - FROM)
#define CNODES 2
#ifdef HOSTILE
#define SETS 3
#define HONEST(n) ((n) == 1)
#else
#define SETS 2
#define HONEST(n) true
#endif
#define CN(c)		((c) % 2)
#define TT(c)		tt[CN(c)]
#define CONTENTS(c)	(CN(c) + 1 + 2 * version[CN(c)])
#ifdef SHARED
/* One ring for all, and a page belongs to who has it in his table last. */
#define RG(c)		0
#define MAPS(c, p)	owner[p] = CN(c) + 1
#define HOSTILE_RING(n)	true
#else
#define HOSTILE_RING(n)	(!HONEST(n))
#endif
#define FOUND(n, s)	assert(RING(n, s) || HOSTILE_RING(n))
#define COMPLETED(q)	owed = owed & ~(1 << (q))

#define Q_LOAD(c)	(2 * SETS + (c))
#define Q_MSTORE(c)	(3 * SETS + (c))
#define MORE_PLACES(p)	((load[0].page == (p) && load[0].took) +	\
			 (load[1].page == (p) && load[1].took) +	\
			 (load[SETS - 1].page == (p) &&			\
			  load[SETS - 1].took && SETS > 2))

typedef request {
	byte page;
	bit asked, answered;
	bit took;
}
request load[SETS];		/* load chains */
request mstore[SETS];		/* mapped store chains */
byte version[CNODES];
byte asks;
byte lease[CNODES], used[CNODES];
short owed;			/* chains that grace waits for, a bit each */

#include "rings.pml"

inline done(r, q)
{
	r.page = 0;
	r.asked = 0;
	r.answered = 1;
	COMPLETED(q)
}

#define WRITER(p)	((data[p] + 1) % 2)

/* The page is sent. */
#define READS(c, p)							\
	I3(c, p);							\
	assert(!data[p] || WRITER(p) == CN(c));				\
	assert(!HONEST(CN(c)) || data[p] == CONTENTS(c))

#ifdef TAKE_OUT
proctype Load(byte c)
{
end:	do
	:: atomic { load[c].asked && !load[c].took && !load[c].page ->
		load[c].page = TT(c); TT(c) = 0;
		load[c].took = (load[c].page > 0);
		if
		:: !load[c].page -> done(load[c], Q_LOAD(c))
		:: else
		fi }
	   never_two()
	:: atomic { load[c].took && load[c].asked -> READS(c, load[c].page) }
	   /* Back into the entry, if that is still empty; if not, the chain
	    * stops here and holds the page. */
	   atomic {
		if
#ifdef BLIND
		:: TT(c) = load[c].page; load[c].took = 0;
			done(load[c], Q_LOAD(c))
#else
		:: !TT(c) -> TT(c) = load[c].page; load[c].took = 0;
			done(load[c], Q_LOAD(c))
		:: else -> load[c].asked = 0; COMPLETED(Q_LOAD(c))
#endif
		fi;
		never_two() }
	od
}
#else
proctype Load(byte c)
{
end:	do
	:: atomic { load[c].asked && !load[c].page -> load[c].page = TT(c);
		if
		:: !load[c].page -> done(load[c], Q_LOAD(c))
		:: else
		fi }
	:: atomic { load[c].page -> READS(c, load[c].page)
#ifdef UNACKNOWLEDGED
		; COMPLETED(Q_LOAD(c)) }
	   atomic { READS(c, load[c].page)
#endif
		; done(load[c], Q_LOAD(c)) }
	od
}
#endif

#ifndef EXCHANGE
proctype MappedStore(byte c)
{
end:	do
	:: atomic { mstore[c].asked && !mstore[c].page -> mstore[c].page = TT(c);
		if
		:: !mstore[c].page -> done(mstore[c], Q_MSTORE(c))
		:: else
		fi }
#ifdef EARLY_ANSWER
	   mstore[c].answered = 1
#endif
	:: atomic { mstore[c].page ->
		I3(c, mstore[c].page);
		data[mstore[c].page] = CONTENTS(c);
		done(mstore[c], Q_MSTORE(c)) }
	od
}
#endif

#define ASK(r)	r.answered = 0; r.asked = 1

/* One request at a time, the right one. */
proctype Keeps(byte c)
{
	byte n;
	bit mapped = (TT(c) > 0);

end:	do
	:: atomic { n < ROUNDS && !mapped && used[c] < lease[c] ->
		used[c]++; version[c]++; ASK(ST(c)) }
end_new:	atomic { ST(c).answered -> mapped = 1; n++ }
	:: atomic { n < ROUNDS && mapped -> ASK(load[c]) }
end_load:	atomic { load[c].answered -> n++ }
	:: n < ROUNDS && mapped ->
#ifdef EXCHANGE
		atomic { version[c]++; ASK(ST(c)) }
end_store:	atomic { ST(c).answered -> n++ }
#else
		atomic { version[c]++; ASK(mstore[c]) }
end_store:	atomic { mstore[c].answered -> n++ }
#endif
	:: atomic { n < ROUNDS && mapped -> ASK(FR(c)) }
		atomic { FR(c).answered -> mapped = 0; used[c]--; n++ }
	od
}

/* Anything, at any time. */
proctype Asks(byte c)
{
end:	do
#ifndef NO_STORES
	:: atomic { asks < ASKS && !ST(c).asked && !ST(c).dead ->
		ASK(ST(c)); asks++ }
#endif
	:: atomic { asks < ASKS && !FR(c).asked -> ASK(FR(c)); asks++ }
#ifndef NO_LOADS
	:: atomic { asks < ASKS && !load[c].asked && !load[c].took ->
		ASK(load[c]); asks++ }
#endif
#ifdef MAPPED_STORES
	:: atomic { asks < ASKS && !mstore[c].asked -> ASK(mstore[c]); asks++ }
#endif
	od
}

/* ---- the agent ----------------------------------------------------------- */

/* What has been received and not completed, by the chains of the CNode. */
inline begin_grace()
{
	d_step {
		EACH(i_, SETS)
			if
			:: CN(i_) == FROM ->
				owed = owed | ST(i_).asked << i_ |
					FR(i_).asked << (SETS + i_) |
					load[i_].asked << Q_LOAD(i_) |
					mstore[i_].asked << Q_MSTORE(i_)
			:: else
			fi;
		DONE(i_)
#ifdef ONE_CHAIN
		owed = owed & 1 << Q_LOAD(FROM)
#endif
	}
}

/* One page from the hand to the pool. */
inline release()
{
	atomic { !owed ->
		owner[hand[0]] = 0;
#if !defined(EXCHANGE) && !defined(NO_CLEAR)
		data[hand[0]] = 0
#endif
		}
}

/* Until the page is in the ring, or CNode 0 has made away with it. */
inline grow()
{
	do
	:: in_hand && hand[0] ->
		put_in(TO, 1)
	:: else -> break
	od
}

proctype Agent()
{
	byte n, h, k, got;
	bit put_ok;

end:	do
	:: n < MOVES ->
#ifdef EARLY_SNAPSHOT
		begin_grace();
#endif
#ifndef SHRINK_EARLY
end_lease:	atomic { HOSTILE_RING(FROM) || used[FROM] < lease[FROM] ->
			lease[FROM] = lease[FROM] - HONEST(FROM) }
#endif
		take_out(FROM, 1);
#if !defined(EARLY_SNAPSHOT) && !defined(NO_GRACE)
		begin_grace();
#endif
end_grace:	release();
#ifdef TELL_FIRST
		lease[TO]++;
#endif
		grow();
#ifndef TELL_FIRST
		lease[TO]++;
#endif
		n++
	:: else -> break
	od
}

inline start(c)
{
	run Store(c);
	run Free(c);
	run Load(c);
#ifdef EXCHANGE
	ch[c].page = next; owner[next] = CN(c) + 1; next++;
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
	byte n, next = 1;

	atomic {
		tt[0] = next; owner[next] = 1; data[next] = 1; next++;
		used[0] = 1;
		EACH(n, LENT0)
			lend(0, next); next++;
		DONE(n)
		EACH(n, LENT1)
			lend(1, next); next++;
		DONE(n)
		lease[0] = LENT0 + 1; lease[1] = LENT1;
#ifdef SHARED
		lease[1] = 1;
#endif
		EACH(n, SETS)
			start(n);
		DONE(n)
		assert(next == PAGES + 1);
#ifndef SHARED
		run Agent()
#endif
	}
#ifndef HOSTILE
	timeout -> all_home(); in_order(0); in_order(1)
#endif
}
