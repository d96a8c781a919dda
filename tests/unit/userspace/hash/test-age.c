/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs that are far from each other: a client with a warm cache never takes a word that
 * came back to its slot for the one that it remembers, and finds all that is there.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

#include <far/hash.h>

#include "../../../../userspace/core/epoch.h"
#include "../ordered/age.h"

#define KEYS	40u

struct bed {
	struct rig rig;
	struct far_hash *hash[2];	/* by client */
};

/* Where a key is, as the memory node has it. */
struct place {
	uint64_t *slot;
	struct hash_block *block;
	uint64_t twin;		/* another key that may lie there with the same fingerprint */
};

static void *at(const struct bed *bed, uint64_t addr)
{
	return (char *)bed->rig.map[far_addr_node(addr)].addr + far_addr_off(addr);
}

static void key_init(const struct bed *bed, const uint64_t *id, struct hash_key *key)
{
	hash_key_init(key, id, sizeof(*id), bed->hash[0]->groups, bed->hash[0]->nr_shards);
}

/* Another key with this home and that fingerprint. */
static uint64_t twin_of(const struct bed *bed, unsigned home, uint8_t fp)
{
	struct hash_key twin;
	uint64_t id = KEYS;

	do {
		id++;
		key_init(bed, &id, &twin);
	} while (twin.fp != fp || twin.main[0] != home);
	return id;
}

static struct place place_of(const struct bed *bed, uint64_t id)
{
	struct place place = { 0 };
	uint64_t *slot, sub;
	struct hash_key key;
	unsigned depth, i, s;

	key_init(bed, &id, &key);
	sub = hash_dir_find(&bed->hash[0]->dir[0], hash_key_dir(&key), &depth);
	for (i = 0; i < 2; i++) {
		slot = ((struct hash_bucket *)at(bed, sub + hash_main_off(key.main[i])))->slot;
		for (s = 0; s < HASH_SLOTS && !place.slot; s++) {
			struct hash_block *block = at(bed, hash_block_addr(0, slot[s]));

			if (!slot[s] || block->key_len != sizeof(id) ||
			    memcmp(block->data, &id, sizeof(id)))
				continue;
			place = (struct place){ &slot[s], block,
						twin_of(bed, key.main[i], key.fp) };
		}
	}
	assert_non_null(place.slot);
	return place;
}

static void store(struct bed *bed, struct far_task *task, int (*call)(struct far_task *,
		  struct far_hash *, const void *, size_t, const void *, size_t))
{
	uint64_t id;

	for (id = 0; id < KEYS; id++)
		assert_int_equal(call(task, bed->hash[0], &id, sizeof(id), "1st val", 8), 0);
}

/* Client 0 has the slots in its cache. */
static void warm(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);
	struct far_stats stats;
	uint8_t value[8];
	uint64_t id;
	unsigned round;

	for (round = 0; round < 3; round++) {
		rig_counted(&bed->rig, 0);
		for (id = 0; id < KEYS; id++) {
			assert_int_equal(far_hash_get(task, bed->hash[0], &id, sizeof(id),
						      value, 8, NULL), 0);
			assert_string_equal(value, "1st val");
		}
		stats = rig_counted(&bed->rig, 0);
	}
	assert_int_equal(stats.cache_hits, KEYS);
	far_leave(task);
}

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .clients = 2, .nodes = 1,
				       .cache = 1 << 20 };
	struct far_task *task;

	rig_open(&bed->rig, &conf);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_hash_create(task, "t", NULL, &bed->hash[0]), 0);
	store(bed, task, far_hash_insert);
	far_leave(task);
	task = rig_enter(&bed->rig, 1);
	assert_int_equal(far_hash_open(task, "t", &bed->hash[1]), 0);
	far_leave(task);
}

static void bed_close(struct bed *bed)
{
	struct far_task *task = rig_enter(&bed->rig, 0);

	rig_check(&bed->rig, task, NULL);
	far_hash_close(bed->hash[0]);
	far_hash_close(bed->hash[1]);
	far_leave(task);
	rig_close(&bed->rig);
}

