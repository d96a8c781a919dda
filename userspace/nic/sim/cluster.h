/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of sim: compute nodes, memory nodes, threads, queue pairs and
 * requests. Only one thread of the system uses a cluster, so there are no locks.
 *
 * A request goes through these steps; each step but the first and last is an event:
 *
 *	post -> req_ring:   its doorbell reaches the initiator's NIC (nic.c)
 *	     -> req_arrive: it reaches the memory node (node.c), which executes it at
 *			    once, or later: req_later (node.c)
 *	     -> req_answer: the answer reaches the initiator's NIC (nic.c)
 *	     -> req_done:   it is complete; CQEs come in the order of the queue pair
 *	poll -> freed
 */
#ifndef FAR_NIC_SIM_CLUSTER_H
#define FAR_NIC_SIM_CLUSTER_H

#include <stdint.h>

#include <odrp/far.h>

#include "../../base/fiber.h"
#include "../../base/rng.h"
#include "../nic.h"
#include "event.h"
#include "profile.h"
#include "sim.h"

#define SIM_CLIENTS	65536u

struct sim_thread;
struct sim_qset;
struct sim_qp;

/* A server that handles one request after the other; free_ps: when it is free next. */
struct sim_server {
	uint64_t free_ps;
};

/* A queue pair's state in a NIC's cache: its place there, from 1 on; 0: not there. */
struct sim_state {
	unsigned place;
};

/* The cache of queue pair states of a NIC: state.c. */
struct sim_cache {
	struct sim_state **entry;	/* qp_slots places; NULL: not used yet */
	unsigned nr;			/* places in use */
	struct sim_server engine;	/* fetches states */
	uint64_t misses;
};

/* Occupies the server for ps, from now or when it is free; returns the end, in ps. */
static inline uint64_t sim_serve(struct sim_server *server, uint64_t now_ps, uint64_t ps)
{
	if (server->free_ps < now_ps)
		server->free_ps = now_ps;
	return server->free_ps += ps;
}

static inline uint64_t sim_ps(double ns)
{
	return ns * 1000 + 0.5;
}

/* The first ns at or after ps. */
static inline uint64_t sim_ns(uint64_t ps)
{
	return (ps + 999) / 1000;
}

/* A spin lock of the driver, with barging: lock.c. */
struct sim_lock {
	struct far_sim *sim;
	struct sim_event event;		/* the release, then the end of the hand-over */
	struct sim_thread *holder;	/* the thread that holds it, or has just released it */
	struct sim_thread *last;	/* the thread whose core has the cache line */
	struct sim_thread *first, **end;	/* threads that spin */
	unsigned nr;			/* number of threads that spin */
	enum { SIM_FREE, SIM_HELD, SIM_PASSING } state;
};

struct sim_doorbell {
	struct sim_lock lock;
	int shared;		/* several queue pairs may use it: it has a lock */
	unsigned context;	/* 0: the process's device context; else a thread's own */
};

struct sim_req {
	struct sim_event event;
	struct far_wr wr;
	struct sim_req *next;		/* in its queue pair, then among completions */
	struct sim_req *wait_next;	/* in the memory node's queue of the queue pair */
	struct sim_qp *qp;
	struct sim_qset *owner;
	int status;			/* of the completion */
	unsigned era;			/* qp->era when the request was posted */
	unsigned covers;		/* queue places that the completion frees */
	unsigned nr_batch;		/* length of the list, in its first request */
	uint64_t served_ps;		/* when the memory node has served the request */
	uint8_t rung, sent, executed, done;	/* steps that are over */
	uint8_t local_bad;		/* the local memory is not registered */
	uint8_t pieces, piece;		/* if torn: number of pieces, and the next piece */
	uint8_t *copy;			/* data of a WRITE; NULL: they are at wr.local */
	uint8_t data[FAR_NIC_MAX_INLINE];
};

enum sim_qp_state { SIM_QP_NONE, SIM_QP_UP, SIM_QP_BROKEN };

