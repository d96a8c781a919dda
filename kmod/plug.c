// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Making the queue pair and the completion queue of a connection.  unplug.c destroys them.
 *
 * When a connection breaks, its queue pair is destroyed, and there may be no memory for
 * another one when the session is resumed.  So each connection has a spare queue pair and
 * a spare connection id, made while the session is live (stock.c).  The first attempt to
 * resume that gets as far as the queue pair uses the spare one.  A later attempt allocates
 * a queue pair, from the memory that the attempt before has freed, or from the kernel's
 * reserves (reconnect.c).  When the session is live again, new spares are made.  The
 * completion queue is kept, unless it has failed.
 *
 * A queue pair is never used for a second connection.  The connection manager of the peer
 * rejects the number of the queue pair as stale while its own end of the old connection
 * exists or is in timewait (cm_match_req() in ib_cm).  And a reset by rdma_rxe of 6.1
 * (rxe_qp_reset()) keeps comp.opcode: after a reset between the packets of a READ's
 * response, check_ack() takes the first acknowledgement of the next connection for an
 * error.
 */
#include "msg.h"
#include "odrp.h"

/* Completions per run of softirq; fewer with encryption: a decryption takes microseconds. */
#define POLL_WEIGHT	64
#define POLL_WEIGHT_PROTECT 16
#define STALE_BATCH	16

/*
 * Never called: odrp_conn_reap() recognizes a request by odrp_send_done and a receive by its
 * cqe, and handles both itself.  Registrations, heartbeats and markers (unplug.c) have done
 * functions of their own.
 */
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

void odrp_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* Called in hard interrupt, or in the context of the transport with its locks held. */
static void cq_event(struct ib_cq *cq, void *context)
{
	struct odrp_conn *conn = context;

	irq_poll_sched(&conn->iop);
}

/* An error of a queue ends the handshake, or fails the session.  Any context. */
static void conn_event(struct odrp_conn *conn, int event)
{
	if (conn->msgs)
		odrp_msgs_event(conn);
	else
		odrp_sess_event(conn->sess, event);
}

/* May run in hard interrupt, as qp_event(): mlx5 calls both from its event queue. */
static void cq_error(struct ib_event *ev, void *context)
{
	struct odrp_conn *conn = context;

	WRITE_ONCE(conn->cq_failed, true);
	conn_event(conn, ev->event);
}

static void qp_event(struct ib_event *ev, void *context)
{
	struct odrp_conn *conn = context;

	switch (ev->event) {
	case IB_EVENT_COMM_EST:
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	default:
		conn_event(conn, ev->event);
		break;
	}
}

/*
 * How many registrations, READs of entries or messages the send queue has to hold at once,
 * beside requests.  A connection registers its memory through its own send queue.
 */
static unsigned int regs_of(const struct odrp_conn *conn)
{
	unsigned int max = conn->sess->ibdev->attrs.max_fast_reg_page_list_len;

	if (!conn->q)	/* admin: registers one at a time, or reads entries (sync.c) */
		return conn->msgs ? 1 : ODRP_SYNC_BATCH;
	return conn->chain == ODRP_WIRE_LOAD && !conn->keyed ?
	       DIV_ROUND_UP(conn->depth, max) : 0;
}

/* Drop completions of queue pairs that have been destroyed: nobody waits for them. */
static void forget_stale(struct ib_cq *cq)
{
	struct ib_wc wc[STALE_BATCH];

	while (ib_poll_cq(cq, ARRAY_SIZE(wc), wc) > 0)
		;
}

static int make_cq(struct odrp_conn *conn, unsigned int nr_cqe)
{
	struct ib_device *ibdev = conn->sess->ibdev;
	struct ib_cq_init_attr attr = {
		.cqe		= nr_cqe,
		.comp_vector	= conn->q ? conn->q->idx %
					    ibdev->num_comp_vectors : 0,
	};
	struct ib_cq *cq;

	conn->cq_failed = false;
	cq = odrp_alloc_ptr(ib_create_cq(ibdev, cq_event, cq_error, conn,
					 &attr));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	return 0;
}

