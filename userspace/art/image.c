/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees made by writing into the memory of the memory nodes. See image.h. */
#include "image.h"

#include <string.h>

#include "../base/rng.h"
#include "../core/alloc.h"
#include "../core/epoch.h"
#include "view.h"

struct making {
	struct far_task *task;
	struct far_art *art;
	const struct form_image *image;
};

static void *image_at(const struct making *making, uint64_t addr)
{
	return form_image_at(making->image->base, addr);
}

static unsigned image_place(const struct making *making, uint64_t hash)
{
	return (hash >> 32) * making->art->nr_nodes >> 32;
}

/* A new node on the key's way; *ret_slot leads to it, with a symbol of 0. */
static int image_node(struct making *making, const struct art_key *key, uint64_t prefix,
		      unsigned type, unsigned depth, uint64_t *ret_slot)
{
	uint64_t addr;
	int err;

	err = far_block_alloc(making->task, image_place(making, far_rng_mix(key->hash + depth)),
			art_node_len(type), &addr);
	if (err)
		return err;
	art_node_init(image_at(making, addr), art_seed(making->art->root, addr), prefix, type,
		      depth, art_birth(making->task));
	*ret_slot = art_slot(0, type, addr);
	return 0;
}

/* Replaces a full node by a greater one. */
static int image_grow(struct making *making, const struct art_key *key, uint64_t *slot)
{
	const struct art_node *old = image_at(making, art_pointee(*slot));
	unsigned type = art_header_type(old->header);
	struct art_node *node;
	uint64_t new;
	unsigned i;
	int err;

	err = image_node(making, key, art_header_prefix(old->header), type + 1,
			 art_header_depth(old->header), &new);
	if (err)
		return err;
	node = image_at(making, art_pointee(new));
	for (i = 0; i < art_type_slots(type); i++)
		art_node_add(node, old->slot[i]);
	err = far_block_free(making->task, art_pointee(*slot), art_node_len(type));
	*slot = art_slot_as(new, art_slot_symbol(*slot));
	return err;
}

static int image_leaf(struct making *making, const struct art_key *key, const void *value,
		      uint64_t *ret_slot)
{
	uint64_t len = art_leaf_len(key->len, making->image->value_len);
	uint64_t addr;
	int err;

	err = far_block_alloc(making->task, image_place(making, key->hash), len, &addr);
	if (err)
		return err;
	art_leaf_fill(image_at(making, addr), art_seed(making->art->root, addr), key, value,
		      making->image->value_len, art_birth(making->task));
	*ret_slot = art_slot(0, art_leaf_size(len), addr) | ART_LEAF;
	return 0;
}

/*
 * Lets *slot, of a node at depth `above`, lead to a node at depth, where the key and
 * what the slot led to so far part; that one has `symbol` there.
 */
static int image_fork(struct making *making, const struct art_key *key, unsigned above,
		      unsigned depth, unsigned symbol, uint64_t leaf, uint64_t *slot)
{
	uint64_t old = *slot, new;
	struct art_node *node;
	unsigned at = above;
	int err;

	if (depth <= above)
		return -EBADMSG;
	for (;;) {
		at = depth - at > ART_PREFIX + 1 ? at + ART_PREFIX + 1 : depth;
		err = image_node(making, key, art_prefix(key->data, at), 0, at, &new);
		if (err)
			return err;
		*slot = art_slot_as(new, art_slot_symbol(*slot));
		node = image_at(making, art_pointee(new));
		if (at == depth)
			break;
		slot = &node->slot[art_node_find(node, key->data[at])];
		*slot = art_slot_void(key->data[at]);
	}
	art_node_add(node, art_slot_as(old, symbol));
	art_node_add(node, art_slot_as(leaf, art_symbol(key->data, key->len, depth)));
	return 0;
}

/* The key and what hangs from *slot of a node at depth `above`. -EAGAIN: it is below. */
static int image_beside(struct making *making, const struct art_key *key, unsigned above,
			uint64_t leaf, uint64_t *slot)
{
	void *below = image_at(making, art_pointee(*slot));
	uint64_t header = ((struct art_node *)below)->header;
	struct art_seen seen;
	unsigned depth;
	int err;

	if (*slot & ART_LEAF) {
		err = art_leaf_look(below, art_seed(making->art->root, art_pointee(*slot)),
				    art_slot_size(*slot), UINT64_MAX, &seen);
		if (err)
			return err;
		depth = art_differ(seen.key, seen.key_len, key->data, key->len);
		return image_fork(making, key, above, depth,
				  art_symbol(seen.key, seen.key_len, depth), leaf, slot);
	}
	depth = art_leaves(header, key, above + 1);
	if (depth == art_header_depth(header))
		return -EAGAIN;
	return image_fork(making, key, above, depth, art_header_byte(header, depth), leaf,
			  slot);
}

