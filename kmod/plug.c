// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where a connection is plugged in: its queue pair and its completion queue.  Their end
 * is in unplug.c.
 *
 * A connection that breaks takes its queue pair with it, and who resumes the
 * session may find no memory for another.  So there is a spare one for each, and a
 * spare connection id, made while the session lives.  The first attempt that comes so
 * far takes them; a later one makes its own, out of what the one before has given
 * back, or out of the reserves (reconnect.c).  When the session lives again there are
 * spares again.  The completion queue stays, unless it has failed itself.
 *
 * Why no queue pair is used twice: the peer's connection manager refuses its number
 * as stale while its own end of the old connection is there, or in timewait
 * (cm_match_req() in ib_cm).  And rdma_rxe's reset forgets too little: one that was
 * reset between the packets of a READ's answer takes the next connection's first
 * acknowledgement for an error (comp.opcode, 6.1: rxe_qp_reset(), check_ack()).
 */
#include "msg.h"
#include "odrp.h"

/* Each page that is decrypted takes microseconds of softirq. */
#define POLL_WEIGHT	64
#define POLL_WEIGHT_PROTECT 16
#define STALE_BATCH	16

/*
 * Only to tell requests and receives from other work: odrp_conn_reap() calls neither.
 * Registrations, beats and markers (unplug.c) bring their own.
 */
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

void odrp_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* Hard interrupt, or the transport's own context with its locks held. */
static void cq_event(struct ib_cq *cq, void *context)
{
	struct odrp_conn *conn = context;

	irq_poll_sched(&conn->iop);
}

/* What a queue reports fails the session, or the handshake alone.  Any context. */
static void conn_event(struct odrp_conn *conn, int event)
{
	if (conn->msgs)
		odrp_msgs_event(conn);
	else
		odrp_sess_event(conn->sess, event);
}

/* Like qp_event(): maybe hard interrupt, as mlx5's come from its event queue. */
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

/* Registrations go through the connection's own send queue. */
static unsigned int regs_of(const struct odrp_conn *conn)
{
	unsigned int max = conn->sess->ibdev->attrs.max_fast_reg_page_list_len;

	if (!conn->q)	/* nor are entries read meanwhile (sync.c) */
		return conn->msgs ? 1 : ODRP_SYNC_BATCH;
	return conn->chain == ODRP_WIRE_LOAD && !conn->keyed ?
	       DIV_ROUND_UP(conn->depth, max) : 0;
}

/* What the queue pairs before have left.  Of theirs nobody waits for anything. */
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
 * No queue pair that leads to it works yet, so nothing comes.  What the RDMA core had
 * to tell of a queue that was kept may come late: irq_poll is not made anew for it.
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
 * Enough for the outstanding answers, one chunk not yet given back, and one being
 * filled.
 */
static unsigned int nr_recvs(const struct odrp_conn *conn)
{
	if (conn->keyed)
		return 0;
	return conn->q ? round_up(conn->depth, ODRP_RECV_CHUNK) +
			 2 * ODRP_RECV_CHUNK : ODRP_RECV_CHUNK;
}

/* odrp_conn_post_recvs() - all that a new queue pair is to have, once it is in INIT */
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
 * For the depth that is asked for at first; the memory node may grant less, and then
 * that.  Whoever uses it says where completions go.
 */
static struct ib_qp_init_attr qp_attr(struct odrp_conn *conn)
{
	unsigned int nr_reqs = conn->q ? conn->depth : 0;

	return (struct ib_qp_init_attr) {
		.event_handler	= qp_event,
		.qp_context	= conn,
		.cap		= {
			/* Registrations or READs, a beat, unplug.c's marker. */
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

/* Completions go to the connection's queue, which there is. */
static int make_qp(struct odrp_conn *conn, struct ib_qp_init_attr *attr,
		   struct ib_qp **ret_qp)
{
	struct ib_qp *qp;

	attr->send_cq = conn->cq;
	attr->recv_cq = conn->cq;
	qp = odrp_alloc_ptr(ib_create_qp(conn->sess->pd, attr));
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	*ret_qp = qp;
	return 0;
}

/*
 * odrp_conn_plug() - CQ and QP
 *
 * The connection has an id that knows its device and route.
 */
int odrp_conn_plug(struct odrp_conn *conn)
{
	struct ib_qp_init_attr attr = qp_attr(conn);
	struct ib_qp *qp = conn->spare.qp;
	int err;

	if (conn->stuck)	/* and what it has is not to be used twice */
		return -EIO;
	err = check_size(conn, &attr.cap);
	if (err)
		return err;
	err = start_cq(conn, attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (err)
		return err;
	if (!qp) {
		err = make_qp(conn, &attr, &qp);
		if (err)
			return err;
	}
	conn->spare.qp = NULL;
	/* For cm.c's events, which may come while it is taken away again. */
	mutex_lock(&conn->plug_lock);
	conn->qp = qp;
	mutex_unlock(&conn->plug_lock);
	return 0;
}

/*
 * odrp_plug_stock() - have a spare queue pair
 *
 * The connection is up, or it is the handshake's and has been; when its completion
 * queue has failed the next one makes both.
 */
int odrp_plug_stock(struct odrp_conn *conn)
{
	struct ib_qp_init_attr attr = qp_attr(conn);

	if (conn->spare.qp || !conn->cq)
		return 0;
	return make_qp(conn, &attr, &conn->spare.qp);
}

bool odrp_conn_has_spare(const struct odrp_conn *conn)
{
	return READ_ONCE(conn->spare.qp) && READ_ONCE(conn->spare.id);
}