/*
 * Make the completion queue, or use the one that was kept, and start irq_poll.  No queue
 * pair completes to the queue yet.  An event of a kept queue may arrive late and schedule
 * irq_poll, so irq_poll is enabled for a kept queue, not initialized again.
 */
static int start_cq(struct odrp_conn *conn, unsigned int nr_cqe)
{
	int err;

	odrp_fault_plugged(conn);
	if (conn->cq) {
		forget_stale(conn->cq);
		irq_poll_enable(&conn->iop);
	} else {
		irq_poll_init(&conn->iop, conn->sess->dev->protect ?
			      POLL_WEIGHT_PROTECT : POLL_WEIGHT, conn->poll);
		err = make_cq(conn, nr_cqe);
		if (err)
			return err;
	}
	conn->irq_on = true;
	ib_req_notify_cq(conn->cq, IB_CQ_NEXT_COMP);
	return 0;
}

/*
 * How many receives are posted: enough for the outstanding answers, one chunk that has not
 * been posted again yet, and one chunk that is being used up.
 */
static unsigned int nr_recvs(const struct odrp_conn *conn)
{
	if (conn->keyed)
		return 0;
	return conn->q ? round_up(conn->depth, ODRP_RECV_CHUNK) +
			 2 * ODRP_RECV_CHUNK : ODRP_RECV_CHUNK;
}

