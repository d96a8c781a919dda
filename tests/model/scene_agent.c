// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent in a scene: mnode/session/lend.c and its queue pair, on the scene's NIC.
 * Its session and queue objects are made by hand, without connections.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <session/lend.h>
#include <log.h>
#include "scene.h"

#define DATA_LEN 256		/* of the queue's memory: counter, and all pages */

enum agent_move {
	AGENT_KILL,	/* CNode 0 is given up: all its chains are stopped */
	AGENT_DROP,	/* its key is destroyed */
	AGENT_COLLECT,	/* and its pages are collected */
	AGENT_HANGUP,	/* its connections go, all at once */
	AGENT_SETTLE,	/* and its ring is put in order */
	AGENT_SHRINK,	/* pages of a lease are to be the other CNode's */
	AGENT_REGROW,	/* one is to be its again */
	AGENT_TELL_0,	/* CNode 0 is told of its larger lease */
	AGENT_TELL_1,	/* CNode 1 */
	AGENT_RUN,	/* the lender, one step on */
	AGENT_WQE,	/* of its queue */
	AGENT_PEEK,	/* SCENE_PLAIN_GATHER: into the next slot taken */
	AGENT_CLEAR,	/* and empties it */
};

struct scene_agent {
	struct pool pool;
	uint64_t bit[FREE_BLOCK / 64];
	struct free_block block;
	bool clean[SCENE_PAGES];
	struct sess sess[SCENE_CNODES];
	struct sess *all[SCENE_CNODES];
	__u64 hand[SCENE_CNODES][SCENE_PAGES];
	struct queue queue[SCENE_CHAINS];
	struct queue *queues[SCENE_CNODES][SCENE_CHAINS][ODRP_WIRE_NR_CHAINS];
	struct snic_qp *qp;
	struct snic_cq *cq;
	struct lender lender;	/* the last: most of its pages are never used */
};

/* ---- set-up ----------------------------------------------------------------- */

_Static_assert(SCENE_PAGES <= FREE_BLOCK, "one block");

static void make_pool(struct scene *s, struct scene_agent *a)
{
	a->pool = (struct pool){
		.nic = s->agents_nic, .pdn = s->pdn, .pages = s->nr_pages,
		.page_mem.va = s->pool, .page_key = s->keys[0].pool,
		.owner = s->owner, .clean = a->clean,
	};
	free_map_init(&a->pool.free, s->nr_pages, a->bit, &a->block);
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
			.loop_scqn = ch->loop_scq->cqn,
			.other_cqn = ch->node_scq->cqn,
		};
		a->queues[cfg->cnode][c][cfg->kind] = &a->queue[c];
		a->sess[cfg->cnode].armed += scene_registers(s, c);
	}
}

/* All that a CNode has is its lease. */
static void make_session(struct scene *s, struct scene_agent *a, unsigned int c)
{
	uint64_t has = s->cfg.mapped[c] + s->cfg.free[c];

	a->all[c] = &a->sess[c];
	a->sess[c] = (struct sess){
		.state = SESS_ATTACHED,
		.id = c, .nr_queues = SCENE_CHAINS, .pool = &a->pool,
		.owner = scene_owner(c), .ring = s->ring[c],
		.lease = { .target = has, .ceiling = has, .granted = has },
		.armed = a->sess[c].armed, .lent = has + a->sess[c].armed,
		.held = { .at = a->hand[c], .max = SCENE_PAGES },
		.tt = { .nr_slots = SCENE_SLOTS, .entries =
			(volatile __be64 *)s->tt[c] },
		.queues = a->queues[c],
	};
}

static void watch_lender(struct scene *s, struct scene_agent *a)
{
	struct lender *l = &a->lender;

	scene_watch(s, l, offsetof(struct lender, pages[SCENE_PAGES]));
	scene_watch(s, &l->nr, sizeof(*l) - offsetof(struct lender, nr));
	a->qp = snic_qp_lookup(s->nic, l->q.qpn);
	a->cq = snic_cq_lookup(s->nic, l->q.cqn);
	scene_watch(s, l->q.mem.va, (size_t)WRC_WQE_BB << CTLQ_LOG_SQ);
	scene_watch(s, l->q.data, DATA_LEN);
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
	unsigned int c;

	assert_non_null(a);
	log_init(LOG_EMERG);	/* what it finds is in its counters */
	s->agent = a;
	make_pool(s, a);
	make_queues(s, a);
	for (c = 0; c < SCENE_CNODES; c++)
		make_session(s, a, c);
	assert_int_equal(lend_init(&a->lender, &a->pool, 0,
				   LEND_SCRUB_NONE), 0);
	watch_lender(s, a);
	scene_watch(s, a, offsetof(struct scene_agent, lender));
	scene_watch(s, s->owner, sizeof(s->owner));
}

