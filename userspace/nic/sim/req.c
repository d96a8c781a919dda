// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests: their allocation, and their fate when a queue pair ends. */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_REQS	64u

struct sim_slab {
	struct sim_slab *next;
	struct sim_req req[SLAB_REQS];
};

static int slab_new(struct far_sim *sim)
{
	struct sim_slab *slab = malloc(sizeof(*slab));
	unsigned i;

	if (!slab)
		return -ENOMEM;
	slab->next = sim->slabs;
	sim->slabs = slab;
	for (i = 0; i < SLAB_REQS; i++) {
		slab->req[i].next = sim->free_reqs;
		sim->free_reqs = &slab->req[i];
	}
	return 0;
}

struct sim_req *sim_req_new(struct far_sim *sim)
{
	struct sim_req *req;

	if (!sim->free_reqs && slab_new(sim))
		return NULL;
	req = sim->free_reqs;
	sim->free_reqs = req->next;
	memset(req, 0, offsetof(struct sim_req, data));
	req->event.fire = sim_req_ring;
	return req;
}

void sim_req_free(struct far_sim *sim, struct sim_req *req)
{
	if (req->copy != req->data)
		free(req->copy);
	req->next = sim->free_reqs;
	sim->free_reqs = req;
}

void sim_reqs_free(struct far_sim *sim)
{
	while (sim->slabs) {
		struct sim_slab *next = sim->slabs->next;

		free(sim->slabs);
		sim->slabs = next;
	}
}

/*
 * A cancelled operation may or may not have been executed (nic.h): the adversary executes
 * some of the requests under way now, in their order. Returns whether the next request
 * may be executed, too.
 */
static int req_last_chance(struct sim_req *req)
{
	struct far_sim *sim = req->qp->sim;

	if (req->executed || !req->sent)
		return 1;
	if (!sim->attr.adversary || req->qp->refused || req->local_bad ||
	    req->qp->mn->dead || sim_req_check(req) ||
	    far_rng_below(&sim->fate, 4) == 0)
		return 0;
	while (!sim_req_execute(req))
		;
	return 1;
}

void sim_qp_flush(struct sim_qp *qp, int complete)
{
	struct sim_req *req, *next;
	int chance = 1;

	for (req = qp->first; req; req = next) {
		next = req->next;
		sim_wheel_remove(&qp->sim->wheel, &req->event);
		chance = chance && req_last_chance(req);
		qp->cn->outstanding -= req->rung;
		req->done = 1;
		req->status = -ECANCELED;
		req->covers = 1 + qp->retired;
		qp->retired = 0;
		if (complete && req->owner)
			sim_complete(req);
		else
			sim_req_free(qp->sim, req);
	}
	qp->first = qp->send = NULL;
	qp->end = &qp->first;
	qp->wait_first = NULL;
	qp->wait_end = &qp->wait_first;
	qp->rung = qp->rd_out = 0;
}

/*
 * Makes a request independent of its compute node's memory: copies the data of a WRITE.
 * False: no memory for the copy.
 */
static int req_orphan(struct sim_req *req)
{
	req->owner = NULL;
	if (req->executed || sim_req_reads(req) || req->copy || !req->wr.len)
		return 1;
	if (req->local_bad)
		return 1;
	req->copy = malloc(req->wr.len);
	if (!req->copy)
		return 0;
	memcpy(req->copy, req->wr.local, req->wr.len);
	return 1;
}

/* Frees *at and all requests behind it, without completions. */
static void qp_cut(struct sim_qp *qp, struct sim_req **at)
{
	struct sim_req *req, *next;
	struct sim_req **wait;

	for (req = *at; req; req = next) {
		next = req->next;
		sim_wheel_remove(&qp->sim->wheel, &req->event);
		qp->cn->outstanding -= req->rung;
		qp->rung -= req->rung && !req->sent;
		for (wait = &qp->wait_first; *wait && *wait != req;
		     wait = &(*wait)->wait_next)
			;
		*wait = NULL;
		if (qp->send == req)
			qp->send = NULL;
		sim_req_free(qp->sim, req);
	}
	*at = NULL;
	qp->end = at;
	for (qp->wait_end = &qp->wait_first; *qp->wait_end;
	     qp->wait_end = &(*qp->wait_end)->wait_next)
		;
}

void sim_qp_orphan(struct sim_qp *qp)
{
	struct far_sim *sim = qp->sim;
	struct sim_req **at;

	for (at = &qp->first; *at; at = &(*at)->next)
		if (!req_orphan(*at) ||
		    (sim->attr.adversary && far_rng_below(&sim->fate, 8) == 0))
			break;
	qp_cut(qp, at);
}
