// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The virtual-time runner: a discrete-event simulation; see vt.h. */
#include <errno.h>
#include "../engine/engine.h"
#include "../vt.h"

/* Rounds at one instant until snic_vt_run() assumes an endless loop. */
#define MAX_ROUNDS (1u << 14)

/**
 * struct run - when a run ends
 * @done:	ends the run when it returns true; NULL: never
 * @arg:	argument of @done
 * @over:	@done has returned true
 */
struct run {
	bool (*done)(void *arg);
	void *arg;
	bool over;
};

static bool run_is_over(struct run *run)
{
	if (!run->over && run->done)
		run->over = run->done(run->arg);
	return run->over;
}

static void vt_set_clock(struct snic_vt *vt, uint64_t now)
{
	struct snic_actor *a;

	vt->now = now;
	for (a = vt->first; a; a = a->behind)
		if (a->ops->clock)
			a->ops->clock(a, now);
}

void snic_vt_init(struct snic_vt *vt, uint64_t now)
{
	*vt = (struct snic_vt){ .now = now };
}

/* Returns the actor's position in the list, or the end. */
static struct snic_actor **vt_find(struct snic_vt *vt,
				   const struct snic_actor *actor)
{
	struct snic_actor **pos = &vt->first;

	while (*pos && *pos != actor)
		pos = &(*pos)->behind;
	return pos;
}

void snic_vt_add(struct snic_vt *vt, struct snic_actor *actor)
{
	*vt_find(vt, NULL) = actor;
	actor->behind = NULL;
	actor->free_at = vt->now;
	if (actor->ops->clock)
		actor->ops->clock(actor, vt->now);
}

void snic_vt_remove(struct snic_vt *vt, struct snic_actor *actor)
{
	struct snic_actor **pos = vt_find(vt, actor);

	if (*pos)
		*pos = actor->behind;
}

bool snic_vt_has(const struct snic_vt *vt, const struct snic_actor *actor)
{
	const struct snic_actor *a = vt->first;

	while (a && a != actor)
		a = a->behind;
	return a;
}

/* When the actor acts next, unless another one acts on it before. */
static uint64_t actor_due(const struct snic_vt *vt, struct snic_actor *a)
{
	uint64_t next = a->ops->next(a, vt->now);

	return next > a->free_at ? next : a->free_at;
}

static int actor_step(const struct snic_vt *vt, struct snic_actor *a)
{
	uint64_t cost = 0;
	int r = a->ops->step(a, vt->now, &cost);

	a->free_at = vt->now + cost;
	return r;
}

/* Steps the actors that are due.  1: at least one was due; there may be more
 * work at this instant.  0: none, and *ret_next is when one will be. */
static int vt_round(struct snic_vt *vt, struct run *run, uint64_t *ret_next)
{
	uint64_t next = SNIC_NEVER, due;
	struct snic_actor *a;
	bool any = false;
	int r;

	for (a = vt->first; a; a = a->behind) {
		due = actor_due(vt, a);
		if (due > vt->now) {
			next = due < next ? due : next;
			continue;
		}
		r = actor_step(vt, a);
		if (r)
			return r;
		any = true;
		if (run_is_over(run))
			break;
	}
	*ret_next = next;
	return any;
}

int snic_vt_step(struct snic_vt *vt)
{
	struct run run = { .done = NULL };
	uint64_t next;
	int r;

	if (vt->running)
		return -EDEADLK;
	vt->running = true;
	r = vt_round(vt, &run, &next);
	vt->running = false;
	if (r)
		return r < 0 ? r : 0;
	if (next == SNIC_NEVER)
		return -EAGAIN;
	vt_set_clock(vt, next);
	return 0;
}

/* Runs rounds until no actor is due at this instant. */
static int vt_settle(struct snic_vt *vt, struct run *run, uint64_t *ret_next)
{
	unsigned int rounds = 0;
	int r;

	while ((r = vt_round(vt, run, ret_next)) > 0 && !run->over)
		if (++rounds == MAX_ROUNDS)
			return -ELOOP;
	return r < 0 ? r : 0;
}

static int vt_run(struct snic_vt *vt, uint64_t until, struct run *run)
{
	uint64_t next;
	int r;

	while (!run_is_over(run)) {
		r = vt_settle(vt, run, &next);
		if (r || run->over)
			return r;
		if (next > until) {
			if (until > vt->now)
				vt_set_clock(vt, until);
			return 0;
		}
		if (next == SNIC_NEVER)
			return 0;
		vt_set_clock(vt, next);
	}
	return 0;
}

int snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg),
		void *arg)
{
	struct run run = { .done = done, .arg = arg };
	int r;

	if (vt->running)
		return -EDEADLK;
	vt->running = true;
	r = vt_run(vt, until, &run);
	vt->running = false;
	if (!r && done && !run.over)
		return -ETIMEDOUT;
	return r;
}

/* ---- software NICs ------------------------------------------------------------ */

static struct snic *nic_of(struct snic_actor *actor)
{
	return ((struct snic_vt_nic *)actor)->nic;
}

static uint64_t nic_next(struct snic_actor *actor, uint64_t now)
{
	return snic_next(nic_of(actor));
}

static int nic_step(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost)
{
	uint64_t next;

	return snic_step(nic_of(actor), now, &next);
}

static void nic_clock(struct snic_actor *actor, uint64_t now)
{
	snic_set_now(nic_of(actor), now);
}

static const struct snic_actor_ops nic_ops = {
	.next = nic_next, .step = nic_step, .clock = nic_clock,
};

void snic_vt_add_nic(struct snic_vt *vt, struct snic_vt_nic *vnic,
		     struct snic *nic)
{
	*vnic = (struct snic_vt_nic){ .actor.ops = &nic_ops, .nic = nic };
	snic_vt_add(vt, &vnic->actor);
}
