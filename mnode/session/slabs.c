// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Makes slabs, and takes them back; see slabs.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../userspace/auth/auth.h"
#include "slabs.h"

#define SLAB_LEN	((uint64_t)1 << ODRP_WIRE_LOG_SLAB)

_Static_assert(sizeof(struct slab_record) == 16, "kept files");

/* Addresses of two slabs differ, so a wrong key does not open the right address. */
static uint64_t slab_iova(uint32_t nr)
{
	return (uint64_t)nr << ODRP_WIRE_LOG_SLAB;
}

static bool slab_made(const struct slabs *sl, uint32_t nr)
{
	return sl->record[nr].valid == SLAB_VALID && !sl->cut[nr];
}

static int publish(struct slabs *sl, uint32_t admin_pdn)
{
	struct nic *nic = sl->pool->nic;
	size_t len = sl->max * sizeof(struct odrp_wire_slab);
	int r = mem_map(len, 0, &sl->published);

	if (r)
		return r;
	r = nic->ops->mr_reg(nic, admin_pdn, sl->published.va, len, 0, NIC_REMOTE_READ,
			     &sl->published_key);
	if (r)
		mem_unmap(&sl->published);
	return r;
}

/* Counts slabs of an earlier agent. */
static void records_count(struct slabs *sl)
{
	uint32_t nr;

	for (nr = 0; nr < sl->max; nr++) {
		if (sl->record[nr].valid != SLAB_VALID)
			continue;
		sl->nr++;
		sl->top = nr + 1;
	}
}

static void free_lists(struct slabs *sl)
{
	free(sl->key);
	free(sl->cut);
	free(sl->held);
}

int slabs_begin(struct slabs *sl, struct pool *pool, uint32_t admin_pdn, uint64_t nr_slots,
		void *records, const volatile void *told)
{
	struct nic *nic = pool->nic;
	int r;

	*sl = (struct slabs){
		.pool = pool, .max = odrp_wire_max_slabs(nr_slots), .record = records,
		.told = told,
	};
	r = nic->ops->pd_alloc(nic, &sl->pdn);
	if (r)
		goto forget;
	r = -ENOMEM;
	sl->key = calloc(sl->max, sizeof(*sl->key));
	sl->cut = calloc(sl->max, sizeof(*sl->cut));
	sl->held = calloc(1, odrp_wire_held_len(nr_slots));
	if (sl->key && sl->cut && sl->held)
		r = publish(sl, admin_pdn);
	if (r)
		goto free_lists;
	records_count(sl);
	return 0;

free_lists:
	free_lists(sl);
	nic->ops->pd_free(nic, sl->pdn);
forget:
	*sl = (struct slabs){ 0 };
	return r;
}