void scene_agent_close(struct scene *s)
{
	lend_fini(&s->agent->lender);
	free(s->agent);
	s->agent = NULL;
}

void scene_agent_be(struct scene *s, enum scene_sloppy sloppy)
{
	unsigned int c;

	s->sloppy = sloppy;
	for (c = 0; c < s->cfg.nr_chains; c++) {
		struct queue *q = &s->agent->queue[c];

		if (sloppy == SCENE_RECEIVED_ONLY)
			q->other_cqn = q->client_rcqn;
		if (sloppy == SCENE_LOOP_ONLY)
			q->other_cqn = q->loop_scqn;
	}
}

/* ---- chains that stop ----------------------------------------------------------- */

void scene_agent_stop(struct scene *s, unsigned int chain)
{
	const struct scene_chain_cfg *cfg = &s->cfg.chain[chain];
	struct scene_agent *a = s->agent;
	int r;

	queue_stop(&a->queue[chain]);
	s->st.stopped[chain] = true;
	a->queues[cfg->cnode][chain][cfg->kind] = NULL;
	if (s->sloppy == SCENE_NO_HELD)
		return;
	r = lend_stopped(&a->lender, &a->sess[cfg->cnode], &a->queue[chain]);
	if (r == -EXDEV && s->cfg.rude) {
		damage_step(&a->sess[cfg->cnode].damage, DAMAGE_EV_TABLE, 0);
		return;
	}
	if (r && r != -EPIPE)	/* a store that found nothing */
		s->st.wrong = "the agent cannot tell what a chain held";
}

static void stop_all(struct scene *s)
{
	unsigned int c;

	for (c = 0; c < s->cfg.nr_chains; c++) {
		if (s->cfg.chain[c].cnode)
			continue;
		if (!s->st.stopped[c])
			scene_agent_stop(s, c);
		s->st.broken[c] = true;
	}
}

static void give_up(struct scene *s)
{
	stop_all(s);
	s->st.killed = true;
	sess_event(&s->agent->sess[0], SESS_EV_EVICTED);
}

static void drop(struct scene *s)
{
	scene_keys_drop(s, 0);
	s->st.dropped = true;
}

static void settle(struct scene *s)
{
	struct scene_agent *a = s->agent;
	int r;

	sess_event(&a->sess[0], SESS_EV_LOST);
	sess_event(&a->sess[0], SESS_EV_RESUME);
	do {
		r = lend_settle(&a->lender, &a->sess[0]);
	} while (r == -EAGAIN);
	if (r && !s->cfg.rude)
		s->st.wrong = "the agent cannot fill the ring";
	s->st.settled = true;
}

bool scene_agent_collected(const struct scene *s)
{
	const struct sess *sess = &s->agent->sess[0];

	return s->st.killed && sess->scan == s->nr_pages;
}

static bool connection_broke(const struct scene *s)
{
	unsigned int c;

	for (c = 0; c < s->cfg.nr_chains; c++)
		if (!s->cfg.chain[c].cnode && s->st.broken[c])
			return true;
	return false;
}

/* ---- pages to and fro ------------------------------------------------------------ */

static void shrink(struct scene *s)
{
	struct scene_agent *a = s->agent;
	struct lease *from = &a->sess[s->cfg.gives].lease;

	from->target -= s->cfg.shrink;
	from->granted = from->ceiling = from->target;
	a->sess[!s->cfg.gives].lease.target += s->cfg.shrink;
	s->st.shrunk = true;
}

/* A CNode that keeps the rules has confirmed the smaller one. */
static bool may_shrink(const struct scene *s)
{
	unsigned int c = s->cfg.gives;

	return s->cfg.shrink && !s->st.shrunk &&
	       (!scene_keeps_rules(s, c) ||
		scene_used(s, c) + s->cfg.shrink <= scene_agent_lease(s, c));
}

