/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes by functions on the radix tree: what they answer, counters that count exactly, and
 * histories beside updates in place, with connections that break.
 */
#include "../../../../userspace/paper/art.h"
#include "../../../lib/nightly.h"
#include "kind.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <far/memory.h>

#define ADVERSARY	(FAR_SIM_TEAR | FAR_SIM_DELAY)

static const uint8_t the_key[8] = "counter";

struct say {
	enum far_modified what;
	struct far_value store;
	uint64_t was;
	size_t was_len;
};

static enum far_modified say_it(void *arg, struct far_value *value)
{
	struct say *say = arg;

	say->was = 0;
	say->was_len = value->len;
	if (value->data)
		memcpy(&say->was, value->data, value->len < 8 ? value->len : 8);
	*value = say->store;
	return say->what;
}

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

struct bed {
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
};

static void bed_open(struct bed *bed, const struct rig_conf *conf)
{
	rig_open(&bed->rig, conf);
	bed->task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(bed->task, "t", &bed->art), 0);
}

static void bed_close(struct bed *bed)
{
	rig_check(&bed->rig, bed->task, NULL);
	far_art_close(bed->art);
	far_leave(bed->task);
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
	rig_close(&bed->rig);
}

static int say(struct bed *bed, struct say *say, enum far_modified what, const void *store,
	       size_t len)
{
	*say = (struct say) { .what = what, .store = { store, len } };
	return far_art_modify(bed->task, bed->art, the_key, 8, say_it, say);
}

static void expect(struct bed *bed, uint64_t value)
{
	uint64_t got = 0;
	int err = far_art_get(bed->task, bed->art, the_key, 8, &got, 8, NULL);

	assert_int_equal(err, value ? 0 : -ENOENT);
	assert_int_equal(got, value);
}

static void put(struct bed *bed, uint64_t value)
{
	assert_int_equal(far_art_put(bed->task, bed->art, the_key, 8, &value, 8), 0);
}

static void answers_of(unsigned without)
{
	const struct rig_conf conf = { .clients = 1, .nodes = 1, .without = without };
	const uint64_t one = 1, two = 2;
	uint8_t text[20] = { 7 };
	struct bed bed;
	struct say s;

	bed_open(&bed, &conf);
	assert_int_equal(say(&bed, &s, FAR_LEAVE, NULL, 0), 0);
	assert_int_equal(say(&bed, &s, FAR_DELETE, NULL, 0), 0);
	expect(&bed, 0);
	assert_int_equal(say(&bed, &s, FAR_STORE, &one, 8), 0);
	assert_int_equal(s.was, 0);
	expect(&bed, 1);
	put(&bed, 4);
	put(&bed, 5);
	assert_int_equal(say(&bed, &s, FAR_STORE, &two, 8), 0);
	assert_int_equal(s.was, 5);
	assert_int_equal(say(&bed, &s, FAR_LEAVE, &one, 8), 0);
	assert_int_equal(s.was, 2);
	assert_int_equal(say(&bed, &s, FAR_STORE, &one, FAR_ART_MAX_VALUE + 1), -E2BIG);
	assert_int_equal(say(&bed, &s, 77, &one, 8), -EINVAL);
	expect(&bed, 2);
	assert_int_equal(say(&bed, &s, FAR_DELETE, NULL, 0), 0);
	expect(&bed, 0);
	/* a value that is written in place until it is deleted, or gets another length */
	put(&bed, 6);
	put(&bed, 7);
	assert_int_equal(say(&bed, &s, FAR_DELETE, NULL, 0), 0);
	assert_int_equal(s.was, 7);
	expect(&bed, 0);
	put(&bed, 8);
	assert_int_equal(say(&bed, &s, FAR_STORE, text, sizeof(text)), 0);
	assert_int_equal(s.was, 8);
	assert_int_equal(say(&bed, &s, FAR_STORE, text, 0), 0);
	assert_int_equal(s.was_len, sizeof(text));
	assert_int_equal(say(&bed, &s, FAR_LEAVE, NULL, 0), 0);
	assert_int_equal(s.was_len, 0);
	assert_int_equal(far_art_modify(bed.task, bed.art, the_key, 0, say_it, &s), -EINVAL);
	bed_close(&bed);
}

static void answers(void **state)
{
	(void)state;
	answers_of(0);
	answers_of(FAR_WITHOUT_COMBINE | FAR_WITHOUT_CACHE);
}

/* A task that holds an epoch would wait for itself. */
static void within_hold(void **state)
{
	const struct rig_conf conf = { .clients = 1, .nodes = 1 };
	const uint64_t one = 1;
	struct bed bed;
	struct say s;

	(void)state;
	bed_open(&bed, &conf);
	put(&bed, 4);
	assert_int_equal(far_hold(bed.task), 0);
	assert_int_equal(say(&bed, &s, FAR_LEAVE, NULL, 0), 0);
	assert_int_equal(say(&bed, &s, FAR_STORE, &one, 8), -EDEADLK);
	far_unhold(bed.task);
	expect(&bed, 4);
	assert_int_equal(say(&bed, &s, FAR_STORE, &one, 8), 0);
	expect(&bed, 1);
	bed_close(&bed);
}

/* Clients whose tasks count on one key. */
struct counter {
	struct far_art *art;
	unsigned each;
	atomic_ullong *done, *unknown;
};

static void count_work(struct far_task *task, void *arg)
{
	struct counter *counter = arg;
	uint64_t sum;
	unsigned i;
	int err;

	for (i = 0; i < counter->each; i++) {
		err = far_art_modify(task, counter->art, the_key, 8, add_one, &sum);
		atomic_fetch_add(err ? counter->unknown : counter->done, 1);
		assert_true(!err || err == -EIO);
	}
}

