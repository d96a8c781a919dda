/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node on the software NIC whose queues run when they are told to: a
 * tiny pool and ring, tables of two CNodes, some armed chains from their real
 * images, and a client for each.  What is to happen is a list of requests; in
 * which order it happens is the search's.
 *
 * A move is: a request is sent and delivered; one WQE of a chain's loop queue;
 * one WQE of its client queue; the connection breaks; the agent stops the chain.
 * With an agent, that is mnode/reclaim.c, also: CNode 0 is given up; the agent
 * collects pages, drives its batch, or one WQE of its own queue runs.
 */
#ifndef TEST_MODEL_SCENE_H
#define TEST_MODEL_SCENE_H

#include "core/link.h"
#include "mlx5/encode.h"
#include "snic/engine.h"
#include "explore.h"

#define SCENE_CNODES	2
#define SCENE_CHAINS	5
#define SCENE_REQS	10
#define SCENE_PAGES	16		/* at most */
#define SCENE_SLOTS	4		/* entries of a table */
#define SCENE_DEPTH	4		/* instances of a chain */
#define SCENE_TAIL	16		/* the tail's place behind the head's */

/**
 * struct scene_req - a request of the list
 * @chain:	on which chain
 * @slot:	of the CNode's table
 * @tag:	stores: what the page contains, not 0
 * @cut:	bytes that it lacks at its end
 */
struct scene_req {
	uint8_t chain, slot, tag;
	uint16_t cut;
};

struct scene_chain_cfg {
	enum odrp_wire_chain kind;
	uint8_t cnode;
};

/**
 * struct scene_config - what is searched
 * @exchange:	the programs of page exchange; each instance of a store has a page
 * @node:	recycle=node
 * @nr_pages, @log_ring: pages, the instances' too; log2 of the ring's slots
 * @mapped:	per CNode: its first slots that have a page at the start
 * @rude:	CNode 0 does not wait for answers before it uses a slot again
 * @breaks:	how many connections may break
 * @may_fail:	a chain may fail by itself: the ring is too small
 * @agent:	what stopped chains hold goes back to the ring
 * @kill:	and CNode 0 may be given up
 */
struct scene_config {
	bool strict, rude, may_fail, agent, kill, exchange, node;
	enum snic_fetch fetch;
	uint8_t nr_pages, log_ring, breaks;
	uint8_t mapped[SCENE_CNODES];
	unsigned int nr_chains, nr_reqs;
	struct scene_chain_cfg chain[SCENE_CHAINS];
	struct scene_req req[SCENE_REQS];
};

struct scene_chain {
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	__u64 pages[SCENE_DEPTH];	/* each instance's first */
	struct odrp_wire_word words[ODRP_WIRE_MAX_WORDS];
	uint8_t *arena, *buf;
	uint64_t *client;	/* the client's memory, see scene.c */
	struct snic_qp *loop, *node, *peer;
	struct snic_cq *loop_scq, *node_scq, *node_rcq, *peer_rcq;
	uint32_t client_key;
};

/* What moves change beside the NIC's memory. */
struct scene_state {
	uint8_t sent[SCENE_CHAINS], answered[SCENE_CHAINS];
	uint8_t order[SCENE_CHAINS][SCENE_REQS];	/* requests as sent */
	bool req_sent[SCENE_REQS], req_answered[SCENE_REQS];
	bool broken[SCENE_CHAINS], stopped[SCENE_CHAINS];
	bool killed;
	uint8_t breaks;
	/* What each slot contains, as its CNode knows. */
	uint8_t tag[SCENE_CNODES][SCENE_SLOTS];
	/* The first word of the page that came last, until its answer comes. */
	uint64_t brought[SCENE_CHAINS];
	const char *wrong;
};

/* What an agent that is to be found out does not do. */
enum scene_sloppy {
	SCENE_CAREFUL,
	SCENE_NO_HELD,		/* ask what a stopped chain held */
	SCENE_NO_HOLES,		/* remember empty slots that the head has passed */
};

struct scene {
	struct scene_config cfg;
	enum scene_sloppy sloppy;
	struct scene_chain chain[SCENE_CHAINS];
	struct scene_state st;
	struct snic *nic;
	uint32_t pdn, ring_key;
	struct scene_agent *agent;
	uint64_t *ring, *counters;	/* [0] head, [SCENE_TAIL] tail */
	uint64_t *tt[SCENE_CNODES];
	uint8_t *pool;
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

/* Memory that moves change. */
void scene_watch(struct scene *s, void *at, size_t len);
uint64_t scene_mix_qp(uint64_t h, const struct snic_qp *qp);

/* scene_agent.c.  Its moves, numbered from 0 on; returns how many. */
unsigned int scene_agent_moves(const struct scene *s, uint8_t *ret_moves);
const char *scene_agent_say(uint8_t move);
void scene_agent_apply(struct scene *s, uint8_t move);
void scene_agent_open(struct scene *s);
void scene_agent_close(struct scene *s);
/* The chain is stopped, and what it held is with the agent. */
void scene_agent_stop(struct scene *s, unsigned int chain);
uint64_t scene_agent_hash(const struct scene *s, uint64_t h);
/* Pages in its hands: calls see() for each. */
void scene_agent_pages(const struct scene *s, void *arg,
		       void (*see)(void *arg, uint64_t page));
unsigned int scene_agent_holes(const struct scene *s);
/* NULL, or what it has found that should not be. */
const char *scene_agent_wrong(const struct scene *s);

/* scene_check.c: NULL or what is broken. */
const char *scene_wrong(struct scene *s, bool quiet);
/* A load's page has come, and an answer. */
void scene_brought(struct scene *s, unsigned int chain, uint64_t word);
void scene_answered(struct scene *s, unsigned int chain, uint32_t id);

/* A page's first word, as stores fill it. */
static inline uint64_t scene_word(unsigned int cnode, uint8_t tag)
{
	return tag ? (uint64_t)(cnode + 1) << 32 | tag : 0;
}

#endif /* TEST_MODEL_SCENE_H */
