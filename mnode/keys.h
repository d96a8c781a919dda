/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Translation in the NIC: a CNode's keys, by which it READs and WRITEs the pages
 * of its slots, and what its chains have to know to change them
 * (wrchain/core/keymap.h).
 *
 * They are alone in a protection domain with what its queue pairs need locally:
 * rights for peers are in no other key there.  So whatever key the CNode names,
 * it reaches its own pages or nothing.
 */
#ifndef MNODE_KEYS_H
#define MNODE_KEYS_H

#include <core/keymap.h>
#include "pool.h"

/**
 * struct keys - of one CNode; all zero: none
 * @pdn:	the domain
 * @page_key:	the pool, for what the entries lead to; nothing for peers
 * @nr_slots:	of the session
 * @map, @map_key: for each slot where it is; in the pool's domain, for chains
 * @mapped:	slots that the map has so far
 * @nr, @max, @key: one for each WRC_KEY_SLOTS slots, those that are made so far
 * @published, @published_key: the same in big endian, for the CNode's READs over its admin
 *		connection
 */
struct keys {
	struct pool *pool;
	uint32_t pdn, page_key;
	uint64_t nr_slots, mapped;
	struct mem map;
	uint32_t map_key;
	size_t nr, max;
	uint32_t *key;
	struct mem published;
	uint32_t published_key;
};

/*
 * Making and unmaking them in pieces, so that nobody waits while somebody gets many:
 * keys_make() makes so many more keys, keys_map() so many slots of the map, which
 * chains need, and the CNode does not.  -EAGAIN: there are more.
 */
int keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	       uint64_t nr_slots);
/* -EOPNOTSUPP: the NIC has no such keys. */
int keys_make(struct keys *k, unsigned int most);
int keys_map(struct keys *k, uint64_t most);
/* When all queue pairs in the domain are gone.  Also of all-zero keys.  True: no
 * more is left. */
bool keys_drop(struct keys *k, unsigned int most);

/* All at once. */
int keys_init(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	      uint64_t nr_slots);
void keys_fini(struct keys *k);

static inline bool keys_exist(const struct keys *k)
{
	return k->pool;
}

#endif /* MNODE_KEYS_H */