static void regrow(struct scene *s)
{
	s->agent->sess[s->cfg.gives].lease.target++;
	s->st.regrown = true;
}

/* As mnode/manager.c decides. */
static bool may_be_told(const struct scene *s, unsigned int c)
{
	const struct sess *to = &s->agent->sess[c];

	return sess_is_live(to) && to->lease.target > to->lease.granted &&
	       s->agent->lender.sess != to && lend_about(to) >= lend_goal(to);
}

static void tell(struct scene *s, unsigned int c)
{
	struct lease *l = &s->agent->sess[c].lease;

	l->granted = l->ceiling = l->target;
	s->st.told[c] = true;
}

uint64_t scene_agent_lease(const struct scene *s, unsigned int cnode)
{
	return s->agent->sess[cnode].lease.granted;
}

static void run(struct scene *s)
{
	struct scene_agent *a = s->agent;
	unsigned int c;

	lend_run(&a->lender, a->all, SCENE_CNODES);
	for (c = 0; c < s->cfg.nr_chains && s->sloppy == SCENE_NO_GRACE; c++)
		a->queue[c].marked = false;
}

static volatile __be64 *taken_slot(const struct sess *s)
{
	return &s->ring.slot[ring_index(s->ring.log_len, s->taken)];
}

static void clear(struct scene *s)
{
	struct sess *sess = &s->agent->sess[0];

	*taken_slot(sess) = 0;
	sess->held.at[sess->held.nr++] = s->st.peeked;
	sess->taken = ring_advance(sess->ring.log_len, sess->taken, 1);
	sess->nr_taken--;
	s->st.peeked = 0;
}

/* ---- moves ------------------------------------------------------------------- */

void scene_agent_apply(struct scene *s, uint8_t move)
{
	struct scene_agent *a = s->agent;

	switch (move) {
	case AGENT_KILL:
		give_up(s);
		break;
	case AGENT_DROP:
		drop(s);
		break;
	case AGENT_COLLECT:
		lend_collect(&a->lender, &a->sess[0]);
		break;
	case AGENT_HANGUP:
		stop_all(s);
		s->st.hung_up = true;
		break;
	case AGENT_SETTLE:
		settle(s);
		break;
	case AGENT_SHRINK:
		shrink(s);
		break;
	case AGENT_REGROW:
		regrow(s);
		break;
	case AGENT_TELL_0:
	case AGENT_TELL_1:
		tell(s, move - AGENT_TELL_0);
		break;
	case AGENT_RUN:
		run(s);
		break;
	case AGENT_WQE:
		/* The lender looks at nothing before its completion, which
		 * it may find as late as it likes. */
		snic_sq_run_qp(a->qp);
		snic_land_all(a->qp);
		break;
	case AGENT_PEEK:
		s->st.peeked = be64toh(*taken_slot(&a->sess[0]));
		break;
	default:
		clear(s);
	}
}

/* The queue that is asked next in the grace period says yes. */
static bool next_passed(const struct sess *s)
{
	unsigned int at = s->held.asking, nr = s->nr_queues * ODRP_WIRE_NR_CHAINS;
	const struct queue *q = NULL;

	for (; at < nr && !q; at++)
		q = s->queues[at / ODRP_WIRE_NR_CHAINS][at % ODRP_WIRE_NR_CHAINS];
	return !q || queue_passed(q);
}

/* There is something to do for it that does not wait for others. */
static bool has_work(const struct scene_agent *a, const struct sess *s)
{
	uint64_t there = ring_pages(&s->ring);
	uint64_t about = lend_about(s), goal = lend_goal(s);

	if (!sess_is_live(s))
		return false;
	if (s->nr_taken)
		return *taken_slot(s);
	if (about < goal)
		return s->held.nr || a->pool.nr_free;
	if (about > goal)
		return there && there <= ring_slots(s->ring.log_len) / 2;
	return s->held.nr && (!s->held.waiting || !s->held.marked || next_passed(s));
}

