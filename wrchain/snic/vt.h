/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Virtual time: one clock for all actors.  An actor is a software NIC, or any
 * other program that can tell when it wants to run: the agent, a client, an
 * attacker.
 *
 * All actors that are due at one instant run, in the order in which they were
 * added, before the clock moves on to the next event.  So the same actors with
 * the same seeds do the same, bit for bit.
 *
 * An actor has one processor.  The cost of a step delays its next step; a NIC,
 * which works in parallel, charges each piece of its work itself instead
 * (snic_set_cost()).  Other actors see the effects of a step at once.
 *
 * Times are in ns.  All calls come from one thread.
 */
#ifndef SNIC_VT_H
#define SNIC_VT_H

#include "snic.h"

struct snic_actor;

struct snic_actor_ops {
	/*
	 * Returns when the actor wants to run: now or earlier, later, or
	 * SNIC_NEVER. Considers events that have reached the actor.  Changes
	 * nothing: it is called often.
	 */
	uint64_t (*next)(struct snic_actor *actor, uint64_t now);
	/* Runs the actor, or a part of its work.  *ret_cost (0 if not set): how
	 * long its processor is busy.  0, or -errno, which ends the run. */
	int (*step)(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost);
	/*
	 * Optional: the clock is at now, for an actor with a clock of its own.
	 */
	void (*clock)(struct snic_actor *actor, uint64_t now);
};

/**
 * struct snic_actor - a participant of the simulation
 * @ops:	what the actor does
 * @free_at:	private: when its processor is free again
 * @behind:	private: the actor that was added next
 */
struct snic_actor {
	const struct snic_actor_ops *ops;
	uint64_t free_at;
	struct snic_actor *behind;
};

/**
 * struct snic_vt - a clock and its actors
 * @now:	the time
 * @first:	the actor that was added first
 * @running:	a run or step is under way
 */
struct snic_vt {
	uint64_t now;
	struct snic_actor *first;
	bool running;
};

void snic_vt_init(struct snic_vt *vt, uint64_t now);
/*
 * Appends an actor to the order, at the current time.  The caller has set ops,
 * and keeps the actor in place until it is removed.  Neither call is allowed
 * from a step.
 */
void snic_vt_add(struct snic_vt *vt, struct snic_actor *actor);
void snic_vt_remove(struct snic_vt *vt, struct snic_actor *actor);
bool snic_vt_has(const struct snic_vt *vt, const struct snic_actor *actor);

/*
 * One round: steps each actor that is due.  If none is due, moves the clock to
 * the time when the first one is.  -EAGAIN: no actor will ever be due.
 * -EDEADLK: called from a step.  Else the error of a step.
 */
int snic_vt_step(struct snic_vt *vt);
/*
 * Runs until done() returns true: 0.  done() is called at the beginning and
 * after each step of an actor.  Or runs until the time `until`, to which the
 * clock is set then, or, with SNIC_NEVER, until no actor will ever be due:
 * -ETIMEDOUT, or 0 if done is NULL.  -ELOOP: endless work at one instant.
 * Other errors as snic_vt_step().
 */
int snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg),
		void *arg);

/**
 * struct snic_vt_nic - a software NIC as an actor
 *
 * Its ports need doze(), to report frames that can be received.
 */
struct snic_vt_nic {
	struct snic_actor actor;
	struct snic *nic;
};

/* Initialises the actor and adds it. */
void snic_vt_add_nic(struct snic_vt *vt, struct snic_vt_nic *vnic,
		     struct snic *nic);

#endif /* SNIC_VT_H */
