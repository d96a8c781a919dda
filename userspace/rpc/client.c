/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client: its queue pairs, and how they are connected. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/rng.h"
#include "attr.h"

#define BATCH		16u
#define SPIN_US		20u
#define TIMEOUT_NS	UINT64_C(5000000000)

/* A call under way. */
struct calling {
	struct rpc_qp *qp;
	struct far_rpc_thread *self;
	bool entered;		/* the thread has the duty */
};

static void call_enter(void *arg)
{
	struct calling *calling = arg;

	if (!calling->entered)
		rpc_duty_take(calling->qp->rpc, calling->self);
	calling->entered = true;
}

/* Ends what was sent over the connection, and frees it. The caller has the duty. */
static void qp_drop(struct rpc_qp *qp)
{
	if (!qp->live)
		return;
	rpc_qp_fail(qp);
	rpc_access_fail(qp);
	qp->head_reads += qp->end.head_reads;
	rpc_end_fini(&qp->end);
	qp->live = false;
}

/* The connection is made. The caller has the duty. */
static void qp_begin(struct rpc_qp *qp, uint64_t credit, uint64_t memory)
{
	qp->accesses = (struct rpc_accesses) { .size = memory };
	__atomic_store_n(&qp->rpc->memory, memory, __ATOMIC_RELAXED);
	qp->live = true;
	qp->failed = false;
	qp->credit_first = credit;
	qp->credit = 0;
	qp->used = 0;
	qp->asked = false;
	rpc_qp_look(qp);
}

/* Calls, with qp->end made. Has the duty at the end. */
static int qp_shake(struct calling *calling, uint64_t until)
{
	struct rpc_qp *qp = calling->qp;
	struct far_rpc *rpc = qp->rpc;
	struct far_end ends = { qp->out, rpc->in, 0, qp - rpc->qp, call_enter, calling };
	struct far_hello hello, answer;
	uint64_t credit = 0, memory = 0;
	int err;

	rpc_call_fill(&hello, rpc->id);
	err = rpc->nic->ops->call->call(rpc->nic, rpc->node, rpc->service, &ends,
					&qp->end.window, &hello, until, &answer,
					&qp->end.link);
	call_enter(calling);
	if (!err)
		err = rpc_hello_check(&answer, &credit, &memory);
	if (!err && memory > FAR_RPC_MEMORY_MAX)
		err = -EPROTO;
	if (!err && memory)
		err = rpc_end_bounce(&qp->end, RPC_BOUNCE);
	if (!err)
		err = rpc_end_start(&qp->end);
	if (err)
		rpc_end_fini(&qp->end);
	else
		qp_begin(qp, credit, memory);
	return err;
}

int rpc_qp_call(struct rpc_qp *qp, struct far_rpc_thread *self, uint64_t until)
{
	struct far_rpc *rpc = qp->rpc;
	struct far_end ends = { qp->out, rpc->in, 0, qp - rpc->qp };
	struct calling calling = { .qp = qp, .self = self };
	int err;

	rpc_duty_take(rpc, self);
	qp_drop(qp);
	rpc_duty_leave(rpc);
	err = rpc_end_init(&qp->end, rpc->nic, &ends, NULL);
	if (err)
		return err;
	err = qp_shake(&calling, until);
	rpc_duty_leave(rpc);
	return err;
}

static void qps_free(struct far_rpc *rpc)
{
	unsigned i;

	for (i = 0; i < rpc->nr_qps; i++) {
		if (rpc->qp[i].live)
			rpc_end_fini(&rpc->qp[i].end);
		if (rpc->qp[i].out)
			rpc->nic->ops->qset_free(rpc->qp[i].out);
	}
}

static int qps_make(struct far_rpc *rpc)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = RPC_DEPTH, .group = FAR_NIC_OWN };
	uint64_t until = rpc_until(rpc_now(rpc), rpc->timeout_ns);
	unsigned i;
	int err = 0;

	for (i = 0; i < rpc->nr_qps && !err; i++) {
		rpc->qp[i].rpc = rpc;
		err = rpc->nic->ops->qset_new(rpc->nic, &attr, &rpc->qp[i].out);
		if (!err)
			err = rpc_qp_call(&rpc->qp[i], NULL, until);
	}
	return err;
}

