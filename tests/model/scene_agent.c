// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent in a scene: mnode/reclaim.c and its queue pair, on the scene's NIC.
 * Its session and queue objects are made by hand, without connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <log.h>
#include <nic-soft.h>
#include <reclaim.h>
#include "scene.h"

#define MAX_HOLES 8
#define DATA_LEN 256		/* of the queue's memory: tail, and all pages */

enum agent_move {
	AGENT_KILL,	/* CNode 0 is given up: all its chains are stopped */
	AGENT_COLLECT,	/* orphans, tables and holes to the batch */
	AGENT_DRIVE,	/* the batch one step on */
	AGENT_WQE,	/* of its queue */
};

struct scene_agent {
	struct nic *nic;
	struct pool pool;
	struct reclaim rc;
	struct sess sess[SCENE_CNODES];
	struct queue queue[SCENE_CHAINS];
	struct queue *queues[SCENE_CNODES][SCENE_CHAINS][ODRP_WIRE_NR_CHAINS];
	struct stock stock;	/* empty, and stays so */
	uint64_t orphans[SCENE_CNODES][SCENE_CHAINS][ODRP_WIRE_NR_CHAINS];
	struct snic_qp *qp;
	struct snic_cq *cq;
};

/* ---- set-up ----------------------------------------------------------------- */

static void make_pool(struct scene *s, struct scene_agent *a)
{
	a->pool = (struct pool){
		.nic = a->nic, .pdn = s->pdn, .pages = s->cfg.nr_pages,
		.ring_key = s->ring_key, .log_len = s->cfg.log_ring + 3,
		.ring = (volatile __be64 *)s->ring, .head = s->counters,
		.tail = s->counters + SCENE_TAIL,
	};
	assert_int_equal(pool_tail_iova(&a->pool) - pool_head_iova(&a->pool),
			 SCENE_TAIL * sizeof(uint64_t));
}

/* Each chain has a queue number of its own. */
static void make_queues(struct scene *s, struct scene_agent *a)
{
	unsigned int c;

	for (c = 0; c < s->cfg.nr_chains; c++) {
		const struct scene_chain_cfg *cfg = &s->cfg.chain[c];
		struct scene_chain *ch = &s->chain[c];

		a->queue[c] = (struct queue){
			.pool = &a->pool, .prog = &ch->prog, .geom = ch->geom,
			.arena.va = ch->arena, .loop_qpn = ch->loop->qpn,
			.client_qpn = ch->node->qpn,
			.client_rcqn = ch->node_rcq->cqn,
		};
		a->queues[cfg->cnode][c][cfg->kind] = &a->queue[c];
	}
	for (c = 0; c < SCENE_CNODES; c++)
		a->sess[c] = (struct sess){
			.id = c, .nr_queues = SCENE_CHAINS, .pool = &a->pool,
			.tt = { .nr_slots = SCENE_SLOTS, .entries =
				(volatile __be64 *)s->tt[c] },
			.queues = a->queues[c], .orphans = a->orphans[c],
		};
}

/* Its list must not move while states are saved and put back. */
static void make_reclaim(struct scene *s, struct scene_agent *a)
{
	struct reclaim *rc = &a->rc;

	assert_int_equal(stock_init(&a->stock, &a->pool, 0), 0);
	assert_int_equal(reclaim_init(rc, &a->pool, &a->stock), 0);
	rc->holes.at = calloc(MAX_HOLES, sizeof(*rc->holes.at));
	assert_non_null(rc->holes.at);
	rc->holes.max = MAX_HOLES;
	a->qp = snic_qp_lookup(s->nic, rc->q.qpn);
	a->cq = snic_cq_lookup(s->nic, rc->q.cqn);
	scene_watch(s, rc->holes.at, MAX_HOLES * sizeof(*rc->holes.at));
	scene_watch(s, rc->seen, sizeof(*rc->seen));
	scene_watch(s, rc->q.mem.va, (size_t)WRC_WQE_BB << CTLQ_LOG_SQ);
	scene_watch(s, rc->q.data, DATA_LEN);
	scene_watch(s, a->qp, sizeof(*a->qp));
	if (a->qp->early)
		scene_watch(s, a->qp->early, (size_t)WRC_WQE_BB << CTLQ_LOG_SQ);
	scene_watch(s, a->cq, sizeof(*a->cq));
	scene_watch(s, a->cq->attr.buf,
		    sizeof(struct wrc_cqe) << a->cq->attr.log_size);
}

