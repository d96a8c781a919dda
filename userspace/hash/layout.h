/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a hash table looks like in far memory. Words are of 64 bits, little-endian,
 * aligned; each is read and written as a whole, and no order among words is assumed.
 *
 *	root		parameters, the first subtable of each shard, and its turns
 *	subtable	a head with the siblings, then groups of three buckets
 *	bucket		a header and seven slots
 *	block		a key and its value; never changed while a slot names it
 *	turns		who may change a hot key: core/turn.h
 *
 * docs/far-hash.md says why it looks like this, and what may change when.
 */
#ifndef FAR_HASH_LAYOUT_H
#define FAR_HASH_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#include "../core/turn.h"
#include "../form/age.h"

#define HASH_MAGIC		UINT64_C(0x4853414852414601)	/* "\1FARHASH" */
#define HASH_VERSION		3u
#define HASH_SUB_MAGIC		0x53425553u			/* "SUBS" */

#define HASH_MAX_DEPTH		32u	/* bits of the first hash that choose a subtable */
#define HASH_SLOTS		7u	/* in a bucket */
#define HASH_BUCKET		64u	/* bytes */
#define HASH_COMBINED		128u	/* bytes of a main bucket and its overflow */
#define HASH_GROUP		192u	/* bytes of main, overflow, main */
#define HASH_GROUP_SLOTS	21u
#define HASH_MIN_GROUPS		8u	/* in a subtable; a power of two */
#define HASH_MAX_GROUPS		1024u
#define HASH_UNIT		64u	/* bytes: lengths and places of blocks */
#define HASH_TURNS		32768u	/* of each shard; a power of two */
#define HASH_TURN		16u	/* bytes: struct far_turn_words */
#define HASH_TURNS_LEN		(HASH_TURNS * HASH_TURN)

/* A shard of the table; shard i lies on node i. */
struct hash_shard {
	uint64_t sub;		/* far address of the subtable with suffix 0 */
	uint64_t turns;		/* and of HASH_TURNS turns; a multiple of HASH_UNIT */
};

/*
 * The root, on node 0 of the set; its length follows from nr_shards. Nothing in it
 * changes.
 */
struct hash_root {
	uint64_t magic;
	uint32_t version;
	uint32_t groups;	/* of each subtable */
	uint32_t first_depth;	/* of each shard when it was created */
	uint32_t nr_shards;
	uint64_t sum;		/* XXH3 of what is before; its seed that of the shards, */
				/* and of that one the root's address */
	struct hash_shard shard[];
};

static inline uint64_t hash_root_len(unsigned nr_shards)
{
	return sizeof(struct hash_root) +
	       (uint64_t)nr_shards * sizeof(struct hash_shard);
}

/*
 * A subtable with suffix s is born with some depth d and holds the keys whose first
 * hash ends in the d bits of s. Each split makes the depth one more: the keys with bit
 * d move to sibling[d], whose suffix is s | 1 << d and whose depth is d + 1. A word
 * of sibling[] is set once, by the CAS that is the split.
 */
struct hash_sub {
	uint32_t magic;
	uint32_t suffix;
	uint16_t shard;
	uint8_t born;		/* depth when it was made */
	uint8_t reserved[5];
	uint64_t splitter;	/* hint: who splits it, hash_splitter() */
	uint64_t copy;		/* what becomes a sibling: copy.h */
	uint64_t keys;		/* of suffix 0: the number of the shard's keys, by FAA */
	uint64_t counted;	/* the same: HASH_COUNTED; 0: made before keys were counted */
	uint64_t zero[2];
	uint64_t sibling[HASH_MAX_DEPTH];
	/* groups follow */
};

#define HASH_SUB_HEAD		320u
#define HASH_COUNTED		1u

/* The bits of a first hash that depth says must be a subtable's suffix. */
static inline uint32_t hash_mask(unsigned depth)
{
	return (uint32_t)((UINT64_C(1) << depth) - 1);
}

static inline uint64_t hash_sub_len(unsigned groups)
{
	return HASH_SUB_HEAD + (uint64_t)groups * HASH_GROUP;
}

