/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of one task: what they answer, and what is there afterwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <far/art.h>

#include "../../../../userspace/art/layout.h"
#include "kind.h"

struct bed {
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
};

static void bed_open(struct bed *bed, int sim)
{
	const struct rig_conf conf = {
		.sim = sim, .seed = 1, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};

	rig_open(&bed->rig, &conf);
	bed->task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(bed->task, "t", &bed->art), 0);
}

/* The blocks that are reachable are all there are. */
static void bed_close(struct bed *bed)
{
	rig_check(&bed->rig, bed->task, NULL);
	far_art_close(bed->art);
	far_leave(bed->task);
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
	rig_close(&bed->rig);
}

static int insert(struct bed *bed, const char *key, const char *value)
{
	return far_art_insert(bed->task, bed->art, key, strlen(key), value, strlen(value));
}

static void expect(struct bed *bed, const char *key, const char *value)
{
	char got[64];
	size_t len = 0;
	int err = far_art_get(bed->task, bed->art, key, strlen(key), got, sizeof(got), &len);

	assert_int_equal(err, value ? 0 : -ENOENT);
	if (!value)
		return;
	assert_int_equal(len, strlen(value));
	assert_memory_equal(got, value, len);
}

/* Keys that are the beginnings of others, and long ones in common. */
static const char *const words[] = {
	"a", "ab", "abc", "abcd", "abcdefghijklmnopqrstuvwxyz",
	"abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456788",
	"abcdefghijklmnopqrs", "b", "zebra", "zebras", "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xff",
};

#define NR_WORDS	(sizeof(words) / sizeof(words[0]))

static void prefixes(void **state)
{
	struct bed bed;
	size_t i, k;

	(void)state;
	bed_open(&bed, 1);
	for (i = 0; i < NR_WORDS; i++) {
		expect(&bed, words[i], NULL);
		assert_int_equal(insert(&bed, words[i], words[i]), 0);
		assert_int_equal(insert(&bed, words[i], "x"), -EEXIST);
		for (k = 0; k < NR_WORDS; k++)
			expect(&bed, words[k], k <= i ? words[k] : NULL);
		rig_check(&bed.rig, bed.task, NULL);
	}
	for (i = 0; i < NR_WORDS; i++) {
		assert_int_equal(far_art_delete(bed.task, bed.art, words[i],
						strlen(words[i])), 0);
		assert_int_equal(far_art_delete(bed.task, bed.art, words[i],
						strlen(words[i])), -ENOENT);
		for (k = 0; k < NR_WORDS; k++)
			expect(&bed, words[k], k > i ? words[k] : NULL);
		rig_check(&bed.rig, bed.task, NULL);
	}
	/* nothing but the root */
	assert_int_equal(rig_check(&bed.rig, bed.task, NULL), 1);
	bed_close(&bed);
}

struct order {
	size_t nr;
	char key[64];
};

static int in_order(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len)
{
	struct order *order = arg;
	char now[64] = { 0 };

	assert_int_equal(key_len, value_len);
	assert_memory_equal(key, value, key_len);
	memcpy(now, key, key_len);
	if (order->nr++)
		assert_true(strcmp(order->key, now) < 0);
	memcpy(order->key, now, sizeof(now));
	return 0;
}

static void scan_words(void **state)
{
	struct far_range all = { 0 };
	struct far_range some = { .from = "abc", .from_len = 3, .to = "zebra", .to_len = 5 };
	struct order order = { 0 };
	struct bed bed;
	size_t i;

	(void)state;
	bed_open(&bed, 1);
	for (i = 0; i < NR_WORDS; i++)
		assert_int_equal(insert(&bed, words[i], words[i]), 0);
	assert_int_equal(far_art_scan(bed.task, bed.art, &all, in_order, &order), 0);
	assert_int_equal(order.nr, NR_WORDS);
	order.nr = 0;
	assert_int_equal(far_art_scan(bed.task, bed.art, &some, in_order, &order), 0);
	assert_int_equal(order.nr, 8);
	bed_close(&bed);
}

