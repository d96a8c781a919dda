/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the models of pages share: memory, the chains that move pages, the agent
 * that collects what they leave behind, and the count of every page (I1).
 * Included with CNODES, PAGES and SLOTS (of the ring) defined.  A CNode has one
 * table entry, one unmapped store chain and one invalidate chain.
 *
 * An `atomic` is one WQE, or one access of the agent's, on memory that others
 * use too; between two of them anybody may run.  What a WQE does inside its own
 * chain (WAIT, SEND_EN, EndianSwap, scattered opcodes) touches nothing of
 * others and takes no step of its own.
 */

byte ring[SLOTS];		/* 0: empty, or a page: 1 .. PAGES */
byte head, tail;		/* slot numbers; like the NIC's, they wrap */
byte tt[CNODES];		/* 0: unmapped, or a page */
byte data[PAGES + 1];		/* what a page contains: CNode + 1 */

#define NEXT(slot)	(((slot) + 1) % SLOTS)

/* For models that need more: whose entry chain set c works on, further places
 * of page p, and what a store writes. */
#ifndef TT
#define TT(c)		tt[c]
#endif
#ifndef MORE_PLACES
#define MORE_PLACES(p)	0
#endif
#ifndef CONTENTS
#define CONTENTS(c)	((c) + 1)
#endif
#ifdef ONLY_I1
#define I3(x)		skip
#else
#define I3(x)		assert(x)
#endif

/*
 * A chain stands behind what it has executed last.  Store: POP a slot, TAKE
 * its page, MAP it, put the data and answer.  Free: TAKE the entry, PUSH the
 * tail, put the page into the slot and answer.
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
chain ch[2 * CNODES];

#define ST(c)		ch[c]
#define FR(c)		ch[CNODES + (c)]
#define IS_STORE(q)	((q) < CNODES)

/* wrc_held_page() */
#define HELD_PAGE(q)	((ch[q].at == TAKEN || ch[q].at == PUSHED) -> \
			 ch[q].page : 0)
#define HAS_SLOT(q)	(ch[q].at == POPPED || ch[q].at == PUSHED || \
			 (IS_STORE(q) && ch[q].at != IDLE && !ch[q].page))

/* The agent: a batch on its way to the ring, what stopped chains held, and how
 * often each slot is in the list of holes. */
byte hand[PAGES], in_hand;
byte orphan[2 * CNODES];
byte holes[SLOTS];

/*
 * Ghosts, for the assumptions only: stores that have popped a slot and not
 * taken its page; invalidates (and the agent) that are about to fill it; stores
 * that found it empty, until the agent has forgotten the hole.
 */
byte taking[SLOTS], filling[SLOTS], hollow[SLOTS];

/*
 * ASSUMED: the agent empties a filled hole before a counter has come round to
 * it; no counter comes round to a slot of a chain that works on it; and, with
 * PLENTY, no head reaches a slot before the invalidate that is to fill it has
 * done so.  Each is a matter of how long the ring is; each has a variant that
 * shows what happens otherwise.
 */
#ifdef SLOW_AGENT
#define HOLLOW(s)	false
#else
#define HOLLOW(s)	hollow[s]
#endif
#ifdef SLOW_STORE
#define TAKING(s)	false
#else
#define TAKING(s)	taking[s]
#endif
#if defined(PLENTY) && !defined(SLOW_FREE)
#define FILLING(s)	filling[s]
#else
#define FILLING(s)	false
#endif
#define HEAD_MAY(s)	(!(HOLLOW(s) && ring[s]) && !TAKING(s) && !FILLING(s))
#define TAIL_MAY(s)	(!(HOLLOW(s) && (ring[s] || filling[s])) && !TAKING(s))

/* A `for` that leaves its counter at 0, as it found it. */
#define EACH(i, n)	i = 0; do :: i < (n) ->
#define DONE(i)		i++ :: else -> i = 0; break od;

/* A slot that is about to be filled is empty; or, with MAY_LOSE, its page is
 * lost: in no place, which the agent can find, but never in two. */
#ifdef MAY_LOSE
#define EMPTY(s)	skip
#else
#define EMPTY(s)	assert(!ring[s])
#endif

/* ---- what must hold ------------------------------------------------------ */

