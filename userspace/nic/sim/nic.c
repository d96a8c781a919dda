// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The initiator's NIC: it sends requests in the order of their doorbells, those of a
 * queue pair in the order of posting, and completes them when answers come. If the WQE of
 * a request has left the cache by then, an engine spends time to fetch the WQE.
 */
#include "cluster.h"

#include <errno.h>

static uint64_t now_ps(const struct far_sim *sim)
{
	return sim->wheel.now * 1000;
}

/* Least time for a payload of so many bytes, by host memory and by the link, in ns. */
static double bytes_ns(const struct sim_profile *p, uint64_t bytes)
{
	double host = p->byte_ns * bytes;
	double link = p->link_byte_ns * (bytes + p->link_head_bytes);

	return host > link ? host : link;
}

static double send_ns(const struct sim_profile *p, const struct sim_req *req)
{
	int is_write = sim_req_writes(req);
	double op = is_write ? p->write_op_ns : p->read_op_ns;
	double bytes = bytes_ns(p, is_write ? req->wr.len : 0);

	return op > bytes ? op : bytes;
}

static void req_done(struct sim_event *event);

/* A datagram is complete when it has left: nobody acknowledges it. */
static void send_datagram(struct sim_req *req, uint64_t ps)
{
	struct far_sim *sim = req->qp->sim;

	req->executed = 1;
	sim_packet_send(req, sim_ns(ps + req->qp->cn->half_rtt_ps));
	req->event.fire = req_done;
	sim_wheel_add(&sim->wheel, &req->event, sim_ns(ps));
}

static void req_send(struct sim_req *req)
{
	struct sim_qp *qp = req->qp;
	struct far_sim *sim = qp->sim;
	uint64_t ps = sim_serve(&qp->cn->tx, now_ps(sim),
				sim_ps(send_ns(&sim->profile, req)));
	uint64_t state_ps = sim_state_ps(sim, &qp->cn->cache, &qp->state_here), at;

	if (ps < state_ps)
		ps = state_ps;
	at = sim_ns(ps + qp->cn->half_rtt_ps);
	req->sent = 1;
	qp->rd_out += sim_req_reads(req);
	qp->cn->stats.ops++;
	if (req->local_bad) {
		req->status = -EFAULT;
		sim_req_reply(req, sim_ns(ps));
		return;
	}
	if (req->wr.op == FAR_NIC_SEND) {
		send_datagram(req, ps);
		return;
	}
	if (sim_chance(sim, FAR_SIM_DELAY, sim->odds.delay))
		at += far_rng_below(&sim->fate, sim->odds.delay_ns);
	if (at < qp->last_arrival)
		at = qp->last_arrival;
	qp->last_arrival = at;
	req->event.fire = sim_req_arrive;
	sim_wheel_add(&sim->wheel, &req->event, at);
}

/* True if the request must wait for earlier READs and atomics. */
static int req_held(const struct sim_req *req)
{
	const struct sim_qp *qp = req->qp;

	if (!qp->rd_out)
		return 0;
	return req->wr.flags & FAR_WR_FENCE ||
	       (sim_req_reads(req) && qp->rd_out >= qp->sim->profile.rd_atomic);
}

static void qp_pump(struct sim_qp *qp)
{
	while (qp->rung && !req_held(qp->send)) {
		struct sim_req *req = qp->send;

		qp->rung--;
		qp->send = req->next;
		req_send(req);
	}
}

void sim_req_ring(struct sim_event *event)
{
	struct sim_req *first = sim_req_of(event), *req;
	struct sim_qp *qp = first->qp;
	struct sim_cn *cn = qp->cn;
	unsigned i;

	/* If the compute node has died, there may be fewer requests than nr_batch. */
	for (req = first, i = 0; req && i < first->nr_batch; i++, req = req->next)
		req->rung = 1;
	qp->rung += i;
	cn->outstanding += i;
	if (cn->outstanding > cn->stats.outstanding_max)
		cn->stats.outstanding_max = cn->outstanding;
	qp_pump(qp);
}

/* Breaks the queue pair because of req, its first request, which has failed. */
static void qp_break(struct sim_qp *qp, struct sim_req *req)
{
	qp->state = SIM_QP_BROKEN;
	if (req->owner)
		sim_complete(req);
	else
		sim_req_free(qp->sim, req);
	sim_qp_flush(qp, 1);
}

