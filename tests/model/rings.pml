/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the models of pages share: memory, the chains that move pages, how the
 * agent puts pages into a ring and takes them out while chains run, and the
 * count of every page (I1).  Included with SETS (chain sets, one for each
 * queue), PAGES and SLOTS (of a ring) defined.  Each CNode has a ring of its
 * own; a set has one unmapped store chain and one invalidate chain.
 *
 * An `atomic` is one WQE, or one access of the agent's, on memory that others
 * use too; between two of them anybody may run.  What a WQE does inside its own
 * chain (WAIT, SEND_EN, EndianSwap, scattered opcodes) touches nothing of
 * others and takes no step of its own.
 */

#ifndef CNODES
#define CNODES 1
#endif
/*
 * For models that need more: whose set c is, which ring it uses, the entry it
 * works on, further places of page p, what a store writes; what is to happen
 * when a request has been completed, and when a page is mapped; whether the
 * chains of a ring keep no rule.
 */
#ifndef CN
#define CN(c)		0
#endif
#ifndef RG
#define RG(c)		CN(c)
#endif
#ifndef COMPLETED
#define COMPLETED(q)	skip
#endif
#ifndef MAPS
#define MAPS(c, p)	skip
#endif
#ifndef HOSTILE_RING
#define HOSTILE_RING(n)	false
#endif
#ifndef TT
#define TT(c)		tt[c]
#endif
#ifndef MORE_PLACES
#define MORE_PLACES(p)	0
#endif
#ifndef CONTENTS
#define CONTENTS(c)	(CN(c) + 1)
#endif
#ifndef FOUND
#define FOUND(n, s)	assert(RING(n, s))
#endif
#ifndef I3
#define I3(c, p)	assert(owner[p] == CN(c) + 1)
#endif

/* A `for` that leaves its counter at 0, as it found it. */
#define EACH(i, n)	i = 0; do :: i < (n) ->
#define DONE(i)		i++ :: else -> i = 0; break od;

byte seen_, i_, p_;

byte ring[CNODES * SLOTS];	/* 0: empty, or a page: 1 .. PAGES */
byte head[CNODES], tail[CNODES];/* slot numbers; like the NIC's, they wrap */
byte tt[SETS];			/* 0: unmapped, or a page */
byte owner[PAGES + 1];		/* 0: nobody, or CNode + 1 */
byte data[PAGES + 1];		/* what a page contains: 0, or CNode + 1 */

#define RING(n, s)	ring[(n) * SLOTS + (s)]
#define NEXT(slot)	(((slot) + 1) % SLOTS)
#define PREV(slot, by)	(((slot) + SLOTS - (by)) % SLOTS)

/*
 * A chain stands behind what it has executed last.  Store: POP a slot, TAKE
 * its page, MAP it, put the data and answer.  With EXCHANGE: MAP the page of its
 * register and answer; POP, TAKE into the register.  Free: TAKE the entry, PUSH
 * the tail, put the page into the slot and answer.
 */
#define IDLE	0
#define POPPED	1
#define TAKEN	2
#define MAPPED	3
#define PUSHED	4

typedef chain {
	byte at;
	byte slot, page;	/* its registers */
	bit asked, answered;
	bit broken;		/* the connection, as the CNode sees it */
	bit dead;		/* its queue pairs stand still */
	bit closed;		/* the agent has taken what it held */
}
chain ch[2 * SETS];

#define ST(c)		ch[c]
#define FR(c)		ch[SETS + (c)]
#define IS_STORE(q)	((q) < SETS)
#define CN_OF(q)	CN((q) % SETS)

/* wrc_held_page(), wrc_held_of() */
#ifdef EXCHANGE
#define HELD_PAGE(q)	((IS_STORE(q) || ch[q].at == TAKEN ||	\
			  ch[q].at == PUSHED) -> ch[q].page : 0)
#else
#define HELD_PAGE(q)	((ch[q].at == TAKEN || ch[q].at == PUSHED) -> \
			 ch[q].page : 0)
#endif

/* The agent's hands: pages on their way into a ring, or out of one. */
byte hand[PAGES], in_hand;

