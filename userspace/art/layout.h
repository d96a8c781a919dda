/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an adaptive radix tree looks like in far memory. Words are of 64 bits,
 * little-endian, aligned; each is read and written as a whole, and no order among words
 * is assumed.
 *
 *	root	what the tree is, and its first node, which is there for ever
 *	node	where the keys below it first differ, and a slot for each way on
 *	leaf	a key and its value
 *
 * Keys are strings of 1 to 256 bytes, ordered as memcmp() orders them, the shorter one
 * first. A node at depth d tells its keys apart by their symbol at d: the byte there,
 * or ART_END for the key that has d bytes. So no key is a prefix of another one.
 *
 * docs/far-trees.md says why it looks like this, and what may change when.
 */
#ifndef FAR_ART_LAYOUT_H
#define FAR_ART_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#define ART_MAGIC		UINT64_C(0x0154524152414601)	/* "\1FARART\1" */
#define ART_VERSION		3u

#define ART_MAX_KEY		256u
#define ART_MAX_VALUE		(1u << 20)
#define ART_UNIT		64u	/* bytes: what pointers count */
#define ART_PREFIX		6u	/* bytes of its prefix that a node has */
#define ART_END			256u	/* the symbol of a key that ends */
#define ART_SYMBOLS		257u

/*
 * A slot. 0 is empty, and so is ART_FROZEN alone.
 *
 *	63     62     61       60     59     52 51  49 48  42 41   34 33             0
 *	| used | leaf | frozen | end |   byte  | word | size |  node | block's off/64 |
 *
 * end, byte: the symbol; it stays as long as the node, also when the rest is 0 because
 * the key was deleted. size: of a node, its type; of a leaf, words of 8 bytes, or 0 if
 * they are more than ART_MAX_WORDS. word: of its 64 bytes, in which the block begins. From
 * ART_EXACT on size and word are one number of 64 bytes, those that the leaf begins with
 * are not all its own, and its block begins at a multiple of them. frozen: the node is
 * being replaced; nothing in it changes any more.
 */
#define ART_USED		(UINT64_C(1) << 63)
#define ART_LEAF		(UINT64_C(1) << 62)
#define ART_FROZEN		(UINT64_C(1) << 61)
#define ART_SYMBOL_SHIFT	52
#define ART_SYMBOL_MASK		0x1ffu
#define ART_SIZE_SHIFT		42
#define ART_EXACT		112u	/* sizes from here on are in units of 64 bytes */
#define ART_LINE_WORDS		(ART_UNIT / 8)
#define ART_LINES		(ART_EXACT / ART_LINE_WORDS)	/* the least one of these */
#define ART_MAX_WORDS		((ART_LINES + 127) * ART_LINE_WORDS)
#define ART_POINTER_MASK	((UINT64_C(1) << ART_SIZE_SHIFT) - 1)

/* Where a block is, and its size: of a slot, and of the head of a leaf that has moved. */
static inline uint64_t art_where(unsigned size, uint64_t addr)
{
	uint64_t pointer = (uint64_t)far_addr_node(addr) << 34 |
			   far_addr_off(addr) / ART_UNIT;
	unsigned word = far_addr_off(addr) % ART_UNIT / 8;
	unsigned line;

	if (size >= ART_EXACT) {
		line = size / ART_LINE_WORDS - ART_LINES;
		size = ART_EXACT + line / 8;
		word = line % 8;
	}
	return (uint64_t)(word << 7 | size) << ART_SIZE_SHIFT | pointer;
}

/* The far address in it; FAR_NIL: no block. */
static inline uint64_t art_pointee(uint64_t where)
{
	uint64_t pointer = where & ART_POINTER_MASK;
	unsigned size = where >> ART_SIZE_SHIFT & 0x7f;
	unsigned word = size < ART_EXACT ? where >> (ART_SIZE_SHIFT + 7) & 7 : 0;

	if (!pointer)
		return FAR_NIL;
	return far_addr(pointer >> 34, (pointer & ((UINT64_C(1) << 34) - 1)) * ART_UNIT +
				       8 * word);
}

static inline uint64_t art_slot(unsigned symbol, unsigned size, uint64_t addr)
{
	return ART_USED | (uint64_t)symbol << ART_SYMBOL_SHIFT |
	       art_where(size, addr);
}

/* The slot of a key that was deleted. */
static inline uint64_t art_slot_void(unsigned symbol)
{
	return ART_USED | (uint64_t)symbol << ART_SYMBOL_SHIFT;
}

static inline unsigned art_slot_symbol(uint64_t slot)
{
	return slot >> ART_SYMBOL_SHIFT & ART_SYMBOL_MASK;
}

