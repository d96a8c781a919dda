/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns at hot keys. */
#include "turn.h"

#include <errno.h>
#include <stdlib.h>

#include "deadline.h"

/*
 * The heat of a key: WARM after the first loss, and HOT after the next one. Above WARM
 * it takes so many turns in which nobody else waits until the key is not hot any more.
 */
#define WARM		1u
#define HOT		4u

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
					     memory_order_relaxed) > WARM;
}

/* A store that is lost to another thread's makes the key a turn hotter or colder. */
static void heat_set(struct far_turns *turns, uint64_t hash, uint8_t heat)
{
	atomic_store_explicit(&turns->heat[hash & turns->mask], heat,
			      memory_order_relaxed);
}

static uint8_t heat_get(const struct far_turns *turns, uint64_t hash)
{
	return atomic_load_explicit(&turns->heat[hash & turns->mask],
				    memory_order_relaxed);
}

void far_turns_lost(struct far_turns *turns, uint64_t hash)
{
	if (turns)
		heat_set(turns, hash, heat_get(turns, hash) ? HOT : WARM);
}

void far_turns_done(struct far_turns *turns, uint64_t hash, const struct far_turn *turn)
{
	uint8_t heat;

	if (!turns || !turn->had)
		return;
	heat = heat_get(turns, hash);
	if (!turn->alone)
		heat_set(turns, hash, HOT);
	else if (heat)
		heat_set(turns, hash, heat - 1);
}

/* How many are before us; 0: it is our turn, or it has passed. */
static uint64_t turn_ahead(const struct far_turn *turn)
{
	int64_t ahead = turn->ticket - turn->seen->words.serving;

	return ahead > 0 ? ahead : 0;
}

/* READs the words, and behind them what the caller wants to know. */
static int turn_look(struct far_task *task, struct far_turn *turn,
		     void (*look)(void *arg), void *arg)
{
	far_read(task, turn->addr, &turn->seen->words, sizeof(turn->seen->words));
	look(arg);
	return far_sync(task);
}

/* The holder of the turn has not moved for a lease: it is dead, or as good as that. */
static int turn_skip(struct far_task *task, const struct far_turn *turn)
{
	uint64_t serving = turn->seen->words.serving;

	far_cas(task, turn->addr + offsetof(struct far_turn_words, serving), serving,
		serving + 1, NULL);
	return far_sync(task);
}

/* While it waits. */
struct wait {
	uint64_t serving;	/* what it was when it moved last */
	uint64_t since;		/* when that was seen */
	uint64_t look_ns;	/* how long the last look has taken */
};

/* After a look. Whether the one whose turn it is has had a lease. */
static int wait_expired(struct wait *wait, uint64_t serving, uint64_t now)
{
	if (serving == wait->serving)
		return now - wait->since > FAR_TURN_LEASE_NS;
	wait->serving = serving;
	wait->since = now;
	return 0;
}

/*
 * How long to look away. A turn takes more than a round trip, since who has it READs
 * and changes the key. How fast serving moves is no measure: who looks away when its
 * turn comes would make everybody look away longer.
 */
static uint64_t wait_pause(const struct wait *wait, uint64_t ahead)
{
	uint64_t ns = (ahead - 1) * wait->look_ns;

	return ns < FAR_TURN_LEASE_NS / 4 ? ns : FAR_TURN_LEASE_NS / 4;
}

static int turn_wait(struct far_task *task, struct far_turn *turn, uint64_t began,
		     void (*look)(void *arg), void *arg)
{
	struct wait wait = {
		.serving = turn->seen->words.serving,
		.since = far_now(task),
		.look_ns = far_now(task) - began,
	};
	uint64_t until = began + FAR_TURN_WAIT_NS;
	uint64_t ahead;
	int err = 0;

	while (!err && far_now(task) < until && (ahead = turn_ahead(turn))) {
		if (wait_expired(&wait, turn->seen->words.serving, far_now(task))) {
			err = turn_skip(task, turn);
			wait.since = far_now(task);
		} else if (ahead > 1) {
			far_sleep(task, wait_pause(&wait, ahead));
		}
		began = far_now(task);
		if (!err)
			err = turn_look(task, turn, look, arg);
		wait.look_ns = far_now(task) - began;
	}
	return err;
}

int far_turn_take(struct far_task *task, struct far_turn *turn,
		  void (*look)(void *arg), void *arg)
{
	uint64_t began = far_now(task);
	int err;

	far_faa(task, turn->addr + offsetof(struct far_turn_words, next), 1,
		&turn->seen->ticket);
	err = turn_look(task, turn, look, arg);
	if (err)
		return err;
	turn->ticket = turn->seen->ticket;
	turn->alone = !turn_ahead(turn) && turn->seen->words.next == turn->ticket + 1;
	/* it has drawn a ticket, for which the others would wait out the lease */
	far_must_begin(task);
	err = turn_wait(task, turn, began, look, arg);
	far_must_end(task);
	turn->had = 1;
	turn->held = !err;
	return err;
}

void far_turn_pass(struct far_task *task, struct far_turn *turn)
{
	if (!turn->held)
		return;
	turn->held = 0;
	far_cas(task, turn->addr + offsetof(struct far_turn_words, serving),
		turn->ticket, turn->ticket + 1, NULL);
}

void far_turn_unpass(struct far_turn *turn)
{
	turn->held = turn->had;
}
