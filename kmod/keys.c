// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rkeys of a session whose memory node translates in its NIC (ODRP_WIRE_F_KEYED).  They
 * are read over the admin connection, before any I/O connection is made, and again
 * whenever the session is resumed: a memory node that has restarted has made new rkeys for
 * the same pages.
 *
 * The memory node decides which pages the rkeys open, and may withdraw a page: its NIC
 * refuses an access to a slot that is not mapped, which breaks the connection.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "odrp.h"

#define KEYS_PER_READ	(PAGE_SIZE / sizeof(__be32))

static u32 nr_keys(const struct odrp_sess *s)
{
	return odrp_keys_of(s->dev->slots.nr);
}

/* No request uses rkeys while this runs: no I/O connection is live. */
static void keys_take(struct odrp_sess *s, u32 first, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		s->keys.rkeys[first + i] = be32_to_cpu(s->keys.buf[i]);
}

/* Read all rkeys.  No connection posts READs or WRITEs while this runs.  Sleeps. */
static int keys_read(struct odrp_sess *s)
{
	struct odrp_keys *k = &s->keys;
	u32 first, n, nr = nr_keys(s);
	int err = 0;

	for (first = 0; first < nr && !err; first += n) {
		n = min_t(u32, nr - first, KEYS_PER_READ);
		err = odrp_admin_read(s, k->dma, n * sizeof(__be32),
				      (u64)first * sizeof(__be32), k->rkey,
				      ODRP_READ_MS);
		if (err)
			break;
		ib_dma_sync_single_for_cpu(s->ibdev, k->dma, PAGE_SIZE,
					   DMA_FROM_DEVICE);
		keys_take(s, first, n);
		ib_dma_sync_single_for_device(s->ibdev, k->dma, PAGE_SIZE,
					      DMA_FROM_DEVICE);
	}
	return err;
}

static int keys_make(struct odrp_sess *s)
{
	struct odrp_keys *k = &s->keys;
	int err;

	k->rkeys = odrp_alloc(kvcalloc(nr_keys(s), sizeof(*k->rkeys),
				       ODRP_GFP_CHOSEN));
	if (!k->rkeys)
		return -ENOMEM;
	k->buf = odrp_alloc((void *)get_zeroed_page(GFP_KERNEL));
	if (!k->buf)
		return -ENOMEM;
	err = odrp_map(s->ibdev, k->buf, PAGE_SIZE, DMA_FROM_DEVICE, &k->dma);
	if (err) {
		free_page((unsigned long)k->buf);
		k->buf = NULL;
	}
	return err;
}

/*
 * odrp_keys_init() - read the rkeys of a new session, over its admin connection
 *
 * Sleeps.
 *
 * Return: 0, also for a session without rkeys; else -errno.  odrp_keys_exit() and
 * odrp_keys_free() release the memory, also after an error.
 */
int odrp_keys_init(struct odrp_sess *s)
{
	int err;

	if (!(s->features & ODRP_WIRE_F_KEYED))
		return 0;
	err = keys_make(s);
	if (err)
		return err;
	err = keys_read(s);
	if (err)
		pr_err("odrp%d: %pISpc: reading %u rkeys: error %d\n",
		       s->dev->id, &s->addr.dst, nr_keys(s), err);
	return err;
}

/*
 * odrp_keys_renew() - read the rkeys of a session again, over its new admin connection
 *
 * No I/O connection is live meanwhile.  Requests that are posted later use the new rkeys,
 * also those that were posted before (io.c).  Sleeps.
 *
 * Return: 0 or -errno.
 */
int odrp_keys_renew(struct odrp_sess *s)
{
	return s->keys.buf ? keys_read(s) : 0;
}

/* Release the read buffer.  The admin connection has no request in flight. */
void odrp_keys_exit(struct odrp_sess *s)
{
	struct odrp_keys *k = &s->keys;

	if (!k->buf)
		return;
	ib_dma_unmap_single(s->ibdev, k->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	free_page((unsigned long)k->buf);
	k->buf = NULL;
}

/* Free the rkeys.  No request is posted any more. */
void odrp_keys_free(struct odrp_sess *s)
{
	kvfree(s->keys.rkeys);
	s->keys.rkeys = NULL;
}
