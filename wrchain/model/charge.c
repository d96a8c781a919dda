// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The model's parameters as a software NIC's cost function: see charge.h. */
#include <math.h>
#include <string.h>
#include "charge.h"

void wrc_charge_init(struct wrc_charge *c, const struct wrc_params *params)
{
	memset(c, 0, sizeof(*c));
	c->params = *params;
}

/* Numbers are given out one after another. */
static struct wrc_charge_cq *charge_cq(struct wrc_charge *c, uint32_t cqn)
{
	return &c->cq[cqn % WRC_CHARGE_CQS];
}

/* An answer of nothing need not have a key. */
static bool work_is_far(const struct wrc_charge *c, const struct snic_work *w)
{
	return w->wire || (c->far_key && (w->rkey == c->far_key ||
					  w->opcode == WRC_WQE_WRITE_IMM));
}

/* From its execution until it is there, and known to be. */
static double work_ns(const struct wrc_charge *c, const struct snic_work *w)
{
	const double *v = c->params.v;
	double move = w->bytes / (v[WRC_P_PCIE] * v[WRC_P_DLL]);

	switch (w->opcode) {
	case WRC_WQE_READ:
	case WRC_WQE_WRITE:
	case WRC_WQE_WRITE_IMM:
	case WRC_WQE_SEND:
	case WRC_WQE_SEND_IMM:
		return work_is_far(c, w) ?
		       v[WRC_P_RTT] + w->bytes * 8 / v[WRC_P_LINK] + move :
		       v[WRC_P_READ] + move;
	case WRC_WQE_UMR:
		return v[WRC_P_UMR];
	default:
		return w->opcode >= WRC_WQE_CS &&
		       w->opcode <= WRC_WQE_MASKED_FA ? v[WRC_P_ATOMIC] : 0;
	}
}

/* What is left of what it waits for, whose CQE is there. */
static uint64_t charge_wait(struct wrc_charge *c, const struct snic_work *w)
{
	uint64_t at = charge_cq(c, w->wait_cqn)->
			at[w->wait_index % WRC_CHARGE_CQES];

	return at > w->now ? at - w->now : 0;
}

/* Does its queue go on meanwhile? */
static bool work_is_posted(const struct wrc_charge *c,
			   const struct snic_work *w)
{
	return work_is_far(c, w) || w->opcode == WRC_WQE_WRITE ||
	       w->opcode == WRC_WQE_SEND || w->opcode == WRC_WQE_SEND_IMM;
}

static uint64_t charge_execute(struct wrc_charge *c, const struct snic_work *w)
{
	uint64_t took = lround(work_ns(c, w)), at = w->now + took;
	struct wrc_charge_cq *cq = charge_cq(c, w->scqn);

	if (took && w->signal) {
		cq->last = at > cq->last ? at : cq->last;
		cq->at[w->cqe % WRC_CHARGE_CQES] = cq->last;
	}
	return work_is_posted(c, w) ? 0 : took;
}

uint64_t wrc_charge_cost(void *arg, const struct snic_work *work)
{
	struct wrc_charge *c = arg;

	switch (work->kind) {
	case SNIC_COST_FETCH:
		return lround(c->params.v[WRC_P_FETCH]);
	case SNIC_COST_EXECUTE:
		return work->opcode == WRC_WQE_WAIT ? charge_wait(c, work) :
						      charge_execute(c, work);
	default:
		return 0;
	}
}