static int client_fill(struct far_rpc *rpc, const struct far_rpc_attr *attr, unsigned qps)
{
	struct far_qset_attr in = { .nr_peers = qps, .depth = RPC_DEPTH, .group = FAR_NIC_OWN };

	rpc->id = far_rng_any_seed();
	rpc->batch = attr->batch ? attr->batch : BATCH;
	rpc->spin_ns = (attr->spin_us ? attr->spin_us : SPIN_US) * UINT64_C(1000);
	rpc->timeout_ns = attr->timeout_ns ? attr->timeout_ns : TIMEOUT_NS;
	rpc->node = strdup(attr->node ? attr->node : "");
	rpc->service = strdup(attr->service);
	if (!rpc->node || !rpc->service)
		return -ENOMEM;
	return rpc->nic->ops->qset_new(rpc->nic, &in, &rpc->in);
}

static void client_free(struct far_rpc *rpc)
{
	qps_free(rpc);
	rpc_threads_free(rpc);
	if (rpc->in)
		rpc->nic->ops->qset_free(rpc->in);
	free(rpc->node);
	free(rpc->service);
	free(rpc);
}

int rpc_connect_nic(struct far_nic *nic, const struct far_rpc_attr *attr,
		    struct far_rpc **ret_rpc)
{
	unsigned qps = attr->qps ? attr->qps : 1;
	struct far_rpc *rpc;
	int err;

	if (!nic->ops->call || !(nic->ops->caps & FAR_NIC_CAP_IMM))
		return -EOPNOTSUPP;
	err = rpc_attr_check(attr, NULL, 0);
	if (err)
		return err;
	rpc = far_forks_watch() ? NULL : calloc(1, sizeof(*rpc) + qps * sizeof(rpc->qp[0]));
	if (!rpc)
		return -ENOMEM;
	rpc->forks = far_forks;
	rpc->nic = nic;
	rpc->nr_qps = qps;
	err = client_fill(rpc, attr, qps);
	if (!err)
		err = qps_make(rpc);
	if (err) {
		client_free(rpc);
		return err;
	}
	*ret_rpc = rpc;
	return 0;
}

int far_rpc_connect(const struct far_rpc_attr *attr, char *why, size_t why_len,
		    struct far_rpc **ret_rpc)
{
	struct far_nic *nic;
	int err = rpc_attr_check(attr, why, why_len);

	if (!err)
		err = rpc_nic_open(attr->nic, why, why_len, &nic);
	if (err)
		return err;
	err = rpc_connect_nic(nic, attr, ret_rpc);
	if (err) {
		nic->ops->close(nic);
		return rpc_why(why, why_len, err, attr->service, attr->node);
	}
	(*ret_rpc)->own_nic = true;
	return 0;
}

void far_rpc_close(struct far_rpc *rpc)
{
	struct far_nic *nic = rpc->nic;
	bool own_nic = rpc->own_nic;

	if (rpc_is_stale(rpc))
		return;
	client_free(rpc);
	if (own_nic)
		nic->ops->close(nic);
}

static void qset_count(struct far_rpc *rpc, struct far_qset *qset, struct far_rpc_stats *stats)
{
	struct far_qset_stats counts;

	rpc->nic->ops->stats(qset, &counts);
	stats->doorbells += counts.doorbells;
}

void far_rpc_stats(struct far_rpc *rpc, struct far_rpc_stats *ret_stats)
{
	struct far_rpc_stats stats = { .sleeps = rpc->sleeps };
	unsigned i;

	qset_count(rpc, rpc->in, &stats);
	for (i = 0; i < rpc->nr_qps; i++) {
		const struct rpc_qp *qp = &rpc->qp[i];

		stats.requests += qp->requests;
		stats.messages += qp->messages;
		stats.head_reads += qp->head_reads + (qp->live ? qp->end.head_reads : 0);
		stats.connections += qp->live && !rpc_end_broken(&qp->end);
		stats.active += qp->live && !rpc_end_broken(&qp->end) && !rpc_qp_closed(qp);
		stats.memory += qp->live ? 2 * RPC_WINDOW + RPC_MESSAGE_MAX : 0;
		stats.memory += qp->live && qp->end.bounce ? RPC_BOUNCE : 0;
		stats.accesses += qp->nr_accesses;
		qset_count(rpc, qp->out, &stats);
	}
	stats.moves = __atomic_load_n(&rpc->placing.moves, __ATOMIC_RELAXED);
	*ret_stats = stats;
}
