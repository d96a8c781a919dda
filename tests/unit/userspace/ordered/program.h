/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Test programs for structures that keep their keys in order, whichever they are:
 *
 *  - random programs: tasks of several clients that work on few keys, while others come
 *    and go between these, so that nodes split and merge; the history of what they did
 *    is judged key by key, and a scan counts as a get of each key in its range;
 *  - one task beside a sorted array that does the same.
 */
#ifndef TEST_FAR_ORDERED_PROGRAM_H
#define TEST_FAR_ORDERED_PROGRAM_H

#include "../../../../userspace/bench/index_ops.h"
#include "../../../lib/history.h"
#include "../hash/rig.h"

/* A kind of structure. */
struct ordered_kind {
	const struct index_ops *ops;
	unsigned span;		/* as in struct index_shape */
	int (*beside)(struct far_task *task);		/* made before it; NULL: nothing */
	void (*variant)(void *index, unsigned variant);	/* NULL: there is none */
	int fixed;	/* all keys have key_size bytes, and all values value_size */
};

int ordered_create(const struct ordered_kind *kind, struct far_task *task, const char *name,
		   size_t key_size, size_t value_size, void **ret_index);
/* f: HISTORY_PUT, _INSERT or _UPDATE. */
int ordered_store(const struct ordered_kind *kind, enum history_f f, struct far_task *task,
		  void *index, const void *key, size_t key_len,
		  const void *value, size_t value_len);

struct program_conf {
	const struct ordered_kind *kind;
	struct rig_conf rig;
	unsigned threads;		/* of each client; 0: 1 */
	unsigned tasks;			/* of each thread */
	unsigned ops;			/* of each task */
	unsigned keys;			/* that they fight for */
	unsigned prefill;		/* keys besides, which stay */
	unsigned fill;			/* of 100 operations, inserts of a new key */
	unsigned drain;			/* of 100 operations, deletes of such a one */
	unsigned scan;			/* of 100 operations, scans */
	unsigned modify;		/* of 100 others, by functions */
	size_t key_size;		/* at least 9 */
	size_t value_size;		/* at least 8 */
	unsigned big;			/* of so many values one is above 16,320 bytes; 0: none */
	uint64_t pause_ns;		/* at most, between two operations */
	uint64_t late_ns;		/* at most, until an operation's deadline; 0: none */
	unsigned variant;
	/* kill client 0 at its n'th operation from the start of the program; 0: never */
	uint64_t kill_at;
};

struct program_result {
	int verdict;			/* of history_check() */
	int failed;			/* an error that no operation may answer */
	struct history_verdict why;
	size_t ops;
	uint64_t posted;		/* operations of compute node 0, in sim */
	uint64_t problems;		/* of the checks afterwards, lost blocks too */
	uint64_t repaired;		/* things of the dead, by the last client */
	uint64_t combined;
	uint64_t late;			/* operations that were */
	char sim[200];			/* far_sim_describe() */
	char file[40];			/* of the history, if something is wrong; or "" */
};

/* Runs it, and judges the history. */
void program_run(const struct program_conf *conf, struct program_result *ret_result);
/*
 * Fails unless it is linearizable and nothing is wrong afterwards; the message names a
 * file with the history.
 */
void program_expect_right(const struct program_conf *conf,
			  struct program_result *ret_result);

/*
 * The same of two clients, in a space of a memory node elsewhere that whoever runs this
 * has made: FAR_TEST_NIC, FAR_TEST_NODE with commas between several, FAR_TEST_SPACE.
 */
void program_elsewhere(const struct ordered_kind *kind);

/*
 * conf->ops random operations of one task, and as many keys in all; each answer, and
 * each scan of any range both ways, is what a sorted array says. rig is open.
 */
void program_beside_array(const struct program_conf *conf, struct rig *rig);

#endif
