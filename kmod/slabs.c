// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The slabs of a session with ODRP_WIRE_F_DIRECT.  The memory node has a table of them,
 * which is read over the admin connection: when the connections for I/O are made, whenever
 * a grant comes, and when the session is resumed, because a memory node that has restarted
 * has made new keys.  A slab belongs to the device from then on, until a heartbeat no longer
 * names it in the bitmap of held slabs.  place.c has what is known of each slab.
 *
 * The device takes slabs only because of an accept or a grant, and then as many as it was
 * granted.  So a slab that is not in the bitmap of a heartbeat is not taken before the next
 * grant, and the memory node may withdraw it.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

#define SLABS_PER_READ	(PAGE_SIZE / sizeof(struct odrp_wire_slab))

static u64 round_to_slab(u64 pages)
{
	return (u64)odrp_wire_max_slabs(pages) * ODRP_WIRE_SLAB_PAGES;
}

static int make_places(struct odrp_places *p, u64 nr_slots)
{
	u32 max = odrp_wire_max_slabs(nr_slots), i;

	for (i = 0; i < ODRP_SLAB_LEVELS; i++) {
		p->room[i] = odrp_bitmap_alloc(max);
		if (!p->room[i])
			return -ENOMEM;
	}
	p->slab = odrp_table_alloc(max, sizeof(*p->slab));
	p->taken = odrp_bitmap_alloc((u64)max * ODRP_WIRE_SLAB_PAGES);
	if (!p->slab || !p->taken)
		return -ENOMEM;
	for (i = 0; i < max; i++)
		p->slab[i].used = ODRP_SLAB_AWAY;
	p->max = max;
	return 0;
}

static int make_buffers(struct odrp_sess *s)
{
	struct odrp_slabs *b = &s->slabs;
	int err;

	b->table = odrp_alloc((void *)get_zeroed_page(GFP_KERNEL));
	if (!b->table)
		return -ENOMEM;
	err = odrp_map(s->ibdev, b->table, PAGE_SIZE, DMA_FROM_DEVICE, &b->dma);
	if (err)
		goto free_table;
	b->held_len = odrp_wire_held_len(s->dev->slots.nr);
	b->held = odrp_alloc(kzalloc(b->held_len, ODRP_GFP_CHOSEN));
	err = b->held ? odrp_map(s->ibdev, b->held, b->held_len, DMA_TO_DEVICE,
				 &b->held_dma) : -ENOMEM;
	if (!err)
		return 0;
	kfree(b->held);
	b->held = NULL;
	ib_dma_unmap_single(s->ibdev, b->dma, PAGE_SIZE, DMA_FROM_DEVICE);
free_table:
	free_page((unsigned long)b->table);
	b->table = NULL;
	return err;
}

/*
 * odrp_slabs_init() - make what a new session needs for slabs, if it has them
 *
 * Return: 0 or -errno.  odrp_slabs_exit() and odrp_slabs_free() release the memory, also
 * after an error.
 */
int odrp_slabs_init(struct odrp_sess *s)
{
	int err;

	if (!odrp_sess_direct(s))
		return 0;
	err = make_places(&s->dev->places, s->dev->slots.nr);
	return err ?: make_buffers(s);
}

