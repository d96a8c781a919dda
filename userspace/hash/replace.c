/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacing what a slot says by a CAS: what updates and deletes are in the end.
 *
 * The CAS compares with a word that was seen to name a block of the key. It succeeds
 * only if the slot still says so: a word comes back to a slot only when its block was
 * given up and allocated again, which takes a grace period, hence never within an
 * operation; and then the tag tells (form/age.h) for about HASH_TAG_SPAN epochs.
 */
#include "hash_priv.h"

#include <errno.h>

#include "../core/stats.h"
#include "../core/task.h"

#define FATE_TRIES	8u	/* connections that may break while a fate is looked up */
/*
 * A key that other clients change as well: READ its slot before the CAS, until so many
 * hints in a row were right.
 */
#define HINT_LOOKS	4u
/*
 * The same for new hints, while more than one of HINT_MISS that were used is wrong:
 * a wrong one adds HINT_MISS, at most up to HINT_MISSES_MAX, a right one takes 1 away.
 */
#define HINT_MISS	16
#define HINT_MISSES_MAX	1024
/* A hint is renewed in the cache when it would be refused within so many epochs. */
#define HINT_RENEW	(HASH_TAG_SPAN / 8)

/* True if the hint's word cannot have come back since it was seen, in the epoch of now. */
static int hint_fresh(const struct hash_op *op, struct form_age now)
{
	return op->hash->variant->blind ||
	       !form_age_after(hash_slot_tag(op->hint.word), HASH_TAG_BITS, op->hint.age,
			       now);
}

/*
 * Whether hints are right is noted per key, since others may change some keys and not
 * others, and of the table, for keys of which nothing is known yet.
 */
void hash_hint_judge(struct hash_op *op, int right)
{
	atomic_int *misses = &op->hash->hint_misses;
	int now = atomic_load_explicit(misses, memory_order_relaxed);

	if (right) {
		op->looks -= op->looks ? 1 : 0;
		now -= now ? 1 : 0;
	} else {
		op->looks = HINT_LOOKS;
		op->hint.looks = HINT_LOOKS;
		hash_cache_put(op->hash->cache, &op->id, &op->hint);
		now += now < HINT_MISSES_MAX ? HINT_MISS : 0;
	}
	/* a store that is lost to another thread's makes no difference */
	atomic_store_explicit(misses, now, memory_order_relaxed);
}

/* How often to look, for a hint that is made now. */
static unsigned hint_looks(const struct hash_op *op)
{
	if (op->hinted)
		return op->looks;
	return atomic_load_explicit(&op->hash->hint_misses, memory_order_relaxed) ?
	       HINT_LOOKS : 0;
}

int hash_hint_get(struct hash_op *op, int to_replace)
{
	if (!op->hash->cache || !hash_cache_get(op->hash->cache, &op->id, &op->hint))
		return 0;
	op->looks = op->hint.looks;
	op->hinted = 1;
	return !to_replace || hint_fresh(op, form_age_now(op->task));
}

void hash_hint_drop(struct hash_op *op)
{
	op->hint.addr = FAR_NIL;
	if (op->hash->cache)
		hash_cache_drop(op->hash->cache, &op->id);
}

/* True if the cache has this already, and young enough for a while. */
static int hint_stands(const struct hash_op *op, uint64_t addr, uint64_t word,
		     struct form_age age)
{
	age.epoch += HINT_RENEW;
	return op->hinted && op->hint.addr == addr && op->hint.word == word &&
	       op->hint.looks == op->looks && hint_fresh(op, age);
}

void hash_remember(struct hash_op *op, uint64_t addr, uint64_t word, struct form_age age)
{
	struct hash_hint hint = {
		.addr = addr, .word = word, .age = age, .looks = hint_looks(op),
	};

	if (op->hash->cache && !hint_stands(op, addr, word, age))
		hash_cache_put(op->hash->cache, &op->id, &hint);
}

int hash_replace_fate(struct hash_op *op, uint64_t word)
{
	unsigned i;
	int err = -EIO;

	for (i = 0; i < FATE_TRIES && err && err != -ESTALE; i++) {
		far_read(op->task, op->found.addr, op->word, sizeof(*op->word));
		err = far_sync(op->task);
	}
	if (!err && op->word[0] == op->found.word)
		return 0;
	if (!err && word && op->word[0] == word)
		return 1;
	op->unsure = 1;
	return err ? err : -EIO;
}

