/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node of a set that is away, or begins anew: mnode/space/space-set.c,
 * userspace/space/arbiter.c, userspace/core/round.c and watch.c.
 *
 * Client X is taken for dead, and lives; client L lives.  The arbiter ends X's attachment at
 * its own node and has the other node end it there, which answers now or never.  The operator
 * may declare the other node lost.  Then the fence does not need it, when L has published an
 * epoch behind the declaration.  The other node may begin anew at any moment: X attaches there
 * again, and goes on when it has read its entry at the arbiter's node.
 *
 * The claim: when X is fenced, it does not write where L reads.
 *
 * ASSUMED: a verb is one step; the verbs of an attachment end with it.
 *
 *@ holds rules
 *@ fails no-count	NO_COUNT | !(((fenced&&x_writes)&&l_uses))
 *@ fails not-behind	NOT_BEHIND | !(((fenced&&x_writes)&&l_uses))
 *@ fails losses-first	LOSSES_FIRST | !(((fenced&&x_writes)&&l_uses))
 *@ fails no-wait	NO_WAIT | !(((fenced&&x_writes)&&l_uses))
 *@ fails own-last	OWN_LAST | !(((fenced&&x_writes)&&l_uses))
 *@ fails no-confirm	NO_CONFIRM | !(((fenced&&x_writes)&&l_uses))
 */
byte E = 1;
bit lost, counted;
byte declared;
byte entry = 1;			/* what L has published */

bit x_here = 1;			/* X's attachment at the arbiter's node */
bit x_there = 1;		/* and at the other one */
bit x_writes = 1;		/* it uses that one */
bit l_uses, l_knows;		/* L has an operation there; L has seen that the node is lost */
bit fenced;

#define SAFE	assert(!(fenced && x_writes && l_uses))

proctype arbiter() {
	bit there;

	do
	:: fenced -> break
	:: else ->
#ifndef OWN_LAST
		x_here = 0;
#endif
		if
		:: there || counted -> skip
		:: else ->
			if
			:: atomic { x_there = 0; x_writes = 0; there = 1 }
			:: goto again		/* it is away */
			fi
		fi;
#ifdef OWN_LAST
		x_here = 0;
#endif
		atomic { fenced = 1; SAFE };
again:		skip
	od
}

proctype operator() {
	if
	:: true -> goto end		/* nobody declares */
	:: lost = 1
	fi;
	atomic { declared = E; E++ };
#ifndef NO_COUNT
#ifdef NOT_BEHIND
	entry >= declared || fenced;
#else
	entry > declared || fenced;
#endif
#endif
	counted = 1;
end:	skip
}

/* L's service. */
proctype rounds() {
	byte e;
	bit seen;

	do
	:: fenced -> break
	:: else ->
#ifdef LOSSES_FIRST
		seen = lost;
		e = E;
#else
		e = E;
		seen = lost;
#endif
		l_knows = l_knows || seen;
#ifndef NO_WAIT
		if
		:: l_knows -> l_uses == 0
		:: else
		fi;
#endif
		entry = e
	od
}

/* L's task. */
proctype task() {
	do
	:: atomic { !l_knows -> l_uses = 1; SAFE };
		l_uses = 0
	:: l_knows || fenced -> break
	od
}

proctype slow() {
	bit here;

	do
	:: !fenced && x_here ->
		/* the other node has begun anew */
		atomic { x_there = 0; x_writes = 0 };
		x_there = 1;
#ifdef NO_CONFIRM
		here = 1;
#else
		here = x_here;
#endif
		atomic {
			if
			:: here && x_there -> x_writes = 1; SAFE
			:: else
			fi
		}
	:: fenced || !x_here -> break
	od
}

init {
	atomic {
		run arbiter();
		run operator();
		run rounds();
		run task();
		run slow()
	}
}
