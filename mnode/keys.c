// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Making a CNode's keys, and unmaking them; see keys.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include "keys.h"

#define TRIES	64	/* one number in a hundred will not do */

static int create(struct keys *k, uint32_t *ret_key)
{
	struct nic *nic = k->pool->nic;

	return nic->node->ops->ksm_create(nic, k->pdn, WRC_KEY_ENTRIES,
					  NIC_REMOTE_READ | NIC_REMOTE_WRITE,
					  WRC_KEY_VARIANT, ret_key);
}

/* Those that will not do stay until one does, or they would come again. */
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

static void free_keys(struct keys *k)
{
	struct nic *nic = k->pool->nic;

	while (k->nr)
		nic->ops->mr_dereg(nic, k->key[--k->nr]);
	free(k->key);
}

static int make_keys(struct keys *k, size_t nr)
{
	int r;

	k->key = calloc(nr, sizeof(*k->key));
	if (!k->key)
		return -ENOMEM;
	while (k->nr < nr) {
		r = make_key(k, &k->key[k->nr]);
		if (r) {
			free_keys(k);
			return r;
		}
		k->nr++;
	}
	return 0;
}

/* Memory with a key that has nothing but READs. */
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

static int make_map(struct keys *k, uint64_t nr_slots)
{
	struct wrc_keymap *map;
	uint64_t i;
	int r;

	r = make_published(k, k->pool->pdn, nr_slots * sizeof(*map), &k->map,
			   &k->map_key);
	map = k->map.va;
	for (i = 0; !r && i < nr_slots; i++)
		wrc_keymap_set(&map[i], k->key[i / WRC_KEY_SLOTS], i);
	return r;
}

static int publish_keys(struct keys *k, uint32_t pdn)
{
	__be32 *to;
	size_t i;
	int r;

	r = make_published(k, pdn, k->nr * sizeof(*to), &k->published, &k->published_key);
	to = k->published.va;
	for (i = 0; !r && i < k->nr; i++)
		to[i] = htobe32(k->key[i]);
	return r;
}

int keys_init(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	      uint64_t nr_slots)
{
	struct nic *nic = pool->nic;
	int r;

	*k = (struct keys){ .pool = pool };
	r = nic->ops->pd_alloc(nic, &k->pdn);
	if (r)
		goto forget;
	r = nic->ops->mr_reg(nic, k->pdn, pool->page_mem.va,
			     pool->pages * ODRP_WIRE_PAGE_SIZE, WRC_POOL_IOVA,
			     NIC_LOCAL_WRITE, &k->page_key);
	if (r)
		goto free_pd;
	r = make_keys(k, (nr_slots + WRC_KEY_SLOTS - 1) / WRC_KEY_SLOTS);
	if (r)
		goto dereg_pages;
	r = make_map(k, nr_slots);
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
	free_keys(k);
dereg_pages:
	nic->ops->mr_dereg(nic, k->page_key);
free_pd:
	nic->ops->pd_free(nic, k->pdn);
forget:
	*k = (struct keys){ 0 };
	return r;
}

void keys_fini(struct keys *k)
{
	struct nic *nic;

	if (!keys_exist(k))
		return;
	nic = k->pool->nic;
	nic->ops->mr_dereg(nic, k->published_key);
	mem_unmap(&k->published);
	nic->ops->mr_dereg(nic, k->map_key);
	mem_unmap(&k->map);
	free_keys(k);
	nic->ops->mr_dereg(nic, k->page_key);
	nic->ops->pd_free(nic, k->pdn);
	*k = (struct keys){ 0 };
}
