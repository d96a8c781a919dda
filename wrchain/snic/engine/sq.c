// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Send queues: scheduling, fetch of WQEs, and what a WQE has to wait for.  The
 * file executes NOP, WAIT and SEND_EN, and calls umr.c for UMR.
 *
 * Queues with work are on the run queue; each runs at most TURN WQEs per turn.
 * A queue that cannot go on leaves the run queue.  Any event that may let it go
 * on kicks it: a doorbell, a SEND_EN, a CQE, its timer, the transport.  Then it
 * checks the WQE at its head again.
 */
#include "engine-priv.h"

#define TURN 16		/* WQEs of one queue in one turn */

/* The path of a WQE is inlined into one function: most WQEs do so little that
 * calls would be half of their cost. */
#define ON_THE_WAY static inline __attribute__((always_inline))

/* ---- ring memory ------------------------------------------------------- */

void snic_sq_read(const struct snic_qp *qp, uint16_t bb, void *dst, size_t len)
{
	const uint8_t *ring = qp->early ? qp->early : qp->attr.sq;
	size_t size = (size_t)WRC_WQE_BB << qp->attr.log_sq;
	size_t off = ((size_t)bb * WRC_WQE_BB) & (size - 1);
	uint8_t *d = dst;

	while (len) {
		size_t n = size - off;

		if (n > len)
			n = len;
		snic_copy(d, ring + off, n);
		d += n;
		len -= n;
		off = 0;
	}
}

/* SNIC_FETCH_EARLY: copies the BBs that are enabled now; later changes have no
 * effect. */
static void wqes_snapshot(struct snic_qp *qp, uint16_t n)
{
	uint32_t mask = (1u << qp->attr.log_sq) - 1;
	const uint8_t *ring = qp->attr.sq;
	uint32_t i;

	if (n > mask + 1)
		n = mask + 1;
	for (i = 0; i < n; i++) {
		size_t off = (size_t)((qp->sq_limit + i) & mask) * WRC_WQE_BB;

		snic_copy_bb(qp->early + off, ring + off);
	}
}

ON_THE_WAY void sq_enable(struct snic_qp *qp, uint16_t limit)
{
	uint16_t n = limit - qp->sq_limit;

	/* 0x8000 is valid: one doorbell for the full largest ring. */
	if (!n || n > 0x8000)
		return;
	if (qp->early)
		wqes_snapshot(qp, n);
	qp->sq_limit = limit;
	if (qp->state == SNIC_QP_ERR)
		snic_sq_flush(qp);
	else
		snic_qp_kick(qp);
}

void snic_sq_enable(struct snic_qp *qp, uint16_t limit)
{
	sq_enable(qp, limit);
}

/* The first basic block of the WQE at the head, in the ring. */
ON_THE_WAY const uint8_t *head_bb(const struct snic_qp *qp)
{
	const uint8_t *ring = qp->early ? qp->early : qp->attr.sq;
	uint32_t mask = (1u << qp->attr.log_sq) - 1;

	return ring + (size_t)(qp->sq_ci & mask) * WRC_WQE_BB;
}

/* Other threads write the ring and ring the doorbell then, which is a call on
 * this NIC; that orders their writes before this fetch. */
ON_THE_WAY void wqe_fetch(struct snic_qp *qp)
{
	size_t len;

	snic_copy_bb(qp->sq_raw, head_bb(qp));
	len = (qp->sq_raw[7] & 0x3f) * WRC_WQE_DS;
	/* The segments of a NOP are not used. */
	if (len > WRC_WQE_BB && qp->sq_raw[3] != WRC_WQE_NOP)
		snic_sq_read(qp, qp->sq_ci + 1, qp->sq_raw + WRC_WQE_BB,
			     len - WRC_WQE_BB);
}

static inline bool is_plain(uint8_t opcode)
{
	return opcode == WRC_WQE_NOP || opcode == WRC_WQE_WAIT ||
	       opcode == WRC_WQE_SEND_EN;
}

/* Opcodes that this NIC executes without a peer. */
static inline bool is_local(uint8_t opcode)
{
	return is_plain(opcode) || opcode == WRC_WQE_UMR;
}

