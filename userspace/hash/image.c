/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables made by writing into the memory of the memory nodes. See image.h. */
#include "image.h"

#include <errno.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "priv.h"

#define IMAGE_MAX_KEY	64u
#define IMAGE_MAX_VALUE	4096u
#define IMAGE_BATCH	4096u	/* keys per epoch */

/* The number i, little-endian, in 8 bytes; further bytes of longer keys are zero. */
static void image_key(uint64_t i, void *buf, size_t key_len)
{
	unsigned at;

	memset(buf, 0, key_len);
	for (at = 0; at < 8 && at < key_len; at++)
		((uint8_t *)buf)[at] = i >> 8 * at;
}

static void *image_at(const struct far_hash_image *image, uint64_t addr)
{
	return (uint8_t *)image->base[far_addr_node(addr)] + far_addr_off(addr);
}

/* An empty slot for the key, or NULL. */
static uint64_t *image_room(const struct far_hash_image *image, struct far_hash *hash,
			    const struct hash_key *key)
{
	unsigned depth;
	uint64_t sub = hash_dir_find(&hash->dir[key->shard], hash_key_dir(key), &depth);
	uint64_t *room[2] = { NULL, NULL };
	unsigned used[2] = { 0, 0 };
	unsigned i, k, s;

	for (i = 0; i < 2; i++) {
		struct hash_bucket *pair =
			image_at(image, sub + hash_combined_off(key->main[i]));

		for (k = 0; k < 2; k++)
			for (s = 0; s < HASH_SLOTS; s++) {
				uint64_t *slot = &pair[key->main[i] % 2 ^ k].slot[s];

				if (*slot)
					used[i]++;
				else if (!room[i])
					room[i] = slot;
			}
	}
	if (!room[0] || !room[1])
		return room[0] ? room[0] : room[1];
	return room[used[1] < used[0]];
}

/* One key. Where its buckets are full, it is inserted, and so splits the subtable. */
static int image_one(struct far_task *task, struct far_hash *hash,
		     const struct far_hash_image *image, uint64_t i)
{
	uint8_t bytes[IMAGE_MAX_KEY + IMAGE_MAX_VALUE] = { 0 };
	uint8_t *value = bytes + image->key_len;
	uint64_t len = hash_block_len(image->key_len, image->value_len);
	struct hash_key key;
	struct form_age birth;
	uint64_t addr;
	uint64_t *slot;
	int err;

	if (image->key)
		image->key(image->arg, i, bytes);
	else
		image_key(i, bytes, image->key_len);
	if (image->value)
		image->value(image->arg, i, value);
	hash_key_init(&key, bytes, image->key_len, hash->groups, hash->nr_shards);
	slot = image_room(image, hash, &key);
	if (!slot)
		return far_hash_insert(task, hash, bytes, image->key_len, value,
				       image->value_len);
	err = far_alloc(task, key.shard, len, &addr);
	if (err)
		return err;
	birth = form_age_now(task);
	hash_block_fill(image_at(image, addr), hash->root, &key, value, image->value_len,
			birth);
	*slot = hash_slot(key.fp, len / HASH_UNIT, far_addr_off(addr), birth);
	return 0;
}

static int image_fill(struct far_task *task, struct far_hash *hash,
		      const struct far_hash_image *image)
{
	uint64_t i = 0;
	uint64_t end;
	int err = 0;

	while (i < image->nr_keys && !err) {
		err = far_epoch_enter(task);
		if (err)
			return err;
		end = image->nr_keys - i < IMAGE_BATCH ? image->nr_keys : i + IMAGE_BATCH;
		for (; i < end && !err; i++)
			err = image_one(task, hash, image, i);
		far_epoch_exit(task);
	}
	return err;
}

int far_hash_image(struct far_task *task, const char *name,
		   const struct far_hash_image *image, struct far_hash **ret_hash)
{
	struct far_hash_attr attr = { .expected = image->nr_keys };
	struct far_hash *hash;
	int err;

	if (!image->key_len || image->key_len > IMAGE_MAX_KEY ||
	    image->value_len > IMAGE_MAX_VALUE)
		return -EINVAL;
	err = far_hash_create(task, name, &attr, &hash);
	if (err)
		return err;
	err = image_fill(task, hash, image);
	if (err) {
		far_hash_close(hash);
		return err;
	}
	*ret_hash = hash;
	return 0;
}
