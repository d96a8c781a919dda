/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a space looks like in the memory of its nodes. Shared by clients, which see it
 * through verbs, and by the memory node's side, which sees it as plain memory.
 *
 *	0		superblock; at FAR_SB_EPOCH the line of the epochs
 *	dir_off		directory of named roots, first part	arbiter only
 *	client_off	client table				arbiter only
 *	chunk_off	chunk table: a word per chunk
 *	page_off	page table: a word per page
 *	map_off		free maps: far_map_words() words per page
 *	data_off	chunks, one behind the other
 *
 * A chunk is what clients claim and give back. A page (4 to 64 KiB, by the superblock) of a
 * claimed chunk is free, a slab of blocks of one size class, or part of a run of pages that
 * is one block. A block of more than a chunk is a span of chunks. Bit i of a page's map says
 * that block i of the page is free and in nobody's hands: everybody may set it, once,
 * when the block's grace period is over; only the chunk's owner clears it.
 *
 * Words are of 64 bits, little-endian, aligned. Who writes a word, and how:
 *	CAS	clients only, and never a CPU: client.claim, struct far_shared (also
 *		FAA), entry.state, next of a directory block, chunk words, map words (also
 *		FAA)
 *	WRITE	the client it belongs to: client.beat, epoch, flushed; page words, by
 *		the owner of their chunk; the rest of a directory entry, under dir_lock
 *	CPU	the arbiter: the line of the epochs, struct far_losses, client.fenced,
 *		client.seen_*
 */
#ifndef FAR_SPACE_LAYOUT_H
#define FAR_SPACE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#define FAR_SPACE_MAGIC		UINT64_C(0x4543415053524146)	/* "FARSPACE" */
#define FAR_SPACE_VERSION	4u

#define FAR_MIN_SIZE		(UINT64_C(4) << 20)
#define FAR_MAX_SIZE		(UINT64_C(1) << FAR_OFF_BITS)
#define FAR_MIN_CHUNK		(UINT64_C(64) << 10)
#define FAR_MAX_CHUNK		(UINT64_C(32) << 20)
#define FAR_MIN_PAGE_SHIFT	12u			/* a page has 1 << shift bytes */
#define FAR_MAX_PAGE_SHIFT	16u
#define FAR_LEAST		16u			/* bytes of the least block */
#define FAR_MAP_SHIFT		10u			/* bytes of a page in a word of its map */
#define FAR_MAX_MAP_WORDS	(1u << (FAR_MAX_PAGE_SHIFT - FAR_MAP_SHIFT))
#define FAR_MAX_CLIENTS		4094u			/* numbers 1 to this; 0 is nobody */
#define FAR_DEF_CLIENTS		256u
#define FAR_NR_NAMES		64u			/* of the directory's first part */
#define FAR_NAME_LEN		32u			/* with the NUL */

/* Offset 0 of each node. Nothing in it changes after the format. */
struct far_sb {
	uint64_t magic;
	uint32_t version;
	uint32_t page_shift;
	uint8_t set[16];	/* random; equal on all nodes of the set */
	uint64_t size;		/* bytes of this node's space that are used */
	uint64_t chunk_size;	/* a power of two */
	uint32_t nr_chunks;
	uint32_t max_clients;
	uint16_t nr_nodes;	/* of the set */
	uint16_t node;		/* which of them this is */
	uint16_t arbiter;	/* which of them has directory, clients and epochs */
	uint16_t nr_names;
	uint64_t dir_off;	/* 0 but on the arbiter, as client_off */
	uint64_t client_off;
	uint64_t chunk_off;
	uint64_t page_off;
	uint64_t map_off;
	uint64_t data_off;
	char name[64];		/* of the space, with the NUL */
	uint64_t created;	/* seconds since 1970 */
	uint64_t checksum;	/* XXH3 of all before */
};

#define FAR_SB_LEN		4096u	/* what is set aside for all of offset 0 */

/* The line of the epochs, on the arbiter; one READ. The arbiter writes it. */
#define FAR_SB_EPOCH		256u

struct far_epoch_line {
	uint64_t epoch;		/* E; the first is 1 */
	uint64_t safe;		/* least epoch of E and all live entries: tags below are free */
	uint64_t flushed;	/* least of client.flushed of all live entries */
	uint64_t deaths;	/* fences that were completed */
	uint64_t stamp;		/* the arbiter's clock when E was advanced, ns */
	uint64_t clients;	/* that live */
	uint64_t reserved[2];
};