void scene_agent_open(struct scene *s)
{
	struct scene_agent *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	log_init(LOG_EMERG);	/* what it finds is in its counters */
	assert_int_equal(nic_soft_adopt(s->nic, &s->nic->cfg, &a->nic), 0);
	s->agent = a;
	make_pool(s, a);
	make_queues(s, a);
	make_reclaim(s, a);
	scene_watch(s, a, sizeof(*a));
}

void scene_agent_close(struct scene *s)
{
	struct scene_agent *a = s->agent;

	reclaim_fini(&a->rc);
	stock_fini(&a->stock);
	a->nic->ops->close(a->nic);
	free(a);
	s->agent = NULL;
}

/* ---- moves ------------------------------------------------------------------- */

void scene_agent_stop(struct scene *s, unsigned int chain)
{
	const struct scene_chain_cfg *cfg = &s->cfg.chain[chain];
	struct scene_agent *a = s->agent;

	queue_stop(&a->queue[chain]);
	s->st.stopped[chain] = true;
	if (s->sloppy == SCENE_NO_HELD)
		return;
	if (reclaim_queue(&a->rc, &a->sess[cfg->cnode], chain, cfg->kind) ||
	    a->rc.holes.max != MAX_HOLES)
		s->st.wrong = "the agent cannot tell what a chain held";
	if (s->sloppy == SCENE_NO_HOLES)
		a->rc.holes.nr = 0;
}

static void give_up(struct scene *s)
{
	unsigned int c;

	for (c = 0; c < s->cfg.nr_chains; c++) {
		if (s->cfg.chain[c].cnode)
			continue;
		if (!s->st.stopped[c])
			scene_agent_stop(s, c);
		s->st.broken[c] = true;
	}
	s->st.killed = true;
	s->agent->sess[0].state = SESS_DYING;
	reclaim_begin_scan(&s->agent->rc);
}

static void collect(struct scene_agent *a)
{
	unsigned int c;

	reclaim_found(&a->rc);
	for (c = 0; c < SCENE_CNODES; c++)
		reclaim_collect(&a->rc, &a->sess[c]);
}

void scene_agent_apply(struct scene *s, uint8_t move)
{
	struct scene_agent *a = s->agent;

	switch (move) {
	case AGENT_KILL:
		give_up(s);
		break;
	case AGENT_COLLECT:
		collect(a);
		break;
	case AGENT_DRIVE:
		reclaim_run(&a->rc);
		break;
	default:
		snic_sq_run_qp(a->qp);
	}
}

static bool may_collect(const struct scene_agent *a)
{
	const struct reclaim *rc = &a->rc;
	size_t i;

	if (rc->state != RECLAIM_IDLE)
		return false;
	for (i = 0; i < SCENE_CNODES; i++)
		if (a->sess[i].nr_orphans ||
		    (a->sess[i].state == SESS_DYING &&
		     a->sess[i].scan < a->sess[i].tt.nr_slots))
			return true;
	for (i = 0; i < rc->holes.nr; i++)
		if (a->pool.ring[ring_index(a->pool.log_len, rc->holes.at[i])])
			return true;
	return false;
}

/* It has something to do that does not wait for the NIC. */
static bool may_drive(const struct scene_agent *a)
{
	if (a->rc.state == RECLAIM_IDLE)
		return a->rc.nr;
	return a->cq->ci != a->cq->count;
}

