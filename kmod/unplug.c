// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a connection's queue pair.  After that the NIC touches no memory of the
 * connection.  So memory is freed after that, and requests under way end after that, or at
 * the end of their time (reconnect.c).
 *
 * First the queue pair is drained: in the error state it completes all that it has, and at
 * last a marker in each of its two queues, so that all answers that have come are known.
 * A faulty device may never complete them.  So all connections together wait for their
 * markers no longer than FLUSH_MS.  What is left ends with the queue pair: by the rules of
 * the verbs a queue pair that is destroyed touches no memory, and completes nothing.
 *
 * If a device refuses even to destroy a queue pair, all that the queue pair was given is kept
 * for good: the memory, the connection, the odrp device, which events of the queue pair name,
 * and this module.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include "odrp.h"

#define FLUSH_MS	2000

/*
 * odrp_conn_break() - put the queue pair into the error state: it completes what it has
 *
 * The caller makes sure that the queue pair stays meanwhile.
 */
int odrp_conn_break(struct odrp_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
}

static void marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct odrp_marker *m = container_of(wc->wr_cqe, struct odrp_marker,
					     cqe);

	if (!odrp_fault(ODRP_FAULT_MUTE))
		complete(&m->done);
}

static void marker_init(struct odrp_marker *m)
{
	m->cqe.done = marker_done;
	init_completion(&m->done);
}

/*
 * Posts a marker behind everything else in each queue.  In the error state the markers are
 * completed, and not executed.
 */
static int post_markers(struct odrp_conn *conn)
{
	struct ib_rdma_wr send = {
		.wr = {
			.wr_cqe		= &conn->sent.cqe,
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= IB_SEND_SIGNALED,
		},
	};
	struct ib_recv_wr recv = { .wr_cqe = &conn->received.cqe };
	int err;

	marker_init(&conn->sent);
	marker_init(&conn->received);
	err = odrp_conn_break(conn);
	if (!err)
		err = ib_post_send(conn->qp, &send.wr, NULL);
	return err ?: ib_post_recv(conn->qp, &recv, NULL);
}

/*
 * odrp_conn_drain() - have a device that works complete what is posted, and execute nothing
 *
 * Nothing more is posted: after odrp_conn_pause() or odrp_conn_close(), or on a connection
 * without requests.  What a faulty device still has ends with the queue pair, in
 * odrp_conn_unplug().
 */
void odrp_conn_drain(struct odrp_conn *conn)
{
	conn->flush_until = jiffies + msecs_to_jiffies(FLUSH_MS);
	/* waiter.late: the device has not flushed an earlier request; do not wait once more. */
	conn->flushes = conn->established && !conn->waiter.late &&
			!post_markers(conn);
}

/* Return: false when the time is over. */
static bool marker_wait(struct odrp_marker *m, unsigned long until)
{
	long left = until - jiffies;

	return wait_for_completion_timeout(&m->done, max(left, 0L));
}

/*
 * odrp_conn_quiesce() - wait until all has completed, and only the softirq reaps
 *
 * After odrp_conn_drain().  Work requests have completed or have been flushed, unless the
 * device does not do that, which is logged.  Requests without an answer stay as they are.
 */
void odrp_conn_quiesce(struct odrp_conn *conn)
{
	if (conn->established &&
	    !(conn->flushes && marker_wait(&conn->sent, conn->flush_until) &&
	      marker_wait(&conn->received, conn->flush_until)))
		pr_warn_ratelimited("odrp%d: %s has not flushed a queue pair within %u ms\n",
				    conn->sess->dev->id,
				    dev_name(&conn->sess->ibdev->dev), FLUSH_MS);
	conn->flushes = false;
	/* Pairs with odrp_poll_load(). */
	smp_mb();
	while (atomic_read(&conn->pollers))
		usleep_range(50, 200);
}

/* No completion is handled from now on. */
void odrp_conn_halt(struct odrp_conn *conn)
{
	if (conn->irq_on)
		irq_poll_disable(&conn->iop);
	conn->irq_on = false;
}

/* The device keeps a queue pair: memory and module stay, and the session is dead. */
static void conn_stuck(struct odrp_conn *conn, int err)
{
	struct odrp_sess *s = conn->sess;

	conn->stuck = true;
	if (!s->stuck)
		__module_get(THIS_MODULE);
	s->stuck = true;
	pr_err_ratelimited("odrp%d: %s keeps a queue pair (error %d): memory and module stay\n",
			   s->dev->id, dev_name(&s->ibdev->dev), err);
	odrp_sess_die(s, "its RDMA device is stuck");
}

static void destroy_qp(struct odrp_conn *conn, struct ib_qp *qp)
{
	int err = qp ? ib_destroy_qp(qp) : 0;

	if (err)
		conn_stuck(conn, err);
}

/*
 * Destroys the completion queue and the spare queue pair, which completes to it: both are
 * taken at once, so that a spare that is being made meanwhile is either taken here or ended by
 * stock_end().  The queue pair of a stuck connection still completes to the completion queue:
 * keep it.
 */
static void destroy_cq(struct odrp_conn *conn)
{
	struct ib_cq *cq;
	struct ib_qp *qp;

	spin_lock_bh(&conn->lock);
	cq = conn->cq;
	conn->cq = NULL;
	qp = conn->spare.qp;
	conn->spare.qp = NULL;
	if (cq && cq == conn->spare.making) {
		conn->spare.left = cq;
		cq = NULL;
	}
	spin_unlock_bh(&conn->lock);
	destroy_qp(conn, qp);
	if (cq && !conn->stuck)
		ib_destroy_cq(cq);
}

/*
 * odrp_plug_discard() - destroy a spare queue pair that was made too late, and its
 * completion queue
 * @qp: NULL: no queue pair was made
 */
void odrp_plug_discard(struct odrp_conn *conn, struct ib_qp *qp,
		       struct ib_cq *cq)
{
	destroy_qp(conn, qp);
	if (!conn->stuck)
		ib_destroy_cq(cq);
}

/* cm.c's events use conn->qp under plug_lock. */
static struct ib_qp *take_qp(struct odrp_conn *conn)
{
	struct ib_qp *qp = conn->qp;

	mutex_lock(&conn->plug_lock);
	conn->qp = NULL;
	mutex_unlock(&conn->plug_lock);
	return qp;
}

/*
 * odrp_conn_unplug() - destroy the queue pair of a connection
 *
 * After odrp_conn_halt().  The spare queue pair and the completion queue stay, unless the
 * completion queue has failed.
 */
void odrp_conn_unplug(struct odrp_conn *conn)
{
	odrp_fault_wait(ODRP_FAULT_FIRMWARE);
	destroy_qp(conn, take_qp(conn));
	if (READ_ONCE(conn->cq_failed))
		destroy_cq(conn);
	conn->waiter.late = false;
	atomic_set(&conn->recv_used, 0);
	conn->established = false;
}

/* The connection gets no queue pair any more: destroys the spare and the completion queue. */
void odrp_plug_exit(struct odrp_conn *conn)
{
	destroy_cq(conn);
}