/*
 * With the turn, if it has one. It passes that on before it knows whether it has won:
 * one that has lost so before keeps it until it has.
 */
static int replace_cas(struct hash_op *op, uint64_t word, uint64_t *ret_seen)
{
	int err;

	if (!op->hash->turns)
		return far_backoff_cas(op->task, op->found.addr, op->found.word, word,
				       ret_seen);
	far_cas(op->task, op->found.addr, op->found.word, word, &op->word[2]);
	if (!op->patient)
		far_turn_pass(op->task, &op->turn);
	err = far_sync(op->task);
	if (err) {
		far_turn_unpass(&op->turn);
		return err;
	}
	*ret_seen = op->word[2];
	if (*ret_seen != op->found.word)
		far_backoff_count(op->task);
	return 0;
}

/*
 * One CAS of op->found to new's word (NULL: 0), behind the WRITE of its block. 0: it
 * succeeded; -EAGAIN: *ret_seen is what was there.
 */
static int replace_once(struct hash_op *op, struct hash_new *new, uint64_t *ret_seen)
{
	uint64_t word = new ? new->word : 0;
	int err;

	if (new)
		hash_new_write(op, new);
	hash_publishing(op);
	err = replace_cas(op, word, ret_seen);
	if (!err && *ret_seen == op->found.word)
		return 0;
	if (!err) {
		hash_lost(op);
		return -EAGAIN;
	}
	if (err == -ESTALE) {
		op->unsure = 1;
		return err;
	}
	err = op->hash->variant->twice ? 0 : hash_replace_fate(op, word);
	if (err < 0)
		return err;
	*ret_seen = op->found.word;
	if (err)
		return 0;
	hash_lost(op);
	/* the WRITE in front of the CAS need not have happened either */
	if (new)
		new->written = 0;
	return -EAGAIN;
}

/*
 * What the key has now, after a CAS of op->found saw something else, and perhaps the
 * task was delayed for that: the slot is READ again, together with the block that was
 * seen, and the block once more if the slot has changed.
 */
static int replace_seen(struct hash_op *op, uint64_t seen)
{
	uint64_t addr = op->found.addr;
	int err;

	op->nr_cand = 1;
	op->cand[0] = (struct hash_cand) { .addr = addr, .word = seen };
	hash_deciding(op);
	far_read(op->task, addr, op->word, sizeof(*op->word));
	err = hash_cand_read(op, 0);
	if (!err)
		err = far_sync(op->task);
	if (err)
		return err;
	if (op->word[0] & HASH_FROZEN)
		return -ENOENT;
	return op->word[0] == seen ? hash_cand_match(op, 0) :
	       hash_verify(op, addr, op->word[0], 0);
}

/* The same, wherever the key is by now. -ENOENT. */
static int replace_again(struct hash_op *op, uint64_t seen)
{
	size_t mark = far_buf_mark(op->task);
	int err = -ENOENT;

	if (seen == op->found.word)
		return 0;
	if (seen && !(seen & HASH_FROZEN) && hash_slot_fp(seen) == op->key.fp &&
	    !op->hash->variant->insert)
		err = replace_seen(op, seen);
	if (err == -ENOENT || err == -EAGAIN)
		err = hash_find(op, 0);
	far_buf_release(op->task, mark);
	op->found.block = NULL;
	return err;
}

/* What op->word[0], READ from the slot of op->found, says of the key. -ENOENT. */
static int replace_changed(struct hash_op *op)
{
	size_t mark = far_buf_mark(op->task);
	int err = -ENOENT;

	if (op->word[0] == op->found.word)
		return 0;
	if (!(op->word[0] & HASH_FROZEN))
		err = hash_verify(op, op->found.addr, op->word[0], 0);
	if (err == -ENOENT || err == -EAGAIN)
		err = hash_find(op, 0);
	far_buf_release(op->task, mark);
	op->found.block = NULL;
	return err;
}

/* Looks at the slot of op->found: in the operation's turn, if it takes turns. */
static int replace_look(struct hash_op *op)
{
	int err;

	hash_deciding(op);
	if (op->queued && !op->turn.held) {
		err = hash_turn_take(op);
	} else {
		far_read(op->task, op->found.addr, op->word, sizeof(*op->word));
		err = far_sync(op->task);
	}
	return err ? err : replace_changed(op);
}

