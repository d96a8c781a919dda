// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queue sets of datagrams. An address has the number of the compute node and of the queue
 * set there. A datagram takes half a round trip, then the time of the NIC that serves it;
 * then it takes the oldest RECV, or is lost.
 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../wr.h"

#define NR_BITS		16u

uint64_t sim_address(struct far_qset *far_qset)
{
	const struct sim_qset *qset = sim_qset_of(far_qset);

	return (uint64_t)qset->cn->idx << NR_BITS | qset->nr;
}

/* NULL: nobody has the address. */
static struct sim_qset *address_find(struct far_sim *sim, uint64_t address)
{
	uint64_t idx = address >> NR_BITS;
	struct sim_qset *qset;

	if (idx >= sim->attr.cns || sim->cns[idx].dead)
		return NULL;
	for (qset = sim->cns[idx].qsets; qset; qset = qset->next)
		if (qset->datagrams && qset->nr == (address & ((1u << NR_BITS) - 1)))
			return qset;
	return NULL;
}

int sim_datagram_init(struct sim_qset *qset)
{
	int err = sim_cn_memory(qset->cn);	/* it has the NIC's side that serves */

	if (!err && qset->cn->nr_addresses + 1 >= 1u << NR_BITS)
		err = -ENOSPC;
	if (!err)
		err = sim_qp_new(qset->share, 0);
	if (err)
		return err;
	qset->share->qp[0]->end = &qset->share->qp[0]->first;
	qset->share->qp[0]->wait_end = &qset->share->qp[0]->wait_first;
	qset->share->qp[0]->era = 1;
	qset->share->qp[0]->state = SIM_QP_UP;
	qset->datagrams = 1;
	qset->nr = ++qset->cn->nr_addresses;
	qset->recvs_end = &qset->recvs;
	return 0;
}

void sim_datagram_fini(struct sim_qset *qset)
{
	struct sim_req *req;

	while ((req = qset->recvs)) {
		qset->recvs = req->next;
		sim_req_free(qset->cn->sim, req);
	}
}

int sim_datagram_check(const struct sim_qset *qset, const struct far_wr *wr, unsigned nr)
{
	return far_wr_check_datagrams(wr, nr, qset->cn->sim->profile.mtu);
}

static struct sim_req *recv_make(struct sim_qset *qset, const struct far_wr *wr)
{
	struct sim_req *req = sim_req_new(qset->cn->sim);

	if (!req)
		return NULL;
	req->wr = *wr;
	req->wr.remote = req->wr.arg[0] = 0;
	req->qp = qset->share->qp[0];
	req->owner = qset;
	return req;
}

static int recv_check(const struct sim_qset *qset, unsigned idx, const struct far_wr *wr,
		      unsigned nr)
{
	unsigned i;

	if (idx)
		return -EINVAL;
	if (nr > qset->depth)
		return -E2BIG;
	for (i = 0; i < nr; i++)
		if (!sim_mr_holds(qset->cn, &wr[i]))
			return -EINVAL;
	return sim_datagram_check(qset, wr, nr);
}

int sim_datagram_recv(struct sim_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	const struct sim_profile *p = &qset->cn->sim->profile;
	struct sim_req **end = qset->recvs_end, *req;
	int err = recv_check(qset, idx, wr, nr);
	unsigned i;

	if (err)
		return err;
	if (qset->nr_recvs + nr > qset->max_recvs)
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		req = recv_make(qset, &wr[i]);
		if (!req)
			break;
		*qset->recvs_end = req;
		qset->recvs_end = &req->next;
	}
	if (i < nr) {
		/* All or none. */
		for (qset->recvs_end = end; (req = *end);) {
			*end = req->next;
			sim_req_free(qset->cn->sim, req);
		}
		return -ENOMEM;
	}
	qset->nr_recvs += nr;
	far_wr_count(&qset->stats, wr, nr);
	qset->cn->sim->current->lag += (p->build_ns + p->recv_ns) * nr * qset->cn->slow + 0.5;
	return 0;
}

static void packet_free(struct sim_packet *packet)
{
	*packet->at = packet->next;
	if (packet->next)
		packet->next->at = packet->at;
	free(packet);
}

/* Moves the datagram into the oldest RECV. False: it is lost. */
static int packet_take(const struct sim_packet *packet, struct sim_qset *qset)
{
	struct sim_req *recv = qset->recvs;

	if (!recv || recv->wr.len < packet->len)
		return 0;
	qset->recvs = recv->next;
	if (!qset->recvs)
		qset->recvs_end = &qset->recvs;
	qset->nr_recvs--;
	memcpy(recv->wr.local, packet->data, packet->len);
	recv->wr.len = packet->len;
	sim_trace(packet->sim, 3, packet->to);
	sim_complete(recv);
	return 1;
}

/* When the destination's NIC has served the datagram, in ns. */
static uint64_t packet_served(const struct sim_packet *packet, struct sim_qset *qset)
{
	struct far_sim *sim = packet->sim;
	uint64_t ps = sim_serve(&qset->cn->memory->in, sim->wheel.now * 1000,
				sim_ps(sim_serve_ns(&sim->profile, packet->len)));
	uint64_t state_ps = sim_state_ps(sim, &qset->cn->cache, &qset->share->qp[0]->state_here);

	return sim_ns(ps > state_ps ? ps : state_ps);
}

static void packet_arrive(struct sim_event *event)
{
	struct sim_packet *packet = (struct sim_packet *)event;
	struct far_sim *sim = packet->sim;
	struct sim_qset *qset = address_find(sim, packet->to);
	uint64_t at;

	if (qset && !packet->served) {
		at = packet_served(packet, qset);
		packet->served = 1;
		if (sim->profile.serve_first && at > sim->wheel.now) {
			sim_wheel_add(&sim->wheel, event, at);
			return;
		}
	}
	if (qset && !packet_take(packet, qset))
		qset->cn->stats.lost++;
	packet_free(packet);
}

void sim_packet_send(const struct sim_req *req, uint64_t at)
{
	struct far_sim *sim = req->qp->sim;
	struct sim_packet *packet = malloc(sizeof(*packet) + req->wr.len);

	if (!packet)
		return;		/* it is lost */
	packet->event = (struct sim_event) { .fire = packet_arrive };
	packet->sim = sim;
	packet->to = req->wr.remote;
	packet->len = req->wr.len;
	packet->served = 0;
	if (req->wr.len)
		memcpy(packet->data, req->copy ? req->copy : req->wr.local, req->wr.len);
	packet->next = sim->packets;
	packet->at = &sim->packets;
	if (packet->next)
		packet->next->at = &packet->next;
	sim->packets = packet;
	sim_wheel_add(&sim->wheel, &packet->event, at);
}

void sim_packets_free(struct far_sim *sim)
{
	while (sim->packets) {
		sim_wheel_remove(&sim->wheel, &sim->packets->event);
		packet_free(sim->packets);
	}
}