/* odrp_conn_post_recvs() - post all receives of a new queue pair, which is in state INIT */
int odrp_conn_post_recvs(struct odrp_conn *conn)
{
	unsigned int i;
	int err;

	if (conn->msgs)
		return odrp_msgs_post(conn);
	conn->recv_cqe.done = odrp_recv_done;
	for (i = 0; i < ODRP_RECV_CHUNK; i++) {
		conn->recv[i].wr_cqe = &conn->recv_cqe;
		if (i + 1 < ODRP_RECV_CHUNK)
			conn->recv[i].next = &conn->recv[i + 1];
	}
	for (i = 0; i < nr_recvs(conn); i += ODRP_RECV_CHUNK) {
		err = odrp_post_recv(conn->qp, conn->recv);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Attributes of a queue pair of the connection, without the completion queues, which
 * make_qp() sets.  conn->depth is the requested depth at first, and later the granted one,
 * which may be less.
 */
static struct ib_qp_init_attr qp_attr(struct odrp_conn *conn)
{
	unsigned int nr_reqs = conn->q ? conn->depth : 0;

	return (struct ib_qp_init_attr) {
		.event_handler	= qp_event,
		.qp_context	= conn,
		.cap		= {
			/* Requests, registrations or READs, a heartbeat, a marker. */
			.max_send_wr	= nr_reqs * (odrp_conn_lazy(conn) ?
						     ODRP_SIGNAL_EVERY : 1) +
					  regs_of(conn) + 3,
			.max_recv_wr	= nr_recvs(conn) + 1,
			.max_send_sge	= ODRP_MAX_SGE,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
}

static int check_size(struct odrp_conn *conn, const struct ib_qp_cap *cap)
{
	struct ib_device *ibdev = conn->sess->ibdev;

	if (cap->max_recv_wr <= ibdev->attrs.max_qp_wr &&
	    cap->max_send_wr <= ibdev->attrs.max_qp_wr)
		return 0;
	pr_err("odrp%d: depth=%u: %s has queues of at most %d\n",
	       conn->sess->dev->id, conn->depth, dev_name(&ibdev->dev),
	       ibdev->attrs.max_qp_wr);
	return -EINVAL;
}

/* Make a queue pair that completes to @cq.  The caller keeps @cq from being destroyed. */
static int make_qp(struct odrp_conn *conn, struct ib_cq *cq,
		   struct ib_qp_init_attr *attr, struct ib_qp **ret_qp)
{
	struct ib_qp *qp;

	attr->send_cq = cq;
	attr->recv_cq = cq;
	qp = odrp_alloc_ptr(ib_create_qp(conn->sess->pd, attr));
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	*ret_qp = qp;
	return 0;
}

static struct ib_qp *take_spare(struct odrp_conn *conn)
{
	struct ib_qp *qp;

	spin_lock_bh(&conn->lock);
	qp = conn->spare.qp;
	conn->spare.qp = NULL;
	spin_unlock_bh(&conn->lock);
	return qp;
}

/*
 * odrp_conn_plug() - give the connection a completion queue and a queue pair
 *
 * The id of the connection has a device and a route.  Sleeps.
 *
 * Return: 0 or -errno; odrp_conn_unplug() and odrp_plug_exit() undo both.
 */
int odrp_conn_plug(struct odrp_conn *conn)
{
	struct ib_qp_init_attr attr = qp_attr(conn);
	struct ib_qp *qp;
	int err;

	if (conn->stuck)	/* the device keeps the old queue pair and its memory */
		return -EIO;
	err = check_size(conn, &attr.cap);
	if (err)
		return err;
	err = start_cq(conn, attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (err)
		return err;
	qp = take_spare(conn);
	if (!qp) {
		err = make_qp(conn, conn->cq, &attr, &qp);
		if (err)
			return err;
	}
	/* Events of the id (cm.c) use conn->qp under this lock. */
	mutex_lock(&conn->plug_lock);
	conn->qp = qp;
	mutex_unlock(&conn->plug_lock);
	return 0;
}

/*
 * Begin to make a spare queue pair.  Return: its completion queue, which is not destroyed
 * until stock_end(); NULL when no spare is to be made.
 */
static struct ib_cq *stock_begin(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;
	struct ib_cq *cq = NULL;

	spin_lock_bh(&conn->lock);
	if (!spare->qp && !READ_ONCE(conn->cq_failed))
		cq = conn->cq;
	spare->making = cq;
	spin_unlock_bh(&conn->lock);
	return cq;
}

/*
 * End the making of a spare queue pair.
 * @qp: the queue pair, or NULL when it could not be made
 *
 * Return: 0, or -EAGAIN: the connection has given up the completion queue meanwhile, and
 * this has destroyed both.
 */
static int stock_end(struct odrp_conn *conn, struct ib_qp *qp)
{
	struct odrp_spare *spare = &conn->spare;
	struct ib_cq *left;

	spin_lock_bh(&conn->lock);
	left = spare->left;
	spare->left = NULL;
	spare->making = NULL;
	if (!left && qp)
		spare->qp = qp;
	spin_unlock_bh(&conn->lock);
	if (!left)
		return 0;
	odrp_plug_discard(conn, qp, left);
	return -EAGAIN;
}

/*
 * odrp_plug_stock() - make a spare queue pair, if the connection has none
 *
 * The connection has been up.  Makes none while the completion queue has failed: the next
 * odrp_conn_plug() makes both.  One caller at a time; the connection may break and be made
 * again meanwhile.  Sleeps.
 *
 * Return: 0, also when no spare was needed.  -EAGAIN: see stock_end().  Else -errno.
 */
int odrp_plug_stock(struct odrp_conn *conn)
{
	struct ib_qp_init_attr attr = qp_attr(conn);
	struct ib_cq *cq = stock_begin(conn);
	struct ib_qp *qp = NULL;
	int err, gone;

	if (!cq)
		return 0;
	err = make_qp(conn, cq, &attr, &qp);
	gone = stock_end(conn, qp);
	return err ?: gone;
}

bool odrp_conn_has_spare(const struct odrp_conn *conn)
{
	return READ_ONCE(conn->spare.qp) && READ_ONCE(conn->spare.id);
}