static bool may_run(const struct scene *s)
{
	const struct scene_agent *a = s->agent;

	if (a->lender.state != LEND_IDLE)
		return a->cq->ci != a->cq->count;
	if (s->sloppy == SCENE_PLAIN_GATHER && a->sess[0].nr_taken)
		return false;
	return has_work(a, &a->sess[0]) || has_work(a, &a->sess[1]);
}

bool scene_agent_evicts(const struct scene *s)
{
	return s->agent && (s->cfg.kill || s->agent->sess[0].damage == DAMAGE_TABLE);
}

/* With translation in the NIC: when no UMR knows of the key any more it goes, and
 * then pages may go. */
static unsigned int moves_of_eviction(const struct scene *s, bool free,
				      uint8_t *ret_moves)
{
	bool late = !s->cfg.keyed || s->sloppy == SCENE_KEYS_LATE;
	bool early = s->sloppy == SCENE_KEYS_EARLY;
	unsigned int n = 0;

	if (!s->st.killed && (!early || s->st.dropped))
		ret_moves[n++] = AGENT_KILL;
	if (s->cfg.keyed && !s->st.dropped && (s->st.killed || early))
		ret_moves[n++] = AGENT_DROP;
	if (s->st.killed && (s->st.dropped || late) && free &&
	    !scene_agent_collected(s))
		ret_moves[n++] = AGENT_COLLECT;
	return n;
}

/* For the whole life of CNode 0. */
static unsigned int moves_of_life(const struct scene *s, uint8_t *ret_moves)
{
	const struct scene_agent *a = s->agent;
	bool free = a->lender.sess != &a->sess[0];
	unsigned int n = 0;

	if (may_shrink(s))
		ret_moves[n++] = AGENT_SHRINK;
	if (scene_agent_evicts(s))
		n += moves_of_eviction(s, free, ret_moves + n);
	if (s->st.killed)
		return n;
	if (s->cfg.hangup && !s->st.hung_up && connection_broke(s))
		ret_moves[n++] = AGENT_HANGUP;
	if (s->st.hung_up && !s->st.settled && free)
		ret_moves[n++] = AGENT_SETTLE;
	if (s->cfg.regrow && s->st.shrunk && !s->st.regrown)
		ret_moves[n++] = AGENT_REGROW;
	return n;
}

unsigned int scene_agent_moves(const struct scene *s, uint8_t *ret_moves)
{
	const struct scene_agent *a = s->agent;
	unsigned int n = moves_of_life(s, ret_moves);
	bool peeks = s->sloppy == SCENE_PLAIN_GATHER && a->sess[0].nr_taken;

	if (may_be_told(s, 0))
		ret_moves[n++] = AGENT_TELL_0;
	if (may_be_told(s, 1))
		ret_moves[n++] = AGENT_TELL_1;
	if (may_run(s))
		ret_moves[n++] = AGENT_RUN;
	if (peeks && s->st.peeked)
		ret_moves[n++] = AGENT_CLEAR;
	else if (peeks && *taken_slot(&a->sess[0]))
		ret_moves[n++] = AGENT_PEEK;
	if (a->qp->on_run_queue && a->qp->sq_ci != a->qp->sq_limit)
		ret_moves[n++] = AGENT_WQE;
	return n;
}

const char *scene_agent_say(uint8_t move)
{
	static const char *const name[] = {
		[AGENT_KILL] = "gives CNode 0 up",
		[AGENT_DROP] = "destroys its key",
		[AGENT_COLLECT] = "collects its pages",
		[AGENT_HANGUP] = "CNode 0 hangs up",
		[AGENT_SETTLE] = "puts its ring in order",
		[AGENT_SHRINK] = "changes the leases",
		[AGENT_REGROW] = "changes a lease again",
		[AGENT_TELL_0] = "tells CNode 0",
		[AGENT_TELL_1] = "tells CNode 1",
		[AGENT_RUN] = "a step of the lender",
		[AGENT_WQE] = "one WQE",
		[AGENT_PEEK] = "looks into a slot",
		[AGENT_CLEAR] = "empties a slot",
	};

	return name[move];
}

/* ---- its state ----------------------------------------------------------------- */

