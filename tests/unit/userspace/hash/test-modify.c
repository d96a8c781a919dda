/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes by functions: what they answer, counters that count exactly, and histories, with
 * connections that break. A table that makes a change of unknown fate once more is found.
 */
#include "../../../lib/nightly.h"
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a function says, and what it was shown. */
struct say {
	enum far_modified what;
	struct far_value store;
	char was[32];
	size_t was_len;
	unsigned calls;
	bool there;
};

static enum far_modified say_it(void *arg, struct far_value *value)
{
	struct say *say = arg;

	say->calls++;
	say->there = value->data;
	say->was_len = value->len;
	memset(say->was, 0, sizeof(say->was));
	if (value->len < sizeof(say->was))
		memcpy(say->was, value->data ? value->data : "", value->len);
	*value = say->store;
	return say->what;
}

static enum far_modified cut_first(void *arg, struct far_value *value)
{
	(void)arg;
	value->data = (const char *)value->data + 1;
	value->len--;
	return FAR_STORE;
}

struct one {
	struct rig rig;
	struct far_task *task;
	struct far_hash *hash;
};

static int say(struct one *one, struct say *say, enum far_modified what, const void *data,
	       size_t len)
{
	*say = (struct say) { .what = what, .store = { data, len } };
	return far_hash_modify(one->task, one->hash, "a", 1, say_it, say);
}

static void expect(struct one *one, const char *value)
{
	char got[32];
	size_t len;
	int err = far_hash_get(one->task, one->hash, "a", 1, got, sizeof(got), &len);

	assert_int_equal(err, value ? 0 : -ENOENT);
	if (!value)
		return;
	assert_int_equal(len, strlen(value));
	assert_memory_equal(got, value, len);
}

static void answers(unsigned without)
{
	const struct rig_conf conf = { .without = without };
	struct far_hash_stats stats;
	struct one one;
	struct say s;

	rig_open(&one.rig, &conf);
	one.task = rig_enter(&one.rig, 0);
	assert_int_equal(far_hash_create(one.task, "t", NULL, &one.hash), 0);
	assert_int_equal(say(&one, &s, FAR_LEAVE, NULL, 0), 0);
	assert_false(s.there);
	assert_int_equal(say(&one, &s, FAR_DELETE, NULL, 0), 0);
	expect(&one, NULL);
	assert_int_equal(say(&one, &s, FAR_STORE, "one", 3), 0);
	assert_false(s.there);
	assert_int_equal(s.calls, 1);
	expect(&one, "one");
	assert_int_equal(say(&one, &s, FAR_STORE, "three", 5), 0);
	assert_true(s.there);
	assert_string_equal(s.was, "one");
	expect(&one, "three");
	assert_int_equal(far_hash_modify(one.task, one.hash, "a", 1, cut_first, NULL), 0);
	expect(&one, "hree");
	assert_int_equal(say(&one, &s, FAR_LEAVE, "no", 2), 0);
	assert_string_equal(s.was, "hree");
	assert_int_equal(say(&one, &s, FAR_STORE, "x", FAR_HASH_MAX_VALUE + 1), -E2BIG);
	assert_int_equal(say(&one, &s, FAR_STORE, NULL, 1), -EINVAL);
	assert_int_equal(say(&one, &s, 77, "x", 1), -EINVAL);
	expect(&one, "hree");
	/* a value of no bytes is there */
	assert_int_equal(say(&one, &s, FAR_STORE, NULL, 0), 0);
	expect(&one, "");
	assert_int_equal(say(&one, &s, FAR_DELETE, NULL, 0), 0);
	assert_true(s.there);
	assert_int_equal(s.was_len, 0);
	expect(&one, NULL);
	assert_int_equal(far_hash_modify(one.task, one.hash, "", 0, say_it, &s), -EINVAL);
	assert_int_equal(far_hash_stat(one.task, one.hash, &stats), 0);
	assert_int_equal(stats.keys, 0);
	rig_check(&one.rig, one.task, NULL);
	far_hash_close(one.hash);
	far_leave(one.task);
	rig_close(&one.rig);
}

static void answers_default(void **state)
{
	(void)state;
	answers(0);
}

static void answers_plain(void **state)
{
	(void)state;
	answers(FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE);
}