/* Lengths of values around every border, replaced by each other. */
static void values(void **state)
{
	static const size_t len[] = {
		0, 1, 7, 8, 9, 15, 16, 64, 1000, 1024, 8150, 8168, 8169, 8176, 8192, 20000,
		1 << 20,
	};
	size_t nr = sizeof(len) / sizeof(len[0]), i, k, got;
	uint8_t *value = malloc(1 << 20), *back = malloc(1 << 20);
	struct bed bed;

	(void)state;
	bed_open(&bed, 1);
	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++) {
			memset(value, (int)(i * nr + k), len[k]);
			assert_int_equal(far_art_put(bed.task, bed.art, "key", 3, value,
						     len[k]), 0);
			assert_int_equal(far_art_get(bed.task, bed.art, "key", 3, back,
						     1 << 20, &got), 0);
			assert_int_equal(got, len[k]);
			assert_memory_equal(back, value, got);
			memset(value, (int)k, len[i]);
			assert_int_equal(far_art_update(bed.task, bed.art, "key", 3, value,
							len[i]), 0);
		}
	assert_int_equal(far_art_get(bed.task, bed.art, "key", 3, back, 10, &got),
			 -EMSGSIZE);
	assert_int_equal(got, 1 << 20);
	assert_int_equal(rig_check(&bed.rig, bed.task, NULL), 2);
	free(value);
	free(back);
	bed_close(&bed);
}

static void refused(void **state)
{
	uint8_t key[300] = { 0 };
	struct far_art *other;
	struct bed bed;

	(void)state;
	bed_open(&bed, 0);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 0, "", 0), -EINVAL);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 257, "", 0), -E2BIG);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 1, key, (1 << 20) + 1), -E2BIG);
	assert_int_equal(far_art_update(bed.task, bed.art, key, 1, "", 0), -ENOENT);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 256, "", 0), 0);
	assert_int_equal(far_art_put(bed.task, bed.art, key, 1, "", 0), 0);
	assert_int_equal(far_art_create(bed.task, "t", &other), -EEXIST);
	assert_int_equal(far_art_open(bed.task, "u", &other), -ENOENT);
	bed_close(&bed);
}

/* All symbols at one place, one by one there and one by one gone again. */
static void wide(void **state)
{
	struct far_art_stats stats;
	uint8_t key[4] = "a";
	struct bed bed;
	unsigned i;

	(void)state;
	bed_open(&bed, 1);
	for (i = 0; i <= 256; i++) {
		key[1] = i;
		assert_int_equal(far_art_insert(bed.task, bed.art, key, i == 256 ? 1 : 2, key,
						2), 0);
	}
	assert_int_equal(far_art_stat(bed.task, bed.art, &stats), 0);
	assert_int_equal(stats.keys, 257);
	assert_int_equal(stats.nodes, 2);
	assert_int_equal(stats.node_bytes, ART_ROOT_LEN + ART_NODE_MAX);
	for (i = 0; i <= 256; i++) {
		key[1] = i;
		assert_int_equal(far_art_delete(bed.task, bed.art, key, i == 256 ? 1 : 2), 0);
		rig_check(&bed.rig, bed.task, NULL);
	}
	assert_int_equal(rig_check(&bed.rig, bed.task, NULL), 1);
	bed_close(&bed);
}

static void beside_array(void **state)
{
	struct program_conf conf = {
		.kind = &art_kind, .ops = 1500, .key_size = 40, .value_size = 64,
		.rig = { .sim = 1, .seed = 9 },
	};
	struct rig rig;

	(void)state;
	for (conf.rig.seed = 1; conf.rig.seed <= 3; conf.rig.seed++) {
		conf.rig.without = conf.rig.seed == 2 ? FAR_WITHOUT_CACHE : 0;
		conf.value_size = conf.rig.seed == 3 ? 8 : 64;
		rig_open(&rig, &conf.rig);
		program_beside_array(&conf, &rig);
		rig_close(&rig);
	}
}

static void destroyed(void **state)
{
	struct bed bed;
	size_t i;

	(void)state;
	bed_open(&bed, 0);
	for (i = 0; i < NR_WORDS; i++)
		assert_int_equal(insert(&bed, words[i], words[i]), 0);
	far_art_close(bed.art);
	assert_int_equal(far_art_destroy(bed.task, "t"), 0);
	assert_int_equal(far_art_destroy(bed.task, "t"), -ENOENT);
	assert_int_equal(far_art_create(bed.task, "t", &bed.art), 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(scan_words),
		cmocka_unit_test(values),
		cmocka_unit_test(wide),
		cmocka_unit_test(destroyed),
		cmocka_unit_test(beside_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
