/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's whole state, and the calls that drive it.  The manager has neither an event
 * loop nor a clock: mnoded.c and the tests call it.
 *
 * No swapped page needs any of these calls.
 */
#ifndef MNODE_MANAGER_H
#define MNODE_MANAGER_H

#include "../userspace/host/responder.h"
#include "conf.h"
#include "lease/shares.h"
#include "page/keep.h"
#include "page/stock.h"
#include "peer/audit.h"
#include "session/lend.h"
#include "session/sess.h"
#include "space/spaces.h"

struct check;		/* check.h */

/**
 * struct health - the questions of one heartbeat period to the NIC
 * @due:	not all have been asked
 * @sess, @at:	index of the session in the manager's list, and position there, of the
 *		next question
 * @asked:	the question @look is under way, about position @asked_at of session @id
 * @waited_ms:	for its answer
 * @silent:	the card takes too long for its answer
 */
struct health {
	bool due, asked, silent;
	unsigned int sess, at, asked_at;
	uint64_t id;
	struct nic_look look;
	uint32_t waited_ms;
};

/**
 * struct manager - the agent
 * @keep:	files that the next agent takes over
 * @stock:	pages that are set aside for page registers of stores
 * @lender:	moves pages between the pool and sessions
 * @spaces:	far memory for programs
 * @idents:	secrets of identities, and the passes of peers that have proved a name
 * @shares:	limits of each identity
 * @responder:	authentication handshakes
 * @budget:	pages that may be leased or serve as slack
 * @slack:	pages of slack for each compute node
 * @waits:	chains keep order by WAIT, else by fences; settled for this NIC
 * @nic_translates: sessions may have translation in the NIC; settled for this NIC
 * @direct:	sessions may have direct slabs; settled for this NIC
 * @progs, @keyed, @bare: the chain programs for this NIC; @keyed are those of sessions with
 *		translation in the NIC, @bare of sessions with direct slabs
 * @sess:	sessions, in the order in which they were opened
 * @old, @nr_old: sessions whose pages are back in the pool and whose memory is freed in
 *		pieces
 * @tally:	counts of the sessions by their states
 * @stirred:	something has happened since the last look for pages to move and for grants
 *		to send
 * @leases:	space for a list of the sessions' leases
 * @handles:	space for the passes of the sessions, sorted
 * @draining:	the operator drains: no new sessions; all compute nodes are asked to leave
 * @ending:	the agent ends: no connection is accepted any more
 * @rejects:	refused hellos, by status
 * @executed:	requests by chain, of sessions that have been freed
 * @next_job, @next_arm: counters that select the next job and the next session to arm;
 *		they are never reset
 * @health:	which queue pairs the NIC is asked about next
 * @check:	counts the pages; NULL: no count is under way, and there is no result
 * @use:	pages by time, while there is a session
 * @longest_turn_ns: the longest turn of the event loop; mnoded.c measures it
 */
struct manager {
	const struct conf *conf;
	struct nic *nic;
	struct keep keep;
	struct pool pool;
	struct stock stock;
	struct lender lender;
	struct spaces spaces;
	struct idents idents;
	struct shares shares;
	struct audit audit;
	struct responder responder;
	uint64_t budget, slack;
	bool waits, nic_translates, direct;
	struct wrc_prog progs[ODRP_WIRE_NR_CHAINS];
	struct wrc_prog keyed[ODRP_WIRE_NR_CHAINS];
	struct wrc_prog bare[ODRP_WIRE_NR_CHAINS];
	struct hello_limits limits;
	struct sess **sess;
	struct tally tally;
	bool stirred;
	struct lease **leases;
	uint64_t *handles;
	size_t nr_handles;
	unsigned int nr_sess, nr_old;
	struct sess *old;
	uint64_t next_id;
	bool draining, ending;
	uint64_t sess_total, sess_dead, sess_left, sess_evicted, sess_resumed;
	uint64_t sess_adopted;
	uint64_t queues_broken;
	uint64_t rejects[ODRP_WIRE_E_NO_SWAP + 1];
	uint64_t executed[ODRP_WIRE_NR_CHAINS];
	unsigned int next_job, next_arm;
	struct health health;
	struct check *check;
	uint64_t count_at, counted_ns;	/* when the count began; of all that have ended */
	struct use use;
	uint64_t longest_turn_ns;
};

