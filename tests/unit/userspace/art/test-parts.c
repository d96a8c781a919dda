/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts that know no far memory: words, keys, nodes, leaves, the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/art/cache.h"
#include "../../../../userspace/base/rng.h"

/* Words as they lie in far memory: who changes one changes ART_VERSION. */
static void words(void **state)
{
	uint64_t addr = far_addr(3, 0x12340);

	(void)state;
	assert_int_equal(art_slot('A', 3, addr), UINT64_C(0x84100c0c0000048d));
	assert_int_equal(art_slot_void(ART_END), UINT64_C(0x9000000000000000));
	assert_int_equal(art_slot('A', 3, addr) | ART_LEAF | ART_FROZEN,
			 UINT64_C(0xe4100c0c0000048d));
	assert_int_equal(art_pointee(art_slot('A', 3, addr)), addr);
	assert_int_equal(art_slot_symbol(art_slot(ART_END, 3, addr)), ART_END);
	assert_int_equal(art_slot_as(art_slot('A', 3, addr) | ART_FROZEN, 'B'),
			 art_slot('B', 3, addr));
	assert_int_equal(art_header(0x616263, 2, 5), UINT64_C(0x0000006162630405));
	assert_int_equal(art_head_live(8, 3, false, 0x12345, 0x01020304),
			 UINT64_C(0x41d9234501020304));
	assert_int_equal(art_head_as(UINT64_C(0x41d9234501020304), ART_DEAD),
			 UINT64_C(0x81d9234501020304));
	assert_int_equal(art_head_as(UINT64_C(0x41d9234501020304), ART_CLOSED),
			 UINT64_C(0x01d9234501020304));
	assert_int_equal(art_head_moved(3, addr), UINT64_C(0xc0000c0c0000048d));
	/* a leaf that begins within 64 bytes, and one that is counted in them */
	assert_int_equal(art_slot('A', 3, addr + 40), UINT64_C(0x841a0c0c0000048d));
	assert_int_equal(art_slot('A', 1016, addr), UINT64_C(0x8413f80c0000048d));
}

/* Sizes and places come out of a word as they went in. */
static void wheres(void **state)
{
	uint64_t addr = far_addr(255, (UINT64_C(1) << 40) - 64), word;
	unsigned size, at;

	(void)state;
	for (size = 0; size <= ART_MAX_WORDS; size++) {
		if (size >= ART_EXACT && size % 8)
			continue;
		for (at = 0; at < (size < ART_EXACT ? 64 : 8); at += 8) {
			word = art_slot(ART_END, size, addr + at);
			assert_int_equal(art_slot_size(word), size);
			assert_int_equal(art_pointee(word), addr + at);
			assert_int_equal(art_slot_symbol(word), ART_END);
			word = art_head_moved(size, addr + at);
			assert_int_equal(art_slot_size(word), size);
			assert_int_equal(art_pointee(word), addr + at);
			assert_int_equal(art_head_state(word), ART_MOVED);
		}
	}
	assert_int_equal(size, 1129);
}

static void leaf(void **state)
{
	static const size_t value_len[] = { 0, 1, 8, 9, 877, 878, 1024, 8996, 9000, 9005, 9006,
					   100000 };
	struct art_leaf *leaf = malloc(200000);
	uint8_t *value = malloc(100000);
	struct art_seen seen;
	struct art_key key;
	uint64_t len;
	size_t i;

	(void)state;
	memset(value, 'v', 100000);
	art_key_init(&key, "key", 3);
	for (i = 0; i < sizeof(value_len) / sizeof(value_len[0]); i++) {
		len = art_leaf_len(3, value_len[i]);
		assert_int_equal(len % 8, 0);
		art_leaf_fill(leaf, 640, &key, value, value_len[i], 7);
		assert_int_equal(art_leaf_look(leaf, 640, art_leaf_size(len), len, &seen), 0);
		assert_int_equal(seen.len, len);
		assert_int_equal(seen.key_len, 3);
		assert_memory_equal(seen.key, "key", 3);
		assert_int_equal(seen.value_len, value_len[i]);
		assert_memory_equal(seen.value, value, value_len[i]);
		assert_int_equal(art_head_birth(leaf->head), 7);
		assert_in_range(8 * art_leaf_size(len), art_leaf_size(len) ? len : 0, len + 56);
		if (!art_leaf_size(len))
			assert_int_equal(art_leaf_look(leaf, 640, 0, 1024, &seen), -EAGAIN);
		/* another place, another length, another key */
		assert_int_equal(art_leaf_look(leaf, 704, art_leaf_size(len), len, &seen),
				 -EBADMSG);
		assert_int_equal(art_leaf_look(leaf, 640, 1, len, &seen), -EBADMSG);
		((uint8_t *)seen.key)[1] ^= 1;
	}
	memset(leaf, 0, 64);
	assert_int_equal(art_leaf_look(leaf, 640, 3, 24, &seen), -EBADMSG);
	/* a value that may be overwritten, and that may not, from now on or from the beginning */
	art_leaf_fill(leaf, 640, &key, value, 8, 7);
	assert_true(art_head_is_open(leaf->head));
	leaf->head = art_head_as(leaf->head, ART_CLOSED);
	assert_false(art_head_is_open(leaf->head));
	assert_int_equal(art_leaf_look(leaf, 640, 3, 24, &seen), 0);
	art_leaf_fill_closed(leaf, 640, &key, value, 8, 7);
	assert_false(art_head_is_open(leaf->head));
	assert_int_equal(art_leaf_look(leaf, 640, 3, 24, &seen), 0);
	assert_int_equal(seen.value_len, 8);
	free(leaf);
	free(value);
}