static uint64_t hash_lender(const struct scene_agent *a, uint64_t h)
{
	const struct lender *l = &a->lender;
	uint64_t v[] = {
		l->state, l->sess ? l->sess->owner : 0, l->nr, l->head,
		l->next % SCENE_CNODES, l->nr_foreign, l->q.next,
		l->q.outstanding, a->cq->count, a->cq->ci,
	};

	if (l->state == LEND_IDLE)	/* what is left of the last piece of work */
		v[2] = v[3] = 0;
	h = explore_mix(h, v, sizeof(v));
	if (l->state == LEND_IDLE)
		return h;
	h = explore_mix(h, l->pages, l->nr * sizeof(l->pages[0]));
	return explore_mix(h, l->q.data, DATA_LEN);
}

static uint64_t hash_session(const struct sess *s, uint64_t h)
{
	uint64_t v[] = {
		s->state, s->scan, s->lent, s->armed, s->nr_taken,
		s->nr_taken ? s->taken : 0, s->lease.target, s->lease.granted,
		s->held.nr, s->held.waiting,
		s->held.waiting ? s->held.asking << 1 | s->held.marked : 0,
	};
	unsigned int n, c;
	struct queue *q;

	h = explore_mix(h, v, sizeof(v));
	h = explore_mix(h, s->held.at, s->held.nr * sizeof(s->held.at[0]));
	if (!s->held.waiting)	/* marked anew, with the next grace period */
		return h;
	sess_for_each_queue(s, n, c, q)
		h = explore_mix(h, &(uint64_t){ q->marked ? 1 + q->mark : 0 },
				sizeof(uint64_t));
	return h;
}

/* What the agent counts in one. */
static uint64_t hash_cq(const struct scene *s, const struct snic_cq *cq,
			uint64_t h)
{
	struct nic_cq_info info;

	assert_int_equal(s->agents_nic->node->ops->cq_info(s->agents_nic, cq->cqn,
							   &info), 0);
	return explore_mix(h, &(uint64_t){ info.written |
					   (uint64_t)info.errors << 32 },
			   sizeof(uint64_t));
}

uint64_t scene_agent_hash(const struct scene *s, uint64_t h)
{
	const struct scene_agent *a = s->agent;
	unsigned int c;

	h = hash_lender(a, h);
	h = explore_mix(h, a->bit, sizeof(a->bit));
	h = explore_mix(h, s->owner, sizeof(s->owner));
	for (c = 0; c < SCENE_CNODES; c++)
		h = hash_session(&a->sess[c], h);
	for (c = 0; c < s->cfg.nr_chains; c++) {
		h = hash_cq(s, s->chain[c].node_scq, h);
		h = hash_cq(s, s->chain[c].node_rcq, h);
	}
	return scene_mix_qp(h, a->qp);
}

/* ---- what it has, and what is wrong ------------------------------------------------- */

void scene_agent_pages(const struct scene *s, void *arg,
		       void (*see)(void *arg, uint64_t page, uint16_t owner))
{
	const struct scene_agent *a = s->agent;
	unsigned int c, i;

	for (i = 0; i < a->pool.pages; i++)
		if (free_map_has(&a->pool.free, i))
			see(arg, page_addr(i), POOL_NOBODY);
	for (c = scene_agent_collected(s); c < SCENE_CNODES; c++)
		for (i = 0; i < a->sess[c].held.nr; i++)
			see(arg, a->sess[c].held.at[i], scene_owner(c));
}

/* When all is done, each has what it was lent; but who breaks the rules, or
 * whose chains fail, may owe pages. */
static const char *left_undone(const struct scene *s)
{
	const struct scene_agent *a = s->agent;
	unsigned int c;

	if (s->st.killed && a->sess[0].lent)
		return "the agent: pages of a CNode that is gone";
	if (s->cfg.rude || s->cfg.may_fail || s->cfg.regrow)
		return NULL;
	for (c = s->st.killed; c < SCENE_CNODES; c++)
		if (lend_about(&a->sess[c]) != lend_goal(&a->sess[c]) ||
		    a->sess[c].held.nr)
			return "the agent: a ring that is not as it should be";
	return NULL;
}

const char *scene_agent_wrong(const struct scene *s, bool quiet)
{
	if (s->agent->lender.nr_foreign)
		return "the agent found what is not its CNode's page";
	if (s->agent->qp->state == SNIC_QP_ERR)
		return "the agent's queue failed";
	return quiet ? left_undone(s) : NULL;
}
