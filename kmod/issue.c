// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bios to requests: each 4 KB block of a bio takes its slot, then a request of the chain
 * that the state of the slot asks for, and goes into a batch.  A bio that cannot go on now
 * is parked without memory: the bio is put on a list (of the connection that has no free
 * request, of the slot that is busy, or of the device when there is no page) and comes
 * back here after a completion.
 *
 * bio->bi_iter tells how far a bio has been issued.  A bio of several blocks holds one
 * reference for each block on the wire, and one for its issuer.
 *
 * Bios that may go on after a completion are on a list of the queue (odrp_release()).
 * Only this file takes bios from that list.
 *
 * On the data path blk.c and poll.c come before this file, and io.c after it.
 */
#include "compat.h"
#include "odrp.h"
#include "trace.h"

enum went {
	WENT_ENDED,		/* the block has been served here */
	WENT_OUT,		/* the block is in the batch, or at the backing device */
	WENT_PARKED,		/* the bio waits, and may be issued elsewhere by now */
	WENT_FAILED,		/* the block fails; bio->bi_status is set */
};

static u64 bio_slot(const struct bio *bio)
{
	return bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
}

/* Give up a slot that was taken, and nothing was sent for. */
static void queue_abort_slot(struct odrp_queue *q, u64 slot)
{
	odrp_slot_more(q, slot, odrp_slot_end(&q->dev->slots, slot,
					      ODRP_SLOT_ABORTED));
}

static void bio_load_zeros(struct odrp_dev *dev, struct bio *bio)
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
 * Attach the page of a store: the page of the bio, or a copy of the block.  A copy is made
 * when the block is not within one page, when its page cannot be mapped, and with checksums
 * or encryption, for which the bytes must not change.
 */