/* ---- virtual time: NICs with a cost function ----------------------------- */

/* True: the queue is busy until its timer fires. */
static bool sq_charge(struct snic_qp *qp, uint64_t cost)
{
	if (!cost)
		return false;
	snic_timer_set(qp->nic, &qp->sq_timer, qp->nic->now + cost);
	return true;
}

static uint64_t sq_cost(struct snic_qp *qp, const struct snic_work *work)
{
	return qp->nic->cost(qp->nic->cost_arg, work);
}

static bool charge_fetch(struct snic_qp *qp)
{
	struct snic_work work = {
		.kind = SNIC_COST_FETCH, .now = qp->nic->now, .qpn = qp->qpn,
	};
	struct wrc_wqe_ctrl ctrl;

	snic_sq_read(qp, qp->sq_ci, &ctrl, sizeof(ctrl));
	work.opcode = ctrl.opcode;
	work.bytes = (ctrl.ds & 0x3f) * WRC_WQE_DS;
	return sq_charge(qp, sq_cost(qp, &work));
}

/*
 * The cost of this queue's packets of a message; the peer pays for its answers.
 */
static uint64_t packet_cost(struct snic_qp *qp, const struct snic_wqe *w)
{
	struct snic_work work = {
		.kind = SNIC_COST_PACKET, .opcode = w->opcode,
		.now = qp->nic->now, .qpn = qp->qpn,
	};
	uint32_t left = w->opcode == WRC_WQE_READ ? 0 : w->len;
	uint64_t cost = 0;

	do {
		work.bytes = left < qp->conn.mtu ? left : qp->conn.mtu;
		cost += sq_cost(qp, &work);
		left -= work.bytes;
	} while (left);
	return cost;
}

static bool charge_execute(struct snic_qp *qp, const struct snic_wqe *w)
{
	bool wire = qp->req && !is_local(w->opcode);
	uint64_t cost;

	cost = sq_cost(qp, &(struct snic_work){
		.kind = SNIC_COST_EXECUTE, .opcode = w->opcode,
		.bytes = w->len, .now = qp->nic->now, .qpn = qp->qpn,
		.wire = wire, .signal = w->signal,
		.scqn = qp->scq->cqn, .cqe = qp->scq->count, .rkey = w->rkey,
		.wait_cqn = w->wait_obj, .wait_index = w->wait_index,
	});
	if (wire)
		cost += packet_cost(qp, w);
	return sq_charge(qp, cost);
}

/* ---- conditions to start a WQE ------------------------------------------ */

static bool sq_is_pending(struct snic_qp *qp)
{
	if (qp->landing && qp->landing->nr)
		return true;
	if (!qp->req || !qp->nic->upper->rc_pending(qp))
		return false;
	qp->nic->upper->rc_hurry(qp);
	return true;
}

ON_THE_WAY bool wait_is_over(struct snic_qp *qp, const struct snic_wqe *w)
{
	struct snic_cq *cq;

	if (!qp->attr.cd_master)
		return true;	/* exec_wait() fails it */
	cq = qp->waiting_cq ? qp->waiting_cq :
			      snic_cq_lookup(qp->nic, w->wait_obj & 0xffffff);
	if (!cq || snic_cq_reached(cq, w->wait_index)) {
		if (qp->waiting_cq)
			snic_cq_del_waiter(qp);
		return true;
	}
	if (!qp->waiting_cq)
		snic_cq_add_waiter(cq, qp);
	return false;
}

ON_THE_WAY bool may_start(struct snic_qp *qp, const struct snic_wqe *w)
{
	if (w->fence && qp->reads_in_flight)
		return false;
	if (w->opcode == WRC_WQE_WAIT && !wait_is_over(qp, w))
		return false;
	/* The CQE has to come after those of earlier WQEs.  On loopback a UMR
	 * starts all the same: snic_land_behind() delays its CQE. */
	if (w->signal && is_local(w->opcode) && sq_is_pending(qp))
		return w->opcode == WRC_WQE_UMR && !qp->req;
	return true;
}

/* ---- NOP, WAIT, SEND_EN, UMR -------------------------------------------- */

