/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of sim share: compute nodes, memory nodes, threads, queue pairs and
 * requests. Everything here is used by one thread of the system only.
 *
 * A request goes through these places, each of which is an event:
 *
 *	post -> req_ring:   its doorbell reaches the initiator's NIC (nic.c)
 *	     -> req_arrive: it reaches the memory node (node.c), which executes it at
 *			    once, or later: req_execute (node.c)
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

/* A queue of requests that do one thing after the other: when it is free, in ps. */
struct sim_server {
	uint64_t free_ps;
};

/* Takes ps of the server from now on; returns when that is over, in ps. */
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
	struct sim_event event;		/* its release, then its hand-over */
	struct sim_thread *holder;	/* who holds it, or has just released it */
	struct sim_thread *last;	/* whose core has the line */
	struct sim_thread *first, **end;	/* who spins */
	unsigned nr;			/* how many spin */
	enum { SIM_FREE, SIM_HELD, SIM_PASSING } state;
};

struct sim_doorbell {
	struct sim_lock lock;
	int shared;		/* by several queue pairs: it has a lock */
	unsigned context;	/* 0: the process's; else a thread's own */
};

struct sim_req {
	struct sim_event event;
	struct far_wr wr;
	struct sim_req *next;		/* in its queue pair, then among completions */
	struct sim_req *wait_next;	/* in the memory node's queue of the queue pair */
	struct sim_qp *qp;
	struct sim_qset *owner;
	int status;			/* of its completion */
	unsigned era;			/* of the queue pair */
	unsigned covers;		/* queue places that its completion frees */
	unsigned nr_batch;		/* of the first of a list: its length */
	uint64_t served_ps;		/* when the memory node is through with it */
	uint8_t rung, sent, executed, done;	/* how far it is */
	uint8_t local_bad;		/* its local memory is not registered */
	uint8_t pieces, piece;		/* of a torn one: how many, and which is next */
	uint8_t *copy;			/* of a WRITE's data; NULL: wr.local */
	uint8_t data[FAR_NIC_MAX_INLINE];
};

enum sim_qp_state { SIM_QP_NONE, SIM_QP_UP, SIM_QP_BROKEN };

struct sim_qp {
	struct far_sim *sim;
	struct sim_cn *cn;
	struct sim_mn *mn;
	struct sim_attach *attach;
	struct sim_share *share;
	struct sim_doorbell *doorbell;
	struct sim_lock lock;		/* of its send queue */
	enum sim_qp_state state;
	unsigned id;			/* number in its compute node */
	uint16_t idx;			/* peer's index */
	unsigned era;			/* how often it was started */
	unsigned used;			/* places of the send queue */
	unsigned retired;		/* unsignaled ones done since the last completion */
	/* outstanding, in the order of posting; send: the next one to go out */
	struct sim_req *first, **end, *send;
	unsigned rung;			/* how many the NIC knows of and has not sent */
	unsigned rd_out;		/* READs and atomics on their way */
	uint64_t last_arrival;		/* at the memory node: order is kept */
	/* at the memory node: those that wait for the first of them to execute */
	struct sim_req *wait_first, **wait_end;
	int refused;			/* one failed there: no later one executes */
	struct sim_qp *next;		/* of its compute node */
};

/* Queue pairs and a completion queue: of one queue set, or of a group. */
struct sim_share {
	struct sim_cn *cn;
	unsigned group;
	unsigned nr_members, nr_peers;
	int shared;			/* it has had two members: they take locks */
	unsigned depth;			/* of all members */
	struct sim_doorbell *own;	/* NULL: the provider's choice */
	struct sim_qp **qp;		/* nr_peers, NULL before connect() */
	struct sim_lock cq_lock;
	struct sim_req *raw, **raw_end;	/* CQEs that nobody has polled, if shared */
	struct sim_share *next;		/* of its compute node */
};