/* What a change of a key and a value of 8 bytes costs. */
static void costs(const struct rig_conf *conf, uint64_t reads, uint64_t wire)
{
	uint64_t key = 1, value = 2;
	struct far_stats count;
	struct one one;
	struct say s = { .what = FAR_STORE, .store = { &value, sizeof(value) } };

	rig_open(&one.rig, conf);
	one.task = rig_enter(&one.rig, 0);
	assert_int_equal(far_hash_create(one.task, "t", NULL, &one.hash), 0);
	assert_int_equal(far_hash_put(one.task, one.hash, &key, 8, &value, 8), 0);
	rig_counted(&one.rig, 0);
	assert_int_equal(far_hash_modify(one.task, one.hash, &key, 8, say_it, &s), 0);
	count = rig_counted(&one.rig, 0);
	assert_int_equal(s.calls, 1);
	assert_int_equal(count.reads, reads);
	assert_int_equal(count.writes, 1);
	assert_int_equal(count.cas, 1);
	assert_int_equal(count.faa, 0);
	assert_int_equal(count.wire_bytes, wire);
	far_hash_close(one.hash);
	far_leave(one.task);
	rig_close(&one.rig);
}

static void costs_exactly(void **state)
{
	const struct rig_conf cached = { .clients = 1 };
	const struct rig_conf plain = { .without = FAR_WITHOUT_CACHE };

	(void)state;
	costs(&cached, 2, 732);
	costs(&plain, 3, 1124);
}

/* Clients whose tasks count on one key. */
struct count {
	struct rig rig;
	struct far_hash *hash[RIG_CLIENTS];
	unsigned each;		/* of each task */
	atomic_ullong done;
	atomic_ullong unknown;	/* fates */
	atomic_int failed;
};

struct counter {
	struct count *count;
	unsigned client;
};

static enum far_modified add_one(void *arg, struct far_value *value)
{
	uint64_t *sum = arg;

	*sum = 0;
	if (value->data)
		memcpy(sum, value->data, sizeof(*sum));
	++*sum;
	*value = (struct far_value) { sum, sizeof(*sum) };
	return FAR_STORE;
}

static void count_work(struct far_task *task, void *arg)
{
	struct counter *counter = arg;
	struct count *count = counter->count;
	uint64_t sum, last = 0;
	unsigned i;
	int err;

	for (i = 0; i < count->each; i++) {
		err = far_hash_modify(task, count->hash[counter->client], "n", 1, add_one,
				      &sum);
		if (!err)
			atomic_fetch_add(&count->done, 1);
		else if (err == -EIO && count->rig.conf.adversary & FAR_SIM_BREAK)
			atomic_fetch_add(&count->unknown, 1);
		else
			atomic_store(&count->failed, err);
		if (!err && sum <= last)
			atomic_store(&count->failed, -EDOM);
		last = err ? last : sum;
	}
}

static uint64_t count_read(struct count *count)
{
	struct far_task *task = rig_enter(&count->rig, 0);
	uint64_t sum = 0;
	int err;

	do
		err = far_hash_get(task, count->hash[0], "n", 1, &sum, sizeof(sum), NULL);
	while (err == -EIO);
	assert_int_equal(err, 0);
	far_leave(task);
	return sum;
}

static void count_open(struct count *count, const struct rig_conf *conf,
		       enum hash_variant variant)
{
	struct far_task *task;
	unsigned i;
	int err;

	*count = (struct count) { .each = 0 };
	rig_open(&count->rig, conf);
	for (i = 0; i < count->rig.conf.clients; i++) {
		task = rig_enter(&count->rig, i);
		do {
			err = far_hash_open(task, "t", &count->hash[i]);
			if (err == -ENOENT)
				err = far_hash_create(task, "t", NULL, &count->hash[i]);
		} while (err == -EIO || err == -EEXIST);
		assert_int_equal(err, 0);
		hash_set_variant(count->hash[i], variant);
		far_leave(task);
	}
}

/* What has been counted too much or too little; done and unknown count with 0. */
static int64_t count_run(const struct rig_conf *conf, unsigned tasks, unsigned each,
			 enum hash_variant variant)
{
	struct far_thread *thread[RIG_CLIENTS];
	struct counter counter[RIG_CLIENTS];
	struct count count;
	uint64_t sum, least;
	int64_t wrong = 0;
	unsigned i;

