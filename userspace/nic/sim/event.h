/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events in virtual time: a hierarchical timing wheel. Adding, removing and taking the
 * next one cost the same however many there are. Events of the same nanosecond fire
 * in the order in which they were added.
 */
#ifndef FAR_NIC_SIM_EVENT_H
#define FAR_NIC_SIM_EVENT_H

#include <stdint.h>

/* Part of whatever is to happen. fire() may add the event again, or free it. */
struct sim_event {
	struct sim_event *next, *prev;	/* NULL: it is in no wheel */
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
	unsigned nr;	/* events in it */
	uint64_t map[SIM_WHEEL_LEVELS][SIM_WHEEL_SLOTS / 64];	/* slots that may hold some */
	struct sim_event slot[SIM_WHEEL_LEVELS][SIM_WHEEL_SLOTS];	/* heads of rings */
};

void sim_wheel_init(struct sim_wheel *wheel);
/* at before now counts as now; at 2^60 and later is never. */
void sim_wheel_add(struct sim_wheel *wheel, struct sim_event *event, uint64_t at);
/* Nothing happens if it is in no wheel. */
void sim_wheel_remove(struct sim_wheel *wheel, struct sim_event *event);
/* The next event, taken out; now becomes its time. NULL: there is none. */
struct sim_event *sim_wheel_take(struct sim_wheel *wheel);

static inline int sim_event_queued(const struct sim_event *event)
{
	return event->next != 0;
}

#endif
