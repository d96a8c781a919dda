/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client, inside: shared by client.c, service.c, round.c, tend.c, epoch.c, alloc.c,
 * chunk.c, adopt.c, collect.c and sweep.c.
 */
#ifndef FAR_CORE_CLIENT_PRIV_H
#define FAR_CORE_CLIENT_PRIV_H

#include <errno.h>

#include "../nic/nic.h"
#include "client.h"
#include "heap.h"
#include "limbo.h"
#include "op.h"

#define FAR_ROUND_NS	UINT64_C(1000000)	/* between two rounds of the service */
#define FAR_NR_ROUNDS	1024u			/* whose tags are remembered */
#define FAR_MAX_MAGAZINE	64u
#define FAR_GROW_NS	UINT64_C(2000)		/* about a round trip */

/* Free blocks of one class on one node in a thread's hands. */
struct far_magazine {
	_Atomic uint32_t nr;
	uint32_t cap;
	_Atomic uint64_t addr[FAR_MAX_MAGAZINE];
};

/* What a task has of epochs. */
struct far_epoch_task {
	uint32_t depth;		/* of far_epoch_enter() */
	uint32_t side;		/* which of far_client_thread.inside counts it */
};

struct far_client_thread {
	struct far_client_thread *next;	/* of far_client.threads */
	struct far_client *of;
	atomic_bool in_use;
	/* tasks inside of an epoch, by far_client.gen's side when they entered */
	_Atomic uint32_t inside[2];
	struct far_limbo limbo;
	struct far_epoch_task *task;
	unsigned turn;			/* node for the next block on any node */
	/* by node * FAR_NR_CLASSES + class; NULL until it is used */
	_Atomic(struct far_magazine *) *magazine;
};

/* far_client.gen: which side counts who enters, and whether anybody may. */
#define FAR_GEN_SIDE	1u
#define FAR_GEN_ACTIVE	2u

/* far_client.service */
enum far_service {
	FAR_SERVICE_NONE,	/* no thread of it exists */
	FAR_SERVICE_STARTING,	/* somebody starts it, after it joined the last one */
	FAR_SERVICE_RUNNING,
	FAR_SERVICE_ENDED,	/* its thread ends, or has: join it */
};

/* A block of somebody else's chunk that is to be set free in its map. */
struct far_foreign {
	uint64_t word;		/* far address of the word of the map */
	uint64_t bit;
};

struct far_owed;

/* The owners of a node's chunks, when this client last looked for some that it can adopt. */
struct far_full {
	uint32_t free, left, mine, others;	/* left: without an owner */
	uint32_t most;				/* that one of the others has */
	unsigned most_client;
};

struct far_client {
	struct far_client_head head;	/* first: see far_client_stale() */
	struct far_client_set set;
	struct far_losses losses;	/* when it joined */
	atomic_bool lacks;	/* see far_client_lacks() */
	struct far_sb *sb;	/* of each node */
	unsigned arbiter;
	unsigned number, incarnation;
	uint64_t owner;		/* both, as in words */

	/* threads: the list only grows */
	_Atomic(struct far_client_thread *) threads;
	_Atomic uint32_t nr_threads;		/* that run */
	_Atomic int service;			/* enum far_service */
	struct far_thread *service_thread;
	struct far_client_thread *service_side;	/* its part in epochs */
	atomic_bool service_end;		/* its other task may end */
	atomic_bool closes;			/* no thread will begin any more */
	atomic_bool retired;			/* another client has come in its place */
	atomic_bool service_idle;		/* the last look found nothing to collect */

	/* epochs, see round.c */
	_Atomic uint32_t gen;			/* FAR_GEN_* */
	_Atomic uint64_t round;			/* the one that retired blocks get */
	_Atomic uint64_t reusable;		/* rounds below are over */
	_Atomic uint64_t drained;		/* of rounds below, all blocks are free */
	uint64_t tagged;			/* rounds below have a tag */
	uint64_t tag[FAR_NR_ROUNDS];
	uint64_t beat, published;
	uint64_t pending;			/* the next to publish; 0: none */
	_Atomic uint64_t turns;			/* of gen that are complete */
	_Atomic uint64_t epoch, safe, flushed;	/* as last read */
	_Atomic uint64_t safe_since;		/* the clock when safe was seen to move last */
	_Atomic uint64_t living;		/* clients, as last read */
	_Atomic uint64_t wanted;		/* deaths + lost, as last read */
	struct far_host_map arbiter_map;	/* see tend.c */
	bool tends;
	bool cuts;				/* all memory nodes are of this process */
	uint64_t tended, awake;		/* last call of far_tend(), and the first without a gap */