struct sim_qp {
	struct far_sim *sim;
	struct sim_cn *cn;
	struct far_link *link;		/* NULL: it leads to a memory node */
	struct sim_mn *mn;
	struct sim_attach *attach;
	struct sim_share *share;
	struct sim_doorbell *doorbell;
	struct sim_lock lock;		/* of the send queue */
	enum sim_qp_state state;
	unsigned id;			/* number in the compute node */
	uint16_t idx;			/* index of the peer */
	unsigned era;			/* how often the queue pair was started */
	unsigned used;			/* places of the send queue in use */
	unsigned retired;		/* unsignaled requests done since the last completion */
	/* outstanding requests in the order of posting; send: the next one to send */
	struct sim_req *first, **end, *send;
	unsigned rung;			/* requests that the NIC knows and has not sent */
	unsigned rd_out;		/* READs and atomics that were sent and not answered */
	uint64_t posted_ns;		/* when the last list was posted */
	uint64_t last_arrival;		/* of a request at the memory node, to keep order */
	uint64_t last_served_ps;	/* by the memory node, the same */
	/* at the NIC of its compute node; at that of a memory node that it leads to */
	struct sim_state state_here, state_there;
	/* requests at the memory node that wait until the first one has executed */
	struct sim_req *wait_first, **wait_end;
	int refused;			/* a request failed there: no later one executes */
	struct sim_qp *next;		/* in the compute node */
};

/* Queue pairs and a completion queue of one queue set, or of a group of queue sets. */
struct sim_share {
	struct sim_cn *cn;
	unsigned group;
	unsigned nr_members, nr_peers;
	int shared;			/* it has had two members: threads take locks */
	unsigned depth;			/* sum over all members */
	struct sim_doorbell *own;	/* NULL: the provider chooses for each queue pair */
	struct sim_qp **qp;		/* nr_peers; NULL before connect() */
	struct sim_lock cq_lock;
	struct sim_req *raw, **raw_end;	/* if shared: CQEs that no thread has polled */
	struct sim_share *next;		/* in the compute node */
};

/* A datagram on its way. */
struct sim_packet {
	struct sim_event event;
	struct far_sim *sim;
	uint64_t to;			/* an address */
	uint32_t len;
	int served;			/* by the NIC of its destination */
	struct sim_packet *next, **at;	/* in the cluster */
	uint8_t data[];
};

struct sim_qset {
	struct far_qset qset;
	struct sim_cn *cn;
	struct sim_share *share;
	unsigned depth;
	struct sim_req *ready, **ready_end;	/* CQEs for poll() to return */
	unsigned nr_ready;
	unsigned nr_raw;		/* CQEs of this queue set in share->raw */
	struct sim_thread *waiter;
	int woken;
	int landed;			/* the window of a connection has changed */
	int datagrams;
	unsigned nr;			/* of datagrams: in its address, from 1 on */
	struct sim_req *recvs, **recvs_end;	/* of datagrams: RECVs that wait */
	unsigned nr_recvs, max_recvs;
	struct far_qset_stats stats;
	struct sim_qset *next;		/* in the compute node */
};

enum sim_thread_state {
	SIM_RUN,
	SIM_SLEEP,	/* sleeps until its event */
	SIM_WAIT,	/* sleeps until its event or sim_thread_wake() */
	SIM_ENDED,
};

struct sim_thread {
	struct far_context *context;
	struct far_context outside;	/* context of the caller, which is no fiber */
	struct far_fiber *fiber;
	struct far_sim *sim;
	struct sim_cn *cn;		/* NULL: the caller outside */
	struct sim_event event;
	enum sim_thread_state state;
	uint64_t lag;			/* ns by which it is ahead of the cluster's clock */
	void (*run)(void *arg);
	void *arg;
	struct sim_thread *joiner;
	struct sim_thread *spin_next;	/* next thread that spins for the same lock */
	struct sim_thread *next;	/* in the cluster */
};

/* A space at a memory node: [off, off + size) of its memory. */
struct sim_space {
	char name[ODRP_FAR_NAME_MAX + 1];
	uint64_t off, size;
	struct sim_space *common;	/* a window's: behind size bytes; or NULL */
	struct sim_mn *mn;
	int published, removed;
	unsigned refs;			/* number of maps and attachments */
	struct sim_space *next;		/* in the order of off */
};

/* Where an offset in the space lies in the node's memory. */
static inline uint64_t sim_space_at(const struct sim_space *space, uint64_t offset)
{
	return space->common && offset >= space->size ?
	       space->common->off + offset - space->size : space->off + offset;
}

/* An attachment: far_peer.priv. refs counts far_peer and the connected queue pairs. */
struct sim_attach {
	unsigned refs;
	struct sim_cn *cn;
	struct sim_mn *mn;
	struct sim_space *space;
	unsigned rights;
	struct sim_claim *claims;
	struct sim_attach *next;
};

