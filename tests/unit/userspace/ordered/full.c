/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spaces that become full, of any structure. See full.h. */
#include "full.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/space/class.h"

#define KEYS	200000u		/* more than go in */
#define KEY_MAX	12u
#define REFUSED	3u		/* then a client takes the space for full */
#define FEW	1500u		/* keys beside which all other memory is taken */
#define FEW_LEN	40u		/* bytes of their values */
#define AT_ONCE	8u		/* of them are deleted before what they leave is taken, too */
#define BLOCKS	(1u << 20)

struct bed {
	const struct ordered_kind *kind;
	struct rig rig;
	unsigned clients;
	size_t value_len;
	void *index[RIG_CLIENTS];
	uint8_t *stored;	/* by key */
};

/* What one client does, from a key of its own on, in steps of their number. */
struct part {
	struct bed *bed;
	unsigned client;
	unsigned nr;		/* keys that it has stored, or deleted */
	uint8_t *value;
};

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = {
		.sim = bed->clients > 1, .seed = 3, .nodes = 1, .clients = bed->clients,
		.size = (4 + bed->clients) << 20, .cache = 1 << 20,
	};
	struct far_task *task;
	unsigned i;

	bed->stored = calloc(KEYS, 1);
	assert_non_null(bed->stored);
	rig_open(&bed->rig, &conf);
	for (i = 0; i < bed->clients; i++) {
		task = rig_enter(&bed->rig, i);
		assert_int_equal(i ? bed->kind->ops->open(task, "t", &bed->index[i]) :
				 ordered_create(bed->kind, task, "t", sizeof(uint64_t),
						   bed->value_len, &bed->index[i]), 0);
		far_leave(task);
	}
}

static void bed_close(struct bed *bed)
{
	unsigned i;

	for (i = 0; i < bed->clients; i++)
		bed->kind->ops->close(bed->index[i]);
	rig_close(&bed->rig);
	free(bed->stored);
}

/*
 * In no order. Of several lengths: a radix tree has nodes with few ways on and with many
 * then, and leaves that hang high and deep.
 */
static size_t key_of(const struct bed *bed, unsigned i, uint8_t key[KEY_MAX])
{
	uint64_t number = far_rng_mix(bed->kind->fixed ? i : i / 3);

	memcpy(key, &number, sizeof(number));
	memcpy(key + sizeof(number), &i, sizeof(i));
	if (bed->kind->fixed)
		return sizeof(number);
	return i % 3 ? KEY_MAX : 5 + 4 * (i % 2);
}

static int store(struct part *part, struct far_task *task, enum history_f f, unsigned i)
{
	const struct bed *bed = part->bed;
	uint8_t key[KEY_MAX];
	size_t len = key_of(bed, i, key);

	memset(part->value, (int)i, bed->value_len);
	return ordered_store(bed->kind, f, task, bed->index[part->client], key, len, part->value,
				   bed->value_len);
}

static int look(struct part *part, struct far_task *task, unsigned i)
{
	const struct bed *bed = part->bed;
	uint8_t key[KEY_MAX];
	size_t len = key_of(bed, i, key), got = 0;
	int err = bed->kind->ops->get(task, bed->index[part->client], key, len, part->value,
				 bed->value_len, &got);

	if (err)
		return err;
	assert_int_equal(got, bed->value_len);
	assert_int_equal(part->value[0], (uint8_t)i);
	assert_memory_equal(part->value, part->value + 1, got - 1);
	return 0;
}

/* Bytes on a node of which the task has been told how its chunks are shared out. */
static void expect_words(const struct far_task *task)
{
	const char *words = far_strerror_last(task);

	assert_non_null(strstr(words, "node 0 has no room for "));
	assert_non_null(strstr(words, " KiB this client has "));
}

static void part_fill(struct far_task *task, void *arg)
{
	struct part *part = arg;
	struct bed *bed = part->bed;
	unsigned i, refused = 0;
	int err;

	for (i = part->client; i < KEYS && refused < REFUSED; i += bed->clients) {
		if (bed->stored[i])
			continue;
		err = store(part, task, HISTORY_INSERT, i);
		if (err == -EEXIST)	/* short keys may be equal */
			continue;
		assert_true(!err || err == -ENOSPC);
		if (err)
			expect_words(task);
		assert_int_equal(look(part, task, i), err ? -ENOENT : 0);
		refused += err == -ENOSPC;
		bed->stored[i] = !err;
		part->nr += !err;
	}
	assert_int_equal(refused, REFUSED);
}

/* What the next client has stored. An update may need memory, and loses nothing without. */
static void part_read(struct far_task *task, void *arg)
{
	struct part *part = arg;
	struct bed *bed = part->bed;
	unsigned i;
	int err;

	for (i = (part->client + 1) % bed->clients; i < KEYS; i += bed->clients) {
		if (!bed->stored[i])
			continue;
		assert_int_equal(look(part, task, i), 0);
		if (part->nr++ % 64)
			continue;
		err = store(part, task, HISTORY_UPDATE, i);
		assert_true(!err || err == -ENOSPC);
		assert_int_equal(look(part, task, i), 0);
	}
}