	atomic_bool dir_lock;			/* the directory's, among our tasks */
	atomic_bool dir_owed;			/* far_dir_pay() has something to do */

	/* allocation */
	atomic_bool heap_lock;			/* far_heap_lock() */
	struct far_heap heap;
	atomic_bool grow_lock;			/* who claims and cuts; held across verbs */
	struct far_full *full;			/* of each node, with grow_lock */
	uint32_t *hint;				/* of each node: where a free chunk may be */
	struct far_foreign *foreign;		/* the collector's */
	size_t nr_foreign, max_foreign;
	uint32_t map_lap;			/* see far_collect_maps() */
	atomic_bool sweeping;
	_Atomic uint64_t swept;			/* .wanted up to which it has swept */
	_Atomic uint64_t sweeps;		/* that are complete */
	uint64_t sweep_at;			/* not before, after one that failed */
	struct far_task *sweeper;		/* the collector's, while a sweep walks */
	uint64_t collect_at;			/* when far_sweep_pause() collects next */
	atomic_bool lost;			/* a block's fate is unknown: tell all */
	atomic_bool resweep;			/* a sweep is due, whatever is wanted */
	bool left;				/* a chunk that is not empty was given up */

	_Atomic(struct far_owed *) owed;	/* see owed.h */
	atomic_uint nonce;			/* see far_owner_nonce() */
	atomic_uint nr_owed;			/* those that are being paid count, too */
};

/* A lock that tasks wait for in far_sleep(). ns: about how long it is held. */
void far_gate_lock(struct far_task *task, atomic_bool *gate, uint64_t ns);
void far_gate_unlock(atomic_bool *gate);

/* far_client.heap. Nothing that waits is called under it. */
static inline void far_heap_lock(struct far_task *task, struct far_client *client)
{
	far_gate_lock(task, &client->heap_lock, 200);
}

static inline void far_heap_unlock(struct far_client *client)
{
	far_gate_unlock(&client->heap_lock);
}

/*
 * What is appended between the two is service, and of a list of its own
 * (far_inner_begin()); the second one posts it and waits. As far_sync(), but also for an
 * operation that is late.
 */
void far_verbs_begin(struct far_task *task, struct far_ops *inner);
int far_verbs_end(struct far_task *task, struct far_ops *inner);
/* Reads len bytes into memory of far_buf(), in pieces, and waits. */
int far_fetch(struct far_task *task, uint64_t addr, void *buf, size_t len);
/* Writes, and waits. */
int far_store(struct far_task *task, uint64_t addr, const void *buf, size_t len);
/* A CAS without backoff, and waits. *ret_found is what was there. */
int far_swap(struct far_task *task, uint64_t addr, uint64_t compare, uint64_t swap,
	     uint64_t *ret_found);

/* An FAA, and waits. */
int far_add(struct far_task *task, uint64_t addr, uint64_t add);

/* owner.c: far_owner_dead() for an entry that was read. */
bool far_entry_is_dead(const struct far_client_entry *entry, unsigned incarnation);

/* client.c: a thread's object for nr_tasks tasks, with nobody inside. */
struct far_client_thread *far_client_thread_get(struct far_client *client,
						unsigned nr_tasks);

/* service.c */
int far_service_start(struct far *far, struct far_client *client);
void far_service_join(struct far_task *task, struct far_client *client);

/*
 * round.c: enters this client among the living, does one round of epochs and beat, and
 * says that nothing is under way any more. One task at a time.
 */
int far_round_begin(struct far_task *task, struct far_client *client);
int far_round(struct far_task *task, struct far_client *client);
int far_round_park(struct far_task *task, struct far_client *client);
/* True if no task is inside of an epoch. */
bool far_round_is_empty(struct far_client *client);
/* Reads what the others say, as a round does, and says nothing. */
int far_round_look(struct far_task *task, struct far_client *client);

