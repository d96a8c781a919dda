/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the table that know no far memory: hashes, words, directory, cache. */
#include "rig.h"

#include <errno.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/hash/shape.h"

static void slot_words(void **state)
{
	struct far_rng rng;
	unsigned i;

	(void)state;
	far_rng_init(&rng, 1, 0);
	for (i = 0; i < 100000; i++) {
		uint64_t off = far_rng_below(&rng, UINT64_C(1) << 34) * HASH_UNIT;
		struct form_age birth = { far_rng_next(&rng) };
		unsigned units = 1 + far_rng_below(&rng, 300);
		uint8_t fp = far_rng_next(&rng);
		uint64_t word = hash_slot(fp, units, off, birth);

		assert_int_equal(hash_slot_fp(word), fp);
		assert_int_equal(hash_slot_units(word), units > 255 ? 0 : units);
		assert_int_equal(hash_slot_off(word), off);
		assert_int_equal(hash_slot_tag(word), birth.epoch % HASH_TAG_SPAN);
		assert_false(word & HASH_FROZEN);
	}
}

static void headers(void **state)
{
	uint64_t owner = UINT64_C(0xabc) << 52 | UINT64_C(0x1234) << 36;
	uint64_t idle = hash_idle(31, 0xfedcba98);
	uint64_t claim = hash_claim(idle, owner, 0xffffffff);

	(void)state;
	assert_int_equal(hash_depth(idle), 31);
	assert_false(hash_claimed(idle));
	assert_false(hash_claimed(idle | HASH_MOVING));
	assert_true(hash_claimed(claim));
	assert_int_equal(claim & HASH_OWNER_MASK, owner);
	assert_int_equal(claim & ~HASH_CLAIM_MASK, idle);
	assert_int_equal(hash_depth(hash_splitter(owner, 17)), 17);
	assert_int_not_equal(hash_splitter(owner, 0), 0);
}

static void where_keys_may_be(void **state)
{
	unsigned shards[3] = { 0, 0, 0 };
	unsigned groups = 8;
	uint64_t i;

	(void)state;
	for (i = 0; i < 30000; i++) {
		struct hash_key key;

		hash_key_init(&key, &i, sizeof(i), groups, 3);
		assert_true(key.main[0] < 2 * groups && key.main[1] < 2 * groups);
		assert_int_not_equal(key.main[0] / 2, key.main[1] / 2);
		shards[key.shard]++;
	}
	for (i = 0; i < 3; i++)
		assert_in_range(shards[i], 9500, 10500);
}

/* Keys are bytes: NULs do not end them, and a longer key is another one. */
static void keys_are_bytes(void **state)
{
	static const char a[4] = "a\0b", b[4] = "a\0c";
	struct hash_key x, y;

	(void)state;
	hash_key_init(&x, a, 3, 8, 1);
	hash_key_init(&y, b, 3, 8, 1);
	assert_int_not_equal(x.first, y.first);
	hash_key_init(&y, a, 4, 8, 1);
	assert_int_not_equal(x.first, y.first);
}

static void splits_that_move(void **state)
{
	(void)state;
	assert_int_equal(hash_moved(0, 0, 32), -1);
	assert_int_equal(hash_moved(0x5, 0, 32), 0);
	assert_int_equal(hash_moved(0x5, 1, 32), 2);
	assert_int_equal(hash_moved(0x5, 1, 2), -1);
	assert_int_equal(hash_moved(0x80000000, 5, 32), 31);
	assert_int_equal(hash_moved(0xffffffff, 32, 32), -1);
}

static void blocks(void **state)
{
	uint8_t memory[256];
	struct hash_block *block = (void *)memory;
	struct hash_key key;

	(void)state;
	assert_int_equal(hash_block_len(8, 8), 64);
	assert_int_equal(hash_block_len(8, 32), 64);
	assert_int_equal(hash_block_len(8, 33), 128);
	hash_key_init(&key, "key", 3, 8, 1);
	hash_block_fill(block, 4096, &key, "value", 5,
			(struct form_age){ UINT64_C(0x123456789) });
	assert_int_equal(block->sum, hash_block_sum(block, 4096));
	/* it is no block of another table */
	assert_int_not_equal(block->sum, hash_block_sum(block, 8192));
	assert_int_equal(block->birth, 0x23456789);
	assert_true(hash_slot_born(hash_slot(key.fp, 1, 0, (struct form_age){ 0x6789 }), block));
	assert_false(hash_slot_born(hash_slot(key.fp, 1, 0, (struct form_age){ 0x678a }), block));
	assert_memory_equal(block->data, "keyvalue", 8);
	assert_true(hash_block_sane(block));
	block->data[7] ^= 1;
	assert_int_not_equal(block->sum, hash_block_sum(block, 4096));
	block->val_len = FAR_HASH_MAX_VALUE + 1;
	assert_false(hash_block_sane(block));
}