struct hash_bucket {
	uint64_t header;
	uint64_t slot[HASH_SLOTS];
};

/*
 * A bucket's header:
 *
 *	63     52 51        36 35   16 15    8   7      6      5   0
 *	|  owner | incarnation | nonce | suffix | 0 | moving | depth |
 *
 * depth of the subtable, and the low 8 bits of its suffix. Owner, incarnation and
 * nonce are zero but while somebody claims the bucket for an insert. moving: a split
 * of this depth is under way. Headers of overflow buckets are zero.
 */
#define HASH_OWNER_MASK		(~UINT64_C(0) << 36)
#define HASH_CLAIM_MASK		(~UINT64_C(0) << 16)
#define HASH_MOVING		(UINT64_C(1) << 6)
#define HASH_NONCE_BITS		20

static inline uint64_t hash_idle(unsigned depth, uint32_t suffix)
{
	return (uint64_t)(suffix & 0xff) << 8 | depth;
}

static inline uint64_t hash_claim(uint64_t idle, uint64_t owner, uint32_t nonce)
{
	return (owner & HASH_OWNER_MASK) |
	       (uint64_t)(nonce & ((1u << HASH_NONCE_BITS) - 1)) << 16 | idle;
}

static inline unsigned hash_depth(uint64_t header)
{
	return header & 0x3f;
}

static inline int hash_claimed(uint64_t header)
{
	return (header & HASH_CLAIM_MASK) != 0;
}

/* hash_sub.splitter: who, and the depth of the split. */
static inline uint64_t hash_splitter(uint64_t owner, unsigned depth)
{
	return (owner & HASH_OWNER_MASK) | UINT64_C(1) << 6 | depth;
}

/*
 * hash_sub.copy: owner and incarnation (0: nobody), and the offset of the copy of a split,
 * in units, on the node of its shard. 0: none.
 */
static inline uint64_t hash_copy_word(uint64_t owner, uint64_t off)
{
	return (owner & HASH_OWNER_MASK) | off / HASH_UNIT;
}

static inline uint64_t hash_copy_off(uint64_t copy)
{
	return (copy & ~HASH_OWNER_MASK) * HASH_UNIT;
}

/*
 * A slot; 0 is empty:
 *
 *	63   56 55   48 47                14 13     1     0
 *	|  fp  |  len  |  block's offset/64 |  tag  | frozen |
 *
 * fp: 8 bits of the first hash. len: of the block, in units; 0 when it has more than
 * 255. The block lies on the node of its shard. tag: the low bits of the block's birth
 * (form/age.h), so that a word comes back to a slot after HASH_TAG_SPAN epochs at the
 * earliest. frozen: a split copies this slot; it changes
 * no more until the split has happened.
 */
#define HASH_FROZEN		UINT64_C(1)
#define HASH_TAG_BITS		13
#define HASH_TAG_SPAN		(UINT64_C(1) << HASH_TAG_BITS)
#define HASH_MAX_UNITS		255u	/* whose number a slot can hold */

static inline uint64_t hash_slot(uint8_t fp, uint64_t units, uint64_t off,
				 struct form_age birth)
{
	uint64_t len = units > HASH_MAX_UNITS ? 0 : units;

	return (uint64_t)fp << 56 | len << 48 | off / HASH_UNIT << 14 |
	       form_age_low(birth, HASH_TAG_BITS) << 1;
}

static inline uint8_t hash_slot_fp(uint64_t slot)
{
	return slot >> 56;
}

/* 0: more than HASH_MAX_UNITS. */
static inline unsigned hash_slot_units(uint64_t slot)
{
	return slot >> 48 & 0xff;
}

static inline uint64_t hash_slot_off(uint64_t slot)
{
	return (slot >> 14 & ((UINT64_C(1) << 34) - 1)) * HASH_UNIT;
}

static inline unsigned hash_slot_tag(uint64_t slot)
{
	return slot >> 1 & (HASH_TAG_SPAN - 1);
}