int hash_replace_thaw(struct hash_op *op, int whole)
{
	uint32_t dir = hash_key_dir(&op->key);
	int depth = hash_moved(dir, op->depth, HASH_MAX_DEPTH);
	int err;

	/* no split moves such a key */
	if (depth < 0)
		return -EBADMSG;
	far_turn_pass(op->task, &op->turn);
	err = hash_split(op->task, op->hash, op->key.shard, op->sub,
			 dir & hash_mask(op->depth), depth);
	return err ? err : hash_find(op, whole);
}

void hash_replace_done(struct hash_op *op, struct hash_new *new)
{
	op->present = 1;
	if (new) {
		hash_remember(op, op->found.addr, new->word, new->birth);
	} else {
		far_sum_add(op->task, op->hash->keys[op->key.shard], -1);
		hash_hint_drop(op);
	}
	hash_retire_word(op, op->found.word, op->found.block);
}

/* After a CAS has lost to `seen`. Whether the operation takes turns from now on. */
static int replace_queue(struct hash_op *op, uint64_t seen)
{
	if (!op->hash->turns || seen == op->found.word)
		return 0;
	far_turns_lost(op->hash->turns, op->key.first);
	op->queued = 1;
	op->patient = op->turn.had;
	return 1;
}

/* The same: what the key has now. The operation waits for its turn, if it has none. */
static int replace_lost(struct hash_op *op, uint64_t seen)
{
	return replace_queue(op, seen) ? replace_look(op) : replace_again(op, seen);
}

int hash_replace_try(struct hash_op *op, struct hash_new *new)
{
	uint64_t seen;
	int err = replace_once(op, new, &seen);

	if (!err)
		hash_replace_done(op, new);
	if (err == -EAGAIN) {
		replace_queue(op, seen);
		op->found.word = seen;
	}
	return err;
}

int hash_replace(struct hash_op *op, struct hash_new *new)
{
	uint64_t seen;
	int err;

	for (;;) {
		while (op->found.word & HASH_FROZEN) {
			err = hash_replace_thaw(op, 0);
			if (err)
				return err;
		}
		if (op->queued && !op->turn.held) {
			err = replace_look(op);
			if (err)
				return err;
			continue;
		}
		err = replace_once(op, new, &seen);
		if (!err)
			break;
		if (err == -EAGAIN)
			err = replace_lost(op, seen);
		if (err)
			return err;
	}
	hash_replace_done(op, new);
	return 0;
}

static void hint_count(struct hash_op *op, int right)
{
	if (op->hash->cache)
		far_count(op->task, right ? FAR_COUNT_CACHE_HITS : FAR_COUNT_CACHE_MISSES,
			  1);
}

/*
 * Whether the slot still has what the hint says, before a CAS is built on it. -EAGAIN:
 * op->found is what the key has now.
 */
static int hint_look(struct hash_op *op)
{
	int right;
	int err;

	err = replace_look(op);
	right = !err && op->found.word == op->hint.word;
	hint_count(op, right);
	if (!err)
		hash_hint_judge(op, right);
	return err ? err : -EAGAIN;
}

/* The CAS by the hint. -EAGAIN: it was wrong, but op->found is what the key has now. */
static int hint_try(struct hash_op *op, struct hash_new *new)
{
	uint64_t seen;
	int err;

	err = replace_once(op, new, &seen);
	hint_count(op, !err);
	if (!err || err == -EAGAIN)
		hash_hint_judge(op, !err);
	if (!err)
		hash_replace_done(op, new);
	if (err != -EAGAIN)
		return err;
	err = replace_again(op, seen);
	return err ? err : -EAGAIN;
}

int hash_replace_hint(struct hash_op *op, struct hash_new *new)
{
	int err;

	if (!hash_hint_get(op, 1)) {
		hint_count(op, 0);
		return -EAGAIN;
	}
	op->found = (struct hash_cand) { .addr = op->hint.addr, .word = op->hint.word };
	if (op->queued || op->looks)
		err = hint_look(op);
	else
		err = hint_try(op, new);
	if (err == -ENOENT)
		hash_hint_drop(op);
	return err == -EAGAIN ? hash_replace(op, new) : err;
}
