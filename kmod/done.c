// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: each request either succeeds or fails.  A store ends when its SEND has
 * completed and its answer has come, because only then neither NIC touches its page any
 * more.  See odrp_conn_lazy() for other SENDs, and odrp_conn_quiet() for requests that end
 * together with another.  A READ or WRITE of a page ends when it has completed without an
 * error.
 *
 * Two tasks may reap a completion queue at once (poll.c).  ib_poll_cq() gives each
 * completion to one of them, and the state word of a request combines the completion of the
 * SEND with the answer.
 *
 * io.c has posted the requests.  Bios end here.  Functions that "release" bios put the bios
 * that waited for a slot or a page into the list of a queue: their callers call
 * odrp_issue_released() afterwards.
 */
#include "compat.h"
#include "odrp.h"
#include "trace.h"

#define REAP_BATCH	8

/*
 * Set ODRP_REQ_SENT, ODRP_REQ_ANSWERED or both in a request that is posted.
 *
 * Return: true for the one caller whose bits complete the request; this caller ends the
 * request.
 */
static bool mark(struct odrp_req *req, unsigned int bits)
{
	int old = atomic_read(&req->st);

	do {
		if ((old & ODRP_REQ_DONE) == ODRP_REQ_DONE ||
		    !(old & ODRP_REQ_POSTED))
			return false;
	} while (!atomic_try_cmpxchg(&req->st, &old, old | bits));
	return ((old | bits) & ODRP_REQ_DONE) == ODRP_REQ_DONE;
}

/*
 * Set ODRP_REQ_ANSWERED in the request that an answer names.
 * @ret_done: gets whether the request is complete; set if true is returned
 *
 * Return: false if the request does not wait for an answer with this @id.
 */
static bool mark_answered(struct odrp_req *req, u32 id, bool *ret_done)
{
	int old = atomic_read(&req->st);

	do {
		if ((u32)old >> ODRP_REQ_GEN_SHIFT != id >> 16 ||
		    !(old & ODRP_REQ_POSTED) ||
		    (old & (ODRP_REQ_ANSWERED | ODRP_REQ_QUIET)))
			return false;
	} while (!atomic_try_cmpxchg(&req->st, &old, old | ODRP_REQ_ANSWERED));
	*ret_done = old & ODRP_REQ_SENT;
	return true;
}

/*
 * Decrypt the page in the bio, or verify its checksum, if the device does so.
 *
 * Return: 0 if the bio has the page that was stored; else -errno.
 */
static int check_load(struct odrp_dev *dev, struct odrp_req *req)
{
	if (dev->protect)
		return odrp_protect_open(dev, req);
	return dev->sums ? odrp_sum_check(dev, req) : 0;
}

static void end_load(struct odrp_dev *dev, struct odrp_req *req, u64 now)
{
	struct odrp_queue *q = req->conn->q;
	u64 ns, ewma;

	if (req->res != ODRP_SLOT_OK)
		return;
	ib_dma_sync_single_for_cpu(req->conn->sess->ibdev, req->bounce_dma,
				   ODRP_BLOCK, DMA_FROM_DEVICE);
	odrp_block_copy(req->bio, req->iter, req->bounce, true);
	if (check_load(dev, req)) {
		odrp_unreadable_mark(dev, req->slot);
		/* Overwrite the wrong page: old kernels map it in spite of the error. */
		odrp_block_copy(req->bio, req->iter, ZERO_PAGE(0), true);
		req->res = ODRP_SLOT_FAILED;
		return;
	}
	odrp_unreadable_clear(dev, req->slot);
	odrp_stat_inc(dev, loads);
	odrp_stat_add(dev, bytes_in, ODRP_BLOCK);
	ns = now - req->start_ns;
	odrp_hist_count(&dev->times[q->idx].load, ns);
	/* Pollers use this average as a hint: a lost update does not matter. */
	ewma = READ_ONCE(q->load_ewma_ns);
	WRITE_ONCE(q->load_ewma_ns, ewma - ewma / 8 + ns / 8);
}