/* The size in it, in words also if it counts 64 bytes. */
static inline unsigned art_slot_size(uint64_t where)
{
	unsigned size = where >> ART_SIZE_SHIFT & 0x7f;
	unsigned word = where >> (ART_SIZE_SHIFT + 7) & 7;

	if (size < ART_EXACT)
		return size;
	return (ART_LINES + 8 * (size - ART_EXACT) + word) * ART_LINE_WORDS;
}

/* The slot with another symbol, or with none: what it leads to, moved elsewhere. */
static inline uint64_t art_slot_as(uint64_t slot, unsigned symbol)
{
	return (slot & ~(ART_FROZEN | (uint64_t)ART_SYMBOL_MASK << ART_SYMBOL_SHIFT)) |
	       (uint64_t)symbol << ART_SYMBOL_SHIFT;
}

/* Symbols in the order of keys: a key that ends comes first. */
static inline unsigned art_symbol_rank(unsigned symbol)
{
	return symbol == ART_END ? 0 : symbol + 1;
}

/*
 * A node. mark and header never change; a slot changes by CAS. In a node of the greatest
 * type each symbol has a slot of its own. In others it has the first one, from
 * art_first_slot() on and round, that was empty or has it already. No slot becomes empty
 * again, so that two that add the same symbol meet at the same slot.
 */
struct art_node {
	uint64_t mark;
	uint64_t header;
	uint64_t slot[];
};

/*
 *	mark	63      48 47  32 31    0
 *		| ART_MARK | sum  | birth |
 *
 * birth: low bits of an age that E had reached when the block was allocated; see
 * ../form/age.h. sum: of birth, header, the node's far address and its tree's root.
 *
 *	header	63     16 15  12 11  9 8     0
 *		| prefix |  0   | type | depth |
 *
 * prefix: the bytes that all keys below have in front of the symbol at depth, the last
 * six of them, the very last in the lowest byte; zeros when there are less. They reach
 * back behind the depth of the node above, or that has nodes between.
 */
#define ART_MARK		UINT64_C(0xa27d)
#define ART_BIRTH_BITS		32u
#define ART_NODE_HEAD		16u
#define ART_TYPES		6u

/* Slots of a node, by type: what is read of it, and what it occupies. */
static inline unsigned art_type_slots(unsigned type)
{
	static const unsigned slots[ART_TYPES] = { 6, 14, 30, 62, 126, ART_SYMBOLS };

	return slots[type];
}

/* Where a symbol is looked for first. */
static inline unsigned art_first_slot(unsigned type, unsigned symbol)
{
	/* a damaged slot may have one that there is none of: it stays within the node */
	return (type == ART_TYPES - 1 ? symbol : symbol * 11) % art_type_slots(type);
}

static inline uint32_t art_node_len(unsigned type)
{
	return ART_NODE_HEAD + 8 * art_type_slots(type);
}

#define ART_NODE_MAX		(ART_NODE_HEAD + 8 * ART_SYMBOLS)

static inline uint64_t art_header(uint64_t prefix, unsigned type, unsigned depth)
{
	return prefix << 16 | (uint64_t)type << 9 | depth;
}

static inline unsigned art_header_depth(uint64_t header)
{
	return header & 0x1ff;
}

static inline unsigned art_header_type(uint64_t header)
{
	return header >> 9 & 7;
}

static inline uint64_t art_header_prefix(uint64_t header)
{
	return header >> 16;
}

/* Byte `at` of the prefix of a node at depth; depth - ART_PREFIX <= at < depth. */
static inline uint8_t art_header_byte(uint64_t header, unsigned at)
{
	return header >> (16 + 8 * (art_header_depth(header) - 1 - at));
}

static inline unsigned art_node_birth(const struct art_node *node)
{
	return (uint32_t)node->mark;
}

/*
 * A leaf: head, value, key. A value of 8 bytes is one word, and is the only thing that
 * is ever overwritten, by a WRITE. All else stays as it is but for the head.
 *
 *	head	63    62 61         54 53  51 50   49 32 31    0
 *		| live   | key length-1 |  pad | long | sum | birth |
 *		| closed, dead |	as before		    |
 *		| moved  |  0	61 52 | as in a slot 51           0 |
 *
 * pad: bytes of the last word that are none of the leaf's. long: it has ART_EXACT words
 * or more, and one between head and value says how long value and leaf are; in a shorter
 * leaf: its value is never overwritten. sum: of the key, the lengths, birth, the leaf's far
 * address and its tree's root. A head becomes closed when a function is to change its value:
 * nobody who READs it then overwrites the value. It becomes dead when its key is deleted,
 * moved when its value is replaced by one elsewhere. Each by CAS, once, in this order.
 */
#define ART_STATE_SHIFT		62
#define ART_CLOSED		0u
#define ART_LIVE		1u
#define ART_DEAD		2u
#define ART_MOVED		3u
#define ART_LONG		(UINT64_C(1) << 50)
#define ART_SUM_MASK		0x3ffffu

