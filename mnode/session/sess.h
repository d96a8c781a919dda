/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A session of a compute node: its translation table, chains, heartbeat and lease.
 *
 * sess-state.h has its states.  A detached session may be resumed until it has been silent
 * for too long.  When all chains of an ended session stand still, lend.c takes its pages
 * back, and the session is freed.  If the NIC does not stop a chain, the session keeps all
 * that it has: see sess_unstopped().
 */
#ifndef MNODE_SESS_H
#define MNODE_SESS_H

#include "../../userspace/host/idents.h"
#include "../lease/lease.h"
#include "../lease/shares.h"
#include "../lease/use.h"
#include "../peer/hello.h"
#include "ctlq.h"
#include "keys.h"
#include "queue.h"
#include "sess-state.h"
#include "slabs.h"
#include "tally.h"

#define SESS_TAKE_BATCH	512	/* pages that are taken out of a ring at a time */

/* Events that are logged once for a session: bits of @logged. */
#define SESS_LOG_FORGED		(1u << 0)	/* a forged heartbeat */
#define SESS_LOG_OVERDRAWN	(1u << 1)	/* more pages in use than granted */
#define SESS_LOG_UNSTOPPED	(1u << 2)	/* a queue that does not stop */

/**
 * struct asked - a checked connection request
 * @handle:	of the pass of the peer; 0: the peer has proved no name
 * @signer:	key material for the answer
 */
struct asked {
	struct nic_event ev;
	struct hello hello;
	uint64_t handle;
	struct idents_signer signer;
};

/**
 * struct held_pages - pages of a session that the agent holds
 * @at, @nr, @max: addresses of the pages; the room for them
 * @waiting:	the first so many of them wait for the end of their grace period
 * @marked:	all queues have been marked since then
 * @asking:	position of the queue that is to be marked next, or that is to be asked next
 *		whether it has come to its mark
 */
struct held_pages {
	__u64 *at;
	size_t nr, max;
	size_t waiting;
	bool marked;
	unsigned int asking;
};

/* Where compute nodes see their heartbeat: they need not know where it is in memory. */
#define SESS_BEAT_IOVA	0

/**
 * struct sess - a session
 * @state, @setup, @damage: see sess-state.h; sess_event() and its like change them
 * @logged:	what has been logged already: SESS_LOG_*
 * @id:		number of the session in logs and commands
 * @wire_id:	number of the session on the wire: @id and the generation of the kept
 *		files
 * @owner:	marks the session's pages in the pool; not 0
 * @metadata:	bytes outside the pool, by sess_metadata()
 * @ring:	the free ring
 * @lent:	pages that belong to the session, wherever they are
 * @armed:	pages of @lent that page registers of stores hold
 * @astray:	upper bound of pages that were held by chains whose position is unknown
 * @taken, @nr_taken: ring positions, from @taken on, that the agent has moved the head
 *		over and has not emptied yet
 * @owing_ms:	how long the session has owed pages, or the agent has waited for pages
 *		that it is taking
 * @name:	the identity that owns the session; "": whoever has the token
 * @share:	the limits that apply to the session
 * @handle:	of the pass of the present connection; 0: it came by the token
 * @signer:	OPENING: key material for the accept
 * @cm_id:	the admin connection; 0: there is none, see sess_attached()
 * @nr_queues, @depth: as granted
 * @instances:	of each chain
 * @claim:	pages of the stock that the session's chains may have at a time
 * @admin_pdn:	protection domain of the admin connection alone: whatever key the compute
 *		node names, its WRITEs reach only @beat, and its READs only the
 *		translation table and the published keys
 * @tt_rkey:	key of the translation table for those READs
 * @keys:	translation in the NIC; all 0 if chains translate
 * @slabs:	direct slabs; all 0 if there are none. Else the session has no chains, and no
 *		translation table: @tt.mem has the records of slabs
 * @ctl:	the admin queue pair; carries grants
 * @beat_mem, @beat, @beat_key: where the compute node WRITEs its heartbeat
 * @accepted:	the last heartbeat that was accepted
 * @seen:	its number as it is in memory, when it was read last
 * @rereads:	how often one with a wrong MAC was read again since the last tick
 * @last_beat, @silent_ms: number of that heartbeat; milliseconds since then
 * @heard:	it came after the last tick
 * @unanswered:	it wants more than is granted, and is to be answered
 * @long_beats:	heartbeats have all fields (ODRP_WIRE_F_LONG_BEAT)
 * @tells_kept:	heartbeats tell which pages are kept (ODRP_WIRE_F_KEPT)
 * @kept:	pages whose contents can still be asked for, as the last accepted heartbeat
 *		says; of one that does not tell, those that it uses
 * @use:	pages by time
 * @asked_dead_ms: how long the session is to be kept when it is silent, as its last
 *		accepted heartbeat asks; 0: it asks for nothing
 * @signs:	heartbeats and grants have a MAC (ODRP_WIRE_F_SIGNED)
 * @has_key, @key: key of these MACs, while the session is connected
 * @wrong_macs:	wrong MACs that were seen since the last accepted heartbeat
 * @epoch:	number of the last grant
 * @drain:	the compute node is to be asked to leave
 * @drain_sent:	the compute node has been asked to leave
 * @queues:	[number][chain]; NULL: not connected
 * @nr_conns:	queues that there are
 * @nr_arming, @nr_closing, @nr_unstopped: of them, those that wait for their turn to be armed
 *		or to be stopped, and those that the NIC has not stopped
 * @tally:	counts the session, as long as the agent has it in its list; else NULL
 * @waiting:	attached: the request for the first I/O connection, until the setup is
 *		READY; detached: the request to resume the session, until it is in order
 * @refilled:	slots whose translation the NIC has again, of a restored session
 * @refill:	queue pair that restores the translations; its nic is NULL when it is not
 *		needed
 * @keys_failed: -errno: the NIC could not make the keys
 * @else_chains: chains translate if the keys cannot be made
 * @next_old:	links sessions of which only memory is left
 * @ended:	number of the fence that the session's pages need; see lend_gone()
 * @had_queue:	a queue was connected once, so the session may have stored pages
 * @scan:	ENDING: pages of the pool that have been searched
 * @executed:	requests by chain, of queues that have been freed
 */
