/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate, and how instances are used again: one queue of K instances, its
 * counters as they wrap, a client that sends when it may, and a connection that
 * breaks at any moment, so that the receive entries left over are flushed.
 *
 * An instance is the load chain's: WAIT for the request; SEND_EN of the gate;
 * the gate, a SEND_EN of the body and the next instance's head; the body, which
 * uses the arguments and answers.  Counters are modulo M (SEND_EN) and W (WAIT)
 * and compared as the NIC does: less than half a turn ahead is ahead.
 *
 * The words of a request arrive one by one, in any order, and its CQE after
 * them all.  The connection may break between the two, but not between two
 * words: ASSUMED is that they come in one packet (TORN).  With PREFETCH a WQE
 * is fetched when it is enabled, without when it runs.
 *
 * I6: no WQE of instance r runs with a word that is not of request r's lap, and
 * a body runs only for a request that has arrived, once, in order.  A flushed
 * entry runs nothing.  When nothing moves, each request that has arrived has
 * run.
 *
 *@ holds two		K=2 M=16 W=8
 *@ holds two-prefetch	K=2 M=16 W=8 PREFETCH
 *@ holds four		K=4 M=32 W=16
 *@ holds four-prefetch	K=4 M=32 W=16 PREFETCH
 *@ holds node-posts	K=2 M=16 W=8 NODE_POSTS GREEDY
 *@ holds node-posts-4	K=4 M=32 W=16 NODE_POSTS GREEDY PREFETCH
 *@ nightly eight	K=8 M=64 W=32 REQUESTS=40
 *@ nightly eight-prefetch K=8 M=64 W=32 REQUESTS=40 PREFETCH
 *@ fails no-gate	K=2 M=16 W=8 NO_GATE | lap[
 *@ fails early-cqe	K=2 M=16 W=8 EARLY_CQE | inst<complete
 *@ fails greedy	K=2 M=16 W=8 GREEDY | lap[
 *@ fails own-head	K=2 M=16 W=8 OWN_HEAD | lap[
 *@ fails big-ring	K=4 M=16 W=16 | lap[
 *@ fails few-completions K=4 M=32 W=4 | inst==complete
 *@ fails torn		K=2 M=16 W=8 TORN | inst<complete
 *@ fails client-words	K=2 M=16 W=8 LIAR | lap[
 */
#ifndef REQUESTS
#define REQUESTS (2 * M / L + 1)	/* SEND_EN's counter wraps twice */
#endif

#define L	4		/* WQEs of an instance */
#define BB	(K * L)		/* of the ring */
#define AT_WAIT	0
#define AT_GO	1
#define AT_GATE	2
#define AT_BODY	3

/* Is a ahead of b, on a circle of n? */
#define AHEAD(a, b, n)	((a) != (b) && ((a) + (n) - (b)) % (n) <= (n) / 2)

/* Words of each WQE: its count, and, ghost, of which request (plus 1). */
byte word[BB];
byte lap[BB];
/* As they were fetched, with PREFETCH. */
byte f_word[BB], f_lap[BB];

byte ci, limit;		/* loop queue: next WQE and first that may not run, mod M */
byte inst;		/* ghost: instance that runs, counted from 0 */
byte cqes;		/* of the receive CQ, mod W */
byte posted, arrived;	/* receive entries, and requests that took one */
byte complete, done;	/* those whose words have come; whose CQE has */
bit flushed;

#define INST(r)		((r) % K)
#define AT(r, wqe)	(INST(r) * L + (wqe))

/* What the words of instance r have to be. */
#define COUNT_WAIT(r)	((r) % W)
#ifdef NO_GATE
#define COUNT_GO(r)	COUNT_GATE(r)
#else
#define COUNT_GO(r)	(((r) * L + AT_GATE + 1) % M)
#endif
#define COUNT_GATE(r)	(((r) * L + L + AT_GATE) % M)

inline set(i, value, r)
{
	word[i] = value; lap[i] = r + 1
}

/* The first head is of its lap, all else as a lap before would have left it. */
inline image()
{
	d_step {
		do
		:: n < K ->
			word[AT(n, AT_WAIT)] = (COUNT_WAIT(n) + K * W - K) % W;
			word[AT(n, AT_GO)] = (COUNT_GO(n) + K * M - BB) % M;
			word[AT(n, AT_GATE)] = (COUNT_GATE(n) + K * M - BB) % M;
			n++
		:: else -> n = 0; break
		od;
		set(AT(0, AT_WAIT), COUNT_WAIT(0), 0);
		set(AT(0, AT_GO), COUNT_GO(0), 0);
		posted = K - 1
	}
	enable(AT_GATE)
}

#ifdef PREFETCH
#define WORD(i)	f_word[i]
#define OF(i)	f_lap[i]
#else
#define WORD(i)	word[i]
#define OF(i)	lap[i]
#endif

/* WQEs before `to` may run. */
inline enable(to)
{
	d_step {
		do
		:: AHEAD(to, limit, M) ->
#ifdef PREFETCH
			f_word[limit % BB] = word[limit % BB];
			f_lap[limit % BB] = lap[limit % BB];
#endif
			limit = (limit + 1) % M
		:: else -> break
		od
	}
}

#define MY(wqe)		AT(inst, wqe)
#define MINE(wqe)	(OF(MY(wqe)) == inst + 1)
#define IS(wqe)		(ci != limit && ci % L == (wqe))
#define THERE(cqe)	((cqes + 2 * W - 1 - (cqe)) % W < W / 2)

active proctype Loop()
{
end:	do
	:: atomic { IS(AT_WAIT) && THERE(WORD(MY(AT_WAIT))) ->
		assert(MINE(AT_WAIT));
		ci = (ci + 1) % M }
	:: atomic { IS(AT_GO) ->
		assert(MINE(AT_GO));
		enable(WORD(MY(AT_GO)));
		ci = (ci + 1) % M }
	:: atomic { IS(AT_GATE) ->
		assert(MINE(AT_GATE) || !AHEAD(WORD(MY(AT_GATE)), limit, M));
		enable(WORD(MY(AT_GATE)));
		ci = (ci + 1) % M }
	:: atomic { IS(AT_BODY) ->
		assert(MINE(AT_BODY) && inst < complete);
		inst++;
#ifdef NODE_POSTS
		posted = inst + K - 1;
#endif
		ci = (ci + 1) % M }
	od
}

#ifdef GREEDY
#define MAY_SEND	true
#else
#define MAY_SEND	(arrived - inst < K - 1)
#endif

/* What is left of the receive queue completes, and runs nothing. */
inline break_now()
{
	flushed = 1;
	cqes = (cqes + posted - done) % W
}

byte todo;	/* words of the request that have not arrived */

#define W_WAIT	1
#define W_GO	2
#define W_GATE	4
#define W_BODY	8
#define W_DBR	16
#define COMES(w) (todo & (w)) -> todo = todo - (w)

#ifdef OWN_HEAD
#define HEAD_OF	r
#else
#define HEAD_OF	(r + 1)
#endif
#ifdef LIAR
#define GATE_WORD	((COUNT_GATE(r) + L) % M)
#else
#define GATE_WORD	COUNT_GATE(r)
#endif

inline words_arrive()
{
	do
	:: atomic { COMES(W_WAIT);
		set(AT(HEAD_OF, AT_WAIT), COUNT_WAIT(HEAD_OF), HEAD_OF) }
	:: atomic { COMES(W_GO);
		set(AT(HEAD_OF, AT_GO), COUNT_GO(HEAD_OF), HEAD_OF) }
	:: atomic { COMES(W_GATE); set(AT(r, AT_GATE), GATE_WORD, r) }
	:: atomic { COMES(W_BODY); set(AT(r, AT_BODY), 0, r) }
	:: atomic { COMES(W_DBR);
#ifndef NODE_POSTS
		posted = r + K
#endif
		}
#ifdef TORN
	:: atomic { todo && todo < 31 && !flushed -> break_now(); goto out }
#endif
	:: atomic { !todo -> complete++; break }
	od
}

active proctype Client()
{
	byte r, n;

	atomic { image() }
	do
	:: atomic { arrived < REQUESTS && arrived < posted && MAY_SEND ->
		r = arrived; arrived++; todo = 31 }
#ifdef EARLY_CQE
	   atomic { cqes = (cqes + 1) % W; done++ }
	   words_arrive()
#else
	   words_arrive();
	   if
	   :: atomic { cqes = (cqes + 1) % W; done++ }
	   :: atomic { break_now(); break }
	   fi
#endif
	:: atomic { break_now(); break }
	od;
out:	timeout;
	/* Each request whose words have come has run. */
	assert(inst == complete)
}
