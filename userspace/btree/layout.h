/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a B+ tree looks like in far memory. Words are of 64 bits, little-endian, aligned;
 * each is read and written as a whole, and no order among words is assumed.
 *
 *	root	parameters, and the node at the top
 *	node	a lock word, a head with two fences, entries, a redo record
 *	entry	a sum, a key and a value; of inner nodes the value is a node's far address
 *
 *	0      8     16       24       32 34     40    40+k   40+2k           len      size
 *	| word | sum | version | right | .. | magic | low | high | entries ... | redo ... |
 *
 * k: bytes of a key, rounded up to 8. What is READ of a node is 0 to len. Entries are in
 * any order, at places that they keep while the version lasts; those of a leaf within a
 * neighbourhood that follows from the key. docs/far-trees.md says why it looks like this,
 * and what may change when.
 */
#ifndef FAR_BTREE_LAYOUT_H
#define FAR_BTREE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#define BTREE_MAGIC		UINT64_C(0x4552544241524601)	/* "\1FARBTRE" */
#define BTREE_VERSION		4u
#define BTREE_NODE_MAGIC	0x45444f4eu			/* "NODE" */

#define BTREE_MIN_SIZE		8u	/* of keys and values, bytes */
#define BTREE_MAX_SIZE		256u
#define BTREE_MIN_SPAN		4u	/* entries of a node */
#define BTREE_MAX_SPAN		128u
#define BTREE_MAX_LEVEL		24u
#define BTREE_INNER_BYTES	1024u	/* that a node has at most, if 16 entries fit */
#define BTREE_LEAF_BYTES	512u
#define BTREE_NEAR		8u	/* places that a key of a leaf may have, in a row */

/* On node 0 of the set. `top` changes by CAS when the tree grows; nothing else does. */
struct btree_root {
	uint64_t magic;
	uint32_t version;
	uint16_t key_size;
	uint16_t value_size;
	uint16_t leaf_span;
	uint16_t inner_span;
	uint32_t reserved;
	uint64_t sum;		/* XXH3 of all before, seeded by its address */
	uint64_t top;		/* far address; its level in the upper 16 bits */
};

static inline uint64_t btree_top(uint64_t addr, unsigned level)
{
	return far_addr_bare(addr) | (uint64_t)level << FAR_ADDR_BITS;
}

static inline unsigned btree_top_level(uint64_t top)
{
	return top >> FAR_ADDR_BITS;
}

struct btree_head {
	uint64_t word;		/* core/lock.h, summed: over all that follows, to len */
	uint64_t sum;		/* XXH3 of the head from version on, seeded by address and tree */
	uint64_t version;	/* random; another one whenever fences or places change */
	uint64_t right;		/* far address of the sibling; FAR_NIL: it is the last */
	uint8_t level;		/* 0: a leaf */
	uint8_t flags;		/* BTREE_* */
	uint16_t reserved;
	uint32_t magic;
	uint8_t fence[];	/* low: the least key that belongs here; high: the first above */
};

#define BTREE_LAST	1u	/* there is no high fence */
#define BTREE_DEAD	2u	/* merged away; its keys are its left neighbour's */
#define BTREE_UNBORN	4u	/* nobody may come here but from its left neighbour */

#define BTREE_HEAD	40u	/* bytes before the fences */

/*
 * sum: btree_free_sum(version) for a free place, else XXH3 of key and value, padding
 * included, seeded by the version. So an entry tells by itself that it belonged to this
 * version of the node, and that no word of it is another one's.
 */
struct btree_entry {
	uint64_t sum;
	uint8_t data[];		/* key, padded to 8, then value, padded to 8 */
};

#define BTREE_ENTRY	8u

/*
 * The version under which a merge brings entries to the left node, beyond its fence: nobody
 * takes them for the node's own before it has the fence.
 */
static inline uint64_t btree_coming(uint64_t version)
{
	return ~version;
}

static inline uint64_t btree_free_sum(uint64_t version)
{
	return ~version * UINT64_C(0x9e3779b97f4a7c15) ^ version >> 29;
}

/*
 * What somebody was about to do who holds the lock; written in front of it. It counts
 * only while the contents do not match the lock word's sum.
 */
struct btree_redo {
	uint64_t kind;		/* enum btree_redo_kind; of ENTRY, the place << 8 */
	uint64_t before;	/* the version that the entries had */
	uint64_t right;		/* MERGE: the node that is merged into this one */
	uint8_t data[];		/* ENTRY: the entry; else the head, from sum on */
};

#define BTREE_REDO	24u

enum btree_redo_kind {
	BTREE_REDO_ENTRY = 1,	/* one entry changes */
	BTREE_REDO_HEAD = 2,	/* the head; entries outside of its fences go */
	BTREE_REDO_MERGE = 3,	/* the head, once the right one is dead; else nothing */
};

/* Parameters in the space's directory, compared on open. */
enum {
	BTREE_PARAM_KEY,
	BTREE_PARAM_VALUE,
	BTREE_PARAM_LEAF_SPAN,
	BTREE_PARAM_INNER_SPAN,
};

#define BTREE_PIN(type, member, at) \
	static_assert(offsetof(struct type, member) == (at), #type "." #member)

BTREE_PIN(btree_root, magic, 0);
BTREE_PIN(btree_root, version, 8);
BTREE_PIN(btree_root, key_size, 12);
BTREE_PIN(btree_root, value_size, 14);
BTREE_PIN(btree_root, leaf_span, 16);
BTREE_PIN(btree_root, inner_span, 18);
BTREE_PIN(btree_root, reserved, 20);
BTREE_PIN(btree_root, sum, 24);
BTREE_PIN(btree_root, top, 32);
static_assert(sizeof(struct btree_root) == 40, "btree_root");
BTREE_PIN(btree_head, word, 0);
BTREE_PIN(btree_head, sum, 8);
BTREE_PIN(btree_head, version, 16);
BTREE_PIN(btree_head, right, 24);
BTREE_PIN(btree_head, level, 32);
BTREE_PIN(btree_head, flags, 33);
BTREE_PIN(btree_head, reserved, 34);
BTREE_PIN(btree_head, magic, 36);
BTREE_PIN(btree_head, fence, 40);
static_assert(sizeof(struct btree_head) == BTREE_HEAD, "btree_head");
BTREE_PIN(btree_entry, sum, 0);
BTREE_PIN(btree_entry, data, 8);
static_assert(sizeof(struct btree_entry) == BTREE_ENTRY, "btree_entry");
BTREE_PIN(btree_redo, kind, 0);
BTREE_PIN(btree_redo, before, 8);
BTREE_PIN(btree_redo, right, 16);
BTREE_PIN(btree_redo, data, 24);
static_assert(sizeof(struct btree_redo) == BTREE_REDO, "btree_redo");

#undef BTREE_PIN

#endif