struct sess {
	uint64_t id, wire_id, token;
	enum sess_state state;
	enum sess_setup setup;
	enum sess_damage damage;
	unsigned int logged;
	char name[ODRP_AUTH_NAME];
	struct share *share;
	uint64_t handle;
	struct idents_signer signer;
	__be32 peer_ip;
	uint32_t cm_id;
	uint16_t nr_queues, depth, instances;
	uint64_t claim, metadata;
	struct pool *pool;
	uint16_t owner;
	struct ring ring;
	uint64_t lent, armed, astray;
	struct held_pages held;
	uint64_t taken;
	unsigned int nr_taken;
	uint32_t owing_ms;
	struct tt tt;
	uint32_t admin_pdn, tt_rkey;
	struct keys keys;
	struct slabs slabs;
	struct ctlq ctl;
	struct mem beat_mem;
	volatile struct odrp_wire_beat *beat;
	uint32_t beat_key;
	struct odrp_wire_beat accepted;
	__be64 seen;
	unsigned int rereads;
	uint64_t last_beat;
	uint32_t silent_ms;
	bool heard, unanswered;
	bool long_beats, tells_kept;
	uint64_t kept;
	struct use use;
	uint32_t asked_dead_ms;
	bool signs, has_key;
	struct auth_key key;
	unsigned int wrong_macs;
	uint64_t beats, grants, epoch;
	bool drain, drain_sent;
	struct lease lease;
	struct queue *(*queues)[ODRP_WIRE_NR_CHAINS];
	unsigned int nr_conns, nr_arming, nr_closing, nr_unstopped;
	struct tally *tally;
	uint64_t refilled;
	struct ctlq refill;
	struct asked *waiting;
	int keys_failed;
	bool else_chains;
	struct sess *next_old;
	uint64_t ended;
	bool had_queue;
	uint64_t scan;
	uint64_t executed[ODRP_WIRE_NR_CHAINS];
};

/*
 * Attributes of a session that its hello does not have.
 * @token:	of a session that another agent has begun; else 0: a token is drawn
 * @keyed:	make keys for translation in the NIC
 * @direct:	the session has direct slabs, and no chains
 * @else_chains: if the NIC cannot make the keys, chains translate
 */
struct sess_attr {
	uint64_t id, wire_id;
	uint64_t token;
	uint16_t owner;
	uint64_t claim;
	struct lease lease;
	bool keyed, else_chains, direct;
};

/* Bytes that a session takes outside the pool, as far as they grow with its slots and with
 * its lease: table, ring, keys. */
uint64_t sess_metadata(uint64_t nr_slots, const struct sess_attr *attr);
/* Makes a session in state OPENING.  hello: checked, of role admin. */
int sess_new(struct pool *pool, const struct hello *hello,
	     const struct sess_attr *attr, struct sess **ret_sess);
/*
 * Makes a detached session from the record of another agent.  The session has the pages
 * in its table and no others; the caller has checked the table.  attr->keyed: as in the
 * record.  The session may be resumed when sess_restore() is done.
 */
int sess_adopt(struct pool *pool, const volatile struct keep_record *rec,
	       const struct sess_attr *attr, struct sess **ret_sess);
/* Makes a piece of an adopted session's keys and translations.  -EAGAIN: there is more;
 * else -errno: the NIC cannot make them, and the session cannot go on. */
int sess_restore(struct sess *s);
/* Write the session, or what changes of it (its lease, and what its heartbeat asks for),
 * into the files for the next agent.  Call sess_keep() before the session stores
 * anything. */