/* Behind it, words that clients CAS and FAA: one READ with the line. */
struct far_shared {
	uint64_t dir_lock;	/* of the directory, a lock word as below */
	uint64_t lost;		/* times that a client lost track of a block: sweep */
	uint64_t dir_more;	/* far address of the directory's first block, or FAR_NIL */
};

#define FAR_SB_SHARED		320u

/*
 * Node n of the set has been declared lost, and has come back with an empty part, so many
 * times, both counted: odd, it is lost. Low 8 bits. A client uses only parts whose number is
 * what it was when the client joined. The arbiter writes them.
 */
struct far_losses {
	uint8_t nr[256];
};

#define FAR_SB_LOSSES		512u

/* A client, number n at client_off + n * 64. */
struct far_client_entry {
	uint64_t claim;		/* far_claim(): incarnation and whether it is taken */
	uint64_t fenced;	/* incarnations up to this one are dead for ever */
	uint64_t beat;		/* counted up while it lives; FAR_BEAT_NONE: it need not */
	uint64_t epoch;		/* what it published; FAR_EPOCH_IDLE: nothing under way */
	uint64_t flushed;	/* what it retired with tags up to this is free; or IDLE */
	uint64_t seen_beat;	/* the arbiter's: the last beat that it saw */
	uint64_t seen_at;	/* and when, ns */
	uint64_t seen_claim;	/* of which claim both are */
};

#define FAR_EPOCH_IDLE		UINT64_MAX
#define FAR_EPOCH_LEAD		1024u	/* E stays below the least living entry plus this */
#define FAR_BEAT_NONE		UINT64_MAX

/* A name of the directory. */
struct far_dir_entry {
	uint64_t state;		/* 0: free; else far_dir_state() */
	uint64_t root;		/* far address of the structure's root, or FAR_NIL */
	char name[FAR_NAME_LEN];
	uint32_t type;		/* FAR_TYPE_* */
	uint32_t version;	/* of that type's layout */
	uint64_t param[9];	/* what it was created with: the type's */
};

#define FAR_DIR_ENTRIES		63u
#define FAR_MAX_DIR_BLOCKS	1024u

/*
 * A block of the directory, for names beyond the first part: allocated on the arbiter as any
 * other block, and never freed. At most FAR_MAX_DIR_BLOCKS of them are linked.
 */
struct far_dir_block {
	uint64_t next;		/* far address of the next block, or FAR_NIL */
	uint64_t reserved[15];	/* 0 */
	struct far_dir_entry entry[FAR_DIR_ENTRIES];
};

enum {
	FAR_TYPE_NONE	= 0,
	FAR_TYPE_HASH	= 1,
	FAR_TYPE_BTREE	= 2,
	FAR_TYPE_ART	= 3,
	FAR_TYPE_MEMORY	= 4,
	FAR_TYPE_TEST	= 0x7e57,	/* of unit tests */
};

/*
 * Owner of a lock, a claim or a chunk: client number and incarnation, at the same
 * place in each word.
 *
 *	63      52 51         36 35                 0
 *	|  owner  |  incarnation |  by kind of word  |
 *
 * An incarnation is 1 to FAR_MAX_INCARNATION; a number whose incarnations are used up
 * is never given out again.
 */
#define FAR_OWNER_SHIFT		52
#define FAR_INC_SHIFT		36
#define FAR_MAX_INCARNATION	0xffffu
#define FAR_OWNER_MASK		(~UINT64_C(0) << FAR_INC_SHIFT)

static inline uint64_t far_owner(unsigned number, unsigned incarnation)
{
	return (uint64_t)number << FAR_OWNER_SHIFT |
	       (uint64_t)incarnation << FAR_INC_SHIFT;
}

/* The word with an owner of the same number that is dead: incarnations begin with 1. */
static inline uint64_t far_owner_nobody(uint64_t word)
{
	return word & ~((uint64_t)FAR_MAX_INCARNATION << FAR_INC_SHIFT);
}

static inline unsigned far_owner_number(uint64_t word)
{
	return word >> FAR_OWNER_SHIFT;
}

static inline unsigned far_owner_incarnation(uint64_t word)
{
	return word >> FAR_INC_SHIFT & FAR_MAX_INCARNATION;
}

/* client.claim: bit 0 says taken; the number's place is zero. */
static inline uint64_t far_claim(unsigned incarnation, int taken)
{
	return far_owner(0, incarnation) | !!taken;
}