/* A node's symbols have one place each, whatever the order in which they came. */
static void node(void **state)
{
	uint64_t room[ART_NODE_MAX / 8];
	struct art_node *node = (struct art_node *)room;
	unsigned type, i, n, symbol;

	(void)state;
	for (type = 0; type < ART_TYPES; type++) {
		art_node_init(node, 64, 0, type, 0, 1);
		assert_true(art_node_sane(node, 64));
		assert_false(art_node_sane(node, 128));
		for (n = 0; n < art_type_slots(type); n++) {
			symbol = (n * 37 + 5) % ART_SYMBOLS;
			i = art_node_find(node, symbol);
			assert_true(i < art_type_slots(type));
			assert_int_equal(node->slot[i], 0);
			art_node_add(node, art_slot(symbol, 0, 64 * (n + 1)));
			assert_int_equal(art_node_find(node, symbol), i);
			assert_int_equal(art_node_live(node), n + 1);
		}
		if (type < ART_TYPES - 1)
			assert_int_equal(art_node_find(node, (n * 37 + 5) % ART_SYMBOLS),
					 ART_FULL);
		assert_true(art_type_slots(art_type_for(n)) > n || n == ART_SYMBOLS);
		/* also of symbols that only a damaged word has */
		for (symbol = 0; symbol <= ART_SYMBOL_MASK; symbol++)
			assert_true(art_first_slot(type, symbol) < art_type_slots(type));
	}
}

static void prefixes(void **state)
{
	struct art_key key;
	uint64_t header = art_header(art_prefix((const uint8_t *)"abcdefghij", 10), 0, 10);

	(void)state;
	assert_int_equal(art_header_byte(header, 4), 'e');
	assert_int_equal(art_header_byte(header, 9), 'j');
	art_key_init(&key, "abcdefghijk", 11);
	assert_int_equal(art_leaves(header, &key, 4), 10);
	assert_int_equal(art_leaves(header, &key, 9), 10);
	assert_int_equal(art_leaves(header, &key, 3), -1);
	art_key_init(&key, "abcdefgXij", 10);
	assert_int_equal(art_leaves(header, &key, 4), 7);
	assert_int_equal(art_leaves(header, &key, 8), 10);
	art_key_init(&key, "abcdefg", 7);
	assert_int_equal(art_leaves(header, &key, 5), 7);
}

/* What was put is there, within the budget; another node of that address is not. */
static void cache(void **state)
{
	uint64_t room[ART_NODE_MAX / 8];
	struct art_node *node = (struct art_node *)room;
	struct art_cache *cache;
	struct art_key key, other;
	struct art_hint hint;
	struct far_rng rng;
	unsigned i, k, at, type, live, seen = 0;
	bool has;

	(void)state;
	assert_int_equal(art_cache_new(100, &cache), 0);
	assert_null(cache);
	assert_int_equal(art_cache_new(1 << 16, &cache), 0);
	art_key_init(&key, "abcdef", 6);
	art_key_init(&other, "abXdef", 6);
	art_node_init(node, 64, art_prefix(key.data, 4), 1, 4, 1);
	art_node_add(node, art_slot('e', 0, 128) | ART_FROZEN);
	art_cache_put(cache, 64, &key, node, (struct form_age){ 9 });
	assert_true(art_cache_get(cache, 64, &key, &hint));
	assert_int_equal(hint.slot, art_slot('e', 0, 128));
	assert_int_equal(hint.age.epoch, 9);
	assert_false(art_cache_get(cache, 64, &other, &hint));
	assert_false(art_cache_get(cache, 128, &key, &hint));
	art_cache_drop(cache, 64);
	assert_false(art_cache_get(cache, 64, &key, &hint));
	far_rng_init(&rng, 1, 0);
	for (i = 0; i < 20000; i++) {
		type = far_rng_below(&rng, ART_TYPES);
		art_node_init(node, 64 * (i + 1), art_prefix(key.data, 4), type, 4, 1);
		live = far_rng_below(&rng, art_type_slots(type) + 1);
		for (k = 0; k < live; k++)
			art_node_add(node, art_slot((5 * k + i) % ART_SYMBOLS, 0, 128 + 64 * k));
		art_cache_put(cache, 64 * (i + 1), &key, node, (struct form_age){ i });
		assert_true(art_cache_bytes(cache) <= 1 << 16);
		if (!art_cache_get(cache, 64 * (i + 1), &key, &hint))
			continue;
		assert_int_equal(hint.age.epoch, i);
		/* its slot, and where that is, or that there is none */
		at = art_node_find(node, 'e');
		has = at < art_type_slots(type) && art_pointee(node->slot[at]);
		assert_int_equal(hint.slot, has ? node->slot[at] : 0);
		assert_true(!has || hint.at == at);
		seen += has;
	}
	assert_true(seen > 1000);
	assert_true(art_cache_bytes(cache) > 3 << 14);
	art_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(wheres),
		cmocka_unit_test(leaf),
		cmocka_unit_test(node),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
