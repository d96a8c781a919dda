// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What must hold of keys at any moment, whoever asks for what (translation in the
 * NIC): a page that a CNode's key leads to is that CNode's, and is neither in its
 * ring nor in the agent's hand, from where it would come to others.  And pages
 * that are nobody's are touched by nobody.
 */
#include <endian.h>
#include <string.h>
#include "core/keymap.h"
#include "client.h"

#define MAX_PAGES	1024
#define PAGE		ODRP_WIRE_PAGE_SIZE

/* On their way to somebody else, by their number. */
static bool is_free[MAX_PAGES];

static void see_free(const struct pool *pool, uint64_t addr)
{
	uint64_t page;

	if (page_index(addr, pool->pages, &page))
		is_free[page] = true;
}

/* Slots of a ring hold a page or 0, whatever its head and tail say. */
static void see_sess(const struct pool *pool, const struct sess *s)
{
	size_t i;

	for (i = 0; i < ring_slots(s->ring.log_len); i++)
		if (s->ring.slot[i])
			see_free(pool, be64toh(s->ring.slot[i]));
	for (i = 0; i < s->held.nr; i++)
		see_free(pool, s->held.at[i]);
}

static void see_all_free(const struct life *l)
{
	const struct manager *m = &l->bed.m;
	unsigned int i;

	assert_true(m->pool.pages <= MAX_PAGES);
	memset(is_free, 0, sizeof(is_free));
	for (i = 0; i < m->nr_sess; i++)
		if (sess_is_live(m->sess[i]))
			see_sess(&m->pool, m->sess[i]);
	for (i = 0; i < m->pool.pages; i++)
		if (free_map_has(&m->pool.free, i))
			is_free[i] = true;
}

static bool leads_well(const struct life *l, const struct sess *s,
		       const struct wrc_ksm *ksm)
{
	const struct pool *pool = &l->bed.m.pool;
	uint64_t page;

	if (ksm->resv)
		return false;
	if (!ksm->key)
		return !ksm->addr;
	return be32toh(ksm->key) == s->keys.page_key &&
	       page_index(be64toh(ksm->addr), pool->pages, &page) &&
	       pool->owner[page] == s->owner && !is_free[page];
}

static void look_at_slot(struct life *l, const struct sess *s, uint64_t slot)
{
	static const struct wrc_ksm nothing;
	uint32_t first = slot % WRC_KEY_SLOTS * WRC_KSM_GROUP, i;
	struct wrc_ksm ksm;

	for (i = 0; i < WRC_KSM_GROUP; i++) {
		if (snic_mkey_entry(l->bed.host.nic,
				    s->keys.key[slot / WRC_KEY_SLOTS],
				    first + i, &ksm) ||
		    (i && memcmp(&ksm, &nothing, sizeof(ksm))) ||
		    !leads_well(l, s, &ksm))
			life_wrong(l, WRONG_KEY, "slot %lu of session %lu, "
				   "entry %u: %#x:%#lx",
				   (unsigned long)slot, (unsigned long)s->id, i,
				   be32toh(ksm.key),
				   (unsigned long)be64toh(ksm.addr));
	}
}

/* Only the last ones of many slots are used; the key of some is not yet made, or gone. */
static void look_at_sess(struct life *l, const struct sess *s)
{
	uint64_t slot = s->tt.nr_slots > HOSTILE_SLOTS ?
			s->tt.nr_slots - HOSTILE_SLOTS : 0;

	for (; slot < s->tt.nr_slots && slot / WRC_KEY_SLOTS < s->keys.nr; slot++)
		look_at_slot(l, s, slot);
}

void look_at_keys(struct life *l)
{
	struct manager *m = &l->bed.m;
	const struct sess *s;
	unsigned int i;

	if (!bed_keyed)
		return;
	see_all_free(l);
	for (i = 0; i < m->nr_sess; i++)
		if (keys_exist(&m->sess[i]->keys))
			look_at_sess(l, m->sess[i]);
	/* One that dies loses its keys in pieces, and then its pages. */
	for (s = m->old; s; s = s->next_old)
		if (keys_exist(&s->keys))
			life_wrong(l, WRONG_KEY, "session %lu is no more, and "
				   "has keys", (unsigned long)s->id);
}

/* ---- with nothing under way -------------------------------------------------------- */

static void compare(struct life *l, const struct sess *s, uint64_t slot)
{
	__be64 entry = s->tt.entries[slot];
	struct wrc_ksm ksm;

	look_at_slot(l, s, slot);
	if (snic_mkey_entry(l->bed.host.nic, s->keys.key[slot / WRC_KEY_SLOTS],
			    slot % WRC_KEY_SLOTS * WRC_KSM_GROUP, &ksm) ||
	    ksm.addr != entry)
		life_wrong(l, WRONG_ENTRY, "slot %lu of session %lu: the key "
			   "leads to %#lx, and the table says %#lx",
			   (unsigned long)slot, (unsigned long)s->id,
			   (unsigned long)be64toh(ksm.addr),
			   (unsigned long)be64toh(entry));
}

static bool is_honest(const struct life *l, const struct sess *s)
{
	struct cnode_info info;
	unsigned int i;

	for (i = 0; i < NR_HONEST; i++) {
		cnode_info(l->bed.nodes[i].cnode, &info);
		if (info.session == s->id)
			return true;
	}
	return false;
}

/* Two at a time on one slot may leave it without a page that its CNode had. */
static bool is_in_order(const struct life *l, const struct sess *s)
{
	return !(l->acts & (ACT_SAME_SLOT | ACT_DROP)) || is_honest(l, s);
}

void look_at_all_keys(struct life *l)
{
	struct manager *m = &l->bed.m;
	unsigned int i;
	uint64_t slot;

	look_at_keys(l);
	for (i = 0; i < m->nr_sess; i++) {
		const struct sess *s = m->sess[i];

		if (!keys_exist(&s->keys) || !is_in_order(l, s))
			continue;
		for (slot = 0; slot < s->tt.nr_slots; slot++)
			compare(l, s, slot);
	}
}

/* ---- pages of nobody --------------------------------------------------------------- */

static __be32 mark[PAGE / sizeof(__be32)];
static bool is_marked[MAX_PAGES];

static void make_mark(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(mark) / sizeof(mark[0]); i++)
		mark[i] = htobe32(NOBODYS_MAGIC);
}

static void look_at_free(struct life *l, uint64_t page)
{
	uint8_t *at = (uint8_t *)l->bed.m.pool.page_mem.va + page * PAGE;

	if (is_marked[page] && memcmp(at, mark, PAGE))
		life_wrong(l, WRONG_POOL, "page %lu was written to while it was "
			   "nobody's", (unsigned long)page);
	memcpy(at, mark, PAGE);
}

void look_at_pool(struct life *l)
{
	const struct pool *pool = &l->bed.m.pool;
	bool now[MAX_PAGES] = { false };
	uint64_t i;

	make_mark();
	/* Some may have come and gone meanwhile. */
	if (l->lent_then != l->bed.m.lender.nr_lent)
		memset(is_marked, 0, sizeof(is_marked));
	for (i = 0; i < pool->pages; i++) {
		now[i] = free_map_has(&pool->free, i);
		if (now[i])
			look_at_free(l, i);
	}
	memcpy(is_marked, now, sizeof(is_marked));
	l->lent_then = l->bed.m.lender.nr_lent;
}
