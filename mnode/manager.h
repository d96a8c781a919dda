/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All state of the agent, and the few calls that drive it.  It knows no event
 * loop and no clock: mnoded.c and the tests call it.
 *
 * None of the calls runs because a page was swapped.
 */
#ifndef MNODE_MANAGER_H
#define MNODE_MANAGER_H

#include "conf.h"
#include "door.h"
#include "keep.h"
#include "lend.h"
#include "sess.h"
#include "shares.h"
#include "spaces.h"
#include "stock.h"

/**
 * struct manager - the agent
 * @keep:	what is there for the next agent
 * @stock:	who may have how many pages for stores to receive into
 * @lender:	moves pages
 * @spaces:	far memory for programs
 * @who:	who is known, and has proved it
 * @shares:	what each may have
 * @door:	where that is proved
 * @budget:	pages that may be leased, or be slack
 * @slack:	of each CNode
 * @waits:	chains WAIT, or fence: order, settled for this NIC
 * @nic_translates: translate, the same
 * @progs:	the chain programs, as this NIC needs them; and those of CNodes with
 *		keys of their own
 * @sess:	sessions, in the order of their coming
 * @old, @nr_old: sessions of which only memory is left, that is freed in pieces
 * @leases:	room to list theirs
 * @draining:	no newcomers; all are asked to leave
 * @ending:	no newcomers; nobody is left, or nobody is let in again
 * @rejects:	refused hellos, by status
 * @executed:	requests by chain, of sessions that are gone
 * @next_job, @next_arm: whose turn it is, counted on and on
 * @longest_turn_ns: of the event loop, which says it
 */
struct manager {
	const struct conf *conf;
	struct nic *nic;
	struct keep keep;
	struct pool pool;
	struct stock stock;
	struct lender lender;
	struct spaces spaces;
	struct who who;
	struct shares shares;
	struct door door;
	uint64_t budget, slack;
	bool waits, nic_translates;
	struct wrc_prog progs[ODRP_WIRE_NR_CHAINS];
	struct wrc_prog keyed[ODRP_WIRE_NR_CHAINS];
	struct hello_limits limits;
	struct sess **sess;
	struct lease **leases;
	unsigned int nr_sess, nr_old;
	struct sess *old;
	uint64_t next_id;
	bool draining, ending;
	uint64_t sess_total, sess_dead, sess_left, sess_evicted, sess_resumed;
	uint64_t sess_adopted;
	uint64_t queues_broken;
	uint64_t rejects[ODRP_WIRE_E_AUTH + 1];
	uint64_t executed[ODRP_WIRE_NR_CHAINS];
	unsigned int next_job, next_arm;
	uint64_t longest_turn_ns;
};

/* The NIC stays the caller's.  -errno, with a sentence in why. */
int manager_init(struct manager *m, const struct conf *conf, struct nic *nic,
		 char why[CONF_WHY_MAX]);
/*
 * The same with files that another agent has left.  They are this one's if it returns 0;
 * what is of no use to it, it has forgotten: m->keep.adopted is false then.
 */
int manager_adopt(struct manager *m, const struct conf *conf, struct nic *nic,
		  const int fd[KEEP_FILES], char why[CONF_WHY_MAX]);
/* Frees everything, whether or not somebody uses it. */
void manager_fini(struct manager *m);

/* Pages that nobody uses: in the pool, in rings, in the agent's hand, as rings'
 * heads and tails say at this moment. */
uint64_t manager_free_pages(const struct manager *m);
/* Pages in registers of stores. */
uint64_t manager_armed_pages(const struct manager *m);
/* Pages of those that are gone, and whose chains the NIC does not stop. */
uint64_t manager_withheld_pages(const struct manager *m);

/* The NIC has events: takes some of them, with one request at most.  (listen.c) */
void manager_events(struct manager *m);
/* A piece of what newcomers wait for; true: there may be more.  (listen.c) */
bool manager_open_some(struct manager *m);
/* A piece of arming a chain for which somebody waits, of each session in turn.  True:
 * there may be more. */
bool manager_arm_some(struct manager *m);
/* The session is ready, or gone: what becomes of a request that waits.  (listen.c) */
void manager_unwait(struct manager *m, struct sess *s);
void manager_forget_waiting(struct manager *m, struct sess *s);
/* Its ring is in order, or -errno: what becomes of the request that takes it up. */
void manager_settled(struct manager *m, struct sess *s, int r);
/* Heartbeats and leases; elapsed_ms since the last call. */
void manager_tick(struct manager *m, uint32_t elapsed_ms);
/* Pages to and fro, newcomers and those that are gone: a bounded piece of it. */
enum lend_todo manager_work(struct manager *m);

