/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct slabs of a session (ODRP_WIRE_F_DIRECT): runs of pages of the pool, each under a key
 * of its own, which the CNode READs and WRITEs without any chain.
 *
 * The keys are in a protection domain of the session. No other key in it gives rights to
 * peers, so whatever key the CNode names, it reaches slabs of its own or nothing.
 *
 * A slab is *made*: pages of the pool, cleared, under a key, in the table that the CNode
 * reads. It is *cut* when the CNode does not hold it: out of the table, its key away. Its
 * pages go back to the pool behind a fence of the NIC (lend.c), which clears them before the
 * next grant. The number of the slab, with another generation, is used again.
 *
 * The CNode says which slabs it holds by a bitmap, whose hash is in the heartbeat. The bitmap
 * counts only if it has the hash of the last heartbeat that was accepted. Between two grants
 * the CNode takes no slab, so one that is not in that bitmap can be cut, once the CNode has
 * surely read the last grant (lease_settled()). The bitmap is as long
 * as the device is large: the agent reads it only when it wants slabs back, and once between
 * two ticks, however often heartbeats come.
 */
#ifndef MNODE_SLABS_H
#define MNODE_SLABS_H

#include "../page/pool.h"

#define SLABS_NONE	UINT32_MAX

/**
 * struct slab_record - a slab, in the kept files
 * @page:	number of the first page
 * @generation:	as in the table that the CNode reads
 * @valid:	SLAB_VALID: the slab is made; written last, and cleared first
 */
struct slab_record {
	uint64_t page;
	uint32_t generation;
	uint32_t valid;
};

#define SLAB_VALID	0x736c6162u

/**
 * struct slabs - slabs of one session; all zero: none
 * @pdn:	the protection domain
 * @max:	most slabs
 * @top:	all slabs that are made have lower numbers
 * @low:	no lower number is free
 * @nr:		slabs that are made
 * @nr_cut:	slabs whose keys are away, and whose pages are not in the pool yet
 * @record:	the slabs, by number; a cut one has pages, too, until they are in the pool
 * @key:	by number; 0: there is none
 * @cut:	by number: the slab is cut
 * @published, @published_key: the table for the CNode, struct odrp_wire_slab
 * @told:	where the CNode WRITEs the bitmap of slabs that it holds
 * @held, @held_hash: the bitmap when it was read last, and its hash
 * @beat_hash:	the hash in the last accepted heartbeat
 * @heard:	there was one since the connection began
 * @read:	the bitmap was read since the last tick
 * @cut_low:	no lower number is of a cut slab
 * @untold:	slabs have been made that the CNode may not have read, and no grant was since
 * @failed:	-errno: the NIC has not destroyed the key of a slab that was to be cut; else 0
 */
struct slabs {
	struct pool *pool;
	uint32_t pdn;
	uint32_t max, top, low, nr, nr_cut;
	volatile struct slab_record *record;
	uint32_t *key;
	bool *cut;
	struct mem published;
	uint32_t published_key;
	const volatile uint8_t *told;
	uint8_t *held;
	uint8_t held_hash[32], beat_hash[32];
	uint32_t cut_low;
	int failed;
	bool heard, read, untold;
};

/* The bytes that the records of so many slots take. */
static inline size_t slabs_record_len(uint64_t nr_slots)
{
	return odrp_wire_max_slabs(nr_slots) * sizeof(struct slab_record);
}

/* Makes room for the slabs. The table is published in the domain of the admin connection.
 * records: slabs_record_len() bytes of zeros, or of the agent before this one; told: where the
 * CNode WRITEs its bitmap. */
int slabs_begin(struct slabs *sl, struct pool *pool, uint32_t admin_pdn, uint64_t nr_slots,
		void *records, const volatile void *told);
/*
 * Makes a slab of the owner. -ENOMEM: there are no such pages; -EAGAIN: each number has a
 * slab that is not given back yet; else -errno: the NIC makes no key.
 */
int slabs_add(struct slabs *sl, uint16_t owner);
/* Makes keys for slabs of the records, at most that many. -EAGAIN: there are more. */
int slabs_restore(struct slabs *sl, unsigned int most);
/* True, if the records can be those of slabs whose pages belong to owner; marks the pages in
 * @seen, where none is marked twice. */
bool slabs_records_ok(const struct slab_record *rec, uint64_t nr_slots, uint16_t owner,
		      const uint16_t *owners, uint64_t nr_pages, uint8_t *seen);
/* The highest slab that the CNode does not hold; SLABS_NONE, also if that is unknown. May read
 * the bitmap. */
uint32_t slabs_idle(struct slabs *sl);
/* A heartbeat period has passed: the bitmap may be read again. */
static inline void slabs_tick(struct slabs *sl)
{
	sl->read = false;
}

/* Takes the key of a slab away. The NIC may still write what has come before. -errno: the NIC
 * has not destroyed the key, and the CNode may use it. The slab stays made, out of the table:
 * the session has to end. */
int slabs_cut(struct slabs *sl, uint32_t nr);
/* Returns the pages of a cut slab to the pool, behind a fence. False: there is none. */
bool slabs_return(struct slabs *sl);
/* An accepted heartbeat has this hash. */
void slabs_heard(struct slabs *sl, const uint8_t hash[32]);
/* The connection has ended. */
static inline void slabs_forget(struct slabs *sl)
{
	sl->heard = false;
}

/* Drops at most that many keys, and the rest after the last one; all-zero slabs are allowed.
 * True: nothing is left. Queue pairs in the domain are destroyed. The pages stay; with
 * @withhold, pages whose key the NIC does not destroy are withheld (pool.h). */
bool slabs_drop(struct slabs *sl, unsigned int most, bool withhold);

static inline bool slabs_exist(const struct slabs *sl)
{
	return sl->pool;
}

/* How many slabs there are beyond a lease of so many pages. */
static inline uint32_t slabs_over(const struct slabs *sl, uint64_t pages)
{
	uint64_t most = pages / ODRP_WIRE_SLAB_PAGES;

	return sl->nr > most ? sl->nr - most : 0;
}

/* Pages of slabs that are cut, and not in the pool yet. */
static inline uint64_t slabs_cut_pages(const struct slabs *sl)
{
	return (uint64_t)sl->nr_cut * ODRP_WIRE_SLAB_PAGES;
}

#endif /* MNODE_SLABS_H */
