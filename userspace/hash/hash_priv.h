/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hash table's own types: an open table, and an operation of one key on it.
 *
 *	op.c	   an operation's frame		table.c	  create, open, close, destroy
 *	find.c	   where a key is		get.c	  get
 *	new.c	   blocks of values		update.c  update, delete, put
 *	replace.c  a slot's word		insert.c  insert
 *	claim.c	   claims of buckets		batch.c	  mget, mput
 *	split.c	   a subtable becomes two	scan.c	  scan, stat
 *	walk.c	   what a check walks		image.c	  a table made at once
 *	turn.c	   hot keys, in turns		copy.c	  the memory of a split
 *	modify.c   changes by a function	piece.c	  scan_from, clear
 */
#ifndef FAR_HASH_PRIV_H
#define FAR_HASH_PRIV_H

#include <errno.h>
#include <stdatomic.h>

#include <far/hash.h>

#include "../core/sum.h"
#include "../form/key.h"
#include "cache.h"
#include "dir.h"
#include "key.h"
#include "layout.h"

struct hash_new;
struct hash_op;

/* Steps that others do in another way, for comparisons (paper/hash.c); all 0: ours. */
struct hash_variant_ops {
	bool blind;	/* hints are believed for ever, and blocks have no births */
	bool twice;	/* a CAS whose answer is lost counts as lost */
	/* Publishes a new key, unconfirmed as all that is absent. NULL: under a claim. */
	int (*insert)(struct hash_op *op, struct hash_new *new);
	/* After a batch that went well: what else it takes in. NULL: nothing. */
	void (*window)(struct far_combine_batch *batch);
};

struct far_hash {
	struct far *far;
	uint64_t root;
	unsigned groups;
	unsigned nr_shards;
	unsigned first_depth;
	const struct hash_variant_ops *variant;
	struct hash_cache *cache;	/* NULL: none */
	struct far_combine_table *combine;	/* NULL: each operation for itself */
	struct far_turns *turns;	/* NULL: none are taken */
	uint64_t *turn_at;		/* far address of the turns of each shard */
	atomic_int hint_misses;		/* of the table: HINT_MISS of replace.c */
	atomic_int puts_fresh;		/* the last batch of puts had new keys most of all */
	struct hash_dir *dir;		/* of each shard */
	struct far_sum **keys;		/* of each shard: how many there are */
};

/* Slots that may hold the key: in two combined buckets. */
#define HASH_PAIR_SLOTS		28u

struct hash_cand {
	uint64_t addr;			/* far address of the slot */
	uint64_t word;
	struct hash_block *block;	/* what was READ of it */
};

/*
 * An operation of one key. Between hash_op_begin() and hash_op_end() no block that
 * it saw named by a slot is used for anything else.
 */
struct hash_op {
	struct far_task *task;
	struct far_hash *hash;
	struct hash_key key;
	struct hash_id id;		/* for the cache */
	struct form_age age;		/* before the READ of slots that decides was posted */

	uint64_t sub;			/* the subtable, and its depth as far as is known */
	unsigned depth;
	struct hash_bucket *pair[2];	/* copies of the two combined buckets */
	uint64_t *word;			/* registered room for HASH_OP_WORDS words, and
					   behind them what turn.seen points to */
	struct hash_sub *head;		/* registered room */
	struct hash_cand cand[HASH_PAIR_SLOTS];
	unsigned nr_cand;
	struct hash_cand found;		/* after hash_find() has returned 0 */
	struct far_combine_batch *batch;	/* NULL: it is alone */
	int may_insert;			/* that the key is absent need not be certain */
	int present;			/* the key was there, before the change */
	int unsure;			/* of the last CAS nobody knows whether it happened */
	unsigned torn;			/* how often an insert has met no block */
	unsigned looks;			/* of the hint, and for the next one */
	int hinted;			/* there was one: */
	struct hash_hint hint;		/* as the cache has it; addr 0: not any more */
	int queued;			/* changes the key in its turn */
	int patient;			/* and keeps that until it has done so */
	struct far_turn turn;
};

#define HASH_OP_WORDS		4u
#define HASH_TRIES		64u	/* rounds without end mean damage */

/* The caller names no far address: one that cannot be was read from far memory. */
static inline int hash_far_err(int err)
{
	return err == -EFAULT ? -EBADMSG : err;
}

/* op.c */

/* -EINVAL, -E2BIG: a key that cannot be. It is alone. */
int hash_op_init(struct hash_op *op, struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len);
/* Buffers; inside of an epoch. */
int hash_op_start(struct hash_op *op);
/* Runs an operation from begin to end: alone, or with others of the same key. */
int hash_do(struct far_task *task, struct far_hash *hash, const void *key,
	    size_t key_len, const struct form_args *args);