static void req_attach_store(struct odrp_dev *dev, struct odrp_req *req)
{
	struct ib_device *ibdev = req_ibdev(req);
	struct bio_vec bv = bio_iter_iovec(req->bio, req->iter);

	req->mapped = false;
	if (bv.bv_len >= ODRP_BLOCK && !dev->sums && !dev->protect &&
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
	if (dev->protect)
		odrp_protect_seal(dev, req);
	ib_dma_sync_single_for_device(ibdev, req->bounce_dma, ODRP_BLOCK,
				      DMA_TO_DEVICE);
	req->sge[1].addr = req->bounce_dma;
	odrp_stat_inc(dev, bounced);
}

static void req_attach_load(struct odrp_req *req)
{
	ib_dma_sync_single_for_device(req_ibdev(req), req->bounce_dma,
				      ODRP_BLOCK, DMA_FROM_DEVICE);
}

static enum odrp_wire_chain slot_act_chain(enum odrp_slot_act act)
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

/* Undo slot_begin(): the block is not sent now. */
static void queue_give_back(struct odrp_queue *q, u64 slot,
			    enum odrp_slot_act act)
{
	if (act == ODRP_SLOT_DO_UNMAPPED)
		odrp_lease_put(&q->dev->lease);
	queue_abort_slot(q, slot);
}

/*
 * The batch uses up the requests that it has taken ahead, and then takes more of the
 * connection.  Returns and parks like odrp_req_get().
 */
static struct odrp_req *batch_req(struct odrp_batch *b, struct odrp_conn *conn,
				  struct bio *bio)
{
	struct odrp_req *req = b->ch[conn->chain].stock;

	if (!req)
		return odrp_batch_take(b, conn, bio);
	b->ch[conn->chain].stock = req->next;
	return req;
}

/* The caller owns the slot: take a request, or park the bio. */
static enum went bio_send_block(struct odrp_dev *dev, struct odrp_batch *b,
				struct bio *bio, enum odrp_slot_act act)
{
	struct odrp_conn *conn = b->q->conn[slot_act_chain(act)];
	u64 slot = bio_slot(bio);
	struct odrp_req *req;

	req = batch_req(b, conn, bio);
	if (IS_ERR_OR_NULL(req)) {
		/* A parked bio may have ended by now: do not touch it. */
		queue_give_back(b->q, slot, act);
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
		req_attach_load(req);
	else
		req_attach_store(dev, req);
	if (dev->backing)
		odrp_backing_begin(bio);
	if (act == ODRP_SLOT_DO_CANCELLED)
		odrp_stat_inc(dev, invalidates_cancelled);
	if (bio_flagged(bio, BIO_CHAIN))
		bio_inc_remaining(bio);
	odrp_batch_add(b, req);
	return WENT_OUT;
}

/* @local is constant: each of the two callers has the part that it needs, in line. */
static __always_inline enum odrp_slot_act
slot_begin(struct odrp_queue *q, struct bio *bio, u64 slot, bool local)
{
	struct odrp_dev *dev = q->dev;
	bool store = bio_op(bio) != REQ_OP_READ;
	enum odrp_slot_act act;

	if (local)
		act = odrp_slot_begin_local(&dev->slots, slot, store);
	else if (store)
		act = odrp_slot_begin_store(&dev->slots, slot);
	else
		act = odrp_slot_begin_load(&dev->slots, slot);
	if (act == ODRP_SLOT_DO_CANCELLED)
		odrp_free_less(q);
	return act;
}

/* Return: as slot_begin(); ODRP_SLOT_DO_WAIT when the bio has been parked. */
static __always_inline enum odrp_slot_act
slot_begin_or_park(struct odrp_queue *q, struct bio *bio, bool local)
{
	u64 slot = bio_slot(bio);
	enum odrp_slot_act act;

	do {
		act = slot_begin(q, bio, slot, local);
	} while (unlikely(act == ODRP_SLOT_DO_WAIT) &&
		 !odrp_wait_park(q->dev, bio, slot));
	return act;
}

/* Take a new page of the lease: with slabs, a free place. */
static enum odrp_slot_act queue_new_page(struct odrp_queue *q, u64 slot)
{
	struct odrp_dev *dev = q->dev;
	u32 place;

	if (!odrp_lease_take(&dev->lease))
		return ODRP_SLOT_DO_FAIL;
	odrp_ask_if_low(dev);
	if (!dev->places.max)
		return ODRP_SLOT_DO_UNMAPPED;
	place = odrp_place_take(&dev->places);
	if (place == ODRP_PLACE_NONE) {
		odrp_lease_put(&dev->lease);
		return ODRP_SLOT_DO_FAIL;
	}
	odrp_slot_place(&dev->slots, slot, place);
	return ODRP_SLOT_DO_PLACED;
}

/*
 * Find a page for a store to a slot without a page; the caller owns the slot.  First
 * choice is the page of a freed slot that is quickly found, then a new page of the lease,
 * then the page of any freed slot.
 * @hope: a page was pending just now
 *
 * Return: which store to send; ODRP_SLOT_DO_FAIL when there is no page.
 */
static enum odrp_slot_act queue_find_page(struct odrp_queue *q, u64 slot,
					  bool hope)
{
	enum odrp_slot_act act;

	if (hope && odrp_free_reuse(q, slot, false))
		return ODRP_SLOT_DO_CANCELLED;
	act = queue_new_page(q, slot);
	if (act == ODRP_SLOT_DO_FAIL && odrp_free_reuse(q, slot, true))
		return ODRP_SLOT_DO_CANCELLED;
	return act;
}

static enum went bio_issue_remote(struct odrp_dev *dev, struct odrp_batch *b,
				  struct bio *bio)
{
	enum odrp_slot_act act;
	bool hope;
	u64 slot;

again:
	act = slot_begin_or_park(b->q, bio, false);
	if (act == ODRP_SLOT_DO_WAIT)
		return WENT_PARKED;
	slot = bio_slot(bio);
	switch (act) {
	case ODRP_SLOT_DO_ZERO:
		bio_load_zeros(dev, bio);
		return WENT_ENDED;
	case ODRP_SLOT_DO_FAIL:
		bio->bi_status = BLK_STS_IOERR;
		return WENT_FAILED;
	case ODRP_SLOT_DO_UNMAPPED:
		hope = atomic64_read(&dev->free.pending) > 0;
		act = queue_find_page(b->q, slot, hope);
		if (act != ODRP_SLOT_DO_FAIL)
			break;
		queue_abort_slot(b->q, slot);
		if (odrp_free_wait(dev, bio))
			return WENT_PARKED;
		if ((hope || odrp_lease_has_room(&dev->lease)) && odrp_dev_serves(dev))
			goto again;	/* a page may have been given back or granted just now */
		bio->bi_status = BLK_STS_NOSPC;
		return WENT_FAILED;
	default:
		break;
	}
	return bio_send_block(dev, b, bio, act);
}

static enum went bio_issue_local(struct odrp_queue *q, struct bio *bio)
{
	switch (slot_begin_or_park(q, bio, true)) {
	case ODRP_SLOT_DO_WAIT:
		return WENT_PARKED;
	case ODRP_SLOT_DO_ZERO:
		bio_load_zeros(q->dev, bio);
		return WENT_ENDED;
	default:
		odrp_backing_alone(bio);
		return WENT_OUT;
	}
}

/*
 * With a backing device BLK_STS_IOERR means that the session has died: no request can be
 * taken, or the slot is UNKNOWN.  The backing device serves the block then.
 */
static enum went bio_issue_block(struct odrp_dev *dev, struct odrp_batch *b,
				 struct bio *bio)
{
	enum went went;

	if (!dev->backing)
		return bio_issue_remote(dev, b, bio);
	if (odrp_dev_serves(dev)) {
		went = bio_issue_remote(dev, b, bio);
		if (went != WENT_FAILED || bio->bi_status != BLK_STS_IOERR)
			return went;
		bio->bi_status = BLK_STS_OK;
	}
	return bio_issue_local(b->q, bio);
}

/* Count errors for all blocks of a bio that have not been issued. */
static void dev_count_error(struct odrp_dev *dev, struct bio *bio)
{
	unsigned int nr = bio->bi_iter.bi_size / ODRP_BLOCK;

	if (bio_op(bio) == REQ_OP_READ)
		odrp_stat_add(dev, load_errors, nr);
	else
		odrp_stat_add(dev, store_errors, nr);
	if (bio->bi_status == BLK_STS_NOSPC)
		odrp_stat_add(dev, lease_denied, nr);
}

/* Fail the blocks of a bio that have not been issued. */
static void bio_fail(struct odrp_dev *dev, struct bio *bio)
{
	bio->bi_status = BLK_STS_IOERR;
	dev_count_error(dev, bio);
	trace_odrp_end(dev, bio, BLK_STS_IOERR);
	bio_endio(bio);
}

/*
 * Issue the rest of a bio.  A bio of one block that is in the batch belongs to its request
 * and is not touched again.
 */
static void issue_bio(struct odrp_dev *dev, struct odrp_batch *b,
		      struct bio *bio)
{
	bool multi = bio_flagged(bio, BIO_CHAIN);

	if (!multi && bio->bi_iter.bi_size > ODRP_BLOCK) {
		bio_set_flag(bio, BIO_CHAIN);
		multi = true;
	}
	while (bio->bi_iter.bi_size) {
		if (odrp_dev_fails(dev)) {
			bio_fail(dev, bio);
			return;
		}
		switch (bio_issue_block(dev, b, bio)) {
		case WENT_PARKED:
			return;
		case WENT_FAILED:
			dev_count_error(dev, bio);
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

/* The next bio of the list; when the list is empty, a bio that has been released. */
static struct bio *bio_next(struct odrp_queue *q, struct bio_list *bios)
{
	if (bio_list_empty(bios) && odrp_has_released(q))
		odrp_take_released(q, bios);
	return bio_list_pop(bios);
}

/*
 * Lists the bios for which there are requests.  Requests have gone back without a
 * completion, so nobody else looks.
 */
static void queue_release_waiting(struct odrp_queue *q)
{
	struct bio_list bios;
	unsigned int i;

	bio_list_init(&bios);
	for (i = 0; i < odrp_sess_chains(&q->dev->sess); i++)
		odrp_conn_take_waiting(q->conn[i], &bios);
	odrp_release(q, &bios);
}

/*
 * odrp_issue() - issue bios on a queue, and all bios that have been released on it
 * @bios: empty on return
 *
 * Any context but hard interrupt.  Does not sleep.
 *
 * Return: the last load that was posted; .req is NULL when there was none.
 */
struct odrp_mark odrp_issue(struct odrp_queue *q, struct bio_list *bios)
{
	struct odrp_dev *dev = q->dev;
	struct odrp_batch b;
	struct bio *bio;

	odrp_batch_init(&b, q);
	do {
		b.behind = bio_list_size(bios);
		while ((bio = bio_next(q, bios))) {
			if (b.behind)
				b.behind--;
			issue_bio(dev, &b, bio);
		}
		odrp_batch_post(&b);
		odrp_batch_return(&b);
		if (b.refused) {
			odrp_batch_abort(&b);
			queue_release_waiting(q);
		}
	} while (odrp_has_released(q));
	return b.load;
}

/*
 * odrp_issue_released() - issue the bios that have been released on a queue
 *
 * The caller of odrp_release() calls this later, without locks.  Contexts as odrp_issue().
 */
void odrp_issue_released(struct odrp_queue *q)
{
	struct bio_list bios;

	if (!odrp_has_released(q))
		return;
	bio_list_init(&bios);
	odrp_issue(q, &bios);
}