	count_open(&count, conf, variant);
	count.each = each;
	for (i = 0; i < count.rig.conf.clients; i++) {
		counter[i] = (struct counter) { &count, i };
		assert_int_equal(far_thread_start(count.rig.far[i], tasks, count_work,
						  &counter[i], &thread[i]), 0);
	}
	for (i = 0; i < count.rig.conf.clients; i++)
		far_thread_join(thread[i]);
	sum = count_read(&count);
	least = atomic_load(&count.done);
	if (sum < least)
		wrong = (int64_t)(sum - least);
	else if (sum > least + atomic_load(&count.unknown))
		wrong = (int64_t)(sum - least - atomic_load(&count.unknown));
	assert_int_equal(atomic_load(&count.failed), 0);
	for (i = 0; i < count.rig.conf.clients; i++)
		far_hash_close(count.hash[i]);
	rig_close(&count.rig);
	return wrong;
}

static void counts_mem(void **state)
{
	const struct rig_conf combined = { .clients = 2 };
	const struct rig_conf plain = {
		.clients = 2, .without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
	};

	(void)state;
	assert_int_equal(count_run(&combined, 4, 2500, HASH_OURS), 0);
	assert_int_equal(count_run(&plain, 4, 500, HASH_OURS), 0);
}

static void counts_sim(void **state)
{
	struct rig_conf conf = {
		.sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};
	unsigned seeds = nightly() ? 300 : 10;

	(void)state;
	while (seeds--) {
		conf.seed++;
		assert_int_equal(count_run(&conf, 4, 100, HASH_OURS), 0);
	}
}

/* Whether one of so many seeds counts wrong while connections break. */
static int counts_wrong(unsigned seeds, enum hash_variant variant)
{
	struct rig_conf conf = {
		.sim = 1, .clients = 2,
		.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
	};

	while (seeds--) {
		conf.seed++;
		if (count_run(&conf, 3, 100, variant))
			return 1;
	}
	return 0;
}

static void counts_broken(void **state)
{
	(void)state;
	assert_false(counts_wrong(nightly() ? 500 : 20, HASH_OURS));
	assert_true(counts_wrong(500, HASH_TWICE));
}

static void histories(struct program_conf conf, unsigned seeds)
{
	struct program_result result;

	while (seeds--) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
	}
}

static void histories_mem(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3 },
		.tasks = 4, .ops = 400, .keys = 4, .fill = 20, .longest = 200, .big = 1000,
		.modify = 50,
	};

	(void)state;
	histories(conf, nightly() ? 100 : 3);
}

static void histories_sim(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 100, .keys = 3, .fill = 40, .longest = 200, .big = 300,
		.modify = 50,
	};
	struct program_conf plain = conf;

	(void)state;
	histories(conf, nightly() ? 2000 : 40);
	plain.rig.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE;
	histories(plain, nightly() ? 1000 : 15);
}

static const struct program_conf breaks = {
	.rig = { .sim = 1, .clients = 2,
		 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
	.tasks = 2, .ops = 60, .keys = 3, .prefill = 100, .fill = 30, .longest = 64,
	.modify = 60,
};

static void histories_broken(void **state)
{
	(void)state;
	histories(breaks, nightly() ? 2000 : 40);
}

/* Functions of hot keys whose leaders are late. */
static void histories_late(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 8, .ops = 100, .keys = 1, .longest = 16, .late_ns = 12000,
		.modify = 50,
	};

	(void)state;
	histories(conf, nightly() ? 300 : 10);
}

/* The checker finds the change that was made twice. */
static void histories_twice(void **state)
{
	struct program_conf conf = breaks;
	struct program_result result;
	unsigned i, wrong = 0;

	(void)state;
	conf.variant = HASH_TWICE;
	for (i = 0; i < 200 && !wrong; i++) {
		conf.rig.seed++;
		program_run(&conf, &result);
		wrong = result.verdict == -EILSEQ;
	}
	assert_true(wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_default),
		cmocka_unit_test(answers_plain),
		cmocka_unit_test(costs_exactly),
		cmocka_unit_test(counts_mem),
		cmocka_unit_test(counts_sim),
		cmocka_unit_test(counts_broken),
		cmocka_unit_test(histories_mem),
		cmocka_unit_test(histories_sim),
		cmocka_unit_test(histories_broken),
		cmocka_unit_test(histories_late),
		cmocka_unit_test(histories_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
