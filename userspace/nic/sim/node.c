// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory node's NIC: it serves requests in the order of their arrival, and executes
 * those of a queue pair one after the other. Two atomics on one address execute at least
 * atomic_same_ns apart; an atomic that has to wait delays its queue pair.
 */
#include "cluster.h"

#include <errno.h>

static uint64_t now_ps(const struct far_sim *sim)
{
	return sim->wheel.now * 1000;
}

/* The entry of an address, for atomics. A new address replaces the oldest entry of its set. */
static struct sim_busy *busy_of(struct sim_mn *mn, uint64_t off)
{
	struct sim_busy *set = mn->busy[far_rng_mix(off) % SIM_BUSY_SETS];
	struct sim_busy *oldest = set;
	unsigned i;

	for (i = 0; i < SIM_BUSY_WAYS; i++) {
		if (set[i].off == off)
			return &set[i];
		if (set[i].until_ps < oldest->until_ps)
			oldest = &set[i];
	}
	*oldest = (struct sim_busy) { .off = off };
	return oldest;
}

/* Reserves the address for an atomic. Returns when the atomic may execute, in ns. */
static uint64_t busy_reserve(struct sim_req *req)
{
	const struct sim_qp *qp = req->qp;
	struct sim_busy *busy = busy_of(qp->mn, sim_space_at(qp->attach->space, req->wr.remote));
	uint64_t at = now_ps(qp->sim);

	if (at < busy->until_ps)
		at = busy->until_ps;
	busy->until_ps = at + sim_ps(qp->sim->profile.atomic_same_ns);
	return sim_ns(at);
}

int sim_req_check(const struct sim_req *req)
{
	const struct sim_attach *attach = req->qp->attach;
	const struct far_wr *wr = &req->wr;
	uint64_t size = attach->space->size, at = wr->remote;

	if (!(attach->rights & (wr->op == FAR_NIC_READ ? FAR_ATTACH_READ :
				FAR_ATTACH_WRITE)))
		return -EACCES;
	if (attach->space->common && at >= size) {
		at -= size;
		size = attach->space->common->size;
	}
	if (at > size || wr->len > size - at)
		return -EFAULT;
	return 0;
}

static void req_reply(struct sim_req *req)
{
	const struct sim_qp *qp = req->qp;
	uint64_t ps = now_ps(qp->sim);

	if (ps < req->served_ps)
		ps = req->served_ps;
	sim_req_reply(req, sim_ns(ps + qp->cn->half_rtt_ps));
}

/* How long the adversary delays the request or its next piece, in ns; may tear it. */
static uint64_t req_hold(struct sim_req *req)
{
	struct far_sim *sim = req->qp->sim;

	if (req->piece == req->pieces &&
	    !sim_chance(sim, FAR_SIM_TEAR, sim->odds.tear))
		return 0;
	if (!req->pieces && req->wr.len > 8)
		req->pieces = 2 + far_rng_below(&sim->fate, 3);
	return 1 + far_rng_below(&sim->fate, sim->odds.tear_ns);
}

/* Executes or refuses the request, or adds an event for later. Returns whether it is done. */
static int req_try(struct sim_req *req)
{
	struct sim_qp *qp = req->qp;
	struct sim_wheel *wheel = &qp->sim->wheel;
	uint64_t at = wheel->now;

	req->status = sim_req_check(req);
	if (req->status) {
		qp->refused = 1;
		req_reply(req);
		return 1;
	}
	if (sim_req_stalls(req))
		return 0;
	if (sim_req_is_atomic(req))
		at = busy_reserve(req);
	at += req_hold(req);
	if (at > wheel->now) {
		req->event.fire = sim_req_later;
		sim_wheel_add(wheel, &req->event, at);
		return 0;
	}
	sim_req_execute(req);
	req_reply(req);
	return 1;
}

static void wait_push(struct sim_qp *qp, struct sim_req *req)
{
	req->wait_next = NULL;
	*qp->wait_end = req;
	qp->wait_end = &req->wait_next;
}

static void wait_pop(struct sim_qp *qp)
{
	qp->wait_first = qp->wait_first->wait_next;
	if (!qp->wait_first)
		qp->wait_end = &qp->wait_first;
}

/* Then executes all requests that need not wait any more. */
void sim_req_later(struct sim_event *event)
{
	struct sim_req *req = sim_req_of(event);
	struct sim_qp *qp = req->qp;

	if (!sim_req_execute(req)) {
		sim_wheel_add(&qp->sim->wheel, event,
			      qp->sim->wheel.now + req_hold(req));
		return;
	}
	req_reply(req);
	do
		wait_pop(qp);
	while (qp->wait_first && !qp->refused && req_try(qp->wait_first));
}

/* True if a WRITE passes the READs and atomics that wait, as the adversary chooses. */
static int req_passes(const struct sim_req *req)
{
	struct far_sim *sim = req->qp->sim;
	const struct sim_req *other;

	if (req->wr.op != FAR_NIC_WRITE || sim_req_check(req) ||
	    !sim_chance(sim, FAR_SIM_TEAR, sim->odds.pass))
		return 0;
	for (other = req->qp->wait_first; other; other = other->wait_next)
		if (!sim_req_reads(other))
			return 0;
	return 1;
}

double sim_serve_ns(const struct sim_profile *p, uint32_t len)
{
	double ns = p->node_base_ns + p->byte_ns * len;

	return ns > p->node_op_ns ? ns : p->node_op_ns;
}

/* Executes the request, or lets it wait for those before it. */
static void req_served(struct sim_event *event)
{
	struct sim_req *req = sim_req_of(event);
	struct sim_qp *qp = req->qp;

	if (qp->refused)
		return;
	if (!qp->wait_first) {
		if (!req_try(req))
			wait_push(qp, req);
	} else if (req_passes(req)) {
		sim_req_execute(req);
		req_reply(req);
	} else {
		wait_push(qp, req);
	}
}

/* When the node has served the request, in ps; a queue pair keeps its order. */
static uint64_t serve_ps(struct sim_req *req)
{
	struct sim_qp *qp = req->qp;
	uint64_t ps = sim_serve(&qp->mn->in, now_ps(qp->sim),
				sim_ps(sim_serve_ns(&qp->sim->profile, req->wr.len)));
	uint64_t state_ps = sim_state_there_ps(qp);

	if (ps < state_ps)
		ps = state_ps;
	if (ps < qp->last_served_ps)
		ps = qp->last_served_ps;
	return qp->last_served_ps = ps;
}

void sim_req_arrive(struct sim_event *event)
{
	struct sim_req *req = sim_req_of(event);
	struct sim_qp *qp = req->qp;
	struct sim_mn *mn = qp->mn;
	struct far_sim *sim = qp->sim;

	if (mn->dead || qp->attach->space->removed || (qp->link && !qp->link->other)) {
		req->status = -EHOSTDOWN;
		qp->refused = 1;
		sim_req_reply(req, sim->wheel.now + sim->profile.dead_ns);
		return;
	}
	if (qp->refused)
		return;		/* the initiator flushes it when the failure arrives */
	req->served_ps = serve_ps(req);
	if (sim->profile.serve_first && sim_ns(req->served_ps) > sim->wheel.now) {
		req->event.fire = req_served;
		sim_wheel_add(&sim->wheel, event, sim_ns(req->served_ps));
		return;
	}
	req_served(event);
}