/*
 * Client 1 deletes each key. Its block becomes that of its twin, with a birth whose bits
 * are the old one's, so that the slot gets the very word that client 0 remembers.
 */
static void give_away(struct bed *bed, struct place place[KEYS])
{
	struct far_task *task = rig_enter(&bed->rig, 1);
	struct hash_key twin;
	uint64_t id, word;

	for (id = 0; id < KEYS; id++) {
		place[id] = place_of(bed, id);
		word = *place[id].slot;
		assert_int_equal(far_hash_delete(task, bed->hash[1], &id, sizeof(id)), 0);
		assert_int_equal(*place[id].slot, 0);
		key_init(bed, &place[id].twin, &twin);
		hash_block_fill(place[id].block, bed->hash[1]->root, &twin, "another", 8,
				(struct form_age){ hash_slot_tag(word) });
		*place[id].slot = word;
	}
	far_leave(task);
}

/* Client 0 finds none of the keys, and changes none of what has their slots now. */
static void expect_gone(struct bed *bed, const struct place place[KEYS])
{
	struct far_task *task = rig_enter(&bed->rig, 0);
	unsigned wrong = 0;
	uint8_t value[8];
	uint64_t id;

	for (id = 0; id < KEYS; id++) {
		if (id % 3 == 0)
			wrong += far_hash_get(task, bed->hash[0], &id, sizeof(id), value, 8,
					      NULL) != -ENOENT;
		else if (id % 3 == 1)
			wrong += far_hash_update(task, bed->hash[0], &id, sizeof(id),
						 "changed", 8) != -ENOENT;
		else
			wrong += far_hash_delete(task, bed->hash[0], &id, sizeof(id)) !=
				 -ENOENT;
	}
	assert_int_equal(wrong, 0);
	for (id = 0; id < KEYS; id++) {
		assert_int_equal(hash_block_addr(0, *place[id].slot),
				 (char *)place[id].block - (char *)bed->rig.map[0].addr);
		assert_int_equal(far_hash_get(task, bed->hash[0], &place[id].twin,
					      sizeof(id), value, 8, NULL), 0);
		assert_string_equal(value, "another");
	}
	far_leave(task);
}

#define SPAN	HASH_TAG_SPAN		/* a word may come back after so many */

static void run(uint64_t before, uint64_t while_warm)
{
	struct place place[KEYS];
	struct bed bed;

	bed_open(&bed);
	age_pass(&bed.rig, before);
	warm(&bed);
	age_pass(&bed.rig, while_warm);
	give_away(&bed, place);
	expect_gone(&bed, place);
	bed_close(&bed);
}

/* The blocks are as old as that when their slots are remembered. */
static void old_table(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < AGE_PASSES; i++)
		run(age_passes[i], SPAN);
}

/* What is remembered is as old as that when blocks are given away. */
static void old_cache(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < AGE_PASSES; i++)
		run(AGE_DAY, age_passes[i] + SPAN);
}

/* A client finds all keys of an old table, by an old cache, and changes them. */
static void nothing_lost(void **state)
{
	struct far_task *task;
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed);
	for (i = 0; i < AGE_PASSES; i++) {
		age_pass(&bed.rig, age_passes[i]);
		warm(&bed);
		task = rig_enter(&bed.rig, 0);
		store(&bed, task, far_hash_update);
		far_leave(task);
	}
	bed_close(&bed);
}

/* A change is built on what is remembered of a block that is older than its tag can tell. */
static void old_block(void **state)
{
	struct far_task *task;
	struct bed bed;

	(void)state;
	bed_open(&bed);
	age_pass(&bed.rig, UINT64_C(1000) * SPAN + SPAN / 4);
	warm(&bed);
	task = rig_enter(&bed.rig, 0);
	rig_counted(&bed.rig, 0);
	store(&bed, task, far_hash_update);
	assert_int_equal(rig_counted(&bed.rig, 0).cache_hits, KEYS);
	far_leave(task);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_table),
		cmocka_unit_test(old_cache),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(old_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
