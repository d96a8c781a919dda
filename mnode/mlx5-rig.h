/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node and a client on one NIC, in loopback: a pool, a table, one
 * chain armed as the agent arms it, and a queue pair that sends it requests.
 * What can be compared between two NICs is in struct rig_result; numbers that
 * a NIC chooses itself are not in it.
 */
#ifndef MNODE_MLX5_RIG_H
#define MNODE_MLX5_RIG_H

#include "mlx5-side.h"
#include "queue.h"

#define RIG_PAGES	64
#define RIG_SLOTS	64
#define RIG_MAX_COUNT	60	/* requests: no slot twice */

/**
 * struct rig_answer - a completion of the client's receive queue
 */
struct rig_answer {
	uint8_t opcode;
	uint32_t imm, byte_cnt;
	uint16_t wqe_counter;
};

/**
 * struct rig_result - all that a run leaves behind
 * @err:	0, or why it ended early
 * @syndrome:	of the chain, if it broke
 * @nr_answers, @answers: in the order in which they came
 * @loop_cqes, @client_cqes: entries of the CQs that the chain waits on
 * @loop_bbs, @client_bbs: BBs executed
 * @tt, @ring, @head, @tail, @pool, @mem: the node's memory and the client's
 *		pages
 */
struct rig_result {
	int err;
	uint8_t syndrome;
	uint32_t nr_answers;
	struct rig_answer answers[RIG_MAX_COUNT];
	uint32_t loop_cqes, client_cqes;
	uint16_t loop_bbs, client_bbs;
	__be64 tt[RIG_SLOTS];
	__be64 ring[2 * RIG_PAGES];
	uint64_t head, tail;
	uint8_t pool[RIG_PAGES * ODRP_WIRE_PAGE_SIZE];
	uint8_t mem[RIG_MAX_COUNT * ODRP_WIRE_PAGE_SIZE];
};

/**
 * struct rig_config - one run
 * @window:	requests outstanding, less than depth
 * @unmapped:	the table is empty, whatever the chain
 * @slot_off:	bytes added to each address in the table
 */
struct rig_config {
	enum odrp_wire_chain chain;
	uint32_t depth, window, count;
	bool unmapped;
	uint64_t slot_off;
};

/* 0, and what came of it; -errno with a sentence: it could not even begin. */
int rig_run(struct side *side, const struct rig_config *cfg,
	    struct rig_result *ret_result, char why[WRC_WHY_MAX]);

#define RIG_DIFF_MAX 200

/* What differs first, in words; false: nothing. */
bool rig_differ(const struct rig_result *a, const struct rig_result *b,
		char what[RIG_DIFF_MAX]);

#endif /* MNODE_MLX5_RIG_H */
