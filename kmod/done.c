// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: a request succeeds or fails, nothing in between.  A store ends
 * when its SEND has completed and its answer is there, because only then
 * neither NIC touches its page any more; see odrp_conn_lazy() for the others,
 * and odrp_conn_quiet() for those that end with another.  A READ or WRITE of a
 * page ends when it has completed well.
 *
 * Completion queues are reaped in softirq (irq_poll) and, for loads, by the
 * reader itself; both may do so at once: ib_poll_cq() gives each completion
 * to one of them, and the request's state word joins the two halves.
 *
 * io.c comes before; bios end here.
 */
#include <linux/sched.h>
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

static void end_load(struct odrp_dev *dev, struct odrp_req *req)
{
	struct odrp_queue *q = req->conn->q;
	u64 ns, ewma;

	if (req->res != ODRP_SLOT_OK)
		return;
	ib_dma_sync_single_for_cpu(req->conn->sess->ibdev, req->bounce_dma,
				   ODRP_BLOCK, DMA_FROM_DEVICE);
	odrp_block_copy(req->bio, req->iter, req->bounce, true);
	if (dev->sums && odrp_sum_check(dev, req)) {
		odrp_unread_mark(dev, req->slot);
		/* Nobody is to have it, not even by a kernel that does not look. */
		odrp_block_copy(req->bio, req->iter, ZERO_PAGE(0), true);
		req->res = ODRP_SLOT_FAILED;
		return;
	}
	odrp_unread_clear(dev, req->slot);
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
	odrp_unread_clear(dev, req->slot);
	if (req->act == ODRP_SLOT_DO_UNMAPPED)
		odrp_stat_inc(dev, stores_unmapped);
	else
		odrp_stat_inc(dev, stores_mapped);
	odrp_stat_add(dev, bytes_out, ODRP_BLOCK);
	odrp_hist_count(&dev->times[req->conn->q->idx].store,
			ktime_get_ns() - req->start_ns);
}

/* The lease and the count of frees, before the slot changes hands. */
static void settle(struct odrp_dev *dev, struct odrp_req *req,
		   struct bio_list *todo)
{
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
		odrp_free_less(dev, todo);
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
static void end_slot(struct odrp_dev *dev, struct odrp_req *req,
		     struct bio_list *todo)
{
	unsigned int more;

	if (dev->backing && req->res == ODRP_SLOT_FAILED)
		more = odrp_slot_end_local(&dev->slots, req->slot);
	else
		more = odrp_slot_end(&dev->slots, req->slot, req->res);
	odrp_slot_more(dev, req->slot, more, todo);
}

/*
 * odrp_req_finish() - end a request, whatever became of it
 * @todo: gets the bios that waited for its slot, or for its page
 *
 * The slot is at rest before the bio ends: its owner may use it again at once.
 */
void odrp_req_finish(struct odrp_req *req, struct bio_list *todo)
{
	struct odrp_conn *conn = req->conn;
	struct odrp_dev *dev = conn->sess->dev;
	struct bio *bio = req->bio;
	enum odrp_slot_result res;
	u8 chain = conn->chain;
	bool two = bio && dev->backing;

	if (chain == ODRP_WIRE_LOAD)
		end_load(dev, req);
	else if (chain != ODRP_WIRE_INVALIDATE)
		end_store(dev, req);
	trace_odrp_done(conn, req);	/* a checksum may have failed it */
	settle(dev, req, todo);
	res = req->res;

	if (!two)
		end_slot(dev, req, todo);
	if (bio) {
		if (res != ODRP_SLOT_OK && !two)
			fail_bio(dev, bio);
		odrp_acct_end(bio, ODRP_BLOCK_SECTORS, req->acct);
	}
	odrp_req_put(req);	/* from here on conn may be torn down */
	if (two)
		odrp_backing_answered(bio, res, todo);
	else if (bio)
		bio_endio(bio);
	if (chain == ODRP_WIRE_INVALIDATE)
		odrp_free_credit(dev);
}

/*
 * A request is complete, and so are the quiet ones that it speaks for.  The
 * connection stands until the last of them has been put.
 */
static void finish(struct odrp_req *req, struct bio_list *todo)
{
	struct odrp_req *m, *next;

	for (m = req->group; m; m = next) {
		next = m->group;
		if (mark(m, ODRP_REQ_DONE))
			odrp_req_finish(m, todo);
	}
	odrp_req_finish(req, todo);
}

/*
 * An answer says more than a SEND that was flushed: then the request has been
 * executed.  Without one it stays under way, for mend.c to see to; so does a READ
 * or WRITE, which has no other answer than this.
 */
static void send_done(struct odrp_req *req, const struct ib_wc *wc,
		      struct bio_list *todo)
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
		finish(req, todo);
}

/*
 * odrp_req_settle() - end a request that has been executed without an answer
 *
 * The connection is down, nobody reaps.
 */
void odrp_req_settle(struct odrp_req *req)
{
	struct odrp_queue *q = req->conn->q;
	struct bio_list todo;

	bio_list_init(&todo);
	if (mark(req, ODRP_REQ_DONE))
		odrp_req_finish(req, &todo);
	if (!bio_list_empty(&todo))
		odrp_issue(q, &todo);
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

static void answer(struct odrp_conn *conn, u32 id, struct bio_list *todo)
{
	unsigned int idx = id & 0xffff;
	bool done;

	if (idx >= conn->nr_reqs ||
	    !mark_answered(&conn->reqs[idx], id, &done)) {
		odrp_stat_inc(conn->sess->dev, unknown_ids);
		return;
	}
	if (done)
		finish(&conn->reqs[idx], todo);
}

static void recv_done(struct odrp_conn *conn, const struct ib_wc *wc,
		      struct bio_list *todo)
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
	answer(conn, be32_to_cpu(wc->ex.imm_data), todo);
}