/* tend.c: the arbiter's duty, where this process can do it. */
void far_tend_init(struct far_client *client);
void far_tend_fini(struct far_client *client);
void far_tend(struct far_client *client);

/* collect.c: frees what can be; *ret_idle says that nothing is left in limbo. */
int far_collect(struct far_task *task, struct far_client *client, bool *ret_idle);
/*
 * Whether all that was retired is free: nothing is in limbo or on its way to an owner.
 * For the service's thread, or when there is none.
 */
bool far_is_drained(const struct far_client *client);
/*
 * Looks into the maps of our chunks for blocks that others have set free, with
 * grow_lock: of all, or of some, and goes on there the next time. Says in *ret_raced
 * whether a block was seen that could not be taken.
 */
int far_collect_maps(struct far_task *task, struct far_client *client, bool all,
		     bool *ret_raced);
/* All blocks in magazines go to the heap; no thread runs. */
void far_magazines_return(struct far_task *task, struct far_client *client);
/* Calls each() for each block in a magazine, while the threads go on. */
void far_magazines_each(struct far_client *client,
			void (*each)(void *arg, uint64_t addr), void *arg);

/* chunk.c. All but far_chunk_word_addr() and far_page_word_addr() with grow_lock. */
uint64_t far_chunk_word_addr(const struct far_client *client, unsigned node,
			     uint32_t idx);
uint64_t far_page_word_addr(const struct far_client *client, unsigned node,
			    uint32_t idx);
/* A chunk is ours in far memory: from now on here too, all its pages free. */
int far_chunk_own(struct far_task *task, struct far_client *client, unsigned node,
		  uint32_t idx, uint32_t span, uint64_t word);
int far_grow_slab(struct far_task *task, struct far_client *client, unsigned node,
		  unsigned class);
int far_grow_run(struct far_task *task, struct far_client *client, unsigned node,
		 uint32_t pages, uint64_t *ret_addr);
int far_grow_span(struct far_task *task, struct far_client *client, unsigned node,
		  uint32_t chunks, uint64_t *ret_addr);
/* A block of ours, free for good: into the heap, or its pages or chunks back. */
int far_give_back(struct far_task *task, struct far_client *client, uint64_t addr,
		  uint64_t size);
/* Frees pages whose words were left in doubt: nobody else makes pages busy meanwhile. */
int far_pages_regain(struct far_task *task, struct far_client *client,
		     struct far_chunk *chunk);
enum far_trim {
	FAR_TRIM_SOME,	/* empty pages and chunks back, but one of each kind */
	FAR_TRIM_EMPTY,	/* all of them */
	FAR_TRIM_ALL,	/* and the chunks that are not empty, without an owner */
};

int far_trim(struct far_task *task, struct far_client *client, enum far_trim how);
/*
 * adopt.c, with grow_lock: takes over a chunk whose word is `word`: 1 done, 0 another was
 * faster.
 */
int far_adopt(struct far_task *task, struct far_client *client, unsigned node,
	      uint32_t idx, uint64_t word);

/*
 * full.c, with grow_lock: counts a chunk word of a node; held[] has the chunks of each client
 * number. And says in the task's words why there are not size bytes. -ENOSPC.
 */
void far_full_count(const struct far_client *client, uint64_t word, uint32_t *held,
		    struct far_full *full);
int far_full_explain(struct far_task *task, const struct far_client *client, unsigned node,
		     uint64_t size);

/*
 * scavenge.c, with grow_lock: adopts chunks of dead clients, and those without an owner
 * that were not swept since `wanted`, and, if it looks for room, those of spans, in whose
 * maps somebody may have set them free. *ret_got: it has adopted something.
 */
int far_scavenge(struct far_task *task, struct far_client *client, uint64_t wanted,
		 bool for_room, bool *ret_got);
/*
 * sweep.c: when a client has died or lost track of a block since the last sweep,
 * scavenges and collects what nobody can reach. Does nothing else.
 */
int far_sweep(struct far_task *task, struct far_client *client);
/*
 * After chunks were left. They say up to which count they were swept; others may have
 * looked for what is behind while they were still ours: then they are told once more.
 */
int far_left_publish(struct far_task *task, struct far_client *client);
/* True if it would do nothing. */
bool far_is_swept(const struct far_client *client);

#endif
