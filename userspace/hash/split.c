/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A split: the keys of a subtable that have the next bit set move to a new one.
 *
 *	0  memory	for the copy, which is noted: see copy.h
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
 * That only one works as a rule is a courtesy, by the word `splitter`; who has waited in
 * vain helps.
 */
#include "copy.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../core/core.h"
#include "../core/owner.h"

#define PIECE_GROUPS	32u	/* at most; the whole of a subtable by default */
#define PIECE_SLOTS	(PIECE_GROUPS * HASH_GROUP_SLOTS)
#define PIECE_MAINS	(PIECE_GROUPS * 2)

#define FATE_TRIES	8u	/* connections that may break while a fate is looked up */
#define WAIT_MIN	10000u		/* ns */
#define WAIT_ROUNDS	12u		/* about 20 ms in all */

struct split {
	struct far_task *task;
	struct far_hash *hash;
	unsigned shard;
	uint64_t sub;
	uint32_t suffix;
	unsigned depth;
	bool inner;			/* within a later split: it has a sibling */
	unsigned groups;		/* of a piece */
	struct hash_copy copy;		/* what this client makes the sibling of */
	uint64_t sibling;		/* once it is published */
	uint64_t mine;			/* what the subtable notes in `splitter` */
	int released;			/* and does not any more */
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

/* Ends the split of a lower depth, which some headers are behind already. */
static int split_before(const struct split *split, unsigned depth);

/* Waits until the claim that was seen there has ended. */
static int split_claim_end(struct split *split, uint64_t addr, uint64_t claim)
{
	unsigned round;
	int err = 0;

	for (round = 0, split->seen[0] = claim; !err && split->seen[0] == claim; round++) {
		err = hash_claim_wait(split->task, addr, claim, round);
		if (err)
			break;
		far_read(split->task, addr, &split->seen[0], sizeof(uint64_t));
		err = far_sync(split->task);
	}
	return err;
}

/* Appends READs of the headers of a piece. */
static void split_look(struct split *split, unsigned group)
{
	unsigned i;

	for (i = 0; i < 2 * split->groups; i++)
		far_read(split->task, split->sub + hash_main_off(2 * group + i),
			 &split->seen[i], sizeof(uint64_t));
}

/*
 * Before step 1: each claim that is there now ends. Whoever is late for a client that stands
 * still with its claim has closed nothing. The headers of the first piece have been READ.
 */
static int split_claims(struct split *split)
{
	uint64_t header[PIECE_MAINS];
	unsigned group, i;
	int err = 0;

	for (group = 0; group < split->hash->groups && !err; group += split->groups) {
		if (group) {
			split_look(split, group);
			err = far_sync(split->task);
		}
		memcpy(header, split->seen, 2 * split->groups * sizeof(*header));
		for (i = 0; i < 2 * split->groups && !err; i++)
			if (hash_claimed(header[i]))
				err = split_claim_end(split,
						      split->sub + hash_main_off(2 * group + i),
						      header[i]);
	}
	return err;
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
			err = split_before(split, hash_depth(header));
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

/* Appends CASes of the headers of a piece from one to another. */
static void split_headers(struct split *split, unsigned group, uint64_t from, uint64_t to)
{
	unsigned i;

	for (i = 0; i < 2 * split->groups; i++)
		far_cas(split->task, split->sub + hash_main_off(2 * group + i), from, to,
			&split->seen[i]);
}

/* Step 1. 1: the split is over. */
static int split_close(struct split *split)
{
	uint64_t idle = hash_idle(split->depth, split->suffix);
	uint64_t header[PIECE_MAINS];
	unsigned group, i;
	int ret;

	for (group = 0; group < split->hash->groups; group += split->groups) {
		split_headers(split, group, idle, idle | HASH_MOVING);
		ret = far_sync(split->task);
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
	far_write(split->task, split->copy.addr, split->head, sizeof(*split->head));
	for (group = 0; group < split->hash->groups; group += split->groups) {
		far_read(split->task, piece_addr(split->sub, group), split->piece,
			 split->groups * HASH_GROUP);
		err = far_sync(split->task);
		if (!err)
			err = freeze_piece(split, group);
		if (err)
			return err;
		copy_piece(split);
		far_write(split->task, piece_addr(split->copy.addr, group), split->twin,
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

/*
 * Step 4, and the note of the copy ends with it: either the copy is the sibling, or another
 * one is, and nobody needs a copy. If the connection breaks, what became of the CAS is
 * looked up.
 */
static int split_publish(struct split *split)
{
	unsigned i;
	int err;

	far_cas(split->task, split_word_addr(split), 0, split->copy.addr, &split->seen[0]);
	hash_copy_end(&split->copy);
	err = far_sync(split->task);
	if (!err)
		split->copy.word = 0;
	if (!err && !split->seen[0])
		split->seen[0] = split->copy.addr;
	for (i = 0; i < FATE_TRIES && err && err != -ESTALE; i++) {
		far_read(split->task, split_word_addr(split), &split->seen[0],
			 sizeof(uint64_t));
		err = far_sync(split->task);
	}
	if (err) {
		hash_copy_lost(&split->copy);
		return err;
	}
	split->sibling = split->seen[0];
	if (split->sibling == split->copy.addr)
		hash_copy_published(&split->copy);
	return split->sibling ? 0 : -EIO;
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

/* Behind what is appended already, the next client may split. */
static void split_release(struct split *split)
{
	far_cas(split->task, split->sub + offsetof(struct hash_sub, splitter), split->mine, 0,
		NULL);
}

/* Step 6. The last list lets the next client split. */
static int split_open(struct split *split)
{
	uint64_t from = hash_idle(split->depth, split->suffix) | HASH_MOVING;
	uint64_t to = hash_idle(split->depth + 1, split->suffix);
	unsigned group;
	int err = 0;

	for (group = 0; group < split->hash->groups && !err; group += split->groups) {
		split_headers(split, group, from, to);
		if (group + split->groups >= split->hash->groups)
			split_release(split);
		err = far_sync(split->task);
	}
	split->released = !err;
	return err;
}

/*
 * Steps 0 to 4. 1: the split is over. What it has closed and frozen it publishes, however
 * late it is, unless it waits in vain for a client that stands still.
 */
static int split_make(struct split *split)
{
	struct hash_copy *copy = &split->copy;
	int ret = split->inner ? -EBADMSG : hash_copy_enter(copy);

	if (ret)
		return ret;
	split_look(split, 0);
	ret = hash_copy_take(copy, split->depth, &split->sibling);
	if (!ret && !split->sibling)
		ret = split_claims(split);
	if (!ret && !split->sibling)
		ret = split_close(split);
	if (!ret && !split->sibling)
		ret = split_copy(split);
	if (!ret && !split->sibling)
		ret = split_publish(split);
	hash_copy_leave(copy, ret);
	return ret;
}

/* All steps that are still to be done. */
static int split_run(struct split *split)
{
	int ret = split->sibling ? 0 : split_make(split);

	/* over and done: the sibling is for the next who looks */
	if (ret)
		return ret > 0 ? 0 : ret;
	far_must_begin(split->task);
	ret = split_clean(split);
	if (!ret)
		ret = split_open(split);
	far_must_end(split->task);
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
static int split_wait(struct split *split)
{
	uint64_t addr = split->sub + offsetof(struct hash_sub, splitter);
	unsigned last = 2 * split->hash->groups - 1;
	uint64_t held = 0;
	unsigned round;
	int ret;

	for (round = 0; ; round++) {
		far_cas(split->task, addr, held, split->mine, &split->seen[0]);
		far_read(split->task, split->sub + hash_main_off(last), &split->seen[1],
			 sizeof(uint64_t));
		far_read(split->task, split->sub, split->head, sizeof(*split->head));
		ret = far_sync(split->task);
		if (ret)
			return ret;
		if (hash_depth(split->seen[1]) > split->depth)
			return 1;
		split->sibling = split->head->sibling[split->depth];
		if (split->seen[0] == held || round >= WAIT_ROUNDS)
			return 0;
		held = 0;
		if (hash_depth(split->seen[0]) != split->depth) {
			held = split->seen[0];
			continue;
		}
		if (far_op_is_late(split->task))
			return -ETIME;
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

/* The split was over, or has failed, before its last list. */
static int split_give_up(struct split *split)
{
	int err;

	far_must_begin(split->task);
	split_release(split);
	err = far_sync(split->task);
	far_must_end(split->task);
	return err;
}

static int split_do(struct split *split)
{
	size_t mark = far_buf_mark(split->task);
	int ret;

	split->mine = hash_splitter(far_owner_self(split->task), split->depth);
	split->groups = split->hash->groups < PIECE_GROUPS ? split->hash->groups : PIECE_GROUPS;
	ret = split_buffers(split);
	split->copy = (struct hash_copy) {
		.task = split->task, .locks = split->hash->far->locks, .sub = split->sub,
		.shard = split->shard, .len = hash_sub_len(split->hash->groups),
		.head = split->head,
	};
	if (!ret)
		ret = split_wait(split);
	if (!ret) {
		ret = split_run(split);
		if (!split->released && split_give_up(split) == -ESTALE)
			ret = -ESTALE;
	}
	far_buf_release(split->task, mark);
	return ret > 0 ? 0 : ret;
}

static int split_before(const struct split *split, unsigned depth)
{
	struct split before = {
		.task = split->task, .hash = split->hash, .shard = split->shard,
		.sub = split->sub, .suffix = split->suffix, .depth = depth,
		.inner = true,
	};

	return split_do(&before);
}

int hash_split(struct far_task *task, struct far_hash *hash, unsigned shard, uint64_t sub,
	       uint32_t suffix, unsigned depth)
{
	struct split split = {
		.task = task, .hash = hash, .shard = shard, .sub = sub,
		.suffix = suffix, .depth = depth,
	};

	return depth < HASH_MAX_DEPTH ? split_do(&split) : -ENOSPC;
}