/* The caller keeps ownership of the NIC.  Returns -errno with a sentence in why. */
int manager_init(struct manager *m, const struct conf *conf, struct nic *nic,
		 char why[CONF_WHY_MAX]);
/*
 * Like manager_init(), with files that another agent has left.  If it returns 0, the
 * files belong to this agent.  If the files are of no use, it has dropped them, and
 * m->keep.adopted is false.
 */
int manager_adopt(struct manager *m, const struct conf *conf, struct nic *nic,
		  const int fd[KEEP_FILES], char why[CONF_WHY_MAX]);
/* Frees everything, even if sessions still use it. */
void manager_fini(struct manager *m);

/* Unused pages: in the pool, in free rings, and held by the agent.  The ring's part is a
 * snapshot of head and tail. */
uint64_t manager_free_pages(const struct manager *m);
/* Pages that nobody can have: all of the pool that are not free for sessions, without
 * spaces. */
uint64_t manager_held_pages(const struct manager *m);
/* Pages in page registers of stores. */
uint64_t manager_armed_pages(const struct manager *m);
/* Pages of ended sessions whose chains the NIC does not stop, or whose keys it does not
 * destroy. */
uint64_t manager_withheld_pages(const struct manager *m);

/* Takes some of the NIC's events, at most one of them a connection request.  (listen.c) */
void manager_events(struct manager *m);
/* Makes a piece of the sessions that are being opened.  True: there may be more to do.
 * (listen.c) */
bool manager_open_some(struct manager *m);
/* Arms a piece of a chain that a connection request waits for; sessions take turns.
 * True: there may be more to do.  (listen.c) */
bool manager_arm_some(struct manager *m);
/* manager_unwait(): the session is ready; serves its waiting request.
 * manager_forget_waiting(): the session ends or is disconnected; rejects its waiting
 * request.  manager_put_off(): rejects the request at *asked, if there is one.  (listen.c) */
void manager_unwait(struct manager *m, struct sess *s);
void manager_forget_waiting(struct manager *m, struct sess *s);
void manager_put_off(struct manager *m, const struct sess *s, struct asked **asked);
/* The session's ring is in order (r is 0) or cannot be put in order (-errno): answers the
 * request that waits to resume the session.  (listen.c) */
void manager_settled(struct manager *m, struct sess *s, int r);
/* Rejects the request that waits for a session to be made.  (listen.c) */
void manager_refuse(struct manager *m, const struct sess *s, int r);
/* Writes the grants that are due. */
void manager_send_grants(struct manager *m);
/* Looks at heartbeats and plans leases; elapsed_ms: time since the last call.
 * (manager-beat.c) */
void manager_tick(struct manager *m, uint32_t elapsed_ms);
/* Looks for heartbeats of compute nodes that ask when they need pages; manager_work() answers
 * them. False: there is none, so nobody waits for the next call. */
bool manager_look(struct manager *m);
/* Since the last tick, asks the NIC about a few queue pairs, and disconnects what is
 * broken.  True: there are more to ask about at once; else nic_node.look_fd tells when.
 * (health.c) */
bool manager_health_some(struct manager *m);
void manager_health_tick(struct manager *m, uint32_t elapsed_ms);
/* An object of the session is gone: the answer under way is about no other one, though the
 * NIC may give the numbers of the old one to the next. */
