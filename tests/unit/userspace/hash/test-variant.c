/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The checker of histories finds what is wrong with the broken variants, and finds
 * nothing in programs that differ by the variant alone.
 */
#include "program.h"

#include <stdio.h>

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

/* The number of seeds whose history is wrong. */
static unsigned wrong(struct program_conf conf, unsigned nr)
{
	struct program_result result;
	unsigned bad = 0;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_run(&conf, &result);
		bad += !!result.verdict;
	}
	return bad;
}

static void race_insert(void **state)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 100, .keys = 2, .longest = 8,
	};

	(void)state;
	assert_int_equal(wrong(conf, 10), 0);
	conf.variant = HASH_RACE;
	assert_int_not_equal(wrong(conf, 10), 0);
}

static void blind_cache(void **state)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .without = FAR_WITHOUT_COMBINE },
		.tasks = 1, .ops = 500, .keys = 4, .longest = 8, .key = alike,
	};

	(void)state;
	assert_int_equal(wrong(conf, 10), 0);
	conf.variant = HASH_BLIND_CACHE;
	assert_int_not_equal(wrong(conf, 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(race_insert),
		cmocka_unit_test(blind_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