/* Makes the key of a slab whose pages are its own, and names it to the CNode. */
static int slab_open(struct slabs *sl, uint32_t nr, uint64_t page, uint32_t generation)
{
	volatile struct odrp_wire_slab *w = sl->published.va;
	struct nic *nic = sl->pool->nic;
	int r;

	r = nic->ops->mr_reg(nic, sl->pdn, pool_va(sl->pool, page), SLAB_LEN, slab_iova(nr),
			     NIC_LOCAL_WRITE | NIC_REMOTE_READ | NIC_REMOTE_WRITE,
			     &sl->key[nr]);
	if (r)
		return r;
	w += nr;
	w->addr = htobe64(slab_iova(nr));
	w->rkey = htobe32(sl->key[nr]);
	w->generation = htobe16(generation);
	/* The CNode may READ the entry at any time: the kind comes last. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	w->kind = ODRP_WIRE_SLAB_DIRECT;
	return 0;
}

/* Nobody reaches the pages yet. */
static void pages_clear(struct pool *pool, uint64_t page)
{
	__u64 addr;
	uint32_t i;

	for (i = 0; i < ODRP_WIRE_SLAB_PAGES; i++) {
		addr = page_addr(page + i);
		pool_scrub(pool, 1, &addr);
	}
}

static uint32_t number_free(struct slabs *sl)
{
	while (sl->low < sl->max && sl->record[sl->low].valid == SLAB_VALID)
		sl->low++;
	return sl->low;
}

/* The record is complete before the CNode can have stored anything in the slab. */
static void record_put(struct slabs *sl, uint32_t nr, uint64_t page)
{
	volatile struct slab_record *rec = &sl->record[nr];

	rec->page = page;
	rec->generation++;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rec->valid = SLAB_VALID;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

int slabs_add(struct slabs *sl, uint16_t owner)
{
	uint32_t nr = number_free(sl);
	uint64_t page;
	int r;

	if (nr == sl->max)
		return -EAGAIN;
	r = pool_take_slab(sl->pool, owner, &page);
	if (r)
		return r;
	pages_clear(sl->pool, page);
	record_put(sl, nr, page);
	r = slab_open(sl, nr, page, sl->record[nr].generation);
	if (r) {
		sl->record[nr].valid = 0;
		pool_give_run(sl->pool, page, ODRP_WIRE_SLAB_PAGES);
		return r;
	}
	sl->nr++;
	if (nr >= sl->top)
		sl->top = nr + 1;
	return 0;
}

int slabs_restore(struct slabs *sl, unsigned int most)
{
	uint32_t nr;
	int r;

	for (nr = 0; nr < sl->top; nr++) {
		if (!slab_made(sl, nr) || sl->key[nr])
			continue;
		if (!most--)
			return -EAGAIN;
		r = slab_open(sl, nr, sl->record[nr].page, sl->record[nr].generation);
		if (r)
			return r;
	}
	return 0;
}

static bool run_ok(uint64_t page, uint16_t owner, const uint16_t *owners,
		   uint64_t nr_pages, uint8_t *seen)
{
	uint64_t i;

	if (page > nr_pages || nr_pages - page < ODRP_WIRE_SLAB_PAGES)
		return false;
	for (i = page; i < page + ODRP_WIRE_SLAB_PAGES; i++) {
		if (owners[i] != owner || seen[i])
			return false;
		seen[i] = 1;
	}
	return true;
}

bool slabs_records_ok(const struct slab_record *rec, uint64_t nr_slots, uint16_t owner,
		      const uint16_t *owners, uint64_t nr_pages, uint8_t *seen)
{
	uint32_t nr, max = odrp_wire_max_slabs(nr_slots);

	for (nr = 0; nr < max; nr++)
		if (rec[nr].valid == SLAB_VALID &&
		    !run_ok(rec[nr].page, owner, owners, nr_pages, seen))
			return false;
	return true;
}

/* Is @held what the CNode holds? */
static bool held_is_known(const struct slabs *sl)
{
	return sl->heard && !memcmp(sl->held_hash, sl->beat_hash, sizeof(sl->beat_hash));
}

/* The CNode may write meanwhile: hashes and uses the same copy. */
static void held_read(struct slabs *sl)
{
	size_t len = (sl->max + 63) / 64 * 8, i;

	for (i = 0; i < len; i++)
		sl->held[i] = sl->told[i];
	auth_hash(sl->held, len, sl->held_hash);
	sl->read = true;
}

uint32_t slabs_idle(struct slabs *sl)
{
	uint32_t nr;

	if (!held_is_known(sl) && sl->heard && !sl->read)
		held_read(sl);
	for (nr = held_is_known(sl) ? sl->top : 0; nr--; ) {
		if (sl->held[nr / 8] == 0xff)
			nr &= ~7u;
		else if (slab_made(sl, nr) && !(sl->held[nr / 8] & 1u << nr % 8))
			return nr;
	}
	return SLABS_NONE;
}

int slabs_cut(struct slabs *sl, uint32_t nr)
{
	volatile struct odrp_wire_slab *w = sl->published.va;
	struct nic *nic = sl->pool->nic;

	w[nr].kind = ODRP_WIRE_SLAB_NONE;
	/* No READ finds the key any more when it goes. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	w[nr].rkey = 0;
	sl->failed = nic->ops->mr_dereg(nic, sl->key[nr]);
	if (sl->failed)
		return sl->failed;
	sl->key[nr] = 0;
	sl->cut[nr] = true;
	sl->nr--;
	sl->nr_cut++;
	if (nr < sl->cut_low)
		sl->cut_low = nr;
	while (sl->top && !slab_made(sl, sl->top - 1))
		sl->top--;
	return 0;
}

bool slabs_return(struct slabs *sl)
{
	uint32_t nr;

	for (nr = sl->cut_low; sl->nr_cut && nr < sl->max; nr++) {
		if (!sl->cut[nr])
			continue;
		sl->cut_low = nr + 1;
		sl->record[nr].valid = 0;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		pool_give_run(sl->pool, sl->record[nr].page, ODRP_WIRE_SLAB_PAGES);
		sl->cut[nr] = false;
		sl->nr_cut--;
		if (nr < sl->low)
			sl->low = nr;
		return true;
	}
	return false;
}

void slabs_heard(struct slabs *sl, const uint8_t hash[32])
{
	memcpy(sl->beat_hash, hash, sizeof(sl->beat_hash));
	sl->heard = true;
}

static void key_drop(struct slabs *sl, uint32_t nr, bool withhold)
{
	struct nic *nic = sl->pool->nic;
	int r = nic->ops->mr_dereg(nic, sl->key[nr]);

	sl->key[nr] = 0;
	if (!r || !withhold)
		return;
	sl->record[nr].valid = 0;
	pool_withhold(sl->pool, sl->record[nr].page, ODRP_WIRE_SLAB_PAGES);
}

bool slabs_drop(struct slabs *sl, unsigned int most, bool withhold)
{
	struct nic *nic;
	uint32_t nr;

	if (!slabs_exist(sl))
		return true;
	nic = sl->pool->nic;
	for (nr = 0; nr < sl->max; nr++) {
		if (!sl->key[nr])
			continue;
		if (!most--)
			return false;
		key_drop(sl, nr, withhold);
	}
	nic->ops->mr_dereg(nic, sl->published_key);
	mem_unmap(&sl->published);
	free_lists(sl);
	nic->ops->pd_free(nic, sl->pdn);
	*sl = (struct slabs){ 0 };
	return true;
}
