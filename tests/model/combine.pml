/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Combining (userspace/core/combine.c): TASKS tasks of one client get and put one
 * key, each ROUNDS times; the first to come leads, and the others join its batch or
 * the next one.  Another client puts FOREIGN times without combining; so does a task of
 * this one whose key is not hot (far_combine_hot()).
 *
 * The key in far memory is a version that each published put raises.  A get is right
 * if the version that it answers was there at a moment between its beginning and its
 * end, and a put if the version that it is part of (its own, or the one that overwrote
 * it at once) was published between them: with that the history is linearizable.
 *
 * The leader takes in who has joined (plan), READs, takes in more (publish), and posts
 * its CAS; one that was lost is a READ.  With UNKNOWN nobody knows what became of a
 * CAS now and then: puts are told so, and gets go into the next batch.
 *
 * The windows of the papers last as long as the operation does: LATE_READ takes in
 * after the READ, LATE_CAS after the CAS.  EARLY answers gets before the CAS, LOSSY
 * gives up the word without looking, and BLIND answers gets of an unknown fate.
 *
 *@ holds three		TASKS=3 ROUNDS=1 FOREIGN=1
 *@ holds twice		TASKS=2 ROUNDS=2 FOREIGN=1
 *@ holds unknown	TASKS=2 ROUNDS=1 FOREIGN=1 UNKNOWN
 *@ nightly again	TASKS=2 ROUNDS=2 FOREIGN=2 UNKNOWN
 *@ nightly more	TASKS=3 ROUNDS=1 FOREIGN=1 UNKNOWN
 *@ fails late-read	TASKS=2 ROUNDS=1 FOREIGN=1 LATE_READ | answer>=began
 *@ fails late-cas	TASKS=2 ROUNDS=1 FOREIGN=1 LATE_CAS | answer>
 *@ fails early		TASKS=2 ROUNDS=1 FOREIGN=1 EARLY | answer<=mem
 *@ fails lossy		TASKS=2 ROUNDS=1 FOREIGN=0 LOSSY | !(joined)
 *@ fails blind		TASKS=2 ROUNDS=1 FOREIGN=0 UNKNOWN BLIND | answer<=mem
 */
#define BIT(t)		(1 << (t))
#define FATE_UNKNOWN	254

mtype = { WAITS, DONE, LEADS };

byte mem;			/* the version in far memory */
bool busy;			/* the word: a batch is in flight */
byte joined;			/* and who has joined since the leader looked */
byte gets;			/* whose operation is a get */
mtype told[TASKS];
byte answered[TASKS];		/* the version that it is told */

/* What the leader has; only one leads at a time. */
byte list;

inline take() {
	list = list | joined;
	joined = 0
}

/* Answers those of `who` with version v. */
inline answer_all(who, v) {
	d_step {
		i = 0;
		do
		:: i < TASKS ->
			if
			:: who & BIT(i) ->
				answered[i] = v;
				if
				:: i != me -> told[i] = DONE
				:: else
				fi;
				mine = mine || i == me
			:: else
			fi;
			i++
		:: else -> break
		od;
		list = list & ~(who);
		i = 0
	}
}

/* The batch has ended: whoever is left leads the next one. */
inline pass() {
	if
	:: mine && !list ->
#ifdef LOSSY
		/* looks, and then gives up the word */
		if
		:: !joined
		:: joined -> atomic { take(); goto handed }
		fi;
		d_step {
			assert(!joined);
			busy = false
		}
#else
		atomic {
			if
			:: !joined -> busy = false
			:: joined -> take(); goto handed
			fi
		}
#endif
	:: mine && list ->
handed:		atomic {
			/* who came first makes no difference: any of them */
			if
			:: list & BIT(0) -> told[0] = LEADS
			:: list & BIT(1) -> told[1] = LEADS
			:: list & BIT(2) -> told[TASKS - 1] = LEADS
			fi
		}
	:: !mine		/* its own operation remains: it leads on */
	fi
}

proctype task(byte me) {
	byte round, began, answer, read, i;
	bool is_get, mine, leads;

	do
	:: round == ROUNDS -> break
	:: else ->
		/* what the operation is, and where it joins or leads */
		atomic {
			if
			:: is_get = true; gets = gets | BIT(me)
			:: is_get = false; gets = gets & ~BIT(me)
			fi;
			began = mem;
			told[me] = WAITS;
			mine = false
		}
		atomic {
			leads = !busy;
			if
			:: leads -> busy = true; list = BIT(me)
			:: else -> joined = joined | BIT(me)
			fi
		}
		if
		:: leads
		:: !leads ->
			told[me] != WAITS;
			leads = told[me] == LEADS
		fi;
		do
		:: leads && !mine ->
			d_step { take() }		/* plan */
			read = mem;			/* READ */
			if
			:: !(list & ~gets) ->
#ifdef LATE_READ
				d_step {
					list = list | (joined & gets);
					joined = joined & ~gets
				}
#endif
				answer_all(list, read)
			:: else ->
cas:				atomic { take() }	/* publish */
#ifdef EARLY
				answer_all(list & gets, read + 1);
#endif
				if
				:: atomic { mem == read -> mem++ };
#ifdef LATE_CAS
					d_step { take() };
#endif
					answer_all(list, read + 1)
				:: atomic { mem != read -> read = mem; goto cas }
#ifdef UNKNOWN
				:: read < 3 ->
					if
					:: atomic { mem == read -> mem++ }
					:: skip
					fi;
#ifdef BLIND
					answer_all(list & gets, read + 1);
#endif
					answer_all(list & ~gets, FATE_UNKNOWN)
#endif
				fi
			fi;
			pass()
		:: else -> break
		od;
		answer = answered[me];
		d_step {
			if
			:: answer == FATE_UNKNOWN
			:: answer != FATE_UNKNOWN && is_get ->
				assert(answer >= began);
				assert(answer <= mem)
			:: else ->
				assert(answer > began);
				assert(answer <= mem)
			fi
		};
		round++
	od
}

proctype other() {
	byte puts, read;

	do
	:: puts == FOREIGN -> break
	:: else ->
		read = mem;
		if
		:: atomic { mem == read -> mem++ ; puts++ }
		:: mem != read
		fi
	od
}

init {
	byte t;

	atomic {
		do
		:: t < TASKS -> run task(t); t++
		:: else -> break
		od;
		run other()
	}
}
