/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each function of hash.h answers, one client, and what it costs, exactly. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/epoch.h"

struct one {
	struct rig rig;
	struct far_task *task;
	struct far_hash *hash;
};

static struct one *one_open(const struct rig_conf *conf, uint64_t expected)
{
	const struct far_hash_attr attr = { .expected = expected };
	struct one *one = test_malloc(sizeof(*one));

	rig_open(&one->rig, conf);
	one->task = rig_enter(&one->rig, 0);
	assert_int_equal(far_hash_create(one->task, "t", &attr, &one->hash), 0);
	rig_counted(&one->rig, 0);
	return one;
}

static void one_close(struct one *one)
{
	uint64_t blocks;

	rig_check(&one->rig, one->task, NULL);
	far_hash_close(one->hash);
	assert_int_equal(far_hash_destroy(one->task, "t"), 0);
	blocks = rig_check(&one->rig, one->task, NULL);
	assert_int_equal(blocks, 0);
	far_leave(one->task);
	rig_close(&one->rig);
	test_free(one);
}

static int put(struct one *one, const char *key, const char *value)
{
	return far_hash_put(one->task, one->hash, key, strlen(key), value, strlen(value));
}

static void expect(struct one *one, const char *key, const char *value)
{
	char got[64];
	size_t len = 999;
	int err = far_hash_get(one->task, one->hash, key, strlen(key), got, sizeof(got),
			       &len);

	if (!value) {
		assert_int_equal(err, -ENOENT);
		assert_int_equal(len, 999);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(len, strlen(value));
	assert_memory_equal(got, value, len);
}

static void semantics(unsigned without)
{
	const struct rig_conf conf = { .without = without };
	struct one *one = one_open(&conf, 0);
	struct far_task *task = one->task;
	struct far_hash *hash = one->hash;

	expect(one, "a", NULL);
	assert_int_equal(far_hash_update(task, hash, "a", 1, "x", 1), -ENOENT);
	assert_int_equal(far_hash_delete(task, hash, "a", 1), -ENOENT);
	assert_int_equal(far_hash_insert(task, hash, "a", 1, "one", 3), 0);
	expect(one, "a", "one");
	assert_int_equal(far_hash_insert(task, hash, "a", 1, "two", 3), -EEXIST);
	expect(one, "a", "one");
	assert_int_equal(far_hash_update(task, hash, "a", 1, "three", 5), 0);
	expect(one, "a", "three");
	assert_int_equal(put(one, "a", "four"), 0);
	expect(one, "a", "four");
	assert_int_equal(far_hash_delete(task, hash, "a", 1), 0);
	expect(one, "a", NULL);
	assert_int_equal(far_hash_delete(task, hash, "a", 1), -ENOENT);
	assert_int_equal(far_hash_update(task, hash, "a", 1, "x", 1), -ENOENT);
	assert_int_equal(put(one, "a", "five"), 0);
	expect(one, "a", "five");
	expect(one, "b", NULL);
	one_close(one);
}

static void semantics_default(void **state)
{
	(void)state;
	semantics(0);
}

static void semantics_plain(void **state)
{
	(void)state;
	semantics(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE);
}

/* Keys with NULs, and keys that begin alike: strncmp would take them for one. */
static void binary_keys(void **state)
{
	const struct rig_conf conf = { 0 };
	struct one *one = one_open(&conf, 0);
	static const char key[3][6] = { "k\0a", "k\0b", "k\0a\0\0" };
	static const size_t len[3] = { 3, 3, 5 };
	char got[8];
	size_t n;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(far_hash_insert(one->task, one->hash, key[i], len[i],
						 &"xyz"[i], 1), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(far_hash_get(one->task, one->hash, key[i], len[i], got,
					      sizeof(got), &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(got[0], "xyz"[i]);
	}
	one_close(one);
}

static void wrong_arguments(void **state)
{
	const struct rig_conf conf = { 0 };
	struct one *one = one_open(&conf, 0);
	char *big = calloc(1, FAR_HASH_MAX_KEY + 1);
	struct far_hash *other;
	char got[4];
	size_t len = 0;

	(void)state;
	assert_non_null(big);
	assert_int_equal(far_hash_put(one->task, one->hash, big, 0, "x", 1), -EINVAL);
	assert_int_equal(far_hash_put(one->task, one->hash, big, FAR_HASH_MAX_KEY + 1,
				      "x", 1), -E2BIG);
	assert_int_equal(far_hash_put(one->task, one->hash, "x", 1, big,
				      FAR_HASH_MAX_VALUE + 1), -E2BIG);
	assert_int_equal(put(one, "x", "long value"), 0);
	assert_int_equal(far_hash_get(one->task, one->hash, "x", 1, got, sizeof(got),
				      &len), -EMSGSIZE);
	assert_int_equal(len, 10);
	assert_int_equal(far_hash_get(one->task, one->hash, "x", 1, NULL, 0, &len),
			 -EMSGSIZE);
	assert_int_equal(far_hash_put(one->task, one->hash, "x", 1, NULL, 0), 0);
	assert_int_equal(far_hash_get(one->task, one->hash, "x", 1, NULL, 0, &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(far_hash_create(one->task, "t", NULL, &other), -EEXIST);
	assert_int_equal(far_hash_open(one->task, "nobody", &other), -ENOENT);
	assert_int_equal(far_hash_destroy(one->task, "nobody"), -ENOENT);
	assert_int_equal(far_hash_create(one->task,
					 "a name of more than thirty-one bytes", NULL,
					 &other), -EINVAL);
	free(big);
	one_close(one);
}

static void wrong_type_and_version(void **state)
{
	const struct rig_conf conf = { 0 };
	struct one *one = one_open(&conf, 0);
	struct far_dir_entry entry = { .name = "other", .type = FAR_TYPE_TEST };
	struct far_hash *hash;

	(void)state;
	assert_int_equal(far_dir_add(one->task, &entry), 0);
	assert_int_equal(far_hash_open(one->task, "other", &hash), -EMEDIUMTYPE);
	assert_int_equal(far_hash_destroy(one->task, "other"), -EMEDIUMTYPE);
	assert_int_equal(far_dir_find(one->task, "other", &entry), 0);
	assert_int_equal(far_dir_remove(one->task, &entry), 0);
	memset(&entry, 0, sizeof(entry));
	memcpy(entry.name, "newer", sizeof("newer"));
	entry.type = FAR_TYPE_HASH;
	entry.version = HASH_VERSION + 1;
	assert_int_equal(far_dir_add(one->task, &entry), 0);
	assert_int_equal(far_hash_open(one->task, "newer", &hash), -EPROTONOSUPPORT);
	assert_int_equal(far_dir_find(one->task, "newer", &entry), 0);
	assert_int_equal(far_dir_remove(one->task, &entry), 0);
	one_close(one);
}

/* The lengths at which blocks are kept and read in another way. */
static void lengths(void **state)
{
	static const size_t key_len[] = { 1, 8, 15, 16, 17, 40, 41, 4000, 16000, 65535 };
	static const size_t val_len[] = { 0, 1, 31, 32, 33, 16287, 16288, 16289, 70000,
					  FAR_HASH_MAX_VALUE };
	const struct rig_conf conf = { 0 };
	struct one *one = one_open(&conf, 0);
	uint8_t *data = malloc(FAR_HASH_MAX_VALUE);
	uint8_t *got = malloc(FAR_HASH_MAX_VALUE);
	size_t i, k, len;

	(void)state;
	for (i = 0; i < FAR_HASH_MAX_VALUE; i++)
		data[i] = i * 7 + i / 251;
	for (i = 0; i < sizeof(key_len) / sizeof(*key_len); i++) {
		for (k = 0; k < sizeof(val_len) / sizeof(*val_len); k++) {
			assert_int_equal(far_hash_put(one->task, one->hash, data,
						      key_len[i], data, val_len[k]), 0);
			assert_int_equal(far_hash_get(one->task, one->hash, data,
						      key_len[i], got,
						      FAR_HASH_MAX_VALUE, &len), 0);
			assert_int_equal(len, val_len[k]);
			assert_memory_equal(got, data, len);
		}
	}
	rig_check(&one->rig, one->task, NULL);
	for (i = 0; i < sizeof(key_len) / sizeof(*key_len); i += 2)
		assert_int_equal(far_hash_delete(one->task, one->hash, data, key_len[i]),
				 0);
	free(data);
	free(got);
	one_close(one);
}

/* A key none of whose slots shares its fingerprint with another key's. */
static uint64_t lonely_key(struct far_hash *hash, uint64_t nr)
{
	struct hash_key key, other;
	uint64_t i, k;

	for (i = 0; i < nr; i++) {
		hash_key_init(&key, &i, sizeof(i), hash->groups, hash->nr_shards);
		for (k = 0; k < nr; k++) {
			hash_key_init(&other, &k, sizeof(k), hash->groups, hash->nr_shards);
			if (k != i && other.fp == key.fp && other.shard == key.shard)
				break;
		}
		if (k == nr)
			return i;
	}
	fail_msg("no such key");
	return 0;
}

#define expect_cost(one, r, w, c, trips, bytes) do {				\
	struct far_stats stats = rig_counted(&(one)->rig, 0);			\
	assert_int_equal(stats.reads, r);					\
	assert_int_equal(stats.writes, w);					\
	assert_int_equal(stats.cas, c);						\
	assert_int_equal(stats.faa, 0);						\
	assert_int_equal(stats.round_trips, trips);				\
	assert_int_equal(stats.doorbells, trips);				\
	assert_int_equal(stats.wire_bytes, bytes);				\
	assert_int_equal(stats.ops, 1);						\
} while (0)

/* What a key costs that others change as well, or seem to. */
static void costs_of_hot_keys(void **state)
{
	const struct rig_conf conf = { .sim = 1 };
	struct one *one = one_open(&conf, 0);
	struct hash_key key;
	uint64_t number = 5, value = 1;
	struct far_stats cost;
	unsigned i;

	(void)state;
	/* hints of this table were wrong lately: the next one is looked at, four times */
	atomic_store(&one->hash->hint_misses, 100);
	assert_int_equal(far_hash_put(one->task, one->hash, &number, 8, &value, 8), 0);
	rig_counted(&one->rig, 0);
	for (i = 0; i < 4; i++) {
		assert_int_equal(far_hash_update(one->task, one->hash, &number, 8, &value,
						 8), 0);
		expect_cost(one, 1, 1, 1, 2, 524);
	}
	assert_int_equal(far_hash_update(one->task, one->hash, &number, 8, &value, 8), 0);
	expect_cost(one, 0, 1, 1, 1, 372);
	/* two losses: three turns, until it is cold */
	hash_key_init(&key, &number, 8, one->hash->groups, one->hash->nr_shards);
	far_turns_lost(one->hash->turns, key.first);
	far_turns_lost(one->hash->turns, key.first);
	for (i = 0; i < 3; i++) {
		assert_int_equal(far_hash_update(one->task, one->hash, &number, 8, &value,
						 8), 0);
		cost = rig_counted(&one->rig, 0);
		assert_int_equal(cost.reads, 2);
		assert_int_equal(cost.writes, 1);
		assert_int_equal(cost.faa, 1);
		assert_int_equal(cost.cas, 2);
		assert_int_equal(cost.round_trips, 2);
		assert_int_equal(cost.wire_bytes, 1012);
	}
	assert_int_equal(far_hash_update(one->task, one->hash, &number, 8, &value, 8), 0);
	expect_cost(one, 0, 1, 1, 1, 372);
	one_close(one);
}

/* The counts of docs/far-hash.md: exact, for a key and a value of 8 bytes. */
static void costs(const struct rig_conf *conf, int cached)
{
	struct one *one = one_open(conf, 0);
	struct far_task *task = one->task;
	struct far_hash *hash = one->hash;
	uint64_t key, absent, value = 1;
	size_t len;
	uint64_t i;

	for (i = 0; i < 100; i++)
		assert_int_equal(far_hash_put(task, hash, &i, 8, &i, 8), 0);
	key = lonely_key(hash, 100);
	assert_int_equal(far_hash_delete(task, hash, &key, 8), 0);
	rig_counted(&one->rig, 0);

	assert_int_equal(far_hash_insert(task, hash, &key, 8, &value, 8), 0);
	expect_cost(one, 2, 1, 3, 2, 1244);
	assert_int_equal(far_hash_get(task, hash, &key, 8, &value, 8, &len), 0);
	if (cached)
		expect_cost(one, 2, 0, 0, 1, 360);
	else
		expect_cost(one, 3, 0, 0, 2, 752);
	assert_int_equal(far_hash_update(task, hash, &key, 8, &value, 8), 0);
	if (cached)
		expect_cost(one, 0, 1, 1, 1, 372);
	else
		expect_cost(one, 3, 1, 1, 3, 1092);
	assert_int_equal(far_hash_put(task, hash, &key, 8, &value, 8), 0);
	if (cached)
		expect_cost(one, 0, 1, 1, 1, 372);
	else
		expect_cost(one, 3, 1, 1, 3, 1092);
	assert_int_equal(far_hash_delete(task, hash, &key, 8), 0);
	if (cached)
		expect_cost(one, 0, 0, 1, 1, 164);
	else
		expect_cost(one, 3, 0, 1, 3, 884);
	assert_int_equal(far_hash_put(task, hash, &key, 8, &value, 8), 0);
	expect_cost(one, 4, 1, 3, 3, 1788);
	assert_int_equal(far_hash_delete(task, hash, &key, 8), 0);
	rig_counted(&one->rig, 0);
	absent = key;
	assert_int_equal(far_hash_get(task, hash, &absent, 8, &value, 8, &len), -ENOENT);
	expect_cost(one, 3, 0, 0, 2, 696);
	one_close(one);
}

static void costs_cached(void **state)
{
	const struct rig_conf conf = { 0 };

	(void)state;
	costs(&conf, 1);
}

static void costs_plain(void **state)
{
	const struct rig_conf conf = { .without = FAR_WITHOUT_CACHE };

	(void)state;
	costs(&conf, 0);
}

static void costs_in_sim(void **state)
{
	const struct rig_conf cached = { .sim = 1 };
	const struct rig_conf plain = { .sim = 1, .without = FAR_WITHOUT_CACHE };

	(void)state;
	costs(&cached, 1);
	costs(&plain, 0);
}

/* Slots in use among the 28 that may have the key. */
static unsigned slots_in_use(struct one *one, uint64_t key)
{
	size_t mark = far_buf_mark(one->task);
	unsigned used = 0;
	struct hash_op op;
	unsigned i, b, s;

	assert_int_equal(far_epoch_enter(one->task), 0);
	assert_int_equal(hash_op_init(&op, one->task, one->hash, &key, sizeof(key)), 0);
	assert_int_equal(hash_op_start(&op), 0);
	hash_locate(&op);
	hash_pair_read(&op);
	assert_int_equal(far_sync(one->task), 0);
	for (i = 0; i < 2; i++)
		for (b = 0; b < 2; b++)
			for (s = 0; s < HASH_SLOTS; s++)
				used += op.pair[i][b].slot[s] != 0;
	far_buf_release(one->task, mark);
	far_epoch_exit(one->task);
	return used;
}

/* The mean: a READ more for each other slot in use that has the fingerprint, 1 of 256. */
static void costs_mean(void **state)
{
	const struct rig_conf conf = { .without = FAR_WITHOUT_CACHE };
	struct one *one = one_open(&conf, 20000);
	const uint64_t nr = 20000;
	struct far_stats stats;
	double extra, others = 0;
	uint64_t i, value;
	size_t len;

	(void)state;
	for (i = 0; i < nr; i++)
		assert_int_equal(far_hash_insert(one->task, one->hash, &i, 8, &i, 8), 0);
	for (i = 0; i < nr; i++)
		others += slots_in_use(one, i) - 1;
	rig_counted(&one->rig, 0);
	for (i = 0; i < nr; i++) {
		assert_int_equal(far_hash_get(one->task, one->hash, &i, 8, &value, 8,
					      &len), 0);
		assert_int_equal(value, i);
	}
	stats = rig_counted(&one->rig, 0);
	extra = (stats.reads - 3.0 * nr) / (others / 256);
	print_message("%.4f more READs per get, %.2f of the formula's\n",
		      stats.reads / (double)nr - 3, extra);
	assert_true(extra > 0.85 && extra < 1.15);
	assert_int_equal(stats.round_trips, 2 * nr);
	one_close(one);
}

/* Grows from the least table by splits, shrinks, and gives all memory back. */
static void grows(void **state)
{
	const struct rig_conf conf = { 0 };
	struct one *one = one_open(&conf, 1);
	const uint64_t nr = 20000;
	struct far_hash_stats stats;
	struct far_hash *again;
	uint64_t i, value, bytes;
	size_t len;

	(void)state;
	for (i = 0; i < nr; i++)
		assert_int_equal(far_hash_insert(one->task, one->hash, &i, 8, &i, 8), 0);
	assert_int_equal(far_hash_stat(one->task, one->hash, &stats), 0);
	assert_int_equal(stats.keys, nr);
	assert_int_equal(stats.key_bytes, 8 * nr);
	assert_int_equal(stats.value_bytes, 8 * nr);
	assert_int_equal(stats.block_bytes, 64 * nr);
	assert_int_equal(stats.splits + 2, stats.subtables);
	assert_true(stats.global_depth >= 6);
	assert_int_equal(stats.slots, stats.subtables * 168);
	assert_int_equal(rig_check(&one->rig, one->task, &bytes), nr + stats.subtables + 1 +
			 RIG_NODES);
	assert_int_equal(bytes, stats.block_bytes + stats.table_bytes);
	/* another one learns of all splits as it opens the table */
	assert_int_equal(far_hash_open(one->task, "t", &again), 0);
	rig_counted(&one->rig, 0);
	for (i = 0; i < nr; i += 7) {
		assert_int_equal(far_hash_get(one->task, again, &i, 8, &value, 8, &len), 0);
		assert_int_equal(value, i);
	}
	assert_int_equal(rig_counted(&one->rig, 0).round_trips, 2 * ((nr + 6) / 7));
	for (i = 0; i < nr; i++)
		assert_int_equal(far_hash_delete(one->task, again, &i, 8), 0);
	far_hash_close(again);
	assert_int_equal(far_hash_stat(one->task, one->hash, &stats), 0);
	assert_int_equal(stats.keys, 0);
	one_close(one);
}

/* Many times as much as the space holds: what is replaced and deleted comes back. */
static void memory_comes_back(void **state)
{
	const struct rig_conf conf = { .size = 8 << 20 };
	struct one *one = one_open(&conf, 0);
	static uint8_t value[60000];
	uint64_t i, key;

	(void)state;
	for (i = 0; i < 3000; i++) {
		key = i % 20;
		assert_int_equal(far_hash_put(one->task, one->hash, &key, 8, value,
					      i % 3 ? sizeof(value) : 100), 0);
		if (i % 5 == 0)
			assert_int_equal(far_hash_delete(one->task, one->hash, &key, 8), 0);
	}
	one_close(one);
}

static void space_full(void **state)
{
	const struct rig_conf conf = { .size = 6 << 20, .nodes = 1 };
	struct one *one = one_open(&conf, 1);
	static uint8_t value[1000];
	uint64_t i, k;
	size_t len;
	int err = 0;

	(void)state;
	for (i = 0; !err; i++)
		err = far_hash_insert(one->task, one->hash, &i, 8, value, sizeof(value));
	assert_int_equal(err, -ENOSPC);
	assert_true(i > 1000);
	for (k = 0; k < i - 1; k++) {
		assert_int_equal(far_hash_get(one->task, one->hash, &k, 8, value,
					      sizeof(value), &len), 0);
		assert_int_equal(len, sizeof(value));
	}
	assert_int_equal(far_hash_get(one->task, one->hash, &k, 8, value, sizeof(value),
				      &len), -ENOENT);
	rig_check(&one->rig, one->task, NULL);
	for (k = 0; k < 100; k++)
		assert_int_equal(far_hash_delete(one->task, one->hash, &k, 8), 0);
	for (k = 0; k < 50; k++)
		assert_int_equal(far_hash_insert(one->task, one->hash, &k, 8, value,
						 sizeof(value)), 0);
	one_close(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(semantics_default),
		cmocka_unit_test(semantics_plain),
		cmocka_unit_test(binary_keys),
		cmocka_unit_test(wrong_arguments),
		cmocka_unit_test(wrong_type_and_version),
		cmocka_unit_test(lengths),
		cmocka_unit_test(costs_cached),
		cmocka_unit_test(costs_plain),
		cmocka_unit_test(costs_in_sim),
		cmocka_unit_test(costs_of_hot_keys),
		cmocka_unit_test(costs_mean),
		cmocka_unit_test(grows),
		cmocka_unit_test(memory_comes_back),
		cmocka_unit_test(space_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
