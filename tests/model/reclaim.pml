/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent takes back what stopped chains and dead CNodes leave, while other
 * chains run: connections of CNode 0's two queues break at any moment, BREAKS of
 * them; with KILL it is given up at any moment.
 *
 * A broken connection is noticed by the CNode at once and by the agent some time
 * later; until then the chain runs on.  When a chain has been stopped, what it
 * held goes to its slot or into the agent's hand, and the others run on.  The
 * CNode takes its session up again: when all its chains stand still its ring is
 * put in order (compact) and has what is due, and they are armed anew.  Then it
 * looks what has become of each slot.
 *
 * A store that comes to an empty slot takes the session down.  Here any may: no
 * slack makes up for an invalidate that stands between tail and slot until the
 * agent stops it (SLACK only says how many pages there are).
 *
 * Meanwhile the agent takes back pages, MOVES of them: of the slots that the head
 * has passed for that it knows no more when the ring has been put in order.
 *
 * What is left of a CNode that has been given up is found by owner, when all its
 * chains stand still, and lent to CNode 1.
 *
 * ASSUMED: as in rings.pml.
 *
 *@ holds breaks	SLOTS=5 BREAKS=2
 *@ holds shrink	SLOTS=5 BREAKS=1 MOVES=1 SLACK=1
 *@ holds exchange	SLOTS=6 BREAKS=1 MOVES=1 EXCHANGE
 *@ holds killed	SLOTS=5 BREAKS=0 KILL
 *@ nightly breaks-3	SLOTS=5 BREAKS=3 MOVES=1
 *@ nightly twice	SLOTS=5 BREAKS=2 ROUNDS=2
 *@ nightly exchange-2	SLOTS=6 BREAKS=2 MOVES=1 EXCHANGE
 *@ nightly killed-broken SLOTS=5 BREAKS=1 KILL
 *@ nightly killed-exchange SLOTS=6 BREAKS=0 KILL EXCHANGE
 *@ fails before-dead	SLOTS=5 BREAKS=1 BEFORE_DEAD | seen_==1
 *@ fails no-held	SLOTS=5 BREAKS=1 NO_HELD | seen_==1
 *@ fails no-compact	SLOTS=5 BREAKS=0 ROUNDS=2 NO_COMPACT | (head[0]+p_)
 *@ fails compact-alive	SLOTS=5 BREAKS=1 COMPACT_ALIVE | !(ring[((0*5)
 *@ fails keep-taken	SLOTS=5 BREAKS=1 MOVES=1 SLACK=1 KEEP_TAKEN | (head[0]+p_)
 *@ fails collect-alive	SLOTS=5 BREAKS=0 KILL COLLECT_ALIVE | owner[ch[c].page]
 *@ fails early-resync	SLOTS=5 BREAKS=1 ROUNDS=2 EARLY_RESYNC | !(tt[c])
 */
#ifndef BREAKS
#define BREAKS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef MOVES
#define MOVES 0
#endif
#ifndef LEASE
#define LEASE 2
#endif
#ifndef SLACK
#define SLACK 0
#endif
#define QUEUES 2		/* of CNode 0 */
#ifdef KILL
#define SETS 3
#else
#define SETS 2
#endif
#ifdef EXCHANGE
#define PAGES (LEASE + SLACK + SETS)
#else
#define PAGES (LEASE + SLACK)
#endif
#define CNODES 2
#define CN(c)		((c) == QUEUES)
#define FOUND(n, s)	skip

byte breaks;
bit lost, given_up;
bit waits[3], failed[3];	/* for an answer; there will be none */
byte lease[CNODES], used[CNODES], moved;
byte taken;			/* + 1: a slot that the head has passed for the agent */

#include "rings.pml"

#define QS(q)		ch[(q) % QUEUES + (q) / QUEUES * SETS]
#define ALL_CLOSED	(QS(0).closed && QS(1).closed && QS(2).closed && QS(3).closed)

/* ---- the CNodes ------------------------------------------------------------ */

#define GONE(c)		(given_up && !CN(c))
#define LOST(c)		(lost && !CN(c))

/* The session is up again: what has become of the slot? */
inline resync(c)
{
#ifdef EARLY_RESYNC
	atomic { failed[c] = 0; waits[c] = 0; mapped = (tt[c] > 0) }
	atomic { !LOST(c) || GONE(c) -> skip }
#else
	atomic { !LOST(c) || GONE(c) -> failed[c] = 0; waits[c] = 0; mapped = (tt[c] > 0) }
#endif
	atomic { used[CN(c)] = used[CN(c)] - !mapped }
}

proctype CNode(byte c)
{
	byte n;
	bit mapped;

end:	do
	:: atomic { n < ROUNDS && !mapped && !LOST(c) && !GONE(c) &&
		used[CN(c)] < lease[CN(c)] ->
		assert(!tt[c]);
		used[CN(c)]++; n++; waits[c] = 1;
		ST(c).answered = 0; ST(c).asked = 1 }
		if
		:: atomic { ST(c).answered -> mapped = 1; waits[c] = 0; ST(c).answered = 0;
			assert(tt[c] && data[tt[c]] == CONTENTS(c) || GONE(c)) }
		:: failed[c] -> resync(c)
		:: GONE(c) -> break
		fi
	:: atomic { mapped && !LOST(c) && !GONE(c) ->
		waits[c] = 1; ST(c).answered = 0;
		FR(c).answered = 0; FR(c).asked = 1 }
		if
		:: atomic { FR(c).answered -> mapped = 0; used[CN(c)]--;
			waits[c] = 0; FR(c).answered = 0;
			assert(!tt[c] || GONE(c)) }
		:: failed[c] -> resync(c)
		:: GONE(c) -> break
		fi
	:: GONE(c) -> break
	od
}

proctype Wire(byte q)
{
end:	do
	:: atomic { breaks < BREAKS && !ch[q].broken -> ch[q].broken = 1; breaks++ }
	od
}

/* All its connections end, and so does every request for it; the chains run
 * on. */
inline hang_up()
{
	EACH(i_, QUEUES)
		ST(i_).broken = 1; FR(i_).broken = 1;
		failed[i_] = (waits[i_] && !ST(i_).answered && !FR(i_).answered);
	DONE(i_)
}

proctype Session()
{
end:	do
	:: atomic { !lost && !given_up && (QS(0).broken || QS(1).broken ||
		QS(2).broken || QS(3).broken) -> lost = 1; hang_up() }
	od
}

/* ---- the agent: what a stopped chain held ---------------------------------- */

/* A slot that a store has, and no page. */
#ifdef EXCHANGE
#define HOLE(q)		(IS_STORE(q) && !ch[q].page &&			\
			 (ch[q].at == POPPED || ch[q].at == TAKEN))
#else
#define HOLE(q)		(IS_STORE(q) && !ch[q].page && ch[q].at != IDLE)
#endif

inline in_hand_now(p)
{
	hand[in_hand] = p; in_hand++
}

inline take_held(q)
{
	if
	:: HOLE(q) ->
		TAKING(0, ch[q].slot) = TAKING(0, ch[q].slot) - (where == POPPED);
		if
		:: RING(0, ch[q].slot) ->
			in_hand_now(RING(0, ch[q].slot));
			RING(0, ch[q].slot) = 0
		:: else
		fi
	:: !IS_STORE(q) && where == PUSHED ->
		EMPTY(0, ch[q].slot);
		FILLING(0, ch[q].slot)--;
		RING(0, ch[q].slot) = held
	:: else ->
		if
		:: held -> in_hand_now(held)
		:: else
		fi
	fi;
	ch[q].at = IDLE; ch[q].slot = 0; ch[q].page = 0; ch[q].asked = 0;
	ch[q].closed = 1; where = 0; held = 0;
	never_two()
}

proctype AgentQueue(byte q)
{
	byte where, held;

end:	do
#ifdef BEFORE_DEAD
	:: atomic { ch[q].broken && !ch[q].closed ->
		where = ch[q].at; held = HELD_PAGE(q) }
	   atomic { ch[q].dead = 1; take_held(q) }
#elif defined(NO_HELD)
	:: atomic { ch[q].broken && !ch[q].closed -> ch[q].dead = 1;
		ch[q].at = IDLE; ch[q].slot = 0; ch[q].page = 0;
		ch[q].closed = 1 }
#else
	:: atomic { ch[q].broken && !ch[q].closed -> ch[q].dead = 1 }
	   atomic { where = ch[q].at; held = HELD_PAGE(q);
		take_held(q) }
#endif
	od
}

/* ---- the agent: the ring in order, and chains armed anew -------------------- */

byte pages[PAGES], k_, at_;

inline compact()
{
	EACH(i_, SLOTS)
		at_ = (head[0] + i_) % SLOTS;
		if
		:: RING(0, at_) -> pages[k_] = RING(0, at_); RING(0, at_) = 0; k_++
		:: else
		fi;
		TAKING(0, at_) = 0; FILLING(0, at_) = 0;
	DONE(i_)
	tail[0] = head[0];
	EACH(i_, k_)
		lend(0, pages[i_]); pages[i_] = 0;
	DONE(i_)
	k_ = 0; at_ = 0
}

#define ABOUT		(k_ + (tt[0] > 0) + (tt[1] > 0))
#define GOAL		(lease[0] + SLACK)

/* Up to what is due; none of this goes to others before. */
inline fill_or_empty()
{
	k_ = (tail[0] + SLOTS - head[0]) % SLOTS;
	do
	:: ABOUT > GOAL && k_ ->
		in_hand_now(RING(0, head[0])); RING(0, head[0]) = 0;
		head[0] = NEXT(head[0]); k_--
	:: ABOUT < GOAL && in_hand ->
		in_hand--; lend(0, hand[in_hand]); hand[in_hand] = 0; k_++
	:: else -> break
	od;
	assert(ABOUT == GOAL);
	k_ = 0
}

inline arm(q)
{
	ch[q].broken = 0; ch[q].dead = 0; ch[q].closed = 0; ch[q].asked = 0;
#ifdef EXCHANGE
	if
	:: IS_STORE(q) -> in_hand--; ch[q].page = hand[in_hand]; hand[in_hand] = 0
	:: else
	fi
#endif
}

proctype AgentSession()
{
end:	do
	:: atomic { lost && !given_up && ALL_CLOSED ->
		d_step {
#ifndef NO_COMPACT
			compact();
#endif
#ifndef KEEP_TAKEN
			taken = 0;
#endif
#ifndef NO_COMPACT
			EACH(p_, PAGES)
				count(p_ + 1);
				assert(seen_ == 1);
			DONE(p_)
			seen_ = 0;
			fill_or_empty();
#endif
		}
		arm(0); arm(1); arm(SETS); arm(SETS + 1);
		lost = 0;
		never_two() }
#ifdef COMPACT_ALIVE
	:: atomic { lost && !given_up -> compact(); never_two() }
#endif
	od
}

/* ---- the agent: pages back, and those of the dead --------------------------- */

proctype AgentLend()
{
end:	do
	:: atomic { moved < MOVES && used[0] < lease[0] && !taken ->
		moved++; lease[0]-- }
	:: atomic { moved && !taken && !lost && !given_up && in_hand < moved &&
		head[0] != tail[0] && HEAD_MAY(0, head[0]) ->
		taken = head[0] + 1; TAKING(0, head[0])++;
		head[0] = NEXT(head[0]) }
	:: atomic { taken && RING(0, taken - 1) ->
		in_hand_now(RING(0, taken - 1));
		RING(0, taken - 1) = 0; TAKING(0, taken - 1)--; taken = 0;
		never_two() }
	od
}

#ifdef KILL
/* Nothing of what is left is looked at: the owner says whose a page is. */
inline collect()
{
	EACH(i_, SLOTS)
		RING(0, i_) = 0;
	DONE(i_)
	EACH(i_, PAGES)
		hand[i_] = 0;
	DONE(i_)
	in_hand = 0;
	EACH(i_, PAGES)
		if
		:: owner[i_ + 1] == 1 -> owner[i_ + 1] = 0; in_hand_now(i_ + 1)
		:: else
		fi;
	DONE(i_)
	tt[0] = 0; tt[1] = 0; head[0] = 0; tail[0] = 0; taken = 0
}

proctype AgentDead()
{
	byte h, k;
	bit put_ok;

#ifdef COLLECT_ALIVE
	/* At a moment when it shows. */
	atomic { ST(0).at == MAPPED -> given_up = 1; hang_up(); collect() }
#else
	atomic { given_up = 1; hang_up() }
	atomic { ALL_CLOSED -> d_step { collect() } }
#endif
	do
	:: in_hand -> put_in(1, 1); lease[1] = lease[1] + put_ok
	:: else -> break
	od
}
#endif

init {
	byte n, next = 1;

	atomic {
		EACH(n, LEASE + SLACK)
			lend(0, next); next++;
		DONE(n)
		lease[0] = LEASE;
		EACH(n, SETS)
#ifdef EXCHANGE
			ch[n].page = next; owner[next] = CN(n) + 1; next++;
#endif
			run Store(n);
			run Free(n);
			run CNode(n);
		DONE(n)
		EACH(n, 2 * QUEUES)
			run Wire(n % QUEUES + n / QUEUES * SETS);
			run AgentQueue(n % QUEUES + n / QUEUES * SETS);
		DONE(n)
		run Session();
		run AgentSession();
		run AgentLend();
#ifdef KILL
		run AgentDead()
#endif
	}
	timeout -> all_home();
	if
	:: given_up -> in_order(1)
	:: else -> in_order(0)
	fi
}
