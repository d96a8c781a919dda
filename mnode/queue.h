/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One chain of one CNode, armed: ring memory with its image, the two queue
 * pairs that execute it, and nothing that would be needed per request.
 */
#ifndef MNODE_QUEUE_H
#define MNODE_QUEUE_H

#include <core/prog.h>
#include "keys.h"
#include "pool.h"

struct asked;		/* sess.h */

/**
 * struct tt - a CNode's translation table
 * @mem, @key:	an entry for each slot: page address, big endian, or 0; the
 *		NIC sees them from 0 on
 */
struct tt {
	struct mem mem;
	uint32_t key;
	uint64_t nr_slots;
	volatile __be64 *entries;
};

/**
 * struct queue - armed chain
 * @cm_id:	its connection; 0: it is gone, and the queue is here only because it
 *		does not stop
 * @closing:	it is to be stopped, when its turn comes
 * @arming:	the verifier has not seen all of it yet, and nothing runs
 * @given_up:	it was to be stopped while it was arming, and nobody waits for it
 * @bind, @pages, @step: how far that is; of no use afterwards
 * @asked:	the request that is accepted when it is armed
 * @keys:	translation in the NIC; else NULL
 * @arena_rkey, @far_qpn, @far: with keys: what the loop queue pair is connected to,
 *		and by which key it reaches the arena
 * @bare:	no chain, and of all these a client queue pair: the CNode READs and
 *		WRITEs by its keys
 * @loop_qpn, @client_qpn: see wrchain/wrc.h; 0: destroyed, as it did not stop
 * @stopped:	both queue pairs stand still, for good
 * @counted, @executed:	entries of the receive CQ seen so far: 24 bits, all
 * @mark, @marked: queue_mark()
 */
struct queue {
	struct pool *pool;
	const struct wrc_prog *prog;
	struct wrc_geom geom;
	uint32_t cm_id;
	bool closing;
	bool arming;
	bool given_up;
	struct wrc_bind bind;
	__u64 *pages;
	unsigned int step;
	struct asked *asked;
	const struct keys *keys;
	bool bare;
	struct mem arena, far;
	uint32_t arena_key, arena_rkey;
	uint32_t client_rcqn, loop_scqn, other_cqn;
	uint32_t loop_qpn, far_qpn, client_qpn;
	bool stopped;
	uint32_t counted;
	uint64_t executed;
	uint32_t mark;
	bool marked;
};

/* What all chains of a CNode work on. */
struct queue_on {
	struct pool *pool;
	const struct ring *ring;
	const struct tt *tt;
	const struct keys *keys;	/* NULL: chains translate */
};

/* A program without instructions stands for a queue that needs none. */
void queue_bare_prog(struct wrc_prog *prog, enum odrp_wire_chain chain,
		     const char *name);

/*
 * Makes and links.  pages: one for each instance, if they hold one
 * (wrc_has_register()).
 */
int queue_begin(const struct queue_on *on, const struct wrc_prog *prog,
		uint32_t instances, const __u64 *pages,
		struct queue **ret_queue, char why[WRC_WHY_MAX]);
/*
 * A piece of verifying and arming, as long as it is arming.  0: it is armed; -EAGAIN:
 * there is more; -EPERM: the verifier refused, with its sentence in why.
 */
int queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);
/* All of it at once. */
int queue_new(const struct queue_on *on, const struct wrc_prog *prog,
	      uint32_t instances, const __u64 *pages,
	      struct queue **ret_queue, char why[WRC_WHY_MAX]);
/* Stops first if need be.  What it held must have been taken before.  What the NIC
 * does not destroy keeps its memory, mapped and registered, for good. */
void queue_free(struct queue *q);

/* -errno: a queue pair can be neither stopped nor destroyed, so the chain may run
 * on, and all that it reaches has to stay as it is; it may be tried again. */
int queue_stop(struct queue *q);
/* How far the loop queue has come: what queue_held() goes by.  -errno: nobody knows,
 * it may be gone. */
int queue_position(const struct queue *q, uint16_t *ret_bb);
/* How many may hold something: each instance, or the chain as a whole. */
unsigned int queue_nr_holders(const struct queue *q);
/* What a holder has taken and not put, at this moment.  Exact when stopped
 * or while the NIC is frozen. */
int queue_held(const struct queue *q, uint16_t bb, unsigned int holder,
	       struct wrc_held *ret_held);
/* One of the queue pairs is in error: the chain does not run any more. */
bool queue_broken(const struct queue *q, uint8_t *ret_syndrome);
/* Extends the NIC's 24-bit count; to be called now and then. */
void queue_count(struct queue *q);

/*
 * Remembers what has been received by now.  Passed: all of that has been
 * completed, the answers acknowledged, so that no page is read or written for it
 * any more.  A queue that was not there then has passed; and one whose program
 * uses no page but such as it has taken, which makes no completions.
 */
int queue_mark(struct queue *q);
bool queue_passed(const struct queue *q);

/* Private data of the connection's REP.  Returns its length, or -errno. */
int queue_accept_priv(const struct queue *q, uint16_t number, uint16_t depth,
		      void *priv, size_t len);

#endif /* MNODE_QUEUE_H */