/* A block; the key follows, then the value. */
struct hash_block {
	uint64_t sum;		/* XXH3 of all behind it but padding; the seed is the root */
	uint32_t dir;		/* low 32 bits of the first hash */
	uint32_t val_len;
	uint32_t birth;		/* low bits of it; the lower ones are the slot's tag */
	uint16_t key_len;
	uint16_t reserved;
	uint8_t data[];
};

#define HASH_BLOCK_HEAD		24u
#define HASH_BIRTH_BITS		32u

/* True if a block was born when the block that a slot word names was, as far as it says. */
static inline int hash_slot_born(uint64_t word, const struct hash_block *block)
{
	return hash_slot_tag(word) == (block->birth & (HASH_TAG_SPAN - 1));
}

static inline uint64_t hash_block_len(size_t key_len, size_t val_len)
{
	return (HASH_BLOCK_HEAD + key_len + val_len + HASH_UNIT - 1) &
	       ~(uint64_t)(HASH_UNIT - 1);
}

/* Where main bucket m, 0 to 2 * groups - 1, and its combined bucket begin. */
static inline uint64_t hash_main_off(unsigned m)
{
	return HASH_SUB_HEAD + m / 2 * HASH_GROUP + m % 2 * 2 * HASH_BUCKET;
}

static inline uint64_t hash_combined_off(unsigned m)
{
	return HASH_SUB_HEAD + m / 2 * HASH_GROUP + m % 2 * HASH_BUCKET;
}

/* Where the turn of a key with that first hash lies among its shard's. */
static inline uint64_t hash_turn_off(uint64_t first)
{
	return (first >> 16 & (HASH_TURNS - 1)) * HASH_TURN;
}

/* Parameters in the space's directory, compared on open. */
enum {
	HASH_PARAM_GROUPS,
	HASH_PARAM_SHARDS,
	HASH_NR_PARAMS,
};

#define HASH_PIN(type, member, at) \
	static_assert(offsetof(struct type, member) == (at), #type "." #member)

HASH_PIN(hash_root, magic, 0);
HASH_PIN(hash_root, version, 8);
HASH_PIN(hash_root, groups, 12);
HASH_PIN(hash_root, first_depth, 16);
HASH_PIN(hash_root, nr_shards, 20);
HASH_PIN(hash_root, sum, 24);
HASH_PIN(hash_root, shard, 32);
HASH_PIN(hash_shard, sub, 0);
HASH_PIN(hash_shard, turns, 8);
static_assert(sizeof(struct hash_shard) == 16, "hash_shard");
static_assert(sizeof(struct far_turn_words) == HASH_TURN, "far_turn_words");
static_assert(HASH_UNIT % HASH_TURN == 0, "no turn lies across a line");
static_assert(!(HASH_TURNS & (HASH_TURNS - 1)), "HASH_TURNS");
static_assert(sizeof(struct hash_root) == 32, "hash_root");
HASH_PIN(hash_sub, magic, 0);
HASH_PIN(hash_sub, suffix, 4);
HASH_PIN(hash_sub, shard, 8);
HASH_PIN(hash_sub, born, 10);
HASH_PIN(hash_sub, reserved, 11);
HASH_PIN(hash_sub, splitter, 16);
HASH_PIN(hash_sub, copy, 24);
HASH_PIN(hash_sub, keys, 32);
HASH_PIN(hash_sub, counted, 40);
HASH_PIN(hash_sub, zero, 48);
HASH_PIN(hash_sub, sibling, 64);
static_assert(sizeof(struct hash_sub) == HASH_SUB_HEAD, "hash_sub");
HASH_PIN(hash_bucket, header, 0);
HASH_PIN(hash_bucket, slot, 8);
static_assert(sizeof(struct hash_bucket) == HASH_BUCKET, "hash_bucket");
HASH_PIN(hash_block, sum, 0);
HASH_PIN(hash_block, dir, 8);
HASH_PIN(hash_block, val_len, 12);
HASH_PIN(hash_block, birth, 16);
HASH_PIN(hash_block, key_len, 20);
HASH_PIN(hash_block, reserved, 22);
HASH_PIN(hash_block, data, 24);
static_assert(sizeof(struct hash_block) == HASH_BLOCK_HEAD, "hash_block");

#undef HASH_PIN

#endif