/*
 * Ghosts, for the assumptions only: how many stores (or the agent) have popped a
 * slot and not emptied it, or invalidates have pushed it and not filled it.
 *
 * ASSUMED: no counter comes once round the ring to a slot where somebody stands;
 * that is a matter of how long the ring is.  Not of a hostile one.
 */
byte taking[CNODES * SLOTS], filling[CNODES * SLOTS];
#define TAKING(n, s)	taking[(n) * SLOTS + (s)]
#define FILLING(n, s)	filling[(n) * SLOTS + (s)]
#define HEAD_MAY(n, s)	(HOSTILE_RING(n) || !TAKING(n, s))
#define TAIL_MAY(n)	(HOSTILE_RING(n) || \
			 !TAKING(n, tail[n]) && !FILLING(n, tail[n]))

/*
 * With OVERTAKE it is ASSUMED, too, that no invalidate that stands between tail
 * and slot is overtaken by more than so many others, that have pushed after it
 * and answer before it goes on.  `after` of an invalidate: whom it would
 * overtake; the bit SETS is the agent's.
 */
#ifdef OVERTAKE
byte standing, after[SETS], overtaken[4];
#define TOO_MANY(c, a)	((after[c] >> (a) & 1) && overtaken[a] >= OVERTAKE)
#define MAY_OVERTAKE(c)	(!TOO_MANY(c, 0) && !TOO_MANY(c, 1) && \
			 !TOO_MANY(c, 2) && !TOO_MANY(c, 3))

inline stand(a)
{
	standing = standing | 1 << (a)
}

inline go_on(a)
{
	d_step {
		standing = standing & ~(1 << (a));
		overtaken[a] = 0;
		EACH(i_, SETS)
			after[i_] = after[i_] & ~(1 << (a));
		DONE(i_)
	}
}

inline after_whom(c)
{
	after[c] = standing
}

inline overtake(c)
{
	d_step {
		EACH(i_, 4)
			overtaken[i_] = overtaken[i_] + (after[c] >> i_ & 1);
		DONE(i_)
		after[c] = 0
	}
}
#else
#define MAY_OVERTAKE(c)	true
#define stand(a)	skip
#define after_whom(c)	skip
#define go_on(a)	skip
#define overtake(c)	skip
#endif

/* A slot that is about to be filled is empty.  A CNode that keeps no rule may
 * lose pages: they are in no place, but still its own. */
#define EMPTY(n, s)	assert(!RING(n, s) || HOSTILE_RING(n))

/* ---- what must hold ------------------------------------------------------ */

inline count(p)
{
	seen_ = 0;
	EACH(i_, CNODES * SLOTS)
		seen_ = seen_ + (ring[i_] == (p));
	DONE(i_)
	EACH(i_, SETS)
		seen_ = seen_ + (tt[i_] == (p));
	DONE(i_)
	EACH(i_, 2 * SETS)
		seen_ = seen_ + (HELD_PAGE(i_) == (p));
	DONE(i_)
	EACH(i_, PAGES)
		seen_ = seen_ + (hand[i_] == (p));
	DONE(i_)
	seen_ = seen_ + MORE_PLACES(p)
}

/* I1, at any moment: no page is in two places. */
inline never_two()
{
	d_step {
		EACH(p_, PAGES)
			count(p_ + 1);
			assert(seen_ <= 1);
		DONE(p_)
		seen_ = 0
	}
}

/* I1, when nothing moves: each page is in one place. */
inline all_home()
{
	d_step {
		EACH(p_, PAGES)
			count(p_ + 1);
			assert(seen_ == 1);
		DONE(p_)
		seen_ = 0
	}
}

/* When nothing moves: the free pages stand from head to tail without a gap. */
inline in_order(n)
{
	d_step {
		EACH(i_, SLOTS)
			p_ = p_ + (RING(n, i_) > 0);
		DONE(i_)
		assert((head[n] + p_) % SLOTS == tail[n]);
		EACH(i_, p_)
			assert(RING(n, (head[n] + i_) % SLOTS));
		DONE(i_)
		p_ = 0
	}
}

