/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns at hot keys. */
#include "turn.h"

#include <errno.h>
#include <stdlib.h>

/* Turns in a row in which nobody else waited, until a key is cold again. */
#define HEAT		16u
/* About how long a turn takes: how long to look away while others are before us. */
#define TURN_NS		UINT64_C(2000)

struct far_turns {
	uint64_t mask;
	_Atomic uint8_t heat[];
};

int far_turns_new(unsigned nr, struct far_turns **ret_turns)
{
	struct far_turns *turns;
	size_t size = 1;

	while (size < nr)
		size *= 2;
	turns = calloc(1, sizeof(*turns) + size);
	if (!turns)
		return -ENOMEM;
	turns->mask = size - 1;
	*ret_turns = turns;
	return 0;
}

void far_turns_free(struct far_turns *turns)
{
	free(turns);
}

int far_turns_hot(const struct far_turns *turns, uint64_t hash)
{
	return turns && atomic_load_explicit(&turns->heat[hash & turns->mask],
					     memory_order_relaxed);
}

void far_turns_lost(struct far_turns *turns, uint64_t hash)
{
	if (turns)
		atomic_store_explicit(&turns->heat[hash & turns->mask], HEAT,
				      memory_order_relaxed);
}

/* A store that is lost to another thread's makes the key a turn hotter or colder. */
void far_turns_done(struct far_turns *turns, uint64_t hash, const struct far_turn *turn)
{
	_Atomic uint8_t *heat;
	uint8_t now;

	if (!turns || turn->addr == FAR_NIL)
		return;
	heat = &turns->heat[hash & turns->mask];
	now = atomic_load_explicit(heat, memory_order_relaxed);
	if (!turn->alone)
		now = HEAT;
	else if (now)
		now--;
	atomic_store_explicit(heat, now, memory_order_relaxed);
}

/* How many are before us; 0: it is our turn, or it has passed. */
static uint64_t turn_ahead(const struct far_turn *turn)
{
	int64_t ahead = turn->ticket - turn->seen->serving;

	return ahead > 0 ? ahead : 0;
}

static int turn_look(struct far_task *task, struct far_turn *turn)
{
	far_read(task, turn->addr, turn->seen, sizeof(*turn->seen));
	return far_sync(task);
}

/* Whose turn it is has not moved for a lease: it is dead, or as good as that. */
static int turn_skip(struct far_task *task, const struct far_turn *turn)
{
	far_cas(task, turn->addr + offsetof(struct far_turn_words, serving),
		turn->seen->serving, turn->seen->serving + 1, NULL);
	return far_sync(task);
}

static int turn_wait(struct far_task *task, struct far_turn *turn)
{
	uint64_t serving = turn->seen->serving;
	uint64_t since = far_now(task);
	uint64_t ahead;
	int err = 0;

	while (!err && (ahead = turn_ahead(turn))) {
		if (turn->seen->serving != serving) {
			serving = turn->seen->serving;
			since = far_now(task);
		} else if (far_now(task) - since > FAR_TURN_LEASE_NS) {
			err = turn_skip(task, turn);
			since = far_now(task);
		}
		if (ahead > 1)
			far_sleep(task, (ahead - 1) * TURN_NS);
		if (!err)
			err = turn_look(task, turn);
	}
	return err;
}

int far_turn_take(struct far_task *task, uint64_t addr, struct far_turn *turn)
{
	uint64_t *ticket;
	int err;

	*turn = (struct far_turn) { .addr = addr };
	turn->seen = far_buf(task, sizeof(*turn->seen) + sizeof(*ticket));
	err = turn->seen ? 0 : -ENOMEM;
	if (!err) {
		ticket = (uint64_t *)(turn->seen + 1);
		far_faa(task, addr + offsetof(struct far_turn_words, next), 1, ticket);
		err = turn_look(task, turn);
	}
	if (!err) {
		turn->ticket = *ticket;
		turn->alone = !turn_ahead(turn) &&
			      turn->seen->next == turn->ticket + 1;
		err = turn_wait(task, turn);
	}
	if (err)
		turn->addr = FAR_NIL;
	return err;
}

void far_turn_pass(struct far_task *task, const struct far_turn *turn)
{
	if (turn->addr != FAR_NIL)
		far_cas(task, turn->addr + offsetof(struct far_turn_words, serving),
			turn->ticket, turn->ticket + 1, NULL);
}