void manager_health_forget(struct manager *m, const struct sess *s);
/*
 * The card does not answer a query, so any other firmware command may wait, too.  Meanwhile
 * manager_work() and manager_spaces() do nothing else, and connection requests are refused
 * as busy: the peers ask again.  Heartbeats, leases, control socket, metrics and chains go
 * on.  Until the card or its driver gives up, the agent may still wait for a command of
 * its own thread: one that makes, stops or destroys a queue pair or a key and began before
 * the card was known to be silent, or that ends the connection of a client of a space, or
 * that stops the queue pair of a connection whose end is noticed meanwhile; or that `odrpctl
 * mnode check` asks.
 */
bool manager_health_silent(const struct manager *m);
/* Does a bounded piece of the pending work: moves pages, opens sessions, frees ended ones. */
enum lend_todo manager_work(struct manager *m);

/* Reads the secrets again; see idents_read().  -errno with a sentence in why: nothing has
 * changed. */
int manager_read_keys(struct manager *m, char why[CONF_WHY_MAX]);
/*
 * Reads the secrets again, then voids all passes of that name and ends its sessions.
 * Returns the number of ended sessions.  -EEXIST: the name still has a secret; -ENOENT:
 * the name is unknown.  On errors, why has a sentence.
 */
int manager_revoke(struct manager *m, const char *name, char why[CONF_WHY_MAX]);

/* Applies new limits of clients.  -errno with a sentence in why: nothing has changed. */
int manager_set_clients(struct manager *m, const struct conf *conf,
			char why[CONF_WHY_MAX]);
/* Puts a new queue under the bandwidth limit of its session's share, if there is one. */
void manager_limit_queue(struct manager *m, const struct sess *s,
			 const struct queue *q);
/* May that name send a request to spaces, or have another attachment or queue there?
 * Returns ODRP_FAR_OK or a status of refusal.  See struct spaces. */
unsigned int manager_share_far(void *arg, const char *name, bool proved,
			       enum spaces_adds adds);
/* Refills the shares' request limits; drops shares without a section that nothing needs. */
void manager_tick_shares(struct manager *m, uint32_t elapsed_ms);
/* Drops the share of that name, if it is one of those.  Whoever makes a share for a peer
 * that has proved nothing calls it when the peer gets nothing, so that forged addresses
 * leave none. */
void manager_tidy_share(struct manager *m, const char *name);
/* Plans the lease of each session. */
void manager_plan_leases(struct manager *m);
/* Keeps the lease that a new session was promised, if it can be lent that many pages now. */
void manager_keep_lease(struct manager *m, struct sess *s);
/* Sessions of a share; the connections that its sessions and its programs may have. */
unsigned int manager_sessions_of(const struct manager *m, const struct share *share);
uint64_t manager_connections_of(const struct manager *m, const struct share *share);
/* manager_claims_of(): pages of the stock that the share's sessions may have at a time.
 * manager_claims_kept(): pages of the stock that stay reserved for other names: what each
 * name with a section, and all names without a section together, lack of STOCK_LEAST. */
uint64_t manager_claims_of(const struct manager *m, const struct share *share);
uint64_t manager_claims_kept(const struct manager *m, const struct share *share);
/* Bytes of metadata of sessions: of one share, or of all (NULL). */
uint64_t manager_metadata_of(const struct manager *m, const struct share *share);
/* The most that all sessions may have together, by the settings or the pool's size. */
uint64_t manager_metadata_most(const struct manager *m);
bool manager_metadata_admits(const struct manager *m, const struct share *share,
			     uint64_t bytes);
/* The number of connections that one session may have. */
static inline uint64_t manager_connections(unsigned int nr_queues)
{
	return 1 + (uint64_t)nr_queues * ODRP_WIRE_NR_CHAINS;
}

/* Handles a connection request.  False: it is not for a space. */
bool manager_spaces_request(struct manager *m, const struct nic_event *ev);
/*
 * Advances epochs, fences and clients of spaces; see spaces_step().  UINT64_MAX while pages are
 * counted: call it again when the count has ended.
 */
