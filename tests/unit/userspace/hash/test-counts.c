/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same program, from a seed, posts the same operations of each kind over the
 * software NIC, or over whatever FAR_TEST_NIC says, as in virtual time: what sim counts
 * is what is sent. What a CAS that lost is followed by belongs to the run, so that one
 * task works alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../lib/nightly.h"
#include "rig.h"

#include "../../../../userspace/base/rng.h"

#define KEYS	400u
#define BATCH	64u
#define OPS	6000u
#define FEW	800u		/* where each of them takes long */

static void step(struct far_task *task, struct far_hash *hash, struct far_rng *rng)
{
	uint64_t key = far_rng_below(rng, KEYS);
	size_t len = 8 + 8 * far_rng_below(rng, 20);
	uint8_t value[256];
	int err;

	memset(value, (int)key, sizeof(value));
	switch (far_rng_below(rng, 5)) {
	case 0:
		err = far_hash_insert(task, hash, &key, 8, value, len);
		break;
	case 1:
		err = far_hash_update(task, hash, &key, 8, value, len);
		break;
	case 2:
		err = far_hash_delete(task, hash, &key, 8);
		break;
	default:
		err = far_hash_get(task, hash, &key, 8, value, sizeof(value), &len);
	}
	assert_true(!err || err == -ENOENT || err == -EEXIST);
}

static struct far_stats run(struct rig_conf conf, unsigned ops)
{
	struct far_hash_attr attr = { .expected = KEYS };
	struct far_task *task;
	struct far_stats stats;
	struct far_hash *hash;
	struct far_rng rng;
	struct rig rig;
	unsigned i;

	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &hash), 0);
	rig_counted(&rig, 0);
	far_rng_init(&rng, conf.seed, 0);
	for (i = 0; i < ops; i++)
		step(task, hash, &rng);
	stats = rig_counted(&rig, 0);
	far_hash_close(hash);
	far_leave(task);
	rig_close(&rig);
	return stats;
}

/* Two ways to run it; neither is to try anything again. */
static void same(struct rig_conf conf, struct rig_conf other_conf, unsigned ops)
{
	struct far_stats sim = run(conf, ops), other = run(other_conf, ops);

	print_message("seed %llu: %llu READs, %llu WRITEs, %llu CAS, %llu FAA; %s: %llu, "
		      "%llu, %llu, %llu\n", (unsigned long long)conf.seed,
		      (unsigned long long)sim.reads, (unsigned long long)sim.writes,
		      (unsigned long long)sim.cas, (unsigned long long)sim.faa,
		      other_conf.soft ? "soft" : other_conf.spec,
		      (unsigned long long)other.reads, (unsigned long long)other.writes,
		      (unsigned long long)other.cas, (unsigned long long)other.faa);
	assert_int_equal(sim.retries, 0);
	assert_int_equal(other.retries, 0);
	assert_int_equal(sim.reads, other.reads);
	assert_int_equal(sim.writes, other.writes);
	assert_int_equal(sim.cas, other.cas);
	assert_int_equal(sim.faa, other.faa);
	assert_int_equal(sim.round_trips, other.round_trips);
}

/* The pages are so large that it does not depend on the time how many are cut. */
static void same_soft(unsigned without, uint64_t seed)
{
	const struct rig_conf conf = {
		.seed = seed, .without = without, .size = UINT64_C(256) << 20,
	};
	struct rig_conf sim = conf, soft = conf;

	sim.sim = 1;
	soft.soft = 1;
	same(sim, soft, OPS);
}

static void test_plain(void **state)
{
	same_soft(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE, 1);
	same_soft(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE, 2);
}

static void test_cached(void **state)
{
	same_soft(0, 3);
}

/*
 * A table of which nobody knows how large it becomes is loaded in batches: new keys
 * travel together, splits included, and all are there afterwards.
 */
static void test_load(void **state)
{
	const struct rig_conf conf = { .nodes = 1, .size = UINT64_C(256) << 20, .seed = 1 };
	const uint64_t keys = nightly() ? 1000000 : 100000;
	struct far_hash_item item[BATCH];
	uint64_t key[BATCH], at, batches = 0;
	struct far_hash_stats table;
	struct far_stats stats;
	struct far_hash *hash;
	struct far_task *task;
	struct rig rig;
	unsigned i, nr;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", NULL, &hash), 0);
	rig_counted(&rig, 0);
	for (at = 0; at < keys; at += nr, batches++) {
		for (nr = 0; nr < BATCH && at + nr < keys; nr++) {
			key[nr] = at + nr;
			item[nr] = (struct far_hash_item) {
				.key = &key[nr], .key_len = 8,
				.value = &key[nr], .value_len = 8,
			};
		}
		assert_int_equal(far_hash_mput(task, hash, item, nr), 0);
		for (i = 0; i < nr; i++)
			assert_int_equal(item[i].status, 0);
	}
	stats = rig_counted(&rig, 0);
	assert_int_equal(far_hash_stat(task, hash, &table), 0);
	print_message("%llu keys, %llu splits: %.2f round trips a batch, %.2f verbs a key\n",
		      (unsigned long long)keys, (unsigned long long)table.splits,
		      (double)stats.round_trips / batches,
		      (double)(stats.reads + stats.writes + stats.cas) / keys);
	assert_int_equal(table.keys, keys);
	assert_true(stats.round_trips <= 6 * batches);
	rig_check(&rig, task, NULL);
	far_hash_close(hash);
	far_leave(task);
	rig_close(&rig);
}

/*
 * FAR_TEST_NIC, FAR_TEST_NODE, FAR_TEST_SPACE: a space of one memory node, of 16 MiB and
 * chunks of 1 MiB, in which nothing has been so far. Without the cache: a change does not
 * believe a slot that was seen some epochs ago, and looks again. Epochs are time, of which
 * an operation in a virtual machine takes much.
 */
static void test_elsewhere(void **state)
{
	const struct rig_conf sim = {
		.sim = 1, .seed = 4, .nodes = 1, .size = 16 << 20,
		.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
	};
	const struct rig_conf there = {
		.seed = 4, .without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
		.spec = getenv("FAR_TEST_NIC"), .node = getenv("FAR_TEST_NODE"),
		.space = getenv("FAR_TEST_SPACE"),
	};

	(void)state;
	assert_non_null(there.spec);
	assert_non_null(there.node);
	assert_non_null(there.space);
	same(sim, there, FEW);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest elsewhere[] = {
		cmocka_unit_test(test_elsewhere),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_cached),
		cmocka_unit_test(test_load),
	};

	if (argc == 2 && !strcmp(argv[1], "elsewhere"))
		return cmocka_run_group_tests(elsewhere, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
