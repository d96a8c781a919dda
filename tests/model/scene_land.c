// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What READs and atomics of a scene's queues have fetched and what has not
 * landed: see wrchain/snic/land.c.
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
