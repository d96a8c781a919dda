/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A member of a set that is silent, and is declared lost for that: mnode/space/silence.c.
 *
 * Member M answers the arbiter's questions; a question names the answer that it follows, or
 * what the arbiter knew of before, and may arrive late, or never. M counts from before the
 * answer that is named, the arbiter from behind the last one that has arrived. M's clock is
 * the slower one: of eight of the arbiter's ticks it may miss one. M begins anew when it is
 * told that it was declared lost.
 *
 * A client that is cut off from the arbiter, too, goes on at M while M serves. Client L lives,
 * uses M now and then, and publishes an epoch when no operation of its is left that began
 * before it knew.
 *
 * The claims: what was declared lost is not served any more; M begins anew when no operation
 * of L is left of before.
 *
 * ASSUMED: M's agent runs when its time is over: the clocks do not pass a moment at which M is
 * to stop; one question is under way at a time.
 *
 *@ holds rules
 *@ fails no-margin	NO_MARGIN | !((declared&&serves))
 *@ fails serves-on	SERVES_ON | !((declared&&serves))
 *@ fails from-arrival	FROM_ARRIVAL | !((declared&&serves))
 *@ fails each-answer	EACH_ANSWER | !((declared&&serves))
 *@ fails no-epochs	NO_EPOCHS | !((l_old&&anew))
 */
#define LOST	8		/* lost-ms, in ticks of the arbiter */
#ifdef NO_MARGIN
#define STOPS	LOST
#else
#define STOPS	6		/* three quarters of it */
#endif
#define NONE	15

byte m_age;			/* of M's last answer, by M's clock */
byte turn;			/* of that answer */
byte left = STOPS;		/* for how long M still serves, by M's clock */
bit serves = 1;
byte a_age;			/* since an answer has arrived, by the arbiter's clock */
byte a_turn;			/* of that answer */
byte missed = 7;		/* ticks of the arbiter since M's clock has missed one */
bit declared, counted, anew;
bit asked;			/* a question is under way, with... */
byte asked_turn;
bit answered;			/* an answer is under way, with... */
byte answered_turn;
bit l_old, l_knows;		/* L has an operation at M; L knows of the declaration */

#define CLAIMS	assert(!(declared && serves)); assert(!(l_old && anew))

/* One tick. */
proctype clocks() {
	do
	:: atomic { !counted && !(serves && left == 0) && a_age < LOST ->
		a_age++;
		if
		:: missed >= 7 -> missed = 0		/* M's clock stands still */
		:: true ->
			if
			:: missed < 7 -> missed++
			:: else
			fi;
			m_age = (m_age < NONE -> m_age + 1 : NONE);
			left = (left > 0 -> left - 1 : 0)
		fi }
	:: counted -> break
	od
}

proctype arbiter() {
	do
	:: atomic { !declared && !asked -> asked = 1; asked_turn = a_turn }
	:: atomic { answered ->
		answered = 0;
		if
		:: !declared && answered_turn != a_turn ->
			a_turn = answered_turn;
			a_age = 0
		:: else
		fi }
	:: atomic { !declared && a_age == LOST -> declared = 1; CLAIMS }
	:: atomic { declared && !counted ->
#ifndef NO_EPOCHS
		(l_knows && !l_old);
#endif
		counted = 1 }
	:: atomic { counted && !serves -> anew = 1; CLAIMS; break }
	:: counted && serves -> break
	od
}

proctype member() {
	do
	:: atomic { asked ->
		asked = 0;
		if
#ifdef FROM_ARRIVAL
		:: true -> left = STOPS; serves = 1; CLAIMS
#else
		:: asked_turn == turn && m_age < STOPS ->
			left = STOPS - m_age; serves = 1; CLAIMS
		:: else
#endif
		fi;
		if
#ifdef EACH_ANSWER
		:: true
#else
		:: asked_turn == turn
#endif
			-> turn = 1 - turn; m_age = 0
		:: else
		fi;
		if
		:: !answered -> answered = 1; answered_turn = turn
		:: true				/* it gets lost */
		fi }
	:: atomic { asked && declared -> asked = 0 }	/* it gets lost */
	:: atomic { serves && left == 0 ->
#ifdef SERVES_ON
		left = 1
#else
		serves = 0
#endif
		}
	:: counted && !asked -> break
	od
}

proctype task() {
	do
	:: atomic { !l_knows && serves -> l_old = 1 }
	:: l_old = 0
	:: atomic { declared -> l_knows = 1 }
	:: l_knows && !l_old -> break
	od
}

init {
	atomic { run clocks(); run arbiter(); run member(); run task() }
}