/* Before the READ of slots is posted that decides what the key has. */
static inline void hash_deciding(struct hash_op *op)
{
	op->age = form_age_now(op->task);
	if (op->batch)
		far_combine_again(op->batch);
}

/*
 * Before the CAS that changes what the key has is posted, and after it has lost. Between
 * the two, or for good, the operation has no deadline.
 */
static inline void hash_publishing(struct hash_op *op)
{
	far_must_begin(op->task);
	if (op->batch)
		far_combine_publish(op->batch);
}

static inline void hash_lost(struct hash_op *op)
{
	far_must_end(op->task);
	if (op->batch)
		far_combine_lost(op->batch);
}

/* find.c */

/* Chooses the subtable from the directory: before all but a get by a hint. */
void hash_locate(struct hash_op *op);
/* Appends the READs of the two combined buckets. */
void hash_pair_read(struct hash_op *op);
/* After them: the slots with the key's fp. */
void hash_pair_scan(struct hash_op *op);
/* Appends READs of the candidates' blocks, whole or as far as the key goes. */
int hash_cand_read(struct hash_op *op, int whole);
/* After them: the one that has the key, 0; -ENOENT; or -EAGAIN, READ it again. */
int hash_cand_match(struct hash_op *op, int whole);
/* hash_pair_scan() to hash_cand_match(), with the wait between. */
int hash_pair_match(struct hash_op *op, int whole);
/* The header of the key's home bucket, as it was READ with the pair. */
uint64_t hash_home_header(const struct hash_op *op);
uint64_t hash_home_addr(const struct hash_op *op);
/*
 * After the key was not in the pair, or only in a frozen slot: 1 if a split has taken
 * it elsewhere, where op->sub and op->depth now say. 0: what the pair said was true
 * at a moment after it was read.
 */
int hash_elsewhere(struct hash_op *op);
/*
 * Finds the key's slot and READs its block. Posts what the caller has appended, with
 * its first READs. -ENOENT: it is not there. A slot that is found may be frozen.
 */
int hash_find(struct hash_op *op, int whole);
/* READs the block of one slot word and compares its key; as hash_cand_match(). */
int hash_verify(struct hash_op *op, uint64_t addr, uint64_t word, int whole);
/* Enters what the head of a subtable says in the client's directory. */
void hash_learn(struct far_hash *hash, uint64_t sub, const struct hash_sub *head);
/*
 * Whether a header can be that of the key's home bucket in op->sub: of this subtable, and
 * not behind a split that op->depth says has happened, but for that one's last step.
 */
int hash_header_fits(const struct hash_op *op, uint64_t header);
/* Where slot s of bucket b of combined bucket i is. */
static inline uint64_t hash_pair_slot_addr(const struct hash_op *op, unsigned i,
					   unsigned b, unsigned s)
{
	return op->sub + hash_combined_off(op->key.main[i]) + b * HASH_BUCKET +
	       offsetof(struct hash_bucket, slot) + s * sizeof(uint64_t);
}

/* The far address of the block that a slot word names. */
static inline uint64_t hash_block_addr(unsigned shard, uint64_t word)
{
	return far_addr(shard, hash_slot_off(word));
}

/* new.c */

/* The new block of an operation, in local and in far memory. */
struct hash_new {
	struct hash_block *block;
	uint64_t addr;
	uint64_t len;
	uint64_t word;		/* for the slot */
	struct form_age birth;
	int written;		/* its WRITE was appended */
};

int hash_new_init(struct hash_op *op, const void *value, size_t val_len,
		  struct hash_new *new);
/* Appends the WRITE, once. */
void hash_new_write(struct hash_op *op, struct hash_new *new);
/* No slot has ever named it. */
void hash_new_drop(struct hash_op *op, struct hash_new *new);
/* Retires the block that a slot has named until now; block is NULL or its head. */
void hash_retire_word(struct hash_op *op, uint64_t word, const struct hash_block *block);

/* replace.c */

/*
 * Replaces what op->found names by `new`, or deletes the key if that is NULL.
 * -ENOENT: the key is gone. -EIO with op->unsure.
 */
int hash_replace(struct hash_op *op, struct hash_new *new);
/*
 * The same by the cache, in one trip, or in two when others change the key as well.
 * -EAGAIN: there is no hint.
 */
