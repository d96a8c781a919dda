// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The arbiter's step. Clients write and read the same words by verbs meanwhile, so each
 * is loaded and stored as one.
 */
#include "arbiter.h"

#include "geometry.h"

static uint64_t word_get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void word_set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct far_epoch_line *line_of(const struct far_arbiter *arbiter)
{
	return (void *)((char *)arbiter->memory + FAR_SB_EPOCH);
}

static struct far_client_entry *entry_of(const struct far_arbiter *arbiter,
					 unsigned number)
{
	return (void *)((char *)arbiter->memory +
			far_client_entry_off(arbiter->sb, number));
}

/* True if its beat has stood still for too long. Notes when it moved. */
static bool entry_is_silent(const struct far_arbiter *arbiter,
			    struct far_client_entry *entry, uint64_t claim, uint64_t now)
{
	uint64_t beat = word_get(&entry->beat);

	if (word_get(&entry->seen_claim) != claim || word_get(&entry->seen_beat) != beat) {
		word_set(&entry->seen_claim, claim);
		word_set(&entry->seen_beat, beat);
		word_set(&entry->seen_at, now);
		return false;
	}
	return beat != FAR_BEAT_NONE && now - word_get(&entry->seen_at) > arbiter->beat_ns;
}

static bool all_confirm(const struct far_arbiter *arbiter, unsigned number,
			unsigned incarnation)
{
	unsigned own = arbiter->sb->arbiter;
	bool all = true;

	/* A client that reads its entry here knows that no other node was asked to fence it. */
	if (arbiter->fence(arbiter->arg, own, number, incarnation))
		return false;
	for (unsigned node = 0; node < arbiter->sb->nr_nodes; node++) {
		if (node != own && arbiter->fence(arbiter->arg, node, number, incarnation))
			all = false;
	}
	return all;
}

static bool entry_is_dead(const struct far_arbiter *arbiter, unsigned number,
			  uint64_t claim, uint64_t now)
{
	bool silent = entry_is_silent(arbiter, entry_of(arbiter, number), claim, now);

	return silent || (arbiter->gone && arbiter->gone(arbiter->arg, number));
}

/* Fences a client that is dead; whether it is out of the count now. */
static bool entry_fence(const struct far_arbiter *arbiter, unsigned number, uint64_t claim)
{
	struct far_client_entry *entry = entry_of(arbiter, number);
	unsigned incarnation = far_owner_incarnation(claim);

	if (!all_confirm(arbiter, number, incarnation))
		return false;
	/* A client that left on its own while it was being fenced is not dead. */
	if (word_get(&entry->claim) != claim)
		return false;
	word_set(&entry->fenced, incarnation);
	return true;
}

/* Epochs above those that clients hold back: published() needs one for a node. */
#define SPARE_EPOCHS	256u

static bool epoch_may_advance(const struct far_arbiter *arbiter, uint64_t epoch, uint64_t safe,
			      uint64_t published)
{
	bool needed = !arbiter->published ||
		      arbiter->published(arbiter->arg, epoch, published);

	return epoch + 1 < safe + FAR_EPOCH_LEAD - (needed ? 0 : SPARE_EPOCHS);
}

unsigned far_arbiter_step(const struct far_arbiter *arbiter, uint64_t now)
{
	struct far_epoch_line *line = line_of(arbiter);
	uint64_t epoch = word_get(&line->epoch);
	uint64_t safe = epoch, flushed = FAR_EPOCH_IDLE, published = FAR_EPOCH_IDLE;
	unsigned fences = 0, living = 0;

	for (unsigned n = 1; n <= arbiter->sb->max_clients; n++) {
		struct far_client_entry *entry = entry_of(arbiter, n);
		uint64_t claim = word_get(&entry->claim);
		bool dead;

		if (!far_claim_taken(claim) ||
		    far_owner_incarnation(claim) <= word_get(&entry->fenced))
			continue;
		dead = entry_is_dead(arbiter, n, claim, now);
		if (dead && entry_fence(arbiter, n, claim)) {
			fences++;
			continue;
		}
		living++;
		if (!dead)
			published = min_u64(published, word_get(&entry->epoch));
		safe = min_u64(safe, word_get(&entry->epoch));
		flushed = min_u64(flushed, word_get(&entry->flushed));
	}
	word_set(&line->deaths, word_get(&line->deaths) + fences);
	word_set(&line->clients, living);
	word_set(&line->safe, safe);
	word_set(&line->flushed, flushed);
	if (now - word_get(&line->stamp) >= arbiter->epoch_ns) {
		word_set(&line->stamp, now);
		if (epoch_may_advance(arbiter, epoch, safe, published))
			word_set(&line->epoch, epoch + 1);
	}
	return fences;
}

uint64_t far_arbiter_due(const struct far_arbiter *arbiter)
{
	return word_get(&line_of(arbiter)->stamp) + arbiter->epoch_ns;
}
