/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events in virtual time: a hierarchical timing wheel. The cost of adding, removing and
 * taking an event does not depend on the number of events. Events of the same nanosecond
 * fire in the order in which they were added.
 */
#ifndef FAR_NIC_SIM_EVENT_H
#define FAR_NIC_SIM_EVENT_H

#include <stdint.h>

/* An event, embedded in the object it is for. fire() may add it again, or free it. */
struct sim_event {
	struct sim_event *next, *prev;	/* NULL: the event is in no wheel */
	uint64_t at;			/* ns */
	void (*fire)(struct sim_event *event);
};

#define SIM_WHEEL_BITS		10
#define SIM_WHEEL_SLOTS		(1u << SIM_WHEEL_BITS)
#define SIM_WHEEL_LEVELS	6	/* 2^60 ns are 36 years */

/*
 * Level 0 has a slot per ns of the 1,024 ns around now, level 1 one per 1,024 ns of
 * the 2^20 ns around now, and so on.
 */
struct sim_wheel {
	uint64_t now;
	unsigned nr;	/* number of events */
	uint64_t map[SIM_WHEEL_LEVELS][SIM_WHEEL_SLOTS / 64];	/* slots that may have events */
	struct sim_event slot[SIM_WHEEL_LEVELS][SIM_WHEEL_SLOTS];	/* heads of rings */
};

void sim_wheel_init(struct sim_wheel *wheel);
/* A time before now counts as now, a time from 2^60 on as 2^60 - 1. */
void sim_wheel_add(struct sim_wheel *wheel, struct sim_event *event, uint64_t at);
/* No effect if the event is in no wheel. */
void sim_wheel_remove(struct sim_wheel *wheel, struct sim_event *event);
/* Takes the next event, and sets now to its time. NULL: there is none. */
struct sim_event *sim_wheel_take(struct sim_wheel *wheel);

static inline int sim_event_queued(const struct sim_event *event)
{
	return event->next != 0;
}

#endif
