/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys, and what is written of them. See key.h. */
#include "key.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define KEY_SEED	UINT64_C(0x61727401)

void art_key_init(struct art_key *key, const void *data, size_t len)
{
	key->data = data;
	key->len = len;
	key->hash = XXH3_64bits_withSeed(data, len, KEY_SEED);
}

unsigned art_differ(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	unsigned i = 0;

	while (i < len && a[i] == b[i])
		i++;
	return i;
}

uint64_t art_prefix(const uint8_t *key, unsigned depth)
{
	uint64_t prefix = 0;
	unsigned i;

	for (i = depth > ART_PREFIX ? depth - ART_PREFIX : 0; i < depth; i++)
		prefix = prefix << 8 | key[i];
	return prefix;
}

int art_leaves(uint64_t header, const struct art_key *key, unsigned from)
{
	unsigned depth = art_header_depth(header);
	unsigned at = from;

	if (depth > from + ART_PREFIX)
		return -1;
	while (at < depth && at < key->len && art_header_byte(header, at) == key->data[at])
		at++;
	return at;
}

static uint16_t node_sum(const struct art_node *node, uint64_t seed)
{
	uint64_t part[3] = { (uint32_t)node->mark, node->header, seed };

	return XXH3_64bits_withSeed(part, sizeof(part), KEY_SEED);
}

void art_node_init(struct art_node *node, uint64_t seed, uint64_t prefix, unsigned type,
		   unsigned depth, uint32_t birth)
{
	memset(node, 0, art_node_len(type));
	node->mark = ART_MARK << 48 | birth;
	node->header = art_header(prefix, type, depth);
	node->mark |= (uint64_t)node_sum(node, seed) << 32;
}

bool art_node_sane(const struct art_node *node, uint64_t seed)
{
	return node->mark >> 48 == ART_MARK && art_header_type(node->header) < ART_TYPES &&
	       art_header_depth(node->header) <= ART_MAX_KEY &&
	       (uint16_t)(node->mark >> 32) == node_sum(node, seed);
}

unsigned art_node_find(const struct art_node *node, unsigned symbol)
{
	unsigned type = art_header_type(node->header);
	unsigned nr = art_type_slots(type);
	unsigned i = art_first_slot(type, symbol), n;

	for (n = 0; n < nr; n++) {
		if (!(node->slot[i] & ART_USED) || art_slot_symbol(node->slot[i]) == symbol)
			return i;
		i = i + 1 == nr ? 0 : i + 1;
	}
	return ART_FULL;
}

void art_node_add(struct art_node *node, uint64_t slot)
{
	node->slot[art_node_find(node, art_slot_symbol(slot))] = slot;
}

unsigned art_node_live(const struct art_node *node)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	unsigned live = 0;
	unsigned i;

	for (i = 0; i < nr; i++)
		live += art_pointee(node->slot[i]) != FAR_NIL;
	return live;
}

unsigned art_type_for(unsigned live)
{
	unsigned type = 0;

	while (type < ART_TYPES - 1 && art_type_slots(type) <= live)
		type++;
	return type;
}

static uint32_t leaf_sum(const uint8_t *key, uint64_t head, uint64_t extra, uint64_t seed)
{
	uint64_t rest[3] = {
		head & ~((uint64_t)ART_SUM_MASK << 32 | UINT64_C(3) << ART_STATE_SHIFT),
		extra, seed,
	};
	uint64_t rest_sum = XXH3_64bits_withSeed(rest, sizeof(rest), KEY_SEED);

	return XXH3_64bits_withSeed(key, art_head_key_len(head), rest_sum) & ART_SUM_MASK;
}

static void leaf_fill(struct art_leaf *leaf, uint64_t seed, const struct art_key *key,
		      const void *value, size_t value_len, uint32_t birth, bool closed)
{
	uint64_t len = art_leaf_len(key->len, value_len);
	bool is_long = art_is_long(art_leaf_size(len));
	uint64_t extra = is_long ? art_long(value_len, len) : 0;
	uint8_t *at = leaf->data;
	unsigned pad;

	if (is_long) {
		memcpy(at, &extra, sizeof(extra));
		at += sizeof(extra);
	}
	if (value_len)
		memcpy(at, value, value_len);
	memcpy(at + value_len, key->data, key->len);
	pad = (const uint8_t *)leaf + len - (at + value_len + key->len);
	memset(at + value_len + key->len, 0, pad);
	leaf->head = art_head_live(key->len, pad, is_long || closed, 0, birth);
	leaf->head |= (uint64_t)leaf_sum(key->data, leaf->head, extra, seed) << 32;
}

void art_leaf_fill(struct art_leaf *leaf, uint64_t seed, const struct art_key *key,
		   const void *value, size_t value_len, uint32_t birth)
{
	leaf_fill(leaf, seed, key, value, value_len, birth, false);
}

void art_leaf_fill_closed(struct art_leaf *leaf, uint64_t seed, const struct art_key *key,
			  const void *value, size_t value_len, uint32_t birth)
{
	leaf_fill(leaf, seed, key, value, value_len, birth, value_len == 8);
}

/* Lengths of a long leaf of that size; 0 bytes if they cannot be. */
static void long_look(const struct art_leaf *leaf, unsigned size, struct art_seen *seen,
		      uint64_t *extra)
{
	memcpy(extra, leaf->data, sizeof(*extra));
	seen->value_len = *extra >> 32;
	seen->len = (uint32_t)*extra;
	seen->value = leaf->data + sizeof(*extra);
	if (seen->value_len > ART_MAX_VALUE || art_leaf_size(seen->len) != size ||
	    seen->len != art_leaf_len(seen->key_len, seen->value_len))
		seen->len = 0;
}

int art_leaf_look(const struct art_leaf *leaf, uint64_t seed, unsigned size, uint64_t len,
		  struct art_seen *ret_seen)
{
	unsigned state = art_head_state(leaf->head);
	struct art_seen *seen = ret_seen;
	uint64_t extra = 0;
	size_t used;

	if (state == ART_MOVED || (art_is_long(size) && !(leaf->head & ART_LONG)))
		return -EBADMSG;
	seen->key_len = art_head_key_len(leaf->head);
	if (!art_is_long(size)) {
		seen->len = 8 * (uint64_t)size;
		seen->value = leaf->data;
		used = ART_LEAF_HEAD + seen->key_len + art_head_pad(leaf->head);
		if (used > seen->len)
			return -EBADMSG;
		seen->value_len = seen->len - used;
	} else {
		long_look(leaf, size, seen, &extra);
		if (!seen->len)
			return -EBADMSG;
	}
	if (seen->len > len)
		return -EAGAIN;
	seen->key = seen->value + seen->value_len;
	if (leaf_sum(seen->key, leaf->head, extra, seed) != art_head_sum(leaf->head))
		return -EBADMSG;
	return 0;
}

uint64_t art_root_sum(const struct art_root *root, uint64_t addr)
{
	return XXH3_64bits_withSeed(root, offsetof(struct art_root, sum), addr);
}
