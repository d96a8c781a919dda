/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks in far memory (userspace/core/lock.c, lock_queue.c): TASKS tasks of client 1 and
 * one of client 2 change contents of two words, ROUNDS times each.  Client 1's tasks
 * queue at home, and hand the lock over ROW times in a row.  With DIES client 1 dies at
 * any step, and client 2 repairs what it has left, after the fence.
 *
 * The contents are the number of changes, in two words that land one after the other.
 * The lock word has owner, log slot and the checksum, which here is the number itself.
 * A release is two WRITEs: the data, then the word; they are executed in order, but the
 * data may be visible later than the word: `late` holds its second half.  Before a
 * task writes, its redo record is there.
 *
 * The claims: nobody changes anything but the newest contents, and in the end each
 * change that was acknowledged is there once.
 *
 *@ holds two		TASKS=2 ROUNDS=1 ROW=1
 *@ holds death		TASKS=2 ROUNDS=1 ROW=1 DIES
 *@ holds row		TASKS=3 ROUNDS=1 ROW=1
 *@ nightly more	TASKS=3 ROUNDS=1 ROW=2
 *@ nightly twice	TASKS=2 ROUNDS=2 ROW=2 DIES
 *@ fails no-sum	TASKS=1 ROUNDS=1 ROW=1 NO_SUM | image==done
 *@ fails early-pass	TASKS=2 ROUNDS=1 ROW=1 EARLY_PASS | holders==0
 *@ fails no-fence	TASKS=1 ROUNDS=1 ROW=1 DIES NO_FENCE | writer==owner
 *@ fails no-redo	TASKS=1 ROUNDS=1 ROW=1 DIES NO_REDO | image==done
 *@ fails old-slot	TASKS=2 ROUNDS=1 ROW=1 DIES OLD_SLOT | redo
 *@ fails no-look	TASKS=2 ROUNDS=1 ROW=1 NO_LOOK | !(waiting)
 */
#define ALL	((TASKS + 1) * ROUNDS)
#define NONE	255

/* far memory */
byte owner;			/* of the word: 0 is free, a client's number */
byte slot;			/* its log slot */
byte sum;			/* its checksum */
byte a, b;			/* the contents */
byte late = NONE;		/* b, when it is visible */
byte redo[TASKS + 1] = NONE;	/* redo records, by slot */

/* what is true */
byte done;			/* changes whose release was executed */
byte acked;			/* changes that somebody was told of */
byte holders;			/* who thinks that it may write */
bool dead, fenced;
byte posted;			/* client 1's verbs under way */

/* client 1's queue: who has the turn, and who waits in which order */
byte turn = NONE;
byte waiting;			/* how many wait */
byte line[TASKS + 1];
bool given;			/* the lock is handed over with the turn */
byte run_length;

#define ALIVE	(!dead)

/* The data that is on its way is there. */
active proctype memory() {
end:	do
	:: atomic { late != NONE -> b = late; late = NONE }
	od
}

/* Client 1 dies; its fence comes when nothing of it is under way any more. */
#ifdef DIES
active proctype death() {
	if
	:: atomic { dead = true; holders = 0 }
	:: skip
	fi;
	if
	:: dead ->
		atomic { !posted && late == NONE -> fenced = true }
	:: else
	fi
}
#endif

inline enter(me) {
	atomic {
		if
		:: turn == NONE -> turn = me; given = false; run_length = 0
		:: else -> line[waiting] = me; waiting++
		fi
	};
	(turn == me || dead)
}

inline leave() {
	atomic {
		if
		:: !ALIVE
		:: ALIVE && waiting ->
			turn = line[0];
			line[0] = line[1];
			line[1] = line[2];
			waiting--
		:: ALIVE && !waiting -> turn = NONE
		fi
	}
}

/*
 * The WRITEs of a change, whose new contents are `image`. Of a client that dies each is
 * still executed, or not, but none behind one that is not.
 */
