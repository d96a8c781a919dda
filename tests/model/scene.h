/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node on the software NIC whose queues run when they are told to: a
 * tiny pool, rings and tables of two CNodes, some armed chains from their real
 * images, and a client for each.  What is to happen is a list of requests; in
 * which order it happens is the search's.
 *
 * A move is: a request is sent and delivered; one WQE of a chain's loop queue;
 * what a READ or an atomic of that queue has fetched lands, with its completion, or
 * a UMR takes effect; one WQE of its client queue; the connection breaks; the agent
 * stops the chain.
 * With an agent, that is mnode/session/lend.c, also: pages of one CNode's lease become
 * the other's; a step of the lender; one WQE of the lender's queue; CNode 0 hangs
 * up and its ring is put in order, or it is given up, with translation in the NIC its
 * key is destroyed, and its pages are collected.
 */
#ifndef TEST_MODEL_SCENE_H
#define TEST_MODEL_SCENE_H

#include "core/keymap.h"
#include "core/link.h"
#include "mlx5/encode.h"
#include "snic/engine/engine-priv.h"
#include "explore.h"
#include <page/ring.h>

#define SCENE_CNODES	2
#define SCENE_CHAINS	5
#define SCENE_REQS	10
#define SCENE_PAGES	16		/* at most */
#define SCENE_SLOTS	5		/* entries of a table */
#define SCENE_DEPTH	4		/* instances of a chain */
#define SCENE_TAIL	16		/* the tail's place behind the head's */

/**
 * struct scene_req - a request of the list
 * @chain:	on which chain
 * @slot:	of the CNode's table
 * @tag:	stores: what the page contains, not 0
 * @cut:	bytes that it lacks at its end
 * @later:	not before its CNode has been told of a larger lease
 * @astray:	it says that its answer goes to address 0, which is that of slot 0, too
 */
struct scene_req {
	uint8_t chain, slot, tag;
	uint16_t cut;
	bool later, astray;
};

struct scene_chain_cfg {
	enum odrp_wire_chain kind;
	uint8_t cnode;
};

/**
 * struct scene_config - what is searched
 * @exchange:	the programs of page exchange; each instance of a store has a page
 * @looks:	but the load is the one that is armed: it looks at the entry
 * @node:	recycle=node
 * @keyed:	translation in the NIC: stores to unmapped slots, and invalidates
 * @spoil:	what is wrong with the programs, that rule keyed would refuse; of
 *		chains that are CNode 0's
 * @fence:	order=fence
 * @late:	what READs and atomics bring lands in a move of its own, as late
 *		as their queue can go on without it; and a UMR's effect comes with
 *		its completion, before which others' data may be there
 * @log_ring:	log2 of the slots of a ring
 * @mapped:	per CNode: its first slots that have a page at the start
 * @free:	per CNode: pages in its ring at the start
 * @rude:	CNode 0 does not wait for answers before it uses a slot again
 * @breaks:	how many connections may break
 * @may_fail:	a chain may fail by itself: the ring is too small
 * @agent:	what stopped chains hold goes back to the ring
 * @kill:	and CNode 0 may be given up
 * @hangup:	and when one of its connections has broken, CNode 0 may hang up
 * @shrink:	so many pages of a lease are to be the other CNode's
 * @gives:	whose lease that is
 * @regrow:	and it may become one larger after that
 */
struct scene_config {
	bool strict, rude, may_fail, agent, kill, hangup, exchange, looks, node;
	bool keyed, fence, late, regrow;
	enum snic_fetch fetch;
	void (*spoil)(struct wrc_prog *prog);
	uint8_t log_ring, breaks, shrink, gives;
	uint8_t mapped[SCENE_CNODES], free[SCENE_CNODES];
	unsigned int nr_chains, nr_reqs;
	struct scene_chain_cfg chain[SCENE_CHAINS];
	struct scene_req req[SCENE_REQS];
};

struct scene_chain {
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	__u64 pages[SCENE_DEPTH];	/* each instance's first */
	struct wrc_word_rule words[WRC_MAX_WORDS];
	uint8_t *arena, *buf;
	uint64_t *client;	/* the client's memory, see scene.c */
	struct snic_qp *loop, *node, *peer;
	struct snic_qp *far;	/* what the loop queue is connected to */
	struct snic_cq *loop_scq, *node_scq, *node_rcq, *peer_rcq;
	uint32_t client_key;
};

