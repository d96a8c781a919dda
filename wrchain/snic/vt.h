/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Virtual time: one clock for all who act.  A software NIC is an actor, and so may
 * be the agent that uses it, a client, an attacker, or any other program that can
 * say when it wants to go on.
 *
 * Everything that can happen at one instant happens, in the order in which the
 * actors were added, before the clock moves on to the next event.  So the same
 * actors with the same seeds do the same, bit for bit.
 *
 * An actor has one processor.  What a step costs it passes before it is stepped
 * again; a NIC, which does many things at once, charges itself for each
 * (snic_set_cost()).  What a step has done is there for others at once.
 *
 * Times are ns.  One thread calls.
 */
#ifndef SNIC_VT_H
#define SNIC_VT_H

#include "snic.h"

struct snic_actor;

struct snic_actor_ops {
	/*
	 * When there is something to do for it, by itself or because something has
	 * reached it: now or before, later, or SNIC_NEVER.  Changes nothing: it is
	 * asked again and again.
	 */
	uint64_t (*next)(struct snic_actor *actor, uint64_t now);
	/*
	 * Does it, or as much as it likes of it.  *ret_cost, 0 if not set: how long
	 * its processor is busy.  0, or -errno, which ends the run.
	 */
	int (*step)(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost);
	/* The clock stands at now: for who keeps one of his own.  Optional. */
	void (*clock)(struct snic_actor *actor, uint64_t now);
};

/**
 * struct snic_actor - a member of whatever acts
 * @free_at:	the runner's: when its processor is free again
 * @behind:	the runner's: who was added next
 */
struct snic_actor {
	const struct snic_actor_ops *ops;
	uint64_t free_at;
	struct snic_actor *behind;
};

/**
 * struct snic_vt - a clock and who goes by it
 * @running:	a run or step is under way
 */
struct snic_vt {
	uint64_t now;
	struct snic_actor *first;
	bool running;
};

void snic_vt_init(struct snic_vt *vt, uint64_t now);
/* At the end of the order, at the time it is.  ops is set, and the actor stays
 * where it is until it is removed.  Neither from inside a step. */
void snic_vt_add(struct snic_vt *vt, struct snic_actor *actor);
void snic_vt_remove(struct snic_vt *vt, struct snic_actor *actor);
bool snic_vt_has(const struct snic_vt *vt, const struct snic_actor *actor);

/*
 * One round: steps each actor that has something to do now.  If none has, moves
 * the clock on to when the first of them will.  -EAGAIN: there will never be
 * anything to do.  -EDEADLK: from inside a step.  Or what a step has returned.
 */
int snic_vt_step(struct snic_vt *vt);
/*
 * Until `done` says so, which is asked behind each step of an actor and before
 * all: 0; or until that time, at which the clock stands then, or, with SNIC_NEVER,
 * until there is nothing left to do: -ETIMEDOUT, and 0 if done is NULL.  -ELOOP: at
 * one instant there is no end of things to do.  Else as snic_vt_step().
 */
int snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg),
		void *arg);

/**
 * struct snic_vt_nic - a software NIC as an actor
 *
 * Its ports need doze() to tell of frames that wait.
 */
struct snic_vt_nic {
	struct snic_actor actor;
	struct snic *nic;
};

/* Adds it. */
void snic_vt_add_nic(struct snic_vt *vt, struct snic_vt_nic *vnic,
		     struct snic *nic);

#endif /* SNIC_VT_H */
