/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables whose far memory was damaged: whoever meets that says so, with -EBADMSG, and
 * comes to an end. A call that does not is ended by the time limit of the tests.
 */
#include "rig.h"

#include <errno.h>

#include "../../../../userspace/core/client_priv.h"

#define KEYS	900u
#define OUTSIDE	(((UINT64_C(1) << 34) - 1) << 14)	/* of a slot: no space is so large */

struct damage {
	struct rig rig;
	struct far_task *task;
	struct far_hash *hash;
	struct hash_sub *sub;		/* the first one, in far memory */
	uint64_t addr;			/* and where that is */
};

static void *far_memory(struct damage *d, uint64_t addr)
{
	return (uint8_t *)d->rig.map[0].addr + far_addr_off(addr);
}

static void damage_open(struct damage *d)
{
	const struct rig_conf conf = { .nodes = 1, .without = FAR_WITHOUT_CACHE };
	const struct far_hash_attr attr = { .expected = 100 };
	const struct hash_root *root;
	unsigned i;

	rig_open(&d->rig, &conf);
	d->task = rig_enter(&d->rig, 0);
	assert_int_equal(far_hash_create(d->task, "t", &attr, &d->hash), 0);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(far_hash_insert(d->task, d->hash, &i, sizeof(i), "value",
						 5), 0);
	root = far_memory(d, d->hash->root);
	d->addr = root->shard[0].sub;
	d->sub = far_memory(d, d->addr);
	assert_int_not_equal(d->sub->sibling[0], 0);
}

/* What a check finds, and the end. */
static void damage_close(struct damage *d)
{
	far_hash_close(d->hash);
	far_leave(d->task);
	assert_int_not_equal(rig_space_problems(&d->rig, 0), 0);
	rig_close(&d->rig);
}

static struct hash_bucket *bucket(struct damage *d, unsigned i)
{
	return (struct hash_bucket *)(d->sub + 1) + i;
}

/* An entry of the directory: no other name is lost with it. */
static void name_damaged(void **state)
{
	struct far_hash *other;
	const struct far_sb *sb;
	struct far_dir_entry *dir;
	struct damage d;

	(void)state;
	damage_open(&d);
	assert_int_equal(far_hash_create(d.task, "other", NULL, &other), 0);
	far_hash_close(other);
	sb = &far_task_client(d.task)->sb[0];
	dir = (void *)((uint8_t *)d.rig.map[0].addr + far_dir_entry_off(sb, 0));
	assert_string_equal(dir->name, "t");
	dir->name[0] = 'x';
	assert_int_equal(far_hash_open(d.task, "t", &other), -EBADMSG);
	assert_int_equal(far_hash_create(d.task, "t", NULL, &other), -EBADMSG);
	assert_int_equal(far_hash_create(d.task, "new", NULL, &other), -EBADMSG);
	assert_int_equal(far_hash_open(d.task, "other", &other), 0);
	far_hash_close(other);
	assert_int_equal(far_hash_destroy(d.task, "other"), 0);
	assert_int_equal(far_hash_destroy(d.task, "t"), -EBADMSG);
	damage_close(&d);
}

static void slots_outside(struct damage *d)
{
	unsigned i, s;

	for (i = 0; i < 3 * d->hash->groups; i++)
		for (s = 0; s < HASH_SLOTS; s++)
			if (bucket(d, i)->slot[s])
				bucket(d, i)->slot[s] |= OUTSIDE;
}

static void lengths(struct damage *d, uint16_t key_len, uint32_t val_len)
{
	unsigned i, s;

	for (i = 0; i < 3 * d->hash->groups; i++)
		for (s = 0; s < HASH_SLOTS; s++) {
			uint64_t word = bucket(d, i)->slot[s];
			struct hash_block *block =
				far_memory(d, hash_slot_off(word));

			if (!word)
				continue;
			block->key_len = key_len;
			block->val_len = val_len;
		}
}

static int ignore(void *arg, const void *key, size_t key_len, const void *value,
		  size_t value_len)
{
	(void)arg;
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	return 0;
}

static void expect_walks_damaged(struct damage *d)
{
	struct far_hash_stats stats;

	assert_int_equal(far_hash_scan(d->task, d->hash, ignore, NULL), -EBADMSG);
	assert_int_equal(far_hash_stat(d->task, d->hash, &stats), -EBADMSG);
}

/* Each key is there, or damaged; and some are. */
static void expect_gets_damaged(struct damage *d)
{
	unsigned damaged = 0;
	unsigned i;
	char value[8];
	size_t len;
	int err;

	for (i = 0; i < KEYS; i++) {
		err = far_hash_get(d->task, d->hash, &i, sizeof(i), value, sizeof(value),
				   &len);
		if (err)
			assert_int_equal(err, -EBADMSG);
		damaged += !!err;
	}
	assert_in_range(damaged, 1, KEYS - 1);
}

/* The same of keys that are not there yet. */
static void expect_inserts_damaged(struct damage *d)
{
	unsigned damaged = 0;
	unsigned i;
	int err;

	for (i = KEYS; i < 2 * KEYS; i++) {
		err = far_hash_insert(d->task, d->hash, &i, sizeof(i), "value", 5);
		if (err)
			assert_int_equal(err, -EBADMSG);
		damaged += !!err;
	}
	assert_in_range(damaged, 1, KEYS - 1);
}