/* Look at entries that have been read. */
static int see_entries(struct odrp_sess *s, u32 first, u32 n)
{
	struct odrp_slabs *b = &s->slabs;
	int err = 0;
	u32 i;

	ib_dma_sync_single_for_cpu(s->ibdev, b->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	for (i = 0; !err && i < n; i++)
		err = odrp_slab_see(&s->dev->places, first + i, &b->table[i]);
	ib_dma_sync_single_for_device(s->ibdev, b->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	if (err)
		pr_err("odrp%d: %pISpc: slab %u, which has pages, is gone\n",
		       s->dev->id, &s->addr.dst, first + i - 1);
	return err;
}

/* Read the first entries of the table, and take slabs that have been granted. */
static int read_table(struct odrp_sess *s, u32 nr, unsigned int timeout_ms)
{
	struct odrp_places *p = &s->dev->places;
	u32 first, n;
	int err = 0;

	lockdep_assert_held(&s->slabs.lock);
	for (first = 0; !err && first < nr; first += n) {
		n = min_t(u32, nr - first, SLABS_PER_READ);
		err = odrp_admin_read(s, s->slabs.dma, n * sizeof(struct odrp_wire_slab),
				      (u64)first * sizeof(struct odrp_wire_slab),
				      s->keys.rkey, timeout_ms);
		if (!err)
			err = see_entries(s, first, n);
	}
	atomic64_set(&s->dev->lease.limit, odrp_places_limit(p));
	return err;
}

/*
 * odrp_slabs_read() - read the whole table over the admin connection
 *
 * A new session calls this after its first connection for I/O: the memory node has made its
 * slabs.  For a session that is resumed, before any: requests that are posted again use new
 * keys.  Sleeps.
 *
 * Return: 0, also for a session without slabs; -EPROTO when a slab with pages is gone; else
 * -errno.
 */
int odrp_slabs_read(struct odrp_sess *s)
{
	int err;

	if (!s->slabs.table)
		return 0;
	mutex_lock(&s->slabs.lock);
	err = read_table(s, s->dev->places.max, ODRP_READ_MS);
	mutex_unlock(&s->slabs.lock);
	return err;
}

/* odrp_slabs_accepted() - the lease of an accept: how many slabs may be taken */
void odrp_slabs_accepted(struct odrp_sess *s, u64 lease)
{
	struct odrp_places *p = &s->dev->places;

	p->granted = min(lease, round_to_slab(s->dev->slots.nr));
	p->back = odrp_places_over(p);
	atomic64_set(&s->dev->lease.limit, odrp_places_limit(p));
}

/*
 * odrp_slabs_granted() - a grant has come: take slabs, or give some back
 *
 * The memory node counts slabs that it has made, and not all of them are held.  So only what
 * is held beyond the lease goes back, whatever the grant says: a slab that the lease covers
 * would not come again before another grant.  Sleeps.
 */
void odrp_slabs_granted(struct odrp_sess *s, const struct odrp_wire_grant *g)
{
	struct odrp_places *p = &s->dev->places;
	int err;

	mutex_lock(&s->slabs.lock);
	p->granted = min(be64_to_cpu(g->lease), round_to_slab(s->dev->slots.nr));
	p->back = odrp_places_over(p);
	/* The session is live: a stall that a heartbeat survives does not break it. */
	err = read_table(s, min(be32_to_cpu(g->slabs), p->max),
			 READ_ONCE(s->dev->timeout_ms));
	mutex_unlock(&s->slabs.lock);
	if (err == -EPROTO)
		odrp_sess_die(s, "slabs with pages are gone");
	else if (err)
		odrp_sess_fail(s, "reading the table of slabs: error %d", err);
}

static void hash_held(struct odrp_slabs *b, u8 *ret_hash)
{
	odrp_compat_sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, b->held, b->held_len);
	sha256_final(&sha, ret_hash);
}

/* Pages of whole slabs that the device needs, if its used pages fill slabs. */
static u64 want_pages(struct odrp_sess *s)
{
	struct odrp_dev *dev = s->dev;
	u64 used = odrp_lease_used(&dev->lease), limit = atomic64_read(&dev->lease.limit);

	return round_to_slab(odrp_sess_asks(s) ?
			     odrp_ask_want(&dev->ask, used, limit, dev->slots.nr) :
			     odrp_lease_want(used, dev->slots.nr));
}

/*
 * odrp_slabs_beat() - fill the fields of a heartbeat that are about slabs and the lease
 *
 * A page that is not used costs the memory node a page all the same if it is in a slab with
 * used ones: the fields count whole slabs.  Gives back slabs that are to be given back and
 * are empty.  The caller writes the bitmap before the heartbeat.
 */
void odrp_slabs_beat(struct odrp_sess *s, struct odrp_wire_beat *w)
{
	struct odrp_dev *dev = s->dev;
	struct odrp_places *p = &dev->places;
	struct odrp_slabs *b = &s->slabs;
	u64 used, want, held;

	mutex_lock(&b->lock);
	want = want_pages(s);
	p->spare = want / ODRP_WIRE_SLAB_PAGES < p->nr_held && odrp_sess_asks(s) ?
		   p->nr_held - want / ODRP_WIRE_SLAB_PAGES : 0;
	odrp_slabs_give(p);
	used = (u64)odrp_slabs_in_use(p) * ODRP_WIRE_SLAB_PAGES;
	held = (u64)p->nr_held * ODRP_WIRE_SLAB_PAGES;
	atomic64_set(&dev->lease.limit, odrp_places_limit(p));
	w->used = cpu_to_be64(used);
	w->want = cpu_to_be64(max(used, want));
	w->lease_held = cpu_to_be64(max(held, p->granted));
	ib_dma_sync_single_for_cpu(s->ibdev, b->held_dma, b->held_len, DMA_TO_DEVICE);
	odrp_slabs_bitmap(p, b->held);
	hash_held(b, w->slabs);
	ib_dma_sync_single_for_device(s->ibdev, b->held_dma, b->held_len, DMA_TO_DEVICE);
	mutex_unlock(&b->lock);
	odrp_move_now(dev);
}

/* Release the buffers.  The admin connection has no request in flight. */
void odrp_slabs_exit(struct odrp_sess *s)
{
	struct odrp_slabs *b = &s->slabs;

	if (!b->table)
		return;
	ib_dma_unmap_single(s->ibdev, b->held_dma, b->held_len, DMA_TO_DEVICE);
	ib_dma_unmap_single(s->ibdev, b->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	kfree(b->held);
	free_page((unsigned long)b->table);
	b->held = NULL;
	b->table = NULL;
}

/* Free what is known of slabs.  No request is posted any more. */
void odrp_slabs_free(struct odrp_sess *s)
{
	struct odrp_places *p = &s->dev->places;
	unsigned int i;

	vfree(p->slab);
	vfree(p->taken);
	for (i = 0; i < ODRP_SLAB_LEVELS; i++)
		vfree(p->room[i]);
	*p = (struct odrp_places) { };
}