/* A UMR that has been executed, and what the entries at @at are going to be. */
struct scene_umr {
	struct wrc_ksm *at, is[WRC_KSM_GROUP];
};

/**
 * struct scene_keys - how a CNode reaches its pages
 * @pdn:	its domain; without keys it is the node's
 * @pool:	key of the pool there
 * @key, @entry, @map, @map_key: translation in the NIC
 */
struct scene_keys {
	uint32_t pdn, pool, key, map_key;
	struct wrc_ksm *entry;
	struct wrc_keymap *map;
};

/* What moves change beside the NIC's memory. */
struct scene_state {
	uint8_t sent[SCENE_CHAINS], answered[SCENE_CHAINS];
	uint8_t order[SCENE_CHAINS][SCENE_REQS];	/* requests as sent */
	bool req_sent[SCENE_REQS], req_answered[SCENE_REQS];
	bool broken[SCENE_CHAINS], stopped[SCENE_CHAINS];
	bool killed, hung_up, settled, shrunk, regrown, told[SCENE_CNODES];
	bool dropped;		/* CNode 0's key */
	uint8_t breaks;
	uint64_t peeked;	/* SCENE_PLAIN_GATHER: seen, not cleared yet */
	/* What each slot contains, as its CNode knows. */
	uint8_t tag[SCENE_CNODES][SCENE_SLOTS];
	struct scene_umr umr[SCENE_CHAINS];
	/* The first word of the page that came last, until its answer comes. */
	uint64_t brought[SCENE_CHAINS];
	const char *wrong;
};

/* What an agent that is to be found out does not do. */
enum scene_sloppy {
	SCENE_CAREFUL,
	SCENE_NO_HELD,		/* ask what a stopped chain held */
	SCENE_NO_GRACE,		/* wait before a page becomes another's */
	SCENE_RECEIVED_ONLY,	/* wait for what has been received to be done */
	SCENE_LOOP_ONLY,	/* wait for the client queues */
	SCENE_PLAIN_GATHER,	/* empty a slot by one atomic */
	SCENE_KEYS_LATE,	/* take the key before the pages */
	SCENE_KEYS_EARLY,	/* stop the queues before it takes the key */
};

struct scene {
	struct scene_config cfg;
	enum scene_sloppy sloppy;
	struct scene_chain chain[SCENE_CHAINS];
	struct scene_state st;
	struct snic *nic;
	struct nic *agents_nic;		/* the same, as the agent sees it */
	uint32_t pdn;			/* the node's */
	struct scene_keys keys[SCENE_CNODES];
	struct scene_agent *agent;
	struct ring ring[SCENE_CNODES];	/* by hand: a real one is too long */
	uint64_t *tt[SCENE_CNODES];
	uint8_t *pool;
	unsigned int nr_pages;
	uint16_t owner[SCENE_PAGES];
	void *blocks[64];
	unsigned int nr_blocks;
	struct explore explore;
};

/* Fails the test if it cannot be made. */
void scene_open(struct scene *s, const struct scene_config *cfg);
void scene_close(struct scene *s);
/* Where an instruction of an instance lies, to be corrupted. */
void *scene_insn(struct scene *s, unsigned int chain, unsigned int insn,
		 unsigned int instance);

/* ---- inside ---------------------------------------------------------------- */

enum scene_move {
	MOVE_SEND,	/* a request */
	MOVE_LOOP,	/* the rest: of a chain */
	MOVE_LAND,
	MOVE_PASS,	/* data, before the completion of a UMR */
	MOVE_NODE,
	MOVE_BREAK,
	MOVE_STOP,
	MOVE_AGENT,	/* of scene_agent.c */
};

#define MOVE(kind, nr) ((kind) << 8 | (nr))

/* Memory that moves change. */
void scene_watch(struct scene *s, void *at, size_t len);
uint64_t scene_mix_qp(uint64_t h, const struct snic_qp *qp);

/* The owner of its pages in the pool. */
static inline uint16_t scene_owner(unsigned int cnode)
{
	return cnode + 1;
}

static inline unsigned int scene_ring_len(const struct scene *s)
{
	return sizeof(uint64_t) << s->cfg.log_ring;
}

/* The instances of a chain that have a page each. */
static inline unsigned int scene_registers(const struct scene *s,
					   unsigned int chain)
{
	return wrc_has_register(&s->chain[chain].prog) ? SCENE_DEPTH : 0;
}

