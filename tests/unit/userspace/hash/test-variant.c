/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The checker of histories finds what is wrong with the broken variants, and finds
 * nothing in programs that differ by the variant alone.
 */
#include "program.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../../userspace/core/epoch.h"

/* Keys of one shard that have home bucket and fingerprint in common: slots, too. */
static uint64_t alike(uint64_t n)
{
	static uint64_t found[8];
	static unsigned nr;
	struct hash_key first, key;
	uint64_t i;

	hash_key_init(&first, &(uint64_t){ 1 }, 8, 8, RIG_NODES);
	for (i = nr ? found[nr - 1] + 1 : 1; nr <= n; i++) {
		hash_key_init(&key, &i, sizeof(i), 8, RIG_NODES);
		if (key.fp == first.fp && key.shard == first.shard &&
		    key.main[0] == first.main[0])
			found[nr++] = i;
	}
	return found[n];
}

/* Whether one of so many seeds has a history that is wrong. */
static int wrong(struct program_conf conf, unsigned nr)
{
	struct program_result result;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_run(&conf, &result);
		if (result.verdict == -EILSEQ)
			return 1;
	}
	return 0;
}

static void race_insert(void **state)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 100, .keys = 8, .longest = 8, .key = alike,
	};

	(void)state;
	assert_false(wrong(conf, 20));
	conf.variant = HASH_RACE;
	assert_true(wrong(conf, 500));
}

/* Two clients of one table, by turns. */
struct turns {
	struct rig rig;
	struct far_task *task[2];
	struct far_hash *hash[2];
	struct far_hash *other;		/* a second table, of client 0 */
	struct history_op op[64];
	struct history_log log;
	uint64_t now;
};

static int turn(struct turns *turns, unsigned client, enum history_f f, uint64_t key,
		uint64_t value)
{
	struct far_task *task = turns->task[client];
	struct far_hash *hash = turns->hash[client];
	long at = history_invoke(&turns->log, f, key, value, 0, turns->now++);
	size_t len;
	int err;

	if (f == HISTORY_INSERT)
		err = far_hash_insert(task, hash, &key, 8, &value, 8);
	else if (f == HISTORY_UPDATE)
		err = far_hash_update(task, hash, &key, 8, &value, 8);
	else if (f == HISTORY_DELETE)
		err = far_hash_delete(task, hash, &key, 8);
	else
		err = far_hash_get(task, hash, &key, 8, &value, 8, &len);
	history_return(&turns->log, at, err ? HISTORY_FAIL : HISTORY_OK, value,
		       turns->now++);
	return err;
}

/* The block that a key's slot names; client 0 looks. */
static uint64_t block_of(struct turns *turns, struct far_hash *hash, uint64_t key)
{
	struct hash_op op;
	size_t mark = far_buf_mark(turns->task[0]);

	assert_int_equal(far_epoch_enter(turns->task[0]), 0);
	assert_int_equal(hash_op_init(&op, turns->task[0], hash, &key, 8), 0);
	assert_int_equal(hash_op_start(&op), 0);
	hash_locate(&op);
	assert_int_equal(hash_find(&op, 0), 0);
	far_buf_release(turns->task[0], mark);
	far_epoch_exit(turns->task[0]);
	return hash_slot_off(op.found.word);
}

/*
 * Client 0 deletes a key, and inserts another one until that has the same block, in
 * the same slot: the first one of an empty table. Blocks that were free besides go to
 * another table.
 */
static int block_again(struct turns *turns, uint64_t old, uint64_t new, uint64_t block)
{
	struct far_task *task = turns->task[0];
	struct far_hash *hash = turns->hash[0];
	uint64_t other = 1000000;
	unsigned i;

	for (i = 0; i < 3000; i++) {
		assert_int_equal(far_hash_insert(task, hash, &new, 8, &new, 8), 0);
		if (block_of(turns, hash, new) == block)
			return 1;
		assert_int_equal(far_hash_delete(task, hash, &new, 8), 0);
		other++;
		assert_int_equal(far_hash_insert(task, turns->other, &other, 8, &old, 8),
				 0);
		if (block_of(turns, turns->other, other) == block)
			assert_int_equal(far_hash_delete(task, turns->other, &other, 8),
					 0);
		if (i % 16 == 0)
			assert_int_equal(far_reclaim(task), 0);
	}
	return 0;
}

/* 0: what client 1 did by its cache is linearizable. */
static int stale_update(enum hash_variant variant)
{
	const struct rig_conf conf = { .clients = 2 };
	uint64_t old = alike(0), new = alike(1);
	struct history_verdict verdict;
	struct turns turns = { 0 };
	struct history_op *all;
	uint64_t block;
	unsigned i;
	size_t nr;
	int err;

	turns.log = (struct history_log) { turns.op, 0, 64, 0 };
	rig_open(&turns.rig, &conf);
	for (i = 0; i < 2; i++) {
		turns.task[i] = rig_enter(&turns.rig, i);
		if (i)
			err = far_hash_open(turns.task[i], "t", &turns.hash[i]);
		else
			err = far_hash_create(turns.task[i], "t",
					      &(struct far_hash_attr) { 100 },
					      &turns.hash[i]);
		assert_int_equal(err, 0);
		hash_set_variant(turns.hash[i], variant);
	}
	assert_int_equal(far_hash_create(turns.task[0], "u", NULL, &turns.other), 0);
	assert_int_equal(turn(&turns, 0, HISTORY_INSERT, old, 1), 0);
	block = block_of(&turns, turns.hash[0], old);
	assert_int_equal(turn(&turns, 1, HISTORY_GET, old, 1), 0);
	assert_int_equal(turn(&turns, 0, HISTORY_DELETE, old, 0), 0);
	assert_true(block_again(&turns, old, new, block));
	turn(&turns, 1, HISTORY_UPDATE, old, 2);
	turn(&turns, 0, HISTORY_GET, old, 0);
	all = history_merge(&turns.log, 1, &nr);
	err = history_check(all, nr, HISTORY_ABSENT, &verdict);
	free(all);
	far_hash_close(turns.other);
	for (i = 0; i < 2; i++) {
		far_hash_close(turns.hash[i]);
		far_leave(turns.task[i]);
	}
	rig_close(&turns.rig);
	return err;
}

/* A slot with the same fingerprint names the same block again, but it is another key's. */
static void blind_cache(void **state)
{
	(void)state;
	assert_int_equal(stale_update(HASH_OURS), 0);
	assert_int_not_equal(stale_update(HASH_BLIND_CACHE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(race_insert),
		cmocka_unit_test(blind_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
