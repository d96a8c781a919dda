/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A split: the keys of a subtable that have the next bit set move to a new one.
 *
 *	1  headers	idle(d) -> moving(d), each once nobody claims it: from then on
 *			nobody inserts here
 *	2  freeze	slots of keys that move: word -> word | frozen
 *	3  copy		the frozen words, into a subtable that nobody knows
 *	4  publish	sibling[d]: 0 -> the copy, by CAS. This is the split
 *	5  clean	word | frozen -> 0
 *	6  headers	moving(d) -> idle(d + 1)
 *
 * Every step is a CAS that does nothing when somebody else has done it, so any number
 * of clients may go through them at once, and one that dies stops nobody. One that was
 * asleep finds the headers behind its split, and so does nothing to the next one: only
 * frozen words do not say whose they are, hence step 5 looks at a header behind them.
 * The copies of those that lose step 4 are freed. That only one works as a rule is a courtesy,
 * by the word `splitter`; who has waited in vain helps.
 */
#include "priv.h"

#include <errno.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/owner.h"

#define PIECE_GROUPS	32u	/* at most; the whole of a subtable by default */
#define PIECE_SLOTS	(PIECE_GROUPS * HASH_GROUP_SLOTS)
#define PIECE_MAINS	(PIECE_GROUPS * 2)

#define WAIT_MIN	10000u		/* ns */
#define WAIT_ROUNDS	12u		/* about 20 ms in all */

struct split {
	struct far_task *task;
	struct far_hash *hash;
	unsigned shard;
	uint64_t sub;
	uint32_t suffix;
	unsigned depth;
	unsigned groups;		/* of a piece */
	uint64_t copy;			/* of this client; FAR_NIL: none */
	uint64_t sibling;		/* once it is published */
	/* registered memory */
	struct hash_sub *head;
	struct hash_bucket *piece;	/* of the subtable */
	struct hash_bucket *twin;	/* the same of the copy */
	uint64_t *seen;			/* what the CASes of a piece found */
	struct hash_block *block;	/* heads of a piece's blocks */
};

static uint64_t piece_addr(uint64_t sub, unsigned group)
{
	return sub + HASH_SUB_HEAD + (uint64_t)group * HASH_GROUP;
}

static uint64_t piece_slot_addr(const struct split *split, unsigned group, unsigned i)
{
	return piece_addr(split->sub, group) + i / HASH_SLOTS * HASH_BUCKET +
	       offsetof(struct hash_bucket, slot) + i % HASH_SLOTS * sizeof(uint64_t);
}

static uint64_t *piece_slot(struct hash_bucket *piece, unsigned i)
{
	return &piece[i / HASH_SLOTS].slot[i % HASH_SLOTS];
}

/* This subtable's, and not before the last step of the split before this one. */
static int split_header_fits(const struct split *split, uint64_t header)
{
	unsigned depth = hash_depth(header);

	if ((header & ~(HASH_CLAIM_MASK | HASH_MOVING)) != hash_idle(depth, split->suffix))
		return 0;
	if (header & HASH_MOVING)
		return !hash_claimed(header) && depth + 1 >= split->depth;
	return depth >= split->depth;
}

/* Step 1 of one header, behind claims and an earlier split. 1: this split is over. */
static int split_close_one(struct split *split, uint64_t addr, uint64_t header)
{
	uint64_t idle = hash_idle(split->depth, split->suffix);
	unsigned round;
	int err;

	for (round = 0; ; round++) {
		if (!split_header_fits(split, header))
			return -EBADMSG;
		if (hash_depth(header) < split->depth)
			err = hash_split(split->task, split->hash, split->shard,
					 split->sub, split->suffix, hash_depth(header));
		else if (hash_claimed(header))
			err = hash_claim_wait(split->task, addr, header, round);
		else
			break;
		if (err)
			return err;
		far_cas(split->task, addr, idle, idle | HASH_MOVING, &split->seen[0]);
		err = far_sync(split->task);
		if (err)
			return err;
		header = split->seen[0];
	}
	return hash_depth(header) > split->depth;
}