/* Page p, at the tail, while nobody runs. */
inline lend(n, p)
{
	RING(n, tail[n]) = p;
	tail[n] = NEXT(tail[n]);
	owner[p] = n + 1
}

/* ---- chains -------------------------------------------------------------- */

#define RUNS(q, where)	(!ch[q].dead && ch[q].at == (where))

inline answer(q)
{
	ch[q].at = IDLE;
	ch[q].slot = 0;
	ch[q].page = 0;
	ch[q].asked = 0;
	ch[q].answered = !ch[q].broken;
	COMPLETED(q)
}

/* A WQE fails: the queue stands still behind the one before. */
inline fail(q)
{
	ch[q].dead = 1;
	ch[q].broken = 1;
	COMPLETED(q)
}

inline pop(q)
{
	ch[q].slot = head[RG(q)];
	FOUND(RG(q), ch[q].slot);
#ifndef LATE_HEAD
	head[RG(q)] = NEXT(head[RG(q)]);
#endif
	TAKING(RG(q), ch[q].slot)++;
	ch[q].at = POPPED
}

inline take(q)
{
	ch[q].page = RING(RG(q), ch[q].slot);
	RING(RG(q), ch[q].slot) = 0;
	TAKING(RG(q), ch[q].slot)--;
	ch[q].at = TAKEN;
	never_two()
}

#ifdef EXCHANGE
/* The page has been received into the register.  The next one is what the entry
 * held, or comes behind the answer. */
proctype Store(byte c)
{
	byte old;
end:	do
	:: atomic { RUNS(c, IDLE) && ch[c].asked ->
		I3(c, ch[c].page);
		data[ch[c].page] = CONTENTS(c);
		old = TT(c);
#ifdef PLAIN_SWAP
		}
	   atomic {
#endif
		MAPS(c, ch[c].page);
		TT(c) = ch[c].page;
		ch[c].page = old; old = 0;
		ch[c].at = (ch[c].page -> IDLE : MAPPED);
		ch[c].asked = 0; ch[c].answered = !ch[c].broken;
		COMPLETED(c);
		never_two() }
	:: atomic { RUNS(c, MAPPED) && HEAD_MAY(RG(c), head[RG(c)]) -> pop(c) }
	:: atomic { RUNS(c, POPPED) -> take(c);
		if
		:: ch[c].page -> ch[c].at = IDLE; ch[c].slot = 0
		:: else -> fail(c)
		fi }
	od
}
#else
proctype Store(byte c)
{
#ifdef PLAIN_HEAD
	byte was;
#endif
end:	do
	:: atomic { RUNS(c, IDLE) && ch[c].asked &&
		HEAD_MAY(RG(c), head[RG(c)]) ->
#ifdef PLAIN_HEAD
		was = head[RG(c)] }
	   atomic { head[RG(c)] = was; was = 0;
#endif
		pop(c) }
	:: atomic { RUNS(c, POPPED) -> take(c) }
#ifdef LATE_HEAD
	   atomic { head[RG(c)] = NEXT(head[RG(c)]) }
#endif
	:: atomic { RUNS(c, TAKEN) ->
		MAPS(c, ch[c].page);
		TT(c) = ch[c].page; ch[c].at = MAPPED; never_two() }
	:: atomic { RUNS(c, MAPPED) ->
		if
		:: !ch[c].page -> fail(c)
		:: else ->
			I3(c, ch[c].page);
			data[ch[c].page] = CONTENTS(c);
			answer(c)
		fi }
	od
}
#endif

inline push(c, q)
{
	ch[q].slot = tail[RG(c)];
	tail[RG(c)] = NEXT(tail[RG(c)]);
	FILLING(RG(c), ch[q].slot)++;
	after_whom(c);
	stand(c);
	ch[q].at = PUSHED
}

inline put(c, q)
{
	EMPTY(RG(c), ch[q].slot);
	RING(RG(c), ch[q].slot) = ch[q].page;
	FILLING(RG(c), ch[q].slot)--;
	overtake(c);
	go_on(c)
}