static inline int far_claim_taken(uint64_t claim)
{
	return claim & 1;
}

/*
 * A lock word of a structure.
 *
 *	63     52 51        36 35     28 27   24 23       0
 *	|  owner | incarnation | log slot | flags | checksum |
 *
 * Owner 0: not locked. checksum covers the contents that the lock's release made
 * valid, where they are released by a WRITE (core/lock.h); the log slot says where the
 * owner's redo record is, and the flags are the structure's.
 */
#define FAR_LOCK_SLOT_SHIFT	28
#define FAR_LOCK_FLAG_SHIFT	24
#define FAR_LOCK_SLOT_MASK	0xffu
#define FAR_LOCK_FLAG_MASK	0xfu
#define FAR_LOCK_SUM_MASK	0xffffffu

static_assert(FAR_LOCK_SUM_MASK == (1u << FAR_LOCK_FLAG_SHIFT) - 1, "checksum, flags");
static_assert(FAR_LOCK_FLAG_SHIFT + 4 == FAR_LOCK_SLOT_SHIFT, "flags, log slot");
static_assert(FAR_LOCK_SLOT_SHIFT + 8 == FAR_INC_SHIFT, "log slot, incarnation");
static_assert(FAR_INC_SHIFT + 16 == FAR_OWNER_SHIFT, "incarnation, owner");

static inline uint64_t far_lock_word(uint64_t owner, unsigned slot, unsigned flags,
				     uint32_t sum)
{
	return (owner & FAR_OWNER_MASK) |
	       (uint64_t)(slot & FAR_LOCK_SLOT_MASK) << FAR_LOCK_SLOT_SHIFT |
	       (uint64_t)(flags & FAR_LOCK_FLAG_MASK) << FAR_LOCK_FLAG_SHIFT |
	       (sum & FAR_LOCK_SUM_MASK);
}

static inline unsigned far_lock_slot(uint64_t word)
{
	return word >> FAR_LOCK_SLOT_SHIFT & FAR_LOCK_SLOT_MASK;
}

static inline unsigned far_lock_flags(uint64_t word)
{
	return word >> FAR_LOCK_FLAG_SHIFT & FAR_LOCK_FLAG_MASK;
}

static inline uint32_t far_lock_sum(uint64_t word)
{
	return word & FAR_LOCK_SUM_MASK;
}

/*
 * entry.state of the directory: the low 32 bits of the XXH3 of the entry behind it,
 * and a number above that differs from one use of the entry to the next. A reader
 * whose sum does not match reads again.
 */
static inline uint64_t far_dir_state(uint32_t generation, uint32_t sum)
{
	return (uint64_t)generation << 32 | sum;
}

/*
 * A chunk word: owner and incarnation above, then
 *
 *	35    28 27          4 3     0
 *	| zero  |    count     | state |
 *
 * count: of FAR_CHUNK_SPAN the chunks of the span, of FAR_CHUNK_TAIL the distance to
 * its first chunk; of FAR_CHUNK_PAGES without an owner, the sum of deaths and lost up to
 * which its last owner has swept. A free chunk's word, page words and maps are 0. Owner
 * 0 of another one: its owner left it, and somebody may adopt it. The owner of a tail
 * means something only while its span is not complete.
 */
enum far_chunk_state {
	FAR_CHUNK_FREE,
	FAR_CHUNK_PAGES,	/* cut into pages */
	FAR_CHUNK_SPAN,		/* the first of a span: one block */
	FAR_CHUNK_TAIL,		/* another one of it */
	FAR_CHUNK_NR_STATES,
};

#define FAR_CHUNK_COUNT		0xffffffu

static inline uint64_t far_chunk_word(uint64_t owner, enum far_chunk_state state,
				      uint32_t count)
{
	return (owner & FAR_OWNER_MASK) | (uint64_t)(count & FAR_CHUNK_COUNT) << 4 | state;
}

static inline enum far_chunk_state far_chunk_state(uint64_t word)
{
	return (enum far_chunk_state)(word & 0xf);
}

static inline uint32_t far_chunk_count(uint64_t word)
{
	return word >> 4 & FAR_CHUNK_COUNT;
}

/*
 * A page word: state in bits 0 to 7; of a slab its class in bits 8 to 15, of the first
 * page of a run its pages in bits 16 to 39. 0: free.
 */
enum far_page_state {
	FAR_PAGE_FREE,
	FAR_PAGE_SLAB,
	FAR_PAGE_RUN,
	FAR_PAGE_TAIL,		/* another one of a run */
	FAR_PAGE_NR_STATES,
};