/* Completes requests at the head of the queue pair that are done. */
static void qp_retire(struct sim_qp *qp)
{
	struct sim_req *req;

	while ((req = qp->first) && req->done) {
		qp->first = req->next;
		if (!qp->first)
			qp->end = &qp->first;
		qp->cn->outstanding--;
		req->covers = ++qp->retired;
		if (!(req->wr.flags & FAR_WR_SIGNALED) && !req->status) {
			sim_req_free(qp->sim, req);
			continue;
		}
		qp->retired = 0;
		if (req->status) {
			qp_break(qp, req);
			return;
		}
		if (req->owner)
			sim_complete(req);
		else
			sim_cqe_done(req);
	}
}

static void req_done(struct sim_event *event)
{
	struct sim_req *req = sim_req_of(event);

	req->done = 1;
	sim_trace(req->qp->sim, 2, (uint64_t)req->qp->id << 32 ^ req->wr.id);
	qp_retire(req->qp);
}

/* The engine's time to fetch the WQE of an answer; 0: the WQE is still in the cache. */
static double wqe_miss_op_ns(struct sim_cn *cn, const struct sim_req *req)
{
	const struct sim_profile *p = &cn->sim->profile;
	double nr = cn->outstanding;

	if (sim_req_writes(req) && nr >= p->write_cliff)
		return p->write_cliff_op_ns;
	if (nr > p->wqe_slots && far_rng_unit(&cn->sim->rng) * nr >= p->wqe_slots)
		return p->wqe_miss_op_ns;
	return 0;
}

/* The same for address translations, for which device contexts compete. */
static double mtt_miss_op_ns(struct sim_cn *cn, const struct sim_req *req)
{
	const struct sim_profile *p = &cn->sim->profile;
	double nr = cn->nr_contexts;

	if (req->qp->doorbell->context && nr > p->mtt_contexts &&
	    far_rng_unit(&cn->sim->rng) * nr >= p->mtt_contexts)
		return p->mtt_miss_op_ns;
	return 0;
}

/* When the NIC has handled the answer, in ps. */
static uint64_t answer_ps(struct sim_cn *cn, struct sim_req *req)
{
	const struct sim_profile *p = &cn->sim->profile;
	double wqe = wqe_miss_op_ns(cn, req), mtt = mtt_miss_op_ns(cn, req);
	uint64_t now = now_ps(cn->sim), miss_ps;
	uint64_t ps = sim_state_ps(cn->sim, &cn->cache, &req->qp->state_here), rx_ps;

	if (req->wr.op == FAR_NIC_READ) {
		rx_ps = sim_serve(&cn->rx, now, sim_ps(bytes_ns(p, req->wr.len)));
		ps = ps > rx_ps ? ps : rx_ps;
	}
	if (wqe + mtt > 0) {
		miss_ps = sim_serve(&cn->miss, now, sim_ps(wqe + mtt)) +
			  sim_ps(p->wqe_miss_ns);
		ps = ps > miss_ps ? ps : miss_ps;
	}
	cn->stats.wqe_misses += wqe > 0;
	return ps;
}

static void req_answer(struct sim_event *event)
{
	struct sim_req *req = sim_req_of(event);
	struct sim_qp *qp = req->qp;
	struct far_sim *sim = qp->sim;
	uint64_t at = sim_ns(answer_ps(qp->cn, req));

	if (sim_req_reads(req))
		qp->rd_out--;
	if (!req->status && sim_chance(sim, FAR_SIM_BREAK, sim->odds.brk))
		req->status = -EIO;
	req->event.fire = req_done;
	if (at > sim->wheel.now)
		sim_wheel_add(&sim->wheel, &req->event, at);
	qp_pump(qp);
	if (at <= sim->wheel.now)
		req_done(event);
}

void sim_req_reply(struct sim_req *req, uint64_t at)
{
	struct far_sim *sim = req->qp->sim;

	req->event.fire = req_answer;
	if (sim_chance(sim, FAR_SIM_DELAY, sim->odds.delay))
		at += far_rng_below(&sim->fate, sim->odds.delay_ns);
	sim_wheel_add(&sim->wheel, &req->event, at);
}
