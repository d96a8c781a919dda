/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs of far memory: userspace/core/epoch.c, round.c and userspace/space/arbiter.c.
 *
 * Client 0 reads what is linked, client 1 unlinks it, retires it, and uses it again once
 * its rules allow.  The arbiter looks at one entry after the other, says what is safe,
 * and advances E up to MAXE.  Client 0's service publishes epochs beside its task, parks
 * and comes back at any moment; client 1 holds no address, and publishes what it reads.
 *
 * The claim: when the block is used again, nobody holds its address.
 *
 * ASSUMED: a verb is one step, and whoever posts it waits for it.
 *
 *@ holds rules		MAXE=3
 *@ nightly more		MAXE=4
 *@ fails early-publish	MAXE=3 EARLY_PUBLISH | (held==0)
 *@ fails no-look	MAXE=3 NO_LOOK | (held==0)
 *@ fails no-ack	MAXE=3 NO_ACK | (held==0)
 *@ fails old-tag	MAXE=3 OLD_TAG | (held==0)
 *@ fails not-below	MAXE=3 NOT_BELOW | (held==0)
 *@ fails turn-first	MAXE=3 TURN_FIRST | (held==0)
 */
#ifndef MAXE
#define MAXE 4
#endif
#define IDLE 255

byte E = 1;
byte safe = 1;
byte entry[2] = IDLE;
bit open;			/* client 0's tasks may enter */
bit side;			/* and are counted here */
byte inside[2];

bit linked = 1;			/* the block's address can be found */
byte held;			/* readers that have found it */
bit retired, tagged, reused;
byte tag;

proctype reader() {
	bit s, has;

	do
	:: reused -> break
	:: open ->
		s = side;
		inside[s]++;
#ifndef NO_LOOK
		if
		:: open && side == s
		:: else -> atomic { inside[s]--; s = 0; goto again }
		fi;
#endif
		atomic { has = linked; held = held + has };
		/* it holds the address */
		atomic { held = held - has; has = 0 };
		atomic { inside[s]--; s = 0 };
again:		skip
	od
}

/* Client 1: its task unlinks and retires, its service does rounds. */
proctype writer() {
	linked = 0;		/* acknowledged */
	retired = 1
}

proctype rounds() {
	byte e = 1, s, old;
	bit closed;

	do
	:: reused -> break
	:: else ->
		atomic { closed = retired; old = e };
		e = E;		/* the tag of what was retired before the READ was posted */
		atomic {
			s = safe;
			if
			:: closed && !tagged ->
#ifdef OLD_TAG
				tag = old;
#else
				tag = e;
#endif
				tagged = 1
			:: else
			fi;
			if
#ifdef NOT_BELOW
			:: tagged && tag <= s ->
#else
			:: tagged && tag < s ->
#endif
				reused = 1;
				assert(held == 0)
			:: else
			fi;
			s = 0;
			closed = 0;
			old = 0
		};
		entry[1] = e
	od
}

/* Client 0's service. */
proctype service() {
	byte e, pending;

begin:	e = E;
#ifdef NO_ACK
	open = 1;		/* operations begin while the WRITE is on its way */
	entry[0] = e;
#else
	entry[0] = e;
	open = 1;
#endif
	do
	:: reused -> break
	:: !reused ->
#ifdef TURN_FIRST
		if
		:: !pending -> side = 1 - side
		:: else
		fi;
#endif
		e = E;
		atomic {
			if
			:: !pending ->
				pending = e;
#ifndef TURN_FIRST
				side = 1 - side
#endif
			:: else
			fi;
			e = 0
		};
		if
#ifdef EARLY_PUBLISH
		:: true ->
#else
		:: inside[1 - side] == 0 ->
#endif
			atomic { entry[0] = pending; pending = 0 }
		:: else
		fi
	:: !reused ->
		/* parks, when nobody is inside; and comes back */
		open = 0;
		if
		:: inside[0] + inside[1] == 0 ->
			atomic { entry[0] = IDLE; pending = 0; goto begin }
		:: else -> open = 1
		fi
	od
}

proctype arbiter() {
	byte least;

	do
	:: E < MAXE && !reused ->
		least = E;
		d_step { if :: entry[0] < least -> least = entry[0] :: else fi };
		d_step { if :: entry[1] < least -> least = entry[1] :: else fi };
		atomic { safe = least; least = 0 };
		E++
	:: else -> break
	od
}

init {
	atomic {
		run arbiter();
		run service();
		run rounds();
		run reader();
		run writer()
	}
}