#define SCENE_AGENT_MOVES 16		/* at most */

/* scene_moves.c.  May a queue's next WQE run, if nothing holds it back? */
bool scene_ready(const struct snic_qp *qp);
/* The callback "moves" of struct explore. */
unsigned int scene_moves(void *arg, uint16_t *ret_moves);

/* scene_agent.c.  Its moves, numbered from 0 on; returns how many. */
unsigned int scene_agent_moves(const struct scene *s, uint8_t *ret_moves);
const char *scene_agent_say(uint8_t move);
void scene_agent_apply(struct scene *s, uint8_t move);
/* When all chains are there. */
void scene_agent_open(struct scene *s);
void scene_agent_close(struct scene *s);
/* May it give CNode 0 up: because it may at any time, or has found that it lied? */
bool scene_agent_evicts(const struct scene *s);
/* To be called before the search. */
void scene_agent_be(struct scene *s, enum scene_sloppy sloppy);
/* The chain is stopped, and what it held is with the agent. */
void scene_agent_stop(struct scene *s, unsigned int chain);
/* What a CNode has been told of its lease. */
uint64_t scene_agent_lease(const struct scene *s, unsigned int cnode);
uint64_t scene_agent_hash(const struct scene *s, uint64_t h);
/* Pages in its hands: calls see() for each, with whose it should be. */
void scene_agent_pages(const struct scene *s, void *arg,
		       void (*see)(void *arg, uint64_t page, uint16_t owner));
/* Nothing is CNode 0's any more, whatever its table says. */
bool scene_agent_collected(const struct scene *s);
/* NULL, or what it has found that should not be; or has left undone. */
const char *scene_agent_wrong(const struct scene *s, bool quiet);

/* scene_land.c.  How many WQEs of this queue have run and not landed. */
unsigned int scene_landings(const struct snic_qp *qp);
void scene_watch_landings(struct scene *s, const struct snic_qp *qp);
uint64_t scene_mix_landings(uint64_t h, const struct snic_qp *qp);
/* The loop queue's next WQE, if it is a UMR, which takes effect later: returns
 * false if it is none.  And those whose completion is there take effect. */
bool scene_run_umr(struct scene *s, unsigned int chain);
void scene_land_umrs(struct scene *s);
/* Data may be there before the completion of a UMR in front of it. */
bool scene_may_pass(const struct snic_qp *qp);
void scene_pass(struct snic_qp *qp);
/* wrc_held_of(), where all that is on its way has landed. */
int scene_held_of(const struct scene_chain *ch, unsigned int instance,
		  struct wrc_held *ret_held);

/* scene_keys.c.  PDs, and keys; then the pages that are mapped. */
void scene_keys_open(struct scene *s);
void scene_keys_map(struct scene *s);
void scene_keys_close(struct scene *s);
/* A CNode's key is destroyed. */
void scene_keys_drop(struct scene *s, unsigned int cnode);
uint64_t scene_keys_hash(const struct scene *s, uint64_t h);
/* Each slot's entries as they are, and are about to be. */
void scene_keys_each(const struct scene *s, void *arg,
		     void (*see)(void *arg, unsigned int cnode,
				 const struct wrc_ksm *group));
/* A slot's page, big endian. */
uint64_t scene_keys_page(const struct scene *s, unsigned int cnode,
			 unsigned int slot);

/* scene_check.c: NULL or what is broken. */
const char *scene_wrong(struct scene *s, bool quiet);
/* A load's page has come, and an answer. */
void scene_brought(struct scene *s, unsigned int chain, uint64_t word);
void scene_answered(struct scene *s, unsigned int chain, uint32_t id);
/* Neither rude nor given up. */
bool scene_keeps_rules(const struct scene *s, unsigned int cnode);
/* Pages that a CNode that keeps the rules counts as used. */
unsigned int scene_used(const struct scene *s, unsigned int cnode);
/* Would the WQE at the head of a queue, or a request that comes now, touch a
 * page that is not its CNode's? */
bool scene_runs_foreign(const struct scene *s, unsigned int chain,
			const struct snic_qp *qp);
bool scene_takes_foreign(const struct scene *s, unsigned int chain);

/* A page's first word, as stores fill it. */
static inline uint64_t scene_word(unsigned int cnode, uint8_t tag)
{
	return tag ? (uint64_t)(cnode + 1) << 32 | tag : 0;
}

#endif /* TEST_MODEL_SCENE_H */
