/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One CNode: its translation table, its chains, its heartbeat and its lease.
 *
 *	OPENING from the admin hello on: its keys are made, a piece at a time, and
 *	       its connection request waits for that
 *	LIVE   from the accept on.  Attached as long as its admin connection lasts;
 *	       detached, its chains are stopped, some at a time, and it may be taken
 *	       up again until its silence has lasted too long
 *	DYING  dead, gone or evicted: its chains are stopped, too, and when all stand
 *	       still lend.c takes back what is its; then it is freed.  One that the
 *	       NIC does not stop keeps all of it: sess_unstopped()
 */
#ifndef MNODE_SESS_H
#define MNODE_SESS_H

#include "ctlq.h"
#include "hello.h"
#include "keys.h"
#include "lease.h"
#include "queue.h"
#include "shares.h"
#include "who.h"

#define SESS_TAKE_BATCH	512	/* pages out of its ring at a time */

enum sess_state {
	SESS_LIVE,
	SESS_DYING,
	SESS_OPENING,
};

/* Of its ring and pages, while nobody is connected; lend_settle() goes through them. */
enum sess_settle {
	SETTLE_NOT,		/* nothing is to be done, or all is done */
	SETTLE_DUE,		/* as soon as all its chains stand still */
	SETTLE_RING,		/* the ring is put in order: it is nobody's until then */
	SETTLE_PAGES,		/* pages come or go, up to the goal */
};

/**
 * struct asked - a request for a connection, of which is known who asks
 * @handle:	of his pass; 0: he has proved nothing
 * @seal:	of the answer
 */
struct asked {
	struct nic_event ev;
	struct hello hello;
	uint64_t handle;
	struct seal seal;
};

/**
 * struct hand - a session's pages that the agent has in its hand
 * @at, @nr, @max: their addresses
 * @waiting:	the first of them, for which a grace period runs
 */
struct hand {
	__u64 *at;
	size_t nr, max;
	size_t waiting;
};

/**
 * struct sess - a session
 * @id:		for people
 * @wire_id:	for its compute node: with the generation of what is kept
 * @owner:	of its pages, in the pool; not 0
 * @ring:	its free pages
 * @lent:	pages that are its, wherever they are
 * @armed:	of these, so many belong in its stores' registers
 * @astray:	and so many, at most, were held by chains of which nobody knows how far
 *		they came
 * @taken, @nr_taken: slots of the ring, from @taken on, that the head has passed
 *		for the agent, and that have not been emptied yet
 * @disorder:	a store came to an empty slot of the ring
 * @settle:	how far it is put in order, for who waits to take it up
 * @owing_ms:	for so long it has not given back what is due, or kept a page
 *		under way
 * @name:	of the identity whose it is; "": of whoever has the token
 * @share:	that it counts for
 * @handle:	of the pass by which it is connected; 0: by the token
 * @seal:	OPENING: of the accept
 * @cm_id:	the admin connection; 0: gone, see sess_attached()
 * @nr_queues, @depth: granted
 * @instances:	of each chain
 * @claim:	pages of the stock that its chains may have at a time
 * @admin_pdn:	a domain of its own, so that the CNode's writes reach nothing
 *		but @beat, and its READs nothing but its table, whatever key
 *		they name
 * @tt_rkey:	the table for those READs
 * @keys:	translation in the NIC; or all 0: chains do it
 * @doomed:	a page has a translation that the table does not know of: it has to go,
 *		and that page until then stays where nobody gets it
 * @ctl:	the admin queue pair; carries grants
 * @beat_mem, @beat, @beat_key: where the CNode writes its heartbeat
 * @said:	the last heartbeat that counted
 * @last_beat, @silent_ms: when it changed
 * @signs:	heartbeats and grants have a MAC (ODRP_WIRE_F_SIGNED)
 * @key:	by which, while it is connected; else @has_key is not set
 * @wrong_macs:	looks that found one since the last heartbeat that counted
 * @forged_said: and the log has it
 * @epoch:	of the last grant
 * @drain:	the CNode is asked to leave
 * @drain_sent:	and has been told
 * @queues:	[number][chain], NULL: not connected
 * @nr_closing:	of them, such as are to be stopped
 * @unstopped_said: that a queue does not stop
 * @shown:	it has sent a heartbeat, or its token: the accept has reached it
 * @ready:	it has the pages of its lease, its key map and tables, and may have queues
 * @blocked:	others have to give pages, or to take theirs, before it can be ready
 * @waiting:	attached: the request for its first I/O connection, until it is ready;
 *		detached: the one that takes it up, until all is settled
 * @restoring:	another agent has begun it, and it cannot be taken up yet
 * @refilled:	of its keys: slots of which the NIC has the translation again
 * @refill:	by what; its nic is NULL when that is done, or not needed
 * @keys_failed, @else_chains: the NIC has made it no keys, -errno; so chains do it
 * @next_old:	of those of which only memory is left
 * @had_queue:	one was, once: only then there may be something to come again for
 * @scan:	DYING: pages of the pool looked at
 * @executed:	by chain, of queues that are gone
 */