/* The attachment has claimed client number `client` of its space. */
struct sim_claim {
	unsigned client;
	struct sim_claim *next;
};

/* until_ps: when the address is free for the next atomic. */
struct sim_busy {
	uint64_t off, until_ps;
};

#define SIM_BUSY_SETS	1024u
#define SIM_BUSY_WAYS	4u

struct sim_mn {
	unsigned idx;
	uint8_t *base;
	uint64_t size;
	int dead;
	struct sim_event death;
	struct far_sim *sim;
	struct sim_server in;
	struct sim_cache cache;		/* unless it is a compute node's memory */
	struct sim_space *spaces;
	struct sim_busy busy[SIM_BUSY_SETS][SIM_BUSY_WAYS];
};

/* One end of a connection between compute nodes. */
struct far_link {
	struct sim_event event;		/* the other end's death is noticed */
	struct sim_cn *cn;
	struct sim_qp *qp;
	struct far_link *other;		/* NULL: it has hung up */
	struct sim_qset *recv;
	unsigned recv_idx;
	struct sim_req *recvs, **recvs_end;	/* RECVs that wait */
	unsigned nr_recvs;
	int over;			/* no more RECVs: the other end is gone */
	struct far_link *next;		/* in the compute node */
};

struct sim_mr {
	uintptr_t start, end;		/* end 0: free */
};

struct sim_cn {
	struct far_nic nic;		/* first */
	struct far_sim *sim;
	unsigned idx;
	int dead;
	uint64_t die_at;		/* operations left; 0: never */
	unsigned nr_threads;		/* T */
	double slow, spend_slow;	/* 1 + T / slow_threads and the like */
	uint64_t half_rtt_ps;
	struct sim_server tx, rx;	/* the NIC's servers of requests and of answers */
	struct sim_server miss;		/* the engine that fetches WQEs and translations */
	struct sim_cache cache;
	unsigned outstanding;		/* WQEs between doorbell and CQE */
	unsigned nr_qps, nr_contexts;
	unsigned nr_addresses;		/* of queue sets of datagrams, until now */
	struct sim_qp *qps;		/* also those of freed queue sets */
	struct sim_share *shares;
	struct sim_qset *qsets;
	struct sim_doorbell *doorbells;	/* of the process's device context */
	struct sim_mr *mrs;
	unsigned nr_mrs;
	struct sim_mn *memory;		/* its windows, and the NIC's side of them; or NULL */
	struct far_link *links;
	struct far_sim_cn_stats stats;
};

/* The adversary's probabilities, drawn from the seed: fault.c. */
struct sim_odds {
	double tear, pass, delay, brk;	/* probabilities per request */
	uint64_t tear_ns, delay_ns;	/* upper bounds of delays */
};

struct far_sim {
	struct sim_wheel wheel;
	struct sim_profile profile;
	struct far_sim_attr attr;
	struct far_rng rng;		/* for the model */
	struct far_rng fate;		/* for the adversary */
	struct sim_odds odds;
	struct sim_cn *cns;
	struct sim_mn *mns;
	struct sim_attach *attaches;
	struct far_listener *listeners;
	struct sim_packet *packets;
	struct far_stacks stacks;
	struct sim_thread outside;
	struct sim_thread *current;
	struct sim_thread *runnable;	/* the thread that an event has woken */
	struct sim_thread *threads;
	unsigned nr_graves;		/* threads that have ended and still have a stack */
	unsigned nr_live;		/* fibers that have not ended */
	int running;			/* the caller is in far_sim_run() */
	int stuck;			/* no event was left, although threads wait */
	int owned;			/* open() has made the cluster: close() frees it */
	struct sim_req *free_reqs;
	struct sim_slab *slabs;
	uint64_t trace;			/* hash of all that has happened */
};

static inline struct sim_req *sim_req_of(struct sim_event *event)
{
	return (struct sim_req *)event;
}

static inline int sim_req_writes(const struct sim_req *req)
{
	return req->wr.op == FAR_NIC_WRITE || req->wr.op == FAR_NIC_WRITE_IMM ||
	       req->wr.op == FAR_NIC_SEND;
}

/* READs and atomics. */
static inline int sim_req_reads(const struct sim_req *req)
{
	return !sim_req_writes(req);
}