static void counts(const struct rig_conf *conf, unsigned tasks, unsigned each)
{
	struct far_thread *thread[RIG_CLIENTS];
	struct counter counter[RIG_CLIENTS];
	atomic_ullong done, unknown;
	struct far_task *task;
	uint64_t sum = 0;
	struct bed bed;
	unsigned i;

	atomic_init(&done, 0);
	atomic_init(&unknown, 0);
	bed_open(&bed, conf);
	put(&bed, 1000);
	far_leave(bed.task);
	for (i = 0; i < conf->clients; i++) {
		counter[i] = (struct counter) { bed.art, each, &done, &unknown };
		task = rig_enter(&bed.rig, i);
		if (i)
			assert_int_equal(far_art_open(task, "t", &counter[i].art), 0);
		far_leave(task);
	}
	for (i = 0; i < conf->clients; i++)
		assert_int_equal(far_thread_start(bed.rig.far[i], tasks, count_work,
						  &counter[i], &thread[i]), 0);
	for (i = 0; i < conf->clients; i++)
		far_thread_join(thread[i]);
	for (i = 1; i < conf->clients; i++)
		far_art_close(counter[i].art);
	bed.task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_art_get(bed.task, bed.art, the_key, 8, &sum, 8, NULL), 0);
	assert_int_equal(atomic_load(&unknown), 0);
	assert_int_equal(sum - 1000, atomic_load(&done));
	assert_int_equal(sum - 1000, (uint64_t)conf->clients * tasks * each);
	bed_close(&bed);
}

static void counts_mem(void **state)
{
	const struct rig_conf combined = { .clients = 2, .nodes = 1 };
	const struct rig_conf plain = {
		.clients = 2, .nodes = 1, .without = FAR_WITHOUT_COMBINE,
	};

	(void)state;
	counts(&combined, 4, 1000);
	counts(&plain, 4, 300);
}

static void counts_sim(void **state)
{
	struct rig_conf conf = {
		.sim = 1, .clients = 3, .nodes = 1, .adversary = ADVERSARY,
	};
	unsigned seeds = nightly() ? 200 : 6;

	(void)state;
	while (seeds--) {
		conf.seed++;
		counts(&conf, 4, 60);
	}
}

static void histories(struct program_conf conf, unsigned seeds)
{
	struct program_result result;

	conf.kind = &art_kind;
	while (seeds--) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
	}
}

static void histories_mem(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3 },
		.tasks = 4, .ops = 200, .keys = 3, .fill = 20, .drain = 18, .scan = 3,
		.prefill = 30, .key_size = 9, .value_size = 8, .modify = 30,
	};

	(void)state;
	histories(conf, nightly() ? 100 : 3);
}

/* All values have 8 bytes: they are written in place until a function comes. */
static void histories_in_place(void **state)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
		.tasks = 4, .ops = 80, .keys = 2, .fill = 20, .drain = 18,
		.prefill = 30, .key_size = 9, .value_size = 8, .modify = 20,
	};

	(void)state;
	histories(conf, nightly() ? 700 : 30);
	conf.rig.without = FAR_WITHOUT_COMBINE;
	histories(conf, nightly() ? 700 : 30);
}

static void histories_lengths(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
		.tasks = 4, .ops = 80, .keys = 2, .fill = 20, .drain = 18,
		.prefill = 30, .key_size = 9, .value_size = 24, .modify = 50,
	};

	(void)state;
	histories(conf, nightly() ? 1000 : 20);
}

static const struct program_conf breaks = {
	.kind = &art_kind,
	.rig = { .sim = 1, .clients = 2, .adversary = ADVERSARY | FAR_SIM_BREAK },
	.tasks = 3, .ops = 50, .keys = 2, .fill = 20, .drain = 15,
	.prefill = 20, .key_size = 9, .value_size = 8, .modify = 60,
};

static void histories_broken(void **state)
{
	(void)state;
	histories(breaks, nightly() ? 1000 : 20);
}

static void set_variant(void *index, unsigned variant)
{
	art_set_variant(index, variant);
}

/* Expects the checker to find the fault of a variant. */
static void expect_found(struct program_conf conf, enum art_variant variant, unsigned seeds)
{
	struct ordered_kind kind = art_kind;
	struct program_result result;
	unsigned i, wrong = 0;

	kind.variant = set_variant;
	conf.kind = &kind;
	conf.variant = variant;
	for (i = 0; i < seeds && !wrong; i++) {
		conf.rig.seed++;
		program_run(&conf, &result);
		wrong = result.verdict == -EILSEQ;
	}
	assert_true(wrong);
}

/* A change of unknown fate that is made again. */
static void histories_twice(void **state)
{
	(void)state;
	expect_found(breaks, ART_TWICE, 400);
}

/* A function that does not wait for those who have begun to write in place. */
static void histories_hasty(void **state)
{
	const struct program_conf conf = {
		.rig = {
			.sim = 1, .clients = 3, .adversary = ADVERSARY,
			.without = FAR_WITHOUT_COMBINE,
		},
		.tasks = 4, .ops = 80, .keys = 2, .fill = 20, .drain = 18,
		.prefill = 30, .key_size = 9, .value_size = 8, .modify = 20,
	};

	(void)state;
	expect_found(conf, ART_HASTY, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(within_hold),
		cmocka_unit_test(counts_mem),
		cmocka_unit_test(counts_sim),
		cmocka_unit_test(histories_mem),
		cmocka_unit_test(histories_in_place),
		cmocka_unit_test(histories_lengths),
		cmocka_unit_test(histories_broken),
		cmocka_unit_test(histories_twice),
		cmocka_unit_test(histories_hasty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
