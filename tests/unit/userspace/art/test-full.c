/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Full spaces: what is stored is found and can be deleted, what does not fit is refused
 * whole, and a space that was emptied is filled again.
 */
#include "kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <far/art.h>

#include "../../../../userspace/art/layout.h"
#include "../../../../userspace/base/rng.h"

#define KEYS	200000u		/* more than go in */
#define REFUSED	3u		/* then a client takes the space for full */

struct bed {
	struct rig rig;
	unsigned clients;
	size_t value_len;
	struct far_art *art[RIG_CLIENTS];
	uint8_t *stored;		/* by key */
};

static void bed_open(struct bed *bed, unsigned clients, size_t value_len)
{
	const struct rig_conf conf = {
		.sim = 1, .seed = 3, .nodes = 1, .clients = clients, .size = (4 + clients) << 20,
		.cache = 1 << 20,
	};
	struct far_task *task;
	unsigned i;

	*bed = (struct bed){ .clients = clients, .value_len = value_len };
	bed->stored = calloc(KEYS, 1);
	assert_non_null(bed->stored);
	rig_open(&bed->rig, &conf);
	for (i = 0; i < clients; i++) {
		task = rig_enter(&bed->rig, i);
		assert_int_equal(i ? far_art_open(task, "t", &bed->art[i]) :
				 far_art_create(task, "t", &bed->art[i]), 0);
		far_leave(task);
	}
}

static void bed_close(struct bed *bed)
{
	unsigned i;

	for (i = 0; i < bed->clients; i++)
		far_art_close(bed->art[i]);
	rig_close(&bed->rig);
	free(bed->stored);
}

/* Nodes with few ways on and with many, and leaves that hang high and deep. */
static size_t key_of(unsigned i, uint8_t key[12])
{
	uint64_t number = far_rng_mix(i / 3);

	memcpy(key, &number, 8);
	memcpy(key + 8, &i, 4);
	return i % 3 ? 12 : 5 + 4 * (i % 2);
}

static int store(struct bed *bed, struct far_task *task, unsigned client, unsigned i)
{
	uint8_t *value = malloc(bed->value_len + 1), key[12];
	size_t len = key_of(i, key);
	int err;

	memset(value, i, bed->value_len);
	err = far_art_insert(task, bed->art[client], key, len, value, bed->value_len);
	free(value);
	return err;
}

static int look(struct bed *bed, struct far_task *task, unsigned client, unsigned i)
{
	uint8_t *value = malloc(bed->value_len + 1), key[12];
	size_t len = key_of(i, key), got;
	int err;

	err = far_art_get(task, bed->art[client], key, len, value, bed->value_len, &got);
	if (!err)
		assert_int_equal(got, bed->value_len);
	if (!err && got)
		assert_int_equal(value[got / 2], (uint8_t)i);
	free(value);
	return err;
}

/* What one client does, from a key of its own on, in steps of their number. */
struct part {
	struct bed *bed;
	unsigned client;
	unsigned nr;		/* keys that it has stored, or deleted */
};

static void part_fill(struct far_task *task, void *arg)
{
	struct part *part = arg;
	struct bed *bed = part->bed;
	unsigned i, refused = 0;
	int err;

	for (i = part->client; i < KEYS && refused < REFUSED; i += bed->clients) {
		if (bed->stored[i])
			continue;
		err = store(bed, task, part->client, i);
		if (err == -EEXIST)	/* keys of 5 and 9 bytes may be equal */
			continue;
		assert_true(!err || err == -ENOSPC);
		refused += err == -ENOSPC;
		bed->stored[i] = !err;
		part->nr += !err;
	}
}

static void part_empty(struct far_task *task, void *arg)
{
	struct part *part = arg;
	struct bed *bed = part->bed;
	uint8_t key[12];
	unsigned i;

	for (i = part->client; i < KEYS; i += bed->clients) {
		if (!bed->stored[i])
			continue;
		assert_int_equal(far_art_delete(task, bed->art[part->client], key,
						key_of(i, key)), 0);
		bed->stored[i] = 0;
		part->nr++;
	}
}

/* All clients at a time; how many keys. */
static unsigned all(struct bed *bed, void (*work)(struct far_task *task, void *arg))
{
	struct part part[RIG_CLIENTS];
	struct far_thread *thread[RIG_CLIENTS];
	unsigned i, nr = 0;

	for (i = 0; i < bed->clients; i++) {
		part[i] = (struct part){ .bed = bed, .client = i };
		assert_int_equal(far_thread_start(bed->rig.far[i], 1, work, &part[i],
						  &thread[i]), 0);
	}
	for (i = 0; i < bed->clients; i++) {
		far_thread_join(thread[i]);
		nr += part[i].nr;
	}
	return nr;
}

/* Each client finds what is stored; what was refused has left nothing. */
static void expect(struct bed *bed)
{
	struct far_task *task;
	unsigned i, client;

	for (client = 0; client < bed->clients; client++) {
		task = rig_enter(&bed->rig, client);
		for (i = 0; i < KEYS; i++)
			if (bed->stored[i])
				assert_int_equal(look(bed, task, client, i), 0);
		rig_check(&bed->rig, task, NULL);
		far_leave(task);
	}
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
}

static void in_turn(unsigned clients, size_t value_len)
{
	struct far_art_stats stats;
	unsigned first, again;
	struct far_task *task;
	struct bed bed;

	bed_open(&bed, clients, value_len);
	first = all(&bed, part_fill);
	expect(&bed);
	assert_int_equal(all(&bed, part_empty), first);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_art_stat(task, bed.art[0], &stats), 0);
	far_leave(task);
	assert_int_equal(stats.keys, 0);
	again = all(&bed, part_fill);
	expect(&bed);
	print_message("%u client(s), values of %zu: %u keys, again %u\n", clients, value_len,
		      first, again);
	assert_true(again >= first - first / 8);
	bed_close(&bed);
}

/* Leaves of each kind: of few words, of units of 64 bytes, of several pages, of a chunk. */
static const size_t sizes[] = { 8, 200, 3000, 17000, 40000, 400000 };
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void by_one(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SIZES; i++)
		in_turn(1, sizes[i]);
}

static void by_several(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < SIZES; i += 2)
		in_turn(3, sizes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_one),
		cmocka_unit_test(by_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