static inline int sim_req_is_atomic(const struct sim_req *req)
{
	return req->wr.op == FAR_NIC_CAS || req->wr.op == FAR_NIC_FAA;
}

static inline struct sim_cn *sim_cn_of(struct far_nic *nic)
{
	return (struct sim_cn *)nic;
}

static inline struct sim_qset *sim_qset_of(struct far_qset *qset)
{
	return (struct sim_qset *)qset;
}

/* The clock of the current thread, in ns. */
static inline uint64_t sim_local_now(const struct far_sim *sim)
{
	return sim->wheel.now + sim->current->lag;
}

static inline void sim_trace(struct far_sim *sim, uint64_t what, uint64_t which)
{
	sim->trace = far_rng_mix(sim->trace ^ sim->wheel.now ^ what << 56 ^ which);
}

static inline unsigned sim_nr_doorbells(const struct sim_cn *cn)
{
	return cn->sim->profile.low_latency + cn->sim->profile.shared;
}

/* sched.c: threads */
void sim_outside_init(struct far_sim *sim);
int sim_thread_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
		     struct far_nic_thread **ret_thread);
void sim_thread_join(struct far_nic *nic, struct far_nic_thread *thread);
/* The current thread sleeps until its event; in SIM_WAIT also until sim_thread_wake(). */
void sim_block(struct far_sim *sim, enum sim_thread_state state);
/* The current thread sleeps until the cluster's clock has reached the thread's clock. */
void sim_settle(struct far_sim *sim);
/* Wakes a thread in SIM_WAIT at time `at`, unless it wakes earlier anyway. */
void sim_thread_wake(struct sim_thread *thread, uint64_t at);
/* Ends a thread that is not the current one. */
void sim_thread_kill(struct sim_thread *thread);
/* Ends the current thread, which is a fiber; does not return. */
void sim_thread_exit(struct far_sim *sim);
void sim_threads_free(struct far_sim *sim);
/* Recomputes the costs of cn's threads; called when their number has changed. */
void sim_cn_pace(struct sim_cn *cn);

/* lock.c */
void sim_lock_init(struct sim_lock *lock, struct far_sim *sim);
/*
 * The current thread takes the lock, and spins until it gets the lock. The thread must
 * have no lag (sim_settle()). *ret_moved: whether another thread had the lock before.
 */
void sim_lock_take(struct sim_lock *lock, int *ret_moved);
/* Releases the lock at time `at`, in ns. */
void sim_lock_drop(struct sim_lock *lock, uint64_t at);
/* Forgets a thread that has ended, as holder and among the threads that spin. */
void sim_lock_purge(struct sim_lock *lock, const struct sim_thread *thread);

/* qset.c */
int sim_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset);
void sim_qset_free(struct far_qset *qset);
int sim_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
void sim_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);
/* Makes queue pair idx of the queue set lead to the attachment, without other requests. */
int sim_qp_open(struct sim_qset *qset, unsigned idx, struct sim_attach *attach,
		struct sim_qp **ret_qp);
/* Ends the queue pair's connection, and drops its reference to the attachment. */
void sim_qp_stop(struct sim_qp *qp, int complete);

/* Makes queue pair idx of a share. */
int sim_qp_new(struct sim_share *share, unsigned idx);

/* post.c */
/* True if the operation's memory is registered. */
int sim_mr_holds(const struct sim_cn *cn, const struct far_wr *wr);
int sim_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int sim_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey);
void sim_mr_dereg(struct far_nic *nic, uint32_t lkey);

/* poll.c */
int sim_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int sim_wait(struct far_qset *qset, uint64_t until);
void sim_wake(struct far_qset *qset);
/* Puts the completion of the request, with its status, where poll() will find it. */
void sim_complete(struct sim_req *req);
/* Frees a request whose completion was taken, and the queue places that it covers. */
void sim_cqe_done(struct sim_req *req);

/* req.c: requests, allocated from slabs; outstanding requests of queue pairs that end */
struct sim_req *sim_req_new(struct far_sim *sim);
void sim_req_free(struct far_sim *sim, struct sim_req *req);
void sim_reqs_free(struct far_sim *sim);
/* Ends all outstanding requests: with -ECANCELED, or, unless complete, without completion. */
void sim_qp_flush(struct sim_qp *qp, int complete);
/*
 * Detaches outstanding requests from the memory of their dead compute node: they may
 * still execute, without completion. The adversary may drop some.
 */