static void directory(void **state)
{
	struct hash_dir dir;
	unsigned depth;
	uint32_t i;

	(void)state;
	assert_int_equal(hash_dir_init(&dir, 0x1000), 0);
	assert_int_equal(hash_dir_find(&dir, 0xdeadbeef, &depth), 0x1000);
	assert_int_equal(depth, 0);
	/* a sibling at depth 3: its quarter only */
	assert_int_equal(hash_dir_add(&dir, 0x2000, 5, 3), 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(hash_dir_find(&dir, i, &depth),
				 i % 8 == 5 ? 0x2000 : 0x1000);
	/* what is older does not come back */
	assert_int_equal(hash_dir_add(&dir, 0x3000, 1, 2), 0);
	assert_int_equal(hash_dir_find(&dir, 5, &depth), 0x2000);
	assert_int_equal(depth, 3);
	assert_int_equal(hash_dir_find(&dir, 1, &depth), 0x3000);
	assert_int_equal(depth, 2);
	/* too deep to keep */
	assert_int_equal(hash_dir_add(&dir, 0x4000, 7, HASH_DIR_DEPTH + 1), 0);
	assert_int_equal(hash_dir_find(&dir, 7, &depth), 0x1000);
	hash_dir_fini(&dir);
}

static void cache_of_slots(void **state)
{
	struct hash_hint hint = { 0x1000, 0x2000, { 3 }, 0 }, got;
	char longer[40] = "a key of more than fifteen bytes, indeed";
	struct hash_cache *cache;
	struct hash_id id, other;
	uint64_t i;

	(void)state;
	assert_int_equal(hash_cache_new(100, 1, &cache), 0);
	assert_null(cache);
	assert_int_equal(hash_cache_new(1 << 16, 1, &cache), 0);
	id = hash_cache_id(cache, "key", 3, 7);
	other = hash_cache_id(cache, "key\0", 4, 7);
	assert_memory_not_equal(&id, &other, sizeof(id));
	assert_false(hash_cache_get(cache, &id, &got));
	hash_cache_put(cache, &id, &hint);
	assert_true(hash_cache_get(cache, &id, &got));
	assert_memory_equal(&got, &hint, sizeof(hint));
	assert_false(hash_cache_get(cache, &other, &got));
	hash_cache_drop(cache, &id);
	assert_false(hash_cache_get(cache, &id, &got));
	id = hash_cache_id(cache, longer, sizeof(longer), 7);
	longer[39]++;
	other = hash_cache_id(cache, longer, sizeof(longer), 7);
	assert_memory_not_equal(&id, &other, sizeof(id));
	/* lossy: what does not fit is forgotten, and nothing else is answered */
	for (i = 0; i < 5000; i++) {
		hint.addr = 8 * i + 8;
		id = hash_cache_id(cache, &i, sizeof(i), i);
		hash_cache_put(cache, &id, &hint);
	}
	for (i = 0; i < 5000; i++) {
		id = hash_cache_id(cache, &i, sizeof(i), i);
		if (hash_cache_get(cache, &id, &got))
			assert_int_equal(got.addr, 8 * i + 8);
	}
	hash_cache_free(cache);
}

static void shapes(void **state)
{
	struct hash_shape shape;
	uint64_t n;

	(void)state;
	for (n = 1; n < UINT64_C(1) << 30; n *= 3) {
		assert_int_equal(hash_shape_of(n, 2, &shape), 0);
		assert_true(hash_shape_sane(shape.groups));
		assert_true(((uint64_t)shape.groups * HASH_GROUP_SLOTS << shape.depth) * 2
			    >= n + n / 4);
	}
	assert_int_equal(hash_shape_of(UINT64_MAX, 1, &shape), -E2BIG);
	assert_false(hash_shape_sane(0));
	assert_false(hash_shape_sane(24));
	assert_false(hash_shape_sane(2048));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_words),
		cmocka_unit_test(headers),
		cmocka_unit_test(where_keys_may_be),
		cmocka_unit_test(keys_are_bytes),
		cmocka_unit_test(splits_that_move),
		cmocka_unit_test(blocks),
		cmocka_unit_test(directory),
		cmocka_unit_test(cache_of_slots),
		cmocka_unit_test(shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
