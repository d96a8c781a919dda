// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Moving pages out of slabs that come to be empty (place.h), so that the memory node gets the
 * slabs back.
 *
 * A slot that is moved is LOADING: whoever comes meanwhile waits for it, and a free marks it.
 * Its page is READ from its place, and the same bytes are WRITTEN to a free place of a fuller
 * slab; so with encryption, checksums and a backing device nothing else changes.  Only then
 * the slot gets the other place, and the old one is free.  Both requests are taken before the
 * slot is, so a move that has begun waits for nothing.  When the session is resumed, both are
 * posted again like others, with the same bytes to the same places.
 *
 * Requests fail when the session fails or dies.  Then the slot stays where it is.  The place
 * of a WRITE of unknown fate is free only when the session has been resumed: the queue pair
 * that had the WRITE is gone then.
 *
 * mover.c chooses the slots.
 */
#include <linux/string.h>
#include "odrp.h"

static bool move_enter(struct odrp_move *m)
{
	bool ok;

	spin_lock_bh(&m->lock);
	ok = m->nr < ODRP_MOVES;
	m->nr += ok;
	spin_unlock_bh(&m->lock);
	return ok;
}

static void move_leave(struct odrp_move *m)
{
	spin_lock_bh(&m->lock);
	m->nr--;
	spin_unlock_bh(&m->lock);
}

static void put_place(struct odrp_dev *dev, u32 place)
{
	odrp_place_put(&dev->places, place);
	odrp_lease_put(&dev->lease);
}

/* The place is not free before the session has been resumed; it stays under way until then. */
static void keep_unsure(struct odrp_dev *dev, u32 place)
{
	struct odrp_move *m = &dev->move;

	spin_lock_bh(&m->lock);
	m->unsure[m->nr_unsure++] = place;
	spin_unlock_bh(&m->lock);
}

/* Give up the slot, with the result of its load. */
static void end_slot(struct odrp_queue *q, const struct odrp_req *req)
{
	struct odrp_dev *dev = q->dev;

	odrp_slot_more(q, req->slot,
		       req->res == ODRP_SLOT_FAILED && dev->backing ?
		       odrp_slot_end_local(&dev->slots, req->slot) :
		       odrp_slot_end(&dev->slots, req->slot, req->res));
}

/* Take a place for a page that moves.  Return: ODRP_PLACE_NONE when there is none to go to. */
static u32 take_place(struct odrp_dev *dev)
{
	u32 place;

	if (!odrp_lease_take(&dev->lease))
		return ODRP_PLACE_NONE;
	place = odrp_place_take_open(&dev->places);
	if (place == ODRP_PLACE_NONE)
		odrp_lease_put(&dev->lease);
	return place;
}

/* Give back a request that was not posted, and release the bios that wait for one. */
static void put_req(struct odrp_req *req)
{
	struct odrp_conn *conn = req->conn;
	struct bio_list bios;

	bio_list_init(&bios);
	odrp_req_put(req);
	odrp_conn_take_waiting(conn, &bios);
	odrp_release(conn->q, &bios);
}

/* Take a request, but leave half of them to bios. */
static struct odrp_req *get_req(struct odrp_conn *conn)
{
	struct odrp_req *req;

	if (READ_ONCE(conn->nr_free) <= conn->nr_reqs / 2)
		return NULL;
	req = odrp_req_get(conn, NULL);
	return IS_ERR(req) ? NULL : req;
}

static bool get_reqs(struct odrp_queue *q, struct odrp_req **ret_load,
		     struct odrp_req **ret_store)
{
	struct odrp_req *load, *store;

	store = get_req(q->conn[ODRP_WIRE_MAPPED_STORE]);
	if (!store)
		return false;
	load = get_req(q->conn[ODRP_WIRE_LOAD]);
	if (!load) {
		put_req(store);
		return false;
	}
	*ret_load = load;
	*ret_store = store;
	return true;
}

static void post_one(struct odrp_queue *q, struct odrp_req *req)
{
	struct odrp_batch b;

	odrp_batch_init(&b, q);
	odrp_batch_add(&b, req);
	odrp_batch_post(&b);
	if (b.refused)
		odrp_batch_abort(&b);
}

