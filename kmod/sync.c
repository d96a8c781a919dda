// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the memory node has, read over the admin connection: above all its table,
 * where an entry says what became of a request without an answer.
 */
#include <linux/slab.h>
#include "odrp.h"

#define READ_TIMEOUT_MS	1000

int odrp_sync_init(struct odrp_sess *s)
{
	struct odrp_sync *y = &s->sync;
	int err;

	y->entry = odrp_alloc(kzalloc(sizeof(*y->entry), GFP_KERNEL));
	if (!y->entry)
		return -ENOMEM;
	err = odrp_map(s->ibdev, y->entry, sizeof(*y->entry), DMA_FROM_DEVICE,
		       &y->dma);
	if (err) {
		kfree(y->entry);
		y->entry = NULL;
	}
	return err;
}

/* Nothing is in flight on the admin connection any more. */
void odrp_sync_exit(struct odrp_sess *s)
{
	struct odrp_sync *y = &s->sync;

	if (y->entry) {
		ib_dma_unmap_single(s->ibdev, y->dma, sizeof(*y->entry),
				    DMA_FROM_DEVICE);
		kfree(y->entry);
	}
	y->entry = NULL;
}

/* Read from the memory node, over the admin connection, and wait for it. */
int odrp_admin_read(struct odrp_sess *s, u64 dma, u32 len, u64 addr, u32 rkey)
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

	return odrp_post_wait(s->admin, &wr.wr, READ_TIMEOUT_MS);
}

/*
 * odrp_sync_read() - read the entry of a slot, which a request owns
 *
 * Return: 0, with whether the slot has a page, or -errno.
 */
int odrp_sync_read(struct odrp_sess *s, u64 slot, bool *ret_mapped)
{
	u64 entry = s->dev->slots.entry[slot];
	int err = odrp_admin_read(s, s->sync.dma, sizeof(*s->sync.entry),
				  entry * sizeof(*s->sync.entry), s->sync.rkey);

	if (err)
		return err;
	ib_dma_sync_single_for_cpu(s->ibdev, s->sync.dma,
				   sizeof(*s->sync.entry), DMA_FROM_DEVICE);
	*ret_mapped = *s->sync.entry != 0;
	ib_dma_sync_single_for_device(s->ibdev, s->sync.dma,
				      sizeof(*s->sync.entry), DMA_FROM_DEVICE);
	return 0;
}