proctype Free(byte c)
{
	byte q = SETS + c;
end:	do
	:: atomic { RUNS(q, IDLE) && ch[q].asked ->
		ch[q].page = TT(c);
#ifdef READ_CLEAR
		}
	   atomic {
#endif
		TT(c) = 0; ch[q].at = TAKEN; never_two() }
	:: atomic { RUNS(q, TAKEN) && !ch[q].page -> answer(q) }
#ifdef PUT_FIRST
	:: atomic { RUNS(q, TAKEN) && ch[q].page && TAIL_MAY(RG(c)) ->
		EMPTY(RG(c), tail[RG(c)]);
		RING(RG(c), tail[RG(c)]) = ch[q].page; ch[q].page = 0 }
	   atomic { tail[RG(c)] = NEXT(tail[RG(c)]); answer(q) }
#endif
	:: atomic { RUNS(q, TAKEN) && ch[q].page && TAIL_MAY(RG(c)) ->
		push(c, q) }
	:: atomic { RUNS(q, PUSHED) && MAY_OVERTAKE(c) ->
		put(c, q); answer(q); never_two() }
	od
}

/* ---- the agent on a ring whose chains run -------------------------------- */

#ifdef FILL_BLINDLY
#define MAY_FILL(slot)	true
#else
#define MAY_FILL(slot)	(!(slot))
#endif
#ifdef PLAIN_BACK
#define MAY_MOVE(now, h) true
#else
#define MAY_MOVE(now, h) ((now) == (h))
#endif

/*
 * The last m pages in hand go to ring n.  They stand in their slots, all behind
 * the head, before a compare-and-swap moves the head back to them; it fails when
 * a store has come between, and they are taken out again.
 */
inline put_in(n, m)
{
	put_ok = 0;
	atomic { h = head[n];
		EACH(i_, m)
			TAKING(n, PREV(h, i_ + 1))++;
		DONE(i_) }
	do
	:: atomic { k < m && MAY_FILL(RING(n, PREV(h, k + 1))) ->
		owner[hand[in_hand - 1 - k]] = n + 1;
		RING(n, PREV(h, k + 1)) = hand[in_hand - 1 - k];
		hand[in_hand - 1 - k] = 0; k++; never_two() }
	:: atomic { k == m && MAY_MOVE(head[n], h) ->
		head[n] = PREV(head[n], m); in_hand = in_hand - m; k = 0; put_ok = 1 }
	   break
	:: atomic { k < m && !MAY_FILL(RING(n, PREV(h, k + 1))) ||
		!MAY_MOVE(head[n], h) -> skip }
	   do
	   :: atomic { k -> k--;
		hand[in_hand - 1 - k] = RING(n, PREV(h, k + 1));
		RING(n, PREV(h, k + 1)) = 0 }
	   :: atomic { !k -> break }
	   od;
	   break
	od;
	atomic {
		EACH(i_, m)
			TAKING(n, PREV(h, i_ + 1))--;
		DONE(i_)
		h = 0 }
}

/* m pages out of ring n: the slots are the agent's when the head has passed
 * them, and each page when an exchange has found it there. */
inline take_out(n, m)
{
	atomic { HEAD_MAY(n, head[n]) && HEAD_MAY(n, (head[n] + m - 1) % SLOTS) ->
		h = head[n]; head[n] = (h + m) % SLOTS;
		EACH(i_, m)
			TAKING(n, (h + i_) % SLOTS)++;
		DONE(i_) }
end_take: do
#ifdef PLAIN_TAKE
	:: atomic { k < m -> got = RING(n, (h + k) % SLOTS) }
	   atomic { RING(n, (h + k) % SLOTS) = 0;
		if
		:: got -> TAKING(n, (h + k) % SLOTS)--;
			hand[in_hand] = got; in_hand++; k++; got = 0
		:: else
		fi;
		never_two() }
#else
	:: atomic { k < m && RING(n, (h + k) % SLOTS) ->
		hand[in_hand] = RING(n, (h + k) % SLOTS); in_hand++;
		RING(n, (h + k) % SLOTS) = 0;
		TAKING(n, (h + k) % SLOTS)--; k++; never_two() }
#endif
	:: k == m -> break
	od;
	k = 0; h = 0
}
