/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The copy of a split, and who has it. See copy.h. */
#include "copy.h"

#include <errno.h>

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/loose.h"
#include "../core/owed.h"
#include "../core/owner.h"

#define SWAP_TRIES	16u	/* connections that may break under a note */
#define WAIT_MIN	10000u	/* ns */
#define ALLOC_ROUNDS	64u	/* in each so many, one looks for memory */

static void copy_sleep(const struct hash_copy *copy, unsigned round)
{
	far_sleep(copy->task, (uint64_t)WAIT_MIN << (round < 8 ? round : 8));
}

static uint64_t noted_addr(unsigned shard, uint64_t word)
{
	return far_addr(shard, hash_copy_off(word));
}

uint64_t hash_copy_noted(const struct hash_sub *head, uint64_t note)
{
	uint64_t addr = noted_addr(head->shard, note);
	unsigned i;

	for (i = 0; note && i < HASH_MAX_DEPTH; i++)
		if (head->sibling[i] == addr)
			return FAR_NIL;
	return note ? addr : FAR_NIL;
}

static int is_mine(const struct hash_copy *copy, uint64_t word)
{
	return (word & FAR_OWNER_MASK) == far_owner_self(copy->task);
}

/* Nobody knows whether this note of this client is there: if so, it shall be nobody's. */
static void note_owe(struct hash_copy *copy, uint64_t mine)
{
	far_owe(copy->task, copy->sub + offsetof(struct hash_sub, copy), mine,
		hash_copy_word(0, hash_copy_off(mine)));
}

/*
 * CAS of the note, again while connections break. 1: it has happened; 0: the note was
 * something else, which head->copy has. Nobody but this task makes a note this client's.
 */
static int copy_swap(struct hash_copy *copy, uint64_t from, uint64_t to)
{
	uint64_t at = copy->sub + offsetof(struct hash_sub, copy), *note = &copy->head->copy;
	uint64_t mine = is_mine(copy, to) ? to : from;
	int err = -EIO;
	unsigned i;

	for (i = 0; i < SWAP_TRIES && err && err != -ESTALE; i++) {
		if (i)
			copy_sleep(copy, i);
		far_cas(copy->task, at, from, to, note);
		err = far_sync(copy->task);
	}
	if (err && err != -ESTALE)
		note_owe(copy, mine);
	return err ? err : *note == from || *note == to;
}

static int head_read(struct hash_copy *copy)
{
	far_read(copy->task, copy->sub, copy->head, sizeof(*copy->head));
	return far_sync(copy->task);
}

void hash_copy_published(struct hash_copy *copy)
{
	if (copy->word)
		(void)copy_swap(copy, copy->word, 0);
	copy->word = 0;
	copy->addr = FAR_NIL;
}

/* Nobody's from now on; or free, if it is not noted. */
static void copy_drop(struct hash_copy *copy)
{
	uint64_t nobodys = hash_copy_word(0, far_addr_off(copy->addr));

	if (!copy->word && copy->addr)
		far_block_free(copy->task, copy->addr, copy->len);
	/* the note ended with hash_copy_end(), or somebody has taken it over since */
	if (copy->word && !copy_swap(copy, copy->word, nobodys))
		far_alloc_lost(copy->task);
	copy->word = 0;
	copy->addr = FAR_NIL;
}

/* The note of a client that is dead, or of nobody, becomes this client's. */
static int copy_inherit(struct hash_copy *copy, uint64_t noted)
{
	uint64_t mine = hash_copy_word(far_owner_self(copy->task), hash_copy_off(noted));
	int ret = copy_swap(copy, noted, mine);

	/* whoever had it publishes nothing any more, but may have done so: look again */
	return ret < 0 ? ret : 1;
}

/* The note is this client's, and no other task has it. 1: look again. */
static int copy_keep(struct hash_copy *copy, uint64_t noted)
{
	copy_drop(copy);
	copy->addr = noted_addr(copy->shard, noted);
	copy->word = noted;
	if (hash_copy_noted(copy->head, noted))
		return 0;
	hash_copy_published(copy);
	return 1;
}

/* Memory for a helper; waits for the client that has noted its own copy. 1: look again. */
static int copy_help(struct hash_copy *copy, unsigned round)
{
	int err = -ENOSPC;

	/* in a full space this looks at all of it: who waits for another client may wait */
	if (!copy->addr && round % ALLOC_ROUNDS == 0)
		err = far_block_alloc(copy->task, copy->shard, copy->len, &copy->addr);
	if (copy->addr || err != -ENOSPC)
		return copy->addr ? 0 : err;
	if (far_op_is_late(copy->task))
		return -ETIME;
	copy_sleep(copy, round);
	return 1;
}

/* A new one, which is noted. 1: look again. */
static int copy_new(struct hash_copy *copy)
{
	uint64_t mine;
	int ret = 0;

	if (!copy->addr)
		ret = far_block_alloc(copy->task, copy->shard, copy->len, &copy->addr);
	if (ret)
		return ret;
	mine = hash_copy_word(far_owner_self(copy->task), far_addr_off(copy->addr));
	ret = copy_swap(copy, 0, mine);
	if (ret < 0)
		hash_copy_lost(copy);
	else if (ret)
		copy->word = mine;
	return ret < 0 ? ret : !ret;
}

/* What becomes of the note as copy->head has it. 0: there is a copy. 1: look again. */
static int copy_look(struct hash_copy *copy, unsigned round)
{
	uint64_t noted = copy->head->copy;
	int dead = 1;

	if (!noted)
		return copy_new(copy);
	/* the verbs of the task that left it here may come still */
	if (is_mine(copy, noted))
		return far_is_loose(copy->task, copy->shard) ? copy_help(copy, round) :
							       copy_keep(copy, noted);
	if (far_owner_number(noted))
		dead = far_owner_dead(copy->task, noted);
	if (dead < 0)
		return dead;
	return dead ? copy_inherit(copy, noted) : copy_help(copy, round);
}

int hash_copy_take(struct hash_copy *copy, unsigned depth, uint64_t *ret_sibling)
{
	unsigned round;
	int ret = 1;

	for (round = 0; ret == 1; round++) {
		/* that nothing is noted the CAS will show */
		ret = round || copy->head->copy ? head_read(copy) : 0;
		if (ret)
			break;
		*ret_sibling = copy->head->sibling[depth];
		ret = *ret_sibling ? 0 : copy_look(copy, round);
	}
	return ret;
}

int hash_copy_enter(struct hash_copy *copy)
{
	copy->turn.task = copy->task;
	copy->turn.addr = copy->sub + offsetof(struct hash_sub, copy);
	return far_lock_enter(copy->locks, &copy->turn);
}

void hash_copy_leave(struct hash_copy *copy, int err)
{
	if (err != -ESTALE)
		copy_drop(copy);
	far_lock_leave(copy->locks, &copy->turn);
}

void hash_copy_end(struct hash_copy *copy)
{
	if (copy->word)
		far_cas(copy->task, copy->sub + offsetof(struct hash_sub, copy), copy->word, 0,
			&copy->head->copy);
}

void hash_copy_lost(struct hash_copy *copy)
{
	far_alloc_lost(copy->task);
	if (copy->word)
		note_owe(copy, copy->word);
	copy->word = 0;
	copy->addr = FAR_NIL;
}