unsigned int scene_agent_moves(const struct scene *s, uint8_t *ret_moves)
{
	const struct scene_agent *a = s->agent;
	unsigned int n = 0;

	if (s->cfg.kill && !s->st.killed)
		ret_moves[n++] = AGENT_KILL;
	if (may_collect(a))
		ret_moves[n++] = AGENT_COLLECT;
	if (may_drive(a))
		ret_moves[n++] = AGENT_DRIVE;
	if (a->qp->on_run_queue && a->qp->sq_ci != a->qp->sq_limit)
		ret_moves[n++] = AGENT_WQE;
	return n;
}

const char *scene_agent_say(uint8_t move)
{
	static const char *const name[] = {
		[AGENT_KILL] = "gives CNode 0 up", [AGENT_COLLECT] = "collects",
		[AGENT_DRIVE] = "drives its batch", [AGENT_WQE] = "one WQE",
	};

	return name[move];
}

/* ---- its state ----------------------------------------------------------------- */

uint64_t scene_agent_hash(const struct scene *s, uint64_t h)
{
	const struct scene_agent *a = s->agent;
	const struct reclaim *rc = &a->rc;
	uint64_t v[] = {
		rc->state, rc->nr, rc->nr_dest, rc->put, rc->nr_runs,
		rc->holes.nr, rc->nr_double, rc->nr_foreign, rc->q.next,
		rc->q.outstanding, a->cq->count, a->cq->ci,
		a->sess[0].state, a->sess[0].scan,
	};
	unsigned int i;

	h = explore_mix(h, v, sizeof(v));
	h = explore_mix(h, rc->pages, rc->nr * sizeof(rc->pages[0]));
	h = explore_mix(h, rc->dest, rc->nr_dest * sizeof(rc->dest[0]));
	for (i = 0; i < rc->nr_runs; i++)
		h = explore_mix(h, &(uint64_t){ rc->run[i] }, sizeof(uint64_t));
	h = explore_mix(h, rc->holes.at,
			rc->holes.nr * sizeof(rc->holes.at[0]));
	h = explore_mix(h, rc->seen, sizeof(*rc->seen));
	h = explore_mix(h, a->orphans, sizeof(a->orphans));
	h = explore_mix(h, rc->q.data, DATA_LEN);
	return scene_mix_qp(h, a->qp);
}

/* Pages of the batch whose WRITE has been executed. */
static unsigned int written(const struct scene_agent *a)
{
	const struct reclaim *rc = &a->rc;
	unsigned int n = rc->put, left, i;

	if (rc->state != RECLAIM_PUT)
		return 0;
	left = (uint16_t)(a->qp->sq_limit - a->qp->sq_ci);
	for (i = 0; i + left < rc->nr_runs; i++)
		n += rc->run[i];
	return n;
}

void scene_agent_pages(const struct scene *s, void *arg,
		       void (*see)(void *arg, uint64_t page))
{
	const struct scene_agent *a = s->agent;
	unsigned int c, n, kind, i;

	for (i = written(a); i < a->rc.nr; i++)
		see(arg, a->rc.pages[i]);
	for (c = 0; c < SCENE_CNODES; c++)
		for (n = 0; n < SCENE_CHAINS; n++)
			for (kind = 0; kind < ODRP_WIRE_NR_CHAINS; kind++)
				see(arg, a->orphans[c][n][kind]);
}

unsigned int scene_agent_holes(const struct scene *s)
{
	return s->agent->rc.holes.nr;
}

const char *scene_agent_wrong(const struct scene *s)
{
	const struct reclaim *rc = &s->agent->rc;

	if (rc->nr_double || rc->nr_foreign)
		return "the agent found a page twice, or what is no page";
	if (s->agent->qp->state == SNIC_QP_ERR)
		return "the agent's queue failed";
	return NULL;
}