struct sim_qset {
	struct far_qset qset;
	struct sim_cn *cn;
	struct sim_share *share;
	unsigned depth;
	struct sim_req *ready, **ready_end;	/* CQEs that poll() hands out */
	unsigned nr_ready;
	unsigned nr_raw;		/* of its CQEs in share->raw */
	struct sim_thread *waiter;
	int woken;
	struct far_qset_stats stats;
	struct sim_qset *next;		/* of its compute node */
};

enum sim_thread_state {
	SIM_RUN,
	SIM_SLEEP,	/* until its event */
	SIM_WAIT,	/* until its event, or sim_thread_wake() */
	SIM_ENDED,
};

struct sim_thread {
	struct far_context *context;
	struct far_context outside;	/* of the caller that is no fiber */
	struct far_fiber *fiber;
	struct far_sim *sim;
	struct sim_cn *cn;		/* NULL: outside */
	struct sim_event event;
	enum sim_thread_state state;
	uint64_t lag;			/* ns that it is ahead of the cluster's clock */
	void (*run)(void *arg);
	void *arg;
	struct sim_thread *joiner;
	struct sim_thread *spin_next;	/* behind it at a lock */
	struct sim_thread *next;	/* of all of the cluster */
};

/* A space at a memory node: [off, off + size) of its memory. */
struct sim_space {
	char name[ODRP_FAR_NAME_MAX + 1];
	uint64_t off, size;
	unsigned node;
	int published, removed;
	unsigned refs;			/* maps and attachments */
	struct sim_space *next;		/* by off */
};

/* What attach() made: far_peer.priv. Its queue pairs hold it, too. */
struct sim_attach {
	unsigned refs;
	struct sim_cn *cn;
	struct sim_mn *mn;
	struct sim_space *space;
	unsigned rights;
	struct sim_claim *claims;
	struct sim_attach *next;
};

/* Client number `client` of a space is whoever holds this attachment. */
struct sim_claim {
	unsigned client;
	struct sim_claim *next;
};

/* When an address is free for the next atomic. */
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
	struct sim_space *spaces;
	struct sim_busy busy[SIM_BUSY_SETS][SIM_BUSY_WAYS];
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
	struct sim_server tx, rx;	/* of its NIC: requests, answers */
	struct sim_server miss;		/* the engine that fetches WQEs and translations */
	unsigned outstanding;		/* WQEs between doorbell and CQE */
	unsigned nr_qps, nr_contexts;
	struct sim_qp *qps;		/* those that are gone too */
	struct sim_share *shares;
	struct sim_qset *qsets;
	struct sim_doorbell *doorbells;	/* of the process's context */
	struct sim_mr *mrs;
	unsigned nr_mrs;
	struct far_sim_cn_stats stats;
};

/* The adversary's choices, drawn from the seed: fault.c. */
struct sim_odds {
	double tear, pass, delay, brk;	/* probabilities per request */
	uint64_t tear_ns, delay_ns;	/* at most */
};

struct far_sim {
	struct sim_wheel wheel;
	struct sim_profile profile;
	struct far_sim_attr attr;
	struct far_rng rng;		/* of the model */
	struct far_rng fate;		/* of the adversary */
	struct sim_odds odds;
	struct sim_cn *cns;
	struct sim_mn *mns;
	struct sim_attach *attaches;
	struct far_stacks stacks;
	struct sim_thread outside;
	struct sim_thread *current;
	struct sim_thread *runnable;	/* what a wake-up chose */
	struct sim_thread *threads;
	unsigned nr_graves;		/* threads that ended, with a stack yet */
	unsigned nr_live;		/* fibers that have not ended */
	int running;			/* the caller is in far_sim_run() */
	int stuck;			/* nothing could happen any more */
	int owned;			/* by a struct far_nic of open() */
	struct sim_req *free_reqs;
	struct sim_slab *slabs;
	uint64_t trace;			/* hash of all that happened */
};

static inline struct sim_req *sim_req_of(struct sim_event *event)
{
	return (struct sim_req *)event;
}

