// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: a request succeeds or fails, nothing in between.  A store ends
 * when its SEND has completed and its answer is there, because only then
 * neither NIC touches its page any more; see odrp_conn_lazy() for the others,
 * and odrp_conn_quiet() for those that end with another.  A READ or WRITE of a
 * page ends when it has completed well.
 *
 * Two may reap a completion queue at once (poll.c): ib_poll_cq() gives each completion
 * to one of them, and the request's state word joins the two halves.
 *
 * io.c comes before; bios end here.  Those that waited for what has ended are
 * released: the caller has them issued.
 */
#include "compat.h"
#include "odrp.h"
#include "trace.h"

#define REAP_BATCH	8

/*
 * Set SENT, ANSWERED or both.  Return: true for the one caller whose bits
 * complete the request; it has to end it.
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

/* Match an answer with its request.  Return: false when there is none. */
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

/* Is what has been copied to the bio what was stored?  Afterwards it is, or -errno. */
static int check_load(struct odrp_dev *dev, struct odrp_req *req)
{
	if (dev->protect)
		return odrp_protect_open(dev, req);
	return dev->sums ? odrp_sum_check(dev, req) : 0;
}

static void end_load(struct odrp_dev *dev, struct odrp_req *req)
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
		/* Nobody is to have it, not even by a kernel that does not look. */
		odrp_block_copy(req->bio, req->iter, ZERO_PAGE(0), true);
		req->res = ODRP_SLOT_FAILED;
		return;
	}
	odrp_unreadable_clear(dev, req->slot);
	odrp_stat_inc(dev, loads);
	odrp_stat_add(dev, bytes_in, ODRP_BLOCK);
	ns = ktime_get_ns() - req->start_ns;
	odrp_hist_count(&dev->times[q->idx].load, ns);
	/* A hint for pollers: an update that gets lost does not matter. */
	ewma = READ_ONCE(q->load_ewma_ns);
	WRITE_ONCE(q->load_ewma_ns, ewma - ewma / 8 + ns / 8);
}

static void end_store(struct odrp_dev *dev, struct odrp_req *req)
{
	if (req->mapped)
		ib_dma_unmap_page(req->conn->sess->ibdev, req->page_dma,
				  ODRP_BLOCK, DMA_TO_DEVICE);
	req->mapped = false;
	if (req->res != ODRP_SLOT_OK)
		return;
	if (dev->sums)
		odrp_sum_keep(dev, req);
	if (dev->protect)
		odrp_protect_keep(dev, req);
	odrp_unreadable_clear(dev, req->slot);
	if (req->act == ODRP_SLOT_DO_UNMAPPED)
		odrp_stat_inc(dev, stores_unmapped);
	else
		odrp_stat_inc(dev, stores_mapped);
	odrp_stat_add(dev, bytes_out, ODRP_BLOCK);
	odrp_hist_count(&dev->times[req->conn->q->idx].store,
			ktime_get_ns() - req->start_ns);
}

/* The lease and the count of frees, before the slot changes hands. */
static void slot_settle(struct odrp_queue *q, struct odrp_req *req)
{
	struct odrp_dev *dev = q->dev;

	switch (req->conn->chain) {
	case ODRP_WIRE_UNMAPPED_STORE:
		if (req->res == ODRP_SLOT_ABORTED)
			odrp_lease_put(&dev->lease);
		break;
	case ODRP_WIRE_INVALIDATE:
		if (req->res == ODRP_SLOT_OK) {
			odrp_lease_put(&dev->lease);
			odrp_stat_inc(dev, invalidates);
		}
		/* Aborted: odrp_free_queue() counts it again. */
		odrp_free_less(q);
		break;
	}
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
 * With a backing device the slot of a block is given up by backing.c, and after
 * an invalidate without an answer nobody asks what has become of it.
 */
static void end_slot(struct odrp_queue *q, struct odrp_req *req)
{
	struct odrp_dev *dev = q->dev;
	bool failed = req->res == ODRP_SLOT_FAILED;
	unsigned int more;

	if (failed && req->conn->chain != ODRP_WIRE_LOAD)
		WRITE_ONCE(dev->some_unknown, true);
	if (failed && dev->backing)
		more = odrp_slot_end_local(&dev->slots, req->slot);
	else
		more = odrp_slot_end(&dev->slots, req->slot, req->res);
	odrp_slot_more(q, req->slot, more);
}

/*
 * End a request, whatever became of it, and release the bios that waited for its
 * slot, or for its page.
 *
 * The slot is idle before the bio ends: its owner may use it again at once.
 */
static void req_finish(struct odrp_req *req)
{
	struct odrp_conn *conn = req->conn;
	struct odrp_queue *q = conn->q;
	struct odrp_dev *dev = q->dev;
	struct bio *bio = req->bio;
	enum odrp_slot_result res;
	u8 chain = conn->chain;
	bool two = bio && dev->backing;

	if (chain == ODRP_WIRE_LOAD)
		end_load(dev, req);
	else if (chain != ODRP_WIRE_INVALIDATE)
		end_store(dev, req);
	trace_odrp_done(conn, req);	/* check_load() may have failed it */
	slot_settle(q, req);
	res = req->res;

	if (!two)
		end_slot(q, req);
	if (bio) {
		if (res != ODRP_SLOT_OK && !two)
			fail_bio(dev, bio);
		odrp_acct_end(bio, ODRP_BLOCK_SECTORS, req->acct);
	}
	odrp_req_put(req);	/* from here on conn may be torn down */
	if (two)
		odrp_backing_answered(bio, res, q);
	else if (bio)
		bio_endio(bio);
	if (chain == ODRP_WIRE_INVALIDATE)
		odrp_free_credit(dev);
}

/*
 * A request is complete, and so are the quiet ones that it speaks for.  The
 * connection stands until the last of them has been put.
 */
static void finish_group(struct odrp_req *req)
{
	struct odrp_req *m, *next;

	for (m = req->group; m; m = next) {
		next = m->group;
		if (mark(m, ODRP_REQ_DONE))
			req_finish(m);
	}
	req_finish(req);
}

/*
 * An answer says more than a SEND that was flushed: then the request has been
 * executed.  Without one it stays under way, for reconnect.c to see to; so does a READ
 * or WRITE, which has no other answer than this.
 */
static void send_done(struct odrp_req *req, const struct ib_wc *wc)
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
		finish_group(req);
}

