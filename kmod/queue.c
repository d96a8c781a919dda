// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parts of a connection other than its queue pair (plug.c, unplug.c): requests with
 * their memory, and registrations.  They are made before the first request is posted, and
 * freed after the last request has ended (hangup.c).
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "msg.h"
#include "odrp.h"

#define REG_TIMEOUT_MS	5000
#define FLUSH_MS	2000	/* most time to wait for a queue pair to flush */

/* With rkeys of the session or slabs, loads and mapped stores are READs and WRITEs. */
static bool is_keyed(const struct odrp_sess *s, u8 chain)
{
	return (s->features & (ODRP_WIRE_F_KEYED | ODRP_WIRE_F_DIRECT)) &&
	       (chain == ODRP_WIRE_LOAD || chain == ODRP_WIRE_MAPPED_STORE);
}

/*
 * odrp_conn_new() - make a connection that is not connected yet
 * @q:		NULL: the admin connection, or the one for handshakes
 * @poll:	reaps completions of the connection, in softirq
 *
 * Return: NULL without memory.
 */
struct odrp_conn *odrp_conn_new(struct odrp_sess *s, struct odrp_queue *q,
				u8 chain, irq_poll_fn *poll)
{
	struct odrp_conn *conn = odrp_alloc(kzalloc(sizeof(*conn),
						    ODRP_GFP_CHOSEN));

	if (!conn)
		return NULL;
	conn->sess = s;
	conn->q = q;
	conn->chain = chain;
	conn->poll = poll;
	conn->keyed = q && is_keyed(s, chain);
	conn->depth = s->depth;
	spin_lock_init(&conn->lock);
	bio_list_init(&conn->waiting);
	init_waitqueue_head(&conn->idle);
	init_completion(&conn->cm_done);
	mutex_init(&conn->plug_lock);
	return conn;
}

static void waiter_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct odrp_waiter *w = container_of(wc->wr_cqe, struct odrp_waiter,
					     cqe);

	if (odrp_fault(ODRP_FAULT_MUTE))
		return;
	w->status = wc->status;
	complete(&w->done);
}

/*
 * odrp_post_wait() - post work requests and wait until all are done
 * @wr: one work request or a list; this function sets completion handlers and flags
 * @ms: time-out
 *
 * One caller at a time.  The queue pair executes the work requests in order, so only the
 * last one asks for a completion.  If a work request fails, it completes with an error,
 * and those behind it are flushed.
 *
 * After a time-out this breaks the queue pair and waits up to FLUSH_MS for the flush.  A
 * device that does not flush may still use the memory of the work requests: it must stay
 * until the connection's queue pair is destroyed.  Until then calls fail at once.
 *
 * Return: 0, -EIO, -ETIMEDOUT, -EINTR when the caller is killed meanwhile, or the error of
 * posting.
 */
int odrp_post_wait(struct odrp_conn *conn, struct ib_send_wr *wr,
		   unsigned int ms)
{
	struct odrp_waiter *w = &conn->waiter;
	struct ib_send_wr *p;
	long left;
	int err;

	if (w->late)	/* the device has not flushed an earlier list */
		return -EIO;
	w->cqe.done = waiter_done;
	w->status = IB_WC_GENERAL_ERR;
	init_completion(&w->done);
	for (p = wr; p; p = (struct ib_send_wr *)p->next) {
		p->wr_cqe = &w->cqe;
		p->send_flags = p->next ? 0 : IB_SEND_SIGNALED;
	}
	odrp_fault_lost(conn);
	err = odrp_post_send(conn->qp, wr, NULL);
	if (err)
		return err;
	left = wait_for_completion_killable_timeout(&w->done,
						    msecs_to_jiffies(ms));
	if (left > 0)
		return w->status == IB_WC_SUCCESS ? 0 : -EIO;
	odrp_conn_break(conn);
	w->late = !wait_for_completion_timeout(&w->done,
					       msecs_to_jiffies(FLUSH_MS));
	return left < 0 ? -EINTR : -ETIMEDOUT;
}

static int register_mr(struct odrp_conn *conn, struct ib_mr *mr)
{
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr,
		.key		= mr->rkey,
		.access		= IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_WRITE,
	};

	return odrp_post_wait(conn, &wr.wr, REG_TIMEOUT_MS);
}

/* Maps memory of the session for the device, until the caller unmaps it.  0 or -ENOMEM. */
int odrp_map(struct ib_device *ibdev, void *p, size_t len,
	     enum dma_data_direction dir, u64 *ret_dma)
{
	u64 dma;

	if (odrp_fault(ODRP_FAULT_ALLOC))
		return -ENOMEM;
	dma = ib_dma_map_single(ibdev, p, len, dir);
	if (ib_dma_mapping_error(ibdev, dma))
		return -ENOMEM;
	*ret_dma = dma;
	return 0;
}

