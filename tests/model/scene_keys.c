// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Translation in the NIC, in a scene: a domain, a key and a key map for each
 * CNode.  What a client could reach by its key is in the entries, which it cannot
 * change; so it need not READ or WRITE itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "scene.h"

#define ENTRIES (SCENE_SLOTS * WRC_KSM_GROUP)

static void make_map(struct scene *s, struct scene_keys *k)
{
	unsigned int i;

	k->map = aligned_alloc(ODRP_WIRE_PAGE_SIZE, ODRP_WIRE_PAGE_SIZE);
	assert_non_null(k->map);
	memset(k->map, 0, ODRP_WIRE_PAGE_SIZE);
	for (i = 0; i < SCENE_SLOTS; i++)
		assert_int_equal(wrc_keymap_set(&k->map[i], k->key, i), 0);
	assert_int_equal(snic_mkey_reg(s->nic, s->pdn, k->map,
				       SCENE_SLOTS * sizeof(*k->map), 0,
				       SNIC_REMOTE_READ, &k->map_key), 0);
}

static void make_key(struct scene *s, struct scene_keys *k)
{
	struct snic_ksm *ksm;

	assert_int_equal(snic_pd_alloc(s->nic, &k->pdn), 0);
	assert_int_equal(snic_mkey_indirect(s->nic, k->pdn, ENTRIES,
					    SNIC_REMOTE_READ |
					    SNIC_REMOTE_WRITE,
					    WRC_KEY_VARIANT, &k->key), 0);
	ksm = snic_ksm_find(s->nic, k->pdn, k->key);
	assert_non_null(ksm);
	k->entry = ksm->entry;
	scene_watch(s, k->entry, ENTRIES * sizeof(*k->entry));
	make_map(s, k);
}

void scene_keys_open(struct scene *s)
{
	unsigned int c;

	for (c = 0; c < SCENE_CNODES; c++) {
		s->keys[c].pdn = s->pdn;
		if (s->cfg.keyed)
			make_key(s, &s->keys[c]);
	}
}

/* By hand, before anything runs. */
void scene_keys_map(struct scene *s)
{
	unsigned int c, i;

	for (c = 0; s->cfg.keyed && c < SCENE_CNODES; c++)
		for (i = 0; i < SCENE_SLOTS; i++)
			if (s->tt[c][i])
				s->keys[c].entry[i * WRC_KSM_GROUP] =
					(struct wrc_ksm){
						.key = htobe32(s->keys[c].pool),
						.addr = s->tt[c][i],
					};
}

void scene_keys_drop(struct scene *s, unsigned int cnode)
{
	memset(s->keys[cnode].entry, 0, ENTRIES * sizeof(struct wrc_ksm));
}

void scene_keys_close(struct scene *s)
{
	unsigned int c;

	for (c = 0; c < SCENE_CNODES; c++)
		free(s->keys[c].map);
}

uint64_t scene_keys_hash(const struct scene *s, uint64_t h)
{
	struct wrc_ksm entry;
	unsigned int c, i;

	for (c = 0; c < SCENE_CNODES; c++)
		for (i = 0; i < ENTRIES; i++) {
			assert_int_equal(snic_mkey_entry(s->nic, s->keys[c].key,
							 i, &entry), 0);
			h = explore_mix(h, &entry, sizeof(entry));
		}
	return h;
}

void scene_keys_each(const struct scene *s, void *arg,
		     void (*see)(void *arg, unsigned int cnode,
				 const struct wrc_ksm *group))
{
	const struct scene_umr *u;
	unsigned int c, i;

	for (c = 0; c < SCENE_CNODES; c++)
		for (i = 0; i < SCENE_SLOTS; i++)
			see(arg, c, s->keys[c].entry + i * WRC_KSM_GROUP);
	for (i = 0; i < s->cfg.nr_chains; i++) {
		u = &s->st.umr[i];
		if (u->at)
			see(arg, s->cfg.chain[i].cnode, u->is);
	}
}

uint64_t scene_keys_page(const struct scene *s, unsigned int cnode,
			 unsigned int slot)
{
	return s->keys[cnode].entry[slot * WRC_KSM_GROUP].addr;
}
