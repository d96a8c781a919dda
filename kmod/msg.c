// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages over a connection: the sender waits for each SEND, and each receive has memory.
 * The receives are posted before the connection is made, one for each message that the
 * peer may send; one message more breaks the connection.
 *
 * All messages are in one page, which is allocated and mapped once.  The peer has no rkey
 * for the page, and the receiver uses a copy of a message.
 */
#include <linux/slab.h>
#include "msg.h"
#include "odrp.h"

#define NR_IN	2

/* Offsets in the page: of the message that is sent, and of those that are received. */
#define OUT	0
#define IN(nth)	(((nth) + 1) * ODRP_MSG_MAX)

/*
 * struct in - a message from the peer
 * @here:	completed when the message has arrived, or will not arrive any more
 * @status:	valid after @here; IB_WC_SUCCESS: the message has arrived
 * @len:	bytes received
 */
struct in {
	struct ib_cqe		cqe;
	struct ib_recv_wr	wr;
	struct ib_sge		sge;
	struct completion	here;
	enum ib_wc_status	status;
	u32			len;
};

struct odrp_msgs {
	struct in		in[NR_IN];
	void			*page;
	u64			dma;
	struct ib_device	*mapped;	/* device that page is mapped for; NULL: none */
};

/*
 * odrp_msgs_new() - make the connection one for messages
 *
 * Return: 0 or -ENOMEM.  odrp_conn_free() frees what was allocated, also after an error.
 */
int odrp_msgs_new(struct odrp_conn *conn)
{
	struct odrp_msgs *m = odrp_alloc(kzalloc(sizeof(*m), GFP_KERNEL));
	unsigned int i;

	if (!m)
		return -ENOMEM;
	conn->msgs = m;
	for (i = 0; i < NR_IN; i++)
		init_completion(&m->in[i].here);
	m->page = odrp_alloc((void *)get_zeroed_page(GFP_KERNEL));
	return m->page ? 0 : -ENOMEM;
}

static int map(struct odrp_conn *conn)
{
	struct ib_device *ibdev = conn->sess->ibdev;
	struct odrp_msgs *m = conn->msgs;
	int err;

	if (m->mapped)
		return 0;
	err = odrp_map(ibdev, m->page, PAGE_SIZE, DMA_BIDIRECTIONAL, &m->dma);
	if (!err)
		m->mapped = ibdev;
	return err;
}

static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct in *in = container_of(wc->wr_cqe, struct in, cqe);

	in->status = wc->status;
	in->len = wc->byte_len;
	complete(&in->here);
}

/* odrp_msgs_post() - post the receives of a new queue pair, which is in state INIT */
int odrp_msgs_post(struct odrp_conn *conn)
{
	struct odrp_msgs *m = conn->msgs;
	unsigned int i;
	int err;

	err = map(conn);
	if (err)
		return err;
	for (i = 0; i < NR_IN; i++) {
		struct in *in = &m->in[i];

		reinit_completion(&in->here);
		in->status = IB_WC_WR_FLUSH_ERR;
		in->cqe.done = received;
		in->sge = (struct ib_sge) {
			.addr	= m->dma + IN(i),
			.length	= ODRP_MSG_MAX,
			.lkey	= conn->sess->pd->local_dma_lkey,
		};
		in->wr = (struct ib_recv_wr) {
			.wr_cqe		= &in->cqe,
			.sg_list	= &in->sge,
			.num_sge	= 1,
			.next		= i + 1 < NR_IN ? &m->in[i + 1].wr : NULL,
		};
	}
	return odrp_post_recv(conn->qp, &m->in[0].wr);
}

/*
 * odrp_msg_send() - send a message and wait until the peer's NIC has acknowledged it
 * @len: at most ODRP_MSG_MAX
 * @ms: time-out
 *
 * Return: as odrp_post_wait(), but -ECONNRESET when the connection has ended: a peer that
 * disconnects may not acknowledge the message.
 */
int odrp_msg_send(struct odrp_conn *conn, const void *p, u32 len,
		  unsigned int ms)
{
	struct odrp_msgs *m = conn->msgs;
	struct ib_sge sge = {
		.addr	= m->dma + OUT,
		.length	= len,
		.lkey	= conn->sess->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
	};
	int err;

	memcpy(m->page + OUT, p, len);
	ib_dma_sync_single_for_device(m->mapped, m->dma + OUT, ODRP_MSG_MAX,
				      DMA_BIDIRECTIONAL);
	err = odrp_post_wait(conn, &wr, ms);
	if (err == -EIO && conn->waiter.status == IB_WC_WR_FLUSH_ERR)
		err = -ECONNRESET;
	return err;
}

/*
 * odrp_msg_receive() - wait for a message and copy it
 * @nth: number of the message on this connection, from 0 on
 * @len: bytes that the message must have
 * @ms: time-out
 *
 * Return: 0.  -ECONNRESET: the connection has ended before the message.  -ETIMEDOUT: no
 * message within @ms.  -EMSGSIZE: the message has another length.  -EINTR: the current
 * task has been killed.
 */
int odrp_msg_receive(struct odrp_conn *conn, unsigned int nth, void *ret_p,
		     u32 len, unsigned int ms)
{
	struct odrp_msgs *m = conn->msgs;
	struct in *in = &m->in[nth];
	long left;

	left = wait_for_completion_killable_timeout(&in->here,
						    msecs_to_jiffies(ms));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	if (in->status != IB_WC_SUCCESS)
		return -ECONNRESET;
	if (in->len != len)
		return -EMSGSIZE;
	ib_dma_sync_single_for_cpu(m->mapped, m->dma + IN(nth), ODRP_MSG_MAX,
				   DMA_BIDIRECTIONAL);
	memcpy(ret_p, m->page + IN(nth), len);
	return 0;
}

/*
 * odrp_msgs_lost() - end all waits: the peer has disconnected, or the device is removed
 *
 * The queue pair flushes all receives and SENDs, which ends the waits.  Sleeps: plug_lock
 * is a mutex.
 */
void odrp_msgs_lost(struct odrp_conn *conn)
{
	mutex_lock(&conn->plug_lock);
	if (conn->qp)
		odrp_conn_break(conn);
	mutex_unlock(&conn->plug_lock);
}

/*
 * odrp_msgs_event() - end the waits for messages: the device reports that a queue has failed
 *
 * Any context, also hard interrupt.  The wait for a SEND ends by its time-out.
 */
void odrp_msgs_event(struct odrp_conn *conn)
{
	unsigned int i;

	for (i = 0; i < NR_IN; i++)
		complete(&conn->msgs->in[i].here);
}

/* odrp_msgs_unmap() - unmap the page: the connection has no queue pair, and gets none */
void odrp_msgs_unmap(struct odrp_conn *conn)
{
	struct odrp_msgs *m = conn->msgs;

	if (m->mapped)
		ib_dma_unmap_single(m->mapped, m->dma, PAGE_SIZE,
				    DMA_BIDIRECTIONAL);
	m->mapped = NULL;
}

void odrp_msgs_free(struct odrp_conn *conn)
{
	free_page((unsigned long)conn->msgs->page);
	kfree(conn->msgs);
	conn->msgs = NULL;
}