/* may_start() has found that the CQE exists or that the WAIT can only fail. */
ON_THE_WAY int exec_wait(struct snic_qp *qp, uint32_t obj)
{
	if (!qp->attr.cd_master || !snic_cq_lookup(qp->nic, obj & 0xffffff))
		return WRC_SYND_LOCAL_QP_OP;
	return 0;
}

ON_THE_WAY int exec_send_en(struct snic_qp *qp, uint32_t obj, uint32_t limit)
{
	struct snic_qp *target = snic_qp_find(qp->nic, obj & 0xffffff);

	/* The behaviour of a ConnectX for a queue that is not managed is
	 * unknown: a chain must not depend on it. */
	if (!qp->attr.cd_master || !target || !target->attr.cd_slave_send ||
	    target->attr.pdn != qp->attr.pdn)
		return WRC_SYND_LOCAL_QP_OP;
	/* A queue in RESET ignores SEND_EN, as it ignores doorbells. */
	if (target->state != SNIC_QP_RESET)
		sq_enable(target, limit & WRC_WQE_EN_MASK);
	return 0;
}

static int exec_umr(struct snic_qp *qp, const struct snic_wqe *w)
{
	int r = snic_land_full(qp) ? -EAGAIN : snic_umr_exec(qp, w);

	if (!r && !snic_land_behind(qp, w))
		snic_qp_complete_send(qp, w, 0);
	return r;
}

ON_THE_WAY int exec_local(struct snic_qp *qp, const struct snic_wqe *w)
{
	int r = 0;

	if (w->opcode == WRC_WQE_UMR)
		return exec_umr(qp, w);

	if (w->opcode == WRC_WQE_WAIT)
		r = exec_wait(qp, w->wait_obj);
	else if (w->opcode == WRC_WQE_SEND_EN)
		r = exec_send_en(qp, w->wait_obj, w->wait_index);
	/* Without a CQE, a completion matters only to the transport's queue. */
	if (!r && (w->signal || qp->req))
		snic_qp_complete_send(qp, w, 0);
	return r;
}

/* ---- running ----------------------------------------------------------- */

/* Opcode -> its counter. */
#define COUNTER(name) offsetof(struct snic_stats, name)
static const uint16_t counter_of[] = {
	[WRC_WQE_NOP]		= COUNTER(nops),
	[WRC_WQE_WAIT]		= COUNTER(waits),
	[WRC_WQE_SEND_EN]	= COUNTER(enables),
	[WRC_WQE_SEND]		= COUNTER(sends),
	[WRC_WQE_SEND_IMM]	= COUNTER(sends),
	[WRC_WQE_WRITE]		= COUNTER(writes),
	[WRC_WQE_WRITE_IMM]	= COUNTER(writes),
	[WRC_WQE_READ]		= COUNTER(reads),
	[WRC_WQE_CS]		= COUNTER(atomics),
	[WRC_WQE_FA]		= COUNTER(atomics),
	[WRC_WQE_MASKED_CS]	= COUNTER(atomics),
	[WRC_WQE_MASKED_FA]	= COUNTER(atomics),
	[WRC_WQE_UMR]		= COUNTER(umrs),
};
#undef COUNTER

/* Counts an executed WQE; its opcode has an entry in counter_of[]. */
static void stats_count(struct snic_stats *s, uint8_t opcode)
{
	s->wqes++;
	++*(uint64_t *)((uint8_t *)s + counter_of[opcode]);
}

/* Checks index and queue pair number in the first word of the WQE. */
ON_THE_WAY int check_ctrl(const struct snic_qp *qp, uint64_t head)
{
	const struct snic_config *cfg = &qp->nic->cfg;

	if (!cfg->relaxed_index && (uint16_t)(head >> 40) != qp->sq_ci)
		return WRC_SYND_LOCAL_QP_OP;
	if (!cfg->relaxed_qpn && (head >> 8 & 0xffffff) != qp->qpn)
		return WRC_SYND_LOCAL_QP_OP;
	return 0;
}

