// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How the pieces of one queue lie in its arena:
 *
 *	loop_sq | (gap) client_rq | client_sq | loop_dbr | client_dbr | scratch
 *
 * Send queues are page aligned; the client's receive queue ends where its send
 * queue begins, because an mlx5 QP takes both as one piece of memory.
 */
#include "link.h"
#include "turn.h"

#define PAGE ODRP_WIRE_PAGE_SIZE
#define MAX_LOG_SQ 15
#define DBR_LINE 64		/* a cache line for each record */

static __u8 log2_of(__u32 n)
{
	__u8 log = 0;

	while (n >>= 1)
		log++;
	return log;
}

static __u32 page_align(__u32 n)
{
	return (n + PAGE - 1) & ~(__u32)(PAGE - 1);
}

/* Entries are strides of a power of two of segments, all of them usable. */
static __u8 rq_stride(const struct wrc_prog *prog)
{
	__u32 len = sizeof(struct wrc_wqe_data);

	while (len < prog->nr_scatter * sizeof(struct wrc_wqe_data))
		len <<= 1;
	return log2_of(len);
}

int wrc_geom_init(const struct wrc_prog *prog, __u32 depth,
		  struct wrc_geom *ret_geom)
{
	struct wrc_geom *g = ret_geom;
	const struct wrc_insn *head = &prog->insn[prog->nr_head - 1];

	memset(g, 0, sizeof(*g));
	if (depth < 4 || depth > 1024 || depth & (depth - 1))
		return -ERANGE;
	g->depth = depth;
	g->loop_bb = prog->bb[WRC_LOOP];
	g->client_bb = prog->bb[WRC_CLIENT];
	g->log_loop_sq = log2_of(depth * g->loop_bb);
	g->log_client_sq = log2_of(depth * g->client_bb);
	if (g->log_loop_sq > MAX_LOG_SQ || g->log_client_sq > MAX_LOG_SQ)
		return -ERANGE;
	g->log_rq = log2_of(depth);
	g->log_rq_stride = rq_stride(prog);

	g->loop_sq = 0;
	g->client_sq = page_align(g->loop_sq + (WRC_WQE_BB << g->log_loop_sq) +
				  (depth << g->log_rq_stride));
	g->client_rq = g->client_sq - (depth << g->log_rq_stride);
	g->loop_dbr = g->client_sq + (WRC_WQE_BB << g->log_client_sq);
	g->client_dbr = g->loop_dbr + DBR_LINE;
	g->scratch = g->client_dbr + DBR_LINE;
	g->arena_len = page_align(g->scratch + depth * WRC_SCRATCH +
				  prog->nr_cells * sizeof(__u64));
	g->buf_len = prog->page && !wrc_owns(prog) ? depth * PAGE : 0;

	g->start_bb = head->bb + head->nr_bb;
	g->rq_posted = prog->post == WRC_NONE ? depth - 1 : depth;
	g->req_len = prog->req_len;
	return wrc_turn_shape(prog, g);
}
