// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bios to requests: each 4 KB block of a bio takes its slot, a request of the
 * chain that the slot's state asks for, and goes into a batch.  What cannot
 * go on now is parked without memory: the bio itself is put on a list (of the
 * connection that has no request free, or of the slot that is busy) and comes
 * back here from a completion.
 *
 * bio->bi_iter says how far a bio has been issued.  A bio of several blocks
 * holds one reference for each block on the wire, and one for its issuer.
 *
 * blk.c and done.c come before, io.c after.
 */
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/smp.h>
#include "compat.h"
#include "odrp.h"
#include "trace.h"

enum went {
	WENT_ENDED,		/* finished here and now */
	WENT_OUT,		/* in the batch */
	WENT_PARKED,		/* the whole bio waits; not ours any more */
	WENT_FAILED,		/* bio->bi_status is set */
};

struct odrp_queue *odrp_queue_here(struct odrp_dev *dev)
{
	return &dev->sess.queues[raw_smp_processor_id() % dev->sess.nr_queues];
}

static u64 bio_slot(const struct bio *bio)
{
	return bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
}

static struct odrp_wait *wait_of(struct odrp_dev *dev, u64 slot)
{
	return &dev->waits[hash_64(slot, ilog2(ODRP_NR_WAITS))];
}

/* Park a bio on its slot; false when the slot is not busy any more. */
static bool park(struct odrp_dev *dev, struct bio *bio, u64 slot)
{
	struct odrp_wait *w = wait_of(dev, slot);
	bool parked;

	spin_lock_bh(&w->lock);
	parked = odrp_slot_wait(&dev->slots, slot);
	if (parked) {
		trace_odrp_wait(dev, bio, ODRP_TRACE_SLOT);
		bio_list_add(&w->bios, bio);
	}
	spin_unlock_bh(&w->lock);
	if (parked)
		odrp_stat_inc(dev, waits_slot);
	return parked;
}

/* Move the bios that wait for a slot to todo. */
static void take_waiting(struct odrp_dev *dev, u64 slot, struct bio_list *todo)
{
	struct odrp_wait *w = wait_of(dev, slot);
	struct bio_list others;
	struct bio *bio;

	bio_list_init(&others);
	spin_lock_bh(&w->lock);
	while ((bio = bio_list_pop(&w->bios)))
		bio_list_add(bio_slot(bio) == slot ? todo : &others, bio);
	w->bios = others;
	spin_unlock_bh(&w->lock);
}

/* Do what odrp_slot_end() has left to do: ODRP_SLOT_END_* bits. */
void odrp_slot_more(struct odrp_dev *dev, u64 slot, unsigned int more,
		    struct bio_list *todo)
{
	if (more & ODRP_SLOT_END_QUEUE)
		odrp_free_queue(dev, slot);
	if (more & ODRP_SLOT_END_WAKE)
		take_waiting(dev, slot, todo);
}

static void end_slot(struct odrp_dev *dev, u64 slot,
		     enum odrp_slot_result res, struct bio_list *todo)
{
	odrp_slot_more(dev, slot, odrp_slot_end(&dev->slots, slot, res), todo);
}

/* Copy one block between a page and the bio's segments from iter on. */
void odrp_block_copy(struct bio *bio, struct bvec_iter iter, struct page *page,
		     bool to_bio)
{
	char *p = page_address(page);
	unsigned int done = 0;

	while (done < ODRP_BLOCK) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		unsigned int n = min_t(unsigned int, bv.bv_len,
				       ODRP_BLOCK - done);

		if (to_bio)
			memcpy_to_page(bv.bv_page, bv.bv_offset, p + done, n);
		else
			memcpy_from_page(p + done, bv.bv_page, bv.bv_offset, n);
		bio_advance_iter(bio, &iter, n);
		done += n;
	}
}

static void load_zeros(struct odrp_dev *dev, struct bio *bio)
{
	unsigned long acct = odrp_acct_start(bio, ODRP_BLOCK_SECTORS);

	odrp_block_copy(bio, bio->bi_iter, ZERO_PAGE(0), true);
	odrp_stat_inc(dev, loads_zero);
	odrp_acct_end(bio, ODRP_BLOCK_SECTORS, acct);
}

static struct ib_device *req_ibdev(const struct odrp_req *req)
{
	return req->conn->sess->ibdev;
}

/*
 * The page of a store: the bio's own, or a copy of it when the block lies in
 * two pages or cannot be mapped, or must not change because it has a checksum.
 */
