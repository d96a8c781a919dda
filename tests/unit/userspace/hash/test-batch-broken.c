/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Batches beside connections that break, with values of which a block's second trip has
 * to be waited for: each item has its own fate. A put whose answer is lost may have
 * happened or not; one that was answered with 0 has happened, and once.
 */
#include "../../../lib/nightly.h"
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEYS	8u
#define LEN	17000u	/* above what a slot can say */

static char value[KEYS][LEN], seen[KEYS][LEN];
static char key[KEYS][8];

struct versions {
	uint32_t last;		/* given out */
	uint32_t sure[KEYS];	/* what the key had for certain */
	uint32_t may[KEYS];	/* or this one */
};

static void value_fill(char *buf, uint32_t version, unsigned k)
{
	for (size_t i = 0; i < LEN; i += 8) {
		uint64_t word = (uint64_t)version << 32 | k << 24 | i;

		memcpy(buf + i, &word, 8);
	}
}

static uint32_t value_version(const char *buf, unsigned k)
{
	static char whole[LEN];
	uint64_t word;

	memcpy(&word, buf, 8);
	value_fill(whole, word >> 32, k);
	assert_memory_equal(buf, whole, LEN);
	return word >> 32;
}

static void batch_put(struct far_task *task, struct far_hash *hash, struct versions *v)
{
	struct far_hash_item item[KEYS];
	unsigned k;

	for (k = 0; k < KEYS; k++) {
		value_fill(value[k], v->last + 1 + k, k);
		item[k] = (struct far_hash_item) {
			.key = key[k], .key_len = strlen(key[k]),
			.value = value[k], .value_len = LEN,
		};
	}
	far_hash_mput(task, hash, item, KEYS);
	for (k = 0; k < KEYS; k++) {
		v->may[k] = ++v->last;
		if (!item[k].status)
			v->sure[k] = v->last;
		else
			assert_int_equal(item[k].status, -EIO);
	}
}

static void batch_get(struct far_task *task, struct far_hash *hash, struct versions *v)
{
	struct far_hash_item item[KEYS];
	unsigned k;

	for (k = 0; k < KEYS; k++)
		item[k] = (struct far_hash_item) {
			.key = key[k], .key_len = strlen(key[k]),
			.value = seen[k], .value_len = LEN,
		};
	far_hash_mget(task, hash, item, KEYS);
	for (k = 0; k < KEYS; k++) {
		uint32_t version = 0;

		if (item[k].status == -EIO)
			continue;
		if (item[k].status) {
			assert_int_equal(item[k].status, -ENOENT);
		} else {
			assert_int_equal(item[k].value_len, LEN);
			version = value_version(seen[k], k);
		}
		if (version != v->sure[k] && version != v->may[k])
			fail_msg("key %u has version %u: %u or %u is right", k, version,
				 v->sure[k], v->may[k]);
		v->sure[k] = v->may[k] = version;
	}
}

static void seed_run(uint64_t seed, unsigned rounds)
{
	struct rig_conf conf = {
		.sim = 1, .nodes = 1, .seed = seed, .size = 32 << 20,
		.adversary = FAR_SIM_BREAK | FAR_SIM_DELAY, .break_one_in = 100,
		.without = FAR_WITHOUT_CACHE,
	};
	struct versions v = { .last = 0 };
	struct far_hash *hash = NULL;
	struct far_task *task;
	struct rig rig;
	int err;

	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	do {
		err = far_hash_create(task, "t", NULL, &hash);
		if (err == -EEXIST)
			err = far_hash_open(task, "t", &hash);
	} while (err == -EIO);
	assert_int_equal(err, 0);
	for (unsigned i = 0; i < rounds; i++) {
		batch_put(task, hash, &v);
		batch_get(task, hash, &v);
	}
	assert_int_equal(rig_problems(&rig, task), 0);
	far_hash_close(hash);
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void seeds(void **state)
{
	uint64_t nr = nightly() ? 400 : 16;

	(void)state;
	for (unsigned k = 0; k < KEYS; k++)
		snprintf(key[k], sizeof(key[k]), "k%u", k);
	for (uint64_t seed = 1; seed <= nr; seed++)
		seed_run(seed, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