void sim_qp_orphan(struct sim_qp *qp);

/* call.c: windows, services, and connections between compute nodes */
extern const struct far_nic_call_ops sim_call_ops;
void sim_listeners_free(struct far_sim *sim);
/* Forgets the link; its RECVs have no completion. */
void sim_hangup(struct far_link *link);
int sim_link_recv(struct sim_qset *qset, unsigned idx, const struct far_wr *wr,
		  unsigned nr);
/* True if a WRITE_IMM must wait for a RECV of the other end. */
int sim_req_stalls(const struct sim_req *req);
/* The request has changed the other end's window: completes a RECV, wakes a waiter. */
void sim_req_landed(struct sim_req *req);
/* Lets the ends of all connections to the compute node, which is dead, notice that. */
void sim_links_mourn(struct sim_cn *cn);

/* datagram.c */
uint64_t sim_address(struct far_qset *qset);
int sim_datagram_init(struct sim_qset *qset);
void sim_datagram_fini(struct sim_qset *qset);
/* Posts RECVs. */
int sim_datagram_recv(struct sim_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
/* Checks a list, but for the memory of RECVs. */
int sim_datagram_check(const struct sim_qset *qset, const struct far_wr *wr, unsigned nr);
/* The datagram leaves, and arrives at time `at`. */
void sim_packet_send(const struct sim_req *req, uint64_t at);
void sim_packets_free(struct far_sim *sim);

/* state.c: the cache of queue pair states */
/* When a NIC that needs the state now has it, in ps. */
uint64_t sim_state_ps(struct far_sim *sim, struct sim_cache *cache, struct sim_state *state);
/* The same for the other end of a request's queue pair. */
uint64_t sim_state_there_ps(struct sim_qp *qp);
void sim_cache_fini(struct sim_cache *cache);

/* nic.c */
void sim_req_ring(struct sim_event *event);
/* Lets the answer reach the initiator's NIC at time `at`. */
void sim_req_reply(struct sim_req *req, uint64_t at);

/* node.c */
void sim_req_arrive(struct sim_event *event);
/* The node's time for a request with so many bytes. */
double sim_serve_ns(const struct sim_profile *p, uint32_t len);
/* Executes the first waiting request of the queue pair, or a piece; an event. */
void sim_req_later(struct sim_event *event);
/* Checks rights and bounds at the memory node: 0, -EACCES or -EFAULT. */
int sim_req_check(const struct sim_req *req);

/* exec.c */
/* Executes the request, or its next piece if it is torn. Returns whether that was all. */
int sim_req_execute(struct sim_req *req);

/* host.c: spaces; attach.c: attachments, claims, fences */
extern const struct far_nic_host_ops sim_host_ops;
int sim_attach(struct far_nic *nic, const char *node, const char *space,
	       unsigned rights, struct far_peer *ret_peer);
void sim_detach(struct far_nic *nic, struct far_peer *peer);
int sim_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void sim_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int sim_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);
int sim_space_new(struct sim_mn *mn, const char *name, uint64_t size,
		  struct sim_space **ret_space);
void sim_space_put(struct sim_space *space);
/* An attachment of cn to the space, with all rights; takes a reference to the space. */
struct sim_attach *sim_attach_new(struct sim_cn *cn, struct sim_space *space,
				  unsigned rights);
void sim_spaces_free(struct sim_mn *mn);
void sim_attach_put(struct sim_attach *attach);
void sim_attaches_free(struct far_sim *sim);

/* fault.c */
void sim_odds_draw(struct far_sim *sim);
/* Counts nr operations of cn. Returns how many of them it posts before it dies. */
unsigned sim_cn_count(struct sim_cn *cn, unsigned nr);
void sim_cn_die(struct sim_cn *cn);
/* True if the adversary injects fault `what` (FAR_SIM_*) now; never if it is not enabled. */
static inline int sim_chance(struct far_sim *sim, unsigned what, double probability)
{
	return sim->attr.adversary & what && far_rng_unit(&sim->fate) < probability;
}

/* sim.c: memory for the compute node's windows. -ENOMEM. */
int sim_cn_memory(struct sim_cn *cn);
/* The last cluster that the calling thread of the system has made, or NULL */
struct far_sim *sim_last(void);

#endif
