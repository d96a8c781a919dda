/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Translation in the NIC: the indirect keys by which a CNode READs and WRITEs the pages
 * of its slots, and the key map by which its chains change them (wrchain/core/keymap.h).
 *
 * The keys are in a protection domain of their own. It also has what the CNode's queue
 * pairs need locally, but no other key there gives rights to peers. So whatever key the
 * CNode names, it reaches its own pages or nothing.
 */
#ifndef MNODE_KEYS_H
#define MNODE_KEYS_H

#include <core/keymap.h>
#include "../page/pool.h"

/**
 * struct keys - keys of one CNode; all zero: none
 * @pdn:	the protection domain
 * @page_key:	the pool: entries of indirect keys lead to pages under this key; it gives no
 *		rights to peers
 * @nr_slots:	slots of the session
 * @map, @map_key: the key map, which chains read; in the pool's protection domain
 * @mapped:	slots whose entries of the key map are written
 * @key:	one indirect key for each WRC_KEY_SLOTS slots
 * @nr, @max:	how many of these are created, and how many are needed
 * @published, @published_key: the same keys in big endian, for READs of the CNode over its
 *		admin connection
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
 * Keys are created and destroyed in pieces, so that no session waits long for another one
 * that has many. After keys_begin(), keys_make() creates at most that many keys, and
 * keys_map() writes at most that many entries of the key map, which the chains need, not
 * the CNode. -EAGAIN: more are left to do.
 */
int keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	       uint64_t nr_slots);
/* -EOPNOTSUPP: the NIC has no such keys. */
int keys_make(struct keys *k, unsigned int most);
int keys_map(struct keys *k, uint64_t most);
/* Destroys at most that many keys, and the rest after the last key. Call it when all queue
 * pairs in the protection domain are destroyed. All-zero keys are allowed. True: nothing
 * is left. */
bool keys_drop(struct keys *k, unsigned int most);

/* The same all at once. */
int keys_init(struct keys *k, struct pool *pool, uint32_t admin_pdn,
	      uint64_t nr_slots);
void keys_fini(struct keys *k);

static inline bool keys_exist(const struct keys *k)
{
	return k->pool;
}

#endif /* MNODE_KEYS_H */