/* The error CQE is written after the CQEs of earlier WQEs. */
static bool fail_head(struct snic_qp *qp, const struct snic_wqe *w, int synd)
{
	if (!sq_is_pending(qp))
		snic_qp_fail_send(qp, w, synd);
	return false;
}

/* True: the WQE at the head is in sq_raw. */
ON_THE_WAY bool is_fetched(struct snic_qp *qp)
{
	if (qp->sq_stage == SNIC_SQ_IDLE) {
		if (qp->sq_ci == qp->sq_limit)
			return false;
		if (qp->nic->cost) {
			qp->sq_stage = SNIC_SQ_FETCHING;
			if (charge_fetch(qp))
				return false;
		}
	}
	wqe_fetch(qp);
	qp->sq_stage = SNIC_SQ_FETCHED;
	return true;
}

ON_THE_WAY bool is_started(struct snic_qp *qp, const struct snic_wqe *w)
{
	if (!may_start(qp, w))
		return false;
	qp->sq_stage = SNIC_SQ_EXECUTING;
	return !qp->nic->cost || !charge_execute(qp, w);
}

/* Advances the WQE at the head.  True: it ran.  False: the queue cannot go on
 * now. */
ON_THE_WAY bool run_one(struct snic_qp *qp)
{
	struct snic *nic = qp->nic;
	struct snic_wqe *w = &nic->wqe;
	unsigned int nr_bb;
	int r;

	if (qp->sq_stage < SNIC_SQ_FETCHED && !is_fetched(qp))
		return false;
	r = snic_wqe_decode(qp->sq_raw, qp->sq_ci, w);
	nr_bb = w->nr_bb;
	if (!r)
		r = check_ctrl(qp, snic_be64_at(qp->sq_raw));
	if (r)
		return fail_head(qp, w, r);
	if (qp->sq_stage == SNIC_SQ_FETCHED && !is_started(qp, w))
		return false;
	r = is_local(w->opcode) ? exec_local(qp, w) : snic_exec(qp, w);
	if (r == -EAGAIN)
		return false;
	if (r)
		return fail_head(qp, w, r);
	stats_count(&nic->stats, w->opcode);
	qp->sq_ci += nr_bb;
	qp->sq_stage = SNIC_SQ_IDLE;
	qp->sq_tries = 0;
	return true;
}

/* ---- fast path ----------------------------------------------------------- */

ON_THE_WAY uint64_t bb_word(const uint8_t *p)
{
	return be64toh(__atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED));
}

/* Executes a SEND_EN, or checks a WAIT.  False: it cannot complete here. */
ON_THE_WAY bool exec_plain(struct snic_qp *qp, uint8_t opcode, uint64_t operands)
{
	uint32_t index = operands >> 32, obj = operands;
	struct snic_cq *cq;

	if (opcode == WRC_WQE_SEND_EN)
		return !exec_send_en(qp, obj, index);
	cq = snic_cq_lookup(qp->nic, obj & 0xffffff);
	return cq && qp->attr.cd_master && snic_cq_reached(cq, index);
}

/*
 * The fast path for most WQEs of a chain: NOP, WAIT and SEND_EN that ask for no
 * CQE and have nothing to wait for.  The WQE is read in the ring and not
 * copied.  True: the WQE ran, as run_one() would have run it.  False: nothing
 * has changed; run_one() takes the WQE.
 */
ON_THE_WAY bool run_plain(struct snic_qp *qp)
{
	const uint8_t *bb;
	uint64_t head;
	uint8_t opcode, flags;
	unsigned int ds;

	if (qp->sq_stage != SNIC_SQ_IDLE || qp->sq_ci == qp->sq_limit ||
	    qp->req || qp->nic->cost)
		return false;
	bb = head_bb(qp);
	head = bb_word(bb);
	opcode = head >> 32;
	ds = head & 0xff;
	if (!is_plain(opcode) || check_ctrl(qp, head))
		return false;
	/* The second word may have a fence as its only flag, if no READ or
	 * atomic is in flight. */
	flags = bb_word(bb + 8) >> 32;
	if (!ds || ds > WRC_WQE_MAX_DS || flags & ~WRC_WQE_FM_MASK ||
	    (flags && qp->reads_in_flight))
		return false;
	if (opcode != WRC_WQE_NOP &&
	    (head >> 56 || ds != 2 || !exec_plain(qp, opcode, bb_word(bb + 24))))
		return false;
	stats_count(&qp->nic->stats, opcode);
	qp->sq_ci += snic_wqe_bbs(ds);
	return true;
}

