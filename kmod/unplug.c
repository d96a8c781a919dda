// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a connection's queue pair.  After it the NIC touches nothing that the
 * connection has: whoever frees memory, or ends what is under way, comes after it.
 *
 * First it is drained: in the error state it completes all that it has, and last a
 * marker in each of its two queues, so that what has been answered is known to be.
 * A device that is ill may never do that.  So markers are waited for FLUSH_MS and no
 * longer, those of all connections together, and what is left goes with the queue
 * pair: the verbs have it that one which is destroyed touches no memory any more, and
 * completes nothing.
 *
 * Should a device refuse even that, what it was given is kept for good: the memory, the
 * connection and the device of ours, which its events name, and this module.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include "odrp.h"

#define FLUSH_MS	2000

/*
 * odrp_conn_break() - have the queue pair complete what it has
 *
 * It stays for this call.
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

/* Behind everything else, and, as that, not to be executed. */
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
 * odrp_conn_drain() - nothing that is posted is executed from now on, if the device is well
 *
 * After odrp_conn_pause() or odrp_conn_close().  What an ill one still has goes with the
 * queue pair, in odrp_conn_unplug().
 */
void odrp_conn_drain(struct odrp_conn *conn)
{
	conn->flush_until = jiffies + msecs_to_jiffies(FLUSH_MS);
	/* A device that has not completed one for that long is not asked again. */
	conn->flushes = conn->established && !conn->waiter.late &&
			!post_markers(conn);
}

/* Return: false when its time is over. */
static bool marker_wait(struct odrp_marker *m, unsigned long until)
{
	long left = until - jiffies;

	return wait_for_completion_timeout(&m->done, max(left, 0L));
}

/*
 * odrp_conn_quiesce() - have no completion be missed, and nobody but the softirq reap
 *
 * After odrp_conn_drain().  Sends have completed or are flushed, unless the device
 * does not do that; what has no answer stays as it is.
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

/* Whoever uses the session from here on finds it dead. */
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

static void destroy_spare(struct odrp_conn *conn)
{
	destroy_qp(conn, conn->spare.qp);
	conn->spare.qp = NULL;
}

/* Which has a queue pair still if the connection is stuck. */
static void destroy_cq(struct odrp_conn *conn)
{
	if (conn->cq && !conn->stuck)
		ib_destroy_cq(conn->cq);
	conn->cq = NULL;
}

/* cm.c's events may come meanwhile. */
static struct ib_qp *take_qp(struct odrp_conn *conn)
{
	struct ib_qp *qp = conn->qp;

	mutex_lock(&conn->plug_lock);
	conn->qp = NULL;
	mutex_unlock(&conn->plug_lock);
	return qp;
}

/*
 * odrp_conn_unplug() - the connection has no queue pair
 *
 * After odrp_conn_halt().  What a new one does not need stays.
 */
void odrp_conn_unplug(struct odrp_conn *conn)
{
	destroy_qp(conn, take_qp(conn));
	if (READ_ONCE(conn->cq_failed)) {
		destroy_spare(conn);
		destroy_cq(conn);
	}
	conn->waiter.late = false;
	atomic_set(&conn->recv_used, 0);
	conn->established = false;
}

/* And none comes. */
void odrp_plug_exit(struct odrp_conn *conn)
{
	destroy_spare(conn);
	destroy_cq(conn);
}