struct art_leaf {
	uint64_t head;
	uint8_t data[];
};

#define ART_LEAF_HEAD		8u

static inline unsigned art_head_state(uint64_t head)
{
	return head >> ART_STATE_SHIFT;
}

static inline uint64_t art_head_live(size_t key_len, unsigned pad, bool is_long,
				     uint32_t sum, uint32_t birth)
{
	return (uint64_t)ART_LIVE << ART_STATE_SHIFT | (uint64_t)(key_len - 1) << 54 |
	       (uint64_t)pad << 51 | (is_long ? ART_LONG : 0) |
	       (uint64_t)(sum & ART_SUM_MASK) << 32 | birth;
}

static inline uint64_t art_head_as(uint64_t head, unsigned state)
{
	return (head & ~(UINT64_C(3) << ART_STATE_SHIFT)) | (uint64_t)state << ART_STATE_SHIFT;
}

/* True if the leaf has a key. */
static inline bool art_head_has_key(uint64_t head)
{
	return art_head_state(head) == ART_LIVE || art_head_state(head) == ART_CLOSED;
}

/* True if a value of 8 bytes may be overwritten in place. */
static inline bool art_head_is_open(uint64_t head)
{
	return art_head_state(head) == ART_LIVE && !(head & ART_LONG);
}

static inline uint64_t art_head_moved(unsigned size, uint64_t addr)
{
	return (uint64_t)ART_MOVED << ART_STATE_SHIFT | art_where(size, addr);
}

static inline size_t art_head_key_len(uint64_t head)
{
	return (head >> 54 & 0xff) + 1;
}

static inline unsigned art_head_pad(uint64_t head)
{
	return head >> 51 & 7;
}

static inline uint32_t art_head_sum(uint64_t head)
{
	return head >> 32 & ART_SUM_MASK;
}

static inline uint32_t art_head_birth(uint64_t head)
{
	return (uint32_t)head;
}

/* The second word of a long leaf: length of the value, and of the whole leaf. */
static inline uint64_t art_long(uint32_t value_len, uint32_t leaf_len)
{
	return (uint64_t)value_len << 32 | leaf_len;
}

#define ART_FIRST		1024u	/* bytes of a leaf without a size that are read at first */

/* Bytes of a leaf. */
static inline uint64_t art_leaf_len(size_t key_len, size_t value_len)
{
	uint64_t len = (ART_LEAF_HEAD + key_len + value_len + 7) & ~UINT64_C(7);

	return len / 8 < ART_EXACT ? len : len + 8;
}

static inline bool art_is_long(unsigned size)
{
	return !size || size >= ART_EXACT;
}

/* The size that a slot says: what is read at once. */
static inline unsigned art_leaf_size(uint64_t len)
{
	uint64_t words = len / 8;

	if (words >= ART_EXACT)
		words = (words + ART_LINE_WORDS - 1) / ART_LINE_WORDS * ART_LINE_WORDS;
	return words <= ART_MAX_WORDS ? words : 0;
}

/* The root; the first node follows, of the greatest type and at depth 0. */
struct art_root {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t sum;		/* XXH3 of all before, and of the root's far address */
	uint64_t zero[5];
};

#define ART_ROOT_NODE		64u
#define ART_ROOT_LEN		(ART_ROOT_NODE + ART_NODE_MAX)

#define ART_PIN(type, member, at) \
	static_assert(offsetof(struct type, member) == (at), #type "." #member)

ART_PIN(art_root, magic, 0);
ART_PIN(art_root, version, 8);
ART_PIN(art_root, reserved, 12);
ART_PIN(art_root, sum, 16);
ART_PIN(art_root, zero, 24);
static_assert(sizeof(struct art_root) == ART_ROOT_NODE, "art_root");
ART_PIN(art_node, mark, 0);
ART_PIN(art_node, header, 8);
ART_PIN(art_node, slot, 16);
static_assert(sizeof(struct art_node) == ART_NODE_HEAD, "art_node");
ART_PIN(art_leaf, head, 0);
ART_PIN(art_leaf, data, 8);
static_assert(ART_SYMBOL_SHIFT == ART_SIZE_SHIFT + 10, "size, word");
static_assert(ART_EXACT % ART_LINE_WORDS == 0 && ART_LINE_WORDS == 1 << 3, "words in 3 bits");
static_assert(ART_EXACT + (ART_MAX_WORDS / ART_LINE_WORDS - ART_LINES) / 8 == 0x7f,
	      "sizes in 7 bits");
static_assert(ART_SYMBOL_MASK >= ART_END, "symbols");
static_assert(FAR_OFF_BITS - 6 == 34, "offsets in units");
static_assert(ART_MAX_KEY == 256, "lengths fit 8 bits, depths 9");

#undef ART_PIN

#endif
