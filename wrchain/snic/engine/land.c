// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SNIC_LAND_LATE: results of READs and atomics of a loopback queue pair are
 * written late, while the queue goes on.  Results land in the queue's order,
 * each with its CQE; the CQEs of later WQEs wait for that.  So a chain that
 * uses a result without a WAIT or a fence uses the memory's old contents, and
 * the missing WAIT shows each time.
 */
#include "engine-priv.h"

bool snic_land_full(const struct snic_qp *qp)
{
	return qp->landing && qp->landing->nr == SNIC_LANDINGS;
}

static struct snic_landing *landing_add(struct snic_qp *qp, const struct snic_wqe *w,
					uint32_t byte_cnt)
{
	struct snic_landing *l = &qp->landing->at[qp->landing->nr++];

	memset(l, 0, sizeof(*l));
	l->opcode = w->opcode;
	l->index = w->index;
	l->signal = w->signal;
	l->byte_cnt = byte_cnt;
	return l;
}

bool snic_land_later(struct snic_qp *qp, const struct snic_wqe *w,
		     const struct snic_sge *sges, unsigned int nr_sge,
		     const void *data)
{
	struct snic_landing *l;

	if (!qp->landing)
		return false;
	if (w->len > SNIC_LANDING_LEN || nr_sge > SNIC_LANDING_SGES) {
		snic_land_all(qp);
		return false;
	}
	l = landing_add(qp, w, w->len);
	l->brings = true;
	l->nr_sge = nr_sge;
	memcpy(l->sges, sges, nr_sge * sizeof(*sges));
	memcpy(l->data, data, w->len);
	qp->reads_in_flight++;
	return true;
}

bool snic_land_behind(struct snic_qp *qp, const struct snic_wqe *w)
{
	if (!qp->landing || !qp->landing->nr)
		return false;
	if (w->signal)
		landing_add(qp, w, 0);
	return true;
}

static void landing_complete(struct snic_qp *qp, const struct snic_landing *l)
{
	struct snic_wqe w;	/* only what a CQE needs */

	w.opcode = l->opcode;
	w.index = l->index;
	w.signal = l->signal;
	snic_qp_complete_send(qp, &w, l->byte_cnt);
}

bool snic_land_one(struct snic_qp *qp)
{
	struct snic_landings *all = qp->landing;
	struct snic_landing first;

	if (!all || !all->nr)
		return false;
	first = all->at[0];
	all->nr--;
	memmove(all->at, all->at + 1, all->nr * sizeof(all->at[0]));
	memset(&all->at[all->nr], 0, sizeof(all->at[0]));
	if (first.brings) {
		snic_sges_scatter(first.sges, first.nr_sge, 0, first.data,
				  first.byte_cnt);
		qp->reads_in_flight--;
	}
	landing_complete(qp, &first);
	snic_qp_kick(qp);
	return true;
}

void snic_land_all(struct snic_qp *qp)
{
	while (snic_land_one(qp))
		;
}

void snic_land_never(struct snic_qp *qp)
{
	if (qp->landing)
		memset(qp->landing, 0, sizeof(*qp->landing));
}