/* An unmapped store that was not sent has not used the page that it took of the lease. */
static void end_store(struct odrp_dev *dev, struct odrp_req *req, u64 now)
{
	if (req->mapped)
		ib_dma_unmap_page(req->conn->sess->ibdev, req->page_dma,
				  ODRP_BLOCK, DMA_TO_DEVICE);
	req->mapped = false;
	if (req->res != ODRP_SLOT_OK) {
		if (req->res == ODRP_SLOT_ABORTED &&
		    req->conn->chain == ODRP_WIRE_UNMAPPED_STORE)
			odrp_lease_put(&dev->lease);
		return;
	}
	if (dev->sums)
		odrp_sum_keep(dev, req);
	if (dev->protect)
		odrp_protect_keep(dev, req);
	odrp_unreadable_clear(dev, req->slot);
	if (req->act == ODRP_SLOT_DO_UNMAPPED || req->act == ODRP_SLOT_DO_PLACED)
		odrp_stat_inc(dev, stores_unmapped);
	else
		odrp_stat_inc(dev, stores_mapped);
	odrp_stat_add(dev, bytes_out, ODRP_BLOCK);
	odrp_hist_count(&dev->times[req->conn->q->idx].store,
			now - req->start_ns);
}

static void end_invalidate(struct odrp_queue *q, struct odrp_req *req)
{
	if (req->res == ODRP_SLOT_OK) {
		odrp_lease_put(&q->dev->lease);
		odrp_stat_inc(q->dev, invalidates);
	}
	/* If the invalidate was aborted, odrp_free_queue() counts the slot again. */
	odrp_free_less(q);
}

/* Update the lease and the count of pending frees, before the slot is given up. */
static void end_by_chain(struct odrp_queue *q, struct odrp_req *req, u64 now)
{
	switch (req->conn->chain) {
	case ODRP_WIRE_LOAD:
		end_load(q->dev, req, now);
		break;
	case ODRP_WIRE_INVALIDATE:
		end_invalidate(q, req);
		break;
	default:
		end_store(q->dev, req, now);
		break;
	}
}

static void ended_add(struct odrp_ended *e, struct odrp_req *req)
{
	req->next = e->first;
	e->first = req;
	if (!e->last)
		e->last = req;
	e->nr++;
}

static void fail_bio(struct odrp_dev *dev, struct bio *bio)
{
	if (bio_op(bio) == REQ_OP_READ)
		odrp_stat_inc(dev, load_errors);
	else
		odrp_stat_inc(dev, store_errors);
	bio->bi_status = BLK_STS_IOERR;
}

/*
 * Give up the slot of a request.  With a backing device, backing.c gives up the slots of
 * loads and stores, and this function is called for invalidates only.  Then it does not
 * matter what has become of an invalidate without an answer.
 */
static void end_slot(struct odrp_queue *q, struct odrp_req *req)
{
	struct odrp_dev *dev = q->dev;
	bool failed = req->res == ODRP_SLOT_FAILED;
	unsigned int more;

	if (failed && dev->backing)
		more = odrp_slot_end_local(&dev->slots, req->slot);
	else
		more = odrp_slot_end(&dev->slots, req->slot, req->res);
	/* Set this after the slot: odrp_lookup() clears it before it looks at slots. */
	if (failed && req->conn->chain != ODRP_WIRE_LOAD)
		WRITE_ONCE(dev->some_unknown, true);
	odrp_slot_more(q, req->slot, more);
}

/*
 * End a request with the result req->res, and release the bios that waited for its slot or
 * for its page.  The caller gives the request back, with the others in @e.
 *
 * The slot is given up before the bio ends, because the owner of the bio may use the slot
 * again at once.
 */
