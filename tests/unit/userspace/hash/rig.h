/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of the hash table have in common: a space set and clients of it, on
 * `mem` or on `sim`, and what a table must be when nobody is at work.
 */
#ifndef TEST_FAR_HASH_RIG_H
#define TEST_FAR_HASH_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <far/hash.h>
#include <far/stats.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/hash/hash_priv.h"
#include "../../../../userspace/nic/sim/sim.h"

#define RIG_NODES	2u	/* unless others are asked for */
#define RIG_MAX_NODES	4u
#define RIG_CLIENTS	4u

struct rig_conf {
	int sim;		/* else mem */
	int soft;		/* the software NIC instead of mem; one client */
	const char *spec;	/* a space that exists, by this back end, */
	const char *specs[RIG_CLIENTS];	/* or by one for each client, */
	const char *node;	/* at this memory node, or those, with commas between, */
	const char *space;	/* of this name; else NULL */
	int shared;		/* with others that are at work: no check is exact */
	unsigned nodes;		/* 0: RIG_NODES */
	unsigned clients;	/* 0: 1 */
	uint64_t size;		/* of a node's space; 0: 64 MiB */
	uint64_t seed;
	unsigned adversary;	/* of sim */
	unsigned break_one_in;	/* of sim; 0: drawn from the seed */
	unsigned without;
	uint64_t cache;		/* bytes; 0: 64 KiB */
};

struct rig {
	struct rig_conf conf;
	char dir[32];
	struct far_sim *sim;
	struct far_nic *nic[RIG_CLIENTS];
	struct far_host_map map[RIG_MAX_NODES];
	char names[64];		/* of memory nodes elsewhere; cut into name */
	const char *name[RIG_MAX_NODES];
	struct far *far[RIG_CLIENTS];
};

void rig_open(struct rig *rig, const struct rig_conf *conf);
void rig_close(struct rig *rig);
/* Opens client i again, or for the first time. */
void rig_join(struct rig *rig, unsigned i);
void rig_leave(struct rig *rig, unsigned i);

/* The calling thread as a task of a client. */
struct far_task *rig_enter(struct rig *rig, unsigned client);

/*
 * Walks all structures of the space: fails with what the walk says is wrong, and when
 * two blocks overlap. The number of blocks, and their bytes.
 */
uint64_t rig_check(struct rig *rig, struct far_task *task, uint64_t *ret_bytes);

/* The same, which counts what is wrong and does not fail. */
uint64_t rig_problems(struct rig *rig, struct far_task *task);

/*
 * What far_space_check() finds: problems, and blocks in no place. No task of the calling
 * thread is entered.
 */
uint64_t rig_space_problems(struct rig *rig, unsigned client);

/* A thread of a client of a random program, which is of the program's own type. */
struct program;
struct rig_worker {
	struct program *program;
	unsigned client, thread;
};

struct rig_work {
	unsigned threads, tasks;	/* threads of each client, tasks of each thread */
	uint64_t late_ns;	/* operations without a deadline of their own have; 0: as a rule */
	uint64_t kill_at;	/* kill client 0 at its n'th operation; 0: never */
	void (*work)(struct far_task *task, void *worker);
};

/* Lets all clients work, until all have ended. */
void rig_run(struct rig *rig, struct program *program, const struct rig_work *work);

/* Operations that compute node 0 has posted; 0 unless in sim. */
uint64_t rig_posted(const struct rig *rig);

/* What was counted since the last call. */
struct far_stats rig_counted(struct rig *rig, unsigned client);

#endif