static inline uint64_t far_page_word(enum far_page_state state, unsigned class,
				     uint32_t pages)
{
	return (uint64_t)(pages & 0xffffff) << 16 | (uint64_t)(class & 0xff) << 8 |
	       state;
}

static inline enum far_page_state far_page_state(uint64_t word)
{
	return (enum far_page_state)(word & 0xff);
}

static inline unsigned far_page_class(uint64_t word)
{
	return word >> 8 & 0xff;
}

static inline uint32_t far_page_count(uint64_t word)
{
	return word >> 16 & 0xffffff;
}

#define FAR_PIN(type, member, at) \
	static_assert(offsetof(struct type, member) == (at), #type "." #member)

FAR_PIN(far_sb, magic, 0);
FAR_PIN(far_sb, version, 8);
FAR_PIN(far_sb, page_shift, 12);
FAR_PIN(far_sb, set, 16);
FAR_PIN(far_sb, size, 32);
FAR_PIN(far_sb, chunk_size, 40);
FAR_PIN(far_sb, nr_chunks, 48);
FAR_PIN(far_sb, max_clients, 52);
FAR_PIN(far_sb, nr_nodes, 56);
FAR_PIN(far_sb, node, 58);
FAR_PIN(far_sb, arbiter, 60);
FAR_PIN(far_sb, nr_names, 62);
FAR_PIN(far_sb, dir_off, 64);
FAR_PIN(far_sb, client_off, 72);
FAR_PIN(far_sb, chunk_off, 80);
FAR_PIN(far_sb, page_off, 88);
FAR_PIN(far_sb, map_off, 96);
FAR_PIN(far_sb, data_off, 104);
FAR_PIN(far_sb, name, 112);
FAR_PIN(far_sb, created, 176);
FAR_PIN(far_sb, checksum, 184);
static_assert(sizeof(struct far_sb) == 192, "far_sb");
FAR_PIN(far_epoch_line, epoch, 0);
FAR_PIN(far_epoch_line, safe, 8);
FAR_PIN(far_epoch_line, flushed, 16);
FAR_PIN(far_epoch_line, deaths, 24);
FAR_PIN(far_epoch_line, stamp, 32);
FAR_PIN(far_epoch_line, clients, 40);
FAR_PIN(far_epoch_line, reserved, 48);
static_assert(sizeof(struct far_epoch_line) == 64, "far_epoch_line");
static_assert(FAR_SB_EPOCH + sizeof(struct far_epoch_line) == FAR_SB_SHARED,
	      "one READ");
FAR_PIN(far_shared, dir_lock, 0);
FAR_PIN(far_shared, lost, 8);
FAR_PIN(far_shared, dir_more, 16);
FAR_PIN(far_losses, nr, 0);
FAR_PIN(far_client_entry, claim, 0);
FAR_PIN(far_client_entry, fenced, 8);
FAR_PIN(far_client_entry, beat, 16);
FAR_PIN(far_client_entry, epoch, 24);
FAR_PIN(far_client_entry, flushed, 32);
FAR_PIN(far_client_entry, seen_beat, 40);
FAR_PIN(far_client_entry, seen_at, 48);
FAR_PIN(far_client_entry, seen_claim, 56);
static_assert(sizeof(struct far_client_entry) == 64, "far_client_entry");
FAR_PIN(far_dir_entry, state, 0);
FAR_PIN(far_dir_entry, root, 8);
FAR_PIN(far_dir_entry, name, 16);
FAR_PIN(far_dir_entry, type, 48);
FAR_PIN(far_dir_entry, version, 52);
FAR_PIN(far_dir_entry, param, 56);
static_assert(sizeof(struct far_dir_entry) == 128, "far_dir_entry");
FAR_PIN(far_dir_block, next, 0);
FAR_PIN(far_dir_block, reserved, 8);
FAR_PIN(far_dir_block, entry, 128);
static_assert(sizeof(struct far_dir_block) == FAR_NR_NAMES * sizeof(struct far_dir_entry),
	      "a block is as long as the first part");

#undef FAR_PIN

static_assert(FAR_LEAST * 64 == 1u << FAR_MAP_SHIFT, "a bit for each of the least blocks");
static_assert(FAR_MIN_CHUNK >= 1u << FAR_MAX_PAGE_SHIFT, "a chunk has whole pages");

#endif
