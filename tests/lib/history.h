/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histories of concurrent operations on a map, and whether they are linearizable.
 *
 * Each process (a task, a thread) has a log of its own and appends to it alone: what
 * it invoked, when, and what came back, when. Afterwards all logs are checked, key by
 * key: linearizability is a local property (Herlihy and Wing), so that keys can be
 * judged apart.
 *
 * Times are of any one clock that never runs backwards for anyone; operations whose
 * times are equal count as concurrent. A response that never came (the process died, or
 * the fate of the operation is unknown) stays open: it may have happened at any time
 * after its invocation, or never.
 *
 * Values are 64-bit numbers that are written at most once per key, HISTORY_ABSENT is
 * "no such key".
 */
#ifndef TESTS_LIB_HISTORY_H
#define TESTS_LIB_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HISTORY_ABSENT	UINT64_C(0)
#define HISTORY_NEVER	UINT64_MAX

enum history_f {
	HISTORY_GET,		/* value: what was read; HISTORY_ABSENT if there was none */
	HISTORY_PUT,		/* value is written, whatever was there */
	HISTORY_INSERT,		/* value is written if the key was absent, else "fail" */
	HISTORY_UPDATE,		/* value is written if the key was there, else "fail" */
	HISTORY_DELETE,		/* the key is absent then; "fail" if it was absent */
	HISTORY_CAS,		/* value is written if expect was there, else "fail" */
	HISTORY_RMW,		/* value is written, expect was there: read and written at once */
	HISTORY_NR_F,
};

extern const char *const history_f_name[HISTORY_NR_F];

enum history_type {
	HISTORY_OPEN,		/* no response, or one that says that nobody knows */
	HISTORY_OK,
	HISTORY_FAIL,		/* it did nothing, for the reason that its f names */
};

struct history_op {
	uint64_t key;
	uint64_t value;
	uint64_t expect;	/* of HISTORY_CAS; of HISTORY_RMW, when it has returned */
	uint64_t invoked;
	uint64_t returned;	/* HISTORY_NEVER while open */
	uint32_t process;
	uint8_t f;
	uint8_t type;
};

/* The log of one process. The caller gives the memory; it may be shared memory. */
struct history_log {
	struct history_op *op;
	size_t nr, max;
	uint32_t process;
};

/* Appends an open operation; its index, or -1 when the log is full. */
long history_invoke(struct history_log *log, enum history_f f, uint64_t key,
		    uint64_t value, uint64_t expect, uint64_t now);
/*
 * HISTORY_OPEN leaves it open, and what the log appends from then on is of a new
 * process: one whose operation is open invokes nothing. value is what a get, or a
 * read-modify-write, has read.
 */
void history_return(struct history_log *log, long idx, enum history_type type,
		    uint64_t value, uint64_t now);

/* That operation has not happened, whatever it is: takes it out. Later ones move up. */
void history_forget(struct history_log *log, long idx);

/* All logs as one array, ordered by key, then invocation; free() it. NULL: no memory. */
struct history_op *history_merge(const struct history_log *log, unsigned nr_logs,
				 size_t *ret_nr);

/* What was found. */
struct history_verdict {
	uint64_t key;		/* the first one that is wrong */
	char why[200];		/* "" if all is right */
	size_t keys, ops;	/* looked at */
	size_t undecided;	/* keys for which the search was given up */
};

/*
 * Gets and puts of unique values (and deletes or inserts: -EINVAL) by zones, Gibbons
 * and Korach, "Testing shared memories", SIAM J. Computing 26(4), 1997: O(n log n).
 * initial: the value that each key had before, HISTORY_ABSENT if none.
 * 0: linearizable; -EILSEQ: not, see ret_verdict; -EINVAL: not such a history.
 */
int history_check_zones(const struct history_op *op, size_t nr, uint64_t initial,
			struct history_verdict *ret_verdict);

/*
 * Any history, by search: all states that the map may be in, and which of the pending
 * operations have happened in each, followed from response to response (Wing and Gong;
 * just-in-time linearization, Lowe, "Testing for linearizability", 2017). For few
 * operations at a time: its cost is exponential in those that change something, and 64
 * of a key are the most. max_states bounds the memory of a key, 16 bytes each.
 */
int history_check_search(const struct history_op *op, size_t nr, uint64_t initial,
			 size_t max_states, struct history_verdict *ret_verdict);

/*
 * Zones where they can decide, else the search. -EOVERFLOW: nothing wrong was found, but
 * the search was given up for a key, which is no proof.
 */
int history_check(const struct history_op *op, size_t nr, uint64_t initial,
		  struct history_verdict *ret_verdict);

/*
 * One JSON object a line, ordered by time: index, time (ns), type (invoke, ok, fail,
 * info), process, f, key, value. Returns 0 or -EIO.
 */
int history_export(const struct history_op *op, size_t nr, FILE *out);
/*
 * What that has written, in the order of the invocations; free() *ret_op. -EBADMSG: a
 * line is none of it, or is a response to nothing. -ENOMEM, -EIO.
 */
int history_import(FILE *in, struct history_op **ret_op, size_t *ret_nr);

#endif