/*
 * odrp_req_settle() - end a request that has been executed without an answer
 *
 * The connection is down, nobody reaps.  Releases bios.
 */
void odrp_req_settle(struct odrp_req *req)
{
	if (mark(req, ODRP_REQ_DONE))
		req_finish(req);
}

/* Give the NIC receives back, some at a time. */
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

static void conn_answer(struct odrp_conn *conn, u32 id)
{
	unsigned int idx = id & 0xffff;
	bool done;

	if (idx >= conn->nr_reqs ||
	    !mark_answered(&conn->reqs[idx], id, &done)) {
		odrp_stat_inc(conn->sess->dev, unknown_ids);
		return;
	}
	if (done)
		finish_group(&conn->reqs[idx]);
}

static void recv_done(struct odrp_conn *conn, const struct ib_wc *wc)
{
	u32 want = conn->chain == ODRP_WIRE_LOAD ? ODRP_BLOCK : 0;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* Refused while connecting: cm.c has said why. */
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
	conn_answer(conn, be32_to_cpu(wc->ex.imm_data));
}

static void dispatch(struct odrp_conn *conn, struct ib_wc *wc)
{
	struct ib_cqe *cqe = wc->wr_cqe;

	if (cqe == &conn->recv_cqe)
		recv_done(conn, wc);
	else if (cqe->done == odrp_send_done)
		send_done(container_of(cqe, struct odrp_req, cqe), wc);
	else
		cqe->done(conn->cq, wc);
}

/*
 * odrp_conn_reap() - handle completions of a connection
 *
 * Releases bios.
 *
 * Return: how many, at most @budget rounded up to REAP_BATCH.
 */
int odrp_conn_reap(struct odrp_conn *conn, int budget)
{
	struct ib_wc wc[REAP_BATCH];
	int n, i, sum = 0;

	while (sum < budget) {
		n = ib_poll_cq(conn->cq, REAP_BATCH, wc);
		odrp_fault_polled(conn, wc, n);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			dispatch(conn, &wc[i]);
		sum += n;
	}
	return sum;
}

/*
 * odrp_conn_fail_posted() - end everything that was posted and not answered
 *
 * The connection has no queue pair, which may not have flushed (unplug.c).  Two may do this
 * at once, and somebody else may settle some.  Releases bios.
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
		req_finish(req);
	}
}

/*
 * odrp_reqs_abort() - end a list of requests that will not be posted
 *
 * One that was sent before, and could not be sent again, may have been cut short.
 * Releases bios.
 */
void odrp_reqs_abort(struct odrp_req *req)
{
	struct odrp_req *next;

	for (; req; req = next) {
		next = req->next;
		req->res = req->sends ? ODRP_SLOT_FAILED : ODRP_SLOT_ABORTED;
		req_finish(req);
	}
}

/* odrp_batch_abort() - end what odrp_batch_post() has refused */
void odrp_batch_abort(struct odrp_batch *b)
{
	struct odrp_req *list = b->refused;

	b->refused = NULL;
	odrp_reqs_abort(list);
}