static inline int sim_req_reads(const struct sim_req *req)
{
	return req->wr.op != FAR_NIC_WRITE;
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

/* The clock of the thread that runs. */
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
/* Lets the current thread sleep until its event, or sim_thread_wake() in SIM_WAIT. */
void sim_block(struct far_sim *sim, enum sim_thread_state state);
/* Lets the cluster's clock come up to the current thread's. */
void sim_settle(struct far_sim *sim);
/* Wakes a thread in SIM_WAIT at time at, if it would sleep longer. */
void sim_thread_wake(struct sim_thread *thread, uint64_t at);
/* Puts an end to a thread that is not the current one. */
void sim_thread_kill(struct sim_thread *thread);
/* Puts an end to the current one, a fiber; does not return. */
void sim_thread_exit(struct far_sim *sim);
void sim_threads_free(struct far_sim *sim);
/* The costs of cn's threads, when their number has changed. */
void sim_cn_pace(struct sim_cn *cn);

/* lock.c */
void sim_lock_init(struct sim_lock *lock, struct far_sim *sim);
/*
 * The current thread, which has no lag, takes the lock, and spins until it has it.
 * *ret_moved: whether another thread had it before.
 */
void sim_lock_take(struct sim_lock *lock, int *ret_moved);
/* It is released at time at, of the current thread's clock. */
void sim_lock_drop(struct sim_lock *lock, uint64_t at);
/* Forgets who spins, holds or held it and is dead. */
void sim_lock_purge(struct sim_lock *lock, const struct sim_thread *thread);

/* qset.c */
int sim_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset);
void sim_qset_free(struct far_qset *qset);
int sim_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
void sim_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/* post.c */
int sim_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int sim_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey);
void sim_mr_dereg(struct far_nic *nic, uint32_t lkey);

/* poll.c */
int sim_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int sim_wait(struct far_qset *qset, uint64_t until);
void sim_wake(struct far_qset *qset);
/* Puts a completion, with its status, where poll() will find it. */
void sim_complete(struct sim_req *req);
/* It was polled: its queue places are free, and so is it. */
void sim_cqe_done(struct sim_req *req);

/* req.c: requests, from slabs; what is outstanding at a queue pair that ends */
struct sim_req *sim_req_new(struct far_sim *sim);
void sim_req_free(struct far_sim *sim, struct sim_req *req);
void sim_reqs_free(struct far_sim *sim);
/* Ends what is outstanding: each of it completes as -ECANCELED, or is forgotten. */
void sim_qp_flush(struct sim_qp *qp, int complete);
/* Cuts what is outstanding off from the memory of its dead compute node. */
void sim_qp_orphan(struct sim_qp *qp);

/* nic.c */
void sim_req_ring(struct sim_event *event);
/* An answer gets to the initiator's NIC at time at. */
void sim_req_reply(struct sim_req *req, uint64_t at);

/* node.c */
void sim_req_arrive(struct sim_event *event);
/* 0, or what is wrong with the request as the memory node sees it. */
int sim_req_check(const struct sim_req *req);

/* exec.c */
/* Executes it now; of a torn one the next piece. Returns whether that was all. */
int sim_req_execute(struct sim_req *req);

/* host.c: spaces */
extern const struct far_nic_host_ops sim_host_ops;
int sim_attach(struct far_nic *nic, const char *node, const char *space,
	       unsigned rights, struct far_peer *ret_peer);
void sim_detach(struct far_nic *nic, struct far_peer *peer);
int sim_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void sim_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int sim_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);
void sim_spaces_free(struct sim_mn *mn);
void sim_attach_put(struct sim_attach *attach);
void sim_attaches_free(struct far_sim *sim);

/* fault.c */
void sim_odds_draw(struct far_sim *sim);
/* Counts nr operations of cn; how many of them are posted before it dies. */
unsigned sim_cn_count(struct sim_cn *cn, unsigned nr);
void sim_cn_die(struct sim_cn *cn);
/* A chance of the adversary, if it may do that. */
static inline int sim_chance(struct far_sim *sim, unsigned what, double probability)
{
	return sim->attr.adversary & what && far_rng_unit(&sim->fate) < probability;
}

/* sim.c: the cluster that the calling thread of the system has made last, or NULL */
struct far_sim *sim_last(void);

#endif
