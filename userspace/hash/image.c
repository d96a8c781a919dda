/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables made by writing into the memory of the memory nodes. See image.h. */
#include "image.h"

#include <errno.h>

#include "../core/alloc.h"
#include "hash_priv.h"

#define IMAGE_MAX_KEY	64u

struct making {
	struct far_task *task;
	struct far_hash *hash;
	const struct form_image *image;
};

/* An empty slot for the key, or NULL. */
static uint64_t *image_room(const struct form_image *image, struct far_hash *hash,
			    const struct hash_key *key)
{
	unsigned depth;
	uint64_t sub = hash_dir_find(&hash->dir[key->shard], hash_key_dir(key), &depth);
	uint64_t *room[2] = { NULL, NULL };
	unsigned used[2] = { 0, 0 };
	unsigned i, k, s;

	for (i = 0; i < 2; i++) {
		struct hash_bucket *pair =
			form_image_at(image->base, sub + hash_combined_off(key->main[i]));

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
static int image_one(void *arg, uint64_t i)
{
	const struct making *making = arg;
	const struct form_image *image = making->image;
	struct far_hash *hash = making->hash;
	uint8_t bytes[IMAGE_MAX_KEY + FORM_IMAGE_MAX_VALUE];
	uint8_t *value = bytes + image->key_len;
	uint64_t len = hash_block_len(image->key_len, image->value_len);
	struct hash_key key;
	struct form_age birth;
	uint64_t addr;
	uint64_t *slot;
	int err;

	image->key(image->arg, i, bytes);
	image->value(image->arg, i, value);
	hash_key_init(&key, bytes, image->key_len, hash->groups, hash->nr_shards);
	slot = image_room(image, hash, &key);
	if (!slot)
		return far_hash_insert(making->task, hash, bytes, image->key_len, value,
				       image->value_len);
	err = far_block_alloc(making->task, key.shard, len, &addr);
	if (err)
		return err;
	birth = form_age_now(making->task);
	hash_block_fill(form_image_at(image->base, addr), hash->root, &key, value,
			image->value_len, birth);
	*slot = hash_slot(key.fp, len / HASH_UNIT, far_addr_off(addr), birth);
	far_sum_add(making->task, hash->keys[key.shard], 1);
	return 0;
}

int far_hash_image(struct far_task *task, void *hash, const struct form_image *image)
{
	struct making making = { .task = task, .hash = hash, .image = image };

	if (!image->key_len || image->key_len > IMAGE_MAX_KEY ||
	    image->value_len > FORM_IMAGE_MAX_VALUE)
		return -EINVAL;
	return form_image_fill(task, image, image_one, &making);
}
