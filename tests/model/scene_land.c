// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What READs and atomics of a scene's queues have fetched and what has not
 * landed: see wrchain/snic/engine/land.c.
 *
 * UMRs.  In the engine one has its effect when it runs, and only its completion may
 * come later.  Of a card nothing is known but that it is over then.  So, where
 * things land late, entries get their old values back until it is there: both are
 * looked at meanwhile.  And what is behind a UMR does not wait for it: data that
 * READs and atomics have fetched may be there before, which is all that a fence
 * asks for, though no completion is.
 */
#include "scene.h"

unsigned int scene_landings(const struct snic_qp *qp)
{
	return qp->landing ? qp->landing->nr : 0;
}

void scene_watch_landings(struct scene *s, const struct snic_qp *qp)
{
	if (qp->landing)
		scene_watch(s, qp->landing, sizeof(*qp->landing));
}

static uint64_t mix_landing(uint64_t h, const struct snic_landing *l)
{
	uint64_t v[] = {
		l->opcode | l->signal << 8 | l->brings << 9 |
			(uint64_t)l->index << 32,
		l->byte_cnt | (uint64_t)l->nr_sge << 32,
	};
	unsigned int i;

	h = explore_mix(h, v, sizeof(v));
	for (i = 0; i < l->nr_sge; i++) {
		v[0] = (uintptr_t)l->sges[i].ptr;
		v[1] = l->sges[i].len;
		h = explore_mix(h, v, sizeof(v));
	}
	/* What it does not fill is 0. */
	return explore_mix(h, l->data, (l->byte_cnt + 7) & ~7u);
}

uint64_t scene_mix_landings(uint64_t h, const struct snic_qp *qp)
{
	unsigned int i, n = scene_landings(qp);

	if (!n)
		return h;
	h = explore_mix(h, &(uint64_t){ n }, sizeof(uint64_t));
	for (i = 0; i < n; i++)
		h = mix_landing(h, &qp->landing->at[i]);
	return h;
}

/* ---- UMRs --------------------------------------------------------------------- */

static bool is_umr(const struct snic_qp *qp)
{
	struct wrc_wqe_ctrl ctrl;

	if (qp->sq_stage == SNIC_SQ_IDLE)
		snic_sq_read(qp, qp->sq_ci, &ctrl, sizeof(ctrl));
	else
		memcpy(&ctrl, qp->sq_raw, sizeof(ctrl));
	return ctrl.opcode == WRC_WQE_UMR;
}

static bool is_behind(const struct snic_landings *l, uint8_t opcode)
{
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		if (l->at[i].opcode == opcode)
			return true;
	return false;
}

/* Something that lands before it, so that its completion is not there yet. */
static void run_behind(struct snic_qp *qp)
{
	struct snic_landings *l = qp->landing;

	if (l->nr) {
		snic_sq_run_qp(qp);
		return;
	}
	l->nr = 1;
	l->at[0].opcode = WRC_WQE_NOP;
	snic_sq_run_qp(qp);
	if (!l->nr)		/* the queue has failed */
		return;
	l->nr--;
	memmove(l->at, l->at + 1, l->nr * sizeof(l->at[0]));
	memset(&l->at[l->nr], 0, sizeof(l->at[0]));
}

bool scene_run_umr(struct scene *s, unsigned int chain)
{
	struct wrc_ksm was[SCENE_SLOTS][WRC_KSM_GROUP], *at;
	struct snic_qp *qp = s->chain[chain].loop;
	struct scene_umr *u = &s->st.umr[chain];
	unsigned int i;

	if (!qp->landing || !is_umr(qp))
		return false;
	if (u->at)		/* one at a time */
		return true;
	at = s->keys[s->cfg.chain[chain].cnode].entry;
	memcpy(was, at, sizeof(was));
	run_behind(qp);
	for (i = 0; i < SCENE_SLOTS; i++, at += WRC_KSM_GROUP) {
		if (!memcmp(at, was[i], sizeof(was[i])))
			continue;
		u->at = at;
		memcpy(u->is, at, sizeof(u->is));
		memcpy(at, was[i], sizeof(was[i]));
	}
	return true;
}

void scene_land_umrs(struct scene *s)
{
	struct scene_umr *u = s->st.umr;
	unsigned int i;

	for (i = 0; i < s->cfg.nr_chains; i++, u++) {
		if (!u->at || is_behind(s->chain[i].loop->landing, WRC_WQE_UMR))
			continue;
		memcpy(u->at, u->is, sizeof(u->is));
		memset(u, 0, sizeof(*u));
	}
}

static struct snic_landing *passes(const struct snic_qp *qp)
{
	struct snic_landings *l = qp->landing;
	unsigned int i;

	if (!l || !l->nr || l->at[0].opcode != WRC_WQE_UMR)
		return NULL;
	for (i = 1; i < l->nr; i++)
		if (l->at[i].brings)
			return &l->at[i];
	return NULL;
}

bool scene_may_pass(const struct snic_qp *qp)
{
	return passes(qp);
}

void scene_pass(struct snic_qp *qp)
{
	struct snic_landing *l = passes(qp);

	snic_sges_scatter(l->sges, l->nr_sge, 0, l->data, l->byte_cnt);
	l->brings = false;
	qp->reads_in_flight--;
	snic_qp_kick(qp);
}

/* ---- as if it had landed --------------------------------------------------------- */

struct undo {
	uint8_t was[SNIC_LANDINGS][SNIC_LANDING_LEN];
};

static void land(const struct snic_qp *qp, struct undo *undo)
{
	const struct snic_landing *l;
	unsigned int i;

	for (i = 0; i < scene_landings(qp); i++) {
		l = &qp->landing->at[i];
		if (!l->brings)
			continue;
		snic_sges_gather(l->sges, l->nr_sge, 0, undo->was[i],
				 l->byte_cnt);
		snic_sges_scatter(l->sges, l->nr_sge, 0, l->data, l->byte_cnt);
	}
}

/* The last first: they may overlap. */
static void take_back(const struct snic_qp *qp, const struct undo *undo)
{
	const struct snic_landing *l;
	unsigned int i;

	for (i = scene_landings(qp); i--; ) {
		l = &qp->landing->at[i];
		if (l->brings)
			snic_sges_scatter(l->sges, l->nr_sge, 0, undo->was[i],
					  l->byte_cnt);
	}
}

int scene_held_of(const struct scene_chain *ch, unsigned int instance,
		  struct wrc_held *ret_held)
{
	struct undo undo;
	int r;

	land(ch->loop, &undo);
	r = wrc_held_of(&ch->prog, &ch->geom, ch->arena, ch->loop->sq_ci,
			instance, ret_held);
	take_back(ch->loop, &undo);
	return r;
}
