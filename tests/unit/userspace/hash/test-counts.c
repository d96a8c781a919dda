/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same program, from a seed, posts the same operations of each kind over the
 * software NIC as in virtual time: what sim counts is what is sent. What a CAS that lost
 * is followed by belongs to the run, so that one task works alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#include "../../../../userspace/base/rng.h"

#define KEYS	400u
#define OPS	6000u

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

static struct far_stats run(struct rig_conf conf)
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
	for (i = 0; i < OPS; i++)
		step(task, hash, &rng);
	stats = rig_counted(&rig, 0);
	far_hash_close(hash);
	far_leave(task);
	rig_close(&rig);
	return stats;
}

static void same(unsigned without, uint64_t seed)
{
	struct far_stats sim = run((struct rig_conf) {
		.sim = 1, .seed = seed, .without = without });
	struct far_stats soft = run((struct rig_conf) {
		.soft = 1, .seed = seed, .without = without });

	print_message("seed %llu: %llu READs, %llu WRITEs, %llu CAS, %llu FAA; soft: %llu, "
		      "%llu, %llu, %llu\n", (unsigned long long)seed,
		      (unsigned long long)sim.reads, (unsigned long long)sim.writes,
		      (unsigned long long)sim.cas, (unsigned long long)sim.faa,
		      (unsigned long long)soft.reads, (unsigned long long)soft.writes,
		      (unsigned long long)soft.cas, (unsigned long long)soft.faa);
	assert_int_equal(sim.retries, 0);
	assert_int_equal(soft.retries, 0);
	assert_int_equal(sim.reads, soft.reads);
	assert_int_equal(sim.writes, soft.writes);
	assert_int_equal(sim.cas, soft.cas);
	assert_int_equal(sim.faa, soft.faa);
	assert_int_equal(sim.round_trips, soft.round_trips);
}

static void test_plain(void **state)
{
	same(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE, 1);
	same(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE, 2);
}

static void test_cached(void **state)
{
	same(0, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
