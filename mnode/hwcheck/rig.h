/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node and a client on one NIC, in loopback: a pool, a ring, a table, a chain
 * that is armed as the agent does it, and a queue pair that sends requests.  struct
 * rig_result has what two NICs must have in common, and no numbers that a NIC chooses
 * itself.
 */
#ifndef HWCHECK_RIG_H
#define HWCHECK_RIG_H

#include "../session/queue.h"
#include "reach.h"

#define RIG_SLOTS	64
#define RIG_MAX_DEPTH	8
#define RIG_RING_PAGES	(2 * RIG_SLOTS)	/* pages of the ring and the table */
#define RIG_PAGES	(RIG_RING_PAGES + RIG_MAX_DEPTH)
#define RIG_RING_SLOTS	512
#define RIG_SCARCE	3
#define RIG_MAX_COUNT	70000		/* needs more than 16 bits */

/* struct rig_prog - a program; @strict: it renews the index of each work request */
struct rig_prog {
	enum odrp_wire_chain chain;
	enum wrc_variant variant;
	bool strict;
	enum wrc_order order;
};

enum rig_table {
	RIG_AS_NEEDED,
	RIG_EMPTY,
	RIG_FULL,
};

/**
 * struct rig_config - one run
 * @window:	outstanding requests, less than depth
 * @quiet:	only the last of @window requests is answered, and the very first one
 * @table:	the table before the first request
 * @scarce:	the ring has RIG_SCARCE pages
 * @deaf:	the client posts no receive entry before @window requests are sent and
 *		nothing moves any more
 * @slot_off:	bytes that are added to each address in the table
 * @huge:	the chain's memory is on huge pages
 */
struct rig_config {
	uint32_t depth, window, count;
	bool quiet;
	enum rig_table table;
	bool scarce, deaf, huge;
	uint64_t slot_off;
};

/**
 * struct rig_answer - a completion of the client's receive queue
 */
struct rig_answer {
	uint8_t opcode;
	uint32_t imm, byte_cnt;
	uint16_t wqe_counter;
};

/**
 * struct rig_books - where each page is
 * @held:	what instances hold; one entry for all if they have no registers
 */
struct rig_books {
	__be64 tt[RIG_SLOTS];
	__be64 ring[RIG_RING_SLOTS];
	uint64_t head, tail;
	uint32_t nr_held;
	struct wrc_held held[RIG_MAX_DEPTH];
};

/**
 * struct rig_result - all that a run leaves behind
 * @err:	0, or why the run ended early
 * @syndrome:	of the chain, if it has stopped
 * @nr_answers, @answers: in the order of their arrival
 * @loop_cqes, @client_cqes: good entries of the CQs that the chain waits on
 * @answer_cqes: good entries of the CQ that counts acknowledged answers
 * @loop_bbs, @client_bbs: BBs that have been executed
 * @passed_early: @deaf: queue_passed() before the client took an answer
 * @passed:	queue_passed() at the end
 * @reached:	translation in the NIC: the first word of each slot's page, READ by a peer
 *		under the slot's key; 0: the READ was refused
 * @end:	when nothing moves any more
 * @pool, @mem:	pages of the node and of the client at that time
 * @cut:	after the connection has been cut; how far the chain gets then depends on
 *		what a NIC checks first
 */
struct rig_result {
	int err;
	uint8_t syndrome;
	uint32_t nr_answers;
	struct rig_answer answers[RIG_MAX_COUNT];
	uint32_t loop_cqes, client_cqes, answer_cqes;
	uint16_t loop_bbs, client_bbs;
	bool passed_early, passed;
	uint64_t reached[RIG_SLOTS];
	struct rig_books end;
	uint8_t pool[RIG_PAGES * ODRP_WIRE_PAGE_SIZE];
	uint8_t mem[RIG_SLOTS * ODRP_WIRE_PAGE_SIZE];
	struct rig_books cut;
};

/**
 * struct rig_node - memory and tables of a node for one program and many runs
 * @keys, @reach: during a run with translation in the NIC
 */
struct rig_node {
	struct side *side;
	struct rig_prog what;
	struct pool pool;
	struct ring ring;
	struct tt tt;
	__u64 registers[RIG_MAX_DEPTH];
	struct keys keys;
	struct reach reach;
};

static inline bool rig_keyed(const struct rig_node *node)
{
	return node->what.variant == WRC_V_KEYED;
}

int rig_open(struct side *side, const struct rig_prog *what,
	     struct rig_node *ret_node);
void rig_close(struct rig_node *node);
/* Sets pool, ring and table for a run. */
void rig_reset(struct rig_node *node, const struct rig_config *cfg);
/* rig-keys.c; without effect if there is no translation in the NIC.  rig_open_keys():
 * makes keys that lead where the table does.  rig_translate(): follows a changed table
 * entry. rig_look_through(): READs all slots like a peer. */
int rig_open_keys(struct rig_node *node);
void rig_close_keys(struct rig_node *node);
int rig_translate(struct rig_node *node, uint32_t slot);
int rig_look_through(struct rig_node *node, uint64_t ret_reached[RIG_SLOTS]);
/* Call before a request to a slot that an earlier request has used. */
int rig_renew_slot(struct rig_node *node, uint32_t slot);
/* Fills a page with words that depend on its number. */
void rig_fill(uint8_t *page, uint32_t number);

/* 0: the run has taken place; its own error is in ret_result->err.  -errno, with a
 * sentence in why: it could not be set up. */
int rig_run(struct rig_node *node, const struct rig_config *cfg,
	    struct rig_result *ret_result, char why[WRC_WHY_MAX]);

#define RIG_DIFF_MAX 200

/* Describes the first difference.  False: there is none. */
bool rig_differ(const struct rig_result *a, const struct rig_result *b,
		char what[RIG_DIFF_MAX]);

#endif /* HWCHECK_RIG_H */
