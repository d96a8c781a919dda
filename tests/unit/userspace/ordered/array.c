/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One task on a structure that keeps an order, beside a sorted array. See program.h. */
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

#define MAX_KEY		256u

/* What the structure should hold: numbers of keys in order, and a stamp of each. */
struct array {
	const struct program_conf *conf;
	struct far_task *task;
	void *index;
	struct far_rng rng;
	uint64_t *number, *stamp;
	size_t nr;
	uint64_t *value;
};

/* Where the number is, or belongs. */
static size_t array_at(const struct array *array, uint64_t number)
{
	size_t at = 0;

	while (at < array->nr && array->number[at] < number)
		at++;
	return at;
}

static int array_has(const struct array *array, size_t at, uint64_t number)
{
	return at < array->nr && array->number[at] == number;
}

static void array_store(struct array *array, size_t at, uint64_t number, uint64_t stamp)
{
	if (!array_has(array, at, number)) {
		memmove(array->number + at + 1, array->number + at,
			(array->nr - at) * sizeof(*array->number));
		memmove(array->stamp + at + 1, array->stamp + at,
			(array->nr++ - at) * sizeof(*array->stamp));
	}
	array->number[at] = number;
	array->stamp[at] = stamp;
}

static void array_remove(struct array *array, size_t at)
{
	array->nr--;
	memmove(array->number + at, array->number + at + 1,
		(array->nr - at) * sizeof(*array->number));
	memmove(array->stamp + at, array->stamp + at + 1,
		(array->nr - at) * sizeof(*array->stamp));
}

static uint64_t some_number(struct array *array)
{
	return key_filler(far_rng_below(&array->rng, array->conf->ops));
}

static void step_get(struct array *array, const uint8_t *key, size_t len, size_t at,
		     int there)
{
	size_t got = 0;
	int err = array->conf->kind->ops->get(array->task, array->index, key, len, array->value,
					 array->conf->value_size, &got);

	assert_int_equal(err, there ? 0 : -ENOENT);
	if (!there)
		return;
	assert_int_equal(got, array->conf->value_size);
	assert_int_equal(array->value[0], array->stamp[at]);
}

static void step_store(struct array *array, enum history_f f, uint64_t number,
		       const uint8_t *key, size_t len, size_t at, int there)
{
	uint64_t stamp = far_rng_next(&array->rng);
	int want = 0;

	if (f == HISTORY_INSERT && there)
		want = -EEXIST;
	if (f == HISTORY_UPDATE && !there)
		want = -ENOENT;
	memset(array->value, 0, array->conf->value_size);
	array->value[0] = stamp;
	assert_int_equal(ordered_store(array->conf->kind, f, array->task, array->index, key, len,
						     array->value,
						     array->conf->value_size), want);
	if (!want)
		array_store(array, at, number, stamp);
}

static void step(struct array *array, unsigned percent_deletes)
{
	static const enum history_f kind[5] = {
		HISTORY_GET, HISTORY_PUT, HISTORY_INSERT, HISTORY_INSERT, HISTORY_UPDATE,
	};
	uint64_t number = some_number(array);
	size_t at = array_at(array, number);
	int there = array_has(array, at, number);
	uint8_t key[MAX_KEY];
	size_t len = key_write(key, number, array->conf->key_size,
			       array->conf->kind->fixed);
	enum history_f f = kind[far_rng_below(&array->rng, 5)];

	if (far_rng_below(&array->rng, 100) < percent_deletes) {
		assert_int_equal(array->conf->kind->ops->remove(array->task, array->index, key,
							   len), there ? 0 : -ENOENT);
		if (there)
			array_remove(array, at);
	} else if (f == HISTORY_GET) {
		step_get(array, key, len, at, there);
	} else {
		step_store(array, f, number, key, len, at, there);
	}
}

/* A scan, and what it has to give next. */
struct scan {
	const struct array *array;
	size_t next, left;
	int down;
};

static int scan_key(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len)
{
	struct scan *scan = arg;
	const struct array *array = scan->array;
	uint64_t first;

	(void)key_len;
	memcpy(&first, value, sizeof(first));
	assert_true(scan->left > 0);
	assert_int_equal(key_number(key), array->number[scan->next]);
	assert_int_equal(first, array->stamp[scan->next]);
	assert_int_equal(value_len, array->conf->value_size);
	scan->next += scan->down ? -1 : 1;
	scan->left--;
	return 0;
}

/* One scan of a random range. */
static void scan_some(struct array *array)
{
	struct scan scan = { .array = array, .down = far_rng_below(&array->rng, 2) };
	struct far_range range = { .flags = scan.down ? FAR_RANGE_DOWN : 0 };
	uint8_t from[MAX_KEY], to[MAX_KEY];
	uint64_t a = some_number(array), b = some_number(array);
	size_t first = 0, end = array->nr;

	if (far_rng_below(&array->rng, 4)) {
		range.from = from;
		range.from_len = key_write(from, a, array->conf->key_size,
					   array->conf->kind->fixed);
		first = array_at(array, a);
	}
	if (far_rng_below(&array->rng, 4)) {
		range.to = to;
		range.to_len = key_write(to, b, array->conf->key_size,
					 array->conf->kind->fixed);
		end = array_at(array, b) + array_has(array, array_at(array, b), b);
	}
	scan.left = end > first ? end - first : 0;
	if (far_rng_below(&array->rng, 2)) {
		range.max = 1 + far_rng_below(&array->rng, 40);
		scan.left = scan.left < range.max ? scan.left : range.max;
	}
	scan.next = scan.down ? end - 1 : first;
	assert_int_equal(array->conf->kind->ops->scan(array->task, array->index, &range, scan_key,
						 &scan), 0);
	assert_int_equal(scan.left, 0);
}

void program_beside_array(const struct program_conf *conf, struct rig *rig)
{
	struct array array = {
		.conf = conf, .task = rig_enter(rig, 0),
		.number = calloc(conf->ops + 1, sizeof(uint64_t)),
		.stamp = calloc(conf->ops + 1, sizeof(uint64_t)),
		.value = malloc(conf->value_size),
	};
	unsigned i, phase;

	far_rng_init(&array.rng, conf->rig.seed, 1);
	assert_int_equal(ordered_create(conf->kind, array.task, "array", conf->key_size,
					    conf->value_size, &array.index), 0);
	/* it grows, it shrinks, it grows again */
	for (phase = 0; phase < 3; phase++) {
		for (i = 0; i < conf->ops; i++) {
			step(&array, phase == 1 ? 85 : 10);
			if (i % 16 == 0)
				scan_some(&array);
			if (i % (conf->ops / 4 + 1) == 0)
				rig_check(rig, array.task, NULL);
		}
		rig_check(rig, array.task, NULL);
	}
	conf->kind->ops->close(array.index);
	far_leave(array.task);
	free(array.number);
	free(array.stamp);
	free(array.value);
}