/* ---- the run queue --------------------------------------------------------- */

static bool can_run(const struct snic_qp *qp)
{
	return qp->state == SNIC_QP_RTS && qp->sq_timer.when == SNIC_NEVER;
}

/* Runs at most max WQEs of a queue; returns how many ran. */
static unsigned int sq_run(struct snic_qp *qp, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && can_run(qp) && (run_plain(qp) || run_one(qp)))
		n++;
	return n;
}

void snic_sq_line_up(struct snic_qp *qp)
{
	struct snic *nic = qp->nic;

	qp->on_run_queue = true;
	qp->run_next = NULL;
	if (nic->run_tail)
		nic->run_tail->run_next = qp;
	else
		nic->run_head = qp;
	nic->run_tail = qp;
}

static struct snic_qp *line_pop(struct snic *nic)
{
	struct snic_qp *qp = nic->run_head;

	nic->run_head = qp->run_next;
	if (!nic->run_head)
		nic->run_tail = NULL;
	qp->on_run_queue = false;
	return qp;
}

/*
 * Delayed results land when this queue cannot go on without them, and the other
 * queues on the run queue have had a turn since.  True: the queue has delayed
 * results.
 */
static bool lands_late(struct snic_qp *qp, unsigned int ran)
{
	struct snic_landings *l = qp->landing;

	if (!l || !l->nr)
		return false;
	if (!ran && l->stuck)
		snic_land_all(qp);
	l->stuck = !ran;
	return true;
}

bool snic_sq_run_queue(struct snic *nic, unsigned int budget)
{
	while (nic->run_head && budget) {
		struct snic_qp *qp = line_pop(nic);
		unsigned int n = sq_run(qp, budget < TURN ? budget : TURN);

		budget -= n;
		if (budget)
			budget--;
		if (n == TURN || !budget || lands_late(qp, n))
			snic_qp_kick(qp);
		if (nic->failed_cqs)
			snic_cq_spread_errors(nic);
	}
	return nic->run_head;
}

/* ---- stopping ---------------------------------------------------------- */

static void line_leave(struct snic_qp *qp)
{
	struct snic *nic = qp->nic;
	struct snic_qp *prev = NULL, *p;

	if (!qp->on_run_queue)
		return;
	for (p = nic->run_head; p != qp; p = p->run_next)
		prev = p;
	if (prev)
		prev->run_next = qp->run_next;
	else
		nic->run_head = qp->run_next;
	if (nic->run_tail == qp)
		nic->run_tail = prev;
	qp->on_run_queue = false;
}

bool snic_sq_run_qp(struct snic_qp *qp)
{
	bool ran;

	line_leave(qp);
	ran = sq_run(qp, 1);
	if (ran)
		snic_qp_kick(qp);
	return ran;
}

void snic_sq_stop(struct snic_qp *qp)
{
	line_leave(qp);
	snic_cq_del_waiter(qp);
	snic_timer_cancel(qp->nic, &qp->sq_timer);
	qp->sq_stage = SNIC_SQ_IDLE;
}

void snic_sq_flush(struct snic_qp *qp)
{
	while (qp->sq_flushed != qp->sq_limit) {
		uint16_t left = qp->sq_limit - qp->sq_flushed;
		struct wrc_wqe_ctrl ctrl;
		struct snic_wqe w;	/* only what a CQE needs */
		unsigned int bbs;

		snic_sq_read(qp, qp->sq_flushed, &ctrl, sizeof(ctrl));
		bbs = snic_wqe_bbs(ctrl.ds & 0x3f);
		if (!bbs)
			bbs = 1;
		w.opcode = ctrl.opcode;
		w.index = qp->sq_flushed;
		qp->sq_flushed += bbs < left ? bbs : left;
		snic_qp_flush_send(qp, &w);
	}
}