static void attach_store(struct odrp_dev *dev, struct odrp_req *req)
{
	struct ib_device *ibdev = req_ibdev(req);
	struct bio_vec bv = bio_iter_iovec(req->bio, req->iter);

	req->mapped = false;
	if (bv.bv_len >= ODRP_BLOCK && !dev->sums &&
	    !odrp_fault(ODRP_FAULT_MAP)) {
		req->page_dma = ib_dma_map_page(ibdev, bv.bv_page,
						bv.bv_offset, ODRP_BLOCK,
						DMA_TO_DEVICE);
		req->mapped = !ib_dma_mapping_error(ibdev, req->page_dma);
	}
	if (req->mapped) {
		req->sge[1].addr = req->page_dma;
		return;
	}
	ib_dma_sync_single_for_cpu(ibdev, req->bounce_dma, ODRP_BLOCK,
				   DMA_TO_DEVICE);
	odrp_block_copy(req->bio, req->iter, req->bounce, false);
	if (dev->sums)
		odrp_sum_make(req);
	ib_dma_sync_single_for_device(ibdev, req->bounce_dma, ODRP_BLOCK,
				      DMA_TO_DEVICE);
	req->sge[1].addr = req->bounce_dma;
	odrp_stat_inc(dev, bounced);
}

static void attach_load(struct odrp_req *req)
{
	ib_dma_sync_single_for_device(req_ibdev(req), req->bounce_dma,
				      ODRP_BLOCK, DMA_FROM_DEVICE);
}

static enum odrp_wire_chain chain_of(enum odrp_slot_act act)
{
	switch (act) {
	case ODRP_SLOT_DO_LOAD:
		return ODRP_WIRE_LOAD;
	case ODRP_SLOT_DO_UNMAPPED:
		return ODRP_WIRE_UNMAPPED_STORE;
	default:
		return ODRP_WIRE_MAPPED_STORE;
	}
}

/* Undo begin(): the block is not going out, at least not now. */
static void give_back(struct odrp_dev *dev, u64 slot, enum odrp_slot_act act,
		      struct bio_list *todo)
{
	if (act == ODRP_SLOT_DO_UNMAPPED)
		odrp_lease_put(&dev->lease);
	end_slot(dev, slot, ODRP_SLOT_ABORTED, todo);
}

/* The slot is ours: get a request, or wait for one. */
static enum went send_block(struct odrp_dev *dev, struct odrp_batch *b,
			    struct bio *bio, enum odrp_slot_act act,
			    struct bio_list *todo)
{
	struct odrp_conn *conn = b->q->conn[chain_of(act)];
	u64 slot = bio_slot(bio);
	struct odrp_req *req;

	req = odrp_req_get(conn, bio);
	if (IS_ERR_OR_NULL(req)) {
		/* When parked, the bio may be gone by now. */
		give_back(dev, slot, act, todo);
		if (!req)
			return WENT_PARKED;
		bio->bi_status = BLK_STS_IOERR;
		return WENT_FAILED;
	}
	req->bio = bio;
	req->iter = bio->bi_iter;
	req->act = act;
	req->acct = odrp_acct_start(bio, ODRP_BLOCK_SECTORS);
	odrp_req_fill(req, slot);
	if (act == ODRP_SLOT_DO_LOAD)
		attach_load(req);
	else
		attach_store(dev, req);
	if (dev->backing)
		odrp_backing_begin(bio);
	if (act == ODRP_SLOT_DO_CANCELLED)
		odrp_stat_inc(dev, invalidates_cancelled);
	if (bio_flagged(bio, BIO_CHAIN))
		bio_inc_remaining(bio);
	odrp_batch_add(b, req, todo);
	return WENT_OUT;
}

static enum odrp_slot_act begin(struct odrp_dev *dev, struct bio *bio,
				u64 slot, bool local, struct bio_list *todo)
{
	bool store = bio_op(bio) != REQ_OP_READ;
	enum odrp_slot_act act;

	if (local)
		act = odrp_slot_begin_local(&dev->slots, slot, store);
	else if (store)
		act = odrp_slot_begin_store(&dev->slots, slot);
	else
		act = odrp_slot_begin_load(&dev->slots, slot);
	if (act == ODRP_SLOT_DO_CANCELLED)
		odrp_free_less(dev, todo);
	return act;
}

/* Return: ODRP_SLOT_DO_WAIT when the bio has been parked. */
static enum odrp_slot_act begin_or_park(struct odrp_dev *dev, struct bio *bio,
					bool local, struct bio_list *todo)
{
	u64 slot = bio_slot(bio);
	enum odrp_slot_act act;

	do {
		act = begin(dev, bio, slot, local, todo);
	} while (act == ODRP_SLOT_DO_WAIT && !park(dev, bio, slot));
	return act;
}

/*
 * A slot without a page is to be stored to, and is ours: one that was freed may
 * have left its page; or take another of the lease, or, when that is used up,
 * whatever page there is that nobody needs.
 *
 * Return: what to do now; ODRP_SLOT_DO_FAIL when there is no page.
 */
static enum odrp_slot_act find_page(struct odrp_dev *dev, u64 slot,
				    struct bio_list *todo)
{
	if (odrp_free_reuse(dev, slot, false, todo))
		return ODRP_SLOT_DO_CANCELLED;
	if (odrp_lease_take(&dev->lease))
		return ODRP_SLOT_DO_UNMAPPED;
	if (odrp_free_reuse(dev, slot, true, todo))
		return ODRP_SLOT_DO_CANCELLED;
	return ODRP_SLOT_DO_FAIL;
}