static void req_finish(struct odrp_req *req, struct odrp_ended *e)
{
	struct odrp_conn *conn = req->conn;
	struct odrp_queue *q = conn->q;
	struct odrp_dev *dev = q->dev;
	struct bio *bio = req->bio;
	enum odrp_slot_result res;
	bool two = bio && dev->backing;

	if (unlikely(req->act == ODRP_SLOT_DO_MOVE)) {
		odrp_move_done(req);
		odrp_req_end(req);
		ended_add(e, req);
		return;
	}
	end_by_chain(q, req, e->now);
	trace_odrp_done(conn, req);	/* after end_load(), which may change req->res */
	res = req->res;

	if (!two)
		end_slot(q, req);
	if (bio) {
		if (res != ODRP_SLOT_OK && !two)
			fail_bio(dev, bio);
		odrp_acct_end(bio, ODRP_BLOCK_SECTORS, req->acct);
	}
	odrp_req_end(req);
	ended_add(e, req);
	if (two)
		odrp_backing_answered(bio, res, q);
	else if (bio)
		bio_endio(bio);
}

/*
 * Give back requests that have ended.  The connection, and the device, may be torn down
 * afterwards, unless the caller keeps them.
 */
static void put_ended(struct odrp_conn *conn, struct odrp_ended *e)
{
	struct odrp_dev *dev = conn->q->dev;
	bool credit = e->first && conn->chain == ODRP_WIRE_INVALIDATE;

	odrp_reqs_put(conn, e);
	if (credit)
		odrp_free_credit(dev);
}

static void finish_and_put(struct odrp_req *req)
{
	struct odrp_conn *conn = req->conn;
	struct odrp_ended e = { .now = ktime_get_ns() };

	req_finish(req, &e);
	put_ended(conn, &e);
}

/* End a request that is complete, and the quiet requests of its group before it. */
static void finish_group(struct odrp_req *req, struct odrp_ended *e)
{
	struct odrp_req *m, *next;

	for (m = req->group; m; m = next) {
		next = m->group;
		if (mark(m, ODRP_REQ_DONE))
			req_finish(m, e);
	}
	req_finish(req, e);
}

/*
 * Handle the completion of a SEND, READ or WRITE.
 *
 * Any completion of a SEND counts, also a flushed one, because a request that has its answer
 * has been executed.  A request without an answer stays in flight, and reconnect.c decides
 * what becomes of it.  A READ or WRITE has no answer, so after an error it stays in flight,
 * too.
 */
static void send_done(struct odrp_req *req, const struct ib_wc *wc,
		      struct odrp_ended *e)
{
	struct odrp_conn *conn = req->conn;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		odrp_sess_fail(conn->sess, "%s: %s (%d)",
			       conn->keyed ? "access to a page" :
					     "sending a request",
			       ib_wc_status_msg(wc->status), wc->status);
		if (conn->keyed)
			return;
	}
	if (mark(req, ODRP_REQ_SENT))
		finish_group(req, e);
}

/*
 * odrp_req_settle() - end a request that was executed and whose answer was lost
 *
 * The queue pair that had the request is gone, and no completion of the request comes any
 * more.  Releases bios.
 */
void odrp_req_settle(struct odrp_req *req)
{
	if (mark(req, ODRP_REQ_DONE))
		finish_and_put(req);
}

/* Post receives again, ODRP_RECV_CHUNK at a time. */
static void repost(struct odrp_conn *conn)
{
	int err;

	if (atomic_inc_return(&conn->recv_used) % ODRP_RECV_CHUNK)
		return;
	if (!READ_ONCE(conn->live))
		return;
	err = odrp_post_recv(conn->qp, conn->recv);
	if (err)
		odrp_sess_fail(conn->sess, "posting receives: error %d", err);
}

static void conn_answer(struct odrp_conn *conn, u32 id, struct odrp_ended *e)
{
	unsigned int idx = id & 0xffff;
	bool done;

	if (idx >= conn->nr_reqs ||
	    !mark_answered(&conn->reqs[idx], id, &done)) {
		odrp_stat_inc(conn->sess->dev, unknown_ids);
		return;
	}
	if (done)
		finish_group(&conn->reqs[idx], e);
}