/*
 * odrp_reg_make() - let the memory node write to pages, and to nothing else
 * @dma: DMA addresses of the pages, from ib_dma_map_*()
 * @nr: number of pages; the memory node sees them contiguous, from mr->iova on
 *
 * Waits for the registration on the connection's queue pair.
 *
 * Return: 0 or -errno; in either case odrp_reg_free() frees what was made.
 */
int odrp_reg_make(struct odrp_conn *conn, struct odrp_reg *reg,
		  const u64 *dma, unsigned int nr)
{
	struct scatterlist *sg;
	unsigned int i;
	int n, err = 0;

	sg = odrp_alloc(kvcalloc(nr, sizeof(*sg), ODRP_GFP_CHOSEN));
	if (!sg)
		return -ENOMEM;
	sg_init_table(sg, nr);
	for (i = 0; i < nr; i++) {
		sg_dma_address(&sg[i]) = dma[i];
		sg_dma_len(&sg[i]) = PAGE_SIZE;
	}
	reg->mr = odrp_alloc_ptr(ib_alloc_mr(conn->sess->pd,
					     IB_MR_TYPE_MEM_REG, nr));
	if (IS_ERR(reg->mr)) {
		err = PTR_ERR(reg->mr);
		reg->mr = NULL;
		goto free_sg;
	}
	n = ib_map_mr_sg(reg->mr, sg, nr, NULL, PAGE_SIZE);
	if (n != nr)
		err = n < 0 ? n : -EINVAL;
	else
		err = register_mr(conn, reg->mr);
free_sg:
	kvfree(sg);
	return err;
}

void odrp_reg_free(struct odrp_reg *reg)
{
	if (reg->mr)
		ib_dereg_mr(reg->mr);
	reg->mr = NULL;
}