void sess_keep(const struct sess *s);
void sess_keep_changes(const struct sess *s);
/* Makes a piece of the keys that the accept needs.  -EAGAIN: there is more. */
int sess_make(struct sess *s);
/* Makes a piece of the key map that the first I/O connection needs.  -EAGAIN: there is more. */
int sess_make_map(struct sess *s);
/* The session is resumed by a hello with these features. */
void sess_resume_beats(struct sess *s, uint32_t features);
/* Counts the session's pages for so long. */
void sess_count_use(struct sess *s, uint32_t ms);
/* True if the NIC has keys by which the compute node reaches pages. */
static inline bool sess_has_keys(const struct sess *s)
{
	return keys_exist(&s->keys) || slabs_exist(&s->slabs);
}
/* Drops a piece of the keys.  True: they are gone. */
bool sess_drop_keys(struct sess *s);
/* Wipes and frees the request at *asked, if there is one, without answering it.  The
 * request may hold key material. */
void asked_drop(struct asked **asked);
/* Frees a piece of a session that nothing refers to and whose pages are back in the pool.
 * True: it is freed. */
bool sess_free_some(struct sess *s);
/* Frees the whole session at once, when the agent ends or cannot start. */
void sess_free(struct sess *s);

/* How long the session is kept when it is silent: what its heartbeat asks for, within the
 * limits of the settings. */
uint32_t sess_dead_ms(const struct sess *s, const struct conf *conf);
void sess_accept_priv(const struct sess *s, const struct conf *conf,
		      struct odrp_wire_admin_accept *ret_accept);
/* Compares in constant time. */
bool sess_token_ok(const struct sess *s, uint64_t token);

/* From now on heartbeats and grants have MACs by that key, which belongs to the session's
 * handle.  NULL: they have none. */
void sess_sign(struct sess *s, const struct auth_key *key);
/* Reads the heartbeat.  True: there is a new one that is accepted. */
bool sess_look(struct sess *s, uint32_t elapsed_ms);
/* Is there a heartbeat that was not read?  Reads no more than its number. */
static inline bool sess_has_news(const struct sess *s)
{
	return s->beat->beat != s->seen;
}

/*
 * The number of closed queues that the NIC has neither stopped nor destroyed.  Their
 * chains may run on, so the ring is not put in order, and nobody else may have the
 * session's pages, keys and memory.
 */
static inline unsigned int sess_unstopped(const struct sess *s)
{
	return s->nr_unstopped;
}

/* True if the session has no queue, not even one that is to be stopped. */
static inline bool sess_has_no_chains(const struct sess *s)
{
	return !s->nr_conns;
}

/* Reads the heartbeat first.  True: the compute node has left and needs its pages no more. */
bool sess_has_left(struct sess *s);
/* Writes the lease's target to the compute node. */
int sess_grant(struct sess *s);
/* Takes completions of the admin queue pair.  -EIO: it is broken. */
int sess_poll_ctl(struct sess *s);

/* Change a state by its table, and return the action that the caller has to do. */
enum sess_action sess_event(struct sess *s, enum sess_event event);
enum setup_action sess_setup(struct sess *s, enum setup_event event);
/* The agent has the session in its list, from now on or no more. */
void sess_join(struct sess *s, struct tally *tally);
void sess_leave(struct sess *s);
/* The session has this queue from now on. */
void sess_add_queue(struct sess *s, unsigned int number, unsigned int chain,
		    struct queue *q);
/* An event of one of its connections; the action is the caller's. */
enum conn_action sess_conn_event(struct sess *s, struct queue *q, enum conn_event event);
/* The queue has been stopped, and is the caller's. */
struct queue *sess_take_queue(struct sess *s, unsigned int number, unsigned int chain);

static inline bool sess_is_live(const struct sess *s)
{
	return sess_state_is_live(s->state);
}

static inline bool sess_attached(const struct sess *s)
{
	return s->state == SESS_OPENING || s->state == SESS_ATTACHED;
}

/*
 * Stops the admin queue pair and forgets heartbeat and key.  The caller closes the
 * connection and the queues.
 */
void sess_detach(struct sess *s);
/* Makes an admin queue pair for the next admin connection. */
int sess_make_ctl(const struct sess *s, struct ctlq *ret_ctl);
/* Takes the queue pair over, when the connection has been accepted. */
void sess_attach(struct sess *s, const struct ctlq *ctl, uint32_t cm_id);

/* Requests that the chain has executed since the session began. */
uint64_t sess_executed(const struct sess *s, unsigned int chain);

/* Visits each queue; q is not NULL. */
#define sess_for_each_queue(s, n, c, q)					\
	for ((n) = 0; (n) < (s)->nr_queues; (n)++)			\
		for ((c) = 0; (c) < ODRP_WIRE_NR_CHAINS; (c)++)		\
			if (((q) = (s)->queues[n][c]))

#endif /* MNODE_SESS_H */
