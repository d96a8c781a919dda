// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Creates and destroys the keys of a CNode; see keys.h. */
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include "keys.h"

#define TRIES	64	/* the key map cannot hold about one key in a hundred */

static int create(struct keys *k, uint32_t *ret_key)
{
	struct nic *nic = k->pool->nic;

	return nic->node->ops->ksm_create(nic, k->pdn, WRC_KEY_ENTRIES,
					  NIC_REMOTE_READ | NIC_REMOTE_WRITE,
					  WRC_KEY_VARIANT, ret_key);
}

/* Keys that the key map cannot hold are destroyed only at the end: the NIC might create
 * them again. */
static int make_key(struct keys *k, uint32_t *ret_key)
{
	struct nic *nic = k->pool->nic;
	uint32_t bad[TRIES], nr_bad = 0;
	struct wrc_keymap entry;
	int r;

	do {
		r = create(k, ret_key);
		if (r)
			break;
		r = wrc_keymap_set(&entry, *ret_key, 0);
		if (r)
			bad[nr_bad++] = *ret_key;
	} while (r && nr_bad < TRIES);
	while (nr_bad)
		nic->ops->mr_dereg(nic, bad[--nr_bad]);
	return r;
}

/* Maps memory, with a key that lets peers READ it and no more. */
static int make_published(struct keys *k, uint32_t pdn, size_t len, struct mem *mem,
			  uint32_t *ret_key)
{
	struct nic *nic = k->pool->nic;
	int r = mem_map(len, 0, mem);

	if (r)
		return r;
	r = nic->ops->mr_reg(nic, pdn, mem->va, len, 0, NIC_REMOTE_READ,
			     ret_key);
	if (r)
		mem_unmap(mem);
	return r;
}

static int publish_keys(struct keys *k, uint32_t pdn)
{
	return make_published(k, pdn, k->max * sizeof(__be32), &k->published,
			      &k->published_key);
}

int keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	       uint64_t nr_slots)
{
	struct nic *nic = pool->nic;
	int r;

	*k = (struct keys){
		.pool = pool, .nr_slots = nr_slots,
		.max = (nr_slots + WRC_KEY_SLOTS - 1) / WRC_KEY_SLOTS,
	};
	r = nic->ops->pd_alloc(nic, &k->pdn);
	if (r)
		goto forget;
	r = pool_key(pool, k->pdn, &k->page_key);
	if (r)
		goto free_pd;
	r = -ENOMEM;
	k->key = calloc(k->max, sizeof(*k->key));
	if (!k->key)
		goto dereg_pages;
	r = make_published(k, k->pool->pdn, nr_slots * sizeof(struct wrc_keymap),
			   &k->map, &k->map_key);
	if (r)
		goto free_keys;
	r = publish_keys(k, admin_pdn);
	if (r)
		goto free_map;
	return 0;

free_map:
	nic->ops->mr_dereg(nic, k->map_key);
	mem_unmap(&k->map);
free_keys:
	free(k->key);
dereg_pages:
	nic->ops->mr_dereg(nic, k->page_key);
free_pd:
	nic->ops->pd_free(nic, k->pdn);
forget:
	*k = (struct keys){ 0 };
	return r;
}

int keys_make(struct keys *k, unsigned int most)
{
	__be32 *published = k->published.va;
	int r;

	while (most-- && k->nr < k->max) {
		r = make_key(k, &k->key[k->nr]);
		if (r)
			return r;
		published[k->nr] = htobe32(k->key[k->nr]);
		k->nr++;
	}
	return k->nr < k->max ? -EAGAIN : 0;
}

int keys_map(struct keys *k, uint64_t most)
{
	struct wrc_keymap *map = k->map.va;

	for (; most-- && k->mapped < k->nr_slots; k->mapped++)
		wrc_keymap_set(&map[k->mapped],
			       k->key[k->mapped / WRC_KEY_SLOTS], k->mapped);
	return k->mapped < k->nr_slots ? -EAGAIN : 0;
}

bool keys_drop(struct keys *k, unsigned int most)
{
	struct nic *nic;

	if (!keys_exist(k))
		return true;
	nic = k->pool->nic;
	while (k->nr && most--)
		nic->ops->mr_dereg(nic, k->key[--k->nr]);
	if (k->nr)
		return false;
	if (k->map_key)
		nic->ops->mr_dereg(nic, k->map_key);
	k->map_key = 0;
	if (!mem_shrink(&k->map))
		return false;
	nic->ops->mr_dereg(nic, k->published_key);
	mem_unmap(&k->published);
	free(k->key);
	nic->ops->mr_dereg(nic, k->page_key);
	nic->ops->pd_free(nic, k->pdn);
	*k = (struct keys){ 0 };
	return true;
}

int keys_init(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	      uint64_t nr_slots)
{
	int r = keys_begin(k, pool, admin_pdn, nr_slots);

	if (r)
		return r;
	r = keys_make(k, UINT_MAX);
	if (r)
		keys_fini(k);
	else
		keys_map(k, UINT64_MAX);
	return r;
}

void keys_fini(struct keys *k)
{
	while (!keys_drop(k, UINT_MAX))
		;
}
