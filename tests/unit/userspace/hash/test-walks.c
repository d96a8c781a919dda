/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scans, batches, and tables made at once. */
#include "rig.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/hash/image.h"

#define STAY	500u	/* keys that are there all the time */
#define CHURN	400u	/* keys that come and go */

struct scanning {
	struct far_hash *hash;
	atomic_int stop;
	atomic_int failed;
	unsigned scans;
};

struct given {
	unsigned stay[STAY];
	unsigned churn[CHURN];
	unsigned other;
	unsigned left;		/* ends the scan when it is 0 */
};

static int give(void *arg, const void *key, size_t key_len, const void *value,
		size_t value_len)
{
	struct given *given = arg;
	uint64_t k;

	if (key_len != 8 || value_len != 8 || memcmp(key, value, 8)) {
		given->other++;
		return 0;
	}
	memcpy(&k, key, 8);
	if (k < STAY)
		given->stay[k]++;
	else if (k < STAY + CHURN)
		given->churn[k - STAY]++;
	return --given->left ? 0 : 77;
}

static int scan_is_right(const struct given *given, unsigned least_churn)
{
	unsigned i;

	for (i = 0; i < STAY; i++)
		if (given->stay[i] != 1)
			return 0;
	for (i = 0; i < CHURN; i++)
		if (given->churn[i] > 1 || given->churn[i] < least_churn)
			return 0;
	return !given->other;
}

static void scan_alone(void **state)
{
	const struct rig_conf conf = { 0 };
	const struct far_hash_attr attr = { .expected = 1 };
	struct given given = { .left = ~0u };
	struct far_hash *hash;
	struct far_task *task;
	struct rig rig;
	uint64_t i;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &hash), 0);
	assert_int_equal(far_hash_scan(task, hash, give, &given), 0);
	for (i = 0; i < STAY + CHURN; i++)
		assert_int_equal(far_hash_put(task, hash, &i, 8, &i, 8), 0);
	assert_int_equal(far_hash_scan(task, hash, give, &given), 0);
	assert_true(scan_is_right(&given, 1));
	given.left = 10;
	assert_int_equal(far_hash_scan(task, hash, give, &given), 77);
	far_hash_close(hash);
	far_leave(task);
	rig_close(&rig);
}

/* Task 0 scans; the others delete and insert, and make it split. */
static void scan_or_churn(struct far_task *task, void *arg)
{
	struct scanning *scanning = arg;
	struct far_rng rng;
	struct given given;
	uint64_t key, fill;
	unsigned i;
	int err;

	far_rng_init(&rng, 1, far_task_index(task));
	if (!far_task_index(task)) {
		for (i = 0; i < 8; i++) {
			memset(&given, 0, sizeof(given));
			given.left = ~0u;
			if (far_hash_scan(task, scanning->hash, give, &given) ||
			    !scan_is_right(&given, 0))
				atomic_store(&scanning->failed, 1);
			scanning->scans++;
		}
		atomic_store(&scanning->stop, 1);
		return;
	}
	fill = 1000000 * far_task_index(task);
	for (i = 0; i < 4000 && !atomic_load(&scanning->stop); i++) {
		key = STAY + far_rng_below(&rng, CHURN);
		if (i % 4 == 0)
			key = fill++;
		err = i % 2 ? far_hash_delete(task, scanning->hash, &key, 8) :
		      far_hash_put(task, scanning->hash, &key, 8, &key, 8);
		if (err && err != -ENOENT)
			atomic_store(&scanning->failed, err);
	}
}

static void scan_beside_others(const struct rig_conf *conf)
{
	const struct far_hash_attr attr = { .expected = 1 };
	struct scanning scanning = { 0 };
	struct far_hash_stats before, after;
	struct far_thread *thread;
	struct far_task *task;
	struct rig rig;
	uint64_t i;

	rig_open(&rig, conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &scanning.hash), 0);
	for (i = 0; i < STAY; i++)
		assert_int_equal(far_hash_put(task, scanning.hash, &i, 8, &i, 8), 0);
	assert_int_equal(far_hash_stat(task, scanning.hash, &before), 0);
	far_leave(task);
	assert_int_equal(far_thread_start(rig.far[0], 6, scan_or_churn, &scanning, &thread),
			 0);
	far_thread_join(thread);
	assert_int_equal(scanning.failed, 0);
	assert_int_equal(scanning.scans, 8);
	task = rig_enter(&rig, 0);
	rig_check(&rig, task, NULL);
	assert_int_equal(far_hash_stat(task, scanning.hash, &after), 0);
	assert_true(after.splits > before.splits);
	far_leave(task);
	far_hash_close(scanning.hash);
	rig_close(&rig);
}

static void scan_on_mem(void **state)
{
	const struct rig_conf conf = { 0 };

	(void)state;
	scan_beside_others(&conf);
}

static void scan_in_sim(void **state)
{
	struct rig_conf conf = { .sim = 1, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY };

	(void)state;
	for (conf.seed = 1; conf.seed < 4; conf.seed++)
		scan_beside_others(&conf);
}

#define ITEMS	100u