/* CASes the headers of a piece from one to another. */
static int split_headers(struct split *split, unsigned group, uint64_t from, uint64_t to)
{
	unsigned i;

	for (i = 0; i < 2 * split->groups; i++)
		far_cas(split->task, split->sub + hash_main_off(2 * group + i), from, to,
			&split->seen[i]);
	return far_sync(split->task);
}

/* Step 1. 1: the split is over. */
static int split_close(struct split *split)
{
	uint64_t idle = hash_idle(split->depth, split->suffix);
	uint64_t header[PIECE_MAINS];
	unsigned group, i;
	int ret;

	for (group = 0; group < split->hash->groups; group += split->groups) {
		ret = split_headers(split, group, idle, idle | HASH_MOVING);
		if (ret)
			return ret;
		memcpy(header, split->seen, 2 * split->groups * sizeof(*header));
		for (i = 0; i < 2 * split->groups; i++) {
			ret = split_close_one(split,
					      split->sub + hash_main_off(2 * group + i),
					      header[i]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/*
 * Which of these slots of the piece have to be frozen: that many of them are left. A slot
 * that is empty, or frozen, is done.
 */
static int freeze_choose(struct split *split, uint16_t *slot, unsigned *nr)
{
	unsigned used = 0, keep = 0;
	unsigned i;
	int err;

	for (i = 0; i < *nr; i++) {
		uint64_t word = *piece_slot(split->piece, slot[i]);

		if (!word || word & HASH_FROZEN)
			continue;
		far_read(split->task, hash_block_addr(split->shard, word),
			 &split->block[used], HASH_BLOCK_HEAD);
		slot[used++] = slot[i];
	}
	err = used ? far_sync(split->task) : 0;
	if (err)
		return err;
	for (i = 0; i < used; i++) {
		uint32_t dir = split->block[i].dir;

		if ((dir & hash_mask(split->depth)) != split->suffix)
			return -EBADMSG;
		if (dir >> split->depth & 1)
			slot[keep++] = slot[i];
	}
	*nr = keep;
	return 0;
}

/* Freezes what of a piece moves, as often as somebody changes it meanwhile. */
static int freeze_piece(struct split *split, unsigned group)
{
	uint16_t slot[PIECE_SLOTS];
	unsigned nr = split->groups * HASH_GROUP_SLOTS;
	unsigned lost, i;
	int err;

	for (i = 0; i < nr; i++)
		slot[i] = i;
	for (; nr; nr = lost) {
		err = freeze_choose(split, slot, &nr);
		if (err || !nr)
			return err;
		for (i = 0; i < nr; i++) {
			uint64_t word = *piece_slot(split->piece, slot[i]);

			far_cas(split->task, piece_slot_addr(split, group, slot[i]),
				word, word | HASH_FROZEN, &split->seen[i]);
		}
		err = far_sync(split->task);
		if (err)
			return err;
		for (i = lost = 0; i < nr; i++) {
			uint64_t *word = piece_slot(split->piece, slot[i]);

			if (split->seen[i] == *word)
				*word |= HASH_FROZEN;
			else if ((*word = split->seen[i]) && !(*word & HASH_FROZEN))
				slot[lost++] = slot[i];
		}
	}
	return 0;
}

/* What the copy has in place of a piece. */
static void copy_piece(struct split *split)
{
	uint32_t suffix = split->suffix | 1u << split->depth;
	unsigned i;

	for (i = 0; i < 3 * split->groups; i++)
		split->twin[i].header = i % 3 == 1 ? 0 :
					hash_idle(split->depth + 1, suffix);
	for (i = 0; i < split->groups * HASH_GROUP_SLOTS; i++) {
		uint64_t word = *piece_slot(split->piece, i);

		*piece_slot(split->twin, i) = word & HASH_FROZEN ? word & ~HASH_FROZEN : 0;
	}
}

/* Steps 2 and 3. */
static int split_copy(struct split *split)
{
	unsigned group;
	int err;

	hash_sub_init(split->head, split->suffix | 1u << split->depth, split->shard,
		      split->depth + 1);
	far_write(split->task, split->copy, split->head, sizeof(*split->head));
	for (group = 0; group < split->hash->groups; group += split->groups) {
		far_read(split->task, piece_addr(split->sub, group), split->piece,
			 split->groups * HASH_GROUP);
		err = far_sync(split->task);
		if (!err)
			err = freeze_piece(split, group);
		if (err)
			return err;
		copy_piece(split);
		far_write(split->task, piece_addr(split->copy, group), split->twin,
			  split->groups * HASH_GROUP);
		err = far_sync(split->task);
		if (err)
			return err;
	}
	return 0;
}

static uint64_t split_word_addr(const struct split *split)
{
	return split->sub + offsetof(struct hash_sub, sibling) +
	       split->depth * sizeof(uint64_t);
}

/* Step 4. If the connection breaks, what became of the CAS is looked up. */
static int split_publish(struct split *split)
{
	int err;

	far_cas(split->task, split_word_addr(split), 0, split->copy, &split->seen[0]);
	err = far_sync(split->task);
	if (err == -ESTALE) {
		split->copy = FAR_NIL;
		return err;
	}
	if (!err) {
		split->sibling = split->seen[0] ? split->seen[0] : split->copy;
	} else {
		far_read(split->task, split_word_addr(split), &split->seen[0],
			 sizeof(uint64_t));
		err = far_sync(split->task);
		split->sibling = err ? FAR_NIL : split->seen[0];
	}
	if (err)
		far_alloc_lost(split->task);
	/* not to be freed if it is, or may be, in use */
	if (err || split->sibling == split->copy)
		split->copy = FAR_NIL;
	return !err && !split->sibling ? -EIO : err;
}

/*
 * READs a piece, and behind it the header that is opened last. 0: that was still closed
 * for this split, and while any is, no other split freezes: what is frozen in the piece
 * has been moved by this one. 1: the split is over.
 */
static int clean_read(struct split *split, unsigned group)
{
	unsigned last = 2 * split->hash->groups - 1;
	uint64_t closed = hash_idle(split->depth, split->suffix) | HASH_MOVING;
	int err;

	far_read(split->task, piece_addr(split->sub, group), split->piece,
		 split->groups * HASH_GROUP);
	far_read(split->task, split->sub + hash_main_off(last), &split->seen[0],
		 sizeof(uint64_t));
	err = far_sync(split->task);
	if (err || split->seen[0] == closed)
		return err;
	return hash_depth(split->seen[0]) > split->depth ? 1 : -EBADMSG;
}

/* Step 5. 1: the split is over. */
static int split_clean(struct split *split)
{
	unsigned group, i;
	unsigned nr;
	int ret;

	for (group = 0; group < split->hash->groups; group += split->groups) {
		ret = clean_read(split, group);
		if (ret)
			return ret;
		for (i = nr = 0; i < split->groups * HASH_GROUP_SLOTS; i++) {
			uint64_t word = *piece_slot(split->piece, i);

			if (!(word & HASH_FROZEN))
				continue;
			far_cas(split->task, piece_slot_addr(split, group, i), word, 0,
				&split->seen[nr++]);
		}
		ret = nr ? far_sync(split->task) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/* Step 6. */
static int split_open(struct split *split)
{
	uint64_t from = hash_idle(split->depth, split->suffix) | HASH_MOVING;
	uint64_t to = hash_idle(split->depth + 1, split->suffix);
	unsigned group;
	int err = 0;

	for (group = 0; group < split->hash->groups && !err; group += split->groups)
		err = split_headers(split, group, from, to);
	return err;
}

/* All steps that are still to be done. */
static int split_run(struct split *split)
{
	int ret;

	if (!split->sibling) {
		ret = far_alloc(split->task, split->shard,
				hash_sub_len(split->hash->groups), &split->copy);
		if (!ret)
			ret = split_close(split);
		if (!ret)
			ret = split_copy(split);
		if (!ret)
			ret = split_publish(split);
		if (split->copy) {
			far_free(split->task, split->copy,
				 hash_sub_len(split->hash->groups));
			split->copy = FAR_NIL;
		}
		/* over and done: the sibling is for the next who looks */
		if (ret)
			return ret > 0 ? 0 : ret;
	}
	ret = split_clean(split);
	if (!ret)
		ret = split_open(split);
	if (ret < 0)
		return ret;
	hash_dir_add(&split->hash->dir[split->shard], split->sibling,
		     split->suffix | 1u << split->depth, split->depth + 1);
	hash_dir_add(&split->hash->dir[split->shard], split->sub, split->suffix,
		     split->depth + 1);
	return 0;
}

/*
 * Waits for another client's split. 1: it is over. 0: it is this client's turn, and
 * split->sibling is the sibling, if there is one already.
 */
static int split_wait(struct split *split, uint64_t mine)
{
	uint64_t addr = split->sub + offsetof(struct hash_sub, splitter);
	unsigned last = 2 * split->hash->groups - 1;
	uint64_t held = 0;
	unsigned round;
	int ret;

	for (round = 0; ; round++) {
		far_cas(split->task, addr, held, mine, &split->seen[0]);
		far_read(split->task, split->sub + hash_main_off(last), &split->seen[1],
			 sizeof(uint64_t));
		far_read(split->task, split_word_addr(split), &split->seen[2],
			 sizeof(uint64_t));
		ret = far_sync(split->task);
		if (ret)
			return ret;
		if (hash_depth(split->seen[1]) > split->depth)
			return 1;
		split->sibling = split->seen[2];
		if (split->seen[0] == held || round >= WAIT_ROUNDS)
			return 0;
		held = 0;
		if (hash_depth(split->seen[0]) != split->depth) {
			held = split->seen[0];
			continue;
		}
		ret = far_owner_dead(split->task, split->seen[0]);
		if (ret < 0)
			return ret;
		if (ret)
			held = split->seen[0];
		else
			far_sleep(split->task, (uint64_t)WAIT_MIN << (round < 8 ? round : 8));
	}
}

static int split_buffers(struct split *split)
{
	unsigned slots = split->groups * HASH_GROUP_SLOTS;
	size_t len = split->groups * HASH_GROUP;

	split->head = far_buf(split->task, sizeof(*split->head));
	split->piece = far_buf(split->task, len);
	split->twin = far_buf(split->task, len);
	split->seen = far_buf(split->task, slots * sizeof(uint64_t));
	split->block = far_buf(split->task, slots * sizeof(*split->block));
	return split->head && split->piece && split->twin && split->seen && split->block ?
	       0 : -ENOMEM;
}

int hash_split(struct far_task *task, struct far_hash *hash, unsigned shard, uint64_t sub,
	       uint32_t suffix, unsigned depth)
{
	struct split split = {
		.task = task, .hash = hash, .shard = shard, .sub = sub,
		.suffix = suffix, .depth = depth,
		.groups = hash->groups < PIECE_GROUPS ? hash->groups : PIECE_GROUPS,
	};
	uint64_t mine = hash_splitter(far_who_am_i(task), depth);
	size_t mark = far_buf_mark(task);
	int ret;

	if (depth >= HASH_MAX_DEPTH)
		return -ENOSPC;
	ret = split_buffers(&split);
	if (!ret)
		ret = split_wait(&split, mine);
	if (!ret) {
		ret = split_run(&split);
		far_cas(task, sub + offsetof(struct hash_sub, splitter), mine, 0, NULL);
		if (far_sync(task) == -ESTALE)
			ret = -ESTALE;
	}
	far_buf_release(task, mark);
	return ret > 0 ? 0 : ret;
}
