// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The timing wheel. */
#include "event.h"

#include <stddef.h>
#include <string.h>

#define NEVER	(UINT64_C(1) << 60)

void sim_wheel_init(struct sim_wheel *wheel)
{
	unsigned level, i;

	memset(wheel, 0, sizeof(*wheel));
	for (level = 0; level < SIM_WHEEL_LEVELS; level++)
		for (i = 0; i < SIM_WHEEL_SLOTS; i++) {
			struct sim_event *head = &wheel->slot[level][i];

			head->next = head->prev = head;
		}
}

static unsigned slot_of(uint64_t at, unsigned level)
{
	return at >> level * SIM_WHEEL_BITS & (SIM_WHEEL_SLOTS - 1);
}

/* The lowest level on which at and now lie in the same round of the wheel. */
static unsigned level_of(uint64_t at, uint64_t now)
{
	uint64_t differ = at ^ now;

	return differ ? (63 - __builtin_clzll(differ)) / SIM_WHEEL_BITS : 0;
}

/* Puts an event into the slot for its time. */
static void wheel_place(struct sim_wheel *wheel, struct sim_event *event)
{
	unsigned level = level_of(event->at, wheel->now);
	unsigned i = slot_of(event->at, level);
	struct sim_event *head = &wheel->slot[level][i];

	event->next = head;
	event->prev = head->prev;
	head->prev->next = event;
	head->prev = event;
	wheel->map[level][i / 64] |= UINT64_C(1) << i % 64;
}

void sim_wheel_add(struct sim_wheel *wheel, struct sim_event *event, uint64_t at)
{
	if (at >= NEVER)
		at = NEVER - 1;
	event->at = at > wheel->now ? at : wheel->now;
	wheel_place(wheel, event);
	wheel->nr++;
}

/* Does not clear the slot's bit in the map: level_find() does when the slot is empty. */
static void event_unlink(struct sim_event *event)
{
	event->prev->next = event->next;
	event->next->prev = event->prev;
	event->next = event->prev = NULL;
}

void sim_wheel_remove(struct sim_wheel *wheel, struct sim_event *event)
{
	if (!sim_event_queued(event))
		return;
	event_unlink(event);
	wheel->nr--;
}

/* Finds the first slot from `from` on that has events. -1: there is none. */
static int level_find(struct sim_wheel *wheel, unsigned level, unsigned from)
{
	uint64_t *map = wheel->map[level];
	unsigned word = from / 64;
	uint64_t bits;

	if (from >= SIM_WHEEL_SLOTS)
		return -1;
	bits = map[word] & ~UINT64_C(0) << from % 64;
	for (;;) {
		while (bits) {
			unsigned i = word * 64 + __builtin_ctzll(bits);
			const struct sim_event *head = &wheel->slot[level][i];

			if (head->next != head)
				return i;
			map[word] &= ~(bits & -bits);
			bits &= bits - 1;
		}
		if (++word == SIM_WHEEL_SLOTS / 64)
			return -1;
		bits = map[word];
	}
}

/* Moves the events of a slot to the levels below, and keeps their order. */
static void level_spread(struct sim_wheel *wheel, unsigned level, unsigned i)
{
	struct sim_event *head = &wheel->slot[level][i];
	struct sim_event *event = head->next;

	wheel->map[level][i / 64] &= ~(UINT64_C(1) << i % 64);
	head->next = head->prev = head;
	while (event != head) {
		struct sim_event *next = event->next;

		wheel_place(wheel, event);
		event = next;
	}
}

/* Moves the next events to lower levels, and now to the beginning of their slot. */
static void wheel_turn(struct sim_wheel *wheel)
{
	unsigned level;

	for (level = 1; level < SIM_WHEEL_LEVELS; level++) {
		unsigned shift = level * SIM_WHEEL_BITS;
		int i = level_find(wheel, level, slot_of(wheel->now, level) + 1);

		if (i < 0)
			continue;
		wheel->now = (wheel->now >> (shift + SIM_WHEEL_BITS)
			      << SIM_WHEEL_BITS | (unsigned)i) << shift;
		level_spread(wheel, level, i);
		return;
	}
}

struct sim_event *sim_wheel_take(struct sim_wheel *wheel)
{
	struct sim_event *event;
	int i;

	if (!wheel->nr)
		return NULL;
	while ((i = level_find(wheel, 0, slot_of(wheel->now, 0))) < 0)
		wheel_turn(wheel);
	event = wheel->slot[0][i].next;
	wheel->now = event->at;
	event_unlink(event);
	wheel->nr--;
	return event;
}
