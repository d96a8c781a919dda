/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random programs in virtual time: a million operations by day, a hundred million with
 * ODRP_NIGHTLY=1. Each world is drawn from a seed: nodes, clients, threads, tasks, keys,
 * sizes, the mix of operations, what is switched off, what the adversary does, and who
 * dies. Every history must be linearizable, and the space whole afterwards.
 *
 * test-far-hash-random SEED runs one world, and says what it is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../lib/nightly.h"
#include "program.h"

#include "../../../../userspace/base/rng.h"

#define BY_DAY		UINT64_C(1000000)
#define AT_NIGHT	UINT64_C(100000000)
#define MAX_TASKS	12u	/* of a world: the search of histories ends */

/* A dead client's memory is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

static uint64_t seed_now;	/* of the world that runs; 0: none */
static uint64_t seed_asked;	/* by the command line; 0: all */

static int chance(struct far_rng *rng, unsigned percent)
{
	return far_rng_below(rng, 100) < percent;
}

static unsigned some(struct far_rng *rng, unsigned from, unsigned to)
{
	return from + far_rng_below(rng, to - from + 1);
}

/* Clients, and their threads and tasks. */
static void draw_workers(struct far_rng *rng, struct program_conf *conf)
{
	unsigned left;

	conf->rig.nodes = some(rng, 1, RIG_MAX_NODES);
	conf->rig.clients = some(rng, 1, RIG_CLIENTS);
	left = MAX_TASKS / conf->rig.clients;
	conf->threads = some(rng, 1, left < 3 ? left : 3);
	conf->tasks = some(rng, 1, left / conf->threads);
}

/* Inline, of a slab, of pages of their own, and now and then of chunks. */
static void draw_sizes(struct far_rng *rng, struct program_conf *conf)
{
	static const unsigned value[] = { 8, 64, 200, 3000 };

	conf->longest = value[some(rng, 0, 3)];
	conf->ops = 240 / conf->tasks / conf->threads;
	if (chance(rng, 4)) {
		conf->longest = 40000;
		conf->ops /= 4;
	} else if (chance(rng, 1)) {
		conf->longest = 1 << 20;
		conf->ops /= 16;
		conf->rig.size = UINT64_C(256) << 20;
	}
	if (chance(rng, 30))
		conf->longest_key = chance(rng, 5) ? 20000 : some(rng, 9, 400);
	if (conf->ops < 4)
		conf->ops = 4;
}

static void draw_mix(struct far_rng *rng, struct program_conf *conf)
{
	conf->keys = some(rng, 1, chance(rng, 50) ? 3 : 16);
	if (chance(rng, 30)) {
		conf->fill = some(rng, 10, 60);
		conf->prefill = some(rng, 0, 110);
	}
	if (chance(rng, 40))
		conf->batch = some(rng, 5, 60);
	if (chance(rng, 20))
		conf->scan = some(rng, 1, 10);
	if (chance(rng, 30))
		conf->pause_ns = some(rng, 1, 20000);
}

/* Switches, the adversary, deaths. */
static void draw_trouble(struct far_rng *rng, struct program_conf *conf)
{
	if (chance(rng, 30))
		conf->rig.without = far_rng_below(rng, FAR_WITHOUT_DOORBELL << 1);
	if (chance(rng, 80))
		conf->rig.adversary |= FAR_SIM_TEAR;
	if (chance(rng, 80))
		conf->rig.adversary |= FAR_SIM_DELAY;
	/* What has no answer may have happened at any time: of few, or there is no end. */
	if (chance(rng, 15)) {
		conf->rig.adversary |= FAR_SIM_BREAK;
		conf->keys += 3;
		conf->ops = conf->ops / 2 + 1;
	}
	if (conf->rig.clients > 1 && chance(rng, 15))
		conf->kill_at = some(rng, 1, 4000);
}

static void world_draw(uint64_t seed, struct program_conf *ret_conf)
{
	struct program_conf conf = { .rig = { .sim = 1, .seed = seed } };
	struct far_rng rng;

	far_rng_init(&rng, seed, 0);
	draw_workers(&rng, &conf);
	draw_sizes(&rng, &conf);
	draw_mix(&rng, &conf);
	draw_trouble(&rng, &conf);
	*ret_conf = conf;
}