static void recv_done(struct odrp_conn *conn, const struct ib_wc *wc,
		      struct odrp_ended *e)
{
	u32 want = conn->chain == ODRP_WIRE_LOAD ? ODRP_BLOCK : 0;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* Not live yet, or not any more: the reason is logged elsewhere. */
		if (!READ_ONCE(conn->live))
			return;
		odrp_sess_fail(conn->sess, "receiving an answer: %s (%d)",
			       ib_wc_status_msg(wc->status), wc->status);
		return;
	}
	if (unlikely(!conn->q || wc->opcode != IB_WC_RECV_RDMA_WITH_IMM ||
		     !(wc->wc_flags & IB_WC_WITH_IMM) ||
		     wc->byte_len != want)) {
		odrp_sess_fail(conn->sess,
			       "not an answer: opcode %d, %u bytes, expected %u",
			       wc->opcode, wc->byte_len, want);
		return;
	}
	repost(conn);
	conn_answer(conn, be32_to_cpu(wc->ex.imm_data), e);
}

static void dispatch(struct odrp_conn *conn, struct ib_wc *wc,
		     struct odrp_ended *e)
{
	struct ib_cqe *cqe = wc->wr_cqe;

	if (cqe == &conn->recv_cqe)
		recv_done(conn, wc, e);
	else if (cqe->done == odrp_send_done)
		send_done(container_of(cqe, struct odrp_req, cqe), wc, e);
	else
		cqe->done(conn->cq, wc);
}

/*
 * odrp_conn_reap() - handle completions of a connection
 *
 * Any context but hard interrupt.  Releases bios.  The caller keeps the connection: the
 * requests that have ended are given back together, after their bios have ended.
 *
 * Return: number of completions, at most @budget rounded up to REAP_BATCH.
 */
int odrp_conn_reap(struct odrp_conn *conn, int budget)
{
	struct odrp_ended ended = { };
	struct ib_wc wc[REAP_BATCH];
	int n, i, sum = 0;

	while (sum < budget) {
		n = ib_poll_cq(conn->cq, REAP_BATCH, wc);
		odrp_fault_polled(conn, wc, n);
		if (n <= 0)
			break;
		/* After the poll: all that has completed was posted before. */
		ended.now = ktime_get_ns();
		for (i = 0; i < n; i++)
			dispatch(conn, &wc[i], &ended);
		if (ended.first)
			put_ended(conn, &ended);
		sum += n;
	}
	return sum;
}

/*
 * odrp_conn_fail_posted() - fail all requests that are posted and not complete
 *
 * The connection posts nothing.  Its queue pair is destroyed, maybe without a flush
 * (unplug.c), or the RDMA device does not destroy the queue pair in time (reconnect.c).
 * Later completions of such a queue pair match no request.  It may still write to the
 * bounce pages of loads; these pages get no new request before the queue pair is gone.  It
 * may also still read the page of a store that has ended, unless that page was a copy or an
 * IOMMU prevents it.
 *
 * Two tasks may call this at once, while another task settles requests.  Releases bios.
 */
void odrp_conn_fail_posted(struct odrp_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr_reqs; i++) {
		struct odrp_req *req = &conn->reqs[i];

		if (!(atomic_read(&req->st) & ODRP_REQ_POSTED))
			continue;
		if (!mark(req, ODRP_REQ_DONE))
			continue;
		req->res = ODRP_SLOT_FAILED;
		finish_and_put(req);
	}
}

/*
 * odrp_reqs_abort() - end a list of requests that will not be posted
 *
 * A request that was posted before and could not be posted again fails, because the memory
 * node may have executed it in part.  Releases bios.
 */
void odrp_reqs_abort(struct odrp_req *req)
{
	struct odrp_req *next;

	for (; req; req = next) {
		next = req->next;
		req->res = req->sends ? ODRP_SLOT_FAILED : ODRP_SLOT_ABORTED;
		finish_and_put(req);
	}
}

/* odrp_batch_abort() - end the requests that odrp_batch_post() has refused; releases bios */
void odrp_batch_abort(struct odrp_batch *b)
{
	struct odrp_req *list = b->refused;

	b->refused = NULL;
	odrp_reqs_abort(list);
}