static void batches(void **state)
{
	const struct rig_conf conf = { 0 };
	struct far_hash_item item[ITEMS];
	uint64_t key[ITEMS], value[ITEMS];
	struct far_stats stats;
	struct far_hash *hash;
	struct far_task *task;
	struct rig rig;
	unsigned i, round;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", NULL, &hash), 0);
	assert_int_equal(far_hash_mget(task, hash, item, 0), 0);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ITEMS; i++) {
			key[i] = i;
			value[i] = 1000 * round + i;
			item[i] = (struct far_hash_item) { &key[i], 8, &value[i], 8, 1 };
		}
		assert_int_equal(far_hash_mput(task, hash, item, ITEMS), 0);
		memset(value, 0, sizeof(value));
		rig_counted(&rig, 0);
		assert_int_equal(far_hash_mget(task, hash, item, ITEMS), 0);
		stats = rig_counted(&rig, 0);
		assert_int_equal(stats.ops, 1);
		assert_true(stats.round_trips < ITEMS / 2);
		for (i = 0; i < ITEMS; i++) {
			assert_int_equal(item[i].status, 0);
			assert_int_equal(item[i].value_len, 8);
			assert_int_equal(value[i], 1000 * round + i);
		}
	}
	/* each item has its own result, and the first that failed is the batch's */
	key[3] = 1000;
	item[5].value_len = 4;
	item[7].key_len = 0;
	item[8].key_len = FAR_HASH_MAX_KEY + 1;
	assert_int_equal(far_hash_mget(task, hash, item, ITEMS), -ENOENT);
	assert_int_equal(item[3].status, -ENOENT);
	assert_int_equal(item[5].status, -EMSGSIZE);
	assert_int_equal(item[5].value_len, 8);
	assert_int_equal(item[7].status, -EINVAL);
	assert_int_equal(item[8].status, -E2BIG);
	assert_int_equal(item[9].status, 0);
	/* a length that nobody asks for */
	assert_int_equal(far_hash_get(task, hash, &key[4], 8, &value[4], 8, NULL), 0);
	/* items that were not begun have a status, too */
	atomic_store(&far_task_client(task)->head.cut, true);
	for (i = 0; i < ITEMS; i++)
		item[i].status = 1;
	assert_int_equal(far_hash_mget(task, hash, item, ITEMS), -ESTALE);
	atomic_store(&far_task_client(task)->head.cut, false);
	for (i = 0; i < ITEMS; i++)
		assert_int_equal(item[i].status, -ESTALE);
	/* the same key twice: the later one is last */
	for (i = 0; i < 4; i++) {
		key[i] = 42;
		value[i] = 7000 + i;
		item[i] = (struct far_hash_item) { &key[i], 8, &value[i], 8, 1 };
	}
	assert_int_equal(far_hash_mput(task, hash, item, 4), 0);
	assert_int_equal(far_hash_mget(task, hash, item, 1), 0);
	assert_in_range(value[0], 7000, 7003);
	rig_check(&rig, task, NULL);
	far_hash_close(hash);
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void image_key(void *arg, uint64_t i, void *key)
{
	(void)arg;
	memcpy(key, &i, sizeof(i));
}

static void image_value(void *arg, uint64_t i, void *value)
{
	(void)arg;
	(void)i;
	memset(value, 0, 8);
}

static void image(void **state)
{
	const struct rig_conf conf = { .sim = 1 };
	const uint64_t nr = 30000;
	void *base[RIG_NODES];
	const struct far_hash_attr attr = { .expected = nr };
	struct form_image image = {
		.nr_keys = nr, .key_len = 8, .value_len = 8, .base = base,
		.key = image_key, .value = image_value,
	};
	struct far_hash_stats stats;
	struct far_hash *hash;
	struct far_task *task;
	uint64_t i, value;
	struct rig rig;
	size_t len;

	(void)state;
	rig_open(&rig, &conf);
	for (i = 0; i < RIG_NODES; i++)
		base[i] = rig.map[i].addr;
	task = rig_enter(&rig, 0);
	assert_int_equal(far_hash_create(task, "t", &attr, &hash), 0);
	assert_int_equal(far_hash_image(task, hash, &image), 0);
	assert_int_equal(far_hash_stat(task, hash, &stats), 0);
	assert_int_equal(stats.keys, nr);
	for (i = 0; i < nr; i += 97) {
		assert_int_equal(far_hash_get(task, hash, &i, 8, &value, 8, &len), 0);
		assert_int_equal(value, 0);
		assert_int_equal(far_hash_put(task, hash, &i, 8, &i, 8), 0);
	}
	assert_int_equal(far_hash_get(task, hash, &nr, 8, &value, 8, &len), -ENOENT);
	rig_check(&rig, task, NULL);
	image.key_len = 65;
	assert_int_equal(far_hash_image(task, hash, &image), -EINVAL);
	far_hash_close(hash);
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_alone),
		cmocka_unit_test(scan_on_mem),
		cmocka_unit_test(scan_in_sim),
		cmocka_unit_test(batches),
		cmocka_unit_test(image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
