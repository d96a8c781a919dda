/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An armed chain of a compute node: ring memory with its image and the two queue pairs
 * that execute it.  A request needs nothing else.
 */
#ifndef MNODE_QUEUE_H
#define MNODE_QUEUE_H

#include <core/prog.h>
#include "../page/pool.h"
#include "conn-state.h"
#include "keys.h"

struct asked;		/* sess.h */

/**
 * struct tt - translation table of a session
 * @mem, @key:	for each slot a big-endian page address, or 0; the NIC sees the entries
 *		from address 0 on
 */
struct tt {
	struct mem mem;
	uint32_t key;
	uint64_t nr_slots;
	volatile __be64 *entries;
};

/**
 * struct queue - an armed chain
 * @state:	of the connection, set by conn_step(); without meaning where no agent
 *		serves connections
 * @cm_id:	the connection; 0: it has ended, or does not exist yet
 * @arming:	the verifier has not passed the whole image, so the chain has never run
 * @bind, @pages, @step: state of arming; unused afterwards
 * @asked:	the connection request that is accepted when the queue is armed
 * @keys:	translation in the NIC; else NULL
 * @arena_rkey, @far_qpn, @far: with @keys: the key by which the loop queue pair reaches
 *		the arena, and the queue pair that it is connected to
 * @bare:	there is no chain, only a client queue pair: the compute node READs and
 *		WRITEs by its keys
 * @loop_qpn, @client_qpn: see wrchain/wrc.h; 0: destroyed, because it did not stop
 * @stopped:	both queue pairs stand still, for good
 * @counted:	entries of the receive CQ that have been counted, modulo 2^24
 * @executed:	requests that have been executed
 * @mark, @marked: set by queue_mark()
 */
struct queue {
	struct pool *pool;
	const struct wrc_prog *prog;
	struct wrc_geom geom;
	enum conn_state state;
	uint32_t cm_id;
	bool arming;
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

/* struct queue_on - what all chains of a session work on */
struct queue_on {
	struct pool *pool;
	const struct ring *ring;
	const struct tt *tt;
	const struct keys *keys;	/* NULL: chains translate, or there are none */
	uint32_t bare_pdn;		/* without keys: domain of queue pairs without a chain */
	bool huge;			/* arenas on huge pages if there are any */
};

/* Makes a program without instructions, for a queue that needs no chain. */
void queue_bare_prog(struct wrc_prog *prog, enum odrp_wire_chain chain,
		     const char *name);

/*
 * Makes the queue pairs and links the image.  pages: one address for each instance, if
 * instances hold a page (wrc_has_register()).
 */
int queue_begin(const struct queue_on *on, const struct wrc_prog *prog,
		uint32_t instances, const __u64 *pages,
		struct queue **ret_queue, char why[WRC_WHY_MAX]);
/*
 * Verifies and arms a piece, while q->arming is set.  0: the queue is armed; -EAGAIN:
 * there is more to do; -EPERM: the verifier refused, with its sentence in why.
 */
int queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);
/* Begins and arms a queue in one call. */
int queue_new(const struct queue_on *on, const struct wrc_prog *prog,
	      uint32_t instances, const __u64 *pages,
	      struct queue **ret_queue, char why[WRC_WHY_MAX]);
/* Stops the queue if it runs.  The caller has taken the pages that the queue held.  If
 * the NIC does not destroy a queue pair, its memory stays mapped and registered for good. */
void queue_free(struct queue *q);

/* -errno: a queue pair can be neither stopped nor destroyed.  The chain may run on, so
 * all that it reaches must stay as it is; the call may be repeated. */
int queue_stop(struct queue *q);
/* The position of the loop queue, an argument of queue_held().  -errno: it is unknown;
 * the queue pair may be gone. */
int queue_position(const struct queue *q, uint16_t *ret_bb);
/* The number of holders: each instance, or the chain as a whole. */
unsigned int queue_nr_holders(const struct queue *q);
/* Finds what a holder has taken and not put yet.  Exact when the queue is stopped or the
 * NIC is frozen. */
int queue_held(const struct queue *q, uint16_t bb, unsigned int holder,
	       struct wrc_held *ret_held);
/* True if a queue pair is in error: the chain does not run any more. */
bool queue_broken(const struct queue *q, uint8_t *ret_syndrome);
/* The question to the NIC about the queue, and its answer: counts requests.  True: as
 * queue_broken(). */
void queue_look(const struct queue *q, struct nic_look *ret_look);
bool queue_seen(struct queue *q, const struct nic_seen *seen, uint8_t *ret_syndrome);
/* Extends the NIC's 24-bit count; call it before that count wraps. */
void queue_count(struct queue *q);

/*
 * queue_mark() remembers how many requests have been received.  queue_passed() is true
 * when these have completed and their answers are acknowledged: no page is read or
 * written for them any more.  A queue that was not marked has passed, and so has one
 * whose program makes no completions, because it uses only pages that it has taken.
 */
int queue_mark(struct queue *q);
bool queue_passed(const struct queue *q);

/* Writes the private data of the connection's REP.  Returns its length, or -errno. */
int queue_accept_priv(const struct queue *q, uint16_t number, uint16_t depth,
		      void *priv, size_t len);

#endif /* MNODE_QUEUE_H */