/*
 * Only to tell requests and receives from other work: reap() calls neither.
 * The core's drain and our own registrations and beats bring their own.
 */
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

void odrp_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

static void dispatch(struct odrp_conn *conn, struct ib_wc *wc,
		     struct bio_list *todo)
{
	struct ib_cqe *cqe = wc->wr_cqe;

	if (cqe == &conn->recv_cqe)
		recv_done(conn, wc, todo);
	else if (cqe->done == odrp_send_done)
		send_done(container_of(cqe, struct odrp_req, cqe), wc, todo);
	else
		cqe->done(conn->cq, wc);
}

/* Move bios for which there are requests now to todo.  Return: how many. */
static unsigned int take_waiting(struct odrp_conn *conn, struct bio_list *todo)
{
	unsigned int max, n = 0;
	struct bio *bio;

	spin_lock_bh(&conn->lock);
	max = conn->live ? min_t(unsigned int, conn->nr_free,
				 ODRP_POST_CHUNK) : 0;
	while (n < max && (bio = bio_list_pop(&conn->waiting))) {
		bio_list_add(todo, bio);
		n++;
	}
	spin_unlock_bh(&conn->lock);
	if (n)
		odrp_unpark(conn->sess->dev, n);
	return n;
}

/*
 * odrp_conn_kick() - go on with the bios that wait for a request
 *
 * Together, so that they share a doorbell and an answer.  Not finished before
 * there is no free request or no bio: a bio that is resumed here may turn out
 * to need another connection.
 */
void odrp_conn_kick(struct odrp_conn *conn)
{
	struct bio_list todo;

	if (!conn->q)
		return;
	bio_list_init(&todo);
	while (take_waiting(conn, &todo))
		odrp_issue(conn->q, &todo);
}

/*
 * odrp_conn_reap() - handle completions of a connection
 *
 * Return: how many, at most @budget rounded up to REAP_BATCH.
 */
int odrp_conn_reap(struct odrp_conn *conn, int budget)
{
	struct ib_wc wc[REAP_BATCH];
	struct bio_list todo;
	int n, i, sum = 0;

	bio_list_init(&todo);
	while (sum < budget) {
		n = ib_poll_cq(conn->cq, REAP_BATCH, wc);
		odrp_fault_polled(conn, wc, n);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			dispatch(conn, &wc[i], &todo);
		sum += n;
	}
	if (!sum)
		return 0;
	if (!bio_list_empty(&todo))
		odrp_issue(conn->q, &todo);
	odrp_conn_kick(conn);
	return sum;
}

/* Softirq.  Armed again only after the queue was seen empty. */
int odrp_conn_poll(struct irq_poll *iop, int budget)
{
	struct odrp_conn *conn = container_of(iop, struct odrp_conn, iop);
	int n = odrp_conn_reap(conn, budget);

	if (n >= budget)
		return budget;
	irq_poll_complete(iop);
	if (ib_req_notify_cq(conn->cq, IB_CQ_NEXT_COMP |
				       IB_CQ_REPORT_MISSED_EVENTS) > 0)
		irq_poll_sched(iop);
	return n;
}

/*
 * odrp_poll_load() - wait actively, and boundedly, for a load just posted
 *
 * The last of ours: a connection's requests are answered in order, so those
 * before it end first, and what others post behind it is not waited for.  Not
 * tried when loads have been taking much longer than we would poll: then
 * the softirq is as good.
 */
void odrp_poll_load(struct odrp_queue *q, struct odrp_mark last)
{
	struct odrp_conn *conn = q->conn[ODRP_WIRE_LOAD];
	u64 ns = (u64)READ_ONCE(odrp_poll_us) * NSEC_PER_USEC;
	u64 end;

	if (!ns || READ_ONCE(q->load_ewma_ns) > 2 * ns)
		return;

	/* Pairs with odrp_conn_stop(): it waits for us, or we see it. */
	atomic_inc(&conn->pollers);
	smp_mb__after_atomic();
	odrp_stat_inc(q->dev, polls);
	end = ktime_get_ns() + ns;
	while (READ_ONCE(conn->live)) {
		odrp_conn_reap(conn, REAP_BATCH);
		if (odrp_req_gen(last.req) != last.gen) {
			odrp_stat_inc(q->dev, polls_hit);
			break;
		}
		if (need_resched() || ktime_get_ns() >= end)
			break;
		cpu_relax();
	}
	smp_mb__before_atomic();
	atomic_dec(&conn->pollers);
}

/*
 * odrp_conn_fail_posted() - end everything that was posted and not answered
 *
 * The connection is down, its send queue drained, nobody reaps.  Two may do this
 * at once, and somebody else may settle some.
 */
void odrp_conn_fail_posted(struct odrp_conn *conn)
{
	struct bio_list todo;
	unsigned int i;

	bio_list_init(&todo);
	for (i = 0; i < conn->nr_reqs; i++) {
		struct odrp_req *req = &conn->reqs[i];

		if (!(atomic_read(&req->st) & ODRP_REQ_POSTED))
			continue;
		if (!mark(req, ODRP_REQ_DONE))
			continue;
		req->res = ODRP_SLOT_FAILED;
		odrp_req_finish(req, &todo);
	}
	if (!bio_list_empty(&todo))
		odrp_issue(conn->q, &todo);
}