/* odrp_move_begin() - move the page of a slot, if it can be moved now.  Return: has it begun? */
bool odrp_move_begin(struct odrp_queue *q, u64 slot)
{
	struct odrp_dev *dev = q->dev;
	struct odrp_req *load, *store;
	u32 place;

	if (!move_enter(&dev->move))
		return false;
	if (!get_reqs(q, &load, &store))
		goto leave;
	place = take_place(dev);
	if (place == ODRP_PLACE_NONE)
		goto put_reqs;
	if (odrp_slot_begin_load(&dev->slots, slot) != ODRP_SLOT_DO_LOAD)
		goto put_place;
	load->act = store->act = ODRP_SLOT_DO_MOVE;
	odrp_req_fill(load, slot);
	odrp_req_fill(store, slot);
	store->place = place;
	store->mapped = false;
	load->move = store;
	store->move = NULL;
	ib_dma_sync_single_for_device(dev->sess.ibdev, load->bounce_dma, ODRP_BLOCK,
				      DMA_FROM_DEVICE);
	post_one(q, load);
	return true;

put_place:
	put_place(dev, place);
put_reqs:
	put_req(load);
	put_req(store);
leave:
	move_leave(&dev->move);
	return false;
}

/* The page has come: send it to the other place. */
static void page_read(struct odrp_req *load, struct odrp_req *store)
{
	struct ib_device *ibdev = load->conn->sess->ibdev;

	ib_dma_sync_single_for_cpu(ibdev, load->bounce_dma, ODRP_BLOCK, DMA_FROM_DEVICE);
	ib_dma_sync_single_for_cpu(ibdev, store->bounce_dma, ODRP_BLOCK, DMA_TO_DEVICE);
	memcpy(page_address(store->bounce), page_address(load->bounce), ODRP_BLOCK);
	ib_dma_sync_single_for_device(ibdev, store->bounce_dma, ODRP_BLOCK, DMA_TO_DEVICE);
	store->sge[1].addr = store->bounce_dma;
	post_one(store->conn->q, store);
}

/* The page has not come: all is as before. */
static void not_read(struct odrp_req *load, struct odrp_req *store)
{
	struct odrp_queue *q = load->conn->q;

	put_place(q->dev, store->place);
	end_slot(q, load);
	put_req(store);
	move_leave(&q->dev->move);
}

/* The page is in both places: the slot has the new one from now on. */
static void page_moved(struct odrp_req *store)
{
	struct odrp_queue *q = store->conn->q;
	struct odrp_dev *dev = q->dev;
	u32 old = dev->slots.entry[store->slot];

	WRITE_ONCE(dev->slots.entry[store->slot], store->place);
	put_place(dev, old);
	odrp_stat_inc(dev, moved);
	end_slot(q, store);
	move_leave(&dev->move);
}

/*
 * odrp_move_done() - a request of the mover has ended
 *
 * The caller gives the request back, and issues the bios that have waited for the slot.
 */
void odrp_move_done(struct odrp_req *req)
{
	struct odrp_queue *q = req->conn->q;

	if (req->move) {
		if (req->res == ODRP_SLOT_OK)
			page_read(req, req->move);
		else
			not_read(req, req->move);
		return;
	}
	if (req->res == ODRP_SLOT_OK) {
		page_moved(req);
		return;
	}
	if (req->res == ODRP_SLOT_FAILED) {
		keep_unsure(q->dev, req->place);
	} else {
		put_place(q->dev, req->place);
		move_leave(&q->dev->move);
	}
	end_slot(q, req);
}

/*
 * odrp_move_resumed() - the session is live again, and has new queue pairs
 *
 * No WRITE of before reaches a place any more, unless a queue pair could not be destroyed.
 */
void odrp_move_resumed(struct odrp_dev *dev)
{
	struct odrp_move *m = &dev->move;
	u32 place;

	if (dev->sess.stuck)
		return;
	spin_lock_bh(&m->lock);
	while (m->nr_unsure) {
		place = m->unsure[--m->nr_unsure];
		m->nr--;
		put_place(dev, place);
	}
	spin_unlock_bh(&m->lock);
}