byte seen_, i_, p_;

inline count(p)
{
	seen_ = 0;
	EACH(i_, SLOTS)
		seen_ = seen_ + (ring[i_] == (p));
	DONE(i_)
	EACH(i_, CNODES)
		seen_ = seen_ + (tt[i_] == (p));
	DONE(i_)
	EACH(i_, 2 * CNODES)
		seen_ = seen_ + (HELD_PAGE(i_) == (p)) + (orphan[i_] == (p));
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

/*
 * When nothing moves: the free pages stand from head to tail without a gap, so
 * that the next stores find them; with holes left over there are none.
 */
inline in_order()
{
	d_step {
		EACH(i_, SLOTS)
			p_ = p_ + (ring[i_] > 0);
			seen_ = seen_ + holes[i_];
		DONE(i_)
		assert(!p_ || !seen_);
		assert((head + p_) % SLOTS == (tail + seen_) % SLOTS);
		EACH(i_, p_)
			assert(ring[(head + i_) % SLOTS]);
		DONE(i_)
		p_ = 0;
		seen_ = 0
	}
}

inline fill_ring()
{
	d_step {
		EACH(i_, PAGES)
			ring[i_] = i_ + 1;
		DONE(i_)
		tail = PAGES % SLOTS
	}
}

/* ---- chains -------------------------------------------------------------- */

#define RUNS(q, where)	(!ch[q].dead && ch[q].at == (where))

inline answer(q)
{
	ch[q].at = IDLE;
	ch[q].slot = 0;
	ch[q].page = 0;
	ch[q].asked = 0;
	ch[q].answered = !ch[q].broken
}

/* A WQE fails: the queue stands still behind the one before. */
inline fail(q)
{
	ch[q].dead = 1;
	ch[q].broken = 1
}

inline pop(q)
{
	ch[q].slot = head;
	head = NEXT(head);
	taking[ch[q].slot]++;
	ch[q].at = POPPED
}

inline take(q)
{
	ch[q].page = ring[ch[q].slot];
	ring[ch[q].slot] = 0;
	ch[q].at = TAKEN;
	taking[ch[q].slot]--;
	hollow[ch[q].slot] = hollow[ch[q].slot] + !ch[q].page;
	never_two()
}

proctype Store(byte c)
{
#if defined(LATE_HEAD) || defined(PLAIN_HEAD) || defined(PLAIN_TAKE)
	byte was;
#endif
end:	do
#ifdef LATE_HEAD
	:: atomic { RUNS(c, IDLE) && ch[c].asked && HEAD_MAY(head) ->
		ch[c].slot = head; taking[head]++; ch[c].at = POPPED }
#elif defined(PLAIN_HEAD)
	:: atomic { RUNS(c, IDLE) && ch[c].asked && HEAD_MAY(head) ->
		was = head }
	   atomic { ch[c].slot = was; head = NEXT(was); taking[was]++;
		was = 0; ch[c].at = POPPED }
#else
	:: atomic { RUNS(c, IDLE) && ch[c].asked && HEAD_MAY(head) -> pop(c) }
#endif
#ifdef LATE_HEAD
	:: atomic { RUNS(c, POPPED) -> take(c) } atomic { head = NEXT(head) }
#elif defined(PLAIN_TAKE)
	:: atomic { RUNS(c, POPPED) -> was = ring[ch[c].slot] }
	   atomic { ch[c].page = was; ring[ch[c].slot] = 0; ch[c].at = TAKEN;
		taking[ch[c].slot]--;
		hollow[ch[c].slot] = hollow[ch[c].slot] + !was;
		was = 0; never_two() }
#else
	:: atomic { RUNS(c, POPPED) -> take(c) }
#endif
	:: atomic { RUNS(c, TAKEN) ->
#ifdef PLENTY
		assert(ch[c].page);
#endif
		TT(c) = ch[c].page; ch[c].at = MAPPED; never_two() }
	:: atomic { RUNS(c, MAPPED) ->
		if
		:: !ch[c].page -> fail(c)
		:: else ->
			I3(TT(c) == ch[c].page);
			data[ch[c].page] = CONTENTS(c);
			answer(c)
		fi }
	od
}

inline push(q)
{
	ch[q].slot = tail;
	tail = NEXT(tail);
	filling[ch[q].slot]++;
	ch[q].at = PUSHED
}

/* The tail may not have come round to a slot that is still in use. */
inline put(q)
{
	EMPTY(ch[q].slot);
	ring[ch[q].slot] = ch[q].page;
	filling[ch[q].slot]--
}

proctype Free(byte c)
{
	byte q = CNODES + c;
end:	do
	:: atomic { RUNS(q, IDLE) && ch[q].asked ->
		ch[q].page = TT(c);
#ifdef READ_CLEAR
		}
	   atomic {
#endif
		TT(c) = 0; ch[q].at = TAKEN; never_two() }
	:: atomic { RUNS(q, TAKEN) && !ch[q].page -> answer(q) }
#ifdef PUT_BEFORE_PUSH
	:: atomic { RUNS(q, TAKEN) && ch[q].page ->
		ch[q].slot = tail; filling[tail]++; put(q); ch[q].page = 0;
		ch[q].at = PUSHED }
	:: atomic { RUNS(q, PUSHED) -> tail = NEXT(tail); answer(q) }
#else
	:: atomic { RUNS(q, TAKEN) && ch[q].page && TAIL_MAY(tail) -> push(q) }
	:: atomic { RUNS(q, PUSHED) -> put(q); answer(q); never_two() }
#endif
	od
}

/* The CNode connects again; refused while its page is with the agent. */
#ifdef EARLY_CONNECT
#define MAY_CONNECT(q)	(ch[q].closed)
#else
#define MAY_CONNECT(q)	(ch[q].closed && !orphan[q])
#endif

inline connect(q)
{
	ch[q].broken = 0;
	ch[q].dead = 0;
	ch[q].closed = 0;
	ch[q].asked = 0
}

/* ---- the agent ----------------------------------------------------------- */

/* One thread: whatever it begins it ends before it begins something else. */
bit busy;

/* Between reading a slot and clearing it. */
inline read_slot(s)
{
	got = ring[s]
}

inline clear_slot(s)
{
	ring[s] = 0
}

/* The chain's memory is free for another connection. */
inline forget(q)
{
	ch[q].at = IDLE;
	ch[q].slot = 0;
	ch[q].page = 0;
	ch[q].asked = 0
}

inline hold_nothing()
{
	hpage = 0; hslot = SLOTS
}

inline held(q)
{
	hpage = HELD_PAGE(q);
	hslot = (HAS_SLOT(q) -> ch[q].slot : SLOTS)
}

/* reclaim_queue() */
inline reclaim_queue(q)
{
	if
	:: atomic { hslot < SLOTS && hpage ->
#ifdef LOSE_SLOT
		orphan[q] = hpage; hpage = 0; filling[hslot]--;
#else
		EMPTY(hslot);
		ring[hslot] = hpage; hpage = 0; filling[hslot]--;
#endif
		forget(q); never_two() }
	:: atomic { hslot < SLOTS && !hpage -> read_slot(hslot)
#ifndef ATOMIC_LIFT
		}
	   atomic {
#endif
		if
		:: got ->
			taking[hslot] = taking[hslot] - (ch[q].at == POPPED);
			hollow[hslot] = hollow[hslot] - (ch[q].at != POPPED);
			clear_slot(hslot); orphan[q] = got; got = 0
		:: else ->
			taking[hslot] = taking[hslot] - (ch[q].at == POPPED);
			hollow[hslot] = hollow[hslot] + (ch[q].at == POPPED);
#ifdef FORGET_HOLE
			hollow[hslot]--
#else
			holes[hslot]++
#endif
		fi;
		forget(q); never_two() }
	:: atomic { hslot == SLOTS ->
		orphan[q] = hpage; hpage = 0; forget(q); never_two() }
	fi;
	hold_nothing()
}

/* queue_stop(), then what it held; then it may be connected again. */
inline close_queue(q)
{
#ifdef BEFORE_DEAD
	atomic { held(q) }
	ch[q].dead = 1;
#else
	atomic { ch[q].dead = 1; held(q) }
#endif
#ifdef NO_HELD
	atomic { hold_nothing(); forget(q) }
#else
	reclaim_queue(q)
#endif
}

inline collect_orphan(q)
{
	hand[in_hand] = orphan[q];
	orphan[q] = 0;
	in_hand++
}

/* A page has come to a hole. */
inline collect_hole(s)
{
	atomic { read_slot(s)
#ifndef ATOMIC_LIFT
		}
	atomic {
#endif
		if
		:: got ->
			clear_slot(s); hand[in_hand] = got; got = 0;
			in_hand++; holes[s]--; hollow[s]--
		:: else
		fi;
		never_two() }
}

/* The batch, reclaim_run(): reserve slots, leave out those that are holes,
 * write the pages to the others, once more with the rest. */
byte dest[PAGES], nr_dest, base, k;

#define TAIL_MAY_BY(n)	(TAIL_MAY(tail) && TAIL_MAY((tail + (n) - 1) % SLOTS))

inline reserve()
{
	base = tail;
#ifndef PLAIN_TAIL
	tail = (base + in_hand) % SLOTS;
#endif
	EACH(i_, in_hand)
		filling[(base + i_) % SLOTS]++;
	DONE(i_)
}

inline choose_dest()
{
	d_step {
		nr_dest = 0;
		EACH(k, in_hand)
			i_ = (base + k) % SLOTS;
			if
			:: holes[i_] ->
				holes[i_]--; hollow[i_]--;
#ifdef FILL_HOLE
				dest[nr_dest] = i_; nr_dest++
#else
				filling[i_]--
#endif
			:: else -> dest[nr_dest] = i_; nr_dest++
			fi;
		DONE(k)
		i_ = 0
	}
}

inline keep_rest()
{
	d_step {
		EACH(k, PAGES)
			if
			:: k + nr_dest < PAGES -> hand[k] = hand[k + nr_dest]
			:: else -> hand[k] = 0
			fi;
		DONE(k)
		in_hand = in_hand - nr_dest;
		EACH(k, PAGES)
			dest[k] = 0;
		DONE(k)
		nr_dest = 0; base = 0
	}
}

#ifdef RETRY_ALL
byte copy[PAGES];
#define WRITE_PAGE(n)	copy[n] = (hand[n] -> hand[n] : copy[n]);	\
			ring[dest[n]] = copy[n]
#else
#define WRITE_PAGE(n)	EMPTY(dest[n]); ring[dest[n]] = hand[n]
#endif

bit queue_failed;	/* the agent's own queue pair has broken, once */

inline give()
{
#ifdef PLAIN_TAIL
	tail = (base + in_hand) % SLOTS;
#endif
	choose_dest();
	do
	:: atomic { k < nr_dest ->
		WRITE_PAGE(k);
		filling[dest[k]] = filling[dest[k]] - (hand[k] != 0);
		hand[k] = 0; k++; never_two() }
#ifdef QUEUE_FAILS
	:: atomic { !queue_failed && k -> queue_failed = 1;
#ifdef RETRY_ALL
		k = 0
#endif
		}
#endif
	:: atomic { k == nr_dest -> break }
	od;
	keep_rest()
}

/* One for each queue: the agent looks at them in any order. */
proctype AgentQueue(byte q)
{
	byte got, hpage, hslot = SLOTS;

end:	do
	:: atomic { !busy && ch[q].broken && !ch[q].closed -> busy = 1 }
	   close_queue(q);
	   atomic { ch[q].closed = 1; busy = 0 }
	:: atomic { !busy && orphan[q] && in_hand < PAGES -> collect_orphan(q) }
	od
}

proctype AgentHole(byte s)
{
	byte got;

end:	do
	:: atomic { !busy && holes[s] && ring[s] && in_hand < PAGES -> busy = 1 }
	   collect_hole(s);
	   busy = 0
	od
}

proctype AgentGive()
{
end:	do
	:: atomic { !busy && in_hand && TAIL_MAY_BY(in_hand) ->
		busy = 1; reserve() }
	   give();
	   busy = 0
	od
}

inline start_all()
{
	fill_ring();
	EACH(n, CNODES)
		run Store(n);
		run Free(n);
	DONE(n)
	EACH(n, 2 * CNODES)
		run AgentQueue(n);
	DONE(n)
	EACH(n, SLOTS)
		run AgentHole(n);
	DONE(n)
	run AgentGive()
}