static void part_empty(struct far_task *task, void *arg)
{
	struct part *part = arg;
	struct bed *bed = part->bed;
	uint8_t key[KEY_MAX];
	unsigned i;

	for (i = part->client; i < KEYS; i += bed->clients) {
		if (!bed->stored[i])
			continue;
		assert_int_equal(bed->kind->ops->remove(task, bed->index[part->client], key,
						   key_of(bed, i, key)), 0);
		if (part->nr++ % 16 == 0)
			assert_int_equal(look(part, task, i), -ENOENT);
		bed->stored[i] = 0;
	}
}

/* All clients at a time, and the space is whole then; how many keys. */
static unsigned all(struct bed *bed, void (*work)(struct far_task *task, void *arg))
{
	struct part part[RIG_CLIENTS];
	struct far_thread *thread[RIG_CLIENTS];
	struct far_task *task;
	unsigned i, nr = 0;

	for (i = 0; i < bed->clients; i++) {
		part[i] = (struct part){ .bed = bed, .client = i,
					 .value = malloc(bed->value_len) };
		assert_non_null(part[i].value);
		assert_int_equal(far_thread_start(bed->rig.far[i], 1, work, &part[i],
						  &thread[i]), 0);
	}
	for (i = 0; i < bed->clients; i++) {
		far_thread_join(thread[i]);
		free(part[i].value);
		nr += part[i].nr;
	}
	task = rig_enter(&bed->rig, 0);
	rig_check(&bed->rig, task, NULL);
	far_leave(task);
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
	return nr;
}

void full_in_turn(const struct ordered_kind *kind, unsigned clients, size_t value_len)
{
	struct bed bed = { .kind = kind, .clients = clients, .value_len = value_len };
	unsigned first, again;

	bed_open(&bed);
	first = all(&bed, part_fill);
	all(&bed, part_read);
	assert_int_equal(all(&bed, part_empty), first);
	again = all(&bed, part_fill);
	all(&bed, part_read);
	print_message("%u client(s), values of %zu bytes: %u keys, again %u\n", clients,
		      value_len, first, again);
	assert_true(again >= first - first / 8);
	bed_close(&bed);
}

/* ---- not one block is left ---- */

struct hoard {
	struct far_retired *block;
	unsigned nr;
};

static void take_all_of(struct hoard *hoard, struct far_task *task, uint64_t size)
{
	struct far_retired *block = &hoard->block[hoard->nr];
	int err;

	for (; !(err = far_block_alloc(task, 0, size, &block->addr)); block++) {
		block->size = size;
		assert_true(++hoard->nr < BLOCKS);
	}
	assert_int_equal(err, -ENOSPC);
}

/* Blocks of each size, and what was set free before. */
static void hoard_take(struct hoard *hoard, struct far_task *task)
{
	const struct far_sb *sb = &far_task_client(task)->sb[0];
	unsigned class, before;
	uint64_t size;

	do {
		before = hoard->nr;
		assert_int_equal(far_reclaim(task), 0);
		for (size = sb->chunk_size; !far_class_of(sb, size); size /= 2)
			take_all_of(hoard, task, size);
		for (class = far_class_of(sb, size); class; class--)
			take_all_of(hoard, task, far_class_size(class));
	} while (hoard->nr > before);
}

static void hoard_free(struct hoard *hoard, struct far_task *task)
{
	while (hoard->nr--)
		assert_int_equal(far_block_free(task, hoard->block[hoard->nr].addr,
					  hoard->block[hoard->nr].size), 0);
}

static void few_store(struct part *part, struct far_task *task)
{
	for (unsigned i = 0; i < FEW; i++) {
		int err = store(part, task, HISTORY_INSERT, i);

		assert_true(!err || err == -EEXIST);	/* short keys may be equal */
		part->bed->stored[i] = !err;
	}
}

/* Keys that have room in the present nodes are stored; one is refused. */
static void few_more(struct part *part, struct far_task *task)
{
	unsigned i = FEW;
	int err = 0;

	for (; !err || err == -EEXIST; i++) {
		assert_true(i < KEYS);
		err = store(part, task, HISTORY_INSERT, i);
		part->bed->stored[i] = !err;
	}
	assert_int_equal(err, -ENOSPC);
	expect_words(task);
}

static void few_delete(struct part *part, struct far_task *task, struct hoard *hoard)
{
	struct bed *bed = part->bed;
	uint8_t key[KEY_MAX];
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		if (!bed->stored[i])
			continue;
		if (part->nr++ % AT_ONCE == 0)
			hoard_take(hoard, task);
		assert_int_equal(look(part, task, i), 0);
		assert_int_equal(bed->kind->ops->remove(task, bed->index[0], key,
							key_of(bed, i, key)), 0);
		assert_int_equal(look(part, task, i), -ENOENT);
		bed->stored[i] = 0;
	}
}

void full_deletes(const struct ordered_kind *kind)
{
	struct bed bed = { .kind = kind, .clients = 1, .value_len = FEW_LEN };
	struct hoard hoard = { .block = calloc(BLOCKS, sizeof(*hoard.block)) };
	uint8_t value[FEW_LEN];
	struct part part = { .bed = &bed, .value = value };
	struct far_task *task;

	assert_non_null(hoard.block);
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	few_store(&part, task);
	hoard_take(&hoard, task);
	few_more(&part, task);
	few_delete(&part, task, &hoard);
	hoard_free(&hoard, task);
	few_store(&part, task);
	rig_check(&bed.rig, task, NULL);
	far_leave(task);
	assert_int_equal(rig_space_problems(&bed.rig, 0), 0);
	bed_close(&bed);
	free(hoard.block);
}
