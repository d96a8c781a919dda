// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads from the memory node over the admin connection: above all its table, where an entry
 * tells whether a request without an answer was executed.  Entries are read in batches: a
 * round trip for each would delay the resuming of the session.
 */
#include <linux/slab.h>
#include "odrp.h"

#define BYTES		(ODRP_SYNC_BATCH * sizeof(__be64))

/* The READ of one table entry. */
struct odrp_sync_read {
	struct ib_sge		sge;
	struct ib_rdma_wr	wr;
};

static void free_memory(struct odrp_sync *y)
{
	kfree(y->entries);
	kfree(y->reads);
	y->entries = NULL;
	y->reads = NULL;
}

int odrp_sync_init(struct odrp_sess *s)
{
	struct odrp_sync *y = &s->sync;
	int err;

	y->entries = odrp_alloc(kcalloc(ODRP_SYNC_BATCH, sizeof(*y->entries),
					GFP_KERNEL));
	y->reads = odrp_alloc(kcalloc(ODRP_SYNC_BATCH, sizeof(*y->reads),
				      GFP_KERNEL));
	err = y->entries && y->reads ?
	      odrp_map(s->ibdev, y->entries, BYTES, DMA_FROM_DEVICE, &y->dma) :
	      -ENOMEM;
	if (err)
		free_memory(y);
	return err;
}

/* Nothing is under way on the admin connection any more. */
void odrp_sync_exit(struct odrp_sess *s)
{
	struct odrp_sync *y = &s->sync;

	if (y->entries)
		ib_dma_unmap_single(s->ibdev, y->dma, BYTES, DMA_FROM_DEVICE);
	free_memory(y);
}

/* Reads memory of the memory node, and waits.  Return: as odrp_post_wait(). */
int odrp_admin_read(struct odrp_sess *s, u64 dma, u32 len, u64 addr, u32 rkey,
		    unsigned int timeout_ms)
{
	struct ib_sge sge = {
		.addr	= dma,
		.length	= len,
		.lkey	= s->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= IB_WR_RDMA_READ,
		},
		.remote_addr	= addr,
		.rkey		= rkey,
	};

	return odrp_post_wait(s->admin, &wr.wr, timeout_ms);
}

static void fill_read(struct odrp_sess *s, unsigned int nth, u64 slot, bool last)
{
	struct odrp_sync *y = &s->sync;
	struct odrp_sync_read *r = &y->reads[nth];

	r->sge = (struct ib_sge) {
		.addr	= y->dma + nth * sizeof(*y->entries),
		.length	= sizeof(*y->entries),
		.lkey	= s->pd->local_dma_lkey,
	};
	r->wr = (struct ib_rdma_wr) {
		.wr = {
			.next		= last ? NULL : &y->reads[nth + 1].wr.wr,
			.sg_list	= &r->sge,
			.num_sge	= 1,
			.opcode		= IB_WR_RDMA_READ,
		},
		.remote_addr	= (u64)s->dev->slots.entry[slot] *
				  sizeof(*y->entries),
		.rkey		= y->rkey,
	};
}

/*
 * odrp_sync_read() - read the table entries of slots
 * @slots: slots that the caller owns
 * @nr: 1 to ODRP_SYNC_BATCH
 * @ret_mapped: for each slot, whether its entry has a page
 *
 * Return: 0 or -errno.
 */
int odrp_sync_read(struct odrp_sess *s, const u64 *slots, unsigned int nr,
		   bool *ret_mapped)
{
	struct odrp_sync *y = &s->sync;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		fill_read(s, i, slots[i], i + 1 == nr);
	err = odrp_post_wait(s->admin, &y->reads[0].wr.wr, ODRP_READ_MS);
	if (err)
		return err;
	ib_dma_sync_single_for_cpu(s->ibdev, y->dma, BYTES, DMA_FROM_DEVICE);
	for (i = 0; i < nr; i++)
		ret_mapped[i] = y->entries[i] != 0;
	ib_dma_sync_single_for_device(s->ibdev, y->dma, BYTES, DMA_FROM_DEVICE);
	return 0;
}
