/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random programs: tasks of several clients that work on few keys, while others insert
 * many so that subtables split, and the history of what they did.
 */
#ifndef TEST_FAR_HASH_PROGRAM_H
#define TEST_FAR_HASH_PROGRAM_H

#include "../../../../userspace/paper/hash.h"
#include "../../../lib/history.h"
#include "rig.h"

struct program_conf {
	struct rig_conf rig;
	unsigned threads;		/* of each client; 0: 1 */
	unsigned tasks;			/* of each thread */
	unsigned ops;			/* of each task */
	unsigned keys;			/* that they fight for */
	unsigned prefill;		/* keys besides, before it begins */
	unsigned fill;			/* of 100 operations, inserts of a new key */
	unsigned batch;			/* of 100 operations, mgets and mputs of several keys */
	unsigned scan;			/* of 100 operations, scans */
	unsigned modify;		/* of 100 others, by far_hash_modify() */
	unsigned longest;		/* value in bytes; at least 8 */
	unsigned big;			/* one value of so many has more than a slot can say */
	unsigned longest_key;		/* in bytes; 0: all have 8 */
	uint64_t pause_ns;		/* at most, between two operations */
	uint64_t late_ns;		/* at most, until an operation's deadline; 0: none */
	enum hash_variant variant;
	uint64_t (*key)(uint64_t i);	/* the i'th key; NULL: i */
	/* kill client 0 at its n'th operation from the start of the program; 0: never */
	uint64_t kill_at;
	/*
	 * So many processes run it at the same time in one space, and this is that one:
	 * they share the keys and a clock, and none of them can judge. 0: this one alone
	 */
	unsigned sides, side;
	const char *history;		/* a file that gets the history then */
};

struct program_result {
	int verdict;			/* of history_check() */
	int failed;			/* an error that no operation may answer */
	struct history_verdict why;
	size_t ops;
	uint64_t splits;
	uint64_t posted;		/* operations of compute node 0, in sim */
	uint64_t problems;		/* of the checks afterwards, lost blocks too */
	uint64_t repaired;		/* things of the dead, by the last client */
	uint64_t combined;
	uint64_t late;			/* operations that were */
	char sim[200];			/* far_sim_describe() */
	char file[40];			/* of the history, if something is wrong; or "" */
	uint64_t turns;			/* that were taken */
	uint64_t turns_kept;		/* and not passed on */
};

/* Runs it, and judges the history. */
void program_run(const struct program_conf *conf, struct program_result *ret_result);
/*
 * Fails unless it is linearizable and nothing is wrong afterwards; the message names a
 * file with the history.
 */
void program_expect_right(const struct program_conf *conf,
			  struct program_result *ret_result);

#endif