inline put(who, to_owner, to_slot) {
	if
	:: who == 1 && dead -> goto cut
	:: true
	fi;
	atomic { assert(writer == owner); a = image };
	if
	:: who == 1 && dead -> goto cut
	:: true
	fi;
	atomic {
		if
		:: b = image
		:: late = image		/* visible later than the word */
		fi
	};
	if
	:: who == 1 && dead -> goto cut
	:: true
	fi;
	atomic {
		assert(writer == owner);
		owner = to_owner;
		slot = to_slot;
		sum = image;
		done++
	};
cut:	skip
}

proctype member(byte me) {
	byte round, image, heir_slot, writer = 1;
	bool hands;

	do
	:: round == ROUNDS || dead -> break
	:: else ->
		enter(me);
		if
		:: dead -> break
		:: else
		fi;
		if
		:: given -> skip
		:: !given ->
			do
			:: dead -> break
			:: atomic { !dead && owner == 0 -> owner = 1; slot = me };
				break
			od
		fi;
		if
		:: dead -> break
		:: else
		fi;
#ifndef NO_SUM
		(dead || (a == sum && b == sum));
#endif
		atomic {
			if
			:: dead -> break
			:: else
			fi;
			assert(holders == 0);
			holders++;
			image = a
		};
		atomic {
			if
			:: !dead ->
				image = b;
				assert(image == done);
				image++;
				redo[me] = image;
				posted++
			:: dead -> break
			fi
		};
		/* who is next is decided before the word is written */
		d_step {
			hands = waiting && run_length < ROW;
			heir_slot = (hands -> line[0] : 0)
		};
#ifdef OLD_SLOT
		heir_slot = (hands -> me : 0);
#endif
#ifdef EARLY_PASS
		if
		:: hands -> atomic { given = true; run_length++; turn = line[0];
				     line[0] = line[1]; waiting-- }
		:: else
		fi;
#endif
		put(1, (hands -> 1 : 0), heir_slot);
		atomic { posted--; holders = (dead -> holders : holders - 1) };
		if
		:: dead -> break
		:: else
		fi;
		acked++;
#ifdef EARLY_PASS
		if
		:: hands -> skip
		:: else -> leave()
		fi;
#else
#ifdef NO_LOOK
		/* who came since it looked is not seen */
		if
		:: hands -> atomic { given = true; run_length++ }; leave()
		:: else -> atomic { turn = NONE; assert(!waiting) }
		fi;
#else
		atomic {
			given = hands;
			run_length = (hands -> run_length + 1 : 0);
		};
		leave();
#endif
#endif
		round++
	od
}

/* Client 2, which meets what client 1 has left. */
proctype remote() {
	byte round, image, writer = 2;

	do
	:: round == ROUNDS -> break
	:: else ->
		if
		:: atomic { owner == 0 -> owner = 2; slot = TASKS };
#ifndef NO_SUM
			(a == sum && b == sum)
#endif
#ifdef NO_FENCE
		:: atomic { owner == 1 && dead -> redo[TASKS] = redo[slot] };
#else
		:: atomic { owner == 1 && fenced -> redo[TASKS] = redo[slot] };
#endif
			atomic { owner = 2; slot = TASKS };
			if
			:: atomic { a == sum && b == sum -> skip }
			:: else ->
#ifndef NO_REDO
				/* its change was never acknowledged; now it is whole */
				atomic {
					assert(redo[TASKS] == sum + 1);
					a = redo[TASKS];
					b = redo[TASKS];
					sum = a;
					done++
				}
#endif
			fi;
			assert(a == b)
		fi;
		image = b;
		assert(image == done);
		image++;
		redo[TASKS] = image;
		put(2, 0, 0);
		acked++;
		round++
	od;
	assert(done >= acked)
}

init {
	byte t;

	atomic {
		do
		:: t < TASKS -> run member(t); t++
		:: else -> break
		od;
		run remote()
	};
	(acked == ALL || dead);
	assert(dead || done == ALL)
}
