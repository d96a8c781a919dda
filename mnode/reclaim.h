/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives pages back to the free ring: those of dead sessions and those that a
 * stopped chain held.  The ring's tail belongs to the NIC, so the agent asks
 * the NIC to advance it, on a loopback queue pair, like any chain.
 *
 * Bounded work per call; other CNodes run on meanwhile.
 */
#ifndef MNODE_RECLAIM_H
#define MNODE_RECLAIM_H

#include "ctlq.h"
#include "sess.h"
#include "stock.h"

#define RECLAIM_BATCH	512		/* pages */
#define RECLAIM_RUNS	8		/* WRITEs at a time, see CTLQ_MAX */

struct manager;

enum reclaim_state {
	RECLAIM_IDLE,		/* the batch is being filled */
	RECLAIM_RESERVE,	/* the tail is being advanced */
	RECLAIM_PUT,		/* pages are being written to the slots */
	RECLAIM_TAKE,		/* the head is being advanced, for the stock */
	RECLAIM_FAILED,		/* the queue pair broke: make a new one */
};

enum reclaim_todo {
	RECLAIM_NOTHING,
	RECLAIM_WAIT,		/* for the NIC: call again soon */
	RECLAIM_MORE,		/* call again at once */
};

/**
 * struct reclaim - the worker
 * @stock:	what it is short of is filled first
 * @pages, @nr:	page addresses, host order, that are in nobody else's hands
 * @dest, @nr_dest: slots that have been reserved for the first of them
 * @put:	of these, how many have been written
 * @run, @nr_runs: how many pages each WRITE under way covers
 * @nr_take:	slots by which the head is being advanced
 * @seen:	a bit per page: found in the session that is being scanned
 * @lost:	pages that were nowhere, waiting for their batch
 * @holes:	slots that the head has passed while they were empty.  A page
 *		that comes to one is taken out; the tail passes them unfilled.
 */
struct reclaim {
	struct pool *pool;
	struct stock *stock;
	struct ctlq q;
	enum reclaim_state state, retry;
	uint64_t pages[RECLAIM_BATCH];
	unsigned int nr;
	uint64_t dest[RECLAIM_BATCH];
	unsigned int nr_dest, put;
	unsigned int run[RECLAIM_RUNS], nr_runs;
	unsigned int nr_take;
	uint64_t *seen;
	struct list {
		uint64_t *at;
		size_t nr, max;
	} holes, lost;
	uint64_t nr_pages, nr_foreign, nr_double, nr_lost, nr_failures;
};

int reclaim_init(struct reclaim *rc, struct pool *pool, struct stock *stock);
void reclaim_fini(struct reclaim *rc);

/* What a queue that has been stopped holds goes to the stock, becomes its
 * session's orphan, or goes where it belongs at once. */
int reclaim_queue(struct reclaim *rc, struct sess *s, unsigned int number,
		  unsigned int chain);
/* A new DYING session is about to be scanned. */
void reclaim_begin_scan(struct reclaim *rc);
/* Takes pages out of the session until the batch is full or it has none left
 * (true). */
bool reclaim_collect(struct reclaim *rc, struct sess *s);
/* A page that was nowhere.  -ENOMEM: it stays lost, until asked again. */
int reclaim_lost(struct reclaim *rc, uint64_t addr);
/* Drives the batch to the ring. */
enum reclaim_todo reclaim_run(struct reclaim *rc);
/* Pages that came to holes, and lost ones.  True: there are more. */
bool reclaim_found(struct reclaim *rc);

#endif /* MNODE_RECLAIM_H */