uint64_t manager_spaces(struct manager *m, uint64_t now);
/* Computes the budget anew: the pool without spaces, stock and withheld pages. */
void manager_budget(struct manager *m);
/* Deletes a space; swap may use its pages afterwards.  -ENOENT: there is no such space. */
int manager_delete_space(struct manager *m, const char *name);
/* Declares memory node `node` of a set lost, whose arbiter this is.  -errno, with a sentence
 * in why. */
int manager_declare_lost(struct manager *m, const char *name, uint64_t node,
			 char why[CONF_WHY_MAX]);

/* An event of a session: changes its state by the table of sess-state.c, and does the
 * action. */
void manager_sess(struct manager *m, struct sess *s, enum sess_event event);

enum manager_why { WHY_LEFT, WHY_DEAD, WHY_EVICTED };

/* Ends a session.  manager_work() stops its chains and then takes its pages back. */
void manager_kill(struct manager *m, struct sess *s, enum manager_why why);
/* Disconnects the session and has its chains stopped; the compute node may resume it. */
void manager_detach(struct manager *m, struct sess *s);
/* The admin connection has ended: ends the session if the compute node has left or never
 * had a queue, else detaches it. */
void manager_lost(struct manager *m, struct sess *s);
/* An event of one connection: changes its state by the table of conn-state.c, and does the
 * action.  The queue may be freed.  (conn.c) */
void manager_conn(struct manager *m, struct sess *s, unsigned int number,
		  unsigned int chain, enum conn_event event);
/* Stops a few chains that wait for their turn.  True: there may be more.  (conn.c) */
bool manager_close_some(struct manager *m);
/* A heartbeat period has passed: tells all connections of the session.  (conn.c) */
void manager_tick_conns(struct manager *m, struct sess *s);
/* Disconnects, if there is a connection.  (conn.c) */
void manager_hang_up(struct manager *m, uint32_t cm_id);
/* The connection of one chain of a session has ended, or ends now: stops the chain; the
 * compute node may connect it again later.  (conn.c) */
void manager_close_queue(struct manager *m, struct sess *s,
			 unsigned int number, unsigned int chain);
/* The program of that chain for the session. */
const struct wrc_prog *manager_prog(const struct manager *m,
				    const struct sess *s, unsigned int chain);
/* By the number in logs and commands; by the number on the wire.  NULL: there is no such
 * session, or it is not live. */
struct sess *manager_find(struct manager *m, uint64_t id);
struct sess *manager_find_wire(struct manager *m, uint64_t wire_id);
uint64_t manager_wire_id(const struct manager *m, uint64_t id);
/* Asks all compute nodes to leave and admits no new sessions; on = false: stops asking. */
void manager_drain(struct manager *m, bool on);
/* Evicts all sessions, before the agent ends. */
void manager_evict_all(struct manager *m);
/* Disconnects all sessions that may have stored pages, and accepts nothing more; the next
 * agent adopts these sessions.  Sessions that are not accepted yet are refused. */
void manager_pause(struct manager *m);
/* True while some connections are still to be closed by manager_work().  (conn.c) */
bool manager_hangs_up(const struct manager *m);

/* Chooses the first lease of a new session; see lease_open(). */
int manager_lease(struct manager *m, struct share *share, const struct hello *hello,
		  struct lease *ret_lease);
/* True if a new session with that hello gets direct slabs. */
static inline bool manager_direct(const struct manager *m, const struct hello *hello)
{
	const uint32_t needs = ODRP_WIRE_F_DIRECT | ODRP_WIRE_F_LONG_BEAT;

	return m->direct && (hello->features & needs) == needs;
}
/* True if there is room for another session, beside the places that are reserved for others. */
bool manager_has_place(const struct manager *m, const struct share *share);
/* A free owner number, which marks a session's pages in the pool. */
uint16_t manager_owner(const struct manager *m);

#endif /* MNODE_MANAGER_H */