static enum dma_data_direction bounce_dir(const struct odrp_conn *conn)
{
	return conn->chain == ODRP_WIRE_LOAD ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static bool has_page(const struct odrp_conn *conn)
{
	return conn->chain != ODRP_WIRE_INVALIDATE;
}

/* A SEND gathers the head, a store's page, and the end behind the page, which stays 0. */
static int make_send(struct odrp_conn *conn, struct odrp_req *req)
{
	int err;

	req->hdr = odrp_alloc(kzalloc(ODRP_HDR_LEN, ODRP_GFP_CHOSEN));
	if (!req->hdr)
		return -ENOMEM;
	err = odrp_map(conn->sess->ibdev, req->hdr, ODRP_HDR_LEN, DMA_TO_DEVICE,
		       &req->hdr_dma);
	if (err) {
		kfree(req->hdr);
		req->hdr = NULL;
		return err;
	}
	req->sge[0].addr = req->hdr_dma;
	req->sge[0].length = ODRP_WIRE_REQ_LEN;
	req->sge[2].addr = req->hdr_dma + ODRP_WIRE_REQ_LEN;
	req->sge[2].length = ODRP_WIRE_END_LEN;
	req->wr.wr.sg_list = req->sge;
	req->wr.wr.num_sge = odrp_conn_stores(conn) ? 3 : 1;
	req->wr.wr.opcode = IB_WR_SEND;
	return 0;
}

/* A READ or WRITE transfers the page alone. */
static int make_access(struct odrp_conn *conn, struct odrp_req *req)
{
	req->wr.wr.sg_list = &req->sge[1];
	req->wr.wr.num_sge = 1;
	req->wr.wr.opcode = odrp_conn_stores(conn) ? IB_WR_RDMA_WRITE :
						     IB_WR_RDMA_READ;
	return 0;
}

static int make_bounce(struct odrp_conn *conn, struct odrp_req *req)
{
	int err;

	req->bounce = odrp_alloc(alloc_page(ODRP_GFP_CHOSEN));
	if (!req->bounce)
		return -ENOMEM;
	err = odrp_map(conn->sess->ibdev, page_address(req->bounce), PAGE_SIZE,
		       bounce_dir(conn), &req->bounce_dma);
	if (err) {
		__free_page(req->bounce);
		req->bounce = NULL;
	}
	return err;
}

static int make_req(struct odrp_conn *conn, struct odrp_req *req, u16 idx)
{
	unsigned int i;
	int err;

	req->conn = conn;
	req->idx = idx;
	req->cqe.done = odrp_send_done;
	req->wr.wr.wr_cqe = &req->cqe;
	for (i = 0; i < ODRP_MAX_SGE; i++)
		req->sge[i].lkey = conn->sess->pd->local_dma_lkey;
	req->sge[1].length = ODRP_BLOCK;
	err = conn->keyed ? make_access(conn, req) : make_send(conn, req);
	if (err || !has_page(conn))
		return err;
	err = make_bounce(conn, req);
	req->sge[1].addr = req->bounce_dma;
	return err;
}

static void free_req(struct odrp_conn *conn, struct odrp_req *req)
{
	struct ib_device *ibdev = conn->sess->ibdev;

	if (req->bounce) {
		ib_dma_unmap_single(ibdev, req->bounce_dma, PAGE_SIZE,
				    bounce_dir(conn));
		__free_page(req->bounce);
	}
	if (req->hdr) {
		ib_dma_unmap_single(ibdev, req->hdr_dma, ODRP_HDR_LEN,
				    DMA_TO_DEVICE);
		kfree(req->hdr);
	}
	req->bounce = NULL;
	req->hdr = NULL;
}

/*
 * Registers the bounce pages of loads, so that the memory node can write to them.  Each
 * registration covers as many pages as the device allows.  Connections whose loads are
 * READs do not register: there the memory node can write to nothing but the page of the
 * grant.
 */
static int register_loads(struct odrp_conn *conn)
{
	unsigned int max = conn->sess->ibdev->attrs.max_fast_reg_page_list_len;
	unsigned int nr = conn->nr_reqs, first, i, n;
	int err = 0;
	u64 *dma;

	conn->regs = odrp_alloc(kcalloc(DIV_ROUND_UP(nr, max),
					sizeof(*conn->regs), ODRP_GFP_CHOSEN));
	dma = odrp_alloc(kvcalloc(nr, sizeof(*dma), ODRP_GFP_CHOSEN));
	if (!conn->regs || !dma) {
		err = -ENOMEM;
		goto free_dma;
	}
	for (i = 0; i < nr; i++)
		dma[i] = conn->reqs[i].bounce_dma;
	for (first = 0; first < nr; first += n) {
		struct odrp_reg *reg = &conn->regs[conn->nr_regs++];

		n = min(nr - first, max);
		err = odrp_reg_make(conn, reg, dma + first, n);
		if (err)
			break;
		for (i = 0; i < n; i++) {
			conn->reqs[first + i].raddr =
				reg->mr->iova + (u64)i * PAGE_SIZE;
			conn->reqs[first + i].rkey = reg->mr->rkey;
		}
	}
free_dma:
	kvfree(dma);
	return err;
}

/*
 * Makes as many requests as the memory node granted.  0 or -errno; in either case
 * odrp_conn_destroy() and odrp_conn_free() free what was made.
 */
int odrp_conn_make_reqs(struct odrp_conn *conn)
{
	unsigned int i;
	int err;

	conn->reqs = odrp_alloc(kvcalloc(conn->depth, sizeof(*conn->reqs),
					 ODRP_GFP_CHOSEN));
	if (!conn->reqs)
		return -ENOMEM;
	conn->nr_reqs = conn->depth;
	for (i = 0; i < conn->nr_reqs; i++) {
		err = make_req(conn, &conn->reqs[i], i);
		if (err)
			return err;
	}
	if (conn->chain == ODRP_WIRE_LOAD && !conn->keyed) {
		err = register_loads(conn);
		if (err)
			return err;
	}
	for (i = conn->nr_reqs; i--; ) {
		conn->reqs[i].next = conn->free;
		conn->free = &conn->reqs[i];
	}
	conn->nr_free = conn->nr_reqs;
	return 0;
}

/* Requests may be posted from now on. */
void odrp_conn_start(struct odrp_conn *conn)
{
	conn->started = true;
	spin_lock_bh(&conn->lock);
	conn->live = true;
	spin_unlock_bh(&conn->lock);
}

/* No request is posted from now on: requests wait for odrp_conn_resume(). */
void odrp_conn_pause(struct odrp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->paused = true;
	conn->live = false;
	spin_unlock_bh(&conn->lock);
}

/*
 * odrp_conn_destroy() - free requests' memory, mappings and registrations
 *
 * The connection's queue pair has been destroyed.  The CM id stays.
 */
void odrp_conn_destroy(struct odrp_conn *conn)
{
	unsigned int i;

	if (conn->msgs)
		odrp_msgs_unmap(conn);
	for (i = 0; i < conn->nr_regs; i++)
		odrp_reg_free(&conn->regs[i]);
	conn->nr_regs = 0;
	for (i = 0; i < conn->nr_reqs; i++)
		free_req(conn, &conn->reqs[i]);
}

void odrp_conn_free(struct odrp_conn *conn)
{
	if (conn->msgs)
		odrp_msgs_free(conn);
	kfree(conn->regs);
	kvfree(conn->reqs);
	kfree(conn);
}