/* Secrets are read again: see who_read().  -errno with a sentence in why: nothing has
 * changed. */
int manager_read_keys(struct manager *m, char why[CONF_WHY_MAX]);
/*
 * Reads secrets again; then the passes of that name are void, and its sessions end.
 * Returns how many; -EEXIST: it has a secret still; -ENOENT: nobody had that name; with a
 * sentence in why.
 */
int manager_revoke(struct manager *m, const char *name, char why[CONF_WHY_MAX]);

/* What each may have is as these settings say, now.  -errno with a sentence in why:
 * nothing has changed. */
int manager_set_clients(struct manager *m, const struct conf *conf,
			char why[CONF_WHY_MAX]);
/* A new queue is under the bandwidth of its session's share, or under none. */
void manager_limit_queue(struct manager *m, const struct sess *s,
			 const struct queue *q);
/* May that name ask something of spaces, or have another connection to them?  See
 * struct spaces. */
unsigned int manager_share_far(void *arg, const char *name, bool proved, bool connects);
/* Their requests by now; those without a section and without a connection go. */
void manager_tick_shares(struct manager *m, uint32_t elapsed_ms);
/* What each session may have of the pages that are to be lent. */
void manager_plan_leases(struct manager *m);
/* So many pages are there for a newcomer's lease: what is promised is kept or not. */
void manager_keep_lease(struct manager *m, struct sess *s, uint64_t pages);
/* Sessions of a share, and the connections that these may have, with those to
 * spaces. */
unsigned int manager_sessions_of(const struct manager *m, const struct share *share);
uint64_t manager_connections_of(const struct manager *m, const struct share *share);
/* Pages of the stock that its sessions may have out, and that stay for other names: a
 * little for each that has a section, and for all together that have none. */
uint64_t manager_claims_of(const struct manager *m, const struct share *share);
uint64_t manager_claims_kept(const struct manager *m, const struct share *share);
/* Of connections that one session may have. */
static inline uint64_t manager_connections(unsigned int nr_queues)
{
	return 1 + (uint64_t)nr_queues * ODRP_WIRE_NR_CHAINS;
}

/* Epochs, fences and clients of spaces; see spaces_step(). */
uint64_t manager_spaces(struct manager *m, uint64_t now);
/* What is left to swap, after a space has been deleted. */
void manager_budget(struct manager *m);
/* Deletes a space; its pages are swap's.  -ENOENT. */
int manager_delete_space(struct manager *m, const char *name);

enum manager_why { WHY_LEFT, WHY_DEAD, WHY_EVICTED };

/* A session ends: manager_work() stops its chains, and then its pages go back. */
void manager_kill(struct manager *m, struct sess *s, enum manager_why why);
/* It hangs up; its chains are stopped, too, and it may be taken up again. */
void manager_detach(struct manager *m, struct sess *s);
/* The admin connection is gone: the session has left, or waits for another. */
void manager_lost(struct manager *m, struct sess *s);
/* Stops one of a session's chains, which may be connected again later. */
void manager_close_queue(struct manager *m, struct sess *s,
			 unsigned int number, unsigned int chain);
/* NULL: none, or it is dying. */
const struct wrc_prog *manager_prog(const struct manager *m,
				    const struct sess *s, unsigned int chain);
/* By what people call it, and by what its compute node does. */
struct sess *manager_find(struct manager *m, uint64_t id);
struct sess *manager_find_wire(struct manager *m, uint64_t wire_id);
uint64_t manager_wire_id(const struct manager *m, uint64_t id);
/* Asks everybody to leave, and lets nobody in; or takes that back. */
void manager_drain(struct manager *m, bool on);
/* Tells every CNode that this is the end. */
void manager_say_goodbye(struct manager *m);
/* Hangs up, and lets nobody in; all sessions are left to the next agent. */
void manager_pause(struct manager *m);
/* Some have not heard of it yet: manager_work() tells them. */
bool manager_hangs_up(const struct manager *m);

/* What the newcomer may have at first; see lease_open(). */
int manager_lease(struct manager *m, struct share *share, uint64_t nr_slots,
		  struct lease *ret_lease);
/* Sessions for which there is room, without those that are kept for others. */
bool manager_has_place(const struct manager *m, const struct share *share);
/* What its pages are known by. */
uint16_t manager_owner(const struct manager *m);

#endif /* MNODE_MANAGER_H */