static enum went issue_remote(struct odrp_dev *dev, struct odrp_batch *b,
			      struct bio *bio, struct bio_list *todo)
{
	enum odrp_slot_act act;
	bool hope;
	u64 slot;

again:
	hope = atomic64_read(&dev->free.pending) > 0;
	act = begin_or_park(dev, bio, false, todo);
	if (act == ODRP_SLOT_DO_WAIT)
		return WENT_PARKED;
	slot = bio_slot(bio);
	switch (act) {
	case ODRP_SLOT_DO_ZERO:
		load_zeros(dev, bio);
		return WENT_ENDED;
	case ODRP_SLOT_DO_FAIL:
		bio->bi_status = BLK_STS_IOERR;
		return WENT_FAILED;
	case ODRP_SLOT_DO_UNMAPPED:
		act = find_page(dev, slot, todo);
		if (act != ODRP_SLOT_DO_FAIL)
			break;
		end_slot(dev, slot, ODRP_SLOT_ABORTED, todo);
		if (odrp_free_wait(dev, bio))
			return WENT_PARKED;
		if (hope && odrp_dev_serves(dev))
			goto again;	/* one may have come back just now */
		bio->bi_status = BLK_STS_NOSPC;
		return WENT_FAILED;
	default:
		break;
	}
	return send_block(dev, b, bio, act, todo);
}

static enum went issue_local(struct odrp_dev *dev, struct bio *bio,
			     struct bio_list *todo)
{
	switch (begin_or_park(dev, bio, true, todo)) {
	case ODRP_SLOT_DO_WAIT:
		return WENT_PARKED;
	case ODRP_SLOT_DO_ZERO:
		load_zeros(dev, bio);
		return WENT_ENDED;
	default:
		odrp_backing_alone(bio);
		return WENT_OUT;
	}
}

/*
 * BLK_STS_IOERR comes of a session that is dead, here as well: for want of
 * requests, or of a slot that is UNKNOWN.
 */
static enum went issue_block(struct odrp_dev *dev, struct odrp_batch *b,
			     struct bio *bio, struct bio_list *todo)
{
	enum went went;

	if (!dev->backing)
		return issue_remote(dev, b, bio, todo);
	if (odrp_dev_serves(dev)) {
		went = issue_remote(dev, b, bio, todo);
		if (went != WENT_FAILED || bio->bi_status != BLK_STS_IOERR)
			return went;
		bio->bi_status = BLK_STS_OK;
	}
	return issue_local(dev, bio, todo);
}

/* What has not been issued of a bio fails: all its blocks. */
static void count_error(struct odrp_dev *dev, struct bio *bio)
{
	unsigned int nr = bio->bi_iter.bi_size / ODRP_BLOCK;

	if (bio_op(bio) == REQ_OP_READ)
		odrp_stat_add(dev, load_errors, nr);
	else
		odrp_stat_add(dev, store_errors, nr);
	if (bio->bi_status == BLK_STS_NOSPC)
		odrp_stat_add(dev, lease_denied, nr);
}

/* Fail what has not been issued of a bio. */
static void fail(struct odrp_dev *dev, struct bio *bio)
{
	bio->bi_status = BLK_STS_IOERR;
	count_error(dev, bio);
	trace_odrp_end(dev, bio, BLK_STS_IOERR);
	bio_endio(bio);
}

/*
 * Issue the rest of a bio.  A bio of one block that has gone out belongs to
 * its request and is not touched again.
 */
static void issue_bio(struct odrp_dev *dev, struct odrp_batch *b,
		      struct bio *bio, struct bio_list *todo)
{
	bool multi = bio_flagged(bio, BIO_CHAIN);

	if (!multi && bio->bi_iter.bi_size > ODRP_BLOCK) {
		bio_set_flag(bio, BIO_CHAIN);
		multi = true;
	}
	while (bio->bi_iter.bi_size) {
		if (odrp_dev_fails(dev)) {
			fail(dev, bio);
			return;
		}
		switch (issue_block(dev, b, bio, todo)) {
		case WENT_PARKED:
			return;
		case WENT_FAILED:
			count_error(dev, bio);
			trace_odrp_end(dev, bio, bio->bi_status);
			bio_endio(bio);
			return;
		case WENT_OUT:
			if (!multi)
				return;
			break;
		case WENT_ENDED:
			trace_odrp_end(dev, bio, BLK_STS_OK);
			break;
		}
		bio_advance_iter(bio, &bio->bi_iter, ODRP_BLOCK);
	}
	bio_endio(bio);
}

/*
 * odrp_issue() - issue bios on a queue, and those that this sets free
 * @todo: empty when it returns
 *
 * Any context but hard interrupt.  Does not sleep.
 *
 * Return: the last load that has been posted, if any.
 */
struct odrp_mark odrp_issue(struct odrp_queue *q, struct bio_list *todo)
{
	struct odrp_dev *dev = q->dev;
	struct odrp_batch b;
	struct bio *bio;

	odrp_batch_init(&b, q);
	do {
		while ((bio = bio_list_pop(todo)))
			issue_bio(dev, &b, bio, todo);
		odrp_batch_post(&b, todo);
	} while (!bio_list_empty(todo));
	return b.load;
}