struct sess {
	uint64_t id, wire_id, token;
	enum sess_state state;
	char name[ODRP_AUTH_NAME];
	struct share *share;
	uint64_t handle;
	struct seal seal;
	__be32 peer_ip;
	uint32_t cm_id;
	uint16_t nr_queues, depth, instances;
	uint64_t claim;
	struct pool *pool;
	uint16_t owner;
	struct ring ring;
	uint64_t lent, armed, astray;
	struct hand hand;
	uint64_t taken;
	unsigned int nr_taken;
	bool disorder;
	enum sess_settle settle;
	uint32_t owing_ms;
	struct tt tt;
	uint32_t admin_pdn, tt_rkey;
	struct keys keys;
	bool doomed;
	struct ctlq ctl;
	struct mem beat_mem;
	volatile struct odrp_wire_beat *beat;
	uint32_t beat_key;
	struct odrp_wire_beat said;
	uint64_t last_beat;
	uint32_t silent_ms;
	bool signs, has_key, forged_said;
	struct auth_key key;
	unsigned int wrong_macs;
	uint64_t beats, grants, epoch;
	bool drain, drain_sent;
	bool overdrawn_said, unstopped_said;
	struct lease lease;
	struct queue *(*queues)[ODRP_WIRE_NR_CHAINS];
	unsigned int nr_closing;
	bool shown, ready, blocked;
	bool restoring;
	uint64_t refilled;
	struct ctlq refill;
	struct asked *waiting;
	int keys_failed;
	bool else_chains;
	struct sess *next_old;
	bool had_queue;
	uint64_t scan;
	uint64_t executed[ODRP_WIRE_NR_CHAINS];
};

/*
 * What a session has besides what it asked for.
 * @keyed:		keys of its own, by which it READs and WRITEs its pages
 * @else_chains:	or chains, if the NIC makes it no keys
 * @token:	of one that another agent has begun; else 0
 */
struct sess_attr {
	uint64_t id, wire_id;
	uint64_t token;
	uint16_t owner;
	uint64_t claim;
	struct lease lease;
	bool keyed, else_chains;
};

/* hello: of role admin, and checked.  It is OPENING. */
int sess_new(struct pool *pool, const struct hello *hello,
	     const struct sess_attr *attr, struct sess **ret_sess);
/*
 * As another agent has left it: detached, with the pages of its table, which the caller
 * has found good, and no others.  keyed: as its record says.  It may be taken up when
 * sess_restore() is done.
 */
int sess_adopt(struct pool *pool, const volatile struct keep_record *rec,
	       const struct sess_attr *attr, struct sess **ret_sess);
/* A piece of its keys, and of what they translate.  -EAGAIN: there is more; else -errno:
 * the NIC makes it none, and without them it cannot go on. */
int sess_restore(struct sess *s);
/* Has others keep it: before it has stored anything, and when its compute node is told
 * of another lease. */
void sess_keep(const struct sess *s);
void sess_keep_lease(const struct sess *s);
/* A piece of what it needs before it is accepted.  -EAGAIN: there is more. */
int sess_make(struct sess *s);
/* And of what its first I/O connection needs. */
int sess_make_map(struct sess *s);
/* Unmakes a piece of its keys; true: they are gone. */
bool sess_drop_keys(struct sess *s);
/* The request at *asked, if there is one, is not answered.  It has K in it. */
void asked_drop(struct asked **asked);
/* A piece of a session that nothing refers to any more.  True: it is freed.  All its
 * pages must have been taken back. */
bool sess_free_some(struct sess *s);
/* All of it; the pool goes, too. */
void sess_free(struct sess *s);

void sess_accept_priv(const struct sess *s, uint32_t beat_ms, uint32_t dead_ms,
		      struct odrp_wire_admin_accept *ret_accept);
/* Compares in constant time. */
bool sess_token_ok(const struct sess *s, uint64_t token);

/* From now on heartbeats and grants have a MAC by that key, of the handshake with the
 * session's handle, and their numbers count anew; NULL: they have none. */
void sess_sign(struct sess *s, const struct auth_key *key);
/* Looks at the heartbeat: true if there is another one that counts. */
bool sess_look(struct sess *s, uint32_t elapsed_ms);
/*
 * Queues that are closed and that the NIC has neither stopped nor destroyed: their
 * chains may run on.  As long as there is one the session's ring is not put in order
 * and its pages, keys and memory are nobody else's.
 */
unsigned int sess_unstopped(const struct sess *s);
/* It has no queue, neither such a one nor one that has yet to be stopped. */
bool sess_stands(const struct sess *s);
/* Looks at the heartbeat, too: it wants no more of its pages. */
bool sess_said_bye(struct sess *s);
/* Writes the lease's target to the CNode. */
int sess_grant(struct sess *s);
/* -EIO: the admin connection is broken. */
int sess_poll_ctl(struct sess *s);

static inline bool sess_attached(const struct sess *s)
{
	return s->cm_id;
}

/*
 * Its admin queue pair stops, and nothing of it counts for the next connection.
 * The connection and the queues are the caller's affair.
 */
void sess_detach(struct sess *s);
/* An admin queue pair for the next connection... */
int sess_make_ctl(const struct sess *s, struct ctlq *ret_ctl);
/* ... which has been accepted: takes the queue pair over. */
void sess_attach(struct sess *s, const struct ctlq *ctl, uint32_t cm_id);

/* Requests that ran on a chain since the session began. */
uint64_t sess_executed(const struct sess *s, unsigned int chain);

/* Each connected queue. */
#define sess_for_each_queue(s, n, c, q)					\
	for ((n) = 0; (n) < (s)->nr_queues; (n)++)			\
		for ((c) = 0; (c) < ODRP_WIRE_NR_CHAINS; (c)++)		\
			if (((q) = (s)->queues[n][c]))

#endif /* MNODE_SESS_H */