int hash_replace_hint(struct hash_op *op, struct hash_new *new);
/*
 * After a hint was tried, or looked at: op->looks for the next one. A wrong one remains,
 * to look at.
 */
void hash_hint_judge(struct hash_op *op, int right);
/*
 * What the cache knows of the key: op->hint; to_replace: only what a CAS may be built on, a
 * word that cannot have come back to its slot. Whether there is something.
 */
int hash_hint_get(struct hash_op *op, int to_replace);
/* The cache knows nothing of the key any more. */
void hash_hint_drop(struct hash_op *op);
/*
 * One try of the same. -EAGAIN: the CAS has lost to what op->found says now, which is to be
 * read again, in the operation's turn if op->queued says that it takes turns.
 */
int hash_replace_try(struct hash_op *op, struct hash_new *new);
/*
 * Waits until a split has moved the slot of op->found, which is frozen, and finds the key
 * again, as hash_find().
 */
int hash_replace_thaw(struct hash_op *op, int whole);
/*
 * After a connection broke under a CAS of op->found to `word`: 1 it happened, 0 it did
 * not, an error with op->unsure: nobody knows.
 */
int hash_replace_fate(struct hash_op *op, uint64_t word);
/* After that CAS has succeeded: the cache, and the old block. */
void hash_replace_done(struct hash_op *op, struct hash_new *new);
/*
 * Remembers that `word` was in the slot at addr when E had reached that age: op->age for
 * what was READ, the birth of the block that the operation has put there.
 */
void hash_remember(struct hash_op *op, uint64_t addr, uint64_t word, struct form_age age);

/* get.c */

/* op->found is the key's, its block whole; -ENOENT. */
int hash_get(struct hash_op *op);
/* Copies what was found to where the caller wants it. */
int hash_get_copy(const struct hash_block *block, const struct form_args *args);

/* turn.c */

/* No turn so far; before an operation changes the key. */
void hash_turn_init(struct hash_op *op);
/*
 * Waits for the operation's turn; op->word[0] is then what the slot at op->found.addr
 * has. An error of far_sync(): it has no turn.
 */
int hash_turn_take(struct hash_op *op);
/* After each operation that may have had a turn, however it has ended. */
void hash_turn_end(struct hash_op *op);

/* modify.c: args->modify, or all of the batch, says what becomes of the key. */
int hash_modify(struct hash_op *op, const struct form_args *args);

/* update.c: what changes a key, by kind. Afterwards op->present is right. */
int hash_change(struct hash_op *op, const struct form_args *args);

/* table.c: opens the table with that root, and knows one subtable of each shard. */
int hash_open_root(struct far_task *task, uint64_t addr, struct far_hash **ret_hash);

/* create.c: the head of a new subtable. */
void hash_sub_init(struct hash_sub *head, uint32_t suffix, unsigned shard, unsigned born);

/* insert.c: splits the key's subtable of that depth, or helps whoever does. */
int hash_insert_split(struct hash_op *op, unsigned depth);
/* -EEXIST with op->found if the key is there. */
int hash_insert_new(struct hash_op *op, struct hash_new *new);
/*
 * With the pair READ: an empty slot of the emptier combined bucket, its main bucket
 * before its overflow. 0: it is full.
 */
uint64_t hash_insert_room(const struct hash_op *op);
/* Takes that slot for full from now on. */
void hash_pair_fill(struct hash_op *op, uint64_t slot);
/*
 * After err, the connection broke under a CAS of that slot from 0 to new's word: 0, it
 * happened; or an error with op->unsure.
 */
int hash_fill_fate(struct hash_op *op, const struct hash_new *new, uint64_t slot,
		   int err);

/* claim.c */

/* A claim of the op's client for a bucket with this idle header. */
uint64_t hash_claim_word(struct hash_op *op, uint64_t idle);
/* Gives back a claim; also one of which nobody knows whether it was got. */
int hash_claim_release(struct hash_op *op, uint64_t addr, uint64_t claim);
/*
 * Somebody else's claim was found at addr. Waits a little, the longer the higher
 * `round` is, or takes it away if its owner is dead. 0 or an error of far_sync(); -ETIME:
 * the operation is late.
 */
int hash_claim_wait(struct far_task *task, uint64_t addr, uint64_t header,
		    unsigned round);

/* split.c */

/*
 * Splits a subtable of that shard, suffix and depth, or helps whoever does. 0: its
 * depth is more than `depth` now. -ENOSPC, or an error of far_sync().
 */
int hash_split(struct far_task *task, struct far_hash *hash, unsigned shard, uint64_t sub,
	       uint32_t suffix, unsigned depth);

#endif