static int image_link(struct making *making, const struct art_key *key, uint64_t leaf)
{
	struct art_node *node = image_at(making, art_first_node(making->art));
	uint64_t *up = NULL;
	unsigned depth, symbol, i;
	int err;

	for (;;) {
		depth = art_header_depth(node->header);
		symbol = art_symbol(key->data, key->len, depth);
		i = art_node_find(node, symbol);
		if (i == ART_FULL) {
			err = image_grow(making, key, up);
			if (err)
				return err;
			node = image_at(making, art_pointee(*up));
			continue;
		}
		up = &node->slot[i];
		if (!art_pointee(*up)) {
			*up = art_slot_as(leaf, symbol);
			return 0;
		}
		err = image_beside(making, key, depth, leaf, up);
		if (err != -EAGAIN)
			return err;
		node = image_at(making, art_pointee(*up));
	}
}

static int image_one(void *arg, uint64_t number)
{
	struct making *making = arg;
	const struct form_image *image = making->image;
	uint8_t bytes[ART_MAX_KEY], value[FORM_IMAGE_MAX_VALUE];
	struct art_key key;
	uint64_t leaf;
	int err;

	image->key(image->arg, number, bytes);
	image->value(image->arg, number, value);
	art_key_init(&key, bytes, image->key_len);
	err = image_leaf(making, &key, value, &leaf);
	return err ? err : image_link(making, &key, leaf);
}

int far_art_image(struct far_task *task, void *art, const struct form_image *image)
{
	struct making making = { .task = task, .art = art, .image = image };

	if (!image->key_len || image->key_len > ART_MAX_KEY ||
	    image->value_len > FORM_IMAGE_MAX_VALUE)
		return -EINVAL;
	return form_image_fill(task, image, image_one, &making);
}

struct warming {
	struct far_art *art;
	void *const *base;
	struct form_age age;
};

/* The node that a way leads to (NULL: the first one), and those below it. */
static void warm_node(const struct warming *warming, const struct art_way *way)
{
	uint64_t addr = way ? art_pointee(way->slot) : art_first_node(warming->art);
	const struct art_node *node = form_image_at(warming->base, addr);
	unsigned depth = art_header_depth(node->header), i;
	uint8_t bytes[ART_MAX_KEY];
	struct art_key key;
	struct art_way on;

	for (i = 0; i < art_type_slots(art_header_type(node->header)); i++) {
		if (!art_way_on(way, node, i, &on))
			continue;
		memcpy(bytes, on.key, depth);
		if (!(on.slot & ART_LEAF))
			warm_node(warming, &on);
	}
	art_key_init(&key, bytes, depth);
	art_cache_put(warming->art->cache, addr, &key, node, warming->age);
}

int far_art_image_warm(struct far_task *task, void *index, void *const *base)
{
	struct far_art *art = index;
	struct warming warming = { .art = art, .base = base };
	int err;

	if (!art->cache)
		return 0;
	err = far_epoch_enter(task);
	if (err)
		return err;
	warming.age = form_age_now(task);
	warm_node(&warming, NULL);
	far_epoch_exit(task);
	return 0;
}

/* Slots, and the bytes of an index, of the least of ART's types for so many children. */
static uint64_t classic_bytes(unsigned live)
{
	return live <= 4 ? 4 * 8 : live <= 16 ? 16 * 8 : live <= 48 ? 256 + 48 * 8 : 256 * 8;
}

static int cached_block(void *arg, const struct art_item *item)
{
	struct far_art_cached *cached = arg;
	unsigned depth, live;

	if (item->kind != ART_ITEM_NODE)
		return 0;
	depth = art_header_depth(item->node->header);
	live = art_node_live(item->node);
	cached->all += art_cache_cost(live);
	cached->keyed += art_cache_cost(live) + depth;
	cached->classic += art_cache_overhead() + classic_bytes(live) + depth;
	return 0;
}

int far_art_image_cached(struct far_task *task, struct far_art *art,
			 struct far_art_cached *ret_cached)
{
	struct art_view view = {
		.walk = { .task = task }, .art = art, .block = cached_block, .arg = ret_cached,
	};
	int err = form_walk_enter(&view.walk);

	*ret_cached = (struct far_art_cached) { 0 };
	if (!err)
		err = art_view(&view);
	return form_walk_leave(&view.walk, err);
}