static void world_say(const struct program_conf *conf)
{
	print_message("%u nodes, %u clients of %u threads of %u tasks of %u operations; "
		      "%u keys to %u bytes, values to %u; of 100: %u inserts, %u batches, "
		      "%u scans; %u keys before; pauses to %llu ns; without 0x%x, "
		      "adversary 0x%x, death at %llu\n",
		      conf->rig.nodes, conf->rig.clients, conf->threads, conf->tasks,
		      conf->ops, conf->keys, conf->longest_key, conf->longest,
		      conf->fill, conf->batch, conf->scan, conf->prefill,
		      (unsigned long long)conf->pause_ns, conf->rig.without,
		      conf->rig.adversary, (unsigned long long)conf->kill_at);
}

/* What all worlds had together. */
struct sum {
	uint64_t worlds, ops, splits, combined, repaired, dead, broken;
};

static void sum_add(struct sum *sum, const struct program_conf *conf,
		    const struct program_result *result)
{
	sum->worlds++;
	sum->ops += result->ops;
	sum->splits += result->splits;
	sum->combined += result->combined;
	sum->repaired += result->repaired;
	sum->dead += conf->kill_at && result->posted + 1 >= conf->kill_at;
	sum->broken += !!(conf->rig.adversary & FAR_SIM_BREAK);
}

static void sum_say(const struct sum *sum)
{
	print_message("%llu operations in %llu worlds, %llu with broken connections, "
		      "%llu with a death: %llu combined, %llu splits, %llu repaired\n",
		      (unsigned long long)sum->ops, (unsigned long long)sum->worlds,
		      (unsigned long long)sum->broken, (unsigned long long)sum->dead,
		      (unsigned long long)sum->combined, (unsigned long long)sum->splits,
		      (unsigned long long)sum->repaired);
}

/*
 * False: the search gave up a history with many operations of unknown fate. What else is
 * wrong fails, in a second run of the same world, which keeps its history.
 */
static bool world_is_decided(const struct program_conf *conf, struct program_result *result)
{
	program_run(conf, result);
	if (result->verdict == -EOVERFLOW && !result->problems && !result->failed)
		return false;
	if (result->verdict || result->problems || result->failed)
		program_expect_right(conf, result);
	return true;
}

static void all_worlds(void **state)
{
	uint64_t enough = nightly() ? AT_NIGHT : BY_DAY;
	struct program_result result;
	struct program_conf conf;
	struct sum sum = { 0 };
	unsigned undecided = 0;

	(void)state;
	for (seed_now = 1; sum.ops < enough; seed_now++) {
		world_draw(seed_now, &conf);
		if (world_is_decided(&conf, &result))
			sum_add(&sum, &conf, &result);
		else
			undecided++;
	}
	print_message("%u of %llu worlds could not be decided\n", undecided,
		      (unsigned long long)seed_now - 1);
	assert_true(undecided * 200 < seed_now);
	seed_now = 0;
	sum_say(&sum);
	assert_true(sum.ops >= enough);
	assert_true(sum.splits && sum.combined && sum.repaired);
}

/* The papers' window of combining: some world of the first ones shows what it does. */
static void late_window(void **state)
{
	struct program_result result;
	struct program_conf conf;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 100; seed++) {
		world_draw(seed, &conf);
		conf.variant = HASH_LATE_WINDOW;
		program_run(&conf, &result);
		if (result.file[0])
			remove(result.file);
		if (result.verdict == -EILSEQ)
			return;
	}
	fail_msg("no history of %llu worlds is wrong", (unsigned long long)seed - 1);
}

static void one_world(void **state)
{
	struct program_result result;
	struct program_conf conf;
	struct sum sum = { 0 };

	(void)state;
	seed_now = seed_asked;
	world_draw(seed_now, &conf);
	world_say(&conf);
	program_expect_right(&conf, &result);
	sum_add(&sum, &conf, &result);
	sum_say(&sum);
	seed_now = 0;
}

static int say_how_to_repeat(void **state)
{
	(void)state;
	if (seed_now)
		print_error("this world alone: test-far-hash-random %llu\n",
			    (unsigned long long)seed_now);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(late_window),
		cmocka_unit_test_teardown(all_worlds, say_how_to_repeat),
	};
	const struct CMUnitTest one[] = {
		cmocka_unit_test_teardown(one_world, say_how_to_repeat),
	};

	if (argc < 2)
		return cmocka_run_group_tests(all, NULL, NULL);
	seed_asked = strtoull(argv[1], NULL, 0);
	if (argc > 2 || !seed_asked) {
		fprintf(stderr, "usage: %s [SEED]: a number from 1 on\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(one, NULL, NULL);
}
