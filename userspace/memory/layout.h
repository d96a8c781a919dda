/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program's own memory looks like in far memory: a root, tables of slots, and a head
 * in front of each block.
 *
 *	root --> table --> table --> ...	by next, in order of index; they stay
 *		   slot --> head, block
 *
 * A block belongs to the memory while a slot has memory_word() of it. The head says which
 * slot: it is acknowledged before the slot has the word, and never changes after that. So who
 * has an address finds the slot without a search, and who frees it takes the word out by a
 * CAS. The tag tells a block from the next one at its place: whoever frees twice finds
 * another word.
 *
 * Words are of 64 bits, little-endian, aligned. CAS: next of a table, and slots. The words
 * of the root and the bytes of blocks are the program's; the rest never changes.
 */
#ifndef FAR_MEMORY_LAYOUT_H
#define FAR_MEMORY_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>
#include <far/memory.h>

#define MEMORY_MAGIC		UINT64_C(0x59524f4d454d5246)	/* "FRMEMORY" */
#define MEMORY_TABLE_MAGIC	UINT64_C(0x454c4241544d4d46)	/* "FMMTABLE" */
#define MEMORY_VERSION		1u
#define MEMORY_SLOTS		504u
#define MEMORY_TAG_SHIFT	48u		/* of a far address, above node and offset */
#define MEMORY_MAX_TABLES	(1u << 24)

struct memory_root {
	uint64_t magic;
	uint32_t version;
	uint32_t zero;
	uint64_t table;			/* far address of the first one */
	uint64_t sum;			/* XXH3 of all before, seeded with the root's address */
	uint64_t reserved[4];
	uint64_t words[FAR_MEMORY_WORDS];	/* the program's */
};

struct memory_table {
	uint64_t magic;
	uint64_t index;
	uint64_t next;			/* far address of the next one, or FAR_NIL */
	uint64_t root;			/* far address of the root */
	uint64_t reserved[4];
	uint64_t slot[MEMORY_SLOTS];	/* memory_word(), or 0 */
};

/* In front of each block. */
struct memory_head {
	uint64_t slot;			/* far address of the block's slot */
	uint64_t size;			/* bytes of the block, without this head */
	uint64_t word;			/* that the slot has */
	uint64_t sum;			/* XXH3 of all before, seeded with the root's address */
};

/* The word of a slot: the far address of the block's head below a tag, which is not 0. */
static inline uint64_t memory_word(uint64_t head, uint16_t tag)
{
	return head | (uint64_t)tag << MEMORY_TAG_SHIFT;
}

static inline uint64_t memory_word_head(uint64_t word)
{
	return word & ~(UINT64_MAX << MEMORY_TAG_SHIFT);
}

#define MEMORY_PIN(type, member, at) \
	static_assert(offsetof(struct type, member) == (at), #type "." #member)

MEMORY_PIN(memory_root, magic, 0);
MEMORY_PIN(memory_root, version, 8);
MEMORY_PIN(memory_root, zero, 12);
MEMORY_PIN(memory_root, table, 16);
MEMORY_PIN(memory_root, sum, 24);
MEMORY_PIN(memory_root, reserved, 32);
MEMORY_PIN(memory_root, words, 64);
static_assert(sizeof(struct memory_root) == 128, "memory_root");
MEMORY_PIN(memory_table, magic, 0);
MEMORY_PIN(memory_table, index, 8);
MEMORY_PIN(memory_table, next, 16);
MEMORY_PIN(memory_table, root, 24);
MEMORY_PIN(memory_table, reserved, 32);
MEMORY_PIN(memory_table, slot, 64);
static_assert(sizeof(struct memory_table) == 4096, "memory_table");
MEMORY_PIN(memory_head, slot, 0);
MEMORY_PIN(memory_head, size, 8);
MEMORY_PIN(memory_head, word, 16);
MEMORY_PIN(memory_head, sum, 24);
static_assert(sizeof(struct memory_head) == 32, "memory_head");
static_assert(FAR_OFF_BITS + 8 == MEMORY_TAG_SHIFT, "an address and its tag");

#undef MEMORY_PIN

#endif