/* A head says that a block is longer than what was READ of it. */
static void long_blocks(void **state)
{
	static const struct { uint16_t key_len; uint32_t val_len; } head[] = {
		{ UINT16_MAX, 1 << 20 }, { 60000, 5 }, { 4, 64 }, { 0, 5 },
	};
	struct damage d;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
		damage_open(&d);
		lengths(&d, head[i].key_len, head[i].val_len);
		expect_walks_damaged(&d);
		damage_close(&d);
	}
}

/* Nobody gives back what a damaged head says. */
static void long_blocks_destroyed(void **state)
{
	struct damage d;

	(void)state;
	damage_open(&d);
	lengths(&d, UINT16_MAX, 1 << 20);
	assert_int_equal(far_hash_destroy(d.task, "t"), 0);
	far_hash_close(d.hash);
	far_leave(d.task);
	rig_close(&d.rig);
}

/* Walks go through siblings: from one to itself. */
static void siblings_in_circles(void **state)
{
	struct damage d;
	unsigned i;

	(void)state;
	damage_open(&d);
	for (i = 0; i < HASH_MAX_DEPTH; i++)
		if (d.sub->sibling[i])
			d.sub->sibling[i] = d.addr;
	/* who opens it now knows no others */
	far_hash_close(d.hash);
	assert_int_equal(far_hash_open(d.task, "t", &d.hash), 0);
	expect_gets_damaged(&d);
	expect_walks_damaged(&d);
	damage_close(&d);

	damage_open(&d);
	for (i = 0; i <= 20; i++)
		if (!d.sub->sibling[i])
			d.sub->sibling[i] = d.addr;
	expect_walks_damaged(&d);
	damage_close(&d);
}

static void born_too_late(void **state)
{
	struct damage d;

	(void)state;
	damage_open(&d);
	d.sub->born = HASH_MAX_DEPTH;
	expect_walks_damaged(&d);
	damage_close(&d);
}

static void suffix_of_another(void **state)
{
	struct damage d;

	(void)state;
	damage_open(&d);
	d.sub->suffix = 1;
	expect_walks_damaged(&d);
	damage_close(&d);
}

/* A get does not call a key absent whose block may be damaged. */
static void keys_not_absent(void **state)
{
	struct damage d;

	(void)state;
	damage_open(&d);
	lengths(&d, UINT16_MAX, 1 << 20);
	expect_gets_damaged(&d);
	expect_inserts_damaged(&d);
	damage_close(&d);
}

/* An address that far memory says, and that cannot be, is not the caller's error. */
static void addresses(void **state)
{
	struct damage d;
	unsigned i;

	(void)state;
	damage_open(&d);
	slots_outside(&d);
	expect_gets_damaged(&d);
	expect_walks_damaged(&d);
	damage_close(&d);

	damage_open(&d);
	for (i = 0; i < HASH_MAX_DEPTH; i++)
		if (d.sub->sibling[i])
			d.sub->sibling[i] |= (UINT64_C(1) << 40) - HASH_UNIT;
	far_hash_close(d.hash);
	d.hash = NULL;
	assert_int_equal(far_hash_open(d.task, "t", &d.hash), -EBADMSG);
	damage_close(&d);
}

static void header_shallow(uint64_t *header)
{
	*header &= ~UINT64_C(63);
}

static void header_deep(uint64_t *header)
{
	*header |= 63;
}

static void header_deeper(uint64_t *header)
{
	*header += 8;
}

static void header_suffix(uint64_t *header)
{
	*header = (*header ^ 0x5500) | HASH_MOVING;
}

static void header_idle_suffix(uint64_t *header)
{
	*header ^= 0x5500;
}

static void header_moving_back(uint64_t *header)
{
	*header = (*header & ~UINT64_C(63)) | HASH_MOVING;
}

/* An insert takes the header for another client's work, for ever. */
static void headers(void **state)
{
	static void (*const damage[])(uint64_t *) = {
		header_shallow, header_deep, header_deeper, header_suffix,
		header_idle_suffix, header_moving_back,
	};
	struct damage d;
	unsigned i, b;

	(void)state;
	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		damage_open(&d);
		for (b = 0; b < 3 * d.hash->groups; b++)
			if (b % 3 != 1)
				damage[i](&bucket(&d, b)->header);
		expect_inserts_damaged(&d);
		damage_close(&d);
	}
}

/* What a split has left behind that was thought to be over. */
static void frozen(void **state)
{
	struct damage d;
	unsigned i, s;

	(void)state;
	damage_open(&d);
	for (i = 0; i < 3 * d.hash->groups; i++)
		for (s = 0; s < HASH_SLOTS; s++)
			if (bucket(&d, i)->slot[s])
				bucket(&d, i)->slot[s] |= HASH_FROZEN;
	damage_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_damaged),
		cmocka_unit_test(long_blocks),
		cmocka_unit_test(long_blocks_destroyed),
		cmocka_unit_test(siblings_in_circles),
		cmocka_unit_test(born_too_late),
		cmocka_unit_test(suffix_of_another),
		cmocka_unit_test(keys_not_absent),
		cmocka_unit_test(addresses),
		cmocka_unit_test(headers),
		cmocka_unit_test(frozen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
